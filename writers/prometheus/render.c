/* SPDX-License-Identifier: BSD-3-Clause */
/* Renders the page as text or as messages. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "vampire/core/values.h"
#include "writers/format/fields.h"
#include "writers/prometheus/values.h"

#define GAP_MAX 2     /* maximum number of empty buckets within a span of a native histogram */
#define OTHER_FROM 64 /* a metric with more series may be merged soon */
/* As in the Prometheus client libraries: the only value in this zero bucket is 0. */
#define ZERO_BELOW 0x1p-128

/* Field numbers of io.prometheus.client, by message. */
enum { FAMILY_NAME = 1, FAMILY_HELP = 2, FAMILY_TYPE = 3, FAMILY_METRIC = 4 };
enum { METRIC_GAUGE = 2, METRIC_COUNTER = 3, METRIC_HISTOGRAM = 7 };
enum { VALUE = 1, COUNTER_CREATED = 3 }; /* Counter and Gauge */
enum {
    HISTOGRAM_COUNT = 1,
    HISTOGRAM_SUM = 2,
    HISTOGRAM_BUCKET = 3,
    HISTOGRAM_SCHEMA = 5,
    HISTOGRAM_ZERO_THRESHOLD = 6,
    HISTOGRAM_ZERO_COUNT = 7,
    HISTOGRAM_SPAN = 12,
    HISTOGRAM_DELTA = 13,
    HISTOGRAM_CREATED = 15,
};
enum { BUCKET_COUNT = 1, BUCKET_BOUND = 2, SPAN_OFFSET = 1, SPAN_LENGTH = 2 };

struct rendering {
    struct vamp_text *text;
    enum page_kind kind;
    struct vamp_text labels; /* labels of the current series */
    /* For messages. */
    bool in_family;          /* a family has begun */
    size_t family;           /* offset of the current family in the text */
    unsigned field;          /* the field of Metric with the family's values */
    struct vamp_text deltas; /* differences between the counts of the current series' buckets */
};

/* Replaces the labels of the current series by the given ones, in the form of the page. */
static void begin_labels(struct rendering *rendering, const struct vamp_text labels[2])
{
    const struct vamp_text *these = &labels[rendering->kind == PAGE_MESSAGES];
    rendering->labels.used = 0;
    vamp_text_add(&rendering->labels, these->bytes, these->used);
}

/* Sets the labels of a series, after those of the run. */
static void set_labels(struct rendering *rendering, const struct page *page,
                       const struct page_metric *metric, unsigned series)
{
    const struct vamp_label_set *set = &page->schema->label_sets[metric->label_set];
    const struct vamp_series *described = page->series[metric->label_set][series];
    begin_labels(rendering, page->run_labels);
    for (unsigned i = 0; i < set->label_count; i++) {
        page_label(&rendering->labels, rendering->kind == PAGE_MESSAGES,
                   vamp_label_name(set->labels[i]), described->labels[i]);
    }
}

static void end_family(struct rendering *rendering)
{
    if (rendering->in_family) {
        vamp_field_delimit(rendering->text, rendering->family);
    }
    rendering->in_family = false;
}

/* Begins a MetricFamily with name, help and type. Its series follow. */
static void begin_family(struct rendering *rendering, const char *name, const char *suffix,
                         const char *type, const char *help)
{
    struct vamp_text *text = rendering->text;
    /* The field in the message Metric, and the value of the enumeration MetricType. */
    static const struct {
        const char *type, *suffix;
        unsigned field, number;
    } types[] = {{"counter", "_total", METRIC_COUNTER, 0},
                 {"gauge", "", METRIC_GAUGE, 1},
                 {"histogram", "", METRIC_HISTOGRAM, 4}};
    unsigned i = 0;
    while (strcmp(types[i].type, type) != 0) {
        i++;
    }
    end_family(rendering);
    rendering->in_family = true;
    rendering->family = text->used;
    rendering->field = types[i].field;
    const size_t begin = text->used;
    vamp_text_word(text, name);
    vamp_text_word(text, suffix);
    vamp_text_word(text, types[i].suffix);
    vamp_field_end(text, FAMILY_NAME, begin);
    vamp_field_text(text, FAMILY_HELP, help);
    vamp_field_number(text, FAMILY_TYPE, types[i].number);
}

