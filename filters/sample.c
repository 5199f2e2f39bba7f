/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sampling: some events stand for all. What is left out is counted, and the weight says how many
 * events one that passed stands for, so that totals can be estimated. JOIN and LEAVE always pass:
 * without them nobody knows who the others are. One state serves the three kinds of sampling; they
 * differ in how they are made and in the one function that decides.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filters/filter.h"
#include "vampire/core/clock.h"

struct sample {
    uint64_t limit; /* every: n; rate: n a second; fraction: hashes below it pass */
    /* every: events since one passed; rate: passed in the current second. */
    uint64_t count;
    int64_t second; /* rate: the current one, since 1970 */
    uint64_t fraction_ppm;
    struct vamp_filter_counts counts;
};

static void sample_free(void *self)
{
    free(self);
}

static int sample_create(const struct sample *model, void **ret_self, struct vamp_err *err)
{
    struct sample *self = malloc(sizeof(*self));
    if (self == NULL) {
        return vamp_err_set(err, -ENOMEM, "create a sampling filter: no memory");
    }
    *self = *model;
    *ret_self = self;
    return 0;
}

static uint64_t sample_kinds(const void *self)
{
    (void)self;
    return VAMP_EVENT_KINDS_ALL;
}

static const char *sample_selector(const void *self)
{
    (void)self;
    return NULL;
}

static void sample_counts(const void *self, struct vamp_filter_counts *ret_counts)
{
    const struct sample *sample = self;
    *ret_counts = sample->counts;
}

static bool always_passes(const struct vamp_event *event)
{
    return vamp_event_is_mark(event) || event->kind == VAMP_EVENT_JOIN ||
           event->kind == VAMP_EVENT_LEAVE;
}

static bool count_exempt(struct sample *sample)
{
    sample->counts.seen++;
    sample->counts.exempt++;
    return true;
}

static bool count_decided(struct sample *sample, bool passes)
{
    sample->counts.seen++;
    if (passes) {
        sample->counts.passed++;
    } else {
        sample->counts.dropped++;
    }
    return passes;
}

static char *print_number(const char *name, uint64_t number)
{
    char *text = NULL;
    return asprintf(&text, "%s %" PRIu64, name, number) < 0 ? NULL : text;
}

/* ---- every n-th event */

struct number_options {
    uint64_t n;
};

static const struct vamp_opt every_options[] = {
    {.key = "n",
     .type = VAMP_OPT_UINT,
     .preset = "10",
     .min = 1,
     .max = 1000000000,
     .offset = offsetof(struct number_options, n),
     .help = "One event of this many passes, the first of them"},
    {.key = NULL},
};

static int every_create(const void *options, const struct vamp_filter_context *context,
                        void **ret_self, struct vamp_err *err)
{
    (void)context;
    const struct number_options *chosen = options;
    if (chosen->n == 0) {
        return vamp_err_set(err, -EINVAL, "every: n is at least 1");
    }
    struct sample model = {.limit = chosen->n, .counts = {.weight = (double)chosen->n}};
    return sample_create(&model, ret_self, err);
}

static bool every_match(void *self, const struct vamp_event *event)
{
    struct sample *sample = self;
    if (always_passes(event)) {
        return count_exempt(sample);
    }
    bool passes = sample->count == 0;
    sample->count = sample->count + 1 == sample->limit ? 0 : sample->count + 1;
    return count_decided(sample, passes);
}

static char *every_print(const void *self)
{
    const struct sample *sample = self;
    return print_number("every", sample->limit);
}

/* ---- a fraction of the CDOs */

#define PPM 1000000U

static const struct vamp_opt fraction_options[] = {
    {.key = "per_million",
     .type = VAMP_OPT_UINT,
     .preset = "10000",
     .min = 1,
     .max = PPM,
     .offset = offsetof(struct number_options, n),
     .help = "How many CDOs of a million are watched, with all their events"},
    {.key = NULL},
};

static int fraction_create(const void *options, const struct vamp_filter_context *context,
                           void **ret_self, struct vamp_err *err)
{
    (void)context;
    const struct number_options *chosen = options;
    if (chosen->n == 0 || chosen->n > PPM) {
        return vamp_err_set(err, -EINVAL, "fraction: per_million is from 1 to %u", PPM);
    }
    struct sample model = {.fraction_ppm = chosen->n,
                           .counts = {.weight = (double)PPM / (double)chosen->n}};
    model.limit = (uint64_t)(((unsigned __int128)chosen->n << 64) / PPM);
    if (chosen->n == PPM) {
        model.limit = UINT64_MAX;
    }
    return sample_create(&model, ret_self, err);
}

