/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/output/resolution.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/alarms/change.h"
#include "writers/output/resolution_series.h"
#include "writers/output/resolution_values.h"

struct vamp_resolution {
    const struct vamp_strings *patterns; /* of series */
    int64_t bucket_ns;
    struct vamp_schema schema;
    struct vamp_label_set label_sets[VAMP_METRIC_COUNT];
    struct vamp_schema_metric metrics[VAMP_METRIC_COUNT];

    struct vamp_merged_series sets[VAMP_METRIC_COUNT]; /* by label set of the output */
    struct vamp_series_route routes[VAMP_METRIC_COUNT];
    unsigned set_count, route_count; /* that are made */
    struct vamp_kept_values values[VAMP_METRIC_COUNT];
    char *scratch; /* for series' ids */

    /* The bucket that is being made. */
    struct vamp_bucket bucket; /* `buckets` 0: nothing was added */
    int64_t newest_end_ns;
    uint64_t sampled_in, weighted; /* for the mean weight */
    struct vamp_cdo_row *cdos;     /* VAMP_CDO_ROWS_MAX; NULL: not at level `cdo` */
    struct vamp_alert *alerts;     /* VAMP_ALERTS_MAX */
    struct vamp_alarm_change *alarms;
    unsigned alarm_room;
    struct vamp_waiting_demand demands[VAMP_WAITING_DEMANDS_MAX];
    unsigned series_count[VAMP_METRIC_COUNT];
    const struct vamp_series *const *series[VAMP_METRIC_COUNT];
    struct vamp_metric_values shown[VAMP_METRIC_COUNT];
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
    return choice->metrics->count == 0 && choice->series->count == 0 && choice->by->count == 0 &&
           drops_nothing(choice->without) &&
           (choice->bucket_ns <= 0 || choice->bucket_ns == schema->bucket_ns);
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

/* The entry that counts for the metric; NULL: none fits. */
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

/* Where a component is known, its model is, too. */
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
    labels = kept != NULL ? with_models(labels) & (uint32_t)kept->bits : labels;
    return dropped != NULL ? labels & ~(uint32_t)dropped->bits : labels;
}

/* ---- the schema */

/* The place of the label set with these labels among the output's, which it joins when it is new.
 */
static unsigned find_set(struct vamp_resolution *resolution, uint32_t labels)
{
    for (unsigned i = 0; i < resolution->schema.label_set_count; i++) {
        if (vamp_label_set_bits(&resolution->label_sets[i]) == labels) {
            return i;
        }
    }
    const unsigned place = resolution->schema.label_set_count++;
    vamp_label_set_describe(&resolution->label_sets[place], labels);
    return place;
}

/* The route between the two sets, made if it is new. The series of the set it leads to are at most
 * those of all sets that lead there. */
static unsigned find_route(struct vamp_resolution *resolution, const struct vamp_schema *whole,
                           unsigned from, unsigned to)
{
    for (unsigned i = 0; i < resolution->route_count; i++) {
        if (resolution->routes[i].from == from && resolution->routes[i].to == to) {
            return i;
        }
    }
    struct vamp_label_set *set = &resolution->label_sets[to];
    set->max_series =
        set->label_count == 0 ? 1 : set->max_series + whole->label_sets[from].max_series;
    resolution->routes[resolution->route_count] =
        (struct vamp_series_route){.from = from, .to = to};
    return resolution->route_count++;
}

static void choose_metrics(struct vamp_resolution *resolution,
                           const struct vamp_resolution_choice *choice,
                           const struct vamp_schema *whole)
{
    for (unsigned i = 0; i < whole->metric_count; i++) {
        const struct vamp_schema_metric *entry = &whole->metrics[i];
        const struct vamp_metric *metric = &vamp_metrics[entry->id];
        if (choice->metrics->count > 0 && !vamp_resolution_wants(choice->metrics, metric->name)) {
            continue;
        }
        const uint32_t labels = vamp_label_set_bits(&whole->label_sets[entry->label_set]);
        const uint32_t kept =
            vamp_resolution_labels(choice->by, choice->without, metric->name, labels);
        const unsigned set = find_set(resolution, kept);
        const unsigned place = resolution->schema.metric_count++;
        resolution->metrics[place] = (struct vamp_schema_metric){
            .id = entry->id,
            .label_set = set,
            .has_bounds = entry->has_bounds || (kept != labels && metric->kind == VAMP_GAUGE &&
                                                metric->merge == VAMP_MERGE_SUM),
        };
        resolution->values[place] = (struct vamp_kept_values){
            .id = entry->id,
            .from = i,
            .route = find_route(resolution, whole, entry->label_set, set),
        };
    }
}

