/* SPDX-License-Identifier: BSD-3-Clause */
/* What the timeline of a trace makes of events: which spans, on which tracks, within which bounds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/lib/events.h"
#include "writers/trace/timeline.h"

#define BEGIN_NS INT64_C(1795232640000000000)
#define SPANS_MAX 4096
#define MS INT64_C(1000000)

struct drawn {
    struct vamp_trace_span span;
    char name[64], cdo[64], peer[64], word[64];
    uint32_t track;
    enum vamp_trace_kind kind;
    unsigned depth; /* 1: in another */
};

/* A sink that remembers, and fails when asked to. */
struct memory {
    struct drawn spans[SPANS_MAX];
    unsigned count, tracks, fail_after;
    int64_t begin_ns;
};

static int memory_begin(void *self, int64_t begin_ns, struct vamp_err *err)
{
    (void)err;
    ((struct memory *)self)->begin_ns = begin_ns;
    return 0;
}

static int memory_track(void *self, const struct vamp_trace_track *track, struct vamp_err *err)
{
    struct memory *memory = self;
    (void)err;
    assert_int_equal(track->number, memory->tracks);
    memory->tracks++;
    return 0;
}

static void copy(char to[static 64], const char *text)
{
    (void)snprintf(to, 64, "%s", text != NULL ? text : "-");
}

static int memory_spans(void *self, const struct vamp_trace_track *track,
                        const struct vamp_trace_span *spans, unsigned count, struct vamp_err *err)
{
    struct memory *memory = self;
    if (memory->fail_after > 0 && memory->count >= memory->fail_after) {
        return vamp_err_set_errno(err, ENOSPC, "write a span");
    }
    for (unsigned i = 0; i < count; i++) {
        assert_true(memory->count < SPANS_MAX);
        assert_true(spans[i].start_ns <= spans[i].end_ns);
        assert_true(i == 0 || (spans[i].start_ns >= spans[i == 1 ? 0 : i - 1].start_ns &&
                               spans[i].end_ns <= spans[0].end_ns));
        struct drawn *drawn = &memory->spans[memory->count++];
        *drawn = (struct drawn){
            .span = spans[i], .track = track->number, .kind = track->kind, .depth = i > 0};
        copy(drawn->name, track->name);
        copy(drawn->cdo, spans[i].cdo);
        copy(drawn->peer, spans[i].peer);
        copy(drawn->word, spans[i].word);
    }
    return 0;
}

static const struct vamp_trace_sink_ops memory_sink = {
    .begin = memory_begin,
    .track = memory_track,
    .spans = memory_spans,
};

struct bench {
    struct memory memory;
    struct vamp_timeline_options options;
    struct vamp_timeline *timeline;
};

static int setup(void **state)
{
    struct bench *bench = calloc(1, sizeof *bench);
    struct vamp_err err = VAMP_ERR_NONE;
    assert_non_null(bench);
    bench->options.max_events = SPANS_MAX;
    bench->options.max_tracks = VAMP_TRACE_TRACKS_MAX;
    assert_int_equal(
        vamp_timeline_create(&bench->options, &memory_sink, &bench->memory, &bench->timeline, &err),
        0);
    *state = bench;
    return 0;
}

static int teardown(void **state)
{
    struct bench *bench = *state;
    vamp_timeline_free(bench->timeline);
    free(bench);
    return 0;
}

static void see(struct bench *bench, struct vamp_event event)
{
    struct vamp_err err = VAMP_ERR_NONE;
    event.time_ns += BEGIN_NS;
    assert_int_equal(vamp_timeline_event(bench->timeline, &event, &err), 0);
}

/* The only span of this kind. */
static const struct drawn *only(const struct bench *bench, enum vamp_trace_what what)
{
    const struct drawn *found = NULL;
    for (unsigned i = 0; i < bench->memory.count; i++) {
        if (bench->memory.spans[i].span.what == what) {
            assert_null(found);
            found = &bench->memory.spans[i];
        }
    }
    assert_non_null(found);
    return found;
}

