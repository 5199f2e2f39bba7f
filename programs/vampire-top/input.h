/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the lines come from: a file that is followed like `tail -F` and from segment to segment, a
 * FIFO, a Unix or TCP socket, standard input. Never blocks but in top_input_wait. One thread.
 */
#pragma once

#include <stdbool.h>

#include "programs/vampire-top/model.h"
#include "vampire/core/err.h"

struct top_input;

struct top_input_options {
    const char *source; /* FILE, FIFO, "-", unix:PATH, tcp:PORT, tcp:ADDRESS:PORT; must outlive */
    bool wait;          /* wait for a source that does not exist yet */
    bool whole;         /* a long file is read from its beginning, not only its last 16 MiB */
};

/* 0, or -EINVAL with text when `source` can name nothing. */
VAMP_MUST_CHECK int top_input_check(const char *source, struct vamp_err *err);
/* 0; a negative errno with text when there is nothing to read at `source`. */
VAMP_MUST_CHECK int top_input_open(const struct top_input_options *options,
                                   struct top_input **ret_input, struct vamp_err *err);
void top_input_close(struct top_input *input);

enum top_input_state {
    TOP_INPUT_MORE,   /* something was read, there may be more at once */
    TOP_INPUT_BUCKET, /* the model has a new bucket; there may be more at once */
    TOP_INPUT_CLOSED, /* the model's run has ended; there may be more at once */
    TOP_INPUT_IDLE,   /* nothing at the moment */
    TOP_INPUT_END,    /* no more lines: the run has ended, or the stream was closed */
};
/* Feeds the model with the available lines, up to the end of the next bucket or of the run. A
 * negative errno with text when reading fails; then, too, there are no more lines. */
VAMP_MUST_CHECK int top_input_read(struct top_input *input, struct top_model *model,
                                   enum top_input_state *ret_state, struct vamp_err *err);

/* Waits until there may be something to read (no more, when `input` is NULL), or `key_fd` (-1:
 * none) is readable, or the time is over, or a signal came. */
void top_input_wait(struct top_input *input, int key_fd, int milliseconds);

/* True for a file that is not followed and has no more lines. */
bool top_input_is_settled(const struct top_input *input);

/* How much of a file was read, in percent; 100 of what is no file. */
unsigned top_input_progress(const struct top_input *input);

/* The name of the present source, for display. Valid until the next read. */
const char *top_input_name(const struct top_input *input);