static void make_schema(struct vamp_resolution *resolution,
                        const struct vamp_resolution_choice *choice,
                        const struct vamp_schema *whole)
{
    resolution->patterns = choice->series;
    resolution->bucket_ns = choice->bucket_ns > 0 ? choice->bucket_ns : whole->bucket_ns;
    resolution->schema = *whole;
    resolution->schema.label_sets = resolution->label_sets;
    resolution->schema.label_set_count = 0;
    resolution->schema.metrics = resolution->metrics;
    resolution->schema.metric_count = 0;
    resolution->schema.bucket_ns = resolution->bucket_ns;
    choose_metrics(resolution, choice, whole);
}

/* ---- create and free */

static int make_rows(struct vamp_resolution *resolution)
{
    resolution->scratch = malloc(VAMP_SERIES_SCRATCH_BYTES);
    resolution->alerts = calloc(VAMP_ALERTS_MAX, sizeof *resolution->alerts);
    if (resolution->schema.level == VAMP_LEVEL_CDO) {
        resolution->cdos = calloc(VAMP_CDO_ROWS_MAX, sizeof *resolution->cdos);
    }
    return resolution->scratch == NULL || resolution->alerts == NULL ||
                   (resolution->schema.level == VAMP_LEVEL_CDO && resolution->cdos == NULL)
               ? -ENOMEM
               : 0;
}

static int make_all(struct vamp_resolution *resolution, const struct vamp_schema *whole)
{
    int code = make_rows(resolution);
    for (unsigned i = 0; code == 0 && i < resolution->schema.label_set_count; i++) {
        code = vamp_merged_series_init(&resolution->sets[i], &resolution->label_sets[i]);
        resolution->series[i] = resolution->sets[i].places;
        resolution->set_count++;
    }
    for (unsigned i = 0; code == 0 && i < resolution->route_count; i++) {
        struct vamp_series_route *route = &resolution->routes[i];
        code = vamp_series_route_init(route, route->from, &whole->label_sets[route->from],
                                      route->to, &resolution->label_sets[route->to]);
    }
    for (unsigned i = 0; code == 0 && i < resolution->schema.metric_count; i++) {
        struct vamp_kept_values *values = &resolution->values[i];
        values->max_series = resolution->label_sets[resolution->metrics[i].label_set].max_series;
        code = vamp_kept_values_init(values);
    }
    return code;
}

int vamp_resolution_create(const struct vamp_resolution_choice *choice,
                           const struct vamp_schema *schema,
                           struct vamp_resolution **ret_resolution, struct vamp_err *err)
{
    struct vamp_resolution *resolution = calloc(1, sizeof *resolution);
    if (resolution != NULL) {
        make_schema(resolution, choice, schema);
    }
    if (resolution == NULL || make_all(resolution, schema) != 0) {
        vamp_resolution_free(resolution);
        return vamp_err_set_errno(err, ENOMEM, "prepare the output's metrics and labels");
    }
    *ret_resolution = resolution;
    return 0;
}

void vamp_resolution_free(struct vamp_resolution *resolution)
{
    if (resolution == NULL) {
        return;
    }
    for (unsigned i = 0; i < resolution->schema.metric_count; i++) {
        vamp_kept_values_done(&resolution->values[i]);
    }
    for (unsigned i = 0; i < resolution->route_count; i++) {
        vamp_series_route_done(&resolution->routes[i]);
    }
    for (unsigned i = 0; i < resolution->set_count; i++) {
        vamp_merged_series_done(&resolution->sets[i]);
    }
    free(resolution->scratch);
    free(resolution->cdos);
    free(resolution->alerts);
    free(resolution->alarms);
    free(resolution);
}

