/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Adds a line's JSON to the model. A member that is missing or has another type counts as 0 or "":
 * a stream of a later version of the format is shown as far as possible.
 */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "programs/vampire-top/model_internal.h"

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : "";
}

/* The format has whole numbers from 0 to 2^64 - 1. The largest one that a double has is 2^64 -
 * 2048. */
static uint64_t to_integer(double value)
{
    return value <= 0 ? 0 : value >= 18446744073709549568.0 ? UINT64_MAX : (uint64_t)value;
}

/* Within the format's bounds, whatever the line says: sums and quotients stay finite. */
static double number_of(const json_t *object, const char *key)
{
    return (double)to_integer(json_number_value(json_object_get(object, key)));
}

static void copy_text(char *out, size_t bytes, const char *text)
{
    (void)snprintf(out, bytes, "%s", text);
}

/* ---- losses */

static struct top_account *loss_of(struct top_model *model, const char *text)
{
    for (unsigned i = 0; i < model->loss_count; i++) {
        if (strcmp(model->losses[i].text, text) == 0) {
            return &model->losses[i];
        }
    }
    /* The last one takes losses that find no place. */
    if (model->loss_count == TOP_LOSSES_MAX) {
        return &model->losses[TOP_LOSSES_MAX - 1];
    }
    struct top_account *loss = &model->losses[model->loss_count++];
    *loss = (struct top_account){.count = 0};
    copy_text(loss->text, sizeof loss->text, text);
    return loss;
}

/* A number that only grows, reported with each bucket. Losses before the first bucket of the stream
 * are not new. */
static void report_loss(struct top_model *model, const char *text, double count)
{
    struct top_account *loss = loss_of(model, text);
    loss->fresh = model->buckets > 0 && count > loss->count ? count - loss->count : 0;
    loss->count = count;
}

static void take_accounting(struct top_model *model, const json_t *accounting)
{
    char text[2 * TOP_WORD_BYTES];
    const char *reason = NULL;
    json_t *value = NULL;
    struct top_share *share = &model->share;
    share->received = number_of(accounting, "received");
    share->counted = number_of(accounting, "counted");
    share->filtered = number_of(accounting, "filtered");
    share->lost = 0;
    json_object_foreach(json_object_get(accounting, "lost"), reason, value)
    {
        share->lost += (double)to_integer(json_number_value(value));
        (void)snprintf(text, sizeof text, "events in %.31s", reason);
        report_loss(model, text, (double)to_integer(json_number_value(value)));
    }
    report_loss(model, "events rejected", number_of(accounting, "rejected"));
    size_t i = 0;
    json_array_foreach(json_object_get(accounting, "outputs"), i, value)
    {
        (void)snprintf(text, sizeof text, "buckets of %.40s", text_of(value, "name"));
        report_loss(model, text, number_of(value, "lost"));
    }
}

/* Lines that were too long are reported nowhere else; the other losses come with the accounts. */
static void take_lost(struct top_model *model, const json_t *line)
{
    if (strcmp(text_of(line, "what"), "lines") == 0) {
        struct top_account *loss = loss_of(model, "lines too long");
        loss->fresh = number_of(line, "count");
        loss->count += loss->fresh;
    }
}

static void take_gap(struct top_model *model, const json_t *line)
{
    model->gaps++;
    (void)snprintf(model->gap, sizeof model->gap, "%.12s to %.12s (%.31s)",
                   strlen(text_of(line, "start")) > 11 ? text_of(line, "start") + 11 : "?",
                   strlen(text_of(line, "end")) > 11 ? text_of(line, "end") + 11 : "?",
                   text_of(line, "reason"));
}

/* ---- metrics */

static void take_times(struct top_spread *times, const json_t *line)
{
    json_t *bins = json_object_get(line, "bins");
    if (json_array_size(bins) == 0) {
        return;
    }
    top_spread_range(times, to_integer(number_of(line, "min")), to_integer(number_of(line, "max")));
    size_t i = 0;
    json_t *bin = NULL;
    json_array_foreach(bins, i, bin)
    {
        top_spread_add(times, to_integer(json_number_value(json_array_get(bin, 0))),
                       to_integer(json_number_value(json_array_get(bin, 1))));
    }
}

static double *kind_of(struct top_model *model, const char *name)
{
    for (unsigned i = 0; i < model->kind_count; i++) {
        if (strncmp(model->kinds[i], name, TOP_WORD_BYTES - 1) == 0) {
            return &model->next.kinds[i];
        }
    }
    if (model->kind_count == TOP_KINDS_MAX) {
        return &model->next.kinds[TOP_KINDS_MAX - 1];
    }
    copy_text(model->kinds[model->kind_count], TOP_WORD_BYTES, name);
    return &model->next.kinds[model->kind_count++];
}

