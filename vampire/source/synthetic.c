/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The synthetic source: generates the events of a workflow in which producers offer CDOs step by
 * step and consumers demand them, in a valid order and with plausible times, and the faults of real
 * streams. The same options always result in the same events. Used for tests, measurements and
 * first experiments.
 *
 * Each CDO passes through a list of stages; live CDOs are in a heap ordered by the time of their
 * next stage. A producer begins its next step when its time is reached, so only the CDOs of current
 * steps are live; at the limit of live CDOs, steps begin later.
 */
#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/core/hash.h"
#include "vampire/core/values.h"
#include "vampire/source/pace.h"
#include "vampire/source/source.h"

struct plan {
    int64_t start_ns; /* UTC time of the first event; 0: a fixed time in 2026 */
    uint64_t seed;
    uint64_t producers, consumers; /* at least 1 each */
    uint64_t steps;                /* steps of each producer */
    uint64_t burst;                /* number of CDOs that a producer offers in a step */
    uint64_t fan_out;              /* number of consumers of each CDO, at most `consumers` */
    uint64_t size_min, size_max;   /* bytes */
    int64_t step_ns;               /* time between two steps */
    uint64_t unseen;               /* number of components that joined before the stream starts */
    uint64_t vanish_permille;      /* probability that a component vanishes */
};

/* 2026-01-01T00:00:00Z; fixed, so that all runs are equal */
#define START_NS (INT64_C(1767225600) * 1000000000)
#define LIVE_MAX 65536U
#define MICROSECOND 1000

/* Stages of a CDO, in order; DEMAND_BEGIN to CONSUMER_DISPOSE are repeated for each consumer. */
enum stage {
    DECLARE,
    SEAL,
    OFFER,
    CONSUMER_DECLARE,
    CONSUMER_REQUIRE,
    DEMAND_BEGIN,
    DEMAND,
    TRANSPORT_BEGIN,
    TRANSPORT_END,
    CONSUMER_DISPOSE,
    WITHDRAW_BEGIN,
    WITHDRAW,
    DISPOSE,
};

struct cdo {
    int64_t at_ns;      /* time of the next stage */
    int64_t started_ns; /* start of the transport */
    uint64_t number, size, transport;
    uint32_t producer, consumers_done;
    uint8_t stage;
};

struct component {
    int64_t vanish_ns; /* INT64_MAX: the component does not vanish */
    uint64_t step;     /* next step of a producer */
    bool gone;
};

struct life {
    struct plan plan;
    uint64_t random;
    struct component *components; /* the producers, followed by the consumers */
    uint64_t component_count;
    struct cdo *heap;
    uint32_t live;
    int64_t now_ns;
    int64_t next_step_ns;   /* earliest next step of a producer; INT64_MAX: all steps are done */
    int64_t next_vanish_ns; /* earliest time at which a component vanishes; INT64_MAX: none */
    uint64_t serial, cdos, transports;
    uint64_t joined, left; /* number of components whose JOIN or LEAVE was returned */
    char name[128];
};

/* Returns true with a probability of `permille` / 1,000. */
static bool chance(uint64_t *random, uint64_t permille)
{
    return permille != 0 && vamp_random_next(random) % 1000 < permille;
}

/* ------------------------------------------------------------------ the heap, by (time, number) */

static bool is_earlier(const struct cdo *left, const struct cdo *right)
{
    if (left->at_ns != right->at_ns) {
        return left->at_ns < right->at_ns;
    }
    return left->number < right->number;
}

static void sift_down(struct life *life, uint32_t at)
{
    for (;;) {
        uint32_t least = at;
        for (uint32_t child = 2 * at + 1; child <= 2 * at + 2 && child < life->live; child++) {
            if (is_earlier(&life->heap[child], &life->heap[least])) {
                least = child;
            }
        }
        if (least == at) {
            return;
        }
        const struct cdo kept = life->heap[at];
        life->heap[at] = life->heap[least];
        life->heap[least] = kept;
        at = least;
    }
}

static void push_cdo(struct life *life, const struct cdo *cdo)
{
    assert(life->live < LIVE_MAX);
    uint32_t at = life->live++;
    for (; at > 0 && is_earlier(cdo, &life->heap[(at - 1) / 2]); at = (at - 1) / 2) {
        life->heap[at] = life->heap[(at - 1) / 2];
    }
    life->heap[at] = *cdo;
}

static void drop_first(struct life *life)
{
    life->heap[0] = life->heap[--life->live];
    sift_down(life, 0);
}

/* ------------------------------------------------------------------ creation and destruction */

