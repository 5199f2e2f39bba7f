/* SPDX-License-Identifier: BSD-3-Clause */
/* What a person or the service manager reads of the run: the state on SIGUSR1, the summary at the
 * end, one line in between. */
#include "programs/vampire/pipeline.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "programs/run/summary.h"
#include "vampire/core/units.h"
#include "version.h"

#define NAME_COLUMNS 12

static double state_seconds(int64_t ns)
{
    return (double)ns / (double)VAMP_NS_PER_SECOND;
}

static void print_source(const struct pipeline *pipeline, FILE *page, int64_t now_ns)
{
    const struct vamp_source_ops *ops = pipeline->first->source;
    (void)fprintf(page, "  %-*s %s", NAME_COLUMNS, "source", ops->name);
    if (ops->describe != NULL) {
        struct vamp_source_state state;
        ops->describe(pipeline->source, &state);
        (void)fprintf(page, ": %s, for %.1f s; joined again %u times", state.what,
                      state_seconds(now_ns - state.since_ns), state.rejoins);
        if (state.where[0] != '\0') {
            (void)fprintf(page, "; last pool manager %s", state.where);
        }
        if (state.trouble[0] != '\0') {
            (void)fprintf(page, "\n  %-*s last trouble: %s", NAME_COLUMNS, "", state.trouble);
        }
    }
    (void)fputc('\n', page);
}

static void print_events(struct pipeline *pipeline, FILE *page, const struct vamp_totals *totals,
                         int64_t now_ns)
{
    const struct vamp_accounting *account = &totals->accounting;
    const double since = state_seconds(now_ns - pipeline->shown_ns);
    (void)fprintf(page,
                  "  %-*s received %" PRIu64 " = decoded %" PRIu64 " + rejected %" PRIu64
                  "; decoded = counted %" PRIu64 " + filtered %" PRIu64 "; late %" PRIu64 "\n",
                  NAME_COLUMNS, "events", account->received, account->decoded, account->rejected,
                  account->counted, account->filtered, account->late);
    (void)fprintf(page, "  %-*s %.1f a second over the last %.1f s\n", NAME_COLUMNS, "rate",
                  since > 0 ? (double)(account->received - pipeline->shown_events) / since : 0,
                  since);
    pipeline->shown_events = account->received;
    pipeline->shown_ns = now_ns;
    (void)fprintf(page, "  %-*s", NAME_COLUMNS, "lost before");
    for (unsigned reason = 0; reason < VAMP_LOSS_COUNT; reason++) {
        (void)fprintf(page, " %s %" PRIu64, vamp_loss_name(reason), account->lost[reason]);
    }
    (void)fprintf(page, "\n  %-*s %zu of %zu bytes\n", NAME_COLUMNS, "ring",
                  vamp_ring_used_bytes(pipeline->ring), vamp_ring_capacity_bytes(pipeline->ring));
}

static void print_filters(const struct pipeline *pipeline, FILE *page)
{
    for (const struct vamp_filter_use *use = vamp_rules_filters(pipeline->rules); use != NULL;
         use = use->next) {
        (void)fprintf(page,
                      "  %-*s %s: passed %" PRIu64 " of %" PRIu64 " events; %" PRIu64
                      " matches out of steps\n",
                      NAME_COLUMNS, "filter", use->path, use->passed, use->seen,
                      vamp_event_filter_cut(use->compiled));
    }
}

static void print_fill(FILE *page, const char *name, struct vamp_fill fill)
{
    (void)fprintf(page, " %s %" PRIu64 "/%" PRIu64, name, fill.used, fill.bound);
}

