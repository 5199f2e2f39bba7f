/* SPDX-License-Identifier: BSD-3-Clause */
/* Labels from attributes of CDOs: which values they have, and what happens at their bounds. */
#include "tests/unit/stats_collect.h"

#include "vampire/stats/bucket/declared.h"
#include "vampire/stats/cells/attributes.h"

static struct collect run;
static unsigned asked;

/* "a:VALUE" and "b:VALUE" at places 0 and 1, each up to a comma. */
static void read(void *context, const struct vamp_event *event,
                 struct vamp_attribute_texts *ret_texts)
{
    (void)context;
    asked++;
    const char *end = event->name + event->name_length;
    for (const char *at = event->name;
         vamp_event_has(event, VAMP_HAS_CDO_NAME) && at != NULL && end - at > 2;
         at = memchr(at, ',', (size_t)(end - at)), at = at != NULL ? at + 1 : NULL) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        ret_texts->items[at[0] == 'b'] =
            (struct vamp_attribute_text){at + 2, (size_t)((comma != NULL ? comma : end) - at - 2)};
    }
}

static void start_with(const struct vamp_stats_options *options)
{
    asked = 0;
    collect_start(&run, options);
    vamp_stats_read_attributes(run.stats, read, NULL);
    collect_feed(&run, event_join(1, 1, "model"));
    collect_feed(&run, event_join(1, 2, "product"));
}

static int start(void **state)
{
    (void)state;
    static const char *const names[] = {"param", "level"};
    unsigned wrong = 9;
    assert_int_equal(vamp_attributes_declare(names, 2, &wrong, NULL), 0);
    struct vamp_stats_options options = collect_options();
    options.attribute_values = 2;
    start_with(&options);
    return 0;
}

static int end(void **state)
{
    (void)state;
    unsigned wrong = 9;
    collect_end(&run);
    assert_int_equal(vamp_attributes_declare(NULL, 0, &wrong, NULL), 0);
    return 0;
}

static void move(uint64_t cdo, const char *name)
{
    struct vamp_event event =
        event_transport(VAMP_EVENT_TRANSPORT_COMPLETED, 100 + (int64_t)cdo, cdo, cdo, 2, 1);
    collect_feed(&run, event_with_size(name != NULL ? event_with_name(event, name) : event, 10));
}

static void offer(uint64_t cdo, const char *name)
{
    struct vamp_event event = event_cdo(VAMP_EVENT_OFFER, 50, 1, cdo);
    collect_feed(&run, event_with_size(name != NULL ? event_with_name(event, name) : event, 10));
}

static uint64_t last(enum vamp_metric_id id, const char *labels)
{
    return collect_counter(&run, run.count - 1, id, labels);
}

static void expect_moved(const char *attributes, uint64_t count)
{
    char labels[300];
    (void)snprintf(labels, sizeof labels, "model|product|[0,256)|unknown|unknown|%s", attributes);
    assert_int_equal(last(VAMP_METRIC_TRANSPORTS, labels), count);
    assert_int_equal(last(VAMP_METRIC_TRANSPORT_BYTES, labels), 10 * count);
}

static void metrics_of_a_cdo_have_its_attributes(void **state)
{
    (void)state;
    offer(7, "a:t,b:500");
    move(7, "a:t,b:500");
    move(8, "b:850");
    move(9, "-");
    vamp_stats_finish(run.stats);
    expect_moved("t|500", 1);
    expect_moved("unknown|850", 1);
    expect_moved("unknown|unknown", 1);
    assert_int_equal(last(VAMP_METRIC_PRODUCED_BYTES, "model|t|500"), 10);
    assert_int_equal(last(VAMP_METRIC_CONSUMED_BYTES, "product|unknown|850"), 10);
    assert_int_equal(last(VAMP_METRIC_CDOS_CREATED, "model|[0,256)"), 1); /* has none */
    assert_int_equal(last(VAMP_METRIC_VAMPIRE_LABELS_GIVEN_UP, ""), 0);
}

static void they_are_read_once_from_the_first_name(void **state)
{
    (void)state;
    offer(7, NULL);
    assert_int_equal(asked, 2 + 1); /* two JOINs */
    offer(7, "a:t,b:500");
    const unsigned after = asked;
    move(7, "a:u,b:1");
    move(7, NULL);
    vamp_stats_finish(run.stats);
    assert_int_equal(asked, after);
    expect_moved("t|500", 2);
}

static void a_record_that_is_new_has_none_of_the_one_before(void **state)
{
    (void)state;
    offer(7, "a:t,b:500");
    collect_feed(&run, event_cdo(VAMP_EVENT_WITHDRAW, 60, 1, 7));
    collect_feed(&run, event_cdo(VAMP_EVENT_DISPOSE, 61, 1, 7));
    offer(8, NULL); /* takes the place of the other's record */
    move(8, NULL);
    vamp_stats_finish(run.stats);
    expect_moved("unknown|unknown", 1);
}