/* Writes HELP, TYPE and UNIT. In OpenMetrics, these lines of a counter have its name without
 * "_total". */
static void describe(struct rendering *rendering, const char *name, const char *suffix,
                     const char *type, const char *unit, const char *help)
{
    if (rendering->kind == PAGE_MESSAGES) {
        begin_family(rendering, name, suffix, type, help);
        return;
    }
    const char *const parts[] = {"# HELP ", "# TYPE ", "# UNIT "};
    const char *const words[] = {help, type, unit};
    const bool total = strcmp(type, "counter") == 0 && rendering->kind == PAGE_TEXT;
    const unsigned count = rendering->kind == PAGE_OPENMETRICS && unit[0] != '\0' ? 3 : 2;
    for (unsigned i = 0; i < count; i++) {
        vamp_text_word(rendering->text, parts[i]);
        vamp_text_word(rendering->text, name);
        vamp_text_word(rendering->text, suffix);
        vamp_text_word(rendering->text, total ? "_total " : " ");
        vamp_text_word(rendering->text, words[i]);
        vamp_text_word(rendering->text, "\n");
    }
}

/* Writes a line up to the value; `le` NULL: without this label. */
static void begin_line(const struct rendering *rendering, const char *name, const char *suffix,
                       const char *le)
{
    struct vamp_text *text = rendering->text;
    const struct vamp_text *labels = &rendering->labels;
    vamp_text_word(text, name);
    vamp_text_word(text, suffix);
    if (labels->used > 0 || le != NULL) {
        vamp_text_word(text, "{");
        vamp_text_add(text, labels->bytes, labels->used);
        if (le != NULL) {
            if (labels->used > 0) {
                vamp_text_word(text, ",");
            }
            vamp_text_word(text, "le=\"");
            vamp_text_word(text, le);
            vamp_text_word(text, "\"");
        }
        vamp_text_word(text, "}");
    }
    vamp_text_word(text, " ");
}

/* Writes a Timestamp: the start time of a series. */
static void add_created(struct vamp_text *text, unsigned field, int64_t born_ns)
{
    const size_t begin = text->used;
    vamp_field_number(text, 1, (uint64_t)(born_ns / 1000000000));
    vamp_field_number(text, 2, (uint64_t)(born_ns % 1000000000));
    vamp_field_end(text, field, begin);
}

/* Writes a Metric with the present labels and a value of the family's type as one element of the
 * family. `created_ns` is the start time of the series, or -1 for none. */
static void add_sample(const struct rendering *rendering, double value, int64_t created_ns)
{
    struct vamp_text *text = rendering->text;
    const size_t begin = text->used;
    vamp_text_add(text, rendering->labels.bytes, rendering->labels.used);
    const size_t inner = text->used;
    vamp_field_fixed64(text, VALUE, vamp_bits_of(value));
    if (created_ns >= 0) {
        add_created(text, COUNTER_CREATED, created_ns);
    }
    vamp_field_end(text, rendering->field, inner);
    vamp_field_end(text, FAMILY_METRIC, begin);
}

/* Writes a line, or a sample, with value / 10^decimals. `le` NULL: without this label. */
static void number_line(const struct rendering *rendering, const char *name, const char *suffix,
                        const char *le, unsigned __int128 value, unsigned decimals)
{
    if (rendering->kind == PAGE_MESSAGES) {
        add_sample(rendering, (double)value / pow(10, decimals), -1);
        return;
    }
    begin_line(rendering, name, suffix, le);
    vamp_text_number(rendering->text, value, decimals);
    vamp_text_word(rendering->text, "\n");
}

/* ---- metrics */

