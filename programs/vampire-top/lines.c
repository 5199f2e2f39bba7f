/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A line's JSON, added to the state. A member that is missing or has another type counts as 0 or
 * "": a stream of a later version of the format is shown as far as possible.
 */
#include "programs/vampire-top/state.h"

#include <stdio.h>
#include <string.h>

#include "programs/vampire-top/losses.h"
#include "vampire/core/event/components.h"

/* ---- metrics */

/* Where the names of a kind of rows are: in this label, or rather in that of its model. */
static const struct {
    const char *label, *of_model;
} names_of[TOP_KINDS][2] = {
    [TOP_COMPONENTS] = {{"component", "model"}, {"", ""}},
    [TOP_PAIRS] = {{"source", "source_model"}, {"sink", "sink_model"}},
    [TOP_BLAME] = {{"producer", "producer_model"}, {"component", "model"}},
};

/* What is shown: numbers of rows, and gauges. */
enum { GAUGE = TOP_KINDS };
static const struct metric {
    const char *name;
    unsigned kind;   /* enum top_kind, or GAUGE */
    unsigned number; /* enum top_number, or enum top_gauge */
} metrics[] = {
    {"pool_operations", TOP_COMPONENTS, TOP_OPERATIONS}, /* TOP_SHARES */
    {"produced_bytes", TOP_COMPONENTS, TOP_PRODUCED},
    {"transport_bytes", TOP_PAIRS, TOP_MOVED},
    {"consumed_bytes", TOP_COMPONENTS, TOP_CONSUMED},
    {"anomalies", TOP_COMPONENTS, TOP_ANOMALIES},
    {"demand_wait_ns", TOP_COMPONENTS, TOP_WAITS},
    {"demand_wait_part_ns", TOP_BLAME, TOP_WAITED},
    {"transport_ns", TOP_PAIRS, TOP_DURATIONS},
    {"transports", TOP_PAIRS, TOP_TRANSPORTS},
    {"components_present", GAUGE, TOP_PRESENT},
    {"pool_cdos", GAUGE, TOP_POOL_CDOS},
    {"pool_bytes", GAUGE, TOP_POOL_BYTES},
    {"transports_active", GAUGE, TOP_ACTIVE},
    {"vampire_lag_ns", GAUGE, TOP_LAG},
    {"vampire_clock_resolution_ns", GAUGE, TOP_RESOLUTION},
    {"vampire_alarms_firing", GAUGE, TOP_FIRING},
    {"vampire_sampled_out", GAUGE, TOP_SAMPLED_OUT},
    {"vampire_series_overflow", GAUGE, TOP_OVERFLOW},
    {"vampire_labels_given_up", GAUGE, TOP_LABELS_LOST},
    {"vampire_evicted", GAUGE, TOP_EVICTED},
    {"collect_refused", GAUGE, TOP_REFUSED},
    {"vampire_not_subscribed", GAUGE, TOP_NOT_SUBSCRIBED},
    {"vampire_metric_filtered", GAUGE, TOP_METRIC_FILTERED},
    {"vampire_not_in_output", GAUGE, TOP_NOT_IN_STREAM},
};

static const struct metric *find_metric(const char *name)
{
    for (size_t i = 0; i < sizeof metrics / sizeof metrics[0]; i++) {
        if (strcmp(metrics[i].name, name) == 0) {
            return &metrics[i];
        }
    }
    return NULL;
}

static void take_gauge(struct top_model *model, enum top_gauge gauge, const json_t *series)
{
    const char *name = top_json_text(series, "tier");
    const double value = top_json_number(series, "value");
    double sum = 0;
    bool found = false;
    /* Only tiers that changed have lines: of transports, the sum with this tier's change. */
    for (unsigned i = 0; gauge == TOP_ACTIVE && i < TIERS_MAX; i++) {
        struct tier *tier = &model->tiers[i];
        if (!found && (!tier->known || strcmp(tier->name, name) == 0)) {
            found = tier->known = true;
            (void)snprintf(tier->name, sizeof tier->name, "%s", name);
            tier->active = value;
        }
        sum += tier->active;
    }
    /* Of several series, that one of them is above 0 is enough. */
    if (gauge < TOP_REFUSED || value > 0) {
        model->shown.known[gauge] = true;
        model->shown.gauges[gauge] = gauge == TOP_ACTIVE ? sum : value;
    }
}

