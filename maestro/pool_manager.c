/* SPDX-License-Identifier: BSD-3-Clause */
/* The program maestro-pool-manager, which only runs a pool and a server. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "maestro/client/port.h"
#include "maestro/pool/pool.h"
#include "maestro/server/server.h"
#include "maestro/wire/stream.h"
#include "vampire/core/options/command_line.h"
#include "vampire/core/options/options.h"
#include "vampire/core/utf8.h"
#include "vampire/core/values.h"
#include "version.h"

enum exit_code { EXIT_FINE = 0, EXIT_USAGE = 2, EXIT_NO_START = 3, EXIT_FAILED = 4 };

#define PROGRAM "maestro-pool-manager"
#define COMPONENT_PRESET "Pool Manager"
#define LINE MSTRO_ENV_POOL_INFO ";%s;\n"

struct settings {
    const char *workflow, *component, *info_file;
    struct server_options server;
    struct pool_bounds bounds;
};

enum option_key {
    KEY_WORKFLOW,
    KEY_COMPONENT,
    KEY_PROVIDER,
    KEY_BIND,
    KEY_INFO_FILE,
    KEY_OPEN,
    KEY_MUNGE,
    KEY_MOVE_AT,
    KEY_HEARTBEAT,
    KEY_SILENCE,
    KEY_ACKNOWLEDGE,
    KEY_TELL_USE,
    KEY_QUEUE_BYTES,
    KEY_MEMORY,
    KEY_MAX_COMPONENTS,
    KEY_MAX_CDOS,
    KEY_MAX_HANDLES,
    KEY_MAX_SUBSCRIPTIONS,
    KEY_HELP,
    KEY_VERSION
};

static const struct vamp_command_option options_table[] = {
    {"--workflow", 'w', KEY_WORKFLOW, "NAME",
     "name of the workflow; default: " MSTRO_ENV_WORKFLOW_NAME},
    {"--component", 'n', KEY_COMPONENT, "NAME",
     "name of the pool manager as a component of the workflow; default: " MSTRO_ENV_COMPONENT_NAME
     ", else \"" COMPONENT_PRESET "\""},
    {"--provider", 0, KEY_PROVIDER, "NAME",
     "libfabric provider that transfers payloads, such as verbs, cxi, or shm if all processes are "
     "on "
     "one host; default: " MSTRO_ENV_OFI_PROVIDER ", else FI_PROVIDER, else a high-speed network's "
     "where a component has one, and connections of TCP where it has none"},
    {"--bind", 0, KEY_BIND, "ADDRESS",
     "address of this host to listen on, or ADDRESS:PORT; "
     "default: " STREAM_ENV_BIND ", else " STREAM_BIND_PRESET},
    {"--info-file", 'i', KEY_INFO_FILE, "FILE",
     "also write the line to this file, which only its owner can read and which appears complete"},
    {"--open", 0, KEY_OPEN, NULL,
     "let any process that reaches the address join; by default a component needs the information "
     "that this program prints, which contains a random key"},
    {"--munge", 0, KEY_MUNGE, NULL,
     "let only components of this user join, as MUNGE confirms (munged runs on each host): each "
     "join needs a credential in addition to the key"},
    {"--move-at", 0, KEY_MOVE_AT, "OPERATION",
     "when the data of a CDO that is offered move to a component: at its demand (the default), or "
     "at its require: a demand then finds them there"},
    {"--heartbeat", 0, KEY_HEARTBEAT, "TIME",
     "each side sends a message at least this often; from 100ms; default: a twelfth of the silence "
     "time"},
    {"--silence", 0, KEY_SILENCE, "TIME",
     "a component from which nothing is heard for this time is gone; at least three heartbeats; "
     "default 60s, long enough for a process that is stopped for a while"},
    {"--acknowledge", 0, KEY_ACKNOWLEDGE, "TIME",
     "a subscriber with REQUIRE_ACK that acknowledges an event later than this is dismissed, since "
     "others wait for it; default: the silence time"},
    {"--tell-use", 0, KEY_TELL_USE, "TIME",
     "report to subscribers of samples this often how much of its limits is used: "
     "maestro_pool components, cdos, object_bytes, queue_bytes, and each with _limit; default: "
     "never"},
    {"--queue-bytes", 0, KEY_QUEUE_BYTES, "SIZE",
     "queue of events for one subscription; events that do not fit are lost and counted; from "
     "16KiB; default 16MiB"},
    {"--memory", 0, KEY_MEMORY, "SIZE",
     "limit on everything kept for components: half for components, CDOs, attributes and "
     "subscriptions (further ones are refused), half for queued events (further ones are lost and "
     "counted); from 64KiB; default 2GiB"},
    {"--max-components", 0, KEY_MAX_COMPONENTS, "N", "components at the same time; default 4096"},
    {"--max-cdos", 0, KEY_MAX_CDOS, "N", "live CDOs; default 2097152"},
    {"--max-handles", 0, KEY_MAX_HANDLES, "N", "CDO handles of one component; default 1048576"},
    {"--max-subscriptions", 0, KEY_MAX_SUBSCRIPTIONS, "N",
     "subscriptions of one component; default 256"},
    {"--help", 'h', KEY_HELP, NULL, "print this text and end"},
    {"--version", 'V', KEY_VERSION, NULL, "print the version and end"},
    {NULL, 0, 0, NULL, NULL},
};

static void print_help(void)
{
    (void)fputs("usage: " PROGRAM " [OPTION...]\n"
                "\n"
                "Pool manager of a workflow, part of the embedded Maestro. It prints one line\n"
                "  " MSTRO_ENV_POOL_INFO ";<info>;\n"
                "whose <info> components read from the environment variable " MSTRO_ENV_POOL_INFO
                ",\n"
                "and serves them until it receives SIGUSR2, SIGTERM or SIGINT.\n"
                "\n"
                "Options:\n",
                stdout);
    vamp_command_options_help(options_table, -1, stdout);
    (void)fputs("\n"
                "Exit codes:\n"
                "  0  ended by a signal; all components were notified\n"
                "  2  error in the command line\n"
                "  3  cannot start: provider, address, file\n"
                "  4  failed after the start\n"
                "At the end it prints a summary to stderr.\n",
                stdout);
}

static int VAMP_PRINTF(1, 2) usage(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)fputs(PROGRAM ": ", stderr);
    (void)vfprintf(stderr, format, arguments);
    (void)fputs("; see " PROGRAM " --help\n", stderr);
    va_end(arguments);
    return EXIT_USAGE;
}

/* ---- options */

