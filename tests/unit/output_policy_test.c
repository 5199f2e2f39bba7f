/* SPDX-License-Identifier: BSD-3-Clause */
/* The policy of an output: order, failures, rotation, the end of the run. */
#include "tests/unit/output_script.h"

static void test_all_in_order(void **state)
{
    struct bench *bench = *state;
    start(bench, &plain);
    submit(bench, 40);
    finish_well(bench);
    assert_int_equal(bench->script.number_count, 40);
    for (unsigned i = 0; i < 40; i++) {
        assert_int_equal(bench->script.numbers[i], i);
        assert_int_equal(bench->script.segments[i], 1);
    }
}

static void test_open_failure_leaves_nothing(void **state)
{
    struct bench *bench = *state;
    struct vamp_err err = VAMP_ERR_NONE;
    bench->script.open_results[0] = -EACCES;
    bench->script.open_result_count = 1;
    assert_int_equal(create(bench, &plain, &err), -EACCES);
    assert_string_equal(err.text, "output \"out\": scripted open failure");
}

static void test_blocked_writer_never_blocks_submit(void **state)
{
    struct bench *bench = *state;
    const struct vamp_output_settings settings = {.name = name, .queue = 4};
    struct vamp_err err = VAMP_ERR_NONE;
    bench->script.blocked = true;
    start(bench, &settings);
    submit(bench, 1);
    await_inside(bench);
    submit(bench, 30); /* 4 wait, 26 are lost */
    assert_int_equal(account(bench).waiting, 5);
    assert_int_equal(account(bench).lost, 26);
    set_blocked(bench, false);
    await_written(bench, 5);
    submit(bench, 1);
    assert_int_equal(finish(bench, LONG_NS, &err), -ENOBUFS);
    assert_non_null(strstr(err.text, "26 of 32 buckets are lost"));
    assert_int_equal(account(bench).written, 6);
    assert_int_equal(bench->script.numbers[5], 31);
    assert_int_equal(bench->script.lost_before[5], 26);
    /* Rows and gaps of lost buckets arrive: gaps of 9, 19, 29; component 5 and the leave in 8. */
    assert_int_equal(bench->script.gaps[5], 3);
    assert_int_equal(bench->script.components[5], 2);
    vamp_output_free(bench->output);
}

static void test_failure_keeps_the_bucket(void **state)
{
    struct bench *bench = *state;
    const int results[] = {0, 0, -EIO};
    struct vamp_err failure;
    fail_writes(bench, results, 3);
    start(bench, &plain);
    submit(bench, 10);
    await_written(bench, 10);
    assert_true(vamp_output_failure(bench->output, &failure));
    assert_string_equal(failure.text, "scripted write failure");
    assert_false(vamp_output_failure(bench->output, &failure));
    finish_well(bench);
    assert_int_equal(bench->script.segments[1], 1);
    assert_int_equal(bench->script.segments[2], 2);
    assert_int_equal(bench->script.numbers[2], 2);
    assert_int_equal(bench->script.components[2], 3); /* the new file has all rows */
}

static void test_outgrown_rotates(void **state)
{
    struct bench *bench = *state;
    const int results[] = {0, -ENOBUFS};
    struct vamp_err failure;
    fail_writes(bench, results, 2);
    start(bench, &plain);
    submit(bench, 3);
    await_written(bench, 3);
    assert_false(vamp_output_failure(bench->output, &failure)); /* it is no failure */
    finish_well(bench);
    assert_int_equal(bench->script.segments[0], 1);
    assert_int_equal(bench->script.segments[1], 2);
}

static void test_again_retries_the_same_target(void **state)
{
    struct bench *bench = *state;
    const int results[] = {-EAGAIN, -EAGAIN, 0};
    fail_writes(bench, results, 3);
    start(bench, &plain);
    submit(bench, 2);
    await_written(bench, 2);
    finish_well(bench);
    assert_int_equal(bench->script.opens, 1);
    assert_int_equal(bench->script.segments[1], 1);
}

