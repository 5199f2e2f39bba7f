/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/output/paths.h"

#include <stdlib.h>
#include <string.h>

void vamp_paths_add(struct vamp_paths *paths, const char *path)
{
    if (paths->count > 0 && strcmp(paths->items[paths->count - 1], path) == 0) {
        return;
    }
    if (paths->items == NULL) {
        paths->items = calloc(VAMP_PATHS_MAX, sizeof *paths->items);
    }
    char *copy = paths->items != NULL ? strdup(path) : NULL;
    if (copy == NULL) {
        return;
    }
    if (paths->count == VAMP_PATHS_MAX) {
        free(paths->items[--paths->count]);
        paths->left_out++;
    }
    paths->items[paths->count++] = copy;
}

size_t vamp_paths_each(const struct vamp_paths *paths,
                       void (*each)(void *context, const char *path), void *context)
{
    for (size_t i = 0; i < paths->count; i++) {
        each(context, paths->items[i]);
    }
    return paths->count + paths->left_out;
}

void vamp_paths_done(struct vamp_paths *paths)
{
    for (size_t i = 0; i < paths->count; i++) {
        free(paths->items[i]);
    }
    free(paths->items);
    *paths = (struct vamp_paths){.items = NULL};
}