static const char *const move_words[] = {"demand", "require", NULL};

/* Describes an option's argument and where it is stored, by its key. */
#define INTO(kind, member) "", kind, .offset = offsetof(struct settings, member)
#define A_TIME .min = 100000000, .max = UINT64_C(7) * 86400 * 1000000000
#define A_COUNT .min = 1, .max = 1000000000
static const struct vamp_opt targets[] = {
    [KEY_WORKFLOW] = {INTO(VAMP_OPT_STRING, workflow)},
    [KEY_COMPONENT] = {INTO(VAMP_OPT_STRING, component)},
    [KEY_PROVIDER] = {INTO(VAMP_OPT_STRING, server.provider)},
    [KEY_BIND] = {INTO(VAMP_OPT_STRING, server.bind)},
    [KEY_INFO_FILE] = {INTO(VAMP_OPT_STRING, info_file)},
    [KEY_OPEN] = {INTO(VAMP_OPT_BOOL, server.open)},
    [KEY_MUNGE] = {INTO(VAMP_OPT_BOOL, server.munge)},
    [KEY_MOVE_AT] = {INTO(VAMP_OPT_ENUM, bounds.move_at_require), .choices = move_words},
    [KEY_HEARTBEAT] = {INTO(VAMP_OPT_DURATION, server.heartbeat_ns), A_TIME},
    [KEY_SILENCE] = {INTO(VAMP_OPT_DURATION, server.silence_ns), A_TIME},
    [KEY_TELL_USE] = {INTO(VAMP_OPT_DURATION, server.tell_use_ns), A_TIME},
    [KEY_ACKNOWLEDGE] = {INTO(VAMP_OPT_DURATION, server.acknowledge_ns), A_TIME},
    [KEY_QUEUE_BYTES] = {INTO(VAMP_OPT_SIZE, bounds.queue_bytes_per_subscription), .min = 16384,
                         .max = UINT64_C(1) << 40},
    [KEY_MEMORY] = {INTO(VAMP_OPT_SIZE, bounds.memory_bytes), .min = 65536,
                    .max = UINT64_C(1) << 40},
    [KEY_MAX_COMPONENTS] = {INTO(VAMP_OPT_UINT, bounds.components), A_COUNT},
    [KEY_MAX_CDOS] = {INTO(VAMP_OPT_UINT, bounds.cdos), A_COUNT},
    [KEY_MAX_HANDLES] = {INTO(VAMP_OPT_UINT, bounds.handles_per_component), A_COUNT},
    [KEY_MAX_SUBSCRIPTIONS] = {INTO(VAMP_OPT_UINT, bounds.subscriptions_per_component), A_COUNT},
};
static_assert(sizeof(size_t) == sizeof(uint64_t), "what the table calls UINT and SIZE");