/* The model of a component. */
static const char *model_name(const char *component, char model[static VAMP_MODEL_NAME_MAX + 1])
{
    const struct vamp_model_name name = vamp_model_of(&vamp_model_rules_usual, component);
    if (name.length > VAMP_MODEL_NAME_MAX) {
        return component;
    }
    memcpy(model, name.begin, name.length);
    model[name.length] = '\0';
    return model;
}

static void take_bin(struct vamp_histogram *times, uint64_t lower, uint64_t count)
{
    /* Bins of another precision are put where their smallest value belongs. */
    times->bins[vamp_bin_index(VAMP_SUB_BITS_DEFAULT, lower)] += count;
    times->count += count;
}

static void take_times(struct vamp_histogram *times, const json_t *series)
{
    const json_t *bins = json_object_get(series, "bins");
    size_t i = 0;
    json_t *bin = NULL;
    json_array_foreach(bins, i, bin)
    {
        take_bin(times, top_json_integer(json_array_get(bin, 0)),
                 top_json_integer(json_array_get(bin, 1)));
    }
    if (i > 0) {
        const uint64_t min = top_json_integer(json_object_get(series, "min"));
        const uint64_t max = top_json_integer(json_object_get(series, "max"));
        times->min = min < times->min ? min : times->min;
        times->max = max > times->max ? max : times->max;
    }
}

/* The rows of a series; NULL, as they were, where its labels name none. */
static void find_rows(struct top_model *model, unsigned kind, const json_t *series,
                      struct top_counted *rows[static TOP_LEVELS])
{
    char models[2][VAMP_MODEL_NAME_MAX + 1];
    const char *ranks[2] = {"", ""}, *in[2] = {"", ""};
    for (unsigned i = 0; i < 2; i++) {
        const char *of_model = top_json_text(series, names_of[kind][i].of_model);
        ranks[i] = *of_model != '\0' ? of_model : top_json_text(series, names_of[kind][i].label);
        in[i] = *of_model != '\0' ? of_model : model_name(ranks[i], models[i]);
    }
    /* A model is no rank where ranks have lines of their own. */
    if (*ranks[0] != '\0' && (kind != TOP_COMPONENTS || model->ranks_have == 0)) {
        rows[TOP_RANKS] = top_rows_get(&model->rows[TOP_RANKS][kind], ranks[0], ranks[1]);
        model->shown.folded += strcmp(rows[TOP_RANKS]->name, ranks[0]) != 0;
    }
    if (*ranks[0] != '\0') {
        rows[TOP_MODELS] = top_rows_get(&model->rows[TOP_MODELS][kind], in[0], in[1]);
    }
}

/* Of the rows (NULL: the stream does not distinguish components), and of all together. */
static void add(struct top_model *model, struct top_counted *const rows[static TOP_LEVELS],
                unsigned number, double delta)
{
    model->total->next.sums[number] += delta;
    for (unsigned i = 0; i < TOP_LEVELS; i++) {
        if (rows[i] != NULL) {
            rows[i]->next.sums[number] += delta;
        }
    }
}

/* The labels of a declared metric and what it has; those of the ranks are those of all. */
static void take_declared(struct top_model *model, const json_t *description, json_t *series)
{
    const json_t *value = json_object_get(series, "value");
    char of[TOP_NAME_BYTES] = "";
    const char *label = NULL;
    json_t *text = NULL;
    json_object_foreach(series, label, text)
    {
        const size_t used = strlen(of);
        if (json_is_string(text)) {
            (void)snprintf(of + used, sizeof of - used, "%s%s %s", used > 0 ? ", " : "", label,
                           json_string_value(text));
        }
    }
    struct top_counted *row =
        top_rows_get(&model->rows[TOP_RANKS][TOP_DECLARED], top_json_text(description, "name"), of);
    top_json_copy(row->unit, sizeof row->unit, description, "unit");
    row->next.sums[TOP_GREW] += top_json_number(series, "delta");
    take_times(row->next.times, series);
    if (strcmp(top_json_text(description, "kind"), "gauge") == 0) {
        row->level.known = json_is_number(value);
        row->level.value = json_number_value(value);
    }
}

