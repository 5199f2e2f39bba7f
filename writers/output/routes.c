/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/output/routes.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEFT_OUT UINT32_MAX
#define NEVER INT64_MAX
/* The fraction of the budget that fine series may use; the rest is for models. */
#define FINE_SHARE(budget) ((budget) / 3 * 2)
#define ZEROS_SHARE(budget) ((budget) / 16)

/* Returns the position of a label in `*ret_place`; false: the set does not have it. */
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

static struct vamp_label_set *set_of(const struct output_routes *routes,
                                     const struct output_route *route)
{
    return &routes->merged->label_sets[route->to];
}

bool output_route_make(struct output_routes *routes, struct output_route *route,
                       const struct vamp_label_set *from)
{
    const struct vamp_label_set *to = set_of(routes, route);
    for (unsigned i = 0; i < to->label_count; i++) {
        const enum vamp_label component = vamp_label_of_component(to->labels[i]);
        const bool is_there = find_label(from, to->labels[i], &route->kept[i]);
        route->of_model[i] = !is_there && find_label(from, component, &route->kept[i]);
        assert(is_there || route->of_model[i]);
        route->components += vamp_label_is_name(to->labels[i]) && component == to->labels[i];
        route->names += vamp_label_is_name(to->labels[i]);
        route->open += vamp_label_is_open(to->labels[i]);
    }
    route->moves_ns = NEVER;
    route->number = calloc(from->max_series, sizeof *route->number);
    return route->number != NULL;
}

void output_routes_done(struct output_routes *routes)
{
    for (unsigned i = 0; i < routes->count; i++) {
        free(routes->items[i].number);
    }
    for (unsigned i = 0; i < routes->model_count; i++) {
        free(routes->models[i]);
    }
    free(routes->models);
}

/* ---- labels of a series in the output */

/* Returns a text such as "(model IFS)"; NULL if out of memory. */
static const char *model_text(struct output_routes *routes, const char *model)
{
    static const char lead[] = "(model ";
    const size_t bytes = strlen(model) + sizeof lead + 1;
    if (strcmp(model, VAMP_SERIES_OTHER) == 0) {
        return VAMP_SERIES_OTHER;
    }
    for (unsigned i = 0; i < routes->model_count; i++) {
        const char *text = routes->models[i] + sizeof lead - 1;
        if (strlen(text) == bytes - sizeof lead && strncmp(text, model, strlen(model)) == 0) {
            return routes->models[i];
        }
    }
    char **longer = reallocarray(routes->models, routes->model_count + 1, sizeof *longer);
    char *text = malloc(bytes);
    if (longer != NULL) {
        routes->models = longer;
    }
    if (longer == NULL || text == NULL) {
        free(text);
        return NULL;
    }
    (void)snprintf(text, bytes, "%s%s)", lead, model);
    return routes->models[routes->model_count++] = text;
}

/* Returns label `at` of the output's series at this detail; NULL if out of memory. */
static const char *label_at(struct output_routes *routes, const struct output_route *route,
                            unsigned at, const struct vamp_series *series, enum vamp_detail detail)
{
    const enum vamp_label label = set_of(routes, route)->labels[at];
    const unsigned place = route->kept[at];
    const bool is_component = vamp_label_is_name(label) && vamp_label_of_component(label) == label;
    if (detail == VAMP_DETAIL_OTHER ||
        (detail == VAMP_DETAIL_UNNAMED && vamp_label_is_open(label))) {
        return VAMP_SERIES_OTHER;
    }
    if (detail == VAMP_DETAIL_MODELS && is_component) {
        return model_text(routes, series->models[place]);
    }
    return route->of_model[at] ? series->models[place] : series->labels[place];
}

enum placing { PLACED, NO_PLACE, NO_MEMORY };

/* Finds or adds the output's series for a series of the statistics, and returns its number plus 1
 * in `*ret_number`. NO_PLACE: the label set is full, and the number is that of "(other)". */
