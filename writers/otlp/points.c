/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Encodes buckets as messages of otlp.proto. A comment above a function names the message to which
 * the field numbers belong. Counters and histograms are cumulative since the start time of the
 * point. Buckets contain the totals of counters; the totals of histograms are kept here.
 */
#include "writers/otlp/points.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/core/values.h"
#include "vampire/stats/bucket/merged.h"
#include "writers/format/bounds.h"
#include "writers/format/fields.h"
#include "writers/format/present.h"

/* Size limit of a request before compression: the next series starts another request. */
#define REQUEST_BYTES ((size_t)4 << 20)
enum { CUMULATIVE = 2 }; /* AggregationTemporality */
/* Fields of Metric, of Sum and Histogram, and of the messages around them. */
enum { METRIC_GAUGE = 5, METRIC_SUM = 7, METRIC_HISTOGRAM = 9, METRIC_EXPONENTIAL = 10 };
enum { DATA_TEMPORALITY = 2, SUM_IS_MONOTONIC = 3 };
enum { REQUEST_RESOURCE_METRICS = 1, RESOURCE_SCOPE_METRICS = 2, SCOPE_METRICS = 2 };
#define APART_NS 1000000  /* the time resolution of servers */
#define BEFORE UINT32_MAX /* value of `born`: the series started before this output */

struct otlp_series {
    uint32_t born;  /* number of the request with the series' first point; 0: none was accepted */
    uint32_t wraps; /* number of times that a histogram's sum exceeded 2^64 */
};

/* The properties of a metric that are needed to encode its values. */
struct otlp_metric {
    struct vamp_base_metric base;
    struct vamp_bounds *bounds; /* for explicit histograms */
    int16_t *places;            /* for exponential histograms: the bucket of each bin */
    double scale;               /* divisor that converts integer values to the base unit */
    struct otlp_series *series; /* indexed by series number */
};

struct otlp_points {
    const struct vamp_schema *schema;
    const struct vamp_run *run;
    uint64_t run_labels;
    bool again;            /* the output before a reload has sent histograms */
    struct vamp_text lead; /* start of each request: resource and scope */
    size_t lead_scope;     /* offset of the scope in `lead` */
    struct otlp_metric *metrics;
    struct vamp_merged merged;            /* totals of histograms since the start */
    struct vamp_bucket sums;              /* the totals, as a bucket */
    int64_t start_ns[VAMP_HISTOGRAM + 1]; /* start time of the values of a metric kind; UTC */
    /* End of the newest bucket that the server has accepted. */
    int64_t taken_ns;
    const struct vamp_bucket *bucket; /* the newest bucket; NULL: none */
    uint32_t request;                 /* number of the newest request, from 1 */
    /* Position at which the next request of the bucket starts. */
    unsigned metric;       /* number in the schema */
    struct vamp_rows rows; /* the metric's remaining rows; without a bucket: all rows */
    struct vamp_present present;
    bool placed; /* component_info is already in a request of the bucket */
};

/* ---- fields */

/* Writes KeyValue with AnyValue; nothing if the value is empty. */
static void add_attribute(struct vamp_text *text, unsigned field, const char *key,
                          const char *value)
{
    if (value[0] == '\0') {
        return;
    }
    const size_t begin = text->used;
    vamp_field_element(text, 1, key);
    const size_t any = text->used;
    vamp_field_element(text, 1, value);
    vamp_field_end(text, 2, any);
    vamp_field_end(text, field, begin);
}

/* Writes KeyValues with these labels of the run; `prefix` precedes their names. */
static void add_run_labels(struct vamp_text *text, unsigned field, const char *prefix,
                           const struct vamp_run *run, uint64_t labels)
{
    for (unsigned label = 0; label < VAMP_RUN_LABEL_COUNT; label++) {
        char scratch[VAMP_RUN_LABEL_BYTES], key[64];
        (void)snprintf(key, sizeof key, "%s%s", prefix, vamp_run_label_words[label]);
        if ((labels >> label & 1U) != 0) {
            add_attribute(text, field, key,
                          vamp_run_label(run, (enum vamp_run_label)label, scratch));
        }
    }
}