/* What a metric counted, or lacks. */
static void take_share(struct top_model *model, const char *name, bool lacks, double delta)
{
    for (unsigned i = 0; i < TOP_SHARES; i++) {
        struct top_share *share = &model->shown.shares[i];
        if (strcmp(metrics[i].name, name) == 0) {
            share->name = metrics[i].name;
            *(lacks ? &share->lacks : &share->has) += delta;
        }
    }
}

static void take_series(struct top_model *model, const struct metric *metric, const json_t *series)
{
    /* Of some metrics, the numbers of their parts, which follow their own. */
    static const struct {
        const char *label, *values[3];
        unsigned number;
    } parts[] = {{"operation", {"offer", "demand", "withdraw"}, TOP_OPERATIONS},
                 {"part", {"for_offer", "for_start", "moving"}, TOP_WAITED}};
    if (metric->kind == GAUGE) {
        take_share(model, top_json_text(series, "metric"), true, top_json_number(series, "delta"));
        take_gauge(model, (enum top_gauge)metric->number, series);
        return;
    }
    struct top_counted *rows[TOP_LEVELS] = {NULL, NULL};
    const bool timed = metric->number >= TOP_SUM_COUNT;
    const double delta = top_json_number(series, metric->number == TOP_WAITED ? "sum" : "delta");
    if (timed || delta > 0) {
        find_rows(model, metric->kind, series, rows);
    }
    for (unsigned i = 0; timed && i < TOP_LEVELS && rows[i] != NULL; i++) {
        take_times(rows[i]->next.times, series);
    }
    if (!timed) {
        take_share(model, metric->name, false, delta);
        add(model, rows, metric->number, delta);
    }
    for (unsigned i = 0; i < 6; i++) {
        if (parts[i / 3].number == metric->number &&
            strcmp(parts[i / 3].values[i % 3], top_json_text(series, parts[i / 3].label)) == 0) {
            add(model, rows, metric->number + 1 + i % 3, delta);
        }
    }
}

static void take_values(struct top_model *model, const json_t *line)
{
    const char *name = NULL;
    json_t *list = NULL, *series = NULL;
    size_t i = 0;
    model->next_lines++;
    json_object_foreach(json_object_get(line, "values"), name, list)
    {
        const struct metric *metric = find_metric(name);
        const json_t *declared = json_object_get(model->declared, name);
        json_array_foreach(metric != NULL || declared != NULL ? list : NULL, i, series)
        {
            if (declared != NULL) {
                take_declared(model, declared, series);
            }
            if (metric != NULL) {
                take_series(model, metric, series);
            }
        }
    }
}

/* ---- header, components and their operations */

/* What nobody could know, of that which was asked for. */
static void take_absence(struct top_model *model, const json_t *absence)
{
    struct top_snapshot *shown = &model->shown;
    const char *what = top_json_text(absence, "what");
    const struct metric *metric = find_metric(what);
    if (metric != NULL && metric->kind != GAUGE) {
        shown->unobserved |= TOP_BIT(metric->number);
    } else if (strcmp(what, "losses") == 0) {
        top_json_copy(shown->unseen_losses, sizeof shown->unseen_losses, absence, "reason");
    }
}

/* The columns of lines of ranks. */
static void take_ranks_header(struct top_model *model, const json_t *line)
{
    size_t i = 0;
    json_t *name = NULL;
    const double sub_bits = top_json_number(line, "sub_bits");
    if (sub_bits == 2 || sub_bits == 3 || sub_bits == 4) {
        vamp_bins_init(&model->ranks_bins, (unsigned)sub_bits);
    }
    model->ranks_have = model->ranks_count = 0;
    json_array_foreach(json_object_get(line, "ranks"), i, name)
    {
        const struct metric *metric =
            json_is_string(name) ? find_metric(json_string_value(name)) : NULL;
        const bool is_known = metric != NULL && metric->kind == TOP_COMPONENTS;
        if (i < TOP_RANKS_MAX) {
            model->ranks[model->ranks_count++] = is_known ? metric->number : TOP_NUMBER_COUNT;
            model->ranks_have |= is_known ? TOP_BIT(metric->number) : 0;
        }
    }
}

