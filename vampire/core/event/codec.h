/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Converts between `struct vamp_event` and the messages of event.proto, as on the embedded
 * Maestro's wire and in recordings; packs the same bytes as protobuf-c. Neither direction uses the
 * heap. Any thread.
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

/* Packs an operation (no control event) into `buffer`. Returns the length; 0 if it exceeds `bytes`.
 */
size_t vamp_event_pack(const struct vamp_event *event, uint8_t *buffer, size_t bytes);

/* Size of the packed id and name of a CDO, which are adjacent and the same in all its messages. */
#define VAMP_EVENT_CDO_BYTES(name_length) ((size_t)(name_length) + 24)
/* Packs the id and the name of a CDO; returns the length. The name is last. */
size_t vamp_event_pack_cdo(struct vamp_cdo_id id, const char *name, size_t name_length,
                           uint8_t *buffer);
/* As vamp_event_pack, but unless `cdo` is NULL, copies these packed bytes instead of packing the
 * event's own id and name. The size of the buffer must be VAMP_EVENT_PACKED_BYTES_MAX, reduced by
 * the difference between VAMP_NAME_BYTES_MAX and the length of the name. */
size_t vamp_event_pack_of_cdo(const struct vamp_event *event, const uint8_t *cdo, size_t cdo_length,
                              uint8_t *buffer);

/* Returns the serial number in a valid message; 0 if there is none. */
uint64_t vamp_event_packed_serial(const uint8_t *bytes, size_t length);

/* Reads and checks a message. The event's name points into `bytes`. Presence bits correspond to the
 * fields in the message; an unknown tier, cause or reason (of a newer sender) counts as absent. If
 * the message has no time, time_ns is its arrival_ns or, without one, 0, which the caller must
 * replace. Returns 0, or -EBADMSG if the message is not an event, has an unknown kind, an id that
 * is not 16 bytes long, or a name longer than VAMP_NAME_BYTES_MAX; `*ret_event` is then empty and
 * of kind NONE. */
VAMP_MUST_CHECK int vamp_event_read(const uint8_t *bytes, size_t length,
                                    struct vamp_event *ret_event, struct vamp_err *err);

/* ------------------------------------------------------------------ a batch of events */

/* Keys of the fields of EventBatch. */
enum {
    VAMP_EVENT_BATCH_SUBSCRIPTION = 1 << 3,
    VAMP_EVENT_BATCH_LOST = 2 << 3,
    VAMP_EVENT_BATCH_EVENT = 3 << 3 | 2,
};

/* A packed EventBatch; points into the bytes with which it was opened. */
struct vamp_event_batch {
    uint64_t subscription, lost;
    size_t events;
    const uint8_t *at, *end; /* bytes that vamp_event_batch_next has not returned yet */
};

/* Opens a batch without reading its events. Returns 0, or -EBADMSG if the bytes are not a batch;
 * `*ret_batch` is then unchanged. */
VAMP_MUST_CHECK int vamp_event_batch_open(const uint8_t *bytes, size_t length,
                                          struct vamp_event_batch *ret_batch, struct vamp_err *err);
/* Returns the message of the next event; false after the last event. */
bool vamp_event_batch_next(struct vamp_event_batch *batch, const uint8_t **ret_bytes,
                           size_t *ret_length);
