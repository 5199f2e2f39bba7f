/* SPDX-License-Identifier: BSD-3-Clause */
/* Buckets, time and accounts. */
#include "tests/unit/stats_collect.h"

#include <malloc.h>
#include <pthread.h>

static struct collect run;

static void start_with(struct vamp_stats_options options)
{
    collect_start(&run, &options);
}

static int start(void **state)
{
    (void)state;
    start_with(collect_options());
    return 0;
}

static int end(void **state)
{
    (void)state;
    collect_end(&run);
    return 0;
}

static void at(int64_t time_ns)
{
    collect_feed(&run, event_of(VAMP_EVENT_SUBSCRIBE, time_ns, 1));
}

static uint64_t counted(size_t bucket)
{
    return run.buckets[bucket]->accounting.counted -
           (bucket == 0 ? 0 : run.buckets[bucket - 1]->accounting.counted);
}

static void check_identity(void)
{
    for (size_t b = 0; b < run.count; b++) {
        const struct vamp_accounting *account = &run.buckets[b]->accounting;
        assert_int_equal(account->received, account->decoded + account->rejected);
        assert_int_equal(account->decoded, account->counted + account->filtered);
        assert_int_equal(collect_counter(&run, b, VAMP_METRIC_VAMPIRE_RECEIVED, ""),
                         account->received);
        assert_int_equal(collect_counter(&run, b, VAMP_METRIC_VAMPIRE_DECODED, ""),
                         account->decoded);
        assert_int_equal(collect_counter(&run, b, VAMP_METRIC_VAMPIRE_REJECTED, ""),
                         account->rejected);
        assert_int_equal(collect_counter(&run, b, VAMP_METRIC_VAMPIRE_FILTERED, ""),
                         account->filtered);
        assert_int_equal(collect_counter(&run, b, VAMP_METRIC_VAMPIRE_COUNTED, ""),
                         account->counted);
        assert_int_equal(collect_counter(&run, b, VAMP_METRIC_VAMPIRE_LATE, ""), account->late);
    }
}

static void buckets_are_aligned_and_close_after_their_lateness(void **state)
{
    (void)state;
    at(100 * SECOND + 900);
    at(101 * SECOND);
    assert_int_equal(run.count, 0);
    at(102 * SECOND - 1);
    assert_int_equal(run.count, 0);
    at(102 * SECOND);
    assert_int_equal(run.count, 1);
    assert_int_equal(run.buckets[0]->start_ns, 100 * SECOND);
    assert_int_equal(run.buckets[0]->width_ns, SECOND);
    assert_int_equal(counted(0), 1);
    vamp_stats_finish(run.stats);
    assert_int_equal(run.count, 3);
    assert_int_equal(counted(1), 2);
    assert_int_equal(counted(2), 1);
    check_identity();
}

static void an_event_out_of_order_finds_its_open_bucket(void **state)
{
    (void)state;
    at(100 * SECOND);
    at(101 * SECOND);
    at(100 * SECOND + 5);
    at(102 * SECOND);
    at(100 * SECOND + 6); /* closed: late, counts in the oldest open one */
    vamp_stats_finish(run.stats);
    assert_int_equal(run.count, 3);
    assert_int_equal(counted(0), 2);
    assert_int_equal(counted(1), 2);
    assert_int_equal(run.buckets[0]->accounting.late, 0);
    assert_int_equal(run.buckets[1]->accounting.late, 1);
    check_identity();
}

static void times_before_1970_are_times(void **state)
{
    (void)state;
    at(-5);
    at(0);
    at(VAMP_TIME_MIN);
    at(VAMP_TIME_MAX);
    at(INT64_MIN);
    at(INT64_MAX);
    at(VAMP_TIME_MIN - 1);
    at(VAMP_TIME_MAX + 1);
    vamp_stats_finish(run.stats);
    assert_int_equal(run.buckets[run.count - 1]->accounting.rejected, 4);
    assert_int_equal(run.buckets[0]->start_ns, -SECOND);
    assert_int_equal(counted(0), 2);
    assert_int_equal(counted(1), 1);
    assert_int_equal(run.count, 3);
    check_identity();
}

