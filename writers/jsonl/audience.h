/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The readers of a listening socket: each gets a welcome on connecting, then every text that is
 * given to all. A separate thread accepts and sends; giving a text never waits for a reader.
 *
 * Bounds: `readers_max` readers, `buffer_bytes` waiting for each of them. A text that finds no room
 * is lost for that reader alone, whole, and counted; as soon as there is room again it gets the
 * welcome once more, a line with the exact number, and goes on. Texts that wait are shared between
 * readers. When all places are taken, a newcomer takes the place of a reader that has been losing;
 * if there is none, it is turned away.
 *
 * All calls come from one thread; the audience's own thread takes no signals.
 */
#ifndef VAMP_WRITERS_JSONL_AUDIENCE_H
#define VAMP_WRITERS_JSONL_AUDIENCE_H

#include "writers/format/listener.h"

#define VAMP_AUDIENCE_READERS_MAX 64
#define VAMP_AUDIENCE_LOST_LINE_BYTES 512

struct vamp_audience;

struct vamp_audience_options {
    const char *address; /* listener.h */
    enum vamp_target_access access;
    unsigned readers_max; /* 1 to VAMP_AUDIENCE_READERS_MAX */
    size_t buffer_bytes;
    unsigned rows_max; /* of the welcome */
    /* A part of this run that is about to end may still use the address: retry until it is free. */
    bool may_wait;
};

/* A piece of text; not terminated. */
struct vamp_audience_text {
    const char *bytes;
    size_t length;
};

/* What is passed to all readers at once. */
struct vamp_audience_news {
    struct vamp_audience_text head; /* goes to the welcome's end */
    struct vamp_audience_text text; /* to every reader */
    bool complete;                  /* a reader can begin again with this text */
    /* Makes the line that reports `lost` texts, at most VAMP_AUDIENCE_LOST_LINE_BYTES; returns its
     * length. */
    size_t (*lost_line)(void *context, uint64_t lost, char *line);
    void *context;
};

/* Listens and starts the thread. `options->address` must outlive the audience. 0, or -errno and
 * nothing is left open. */
VAMP_MUST_CHECK int vamp_audience_open(const struct vamp_audience_options *options,
                                       struct vamp_audience **ret_audience, struct vamp_err *err);
/* The address, with the port the system chose. Valid until close. */
const char *vamp_audience_name(const struct vamp_audience *audience);
/* Sets a row of the welcome, which comes after the head; newcomers before the next call of
 * vamp_audience_give do not see it. Without memory the row stays as it was: -ENOMEM. */
VAMP_MUST_CHECK int vamp_audience_row(struct vamp_audience *audience, unsigned row,
                                      const struct vamp_audience_text *text);
/* Passes the text to all readers. 0, also when readers lose it or there is none; -ENOMEM: no reader
 * got it, the welcome is unchanged. */
VAMP_MUST_CHECK int vamp_audience_give(struct vamp_audience *audience,
                                       const struct vamp_audience_news *news);
/* A reader connected or lost a text: the next text should be complete. */
bool vamp_audience_wants_complete(struct vamp_audience *audience);
/* A remark for the operator, about once in ten seconds at most; false: nothing new. */
bool vamp_audience_remark(struct vamp_audience *audience, char text[static VAMP_ERR_TEXT_BYTES]);
/* Waits for the readers to take what is queued, as long as one of them takes some within
 * `patience_ns`, and for nine times that at most; disconnects and frees. NULL-safe. */
void vamp_audience_close(struct vamp_audience *audience, int64_t patience_ns);

#endif
