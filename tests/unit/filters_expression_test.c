/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Properties of the expression language that cases cannot show: bounds, odd bytes, patterns that
 * would run for ever, random expressions against an evaluator of their own. The cases are in
 * tests/golden/filter/.
 */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "filters/expression.h"
#include "tests/lib/random_filter.h"

static const struct vamp_vocabulary any = {.prefix = NULL};

static int compile(const char *text, struct vamp_expression **ret, struct vamp_err *err)
{
    *err = (struct vamp_err)VAMP_ERR_NONE;
    *ret = NULL;
    return vamp_expression_compile(text, &any, ret, err);
}

static struct vamp_expression *compiled(const char *text)
{
    struct vamp_expression *expression;
    struct vamp_err err;
    if (compile(text, &expression, &err) != 0) {
        fail_msg("%s: %s", text, err.text);
    }
    return expression;
}

/* Every field has the value. */
static void one_value(void *context, int field, const char *name, struct vamp_value *ret)
{
    (void)field, (void)name;
    *ret = *(const struct vamp_value *)context;
}

static struct vamp_value text_value(const char *bytes, size_t length)
{
    return (struct vamp_value){.type = VAMP_VALUE_TEXT, .text = {bytes, length}};
}

static bool matches(const char *filter, struct vamp_value value)
{
    struct vamp_expression *expression = compiled(filter);
    bool result = vamp_expression_match(expression, one_value, &value);
    vamp_expression_free(expression);
    return result;
}

/* ---- bounds */

/* "((((...true...))))" and "(not (not ..." */
static char *nested(const char *open, size_t depth)
{
    size_t piece = strlen(open);
    char *text = malloc(depth * (piece + 1) + 5);
    assert_non_null(text);
    for (size_t i = 0; i < depth; i++) {
        memcpy(text + i * piece, open, piece);
    }
    memcpy(text + depth * piece, "true", 4);
    memset(text + depth * piece + 4, ')', depth);
    text[depth * piece + 4 + depth] = '\0';
    return text;
}

static void depth_is_bounded(void **state)
{
    (void)state;
    static const char *const opens[] = {"(", "(not ", "(and ", "(or "};
    for (size_t i = 0; i < 4; i++) {
        struct vamp_expression *expression;
        struct vamp_err err;
        char *fits = nested(opens[i], VAMP_EXPRESSION_DEPTH_MAX - 1);
        assert_int_equal(compile(fits, &expression, &err), 0);
        vamp_expression_free(expression);
        free(fits);
        for (size_t depth = VAMP_EXPRESSION_DEPTH_MAX + 1; depth < 12000; depth *= 6) {
            char *deep = nested(opens[i], depth);
            assert_int_equal(compile(deep, &expression, &err), -E2BIG);
            assert_non_null(strstr(err.text, "nested more than 64 deep"));
            free(deep);
        }
    }
}

static void terms_are_bounded(void **state)
{
    (void)state;
    enum { FIT = VAMP_EXPRESSION_TERMS_MAX - 1 };
    char *text = malloc(FIT * 2 + 64);
    assert_non_null(text);
    for (int extra = 0; extra <= 1; extra++) {
        size_t used = (size_t)sprintf(text, "(.a in (");
        for (int i = 0; i < FIT + extra; i++) {
            used += (size_t)sprintf(text + used, "%d ", i % 10);
        }
        (void)sprintf(text + used, "))");
        struct vamp_expression *expression;
        struct vamp_err err;
        assert_int_equal(compile(text, &expression, &err), extra == 0 ? 0 : -E2BIG);
        vamp_expression_free(expression);
    }
    assert_true(strlen(text) < VAMP_EXPRESSION_TEXT_BYTES_MAX);
    free(text);
}

static void text_is_bounded(void **state)
{
    (void)state;
    char *text = malloc(VAMP_EXPRESSION_TEXT_BYTES_MAX + 2);
    assert_non_null(text);
    for (size_t extra = 0; extra <= 1; extra++) {
        size_t length = VAMP_EXPRESSION_TEXT_BYTES_MAX + extra;
        memset(text, ' ', length);
        memcpy(text, "true", 4);
        text[length] = '\0';
        struct vamp_expression *expression;
        struct vamp_err err;
        assert_int_equal(compile(text, &expression, &err), extra == 0 ? 0 : -E2BIG);
        vamp_expression_free(expression);
    }
    free(text);
}

