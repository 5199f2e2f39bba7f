/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "programs/vampire-top/page.h"
#include "programs/vampire-top/text.h"
#include "programs/vampire-top/view_internal.h"
#include "vampire/core/clock.h"

#define SMALLEST_LINES 15
#define SMALLEST_COLUMNS 40
_Static_assert(SMALLEST_LINES >= PAGE_HEAD_LINES + 2 + 2, "no room for two titles");
/* Without a bucket for SILENCE_S and for three bucket widths, what is shown is old. */
#define SILENCE_S 5

static const char *const help_lines[] = {
    "q            quit",
    "p, space     pause or resume; input is still read",
    "t            rates of the latest bucket, or totals of all seen",
    "s            sort by the next of: operations, bytes, wait, name",
    "o b w n      sort by operations or moves, bytes, wait or p99, name",
    "r            reverse the order",
    "/            show only names that contain a text; Enter keeps, Esc clears it",
    "Tab          switch to the other table",
    "arrows, PgUp, PgDn, Home   scroll",
    "h, ?         this page",
    "",
    "WAIT: from demand to data. p50, p99, MAX: duration of transports.",
    "(x3): three components have this name. idle: time since the last operation.",
    "lag: how old events are when vampire counts them. ..: not in this stream.",
    "WAITS: demands from before the newest bucket, oldest first. AGE?: events were lost.",
    "N more; N before, M after: the rows that are not on the screen, as one.",
    "Red: data is missing or old, a critical alarm. Yellow: alarms, anomalies, vanished",
    "components, and demands for what is not offered.",
};

static attr_t mark_attributes(enum page_mark mark)
{
    const attr_t colours = has_colors() ? A_NORMAL : A_REVERSE;
    switch (mark) {
    case PAGE_PLAIN:
        return A_NORMAL;
    case PAGE_TITLE:
        return A_BOLD;
    case PAGE_WARNING:
        return has_colors() ? (attr_t)COLOR_PAIR(2) : A_BOLD;
    case PAGE_LOSS:
        return colours | A_BOLD | (attr_t)COLOR_PAIR(1);
    case PAGE_DIM:
        return A_DIM;
    }
    return A_NORMAL;
}

static void draw_line(int row, const struct page_line *line)
{
    (void)attrset((int)mark_attributes(line->mark));
    (void)mvaddstr(row, 0, line->text);
    (void)attrset(A_NORMAL);
}

static unsigned columns_used(void)
{
    return COLS < PAGE_COLUMNS ? (unsigned)COLS : PAGE_COLUMNS;
}

static void draw_title(const struct view *view, unsigned table, int row)
{
    struct page_line line;
    if (table == 0) {
        page_component_title(&line, &view->snapshot, columns_used());
    } else {
        page_pair_title(&line, &view->snapshot, columns_used());
    }
    draw_line(row, &line);
    (void)mvchgat(row, 0, -1, view->focus == table ? A_REVERSE | A_BOLD : A_REVERSE, 0, NULL);
}

/* The rows that are not on the screen, as one. */
static void draw_rest(const struct view *view, unsigned table, size_t shown, int row)
{
    const struct top_snapshot *s = &view->snapshot;
    const size_t first = view->first[table];
    struct page_line line;
    if (table == 0) {
        struct top_component_row rest;
        top_rest_of_components(s, view->components, first, shown, &rest);
        page_component(&line, s, &rest, columns_used());
    } else {
        struct top_pair_row rest;
        top_rest_of_pairs(s, view->pairs, first, shown, &rest);
        page_pair(&line, s, &rest, columns_used());
    }
    draw_line(row, &line);
}

static void draw_table(struct view *view, unsigned table, int top, int rows)
{
    const struct top_snapshot *s = &view->snapshot;
    assert(view->components <= s->component_count && view->pairs <= s->pair_count);
    size_t count = table == 0 ? view->components : view->pairs;
    size_t room = rows > 1 ? (size_t)rows - 1 : 0;
    /* One row by name at least. */
    const bool rest = count > room && room > 1;
    room -= rest ? 1 : 0;
    size_t last_first = count > room ? count - room : 0;
    view->first[table] = view->first[table] < last_first ? view->first[table] : last_first;
    draw_title(view, table, top);
    for (size_t i = 0; i < room && view->first[table] + i < count; i++) {
        struct page_line line;
        size_t row = view->first[table] + i;
        if (table == 0) {
            page_component(&line, s, &s->component_rows[row], columns_used());
        } else {
            page_pair(&line, s, &s->pairs[row], columns_used());
        }
        draw_line(top + 1 + (int)i, &line);
    }
    if (rest) {
        draw_rest(view, table, room, top + 1 + (int)room);
    }
}

