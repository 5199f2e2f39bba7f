/* SPDX-License-Identifier: BSD-3-Clause */
/* Histograms of open buckets hold what plain arrays hold, in every form and at the bound. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/plain_histogram.h"
#include "vampire/stats/cells/open_histogram.h"

#define POOL_BYTES ((size_t)1 << 20)

static struct vamp_bins bins;
static struct vamp_open_pool pool;
static struct vamp_histogram *plain;

static int start(void **state)
{
    (void)state;
    vamp_bins_init(&bins, 3);
    vamp_open_pool_init(&pool, &bins, POOL_BYTES);
    plain = malloc(sizeof *plain + bins.count * sizeof plain->bins[0]);
    assert_non_null(plain);
    vamp_histogram_clear(plain, bins.count);
    return 0;
}

static int end(void **state)
{
    (void)state;
    vamp_open_pool_done(&pool);
    free(plain);
    return 0;
}

static void record(struct vamp_open_histogram **open, uint64_t value)
{
    assert_true(vamp_open_record(&pool, open, value));
    plain_histogram_record(plain, bins.sub_bits, value);
}

static struct vamp_bucket_histogram *copied(const struct vamp_open_histogram *open)
{
    const unsigned count = vamp_open_bins_at_most(&pool, open);
    struct vamp_bucket_histogram *copy = malloc(vamp_bucket_histogram_bytes(count));
    assert_non_null(copy);
    vamp_open_copy(&pool, open, copy);
    assert_true(copy->bin_count <= count);
    return copy;
}

static uint64_t count_of(const struct vamp_open_histogram *open)
{
    struct vamp_bucket_histogram *copy = copied(open);
    const uint64_t count = copy->count;
    free(copy);
    return count;
}

/* The copy has the plain array's numbers, its bins ascending and none of them empty. */
static void expect_plain(const struct vamp_open_histogram *open)
{
    struct vamp_bucket_histogram *copy = copied(open);
    assert_int_equal(copy->count, plain->count);
    assert_int_equal(copy->sum, plain->sum);
    assert_int_equal(copy->min, plain->min);
    assert_int_equal(copy->max, plain->max);
    uint32_t next = 0;
    for (unsigned bin = 0; bin < bins.count; bin++) {
        if (plain->bins[bin] > 0) {
            assert_true(next < copy->bin_count);
            assert_int_equal(copy->bins[next].bin, bin);
            assert_int_equal(copy->bins[next].count, plain->bins[bin]);
            next++;
        }
    }
    assert_int_equal(next, copy->bin_count);
    static const double quantiles[] = {0, 0.01, 0.5, 0.9, 0.99, 1};
    for (unsigned i = 0; i < sizeof quantiles / sizeof quantiles[0]; i++) {
        assert_int_equal(vamp_bucket_histogram_quantile(copy, &bins, quantiles[i]),
                         vamp_histogram_quantile(plain, &bins, quantiles[i]));
    }
    free(copy);
}

static void every_form_holds_what_a_plain_array_holds(void **state)
{
    (void)state;
    struct vamp_open_histogram *open = NULL;
    uint64_t random = 88172645463325252U;
    bool seen[VAMP_OPEN_FORM_COUNT] = {false};
    for (unsigned i = 0; i < 3000; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        record(&open, random >> (random & 63U));
        seen[open->form] = true;
        if (i < 100 || i % 500 == 0) {
            expect_plain(open);
        }
    }
    expect_plain(open);
    assert_true(seen[VAMP_OPEN_LOG] && seen[VAMP_OPEN_ARRAY]);
    vamp_open_release(&pool, open);
}

static void values_of_a_few_octaves_stay_in_a_window(void **state)
{
    (void)state;
    struct vamp_open_histogram *open = NULL;
    for (uint64_t i = 0; i < 10000; i++) {
        record(&open, 200000 + i * i % 100000);
        assert_int_equal(open->form, i < VAMP_OPEN_LOG_VALUES ? VAMP_OPEN_LOG : VAMP_OPEN_WINDOW);
        if (i < 40) {
            expect_plain(open);
        }
    }
    expect_plain(open);
    record(&open, 1); /* before the window */
    assert_int_equal(open->form, VAMP_OPEN_ARRAY);
    expect_plain(open);
    vamp_open_release(&pool, open);
}

