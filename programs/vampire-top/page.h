/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The texts of a snapshot, as lines of a wanted width: the view and the plain output show the same.
 * Everything returned is clean. No state; any thread.
 */
#pragma once

#include "programs/vampire-top/model.h"

/* Lines above the tables, at most; of these, for what is not counted, for vanished components and
 * for losses. */
#define PAGE_HEAD_LINES 11
#define PAGE_SHARE_LINES 2
#define PAGE_VANISHED_LINES 2
#define PAGE_LOSS_LINES 3
/* Lines of alarms and of demands that wait, at most. */
#define PAGE_ATTENTION_LINES 40

enum page_mark {
    PAGE_PLAIN,
    PAGE_TITLE,
    PAGE_WARNING, /* worth a look */
    PAGE_LOSS,    /* data is missing */
    PAGE_DIM,     /* gone, idle */
};

struct page_line {
    enum page_mark mark;
    char text[TOP_TEXT_BYTES]; /* of at most TOP_COLUMNS columns */
};

/* The lines above the tables: run, operations, bytes, pool, what is not counted and components
 * that vanished (when there are any), losses; returns how many. `name` is that of the source; at
 * most TOP_COLUMNS `columns`. */
unsigned page_head(struct page_line lines[static PAGE_HEAD_LINES],
                   const struct top_snapshot *snapshot, const char *name, unsigned columns);
/* The losses alone, in at most PAGE_LOSS_LINES lines; returns how many. */
unsigned page_losses(struct page_line lines[static PAGE_LOSS_LINES],
                     const struct top_snapshot *snapshot, unsigned columns);

/* A table, line by line from `at` 0 on: its title, the `room` chosen rows from `first` on, and
 * last, as one, the chosen rows that are not among these. What the stream does not have is drawn as
 * hidden, not as 0. False: there is no such line. */
bool page_table(struct page_line *line, const struct top_snapshot *snapshot, enum top_kind kind,
                size_t first, size_t room, size_t at, unsigned columns);
/* One row of it. */
void page_row(struct page_line *line, const struct top_snapshot *snapshot, enum top_kind kind,
              const struct top_row *row, unsigned columns);

/* Alarms, and demands that have waited for more than a bucket, in at most `room` lines. Returns how
 * many there are: 0 when there is nothing to show. */
unsigned page_attention(struct page_line lines[static PAGE_ATTENTION_LINES], unsigned room,
                        const struct top_snapshot *snapshot, unsigned columns);
