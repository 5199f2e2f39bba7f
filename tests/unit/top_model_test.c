/* SPDX-License-Identifier: BSD-3-Clause */
/* What vampire-top understands of a stream, of good ones and of bad ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "programs/vampire-top/model.h"
#include "tests/lib/fault.h"

static enum top_fed feed(struct top_model *model, const char *line)
{
    return top_model_feed(model, line, strlen(line));
}

static struct top_model *model_of(void)
{
    struct top_model *model = top_model_create();
    assert_non_null(model);
    assert_int_equal(feed(model,
                          "{\"v\":2,\"type\":\"header\",\"run\":\"r\",\"segment\":1,"
                          "\"workflow\":\"weather\",\"host\":\"h\",\"level\":\"component\"}"),
                     TOP_FED_LINE);
    return model;
}

static void feed_operations(struct top_model *model, const char *component, const char *delta)
{
    char line[512];
    (void)snprintf(line, sizeof line,
                   "{\"type\":\"values\",\"values\":{\"pool_operations\":[{\"component\":\"%s\","
                   "\"operation\":\"offer\",\"delta\":%s}]}}",
                   component, delta);
    assert_int_equal(feed(model, line), TOP_FED_LINE);
}

/* A member of the run: its number, its name, and how it left (NULL: it is there). */
static void feed_component(struct top_model *model, unsigned index, const char *name,
                           const char *reason)
{
    char line[512];
    (void)snprintf(line, sizeof line,
                   "{\"type\":\"component\",\"index\":%u,\"app_id\":%u,\"name\":"
                   "\"%s\",\"left\":%s%s%s%s}",
                   index, index, name, reason != NULL ? "\"2026-11-21T04:00:00Z\"" : "null",
                   reason != NULL ? ",\"reason\":\"" : "", reason != NULL ? reason : "",
                   reason != NULL ? "\"" : "");
    assert_int_equal(feed(model, line), TOP_FED_LINE);
}

static void feed_bucket(struct top_model *model, unsigned lost)
{
    char line[512];
    (void)snprintf(line, sizeof line,
                   "{\"type\":\"bucket\",\"time\":\"2026-11-21T04:00:01.000000000Z\","
                   "\"bucket\":1,\"width_ns\":500000000,\"values\":1,\"accounting\":{\"lost\":"
                   "{\"ring\":%u},\"rejected\":0,\"outputs\":[{\"name\":\"live\",\"lost\":0}]}}",
                   lost);
    assert_int_equal(feed(model, line), TOP_FED_BUCKET);
}

static struct top_snapshot snapshot_of(const struct top_model *model, enum top_mode mode)
{
    struct top_snapshot snapshot = {.any = false};
    struct vamp_err err = VAMP_ERR_NONE;
    assert_int_equal(top_snapshot_take(&snapshot, model, mode, TOP_RANKS, &err), 0);
    return snapshot;
}

static const struct top_row *row_of(const struct top_snapshot *snapshot, const char *name)
{
    const struct top_table *components = &snapshot->tables[TOP_COMPONENTS];
    for (size_t i = 0; i < components->count; i++) {
        if (strcmp(components->rows[i].name, name) == 0) {
            return &components->rows[i];
        }
    }
    fail_msg("no row %s", name);
    return NULL;
}

static void rates_are_of_the_newest_bucket_sums_of_all(void **state)
{
    (void)state;
    struct top_model *model = model_of();
    feed_operations(model, "a", "10");
    feed_bucket(model, 0);
    feed_operations(model, "a", "3");
    feed_operations(model, "b", "4");
    feed_bucket(model, 0);
    struct top_snapshot now = snapshot_of(model, TOP_MODE_RATES);
    assert_float_equal(now.sums[TOP_OPERATIONS], 14, 0);
    assert_float_equal(row_of(&now, "a")->sums[TOP_OPERATIONS], 6, 0);
    struct top_snapshot all = snapshot_of(model, TOP_MODE_SUMS);
    assert_float_equal(all.sums[TOP_OPERATIONS], 17, 0);
    assert_float_equal(row_of(&all, "a")->sums[TOP_OPERATIONS], 13, 0);
    assert_string_equal(all.workflow, "weather");
    top_snapshot_done(&now);
    top_snapshot_done(&all);
    top_model_free(model);
}

