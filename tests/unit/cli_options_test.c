/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line, and the commands that are not a run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "programs/cli/start.h"
#include "programs/vampire/command_line.h"
#include "tests/lib/fault.h"

#define WORDS_MAX 140

/* Splits at blanks; the words live in `text`. */
static int parse(char *text, struct vamp_options *options, struct vamp_err *err)
{
    char *argv[WORDS_MAX + 2] = {NULL};
    int argc = 0;
    static char program[] = "vampire";
    argv[argc++] = program;
    char *rest = text;
    for (char *word = strsep(&rest, " "); word != NULL && argc <= WORDS_MAX;
         word = strsep(&rest, " ")) {
        if (*word != '\0') {
            argv[argc++] = word;
        }
    }
    return vamp_options_parse(&vamp_program_vampire, argc, argv, options, err);
}

static void what_is_understood(void **state)
{
    (void)state;
    struct vamp_options options;
    struct vamp_err err = VAMP_ERR_NONE;
    char none[] = "";
    assert_int_equal(parse(none, &options, &err), 0);
    assert_int_equal(options.command, VAMP_KEY_RUN);
    assert_null(options.config_file);
    assert_int_equal(options.override_count, 0);
    vamp_options_done(&options);

    char all[] = "-c a.json --workflow w -n me -p info --info-file=f --wait 5s -q "
                 "-o statistics.bucket=1s --set events.filter=(.a=1)";
    assert_int_equal(parse(all, &options, &err), 0);
    assert_string_equal(options.config_file, "a.json");
    assert_true(options.quiet && !options.json);
    static const char *const expected[][3] = {
        {"workflow", "w", "--workflow"},
        {"component", "me", "--component"},
        {"source.info", "info", "--pool-manager-info"},
        {"source.info_file", "f", "--info-file"},
        {"source.wait", "5s", "--wait"},
        {"statistics.bucket", "1s", "-o"},
        {"events.filter", "(.a=1)", "-o"},
    };
    assert_int_equal(options.override_count, 7);
    for (size_t i = 0; i < 7; i++) {
        assert_string_equal(options.overrides[i].path, expected[i][0]);
        assert_string_equal(options.overrides[i].value, expected[i][1]);
        assert_string_equal(options.overrides[i].origin, expected[i][2]);
    }
    vamp_options_done(&options);
}

static void commands(void **state)
{
    (void)state;
    static const struct {
        const char *text, *file;
        int command;
        bool json;
    } cases[] = {
        {"--check-config", NULL, VAMP_KEY_CHECK_CONFIG, false},
        {"--check-config a.json --json", "a.json", VAMP_KEY_CHECK_CONFIG, true},
        {"--check-config=a.json", "a.json", VAMP_KEY_CHECK_CONFIG, false},
        {"-c a.json --check-config", "a.json", VAMP_KEY_CHECK_CONFIG, false},
        {"--dump-config -c -", "-", VAMP_KEY_DUMP_CONFIG, false},
        {"--print-schema", NULL, VAMP_KEY_PRINT_SCHEMA, false},
        {"--list-metrics", NULL, VAMP_KEY_LIST_METRICS, false},
        {"--list-metrics=json", NULL, VAMP_KEY_LIST_METRICS, true},
        {"-h", NULL, VAMP_KEY_HELP, false},
        {"--help --help", NULL, VAMP_KEY_HELP, false},
        {"--help=all", NULL, VAMP_KEY_HELP_ALL, false},
        {"--help --help=all", NULL, VAMP_KEY_HELP_ALL, false},
        {"--help=all --help", NULL, VAMP_KEY_HELP_ALL, false},
        {"-V", NULL, VAMP_KEY_VERSION, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *text = strdup(cases[i].text);
        assert_non_null(text);
        struct vamp_options options;
        assert_int_equal(parse(text, &options, NULL), 0);
        assert_int_equal(options.command, cases[i].command);
        assert_int_equal(options.json, cases[i].json);
        assert_int_equal(options.config_file == NULL, cases[i].file == NULL);
        if (cases[i].file != NULL) {
            assert_string_equal(options.config_file, cases[i].file);
        }
        vamp_options_done(&options);
        free(text);
    }
}

static void mistakes_are_reported(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"--confg a", "unknown option --confg; did you mean --config?; see vampire --help"},
        {"--zzz", "unknown option --zzz; see vampire --help"},
        {"--wrkflow=x", "unknown option --wrkflow; did you mean --workflow?; see vampire --help"},
        {"-x", "unknown option -x; see vampire --help"},
        {"-qx", "unknown option -x; see vampire --help"},
        {"-c", "-c needs a value; see vampire --help"},
        {"-q --workflow", "--workflow needs a value; see vampire --help"},
        {"--quiet=5", "--quiet takes no value; see vampire --help"},
        {"-o source.info:Zq7Xw", "-o source.info: expected KEY=VALUE, such as -o "
                                 "statistics.bucket=500ms; see vampire --help"},
        {"-o bucket", "-o bucket: expected KEY=VALUE, such as -o statistics.bucket=500ms; see "
                      "vampire --help"},
        {"-o =5",
         "-o =5: expected KEY=VALUE, such as -o statistics.bucket=500ms; see vampire --help"},
        {"a.json",
         "unexpected argument \"a.json\"; the configuration is given by -c FILE; see vampire "
         "--help"},
        {"-c a.json -c b.json", "two configuration files: a.json and b.json; see vampire --help"},
        {"--check-config a.json b.json",
         "two configuration files: a.json and b.json; see vampire --help"},
        {"--help --version", "only one of --check-config, --dump-config, --print-schema, "
                             "--list-metrics, --samples-show, --examine, "
                             "--summary, --export, --recover, "
                             "--help and --version at a time"},
        {"-c a.json --dry-run", "--dry-run works with --recover only; --check-config checks a "
                                "configuration; see vampire --help"},
        {"--json", "--json works with --check-config and --list-metrics only; see vampire --help"},
        {"--export a.sqlite", "--export: into what, and which files?; see vampire --help"},
        {"--help=some", "--help=some: only all is known; see vampire --help"},
        {"--list-metrics=xml", "--list-metrics=xml: only json is known; see vampire --help"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char *text = strdup(cases[i][0]);
        assert_non_null(text);
        struct vamp_options options;
        struct vamp_err err = VAMP_ERR_NONE;
        assert_int_equal(parse(text, &options, &err), -EINVAL);
        assert_string_equal(err.text, cases[i][1]);
        free(text);
    }
}

