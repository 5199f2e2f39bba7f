/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/run/summary.h"

#include <inttypes.h>

#include "vampire/core/clock.h"
#include "vampire/core/event/event.h"
#include "vampire/core/units.h"
#include "vampire/core/utf8.h"
#include "vampire/run/alarm_lines.h"

#define NAME_COLUMNS 22
/* More components than this are not listed on the terminal; the files have them all. */
#define COMPONENTS_SHOWN 20
#define FILES_SHOWN 8

static void print_operations(FILE *stream, const struct vamp_totals *totals)
{
    (void)fprintf(stream, "  %-*s %14s\n", NAME_COLUMNS, "operation", "count");
    char text[VAMP_UNIT_TEXT_BYTES];
    for (unsigned kind = 1; kind < VAMP_EVENT_KIND_COUNT; kind++) {
        if (totals->operations[kind] > 0) {
            (void)fprintf(stream, "  %-*s %14s\n", NAME_COLUMNS, vamp_event_kind_name(kind),
                          vamp_count_people(totals->operations[kind], text));
        }
    }
    if (totals->operations[0] > 0) {
        (void)fprintf(stream, "  %-*s %14s  at a bound: beyond max_series\n", NAME_COLUMNS,
                      VAMP_SERIES_OTHER, vamp_count_people(totals->operations[0], text));
    }
    (void)fprintf(stream, "  %-*s %14s\n\n", NAME_COLUMNS, "all",
                  vamp_count_people(vamp_totals_operations(totals), text));
}

static void print_quantiles(FILE *stream, const char *what, const struct vamp_histogram *histogram,
                            const struct vamp_bins *bins)
{
    if (histogram == NULL || histogram->count == 0) {
        return;
    }
    char p50[VAMP_UNIT_TEXT_BYTES], p99[VAMP_UNIT_TEXT_BYTES], max[VAMP_UNIT_TEXT_BYTES];
    (void)fprintf(stream, "  %-*s p50 %s, p99 %s, max %s\n", NAME_COLUMNS, what,
                  vamp_duration_people(vamp_histogram_quantile(histogram, bins, 0.5), p50),
                  vamp_duration_people(vamp_histogram_quantile(histogram, bins, 0.99), p99),
                  vamp_duration_people(histogram->max, max));
}

static void print_movement(FILE *stream, const struct vamp_summary *summary)
{
    const struct vamp_totals *totals = summary->totals;
    char count[VAMP_UNIT_TEXT_BYTES], bytes[VAMP_UNIT_TEXT_BYTES];
    (void)fprintf(stream, "  %-*s %s\n", NAME_COLUMNS, "produced",
                  vamp_bytes_people((double)totals->produced_bytes, bytes));
    (void)fprintf(stream, "  %-*s %s, %s\n", NAME_COLUMNS, "transports",
                  vamp_count_people(totals->transports, count),
                  vamp_bytes_people((double)totals->transport_bytes, bytes));
    print_quantiles(stream, "transport time", totals->transport_ns, summary->bins);
    print_quantiles(stream, "wait on demand", totals->demand_wait_ns, summary->bins);
    (void)fputc('\n', stream);
}

/* Names come from the wire: control characters and broken UTF-8 must not reach the terminal. */
static void print_name(FILE *stream, const char *name)
{
    int columns = 0;
    for (const char *c = name; *c != '\0' && columns < NAME_COLUMNS; columns++) {
        uint32_t point = 0;
        const size_t bytes = vamp_utf8_read(c, VAMP_UTF8_BYTES_MAX, &point);
        const bool shown = point >= 0x20 && (point < 0x7f || point >= 0xa0);
        (void)fprintf(stream, "%.*s", (int)(shown ? bytes : 1), shown ? c : "?");
        c += bytes > 0 ? bytes : 1;
    }
    (void)fprintf(stream, "%*s", NAME_COLUMNS - columns, "");
}

