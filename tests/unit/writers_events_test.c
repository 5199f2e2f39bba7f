/* SPDX-License-Identifier: BSD-3-Clause */
/* An output of events with the recording format: what is lost is counted, whatever the ring holds.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/finish_output.h"
#include "tests/unit/writers_buckets.h"
#include "vampire/core/clock.h"
#include "vampire/core/recording/recording.h"
#include "writers/output/output.h"

struct bench {
    char directory[128];
    void *options;
    struct made_run *made;
    struct vamp_output_settings settings;
    struct vamp_output *output;
};

#define FILES_MAX 8
struct files {
    char paths[FILES_MAX][512];
    unsigned count;
};

static struct vamp_event make_event(enum vamp_event_kind kind, int64_t time_ns)
{
    return (struct vamp_event){.kind = (uint8_t)kind,
                               .time_ns = time_ns,
                               .app_id = 7,
                               .present = VAMP_HAS_APP | VAMP_HAS_TIME};
}

static char name[] = "recording";

static int setup_with(void **state, int64_t rotate_ns, const struct vamp_components *present)
{
    struct vamp_err err = VAMP_ERR_NONE;
    const struct vamp_writer_ops *ops = &vamp_writer_recording;
    struct bench *bench = calloc(1, sizeof *bench);
    assert_non_null(bench);
    const char *base = getenv("TMPDIR");
    (void)snprintf(bench->directory, sizeof bench->directory, "%s/vampire-events-XXXXXX",
                   base != NULL ? base : "/tmp");
    assert_non_null(mkdtemp(bench->directory));
    bench->options = calloc(1, ops->options_bytes);
    assert_int_equal(vamp_opt_presets(ops->options, bench->options, &err), 0);
    const struct vamp_opt *opt = vamp_opt_find(ops->options, "directory");
    assert_int_equal(vamp_opt_set(opt, bench->options, bench->directory, &err), 0);
    bench->settings = (struct vamp_output_settings){
        .name = name, .buffer_bytes = 64 << 10, .rotate_ns = rotate_ns};
    bench->made = made_run_create(VAMP_SET_BASIC, 300, 3, 0);
    const struct vamp_output_context context = {.run = &bench->made->run,
                                                .schema = &bench->made->schema,
                                                .clock = &vamp_clock_system,
                                                .event_kinds = 0xfffe,
                                                .present = present};
    assert_int_equal(
        vamp_output_create(ops, bench->options, &bench->settings, &context, &bench->output, &err),
        0);
    *state = bench;
    return 0;
}

static int setup(void **state)
{
    return setup_with(state, 0, NULL);
}

/* An output that begins in the middle of a run: one component is there, one has left. */
static int setup_rotating(void **state)
{
    struct vamp_components *present = NULL;
    struct vamp_err err = VAMP_ERR_NONE;
    assert_int_equal(vamp_components_create(8, &present, &err), 0);
    const enum vamp_event_kind kinds[] = {VAMP_EVENT_JOIN, VAMP_EVENT_JOIN, VAMP_EVENT_LEAVE};
    const uint64_t ids[] = {5, 6, 6};
    for (unsigned i = 0; i < 3; i++) {
        struct vamp_event event = make_event(kinds[i], 1);
        event.app_id = ids[i];
        event.phase = VAMP_PHASE_AFTER;
        event.name = "early bird";
        event.name_length = 10;
        event.present |= VAMP_HAS_COMPONENT_NAME;
        (void)vamp_components_observe(present, &event);
    }
    int result = setup_with(state, 1000, present);
    vamp_components_free(present);
    return result;
}

static void remove_file(void *context, const char *path)
{
    (void)context;
    assert_int_equal(unlink(path), 0);
}

static int teardown(void **state)
{
    struct bench *bench = *state;
    (void)vamp_output_paths(bench->output, remove_file, NULL);
    vamp_output_free(bench->output);
    assert_int_equal(rmdir(bench->directory), 0);
    vamp_opt_done(vamp_writer_recording.options, bench->options);
    free(bench->options);
    made_run_free(bench->made);
    free(bench);
    return 0;
}

static void note_path(void *context, const char *path)
{
    struct files *files = context;
    assert_true(files->count < FILES_MAX);
    (void)snprintf(files->paths[files->count++], sizeof files->paths[0], "%s", path);
}

