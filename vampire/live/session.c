/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/live/session.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <maestro.h>

#include "vampire/core/hash.h"
#include "vampire/core/values.h"
#include "vampire/live/maestro_fields.h"

/* Typical infos have a few hundred characters; the log in front of them may be long. */
#define INFO_BYTES 8192
#define INFO_FILE_BYTES ((size_t)64 * 1024)
/* Pause between two attempts at the start, and between two checks of the info file later. */
#define PAUSE_NS (100 * 1000 * 1000)
/* Interval of messages that there is still no pool manager. */
#define REMIND_NS (10 * VAMP_NS_PER_SECOND)
/* After the end of the pool manager, pauses double up to a limit. Each is varied randomly by a
 * quarter, so that components that lost the same pool manager do not all return at once. */
#define SHORTEST_NS INT64_C(500000000)
#define LONGEST_NS INT64_C(5000000000)
/* Timeout of one attempt, short enough to stop between attempts when a signal arrives. The embedded
 * Maestro reads it from the environment; others have their own timeout. */
#define ATTEMPT_MS 3000
#define ATTEMPT_VARIABLE "MSTRO_JOIN_TIMEOUT_MS"

/* The beginning of the line, which is the name of the environment variable. */
#define LINE_START "MSTRO_POOL_MANAGER_INFO;"

struct vamp_status_text vamp_maestro_status_text(mstro_status status)
{
    struct vamp_status_text made;
    const char *more = "";
#if VAMP_MSTRO_HAS_LAST_ERROR
    more = mstro_last_error();
#endif
    const char *meaning = mstro_status_description(status);
    if (*more != '\0') {
        (void)snprintf(made.text, sizeof made.text, "%s (%s)", meaning, more);
    } else {
        (void)snprintf(made.text, sizeof made.text, "%s", meaning);
    }
    return made;
}

static double seconds(int64_t ns)
{
    return (double)ns / (double)VAMP_NS_PER_SECOND;
}

static void remind(struct vamp_session *session, const char *why, int64_t now_ns)
{
    if (now_ns >= session->remind_ns) {
        vamp_source_say(&session->context, "%s; trying again for %.0f s", why,
                        seconds(session->until_ns - now_ns));
        session->remind_ns = now_ns + REMIND_NS;
    }
}

static void report(const struct vamp_session *session, enum vamp_own_operation operation,
                   int64_t start_ns)
{
    if (session->context.own_roundtrip != NULL) {
        session->context.own_roundtrip(session->context.own_roundtrip_context, operation,
                                       vamp_session_now(session) - start_ns);
    }
}

/* ------------------------------------------------------------------ the info */

static int copy_info(const char *start, size_t length, char *info, size_t bytes)
{
    if (length == 0) {
        return -EAGAIN;
    }
    if (length >= bytes) {
        return -EINVAL;
    }
    for (size_t i = 0; i < length; i++) {
        if (start[i] <= ' ' || start[i] > '~' || start[i] == ';') {
            return -EINVAL;
        }
    }
    memcpy(info, start, length);
    info[length] = '\0';
    return 0;
}

int vamp_maestro_info_parse(const char *text, char *info, size_t bytes)
{
    const char *line = text;
    while (line != NULL && strncmp(line, LINE_START, strlen(LINE_START)) != 0) {
        line = strchr(line, '\n');
        if (line != NULL) {
            line++;
        }
    }
    if (line != NULL) {
        const char *start = line + strlen(LINE_START);
        size_t length = strcspn(start, ";\n");
        if (start[length] != ';') {
            return -EAGAIN; /* the line is incomplete */
        }
        return copy_info(start, length, info, bytes);
    }
    const char *start = text + strspn(text, " \t\r\n");
    size_t length = strcspn(start, " \t\r\n");
    if (strncmp(start, LINE_START, length) == 0) {
        return -EAGAIN; /* the file is empty, or contains only the first letters of the line */
    }
    const char *rest = start + length;
    if (rest[strspn(rest, " \t\r\n")] != '\0') {
        return -EINVAL;
    }
    return copy_info(start, length, info, bytes);
}