/* Returns the start time of a series that replaced others; -1 for other series. */
static int64_t created_ns(const struct page_metric *metric, unsigned series)
{
    const unsigned from = metric->entry.coarser_from;
    if (from == 0 || series < from) {
        return -1;
    }
    return metric->values[series].born_ns;
}

/* Writes the start time of a series that replaced others, in OpenMetrics only. */
static void created_line(const struct rendering *rendering, const struct page_metric *metric,
                         unsigned series)
{
    const int64_t born_ns = created_ns(metric, series);
    if (rendering->kind == PAGE_OPENMETRICS && born_ns >= 0) {
        number_line(rendering, metric->base.name, "_created", NULL, (uint64_t)born_ns, 9);
    }
}

/* Returns whether a series is hidden until it has counted something. This applies to series of
 * samples, and to "(other)" while the metric has too few series to be merged soon; with more
 * series, "(other)" must exist before its first increase. */
static bool appears_later(const struct page *page, const struct page_metric *metric, unsigned i)
{
    const struct vamp_label_set *set = &page->schema->label_sets[metric->label_set];
    if ((metric->metric->sets & VAMP_SET_SAMPLED) != 0) {
        return true;
    }
    const bool is_other = i == 0 && set->label_count > 0;
    return is_other && (metric->count <= OTHER_FROM || !vamp_label_is_name(set->labels[0]));
}

static void counter_lines(struct rendering *rendering, const struct page *page,
                          const struct page_metric *metric)
{
    describe(rendering, metric->base.name, "", "counter", metric->base.unit, metric->metric->help);
    for (unsigned i = 0; i < metric->count; i++) {
        if (metric->values[i].counter == 0 && appears_later(page, metric, i)) {
            continue;
        }
        set_labels(rendering, page, metric, i);
        if (rendering->kind == PAGE_MESSAGES) {
            add_sample(rendering,
                       (double)metric->values[i].counter / pow(10, metric->base.decimals),
                       created_ns(metric, i));
            continue;
        }
        number_line(rendering, metric->base.name, "_total", NULL, metric->values[i].counter,
                    metric->base.decimals);
        created_line(rendering, metric, i);
    }
}

/* Writes the value at the end of the newest bucket, and the minimum and maximum in that bucket. */
static void gauge_lines(struct rendering *rendering, const struct page *page,
                        const struct page_metric *metric)
{
    static const char *const names[2][3] = {{"", "_min", "_max"}, {"", "_min_bound", "_max_bound"}};
    const char *const *suffixes = names[metric->entry.has_bounds];
    const bool labelled = page->schema->label_sets[metric->label_set].label_count > 0;
    for (unsigned what = 0; what < 3; what++) {
        describe(rendering, metric->base.name, suffixes[what], "gauge",
                 what == 0 ? metric->base.unit : "", metric->metric->help);
        for (unsigned i = 0; i < metric->count; i++) {
            const struct vamp_gauge_value *gauge = &metric->values[i].gauge;
            const int64_t values[] = {gauge->value, gauge->min, gauge->max};
            const bool is_other = i == 0 && labelled;
            const bool is_empty = is_other && gauge->min == 0 && gauge->max == 0;
            if (values[what] == VAMP_GAUGE_NONE || is_empty) {
                continue;
            }
            set_labels(rendering, page, metric, i);
            if (rendering->kind == PAGE_MESSAGES) {
                add_sample(rendering, (double)values[what] / pow(10, metric->base.decimals), -1);
                continue;
            }
            begin_line(rendering, metric->base.name, suffixes[what], NULL);
            vamp_text_signed(rendering->text, values[what], metric->base.decimals);
            vamp_text_word(rendering->text, "\n");
        }
    }
}

/* Returns the resolution of the values; 0: all values of this histogram are known. */
static uint64_t resolution_of(const struct page_metric *metric,
                              const struct page_histogram *histogram)
{
    return histogram->count > 0 && histogram->in_bin[0] > 0 ? metric->resolution_ns : 0;
}

/* Returns the number of values between the previous bound and `bound`. `*bin` is the first bin
 * after the previous bound, and is advanced to the first one after `bound`. */
