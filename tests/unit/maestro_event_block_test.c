/* SPDX-License-Identifier: BSD-3-Clause */
/* From received batches to the lists users see. */
#include "maestro/event_block.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "vampire/core/event.h"

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

static void test_every_kind(void **state)
{
    (void)state;
    Vamp__Wire__Event events[VAMP_EVENT_KIND_COUNT + 2];
    Vamp__Wire__Event *pointers[VAMP_EVENT_KIND_COUNT + 2];
    for (uint32_t kind = 0; kind < VAMP_EVENT_KIND_COUNT + 2; kind++) {
        events[kind] = make(kind, "a name");
        pointers[kind] = &events[kind];
    }
    Vamp__Wire__EventBatch batch = VAMP__WIRE__EVENT_BATCH__INIT;
    batch.events = pointers;
    batch.n_events = VAMP_EVENT_KIND_COUNT + 2;
    struct event_block *block = event_block_create(&batch);
    assert_non_null(block);
    assert_int_equal(block->events, VAMP_EVENT_KIND_COUNT - 1); /* 0, 16 and 17 are no kinds */
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
    Vamp__Wire__Event event = make(VAMP_EVENT_TRANSPORT_FAILED, NULL); /* a name left out */
    event.has_time_ns = event.has_size_bytes = event.has_peer_id = true;
    event.has_transport_id = event.has_tier = event.has_cause = event.has_reason = true;
    event.has_cdo_id = event.has_duration_ns = true;
    event.cdo_id = (ProtobufCBinaryData){.len = sizeof id, .data = id};
    event.time_ns = -1;
    event.size_bytes = UINT64_MAX;
    event.peer_id = 9;
    event.duration_ns = 5000000;
    event.before = true;
    Vamp__Wire__Event *pointer = &event;
    Vamp__Wire__EventBatch batch = VAMP__WIRE__EVENT_BATCH__INIT;
    batch.events = &pointer;
    batch.n_events = 1;
    struct event_block *block = event_block_create(&batch);
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
    event.cdo_id.len = 15; /* not an id */
    block = event_block_create(&batch);
    assert_non_null(block);
    assert_int_equal(block->head->present & (unsigned)MSTRO_POOL_EVENT_HAS_CDO_ID, 0);
    event_block_free(block);
}

static void test_lost(void **state)
{
    (void)state;
    Vamp__Wire__Event event = make(VAMP_EVENT_OFFER, "x");
    Vamp__Wire__Event *pointer = &event;
    Vamp__Wire__EventBatch batch = VAMP__WIRE__EVENT_BATCH__INIT;
    batch.events = &pointer;
    batch.n_events = 1;
    batch.has_lost = true;
    batch.lost = 5;
    struct event_block *block = event_block_create(&batch);
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
    batch.n_events = 0;
    block = event_block_create(&batch);
    assert_non_null(block);
    event_block_add_lost(block, 2);
    assert_int_equal(block->head->payload.lost.count, 7);
    event_block_hide_lost(block);
    assert_null(block->head);
    assert_null(block->tail);
    event_block_free(block);
    event_block_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kind),
        cmocka_unit_test(test_optional_fields),
        cmocka_unit_test(test_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