static void feed_wait(struct top_model *model, const char *component, const char *part, unsigned ms)
{
    char line[512];
    (void)snprintf(
        line, sizeof line,
        "{\"type\":\"values\",\"values\":{\"demand_wait_part_ns\":[{\"component\":\"%s\","
        "\"producer\":\"IFS -- 0\",\"part\":\"%s\",\"count\":1,\"sum\":%u000000,"
        "\"bins\":[[1,1]]}]}}",
        component, part, ms);
    assert_int_equal(feed(model, line), TOP_FED_LINE);
}

/* A bucket has half a second. */
static void a_window_has_the_buckets_that_are_in_it(void **state)
{
    (void)state;
    struct top_model *model = model_of();
    for (unsigned i = 1; i <= 10; i++) {
        char operations[16];
        (void)snprintf(operations, sizeof operations, "%u", i);
        feed_operations(model, "a", operations);
        feed_wait(model, "a", "for_offer", i);
        feed_bucket(model, 0);
    }
    static const struct {
        double window_ns, covered_ns, rate;
    } cases[] = {{0, 0.5e9, 20}, {1e9, 1e9, 19}, {1.2e9, 1.5e9, 18}, {60e9, 5e9, 11}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        top_model_window(model, cases[i].window_ns);
        struct top_snapshot snapshot = snapshot_of(model, TOP_MODE_RATES);
        const struct top_row *blame = &snapshot.tables[TOP_BLAME].rows[0];
        assert_true(snapshot.window_ns == cases[i].covered_ns);
        assert_true(snapshot.sums[TOP_OPERATIONS] == cases[i].rate);
        assert_true(row_of(&snapshot, "a")->sums[TOP_OPERATIONS] == cases[i].rate);
        assert_true(blame->sums[TOP_FOR_OFFER] == cases[i].rate * 1e6);
        top_snapshot_done(&snapshot);
    }
    top_model_free(model);
}

/* Whatever rows of ranks there is room for, models have all. */
static void models_have_the_sums_of_their_ranks(void **state)
{
    (void)state;
    struct top_model *model = model_of();
    assert_int_equal(top_level_usual(model), TOP_RANKS);
    for (unsigned i = 0; i < TOP_ROWS_MAX + 50; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, i % 2 == 0 ? "IFS -- %u" : "Products %u", i);
        feed_operations(model, name, "1");
        feed_wait(model, name, "moving", 2);
    }
    feed_component(model, 7, "IFS -- 6", "vanished");
    feed_bucket(model, 0);
    assert_int_equal(top_level_usual(model), TOP_MODELS);
    struct top_snapshot snapshot = {.any = false};
    struct vamp_err err = VAMP_ERR_NONE;
    assert_int_equal(top_snapshot_take(&snapshot, model, TOP_MODE_SUMS, TOP_MODELS, &err), 0);
    assert_int_equal(snapshot.tables[TOP_COMPONENTS].count, 2);
    const double each = TOP_ROWS_MAX / 2.0 + 25;
    assert_float_equal(row_of(&snapshot, "IFS")->sums[TOP_OPERATIONS], each, 0);
    assert_float_equal(row_of(&snapshot, "Products")->sums[TOP_OPERATIONS], each, 0);
    assert_true(row_of(&snapshot, "IFS")->vanished);
    assert_int_equal(snapshot.vanished_count, 1);
    assert_string_equal(snapshot.vanished[0], "IFS -- 6");
    assert_int_equal(snapshot.tables[TOP_BLAME].count, 2);
    assert_string_equal(snapshot.tables[TOP_BLAME].rows[0].name, "IFS");
    assert_true(snapshot.tables[TOP_BLAME].rows[0].sums[TOP_WAITED] == each * 2e6);
    assert_true(snapshot.tables[TOP_BLAME].rows[0].sums[TOP_MOVING] == each * 2e6);
    top_snapshot_done(&snapshot);
    top_model_free(model);
}