static uint64_t count_within(const struct page_metric *metric, const struct vamp_bins *bins,
                             const struct page_histogram *histogram, unsigned bound, unsigned *bin)
{
    uint64_t count = 0;
    for (; *bin < bins->count && metric->bounds->of_bin[*bin] <= bound; ++*bin) {
        if (histogram->count > 0) {
            count += histogram->in_bin[*bin];
        }
    }
    return count;
}

/* Writes a BucketSpan: `length` buckets, `offset` buckets after the end of the previous span. */
static void add_span(struct vamp_text *text, int offset, unsigned length)
{
    const size_t begin = text->used;
    vamp_field_signed(text, SPAN_OFFSET, offset);
    vamp_field_number(text, SPAN_LENGTH, length);
    vamp_field_end(text, HISTOGRAM_SPAN, begin);
}

/* Adds empty buckets, as differences to the count `before` of the last bucket. */
static void add_empty_buckets(struct vamp_text *deltas, unsigned count, uint64_t before)
{
    for (unsigned i = 0; i < count; i++) {
        vamp_field_signed_varint(deltas, -(int64_t)before);
        before = 0;
    }
}

/* Writes the buckets of a native histogram: spans of nonempty buckets, each with its distance from
 * the end of the previous span, and the count of each bucket as difference to the previous one. */
static void add_native(struct rendering *rendering, const struct page_metric *metric,
                       const struct vamp_bins *bins, const struct page_histogram *histogram)
{
    struct vamp_text *text = rendering->text, *deltas = &rendering->deltas;
    int offset = 0, end = 0; /* offset of the current span; end of the current or previous span */
    unsigned length = 0;     /* number of buckets of the current span; 0: none has begun */
    uint64_t before = 0;     /* count of the last bucket written */
    deltas->used = 0;
    vamp_field_signed(text, HISTOGRAM_SCHEMA, bins->sub_bits);
    /* Values that are not known, and those in buckets below the resolution, are in the bucket of
     * zero, whose width is the end of its last bin. */
    const uint64_t resolution = resolution_of(metric, histogram);
    unsigned bin = 1;
    uint64_t zeros = 0;
    double threshold = ZERO_BELOW;
    if (histogram->count > 0) {
        zeros = histogram->in_bin[0];
    }
    for (; bin < bins->count && bins->lower[bin] <= resolution; bin++) {
        zeros += histogram->in_bin[bin];
        threshold = (double)bins->upper[bin] / pow(10, metric->base.decimals);
    }
    vamp_field_fixed64(text, HISTOGRAM_ZERO_THRESHOLD, vamp_bits_of(threshold));
    if (histogram->count > 0) {
        vamp_field_number(text, HISTOGRAM_ZERO_COUNT, zeros);
    }
    while (histogram->count > 0 && bin < bins->count) {
        /* Count the values of the next bucket. Prometheus numbers buckets by their upper end. */
        const int place = metric->places[bin] + 1;
        uint64_t count = 0;
        for (; bin < bins->count && metric->places[bin] + 1 == place; bin++) {
            count += histogram->in_bin[bin];
        }
        if (count == 0) {
            continue;
        }
        /* Begin another span after a large gap; fill a small gap with empty buckets. */
        if (length == 0 || place - end > GAP_MAX) {
            if (length > 0) {
                add_span(text, offset, length);
            }
            offset = place - end;
            length = 0;
        } else if (end < place) {
            add_empty_buckets(deltas, (unsigned)(place - end), before);
            length += (unsigned)(place - end);
            before = 0;
        }
        end = place;
        /* Add the bucket. */
        vamp_field_signed_varint(deltas, (int64_t)(count - before));
        before = count;
        end++;
        length++;
    }
    /* Even without buckets: the span identifies a native histogram. */
    add_span(text, offset, length);
    const size_t begin = text->used;
    vamp_text_add(text, deltas->bytes, deltas->used);
    vamp_field_end(text, HISTOGRAM_DELTA, begin);
}

