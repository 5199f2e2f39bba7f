/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/bucket/merged_series.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/core/hash.h"

/* ---- patterns */

bool vamp_series_pattern(const char *text, enum vamp_label *ret_label, const char **ret_pattern)
{
    const char *equals = strchr(text, '=');
    for (unsigned label = 0; equals != NULL && label < VAMP_LABEL_COUNT; label++) {
        const char *name = vamp_label_name(label);
        const size_t length = (size_t)(equals - text);
        if (strlen(name) == length && memcmp(name, text, length) == 0) {
            *ret_label = (enum vamp_label)label;
            *ret_pattern = equals + 1;
            return true;
        }
    }
    return false;
}

/* Whether no pattern concerns the label, or one of those that do fits the value. */
static bool label_is_wanted(const struct vamp_strings *patterns, enum vamp_label label,
                            const char *value)
{
    bool concerned = false;
    for (size_t i = 0; i < patterns->count; i++) {
        enum vamp_label of = VAMP_LABEL_COMPONENT;
        const char *pattern = NULL;
        if (!vamp_series_pattern(patterns->items[i], &of, &pattern) || of != label) {
            continue;
        }
        concerned = true;
        if (fnmatch(pattern, value, 0) == 0) {
            return true;
        }
    }
    return !concerned;
}

bool vamp_series_is_wanted(const struct vamp_strings *patterns, const struct vamp_label_set *set,
                           const struct vamp_series *series)
{
    for (unsigned i = 0; i < set->label_count; i++) {
        if (!label_is_wanted(patterns, set->labels[i], series->labels[i])) {
            return false;
        }
    }
    return true;
}

/* ---- series */

int vamp_merged_series_init(struct vamp_merged_series *set, const struct vamp_label_set *labels)
{
    size_t size = 16;
    while (size < (size_t)2 * labels->max_series) {
        size *= 2;
    }
    /* Pages that no series ever touches cost nothing. */
    *set = (struct vamp_merged_series){
        .labels = labels,
        .series = calloc(labels->max_series, sizeof *set->series),
        .places = calloc(labels->max_series, sizeof(const struct vamp_series *)),
        .index = calloc(size, sizeof *set->index),
        .mask = (uint32_t)(size - 1),
    };
    return set->series == NULL || set->places == NULL || set->index == NULL ? -ENOMEM : 0;
}

void vamp_merged_series_done(struct vamp_merged_series *set)
{
    free(set->series);
    free(set->places);
    free(set->index);
    *set = (struct vamp_merged_series){.count = 0};
}

static bool same_labels(const struct vamp_series *left, const struct vamp_series *right,
                        unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        if (strcmp(left->labels[i], right->labels[i]) != 0) {
            return false;
        }
    }
    return true;
}

uint32_t vamp_merged_series_place(struct vamp_merged_series *set, const struct vamp_series *wanted,
                                  bool *ret_new)
{
    const unsigned labels = set->labels->label_count;
    uint64_t hash = 0;
    for (unsigned i = 0; i < labels; i++) {
        hash = vamp_hash_bytes(hash, wanted->labels[i], strlen(wanted->labels[i]) + 1);
    }
    uint32_t at = (uint32_t)hash & set->mask;
    for (; set->index[at] != 0; at = (at + 1) & set->mask) {
        const uint32_t number = set->index[at] - 1;
        if (same_labels(&set->series[number], wanted, labels)) {
            *ret_new = false;
            return number;
        }
    }
    *ret_new = set->count < set->labels->max_series;
    if (!*ret_new) {
        return 0;
    }
    struct vamp_series *series = &set->series[set->count];
    *series = *wanted;
    set->places[set->count] = series;
    set->index[at] = ++set->count;
    return set->count - 1;
}
