/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/core/options/command_line.h"

#include <getopt.h>
#include <string.h>

#include "vampire/core/options/options.h"
#include "vampire/core/values.h"

#define SEE_HELP "; see %s --help"
/* getopt_long returns an option's index plus this number, which is above all letters. */
#define LONG_BASE 256

/* Tables in the format of getopt. */
struct getopt_tables {
    struct option longs[VAMP_COMMAND_OPTIONS_MAX + 1];
    char letters[3 * VAMP_COMMAND_OPTIONS_MAX + 2];
};

static int has_argument(const struct vamp_command_option *option)
{
    if (option->argument == NULL) {
        return no_argument;
    }
    return option->argument[0] == '[' ? optional_argument : required_argument;
}

static size_t count_options(const struct vamp_command_option *options)
{
    size_t count = 0;
    while (options[count].name != NULL) {
        count++;
    }
    return count;
}

static void make_getopt(const struct vamp_command_option *options, size_t count,
                        struct getopt_tables *ret_tables)
{
    size_t used = 0;
    ret_tables->letters[used++] =
        ':'; /* getopt then distinguishes a missing argument from an unknown option */
    for (size_t i = 0; i < count; i++) {
        ret_tables->longs[i] = (struct option){options[i].name + 2, has_argument(&options[i]), NULL,
                                               LONG_BASE + (int)i};
        if (options[i].letter != 0) {
            ret_tables->letters[used++] = options[i].letter;
            if (has_argument(&options[i]) == required_argument) {
                ret_tables->letters[used++] = ':';
            }
        }
    }
    ret_tables->longs[count] = (struct option){NULL, 0, NULL, 0};
    ret_tables->letters[used] = '\0';
}

static int report_unknown(const struct vamp_command_line *line, const char *word,
                          struct vamp_err *err)
{
    const char *names[VAMP_COMMAND_OPTIONS_MAX + 1] = {NULL};
    for (size_t i = 0; line->options[i].name != NULL; i++) {
        names[i] = line->options[i].name;
    }
    char name[64];
    (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    const char *near = vamp_opt_near_choice(names, name);
    if (near == NULL) {
        return vamp_err_set(err, -EINVAL, "unknown option %s" SEE_HELP, name, line->program);
    }
    return vamp_err_set(err, -EINVAL, "unknown option %s; did you mean %s?" SEE_HELP, name, near,
                        line->program);
}

/* Reports an error that getopt found in `word`. */
static int report_getopt(const struct vamp_command_line *line, int found, const char *word,
                         struct vamp_err *err)
{
    if (found == ':') {
        return vamp_err_set(err, -EINVAL, "%s needs a value" SEE_HELP, word, line->program);
    }
    if (strncmp(word, "--", 2) == 0 && optopt >= LONG_BASE) {
        return vamp_err_set(err, -EINVAL, "%s takes no value" SEE_HELP,
                            line->options[optopt - LONG_BASE].name, line->program);
    }
    if (strncmp(word, "--", 2) == 0) {
        return report_unknown(line, word, err);
    }
    return vamp_err_set(err, -EINVAL, "unknown option -%c" SEE_HELP, optopt, line->program);
}

static const struct vamp_command_option *find(const struct vamp_command_option *options, int found)
{
    if (found >= LONG_BASE) {
        return &options[found - LONG_BASE];
    }
    while (options->letter != found) {
        options++;
    }
    return options;
}

void vamp_command_line_start(void)
{
    opterr = 0;
    optind = 0; /* restarts getopt after an earlier call */
}

int vamp_command_line_next(const struct vamp_command_line *line,
                           struct vamp_command_given *ret_given, struct vamp_err *err)
{
    struct getopt_tables tables;
    size_t count = count_options(line->options);
    if (count > VAMP_COMMAND_OPTIONS_MAX) {
        return vamp_err_set(err, -EINVAL, "%s has more than %d options", line->program,
                            VAMP_COMMAND_OPTIONS_MAX);
    }
    make_getopt(line->options, count, &tables);
    int current = optind > 0 ? optind : 1;
    int found = getopt_long(line->argc, line->argv, tables.letters, tables.longs, NULL);
    if (found == -1) {
        return 0;
    }
    if (found == '?' || found == ':') {
        /* A cluster of letters advances optind only at its end. */
        const char *word = line->argv[optind > current ? optind - 1 : current];
        return report_getopt(line, found, word, err);
    }
    const struct vamp_command_option *option = find(line->options, found);
    *ret_given = (struct vamp_command_given){option->key, option->name, optarg};
    return 1;
}

int vamp_command_line_rest(void)
{
    return optind;
}

/* ---- --help */

#define HELP_INDENT 31

void vamp_command_options_help(const struct vamp_command_option *options, int before, FILE *stream)
{
    for (; options->name != NULL && options->key != before; options++) {
        char left[48];
        char letter[8] = "    ";
        if (options->letter != 0) {
            (void)snprintf(letter, sizeof letter, "-%c, ", options->letter);
        }
        const char *blank = has_argument(options) == required_argument ? " " : "";
        (void)snprintf(left, sizeof left, "%s%s%s%s", letter, options->name, blank,
                       vamp_text_or(options->argument, ""));
        (void)fprintf(stream, "  %-28s ", left);
        vamp_opt_print_wrapped(stream, HELP_INDENT, options->help);
    }
}
