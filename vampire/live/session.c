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
#include "vampire/live/maestro_fields.h"

/* Infos seen in the wild are some hundred characters; a log in front of them may be long. */
#define INFO_BYTES 8192
#define INFO_FILE_BYTES ((size_t)64 * 1024)
/* Between two attempts at the start, and two looks at the info file later. */
#define PAUSE_NS (100 * 1000 * 1000)
/* Between two messages that there is still no pool manager. */
#define REMIND_NS (10 * VAMP_NS_PER_SECOND)
/* After the pool manager is gone pauses double up to a bound, each a quarter longer or shorter by
 * chance, so that many who lost the same one do not come back at once. */
#define SHORTEST_NS INT64_C(500000000)
#define LONGEST_NS INT64_C(5000000000)
/* One attempt: short enough to stop between two when a signal comes. The embedded Maestro takes
 * this from the environment, others have their own idea. */
#define ATTEMPT_MS 3000
#define ATTEMPT_VARIABLE "MSTRO_JOIN_TIMEOUT_MS"

/* The text that begins the line, as the environment variable is called. */
#define LINE_START "MSTRO_POOL_MANAGER_INFO;"

struct vamp_status_text vamp_maestro_status_text(mstro_status status)
{
    struct vamp_status_text made;
    const char *more = "";
#if VAMP_MSTRO_HAS_LAST_ERROR
    more = mstro_last_error();
#endif
    (void)snprintf(made.text, sizeof made.text, "%s%s%s%s", mstro_status_description(status),
                   *more != '\0' ? " (" : "", more, *more != '\0' ? ")" : "");
    return made;
}

static double seconds(int64_t ns)
{
    return (double)ns / (double)VAMP_NS_PER_SECOND;
}

/* Says what is waited for, once in a while. */
static void remind(struct vamp_session *session, const char *why, int64_t now_ns)
{
    if (now_ns >= session->remind_ns) {
        vamp_source_say(&session->context, "%s; trying again for %.0f s", why,
                        seconds(session->until_ns - now_ns));
        session->remind_ns = now_ns + REMIND_NS;
    }
}

/* One of our own operations took until now. */
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
    if (length == 0 || length >= bytes) {
        return length == 0 ? -EAGAIN : -EINVAL;
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
        line = line != NULL ? line + 1 : NULL;
    }
    if (line != NULL) {
        const char *start = line + strlen(LINE_START);
        size_t length = strcspn(start, ";\n");
        /* Without its second semicolon the line is still being written. */
        return start[length] == ';' ? copy_info(start, length, info, bytes) : -EAGAIN;
    }
    const char *start = text + strspn(text, " \t\r\n");
    size_t length = strcspn(start, " \t\r\n");
    if (strncmp(start, LINE_START, length) == 0) {
        return -EAGAIN; /* nothing yet, or the line's first letters */
    }
    const char *rest = start + length;
    return rest[strspn(rest, " \t\r\n")] == '\0' ? copy_info(start, length, info, bytes) : -EINVAL;
}

/* 0, -EAGAIN: not there yet, or another -errno. */
static int read_info_file(const char *path, char *info, struct vamp_err *err)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return errno == ENOENT ? vamp_err_set(err, -EAGAIN, "%s does not exist yet", path)
                               : vamp_err_set_errno(err, errno, "cannot read %s", path);
    }
    char *text = malloc(INFO_FILE_BYTES);
    ssize_t length = text != NULL ? read(file, text, INFO_FILE_BYTES - 1) : -1;
    int result = text == NULL ? -ENOMEM : length < 0 ? -errno : 0;
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
        return vamp_err_set(err, -EAGAIN, "%s does not hold the pool manager's info yet", path);
    case -EINVAL:
        /* Perhaps something else is printed first: worth another look. */
        return vamp_err_set(err, -EAGAIN, "%s holds no line \"" LINE_START "<info>;\" and no info",
                            path);
    default:
        return vamp_err_set_errno(err, -result, "cannot read %s", path);
    }
}

/* Puts the info where mstro_init looks for it. 0, -EAGAIN: not there yet, or another -errno. */
int vamp_session_info(const struct vamp_maestro_options *options, struct vamp_err *err)
{
    const char *variable = MSTRO_ENV_POOL_INFO;
    if (options->alone) {
        return unsetenv(variable) == 0 ? 0 : vamp_err_set_errno(err, errno, "unset %s", variable);
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
    /* At a rejoin other threads are there; the variable is, too, and then the C library only
     * exchanges its text and keeps the one before for those who read it. */
    if (result == 0 && setenv(variable, info, 1) != 0) {
        result = vamp_err_set_errno(err, errno, "set %s", variable);
    }
    return result;
}

/* ------------------------------------------------------------------ joining and leaving */

static struct stat look_at(const struct vamp_maestro_options *options)
{
    struct stat found = {0};
    if (options->info_file != NULL && stat(options->info_file, &found) != 0) {
        found = (struct stat){0};
    }
    return found;
}

/* One attempt. 0; -EAGAIN: worth another one; or another -errno. */
static int join_once(struct vamp_session *session, struct vamp_err *err)
{
    const struct vamp_source_context *context = &session->context;
    assert(!session->joined && session->merge.stream_count == 0); /* one membership a process */
    session->info_file = look_at(session->options);
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
    /* A name that is taken may be that of a vampire killed a moment ago. */
    return vamp_err_set(
        err, -EAGAIN,
        status == MSTRO_REFUSED ? "the pool manager refuses \"%s\" in workflow \"%s\": %s"
                                : "no answer to \"%s\" from a pool manager of workflow \"%s\": %s",
        context->component, context->workflow, vamp_maestro_status_text(status).text);
}

int vamp_session_end(struct vamp_session *session, bool answered, struct vamp_err *err)
{
    vamp_merge_done(&session->merge);
    memset(&session->merge, 0, sizeof session->merge);
    session->merge.clock = session->context.clock;
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
        return VAMP_MSTRO_HAS_HARMLESS_BEFORE || session->harmless
                   ? session->context.event_kinds & waits
                   : 0;
    case VAMP_SIGNAL_BEFORE_OFF:
        return 0;
    case VAMP_SIGNAL_BEFORE_WAITS:
        return session->context.event_kinds & waits;
    case VAMP_SIGNAL_BEFORE_ALL:
        return session->context.event_kinds & ~transports;
    }
    return 0;
}

