/* SPDX-License-Identifier: BSD-3-Clause */
#include "programs/cli/start.h"

#include <inttypes.h>
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "version.h"
#include "writers/writer.h"

static const char *get_environment(const char *name)
{
    return getenv(name);
}

/* Returns whether to use colours: on a terminal, unless disabled by the user
 * (https://no-color.org). */
static bool wants_colour(FILE *stream)
{
    const char *no_colour = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");
    const bool is_disabled = no_colour != NULL && no_colour[0] != '\0';
    const bool is_dumb = terminal != NULL && strcmp(terminal, "dumb") == 0;
    return isatty(fileno(stream)) && !is_disabled && !is_dumb;
}

static const char *file_name(const struct vamp_options *options)
{
    return vamp_text_or(options->config_file, "built-in defaults");
}

/* `run`: the configuration is for starting or continuing a run, so paths and values must be valid.
 */
static struct vamp_config_request make_request(const struct vamp_options *options, bool run)
{
    return (struct vamp_config_request){
        .program = options->program->config,
        .file = options->config_file,
        .overrides = options->overrides,
        .override_count = options->override_count,
        .environment = options->program->config == VAMP_CONFIG_VAMPIRE ? get_environment : NULL,
        .run = run,
        .paths = run,
    };
}

static int fail(const struct vamp_options *options, FILE *error, const char *text)
{
    (void)fprintf(error, "%s: error: %s\n", options->program->name, text);
    return VAMP_EXIT_FAILED;
}

/* Returns NULL if the configuration has errors, which have been printed; `*ret_exit_code` is then
 * set. */
static struct vamp_config *load_configuration(const struct vamp_options *options, bool run,
                                              const char *consequence, FILE *error,
                                              int *ret_exit_code)
{
    const struct vamp_config_request request = make_request(options, run);
    struct vamp_err err = VAMP_ERR_NONE;
    struct vamp_diagnostics diagnostics;
    struct vamp_config *config = NULL;
    int code = vamp_diagnostics_init(&diagnostics, &err);
    if (code == 0) {
        code = vamp_config_load(&request, &config, &diagnostics, &err);
        vamp_diagnostics_print(&diagnostics, error, wants_colour(error));
        vamp_diagnostics_done(&diagnostics);
    }
    if (code != 0) {
        (void)fprintf(error, "%s: error: %s; %s\n", options->program->name, err.text, consequence);
        *ret_exit_code = code == -ENOMEM ? VAMP_EXIT_FAILED : VAMP_EXIT_USAGE;
        return NULL;
    }
    return config;
}

struct vamp_config *vamp_start_reload(const struct vamp_start *start)
{
    static const char stays[] = "the configuration stays as it was";
    const struct vamp_options *options = start->options;
    if (options->config_file != NULL && strcmp(options->config_file, "-") == 0) {
        (void)fprintf(stderr,
                      "%s: error: the configuration came from standard input and cannot be "
                      "read again; %s\n",
                      options->program->name, stays);
        return NULL;
    }
    int ignored = 0;
    return load_configuration(options, true, stays, stderr, &ignored);
}

/* ---- commands other than a run: check, dump, list, print */

/* Prints a number of errors or warnings, such as "2 errors", after `before`; nothing for 0. */
static void print_count(FILE *out, const char *before, unsigned count, const char *what)
{
    if (count > 0) {
        (void)fprintf(out, "%s%u %s%s", before, count, what, vamp_plural(count));
    }
}