static void beyond_the_bound_values_are_other_and_counted(void **state)
{
    (void)state;
    move(1, "a:t,b:1");
    move(2, "a:u,b:1");
    move(3, "a:v,b:1"); /* the third value of a */
    move(4, "a:w,b:2");
    move(5, "a:w,b:3");
    move(6, "a:t,b:3");
    move(7, "a:x");
    vamp_stats_finish(run.stats);
    expect_moved("t|1", 1);
    expect_moved("u|1", 1);
    expect_moved("(other)|1", 1);
    expect_moved("(other)|2", 1);
    expect_moved("t|(other)", 1);
    expect_moved("(other)|unknown", 1);
    assert_int_equal(last(VAMP_METRIC_TRANSPORTS, "(other)|(other)|(other)|(other)|(other)|(other)|"
                                                  "(other)"),
                     0);
    expect_moved("(other)|(other)", 1);
    assert_int_equal(last(VAMP_METRIC_VAMPIRE_LABELS_GIVEN_UP, ""), 6);
    assert_int_equal(last(VAMP_METRIC_VAMPIRE_SERIES_OVERFLOW, ""), 0);
}

static void values_that_read_as_what_is_missing_have_a_backslash(void **state)
{
    (void)state;
    move(1, "a:(other),b:unknown");
    move(2, "a:\\(other),b:");
    vamp_stats_finish(run.stats);
    expect_moved("\\(other)|\\unknown", 1);
    expect_moved("\\\\(other)|unknown", 1);
}

static void long_values_are_cut(void **state)
{
    (void)state;
    move(1, "a:123456789012345678901234567890123456789012345678901234567890123 and more,b:1");
    move(2, "a:12345678901234567890123456789012345678901234567890123456789012\xC3\xA4,b:1");
    vamp_stats_finish(run.stats);
    expect_moved("123456789012345678901234567890123456789012345678901234567890123|1", 1);
    expect_moved("12345678901234567890123456789012345678901234567890123456789012|1", 1);
}

static void parts_of_waits_and_lives_have_them(void **state)
{
    (void)state;
    collect_feed(&run, event_with_name(event_cdo(VAMP_EVENT_DECLARE, 10, 1, 7), "a:t,b:500"));
    offer(7, "a:t,b:500");
    collect_feed(&run, event_cdo(VAMP_EVENT_DEMAND, 60, 2, 7));
    collect_feed(&run, event_transport(VAMP_EVENT_TRANSPORT_INIT, 70, 7, 7, 2, 1));
    move(7, NULL);
    collect_feed(&run, event_cdo(VAMP_EVENT_WITHDRAW, 160, 1, 7));
    collect_feed(&run, event_cdo(VAMP_EVENT_DISPOSE, 170, 1, 7));
    vamp_stats_finish(run.stats);
    const struct {
        enum vamp_metric_id metric;
        const char *labels;
        uint64_t ns;
    } values[] = {
        {VAMP_METRIC_DEMAND_WAIT_NS, "product|[0,256)|t|500", 47},
        {VAMP_METRIC_DEMAND_WAIT_PART_NS, "product|model|moving|t|500", 37},
        {VAMP_METRIC_TRANSPORT_NS, "model|product|[0,256)|unknown|t|500", 37},
        {VAMP_METRIC_DECLARE_TO_OFFER_NS, "model|[0,256)|t|500", 40},
        {VAMP_METRIC_OFFER_TO_FIRST_DEMAND_NS, "model|[0,256)|t|500", 10},
        {VAMP_METRIC_OFFER_TO_WITHDRAW_NS, "model|[0,256)|t|500", 110},
        {VAMP_METRIC_CDO_LIFETIME_NS, "model|[0,256)|t|500", 160},
    };
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        const struct vamp_bucket_histogram *histogram =
            collect_histogram(&run, 0, values[i].metric, values[i].labels);
        assert_non_null(histogram);
        assert_int_equal(histogram->sum, values[i].ns);
    }
    assert_non_null(collect_histogram(&run, 0, VAMP_METRIC_DEMANDS_PER_CDO, "model"));
}

static void at_the_bound_of_series_they_collapse_after_size_class(void **state)
{
    (void)state;
    collect_end(&run);
    struct vamp_stats_options options = collect_options();
    options.attribute_values = 4096;
    options.max_series = 80; /* more than a set that has them all whatever the bound is */
    start_with(&options);
    for (uint64_t i = 1; i <= 200; i++) {
        char name[40];
        (void)snprintf(name, sizeof name, "a:%d,b:%d", (int)i, (int)(i % 3));
        move(i, name);
    }
    vamp_stats_finish(run.stats);
    const int metric = collect_metric(&run, VAMP_METRIC_TRANSPORTS);
    const struct vamp_bucket *bucket = run.buckets[run.count - 1];
    uint64_t whole = 0, coarse = 0;
    for (unsigned s = 0; s < bucket->values[metric].count; s++) {
        char text[9000];
        const uint64_t value = bucket->values[metric].counters[s].value;
        collect_series_text(bucket, bucket->schema->metrics[metric].label_set, s, text,
                            sizeof text);
        if (strcmp(text, "model|product|(other)|unknown|unknown|(other)|(other)") == 0) {
            coarse = value;
        } else if (value > 0) {
            assert_int_equal(value, 1);
            assert_null(strstr(text, "(other)|(other)"));
            whole++;
        }
    }
    assert_int_equal(whole + coarse, 200);
    assert_true(whole >= 70 && whole < 80);
    assert_int_equal(last(VAMP_METRIC_VAMPIRE_SERIES_OVERFLOW, ""), 0);
}