static void test_hopeless_bucket_is_given_up(void **state)
{
    struct bench *bench = *state;
    const int results[] = {-EIO, -EIO, -EIO, -EIO, -EIO};
    struct vamp_err err = VAMP_ERR_NONE;
    fail_writes(bench, results, 5);
    start(bench, &plain);
    submit(bench, 2);
    await_written(bench, 1);
    assert_int_equal(finish(bench, LONG_NS, &err), -EIO);
    assert_int_equal(account(bench).lost, 1);
    assert_int_equal(bench->script.numbers[0], 1);
    assert_int_equal(bench->script.lost_before[0], 1);
    assert_int_equal(bench->script.closes, bench->script.opens);
    vamp_output_free(bench->output);
}

/* The target stays open, and the next bucket follows at once. */
static void test_refused_bucket_is_lost_once(void **state)
{
    struct bench *bench = *state;
    const int results[] = {0, -EBADMSG};
    struct vamp_err err = VAMP_ERR_NONE;
    fail_writes(bench, results, 2);
    start(bench, &plain);
    submit(bench, 3);
    await_written(bench, 2);
    assert_int_equal(finish(bench, LONG_NS, &err), -EBADMSG);
    assert_int_equal(account(bench).lost, 1);
    assert_int_equal(bench->script.writes, 3);
    assert_int_equal(bench->script.numbers[1], 2);
    assert_int_equal(bench->script.lost_before[1], 1);
    assert_int_equal(bench->script.opens, 1);
    vamp_output_free(bench->output);
}

static void test_open_is_retried(void **state)
{
    struct bench *bench = *state;
    const int results[] = {0, -EIO};
    fail_writes(bench, results, 2);
    bench->script.open_results[1] = -ENOSPC;
    bench->script.open_results[2] = -EEXIST; /* a taken name costs a number */
    bench->script.open_result_count = 3;
    start(bench, &plain);
    submit(bench, 2);
    await_written(bench, 2);
    finish_well(bench);
    assert_int_equal(bench->script.segments[1], 3);
}

#define PATHS_BYTES 64

static void count_path(void *context, const char *path)
{
    char *text = context;
    size_t used = strlen(text);
    (void)snprintf(text + used, PATHS_BYTES - used, "%s ", path);
}

static void test_rotation_by_size_and_time(void **state)
{
    struct bench *bench = *state;
    const struct vamp_output_settings settings = {
        .name = name, .queue = 64, .rotate_bytes = 400, .rotate_ns = 6 * MADE_WIDTH_NS};
    char paths[PATHS_BYTES] = "";
    bench->script.bytes_per_bucket = 100;
    start(bench, &settings);
    submit(bench, 9);
    await_written(bench, 9);
    struct vamp_err err = VAMP_ERR_NONE;
    assert_int_equal(finish(bench, LONG_NS, &err), 0);
    /* MADE_START_NS is a multiple of 6 s: 0-3 by size, 4-5 until the time, 6-8. */
    const unsigned wanted[] = {1, 1, 1, 1, 2, 2, 3, 3, 3};
    assert_int_equal(MADE_START_NS % (6 * MADE_WIDTH_NS), 0);
    for (unsigned i = 0; i < 9; i++) {
        assert_int_equal(bench->script.segments[i], wanted[i]);
    }
    (void)vamp_output_paths(bench->output, count_path, paths);
    assert_string_equal(paths, "one two three ");
    vamp_output_free(bench->output);
}

