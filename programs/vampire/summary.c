/* SPDX-License-Identifier: BSD-3-Clause */
/* The summary at the end of a run. python/vampire/run_summary.py prints the same summary from
 * files. */
#include "programs/vampire/pipeline.h"

#include <inttypes.h>

#include "programs/run/page.h"
#include "programs/run/status.h"
#include "programs/vampire/words.h"
#include "vampire/core/units.h"
#include "vampire/core/utf8.h"

/* Maximum number of components listed on the terminal; the files contain all of them. */
#define COMPONENTS_SHOWN 20
#define SHARE_BYTES 256

/* A printed total. */
struct total {
    enum vamp_metric_id id;
    uint64_t value;
    bool is_bytes;
};

static const char *total_text(uint64_t value, bool is_bytes, char text[static VAMP_UNIT_TEXT_BYTES])
{
    return is_bytes ? vamp_bytes_people((double)value, text) : vamp_count_people(value, text);
}

/* Writes the fraction of events that were counted, such as "of 55.0 % of the events", preceded by
 * `before`. Writes nothing if all were counted. This fraction is the coverage of the number of
 * operations, but not of bytes or transports, whose coverage is not known. Returns the length. */
static int events_text(const struct vamp_totals *totals, enum vamp_metric_id id, const char *before,
                       char *text, size_t size)
{
    const double events = (double)vamp_totals_events(totals);
    const double counted = (double)totals->accounting.counted;
    char fraction[VAMP_UNIT_TEXT_BYTES];
    if (counted >= events) {
        return 0;
    }
    (void)vamp_share_people(counted, events, fraction);
    if (id == VAMP_METRIC_POOL_OPERATIONS) {
        return snprintf(text, size, "%sof " VAMP_WORDS_OF_EVENTS, before, fraction);
    }
    return snprintf(text, size, "%s" VAMP_WORDS_FROM_EVENTS, before, fraction);
}

/* The coverage of the shown totals: "  (55.0 % of 9.01 GiB, without what statistics.filters
 * exclude; from 55.0 % of the events; ...)"; "" if it is complete. */
static const char *share_text(const struct vamp_totals *totals, const struct total *shown,
                              unsigned count, char text[static SHARE_BYTES])
{
    char share[VAMP_UNIT_TEXT_BYTES], every[VAMP_UNIT_TEXT_BYTES];
    const char *before = "  (";
    int used = 0;
    text[0] = '\0';
    for (unsigned i = 0; i < count; i++) {
        const uint64_t all = shown[i].value + totals->filtered[shown[i].id];
        if (all > shown[i].value) {
            used += snprintf(text + used, SHARE_BYTES - (size_t)used, "%s" VAMP_WORDS_OF_TOTAL,
                             before, vamp_share_people((double)shown[i].value, (double)all, share),
                             total_text(all, shown[i].is_bytes, every));
            before = " and ";
        }
    }
    if (used > 0) {
        used += snprintf(text + used, SHARE_BYTES - (size_t)used, ", without " VAMP_WORDS_FILTERED);
        before = "; ";
    }
    used += events_text(totals, shown[0].id, before, text + used, SHARE_BYTES - (size_t)used);
    if (used > 0) {
        (void)snprintf(text + used, SHARE_BYTES - (size_t)used, ")");
    }
    return text;
}

/* If the metric cannot be observed, prints the reason instead of a number. Returns whether it can
 * be observed. */
static bool check_observable(const struct vamp_page *page, const struct vamp_coverage *coverage,
                             enum vamp_metric_id id, const char *what)
{
    const struct vamp_absence *absence = vamp_coverage_find(coverage, id);
    if (absence != NULL) {
        char reason[VAMP_ABSENCE_BYTES];
        vamp_page_line(page, what, VAMP_WORDS_UNOBSERVED, vamp_absence_reason(absence, reason));
    }
    return absence == NULL;
}

