/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/story.h"

/* Everything that depends on a CDO's flags, size and owner: taken away before one of them
 * changes (sign -1) and added after (sign 1). */
static void weigh(struct vamp_track_context *at, const struct vamp_cdo *cdo, int sign)
{
    struct vamp_tally *tally = &at->tracker->tallies[cdo->record.owner];
    const uint32_t one = (uint32_t)sign; /* modulo 2^32 */
    if ((cdo->flags & VAMP_CDO_OFFERED) != 0) {
        const uint64_t bytes = (cdo->flags & VAMP_CDO_SIZED) != 0 ? cdo->size_bytes : 0;
        tally->offered += one;
        tally->offered_bytes += sign > 0 ? bytes : -bytes;
        at->seen->pool_cdos += sign;
        at->seen->pool_bytes += sign > 0 ? (int64_t)bytes : -(int64_t)bytes;
    }
    if ((cdo->flags & (VAMP_CDO_MAKER | VAMP_CDO_COUNTED)) == VAMP_CDO_MAKER) {
        tally->unsized += one;
    }
}

static uint32_t owner_name(const struct vamp_track_context *at, const struct vamp_cdo *cdo)
{
    if (cdo->record.owner == 0) {
        return VAMP_NAME_UNKNOWN;
    }
    return vamp_components_row(at->tracker->components, cdo->record.owner)->name_number;
}

static void set_flags(struct vamp_track_context *at, struct vamp_cdo *cdo, unsigned set,
                      unsigned clear)
{
    weigh(at, cdo, -1);
    cdo->flags = (uint16_t)((cdo->flags | set) & ~clear);
    weigh(at, cdo, 1);
}

/* The record goes. A CDO whose size nobody ever told is counted now. */
static void forget(struct vamp_track_context *at, struct vamp_cdo *cdo, enum vamp_cdo_end end)
{
    vamp_story_end(at, cdo, end);
    if ((cdo->flags & (VAMP_CDO_MAKER | VAMP_CDO_COUNTED)) == VAMP_CDO_MAKER) {
        at->seen->forgotten++;
        at->seen->forgotten_of = owner_name(at, cdo);
    }
    weigh(at, cdo, -1);
    vamp_table_remove(&at->tracker->cdos, cdo);
}

static void add_cdo(struct vamp_track_context *at)
{
    struct vamp_cdo *oldest = vamp_table_crowded(&at->tracker->cdos);
    if (oldest != NULL) {
        forget(at, oldest, VAMP_CDO_END_EVICTED);
        at->seen->evicted++;
    }
    at->cdo = vamp_table_insert(&at->tracker->cdos, at->cdo_key, at->row);
    at->cdo->handles = 1;
    at->cdo->owner_handles = 1;
    vamp_story_begin(at);
}

static bool is_owner(const struct vamp_track_context *at)
{
    return at->cdo->record.owner == at->row;
}

/* The component becomes the CDO's producer. */
static void adopt(struct vamp_track_context *at)
{
    struct vamp_cdo *cdo = at->cdo;
    if (!is_owner(at)) {
        weigh(at, cdo, -1);
        vamp_table_set_owner(&at->tracker->cdos, cdo, at->row);
        weigh(at, cdo, 1);
        cdo->owner_handles = 1;
        set_flags(at, cdo, 0, VAMP_CDO_DECLARED);
        if (vamp_track_second_declare_end(at, &cdo->declared_ns, &cdo->owner_handles)) {
            set_flags(at, cdo, VAMP_CDO_DECLARED, 0);
        }
    }
    set_flags(at, cdo, VAMP_CDO_MAKER, 0);
}

/* Learns the size from this event, or tells it to the observation. */
void vamp_track_learn_size(struct vamp_track_context *at)
{
    struct vamp_cdo *cdo = at->cdo;
    struct vamp_observation *seen = at->seen;
    if (vamp_event_has(at->event, VAMP_HAS_SIZE) && (cdo->flags & VAMP_CDO_SIZED) == 0) {
        weigh(at, cdo, -1);
        cdo->size_bytes = at->event->size_bytes;
        cdo->flags |= VAMP_CDO_SIZED;
        weigh(at, cdo, 1);
    }
    if (!seen->size_known && (cdo->flags & VAMP_CDO_SIZED) != 0) {
        seen->size_known = true;
        seen->size_bytes = cdo->size_bytes;
    }
    const uint32_t ready = VAMP_CDO_SIZED | VAMP_CDO_MAKER;
    if ((cdo->flags & (ready | VAMP_CDO_COUNTED)) == ready) {
        set_flags(at, cdo, VAMP_CDO_COUNTED, 0);
        seen->created = true;
        seen->creator = owner_name(at, cdo);
    }
}

