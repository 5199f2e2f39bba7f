/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The reader of the configuration, judged by jansson: both accept the same texts and read the same
 * values, for every golden case, every fuzz seed, and a fixed number of alterations of each. The
 * reader alone knows comments, and bounds of its own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <glob.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "config/internal.h"

#define ALTERATIONS 300

static int read_text(const char *text, size_t length, struct config_tree *tree,
                     struct config_fault *fault)
{
    *tree = (struct config_tree){0};
    tree->root = config_value_add(tree, NULL, 0, 0);
    assert_non_null(tree->root);
    return config_read(text, length,
                       &(struct config_reading){.tree = tree, .into = tree->root, .fault = fault});
}

/* ---- judged by jansson */

static void write_quoted(FILE *stream, const char *text)
{
    json_t *value = json_string(text);
    assert_int_equal(json_dumpf(value, stream, JSON_ENCODE_ANY), 0);
    json_decref(value);
}

static void write_value(FILE *stream, const struct config_value *value)
{
    static const char *const words[] = {
        [CONFIG_OBJECT] = "{",    [CONFIG_LIST] = "[",    [CONFIG_TRUE] = "true",
        [CONFIG_FALSE] = "false", [CONFIG_NULL] = "null",
    };
    if (value->key[0] != '\0' || (value->parent != NULL && value->parent->type == CONFIG_OBJECT)) {
        write_quoted(stream, value->key);
        (void)fputc(':', stream);
    }
    if (value->type == CONFIG_TEXT) {
        write_quoted(stream, value->text);
    } else {
        (void)fputs(value->type == CONFIG_INTEGER || value->type == CONFIG_REAL
                        ? value->text
                        : words[value->type],
                    stream);
    }
}

/* What was read, as JSON again. */
static char *write_tree(const struct config_tree *tree)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    assert_non_null(stream);
    const struct config_value *value = tree->root;
    while (value != NULL) {
        write_value(stream, value);
        if (value->first != NULL) {
            value = value->first;
            continue;
        }
        if (value->type == CONFIG_OBJECT || value->type == CONFIG_LIST) {
            (void)fputc(value->type == CONFIG_OBJECT ? '}' : ']', stream);
        }
        while (value != NULL && value->next == NULL) {
            value = value->parent;
            if (value != NULL) {
                (void)fputc(value->type == CONFIG_OBJECT ? '}' : ']', stream);
            }
        }
        if (value != NULL) {
            (void)fputc(',', stream);
            value = value->next;
        }
    }
    assert_int_equal(fclose(stream), 0);
    return text;
}

static bool is_own_bound(const char *fault)
{
    return strstr(fault, "nested too deeply") != NULL || strstr(fault, "more than 8192") != NULL ||
           strstr(fault, "\\u0000") != NULL;
}

/* Fails the test when jansson and the reader differ about the text. Returns whether it was read. */
static bool judge(const char *text, size_t length)
{
    struct config_tree tree;
    struct config_fault fault = {0};
    const int code = read_text(text, length, &tree, &fault);
    const bool marked = strncmp(text, CONFIG_BYTE_ORDER_MARK, 3) == 0;
    const bool comments =
        memmem(text, length, "//", 2) != NULL || memmem(text, length, "/*", 2) != NULL;
    json_t *expected = json_loadb(text + (marked ? 3 : 0), length - (marked ? 3 : 0), 0, NULL);
    if (code == -EINVAL) {
        assert_true(fault.text[0] != '\0' && fault.offset <= length);
    }
    if ((code == 0) != (expected != NULL) && !comments && !is_own_bound(fault.text)) {
        fail_msg("%.*s\nthe reader: %d, %s; jansson %s it", (int)length, text, code, fault.text,
                 expected != NULL ? "reads" : "refuses");
    }
    if (code == 0 && expected != NULL) {
        char *again = write_tree(&tree);
        json_t *value = json_loads(again, 0, NULL);
        if (value == NULL || json_equal(value, expected) == 0) {
            fail_msg("%.*s\nwas read as\n%s", (int)length, text, again);
        }
        json_decref(value);
        free(again);
    }
    json_decref(expected);
    config_tree_done(&tree);
    return code == 0;
}

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525U + 1013904223U;
    return *state >> 8;
}

/* One byte replaced, taken out, or put in. `text` has room for one more and is terminated. */
static size_t alter(char *text, size_t length, uint32_t *random)
{
    static const char bytes[] = "{}[]:,\"\\/u0d8-+.eE19 \n\tntf*\x01\xc3\xa4\xed\xff";
    const size_t at = next_random(random) % (length + 1);
    const char byte = bytes[next_random(random) % (sizeof bytes - 1)];
    switch (next_random(random) % 3) {
    case 0:
        memmove(text + at + 1, text + at, length + 1 - at);
        text[at] = byte;
        return length + 1;
    case 1:
        if (at < length) {
            memmove(text + at, text + at + 1, length - at);
            return length - 1;
        }
        return length;
    default:
        if (at < length) {
            text[at] = byte;
        }
        return length;
    }
}

static size_t read_file(const char *name, char *text, size_t bytes)
{
    FILE *stream = fopen(name, "re");
    assert_non_null(stream);
    const size_t length = fread(text, 1, bytes - 1, stream);
    (void)fclose(stream);
    text[length] = '\0';
    return length;
}

