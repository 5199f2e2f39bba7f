/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One suite for every source: what source.h promises, seen from the caller's side. A case makes a
 * source of one kind ready to open; `maestro` watches a small workflow that the suite itself runs
 * in this process's own pool.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <maestro.h>

#include "tests/lib/recorder.h"
#include "vampire/core/recording/recording.h"
#include "vampire/source/live.h"
#include "vampire/source/source.h"

#define ALL_KINDS UINT64_C(0xfffe)
#define KIND_BIT(kind) (UINT64_C(1) << (kind))
#define CDOS 20
#define DEADLINE_NS (10 * VAMP_NS_PER_SECOND)

struct bench;

/* What differs between the sources. */
struct kind {
    const char *source;
    void (*prepare)(struct bench *bench); /* files, options */
    void (*act)(struct bench *bench);     /* once it is open: make events; NULL: they come alone */
    bool ends;                            /* by itself */
};

struct bench {
    const struct kind *kind;
    struct vamp_source_ops table;
    const struct vamp_source_ops *ops; /* `table` */
    void *options;
    struct vamp_source_context context;
    atomic_int stop;
    void *source;
    char folder[64], path[96];
    unsigned roundtrips;
};

static void set(struct bench *bench, const char *key, const char *value)
{
    const struct vamp_opt *opt = vamp_opt_find(bench->ops->options, key);
    assert_non_null(opt);
    struct vamp_err err = VAMP_ERR_NONE;
    assert_int_equal(vamp_opt_set(opt, bench->options, value, &err), 0);
}

/* ------------------------------------------------------------------ the kinds */

static void prepare_maestro(struct bench *bench)
{
    set(bench, "alone", "true");
    set(bench, "leave_when_empty", "false");
}

static void act_maestro(struct bench *bench)
{
    (void)bench;
    for (unsigned i = 0; i < CDOS; i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "class:rd,step:%u,\"odd\" name", i);
        mstro_cdo produced = NULL, consumed = NULL;
        assert_int_equal(mstro_cdo_declare(name, MSTRO_ATTR_DEFAULT, &produced), MSTRO_OK);
        assert_int_equal(mstro_cdo_seal(produced), MSTRO_OK);
        assert_int_equal(mstro_cdo_offer(produced), MSTRO_OK);
        assert_int_equal(mstro_cdo_declare(name, MSTRO_ATTR_DEFAULT, &consumed), MSTRO_OK);
        assert_int_equal(mstro_cdo_require(consumed), MSTRO_OK);
        assert_int_equal(mstro_cdo_demand(consumed), MSTRO_OK);
        assert_int_equal(mstro_cdo_dispose(consumed), MSTRO_OK);
        assert_int_equal(mstro_cdo_withdraw(produced), MSTRO_OK);
        assert_int_equal(mstro_cdo_dispose(produced), MSTRO_OK);
    }
}

static void prepare_synthetic(struct bench *bench)
{
    set(bench, "producers", "2");
    set(bench, "burst", "2");
    set(bench, "steps", "5"); /* 2 * 2 * 5 = CDOS */
}

static void prepare_faulty(struct bench *bench)
{
    prepare_synthetic(bench);
    set(bench, "steps", "50");
    const char *const faults[] = {"lost", "missing", "duplicated", "reordered", "late", "vanish"};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        set(bench, faults[i], "100");
    }
}

