/* SPDX-License-Identifier: BSD-3-Clause */
#include "programs/vampire-top/page.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "vampire/core/units.h"
#include "vampire/core/utf8.h"
#include "vampire/core/words.h"

/* Fills the line with the text, cut or padded to `columns`. */
VAMP_PRINTF(4, 5)
static void print_line(struct page_line *line, enum page_mark mark, unsigned columns,
                       const char *format, ...)
{
    struct top_fitted text;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text.text, sizeof text.text, format, arguments);
    va_end(arguments);
    text = top_text_fit(text.text, columns < TOP_COLUMNS ? columns : TOP_COLUMNS);
    line->mark = mark;
    memcpy(line->text, text.text, sizeof line->text);
}

/* The whole text when it has no more than `columns`. */
static struct top_fitted cut(const char *clean, unsigned columns)
{
    const unsigned wanted = top_text_columns(clean);
    return top_text_fit(clean, wanted < columns ? wanted : columns);
}

/* In the place of a number that the stream does not have: ".."; that nobody could know: "?". */
static struct top_figure figure(const struct top_snapshot *s, enum top_number number, bool hidden,
                                double value, struct top_figure (*text)(double value))
{
    return !hidden                                  ? text(value)
           : (s->unobserved & TOP_BIT(number)) != 0 ? (struct top_figure){"?"}
                                                    : (struct top_figure){".."};
}

/* ---- head */

static void head_run(struct page_line *line, const struct top_snapshot *s, const char *name,
                     unsigned columns)
{
    if (!s->any) {
        char clean[TOP_NAME_BYTES];
        top_text_clean(clean, sizeof clean, name);
        print_line(line, PAGE_TITLE, columns, "vampire-top  %s  waiting for the first bucket of %s",
                   s->workflow, clean);
        return;
    }
    const char *time = strlen(s->time) > 21 ? s->time + 11 : s->time;
    const char *since = strlen(s->since) > 19 ? s->since + 11 : s->since;
    /* A long name of a workflow is cut to leave room for the values. */
    char begin[TOP_TEXT_BYTES + TOP_WORD_BYTES + 32];
    (void)snprintf(begin, sizeof begin, "vampire-top  %s%s%s", cut(s->workflow, columns / 3).text,
                   s->ended ? "  ended: " : "", s->ended ? s->end_reason : "");
    if (s->mode == TOP_MODE_SUMS) {
        print_line(line, PAGE_TITLE, columns, "%s  %.8s to %.10s UTC  sums of %s%.0f buckets%s",
                   begin, since, time, s->is_tail ? "the last " : "", s->buckets,
                   s->is_tail ? " (-a: all)" : "");
    } else if (s->window_ns > s->width_ns) {
        print_line(line, PAGE_TITLE, columns, "%s  %.10s UTC  the last %.0f s%s", begin, time,
                   s->window_ns / 1e9, s->is_tail ? " (-a: all)" : "");
    } else {
        print_line(line, PAGE_TITLE, columns, "%s  %.10s UTC  bucket %.0f of %s%s", begin, time,
                   s->bucket, top_text_time(s->width_ns).text,
                   s->partial ? "  (begun within it)" : "");
    }
}

/* A number of all rows. */
static struct top_figure sum_text(const struct top_snapshot *s, enum top_number number,
                                  struct top_figure (*text)(double value))
{
    return figure(s, number, (s->hidden & TOP_BIT(number)) != 0, s->sums[number], text);
}

/* "?" until a stream that began in the middle has reported it. */
static struct top_figure gauge(const struct top_snapshot *s, enum top_gauge gauge,
                               struct top_figure (*text)(double value))
{
    return s->known[gauge] ? text(s->gauges[gauge]) : (struct top_figure){"?"};
}

/* A list that continues in the next line when one is full; what does not fit into the last line is
 * cut there. */
