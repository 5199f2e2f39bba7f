/* SPDX-License-Identifier: BSD-3-Clause */
/* From received batches to the lists users see. */
#include "maestro/api/event_block.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "event.pb-c.h"
#include "vampire/core/event/codec.h"

static ProtobufCBinaryData bytes_of(const char *text)
{
    union {
        const char *text;
        uint8_t *bytes;
    } pointer = {.text = text};
    return (ProtobufCBinaryData){.len = strlen(text), .data = pointer.bytes};
}

static Vamp__Wire__Event make(uint32_t kind, const char *name)
{
    Vamp__Wire__Event event = VAMP__WIRE__EVENT__INIT;
    event.kind = kind;
    event.has_serial = true;
    event.serial = 100 + kind;
    event.has_app_id = true;
    event.app_id = 7;
    if (name != NULL) {
        event.has_name = true;
        event.name = bytes_of(name);
    }
    return event;
}

/* A batch of one event. */
struct single {
    Vamp__Wire__Event event, *pointer;
    Vamp__Wire__EventBatch batch;
};

static void make_single(struct single *single, uint32_t kind, const char *name)
{
    *single = (struct single){.event = make(kind, name), .pointer = &single->event};
    vamp__wire__event_batch__init(&single->batch);
    single->batch.events = &single->pointer;
    single->batch.n_events = 1;
}

/* Reads a packed batch. */
static struct event_block *read_packed(const uint8_t *packed, size_t length)
{
    struct vamp_event_batch batch;
    struct event_block *block = NULL;
    struct vamp_err err = VAMP_ERR_NONE;
    const int result = vamp_event_batch_open(packed, length, &batch, &err);
    if (result != 0 || event_block_create(&batch, false, &block, &err) != 0) {
        assert_int_equal(err.code, -EBADMSG);
        assert_string_not_equal(err.text, "");
        return NULL;
    }
    return block;
}

/* Packed, and `more` after it. */
static struct event_block *read_batch(const Vamp__Wire__EventBatch *batch, const char *more)
{
    uint8_t packed[4096];
    size_t length = vamp__wire__event_batch__get_packed_size(batch);
    assert_true(length + strlen(more) <= sizeof packed);
    (void)vamp__wire__event_batch__pack(batch, packed);
    /* NOLINTNEXTLINE(bugprone-not-null-terminated-result): bytes, not a text */
    memcpy(packed + length, more, strlen(more));
    struct event_block *block = read_packed(packed, length + strlen(more));
    memset(packed, 0xff, sizeof packed); /* nothing points there */
    return block;
}

static void test_every_kind(void **state)
{
    (void)state;
    Vamp__Wire__Event events[VAMP_EVENT_SAMPLE + 2];
    Vamp__Wire__Event *pointers[VAMP_EVENT_SAMPLE + 2];
    for (uint32_t kind = 0; kind < VAMP_EVENT_SAMPLE + 2; kind++) {
        events[kind] = make(kind, "a name");
        pointers[kind] = &events[kind];
    }
    Vamp__Wire__EventBatch batch = VAMP__WIRE__EVENT_BATCH__INIT;
    batch.events = pointers;
    batch.n_events = VAMP_EVENT_SAMPLE + 2;
    struct event_block *block = read_batch(&batch, "");
    assert_non_null(block);
    assert_int_equal(block->events, VAMP_EVENT_SAMPLE); /* 0 and 17 are no kinds */
    uint32_t kind = 1;
    for (mstro_pool_event event = block->head; event != NULL; event = event->next, kind++) {
        assert_int_equal(event->kind, (mstro_pool_event_kind)1 << kind);
        assert_int_equal(event->serial, 100 + kind);
        assert_int_equal(event->payload.leave.appid, 7);
        assert_int_equal(event->present, 0); /* nothing that was not sent */
        if (kind == VAMP_EVENT_JOIN) {
            assert_string_equal(event->payload.join.component_name, "a name");
        } else if (event->name_length > 0) {
            assert_string_equal(event->payload.declare.cdo_name, "a name");
        }
        assert_ptr_equal(event_block_of(event), block);
    }
    event_block_free(block);
}

static void test_optional_fields(void **state)
{
    (void)state;
    unsigned char id[16] = "0123456789abcdef";
    struct single single;
    make_single(&single, VAMP_EVENT_TRANSPORT_FAILED, NULL); /* a name left out */
    Vamp__Wire__Event *event = &single.event;
    event->has_time_ns = event->has_size_bytes = event->has_peer_id = true;
    event->has_transport_id = event->has_tier = event->has_cause = event->has_reason = true;
    event->has_cdo_id = event->has_duration_ns = true;
    event->cdo_id = (ProtobufCBinaryData){.len = sizeof id, .data = id};
    event->time_ns = -1;
    event->size_bytes = UINT64_MAX;
    event->peer_id = 9;
    event->duration_ns = 5000000;
    event->has_before = event->before = true;
    struct event_block *block = read_batch(&single.batch, "");
    assert_non_null(block);
    assert_int_equal(block->head->present, 0x1ff);
    assert_string_equal(block->head->payload.transport_failed.cdo_name, "");
    assert_int_equal(block->head->time_ns, -1);
    assert_int_equal(block->head->cdo_size, UINT64_MAX);
    assert_int_equal(block->head->peer_appid, 9);
    assert_int_equal(block->head->duration_ns, 5000000);
    assert_memory_equal(block->head->cdo_id, id, 16);
    assert_true(block->head->before);
    event_block_free(block);
    event->cdo_id.len = 15; /* not an id */
    block = read_batch(&single.batch, "");
    assert_non_null(block);
    assert_int_equal(block->head->present & (unsigned)MSTRO_POOL_EVENT_HAS_CDO_ID, 0);
    event_block_free(block);
}