static void silence_makes_empty_buckets(void **state)
{
    (void)state;
    at(100 * SECOND);
    at(105 * SECOND);
    vamp_stats_tick(run.stats, 110 * SECOND);
    assert_int_equal(run.count, 9);
    vamp_stats_tick(run.stats, 90 * SECOND);
    vamp_stats_finish(run.stats);
    assert_int_equal(run.count, 11);
    for (size_t b = 0; b < 11; b++) {
        assert_int_equal(run.buckets[b]->start_ns, (100 + (int64_t)b) * SECOND);
        assert_int_equal(counted(b), b == 0 || b == 5);
        assert_int_equal(run.buckets[b]->gap_count, 0);
    }
}

static void a_long_silence_is_a_gap(void **state)
{
    (void)state;
    at(100 * SECOND);
    at(100 * SECOND + (VAMP_MAX_EMPTY_DEFAULT + 2) * SECOND);
    assert_int_equal(run.count, 1);
    vamp_stats_finish(run.stats);
    assert_int_equal(run.count, 2);
    const struct vamp_bucket *bucket = run.buckets[1];
    assert_int_equal(bucket->gap_count, 1);
    assert_int_equal(bucket->gaps[0].start_ns, 101 * SECOND);
    assert_int_equal(bucket->gaps[0].end_ns, bucket->start_ns);
    assert_int_equal(bucket->gaps[0].events, 0);
    assert_string_equal(vamp_gap_reason_name(bucket->gaps[0].reason), "leap");
}

static void a_silence_of_the_most_empty_buckets_is_written(void **state)
{
    (void)state;
    at(100 * SECOND);
    at(100 * SECOND + (VAMP_MAX_EMPTY_DEFAULT + 1) * SECOND);
    vamp_stats_finish(run.stats);
    assert_int_equal(run.count, VAMP_MAX_EMPTY_DEFAULT + 2);
    assert_int_equal(run.buckets[VAMP_MAX_EMPTY_DEFAULT + 1]->gap_count, 0);
}

static void a_clock_set_back_goes_on(void **state)
{
    (void)state;
    at(1000 * SECOND);
    for (int i = 0; i < 2 * VAMP_LATE_RUN_MAX; i++) {
        at(500 * SECOND + i);
    }
    struct vamp_stats_state now;
    vamp_stats_state(run.stats, &now);
    assert_int_equal(now.set_backs, 1);
    vamp_stats_finish(run.stats);
    assert_int_equal(run.count, 2);
    assert_int_equal(counted(0), VAMP_LATE_RUN_MAX);
    assert_int_equal(run.buckets[1]->accounting.late, VAMP_LATE_RUN_MAX - 1);
    assert_int_equal(run.buckets[1]->start_ns, 500 * SECOND);
    assert_int_equal(run.buckets[1]->gap_count, 1);
    assert_int_equal(run.buckets[1]->gaps[0].end_ns, 500 * SECOND);
    assert_int_equal(counted(1), VAMP_LATE_RUN_MAX + 1);
    check_identity();
}

/* The clock of the first event replaces a clock that was assumed before it. */
static void a_first_event_before_the_assumed_time_sets_it_back(void **state)
{
    (void)state;
    collect_feed(&run, (struct vamp_event){.kind = VAMP_EVENT_TIME, .time_ns = 1000 * SECOND});
    at(500 * SECOND);
    at(499 * SECOND); /* late, as any other event */
    vamp_stats_finish(run.stats);
    assert_int_equal(run.count, 2);
    assert_int_equal(counted(0), 0);
    assert_int_equal(counted(1), 2);
    assert_int_equal(run.buckets[1]->start_ns, 500 * SECOND);
    assert_int_equal(run.buckets[1]->accounting.late, 1);
    assert_int_equal(run.buckets[1]->gap_count, 1);
    assert_int_equal(run.buckets[1]->gaps[0].end_ns, 500 * SECOND);
    check_identity();
}

