/* SPDX-License-Identifier: BSD-3-Clause */
/* The newest events in memory, and outputs that write them while an alarm fires. */
#include <errno.h>
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/lib/events.h"
#include "tests/unit/finish_output.h"
#include "vampire/alarms/change.h"
#include "vampire/core/clock.h"
#include "vampire/core/recording/recording.h"
#include "writers/output/output.h"

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
    assert_int_equal(vamp_history_create(&history, NULL), 0);
    assert_int_equal(vamp_history_grow(history, 1, NULL), 0);
    assert_int_equal(vamp_history_oldest_ns(history), INT64_MAX);
    struct vamp_history_place place = vamp_history_find(history, 0);
    struct vamp_history_place late = place;
    assert_null(vamp_history_next(history, &place, &missed));
    for (uint64_t i = 0; i < 5000; i++) {
        const struct vamp_event event = numbered(i, name);
        vamp_history_add(history, &event, i % 3 != 0);
        expect_numbered(vamp_history_next(history, &place, &missed), i);
        assert_int_equal(missed, 0);
        assert_int_equal(place.passed, i % 3 != 0);
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

/* ---- outputs */

struct world {
    char folder[64];
    struct vamp_run run;
    struct vamp_components *components;
    struct vamp_history *history;
    struct vamp_output_settings settings;
    void *options;
    struct vamp_output *output;
    char said[512]; /* the last line */
    bool error;     /* one of them was */
};

static void say(void *context, bool error, const char *line)
{
    struct world *world = context;
    world->error = world->error || error;
    (void)snprintf(world->said, sizeof world->said, "%s", line);
}

static int set_up(void **state)
{
    static char *names[] = {(char *)(uintptr_t) "slow", (char *)(uintptr_t) "stuck"};
    struct world *world = calloc(1, sizeof *world);
    assert_non_null(world);
    (void)snprintf(world->folder, sizeof world->folder, "/tmp/vampire-triggered-XXXXXX");
    assert_non_null(mkdtemp(world->folder));
    world->run = (struct vamp_run){
        .id = "6f9619ff-8b86-4011-b42d-00cf4fc964ff",
        .workflow = "forecast",
        .component = "vampire",
        .version = "test",
        .host = "node1",
        .user = "operator",
        .batch_job = "",
    };
    world->settings = (struct vamp_output_settings){
        .name = (char *)(uintptr_t) "incident",
        .buffer_bytes = 1 << 20,
        .when = {.items = names, .count = 2},
        .before_ns = 10 * SECOND,
        .memory_bytes = 1 << 20,
        .limit_ns = LONG_NS,
    };
    assert_int_equal(vamp_components_create(16, &world->components, NULL), 0);
    assert_int_equal(vamp_history_create(&world->history, NULL), 0);
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    char command[128];
    vamp_output_free(world->output);
    vamp_opt_done(vamp_writer_recording.options, world->options);
    free(world->options);
    vamp_history_free(world->history);
    vamp_components_free(world->components);
    (void)snprintf(command, sizeof command, "rm -rf %s", world->folder);
    assert_int_equal(system(command), 0);
    free(world);
    return 0;
}

static struct vamp_output *open_output(struct world *world, unsigned segments_before)
{
    const struct vamp_opt *table = vamp_writer_recording.options;
    if (world->options == NULL) {
        world->options = calloc(1, vamp_writer_recording.options_bytes);
        assert_non_null(world->options);
        assert_int_equal(vamp_opt_presets(table, world->options, NULL), 0);
        assert_int_equal(
            vamp_opt_set(vamp_opt_find(table, "directory"), world->options, world->folder, NULL),
            0);
    }
    const struct vamp_output_context context = {
        .run = &world->run,
        .clock = &vamp_clock_system,
        .event_kinds = VAMP_EVENT_KINDS_ALL,
        .segments_before = segments_before,
        .present = segments_before > 0 ? world->components : NULL,
        .history = world->history,
        .components = world->components,
        .say = say,
        .say_context = world,
    };
    struct vamp_output *output = NULL;
    struct vamp_err err = VAMP_ERR_NONE;
    if (vamp_output_create(&vamp_writer_recording, world->options, &world->settings, &context,
                           &output, &err) != 0) {
        fail_msg("%s", err.text);
    }
    return output;
}

static void start(struct world *world)
{
    world->output = open_output(world, 0);
}

static int end_output(struct vamp_output *output)
{
    struct vamp_err err = VAMP_ERR_NONE;
    const struct vamp_ending ending = {.reason = "finished", .completed = true};
    return finish_output(output, &ending, PATIENCE_NS, &err);
}

static void add(struct world *world, const struct vamp_event *event)
{
    (void)vamp_components_observe(world->components, event);
    vamp_history_add(world->history, event, true);
}

static void add_numbered(struct world *world, uint64_t first, uint64_t end)
{
    char name[256];
    for (uint64_t i = first; i < end; i++) {
        const struct vamp_event event = numbered(i, name);
        add(world, &event);
        vamp_output_publish(world->output);
    }
}

/* An alarm of rule `rule` enters a state; the condition holds since `since_ns`. */
static void enter(struct world *world, const char *rule, enum vamp_alarm_state state,
                  int64_t since_ns)
{
    struct vamp_alarm_change change = {
        .rule = strcmp(rule, "stuck") == 0, /* its number: the second of two */
        .state = (uint8_t)state,
        .since_ns = since_ns,
        .label_count = 1,
    };
    (void)snprintf(change.alarm, sizeof change.alarm, "%s", rule);
    change.labels[0].name = "component";
    (void)snprintf(change.labels[0].value, sizeof change.labels[0].value, "Products");
    const struct vamp_bucket bucket = {.alarms = &change, .alarm_count = 1};
    vamp_output_bucket(world->output, &bucket);
    vamp_output_publish(world->output);
}

/* It begins with this event, and ends. */
static void fire(struct world *world, uint64_t first)
{
    enter(world, "stuck", VAMP_ALARM_FIRING, (int64_t)(first + 10) * SECOND);
}

static void resolve(struct world *world)
{
    enter(world, "stuck", VAMP_ALARM_RESOLVED, 0);
}

static struct vamp_output_account account_of(const struct vamp_output *output)
{
    struct vamp_output_account account;
    vamp_output_account(output, &account);
    assert_int_equal(account.queued, account.written + account.lost + account.waiting);
    return account;
}

static unsigned files_of(const struct world *world, const char *number, char path[static 256])
{
    char pattern[128];
    (void)snprintf(pattern, sizeof pattern, "%s/vampire-forecast-*-incident-%s.rec", world->folder,
                   number);
    glob_t files;
    const unsigned count = glob(pattern, 0, NULL, &files) == 0 ? (unsigned)files.gl_pathc : 0;
    (void)snprintf(path, 256, "%s", count > 0 ? files.gl_pathv[0] : "");
    globfree(&files);
    return count;
}

static struct vamp_recording *open_file(const struct world *world, const char *number)
{
    char path[256];
    assert_int_equal(files_of(world, number, path), 1);
    struct vamp_recording *recording = NULL;
    struct vamp_recording_header header;
    struct vamp_err err = VAMP_ERR_NONE;
    if (vamp_recording_open(path, &recording, &header, &err) != 0) {
        fail_msg("%s", err.text);
    }
    assert_string_equal(header.workflow, "forecast");
    assert_int_equal(header.events_before, 0); /* each is complete in itself */
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

static void a_recording_begins_before_the_alarm(void **state)
{
    struct world *world = *state;
    start(world);
    char path[256], remark[VAMP_ERR_TEXT_BYTES];
    const struct vamp_event join = event_join(1 * SECOND, 2, "Model 1");
    const struct vamp_event gone = event_join(2 * SECOND, 3, "Model 2");
    const struct vamp_event leave = event_leave(3 * SECOND, 3, VAMP_LEAVE_FINALIZED);
    add(world, &join);
    add(world, &gone);
    add(world, &leave);
    add_numbered(world, 10, 100);
    enter(world, "other", VAMP_ALARM_FIRING, 20 * SECOND);
    enter(world, "stuck", VAMP_ALARM_PENDING, 20 * SECOND);
    assert_int_equal(files_of(world, "*", path), 0); /* no file without an alarm */
    fire(world, 70);
    add_numbered(world, 100, 120);
    resolve(world);
    add_numbered(world, 120, 130);
    while (!vamp_output_remark(world->output, remark)) {
        (void)usleep(1000);
    }
    assert_memory_equal(remark, "recorded 50 events in /tmp/vampire-triggered-", 45);
    assert_int_equal(end_output(world->output), 0);

    struct vamp_recording *recording = open_file(world, "0001");
    struct vamp_event event;
    assert_non_null(next_of(recording, &event)); /* who was there when it begins */
    assert_int_equal(event.kind, VAMP_EVENT_JOIN);
    assert_int_equal(event.app_id, 2);
    assert_int_equal(event.name_length, 7);
    assert_memory_equal(event.name, "Model 1", 7);
    expect_rest(recording, 70, 120);
    const struct vamp_output_account account = account_of(world->output);
    assert_int_equal(account.written, 50);
    assert_int_equal(account.lost, 0);
    assert_string_equal(world->said, "");
}

static void each_alarm_has_a_file_of_its_own(void **state)
{
    struct world *world = *state;
    start(world);
    add_numbered(world, 0, 10);
    fire(world, 5);
    resolve(world);
    add_numbered(world, 10, 20);
    fire(world, 15);
    add_numbered(world, 20, 30);
    assert_int_equal(end_output(world->output), 0);
    expect_rest(open_file(world, "0001"), 5, 10);
    expect_rest(open_file(world, "0002"), 15, 30);
    assert_int_equal(account_of(world->output).written, 20);
}

/* Two rules, of which one fires longer. */
static void it_lasts_as_long_as_one_of_the_alarms(void **state)
{
    struct world *world = *state;
    start(world);
    add_numbered(world, 0, 10);
    fire(world, 5);
    enter(world, "slow", VAMP_ALARM_FIRING, 10 * SECOND);
    add_numbered(world, 10, 20);
    resolve(world);
    add_numbered(world, 20, 30);
    enter(world, "slow", VAMP_ALARM_RESOLVED, 0);
    add_numbered(world, 30, 40);
    assert_int_equal(end_output(world->output), 0);
    expect_rest(open_file(world, "0001"), 5, 30);
}

/* It fires again before the end is reached. */
static void an_alarm_that_fires_again_at_once_loses_nothing(void **state)
{
    struct world *world = *state;
    start(world);
    add_numbered(world, 0, 10);
    const struct vamp_alarm_change changes[] = {
        {.rule = 1, .alarm = "stuck", .state = VAMP_ALARM_FIRING, .since_ns = 15 * SECOND},
        {.rule = 1, .alarm = "stuck", .state = VAMP_ALARM_RESOLVED},
        {.rule = 1, .alarm = "stuck", .state = VAMP_ALARM_FIRING, .since_ns = 17 * SECOND},
    };
    const struct vamp_bucket bucket = {.alarms = changes, .alarm_count = 3};
    vamp_output_bucket(world->output, &bucket);
    add_numbered(world, 10, 20);
    resolve(world);
    assert_int_equal(end_output(world->output), 0);
    expect_rest(open_file(world, "0001"), 5, 20);
    char path[256];
    assert_int_equal(files_of(world, "*", path), 1);
}

static void what_the_memory_gave_up_is_counted_and_marked(void **state)
{
    struct world *world = *state;
    char name[256];
    world->settings.memory_bytes = 1;
    world->settings.before_ns = 10 * SECOND;
    start(world);
    add_numbered(world, 0, 10);
    const struct vamp_alarm_change change = {
        .alarm = "stuck", .state = VAMP_ALARM_FIRING, .since_ns = 10 * SECOND};
    const struct vamp_bucket bucket = {.alarms = &change, .alarm_count = 1};
    vamp_output_bucket(world->output, &bucket);
    for (uint64_t i = 10; i < 5000; i++) { /* nothing is passed on meanwhile */
        const struct vamp_event event = numbered(i, name);
        add(world, &event);
    }
    vamp_output_publish(world->output);
    assert_true(world->error);
    assert_non_null(strstr(world->said, "output incident: "));
    assert_non_null(strstr(world->said, " events are missing in the recording"));
    const uint64_t first = (uint64_t)(vamp_history_oldest_ns(world->history) / SECOND);
    assert_int_equal(end_output(world->output), -ENOBUFS);
    struct vamp_recording *recording = open_file(world, "0001");
    struct vamp_event event;
    assert_non_null(next_of(recording, &event));
    assert_int_equal(event.kind, VAMP_EVENT_LOST);
    assert_int_equal(event.count, first);
    expect_rest(recording, first, 5000);
    const struct vamp_output_account account = account_of(world->output);
    assert_int_equal(account.lost, first);
    assert_int_equal(account.written, 5000 - first);
}

static void a_past_that_is_too_short_is_reported(void **state)
{
    struct world *world = *state;
    world->settings.memory_bytes = 1;
    start(world);
    add_numbered(world, 0, 5000);
    const uint64_t first = (uint64_t)(vamp_history_oldest_ns(world->history) / SECOND);
    fire(world, first - 100);
    assert_non_null(strstr(world->said, "begins 100.0 s later than requested"));
    assert_false(world->error);
    assert_int_equal(end_output(world->output), 0);
    expect_rest(open_file(world, "0001"), first, 5000);
}

static void a_recording_ends_at_its_limit(void **state)
{
    struct world *world = *state;
    world->settings.limit_ns = 20 * SECOND;
    start(world);
    add_numbered(world, 0, 10);
    fire(world, 5);
    add_numbered(world, 10, 100);
    assert_non_null(strstr(world->said, "ends at its \"limit\" although the alarm still fires"));
    enter(world, "slow", VAMP_ALARM_FIRING, 100 * SECOND); /* the other one still fires */
    enter(world, "slow", VAMP_ALARM_RESOLVED, 0);
    resolve(world);
    fire(world, 95);
    assert_int_equal(end_output(world->output), 0);
    expect_rest(open_file(world, "0001"), 5, 25);
    expect_rest(open_file(world, "0002"), 95, 100);
}

static void a_folder_that_is_gone_is_an_error_and_a_loss(void **state)
{
    struct world *world = *state;
    struct vamp_err failure = VAMP_ERR_NONE;
    start(world);
    assert_int_equal(rmdir(world->folder), 0);
    add_numbered(world, 0, 10);
    fire(world, 0);
    while (!vamp_output_failure(world->output, &failure)) {
        (void)usleep(1000);
    }
    assert_non_null(strstr(failure.text, "the directory does not exist; create it first"));
    const struct vamp_ending ending = {.reason = "finished", .completed = true};
    assert_int_not_equal(finish_output(world->output, &ending, SECOND / 10, &failure), 0);
    assert_int_equal(account_of(world->output).lost, 10);
}

/* The application ids of the events in the first file, and how many are left out before them, as a
 * text. */
static void expect_ids(const struct world *world, const char *expected)
{
    struct vamp_recording *recording = open_file(world, "0001");
    struct vamp_event event;
    char ids[256];
    size_t used = 0;
    while (next_of(recording, &event) != NULL) {
        const bool left_out = event.kind == VAMP_EVENT_UNWANTED;
        used += (size_t)snprintf(ids + used, sizeof ids - used, "%c%d ",
                                 left_out                        ? '-'
                                 : event.kind == VAMP_EVENT_JOIN ? 'j'
                                                                 : 'd',
                                 left_out ? (int)event.count : (int)event.app_id);
    }
    vamp_recording_close(recording);
    assert_string_equal(ids, expected);
}

/* Component 7 is the one that the alarm names; each fifth event is of it. */
static void record_demands(struct world *world)
{
    start(world);
    const struct vamp_event join = event_join(1, 7, "Products");
    add(world, &join);
    for (int64_t i = 30; i < 60; i++) { /* seconds 50 to 59 are recorded */
        const struct vamp_event event =
            event_cdo(VAMP_EVENT_DEMAND, i * SECOND, i % 5 == 0 ? 7 : 8, 1);
        add(world, &event);
    }
    enter(world, "stuck", VAMP_ALARM_FIRING, 60 * SECOND);
    const struct vamp_event event = event_cdo(VAMP_EVENT_DEMAND, 65 * SECOND, 7, 1);
    add(world, &event);
    resolve(world);
    add(world, &event); /* after its end */
    assert_int_equal(end_output(world->output), 0);
}

static void all_events_are_written(void **state)
{
    record_demands(*state);
    expect_ids(*state, "j7 d7 d8 d8 d8 d8 d7 d8 d8 d8 d8 d7 ");
}

static void or_only_those_concerned(void **state)
{
    struct world *world = *state;
    world->settings.concerned = true;
    record_demands(world);
    expect_ids(world, "j7 d7 -4 d7 -4 d7 ");
}

/* What is left out at the end is told in the file that ends, not in the next one. */
static void what_was_left_out_last_is_told(void **state)
{
    struct world *world = *state;
    world->settings.concerned = true;
    start(world);
    const struct vamp_event join = event_join(1, 7, "Products");
    add(world, &join);
    enter(world, "stuck", VAMP_ALARM_FIRING, 50 * SECOND);
    for (int64_t i = 50; i < 53; i++) {
        const struct vamp_event event = event_cdo(VAMP_EVENT_DEMAND, i * SECOND, i < 51 ? 7 : 8, 1);
        add(world, &event);
    }
    resolve(world);
    assert_int_equal(end_output(world->output), 0);
    expect_ids(world, "j7 d7 -2 ");
}

static void events_that_filters_turn_away_are_written_if_asked_for(void **state)
{
    struct world *world = *state;
    world->settings.filtered = true;
    char name[256];
    start(world);
    for (uint64_t i = 0; i < 20; i++) {
        const struct vamp_event event = numbered(i, name);
        vamp_history_add(world->history, &event, i % 2 == 0);
    }
    fire(world, 5);
    assert_int_equal(end_output(world->output), 0);
    expect_rest(open_file(world, "0001"), 5, 20);
}

/* The rules stay, and one of their alarms fires. */
static void after_a_reload_it_goes_on_in_a_new_file(void **state)
{
    struct world *world = *state;
    start(world);
    const struct vamp_event join = event_join(1, 7, "Products");
    add(world, &join);
    add_numbered(world, 10, 20);
    fire(world, 15);
    add_numbered(world, 20, 30);
    struct vamp_output *before = world->output;
    world->output = open_output(world, 1);
    assert_int_equal(end_output(before), 0);
    vamp_output_continue(world->output, before);
    vamp_output_free(before);
    add_numbered(world, 30, 40);
    resolve(world);
    add_numbered(world, 40, 50);
    assert_int_equal(end_output(world->output), 0);
    struct vamp_event event;
    struct vamp_recording *first = open_file(world, "0001"), *second = open_file(world, "0002");
    assert_non_null(next_of(first, &event));
    expect_rest(first, 15, 30);
    assert_non_null(next_of(second, &event));
    assert_int_equal(event.kind, VAMP_EVENT_JOIN);
    expect_rest(second, 30, 40);
}

static void a_silenced_alarm_is_not_recorded(void **state)
{
    struct world *world = *state;
    start(world);
    add_numbered(world, 0, 10);
    const struct vamp_alarm_change change = {
        .alarm = "stuck", .state = VAMP_ALARM_FIRING, .since_ns = 10 * SECOND, .silenced = true};
    const struct vamp_bucket bucket = {.alarms = &change, .alarm_count = 1};
    vamp_output_bucket(world->output, &bucket);
    add_numbered(world, 10, 20);
    assert_int_equal(end_output(world->output), 0);
    char path[256];
    assert_int_equal(files_of(world, "*", path), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(history_keeps_the_newest_events),
        TEST(a_recording_begins_before_the_alarm),
        TEST(each_alarm_has_a_file_of_its_own),
        TEST(it_lasts_as_long_as_one_of_the_alarms),
        TEST(an_alarm_that_fires_again_at_once_loses_nothing),
        TEST(what_the_memory_gave_up_is_counted_and_marked),
        TEST(a_past_that_is_too_short_is_reported),
        TEST(a_recording_ends_at_its_limit),
        TEST(a_folder_that_is_gone_is_an_error_and_a_loss),
        TEST(all_events_are_written),
        TEST(or_only_those_concerned),
        TEST(what_was_left_out_last_is_told),
        TEST(events_that_filters_turn_away_are_written_if_asked_for),
        TEST(after_a_reload_it_goes_on_in_a_new_file),
        TEST(a_silenced_alarm_is_not_recorded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
