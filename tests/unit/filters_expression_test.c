/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Properties of the expression language that cases cannot show: bounds, odd bytes, patterns that
 * would run for ever. The cases are in tests/golden/filter/, random expressions in
 * filters_property_test.c.
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
#include "filters/expression_tree.h"
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
    long number = strtol(name + 1, NULL, 10);
    (void)snprintf(text, sizeof(text), "(or @x%ld @x%ld)", number + 1, number + 1);
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

/* PCRE2's own limit starts again at each position of the text. */
static void steps_of_all_positions_count(void **state)
{
    (void)state;
    char text[4000];
    memset(text, 'a', sizeof(text));
    static const char end_of_text[] = {'c', 'x', 'x', 'x', 'd'};
    memcpy(text + sizeof(text) - 10, end_of_text, sizeof end_of_text);
    for (size_t length = sizeof(text); length > 200; length /= 2) {
        const char *end = text + sizeof(text) - length;
        assert_cut("(.a match \"\\\\w+\\\\w+cd\")", end, length);
        assert_cut("(.a match \"(?:[ab]?){12}a{12}[bd]x\")", end, length);
    }
    /* What an element takes counts, too. */
    assert_cut("(.a match \"[ab]*+cd\")", text, sizeof(text));
}

enum { LONG_TEXT = 300 };

/* How many of `count` matches on `text` run to their end until one is cut. What was found of a text
 * is kept, so each is another. */
static unsigned matches_until_cut(const struct vamp_expression *expression, const char *text,
                                  size_t length, unsigned count)
{
    const uint64_t before = vamp_expression_cut(expression);
    static unsigned made;
    char other[LONG_TEXT];
    memcpy(other, text, length);
    struct vamp_value value = text_value(other, length);
    for (unsigned i = 0; i < count; i++, made++) {
        for (unsigned digit = 0; digit < 5; digit++) {
            other[length / 2 + digit] = (char)('c' + (made >> 4 * digit) % 16);
        }
        const bool matched = vamp_expression_match(expression, one_value, &value);
        const bool cut = vamp_expression_cut(expression) > before;
        assert_false(matched && cut);
        if (cut) {
            return i;
        }
    }
    return count;
}

/* What is kept belongs to the text, not to its place. */
static void a_text_may_take_the_place_of_another(void **state)
{
    (void)state;
    struct vamp_expression *expression =
        compiled("(or (.a match \"x$\") (and (.a glob \"*y\") (.a glob \"b*\")))");
    static const char *const texts[] = {"a field x", "a field y", "b field y", "a field z"};
    char text[sizeof "a field x"];
    for (unsigned i = 0; i < 100; i++) {
        struct vamp_value value = text_value(text, sizeof text - 1);
        memcpy(text, texts[i % 4], sizeof text);
        assert_int_equal(vamp_expression_match(expression, one_value, &value), i % 4 % 2 == 0);
    }
    vamp_expression_free(expression);
}

/* A match alone may be far from its bound; many of them are bounded together. */
static void all_matches_share_an_allowance(void **state)
{
    (void)state;
    enum { LENGTH = LONG_TEXT, MANY = 100000 };
    char text[LENGTH];
    memset(text, 'a', sizeof(text));
    text[LENGTH - 1] = 'b';
    static const char *const filters[] = {"(.a match \"^(?:(?:a|aa){10}X|a.*b)$\")",
                                          "(.a glob \"*aaaaaaaaaaaaaaaaaaaaaaaaaaaaaab\")"};
    for (size_t i = 0; i < sizeof(filters) / sizeof(filters[0]); i++) {
        struct vamp_expression *expression = compiled(filters[i]);
        struct vamp_expression *again = compiled(filters[i]);
        const unsigned first = matches_until_cut(expression, text, LENGTH, MANY);
        assert_in_range(first, VAMP_EXPRESSION_ALLOWANCE_MAX / VAMP_EXPRESSION_STEPS_MAX, MANY - 1);
        assert_int_equal(matches_until_cut(again, text, LENGTH, MANY), first);
        /* Now each finds what it adds itself, and a cheap match is one all the same. */
        assert_int_equal(matches_until_cut(expression, text, LENGTH, MANY), 0);
        assert_int_equal(matches_until_cut(expression, "bbbbbbbbbb", 10, MANY), MANY);
        /* The cheap ones have left enough for a while. */
        assert_int_equal(matches_until_cut(expression, text, LENGTH, MANY), first);
        vamp_expression_free(expression);
        vamp_expression_free(again);
    }
}

