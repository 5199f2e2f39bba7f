/* SPDX-License-Identifier: BSD-3-Clause */
/* The messages of a bucket: whole, short enough, UTF-8, and what runs out of memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "telemetry.pb-c.h"
#include "tests/lib/fault.h"
#include "tests/unit/writers_buckets.h"
#include "vampire/core/utf8.h"
#include "writers/nats/messages.h"

struct made_messages {
    struct made_run *made;
    const struct vamp_bucket *bucket;
    struct nats_encoder *encoder;
    struct nats_messages messages;
};

static void make(struct made_messages *all, unsigned series, uint64_t number)
{
    all->made = made_run_create(UINT64_MAX, series, series, 0);
    all->bucket = made_bucket(all->made, number, NULL);
    all->encoder = nats_encoder_create(&all->made->run, &all->made->schema, NATS_MESSAGE_BYTES_MIN);
    assert_non_null(all->encoder);
    all->messages = (struct nats_messages){.count = 0};
}

static void encode(struct made_messages *all)
{
    const struct vamp_delivery delivery = {.bucket = all->bucket,
                                           .gaps = all->bucket->gaps,
                                           .gap_count = all->bucket->gap_count,
                                           .lost_before = 2};
    nats_encode_bucket(all->encoder, &delivery, &all->messages);
}

static void drop(struct made_messages *all)
{
    nats_messages_done(&all->messages);
    nats_encoder_free(all->encoder);
    vamp_bucket_release(all->bucket);
    made_run_free(all->made);
}

/* The bytes are those that protobuf-c makes of the same message. */
static void assert_packed(const Vampire__Telemetry__Message *message, const char *bytes,
                          size_t length)
{
    assert_int_equal(vampire__telemetry__message__get_packed_size(message), length);
    uint8_t *packed = malloc(length);
    assert_non_null(packed);
    assert_int_equal(vampire__telemetry__message__pack(message, packed), length);
    assert_memory_equal(packed, bytes, length);
    free(packed);
}

static Vampire__Telemetry__Message *unpack(const struct made_messages *all, unsigned number)
{
    const size_t begin = number > 0 ? all->messages.ends[number - 1] : 0;
    const size_t bytes = all->messages.ends[number] - begin;
    assert_true(bytes <= NATS_MESSAGE_BYTES_MIN);
    Vampire__Telemetry__Message *message = vampire__telemetry__message__unpack(
        NULL, bytes, (const uint8_t *)all->messages.text.bytes + begin);
    assert_non_null(message);
    assert_packed(message, all->messages.text.bytes + begin, bytes);
    assert_int_equal(message->part, number + 1);
    assert_int_equal(message->parts, all->messages.count);
    assert_int_equal(message->version, 1);
    assert_string_equal(message->run->id, all->made->run.id);
    assert_string_equal(message->run->workflow, all->made->run.workflow);
    assert_int_equal(message->number, all->bucket->number);
    assert_int_equal(message->start_ns, all->bucket->start_ns);
    assert_int_equal(message->lost_before, 2);
    return message;
}

/* What the values of a bucket add up to. */
struct sums {
    uint64_t counters, gauges, histograms, in_bins;
};

static struct sums sums_of_bucket(const struct made_run *made, const struct vamp_bucket *bucket)
{
    struct sums sums = {0};
    for (unsigned m = 0; m < made->schema.metric_count; m++) {
        const struct vamp_metric_values *values = &bucket->values[m];
        for (unsigned i = 0; i < values->count; i++) {
            switch (vamp_metrics[made->metrics[m].id].kind) {
            case VAMP_COUNTER:
                sums.counters += values->counters[i].delta + 3 * values->counters[i].value;
                break;
            case VAMP_GAUGE:
                sums.gauges += (uint64_t)(values->gauges[i].value + 3 * values->gauges[i].min +
                                          5 * values->gauges[i].max);
                break;
            case VAMP_HISTOGRAM:
                sums.histograms += values->histograms[i].histogram->sum;
                for (unsigned b = 0; b < values->histograms[i].histogram->bin_count; b++) {
                    const struct vamp_bin_count *bin = &values->histograms[i].histogram->bins[b];
                    sums.in_bins += bin->count * made->schema.bins.lower[bin->bin];
                }
                break;
            }
        }
    }
    return sums;
}

