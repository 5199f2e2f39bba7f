/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/pairing/history.h"
#include "vampire/stats/pairing/keys.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(struct vamp_cdo) == 80, "the pairing record of a CDO is kept small");
_Static_assert(sizeof(struct vamp_hold) == 80, "and that of a further component's part of it");
_Static_assert(sizeof(struct vamp_pending) % 8 == 0, "records are aligned");
_Static_assert(sizeof(struct vamp_transport) % 8 == 0, "records are aligned");

int vamp_tracker_init(struct vamp_tracker *tracker, const struct vamp_stats_options *options,
                      const struct vamp_components *components, struct vamp_err *err)
{
    memset(tracker, 0, sizeof *tracker);
    tracker->components = components;
    const size_t rows = options->max_components;
    const size_t pending = options->max_pending;
    tracker->tallies = calloc(rows, sizeof *tracker->tallies);
    tracker->at = calloc(1, sizeof *tracker->at);
    int status = tracker->tallies == NULL || tracker->at == NULL ? -ENOMEM : 0;
    status |= vamp_table_init(&tracker->cdos, options->max_cdos, sizeof(struct vamp_cdo), 2, rows);
    status |=
        vamp_table_init(&tracker->holds, options->max_cdos, sizeof(struct vamp_hold), 4, rows);
    status |= vamp_table_init(&tracker->received, pending, sizeof(struct vamp_pending), 4, rows);
    status |= vamp_table_init(&tracker->demands, pending, sizeof(struct vamp_pending), 4, rows);
    status |=
        vamp_table_init(&tracker->transports, pending, sizeof(struct vamp_transport), 4, rows);
    tracker->by_model = options->level == VAMP_LEVEL_MODEL;
    if (options->level == VAMP_LEVEL_CDO) {
        tracker->histories = calloc(options->max_cdos, sizeof *tracker->histories);
        status |= tracker->histories == NULL ? -ENOMEM : 0;
    }
    status |= vamp_pending_cdos_init(tracker, options);
    if (status != 0) {
        return vamp_err_set(err, -ENOMEM,
                            "statistics: out of memory for %llu CDOs and %llu waits and "
                            "transports; smaller max_cdos and max_pending need less",
                            (unsigned long long)options->max_cdos,
                            (unsigned long long)options->max_pending);
    }
    return 0;
}

void vamp_tracker_done(struct vamp_tracker *tracker)
{
    vamp_table_done(&tracker->cdos);
    vamp_table_done(&tracker->holds);
    vamp_table_done(&tracker->received);
    vamp_table_done(&tracker->demands);
    vamp_table_done(&tracker->transports);
    free(tracker->tallies);
    free(tracker->at);
    free(tracker->histories);
    vamp_pending_cdos_done(tracker);
    memset(tracker, 0, sizeof *tracker);
}

