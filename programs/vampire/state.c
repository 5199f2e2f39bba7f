/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of the run for users and for the service manager: a page on SIGUSR1, one line at
 * intervals. */
#include "programs/vampire/pipeline.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "programs/run/page.h"
#include "vampire/core/units.h"
#include "vampire/core/utf8.h"
#include "version.h"

#define NAME_COLUMNS 12

static double seconds(int64_t ns)
{
    return (double)ns / (double)VAMP_NS_PER_SECOND;
}

static void print_source(const struct vamp_page *page, const struct pipeline *pipeline,
                         int64_t now_ns)
{
    const struct vamp_source_ops *ops = pipeline->ops;
    if (ops->describe == NULL) {
        vamp_page_line(page, "source", "%s", ops->name);
        return;
    }
    struct vamp_source_state state;
    ops->describe(pipeline->source, &state);
    vamp_page_line(page, "source", "%s: %s, for %.1f s; joined again %u times%s%s", ops->name,
                   state.what, seconds(now_ns - state.since_ns), state.rejoins,
                   state.where[0] != '\0' ? "; last pool manager " : "", state.where);
    if (state.trouble[0] != '\0') {
        vamp_page_line(page, "", "last trouble: %s", state.trouble);
    }
}

static void print_events(const struct vamp_page *page, struct pipeline *pipeline,
                         const struct vamp_accounting *account, int64_t now_ns)
{
    const double since = seconds(now_ns - pipeline->shown_ns);
    vamp_page_line(page, "events",
                   "received %" PRIu64 " = decoded %" PRIu64 " + rejected %" PRIu64
                   "; decoded = counted %" PRIu64 " + filtered %" PRIu64 "; late %" PRIu64,
                   account->received, account->decoded, account->rejected, account->counted,
                   account->filtered, account->late);
    vamp_page_line(page, "rate", "%.1f a second over the last %.1f s",
                   since > 0 ? (double)(account->received - pipeline->shown_events) / since : 0,
                   since);
    pipeline->shown_events = account->received;
    pipeline->shown_ns = now_ns;
    (void)fprintf(page->stream, "  %-*s", NAME_COLUMNS, "lost before");
    for (unsigned reason = 0; reason < VAMP_LOSS_COUNT; reason++) {
        (void)fprintf(page->stream, " %s %" PRIu64, vamp_loss_name(reason), account->lost[reason]);
    }
    (void)fputc('\n', page->stream);
    size_t bound = 0;
    const size_t waiting = vamp_reader_waiting_bytes(&pipeline->reader, &bound);
    if (bound > 0) {
        vamp_page_line(page, "ring", "%zu of %zu bytes", waiting, bound);
    }
}

static void print_filters(const struct vamp_page *page, const struct vamp_rules *rules)
{
    for (const struct vamp_filter_use *use = rules->filters; use != NULL; use = use->next) {
        vamp_page_line(page, "filter",
                       "%s: passed %" PRIu64 " of %" PRIu64 " events; %" PRIu64
                       " pattern matches stopped at the step limit",
                       use->path, use->passed, use->seen, vamp_event_filter_cut(use->compiled));
    }
}

static void print_fill(const struct vamp_page *page, const char *name, struct vamp_fill fill)
{
    (void)fprintf(page->stream, " %s %" PRIu64 "/%" PRIu64, name, fill.used, fill.bound);
}

static void print_statistics(const struct vamp_page *page, const struct pipeline *pipeline)
{
    struct vamp_stats_state state;
    vamp_stats_state(pipeline->stats, &state);
    if (state.started) {
        char oldest[VAMP_TIME_TEXT_BYTES], newest[VAMP_TIME_TEXT_BYTES];
        vamp_time_text(state.oldest_ns, oldest);
        vamp_time_text(state.newest_ns, newest);
        vamp_page_line(page, "buckets", "open from %s to %s; %" PRIu64 " closed%s", oldest, newest,
                       state.closed, state.gone ? "; the pool is not being observed" : "");
    } else {
        vamp_page_line(page, "buckets", "none yet");
    }
    (void)fprintf(page->stream, "  %-*s", NAME_COLUMNS, "pairing");
    print_fill(page, "cdos", state.cdos);
    print_fill(page, "operations", state.received);
    print_fill(page, "demands", state.demands);
    print_fill(page, "transports", state.transports);
    print_fill(page, "components", state.components);
    (void)fprintf(page->stream, "\n  %-*s", NAME_COLUMNS, "series");
    for (unsigned i = 0; i < state.label_set_count; i++) {
        if (state.label_set_names[i][0] != '\0') {
            print_fill(page, state.label_set_names[i], state.series[i]);
        }
    }
    (void)fputc('\n', page->stream);
}

