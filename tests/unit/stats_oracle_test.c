/* SPDX-License-Identifier: BSD-3-Clause */
/* Random streams: every value of every bucket against the oracle. */
#include "tests/unit/stats_oracle_rules.h"

#define SEEDS 60
#define EVENTS 1200
#define APPS 7
#define CDOS 12

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* ---- comparing */

static uint64_t slow_bin(const struct vamp_bins *bins, uint64_t value)
{
    for (unsigned i = 0; i < bins->count; i++) {
        if (bins->lower[i] <= value && value <= bins->upper[i]) {
            return i;
        }
    }
    return UINT64_MAX;
}

static void differ(const struct fact *fact, size_t bucket, long long found, long long expected)
{
    fail_msg("%s {%s} in bucket %zu is %lld, the oracle says %lld", vamp_metrics[fact->metric].name,
             fact->labels, bucket, found, expected);
}

/* What the oracle says of one series in all buckets up to `bucket`. A gauge moves once an event. */
struct sum {
    int64_t before, within, min, max; /* of changes: the running value's bounds */
    uint64_t count, smallest, largest;
    uint64_t bins[VAMP_BINS_MAX];
};

static void bound(struct sum *sum)
{
    sum->min = sum->within < sum->min ? sum->within : sum->min;
    sum->max = sum->within > sum->max ? sum->within : sum->max;
}

static void add_up(const struct oracle *o, const struct fact *which, int64_t bucket,
                   const struct vamp_bins *bins, struct sum *sum)
{
    size_t event = SIZE_MAX;
    *sum = (struct sum){.smallest = UINT64_MAX};
    for (size_t i = 0; i < o->fact_count; i++) {
        const struct fact *fact = &o->facts[i];
        if (fact->metric != which->metric || fact->bucket > bucket ||
            strcmp(fact->labels, which->labels) != 0) {
            continue;
        }
        if (fact->bucket < bucket) {
            sum->before += fact->value;
            continue;
        }
        if (fact->event != event) {
            bound(sum);
        }
        event = fact->event;
        sum->within += fact->value;
        uint64_t value = (uint64_t)fact->value;
        sum->count++;
        sum->smallest = value < sum->smallest ? value : sum->smallest;
        sum->largest = value > sum->largest ? value : sum->largest;
        if (vamp_metrics[which->metric].kind == VAMP_HISTOGRAM) {
            sum->bins[slow_bin(bins, value)]++;
        }
    }
    bound(sum);
}

static void compare_gauge(const struct collect *run, const struct fact *fact, size_t b,
                          const struct sum *sum)
{
    const struct vamp_gauge_value gauge = collect_gauge(run, b, fact->metric, fact->labels);
    if (gauge.value != sum->before + sum->within) {
        differ(fact, b, gauge.value, sum->before + sum->within);
    }
    if (gauge.min != sum->before + sum->min || gauge.max != sum->before + sum->max) {
        differ(fact, b, gauge.max, sum->before + sum->max);
    }
}

static void compare_histogram(const struct collect *run, const struct fact *fact, size_t b,
                              const struct sum *sum)
{
    const struct vamp_histogram *histogram = collect_histogram(run, b, fact->metric, fact->labels);
    const uint64_t count = histogram == NULL ? 0 : histogram->count;
    if (count != sum->count) {
        differ(fact, b, (long long)count, (long long)sum->count);
    }
    if (histogram == NULL) {
        return;
    }
    if (histogram->sum != (uint64_t)sum->within || histogram->min != sum->smallest ||
        histogram->max != sum->largest) {
        differ(fact, b, (long long)histogram->sum, sum->within);
    }
    const unsigned bins = vamp_stats_schema(run->stats)->bins.count;
    assert_memory_equal(histogram->bins, sum->bins, bins * sizeof(uint64_t));
}

static void compare_series(const struct collect *run, const struct oracle *o,
                           const struct fact *fact)
{
    for (size_t b = 0; b < run->count; b++) {
        struct sum sum;
        const int64_t bucket = run->buckets[b]->start_ns / SECOND;
        add_up(o, fact, bucket, &vamp_stats_schema(run->stats)->bins, &sum);
        switch (vamp_metrics[fact->metric].kind) {
        case VAMP_COUNTER: {
            uint64_t value = collect_counter(run, b, fact->metric, fact->labels);
            if (value != (uint64_t)(sum.before + sum.within)) {
                differ(fact, b, (long long)value, sum.before + sum.within);
            }
            break;
        }
        case VAMP_GAUGE:
            compare_gauge(run, fact, b, &sum);
            break;
        case VAMP_HISTOGRAM:
            compare_histogram(run, fact, b, &sum);
            break;
        }
    }
}

static bool is_first_of_series(const struct oracle *o, size_t which)
{
    for (size_t i = 0; i < which; i++) {
        if (o->facts[i].metric == o->facts[which].metric &&
            strcmp(o->facts[i].labels, o->facts[which].labels) == 0) {
            return false;
        }
    }
    return true;
}