/* Also which numbers the stream has; a header that does not describe its metrics leaves that. */
static void take_header(struct top_model *model, const json_t *line)
{
    struct top_snapshot *shown = &model->shown;
    const json_t *descriptions = json_object_get(line, "metrics");
    size_t i = 0;
    json_t *description = NULL, *absence = NULL;
    shown->ended = false;
    model->bucket_ns = top_json_number(line, "bucket_ns");
    top_json_copy(shown->sampling, sizeof shown->sampling, line, "sampling");
    top_json_copy(shown->workflow, sizeof shown->workflow, line, "workflow");
    shown->unobserved = 0;
    shown->unseen_losses[0] = '\0';
    json_array_foreach(json_object_get(line, "not_observed"), i, absence)
    {
        take_absence(model, absence);
    }
    if (json_is_array(descriptions)) {
        shown->hidden = shown->hidden_in_rows = TOP_NUMBERS_ALL;
        shown->by_model = false;
        json_decref(model->declared);
        model->declared = json_object();
        take_ranks_header(model, line);
    }
    json_array_foreach(descriptions, i, description)
    {
        const struct metric *metric = find_metric(top_json_text(description, "name"));
        const json_t *labels = json_object_get(description, "labels");
        if (strcmp(top_json_text(description, "origin"), "declared in samples.metrics") == 0) {
            (void)json_object_set(model->declared, top_json_text(description, "name"), description);
        }
        if (metric == NULL || metric->kind == GAUGE) {
            continue;
        }
        bool in_rows = true;
        for (unsigned side = 0; side < 2 && *names_of[metric->kind][side].label != '\0'; side++) {
            const bool of_model = top_json_lists(labels, names_of[metric->kind][side].of_model);
            shown->by_model = shown->by_model || of_model;
            in_rows =
                in_rows && (of_model || top_json_lists(labels, names_of[metric->kind][side].label));
        }
        shown->hidden &= ~TOP_BIT(metric->number);
        shown->hidden_in_rows &= in_rows ? ~TOP_BIT(metric->number) : TOP_NUMBERS_ALL;
    }
}

bool top_counts_by_lines(const struct top_snapshot *shown)
{
    return (shown->hidden_in_rows & TOP_BIT(TOP_OPERATIONS)) != 0 || shown->by_model;
}

static void count_operations(struct top_model *model, struct member *member, double operations)
{
    for (unsigned i = 0; top_counts_by_lines(&model->shown) && i < TOP_LEVELS; i++) {
        struct top_counted *row = member->rows[i];
        const bool counts = !model->shown.by_model || (i == TOP_RANKS && member->is_rank);
        if (counts && !member->is_older && operations > member->operations) {
            row->by_lines = true;
            row->next.sums[TOP_OPERATIONS] += operations - member->operations;
        }
    }
    member->operations = operations;
    member->is_older = false;
    model->next_components++;
}

/* The metrics know names only; the lines of components know numbers, too. */
static void take_component(struct top_model *model, const json_t *line)
{
    char scratch[VAMP_MODEL_NAME_MAX + 1];
    const char *name = top_json_text(line, "name");
    const char *of_model = model_name(name, scratch);
    const json_t *index = json_object_get(line, "index");
    const uint64_t number = top_json_integer(index);
    struct top_counted *const rows[TOP_LEVELS] = {
        [TOP_MODELS] = top_rows_get(&model->rows[TOP_MODELS][TOP_COMPONENTS], of_model, ""),
        [TOP_RANKS] = top_rows_get(&model->rows[TOP_RANKS][TOP_COMPONENTS], name, ""),
    };
    if (strcmp(rows[TOP_RANKS]->name, name) != 0 || !json_is_number(index) ||
        number >= MEMBERS_MAX) {
        return;
    }
    struct member *member = &model->members[number];
    const bool left = json_is_string(json_object_get(line, "left"));
    char host[TOP_HOST_BYTES];
    top_json_copy(host, sizeof host, line, "host");
    for (unsigned i = 0; i < TOP_LEVELS; i++) {
        struct top_counted *row = member->rows[i] = rows[i];
        if (*host != '\0' &&
            (row->members == (member->known ? 1U : 0U) || strcmp(row->host, host) == 0)) {
            (void)snprintf(row->host, sizeof row->host, "%s", host);
        } else if (strcmp(row->host, host) != 0) {
            row->host[0] = '\0';
        }
        row->members += !member->known;
        row->left += left && !member->left;
        if (left && !member->left && (!top_counted_has_vanished(row) || row->left == 1)) {
            top_json_copy(row->reason, sizeof row->reason, line, "reason");
        }
    }
    /* What it did before a stream that begins in the middle is not of its buckets. */
    member->is_older =
        member->is_older || (!member->known && model->from_middle &&
                             strcmp(top_json_text(line, "joined"), model->shown.since) < 0);
    member->known = true;
    member->left = left || member->left;
    member->is_rank = strcmp(of_model, name) != 0;
}