static int check_config(const struct vamp_options *options, FILE *out, FILE *error)
{
    struct vamp_err err = VAMP_ERR_NONE;
    struct vamp_diagnostics diagnostics;
    if (vamp_diagnostics_init(&diagnostics, &err) != 0) {
        return fail(options, error, err.text);
    }
    struct vamp_config_request request = make_request(options, false);
    request.paths = true;
    struct vamp_config *config = NULL;
    int code = vamp_config_load(&request, &config, &diagnostics, &err);
    const char *file = file_name(options);
    if (code != 0 && diagnostics.error_count == 0) {
        /* Reported as a diagnostic, so that --json includes it. */
        struct vamp_diagnostic problem = {.severity = VAMP_SEVERITY_ERROR};
        (void)snprintf(problem.file, sizeof problem.file, "%s", file);
        (void)snprintf(problem.text, sizeof problem.text, "%.*s", (int)sizeof problem.text - 1,
                       err.text);
        vamp_diagnostics_add(&diagnostics, &problem);
    }
    if (options->json) {
        vamp_diagnostics_print_json(&diagnostics, file, out);
    } else {
        vamp_diagnostics_print(&diagnostics, error, wants_colour(error));
        (void)fprintf(out, "%s: %s", file, diagnostics.error_count == 0 ? "fine" : "");
        print_count(out, "", diagnostics.error_count, "error");
        print_count(out, ", ", diagnostics.warning_count, "warning");
        (void)fputc('\n', out);
        if (code == 0) {
            vamp_config_forecast(config, out);
        }
    }
    vamp_config_free(config);
    vamp_diagnostics_done(&diagnostics);
    return code == 0 ? VAMP_EXIT_OK : VAMP_EXIT_USAGE;
}

/* Prints a text allocated with malloc and frees it. */
static int print_text(const struct vamp_options *options, char *text, FILE *out, FILE *error)
{
    if (text == NULL) {
        return fail(options, error, "out of memory");
    }
    (void)fprintf(out, "%s\n", text);
    free(text);
    return VAMP_EXIT_OK;
}

static int dump_config(const struct vamp_options *options, FILE *out, FILE *error)
{
    int exit_code = VAMP_EXIT_OK;
    struct vamp_config *config =
        load_configuration(options, false, "nothing was started", error, &exit_code);
    if (config != NULL) {
        exit_code = print_text(options, vamp_config_dump(config, 2), out, error);
        vamp_config_free(config);
    }
    return exit_code;
}

/* Includes metrics that the configuration declares. */
static int list_metrics(const struct vamp_options *options, FILE *out, FILE *error)
{
    int exit_code = VAMP_EXIT_OK;
    struct vamp_err err = VAMP_ERR_NONE;
    struct vamp_config *config =
        load_configuration(options, false, "nothing was listed", error, &exit_code);
    if (config != NULL) {
        const struct vamp_live *live = NULL;
        if (options->program->live != NULL) {
            live = options->program->live(&err);
        }
        vamp_list_metrics(out, options->json, live != NULL ? live->source.unknown(NULL) : 0);
        vamp_config_free(config);
    }
    return exit_code;
}

/* Printed by the handlers below, which may not format text. */
static char recovering[PATH_MAX + 32];

static void show_recovering(int number)
{
    (void)number;
    (void)!write(STDERR_FILENO, recovering, strlen(recovering));
}

static void end_at_interrupt(int number)
{
    static const char line[] = "vampire: interrupted\n";
    (void)!write(STDERR_FILENO, line, sizeof line - 1);
    _exit(128 + number);
}

/* On a terminal, names the present file from one second on. */
static void watch_recovery(void)
{
    struct sigaction action = {.sa_handler = end_at_interrupt};
    if (signal(SIGINT, SIG_IGN) != SIG_IGN) {
        (void)sigaction(SIGINT, &action, NULL);
    }
    action = (struct sigaction){.sa_handler = show_recovering, .sa_flags = SA_RESTART};
    if (isatty(STDERR_FILENO) != 0) {
        (void)sigaction(SIGALRM, &action, NULL);
    }
}

/* Prints one line for each file, and continues after failures. */
static int recover_recordings(const struct vamp_options *options, FILE *out, FILE *error)
{
    int exit_code = VAMP_EXIT_OK, unusable = 0;
    watch_recovery();
    for (int i = 0; i < options->file_count; i++) {
        const char *path = options->files[i];
        struct vamp_recovery recovery;
        struct vamp_err err = VAMP_ERR_NONE;
        (void)snprintf(recovering, sizeof recovering, "vampire: reads %s (%d of %d)\n", path, i + 1,
                       options->file_count);
        if (isatty(STDERR_FILENO) != 0) {
            (void)alarm(1);
        }
        const int code = vamp_recover_file(path, options->dry_run, &recovery, &err);
        (void)alarm(0);
        if (code != 0) {
            exit_code = fail(options, error, err.text);
            unusable += code == -ENOENT || code == -EINVAL;
        } else if (recovery.damaged) {
            (void)fprintf(out, "%s: %s %s: %" PRIu64 " whole %ss\n", path,
                          options->dry_run ? "would remove" : "removed", recovery.what,
                          recovery.records, recovery.record);
        } else {
            (void)fprintf(out, "%s: nothing to do: %" PRIu64 " whole %ss\n", path, recovery.records,
                          recovery.record);
        }
    }
    return unusable == options->file_count ? VAMP_EXIT_USAGE : exit_code;
}