/* ---- create and free */

/* Writes Resource and InstrumentationScope. */
static void describe_run(struct otlp_points *points)
{
    const struct vamp_run *run = points->run;
    const char *const attributes[][2] = {
        {"service.name", "vampire"},      {"service.namespace", run->workflow},
        {"service.instance.id", run->id}, {"service.version", run->version},
        {"host.name", run->host},
    };
    struct vamp_text *text = &points->lead;
    for (size_t i = 0; i < sizeof attributes / sizeof attributes[0]; i++) {
        add_attribute(text, 1, attributes[i][0], attributes[i][1]);
    }
    add_run_labels(text, 1, "vampire.", run, UINT64_MAX);
    vamp_field_end(text, 1, 0);
    points->lead_scope = text->used;
    vamp_field_element(text, 1, "vampire");
    vamp_field_text(text, 2, run->version);
    vamp_field_end(text, 1, points->lead_scope);
}

/* Prepares the encoding of all metrics. Returns false if out of memory. */
static bool make_metrics(struct otlp_points *points, const struct otlp_options *options)
{
    const struct vamp_schema *schema = points->schema;
    points->metrics = calloc(schema->metric_count + 1, sizeof *points->metrics);
    bool good = points->metrics != NULL;
    for (unsigned i = 0; good && i < schema->metric_count; i++) {
        struct otlp_metric *metric = &points->metrics[i];
        const struct vamp_metric *described = &vamp_metrics[schema->metrics[i].id];
        vamp_base_metric(described, &metric->base);
        metric->scale = pow(10, metric->base.decimals);
        metric->series = calloc(schema->label_sets[schema->metrics[i].label_set].max_series,
                                sizeof *metric->series);
        good = metric->series != NULL;
        if (described->kind == VAMP_HISTOGRAM && options->histograms == OTLP_EXPLICIT) {
            metric->bounds = vamp_bounds(described, &schema->bins, options->bounds);
            good = good && metric->bounds != NULL;
        } else if (described->kind == VAMP_HISTOGRAM) {
            metric->places = vamp_exponential_places(&schema->bins, metric->scale);
            good = good && metric->places != NULL;
        }
    }
    return good;
}

int otlp_points_create(const struct otlp_options *options, const struct vamp_writer_target *target,
                       struct otlp_points **ret_points, struct vamp_err *err)
{
    struct otlp_points *points = calloc(1, sizeof *points);
    bool good = points != NULL;
    if (points != NULL) {
        points->schema = target->schema;
        points->run = target->run;
        points->again = target->segment > 1;
        points->run_labels = vamp_run_labels_to_add(target->schema, options->labels);
        describe_run(points);
        vamp_merged_begin_same(&points->merged, target->schema);
        good = !points->lead.failed && make_metrics(points, options) &&
               vamp_merged_create(&points->merged) == 0;
    }
    if (!good) {
        otlp_points_free(points);
        return vamp_err_set_errno(err, ENOMEM, "prepare points");
    }
    *ret_points = points;
    return 0;
}

void otlp_points_free(struct otlp_points *points)
{
    if (points == NULL) {
        return;
    }
    for (unsigned i = 0; points->metrics != NULL && i < points->schema->metric_count; i++) {
        free(points->metrics[i].bounds);
        free(points->metrics[i].places);
        free(points->metrics[i].series);
    }
    vamp_merged_done(&points->merged);
    vamp_text_done(&points->lead);
    vamp_present_done(&points->present);
    free(points->metrics);
    free(points);
}

/* ---- a bucket */

/* Counters count from the start of the run. Histograms count from the start of this output, but
 * never from the time of the last point that the output before a reload has sent. */
static void begin_counting(struct otlp_points *points, const struct vamp_bucket *bucket)
{
    const int64_t run_ns = points->run->started_ns - points->run->started_ns % bucket->width_ns;
    points->taken_ns = bucket->start_ns;
    points->start_ns[VAMP_COUNTER] = VAMP_MIN(run_ns, bucket->start_ns);
    points->start_ns[VAMP_HISTOGRAM] = bucket->start_ns;
    if (points->again && bucket->width_ns > APART_NS) {
        points->start_ns[VAMP_HISTOGRAM] += APART_NS;
    }
}