/* The row of `name`; a scratch row when the stream does not distinguish components. */
static struct top_part *part_of(struct top_model *model, unsigned table, const char *name,
                                const char *second)
{
    if (*name == '\0') {
        return NULL;
    }
    struct top_row *row = top_rows_get(&model->rows[table], name, second);
    model->folded += strcmp(row->name, name) != 0;
    return &row->next;
}

/* The name for a row of components, or of one side of pairs: of the model where the line has it. */
static const char *name_of(const json_t *labels, const char *component, const char *model)
{
    const char *name = text_of(labels, model);
    return *name != '\0' ? name : text_of(labels, component);
}

static void take_component_metric(struct top_model *model, const char *metric, const json_t *line,
                                  const json_t *labels)
{
    double delta = number_of(line, "delta");
    bool times = strcmp(metric, "demand_wait_ns") == 0;
    if (!times && delta == 0) {
        return;
    }
    struct top_part none = {.operations = 0};
    struct top_part *part =
        part_of(model, TOP_COMPONENTS, name_of(labels, "component", "model"), "");
    part = part != NULL ? part : &none;
    if (times) {
        take_times(&part->times, line);
    } else if (strcmp(metric, "pool_operations") == 0) {
        part->operations += delta;
        model->next.operations += delta;
        *kind_of(model, text_of(labels, "operation")) += delta;
    } else if (strcmp(metric, "produced_bytes") == 0) {
        part->produced += delta;
        model->next.produced += delta;
    } else if (strcmp(metric, "consumed_bytes") == 0) {
        part->consumed += delta;
    } else if (strcmp(metric, "anomalies") == 0) {
        part->anomalies += delta;
        model->next.anomalies += delta;
    }
}

static void take_pair_metric(struct top_model *model, const char *metric, const json_t *line,
                             const json_t *labels)
{
    double delta = number_of(line, "delta");
    bool times = strcmp(metric, "transport_ns") == 0;
    if (!times && delta == 0) {
        return;
    }
    struct top_part none = {.operations = 0};
    struct top_part *part = part_of(model, TOP_PAIRS, name_of(labels, "source", "source_model"),
                                    name_of(labels, "sink", "sink_model"));
    part = part != NULL ? part : &none;
    if (times) {
        take_times(&part->times, line);
    } else if (strcmp(metric, "transports") == 0) {
        part->transports += delta;
    } else {
        part->moved += delta;
        model->next.moved += delta;
    }
}

static void take_gauge(struct top_gauge *gauge, const json_t *line)
{
    *gauge = (struct top_gauge){true, number_of(line, "value"), number_of(line, "max")};
}

/* Only tiers that changed have lines, so the sum is updated with each tier's change. */
static void take_active(struct top_model *model, const json_t *line)
{
    const char *tier = text_of(json_object_get(line, "labels"), "tier");
    double value = number_of(line, "value");
    struct top_gauge *gauge = &model->transports_active;
    unsigned free_slot = TOP_TIERS_MAX;
    gauge->known = true;
    for (unsigned i = 0; i < TOP_TIERS_MAX; i++) {
        if (strcmp(model->tiers[i].name, tier) == 0) {
            gauge->value += value - model->tiers[i].value;
            model->tiers[i].value = value;
            return;
        }
        free_slot = free_slot == TOP_TIERS_MAX && model->tiers[i].name[0] == '\0' ? i : free_slot;
    }
    if (free_slot < TOP_TIERS_MAX && *tier != '\0') {
        copy_text(model->tiers[free_slot].name, TOP_WORD_BYTES, tier);
        model->tiers[free_slot].value = value;
        gauge->value += value;
    }
}

static void take_metric(struct top_model *model, const json_t *line)
{
    static const char *const of_components[] = {"pool_operations", "produced_bytes",
                                                "consumed_bytes", "anomalies", "demand_wait_ns"};
    static const char *const of_pairs[] = {"transport_ns", "transports", "transport_bytes"};
    const char *metric = text_of(line, "metric");
    const json_t *labels = json_object_get(line, "labels");
    model->next_metrics++;
    for (size_t i = 0; i < sizeof of_components / sizeof of_components[0]; i++) {
        if (strcmp(metric, of_components[i]) == 0) {
            take_component_metric(model, metric, line, labels);
            return;
        }
    }
    for (size_t i = 0; i < sizeof of_pairs / sizeof of_pairs[0]; i++) {
        if (strcmp(metric, of_pairs[i]) == 0) {
            take_pair_metric(model, metric, line, labels);
            return;
        }
    }
    if (strcmp(metric, "components_present") == 0) {
        take_gauge(&model->components, line);
    } else if (strcmp(metric, "pool_cdos") == 0) {
        take_gauge(&model->pool_cdos, line);
    } else if (strcmp(metric, "pool_bytes") == 0) {
        take_gauge(&model->pool_bytes, line);
    } else if (strcmp(metric, "vampire_lag_ns") == 0) {
        take_gauge(&model->lag_ns, line);
    } else if (strcmp(metric, "vampire_alarms_firing") == 0) {
        model->attention.firing = number_of(line, "value");
    } else if (strcmp(metric, "transports_active") == 0) {
        take_active(model, line);
    } else if (strcmp(metric, "vampire_sampled_out") == 0) {
        model->share.sampled = number_of(line, "value");
    } else if (strcmp(metric, "vampire_series_overflow") == 0) {
        model->share.other = number_of(line, "value");
    } else if (strcmp(metric, "vampire_labels_given_up") == 0) {
        model->share.labels = number_of(line, "value");
    }
}

