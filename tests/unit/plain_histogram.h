/* SPDX-License-Identifier: BSD-3-Clause */
/* Records in a histogram that has an element for each bin: what others are compared with. */
#pragma once

#include "vampire/stats/bucket/histogram.h"

static inline void plain_histogram_record(struct vamp_histogram *histogram, unsigned sub_bits,
                                          uint64_t value)
{
    histogram->bins[vamp_bin_index(sub_bits, value)]++;
    histogram->count++;
    histogram->sum += value;
    histogram->min = value < histogram->min ? value : histogram->min;
    histogram->max = value > histogram->max ? value : histogram->max;
}