static void test_lost(void **state)
{
    (void)state;
    struct single single;
    make_single(&single, VAMP_EVENT_OFFER, "x");
    single.batch.has_lost = true;
    single.batch.lost = 5;
    struct event_block *block = read_batch(&single.batch, "");
    assert_non_null(block);
    assert_int_equal(block->head->kind, MSTRO_POOL_EVENT_LOST);
    assert_int_equal(block->head->payload.lost.count, 5);
    assert_int_equal(block->head->next->kind, MSTRO_POOL_EVENT_OFFER);
    event_block_hide_lost(block);
    assert_int_equal(block->head->kind, MSTRO_POOL_EVENT_OFFER);
    assert_ptr_equal(event_block_of(block->head), block); /* freeing still finds the block */
    event_block_hide_lost(block);
    assert_non_null(block->head);
    event_block_free(block);
    single.batch.n_events = 0;
    block = read_batch(&single.batch, "");
    assert_non_null(block);
    event_block_add_lost(block, 2);
    assert_int_equal(block->head->payload.lost.count, 7);
    event_block_hide_lost(block);
    assert_null(block->head);
    assert_null(block->tail);
    event_block_free(block);
    event_block_free(NULL);
}

/* All events in one node, byte for byte, behind what was lost. */
static void test_packed(void **state)
{
    (void)state;
    struct single single;
    make_single(&single, VAMP_EVENT_OFFER, "field");
    single.batch.subscription = 9;
    single.batch.lost = 5;
    single.event.has_serial = true;
    single.event.serial = 77;
    single.batch.has_lost = true;
    uint8_t bytes[256];
    const size_t length = vamp__wire__event_batch__pack(&single.batch, bytes);
    struct vamp_event_batch batch;
    struct event_block *block = NULL;
    assert_int_equal(vamp_event_batch_open(bytes, length, &batch, NULL), 0);
    assert_int_equal(event_block_create(&batch, true, &block, NULL), 0);
    assert_int_equal(block->subscription, 9);
    assert_int_equal(block->events, 1);
    assert_int_equal(block->head->kind, MSTRO_POOL_EVENT_LOST);
    assert_ptr_equal(block->tail, block->head->next);
    assert_int_equal(block->tail->kind, MSTRO_POOL_EVENT_PACKED);
    assert_int_equal(block->tail->serial, 77);
    assert_int_equal(block->tail->payload.packed.length, length);
    assert_memory_equal(block->tail->payload.packed.bytes, bytes, length);
    event_block_free(block);
    single.batch.n_events = 0;
    single.batch.has_lost = false;
    assert_int_equal(vamp_event_batch_open(
                         bytes, vamp__wire__event_batch__pack(&single.batch, bytes), &batch, NULL),
                     0);
    assert_int_equal(event_block_create(&batch, true, &block, NULL), 0);
    assert_null(block->head);
    event_block_free(block);
}

