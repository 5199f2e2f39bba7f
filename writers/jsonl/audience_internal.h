/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The audience, split: audience.c is the interface and the welcome, audience_reader.c one reader
 * and its queue, audience_thread.c the thread. Private to these three.
 */
#ifndef VAMP_WRITERS_JSONL_AUDIENCE_INTERNAL_H
#define VAMP_WRITERS_JSONL_AUDIENCE_INTERNAL_H

#include <pthread.h>
#include <stdint.h>

#include "writers/jsonl/audience.h"

/* A waiting text, shared by all readers that have yet to get it. Under the audience's lock. */
struct audience_block {
    unsigned holders;
    size_t length;
    char bytes[];
};

#define AUDIENCE_QUEUE_BLOCKS 512

struct audience_reader {
    int fd;
    bool half_closed; /* it has shut down its sending side; it still gets every text */
    struct audience_block *queue[AUDIENCE_QUEUE_BLOCKS]; /* a ring */
    unsigned first, count;
    size_t sent;   /* of the first block */
    size_t bytes;  /* waiting */
    uint64_t lost; /* texts not yet reported to it */
};

struct vamp_audience {
    struct vamp_audience_options options;
    pthread_t thread;
    int wake; /* an eventfd */

    pthread_mutex_t lock; /* everything below */
    struct vamp_listener listener;
    char name[VAMP_LISTENER_NAME_BYTES];
    struct audience_reader *readers[VAMP_AUDIENCE_READERS_MAX];
    unsigned reader_count;

    /* The welcome: a growing head, then rows. */
    char *head;
    size_t head_bytes, head_room;
    struct audience_block **rows; /* options.rows_max, NULL: none */
    struct audience_block **next_rows;

    bool wants_complete;
    bool stop;
    /* Monotonic: when waiting for readers ends unless one of them reads, and in any case. */
    int64_t stop_ns, last_ns, patience_ns;
    int64_t accept_again_ns; /* after a failure to accept */

    /* For the operator: in total, and as last reported. */
    uint64_t lost, lost_reported, dropped, dropped_reported, refused, refused_reported;
    int64_t remark_ns;
};

/* audience.c; with the lock held. NULL without memory. */
struct audience_block *audience_block_make(const char *bytes, size_t length);
void audience_block_release(struct audience_block *block); /* NULL-safe */
struct audience_block *audience_welcome(const struct vamp_audience *audience);

/* audience_reader.c; with the lock held. */
/* Takes the connection, closes it on failure. */
VAMP_MUST_CHECK int audience_reader_add(struct vamp_audience *audience, int fd);
void audience_reader_remove(struct vamp_audience *audience, unsigned index);
/* Makes a place for a new reader; false when no reader can be disconnected. */
bool audience_make_place(struct vamp_audience *audience);
/* Puts the text into the reader's queue, or counts it as lost. */
void audience_reader_give(struct vamp_audience *audience, struct audience_reader *reader,
                          struct audience_block *text, const struct vamp_audience_news *news);
/* Sends what the connection takes; false: it is broken. */
bool audience_reader_send(struct audience_reader *reader);
/* Reads and discards what a reader sends; false: the connection is broken. */
bool audience_reader_listen(struct audience_reader *reader);

/* audience_thread.c. */
void *audience_run(void *context);

#endif