/* Writes a Metric with the bounds of the text formats and the buckets of a native histogram. */
static void add_histograms(struct rendering *rendering, const struct page_metric *metric,
                           const struct vamp_bins *bins, unsigned series,
                           const struct page_histogram *histogram)
{
    struct vamp_text *text = rendering->text;
    const double scale = pow(10, metric->base.decimals);
    const size_t begin = text->used;
    vamp_text_add(text, rendering->labels.bytes, rendering->labels.used);
    const size_t inner = text->used;
    const uint64_t resolution = resolution_of(metric, histogram);
    vamp_field_number(text, HISTOGRAM_COUNT, histogram->count);
    double sum = (double)histogram->sum / scale;
    if (resolution > 0) {
        sum = (double)NAN; /* a missing sum would be read as 0 */
    }
    vamp_field_fixed64(text, HISTOGRAM_SUM, vamp_bits_of(sum));
    uint64_t count = 0;
    for (unsigned bound = 0, bin = 0; bound < metric->bounds->count; bound++) {
        const size_t bucket = text->used;
        count += count_within(metric, bins, histogram, bound, &bin);
        if (metric->bounds->at[bound].upper < resolution) {
            text->used = bucket;
            continue;
        }
        vamp_field_number(text, BUCKET_COUNT, count);
        vamp_field_fixed64(text, BUCKET_BOUND,
                           vamp_bits_of((double)metric->bounds->at[bound].upper / scale));
        vamp_field_end(text, HISTOGRAM_BUCKET, bucket);
    }
    add_native(rendering, metric, bins, histogram);
    if (created_ns(metric, series) >= 0) {
        add_created(text, HISTOGRAM_CREATED, created_ns(metric, series));
    }
    vamp_field_end(text, METRIC_HISTOGRAM, inner);
    vamp_field_end(text, FAMILY_METRIC, begin);
}

static void histogram_lines(struct rendering *rendering, const struct page *page,
                            const struct page_metric *metric)
{
    const char *name = metric->base.name;
    const struct vamp_bins *bins = &page->schema->bins;
    const bool labelled = page->schema->label_sets[metric->label_set].label_count > 0;
    static const struct page_histogram nothing = {.count = 0};
    describe(rendering, name, "", "histogram", metric->base.unit, metric->metric->help);
    for (unsigned i = 0; i < metric->count; i++) {
        const struct page_histogram *histogram = metric->values[i].histogram;
        if (histogram == NULL && (!labelled || appears_later(page, metric, i))) {
            continue;
        }
        set_labels(rendering, page, metric, i);
        if (histogram == NULL) {
            histogram = &nothing;
        }
        if (rendering->kind == PAGE_MESSAGES) {
            add_histograms(rendering, metric, bins, i, histogram);
            continue;
        }
        uint64_t count = 0;
        const uint64_t resolution = resolution_of(metric, histogram);
        for (unsigned bound = 0, bin = 0; bound < metric->bounds->count; bound++) {
            count += count_within(metric, bins, histogram, bound, &bin);
            if (metric->bounds->at[bound].upper < resolution) {
                continue;
            }
            number_line(rendering, name, "_bucket", metric->bounds->at[bound].text, count, 0);
        }
        number_line(rendering, name, "_bucket", "+Inf", histogram->count, 0);
        if (resolution == 0) {
            number_line(rendering, name, "_sum", NULL, histogram->sum, metric->base.decimals);
        }
        number_line(rendering, name, "_count", NULL, histogram->count, 0);
        created_line(rendering, metric, i);
    }
}

/* ---- the page itself */

static void own_gauge(struct rendering *rendering, const char *name, const char *unit,
                      const char *help, uint64_t value, unsigned decimals)
{
    describe(rendering, name, "", "gauge", unit, help);
    number_line(rendering, name, "", NULL, value, decimals);
}

/* Writes the description of NAME_info, which has a separate type in OpenMetrics. */
static void describe_info(struct rendering *rendering, const char *name, const char *help)
{
    if (rendering->kind == PAGE_OPENMETRICS) {
        describe(rendering, name, "", "info", "", help);
    } else {
        describe(rendering, name, "_info", "gauge", "", help);
    }
}