static void good_patterns_are_not_cut(void **state)
{
    (void)state;
    /* A name of the greatest length, searched the way people search. */
    enum { LENGTH = 4094 };
    static const char pair[] = "key:val,", last[] = "step:6";
    char *name = malloc(LENGTH + 1);
    assert_non_null(name);
    for (size_t i = 0; i < LENGTH; i++) {
        name[i] = i < LENGTH - 6 ? pair[i % 8] : last[i - (LENGTH - 6)];
    }
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
            size_t used = strlen(text);
            (void)snprintf(text + used, sizeof(text) - used, "%s%s",
                           pieces[random_below(&seed, sizeof(pieces) / sizeof(pieces[0]))],
                           random_below(&seed, 2) == 0 ? " " : "");
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

/* ---- globs next to the obvious matcher: every way in which a star can take characters */

static size_t one_character(const char *text)
{
    return text[0] == '\xc3' && text[1] == '\xa9' ? 2 : 1;
}

/* Of patterns of the pieces below. NOLINTNEXTLINE(misc-no-recursion): as deep as they are long. */
static bool plainly_matches(const char *pattern, const char *text)
{
    if (*pattern == '*') {
        return plainly_matches(pattern + 1, text) ||
               (*text != '\0' && plainly_matches(pattern, text + one_character(text)));
    }
    if (*pattern == '\0' || *text == '\0') {
        return *pattern == *text;
    }
    if (*pattern == '?') {
        return plainly_matches(pattern + 1, text + one_character(text));
    }
    if (*pattern == '[') { /* [!b] */
        return *text != 'b' && plainly_matches(pattern + 4, text + one_character(text));
    }
    if (*pattern == '\\') {
        pattern++;
    }
    return *pattern == *text && plainly_matches(pattern + 1, text + 1);
}

static void join_pieces(const char *const *pieces, uint64_t count, uint64_t *random, char *to)
{
    for (uint64_t left = *random % 7; left > 0; left--) {
        *random = *random * UINT64_C(6364136223846793005) + 1442695040888963407U;
        const char *piece = pieces[(*random >> 33) % count];
        memcpy(to, piece, strlen(piece));
        to += strlen(piece);
    }
    *to = '\0';
    *random = *random * UINT64_C(6364136223846793005) + 1442695040888963407U;
    *random = *random >> 7 | *random << 57;
}

static void globs_match_what_they_plainly_do(void **state)
{
    (void)state;
    static const char *const in_pattern[] = {"*", "*", "?", "a", "b", "\xc3\xa9", "[!b]", "\\*"};
    static const char *const in_text[] = {"a", "a", "b", "\xc3\xa9", "*"};
    uint64_t random = 1;
    unsigned matched = 0;
    for (unsigned i = 0; i < 200000; i++) {
        char pattern[64], text[64];
        join_pieces(in_pattern, 8, &random, pattern);
        join_pieces(in_text, 5, &random, text);
        unsigned steps = 1000;
        const bool expected = plainly_matches(pattern, text);
        matched += expected;
        if (vamp_glob_match(pattern, strlen(pattern), text, strlen(text), &steps) != expected) {
            fail_msg("\"%s\" %s \"%s\"", pattern, expected ? "misses" : "takes", text);
        }
    }
    assert_true(matched > 20000 && matched < 180000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(depth_is_bounded),
        cmocka_unit_test(terms_are_bounded),
        cmocka_unit_test(text_is_bounded),
        cmocka_unit_test(patterns_are_bounded),
        cmocka_unit_test(references_cannot_explode),
        cmocka_unit_test(bad_patterns_are_cut),
        cmocka_unit_test(steps_of_all_positions_count),
        cmocka_unit_test(a_text_may_take_the_place_of_another),
        cmocka_unit_test(all_matches_share_an_allowance),
        cmocka_unit_test(good_patterns_are_not_cut),
        cmocka_unit_test(odd_bytes_do_no_harm),
        cmocka_unit_test(any_text_is_handled),
        cmocka_unit_test(locale_does_not_matter),
        cmocka_unit_test(globs_match_what_they_plainly_do),
        cmocka_unit_test(free_takes_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