static void a_component_without_operations_is_idle(void **state)
{
    (void)state;
    struct top_model *model = model_of();
    feed_operations(model, "a", "10");
    feed_bucket(model, 0);
    feed_bucket(model, 0);
    feed_bucket(model, 0);
    struct top_snapshot snapshot = snapshot_of(model, TOP_MODE_RATES);
    assert_float_equal(row_of(&snapshot, "a")->idle_ns, 1e9, 0);
    top_snapshot_done(&snapshot);
    feed_operations(model, "a", "1");
    feed_bucket(model, 0);
    snapshot = snapshot_of(model, TOP_MODE_RATES);
    assert_float_equal(row_of(&snapshot, "a")->idle_ns, 0, 0);
    top_snapshot_done(&snapshot);
    top_model_free(model);
}

/* pool_operations without the label of components, whose lines have totals. */
static void lines_of_components_are_ahead_of_the_buckets(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "{\"type\":\"header\",\"run\":\"r\",\"segment\":1,\"bucket_ns\":1000000000,"
        "\"metrics\":[{\"name\":\"pool_operations\",\"labels\":[\"operation\"]}]}",
        "{\"type\":\"component\",\"index\":1,\"name\":\"a\"}",
        "{\"type\":\"operations\",\"operations\":[[1,30]]}",
        "{\"type\":\"values\",\"values\":{\"pool_operations\":[{\"operation\":\"offer\",\"delta\":"
        "20}]}}",
        "{\"type\":\"bucket\",\"time\":\"t\",\"bucket\":0,\"values\":1}",
        /* The second bucket, whose operations were in the line before the first. */
        "{\"type\":\"values\",\"values\":{\"pool_operations\":[{\"operation\":\"offer\",\"delta\":"
        "10}]}}",
        "{\"type\":\"bucket\",\"time\":\"t\",\"bucket\":1,\"values\":1}",
        /* A third one, in which nothing happens. */
        "{\"type\":\"bucket\",\"time\":\"t\",\"bucket\":2,\"values\":0}",
    };
    static const double rates[] = {0, 0, 0, 0, 30, 30, 30, 0};
    struct top_model *model = top_model_create();
    assert_non_null(model);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        assert_int_not_equal(feed(model, lines[i]), TOP_FED_BAD);
        struct top_snapshot snapshot = snapshot_of(model, TOP_MODE_RATES);
        if (i >= 1) {
            assert_float_equal(row_of(&snapshot, "a")->sums[TOP_OPERATIONS], rates[i], 0);
        }
        top_snapshot_done(&snapshot);
    }
    struct top_snapshot all = snapshot_of(model, TOP_MODE_SUMS);
    assert_float_equal(row_of(&all, "a")->sums[TOP_OPERATIONS], 30, 0);
    top_snapshot_done(&all);
    top_model_free(model);
}

#define RANKS_HEADER                                                                               \
    "{\"type\":\"header\",\"run\":\"r\",\"segment\":1,\"bucket_ns\":1000000000,\"sub_bits\":2,"    \
    "\"metrics\":[{\"name\":\"produced_bytes\",\"labels\":[\"model\"]},"                           \
    "{\"name\":\"demand_wait_ns\",\"labels\":[\"model\"]}],"                                       \
    "\"ranks\":[\"of_another_version\",\"produced_bytes\",\"demand_wait_ns\"]}"

/* Lines of ranks are of several buckets, which the rates of ranks are of. Bin 12 of four in a
 * doubling begins at 16. */
