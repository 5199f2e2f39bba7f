/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The schema: all metrics of the catalogue, with the labels of the level and additionally
 * `workflow` and `run`. Each text of a label is copied once, in limited memory.
 */
#include <stdlib.h>
#include <string.h>
#include <uuid/uuid.h>

#include "vampire/collect/internal.h"

#define LABEL(name) (UINT32_C(1) << VAMP_LABEL_##name)
/* Memory for texts of labels, per series of a label set. */
#define NAME_BYTES_PER_SERIES ((size_t)256)

/* ---- the schema */

static uint32_t labels_of(const struct vamp_collect *collect, const struct vamp_metric *metric)
{
    if ((metric->sets & VAMP_SET_COLLECT) != 0) {
        return metric->labels;
    }
    return vamp_metric_labels_at(metric, collect->options.level) | LABEL(WORKFLOW) | LABEL(RUN);
}

static void describe(struct vamp_collect *collect, const uuid_t space)
{
    const struct vamp_collect_options *options = &collect->options;
    struct vamp_schema like = {
        .max_components = options->max_runs,
        .level = options->level,
        .bucket_ns = options->bucket_ns,
        .coverage = &collect->coverage,
    };
    vamp_bins_init(&like.bins, options->sub_bits);
    memcpy(like.series_space, space, sizeof like.series_space);
    vamp_merged_begin(&collect->merged, &like);
    for (unsigned id = 0; id < vamp_metric_count(); id++) {
        (void)vamp_merged_metric(&collect->merged, (enum vamp_metric_id)id,
                                 labels_of(collect, &vamp_metrics[id]));
    }
    for (unsigned i = 0; i < collect->merged.schema.label_set_count; i++) {
        struct vamp_label_set *set = &collect->merged.label_sets[i];
        set->max_series = set->label_count == 0 ? 1 : options->max_series;
    }
}

unsigned collect_runs_set(const struct vamp_collect *collect)
{
    return collect->merged.metrics[VAMP_METRIC_COLLECT_RUNS_REPORTING].label_set;
}

int collect_schema_init(struct vamp_collect *collect, struct vamp_err *err)
{
    uuid_t space;
    if (uuid_parse(collect->options.series_space, space) != 0) {
        return vamp_err_set(err, -EINVAL, "name space \"%s\" of series is no UUID",
                            collect->options.series_space);
    }
    collect->options.series_space = NULL;
    describe(collect, space);
    collect->reporters = calloc(collect->merged.label_sets[collect_runs_set(collect)].max_series,
                                sizeof(struct collect_run *));
    if (collect->reporters == NULL || map_init(&collect->names) != 0 ||
        vamp_merged_create(&collect->merged) != 0) {
        return vamp_err_set_errno(err, ENOMEM, "prepare the series of collected runs");
    }
    const char *other[VAMP_LABELS_MAX];
    for (unsigned i = 0; i < VAMP_LABELS_MAX; i++) {
        other[i] = VAMP_SERIES_OTHER;
    }
    for (unsigned i = 0; i < collect->merged.schema.label_set_count; i++) {
        (void)collect_series(collect, i, other);
    }
    return 0;
}

void collect_schema_done(struct vamp_collect *collect)
{
    vamp_merged_done(&collect->merged);
    free(collect->reporters);
    while (collect->name_list != NULL) {
        struct collect_name *name = collect->name_list;
        collect->name_list = name->next;
        free(name);
    }
    map_done(&collect->names);
}

/* ---- series */

/* Returns a permanent copy of the text; NULL at the limit, or if out of memory. */
static const char *keep_name(struct vamp_collect *collect, const char *text)
{
    const size_t length = strlen(text);
    const uint64_t hash = map_hash_text(&collect->names, text, length);
    for (struct map_link *link = map_first(&collect->names, hash); link != NULL;
         link = map_next(link)) {
        const struct collect_name *known = (const struct collect_name *)(const void *)link;
        if (strcmp(known->text, text) == 0) {
            return known->text;
        }
    }
    const size_t bytes = sizeof(struct collect_name) + length + 1;
    if (collect->name_bytes + bytes > collect->options.max_series * NAME_BYTES_PER_SERIES) {
        return NULL;
    }
    struct collect_name *name = malloc(bytes);
    if (name == NULL) {
        return NULL;
    }
    memcpy(name->text, text, length + 1);
    name->next = collect->name_list;
    collect->name_list = name;
    map_insert(&collect->names, &name->link, hash);
    collect->name_bytes += bytes;
    return name->text;
}

