/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/options.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/exit_codes.h"

/* What an option does with its argument. */
enum action {
    ACTION_COMMAND,  /* chooses a command */
    ACTION_CONFIG,   /* names the configuration file */
    ACTION_CHECK,    /* a command that may name the file too */
    ACTION_LIST,     /* a command that may name a format */
    ACTION_FLAG,     /* sets a flag */
    ACTION_OVERRIDE, /* sets the option `path` of the configuration */
    ACTION_REPLAY,   /* names the recording to read */
    ACTION_SET,      /* KEY=VALUE */
};

enum flag { FLAG_JSON, FLAG_QUIET, FLAG_VERBOSE };

struct option_row {
    const char *name; /* with its dashes */
    char letter;      /* 0: none */
    enum action action;
    int what;             /* enum vamp_command or enum flag */
    const char *path;     /* OVERRIDE */
    const char *argument; /* NULL: none; in brackets: may be missing */
    const char *help;
};

static const struct option_row rows[] = {
    {"--config", 'c', ACTION_CONFIG, 0, NULL, "FILE",
     "read the configuration from FILE (\"-\": standard input); without it the defaults hold"},
    {"--workflow", 'w', ACTION_OVERRIDE, 0, "workflow", "NAME", "the workflow to join"},
    {"--component", 'n', ACTION_OVERRIDE, 0, "component", "NAME", "the name under which to join"},
    {"--pool-manager-info", 'p', ACTION_OVERRIDE, 0, "source.info", "INFO",
     "how to reach the pool manager, as it prints it"},
    {"--info-file", 'i', ACTION_OVERRIDE, 0, "source.info_file", "FILE",
     "a file with the pool manager's info; it is waited for"},
    {"--wait", 0, ACTION_OVERRIDE, 0, "source.wait", "TIME",
     "how long to try to reach the pool manager, such as 30s"},
    {"--set", 'o', ACTION_SET, 0, NULL, "KEY=VALUE",
     "set any option of the configuration, for example -o statistics.bucket=500ms or -o "
     "outputs.0.directory=/scratch; words of a list are separated by commas"},
    {"--replay", 'r', ACTION_REPLAY, 0, NULL, "FILE",
     "read the events from a recording instead of joining a workflow; -o source.speed=1 gives them "
     "in their own time"},
    {"--quiet", 'q', ACTION_FLAG, FLAG_QUIET, NULL, NULL,
     "no status line, no summary; errors only"},
    {"--verbose", 'v', ACTION_FLAG, FLAG_VERBOSE, NULL, NULL, "say more about what is being done"},
    {"--check-config", 0, ACTION_CHECK, VAMP_COMMAND_CHECK_CONFIG, NULL, "[=FILE]",
     "check the configuration, tell every mistake, and end with 0 or 2"},
    {"--dump-config", 0, ACTION_CHECK, VAMP_COMMAND_DUMP_CONFIG, NULL, "[=FILE]",
     "print the effective configuration with all defaults, and end"},
    {"--json", 0, ACTION_FLAG, FLAG_JSON, NULL, NULL,
     "with --check-config and --list-metrics: print JSON, for tools"},
    {"--print-schema", 0, ACTION_COMMAND, VAMP_COMMAND_PRINT_SCHEMA, NULL, NULL,
     "print the JSON Schema of the configuration, and end"},
    {"--print-completion", 0, ACTION_COMMAND, VAMP_COMMAND_PRINT_COMPLETION, NULL, NULL,
     "print the completion for bash, and end"},
    {"--print-manual-options", 0, ACTION_COMMAND, VAMP_COMMAND_PRINT_MANUAL, NULL, NULL,
     "print the options of the configuration as a part of vampire.json(5), and end"},
    {"--list-metrics", 0, ACTION_LIST, VAMP_COMMAND_LIST_METRICS, NULL, "[=json]",
     "print all metrics with unit, labels and meaning, and end"},
    {"--help", 'h', ACTION_COMMAND, VAMP_COMMAND_HELP, NULL, NULL, "print this, and end"},
    {"--version", 'V', ACTION_COMMAND, VAMP_COMMAND_VERSION, NULL, NULL,
     "print the version and what this build can tell, and end"},
};
#define ROW_COUNT (sizeof rows / sizeof rows[0])
#define SEE_HELP "; see vampire --help"
/* getopt_long returns this plus the row, which no letter can be. */
#define LONG_BASE 256