static int check_plan(const struct plan *plan, struct vamp_err *err)
{
    if (plan->producers == 0 || plan->consumers == 0 || plan->burst == 0 || plan->step_ns <= 0) {
        return vamp_err_set(err, -EINVAL,
                            "a synthetic workflow needs producers, consumers, a burst and a step");
    }
    if (plan->fan_out > plan->consumers) {
        return vamp_err_set(err, -EINVAL, "fan_out %llu is more than the %llu consumers there are",
                            (unsigned long long)plan->fan_out, (unsigned long long)plan->consumers);
    }
    if (plan->size_min > plan->size_max) {
        return vamp_err_set(err, -EINVAL, "size_min is larger than size_max");
    }
    if (plan->steps >= (uint64_t)(INT64_MAX / 4) / (uint64_t)plan->step_ns) {
        return vamp_err_set(err, -EINVAL, "%llu steps last longer than time can be counted",
                            (unsigned long long)plan->steps);
    }
    if (plan->burst > LIVE_MAX / 2) {
        return vamp_err_set(err, -EINVAL, "a burst of more than %u CDOs", LIVE_MAX / 2);
    }
    return 0;
}

static void find_next_vanish(struct life *life)
{
    life->next_vanish_ns = INT64_MAX;
    for (uint64_t i = 0; i < life->component_count; i++) {
        const struct component *component = &life->components[i];
        if (!component->gone && component->vanish_ns < life->next_vanish_ns) {
            life->next_vanish_ns = component->vanish_ns;
        }
    }
}

static void free_life(struct life *life)
{
    if (life != NULL) {
        free(life->components);
        free(life->heap);
        free(life);
    }
}

static int create_life(const struct plan *plan, struct life **ret_life, struct vamp_err *err)
{
    int result = check_plan(plan, err);
    if (result != 0) {
        return result;
    }
    struct life *life = calloc(1, sizeof *life);
    if (life != NULL) {
        life->plan = *plan;
        life->random = plan->seed;
        life->plan.start_ns = plan->start_ns > 0 ? plan->start_ns : START_NS;
        life->now_ns = life->plan.start_ns;
        life->component_count = plan->producers + plan->consumers;
        life->joined = VAMP_MIN(plan->unseen, life->component_count);
        life->components = calloc(life->component_count, sizeof *life->components);
        life->heap = calloc(LIVE_MAX, sizeof *life->heap);
    }
    if (life == NULL || life->components == NULL || life->heap == NULL) {
        free_life(life);
        return vamp_err_set(err, -ENOMEM, "no memory for a synthetic workflow of %llu components",
                            (unsigned long long)plan->producers + plan->consumers);
    }
    const uint64_t whole_ns = (plan->steps + 1) * (uint64_t)plan->step_ns;
    for (uint64_t i = 0; i < life->component_count; i++) {
        life->components[i].vanish_ns = INT64_MAX;
        if (chance(&life->random, plan->vanish_permille)) {
            life->components[i].vanish_ns =
                life->plan.start_ns + (int64_t)(vamp_random_next(&life->random) % whole_ns);
        }
    }
    find_next_vanish(life);
    *ret_life = life;
    return 0;
}

/* ------------------------------------------------------------------ events */

static void start_event(struct life *life, enum vamp_event_kind kind, uint64_t component,
                        struct vamp_event *event)
{
    *event = (struct vamp_event){
        .kind = (uint8_t)kind,
        .serial = ++life->serial,
        .time_ns = life->now_ns,
        .app_id = component + 1,
        .present = VAMP_HAS_SERIAL | VAMP_HAS_TIME | VAMP_HAS_APP,
    };
}

static void set_name(struct life *life, struct vamp_event *event, int length,
                     enum vamp_event_field field)
{
    event->name = life->name;
    event->name_length = (uint32_t)length;
    event->present = (uint16_t)(event->present | (unsigned)field);
}

static void give_join(struct life *life, struct vamp_event *event)
{
    const uint64_t component = life->joined++;
    life->now_ns += MICROSECOND + (int64_t)(vamp_random_next(&life->random) % MICROSECOND);
    start_event(life, VAMP_EVENT_JOIN, component, event);
    const bool is_producer = component < life->plan.producers;
    const char *begin = is_producer ? "Model --" : "Products";
    const uint64_t number = is_producer ? component : component - life->plan.producers;
    const int length =
        snprintf(life->name, sizeof life->name, "%s %llu", begin, (unsigned long long)number);
    set_name(life, event, length, VAMP_HAS_COMPONENT_NAME);
}

