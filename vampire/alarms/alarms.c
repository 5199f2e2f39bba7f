/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/alarms/alarms.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/alarms/follow.h"
#include "vampire/core/list.h"
#include "vampire/core/utf8.h"
#include "vampire/core/values.h"

/* A rule that is evaluated. */
struct work {
    struct vamp_alarm_rule rule;
    unsigned number; /* number of the rule */
    unsigned metric; /* index in the schema */
    struct vamp_alarm_following following;
    /* Rules with "absent": the alarm for a metric without series. */
    struct vamp_alarm_instance none;
    struct vamp_alarm_group none_group;
    const struct vamp_alarm_config *config;
    void *actions[VAMP_ALARM_ACTIONS_MAX];
    unsigned action_count; /* number of opened actions */
    uint64_t pending, firing, fired, delayed;
    bool bound_said, unjudged_said;
};

struct vamp_alarms {
    struct vamp_alarms_options options;
    struct work *works;
    unsigned count;
    /* Shared by the rules that measure the same values. */
    struct vamp_alarm_groups *groups;
    unsigned groups_count;
    /* Concern the current bucket. */
    int64_t utc_ns;
    struct vamp_alarm_change *changes;
    unsigned change_count, change_room;
};

static void ignore_mistake(void *context, const struct vamp_alarm_mistake *mistake)
{
    (void)context;
    (void)mistake;
}

/* Returns whether the metric of the rule is in the schema. Rules with other metrics are not
 * evaluated, which is reported. */
static bool is_observable(const struct vamp_alarms_options *options,
                          const struct vamp_alarm_config *config)
{
    const struct vamp_schema *schema = options->schema;
    const enum vamp_metric_id id = vamp_metric_find(config->options.metric);
    if (vamp_schema_find(schema, id) < schema->metric_count) {
        return true;
    }
    const struct vamp_absence *absence = vamp_coverage_find(schema->coverage, id);
    char line[VAMP_ERR_TEXT_BYTES], text[VAMP_ABSENCE_BYTES];
    const char *reason = "only a live run has it";
    if (absence != NULL) {
        reason = vamp_absence_reason(absence, text);
    }
    (void)snprintf(line, sizeof line, "the alarm %s is not watched: %s is not observable, %s",
                   config->options.name, vamp_metrics[id].name, reason);
    options->say(options->say_context, true, line);
    return false;
}

static int open_actions(const struct vamp_alarms *alarms, struct work *work, struct vamp_err *err)
{
    for (unsigned i = 0; i < work->config->action_count; i++) {
        const struct vamp_alarm_action *action = &work->config->actions[i];
        const int status =
            action->ops->open(action->options, alarms->options.services, &work->actions[i], err);
        if (status != 0) {
            (void)vamp_err_wrap(err, "action %s of the alarm %s", action->ops->name,
                                work->config->options.name);
            return status;
        }
        work->action_count++;
    }
    return 0;
}

/* Sets the groups of the rule. They are shared with an earlier rule that measures the same values;
 * otherwise they are created. */
static int start_following(struct vamp_alarms *alarms, struct work *work, struct vamp_err *err)
{
    work->following.rule = &work->rule;
    for (unsigned i = 0; i < alarms->groups_count; i++) {
        if (vamp_alarm_groups_fit(&alarms->groups[i], &work->rule)) {
            work->following.groups = &alarms->groups[i];
            return 0;
        }
    }
    work->following.groups = &alarms->groups[alarms->groups_count++];
    return vamp_alarm_groups_init(work->following.groups, &work->rule,
                                  &alarms->options.schema->bins, err);
}