/* The same on every machine and in every version: two vampires watch the same CDOs. Ids may be
 * counters, so the bits have to be mixed (the finalizer of MurmurHash3, by Austin Appleby). */
static uint64_t mix(uint64_t bits)
{
    bits ^= bits >> 33;
    bits *= UINT64_C(0xff51afd7ed558ccd);
    bits ^= bits >> 33;
    bits *= UINT64_C(0xc4ceb9fe1a85ec53);
    return bits ^ bits >> 33;
}

static bool fraction_match(void *self, const struct vamp_event *event)
{
    struct sample *sample = self;
    if (always_passes(event) || !vamp_event_has(event, VAMP_HAS_CDO_ID)) {
        return count_exempt(sample);
    }
    uint64_t hash = mix(mix(event->cdo_id.high + UINT64_C(0x9e3779b97f4a7c15)) ^ event->cdo_id.low);
    return count_decided(sample, sample->fraction_ppm == PPM || hash < sample->limit);
}

static char *fraction_print(const void *self)
{
    const struct sample *sample = self;
    return print_number("fraction", sample->fraction_ppm);
}

/* ---- at most n a second */

/* Event time may step back a little, since events of several senders are merged; they count in the
 * current second. A larger step back means that the time before it was wrong. */
#define STEP_BACK_SECONDS 10

static const struct vamp_opt rate_options[] = {
    {.key = "per_second",
     .type = VAMP_OPT_UINT,
     .preset = "1000",
     .min = 1,
     .max = 1000000000,
     .offset = offsetof(struct number_options, n),
     .help = "At most this many events pass in each second of event time, the first ones"},
    {.key = NULL},
};

static int rate_create(const void *options, const struct vamp_filter_context *context,
                       void **ret_self, struct vamp_err *err)
{
    (void)context;
    const struct number_options *chosen = options;
    if (chosen->n == 0) {
        return vamp_err_set(err, -EINVAL, "rate: per_second is at least 1");
    }
    struct sample model = {.limit = chosen->n, .second = INT64_MIN / VAMP_NS_PER_SECOND - 1};
    return sample_create(&model, ret_self, err);
}

static int64_t second_of(int64_t time_ns)
{
    int64_t second = time_ns / VAMP_NS_PER_SECOND;
    return second - (time_ns % VAMP_NS_PER_SECOND < 0);
}

static bool rate_match(void *self, const struct vamp_event *event)
{
    struct sample *sample = self;
    if (always_passes(event)) {
        return count_exempt(sample);
    }
    int64_t second = second_of(event->time_ns);
    if (second > sample->second || second < sample->second - STEP_BACK_SECONDS) {
        sample->second = second;
        sample->count = 0;
    }
    bool passes = sample->count < sample->limit;
    sample->count += passes;
    return count_decided(sample, passes);
}

static char *rate_print(const void *self)
{
    const struct sample *sample = self;
    return print_number("rate", sample->limit);
}

/* ---- tables */

const struct vamp_filter_ops vamp_filter_every = {
    .name = "every",
    .summary = "lets every n-th event pass; events of one CDO are torn apart",
    .options = every_options,
    .options_bytes = sizeof(struct number_options),
    .create = every_create,
    .kinds = sample_kinds,
    .selector = sample_selector,
    .match = every_match,
    .counts = sample_counts,
    .print = every_print,
    .free = sample_free,
};

const struct vamp_filter_ops vamp_filter_fraction = {
    .name = "fraction",
    .summary = "lets all events of a fraction of the CDOs pass, chosen by CDO id",
    .options = fraction_options,
    .options_bytes = sizeof(struct number_options),
    .create = fraction_create,
    .kinds = sample_kinds,
    .selector = sample_selector,
    .match = fraction_match,
    .counts = sample_counts,
    .print = fraction_print,
    .free = sample_free,
};

const struct vamp_filter_ops vamp_filter_rate = {
    .name = "rate",
    .summary = "lets at most n events pass in each second of event time",
    .options = rate_options,
    .options_bytes = sizeof(struct number_options),
    .create = rate_create,
    .kinds = sample_kinds,
    .selector = sample_selector,
    .match = rate_match,
    .counts = sample_counts,
    .print = rate_print,
    .free = sample_free,
};
