/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/cli/options.h"

#include <stdlib.h>
#include <string.h>

#include "vampire/core/options/command_line.h"
#include "vampire/run/exit_codes.h"

#define KEY_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"

/* What an option means. Those from KEY_RARE on are in --help=all only. */
enum option_key {
    KEY_CONFIG,
    KEY_INFO_FILE,
    KEY_INFO,
    KEY_WORKFLOW,
    KEY_COMPONENT,
    KEY_WAIT,
    KEY_READY_FILE,
    KEY_SET,
    KEY_REPLAY,
    KEY_QUIET,
    KEY_CHECK_CONFIG,
    KEY_DUMP_CONFIG,
    KEY_LIST_METRICS,
    KEY_SUMMARY,
    KEY_RECOVER,
    KEY_HELP,
    KEY_VERSION,
    KEY_RARE,
    KEY_DRY_RUN = KEY_RARE,
    KEY_JSON,
    KEY_VERBOSE,
    KEY_PRINT_SCHEMA,
    KEY_PRINT_COMPLETION,
};

const struct vamp_command_option vamp_options_table[] = {
    {"--config", 'c', KEY_CONFIG, "FILE",
     "read the configuration from FILE (\"-\": standard input); without this option, all options "
     "have their defaults"},
    {"--info-file", 'i', KEY_INFO_FILE, "FILE",
     "a file that contains the pool manager's info; vampire waits for it"},
    {"--pool-manager-info", 'p', KEY_INFO, "INFO",
     "how to reach the pool manager, as the pool manager prints it; a secret: --info-file "
     "keeps it in a file"},
    {"--workflow", 'w', KEY_WORKFLOW, "NAME", "the workflow to join"},
    {"--component", 'n', KEY_COMPONENT, "NAME", "the name under which to join"},
    {"--wait", 0, KEY_WAIT, "TIME", "how long to try to reach the pool manager, such as 30s"},
    {"--ready-file", 0, KEY_READY_FILE, "FILE",
     "create FILE, which contains the process id, once vampire has joined and the components can "
     "start; it is removed at the end"},
    {"--set", 'o', KEY_SET, "KEY=VALUE",
     "set any option of the configuration, for example -o statistics.bucket=500ms or -o "
     "outputs.0.directory=/scratch; commas separate the words of a list"},
    {"--replay", 'r', KEY_REPLAY, "FILE",
     "read the events from a recording instead of joining a workflow or, with a quoted pattern, "
     "from all segments of a run; -o source.speed=1 replays at the original speed"},
    {"--quiet", 'q', KEY_QUIET, NULL, "no status line, no summary; errors only"},
    {"--check-config", 0, KEY_CHECK_CONFIG, "[=FILE]",
     "check the configuration, report every mistake, and end with 0 or 2"},
    {"--dump-config", 0, KEY_DUMP_CONFIG, "[=FILE]",
     "print the configuration in effect with all defaults, and end"},
    {"--list-metrics", 0, KEY_LIST_METRICS, "[=json]",
     "print all metrics with unit, labels and meaning, and end"},
    {"--summary", 0, KEY_SUMMARY, NULL,
     "print the summary of each run from the named files (HDF5, JSON lines), as at the end of the "
     "run, and end; the files of a run make one summary, and a file can be one that is being "
     "written"},
    {"--recover", 0, KEY_RECOVER, NULL,
     "repair the named files of a killed run, report what was done, and end: JSON lines and "
     "recordings are truncated after the last whole record, HDF5 files are made to open normally; "
     "no whole record is lost, and a file that is being written is not touched"},
    {"--help", 'h', KEY_HELP, "[=all]", "print the common options or all of them, and end"},
    {"--version", 'V', KEY_VERSION, NULL,
     "print the version and what this build can report, and end"},
    {"--dry-run", 0, KEY_DRY_RUN, NULL,
     "with --recover: report what would be done, and change nothing"},
    {"--json", 0, KEY_JSON, NULL, "with --check-config or --list-metrics: print JSON, for tools"},
    {"--verbose", 'v', KEY_VERBOSE, NULL, "report more about what vampire is doing"},
    {"--print-schema", 0, KEY_PRINT_SCHEMA, NULL,
     "print the JSON Schema of the configuration, and end"},
    {"--print-completion", 0, KEY_PRINT_COMPLETION, "[=SHELL]",
     "print the completion for bash, zsh or fish, and end"},
    {NULL, 0, 0, NULL, NULL},
};
#define SEE_HELP "; see vampire --help"

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
        /* What comes after a key may be the value of a secret. */
        const size_t shown = equals == NULL ? strspn(text, KEY_CHARACTERS) : strlen(text);
        return vamp_err_set(err, -EINVAL,
                            "-o %.*s: expected KEY=VALUE, such as -o "
                            "statistics.bucket=500ms" SEE_HELP,
                            (int)shown, text);
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

