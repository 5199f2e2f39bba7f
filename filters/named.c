/* SPDX-License-Identifier: BSD-3-Clause */
#include "filters/named.h"

#include <stdlib.h>
#include <string.h>

struct vamp_named_filters {
    size_t count;
    char *texts[VAMP_NAMED_FILTERS_MAX];
    /* One more, so that the list always ends with NULL. */
    char *names[VAMP_NAMED_FILTERS_MAX + 1];
};

int vamp_named_filters_create(struct vamp_named_filters **ret_named, struct vamp_err *err)
{
    struct vamp_named_filters *named = calloc(1, sizeof(*named));
    if (named == NULL) {
        return vamp_err_set(err, -ENOMEM, "keep named filters: no memory");
    }
    *ret_named = named;
    return 0;
}

void vamp_named_filters_free(struct vamp_named_filters *named)
{
    if (named == NULL) {
        return;
    }
    for (size_t i = 0; i < named->count; i++) {
        free(named->names[i]);
        free(named->texts[i]);
    }
    free(named);
}

static int name_is_valid(const char *name)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
    return name[0] != '\0' && name[strspn(name, allowed)] == '\0';
}

int vamp_named_filters_add(struct vamp_named_filters *named, const char *name, const char *text,
                           struct vamp_err *err)
{
    if (!name_is_valid(name)) {
        return vamp_err_set(
            err, -EINVAL, "'%.100s' is no name for a filter: letters, digits, '_', '-' and '.' are",
            name);
    }
    if (vamp_named_filters_text(named, name) != NULL) {
        return vamp_err_set(err, -EEXIST, "there are two filters named '%.100s'", name);
    }
    if (named->count == VAMP_NAMED_FILTERS_MAX) {
        return vamp_err_set(err, -E2BIG, "more than %d named filters", VAMP_NAMED_FILTERS_MAX);
    }
    char *name_copy = strdup(name), *text_copy = strdup(text);
    if (name_copy == NULL || text_copy == NULL) {
        free(name_copy);
        free(text_copy);
        return vamp_err_set(err, -ENOMEM, "keep named filters: no memory");
    }
    named->names[named->count] = name_copy;
    named->texts[named->count++] = text_copy;
    return 0;
}

const char *vamp_named_filters_text(const struct vamp_named_filters *named, const char *name)
{
    for (size_t i = 0; i < named->count; i++) {
        if (strcmp(named->names[i], name) == 0) {
            return named->texts[i];
        }
    }
    return NULL;
}

const char *const *vamp_named_filters_names(const struct vamp_named_filters *named)
{
    return (const char *const *)named->names;
}
