/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/output/internal.h"

#include <string.h>

#include "vampire/core/thread.h"

/* Writes every waiting element to a segment, or gives it up. */
static void drain(struct vamp_output *output)
{
    while (!atomic_load(&output->abandoned) && output->kind->take(output)) {
        const bool written = output_deliver(output);
        if (atomic_load(&output->abandoned)) {
            return; /* what it used may be freed */
        }
        if (!written) {
            output_count_lost(output, output->current.counts);
        }
        output->kind->release(output, written);
    }
    output_flush(output);
}

static void close_last(struct vamp_output *output)
{
    if (output->segment.writer == NULL) {
        return;
    }
    struct vamp_accounting *accounting = &output->ending.accounting;
    for (unsigned i = 0; i < accounting->output_count; i++) {
        if (strcmp(accounting->outputs[i].name, output->name) == 0) {
            vamp_output_account(output, &accounting->outputs[i]);
        }
    }
    output->close_code = output_close_segment(output, &output->ending, false);
}

static void *run_output(void *context)
{
    struct vamp_output *output = context;
    while (!output->kind->finished(output)) {
        output->kind->wait(output);
        drain(output);
        if (atomic_load(&output->abandoned)) {
            return NULL;
        }
    }
    close_last(output);
    (void)pthread_mutex_lock(&output->lock);
    output->done = true;
    (void)pthread_cond_broadcast(&output->changed);
    (void)pthread_mutex_unlock(&output->lock);
    return NULL;
}

int output_start_thread(struct vamp_output *output, struct vamp_err *err)
{
    const int code = vamp_thread_start(&output->thread, output->name, run_output, output, err);
    output->started = code == 0;
    return code;
}