/* The recording replaces the source that the file describes. */
static int choose_recording(struct vamp_options *options, const char *file, struct vamp_err *err)
{
    int code = add_override(options, "source.type", vamp_source_replay.name, "--replay", err);
    return code != 0 ? code : add_override(options, "source.file", file, "--replay", err);
}

static int choose_command(struct vamp_options *options, enum vamp_command command,
                          struct vamp_err *err)
{
    if (options->command != VAMP_COMMAND_RUN && options->command != command) {
        return vamp_err_set(err, -EINVAL,
                            "only one of --check-config, --dump-config, "
                            "--print-schema, --print-completion, --list-metrics, --summary, "
                            "--recover, --help and --version at a time");
    }
    options->command = command;
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

/* A command that may name its file, or its format, too. */
static int choose_with_file(struct vamp_options *options, enum vamp_command command,
                            const char *file, struct vamp_err *err)
{
    int code = choose_command(options, command, err);
    return code == 0 && file != NULL ? choose_file(options, file, err) : code;
}

static int choose_list(struct vamp_options *options, const char *format, struct vamp_err *err)
{
    if (format != NULL && strcmp(format, "json") != 0) {
        return vamp_err_set(err, -EINVAL, "--list-metrics=%s: only json is known" SEE_HELP, format);
    }
    options->json = options->json || format != NULL;
    return choose_command(options, VAMP_COMMAND_LIST_METRICS, err);
}

static int choose_help(struct vamp_options *options, const char *which, struct vamp_err *err)
{
    if (which != NULL && strcmp(which, "all") != 0) {
        return vamp_err_set(err, -EINVAL, "--help=%s: only all is known" SEE_HELP, which);
    }
    if (which == NULL && options->command == VAMP_COMMAND_HELP_ALL) {
        return 0;
    }
    if (which != NULL && options->command == VAMP_COMMAND_HELP) {
        options->command = VAMP_COMMAND_HELP_ALL;
    }
    return choose_command(options, which != NULL ? VAMP_COMMAND_HELP_ALL : VAMP_COMMAND_HELP, err);
}

static int choose_completion(struct vamp_options *options, const char *shell, struct vamp_err *err)
{
    const char *const *known = vamp_completion_shells;
    while (shell != NULL && *known != NULL && strcmp(*known, shell) != 0) {
        known++;
    }
    if (*known == NULL) {
        return vamp_err_set(err, -EINVAL,
                            "--print-completion=%s: bash, zsh and fish are known" SEE_HELP, shell);
    }
    options->shell = *known;
    return choose_command(options, VAMP_COMMAND_PRINT_COMPLETION, err);
}

static int set_option(struct vamp_options *options, const struct vamp_command_given *given,
                      struct vamp_err *err)
{
    const char *argument = given->argument;
    switch ((enum option_key)given->key) {
    case KEY_CONFIG:
        return choose_file(options, argument, err);
    case KEY_WORKFLOW:
        return add_override(options, "workflow", argument, given->name, err);
    case KEY_COMPONENT:
        return add_override(options, "component", argument, given->name, err);
    case KEY_INFO:
        return add_override(options, "source.info", argument, given->name, err);
    case KEY_INFO_FILE:
        return add_override(options, "source.info_file", argument, given->name, err);
    case KEY_WAIT:
        return add_override(options, "source.wait", argument, given->name, err);
    case KEY_SET:
        return add_setting(options, argument, err);
    case KEY_REPLAY:
        return choose_recording(options, argument, err);
    case KEY_READY_FILE:
        options->ready_file = argument;
        return 0;
    case KEY_QUIET:
        options->quiet = true;
        return 0;
    case KEY_VERBOSE:
        options->verbose = true;
        return 0;
    case KEY_JSON:
        options->json = true;
        return 0;
    case KEY_CHECK_CONFIG:
        return choose_with_file(options, VAMP_COMMAND_CHECK_CONFIG, argument, err);
    case KEY_DUMP_CONFIG:
        return choose_with_file(options, VAMP_COMMAND_DUMP_CONFIG, argument, err);
    case KEY_PRINT_SCHEMA:
        return choose_command(options, VAMP_COMMAND_PRINT_SCHEMA, err);
    case KEY_PRINT_COMPLETION:
        return choose_completion(options, argument, err);
    case KEY_LIST_METRICS:
        return choose_list(options, argument, err);
    case KEY_SUMMARY:
        return choose_command(options, VAMP_COMMAND_SUMMARY, err);
    case KEY_RECOVER:
        return choose_command(options, VAMP_COMMAND_RECOVER, err);
    case KEY_DRY_RUN:
        options->dry_run = true;
        return 0;
    case KEY_HELP:
        return choose_help(options, argument, err);
    case KEY_VERSION:
        return choose_command(options, VAMP_COMMAND_VERSION, err);
    }
    return -EINVAL;
}

static int take_files(struct vamp_options *options, int argc, char **argv, struct vamp_err *err)
{
    const int rest = vamp_command_line_rest();
    options->files = argv + rest;
    options->file_count = argc - rest;
    return argc > rest
               ? 0
               : vamp_err_set(err, -EINVAL, "--%s: which files?" SEE_HELP,
                              options->command == VAMP_COMMAND_SUMMARY ? "summary" : "recover");
}

/* Words that belong to no option: the file of --check-config FILE and --dump-config FILE, those of
 * --summary and --recover. */
static int take_rest(struct vamp_options *options, int argc, char **argv, struct vamp_err *err)
{
    if (options->command == VAMP_COMMAND_RECOVER || options->command == VAMP_COMMAND_SUMMARY) {
        return take_files(options, argc, argv, err);
    }
    bool takes_file = options->command == VAMP_COMMAND_CHECK_CONFIG ||
                      options->command == VAMP_COMMAND_DUMP_CONFIG;
    for (int i = vamp_command_line_rest(); i < argc; i++) {
        if (!takes_file) {
            return vamp_err_set(
                err, -EINVAL,
                "unexpected argument \"%s\"; the configuration is given by -c FILE" SEE_HELP,
                argv[i]);
        }
        int code = choose_file(options, argv[i], err);
        if (code != 0) {
            return code;
        }
    }
    return 0;
}

/* A user of --dry-run without --recover expects that nothing happens: a run would be a surprise. */
static int check_together(const struct vamp_options *options, struct vamp_err *err)
{
    if (options->command != VAMP_COMMAND_RUN || (!options->dry_run && !options->json)) {
        return 0;
    }
    return vamp_err_set(
        err, -EINVAL, "%s" SEE_HELP,
        options->dry_run
            ? "--dry-run works with --recover only; --check-config checks a configuration"
            : "--json works with --check-config and --list-metrics only");
}

static int parse_arguments(struct vamp_options *options, int argc, char **argv,
                           struct vamp_err *err)
{
    const struct vamp_command_line line = {"vampire", vamp_options_table, argc, argv};
    struct vamp_command_given given;
    vamp_command_line_start();
    for (;;) {
        int found = vamp_command_line_next(&line, &given, err);
        if (found <= 0) {
            return found == 0 ? take_rest(options, argc, argv, err) : found;
        }
        int code = set_option(options, &given, err);
        if (code != 0) {
            return code;
        }
    }
}

/* Everyone on the host can read a process's arguments (ps): keeps a copy of each secret among them
 * and overwrites it there. */
static int hide_secrets(struct vamp_options *options, int argc, char **argv, struct vamp_err *err)
{
    for (size_t i = 0; i < options->override_count; i++) {
        struct vamp_config_override *override = &options->overrides[i];
        if (strcmp(override->path, "source.info") != 0) {
            continue;
        }
        options->secrets[i] = strdup(override->value);
        if (options->secrets[i] == NULL) {
            return vamp_err_set_errno(err, ENOMEM, "read the command line");
        }
        for (int k = 1; k < argc; k++) {
            const size_t length = strlen(argv[k]);
            if (override->value >= argv[k] && override->value <= argv[k] + length) {
                const size_t begin = (size_t)(override->value - argv[k]);
                memset(argv[k] + begin, 'x', length - begin);
            }
        }
        override->value = options->secrets[i];
    }
    return 0;
}

int vamp_options_parse(int argc, char **argv, struct vamp_options *ret_options,
                       struct vamp_err *err)
{
    struct vamp_options options = {.command = VAMP_COMMAND_RUN};
    int code = parse_arguments(&options, argc, argv, err);
    if (code == 0) {
        code = check_together(&options, err);
    }
    if (code == 0) {
        code = hide_secrets(&options, argc, argv, err);
    }
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
        free(options->secrets[i]);
        options->texts[i] = NULL;
        options->secrets[i] = NULL;
    }
    options->override_count = 0;
}

