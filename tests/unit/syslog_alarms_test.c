/* SPDX-License-Identifier: BSD-3-Clause */
/* An output of type "syslog" that sends changes of alarms, from its options to the socket of a log.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/finish_output.h"
#include "tests/unit/writers_buckets.h"
#include "vampire/alarms/change.h"
#include "writers/output/output.h"

#define SECOND VAMP_NS_PER_SECOND
#define WAITING_MAX 8

struct world {
    char folder[64], path[80];
    int log;
    struct made_run *run;
    void *options;
    struct vamp_output_settings settings;
    struct vamp_output *output;
    uint64_t number; /* of the next bucket */
};

static void open_log(struct world *world)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", world->path);
    world->log = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_return_code(world->log, errno);
    assert_int_equal(bind(world->log, (const struct sockaddr *)&address, sizeof address), 0);
}

static int set_up(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    assert_non_null(world);
    (void)snprintf(world->folder, sizeof world->folder, "/tmp/vampire-alarms-XXXXXX");
    assert_non_null(mkdtemp(world->folder));
    (void)snprintf(world->path, sizeof world->path, "%s/log", world->folder);
    open_log(world);
    world->run = made_run_create(VAMP_SET_BASIC, 4, 0, 0);
    world->settings =
        (struct vamp_output_settings){.name = (char *)(uintptr_t) "pager", .queue = WAITING_MAX};
    const struct vamp_opt *table = vamp_writer_syslog.options;
    world->options = calloc(1, vamp_writer_syslog.options_bytes);
    assert_non_null(world->options);
    assert_int_equal(vamp_opt_presets(table, world->options, NULL), 0);
    *state = world;
    return 0;
}

static void set(struct world *world, const char *key, const char *value)
{
    const struct vamp_opt *opt = vamp_opt_find(vamp_writer_syslog.options, key);
    assert_non_null(opt);
    assert_int_equal(vamp_opt_set(opt, world->options, value, NULL), 0);
}

static void open_output(struct world *world)
{
    set(world, "socket", world->path);
    set(world, "send", "alarms");
    const struct vamp_output_context context = {
        .run = &world->run->run,
        .schema = &world->run->schema,
        .clock = &vamp_clock_system,
    };
    struct vamp_err err = VAMP_ERR_NONE;
    if (vamp_output_create(&vamp_writer_syslog, world->options, &world->settings, &context,
                           &world->output, &err) != 0) {
        fail_msg("%s", err.text);
    }
    struct vamp_output_state output;
    vamp_output_state(world->output, &output);
    assert_string_equal(output.unit, "change");
}

static int finish(struct world *world)
{
    struct vamp_err err = VAMP_ERR_NONE;
    const struct vamp_ending ending = {.reason = "finished", .completed = true};
    return finish_output(world->output, &ending, 5 * SECOND, &err);
}

static int tear_down(void **state)
{
    struct world *world = *state;
    char command[128];
    vamp_output_free(world->output);
    vamp_opt_done(vamp_writer_syslog.options, world->options);
    free(world->options);
    made_run_free(world->run);
    (void)close(world->log);
    (void)snprintf(command, sizeof command, "rm -rf %s", world->folder);
    assert_int_equal(system(command), 0);
    free(world);
    return 0;
}

static struct vamp_alarm_change change_to(enum vamp_alarm_state state)
{
    struct vamp_alarm_change change = {
        .alarm = "stuck",
        .severity = VAMP_ALARM_CRITICAL,
        .state = (uint8_t)state,
        .time_ns = 60 * SECOND,
        .metric = "demand_oldest_ns",
        .unit = "ns",
        .has_value = true,
        .value = 34e9,
        .threshold = "> 30s",
        .label_count = 1,
        .cdo = "$(touch \"x\")\n",
    };
    change.labels[0].name = "component";
    (void)snprintf(change.labels[0].value, sizeof change.labels[0].value, "Products");
    return change;
}

