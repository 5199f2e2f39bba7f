/* SPDX-License-Identifier: BSD-3-Clause */
/* What vampire-top shows of alarms, and of demands that wait. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "programs/vampire-top/page.h"

static struct top_model *model;
static struct top_snapshot snapshot;
static struct page_line lines[PAGE_ATTENTION_LINES];

static int start(void **state)
{
    (void)state;
    model = top_model_create();
    return model != NULL ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    top_snapshot_done(&snapshot);
    top_model_free(model);
    return 0;
}

static void feed(const char *line)
{
    assert_true(top_model_feed(model, line, strlen(line)) != TOP_FED_BAD);
}

static void feed_alarm(const char *rule, unsigned instance, const char *severity,
                       const char *alarm_state, bool silenced)
{
    char line[1024];
    (void)snprintf(line, sizeof line,
                   "{\"type\":\"alarm\",\"alarm\":\"%s\",\"instance\":%u,"
                   "\"severity\":\"%s\",\"state\":\"%s\",\"silenced\":%s,\"unit\":\"ns\","
                   "\"since\":\"2026-11-21T04:00:07.000000000Z\",\"component\":\"Products 1\","
                   "\"cdo\":\"fields/7\",\"value\":34000000000}",
                   rule, instance, severity, alarm_state, silenced ? "true" : "false");
    feed(line);
}

static void feed_pending(const char *cdo, const char *producer, bool offered, bool uncertain)
{
    char line[1024];
    (void)snprintf(line, sizeof line,
                   "{\"type\":\"pending\",\"demands\":40,\"component\":\"Products 1\","
                   "\"age_ns\":2000000000,\"id\":\"00ff\",\"name\":\"%s\",\"producer\":\"%s\","
                   "\"offered\":%s,\"uncertain\":%s}",
                   cdo, producer, offered ? "true" : "false", uncertain ? "true" : "false");
    feed(line);
}

static void feed_buckets(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        feed("{\"type\":\"bucket\",\"time\":\"2026-11-21T04:00:01.000000000Z\","
             "\"bucket\":1,\"width_ns\":1000000000,\"values\":0,\"accounting\":{}}");
    }
}

/* How many lines the newest bucket has. */
static unsigned show(unsigned room, unsigned columns)
{
    struct vamp_err err = VAMP_ERR_NONE;
    assert_int_equal(top_snapshot_take(&snapshot, model, TOP_MODE_RATES, TOP_RANKS, &err), 0);
    return page_attention(lines, room, &snapshot, columns);
}

static void has(unsigned line, const char *text)
{
    if (strstr(lines[line].text, text) == NULL) {
        fail_msg("\"%s\" is not in \"%s\"", text, lines[line].text);
    }
}

static void without_alarms_and_waits_there_is_no_line(void **state)
{
    (void)state;
    feed_buckets(1);
    assert_int_equal(show(10, 80), 0);
}

static void what_fires_is_first_and_what_ended_is_forgotten(void **state)
{
    (void)state;
    feed_alarm("over", 1, "critical", "firing", false);
    feed_alarm("over", 1, "critical", "resolved", false);
    feed_alarm("soon", 1, "critical", "pending", false);
    feed_alarm("quiet", 1, "critical", "firing", true);
    feed_alarm("some", 1, "warning", "firing", false);
    feed_alarm("stuck", 2, "critical", "firing", false);
    feed_alarm("gone", 1, "critical", "pending", false);
    feed_alarm("gone", 1, "critical", "cleared", false);
    feed_buckets(1);
    assert_int_equal(show(10, 80), 6);
    has(1, "stuck");
    has(1, "FIRING");
    has(1, "34.0 s");
    has(1, "04:00:07");
    has(1, "Products 1: fields/7");
    assert_int_equal(lines[1].mark, PAGE_LOSS);
    has(2, "some");
    assert_int_equal(lines[2].mark, PAGE_WARNING);
    has(3, "silenced");
    assert_int_equal(lines[3].mark, PAGE_DIM);
    has(4, "pending");
    has(5, "resolved");
    feed_buckets(61);
    assert_int_equal(show(10, 80), 5);
    assert_int_equal(show(3, 80), 3);
    has(0, "ALARM (2 of 4)");
}

