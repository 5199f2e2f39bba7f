/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/output/resolution_series.h"

#include <assert.h>
#include <stdlib.h>

static bool find_label(const struct vamp_label_set *set, enum vamp_label label, uint8_t *ret_place)
{
    for (unsigned i = 0; i < set->label_count; i++) {
        if (set->labels[i] == label) {
            *ret_place = (uint8_t)i;
            return true;
        }
    }
    return false;
}

int vamp_series_route_init(struct vamp_series_route *route, unsigned from,
                           const struct vamp_label_set *from_labels, unsigned to,
                           const struct vamp_label_set *to_labels)
{
    *route = (struct vamp_series_route){
        .from = from,
        .to = to,
        .number = calloc(from_labels->max_series, sizeof *route->number),
    };
    for (unsigned kept = 0; kept < to_labels->label_count; kept++) {
        const enum vamp_label label = to_labels->labels[kept];
        const bool is_there = find_label(from_labels, label, &route->kept[kept]);
        route->of_model[kept] = !is_there && find_label(from_labels, vamp_label_of_component(label),
                                                        &route->kept[kept]);
        assert(is_there || route->of_model[kept]);
    }
    return route->number == NULL ? -ENOMEM : 0;
}

void vamp_series_route_done(struct vamp_series_route *route)
{
    free(route->number);
    *route = (struct vamp_series_route){.known = 0};
}

void vamp_series_route_learn(struct vamp_series_route *route, struct vamp_merged_series *set,
                             const struct vamp_strings *patterns, const struct vamp_bucket *bucket,
                             char *scratch)
{
    const struct vamp_label_set *from = &bucket->schema->label_sets[route->from];
    for (; route->known < bucket->series_count[route->from]; route->known++) {
        const struct vamp_series *series = bucket->series[route->from][route->known];
        if (route->known > 0 && !vamp_series_is_wanted(patterns, from, series)) {
            route->number[route->known] = VAMP_SERIES_LEFT_OUT;
            continue;
        }
        struct vamp_series kept = {.labels = {NULL}};
        for (unsigned i = 0; i < set->labels->label_count; i++) {
            const unsigned place = route->kept[i];
            kept.labels[i] = route->of_model[i] ? series->models[place] : series->labels[place];
        }
        bool is_new = false;
        const uint32_t number = vamp_merged_series_place(set, &kept, &is_new);
        route->number[route->known] = number;
        if (is_new) {
            vamp_series_identify(bucket->schema->series_space, set->labels, &set->series[number],
                                 scratch);
        }
    }
}