/* Returns 0; -EAGAIN: not available yet; or another -errno. */
static int read_info_file(const char *path, char *info, struct vamp_err *err)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0 && errno == ENOENT) {
        return vamp_err_set(err, -EAGAIN, "%s does not exist yet", path);
    }
    if (file < 0) {
        return vamp_err_set_errno(err, errno, "cannot read %s", path);
    }
    char *text = malloc(INFO_FILE_BYTES);
    ssize_t length = 0;
    int result = -ENOMEM;
    if (text != NULL) {
        length = read(file, text, INFO_FILE_BYTES - 1);
        result = length < 0 ? -errno : 0;
    }
    (void)close(file);
    if (result == 0) {
        text[length] = '\0';
        result = vamp_maestro_info_parse(text, info, INFO_BYTES);
    }
    free(text);
    switch (result) {
    case 0:
        return 0;
    case -EAGAIN:
        return vamp_err_set(err, -EAGAIN, "%s does not contain the pool manager's info yet", path);
    case -EINVAL:
        /* Other output may precede the line, so another attempt is made. */
        return vamp_err_set(err, -EAGAIN, "%s has no line \"" LINE_START "<info>;\" and no info",
                            path);
    default:
        return vamp_err_set_errno(err, -result, "cannot read %s", path);
    }
}

/* Stores the info in the environment variable read by mstro_init. Returns 0; -EAGAIN: not available
 * yet; or another -errno. */
int vamp_session_info(const struct vamp_maestro_options *options, struct vamp_err *err)
{
    const char *variable = MSTRO_ENV_POOL_INFO;
    if (options->alone) {
        if (unsetenv(variable) != 0) {
            return vamp_err_set_errno(err, errno, "unset %s", variable);
        }
        return 0;
    }
    char info[INFO_BYTES];
    int result = 0;
    if (options->info != NULL) {
        if (vamp_maestro_info_parse(options->info, info, sizeof info) != 0) {
            result = vamp_err_set(
                err, -EINVAL,
                "option \"info\" is not what a pool manager prints: a line \"" LINE_START
                "<info>;\", or the <info> alone");
        }
    } else if (options->info_file != NULL) {
        result = read_info_file(options->info_file, info, err);
    } else {
        const char *value = getenv(variable);
        if (value == NULL || *value == '\0') {
            return vamp_err_set(err, -EINVAL,
                                "no pool manager is known: set the environment variable %s, or "
                                "the source's option \"info\" or \"info_file\" (--info-file)",
                                variable);
        }
        return 0;
    }
    /* When rejoining, other threads exist, but the variable exists as well: the C library then only
     * replaces its text and keeps the previous text for concurrent readers. */
    if (result == 0 && setenv(variable, info, 1) != 0) {
        result = vamp_err_set_errno(err, errno, "set %s", variable);
    }
    return result;
}

/* ------------------------------------------------------------------ joining and leaving */

static struct stat info_file_status(const struct vamp_maestro_options *options)
{
    struct stat found = {0};
    if (options->info_file != NULL && stat(options->info_file, &found) != 0) {
        found = (struct stat){0};
    }
    return found;
}

/* Makes one attempt. Returns 0; -EAGAIN: try again; or another -errno. */
static int join_once(struct vamp_session *session, struct vamp_err *err)
{
    const struct vamp_source_context *context = &session->context;
    assert(!session->joined &&
           session->merge.stream_count == 0); /* at most one membership per process */
    session->info_file = info_file_status(session->options);
    int result = vamp_session_info(session->options, err);
    if (result != 0) {
        return result;
    }
    const int64_t start_ns = vamp_session_now(session);
    mstro_status status = mstro_init(context->workflow, context->component, 0);
    if (status == MSTRO_OK) {
        session->joined = true;
        report(session, VAMP_OWN_JOIN, start_ns);
        return 0;
    }
    if (status == MSTRO_NOT_TWICE || status == MSTRO_INVARG) {
        return vamp_err_set(err, -EINVAL, "cannot join workflow \"%s\" as \"%s\": %s",
                            context->workflow, context->component,
                            vamp_maestro_status_text(status).text);
    }
    if (status == MSTRO_REFUSED) {
        /* The name may still be in use by a vampire that was killed a moment ago. */
        return vamp_err_set(err, -EAGAIN, "the pool manager refuses \"%s\" in workflow \"%s\": %s",
                            context->component, context->workflow,
                            vamp_maestro_status_text(status).text);
    }
    return vamp_err_set(
        err, -EAGAIN, "no answer to \"%s\" from a pool manager of workflow \"%s\": %s",
        context->component, context->workflow, vamp_maestro_status_text(status).text);
}

