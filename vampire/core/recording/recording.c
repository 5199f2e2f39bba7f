/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads recordings. Events are unpacked one at a time into a small arena; the enclosing batch is
 * parsed in this file. A malicious file therefore cannot use more memory than is allocated at the
 * start.
 */
#include "vampire/core/recording/recording.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recording.pb-c.h"
#include "vampire/core/event/codec.h"
#include "vampire/core/io.h"
#include "vampire/core/protobuf/arena.h"
#include "vampire/core/protobuf/wire.h"
#include "vampire/core/recording/check.h"
#include "vampire/core/values.h"

#define ARENA_BYTES ((size_t)16 * 1024)
#define BUFFER_BYTES (2 * VAMP_RECORDING_MESSAGE_BYTES_MAX)

enum {
    FIELD_FIRST = 1,
    FIELD_MARK = 2,
    FIELD_EVENT = 3,
    FIELD_END = 4,
    FIELD_REPEATS = 5,
    FIELD_MORE = 6
};

struct vamp_recording {
    int file;
    bool at_end;            /* the end of the file was read */
    bool finished;          /* no more events are returned */
    bool complete;          /* the end record was read */
    bool goes_on;           /* the run continues in another segment, according to the end record */
    size_t from, to;        /* unread part of `buffer` */
    bool read_since_pause;  /* a message was read since the last PAUSE */
    struct vamp_wire batch; /* unread part of the current batch */
    bool repeats;           /* the current batch repeats events of earlier segments */
    bool skip_repeated;
    uint64_t events;  /* number of events that were returned, rejected or reported as lost */
    uint64_t damaged; /* number of damaged places */
    bool checked;     /* messages end with a check value */
    bool left_out;    /* the next gap in positions is already counted in `damaged` */
    bool torn;        /* the file ends in the middle of a message */
    int64_t newest_ns;
    struct vamp_decode_arena arena;
    char remark[256];
    uint8_t buffer[BUFFER_BYTES];
};

/* ------------------------------------------------------------------ the file */

static int fill(struct vamp_recording *recording, struct vamp_err *err)
{
    if (recording->from != 0) {
        memmove(recording->buffer, recording->buffer + recording->from,
                recording->to - recording->from);
        recording->to -= recording->from;
        recording->from = 0;
    }
    if (recording->at_end) {
        return 0;
    }
    size_t got = 0;
    const int code = vamp_read_all(recording->file, recording->buffer + recording->to,
                                   BUFFER_BYTES - recording->to, &got);
    recording->to += got;
    recording->at_end = code == 0 && recording->to < BUFFER_BYTES;
    if (code != 0) {
        return vamp_err_set_errno(err, code, "read the recording");
    }
    return 0;
}

/* Result of reading a message from the file. */
enum found { FOUND_MESSAGE, FOUND_PAUSE, FOUND_END, FOUND_TORN, FOUND_FAILURE };

static enum found parse_message(struct vamp_recording *recording, struct vamp_wire *ret_message)
{
    struct vamp_wire rest = {.at = recording->buffer + recording->from,
                             .end = recording->buffer + recording->to};
    if (!vamp_wire_has_more(&rest)) {
        return FOUND_END;
    }
    size_t length = 0;
    const uint8_t *bytes = vamp_wire_bytes(&rest, &length);
    /* A length of zero is not a message: a crash left a hole in the file. */
    if (rest.bad || length == 0 || length > VAMP_RECORDING_MESSAGE_BYTES_MAX) {
        return FOUND_TORN;
    }
    *ret_message = (struct vamp_wire){.at = bytes, .end = rest.at};
    recording->from = (size_t)(rest.at - recording->buffer);
    return FOUND_MESSAGE;
}

static enum found read_message(struct vamp_recording *recording, struct vamp_wire *ret_message,
                               struct vamp_err *err)
{
    enum found found = parse_message(recording, ret_message);
    if (found == FOUND_MESSAGE || recording->at_end) {
        return found;
    }
    if (recording->read_since_pause) {
        recording->read_since_pause = false;
        return FOUND_PAUSE;
    }
    /* A complete message fits in the buffer. If it is incomplete now, it stays so. */
    if (fill(recording, err) != 0) {
        return FOUND_FAILURE;
    }
    return parse_message(recording, ret_message);
}

/* ------------------------------------------------------------------ opening */

