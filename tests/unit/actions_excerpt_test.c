/* SPDX-License-Identifier: BSD-3-Clause */
/* The newest events in memory, and recordings that begin before the moment they are asked for. */
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/lib/events.h"
#include "vampire/alarms/actions/excerpt.h"
#include "vampire/core/clock.h"
#include "vampire/core/recording/recording.h"

#define PATIENCE_NS (20 * VAMP_NS_PER_SECOND)
#define SECOND VAMP_NS_PER_SECOND
#define LONG_NS (100000 * SECOND)

/* ---- the history */

/* The event of second `number`, with a name whose length differs from event to event. */
static struct vamp_event numbered(uint64_t number, char name[static 256])
{
    const size_t length = 1 + (size_t)(number * 37 % 250);
    memset(name, 'a' + (int)(number % 26), length);
    struct vamp_event event = event_cdo(VAMP_EVENT_OFFER, (int64_t)number * SECOND, 2, number);
    event.serial = number;
    event.present |= VAMP_HAS_SERIAL | VAMP_HAS_CDO_NAME;
    event.name = name;
    event.name_length = (uint32_t)length;
    return event;
}

static void expect_numbered(const struct vamp_event *event, uint64_t number)
{
    char name[256];
    const struct vamp_event expected = numbered(number, name);
    assert_non_null(event);
    assert_int_equal(event->serial, number);
    assert_int_equal(event->time_ns, expected.time_ns);
    assert_int_equal(event->name_length, expected.name_length);
    assert_memory_equal(event->name, name, expected.name_length);
}

static void history_keeps_the_newest_events(void **state)
{
    (void)state;
    struct vamp_history *history = NULL;
    char name[256];
    uint64_t missed = 0;
    assert_int_equal(vamp_history_create(1, &history, NULL), 0);
    assert_int_equal(vamp_history_oldest_ns(history), INT64_MAX);
    struct vamp_history_place place = vamp_history_find(history, 0);
    struct vamp_history_place late = place;
    assert_null(vamp_history_next(history, &place, &missed));
    for (uint64_t i = 0; i < 5000; i++) {
        const struct vamp_event event = numbered(i, name);
        vamp_history_add(history, &event);
        expect_numbered(vamp_history_next(history, &place, &missed), i);
        assert_int_equal(missed, 0);
        assert_null(vamp_history_next(history, &place, &missed));
    }
    assert_true(vamp_history_has_dropped(history));
    const uint64_t first = (uint64_t)(vamp_history_oldest_ns(history) / SECOND);
    assert_in_range(first, 4600, 4900); /* 64 KiB hold some 250 of them */
    expect_numbered(vamp_history_next(history, &late, &missed), first);
    assert_int_equal(missed, first);
    for (uint64_t i = first + 1; i < 5000; i++) {
        expect_numbered(vamp_history_next(history, &late, &missed), i);
        assert_int_equal(missed, 0);
    }
    struct vamp_history_place found = vamp_history_find(history, 4950 * SECOND - 1);
    expect_numbered(vamp_history_next(history, &found, &missed), 4950);
    found = vamp_history_find(history, 6000 * SECOND);
    assert_null(vamp_history_next(history, &found, &missed));
    vamp_history_free(history);
}

/* ---- excerpts */

struct world {
    char folder[64];
    struct vamp_run run;
    struct vamp_components *components;
    struct vamp_history *history;
    struct vamp_excerpt *excerpt;
    struct vamp_excerpt_settings settings;
};

static int set_up(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    assert_non_null(world);
    (void)snprintf(world->folder, sizeof world->folder, "/tmp/vampire-excerpt-XXXXXX");
    assert_non_null(mkdtemp(world->folder));
    world->run = (struct vamp_run){
        .id = "6f9619ff-8b86-4011-b42d-00cf4fc964ff",
        .workflow = "forecast",
        .component = "vampire",
        .version = "test",
    };
    world->settings = (struct vamp_excerpt_settings){
        .name = "stuck", .directory = world->folder, .limit_ns = LONG_NS};
    assert_int_equal(vamp_components_create(16, &world->components, NULL), 0);
    assert_int_equal(vamp_history_create(1 << 20, &world->history, NULL), 0);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    char command[128];
    vamp_excerpt_free(world->excerpt);
    vamp_history_free(world->history);
    vamp_components_free(world->components);
    (void)snprintf(command, sizeof command, "rm -rf %s", world->folder);
    assert_int_equal(system(command), 0);
    free(world);
    return 0;
}

