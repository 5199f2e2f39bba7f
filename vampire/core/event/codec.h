/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *  * Converts between messages of event.proto and `struct vamp_event`, for the embedded Maestro's
 * wire and for recordings, byte for byte as protobuf-c packs them. Does not use the heap. Any
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

/* Packs an operation (not a control event) into `buffer`. Returns the length, 0 when `bytes` are
 * too few. */
size_t vamp_event_pack(const struct vamp_event *event, uint8_t *buffer, size_t bytes);

/* The constant part of all messages of a CDO: its id and its name, which are adjacent. */
#define VAMP_EVENT_CDO_BYTES(name_length) ((size_t)(name_length) + 24)
/* Packs it; returns its length. The name is at its end. */
size_t vamp_event_pack_cdo(struct vamp_cdo_id id, const char *name, size_t name_length,
                           uint8_t *buffer);
/* As vamp_event_pack, with `cdo`, unless it is NULL, instead of the event's id and name. The buffer
 * has at least VAMP_EVENT_PACKED_BYTES_MAX - VAMP_NAME_BYTES_MAX bytes more than the name. */
size_t vamp_event_pack_of_cdo(const struct vamp_event *event, const uint8_t *cdo, size_t cdo_length,
                              uint8_t *buffer);

/* The serial number in a valid message, 0 when there is none. */
uint64_t vamp_event_packed_serial(const uint8_t *bytes, size_t length);

/* Reads and checks a message. The name points into `bytes`. An unknown tier, cause or reason (a
 * newer sender) counts as absent. Without a time, time_ns is the message's arrival_ns, else 0, and
 * the caller must set it. 0, or -EBADMSG: not an event message, an unknown kind, an id that is not
 * 16 bytes, or a name longer than VAMP_NAME_BYTES_MAX; `*ret_event` is then empty, of kind NONE. */
VAMP_MUST_CHECK int vamp_event_read(const uint8_t *bytes, size_t length,
                                    struct vamp_event *ret_event, struct vamp_err *err);

/* ------------------------------------------------------------------ batches */

/* Keys of the fields of EventBatch. */
enum {
    VAMP_EVENT_BATCH_SUBSCRIPTION = 1 << 3,
    VAMP_EVENT_BATCH_LOST = 2 << 3,
    VAMP_EVENT_BATCH_EVENT = 3 << 3 | 2,
};

/* A packed EventBatch; points into the bytes passed to vamp_event_batch_open. */
struct vamp_event_batch {
    uint64_t subscription, lost;
    size_t events;
    const uint8_t *at, *end; /* unread bytes */
};

/* Does not read the events. 0, or -EBADMSG: not a batch; `*ret_batch` is then unchanged. */
VAMP_MUST_CHECK int vamp_event_batch_open(const uint8_t *bytes, size_t length,
                                          struct vamp_event_batch *ret_batch, struct vamp_err *err);
/* The next event's message; false: there are no more. */
bool vamp_event_batch_next(struct vamp_event_batch *batch, const uint8_t **ret_bytes,
                           size_t *ret_length);