/* Seconds without a bucket when the numbers shown are outdated; else 0. */
static double silent_seconds(const struct view *view)
{
    const struct top_snapshot *s = &view->snapshot;
    double seconds = (double)(vamp_clock_monotonic_ns(&vamp_clock_system) - view->news_ns) / 1e9;
    double expected = s->width_ns / 1e9 * 3;
    return s->any && !s->ended && seconds > (expected > SILENCE_S ? expected : SILENCE_S) ? seconds
                                                                                          : 0;
}

/* Adds the keys for which there is room, whole. */
static void add_keys(const struct view *view, char *text, size_t text_bytes)
{
    const char *const keys[] = {
        "h help",  "q quit", view->show.mode == TOP_MODE_RATES ? "t sums" : "t rates",
        "p pause", "s sort", "/ filter"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const size_t used = strlen(text);
        if (top_text_columns(text) + 2 + strlen(keys[i]) < columns_used()) {
            (void)snprintf(text + used, text_bytes - used, "  %s", keys[i]);
        }
    }
}

/* The last line: the filter that is typed, or the state and the keys. */
static void draw_foot(const struct view *view)
{
    struct page_line line = {.mark = PAGE_PLAIN};
    char text[PAGE_LINE_BYTES];
    char state[64] = "";
    const struct top_choice *choice = &view->show.choice;
    if (view->paused || view->source_ended) {
        (void)snprintf(state, sizeof state, view->paused ? "[paused]  " : "[end]  ");
    } else if (silent_seconds(view) > 0) {
        line.mark = PAGE_LOSS;
        (void)snprintf(state, sizeof state, "[nothing new for %.0f s]  ", silent_seconds(view));
    }
    if (view->typing) {
        (void)snprintf(text, sizeof text, "names that contain: %s_", choice->filter);
    } else if (view->failure[0] != '\0') {
        line.mark = PAGE_LOSS;
        (void)snprintf(text, sizeof text, "%s", view->failure);
    } else {
        (void)snprintf(text, sizeof text, "%s%s%s%ssort: %s%s", state,
                       choice->filter[0] != '\0' ? "[" : "", choice->filter,
                       choice->filter[0] != '\0' ? "]  " : "", top_sort_name(choice->sort),
                       choice->reverse ? " up" : "");
        add_keys(view, text, sizeof text);
    }
    top_text_fit(line.text, sizeof line.text, text, columns_used() - 1);
    draw_line(LINES - 1, &line);
    if (view->paused) {
        (void)mvchgat(LINES - 1, 0, 8, A_REVERSE, 0, NULL);
    }
}

static void draw_help(void)
{
    for (size_t i = 0; i < sizeof help_lines / sizeof help_lines[0]; i++) {
        struct page_line line = {.mark = PAGE_PLAIN};
        top_text_fit(line.text, sizeof line.text, help_lines[i], columns_used() - 1);
        if ((int)i + 1 < LINES) {
            draw_line((int)i + 1, &line);
        }
    }
}

/* Components get the lines they need, up to three fifths, or the lines that pairs leave. */
static void draw_tables(struct view *view, int head)
{
    int rows = LINES - head - 2;
    assert(rows >= 2); /* the smallest screen has room for the largest head and two titles */
    int components = (int)view->components + 1;
    int pairs = (int)view->pairs + 1;
    int upper = components + pairs <= rows   ? components
                : components <= rows * 3 / 5 ? components
                : pairs < rows * 2 / 5       ? rows - pairs
                                             : rows * 3 / 5;
    draw_table(view, 0, head + 1, upper);
    draw_table(view, 1, head + 1 + upper, rows - upper);
}

/* In up to half of the lines that the tables would have. Returns how many lines it took. */
static int draw_attention(const struct view *view, int head)
{
    struct page_line lines[PAGE_ATTENTION_LINES];
    const int rest = LINES - head - 2;
    const unsigned room = rest > 6 ? (unsigned)rest / 2 : 0;
    const unsigned count = page_attention(lines, room, &view->snapshot, columns_used());
    for (unsigned i = 0; i < count; i++) {
        draw_line(head + 1 + (int)i, &lines[i]);
        if (lines[i].mark == PAGE_TITLE) {
            (void)mvchgat(head + 1 + (int)i, 0, -1, A_REVERSE, 0, NULL);
        }
    }
    return (int)count;
}

void view_draw(struct view *view)
{
    (void)erase();
    if (LINES < SMALLEST_LINES || COLS < SMALLEST_COLUMNS) {
        (void)mvaddnstr(0, 0, "vampire-top: too small", COLS);
    } else if (view->help) {
        draw_help();
        draw_foot(view);
    } else {
        struct page_line head[PAGE_HEAD_LINES];
        int lines = (int)page_head(head, &view->snapshot, top_input_name(view->input),
                                   columns_used(), true);
        for (int i = 0; i < lines; i++) {
            draw_line(i, &head[i]);
        }
        lines += draw_attention(view, lines);
        draw_tables(view, lines);
        draw_foot(view);
    }
    (void)refresh();
}