static int start_work(struct vamp_alarms *alarms, struct work *work, struct vamp_err *err)
{
    const struct vamp_schema *schema = alarms->options.schema;
    const struct vamp_alarm_scope scope = {.level = schema->level, .bucket_ns = schema->bucket_ns};
    if (!vamp_alarm_compile(&work->config->options, &scope, ignore_mistake, NULL, &work->rule)) {
        return vamp_err_set(err, -EINVAL, "the alarm %s does not fit these statistics",
                            work->config->options.name);
    }
    work->metric = vamp_schema_find(schema, work->rule.metric);
    const int status = start_following(alarms, work, err);
    if (status != 0) {
        return status;
    }
    return open_actions(alarms, work, err);
}

int vamp_alarms_create(const struct vamp_alarms_options *options, struct vamp_alarms **ret_alarms,
                       struct vamp_err *err)
{
    assert(options->count > 0 && options->count <= VAMP_ALARM_RULES_MAX);
    struct vamp_alarms *alarms = calloc(1, sizeof *alarms);
    struct work *works = calloc(options->count, sizeof *works);
    struct vamp_alarm_groups *groups = calloc(options->count, sizeof *groups);
    if (alarms == NULL || works == NULL || groups == NULL) {
        free(groups);
        free(works);
        free(alarms);
        return vamp_err_set_errno(err, ENOMEM, "prepare the alarms");
    }
    alarms->options = *options;
    alarms->works = works;
    alarms->groups = groups;
    int status = 0;
    for (unsigned i = 0; i < options->count && status == 0; i++) {
        if (is_observable(options, &options->configs[i])) {
            struct work *work = &works[alarms->count++];
            work->number = i;
            work->config = &options->configs[i];
            status = start_work(alarms, work, err);
        }
    }
    if (status != 0) {
        vamp_alarms_free(alarms);
        return status;
    }
    *ret_alarms = alarms;
    return 0;
}

void vamp_alarms_free(struct vamp_alarms *alarms)
{
    if (alarms == NULL) {
        return;
    }
    for (unsigned i = 0; i < alarms->count; i++) {
        struct work *work = &alarms->works[i];
        for (unsigned k = 0; k < work->action_count; k++) {
            work->config->actions[k].ops->close(work->actions[k]);
        }
        vamp_alarm_following_done(&work->following);
    }
    for (unsigned i = 0; i < alarms->groups_count; i++) {
        vamp_alarm_groups_done(&alarms->groups[i]);
    }
    free(alarms->groups);
    free(alarms->works);
    free(alarms);
}

/* Result of comparing a value with the rule. */
struct compared {
    enum vamp_alarm_opinion opinion;
    bool has_value, has_baseline;
    double value, baseline; /* `value` is the ratio if the rule has a baseline */
    double at_most;         /* as in struct vamp_alarm_measured */
};
/* ---- changes */

/* Appends a change to the list. Returns NULL if the list is full, or if out of memory. */
static struct vamp_alarm_change *add_change(struct vamp_alarms *alarms)
{
    if (alarms->change_count == VAMP_ALARM_CHANGES_MAX ||
        !vamp_array_reserve(&alarms->changes, &alarms->change_room, alarms->change_count,
                            sizeof *alarms->changes)) {
        return NULL;
    }
    struct vamp_alarm_change *change = &alarms->changes[alarms->change_count++];
    memset(change, 0, sizeof *change);
    return change;
}

/* Copies a text as UTF-8; it is cut at a character boundary and terminated. */
static void copy_text(char *to, size_t bytes, const char *text)
{
    to[vamp_utf8_copy(to, bytes - 1, text)] = '\0';
}

