/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The messages of event.proto to and from `struct vamp_event`: on the embedded Maestro's wire and
 * in recordings, byte for byte as protobuf-c packs them. Neither direction uses the heap. Any
 * thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vampire/core/err.h"
#include "vampire/core/event/event.h"

/* ------------------------------------------------------------------ one event */

/* A message with the longest name fits in this many bytes. */
#define VAMP_EVENT_PACKED_BYTES_MAX (VAMP_NAME_BYTES_MAX + 256)

/* The packed message of an operation (a mark has none: assert) in `buffer`. Returns its length, 0
 * when `bytes` are too few. */
size_t vamp_event_pack(const struct vamp_event *event, uint8_t *buffer, size_t bytes);

/* What is the same in all messages of a CDO: its id and its name, which follow each other. */
#define VAMP_EVENT_CDO_BYTES(name_length) ((size_t)(name_length) + 24)
/* Packs it; returns its length. The name is at its end. */
size_t vamp_event_pack_cdo(struct vamp_cdo_id id, const char *name, size_t name_length,
                           uint8_t *buffer);
/* As vamp_event_pack, with that in place of the event's own id and name unless `cdo` is NULL. The
 * buffer has room for any numbers: VAMP_EVENT_PACKED_BYTES_MAX, less what the name is shorter than
 * the longest one. */
size_t vamp_event_pack_of_cdo(const struct vamp_event *event, const uint8_t *cdo, size_t cdo_length,
                              uint8_t *buffer);

/* The serial number in a message that is valid, 0 when there is none. */
uint64_t vamp_event_packed_serial(const uint8_t *bytes, size_t length);

/* Reads and checks a message. The name lies in `bytes`. Presence bits follow the fields that are
 * there; an unknown tier, cause or reason (a newer sender) counts as absent. Without a time of its
 * own the event's time_ns is the message's arrival_ns, else 0: the caller fills it in. 0, or
 * -EBADMSG: no event message, an unknown kind, an id that is not 16 bytes, or a name longer than
 * VAMP_NAME_BYTES_MAX; `*ret_event` is then empty, of kind NONE. */
VAMP_MUST_CHECK int vamp_event_read(const uint8_t *bytes, size_t length,
                                    struct vamp_event *ret_event, struct vamp_err *err);

/* ------------------------------------------------------------------ a batch of them */

/* Keys of the fields of EventBatch. */
enum {
    VAMP_EVENT_BATCH_SUBSCRIPTION = 1 << 3,
    VAMP_EVENT_BATCH_LOST = 2 << 3,
    VAMP_EVENT_BATCH_EVENT = 3 << 3 | 2,
};

/* A packed EventBatch; it points into the bytes it was opened with. */
struct vamp_event_batch {
    uint64_t subscription, lost;
    size_t events;
    const uint8_t *at, *end; /* what vamp_event_batch_next has not given */
};

/* 0, or -EBADMSG: no batch; `*ret_batch` is then unchanged. The events themselves are not read. */
VAMP_MUST_CHECK int vamp_event_batch_open(const uint8_t *bytes, size_t length,
                                          struct vamp_event_batch *ret_batch, struct vamp_err *err);
/* The next event's message; false: there are no more. */
bool vamp_event_batch_next(struct vamp_event_batch *batch, const uint8_t **ret_bytes,
                           size_t *ret_length);