static bool check_counted(const struct vamp_page *page, const struct vamp_totals *totals,
                          enum vamp_totals_metric metric, const char *what)
{
    const bool counted = (totals->counted & VAMP_TOTALS_BIT(metric)) != 0;
    if (!counted) {
        vamp_page_line(page, what, VAMP_WORDS_ABSENT);
    }
    return counted;
}

static void print_operations(const struct vamp_page *page, const struct vamp_totals *totals)
{
    if (check_counted(page, totals, VAMP_TOTALS_OPERATIONS, "operations")) {
        char text[VAMP_UNIT_TEXT_BYTES], share[SHARE_BYTES];
        vamp_page_line(page, "operation", "%14s", "count");
        for (unsigned kind = 1; kind < VAMP_EVENT_KIND_COUNT; kind++) {
            if (totals->operations[kind] > 0) {
                vamp_page_line(page, vamp_event_kind_name(kind), "%14s",
                               vamp_count_people(totals->operations[kind], text));
            }
        }
        if (totals->operations[0] > 0) {
            vamp_page_line(page, VAMP_SERIES_OTHER, "%14s  " VAMP_WORDS_NO_SERIES,
                           vamp_count_people(totals->operations[0], text));
        }
        const uint64_t value = vamp_totals_operations(totals);
        const struct total all = {VAMP_METRIC_POOL_OPERATIONS, value, false};
        vamp_page_line(page, "all", "%14s%s", vamp_count_people(value, text),
                       share_text(totals, &all, 1, share));
    }
    (void)fputc('\n', page->stream);
}

static void print_quantiles(const struct vamp_page *page, const char *what,
                            const struct vamp_totals *totals, enum vamp_metric_id id,
                            const struct vamp_histogram *histogram, const struct vamp_bins *bins)
{
    char note[SHARE_BYTES] = "", share[VAMP_UNIT_TEXT_BYTES];
    char p50[VAMP_UNIT_TEXT_BYTES], p99[VAMP_UNIT_TEXT_BYTES], max[VAMP_UNIT_TEXT_BYTES];
    const uint64_t count = histogram != NULL ? histogram->count : 0;
    const uint64_t filtered = totals->filtered[id], no_room = totals->no_room[id];
    const uint64_t aside = filtered + no_room, resolution_ns = totals->accounting.resolution_ns;
    if (aside > 0) {
        const char *reasons = VAMP_WORDS_FILTERED " and " VAMP_WORDS_NO_ROOM;
        if (no_room == 0) {
            reasons = VAMP_WORDS_FILTERED;
        } else if (filtered == 0) {
            reasons = VAMP_WORDS_NO_ROOM;
        }
        (void)snprintf(note, sizeof note, "  (%s of them, without %s)",
                       vamp_share_people((double)count, (double)(count + aside), share), reasons);
    }
    if (count == 0 && aside > 0) {
        vamp_page_line(page, what, "none%s", note);
    } else if (count > 0) {
        vamp_page_line(page, what, "p50 %s, p99 %s, max %s%s",
                       vamp_quantile_text(histogram, bins, 0.5, resolution_ns, p50),
                       vamp_quantile_text(histogram, bins, 0.99, resolution_ns, p99),
                       vamp_quantile_text(histogram, bins, 1, resolution_ns, max), note);
    }
}