static void take_operations(struct top_model *model, const json_t *line)
{
    size_t i = 0;
    json_t *pair = NULL;
    json_array_foreach(json_object_get(line, "operations"), i, pair)
    {
        const uint64_t number = top_json_integer(json_array_get(pair, 0));
        if (number < MEMBERS_MAX && model->members[number].known) {
            count_operations(model, &model->members[number],
                             (double)top_json_integer(json_array_get(pair, 1)));
        }
    }
}

/* ---- ranks */

static void add_rank(struct top_model *model, struct top_counted *row, const json_t *rank)
{
    for (unsigned i = 0; i < model->ranks_count; i++) {
        const json_t *value = json_array_get(rank, i + 1);
        struct vamp_histogram *times = row->next.times;
        if (model->ranks[i] < TOP_SUM_COUNT) {
            row->next.sums[model->ranks[i]] += (double)top_json_integer(value);
        } else if (model->ranks[i] == TOP_WAITS && json_array_size(value) >= 4) {
            const uint64_t max = top_json_integer(json_array_get(value, 1));
            for (size_t at = 2; at + 1 < json_array_size(value); at += 2) {
                const uint64_t bin = top_json_integer(json_array_get(value, at));
                if (bin < model->ranks_bins.count) {
                    take_bin(times, model->ranks_bins.lower[bin],
                             top_json_integer(json_array_get(value, at + 1)));
                }
            }
            times->max = max > times->max ? max : times->max;
            times->min = 0; /* is not told */
        }
    }
}

/* What components counted, of which the labels of values do not tell. It ends with this bucket;
 * that which began before the first bucket seen is none of it. */
static void take_ranks(struct top_model *model, const json_t *line)
{
    const struct top_snapshot *shown = &model->shown;
    char scratch[VAMP_MODEL_NAME_MAX + 1];
    size_t i = 0;
    json_t *rank = NULL;
    top_json_copy(model->next_ranks, sizeof model->next_ranks, line, "time");
    if (shown->buckets > 0 && strcmp(model->next_ranks, shown->since) < 0) {
        return;
    }
    model->next_ranks_ns = top_json_number(line, "width_ns");
    json_array_foreach(json_object_get(line, "ranks"), i, rank)
    {
        const json_t *text = json_array_get(rank, 0);
        const char *name = json_is_string(text) ? json_string_value(text) : "";
        const char *names[TOP_LEVELS] = {
            [TOP_RANKS] = name, [TOP_MODELS] = model_name(name, scratch)};
        for (unsigned level = shown->by_model ? TOP_RANKS : TOP_MODELS; level < TOP_LEVELS;
             level++) {
            struct top_counted *row =
                top_rows_get(&model->rows[level][TOP_COMPONENTS], names[level], "");
            row->of_ranks = top_rows_get(&model->rows[level][OF_RANKS], names[level], "");
            add_rank(model, row->of_ranks, rank);
        }
    }
}

void top_take_line(struct top_model *model, const char *type, const json_t *line)
{
    static const struct {
        const char *name;
        void (*take)(struct top_model *model, const json_t *line);
    } types[] = {
        {"header", take_header},        {"values", take_values},
        {"component", take_component},  {"operations", take_operations},
        {"not_observed", take_absence}, {"ranks", take_ranks},
    };
    struct top_snapshot *shown = &model->shown;
    if (strcmp(type, "alarm") == 0) {
        top_attention_alarm(&shown->attention, line, shown->seen_ns);
    } else if (strcmp(type, "pending") == 0) {
        top_attention_pending(&shown->attention, line);
    } else if (strcmp(type, "lost") == 0) {
        top_losses_lost(shown, line);
    } else if (strcmp(type, "gap") == 0) {
        top_losses_gap(shown, line);
    }
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(type, types[i].name) == 0) {
            types[i].take(model, line);
        }
    }
}
