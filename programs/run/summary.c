/* SPDX-License-Identifier: BSD-3-Clause */
#include "programs/run/summary.h"

#include <inttypes.h>

#include "vampire/core/clock.h"
#include "vampire/core/event/event.h"
#include "vampire/core/units.h"
#include "vampire/core/utf8.h"

#define NAME_COLUMNS VAMP_SUMMARY_NAME_COLUMNS
/* More components than this are not listed on the terminal; the files have them all. */
#define COMPONENTS_SHOWN 20
#define SHARE_BYTES 64
#define FILES_SHOWN 8

static bool has_something_to_say(const struct vamp_alarm_state_count *rule)
{
    return rule->fired > 0 || rule->pending > 0 || rule->not_followed > 0 || rule->delayed > 0;
}

static void print_rule(FILE *stream, const struct vamp_alarm_state_count *rule)
{
    (void)fprintf(stream,
                  "%s (%s): fired %" PRIu64 " time%s, %" PRIu64 " firing, %" PRIu64 " pending",
                  rule->name, vamp_alarm_severity_words[rule->severity], rule->fired,
                  rule->fired == 1 ? "" : "s", rule->firing, rule->pending);
    if (rule->not_followed > 0) {
        (void)fprintf(stream, "; follows %" PRIu64 " series, %" PRIu64 " MORE ARE NOT FOLLOWED",
                      rule->followed, rule->not_followed);
    }
    if (rule->delayed > 0) {
        (void)fprintf(stream, "; %" PRIu64 " changes a bucket late", rule->delayed);
    }
    (void)fputc('\n', stream);
}

void vamp_alarm_lines_print(FILE *stream, const struct vamp_alarms *alarms, int columns, bool all)
{
    const char *word = "alarms";
    for (unsigned i = 0; i < vamp_alarms_count(alarms); i++) {
        struct vamp_alarm_state_count rule;
        vamp_alarms_state(alarms, i, &rule);
        if (all || has_something_to_say(&rule)) {
            (void)fprintf(stream, "  %-*s ", columns, word);
            print_rule(stream, &rule);
            word = "";
        }
    }
}

struct files {
    FILE *stream;
    unsigned count;
    const char *last; /* that is not printed yet */
};

static void print_text(FILE *stream, const char *text)
{
    (void)fprintf(stream, "  %-*s %s\n", VAMP_SUMMARY_NAME_COLUMNS, "", text);
}

static void print_path(void *context, const char *path)
{
    struct files *files = context;
    if (files->count++ < FILES_SHOWN) {
        print_text(files->stream, path);
    } else {
        files->last = path;
    }
}

static void print_last_path(const struct files *files, size_t in_all)
{
    if (in_all > FILES_SHOWN + 1) {
        (void)fprintf(files->stream, "  %-*s ... %zu more, the last one:\n",
                      VAMP_SUMMARY_NAME_COLUMNS, "", in_all - FILES_SHOWN);
    }
    if (files->last != NULL) {
        print_text(files->stream, files->last);
    }
}

void vamp_summary_output_print(FILE *stream, const struct vamp_summary_output *output)
{
    const struct vamp_output_account *account = &output->account;
    (void)fprintf(stream, "  %-*s %" PRIu64 " %s%s written", VAMP_SUMMARY_NAME_COLUMNS,
                  account->name, account->written, output->unit, account->written == 1 ? "" : "s");
    if (account->lost > 0) {
        (void)fprintf(stream, ", %" PRIu64 " LOST", account->lost);
    }
    if (output->deleted > 0) {
        (void)fprintf(stream, ", %" PRIu64 " older file%s deleted", output->deleted,
                      output->deleted == 1 ? "" : "s");
    }
    if (output->left_out > 0) {
        (void)fprintf(stream, ", %" PRIu64 " %s LEFT OUT at a bound", output->left_out,
                      output->left_out_what);
    }
    (void)fputc('\n', stream);
    struct files files = {.stream = stream};
    const size_t in_all = output->paths(output->context, print_path, &files);
    print_last_path(&files, in_all);
}

static size_t each_path(const void *context, void (*each)(void *of_each, const char *path),
                        void *of_each)
{
    return vamp_run_output_paths(context, each, of_each);
}

void vamp_summary_of_outputs(const struct vamp_outputs *outputs,
                             struct vamp_summary_output ret_outputs[static VAMP_OUTPUTS_MAX])
{
    for (unsigned i = 0; i < outputs->count; i++) {
        const struct vamp_run_output *output = &outputs->items[i];
        struct vamp_output_state state;
        vamp_output_state(output->output, &state);
        ret_outputs[i] = (struct vamp_summary_output){
            .unit = state.unit,
            .deleted = state.deleted,
            .left_out = state.left_out,
            .left_out_what = state.left_out_what,
            .paths = each_path,
            .context = output,
        };
        vamp_run_output_account(output, &ret_outputs[i].account);
    }
}