static enum placing place(struct output_routes *routes, struct output_route *route,
                          const struct vamp_series *series, uint32_t *ret_number)
{
    const struct vamp_label_set *set = set_of(routes, route);
    struct vamp_series kept = {.labels = {NULL}};
    bool is_other = true;
    for (unsigned i = 0; i < set->label_count; i++) {
        kept.labels[i] = label_at(routes, route, i, series, route->detail);
        if (kept.labels[i] == NULL) {
            return NO_MEMORY;
        }
        is_other = is_other && strcmp(kept.labels[i], VAMP_SERIES_OTHER) == 0;
    }
    const uint32_t number = vamp_merged_place(routes->merged, route->to, &kept);
    *ret_number = number + 1;
    return number > 0 || is_other ? PLACED : NO_PLACE;
}

/* ---- without a budget */

/* Assigns output series to the new series that are selected. False: out of memory. */
static bool learn_all(struct output_routes *routes, struct output_route *route,
                      const struct vamp_bucket *bucket)
{
    const struct vamp_label_set *from = &bucket->schema->label_sets[route->from];
    for (; route->known < bucket->series_count[route->from]; route->known++) {
        const struct vamp_series *series = bucket->series[route->from][route->known];
        if ((route->known == 0 || vamp_series_is_wanted(routes->patterns, from, series)) &&
            place(routes, route, series, &route->number[route->known]) == NO_MEMORY) {
            return false;
        }
    }
    return true;
}

/* ---- with a budget: assignments that can be undone until the bucket fits */

/* Returns whether the series has no value, or one that shows that nothing was counted. */
static bool has_counted_nothing(const struct vamp_row *row)
{
    switch (row->metric->kind) {
    case VAMP_COUNTER:
        return row->counter->value == 0;
    case VAMP_GAUGE:
        return row->gauge->min == 0 && row->gauge->max == 0;
    case VAMP_HISTOGRAM:
        break;
    }
    return false;
}

/* Assigns an output series to each series of the statistics that has none yet and has counted
 * something. `keep`: permanently. While coarser series, exported as 0, are about to replace the
 * current ones, the series counts as "(other)". Returns false if out of memory. */
static bool place_new(struct output_routes *routes, struct output_route *route,
                      const struct vamp_bucket *bucket, bool keep)
{
    struct vamp_rows rows = vamp_rows_of(bucket, route->metric, VAMP_ROWS_ABSENT_GAUGES);
    enum placing placing = PLACED;
    route->full = false;
    while (!route->full && vamp_rows_next(&rows)) {
        const struct vamp_row *row = &rows.row;
        uint32_t number = 0;
        const bool is_other = row->number == 0;
        const bool can_wait = route->names > 0 && !is_other && has_counted_nothing(row);
        if (route->number[row->number] != 0 || can_wait) {
            continue;
        }
        if (!is_other && !vamp_series_is_wanted(routes->patterns, row->set, row->series)) {
            route->number[row->number] = LEFT_OUT;
            continue;
        }
        placing = place(routes, route, row->series, &number);
        if (placing == NO_MEMORY) {
            return false;
        }
        route->full = placing == NO_PLACE;
        if (!keep) {
            number = 0;
        } else if (route->moves_ns != NEVER) {
            number = 1;
        }
        route->number[row->number] = number;
    }
    return true;
}

/* Assigns new output series to the series of the statistics that have one at a finer detail.
 * Returns false if out of memory. */
static bool place_again(struct output_routes *routes, struct output_route *route,
                        const struct vamp_bucket *bucket, bool keep)
{
    for (uint32_t i = 1; i < route->known && !route->full; i++) {
        uint32_t number = 0;
        if (route->number[i] == 0 || route->number[i] == LEFT_OUT) {
            continue;
        }
        const enum placing placing = place(routes, route, bucket->series[route->from][i], &number);
        if (placing == NO_MEMORY) {
            return false;
        }
        route->full = placing == NO_PLACE;
        if (keep) {
            route->number[i] = number;
        }
    }
    return true;
}

static uint64_t lines_of(const struct output_routes *routes, const struct output_route *route)
{
    const uint32_t count = routes->merged->sets[route->to].count;
    const unsigned coarser_from = routes->merged->metrics[route - routes->items].coarser_from;
    const uint64_t lines = (uint64_t)count * route->lines;
    return coarser_from == 0 ? lines : lines + count - coarser_from;
}

/* Returns the present number of lines of the output, at most the budget. */
static uint64_t lines_now(const struct output_routes *routes)
{
    uint64_t lines = routes->aside;
    for (unsigned i = 0; i < routes->count; i++) {
        lines += lines_of(routes, &routes->items[i]);
    }
    return lines;
}

