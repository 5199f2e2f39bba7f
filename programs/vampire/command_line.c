/* SPDX-License-Identifier: BSD-3-Clause */
/* The command line of vampire. */
#include "programs/vampire/command_line.h"

#include "vampire/source/live.h"

static const struct vamp_command_option options[] = {
    {"--config", 'c', VAMP_KEY_CONFIG, "FILE",
     "read the configuration from FILE (\"-\": standard input); without this option, all options "
     "have their defaults"},
    {"--info-file", 'i', VAMP_KEY_INFO_FILE, "FILE",
     "a file that contains the pool manager's info; vampire waits for it"},
    {"--pool-manager-info", 'p', VAMP_KEY_INFO, "INFO",
     "how to reach the pool manager, as the pool manager prints it; a secret: --info-file "
     "keeps it in a file"},
    {"--workflow", 'w', VAMP_KEY_WORKFLOW, "NAME", "the workflow to join"},
    {"--component", 'n', VAMP_KEY_COMPONENT, "NAME", "the name under which to join"},
    {"--wait", 0, VAMP_KEY_WAIT, "TIME", "how long to try to reach the pool manager, such as 30s"},
    {"--ready-file", 0, VAMP_KEY_READY_FILE, "FILE",
     "create FILE, which contains the process id, once vampire has joined and the components can "
     "start; it is removed at the end"},
    {"--set", 'o', VAMP_KEY_SET, "KEY=VALUE",
     "set any option of the configuration, for example -o statistics.bucket=500ms or -o "
     "outputs.0.directory=/scratch; commas separate the words of a list"},
    {"--replay", 'r', VAMP_KEY_REPLAY, "FILE",
     "read the events from a recording instead of joining a workflow or, with a quoted pattern, "
     "from all segments of a run; -o source.speed=1 replays at the original speed"},
    {"--quiet", 'q', VAMP_KEY_QUIET, NULL, "no status line, no summary; errors only"},
    {"--check-config", 0, VAMP_KEY_CHECK_CONFIG, "[=FILE]",
     "check the configuration, report every error, and end with 0 or 2"},
    {"--dump-config", 0, VAMP_KEY_DUMP_CONFIG, "[=FILE]",
     "print the configuration in effect with all defaults, and end"},
    {"--list-metrics", 0, VAMP_KEY_LIST_METRICS, "[=json]",
     "print all metrics with unit, labels and meaning, and end"},
    {"--samples-show", 0, VAMP_KEY_SAMPLES_SHOW, NULL,
     "receive the samples that the configuration names, show what arrives, and at Ctrl-C propose "
     "metrics to declare; no workflow is joined"},
    {"--examine", 0, VAMP_KEY_EXAMINE, NULL,
     "find out what the events of this Maestro carry and mean, with a pool manager of its own or, "
     "with --info-file, in a workflow that runs; print the verdict, write it for later runs, and "
     "end"},
    {"--summary", 0, VAMP_KEY_SUMMARY, NULL,
     "print the summary of each run from the named files (HDF5, JSON lines), as at the end of the "
     "run, and end; the files of a run make one summary, and a file can be one that is being "
     "written"},
    {"--export", 0, VAMP_KEY_EXPORT, NULL,
     "write the numbers of the named files (HDF5, of one run or several) into what is named first, "
     "and end: NAME.sqlite, a database, or NAME.csv or NAME.csv.gz, a folder; a table for each "
     "metric"},
    {"--recover", 0, VAMP_KEY_RECOVER, NULL,
     "repair the named files of a killed run, report what was done, and end: JSON lines and "
     "recordings are truncated after the last whole record, HDF5 files are made to open normally; "
     "no whole record is lost, and a file that is being written is not touched"},
    {"--help", 'h', VAMP_KEY_HELP, "[=all]", "print the common options or all of them, and end"},
    {"--version", 'V', VAMP_KEY_VERSION, NULL,
     "print the version, what this build can report, and each plug-in with the reason if it cannot "
     "be loaded, and end"},
    {"--dry-run", 0, VAMP_KEY_DRY_RUN, NULL,
     "with --recover: report what would be done, and change nothing"},
    {"--intrusive", 0, VAMP_KEY_INTRUSIVE, NULL,
     "with --examine and --info-file: also what could hold up others"},
    {"--json", 0, VAMP_KEY_JSON, NULL,
     "with --check-config or --list-metrics: print JSON, for tools"},
    {"--print-schema", 0, VAMP_KEY_PRINT_SCHEMA, NULL,
     "print the JSON Schema of the configuration, and end"},
    {NULL, 0, 0, NULL, NULL},
};

const struct vamp_program vamp_program_vampire = {
    .name = "vampire",
    .config = VAMP_CONFIG_VAMPIRE,
    .options = options,
    .setting = "statistics.bucket=500ms",
    .commands = "--check-config, --dump-config, "
                "--print-schema, --list-metrics, --samples-show, "
                "--examine, --summary, --export, --recover, --help and --version",
    .usage =
        "usage: vampire [-c FILE] [OPTION...]\n"
        "       vampire --replay FILE [OPTION...]\n"
        "       vampire --check-config FILE [--json]\n"
        "       vampire --examine [-i FILE]\n"
        "       vampire --summary FILE...\n"
        "       vampire --export NAME.sqlite FILE...\n"
        "       vampire --recover FILE...\n\n"
        "Joins a running Maestro workflow as a component, counts the pool's events and writes\n"
        "time-bucketed statistics. It ends when the workflow has ended, on SIGTERM or SIGINT.\n\n"
        "Options:\n",
    .examples =
        "\nExamples:\n"
        "  vampire -c FILE -i pool.info -w WORKFLOW      join a workflow\n"
        "  vampire -q -c FILE --ready-file vampire.ready ... &  and start it in a script\n"
        "  vampire -r 'RUN-*.rec' -o outputs.0.directory=DIR   count a recording again\n\n"
        "More: --help=all prints every option, the configuration, signals and exit codes;\n"
        "vampire(1), vampire.json(5), vampire-metrics(7) and vampire-filter(7) explain them.\n",
    .configuration =
        "\nThe configuration is one JSON file, which may have // and /* */ comments. Precedence:\n"
        "built-in default < file < environment < command line. The environment variables are\n"
        "MSTRO_WORKFLOW_NAME (workflow), MSTRO_COMPONENT_NAME (component) and\n"
        "MSTRO_POOL_MANAGER_INFO (source.info); an empty one counts as not set. Of\n"
        "source.info and source.info_file, the one with higher precedence counts.\n\n",
    .signals = "\nSignals:\n"
               "  SIGTERM, SIGINT  complete all files and end; a second one ends at once\n"
               "  SIGHUP           read the configuration again\n"
               "  SIGUSR1          print the state of the run to stderr\n"
               "  SIGUSR2          read the file of silenced alarms again\n",
    .exit_codes = "\nExit codes:\n"
                  "  0  the workflow ended, or a signal asked to stop; all files are complete\n"
                  "  1  an output lost something, or vampire failed internally; stderr says what;\n"
                  "     of --examine: not all is known\n"
                  "  2  error in the command line or configuration, or no file that it names is\n"
                  "     there; nothing was started;\n"
                  "     of --examine: Maestro is not usable\n"
                  "  3  no pool manager within the configured time, or it refused vampire\n"
                  "  4  the pool manager vanished before the workflow ended; files are complete\n"
                  "  5  the recording is damaged; what could not be read is counted as lost\n",
    .live = vamp_live_load,
};
