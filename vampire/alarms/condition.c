/* SPDX-License-Identifier: BSD-3-Clause */
/* The text of a condition: "> 30s", "< 5MiB/s", "> 2 * baseline", "changed", "absent". */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/alarms/compile.h"

struct sign {
    const char *text;
    enum vamp_alarm_comparison comparison;
};

/* Longer signs first. */
static const struct sign signs[] = {
    {">=", VAMP_ALARM_GREATER_EQUAL}, {"<=", VAMP_ALARM_LESS_EQUAL}, {"!=", VAMP_ALARM_NOT_EQUAL},
    {">", VAMP_ALARM_GREATER},        {"<", VAMP_ALARM_LESS},        {"=", VAMP_ALARM_EQUAL},
};

bool vamp_alarm_condition_has_limit(const struct vamp_alarm_condition *condition)
{
    return condition->comparison != VAMP_ALARM_CHANGED &&
           condition->comparison != VAMP_ALARM_ABSENT;
}

/* How a limit is written, by the unit of what is compared. */
enum quantity { NUMBER, DURATION, SIZE };
struct form {
    enum quantity quantity;
    bool each_second; /* "/s" follows */
    const char *example;
};

static struct form form_of(const struct vamp_alarm_compiling *compiling)
{
    const struct vamp_metric *metric = compiling->metric;
    const bool rate = compiling->rule->measure == VAMP_ALARM_RATE;
    if (rate && (metric->kind == VAMP_HISTOGRAM || strcmp(metric->unit, "1") == 0)) {
        return (struct form){NUMBER, true, "> 100/s"};
    }
    if (strcmp(metric->unit, "ns") == 0) {
        return (struct form){DURATION, rate, rate ? "> 500ms/s" : "> 30s"};
    }
    if (strcmp(metric->unit, "byte") == 0) {
        return (struct form){SIZE, rate, rate ? "> 5MiB/s" : "> 64MiB"};
    }
    if (strcmp(metric->unit, "byte s-1") == 0) {
        return (struct form){SIZE, true, "< 5MiB/s"};
    }
    return (struct form){NUMBER, rate, rate ? "> 100/s" : "> 100"};
}

static bool read_number(const char *text, double *ret_value)
{
    char *end = NULL;
    if (text[0] == '\0' || strspn(text, "0123456789.eE+-") != strlen(text)) {
        return false;
    }
    *ret_value = strtod(text, &end);
    return *end == '\0' && isfinite(*ret_value);
}

static bool read_quantity(enum quantity quantity, const char *text, double *ret_value)
{
    int64_t ns = 0;
    uint64_t bytes = 0;
    switch (quantity) {
    case NUMBER:
        return read_number(text, ret_value);
    case DURATION:
        if (vamp_duration_parse(text, &ns, NULL) != 0) {
            return false;
        }
        *ret_value = (double)ns;
        return true;
    case SIZE:
        if (vamp_size_parse(text, &bytes, NULL) != 0) {
            return false;
        }
        *ret_value = (double)bytes;
        return true;
    }
    return false;
}

static char *trim(char *text)
{
    text += strspn(text, " \t");
    size_t length = strlen(text);
    while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '\t')) {
        text[--length] = '\0';
    }
    return text;
}

/* Removes `end` from the end of a text, and blanks before it. */
static bool cut_end(char *text, const char *end)
{
    const size_t length = strlen(text), wanted = strlen(end);
    if (length < wanted || strcmp(text + length - wanted, end) != 0) {
        return false;
    }
    text[length - wanted] = '\0';
    (void)trim(text);
    return true;
}

