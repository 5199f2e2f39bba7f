/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/bucket/bucket.h"

#include <assert.h>

/* The holders are counted in the bucket itself, which is otherwise constant. */
static unsigned *holders_of(const struct vamp_bucket *bucket)
{
    return (unsigned *)(uintptr_t)&bucket->holders;
}

const struct vamp_bucket *vamp_bucket_hold(const struct vamp_bucket *bucket)
{
    __atomic_add_fetch(holders_of(bucket), 1, __ATOMIC_RELAXED);
    return bucket;
}

void vamp_bucket_release(const struct vamp_bucket *bucket)
{
    if (bucket != NULL && __atomic_sub_fetch(holders_of(bucket), 1, __ATOMIC_ACQ_REL) == 0) {
        bucket->destroy(bucket);
    }
}

void vamp_bucket_set_alarms(const struct vamp_bucket *bucket, struct vamp_alarm_change *alarms,
                            unsigned count)
{
    struct vamp_bucket *own = (struct vamp_bucket *)(uintptr_t)bucket;
    assert(own->holders == 1 && own->alarms == NULL);
    own->alarms = alarms;
    own->alarm_count = count;
}

const char *vamp_gap_reason_name(unsigned reason)
{
    static const char *const names[VAMP_GAP_REASON_COUNT] = {
        [VAMP_GAP_LEAP] = "leap",
        [VAMP_GAP_MEMORY] = "memory",
        [VAMP_GAP_POOL_GONE] = "pool_gone",
        [VAMP_GAP_RUN_LOST] = "run_lost_buckets",
        [VAMP_GAP_ON_WAY] = "buckets_missing",
    };
    return reason < VAMP_LOSS_COUNT || reason >= VAMP_GAP_REASON_COUNT ? vamp_loss_name(reason)
                                                                       : names[reason];
}

void vamp_gap_join(struct vamp_gap *gaps, unsigned count, const struct vamp_gap *gap)
{
    struct vamp_gap *into = &gaps[count - 1];
    for (unsigned i = count; i-- > 0;) {
        if (gaps[i].reason == gap->reason) {
            into = &gaps[i];
            break;
        }
    }
    into->start_ns = gap->start_ns < into->start_ns ? gap->start_ns : into->start_ns;
    into->end_ns = gap->end_ns > into->end_ns ? gap->end_ns : into->end_ns;
    into->events += gap->events;
}

const char *vamp_cdo_time_name(unsigned what)
{
    static const char *const names[VAMP_CDO_TIME_COUNT] = {
        "declared", "sealed", "offered", "first_demand", "last_transport", "withdrawn", "disposed",
    };
    return what < VAMP_CDO_TIME_COUNT ? names[what] : "unknown";
}

const char *vamp_cdo_end_name(unsigned end)
{
    static const char *const names[] = {"disposed", "left", "evicted", "run"};
    return end < sizeof names / sizeof names[0] ? names[end] : "unknown";
}
