/* SPDX-License-Identifier: BSD-3-Clause */
/* Random expressions and numbers against meanings that were found in another way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "filters/expression.h"
#include "tests/lib/random_filter.h"

static struct vamp_expression *compiled(const char *text)
{
    const struct vamp_vocabulary any = {.prefix = NULL};
    struct vamp_expression *expression = NULL;
    struct vamp_err err = VAMP_ERR_NONE;
    if (vamp_expression_compile(text, &any, &expression, &err) != 0) {
        fail_msg("%s: %s", text, err.text);
    }
    return expression;
}

/* ---- random expressions */

static const struct random_field fields[] = {
    {".a",
     true,
     5,
     {{RANDOM_NUMBER, 0, NULL, "0"},
      {RANDOM_NUMBER, 1, NULL, "1"},
      {RANDOM_NUMBER, 0.5, NULL, "0.5"},
      {RANDOM_NUMBER, -2, NULL, "-2"},
      {RANDOM_TEXT, 0, "1", "\"1\""}}},
    {".b",
     true,
     4,
     {{RANDOM_TEXT, 0, "", "\"\""},
      {RANDOM_TEXT, 0, "x", "x"},
      {RANDOM_TEXT, 0, "xy", "'xy'"},
      {RANDOM_TEXT, 0, "and", "and"}}},
    {".c-d.e_f",
     true,
     3,
     {{RANDOM_BOOL, 1, NULL, "true"},
      {RANDOM_BOOL, 0, NULL, "false"},
      {RANDOM_NUMBER, 1024, NULL, "1KiB"}}},
};
#define FIELD_COUNT 3

static void random_look_up(void *context, int field, const char *name, struct vamp_value *ret)
{
    const struct random_value *values = context;
    assert_int_equal(field, -1);
    const struct random_value *value = &values[strcmp(name, ".a") == 0   ? 0
                                               : strcmp(name, ".b") == 0 ? 1
                                                                         : 2];
    ret->type = VAMP_VALUE_ABSENT;
    switch (value->sort) {
    case RANDOM_ABSENT:
        break;
    case RANDOM_NUMBER:
        *ret = (struct vamp_value){.type = VAMP_VALUE_DOUBLE, .real = value->number};
        if (value->number == (double)(int64_t)value->number) {
            *ret = (struct vamp_value){.type = VAMP_VALUE_INT, .integer = (int64_t)value->number};
        }
        break;
    case RANDOM_BOOL:
        *ret = (struct vamp_value){.type = VAMP_VALUE_BOOL, .boolean = value->number != 0};
        break;
    case RANDOM_TEXT:
        *ret = (struct vamp_value){.type = VAMP_VALUE_TEXT,
                                   .text = {value->text, strlen(value->text)}};
        break;
    }
}

static void random_values(uint64_t *seed, struct random_value values[FIELD_COUNT])
{
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        size_t choice = random_below(seed, fields[i].value_count + 1);
        values[i] = choice < fields[i].value_count ? fields[i].values[choice]
                                                   : (struct random_value){.sort = RANDOM_ABSENT};
    }
}

/* The compiled text, its normal form and its negation by De Morgan's laws all mean what the naive
 * evaluator says. */
static void assert_agrees(struct random_filter *filter, const struct random_node *root,
                          const char *text)
{
    struct vamp_expression *expression = compiled(text);
    char *normal = vamp_expression_print(expression);
    assert_non_null(normal);
    struct vamp_expression *again = compiled(normal);
    char *normal_again = vamp_expression_print(again);
    assert_string_equal(normal, normal_again);
    for (int i = 0; i < 12; i++) {
        struct random_value values[FIELD_COUNT];
        random_values(&filter->seed, values);
        bool expected = random_filter_holds(filter, root, values);
        if (vamp_expression_match(expression, random_look_up, values) != expected ||
            vamp_expression_match(again, random_look_up, values) != expected) {
            fail_msg("expected %d: %s", expected, text);
        }
    }
    free(normal);
    free(normal_again);
    vamp_expression_free(expression);
    vamp_expression_free(again);
}

static void random_expressions_agree(void **state)
{
    (void)state;
    struct random_filter filter = {
        .fields = fields, .field_count = FIELD_COUNT, .seed = 99, .nodes = random_nodes_create()};
    char *text = malloc(RANDOM_TEXT_BYTES);
    assert_non_null(filter.nodes);
    assert_non_null(text);
    for (int i = 0; i < 4000; i++) {
        const struct random_node *root = random_filter_grow(&filter, 5);
        random_filter_print(&filter, root, text);
        assert_agrees(&filter, root, text);
    }
    free(text);
    free(filter.nodes);
}

static void de_morgan_holds(void **state)
{
    (void)state;
    struct random_filter filter = {
        .fields = fields, .field_count = FIELD_COUNT, .seed = 7, .nodes = random_nodes_create()};
    char *a = malloc(RANDOM_TEXT_BYTES), *b = malloc(RANDOM_TEXT_BYTES), *text;
    assert_non_null(filter.nodes);
    assert_true(a != NULL && b != NULL);
    for (int i = 0; i < 1000; i++) {
        random_filter_print(&filter, random_filter_grow(&filter, 3), a);
        random_filter_print(&filter, random_filter_grow(&filter, 3), b);
        struct vamp_expression *sides[4];
        static const char *const forms[] = {"(not (and %s %s))", "(or (not %s) (not %s))",
                                            "(not (or %s %s))", "(and (not %s) (not %s))"};
        for (int side = 0; side < 4; side++) {
            text = NULL;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
            assert_true(asprintf(&text, forms[side], a, b) > 0);
#pragma GCC diagnostic pop
            sides[side] = compiled(text);
            free(text);
        }
        for (int j = 0; j < 12; j++) {
            struct random_value values[FIELD_COUNT];
            random_values(&filter.seed, values);
            bool results[4];
            for (int side = 0; side < 4; side++) {
                results[side] = vamp_expression_match(sides[side], random_look_up, values);
            }
            assert_int_equal(results[0], results[1]);
            assert_int_equal(results[2], results[3]);
        }
        for (int side = 0; side < 4; side++) {
            vamp_expression_free(sides[side]);
        }
    }
    free(a);
    free(b);
    free(filter.nodes);
}

/* Every field has the value. */
static void one_value(void *context, int field, const char *name, struct vamp_value *ret)
{
    (void)field, (void)name;
    *ret = *(const struct vamp_value *)context;
}

static void doubles_survive_printing(void **state)
{
    (void)state;
    uint64_t seed = 31;
    char text[80];
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = random_next(&seed);
        double real;
        memcpy(&real, &bits, sizeof(real));
        if (real != real || real - real != 0) {
            continue;
        }
        (void)snprintf(text, sizeof(text), "(.a = %.17e)", real);
        struct vamp_expression *expression = compiled(text);
        char *normal = vamp_expression_print(expression);
        struct vamp_value value = {.type = VAMP_VALUE_DOUBLE, .real = real};
        assert_true(vamp_expression_match(expression, one_value, &value));
        struct vamp_expression *again = compiled(normal);
        assert_true(vamp_expression_match(again, one_value, &value));
        free(normal);
        vamp_expression_free(expression);
        vamp_expression_free(again);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_expressions_agree),
        cmocka_unit_test(de_morgan_holds),
        cmocka_unit_test(doubles_survive_printing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
