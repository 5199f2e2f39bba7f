/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/plain_histogram.h"
#include "vampire/stats/bucket/histogram.h"

#define VALUES 1000000

static struct vamp_histogram *make(const struct vamp_bins *bins)
{
    struct vamp_histogram *histogram = malloc(sizeof *histogram + bins->count * sizeof(uint64_t));
    assert_non_null(histogram);
    vamp_histogram_clear(histogram, bins->count);
    return histogram;
}

/* xorshift: the same values in every run. */
static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void bins_cover_all_of_uint64_without_holes(void **state)
{
    (void)state;
    static const unsigned counts[] = {0, 0, 252, 496, 976};
    for (unsigned sub_bits = 2; sub_bits <= 4; sub_bits++) {
        struct vamp_bins bins;
        vamp_bins_init(&bins, sub_bits);
        assert_int_equal(bins.count, counts[sub_bits]);
        assert_int_equal(bins.lower[0], 0);
        for (unsigned i = 1; i < bins.count; i++) {
            assert_int_equal(bins.lower[i], bins.upper[i - 1] + 1);
        }
        assert_true(bins.upper[bins.count - 1] == UINT64_MAX);
    }
}

static void check_value(const struct vamp_bins *bins, struct vamp_histogram *histogram,
                        uint64_t value)
{
    unsigned bin = vamp_bin_index(bins->sub_bits, value);
    assert_true(bin < bins->count);
    assert_true(bins->lower[bin] <= value && value <= bins->upper[bin]);
    /* Width is at most 1/2^k of the value. */
    assert_true((bins->upper[bin] - bins->lower[bin]) <= (value >> bins->sub_bits));
    uint64_t before = histogram->bins[bin];
    plain_histogram_record(histogram, bins->sub_bits, value);
    assert_int_equal(histogram->bins[bin], before + 1);
}

static void every_border_falls_into_its_bin(void **state)
{
    (void)state;
    for (unsigned sub_bits = 2; sub_bits <= 4; sub_bits++) {
        struct vamp_bins bins;
        vamp_bins_init(&bins, sub_bits);
        struct vamp_histogram *histogram = make(&bins);
        check_value(&bins, histogram, 0);
        for (unsigned k = 0; k < 64; k++) {
            uint64_t power = UINT64_C(1) << k;
            check_value(&bins, histogram, power - 1);
            check_value(&bins, histogram, power);
            check_value(&bins, histogram, power + 1);
        }
        check_value(&bins, histogram, UINT64_MAX);
        assert_int_equal(histogram->count, 2 + 3 * 64);
        assert_int_equal(histogram->min, 0);
        assert_true(histogram->max == UINT64_MAX);
        free(histogram);
    }
}

static int compare(const void *a, const void *b)
{
    const uint64_t left = *(const uint64_t *)a;
    const uint64_t right = *(const uint64_t *)b;
    return left < right ? -1 : left > right;
}

static void check_quantiles(const struct vamp_bins *bins, const struct vamp_histogram *histogram,
                            const uint64_t *sorted)
{
    static const double quantiles[] = {0, 0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 1};
    for (size_t i = 0; i < sizeof quantiles / sizeof quantiles[0]; i++) {
        double position = quantiles[i] * VALUES;
        size_t rank = (size_t)position;
        rank += (double)rank < position;
        uint64_t exact = sorted[rank == 0 ? 0 : rank - 1];
        uint64_t found = vamp_histogram_quantile(histogram, bins, quantiles[i]);
        uint64_t off = found > exact ? found - exact : exact - found;
        /* Half a bin, rounded up. */
        assert_true(off <= (exact >> (bins->sub_bits + 1)) + 1);
        assert_true(found >= histogram->min && found <= histogram->max);
    }
}