const struct vamp_schema *vamp_resolution_schema(const struct vamp_resolution *resolution)
{
    return &resolution->schema;
}

/* ---- time */

/* Where the output's bucket begins that holds this time: at a multiple of its width since 1970. */
static int64_t begin_of(const struct vamp_resolution *resolution, int64_t time_ns)
{
    const int64_t rest = time_ns % resolution->bucket_ns;
    return time_ns - rest - (rest < 0 ? resolution->bucket_ns : 0);
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
           resolution->newest_end_ns >= resolution->bucket.start_ns + resolution->bucket_ns;
}

/* ---- one more bucket */

static int reserve_values(struct vamp_resolution *resolution, const struct vamp_bucket *bucket)
{
    int code = 0;
    for (unsigned i = 0; code == 0 && i < resolution->schema.metric_count; i++) {
        struct vamp_kept_values *values = &resolution->values[i];
        code = vamp_kept_values_reserve(values, &bucket->values[values->from],
                                        resolution->routes[values->route].number,
                                        resolution->schema.bins.count);
    }
    return code;
}

/* What a counter without labels counted in the bucket; 0 when it is not there. */
static uint64_t counted(const struct vamp_bucket *bucket, enum vamp_metric_id id)
{
    for (unsigned i = 0; i < bucket->schema->metric_count; i++) {
        if (bucket->schema->metrics[i].id == id) {
            return bucket->values[i].count > 0 ? bucket->values[i].counters[0].delta : 0;
        }
    }
    return 0;
}

/* The weight of a time is no weight of its parts: it is what all its sampled events stand for, by
 * their number. */
static void set_weight(struct vamp_resolution *resolution, struct vamp_kept_values *values)
{
    if (resolution->sampled_in > 0) {
        values->gauges[0].value =
            (int64_t)((double)resolution->weighted * 1e6 / (double)resolution->sampled_in + 0.5);
    }
}

static void add_values(struct vamp_resolution *resolution, const struct vamp_bucket *bucket)
{
    resolution->sampled_in += counted(bucket, VAMP_METRIC_VAMPIRE_SAMPLED_IN);
    resolution->weighted += counted(bucket, VAMP_METRIC_VAMPIRE_WEIGHTED);
    for (unsigned i = 0; i < resolution->schema.metric_count; i++) {
        struct vamp_kept_values *values = &resolution->values[i];
        const struct vamp_series_route *route = &resolution->routes[values->route];
        vamp_kept_values_add(values, &bucket->values[values->from], route->number,
                             resolution->sets[route->to].count);
        if (vamp_metrics[values->id].merge == VAMP_MERGE_MEAN && resolution->bucket.buckets > 0) {
            set_weight(resolution, values);
        }
    }
}

static void add_rows(struct vamp_resolution *resolution, const struct vamp_bucket *from)
{
    struct vamp_bucket *into = &resolution->bucket;
    unsigned room = resolution->cdos != NULL ? VAMP_CDO_ROWS_MAX - into->cdo_count : 0;
    unsigned fits = from->cdo_count < room ? from->cdo_count : room;
    if (fits > 0) {
        memcpy(resolution->cdos + into->cdo_count, from->cdos, fits * sizeof *from->cdos);
    }
    into->cdo_count += fits;
    into->cdos_unlisted += from->cdos_unlisted + (from->cdo_count - fits);
    room = VAMP_ALERTS_MAX - into->alert_count;
    fits = from->alert_count < room ? from->alert_count : room;
    if (fits > 0) {
        memcpy(resolution->alerts + into->alert_count, from->alerts, fits * sizeof *from->alerts);
    }
    into->alert_count += fits;
    into->alerts_unlisted += from->alerts_unlisted + (from->alert_count - fits);
}

