/* SPDX-License-Identifier: BSD-3-Clause */
/* The resolution of an output: chosen metrics and series, labels that are dropped and buckets that
 * are merged, each by itself and, against sums made the slow way, all at once. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/plain_histogram.h"
#include "vampire/stats/bucket/rows.h"
#include "writers/output/resolution.h"

#define SECOND INT64_C(1000000000)

static const struct vamp_strings no_strings = {.count = 0};
static const struct vamp_sets no_sets = {.count = 0};

/* ---- made-up statistics: a set of two labels, one of one, one without */

#define SERIES 7
static struct vamp_series pairs[SERIES] = {
    {.labels = {"(other)", "(other)"}, .models = {"(other)"}},
    {.labels = {"IFS -- 0", "[0,256)"}, .models = {"IFS"}},
    {.labels = {"Products", "[0,256)"}, .models = {"Products"}},
    {.labels = {"IFS -- 1", "[256,512)"}, .models = {"IFS"}},
    {.labels = {"IFS -- 0", "unknown"}, .models = {"IFS"}},
    {.labels = {"IFS -- 1", "[0,256)"}, .models = {"IFS"}},
    {.labels = {"(other)", "unknown"}, .models = {"(other)"}},
};
static struct vamp_series tiers[3] = {
    {.labels = {"(other)"}}, {.labels = {"OFI"}}, {.labels = {"GFS"}}};
static struct vamp_series alone[1];
static const struct vamp_series *const pair_places[SERIES] = {
    &pairs[0], &pairs[1], &pairs[2], &pairs[3], &pairs[4], &pairs[5], &pairs[6]};
static const struct vamp_series *const tier_places[3] = {&tiers[0], &tiers[1], &tiers[2]};
static const struct vamp_series *const alone_places[1] = {&alone[0]};
static const struct vamp_series *const *const all_places[] = {pair_places, alone_places,
                                                              tier_places};
enum { PAIRS, ALONE, TIERS, SETS };

static const struct vamp_label_set sets[SETS] = {
    {.name = "component_size_class",
     .labels = {VAMP_LABEL_COMPONENT, VAMP_LABEL_SIZE_CLASS},
     .label_count = 2,
     .max_series = SERIES},
    {.name = "", .max_series = 1},
    {.name = "tier_series", .labels = {VAMP_LABEL_TIER}, .label_count = 1, .max_series = 3},
};
enum { CREATED, POOL, WAIT, ACTIVE, SAMPLED, WEIGHTED, WEIGHT, METRICS };
static const struct vamp_schema_metric metrics[METRICS] = {
    [CREATED] = {.id = VAMP_METRIC_CDOS_CREATED, .label_set = PAIRS},
    [POOL] = {.id = VAMP_METRIC_POOL_CDOS, .label_set = ALONE},
    [WAIT] = {.id = VAMP_METRIC_DEMAND_WAIT_NS, .label_set = PAIRS},
    [ACTIVE] = {.id = VAMP_METRIC_TRANSPORTS_ACTIVE, .label_set = TIERS},
    [SAMPLED] = {.id = VAMP_METRIC_VAMPIRE_SAMPLED_IN, .label_set = ALONE},
    [WEIGHTED] = {.id = VAMP_METRIC_VAMPIRE_WEIGHTED, .label_set = ALONE},
    [WEIGHT] = {.id = VAMP_METRIC_VAMPIRE_WEIGHT, .label_set = ALONE},
};

/* A bucket with its values; as many series as are known by then. */
struct made {
    struct vamp_schema schema;
    struct vamp_bucket bucket;
    unsigned series_count[SETS];
    struct vamp_counter_value created[SERIES], sampled, weighted;
    struct vamp_gauge_value pool, weight, active[3];
    struct vamp_bucket_histogram *histograms[SERIES];
    struct vamp_histogram_value waits[SERIES];
    struct vamp_metric_values values[METRICS];
    uint64_t recorded[SERIES][4]; /* up to four values each */
    unsigned recorded_count[SERIES];
};

static unsigned destroyed;

static void note_destroyed(const struct vamp_bucket *bucket)
{
    (void)bucket;
    destroyed++;
}

static uint64_t state = 1;

