/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recording.pb-c.h"
#include "vampire/core/event/codec.h"
#include "vampire/core/io.h"
#include "vampire/core/protobuf/wire.h"
#include "vampire/core/recording/check.h"
#include "vampire/core/recording/recording.h"

/* Space before a batch for its length; space for one more event follows the batch. */
#define LENGTH_BYTES ((size_t)5)
#define BATCH_BYTES ((size_t)60 * 1024)
#define BUFFER_BYTES (LENGTH_BYTES + BATCH_BYTES + VAMP_EVENT_PACKED_BYTES_MAX + 64)

/* Keys of the fields of a Batch. */
enum {
    KEY_FIRST = 1 << 3,
    KEY_MARK = 2 << 3 | 2,
    KEY_EVENT = 3 << 3 | 2,
    KEY_END = 4 << 3,
    KEY_REPEATS = 5 << 3,
    KEY_MORE = 6 << 3
};

/* ------------------------------------------------------------------ the file */

/* Writes all bytes. On failure truncates the file to its previous length. */
static int write_all(struct vamp_recorder *recorder, const uint8_t *bytes, size_t length,
                     struct vamp_err *err)
{
    size_t done = 0;
    const int code = vamp_write_all(recorder->file, bytes, length, &done);
    if (code == 0 || ftruncate(recorder->file, (off_t)recorder->bytes) != 0) {
        recorder->bytes += done; /* a reader treats a partial message as a torn end of the file */
    }
    recorder->failure = -code;
    if (code != 0) {
        return vamp_err_set_errno(err, code, "write recording %s", recorder->path);
    }
    return 0;
}

static int already_failed(const struct vamp_recorder *recorder, struct vamp_err *err)
{
    return vamp_err_set_errno(err, -recorder->failure, "recording %s failed before",
                              recorder->path);
}

/* Writes the header or batch with its length and check value, and starts the next batch. */
static int write_batch(struct vamp_recorder *recorder, struct vamp_err *err)
{
    if (recorder->used == LENGTH_BYTES) {
        return 0;
    }
    assert(recorder->used + VAMP_CHECK_BYTES <= BUFFER_BYTES);
    const bool is_header = recorder->bytes == 0;
    vamp_check_write(recorder->buffer + LENGTH_BYTES, recorder->used - LENGTH_BYTES,
                     is_header ? VAMP_CHECK_KEY_HEADER : VAMP_CHECK_KEY_BATCH);
    const size_t length = recorder->used - LENGTH_BYTES + VAMP_CHECK_BYTES;
    uint8_t prefix[VAMP_VARINT_BYTES_MAX];
    const size_t prefix_length = (size_t)(vamp_varint_write(prefix, length) - prefix);
    uint8_t *start = recorder->buffer + LENGTH_BYTES - prefix_length;
    memcpy(start, prefix, prefix_length);
    int result = write_all(recorder, start, prefix_length + length, err);
    if (result == 0) {
        recorder->written += recorder->waiting;
    } else {
        recorder->lost += recorder->waiting;
    }
    recorder->waiting = 0;
    recorder->repeats = false;
    recorder->used = LENGTH_BYTES;
    return result;
}

/* ------------------------------------------------------------------ messages */

static void begin_batch(struct vamp_recorder *recorder)
{
    if (recorder->used == LENGTH_BYTES) {
        uint8_t *at = recorder->buffer + recorder->used;
        *at++ = KEY_FIRST;
        recorder->used = (size_t)(vamp_varint_write(at, recorder->written) - recorder->buffer);
    }
}

static void add_event(struct vamp_recorder *recorder, const struct vamp_event *event)
{
    begin_batch(recorder);
    uint8_t *at = recorder->buffer + recorder->used;
    const size_t gap = VAMP_WIRE_LEAD_BYTES_MAX;
    const size_t length = vamp_event_pack(event, at + gap, VAMP_EVENT_PACKED_BYTES_MAX);
    recorder->used = (size_t)(vamp_wire_wrap(at, gap, KEY_EVENT, length) - recorder->buffer);
}

static void add_mark(struct vamp_recorder *recorder, const struct vamp_event *event)
{
    Vamp__Recording__Mark mark = VAMP__RECORDING__MARK__INIT;
    mark.kind = event->kind;
    mark.count = event->count;
    mark.has_reason = event->kind == VAMP_EVENT_LOST;
    mark.reason = event->reason;
    mark.time_ns = event->time_ns;
    begin_batch(recorder);
    uint8_t *at = recorder->buffer + recorder->used;
    const size_t gap = VAMP_WIRE_LEAD_BYTES_MAX;
    const size_t length = vamp__recording__mark__pack(&mark, at + gap);
    recorder->used = (size_t)(vamp_wire_wrap(at, gap, KEY_MARK, length) - recorder->buffer);
}

