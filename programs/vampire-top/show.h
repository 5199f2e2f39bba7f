/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two ways to show a stream: as plain text, for logs, pipes and simple terminals, and on a
 * terminal with keys. Both show the lines of page.h.
 */
#pragma once

#include "programs/vampire-top/input.h"

struct top_show {
    enum top_mode mode;
    bool once;        /* show the newest state, then end */
    bool ranks;       /* also where models would have rows */
    double window_ns; /* rates are of so much time; 0: of the newest bucket */
    struct top_choice choice;
};

/* Prints a block for each bucket to standard output until the source ends. 0; a negative errno with
 * text: reading or printing failed, or the source ended without a bucket (-ENODATA). */
VAMP_MUST_CHECK int top_plain_run(struct top_input *input, struct top_model *model,
                                  const struct top_show *show, struct vamp_err *err);

/* Shows until the user quits or SIGINT, SIGTERM or SIGHUP comes. The keys come from standard input,
 * or from /dev/tty when that is what is read. The terminal is left as it was. 0; a negative errno
 * with text: no usable terminal, or reading failed. The only part that knows curses. */
VAMP_MUST_CHECK int top_view_run(struct top_input *input, struct top_model *model,
                                 const struct top_show *show, struct vamp_err *err);