static uint64_t random_below(uint64_t bound)
{
    state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (state >> 33) % bound;
}

/* As buckets have it. */
static struct vamp_bucket_histogram *sparse(const struct vamp_histogram *dense, unsigned bin_count)
{
    struct vamp_bucket_histogram *histogram = calloc(1, vamp_bucket_histogram_bytes(bin_count));
    assert_non_null(histogram);
    *histogram = (struct vamp_bucket_histogram){
        .count = dense->count, .sum = dense->sum, .min = dense->min, .max = dense->max};
    for (unsigned i = 0; i < bin_count; i++) {
        if (dense->bins[i] > 0) {
            histogram->bins[histogram->bin_count].count = dense->bins[i];
            histogram->bins[histogram->bin_count++].bin = i;
        }
    }
    return histogram;
}

static struct vamp_histogram *empty_histogram(unsigned bin_count)
{
    struct vamp_histogram *dense = malloc(sizeof *dense + bin_count * sizeof dense->bins[0]);
    assert_non_null(dense);
    vamp_histogram_clear(dense, bin_count);
    return dense;
}

static void record_waits(struct made *made, unsigned series)
{
    made->recorded_count[series] = (unsigned)random_below(4);
    if (made->recorded_count[series] == 0) {
        return;
    }
    struct vamp_histogram *dense = empty_histogram(made->schema.bins.count);
    for (unsigned i = 0; i < made->recorded_count[series]; i++) {
        made->recorded[series][i] = random_below(100000);
        plain_histogram_record(dense, made->schema.bins.sub_bits, made->recorded[series][i]);
    }
    made->histograms[series] = sparse(dense, made->schema.bins.count);
    free(dense);
    made->waits[made->values[WAIT].count++] =
        (struct vamp_histogram_value){.series = series, .histogram = made->histograms[series]};
}

static struct made *make(uint64_t number, int64_t start_ns, unsigned known)
{
    struct made *made = calloc(1, sizeof *made);
    assert_non_null(made);
    made->schema = (struct vamp_schema){.label_sets = sets,
                                        .label_set_count = SETS,
                                        .metrics = metrics,
                                        .metric_count = METRICS,
                                        .bucket_ns = SECOND};
    vamp_bins_init(&made->schema.bins, 3);
    made->series_count[PAIRS] = known;
    made->series_count[ALONE] = 1;
    made->series_count[TIERS] = 3;
    made->bucket = (struct vamp_bucket){.number = number,
                                        .buckets = 1,
                                        .start_ns = start_ns,
                                        .width_ns = SECOND,
                                        .schema = &made->schema,
                                        .series_count = made->series_count,
                                        .series = all_places,
                                        .values = made->values,
                                        .accounting = {.received = number * 10},
                                        .holders = 1,
                                        .destroy = note_destroyed};
    for (unsigned i = 0; i < known; i++) {
        made->created[i] = (struct vamp_counter_value){random_below(1000), random_below(10)};
        record_waits(made, i);
    }
    for (unsigned i = 0; i < 3; i++) {
        const int64_t least = (int64_t)random_below(5);
        made->active[i] = (struct vamp_gauge_value){least + 1, least, least + 4};
    }
    made->pool = (struct vamp_gauge_value){(int64_t)number, (int64_t)number - 1, 50};
    made->sampled.delta = number + 1;
    made->weighted.delta = (number + 1) * (number + 2);
    const int64_t weight = (int64_t)(number + 2) * 1000000;
    made->weight = (struct vamp_gauge_value){weight, weight, weight};
    made->values[CREATED] = (struct vamp_metric_values){.count = known, .counters = made->created};
    made->values[POOL] = (struct vamp_metric_values){.count = 1, .gauges = &made->pool};
    made->values[WAIT].histograms = made->waits;
    made->values[ACTIVE] = (struct vamp_metric_values){.count = 3, .gauges = made->active};
    made->values[SAMPLED] = (struct vamp_metric_values){.count = 1, .counters = &made->sampled};
    made->values[WEIGHTED] = (struct vamp_metric_values){.count = 1, .counters = &made->weighted};
    made->values[WEIGHT] = (struct vamp_metric_values){.count = 1, .gauges = &made->weight};
    return made;
}