/* Derives the models from the components, since messages do not contain them. */
static void set_models(const struct vamp_label_set *set, struct vamp_series *series)
{
    for (unsigned i = 0; i < VAMP_NAME_LABELS_MAX && i < set->label_count; i++) {
        if (vamp_label_is_name(set->labels[i])) {
            series->models[i] = VAMP_SERIES_OTHER;
        }
    }
}

static bool is_other(const struct vamp_label_set *set,
                     const char *const labels[static VAMP_LABELS_MAX])
{
    bool is = true;
    for (unsigned i = 0; i < set->label_count; i++) {
        is = is && strcmp(labels[i], VAMP_SERIES_OTHER) == 0;
    }
    return is;
}

uint32_t collect_series(struct vamp_collect *collect, unsigned set,
                        const char *const labels[static VAMP_LABELS_MAX])
{
    const struct vamp_label_set *own = &collect->merged.label_sets[set];
    struct vamp_series wanted = {.labels = {NULL}};
    bool kept = true;
    for (unsigned i = 0; i < own->label_count; i++) {
        wanted.labels[i] = keep_name(collect, labels[i]);
        kept = kept && wanted.labels[i] != NULL;
    }
    set_models(own, &wanted);
    uint32_t number = 0;
    if (kept) {
        number = vamp_merged_place(&collect->merged, set, &wanted);
    }
    if (number == 0 && !is_other(own, labels)) {
        collect->counts.refused[VAMP_REFUSAL_SERIES]++;
    }
    return number;
}

/* ---- rows */

/* Indexed by label: index of the label in a label set of the message, plus 1; 0: not in the set. */
struct label_places {
    uint8_t place[VAMP_LABEL_COUNT];
};

static void find_places(const Vampire__Telemetry__LabelSet *set, struct label_places *ret_places)
{
    *ret_places = (struct label_places){.place = {0}};
    for (size_t i = 0; i < set->n_labels && i < UINT8_MAX; i++) {
        const unsigned label = vamp_label_find(set->labels[i], strlen(set->labels[i]));
        if (label < VAMP_LABEL_COUNT) {
            ret_places->place[label] = (uint8_t)(i + 1);
        }
    }
}

/* A label that is missing in the row has the value of the run, or else `(other)`. */
static uint32_t find_series(struct vamp_collect *collect, unsigned set,
                            const Vampire__Telemetry__Message *message,
                            const Vampire__Telemetry__Row *row, const struct label_places *places)
{
    const struct vamp_label_set *own = &collect->merged.label_sets[set];
    const char *labels[VAMP_LABELS_MAX] = {NULL};
    for (unsigned i = 0; i < own->label_count; i++) {
        const unsigned place = places->place[own->labels[i]];
        if (place > 0) {
            labels[i] = row->labels[place - 1];
        } else if (own->labels[i] == VAMP_LABEL_WORKFLOW) {
            labels[i] = message->run->workflow;
        } else if (own->labels[i] == VAMP_LABEL_RUN) {
            labels[i] = message->run->id;
        } else {
            labels[i] = VAMP_SERIES_OTHER;
        }
    }
    return collect_series(collect, set, labels);
}

/* A row and its series. The series is cached, since the metrics of a row often have the same label
 * set in the collector. */
struct row {
    struct vamp_collect *collect;
    struct collect_run *run;
    const Vampire__Telemetry__Message *message;
    const Vampire__Telemetry__Row *row;
    const enum vamp_metric_id *ids; /* ids of the metrics in the message */
    struct label_places places;
    unsigned set;
    uint32_t series;
    bool has_series;
};

/* Finds the series of a metric in the message, and the metric's index in the collector's schema.
 * Returns false if the metric is unknown. */
static bool find_metric(struct row *row, uint32_t metric, unsigned *ret_metric)
{
    *ret_metric = row->ids[metric];
    if (row->ids[metric] == VAMP_METRIC_NONE) {
        return false;
    }
    const unsigned set = row->collect->merged.metrics[*ret_metric].label_set;
    if (!row->has_series || row->set != set) {
        row->series = find_series(row->collect, set, row->message, row->row, &row->places);
        row->set = set;
        row->has_series = true;
    }
    return true;
}

/* Converts the histogram of a message and adds it. */
static void add_histogram(struct vamp_collect *collect, unsigned metric, uint32_t series,
                          const Vampire__Telemetry__Histogram *from)
{
    struct vamp_bucket_histogram *histogram = collect->histogram;
    histogram->count = from->count;
    histogram->sum = from->sum;
    histogram->min = from->min;
    histogram->max = from->max;
    histogram->bin_count = (uint32_t)from->n_bins;
    for (size_t i = 0; i < from->n_bins; i++) {
        histogram->bins[i] = (struct vamp_bin_count){from->counts[i], from->bins[i]};
    }
    if (vamp_merged_reserve(&collect->merged, metric, series, histogram->bin_count) == 0) {
        vamp_merged_histogram(&collect->merged, metric, series, histogram);
    } else {
        collect->out_of_memory = true;
    }
}

