/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A line's JSON, added to the state. A member that is missing or has another type counts as 0 or
 * "": a stream of a later version of the format is shown as far as possible.
 */
#include "programs/vampire-top/model.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    double operations; /* as last reported */
};

struct top_model {
    char run[40];
    /* What is shown of the newest bucket, but for what depends on the mode and for rows. All losses
     * are in it. */
    struct top_snapshot shown;
    double next_metrics;           /* metric lines of the incoming bucket */
    unsigned next_component_lines; /* the same of components */
    struct tier tiers[TIERS_MAX];  /* of which the gauge of active transports is the sum */
    struct top_counted *total;     /* owned; without times */
    struct top_rows rows[TOP_KINDS];
    struct member *members; /* owned: of each component's number */
    struct vamp_bins bins;
};

struct top_model *top_model_create(void)
{
    struct top_model *model = calloc(1, sizeof *model);
    if (model == NULL) {
        return NULL;
    }
    vamp_bins_init(&model->bins, VAMP_SUB_BITS_DEFAULT);
    model->members = calloc(MEMBERS_MAX, sizeof *model->members);
    model->total = top_counted_create("", "");
    if (model->members == NULL || model->total == NULL ||
        top_rows_init(&model->rows[TOP_COMPONENTS]) != 0 ||
        top_rows_init(&model->rows[TOP_PAIRS]) != 0) {
        top_model_free(model);
        return NULL;
    }
    return model;
}

void top_model_free(struct top_model *model)
{
    if (model != NULL) {
        top_rows_done(&model->rows[TOP_COMPONENTS]);
        top_rows_done(&model->rows[TOP_PAIRS]);
        free(model->total);
        free(model->members);
        free(model);
    }
}