static void unmake(struct made *made)
{
    for (unsigned i = 0; i < SERIES; i++) {
        free(made->histograms[i]);
    }
    free(made);
}

static struct vamp_resolution *create(const struct vamp_resolution_choice *choice,
                                      const struct made *made)
{
    struct vamp_resolution_choice all = *choice;
    all.metrics = all.metrics != NULL ? all.metrics : &no_strings;
    all.series = all.series != NULL ? all.series : &no_strings;
    all.by = all.by != NULL ? all.by : &no_sets;
    all.without = all.without != NULL ? all.without : &no_sets;
    struct vamp_resolution *resolution = NULL;
    assert_false(vamp_resolution_is_whole(&all, &made->schema));
    assert_int_equal(vamp_resolution_create(&all, &made->schema, &resolution, NULL), 0);
    return resolution;
}

static const struct vamp_bucket *add(struct vamp_resolution *resolution, const struct made *made)
{
    assert_true(vamp_resolution_fits(resolution, &made->bucket));
    assert_int_equal(vamp_resolution_add(resolution, &made->bucket, NULL), 0);
    return vamp_resolution_bucket(resolution);
}

/* ---- choices */

static void nothing_to_do(void **unused)
{
    (void)unused;
    struct made *made = make(0, 0, 3);
    struct vamp_resolution_choice choice = {
        .metrics = &no_strings, .series = &no_strings, .by = &no_sets, .without = &no_sets};
    assert_true(vamp_resolution_is_whole(&choice, &made->schema));
    choice.bucket_ns = SECOND;
    assert_true(vamp_resolution_is_whole(&choice, &made->schema));
    choice.bucket_ns = 2 * SECOND;
    assert_false(vamp_resolution_is_whole(&choice, &made->schema));
    unmake(made);
}

static void chosen_metrics_only(void **unused)
{
    (void)unused;
    char *patterns[] = {(char[]){"transport*"}, (char[]){"pool_cdos"}};
    const struct vamp_strings wanted = {.items = patterns, .count = 2};
    struct made *made = make(7, 0, 3);
    struct vamp_resolution *resolution =
        create(&(struct vamp_resolution_choice){.metrics = &wanted}, made);
    const struct vamp_schema *own = vamp_resolution_schema(resolution);
    assert_int_equal(own->metric_count, 2);
    assert_int_equal(own->metrics[0].id, VAMP_METRIC_POOL_CDOS);
    assert_int_equal(own->metrics[1].id, VAMP_METRIC_TRANSPORTS_ACTIVE);
    assert_false(own->metrics[1].has_bounds);
    assert_string_equal(own->label_sets[own->metrics[1].label_set].name, "tier_series");
    assert_null(vamp_resolution_bucket(resolution));
    for (unsigned round = 0; round < 3; round++) {
        const struct vamp_bucket *bucket = add(resolution, made);
        assert_true(vamp_resolution_is_complete(resolution));
        assert_ptr_equal(bucket->schema, own);
        assert_int_equal(bucket->number, 7);
        assert_int_equal(bucket->buckets, 1);
        assert_int_equal(bucket->values[0].gauges[0].value, 7);
        assert_int_equal(bucket->values[1].count, 3);
        assert_memory_equal(bucket->values[1].gauges, made->active, sizeof made->active);
        vamp_resolution_clear(resolution);
        assert_null(vamp_resolution_bucket(resolution));
    }
    assert_int_equal(made->bucket.holders, 1);
    vamp_resolution_free(resolution);
    unmake(made);
}

/* Chosen series keep their new numbers when others come, (other) always stays, and what does not
 * have the label is left alone. */