static void losses_are_gaps_with_exact_numbers(void **state)
{
    (void)state;
    at(100 * SECOND);
    collect_feed(&run, event_lost(100 * SECOND + 50, VAMP_LOSS_RING, 7));
    collect_feed(&run, event_rejected(100 * SECOND + 60, 3));
    collect_feed(&run, event_lost(101 * SECOND, VAMP_LOSS_POOL_MANAGER, 2));
    vamp_stats_finish(run.stats);
    assert_int_equal(run.count, 2);
    const struct vamp_gap *gap = run.buckets[0]->gaps;
    assert_int_equal(run.buckets[0]->gap_count, 1);
    assert_int_equal(gap->start_ns, 100 * SECOND);
    assert_int_equal(gap->end_ns, 100 * SECOND + 50);
    assert_int_equal(gap->reason, VAMP_LOSS_RING);
    assert_int_equal(gap->events, 7);
    assert_int_equal(run.buckets[1]->gaps[0].start_ns, 100 * SECOND + 60);
    assert_int_equal(run.buckets[1]->accounting.lost[VAMP_LOSS_RING], 7);
    assert_int_equal(run.buckets[1]->accounting.lost[VAMP_LOSS_POOL_MANAGER], 2);
    assert_int_equal(run.buckets[0]->accounting.received, 4);
    assert_int_equal(run.buckets[0]->accounting.rejected, 3);
    assert_int_equal(collect_counter(&run, 1, VAMP_METRIC_VAMPIRE_LOST, "ring"), 7);
    assert_int_equal(collect_counter(&run, 1, VAMP_METRIC_VAMPIRE_LOST, "pool_manager"), 2);
    check_identity();
}

static void more_gaps_than_a_bucket_names_are_joined(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++) {
        collect_feed(&run, event_lost(100 * SECOND + i, VAMP_LOSS_RING, 1));
    }
    vamp_stats_finish(run.stats);
    uint64_t events = 0;
    for (unsigned i = 0; i < run.buckets[0]->gap_count; i++) {
        events += run.buckets[0]->gaps[i].events;
    }
    assert_int_equal(events, 100);
    assert_int_equal(run.buckets[0]->gaps[run.buckets[0]->gap_count - 1].end_ns, 100 * SECOND + 99);
}

static void a_gap_joins_the_last_of_its_reason(void **state)
{
    (void)state;
    struct vamp_gap gaps[] = {{10, 20, VAMP_LOSS_RING, 1},
                              {20, 30, VAMP_LOSS_RING, 2},
                              {30, 40, VAMP_LOSS_POOL_MANAGER, 3}};
    vamp_gap_join(gaps, 3, &(struct vamp_gap){15, 50, VAMP_LOSS_RING, 4});
    assert_int_equal(gaps[0].events, 1);
    assert_int_equal(gaps[1].start_ns, 15);
    assert_int_equal(gaps[1].end_ns, 50);
    assert_int_equal(gaps[1].events, 6);
    assert_int_equal(gaps[2].events, 3);
    vamp_gap_join(gaps, 3, &(struct vamp_gap){50, 60, VAMP_LOSS_RECORDING, 5});
    assert_int_equal(gaps[2].events, 8); /* the number is right, wherever it is */
}

static void what_the_filters_turn_away_moves_time_only(void **state)
{
    (void)state;
    struct vamp_event event = event_of(VAMP_EVENT_OFFER, 100 * SECOND, 1);
    vamp_stats_observe(run.stats, &event, false);
    event.time_ns = 102 * SECOND;
    vamp_stats_observe(run.stats, &event, false);
    assert_int_equal(run.count, 1);
    assert_int_equal(run.buckets[0]->accounting.filtered, 1);
    assert_int_equal(collect_counter(&run, 0, VAMP_METRIC_POOL_OPERATIONS, "unknown|offer"), 0);
    vamp_stats_finish(run.stats);
    check_identity();
}

static void counters_accumulate_and_deltas_add_up(void **state)
{
    (void)state;
    const struct vamp_gauge_value *gauge = NULL;
    for (unsigned i = 0; i < 5; i++) {
        for (unsigned k = 0; k <= i; k++) {
            collect_feed(&run, event_cdo(VAMP_EVENT_OFFER, (100 + (int)i) * SECOND, 1,
                                         UINT64_C(100) * i + k));
        }
    }
    collect_feed(&run, event_cdo(VAMP_EVENT_WITHDRAW, 104 * SECOND, 1, 0));
    vamp_stats_finish(run.stats);
    const int metric = collect_metric(&run, VAMP_METRIC_POOL_OPERATIONS);
    const int cdos = collect_metric(&run, VAMP_METRIC_POOL_CDOS);
    uint64_t sum = 0;
    for (size_t b = 0; b < 5; b++) {
        int series = collect_series(run.buckets[b], metric, "unknown|offer");
        assert_int_equal(run.buckets[b]->values[metric].counters[series].delta, b + 1);
        sum += b + 1;
        assert_int_equal(run.buckets[b]->values[metric].counters[series].value, sum);
        gauge = run.buckets[b]->values[cdos].gauges;
        assert_int_equal(gauge->min, sum - (b + 1));
        assert_int_equal(gauge->max, sum);
    }
    assert_int_equal(gauge->value, 14);
}

