/* SPDX-License-Identifier: BSD-3-Clause */
/* The messages of a bucket: their length, the numbers of the parts, and what runs out of memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/lib/fault.h"
#include "tests/unit/appended_metrics.h"
#include "tests/unit/writers_buckets.h"
#include "writers/syslog/messages.h"

static void make(struct syslog_messages *messages, const struct made_run *made,
                 const struct vamp_bucket *bucket)
{
    syslog_messages_clear(messages);
    syslog_messages_bucket(messages, &made->run, &(struct vamp_delivery){.bucket = bucket});
}

/* The object of a message, terminated; to be freed. */
static char *object(const struct syslog_messages *messages, unsigned i)
{
    return strndup(messages->text.bytes + messages->items[i].begin, messages->items[i].bytes);
}

static unsigned occurrences(const char *text, const char *word)
{
    unsigned count = 0;
    for (const char *at = strstr(text, word); at != NULL; at = strstr(at + 1, word)) {
        count++;
    }
    return count;
}

static unsigned values_in(const struct syslog_messages *messages)
{
    unsigned values = 0;
    for (unsigned i = 0; i < messages->count; i++) {
        char *text = object(messages, i);
        values += occurrences(text, "{\"metric\":");
        free(text);
    }
    return values;
}

static void test_parts_are_short_and_numbered(void **state)
{
    (void)state;
    struct made_run *made = made_run_create(UINT64_MAX, 40, 3, 0);
    const struct vamp_bucket *bucket = made_bucket(made, 5, NULL);
    struct syslog_messages messages = {.items = NULL};
    make(&messages, made, bucket);
    assert_false(messages.failed);
    assert_true(messages.count > 10);
    for (unsigned i = 0; i < messages.count; i++) {
        char *text = object(&messages, i), counts[64];
        assert_in_range(messages.items[i].bytes, 1, SYSLOG_OBJECT_BYTES);
        (void)snprintf(counts, sizeof counts, "\"part\":%u,\"parts\":%u,\"metrics\":[{", i + 1,
                       messages.count);
        assert_int_equal(occurrences(text, counts), 1);
        assert_null(strchr(text, '\n'));
        assert_string_equal(text + messages.items[i].bytes - 3, "}]}");
        free(text);
    }
    assert_int_equal(messages.left_out, 0);
    syslog_messages_done(&messages);
    vamp_bucket_release(bucket);
    made_run_free(made);
}

static void test_a_value_longer_than_a_message_is_left_out_and_counted(void **state)
{
    (void)state;
    static char name[4000];
    memset(name, '"', sizeof name - 1); /* each becomes two characters */
    struct made_run *made = made_run_create(VAMP_SET_TRANSPORT, 40, 3, 0);
    const struct vamp_bucket *bucket = made_bucket(made, 5, NULL);
    struct syslog_messages messages = {.items = NULL};
    make(&messages, made, bucket);
    const unsigned all = values_in(&messages);
    for (unsigned s = 0; s < made->schema.label_set_count; s++) {
        for (unsigned l = 0; l < made->sets[s].label_count; l++) {
            made->series[s][1].labels[l] = name;
        }
    }
    make(&messages, made, bucket);
    assert_true(messages.left_out > 0);
    assert_int_equal(values_in(&messages) + messages.left_out, all);
    syslog_messages_done(&messages);
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
        struct syslog_messages messages = {.items = NULL};
        fault_alloc_fail_at(nth);
        make(&messages, made, bucket);
        failed = fault_alloc_end();
        assert_int_equal(messages.failed, failed);
        syslog_messages_done(&messages);
    }
    vamp_bucket_release(bucket);
    made_run_free(made);
}

static void test_appended_metrics_have_values(void **state)
{
    (void)state;
    struct made_run *made = made_run_create(VAMP_SET_BASIC, 40, 3, 0);
    const struct vamp_bucket *bucket = made_bucket(made, 5, NULL);
    struct syslog_messages messages = {.items = NULL};
    make(&messages, made, bucket);
    vamp_text_add(&messages.text, "", 1);
    for (unsigned i = 0; i < APPENDED_COUNT; i++) {
        char value[64];
        (void)snprintf(value, sizeof value, "{\"metric\":\"%s\"", appended_metrics[i].name);
        assert_true(occurrences(messages.text.bytes, value) > 0);
    }
    syslog_messages_done(&messages);
    vamp_bucket_release(bucket);
    made_run_free(made);
}

int main(void)
{
    (void)append_metrics();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_are_short_and_numbered),
        cmocka_unit_test(test_a_value_longer_than_a_message_is_left_out_and_counted),
        cmocka_unit_test(test_memory_that_runs_out),
        cmocka_unit_test(test_appended_metrics_have_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
