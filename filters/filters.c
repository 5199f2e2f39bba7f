/* SPDX-License-Identifier: BSD-3-Clause */
#include "filters/filter.h"

const struct vamp_filter_ops *const vamp_filters[] = {
    &vamp_filter_expression, &vamp_filter_every, &vamp_filter_fraction, &vamp_filter_rate, NULL,
};