static void describe_labels(const struct work *work, const struct vamp_bucket *bucket,
                            const struct vamp_series *series, struct vamp_alarm_change *change)
{
    const unsigned number = bucket->schema->metrics[work->metric].label_set;
    const struct vamp_label_set *set = &bucket->schema->label_sets[number];
    for (unsigned i = 0; series != NULL && i < set->label_count; i++) {
        if ((work->rule.labels & UINT32_C(1) << set->labels[i]) != 0) {
            struct vamp_alarm_label *label = &change->labels[change->label_count++];
            label->name = vamp_label_name(set->labels[i]);
            copy_text(label->value, sizeof label->value, series->labels[i]);
        }
    }
    /* without a series, the labels are the patterns of the rule */
    for (unsigned i = 0; series == NULL && i < work->rule.pattern_count; i++) {
        struct vamp_alarm_label *label = &change->labels[change->label_count++];
        label->name = vamp_label_name(work->rule.patterns[i].label);
        copy_text(label->value, sizeof label->value, work->rule.patterns[i].pattern);
    }
}

static const char *unit_of(const struct vamp_alarm_rule *rule)
{
    const struct vamp_metric *metric = &vamp_metrics[rule->metric];
    if (rule->baseline_buckets > 0) {
        return "1";
    }
    if (rule->measure != VAMP_ALARM_RATE) {
        return metric->unit;
    }
    if (metric->kind == VAMP_HISTOGRAM || strcmp(metric->unit, "1") == 0) {
        return "s-1";
    }
    return strcmp(metric->unit, "byte") == 0 ? "byte s-1" : "ns s-1";
}

static void describe_change(const struct work *work, const struct vamp_alarm_instance *instance,
                            const struct vamp_alarm_group *group, const struct vamp_bucket *bucket,
                            const struct compared *compared, struct vamp_alarm_change *change)
{
    const struct vamp_alarm_options *options = work->rule.options;
    copy_text(change->alarm, sizeof change->alarm, options->name);
    copy_text(change->threshold, sizeof change->threshold, options->when);
    change->rule = work->number;
    if (instance != &work->none) {
        change->instance = (uint32_t)(instance - work->following.instances) + 1;
    }
    change->severity = (uint8_t)options->severity;
    change->time_ns = bucket->start_ns + bucket->width_ns;
    change->bucket = bucket->number;
    change->since_ns = instance->since_ns;
    change->metric = vamp_metrics[work->rule.metric].name;
    change->unit = unit_of(&work->rule);
    change->has_value = compared->has_value;
    if (compared->has_value) {
        change->value = compared->value;
    }
    change->at_most = compared->at_most;
    change->has_baseline = compared->has_baseline;
    if (compared->has_baseline) {
        change->baseline = compared->baseline;
    }
    describe_labels(work, bucket, group->series, change);
}

/* Returns the CDO that determines an age; "" if unknown, or if the metric is not an age. */
static const char *find_cdo(const struct work *work, const struct vamp_bucket *bucket,
                            const struct vamp_alarm_measured *measured)
{
    const unsigned number = bucket->schema->metrics[work->metric].label_set;
    const bool labelled = bucket->schema->label_sets[number].label_count > 0;
    for (unsigned i = 0; measured->known && i < bucket->oldest_count; i++) {
        const struct vamp_oldest_cdo *oldest = &bucket->oldest[i];
        if (oldest->metric == work->rule.metric &&
            (!labelled ||
             strcmp(bucket->series[number][measured->series]->labels[0], oldest->component) == 0)) {
            return oldest->name;
        }
    }
    return "";
}

/* An alarm that ends has the same CDO as at its start. */
static void describe_cdo(const struct work *work, struct vamp_alarm_instance *instance,
                         const struct vamp_bucket *bucket,
                         const struct vamp_alarm_measured *measured,
                         struct vamp_alarm_change *change)
{
    const bool begins = change->state == VAMP_ALARM_PENDING || change->state == VAMP_ALARM_FIRING;
    struct vamp_alarm_memory *memory = instance->memory;
    if (memory == NULL) {
        return; /* the metric is not an age */
    }
    if (begins) {
        copy_text(change->cdo, sizeof change->cdo, find_cdo(work, bucket, measured));
        free(memory->cdo);
        memory->cdo = NULL;
        if (change->cdo[0] != '\0') {
            memory->cdo = strdup(change->cdo);
        }
    } else if (memory->cdo != NULL) {
        copy_text(change->cdo, sizeof change->cdo, memory->cdo);
    }
}