/* Another run: everything but the count of bad lines is forgotten. */
static void reset(struct top_model *model, const char *run)
{
    model->shown = (struct top_snapshot){.bad_lines = model->shown.bad_lines};
    model->next_metrics = 0;
    model->next_component_lines = 0;
    memset(model->tiers, 0, sizeof model->tiers);
    memset(model->members, 0, MEMBERS_MAX * sizeof *model->members);
    top_counted_clear(model->total);
    top_rows_clear(&model->rows[TOP_COMPONENTS]);
    top_rows_clear(&model->rows[TOP_PAIRS]);
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

/* ---- losses */

static struct top_loss *loss_of(struct top_snapshot *shown, const char *raw)
{
    char text[2 * TOP_WORD_BYTES];
    top_text_clean(text, sizeof text, raw);
    for (unsigned i = 0; i < shown->loss_count; i++) {
        if (strcmp(shown->losses[i].text, text) == 0) {
            return &shown->losses[i];
        }
    }
    /* The last one takes losses that find no place. */
    if (shown->loss_count < TOP_LOSSES_MAX) {
        memcpy(shown->losses[shown->loss_count++].text, text, sizeof text);
    }
    return &shown->losses[shown->loss_count - 1];
}

/* A number that only grows, reported with each bucket: of `what` in or of `where`. Losses before
 * the first bucket of the stream are not new. */
static void report_loss(struct top_snapshot *shown, const char *what, const char *where,
                        double count)
{
    char text[2 * TOP_WORD_BYTES];
    (void)snprintf(text, sizeof text, "%s %.40s", what, where);
    struct top_loss *loss = loss_of(shown, text);
    loss->fresh = shown->buckets > 0 && count > loss->count ? count - loss->count : 0;
    loss->count = count;
}

static void take_accounting(struct top_snapshot *shown, const json_t *accounting)
{
    const char *reason = NULL;
    json_t *value = NULL;
    size_t i = 0;
    shown->received = top_json_number(accounting, "received");
    shown->counted = top_json_number(accounting, "counted");
    shown->filtered = top_json_number(accounting, "filtered");
    shown->lost = 0;
    json_object_foreach(json_object_get(accounting, "lost"), reason, value)
    {
        const double lost = (double)top_json_integer(value);
        shown->lost += lost;
        report_loss(shown, "events in", reason, lost);
    }
    report_loss(shown, "events", "rejected", top_json_number(accounting, "rejected"));
    json_array_foreach(json_object_get(accounting, "outputs"), i, value)
    {
        report_loss(shown, "buckets of", top_json_text(value, "name"),
                    top_json_number(value, "lost"));
    }
}

/* Lines that were too long are reported nowhere else; the other losses come with the accounts. */
static void take_lost(struct top_snapshot *shown, const json_t *line)
{
    if (strcmp(top_json_text(line, "what"), "lines") == 0) {
        struct top_loss *loss = loss_of(shown, "lines too long");
        loss->fresh = top_json_number(line, "count");
        loss->count += loss->fresh;
    }
}

/* Of times as RFC 3339 has them, the times of day. */
static void take_gap(struct top_snapshot *shown, const json_t *line)
{
    const char *start = top_json_text(line, "start"), *end = top_json_text(line, "end");
    char text[sizeof shown->gap];
    shown->gaps++;
    (void)snprintf(text, sizeof text, "%.12s to %.12s (%.31s)",
                   strlen(start) > 11 ? start + 11 : "?", strlen(end) > 11 ? end + 11 : "?",
                   top_json_text(line, "reason"));
    top_text_clean(shown->gap, sizeof shown->gap, text);
}

/* ---- metrics */

/* Where the names of a kind of rows are: in this label, or rather in that of its model. */
static const struct {
    const char *label, *of_model;
} names_of[TOP_KINDS][2] = {
    [TOP_COMPONENTS] = {{"component", "model"}, {"", ""}},
    [TOP_PAIRS] = {{"source", "source_model"}, {"sink", "sink_model"}},
};

/* What is shown: numbers of rows, and gauges. */
enum { GAUGE = TOP_KINDS };
static const struct metric {
    const char *name;
    unsigned kind;   /* enum top_kind, or GAUGE */
    unsigned number; /* enum top_number, or enum top_gauge */
} metrics[] = {
    {"pool_operations", TOP_COMPONENTS, TOP_OPERATIONS},
    {"produced_bytes", TOP_COMPONENTS, TOP_PRODUCED},
    {"consumed_bytes", TOP_COMPONENTS, TOP_CONSUMED},
    {"anomalies", TOP_COMPONENTS, TOP_ANOMALIES},
    {"demand_wait_ns", TOP_COMPONENTS, TOP_WAITS},
    {"transport_ns", TOP_PAIRS, TOP_DURATIONS},
    {"transports", TOP_PAIRS, TOP_TRANSPORTS},
    {"transport_bytes", TOP_PAIRS, TOP_MOVED},
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

static void take_gauge(struct top_model *model, enum top_gauge gauge, const json_t *line)
{
    const char *name = top_json_text(json_object_get(line, "labels"), "tier");
    const double value = top_json_number(line, "value");
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
    model->shown.known[gauge] = true;
    model->shown.gauges[gauge] = gauge == TOP_ACTIVE ? sum : value;
}

static void take_times(struct vamp_histogram *times, const json_t *line)
{
    const json_t *bins = json_object_get(line, "bins");
    size_t i = 0;
    json_t *bin = NULL;
    json_array_foreach(bins, i, bin)
    {
        /* Bins of another precision are put where their smallest value belongs. */
        const uint64_t lower = top_json_integer(json_array_get(bin, 0));
        const uint64_t count = top_json_integer(json_array_get(bin, 1));
        times->bins[vamp_bin_index(VAMP_SUB_BITS_DEFAULT, lower)] += count;
        times->count += count;
    }
    if (i > 0) {
        const uint64_t min = top_json_integer(json_object_get(line, "min"));
        const uint64_t max = top_json_integer(json_object_get(line, "max"));
        times->min = min < times->min ? min : times->min;
        times->max = max > times->max ? max : times->max;
    }
}

/* Of a row (NULL: the stream does not distinguish components), and of all together. */
static void add(struct top_model *model, struct top_counted *row, unsigned number, double delta)
{
    model->total->next.sums[number] += delta;
    if (row != NULL) {
        row->next.sums[number] += delta;
    }
}

/* The row of a metric's line; NULL when its labels name none. */
static struct top_counted *row_of(struct top_model *model, unsigned kind, const json_t *labels)
{
    const char *names[2] = {"", ""};
    for (unsigned i = 0; i < 2; i++) {
        names[i] = top_json_text(labels, names_of[kind][i].of_model);
        names[i] = *names[i] != '\0' ? names[i] : top_json_text(labels, names_of[kind][i].label);
    }
    if (*names[0] == '\0') {
        return NULL;
    }
    struct top_counted *row = top_rows_get(&model->rows[kind], names[0], names[1]);
    model->shown.folded += strcmp(row->name, names[0]) != 0;
    return row;
}

static void take_metric(struct top_model *model, const json_t *line)
{
    static const char *const operations[] = {"offer", "demand", "withdraw"};
    const struct metric *metric = find_metric(top_json_text(line, "metric"));
    const json_t *labels = json_object_get(line, "labels");
    const double delta = top_json_number(line, "delta");
    model->next_metrics++;
    if (metric == NULL) {
        return;
    }
    if (metric->kind == GAUGE) {
        take_gauge(model, (enum top_gauge)metric->number, line);
        return;
    }
    const bool timed = metric->number >= TOP_SUM_COUNT;
    struct top_counted *row = timed || delta > 0 ? row_of(model, metric->kind, labels) : NULL;
    if (timed && row != NULL) {
        take_times(row->next.times, line);
    } else if (!timed) {
        add(model, row, metric->number, delta);
    }
    for (unsigned i = 0; i < 3 && metric->number == TOP_OPERATIONS; i++) {
        if (strcmp(operations[i], top_json_text(labels, "operation")) == 0) {
            add(model, row, TOP_OFFERS + i, delta);
        }
    }
}

/* ---- alarms */

static void remove_alarm(struct top_attention *attention, unsigned at)
{
    memmove(&attention->alarms[at], &attention->alarms[at + 1],
            (attention->alarm_count - at - 1) * sizeof attention->alarms[0]);
    attention->alarm_count--;
}

/* Its place in the list, or else that of an alarm that is over, which may be given up; at the end
 * when there is none. */
static unsigned find_alarm(const struct top_attention *attention, const struct top_alarm *wanted,
                           bool *ret_found)
{
    unsigned over = attention->alarm_count;
    for (unsigned i = 0; i < attention->alarm_count; i++) {
        const struct top_alarm *alarm = &attention->alarms[i];
        *ret_found = alarm->instance == wanted->instance && strcmp(alarm->rule, wanted->rule) == 0;
        if (*ret_found) {
            return i;
        }
        over = alarm->state == TOP_ALARM_RESOLVED && i < over ? i : over;
    }
    return over;
}

/* `count`: it is none of them. */
static unsigned word_number(const char *const *words, unsigned count, const char *word)
{
    unsigned number = 0;
    while (number < count && strcmp(words[number], word) != 0) {
        number++;
    }
    return number;
}

/* `seen_ns`: the widths of all buckets so far. */
static void take_alarm(struct top_attention *attention, const json_t *line, double seen_ns)
{
    static const char *const states[] = {"firing", "pending", "resolved"};
    static const char *const severities[] = {"critical", "warning"};
    struct top_alarm alarm = {
        .instance = top_json_number(line, "instance"),
        .severity = word_number(severities, 2, top_json_text(line, "severity")),
        .silenced = json_is_true(json_object_get(line, "silenced")),
        .has_value = json_is_number(json_object_get(line, "value")),
        .value = json_number_value(json_object_get(line, "value")),
        .changed_ns = seen_ns,
    };
    top_json_copy(alarm.rule, sizeof alarm.rule, line, "alarm");
    top_json_copy(alarm.unit, sizeof alarm.unit, line, "unit");
    top_json_copy(alarm.since, sizeof alarm.since, line, "since");
    top_json_copy(alarm.component, sizeof alarm.component, line, "component");
    top_json_copy(alarm.cdo, sizeof alarm.cdo, line, "cdo");
    const unsigned known = word_number(states, 3, top_json_text(line, "state"));
    bool found = false;
    unsigned at = find_alarm(attention, &alarm, &found);
    if (known == 3) { /* it was cleared before it fired */
        if (found) {
            remove_alarm(attention, at);
        }
        return;
    }
    if (!found && attention->alarm_count == TOP_ALARMS_MAX) {
        if (at == TOP_ALARMS_MAX) {
            return;
        }
        remove_alarm(attention, at);
    }
    alarm.state = (enum top_alarm_state)known;
    attention->alarms[found ? at : attention->alarm_count++] = alarm;
}

/* ---- demands */

static void take_pending(struct top_attention *attention, const json_t *line)
{
    attention->next_demands = top_json_number(line, "demands");
    if (attention->next_waiting_count == TOP_WAITING_MAX) {
        return;
    }
    struct top_waiting *waiting = &attention->next_waiting[attention->next_waiting_count++];
    const char *cdo = *top_json_text(line, "name") != '\0' ? "name" : "id";
    top_json_copy(waiting->component, sizeof waiting->component, line, "component");
    top_json_copy(waiting->cdo, sizeof waiting->cdo, line, cdo);
    top_json_copy(waiting->producer, sizeof waiting->producer, line, "producer");
    waiting->age_ns = top_json_number(line, "age_ns");
    waiting->offered = json_is_true(json_object_get(line, "offered"));
    waiting->uncertain = json_is_true(json_object_get(line, "uncertain"));
}

/* The bucket is complete: what waited at the end of the one before is forgotten. `firing`: alarms
 * as vampire reports them, after the bucket before. */
static void commit_attention(struct top_attention *attention, double firing, double seen_ns)
{
    memcpy(attention->waiting, attention->next_waiting, sizeof attention->waiting);
    attention->waiting_count = attention->next_waiting_count;
    attention->demands = attention->next_demands;
    attention->next_waiting_count = 0;
    attention->next_demands = 0;
    attention->unseen_firing =
        firing > attention->listed_firing ? firing - attention->listed_firing : 0;
    attention->listed_firing = 0;
    for (unsigned i = attention->alarm_count; i-- > 0;) {
        const struct top_alarm *alarm = &attention->alarms[i];
        attention->listed_firing += alarm->state == TOP_ALARM_FIRING;
        if (alarm->state == TOP_ALARM_RESOLVED && seen_ns - alarm->changed_ns > TOP_RESOLVED_NS) {
            remove_alarm(attention, i);
        }
    }
}

/* ---- the other lines */

static bool lists(const json_t *labels, const char *name)
{
    size_t i = 0;
    json_t *label = NULL;
    bool found = false;
    json_array_foreach(labels, i, label)
    {
        const char *text = json_string_value(label);
        found = found || (text != NULL && strcmp(text, name) == 0);
    }
    return found;
}

/* What nobody could know, of that which was asked for. */
static void take_absence(struct top_snapshot *shown, const json_t *absence)
{
    const char *what = top_json_text(absence, "what");
    const struct metric *metric = find_metric(what);
    if (metric != NULL && metric->kind != GAUGE) {
        shown->unobserved |= TOP_BIT(metric->number);
    } else if (strcmp(what, "losses") == 0) {
        top_json_copy(shown->unseen_losses, sizeof shown->unseen_losses, absence, "reason");
    }
}

/* Also which numbers the stream has; a header that does not describe its metrics leaves that. */
static void take_header(struct top_snapshot *shown, const json_t *line)
{
    const json_t *descriptions = json_object_get(line, "metrics");
    size_t i = 0;
    json_t *description = NULL, *absence = NULL;
    shown->ended = false;
    top_json_copy(shown->sampling, sizeof shown->sampling, line, "sampling");
    top_json_copy(shown->workflow, sizeof shown->workflow, line, "workflow");
    shown->unobserved = 0;
    shown->unseen_losses[0] = '\0';
    json_array_foreach(json_object_get(line, "not_observed"), i, absence)
    {
        take_absence(shown, absence);
    }
    if (json_is_array(descriptions)) {
        shown->hidden = shown->hidden_in_rows = TOP_NUMBERS_ALL;
        shown->by_model = false;
    }
    json_array_foreach(descriptions, i, description)
    {
        const struct metric *metric = find_metric(top_json_text(description, "name"));
        const json_t *labels = json_object_get(description, "labels");
        if (metric == NULL || metric->kind == GAUGE) {
            continue;
        }
        bool in_rows = true;
        for (unsigned side = 0; side < 2 && *names_of[metric->kind][side].label != '\0'; side++) {
            const bool of_model = lists(labels, names_of[metric->kind][side].of_model);
            shown->by_model = shown->by_model || of_model;
            in_rows = in_rows && (of_model || lists(labels, names_of[metric->kind][side].label));
        }
        shown->hidden &= ~TOP_BIT(metric->number);
        shown->hidden_in_rows &= in_rows ? ~TOP_BIT(metric->number) : TOP_NUMBERS_ALL;
    }
}

/* No metric distinguishes components, so that operations come from the lines of components, which
 * have totals since the run began. */
static bool counts_by_lines(const struct top_snapshot *shown)
{
    return (shown->hidden_in_rows & TOP_BIT(TOP_OPERATIONS)) != 0 && !shown->by_model;
}

/* The metrics know names only; the lines of components know numbers, too. */
static void take_component(struct top_model *model, const json_t *line)
{
    const char *name = top_json_text(line, "name");
    const json_t *index = json_object_get(line, "index");
    const uint64_t number = top_json_integer(index);
    struct top_counted *row = top_rows_get(&model->rows[TOP_COMPONENTS], name, "");
    if (strcmp(row->name, name) != 0 || !json_is_number(index) || number >= MEMBERS_MAX) {
        return;
    }
    struct member *member = &model->members[number];
    const bool left = json_is_string(json_object_get(line, "left"));
    row->members += !member->known;
    if (left && !member->left) {
        row->left++;
        if (!top_counted_has_vanished(row) || row->left == 1) {
            top_json_copy(row->reason, sizeof row->reason, line, "reason");
        }
    }
    const double operations = top_json_number(line, "operations");
    if (counts_by_lines(&model->shown) && operations > member->operations) {
        row->next.sums[TOP_OPERATIONS] += operations - member->operations;
    }
    *member = (struct member){true, left || member->left, operations};
    model->next_component_lines++;
}

/* Its last line: what was counted becomes the newest bucket. */
static void take_bucket(struct top_model *model, const json_t *line)
{
    struct top_snapshot *shown = &model->shown;
    const bool by_lines = counts_by_lines(shown);
    struct top_rows *components = &model->rows[TOP_COMPONENTS];
    take_accounting(shown, json_object_get(line, "accounting"));
    top_json_copy(shown->time, sizeof shown->time, line, "time");
    shown->bucket = top_json_number(line, "bucket");
    if (shown->buckets == 0) {
        memcpy(shown->since, shown->time, sizeof shown->since);
        /* The totals of a stream that begins in the middle are not its first bucket's. */
        for (size_t i = 0; by_lines && shown->bucket > 0 && i < components->count; i++) {
            components->rows[i]->next.sums[TOP_OPERATIONS] = 0;
        }
    }
    shown->width_ns = top_json_number(line, "width_ns");
    shown->partial = model->next_metrics < top_json_number(line, "metrics");
    top_counted_commit(model->total);
    /* The lines of components are ahead of the buckets by the lateness of events: at the end of a
     * stream, what the newest bucket counts was in earlier lines. */
    const bool ahead =
        by_lines && model->total->now.sums[TOP_OPERATIONS] > 0 && model->next_component_lines == 0;
    for (size_t i = 0; !ahead && i < components->count; i++) {
        top_counted_commit(components->rows[i]);
    }
    for (size_t i = 0; i < model->rows[TOP_PAIRS].count; i++) {
        top_counted_commit(model->rows[TOP_PAIRS].rows[i]);
    }
    shown->any = true;
    shown->buckets++;
    shown->seen_ns += shown->width_ns;
    model->next_metrics = 0;
    model->next_component_lines = 0;
    const double *sums = model->total->now.sums;
    const double seconds = shown->width_ns > 0 ? shown->width_ns / 1e9 : 1;
    assert(shown->history_count <= TOP_HISTORY);
    if (shown->history_count == TOP_HISTORY) {
        const size_t kept = (TOP_HISTORY - 1) * sizeof(double);
        memmove(shown->operations_history, shown->operations_history + 1, kept);
        memmove(shown->moved_history, shown->moved_history + 1, kept);
        shown->history_count--;
    }
    shown->operations_history[shown->history_count] = sums[TOP_OPERATIONS] / seconds;
    shown->moved_history[shown->history_count++] = sums[TOP_MOVED] / seconds;
    commit_attention(&shown->attention, shown->gauges[TOP_FIRING], shown->seen_ns);
}

static enum top_fed take_end(struct top_snapshot *shown, const json_t *line)
{
    const char *reason = top_json_text(line, "reason");
    if (strcmp(reason, "rotated") == 0 || strcmp(reason, "configuration reloaded") == 0) {
        return TOP_FED_ROTATED;
    }
    take_accounting(shown, json_object_get(line, "accounting"));
    shown->ended = true;
    top_json_copy(shown->end_reason, sizeof shown->end_reason, line, "reason");
    return TOP_FED_END;
}

static enum top_fed take_line(struct top_model *model, const json_t *line)
{
    const char *type = top_json_text(line, "type");
    const char *run = top_json_text(line, "run");
    struct top_snapshot *shown = &model->shown;
    if (*type == '\0' || *run == '\0') {
        shown->bad_lines++;
        return TOP_FED_BAD;
    }
    if (strncmp(run, model->run, sizeof model->run - 1) != 0) {
        reset(model, run);
    }
    if (strcmp(type, "metric") == 0) {
        take_metric(model, line);
    } else if (strcmp(type, "bucket") == 0) {
        take_bucket(model, line);
        return TOP_FED_BUCKET;
    } else if (strcmp(type, "header") == 0) {
        take_header(shown, line);
    } else if (strcmp(type, "component") == 0) {
        take_component(model, line);
    } else if (strcmp(type, "alarm") == 0) {
        take_alarm(&shown->attention, line, shown->seen_ns);
    } else if (strcmp(type, "pending") == 0) {
        take_pending(&shown->attention, line);
    } else if (strcmp(type, "lost") == 0) {
        take_lost(shown, line);
    } else if (strcmp(type, "not_observed") == 0) {
        take_absence(shown, line);
    } else if (strcmp(type, "gap") == 0) {
        take_gap(shown, line);
    } else if (strcmp(type, "end") == 0) {
        return take_end(shown, line);
    }
    return TOP_FED_LINE;
}

enum top_fed top_model_feed(struct top_model *model, const char *line, size_t bytes)
{
    /* As doubles: jansson's integers end at 2^63, the format's at 2^64. */
    json_t *json = json_loadb(line, bytes, JSON_DECODE_INT_AS_REAL, NULL);
    const enum top_fed fed = take_line(model, json); /* without a type, if it is no JSON */
    json_decref(json);
    return fed;
}

/* ---- snapshot */

/* What fires is first and what is silenced last of it, then by severity, then what changed last. */
static int compare_alarms(const void *a, const void *b)
{
    const struct top_alarm *one = a, *other = b;
    int order = (int)one->state - (int)other->state;
    order = order != 0 ? order : (int)one->silenced - (int)other->silenced;
    order = order != 0 ? order : (int)one->severity - (int)other->severity;
    order = order != 0
                ? order
                : (one->changed_ns < other->changed_ns) - (one->changed_ns > other->changed_ns);
    return order != 0 ? order : strcmp(one->rule, other->rule);
}

static const struct top_part *part_of(const struct top_counted *row, enum top_mode mode)
{
    return mode == TOP_MODE_SUMS ? &row->all : &row->now;
}

static void take_sums(double *sums, const struct top_counted *row, const struct top_snapshot *s)
{
    const bool rates = s->mode != TOP_MODE_SUMS && s->width_ns > 0;
    for (unsigned i = 0; i < TOP_SUM_COUNT; i++) {
        const double sum = part_of(row, s->mode)->sums[i];
        sums[i] = rates ? sum * 1e9 / s->width_ns : sum;
    }
    sums[TOP_ANOMALIES] = row->all.sums[TOP_ANOMALIES];
}

static void take_row(struct top_row *out, const struct top_snapshot *s,
                     const struct top_counted *row, const struct vamp_bins *bins)
{
    const struct vamp_histogram *times = part_of(row, s->mode)->times;
    *out = (struct top_row){
        .members = row->members,
        .left = row->left,
        .idle_ns = row->idle_buckets * s->width_ns,
        .vanished = top_counted_has_vanished(row),
        .timed = (double)times->count,
        .times = {[TOP_P50] = (double)vamp_histogram_quantile(times, bins, 0.5),
                  [TOP_P99] = (double)vamp_histogram_quantile(times, bins, 0.99),
                  [TOP_MAX] = (double)(times->count > 0 ? times->max : 0)},
        .hidden = s->by_model && top_part_is_empty(&row->all),
    };
    memcpy(out->reason, row->reason, sizeof out->reason);
    take_sums(out->sums, row, s);
    top_text_clean(out->name, sizeof out->name, row->name);
    top_text_clean(out->second, sizeof out->second, row->second);
}

/* Pairs have a row when something moved, components always; but one that is counted with its model
 * only if it vanished, for the head. */
static void take_rows(struct top_snapshot *s, const struct top_model *model, enum top_kind kind)
{
    struct top_table *table = &s->tables[kind];
    for (size_t i = 0; i < model->rows[kind].count; i++) {
        const struct top_counted *row = model->rows[kind].rows[i];
        const bool is_other = i == 0;
        if (kind == TOP_PAIRS
                ? !top_part_is_empty(part_of(row, s->mode))
                : !top_part_is_empty(&row->all) ||
                      (!is_other && (!s->by_model || top_counted_has_vanished(row)))) {
            take_row(&table->rows[table->count++], s, row, &model->bins);
        }
    }
}

int top_snapshot_take(struct top_snapshot *snapshot, const struct top_model *model,
                      enum top_mode mode, struct vamp_err *err)
{
    top_snapshot_done(snapshot);
    for (unsigned kind = 0; kind < TOP_KINDS; kind++) {
        snapshot->tables[kind].rows = calloc(model->rows[kind].count, sizeof(struct top_row));
        if (snapshot->tables[kind].rows == NULL) {
            top_snapshot_done(snapshot);
            return vamp_err_set_errno(err, ENOMEM, "show the newest bucket");
        }
    }
    const struct top_table tables[] = {snapshot->tables[0], snapshot->tables[1]};
    *snapshot = model->shown;
    memcpy(snapshot->tables, tables, sizeof snapshot->tables);
    snapshot->mode = mode;
    snapshot->loss_count = 0;
    for (unsigned i = 0; i < model->shown.loss_count; i++) {
        if (model->shown.losses[i].count > 0) {
            snapshot->losses[snapshot->loss_count++] = model->shown.losses[i];
        }
    }
    qsort(snapshot->attention.alarms, snapshot->attention.alarm_count, sizeof(struct top_alarm),
          compare_alarms);
    take_sums(snapshot->sums, model->total, snapshot);
    take_rows(snapshot, model, TOP_COMPONENTS);
    take_rows(snapshot, model, TOP_PAIRS);
    return 0;
}

void top_snapshot_done(struct top_snapshot *snapshot)
{
    free(snapshot->tables[TOP_COMPONENTS].rows);
    free(snapshot->tables[TOP_PAIRS].rows);
    memset(snapshot, 0, sizeof *snapshot);
}
