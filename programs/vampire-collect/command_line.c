/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of vampire-collect. */
#include "programs/vampire-collect/command_line.h"

static const struct vamp_command_option options[] = {
    {"--config", 'c', VAMP_KEY_CONFIG, "FILE",
     "read the configuration from FILE (\"-\": standard input); without this option, all options "
     "have their defaults"},
    {"--ready-file", 0, VAMP_KEY_READY_FILE, "FILE",
     "create FILE, which contains the process id, once vampire-collect has subscribed; it is "
     "removed at the end"},
    {"--set", 'o', VAMP_KEY_SET, "KEY=VALUE",
     "set any option of the configuration, for example -o collect.bucket=60s or -o "
     "outputs.0.directory=/scratch; commas separate the words of a list"},
    {"--quiet", 'q', VAMP_KEY_QUIET, NULL, "no summary; errors only"},
    {"--check-config", 0, VAMP_KEY_CHECK_CONFIG, "[=FILE]",
     "check the configuration, report every error, and end with 0 or 2"},
    {"--dump-config", 0, VAMP_KEY_DUMP_CONFIG, "[=FILE]",
     "print the configuration in effect with all defaults, and end"},
    {"--help", 'h', VAMP_KEY_HELP, "[=all]", "print the common options or all of them, and end"},
    {"--version", 'V', VAMP_KEY_VERSION, NULL,
     "print the version, and each plug-in with the reason if it cannot be loaded, and end"},
    {"--json", 0, VAMP_KEY_JSON, NULL, "with --check-config: print JSON, for tools"},
    {"--print-schema", 0, VAMP_KEY_PRINT_SCHEMA, NULL,
     "print the JSON Schema of the configuration, and end"},
    {NULL, 0, 0, NULL, NULL},
};

const struct vamp_program vamp_program_collect = {
    .name = "vampire-collect",
    .config = VAMP_CONFIG_COLLECT,
    .options = options,
    .setting = "collect.bucket=60s",
    .commands = "--check-config, --dump-config, --print-schema, --help and "
                "--version",
    .usage = "usage: vampire-collect [-c FILE] [OPTION...]\n"
             "       vampire-collect --check-config FILE [--json]\n\n"
             "Subscribes to what the vampires of many workflows publish by NATS and writes it as\n"
             "one view: merged buckets, whose series have the labels workflow and run. It ends on\n"
             "SIGTERM or SIGINT.\n\n"
             "Options:\n",
    .examples = "\nExamples:\n"
                "  vampire-collect -o collect.servers=nats://bus:4222   the defaults, into HDF5\n"
                "  vampire-collect -c FILE --ready-file collect.ready &\n\n"
                "More: --help=all prints every option, the configuration, signals and exit codes;\n"
                "vampire-collect(1) explains them, vampire.json(5) the outputs.\n",
    .configuration =
        "\nThe configuration is one JSON file, which may have // and /* */ comments. Precedence:\n"
        "built-in default < file < command line.\n\n",
    .signals = "\nSignals:\n"
               "  SIGTERM, SIGINT  write the open buckets, complete all files and end; a second\n"
               "                   one ends at once\n"
               "  SIGUSR1          print the state to stderr\n",
    .exit_codes =
        "\nExit codes:\n"
        "  0  a signal asked to stop; all files are complete\n"
        "  1  an output lost something, or vampire-collect failed internally; stderr says what\n"
        "  2  error in the command line or configuration; nothing was started\n",
};