static int read_header(struct vamp_recording *recording, const char *path,
                       struct vamp_recording_header *ret_header, struct vamp_err *err)
{
    struct vamp_wire message;
    enum found found = read_message(recording, &message, err);
    if (found == FOUND_FAILURE) {
        return vamp_err_wrap(err, "%s", path);
    }
    const Vamp__Recording__Header *header = NULL;
    if (found == FOUND_MESSAGE) {
        recording->checked =
            vamp_check_holds(message.at, (size_t)(message.end - message.at), VAMP_CHECK_KEY_HEADER);
        header = vamp__recording__header__unpack(vamp_decode_arena_reset(&recording->arena),
                                                 (size_t)(message.end - message.at), message.at);
    }
    if (header == NULL || strcmp(header->format, VAMP_RECORDING_FORMAT) != 0) {
        return vamp_err_set(err, -EBADMSG, "%s is not a recording of vampire", path);
    }
    if (header->version != VAMP_RECORDING_VERSION) {
        return vamp_err_set(err, -EPROTONOSUPPORT,
                            "recording %s has version %u of the format; this program reads %d",
                            path, header->version, VAMP_RECORDING_VERSION);
    }
#define TEXT(name)                                                                                 \
    (void)snprintf(ret_header->name, sizeof ret_header->name, "%s", vamp_text_or(header->name, ""));
    VAMP_RECORDING_TEXTS(TEXT)
#undef TEXT
    ret_header->pid = header->has_pid ? header->pid : 0;
    if (header->has_check && !recording->checked) {
        recording->checked = true;
        recording->damaged++;
    }
    ret_header->started_ns = header->started_ns;
    ret_header->event_kinds = header->has_event_kinds ? header->event_kinds : UINT64_MAX;
    ret_header->unknown = header->has_unknown ? header->unknown : 0;
    ret_header->segment = header->has_segment ? header->segment : 0;
    ret_header->events_before = header->has_events_before ? header->events_before : 0;
    return 0;
}

/* The headers of several recordings are read before their events, and a pipe can be read only once.
 */
static int open_file(struct vamp_recording *recording, const char *path, struct vamp_err *err)
{
    struct stat status;
    recording->file =
        open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* does not wait for the writer of a pipe */
    if (recording->file < 0 || fstat(recording->file, &status) != 0) {
        return vamp_err_set_errno(err, errno, "cannot open recording %s", path);
    }
    if (!S_ISREG(status.st_mode)) {
        return vamp_err_set(err, -EINVAL, "%s is not a file, from which a recording is read", path);
    }
    return 0;
}

int vamp_recording_open(const char *path, struct vamp_recording **ret_recording,
                        struct vamp_recording_header *ret_header, struct vamp_err *err)
{
    struct vamp_recording *recording = calloc(1, sizeof *recording);
    if (recording == NULL) {
        return vamp_err_set(err, -ENOMEM, "no memory to read recording %s", path);
    }
    recording->newest_ns = INT64_MIN;
    int result = open_file(recording, path, err);
    if (result == 0) {
        result = vamp_decode_arena_init(&recording->arena, ARENA_BYTES, err);
    }
    if (result == 0) {
        result = read_header(recording, path, ret_header, err);
    }
    if (result != 0) {
        vamp_recording_close(recording);
        return result;
    }
    *ret_recording = recording;
    return 0;
}

void vamp_recording_close(struct vamp_recording *recording)
{
    if (recording != NULL) {
        if (recording->file >= 0) {
            (void)close(recording->file);
        }
        vamp_decode_arena_done(&recording->arena);
        free(recording);
    }
}

bool vamp_recording_begins(const uint8_t *begin, size_t bytes)
{
    static const char mark[] = "\x0a\x11" VAMP_RECORDING_FORMAT;
    struct vamp_wire rest = {.at = begin, .end = begin + bytes};
    (void)vamp_wire_varint(&rest); /* the length of the header */
    return !rest.bad && (size_t)(rest.end - rest.at) >= sizeof mark - 1 &&
           memcmp(rest.at, mark, sizeof mark - 1) == 0;
}

uint64_t vamp_recording_bytes_read(const struct vamp_recording *recording)
{
    const off_t offset = lseek(recording->file, 0, SEEK_CUR);
    return offset < 0 ? 0 : (uint64_t)offset - (recording->to - recording->from);
}

int vamp_recording_measure(int file, const char *path, uint64_t *ret_bytes, uint64_t *ret_messages,
                           struct vamp_err *err)
{
    struct vamp_recording *recording = calloc(1, sizeof *recording);
    if (recording == NULL) {
        return vamp_err_set(err, -ENOMEM, "no memory to read recording %s", path);
    }
    recording->file = file;
    *ret_bytes = *ret_messages = 0;
    struct vamp_wire message;
    enum found found = FOUND_FAILURE;
    if (lseek(file, 0, SEEK_SET) != 0) {
        (void)vamp_err_set_errno(err, errno, "read the recording");
    } else {
        while ((found = read_message(recording, &message, err)) == FOUND_MESSAGE) {
            *ret_messages += 1;
        }
    }
    *ret_bytes = vamp_recording_bytes_read(recording);
    free(recording);
    if (found == FOUND_FAILURE) {
        return vamp_err_wrap(err, "%s", path);
    }
    return 0;
}