/* Subscribes to kinds given as vampire's bits; none of them known to this Maestro is no failure. */
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

/* A selector speaks of CDOs only, so events of components need a subscription without it. The last
 * subscription is the one waited on, the busiest; being the last it does not report the others' own
 * making, and whatever it reports as done was reported as begun. */
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

/* This process has joined. 0; -ENOTCONN: the pool manager is gone again; -EINVAL; another -errno.
 * On failure this process has left, and the first failure is the one to report. */
static int subscribe_selected(struct vamp_session *session, struct vamp_err *err)
{
    const char *text = session->context.selector;
    mstro_cdo_selector selector = NULL;
    const mstro_status status =
        text != NULL ? mstro_cdo_selector_create(NULL, NULL, text, &selector) : MSTRO_OK;
    const int result =
        status == MSTRO_OK
            ? subscribe_all(session, selector, err)
            : vamp_err_set(err, -EINVAL, "Maestro does not accept the selector \"%s\": %s", text,
                           vamp_maestro_status_text(status).text);
    if (selector != NULL) {
        (void)mstro_cdo_selector_dispose(selector);
    }
    if (result != 0) {
        (void)!vamp_session_end(session, true, NULL);
    }
    return result;
}

/* ------------------------------------------------------------------ the first time */

/* Tries until it has joined, the time is over or it is stopped. */
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
        if (result != -EAGAIN) {
            return result == 0 ? 0 : vamp_err_set(err, result, "%s", why.text);
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

/* A pool manager that goes between the two is waited for again. */
int vamp_session_begin(struct vamp_session *session, struct vamp_err *err)
{
    session->merge.clock = session->context.clock;
    session->until_ns = vamp_session_now(session) + session->options->wait_ns;
    /* What the user has set stays; without memory, the library has its own patience. */
    const int64_t wait_ms = session->options->wait_ns / (VAMP_NS_PER_SECOND / 1000) + 1;
    char attempt_ms[32];
    (void)snprintf(attempt_ms, sizeof attempt_ms, "%lld",
                   (long long)(wait_ms < ATTEMPT_MS ? wait_ms : ATTEMPT_MS));
    (void)setenv(ATTEMPT_VARIABLE, attempt_ms, 0);
#if VAMP_MSTRO_HAS_LOG_QUIET
    mstro_log_quiet(); /* what fails is in our own messages, with the reason */
#endif
#if VAMP_MSTRO_HAS_PACKED
    mstro_receive_packed();
#endif
    for (;;) {
        int result = join(session, err);
        result = result != 0 ? result : subscribe_selected(session, err);
        if (result != -ENOTCONN) {
            return result;
        }
        if (vamp_session_now(session) >= session->until_ns) {
            return vamp_err_wrap(err, "joined, but then the pool manager was gone");
        }
    }
}

/* ------------------------------------------------------------------ again */

static void schedule_attempt(struct vamp_session *session, int64_t now_ns)
{
    const int64_t half = session->pause_ns / 2;
    const int64_t by_chance = (int64_t)(vamp_random_next(&session->chance) % (uint64_t)(half + 1));
    session->next_ns = now_ns + session->pause_ns - half / 2 + by_chance;
    session->pause_ns = session->pause_ns * 2 < LONGEST_NS ? session->pause_ns * 2 : LONGEST_NS;
}

/* Another file, or other contents; a file that is gone is nothing to try. */
static bool info_has_changed(const struct vamp_session *session)
{
    const struct stat found = look_at(session->options);
    const struct stat *before = &session->info_file;
    return found.st_ino != 0 && found.st_size != 0 &&
           (found.st_ino != before->st_ino || found.st_dev != before->st_dev ||
            found.st_size != before->st_size || found.st_mtim.tv_sec != before->st_mtim.tv_sec ||
            found.st_mtim.tv_nsec != before->st_mtim.tv_nsec);
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
    vamp_source_say(&session->context,
                    "the pool manager is gone; trying to join again for %.0f s%s%s",
                    seconds(options->rejoin_ns), options->info_file != NULL ? ", watching " : "",
                    options->info_file != NULL ? options->info_file : "");
}

/* What is wrong with the info may be put right: every failure is worth another attempt. */
enum vamp_rejoin_status vamp_session_try(struct vamp_session *session, int64_t timeout_ns)
{
    int64_t now_ns = vamp_session_now(session);
    if (now_ns < session->next_ns && !info_has_changed(session)) {
        const int64_t next_ns =
            session->next_ns < session->until_ns ? session->next_ns : session->until_ns;
        if (now_ns >= next_ns) {
            return VAMP_REJOIN_OVER;
        }
        const int64_t left_ns = next_ns - now_ns < timeout_ns ? next_ns - now_ns : timeout_ns;
        vamp_sleep_ns(left_ns < PAUSE_NS ? left_ns : PAUSE_NS);
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