/* ---- help */

static void print_usage(FILE *stream)
{
    (void)fputs(
        "usage: vampire [-c FILE] [OPTION...]\n"
        "       vampire --replay FILE [OPTION...]\n"
        "       vampire --check-config FILE [--json]\n"
        "       vampire --summary FILE...\n"
        "       vampire --recover FILE...\n\n"
        "Joins a running Maestro workflow as a component, counts the pool's events and writes\n"
        "time-bucketed statistics. It ends when the workflow has ended, on SIGTERM or SIGINT.\n\n"
        "Options:\n",
        stream);
}

void vamp_options_help(FILE *stream)
{
    print_usage(stream);
    vamp_command_options_help(vamp_options_table, KEY_RARE, stream);
    (void)fputs(
        "\nExamples:\n"
        "  vampire -c FILE -i pool.info -w WORKFLOW      join a workflow\n"
        "  vampire -q -c FILE --ready-file vampire.ready ... &  and start it in a script\n"
        "  vampire -r 'RUN-*.rec' -o outputs.0.directory=DIR   count a recording again\n\n"
        "More: --help=all prints every option, the configuration, signals and exit codes;\n"
        "vampire(1), vampire.json(5), vampire-metrics(7) and vampire-filter(7) explain them.\n",
        stream);
}

