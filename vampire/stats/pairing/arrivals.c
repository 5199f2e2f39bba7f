/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/pairing/arrivals.h"

/* From the pool manager into the queue that was seen empty. Processes that share a processor keep
 * each other from it for several milliseconds at a time. */
#define ON_THE_WAY_NS UINT64_C(10000000)

/* How long an event that arrived at this time may have waited, at most. */
static uint64_t waited_until(const struct vamp_arrivals *arrivals, int64_t time_ns)
{
    const int64_t number = time_ns >> VAMP_ARRIVAL_SHIFT;
    const unsigned at = (uint64_t)number % VAMP_ARRIVAL_PIECES;
    return arrivals->pieces[at].number == number ? arrivals->pieces[at].waited_ns
                                                 : arrivals->longest_ns;
}

static uint64_t note_wait(struct vamp_arrivals *arrivals, int64_t time_ns)
{
    const int64_t number = time_ns >> VAMP_ARRIVAL_SHIFT;
    const unsigned at = (uint64_t)number % VAMP_ARRIVAL_PIECES;
    const bool marked = arrivals->empty_ns != 0 && arrivals->empty_ns < time_ns;
    const uint64_t waited_ns =
        ON_THE_WAY_NS + (marked ? (uint64_t)time_ns - (uint64_t)arrivals->empty_ns : 0);
    if (arrivals->pieces[at].number != number) {
        arrivals->pieces[at].number = number;
        arrivals->pieces[at].waited_ns = 0;
    }
    if (waited_ns > arrivals->pieces[at].waited_ns) {
        arrivals->pieces[at].waited_ns = waited_ns;
    }
    arrivals->longest_ns = waited_ns > arrivals->longest_ns ? waited_ns : arrivals->longest_ns;
    return waited_ns;
}

/* How far a time that ends with `seen` may be off. */
static uint64_t blur(const struct vamp_arrivals *arrivals, const struct vamp_observation *seen,
                     uint64_t own_ns, uint64_t *ns)
{
    const int64_t from_ns = seen->event->time_ns - (int64_t)*ns;
    const uint64_t off_ns = own_ns + waited_until(arrivals, from_ns);
    const uint64_t most_ns = *ns < off_ns ? *ns + off_ns : off_ns;
    uint64_t *resolution_ns = &seen->slot->account.resolution_ns;
    *resolution_ns = most_ns > *resolution_ns ? most_ns : *resolution_ns;
    *ns = *ns < off_ns ? 0 : *ns;
    return off_ns;
}

void vamp_arrivals_blur(struct vamp_arrivals *arrivals, struct vamp_observation *seen)
{
    const uint64_t own_ns = note_wait(arrivals, seen->event->time_ns);
    uint64_t *resolution_ns = &seen->slot->account.resolution_ns;
    *resolution_ns = own_ns > *resolution_ns ? own_ns : *resolution_ns;
    for (uint32_t left = seen->intervals; left != 0; left &= left - 1) {
        const unsigned interval = (unsigned)__builtin_ctz(left);
        const uint64_t off_ns = blur(arrivals, seen, own_ns, &seen->interval_ns[interval]);
        if (interval != VAMP_INTERVAL_DEMAND_WAIT || !seen->parts_known) {
            continue;
        }
        for (unsigned part = 0; part < VAMP_WAIT_UNKNOWN; part++) {
            seen->part_ns[part] = seen->part_ns[part] < off_ns ? 0 : seen->part_ns[part];
        }
    }
}
