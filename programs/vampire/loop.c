/* SPDX-License-Identifier: BSD-3-Clause */
/* The worker's loop: takes events from the ring until the source thread has closed it. */
#include "programs/vampire/internal.h"

#include "programs/run/self_usage.h"

/* Events processed between two reads of the clock. */
#define BATCH_EVENTS 4096
/* Time between two updates of vampire's own metrics, empty buckets and the status line. */
#define TICK_NS (VAMP_NS_PER_SECOND / 2)
/* The same while no event arrives and no status line is shown. */
#define IDLE_TICK_NS (2 * VAMP_NS_PER_SECOND)

/* To those that take the events themselves. */
static void pass_on(struct pipeline *pipeline, const struct vamp_event *event, bool passed)
{
    if (pipeline->outputs.takes_events) {
        vamp_outputs_record(&pipeline->outputs, event, passed);
    }
    if (pipeline->actions_want_events) {
        vamp_action_services_event(pipeline->services, event, passed);
    }
}

static void process_event(struct pipeline *pipeline, const struct vamp_event *event)
{
    enum vamp_verdict verdict = VAMP_PASSED;
    if (vamp_time_is_valid(event->time_ns)) { /* else it will be rejected */
        pipeline->newest_event_ns = event->time_ns;
        if (!vamp_event_is_mark(event)) {
            vamp_components_observe(pipeline->components, event);
            if (pipeline->rules_judge_events) {
                verdict = vamp_rules_judge(pipeline->rules, event);
            }
        }
    }
    pass_on(pipeline, event, verdict == VAMP_PASSED);
    vamp_stats_observe(pipeline->stats, event, verdict);
    if (event->kind == VAMP_EVENT_GONE) {
        vamp_components_gone(pipeline->components, event->time_ns);
    }
}

/* Processes what is in the ring, at most BATCH_EVENTS + VAMP_LOOK_AHEAD events. Returns how many.
 */
static unsigned process_batch(struct pipeline *pipeline)
{
    const struct vamp_event *events[VAMP_LOOK_AHEAD];
    pipeline->actions_want_events = vamp_action_services_want_events(pipeline->services);
    pipeline->rules_judge_events = vamp_rules_judge_events(pipeline->rules);
    unsigned all = 0;
    unsigned count = 0;
    do {
        count = vamp_ring_take(pipeline->ring, events, VAMP_LOOK_AHEAD);
        vamp_stats_look_ahead(pipeline->stats, events, count);
        for (unsigned i = 0; i < count; i++) {
            process_event(pipeline, events[i]);
        }
        all += count;
    } while (count == VAMP_LOOK_AHEAD && all < BATCH_EVENTS);
    vamp_ring_release(pipeline->ring);
    return all;
}

static void report_cut(void *context, struct vamp_filter_use *use)
{
    struct pipeline *pipeline = context;
    if (!use->cut_reported && vamp_event_filter_cut(use->compiled) > 0) {
        use->cut_reported = true;
        vamp_status_say(&pipeline->status,
                        "filter %s: a pattern ran out of steps on an event, and the condition "
                        "counts as false; vampire_filter_cut counts how often",
                        use->path);
    }
}

void pipeline_report_self(struct pipeline *pipeline)
{
    pipeline_filters(pipeline, report_cut, pipeline);
    vamp_stats_self(pipeline->stats, VAMP_METRIC_VAMPIRE_FILTER_CUT, 0,
                    (int64_t)pipeline_filter_cut(pipeline));
    struct vamp_stats *stats = pipeline->stats;
    vamp_roundtrips_flush(&pipeline->roundtrips, stats);
    vamp_outputs_report(&pipeline->outputs, stats, &pipeline->status);
    vamp_action_services_report(pipeline->services);
    vamp_stats_self(stats, VAMP_METRIC_VAMPIRE_RSS_BYTES, 0, vamp_self_rss_bytes());
    vamp_stats_self(stats, VAMP_METRIC_VAMPIRE_CPU_NS, 0, vamp_self_cpu_ns());
}

static void show_status(struct pipeline *pipeline, int64_t now_ns)
{
    struct vamp_totals totals;
    vamp_stats_totals(pipeline->stats, &totals);
    vamp_status_show(&pipeline->status, &totals, &vamp_stats_schema(pipeline->stats)->bins, now_ns);
}

/* Time to sleep while no event arrives: IDLE_TICK_NS, or until the next bucket closes if that is
 * sooner, but at least TICK_NS. */