static void chosen_series_only(void **unused)
{
    (void)unused;
    char *texts[] = {(char[]){"component=IFS*"}, (char[]){"size_class=[[]0,*"},
                     (char[]){"component=Nobody"}};
    const struct vamp_strings wanted = {.items = texts, .count = 3};
    struct made *few = make(0, 0, 3), *many = make(1, SECOND, SERIES);
    struct vamp_resolution *resolution =
        create(&(struct vamp_resolution_choice){.series = &wanted}, few);
    assert_int_equal(vamp_resolution_schema(resolution)->metric_count, METRICS + 1);
    const struct vamp_bucket *first = add(resolution, few);
    const struct vamp_row outside = vamp_row_at(first, METRICS, 1);
    assert_string_equal(outside.metric->name, "vampire_not_in_output");
    assert_string_equal(outside.series->labels[0], "cdos_created");
    assert_int_equal(outside.counter->delta, few->created[2].delta);
    assert_int_equal(outside.counter->value, few->created[2].value);
    assert_int_equal(first->series_count[0], 2);
    assert_int_equal(first->values[CREATED].count, 2);
    assert_int_equal(first->values[CREATED].counters[1].delta, few->created[1].delta);
    assert_int_equal(first->values[ACTIVE].count, 3);
    vamp_resolution_clear(resolution);
    const struct vamp_bucket *second = add(resolution, many);
    assert_int_equal(second->series_count[0], 3);
    assert_string_equal(second->series[0][1]->labels[0], "IFS -- 0");
    assert_string_equal(second->series[0][2]->labels[0], "IFS -- 1");
    assert_string_equal(second->series[0][2]->labels[1], "[0,256)");
    assert_int_equal(second->values[CREATED].counters[2].value, many->created[5].value);
    vamp_resolution_free(resolution);
    unmake(few);
    unmake(many);
}

static void labels_by_metric(void **unused)
{
    (void)unused;
    struct vamp_named_set by[] = {{(char[]){"transport*"}, 1U << VAMP_LABEL_SOURCE},
                                  {(char[]){"transports"}, 1U << VAMP_LABEL_SINK}};
    struct vamp_named_set all[] = {{(char[]){"*"}, 1U << VAMP_LABEL_TIER}};
    const struct vamp_sets keep = {by, 2}, drop = {all, 1};
    const uint32_t labels = 1U << VAMP_LABEL_SOURCE | 1U << VAMP_LABEL_SINK | 1U << VAMP_LABEL_TIER;
    assert_int_equal(vamp_resolution_labels(&keep, &drop, "transports", labels),
                     1U << VAMP_LABEL_SINK);
    assert_int_equal(vamp_resolution_labels(&keep, &drop, "transport_ns", labels),
                     1U << VAMP_LABEL_SOURCE);
    assert_int_equal(vamp_resolution_labels(&keep, &drop, "anything", labels),
                     labels & ~(1U << VAMP_LABEL_TIER));
    assert_int_equal(vamp_resolution_labels(&no_sets, &no_sets, "anything", labels), labels);
}

/* ---- merging */

/* Which of the made-up series have this component, for the slow way. */
static bool is_of(unsigned series, const char *component)
{
    return strcmp(pairs[series].labels[0], component) == 0;
}

/* One component's numbers over some buckets, the slow way, against those of the merged bucket. */
static void check_component(struct made *const *all, unsigned count,
                            const struct vamp_bucket *merged, unsigned series)
{
    const struct vamp_bins *bins = &all[0]->schema.bins;
    const char *component = merged->series[0][series]->labels[0];
    uint64_t value = 0, delta = 0;
    struct vamp_histogram *expected = empty_histogram(bins->count);
    for (unsigned b = 0; b < count; b++) {
        for (unsigned i = 0; i < all[b]->series_count[PAIRS]; i++) {
            if (!is_of(i, component)) {
                continue;
            }
            value += b + 1 == count ? all[b]->created[i].value : 0;
            delta += all[b]->created[i].delta;
            for (unsigned k = 0; k < all[b]->recorded_count[i]; k++) {
                plain_histogram_record(expected, bins->sub_bits, all[b]->recorded[i][k]);
            }
        }
    }
    assert_int_equal(merged->values[CREATED].counters[series].value, value);
    assert_int_equal(merged->values[CREATED].counters[series].delta, delta);
    const struct vamp_metric_values *waits = &merged->values[WAIT];
    const struct vamp_bucket_histogram *found = NULL;
    for (unsigned i = 0; i < waits->count; i++) {
        found = waits->histograms[i].series == series ? waits->histograms[i].histogram : found;
        assert_true(i == 0 || waits->histograms[i].series > waits->histograms[i - 1].series);
    }
    assert_true((found != NULL) == (expected->count > 0));
    if (found != NULL) {
        struct vamp_bucket_histogram *wanted = sparse(expected, bins->count);
        assert_int_equal(found->bin_count, wanted->bin_count);
        assert_int_equal(found->count, wanted->count);
        assert_int_equal(found->sum, wanted->sum);
        assert_int_equal(found->min, wanted->min);
        assert_int_equal(found->max, wanted->max);
        for (unsigned i = 0; i < wanted->bin_count; i++) {
            assert_int_equal(found->bins[i].bin, wanted->bins[i].bin);
            assert_int_equal(found->bins[i].count, wanted->bins[i].count);
        }
        free(wanted);
    }
    free(expected);
}