int vamp_session_end(struct vamp_session *session, bool answered, struct vamp_err *err)
{
    const bool sorts = session->merge.sorts; /* depends on the Maestro, not on the membership */
    vamp_merge_done(&session->merge);
    memset(&session->merge, 0, sizeof session->merge);
    session->merge.clock = session->context.clock;
    session->merge.sorts = sorts;
    if (!session->joined) {
        return 0;
    }
    session->joined = false;
    const int64_t start_ns = vamp_session_now(session);
    mstro_status status = mstro_finalize();
    if (status != MSTRO_OK && !vamp_maestro_status_no_manager(status)) {
        return vamp_err_set(err, -EIO, "leaving the workflow failed: %s",
                            vamp_maestro_status_text(status).text);
    }
    if (answered) {
        report(session, VAMP_OWN_LEAVE, start_ns);
    }
    return 0;
}

/* ------------------------------------------------------------------ subscribing */

uint64_t vamp_session_before(const struct vamp_session *session)
{
    const uint64_t waits = VAMP_EVENT_BIT(VAMP_EVENT_DEMAND) | VAMP_EVENT_BIT(VAMP_EVENT_WITHDRAW) |
                           VAMP_EVENT_BIT(VAMP_EVENT_LEAVE);
    const uint64_t transports = VAMP_EVENT_BIT(VAMP_EVENT_TRANSPORT_INIT) |
                                VAMP_EVENT_BIT(VAMP_EVENT_TRANSPORT_COMPLETED) |
                                VAMP_EVENT_BIT(VAMP_EVENT_TRANSPORT_FAILED);
    if (session->without_before) {
        return 0;
    }
    switch ((enum vamp_signal_before)session->options->signal_before) {
    case VAMP_SIGNAL_BEFORE_AUTO:
        if (!VAMP_MSTRO_HAS_HARMLESS_BEFORE && !session->harmless) {
            return 0;
        }
        return session->context.event_kinds & waits;
    case VAMP_SIGNAL_BEFORE_OFF:
        return 0;
    case VAMP_SIGNAL_BEFORE_WAITS:
        return session->context.event_kinds & waits;
    case VAMP_SIGNAL_BEFORE_ALL:
        return session->context.event_kinds & ~transports;
    }
    return 0;
}

bool vamp_session_has_all(const struct vamp_session *session)
{
    const struct vamp_source_context *context = &session->context;
    const bool has_phases = !VAMP_MSTRO_HAS_SIGNAL_BEFORE || vamp_session_before(session) != 0;
    return context->selector == NULL && has_phases &&
           (VAMP_EVENT_KINDS_ALL & ~context->event_kinds) == 0;
}

/* Subscribes to a set of vampire's event kinds. If this Maestro has none of them, nothing is done,
 * which is not a failure. */
static int subscribe(struct vamp_session *session, uint64_t event_kinds,
                     mstro_cdo_selector selector, mstro_subscription_opts options,
                     struct vamp_err *err)
{
    const uint64_t kinds = vamp_maestro_kinds(event_kinds);
    if (kinds == 0) {
        return 0;
    }
    const mstro_pool_event_kind mask =
        (mstro_pool_event_kind)(kinds | vamp_maestro_service_kinds());
    const int64_t start_ns = vamp_session_now(session);
    mstro_subscription subscription = NULL;
    mstro_status status = mstro_subscribe(selector, mask, options, &subscription);
    if (status != MSTRO_OK) {
        return vamp_err_set(err, vamp_maestro_status_no_manager(status) ? -ENOTCONN : -EIO,
                            "cannot subscribe to the pool's events: %s",
                            vamp_maestro_status_text(status).text);
    }
    report(session, VAMP_OWN_SUBSCRIBE, start_ns);
    vamp_merge_add(&session->merge, subscription,
                   options == MSTRO_SUBSCRIPTION_OPTS_DEFAULT ? VAMP_PHASE_AFTER
                                                              : VAMP_PHASE_BEFORE);
    return 0;
}