static void vampires_own_values_go_into_the_next_bucket(void **state)
{
    (void)state;
    struct vamp_output_account outputs[2] = {
        {.name = "hdf5", .queued = 9, .written = 5, .lost = 1, .waiting = 4, .in_queue = 3},
        {.name = "jsonl", .queued = 2, .written = 2}};
    /* Before the first event. */
    vamp_stats_self(run.stats, VAMP_METRIC_OWN_ROUNDTRIP_NS, VAMP_EVENT_JOIN, 77);
    vamp_stats_self(run.stats, VAMP_METRIC_VAMPIRE_RSS_BYTES, 0, 1000);
    vamp_stats_outputs(run.stats, outputs, 2);
    at(100 * SECOND);
    vamp_stats_self(run.stats, VAMP_METRIC_VAMPIRE_RSS_BYTES, 0, 800);
    vamp_stats_self(run.stats, VAMP_METRIC_VAMPIRE_CPU_NS, 0, 5000);
    vamp_stats_self(run.stats, VAMP_METRIC_VAMPIRE_COMMIT_NS, 1, 40);
    vamp_stats_self(run.stats, VAMP_METRIC_POOL_OPERATIONS, 0, 40); /* not one of vampire's */
    vamp_stats_self(run.stats, VAMP_METRIC_VAMPIRE_LAG_NS, 99, 40);
    at(102 * SECOND);
    outputs[0].in_queue = 0;
    outputs[0].written = 8;
    vamp_stats_outputs(run.stats, outputs, 2);
    vamp_stats_self(run.stats, VAMP_METRIC_VAMPIRE_CPU_NS, 0, 5600);
    vamp_stats_finish(run.stats);
    assert_int_equal(collect_histogram(&run, 0, VAMP_METRIC_OWN_ROUNDTRIP_NS, "join")->sum, 77);
    struct vamp_gauge_value rss = collect_gauge(&run, 0, VAMP_METRIC_VAMPIRE_RSS_BYTES, "");
    assert_int_equal(rss.value, 800);
    assert_int_equal(rss.min, 800);
    assert_int_equal(rss.max, 1000);
    rss = collect_gauge(&run, 1, VAMP_METRIC_VAMPIRE_RSS_BYTES, "");
    assert_int_equal(rss.max, 800);
    assert_int_equal(collect_counter(&run, 0, VAMP_METRIC_VAMPIRE_CPU_NS, ""), 5000);
    assert_int_equal(collect_counter(&run, 1, VAMP_METRIC_VAMPIRE_CPU_NS, ""), 5600);
    assert_int_equal(collect_counter(&run, 0, VAMP_METRIC_VAMPIRE_WRITTEN, "hdf5"), 5);
    assert_int_equal(collect_counter(&run, 1, VAMP_METRIC_VAMPIRE_WRITTEN, "hdf5"), 8);
    assert_int_equal(collect_counter(&run, 1, VAMP_METRIC_VAMPIRE_LOST_BUCKETS, "hdf5"), 1);
    assert_int_equal(collect_gauge(&run, 1, VAMP_METRIC_VAMPIRE_QUEUE_HIGH_WATER, "hdf5").max, 3);
    assert_int_equal(collect_histogram(&run, 0, VAMP_METRIC_VAMPIRE_COMMIT_NS, "jsonl")->sum, 40);
    assert_int_equal(run.buckets[0]->accounting.output_count, 2);
    assert_string_equal(run.buckets[0]->accounting.outputs[1].name, "jsonl");
    assert_int_equal(run.buckets[0]->accounting.outputs[0].in_queue, 3);
}