static void check_gauges(struct made *const *all, unsigned count, const struct vamp_bucket *merged)
{
    int64_t least = INT64_MAX, most = INT64_MIN, last = 0, pool_least = INT64_MAX;
    uint64_t sampled = 0, weighted = 0;
    for (unsigned b = 0; b < count; b++) {
        int64_t sum[3] = {0};
        for (unsigned i = 0; i < 3; i++) {
            sum[0] += all[b]->active[i].min;
            sum[1] += all[b]->active[i].max;
            sum[2] += all[b]->active[i].value;
        }
        least = sum[0] < least ? sum[0] : least;
        most = sum[1] > most ? sum[1] : most;
        last = sum[2];
        pool_least = all[b]->pool.min < pool_least ? all[b]->pool.min : pool_least;
        sampled += all[b]->sampled.delta;
        weighted += all[b]->weighted.delta;
    }
    const struct vamp_gauge_value *active = merged->values[ACTIVE].gauges;
    assert_int_equal(merged->values[ACTIVE].count, 1);
    assert_int_equal(active->value, last);
    assert_int_equal(active->min, least);
    assert_int_equal(active->max, most);
    assert_true(merged->schema->metrics[ACTIVE].has_bounds);
    const struct vamp_gauge_value *pool = merged->values[POOL].gauges;
    assert_int_equal(pool->value, all[count - 1]->pool.value);
    assert_int_equal(pool->min, pool_least);
    assert_false(merged->schema->metrics[POOL].has_bounds);
    const struct vamp_gauge_value *weight = merged->values[WEIGHT].gauges;
    assert_int_equal(weight->value, (int64_t)((double)weighted * 1e6 / (double)sampled + 0.5));
    assert_int_equal(weight->min, all[0]->weight.value);
    assert_int_equal(weight->max, all[count - 1]->weight.value);
}

/* Random buckets, random numbers of them in one: each series and metric as if it had been counted
 * so. */
static void merges_like_the_union(void **unused)
{
    (void)unused;
    struct vamp_named_set all_metrics[] = {
        {(char[]){"*"}, 1U << VAMP_LABEL_SIZE_CLASS | 1U << VAMP_LABEL_TIER}};
    const struct vamp_sets without = {all_metrics, 1};
    struct made *all[60] = {NULL};
    struct vamp_resolution *resolution = NULL;
    uint64_t number = 0;
    for (unsigned round = 0; round < 200; round++) {
        const unsigned count = 1 + (unsigned)random_below(60);
        unsigned known = 1;
        for (unsigned b = 0; b < count; b++) {
            known = round > 0 ? SERIES : known + (unsigned)random_below(SERIES - known + 1);
            all[b] = make(number++, ((int64_t)round * 60 + (int64_t)b) * SECOND, known);
            if (resolution == NULL) {
                resolution = create(
                    &(struct vamp_resolution_choice){.without = &without, .bucket_ns = 60 * SECOND},
                    all[b]);
                assert_int_equal(vamp_resolution_schema(resolution)->bucket_ns, 60 * SECOND);
            }
            (void)add(resolution, all[b]);
            assert_true(vamp_resolution_is_complete(resolution) == (b == 59));
        }
        const struct vamp_bucket *merged = vamp_resolution_bucket(resolution);
        assert_int_equal(merged->number, number - count);
        assert_int_equal(merged->buckets, count);
        assert_int_equal(merged->start_ns, (int64_t)round * 60 * SECOND);
        assert_int_equal(merged->width_ns, 60 * SECOND);
        assert_int_equal(merged->accounting.received, (number - 1) * 10);
        for (unsigned i = 0; i < merged->series_count[0]; i++) {
            check_component(all, count, merged, i);
        }
        check_gauges(all, count, merged);
        vamp_resolution_clear(resolution);
        for (unsigned b = 0; b < count; b++) {
            unmake(all[b]);
        }
    }
    assert_int_equal(vamp_resolution_schema(resolution)->label_sets[0].label_count, 1);
    vamp_resolution_free(resolution);
}