static void give_leave(struct life *life, uint64_t component, enum vamp_leave_reason reason,
                       struct vamp_event *event)
{
    life->components[component].gone = true;
    start_event(life, VAMP_EVENT_LEAVE, component, event);
    event->reason = (uint8_t)reason;
    event->present = (uint16_t)(event->present | VAMP_HAS_REASON);
}

static uint64_t consumer_of(const struct life *life, const struct cdo *cdo)
{
    return life->plan.producers + (cdo->number + cdo->consumers_done) % life->plan.consumers;
}

static bool is_consumers(const struct cdo *cdo)
{
    return cdo->stage >= CONSUMER_DECLARE && cdo->stage <= CONSUMER_DISPOSE;
}

/* Sets `event` to the event of the CDO's current stage. */
static void give_stage(struct life *life, struct cdo *cdo, struct vamp_event *event)
{
    static const uint8_t kinds[] = {
        [DECLARE] = VAMP_EVENT_DECLARE,
        [SEAL] = VAMP_EVENT_SEAL,
        [OFFER] = VAMP_EVENT_OFFER,
        [CONSUMER_DECLARE] = VAMP_EVENT_DECLARE,
        [CONSUMER_REQUIRE] = VAMP_EVENT_REQUIRE,
        [DEMAND_BEGIN] = VAMP_EVENT_DEMAND,
        [DEMAND] = VAMP_EVENT_DEMAND,
        [TRANSPORT_BEGIN] = VAMP_EVENT_TRANSPORT_INIT,
        [TRANSPORT_END] = VAMP_EVENT_TRANSPORT_COMPLETED,
        [CONSUMER_DISPOSE] = VAMP_EVENT_DISPOSE,
        [WITHDRAW_BEGIN] = VAMP_EVENT_WITHDRAW,
        [WITHDRAW] = VAMP_EVENT_WITHDRAW,
        [DISPOSE] = VAMP_EVENT_DISPOSE,
    };
    const uint64_t component = is_consumers(cdo) ? consumer_of(life, cdo) : cdo->producer;
    start_event(life, (enum vamp_event_kind)kinds[cdo->stage], component, event);
    unsigned present = event->present | VAMP_HAS_CDO_ID;
    const bool is_before = cdo->stage == DEMAND_BEGIN || cdo->stage == WITHDRAW_BEGIN;
    event->phase = is_before ? VAMP_PHASE_BEFORE : VAMP_PHASE_AFTER;
    uint64_t id = life->plan.seed ^ cdo->number;
    event->cdo_id.high = vamp_random_next(&id);
    event->cdo_id.low = vamp_random_next(&id);
    /* a consumer's handle has no size before its transport begins */
    if (cdo->stage != DECLARE && (!is_consumers(cdo) || cdo->stage >= TRANSPORT_BEGIN)) {
        event->size_bytes = cdo->size;
        present |= VAMP_HAS_SIZE;
    }
    if (cdo->stage == TRANSPORT_BEGIN || cdo->stage == TRANSPORT_END) {
        if (cdo->stage == TRANSPORT_BEGIN) {
            cdo->transport = ++life->transports;
            cdo->started_ns = event->time_ns;
        } else {
            event->duration_ns = (uint64_t)(event->time_ns - cdo->started_ns);
            present |= VAMP_HAS_DURATION;
        }
        event->transport_id = cdo->transport;
        event->peer_id = cdo->producer + 1;
        event->tier = (uint8_t)(VAMP_TIER_OFI + cdo->number % (VAMP_TIER_COUNT - 1));
        event->cause = cdo->number % 8 == 0 ? VAMP_CAUSE_MANAGER : VAMP_CAUSE_DEMAND;
        present |= VAMP_HAS_TRANSPORT | VAMP_HAS_PEER | VAMP_HAS_TIER | VAMP_HAS_CAUSE;
    }
    event->present = (uint16_t)present;
    set_name(life, event,
             snprintf(life->name, sizeof life->name, "class:rd,levelist:%llu,param:%u,number:%llu",
                      (unsigned long long)(cdo->number % 137), cdo->producer + 130,
                      (unsigned long long)cdo->number),
             VAMP_HAS_CDO_NAME);
}

/* ------------------------------------------------------------------ the workflow */

