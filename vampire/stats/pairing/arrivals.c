/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/pairing/arrivals.h"

#include "vampire/core/values.h"

/* Maximum time of an event on the way from the pool manager to the queue, if the queue was empty.
 * Processes that share a processor may delay each other by several milliseconds. */
#define ON_THE_WAY_NS UINT64_C(10000000)

/* Returns the longest possible wait of an event that arrived at this time. */
static uint64_t waited_until(const struct vamp_arrivals *arrivals, int64_t time_ns)
{
    const int64_t number = time_ns >> VAMP_ARRIVAL_SHIFT;
    const unsigned at = (uint64_t)number % VAMP_ARRIVAL_PIECES;
    if (arrivals->pieces[at].number != number) {
        return arrivals->longest_ns;
    }
    return arrivals->pieces[at].waited_ns;
}

static uint64_t note_wait(struct vamp_arrivals *arrivals, int64_t time_ns)
{
    const int64_t number = time_ns >> VAMP_ARRIVAL_SHIFT;
    const unsigned at = (uint64_t)number % VAMP_ARRIVAL_PIECES;
    uint64_t waited_ns = ON_THE_WAY_NS;
    if (arrivals->empty_ns != 0 && arrivals->empty_ns < time_ns) {
        waited_ns += (uint64_t)time_ns - (uint64_t)arrivals->empty_ns;
    }
    if (arrivals->pieces[at].number != number) {
        arrivals->pieces[at].number = number;
        arrivals->pieces[at].waited_ns = 0;
    }
    arrivals->pieces[at].waited_ns = VAMP_MAX(arrivals->pieces[at].waited_ns, waited_ns);
    arrivals->longest_ns = VAMP_MAX(arrivals->longest_ns, waited_ns);
    return waited_ns;
}

static void raise_resolution(const struct vamp_observation *seen, uint64_t ns)
{
    uint64_t *resolution_ns = &seen->slot->account.resolution_ns;
    *resolution_ns = VAMP_MAX(*resolution_ns, ns);
}

/* Returns the error of an interval that ends at `seen`. Sets the interval to 0 if it is shorter
 * than its error. */
static uint64_t blur(const struct vamp_arrivals *arrivals, const struct vamp_observation *seen,
                     uint64_t own_ns, uint64_t *ns)
{
    const int64_t from_ns = seen->event->time_ns - (int64_t)*ns;
    const uint64_t off_ns = own_ns + waited_until(arrivals, from_ns);
    if (*ns < off_ns) {
        raise_resolution(seen, *ns + off_ns);
        *ns = 0;
    } else {
        raise_resolution(seen, off_ns);
    }
    return off_ns;
}

void vamp_arrivals_blur(struct vamp_arrivals *arrivals, struct vamp_observation *seen)
{
    const uint64_t own_ns = note_wait(arrivals, seen->event->time_ns);
    raise_resolution(seen, own_ns);
    for (uint32_t left = seen->intervals; left != 0; left &= left - 1) {
        const unsigned interval = (unsigned)__builtin_ctz(left);
        const uint64_t off_ns = blur(arrivals, seen, own_ns, &seen->interval_ns[interval]);
        if (interval != VAMP_INTERVAL_DEMAND_WAIT || !seen->parts_known) {
            continue;
        }
        for (unsigned part = 0; part < VAMP_WAIT_UNKNOWN; part++) {
            if (seen->part_ns[part] < off_ns) {
                /* The first event of a part may have waited for longer than that of the wait. */
                raise_resolution(seen, seen->part_ns[part] + arrivals->longest_ns);
                seen->part_ns[part] = 0;
            }
        }
    }
}