/* A bucket with these changes passes by. */
static void submit(struct world *world, const struct vamp_alarm_change *changes, unsigned count)
{
    const struct vamp_bucket *bucket = made_bucket(world->run, world->number++, NULL);
    struct vamp_alarm_change *own = malloc((count + 1) * sizeof *own);
    assert_non_null(own);
    for (unsigned i = 0; i < count; i++) {
        own[i] = changes[i];
    }
    vamp_bucket_set_alarms(bucket, own, count);
    struct made_bucket *made = (struct made_bucket *)(uintptr_t)bucket;
    made->blocks[made->block_count++] = own;
    vamp_output_bucket(world->output, bucket);
    vamp_bucket_release(bucket);
}

static void enter(struct world *world, enum vamp_alarm_state state)
{
    const struct vamp_alarm_change change = change_to(state);
    submit(world, &change, 1);
}

/* The next message after its header, whose priority is checked; "": there is none. */
static const char *next_message(struct world *world, unsigned priority)
{
    static char text[9000];
    const ssize_t bytes = recv(world->log, text, sizeof text - 1, MSG_DONTWAIT);
    text[bytes > 0 ? bytes : 0] = '\0';
    if (bytes <= 0) {
        return text;
    }
    char begin[16], end[32];
    (void)snprintf(begin, sizeof begin, "<%u>", priority);
    (void)snprintf(end, sizeof end, " vampire[%u]: ", 4711U);
    assert_memory_equal(text, begin, strlen(begin));
    const char *after = strstr(text, end);
    assert_non_null(after);
    return after + strlen(end);
}

static void expect_account(const struct world *world, uint64_t written, uint64_t lost)
{
    struct vamp_output_account account;
    vamp_output_account(world->output, &account);
    assert_int_equal(account.queued, account.written + account.lost + account.waiting);
    assert_int_equal(account.written, written);
    assert_int_equal(account.lost, lost);
}

static void a_change_is_one_message_with_facility_severity_and_json(void **state)
{
    struct world *world = *state;
    set(world, "facility", "local3");
    open_output(world);
    enter(world, VAMP_ALARM_PENDING);
    submit(world, NULL, 0);
    enter(world, VAMP_ALARM_FIRING);
    enter(world, VAMP_ALARM_RESOLVED);
    assert_int_equal(finish(world), 0);
    const char *text = next_message(world, LOG_LOCAL3 | LOG_CRIT);
    assert_memory_equal(text, "@cee: {\"v\":1,\"type\":\"alarm\",", 28);
    assert_int_equal(text[strlen(text) - 1], '}');
    assert_null(strchr(text, '\n'));
    assert_non_null(strstr(text, "\"host\":\"node1\",\"pid\":4711,"));
    assert_non_null(strstr(next_message(world, LOG_LOCAL3 | LOG_NOTICE), "\"state\":\"resolved\""));
    assert_string_equal(next_message(world, 0), ""); /* no buckets, no end */
    expect_account(world, 2, 0);
}

static void other_states_can_be_chosen(void **state)
{
    struct world *world = *state;
    vamp_opt_clear(vamp_opt_find(vamp_writer_syslog.options, "states"), world->options);
    set(world, "states", "pending");
    set(world, "states", "cleared");
    open_output(world);
    const struct vamp_alarm_change changes[] = {
        change_to(VAMP_ALARM_PENDING), change_to(VAMP_ALARM_FIRING), change_to(VAMP_ALARM_RESOLVED),
        change_to(VAMP_ALARM_CLEARED)};
    submit(world, changes, 4);
    assert_int_equal(finish(world), 0);
    assert_non_null(strstr(next_message(world, LOG_USER | LOG_INFO), "\"state\":\"pending\""));
    assert_non_null(strstr(next_message(world, LOG_USER | LOG_NOTICE), "\"state\":\"cleared\""));
    expect_account(world, 2, 0);
}

static void nothing_is_sent_of_a_silenced_alarm_nor_in_a_replay(void **state)
{
    struct world *world = *state;
    open_output(world);
    struct vamp_alarm_change change = change_to(VAMP_ALARM_FIRING);
    change.silenced = true;
    submit(world, &change, 1);
    world->run->run.replayed = true;
    enter(world, VAMP_ALARM_FIRING);
    assert_int_equal(finish(world), 0);
    assert_string_equal(next_message(world, 0), "");
    expect_account(world, 0, 0);
}

