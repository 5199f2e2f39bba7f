/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * vampire-top: shows what a running vampire sees, from its JSON lines.
 */
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "programs/vampire-top/show.h"
#include "vampire/core/options/command_line.h"
#include "version.h"

enum { EXIT_SHOWN = 0, EXIT_READING = 1, EXIT_USAGE = 2 };

enum option_key {
    KEY_ONCE,
    KEY_PLAIN,
    KEY_TOTALS,
    KEY_WINDOW,
    KEY_RANKS,
    KEY_SORT,
    KEY_FILTER,
    KEY_ALL,
    KEY_WAIT,
    KEY_HELP,
    KEY_VERSION,
    KEY_COUNT,
};

static const struct vamp_command_option options_table[] = {
    {"--once", '1', KEY_ONCE, NULL, "print the latest state as plain text, and end"},
    {"--plain", 'p', KEY_PLAIN, NULL,
     "print a block of text for each bucket; the default when standard output is not a terminal"},
    {"--totals", 't', KEY_TOTALS, NULL,
     "show totals of all buckets seen instead of the rates of the latest bucket"},
    {"--window", 'n', KEY_WINDOW, "SECONDS",
     "show the rates of the last SECONDS instead of those of the latest bucket"},
    {"--ranks", 'r', KEY_RANKS, NULL,
     "show each rank, also where there are many, which are shown by model"},
    {"--sort", 's', KEY_SORT, "KEY", "sort by operations, bytes, wait or name (operations)"},
    {"--filter", 'f', KEY_FILTER, "TEXT",
     "show only components and pairs whose name contains TEXT"},
    {"--all", 'a', KEY_ALL, NULL, "read a long file from its beginning instead of its last 16 MiB"},
    {"--wait", 'w', KEY_WAIT, NULL, "wait for a SOURCE that does not exist yet"},
    {"--help", 'h', KEY_HELP, NULL, "print this text, and end"},
    {"--version", 'V', KEY_VERSION, NULL, "print the version, and end"},
    {NULL, 0, 0, NULL, NULL},
};

struct options {
    bool given[KEY_COUNT];
    const char *source;
    struct top_choice choice;
    double window_ns;
};

static const char help_begin[] =
    "usage: vampire-top [OPTION...] [SOURCE]\n"
    "\n"
    "Shows what vampire counts, from its output of type \"jsonl\": operations and bytes per "
    "second,\n"
    "the pool, models or components and their waits, the busiest pairs, who waited for whom, "
    "declared metrics, losses. The key h lists all keys.\n"
    "\n"
    "SOURCE is a file (followed, also into the next segments), a FIFO, unix:PATH or\n"
    "tcp:[ADDRESS:]PORT on this machine, or - for standard input, which is the default if it is "
    "not a\n"
    "terminal.\n"
    "\n"
    "Options:\n";
static const char help_end[] =
    "\n"
    "Exit codes:\n"
    "  0  the run was shown to its end, or until the user quit\n"
    "  1  SOURCE cannot be read, or has no bucket; stderr has the reason\n"
    "  2  error in the command line\n";

static int take_option(struct options *options, const struct vamp_command_given *given,
                       struct vamp_err *err)
{
    struct top_choice *choice = &options->choice;
    const char *argument = given->argument;
    options->given[given->key] = true;
    if (given->key == KEY_FILTER) {
        if (strlen(argument) >= sizeof choice->filter) {
            return vamp_err_set(err, -EINVAL, "--filter: a text of at most %zu bytes",
                                sizeof choice->filter - 1);
        }
        memcpy(choice->filter, argument, strlen(argument) + 1);
    }
    if (given->key == KEY_WINDOW) {
        char *end = NULL;
        const unsigned long seconds = strtoul(argument, &end, 10);
        if (*argument < '1' || *argument > '9' || *end != '\0' || seconds > 1000000) {
            return vamp_err_set(err, -EINVAL,
                                "--window %s: it is a number of seconds, 1 to 1000000", argument);
        }
        options->window_ns = (double)seconds * 1e9;
    }
    if (given->key == KEY_SORT) {
        unsigned sort = 0;
        while (sort < TOP_SORT_COUNT && strcmp(argument, top_sort_names[sort]) != 0) {
            sort++;
        }
        if (sort == TOP_SORT_COUNT) {
            return vamp_err_set(err, -EINVAL,
                                "--sort %s: it is one of operations, bytes, wait, name", argument);
        }
        choice->sort = (enum top_sort)sort;
    }
    return 0;
}