static void ranks_have_lines_of_their_own(void **state)
{
    (void)state;
    static const char *const lines[] = {
        RANKS_HEADER,
        "{\"type\":\"component\",\"index\":1,\"name\":\"a 0\"}",
        "{\"type\":\"values\",\"values\":{\"produced_bytes\":[{\"model\":\"a\",\"delta\":6}]}}",
        "{\"type\":\"bucket\",\"time\":\"t1\",\"bucket\":0,\"values\":1}",
        "{\"type\":\"ranks\",\"time\":\"t1\",\"width_ns\":2000000000,\"buckets\":2,\"ranks\":"
        "[[\"a 0\",7,4,[17,17,12,1]]]}",
        "{\"type\":\"ranks\",\"time\":\"t1\",\"width_ns\":2000000000,\"buckets\":2,\"ranks\":"
        "[[\"(other)\",0,2],[\"a 1\"],5,[6,7]]}",
        "{\"type\":\"bucket\",\"time\":\"t2\",\"bucket\":1,\"values\":0}",
        "{\"type\":\"bucket\",\"time\":\"t3\",\"bucket\":2,\"values\":0}",
        "{\"type\":\"ranks\",\"time\":\"t3\",\"width_ns\":1000000000,\"buckets\":1,\"ranks\":"
        "[[\"a 0\",0,3]]}",
    };
    static const double rates[] = {0, 0, 0, 0, 0, 0, 2, 2, 2};
    struct top_model *model = top_model_create();
    assert_non_null(model);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        assert_int_not_equal(feed(model, lines[i]), TOP_FED_BAD);
        struct top_snapshot snapshot = snapshot_of(model, TOP_MODE_RATES);
        const struct top_row *row = i >= 4 ? row_of(&snapshot, "a 0") : NULL;
        assert_true(row == NULL || row->sums[TOP_PRODUCED] == rates[i]);
        assert_true(row == NULL || i < 6 || (row->timed == 1 && row->times[TOP_MAX] == 17));
        top_snapshot_done(&snapshot);
    }
    assert_int_equal(feed(model, "{\"type\":\"end\",\"reason\":\"finished\"}"), TOP_FED_END);
    static const double windows[] = {1e9, 3e9}, of[] = {3, 7.0 / 3};
    for (size_t i = 0; i < 2; i++) {
        top_model_window(model, windows[i]);
        struct top_snapshot snapshot = snapshot_of(model, TOP_MODE_RATES);
        assert_true(snapshot.ranks_ns == windows[i]);
        assert_float_equal(row_of(&snapshot, "a 0")->sums[TOP_PRODUCED], of[i], 1e-9);
        top_snapshot_done(&snapshot);
    }
    struct top_snapshot all = snapshot_of(model, TOP_MODE_SUMS);
    assert_float_equal(row_of(&all, "a 0")->sums[TOP_PRODUCED], 7, 0);
    assert_float_equal(row_of(&all, "(other)")->sums[TOP_PRODUCED], 2, 0);
    top_snapshot_done(&all);
    top_model_free(model);
}

/* What began before the first bucket seen is none of what was seen. */
static void ranks_of_a_stream_that_begins_in_the_middle(void **state)
{
    (void)state;
    static const char *const lines[] = {
        RANKS_HEADER,
        "{\"type\":\"component\",\"index\":1,\"name\":\"a 0\"}",
        "{\"type\":\"ranks\",\"time\":\"t2\",\"width_ns\":2000000000,\"buckets\":2,\"ranks\":"
        "[[\"a 0\",0,4]]}",
        "{\"type\":\"bucket\",\"time\":\"t4\",\"bucket\":4,\"values\":0}",
        "{\"type\":\"ranks\",\"time\":\"t3\",\"width_ns\":2000000000,\"buckets\":2,\"ranks\":"
        "[[\"a 0\",0,4]]}",
        "{\"type\":\"bucket\",\"time\":\"t5\",\"bucket\":5,\"values\":0}",
    };
    struct top_model *model = top_model_create();
    assert_non_null(model);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        assert_int_not_equal(feed(model, lines[i]), TOP_FED_BAD);
    }
    struct top_snapshot all = snapshot_of(model, TOP_MODE_SUMS);
    assert_true(all.ranks_ns == 0 && row_of(&all, "a 0")->sums[TOP_PRODUCED] == 0);
    top_snapshot_done(&all);
    top_model_free(model);
}

#define OPERATIONS_HEADER(ranks)                                                                   \
    "{\"type\":\"header\",\"run\":\"r\",\"segment\":1,\"bucket_ns\":1000000000,\"sub_bits\":2,"    \
    "\"metrics\":[{\"name\":\"pool_operations\",\"labels\":[\"model\",\"operation\"]},"            \
    "{\"name\":\"produced_bytes\",\"labels\":[\"model\"]}],\"ranks\":[" ranks "]}"

/* They are counted for the same time as its bytes, and not ahead of it, unless the stream has them
 * only in lines of their own. */