static int has_argument(const struct option_row *row)
{
    return row->argument == NULL     ? no_argument
           : row->argument[0] == '[' ? optional_argument
                                     : required_argument;
}

/* The rows in getopt's shape. */
static void make_getopt(struct option longs[static ROW_COUNT + 1],
                        char letters[static 3 * ROW_COUNT + 2])
{
    size_t used = 0;
    letters[used++] = ':'; /* tell a missing argument from an unknown option */
    for (size_t i = 0; i < ROW_COUNT; i++) {
        longs[i] =
            (struct option){rows[i].name + 2, has_argument(&rows[i]), NULL, LONG_BASE + (int)i};
        if (rows[i].letter != 0) {
            letters[used++] = rows[i].letter;
            if (has_argument(&rows[i]) == required_argument) {
                letters[used++] = ':';
            }
        }
    }
    longs[ROW_COUNT] = (struct option){NULL, 0, NULL, 0};
    letters[used] = '\0';
}

static const struct option_row *find_row(int found)
{
    if (found >= LONG_BASE) {
        return &rows[found - LONG_BASE];
    }
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if (rows[i].letter == found) {
            return &rows[i];
        }
    }
    return NULL;
}

static int add_override(struct vamp_options *options, const char *path, const char *value,
                        const char *origin, struct vamp_err *err)
{
    if (options->override_count >= VAMP_OVERRIDES_MAX) {
        return vamp_err_set(err, -EINVAL,
                            "more than %d options of the configuration are set" SEE_HELP,
                            VAMP_OVERRIDES_MAX);
    }
    options->overrides[options->override_count++] =
        (struct vamp_config_override){path, value, origin};
    return 0;
}

static int add_setting(struct vamp_options *options, const char *text, struct vamp_err *err)
{
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals == text) {
        return vamp_err_set(err, -EINVAL,
                            "-o %s: expected KEY=VALUE, such as -o "
                            "statistics.bucket=500ms" SEE_HELP,
                            text);
    }
    if (options->override_count >= VAMP_OVERRIDES_MAX) {
        return add_override(options, "", "", "-o", err);
    }
    char *path = strndup(text, (size_t)(equals - text));
    if (path == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "read the command line");
    }
    options->texts[options->override_count] = path;
    return add_override(options, path, equals + 1, "-o", err);
}

/* The recording takes the place of whatever source the file describes. */
static int choose_recording(struct vamp_options *options, const char *file, struct vamp_err *err)
{
    int code = add_override(options, "source.type", vamp_source_replay.name, "--replay", err);
    return code != 0 ? code : add_override(options, "source.file", file, "--replay", err);
}

static int choose_command(struct vamp_options *options, int command, struct vamp_err *err)
{
    if (options->command != VAMP_COMMAND_RUN && (int)options->command != command) {
        return vamp_err_set(err, -EINVAL,
                            "only one of --check-config, --dump-config, "
                            "--print-schema, --print-completion, --print-manual-options, "
                            "--list-metrics, --help and --version at a time");
    }
    options->command = (enum vamp_command)command;
    return 0;
}

static int choose_file(struct vamp_options *options, const char *file, struct vamp_err *err)
{
    if (options->config_file != NULL) {
        return vamp_err_set(err, -EINVAL, "two configuration files: %s and %s" SEE_HELP,
                            options->config_file, file);
    }
    options->config_file = file;
    return 0;
}