static void count_change(struct work *work, const struct vamp_alarm_instance *instance,
                         enum vamp_alarm_state state)
{
    if (instance->active) { /* the previous state */
        work->pending -= instance->state == VAMP_ALARM_PENDING;
        work->firing -= instance->state == VAMP_ALARM_FIRING;
    }
    work->pending += state == VAMP_ALARM_PENDING;
    work->firing += state == VAMP_ALARM_FIRING;
    work->fired += state == VAMP_ALARM_FIRING;
}

static void run_actions(const struct vamp_alarms *alarms, const struct work *work,
                        const struct vamp_alarm_change *change)
{
    for (unsigned i = 0; i < work->action_count; i++) {
        const struct vamp_alarm_action_ops *ops = work->config->actions[i].ops;
        if ((!change->silenced || ops->when_silenced) &&
            (!alarms->options.replayed || ops->when_replayed)) {
            ops->change(work->actions[i], change);
        }
    }
}

/* ---- the baseline */

/* Adds a bucket, with or without a value. `window`: buckets, at least 1. */
static void add_to_baseline(struct vamp_alarm_baseline *baseline, uint32_t window, bool has_value,
                            double value)
{
    const uint32_t parts = VAMP_MIN(window, VAMP_ALARM_BASELINE_PARTS);
    const uint32_t buckets = (window + parts - 1) / parts; /* length of each part */
    if (baseline->filled == buckets) {
        baseline->part = (baseline->part + 1) % parts;
        baseline->filled = 0;
        baseline->parts[baseline->part].sum = 0;
        baseline->parts[baseline->part].count = 0;
    }
    baseline->filled++;
    baseline->watched += baseline->watched < UINT32_MAX;
    if (has_value) {
        baseline->parts[baseline->part].sum += value;
        baseline->parts[baseline->part].count++;
    }
}

/* Returns false if fewer than `warm_up` buckets were evaluated, the window has no value, or the
 * mean is 0. */
static bool mean_of_baseline(const struct vamp_alarm_baseline *baseline, uint32_t warm_up,
                             double *ret_mean)
{
    double sum = 0;
    uint64_t count = 0;
    for (unsigned i = 0; i < VAMP_ALARM_BASELINE_PARTS; i++) {
        sum += baseline->parts[i].sum;
        count += baseline->parts[i].count;
    }
    if (baseline->watched < warm_up || count == 0 || sum <= 0) {
        return false;
    }
    *ret_mean = sum / (double)count;
    return true;
}

/* ---- opinions of buckets, and the resulting state */

static bool limit_holds(const struct vamp_alarm_condition *condition, double value)
{
    switch (condition->comparison) {
    case VAMP_ALARM_GREATER:
        return value > condition->limit;
    case VAMP_ALARM_GREATER_EQUAL:
        return value >= condition->limit;
    case VAMP_ALARM_LESS:
        return value < condition->limit;
    case VAMP_ALARM_LESS_EQUAL:
        return value <= condition->limit;
    /* Values are integers, so that an exact comparison is meaningful. */
    case VAMP_ALARM_EQUAL:
        return value >= condition->limit && value <= condition->limit;
    case VAMP_ALARM_NOT_EQUAL:
        return value < condition->limit || value > condition->limit;
    case VAMP_ALARM_CHANGED:
    case VAMP_ALARM_ABSENT:
        break;
    }
    return false;
}

static enum vamp_alarm_opinion opinion_of(const struct vamp_alarm_rule *rule, double value)
{
    if (limit_holds(&rule->when, value)) {
        return VAMP_ALARM_HOLDS;
    }
    if (rule->has_clear && !limit_holds(&rule->clear, value)) {
        return VAMP_ALARM_BETWEEN;
    }
    return VAMP_ALARM_OVER;
}

