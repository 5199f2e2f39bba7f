/* SPDX-License-Identifier: BSD-3-Clause */
#include "top/page.h"

#include <assert.h>
#include <langinfo.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "top/text.h"

/* Fills the line with the text, cut or padded to `columns`. */
static void format_line(struct page_line *line, unsigned columns, const char *format, ...)
    VAMP_PRINTF(3, 4);
static void format_line(struct page_line *line, unsigned columns, const char *format, ...)
{
    char text[PAGE_LINE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    top_text_fit(line->text, sizeof line->text, text,
                 columns < PAGE_COLUMNS ? columns : PAGE_COLUMNS);
}

/* ---- curves */

/* The last values, one column each, as heights of the largest. */
static void curve_text(char *out, size_t out_bytes, const double *values, unsigned count,
                       unsigned columns)
{
    static const char *const blocks[] = {"\u2581", "\u2582", "\u2583", "\u2584",
                                         "\u2585", "\u2586", "\u2587", "\u2588"};
    static const char *const letters[] = {"_", ".", ":", "-", "=", "+", "*", "#"};
    const char *const *heights = strcmp(nl_langinfo(CODESET), "UTF-8") == 0 ? blocks : letters;
    unsigned first = count > columns ? count - columns : 0;
    double largest = 0;
    for (unsigned i = first; i < count; i++) {
        largest = values[i] > largest ? values[i] : largest;
    }
    size_t used = 0;
    out[0] = '\0';
    for (unsigned i = first; i < count; i++) {
        unsigned height = largest > 0 ? (unsigned)(values[i] / largest * 7.999) : 0;
        assert(height < sizeof blocks / sizeof blocks[0]);
        const char *mark = values[i] > 0 ? heights[height] : " ";
        size_t bytes = strlen(mark);
        if (used + bytes >= out_bytes) {
            break;
        }
        memcpy(out + used, mark, bytes + 1);
        used += bytes;
    }
}

/* Puts the curve after the text when there is room for a useful one. */
static void add_curve(struct page_line *line, unsigned columns, const double *values,
                      unsigned count, unsigned from_column)
{
    if (columns < from_column + 12) {
        return;
    }
    unsigned width = columns - from_column - 1;
    char left[PAGE_LINE_BYTES];
    char curve[PAGE_LINE_BYTES];
    /* It is padded: only what lies after the padding would be cut. */
    size_t bytes = strlen(line->text);
    while (bytes > 0 && line->text[bytes - 1] == ' ') {
        line->text[--bytes] = '\0';
    }
    top_text_fit(left, sizeof left, line->text, from_column);
    curve_text(curve, sizeof curve, values, count, width < TOP_HISTORY ? width : TOP_HISTORY);
    format_line(line, columns, "%s %s", left, curve);
}

/* ---- head */

static void head_run(struct page_line *line, const struct top_snapshot *s, const char *name,
                     unsigned columns)
{
    char width[TOP_NUMBER_BYTES];
    char clean[TOP_NAME_BYTES];
    top_text_time(width, s->width_ns);
    top_text_clean(clean, sizeof clean, name);
    line->mark = PAGE_TITLE;
    if (!s->any) {
        format_line(line, columns, "vampire-top  %s  waiting for the first bucket of %s",
                    s->workflow, clean);
        return;
    }
    const char *time = strlen(s->time) > 21 ? s->time + 11 : s->time;
    const char *since = strlen(s->since) > 19 ? s->since + 11 : s->since;
    char ended[TOP_WORD_BYTES + 16] = "";
    if (s->ended) {
        (void)snprintf(ended, sizeof ended, "  ended: %s", s->end_reason);
    }
    /* A long name of a workflow leaves room for what changes. */
    char workflow[PAGE_LINE_BYTES];
    unsigned wanted = top_text_columns(s->workflow);
    top_text_fit(workflow, sizeof workflow, s->workflow,
                 wanted < columns / 3 ? wanted : columns / 3);
    if (s->mode == TOP_MODE_SUMS) {
        format_line(line, columns, "vampire-top  %s%s  %.8s to %.10s UTC  sums of %.0f buckets",
                    workflow, ended, since, time, s->buckets);
        return;
    }
    format_line(line, columns, "vampire-top  %s%s  %.10s UTC  bucket %.0f of %s%s", workflow, ended,
                time, s->bucket, width, s->partial ? "  (begun within it)" : "");
}

static void head_operations(struct page_line *line, const struct top_snapshot *s, unsigned columns,
                            bool curve)
{
    const char *each = s->mode == TOP_MODE_SUMS ? "" : "/s";
    char total[TOP_NUMBER_BYTES];
    char kinds[PAGE_LINE_BYTES] = "";
    size_t used = 0;
    top_text_count(total, s->operations);
    static const char *const wanted[] = {"offer", "demand", "withdraw"};
    for (size_t w = 0; w < sizeof wanted / sizeof wanted[0]; w++) {
        for (unsigned i = 0; i < s->kind_count; i++) {
            if (strcmp(s->kinds[i].name, wanted[w]) == 0) {
                char count[TOP_NUMBER_BYTES];
                top_text_count(count, s->kinds[i].operations);
                int more = snprintf(kinds + used, sizeof kinds - used, "  %s %s", wanted[w], count);
                used += more > 0 ? (size_t)more : 0;
            }
        }
    }
    line->mark = PAGE_PLAIN;
    format_line(line, columns, "operations %8s%s%s", total, each, kinds);
    if (curve) {
        add_curve(line, columns, s->operations_history, s->history_count, 61);
    }
}

static void head_bytes(struct page_line *line, const struct top_snapshot *s, unsigned columns,
                       bool curve)
{
    const char *each = s->mode == TOP_MODE_SUMS ? "" : "/s";
    char produced[TOP_NUMBER_BYTES];
    char moved[TOP_NUMBER_BYTES];
    top_text_bytes(produced, s->produced);
    top_text_bytes(moved, s->moved);
    char lag[TOP_NUMBER_BYTES + 8] = "";
    if (s->lag_ns.known) { /* how old events are when vampire counts them */
        char time[TOP_NUMBER_BYTES];
        top_text_time(time, s->lag_ns.value);
        (void)snprintf(lag, sizeof lag, "  lag %s", time);
    }
    line->mark = s->width_ns > 0 && s->lag_ns.value > s->width_ns ? PAGE_WARNING : PAGE_PLAIN;
    format_line(line, columns, "bytes      %8s%s moved  %s%s produced%s", moved, each, produced,
                each, lag);
    if (curve) {
        add_curve(line, columns, s->moved_history, s->history_count, 61);
    }
}

/* "?" until a stream that began in the middle has reported it. */
static void gauge_text(char out[static TOP_NUMBER_BYTES], const struct top_gauge *gauge,
                       void (*write)(char out[static TOP_NUMBER_BYTES], double value))
{
    if (gauge->known) {
        write(out, gauge->value);
    } else {
        memcpy(out, "?", 2);
    }
}

static void head_pool(struct page_line *line, const struct top_snapshot *s, unsigned columns)
{
    char cdos[TOP_NUMBER_BYTES];
    char bytes[TOP_NUMBER_BYTES];
    char components[TOP_NUMBER_BYTES];
    char active[TOP_NUMBER_BYTES];
    char anomalies[TOP_NUMBER_BYTES];
    gauge_text(cdos, &s->pool_cdos, top_text_count);
    gauge_text(bytes, &s->pool_bytes, top_text_bytes);
    gauge_text(components, &s->components, top_text_count);
    gauge_text(active, &s->transports_active, top_text_count);
    top_text_count(anomalies, s->anomalies);
    line->mark = s->anomalies > 0 ? PAGE_WARNING : PAGE_PLAIN;
    format_line(line, columns,
                "pool       %8s in %s CDOs  components %s  transports %s  anomalies %s", bytes,
                cdos, components, active, anomalies);
}

/* A list that continues in the next line when one is full; what does not fit into the last line is
 * cut there. */
struct list {
    struct page_line *lines;
    unsigned count, most, columns;
    enum page_mark mark;
    char text[PAGE_LINE_BYTES]; /* of the last line */
};

static void list_begin(struct list *list, struct page_line *lines, unsigned most, unsigned columns,
                       const char *title)
{
    list->lines = lines;
    list->count = 1;
    list->most = most;
    list->columns = columns;
    (void)snprintf(list->text, sizeof list->text, "%-9s", title);
}

static void list_end_line(struct list *list)
{
    struct page_line *line = &list->lines[list->count - 1];
    line->mark = list->mark;
    format_line(line, list->columns, "%s", list->text);
}

static void list_add(struct list *list, const char *item)
{
    assert(list->count <= list->most && list->text[0] != '\0'); /* a line begins with its title */
    bool first = list->text[strlen(list->text) - 1] == ' ';
    if (!first && list->count < list->most &&
        top_text_columns(list->text) + 2 + top_text_columns(item) > list->columns) {
        list_end_line(list);
        list->count++;
        (void)snprintf(list->text, sizeof list->text, "%-9s", "");
    }
    size_t used = strlen(list->text);
    (void)snprintf(list->text + used, sizeof list->text - used, "  %s", item);
}

static unsigned vanished_lines(struct page_line *lines, const struct top_snapshot *s,
                               unsigned columns)
{
    struct list list = {.mark = PAGE_WARNING};
    bool any = false;
    list_begin(&list, lines, PAGE_VANISHED_LINES, columns, "vanished");
    for (size_t i = 0; i < s->component_count; i++) {
        if (s->component_rows[i].vanished) {
            list_add(&list, s->component_rows[i].name);
            any = true;
        }
    }
    list_end_line(&list);
    return any ? list.count : 0;
}

unsigned page_losses(struct page_line lines[static PAGE_LOSS_LINES], const struct top_snapshot *s,
                     unsigned columns)
{
    bool any = s->loss_count > 0 || s->gaps > 0 || s->bad_lines > 0;
    struct list list = {.mark = any ? PAGE_LOSS : PAGE_PLAIN};
    char item[sizeof s->gap + 2 * TOP_NUMBER_BYTES + 32];
    char count[TOP_NUMBER_BYTES];
    list_begin(&list, lines, PAGE_LOSS_LINES, columns, "losses");
    for (unsigned i = 0; i < s->loss_count; i++) {
        char fresh[TOP_NUMBER_BYTES];
        top_text_count(count, s->losses[i].count);
        top_text_count(fresh, s->losses[i].fresh);
        bool grows = s->losses[i].fresh > 0;
        (void)snprintf(item, sizeof item, "%s %s%s%s%s", count, s->losses[i].text,
                       grows ? " (+" : "", grows ? fresh : "", grows ? ")" : "");
        list_add(&list, item);
    }
    if (s->gaps > 0) {
        (void)snprintf(item, sizeof item, "%.0f gap%s, last %s", s->gaps, s->gaps > 1 ? "s" : "",
                       s->gap);
        list_add(&list, item);
    }
    if (s->bad_lines > 0) {
        top_text_count(count, s->bad_lines);
        (void)snprintf(item, sizeof item, "%s lines not understood", count);
        list_add(&list, item);
    }
    if (!any) {
        list_add(&list, "none");
    }
    list_end_line(&list);
    return list.count;
}

unsigned page_head(struct page_line lines[static PAGE_HEAD_LINES],
                   const struct top_snapshot *snapshot, const char *name, unsigned columns,
                   bool curve)
{
    unsigned count = 4;
    _Static_assert(4 + PAGE_VANISHED_LINES + PAGE_LOSS_LINES == PAGE_HEAD_LINES, "the head's room");
    head_run(&lines[0], snapshot, name, columns);
    head_operations(&lines[1], snapshot, columns, curve);
    head_bytes(&lines[2], snapshot, columns, curve);
    head_pool(&lines[3], snapshot, columns);
    count += vanished_lines(&lines[count], snapshot, columns);
    count += page_losses(&lines[count], snapshot, columns);
    assert(count <= PAGE_HEAD_LINES);
    return count;
}

/* ---- tables */

/* Columns of the numbers after a component's name and after a pair's names. */
#define COMPONENT_NUMBERS 57
#define PAIR_NUMBERS 48

/* In a wide terminal the numbers stay near their names. */
#define NAME_COLUMNS_MAX 64

static unsigned name_columns(unsigned columns, unsigned numbers)
{
    unsigned room = columns > numbers + 8 ? columns - numbers : 8;
    return room < NAME_COLUMNS_MAX ? room : NAME_COLUMNS_MAX;
}

/* Two times of three: an idle row has none. */
static void times_text(char out[static 3][TOP_NUMBER_BYTES], const struct top_times *times)
{
    const double values[] = {times->p50, times->p99, times->max};
    for (unsigned i = 0; i < 3; i++) {
        if (times->count > 0) {
            top_text_time(out[i], values[i]);
        } else {
            memcpy(out[i], "-", 2);
        }
    }
}

void page_component_title(struct page_line *line, enum top_mode mode, unsigned columns)
{
    char name[PAGE_LINE_BYTES];
    const bool sums = mode == TOP_MODE_SUMS;
    line->mark = PAGE_TITLE;
    top_text_fit(name, sizeof name, "COMPONENT", name_columns(columns, COMPONENT_NUMBERS));
    format_line(line, columns, "%s %7s %11s %11s %8s %8s %6s", name, sums ? "OPS" : "OPS/S",
                sums ? "PRODUCED" : "PRODUCED/S", sums ? "CONSUMED" : "CONSUMED/S", "WAIT p50",
                "WAIT p99", "ANOM.");
}

/* A component that has not left and does no operation for this time is called idle. */
#define IDLE_NS 5e9

/* "", " (finalized)", " (x3)", " (x3, 1 vanished)", " (idle 12.0 s)". */
static void state_text(char *out, size_t out_bytes, const struct top_component_row *row)
{
    const char *reason = row->reason[0] != '\0' ? row->reason : "left";
    char alike[24] = "";
    char what[TOP_WORD_BYTES + 24] = "";
    if (row->members > 1) {
        (void)snprintf(alike, sizeof alike, "x%u", row->members);
    }
    if (row->left > 0 && row->left < row->members) {
        (void)snprintf(what, sizeof what, "%u %s", row->left, reason);
    } else if (row->left > 0) {
        (void)snprintf(what, sizeof what, "%s", reason);
    } else if (row->idle_ns >= IDLE_NS) {
        char time[TOP_NUMBER_BYTES];
        top_text_time(time, row->idle_ns);
        (void)snprintf(what, sizeof what, "idle %s", time);
    }
    bool none = alike[0] == '\0' && what[0] == '\0';
    (void)snprintf(out, out_bytes, "%s%s%s%s%s", none ? "" : " (", alike,
                   alike[0] != '\0' && what[0] != '\0' ? ", " : "", what, none ? "" : ")");
}

/* The name is cut, its state is not. */
static void component_name(char *out, size_t out_bytes, const struct top_component_row *row,
                           unsigned columns)
{
    char state[TOP_WORD_BYTES + 64];
    state_text(state, sizeof state, row);
    unsigned state_columns = top_text_columns(state);
    unsigned name_wanted = top_text_columns(row->name);
    unsigned name_room = columns > state_columns + 4 ? columns - state_columns : 4;
    char name[PAGE_LINE_BYTES];
    char both[2 * PAGE_LINE_BYTES];
    top_text_fit(name, sizeof name, row->name, name_wanted < name_room ? name_wanted : name_room);
    (void)snprintf(both, sizeof both, "%s%s", name, state);
    top_text_fit(out, out_bytes, both, columns);
}

void page_component(struct page_line *line, const struct top_component_row *row, unsigned columns)
{
    char name[PAGE_LINE_BYTES];
    char operations[TOP_NUMBER_BYTES];
    char produced[TOP_NUMBER_BYTES];
    char consumed[TOP_NUMBER_BYTES];
    char anomalies[TOP_NUMBER_BYTES];
    char wait[3][TOP_NUMBER_BYTES];
    component_name(name, sizeof name, row, name_columns(columns, COMPONENT_NUMBERS));
    top_text_count(operations, row->operations);
    top_text_bytes(produced, row->produced);
    top_text_bytes(consumed, row->consumed);
    top_text_count(anomalies, row->anomalies);
    times_text(wait, &row->wait);
    line->mark = row->vanished || row->anomalies > 0             ? PAGE_WARNING
                 : row->members > 0 && row->left == row->members ? PAGE_DIM
                                                                 : PAGE_PLAIN;
    format_line(line, columns, "%s %7s %11s %11s %8s %8s %6s", name, operations, produced, consumed,
                wait[0], wait[1], anomalies);
}

void page_pair_title(struct page_line *line, enum top_mode mode, unsigned columns)
{
    char name[PAGE_LINE_BYTES];
    const bool sums = mode == TOP_MODE_SUMS;
    line->mark = PAGE_TITLE;
    top_text_fit(name, sizeof name, "SOURCE -> SINK", name_columns(columns, PAIR_NUMBERS));
    format_line(line, columns, "%s %7s %11s %8s %8s %8s", name, sums ? "MOVES" : "MOVES/S",
                sums ? "BYTES" : "BYTES/S", "p50", "p99", "MAX");
}

void page_pair(struct page_line *line, const struct top_pair_row *row, unsigned columns)
{
    char source[PAGE_LINE_BYTES];
    char sink[PAGE_LINE_BYTES];
    char transports[TOP_NUMBER_BYTES];
    char bytes[TOP_NUMBER_BYTES];
    char times[3][TOP_NUMBER_BYTES];
    unsigned room = name_columns(columns, PAIR_NUMBERS) - 4;
    /* A long source leaves half of the room to the sink. */
    unsigned half = room / 2;
    unsigned source_columns = top_text_columns(row->source);
    unsigned sink_columns = top_text_columns(row->sink);
    if (source_columns + sink_columns > room) {
        source_columns = source_columns <= half        ? source_columns
                         : room - half >= sink_columns ? room - sink_columns
                                                       : half;
    }
    top_text_fit(source, sizeof source, row->source, source_columns);
    top_text_fit(sink, sizeof sink, row->sink, room - source_columns);
    top_text_count(transports, row->transports);
    top_text_bytes(bytes, row->bytes);
    times_text(times, &row->time);
    line->mark = PAGE_PLAIN;
    format_line(line, columns, "%s -> %s %7s %11s %8s %8s %8s", source, sink, transports, bytes,
                times[0], times[1], times[2]);
}