static void test_from_the_wire(void **state)
{
    (void)state;
    unsigned char id[16] = "0123456789abcdef";
    Vamp__Wire__Event events[VAMP_EVENT_KIND_COUNT - 1];
    Vamp__Wire__Event *pointers[VAMP_EVENT_KIND_COUNT - 1];
    for (uint32_t i = 0; i < VAMP_EVENT_KIND_COUNT - 1; i++) {
        events[i] = make(i + 1, i % 4 == 3 ? NULL : "a name");
        events[i].has_time_ns = true;
        events[i].time_ns = -5;
        events[i].has_cdo_id = true;
        events[i].cdo_id = (ProtobufCBinaryData){.len = sizeof id, .data = id};
        events[i].has_duration_ns = i == 12;
        events[i].has_before = events[i].before = i % 2 != 0;
        pointers[i] = &events[i];
    }
    Vamp__Wire__EventBatch batch = VAMP__WIRE__EVENT_BATCH__INIT;
    batch.subscription = 300;
    batch.events = pointers;
    batch.n_events = VAMP_EVENT_KIND_COUNT - 1;
    batch.has_lost = true;
    batch.lost = 70000;
    struct event_block *block = read_batch(&batch, "");
    assert_non_null(block);
    assert_int_equal(block->subscription, 300);
    assert_int_equal(block->lost, 70000);
    assert_int_equal(block->events, VAMP_EVENT_KIND_COUNT - 1);
    assert_int_equal(block->head->kind, MSTRO_POOL_EVENT_LOST);
    assert_int_equal(block->head->payload.lost.count, 70000);
    uint32_t i = 0;
    for (mstro_pool_event event = block->head->next; event != NULL; event = event->next, i++) {
        const bool nameless = i + 1 == VAMP_EVENT_LEAVE || i + 1 == VAMP_EVENT_SUBSCRIBE ||
                              i + 1 == VAMP_EVENT_UNSUBSCRIBE;
        assert_int_equal(event->kind, (mstro_pool_event_kind)1 << (i + 1));
        assert_int_equal(event->serial, 101 + i);
        assert_int_equal(event->payload.leave.appid, 7);
        assert_int_equal(event->time_ns, -5);
        assert_memory_equal(event->cdo_id, id, sizeof id);
        assert_int_equal(event->before, i % 2 != 0);
        assert_int_equal(event->present, MSTRO_POOL_EVENT_HAS_TIME | MSTRO_POOL_EVENT_HAS_CDO_ID |
                                             (i == 12 ? MSTRO_POOL_EVENT_HAS_DURATION : 0));
        if (!nameless) {
            assert_string_equal(event->payload.declare.cdo_name, i % 4 == 3 ? "" : "a name");
            assert_int_equal(event->name_length, i % 4 == 3 ? 0 : 6);
        }
        assert_ptr_equal(event_block_of(event), block);
    }
    assert_int_equal(i, VAMP_EVENT_KIND_COUNT - 1);
    event_block_free(block);
}

static void test_odd_on_the_wire(void **state)
{
    (void)state;
    struct single single;
    make_single(&single, VAMP_EVENT_OFFER, "x");
    struct event_block *block = read_batch(&single.batch, "");
    assert_non_null(block);
    event_block_free(block);
    static const char *const refused[] = {
        "\x1a\x7f",             /* an event longer than the batch */
        "\x1a",                 /* no length */
        "\x10\xff\xff",         /* half a number */
        "\x12\x01x",            /* a count in the form of bytes */
        "\x1a\x01\x08",         /* an event cut off */
        "\x1a\x02\x20\x05",     /* without a kind */
        "\x1a\x82\x80\x80\x02", /* a length longer than any message */
    };
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        assert_null(read_batch(&single.batch, refused[i]));
    }
    static const char *const passed_over[] = {
        "\x20\x01",         /* a field that is not known */
        "\x1a\x02\x08\x40", /* an event of a kind that is not known */
    };
    for (size_t i = 0; i < sizeof passed_over / sizeof passed_over[0]; i++) {
        block = read_batch(&single.batch, passed_over[i]);
        assert_non_null(block);
        assert_int_equal(block->events, 1);
        assert_ptr_equal(block->head, block->tail);
        assert_string_equal(block->head->payload.offer.cdo_name, "x");
        event_block_free(block);
    }
    single.event.kind = VAMP_EVENT_SAMPLE + 1;
    block = read_batch(&single.batch, "");
    assert_non_null(block);
    assert_null(block->head);
    event_block_free(block);
    assert_null(read_packed((const uint8_t *)"", 0)); /* without a subscription */
    static const uint8_t one[] = {0x1a, 0x02, 0x08, 0x05};
    assert_null(read_packed(one, sizeof one));
    uint8_t many[2 + 4 * 1025] = {0x08, 0x01};
    for (size_t i = 2; i < sizeof many; i += 4) {
        memcpy(many + i, one, sizeof one);
    }
    block = read_packed(many, sizeof many - 4);
    assert_non_null(block);
    assert_int_equal(block->events, 1024);
    event_block_free(block);
    assert_null(read_packed(many, sizeof many)); /* more than a batch may hold */
}

/* What an event of an unknown kind said is not the next event's. */
static void test_nothing_stays_of_an_event_left_out(void **state)
{
    (void)state;
    static const uint8_t packed[] = {
        0x08, 0x01,                                                 /* subscription */
        0x1a, 0x08, 0x08, 0x40, 0x38, 0x07, 0x78, 0x09, 0x20, 0x05, /* of kind 64 */
        0x1a, 0x02, 0x08, 0x05,                                     /* an offer */
    };
    struct event_block *block = read_packed(packed, sizeof packed);
    assert_non_null(block);
    assert_int_equal(block->events, 1);
    assert_int_equal(block->head->kind, MSTRO_POOL_EVENT_OFFER);
    assert_int_equal(block->head->present, 0);
    assert_int_equal(block->head->cdo_size, 0);
    assert_int_equal(block->head->payload.offer.appid, 0);
    event_block_free(block);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kind),
        cmocka_unit_test(test_optional_fields),
        cmocka_unit_test(test_lost),
        cmocka_unit_test(test_packed),
        cmocka_unit_test(test_from_the_wire),
        cmocka_unit_test(test_odd_on_the_wire),
        cmocka_unit_test(test_nothing_stays_of_an_event_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
