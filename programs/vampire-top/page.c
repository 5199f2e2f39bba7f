/* SPDX-License-Identifier: BSD-3-Clause */
#include "programs/vampire-top/page.h"

#include <assert.h>
#include <langinfo.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "programs/vampire-top/page_internal.h"
#include "programs/vampire-top/text.h"

const char *page_number(char out[static TOP_NUMBER_BYTES], bool hidden, double value,
                        void (*write)(char out[static TOP_NUMBER_BYTES], double value))
{
    if (hidden) {
        memcpy(out, PAGE_HIDDEN, sizeof PAGE_HIDDEN);
    } else {
        write(out, value);
    }
    return out;
}

void page_format(struct page_line *line, unsigned columns, const char *format, ...)
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

/* Curves begin here: after the longest text of operations, "operations   46,500/s  offer 99,999
 * demand 99,999  withdraw 99,999". */
#define CURVE_COLUMN 67
/* A shorter curve shows nothing. */
#define CURVE_COLUMNS_MIN 12

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
                      unsigned count)
{
    if (columns < CURVE_COLUMN + 1 + CURVE_COLUMNS_MIN) {
        return;
    }
    unsigned width = columns - CURVE_COLUMN - 1;
    char left[PAGE_LINE_BYTES];
    char curve[PAGE_LINE_BYTES];
    /* It is padded: only what lies after the padding would be cut. */
    size_t bytes = strlen(line->text);
    while (bytes > 0 && line->text[bytes - 1] == ' ') {
        line->text[--bytes] = '\0';
    }
    top_text_fit(left, sizeof left, line->text, CURVE_COLUMN);
    curve_text(curve, sizeof curve, values, count, width < TOP_HISTORY ? width : TOP_HISTORY);
    page_format(line, columns, "%s %s", left, curve);
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
        page_format(line, columns, "vampire-top  %s  waiting for the first bucket of %s",
                    s->workflow, clean);
        return;
    }
    const char *time = strlen(s->time) > 21 ? s->time + 11 : s->time;
    const char *since = strlen(s->since) > 19 ? s->since + 11 : s->since;
    char ended[TOP_WORD_BYTES + 16] = "";
    if (s->ended) {
        (void)snprintf(ended, sizeof ended, "  ended: %s", s->end_reason);
    }
    /* A long name of a workflow is cut to leave room for the values. */
    char workflow[PAGE_LINE_BYTES];
    unsigned wanted = top_text_columns(s->workflow);
    top_text_fit(workflow, sizeof workflow, s->workflow,
                 wanted < columns / 3 ? wanted : columns / 3);
    if (s->mode == TOP_MODE_SUMS) {
        page_format(line, columns, "vampire-top  %s%s  %.8s to %.10s UTC  sums of %.0f buckets",
                    workflow, ended, since, time, s->buckets);
        return;
    }
    page_format(line, columns, "vampire-top  %s%s  %.10s UTC  bucket %.0f of %s%s", workflow, ended,
                time, s->bucket, width, s->partial ? "  (begun within it)" : "");
}

static void head_operations(struct page_line *line, const struct top_snapshot *s, unsigned columns,
                            bool curve)
{
    const char *each = s->mode == TOP_MODE_SUMS ? "" : "/s";
    char total[TOP_NUMBER_BYTES];
    char kinds[PAGE_LINE_BYTES] = "";
    size_t used = 0;
    (void)page_number(total, (s->hidden & TOP_NUMBER_BIT(TOP_NUMBER_OPERATIONS)) != 0,
                      s->operations, top_text_count);
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
    page_format(line, columns, "operations %8s%s%s", total, each, kinds);
    if (curve) {
        add_curve(line, columns, s->operations_history, s->history_count);
    }
}

