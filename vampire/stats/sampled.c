/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/sampled.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/core/event/sample.h"
#include "vampire/core/map.h"
#include "vampire/core/utf8.h"
#include "vampire/stats/bucket/declared.h"

/* Maximum number of series, and of undeclared fields. */
#define SERIES_MAX 65536
#define UNDECLARED_MAX (SERIES_MAX / 4)
#define LABEL_BYTES 256
#define VALUE_MAX 0x1p62L
#define COUNT_MAX 0x1p32L /* maximum count of one histogram value in one sample */

struct series {
    struct map_link link; /* in the map, by key */
    const struct vamp_declared *metric;
    struct vamp_undeclared *undeclared; /* set if `metric` is NULL; NULL if the list is full */
    uint32_t cell;
    bool has_last;
    /* The field is one of vampire's own and not declared: it is not included in the accounting. */
    bool is_own;
    int64_t last, time_ns; /* value and time of the newest sample */
    int64_t value;         /* histogram value from the tag; -1: missing or out of range */
    size_t key_length;
    char key[];
};

struct vamp_sampled {
    struct vamp_cells *cells;
    struct vamp_components *components;
    struct map series;
    size_t undeclared;
    bool *begun; /* indexed by cell of a gauge: the gauge has a value */
    struct vamp_sampled_account account;
};

/* Sets the gauges of the metric to "no value"; they have none until the first sample. */
static void begin_without_value(struct vamp_cells *cells, enum vamp_metric_id id)
{
    const struct vamp_cell_range *range = &cells->range[id];
    if (range->enabled && vamp_metrics[id].kind == VAMP_GAUGE) {
        for (uint32_t i = 0; i < range->set->description->max_series; i++) {
            cells->gauge_values[range->first + i] = VAMP_GAUGE_NONE;
        }
    }
}

int vamp_sampled_create(struct vamp_cells *cells, struct vamp_components *components,
                        struct vamp_sampled **ret_sampled, struct vamp_err *err)
{
    struct vamp_sampled *sampled = calloc(1, sizeof *sampled);
    bool *begun = calloc((size_t)cells->gauge_cells + 1, sizeof *begun);
    if (sampled == NULL || begun == NULL || map_init(&sampled->series) != 0) {
        free(begun);
        free(sampled);
        return vamp_err_set_errno(err, ENOMEM, "prepare for samples");
    }
    sampled->cells = cells;
    sampled->components = components;
    sampled->begun = begun;
    for (unsigned i = 0; i < vamp_declared_count(); i++) {
        begin_without_value(cells, vamp_declared_at(i)->id);
    }
    *ret_sampled = sampled;
    return 0;
}

static void drop_series(struct map_link *link)
{
    free(CONTAINER_OF(link, struct series, link));
}

void vamp_sampled_free(struct vamp_sampled *sampled)
{
    if (sampled != NULL) {
        map_drop(&sampled->series, drop_series);
        free(sampled->begun);
        free(sampled);
    }
}

const struct vamp_sampled_account *vamp_sampled_account(const struct vamp_sampled *sampled)
{
    return &sampled->account;
}

/* ---- series */

static struct vamp_undeclared *note_undeclared(struct vamp_sampled_account *account,
                                               const char *name)
{
    for (unsigned i = 0; i < account->name_count; i++) {
        if (strcmp(account->names[i].name, name) == 0) {
            return &account->names[i];
        }
    }
    if (account->name_count == VAMP_UNDECLARED_NAMES_MAX) {
        return NULL;
    }
    struct vamp_undeclared *added = &account->names[account->name_count++];
    (void)snprintf(added->name, sizeof added->name, "%s", name);
    return added;
}

static void fill_labels(struct vamp_sampled *sampled, const struct vamp_declared *metric,
                        const struct vamp_sample *sample, struct vamp_labels *labels)
{
    for (unsigned i = 0; i < VAMP_DECLARED_LABEL_COUNT; i++) {
        char clean[VAMP_SAMPLE_LABEL_BYTES];
        if (metric->tags[i] == NULL) {
            continue;
        }
        const bool found = vamp_sample_label(sample, metric->tags[i], clean);
        uint32_t *value = &labels->value[vamp_declared_labels[i]];
        if (i == VAMP_DECLARED_COMPONENT) {
            *value = VAMP_NAME_UNKNOWN;
            if (found) {
                *value = vamp_components_number(sampled->components, clean);
            }
            continue;
        }
        if (!found) {
            strcpy(clean, VAMP_COMPONENT_UNKNOWN_NAME);
        }
        if (i == VAMP_DECLARED_HOST) {
            vamp_sample_shorten_host(clean);
        }
        *value = vamp_series_text(&sampled->cells->series, clean);
    }
}