/* Advances the CDO to the next stage. Returns false after the last stage. */
static bool advance_cdo(struct life *life, struct cdo *cdo)
{
    int64_t delay_ns = 1 + (int64_t)(vamp_random_next(&life->random) % (200 * MICROSECOND));
    if (cdo->stage == TRANSPORT_BEGIN) {
        delay_ns += (int64_t)(cdo->size / 8); /* a bandwidth of about 8 GB/s */
    }
    cdo->at_ns = life->now_ns + delay_ns;
    if (cdo->stage == DISPOSE) {
        return false;
    }
    if (cdo->stage == OFFER && life->plan.fan_out == 0) {
        cdo->stage = WITHDRAW_BEGIN;
    } else if (cdo->stage == CONSUMER_DISPOSE && ++cdo->consumers_done < life->plan.fan_out) {
        cdo->stage = CONSUMER_DECLARE;
    } else {
        cdo->stage++;
    }
    return true;
}

static void begin_step(struct life *life, uint64_t producer, int64_t at_ns)
{
    const struct plan *plan = &life->plan;
    const uint64_t span = plan->size_max - plan->size_min;
    for (uint64_t i = 0; i < plan->burst; i++) {
        const uint64_t more = vamp_random_next(&life->random);
        const struct cdo cdo = {
            .at_ns = VAMP_MAX(at_ns, life->now_ns) +
                     (int64_t)(vamp_random_next(&life->random) % (100 * MICROSECOND)),
            .number = ++life->cdos,
            .size = plan->size_min + (span == UINT64_MAX ? more : more % (span + 1)),
            .producer = (uint32_t)producer,
            .stage = DECLARE,
        };
        push_cdo(life, &cdo);
    }
    life->components[producer].step++;
}

/* Returns whether a step begins now: no CDO has an earlier stage, and the limit permits it. */
static bool step_begins(const struct life *life, int64_t at_ns)
{
    return life->live == 0 ||
           (at_ns <= life->heap[0].at_ns && life->live + life->plan.burst <= LIVE_MAX);
}

static void begin_steps(struct life *life)
{
    if (!step_begins(life, life->next_step_ns)) {
        return;
    }
    life->next_step_ns = INT64_MAX;
    for (uint64_t i = 0; i < life->plan.producers; i++) {
        const struct component *producer = &life->components[i];
        while (!producer->gone && producer->step < life->plan.steps) {
            const int64_t at_ns =
                life->plan.start_ns + ((int64_t)producer->step + 1) * life->plan.step_ns;
            if (!step_begins(life, at_ns)) {
                life->next_step_ns = VAMP_MIN(at_ns, life->next_step_ns);
                break;
            }
            begin_step(life, i, at_ns);
        }
    }
}

/* Returns a component that vanishes by `until_ns`; the number of components if there is none. */
static uint64_t next_to_vanish(const struct life *life, int64_t until_ns)
{
    for (uint64_t i = 0; life->next_vanish_ns <= until_ns && i < life->component_count; i++) {
        if (!life->components[i].gone && life->components[i].vanish_ns <= until_ns) {
            return i;
        }
    }
    return life->component_count;
}

static bool actors_are_there(const struct life *life, const struct cdo *cdo)
{
    return !life->components[cdo->producer].gone &&
           !(is_consumers(cdo) && life->components[consumer_of(life, cdo)].gone);
}

static bool next_of_life(struct life *life, struct vamp_event *ret_event)
{
    if (life->joined < life->component_count) {
        give_join(life, ret_event);
        return true;
    }
    for (;;) {
        begin_steps(life);
        if (life->live == 0) {
            while (life->left < life->component_count && life->components[life->left].gone) {
                life->left++;
            }
            if (life->left == life->component_count) {
                return false;
            }
            life->now_ns += MICROSECOND;
            give_leave(life, life->left++, VAMP_LEAVE_FINALIZED, ret_event);
            return true;
        }
        const uint64_t victim = next_to_vanish(life, life->heap[0].at_ns);
        if (victim < life->component_count) {
            const int64_t vanish_ns = life->components[victim].vanish_ns;
            life->now_ns = VAMP_MAX(vanish_ns, life->now_ns);
            give_leave(life, victim, VAMP_LEAVE_VANISHED, ret_event);
            find_next_vanish(life);
            return true;
        }
        struct cdo *cdo = &life->heap[0];
        if (!actors_are_there(life, cdo)) {
            drop_first(life); /* no component is left to continue the lifecycle of the CDO */
            continue;
        }
        life->now_ns = VAMP_MAX(cdo->at_ns, life->now_ns);
        give_stage(life, cdo, ret_event);
        if (advance_cdo(life, cdo)) {
            sift_down(life, 0);
        } else {
            drop_first(life);
        }
        return true;
    }
}

/* ------------------------------------------------------------------ the source */

#define REORDER_MAX 8
#define LATE_MAX_NS (5 * VAMP_NS_PER_SECOND)
#define HELD_NAME_BYTES 128