static void start(struct world *world)
{
    const struct vamp_excerpt_context context = {
        .history = world->history,
        .components = world->components,
        .run = &world->run,
        .clock = &vamp_clock_system,
        .event_kinds = VAMP_EVENT_KINDS_ALL,
    };
    struct vamp_err err = VAMP_ERR_NONE;
    if (vamp_excerpt_create(&world->settings, &context, &world->excerpt, &err) != 0) {
        fail_msg("%s", err.text);
    }
}

static void add(struct world *world, const struct vamp_event *event)
{
    (void)vamp_components_observe(world->components, event);
    vamp_history_add(world->history, event);
}

static void add_numbered(struct world *world, uint64_t first, uint64_t end)
{
    char name[256];
    for (uint64_t i = first; i < end; i++) {
        const struct vamp_event event = numbered(i, name);
        add(world, &event);
        vamp_excerpt_follow(world->excerpt);
    }
}

/* Until the recording is closed. */
static void await_idle(struct world *world)
{
    const int64_t until_ns = vamp_clock_monotonic_ns(&vamp_clock_system) + PATIENCE_NS;
    while (vamp_excerpt_is_busy(world->excerpt)) {
        assert_true(vamp_clock_monotonic_ns(&vamp_clock_system) < until_ns);
        vamp_excerpt_follow(world->excerpt);
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

static struct vamp_excerpt_account account_of(struct world *world)
{
    struct vamp_excerpt_account account;
    vamp_excerpt_account(world->excerpt, &account);
    assert_int_equal(account.queued, account.written + account.lost + account.waiting);
    return account;
}

static struct vamp_recording *open_file(const struct world *world, unsigned number)
{
    char pattern[128];
    (void)snprintf(pattern, sizeof pattern, "%s/vampire-forecast-*-stuck-%04u.rec", world->folder,
                   number);
    glob_t files;
    assert_int_equal(glob(pattern, 0, NULL, &files), 0);
    assert_int_equal(files.gl_pathc, 1);
    struct vamp_recording *recording = NULL;
    struct vamp_recording_header header;
    struct vamp_err err = VAMP_ERR_NONE;
    if (vamp_recording_open(files.gl_pathv[0], &recording, &header, &err) != 0) {
        fail_msg("%s", err.text);
    }
    assert_string_equal(header.workflow, "forecast");
    globfree(&files);
    return recording;
}

static const struct vamp_event *next_of(struct vamp_recording *recording, struct vamp_event *event)
{
    return vamp_recording_next(recording, event, NULL) == VAMP_RECORDING_EVENT ? event : NULL;
}

/* The events numbered [first, end) are next in the recording, and nothing else. */
static void expect_rest(struct vamp_recording *recording, uint64_t first, uint64_t end)
{
    struct vamp_event event;
    for (uint64_t i = first; i < end; i++) {
        expect_numbered(next_of(recording, &event), i);
    }
    assert_int_equal(vamp_recording_next(recording, &event, NULL), VAMP_RECORDING_END);
    assert_null(vamp_recording_remark(recording));
    assert_false(vamp_recording_goes_on(recording));
    vamp_recording_close(recording);
}

static void a_recording_begins_before_it_is_asked_for(void **state)
{
    struct world *world = *state;
    start(world);
    const struct vamp_event join = event_join(1 * SECOND, 2, "Model 1");
    const struct vamp_event gone = event_join(2 * SECOND, 3, "Model 2");
    const struct vamp_event leave = event_leave(3 * SECOND, 3, VAMP_LEAVE_FINALIZED);
    add(world, &join);
    add(world, &gone);
    add(world, &leave);
    add_numbered(world, 10, 100);
    vamp_excerpt_begin(world->excerpt, 70 * SECOND);
    add_numbered(world, 100, 120);
    vamp_excerpt_end(world->excerpt);
    add_numbered(world, 120, 130);
    await_idle(world);

    struct vamp_recording *recording = open_file(world, 1);
    struct vamp_event event;
    assert_non_null(next_of(recording, &event)); /* who was there when it begins */
    assert_int_equal(event.kind, VAMP_EVENT_JOIN);
    assert_int_equal(event.app_id, 2);
    assert_int_equal(event.name_length, 7);
    assert_memory_equal(event.name, "Model 1", 7);
    expect_rest(recording, 70, 120);
    const struct vamp_excerpt_account account = account_of(world);
    assert_int_equal(account.recordings, 1);
    assert_int_equal(account.written, 50);
    assert_int_equal(account.failed + account.lost + account.missed, 0);
    bool error = true;
    char text[VAMP_ERR_TEXT_BYTES];
    assert_true(vamp_excerpt_message(world->excerpt, &error, text));
    assert_false(error);
    assert_non_null(strstr(text, "stuck: recorded 50 events in "));
}

static void each_alarm_has_a_file_of_its_own(void **state)
{
    struct world *world = *state;
    start(world);
    add_numbered(world, 0, 10);
    vamp_excerpt_begin(world->excerpt, 5 * SECOND);
    vamp_excerpt_end(world->excerpt);
    await_idle(world);
    add_numbered(world, 10, 20);
    vamp_excerpt_begin(world->excerpt, 15 * SECOND);
    add_numbered(world, 20, 30);
    vamp_excerpt_finish(world->excerpt, PATIENCE_NS);
    expect_rest(open_file(world, 1), 5, 10);
    expect_rest(open_file(world, 2), 15, 30);
    assert_int_equal(account_of(world).recordings, 2);
}

/* It fires again before the end is reached, or while the file is being closed. */
static void an_alarm_that_fires_again_at_once_loses_nothing(void **state)
{
    struct world *world = *state;
    start(world);
    add_numbered(world, 0, 10);
    vamp_excerpt_begin(world->excerpt, 5 * SECOND);
    vamp_excerpt_end(world->excerpt);
    vamp_excerpt_begin(world->excerpt, 7 * SECOND);
    add_numbered(world, 10, 20);
    vamp_excerpt_end(world->excerpt);
    await_idle(world);
    expect_rest(open_file(world, 1), 5, 20);
    assert_int_equal(account_of(world).recordings, 1);
}

static void what_the_memory_gave_up_is_counted_and_marked(void **state)
{
    struct world *world = *state;
    char name[256];
    vamp_history_free(world->history);
    world->history = NULL;
    assert_int_equal(vamp_history_create(1, &world->history, NULL), 0);
    start(world);
    add_numbered(world, 0, 10);
    vamp_excerpt_begin(world->excerpt, 0);
    for (uint64_t i = 10; i < 5000; i++) { /* nothing is passed on meanwhile */
        const struct vamp_event event = numbered(i, name);
        add(world, &event);
    }
    vamp_excerpt_end(world->excerpt);
    await_idle(world);
    const uint64_t first = (uint64_t)(vamp_history_oldest_ns(world->history) / SECOND);
    struct vamp_recording *recording = open_file(world, 1);
    struct vamp_event event;
    assert_non_null(next_of(recording, &event));
    assert_int_equal(event.kind, VAMP_EVENT_LOST);
    assert_int_equal(event.count, first);
    expect_rest(recording, first, 5000);
    const struct vamp_excerpt_account account = account_of(world);
    assert_int_equal(account.missed, first);
    assert_int_equal(account.written, 5000 - first);
}

static void a_recording_ends_at_its_limit(void **state)
{
    struct world *world = *state;
    world->settings.limit_ns = 20 * SECOND;
    start(world);
    add_numbered(world, 0, 10);
    vamp_excerpt_begin(world->excerpt, 5 * SECOND);
    add_numbered(world, 10, 100);
    await_idle(world);
    vamp_excerpt_begin(world->excerpt, 90 * SECOND); /* another component; it still fires */
    assert_false(vamp_excerpt_is_busy(world->excerpt));
    expect_rest(open_file(world, 1), 5, 25);
    vamp_excerpt_end(world->excerpt);
    vamp_excerpt_begin(world->excerpt, 95 * SECOND);
    vamp_excerpt_finish(world->excerpt, PATIENCE_NS);
    expect_rest(open_file(world, 2), 95, 100);
}

static void a_folder_that_is_gone_is_an_error_and_no_more(void **state)
{
    struct world *world = *state;
    start(world);
    assert_int_equal(rmdir(world->folder), 0);
    add_numbered(world, 0, 10);
    vamp_excerpt_begin(world->excerpt, 0);
    await_idle(world);
    bool error = false;
    char text[VAMP_ERR_TEXT_BYTES];
    assert_true(vamp_excerpt_message(world->excerpt, &error, text));
    assert_true(error);
    assert_non_null(strstr(text, "the directory does not exist; create it first"));
    const struct vamp_excerpt_account account = account_of(world);
    assert_int_equal(account.recordings, 1);
    assert_int_equal(account.failed, 1);
    vamp_excerpt_finish(world->excerpt, PATIENCE_NS);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(history_keeps_the_newest_events),
        TEST(a_recording_begins_before_it_is_asked_for),
        TEST(each_alarm_has_a_file_of_its_own),
        TEST(an_alarm_that_fires_again_at_once_loses_nothing),
        TEST(what_the_memory_gave_up_is_counted_and_marked),
        TEST(a_recording_ends_at_its_limit),
        TEST(a_folder_that_is_gone_is_an_error_and_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