/* Records what the synthetic source gives. */
static void prepare_replay(struct bench *bench)
{
    const struct vamp_source_ops *ops = &vamp_source_synthetic;
    struct bench from = {.ops = ops, .options = calloc(1, ops->options_bytes)};
    struct vamp_err err = VAMP_ERR_NONE;
    assert_non_null(from.options);
    assert_int_equal(vamp_opt_presets(ops->options, from.options, &err), 0);
    prepare_synthetic(&from);
    from.context = bench->context;
    from.context.event_kinds = ALL_KINDS;
    assert_int_equal(ops->open(from.options, &from.context, &from.source, &err), 0);
    struct vamp_recorder *recorder = NULL;
    const struct vamp_recording_header header = {.event_kinds = ALL_KINDS};
    assert_int_equal(recorder_open(bench->path, &header, &recorder, &err), 0);
    struct vamp_event event;
    while (ops->next(from.source, &event, &err) == VAMP_SOURCE_MORE) {
        assert_int_equal(vamp_recorder_add(recorder, &event, &err), 0);
    }
    assert_int_equal(vamp_recorder_close(recorder, &err), 0);
    assert_int_equal(ops->close(from.source, &err), 0);
    vamp_opt_done(ops->options, from.options);
    free(from.options);
    set(bench, "file", bench->path);
}

static const struct kind maestro_kind = {"maestro", prepare_maestro, act_maestro, false};
static const struct kind synthetic_kind = {"synthetic", prepare_synthetic, NULL, true};
static const struct kind faulty_kind = {"synthetic", prepare_faulty, NULL, true};
static const struct kind replay_kind = {"replay", prepare_replay, NULL, true};

/* ------------------------------------------------------------------ the bench */

static void count_roundtrip(void *context, enum vamp_own_operation operation, int64_t ns)
{
    assert_true(operation < VAMP_OWN_OPERATION_COUNT && ns >= 0);
    ((struct bench *)context)->roundtrips++;
}

static int setup(void **state)
{
    struct bench *bench = calloc(1, sizeof *bench);
    assert_non_null(bench);
    bench->kind = *state;
    assert_non_null(vamp_source_find(bench->kind->source));
    bench->table = *vamp_source_find(bench->kind->source);
    bench->ops = &bench->table;
    if (bench->kind == &maestro_kind) { /* linked here, so that it watches this process's pool */
        bench->table.open = vamp_live.source.open;
        bench->table.next = vamp_live.source.next;
        bench->table.wait = vamp_live.source.wait;
        bench->table.describe = vamp_live.source.describe;
        bench->table.close = vamp_live.source.close;
    }
    bench->options = calloc(1, bench->ops->options_bytes);
    assert_non_null(bench->options);
    struct vamp_err err = VAMP_ERR_NONE;
    assert_int_equal(vamp_opt_presets(bench->ops->options, bench->options, &err), 0);
    (void)snprintf(bench->folder, sizeof bench->folder, "/tmp/vampire-source-XXXXXX");
    assert_non_null(mkdtemp(bench->folder));
    (void)snprintf(bench->path, sizeof bench->path, "%s/events.rec", bench->folder);
    bench->context = (struct vamp_source_context){
        .clock = &vamp_clock_system,
        .event_kinds = ALL_KINDS,
        .workflow = "suite",
        .component = "vampire",
        .stop = &bench->stop,
        .own_roundtrip = count_roundtrip,
        .own_roundtrip_context = bench,
    };
    bench->kind->prepare(bench);
    *state = bench;
    return 0;
}

static int teardown(void **state)
{
    struct bench *bench = *state;
    vamp_opt_done(bench->ops->options, bench->options);
    free(bench->options);
    (void)unlink(bench->path);
    (void)rmdir(bench->folder);
    free(bench);
    return 0;
}

static void open_source(struct bench *bench)
{
    struct vamp_err err = VAMP_ERR_NONE;
    int result = bench->ops->open(bench->options, &bench->context, &bench->source, &err);
    if (result != 0) {
        print_error("%s\n", err.text);
    }
    assert_int_equal(result, 0);
}

static void close_source(struct bench *bench)
{
    struct vamp_err err = VAMP_ERR_NONE;
    assert_int_equal(bench->ops->close(bench->source, &err), 0);
}

/* ------------------------------------------------------------------ what every event keeps to */