/* Before 1970, at a border, after a silence: a bucket begins at a multiple of its width. */
static void aligned_like_the_statistics(void **unused)
{
    (void)unused;
    struct made *made[] = {make(0, -61 * SECOND, 3), make(1, -60 * SECOND, 3),
                           make(2, -1 * SECOND, 3), make(3, 0, 3)};
    struct vamp_resolution *resolution =
        create(&(struct vamp_resolution_choice){.bucket_ns = 60 * SECOND}, made[0]);
    assert_int_equal(add(resolution, made[0])->start_ns, -120 * SECOND);
    assert_true(vamp_resolution_is_complete(resolution));
    assert_false(vamp_resolution_fits(resolution, &made[1]->bucket));
    vamp_resolution_clear(resolution);
    assert_int_equal(add(resolution, made[1])->start_ns, -60 * SECOND);
    assert_false(vamp_resolution_is_complete(resolution));
    assert_int_equal(add(resolution, made[2])->start_ns, -60 * SECOND);
    assert_true(vamp_resolution_is_complete(resolution));
    assert_false(vamp_resolution_fits(resolution, &made[3]->bucket));
    vamp_resolution_free(resolution);
    for (unsigned i = 0; i < 4; i++) {
        unmake(made[i]);
    }
}

/* The rows of all are listed up to the bound of any bucket; the rest is counted. */
static void rows_up_to_a_bound(void **unused)
{
    (void)unused;
    static const struct vamp_listed_anomaly anomalies[40] = {{.count = 1}};
    static const struct vamp_cdo_row rows[3] = {{.demands = 1}, {.demands = 2}, {.demands = 3}};
    struct made *made[] = {make(0, 0, 3), make(1, SECOND, 3)};
    made[0]->schema.level = VAMP_LEVEL_CDO;
    struct vamp_resolution *resolution =
        create(&(struct vamp_resolution_choice){.bucket_ns = 60 * SECOND}, made[0]);
    for (unsigned i = 0; i < 2; i++) {
        made[i]->bucket.anomalies = anomalies;
        made[i]->bucket.anomaly_count = 40;
        made[i]->bucket.anomalies_unlisted = 5;
        made[i]->bucket.cdos = rows;
        made[i]->bucket.cdo_count = 3;
    }
    (void)add(resolution, made[0]);
    const struct vamp_bucket *merged = add(resolution, made[1]);
    assert_int_equal(merged->anomaly_count, VAMP_ANOMALIES_MAX);
    assert_int_equal(merged->anomalies_unlisted, 2 * 40 - VAMP_ANOMALIES_MAX + 2 * 5);
    assert_int_equal(merged->cdo_count, 6);
    assert_int_equal(merged->cdos[5].demands, 3);
    assert_int_equal(merged->cdos_unlisted, 0);
    vamp_resolution_free(resolution);
    unmake(made[0]);
    unmake(made[1]);
}

/* ---- a budget */

static uint64_t counted_in(const struct vamp_metric_values *values, unsigned from, unsigned to)
{
    uint64_t sum = 0;
    for (unsigned i = from; i < to && i < values->count; i++) {
        sum += values->counters[i].value;
    }
    return sum;
}

static uint64_t recorded_in(const struct vamp_metric_values *values)
{
    uint64_t count = 0;
    for (unsigned i = 0; i < values->count; i++) {
        count += values->histograms[i].histogram->count;
    }
    return count;
}

