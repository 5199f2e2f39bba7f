/* SPDX-License-Identifier: BSD-3-Clause */
/* The event codec: what goes in comes out, absent stays absent, hostile bytes are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/lib/event_judge.h"
#include "vampire/core/event/codec.h"
#include "vampire/core/protobuf/arena.h"

static struct vamp_decode_arena arena;

static int setup(void **state)
{
    (void)state;
    return vamp_decode_arena_init(&arena, 16 * 1024, NULL);
}

static int teardown(void **state)
{
    (void)state;
    vamp_decode_arena_done(&arena);
    vamp_decode_arena_done(&arena); /* twice is fine */
    return 0;
}

static void assert_same(const struct vamp_event *left, const struct vamp_event *right)
{
    assert_int_equal(left->kind, right->kind);
    assert_int_equal(left->phase, right->phase);
    assert_int_equal(left->present, right->present);
    assert_int_equal(left->serial, right->serial);
    assert_true(left->time_ns == right->time_ns);
    assert_int_equal(left->app_id, right->app_id);
    assert_int_equal(left->peer_id, right->peer_id);
    assert_int_equal(left->cdo_id.high, right->cdo_id.high);
    assert_int_equal(left->cdo_id.low, right->cdo_id.low);
    assert_int_equal(left->size_bytes, right->size_bytes);
    assert_int_equal(left->transport_id, right->transport_id);
    assert_int_equal(left->duration_ns, right->duration_ns);
    assert_int_equal(left->tier, right->tier);
    assert_int_equal(left->cause, right->cause);
    assert_int_equal(left->reason, right->reason);
    assert_int_equal(left->name_length, right->name_length);
    if (left->name_length != 0) {
        assert_memory_equal(left->name, right->name, left->name_length);
    }
}

static void round_trip(const struct vamp_event *event)
{
    uint8_t buffer[VAMP_EVENT_PACKED_BYTES_MAX];
    size_t length = vamp_event_pack(event, buffer, sizeof buffer);
    assert_true(length > 0);
    struct vamp_event got;
    struct vamp_err err = VAMP_ERR_NONE;
    assert_int_equal(vamp_event_read(buffer, length, &got, &err), 0);
    assert_same(event, &got);
    /* The exact size is enough, one byte less is refused. */
    uint8_t exact[VAMP_EVENT_PACKED_BYTES_MAX];
    assert_int_equal(vamp_event_pack(event, exact, length), length);
    assert_int_equal(vamp_event_pack(event, exact, length - 1), 0);
    uint8_t judged[VAMP_EVENT_PACKED_BYTES_MAX];
    assert_int_equal(judge_pack(event, judged), length);
    assert_memory_equal(judged, buffer, length);
    assert_int_equal(vamp_event_packed_serial(buffer, length), event->serial);
}

static const struct vamp_event full = {
    .serial = UINT64_MAX,
    .time_ns = INT64_MIN,
    .app_id = 7,
    .peer_id = 0,
    .cdo_id = {.high = 0x0102030405060708, .low = UINT64_MAX},
    .size_bytes = UINT64_MAX,
    .transport_id = 99,
    .duration_ns = UINT64_MAX,
    .name = "class:rd,step:6",
    .name_length = 15,
    .present = VAMP_HAS_SERIAL | VAMP_HAS_TIME | VAMP_HAS_APP | VAMP_HAS_PEER | VAMP_HAS_CDO_ID |
               VAMP_HAS_SIZE | VAMP_HAS_CDO_NAME | VAMP_HAS_TRANSPORT | VAMP_HAS_TIER |
               VAMP_HAS_CAUSE | VAMP_HAS_REASON | VAMP_HAS_DURATION,
    .kind = VAMP_EVENT_TRANSPORT_COMPLETED,
    .phase = VAMP_PHASE_BEFORE,
    .tier = VAMP_TIER_MIO,
    .cause = VAMP_CAUSE_MANAGER,
    .reason = VAMP_LEAVE_VANISHED,
};

static void everything_survives(void **state)
{
    (void)state;
    round_trip(&full);
}