/* A selector applies only to CDOs, so events without a CDO need a subscription without it. The last
 * subscription, which has the most events, is the one waited on. Because it is created last, it
 * does not report the creation of the others, and every operation whose end it reports was also
 * announced. */
static int subscribe_all(struct vamp_session *session, mstro_cdo_selector selector,
                         struct vamp_err *err)
{
    uint64_t after = session->context.event_kinds;
    if (session->options->leave_when_empty) {
        after |= VAMP_EVENT_BIT(VAMP_EVENT_JOIN) | VAMP_EVENT_BIT(VAMP_EVENT_LEAVE);
    }
    int result = 0;
#if VAMP_MSTRO_HAS_SIGNAL_BEFORE
    result = subscribe(session, vamp_session_before(session), selector,
                       MSTRO_SUBSCRIPTION_OPTS_SIGNAL_BEFORE, err);
#endif
    if (result == 0 && selector != NULL) {
        result = subscribe(session, after & VAMP_EVENT_KINDS_WITHOUT_CDO, NULL,
                           MSTRO_SUBSCRIPTION_OPTS_DEFAULT, err);
        after &= ~VAMP_EVENT_KINDS_WITHOUT_CDO;
    }
    if (result == 0) {
        result = subscribe(session, after, selector, MSTRO_SUBSCRIPTION_OPTS_DEFAULT, err);
    }
    if (result == 0 && session->merge.stream_count == 0) {
        result =
            vamp_err_set(err, -EINVAL, "this Maestro has none of the requested kinds of events");
    }
    return result;
}

/* Called after joining. Returns 0; -ENOTCONN: the pool manager is gone again; -EINVAL; or another
 * -errno. On failure this process has left, and the first failure is reported. */
static int subscribe_selected(struct vamp_session *session, struct vamp_err *err)
{
    const char *text = session->context.selector;
    mstro_cdo_selector selector = NULL;
    mstro_status status = MSTRO_OK;
    if (text != NULL) {
        status = mstro_cdo_selector_create(NULL, NULL, text, &selector);
    }
    int result = 0;
    if (status == MSTRO_OK) {
        result = subscribe_all(session, selector, err);
    } else {
        result = vamp_err_set(err, -EINVAL, "Maestro does not accept the selector \"%s\": %s", text,
                              vamp_maestro_status_text(status).text);
    }
    if (selector != NULL) {
        (void)mstro_cdo_selector_dispose(selector);
    }
    if (result != 0) {
        (void)!vamp_session_end(session, true, NULL);
    }
    return result;
}

/* ------------------------------------------------------------------ the first time */

/* Tries until this process has joined, the time limit has passed, or it is stopped. */
static int join(struct vamp_session *session, struct vamp_err *err)
{
    const struct vamp_source_context *context = &session->context;
    session->remind_ns = vamp_session_now(session);
    for (;;) {
        if (context->stop != NULL && atomic_load(context->stop) != 0) {
            return vamp_err_set(err, -ECANCELED, "stopped while waiting for a pool manager");
        }
        struct vamp_err why = VAMP_ERR_NONE;
        int result = join_once(session, &why);
        if (result == 0) {
            return 0;
        }
        if (result != -EAGAIN) {
            return vamp_err_set(err, result, "%s", why.text);
        }
        const int64_t now_ns = vamp_session_now(session);
        if (now_ns >= session->until_ns) {
            return vamp_err_set(err, -ETIMEDOUT, "%s; gave up after %.0f s", why.text,
                                seconds(session->options->wait_ns));
        }
        remind(session, why.text, now_ns);
        vamp_sleep_ns(PAUSE_NS);
    }
}

