/* SPDX-License-Identifier: BSD-3-Clause */
/* The second source of a run: samples, merged into the pool's events by time. */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "programs/vampire/pipeline.h"
#include "vampire/core/units.h"
#include "vampire/stats/bucket/declared.h"
#include "vampire/stats/sampled.h"

/* Samples have a ring of their own: those that do not fit are lost without affecting the pool's
 * events. Samples wait in the ring until the pool reaches their time; it holds 4 s of 20,000
 * samples per second. */
#define RING_BYTES ((size_t)16 << 20)
/* If the pool is behind a sample's time by more than this, its clock differs. */
#define PATIENCE_NS (60 * VAMP_NS_PER_SECOND)
/* Duration of one wait for samples. */
#define WAIT_NS (VAMP_NS_PER_SECOND / 100)
#define SHOWN_NAMES_MAX 8

/* ---- start */

int pipeline_open_samples(struct pipeline *pipeline, struct vamp_err *err)
{
    struct samples_intake *samples = &pipeline->samples;
    const struct vamp_samples_options *options = &pipeline->config->samples;
    vamp_declared_seal();
    if (options->listen.count + options->files.count == 0) {
        return 0;
    }
    const struct vamp_source_context context = {
        .clock = pipeline->clock,
        .say = vamp_status_say_line,
        .say_context = &pipeline->status,
        .stop = &samples->stop,
    };
    samples->ops = vamp_source_samples;
    samples->ops.may_block = options->replayed;
    samples->reader = (struct vamp_reader){
        .ops = &samples->ops,
        .clock = pipeline->clock,
        .stop = &samples->never,
    };
    int status = vamp_reader_prepare(&samples->reader, RING_BYTES, err);
    if (status == 0) {
        status = samples->ops.open(options, &context, &samples->source, err);
    }
    return status;
}

int pipeline_start_samples(struct pipeline *pipeline, struct vamp_err *err)
{
    struct samples_intake *samples = &pipeline->samples;
    if (samples->source == NULL) {
        return 0;
    }
    samples->reader.source = samples->source;
    const int status = vamp_reader_start(&samples->reader, err);
    samples->runs = status == 0;
    return status;
}

/* ---- merging by time */

void pipeline_process_sample(struct pipeline *pipeline, const struct vamp_event *sample)
{
    const struct vamp_filter_use *first = pipeline->rules->first;
    const bool passes =
        first == NULL || vamp_event_filter_match(first->compiled, sample, first->components);
    vamp_stats_tick(pipeline->stats, sample->time_ns);
    vamp_outputs_pass_on(&pipeline->outputs, sample, passes);
    if (passes) {
        vamp_stats_sample(pipeline->stats, sample);
    } else {
        pipeline->samples.filtered++;
    }
}

static const struct vamp_event *first_sample(struct samples_intake *samples)
{
    if (samples->held == NULL) {
        (void)vamp_reader_take(&samples->reader, &samples->held, 1);
    }
    assert(samples->held == NULL || samples->held->kind == VAMP_EVENT_SAMPLE);
    return samples->held;
}

/* Returns whether the ring of samples is at least half full. */
static bool many_wait(const struct samples_intake *samples)
{
    size_t bound = 0;
    return vamp_reader_waiting_bytes(&samples->reader, &bound) >= RING_BYTES / 2;
}

/* Returns whether the sample has to wait for the pool's time. */
static bool waits(const struct samples_intake *samples, const struct vamp_event *sample)
{
    if (samples->until_ns == 0 || sample->time_ns <= samples->until_ns) {
        return false;
    }
    return samples->ops.may_block ||
           (sample->time_ns < samples->until_ns + PATIENCE_NS && !many_wait(samples));
}

void pipeline_take_samples(struct pipeline *pipeline, int64_t until_ns)
{
    struct samples_intake *samples = &pipeline->samples;
    const bool before_all = samples->until_ns == 0;
    samples->until_ns = until_ns;
    for (;;) {
        const struct vamp_event *sample = first_sample(samples);
        if (sample == NULL) {
            if (!samples->ops.may_block || vamp_reader_finished(&samples->reader)) {
                return;
            }
            vamp_reader_wait(&samples->reader, WAIT_NS);
            continue;
        }
        if (waits(samples, sample)) {
            return;
        }
        if (before_all && (until_ns == 0 || sample->time_ns < until_ns)) {
            samples->outside++;
        } else if (sample->time_ns <= until_ns) {
            pipeline_process_sample(pipeline, sample);
        } else {
            struct vamp_event now = *sample;
            now.time_ns = until_ns;
            samples->early++;
            pipeline_process_sample(pipeline, &now);
        }
        samples->held = NULL;
    }
}