/* ------------------------------------------------------------------ events */

static void make_control_event(struct vamp_recording *recording, enum vamp_event_kind kind,
                               uint64_t count, struct vamp_event *ret_event)
{
    *ret_event = (struct vamp_event){
        .kind = (uint8_t)kind,
        .reason = VAMP_LOSS_RECORDING,
        .count = count,
        .time_ns = recording->newest_ns != INT64_MIN ? recording->newest_ns : 0,
    };
}

static bool give_mark(struct vamp_recording *recording, const uint8_t *bytes, size_t length,
                      struct vamp_event *ret_event)
{
    const Vamp__Recording__Mark *mark =
        vamp__recording__mark__unpack(vamp_decode_arena_reset(&recording->arena), length, bytes);
    if (mark == NULL || mark->kind < VAMP_EVENT_UNWANTED || mark->kind > VAMP_EVENT_REJECTED ||
        mark->reason >= VAMP_LOSS_COUNT) {
        recording->damaged++;
        make_control_event(recording, VAMP_EVENT_REJECTED, 1, ret_event);
        return true;
    }
    *ret_event = (struct vamp_event){
        .kind = (uint8_t)mark->kind,
        .reason = (uint8_t)mark->reason,
        .count = mark->count,
        .time_ns = mark->time_ns,
    };
    return mark->count != 0 || mark->kind < VAMP_EVENT_LOST;
}

static inline void give_event(struct vamp_recording *recording, const uint8_t *bytes, size_t length,
                              struct vamp_event *ret_event)
{
    if (vamp_event_read(bytes, length, ret_event, NULL) != 0) {
        recording->damaged++;
        make_control_event(recording, VAMP_EVENT_REJECTED, 1, ret_event);
        return;
    }
    recording->newest_ns = ret_event->time_ns;
}

static bool read_flag(struct vamp_wire *wire)
{
    const uint64_t value = vamp_wire_varint(wire);
    return !wire->bad && value != 0;
}

/* Compares the position in this batch with the number of events read so far; the difference is the
 * number of events in damaged batches. Returns whether `*ret_event` was set to a control event for
 * a loss. */
static bool check_position(struct vamp_recording *recording, uint64_t first,
                           struct vamp_event *ret_event)
{
    if (first <= recording->events) {
        return false;
    }
    make_control_event(recording, VAMP_EVENT_LOST, first - recording->events, ret_event);
    recording->damaged += !recording->left_out;
    recording->left_out = false;
    recording->events = first;
    return true;
}

/* Reads the event of the batch whose key ends before `at`. Returns whether it is to be returned. */
static inline bool read_event(struct vamp_recording *recording, const uint8_t *at,
                              struct vamp_event *ret_event)
{
    struct vamp_wire rest = {.at = at, .end = recording->batch.end};
    size_t length = 0;
    const uint8_t *bytes = vamp_wire_bytes(&rest, &length);
    recording->batch.at = rest.at;
    if (rest.bad) {
        recording->batch.bad = true;
        return false;
    }
    if (!recording->repeats) {
        recording->events++;
    } else if (recording->skip_repeated) {
        return false;
    }
    give_event(recording, bytes, length, ret_event);
    return true;
}

/* Reads a field that is not an event. Returns whether `*ret_event` was set to a control event. Not
 * inlined, because nearly all fields are events. */
static __attribute__((noinline)) bool read_field(struct vamp_recording *recording,
                                                 struct vamp_event *ret_event)
{
    struct vamp_wire *batch = &recording->batch;
    const uint64_t key = vamp_wire_key(batch);
    const uint8_t *bytes = NULL;
    size_t length = 0;
    uint64_t first = 0;
    if (batch->bad) {
        return false;
    }
    switch (key) {
    case VAMP_WIRE_KEY(FIELD_EVENT,
                       BYTES): /* an event whose key is encoded in more bytes than necessary */
        return read_event(recording, batch->at, ret_event);
    case VAMP_WIRE_KEY(FIELD_MARK, BYTES):
        bytes = vamp_wire_bytes(batch, &length);
        return !batch->bad && give_mark(recording, bytes, length, ret_event);
    case VAMP_WIRE_KEY(FIELD_FIRST, VARINT):
        first = vamp_wire_varint(batch);
        return !batch->bad && check_position(recording, first, ret_event);
    case VAMP_WIRE_KEY(FIELD_REPEATS, VARINT):
        recording->repeats |= read_flag(batch);
        return false;
    case VAMP_WIRE_KEY(FIELD_END, VARINT):
        recording->complete |= read_flag(batch);
        return false;
    case VAMP_WIRE_KEY(FIELD_MORE, VARINT):
        recording->goes_on |= read_flag(batch);
        return false;
    default:
        vamp_wire_skip(batch, key);
        return false;
    }
}