#define NO_PACKAGE 77 /* no exit code of the modules; as in python_program */

/* Runs main() in a module of python/vampire with the files; argv[1] is vampire's executable,
 * argv[2] the module. The package is searched for where `make install` puts it, then in the source
 * tree, then in Python's path; all other modules are searched for only in Python's path. Nothing is
 * loaded from the current directory. Exit code NO_PACKAGE: the package or a module is missing; 130:
 * Ctrl-C.
 */
static const char python_program[] =
    "import importlib, os, sys\n"
    "home = os.path.dirname(os.path.dirname(sys.argv[1]))\n"
    "top, build = os.path.split(os.path.dirname(home))\n"
    "own = top + '/python' if build == 'build' else home + '/lib/python3/dist-packages'\n"
    "folders = [folder for folder in sys.path if folder]\n"
    "try:\n"
    "    try:\n"
    "        sys.path = [own, *folders]\n"
    "        import vampire\n"
    "        sys.path = folders\n"
    "        main = importlib.import_module('vampire.' + sys.argv[2]).main\n"
    "    except (ImportError, SyntaxError):\n"
    "        sys.exit(77)\n"
    "    if sys.stdout is None:\n"
    "        sys.exit('vampire: error: write the answer: Bad file descriptor')\n"
    "    sys.exit(main(sys.argv[3:]))\n"
    "except KeyboardInterrupt:\n"
    "    print('vampire: interrupted', file=sys.stderr)\n"
    "    sys.exit(130)\n";

/* Returns the exit code of the program above; NO_PACKAGE also if this Python does not exist. The
 * program is killed when vampire is, so that nothing is written after the end of vampire. */
static int run_python(const char *python, char *const arguments[])
{
    const pid_t parent = getpid();
    /* Ctrl-C reaches the child, too, which cleans up and whose exit code is returned. */
    const bool was_ignored = signal(SIGINT, SIG_IGN) == SIG_IGN;
    const pid_t child = fork();
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)signal(SIGINT, was_ignored ? SIG_IGN : SIG_DFL);
        if (getppid() == parent) { /* else vampire has ended before the call above */
            (void)execvp(python, arguments);
        }
        _exit(NO_PACKAGE);
    }
    if (child < 0) {
        (void)fprintf(stderr, "start %s: %s\n", python, strerror(errno));
    }
    int status = 0;
    pid_t ended = waitpid(child, &status, 0);
    while (ended < 0 && errno == EINTR) {
        ended = waitpid(child, &status, 0);
    }
    if (!was_ignored) {
        (void)signal(SIGINT, SIG_DFL);
    }
    if (ended < 0) {
        return VAMP_EXIT_FAILED;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : VAMP_EXIT_FAILED;
}

/* The package's Debian version depends on Debian's Python, but a site may have h5py for another
 * one. `option` requires these additional packages. */
static int run_package(const struct vamp_options *options, const char *module,
                       const char *const words[], size_t count, const char *option,
                       const char *packages, FILE *error)
{
    static const char *const pythons[] = {"/usr/bin/python3", "python3"};
    char executable[PATH_MAX] = "";
    (void)!readlink("/proc/self/exe", executable, sizeof executable - 1);
    const char **arguments = calloc(count + 6, sizeof *arguments);
    if (arguments == NULL) {
        return fail(options, error, "out of memory");
    }
    arguments[1] = "-c";
    arguments[2] = python_program;
    arguments[3] = executable;
    arguments[4] = module;
    memcpy(&arguments[5], words, count * sizeof *words);
    int code = NO_PACKAGE;
    for (size_t i = 0; code == NO_PACKAGE && i < sizeof pythons / sizeof pythons[0]; i++) {
        arguments[0] = pythons[i];
        code = run_python(pythons[i], (char *const *)(uintptr_t)arguments);
    }
    free(arguments);
    if (code == NO_PACKAGE) {
        (void)fprintf(error,
                      "%s: error: %s needs the Python package vampire (python3-vampire)%s; "
                      "neither %s nor the %s found in PATH has all of them\n",
                      options->program->name, option, packages, pythons[0], pythons[1]);
        return VAMP_EXIT_USAGE;
    }
    return code;
}