static void expect_times(const struct drawn *drawn, int64_t start_ns, int64_t end_ns)
{
    assert_int_equal(drawn->span.start_ns - BEGIN_NS, start_ns);
    assert_int_equal(drawn->span.end_ns - BEGIN_NS, end_ns);
}

static void join_two(struct bench *bench)
{
    see(bench, event_join(0, 1, "Model"));
    see(bench, event_join(1 * MS, 2, "Product"));
}

/* One CDO from its declaration on, which the second component demands `at_ns` later. */
static void exchange(struct bench *bench, int64_t at_ns, uint64_t cdo)
{
    see(bench, event_with_name(event_cdo(VAMP_EVENT_DECLARE, at_ns, 1, cdo), "wind"));
    see(bench, event_with_size(event_cdo(VAMP_EVENT_SEAL, at_ns + 1 * MS, 1, cdo), 4096));
    see(bench, event_cdo(VAMP_EVENT_DEMAND, at_ns + 2 * MS, 2, cdo));
    see(bench, event_cdo(VAMP_EVENT_OFFER, at_ns + 3 * MS, 1, cdo));
    see(bench, event_transport(VAMP_EVENT_TRANSPORT_INIT, at_ns + 4 * MS, cdo, cdo, 2, 1));
    see(bench, event_transport(VAMP_EVENT_TRANSPORT_COMPLETED, at_ns + 7 * MS, cdo, cdo, 2, 1));
    see(bench, event_before(event_cdo(VAMP_EVENT_WITHDRAW, at_ns + 8 * MS, 1, cdo)));
    see(bench, event_cdo(VAMP_EVENT_WITHDRAW, at_ns + 9 * MS, 1, cdo));
    see(bench, event_cdo(VAMP_EVENT_DISPOSE, at_ns + 10 * MS, 1, cdo));
}

static void test_one_exchange(void **state)
{
    struct bench *bench = *state;
    join_two(bench);
    exchange(bench, 10 * MS, 77);
    assert_int_equal(bench->memory.begin_ns, BEGIN_NS);
    const struct drawn *life = only(bench, VAMP_TRACE_LIFE);
    expect_times(life, 10 * MS, 20 * MS);
    assert_string_equal(life->name, "Model");
    assert_string_equal(life->cdo, "wind");
    assert_string_equal(life->span.end, "disposed");
    const struct drawn *in_pool = only(bench, VAMP_TRACE_IN_POOL);
    expect_times(in_pool, 13 * MS, 19 * MS);
    assert_int_equal(in_pool->track, life->track);
    assert_int_equal(in_pool->depth, 1);
    const struct drawn *demand = only(bench, VAMP_TRACE_DEMAND);
    expect_times(demand, 12 * MS, 17 * MS);
    assert_string_equal(demand->name, "Product");
    assert_string_equal(demand->cdo, "wind");
    assert_int_equal(demand->span.size_bytes, 4096);
    static const struct {
        enum vamp_wait_part part;
        int64_t start_ns, end_ns;
    } parts[] = {{VAMP_WAIT_FOR_OFFER, 12 * MS, 13 * MS},
                 {VAMP_WAIT_FOR_START, 13 * MS, 14 * MS},
                 {VAMP_WAIT_MOVING, 14 * MS, 17 * MS}};
    for (unsigned i = 0; i < 3; i++) {
        const struct drawn *part = demand + 1 + i;
        assert_int_equal(part->span.what, VAMP_TRACE_PART);
        assert_string_equal(part->word, vamp_wait_part_name(parts[i].part));
        assert_string_equal(part->peer, "Model");
        assert_int_equal(part->track, demand->track);
        expect_times(part, parts[i].start_ns, parts[i].end_ns);
    }
    expect_times(only(bench, VAMP_TRACE_WITHDRAW), 18 * MS, 19 * MS);
    const struct drawn *send = only(bench, VAMP_TRACE_SEND);
    const struct drawn *receive = only(bench, VAMP_TRACE_RECEIVE);
    expect_times(send, 14 * MS, 17 * MS);
    expect_times(receive, 14 * MS, 17 * MS);
    assert_string_equal(send->name, "Model");
    assert_string_equal(send->peer, "Product");
    assert_string_equal(receive->name, "Product");
    assert_string_equal(receive->peer, "Model");
    assert_int_equal(send->span.arrow, VAMP_TRACE_ARROW_BEGINS);
    assert_int_equal(receive->span.arrow, VAMP_TRACE_ARROW_ENDS);
    assert_int_equal(send->span.arrow_id, receive->span.arrow_id);
    assert_int_equal(send->span.arrow_track, receive->track);
    assert_int_equal(receive->span.arrow_track, send->track);
}

