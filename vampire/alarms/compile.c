/* SPDX-License-Identifier: BSD-3-Clause */
/* Compiles the options of a rule and reports all errors. */
#include "vampire/alarms/rule.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/core/values.h"

/* The incomplete rule, and the function to which errors are reported. */
struct compiling {
    const struct vamp_alarm_options *options;
    const struct vamp_alarm_scope *scope;
    vamp_alarm_report_fn *report;
    void *context;
    struct vamp_alarm_rule *rule;
    const struct vamp_metric *metric; /* NULL: unknown */
    bool has_errors;                  /* an error was reported */
};

/* What is has_errors: the value of the option, or its presence or absence. */
enum fault { FAULT_VALUE, FAULT_KEY };

static struct vamp_alarm_mistake begin_error(struct compiling *compiling, enum fault fault,
                                             const char *key, const char *allowed)
{
    struct vamp_alarm_mistake error = {
        .key = key, .item = SIZE_MAX, .in_value = fault == FAULT_VALUE};
    (void)snprintf(error.allowed, sizeof error.allowed, "%s", allowed);
    compiling->has_errors = true;
    return error;
}

static void report_error(struct compiling *compiling, enum fault fault, const char *key,
                         const char *allowed, const char *format, ...) VAMP_PRINTF(5, 6);
static void report_error(struct compiling *compiling, enum fault fault, const char *key,
                         const char *allowed, const char *format, ...)
{
    struct vamp_alarm_mistake error = begin_error(compiling, fault, key, allowed);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(error.text, sizeof error.text, format, arguments);
    va_end(arguments);
    compiling->report(compiling->context, &error);
}

/* ---- the metric and the measure */

static void report_unknown_metric(struct compiling *compiling, const char *name)
{
    const char *names[VAMP_METRICS_MAX + 1];
    vamp_metric_names(names);
    struct vamp_alarm_mistake error = begin_error(compiling, FAULT_VALUE, "metric", "");
    (void)snprintf(error.text, sizeof error.text,
                   "there is no metric \"%.64s\"; vampire --list-metrics shows all", name);
    error.near = vamp_opt_near_choice(names, name);
    compiling->report(compiling->context, &error);
}

static void compile_metric(struct compiling *compiling)
{
    const char *name = compiling->options->metric;
    if (name == NULL) {
        report_error(compiling, FAULT_KEY, "metric", "",
                     "a rule needs a \"metric\"; vampire --list-metrics shows all");
        return;
    }
    const enum vamp_metric_id id = vamp_metric_find(name);
    if (id == VAMP_METRIC_NONE) {
        report_unknown_metric(compiling, name);
        return;
    }
    const struct vamp_alarm_scope *scope = compiling->scope;
    compiling->metric = &vamp_metrics[id];
    compiling->rule->metric = id;
    if (scope->computes != NULL && !scope->computes(scope->context, id)) {
        report_error(compiling, FAULT_VALUE, "metric", "",
                     "%s is not computed: add its set to \"statistics.sets\", or \"+%s\" to "
                     "\"statistics.metrics\"",
                     name, name);
    }
}

static void compile_measure(struct compiling *compiling)
{
    const struct vamp_alarm_options *options = compiling->options;
    const struct vamp_metric *metric = compiling->metric;
    const bool quantile = options->quantile >= 0;
    compiling->rule->quantile = options->quantile;
    compiling->rule->measure = VAMP_ALARM_VALUE;
    if (options->rate) {
        compiling->rule->measure = VAMP_ALARM_RATE;
    } else if (quantile) {
        compiling->rule->measure = VAMP_ALARM_QUANTILE;
    }
    if (quantile && metric->kind != VAMP_HISTOGRAM) {
        report_error(compiling, FAULT_KEY, "quantile", "",
                     "%s is a %s and has no quantile; only histograms have one", metric->name,
                     vamp_metric_kind_name(metric->kind));
    }
    if (options->rate && metric->kind == VAMP_GAUGE) {
        report_error(compiling, FAULT_KEY, "rate", "",
                     "%s is a gauge and has no rate; counters and histograms have one",
                     metric->name);
    }
    if (quantile && options->rate) {
        report_error(compiling, FAULT_KEY, "rate", "",
                     "a rule compares a \"quantile\" or a \"rate\", not both");
    }
}