static void operations_of_a_rank_are_those_of_its_lines(void **state)
{
    (void)state;
    static const char *const lines[][10] = {
        {OPERATIONS_HEADER("\"pool_operations\",\"produced_bytes\""),
         "{\"type\":\"component\",\"index\":1,\"name\":\"a 0\"}",
         "{\"type\":\"component\",\"index\":2,\"name\":\"a 1\"}",
         "{\"type\":\"operations\",\"operations\":[[1,30],[2,5]]}",
         "{\"type\":\"bucket\",\"time\":\"t1\",\"bucket\":0,\"values\":0}",
         "{\"type\":\"bucket\",\"time\":\"t2\",\"bucket\":1,\"values\":0}",
         "{\"type\":\"ranks\",\"time\":\"t1\",\"width_ns\":2000000000,\"buckets\":2,\"ranks\":"
         "[[\"a 0\",24,7]]}",
         "{\"type\":\"operations\",\"operations\":[[2,6]]}",
         "{\"type\":\"bucket\",\"time\":\"t3\",\"bucket\":2,\"values\":0}"},
        {OPERATIONS_HEADER("\"produced_bytes\""),
         [6] =
             "{\"type\":\"ranks\",\"time\":\"t1\",\"width_ns\":2000000000,\"buckets\":2,\"ranks\":"
             "[[\"a 0\",7]]}"},
    };
    static const double of_a_0[][2] = {{12, 24}, {0, 30}}, of_a_1[][2] = {{0, 0}, {1, 6}};
    for (size_t i = 0; i < 2; i++) {
        struct top_model *model = top_model_create();
        assert_non_null(model);
        for (size_t k = 0; k < 9; k++) {
            const char *line = lines[i][k] != NULL ? lines[i][k] : lines[0][k];
            assert_int_not_equal(feed(model, line), TOP_FED_BAD);
            struct top_snapshot begin = snapshot_of(model, TOP_MODE_RATES);
            assert_true(k != 4 || row_of(&begin, "a 0")->sums[TOP_OPERATIONS] == 30);
            top_snapshot_done(&begin);
        }
        for (enum top_mode mode = TOP_MODE_RATES; mode <= TOP_MODE_SUMS; mode++) {
            struct top_snapshot snapshot = snapshot_of(model, mode);
            assert_true(row_of(&snapshot, "a 0")->sums[TOP_OPERATIONS] == of_a_0[i][mode]);
            assert_true(row_of(&snapshot, "a 1")->sums[TOP_OPERATIONS] == of_a_1[i][mode]);
            assert_true(row_of(&snapshot, "a 0")->sums[TOP_PRODUCED] == (mode == 0 ? 3.5 : 7));
            assert_true(row_of(&snapshot, "a 0")->idle_ns == 2e9); /* in whole buckets */
            top_snapshot_done(&snapshot);
        }
        top_model_free(model);
    }
}

static void components_of_one_name_are_counted(void **state)
{
    (void)state;
    struct top_model *model = model_of();
    feed_component(model, 1, "IFS", NULL);
    feed_component(model, 2, "IFS", NULL);
    feed_component(model, 2, "IFS", NULL); /* sent again, since it changed */
    feed_component(model, 3, "alone", NULL);
    struct top_snapshot snapshot = snapshot_of(model, TOP_MODE_RATES);
    assert_int_equal(row_of(&snapshot, "IFS")->members, 2);
    assert_int_equal(row_of(&snapshot, "IFS")->left, 0);
    assert_int_equal(row_of(&snapshot, "alone")->members, 1);
    top_snapshot_done(&snapshot);

    feed_component(model, 1, "IFS", "vanished");
    feed_component(model, 1, "IFS", "vanished");
    snapshot = snapshot_of(model, TOP_MODE_RATES);
    assert_int_equal(row_of(&snapshot, "IFS")->left, 1);
    assert_true(row_of(&snapshot, "IFS")->vanished);
    top_snapshot_done(&snapshot);

    feed_component(model, 2, "IFS", "finalized"); /* does not hide what happened */
    snapshot = snapshot_of(model, TOP_MODE_RATES);
    assert_int_equal(row_of(&snapshot, "IFS")->left, 2);
    assert_string_equal(row_of(&snapshot, "IFS")->reason, "vanished");
    top_snapshot_done(&snapshot);
    top_model_free(model);
}

static void a_worse_reason_replaces_a_good_one(void **state)
{
    (void)state;
    struct top_model *model = model_of();
    feed_component(model, 1, "IFS", "finalized");
    feed_component(model, 2, "IFS", "evicted");
    struct top_snapshot snapshot = snapshot_of(model, TOP_MODE_RATES);
    assert_string_equal(row_of(&snapshot, "IFS")->reason, "evicted");
    assert_true(row_of(&snapshot, "IFS")->vanished);
    top_snapshot_done(&snapshot);
    top_model_free(model);
}

