/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state as plain text, one block for each bucket; for logs, pipes and simple terminals.
 */
#ifndef TOP_PLAIN_H
#define TOP_PLAIN_H

#include <stdio.h>

#include "programs/vampire-top/input.h"
#include "programs/vampire-top/order.h"

struct top_show {
    enum top_mode mode;
    bool once; /* show the newest state, then end */
    struct top_choice choice;
};

/* Prints until the source ends. 0; a negative errno with text: reading or
 * printing failed, or the source ended without a bucket (-ENODATA). */
VAMP_MUST_CHECK int top_plain_run(struct top_input *input, struct top_model *model,
                                  const struct top_show *show, FILE *out, struct vamp_err *err);

#endif
