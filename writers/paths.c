/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/paths.h"

#include <stdlib.h>
#include <string.h>

void vamp_paths_add(struct vamp_paths *paths, const char *path)
{
    char **items = realloc(paths->items, (paths->count + 1) * sizeof *items);
    if (items == NULL) {
        return;
    }
    paths->items = items;
    char *copy = strdup(path);
    if (copy != NULL) {
        paths->items[paths->count++] = copy;
    }
}

void vamp_paths_drop(struct vamp_paths *paths)
{
    if (paths->count > 0) {
        free(paths->items[--paths->count]);
    }
}

void vamp_paths_each(const struct vamp_paths *paths, void (*each)(void *context, const char *path),
                     void *context)
{
    for (size_t i = 0; i < paths->count; i++) {
        each(context, paths->items[i]);
    }
}

void vamp_paths_done(struct vamp_paths *paths)
{
    for (size_t i = 0; i < paths->count; i++) {
        free(paths->items[i]);
    }
    free(paths->items);
    *paths = (struct vamp_paths){.items = NULL};
}