/* No series may have values the oracle knows nothing of. */
static void compare_counts(const struct collect *run, const struct oracle *o)
{
    const struct vamp_bucket *last = run->buckets[run->count - 1];
    for (unsigned m = 0; m < last->schema->metric_count; m++) {
        const enum vamp_metric_id id = last->schema->metrics[m].id;
        uint64_t found = 0, expected = 0;
        if (vamp_metrics[id].kind == VAMP_HISTOGRAM) {
            found = collect_recorded(run, id);
        }
        for (unsigned s = 0; vamp_metrics[id].kind == VAMP_COUNTER && s < last->values[m].count;
             s++) {
            found += last->values[m].counters[s].value;
        }
        for (size_t i = 0; i < o->fact_count; i++) {
            if (o->facts[i].metric == id) {
                expected +=
                    vamp_metrics[id].kind == VAMP_HISTOGRAM ? 1 : (uint64_t)o->facts[i].value;
            }
        }
        if (vamp_metrics[id].kind != VAMP_GAUGE && found != expected) {
            fail_msg("%s has %llu values, the oracle %llu", vamp_metrics[id].name,
                     (unsigned long long)found, (unsigned long long)expected);
        }
    }
}

/* ---- random streams */

static struct vamp_event random_event(uint64_t *random, int64_t *now_ns)
{
    static const uint8_t kinds[] = {1, 1, 2, 3, 3,  3,  4,  4,  5,  5,  5,  6,  7,  7,  7,
                                    8, 9, 9, 9, 10, 10, 11, 11, 11, 12, 12, 12, 13, 14, 15};
    const uint64_t dice = next_random(random);
    *now_ns += (int64_t)(next_random(random) % 5000000);
    *now_ns += dice % 500 == 0 ? 3 * SECOND : 0;
    /* Most events come in order, some a little early, few very late. */
    int64_t time_ns = *now_ns;
    time_ns -= dice % 7 == 0 ? (int64_t)(next_random(random) % 20000000) : 0;
    time_ns -= dice % 97 == 0 ? (int64_t)(next_random(random) % (3 * (uint64_t)SECOND)) : 0;
    const enum vamp_event_kind kind =
        (enum vamp_event_kind)kinds[next_random(random) % (sizeof kinds)];
    const uint64_t app = 1 + next_random(random) % APPS;
    const uint64_t cdo = 1 + next_random(random) % CDOS;
    struct vamp_event event;
    if (kind == VAMP_EVENT_JOIN) {
        static const char *const names[] = {"IFS -- 0", "IFS -- 1", "IFS -- 0", "Products, \"1\""};
        event = event_join(time_ns, app, names[app % 4]);
        return event; /* after, always: before, it has no id */
    }
    if (kind == VAMP_EVENT_LEAVE) {
        event = event_leave(time_ns, app, (enum vamp_leave_reason)(1 + dice % 4));
    } else if (kind >= VAMP_EVENT_TRANSPORT_INIT && kind <= VAMP_EVENT_TRANSPORT_FAILED) {
        event = event_transport(kind, time_ns, 1 + next_random(random) % 9, cdo, app,
                                next_random(random) % (APPS + 1));
        event.tier = (uint8_t)(next_random(random) % VAMP_TIER_COUNT);
        event.cause = (uint8_t)(next_random(random) % VAMP_CAUSE_COUNT);
        event.present |= VAMP_HAS_TIER | VAMP_HAS_CAUSE;
    } else if (kind == VAMP_EVENT_SUBSCRIBE || kind == VAMP_EVENT_UNSUBSCRIBE) {
        event = event_of(kind, time_ns, app);
    } else {
        event = event_cdo(kind, time_ns, app, cdo);
    }
    if (next_random(random) % 3 == 0 && vamp_event_has(&event, VAMP_HAS_CDO_ID)) {
        event = event_with_size(event, next_random(random) >> (32 + next_random(random) % 32));
    }
    return next_random(random) % 4 == 0 ? event_before(event) : event;
}

static void check_stream(uint64_t seed)
{
    struct oracle *o = calloc(1, sizeof *o);
    struct vamp_stats_options options = collect_options();
    options.max_components = 256;
    struct collect run;
    collect_start(&run, &options);
    o->components = run.components;
    uint64_t random = seed * UINT64_C(0x9E3779B97F4A7C15);
    int64_t now_ns = 1700000000 * SECOND;
    for (unsigned i = 0; i < EVENTS; i++) {
        struct vamp_event event = random_event(&random, &now_ns);
        o->event_number = i;
        collect_feed(&run, event);
        oracle_observe(o, &event);
    }
    o->bucket = o->latest_ns / SECOND;
    for (size_t i = 0; i < o->cdo_count; i++) {
        uncounted(o, &o->cdos[i]);
    }
    vamp_stats_finish(run.stats);
    compare_counts(&run, o);
    for (size_t i = 0; i < o->fact_count; i++) {
        if (is_first_of_series(o, i)) {
            compare_series(&run, o, &o->facts[i]);
        }
    }
    collect_end(&run);
    free(o);
}

static void random_streams_agree_with_the_oracle(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        check_stream(seed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_streams_agree_with_the_oracle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