/* Texts are not copied: they stay in the arguments. */
static int take_option(struct settings *settings, const struct vamp_opt *target, const char *text,
                       struct vamp_err *err)
{
    if (target->type == VAMP_OPT_STRING) {
        *(const char **)((char *)settings + target->offset) = text;
        return 0;
    }
    return vamp_opt_set(target, settings, vamp_text_or(text, "true"), err);
}

static const char *environment(const char *name, const char *other)
{
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0' ? value : other;
}

/* Returns -1: continue; else the exit code. */
static int read_arguments(struct settings *settings, int count, char **arguments)
{
    const struct vamp_command_line line = {PROGRAM, options_table, count, arguments};
    struct vamp_command_given given;
    struct vamp_err err = VAMP_ERR_NONE;
    vamp_command_line_start();
    int found = vamp_command_line_next(&line, &given, &err);
    for (; found == 1; found = vamp_command_line_next(&line, &given, &err)) {
        if (given.key == KEY_HELP || given.key == KEY_VERSION) {
            if (given.key == KEY_HELP) {
                print_help();
            } else {
                (void)puts(PROGRAM " " VAMP_VERSION);
            }
            if (fflush(stdout) != 0 || ferror(stdout)) {
                return EXIT_FAILED;
            }
            return EXIT_FINE;
        }
        if (take_option(settings, &targets[given.key], given.argument, &err) != 0) {
            char allowed[VAMP_OPT_ALLOWED_BYTES];
            vamp_opt_allowed(&targets[given.key], allowed);
            return usage("%s: %s; allowed: %s", given.name, err.text, allowed);
        }
    }
    if (found != 0) {
        (void)fprintf(stderr, PROGRAM ": %s\n", err.text);
        return EXIT_USAGE;
    }
    if (vamp_command_line_rest() < count) {
        return usage("\"%s\" is not an option", arguments[vamp_command_line_rest()]);
    }
    if (settings->workflow == NULL || settings->workflow[0] == '\0') {
        return usage("no workflow name: give --workflow or set " MSTRO_ENV_WORKFLOW_NAME);
    }
    return -1;
}

/* ---- the info with which components join this pool manager */

static int write_file(const char *path, const char *info, struct vamp_err *err)
{
    char temporary[4096];
    int length = snprintf(temporary, sizeof temporary, "%s.%ld.tmp", path, (long)getpid());
    if (length < 0 || (size_t)length >= sizeof temporary) {
        return vamp_err_set(err, -ENAMETOOLONG, "the path of the info file is too long");
    }
    /* Every process that can read the info can join. */
    int descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
    FILE *file = NULL;
    if (descriptor >= 0) {
        file = fdopen(descriptor, "w");
    }
    if (file == NULL) {
        int failure = errno;
        if (descriptor >= 0) {
            (void)close(descriptor);
            (void)unlink(temporary);
        }
        return vamp_err_set_errno(err, failure, "create %s", temporary);
    }
    int failure = 0;
    if (fprintf(file, LINE, info) < 0) {
        failure = errno;
    }
    if (fclose(file) != 0 && failure == 0) {
        failure = errno;
    }
    if (failure == 0 && rename(temporary, path) != 0) {
        failure = errno;
    }
    if (failure != 0) {
        (void)unlink(temporary);
        return vamp_err_set_errno(err, failure, "write the info file %s", path);
    }
    return 0;
}