/* No two spans of a track overlap, unless one is in the other; and there are no more tracks than
 * spans at the same time. */
static void test_tracks_hold_no_overlap(void **state)
{
    struct bench *bench = *state;
    join_two(bench);
    for (uint64_t cdo = 1; cdo <= 300; cdo++) {
        exchange(bench, (int64_t)cdo * 3 * MS, cdo); /* 10 ms long, so that four overlap */
    }
    const struct memory *memory = &bench->memory;
    for (unsigned i = 0; i < memory->count; i++) {
        for (unsigned j = 0; j < i; j++) {
            const struct drawn *one = &memory->spans[i], *other = &memory->spans[j];
            assert_true(one->track != other->track || one->depth > 0 || other->depth > 0 ||
                        one->span.start_ns >= other->span.end_ns ||
                        one->span.end_ns <= other->span.start_ns);
        }
    }
    /* 4 lives, 2 waits on demand, 1 on withdraw, 1 sends, 1 receives. */
    assert_true(memory->tracks <= 12);
}

static void test_lanes_are_bounded_and_counted(void **state)
{
    struct bench *bench = *state;
    struct vamp_trace_end end;
    join_two(bench);
    const unsigned cdos = VAMP_TRACE_LANES_MAX + 10;
    for (uint64_t cdo = 1; cdo <= cdos; cdo++) {
        see(bench, event_cdo(VAMP_EVENT_DECLARE, (int64_t)cdo, 1, cdo));
    }
    for (uint64_t cdo = 1; cdo <= cdos; cdo++) {
        see(bench, event_cdo(VAMP_EVENT_DISPOSE, 1 * MS + (int64_t)cdo, 1, cdo));
    }
    vamp_timeline_describe(bench->timeline, &end);
    assert_int_equal(end.written, VAMP_TRACE_LANES_MAX);
    assert_int_equal(end.crowded, 10);
    assert_int_equal(end.left_out, 0);
}

/* A quarter of them is kept for waits. */
static void test_at_most_max_tracks(void **state)
{
    struct bench *bench = *state;
    struct vamp_trace_end end;
    bench->options.max_tracks = 20;
    join_two(bench);
    for (uint64_t cdo = 1; cdo <= 30; cdo++) {
        see(bench, event_cdo(VAMP_EVENT_DECLARE, (int64_t)cdo, 1, cdo));
    }
    for (uint64_t cdo = 1; cdo <= 30; cdo++) {
        see(bench, event_cdo(VAMP_EVENT_DISPOSE, 1 * MS + (int64_t)cdo, 1, cdo));
    }
    vamp_timeline_describe(bench->timeline, &end);
    assert_int_equal(bench->memory.tracks, 15);
    assert_int_equal(end.written, 15);
    assert_int_equal(end.crowded, 15);
    assert_int_equal(end.left_out, 0);
    exchange(bench, 10 * MS, 77);
    (void)only(bench, VAMP_TRACE_DEMAND);
    vamp_timeline_describe(bench->timeline, &end);
    assert_int_equal(end.crowded, 15 + 4); /* its transport */
}