static void set_flag(struct vamp_options *options, enum flag flag)
{
    switch (flag) {
    case FLAG_JSON:
        options->json = true;
        return;
    case FLAG_QUIET:
        options->quiet = true;
        return;
    case FLAG_VERBOSE:
        options->verbose = true;
        return;
    }
}

static int perform(struct vamp_options *options, const struct option_row *row, const char *argument,
                   struct vamp_err *err)
{
    int code = 0;
    switch (row->action) {
    case ACTION_COMMAND:
        return choose_command(options, row->what, err);
    case ACTION_CONFIG:
        return choose_file(options, argument, err);
    case ACTION_CHECK:
        code = choose_command(options, row->what, err);
        return code == 0 && argument != NULL ? choose_file(options, argument, err) : code;
    case ACTION_LIST:
        if (argument != NULL && strcmp(argument, "json") != 0) {
            return vamp_err_set(err, -EINVAL, "--list-metrics=%s: only json is known" SEE_HELP,
                                argument);
        }
        options->json = options->json || argument != NULL;
        return choose_command(options, row->what, err);
    case ACTION_FLAG:
        set_flag(options, (enum flag)row->what);
        return 0;
    case ACTION_OVERRIDE:
        return add_override(options, row->path, argument, row->name, err);
    case ACTION_REPLAY:
        return choose_recording(options, argument, err);
    case ACTION_SET:
        return add_setting(options, argument, err);
    }
    return code;
}