/* Returns whether the sample has the tag that the metric requires. */
static bool has_tag(const struct vamp_declared *metric, const struct vamp_sample *sample)
{
    char text[LABEL_BYTES];
    return metric->only == NULL || (vamp_sample_tag(sample, metric->only, text, sizeof text) &&
                                    strcmp(text, metric->only_value) == 0);
}

static const struct vamp_declared *find_declared(const struct vamp_cells *cells, const char *name,
                                                 const struct vamp_sample *sample)
{
    for (unsigned i = 0; i < vamp_declared_count(); i++) {
        const struct vamp_declared *each = vamp_declared_at(i);
        if (strcmp(each->from, name) == 0 && cells->range[each->id].enabled &&
            has_tag(each, sample)) {
            return each;
        }
    }
    return NULL;
}

static int64_t tagged_value(const struct vamp_declared *metric, const struct vamp_sample *sample)
{
    char text[LABEL_BYTES], *end = text;
    if (metric->value == NULL || !vamp_sample_tag(sample, metric->value, text, sizeof text)) {
        return -1;
    }
    const long double scaled = strtold(text, &end) * metric->scale;
    const bool valid = end > text && *end == '\0' && scaled >= 0 && scaled < VALUE_MAX;
    return valid ? llrintl(scaled) : -1;
}

/* Adds a series. Returns NULL at the limit, or if out of memory. */
static struct series *add_series(struct vamp_sampled *sampled, const struct vamp_sample *sample,
                                 uint64_t hash)
{
    char name[VAMP_SAMPLE_NAME_BYTES];
    const struct vamp_declared *metric = NULL;
    if (vamp_sample_name(sample, name, sizeof name)) {
        metric = find_declared(sampled->cells, name, sample);
    }
    const bool is_own = metric == NULL && strncmp(name, "vampire_input.", 14) == 0;
    struct vamp_undeclared *undeclared = NULL;
    if (metric == NULL && !is_own) {
        undeclared = note_undeclared(&sampled->account, name);
    }
    if (sampled->series.count == SERIES_MAX ||
        (metric == NULL && sampled->undeclared == UNDECLARED_MAX)) {
        return NULL;
    }
    struct series *series = malloc(sizeof *series + sample->key_length);
    if (series == NULL) {
        return NULL;
    }
    *series = (struct series){.metric = metric, .undeclared = undeclared, .is_own = is_own};
    series->key_length = sample->key_length;
    memcpy(series->key, sample->key, sample->key_length);
    if (metric != NULL) {
        struct vamp_labels labels = {.value = {0}};
        fill_labels(sampled, metric, sample, &labels);
        series->value = tagged_value(metric, sample);
        series->cell = vamp_cells_cell(sampled->cells, &sampled->cells->range[metric->id], &labels);
    }
    sampled->undeclared += metric == NULL;
    map_insert(&sampled->series, &series->link, hash);
    return series;
}

static struct series *find_series(struct vamp_sampled *sampled, const struct vamp_sample *sample)
{
    const uint64_t hash = map_hash_text(&sampled->series, sample->key, sample->key_length);
    for (struct map_link *link = map_first(&sampled->series, hash); link != NULL;
         link = map_next(link)) {
        struct series *series = CONTAINER_OF(link, struct series, link);
        if (series->key_length == sample->key_length &&
            memcmp(series->key, sample->key, sample->key_length) == 0) {
            return series;
        }
    }
    return add_series(sampled, sample, hash);
}

/* ---- values */

