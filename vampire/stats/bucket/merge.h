/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How values of buckets become one, by the rules of enum vamp_merge: the same wherever buckets or
 * series are merged. No state but that of the arguments.
 */
#ifndef VAMP_STATS_BUCKET_MERGE_H
#define VAMP_STATS_BUCKET_MERGE_H

#include "vampire/core/err.h"
#include "vampire/stats/bucket/bucket.h"

/* `from` is of another series with the same labels, at the same time. */
void vamp_gauge_join_series(struct vamp_gauge_value *into, const struct vamp_gauge_value *from,
                            enum vamp_merge rule);
/* `from` is of the same series, later. */
void vamp_gauge_join_time(struct vamp_gauge_value *into, const struct vamp_gauge_value *from);

/* A histogram to which others are added: those bins that hold values, in memory that grows with
 * them and is kept from bucket to bucket. All zero: none was ever added. */
struct vamp_kept_histogram {
    struct vamp_bucket_histogram *values; /* malloc'ed; NULL: none was ever needed */
    uint32_t room;                        /* bins that it can hold */
    uint32_t wanted;                      /* that the bucket to be added may bring */
};
/* Makes room for `more` bins, but for `most` in all at most. 0 or -ENOMEM. */
VAMP_MUST_CHECK int vamp_kept_histogram_reserve(struct vamp_kept_histogram *kept, uint32_t more,
                                                uint32_t most);
/* Its room was reserved. */
void vamp_kept_histogram_add(struct vamp_kept_histogram *kept,
                             const struct vamp_bucket_histogram *from);
void vamp_kept_histogram_clear(struct vamp_kept_histogram *kept);

#endif