static void losses_before_the_first_bucket_are_no_news(void **state)
{
    (void)state;
    struct top_model *model = model_of();
    feed_bucket(model, 5);
    struct top_snapshot snapshot = snapshot_of(model, TOP_MODE_RATES);
    assert_int_equal(snapshot.loss_count, 1);
    assert_string_equal(snapshot.losses[0].text, "events in ring");
    assert_float_equal(snapshot.losses[0].count, 5, 0);
    assert_float_equal(snapshot.losses[0].fresh, 0, 0);
    top_snapshot_done(&snapshot);
    feed_bucket(model, 8);
    snapshot = snapshot_of(model, TOP_MODE_RATES);
    assert_float_equal(snapshot.losses[0].fresh, 3, 0);
    top_snapshot_done(&snapshot);
    top_model_free(model);
}

static void the_end_reports_the_last_losses(void **state)
{
    (void)state;
    struct top_model *model = model_of();
    feed_bucket(model, 0);
    assert_int_equal(feed(model, "{\"type\":\"end\",\"run\":\"r\",\"reason\":\"rotated\"}"),
                     TOP_FED_ROTATED);
    assert_int_equal(
        feed(model, "{\"type\":\"end\",\"run\":\"r\",\"reason\":\"configuration reloaded\"}"),
        TOP_FED_ROTATED);
    assert_int_equal(feed(model, "{\"type\":\"end\",\"run\":\"r\",\"reason\":\"finished\","
                                 "\"accounting\":{\"lost\":{\"ring\":7}}}"),
                     TOP_FED_END);
    struct top_snapshot snapshot = snapshot_of(model, TOP_MODE_RATES);
    assert_true(snapshot.ended);
    assert_string_equal(snapshot.end_reason, "finished");
    assert_float_equal(snapshot.losses[0].count, 7, 0);
    top_snapshot_done(&snapshot);
    top_model_free(model);
}

static void another_run_starts_again(void **state)
{
    (void)state;
    struct top_model *model = model_of();
    feed_component(model, 1, "IFS", "vanished");
    feed_operations(model, "IFS", "5");
    feed_bucket(model, 9);
    assert_int_equal(feed(model, "broken"), TOP_FED_BAD);
    assert_int_equal(feed(model, "{\"type\":\"header\",\"run\":\"other\",\"workflow\":\"second\"}"),
                     TOP_FED_LINE);
    assert_int_equal(feed(model, "{\"type\":\"component\",\"index\":1,"
                                 "\"name\":\"IFS\",\"left\":null}"),
                     TOP_FED_LINE);
    struct top_snapshot snapshot = snapshot_of(model, TOP_MODE_SUMS);
    assert_false(snapshot.any);
    assert_string_equal(snapshot.workflow, "second");
    assert_int_equal(snapshot.loss_count, 0);
    assert_int_equal(row_of(&snapshot, "IFS")->members, 1);
    assert_int_equal(row_of(&snapshot, "IFS")->left, 0);
    assert_float_equal(snapshot.bad_lines, 1, 0); /* of the stream, not of the run */
    top_snapshot_done(&snapshot);
    top_model_free(model);
}

static void more_names_than_rows_are_folded_and_counted(void **state)
{
    (void)state;
    struct top_model *model = model_of();
    for (unsigned i = 0; i < TOP_ROWS_MAX + 50; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "component %u", i);
        feed_component(model, i, name, NULL);
        feed_operations(model, name, "1");
    }
    feed_component(model, 4000000000U, "far away", NULL);
    feed_bucket(model, 0);
    struct top_snapshot snapshot = snapshot_of(model, TOP_MODE_SUMS);
    assert_int_equal(snapshot.tables[TOP_COMPONENTS].count, TOP_ROWS_MAX);
    assert_float_equal(snapshot.sums[TOP_OPERATIONS], TOP_ROWS_MAX + 50, 0);
    assert_float_equal(row_of(&snapshot, "(other)")->sums[TOP_OPERATIONS], 51, 0);
    assert_float_equal(snapshot.folded, 51, 0);
    assert_int_equal(row_of(&snapshot, "component 7")->members, 1);
    top_snapshot_done(&snapshot);
    top_model_free(model);
}

