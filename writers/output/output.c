/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/output/internal.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Time beyond the deadline for a format that is giving up and closing. */
#define STUCK_NS (2 * VAMP_NS_PER_SECOND)
/* Time between two checks for room. */
#define ROOM_NS 200000

/* ---- kinds and their options */

static const struct output_kind *kind_of(const struct vamp_writer_ops *format)
{
    static const struct output_kind *const kinds[VAMP_ELEMENT_COUNT] = {
        [VAMP_ELEMENT_BUCKET] = &output_of_buckets,
        [VAMP_ELEMENT_EVENT] = &output_of_events,
    };
    return kinds[format->element];
}

static const struct vamp_opt rotate_options[] = {
    {.key = "size",
     .type = VAMP_OPT_SIZE,
     .preset = "0B",
     .max = (uint64_t)64 << 40,
     .offset = offsetof(struct vamp_output_settings, rotate_bytes),
     .help = "Size at which a new file begins; 0B: never",
     .only_with = VAMP_TARGET_FILES},
    {.key = "interval",
     .type = VAMP_OPT_DURATION,
     .preset = "0s",
     .max = (uint64_t)366 * 86400 * VAMP_NS_PER_SECOND,
     .offset = offsetof(struct vamp_output_settings, rotate_ns),
     .help = "Time after which a new file begins; 0s: never",
     .only_with = VAMP_TARGET_FILES},
    {.key = NULL},
};

static const struct vamp_opt keep_options[] = {
    {.key = "age",
     .type = VAMP_OPT_DURATION,
     .preset = "0s",
     .max = (uint64_t)100 * 366 * 86400 * VAMP_NS_PER_SECOND,
     .offset = offsetof(struct vamp_output_settings, keep_ns),
     .help = "Files last written longer ago than this, by the clock and not by times of "
             "events, are deleted; 0s: none",
     .only_with = VAMP_TARGET_BIT(VAMP_TARGET_NEW_FILES)},
    {.key = "size",
     .type = VAMP_OPT_SIZE,
     .preset = "0B",
     .max = (uint64_t)64 << 50,
     .offset = offsetof(struct vamp_output_settings, keep_bytes),
     .help = "The oldest files are deleted while all files of this output together are larger than "
             "this; 0B: none",
     .only_with = VAMP_TARGET_BIT(VAMP_TARGET_NEW_FILES)},
    {.key = NULL},
};

const struct vamp_opt *vamp_output_options(const struct vamp_writer_ops *format)
{
    return kind_of(format)->options;
}

const struct vamp_output_section *vamp_output_sections(const struct vamp_writer_ops *format)
{
    static const struct vamp_output_section of_files[] = {
        {"rotate", "when a new file begins", rotate_options},
        {"keep", "which older closed files are deleted", keep_options},
        {NULL, NULL, NULL},
    };
    return format->bytes != NULL ? of_files : &of_files[2];
}

/* ---- for all parts of it */

int64_t output_now_ns(void)
{
    return vamp_clock_monotonic_ns(&vamp_clock_system);
}

void output_note_failure(struct vamp_output *output, const struct vamp_err *failure)
{
    (void)pthread_mutex_lock(&output->lock);
    output->newest_failure = *failure;
    output->has_news = true;
    if (output->first_failure.code == 0) {
        output->first_failure = *failure;
    }
    (void)pthread_mutex_unlock(&output->lock);
}

void output_wait_until(struct vamp_output *output, int64_t until_ns)
{
    const struct timespec until = {.tv_sec = (time_t)(until_ns / VAMP_NS_PER_SECOND),
                                   .tv_nsec = (long)(until_ns % VAMP_NS_PER_SECOND)};
    (void)pthread_cond_timedwait(&output->changed, &output->lock, &until);
}

void output_count_lost(struct vamp_output *output, uint64_t count)
{
    output->lost_before += count;
    atomic_store_explicit(&output->lost, output->lost_before, memory_order_release);
}

void output_await_room(struct vamp_output *output)
{
    const struct timespec pause = {.tv_nsec = ROOM_NS};
    int64_t left_ns = VAMP_OUTPUT_PATIENCE_NS;
    while (output->stop != NULL && !output->stuck && output->kind->crowded(output) &&
           atomic_load(output->stop) == 0) {
        (void)nanosleep(&pause, NULL);
        left_ns -= ROOM_NS;
        output->stuck = left_ns <= 0;
    }
}

/* ---- begin and elements */

static void release_all(struct vamp_output *output)
{
    output->kind->done(output);
    vamp_paths_done(&output->paths);
    (void)pthread_cond_destroy(&output->changed);
    (void)pthread_mutex_destroy(&output->lock);
    free(output);
}