/* Loads each plug-in, because loading depends on the libraries of this machine. */
static void list_plug_ins(FILE *out)
{
    for (unsigned i = 0; vamp_writers[i] != NULL; i++) {
        struct vamp_err err = VAMP_ERR_NONE;
        const char *name = NULL;
        const int code = vamp_plug_in_of(vamp_writers[i], &name, &err);
        if (name != NULL) {
            (void)fprintf(out, "plug-in %s: %s%s\n", name,
                          code == 0 ? "available" : "not available: ", err.text);
        }
    }
}

/* Passes the configuration to the Python package, which receives and shows the samples. */
static int show_samples(const struct vamp_options *options, FILE *error)
{
    int code = VAMP_EXIT_OK;
    struct vamp_config *config =
        load_configuration(options, false, "nothing was received", error, &code);
    if (config == NULL) {
        return code;
    }
    char *text = vamp_config_dump(config, 0);
    const char *const words[] = {text};
    (void)signal(SIGINT, SIG_IGN); /* the package handles SIGINT, and then prints its results */
    if (text != NULL) {
        code = run_package(options, "samples_show", words, 1, "--samples-show", "", error);
    } else {
        code = fail(options, error, "out of memory");
    }
    free(text);
    vamp_config_free(config);
    return code;
}

struct examining {
    const struct vamp_options *options;
    const char *workflow;
    FILE *error;
};

/* Returns the exit code of main(), which uses another code than VAMP_EXIT_USAGE for unusable
 * results. */
static int judge(void *context, const struct vamp_examination *examination)
{
    const struct examining *self = context;
    const int *sockets = examination->sockets;
    char numbers[64];
    const char *workflow = "", *intrusive = "";
    static_assert(VAMP_EXAMINE_ACTORS == 4, "as many numbers");
    (void)snprintf(numbers, sizeof numbers, "%d,%d,%d,%d", sockets[0], sockets[1], sockets[2],
                   sockets[3]);
    if (examination->shared) {
        workflow = self->workflow;
    }
    if (self->options->intrusive) {
        intrusive = "intrusive";
    }
    const char *const words[] = {numbers,           VAMP_VERSION, examination->maestro,
                                 examination->path, workflow,     intrusive};
    const int code = run_package(self->options, "examine", words, sizeof words / sizeof words[0],
                                 "--examine", "", self->error);
    return code <= 1 || code == 128 + SIGINT ? code : VAMP_EXIT_USAGE;
}

static int examine(const struct vamp_options *options, FILE *error)
{
    int code = VAMP_EXIT_USAGE;
    struct vamp_err err = VAMP_ERR_NONE;
    struct vamp_config *config =
        load_configuration(options, false, "nothing was examined", error, &code);
    if (config == NULL) {
        return code;
    }
    struct examining self = {options, config->workflow, error};
    const struct vamp_live *live = options->program->live(&err);
    if (config->source != &vamp_source_maestro) {
        (void)vamp_err_set(&err, -EINVAL, "--examine is for the source \"maestro\"");
    } else if (live != NULL) {
        code = live->examine(config->source_options, judge, &self, &err);
    }
    if (err.code != 0) {
        (void)fail(options, error, err.text);
        code = VAMP_EXIT_USAGE;
    }
    vamp_config_free(config);
    return code;
}

