/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/output/resolution.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/alarms/change.h"
#include "vampire/core/values.h"
#include "vampire/stats/bucket/bucket.h"
#include "vampire/stats/bucket/merged.h"
#include "writers/output/routes.h"

struct vamp_resolution {
    struct vamp_merged merged;
    struct output_routes routes;
    struct {
        unsigned place; /* number in the statistics' schema */
        unsigned route;
        uint64_t *taken; /* for a counter, by series of the statistics: the total counted so far */
    } from[VAMP_METRICS_MAX]; /* indexed by the output's metrics */
    unsigned metric_count;    /* number of metrics taken from the statistics */
    /* For outputs with `series`: the number of the metric vampire_not_in_output, and for each
     * metric the number of its series plus 1; 0: no series yet. */
    unsigned outside;
    uint32_t outside_series[VAMP_METRICS_MAX];
    unsigned merges_reported;

    struct vamp_bucket bucket; /* `buckets` 0: nothing was added */
    int64_t newest_end_ns;
    uint64_t sampled_in, weighted; /* for the mean weight */
    struct vamp_cdo_row *cdos;     /* VAMP_CDO_ROWS_MAX; NULL: not at level `cdo` */
    /* Pages of these arrays that are never touched take no memory. */
    struct vamp_listed_anomaly anomalies[VAMP_ANOMALIES_MAX];
    struct vamp_alarm_change alarms[VAMP_ALARM_CHANGES_MAX];
    struct vamp_waiting_demand demands[VAMP_WAITING_DEMANDS_MAX];
};

/* ---- the choice */

static bool drops_nothing(const struct vamp_sets *without)
{
    uint64_t dropped = 0;
    for (size_t i = 0; i < without->count; i++) {
        dropped |= without->items[i].bits;
    }
    return dropped == 0;
}

bool vamp_resolution_is_whole(const struct vamp_resolution_choice *choice,
                              const struct vamp_schema *schema)
{
    const bool has_all = choice->metrics->count == 0 && choice->series->count == 0;
    const bool has_labels = choice->by->count == 0 && drops_nothing(choice->without);
    const bool has_width = choice->bucket_ns <= 0 || choice->bucket_ns == schema->bucket_ns;
    return choice->budget == 0 && has_all && has_labels && has_width;
}

bool vamp_resolution_wants(const struct vamp_strings *patterns, const char *metric)
{
    for (size_t i = 0; i < patterns->count; i++) {
        if (fnmatch(patterns->items[i], metric, 0) == 0) {
            return true;
        }
    }
    return false;
}

/* Returns the entry that applies to the metric; NULL if there is none. */
static const struct vamp_named_set *find_entry(const struct vamp_sets *sets, const char *metric)
{
    const struct vamp_named_set *found = NULL;
    for (size_t i = 0; i < sets->count; i++) {
        const struct vamp_named_set *entry = &sets->items[i];
        if (strcmp(entry->name, metric) == 0) {
            return entry;
        }
        if (found == NULL && fnmatch(entry->name, metric, 0) == 0) {
            found = entry;
        }
    }
    return found;
}

/* Adds the labels of models that correspond to the labels of components. */
static uint32_t with_models(uint32_t labels)
{
    uint32_t all = labels;
    for (unsigned label = 0; label < VAMP_LABEL_COUNT; label++) {
        if ((labels & (UINT32_C(1) << label)) != 0) {
            all |= UINT32_C(1) << vamp_label_of_model((enum vamp_label)label);
        }
    }
    return all;
}

uint32_t vamp_resolution_labels(const struct vamp_sets *by, const struct vamp_sets *without,
                                const char *metric, uint32_t labels)
{
    const struct vamp_named_set *kept = find_entry(by, metric);
    const struct vamp_named_set *dropped = find_entry(without, metric);
    if (kept != NULL) {
        labels = with_models(labels) & (uint32_t)kept->bits;
    }
    if (dropped != NULL) {
        labels &= ~(uint32_t)dropped->bits;
    }
    return labels;
}

/* ---- the schema */

/* Returns the index of the route from label set `from` to label set `to`; adds the route if it does
 * not exist. A new route raises the destination's limit on series by the source's limit, since each
 * source series may become a separate series. */