static int begin(struct vamp_output *output, const struct vamp_output_context *context,
                 struct vamp_err *err)
{
    int code = output->kind->create(output, context, err);
    if (code == 0) {
        code = output_open_segment(output, err);
    }
    if (code == 0) {
        code = output_start_thread(output, err);
        if (code != 0) {
            (void)output_close_segment(output, NULL, true);
        }
    }
    return code;
}

int vamp_output_create(const struct vamp_writer_ops *format, const void *format_options,
                       const struct vamp_output_settings *settings,
                       const struct vamp_output_context *context, struct vamp_output **ret_output,
                       struct vamp_err *err)
{
    struct vamp_output *output = calloc(1, sizeof *output);
    if (output == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "output \"%s\"", settings->name);
    }
    output->format = format;
    output->kind = kind_of(format);
    output->format_options = format_options;
    output->settings = settings;
    output->run = context->run;
    output->schema = context->schema;
    output->clock = context->clock;
    output->event_kinds = context->event_kinds;
    output->stop = context->stop;
    output->signal = context->signal;
    output->ending.reason = "given up"; /* unless finish says otherwise */
    atomic_store(&output->segment_number, context->segments_before);
    atomic_store(&output->give_up_ns, OUTPUT_NEVER_NS);
    (void)snprintf(output->name, sizeof output->name, "%s", settings->name);
    pthread_condattr_t monotonic;
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&output->changed, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    (void)pthread_mutex_init(&output->lock, NULL);
    const int code = begin(output, context, err);
    if (code != 0) {
        release_all(output);
        return vamp_err_wrap(err, "output \"%s\"", settings->name);
    }
    *ret_output = output;
    return 0;
}

void vamp_output_bucket(struct vamp_output *output, const struct vamp_bucket *bucket)
{
    if (output->kind->bucket != NULL) {
        output->kind->bucket(output, bucket);
    }
}

bool vamp_output_takes_events(const struct vamp_output *output)
{
    return output->kind->event != NULL;
}

void vamp_output_event(struct vamp_output *output, const struct vamp_event *event, bool passed)
{
    if (output->kind->event != NULL) {
        output->kind->event(output, event, passed);
    }
}

void vamp_output_publish(struct vamp_output *output)
{
    if (output->kind->publish != NULL) {
        output->kind->publish(output);
    }
}

/* ---- how it is */

const char *vamp_output_name(const struct vamp_output *output)
{
    return output->name;
}

const char *vamp_output_unit(const struct vamp_output *output)
{
    return output->kind->unit;
}

unsigned vamp_output_segment(const struct vamp_output *output)
{
    return atomic_load_explicit(&output->segment_number, memory_order_relaxed);
}

/* `queued` is read last: an element is counted there before it is counted elsewhere. */
void vamp_output_account(const struct vamp_output *output, struct vamp_output_account *ret_account)
{
    if (atomic_load(&output->abandoned)) {
        *ret_account = output->left;
        return;
    }
    *ret_account = (struct vamp_output_account){
        .written = atomic_load_explicit(&output->written, memory_order_acquire),
        .lost = atomic_load_explicit(&output->lost, memory_order_acquire),
    };
    ret_account->lost += atomic_load_explicit(&output->refused, memory_order_acquire);
    ret_account->queued = atomic_load_explicit(&output->queued, memory_order_acquire);
    assert(ret_account->queued >= ret_account->written + ret_account->lost);
    ret_account->waiting = ret_account->queued - ret_account->written - ret_account->lost;
    memcpy(ret_account->name, output->name, sizeof ret_account->name);
}

int64_t vamp_output_commit_ns(struct vamp_output *output)
{
    return atomic_exchange(&output->commit_ns, 0);
}

bool vamp_output_failure(struct vamp_output *output, struct vamp_err *ret_err)
{
    (void)pthread_mutex_lock(&output->lock);
    const bool news = output->has_news;
    if (news) {
        *ret_err = output->newest_failure;
    }
    output->has_news = false;
    (void)pthread_mutex_unlock(&output->lock);
    return news;
}

bool vamp_output_remark(struct vamp_output *output, char text[static VAMP_ERR_TEXT_BYTES])
{
    (void)pthread_mutex_lock(&output->lock);
    const bool news = output->remark[0] != '\0';
    if (news) {
        memcpy(text, output->remark, sizeof output->remark);
    }
    output->remark[0] = '\0';
    output->unreported_files = 0;
    output->unreported_bytes = 0;
    (void)pthread_mutex_unlock(&output->lock);
    return news;
}

uint64_t vamp_output_deleted(const struct vamp_output *output)
{
    return atomic_load_explicit(&output->deleted, memory_order_relaxed);
}