/* Performs the command, unless it is a run. Returns the exit code. */
static int run_command(const struct vamp_options *options, FILE *out, FILE *error)
{
    const struct vamp_live *live = NULL;
    struct vamp_err err = VAMP_ERR_NONE;
    switch (options->command) {
    case VAMP_KEY_CHECK_CONFIG:
        return check_config(options, out, error);
    case VAMP_KEY_DUMP_CONFIG:
        return dump_config(options, out, error);
    case VAMP_KEY_PRINT_SCHEMA:
        return print_text(options, vamp_config_schema(options->program->config), out, error);
    case VAMP_KEY_LIST_METRICS:
        return list_metrics(options, out, error);
    case VAMP_KEY_SAMPLES_SHOW:
        return show_samples(options, error);
    case VAMP_KEY_EXAMINE:
        return examine(options, error);
    case VAMP_KEY_SUMMARY:
        return run_package(options, "run_summary", (const char *const *)options->files,
                           (size_t)options->file_count, "--summary", ", h5py and numpy", error);
    case VAMP_KEY_EXPORT:
        return run_package(options, "export", (const char *const *)options->files,
                           (size_t)options->file_count, "--export",
                           ", h5py, xarray, pandas and numpy", error);
    case VAMP_KEY_RECOVER:
        return recover_recordings(options, out, error);
    case VAMP_KEY_HELP:
        vamp_options_help(options->program, out);
        return VAMP_EXIT_OK;
    case VAMP_KEY_HELP_ALL:
        vamp_options_help_all(options->program, out);
        return VAMP_EXIT_OK;
    case VAMP_KEY_VERSION:
        (void)fprintf(out, "%s %s\n", options->program->name, VAMP_VERSION);
        if (options->program->live != NULL) {
            live = options->program->live(&err);
            if (live != NULL) {
                live->abilities(out);
            } else {
                (void)fprintf(out, "maestro.h: not known: %s\n", err.text);
            }
        }
        list_plug_ins(out);
        return VAMP_EXIT_OK;
    default: /* the command is a run */
        break;
    }
    return VAMP_EXIT_FAILED;
}

int vamp_perform(const struct vamp_options *options, FILE *out, FILE *error)
{
    int exit_code = run_command(options, out, error);
    if (fflush(out) != 0 || ferror(out)) {
        (void)fprintf(error, "%s: error: write the answer: %s\n", options->program->name,
                      strerrordesc_np(errno));
        return VAMP_EXIT_FAILED;
    }
    return exit_code;
}

/* ---- a run */

static int load_and_run(const struct vamp_options *options,
                        enum vamp_exit_code (*run)(const struct vamp_start *start))
{
    int code = VAMP_EXIT_FAILED;
    struct vamp_config *config =
        load_configuration(options, true, "nothing was started", stderr, &code);
    if (config == NULL) {
        return code;
    }
    struct vamp_notify notify;
    vamp_notify_init(&notify);
    struct vamp_err err = VAMP_ERR_NONE;
    struct vamp_signals signals;
    if (vamp_signals_start(&signals, config->finish_ns, &err) != 0) {
        code = fail(options, stderr, err.text);
    } else {
        code = (int)run(&(struct vamp_start){
            .options = options, .config = config, .signals = &signals, .notify = &notify});
        vamp_signals_stop(&signals);
    }
    vamp_notify_done(&notify);
    vamp_config_free(config);
    return code;
}

int vamp_start(const struct vamp_program *program, int argc, char **argv,
               enum vamp_exit_code (*run)(const struct vamp_start *start))
{
    struct vamp_options options;
    struct vamp_err err = VAMP_ERR_NONE;
    vamp_signals_hold(true);
    if (argc > 0) {
        vamp_plug_in_serve(argv[0], program->name);
    }
    /* With a fixed threshold, large blocks are returned to the system. Otherwise glibc raises the
     * threshold whenever a large block is freed, and keeps the memory of objects replaced by a
     * reload. */
    (void)mallopt(M_MMAP_THRESHOLD, 128 * 1024);
    if (vamp_options_parse(program, argc, argv, &options, &err) != 0) {
        (void)fprintf(stderr, "%s: %s\n", program->name, err.text);
        return VAMP_EXIT_USAGE;
    }
    int code = VAMP_EXIT_OK;
    if (options.command == VAMP_KEY_RUN) {
        code = load_and_run(&options, run);
    } else {
        vamp_signals_hold(false);
        code = vamp_perform(&options, stdout, stderr);
    }
    vamp_options_done(&options);
    return code;
}
