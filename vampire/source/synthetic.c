/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The synthetic source: an imagined workflow and, on top of it, the faults a real stream can have.
 * The same options always give the same events. For tests, for measuring, and for trying things
 * out.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/source/pace.h"
#include "vampire/source/source.h"
#include "vampire/source/synthetic_life.h"

#define REORDER_MAX 8
#define LATE_MAX_NS (5 * VAMP_NS_PER_SECOND)
#define HELD_NAME_BYTES 128

enum start { START_FIXED, START_NOW };

struct synthetic_options {
    struct vamp_synthetic_plan plan;
    unsigned start; /* enum start */
    char *workflow;
    uint64_t speed;
    uint64_t lost, missing, duplicated, reordered, late; /* permille */
};

struct synthetic {
    const struct synthetic_options *options;
    struct vamp_source_context context;
    struct vamp_synthetic_life *life;
    struct vamp_random random; /* of the faults alone: without them the workflow is the same */
    struct vamp_pace pace;
    bool ended;
    uint64_t lost; /* dropped and not yet reported */
    int64_t lost_ns;

    unsigned pending_times; /* to give it; 0: nothing is pending */
    struct vamp_event pending;

    unsigned held_for; /* 0: none is held; 1: its turn has come; n: after n - 1 more events */
    struct vamp_event held;
    char held_name[HELD_NAME_BYTES];
};

#define OPTION(member) offsetof(struct synthetic_options, member)
#define COUNT(name, preset_text, least, most, member, text)                                        \
    {                                                                                              \
        .key = (name), .type = VAMP_OPT_UINT, .preset = (preset_text), .min = (least),             \
        .max = (most), .offset = OPTION(member), .help = (text)                                    \
    }

/* In the order of enum start. */
static const char *const start_words[] = {"fixed", "now", NULL};

static const struct vamp_opt synthetic_options[] = {
    COUNT("seed", "1", 0, 0, plan.seed, "Seed of the random numbers"),
    COUNT("producers", "2", 1, 10000, plan.producers, "Components that offer CDOs"),
    COUNT("consumers", "2", 1, 10000, plan.consumers, "Components that demand them"),
    COUNT("steps", "10", 0, 1000000000, plan.steps, "Steps of each producer"),
    COUNT("burst", "10", 1, 10000, plan.burst, "CDOs a producer offers in a step"),
    COUNT("fan_out", "1", 0, 10000, plan.fan_out, "Consumers of each CDO"),
    {.key = "size_min",
     .type = VAMP_OPT_SIZE,
     .preset = "256KiB",
     .offset = OPTION(plan.size_min),
     .help = "Smallest CDO"},
    {.key = "size_max",
     .type = VAMP_OPT_SIZE,
     .preset = "4MiB",
     .offset = OPTION(plan.size_max),
     .help = "Largest CDO"},
    {.key = "step",
     .type = VAMP_OPT_DURATION,
     .preset = "1s",
     .min = 1000,
     .max = (uint64_t)3600 * VAMP_NS_PER_SECOND,
     .offset = OPTION(plan.step_ns),
     .help = "Time from one step to the next"},
    {.key = "workflow",
     .type = VAMP_OPT_STRING,
     .preset = "synthetic",
     .max = 1024,
     .offset = OPTION(workflow),
     .help = "The name of the workflow; the top-level \"workflow\" has no effect on it"},
    {.key = "start",
     .type = VAMP_OPT_ENUM,
     .preset = "fixed",
     .choices = start_words,
     .offset = OPTION(start),
     .help = "When the first step is: fixed, in 2026, so that a run can be repeated, or now"},
    COUNT("unseen", "0", 0, 20000, plan.unseen, "Components that joined before the stream begins"),
    COUNT("vanish", "0", 0, 1000, plan.vanish_permille,
          "Components in 1,000 that die during the run"),
    COUNT("speed", "0", 0, 1000000, speed,
          "Speed as a multiple of the events' own time; 0: as fast as possible"),
    COUNT("lost", "0", 0, 1000, lost, "Events in 1,000 that are lost and reported as lost"),
    COUNT("missing", "0", 0, 1000, missing, "Events in 1,000 that are missing without a report"),
    COUNT("duplicated", "0", 0, 1000, duplicated, "Events in 1,000 that arrive twice"),
    COUNT("reordered", "0", 0, 1000, reordered, "Events in 1,000 that arrive up to 8 events late"),
    COUNT("late", "0", 0, 1000, late, "Events in 1,000 whose time is up to 5 s in the past"),
    {.key = NULL},
};

static int synthetic_close(void *self, struct vamp_err *err)
{
    struct synthetic *synthetic = self;
    (void)err;
    if (synthetic != NULL) {
        vamp_synthetic_life_free(synthetic->life);
        free(synthetic);
    }
    return 0;
}

