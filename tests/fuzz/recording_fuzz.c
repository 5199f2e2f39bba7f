/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzz target of recordings: the input is a file. It is read to its end; what was read is recorded
 * again, and that recording has to be complete and hold the same. The mutator changes one message
 * of the file and mends its length.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "recording.pb-c.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/require.h"
#include "vampire/core/protobuf/wire.h"
#include "vampire/core/recording/recording.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);

/* A file without a name. */
static int memory_file(char path[static 64])
{
    int fd = memfd_create("recording", MFD_CLOEXEC);
    require(fd >= 0);
    (void)snprintf(path, 64, "/proc/self/fd/%d", fd);
    return fd;
}

/* What an event amounts to, without its place in memory. */
static uint64_t mix(uint64_t sum, const struct vamp_event *event)
{
    const uint64_t values[] = {event->kind,   event->serial,     (uint64_t)event->time_ns,
                               event->app_id, event->size_bytes, event->present,
                               event->tier,   event->peer_id,    event->transport_id};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        sum = (sum ^ values[i]) * UINT64_C(0x100000001b3);
    }
    for (uint32_t i = 0; i < event->name_length; i++) {
        sum = (sum ^ (uint8_t)event->name[i]) * UINT64_C(0x100000001b3);
    }
    return sum;
}

struct tally {
    uint64_t events, marks, sum;
};

/* Reads to the end. `recorder` NULL: only reads. False: no recording. */
static bool read_all(const char *path, struct vamp_recorder *recorder, struct tally *tally)
{
    struct vamp_recording *recording = NULL;
    struct vamp_recording_header header;
    struct vamp_err err = VAMP_ERR_NONE;
    int result = vamp_recording_open(path, &recording, &header, &err);
    require(result == 0 || err.text[0] != '\0');
    if (result != 0) {
        return false;
    }
    require(memchr(header.workflow, 0, sizeof header.workflow) != NULL);
    enum vamp_recording_status status;
    struct vamp_event event;
    while ((status = vamp_recording_next(recording, &event, &err)) <= VAMP_RECORDING_PAUSE) {
        if (status == VAMP_RECORDING_PAUSE) {
            continue;
        }
        bool mark = vamp_event_is_mark(&event);
        require(mark || vamp_event_kind_is_known(event.kind));
        tally->marks += mark ? 1U : 0U;
        tally->events += mark ? 0U : 1U;
        tally->sum = mark ? tally->sum : mix(tally->sum, &event);
        require(recorder == NULL || vamp_recorder_add(recorder, &event, &err) == 0);
    }
    require(status == VAMP_RECORDING_END || err.text[0] != '\0');
    require(recorder != NULL || vamp_recording_remark(recording) == NULL);
    vamp_recording_close(recording);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    char again_path[64];
    int file = memory_file(path);
    int again = memory_file(again_path);
    int own = dup(again); /* the recorder closes its own */
    struct vamp_recorder *recorder = NULL;
    const struct vamp_recording_header header = {.workflow = "fuzz"};
    struct tally tally = {0};
    struct tally tally_again = {0};
    require(write(file, data, size) == (ssize_t)size);
    require(vamp_recorder_begin(own, again_path, &header, &recorder, NULL) == 0);
    bool was_one = read_all(path, recorder, &tally);
    require(recorder->written <= tally.events);
    require(vamp_recorder_close(recorder, NULL) == 0);
    require(read_all(again_path, NULL, &tally_again));
    require(tally_again.events == tally.events && tally_again.sum == tally.sum);
    require(was_one || tally.events == 0);
    (void)close(file);
    (void)close(again);
    return 0;
}

/* ---- the mutator */

enum { MESSAGES_MAX = 64, BODY_MAX = 65536 };

struct part {
    size_t at, head, length;
};

static uint32_t find_parts(const uint8_t *data, size_t size, struct part *parts)
{
    uint32_t count = 0;
    size_t at = 0;
    while (count < MESSAGES_MAX && at < size) {
        uint64_t length = 0;
        const uint8_t *body = vamp_varint_read(data + at, data + size, 5, &length);
        if (body == NULL || length > (size_t)(data + size - body)) {
            break;
        }
        const size_t head = (size_t)(body - data) - at;
        parts[count++] = (struct part){at, head, (size_t)length};
        at += head + (size_t)length;
    }
    return count;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    static uint8_t body[BODY_MAX + 8];
    struct dice dice = {.state = seed * 2654435761U | 1U};
    struct part parts[MESSAGES_MAX];
    uint32_t count = find_parts(data, size, parts);
    uint32_t number = dice_roll(&dice, count + 1);
    if (number == count || parts[number].length > BODY_MAX || dice_roll(&dice, 6) == 0) {
        return LLVMFuzzerMutate(data, size, max);
    }
    const struct part *part = &parts[number];
    memcpy(body + 8, data + part->at + part->head, part->length);
    size_t length = mutate_packed(number == 0 ? &vamp__recording__header__descriptor
                                              : &vamp__recording__batch__descriptor,
                                  body + 8, part->length, BODY_MAX, &dice);
    uint8_t head[VAMP_VARINT_BYTES_MAX];
    size_t head_length = (size_t)(vamp_varint_write(head, length) - head);
    size_t end = part->at + part->head + part->length;
    if (part->at + head_length + length + (size - end) > max) {
        return size;
    }
    memmove(data + part->at + head_length + length, data + end, size - end);
    memcpy(data + part->at, head, head_length);
    memcpy(data + part->at + head_length, body + 8, length);
    return part->at + head_length + length + (size - end);
}