/* Returns the next coarser level of detail that reduces the number of series. */
static enum vamp_detail coarser(const struct output_route *route)
{
    enum vamp_detail detail = route->detail + 1;
    const bool skips_models = route->components == 0 || route->without_models;
    if (detail == VAMP_DETAIL_MODELS && skips_models) {
        detail++;
    }
    if (detail == VAMP_DETAIL_UNNAMED && route->open == 0) {
        detail++;
    }
    return detail;
}

/* The order in which metrics become coarser; NOT_NOW: merging would not help or is not possible. */
enum turn { PAIRS_TO_MODELS, TO_MODELS, TO_UNNAMED, TO_OTHER, NOT_NOW };

/* Returns the turn of a metric; NOT_NOW: it has no new series or cannot become coarser. */
static enum turn turn_of(const struct output_routes *routes, const struct output_route *route)
{
    if (route->detail == VAMP_DETAIL_OTHER ||
        (!route->full && routes->merged->sets[route->to].count == route->before)) {
        return NOT_NOW;
    }
    switch (coarser(route)) {
    case VAMP_DETAIL_FULL:
    case VAMP_DETAIL_MODELS:
        return route->components > 1 ? PAIRS_TO_MODELS : TO_MODELS;
    case VAMP_DETAIL_UNNAMED:
        return TO_UNNAMED;
    case VAMP_DETAIL_OTHER:
        break;
    }
    return TO_OTHER;
}

/* Returns the metric that must become coarser now; NULL: none. */
static struct output_route *next_to_merge(struct output_routes *routes)
{
    const uint64_t lines = lines_now(routes);
    struct output_route *next = NULL;
    enum turn turn = NOT_NOW;
    for (unsigned i = 0; i < routes->count; i++) {
        struct output_route *route = &routes->items[i];
        const enum turn own = turn_of(routes, route);
        uint64_t most = routes->budget;
        if (own < TO_UNNAMED) {
            most = FINE_SHARE(routes->budget);
        }
        if (own == NOT_NOW || lines <= most) {
            continue;
        }
        const bool is_larger = own == turn && lines_of(routes, route) > lines_of(routes, next);
        if (own < turn || is_larger) {
            next = route;
            turn = own;
        }
    }
    return next;
}

/* Repeats the assignments for this bucket, at another level of detail. Published series keep their
 * assignments; the new series are exported beside them as 0. Returns false if out of memory. */
static bool place_at(struct output_routes *routes, struct output_route *route,
                     enum vamp_detail detail, const struct vamp_bucket *bucket)
{
    vamp_merged_unplace(routes->merged, route->to, route->before);
    route->detail = detail;
    route->full = false;
    if (detail != VAMP_DETAIL_FULL && !place_again(routes, route, bucket, false)) {
        return false;
    }
    return route->full || place_new(routes, route, bucket, false);
}

/* Makes the metric one step coarser, or restores the full detail if models do not reduce the number
 * of series. Returns false if out of memory. */
static bool merge_labels(struct output_routes *routes, struct output_route *route,
                         const struct vamp_bucket *bucket)
{
    struct vamp_schema_metric *entry = &routes->merged->metrics[route - routes->items];
    const struct vamp_merged_series *set = &routes->merged->sets[route->to];
    const bool is_gauge = vamp_metrics[entry->id].kind == VAMP_GAUGE;
    const uint32_t count = set->count;
    if (!place_at(routes, route, coarser(route), bucket)) {
        return false;
    }
    if (route->detail == VAMP_DETAIL_MODELS && route->before <= 1 && set->count >= count) {
        route->without_models = true;
        return place_at(routes, route, VAMP_DETAIL_FULL, bucket);
    }
    if (route->before > 1) {
        if (entry->coarser_from == 0) {
            entry->coarser_from = route->before;
        }
        route->moves_ns = bucket->start_ns;
        if (!is_gauge) {
            route->moves_ns += OUTPUT_ROUTES_HANDOVER_NS;
        }
    }
    entry->detail = route->detail;
    entry->has_bounds =
        entry->has_bounds || (is_gauge && vamp_metrics[entry->id].merge == VAMP_MERGE_SUM);
    routes->merges++;
    return true;
}

/* Makes the assignments permanent, since the bucket fits. Must not fail: all memory has been
 * allocated. */