/* Each presence bit alone, with value zero: zero is a value, and nothing else appears. */
static void each_field_alone(void **state)
{
    (void)state;
    for (unsigned bit = 0; bit < 13; bit++) {
        struct vamp_event event = {.present = (uint16_t)(1U << bit), .kind = VAMP_EVENT_SEAL};
        if (event.present == VAMP_HAS_COMPONENT_NAME) {
            event.kind = VAMP_EVENT_JOIN;
        }
        round_trip(&event);
    }
    for (unsigned kind = 1; kind < VAMP_EVENT_KIND_COUNT; kind++) {
        struct vamp_event event = {.kind = (uint8_t)kind, .time_ns = 1234};
        round_trip(&event); /* arrival time, no time of its own */
    }
}

static void names_up_to_the_bound(void **state)
{
    (void)state;
    static char text[VAMP_NAME_BYTES_MAX + 1];
    memset(text, 'n', sizeof text);
    struct vamp_event event = {.kind = VAMP_EVENT_OFFER, .present = VAMP_HAS_CDO_NAME};
    event.name = text;
    for (uint32_t length = 0; length <= VAMP_NAME_BYTES_MAX; length += length < 300 ? 1 : 949) {
        event.name_length = length;
        round_trip(&event);
    }
    event.name_length = VAMP_NAME_BYTES_MAX + 1;
    uint8_t buffer[2 * VAMP_EVENT_PACKED_BYTES_MAX];
    size_t length = vamp_event_pack(&event, buffer, sizeof buffer);
    struct vamp_event got = full;
    struct vamp_err err = VAMP_ERR_NONE;
    assert_int_equal(vamp_event_read(buffer, length, &got, &err), -EBADMSG);
    assert_non_null(strstr(err.text, "4097"));
    /* Nothing is left of a message that is refused. */
    assert_int_equal(got.kind, VAMP_EVENT_NONE);
    assert_int_equal(got.present, 0);
    assert_int_equal(got.serial, 0);
    assert_null(got.name);
    assert_int_equal(got.name_length, 0);
}

static void of_cdo(const struct vamp_event *event)
{
    uint8_t cdo[VAMP_EVENT_CDO_BYTES(VAMP_NAME_BYTES_MAX)];
    uint8_t buffer[VAMP_EVENT_PACKED_BYTES_MAX];
    uint8_t expected[VAMP_EVENT_PACKED_BYTES_MAX];
    const size_t cdo_length =
        vamp_event_pack_cdo(event->cdo_id, event->name, event->name_length, cdo);
    assert_memory_equal(cdo + cdo_length - event->name_length, event->name, event->name_length);
    const size_t length = vamp_event_pack_of_cdo(event, cdo, cdo_length, buffer);
    assert_int_equal(vamp_event_pack(event, expected, sizeof expected), length);
    assert_memory_equal(expected, buffer, length);
}

/* With id and name packed before, the message is the same. */
static void cdo_packed_before(void **state)
{
    (void)state;
    static char text[VAMP_NAME_BYTES_MAX];
    memset(text, 'n', sizeof text);
    struct vamp_event bare = {.kind = VAMP_EVENT_SEAL,
                              .present = VAMP_HAS_CDO_ID | VAMP_HAS_CDO_NAME};
    struct vamp_event event = full;
    bare.name = event.name = text;
    for (uint32_t length = 1; length <= VAMP_NAME_BYTES_MAX; length += length < 300 ? 1 : 949) {
        bare.name_length = event.name_length = length;
        of_cdo(&bare);
        of_cdo(&event);
    }
}

static void id_bytes_read_like_its_text(void **state)
{
    (void)state;
    uint8_t bytes[VAMP_CDO_ID_BYTES];
    vamp_cdo_id_to_bytes((struct vamp_cdo_id){.high = 0x0102030405060708, .low = 0xff}, bytes);
    const uint8_t expected[VAMP_CDO_ID_BYTES] = {1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0, 0, 0, 0, 255};
    assert_memory_equal(bytes, expected, sizeof expected);
}

static int unpack_message(const Vamp__Wire__Event *message, struct vamp_event *ret_event)
{
    uint8_t buffer[8192];
    size_t length = vamp__wire__event__pack(message, buffer);
    struct vamp_err err = VAMP_ERR_NONE;
    return vamp_event_read(buffer, length, ret_event, &err);
}