/* ---- the end */

void pipeline_finish_samples(struct pipeline *pipeline)
{
    struct samples_intake *samples = &pipeline->samples;
    if (!samples->runs) {
        return;
    }
    atomic_store(&samples->stop, 1);
    for (bool finished = false; !finished;) {
        finished = vamp_reader_finished(&samples->reader);
        pipeline_take_samples(pipeline, samples->until_ns);
        if (samples->held != NULL) {
            samples->outside++;
            samples->held = NULL;
        } else if (!finished) {
            vamp_reader_wait(&samples->reader, WAIT_NS);
        }
    }
    vamp_reader_join(&samples->reader);
    samples->runs = false;
}

void pipeline_samples_done(struct pipeline *pipeline)
{
    struct samples_intake *samples = &pipeline->samples;
    if (samples->runs) { /* a later step of the start has failed */
        pipeline_finish_samples(pipeline);
    }
    if (samples->source != NULL) {
        (void)samples->ops.close(samples->source, NULL);
        samples->source = NULL;
    }
    vamp_reader_done(&samples->reader);
}

/* ---- the summary */

static void print_undeclared(const struct vamp_page *page,
                             const struct vamp_sampled_account *account)
{
    char text[VAMP_UNIT_TEXT_BYTES];
    for (unsigned i = 0; i < account->name_count && i < SHOWN_NAMES_MAX; i++) {
        vamp_page_line(page, i == 0 ? "not declared" : "", "%s (%s samples)",
                       account->names[i].name, vamp_count_people(account->names[i].samples, text));
    }
    if (account->name_count > SHOWN_NAMES_MAX) {
        vamp_page_line(page, "", "and %s%u other names",
                       account->name_count == VAMP_UNDECLARED_NAMES_MAX ? "at least " : "",
                       account->name_count - SHOWN_NAMES_MAX);
    }
}

void pipeline_print_samples(const struct pipeline *pipeline, const struct vamp_page *page)
{
    const struct samples_intake *samples = &pipeline->samples;
    const struct vamp_sampled_account *account = vamp_stats_samples(pipeline->stats);
    struct vamp_samples_account lines = {0};
    if (samples->source != NULL) {
        lines = vamp_samples_account(samples->source);
    }
    const struct {
        uint64_t count;
        const char *what;
    } rest[] = {
        {account->late, "of these late: their bucket was closed, a later one has them"},
        {samples->early, "at the pool's time, not their own: its clock is behind, or many waited"},
        {lines.refused, "lines refused: no line protocol, or the time is wrong"},
        {lines.beyond, "lines over samples.max_rate of their input"},
        {samples->reader.lost_samples + pipeline->reader.lost_samples,
         "lost: more came than there is room for until they are counted"},
        {samples->filtered + account->filtered, "left out by a filter"},
        {samples->outside, "from before the first bucket or after the last event"},
        {account->disordered, "older than the one before of their series"},
        {account->out_of_range, "with a value that the metric cannot have"},
        {account->no_room, "over the limit of series or of max_histogram_memory"},
        {account->unreadable, "that are no samples"},
        {account->resets, "times a counter began again"},
        {account->undeclared, "of nothing that is declared"},
    };
    char text[VAMP_UNIT_TEXT_BYTES];
    bool any = account->counted > 0;
    for (size_t i = 0; i < sizeof rest / sizeof rest[0]; i++) {
        any = any || rest[i].count > 0;
    }
    if (!any && samples->source == NULL) {
        return;
    }
    vamp_page_line(page, "samples", "%s counted", vamp_count_people(account->counted, text));
    for (size_t i = 0; i < sizeof rest / sizeof rest[0]; i++) {
        if (rest[i].count > 0) {
            vamp_page_line(page, "", "%s %s", vamp_count_people(rest[i].count, text), rest[i].what);
        }
    }
    print_undeclared(page, account);
}
