/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/sink_internal.h"

#include <string.h>

#include "vampire/core/thread.h"

/* Waits for the next bucket; false: there will be none. */
static bool take(struct vamp_sink *sink, struct vamp_sink_entry *ret_entry)
{
    (void)pthread_mutex_lock(&sink->lock);
    while (sink->queued == 0 && !sink->finishing) {
        (void)pthread_cond_wait(&sink->changed, &sink->lock);
    }
    bool found = sink->queued > 0 && !sink->abandoned;
    if (found) {
        *ret_entry = sink->queue[sink->first];
        sink->first = (sink->first + 1) % sink->options.queue_length;
        sink->queued--;
        if (ret_entry->lost_before > 0) {
            vamp_carry_move(&sink->carry, &sink->missed);
        }
    }
    (void)pthread_mutex_unlock(&sink->lock);
    return found;
}

static void count_lost(struct vamp_sink *sink)
{
    sink->lost_before++;
    (void)pthread_mutex_lock(&sink->lock);
    if (!sink->abandoned) {
        sink->account.lost++;
        sink->account.waiting--;
    }
    (void)pthread_mutex_unlock(&sink->lock);
}

static bool is_abandoned(struct vamp_sink *sink)
{
    (void)pthread_mutex_lock(&sink->lock);
    bool abandoned = sink->abandoned;
    (void)pthread_mutex_unlock(&sink->lock);
    return abandoned;
}

static void close_last(struct vamp_sink *sink)
{
    if (sink->writer == NULL) {
        return;
    }
    for (unsigned i = 0; i < sink->ending.accounting.output_count; i++) {
        if (strcmp(sink->ending.accounting.outputs[i].name, sink->account.name) == 0) {
            vamp_sink_account(sink, &sink->ending.accounting.outputs[i]);
        }
    }
    sink->close_code =
        vamp_sink_close_segment(sink, sink->has_ending ? &sink->ending : NULL, false);
}

static void *run_thread(void *context)
{
    struct vamp_sink *sink = context;
    struct vamp_sink_entry entry;
    while (take(sink, &entry)) {
        sink->lost_before += entry.lost_before;
        vamp_carry_add_bucket(&sink->carry, entry.bucket);
        bool written = vamp_sink_deliver(sink, entry.bucket);
        if (is_abandoned(sink)) {
            return NULL; /* whoever owned the rest may be gone; the process is ending */
        }
        if (!written) {
            count_lost(sink);
        }
        vamp_bucket_release(entry.bucket);
    }
    close_last(sink);
    (void)pthread_mutex_lock(&sink->lock);
    sink->done = true;
    (void)pthread_cond_broadcast(&sink->changed);
    (void)pthread_mutex_unlock(&sink->lock);
    return NULL;
}

int vamp_sink_start_thread(struct vamp_sink *sink, struct vamp_err *err)
{
    const int code = vamp_thread_start(&sink->thread, sink->account.name, run_thread, sink, err);
    sink->started = code == 0;
    return code;
}
