/* SPDX-License-Identifier: BSD-3-Clause */
/* A run of the statistics with a producer and a consumer, which have joined. */
#pragma once

#include "tests/unit/stats_collect.h"

#define MS INT64_C(1000000)
#define MODEL 1
#define PRODUCTS 2
#define FEED(...) collect_feed(&run, __VA_ARGS__)
#define GAUGE(bucket, metric, labels) collect_gauge(&run, bucket, VAMP_METRIC_##metric, labels)

static struct collect run;

static inline void pair_start(const struct vamp_stats_options *options)
{
    collect_start(&run, options);
    FEED(event_join(1 * MS, MODEL, "IFS -- 0"));
    FEED(event_join(2 * MS, PRODUCTS, "Products 1"));
}

static inline int pair_end(void **state)
{
    (void)state;
    collect_end(&run);
    return 0;
}