/* ---- the other lines */

/* A number of the rows, and where it comes from. */
struct number_source {
    const char *metric;
    const char *labels[2]; /* without them (or those of models) the rows do not have it */
};
static const struct number_source number_sources[TOP_NUMBER_COUNT] = {
    [TOP_NUMBER_OPERATIONS] = {"pool_operations", {"component", NULL}},
    [TOP_NUMBER_PRODUCED] = {"produced_bytes", {"component", NULL}},
    [TOP_NUMBER_CONSUMED] = {"consumed_bytes", {"component", NULL}},
    [TOP_NUMBER_WAIT] = {"demand_wait_ns", {"component", NULL}},
    [TOP_NUMBER_ANOMALIES] = {"anomalies", {"component", NULL}},
    [TOP_NUMBER_TRANSPORTS] = {"transports", {"source", "sink"}},
    [TOP_NUMBER_MOVED] = {"transport_bytes", {"source", "sink"}},
    [TOP_NUMBER_TIME] = {"transport_ns", {"source", "sink"}},
};

static bool has_label(const json_t *labels, const char *wanted, bool *ret_is_model)
{
    char of_model[TOP_WORD_BYTES];
    size_t i = 0;
    json_t *label = NULL;
    bool has = false;
    (void)snprintf(of_model, sizeof of_model, "%s%s",
                   strcmp(wanted, "component") == 0 ? "" : wanted,
                   strcmp(wanted, "component") == 0 ? "model" : "_model");
    json_array_foreach(labels, i, label)
    {
        const char *name = json_string_value(label);
        const bool is_model = name != NULL && strcmp(name, of_model) == 0;
        *ret_is_model = *ret_is_model || is_model;
        has = has || is_model || (name != NULL && strcmp(name, wanted) == 0);
    }
    return has;
}

static void take_description(struct top_model *model, const json_t *metric)
{
    const char *name = text_of(metric, "name");
    const json_t *labels = json_object_get(metric, "labels");
    for (unsigned i = 0; i < TOP_NUMBER_COUNT; i++) {
        const struct number_source *source = &number_sources[i];
        if (strcmp(source->metric, name) == 0) {
            const bool first = has_label(labels, source->labels[0], &model->by_model);
            const bool second =
                source->labels[1] == NULL || has_label(labels, source->labels[1], &model->by_model);
            model->hidden &= ~TOP_NUMBER_BIT(i);
            model->hidden_in_rows &= first && second ? ~TOP_NUMBER_BIT(i) : TOP_NUMBERS_ALL;
        }
    }
}

/* Which numbers the stream has; a header that does not describe its metrics changes nothing. */
static void take_descriptions(struct top_model *model, const json_t *metrics)
{
    size_t i = 0;
    json_t *metric = NULL;
    if (!json_is_array(metrics)) {
        return;
    }
    model->hidden = model->hidden_in_rows = TOP_NUMBERS_ALL;
    model->by_model = false;
    json_array_foreach(metrics, i, metric)
    {
        take_description(model, metric);
    }
}

static void take_header(struct top_model *model, const json_t *line)
{
    model->ended = false;
    take_descriptions(model, json_object_get(line, "metrics"));
    copy_text(model->sampling, sizeof model->sampling, text_of(line, "sampling"));
    copy_text(model->workflow, sizeof model->workflow, text_of(line, "workflow"));
    copy_text(model->host, sizeof model->host, text_of(line, "host"));
    copy_text(model->level, sizeof model->level, text_of(line, "level"));
}

/* Lines of components have totals since the run began. */
bool top_model_counts_by_lines(const struct top_model *model)
{
    return (model->hidden_in_rows & TOP_NUMBER_BIT(TOP_NUMBER_OPERATIONS)) != 0 && !model->by_model;
}