static void print_movement(const struct vamp_page *page, const struct vamp_totals *totals,
                           const struct vamp_schema *schema)
{
    const struct vamp_coverage *coverage = schema->coverage;
    char count[VAMP_UNIT_TEXT_BYTES], bytes[VAMP_UNIT_TEXT_BYTES], share[SHARE_BYTES];
    if (check_observable(page, coverage, VAMP_METRIC_PRODUCED_BYTES, "produced") &&
        check_counted(page, totals, VAMP_TOTALS_PRODUCED, "produced")) {
        const struct total all = {VAMP_METRIC_PRODUCED_BYTES, totals->produced_bytes, true};
        vamp_page_line(page, "produced", "%s%s", total_text(all.value, true, bytes),
                       share_text(totals, &all, 1, share));
    }
    if (check_observable(page, coverage, VAMP_METRIC_TRANSPORTS, "transports") &&
        check_counted(page, totals, VAMP_TOTALS_TRANSPORTS, "transports")) {
        const struct total all[] = {{VAMP_METRIC_TRANSPORTS, totals->transports, false},
                                    {VAMP_METRIC_TRANSPORT_BYTES, totals->transport_bytes, true}};
        (void)total_text(all[0].value, false, count);
        if ((totals->counted & VAMP_TOTALS_BIT(VAMP_TOTALS_TRANSPORT_BYTES)) != 0) {
            vamp_page_line(page, "transports", "%s, %s%s", count,
                           total_text(all[1].value, true, bytes),
                           share_text(totals, all, 2, share));
        } else {
            vamp_page_line(page, "transports", "%s%s", count, share_text(totals, all, 1, share));
        }
    }
    if (check_observable(page, coverage, VAMP_METRIC_TRANSPORT_NS, "transport time")) {
        print_quantiles(page, "transport time", totals, VAMP_METRIC_TRANSPORT_NS,
                        totals->transport_ns, &schema->bins);
    }
    if (check_observable(page, coverage, VAMP_METRIC_DEMAND_WAIT_NS, "wait on demand")) {
        print_quantiles(page, "wait on demand", totals, VAMP_METRIC_DEMAND_WAIT_NS,
                        totals->demand_wait_ns, &schema->bins);
    }
    (void)fputc('\n', page->stream);
}

/* Cuts or pads the name, which comes from the network, to the width of its column. */
static void print_name(FILE *stream, const char *name)
{
    int columns = 0;
    for (const char *c = name; *c != '\0' && columns < VAMP_PAGE_SUMMARY_COLUMNS; columns++) {
        uint32_t point = 0;
        const size_t bytes = vamp_utf8_read(c, VAMP_UTF8_BYTES_MAX, &point);
        if (bytes > 0 && vamp_utf8_is_shown(point)) {
            (void)fwrite(c, 1, bytes, stream);
        } else {
            (void)fputc('?', stream);
        }
        c += VAMP_MAX(bytes, 1);
    }
    (void)fprintf(stream, "%*s", VAMP_PAGE_SUMMARY_COLUMNS - columns, "");
}

static void print_components(const struct vamp_page *page, const struct vamp_components *components)
{
    const size_t count = vamp_components_listed(components);
    char text[VAMP_UNIT_TEXT_BYTES];
    if (count < 2) {
        return;
    }
    vamp_page_line(page, "component", "%14s  left", "operations");
    for (size_t i = 1; i < count && i <= COMPONENTS_SHOWN; i++) {
        const struct vamp_component *component = vamp_components_row(components, i);
        (void)fputs("  ", page->stream);
        print_name(page->stream, component->name);
        (void)fprintf(page->stream, " %14s  %s\n", vamp_count_people(component->operations, text),
                      component->left_ns == INT64_MIN ? "no"
                                                      : vamp_leave_reason_name(component->reason));
    }
    if (count - 1 > COMPONENTS_SHOWN) {
        (void)fprintf(page->stream, "  ... and %zu more\n", count - 1 - COMPONENTS_SHOWN);
    }
    const struct vamp_component *other = vamp_components_row(components, 0);
    if (other->operations > 0) {
        vamp_page_line(page, other->name, "%14s  " VAMP_WORDS_NO_NAME,
                       vamp_count_people(other->operations, text));
    }
    (void)fputc('\n', page->stream);
}

/* Returns whether there were any losses. */
static bool print_output_losses(const struct vamp_page *page, const struct vamp_outputs *outputs)
{
    bool any = false;
    for (unsigned i = 0; i < outputs->count; i++) {
        struct vamp_output_account account;
        struct vamp_output_state state;
        char text[VAMP_UNIT_TEXT_BYTES];
        vamp_run_output_account(&outputs->items[i], &account);
        vamp_output_state(outputs->items[i].output, &state);
        if (account.lost > 0) {
            vamp_page_line(page, "LOST", "%s %s%s (output %s)",
                           vamp_count_people(account.lost, text), state.unit,
                           vamp_plural(account.lost), account.name);
            any = true;
        }
    }
    return any;
}