static void changed_components_travel_with_their_bucket(void **state)
{
    (void)state;
    collect_feed(&run, event_join(100 * SECOND, 1, "a"));
    collect_feed(&run, event_join(100 * SECOND, 2, "b"));
    collect_feed(&run, event_leave(102 * SECOND, 2, VAMP_LEAVE_FINALIZED));
    vamp_stats_finish(run.stats);
    assert_int_equal(run.buckets[0]->component_count, 2);
    assert_string_equal(run.buckets[0]->components[0].component.name, "a");
    assert_int_equal(run.buckets[0]->components[1].index, 2);
    assert_int_equal(run.buckets[1]->component_count, 0);
}

static void *let_go(void *bucket)
{
    vamp_bucket_release(bucket);
    return NULL;
}

static void a_bucket_lives_until_its_last_holder_lets_go(void **state)
{
    (void)state;
    at(100 * SECOND);
    vamp_stats_finish(run.stats);
    const struct vamp_bucket *bucket = run.buckets[0];
    pthread_t threads[8];
    for (int i = 0; i < 8; i++) {
        union {
            const struct vamp_bucket *held;
            void *argument;
        } hold = {.held = vamp_bucket_hold(bucket)};
        assert_int_equal(pthread_create(&threads[i], NULL, let_go, hold.argument), 0);
    }
    for (int i = 0; i < 8; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    assert_int_equal(bucket->holders, 1);
    assert_int_equal(bucket->number, 0);
    vamp_bucket_release(NULL);
}

static void a_wide_lateness_keeps_many_buckets_open(void **state)
{
    (void)state;
    struct vamp_stats_options options = collect_options();
    options.lateness_ns = 5 * SECOND / 2;
    start_with(options);
    for (int64_t t = 100; t < 110; t++) {
        at(t * SECOND + SECOND / 2);
        at((t - 2) * SECOND + SECOND / 2 + 1);
    }
    vamp_stats_finish(run.stats);
    assert_int_equal(run.count, 10);
    assert_int_equal(counted(0), 4); /* the first two had no earlier bucket */
    for (size_t b = 1; b < 8; b++) {
        assert_int_equal(counted(b), 2);
    }
    assert_int_equal(run.buckets[9]->accounting.late, 2);
    check_identity();
    collect_end(&run);
}

/* Makes and frees a bucket in a block of at least this size; how large the block was. */
static size_t block_for(size_t bytes)
{
    struct vamp_bucket_block block = {NULL, bytes};
    assert_true(vamp_bucket_block_take(&block));
    assert_int_equal(block.used, 0);
    struct vamp_bucket *bucket = vamp_bucket_cut(&block, sizeof *bucket);
    *bucket = (struct vamp_bucket){.holders = 1};
    const size_t has = malloc_usable_size(bucket);
    assert_true(has >= bytes);
    vamp_bucket_release(bucket);
    return has;
}

/* One that is somewhat smaller or larger takes the memory of the one before; one that is much
 * smaller gives it back. */
static void large_blocks_are_used_again(void **state)
{
    (void)state;
    const size_t first = block_for((size_t)1 << 20);
    assert_int_equal(block_for((size_t)9 << 17), first);
    assert_int_equal(block_for((size_t)1 << 19), first);
    assert_in_range(block_for((size_t)200 << 10), 1, (size_t)1 << 18);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, end)
    const struct CMUnitTest tests[] = {
        TEST(buckets_are_aligned_and_close_after_their_lateness),
        TEST(an_event_out_of_order_finds_its_open_bucket),
        TEST(times_before_1970_are_times),
        TEST(silence_makes_empty_buckets),
        TEST(a_long_silence_is_a_gap),
        TEST(a_silence_of_the_most_empty_buckets_is_written),
        TEST(a_clock_set_back_goes_on),
        TEST(a_first_event_before_the_assumed_time_sets_it_back),
        TEST(losses_are_gaps_with_exact_numbers),
        TEST(more_gaps_than_a_bucket_names_are_joined),
        cmocka_unit_test(a_gap_joins_the_last_of_its_reason),
        TEST(what_the_filters_turn_away_moves_time_only),
        TEST(counters_accumulate_and_deltas_add_up),
        TEST(vampires_own_values_go_into_the_next_bucket),
        TEST(changed_components_travel_with_their_bucket),
        TEST(a_bucket_lives_until_its_last_holder_lets_go),
        TEST(large_blocks_are_used_again),
        cmocka_unit_test(a_wide_lateness_keeps_many_buckets_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