static void take_own_operations(struct top_model *model, struct top_row *row, size_t number,
                                double operations)
{
    if (top_model_counts_by_lines(model) && operations > model->operations[number]) {
        row->next.operations += operations - model->operations[number];
    }
    model->operations[number] = operations;
}

/* The totals of a stream that begins in the middle are not its first bucket's. */
static void forget_own_operations(struct top_model *model)
{
    const struct top_rows *rows = &model->rows[TOP_COMPONENTS];
    for (size_t i = 0; top_model_counts_by_lines(model) && i < rows->count; i++) {
        rows->rows[i]->next.operations = 0;
    }
}

/* The metrics know names only; the lines of components know numbers, too. */
static void take_component(struct top_model *model, const json_t *line)
{
    const char *name = text_of(line, "name");
    const json_t *index = json_object_get(line, "index");
    double number = number_of(line, "index");
    struct top_row *row = top_rows_get(&model->rows[TOP_COMPONENTS], name, "");
    if (strcmp(row->name, name) != 0 || !json_is_number(index) || number >= TOP_MEMBERS_MAX) {
        return;
    }
    uint8_t *member = &model->members[(size_t)number];
    bool left = json_is_string(json_object_get(line, "left"));
    row->members += *member == TOP_MEMBER_UNKNOWN;
    if (left && *member != TOP_MEMBER_LEFT) {
        row->left++;
        if (row->left == 1 || strcmp(row->reason, "finalized") == 0) {
            copy_text(row->reason, sizeof row->reason, text_of(line, "reason"));
        }
    }
    take_own_operations(model, row, (size_t)number, number_of(line, "operations"));
    model->next_component_lines++;
    *member = left || *member == TOP_MEMBER_LEFT ? TOP_MEMBER_LEFT : TOP_MEMBER_HERE;
}

static void take_bucket(struct top_model *model, const json_t *line)
{
    take_accounting(model, json_object_get(line, "accounting"));
    copy_text(model->time, sizeof model->time, text_of(line, "time"));
    if (model->buckets == 0) {
        copy_text(model->since, sizeof model->since, model->time);
    }
    model->bucket = number_of(line, "bucket");
    if (model->buckets == 0 && model->bucket > 0) {
        forget_own_operations(model);
    }
    model->width_ns = number_of(line, "width_ns");
    model->partial = model->next_metrics < number_of(line, "metrics");
    top_model_commit(model);
    top_attention_commit(&model->attention, model->seen_ns);
}

static enum top_fed take_end(struct top_model *model, const json_t *line)
{
    const char *reason = text_of(line, "reason");
    if (strcmp(reason, "rotated") == 0 || strcmp(reason, "configuration reloaded") == 0) {
        return TOP_FED_ROTATED;
    }
    take_accounting(model, json_object_get(line, "accounting"));
    model->ended = true;
    copy_text(model->end_reason, sizeof model->end_reason, reason);
    return TOP_FED_END;
}

static enum top_fed take_line(struct top_model *model, const json_t *line)
{
    const char *type = text_of(line, "type");
    const char *run = text_of(line, "run");
    if (*type == '\0' || *run == '\0') {
        model->bad_lines++;
        return TOP_FED_BAD;
    }
    if (strncmp(run, model->run, sizeof model->run - 1) != 0) {
        top_model_reset(model);
        copy_text(model->run, sizeof model->run, run);
    }
    if (strcmp(type, "metric") == 0) {
        take_metric(model, line);
    } else if (strcmp(type, "bucket") == 0) {
        take_bucket(model, line);
        return TOP_FED_BUCKET;
    } else if (strcmp(type, "header") == 0) {
        take_header(model, line);
    } else if (strcmp(type, "component") == 0) {
        take_component(model, line);
    } else if (strcmp(type, "alarm") == 0) {
        top_attention_alarm(&model->attention, line, model->seen_ns);
    } else if (strcmp(type, "pending") == 0) {
        top_attention_pending(&model->attention, line);
    } else if (strcmp(type, "lost") == 0) {
        take_lost(model, line);
    } else if (strcmp(type, "gap") == 0) {
        take_gap(model, line);
    } else if (strcmp(type, "end") == 0) {
        return take_end(model, line);
    }
    return TOP_FED_LINE;
}

enum top_fed top_model_feed(struct top_model *model, const char *line, size_t bytes)
{
    /* As doubles: jansson's integers end at 2^63, the format's at 2^64. */
    json_t *json = json_loadb(line, bytes, JSON_DECODE_INT_AS_REAL, NULL);
    if (json == NULL) {
        model->bad_lines++;
        return TOP_FED_BAD;
    }
    enum top_fed fed = take_line(model, json);
    json_decref(json);
    return fed;
}
