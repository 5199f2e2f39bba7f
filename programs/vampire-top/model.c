/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A line's JSON, added to the state. A member that is missing or has another type counts as 0 or
 * "": a stream of a later version of the format is shown as far as possible.
 */
#include "programs/vampire-top/model.h"

#include "programs/vampire-top/log.h"
#include "programs/vampire-top/losses.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libdeflate.h>

#include "vampire/core/event/components.h"

/* So many ranks are shown one by one, unless the user chooses. */
#define RANKS_FEW 16

#define TOP_RANKS_MAX 8
#define TIERS_MAX 8
struct tier {
    bool known;
    char name[TOP_WORD_BYTES];
    double active; /* transports */
};

/* How many components the format numbers at most, as far as those of one name are distinguished. */
#define MEMBERS_MAX 65536
struct member {
    bool known, left;
    bool is_rank;      /* of a model of another name */
    bool is_older;     /* than what is read of the run: its first number is no news */
    double operations; /* as last reported */
    struct top_counted *rows[TOP_LEVELS];
};

#define LOGGED_TOTAL (TOP_LOG_ROWS - 1)

/* What lines of ranks have of components: a further kind of rows, whose numbers are of a time of
 * their own. */
enum { OF_RANKS = TOP_KINDS, KINDS };

struct top_model {
    char run[40];
    /* What is shown of the newest bucket, but for what depends on the mode and for rows. All losses
     * are in it. */
    struct top_snapshot shown;
    double next_lines;            /* with values, of the incoming bucket */
    unsigned next_components;     /* whose operations came with it */
    double bucket_ns;             /* the usual width */
    struct tier tiers[TIERS_MAX]; /* of which the gauge of active transports is the sum */
    struct top_counted *total;    /* owned; without times */
    struct top_rows rows[TOP_LEVELS][KINDS];
    unsigned ranks_have;           /* bits: numbers in lines of ranks; 0: there are none */
    unsigned ranks[TOP_RANKS_MAX]; /* the number in each column, or TOP_NUMBER_COUNT */
    unsigned ranks_count;
    double next_ranks_ns;            /* what those that came are of; 0: none */
    char next_ranks[TOP_TIME_BYTES]; /* and since when */
    struct vamp_bins ranks_bins;
    bool from_middle;       /* the first bucket seen is not the run's */
    struct member *members; /* owned: of each component's number */
    json_t *declared;       /* owned: descriptions of declared metrics by name; NULL: none */
    struct vamp_bins bins;
    struct top_log *log; /* owned */
    /* Of the lines since the last one with a check value, as far as all of them were fed. */
    uint32_t sum;
    bool sum_known, has_checks;
};

#define TABLES (TOP_LEVELS * KINDS)
static struct top_rows *table_of(struct top_model *model, unsigned number)
{
    return &model->rows[number / KINDS][number % KINDS];
}

struct top_model *top_model_create(void)
{
    struct top_model *model = calloc(1, sizeof *model);
    if (model == NULL) {
        return NULL;
    }
    vamp_bins_init(&model->bins, VAMP_SUB_BITS_DEFAULT);
    vamp_bins_init(&model->ranks_bins, VAMP_SUB_BITS_DEFAULT);
    model->members = calloc(MEMBERS_MAX, sizeof *model->members);
    model->total = top_counted_create("", "");
    model->log = top_log_create();
    bool complete = model->members != NULL && model->total != NULL && model->log != NULL;
    for (unsigned i = 0; complete && i < TABLES; i++) {
        complete = top_rows_init(table_of(model, i)) == 0;
    }
    if (!complete) {
        top_model_free(model);
        return NULL;
    }
    return model;
}

void top_model_free(struct top_model *model)
{
    if (model != NULL) {
        for (unsigned i = 0; i < TABLES; i++) {
            top_rows_done(table_of(model, i));
        }
        top_log_free(model->log);
        free(model->total);
        free(model->members);
        json_decref(model->declared);
        free(model);
    }
}