static void names_cannot_speak_to_the_terminal(void **state)
{
    (void)state;
    struct top_model *model = model_of();
    feed_component(model, 1, "\\u001b]0;owned\\u0007\\u001b[2J\\u009b5n\\r\\n", "\\u001b[5m");
    feed_bucket(model, 0);
    struct top_snapshot snapshot = snapshot_of(model, TOP_MODE_RATES);
    assert_int_equal(snapshot.tables[TOP_COMPONENTS].count, 1);
    const struct top_row *row = &snapshot.tables[TOP_COMPONENTS].rows[0];
    assert_string_equal(row->name, "?]0;owned??[2J?5n??");
    assert_string_equal(row->reason, "?[5m");
    top_snapshot_done(&snapshot);
    top_model_free(model);
}

/* None of these may end the program or become an infinite number. */
static void odd_lines_are_bad_or_harmless(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "{",
        "null",
        "[]",
        "\"text\"",
        "{}",
        "{\"type\":\"bucket\"}",
        "{\"type\":7,\"run\":\"r\"}",
        "{\"type\":\"header\"}",
        "{\"v\":1,\"type\":\"header\",\"run\":\"s\"}",
        "{\"type\":\"bucket\",\"time\":\"t\",\"width_ns\":1e999}",
        "{\"type\":\"header\",\"run\":\"r\",\"workflow\":\"\\u0000\"}",
        "{\"type\":\"header\",\"run\":\"r\",\"workflow\":\"\xff\xfe\"}",
        "{\"type\":\"header\",\"run\":\"r\"} trailing",
    };
    static const char odd_times[] =
        "{\"type\":\"values\",\"values\":{\"transport_ns\":[{\"source\":\"a\",\"sink\":\"b\","
        "\"bins\":[1,[2],[3,\"x\"],[-1,-1],[1e300,1e300]],\"min\":5,\"max\":-5}]}}";
    static const char *const harmless[] = {
        "{\"type\":\"header\",\"run\":\"r\",\"segment\":-1}",
        "{\"type\":\"header\",\"run\":\"r\",\"segment\":1e300,\"workflow\":[]}",
        "{\"type\":\"values\",\"values\":{\"pool_operations\":[{\"delta\":-1e300}]}}",
        "{\"type\":\"values\",\"values\":{\"pool_operations\":[{\"delta\":1e300}]}}",
        odd_times,
        "{\"type\":\"values\",\"values\":{\"transports_active\":[{\"value\":3},4,[]]}}",
        "{\"type\":\"values\",\"values\":{\"transports_active\":{\"value\":3},\"x\":7}}",
        "{\"type\":\"values\",\"values\":[{\"value\":3}]}",
        "{\"type\":\"values\"}",
        "{\"type\":\"component\",\"run\":\"r\",\"index\":-3,\"name\":\"a\"}",
        "{\"type\":\"component\",\"run\":\"r\",\"index\":\"1\",\"name\":\"a\"}",
        "{\"type\":\"component\",\"run\":\"r\",\"index\":1e300,\"name\":\"a\"}",
        "{\"type\":\"gap\",\"run\":\"r\",\"start\":\"x\",\"end\":null}",
        "{\"type\":\"lost\",\"run\":\"r\",\"what\":\"lines\",\"count\":-1}",
        "{\"type\":\"of tomorrow\",\"run\":\"r\"}",
    };
    struct top_model *model = model_of();
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(feed(model, bad[i]), TOP_FED_BAD);
    }
    for (size_t i = 0; i < sizeof harmless / sizeof harmless[0]; i++) {
        assert_int_equal(feed(model, harmless[i]), TOP_FED_LINE);
    }
    assert_int_equal(feed(model, "{\"type\":\"bucket\",\"time\":\"t\",\"width_ns\":1e-300,"
                                 "\"accounting\":{\"lost\":{\"ring\":1e300},\"outputs\":[5]}}"),
                     TOP_FED_BUCKET);
    struct top_snapshot snapshot = snapshot_of(model, TOP_MODE_RATES);
    assert_float_equal(snapshot.bad_lines, sizeof bad / sizeof bad[0], 0);
    assert_true(snapshot.sums[TOP_OPERATIONS] >= 0 && snapshot.sums[TOP_OPERATIONS] <= 1.9e19);
    assert_true(snapshot.losses[0].count <= 1.9e19);
    top_snapshot_done(&snapshot);
    top_model_free(model);
}

