/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "maestro/wire/frame.h"
#include "vampire/core/event/codec.h"

static struct vamp_decode_arena arena;

static int open_arena(void **state)
{
    (void)state;
    return vamp_decode_arena_init(&arena, FRAME_ARENA_BYTES, NULL);
}

static int close_arena(void **state)
{
    (void)state;
    vamp_decode_arena_done(&arena);
    return 0;
}

static size_t pack_request(uint8_t *buffer, char *name)
{
    Mstro__Wire__Declare declare = MSTRO__WIRE__DECLARE__INIT;
    Mstro__Wire__Request request = MSTRO__WIRE__REQUEST__INIT;
    declare.name = name;
    request.id = 42;
    request.what_case = MSTRO__WIRE__REQUEST__WHAT_DECLARE;
    request.declare = &declare;
    const struct frame frame = {.events_taken = 5, .kind = FRAME_REQUEST};
    return frame_pack(&frame, &request.base, buffer, FRAME_BYTES_MAX);
}

static void test_round_trip(void **state)
{
    (void)state;
    uint8_t buffer[FRAME_BYTES_MAX];
    char name[] = "class:rd,step:6";
    size_t length = pack_request(buffer, name);
    assert_true(length > 0);
    struct frame frame;
    struct vamp_err err = VAMP_ERR_NONE;
    assert_int_equal(0, frame_parse(buffer, length, &frame, &err));
    assert_int_equal(frame.events_taken, 5);
    assert_int_equal(frame.kind, FRAME_REQUEST);
    const Mstro__Wire__Request *request = frame_unpack(&frame, &arena, &err);
    assert_non_null(request);
    assert_int_equal(request->id, 42);
    assert_string_equal(request->declare->name, name);
}

/* What is written by hand is what the .proto says, and the other way round. */
static void test_is_protobuf(void **state)
{
    (void)state;
    uint8_t buffer[FRAME_BYTES_MAX];
    char name[] = "x";
    size_t length = pack_request(buffer, name);
    Mstro__Wire__Envelope *envelope = mstro__wire__envelope__unpack(NULL, length, buffer);
    assert_non_null(envelope);
    assert_int_equal(envelope->version, FRAME_VERSION);
    assert_int_equal(envelope->events_taken, 5);
    assert_int_equal(envelope->body_case, MSTRO__WIRE__ENVELOPE__BODY_REQUEST);
    uint8_t again[FRAME_BYTES_MAX];
    size_t again_length = mstro__wire__envelope__pack(envelope, again);
    mstro__wire__envelope__free_unpacked(envelope, NULL);
    struct frame frame;
    assert_int_equal(0, frame_parse(again, again_length, &frame, NULL));
    assert_int_equal(frame.kind, FRAME_REQUEST);
}

static void test_too_long(void **state)
{
    (void)state;
    uint8_t buffer[FRAME_BYTES_MAX];
    char *name = malloc(FRAME_BYTES_MAX + 1);
    assert_non_null(name);
    memset(name, 'n', FRAME_BYTES_MAX);
    name[FRAME_BYTES_MAX] = '\0';
    assert_int_equal(0, pack_request(buffer, name));
    name[FRAME_BYTES_MAX - 100] = '\0';
    size_t length = pack_request(buffer, name);
    assert_true(length > FRAME_BYTES_MAX - 100 && length <= FRAME_BYTES_MAX);
    free(name);
}

