/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/alarms/follow.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/core/hash.h"
#include "vampire/core/list.h"
#include "vampire/core/values.h"
#include "vampire/stats/bucket/rows.h"

/* Entry of the map from labels to groups. */
struct place {
    struct map_link by_labels;
    uint32_t group; /* counted from 1 */
};

int vamp_alarm_groups_init(struct vamp_alarm_groups *groups, const struct vamp_alarm_rule *rule,
                           const struct vamp_bins *bins, struct vamp_err *err)
{
    *groups = (struct vamp_alarm_groups){.rule = rule,
                                         .whole = rule->labels == 0 && rule->pattern_count == 0};
    int status = map_init(&groups->map);
    if (status == 0 && rule->measure == VAMP_ALARM_QUANTILE) {
        groups->sum = calloc(1, sizeof *groups->sum + bins->count * sizeof(uint64_t));
        if (groups->sum == NULL) {
            status = -ENOMEM;
        }
    }
    if (status != 0) {
        return vamp_err_set_errno(err, ENOMEM, "prepare the alarm %s", rule->options->name);
    }
    return 0;
}

static void free_place(struct map_link *link)
{
    free(CONTAINER_OF(link, struct place, by_labels));
}

void vamp_alarm_following_done(struct vamp_alarm_following *following)
{
    for (uint32_t i = 0; i < following->instance_count; i++) {
        struct vamp_alarm_memory *memory = following->instances[i].memory;
        if (memory != NULL) {
            free(memory->cdo);
            free(memory);
        }
    }
    free(following->instances);
    *following = (struct vamp_alarm_following){.rule = NULL};
}

void vamp_alarm_groups_done(struct vamp_alarm_groups *groups)
{
    free(groups->groups);
    free(groups->group_of);
    free(groups->next_row);
    free(groups->sum);
    map_drop(&groups->map, free_place);
    *groups = (struct vamp_alarm_groups){.rule = NULL};
}

static bool same_patterns(const struct vamp_alarm_rule *one, const struct vamp_alarm_rule *other)
{
    if (one->pattern_count != other->pattern_count) {
        return false;
    }
    for (unsigned i = 0; i < one->pattern_count; i++) {
        if (one->patterns[i].label != other->patterns[i].label ||
            strcmp(one->patterns[i].pattern, other->patterns[i].pattern) != 0) {
            return false;
        }
    }
    return true;
}

/* Compares without ==, against which the compiler warns. */
static bool same_quantile(const struct vamp_alarm_rule *one, const struct vamp_alarm_rule *other)
{
    return one->quantile <= other->quantile && one->quantile >= other->quantile;
}

static bool same_measure(const struct vamp_alarm_rule *one, const struct vamp_alarm_rule *other)
{
    return one->metric == other->metric && one->measure == other->measure &&
           same_quantile(one, other);
}

bool vamp_alarm_groups_fit(const struct vamp_alarm_groups *groups,
                           const struct vamp_alarm_rule *rule)
{
    return same_measure(groups->rule, rule) && groups->rule->labels == rule->labels &&
           same_patterns(groups->rule, rule);
}

/* ---- new series */

static bool is_kept(const struct vamp_alarm_rule *rule, enum vamp_label label)
{
    return (rule->labels & UINT32_C(1) << label) != 0;
}

static const char *label_of(const struct vamp_label_set *set, const struct vamp_series *series,
                            enum vamp_label label)
{
    for (unsigned i = 0; i < set->label_count; i++) {
        if (set->labels[i] == label) {
            return series->labels[i];
        }
    }
    return "";
}

static bool series_fits(const struct vamp_alarm_rule *rule, const struct vamp_label_set *set,
                        const struct vamp_series *series)
{
    for (unsigned i = 0; i < rule->pattern_count; i++) {
        const char *value = label_of(set, series, rule->patterns[i].label);
        if (fnmatch(rule->patterns[i].pattern, value, 0) != 0) {
            return false;
        }
    }
    return true;
}