static void judge_file(const char *name, unsigned *read_count)
{
    static char text[65536], altered[65536 + 4];
    const size_t length = read_file(name, text, sizeof text);
    uint32_t random = 1;
    (void)judge(text, length);
    for (unsigned i = 0; i < ALTERATIONS; i++) {
        memcpy(altered, text, length + 1);
        size_t altered_length = length;
        for (unsigned changes = next_random(&random) % 3; changes < 3; changes++) {
            altered_length = alter(altered, altered_length, &random);
        }
        *read_count += judge(altered, altered_length);
    }
}

static void jansson_reads_the_same(void **state)
{
    (void)state;
    unsigned read_count = 0;
    glob_t files;
    assert_int_equal(glob("tests/golden/config/*/input.json", 0, NULL, &files), 0);
    assert_int_equal(glob("tests/fuzz/seeds/config/*", GLOB_APPEND, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        judge_file(files.gl_pathv[i], &read_count);
    }
    print_message("%zu files, %u of %zu alterations read\n", files.gl_pathc, read_count,
                  files.gl_pathc * ALTERATIONS);
    assert_true(files.gl_pathc >= 200 && read_count > 1000);
    globfree(&files);
}

/* ---- what jansson does not know */

static void numbers_are_whole_however_they_are_written(void **state)
{
    (void)state;
    static const char text[] =
        "[1000, 1e3, 1000.0, 10.5e1, -2E0, 0.5, 9007199254740994.0, -0, 9223372036854775807, 1e-1]";
    static const struct {
        enum config_type type;
        int64_t integer;
    } expected[] = {{CONFIG_INTEGER, 1000}, {CONFIG_INTEGER, 1000}, {CONFIG_INTEGER, 1000},
                    {CONFIG_INTEGER, 105},  {CONFIG_INTEGER, -2},   {CONFIG_REAL, 0},
                    {CONFIG_REAL, 0},       {CONFIG_INTEGER, 0},    {CONFIG_INTEGER, INT64_MAX},
                    {CONFIG_REAL, 0}};
    struct config_tree tree;
    struct config_fault fault = {0};
    assert_int_equal(read_text(text, strlen(text), &tree, &fault), 0);
    assert_int_equal(tree.root->count, sizeof expected / sizeof *expected);
    for (size_t i = 0; i < tree.root->count; i++) {
        const struct config_value *item = config_item(tree.root, i);
        assert_int_equal(item->type, expected[i].type);
        assert_int_equal(item->integer, expected[i].integer);
    }
    assert_string_equal(config_item(tree.root, 1)->text, "1e3");
    config_tree_done(&tree);
}

static void places_are_those_of_the_file(void **state)
{
    (void)state;
    static const char text[] = "/* c */ {\"a\\u0062\": // d\n [1, {\"x\": \"y\\nz\"}]}";
    struct config_tree tree;
    struct config_fault fault = {0};
    assert_int_equal(read_text(text, strlen(text), &tree, &fault), 0);
    bool exact = false;
    const struct config_value *value = config_at(tree.root, "/ab/1/x", &exact);
    assert_true(exact);
    assert_string_equal(value->text, "y\nz");
    assert_ptr_equal(text + value->offset, strstr(text, "\"y"));
    assert_ptr_equal(text + value->key_offset, strstr(text, "\"x"));
    const struct config_file file = {.bytes = (char *)(uintptr_t)text, .length = strlen(text)};
    assert_int_equal(config_text_offset(&file, value->offset, 2, 1), strstr(text, "z\"") - text);
    assert_string_equal(value->parent->parent->key, "ab");
    assert_ptr_equal(config_at(tree.root, "/ab/2/q", &exact), value->parent->parent);
    assert_false(exact);
    char path[CONFIG_PATH_BYTES];
    config_value_path(value, path);
    assert_string_equal(path, "/ab/1/x");
    config_tree_done(&tree);
}

static void assert_refused(const char *text, size_t length, const char *why, size_t offset)
{
    struct config_tree tree;
    struct config_fault fault = {0};
    assert_int_equal(read_text(text, length, &tree, &fault), -EINVAL);
    assert_string_equal(fault.text, why);
    assert_int_equal(fault.offset, offset);
    config_tree_done(&tree);
}

static void mistakes_are_named(void **state)
{
    (void)state;
    static const char zero_in_text[] = "{\"a\": \"x\\u0000\"}";
    assert_refused(zero_in_text, strlen(zero_in_text),
                   "a text of the configuration cannot contain \\u0000", 8);
    assert_refused("{\"\\u0000\": 1}", 13, "a text of the configuration cannot contain \\u0000", 2);
    assert_refused("[1,", 3, "this is no JSON: unexpected token near end of file", 3);
    assert_refused("5", 1, "this is no JSON: '[' or '{' expected near '5'", 0);
    assert_refused("[\"\\ud800\"]", 10,
                   "this is no JSON: invalid Unicode '\\uD800', half of a pair", 2);
    assert_refused("[\"a text longer than twenty\n\"]", 30, "this is no JSON: unexpected newline",
                   27);
    assert_refused("[-]", 3, "this is no JSON: invalid token near '-'", 1);
    assert_refused("[1e400]", 7, "this is no JSON: real number overflow near '1e400'", 1);
    assert_refused("[1] /", 5, "this is no JSON: end of file expected near '/'", 4);
    assert_refused("[\0]", 3, "a zero byte: this is no text file", 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jansson_reads_the_same),
        cmocka_unit_test(numbers_are_whole_however_they_are_written),
        cmocka_unit_test(places_are_those_of_the_file),
        cmocka_unit_test(mistakes_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