static void odd_messages_are_refused(void **state)
{
    (void)state;
    uint8_t id[17] = {0};
    struct vamp_event got;
    const uint32_t kinds[] = {0, VAMP_EVENT_SAMPLE + 1, VAMP_EVENT_LOST, VAMP_EVENT_REJECTED,
                              UINT32_MAX};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        Vamp__Wire__Event message = VAMP__WIRE__EVENT__INIT;
        message.kind = kinds[i];
        assert_int_equal(unpack_message(&message, &got), -EBADMSG);
    }
    for (size_t length = 0; length <= 17; length++) {
        Vamp__Wire__Event message = VAMP__WIRE__EVENT__INIT;
        message.kind = VAMP_EVENT_OFFER;
        message.has_cdo_id = true;
        message.cdo_id = (ProtobufCBinaryData){.len = length, .data = id};
        assert_int_equal(unpack_message(&message, &got), length == 16 ? 0 : -EBADMSG);
    }
}

static void values_of_a_newer_sender_are_not_reported(void **state)
{
    (void)state;
    Vamp__Wire__Event message = VAMP__WIRE__EVENT__INIT;
    message.kind = VAMP_EVENT_TRANSPORT_INIT;
    message.has_tier = message.has_cause = message.has_reason = true;
    message.tier = VAMP_TIER_COUNT;
    message.cause = 300;
    message.reason = UINT32_MAX;
    struct vamp_event got;
    assert_int_equal(unpack_message(&message, &got), 0);
    assert_int_equal(got.present, 0);
    assert_int_equal(got.tier, VAMP_TIER_UNKNOWN);
    assert_int_equal(got.cause, VAMP_CAUSE_UNKNOWN);
    assert_int_equal(got.reason, VAMP_LEAVE_UNKNOWN);
}

static void the_arena_bounds_a_hostile_message(void **state)
{
    (void)state;
    /* A batch of empty sub-messages: 2 bytes each on the wire, a struct each in memory. */
    uint8_t hostile[16000];
    for (size_t i = 0; i < sizeof hostile; i += 2) {
        hostile[i] = 0x1a;
        hostile[i + 1] = 0;
    }
    assert_null(
        vamp__wire__event_batch__unpack(vamp_decode_arena_reset(&arena), sizeof hostile, hostile));
    assert_true(arena.used <= arena.bytes);
    /* A small arena refuses a long name and says that it was the arena. */
    struct vamp_decode_arena small;
    assert_int_equal(vamp_decode_arena_init(&small, 512, NULL), 0);
    char text[1000] = "";
    struct vamp_event event = {.kind = VAMP_EVENT_OFFER,
                               .present = VAMP_HAS_CDO_NAME,
                               .name = text,
                               .name_length = sizeof text};
    uint8_t buffer[VAMP_EVENT_PACKED_BYTES_MAX];
    size_t length = vamp_event_pack(&event, buffer, sizeof buffer);
    assert_null(vamp__wire__event__unpack(vamp_decode_arena_reset(&small), length, buffer));
    assert_true(small.exhausted);
    event.name_length = 10; /* and it goes on working afterwards */
    length = vamp_event_pack(&event, buffer, sizeof buffer);
    assert_non_null(vamp__wire__event__unpack(vamp_decode_arena_reset(&small), length, buffer));
    assert_false(small.exhausted);
    vamp_decode_arena_done(&small);
}

/* Accepted by both with the same values, or refused by both. */
static void compare_with_protobuf_c(const uint8_t *bytes, size_t length)
{
    struct vamp_event expected, got;
    const bool accepted = judge_event(
        vamp__wire__event__unpack(vamp_decode_arena_reset(&arena), length, bytes), &expected);
    assert_false(arena.exhausted);
    assert_int_equal(vamp_event_read(bytes, length, &got, NULL), accepted ? 0 : -EBADMSG);
    if (accepted) {
        assert_same(&expected, &got);
    }
}

#define BYTES(text) text, sizeof(text) - 1

