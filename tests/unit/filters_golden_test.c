/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs the cases of tests/golden/filter/: filter texts with their normal form or error, and what
 * they match. The format is described in tests/golden/filter/README. The folder is found from the
 * repository root, or below $VAMP_TESTS (the folder tests/).
 */
#include <dirent.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "filters/event_filter.h"
#include "filters/expression.h"
#include "tests/lib/event_kinds.h"
#include "tests/unit/filters_subject.h"

#define SUBJECTS_MAX 64
#define CASES_MIN 300

enum mode { MODE_INSIDE, MODE_FIRST, MODE_SELECTOR };

struct runner {
    const char *file;
    unsigned line, failures, cases;
    enum mode mode;
    char prefix[64];
    struct subject subjects[SUBJECTS_MAX];
    size_t subject_count;
    struct vamp_named_filters named;
    struct vamp_components *components;
    /* The case at hand. */
    char text[70000];
    unsigned text_line;
    bool open, compiled;
    int rc;
    struct vamp_err err;
    struct vamp_event_filter *filter;
    struct vamp_expression *expression;
    char *normal;
};

VAMP_PRINTF(2, 3) static void complain(struct runner *runner, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s:%u: ", runner->file, runner->line);
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n    text: %s\n", runner->text);
    va_end(arguments);
    runner->failures++;
}

/* ---- subjects */

static void define_subject(struct runner *runner, char *rest, bool is_event)
{
    bool quoted;
    char *word = next_word(&rest, &quoted);
    if (word == NULL || runner->subject_count == SUBJECTS_MAX) {
        complain(runner, "no name, or too many events");
        return;
    }
    struct subject *subject = &runner->subjects[runner->subject_count++];
    memset(subject, 0, sizeof(*subject));
    (void)snprintf(subject->name, sizeof(subject->name), "%s", word);
    while ((word = next_word(&rest, &quoted)) != NULL) {
        char *value = strchr(word, '=');
        if (value == NULL) {
            complain(runner, "'%s' is no key=value", word);
            return;
        }
        *value++ = '\0';
        if (!(is_event ? set_field(subject, word, value)
                       : set_attribute(subject, word, value, quoted))) {
            complain(runner, "unknown or bad: %s=%s", word, value);
        }
    }
    subject->event.name = subject->text;
    if (is_event && subject->event.kind == VAMP_EVENT_JOIN) {
        (void)vamp_components_observe(runner->components, &subject->event);
    }
}

static const struct subject *find_subject(const struct runner *runner, const char *name)
{
    for (size_t i = 0; i < runner->subject_count; i++) {
        if (strcmp(runner->subjects[i].name, name) == 0) {
            return &runner->subjects[i];
        }
    }
    return NULL;
}

/* ---- cases */

static void drop(struct runner *runner)
{
    vamp_event_filter_free(runner->filter);
    vamp_expression_free(runner->expression);
    free(runner->normal);
    runner->filter = NULL;
    runner->expression = NULL;
    runner->normal = NULL;
}

static int compile(struct runner *runner, const char *text)
{
    if (runner->mode != MODE_SELECTOR) {
        int rc = vamp_event_filter_compile(
            text, runner->mode == MODE_FIRST ? VAMP_FILTER_FIRST : VAMP_FILTER_INSIDE,
            &runner->named, &runner->filter, &runner->err);
        runner->normal = rc == 0 ? vamp_event_filter_print(runner->filter) : NULL;
        return rc;
    }
    const struct vamp_vocabulary vocabulary = {.prefix = runner->prefix[0] != '\0' ? runner->prefix
                                                                                   : NULL};
    int rc = vamp_expression_compile(text, &vocabulary, &runner->expression, &runner->err);
    runner->normal = rc == 0 ? vamp_expression_print(runner->expression) : NULL;
    return rc;
}