static void test_at_most_max_events(void **state)
{
    struct bench *bench = *state;
    struct vamp_trace_end end;
    bench->options.max_events = 20;
    join_two(bench);
    for (uint64_t cdo = 1; cdo <= 10; cdo++) {
        exchange(bench, (int64_t)cdo * 20 * MS, cdo);
    }
    vamp_timeline_describe(bench->timeline, &end);
    /* 11 of each: a life in two parts, a wait in four, another, a transport in four. */
    assert_true(end.written <= 20 && end.written > 11);
    assert_int_equal(end.written + end.left_out, 110);
}

static void test_range_of_time(void **state)
{
    struct bench *bench = *state;
    struct vamp_trace_end end;
    bench->options.from_ns = 100 * MS;
    bench->options.length_ns = 39 * MS;
    join_two(bench);
    for (uint64_t cdo = 1; cdo <= 10; cdo++) {
        exchange(bench, (int64_t)cdo * 20 * MS, cdo);
    }
    for (unsigned i = 0; i < bench->memory.count; i++) {
        assert_true(bench->memory.spans[i].span.end_ns - BEGIN_NS >= 100 * MS);
        assert_true(bench->memory.spans[i].span.start_ns - BEGIN_NS <= 139 * MS);
    }
    vamp_timeline_describe(bench->timeline, &end);
    assert_int_equal(end.written, 2 * 11); /* those from 100 and 120 ms on */
    assert_int_equal(end.left_out, 0);
}

static void test_chosen_components(void **state)
{
    struct bench *bench = *state;
    char pattern[] = "Prod*";
    char *patterns[] = {pattern};
    bench->options.components = (struct vamp_strings){.items = patterns, .count = 1};
    join_two(bench);
    exchange(bench, 10 * MS, 77);
    (void)only(bench, VAMP_TRACE_DEMAND);
    (void)only(bench, VAMP_TRACE_SEND); /* both ends of its transports */
    (void)only(bench, VAMP_TRACE_RECEIVE);
    assert_int_equal(bench->memory.count, 6);
}

static void test_what_has_not_ended(void **state)
{
    struct bench *bench = *state;
    struct vamp_err err = VAMP_ERR_NONE;
    join_two(bench);
    see(bench, event_cdo(VAMP_EVENT_DECLARE, 10 * MS, 1, 5));
    see(bench, event_cdo(VAMP_EVENT_OFFER, 20 * MS, 1, 5));
    see(bench, event_cdo(VAMP_EVENT_REQUIRE, 30 * MS, 2, 5));
    assert_int_equal(bench->memory.count, 0);
    assert_int_equal(vamp_timeline_finish(bench->timeline, &err), 0);
    expect_times(only(bench, VAMP_TRACE_LIFE), 10 * MS, 30 * MS);
    expect_times(only(bench, VAMP_TRACE_IN_POOL), 20 * MS, 30 * MS);
    assert_string_equal(only(bench, VAMP_TRACE_LIFE)->span.end, "run");
}

/* Three demands that nothing satisfies: the component leaves, the pool goes, the trace ends. */
static void test_what_nothing_satisfied(void **state)
{
    struct bench *bench = *state;
    struct vamp_err err = VAMP_ERR_NONE;
    join_two(bench);
    see(bench, event_with_name(event_cdo(VAMP_EVENT_DECLARE, 10 * MS, 1, 5), "wind"));
    see(bench, event_cdo(VAMP_EVENT_DEMAND, 20 * MS, 2, 5));
    see(bench, event_of(VAMP_EVENT_LEAVE, 30 * MS, 2));
    const struct drawn *left = only(bench, VAMP_TRACE_PENDING);
    expect_times(left, 20 * MS, 30 * MS);
    assert_string_equal(left->name, "Product");
    assert_string_equal(left->cdo, "wind");
    assert_string_equal(left->peer, "Model");
    assert_string_equal(left->span.end, "left");
    bench->memory.count = 0;
    see(bench, event_join(40 * MS, 3, "Archive"));
    see(bench, event_cdo(VAMP_EVENT_DEMAND, 50 * MS, 3, 5));
    see(bench, event_of(VAMP_EVENT_GONE, 60 * MS, 0));
    expect_times(only(bench, VAMP_TRACE_PENDING), 50 * MS, 60 * MS);
    assert_string_equal(only(bench, VAMP_TRACE_PENDING)->cdo, "wind");
    bench->memory.count = 0;
    see(bench, event_join(70 * MS, 4, "Archive"));
    see(bench, event_cdo(VAMP_EVENT_DEMAND, 80 * MS, 4, 6));
    see(bench, event_join(90 * MS, 5, "Model"));
    assert_int_equal(vamp_timeline_finish(bench->timeline, &err), 0);
    const struct drawn *pending = only(bench, VAMP_TRACE_PENDING);
    expect_times(pending, 80 * MS, 90 * MS);
    assert_string_equal(pending->span.end, "run");
}