static void info_lines(struct rendering *rendering, const struct page *page)
{
    describe_info(rendering, "vampire_run", "the run that this page is about");
    begin_labels(rendering, page->info_labels);
    number_line(rendering, "vampire_run_info", "", NULL, 1, 0);
}

static void component_lines(struct rendering *rendering, const struct page *page)
{
    static const char name[] = "vampire_" VAMP_COMPONENT_INFO;
    struct vamp_where_labels where;
    describe_info(rendering, "vampire_component", VAMP_COMPONENT_INFO_HELP);
    for (unsigned at = 0; vamp_present_next(&page->present, &at, &where);) {
        begin_labels(rendering, page->run_labels);
        for (unsigned i = 0; i < VAMP_WHERE_LABELS; i++) {
            page_label(&rendering->labels, rendering->kind == PAGE_MESSAGES, where.label[i][0],
                       where.label[i][1]);
        }
        number_line(rendering, name, "", NULL, 1, 0);
    }
}

/* Reports which metrics lost labels because of the budget. */
static void merged_lines(struct rendering *rendering, const struct page *page)
{
    describe(rendering, "vampire_page_merged", "", "gauge", "",
             "1 for a metric whose labels are merged to stay within the option budget; sums stay "
             "exact");
    for (unsigned i = 0; i < page->schema->metric_count; i++) {
        const struct page_metric *metric = &page->metrics[i];
        if (metric->entry.detail != VAMP_DETAIL_FULL) {
            const bool message = rendering->kind == PAGE_MESSAGES;
            begin_labels(rendering, page->run_labels);
            page_label(&rendering->labels, message, "metric", metric->base.name);
            page_label(&rendering->labels, message, "into", vamp_detail_word(metric->entry.detail));
            number_line(rendering, "vampire_page_merged", "", NULL, 1, 0);
        }
    }
}

static void page_lines(struct rendering *rendering, const struct page *page)
{
    info_lines(rendering, page);
    begin_labels(rendering, page->run_labels);
    own_gauge(rendering, "vampire_run_ended", "", "1 after the end of the run", page->ended, 0);
    own_gauge(rendering, "vampire_page_end_time_seconds", "seconds",
              "time up to which the values are counted, since 1970",
              (uint64_t)VAMP_MAX(page->end_ns, 0), 9);
    describe(rendering, "vampire_page_buckets", "", "counter", "",
             "buckets of the statistics that are in the values of this page");
    number_line(rendering, "vampire_page_buckets_total", "", NULL, page->buckets, 0);
    describe(rendering, "vampire_page_lost_buckets", "", "counter", "",
             "buckets that did not reach this page: its histograms lack their values");
    number_line(rendering, "vampire_page_lost_buckets_total", "", NULL, page->lost_buckets, 0);
    merged_lines(rendering, page);
    component_lines(rendering, page);
}

void page_render(struct page *page, enum page_kind kind, struct vamp_text *text)
{
    struct rendering rendering = {.text = text, .kind = kind};
    (void)pthread_mutex_lock(&page->lock);
    page_lines(&rendering, page);
    for (unsigned i = 0; i < page->schema->metric_count; i++) {
        const struct page_metric *metric = &page->metrics[i];
        switch (metric->metric->kind) {
        case VAMP_COUNTER:
            counter_lines(&rendering, page, metric);
            break;
        case VAMP_GAUGE:
            gauge_lines(&rendering, page, metric);
            break;
        case VAMP_HISTOGRAM:
            histogram_lines(&rendering, page, metric);
            break;
        }
    }
    (void)pthread_mutex_unlock(&page->lock);
    end_family(&rendering);
    if (kind == PAGE_OPENMETRICS) {
        vamp_text_word(text, "# EOF\n");
    }
    text->failed = text->failed || rendering.labels.failed || rendering.deltas.failed;
    vamp_text_done(&rendering.labels);
    vamp_text_done(&rendering.deltas);
}