/* Prints the line `what`: a number of events, their fraction of `total`, and `note`. Prints nothing
 * for 0 events. */
static void print_event_count(const struct vamp_page *page, const char *what, uint64_t events,
                              uint64_t total, const char *note)
{
    char text[VAMP_UNIT_TEXT_BYTES], share[VAMP_UNIT_TEXT_BYTES];
    if (events > 0) {
        vamp_page_line(page, what, "%s events (%s)%s", vamp_count_people(events, text),
                       vamp_share_people((double)events, (double)total, share), note);
    }
}

static void print_unknown(const struct vamp_page *page, const struct vamp_coverage *coverage)
{
    unsigned position = coverage->absence_count;
    char reason[VAMP_ABSENCE_BYTES];
    const char *what = NULL;
    while ((what = vamp_coverage_next(coverage, &position, reason)) != NULL) {
        if (strcmp(what, vamp_unknown_word(VAMP_UNKNOWN_LOSSES)) != 0) {
            vamp_page_line(page, what, "%s", reason);
        }
    }
}

/* Returns whether every number includes every event that happened. */
static bool is_all_counted(const struct vamp_totals *totals, const struct vamp_coverage *coverage)
{
    bool all = totals->accounting.counted == vamp_totals_events(totals) &&
               coverage->not_subscribed == 0 && totals->evicted == 0 && totals->unidentified == 0;
    for (unsigned id = 0; id < vamp_metric_count(); id++) {
        all = all && totals->filtered[id] == 0 && totals->no_room[id] == 0;
    }
    return all;
}

static void print_losses(const struct vamp_page *page, const struct vamp_totals *totals,
                         const struct vamp_outputs *outputs, const struct vamp_coverage *coverage)
{
    const bool of_outputs = print_output_losses(page, outputs);
    const struct vamp_accounting *account = &totals->accounting;
    char text[VAMP_UNIT_TEXT_BYTES];
    if (totals->unwatched > 0) {
        vamp_page_line(page, "NOT WATCHED", "%u time%s, %s in all: " VAMP_WORDS_UNWATCHED,
                       totals->unwatched, vamp_plural(totals->unwatched),
                       vamp_duration_people(totals->unwatched_ns, text));
    }
    const bool none = totals->unwatched == 0 && vamp_totals_lost(totals) == 0 &&
                      account->rejected == 0 && !of_outputs;
    if (!vamp_coverage_sees_losses(coverage, VAMP_LOSS_POOL_MANAGER)) {
        char reason[VAMP_ABSENCE_BYTES];
        vamp_page_line(page, "losses", "%s%s",
                       vamp_unknown_reason(VAMP_UNKNOWN_BIT(VAMP_UNKNOWN_LOSSES), reason),
                       none ? "; vampire lost none" : "");
    } else if (none) {
        const bool all = is_all_counted(totals, coverage);
        vamp_page_line(page, "losses", "none%s", all ? "; " VAMP_WORDS_EVERY : "");
    }
    print_unknown(page, coverage);
    for (unsigned reason = 0; reason < VAMP_LOSS_COUNT; reason++) {
        if (account->lost[reason] > 0) {
            vamp_page_line(page, "LOST", "%s events (%s)",
                           vamp_count_people(account->lost[reason], text), vamp_loss_name(reason));
        }
    }
    if (account->rejected > 0) {
        vamp_page_line(page, "REJECTED", "%s events " VAMP_WORDS_REJECTED,
                       vamp_count_people(account->rejected, text));
    }
    print_event_count(page, "not subscribed", account->not_subscribed, vamp_totals_events(totals),
                      " " VAMP_WORDS_OTHER_KINDS);
    print_event_count(page, "filtered out", account->filtered, account->decoded, "");
    print_event_count(page, "sampled out", account->sampled_out, account->decoded,
                      " " VAMP_WORDS_SAMPLED_OUT);
    print_event_count(page, "late", account->late, account->counted, " " VAMP_WORDS_LATE);
}