/* What senders of this project never write. */
static const struct {
    const char *bytes;
    size_t length;
} odd_messages[] = {
    {BYTES("")},
    {BYTES("\x08\x05")},                                         /* the kind again */
    {BYTES("\x08\x40")},                                         /* a kind that is not known */
    {BYTES("\x08\x40\x08\x03")},                                 /* and then one that is */
    {BYTES("\x08\x83\x80\x80\x80\x10")},                         /* more than 32 bits */
    {BYTES("\x08\x83\x80\x80\x80\x80\x80\x80\x80\x80\x7f")},     /* more than 64 bits */
    {BYTES("\x08\x83\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00")}, /* too long */
    {BYTES("\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f")},
    {BYTES("\x90\x00\x07")},                         /* a key longer than it has to be */
    {BYTES("\x90\x80\x80\x80\x00\x07")},             /* as long as allowed */
    {BYTES("\x90\x80\x80\x80\x80\x00\x07")},         /* too long */
    {BYTES("\x95\x80\x80\x80\x7f\x01\x02\x03\x04")}, /* the highest number */
    {BYTES("\x00\x01")},                             /* number 0 */
    {BYTES("\x80\x00\x01")},                         /* number 0, a longer key */
    {BYTES("\x12\x01x")},                            /* a number in the form of bytes */
    {BYTES("\x18\x07")},                             /* a time as a number */
    {BYTES("\x30\x07")},                             /* a name as a number */
    {BYTES("\x6a\x00")},                             /* before as bytes: accepted */
    {BYTES("\x6a\x02\x00\x00")},
    {BYTES("\x69\x00\x80\x00\x00\x80\x00\x00\x00")},
    {BYTES("\x69\x00\x80\x00\x00\x81\x00\x00\x00")},
    {BYTES("\x6d\x00\x00\x00\x01")},
    {BYTES("\x6b\x00")},
    {BYTES("\x50\x07\x50\x01")},         /* a tier that is not known, then one that is */
    {BYTES("\x50\x01\x50\x07")},         /* the other way round */
    {BYTES("\x50\x81\x80\x80\x80\x10")}, /* a tier of more than 32 bits */
    {BYTES("\x68\x80\x00")},             /* before: a long 0 */
    {BYTES("\x68\x80\x80\x80\x80\x80\x80\x80\x80\x80\x02")}, /* only bits above the 64th */
    {BYTES("\x2a\x00")},                                     /* an empty id */
    {BYTES("\x2a\x00\x2a\x10"
           "0123456789abcdef")}, /* and then a whole one */
    {BYTES("\x2a\x90\x00"
           "0123456789abcdef")},              /* a length longer than it has to be */
    {BYTES("\x32\x00")},                      /* an empty name */
    {BYTES("\x32\x81\x80\x80\x80\x00x")},     /* a length as long as allowed */
    {BYTES("\x32\x81\x80\x80\x80\x80\x00x")}, /* too long */
    {BYTES("\x32\xff\xff\xff\xff\x0fx")},     /* more than INT_MAX */
    {BYTES("\x32\x02x")},                     /* more than there is */
    {BYTES("\x80\x01\x07")},                  /* fields that are not known */
    {BYTES("\x81\x01"
           "12345678")},
    {BYTES("\x81\x01"
           "1234567")},
    {BYTES("\x82\x01\x03"
           "abc")},
    {BYTES("\x82\x01\x03"
           "ab")},
    {BYTES("\x85\x01"
           "1234")},
    {BYTES("\x85\x01"
           "123")},
    {BYTES("\x83\x01\x84\x01")}, /* groups */
    {BYTES("\x86\x01")},
    {BYTES("\x87\x01")},
    {BYTES("\x80\x01\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00")},
};

/* What nearly every message begins with, up to the CDO id. */
#define HEAD                                                                                       \
    "\x08\x05\x10\x07\x19\x01\x02\x03\x04\x05\x06\x07\x08\x20\x03\x2a\x10"                         \
    "0123456789abcdef"

/* Each of them with a kind in front, without, and after the usual fields. */
static void odd_messages_are_read_as_protobuf_c_does(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof odd_messages / sizeof odd_messages[0]; i++) {
        uint8_t bytes[64] = {0x08, VAMP_EVENT_OFFER};
        assert_true(2 + odd_messages[i].length <= sizeof bytes);
        memcpy(bytes + 2, odd_messages[i].bytes, odd_messages[i].length);
        compare_with_protobuf_c(bytes, 2 + odd_messages[i].length);
        compare_with_protobuf_c(bytes + 2, odd_messages[i].length);
        uint8_t usual[128] = HEAD "\x32\x08"
                                  "the name";
        const size_t length = sizeof HEAD - 1 + 10;
        memcpy(usual + length, odd_messages[i].bytes, odd_messages[i].length);
        compare_with_protobuf_c(usual, length + odd_messages[i].length);
    }
}