static void set_gauge(struct vamp_sampled *sampled, struct vamp_slot *slot,
                      const struct series *series, int64_t value)
{
    struct vamp_gauge_change *gauge = &slot->gauges[series->cell];
    if (sampled->begun[series->cell]) {
        vamp_gauge_add(gauge, value - series->last);
        return;
    }
    /* first value: the gauge changes from VAMP_GAUGE_NONE to `value` */
    sampled->begun[series->cell] = true;
    gauge->net = (int64_t)((uint64_t)value - (uint64_t)VAMP_GAUGE_NONE);
    gauge->min = gauge->max = gauge->net;
}

/* Returns whether a counter decreased by so little, at most 1 % and 1, that this is not a reset.
 * Some counters are sums that are read without a lock, such as the kernel's iowait. */
static bool steps_back(const struct series *series, int64_t value)
{
    const bool is_counter = vamp_metrics[series->metric->id].kind == VAMP_COUNTER;
    const bool is_less = series->has_last && value > 0 && value < series->last;
    return is_counter && is_less && series->last - value <= 1 + series->last / 100;
}

static void add_counter(struct vamp_sampled *sampled, struct vamp_slot *slot,
                        const struct series *series, int64_t value)
{
    if (!series->has_last || steps_back(series, value)) {
        return;
    }
    int64_t added = value - series->last;
    if (added < 0) {
        sampled->account.resets++;
        added = value;
    }
    slot->counters[series->cell] += (uint64_t)added;
}

/* Adds a value to the cell of the series. Returns false at the limit max_histogram_memory. */
static bool count_value(struct vamp_sampled *sampled, struct vamp_slot *slot,
                        const struct series *series, int64_t value)
{
    switch (vamp_metrics[series->metric->id].kind) {
    case VAMP_COUNTER:
        add_counter(sampled, slot, series, value);
        return true;
    case VAMP_GAUGE:
        set_gauge(sampled, slot, series, value);
        return true;
    case VAMP_HISTOGRAM:
        break;
    }
    uint64_t recorded = (uint64_t)value;
    uint64_t count = 1;
    if (series->metric->value != NULL) { /* the tag contains the value, the field its count */
        recorded = (uint64_t)series->value;
        count = (uint64_t)value;
    }
    return vamp_open_record_often(&sampled->cells->open_histograms, &slot->histograms[series->cell],
                                  recorded, count);
}

/* Scales a sample's value to the integer that is counted. Returns false if it is out of range. */
static bool scale_value(const struct series *series, long double value, int64_t *ret_value)
{
    const bool is_gauge = vamp_metrics[series->metric->id].kind == VAMP_GAUGE;
    long double most = COUNT_MAX;
    if (series->metric->value == NULL) {
        value *= series->metric->scale;
        most = VALUE_MAX;
    } else if (series->value < 0) {
        return false;
    }
    if (!(fabsl(value) < most) ||
        (value < 0 && !is_gauge)) { /* also true if the value is not a number */
        return false;
    }
    *ret_value = llrintl(value);
    return true;
}

void vamp_sampled_observe(struct vamp_sampled *sampled, struct vamp_slot *slot,
                          const struct vamp_event *event, bool late)
{
    struct vamp_sampled_account *account = &sampled->account;
    struct vamp_sample sample;
    if (!vamp_sample_read(event->name, event->name_length, &sample)) {
        account->unreadable++;
        return;
    }
    if (vamp_components_locate(sampled->components, event)) {
        return;
    }
    struct series *series = find_series(sampled, &sample);
    if (series == NULL) {
        account->no_room++;
        return;
    }
    if (series->is_own) {
        return;
    }
    if (series->metric == NULL) {
        account->undeclared++;
        if (series->undeclared != NULL) {
            series->undeclared->samples++;
        }
        return;
    }
    if (sampled->cells->excluded[series->metric->id]) {
        account->filtered++;
        return;
    }
    const enum vamp_metric_kind kind = vamp_metrics[series->metric->id].kind;
    if (kind != VAMP_HISTOGRAM && series->has_last && event->time_ns < series->time_ns) {
        account->disordered++;
        return;
    }
    int64_t value = 0;
    if (!scale_value(series, sample.value, &value)) {
        account->out_of_range++;
        return;
    }
    if (!count_value(sampled, slot, series, value)) {
        account->no_room++;
        return;
    }
    account->counted++;
    account->late += late;
    if (!steps_back(series, value)) { /* else it counts from the greater value on */
        series->last = value;
    }
    series->has_last = true;
    series->time_ns = event->time_ns;
}
