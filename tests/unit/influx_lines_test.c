/* SPDX-License-Identifier: BSD-3-Clause */
/* The lines of a bucket: escaping, integers, and what runs out of memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/lib/fault.h"
#include "tests/unit/appended_metrics.h"
#include "tests/unit/writers_buckets.h"
#include "writers/influx/lines.h"

static const struct vamp_present nobody = {.count = 0};

/* The lines of bucket 5, terminated; to be freed. NULL without memory. */
static char *lines_now(struct made_run *made, uint64_t labels)
{
    struct vamp_text text = {.bytes = NULL};
    const struct vamp_bucket *bucket = made_bucket(made, 5, NULL);
    const uint64_t cut = influx_lines(&text, &made->run, labels, bucket, &nobody);
    vamp_bucket_release(bucket);
    assert_int_equal(cut, 0);
    char *copy = text.failed ? NULL : strndup(text.bytes, text.used);
    vamp_text_done(&text);
    return copy;
}

static void assert_has(const char *lines, const char *part)
{
    if (strstr(lines, part) == NULL) {
        fail_msg("not in the lines: %s", part);
    }
}

static void test_tags_are_escaped(void **state)
{
    (void)state;
    struct made_run *made = made_run_create(UINT64_MAX, 40, 3, 0);
    char *lines = lines_now(made, 1);
    assert_has(lines, "pool_operations,workflow=fore/cast\\ \"1\",component=Products\\,\\ \"1\",");
    assert_has(lines, "component=tab\tand\\ line\\ \x01");
    assert_has(lines, "component=bad\\ \xEF\xBF\xBD\\ byte");
    assert_has(lines, "e\\ /\\ /\\ {}");
    free(lines);
    made_run_free(made);
}

static void test_lines_are_whole(void **state)
{
    (void)state;
    struct made_run *made = made_run_create(UINT64_MAX, 40, 3, 0);
    char *lines = lines_now(made, 0), time[64];
    (void)snprintf(time, sizeof time, " %lld",
                   (long long)(MADE_START_NS + INT64_C(5) * MADE_WIDTH_NS));
    unsigned count = 0;
    for (char *line = strtok(lines, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        const char *end = strrchr(line, ' ');
        assert_non_null(end);
        assert_string_equal(end, time);
        assert_int_equal(end[-1], 'i');
        count++;
    }
    assert_true(count > 100);
    free(lines);
    made_run_free(made);
}

static void test_large_values_are_cut(void **state)
{
    (void)state;
    struct made_run *made = made_run_create(VAMP_SET_SELF, 40, 3, 0);
    const struct vamp_bucket *bucket = made_bucket(made, 0, NULL);
    struct vamp_text text = {.bytes = NULL};
    struct vamp_counter_value *counter = NULL;
    for (unsigned i = 0; i < made->schema.metric_count && counter == NULL; i++) {
        if (vamp_metrics[made->metrics[i].id].kind == VAMP_COUNTER) {
            counter = (struct vamp_counter_value *)(uintptr_t)bucket->values[i].counters;
        }
    }
    if (counter == NULL) {
        fail_msg("no counter");
        return;
    }
    counter->value = UINT64_MAX;
    assert_int_equal(influx_lines(&text, &made->run, 0, bucket, &nobody), 1);
    vamp_text_add(&text, "", 1);
    assert_has(text.bytes, "value=9223372036854775807i");
    vamp_text_done(&text);
    vamp_bucket_release(bucket);
    made_run_free(made);
}

/* The tags of collected series are those of their runs. */
static void test_a_tag_is_there_once(void **state)
{
    (void)state;
    struct made_run *made = made_run_create(VAMP_SET_COLLECT, 40, 3, 0);
    const struct vamp_bucket *bucket = made_bucket(made, 5, NULL);
    struct vamp_text text = {.bytes = NULL};
    (void)influx_lines(&text, &made->run, UINT64_MAX, bucket, &nobody);
    vamp_text_add(&text, "", 1);
    assert_has(text.bytes, ",workflow=forecast,run=");
    for (const char *line = text.bytes; *line != '\0'; line = strchr(line, '\n') + 1) {
        const char *run = strstr(line, ",run=");
        const char *end = strchr(line, '\n');
        assert_non_null(end);
        assert_true(run == NULL || run > end || strstr(run + 1, ",run=") == NULL ||
                    strstr(run + 1, ",run=") > end);
    }
    vamp_text_done(&text);
    vamp_bucket_release(bucket);
    made_run_free(made);
}

static void test_memory_that_runs_out(void **state)
{
    (void)state;
    struct made_run *made = made_run_create(UINT64_MAX, 40, 3, 0);
    const struct vamp_bucket *bucket = made_bucket(made, 5, NULL);
    bool failed = true;
    for (unsigned nth = 1; failed; nth++) {
        struct vamp_text text = {.bytes = NULL};
        fault_alloc_fail_at(nth);
        (void)influx_lines(&text, &made->run, UINT64_MAX, bucket, &nobody);
        failed = fault_alloc_end();
        assert_int_equal(text.failed, failed);
        vamp_text_done(&text);
    }
    vamp_bucket_release(bucket);
    made_run_free(made);
}

static void test_appended_metrics_have_lines(void **state)
{
    (void)state;
    struct made_run *made = made_run_create(VAMP_SET_BASIC, 40, 3, 0);
    char *lines = lines_now(made, 0);
    assert_has(lines, "\nmodel_steps,component=");
    assert_has(lines, "\ndisk_level_bytes,component=");
    assert_has(lines, "\ndisk_read_ns,component=");
    free(lines);
    made_run_free(made);
}

int main(void)
{
    (void)append_metrics();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tags_are_escaped),
        cmocka_unit_test(test_lines_are_whole),
        cmocka_unit_test(test_large_values_are_cut),
        cmocka_unit_test(test_a_tag_is_there_once),
        cmocka_unit_test(test_memory_that_runs_out),
        cmocka_unit_test(test_appended_metrics_have_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
