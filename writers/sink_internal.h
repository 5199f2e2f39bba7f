/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sink, split: sink.c is the interface and the queue, sink_thread.c the thread, sink_delivery.c
 * brings one bucket into a target. Private to these three.
 */
#ifndef VAMP_WRITERS_SINK_INTERNAL_H
#define VAMP_WRITERS_SINK_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "writers/paths.h"
#include "writers/sink.h"
#include "writers/sink_carry.h"

#define VAMP_SINK_NEVER_NS INT64_MAX

struct vamp_sink_entry {
    const struct vamp_bucket *bucket;
    uint64_t lost_before; /* refused just before this one */
};

struct vamp_sink {
    const struct vamp_writer_ops *ops;
    const void *writer_options;
    const struct vamp_run *run;
    const struct vamp_schema *schema;
    const struct vamp_clock *clock;
    struct vamp_sink_options options; /* name points to `account.name` */
    pthread_t thread;
    bool started;

    pthread_mutex_t lock; /* everything down to `thread-private` */
    pthread_cond_t changed;
    struct vamp_sink_entry *queue; /* a ring of options.queue_length */
    unsigned first, queued;
    struct vamp_output_account account;
    uint64_t refused; /* since the last accepted bucket */
    struct vamp_carry missed;
    int64_t commit_ns;
    struct vamp_err newest_failure, first_failure;
    bool has_news;
    char remark[VAMP_ERR_TEXT_BYTES]; /* "": none */
    int64_t give_up_ns;               /* monotonic; VAMP_SINK_NEVER_NS until finish */
    struct vamp_ending ending;
    char reason[128];
    bool finishing, has_ending, done, abandoned;
    int close_code;

    /* thread-private */
    void *writer;        /* NULL: none open */
    atomic_uint segment; /* read by others too */
    unsigned segment_buckets;
    bool segment_blind;     /* opened before any bucket was there to measure it by */
    int64_t segment_period; /* of rotate_ns */
    struct vamp_carry carry;
    uint64_t lost_before; /* not yet told to a target */
    struct vamp_paths paths;
};

/* Real time even in tests with a clock of their own: pthread waits with it. Monotonic. */
int64_t vamp_sink_now_ns(void);
/* With the lock held: until the condition is signalled or the time is reached. */
void vamp_sink_wait_until(struct vamp_sink *sink, int64_t until_ns);
/* Keeps a failure to be told. */
void vamp_sink_note_failure(struct vamp_sink *sink, const struct vamp_err *failure);

/* sink_thread.c. */
VAMP_MUST_CHECK int vamp_sink_start_thread(struct vamp_sink *sink, struct vamp_err *err);

/* sink_delivery.c; the sink's thread, and the creator before that thread exists. */
VAMP_MUST_CHECK int vamp_sink_open_segment(struct vamp_sink *sink,
                                           const struct vamp_delivery *first, struct vamp_err *err);
/* `failed`: what is wrong was told already, and the target is known to be bad. Returns the close's
 * result, 0 for a failed one. */
int vamp_sink_close_segment(struct vamp_sink *sink, const struct vamp_ending *ending, bool failed);
/* Until the bucket is in a target; false when it was given up. */
bool vamp_sink_deliver(struct vamp_sink *sink, const struct vamp_bucket *bucket);

#endif