static unsigned find_or_add_route(struct vamp_resolution *resolution,
                                  const struct vamp_schema *whole, unsigned from, unsigned to)
{
    struct output_routes *routes = &resolution->routes;
    for (unsigned i = 0; i < routes->count; i++) {
        if (routes->items[i].from == from && routes->items[i].to == to) {
            return i;
        }
    }
    struct vamp_label_set *set = &resolution->merged.label_sets[to];
    set->max_series += whole->label_sets[from].max_series;
    if (set->label_count == 0) {
        set->max_series = 1;
    }
    routes->items[routes->count] = (struct output_route){.from = from, .to = to};
    return routes->count++;
}

static uint32_t lines_of_series(const struct vamp_resolution_choice *choice, enum vamp_metric_id id,
                                const struct vamp_bins *bins)
{
    if (choice->lines == NULL) {
        return 1;
    }
    return choice->lines(choice->format_options, &vamp_metrics[id], bins);
}

/* Limits the series of a metric in an output with a budget. The limit is one series more than the
 * budget allows, so that exceeding the budget is detected. */
static void limit_series(struct output_route *route, const struct vamp_resolution_choice *choice,
                         enum vamp_metric_id metric, struct vamp_merged *merged)
{
    struct vamp_label_set *set = &merged->label_sets[route->to];
    route->lines = lines_of_series(choice, metric, &merged->schema.bins);
    const uint64_t most = choice->budget / route->lines + 2, all = (uint64_t)3 * set->max_series;
    set->max_series = (unsigned)VAMP_MIN(most, all);
    if (set->label_count == 0) {
        set->max_series = 1;
    }
}

#define METRIC_LABEL (UINT32_C(1) << VAMP_LABEL_METRIC)
#define GROUP_LABEL (UINT32_C(1) << VAMP_LABEL_GROUP)
#define RUN_LABELS ((UINT32_C(1) << VAMP_LABEL_WORKFLOW) | (UINT32_C(1) << VAMP_LABEL_RUN))

/* Metrics about missing data: every output has them, regardless of its selection. */
static const bool is_about_missing[VAMP_METRICS_MAX] = {
    [VAMP_METRIC_VAMPIRE_SAMPLED_OUT] = true,     [VAMP_METRIC_VAMPIRE_NOT_SUBSCRIBED] = true,
    [VAMP_METRIC_VAMPIRE_METRIC_FILTERED] = true, [VAMP_METRIC_VAMPIRE_NOT_IN_OUTPUT] = true,
    [VAMP_METRIC_VAMPIRE_EVICTED] = true,         [VAMP_METRIC_VAMPIRE_CDOS_UNCOUNTED] = true,
    [VAMP_METRIC_VAMPIRE_UNIDENTIFIED] = true,    [VAMP_METRIC_VAMPIRE_SERIES_OVERFLOW] = true,
    [VAMP_METRIC_VAMPIRE_LABELS_GIVEN_UP] = true, [VAMP_METRIC_COLLECT_REFUSED] = true,
    [VAMP_METRIC_VAMPIRE_SAMPLE_GROUP] = true,    [VAMP_METRIC_VAMPIRE_NO_ROOM] = true,
    [VAMP_METRIC_COLLECT_RUNS_MISSING] = true,    [VAMP_METRIC_VAMPIRE_CLOCK_RESOLUTION_NS] = true,
};

/* Returns the labels that a metric keeps regardless of the selection, if it has them. */
static uint32_t indispensable_labels(enum vamp_metric_id id)
{
    uint32_t labels = METRIC_LABEL | GROUP_LABEL;
    if (id == VAMP_METRIC_COLLECT_RUNS_MISSING) { /* so that readers can name the runs */
        labels |= RUN_LABELS;
    }
    return labels;
}

/* Adds a metric to the output's schema; with a budget, the metric has a separate label set. */
static unsigned add_own(const struct vamp_resolution_choice *choice, struct vamp_merged *merged,
                        enum vamp_metric_id id, uint32_t labels)
{
    if (choice->budget > 0) {
        return vamp_merged_lone_metric(merged, id, labels);
    }
    return vamp_merged_metric(merged, id, labels);
}

