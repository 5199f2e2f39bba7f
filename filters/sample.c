/* SPDX-License-Identifier: BSD-3-Clause */
#include "filters/sample.h"

#include <assert.h>

#include "vampire/core/clock.h"
#include "vampire/core/hash.h"

/* Event time may step back a little, since events of several senders are merged; they count in the
 * current second. A larger step back means that the time before it was wrong. */
#define STEP_BACK_SECONDS 10

void vamp_sampler_init(struct vamp_sampler *sampler, enum vamp_sampling how, uint64_t number)
{
    assert(number >= 1);
    assert(how != VAMP_SAMPLE_FRACTION || number <= VAMP_SAMPLE_FRACTION_MAX);
    *sampler = (struct vamp_sampler){
        .how = how,
        .number = number,
        .second = INT64_MIN / VAMP_NS_PER_SECOND - 1,
    };
    if (how == VAMP_SAMPLE_FRACTION) {
        sampler->limit = (uint64_t)(((unsigned __int128)number << 64) / VAMP_SAMPLE_FRACTION_MAX);
    }
}

static bool always_passes(const struct vamp_event *event)
{
    return vamp_event_is_mark(event) || event->kind == VAMP_EVENT_JOIN ||
           event->kind == VAMP_EVENT_LEAVE;
}

static bool passes_every(struct vamp_sampler *sampler)
{
    const bool passes = sampler->count == 0;
    sampler->count = sampler->count + 1 == sampler->number ? 0 : sampler->count + 1;
    return passes;
}

/* The same on every machine and in every version, so that two vampires sample the same CDOs. Ids
 * may be counters, so their bits are mixed. */
static bool passes_fraction(const struct vamp_sampler *sampler, const struct vamp_event *event)
{
    if (!vamp_event_has(event, VAMP_HAS_CDO_ID) || sampler->number == VAMP_SAMPLE_FRACTION_MAX) {
        return true;
    }
    const uint64_t high = vamp_hash_mix(event->cdo_id.high + UINT64_C(0x9e3779b97f4a7c15));
    return vamp_hash_mix(high ^ event->cdo_id.low) < sampler->limit;
}

static int64_t second_of(int64_t time_ns)
{
    int64_t second = time_ns / VAMP_NS_PER_SECOND;
    return second - (time_ns % VAMP_NS_PER_SECOND < 0);
}

static bool passes_rate(struct vamp_sampler *sampler, const struct vamp_event *event)
{
    const int64_t second = second_of(event->time_ns);
    if (second > sampler->second || second < sampler->second - STEP_BACK_SECONDS) {
        sampler->second = second;
        sampler->count = 0;
    }
    const bool passes = sampler->count < sampler->number;
    sampler->count += passes;
    return passes;
}

bool vamp_sampler_passes(struct vamp_sampler *sampler, const struct vamp_event *event)
{
    if (always_passes(event)) {
        return true;
    }
    switch (sampler->how) {
    case VAMP_SAMPLE_FRACTION:
        return passes_fraction(sampler, event);
    case VAMP_SAMPLE_EVERY:
        return passes_every(sampler);
    case VAMP_SAMPLE_RATE:
        break;
    }
    return passes_rate(sampler, event);
}

double vamp_sampler_weight(const struct vamp_sampler *sampler)
{
    switch (sampler->how) {
    case VAMP_SAMPLE_FRACTION:
        return (double)VAMP_SAMPLE_FRACTION_MAX / (double)sampler->number;
    case VAMP_SAMPLE_EVERY:
        return (double)sampler->number;
    case VAMP_SAMPLE_RATE:
        break;
    }
    return 0;
}

const char *vamp_sampling_name(enum vamp_sampling how)
{
    static const char *const names[] = {
        [VAMP_SAMPLE_FRACTION] = "fraction",
        [VAMP_SAMPLE_EVERY] = "every",
        [VAMP_SAMPLE_RATE] = "rate",
    };
    return names[how];
}