/* "  (of 55.0 % of the events)" after a number that some events are not in; "" when all are. */
static const char *share_text(const struct vamp_totals *totals, char text[static SHARE_BYTES])
{
    const struct vamp_accounting *account = &totals->accounting;
    const double all = (double)account->received + (double)vamp_totals_lost(totals);
    const double share = all > 0 ? 100.0 * (double)account->counted / all : 100.0;
    text[0] = '\0';
    if ((double)account->counted < all) {
        /* All but very few are not all. */
        (void)snprintf(text, SHARE_BYTES, "  (of %s%.1f %% of the events)",
                       share > 99.9 ? "more than " : "", share > 99.9 ? 99.9 : share);
    }
    return text;
}

static bool is_counted(FILE *stream, const struct vamp_totals *totals,
                       enum vamp_totals_metric metric, const char *what)
{
    const bool counted = (totals->counted & VAMP_TOTALS_BIT(metric)) != 0;
    if (!counted) {
        (void)fprintf(stream, "  %-*s not counted, or not in this output\n", NAME_COLUMNS, what);
    }
    return counted;
}

static void print_operations(FILE *stream, const struct vamp_totals *totals)
{
    if (!is_counted(stream, totals, VAMP_TOTALS_OPERATIONS, "operations")) {
        (void)fputc('\n', stream);
        return;
    }
    (void)fprintf(stream, "  %-*s %14s\n", NAME_COLUMNS, "operation", "count");
    char text[VAMP_UNIT_TEXT_BYTES];
    for (unsigned kind = 1; kind < VAMP_EVENT_KIND_COUNT; kind++) {
        if (totals->operations[kind] > 0) {
            (void)fprintf(stream, "  %-*s %14s\n", NAME_COLUMNS, vamp_event_kind_name(kind),
                          vamp_count_people(totals->operations[kind], text));
        }
    }
    if (totals->operations[0] > 0) {
        (void)fprintf(stream, "  %-*s %14s  at a bound: beyond max_series, or without memory\n",
                      NAME_COLUMNS, VAMP_SERIES_OTHER,
                      vamp_count_people(totals->operations[0], text));
    }
    char share[SHARE_BYTES];
    (void)fprintf(stream, "  %-*s %14s%s\n\n", NAME_COLUMNS, "all",
                  vamp_count_people(vamp_totals_operations(totals), text),
                  share_text(totals, share));
}

static void print_quantiles(FILE *stream, const char *what, const struct vamp_histogram *histogram,
                            const struct vamp_summary *summary)
{
    if (histogram == NULL || histogram->count == 0) {
        return;
    }
    char p50[VAMP_UNIT_TEXT_BYTES], p99[VAMP_UNIT_TEXT_BYTES], max[VAMP_UNIT_TEXT_BYTES];
    (void)fprintf(
        stream, "  %-*s p50 %s, p99 %s, max %s\n", NAME_COLUMNS, what,
        vamp_duration_people(vamp_histogram_quantile(histogram, summary->bins, 0.5), p50),
        vamp_duration_people(vamp_histogram_quantile(histogram, summary->bins, 0.99), p99),
        vamp_duration_people(histogram->max, max));
}

/* "1,234, 5.6 GiB" without what is not counted. */
static void print_transports(FILE *stream, const struct vamp_totals *totals)
{
    char count[VAMP_UNIT_TEXT_BYTES], bytes[VAMP_UNIT_TEXT_BYTES], share[SHARE_BYTES];
    const bool has_bytes = (totals->counted & VAMP_TOTALS_BIT(VAMP_TOTALS_TRANSPORT_BYTES)) != 0;
    (void)fprintf(stream, "  %-*s %s%s%s%s\n", NAME_COLUMNS, "transports",
                  vamp_count_people(totals->transports, count), has_bytes ? ", " : "",
                  has_bytes ? vamp_bytes_people((double)totals->transport_bytes, bytes) : "",
                  share_text(totals, share));
}