static void print_components(FILE *stream, const struct vamp_components *components)
{
    size_t count = vamp_components_count(components);
    if (count < 2) {
        return;
    }
    (void)fprintf(stream, "  %-*s %14s  %s\n", NAME_COLUMNS, "component", "operations", "left");
    char text[VAMP_UNIT_TEXT_BYTES];
    for (size_t i = 1; i < count && i <= COMPONENTS_SHOWN; i++) {
        const struct vamp_component *component = vamp_components_row(components, i);
        (void)fputs("  ", stream);
        print_name(stream, component->name);
        (void)fprintf(stream, " %14s  %s\n", vamp_count_people(component->operations, text),
                      component->left_ns == INT64_MIN ? "no"
                                                      : vamp_leave_reason_name(component->reason));
    }
    if (count - 1 > COMPONENTS_SHOWN) {
        (void)fprintf(stream, "  ... and %zu more\n", count - 1 - COMPONENTS_SHOWN);
    }
    const struct vamp_component *other = vamp_components_row(components, 0);
    if (other->operations > 0) {
        (void)fprintf(stream, "  %-*s %14s  at a bound: beyond max_components\n", NAME_COLUMNS,
                      other->name, vamp_count_people(other->operations, text));
    }
    (void)fputc('\n', stream);
}

/* Returns whether there was any. */
static bool print_output_losses(FILE *stream, const struct vamp_outputs *outputs)
{
    bool any = false;
    char text[VAMP_UNIT_TEXT_BYTES];
    for (unsigned i = 0; i < outputs->count; i++) {
        struct vamp_output_account account;
        vamp_run_output_account(&outputs->items[i], &account);
        if (account.lost > 0) {
            (void)fprintf(stream, "  %-*s %s %s%s (output %s)\n", NAME_COLUMNS, "LOST",
                          vamp_count_people(account.lost, text),
                          vamp_output_unit(outputs->items[i].output), account.lost == 1 ? "" : "s",
                          account.name);
            any = true;
        }
    }
    return any;
}

static void print_losses(FILE *stream, const struct vamp_totals *totals,
                         const struct vamp_outputs *outputs)
{
    const bool of_outputs = print_output_losses(stream, outputs);
    const struct vamp_accounting *account = &totals->accounting;
    char text[VAMP_UNIT_TEXT_BYTES];
    if (totals->unwatched > 0) {
        (void)fprintf(stream, "  %-*s %u time%s, %s in all: the pool manager was gone\n",
                      NAME_COLUMNS, "NOT WATCHED", totals->unwatched,
                      totals->unwatched == 1 ? "" : "s",
                      vamp_duration_people(totals->unwatched_ns, text));
    } else if (vamp_totals_lost(totals) == 0 && account->rejected == 0 && !of_outputs) {
        (void)fprintf(stream, "  %-*s none\n", NAME_COLUMNS, "losses");
    }
    for (unsigned reason = 0; reason < VAMP_LOSS_COUNT; reason++) {
        if (account->lost[reason] > 0) {
            (void)fprintf(stream, "  %-*s %s events (%s)\n", NAME_COLUMNS, "LOST",
                          vamp_count_people(account->lost[reason], text), vamp_loss_name(reason));
        }
    }
    if (account->rejected > 0) {
        (void)fprintf(stream, "  %-*s %s events could not be understood\n", NAME_COLUMNS,
                      "REJECTED", vamp_count_people(account->rejected, text));
    }
    if (account->filtered > 0) {
        (void)fprintf(stream, "  %-*s %s events\n", NAME_COLUMNS, "filtered out",
                      vamp_count_people(account->filtered, text));
    }
    if (account->sampled_out > 0) {
        (void)fprintf(stream, "  %-*s %s events of these; see vampire_weight\n", NAME_COLUMNS,
                      "sampled out", vamp_count_people(account->sampled_out, text));
    }
}

static void print_filter_without_match(void *context, struct vamp_filter_use *use)
{
    char text[VAMP_UNIT_TEXT_BYTES];
    if (use->seen > 0 && use->passed == 0) {
        (void)fprintf(context, "  %-*s %s: passed none of %s events\n", NAME_COLUMNS, "filter",
                      use->path, vamp_count_people(use->seen, text));
    }
}

static void print_filters(FILE *stream, const struct vamp_summary *summary)
{
    char text[VAMP_UNIT_TEXT_BYTES];
    vamp_rules_filters(summary->rules, print_filter_without_match, stream);
    vamp_outputs_filters(summary->outputs, print_filter_without_match, stream);
    if (summary->filter_cut > 0) {
        (void)fprintf(stream, "  %-*s %s pattern matches; their conditions counted as false\n",
                      NAME_COLUMNS, "out of steps", vamp_count_people(summary->filter_cut, text));
    }
}