/* ---- patterns and labels */

static void list_labels(uint32_t labels, char text[static VAMP_OPT_ALLOWED_BYTES])
{
    size_t used = 0;
    text[0] = '\0';
    for (unsigned label = 0; label < VAMP_LABEL_COUNT && used < VAMP_OPT_ALLOWED_BYTES; label++) {
        if ((labels & UINT32_C(1) << label) != 0) {
            used += (size_t)snprintf(text + used, VAMP_OPT_ALLOWED_BYTES - used, "%s%s",
                                     used == 0 ? "the labels " : ", ", vamp_label_name(label));
        }
    }
    if (labels == 0) {
        (void)snprintf(text, VAMP_OPT_ALLOWED_BYTES, "none: the metric has no labels");
    }
}

static void report_label(struct compiling *compiling, size_t item, uint32_t labels,
                         const char *text, size_t name_bytes)
{
    char name[64];
    (void)snprintf(name, sizeof name, "%.*s", (int)VAMP_MIN(name_bytes, (size_t)60), text);
    struct vamp_alarm_mistake error = begin_error(compiling, FAULT_VALUE, "labels", "");
    error.item = item;
    if (text[name_bytes] != '=') {
        (void)snprintf(error.text, sizeof error.text,
                       "\"%.100s\" is no label and pattern: write LABEL=PATTERN", text);
    } else {
        (void)snprintf(error.text, sizeof error.text, "%s has no label \"%s\" at level %s",
                       compiling->metric->name, name, vamp_level_name(compiling->scope->level));
    }
    error.near = vamp_opt_near_choice(vamp_label_words, name);
    if (error.near != NULL && strcmp(error.near, name) == 0) {
        error.near = NULL;
    }
    list_labels(labels, error.allowed);
    compiling->report(compiling->context, &error);
}

static void compile_pattern(struct compiling *compiling, size_t item, uint32_t labels)
{
    struct vamp_alarm_rule *rule = compiling->rule;
    const char *text = compiling->options->labels.items[item];
    enum vamp_label label = VAMP_LABEL_COMPONENT;
    const char *pattern = NULL;
    if (!vamp_series_pattern(text, &label, &pattern) || (labels >> label & 1U) == 0) {
        report_label(compiling, item, labels, text, strcspn(text, "="));
    } else if (rule->pattern_count == VAMP_LABELS_MAX) {
        report_error(compiling, FAULT_VALUE, "labels", "", "more than %d patterns",
                     VAMP_LABELS_MAX);
    } else {
        rule->patterns[rule->pattern_count++] = (struct vamp_alarm_pattern){label, pattern};
    }
}

static void compile_series(struct compiling *compiling)
{
    const struct vamp_alarm_options *options = compiling->options;
    const uint32_t labels = vamp_metric_labels_at(compiling->metric, compiling->scope->level);
    const uint64_t all = (UINT64_C(1) << (VAMP_LABEL_ATTRIBUTE + vamp_attribute_count())) - 1;
    for (size_t i = 0; i < options->labels.count; i++) {
        compile_pattern(compiling, i, labels);
    }
    compiling->rule->labels = labels & ~(uint32_t)options->without;
    if (options->without != all && (options->without & ~(uint64_t)labels) != 0) {
        char allowed[VAMP_OPT_ALLOWED_BYTES];
        list_labels(labels, allowed);
        report_error(
            compiling, FAULT_VALUE, "without", allowed, "%s has no label \"%s\" at level %s",
            compiling->metric->name,
            vamp_label_name((unsigned)__builtin_ctzll(options->without & ~(uint64_t)labels)),
            vamp_level_name(compiling->scope->level));
    }
}

/* ---- times */

static bool read_buckets(const char *text, uint64_t *ret_buckets)
{
    const size_t digits = strspn(text, "0123456789");
    const char *word = text + digits + strspn(text + digits, " ");
    if (digits == 0 || digits > 9 ||
        (strcmp(word, "buckets") != 0 && strcmp(word, "bucket") != 0)) {
        return false;
    }
    *ret_buckets = strtoull(text, NULL, 10);
    return true;
}

static uint64_t buckets_of(const struct compiling *compiling, int64_t ns)
{
    const int64_t width_ns = compiling->scope->bucket_ns;
    return (uint64_t)((ns + width_ns - 1) / width_ns);
}