static void head_bytes(struct page_line *line, const struct top_snapshot *s, unsigned columns,
                       bool curve)
{
    const char *each = s->mode == TOP_MODE_SUMS ? "" : "/s";
    char produced[TOP_NUMBER_BYTES];
    char moved[TOP_NUMBER_BYTES];
    (void)page_number(produced, (s->hidden & TOP_NUMBER_BIT(TOP_NUMBER_PRODUCED)) != 0, s->produced,
                      top_text_bytes);
    (void)page_number(moved, (s->hidden & TOP_NUMBER_BIT(TOP_NUMBER_MOVED)) != 0, s->moved,
                      top_text_bytes);
    char lag[TOP_NUMBER_BYTES + 8] = "";
    if (s->lag_ns.known) { /* how old events are when vampire counts them */
        char time[TOP_NUMBER_BYTES];
        top_text_time(time, s->lag_ns.value);
        (void)snprintf(lag, sizeof lag, "  lag %s", time);
    }
    line->mark = s->width_ns > 0 && s->lag_ns.value > s->width_ns ? PAGE_WARNING : PAGE_PLAIN;
    page_format(line, columns, "bytes      %8s%s moved  %s%s produced%s", moved, each, produced,
                each, lag);
    if (curve) {
        add_curve(line, columns, s->moved_history, s->history_count);
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
    (void)page_number(anomalies, (s->hidden & TOP_NUMBER_BIT(TOP_NUMBER_ANOMALIES)) != 0,
                      s->anomalies, top_text_count);
    line->mark = s->anomalies > 0 ? PAGE_WARNING : PAGE_PLAIN;
    page_format(line, columns,
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
    page_format(line, list->columns, "%s", list->text);
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

/* "12,345 (3.1 %) WHAT" in the list. */
static void add_part(struct list *list, double count, double of, const char *what)
{
    char item[TOP_NUMBER_BYTES + 64], number[TOP_NUMBER_BYTES];
    if (count > 0) {
        top_text_count(number, count);
        (void)snprintf(item, sizeof item, "%s (%.1f %%) %s", number, of > 0 ? 100 * count / of : 0,
                       what);
        list_add(list, item);
    }
}

static void add_number(struct list *list, double count, const char *what)
{
    char item[TOP_NUMBER_BYTES + 64], number[TOP_NUMBER_BYTES];
    if (count > 0) {
        top_text_count(number, count);
        (void)snprintf(item, sizeof item, "%s %s", number, what);
        list_add(list, item);
    }
}

/* What is not in the numbers, since the run began; no line when everything is. */
static unsigned share_lines(struct page_line *lines, const struct top_snapshot *s, unsigned columns)
{
    struct list list = {.mark = PAGE_WARNING};
    const struct top_share *share = &s->share;
    const double all = share->received + share->lost;
    const bool sampling = s->sampling[0] != '\0' && strcmp(s->sampling, "none") != 0;
    if (share->counted >= all && !sampling && share->other == 0 && share->labels == 0 &&
        s->folded == 0) {
        return 0;
    }
    char item[sizeof s->sampling + 64];
    list_begin(&list, lines, PAGE_SHARE_LINES, columns, "counted");
    const double counted = all > 0 ? 100 * share->counted / all : 100;
    /* All but very few are not all. */
    (void)snprintf(item, sizeof item, "%.1f %% of the events",
                   share->counted < all && counted > 99.9 ? 99.9 : counted);
    list_add(&list, item);
    add_part(&list, share->filtered - share->sampled, all, "filtered out");
    add_part(&list, share->sampled, all, "sampled out");
    if (sampling) {
        (void)snprintf(item, sizeof item, "sampling: %s", s->sampling);
        list_add(&list, item);
    }
    add_part(&list, share->lost, all, "lost");
    add_number(&list, share->other, "values in (other)");
    add_number(&list, share->labels, "labels given up");
    _Static_assert(TOP_ROWS_MAX == 1024, "the text says 1,023");
    add_number(&list, s->folded, "lines in (other): all 1,023 rows are in use");
    list_end_line(&list);
    return list.count;
}

unsigned page_head(struct page_line lines[static PAGE_HEAD_LINES],
                   const struct top_snapshot *snapshot, const char *name, unsigned columns,
                   bool curve)
{
    unsigned count = 4;
    _Static_assert(4 + PAGE_SHARE_LINES + PAGE_VANISHED_LINES + PAGE_LOSS_LINES == PAGE_HEAD_LINES,
                   "the head's room");
    head_run(&lines[0], snapshot, name, columns);
    head_operations(&lines[1], snapshot, columns, curve);
    head_bytes(&lines[2], snapshot, columns, curve);
    head_pool(&lines[3], snapshot, columns);
    count += share_lines(&lines[count], snapshot, columns);
    count += vanished_lines(&lines[count], snapshot, columns);
    count += page_losses(&lines[count], snapshot, columns);
    assert(count <= PAGE_HEAD_LINES);
    return count;
}