/* If a pool manager ends between joining and subscribing, the wait continues. */
int vamp_session_begin(struct vamp_session *session, struct vamp_err *err)
{
    session->merge.clock = session->context.clock;
    session->until_ns = vamp_session_now(session) + session->options->wait_ns;
    /* A value set by the user is kept; if out of memory, the library uses its own timeout. */
    const int64_t wait_ms = session->options->wait_ns / (VAMP_NS_PER_SECOND / 1000) + 1;
    char attempt_ms[32];
    (void)snprintf(attempt_ms, sizeof attempt_ms, "%lld", (long long)VAMP_MIN(wait_ms, ATTEMPT_MS));
    (void)setenv(ATTEMPT_VARIABLE, attempt_ms, 0);
#if VAMP_MSTRO_HAS_LOG_QUIET
    mstro_log_quiet(); /* failures are reported by vampire's own messages, including the reason */
#endif
#if VAMP_MSTRO_HAS_PACKED
    mstro_receive_packed();
#endif
    for (;;) {
        int result = join(session, err);
        if (result == 0) {
            result = subscribe_selected(session, err);
        }
        if (result != -ENOTCONN) {
            return result;
        }
        if (vamp_session_now(session) >= session->until_ns) {
            return vamp_err_wrap(err, "joined, but then the pool manager was gone");
        }
    }
}

/* ------------------------------------------------------------------ rejoining */

static void schedule_attempt(struct vamp_session *session, int64_t now_ns)
{
    const int64_t half = session->pause_ns / 2;
    const int64_t by_chance = (int64_t)(vamp_random_next(&session->chance) % (uint64_t)(half + 1));
    session->next_ns = now_ns + session->pause_ns - half / 2 + by_chance;
    session->pause_ns = VAMP_MIN(session->pause_ns * 2, LONGEST_NS);
}

/* Returns whether the file is another one or has changed; a missing file is not tried. */
static bool info_has_changed(const struct vamp_session *session)
{
    const struct stat found = info_file_status(session->options);
    const struct stat *before = &session->info_file;
    const bool exists = found.st_ino != 0 && found.st_size != 0;
    const bool is_same_file = found.st_ino == before->st_ino && found.st_dev == before->st_dev;
    const bool is_unchanged = found.st_size == before->st_size &&
                              found.st_mtim.tv_sec == before->st_mtim.tv_sec &&
                              found.st_mtim.tv_nsec == before->st_mtim.tv_nsec;
    return exists && !(is_same_file && is_unchanged);
}

void vamp_session_seek(struct vamp_session *session)
{
    const struct vamp_maestro_options *options = session->options;
    const int64_t now_ns = vamp_session_now(session);
    assert(!session->joined);
    session->since_ns = now_ns;
    session->until_ns = now_ns + options->rejoin_ns;
    session->remind_ns = now_ns + REMIND_NS;
    session->pause_ns = SHORTEST_NS;
    session->chance = (uint64_t)now_ns ^ (uint64_t)getpid() << 32;
    session->attempts = 0;
    (void)vamp_err_set(&session->why, -ENOTCONN, "nothing was tried yet");
    schedule_attempt(session, now_ns);
    const char *watching = "", *file = "";
    if (options->info_file != NULL) {
        watching = ", watching ";
        file = options->info_file;
    }
    vamp_source_say(&session->context,
                    "the pool manager is gone; trying to join again for %.0f s%s%s",
                    seconds(options->rejoin_ns), watching, file);
}

/* A wrong info may be corrected later, so every failure leads to another attempt. */
enum vamp_rejoin_status vamp_session_try(struct vamp_session *session, int64_t timeout_ns)
{
    int64_t now_ns = vamp_session_now(session);
    if (now_ns < session->next_ns && !info_has_changed(session)) {
        const int64_t next_ns = VAMP_MIN(session->next_ns, session->until_ns);
        if (now_ns >= next_ns) {
            return VAMP_REJOIN_OVER;
        }
        const int64_t left_ns = VAMP_MIN(next_ns - now_ns, timeout_ns);
        vamp_sleep_ns(VAMP_MIN(left_ns, PAUSE_NS));
        return VAMP_REJOIN_WAIT;
    }
    session->attempts++;
    if (join_once(session, &session->why) == 0 && subscribe_selected(session, &session->why) == 0) {
        vamp_source_say(
            &session->context, "joined workflow \"%s\" again; it was not observed for %.1f s",
            session->context.workflow, seconds(vamp_session_now(session) - session->since_ns));
        return VAMP_REJOIN_BACK;
    }
    now_ns = vamp_session_now(session);
    schedule_attempt(session, now_ns);
    if (now_ns >= session->until_ns) {
        return VAMP_REJOIN_OVER;
    }
    remind(session, session->why.text, now_ns);
    return VAMP_REJOIN_WAIT;
}