static int parse_top_arguments(int argc, char **argv, struct options *options, struct vamp_err *err)
{
    const struct vamp_command_line line = {"vampire-top", options_table, argc, argv};
    struct vamp_command_given given;
    int code = 0;
    vamp_command_line_start();
    while ((code = vamp_command_line_next(&line, &given, err)) == 1) {
        int taken = take_option(options, &given, err);
        if (taken != 0) {
            return taken;
        }
    }
    if (code != 0) {
        return code;
    }
    int rest = vamp_command_line_rest();
    if (argc - rest > 1) {
        return vamp_err_set(err, -EINVAL,
                            "one SOURCE at a time, not \"%s\" and \"%s\"; see "
                            "vampire-top --help",
                            argv[rest], argv[rest + 1]);
    }
    options->source = rest < argc ? argv[rest] : "-";
    const bool shows = !options->given[KEY_HELP] && !options->given[KEY_VERSION];
    if (rest == argc && isatty(STDIN_FILENO) && shows) {
        return vamp_err_set(err, -EINVAL,
                            "which SOURCE? The file of vampire's jsonl output, such "
                            "as vampire.jsonl; see vampire-top --help");
    }
    return top_input_check(options->source, err);
}

static bool is_plain_terminal(void)
{
    const char *term = getenv("TERM");
    return !isatty(STDOUT_FILENO) || term == NULL || *term == '\0' || strcmp(term, "dumb") == 0;
}

static int show_stream(const struct options *options, struct vamp_err *err)
{
    const bool *given = options->given;
    const struct top_input_options source = {options->source, given[KEY_WAIT], given[KEY_ALL]};
    const struct top_show show = {given[KEY_TOTALS] ? TOP_MODE_SUMS : TOP_MODE_RATES,
                                  given[KEY_ONCE], given[KEY_RANKS], options->window_ns,
                                  options->choice};
    struct top_input *input = NULL;
    int code = top_input_open(&source, &input, err);
    if (code != 0) {
        return code;
    }
    struct top_model *model = top_model_create();
    if (model == NULL) {
        code = vamp_err_set_errno(err, ENOMEM, "read %s", options->source);
    } else if (given[KEY_PLAIN] || given[KEY_ONCE] || is_plain_terminal()) {
        code = top_plain_run(input, model, &show, err);
    } else {
        code = top_view_run(input, model, &show, err);
    }
    top_model_free(model);
    top_input_close(input);
    return code;
}

int main(int argc, char **argv)
{
    struct options options = {.source = NULL};
    struct vamp_err err = VAMP_ERR_NONE;
    (void)setlocale(LC_CTYPE, "");
    if (parse_top_arguments(argc, argv, &options, &err) != 0) {
        (void)fprintf(stderr, "vampire-top: %s\n", err.text);
        return EXIT_USAGE;
    }
    if (options.given[KEY_HELP] || options.given[KEY_VERSION]) {
        if (options.given[KEY_HELP]) {
            (void)fputs(help_begin, stdout);
            vamp_command_options_help(options_table, -1, stdout);
            (void)fputs(help_end, stdout);
        } else {
            (void)puts("vampire-top " VAMP_VERSION);
        }
        return fflush(stdout) == 0 && !ferror(stdout) ? EXIT_SHOWN : EXIT_READING;
    }
    /* `vampire-top FILE | head` is no failure worth a signal. */
    (void)signal(SIGPIPE, SIG_IGN);
    int code = show_stream(&options, &err);
    if (code == 0 || code == -EPIPE) {
        return EXIT_SHOWN;
    }
    (void)fprintf(stderr, "vampire-top: %s\n", err.text);
    return EXIT_READING;
}