static void test_losses_and_anomalies_are_marks(void **state)
{
    struct bench *bench = *state;
    join_two(bench);
    see(bench, event_lost(5 * MS, VAMP_LOSS_RING, 12));
    const struct drawn *lost = only(bench, VAMP_TRACE_MARK);
    assert_string_equal(lost->word, "events lost");
    assert_string_equal(lost->name, "events");
    assert_int_equal(lost->span.count, 12);
    bench->memory.count = 0;
    see(bench, event_cdo(VAMP_EVENT_OFFER, 6 * MS, 1, 5));
    see(bench, event_cdo(VAMP_EVENT_OFFER, 7 * MS, 1, 5));
    const struct drawn *again = only(bench, VAMP_TRACE_MARK);
    assert_string_equal(again->name, "Model");
    assert_string_equal(again->word, vamp_anomaly_name(VAMP_ANOMALY_OPERATION_OUT_OF_ORDER));
}

static void test_the_pool_is_gone(void **state)
{
    struct bench *bench = *state;
    join_two(bench);
    see(bench, event_cdo(VAMP_EVENT_DECLARE, 10 * MS, 1, 5));
    see(bench, event_of(VAMP_EVENT_GONE, 20 * MS, 0));
    expect_times(only(bench, VAMP_TRACE_LIFE), 10 * MS, 20 * MS);
    assert_string_equal(only(bench, VAMP_TRACE_LIFE)->span.end, "left");
}

static void test_a_transport_without_its_source(void **state)
{
    struct bench *bench = *state;
    join_two(bench);
    see(bench, event_transport(VAMP_EVENT_TRANSPORT_INIT, 4 * MS, 9, 5, 2, 0));
    see(bench, event_transport(VAMP_EVENT_TRANSPORT_COMPLETED, 7 * MS, 9, 5, 2, 0));
    assert_int_equal(only(bench, VAMP_TRACE_RECEIVE)->span.arrow, VAMP_TRACE_NO_ARROW);
    assert_int_equal(bench->memory.count, 1);
}

static void test_a_failing_sink(void **state)
{
    struct bench *bench = *state;
    struct vamp_err err = VAMP_ERR_NONE;
    join_two(bench);
    see(bench, event_cdo(VAMP_EVENT_DECLARE, 10 * MS, 1, 5));
    see(bench, event_lost(11 * MS, VAMP_LOSS_RING, 1));
    bench->memory.fail_after = 1;
    struct vamp_event dispose = event_cdo(VAMP_EVENT_DISPOSE, BEGIN_NS + 12 * MS, 1, 5);
    assert_int_equal(vamp_timeline_event(bench->timeline, &dispose, &err), -ENOSPC);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(test_one_exchange),
        CASE(test_tracks_hold_no_overlap),
        CASE(test_lanes_are_bounded_and_counted),
        CASE(test_at_most_max_tracks),
        CASE(test_at_most_max_events),
        CASE(test_range_of_time),
        CASE(test_chosen_components),
        CASE(test_what_has_not_ended),
        CASE(test_what_nothing_satisfied),
        CASE(test_losses_and_anomalies_are_marks),
        CASE(test_the_pool_is_gone),
        CASE(test_a_transport_without_its_source),
        CASE(test_a_failing_sink),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