static void print_filters(const struct vamp_page *page, const struct pipeline *pipeline)
{
    const uint64_t cut = pipeline_filter_cut(pipeline);
    char text[VAMP_UNIT_TEXT_BYTES];
    for (const struct vamp_filter_use *use = pipeline->rules->filters; use != NULL;
         use = use->next) {
        if (use->seen > 0 && use->passed == 0) {
            vamp_page_line(page, "filter", "%s: passed none of %s events", use->path,
                           vamp_count_people(use->seen, text));
        }
    }
    if (cut > 0) {
        vamp_page_line(page, "out of steps", "%s " VAMP_WORDS_CUT, vamp_count_people(cut, text));
    }
}

/* Prints the counts that reached a limit and therefore have less detail than configured. */
static void print_bounds(const struct vamp_page *page, const struct vamp_totals *totals)
{
    const struct {
        uint64_t count;
        const char *what;
    } bounds[] = {
        {totals->series_overflow, VAMP_WORDS_OVERFLOW},
        {totals->labels_given_up, VAMP_WORDS_GIVEN_UP},
        {totals->evicted, VAMP_WORDS_EVICTED},
        {totals->unidentified, VAMP_WORDS_UNIDENTIFIED},
        {totals->cdos_uncounted, VAMP_WORDS_UNCOUNTED},
    };
    char text[VAMP_UNIT_TEXT_BYTES];
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
        if (bounds[i].count > 0) {
            vamp_page_line(page, "at a limit", "%s %s", vamp_count_people(bounds[i].count, text),
                           bounds[i].what);
        }
    }
}

static void print_commands(const struct vamp_page *page, struct vamp_commands *commands)
{
    char dropped[48] = "";
    if (commands != NULL) {
        struct vamp_commands_account account;
        vamp_commands_account(commands, &account);
        if (account.dropped > 0) {
            (void)snprintf(dropped, sizeof dropped, ", %" PRIu64 " not run", account.dropped);
        }
        vamp_page_line(page, "commands", "%" PRIu64 " run, %" PRIu64 " of them failed%s",
                       account.succeeded + account.failed, account.failed, dropped);
    }
}

void pipeline_print_summary(const struct pipeline *pipeline, const struct vamp_totals *totals,
                            const char *reason, FILE *stream)
{
    const struct vamp_page page = {stream, VAMP_PAGE_SUMMARY_COLUMNS};
    const struct vamp_schema *schema = vamp_stats_schema(pipeline->stats);
    const int64_t time_ns = vamp_clock_monotonic_ns(pipeline->clock) - pipeline->began_ns;
    char text[VAMP_UNIT_TEXT_BYTES];
    (void)fputc('\n', stream);
    vamp_page_title(&page, "vampire: workflow \"%s\": %s after %s", pipeline->run->workflow, reason,
                    vamp_duration_people((uint64_t)time_ns, text));
    (void)fputc('\n', stream);
    print_operations(&page, totals);
    print_movement(&page, totals, schema);
    print_components(&page, pipeline->components);
    print_losses(&page, totals, &pipeline->outputs, schema->coverage);
    if (strstr(pipeline->examined, VAMP_WORDS_OTHER) != NULL ||
        strstr(pipeline->examined, VAMP_WORDS_COARSE) != NULL ||
        strstr(pipeline->examined, VAMP_WORDS_SHARED) != NULL) {
        vamp_page_line(&page, "examined", "%s", pipeline->examined);
    }
    pipeline_print_samples(pipeline, &page);
    print_filters(&page, pipeline);
    print_bounds(&page, totals);
    vamp_page_outputs(&page, &pipeline->outputs);
    vamp_page_alarms(&page, pipeline->alarms, false);
    print_commands(&page, pipeline->services.commands);
    (void)fflush(stream);
}