static void report_too_long(struct compiling *compiling, const char *key)
{
    report_error(compiling, FAULT_VALUE, key, "", "longer than %u buckets", VAMP_ALARM_BUCKETS_MAX);
}

/* Converts the text of "for" or "clear_for" to a number of buckets, at least 1. */
static uint32_t compile_hold(struct compiling *compiling, const char *key, const char *text)
{
    uint64_t buckets = 0;
    int64_t ns = 0;
    if (text == NULL || text[0] == '\0') {
        return 1;
    }
    if (!read_buckets(text, &buckets)) {
        if (vamp_duration_parse(text, &ns, NULL) != 0 || ns < 0) {
            report_error(compiling, FAULT_VALUE, key,
                         "a duration such as \"10s\", or a number of buckets such as \"2 "
                         "buckets\"",
                         "\"%.32s\" is neither a duration nor a number of buckets", text);
            return 1;
        }
        buckets = buckets_of(compiling, ns);
    }
    if (buckets > VAMP_ALARM_BUCKETS_MAX) {
        report_too_long(compiling, key);
    }
    return (uint32_t)VAMP_MAX(buckets, UINT64_C(1));
}

static void compile_baseline(struct compiling *compiling)
{
    const struct vamp_alarm_options *options = compiling->options;
    if (options->baseline_ns < 0) {
        if (options->warm_up_ns >= 0) {
            report_error(compiling, FAULT_KEY, "warm_up", "", "has no effect without \"baseline\"");
        }
        return;
    }
    const uint64_t window = buckets_of(compiling, options->baseline_ns);
    uint64_t warm_up = window;
    if (options->warm_up_ns >= 0) {
        warm_up = buckets_of(compiling, options->warm_up_ns);
    }
    if (window == 0) {
        report_error(compiling, FAULT_VALUE, "baseline", "",
                     "the duration of the baseline must not be 0");
    }
    if (window > VAMP_ALARM_BUCKETS_MAX || warm_up > VAMP_ALARM_BUCKETS_MAX) {
        report_too_long(compiling, window > VAMP_ALARM_BUCKETS_MAX ? "baseline" : "warm_up");
        return;
    }
    compiling->rule->baseline_buckets = (uint32_t)window;
    compiling->rule->warm_up_buckets = (uint32_t)warm_up;
}

/* ---- the text of a condition: "> 30s", "< 5MiB/s", "> 2 * baseline", "changed", "absent" */

struct sign {
    const char *text;
    enum vamp_alarm_comparison comparison;
};

/* Longer operators must precede their prefixes. */
static const struct sign signs[] = {
    {">=", VAMP_ALARM_GREATER_EQUAL}, {"<=", VAMP_ALARM_LESS_EQUAL}, {"!=", VAMP_ALARM_NOT_EQUAL},
    {">", VAMP_ALARM_GREATER},        {"<", VAMP_ALARM_LESS},        {"=", VAMP_ALARM_EQUAL},
};

static bool has_limit(const struct vamp_alarm_condition *condition)
{
    return condition->comparison != VAMP_ALARM_CHANGED &&
           condition->comparison != VAMP_ALARM_ABSENT;
}

/* Notation of a limit; depends on the unit of the compared value. */
enum quantity { NUMBER, DURATION, SIZE };
struct form {
    enum quantity quantity;
    bool each_second;    /* "/s" follows */
    const char *example; /* report_limit adds the outer quotes */
};