void vamp_options_help_all(FILE *stream)
{
    print_usage(stream);
    vamp_command_options_help(vamp_options_table, -1, stream);
    (void)fputs(
        "\nThe configuration is one JSON file, which may have // and /* */ comments. Precedence:\n"
        "built-in default < file < environment < command line. The environment variables are\n"
        "MSTRO_WORKFLOW_NAME (workflow), MSTRO_COMPONENT_NAME (component) and\n"
        "MSTRO_POOL_MANAGER_INFO (source.info); an empty one counts as not set. Of\n"
        "source.info and source.info_file, the one with higher precedence counts.\n\n",
        stream);
    vamp_config_help(stream);
    (void)fputs("\nSignals:\n"
                "  SIGTERM, SIGINT  complete all files and end; a second one ends at once\n"
                "  SIGHUP           read the configuration again\n"
                "  SIGUSR1          print the state of the run to stderr\n"
                "  SIGUSR2          read the file of silenced alarms again\n",
                stream);
    (void)fprintf(stream,
                  "\nExit codes:\n"
                  "  %d  the workflow ended, or a signal asked to stop; all files are complete\n"
                  "  %d  an output lost data, or vampire failed internally; stderr has the reason\n"
                  "  %d  error in the command line or configuration; nothing was started\n"
                  "  %d  no pool manager within the configured time, or it refused vampire\n"
                  "  %d  the pool manager vanished before the workflow ended; files are complete\n"
                  "  %d  the recording is damaged; what could not be read is counted as lost\n",
                  VAMP_EXIT_OK, VAMP_EXIT_FAILED, VAMP_EXIT_USAGE, VAMP_EXIT_NO_POOL,
                  VAMP_EXIT_POOL_GONE, VAMP_EXIT_DAMAGED);
}