static void declare(struct vamp_track_context *at)
{
    at->tracker->tallies[at->row].handles++;
    if (at->cdo == NULL) {
        add_cdo(at);
        if (vamp_event_has(at->event, VAMP_HAS_SIZE)) {
            return; /* nobody can tell a size before the CDO was sealed: it is older than we */
        }
    } else {
        const bool made = (at->cdo->flags & VAMP_CDO_MAKER) != 0;
        at->cdo->handles++;
        if (is_owner(at)) {
            at->cdo->owner_handles++;
        } else if (made) {
            vamp_track_second_declare(at);
        }
        if (made || vamp_event_has(at->event, VAMP_HAS_SIZE)) {
            return;
        }
    }
    adopt(at);
    at->cdo->declared_ns = at->event->time_ns;
    set_flags(at, at->cdo, VAMP_CDO_DECLARED, 0);
}

static void seal(struct vamp_track_context *at)
{
    if (at->cdo == NULL) {
        add_cdo(at);
        adopt(at);
    } else if ((at->cdo->flags & VAMP_CDO_MAKER) == 0 ||
               (vamp_event_has(at->event, VAMP_HAS_SIZE) &&
                (at->cdo->flags & VAMP_CDO_SIZED) == 0)) {
        adopt(at); /* the component that brings the size is the producer */
    }
}

static void offer(struct vamp_track_context *at)
{
    if (at->cdo == NULL) {
        add_cdo(at);
    }
    struct vamp_cdo *cdo = at->cdo;
    if ((cdo->flags & VAMP_CDO_OFFERED) != 0) {
        if (is_owner(at)) {
            vamp_observe_anomaly(at->seen, VAMP_ANOMALY_OPERATION_OUT_OF_ORDER, 1);
            return;
        }
        cdo->offers = (uint16_t)(cdo->offers + (cdo->offers < UINT16_MAX));
        at->seen->offered = true;
        return;
    }
    adopt(at);
    if ((cdo->flags & (VAMP_CDO_DECLARED | VAMP_CDO_ONCE)) == VAMP_CDO_DECLARED) {
        (void)vamp_observe_interval(at->seen, VAMP_INTERVAL_DECLARE_TO_OFFER, cdo->declared_ns);
    }
    cdo->offers = 1;
    cdo->offered_ns = at->event->time_ns;
    set_flags(at, cdo, VAMP_CDO_OFFERED | VAMP_CDO_ONCE, 0);
    at->seen->offered = true;
}

/* Who requires or demands a CDO did not make it, unless it is known to have. */
static void consume(struct vamp_track_context *at)
{
    int64_t since_ns = 0;
    uint32_t handles = 0;
    (void)vamp_track_second_declare_end(at, &since_ns, &handles);
    if (at->cdo != NULL && is_owner(at) &&
        (at->cdo->flags & (VAMP_CDO_OFFERED | VAMP_CDO_COUNTED)) == 0) {
        set_flags(at, at->cdo, 0, VAMP_CDO_MAKER);
    }
}

static void demand(struct vamp_track_context *at)
{
    vamp_track_demand(at, false);
    struct vamp_cdo *cdo = at->cdo;
    if (cdo == NULL) {
        return;
    }
    if ((cdo->flags & VAMP_CDO_OFFERED) != 0 && cdo->demands == 0) {
        (void)vamp_observe_interval(at->seen, VAMP_INTERVAL_OFFER_TO_FIRST_DEMAND, cdo->offered_ns);
    }
    cdo->demands++;
}

/* The CDO leaves the pool. */
static void take_back(struct vamp_track_context *at)
{
    struct vamp_cdo *cdo = at->cdo;
    at->seen->fan_out_known = true;
    at->seen->fan_out = cdo->demands;
    if (cdo->demands == 0) {
        vamp_observe_anomaly(at->seen, VAMP_ANOMALY_OFFER_NEVER_DEMANDED, 1);
    }
    cdo->demands = 0;
    set_flags(at, cdo, 0, VAMP_CDO_OFFERED);
}

