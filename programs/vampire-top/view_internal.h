/* SPDX-License-Identifier: BSD-3-Clause */
/* What the parts of the view share; no other file includes this. */
#ifndef TOP_VIEW_INTERNAL_H
#define TOP_VIEW_INTERNAL_H

#include <curses.h>
#include <stdint.h>
#include <stdio.h>

#include "programs/vampire-top/view.h"

struct view {
    SCREEN *screen;
    FILE *keys; /* where keys come from; NULL: standard input */
    int key_fd;
    int signal_fd;
    struct top_input *input;
    struct top_model *model;
    struct top_show show;
    struct top_snapshot snapshot; /* what is shown; does not change during a pause */
    size_t components, pairs;     /* chosen rows of it */
    size_t first[2];              /* rows scrolled away: components, pairs */
    unsigned focus;               /* the table that is scrolled */
    bool paused, typing, help, quit, source_ended;
    int64_t news_ns;                   /* when the last bucket came */
    char failure[VAMP_ERR_TEXT_BYTES]; /* why the source ended early */
};

/* The whole screen, from the snapshot. */
void view_draw(struct view *view);

#endif