static int64_t idle_tick_ns(const struct pipeline *pipeline, int64_t now_ns)
{
    int64_t event_now_ns = 0;
    int64_t close_ns = 0;
    const int64_t watchdog_ns = pipeline->options->notify->watchdog_ns;
    if (pipeline->status.live || (watchdog_ns > 0 && watchdog_ns < IDLE_TICK_NS)) {
        return TICK_NS;
    }
    if (!vamp_event_clock_now(&pipeline->event_clock, now_ns, &event_now_ns) ||
        !vamp_stats_next_close(pipeline->stats, &close_ns) ||
        close_ns >= event_now_ns + IDLE_TICK_NS) {
        return IDLE_TICK_NS;
    }
    return close_ns > event_now_ns + TICK_NS ? close_ns - event_now_ns : TICK_NS;
}

/* When the clock of the events was set back, the statistics open older buckets again. The estimate
 * of event time from before would set it forward again, so it is started over. */
static void follow_clock_steps(struct pipeline *pipeline, int64_t now_ns)
{
    struct vamp_stats_state state;
    vamp_stats_state(pipeline->stats, &state);
    if (state.started && state.newest_ns < pipeline->newest_bucket_ns) {
        vamp_event_clock_init(&pipeline->event_clock);
        vamp_event_clock_observe(&pipeline->event_clock, pipeline->newest_event_ns, now_ns);
    }
    pipeline->newest_bucket_ns = state.newest_ns;
}

/* Closes the buckets of a time without events: an empty ring proves that nothing happened before
 * quiet_until_ns. The time since then proves nothing: while this process was stopped, events were
 * queued outside of it. */
static void report_silence(struct pipeline *pipeline)
{
    int64_t event_ns = 0;
    if (!pipeline->first->source->is_live || pipeline->quiet_until_ns == 0 ||
        !vamp_event_clock_now(&pipeline->event_clock, pipeline->quiet_until_ns, &event_ns) ||
        event_ns <= pipeline->newest_event_ns) {
        return;
    }
    const struct vamp_event mark = {.kind = VAMP_EVENT_TIME, .time_ns = event_ns};
    pass_on(pipeline, &mark, true);
    vamp_stats_observe(pipeline->stats, &mark, VAMP_PASSED);
}

static void tick_if_due(struct pipeline *pipeline, int64_t now_ns, bool idle)
{
    if (!idle && pipeline->next_tick_ns > now_ns + TICK_NS) {
        pipeline->next_tick_ns = now_ns + TICK_NS;
    }
    if (now_ns < pipeline->next_tick_ns) {
        return;
    }
    pipeline_report_self(pipeline);
    vamp_status_flush(&pipeline->status);
    follow_clock_steps(pipeline, now_ns);
    if (idle) {
        report_silence(pipeline);
    }
    pipeline->next_tick_ns = now_ns + (idle ? idle_tick_ns(pipeline, now_ns) : TICK_NS);
    if (pipeline->status.live) {
        show_status(pipeline, now_ns);
    }
}

static void note_batch(struct pipeline *pipeline, int64_t now_ns, size_t ring_bytes)
{
    vamp_event_clock_observe(&pipeline->event_clock, pipeline->newest_event_ns, now_ns);
    vamp_stats_self(pipeline->stats, VAMP_METRIC_VAMPIRE_RING_BYTES, 0, (int64_t)ring_bytes);
    if (pipeline->first->source->is_live) {
        vamp_stats_self(pipeline->stats, VAMP_METRIC_VAMPIRE_LAG_NS, 0,
                        vamp_clock_utc_ns(pipeline->clock) - pipeline->newest_event_ns);
    }
}

void pipeline_loop(struct pipeline *pipeline)
{
    while (!vamp_ring_finished(pipeline->ring)) {
        pipeline_reload_if_asked(pipeline);
        pipeline_show_if_asked(pipeline);
        pipeline_silence_if_asked(pipeline);
        size_t ring_bytes = vamp_ring_used_bytes(pipeline->ring);
        /* Read before the ring: every event from before that moment is in the ring by now. */
        pipeline->quiet_until_ns =
            atomic_load_explicit(&pipeline->source_thread.quiet_until_ns, memory_order_acquire);
        unsigned count = process_batch(pipeline);
        vamp_action_services_follow(pipeline->services);
        int64_t now_ns = vamp_clock_monotonic_ns(pipeline->clock);
        if (count > 0) {
            note_batch(pipeline, now_ns, ring_bytes);
        }
        tick_if_due(pipeline, now_ns, count == 0);
        vamp_outputs_publish(&pipeline->outputs);
        pipeline_notify_alive(pipeline, now_ns);
        if (count == 0) {
            vamp_ring_wait(pipeline->ring, pipeline->next_tick_ns - now_ns);
        }
    }
}