/* Remembers through which collector a run reports. The two metrics come in the order of the
 * catalogue, so that a missing run is remembered after it was found not to report. */
static void note_reporter(const struct row *row, unsigned metric, int64_t value)
{
    const bool is_reporting = metric == VAMP_METRIC_COLLECT_RUNS_REPORTING;
    if (!is_reporting && metric != VAMP_METRIC_COLLECT_RUNS_MISSING) {
        return;
    }
    const struct collect_run **reporter = &row->collect->reporters[row->series];
    row->run->is_collector = true;
    if (value > 0) {
        *reporter = row->run;
    } else if (is_reporting) {
        *reporter = NULL;
    }
}

static void add_row(struct row *row)
{
    const Vampire__Telemetry__Row *from = row->row;
    struct vamp_collect *collect = row->collect;
    unsigned metric = 0;
    for (size_t i = 0; i < from->n_counters; i++) {
        if (find_metric(row, from->counters[i]->metric, &metric)) {
            collect_values_count(collect, (enum vamp_metric_id)metric, row->series,
                                 from->counters[i]->delta);
        }
    }
    for (size_t i = 0; i < from->n_gauges; i++) {
        const Vampire__Telemetry__Gauge *gauge = from->gauges[i];
        const struct vamp_gauge_value value = {gauge->value, gauge->min, gauge->max};
        if (find_metric(row, gauge->metric, &metric)) {
            vamp_merged_gauge(&collect->merged, metric, row->series, &value);
            note_reporter(row, metric, gauge->value);
        }
    }
    for (size_t i = 0; i < from->n_histograms; i++) {
        if (find_metric(row, from->histograms[i]->metric, &metric)) {
            add_histogram(collect, metric, row->series, from->histograms[i]);
        }
    }
}

void collect_values_add(struct vamp_collect *collect, struct collect_run *run,
                        const Vampire__Telemetry__Message *message)
{
    enum vamp_metric_id *ids = calloc(message->n_metrics + 1, sizeof *ids);
    struct label_places *places = calloc(message->n_label_sets + 1, sizeof *places);
    collect->out_of_memory = collect->out_of_memory || ids == NULL || places == NULL;
    for (size_t i = 0; ids != NULL && i < message->n_metrics; i++) {
        ids[i] = collect_metric(message->metrics[i]);
    }
    for (size_t i = 0; places != NULL && i < message->n_label_sets; i++) {
        find_places(message->label_sets[i], &places[i]);
    }
    for (size_t i = 0; ids != NULL && places != NULL && i < message->n_rows; i++) {
        struct row row = {.collect = collect,
                          .run = run,
                          .message = message,
                          .row = message->rows[i],
                          .ids = ids,
                          .places = places[message->rows[i]->label_set]};
        add_row(&row);
    }
    free(ids);
    free(places);
}

/* all three metrics have the same labels */
void collect_values_settle(struct vamp_collect *collect)
{
    const struct vamp_merged_values *values = collect->merged.values;
    const struct vamp_counter_value *sampled = values[VAMP_METRIC_VAMPIRE_SAMPLED_IN].counters,
                                    *weighted = values[VAMP_METRIC_VAMPIRE_WEIGHTED].counters;
    const unsigned set = collect->merged.metrics[VAMP_METRIC_VAMPIRE_WEIGHT].label_set;
    for (uint32_t i = 0; i < collect->merged.sets[set].count; i++) {
        struct vamp_merged_gauge *gauge = &values[VAMP_METRIC_VAMPIRE_WEIGHT].gauges[i];
        if (gauge->buckets > 1 && sampled[i].delta > 0) {
            gauge->total.value = vamp_merged_weight(weighted[i].delta, sampled[i].delta);
        }
    }
}

void collect_values_count(struct vamp_collect *collect, enum vamp_metric_id id, uint32_t series,
                          uint64_t delta)
{
    vamp_merged_counter(&collect->merged, id, series, &(struct vamp_counter_value){delta, delta});
}

void collect_values_gauge(struct vamp_collect *collect, enum vamp_metric_id id, uint32_t series,
                          int64_t value)
{
    vamp_merged_gauge(&collect->merged, id, series,
                      &(struct vamp_gauge_value){value, value, value});
}