static int synthetic_open(const void *options, const struct vamp_source_context *context,
                          void **ret_self, struct vamp_err *err)
{
    struct synthetic *synthetic = calloc(1, sizeof *synthetic);
    if (synthetic == NULL) {
        return vamp_err_set(err, -ENOMEM, "no memory for the synthetic source");
    }
    synthetic->options = options;
    synthetic->context = *context;
    synthetic->random.state = ~synthetic->options->plan.seed;
    vamp_pace_init(&synthetic->pace, context->clock, synthetic->options->speed);
    struct vamp_synthetic_plan plan = synthetic->options->plan;
    plan.start_ns = synthetic->options->start == START_NOW ? vamp_clock_utc_ns(context->clock) : 0;
    int result = vamp_synthetic_life_create(&plan, &synthetic->life, err);
    if (result != 0) {
        (void)synthetic_close(synthetic, NULL);
        return result;
    }
    *ret_self = synthetic;
    return 0;
}

static const char *synthetic_workflow(const void *self)
{
    const char *name = ((const struct synthetic *)self)->options->workflow;
    return name != NULL ? name : "";
}

/* ------------------------------------------------------------------ faults */

/* Keeps the pending event back for some events; false when one is kept already. */
static bool hold_event(struct synthetic *synthetic)
{
    if (synthetic->held_for != 0 || synthetic->pending.name_length > HELD_NAME_BYTES) {
        return false;
    }
    synthetic->held = synthetic->pending;
    if (synthetic->held.name_length != 0) {
        memcpy(synthetic->held_name, synthetic->held.name, synthetic->held.name_length);
        synthetic->held.name = synthetic->held_name;
    }
    synthetic->held_for = 2 + (unsigned)(vamp_random_next(&synthetic->random) % REORDER_MAX);
    return true;
}

/* What becomes of an event of the imagined workflow; true when it is to be given now. */
static bool pass_faults(struct synthetic *synthetic)
{
    const struct synthetic_options *options = synthetic->options;
    struct vamp_random *random = &synthetic->random;
    if (vamp_random_chance(random, options->lost)) {
        synthetic->lost++;
        synthetic->lost_ns = synthetic->pending.time_ns;
        return false;
    }
    if (vamp_random_chance(random, options->missing)) {
        return false;
    }
    if (vamp_random_chance(random, options->late)) {
        synthetic->pending.time_ns -= (int64_t)(vamp_random_next(random) % LATE_MAX_NS);
    }
    synthetic->pending_times = vamp_random_chance(random, options->duplicated) ? 2 : 1;
    return !vamp_random_chance(random, options->reordered) || !hold_event(synthetic);
}

/* Makes the next event pending; false at the end. */
static bool fetch_synthetic(struct synthetic *synthetic)
{
    while (synthetic->pending_times == 0) {
        if (synthetic->held_for == 1 || (synthetic->held_for != 0 && synthetic->ended)) {
            synthetic->pending = synthetic->held;
            synthetic->pending_times = 1;
            synthetic->held_for = 0;
        } else if (synthetic->ended) {
            return false;
        } else if (!vamp_synthetic_life_next(synthetic->life, &synthetic->pending)) {
            synthetic->ended = true;
        } else if (!pass_faults(synthetic)) {
            synthetic->pending_times = 0;
        }
    }
    return true;
}

/* A loss is reported before the event that follows it. */
static bool take_lost_mark(struct synthetic *synthetic, struct vamp_event *ret_event)
{
    if (synthetic->lost == 0) {
        return false;
    }
    *ret_event = (struct vamp_event){.kind = VAMP_EVENT_LOST,
                                     .reason = VAMP_LOSS_POOL_MANAGER,
                                     .count = synthetic->lost,
                                     .time_ns = synthetic->lost_ns};
    synthetic->lost = 0;
    return true;
}

static bool is_wanted(const struct synthetic *synthetic, const struct vamp_event *event)
{
    return vamp_event_is_mark(event) ||
           (synthetic->context.event_kinds & UINT64_C(1) << event->kind) != 0;
}

static enum vamp_source_status synthetic_next(void *self, struct vamp_event *ret_event,
                                              struct vamp_err *err)
{
    struct synthetic *synthetic = self;
    (void)err;
    do {
        const bool there = fetch_synthetic(synthetic);
        if (take_lost_mark(synthetic, ret_event)) {
            return VAMP_SOURCE_MORE;
        }
        if (!there) {
            return VAMP_SOURCE_END;
        }
        if (vamp_pace_left_ns(&synthetic->pace, synthetic->pending.time_ns) > 0) {
            return VAMP_SOURCE_EMPTY;
        }
        *ret_event = synthetic->pending;
        synthetic->pending_times--;
        synthetic->held_for -= synthetic->held_for > 1;
    } while (!is_wanted(synthetic, ret_event));
    return VAMP_SOURCE_MORE;
}

static void synthetic_wait(void *self, int64_t timeout_ns)
{
    struct synthetic *synthetic = self;
    if (synthetic->pending_times != 0) {
        vamp_pace_wait(&synthetic->pace, synthetic->pending.time_ns, timeout_ns);
    }
}

const struct vamp_source_ops vamp_source_synthetic = {
    .name = "synthetic",
    .summary = "a generated workflow with chosen faults, always the same for the same options",
    .options = synthetic_options,
    .options_bytes = sizeof(struct synthetic_options),
    .may_block = true,
    .open = synthetic_open,
    .workflow = synthetic_workflow,
    .next = synthetic_next,
    .wait = synthetic_wait,
    .close = synthetic_close,
};