static void print_movement(FILE *stream, const struct vamp_summary *summary)
{
    const struct vamp_totals *totals = summary->totals;
    char bytes[VAMP_UNIT_TEXT_BYTES], share[SHARE_BYTES];
    if (is_counted(stream, totals, VAMP_TOTALS_PRODUCED, "produced")) {
        (void)fprintf(stream, "  %-*s %s%s\n", NAME_COLUMNS, "produced",
                      vamp_bytes_people((double)totals->produced_bytes, bytes),
                      share_text(totals, share));
    }
    if (is_counted(stream, totals, VAMP_TOTALS_TRANSPORTS, "transports")) {
        print_transports(stream, totals);
    }
    print_quantiles(stream, "transport time", totals->transport_ns, summary);
    print_quantiles(stream, "wait on demand", totals->demand_wait_ns, summary);
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

static void print_component(FILE *stream, const struct vamp_component *component)
{
    char text[VAMP_UNIT_TEXT_BYTES];
    (void)fputs("  ", stream);
    print_name(stream, component->name);
    (void)fprintf(stream, " %14s  %s\n", vamp_count_people(component->operations, text),
                  component->left_ns == INT64_MIN ? "no"
                                                  : vamp_leave_reason_name(component->reason));
}

static void print_components(FILE *stream, const struct vamp_summary *summary)
{
    const size_t count = vamp_components_count(summary->components);
    if (count < 2) {
        return;
    }
    (void)fprintf(stream, "  %-*s %14s  %s\n", NAME_COLUMNS, "component", "operations", "left");
    for (size_t i = 1; i < count && i <= COMPONENTS_SHOWN; i++) {
        print_component(stream, vamp_components_row(summary->components, i));
    }
    if (count - 1 > COMPONENTS_SHOWN) {
        (void)fprintf(stream, "  ... and %zu more\n", count - 1 - COMPONENTS_SHOWN);
    }
    char text[VAMP_UNIT_TEXT_BYTES];
    const struct vamp_component *other = vamp_components_row(summary->components, 0);
    if (other->operations > 0) {
        (void)fprintf(stream, "  %-*s %14s  at a bound: beyond max_components\n", NAME_COLUMNS,
                      other->name, vamp_count_people(other->operations, text));
    }
    (void)fputc('\n', stream);
}

/* Returns whether there was any. */
static bool print_output_losses(FILE *stream, const struct vamp_summary *summary)
{
    bool any = false;
    char text[VAMP_UNIT_TEXT_BYTES];
    for (unsigned i = 0; i < summary->output_count; i++) {
        const struct vamp_summary_output *output = &summary->outputs[i];
        if (output->account.lost > 0) {
            (void)fprintf(stream, "  %-*s %s %s%s (output %s)\n", NAME_COLUMNS, "LOST",
                          vamp_count_people(output->account.lost, text), output->unit,
                          output->account.lost == 1 ? "" : "s", output->account.name);
            any = true;
        }
    }
    return any;
}

static void print_no_losses(FILE *stream, const struct vamp_accounting *account)
{
    const bool all = account->filtered == 0 && account->counted == account->received;
    (void)fprintf(stream, "  %-*s none%s\n", NAME_COLUMNS, "losses",
                  all ? "; every event was counted" : "");
}

/* Events that were turned away, and their share of those that were understood. */
static void print_turned_away(FILE *stream, const char *what, uint64_t events, uint64_t of,
                              const char *note)
{
    char text[VAMP_UNIT_TEXT_BYTES];
    if (events > 0) {
        (void)fprintf(stream, "  %-*s %s events (%.1f %%)%s\n", NAME_COLUMNS, what,
                      vamp_count_people(events, text),
                      100.0 * (double)events / (double)(of > 0 ? of : 1), note);
    }
}

static void print_losses(FILE *stream, const struct vamp_summary *summary)
{
    const struct vamp_totals *totals = summary->totals;
    const bool of_outputs = print_output_losses(stream, summary);
    const struct vamp_accounting *account = &totals->accounting;
    char text[VAMP_UNIT_TEXT_BYTES];
    if (totals->unwatched > 0) {
        (void)fprintf(stream, "  %-*s %u time%s, %s in all: the pool manager was gone\n",
                      NAME_COLUMNS, "NOT WATCHED", totals->unwatched,
                      totals->unwatched == 1 ? "" : "s",
                      vamp_duration_people(totals->unwatched_ns, text));
    } else if (vamp_totals_lost(totals) == 0 && account->rejected == 0 && !of_outputs) {
        print_no_losses(stream, account);
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
    print_turned_away(stream, "filtered out", account->filtered, account->decoded, "");
    print_turned_away(stream, "sampled out", account->sampled_out, account->decoded,
                      " of these; see vampire_weight");
}

static void print_filter_without_match(void *stream, const struct vamp_summary_filter *filter)
{
    char text[VAMP_UNIT_TEXT_BYTES];
    (void)fprintf(stream, "  %-*s %s: passed none of %s events\n", NAME_COLUMNS, "filter",
                  filter->path, vamp_count_people(filter->seen, text));
}

static void print_filters(FILE *stream, const struct vamp_summary *summary)
{
    char text[VAMP_UNIT_TEXT_BYTES];
    summary->filters(summary->filters_context, print_filter_without_match, stream);
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
        {totals->series_overflow,
         "values of series beyond max_series or max_histogram_memory, or without memory"},
        {totals->labels_given_up,
         "labels given up by values of series beyond max_series, or without memory"},
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
    (void)fprintf(stream, "\nvampire: workflow \"%s\": %s %s\n\n", summary->workflow,
                  summary->state, vamp_duration_people(summary->duration_ns, text));
    print_operations(stream, summary->totals);
    print_movement(stream, summary);
    print_components(stream, summary);
    print_losses(stream, summary);
    print_filters(stream, summary);
    print_bounds(stream, summary->totals);
    for (unsigned i = 0; i < summary->output_count; i++) {
        vamp_summary_output_print(stream, &summary->outputs[i]);
    }
    vamp_alarm_lines_print(stream, summary->alarms, NAME_COLUMNS, false);
    print_actions(stream, summary->actions);
    (void)fflush(stream);
}