static void print_statistics(const struct pipeline *pipeline, FILE *page)
{
    struct vamp_stats_state state;
    vamp_stats_state(pipeline->stats, &state);
    if (state.started) {
        char oldest[VAMP_TIME_TEXT_BYTES], newest[VAMP_TIME_TEXT_BYTES];
        vamp_time_text(state.oldest_ns, oldest);
        vamp_time_text(state.newest_ns, newest);
        (void)fprintf(page, "  %-*s open from %s to %s; %" PRIu64 " closed%s\n", NAME_COLUMNS,
                      "buckets", oldest, newest, state.closed,
                      state.gone ? "; the pool is not being observed" : "");
    } else {
        (void)fprintf(page, "  %-*s none yet\n", NAME_COLUMNS, "buckets");
    }
    (void)fprintf(page, "  %-*s", NAME_COLUMNS, "pairing");
    print_fill(page, "cdos", state.cdos);
    print_fill(page, "operations", state.received);
    print_fill(page, "demands", state.demands);
    print_fill(page, "transports", state.transports);
    print_fill(page, "components", state.components);
    (void)fprintf(page, "\n  %-*s", NAME_COLUMNS, "series");
    for (unsigned i = 0; i < state.label_set_count; i++) {
        if (state.label_set_names[i][0] != '\0') {
            print_fill(page, state.label_set_names[i], state.series[i]);
        }
    }
    (void)fputc('\n', page);
}

static void print_outputs(const struct pipeline *pipeline, FILE *page)
{
    const struct vamp_outputs *outputs = &pipeline->outputs;
    for (unsigned i = 0; i < outputs->count; i++) {
        struct vamp_output_account account;
        vamp_run_output_account(&outputs->items[i], &account);
        struct vamp_output_state state;
        vamp_output_state(outputs->items[i].output, &state);
        (void)fprintf(page,
                      "  %-*s %s: queued %" PRIu64 " = written %" PRIu64 " + lost %" PRIu64
                      " + waiting %" PRIu64 "; queue %" PRIu64 " (of %" PRIu64 ") %s%s\n",
                      NAME_COLUMNS, i == 0 ? "outputs" : "", account.name, account.queued,
                      account.written, account.lost, account.waiting, state.used, state.bound,
                      state.bound_unit, state.stuck ? "; stuck" : "");
    }
}

static void print_actions(const struct pipeline *pipeline, FILE *page)
{
    struct vamp_action_account actions;
    vamp_action_services_account(pipeline->services, &actions);
    if (actions.commands) {
        (void)fprintf(page,
                      "  %-*s run %" PRIu64 " (failed %" PRIu64 "), waiting %" PRIu64
                      ", not run %" PRIu64 "\n",
                      NAME_COLUMNS, "commands", actions.commands_run, actions.commands_failed,
                      actions.commands_waiting, actions.commands_dropped);
    }
    if (actions.syslog) {
        (void)fprintf(page, "  %-*s sent %" PRIu64 ", not sent %" PRIu64 "\n", NAME_COLUMNS,
                      "syslog", actions.syslog_sent, actions.syslog_dropped);
    }
    if (actions.recordings) {
        (void)fprintf(page,
                      "  %-*s begun %" PRIu64 " (failed %" PRIu64 "); events written %" PRIu64
                      ", lost %" PRIu64 "\n",
                      NAME_COLUMNS, "recordings", actions.recordings_begun,
                      actions.recordings_failed, actions.events_recorded, actions.events_lost);
    }
}

static void print_message(void *context, const struct vamp_status_message *message)
{
    FILE *page = context;
    char when[VAMP_TIME_TEXT_BYTES];
    vamp_time_text(message->utc_ns, when);
    (void)fprintf(page, "  %-*s %.19sZ %s%s\n", NAME_COLUMNS, "said", when,
                  message->error ? "error: " : "", message->text);
}

static void print_page(struct pipeline *pipeline, FILE *page)
{
    const int64_t now_ns = vamp_clock_monotonic_ns(pipeline->clock);
    struct vamp_totals totals;
    vamp_stats_totals(pipeline->stats, &totals);
    (void)fprintf(page, "vampire %s, process %ld, run %s, workflow \"%s\", for %.1f s\n",
                  VAMP_VERSION, (long)getpid(), pipeline->run->id, pipeline->run->workflow,
                  state_seconds(now_ns - pipeline->began_ns));
    print_source(pipeline, page, now_ns);
    print_events(pipeline, page, &totals, now_ns);
    print_filters(pipeline, page);
    print_statistics(pipeline, page);
    (void)fprintf(page, "  %-*s %" PRIu64 " CDOs, %" PRIu64 " bytes; %zu components present\n",
                  NAME_COLUMNS, "pool", totals.pool_cdos, totals.pool_bytes,
                  vamp_components_present(pipeline->components));
    print_outputs(pipeline, page);
    vamp_alarm_lines_print(page, pipeline->alarms, NAME_COLUMNS, true);
    print_actions(pipeline, page);
    (void)fprintf(page, "  %-*s %" PRId64 " bytes resident; processor time %.2f s; %u reloads\n",
                  NAME_COLUMNS, "itself", vamp_self_rss_bytes(), state_seconds(vamp_self_cpu_ns()),
                  pipeline->run->reloads);
    vamp_status_kept(&pipeline->status, print_message, page);
    (void)fputs("  end of the state\n", page);
}