static void patterns_are_bounded(void **state)
{
    (void)state;
    char text[VAMP_EXPRESSION_PATTERN_BYTES_MAX + 64];
    static const char *const words[] = {"glob", "match"};
    for (size_t i = 0; i < 4; i++) {
        int length = VAMP_EXPRESSION_PATTERN_BYTES_MAX + (int)(i / 2);
        (void)snprintf(text, sizeof(text), "(.a %s \"%0*d\")", words[i % 2], length, 0);
        struct vamp_expression *expression;
        struct vamp_err err;
        assert_int_equal(compile(text, &expression, &err), i < 2 ? 0 : -E2BIG);
        vamp_expression_free(expression);
    }
    char *many = malloc(64 * (VAMP_EXPRESSION_PATTERNS_MAX + 2));
    assert_non_null(many);
    size_t used = (size_t)sprintf(many, "(and ");
    for (int i = 0; i <= VAMP_EXPRESSION_PATTERNS_MAX; i++) {
        used += (size_t)sprintf(many + used, "(.a match \"x\")");
    }
    (void)sprintf(many + used, ")");
    struct vamp_expression *expression;
    struct vamp_err err;
    assert_int_equal(compile(many, &expression, &err), -E2BIG);
    free(many);
}

/* Two filters for each of 40 names, each referring twice to the next: 2^40 terms if expanded. */
static const char *explosive(void *context, const char *name)
{
    static char text[64];
    (void)context;
    int number = atoi(name + 1);
    (void)snprintf(text, sizeof(text), "(or @x%d @x%d)", number + 1, number + 1);
    return text;
}

static void references_cannot_explode(void **state)
{
    (void)state;
    const struct vamp_vocabulary vocabulary = {.named = explosive};
    struct vamp_expression *expression = NULL;
    struct vamp_err err = VAMP_ERR_NONE;
    assert_int_equal(vamp_expression_compile("@x1", &vocabulary, &expression, &err), -E2BIG);
    assert_null(expression);
}

/* ---- patterns that would run for ever */

static double seconds_since(const struct timespec *start)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - start->tv_sec) + (double)(now.tv_nsec - start->tv_nsec) * 1e-9;
}

static void assert_cut(const char *filter, const char *text, size_t length)
{
    struct vamp_expression *expression = compiled(filter);
    struct vamp_value value = text_value(text, length);
    struct timespec start;
    (void)clock_gettime(CLOCK_MONOTONIC, &start);
    for (uint64_t i = 1; i <= 3; i++) {
        bool result = vamp_expression_match(expression, one_value, &value);
        if (result || vamp_expression_cut(expression) != i) {
            fail_msg("%s: %s, not cut", filter, result ? "matches" : "does not match");
        }
    }
    assert_true(seconds_since(&start) < 5.0);
    vamp_expression_free(expression);
}