static uint64_t hash_of(const struct vamp_alarm_groups *groups, const struct vamp_label_set *set,
                        const struct vamp_series *series)
{
    uint64_t hash = 0;
    for (unsigned i = 0; i < set->label_count; i++) {
        if (is_kept(groups->rule, set->labels[i])) {
            hash = vamp_hash_word(
                hash, map_hash_text(&groups->map, series->labels[i], strlen(series->labels[i])));
        }
    }
    return hash;
}

/* Returns whether the rule keeps all labels, so that each series is an instance of its own. */
static bool keeps_all(const struct vamp_alarm_rule *rule, const struct vamp_label_set *set)
{
    for (unsigned i = 0; i < set->label_count; i++) {
        if (!is_kept(rule, set->labels[i])) {
            return false;
        }
    }
    return true;
}

static bool same_labels(const struct vamp_alarm_rule *rule, const struct vamp_label_set *set,
                        const struct vamp_series *one, const struct vamp_series *other)
{
    for (unsigned i = 0; i < set->label_count; i++) {
        if (is_kept(rule, set->labels[i]) && strcmp(one->labels[i], other->labels[i]) != 0) {
            return false;
        }
    }
    return true;
}

/* Returns the number of the group, counted from 1; 0 at the limit, or if out of memory. */
static uint32_t add_group(struct vamp_alarm_groups *groups, const struct vamp_series *series)
{
    if (groups->group_count == VAMP_ALARM_INSTANCES_MAX ||
        !vamp_array_reserve(&groups->groups, &groups->group_room, groups->group_count,
                            sizeof *groups->groups)) {
        return 0;
    }
    groups->groups[groups->group_count] = (struct vamp_alarm_group){.series = series};
    return ++groups->group_count;
}

static uint32_t find_group(struct vamp_alarm_groups *groups, const struct vamp_label_set *set,
                           const struct vamp_series *series)
{
    if (keeps_all(groups->rule, set)) {
        return add_group(groups, series);
    }
    const uint64_t hash = hash_of(groups, set, series);
    for (struct map_link *link = map_first(&groups->map, hash); link != NULL;
         link = map_next(link)) {
        const uint32_t number = CONTAINER_OF(link, struct place, by_labels)->group;
        if (same_labels(groups->rule, set, groups->groups[number - 1].series, series)) {
            return number;
        }
    }
    struct place *place = calloc(1, sizeof *place);
    if (place == NULL) {
        return 0;
    }
    const uint32_t number = add_group(groups, series);
    if (number == 0) {
        free(place);
        return 0;
    }
    place->group = number;
    map_insert(&groups->map, &place->by_labels, hash);
    return number;
}

/* Links the rows of each group in this bucket, in their order. If out of memory, rows are missing
 * from the groups. */
static void link_rows(struct vamp_alarm_groups *groups, const struct vamp_bucket *bucket,
                      unsigned metric)
{
    for (uint32_t i = 0; i < groups->group_count; i++) {
        groups->groups[i].first_row = 0;
    }
    struct vamp_rows rows = vamp_rows_of(bucket, metric, 0);
    while (vamp_rows_next(&rows) && vamp_array_reserve(&groups->next_row, &groups->row_room,
                                                       rows.next, sizeof *groups->next_row)) {
        const uint32_t series = rows.row.number;
        if (series >= groups->seen || groups->group_of[series] == 0) {
            continue;
        }
        struct vamp_alarm_group *group = &groups->groups[groups->group_of[series] - 1];
        if (group->first_row == 0) {
            group->first_row = rows.next;
        } else {
            groups->next_row[group->last_row] = rows.next;
        }
        groups->next_row[rows.next] = 0;
        group->last_row = rows.next;
    }
}

