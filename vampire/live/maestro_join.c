/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/live/maestro_join.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <maestro.h>

#include "vampire/live/maestro_fields.h"
#include "vampire/live/maestro_status.h"

/* Infos seen in the wild are some hundred characters; a log in front of them may be long. */
#define INFO_BYTES 8192
#define INFO_FILE_BYTES ((size_t)64 * 1024)
#define PAUSE_NS (100 * 1000 * 1000)
#define REMIND_NS (10 * VAMP_NS_PER_SECOND)
/* One attempt: short enough to stop between two when a signal comes. The embedded Maestro takes
 * this from the environment, others have their own idea. */
#define ATTEMPT_MS 3000
#define ATTEMPT_VARIABLE "MSTRO_JOIN_TIMEOUT_MS"

/* The text that begins the line, as the environment variable is called. */
#define LINE_START "MSTRO_POOL_MANAGER_INFO;"

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

static const char *line_with_info(const char *text)
{
    const char *line = text;
    while (line != NULL && strncmp(line, LINE_START, strlen(LINE_START)) != 0) {
        line = strchr(line, '\n');
        line = line != NULL ? line + 1 : NULL;
    }
    return line;
}

int vamp_maestro_info_parse(const char *text, char *info, size_t bytes)
{
    const char *line = line_with_info(text);
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
static int provide_info(const struct vamp_maestro_options *options, struct vamp_err *err)
{
    const char *variable = vamp_maestro_info_variable();
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

/* ------------------------------------------------------------------ joining */

int vamp_maestro_join_once(const struct vamp_maestro_options *options,
                           const struct vamp_source_context *context, int64_t *ret_ns,
                           struct vamp_err *err)
{
    int result = provide_info(options, err);
    if (result != 0) {
        return result;
    }
    int64_t start_ns = vamp_clock_monotonic_ns(context->clock);
    mstro_status status = mstro_init(context->workflow, context->component, 0);
    if (status == MSTRO_OK) {
        *ret_ns = vamp_clock_monotonic_ns(context->clock) - start_ns;
        return 0;
    }
    char text[256];
    vamp_maestro_status_text(status, text, sizeof text);
    if (status == MSTRO_NOT_TWICE || status == MSTRO_INVARG) {
        return vamp_err_set(err, -EINVAL, "cannot join workflow \"%s\" as \"%s\": %s",
                            context->workflow, context->component, text);
    }
    /* A name that is taken may be that of a vampire killed a moment ago. */
    return vamp_err_set(err, -EAGAIN,
                        vamp_maestro_status_refused(status)
                            ? "the pool manager refuses \"%s\" in workflow \"%s\": %s"
                            : "no answer to \"%s\" from a pool manager of workflow \"%s\": %s",
                        context->component, context->workflow, text);
}

static void pause_briefly(void)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    (void)nanosleep(&pause, NULL);
}

static void remind(const struct vamp_source_context *context, const char *why, int64_t left_ns)
{
    if (context->say != NULL) {
        char line[VAMP_ERR_TEXT_BYTES + 64];
        (void)snprintf(line, sizeof line, "%s; trying again for %.0f s", why,
                       (double)left_ns / (double)VAMP_NS_PER_SECOND);
        context->say(context->say_context, line);
    }
}

/* What the user has set stays. */
static void limit_attempts(int64_t wait_ns)
{
    char text[32];
    int64_t wait_ms = wait_ns / (VAMP_NS_PER_SECOND / 1000) + 1;
    (void)snprintf(text, sizeof text, "%lld",
                   (long long)(wait_ms < ATTEMPT_MS ? wait_ms : ATTEMPT_MS));
    (void)setenv(ATTEMPT_VARIABLE, text, 0); /* without memory: the library's own patience */
}

int vamp_maestro_join(const struct vamp_maestro_options *options,
                      const struct vamp_source_context *context, int64_t until_ns, int64_t *ret_ns,
                      struct vamp_err *err)
{
    limit_attempts(options->wait_ns);
    int64_t now_ns = vamp_clock_monotonic_ns(context->clock);
    int64_t remind_ns = now_ns;
    for (;;) {
        if (context->stop != NULL && atomic_load(context->stop) != 0) {
            return vamp_err_set(err, -ECANCELED, "stopped while waiting for a pool manager");
        }
        struct vamp_err why = VAMP_ERR_NONE;
        int result = vamp_maestro_join_once(options, context, ret_ns, &why);
        if (result != -EAGAIN) {
            return result == 0 ? 0 : vamp_err_set(err, result, "%s", why.text);
        }
        now_ns = vamp_clock_monotonic_ns(context->clock);
        if (now_ns >= until_ns) {
            return vamp_err_set(err, -ETIMEDOUT, "%s; gave up after %.0f s", why.text,
                                (double)options->wait_ns / (double)VAMP_NS_PER_SECOND);
        }
        if (now_ns >= remind_ns) {
            remind(context, why.text, until_ns - now_ns);
            remind_ns = now_ns + REMIND_NS;
        }
        pause_briefly();
    }
}