/* Events, lost events and time marks of the file, which is complete or ended by a failure. */
static void count_file(const char *path, bool complete, uint64_t counts[3])
{
    struct vamp_recording *recording = NULL;
    struct vamp_recording_header header;
    struct vamp_err err = VAMP_ERR_NONE;
    struct vamp_event event;
    assert_int_equal(vamp_recording_open(path, &recording, &header, &err), 0);
    assert_int_equal(header.event_kinds, 0xfffe);
    counts[0] = counts[1] = counts[2] = 0;
    while (vamp_recording_next(recording, &event, &err) == VAMP_RECORDING_EVENT) {
        counts[0] += !vamp_event_is_mark(&event);
        counts[1] += event.kind == VAMP_EVENT_LOST ? event.count : 0;
        counts[2] += event.kind == VAMP_EVENT_TIME;
    }
    assert_int_equal(vamp_recording_remark(recording) == NULL, complete);
    vamp_recording_close(recording);
}

static void count_only_file(const struct bench *bench, uint64_t counts[3])
{
    struct files files = {.count = 0};
    (void)vamp_output_paths(bench->output, note_path, &files);
    assert_int_equal(files.count, 1);
    count_file(files.paths[0], true, counts);
}

static void finish(const struct bench *bench, struct vamp_output_account *ret_account,
                   int *ret_code)
{
    const struct vamp_ending ending = {.reason = "finished"};
    struct vamp_err err = VAMP_ERR_NONE;
    *ret_code = finish_output(bench->output, &ending, 20 * VAMP_NS_PER_SECOND, &err);
    vamp_output_account(bench->output, ret_account);
    assert_int_equal(ret_account->queued,
                     ret_account->written + ret_account->lost + ret_account->waiting);
    assert_int_equal(ret_account->waiting, 0);
}

static void what_passed_and_who_came_is_recorded(void **state)
{
    struct bench *bench = *state;
    const enum vamp_event_kind kinds[] = {VAMP_EVENT_JOIN, VAMP_EVENT_OFFER, VAMP_EVENT_OFFER,
                                          VAMP_EVENT_LEAVE, VAMP_EVENT_TIME};
    const bool passed[] = {false, true, false, false, true};
    for (unsigned i = 0; i < 5; i++) {
        struct vamp_event event = make_event(kinds[i], i);
        vamp_output_event(bench->output, &event, passed[i]);
    }
    struct vamp_output_account account;
    int code = 0;
    finish(bench, &account, &code);
    assert_int_equal(code, 0);
    assert_int_equal(account.written, 3);
    uint64_t counts[3];
    count_only_file(bench, counts);
    assert_int_equal(counts[0], 3);
    assert_int_equal(counts[1], 0);
    assert_int_equal(counts[2], 1);
}

/* Faster than any disk, until something is lost; the file reports exactly how much. */
static void events_without_room_are_reported(void **state)
{
    struct bench *bench = *state;
    struct vamp_output_account account = {0};
    uint64_t pushed = 0;
    while (account.lost == 0 && pushed < 10000000) {
        for (unsigned i = 0; i < 2000; i++) {
            struct vamp_event event = make_event(VAMP_EVENT_OFFER, (int64_t)pushed++);
            vamp_output_event(bench->output, &event, true);
        }
        vamp_output_account(bench->output, &account);
        assert_int_equal(account.queued, account.written + account.lost + account.waiting);
    }
    assert_true(account.lost > 0);
    int code = 0;
    finish(bench, &account, &code);
    assert_int_equal(code, -ENOBUFS);
    assert_int_equal(account.queued, pushed);
    uint64_t counts[3];
    count_only_file(bench, counts);
    assert_int_equal(counts[0], account.written);
    assert_int_equal(counts[1], account.lost);
}