/* Adds the selected metrics, each with the labels that it keeps, and their routes. */
static void choose_metrics(struct vamp_resolution *resolution,
                           const struct vamp_resolution_choice *choice,
                           const struct vamp_schema *whole)
{
    for (unsigned i = 0; i < whole->metric_count; i++) {
        const struct vamp_schema_metric *entry = &whole->metrics[i];
        const struct vamp_metric *metric = &vamp_metrics[entry->id];
        const bool is_chosen =
            choice->metrics->count == 0 || vamp_resolution_wants(choice->metrics, metric->name);
        if (!is_chosen && !is_about_missing[entry->id]) {
            continue;
        }
        const uint32_t labels = vamp_label_set_bits(&whole->label_sets[entry->label_set]);
        const uint32_t kept =
            vamp_resolution_labels(choice->by, choice->without, metric->name, labels) |
            (labels & indispensable_labels(entry->id));
        const unsigned place = add_own(choice, &resolution->merged, entry->id, kept);
        struct vamp_schema_metric *own = &resolution->merged.metrics[place];
        const bool is_sum = metric->kind == VAMP_GAUGE && metric->merge == VAMP_MERGE_SUM;
        own->has_bounds = entry->has_bounds || (is_sum && kept != labels);
        resolution->from[place].place = i;
        resolution->from[place].route =
            find_or_add_route(resolution, whole, entry->label_set, own->label_set);
        if (choice->budget > 0) {
            struct output_route *route = &resolution->routes.items[resolution->from[place].route];
            route->metric = i;
            limit_series(route, choice, entry->id, &resolution->merged);
        }
    }
    resolution->metric_count = resolution->merged.schema.metric_count;
}

/* If the output selects series, adds the metric that counts values outside of these series. In the
 * collector, the statistics already have this metric, from the runs. */
static void add_outside(struct vamp_resolution *resolution,
                        const struct vamp_resolution_choice *choice)
{
    struct vamp_merged *merged = &resolution->merged;
    unsigned place = 0;
    while (place < resolution->metric_count &&
           merged->metrics[place].id != VAMP_METRIC_VAMPIRE_NOT_IN_OUTPUT) {
        place++;
    }
    resolution->outside = place;
    if (choice->series->count > 0) {
        if (place == resolution->metric_count) {
            (void)add_own(choice, merged, VAMP_METRIC_VAMPIRE_NOT_IN_OUTPUT, METRIC_LABEL);
        }
        merged->label_sets[merged->metrics[place].label_set].max_series +=
            resolution->metric_count + 1;
        resolution->routes.aside =
            (uint64_t)(resolution->metric_count + 1) *
            lines_of_series(choice, VAMP_METRIC_VAMPIRE_NOT_IN_OUTPUT, &merged->schema.bins);
    }
}

/* ---- create and free */

/* Allocates the series, the routes and the lists. Returns false if out of memory. */
static bool make_all(struct vamp_resolution *resolution, const struct vamp_schema *whole)
{
    struct output_routes *routes = &resolution->routes;
    bool good = vamp_merged_create(&resolution->merged) == 0;
    for (unsigned i = 0; good && i < routes->count; i++) {
        struct output_route *route = &routes->items[i];
        good = output_route_make(routes, route, &whole->label_sets[route->from]);
    }
    for (unsigned m = 0; good && m < resolution->metric_count; m++) {
        const unsigned from = routes->items[resolution->from[m].route].from;
        if (vamp_metrics[resolution->merged.metrics[m].id].kind == VAMP_COUNTER) {
            resolution->from[m].taken =
                calloc(whole->label_sets[from].max_series, sizeof *resolution->from[m].taken);
            good = resolution->from[m].taken != NULL;
        }
    }
    if (whole->level == VAMP_LEVEL_CDO) {
        resolution->cdos = calloc(VAMP_CDO_ROWS_MAX, sizeof *resolution->cdos);
        good = good && resolution->cdos != NULL;
    }
    return good;
}

int vamp_resolution_create(const struct vamp_resolution_choice *choice,
                           const struct vamp_schema *schema,
                           struct vamp_resolution **ret_resolution, struct vamp_err *err)
{
    struct vamp_resolution *resolution = calloc(1, sizeof *resolution);
    if (resolution != NULL) {
        resolution->routes.patterns = choice->series;
        resolution->routes.merged = &resolution->merged;
        resolution->routes.budget = choice->budget;
        vamp_merged_begin(&resolution->merged, schema);
        if (choice->bucket_ns > 0) {
            resolution->merged.schema.bucket_ns = choice->bucket_ns;
        }
        choose_metrics(resolution, choice, schema);
        add_outside(resolution, choice);
    }
    if (resolution == NULL || !make_all(resolution, schema)) {
        vamp_resolution_free(resolution);
        return vamp_err_set_errno(err, ENOMEM, "prepare the output's metrics and labels");
    }
    uint64_t least = resolution->routes.aside;
    for (unsigned i = 0; i < resolution->routes.count; i++) {
        least += resolution->routes.items[i].lines;
    }
    if (choice->budget > 0 && least > choice->budget) {
        vamp_resolution_free(resolution);
        return vamp_err_set(err, -EINVAL,
                            "a \"budget\" of %" PRIu64
                            " lines is too small: its metrics are %" PRIu64
                            " without any label; choose fewer (\"metrics\"), or fewer \"bounds\"",
                            choice->budget, least);
    }
    *ret_resolution = resolution;
    return 0;
}