static void check_operation(const struct vamp_event *event)
{
    assert_true(event->kind > VAMP_EVENT_NONE && event->kind < VAMP_EVENT_KIND_COUNT);
    assert_true(event->phase == VAMP_PHASE_AFTER || event->phase == VAMP_PHASE_BEFORE);
    assert_true(event->tier < VAMP_TIER_COUNT && event->cause < VAMP_CAUSE_COUNT &&
                event->reason < VAMP_LEAVE_REASON_COUNT);
    assert_true(event->time_ns != 0);
    const struct {
        enum vamp_event_field field;
        bool is_zero;
    } fields[] = {
        {VAMP_HAS_SERIAL, event->serial == 0},
        {VAMP_HAS_APP, event->app_id == 0},
        {VAMP_HAS_PEER, event->peer_id == 0},
        {VAMP_HAS_CDO_ID, event->cdo_id.high == 0 && event->cdo_id.low == 0},
        {VAMP_HAS_SIZE, event->size_bytes == 0},
        {VAMP_HAS_TRANSPORT, event->transport_id == 0},
        {VAMP_HAS_TIER, event->tier == 0},
        {VAMP_HAS_CAUSE, event->cause == 0},
        {VAMP_HAS_REASON, event->reason == 0},
        {VAMP_HAS_DURATION, event->duration_ns == 0},
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        assert_true(vamp_event_has(event, fields[i].field) || fields[i].is_zero);
    }
    if ((event->present & (VAMP_HAS_CDO_NAME | VAMP_HAS_COMPONENT_NAME)) != 0) {
        assert_non_null(event->name);
        assert_true(event->name_length <= VAMP_NAME_BYTES_MAX);
    } else {
        assert_int_equal(event->name_length, 0);
    }
    assert_int_equal(event->count, 0);
}

/* A running sum over all that an event says, to compare two runs. */
static uint64_t mix(uint64_t sum, const struct vamp_event *event)
{
    const uint64_t values[] = {event->serial,      (uint64_t)event->time_ns,
                               event->app_id,      event->peer_id,
                               event->cdo_id.high, event->cdo_id.low,
                               event->size_bytes,  event->transport_id,
                               event->count,       event->present,
                               event->kind,        event->phase,
                               event->tier,        event->cause,
                               event->reason,      event->name_length,
                               event->duration_ns};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        sum = (sum ^ values[i]) * UINT64_C(0x100000001b3);
    }
    for (uint32_t i = 0; i < event->name_length; i++) {
        sum = (sum ^ (unsigned char)event->name[i]) * UINT64_C(0x100000001b3);
    }
    return sum;
}

struct tally {
    uint64_t kinds[32]; /* operations by kind, phase AFTER; marks' counts */
    uint64_t before;
    uint64_t sum;
};

static bool is_complete(const struct bench *bench, const struct tally *tally)
{
    return !bench->kind->ends && tally->kinds[VAMP_EVENT_DISPOSE] >= (uint64_t)2 * CDOS;
}

/* Runs an open source to its end, or until the last event of the little workflow was seen. */
static void run(struct bench *bench, struct tally *tally)
{
    *tally = (struct tally){.sum = 1};
    const int64_t until_ns = vamp_clock_monotonic_ns(&vamp_clock_system) + DEADLINE_NS;
    struct vamp_event event;
    struct vamp_err err = VAMP_ERR_NONE;
    while (!is_complete(bench, tally)) {
        switch (bench->ops->next(bench->source, &event, &err)) {
        case VAMP_SOURCE_MORE:
            tally->sum = mix(tally->sum, &event);
            if (vamp_event_is_mark(&event)) {
                assert_true(event.count > 0);
                tally->kinds[event.kind] += event.count;
                break;
            }
            check_operation(&event);
            assert_true((bench->context.event_kinds & KIND_BIT(event.kind)) != 0);
            tally->kinds[event.kind] += event.phase == VAMP_PHASE_AFTER;
            tally->before += event.phase == VAMP_PHASE_BEFORE;
            break;
        case VAMP_SOURCE_EMPTY:
            assert_true(vamp_clock_monotonic_ns(&vamp_clock_system) < until_ns);
            bench->ops->wait(bench->source, VAMP_NS_PER_SECOND / 20);
            break;
        case VAMP_SOURCE_END:
            assert_true(bench->kind->ends);
            return;
        case VAMP_SOURCE_GONE:
        case VAMP_SOURCE_DAMAGED:
        case VAMP_SOURCE_ERROR:
            fail_msg("%s", err.text);
        }
    }
}