static void settings_are_bounded(void **state)
{
    (void)state;
    static const char setting[] = "-oa=1 ";
    char text[(VAMP_OVERRIDES_MAX + 1) * sizeof setting] = "";
    for (size_t i = 0; i < VAMP_OVERRIDES_MAX; i++) {
        memcpy(text + i * (sizeof setting - 1), setting, sizeof setting);
    }
    char one_more[sizeof text + sizeof setting];
    (void)snprintf(one_more, sizeof one_more, "%s%s", text, setting);
    struct vamp_options options;
    struct vamp_err err = VAMP_ERR_NONE;
    assert_int_equal(parse(text, &options, &err), 0);
    assert_int_equal(options.override_count, VAMP_OVERRIDES_MAX);
    vamp_options_done(&options);
    assert_int_equal(parse(one_more, &options, &err), -EINVAL);
    assert_non_null(strstr(err.text, "more than 128 options"));
    char again[] = "-o a=1 -o b=2";
    fault_alloc_fail_at(2);
    int code = parse(again, &options, &err);
    assert_true(fault_alloc_end());
    assert_int_equal(code, -ENOMEM);
}

/* What a command prints; the exit code must be as expected. */
static char *answer(const char *arguments, int exit_code, char **ret_mistakes)
{
    char *text = strdup(arguments);
    char *out = NULL;
    size_t out_bytes = 0;
    size_t error_bytes = 0;
    FILE *out_stream = open_memstream(&out, &out_bytes);
    FILE *error_stream = open_memstream(ret_mistakes, &error_bytes);
    assert_true(text != NULL && out_stream != NULL && error_stream != NULL);
    struct vamp_options options;
    struct vamp_err err = VAMP_ERR_NONE;
    assert_int_equal(parse(text, &options, &err), 0);
    assert_int_equal(vamp_perform(&options, out_stream, error_stream), exit_code);
    vamp_options_done(&options);
    assert_int_equal(fclose(out_stream), 0);
    assert_int_equal(fclose(error_stream), 0);
    free(text);
    return out;
}

static void assert_answer(const char *arguments, int exit_code, const char *begin,
                          const char *mistake)
{
    char *mistakes = NULL;
    char *out = answer(arguments, exit_code, &mistakes);
    if (strncmp(out, begin, strlen(begin)) != 0) {
        fail_msg("%s gives: %s", arguments, out);
    }
    if (mistake[0] == '\0' ? mistakes[0] != '\0' : strstr(mistakes, mistake) == NULL) {
        fail_msg("%s complains: %s", arguments, mistakes);
    }
    free(out);
    free(mistakes);
}