void vamp_resolution_free(struct vamp_resolution *resolution)
{
    if (resolution == NULL) {
        return;
    }
    vamp_merged_done(&resolution->merged);
    for (unsigned m = 0; m < VAMP_METRICS_MAX; m++) {
        free(resolution->from[m].taken);
    }
    output_routes_done(&resolution->routes);
    free(resolution->cdos);
    free(resolution);
}

const struct vamp_schema *vamp_resolution_schema(const struct vamp_resolution *resolution)
{
    return &resolution->merged.schema;
}

/* ---- time */

/* Returns the start of the output bucket that contains the time; output buckets start at multiples
 * of their width since 1970. */
static int64_t begin_of(const struct vamp_resolution *resolution, int64_t time_ns)
{
    const int64_t width_ns = resolution->merged.schema.bucket_ns, rest = time_ns % width_ns;
    return rest < 0 ? time_ns - rest - width_ns : time_ns - rest;
}

bool vamp_resolution_fits(const struct vamp_resolution *resolution,
                          const struct vamp_bucket *bucket)
{
    return resolution->bucket.buckets == 0 ||
           begin_of(resolution, bucket->start_ns) == resolution->bucket.start_ns;
}

bool vamp_resolution_is_complete(const struct vamp_resolution *resolution)
{
    return resolution->bucket.buckets > 0 &&
           resolution->newest_end_ns >=
               resolution->bucket.start_ns + resolution->merged.schema.bucket_ns;
}

/* ---- adding a bucket */

/* Returns the route's series numbers for a metric of the output (struct output_route). */
static const uint32_t *numbers(const struct vamp_resolution *resolution, unsigned metric)
{
    return resolution->routes.items[resolution->from[metric].route].number;
}

/* Performs all steps that can fail, so that a bucket is added completely or not at all. */
static int reserve_values(struct vamp_resolution *resolution, const struct vamp_bucket *bucket)
{
    struct vamp_merged *merged = &resolution->merged;
    for (unsigned m = 0; m < resolution->metric_count; m++) {
        if (vamp_metrics[merged->metrics[m].id].kind != VAMP_HISTOGRAM) {
            continue;
        }
        const struct vamp_metric_values *from = &bucket->values[resolution->from[m].place];
        for (unsigned i = 0; i < from->count; i++) {
            const uint32_t number = numbers(resolution, m)[from->histograms[i].series];
            if (output_route_leads(number) &&
                vamp_merged_reserve(merged, m, number - 1,
                                    from->histograms[i].histogram->bin_count) != 0) {
                return -ENOMEM;
            }
        }
    }
    return 0;
}

/* Returns the increment of a counter without labels in the bucket; 0 if the bucket does not have
 * the metric. */
static uint64_t counted(const struct vamp_bucket *bucket, enum vamp_metric_id id)
{
    const unsigned place = vamp_schema_find(bucket->schema, id);
    if (place == bucket->schema->metric_count || bucket->values[place].count == 0) {
        return 0;
    }
    return bucket->values[place].counters[0].delta;
}

/* Adds the increments of a series that the output does not have; gauges are ignored. */
static void add_left_out(struct vamp_counter_value *outside, enum vamp_metric_kind kind,
                         const struct vamp_metric_values *from, unsigned i, uint64_t *taken)
{
    if (kind == VAMP_COUNTER) {
        outside->value += from->counters[i].value - taken[i];
        outside->delta += from->counters[i].delta;
        taken[i] = from->counters[i].value;
    } else if (kind == VAMP_HISTOGRAM) {
        outside->value += from->histograms[i].histogram->count;
        outside->delta += from->histograms[i].histogram->count;
    }
}