int vamp_recorder_add(struct vamp_recorder *recorder, const struct vamp_event *event,
                      struct vamp_err *err)
{
    const bool is_mark = vamp_event_is_mark(event);
    if (recorder->failure != 0) {
        recorder->lost += !is_mark;
        return already_failed(recorder, err);
    }
    if (!is_mark && event->name_length > VAMP_NAME_BYTES_MAX) {
        return vamp_err_set(err, -EINVAL, "a name of %u bytes cannot be recorded",
                            event->name_length);
    }
    /* A control event starts a new batch, so that the order of events is preserved. */
    if (is_mark || recorder->repeats || recorder->used >= LENGTH_BYTES + BATCH_BYTES) {
        int result = write_batch(recorder, err);
        if (result != 0) {
            recorder->lost += !is_mark;
            return result;
        }
    }
    if (is_mark) {
        add_mark(recorder, event);
    } else {
        add_event(recorder, event);
        recorder->waiting++;
    }
    return 0;
}

int vamp_recorder_repeat(struct vamp_recorder *recorder, const struct vamp_event *event,
                         struct vamp_err *err)
{
    if (recorder->failure != 0) {
        return already_failed(recorder, err);
    }
    if (!recorder->repeats || recorder->used >= LENGTH_BYTES + BATCH_BYTES) {
        int result = write_batch(recorder, err);
        if (result != 0) {
            return result;
        }
        begin_batch(recorder);
        recorder->buffer[recorder->used++] = KEY_REPEATS;
        recorder->buffer[recorder->used++] = 1;
        recorder->repeats = true;
    }
    add_event(recorder, event);
    return 0;
}

int vamp_recorder_flush(struct vamp_recorder *recorder, bool durable, struct vamp_err *err)
{
    if (recorder->failure != 0) {
        return already_failed(recorder, err);
    }
    int result = write_batch(recorder, err);
    if (result == 0 && durable && fdatasync(recorder->file) != 0) {
        recorder->failure = -errno;
        result = vamp_err_set_errno(err, errno, "flush recording %s", recorder->path);
    }
    return result;
}

/* ------------------------------------------------------------------ start and end */

static int write_header(struct vamp_recorder *recorder, const struct vamp_recording_header *header,
                        struct vamp_err *err)
{
    /* protobuf-c expects mutable texts, although packing does not modify them. */
    struct vamp_recording_header texts = *header;
    char format[] = VAMP_RECORDING_FORMAT;
    Vamp__Recording__Header message = VAMP__RECORDING__HEADER__INIT;
    message.format = format;
    message.version = VAMP_RECORDING_VERSION;
#define TEXT(name) message.name = texts.name[0] != '\0' ? texts.name : NULL;
    VAMP_RECORDING_TEXTS(TEXT)
#undef TEXT
    message.has_pid = texts.pid != 0;
    message.pid = texts.pid;
    message.has_started_ns = true;
    message.started_ns = texts.started_ns;
    message.has_event_kinds = true;
    message.event_kinds = texts.event_kinds;
    message.has_unknown = texts.unknown != 0;
    message.unknown = texts.unknown;
    message.has_segment = texts.segment != 0;
    message.segment = texts.segment;
    message.has_events_before = texts.events_before != 0;
    message.events_before = texts.events_before;
    recorder->used += vamp__recording__header__pack(&message, recorder->buffer + recorder->used);
    return write_batch(recorder, err);
}

int vamp_recorder_begin(int file, const char *path, const struct vamp_recording_header *header,
                        struct vamp_recorder **ret_recorder, struct vamp_err *err)
{
    struct vamp_recorder *recorder = malloc(sizeof *recorder + BUFFER_BYTES);
    if (recorder == NULL) {
        (void)close(file);
        return vamp_err_set(err, -ENOMEM, "no memory to record to %s", path);
    }
    *recorder = (struct vamp_recorder){.file = file, .used = LENGTH_BYTES};
    (void)snprintf(recorder->path, sizeof recorder->path, "%s", path);
    int result = write_header(recorder, header, err);
    if (result != 0) {
        (void)close(file);
        free(recorder);
        return result;
    }
    *ret_recorder = recorder;
    return 0;
}

static int write_end(struct vamp_recorder *recorder, struct vamp_err *err)
{
    begin_batch(recorder);
    recorder->buffer[recorder->used++] = KEY_END;
    recorder->buffer[recorder->used++] = 1;
    if (recorder->goes_on) {
        recorder->buffer[recorder->used++] = KEY_MORE;
        recorder->buffer[recorder->used++] = 1;
    }
    return write_batch(recorder, err);
}

int vamp_recorder_close(struct vamp_recorder *recorder, struct vamp_err *err)
{
    if (recorder == NULL) {
        return 0;
    }
    int result = 0;
    if (recorder->failure == 0) {
        result = write_batch(recorder, err);
        if (result == 0) {
            result = write_end(recorder, err);
        }
    }
    if (close(recorder->file) != 0 && result == 0) {
        result = vamp_err_set_errno(err, errno, "close recording %s", recorder->path);
    }
    if (recorder->failure != 0 && recorder->written == 0) {
        (void)unlink(recorder->path);
    }
    free(recorder);
    return result;
}
