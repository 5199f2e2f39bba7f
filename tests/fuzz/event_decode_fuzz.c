/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzz target of the event codec: the input is one event message. The decoder
 * has to make of it what protobuf-c makes of it: both accept it with the same values, or both
 * refuse it.
 */
#include <stdint.h>
#include <string.h>

#include "tests/fuzz/require.h"
#include "tests/lib/event_judge.h"
#include "vampire/core/event/codec.h"
#include "vampire/core/protobuf/arena.h"

#define ARENA_BYTES ((size_t)1 << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);

static void require_same(const struct vamp_event *left, const struct vamp_event *right)
{
    require(left->kind == right->kind && left->phase == right->phase);
    require(left->present == right->present);
    require(left->serial == right->serial && left->time_ns == right->time_ns);
    require(left->app_id == right->app_id && left->peer_id == right->peer_id);
    require(left->cdo_id.high == right->cdo_id.high && left->cdo_id.low == right->cdo_id.low);
    require(left->size_bytes == right->size_bytes);
    require(left->transport_id == right->transport_id && left->duration_ns == right->duration_ns);
    require(left->count == right->count);
    require(left->tier == right->tier && left->cause == right->cause);
    require(left->reason == right->reason);
    require(left->name_length == right->name_length);
    require((left->name == NULL) == (right->name == NULL));
    require(left->name == NULL || right->name == NULL ||
            memcmp(left->name, right->name, left->name_length) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct vamp_decode_arena arena;
    if (arena.memory == NULL) {
        require(vamp_decode_arena_init(&arena, ARENA_BYTES, NULL) == 0);
    }
    struct vamp_event expected = {0};
    struct vamp_event got = {0};
    const Vamp__Wire__Event *message =
        vamp__wire__event__unpack(vamp_decode_arena_reset(&arena), size, data);
    require(message != NULL || !arena.exhausted);
    const bool accepted = judge_event(message, &expected);
    const int result = vamp_event_read(data, size, &got, NULL);
    require(result == (accepted ? 0 : -EBADMSG));
    if (accepted) {
        require_same(&got, &expected);
    }
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    (void)seed;
    return LLVMFuzzerMutate(data, size, max);
}