/* Adds counts that are in no series of the output to the series for the metric. */
static void count_outside(struct vamp_resolution *resolution, unsigned metric,
                          const struct vamp_counter_value *outside)
{
    struct vamp_merged *merged = &resolution->merged;
    const unsigned number = merged->metrics[resolution->outside].label_set;
    const struct vamp_label_set *set = &merged->label_sets[number];
    struct vamp_series wanted = {.labels = {NULL}};
    for (unsigned i = 0; i < set->label_count; i++) {
        wanted.labels[i] = VAMP_SERIES_OTHER;
    }
    if (resolution->outside_series[metric] == 0) {
        (void)vamp_merged_place(merged, number, &wanted);
        for (unsigned i = 0; i < set->label_count; i++) {
            if (set->labels[i] == VAMP_LABEL_METRIC) {
                wanted.labels[i] = vamp_metrics[merged->metrics[metric].id].name;
            }
        }
        resolution->outside_series[metric] = vamp_merged_place(merged, number, &wanted) + 1;
    }
    vamp_merged_counter(merged, resolution->outside, resolution->outside_series[metric] - 1,
                        outside);
}

/* Adds all values of one metric to the output's series. Accesses the arrays directly instead of
 * through a row iterator: a merge needs all values and nothing else, and values are most of a
 * bucket. */
static void add_metric(struct vamp_resolution *resolution, unsigned metric,
                       const struct vamp_bucket *bucket)
{
    struct vamp_merged *merged = &resolution->merged;
    const struct vamp_metric_values *from = &bucket->values[resolution->from[metric].place];
    const enum vamp_metric_kind kind = vamp_metrics[merged->metrics[metric].id].kind;
    const uint32_t *number = numbers(resolution, metric);
    uint64_t *taken = resolution->from[metric].taken;
    struct vamp_counter_value outside = {0, 0};
    for (unsigned i = 0; i < from->count; i++) {
        const unsigned from_series = kind == VAMP_HISTOGRAM ? from->histograms[i].series : i;
        const uint32_t place = number[from_series];
        if (!output_route_leads(place)) {
            add_left_out(&outside, kind, from, i, taken);
            continue;
        }
        const uint32_t series = place - 1;
        switch (kind) {
        case VAMP_COUNTER: /* earlier counts stay in the previous series */
            vamp_merged_counter(merged, metric, series,
                                &(struct vamp_counter_value){from->counters[i].value - taken[i],
                                                             from->counters[i].delta});
            taken[i] = from->counters[i].value;
            break;
        case VAMP_GAUGE:
            vamp_merged_gauge(merged, metric, series, &from->gauges[i]);
            break;
        case VAMP_HISTOGRAM:
            vamp_merged_histogram(merged, metric, series, from->histograms[i].histogram);
            break;
        }
    }
    if (outside.delta > 0) {
        count_outside(resolution, metric, &outside);
    }
}

/* Sets the weight of the merged bucket, computed from its events instead of from the weights of the
 * single buckets. */
static void set_weight(struct vamp_resolution *resolution)
{
    struct vamp_merged *merged = &resolution->merged;
    for (unsigned m = 0; m < merged->schema.metric_count; m++) {
        struct vamp_merged_gauge *gauges = merged->values[m].gauges;
        const bool is_mean = vamp_metrics[merged->metrics[m].id].merge == VAMP_MERGE_MEAN;
        if (is_mean && gauges[0].buckets > 1 && resolution->sampled_in > 0) {
            gauges[0].run.value = vamp_merged_weight(resolution->weighted, resolution->sampled_in);
        }
    }
}

static void add_values(struct vamp_resolution *resolution, const struct vamp_bucket *bucket)
{
    resolution->sampled_in += counted(bucket, VAMP_METRIC_VAMPIRE_SAMPLED_IN);
    resolution->weighted += counted(bucket, VAMP_METRIC_VAMPIRE_WEIGHTED);
    for (unsigned m = 0; m < resolution->metric_count; m++) {
        add_metric(resolution, m, bucket);
    }
    vamp_merged_end_bucket(&resolution->merged);
    set_weight(resolution);
}

/* Appends as many elements as fit and counts the others. */
static void append(void *list, unsigned *count, unsigned room, const void *more,
                   unsigned more_count, size_t bytes, uint64_t *unlisted)
{
    const unsigned fits = VAMP_MIN(more_count, room - *count);
    if (fits > 0 && list != NULL) {
        memcpy((char *)list + *count * bytes, more, fits * bytes);
    }
    *count += fits;
    *unlisted += more_count - fits;
}