static struct form form_of(const struct compiling *compiling)
{
    const struct vamp_metric *metric = compiling->metric;
    const bool rate = compiling->rule->measure == VAMP_ALARM_RATE;
    if (rate && (metric->kind == VAMP_HISTOGRAM || strcmp(metric->unit, "1") == 0)) {
        return (struct form){NUMBER, true, "> 100/s"};
    }
    if (strcmp(metric->unit, "ns") == 0) {
        return (struct form){DURATION, rate, rate ? "> 500ms/s\" or \"> 50%" : "> 30s"};
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

/* Removes `end` and the blanks before it from the end of a text. Returns false if the text does not
 * end with it. */
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

static void report_limit(struct compiling *compiling, const char *key, const struct form *form,
                         const char *limit)
{
    static const char *const units[] = {
        [NUMBER] = "a number",
        [DURATION] = "a duration with its unit (ns, us, ms, s, min, h, d)",
        [SIZE] = "a size (B, KiB, MiB, GiB, TiB)",
    };
    const struct vamp_metric *metric = compiling->metric;
    const char *each = form->each_second ? " each second" : "";
    const char *ratio = compiling->rule->baseline_buckets > 0 ? "; or \"> 2 * baseline\"" : "";
    char allowed[VAMP_OPT_ALLOWED_BYTES];
    (void)snprintf(allowed, sizeof allowed, "%s%s, as in \"%s\"%s", units[form->quantity], each,
                   form->example, ratio);
    if (compiling->rule->measure == VAMP_ALARM_RATE) {
        report_error(compiling, FAULT_VALUE, key, allowed,
                     "\"%.60s\" is no limit for the rate of %s, whose unit is \"%s s-1\"", limit,
                     metric->name, metric->kind == VAMP_HISTOGRAM ? "1" : metric->unit);
        return;
    }
    report_error(compiling, FAULT_VALUE, key, allowed,
                 "\"%.60s\" is no limit for %s, whose unit is \"%s\"", limit, metric->name,
                 metric->unit);
}

static bool read_ratio(struct compiling *compiling, const char *key, const char *factor,
                       struct vamp_alarm_condition *condition)
{
    condition->is_ratio = true;
    if (compiling->options->baseline_ns < 0) {
        report_error(compiling, FAULT_VALUE, key, "",
                     "the rule has no baseline to compare with: set \"baseline\" to the time "
                     "over which it is taken, such as \"10min\"");
        return false;
    }
    if (condition->comparison == VAMP_ALARM_EQUAL ||
        condition->comparison == VAMP_ALARM_NOT_EQUAL) {
        report_error(compiling, FAULT_VALUE, key,
                     ">, >=, < and <=", "no value is ever exactly a multiple of its baseline");
        return false;
    }
    if (!read_number(factor, &condition->limit) || condition->limit <= 0) {
        report_error(compiling, FAULT_VALUE, key, "a number above 0, as in \"> 2 * baseline\"",
                     "\"%.60s\" is no factor of the baseline", factor);
        return false;
    }
    return true;
}

/* One percent of the time, in nanoseconds per second. */
#define NS_PER_SECOND_OF_PERCENT 1e7

/* Reads the number of percent of the time as nanoseconds per second. */
static bool read_time_percentage(const char *percent, double *ret_rate)
{
    if (!read_number(percent, ret_rate)) {
        return false;
    }
    *ret_rate *= NS_PER_SECOND_OF_PERCENT;
    return true;
}

/* Reads a limit with its unit, which is cut from the text. */
static bool read_with_unit(const struct form *form, char *limit, double *ret_value)
{
    if (!form->each_second) {
        return read_quantity(form->quantity, trim(limit), ret_value);
    }
    if (form->quantity == DURATION && cut_end(limit, "%")) {
        return read_time_percentage(trim(limit), ret_value);
    }
    return cut_end(limit, "/s") && read_quantity(form->quantity, trim(limit), ret_value);
}

static bool read_limit(struct compiling *compiling, const char *key, char *limit,
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
    if (read_with_unit(&form, limit, &condition->limit)) {
        return true;
    }
    report_limit(compiling, key, &form, whole);
    return false;
}

static bool read_word(struct compiling *compiling, const char *key, const char *word,
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
    report_error(
        compiling, FAULT_VALUE, key,
        ">, >=, <, <=, = or != and a limit, such as \"> 30s\", \"changed\", or \"absent\"; what is "
        "compared is the \"metric\" and, of a histogram, its \"quantile\": 0.99",
        "\"%.60s\" is no condition", word);
    return false;
}

static bool read_condition(struct compiling *compiling, const char *key, const char *text,
                           struct vamp_alarm_condition *ret_condition)
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

/* ---- conditions */

static void check_when(struct compiling *compiling)
{
    const struct vamp_alarm_rule *rule = compiling->rule;
    const struct vamp_alarm_condition *when = &rule->when;
    if (!has_limit(when) && rule->measure != VAMP_ALARM_VALUE) {
        report_error(compiling, FAULT_KEY, rule->measure == VAMP_ALARM_RATE ? "rate" : "quantile",
                     "", "has no effect: \"%s\" compares no number", compiling->options->when);
    }
    if (compiling->metric->kind == VAMP_HISTOGRAM && rule->measure == VAMP_ALARM_VALUE &&
        when->comparison != VAMP_ALARM_ABSENT) {
        report_error(compiling, FAULT_VALUE, "when",
                     "a \"quantile\", such as 0.99, a \"rate\", or the condition \"absent\"",
                     "%s is a histogram and has no single value", compiling->metric->name);
    }
    if (rule->baseline_buckets > 0 && !when->is_ratio) {
        report_error(compiling, FAULT_KEY, "baseline", "",
                     "has no effect: \"when\" is no multiple of the baseline, as in \"> 2 * "
                     "baseline\"");
    }
}

static bool is_lower_limit(enum vamp_alarm_comparison comparison)
{
    return comparison == VAMP_ALARM_GREATER || comparison == VAMP_ALARM_GREATER_EQUAL;
}

static bool is_upper_limit(enum vamp_alarm_comparison comparison)
{
    return comparison == VAMP_ALARM_LESS || comparison == VAMP_ALARM_LESS_EQUAL;
}

/* The conditions must be limits in opposite directions, which no value satisfies at the same time.
 */
static void check_clear(struct compiling *compiling)
{
    const struct vamp_alarm_condition *when = &compiling->rule->when;
    const struct vamp_alarm_condition *clear = &compiling->rule->clear;
    const bool up = is_lower_limit(when->comparison), down = is_upper_limit(when->comparison);
    const bool opposite =
        (up && is_upper_limit(clear->comparison)) || (down && is_lower_limit(clear->comparison));
    const bool overlap = (up && clear->limit > when->limit) || (down && clear->limit < when->limit);
    if (!up && !down) {
        report_error(compiling, FAULT_KEY, "clear", "",
                     "has no effect: only a rule with >, >=, < or <= has a second limit");
    } else if (!opposite) {
        report_error(compiling, FAULT_VALUE, "clear",
                     up ? "< or <= and a limit" : "> or >= and a limit",
                     "the condition for resolving must have the opposite direction of \"%s\"",
                     compiling->options->when);
    } else if (clear->is_ratio != when->is_ratio) {
        report_error(compiling, FAULT_VALUE, "clear", "",
                     "\"when\" and \"clear\" must both be multiples of the baseline, or both "
                     "not");
    } else if (overlap) {
        report_error(compiling, FAULT_VALUE, "clear", "",
                     "the alarm would fire and resolve at the same value: the limit must be "
                     "%s that of \"%s\"",
                     up ? "at most" : "at least", compiling->options->when);
    }
}

static void compile_conditions(struct compiling *compiling)
{
    const struct vamp_alarm_options *options = compiling->options;
    struct vamp_alarm_rule *rule = compiling->rule;
    if (options->when == NULL || !read_condition(compiling, "when", options->when, &rule->when)) {
        return;
    }
    check_when(compiling);
    rule->has_clear = options->clear != NULL && options->clear[0] != '\0';
    if (rule->has_clear && read_condition(compiling, "clear", options->clear, &rule->clear)) {
        check_clear(compiling);
    }
}

bool vamp_alarm_compile(const struct vamp_alarm_options *options,
                        const struct vamp_alarm_scope *scope, vamp_alarm_report_fn *report,
                        void *context, struct vamp_alarm_rule *ret_rule)
{
    struct compiling compiling = {
        .options = options,
        .scope = scope,
        .report = report,
        .context = context,
        .rule = ret_rule,
    };
    *ret_rule = (struct vamp_alarm_rule){.options = options};
    if (options->name == NULL) {
        report_error(&compiling, FAULT_KEY, "name", "", "a rule needs a \"name\"");
    }
    if (options->when == NULL) {
        report_error(&compiling, FAULT_KEY, "when", "",
                     "a rule needs a condition, \"when\", such as \"> 30s\"");
    }
    compile_metric(&compiling);
    ret_rule->hold_buckets = compile_hold(&compiling, "for", options->hold);
    ret_rule->clear_buckets = compile_hold(&compiling, "clear_for", options->clear_hold);
    compile_baseline(&compiling);
    if (compiling.metric != NULL) {
        compile_measure(&compiling);
        compile_series(&compiling);
        compile_conditions(&compiling);
    }
    return !compiling.has_errors;
}