/* Where the next segment cannot be opened, the present one goes on until another period. */
static void test_rotation_that_fails_loses_nothing(void **state)
{
    struct bench *bench = *state;
    const struct vamp_output_settings settings = {
        .name = name, .queue = 64, .rotate_ns = 3 * MADE_WIDTH_NS};
    bench->script.open_results[1] = -EMFILE;
    bench->script.open_result_count = 2;
    start(bench, &settings);
    submit(bench, 9);
    await_written(bench, 9);
    finish_well(bench);
    const unsigned wanted[] = {1, 1, 1, 1, 1, 1, 2, 2, 2};
    for (unsigned i = 0; i < 9; i++) {
        assert_int_equal(bench->script.segments[i], wanted[i]);
    }
    assert_int_equal(bench->script.components[3], 1); /* its own: this file has the others */
    assert_int_equal(bench->script.closes, 2);
}

/* Nothing works any more: the end of the run does not wait for its whole deadline. */
static void test_the_end_waits_for_space_only(void **state)
{
    struct bench *bench = *state;
    struct vamp_err err = VAMP_ERR_NONE;
    const int results[] = {-EIO};
    fail_writes(bench, results, 1);
    for (unsigned i = 1; i < LOG_MAX; i++) {
        bench->script.open_results[i] = -EIO;
    }
    bench->script.open_result_count = LOG_MAX;
    start(bench, &plain);
    submit(bench, 5);
    const int64_t began_ns = vamp_clock_monotonic_ns(&vamp_clock_system);
    assert_int_equal(finish(bench, 10 * LONG_NS, &err), -EIO);
    assert_true(vamp_clock_monotonic_ns(&vamp_clock_system) - began_ns < LONG_NS);
    assert_int_equal(account(bench).lost, 5);
    vamp_output_free(bench->output);
}

static void test_finish_gives_up_at_the_deadline(void **state)
{
    struct bench *bench = *state;
    struct vamp_err err = VAMP_ERR_NONE;
    for (unsigned i = 0; i < LOG_MAX; i++) {
        bench->script.results[i] = -EAGAIN;
    }
    bench->script.result_count = LOG_MAX;
    start(bench, &plain);
    submit(bench, 7);
    assert_int_equal(finish(bench, 50000000, &err), -EAGAIN);
    assert_int_equal(account(bench).lost, 7);
    assert_int_equal(bench->script.closes, 1);
    vamp_output_free(bench->output);
}

static void test_close_failure_is_reported(void **state)
{
    struct bench *bench = *state;
    struct vamp_err err = VAMP_ERR_NONE;
    bench->script.close_result = -EIO;
    start(bench, &plain);
    submit(bench, 1);
    assert_int_equal(finish(bench, LONG_NS, &err), -EIO);
    assert_string_equal(err.text, "scripted close failure");
    vamp_output_free(bench->output);
}

static void test_submit_after_finish_is_lost(void **state)
{
    struct bench *bench = *state;
    struct vamp_err err = VAMP_ERR_NONE;
    start(bench, &plain);
    assert_int_equal(finish(bench, LONG_NS, &err), 0);
    submit(bench, 2);
    assert_int_equal(account(bench).lost, 2);
    vamp_output_free(bench->output);
}

static void test_free_without_finish(void **state)
{
    struct bench *bench = *state;
    start(bench, &plain);
    submit(bench, 3);
    vamp_output_free(bench->output);
    vamp_output_free(NULL);
    assert_int_equal(bench->script.closes, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_all_in_order),
        TEST(test_open_failure_leaves_nothing),
        TEST(test_blocked_writer_never_blocks_submit),
        TEST(test_failure_keeps_the_bucket),
        TEST(test_outgrown_rotates),
        TEST(test_again_retries_the_same_target),
        TEST(test_hopeless_bucket_is_given_up),
        TEST(test_refused_bucket_is_lost_once),
        TEST(test_open_is_retried),
        TEST(test_rotation_by_size_and_time),
        TEST(test_rotation_that_fails_loses_nothing),
        TEST(test_the_end_waits_for_space_only),
        TEST(test_finish_gives_up_at_the_deadline),
        TEST(test_close_failure_is_reported),
        TEST(test_submit_after_finish_is_lost),
        TEST(test_free_without_finish),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
