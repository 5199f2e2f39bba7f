/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/output/resolution_series.h"

#include <assert.h>
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

static bool series_is_wanted(const struct vamp_strings *patterns, const struct vamp_label_set *set,
                             const struct vamp_series *series)
{
    for (unsigned i = 0; i < set->label_count; i++) {
        if (!label_is_wanted(patterns, set->labels[i], series->labels[i])) {
            return false;
        }
    }
    return true;
}

/* ---- the output's series */

int vamp_kept_set_init(struct vamp_kept_set *set, const struct vamp_label_set *labels)
{
    size_t size = 16;
    while (size < (size_t)2 * labels->max_series) {
        size *= 2;
    }
    /* Pages that no series ever touches cost nothing. */
    *set = (struct vamp_kept_set){
        .labels = labels,
        .series = calloc(labels->max_series, sizeof *set->series),
        .places = calloc(labels->max_series, sizeof(const struct vamp_series *)),
        .index = calloc(size, sizeof *set->index),
        .mask = (uint32_t)(size - 1),
    };
    return set->series == NULL || set->places == NULL || set->index == NULL ? -ENOMEM : 0;
}

void vamp_kept_set_done(struct vamp_kept_set *set)
{
    free(set->series);
    free(set->places);
    free(set->index);
    *set = (struct vamp_kept_set){.count = 0};
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

/* The number of the series with these labels; where there is none, it is the next one and
 * `*ret_new` is set. */
static uint32_t place_series(struct vamp_kept_set *set, const struct vamp_series *wanted,
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
    /* Its bound is the sum of those of all sets that lead here. */
    assert(set->count < set->labels->max_series);
    struct vamp_series *series = &set->series[set->count];
    *series = *wanted;
    set->places[set->count] = series;
    set->index[at] = ++set->count;
    *ret_new = true;
    return set->count - 1;
}

/* ---- routes */

int vamp_series_route_init(struct vamp_series_route *route, unsigned from,
                           const struct vamp_label_set *from_labels, unsigned to,
                           const struct vamp_label_set *to_labels)
{
    *route = (struct vamp_series_route){
        .from = from,
        .to = to,
        .number = calloc(from_labels->max_series, sizeof *route->number),
    };
    unsigned kept = 0;
    for (unsigned i = 0; i < from_labels->label_count && kept < to_labels->label_count; i++) {
        if (from_labels->labels[i] == to_labels->labels[kept]) {
            route->kept[kept++] = (uint8_t)i;
        }
    }
    assert(kept == to_labels->label_count);
    return route->number == NULL ? -ENOMEM : 0;
}

void vamp_series_route_done(struct vamp_series_route *route)
{
    free(route->number);
    *route = (struct vamp_series_route){.known = 0};
}

void vamp_series_route_learn(struct vamp_series_route *route, struct vamp_kept_set *set,
                             const struct vamp_strings *patterns, const struct vamp_bucket *bucket,
                             char *scratch)
{
    const struct vamp_label_set *from = &bucket->schema->label_sets[route->from];
    for (; route->known < bucket->series_count[route->from]; route->known++) {
        const struct vamp_series *series = bucket->series[route->from][route->known];
        if (route->known > 0 && !series_is_wanted(patterns, from, series)) {
            route->number[route->known] = VAMP_SERIES_LEFT_OUT;
            continue;
        }
        struct vamp_series kept = {.labels = {NULL}};
        for (unsigned i = 0; i < set->labels->label_count; i++) {
            kept.labels[i] = series->labels[route->kept[i]];
        }
        bool is_new = false;
        const uint32_t number = place_series(set, &kept, &is_new);
        route->number[route->known] = number;
        if (is_new) {
            vamp_series_identify(bucket->schema->series_space, set->labels, &set->series[number],
                                 scratch);
        }
    }
}