/* Counts that reached a bound and so have less detail than configured. */
static void print_bounds(FILE *stream, const struct vamp_totals *totals)
{
    const struct {
        uint64_t count;
        const char *what;
    } bounds[] = {
        {totals->series_overflow, "values of series beyond max_series"},
        {totals->labels_given_up, "labels given up by values of series beyond max_series"},
        {totals->evicted, "records given up: beyond max_cdos or max_pending"},
    };
    char text[VAMP_UNIT_TEXT_BYTES];
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
        if (bounds[i].count > 0) {
            (void)fprintf(stream, "  %-*s %s %s\n", NAME_COLUMNS, "at a bound",
                          vamp_count_people(bounds[i].count, text), bounds[i].what);
        }
    }
}

struct files {
    FILE *stream;
    unsigned count;
    const char *last; /* that is not printed yet */
};

static void print_line(FILE *stream, const char *text)
{
    (void)fprintf(stream, "  %-*s %s\n", NAME_COLUMNS, "", text);
}

static void print_path(void *context, const char *path)
{
    struct files *files = context;
    if (files->count++ < FILES_SHOWN) {
        print_line(files->stream, path);
    } else {
        files->last = path;
    }
}

static void print_last_path(const struct files *files, size_t in_all)
{
    if (in_all > FILES_SHOWN + 1) {
        (void)fprintf(files->stream, "  %-*s ... %zu more, the last one:\n", NAME_COLUMNS, "",
                      in_all - FILES_SHOWN);
    }
    if (files->last != NULL) {
        print_line(files->stream, files->last);
    }
}

static void print_outputs(FILE *stream, const struct vamp_outputs *outputs)
{
    for (unsigned i = 0; i < outputs->count; i++) {
        struct vamp_output_account account;
        vamp_run_output_account(&outputs->items[i], &account);
        (void)fprintf(stream, "  %-*s %" PRIu64 " %s%s written", NAME_COLUMNS, account.name,
                      account.written, vamp_output_unit(outputs->items[i].output),
                      account.written == 1 ? "" : "s");
        if (account.lost > 0) {
            (void)fprintf(stream, ", %" PRIu64 " LOST", account.lost);
        }
        const uint64_t deleted = vamp_output_deleted(outputs->items[i].output);
        if (deleted > 0) {
            (void)fprintf(stream, ", %" PRIu64 " older file%s deleted", deleted,
                          deleted == 1 ? "" : "s");
        }
        (void)fputc('\n', stream);
        struct files files = {.stream = stream};
        const size_t in_all = vamp_run_output_paths(&outputs->items[i], print_path, &files);
        print_last_path(&files, in_all);
    }
}

/* What the actions of alarms did. */
static void print_actions(FILE *stream, const struct vamp_action_account *actions)
{
    if (actions->commands) {
        (void)fprintf(stream, "  %-*s %" PRIu64 " run, %" PRIu64 " of them failed", NAME_COLUMNS,
                      "commands", actions->commands_run, actions->commands_failed);
        (void)fprintf(stream, actions->commands_dropped > 0 ? ", %" PRIu64 " not run\n" : "\n",
                      actions->commands_dropped);
    }
    if (actions->syslog) {
        (void)fprintf(stream, "  %-*s %" PRIu64 " messages sent", NAME_COLUMNS, "syslog",
                      actions->syslog_sent);
        (void)fprintf(stream, actions->syslog_dropped > 0 ? ", %" PRIu64 " not sent\n" : "\n",
                      actions->syslog_dropped);
    }
    if (actions->recordings) {
        (void)fprintf(stream, "  %-*s %" PRIu64 " of alarms, %" PRIu64 " events written",
                      NAME_COLUMNS, "recordings", actions->recordings_begun,
                      actions->events_recorded);
        (void)fprintf(stream, actions->events_lost > 0 ? ", %" PRIu64 " LOST\n" : "\n",
                      actions->events_lost);
    }
}

void vamp_summary_print(FILE *stream, const struct vamp_summary *summary)
{
    char text[VAMP_UNIT_TEXT_BYTES];
    (void)fprintf(stream, "\nvampire: workflow \"%s\": %s after %s\n\n", summary->workflow,
                  summary->reason, vamp_duration_people((uint64_t)summary->duration_ns, text));
    print_operations(stream, summary->totals);
    print_movement(stream, summary);
    print_components(stream, summary->components);
    print_losses(stream, summary->totals, summary->outputs);
    print_filters(stream, summary);
    print_bounds(stream, summary->totals);
    print_outputs(stream, summary->outputs);
    vamp_alarm_lines_print(stream, summary->alarms, NAME_COLUMNS, false);
    print_actions(stream, summary->actions);
    (void)fflush(stream);
}