struct listing {
    struct page_line *lines;
    unsigned most, columns;
    enum page_mark mark;
    const char *title;
    unsigned count;            /* lines, 0: nothing was added */
    char text[TOP_TEXT_BYTES]; /* of the last line */
};

/* Ends the last line, too; returns how many there are. */
static unsigned list_end(struct listing *list)
{
    if (list->count > 0) {
        print_line(&list->lines[list->count - 1], list->mark, list->columns, "%s", list->text);
    }
    return list->count;
}

VAMP_PRINTF(2, 3)
static void list_add(struct listing *list, const char *format, ...)
{
    char item[TOP_TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(item, sizeof item, format, arguments);
    va_end(arguments);
    assert(list->count <= list->most);
    const bool full = list->count < list->most && list->count > 0 &&
                      top_text_columns(list->text) + 2 + top_text_columns(item) > list->columns;
    if (full || list->count == 0) {
        (void)list_end(list);
        (void)snprintf(list->text, sizeof list->text, "%-9s", full ? "" : list->title);
        list->count++;
    }
    const size_t used = strlen(list->text);
    (void)snprintf(list->text + used, sizeof list->text - used, "  %s", item);
}

static unsigned vanished_lines(struct page_line *lines, const struct top_snapshot *s,
                               unsigned columns)
{
    struct listing list = {lines, PAGE_VANISHED_LINES, columns, PAGE_WARNING, "vanished", 0, ""};
    for (unsigned i = 0; i < s->vanished_count; i++) {
        list_add(&list, "%s", s->vanished[i]);
    }
    return list_end(&list);
}

unsigned page_losses(struct page_line lines[static PAGE_LOSS_LINES], const struct top_snapshot *s,
                     unsigned columns)
{
    struct listing list = {lines, PAGE_LOSS_LINES, columns, PAGE_LOSS, "losses", 0, ""};
    for (unsigned i = 0; i < s->loss_count; i++) {
        const struct top_loss *loss = &s->losses[i];
        const bool grows = loss->fresh > 0;
        list_add(&list, "%s %s%s%s%s", top_text_count(loss->count).text, loss->text,
                 grows ? " (+" : "", grows ? top_text_count(loss->fresh).text : "",
                 grows ? ")" : "");
    }
    if (s->gaps > 0) {
        list_add(&list, "%.0f gap%s, last %s", s->gaps, s->gaps > 1 ? "s" : "", s->gap);
    }
    if (s->damaged > 0) {
        list_add(&list, "%.0f damaged block%s left out, last %.8s", s->damaged,
                 s->damaged > 1 ? "s" : "", strlen(s->damage) > 11 ? s->damage + 11 : "?");
    }
    if (s->bad_lines > 0) {
        list_add(&list, "%s lines not understood", top_text_count(s->bad_lines).text);
    }
    if (list.count == 0) {
        list.mark = s->unseen_losses[0] != '\0' ? PAGE_WARNING : PAGE_PLAIN;
        list_add(&list, "%s", s->unseen_losses[0] != '\0' ? s->unseen_losses : "none");
    }
    return list_end(&list);
}

/* What is not in the numbers, since the run began; no line when everything is. */
static unsigned share_lines(struct page_line *lines, const struct top_snapshot *s, unsigned columns)
{
    const double *gauges = s->gauges, sampled = gauges[TOP_SAMPLED_OUT];
    const double all = s->received + s->lost + gauges[TOP_NOT_SUBSCRIBED];
    const bool sampling = s->sampling[0] != '\0' && strcmp(s->sampling, "none") != 0;
    enum show { WORDS, SHARE, COUNT };
    const struct {
        double count;
        enum show show;
        const char *what;
    } parts[] = {
        {gauges[TOP_METRIC_FILTERED], WORDS, "metrics without " VAMP_WORDS_FILTERED},
        {gauges[TOP_NOT_IN_STREAM], WORDS, "metrics without " VAMP_WORDS_OUTSIDE},
        {gauges[TOP_REFUSED], WORDS, VAMP_WORDS_REFUSED},
        {gauges[TOP_NOT_SUBSCRIBED], SHARE, VAMP_WORDS_OTHER_KINDS},
        {s->filtered - sampled, SHARE, "filtered out"},
        {sampled, SHARE, "sampled out"},
        {sampling, WORDS, s->sampling},
        {s->lost, SHARE, "lost"},
        {s->late, COUNT, VAMP_WORDS_LATE},
        {gauges[TOP_EVICTED], COUNT, VAMP_WORDS_EVICTED},
        {gauges[TOP_OVERFLOW], COUNT, VAMP_WORDS_OVERFLOW},
        {gauges[TOP_LABELS_LOST], COUNT, "labels given up"},
        {s->folded, COUNT, "lines in (other): all 4,095 rows of ranks are in use"},
    };
    _Static_assert(TOP_ROWS_MAX == 4096, "the text says 4,095");
    struct listing list = {lines, PAGE_SHARE_LINES, columns, PAGE_WARNING, "counted", 0, ""};
    bool whole = s->counted >= all;
    char share[VAMP_UNIT_TEXT_BYTES];
    list_add(&list, VAMP_WORDS_OF_EVENTS, vamp_share_people(s->counted, all, share));
    for (unsigned i = 0; i < TOP_SHARES; i++) {
        const struct top_share *part = &s->shares[i];
        if (part->lacks > 0) {
            list_add(&list, VAMP_WORDS_OF_TOTAL,
                     vamp_share_people(part->has, part->has + part->lacks, share), part->name);
        }
    }
    for (unsigned i = 0; i < sizeof parts / sizeof *parts; i++) {
        const struct top_figure count = top_text_count(parts[i].count);
        const char *what = parts[i].what;
        if (parts[i].count > 0) {
            whole = whole && parts[i].show == SHARE;
            if (parts[i].show == WORDS) {
                list_add(&list, "%s%s", what == s->sampling ? "sampling: " : "", what);
            } else if (parts[i].show == SHARE && all > 0) {
                list_add(&list, "%s (%s) %s", count.text,
                         vamp_share_people(parts[i].count, all, share), what);
            } else {
                list_add(&list, "%s %s", count.text, what);
            }
        }
    }
    return whole ? 0 : list_end(&list);
}

unsigned page_head(struct page_line lines[static PAGE_HEAD_LINES],
                   const struct top_snapshot *snapshot, const char *name, unsigned columns)
{
    static const char *const words[] = {"offer", "demand", "withdraw"};
    const struct top_snapshot *s = snapshot;
    const char *each = s->mode == TOP_MODE_SUMS ? "" : "/s";
    const double lag_ns = s->gauges[TOP_LAG]; /* how old events are when vampire counts them */
    char kinds[3 * (TOP_NUMBER_BYTES + 16)] = "";
    unsigned count = 4;
    _Static_assert(4 + PAGE_SHARE_LINES + PAGE_VANISHED_LINES + PAGE_LOSS_LINES == PAGE_HEAD_LINES,
                   "the head's room");
    for (size_t i = 0; i < 3; i++) {
        const size_t used = strlen(kinds);
        if (s->sums[TOP_OFFERS + i] > 0) {
            (void)snprintf(kinds + used, sizeof kinds - used, "  %s %s", words[i],
                           top_text_count(s->sums[TOP_OFFERS + i]).text);
        }
    }
    head_run(&lines[0], s, name, columns);
    print_line(&lines[1], PAGE_PLAIN, columns, "operations %8s%s%s",
               sum_text(s, TOP_OPERATIONS, top_text_count).text, each, kinds);
    print_line(
        &lines[2], s->width_ns > 0 && lag_ns > s->width_ns ? PAGE_WARNING : PAGE_PLAIN, columns,
        "bytes      %8s%s moved  %s%s produced%s%s", sum_text(s, TOP_MOVED, top_text_bytes).text,
        each, sum_text(s, TOP_PRODUCED, top_text_bytes).text, each,
        s->known[TOP_LAG] ? "  lag " : "", s->known[TOP_LAG] ? top_text_time(lag_ns).text : "");
    print_line(
        &lines[3], s->sums[TOP_ANOMALIES] > 0 ? PAGE_WARNING : PAGE_PLAIN, columns,
        "pool       %8s in %s CDOs  components %s  transports %s  anomalies %s%s%.8s",
        gauge(s, TOP_POOL_BYTES, top_text_bytes).text, gauge(s, TOP_POOL_CDOS, top_text_count).text,
        gauge(s, TOP_PRESENT, top_text_count).text, gauge(s, TOP_ACTIVE, top_text_count).text,
        sum_text(s, TOP_ANOMALIES, top_text_count).text, s->is_tail ? " since " : "",
        s->is_tail && strlen(s->since) > 19 ? s->since + 11 : "");
    count += share_lines(&lines[count], snapshot, columns);
    count += vanished_lines(&lines[count], snapshot, columns);
    count += page_losses(&lines[count], snapshot, columns);
    assert(count <= PAGE_HEAD_LINES);
    return count;
}

/* ---- tables */

/* The columns of numbers of a table, after the names. */
struct column {
    const char *titles[2]; /* by enum top_mode */
    int width;
    enum top_number number;
    struct top_figure (*text)(double value);
    unsigned quantile; /* of times: TOP_P50, TOP_P99 or TOP_MAX */
};

static const struct {
    unsigned width; /* of all numbers, with the blanks between them */
    struct column columns[6];
} tables[TOP_KINDS] = {
    [TOP_COMPONENTS] = {57,
                        {{{"OPS/S", "OPS"}, 7, TOP_OPERATIONS, top_text_count, 0},
                         {{"PRODUCED/S", "PRODUCED"}, 11, TOP_PRODUCED, top_text_bytes, 0},
                         {{"CONSUMED/S", "CONSUMED"}, 11, TOP_CONSUMED, top_text_bytes, 0},
                         {{"WAIT p50", "WAIT p50"}, 8, TOP_WAITS, top_text_time, TOP_P50},
                         {{"WAIT p99", "WAIT p99"}, 8, TOP_WAITS, top_text_time, TOP_P99},
                         {{"ANOM.", "ANOM."}, 6, TOP_ANOMALIES, top_text_count, 0}}},
    [TOP_PAIRS] = {48,
                   {{{"MOVES/S", "MOVES"}, 7, TOP_TRANSPORTS, top_text_count, 0},
                    {{"BYTES/S", "BYTES"}, 11, TOP_MOVED, top_text_bytes, 0},
                    {{"p50", "p50"}, 8, TOP_DURATIONS, top_text_time, TOP_P50},
                    {{"p99", "p99"}, 8, TOP_DURATIONS, top_text_time, TOP_P99},
                    {{"MAX", "MAX"}, 8, TOP_DURATIONS, top_text_time, TOP_MAX}}},
    [TOP_BLAME] = {40,
                   {{{"WAITED/S", "WAITED"}, 9, TOP_WAITED, top_text_time, 0},
                    {{"FOR OFFER", "FOR OFFER"}, 9, TOP_FOR_OFFER, top_text_time, 0},
                    {{"FOR START", "FOR START"}, 9, TOP_FOR_START, top_text_time, 0},
                    {{"MOVING", "MOVING"}, 9, TOP_MOVING, top_text_time, 0}}},
    [TOP_DECLARED] = {55,
                      {{{"VALUE", "VALUE"}, 10, TOP_NUMBER_COUNT, NULL, 0},
                       {{"GROWTH/S", "GROWTH"}, 10, TOP_GREW, NULL, 0},
                       {{"p50", "p50"}, 10, TOP_VALUES, NULL, TOP_P50},
                       {{"p99", "p99"}, 10, TOP_VALUES, NULL, TOP_P99},
                       {{"MAX", "MAX"}, 10, TOP_VALUES, NULL, TOP_MAX}}},
};

/* In a wide terminal the numbers stay near their names. */
#define NAME_COLUMNS_MAX 64

static unsigned name_columns(enum top_kind kind, unsigned columns)
{
    const unsigned numbers = tables[kind].width;
    const unsigned room = columns > numbers + 8 ? columns - numbers : 8;
    return room < NAME_COLUMNS_MAX ? room : NAME_COLUMNS_MAX;
}

static bool is_hidden_in_rows(const struct top_snapshot *s, enum top_number number)
{
    return (s->hidden_in_rows & TOP_BIT(number)) != 0;
}

/* As the metric's unit wants it; of several rows in one nothing is known. */
static struct top_figure declared_text(const struct top_row *row, const struct column *column)
{
    const enum top_number number = column->number;
    const double factor = strtod(row->unit, NULL); /* of a unit such as 1e-6 */
    if (row->rest > 0 || (number == TOP_VALUES ? row->timed == 0
                          : number == TOP_GREW ? row->sums[TOP_GREW] == 0
                                               : !row->level.known)) {
        return (struct top_figure){"-"};
    }
    const double value = number == TOP_VALUES ? row->times[column->quantile]
                         : number == TOP_GREW ? row->sums[TOP_GREW]
                                              : row->level.value;
    return strcmp(row->unit, "ns") == 0     ? top_text_time(value)
           : strcmp(row->unit, "byte") == 0 ? top_text_bytes(value)
                                            : top_text_count(value * (factor > 0 ? factor : 1));
}

static struct top_figure cell_text(const struct top_snapshot *s, enum top_kind kind,
                                   const struct top_row *row, const struct column *column)
{
    if (kind == TOP_DECLARED) {
        return declared_text(row, column);
    }
    const enum top_number number = column->number;
    const bool is_part = number > TOP_WAITED && number <= TOP_MOVING;
    const bool absent = is_hidden_in_rows(s, is_part ? TOP_WAITED : number);
    /* Without metrics by component, their lines have the operations. What took time has moved: its
     * number is elsewhere, in another series or filtered out. */
    const bool hidden =
        number == TOP_OPERATIONS ? !row->by_lines && (row->hidden || (absent && s->by_model))
        : number == TOP_TRANSPORTS || number == TOP_MOVED
            ? absent || (row->timed > 0 && row->sums[TOP_TRANSPORTS] == 0 && row->sums[number] == 0)
            : row->hidden || absent;
    if (number < TOP_SUM_COUNT) {
        return figure(s, number, hidden, row->sums[number], column->text);
    }
    /* An idle row has no times; of several rows in one only the longest is known. */
    if (!hidden && row->timed == 0) {
        return (struct top_figure){"-"};
    }
    const bool few = row->rest > 0 && column->quantile != TOP_MAX;
    if (!hidden && !few && row->times[column->quantile] == 0 && s->known[TOP_RESOLUTION]) {
        struct top_figure below;
        (void)snprintf(below.text, sizeof below.text, "<%.*s", (int)sizeof below.text - 2,
                       column->text(s->gauges[TOP_RESOLUTION]).text);
        return below;
    }
    return figure(s, number, hidden || few, row->times[column->quantile], column->text);
}

/* The name and then the numbers; NULL: the titles of the columns. */
static void table_line(struct page_line *line, enum page_mark mark, const struct top_snapshot *s,
                       enum top_kind kind, const struct top_row *row, const char *name,
                       unsigned columns)
{
    char text[TOP_TEXT_BYTES];
    int used =
        snprintf(text, sizeof text, "%s", top_text_fit(name, name_columns(kind, columns)).text);
    for (const struct column *column = tables[kind].columns;
         column < tables[kind].columns + 6 && column->width > 0; column++) {
        used +=
            snprintf(text + used, sizeof text - (size_t)used, " %*s", column->width,
                     row != NULL ? cell_text(s, kind, row, column).text : column->titles[s->mode]);
    }
    print_line(line, mark, columns, "%s", text);
}

/* A component that has not left and does no operation for this time is called idle. */
#define IDLE_NS 5e9

/* "IFS -- 0", "... @n17", "... (finalized)", "... (x3)", "... (x3, 1 vanished)", "... (idle 12.0
 * s)": the name is cut, the state is not; the host is there if it has room. */
static struct top_fitted component_name(const struct top_row *row, unsigned columns)
{
    const char *reason = row->reason[0] != '\0' ? row->reason : "left";
    char alike[24] = "", what[TOP_WORD_BYTES + 24] = "", state[TOP_WORD_BYTES + 64] = "";
    if (row->members > 1) {
        (void)snprintf(alike, sizeof alike, "x%u", row->members);
    }
    if (row->left > 0 && row->left < row->members) {
        (void)snprintf(what, sizeof what, "%u %s", row->left, reason);
    } else if (row->left > 0) {
        (void)snprintf(what, sizeof what, "%s", reason);
    } else if (row->idle_ns >= IDLE_NS) {
        (void)snprintf(what, sizeof what, "idle %s", top_text_time(row->idle_ns).text);
    }
    if (alike[0] != '\0' || what[0] != '\0') {
        (void)snprintf(state, sizeof state, " (%s%s%s)", alike,
                       alike[0] != '\0' && what[0] != '\0' ? ", " : "", what);
    }
    const unsigned taken = top_text_columns(state), at = top_text_columns(row->host) + 2;
    const bool fits = at > 2 && top_text_columns(row->name) + at + taken <= columns;
    struct top_fitted name = cut(row->name, columns > taken + 4 ? columns - taken : 4);
    const size_t used = strlen(name.text);
    (void)snprintf(name.text + used, sizeof name.text - used, "%s%s%s", fits ? " @" : "",
                   fits ? row->host : "", state);
    return name;
}

/* A long source leaves half of the room to the sink. Several rows in one have no sink. */
static struct top_fitted pair_name(const struct top_row *row, const char *arrow, unsigned columns)
{
    const unsigned room = columns - 4, half = room / 2;
    const unsigned sink = top_text_columns(row->second);
    unsigned source = top_text_columns(row->name);
    if (row->rest > 0 || row->second[0] == '\0') {
        return cut(row->name, columns);
    }
    if (source + sink > room) {
        source = source <= half ? source : room - half >= sink ? room - sink : half;
    }
    char both[2 * TOP_TEXT_BYTES + 8];
    (void)snprintf(both, sizeof both, "%s %s %s", top_text_fit(row->name, source).text, arrow,
                   top_text_fit(row->second, room - source).text);
    return top_text_fit(both, columns);
}

void page_row(struct page_line *line, const struct top_snapshot *s, enum top_kind kind,
              const struct top_row *row, unsigned columns)
{
    static const char *const arrows[] = {
        [TOP_PAIRS] = "->", [TOP_BLAME] = "<-", [TOP_DECLARED] = "of"};
    const unsigned room = name_columns(kind, columns);
    const struct top_fitted name =
        kind == TOP_COMPONENTS ? component_name(row, room) : pair_name(row, arrows[kind], room);
    const bool gone = row->members > 0 && row->left == row->members;
    const enum page_mark mark = row->vanished || row->sums[TOP_ANOMALIES] > 0 ? PAGE_WARNING
                                : row->rest > 0 || gone                       ? PAGE_DIM
                                                                              : PAGE_PLAIN;
    table_line(line, mark, s, kind, row, name.text, columns);
}

bool page_table(struct page_line *line, const struct top_snapshot *s, enum top_kind kind,
                size_t first, size_t room, size_t at, unsigned columns)
{
    const struct top_table *table = &s->tables[kind];
    assert(first <= table->chosen);
    const size_t rows = table->chosen - first < room ? table->chosen - first : room;
    static const char *const titles[] = {"COMPONENT", "SOURCE -> SINK", "WAITED FOR <- WHO WAITED",
                                         "DECLARED METRIC"};
    const bool models =
        kind == TOP_COMPONENTS && (s->level == TOP_MODELS || (s->by_model && s->ranks_ns == 0));
    const bool none = (kind == TOP_PAIRS && is_hidden_in_rows(s, TOP_TRANSPORTS) &&
                       is_hidden_in_rows(s, TOP_MOVED) && is_hidden_in_rows(s, TOP_DURATIONS)) ||
                      (kind == TOP_BLAME && is_hidden_in_rows(s, TOP_WAITED));
    if (kind == TOP_DECLARED && table->count == 0) {
        return false;
    }
    if (at == 0 && none) {
        print_line(line, PAGE_TITLE, columns, "%s: not in this stream, whose output drops them",
                   titles[kind]);
    } else if (at == 0) {
        char title[64] = "MODEL";
        if (kind == TOP_COMPONENTS && !models && s->mode == TOP_MODE_RATES && s->ranks_ns > 0) {
            (void)snprintf(title, sizeof title, "%s (of %.0f s)", titles[kind], s->ranks_ns / 1e9);
        } else if (!models) {
            (void)snprintf(title, sizeof title, "%s", titles[kind]);
        }
        table_line(line, PAGE_TITLE, s, kind, NULL, title, columns);
    } else if (at <= rows) {
        page_row(line, s, kind, &table->rows[first + at - 1], columns);
    } else if (at == rows + 1 && rows < table->chosen) {
        const struct top_row rest = top_rest(table, first, rows);
        page_row(line, s, kind, &rest, columns);
    } else {
        return false;
    }
    return true;
}

/* ---- alarms */

/* The columns of an alarm between its rule and what it is of. */
#define ALARM_COLUMNS 32
/* The column of a time that a demand waits, with the blanks around it. */
#define AGE_COLUMNS 14

/* A name that is too long loses its middle: those of fields differ at their end. */
static struct top_fitted fit_ends(const char *name, unsigned columns)
{
    struct top_fitted both = {""};
    if (top_text_columns(name) <= columns) {
        return top_text_fit(name, columns);
    }
    const char *end = name;
    while (top_text_columns(end) > columns - columns / 3) {
        end += vamp_utf8_length(end);
    }
    (void)snprintf(both.text, sizeof both.text, "%s%s", top_text_fit(name, columns / 3).text, end);
    return top_text_fit(both.text, columns);
}

static struct top_figure value_text(const struct top_alarm *alarm)
{
    struct top_figure text = {"-"};
    if (alarm->has_value && strcmp(alarm->unit, "ns") == 0) {
        return top_text_time(alarm->value);
    }
    if (alarm->has_value && strcmp(alarm->unit, "byte") == 0) {
        return top_text_bytes(alarm->value);
    }
    if (alarm->has_value) {
        (void)snprintf(text.text, sizeof text.text, "%.4g", alarm->value);
    }
    return text;
}

static unsigned rule_columns(unsigned columns)
{
    return columns < 60 ? 12 : columns < 112 ? columns / 4 : 28;
}

static void alarm_line(struct page_line *line, const struct top_alarm *alarm, unsigned columns)
{
    static const char *const states[] = {[TOP_ALARM_FIRING] = "FIRING",
                                         [TOP_ALARM_PENDING] = "pending",
                                         [TOP_ALARM_RESOLVED] = "resolved"};
    const bool silenced = alarm->state == TOP_ALARM_FIRING && alarm->silenced;
    const enum page_mark mark = alarm->state == TOP_ALARM_PENDING              ? PAGE_PLAIN
                                : alarm->state != TOP_ALARM_FIRING || silenced ? PAGE_DIM
                                : alarm->severity == 0                         ? PAGE_LOSS
                                                                               : PAGE_WARNING;
    const bool both = alarm->component[0] != '\0' && alarm->cdo[0] != '\0';
    const unsigned before =
        rule_columns(columns) + ALARM_COLUMNS + top_text_columns(alarm->component) + (both ? 2 : 0);
    print_line(line, mark, columns, "%s %-9s %10s %-8.8s  %s%s%s",
               top_text_fit(alarm->rule, rule_columns(columns)).text,
               silenced ? "silenced" : states[alarm->state], value_text(alarm).text,
               strlen(alarm->since) > 19 ? alarm->since + 11 : "?", alarm->component,
               both ? ": " : "",
               fit_ends(alarm->cdo, columns > before + 8 ? columns - before : 8).text);
}

/* ---- demands */

static void waiting_columns(struct page_line *line, enum page_mark mark, unsigned columns,
                            const char *component, const char *cdo, const char *age,
                            const char *producer)
{
    const unsigned room = columns > 40 ? columns - AGE_COLUMNS : 27;
    const unsigned third = room * 3 / 10;
    print_line(line, mark, columns, "%s %s %10s  %s", top_text_fit(component, third).text,
               fit_ends(cdo, room - 2 * third).text, age, top_text_fit(producer, third).text);
}

static void waiting_line(struct page_line *line, const struct top_waiting *waiting,
                         unsigned columns)
{
    char age[TOP_NUMBER_BYTES + 1], producer[TOP_LABEL_BYTES + 32];
    const bool known = waiting->producer[0] != '\0';
    (void)snprintf(age, sizeof age, "%s%s", top_text_time(waiting->age_ns).text,
                   waiting->uncertain ? "?" : " ");
    (void)snprintf(producer, sizeof producer, "%s%s%s",
                   waiting->offered ? "offered"
                   : known          ? "declared"
                                    : "not offered",
                   known ? " by " : "", waiting->producer);
    waiting_columns(line, waiting->offered ? PAGE_PLAIN : PAGE_WARNING, columns, waiting->component,
                    waiting->cdo, age, producer);
}

unsigned page_attention(struct page_line lines[static PAGE_ATTENTION_LINES], unsigned room,
                        const struct top_snapshot *snapshot, unsigned columns)
{
    const struct top_attention *attention = &snapshot->attention;
    const unsigned alarms = attention->alarm_count, waiting = attention->waiting_count;
    char title[64], more[64] = "";
    unsigned used = 0;
    room = room < PAGE_ATTENTION_LINES ? room : PAGE_ATTENTION_LINES;
    /* Alarms leave half of the room to demands that wait. */
    const unsigned upper = waiting > 0 ? (room + 1) / 2 : room;
    if (upper >= 2 && (alarms > 0 || attention->unseen_firing > 0)) {
        const unsigned shown = alarms < upper - 1 ? alarms : upper - 1;
        (void)snprintf(title, sizeof title, shown < alarms ? "ALARM (%u of %u)" : "ALARM", shown,
                       alarms);
        if (attention->unseen_firing > 0) {
            (void)snprintf(more, sizeof more, "  %.0f more fire, not seen from their begin",
                           attention->unseen_firing);
        }
        print_line(&lines[used++], PAGE_TITLE, columns, "%s %-9s %10s %-8s  OF%s",
                   top_text_fit(title, rule_columns(columns)).text, "STATE", "AT CHANGE", "SINCE",
                   more);
        for (unsigned i = 0; i < shown; i++) {
            alarm_line(&lines[used++], &attention->alarms[i], columns);
        }
    }
    if (room - used >= 2 && waiting > 0) {
        const unsigned shown = waiting < room - used - 1 ? waiting : room - used - 1;
        (void)snprintf(title, sizeof title, "WAITS (%u of %.0f)", shown, attention->demands);
        waiting_columns(&lines[used++], PAGE_TITLE, columns, title, "FOR THE CDO", "AGE ",
                        "WHICH IS");
        for (unsigned i = 0; i < shown; i++) {
            waiting_line(&lines[used++], &attention->waiting[i], columns);
        }
    }
    return used;
}