/* ---- running */

/* Blocks the signals in all threads, so that only the descriptor receives them. */
static int open_signals(void)
{
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGUSR2);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGINT);
    if (pthread_sigmask(SIG_BLOCK, &set, NULL) != 0) {
        return -1;
    }
    return signalfd(-1, &set, SFD_CLOEXEC);
}

static void wait_for_end(int signals)
{
    struct signalfd_siginfo signal;
    ssize_t got = -1;
    do {
        got = read(signals, &signal, sizeof signal);
    } while (got < 0 && errno == EINTR);
    if (got == (ssize_t)sizeof signal) {
        (void)fprintf(stderr, PROGRAM ": ends by SIG%s from process %" PRIu32 "\n",
                      sigabbrev_np((int)signal.ssi_signo), signal.ssi_pid);
    }
}

static void print_summary(const struct server_counts *counts)
{
    (void)fprintf(
        stderr,
        PROGRAM ": %" PRIu64 " components joined, %" PRIu64 " vanished, %" PRIu64
                " refused, %" PRIu64 " unauthenticated connections; %" PRIu64
                " operations; %" PRIu64 " events sent in %" PRIu64 " messages, %" PRIu64
                " lost; %" PRIu64 " bad messages; %" PRIu64 " refused at the memory limit; %" PRIu64
                " messages of components that had gone\n",
        counts->joins, counts->vanished, counts->refused, counts->strangers, counts->requests,
        counts->events_sent, counts->event_messages, counts->events_lost, counts->protocol_errors,
        counts->memory_refused, counts->late);
}

/* The text may contain names that components sent. */
static void say(const char *text)
{
    char shown[2 * VAMP_ERR_TEXT_BYTES];
    (void)snprintf(shown, sizeof shown, "%s", text);
    vamp_utf8_clean(shown);
    (void)fprintf(stderr, PROGRAM ": %s\n", shown);
}

static int serve(const struct settings *settings, struct port *port, int signals)
{
    struct vamp_err err = VAMP_ERR_NONE;
    struct server *server = NULL;
    mstro_status status = server_start(port, settings->workflow, &settings->server, &server, &err);
    if (status == MSTRO_INVARG) {
        return usage("%s", err.text);
    }
    if (status != MSTRO_OK) {
        (void)fprintf(stderr, PROGRAM ": cannot start: %s\n", err.text);
        return EXIT_NO_START;
    }
    struct server_counts counts;
    const char *info = server_info(server);
    int result = 0;
    if (settings->info_file != NULL) {
        result = write_file(settings->info_file, info, &err);
    }
    if (result == 0 && (printf(LINE, info) < 0 || fflush(stdout) != 0)) {
        result = vamp_err_set_errno(&err, errno, "print the info to stdout");
    }
    if (result != 0) {
        (void)fprintf(stderr, PROGRAM ": cannot start: %s\n", err.text);
        server_stop(server, &counts);
        return EXIT_NO_START;
    }
    wait_for_end(signals);
    server_stop(server, &counts);
    print_summary(&counts);
    return EXIT_FINE;
}

int main(int argument_count, char **arguments)
{
    struct settings settings = {
        .workflow = environment(MSTRO_ENV_WORKFLOW_NAME, NULL),
        .component = environment(MSTRO_ENV_COMPONENT_NAME, COMPONENT_PRESET),
        .bounds = pool_bounds_default,
        .server = {.say = say},
    };
    int code = read_arguments(&settings, argument_count, arguments);
    if (code >= 0) {
        return code;
    }
    int signals = open_signals();
    struct port *port = NULL;
    struct vamp_err err = VAMP_ERR_NONE;
    const struct port_member member = {.workflow = settings.workflow,
                                       .component = settings.component};
    if (signals < 0 || port_open_local(&member, &settings.bounds, NULL, &port, &err) != MSTRO_OK) {
        (void)fprintf(stderr, PROGRAM ": cannot start: %s\n",
                      signals < 0 ? strerror(errno) : err.text);
        return EXIT_NO_START;
    }
    code = serve(&settings, port, signals);
    port->ops->shut(port);
    port->ops->close(port);
    (void)close(signals);
    return code;
}
