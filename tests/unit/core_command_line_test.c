/* SPDX-License-Identifier: BSD-3-Clause */
/* Command lines from a table: what is given, what is wrong, what --help and the manual show. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/core/options/command_line.h"

enum { KEY_FILE, KEY_SET, KEY_LIST, KEY_QUIET };

static const struct vamp_command_option table[] = {
    {"--file", 'f', KEY_FILE, "FILE", "read FILE"},
    {"--set", 0, KEY_SET, "KEY=VALUE", "set an option; -o a.b=c"},
    {"--list", 0, KEY_LIST, "[=json]", "list. Then end"},
    {"--quiet", 'q', KEY_QUIET, NULL, "'no' words"},
    {NULL, 0, 0, NULL, NULL},
};

#define WORDS 8

/* "KEY=ARGUMENT" of each option, blank between, and after a bar the rest; or what is wrong. */
static void expect(const char *const words[static WORDS], const char *expected)
{
    char *argv[WORDS + 2] = {NULL};
    int argc = 0;
    static char program[] = "prog";
    argv[argc++] = program;
    while (argc <= WORDS && words[argc - 1] != NULL) {
        argv[argc] = strdup(words[argc - 1]);
        assert_non_null(argv[argc]);
        argc++;
    }
    const struct vamp_command_line line = {"prog", table, argc, argv};
    struct vamp_command_given given;
    struct vamp_err err = VAMP_ERR_NONE;
    char got[512] = "";
    size_t used = 0;
    int found = 0;
    vamp_command_line_start();
    while ((found = vamp_command_line_next(&line, &given, &err)) == 1) {
        used += (size_t)snprintf(got + used, sizeof got - used, "%d=%s ", given.key,
                                 given.argument != NULL ? given.argument : "");
    }
    if (found == 0) {
        used += (size_t)snprintf(got + used, sizeof got - used, "|");
        for (int i = vamp_command_line_rest(); i < argc; i++) {
            used += (size_t)snprintf(got + used, sizeof got - used, "%s ", argv[i]);
        }
    } else {
        assert_int_equal(found, -EINVAL);
        (void)snprintf(got, sizeof got, "%s", err.text);
    }
    assert_string_equal(got, expected);
    for (int i = 1; i < WORDS + 2; i++) {
        free(argv[i]); /* getopt has only moved them */
    }
}

static void what_is_given(void **state)
{
    (void)state;
    expect((const char *const[WORDS]){NULL}, "|");
    expect((const char *const[WORDS]){"-f", "a", "--file=b", "--file", "c"}, "0=a 0=b 0=c |");
    expect((const char *const[WORDS]){"--list", "--list=json", "-q", "--set", "a=b"},
           "2= 2=json 3= 1=a=b |");
    expect((const char *const[WORDS]){"x", "-qf", "a", "y"}, "3= 0=a |x y ");
    expect((const char *const[WORDS]){"-q", "--", "-q"}, "3= |-q ");
    expect((const char *const[WORDS]){"--qui"}, "3= |");
}

static void what_is_wrong(void **state)
{
    (void)state;
    expect((const char *const[WORDS]){"--fiel", "a"},
           "unknown option --fiel; did you mean --file?; see prog --help");
    expect((const char *const[WORDS]){"--zzzzzz"}, "unknown option --zzzzzz; see prog --help");
    expect((const char *const[WORDS]){"-qx"}, "unknown option -x; see prog --help");
    expect((const char *const[WORDS]){"-q", "--file"}, "--file needs a value; see prog --help");
    expect((const char *const[WORDS]){"--quiet=1"}, "--quiet takes no value; see prog --help");
}

/* The lines of --help; to be freed. */
static char *printed(const struct vamp_command_option *shown)
{
    char *text = NULL;
    size_t length = 0;
    FILE *stream = open_memstream(&text, &length);
    assert_non_null(stream);
    vamp_command_options_help(shown, -1, stream);
    assert_int_equal(fclose(stream), 0);
    return text;
}

static void what_is_shown(void **state)
{
    (void)state;
    char *text = printed(table);
    assert_string_equal(text, "  -f, --file FILE              read FILE\n"
                              "      --set KEY=VALUE          set an option; -o a.b=c\n"
                              "      --list[=json]            list. Then end\n"
                              "  -q, --quiet                  'no' words\n");
    free(text);
}

/* No line of --help is longer than 100 characters. */
static void long_texts_are_wrapped(void **state)
{
    (void)state;
    char words[400] = "";
    for (size_t i = 0; i + 8 < sizeof words; i += 8) {
        (void)snprintf(words + i, sizeof words - i, ".abc de ");
    }
    const struct vamp_command_option shown[] = {
        {"--long", 'l', 1, NULL, words},
        {NULL, 0, 0, NULL, NULL},
    };
    char *text = printed(shown);
    size_t count = 0;
    char *rest = text;
    for (char *line = strsep(&rest, "\n"); line != NULL; line = strsep(&rest, "\n")) {
        assert_true(strlen(line) <= 100);
        count++;
    }
    assert_true(count > 5);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_given),
        cmocka_unit_test(what_is_wrong),
        cmocka_unit_test(what_is_shown),
        cmocka_unit_test(long_texts_are_wrapped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