/* Appends the lists of a bucket (CDOs, anomalies, alarms) and replaces the pending demands. */
static void add_lists(struct vamp_resolution *resolution, const struct vamp_bucket *from)
{
    struct vamp_bucket *into = &resolution->bucket;
    const unsigned cdo_rows = resolution->cdos != NULL ? VAMP_CDO_ROWS_MAX : 0;
    append(resolution->cdos, &into->cdo_count, cdo_rows, from->cdos, from->cdo_count,
           sizeof *from->cdos, &into->cdos_unlisted);
    append(resolution->anomalies, &into->anomaly_count, VAMP_ANOMALIES_MAX, from->anomalies,
           from->anomaly_count, sizeof *from->anomalies, &into->anomalies_unlisted);
    append(resolution->alarms, &into->alarm_count, VAMP_ALARM_CHANGES_MAX, from->alarms,
           from->alarm_count, sizeof *from->alarms, &into->alarms_unlisted);
    into->cdos_unlisted += from->cdos_unlisted;
    into->anomalies_unlisted += from->anomalies_unlisted;
    into->alarms_unlisted += from->alarms_unlisted;
    /* The demands at the end of the merged bucket are those at the end of the newest one. */
    into->demand_count = 0;
    uint64_t none = 0;
    append(resolution->demands, &into->demand_count, VAMP_WAITING_DEMANDS_MAX, from->demands,
           from->demand_count, sizeof *from->demands, &none);
    into->demands_pending = from->demands_pending;
}

int vamp_resolution_add(struct vamp_resolution *resolution, const struct vamp_bucket *bucket,
                        struct vamp_err *err)
{
    if (!output_routes_learn(&resolution->routes, bucket) ||
        reserve_values(resolution, bucket) != 0) {
        return vamp_err_set_errno(err, ENOMEM, "merge a bucket into one of the output's");
    }
    if (resolution->bucket.buckets == 0) {
        resolution->bucket = (struct vamp_bucket){
            .number = bucket->number,
            .start_ns = begin_of(resolution, bucket->start_ns),
            .width_ns = resolution->merged.schema.bucket_ns,
            .cdos = resolution->cdos,
            .anomalies = resolution->anomalies,
            .alarms = resolution->alarms,
            .demands = resolution->demands,
        };
    }
    add_values(resolution, bucket);
    add_lists(resolution, bucket);
    resolution->bucket.accounting = bucket->accounting;
    resolution->bucket.buckets += bucket->buckets;
    resolution->newest_end_ns = bucket->start_ns + bucket->width_ns;
    return 0;
}

/* Removes the values of series that were merged into others. */
static void forget_gauges(struct vamp_merged *merged, unsigned metric)
{
    const struct vamp_merged_values *values = &merged->values[metric];
    if (merged->metrics[metric].coarser_from == 0 || values->gauges == NULL) {
        return;
    }
    for (unsigned i = 0; i < merged->shown[metric].count; i++) {
        if (!values->gauges[i].in_run) {
            values->shown_gauges[i] =
                (struct vamp_gauge_value){VAMP_GAUGE_NONE, VAMP_GAUGE_NONE, VAMP_GAUGE_NONE};
        }
    }
}

bool vamp_resolution_remark(struct vamp_resolution *resolution,
                            char text[static VAMP_ERR_TEXT_BYTES])
{
    const struct output_routes *routes = &resolution->routes;
    if (routes->merges == resolution->merges_reported) {
        return false;
    }
    resolution->merges_reported = routes->merges;
    unsigned counts[VAMP_DETAIL_COUNT] = {0};
    for (unsigned i = 0; i < routes->count; i++) {
        counts[routes->items[i].detail]++;
    }
    size_t used = (size_t)snprintf(text, VAMP_ERR_TEXT_BYTES,
                                   "the budget of %" PRIu64 " lines is full; sums stay exact",
                                   routes->budget);
    for (unsigned detail = VAMP_DETAIL_MODELS; detail < VAMP_DETAIL_COUNT; detail++) {
        if (counts[detail] > 0) {
            used +=
                (size_t)snprintf(text + used, VAMP_ERR_TEXT_BYTES - used, "; of %u metrics %s",
                                 counts[detail], vamp_detail_sentence((enum vamp_detail)detail));
        }
    }
    return true;
}

const struct vamp_bucket *vamp_resolution_bucket(struct vamp_resolution *resolution)
{
    if (resolution->bucket.buckets == 0) {
        return NULL;
    }
    vamp_merged_show(&resolution->merged, &resolution->bucket);
    for (unsigned m = 0; m < resolution->merged.schema.metric_count; m++) {
        forget_gauges(&resolution->merged, m);
    }
    return &resolution->bucket;
}

void vamp_resolution_clear(struct vamp_resolution *resolution)
{
    vamp_merged_clear(&resolution->merged, false);
    resolution->bucket = (struct vamp_bucket){.buckets = 0};
    resolution->sampled_in = 0;
    resolution->weighted = 0;
}