static void test_bad_messages(void **state)
{
    (void)state;
    uint8_t buffer[FRAME_BYTES_MAX];
    char name[] = "a name";
    size_t length = pack_request(buffer, name);
    struct frame frame;
    for (size_t cut = 0; cut < length; cut++) { /* cut anywhere it is no message */
        assert_int_equal(-EBADMSG, frame_parse(buffer, cut, &frame, NULL));
    }
    uint8_t other[FRAME_BYTES_MAX];
    memcpy(other, buffer, length);
    other[1] = 9; /* the version */
    assert_int_equal(-EPROTO, frame_parse(other, length, &frame, NULL));
    assert_int_equal(frame.kind, FRAME_REQUEST);
    memcpy(other, buffer, length);
    other[0] = 0x58; /* no version, but a field of no meaning */
    assert_int_equal(-EBADMSG, frame_parse(other, length, &frame, NULL));
    memcpy(other, buffer, length);
    memcpy(other + length, buffer, length); /* two bodies */
    assert_int_equal(-EBADMSG, frame_parse(other, 2 * length, &frame, NULL));
    static const char http[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
    assert_int_equal(-EBADMSG, frame_parse((const uint8_t *)http, sizeof http - 1, &frame, NULL));
}

/* Random damage is refused or understood, and never more than that. The generator is fixed. */
static void test_damage(void **state)
{
    (void)state;
    uint8_t buffer[FRAME_BYTES_MAX];
    char name[] = "class:rd,date:20240101,levelist:500";
    size_t length = pack_request(buffer, name);
    uint64_t random = 1;
    unsigned refused = 0;
    for (unsigned round = 0; round < 20000; round++) {
        uint8_t damaged[256];
        memcpy(damaged, buffer, length);
        for (unsigned hits = 0; hits < 1 + round % 3; hits++) {
            random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            damaged[(random >> 33) % length] = (uint8_t)(random >> 55);
        }
        struct frame frame;
        struct vamp_err err = VAMP_ERR_NONE;
        if (frame_parse(damaged, length, &frame, &err) != 0 ||
            frame_unpack(&frame, &arena, &err) == NULL) {
            refused++;
            assert_true(err.code != 0 && err.text[0] != '\0');
        }
    }
    assert_true(refused > 1000);
}

/* A few bytes each that would unpack to a structure each. */
static void test_bomb(void **state)
{
    (void)state;
    uint8_t buffer[FRAME_BYTES_MAX];
    const struct frame out = {.kind = FRAME_TICKET};
    uint8_t *body = buffer + frame_head(&out, 0, buffer);
    size_t used = 0;
    body[used++] = 0x08; /* transport_id, handle, size_bytes */
    body[used++] = 1;
    body[used++] = 0x10;
    body[used++] = 1;
    body[used++] = 0x18;
    body[used++] = 1;
    while (used + 4 <= FRAME_BYTES_MAX - FRAME_HEAD_BYTES) { /* attributes with an empty key */
        static const uint8_t attribute[] = {0x22, 2, 0x0a, 0};
        memcpy(body + used, attribute, sizeof attribute);
        used += sizeof attribute;
    }
    const size_t head = frame_head(&out, used, buffer);
    struct frame frame;
    struct vamp_err err = VAMP_ERR_NONE;
    assert_int_equal(0, frame_parse(buffer, head + used, &frame, &err));
    assert_null(frame_unpack(&frame, &arena, &err));
    assert_non_null(strstr(err.text, "more than is allowed"));
}

static size_t pack_batch(uint8_t *buffer, size_t count)
{
    Vamp__Wire__Event events[1024];
    Vamp__Wire__Event *pointers[1024];
    uint8_t name[] = "param:130";
    for (size_t i = 0; i < count; i++) {
        vamp__wire__event__init(&events[i]);
        events[i].kind = 5;
        events[i].has_serial = 1;
        events[i].serial = i;
        if (count < 500) {
            events[i].has_name = 1;
            events[i].name = (ProtobufCBinaryData){.len = sizeof name - 1, .data = name};
        }
        pointers[i] = &events[i];
    }
    Vamp__Wire__EventBatch batch = VAMP__WIRE__EVENT_BATCH__INIT;
    batch.subscription = 3;
    batch.has_lost = 1;
    batch.lost = 7;
    batch.n_events = count;
    batch.events = pointers;
    const struct frame frame = {.kind = FRAME_EVENTS};
    return frame_pack(&frame, &batch.base, buffer, FRAME_BYTES_MAX);
}

static void test_batch(void **state)
{
    (void)state;
    uint8_t buffer[FRAME_BYTES_MAX];
    static const size_t counts[] = {0, 1, 17, 64, 65, 300, 1024};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        size_t length = pack_batch(buffer, counts[i]);
        assert_true(length > 0);
        struct frame frame;
        struct vamp_event_batch batch;
        struct vamp_err err = VAMP_ERR_NONE;
        assert_int_equal(0, frame_parse(buffer, length, &frame, &err));
        assert_int_equal(0, vamp_event_batch_open(frame.body, frame.body_length, &batch, &err));
        assert_int_equal(batch.events, counts[i]);
        assert_int_equal(batch.subscription, 3);
        assert_int_equal(batch.lost, 7);
        const uint8_t *bytes = NULL;
        size_t event_length = 0;
        size_t events = 0;
        struct vamp_event event = {.serial = 0};
        while (vamp_event_batch_next(&batch, &bytes, &event_length)) {
            assert_int_equal(0, vamp_event_read(bytes, event_length, &event, &err));
            assert_int_equal(event.serial, events++);
        }
        assert_int_equal(events, counts[i]);
        frame.body_length -= frame.body_length > 3 ? 3 : 1;
        assert_int_equal(-EBADMSG,
                         vamp_event_batch_open(frame.body, frame.body_length, &batch, &err));
        assert_non_null(strstr(err.text, "cannot be understood"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip), cmocka_unit_test(test_is_protobuf),
        cmocka_unit_test(test_too_long),   cmocka_unit_test(test_bad_messages),
        cmocka_unit_test(test_damage),     cmocka_unit_test(test_bomb),
        cmocka_unit_test(test_batch),
    };
    return cmocka_run_group_tests(tests, open_arena, close_arena);
}