/* Carried JOINs and other events of a segment, and whether it says that another one follows. */
static void look_at_segment(const char *path, unsigned *ret_joins, unsigned *ret_events,
                            bool *ret_goes_on)
{
    struct vamp_recording *recording = NULL;
    struct vamp_recording_header header;
    struct vamp_err err = VAMP_ERR_NONE;
    struct vamp_event event;
    assert_int_equal(vamp_recording_open(path, &recording, &header, &err), 0);
    *ret_joins = *ret_events = 0;
    while (vamp_recording_next(recording, &event, &err) == VAMP_RECORDING_EVENT) {
        if (event.kind == VAMP_EVENT_JOIN) {
            assert_int_equal(event.app_id, 5);
            assert_int_equal(event.name_length, 10);
            assert_memory_equal(event.name, "early bird", 10);
            assert_int_equal(*ret_events, 0);
            ++*ret_joins;
        } else {
            ++*ret_events;
        }
    }
    assert_null(vamp_recording_remark(recording));
    *ret_goes_on = vamp_recording_goes_on(recording);
    vamp_recording_close(recording);
}

static void every_segment_knows_who_is_there_and_whether_more_follows(void **state)
{
    struct bench *bench = *state;
    for (int64_t time_ns = 500; time_ns < 3000; time_ns += 500) {
        struct vamp_event event = make_event(VAMP_EVENT_OFFER, time_ns);
        vamp_output_event(bench->output, &event, true);
    }
    struct vamp_output_account account;
    int code = 0;
    finish(bench, &account, &code);
    assert_int_equal(code, 0);
    assert_int_equal(account.written, 5); /* a repeated event counts nowhere */
    struct files files = {.count = 0};
    (void)vamp_output_paths(bench->output, note_path, &files);
    assert_int_equal(files.count, 3);
    const unsigned expected[] = {1, 2, 2};
    for (unsigned i = 0; i < files.count; i++) {
        unsigned joins = 0, events = 0;
        bool goes_on = false;
        look_at_segment(files.paths[i], &joins, &events, &goes_on);
        assert_int_equal(joins, 1);
        assert_int_equal(events, expected[i]);
        assert_int_equal(goes_on, i + 1 < files.count);
    }
}

/* No file may grow beyond its size now, as on a full disk; else: it may again. */
static void set_full(bool full)
{
    struct rlimit limit;
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = full ? 1 : limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void submit_offers(const struct bench *bench, unsigned count, int64_t time_ns)
{
    for (unsigned i = 0; i < count; i++) {
        const struct vamp_event event = make_event(VAMP_EVENT_OFFER, time_ns + i);
        vamp_output_event(bench->output, &event, true);
    }
    vamp_output_publish(bench->output);
}

/* After a failed write a new segment begins; what was lost is counted, and a mark that was lost
 * with it stands in the new one. */
static void a_failure_begins_a_segment(void **state)
{
    struct bench *bench = *state;
    struct vamp_output_account account;
    struct vamp_err err = VAMP_ERR_NONE;
    submit_offers(bench, 10, 1);
    do {
        (void)usleep(200);
        vamp_output_account(bench->output, &account);
    } while (account.waiting > 0);
    set_full(true);
    struct vamp_event mark = make_event(VAMP_EVENT_LOST, 20);
    mark.count = 7;
    mark.reason = VAMP_LOSS_RING;
    vamp_output_event(bench->output, &mark, true);
    submit_offers(bench, 5, 21);
    while (!vamp_output_failure(bench->output, &err)) {
        (void)usleep(200);
    }
    set_full(false);
    submit_offers(bench, 5, 31);
    int code = 0;
    finish(bench, &account, &code);
    assert_true(account.lost <= 5 && account.written == 20 - account.lost);
    assert_int_equal(code != 0, account.lost > 0);
    struct files files = {.count = 0};
    (void)vamp_output_paths(bench->output, note_path, &files);
    assert_int_equal(files.count, 2);
    uint64_t before[3], after[3];
    count_file(files.paths[0], false, before);
    count_file(files.paths[1], true, after);
    assert_int_equal(before[0], 10);
    assert_int_equal(after[0], account.written - 10);
    assert_int_equal(after[1], 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_segment_knows_who_is_there_and_whether_more_follows,
                                        setup_rotating, teardown),
        cmocka_unit_test_setup_teardown(what_passed_and_who_came_is_recorded, setup, teardown),
        cmocka_unit_test_setup_teardown(events_without_room_are_reported, setup, teardown),
        cmocka_unit_test_setup_teardown(a_failure_begins_a_segment, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
