/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/format/bounds.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/core/values.h"

const char *const vamp_bounds_words[] = {"1", "2", "4", "8", "16", NULL};

/* Range of the bounds, as powers of 2. Values outside of it are rare: smaller ones are counted in
 * the first bucket, larger ones only in +Inf. */
struct range {
    unsigned first, last;
};

/* Returns the range of the metric's bounds, by its unit: ns, 1 or byte. */
static struct range range_of(const struct vamp_metric *metric)
{
    if (strcmp(metric->unit, "ns") == 0) {
        if ((metric->sets & VAMP_SET_LIFECYCLE) != 0) {
            return (struct range){13, 43}; /* 8 us to 2 h */
        }
        return (struct range){12, 38}; /* 4 us to 5 min */
    }
    if (strcmp(metric->unit, "1") == 0) {
        return (struct range){0, 12}; /* to 4096 */
    }
    return (struct range){16, 40}; /* 64 KiB to 1 TiB */
}

/* Returns whether a bin that ends before `edge` is the last one before a bound. The bounds divide
 * each doubling into `parts` of equal width. */
static bool is_bound(uint64_t edge, uint64_t parts, struct range range)
{
    if (edge < UINT64_C(1) << range.first || edge > UINT64_C(1) << range.last) {
        return false;
    }
    const uint64_t power = UINT64_C(1) << (63 - (unsigned)__builtin_clzll(edge));
    return (edge - power) * parts % power == 0;
}

/* Writes a decimal number such as "0.000001023" or "1023.0", always with a decimal point, which is
 * the canonical form in OpenMetrics. */
static void set_text(char text[static VAMP_BOUND_TEXT_BYTES], uint64_t upper, unsigned decimals)
{
    char digits[24];
    const int length =
        snprintf(digits, sizeof digits, "%0*llu", (int)decimals + 1, (unsigned long long)upper);
    const int whole = length - (int)decimals;
    (void)snprintf(text, VAMP_BOUND_TEXT_BYTES, "%.*s.%s", whole, digits,
                   decimals > 0 ? digits + whole : "0");
}

unsigned vamp_bounds_count(const struct vamp_metric *metric, const struct vamp_bins *bins,
                           unsigned resolution)
{
    const struct range range = range_of(metric);
    const unsigned bits = VAMP_MIN(resolution, bins->sub_bits);
    unsigned count = 0;
    for (unsigned bin = 0; bin < bins->count; bin++) {
        count += bins->upper[bin] < UINT64_MAX &&
                 is_bound(bins->upper[bin] + 1, UINT64_C(1) << bits, range);
    }
    return count;
}

struct vamp_bounds *vamp_bounds(const struct vamp_metric *metric, const struct vamp_bins *bins,
                                unsigned resolution)
{
    const struct range range = range_of(metric);
    const unsigned bits = VAMP_MIN(resolution, bins->sub_bits);
    struct vamp_base_metric base;
    vamp_base_metric(metric, &base);
    struct vamp_bounds *bounds = calloc(
        1, sizeof *bounds + vamp_bounds_count(metric, bins, resolution) * sizeof bounds->at[0]);
    for (unsigned bin = 0; bounds != NULL && bin < bins->count; bin++) {
        bounds->of_bin[bin] = (uint16_t)bounds->count;
        const uint64_t upper = bins->upper[bin];
        if (upper < UINT64_MAX && is_bound(upper + 1, UINT64_C(1) << bits, range)) {
            bounds->at[bounds->count].upper = upper;
            set_text(bounds->at[bounds->count++].text, upper, base.decimals);
        }
    }
    return bounds;
}

int16_t *vamp_exponential_places(const struct vamp_bins *bins, double scale)
{
    int16_t *places = calloc(bins->count, sizeof *places);
    for (unsigned bin = 1; places != NULL && bin < bins->count; bin++) {
        const double middle = ((double)bins->lower[bin] + (double)bins->upper[bin]) / 2 / scale;
        places[bin] = (int16_t)(ceil(ldexp(log2(middle), (int)bins->sub_bits)) - 1);
    }
    return places;
}
