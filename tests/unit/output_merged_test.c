/* SPDX-License-Identifier: BSD-3-Clause */
/* An output that merges buckets and loses one of the statistics' at its queue. */
#include "tests/unit/output_script.h"

#define MERGED 6

static uint64_t sum_of_deltas(enum vamp_metric_id id, unsigned first, unsigned last)
{
    uint64_t sum = 0;
    for (unsigned n = first; n <= last; n++) {
        sum += made_delta(id, 0, n);
    }
    return sum;
}

static void await_empty_queue(struct bench *bench)
{
    struct vamp_output_state state = {.used = 1};
    for (unsigned i = 0; state.used > 0; i++) {
        assert_true(i < 100000);
        (void)usleep(200);
        vamp_output_state(bench->output, &state);
    }
}

/* Loses bucket 9, within the second merged one: 6 to 11. */
static void run_with_loss(struct bench *bench)
{
    const struct vamp_output_settings settings = {
        .name = name, .queue = 3, .bucket_ns = MERGED * MADE_WIDTH_NS};
    struct vamp_err err = VAMP_ERR_NONE;
    assert_int_equal(MADE_START_NS % (MERGED * MADE_WIDTH_NS), 0);
    start(bench, &settings);
    for (unsigned n = 0; n < MERGED - 1; n++) {
        submit(bench, 1);
        await_empty_queue(bench);
    }
    set_blocked(bench, true);
    submit(bench, 1);
    await_inside(bench);
    submit(bench, 4);
    assert_int_equal(account(bench).lost, 1);
    set_blocked(bench, false);
    for (unsigned n = 0; n < 8; n++) {
        await_empty_queue(bench);
        submit(bench, 1);
    }
    assert_int_equal(finish(bench, LONG_NS, &err), -ENOBUFS);
    assert_non_null(strstr(err.text, "1 of 18 buckets are lost"));
}

static void a_loss_within_a_merged_bucket_is_accounted(void **state)
{
    struct bench *bench = *state;
    const struct script *script = &bench->script;
    run_with_loss(bench);
    static const uint64_t numbers[] = {0, 6, 12}, buckets[] = {6, 5, 6}, lost[] = {0, 1, 0};
    static const unsigned gaps[] = {0, 1, 0}; /* that of bucket 9 arrives with its neighbours */
    assert_int_equal(script->number_count, 3);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(script->numbers[i], numbers[i]);
        assert_int_equal(script->buckets[i], buckets[i]);
        assert_int_equal(script->lost_before[i], lost[i]);
        assert_int_equal(script->gaps[i], gaps[i]);
        /* The account of the newest bucket in it, which counts the lost one's events. */
        assert_int_equal(script->received[i], 10 * (numbers[i] + MERGED - 1) + 3);
    }
    const struct vamp_output_account end = account(bench);
    assert_int_equal(end.written, 17);
    assert_int_equal(end.lost, 1);
    assert_int_equal(end.waiting, 0);
    vamp_output_free(bench->output);
}

/* What was added lacks the lost bucket; the totals do not, then and later. */
static void totals_are_right_after_a_loss(void **state)
{
    struct bench *bench = *state;
    const struct vamp_counter_value *counters = bench->script.counters;
    run_with_loss(bench);
    const struct vamp_schema *schema = &bench->made->schema;
    const enum vamp_metric_id id = schema->metrics[scripted_counter(schema)].id;
    assert_int_equal(counters[0].delta, sum_of_deltas(id, 0, 5));
    assert_int_equal(counters[1].delta, sum_of_deltas(id, 6, 11) - made_delta(id, 0, 9));
    assert_int_equal(counters[2].delta, sum_of_deltas(id, 12, 17));
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(counters[i].value, sum_of_deltas(id, 0, MERGED * (i + 1) - 1));
    }
    vamp_output_free(bench->output);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_loss_within_a_merged_bucket_is_accounted),
        TEST(totals_are_right_after_a_loss),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