static void print_outputs(const struct vamp_page *page, const struct vamp_outputs *outputs)
{
    const char *word = "outputs";
    for (unsigned i = 0; i < outputs->count; i++) {
        struct vamp_output_account account;
        struct vamp_output_state state;
        vamp_run_output_account(&outputs->items[i], &account);
        vamp_output_state(outputs->items[i].output, &state);
        vamp_page_line(page, word,
                       "%s: queued %" PRIu64 " = written %" PRIu64 " + lost %" PRIu64
                       " + waiting %" PRIu64 "; queue %" PRIu64 " (of %" PRIu64 ") %s%s",
                       account.name, account.queued, account.written, account.lost, account.waiting,
                       state.used, state.bound, state.bound_unit, state.stuck ? "; stuck" : "");
        word = "";
    }
}

static void print_commands(const struct vamp_page *page, struct vamp_commands *commands)
{
    if (commands != NULL) {
        struct vamp_commands_account account;
        vamp_commands_account(commands, &account);
        vamp_page_line(
            page, "commands",
            "run %" PRIu64 " (failed %" PRIu64 "), waiting %" PRIu64 ", not run %" PRIu64,
            account.succeeded + account.failed, account.failed, account.waiting, account.dropped);
    }
}

static void print_message(void *context, const struct vamp_status_message *message)
{
    char when[VAMP_TIME_TEXT_BYTES];
    vamp_time_text(message->utc_ns, when);
    vamp_page_line(context, "said", "%.19sZ %s%s", when, message->error ? "error: " : "",
                   message->text);
}

static void print_page(struct vamp_page *page, struct pipeline *pipeline)
{
    const int64_t now_ns = vamp_clock_monotonic_ns(pipeline->clock);
    struct vamp_totals totals;
    vamp_stats_totals(pipeline->stats, &totals);
    vamp_page_title(page, "vampire %s, process %ld, run %s, workflow \"%s\", for %.1f s",
                    VAMP_VERSION, (long)getpid(), pipeline->run->id, pipeline->run->workflow,
                    seconds(now_ns - pipeline->began_ns));
    print_source(page, pipeline, now_ns);
    print_events(page, pipeline, &totals.accounting, now_ns);
    print_filters(page, pipeline->rules);
    print_statistics(page, pipeline);
    vamp_page_line(page, "pool", "%" PRIu64 " CDOs, %" PRIu64 " bytes; %zu components present",
                   totals.pool_cdos, totals.pool_bytes,
                   vamp_components_present(pipeline->components));
    print_outputs(page, &pipeline->outputs);
    vamp_page_alarms(page, pipeline->alarms, true);
    print_commands(page, pipeline->services.commands);
    vamp_page_line(page, "itself", "%" PRId64 " bytes resident; processor time %.2f s; %u reloads",
                   vamp_self_rss_bytes(), seconds(vamp_self_cpu_ns()), pipeline->run->reloads);
    vamp_status_kept(&pipeline->status, print_message, page);
    (void)fputs("  end of the state\n", page->stream);
}

/* The page is written with one call, so that it is not interleaved with other output. */
void pipeline_show_if_asked(struct pipeline *pipeline)
{
    if (!vamp_signals_take(&pipeline->start->signals->show, &pipeline->shows_seen)) {
        return;
    }
    char *text = NULL;
    size_t length = 0;
    struct vamp_page page = {open_memstream(&text, &length), NAME_COLUMNS};
    if (page.stream == NULL) {
        vamp_status_error(&pipeline->status, "out of memory to show the state");
        return;
    }
    print_page(&page, pipeline);
    if (fclose(page.stream) == 0) {
        vamp_status_clear(&pipeline->status);
        (void)fwrite(text, 1, length, stderr);
        (void)fflush(stderr);
    }
    free(text);
}

/* ---- the service manager */

void pipeline_status_line(struct pipeline *pipeline, char *line, size_t bytes)
{
    struct vamp_totals totals;
    vamp_stats_totals(pipeline->stats, &totals);
    const char *what = "running";
    struct vamp_source_state state;
    if (pipeline->ops->describe != NULL) {
        pipeline->ops->describe(pipeline->source, &state);
        what = state.what;
    }
    char events[VAMP_UNIT_TEXT_BYTES], lost[VAMP_UNIT_TEXT_BYTES];
    (void)snprintf(line, bytes, "%s: %s; %s events, %s lost",
                   *pipeline->run->workflow != '\0' ? pipeline->run->workflow : "no workflow", what,
                   vamp_count_people(totals.accounting.received, events),
                   vamp_count_people(vamp_totals_lost(&totals), lost));
    vamp_utf8_clean(line); /* a newline in a name would begin another variable */
}