static struct otlp_series *series_of(const struct otlp_points *points, const struct vamp_row *row)
{
    return &points->metrics[row->place].series[row->number];
}

/* Adds a value of a bucket to the totals of histograms. With `first` (the first bucket), notes
 * counters that started before this output. */
static void add_value(struct otlp_points *points, const struct vamp_row *row, bool first)
{
    struct otlp_series *series = series_of(points, row);
    if (row->metric->kind == VAMP_HISTOGRAM) {
        const struct vamp_bucket_histogram *sums =
            points->merged.values[row->place].histograms[row->number].values;
        vamp_merged_histogram(&points->merged, row->place, row->number, row->histogram);
        series->wraps += sums->sum < row->histogram->sum;
    } else if (row->metric->kind == VAMP_COUNTER && first &&
               row->counter->value > row->counter->delta) {
        series->born = BEFORE;
    }
}

int otlp_points_add(struct otlp_points *points, const struct vamp_delivery *delivery,
                    struct vamp_err *err)
{
    const struct vamp_bucket *bucket = delivery->bucket;
    bool good = vamp_present_take(&points->present, delivery);
    struct vamp_rows rows = vamp_rows(bucket, 0);
    while (good && vamp_rows_next(&rows)) {
        const struct vamp_row *row = &rows.row;
        if (row->metric->kind == VAMP_HISTOGRAM) {
            good = vamp_merged_reserve(&points->merged, row->place, row->number,
                                       row->histogram->bin_count) == 0;
        }
    }
    if (!good) {
        return vamp_err_set_errno(err, ENOMEM, "add a bucket to the points");
    }
    for (rows = vamp_rows(bucket, 0); vamp_rows_next(&rows);) {
        add_value(points, &rows.row, points->bucket == NULL);
    }
    vamp_merged_number_as(&points->merged, bucket);
    vamp_merged_show(&points->merged, &points->sums);
    points->sums.series = bucket->series;
    points->sums.accounting = bucket->accounting;
    if (points->bucket == NULL) {
        begin_counting(points, bucket);
    }
    points->bucket = bucket;
    points->metric = 0;
    points->placed = false;
    points->rows.bucket = NULL;
    return 0;
}

void otlp_points_end(struct otlp_points *points, bool taken)
{
    if (taken) {
        points->taken_ns = points->bucket->start_ns + points->bucket->width_ns;
        return;
    }
    for (unsigned i = 0; i < points->schema->metric_count; i++) {
        const unsigned set = points->schema->metrics[i].label_set;
        for (unsigned s = 0; s < points->bucket->series_count[set]; s++) {
            uint32_t *born = &points->metrics[i].series[s].born;
            if (*born == points->request) {
                *born = 0;
            }
        }
    }
}

/* ---- points */

/* Writes the labels of the series, and those of the run, as KeyValues. */
static void add_attributes(const struct otlp_points *points, struct vamp_text *text,
                           const struct vamp_row *row, unsigned field)
{
    add_run_labels(text, field, "", points->run, points->run_labels);
    for (unsigned i = 0; i < row->set->label_count; i++) {
        add_attribute(text, field, vamp_label_name(row->set->labels[i]), row->series->labels[i]);
    }
}

/* Writes the start time, for all but gauges, and the time of a point. */
static void add_times(const struct otlp_points *points, struct vamp_text *text,
                      enum vamp_metric_kind kind, int64_t time_ns)
{
    if (kind != VAMP_GAUGE) {
        vamp_field_fixed64(text, 2, (uint64_t)points->start_ns[kind]);
    }
    vamp_field_fixed64(text, 3, (uint64_t)time_ns);
}

/* Writes a NumberDataPoint. A value that is already in the base unit is sent as an integer, unless
 * it exceeds 63 bits; all other values are sent as doubles. */