static void the_alarms_can_be_chosen(void **state)
{
    struct world *world = *state;
    set(world, "when", "busy");
    set(world, "when", "stuck");
    open_output(world);
    struct vamp_alarm_change changes[] = {change_to(VAMP_ALARM_FIRING),
                                          change_to(VAMP_ALARM_FIRING)};
    (void)snprintf(changes[0].alarm, sizeof changes[0].alarm, "stuck again");
    submit(world, changes, 2);
    assert_int_equal(finish(world), 0);
    assert_non_null(strstr(next_message(world, LOG_USER | LOG_CRIT), "\"alarm\":\"stuck\","));
    assert_string_equal(next_message(world, 0), "");
    expect_account(world, 1, 0);
}

/* Control characters grow six times: what would be more than 8 KiB is one short line instead. */
static void a_change_that_is_too_long_is_a_line(void **state)
{
    struct world *world = *state;
    open_output(world);
    struct vamp_alarm_change change = change_to(VAMP_ALARM_RESOLVED);
    change.label_count = VAMP_LABELS_MAX;
    for (unsigned i = 0; i < change.label_count; i++) {
        change.labels[i].name = "component";
        memset(change.labels[i].value, 1, sizeof change.labels[i].value - 1);
    }
    submit(world, &change, 1);
    assert_int_equal(finish(world), 0);
    const char *text = next_message(world, LOG_USER | LOG_NOTICE);
    assert_memory_equal(text, "alarm \"stuck\"", 13);
    assert_true(strlen(text) < VAMP_ALARM_LINE_BYTES);
}

static void messages_wait_for_the_reader_of_the_log(void **state)
{
    struct world *world = *state;
    struct vamp_err failure = VAMP_ERR_NONE;
    open_output(world);
    (void)close(world->log);
    assert_int_equal(unlink(world->path), 0);
    enter(world, VAMP_ALARM_FIRING);
    enter(world, VAMP_ALARM_RESOLVED);
    while (!vamp_output_failure(world->output, &failure)) {
        (void)usleep(1000);
    }
    assert_non_null(strstr(failure.text, "No such file or directory"));
    expect_account(world, 0, 0);
    open_log(world);
    assert_int_equal(finish(world), 0);
    assert_string_not_equal(next_message(world, LOG_USER | LOG_CRIT), "");
    assert_string_not_equal(next_message(world, LOG_USER | LOG_NOTICE), "");
    expect_account(world, 2, 0);
}

static void changes_beyond_the_bound_are_lost_and_counted(void **state)
{
    struct world *world = *state;
    open_output(world);
    (void)close(world->log);
    assert_int_equal(unlink(world->path), 0);
    for (unsigned i = 0; i < 3 * WAITING_MAX; i++) {
        enter(world, VAMP_ALARM_FIRING);
    }
    struct vamp_output_account account;
    vamp_output_account(world->output, &account);
    assert_in_range(account.waiting, WAITING_MAX, WAITING_MAX + 1); /* one is being sent */
    assert_int_equal(account.lost, account.queued - account.waiting);
    open_log(world);
    assert_int_not_equal(finish(world), 0);
    unsigned received = 0;
    while (next_message(world, LOG_USER | LOG_CRIT)[0] != '\0') {
        received++;
    }
    assert_int_equal(received, account.waiting);
    expect_account(world, received, 3 * WAITING_MAX - received);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_change_is_one_message_with_facility_severity_and_json),
        TEST(other_states_can_be_chosen),
        TEST(nothing_is_sent_of_a_silenced_alarm_nor_in_a_replay),
        TEST(the_alarms_can_be_chosen),
        TEST(a_change_that_is_too_long_is_a_line),
        TEST(messages_wait_for_the_reader_of_the_log),
        TEST(changes_beyond_the_bound_are_lost_and_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