static int report_unknown(const char *word, struct vamp_err *err)
{
    const char *names[ROW_COUNT + 1] = {NULL};
    for (size_t i = 0; i < ROW_COUNT; i++) {
        names[i] = rows[i].name;
    }
    char name[64];
    (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    const char *near = vamp_opt_near_choice(names, name);
    return vamp_err_set(err, -EINVAL, "there is no option %s%s%s%s" SEE_HELP, name,
                        near != NULL ? "; did you mean " : "", near != NULL ? near : "",
                        near != NULL ? "?" : "");
}

/* getopt's complaints in words. `word` is what it stumbled over. */
static int report_getopt(int found, const char *word, struct vamp_err *err)
{
    if (found == ':') {
        return vamp_err_set(err, -EINVAL, "%s needs a value" SEE_HELP, word);
    }
    if (strncmp(word, "--", 2) == 0 && optopt >= LONG_BASE) {
        return vamp_err_set(err, -EINVAL, "%s takes no value" SEE_HELP,
                            rows[optopt - LONG_BASE].name);
    }
    if (strncmp(word, "--", 2) == 0) {
        return report_unknown(word, err);
    }
    return vamp_err_set(err, -EINVAL, "there is no option -%c" SEE_HELP, optopt);
}

/* Words that belong to no option: the file of --check-config FILE and --dump-config FILE. */
static int take_rest(struct vamp_options *options, int argc, char **argv, struct vamp_err *err)
{
    bool takes_file = options->command == VAMP_COMMAND_CHECK_CONFIG ||
                      options->command == VAMP_COMMAND_DUMP_CONFIG;
    for (int i = optind; i < argc; i++) {
        if (!takes_file) {
            return vamp_err_set(err, -EINVAL,
                                "what is \"%s\" for? The configuration is named by -c "
                                "FILE" SEE_HELP,
                                argv[i]);
        }
        int code = choose_file(options, argv[i], err);
        if (code != 0) {
            return code;
        }
    }
    return 0;
}

static int parse(struct vamp_options *options, int argc, char **argv, struct vamp_err *err)
{
    struct option longs[ROW_COUNT + 1];
    char letters[3 * ROW_COUNT + 2];
    make_getopt(longs, letters);
    opterr = 0;
    optind = 0; /* start over, also after an earlier call */
    for (;;) {
        int current = optind > 0 ? optind : 1;
        int found = getopt_long(argc, argv, letters, longs, NULL);
        if (found == -1) {
            return take_rest(options, argc, argv, err);
        }
        if (found == '?' || found == ':') {
            /* A cluster of letters does not move optind before its end. */
            const char *word = argv[optind > current ? optind - 1 : current];
            return report_getopt(found, word, err);
        }
        int code = perform(options, find_row(found), optarg, err);
        if (code != 0) {
            return code;
        }
    }
}

int vamp_options_parse(int argc, char **argv, struct vamp_options *ret_options,
                       struct vamp_err *err)
{
    struct vamp_options options = {.command = VAMP_COMMAND_RUN};
    int code = parse(&options, argc, argv, err);
    if (code != 0) {
        vamp_options_done(&options);
        return code;
    }
    *ret_options = options;
    return 0;
}

void vamp_options_done(struct vamp_options *options)
{
    for (size_t i = 0; i < options->override_count; i++) {
        free(options->texts[i]);
        options->texts[i] = NULL;
    }
    options->override_count = 0;
}

/* ---- help */

void vamp_options_names(FILE *stream)
{
    for (size_t i = 0; i < ROW_COUNT; i++) {
        (void)fprintf(stream, "        %s\n", rows[i].name);
        if (rows[i].letter != 0) {
            (void)fprintf(stream, "        -%c\n", rows[i].letter);
        }
    }
}

/* Indented, in lines of at most 100 characters. */
static void print_help_text(FILE *stream, const char *text)
{
    const int indent = 31;
    int column = indent;
    while (*text != '\0') {
        int length = (int)strcspn(text, " ");
        if (column > indent && column + 1 + length > 100) {
            (void)fprintf(stream, "\n%*s", indent, "");
            column = indent;
        }
        (void)fprintf(stream, "%s%.*s", column > indent ? " " : "", length, text);
        column += length + (column > indent);
        text += length;
        text += *text == ' ';
    }
    (void)fputc('\n', stream);
}

static void print_row(FILE *stream, const struct option_row *row)
{
    char left[48];
    char letter[8] = "    ";
    if (row->letter != 0) {
        (void)snprintf(letter, sizeof letter, "-%c, ", row->letter);
    }
    const char *argument = row->argument != NULL ? row->argument : "";
    (void)snprintf(left, sizeof left, "%s%s%s%s", letter, row->name,
                   argument[0] != '\0' && argument[0] != '[' ? " " : "", argument);
    (void)fprintf(stream, "  %-28s ", left);
    print_help_text(stream, row->help);
}

void vamp_options_help(FILE *stream)
{
    (void)fputs(
        "usage: vampire [-c FILE] [OPTION...]\n"
        "       vampire --check-config FILE [--json]\n\n"
        "Joins a running Maestro workflow as a component, counts the pool's events and writes\n"
        "time-bucketed statistics. It ends when the workflow has ended, on SIGTERM or SIGINT.\n\n"
        "Options:\n",
        stream);
    for (size_t i = 0; i < ROW_COUNT; i++) {
        print_row(stream, &rows[i]);
    }
    (void)fputs(
        "\nThe configuration is one JSON file; // and /* */ comments are fine. Stronger wins:\n"
        "built-in default < file < environment < command line. The environment variables are\n"
        "MSTRO_WORKFLOW_NAME (workflow), MSTRO_COMPONENT_NAME (component) and\n"
        "MSTRO_POOL_MANAGER_INFO (source.info); an empty one counts as not set. With both\n"
        "source.info and source.info_file, the stronger one counts.\n\n",
        stream);
    vamp_config_help(stream);
    (void)fprintf(stream,
                  "\nExit codes:\n"
                  "  %d  the workflow ended, or a signal asked to stop; all files are complete\n"
                  "  %d  an output lost data, or something inside failed; stderr says what\n"
                  "  %d  command line or configuration; nothing was started\n"
                  "  %d  no pool manager within the configured time, or it refused us\n"
                  "  %d  the pool manager vanished before the workflow ended; files are complete\n",
                  VAMP_EXIT_OK, VAMP_EXIT_FAILED, VAMP_EXIT_USAGE, VAMP_EXIT_NO_POOL,
                  VAMP_EXIT_POOL_GONE);
}