/* Assigns series that are new in this bucket to groups, and links the rows of each group. */
static void find_groups(struct vamp_alarm_groups *groups, const struct vamp_bucket *bucket,
                        unsigned metric)
{
    const unsigned number = bucket->schema->metrics[metric].label_set;
    const struct vamp_label_set *set = &bucket->schema->label_sets[number];
    if (groups->whole) {
        if (groups->group_count == 0) {
            (void)add_group(groups, NULL);
        }
        return;
    }
    for (; groups->seen < bucket->series_count[number] &&
           vamp_array_reserve(&groups->group_of, &groups->seen_room, groups->seen,
                              sizeof *groups->group_of);
         groups->seen++) {
        const uint32_t i = groups->seen;
        const struct vamp_series *series = bucket->series[number][i];
        groups->group_of[i] = 0;
        if (i == 0 || !series_fits(groups->rule, set, series)) {
            continue; /* series 0 is "(other)" */
        }
        if (groups->followed < VAMP_ALARM_SERIES_MAX) {
            groups->group_of[i] = find_group(groups, set, series);
        }
        if (groups->group_of[i] > 0) {
            groups->followed++;
        } else {
            groups->not_followed++;
        }
    }
    link_rows(groups, bucket, metric);
}

/* ---- values */

/* Iterates over the rows of a group. */
struct walk {
    const struct vamp_alarm_groups *groups;
    /* Rows of the metric; all of them belong to the group if `groups->whole`. */
    struct vamp_rows rows;
    uint32_t next; /* otherwise the next row, counted from 1; 0: none */
    struct vamp_row row;
};

/* Advances to the next row. Returns false at the end. */
static bool next_row(struct walk *walk)
{
    if (walk->groups->whole) {
        const bool is_there = vamp_rows_next(&walk->rows);
        walk->row = walk->rows.row;
        return is_there;
    }
    if (walk->next == 0) {
        return false;
    }
    walk->row = vamp_row_at(walk->rows.bucket, walk->rows.metric, walk->next - 1);
    walk->next = walk->groups->next_row[walk->next];
    return true;
}

/* Returns the next histogram that is not empty; NULL at the end. */
static const struct vamp_bucket_histogram *next_histogram(struct walk *walk)
{
    return next_row(walk) ? walk->row.histogram : NULL;
}

static void add_histogram(struct vamp_histogram *sum, const struct vamp_bucket_histogram *histogram)
{
    for (uint32_t i = 0; i < histogram->bin_count; i++) {
        sum->bins[histogram->bins[i].bin] += histogram->bins[i].count;
    }
    sum->count += histogram->count;
    sum->sum += histogram->sum;
    sum->min = VAMP_MIN(sum->min, histogram->min);
    sum->max = VAMP_MAX(sum->max, histogram->max);
}

/* The minimum and the maximum are exact; other quantiles have the error of the bins. */
static struct vamp_alarm_measured measure_quantile(struct walk *walk, const struct vamp_bins *bins)
{
    const double quantile = walk->groups->rule->quantile;
    struct vamp_histogram *sum = walk->groups->sum;
    const struct vamp_bucket_histogram *first = next_histogram(walk);
    if (first == NULL) {
        return (struct vamp_alarm_measured){.known = false};
    }
    const uint64_t resolution = walk->row.resolution_ns;
    const struct vamp_bucket_histogram *next = next_histogram(walk);
    struct vamp_range range;
    if (next == NULL && quantile > 0 && quantile < 1) {
        range = vamp_value_range(vamp_bucket_histogram_quantile(first, bins, quantile),
                                 vamp_bucket_histogram_zeros(first), resolution);
    } else {
        vamp_histogram_clear(sum, bins->count);
        add_histogram(sum, first);
        for (; next != NULL; next = next_histogram(walk)) {
            add_histogram(sum, next);
        }
        range = vamp_histogram_quantile_range(sum, bins, quantile, resolution);
    }
    struct vamp_alarm_measured measured = {.known = true, .value = (double)range.low, .grew = true};
    if (range.low < range.high) {
        measured.at_most = (double)range.high;
    }
    return measured;
}