static unsigned lines_of(const struct vamp_bucket *bucket)
{
    unsigned lines = 0;
    for (unsigned m = 0; m < bucket->schema->metric_count; m++) {
        const struct vamp_schema_metric *entry = &bucket->schema->metrics[m];
        const unsigned count = bucket->series_count[entry->label_set];
        lines += count + (entry->coarser_from > 0 ? count - entry->coarser_from : 0);
    }
    return lines;
}

/* A component or two at a time, 40 s apart. Whatever the budget: sums are exact in each bucket, the
 * lines are never more, what was published stays where it was, coarser series begin with 0 and
 * count a minute later, and once they have taken over it does not change. */
static void nothing_is_lost_to_a_budget(void **unused)
{
    (void)unused;
    for (uint64_t budget = METRICS; budget < 40; budget++) {
        struct vamp_resolution *resolution = NULL;
        const struct vamp_bucket *bucket = NULL;
        uint64_t frozen = 0, merged_at = UINT64_MAX;
        bool told = false;
        unsigned series = 0;
        for (uint64_t n = 0; n < 16; n++) {
            const unsigned known = n < 6 ? 1 + (unsigned)n : SERIES;
            struct made *made = make(n, (int64_t)n * 40 * SECOND, known);
            for (unsigned i = 0; i < known; i++) {
                made->created[i] = (struct vamp_counter_value){100 * n + i, i > 0 ? 100 : n};
            }
            if (resolution == NULL) {
                resolution = create(&(struct vamp_resolution_choice){.budget = budget}, made);
            }
            bucket = add(resolution, made);
            assert_true(lines_of(bucket) <= budget);
            assert_int_equal(counted_in(&bucket->values[CREATED], 0, UINT32_MAX),
                             counted_in(&made->values[CREATED], 0, UINT32_MAX));
            assert_int_equal(recorded_in(&bucket->values[WAIT]), recorded_in(&made->values[WAIT]));
            const unsigned from = bucket->schema->metrics[CREATED].coarser_from;
            const uint64_t before = counted_in(&bucket->values[CREATED], 1, from);
            assert_true(n < 12 || before == frozen);
            frozen = before;
            merged_at = from > 0 && n < merged_at ? n : merged_at;
            /* What takes over begins with 0, newcomers or not: they are "(other)" until then. */
            assert_true(n < merged_at || n > merged_at + 1 ||
                        counted_in(&bucket->values[CREATED], from, UINT32_MAX) == 0);
            char text[VAMP_ERR_TEXT_BYTES];
            told = vamp_resolution_remark(resolution, text) || told;
            series = bucket->series_count[bucket->schema->metrics[CREATED].label_set];
            vamp_resolution_clear(resolution);
            unmake(made);
        }
        const struct vamp_schema_metric *entry =
            &vamp_resolution_schema(resolution)->metrics[CREATED];
        const enum vamp_detail detail = entry->detail;
        assert_true(told || budget >= 21); /* all labels are 21 lines */
        assert_true(budget * 2 / 3 < 22 ||
                    (!told && detail == VAMP_DETAIL_FULL && series == SERIES));
        vamp_resolution_free(resolution);
    }
}

static void a_budget_can_be_too_small(void **unused)
{
    (void)unused;
    struct made *made = make(0, 0, 3);
    struct vamp_resolution *resolution = NULL;
    struct vamp_err err = VAMP_ERR_NONE;
    const struct vamp_resolution_choice choice = {.metrics = &no_strings,
                                                  .series = &no_strings,
                                                  .by = &no_sets,
                                                  .without = &no_sets,
                                                  .budget = METRICS - 1};
    assert_int_equal(vamp_resolution_create(&choice, &made->schema, &resolution, &err), -EINVAL);
    assert_non_null(strstr(err.text, "too small"));
    unmake(made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_to_do),
        cmocka_unit_test(chosen_metrics_only),
        cmocka_unit_test(chosen_series_only),
        cmocka_unit_test(labels_by_metric),
        cmocka_unit_test(merges_like_the_union),
        cmocka_unit_test(aligned_like_the_statistics),
        cmocka_unit_test(rows_up_to_a_bound),
        cmocka_unit_test(nothing_is_lost_to_a_budget),
        cmocka_unit_test(a_budget_can_be_too_small),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