static void alarms_that_began_before_the_stream_are_counted(void **state)
{
    (void)state;
    feed("{\"type\":\"values\",\"values\":{\"vampire_alarms_firing\":[{\"value\":2}]}}");
    feed_alarm("stuck", 2, "critical", "firing", false);
    feed_buckets(2);
    assert_int_equal(show(10, 100), 2);
    has(0, "1 more fire");
}

/* The metric is that of the bucket before. */
static void an_alarm_that_ends_is_not_taken_for_another(void **state)
{
    (void)state;
    feed_alarm("stuck", 2, "critical", "firing", false);
    feed_buckets(1);
    feed("{\"type\":\"values\",\"values\":{\"vampire_alarms_firing\":[{\"value\":1}]}}");
    feed_buckets(1);
    feed_alarm("stuck", 2, "critical", "resolved", false);
    feed_buckets(1);
    assert_int_equal(show(10, 100), 2);
    assert_null(strstr(lines[0].text, "more"));
}

static void more_alarms_than_room_do_no_harm(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 3 * TOP_ALARMS_MAX; i++) {
        feed_alarm("many", i, "warning", i % 3 == 0 ? "resolved" : "firing", false);
    }
    feed_buckets(1);
    assert_int_equal(show(10, 80), 10);
    assert_int_equal(snapshot.attention.alarm_count, TOP_ALARMS_MAX);
}

static void demands_are_those_of_the_newest_bucket(void **state)
{
    (void)state;
    feed_pending("fields/7", "IFS -- 0", false, true);
    feed_pending("fields/8", "IFS -- 0", true, false);
    feed_pending("", "", false, false);
    assert_int_equal(show(10, 100), 0); /* the bucket is not complete */
    feed_buckets(1);
    assert_int_equal(show(10, 100), 4);
    has(0, "WAITS (3 of 40)");
    has(1, "fields/7");
    has(1, "2.00 s?");
    has(1, "declared by IFS -- 0");
    assert_int_equal(lines[1].mark, PAGE_WARNING);
    has(2, "offered by IFS -- 0");
    assert_int_equal(lines[2].mark, PAGE_PLAIN);
    has(3, "00ff");
    has(3, "not offered");
    feed_buckets(1);
    assert_int_equal(show(10, 100), 0);
}

static void alarms_leave_room_for_demands(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 30; i++) {
        feed_alarm("many", i, "warning", "firing", false);
        feed_pending("fields/7", "IFS -- 0", false, false);
    }
    feed_buckets(1);
    assert_int_equal(show(8, 80), 8);
    has(0, "ALARM (3 of 30)");
    has(4, "WAITS (3 of 40)");
    assert_int_equal(show(0, 80), 0);
    assert_int_equal(show(1, 80), 0);
}

static void a_long_name_keeps_its_end(void **state)
{
    (void)state;
    feed_pending("expver=0001,step=6,levelist=500,param=130,number=00017/member-A", "IFS", false,
                 false);
    feed_buckets(1);
    assert_int_equal(show(8, 60), 2);
    has(1, "member-A");
    has(1, "exp");
}

static void text_of_the_stream_is_made_clean(void **state)
{
    (void)state;
    feed_pending("\\u001b[31mred", "\\u0007", false, false);
    feed_alarm("\\u001b[2J", 1, "critical", "firing", false);
    feed_buckets(1);
    const unsigned count = show(8, 80);
    for (unsigned i = 0; i < count; i++) {
        assert_null(strpbrk(lines[i].text, "\033\007"));
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, end)
    const struct CMUnitTest tests[] = {
        TEST(without_alarms_and_waits_there_is_no_line),
        TEST(what_fires_is_first_and_what_ended_is_forgotten),
        TEST(alarms_that_began_before_the_stream_are_counted),
        TEST(an_alarm_that_ends_is_not_taken_for_another),
        TEST(more_alarms_than_room_do_no_harm),
        TEST(demands_are_those_of_the_newest_bucket),
        TEST(alarms_leave_room_for_demands),
        TEST(a_long_name_keeps_its_end),
        TEST(text_of_the_stream_is_made_clean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