static void add_number(const struct otlp_points *points, struct vamp_text *text,
                       const struct vamp_row *row, int64_t time_ns, __int128 value)
{
    const struct otlp_metric *metric = &points->metrics[row->place];
    const size_t begin = text->used;
    add_times(points, text, row->metric->kind, time_ns);
    if (metric->base.decimals > 0 || value > INT64_MAX) {
        vamp_field_fixed64(text, 4, vamp_bits_of((double)value / metric->scale));
    } else {
        vamp_field_fixed64(text, 6, (uint64_t)value);
    }
    add_attributes(points, text, row, 7);
    vamp_field_end(text, 1, begin);
}

/* Writes a HistogramDataPoint from `bucket_counts` on, without bounds below the resolution. */
static void add_explicit(const struct otlp_metric *metric, struct vamp_text *text,
                         const struct vamp_bucket_histogram *histogram, uint64_t resolution)
{
    const struct vamp_bounds *bounds = metric->bounds;
    uint64_t counts[VAMP_BINS_MAX + 1];
    unsigned first = 0;
    while (first < bounds->count && bounds->at[first].upper < resolution) {
        first++;
    }
    memset(counts, 0, (bounds->count + 1) * sizeof counts[0]);
    for (uint32_t i = 0; i < histogram->bin_count; i++) {
        const unsigned bound = bounds->of_bin[histogram->bins[i].bin];
        counts[VAMP_MAX(bound, first)] += histogram->bins[i].count;
    }
    size_t begin = text->used;
    for (unsigned i = first; i <= bounds->count; i++) {
        vamp_field_bits(text, counts[i]);
    }
    vamp_field_end(text, 6, begin);
    begin = text->used;
    for (unsigned i = first; i < bounds->count; i++) {
        vamp_field_bits(text, vamp_bits_of((double)bounds->at[i].upper / metric->scale));
    }
    vamp_field_end(text, 7, begin);
}

/* Writes the counts of the exponential buckets from `bin` on; there is at least one. */
static void add_places(const struct otlp_metric *metric, struct vamp_text *text,
                       const struct vamp_bin_count *bin, const struct vamp_bin_count *end)
{
    const size_t begin = text->used;
    int place = metric->places[bin->bin];
    vamp_field_signed(text, 1, place);
    const size_t counts = text->used;
    for (; bin < end; place++) {
        uint64_t count = 0;
        for (; bin < end && metric->places[bin->bin] == place; bin++) {
            count += bin->count;
        }
        vamp_field_varint(text, count);
    }
    vamp_field_end(text, 2, counts);
    vamp_field_end(text, 8, begin);
}

/* Writes an ExponentialHistogramDataPoint from `scale` on. Values up to the resolution are in the
 * bucket of zero. */
static void add_exponential(const struct otlp_points *points, const struct otlp_metric *metric,
                            struct vamp_text *text, const struct vamp_bucket_histogram *histogram,
                            uint64_t resolution)
{
    const struct vamp_bins *bins = &points->schema->bins;
    const struct vamp_bin_count *bin = histogram->bins, *end = bin + histogram->bin_count;
    uint64_t zeros = 0, threshold = 0;
    vamp_field_signed(text, 6, bins->sub_bits);
    for (; bin < end && bins->lower[bin->bin] <= resolution; bin++) {
        zeros += bin->count;
        threshold = bins->upper[bin->bin];
    }
    if (zeros > 0) {
        vamp_field_fixed64(text, 7, zeros);
    }
    if (bin < end) {
        add_places(metric, text, bin, end);
    }
    threshold = VAMP_MAX(threshold, resolution);
    if (threshold > 0) {
        vamp_field_fixed64(text, 14, vamp_bits_of((double)threshold / metric->scale));
    }
}

/* Writes a HistogramDataPoint if the metric has explicit bounds, else an
 * ExponentialHistogramDataPoint. Fields are written in ascending order; the number of some fields
 * differs between the two messages. */