static void keep_places(struct output_routes *routes, const struct vamp_bucket *bucket)
{
    for (unsigned i = 0; i < routes->count; i++) {
        struct output_route *route = &routes->items[i];
        bool good = true;
        if (route->moves_ns <= bucket->start_ns) {
            good = place_again(routes, route, bucket, true);
            route->moves_ns = NEVER;
        }
        good = place_new(routes, route, bucket, true) && good;
        assert(good && !route->full);
        (void)good;
        route->known = bucket->series_count[route->from];
    }
}

/* ---- with a budget: series exported as 0 */

/* Adds `series` with `word` as its last label, if it is selected and the budget allows. */
static void place_zero(struct output_routes *routes, struct output_route *route,
                       const struct vamp_bucket *bucket, struct vamp_series series,
                       const char *word)
{
    const struct vamp_label_set *from = &bucket->schema->label_sets[route->from];
    const uint32_t *count = &routes->merged->sets[route->to].count, before = *count;
    uint32_t number;
    series.labels[from->label_count - 1] = word;
    const bool fits = routes->zeros + route->lines <= ZEROS_SHARE(routes->budget) &&
                      lines_now(routes) + route->lines <= FINE_SHARE(routes->budget);
    if (fits && vamp_series_is_wanted(routes->patterns, from, &series)) {
        (void)place(routes, route, &series, &number);
        routes->zeros += (uint64_t)(*count - before) * route->lines;
    }
}

/* Exports series that alert rules use as 0 from the start, so that `increase()` counts the first
 * event: anomalies and leaves of each component, and joins in total, as `(other)`. */
static void place_zeros(struct output_routes *routes, const struct vamp_bucket *bucket)
{
    struct output_route *route = routes->items, *end = route + routes->count;
    while (route < end &&
           routes->merged->metrics[route - routes->items].id != VAMP_METRIC_POOL_OPERATIONS) {
        route++;
    }
    for (; route < end && routes->zeros_of < route->known; routes->zeros_of++) {
        const struct vamp_series *series = bucket->series[route->from][routes->zeros_of];
        place_zero(routes, route, bucket, *series, vamp_event_kind_name(VAMP_EVENT_LEAVE));
        if (routes->zeros_of == 0) {
            place_zero(routes, route, bucket, *series, vamp_event_kind_name(VAMP_EVENT_JOIN));
        }
        for (struct output_route *other = route; other < end; other++) {
            const bool counts =
                routes->merged->metrics[other - routes->items].id == VAMP_METRIC_ANOMALIES;
            for (unsigned i = 0; counts && i < VAMP_ANOMALY_COUNT; i++) {
                place_zero(routes, other, bucket, *series, vamp_anomaly_name(i));
            }
        }
    }
}

/* Assigns output series to the new series of the bucket, and makes metrics coarser until all fit
 * into the budget. If out of memory, undoes the assignments and returns false. */
static bool learn_within_budget(struct output_routes *routes, const struct vamp_bucket *bucket)
{
    bool good = true;
    for (unsigned i = 0; i < routes->count; i++) {
        struct output_route *route = &routes->items[i];
        if (route->known == 0) { /* constant texts: no allocation is needed */
            (void)place(routes, route, bucket->series[route->from][0], &route->number[0]);
        }
        route->before = routes->merged->sets[route->to].count;
    }
    for (unsigned i = 0; i < routes->count && good; i++) {
        good = place_new(routes, &routes->items[i], bucket, false);
    }
    struct output_route *route = good ? next_to_merge(routes) : NULL;
    while (route != NULL) {
        good = merge_labels(routes, route, bucket);
        route = good ? next_to_merge(routes) : NULL;
    }
    if (good) {
        assert(lines_now(routes) <= routes->budget);
        keep_places(routes, bucket);
        place_zeros(routes, bucket);
        return true;
    }
    for (unsigned i = 0; i < routes->count; i++) {
        vamp_merged_unplace(routes->merged, routes->items[i].to, routes->items[i].before);
    }
    return false;
}

bool output_routes_learn(struct output_routes *routes, const struct vamp_bucket *bucket)
{
    bool good = true;
    if (routes->budget > 0) {
        return learn_within_budget(routes, bucket);
    }
    for (unsigned i = 0; i < routes->count && good; i++) {
        good = learn_all(routes, &routes->items[i], bucket);
    }
    return good;
}