enum start { START_FIXED, START_NOW };

struct synthetic_options {
    struct plan plan;
    unsigned start; /* enum start */
    char *workflow;
    uint64_t speed;
    uint64_t lost, missing, duplicated, reordered, late; /* permille */
};

struct synthetic {
    const struct synthetic_options *options;
    struct vamp_source_context context;
    struct life *life;
    uint64_t random; /* used for faults only, so that faults do not change the workflow */
    struct vamp_pace pace;
    bool ended;
    uint64_t lost; /* number of dropped events that were not reported yet */
    int64_t lost_ns;

    unsigned pending_times; /* how many times to return `pending`; 0: no event */
    struct vamp_event pending;

    unsigned held_for; /* 0: no event is held back; n: the event follows after n - 1 other events */
    struct vamp_event held;
    char held_name[HELD_NAME_BYTES];
};

#define OPTION(member) offsetof(struct synthetic_options, member)
#define COUNT(name, preset_text, least, most, member, text)                                        \
    {                                                                                              \
        (name), VAMP_OPT_UINT, OPTION(member), (preset_text), .min = (least), .max = (most),       \
                                                              .help = (text)                       \
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
    {"size_min", VAMP_OPT_SIZE, OPTION(plan.size_min), "256KiB", .help = "Smallest CDO"},
    {"size_max", VAMP_OPT_SIZE, OPTION(plan.size_max), "4MiB", .help = "Largest CDO"},
    {"step", VAMP_OPT_DURATION, OPTION(plan.step_ns), "1s", .min = 1000,
     .max = (uint64_t)3600 * VAMP_NS_PER_SECOND, .help = "Time from one step to the next"},
    {"workflow", VAMP_OPT_STRING, OPTION(workflow), "synthetic", .max = 1024,
     .help = "The name of the workflow; the top-level \"workflow\" has no effect on it"},
    {"start", VAMP_OPT_ENUM, OPTION(start), "fixed", .choices = start_words,
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
    free_life(synthetic->life);
    free(synthetic);
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
    synthetic->random = ~synthetic->options->plan.seed;
    vamp_pace_init(&synthetic->pace, context->clock, synthetic->options->speed);
    struct plan plan = synthetic->options->plan;
    plan.start_ns = synthetic->options->start == START_NOW ? vamp_clock_utc_ns(context->clock) : 0;
    int result = create_life(&plan, &synthetic->life, err);
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

/* Holds the pending event back for some events. Returns false if another one is held back. */
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

/* Applies faults to the pending event. Returns whether the event is to be returned now. */
static bool pass_faults(struct synthetic *synthetic)
{
    const struct synthetic_options *options = synthetic->options;
    uint64_t *random = &synthetic->random;
    if (chance(random, options->lost)) {
        synthetic->lost++;
        synthetic->lost_ns = synthetic->pending.time_ns;
        return false;
    }
    if (chance(random, options->missing)) {
        return false;
    }
    if (chance(random, options->late)) {
        synthetic->pending.time_ns -= (int64_t)(vamp_random_next(random) % LATE_MAX_NS);
    }
    synthetic->pending_times = chance(random, options->duplicated) ? 2 : 1;
    return !chance(random, options->reordered) || !hold_event(synthetic);
}

/* Makes the next event pending. Returns false at the end. */
static bool fetch_synthetic(struct synthetic *synthetic)
{
    while (synthetic->pending_times == 0) {
        if (synthetic->held_for == 1 || (synthetic->held_for != 0 && synthetic->ended)) {
            synthetic->pending = synthetic->held;
            synthetic->pending_times = 1;
            synthetic->held_for = 0;
        } else if (synthetic->ended) {
            return false;
        } else if (!next_of_life(synthetic->life, &synthetic->pending)) {
            synthetic->ended = true;
        } else if (!pass_faults(synthetic)) {
            synthetic->pending_times = 0;
        }
    }
    return true;
}

static enum vamp_source_status synthetic_next(void *self, struct vamp_event *ret_event,
                                              struct vamp_err *err)
{
    struct synthetic *synthetic = self;
    (void)err;
    do {
        const bool there = fetch_synthetic(synthetic);
        if (synthetic->lost != 0) { /* a loss must be reported before the event that follows it */
            *ret_event = (struct vamp_event){.kind = VAMP_EVENT_LOST,
                                             .reason = VAMP_LOSS_POOL_MANAGER,
                                             .count = synthetic->lost,
                                             .time_ns = synthetic->lost_ns};
            synthetic->lost = 0;
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
    } while (!vamp_source_is_wanted(&synthetic->context, ret_event));
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
