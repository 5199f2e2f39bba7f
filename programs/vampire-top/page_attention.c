/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>

#include "programs/vampire-top/page_internal.h"
#include "vampire/core/utf8.h"

#define STATE_COLUMNS 9
#define VALUE_COLUMNS 10
#define SINCE_COLUMNS 8

/* A name that is too long loses its middle: those of fields differ at their end. */
static void fit_ends(char *out, size_t out_bytes, const char *name, unsigned columns)
{
    const char *end = name;
    char begin[PAGE_LINE_BYTES];
    if (top_text_columns(name) <= columns) {
        top_text_fit(out, out_bytes, name, columns);
        return;
    }
    const unsigned first = columns / 3;
    while (top_text_columns(end) > columns - first) {
        end += vamp_utf8_length(end);
    }
    top_text_fit(begin, sizeof begin, name, first);
    char both[2 * PAGE_LINE_BYTES];
    (void)snprintf(both, sizeof both, "%s%s", begin, end);
    top_text_fit(out, out_bytes, both, columns);
}

/* ---- alarms */

static void value_text(char out[static TOP_NUMBER_BYTES], const struct top_alarm *alarm)
{
    if (!alarm->has_value) {
        (void)snprintf(out, TOP_NUMBER_BYTES, "-");
    } else if (strcmp(alarm->unit, "ns") == 0) {
        top_text_time(out, alarm->value);
    } else if (strcmp(alarm->unit, "byte") == 0) {
        top_text_bytes(out, alarm->value);
    } else {
        (void)snprintf(out, TOP_NUMBER_BYTES, "%.4g", alarm->value);
    }
}

static const char *state_word(const struct top_alarm *alarm)
{
    switch (alarm->state) {
    case TOP_ALARM_FIRING:
        return alarm->silenced ? "silenced" : "FIRING";
    case TOP_ALARM_PENDING:
        return "pending";
    case TOP_ALARM_RESOLVED:
        break;
    }
    return "resolved";
}

static enum page_mark mark_of(const struct top_alarm *alarm)
{
    if (alarm->state != TOP_ALARM_FIRING || alarm->silenced) {
        return alarm->state == TOP_ALARM_PENDING ? PAGE_PLAIN : PAGE_DIM;
    }
    return alarm->severity == 0 ? PAGE_LOSS : PAGE_WARNING;
}

static unsigned rule_columns(unsigned columns)
{
    return columns < 60 ? 12 : columns < 112 ? columns / 4 : 28;
}

static void alarm_title(struct page_line *line, const struct top_attention *attention,
                        unsigned shown, unsigned columns)
{
    char name[PAGE_LINE_BYTES], title[64] = "ALARM", more[64] = "";
    if (attention->alarm_count > shown) {
        (void)snprintf(title, sizeof title, "ALARM (%u of %u)", shown, attention->alarm_count);
    }
    if (attention->unseen_firing > 0) {
        (void)snprintf(more, sizeof more, "  %.0f more fire, not seen from their begin",
                       attention->unseen_firing);
    }
    line->mark = PAGE_TITLE;
    top_text_fit(name, sizeof name, title, rule_columns(columns));
    page_format(line, columns, "%s %-*s %*s %-*s  OF%s", name, STATE_COLUMNS, "STATE",
                VALUE_COLUMNS, "AT CHANGE", SINCE_COLUMNS, "SINCE", more);
}

static void alarm_line(struct page_line *line, const struct top_alarm *alarm, unsigned columns)
{
    char name[PAGE_LINE_BYTES], value[TOP_NUMBER_BYTES], cdo[PAGE_LINE_BYTES];
    const bool both = alarm->component[0] != '\0' && alarm->cdo[0] != '\0';
    const unsigned before = rule_columns(columns) + 1 + STATE_COLUMNS + 1 + VALUE_COLUMNS + 1 +
                            SINCE_COLUMNS + 2 + top_text_columns(alarm->component) + (both ? 2 : 0);
    const char *since = strlen(alarm->since) > 19 ? alarm->since + 11 : "?";
    value_text(value, alarm);
    top_text_fit(name, sizeof name, alarm->rule, rule_columns(columns));
    fit_ends(cdo, sizeof cdo, alarm->cdo, columns > before + 8 ? columns - before : 8);
    line->mark = mark_of(alarm);
    page_format(line, columns, "%s %-*s %*s %-*.*s  %s%s%s", name, STATE_COLUMNS, state_word(alarm),
                VALUE_COLUMNS, value, SINCE_COLUMNS, SINCE_COLUMNS, since, alarm->component,
                both ? ": " : "", cdo);
}