static void add_histogram(const struct otlp_points *points, struct vamp_text *text,
                          const struct vamp_row *row, int64_t time_ns,
                          const struct vamp_bucket_histogram *histogram)
{
    const struct otlp_metric *metric = &points->metrics[row->place];
    const bool is_explicit = metric->bounds != NULL;
    const size_t begin = text->used;
    if (!is_explicit) {
        add_attributes(points, text, row, 1);
    }
    add_times(points, text, VAMP_HISTOGRAM, time_ns);
    vamp_field_fixed64(text, 4, histogram->count);
    unsigned __int128 sum = histogram->sum;
    if (histogram->count > 0) { /* `wraps` holds the upper 64 bits of the sum */
        sum += (unsigned __int128)series_of(points, row)->wraps << 64;
    }
    /* Numbers that are not known are missing. */
    const uint64_t zeros = vamp_bucket_histogram_zeros(histogram);
    const uint64_t resolution = zeros > 0 ? row->resolution_ns : 0;
    if (resolution == 0) {
        vamp_field_fixed64(text, 5, vamp_bits_of((double)sum / metric->scale));
    }
    if (is_explicit) {
        add_explicit(metric, text, histogram, resolution);
        add_attributes(points, text, row, 9);
    } else {
        add_exponential(points, metric, text, histogram, resolution);
    }
    const unsigned min_field = is_explicit ? 11 : 12;
    if (histogram->count > 0 && resolution == 0) {
        vamp_field_fixed64(text, min_field, vamp_bits_of((double)histogram->min / metric->scale));
    }
    if (histogram->count > 0 && histogram->max >= resolution) {
        vamp_field_fixed64(text, min_field + 1,
                           vamp_bits_of((double)histogram->max / metric->scale));
    }
    vamp_field_end(text, 1, begin);
}

/* Writes the points of a series. A series that is new to the server starts with a point of 0, so
 * that its first value counts as an increase. */
static void add_points(struct otlp_points *points, struct vamp_text *text,
                       const struct vamp_row *row)
{
    static const struct vamp_bucket_histogram nothing = {.count = 0};
    const enum vamp_metric_kind kind = row->metric->kind;
    const int64_t end_ns = points->bucket->start_ns + points->bucket->width_ns;
    const int64_t start_ns = points->start_ns[kind], taken_ns = points->taken_ns;
    uint32_t *born = &series_of(points, row)->born;
    const bool is_new = *born == 0 || *born == points->request;
    const int64_t birth_ns = VAMP_MAX(taken_ns, start_ns);
    switch (kind) {
    case VAMP_COUNTER:
        if (row->counter->value == 0) {
            return;
        }
        if (is_new) {
            add_number(points, text, row, birth_ns, 0);
        }
        add_number(points, text, row, end_ns, row->counter->value);
        break;
    case VAMP_GAUGE:
        if (row->gauge->value == VAMP_GAUGE_NONE) {
            return;
        }
        if (row->number == 0 && row->set->label_count > 0 && row->gauge->value == 0) {
            return; /* "(other)" is empty */
        }
        add_number(points, text, row, end_ns, row->gauge->value);
        break;
    case VAMP_HISTOGRAM:
        if (is_new) {
            add_histogram(points, text, row, birth_ns, &nothing);
        }
        add_histogram(points, text, row, end_ns, row->histogram);
        break;
    }
    if (is_new) {
        *born = points->request;
    }
}

/* ---- metrics */

/* Writes name, help and unit. The name is the same as in Prometheus; the unit is in UCUM. */
static void describe_metric(struct vamp_text *text, const struct vamp_metric *metric,
                            const struct vamp_base_metric *base)
{
    static const char *const units[][2] = {{"ns", "s"}, {"byte", "By"}, {"byte s-1", "By/s"}};
    char name[VAMP_BASE_NAME_BYTES + sizeof "_total"];
    (void)snprintf(name, sizeof name, "%s%s", base->name,
                   metric->kind == VAMP_COUNTER ? "_total" : "");
    vamp_field_element(text, 1, name);
    vamp_field_element(text, 2, metric->help);
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(metric->unit, units[i][0]) == 0) {
            vamp_field_element(text, 3, units[i][1]);
        }
    }
}

