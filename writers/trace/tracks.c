/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/trace/tracks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX
#define FIRST_CAPACITY 64

void vamp_trace_tracks_done(struct vamp_trace_tracks *tracks)
{
    free(tracks->items);
    free(tracks->next);
    free(tracks->first);
    *tracks = (struct vamp_trace_tracks){.items = NULL};
}

static size_t place_of(uint32_t process, enum vamp_trace_kind kind)
{
    return (size_t)process * VAMP_TRACE_KIND_COUNT + kind;
}

static int know_process(struct vamp_trace_tracks *tracks, uint32_t process)
{
    if (process < tracks->processes) {
        return 0;
    }
    size_t processes = tracks->processes > 0 ? tracks->processes : FIRST_CAPACITY;
    while (processes <= process) {
        processes *= 2;
    }
    const size_t before = tracks->processes * VAMP_TRACE_KIND_COUNT;
    const size_t after = processes * VAMP_TRACE_KIND_COUNT;
    uint32_t *first = reallocarray(tracks->first, after, sizeof *first);
    if (first == NULL) {
        return -ENOMEM;
    }
    memset(first + before, 0xFF, (after - before) * sizeof *first);
    tracks->first = first;
    tracks->processes = processes;
    return 0;
}

static int grow(struct vamp_trace_tracks *tracks)
{
    if (tracks->count < tracks->capacity) {
        return 0;
    }
    const size_t capacity = tracks->capacity > 0 ? tracks->capacity * 2 : FIRST_CAPACITY;
    struct vamp_trace_track *items = reallocarray(tracks->items, capacity, sizeof *items);
    if (items == NULL) {
        return -ENOMEM;
    }
    tracks->items = items;
    uint32_t *next = reallocarray(tracks->next, capacity, sizeof *next);
    if (next == NULL) {
        return -ENOMEM;
    }
    tracks->next = next;
    tracks->capacity = capacity;
    return 0;
}

static int add_track(struct vamp_trace_tracks *tracks, uint32_t process, enum vamp_trace_kind kind,
                     unsigned lane, struct vamp_trace_track **ret_track)
{
    const int code = grow(tracks);
    if (code != 0) {
        return code;
    }
    const uint32_t number = (uint32_t)tracks->count++;
    const size_t place = place_of(process, kind);
    bool is_first = true;
    for (unsigned i = 0; i < VAMP_TRACE_KIND_COUNT; i++) {
        is_first = is_first && tracks->first[place_of(process, (enum vamp_trace_kind)i)] == NONE;
    }
    tracks->items[number] = (struct vamp_trace_track){.number = number,
                                                      .process = process,
                                                      .kind = kind,
                                                      .lane = lane,
                                                      .is_first = is_first,
                                                      .end_ns = INT64_MIN};
    tracks->next[number] = tracks->first[place];
    tracks->first[place] = number;
    *ret_track = &tracks->items[number];
    return 0;
}

int vamp_trace_tracks_find(struct vamp_trace_tracks *tracks, uint64_t max_tracks, uint32_t process,
                           enum vamp_trace_kind kind, int64_t start_ns,
                           struct vamp_trace_track **ret_track, bool *ret_new)
{
    *ret_track = NULL;
    *ret_new = false;
    const int code = know_process(tracks, process);
    if (code != 0) {
        return code;
    }
    unsigned lanes = 0;
    for (uint32_t i = tracks->first[place_of(process, kind)]; i != NONE; i = tracks->next[i]) {
        struct vamp_trace_track *track = &tracks->items[i];
        lanes++;
        if (track->end_ns <= start_ns &&
            (*ret_track == NULL || track->end_ns > (*ret_track)->end_ns)) {
            *ret_track = track;
        }
    }
    if (*ret_track != NULL || lanes == VAMP_TRACE_LANES_MAX || tracks->count >= max_tracks) {
        return 0;
    }
    *ret_new = true;
    return add_track(tracks, process, kind, lanes, ret_track);
}
