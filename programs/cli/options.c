/* SPDX-License-Identifier: BSD-3-Clause */
#include "programs/cli/options.h"

#include <stdlib.h>
#include <string.h>

#include "vampire/core/options/command_line.h"

#define KEY_CHARACTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"

static int add_override(struct vamp_options *options, const char *path, const char *value,
                        const char *origin, struct vamp_err *err)
{
    if (options->override_count >= VAMP_OVERRIDES_MAX) {
        return vamp_err_set(err, -EINVAL,
                            "more than %d options of the configuration are set; see %s --help",
                            VAMP_OVERRIDES_MAX, options->program->name);
    }
    options->overrides[options->override_count++] =
        (struct vamp_config_override){path, value, origin};
    return 0;
}

static int add_setting(struct vamp_options *options, const char *text, struct vamp_err *err)
{
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals == text) {
        /* The text after a key is not quoted, because it may be a secret. */
        const size_t shown = equals == NULL ? strspn(text, KEY_CHARACTERS) : strlen(text);
        return vamp_err_set(err, -EINVAL,
                            "-o %.*s: expected KEY=VALUE, such as -o %s; see %s --help", (int)shown,
                            text, options->program->setting, options->program->name);
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

static int choose_command(struct vamp_options *options, int command, struct vamp_err *err)
{
    if (options->command != VAMP_KEY_RUN && options->command != command) {
        return vamp_err_set(err, -EINVAL, "only one of %s at a time", options->program->commands);
    }
    options->command = command;
    return 0;
}

static int choose_file(struct vamp_options *options, const char *file, struct vamp_err *err)
{
    if (options->config_file != NULL) {
        return vamp_err_set(err, -EINVAL, "two configuration files: %s and %s; see %s --help",
                            options->config_file, file, options->program->name);
    }
    options->config_file = file;
    return 0;
}

/* Checks the argument of an option that permits only one word. */
static int check_word(const struct vamp_options *options, const struct vamp_command_given *given,
                      const char *word, struct vamp_err *err)
{
    if (given->argument == NULL || strcmp(given->argument, word) == 0) {
        return 0;
    }
    return vamp_err_set(err, -EINVAL, "%s=%s: only %s is known; see %s --help", given->name,
                        given->argument, word, options->program->name);
}

/* --help=all has precedence over --help, in either order. */
static int choose_help(struct vamp_options *options, const struct vamp_command_given *given,
                       struct vamp_err *err)
{
    const int code = check_word(options, given, "all", err);
    const bool all = given->argument != NULL || options->command == VAMP_KEY_HELP_ALL;
    if (all && options->command == VAMP_KEY_HELP) {
        options->command = VAMP_KEY_HELP_ALL;
    }
    if (code != 0) {
        return code;
    }
    return choose_command(options, all ? VAMP_KEY_HELP_ALL : VAMP_KEY_HELP, err);
}

/* Refuses "-" as a file: only the configuration is read from standard input. */
static int check_file(const struct vamp_options *options, const char *option, const char *file,
                      struct vamp_err *err)
{
    if (strcmp(file, "-") != 0) {
        return 0;
    }
    return vamp_err_set(err, -EINVAL,
                        "%s -: a file is needed, not standard input or output (\"./-\" is a file); "
                        "see %s --help",
                        option, options->program->name);
}

static int set_option(struct vamp_options *options, const struct vamp_command_given *given,
                      struct vamp_err *err)
{
    static const char *const paths[VAMP_KEY_COUNT] = {
        [VAMP_KEY_WORKFLOW] = "workflow", [VAMP_KEY_COMPONENT] = "component",
        [VAMP_KEY_INFO] = "source.info",  [VAMP_KEY_INFO_FILE] = "source.info_file",
        [VAMP_KEY_WAIT] = "source.wait",  [VAMP_KEY_REPLAY] = "source.file",
    };
    bool *const flags[VAMP_KEY_COUNT] = {
        [VAMP_KEY_QUIET] = &options->quiet,
        [VAMP_KEY_JSON] = &options->json,
        [VAMP_KEY_DRY_RUN] = &options->dry_run,
        [VAMP_KEY_INTRUSIVE] = &options->intrusive,
    };
    const char *argument = given->argument;
    int code = 0;
    if (flags[given->key] != NULL) {
        *flags[given->key] = true;
        return 0;
    }
    switch (given->key) {
    case VAMP_KEY_REPLAY: /* the recording replaces the source in the file */
        code = check_file(options, given->name, argument, err);
        if (code != 0) {
            return code;
        }
        code = add_override(options, "source.type", vamp_source_replay.name, given->name, err);
        break;
    case VAMP_KEY_CONFIG:
        return choose_file(options, argument, err);
    case VAMP_KEY_SET:
        return add_setting(options, argument, err);
    case VAMP_KEY_READY_FILE:
        options->ready_file = argument;
        return check_file(options, given->name, argument, err);
    case VAMP_KEY_LIST_METRICS:
        code = check_word(options, given, "json", err);
        options->json |= argument != NULL;
        argument = NULL;
        break;
    case VAMP_KEY_HELP:
        return choose_help(options, given, err);
    case VAMP_KEY_INFO_FILE:
        code = check_file(options, given->name, argument, err);
        break;
    default:
        break;
    }
    if (code != 0) {
        return code;
    }
    if (paths[given->key] != NULL) {
        return add_override(options, paths[given->key], argument, given->name, err);
    }
    code = choose_command(options, given->key, err);
    if (code == 0 && argument != NULL) {
        code = choose_file(options, argument, err);
    }
    return code;
}

/* Processes the arguments that are not options: the file of --check-config and --dump-config, and
 * the files of --summary, --export and --recover. */
static int take_rest(struct vamp_options *options, int argc, char **argv, struct vamp_err *err)
{
    const int rest = vamp_command_line_rest();
    static const struct {
        int least;
        const char *option, *missing;
    } files[VAMP_KEY_COUNT] = {
        [VAMP_KEY_SUMMARY] = {1, "--summary", "which files?"},
        [VAMP_KEY_EXPORT] = {2, "--export", "into what, and which files?"},
        [VAMP_KEY_RECOVER] = {1, "--recover", "which files?"},
    };
    const char *option = files[options->command].option;
    int code = 0;
    if (files[options->command].least > 0) {
        options->files = argv + rest;
        options->file_count = argc - rest;
        if (options->file_count < files[options->command].least) {
            return vamp_err_set(err, -EINVAL, "%s: %s; see %s --help", option,
                                files[options->command].missing, options->program->name);
        }
        for (int i = 0; i < options->file_count && code == 0; i++) {
            code = check_file(options, option, options->files[i], err);
        }
        return code;
    }
    const bool takes_file =
        options->command == VAMP_KEY_CHECK_CONFIG || options->command == VAMP_KEY_DUMP_CONFIG;
    for (int i = rest; i < argc && code == 0; i++) {
        if (takes_file) {
            code = choose_file(options, argv[i], err);
        } else {
            code = vamp_err_set(
                err, -EINVAL,
                "unexpected argument \"%s\"; the configuration is given by -c FILE; see %s --help",
                argv[i], options->program->name);
        }
    }
    return code;
}

/* --dry-run requires --recover: a user who omits it expects no effect, so a run would be wrong. */
static int check_together(const struct vamp_options *options, struct vamp_err *err)
{
    if (options->command != VAMP_KEY_RUN || (!options->dry_run && !options->json)) {
        return 0;
    }
    const char *reason = "--json works with --check-config and --list-metrics only";
    if (options->dry_run) {
        reason = "--dry-run works with --recover only; --check-config checks a configuration";
    }
    return vamp_err_set(err, -EINVAL, "%s; see %s --help", reason, options->program->name);
}

static int parse_arguments(struct vamp_options *options, int argc, char **argv,
                           struct vamp_err *err)
{
    const struct vamp_command_line line = {options->program->name, options->program->options, argc,
                                           argv};
    struct vamp_command_given given;
    int found = 0, code = 0;
    vamp_command_line_start();
    do {
        found = vamp_command_line_next(&line, &given, err);
        if (found > 0) {
            code = set_option(options, &given, err);
        }
    } while (code == 0 && found > 0);
    if (code == 0) {
        code = found;
    }
    if (code == 0) {
        code = take_rest(options, argc, argv, err);
    }
    return code;
}

/* All users of the host can read the arguments of a process (ps), so each secret is copied and then
 * overwritten in argv. */
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

int vamp_options_parse(const struct vamp_program *program, int argc, char **argv,
                       struct vamp_options *ret_options, struct vamp_err *err)
{
    struct vamp_options options = {.program = program, .command = VAMP_KEY_RUN};
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

void vamp_options_help(const struct vamp_program *program, FILE *stream)
{
    (void)fputs(program->usage, stream);
    vamp_command_options_help(program->options, VAMP_KEY_RARE, stream);
    (void)fputs(program->examples, stream);
}

void vamp_options_help_all(const struct vamp_program *program, FILE *stream)
{
    (void)fputs(program->usage, stream);
    vamp_command_options_help(program->options, -1, stream);
    (void)fputs(program->configuration, stream);
    vamp_config_help(program->config, stream);
    (void)fputs(program->signals, stream);
    (void)fputs(program->exit_codes, stream);
}