/* Another run: everything but what was bad is forgotten. */
static void reset(struct top_model *model, const char *run)
{
    model->shown =
        (struct top_snapshot){.bad_lines = model->shown.bad_lines, .damaged = model->shown.damaged};
    model->next_lines = 0;
    model->next_components = 0;
    model->next_ranks_ns = 0;
    model->ranks_have = model->ranks_count = 0;
    model->bucket_ns = 0;
    model->from_middle = false;
    memset(model->tiers, 0, sizeof model->tiers);
    memset(model->members, 0, MEMBERS_MAX * sizeof *model->members);
    top_counted_clear(model->total);
    for (unsigned i = 0; i < TABLES; i++) {
        top_rows_clear(table_of(model, i));
    }
    top_log_clear(model->log);
    json_decref(model->declared);
    model->declared = NULL;
    (void)snprintf(model->run, sizeof model->run, "%s", run);
}

const char *top_model_run(const struct top_model *model)
{
    return model->run;
}

bool top_model_is_foreign(const struct top_model *model)
{
    return model->shown.bad_lines > 0 && model->run[0] == '\0';
}

void top_model_skip(struct top_model *model)
{
    model->shown.bad_lines++;
}

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

/* ---- the other lines */

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

/* No metric distinguishes components, so that the operations of each come from lines that have
 * totals since the run began; if metrics have those of models, only of ranks. */
static bool counts_by_lines(const struct top_snapshot *shown)
{
    return (shown->hidden_in_rows & TOP_BIT(TOP_OPERATIONS)) != 0 || shown->by_model;
}