/* The page is written with one call, so that no other output stands inside it. */
void pipeline_show_if_asked(struct pipeline *pipeline)
{
    const unsigned asked = atomic_load(&pipeline->start->signals->show);
    if (asked == pipeline->shows_seen) {
        return;
    }
    pipeline->shows_seen = asked;
    char *text = NULL;
    size_t length = 0;
    FILE *page = open_memstream(&text, &length);
    if (page == NULL) {
        vamp_status_error(&pipeline->status, "no memory to show the state");
        return;
    }
    print_page(pipeline, page);
    if (fclose(page) == 0) {
        vamp_status_clear(&pipeline->status);
        (void)fwrite(text, 1, length, stderr);
        (void)fflush(stderr);
    }
    free(text);
}

/* ---- the summary */

static void each_filter_without_match(const void *context, vamp_summary_filter_fn *each,
                                      void *of_each)
{
    const struct pipeline *pipeline = context;
    for (const struct vamp_filter_use *use = vamp_rules_filters(pipeline->rules); use != NULL;
         use = use->next) {
        if (use->seen > 0 && use->passed == 0) {
            each(of_each, &(struct vamp_summary_filter){.path = use->path, .seen = use->seen});
        }
    }
}

void pipeline_print_summary(const struct pipeline *pipeline, const struct vamp_totals *totals,
                            const char *reason, const struct vamp_action_account *actions,
                            FILE *stream)
{
    struct vamp_summary_output outputs[VAMP_OUTPUTS_MAX];
    char state[128];
    (void)snprintf(state, sizeof state, "%s after", reason);
    vamp_summary_of_outputs(&pipeline->outputs, outputs);
    vamp_summary_print(
        stream, &(struct vamp_summary){
                    .workflow = pipeline->run->workflow,
                    .state = state,
                    .duration_ns =
                        (uint64_t)(vamp_clock_monotonic_ns(pipeline->clock) - pipeline->began_ns),
                    .totals = totals,
                    .bins = &vamp_stats_schema(pipeline->stats)->bins,
                    .components = pipeline->components,
                    .outputs = outputs,
                    .output_count = pipeline->outputs.count,
                    .alarms = pipeline->alarms,
                    .actions = actions,
                    .filter_cut = pipeline_filter_cut(pipeline),
                    .filters = each_filter_without_match,
                    .filters_context = pipeline,
                });
}

/* ---- the service manager */

void pipeline_status_line(struct pipeline *pipeline, char *line, size_t bytes)
{
    struct vamp_totals totals;
    vamp_stats_totals(pipeline->stats, &totals);
    const char *what = "running";
    struct vamp_source_state state;
    if (pipeline->first->source->describe != NULL) {
        pipeline->first->source->describe(pipeline->source, &state);
        what = state.what;
    }
    char events[VAMP_UNIT_TEXT_BYTES], lost[VAMP_UNIT_TEXT_BYTES];
    (void)snprintf(line, bytes, "%s: %s; %s events, %s lost",
                   *pipeline->run->workflow != '\0' ? pipeline->run->workflow : "no workflow", what,
                   vamp_count_people(totals.accounting.received, events),
                   vamp_count_people(vamp_totals_lost(&totals), lost));
    for (char *c = line; *c != '\0'; c++) {
        if ((unsigned char)*c < ' ') {
            *c = '?'; /* a newline in a name would begin another variable */
        }
    }
}