/* Every byte changed in turn: whatever comes of it, nothing breaks. */
static void changed_bytes_do_no_harm(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "{\"type\":\"values\",\"values\":{\"demand_wait_ns\":[{\"component\":\"IFS\","
        "\"size_class\":\"1 MiB\",\"min\":1,\"max\":9,\"bins\":[[1,2],[9,1]]}]}}",
        "{\"type\":\"ranks\",\"time\":\"t\",\"width_ns\":9,\"ranks\":[[\"a\",0,4,[9,9,8,1]]]}"};
    static const char with[] = {'"', '{', '}', '[', ']', '9', '-', '\\', ',', '\x80', 'e', ' '};
    struct top_model *model = model_of();
    (void)feed(model, RANKS_HEADER);
    for (size_t at = 0; at < 2 * 200; at++) {
        const char *line = lines[at % 2];
        const size_t i = at / 2;
        for (size_t k = 0; i < strlen(line) && k < sizeof with; k++) {
            char changed[200];
            (void)snprintf(changed, sizeof changed, "%s", line);
            changed[i] = with[k];
            (void)feed(model, changed);
        }
        (void)top_model_feed(model, line, i < strlen(line) ? i : 0); /* cut */
    }
    feed_bucket(model, 0);
    struct top_snapshot snapshot = snapshot_of(model, TOP_MODE_SUMS);
    assert_true(snapshot.bad_lines > 0);
    top_snapshot_done(&snapshot);
    top_model_free(model);
}

static void a_lack_of_memory_is_reported(void **state)
{
    (void)state;
    for (unsigned n = 1;; n++) {
        fault_alloc_fail_at(n);
        struct top_model *model = top_model_create();
        bool failed = fault_alloc_end();
        assert_true(failed == (model == NULL));
        top_model_free(model);
        if (!failed) {
            break;
        }
    }
    struct top_model *model = model_of();
    /* No row for a new name: its values go to "(other)". */
    fault_alloc_fail_at(1);
    feed_operations(model, "new", "1");
    assert_true(fault_alloc_end());
    for (unsigned n = 1; n <= 2; n++) {
        struct top_snapshot snapshot = {.any = false};
        fault_alloc_fail_at(n);
        assert_int_equal(top_snapshot_take(&snapshot, model, TOP_MODE_SUMS, TOP_RANKS, NULL),
                         -ENOMEM);
        assert_true(fault_alloc_end());
        assert_null(snapshot.tables[TOP_COMPONENTS].rows);
    }
    feed_bucket(model, 0);
    struct top_snapshot snapshot = snapshot_of(model, TOP_MODE_SUMS);
    assert_float_equal(row_of(&snapshot, "(other)")->sums[TOP_OPERATIONS], 1, 0);
    top_snapshot_done(&snapshot);
    top_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_are_of_the_newest_bucket_sums_of_all),
        cmocka_unit_test(a_window_has_the_buckets_that_are_in_it),
        cmocka_unit_test(models_have_the_sums_of_their_ranks),
        cmocka_unit_test(a_component_without_operations_is_idle),
        cmocka_unit_test(lines_of_components_are_ahead_of_the_buckets),
        cmocka_unit_test(ranks_have_lines_of_their_own),
        cmocka_unit_test(ranks_of_a_stream_that_begins_in_the_middle),
        cmocka_unit_test(operations_of_a_rank_are_those_of_its_lines),
        cmocka_unit_test(components_of_one_name_are_counted),
        cmocka_unit_test(a_worse_reason_replaces_a_good_one),
        cmocka_unit_test(losses_before_the_first_bucket_are_no_news),
        cmocka_unit_test(the_end_reports_the_last_losses),
        cmocka_unit_test(another_run_starts_again),
        cmocka_unit_test(more_names_than_rows_are_folded_and_counted),
        cmocka_unit_test(names_cannot_speak_to_the_terminal),
        cmocka_unit_test(odd_lines_are_bad_or_harmless),
        cmocka_unit_test(changed_bytes_do_no_harm),
        cmocka_unit_test(a_lack_of_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
