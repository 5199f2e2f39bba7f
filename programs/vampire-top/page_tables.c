/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>

#include "programs/vampire-top/page_internal.h"

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

static bool is_hidden(const struct top_snapshot *s, enum top_number number)
{
    return (s->hidden_in_rows & TOP_NUMBER_BIT(number)) != 0;
}

/* An idle row has no times; of several rows in one only the longest is known. */
static void times_text(char out[static 3][TOP_NUMBER_BYTES], const struct top_times *times,
                       bool hidden, bool rest)
{
    const double values[] = {times->p50, times->p99, times->max};
    for (unsigned i = 0; i < 3; i++) {
        if (hidden || (rest && times->count > 0 && i < 2)) {
            memcpy(out[i], PAGE_HIDDEN, sizeof PAGE_HIDDEN);
        } else if (times->count > 0) {
            top_text_time(out[i], values[i]);
        } else {
            memcpy(out[i], "-", 2);
        }
    }
}

void page_component_title(struct page_line *line, const struct top_snapshot *s, unsigned columns)
{
    char name[PAGE_LINE_BYTES];
    const bool sums = s->mode == TOP_MODE_SUMS;
    line->mark = PAGE_TITLE;
    top_text_fit(name, sizeof name, s->by_model ? "MODEL" : "COMPONENT",
                 name_columns(columns, COMPONENT_NUMBERS));
    page_format(line, columns, "%s %7s %11s %11s %8s %8s %6s", name, sums ? "OPS" : "OPS/S",
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

/* The name is cut, the state is not. */
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

void page_component(struct page_line *line, const struct top_snapshot *s,
                    const struct top_component_row *row, unsigned columns)
{
    char name[PAGE_LINE_BYTES];
    char operations[TOP_NUMBER_BYTES];
    char produced[TOP_NUMBER_BYTES];
    char consumed[TOP_NUMBER_BYTES];
    char anomalies[TOP_NUMBER_BYTES];
    char wait[3][TOP_NUMBER_BYTES];
    component_name(name, sizeof name, row, name_columns(columns, COMPONENT_NUMBERS));
    /* Without metrics by component, their lines have the operations. */
    const bool of_model = s->by_model && is_hidden(s, TOP_NUMBER_OPERATIONS);
    (void)page_number(operations, row->hidden || of_model, row->operations, top_text_count);
    (void)page_number(produced, row->hidden || is_hidden(s, TOP_NUMBER_PRODUCED), row->produced,
                      top_text_bytes);
    (void)page_number(consumed, row->hidden || is_hidden(s, TOP_NUMBER_CONSUMED), row->consumed,
                      top_text_bytes);
    (void)page_number(anomalies, row->hidden || is_hidden(s, TOP_NUMBER_ANOMALIES), row->anomalies,
                      top_text_count);
    times_text(wait, &row->wait, row->hidden || is_hidden(s, TOP_NUMBER_WAIT), row->rest > 0);
    line->mark = row->vanished || row->anomalies > 0             ? PAGE_WARNING
                 : row->rest > 0                                 ? PAGE_DIM
                 : row->members > 0 && row->left == row->members ? PAGE_DIM
                                                                 : PAGE_PLAIN;
    page_format(line, columns, "%s %7s %11s %11s %8s %8s %6s", name, operations, produced, consumed,
                wait[0], wait[1], anomalies);
}

void page_pair_title(struct page_line *line, const struct top_snapshot *s, unsigned columns)
{
    char name[PAGE_LINE_BYTES];
    const bool sums = s->mode == TOP_MODE_SUMS;
    line->mark = PAGE_TITLE;
    if (is_hidden(s, TOP_NUMBER_TRANSPORTS) && is_hidden(s, TOP_NUMBER_MOVED) &&
        is_hidden(s, TOP_NUMBER_TIME)) {
        page_format(line, columns, "SOURCE -> SINK: not in this stream, whose output drops them");
        return;
    }
    top_text_fit(name, sizeof name, "SOURCE -> SINK", name_columns(columns, PAIR_NUMBERS));
    page_format(line, columns, "%s %7s %11s %8s %8s %8s", name, sums ? "MOVES" : "MOVES/S",
                sums ? "BYTES" : "BYTES/S", "p50", "p99", "MAX");
}

/* Several rows in one have no sink. */
static void pair_name(char *out, size_t out_bytes, const struct top_pair_row *row, unsigned columns)
{
    char source[PAGE_LINE_BYTES];
    char sink[PAGE_LINE_BYTES];
    char both[2 * PAGE_LINE_BYTES + 8];
    unsigned room = columns - 4;
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
    (void)snprintf(both, sizeof both, "%s -> %s", source, sink);
    top_text_fit(out, out_bytes, row->rest > 0 ? row->source : both, columns);
}

void page_pair(struct page_line *line, const struct top_snapshot *s, const struct top_pair_row *row,
               unsigned columns)
{
    char name[PAGE_LINE_BYTES];
    char transports[TOP_NUMBER_BYTES];
    char bytes[TOP_NUMBER_BYTES];
    char times[3][TOP_NUMBER_BYTES];
    pair_name(name, sizeof name, row, name_columns(columns, PAIR_NUMBERS));
    /* What took time has moved: its number is elsewhere, in another series or filtered out. */
    const bool moved = row->transports > 0 || row->time.count == 0;
    (void)page_number(transports, is_hidden(s, TOP_NUMBER_TRANSPORTS) || !moved, row->transports,
                      top_text_count);
    (void)page_number(bytes, is_hidden(s, TOP_NUMBER_MOVED) || (!moved && row->bytes == 0),
                      row->bytes, top_text_bytes);
    times_text(times, &row->time, is_hidden(s, TOP_NUMBER_TIME), row->rest > 0);
    line->mark = row->rest > 0 ? PAGE_DIM : PAGE_PLAIN;
    page_format(line, columns, "%s %7s %11s %8s %8s %8s", name, transports, bytes, times[0],
                times[1], times[2]);
}
