/* SPDX-License-Identifier: BSD-3-Clause */
#include "programs/vampire/roundtrips.h"

#include <assert.h>

void vamp_roundtrips_init(struct vamp_roundtrips *roundtrips)
{
    roundtrips->count = 0;
    (void)pthread_mutex_init(&roundtrips->lock, NULL);
}

void vamp_roundtrips_done(struct vamp_roundtrips *roundtrips)
{
    (void)pthread_mutex_destroy(&roundtrips->lock);
}

void vamp_roundtrips_note(void *context, enum vamp_own_operation operation, int64_t ns)
{
    struct vamp_roundtrips *roundtrips = context;
    (void)pthread_mutex_lock(&roundtrips->lock);
    if (roundtrips->count < VAMP_ROUNDTRIPS_MAX) {
        roundtrips->items[roundtrips->count].operation = operation;
        roundtrips->items[roundtrips->count++].ns = ns;
    }
    (void)pthread_mutex_unlock(&roundtrips->lock);
}

void vamp_roundtrips_flush(struct vamp_roundtrips *roundtrips, struct vamp_stats *stats)
{
    static const enum vamp_event_kind kinds[VAMP_OWN_OPERATION_COUNT] = {
        [VAMP_OWN_JOIN] = VAMP_EVENT_JOIN,
        [VAMP_OWN_SUBSCRIBE] = VAMP_EVENT_SUBSCRIBE,
        [VAMP_OWN_LEAVE] = VAMP_EVENT_LEAVE,
    };
    (void)pthread_mutex_lock(&roundtrips->lock);
    assert(roundtrips->count <= VAMP_ROUNDTRIPS_MAX);
    for (unsigned i = 0; i < roundtrips->count; i++) {
        vamp_stats_self(stats, VAMP_METRIC_OWN_ROUNDTRIP_NS, kinds[roundtrips->items[i].operation],
                        roundtrips->items[i].ns);
    }
    roundtrips->count = 0;
    (void)pthread_mutex_unlock(&roundtrips->lock);
}