static void combinations_have_a_bound(void **state)
{
    (void)state;
    struct vamp_attributes attributes;
    assert_int_equal(vamp_attributes_init(&attributes, 4096), 0);
    uint32_t most = 0;
    for (unsigned i = 0; i < 90000; i++) {
        char a[12], b[12];
        const int of_a = snprintf(a, sizeof a, "%u", i / 300),
                  of_b = snprintf(b, sizeof b, "%u", i % 300);
        const struct vamp_attribute_texts texts = {.items = {{a, (size_t)of_a}, {b, (size_t)of_b}}};
        const uint32_t number = vamp_attributes_number(&attributes, &texts);
        assert_int_equal(number, i < VAMP_ATTRIBUTES_COMBINATIONS - 1 ? i + 1 : 0);
        assert_int_equal(vamp_attributes_given_up(&attributes, number), number == 0 ? 2 : 0);
        most = number > most ? number : most;
    }
    assert_int_equal(most, VAMP_ATTRIBUTES_COMBINATIONS - 1);
    assert_string_equal(vamp_attributes_text(&attributes, 302, 0), "1");
    assert_string_equal(vamp_attributes_text(&attributes, 302, 1), "1");
    assert_string_equal(vamp_attributes_text(&attributes, 0, 1), "(other)");
    vamp_attributes_done(&attributes);
}

/* Last: nothing can be declared afterwards. */
static void names_are_checked(void **state)
{
    (void)state;
    static const struct {
        const char *names[6];
        unsigned count, wrong;
        const char *text;
    } mistakes[] = {
        {{"param", "step", "param"}, 3, 2, "\"param\" has another meaning"},
        {{"param", "component"}, 2, 1, "\"component\" has another meaning"},
        {{"workflow"}, 1, 0, "\"workflow\" has another meaning"},
        {{"batch_job"}, 1, 0, "\"batch_job\" has another meaning"},
        {{"le"}, 1, 0, "\"le\" has another meaning beside values"},
        {{"2t"}, 1, 0, "\"2t\" cannot be the name of a label"},
        {{""}, 1, 0, "\"\" cannot be the name of a label"},
        {{"a-b"}, 1, 0, "\"a-b\" cannot be the name of a label"},
        {{"abcdefghijklmnopqrstuvwx"}, 1, 0, "cannot be the name of a label"},
        {{"a", "b", "c", "d", "e"}, 5, 4, "more than 4 attributes"},
    };
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        struct vamp_err err = VAMP_ERR_NONE;
        unsigned wrong = 9;
        assert_int_equal(
            vamp_attributes_declare(mistakes[i].names, mistakes[i].count, &wrong, &err), -EINVAL);
        assert_int_equal(wrong, mistakes[i].wrong);
        if (strstr(err.text, mistakes[i].text) == NULL) {
            fail_msg("\"%s\" is not in \"%s\"", mistakes[i].text, err.text);
        }
    }
    unsigned wrong = 9;
    static const char *const good[] = {"param", "Step_2"};
    assert_int_equal(vamp_attributes_declare(good, 2, &wrong, NULL), 0);
    assert_int_equal(vamp_label_find("Step_2", 6), VAMP_LABEL_ATTRIBUTE + 1);
    assert_int_equal(vamp_label_find("Step", 4), VAMP_LABEL_COUNT);
    assert_string_equal(vamp_label_name(VAMP_LABEL_ATTRIBUTE + 2), "unknown");
    vamp_declared_seal();
    assert_int_equal(vamp_attributes_declare(good, 2, &wrong, NULL), 0);
    assert_int_equal(vamp_attributes_declare(good, 1, &wrong, NULL), -EINVAL);
    assert_int_equal(vamp_attribute_count(), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(metrics_of_a_cdo_have_its_attributes, start, end),
        cmocka_unit_test_setup_teardown(they_are_read_once_from_the_first_name, start, end),
        cmocka_unit_test_setup_teardown(a_record_that_is_new_has_none_of_the_one_before, start,
                                        end),
        cmocka_unit_test_setup_teardown(beyond_the_bound_values_are_other_and_counted, start, end),
        cmocka_unit_test_setup_teardown(values_that_read_as_what_is_missing_have_a_backslash, start,
                                        end),
        cmocka_unit_test_setup_teardown(long_values_are_cut, start, end),
        cmocka_unit_test_setup_teardown(parts_of_waits_and_lives_have_them, start, end),
        cmocka_unit_test_setup_teardown(at_the_bound_of_series_they_collapse_after_size_class,
                                        start, end),
        cmocka_unit_test_setup_teardown(combinations_have_a_bound, start, end),
        cmocka_unit_test(names_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