/* Random fields, most of them of the list, cut and changed at random from a fixed seed. */
static void random_messages_are_read_as_protobuf_c_does(void **state)
{
    (void)state;
    uint64_t random = 1;
    for (unsigned round = 0; round < 200000; round++) {
        uint8_t bytes[48];
        size_t length = 0;
        while (length < 40) {
            random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            const unsigned dice = (unsigned)(random >> 33);
            static const uint8_t keys[] = {0x08, 0x10, 0x19, 0x20, 0x2a, 0x32, 0x38, 0x40, 0x48,
                                           0x50, 0x58, 0x60, 0x68, 0x71, 0x78, 0x80, 0x88, 0x00};
            const bool key = dice % 4 == 0;
            bytes[length++] = key ? keys[dice / 4 % sizeof keys]
                                  : (uint8_t)(dice % 4 == 1 ? dice >> 8 : (dice >> 8) % 20);
            if (dice % 97 == 0) {
                break;
            }
        }
        compare_with_protobuf_c(bytes, length);
    }
}

/* Numbers of one to ten bytes, in the middle of a message and as its last bytes. */
static void numbers_of_every_length(void **state)
{
    (void)state;
    for (unsigned bits = 0; bits < 64; bits++) {
        for (unsigned less = 0; less < 2; less++) {
            const uint64_t number = (UINT64_C(1) << bits) - less;
            const struct vamp_event event = {.kind = VAMP_EVENT_OFFER,
                                             .present = VAMP_HAS_SERIAL | VAMP_HAS_SIZE,
                                             .serial = number,
                                             .size_bytes = number};
            round_trip(&event);
            uint8_t buffer[VAMP_EVENT_PACKED_BYTES_MAX];
            const size_t length = vamp_event_pack(&event, buffer, sizeof buffer);
            for (size_t cut = 0; cut <= length; cut++) {
                compare_with_protobuf_c(buffer, cut);
            }
        }
    }
}

/* Every cut and every changed byte of a valid message is read as protobuf-c reads it. */
static void damage(const struct vamp_event *event)
{
    uint8_t buffer[VAMP_EVENT_PACKED_BYTES_MAX];
    size_t length = vamp_event_pack(event, buffer, sizeof buffer);
    for (size_t cut = 0; cut < length; cut++) {
        compare_with_protobuf_c(buffer, cut);
    }
    for (size_t at = 0; at < length; at++) {
        uint8_t kept = buffer[at];
        for (unsigned value = 0; value < 256; value++) {
            buffer[at] = (uint8_t)value;
            compare_with_protobuf_c(buffer, length);
        }
        buffer[at] = kept;
    }
    round_trip(event);
}

static void damaged_messages_are_read_as_protobuf_c_does(void **state)
{
    (void)state;
    damage(&full);
    struct vamp_event usual = full;
    usual.serial = 12345;
    usual.size_bytes = 1 << 20;
    usual.duration_ns = 3000000000;
    usual.present &= (uint16_t)~VAMP_HAS_REASON;
    usual.reason = 0;
    damage(&usual);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_survives),
        cmocka_unit_test(each_field_alone),
        cmocka_unit_test(names_up_to_the_bound),
        cmocka_unit_test(cdo_packed_before),
        cmocka_unit_test(numbers_of_every_length),
        cmocka_unit_test(id_bytes_read_like_its_text),
        cmocka_unit_test(odd_messages_are_refused),
        cmocka_unit_test(values_of_a_newer_sender_are_not_reported),
        cmocka_unit_test(the_arena_bounds_a_hostile_message),
        cmocka_unit_test(odd_messages_are_read_as_protobuf_c_does),
        cmocka_unit_test(random_messages_are_read_as_protobuf_c_does),
        cmocka_unit_test(damaged_messages_are_read_as_protobuf_c_does),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