static void withdraw(struct vamp_track_context *at)
{
    if (at->cdo == NULL) {
        return; /* offered before we came, or given up */
    }
    if ((at->cdo->flags & VAMP_CDO_OFFERED) == 0) {
        vamp_observe_anomaly(at->seen, VAMP_ANOMALY_OPERATION_OUT_OF_ORDER, 1);
        return;
    }
    if (at->cdo->offers > 1) {
        at->cdo->offers--; /* others offer it still */
        return;
    }
    (void)vamp_observe_interval(at->seen, VAMP_INTERVAL_OFFER_TO_WITHDRAW, at->cdo->offered_ns);
    take_back(at);
}

static void dispose_by_owner(struct vamp_track_context *at)
{
    struct vamp_cdo *cdo = at->cdo;
    if ((cdo->flags & VAMP_CDO_DECLARED) != 0) {
        (void)vamp_observe_interval(at->seen, VAMP_INTERVAL_LIFETIME, cdo->declared_ns);
    }
    if ((cdo->flags & VAMP_CDO_OFFERED) != 0) {
        take_back(at);
    }
    forget(at, cdo, VAMP_CDO_END_DISPOSED);
}

static void dispose(struct vamp_track_context *at)
{
    struct vamp_tally *tally = &at->tracker->tallies[at->row];
    tally->handles -= tally->handles > 0;
    int64_t since_ns = 0;
    uint32_t handles = 0;
    if (vamp_track_demand_end(at, &since_ns)) {
        vamp_observe_anomaly(at->seen, VAMP_ANOMALY_DEMAND_NEVER_SATISFIED, 1);
    }
    struct vamp_cdo *cdo = at->cdo;
    if (cdo == NULL) {
        return;
    }
    const bool made = (cdo->flags & VAMP_CDO_MAKER) != 0;
    if (made && is_owner(at) && --cdo->owner_handles == 0) {
        dispose_by_owner(at);
        return;
    }
    (void)vamp_track_second_declare_end(at, &since_ns, &handles);
    const uint32_t least = made ? cdo->owner_handles : 0;
    cdo->handles -= cdo->handles > least;
    if (cdo->handles == 0) {
        forget(at, cdo, VAMP_CDO_END_DISPOSED);
    }
}

void vamp_track_cdo(struct vamp_track_context *at)
{
    int64_t since_ns = 0;
    switch (at->event->kind) {
    case VAMP_EVENT_DECLARE:
        declare(at);
        break;
    case VAMP_EVENT_SEAL:
        seal(at);
        break;
    case VAMP_EVENT_OFFER:
        offer(at);
        break;
    case VAMP_EVENT_REQUIRE:
    case VAMP_EVENT_DEMAND:
        consume(at);
        break;
    default:
        break;
    }
    /* Before the record may go. */
    if (at->cdo != NULL) {
        at->seen->producer = owner_name(at, at->cdo);
        vamp_track_learn_size(at);
        vamp_story_learn(at);
    }
    switch (at->event->kind) {
    case VAMP_EVENT_DEMAND:
        demand(at);
        break;
    case VAMP_EVENT_RETRACT:
        (void)vamp_track_demand_end(at, &since_ns);
        break;
    case VAMP_EVENT_WITHDRAW:
        withdraw(at);
        break;
    case VAMP_EVENT_DISPOSE:
        dispose(at);
        break;
    default:
        break;
    }
}

void vamp_track_forget_cdos(struct vamp_track_context *at)
{
    uint32_t position = 0;
    struct vamp_cdo *cdo = NULL;
    while ((cdo = vamp_table_next(&at->tracker->cdos, &position)) != NULL) {
        forget(at, cdo, VAMP_CDO_END_LEFT);
    }
}

void vamp_track_leave_cdos(struct vamp_track_context *at)
{
    struct vamp_tally *tally = &at->tracker->tallies[at->row];
    struct vamp_observation *seen = at->seen;
    vamp_observe_anomaly(seen, VAMP_ANOMALY_NOT_WITHDRAWN_AT_LEAVE, tally->offered);
    vamp_observe_anomaly(seen, VAMP_ANOMALY_NOT_DISPOSED_AT_LEAVE, tally->handles);
    seen->pool_cdos -= tally->offered;
    seen->pool_bytes -= (int64_t)tally->offered_bytes;
    seen->forgotten = tally->unsized;
    seen->forgotten_of = seen->labels.value[VAMP_LABEL_COMPONENT];
    vamp_story_owner_leaves(at);
    (void)vamp_table_owner_leaves(&at->tracker->cdos, at->row);
    tally->offered = 0;
    tally->offered_bytes = 0;
    tally->unsized = 0;
    tally->handles = 0;
}