static void add_row(const struct made_run *made, const Vampire__Telemetry__Row *row,
                    struct sums *sums)
{
    assert_int_equal(row->n_labels, made->sets[row->label_set].label_count);
    for (size_t i = 0; i < row->n_labels; i++) {
        assert_true(vamp_utf8_is_valid(row->labels[i]));
    }
    for (size_t i = 0; i < row->n_counters; i++) {
        sums->counters += row->counters[i]->delta + 3 * row->counters[i]->value;
    }
    for (size_t i = 0; i < row->n_gauges; i++) {
        const Vampire__Telemetry__Gauge *gauge = row->gauges[i];
        sums->gauges += (uint64_t)(gauge->value + 3 * gauge->min + 5 * gauge->max);
    }
    for (size_t i = 0; i < row->n_histograms; i++) {
        const Vampire__Telemetry__Histogram *histogram = row->histograms[i];
        sums->histograms += histogram->sum;
        assert_int_equal(histogram->n_bins, histogram->n_counts);
        for (size_t b = 0; b < histogram->n_bins; b++) {
            sums->in_bins += histogram->counts[b] * made->schema.bins.lower[histogram->bins[b]];
        }
    }
}

static void assert_whole(unsigned series, uint64_t number, unsigned least_parts)
{
    struct made_messages all;
    make(&all, series, number);
    encode(&all);
    assert_false(all.messages.text.failed);
    assert_true(all.messages.count >= least_parts);
    const struct sums expected = sums_of_bucket(all.made, all.bucket);
    struct sums found = {0};
    for (unsigned i = 0; i < all.messages.count; i++) {
        Vampire__Telemetry__Message *message = unpack(&all, i);
        assert_int_equal(message->account != NULL, i == 0);
        assert_int_equal(message->n_gaps, i == 0 ? all.bucket->gap_count : 0);
        assert_int_equal(message->n_metrics, all.made->schema.metric_count);
        for (size_t row = 0; row < message->n_rows; row++) {
            add_row(all.made, message->rows[row], &found);
        }
        vampire__telemetry__message__free_unpacked(message, NULL);
    }
    assert_memory_equal(&expected, &found, sizeof found);
    drop(&all);
}

static void test_one_message(void **state)
{
    (void)state;
    assert_whole(10, 9, 1);
}

static void test_a_large_bucket_is_several_messages(void **state)
{
    (void)state;
    assert_whole(1500, 3, 3);
}

static void test_the_account_is_in_the_first(void **state)
{
    (void)state;
    struct made_messages all;
    make(&all, 3, 29);
    encode(&all);
    Vampire__Telemetry__Message *message = unpack(&all, 0);
    assert_int_equal(message->account->received, 293);
    assert_int_equal(message->account->n_lost, 1);
    assert_string_equal(message->account->lost[0]->reason, vamp_loss_name(0));
    assert_int_equal(message->account->lost[0]->events, 20);
    assert_string_equal(message->account->outputs[0]->name, "files");
    assert_int_equal(message->gaps[0]->events, 29);
    vampire__telemetry__message__free_unpacked(message, NULL);
    drop(&all);
}

static void test_the_ending_has_no_bucket(void **state)
{
    (void)state;
    struct made_messages all;
    make(&all, 3, 0);
    const struct vamp_ending ending = {.time_ns = 42, .reason = "finished"};
    nats_encode_ending(all.encoder, &ending, &all.messages);
    assert_int_equal(all.messages.count, 1);
    Vampire__Telemetry__Message *message = vampire__telemetry__message__unpack(
        NULL, all.messages.ends[0], (const uint8_t *)all.messages.text.bytes);
    assert_non_null(message);
    assert_int_equal(message->parts, 0);
    assert_string_equal(message->run->id, all.made->run.id);
    assert_string_equal(message->ending->reason, "finished");
    assert_int_equal(message->ending->time_ns, 42);
    vampire__telemetry__message__free_unpacked(message, NULL);
    drop(&all);
}

static void test_memory_that_runs_out(void **state)
{
    (void)state;
    bool failed = true;
    for (unsigned nth = 1; failed; nth++) {
        struct made_messages all;
        make(&all, 40, 9);
        fault_alloc_fail_at(nth);
        encode(&all);
        failed = fault_alloc_end();
        assert_int_equal(all.messages.text.failed, failed);
        encode(&all);
        assert_false(all.messages.text.failed);
        drop(&all);
    }
}

static void test_names_are_safe_in_a_subject(void **state)
{
    (void)state;
    static const struct {
        const char *workflow, *token;
    } names[] = {
        {"fore cast.1", "fore_cast_1"}, {"*>", "__"}, {"\xC3\xB6-a_Z9", "__-a_Z9"}, {"", "_"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct vamp_run run = {.id = "1-2", .workflow = names[i].workflow};
        char expected[64], *subject = nats_subject("site.hpc", &run);
        (void)snprintf(expected, sizeof expected, "site.hpc.%s.1-2", names[i].token);
        assert_string_equal(subject, expected);
        free(subject);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_message),
        cmocka_unit_test(test_a_large_bucket_is_several_messages),
        cmocka_unit_test(test_the_account_is_in_the_first),
        cmocka_unit_test(test_the_ending_has_no_bucket),
        cmocka_unit_test(test_memory_that_runs_out),
        cmocka_unit_test(test_names_are_safe_in_a_subject),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