/* Compiles the text gathered so far, once. */
static void finish_text(struct runner *runner)
{
    if (!runner->open) {
        return;
    }
    runner->open = false;
    runner->compiled = true;
    runner->cases++;
    runner->rc = compile(runner, runner->text);
    if (runner->rc != 0) {
        return;
    }
    /* The normal form is a fixed point, whatever the case asks for. */
    char *first = runner->normal;
    runner->normal = NULL;
    drop(runner);
    int rc = compile(runner, first);
    if (rc != 0 || strcmp(first, runner->normal) != 0) {
        complain(runner, "the normal form does not print itself: %s / %s", first,
                 rc != 0 ? runner->err.text : runner->normal);
    }
    free(first);
}

static void expect_normal(struct runner *runner, const char *expected)
{
    if (runner->rc != 0) {
        complain(runner, "does not compile: %s", runner->err.text);
        return;
    }
    const char *normal = expected[0] == '\0' ? runner->text : expected;
    if (runner->normal == NULL || strcmp(runner->normal, normal) != 0) {
        complain(runner, "normal form: %s\n    expected: %s", runner->normal, normal);
    }
}

static void expect_error(struct runner *runner, const char *expected)
{
    char place[80] = "", *end = NULL;
    unsigned long line = strtoul(expected, &end, 10);
    const char *text = expected;
    if (end != expected && *end == ':') {
        unsigned long column = strtoul(end + 1, &end, 10);
        (void)snprintf(place, sizeof(place), "line %lu, column %lu: ", line, column);
        text = end + strspn(end, " ");
    }
    if (runner->rc == 0) {
        complain(runner, "compiles to %s, expected the error %s", runner->normal, expected);
    } else if (strstr(runner->err.text, place) == NULL || strstr(runner->err.text, text) == NULL) {
        complain(runner, "error: %s\n    expected: %s%s", runner->err.text, place, text);
    }
}

static void expect_match(struct runner *runner, char *names, bool expected)
{
    bool quoted;
    for (char *name; (name = next_word(&names, &quoted)) != NULL;) {
        const struct subject *subject = find_subject(runner, name);
        if (subject == NULL || runner->rc != 0) {
            complain(runner, "no event '%s', or no filter: %s", name, runner->err.text);
            return;
        }
        struct subject copy = *subject;
        bool matches =
            runner->filter != NULL
                ? vamp_event_filter_match(runner->filter, &subject->event, runner->components)
                : vamp_expression_match(runner->expression, look_up_attribute, &copy);
        if (matches != expected) {
            complain(runner, "%s: %s, expected otherwise", name,
                     matches ? "matches" : "does not match");
        }
    }
}

static void expect_kinds(struct runner *runner, char *names)
{
    uint64_t expected = 0;
    bool quoted;
    for (char *name; (name = next_word(&names, &quoted)) != NULL;) {
        expected |= strcmp(name, "all") == 0 ? VAMP_EVENT_KINDS_ALL
                    : strcmp(name, "cdo") == 0
                        ? VAMP_EVENT_KINDS_ALL & ~VAMP_EVENT_KINDS_WITHOUT_CDO
                    : strcmp(name, "none") == 0 ? 0
                                                : VAMP_EVENT_BIT(event_kind_from_name(name));
    }
    uint64_t kinds = runner->filter != NULL ? vamp_event_filter_kinds(runner->filter) : UINT64_MAX;
    if (kinds != expected) {
        complain(runner, "kinds %#" PRIx64 ", expected %#" PRIx64 " %s", kinds, expected,
                 runner->err.text);
    }
}

static void expect_selector(struct runner *runner, const char *expected)
{
    const char *selector =
        runner->filter != NULL ? vamp_event_filter_selector(runner->filter) : "(no filter)";
    if (strcmp(selector != NULL ? selector : "none", expected) != 0) {
        complain(runner, "selector %s, expected %s; %s", selector, expected, runner->err.text);
    }
}

static void set_mode(struct runner *runner, const char *mode)
{
    runner->prefix[0] = '\0';
    if (strcmp(mode, "inside") == 0) {
        runner->mode = MODE_INSIDE;
    } else if (strcmp(mode, "first") == 0) {
        runner->mode = MODE_FIRST;
    } else if (sscanf(mode, "selector %60s", runner->prefix) == 1 ||
               strcmp(mode, "selector") == 0) {
        runner->mode = MODE_SELECTOR;
    } else {
        complain(runner, "unknown mode '%s'", mode);
    }
}

