/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/check.h"

#include "vampire/core/clock.h"
#include "vampire/core/event/components.h"
#include "vampire/stats/pairing/table.h"

#define BUCKET_NS_MAX (INT64_C(86400) * VAMP_NS_PER_SECOND)
#define SERIES_MAX (UINT64_C(1) << 20)
#define HISTOGRAM_BYTES_MIN (UINT64_C(1) << 20)

static int check_number(const char *name, uint64_t value, uint64_t least, uint64_t most,
                        struct vamp_err *err)
{
    if (value >= least && value <= most) {
        return 0;
    }
    return vamp_err_set(err, -EINVAL, "statistics: %s is %llu; allowed are %llu to %llu", name,
                        (unsigned long long)value, (unsigned long long)least,
                        (unsigned long long)most);
}

static int check_lateness(const struct vamp_stats_options *options, struct vamp_err *err)
{
    if (options->lateness_ns < 0 ||
        options->lateness_ns / options->bucket_ns < VAMP_OPEN_BUCKETS_MAX) {
        return 0;
    }
    return vamp_err_set(err, -EINVAL,
                        "statistics: a lateness of %lld ns keeps too many buckets of %lld ns open; "
                        "allowed is less than %d of them: wider buckets or a smaller lateness",
                        (long long)options->lateness_ns, (long long)options->bucket_ns,
                        VAMP_OPEN_BUCKETS_MAX);
}

int vamp_stats_check(const struct vamp_stats_options *options, struct vamp_err *err)
{
    int status =
        check_number("bucket_ns", (uint64_t)options->bucket_ns, 1, (uint64_t)BUCKET_NS_MAX, err);
    status = status != 0 ? status : check_lateness(options, err);
    status = status != 0 ? status : check_number("level", options->level, 0, VAMP_LEVEL_CDO, err);
    status = status != 0 ? status : check_number("sub_bits", options->sub_bits, 2, 4, err);
    status =
        status != 0 ? status : check_number("max_series", options->max_series, 2, SERIES_MAX, err);
    status = status != 0 ? status
                         : check_number("max_histogram_bytes", options->max_histogram_bytes,
                                        HISTOGRAM_BYTES_MIN, UINT64_MAX, err);
    status = status != 0 ? status
                         : check_number("max_components", options->max_components, 2,
                                        VAMP_COMPONENTS_MAX, err);
    status =
        status != 0 ? status : check_number("max_cdos", options->max_cdos, 1, VAMP_TABLE_MAX, err);
    status = status != 0
                 ? status
                 : check_number("max_pending", options->max_pending, 1, VAMP_TABLE_MAX, err);
    return status != 0 ? status
                       : check_number("max_empty", options->max_empty, 0, (uint64_t)INT32_MAX, err);
}
