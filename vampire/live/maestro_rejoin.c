/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/live/maestro_rejoin.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "vampire/live/maestro_join.h"

/* How often the info file is looked at. */
#define LOOK_NS (100 * 1000 * 1000)
/* Between two messages that it still has not come back. */
#define REMIND_NS (10 * VAMP_NS_PER_SECOND)

static void VAMP_PRINTF(2, 3)
    say(const struct vamp_source_context *context, const char *format, ...)
{
    if (context->say == NULL) {
        return;
    }
    char line[VAMP_ERR_TEXT_BYTES + 128];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    context->say(context->say_context, line);
}

static double seconds(int64_t ns)
{
    return (double)ns / (double)VAMP_NS_PER_SECOND;
}

static struct stat look_at(const struct vamp_maestro_options *options)
{
    struct stat found = {0};
    if (options->info_file != NULL && stat(options->info_file, &found) != 0) {
        found = (struct stat){0};
    }
    return found;
}

void vamp_rejoin_note_info_file(struct vamp_rejoin *rejoin,
                                const struct vamp_maestro_options *options)
{
    rejoin->info_file = look_at(options);
}

/* Another file, or other contents; a file that is gone is nothing to try. */
static bool has_changed(const struct vamp_rejoin *rejoin,
                        const struct vamp_maestro_options *options)
{
    const struct stat now = look_at(options);
    const struct stat *before = &rejoin->info_file;
    return now.st_ino != 0 && now.st_size != 0 &&
           (now.st_ino != before->st_ino || now.st_dev != before->st_dev ||
            now.st_size != before->st_size || now.st_mtim.tv_sec != before->st_mtim.tv_sec ||
            now.st_mtim.tv_nsec != before->st_mtim.tv_nsec);
}

void vamp_rejoin_begin(struct vamp_rejoin *rejoin, const struct vamp_maestro_options *options,
                       const struct vamp_source_context *context)
{
    const int64_t now_ns = vamp_clock_monotonic_ns(context->clock);
    rejoin->since_ns = now_ns;
    rejoin->until_ns = now_ns + options->rejoin_ns;
    rejoin->remind_ns = now_ns + REMIND_NS;
    rejoin->attempts = 0;
    (void)vamp_err_set(&rejoin->why, -ENOTCONN, "nothing was tried yet");
    vamp_backoff_begin(&rejoin->backoff, now_ns, (uint64_t)now_ns ^ (uint64_t)getpid() << 32);
    say(context, "the pool manager is gone; trying to join again for %.0f s%s%s",
        seconds(options->rejoin_ns), options->info_file != NULL ? ", watching " : "",
        options->info_file != NULL ? options->info_file : "");
}

static int try(struct vamp_rejoin *rejoin, const struct vamp_maestro_options *options,
               const struct vamp_source_context *context, struct vamp_merge *merge)
{
    rejoin->attempts++;
    vamp_rejoin_note_info_file(rejoin, options);
    int64_t join_ns = 0;
    int result = vamp_maestro_join_once(options, context, &join_ns, &rejoin->why);
    if (result != 0) {
        return result;
    }
    if (context->own_roundtrip != NULL) {
        context->own_roundtrip(context->own_roundtrip_context, VAMP_OWN_JOIN, join_ns);
    }
    return vamp_maestro_subscribe(options, context, merge, &rejoin->why);
}

static void sleep_ns(int64_t ns)
{
    const struct timespec pause = {.tv_sec = (time_t)(ns / VAMP_NS_PER_SECOND),
                                   .tv_nsec = (long)(ns % VAMP_NS_PER_SECOND)};
    (void)nanosleep(&pause, NULL);
}

/* What is wrong with the info may be put right: every failure is worth another attempt. */
enum vamp_rejoin_status vamp_rejoin_step(struct vamp_rejoin *rejoin,
                                         const struct vamp_maestro_options *options,
                                         const struct vamp_source_context *context,
                                         struct vamp_merge *merge, int64_t timeout_ns)
{
    int64_t now_ns = vamp_clock_monotonic_ns(context->clock);
    if (now_ns < rejoin->backoff.next_ns && !has_changed(rejoin, options)) {
        const int64_t next_ns =
            rejoin->backoff.next_ns < rejoin->until_ns ? rejoin->backoff.next_ns : rejoin->until_ns;
        if (now_ns >= next_ns) {
            return VAMP_REJOIN_OVER;
        }
        const int64_t left_ns = next_ns - now_ns < timeout_ns ? next_ns - now_ns : timeout_ns;
        sleep_ns(left_ns < LOOK_NS ? left_ns : LOOK_NS);
        return VAMP_REJOIN_WAIT;
    }
    if (try(rejoin, options, context, merge) == 0) {
        say(context, "joined workflow \"%s\" again; it was not observed for %.1f s",
            context->workflow, seconds(vamp_clock_monotonic_ns(context->clock) - rejoin->since_ns));
        return VAMP_REJOIN_BACK;
    }
    now_ns = vamp_clock_monotonic_ns(context->clock);
    vamp_backoff_failed(&rejoin->backoff, now_ns);
    if (now_ns >= rejoin->until_ns) {
        return VAMP_REJOIN_OVER;
    }
    if (now_ns >= rejoin->remind_ns) {
        say(context, "%s; trying again for %.0f s", rejoin->why.text,
            seconds(rejoin->until_ns - now_ns));
        rejoin->remind_ns = now_ns + REMIND_NS;
    }
    return VAMP_REJOIN_WAIT;
}
