/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Buckets made by hand for the rules of alarms: a counter, a gauge, a histogram and an age.
 * components_present has one series, the others have one for each component.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/alarms/alarms.h"

#define WORLD_COMPONENTS 600U
#define WORLD_WIDTH_NS INT64_C(1000000000)

struct world {
    struct vamp_label_set sets[2]; /* component, none */
    struct vamp_schema_metric metrics[4];
    struct vamp_schema schema;
    char names[WORLD_COMPONENTS + 1][24];
    struct vamp_series series[WORLD_COMPONENTS + 1], alone;
    const struct vamp_series *by_component[WORLD_COMPONENTS + 1], *by_none[1];
    const struct vamp_series *const *tables[2];
    /* What the next bucket holds. */
    unsigned components; /* that exist; series 0 is "(other)" */
    struct vamp_counter_value produced[WORLD_COMPONENTS + 1];
    struct vamp_gauge_value present;
    uint64_t waits_ns[WORLD_COMPONENTS + 1]; /* one value each; 0: none */
    struct vamp_gauge_value ages[WORLD_COMPONENTS + 1];
    struct vamp_oldest_cdo oldest[2]; /* of which CDOs ages are */
    unsigned oldest_count;
    uint64_t number;
    struct vamp_alarm_config configs[4];
    unsigned config_count;
    struct vamp_alarms *alarms;
    struct vamp_alarm_change *changes; /* of the last bucket */
    unsigned change_count;
    unsigned said;
    struct vamp_silences silences;
    int64_t now_ns;
};

static inline void world_say(void *context, bool error, const char *line)
{
    (void)error;
    (void)line;
    ((struct world *)context)->said++;
}

static inline struct world *world_create(void)
{
    struct world *world = calloc(1, sizeof *world);
    assert_non_null(world);
    vamp_label_set_describe(&world->sets[0], UINT32_C(1) << VAMP_LABEL_COMPONENT);
    vamp_label_set_describe(&world->sets[1], 0);
    world->metrics[0] = (struct vamp_schema_metric){.id = VAMP_METRIC_PRODUCED_BYTES};
    world->metrics[1] =
        (struct vamp_schema_metric){.id = VAMP_METRIC_COMPONENTS_PRESENT, .label_set = 1};
    world->metrics[2] = (struct vamp_schema_metric){.id = VAMP_METRIC_LEAVE_WAIT_NS};
    world->metrics[3] = (struct vamp_schema_metric){.id = VAMP_METRIC_DEMAND_OLDEST_NS};
    world->schema = (struct vamp_schema){
        .label_sets = world->sets,
        .label_set_count = 2,
        .metrics = world->metrics,
        .metric_count = 4,
        .level = VAMP_LEVEL_COMPONENT,
        .bucket_ns = WORLD_WIDTH_NS,
    };
    vamp_bins_init(&world->schema.bins, VAMP_SUB_BITS_DEFAULT);
    for (unsigned i = 0; i <= WORLD_COMPONENTS; i++) {
        (void)snprintf(world->names[i], sizeof world->names[i],
                       i == 0       ? "(other)"
                       : i % 2 == 0 ? "Products %u"
                                    : "Model %u",
                       i);
        world->series[i].labels[0] = world->names[i];
        world->by_component[i] = &world->series[i];
        world->ages[i] =
            (struct vamp_gauge_value){VAMP_GAUGE_NONE, VAMP_GAUGE_NONE, VAMP_GAUGE_NONE};
    }
    world->by_none[0] = &world->alone;
    world->tables[0] = world->by_component;
    world->tables[1] = world->by_none;
    world->components = 2;
    return world;
}

static inline void world_free(struct world *world)
{
    vamp_alarms_free(world->alarms);
    for (unsigned i = 0; i < world->config_count; i++) {
        vamp_alarm_config_done(&world->configs[i]);
    }
    free(world->changes);
    free(world);
}

/* A rule of option, value, option, value, ..., NULL. */
static inline void world_rule_of(struct world *world, const char *const *words)
{
    struct vamp_alarm_config *config = &world->configs[world->config_count++];
    assert_int_equal(vamp_alarm_config_init(config, NULL), 0);
    for (; words[0] != NULL; words += 2) {
        const struct vamp_opt *option = vamp_opt_find(vamp_alarm_options, words[0]);
        struct vamp_err err = VAMP_ERR_NONE;
        if (vamp_opt_set(option, &config->options, words[1], &err) != 0) {
            fail_msg("%s: %s", words[0], err.text);
        }
    }
}

#define world_rule(world, ...) world_rule_of(world, (const char *const[]){__VA_ARGS__, NULL})

static inline void world_start(struct world *world)
{
    const struct vamp_alarms_options options = {
        .configs = world->configs,
        .count = world->config_count,
        .schema = &world->schema,
        .say = world_say,
        .say_context = world,
        .silences = &world->silences,
    };
    struct vamp_err err = VAMP_ERR_NONE;
    if (vamp_alarms_create(&options, &world->alarms, &err) != 0) {
        fail_msg("%s", err.text);
    }
}

/* Closes a bucket; what was counted in it is gone then. */
static inline void world_close(struct world *world)
{
    const unsigned counts[2] = {world->components + 1, 1};
    struct vamp_histogram_value *waits = calloc(WORLD_COMPONENTS + 1, sizeof *waits);
    unsigned wait_count = 0;
    for (unsigned i = 0; i <= world->components; i++) {
        if (world->waits_ns[i] > 0) {
            struct vamp_bucket_histogram *histogram = malloc(vamp_bucket_histogram_bytes(1));
            *histogram = (struct vamp_bucket_histogram){1, world->waits_ns[i], world->waits_ns[i],
                                                        world->waits_ns[i], 1};
            histogram->bins[0] = (struct vamp_bin_count){
                1, vamp_bin_index(world->schema.bins.sub_bits, world->waits_ns[i])};
            waits[wait_count++] = (struct vamp_histogram_value){i, histogram};
        }
    }
    const struct vamp_metric_values values[4] = {
        {world->components + 1, {.counters = world->produced}},
        {1, {.gauges = &world->present}},
        {wait_count, {.histograms = waits}},
        {world->components + 1, {.gauges = world->ages}},
    };
    const struct vamp_bucket bucket = {
        .number = world->number,
        .buckets = 1,
        .start_ns = (int64_t)world->number * WORLD_WIDTH_NS,
        .width_ns = WORLD_WIDTH_NS,
        .schema = &world->schema,
        .series_count = counts,
        .series = world->tables,
        .values = values,
        .oldest = world->oldest,
        .oldest_count = world->oldest_count,
    };
    free(world->changes);
    world->change_count =
        vamp_alarms_evaluate(world->alarms, &bucket, world->now_ns, &world->changes);
    world->number++;
    for (unsigned i = 0; i < wait_count; i++) {
        free((void *)(uintptr_t)waits[i].histogram);
    }
    free(waits);
    memset(world->produced, 0, sizeof world->produced);
    memset(world->waits_ns, 0, sizeof world->waits_ns);
}

#define NO_CHANGE (-1)
/* Closes a bucket in which at most one alarm changes; returns the state it entered. */
static inline int world_step(struct world *world)
{
    world_close(world);
    assert_true(world->change_count <= 1);
    return world->change_count == 0 ? NO_CHANGE : (int)world->changes[0].state;
}
