/* SPDX-License-Identifier: BSD-3-Clause */
/* The files that an output has written, oldest first, for the summary: the first VAMP_PATHS_MAX - 1
 * and the newest, since a run of weeks may have thousands. One thread at a time. */
#ifndef VAMP_WRITERS_OUTPUT_PATHS_H
#define VAMP_WRITERS_OUTPUT_PATHS_H

#include <stddef.h>

#define VAMP_PATHS_MAX 256U

/* All zero: none. */
struct vamp_paths {
    char **items;
    size_t count;
    size_t left_out; /* between the last two items */
};

/* Copies it, unless it is the newest one already, as of a FIFO in each segment. Without memory only
 * the summary misses it. */
void vamp_paths_add(struct vamp_paths *paths, const char *path);
/* Calls `each` with those that are kept; returns how many there are in all. */
size_t vamp_paths_each(const struct vamp_paths *paths,
                       void (*each)(void *context, const char *path), void *context);
void vamp_paths_done(struct vamp_paths *paths);

#endif