/* Writes a Metric with as many points as fit into the request; nothing if there are none. */
static void add_metric(struct otlp_points *points, struct vamp_text *text)
{
    const struct otlp_metric *metric = &points->metrics[points->metric];
    const struct vamp_metric *described = &vamp_metrics[points->schema->metrics[points->metric].id];
    const enum vamp_metric_kind kind = described->kind;
    const unsigned fields[] = {[VAMP_COUNTER] = METRIC_SUM,
                               [VAMP_GAUGE] = METRIC_GAUGE,
                               [VAMP_HISTOGRAM] =
                                   metric->bounds != NULL ? METRIC_HISTOGRAM : METRIC_EXPONENTIAL};
    const size_t begin = text->used;
    /* Start with the first row, or continue where the previous request ended. */
    if (points->rows.bucket == NULL) {
        const struct vamp_bucket *bucket = points->bucket;
        if (kind == VAMP_HISTOGRAM) {
            bucket = &points->sums;
        }
        points->rows = vamp_rows_of(bucket, points->metric, 0);
    }
    describe_metric(text, described, &metric->base);
    const size_t data = text->used;
    while (text->used < REQUEST_BYTES && !text->failed && points->rows.bucket != NULL) {
        if (vamp_rows_next(&points->rows)) {
            add_points(points, text, &points->rows.row);
        } else {
            points->rows.bucket = NULL;
            points->metric++;
        }
    }
    /* A metric without points is removed. */
    if (text->used == data) {
        text->used = begin;
        return;
    }
    if (kind != VAMP_GAUGE) {
        vamp_field_number(text, DATA_TEMPORALITY, CUMULATIVE);
    }
    vamp_field_number(text, SUM_IS_MONOTONIC, kind == VAMP_COUNTER);
    vamp_field_end(text, fields[kind], data);
    vamp_field_end(text, SCOPE_METRICS, begin);
}

/* Writes a Metric: the gauge vampire_component_info. */
static void add_components(const struct otlp_points *points, struct vamp_text *text)
{
    const size_t begin = text->used;
    struct vamp_where_labels where;
    vamp_field_element(text, 1, "vampire_" VAMP_COMPONENT_INFO);
    vamp_field_element(text, 2, VAMP_COMPONENT_INFO_HELP);
    const size_t data = text->used;
    for (unsigned at = 0; vamp_present_next(&points->present, &at, &where);) {
        const size_t point = text->used;
        add_times(points, text, VAMP_GAUGE, points->bucket->start_ns + points->bucket->width_ns);
        vamp_field_fixed64(text, 6, 1);
        add_run_labels(text, 7, "", points->run, points->run_labels);
        for (unsigned i = 0; i < VAMP_WHERE_LABELS; i++) {
            add_attribute(text, 7, where.label[i][0], where.label[i][1]);
        }
        vamp_field_end(text, 1, point);
    }
    if (text->used == data) {
        text->used = begin;
        return;
    }
    vamp_field_end(text, 5, data);
    vamp_field_end(text, 2, begin);
}

/* Writes ExportMetricsServiceRequest, ResourceMetrics and ScopeMetrics. If out of memory, restores
 * the position, so that the request can be built again. */
bool otlp_points_next(struct otlp_points *points, struct vamp_text *text)
{
    const struct vamp_rows rows = points->rows;
    const unsigned metric = points->metric;
    const bool placed = points->placed;
    text->used = 0;
    text->failed = false;
    points->request++;
    vamp_text_add(text, points->lead.bytes, points->lead.used);
    if (!placed) {
        add_components(points, text);
    }
    points->placed = true;
    while (points->metric < points->schema->metric_count && !text->failed &&
           text->used < REQUEST_BYTES) {
        add_metric(points, text);
    }
    const bool any = text->used > points->lead.used;
    vamp_field_end(text, RESOURCE_SCOPE_METRICS, points->lead_scope);
    vamp_field_end(text, REQUEST_RESOURCE_METRICS, 0);
    if (text->failed) {
        points->rows = rows;
        points->metric = metric;
        points->placed = placed;
        points->request--;
    }
    return any || text->failed;
}