/* Room for so many changes in all; returns how many there is room for. */
static unsigned reserve_alarms(struct vamp_resolution *resolution, unsigned wanted)
{
    wanted = wanted < VAMP_ALARM_CHANGES_MAX ? wanted : VAMP_ALARM_CHANGES_MAX;
    if (wanted > resolution->alarm_room) {
        struct vamp_alarm_change *alarms =
            reallocarray(resolution->alarms, wanted, sizeof *resolution->alarms);
        if (alarms == NULL) {
            return resolution->alarm_room;
        }
        resolution->alarms = alarms;
        resolution->alarm_room = wanted;
    }
    return wanted;
}

static void add_alarms(struct vamp_resolution *resolution, const struct vamp_bucket *from)
{
    struct vamp_bucket *into = &resolution->bucket;
    if (from->alarm_count > 0) {
        const unsigned room = reserve_alarms(resolution, into->alarm_count + from->alarm_count);
        const unsigned left = room - into->alarm_count;
        const unsigned fits = from->alarm_count < left ? from->alarm_count : left;
        memcpy(resolution->alarms + into->alarm_count, from->alarms, fits * sizeof *from->alarms);
        into->alarms = resolution->alarms;
        into->alarm_count += fits;
        into->alarms_unlisted += from->alarm_count - fits;
    }
    into->alarms_unlisted += from->alarms_unlisted;
}

/* Those at the end of the newest bucket are those at the end of the merged one. */
static void set_demands(struct vamp_resolution *resolution, const struct vamp_bucket *from)
{
    struct vamp_bucket *into = &resolution->bucket;
    if (from->demand_count > 0) {
        memcpy(resolution->demands, from->demands, from->demand_count * sizeof *from->demands);
    }
    into->demands = resolution->demands;
    into->demand_count = from->demand_count;
    into->demands_pending = from->demands_pending;
}

static void begin_bucket(struct vamp_resolution *resolution, const struct vamp_bucket *first)
{
    resolution->bucket = (struct vamp_bucket){
        .number = first->number,
        .start_ns = begin_of(resolution, first->start_ns),
        .width_ns = resolution->bucket_ns,
        .schema = &resolution->schema,
        .series_count = resolution->series_count,
        .series = resolution->series,
        .values = resolution->shown,
        .cdos = resolution->cdos,
        .alerts = resolution->alerts,
    };
}

int vamp_resolution_add(struct vamp_resolution *resolution, const struct vamp_bucket *bucket,
                        struct vamp_err *err)
{
    for (unsigned i = 0; i < resolution->route_count; i++) {
        struct vamp_series_route *route = &resolution->routes[i];
        vamp_series_route_learn(route, &resolution->sets[route->to], resolution->patterns, bucket,
                                resolution->scratch);
    }
    if (reserve_values(resolution, bucket) != 0) {
        return vamp_err_set_errno(err, ENOMEM, "merge a bucket into one of the output's");
    }
    if (resolution->bucket.buckets == 0) {
        begin_bucket(resolution, bucket);
    }
    add_values(resolution, bucket);
    add_rows(resolution, bucket);
    add_alarms(resolution, bucket);
    set_demands(resolution, bucket);
    resolution->bucket.accounting = bucket->accounting;
    resolution->bucket.buckets += bucket->buckets;
    resolution->newest_end_ns = bucket->start_ns + bucket->width_ns;
    return 0;
}

const struct vamp_bucket *vamp_resolution_bucket(struct vamp_resolution *resolution)
{
    if (resolution->bucket.buckets == 0) {
        return NULL;
    }
    for (unsigned i = 0; i < resolution->schema.label_set_count; i++) {
        resolution->series_count[i] = resolution->sets[i].count;
    }
    for (unsigned i = 0; i < resolution->schema.metric_count; i++) {
        resolution->shown[i] = vamp_kept_values_show(
            &resolution->values[i], resolution->sets[resolution->metrics[i].label_set].count);
    }
    return &resolution->bucket;
}

void vamp_resolution_clear(struct vamp_resolution *resolution)
{
    for (unsigned i = 0; i < resolution->schema.metric_count; i++) {
        vamp_kept_values_clear(&resolution->values[i],
                               resolution->sets[resolution->metrics[i].label_set].count);
    }
    resolution->bucket = (struct vamp_bucket){.buckets = 0};
    resolution->sampled_in = 0;
    resolution->weighted = 0;
}