static void open_and_run(struct bench *bench, struct tally *tally)
{
    open_source(bench);
    if (bench->kind->act != NULL) {
        bench->kind->act(bench);
    }
    run(bench, tally);
}

/* ------------------------------------------------------------------ cases */

static void gives_the_whole_stream(void **state)
{
    struct bench *bench = *state;
    struct tally tally;
    open_and_run(bench, &tally);
    close_source(bench);
    if (bench->kind == &faulty_kind) {
        assert_true(tally.kinds[VAMP_EVENT_LOST] > 0);
        assert_true(tally.kinds[VAMP_EVENT_OFFER] > 0);
        return;
    }
    assert_int_equal(tally.kinds[VAMP_EVENT_LOST], 0);
    assert_int_equal(tally.kinds[VAMP_EVENT_REJECTED], 0);
    assert_int_equal(tally.kinds[VAMP_EVENT_DECLARE], 2 * CDOS);
    assert_int_equal(tally.kinds[VAMP_EVENT_OFFER], CDOS);
    assert_int_equal(tally.kinds[VAMP_EVENT_DEMAND], CDOS);
    assert_int_equal(tally.kinds[VAMP_EVENT_TRANSPORT_COMPLETED],
                     tally.kinds[VAMP_EVENT_TRANSPORT_INIT]);
    assert_int_equal(tally.kinds[VAMP_EVENT_WITHDRAW], CDOS);
    assert_int_equal(tally.kinds[VAMP_EVENT_DISPOSE], 2 * CDOS);
    assert_int_equal(tally.before, 2 * CDOS);
}

static void serials_ascend(void **state)
{
    struct bench *bench = *state;
    open_source(bench);
    if (bench->kind->act != NULL) {
        bench->kind->act(bench);
    }
    struct vamp_event event;
    struct vamp_err err = VAMP_ERR_NONE;
    uint64_t last = 0, count = 0;
    const int64_t until_ns = vamp_clock_monotonic_ns(&vamp_clock_system) + DEADLINE_NS;
    while (count < 100 && vamp_clock_monotonic_ns(&vamp_clock_system) < until_ns) {
        enum vamp_source_status status = bench->ops->next(bench->source, &event, &err);
        if (status == VAMP_SOURCE_MORE) {
            assert_true(event.serial > last);
            last = event.serial;
            count++;
        } else {
            assert_int_equal(status, VAMP_SOURCE_EMPTY);
            bench->ops->wait(bench->source, VAMP_NS_PER_SECOND / 20);
        }
    }
    assert_int_equal(count, 100);
    close_source(bench);
}

static void only_wanted_kinds(void **state)
{
    struct bench *bench = *state;
    bench->context.event_kinds = KIND_BIT(VAMP_EVENT_OFFER) | KIND_BIT(VAMP_EVENT_DISPOSE);
    struct tally tally;
    open_and_run(bench, &tally);
    close_source(bench);
    assert_true(tally.kinds[VAMP_EVENT_OFFER] > 0);
    assert_int_equal(tally.before, 0);
}

static void the_end_is_final(void **state)
{
    struct bench *bench = *state;
    struct tally tally;
    open_and_run(bench, &tally);
    struct vamp_event event;
    struct vamp_err err = VAMP_ERR_NONE;
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(bench->ops->next(bench->source, &event, &err), VAMP_SOURCE_END);
        bench->ops->wait(bench->source, VAMP_NS_PER_SECOND * 3600); /* nothing to wait for */
    }
    close_source(bench);
}

static void twice_the_same(void **state)
{
    struct bench *bench = *state;
    struct tally first, second;
    open_and_run(bench, &first);
    close_source(bench);
    open_and_run(bench, &second);
    close_source(bench);
    assert_true(first.sum == second.sum);
    if (bench->kind == &synthetic_kind) {
        set(bench, "seed", "2");
        open_and_run(bench, &second);
        close_source(bench);
        assert_true(first.sum != second.sum);
    }
}