static void bad_patterns_are_cut(void **state)
{
    (void)state;
    enum { LENGTH = VAMP_EXPRESSION_SUBJECT_BYTES_MAX };
    char *text = malloc(LENGTH + 1);
    assert_non_null(text);
    memset(text, 'a', LENGTH + 1);
    assert_cut("(.a match \"^(a+)+$|b\")", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!", 41);
    assert_cut("(.a match \"(a|a)*[bc]\")", text, 100);
    assert_cut("(.a match \"(.*)*(.*)*(.*)*[xy]\")", text, 4096);
    assert_cut("(.a match \"(?:a?){30}a{20}[bc]\")", text, 29);
    assert_cut("(.a match \"(?<r>a(?&r)?b?)*[cd]\")", text, 4096);
    assert_cut("(.a glob \"*aaaab\")", text, LENGTH);
    /* Longer than what is searched at all. */
    assert_cut("(.a match \"a\")", text, LENGTH + 1);
    assert_cut("(.a glob \"*\")", text, LENGTH + 1);
    free(text);
}

static void good_patterns_are_not_cut(void **state)
{
    (void)state;
    /* A name of the greatest length, searched the way people search. */
    enum { LENGTH = 4094 };
    char *name = malloc(LENGTH + 2);
    assert_non_null(name);
    for (size_t i = 0; i < LENGTH; i += 8) {
        memcpy(name + i, "key:val,", 8);
    }
    memcpy(name + LENGTH - 6, "step:6", 6);
    static const char *const filters[] = {
        "(.a match \"(^|,)step:6(,|$)\")",
        "(.a match \"step:[0-9]+$\")",
        "(.a match \"^([a-z]+:[a-z0-9]+,)*k?e?y?:?v?a?step:6$\")",
        "(.a match \"key.*val.*step\")",
        "(.a glob \"*step:6\")",
        "(.a glob \"key:*,key:*,*step:6\")",
    };
    for (size_t i = 0; i < sizeof(filters) / sizeof(filters[0]); i++) {
        struct vamp_expression *expression = compiled(filters[i]);
        struct vamp_value value = text_value(name, LENGTH);
        bool result = vamp_expression_match(expression, one_value, &value);
        assert_int_equal(vamp_expression_cut(expression), 0);
        assert_true(result || i == 2);
        vamp_expression_free(expression);
    }
    free(name);
}

/* ---- odd bytes */

static void odd_bytes_do_no_harm(void **state)
{
    (void)state;
    static const char *const filters[] = {
        "(.a match \"^.*$\")",    "(.a match \"[^x]\")", "(.a match \"\\\\w+\")",
        "(.a glob \"*?\")",       "(.a glob \"[!x]*\")", "(.a glob \"[a-\xf4\x8f\xbf\xbf]\")",
        "(.a = \"x\")",           "(.a < \"x\")",        "(.a in (\"\" x))",
        "(.a match \"(?<=a)b\")",
    };
    struct vamp_expression *expressions[10];
    uint64_t seed = 20260101;
    for (size_t i = 0; i < 10; i++) {
        expressions[i] = compiled(filters[i]);
    }
    for (int round = 0; round < 20000; round++) {
        /* The exact size, so that a sanitizer sees a read too far. */
        size_t length = random_below(&seed, 12);
        char *bytes = malloc(length > 0 ? length : 1);
        assert_non_null(bytes);
        for (size_t i = 0; i < length; i++) {
            static const char interesting[] =
                "ab x\0\xc3\xa4\xff\xed\xa0\x80\xf0\x9d\x84\x9e\xe0\x80";
            bytes[i] = random_below(&seed, 3) == 0 ? (char)random_next(&seed)
                                                   : interesting[random_below(&seed, 17)];
        }
        struct vamp_value value = text_value(length > 0 ? bytes : NULL, length);
        for (size_t i = 0; i < 10; i++) {
            (void)vamp_expression_match(expressions[i], one_value, &value);
        }
        free(bytes);
    }
    for (size_t i = 0; i < 10; i++) {
        assert_int_equal(vamp_expression_cut(expressions[i]), 0);
        vamp_expression_free(expressions[i]);
    }
    assert_true(matches("(.a = \"a\\x00b\")", text_value("a\0b", 3)));
    assert_false(matches("(.a = \"a\")", text_value("a\0b", 3)));
    assert_true(matches("(.a glob \"a?b\")", text_value("a\0b", 3)));
    assert_true(matches("(.a match \"^a\\\\x00b$\")", text_value("a\0b", 3)));
    /* A newline is no end of the name. */
    assert_false(matches("(.a match \"^a$\")", text_value("a\n", 2)));
}

static void any_text_is_handled(void **state)
{
    (void)state;
    static const char *const pieces[] = {
        "(",    ")",    "and",    "or",     "not",       "has",         ".a",  "=",  "!=",
        "<",    "in",   "1",      "-",      "5ms",       "1K",          "\"x", "\"", "'",
        "glob", "~",    "@",      ";",      "\n",        ",",           "!",   "*",  "\\",
        "\xc3", "\xff", "true",   "[a-",    "[z-a",      "2024-01-01T", "00Z", ".b", "..",
        "^",    "$",    "(.a = ", "(has .", "(.a match", "1e99",
    };
    uint64_t seed = 4711;
    char text[256];
    unsigned compiles = 0;
    for (int round = 0; round < 50000; round++) {
        text[0] = '\0';
        for (size_t i = random_below(&seed, 12); i > 0; i--) {
            strcat(text, pieces[random_below(&seed, sizeof(pieces) / sizeof(pieces[0]))]);
            strcat(text, random_below(&seed, 2) == 0 ? " " : "");
        }
        struct vamp_expression *expression;
        struct vamp_err err;
        int rc = compile(text, &expression, &err);
        compiles += rc == 0;
        assert_true(rc == 0 || rc == -EINVAL);
        assert_true(rc == 0 || strncmp(err.text, "line ", 5) == 0);
        vamp_expression_free(expression);
    }
    assert_true(compiles > 0);
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
        *ret = text_value(value->text, strlen(value->text));
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

/* ---- numbers */

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
        assert_true(matches(normal, value));
        free(normal);
        vamp_expression_free(expression);
    }
}

static void locale_does_not_matter(void **state)
{
    (void)state;
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"};
    const char *set = NULL;
    for (size_t i = 0; i < 4 && set == NULL; i++) {
        set = setlocale(LC_ALL, names[i]);
    }
    if (set == NULL) {
        skip();
    }
    struct vamp_expression *expression = compiled("(.a = 1.5)");
    char *normal = vamp_expression_print(expression);
    assert_string_equal(normal, "(.a = 1.5)");
    free(normal);
    vamp_expression_free(expression);
    (void)setlocale(LC_ALL, "C");
}

static void free_takes_null(void **state)
{
    (void)state;
    vamp_expression_free(NULL);
    /* No error object, no text. */
    struct vamp_expression *expression = NULL;
    assert_int_equal(vamp_expression_compile("(", &any, &expression, NULL), -EINVAL);
    assert_null(expression);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(depth_is_bounded),          cmocka_unit_test(terms_are_bounded),
        cmocka_unit_test(text_is_bounded),           cmocka_unit_test(patterns_are_bounded),
        cmocka_unit_test(references_cannot_explode), cmocka_unit_test(bad_patterns_are_cut),
        cmocka_unit_test(good_patterns_are_not_cut), cmocka_unit_test(odd_bytes_do_no_harm),
        cmocka_unit_test(any_text_is_handled),       cmocka_unit_test(random_expressions_agree),
        cmocka_unit_test(de_morgan_holds),           cmocka_unit_test(doubles_survive_printing),
        cmocka_unit_test(locale_does_not_matter),    cmocka_unit_test(free_takes_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