/* The value of a counter is its increase, so it has changed if that is not 0. */
static enum vamp_alarm_opinion judge_change(const struct vamp_alarm_rule *rule,
                                            struct vamp_alarm_memory *memory,
                                            const struct vamp_alarm_measured *measured)
{
    bool changed = memory->has_last &&
                   (measured->value < memory->last_value || measured->value > memory->last_value);
    if (vamp_metrics[rule->metric].kind == VAMP_COUNTER) {
        changed = measured->grew;
    }
    memory->has_last = true;
    memory->last_value = measured->value;
    return changed ? VAMP_ALARM_HOLDS : VAMP_ALARM_OVER;
}

/* The baseline is not updated while the condition holds. */
static void judge_ratio(const struct vamp_alarm_rule *rule, struct vamp_alarm_instance *instance,
                        const struct vamp_alarm_measured *measured, struct compared *compared)
{
    compared->has_value = false;
    compared->has_baseline =
        mean_of_baseline(&instance->memory->baseline, rule->warm_up_buckets, &compared->baseline);
    if (measured->known && compared->has_baseline) {
        compared->has_value = true;
        compared->value = measured->value / compared->baseline;
        compared->opinion = opinion_of(rule, compared->value);
    }
    if (!instance->active && compared->opinion != VAMP_ALARM_HOLDS) {
        add_to_baseline(&instance->memory->baseline, rule->baseline_buckets, measured->known,
                        measured->value);
    }
}

/* Judges a value of which only bounds are known. */
static enum vamp_alarm_opinion judge_bounds(const struct vamp_alarm_rule *rule,
                                            const struct vamp_alarm_measured *measured)
{
    const bool has_order = rule->when.comparison <= VAMP_ALARM_LESS_EQUAL;
    const enum vamp_alarm_opinion opinion = opinion_of(rule, measured->value);
    if (!has_order || rule->baseline_buckets > 0 ||
        opinion != opinion_of(rule, measured->at_most)) {
        return VAMP_ALARM_NOT_KNOWN;
    }
    return opinion;
}

static struct compared judge(const struct vamp_alarm_rule *rule,
                             struct vamp_alarm_instance *instance,
                             const struct vamp_alarm_measured *measured)
{
    struct compared compared = {
        .opinion = VAMP_ALARM_NOT_KNOWN, .has_value = measured->known, .value = measured->value};
    if (rule->when.comparison == VAMP_ALARM_ABSENT) {
        compared.opinion = measured->grew ? VAMP_ALARM_OVER : VAMP_ALARM_HOLDS;
    } else if (measured->at_most > 0) {
        compared.has_value = false;
        compared.at_most = measured->at_most;
        compared.opinion = judge_bounds(rule, measured);
    } else if (rule->baseline_buckets > 0) {
        judge_ratio(rule, instance, measured, &compared);
    } else if (measured->known && rule->when.comparison == VAMP_ALARM_CHANGED) {
        compared.opinion = judge_change(rule, instance->memory, measured);
    } else if (measured->known) {
        compared.opinion = opinion_of(rule, measured->value);
    }
    return compared;
}

/* In buckets without a value, the last opinion is kept, for at most the longer of `for` and
 * `clear_for`. */
static uint32_t one_more(uint32_t count)
{
    return count + (count < UINT32_MAX);
}

static enum vamp_alarm_opinion lasting_opinion(const struct vamp_alarm_rule *rule,
                                               struct vamp_alarm_instance *instance,
                                               enum vamp_alarm_opinion opinion)
{
    if (opinion != VAMP_ALARM_NOT_KNOWN) {
        instance->unknown_for = 0;
        instance->opinion = (uint8_t)opinion;
        return opinion;
    }
    instance->unknown_for = one_more(instance->unknown_for);
    if (instance->unknown_for >= VAMP_MAX(rule->hold_buckets, rule->clear_buckets)) {
        return VAMP_ALARM_OVER;
    }
    return (enum vamp_alarm_opinion)instance->opinion;
}

