/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state on a terminal, with keys. The only part that knows curses.
 */
#ifndef TOP_VIEW_H
#define TOP_VIEW_H

#include "programs/vampire-top/plain.h"

/* Shows until the user quits or SIGINT, SIGTERM or SIGHUP comes. The keys come from standard input,
 * or from /dev/tty when that is what is read. The terminal is left as it was. 0; a negative errno
 * with text: no usable terminal, or reading failed. */
VAMP_MUST_CHECK int top_view_run(struct top_input *input, struct top_model *model,
                                 const struct top_show *show, struct vamp_err *err);

#endif