static void report_limit(struct vamp_alarm_compiling *compiling, const char *key,
                         const struct form *form, const char *limit)
{
    static const char *const units[] = {
        [NUMBER] = "a number",
        [DURATION] = "a duration with its unit (ns, us, ms, s, min, h, d)",
        [SIZE] = "a size (B, KiB, MiB, GiB, TiB)",
    };
    char allowed[VAMP_OPT_ALLOWED_BYTES];
    (void)snprintf(allowed, sizeof allowed, "%s%s, as in \"%s\"%s", units[form->quantity],
                   form->each_second ? " each second" : "", form->example,
                   compiling->rule->baseline_buckets > 0 ? "; or \"> 2 * baseline\"" : "");
    vamp_alarm_mistake(
        compiling, VAMP_ALARM_FAULT_VALUE, key, allowed,
        "\"%.60s\" is no limit for %s%s, whose unit is \"%s%s\"", limit,
        compiling->rule->measure == VAMP_ALARM_RATE ? "the rate of " : "", compiling->metric->name,
        compiling->rule->measure == VAMP_ALARM_RATE && compiling->metric->kind == VAMP_HISTOGRAM
            ? "1"
            : compiling->metric->unit,
        compiling->rule->measure == VAMP_ALARM_RATE ? " s-1" : "");
}

static bool read_ratio(struct vamp_alarm_compiling *compiling, const char *key, const char *factor,
                       struct vamp_alarm_condition *condition)
{
    condition->is_ratio = true;
    if (compiling->options->baseline_ns < 0) {
        vamp_alarm_mistake(compiling, VAMP_ALARM_FAULT_VALUE, key, "",
                           "the rule has no baseline to compare with: set \"baseline\" to the time "
                           "over which it is taken, such as \"10min\"");
        return false;
    }
    if (condition->comparison == VAMP_ALARM_EQUAL ||
        condition->comparison == VAMP_ALARM_NOT_EQUAL) {
        vamp_alarm_mistake(compiling, VAMP_ALARM_FAULT_VALUE, key, ">, >=, < and <=",
                           "no value is ever exactly a multiple of its baseline");
        return false;
    }
    if (!read_number(factor, &condition->limit) || condition->limit <= 0) {
        vamp_alarm_mistake(compiling, VAMP_ALARM_FAULT_VALUE, key,
                           "a number above 0, as in \"> 2 * baseline\"",
                           "\"%.60s\" is no factor of the baseline", factor);
        return false;
    }
    return true;
}

static bool read_limit(struct vamp_alarm_compiling *compiling, const char *key, char *limit,
                       struct vamp_alarm_condition *condition)
{
    if (strcmp(limit, "baseline") == 0) {
        return read_ratio(compiling, key, "1", condition);
    }
    if (cut_end(limit, "baseline")) {
        const bool times = cut_end(limit, "*");
        return read_ratio(compiling, key, times ? trim(limit) : "", condition);
    }
    const struct form form = form_of(compiling);
    char whole[64];
    (void)snprintf(whole, sizeof whole, "%.60s", limit);
    if ((form.each_second && !cut_end(limit, "/s")) ||
        !read_quantity(form.quantity, trim(limit), &condition->limit)) {
        report_limit(compiling, key, &form, whole);
        return false;
    }
    return true;
}

static bool read_word(struct vamp_alarm_compiling *compiling, const char *key, const char *word,
                      struct vamp_alarm_condition *condition)
{
    if (strcmp(word, "changed") == 0) {
        condition->comparison = VAMP_ALARM_CHANGED;
        return true;
    }
    if (strcmp(word, "absent") == 0) {
        condition->comparison = VAMP_ALARM_ABSENT;
        return true;
    }
    vamp_alarm_mistake(compiling, VAMP_ALARM_FAULT_VALUE, key,
                       ">, >=, <, <=, = or != and a limit, \"changed\", or \"absent\"",
                       "\"%.60s\" is no condition", word);
    return false;
}

bool vamp_alarm_condition_read(struct vamp_alarm_compiling *compiling, const char *key,
                               const char *text, struct vamp_alarm_condition *ret_condition)
{
    char copy[128];
    (void)snprintf(copy, sizeof copy, "%.120s", text);
    char *at = trim(copy);
    *ret_condition = (struct vamp_alarm_condition){.limit = 0};
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++) {
        const size_t length = strlen(signs[i].text);
        if (strncmp(at, signs[i].text, length) == 0) {
            ret_condition->comparison = signs[i].comparison;
            return read_limit(compiling, key, trim(at + length), ret_condition);
        }
    }
    return read_word(compiling, key, at, ret_condition);
}