/* Applies the opinion of one bucket, which ends at `end_ns`. Returns true if the caller must change
 * the state to `*ret_state` by enter_state, now or at a later bucket. */
static bool step(const struct vamp_alarm_rule *rule, struct vamp_alarm_instance *instance,
                 enum vamp_alarm_opinion opinion, int64_t end_ns, enum vamp_alarm_state *ret_state)
{
    opinion = lasting_opinion(rule, instance, opinion);
    const bool firing = instance->active && instance->state == VAMP_ALARM_FIRING;
    instance->held = opinion == VAMP_ALARM_HOLDS ? one_more(instance->held) : 0;
    instance->over = opinion == VAMP_ALARM_OVER ? one_more(instance->over) : 0;
    if (!firing && instance->held == 1) {
        instance->since_ns = end_ns;
    }
    if (firing) {
        *ret_state = VAMP_ALARM_RESOLVED;
        return instance->over >= rule->clear_buckets;
    }
    if (instance->held >= rule->hold_buckets) {
        *ret_state = VAMP_ALARM_FIRING;
        return true;
    }
    if (instance->active) {
        *ret_state = VAMP_ALARM_CLEARED;
        return instance->held == 0;
    }
    *ret_state = VAMP_ALARM_PENDING;
    return instance->held > 0;
}

static void enter_state(struct vamp_alarm_instance *instance, enum vamp_alarm_state state)
{
    instance->active = state == VAMP_ALARM_PENDING || state == VAMP_ALARM_FIRING;
    instance->state = (uint8_t)state;
    instance->over = 0;
    if (state == VAMP_ALARM_RESOLVED) {
        instance->held = 0;
    }
}

/* ---- evaluation */

static void say_unjudged(const struct vamp_alarms *alarms, struct work *work,
                         const struct compared *compared)
{
    char line[256];
    if (work->unjudged_said || compared->at_most <= 0 ||
        compared->opinion != VAMP_ALARM_NOT_KNOWN) {
        return;
    }
    const bool has_order = work->rule.when.comparison <= VAMP_ALARM_LESS_EQUAL;
    const bool has_limit = has_order && work->rule.baseline_buckets == 0;
    (void)snprintf(line, sizeof line,
                   "alarm \"%s\" cannot be judged where %s is only known to be below the "
                   "resolution of times, now %.3g ms%s",
                   work->config->options.name, vamp_metrics[work->rule.metric].name,
                   compared->at_most / 1e6, has_limit ? ": use a limit above it" : "");
    alarms->options.say(alarms->options.say_context, false, line);
    work->unjudged_said = true;
}

static void evaluate_instance(struct vamp_alarms *alarms, struct work *work,
                              struct vamp_alarm_instance *instance,
                              const struct vamp_alarm_group *group,
                              const struct vamp_bucket *bucket)
{
    const struct vamp_alarm_measured *measured = &group->measured;
    const struct compared compared = judge(&work->rule, instance, measured);
    say_unjudged(alarms, work, &compared);
    enum vamp_alarm_state state = VAMP_ALARM_PENDING;
    enum vamp_alarm_opinion opinion = compared.opinion;
    if (opinion == VAMP_ALARM_NOT_KNOWN && compared.at_most > 0) {
        opinion = (enum vamp_alarm_opinion)instance->opinion; /* there is a value: keep the state */
    }
    if (!step(&work->rule, instance, opinion, bucket->start_ns + bucket->width_ns, &state)) {
        return;
    }
    struct vamp_alarm_change *change = add_change(alarms);
    if (change == NULL) {
        work->delayed++;
        return;
    }
    describe_change(work, instance, group, bucket, &compared, change);
    change->state = (uint8_t)state;
    describe_cdo(work, instance, bucket, measured, change);
    change->silenced = alarms->options.silences != NULL &&
                       vamp_silences_hold(alarms->options.silences, change->alarm, alarms->utc_ns);
    count_change(work, instance, state);
    enter_state(instance, state);
    run_actions(alarms, work, change);
}