/* Measures the number of recorded values. */
static struct vamp_alarm_measured measure_recordings(struct walk *walk)
{
    uint64_t count = 0;
    const struct vamp_bucket_histogram *histogram = NULL;
    while ((histogram = next_histogram(walk)) != NULL) {
        count += histogram->count;
    }
    return (struct vamp_alarm_measured){.known = true, .value = (double)count, .grew = count > 0};
}

static struct vamp_alarm_measured measure_counter(struct walk *walk)
{
    uint64_t sum = 0;
    while (next_row(walk)) {
        sum += walk->row.counter->delta;
    }
    return (struct vamp_alarm_measured){.known = true, .value = (double)sum, .grew = sum > 0};
}

static struct vamp_alarm_measured measure_gauge(struct walk *walk)
{
    const bool largest = vamp_metrics[walk->groups->rule->metric].merge == VAMP_MERGE_LARGEST;
    struct vamp_alarm_measured measured = {.known = false};
    while (next_row(walk)) {
        if (walk->row.gauge->value == VAMP_GAUGE_NONE) {
            continue;
        }
        const double value = (double)walk->row.gauge->value;
        if (!measured.known || (largest && value > measured.value)) {
            measured.value = value;
            measured.series = walk->row.number;
        } else if (!largest) {
            measured.value += value;
        }
        measured.known = measured.grew = true;
    }
    return measured;
}

static struct vamp_alarm_measured measure_group(const struct vamp_alarm_groups *groups,
                                                const struct vamp_alarm_group *group,
                                                const struct vamp_bucket *bucket, unsigned metric)
{
    struct walk walk = {
        .groups = groups, .rows = vamp_rows_of(bucket, metric, 0), .next = group->first_row};
    struct vamp_alarm_measured measured = {.known = false};
    switch (vamp_metrics[groups->rule->metric].kind) {
    case VAMP_COUNTER:
        measured = measure_counter(&walk);
        break;
    case VAMP_GAUGE:
        measured = measure_gauge(&walk);
        break;
    case VAMP_HISTOGRAM:
        if (groups->rule->measure == VAMP_ALARM_QUANTILE) {
            measured = measure_quantile(&walk, &bucket->schema->bins);
        } else {
            measured = measure_recordings(&walk);
        }
        break;
    }
    if (groups->rule->measure == VAMP_ALARM_RATE) {
        measured.value *= 1e9 / (double)bucket->width_ns;
    }
    return measured;
}

/* ---- instances of a rule */

/* Returns false if out of memory. */
static bool add_instance(struct vamp_alarm_following *following)
{
    const struct vamp_alarm_rule *rule = following->rule;
    const bool remembers = rule->baseline_buckets > 0 ||
                           rule->when.comparison == VAMP_ALARM_CHANGED ||
                           vamp_metrics[rule->metric].kind == VAMP_GAUGE;
    if (!vamp_array_reserve(&following->instances, &following->instance_room,
                            following->instance_count, sizeof *following->instances)) {
        return false;
    }
    struct vamp_alarm_instance *instance = &following->instances[following->instance_count];
    *instance = (struct vamp_alarm_instance){.memory = NULL};
    if (remembers) {
        instance->memory = calloc(1, sizeof *instance->memory);
        if (instance->memory == NULL) {
            return false;
        }
    }
    following->instance_count++;
    return true;
}

void vamp_alarm_follow(struct vamp_alarm_following *following, const struct vamp_bucket *bucket,
                       unsigned metric)
{
    struct vamp_alarm_groups *groups = following->groups;
    if (!groups->current) {
        find_groups(groups, bucket, metric);
        for (uint32_t i = 0; i < groups->group_count; i++) {
            groups->groups[i].measured = measure_group(groups, &groups->groups[i], bucket, metric);
        }
        groups->current = true;
    }
    bool has_memory = true;
    while (following->instance_count < groups->group_count && has_memory) {
        has_memory = add_instance(following); /* on failure, tried again at the next bucket */
    }
}