/* The lowest and the highest bins there are: a window does not reach beyond them. */
static void windows_at_the_ends_hold_what_a_plain_array_holds(void **state)
{
    (void)state;
    static const uint64_t ends[] = {0, UINT64_MAX};
    for (unsigned i = 0; i < 2; i++) {
        struct vamp_open_histogram *open = NULL;
        vamp_histogram_clear(plain, bins.count);
        for (unsigned k = 0; k < 100; k++) {
            record(&open, i == 0 ? ends[i] + k % 7 : ends[i] - k);
        }
        assert_int_equal(open->form, VAMP_OPEN_WINDOW);
        expect_plain(open);
        record(&open, ends[1 - i]);
        assert_int_equal(open->form, VAMP_OPEN_ARRAY);
        expect_plain(open);
        vamp_open_release(&pool, open);
    }
}

/* So many values that a bin of a window could not count one more: they are said to be there, and
 * none of them is lost. */
static void more_values_than_a_window_counts_become_an_array(void **state)
{
    (void)state;
    struct vamp_open_histogram *open = NULL;
    for (unsigned i = 0; i <= VAMP_OPEN_LOG_VALUES; i++) {
        record(&open, 40);
    }
    assert_int_equal(open->form, VAMP_OPEN_WINDOW);
    const unsigned bin = vamp_bin_index(bins.sub_bits, 40);
    open->bins.window[bin - open->base] = UINT32_MAX - 1;
    plain->bins[bin] = plain->count = UINT32_MAX - 1;
    record(&open, 40);
    assert_int_equal(open->form, VAMP_OPEN_WINDOW);
    record(&open, 40);
    assert_int_equal(open->form, VAMP_OPEN_ARRAY);
    record(&open, 4000);
    expect_plain(open);
    vamp_open_release(&pool, open);
}

static void adding_to_an_array_adds_everything(void **state)
{
    (void)state;
    struct vamp_open_histogram *few = NULL;
    struct vamp_open_histogram *many = NULL;
    struct vamp_histogram *into = malloc(sizeof *into + bins.count * sizeof into->bins[0]);
    assert_non_null(into);
    vamp_histogram_clear(into, bins.count);
    record(&few, 0);
    record(&few, UINT64_MAX);
    for (uint64_t i = 0; i < 1000; i++) {
        record(&many, i * i * i);
    }
    assert_int_equal(many->form, VAMP_OPEN_ARRAY);
    vamp_open_add_to(&pool, few, into);
    vamp_open_add_to(&pool, many, into);
    assert_memory_equal(into, plain, sizeof *into + bins.count * sizeof into->bins[0]);
    vamp_open_release(&pool, few);
    vamp_open_release(&pool, many);
    free(into);
}

/* At the bound a value is refused, and what was recorded stays. */
static void the_pool_keeps_to_its_bound(void **state)
{
    (void)state;
    struct vamp_open_histogram *open[512] = {NULL};
    unsigned refused = 0;
    uint64_t recorded = 0;
    for (uint64_t value = 0; value < 256; value++) {
        for (unsigned i = 0; i < 512; i++) {
            const bool taken = vamp_open_record(&pool, &open[i], value * value * value * value);
            recorded += taken;
            refused += !taken;
        }
    }
    assert_true(refused > 0);
    assert_true(pool.bytes <= POOL_BYTES);
    uint64_t held = 0;
    for (unsigned i = 0; i < 512; i++) {
        if (open[i] != NULL) {
            held += count_of(open[i]);
            vamp_open_release(&pool, open[i]);
        }
    }
    assert_int_equal(held, recorded);
    const size_t before = pool.bytes;
    struct vamp_open_histogram *again = NULL;
    record(&again, 5); /* what was released is there for the next */
    assert_int_equal(pool.bytes, before);
    expect_plain(again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_form_holds_what_a_plain_array_holds, start, end),
        cmocka_unit_test_setup_teardown(values_of_a_few_octaves_stay_in_a_window, start, end),
        cmocka_unit_test_setup_teardown(windows_at_the_ends_hold_what_a_plain_array_holds, start,
                                        end),
        cmocka_unit_test_setup_teardown(more_values_than_a_window_counts_become_an_array, start,
                                        end),
        cmocka_unit_test_setup_teardown(adding_to_an_array_adds_everything, start, end),
        cmocka_unit_test_setup_teardown(the_pool_keeps_to_its_bound, start, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