uint64_t vamp_output_left_out(const struct vamp_output *output, const char **ret_what)
{
    /* Before, the thread may still own them. */
    *ret_what = output->done ? output->left_out_what : NULL;
    return output->done ? atomic_load(&output->left_out) : 0;
}

void vamp_output_fill(const struct vamp_output *output, struct vamp_output_fill *ret_fill)
{
    output->kind->fill(output, ret_fill);
}

bool vamp_output_is_stuck(const struct vamp_output *output)
{
    return output->stuck;
}

bool vamp_output_is_behind(const struct vamp_output *output)
{
    struct vamp_output_account account;
    vamp_output_account(output, &account);
    return account.waiting > output->usually_waiting;
}

int64_t vamp_output_linger_ns(const struct vamp_output *output)
{
    return output->format->linger_ns != NULL ? output->format->linger_ns(output->format_options)
                                             : 0;
}

/* ---- the end */

static void set_ending(struct vamp_output *output, const struct vamp_ending *ending)
{
    output->ending = *ending;
    (void)snprintf(output->reason, sizeof output->reason, "%s", ending->reason);
    output->ending.reason = output->reason;
}

/* The thread is stuck: the memory it uses is not freed, and nothing it still does is counted. */
static void abandon(struct vamp_output *output)
{
    vamp_output_account(output, &output->left);
    output->left.lost += output->left.waiting;
    output->left.waiting = 0;
    atomic_store(&output->abandoned, true);
    (void)pthread_detach(output->thread);
}

/* True: the thread has ended and was joined. False: it is stuck and was detached. */
static bool stop_thread(struct vamp_output *output, const struct vamp_ending *ending,
                        int64_t deadline_ns)
{
    (void)pthread_mutex_lock(&output->lock);
    const int64_t until = output_now_ns() + (deadline_ns > 0 ? deadline_ns : 0);
    output->finishing = true;
    atomic_store(&output->give_up_ns, until);
    if (ending != NULL) {
        set_ending(output, ending);
    }
    (void)pthread_cond_broadcast(&output->changed);
    (void)pthread_mutex_unlock(&output->lock);
    output->kind->end(output, until);

    (void)pthread_mutex_lock(&output->lock);
    const int64_t linger_ns =
        ending != NULL && ending->completed ? vamp_output_linger_ns(output) : 0;
    const int64_t stuck = until + STUCK_NS + linger_ns;
    while (!output->done && output_now_ns() < stuck) {
        output_wait_until(output, stuck);
    }
    const bool done = output->done;
    (void)pthread_mutex_unlock(&output->lock);
    if (done) {
        (void)pthread_join(output->thread, NULL);
    } else {
        abandon(output);
    }
    output->started = false;
    return done;
}

static int report_losses(const struct vamp_output *output,
                         const struct vamp_output_account *account, struct vamp_err *err)
{
    const int first = output->first_failure.code;
    const char *unit = output->kind->unit;
    if (first != 0) {
        return vamp_err_set(err, first, "%" PRIu64 " of %" PRIu64 " %ss are lost: %.400s",
                            account->lost, account->queued, unit, output->first_failure.text);
    }
    return vamp_err_set(err, -ENOBUFS,
                        "%" PRIu64 " of %" PRIu64 " %ss are lost: they came faster than they could "
                        "be written; a larger \"%s\" may help",
                        account->lost, account->queued, unit, output->kind->queue_option);
}

int vamp_output_finish(struct vamp_output *output, const struct vamp_ending *ending,
                       int64_t deadline_ns, struct vamp_err *err)
{
    struct vamp_output_account account;
    if (output->started && !stop_thread(output, ending, deadline_ns)) {
        vamp_output_account(output, &account);
        return vamp_err_set(err, -ETIMEDOUT,
                            "it is stuck in the operating system: %" PRIu64 " of %" PRIu64
                            " %ss are lost, the file may lack its end",
                            account.lost, account.queued, output->kind->unit);
    }
    vamp_output_account(output, &account);
    assert(account.waiting == 0);
    if (account.lost > 0) {
        return report_losses(output, &account, err);
    }
    return output->close_code == 0
               ? 0
               : vamp_err_set(err, output->close_code, "%s", output->newest_failure.text);
}

size_t vamp_output_paths(const struct vamp_output *output,
                         void (*each)(void *context, const char *path), void *context)
{
    /* Before, the thread may still own them. */
    return output->done ? vamp_paths_each(&output->paths, each, context) : 0;
}

void vamp_output_free(struct vamp_output *output)
{
    if (output == NULL) {
        return;
    }
    if (output->started) {
        (void)stop_thread(output, NULL, 0);
    }
    if (!atomic_load(&output->abandoned)) {
        release_all(output); /* else the stuck thread may still use it */
    }
}