static uint64_t fold_word(uint64_t hash, uint64_t word)
{
    unsigned __int128 product = (unsigned __int128)(hash ^ word) * UINT64_C(0x9FB21C651E98DF25);
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Two independent halves, so that a million names do not meet. */
struct vamp_key vamp_track_name_key(const struct vamp_event *event)
{
    const char *name = event->name;
    const size_t length = event->name_length;
    uint64_t first = UINT64_C(0x243F6A8885A308D3) + length;
    uint64_t second = UINT64_C(0x13198A2E03707344) ^ length;
    for (size_t i = 0; i < length; i += 8) {
        uint64_t word = 0;
        memcpy(&word, name + i, length - i < 8 ? length - i : 8);
        first = fold_word(first, word);
        second = fold_word(second + UINT64_C(0xA4093822299F31D0), word);
    }
    return vamp_key_of_two(first, second);
}

bool vamp_track_find_key_by_name(const struct vamp_event *event, struct vamp_key *ret_key)
{
    *ret_key = (struct vamp_key){.hash = 0};
    if (vamp_event_has(event, VAMP_HAS_CDO_NAME)) {
        *ret_key = vamp_track_name_key(event);
        return true;
    }
    /* A component that joins is known by its name alone: it has no id before. */
    if (vamp_event_has(event, VAMP_HAS_COMPONENT_NAME)) {
        *ret_key = vamp_track_name_key(event);
    }
    return false;
}

static void find_component(struct vamp_track_context *at)
{
    const struct vamp_event *event = at->event;
    uint32_t name = VAMP_NAME_UNKNOWN;
    at->component = NULL;
    at->row = 0;
    if (vamp_event_has(event, VAMP_HAS_APP)) {
        at->component = vamp_components_find(at->tracker->components, event->app_id);
        at->row = at->component == NULL ? 0 : at->component->index;
        name =
            at->component == NULL ? VAMP_NAME_OTHER : vamp_track_name(at->tracker, at->component);
    }
    uint32_t *labels = at->seen->labels.value;
    labels[VAMP_LABEL_COMPONENT] = name;
    labels[VAMP_LABEL_OPERATION] = event->kind;
    at->seen->producer = name;
}

static void find_size(struct vamp_observation *seen, const struct vamp_event *event)
{
    seen->size_known = vamp_event_has(event, VAMP_HAS_SIZE);
    seen->size_bytes = seen->size_known ? event->size_bytes : 0;
}

static void track_join(struct vamp_track_context *at)
{
    struct vamp_tally *tally = &at->tracker->tallies[at->row];
    if (at->row != 0 && tally->present > 0) {
        vamp_observe_anomaly(at->seen, VAMP_ANOMALY_OPERATION_OUT_OF_ORDER, 1);
        return;
    }
    tally->present++;
    at->seen->present = 1;
}

static void track_leave(struct vamp_track_context *at)
{
    struct vamp_tracker *tracker = at->tracker;
    struct vamp_tally *tally = &tracker->tallies[at->row];
    assert(!tally->left);
    if (tally->present > 0) {
        tally->present--;
        at->seen->present = -1;
    }
    if (at->row == 0) {
        return; /* of no component, or of several that are not distinguished */
    }
    if (at->component->joined_ns != INT64_MIN) {
        (void)vamp_observe_interval(at->seen, VAMP_INTERVAL_ASSOCIATION, at->component->joined_ns);
    }
    vamp_track_release(at);
}

void vamp_track_release(struct vamp_track_context *at)
{
    struct vamp_tracker *tracker = at->tracker;
    tracker->tallies[at->row].left = true;
    vamp_track_leave_cdos(at);
    vamp_observe_anomaly(at->seen, VAMP_ANOMALY_DEMAND_NEVER_SATISFIED,
                         vamp_table_owner_leaves(&tracker->demands, at->row));
    (void)vamp_table_owner_leaves(&tracker->received, at->row);
    vamp_track_drop_pending(tracker, at->row);
}

/* Whether the component, which has a row, could have done this at all. */
static void check_component(struct vamp_track_context *at, struct vamp_tally *tally)
{
    if (!tally->checked) {
        tally->checked = true;
        vamp_observe_anomaly(at->seen, VAMP_ANOMALY_UNKNOWN_COMPONENT,
                             at->component->joined_ns == INT64_MIN ? 1 : 0);
    }
    if (tally->left) {
        vamp_observe_anomaly(at->seen, VAMP_ANOMALY_OPERATION_OUT_OF_ORDER, 1);
    }
}

/* A component that has left begins and ends nothing: what it held was counted at its LEAVE, and
 * whatever began now would never end. */
static void track_after(struct vamp_track_context *at)
{
    struct vamp_tally *tally = &at->tracker->tallies[at->row];
    if ((!tally->checked || tally->left) && at->row != 0) {
        check_component(at, tally);
    }
    if (vamp_track_is_transport(at->event->kind)) {
        vamp_track_transport(at);
        return;
    }
    if (tally->left) {
        return;
    }
    tally->acted = vamp_track_moment(at);
    if ((at->tracker->received_kinds & VAMP_EVENT_BIT(at->event->kind)) != 0) {
        vamp_track_handled(at);
    }
    if (at->event->kind == VAMP_EVENT_JOIN) {
        track_join(at);
    } else if (at->event->kind == VAMP_EVENT_LEAVE) {
        track_leave(at);
    } else if (at->has_cdo) {
        vamp_track_cdo(at);
    }
}

/* As track_after: not of a component that has left. */
static void track_before(struct vamp_track_context *at)
{
    struct vamp_tally *tally = &at->tracker->tallies[at->row];
    if (!tally->left) {
        tally->acted = vamp_track_moment(at);
        vamp_track_received(at);
    }
}

/* What was foreseen of the event; NULL: nothing. */
static const struct vamp_foreseen *take_foreseen(struct vamp_track_context *at)
{
    struct vamp_track_ahead *ahead = &at->tracker->ahead;
    while (ahead->next < ahead->count) {
        const struct vamp_foreseen *foreseen = &ahead->events[ahead->next++];
        if (foreseen->event == at->event) {
            return foreseen;
        }
    }
    return NULL;
}

/* The key of the event's CDO, and its record where the event is one that can change it. */
static void find_cdo(struct vamp_track_context *at)
{
    struct vamp_table *cdos = &at->tracker->cdos;
    const struct vamp_track_ahead *ahead = &at->tracker->ahead;
    const struct vamp_foreseen *foreseen = ahead->next < ahead->count ? take_foreseen(at) : NULL;
    at->cdo = NULL;
    at->changing = false;
    if (foreseen != NULL) {
        at->has_cdo = true;
        at->cdo_key = foreseen->cdo_key;
        if (foreseen->cdo != NULL) {
            at->cdo = vamp_table_find_expected(cdos, &at->cdo_key, foreseen->cdo);
        }
        return;
    }
    at->has_cdo = vamp_track_find_key(at->event, &at->cdo_key);
    if (at->has_cdo && at->event->phase == VAMP_PHASE_AFTER) {
        at->cdo = vamp_table_find(cdos, &at->cdo_key);
    }
}

void vamp_track(struct vamp_tracker *tracker, const struct vamp_event *event,
                struct vamp_observation *seen)
{
    vamp_observation_begin(seen, event);
    seen->found = VAMP_FOUND_OPERATION;
    tracker->events++;
    struct vamp_track_context *at = tracker->at;
    at->tracker = tracker;
    at->event = event;
    at->seen = seen;
    find_component(at);
    find_size(seen, event);
    find_cdo(at);
    if (event->phase == VAMP_PHASE_AFTER) {
        track_after(at);
        if (at->changing) {
            vamp_track_weigh(at, at->cdo, 1);
        }
    } else if (!vamp_track_is_transport(event->kind)) {
        track_before(at);
    }
    if (seen->pool_changed) {
        vamp_track_show_bytes(tracker, seen);
        seen->found |= (seen->pool_cdos | seen->pool_bytes) != 0 ? VAMP_FOUND_CONTENT : 0U;
    }
    seen->labels.value[VAMP_LABEL_SIZE_CLASS] = vamp_size_class(seen->size_known, seen->size_bytes);
}

bool vamp_track_rest(struct vamp_tracker *tracker, uint32_t *position, uint32_t *ret_component)
{
    const struct vamp_cdo *cdo = NULL;
    while ((cdo = vamp_table_next(&tracker->cdos, position)) != NULL) {
        if ((cdo->flags & (VAMP_CDO_MAKER | VAMP_CDO_COUNTED)) == VAMP_CDO_MAKER) {
            *ret_component = cdo->record.owner == 0
                                 ? VAMP_NAME_UNKNOWN
                                 : vamp_track_name(tracker, vamp_components_row(tracker->components,
                                                                                cdo->record.owner));
            return true;
        }
    }
    return false;
}