static void say_bound(const struct vamp_alarms *alarms, struct work *work)
{
    if (work->bound_said || work->following.groups->not_followed == 0) {
        return;
    }
    char line[256];
    (void)snprintf(line, sizeof line,
                   "alarm \"%s\" follows %u series and cannot follow more: narrow its \"labels\"",
                   work->config->options.name, work->following.groups->followed);
    alarms->options.say(alarms->options.say_context, false, line);
    work->bound_said = true;
}

/* Returns whether the instance can be skipped: it has no value in the bucket, which is common for
 * histograms, and the condition neither holds nor is about to hold. */
static bool nothing_changes(const struct work *work, const struct vamp_alarm_instance *instance,
                            const struct vamp_alarm_group *group)
{
    return group->first_row == 0 && !work->following.groups->whole &&
           work->rule.measure == VAMP_ALARM_QUANTILE && work->rule.baseline_buckets == 0 &&
           work->rule.when.comparison != VAMP_ALARM_ABSENT && !instance->active &&
           instance->opinion != VAMP_ALARM_HOLDS;
}

static void evaluate_rule(struct vamp_alarms *alarms, struct work *work,
                          const struct vamp_bucket *bucket)
{
    vamp_alarm_follow(&work->following, bucket, work->metric);
    say_bound(alarms, work);
    for (uint32_t i = 0; i < work->following.instance_count; i++) {
        struct vamp_alarm_instance *instance = &work->following.instances[i];
        const struct vamp_alarm_group *group = &work->following.groups->groups[i];
        if (!nothing_changes(work, instance, group)) {
            evaluate_instance(alarms, work, instance, group, bucket);
        }
    }
    if (work->rule.when.comparison == VAMP_ALARM_ABSENT) {
        work->none_group.measured.grew = work->following.instance_count > 0;
        evaluate_instance(alarms, work, &work->none, &work->none_group, bucket);
    }
}

unsigned vamp_alarms_evaluate(struct vamp_alarms *alarms, const struct vamp_bucket *bucket,
                              int64_t utc_ns, struct vamp_alarm_change **ret_changes)
{
    alarms->utc_ns = utc_ns;
    alarms->changes = NULL;
    alarms->change_count = alarms->change_room = 0;
    for (unsigned i = 0; i < alarms->groups_count; i++) {
        alarms->groups[i].current = false;
    }
    for (unsigned i = 0; i < alarms->count; i++) {
        evaluate_rule(alarms, &alarms->works[i], bucket);
    }
    *ret_changes = alarms->changes;
    return alarms->change_count;
}

struct vamp_alarms_sum vamp_alarms_sum(const struct vamp_alarms *alarms)
{
    struct vamp_alarms_sum sum = {0, 0};
    for (unsigned i = 0; i < vamp_alarms_count(alarms); i++) {
        sum.firing += alarms->works[i].firing;
        sum.fired += alarms->works[i].fired;
    }
    return sum;
}

unsigned vamp_alarms_count(const struct vamp_alarms *alarms)
{
    return alarms != NULL ? alarms->count : 0;
}

void vamp_alarms_state(const struct vamp_alarms *alarms, unsigned rule,
                       struct vamp_alarm_state_count *ret_state)
{
    const struct work *work = &alarms->works[rule];
    *ret_state = (struct vamp_alarm_state_count){
        .name = work->config->options.name,
        .severity = work->config->options.severity,
        .pending = work->pending,
        .firing = work->firing,
        .fired = work->fired,
        .followed = work->following.groups->followed,
        .not_followed = work->following.groups->not_followed,
        .delayed = work->delayed,
    };
}