static void define_filter(struct runner *runner, char *rest)
{
    char *text = strstr(rest, " = ");
    struct vamp_err err = VAMP_ERR_NONE;
    if (text != NULL) {
        *text = '\0';
    }
    if (text == NULL ||
        vamp_named_filters_add(&runner->named, strdup(rest), strdup(text + 3), &err) != 0) {
        complain(runner, "define a filter: %s", err.text);
    }
}

/* A line of text, part of the case at hand or the beginning of the next. */
static void add_text(struct runner *runner, const char *text)
{
    if (!runner->open) {
        drop(runner);
        runner->text[0] = '\0';
        runner->open = true;
    } else {
        strncat(runner->text, "\n", sizeof(runner->text) - strlen(runner->text) - 1);
    }
    strncat(runner->text, text, sizeof(runner->text) - strlen(runner->text) - 1);
}

static void run_line(struct runner *runner, char *line)
{
    char *rest = line[0] != '\0' && line[1] == ' ' ? line + 2 : line + (line[0] != '\0');
    switch (line[0]) {
    case '>':
        add_text(runner, rest);
        return;
    case '=':
        finish_text(runner);
        expect_normal(runner, rest);
        return;
    case '!':
        finish_text(runner);
        expect_error(runner, rest);
        return;
    case '+':
    case '-':
        finish_text(runner);
        expect_match(runner, rest, line[0] == '+');
        return;
    case 'k':
        finish_text(runner);
        expect_kinds(runner, rest);
        return;
    case 's':
        finish_text(runner);
        expect_selector(runner, rest);
        return;
    case 'm':
        set_mode(runner, rest);
        return;
    case 'e':
    case 'o':
        define_subject(runner, rest, line[0] == 'e');
        return;
    case 'f':
        define_filter(runner, rest);
        return;
    default:
        complain(runner, "a line cannot begin like this: %s", line);
    }
}

static void run_file(struct runner *runner, const char *path)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    runner->file = path;
    runner->line = 0;
    runner->subject_count = 0;
    runner->mode = MODE_INSIDE;
    runner->prefix[0] = '\0';
    runner->named = (struct vamp_named_filters){0};
    assert_int_equal(vamp_components_create(64, &runner->components, NULL), 0);
    static char line[70000];
    while (fgets(line, sizeof(line), file) != NULL) {
        runner->line++;
        line[strcspn(line, "\n")] = '\0';
        if (line[0] != '\0' && line[0] != '#') {
            run_line(runner, line);
        }
    }
    finish_text(runner);
    drop(runner);
    for (size_t i = 0; i < runner->named.count; i++) {
        free((char *)(uintptr_t)runner->named.names[i]);
        free((char *)(uintptr_t)runner->named.texts[i]);
    }
    vamp_components_free(runner->components);
    assert_int_equal(fclose(file), 0);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_case_file(const struct dirent *entry)
{
    size_t length = strlen(entry->d_name);
    return length > 4 && strcmp(entry->d_name + length - 4, ".txt") == 0;
}

static void golden_cases(void **state)
{
    (void)state;
    const char *tests = getenv("VAMP_TESTS");
    char folder[512], path[1024];
    (void)snprintf(folder, sizeof(folder), "%s/golden/filter", tests != NULL ? tests : "tests");
    struct dirent **entries;
    int count = scandir(folder, &entries, is_case_file, by_name);
    if (count < 0) {
        fail_msg("no folder %s: start at the repository root or set VAMP_TESTS", folder);
    }
    struct runner *runner = calloc(1, sizeof(*runner));
    assert_non_null(runner);
    for (int i = 0; i < count; i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name);
        run_file(runner, path);
        free(entries[i]);
    }
    free(entries);
    unsigned cases = runner->cases, failures = runner->failures;
    free(runner);
    printf("%u cases\n", cases);
    assert_int_equal(failures, 0);
    assert_true(cases >= CASES_MIN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(golden_cases)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