static void quantiles_stay_within_the_error_bound(void **state)
{
    (void)state;
    uint64_t *values = malloc(VALUES * sizeof *values);
    assert_non_null(values);
    uint64_t random = 88172645463325252;
    for (unsigned sub_bits = 2; sub_bits <= 4; sub_bits++) {
        struct vamp_bins bins;
        vamp_bins_init(&bins, sub_bits);
        struct vamp_histogram *histogram = make(&bins);
        uint64_t sum = 0;
        for (size_t i = 0; i < VALUES; i++) {
            /* All magnitudes alike. */
            uint64_t shift = next_random(&random) % 64;
            values[i] = next_random(&random) >> shift;
            sum += values[i];
            plain_histogram_record(histogram, sub_bits, values[i]);
        }
        qsort(values, VALUES, sizeof *values, compare);
        assert_int_equal(histogram->count, VALUES);
        assert_true(histogram->sum == sum);
        assert_true(histogram->min == values[0] && histogram->max == values[VALUES - 1]);
        check_quantiles(&bins, histogram, values);
        free(histogram);
    }
    free(values);
}

static void merging_is_exact(void **state)
{
    (void)state;
    struct vamp_bins bins;
    vamp_bins_init(&bins, 3);
    struct vamp_histogram *all = make(&bins);
    struct vamp_histogram *parts[3] = {make(&bins), make(&bins), make(&bins)};
    struct vamp_histogram *merged = make(&bins);
    uint64_t random = 12345;
    for (unsigned i = 0; i < 30000; i++) {
        uint64_t value = next_random(&random) >> (i % 64);
        plain_histogram_record(all, 3, value);
        plain_histogram_record(parts[i % 2], 3, value); /* the third stays empty */
    }
    for (unsigned i = 0; i < 3; i++) {
        vamp_histogram_merge(merged, parts[i], bins.count);
        free(parts[i]);
    }
    assert_memory_equal(merged, all, sizeof *all + bins.count * sizeof(uint64_t));
    free(all);
    free(merged);
}

/* Coarser bins are exact; in finer bins, values move to the middle of their old bin. */
static void values_move_to_other_bins(void **state)
{
    (void)state;
    static struct vamp_bins bins[5];
    for (unsigned bits = 2; bits <= 4; bits++) {
        vamp_bins_init(&bins[bits], bits);
    }
    struct vamp_histogram *from = make(&bins[3]), *coarse = make(&bins[2]), *right = make(&bins[2]),
                          *fine = make(&bins[4]);
    uint64_t random = 4711;
    for (unsigned i = 0; i < 10000; i++) {
        const uint64_t value = next_random(&random) >> (i % 64);
        plain_histogram_record(from, 3, value);
        plain_histogram_record(right, 2, value);
    }
    vamp_histogram_rebin(coarse, &bins[2], from, &bins[3]);
    assert_memory_equal(coarse, right, sizeof *right + bins[2].count * sizeof(uint64_t));
    vamp_histogram_rebin(fine, &bins[4], from, &bins[3]);
    assert_int_equal(fine->count, from->count);
    for (unsigned i = 0; i < bins[3].count; i++) {
        const uint64_t middle = bins[3].lower[i] + (bins[3].upper[i] - bins[3].lower[i]) / 2;
        assert_true(fine->bins[vamp_bin_index(4, middle)] == from->bins[i]);
    }
    free(from);
    free(coarse);
    free(right);
    free(fine);
}

static void an_empty_histogram_has_quantile_zero(void **state)
{
    (void)state;
    struct vamp_bins bins;
    vamp_bins_init(&bins, 3);
    struct vamp_histogram *histogram = make(&bins);
    assert_int_equal(vamp_histogram_quantile(histogram, &bins, 0.5), 0);
    assert_true(histogram->min == UINT64_MAX);
    plain_histogram_record(histogram, 3, UINT64_MAX);
    assert_true(vamp_histogram_quantile(histogram, &bins, 0.5) == UINT64_MAX);
    free(histogram);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bins_cover_all_of_uint64_without_holes),
        cmocka_unit_test(every_border_falls_into_its_bin),
        cmocka_unit_test(quantiles_stay_within_the_error_bound),
        cmocka_unit_test(merging_is_exact),
        cmocka_unit_test(values_move_to_other_bins),
        cmocka_unit_test(an_empty_histogram_has_quantile_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
