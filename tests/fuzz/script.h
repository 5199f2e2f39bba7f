/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A conversation as a fuzz target's input: steps of {head, length (2 bytes, little-endian), bytes}.
 * The head says who speaks and what the bytes are: the body of a message of one kind, around which
 * the target puts a right envelope, or a whole message as it is.
 */
#pragma once

#include "maestro/wire/frame.h"
#include "tests/fuzz/mutate.h"

enum {
    SCRIPT_PEERS = 4,
    SCRIPT_HEAD_BYTES = 3,
    SCRIPT_STEPS_MAX = 64,
    SCRIPT_RAW = 8,  /* instead of a kind: a whole message */
    SCRIPT_PAUSE = 9 /* time goes by */
};

struct script_step {
    unsigned peer;  /* who */
    unsigned what;  /* enum frame_kind - FRAME_JOIN, SCRIPT_RAW or SCRIPT_PAUSE */
    uint8_t *bytes; /* into the input */
    size_t length;
    size_t whole; /* with its head */
};

/* False: the end. A length beyond the end is cut. */
static inline bool script_next(const uint8_t **at, const uint8_t *end, struct script_step *ret_step)
{
    if (end - *at < SCRIPT_HEAD_BYTES) {
        return false;
    }
    union {
        const uint8_t *in;
        uint8_t *out;
    } bytes = {*at + SCRIPT_HEAD_BYTES};
    size_t length = (size_t)((*at)[1] | (*at)[2] << 8);
    size_t rest = (size_t)(end - bytes.in);
    length = length < rest ? length : rest;
    *ret_step = (struct script_step){.peer = (*at)[0] % SCRIPT_PEERS,
                                     .what = (*at)[0] / SCRIPT_PEERS % (SCRIPT_PAUSE + 1),
                                     .bytes = bytes.out,
                                     .length = length,
                                     .whole = SCRIPT_HEAD_BYTES + length};
    *at = bytes.in + length;
    return true;
}

/* The step as a message, valid until the next call: its bytes as they are, or behind an envelope of
 * `frame`'s numbers and the step's kind. */
static inline const uint8_t *script_message(const struct script_step *step, struct frame frame,
                                            size_t *ret_length)
{
    static uint8_t message[FRAME_BYTES_MAX + 1];
    size_t room = sizeof message;
    if (step->what != SCRIPT_RAW) {
        frame.kind = (enum frame_kind)(FRAME_JOIN + step->what);
        room = FRAME_BYTES_MAX - FRAME_HEAD_BYTES;
    }
    const size_t length = step->length < room ? step->length : room;
    const size_t head = step->what != SCRIPT_RAW ? frame_head(&frame, length, message) : 0;
    memcpy(message + head, step->bytes, length);
    *ret_length = head + length;
    return message;
}

static inline const ProtobufCMessageDescriptor *script_descriptor(unsigned what)
{
    static const ProtobufCMessageDescriptor *const descriptors[] = {
        &mstro__wire__join__descriptor,      &mstro__wire__welcome__descriptor,
        &mstro__wire__request__descriptor,   &mstro__wire__response__descriptor,
        &mstro__wire__ticket__descriptor,    &vamp__wire__event_batch__descriptor,
        &mstro__wire__heartbeat__descriptor, &mstro__wire__goodbye__descriptor,
        &mstro__wire__envelope__descriptor};
    return descriptors[what < SCRIPT_RAW ? what : SCRIPT_RAW];
}

/* Makes room of `wanted` bytes at `at` instead of `taken`. False: the input would grow too long. */
static inline bool script_resize(uint8_t *data, size_t *size, size_t max, size_t at, size_t taken,
                                 size_t wanted)
{
    if (*size - taken + wanted > max) {
        return false;
    }
    memmove(data + at + wanted, data + at + taken, *size - at - taken);
    *size = *size - taken + wanted;
    return true;
}

static inline void script_change(uint8_t *data, size_t *size, size_t max,
                                 const struct script_step *step, struct dice *dice)
{
    static uint8_t body[FRAME_BYTES_MAX];
    size_t length = step->length < sizeof body ? step->length : sizeof body;
    memcpy(body, step->bytes, length);
    length = mutate_packed(script_descriptor(step->what), body, length, sizeof body, dice);
    size_t at = (size_t)(step->bytes - data);
    if (script_resize(data, size, max, at, step->length, length)) {
        memcpy(data + at, body, length);
        data[at - 2] = (uint8_t)length;
        data[at - 1] = (uint8_t)(length >> 8);
    }
}

/* For LLVMFuzzerCustomMutator. */
static inline size_t script_mutate(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    struct dice dice = {.state = seed * 2654435761U | 1U};
    struct script_step steps[SCRIPT_STEPS_MAX];
    const uint8_t *at = data;
    uint32_t count = 0;
    while (count < SCRIPT_STEPS_MAX && script_next(&at, data + size, &steps[count])) {
        count++;
    }
    uint32_t way = dice_roll(&dice, 10);
    if (count == 0 || way == 0) {
        return LLVMFuzzerMutate(data, size, max);
    }
    struct script_step *step = &steps[dice_roll(&dice, count)];
    size_t begin = (size_t)(step->bytes - data) - SCRIPT_HEAD_BYTES;
    if (way == 1 && count > 1) { /* without this one */
        (void)script_resize(data, &size, max, begin, step->whole, 0);
    } else if (way == 2) { /* this one twice */
        if (script_resize(data, &size, max, begin, 0, step->whole)) {
            memcpy(data + begin, data + begin + step->whole, step->whole);
        }
    } else if (way == 3) { /* another sender, or another kind */
        data[begin] = (uint8_t)dice_roll(&dice, SCRIPT_PEERS * (SCRIPT_PAUSE + 1));
    } else {
        script_change(data, &size, max, step, &dice);
    }
    return size;
}
