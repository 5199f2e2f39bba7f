/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/alarms/follow.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/core/hash.h"
#include "vampire/core/list.h"
#include "vampire/stats/bucket/rows.h"

#define NO_MEMBER UINT32_MAX

int vamp_alarm_following_init(struct vamp_alarm_following *following,
                              const struct vamp_alarm_rule *rule, const struct vamp_bins *bins,
                              struct vamp_err *err)
{
    *following = (struct vamp_alarm_following){
        .rule = rule, .whole = rule->labels == 0 && rule->pattern_count == 0};
    int status = map_init(&following->map);
    if (status == 0 && rule->measure == VAMP_ALARM_QUANTILE) {
        following->sum = calloc(1, sizeof *following->sum + bins->count * sizeof(uint64_t));
        status = following->sum == NULL ? -ENOMEM : 0;
    }
    return status == 0
               ? 0
               : vamp_err_set_errno(err, ENOMEM, "prepare the alarm %s", rule->options->name);
}

void vamp_alarm_following_done(struct vamp_alarm_following *following)
{
    for (uint32_t i = 0; i < following->instance_count; i++) {
        free(following->instances[i]->cdo);
        free(following->instances[i]);
    }
    free(following->instances);
    free(following->members);
    free(following->sum);
    map_done(&following->map);
    *following = (struct vamp_alarm_following){.rule = NULL};
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

static uint64_t hash_of(const struct vamp_alarm_following *following,
                        const struct vamp_label_set *set, const struct vamp_series *series)
{
    uint64_t hash = 0;
    for (unsigned i = 0; i < set->label_count; i++) {
        if (is_kept(following->rule, set->labels[i])) {
            hash = vamp_hash_word(
                hash, map_hash_text(&following->map, series->labels[i], strlen(series->labels[i])));
        }
    }
    return hash;
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

static struct vamp_alarm_instance *add_instance(struct vamp_alarm_following *following,
                                                const struct vamp_series *series, uint64_t hash)
{
    if (following->instance_count == VAMP_ALARM_INSTANCES_MAX) {
        return NULL;
    }
    if (following->instance_count == following->instance_room) {
        const uint32_t room = following->instance_room == 0 ? 16 : following->instance_room * 2;
        struct vamp_alarm_instance **instances =
            reallocarray(following->instances, room, sizeof *instances);
        if (instances == NULL) {
            return NULL;
        }
        following->instances = instances;
        following->instance_room = room;
    }
    struct vamp_alarm_instance *instance = calloc(1, sizeof *instance);
    if (instance != NULL) {
        instance->series = series;
        instance->first = instance->last = NO_MEMBER;
        following->instances[following->instance_count++] = instance;
        instance->number = following->instance_count;
        map_insert(&following->map, &instance->by_labels, hash);
    }
    return instance;
}

static struct vamp_alarm_instance *find_instance(struct vamp_alarm_following *following,
                                                 const struct vamp_label_set *set,
                                                 const struct vamp_series *series)
{
    const uint64_t hash = hash_of(following, set, series);
    for (struct map_link *link = map_first(&following->map, hash); link != NULL;
         link = map_next(link)) {
        struct vamp_alarm_instance *instance =
            CONTAINER_OF(link, struct vamp_alarm_instance, by_labels);
        if (same_labels(following->rule, set, instance->series, series)) {
            return instance;
        }
    }
    return add_instance(following, series, hash);
}

/* Room for one more member; false without memory. */
static bool reserve_member(struct vamp_alarm_following *following)
{
    if (following->member_count < following->member_room) {
        return true;
    }
    const uint32_t room = following->member_room == 0 ? 16 : following->member_room * 2;
    struct vamp_alarm_member *members = reallocarray(following->members, room, sizeof *members);
    if (members != NULL) {
        following->members = members;
        following->member_room = room;
    }
    return members != NULL;
}

static bool add_series(struct vamp_alarm_following *following, const struct vamp_label_set *set,
                       const struct vamp_series *series, uint32_t number)
{
    if (following->member_count == VAMP_ALARM_SERIES_MAX || !reserve_member(following)) {
        return false;
    }
    struct vamp_alarm_instance *instance = find_instance(following, set, series);
    if (instance == NULL) {
        return false;
    }
    const uint32_t member = following->member_count++;
    following->members[member] = (struct vamp_alarm_member){number, NO_MEMBER};
    *(instance->first == NO_MEMBER ? &instance->first : &following->members[instance->last].next) =
        member;
    instance->last = member;
    return true;
}

void vamp_alarm_follow(struct vamp_alarm_following *following, const struct vamp_bucket *bucket,
                       unsigned metric)
{
    const unsigned number = bucket->schema->metrics[metric].label_set;
    const struct vamp_label_set *set = &bucket->schema->label_sets[number];
    const uint32_t count = bucket->series_count[number];
    if (following->whole) {
        if (following->instance_count == 0) {
            (void)add_instance(following, NULL, 0);
        }
        return;
    }
    if (following->seen == 0) {
        following->seen = 1; /* series 0 is "(other)": values of no component for lack of room */
    }
    for (; following->seen < count; following->seen++) {
        const struct vamp_series *series = bucket->series[number][following->seen];
        if (series_fits(following->rule, set, series) &&
            !add_series(following, set, series, following->seen)) {
            following->not_followed++;
        }
    }
}

/* ---- values */

/* The rows of an instance's series, one after the other. */
struct walk {
    const struct vamp_alarm_following *following;
    struct vamp_rows rows; /* of the metric; of a whole, it is what is walked */
    uint32_t member;       /* else the next one */
    struct vamp_row row;
};

/* False: there is no further row. */
static bool next_row(struct walk *walk)
{
    if (walk->following->whole) {
        const bool is_there = vamp_rows_next(&walk->rows);
        walk->row = walk->rows.row;
        return is_there;
    }
    while (walk->member != NO_MEMBER) {
        const struct vamp_alarm_member *member = &walk->following->members[walk->member];
        walk->member = member->next;
        if (vamp_row_find(walk->rows.bucket, walk->rows.metric, member->series, &walk->row)) {
            return true;
        }
    }
    return false;
}

/* The next histogram; NULL: there is none. A bucket has none that is empty. */
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
    sum->min = histogram->min < sum->min ? histogram->min : sum->min;
    sum->max = histogram->max > sum->max ? histogram->max : sum->max;
}

/* The least and the largest value are exact, others as exact as the bins. */
static struct vamp_alarm_measured measure_quantile(struct walk *walk, const struct vamp_bins *bins)
{
    const double quantile = walk->following->rule->quantile;
    struct vamp_histogram *sum = walk->following->sum;
    const struct vamp_bucket_histogram *first = next_histogram(walk);
    const struct vamp_bucket_histogram *next = first != NULL ? next_histogram(walk) : NULL;
    if (first == NULL) {
        return (struct vamp_alarm_measured){.known = false};
    }
    struct vamp_alarm_measured measured = {.known = true, .grew = true};
    if (next == NULL) {
        measured.value =
            (double)(quantile <= 0   ? first->min
                     : quantile >= 1 ? first->max
                                     : vamp_bucket_histogram_quantile(first, bins, quantile));
        return measured;
    }
    vamp_histogram_clear(sum, bins->count);
    add_histogram(sum, first);
    for (; next != NULL; next = next_histogram(walk)) {
        add_histogram(sum, next);
    }
    measured.value = (double)(quantile <= 0   ? sum->min
                              : quantile >= 1 ? sum->max
                                              : vamp_histogram_quantile(sum, bins, quantile));
    return measured;
}

/* How many values were recorded. */
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
    const bool largest = vamp_metrics[walk->following->rule->metric].merge == VAMP_MERGE_LARGEST;
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

struct vamp_alarm_measured vamp_alarm_measure(const struct vamp_alarm_following *following,
                                              const struct vamp_alarm_instance *instance,
                                              const struct vamp_bucket *bucket, unsigned metric)
{
    struct walk walk = {.following = following,
                        .rows = vamp_rows_of(bucket, metric, 0),
                        .member = following->whole ? NO_MEMBER : instance->first};
    struct vamp_alarm_measured measured = {.known = false};
    switch (vamp_metrics[following->rule->metric].kind) {
    case VAMP_COUNTER:
        measured = measure_counter(&walk);
        break;
    case VAMP_GAUGE:
        measured = measure_gauge(&walk);
        break;
    case VAMP_HISTOGRAM:
        measured = following->rule->measure == VAMP_ALARM_QUANTILE
                       ? measure_quantile(&walk, &bucket->schema->bins)
                       : measure_recordings(&walk);
        break;
    }
    if (following->rule->measure == VAMP_ALARM_RATE) {
        measured.value *= 1e9 / (double)bucket->width_ns;
    }
    return measured;
}