/* Reads the next event or control event of the current batch. Returns false at the end of the
 * batch, or if the rest of it is damaged (counted in `damaged`). */
static inline bool next_of_batch(struct vamp_recording *recording, struct vamp_event *ret_event)
{
    const struct vamp_wire *batch = &recording->batch;
    while (vamp_wire_has_more(batch)) {
        const bool is_event = *batch->at == VAMP_WIRE_KEY(FIELD_EVENT, BYTES);
        if (is_event && read_event(recording, batch->at + 1, ret_event)) {
            return true;
        }
        if (!is_event && read_field(recording, ret_event)) {
            return true;
        }
    }
    if (batch->bad) {
        /* The number of missing events is determined by the position in the next batch. */
        recording->damaged++;
        recording->batch = (struct vamp_wire){.at = NULL};
    }
    return false;
}

static void __attribute__((format(printf, 2, 3)))
remark(struct vamp_recording *recording, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(recording->remark, sizeof recording->remark, format, arguments);
    va_end(arguments);
}

/* Ends reading. Returns whether `*ret_event` was set to a control event for a torn end. */
static bool finish(struct vamp_recording *recording, bool torn, struct vamp_event *ret_event)
{
    recording->finished = true;
    recording->torn = torn;
    if (torn) {
        remark(recording,
               "it ends in the middle of a record: %llu events were read, the last %zu bytes were "
               "not",
               (unsigned long long)recording->events, recording->to - recording->from);
        recording->events++;
        make_control_event(recording, VAMP_EVENT_LOST, 1, ret_event);
        return true;
    }
    if (recording->damaged != 0) {
        remark(recording, "it is damaged in %llu places", (unsigned long long)recording->damaged);
    } else if (!recording->complete) {
        remark(recording, "it has no end record: the recorder did not finish");
    }
    return false;
}

/* Skips the current batch if its check value is wrong. The number of missing events is determined
 * by the position in the next batch. */
static void check_batch(struct vamp_recording *recording)
{
    struct vamp_wire *batch = &recording->batch;
    const bool has_check =
        vamp_check_holds(batch->at, (size_t)(batch->end - batch->at), VAMP_CHECK_KEY_BATCH);
    if (has_check) {
        batch->end -= VAMP_CHECK_BYTES;
        /* A recorder that adds a check to batches also adds one to the header. If none was found
         * there, the header was damaged. */
        recording->damaged += !recording->checked;
        recording->checked = true;
    } else if (recording->checked) {
        recording->damaged++;
        recording->left_out = true;
        *batch = (struct vamp_wire){.at = NULL};
    }
}

/* Returns the first event or control event of the following batches. Not inlined: rarely called. */
static __attribute__((noinline)) enum vamp_recording_status
next_of_file(struct vamp_recording *recording, struct vamp_event *ret_event, struct vamp_err *err)
{
    while (!recording->finished) {
        enum found found = read_message(recording, &recording->batch, err);
        switch (found) {
        case FOUND_MESSAGE:
            recording->read_since_pause = true;
            recording->repeats = false;
            check_batch(recording);
            if (next_of_batch(recording, ret_event)) {
                return VAMP_RECORDING_EVENT;
            }
            break;
        case FOUND_PAUSE:
            return VAMP_RECORDING_PAUSE;
        case FOUND_FAILURE:
            recording->finished = true;
            return VAMP_RECORDING_ERROR;
        case FOUND_END:
        case FOUND_TORN:
            if (finish(recording, found == FOUND_TORN, ret_event)) {
                return VAMP_RECORDING_EVENT;
            }
            break;
        }
    }
    return VAMP_RECORDING_END;
}

enum vamp_recording_status vamp_recording_next(struct vamp_recording *recording,
                                               struct vamp_event *ret_event, struct vamp_err *err)
{
    if (next_of_batch(recording, ret_event)) {
        return VAMP_RECORDING_EVENT;
    }
    return next_of_file(recording, ret_event, err);
}

bool vamp_recording_goes_on(const struct vamp_recording *recording)
{
    return recording->goes_on;
}

void vamp_recording_skip_repeated(struct vamp_recording *recording)
{
    recording->skip_repeated = true;
}

uint64_t vamp_recording_events(const struct vamp_recording *recording)
{
    return recording->events;
}

bool vamp_recording_is_damaged(const struct vamp_recording *recording)
{
    return recording->torn || recording->damaged != 0;
}

const char *vamp_recording_remark(const struct vamp_recording *recording)
{
    return recording->remark[0] != '\0' ? recording->remark : NULL;
}
