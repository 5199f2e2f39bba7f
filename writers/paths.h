/* SPDX-License-Identifier: BSD-3-Clause */
/* The files that an output has written, oldest first, for the summary. Whoever may touch it is the
 * sink's affair. */
#ifndef VAMP_WRITERS_PATHS_H
#define VAMP_WRITERS_PATHS_H

#include <stddef.h>

/* All zero: none. */
struct vamp_paths {
    char **items;
    size_t count;
};

/* Copies it. Without memory only the summary misses it. */
void vamp_paths_add(struct vamp_paths *paths, const char *path);
/* Forgets the last one, if there is one. */
void vamp_paths_drop(struct vamp_paths *paths);
void vamp_paths_each(const struct vamp_paths *paths, void (*each)(void *context, const char *path),
                     void *context);
void vamp_paths_done(struct vamp_paths *paths);

#endif