static void count_operations(struct top_model *model, struct member *member, double operations)
{
    for (unsigned i = 0; counts_by_lines(&model->shown) && i < TOP_LEVELS; i++) {
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

/* ---- the window */

/* Of all rows, what the newest bucket or the window had, or else what the incoming one has. */
static void clear_parts(struct top_model *model, bool now)
{
    top_part_clear(now ? &model->total->now : &model->total->next);
    for (unsigned i = 0; i < TABLES; i++) {
        struct top_rows *table = table_of(model, i);
        for (size_t row = 0; row < table->count; row++) {
            top_part_clear(now ? &table->rows[row]->now : &table->rows[row]->next);
        }
    }
}

static struct top_part *logged_part(void *context, uint32_t row)
{
    struct top_model *model = context;
    row &= ~TOP_LOG_OF_RANKS;
    return row == LOGGED_TOTAL
               ? &model->total->now
               : &table_of(model, row / TOP_ROWS_MAX)->rows[row % TOP_ROWS_MAX]->now;
}

void top_model_window(struct top_model *model, double window_ns)
{
    struct top_snapshot *shown = &model->shown;
    clear_parts(model, true);
    top_log_window(model->log, window_ns, logged_part, model, &shown->window_ns, &shown->ranks_ns);
}

/* ---- the end of a bucket */

/* What lines of ranks have, if some came. */
static void commit_ranks(struct top_model *model)
{
    if (model->next_ranks_ns > 0) {
        top_log_ranks(model->log, model->next_ranks_ns);
        for (uint32_t level = 0; level < TOP_LEVELS; level++) {
            struct top_rows *table = &model->rows[level][OF_RANKS];
            for (uint32_t row = 0; row < table->count; row++) {
                const uint32_t number = (level * KINDS + OF_RANKS) * TOP_ROWS_MAX + row;
                top_log_part(model->log, TOP_LOG_OF_RANKS | number, &table->rows[row]->next);
                top_counted_commit(table->rows[row]);
            }
        }
        model->shown.ranks_ns = model->next_ranks_ns;
    }
    model->next_ranks_ns = 0;
}

/* What was counted becomes the newest bucket; without `components`, what they have is of a later
 * one. */
static void commit(struct top_model *model, bool components)
{
    struct top_snapshot *shown = &model->shown;
    top_log_part(model->log, LOGGED_TOTAL, &model->total->next);
    top_counted_commit(model->total);
    commit_ranks(model);
    for (unsigned i = 0; i < TABLES; i++) {
        struct top_rows *table = table_of(model, i);
        for (uint32_t row = 0; row < table->count; row++) {
            if (i % KINDS != OF_RANKS && (components || i % KINDS != TOP_COMPONENTS)) {
                top_log_part(model->log, i * TOP_ROWS_MAX + row, &table->rows[row]->next);
                top_counted_commit(table->rows[row]);
            }
        }
    }
    top_log_bucket(model->log, shown->width_ns);
    shown->window_ns = shown->width_ns;
    shown->any = true;
    shown->buckets++;
    shown->seen_ns += shown->width_ns;
}

/* Of lines of ranks that began before the first bucket seen. */
static void clear_ranks(struct top_model *model)
{
    model->next_ranks_ns = 0;
    for (unsigned level = 0; level < TOP_LEVELS; level++) {
        struct top_rows *table = &model->rows[level][OF_RANKS];
        for (size_t i = 0; i < table->count; i++) {
            top_part_clear(&table->rows[i]->next);
        }
    }
}

/* The check of a bucket, a header or an end does not hold. */
static void leave_out(struct top_model *model, const json_t *line)
{
    clear_parts(model, false);
    model->next_lines = 0;
    model->next_components = 0;
    model->next_ranks_ns = 0;
    model->shown.damaged++;
    top_json_copy(model->shown.damage, sizeof model->shown.damage, line, "time");
}

/* Its last line: what was counted becomes the newest bucket. */
static void take_bucket(struct top_model *model, const json_t *line)
{
    struct top_snapshot *shown = &model->shown;
    const bool by_lines = counts_by_lines(shown) && !shown->by_model;
    top_losses_account(shown, json_object_get(line, "accounting"));
    top_json_copy(shown->time, sizeof shown->time, line, "time");
    shown->bucket = top_json_number(line, "bucket");
    if (shown->buckets == 0) {
        memcpy(shown->since, shown->time, sizeof shown->since);
        model->from_middle = shown->bucket > 0;
        if (strcmp(model->next_ranks, shown->since) < 0) {
            clear_ranks(model);
        }
        /* The totals of a stream that begins in the middle are not its first bucket's. */
        for (unsigned level = 0; model->from_middle && level < TOP_LEVELS; level++) {
            struct top_rows *components = &model->rows[level][TOP_COMPONENTS];
            for (size_t i = 0; i < components->count; i++) {
                if (components->rows[i]->by_lines) {
                    components->rows[i]->next.sums[TOP_OPERATIONS] = 0;
                }
            }
        }
    }
    const json_t *width = json_object_get(line, "width_ns");
    shown->width_ns = width != NULL ? top_json_number(line, "width_ns") : model->bucket_ns;
    shown->partial = model->next_lines < top_json_number(line, "values");
    /* The lines of components are ahead of the buckets by the lateness of events: at the end of a
     * stream, what the newest bucket counts was in earlier lines. */
    commit(model,
           !by_lines || model->total->next.sums[TOP_OPERATIONS] == 0 || model->next_components > 0);
    model->next_lines = 0;
    model->next_components = 0;
    top_attention_commit(&shown->attention, shown->gauges[TOP_FIRING], shown->seen_ns);
}

static enum top_fed take_end(struct top_model *model, const json_t *line)
{
    struct top_snapshot *shown = &model->shown;
    const char *reason = top_json_text(line, "reason");
    if (strcmp(reason, "rotated") == 0 || strcmp(reason, "configuration reloaded") == 0) {
        return TOP_FED_ROTATED;
    }
    top_losses_account(shown, json_object_get(line, "accounting"));
    commit_ranks(model);
    shown->ended = true;
    top_json_copy(shown->end_reason, sizeof shown->end_reason, line, "reason");
    return TOP_FED_END;
}

static enum top_fed take_line(struct top_model *model, const json_t *line, bool holds)
{
    static const struct {
        const char *name;
        void (*take)(struct top_model *model, const json_t *line);
    } types[] = {
        {"header", take_header},        {"values", take_values},
        {"component", take_component},  {"operations", take_operations},
        {"not_observed", take_absence}, {"ranks", take_ranks},
    };
    const char *type = top_json_text(line, "type");
    const char *run = top_json_text(line, "run");
    struct top_snapshot *shown = &model->shown;
    const bool is_header = strcmp(type, "header") == 0, is_bucket = strcmp(type, "bucket") == 0;
    const bool is_other = *run != '\0' && strncmp(run, model->run, sizeof model->run - 1) != 0;
    const bool is_late = *model->run == '\0'; /* the header was not read */
    const json_t *version = json_object_get(line, "v");
    /* A file has one run, or begins the next with a header. */
    if (*type == '\0' || (is_header && *run == '\0') ||
        (version != NULL && json_number_value(version) != TOP_VERSION) ||
        (is_bucket && *top_json_text(line, "time") == '\0') ||
        (is_other && model->has_checks && !is_header && !is_late)) {
        shown->bad_lines++;
        return TOP_FED_BAD;
    }
    if (is_other && !is_header && is_late) {
        (void)snprintf(model->run, sizeof model->run, "%s", run);
    } else if (is_other) {
        reset(model, run);
    }
    if (!holds) {
        leave_out(model, line);
        return TOP_FED_BAD;
    }
    if (is_bucket) {
        take_bucket(model, line);
        return TOP_FED_BUCKET;
    }
    if (strcmp(type, "end") == 0) {
        return take_end(model, line);
    }
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
    return TOP_FED_LINE;
}

/* Whether the line's check value is that of the lines since the last one with one; a line without
 * one need not have it, unless it ends a bucket of a stream in which others do. */
static bool check_holds(struct top_model *model, const char *type, const char *line, size_t bytes)
{
    static const char key[] = ",\"check\":\"";
    const size_t behind = sizeof key - 1 + strlen("00000000\"}");
    char expected[16];
    if (strcmp(type, "header") == 0) {
        model->sum = 0;
        model->sum_known = true;
        model->has_checks = false;
    }
    if (bytes < behind || memcmp(line + bytes - behind, key, sizeof key - 1) != 0) {
        model->sum = libdeflate_crc32(libdeflate_crc32(model->sum, line, bytes), "\n", 1);
        return !model->has_checks || strcmp(type, "bucket") != 0;
    }
    (void)snprintf(expected, sizeof expected, "%08x",
                   libdeflate_crc32(model->sum, line, bytes - behind));
    const bool holds = !model->sum_known || memcmp(expected, line + bytes - 10, 8) == 0;
    model->sum = 0;
    model->sum_known = model->has_checks = true;
    return holds;
}

enum top_fed top_model_feed(struct top_model *model, const char *line, size_t bytes)
{
    /* As doubles: jansson's integers end at 2^63, the format's at 2^64. */
    json_t *json = json_loadb(line, bytes, JSON_DECODE_INT_AS_REAL, NULL);
    const bool holds = check_holds(model, top_json_text(json, "type"), line, bytes);
    const enum top_fed fed = take_line(model, json, holds); /* without a type, if it is no JSON */
    json_decref(json);
    return fed;
}

void top_model_jump(struct top_model *model)
{
    model->sum_known = false;
    model->shown.is_tail = true;
}

/* ---- snapshot */

static const struct top_part *part_of(const struct top_counted *row, enum top_mode mode)
{
    return mode == TOP_MODE_SUMS ? &row->all : &row->now;
}

static void take_sums(double *sums, const struct top_counted *row, const struct top_snapshot *s)
{
    for (unsigned i = 0; i < TOP_SUM_COUNT; i++) {
        const bool in_ranks =
            (row->of_ranks != NULL || row->by_lines) && (s->in_ranks & TOP_BIT(i)) != 0;
        const struct top_counted *of = in_ranks ? row->of_ranks : row;
        const double window_ns = in_ranks ? s->ranks_ns : s->window_ns;
        if (of == NULL) { /* its first line is to come */
            sums[i] = 0;
            continue;
        }
        const double sum = i == TOP_ANOMALIES ? of->all.sums[i] : part_of(of, s->mode)->sums[i];
        const bool rates = s->mode != TOP_MODE_SUMS && i != TOP_ANOMALIES && window_ns > 0;
        sums[i] = rates ? sum * 1e9 / window_ns : sum;
    }
}

static void take_row(struct top_row *out, const struct top_snapshot *s,
                     const struct top_counted *row, const struct vamp_bins *bins)
{
    const bool in_ranks = s->level == TOP_RANKS && s->ranks_ns > 0;
    const struct top_counted *of = row->of_ranks != NULL ? row->of_ranks : row;
    const struct vamp_histogram *times = part_of(of, s->mode)->times;
    *out = (struct top_row){
        .members = row->members,
        .left = row->left,
        .idle_ns = row->idle_buckets * s->width_ns,
        .vanished = top_counted_has_vanished(row),
        .timed = (double)times->count,
        .times = {[TOP_P50] = (double)vamp_histogram_quantile(times, bins, 0.5),
                  [TOP_P99] = (double)vamp_histogram_quantile(times, bins, 0.99),
                  [TOP_MAX] = (double)(times->count > 0 ? times->max : 0)},
        .hidden = s->by_model && (row->by_lines || top_part_is_empty(&row->all)) && !in_ranks,
        .by_lines = row->by_lines,
        .level = row->level,
    };
    memcpy(out->host, row->host, sizeof out->host);
    memcpy(out->unit, row->unit, sizeof out->unit);
    memcpy(out->reason, row->reason, sizeof out->reason);
    take_sums(out->sums, row, s);
    top_text_clean(out->name, sizeof out->name, row->name);
    top_text_clean(out->second, sizeof out->second, row->second);
}

static const struct top_rows *rows_shown(const struct top_model *model, enum top_level level,
                                         enum top_kind kind)
{
    return &model->rows[kind == TOP_DECLARED ? TOP_RANKS : level][kind];
}

/* Pairs have a row when something moved, components always; but one that is counted with its model
 * only if it vanished, for the head. */
static void take_rows(struct top_snapshot *s, const struct top_model *model, enum top_kind kind)
{
    struct top_table *table = &s->tables[kind];
    const struct top_rows *rows = rows_shown(model, s->level, kind);
    for (size_t i = 0; i < rows->count; i++) {
        const struct top_counted *row = rows->rows[i];
        const bool is_other = i == 0;
        if (kind == TOP_DECLARED ? row->level.known || !top_part_is_empty(&row->all)
            : kind != TOP_COMPONENTS
                ? !top_part_is_empty(part_of(row, s->mode))
                : !top_part_is_empty(&row->all) || row->of_ranks != NULL ||
                      (!is_other && (!s->by_model || top_counted_has_vanished(row)))) {
            take_row(&table->rows[table->count++], s, row, &model->bins);
        }
    }
}

static void take_vanished(struct top_snapshot *s, const struct top_rows *ranks)
{
    s->vanished_count = 0;
    for (size_t i = 0; i < ranks->count && s->vanished_count < TOP_VANISHED_MAX; i++) {
        if (top_counted_has_vanished(ranks->rows[i])) {
            top_text_clean(s->vanished[s->vanished_count++], TOP_NAME_BYTES, ranks->rows[i]->name);
        }
    }
}

enum top_level top_level_usual(const struct top_model *model)
{
    const size_t ranks = model->rows[TOP_RANKS][TOP_COMPONENTS].count - 1;
    const size_t models = model->rows[TOP_MODELS][TOP_COMPONENTS].count - 1;
    return models < ranks && ranks > RANKS_FEW ? TOP_MODELS : TOP_RANKS;
}

int top_snapshot_take(struct top_snapshot *snapshot, const struct top_model *model,
                      enum top_mode mode, enum top_level level, struct vamp_err *err)
{
    top_snapshot_done(snapshot);
    bool complete = true;
    *snapshot = model->shown;
    for (enum top_kind kind = TOP_COMPONENTS; kind < TOP_KINDS; kind++) {
        struct top_table *table = &snapshot->tables[kind];
        table->rows = calloc(rows_shown(model, level, kind)->count, sizeof *table->rows);
        complete = complete && table->rows != NULL;
    }
    if (!complete) {
        top_snapshot_done(snapshot);
        return vamp_err_set_errno(err, ENOMEM, "show the newest bucket");
    }
    snapshot->mode = mode;
    snapshot->level = level;
    if (snapshot->ranks_ns > 0 && (level == TOP_RANKS || !snapshot->by_model)) {
        snapshot->in_ranks = model->ranks_have;
        snapshot->hidden_in_rows &= ~model->ranks_have;
    }
    snapshot->loss_count = 0;
    for (unsigned i = 0; i < model->shown.loss_count; i++) {
        if (model->shown.losses[i].count > 0) {
            snapshot->losses[snapshot->loss_count++] = model->shown.losses[i];
        }
    }
    top_attention_sort(&snapshot->attention);
    take_sums(snapshot->sums, model->total, snapshot);
    for (enum top_kind kind = TOP_COMPONENTS; kind < TOP_KINDS; kind++) {
        take_rows(snapshot, model, kind);
    }
    take_vanished(snapshot, &model->rows[TOP_RANKS][TOP_COMPONENTS]);
    return 0;
}

void top_snapshot_done(struct top_snapshot *snapshot)
{
    for (unsigned kind = 0; kind < TOP_KINDS; kind++) {
        free(snapshot->tables[kind].rows);
    }
    memset(snapshot, 0, sizeof *snapshot);
}