static unsigned alarm_lines(struct page_line *lines, unsigned room,
                            const struct top_attention *attention, unsigned columns)
{
    if (room < 2 || (attention->alarm_count == 0 && attention->unseen_firing <= 0)) {
        return 0;
    }
    const unsigned shown = attention->alarm_count < room - 1 ? attention->alarm_count : room - 1;
    alarm_title(&lines[0], attention, shown, columns);
    for (unsigned i = 0; i < shown; i++) {
        alarm_line(&lines[1 + i], &attention->alarms[i], columns);
    }
    return 1 + shown;
}

/* ---- demands */

struct waiting_columns {
    unsigned component, cdo, producer;
};

static struct waiting_columns waiting_columns(unsigned columns)
{
    const unsigned room = columns > 40 ? columns - VALUE_COLUMNS - 4 : 27;
    const unsigned third = room * 3 / 10;
    return (struct waiting_columns){third, room - 2 * third, third};
}

static void waiting_line_of(struct page_line *line, unsigned columns, const char *component,
                            const char *cdo, const char *age, const char *producer)
{
    const struct waiting_columns widths = waiting_columns(columns);
    char texts[3][PAGE_LINE_BYTES];
    top_text_fit(texts[0], sizeof texts[0], component, widths.component);
    fit_ends(texts[1], sizeof texts[1], cdo, widths.cdo);
    top_text_fit(texts[2], sizeof texts[2], producer, widths.producer);
    page_format(line, columns, "%s %s %*s  %s", texts[0], texts[1], VALUE_COLUMNS, age, texts[2]);
}

static void waiting_title(struct page_line *line, const struct top_attention *attention,
                          unsigned shown, unsigned columns)
{
    char title[64];
    line->mark = PAGE_TITLE;
    (void)snprintf(title, sizeof title, "WAITS (%u of %.0f)", shown, attention->demands);
    waiting_line_of(line, columns, title, "FOR THE CDO", "AGE ", "WHICH IS");
}

static void waiting_line(struct page_line *line, const struct top_waiting *waiting,
                         unsigned columns)
{
    char time[TOP_NUMBER_BYTES], age[TOP_NUMBER_BYTES + 1], producer[TOP_LABEL_BYTES + 32];
    top_text_time(time, waiting->age_ns);
    (void)snprintf(age, sizeof age, "%s%s", time, waiting->uncertain ? "?" : " ");
    if (waiting->producer[0] == '\0') {
        (void)snprintf(producer, sizeof producer, "%s",
                       waiting->offered ? "offered" : "not offered");
    } else {
        (void)snprintf(producer, sizeof producer, "%s %s",
                       waiting->offered ? "offered by" : "declared by", waiting->producer);
    }
    line->mark = waiting->offered ? PAGE_PLAIN : PAGE_WARNING;
    waiting_line_of(line, columns, waiting->component, waiting->cdo, age, producer);
}

static unsigned waiting_lines(struct page_line *lines, unsigned room,
                              const struct top_attention *attention, unsigned columns)
{
    if (room < 2 || attention->waiting_count == 0) {
        return 0;
    }
    const unsigned shown =
        attention->waiting_count < room - 1 ? attention->waiting_count : room - 1;
    waiting_title(&lines[0], attention, shown, columns);
    for (unsigned i = 0; i < shown; i++) {
        waiting_line(&lines[1 + i], &attention->waiting[i], columns);
    }
    return 1 + shown;
}

unsigned page_attention(struct page_line lines[static PAGE_ATTENTION_LINES], unsigned room,
                        const struct top_snapshot *snapshot, unsigned columns)
{
    const struct top_attention *attention = &snapshot->attention;
    room = room < PAGE_ATTENTION_LINES ? room : PAGE_ATTENTION_LINES;
    /* Alarms leave half of the room to demands that wait. */
    const bool both = attention->waiting_count > 0;
    const unsigned used = alarm_lines(lines, both ? (room + 1) / 2 : room, attention, columns);
    return used + waiting_lines(lines + used, room - used, attention, columns);
}
