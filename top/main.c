/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * vampire-top: shows what a running vampire sees, from its JSON lines.
 */
#include <getopt.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "top/plain.h"
#include "top/view.h"
#include "version.h"

enum { EXIT_SHOWN = 0, EXIT_READING = 1, EXIT_USAGE = 2 };

struct options {
    struct top_input_options input;
    struct top_show show;
    bool plain, help, version;
};

static const char help_text[] =
    "usage: vampire-top [OPTION...] [SOURCE]\n"
    "\n"
    "Shows what a vampire sees, from its output of type \"jsonl\": operations and bytes a second, "
    "the\n"
    "pool, components and their waits, the slowest pairs, losses. Keys: h shows them.\n"
    "\n"
    "SOURCE is a file (followed, also into the next segments), a FIFO, unix:PATH or "
    "tcp:[ADDRESS:]PORT\n"
    "on this machine, or - for standard input, which is the default when it is no terminal.\n"
    "\n"
    "Options:\n"
    "  -1, --once          print the newest state as plain text, and end\n"
    "  -p, --plain         print a block of text for each bucket; so does an output that is no\n"
    "                      terminal\n"
    "  -t, --totals        sums of all buckets seen instead of the newest bucket's rates\n"
    "  -s, --sort KEY      sort by operations, bytes, wait or name (operations)\n"
    "  -f, --filter TEXT   show only components and pairs whose name contains TEXT\n"
    "  -a, --all           read a long file from its beginning, not only its last 16 MiB\n"
    "  -w, --wait          wait for a SOURCE that is not there yet\n"
    "  -h, --help          print this, and end\n"
    "  -V, --version       print the version, and end\n"
    "\n"
    "Exit codes:\n"
    "  0  shown until the end, or until the user quit\n"
    "  1  SOURCE cannot be read, or holds no bucket; stderr says what\n"
    "  2  command line\n";

static const struct option long_options[] = {
    {"once", no_argument, NULL, '1'},         {"plain", no_argument, NULL, 'p'},
    {"totals", no_argument, NULL, 't'},       {"sort", required_argument, NULL, 's'},
    {"filter", required_argument, NULL, 'f'}, {"all", no_argument, NULL, 'a'},
    {"wait", no_argument, NULL, 'w'},         {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, 'V'},      {NULL, 0, NULL, 0},
};

static int take_option(struct options *options, int letter, struct vamp_err *err)
{
    struct top_choice *choice = &options->show.choice;
    switch (letter) {
    case '1':
        options->show.once = options->plain = true;
        return 0;
    case 'p':
        options->plain = true;
        return 0;
    case 't':
        options->show.mode = TOP_MODE_SUMS;
        return 0;
    case 's':
        return top_sort_parse(optarg, &choice->sort)
                   ? 0
                   : vamp_err_set(err, -EINVAL,
                                  "--sort %s: it is one of operations, bytes, wait, "
                                  "name",
                                  optarg);
    case 'f':
        if (strlen(optarg) >= sizeof choice->filter) {
            return vamp_err_set(err, -EINVAL, "--filter: a text of at most %zu bytes",
                                sizeof choice->filter - 1);
        }
        memcpy(choice->filter, optarg, strlen(optarg) + 1);
        return 0;
    case 'a':
        options->input.whole = true;
        return 0;
    case 'w':
        options->input.wait = true;
        return 0;
    case 'h':
        options->help = true;
        return 0;
    case 'V':
        options->version = true;
        return 0;
    default:
        return vamp_err_set(err, -EINVAL, "see vampire-top --help");
    }
}

static int parse(int argc, char **argv, struct options *options, struct vamp_err *err)
{
    int letter = 0;
    while ((letter = getopt_long(argc, argv, "1pts:f:awhV", long_options, NULL)) != -1) {
        int code = take_option(options, letter, err);
        if (code != 0) {
            return code;
        }
    }
    if (argc - optind > 1) {
        return vamp_err_set(err, -EINVAL,
                            "one SOURCE at a time, not \"%s\" and \"%s\"; see "
                            "vampire-top --help",
                            argv[optind], argv[optind + 1]);
    }
    options->input.source = optind < argc ? argv[optind] : "-";
    if (optind == argc && isatty(STDIN_FILENO) && !options->help && !options->version) {
        return vamp_err_set(err, -EINVAL,
                            "which SOURCE? The file of vampire's jsonl output, such "
                            "as vampire.jsonl; see vampire-top --help");
    }
    return 0;
}

static bool is_plain_terminal(void)
{
    const char *term = getenv("TERM");
    return !isatty(STDOUT_FILENO) || term == NULL || *term == '\0' || strcmp(term, "dumb") == 0;
}

static int show(const struct options *options, struct vamp_err *err)
{
    struct top_input *input = NULL;
    int code = top_input_open(&options->input, &input, err);
    if (code != 0) {
        return code;
    }
    struct top_model *model = top_model_create();
    if (model == NULL) {
        code = vamp_err_set_errno(err, ENOMEM, "read %s", options->input.source);
    } else if (options->plain || is_plain_terminal()) {
        code = top_plain_run(input, model, &options->show, stdout, err);
    } else {
        code = top_view_run(input, model, &options->show, err);
    }
    top_model_free(model);
    top_input_close(input);
    return code;
}

int main(int argc, char **argv)
{
    struct options options = {.plain = false};
    struct vamp_err err = VAMP_ERR_NONE;
    (void)setlocale(LC_CTYPE, "");
    if (parse(argc, argv, &options, &err) != 0) {
        (void)fprintf(stderr, "vampire-top: %s\n", err.text);
        return EXIT_USAGE;
    }
    if (options.help || options.version) {
        (void)printf("%s", options.help ? help_text : "vampire-top " VAMP_VERSION "\n");
        return fflush(stdout) == 0 ? EXIT_SHOWN : EXIT_READING;
    }
    /* `vampire-top FILE | head` is no failure worth a signal. */
    (void)signal(SIGPIPE, SIG_IGN);
    int code = show(&options, &err);
    if (code == 0 || code == -EPIPE) {
        return EXIT_SHOWN;
    }
    (void)fprintf(stderr, "vampire-top: %s\n", err.text);
    return EXIT_READING;
}
