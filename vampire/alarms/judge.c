/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/alarms/judge.h"

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
    /* Limits and counts are whole numbers, or the same text's: they are equal or they are not. */
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
    return rule->has_clear && !limit_holds(&rule->clear, value) ? VAMP_ALARM_BETWEEN
                                                                : VAMP_ALARM_OVER;
}

/* A counter's value is its growth, so that it changed if it grew. */
static enum vamp_alarm_opinion judge_change(const struct vamp_alarm_rule *rule,
                                            struct vamp_alarm_instance *instance,
                                            const struct vamp_alarm_measured *measured)
{
    const bool counter = vamp_metrics[rule->metric].kind == VAMP_COUNTER;
    const bool other =
        measured->value < instance->last_value || measured->value > instance->last_value;
    const bool changed = counter ? measured->grew : instance->has_last && other;
    instance->has_last = true;
    instance->last_value = measured->value;
    return changed ? VAMP_ALARM_HOLDS : VAMP_ALARM_OVER;
}

/* The baseline stands still while the condition holds, so that it stays that of the time before. */
static void judge_ratio(const struct vamp_alarm_rule *rule, struct vamp_alarm_instance *instance,
                        const struct vamp_alarm_measured *measured,
                        struct vamp_alarm_compared *compared)
{
    compared->has_value = false;
    compared->has_baseline =
        vamp_alarm_baseline_mean(&instance->baseline, rule->warm_up_buckets, &compared->baseline);
    if (measured->known && compared->has_baseline) {
        compared->has_value = true;
        compared->value = measured->value / compared->baseline;
        compared->opinion = opinion_of(rule, compared->value);
    }
    if (!instance->active && compared->opinion != VAMP_ALARM_HOLDS) {
        vamp_alarm_baseline_add(&instance->baseline, rule->baseline_buckets, measured->known,
                                measured->value);
    }
}

struct vamp_alarm_compared vamp_alarm_judge(const struct vamp_alarm_rule *rule,
                                            struct vamp_alarm_instance *instance,
                                            const struct vamp_alarm_measured *measured)
{
    struct vamp_alarm_compared compared = {
        .opinion = VAMP_ALARM_NOT_KNOWN, .has_value = measured->known, .value = measured->value};
    if (rule->when.comparison == VAMP_ALARM_ABSENT) {
        compared.opinion = measured->grew ? VAMP_ALARM_OVER : VAMP_ALARM_HOLDS;
    } else if (rule->baseline_buckets > 0) {
        judge_ratio(rule, instance, measured, &compared);
    } else if (measured->known && rule->when.comparison == VAMP_ALARM_CHANGED) {
        compared.opinion = judge_change(rule, instance, measured);
    } else if (measured->known) {
        compared.opinion = opinion_of(rule, measured->value);
    }
    return compared;
}

/* A bucket without a value says nothing: what the last one with a value said counts on, for as long
 * as the longer of `for` and `clear_for`. */
static enum vamp_alarm_opinion lasting_opinion(const struct vamp_alarm_rule *rule,
                                               struct vamp_alarm_instance *instance,
                                               enum vamp_alarm_opinion opinion)
{
    if (opinion != VAMP_ALARM_NOT_KNOWN) {
        instance->unknown_for = 0;
        instance->opinion = (uint8_t)opinion;
        return opinion;
    }
    const uint32_t lasts =
        rule->hold_buckets > rule->clear_buckets ? rule->hold_buckets : rule->clear_buckets;
    instance->unknown_for += instance->unknown_for < UINT32_MAX;
    return instance->unknown_for < lasts ? (enum vamp_alarm_opinion)instance->opinion
                                         : VAMP_ALARM_OVER;
}

static uint32_t one_more(uint32_t count)
{
    return count < UINT32_MAX ? count + 1 : count;
}

bool vamp_alarm_step(const struct vamp_alarm_rule *rule, struct vamp_alarm_instance *instance,
                     enum vamp_alarm_opinion opinion, int64_t end_ns,
                     enum vamp_alarm_state *ret_state)
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
    *ret_state = instance->active ? VAMP_ALARM_CLEARED : VAMP_ALARM_PENDING;
    return instance->active ? instance->held == 0 : instance->held > 0;
}

void vamp_alarm_enter(struct vamp_alarm_instance *instance, enum vamp_alarm_state state)
{
    instance->active = state == VAMP_ALARM_PENDING || state == VAMP_ALARM_FIRING;
    instance->state = (uint8_t)state;
    instance->over = 0;
    if (state == VAMP_ALARM_RESOLVED) {
        instance->held = 0;
    }
}