static void answers(void **state)
{
    (void)state;
    assert_answer("--version", 0, "vampire ", "");
    assert_answer("--help", 0, "usage: vampire", "");
    assert_answer("--list-metrics", 0, "METRIC", "");
    assert_answer("--list-metrics=json", 0, "{\"metrics\": [\n  {\"name\": \"pool_operations\"",
                  "");
    assert_answer("--print-schema", 0, "{\n  \"$schema\":", "");
    assert_answer("--dump-config", 0, "{\n  \"workflow\": ", "");
    assert_answer("--check-config", 0, "built-in defaults: fine\n", "");
    assert_answer("--check-config config/ready/demo.json", 0, "config/ready/demo.json: fine\n", "");
    assert_answer("--check-config -o outputs.0.directory=/nonexistent", 2,
                  "built-in defaults: 1 error\n", "/nonexistent cannot be used: No such file");
    assert_answer("--check-config -o source.wait=1 --json", 2,
                  "{\"file\": \"built-in defaults\", \"errors\": 1, \"warnings\": 0, "
                  "\"diagnostics\": [\n  {\"severity\": \"error\", \"file\": \"-o\", \"path\": "
                  "\"/source/wait\", ",
                  "");
    assert_answer("--check-config /nonexistent.json --json", 2,
                  "{\"file\": \"/nonexistent.json\", \"errors\": 1", "");
    assert_answer("--dump-config /nonexistent.json", 2, "", "nothing was started");
    assert_answer("--dump-config -o source.wait=1", 2, "", "-o: error: /source/wait:");
}

/* Every option of the tables and every exit code is in the help. */
static void help_is_complete(void **state)
{
    (void)state;
    char *mistakes = NULL;
    char *help = answer("--help=all", 0, &mistakes);
    static const char *const expected[] = {
        "--check-config",
        "--info-file",
        "statistics.max_series",
        "events.cdo_names",
        "source.signal_before",
        "outputs.N.rotate.interval",
        "outputs.N.directory",
        "MSTRO_WORKFLOW_NAME",
        "\n  0  ",
        "\n  1  ",
        "\n  2  ",
        "\n  3  ",
        "\n  4  ",
    };
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        if (strstr(help, expected[i]) == NULL) {
            fail_msg("%s is not in the help", expected[i]);
        }
    }
    for (const char *line = help; *line != '\0';) {
        size_t length = strcspn(line, "\n");
        assert_true(length <= 100);
        line += length + (line[length] != '\0');
    }
    free(help);
    free(mistakes);
}

/* The common options alone, on one screen, and where the others are. */
static void help_is_short(void **state)
{
    (void)state;
    char *mistakes = NULL;
    char *help = answer("--help", 0, &mistakes);
    unsigned lines = 0;
    for (const char *at = help; *at != '\0'; at++) {
        lines += *at == '\n';
    }
    assert_in_range(lines, 40, 60);
    assert_non_null(strstr(help, "--info-file"));
    assert_non_null(strstr(help, "--help=all"));
    assert_null(strstr(help, "--print-schema"));
    free(help);
    free(mistakes);
}

static void a_full_disk_is_reported(void **state)
{
    (void)state;
    FILE *full = fopen("/dev/full", "we");
    assert_non_null(full);
    char *mistakes = NULL;
    size_t bytes = 0;
    FILE *error = open_memstream(&mistakes, &bytes);
    assert_non_null(error);
    const struct vamp_options options = {.program = &vamp_program_vampire,
                                         .command = VAMP_KEY_VERSION};
    assert_int_equal(vamp_perform(&options, full, error), VAMP_EXIT_FAILED);
    (void)fclose(full);
    assert_int_equal(fclose(error), 0);
    assert_non_null(strstr(mistakes, "No space left on device"));
    free(mistakes);
}

int main(void)
{
    /* A job's environment must not change what is expected here. */
    (void)unsetenv("MSTRO_WORKFLOW_NAME");
    (void)unsetenv("MSTRO_COMPONENT_NAME");
    (void)unsetenv("MSTRO_POOL_MANAGER_INFO");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_understood),
        cmocka_unit_test(commands),
        cmocka_unit_test(mistakes_are_reported),
        cmocka_unit_test(settings_are_bounded),
        cmocka_unit_test(answers),
        cmocka_unit_test(help_is_complete),
        cmocka_unit_test(help_is_short),
        cmocka_unit_test(a_full_disk_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