/* With a mark, a fault or an event under way: everything is freed (the sanitizers look). */
static void may_be_closed_at_any_time(void **state)
{
    struct bench *bench = *state;
    for (unsigned events = 0; events < 40; events += 3) {
        open_source(bench);
        if (bench->kind->act != NULL && events % 2 == 0) {
            bench->kind->act(bench);
        }
        struct vamp_event event;
        struct vamp_err err = VAMP_ERR_NONE;
        for (unsigned i = 0; i < events; i++) {
            if (bench->ops->next(bench->source, &event, &err) == VAMP_SOURCE_EMPTY) {
                bench->ops->wait(bench->source, 1000);
            }
        }
        close_source(bench);
    }
}

static void waiting_ends_in_time(void **state)
{
    struct bench *bench = *state;
    struct tally tally;
    open_and_run(bench, &tally);
    const int64_t begin_ns = vamp_clock_monotonic_ns(&vamp_clock_system);
    bench->ops->wait(bench->source, VAMP_NS_PER_SECOND / 20);
    bench->ops->wait(bench->source, 0);
    assert_true(vamp_clock_monotonic_ns(&vamp_clock_system) - begin_ns < 5 * VAMP_NS_PER_SECOND);
    close_source(bench);
}

static void real_time_is_kept(void **state)
{
    struct bench *bench = *state;
    set(bench, "speed", "50"); /* about five seconds of events in a tenth of one */
    const int64_t begin_ns = vamp_clock_monotonic_ns(&vamp_clock_system);
    struct tally tally;
    open_and_run(bench, &tally);
    close_source(bench);
    const int64_t took_ns = vamp_clock_monotonic_ns(&vamp_clock_system) - begin_ns;
    assert_true(took_ns > VAMP_NS_PER_SECOND / 20);
}

static void own_operations_are_timed(void **state)
{
    struct bench *bench = *state;
    open_source(bench);
    close_source(bench);
    assert_true(bench->kind == &maestro_kind ? bench->roundtrips >= 4 : bench->roundtrips == 0);
}

static void the_table_is_complete(void **state)
{
    struct bench *bench = *state;
    assert_non_null(bench->ops->summary);
    for (const struct vamp_opt *opt = bench->ops->options; opt->key != NULL; opt++) {
        assert_non_null(opt->preset);
        assert_true(strlen(opt->help) > 5);
        assert_true(opt->help[strlen(opt->help) - 1] != '.');
        assert_true(opt->offset < bench->ops->options_bytes);
    }
    assert_null(vamp_source_find("none"));
}

#define CASE(test, kind)                                                                           \
    {                                                                                              \
        .name = #kind ": " #test, .test_func = (test), .setup_func = setup,                        \
        .teardown_func = teardown, .initial_state = (void *)(uintptr_t)&kind##_kind                \
    }
#define SUITE(kind)                                                                                \
    CASE(gives_the_whole_stream, kind), CASE(only_wanted_kinds, kind),                             \
        CASE(may_be_closed_at_any_time, kind), CASE(waiting_ends_in_time, kind),                   \
        CASE(own_operations_are_timed, kind), CASE(the_table_is_complete, kind)
/* Sources whose stream has an end and is the same each time. */
#define ENDING(kind) CASE(the_end_is_final, kind), CASE(twice_the_same, kind)
/* Streams without faults. */
#define ORDERED(kind) CASE(serials_ascend, kind)
#define PACED(kind) CASE(real_time_is_kept, kind)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SUITE(synthetic), ENDING(synthetic), ORDERED(synthetic), PACED(synthetic),
        SUITE(faulty),    ENDING(faulty),    SUITE(replay),      ENDING(replay),
        ORDERED(replay),  PACED(replay),     SUITE(maestro),     ORDERED(maestro),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
