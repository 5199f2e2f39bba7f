/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/cells/series.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/core/values.h"

#define CHUNK_SERIES 64
/* Sets with at most this many combinations can store all of them, regardless of max_series. */
#define SMALL_SET 64
#define INDEX_FIRST_BITS 6
/* Up to this length of the keys, the index has a slot for each key. Unused pages occupy no memory.
 */
#define KEY_BITS_FEW 20
#define KEY_BITS_MAX 63
#define NO_KEY UINT64_MAX
#define FEW_SERIES 4 /* maximum number of series that one event needs in one set */

struct vamp_series_chunk {
    struct vamp_series_chunk *next;
    unsigned used;
    struct vamp_series series[CHUNK_SERIES];
};

int vamp_series_init(struct vamp_series_table *table, const struct vamp_stats_options *options,
                     const struct vamp_components *components, struct vamp_err *err)
{
    memset(table, 0, sizeof *table);
    table->max_series = (uint32_t)options->max_series;
    table->components = components;
    if (vamp_attributes_init(&table->attributes, options->attribute_values) != 0) {
        return vamp_err_set(err, -ENOMEM, "series: out of memory");
    }
    return 0;
}

void vamp_series_done(struct vamp_series_table *table)
{
    for (unsigned i = 0; i < table->set_count; i++) {
        free(table->sets[i].index);
        free(table->sets[i].keys);
        free(table->sets[i].series);
    }
    for (struct vamp_series_chunk *chunk = table->chunks; chunk != NULL;) {
        struct vamp_series_chunk *next = chunk->next;
        free(chunk);
        chunk = next;
    }
    while (table->text_count > 0) {
        free(table->texts[--table->text_count]);
    }
    vamp_attributes_done(&table->attributes);
    memset(table, 0, sizeof *table);
}

/* Labels that may be aggregated away, in this order: first those that other metrics also have, last
 * the most important ones. The first of two component names is kept: the source of a transport, or
 * the waiting component. */
static const uint8_t given_up_first[] = {
    VAMP_LABEL_SIZE_CLASS, VAMP_PLACE_OF_ATTRIBUTES, VAMP_LABEL_SINK,  VAMP_LABEL_PRODUCER,
    VAMP_LABEL_CONSUMER,   VAMP_LABEL_TIER,          VAMP_LABEL_CAUSE, VAMP_LABEL_OPERATION,
    VAMP_LABEL_PART,       VAMP_LABEL_ANOMALY,       VAMP_LABEL_NAME,  VAMP_LABEL_JOB,
    VAMP_LABEL_HOST};

/* Returns the number of values of a label, not including `(other)`. */
static uint64_t label_cardinality(unsigned label, uint64_t max_components)
{
    assert(label < VAMP_RUN_LABELS || vamp_label_is_attribute(label));
    if (vamp_label_is_name(label)) {
        return max_components + 2;
    }
    if (vamp_label_is_attribute(label)) {
        return VAMP_ATTRIBUTES_COMBINATIONS;
    }
    return vamp_label_values[label].count;
}

/* Returns the number that represents `(other)` for a label that was aggregated away: 0 for names
 * and attributes, whose values are not listed. */
static inline uint32_t label_other(unsigned label)
{
    static_assert(VAMP_NAME_OTHER == 0, "as many as are listed");
    return vamp_label_values[label].count;
}

static const char *label_text(const struct vamp_series_table *table, unsigned label, uint32_t value)
{
    if (value == label_other(label)) {
        return VAMP_SERIES_OTHER;
    }
    if (vamp_label_is_name(label)) {
        return vamp_components_name(table->components, value);
    }
    if (label == VAMP_LABEL_OUTPUT) {
        return table->outputs[value];
    }
    if (vamp_label_is_sampled(label)) {
        return table->texts[value];
    }
    if (vamp_label_is_attribute(label)) {
        return vamp_attributes_text(&table->attributes, value, label - VAMP_LABEL_ATTRIBUTE);
    }
    return vamp_label_values[label].text(value);
}

/* Returns the index in struct vamp_labels of a label. */
static unsigned place_of(enum vamp_label label)
{
    if (vamp_label_is_attribute(label)) {
        return VAMP_PLACE_OF_ATTRIBUTES;
    }
    return vamp_label_of_component(label);
}

uint32_t vamp_series_text(struct vamp_series_table *table, const char *text)
{
    for (uint32_t i = 0; i < table->text_count; i++) {
        if (strcmp(table->texts[i], text) == 0) {
            return i;
        }
    }
    char *copy = NULL;
    if (table->text_count < VAMP_SAMPLE_TEXTS_MAX) {
        copy = strdup(text);
    }
    if (copy == NULL) {
        return VAMP_SAMPLE_TEXTS_MAX; /* as label_other */
    }
    table->texts[table->text_count] = copy;
    return table->text_count++;
}

static unsigned bits_for(uint64_t values)
{
    return values <= 1 ? 1U : 64U - (unsigned)__builtin_clzll(values - 1);
}

static struct vamp_series *take_series(struct vamp_series_table *table)
{
    struct vamp_series_chunk *chunk = table->chunks;
    if (chunk == NULL || chunk->used == CHUNK_SERIES) {
        chunk = calloc(1, sizeof *chunk);
        if (chunk == NULL) {
            return NULL;
        }
        chunk->next = table->chunks;
        table->chunks = chunk;
    }
    return &chunk->series[chunk->used++];
}

/* Adds series 0: `(other)`, or in a set without labels the only series. */
static int add_first_series(struct vamp_series_table *table, struct vamp_series_set *set)
{
    struct vamp_series *series = take_series(table);
    if (series == NULL) {
        return -ENOMEM;
    }
    struct vamp_labels other = {{0}};
    for (unsigned i = 0; i < set->description->label_count; i++) {
        const enum vamp_label label = set->description->labels[i];
        other.value[place_of(label)] = label_other(label);
        series->labels[i] = VAMP_SERIES_OTHER;
        if (vamp_label_is_name(label)) {
            series->models[i] = VAMP_SERIES_OTHER;
        }
    }
    set->other_key = NO_KEY;
    if (set->label_count > 0) {
        set->other_key = vamp_series_key(set, &other);
    }
    set->series[0] = series;
    set->keys[0] = NO_KEY;
    set->count = 1;
    return 0;
}

static int describe_set(struct vamp_series_table *table, struct vamp_series_set *set,
                        struct vamp_label_set *description, uint32_t labels,
                        uint64_t max_components)
{
    const uint32_t most = VAMP_MAX(table->max_series, (uint32_t)SMALL_SET);
    unsigned bits = 0;
    uint64_t combinations = 1;
    if ((unsigned)__builtin_popcount(labels) > VAMP_LABELS_MAX) {
        return -EINVAL;
    }
    vamp_label_set_describe(description, labels);
    for (unsigned i = 0; i < description->label_count && i < VAMP_LABELS_MAX; i++) {
        const enum vamp_label label = description->labels[i];
        if (label > VAMP_LABEL_ATTRIBUTE) {
            continue; /* the element of the first attribute represents all attributes */
        }
        const uint64_t values = label_cardinality(label, max_components);
        uint64_t numbers = values + 1;
        if (vamp_label_is_name(label)) {
            numbers = vamp_components_names_max(max_components);
        }
        const unsigned at = set->label_count++;
        set->labels[at] = (uint8_t)place_of(label);
        set->bits[at] = (uint8_t)bits_for(numbers);
        bits += set->bits[at];
        if (combinations <= most) {
            combinations *= values;
        }
    }
    const uint64_t all = combinations + (set->label_count > 0); /* including (other) */
    set->has_all = combinations <= SMALL_SET || all <= table->max_series;
    description->max_series = set->has_all ? (unsigned)all : table->max_series;
    for (unsigned i = 0; i < sizeof given_up_first; i++) {
        if (memchr(set->labels, given_up_first[i], set->label_count) != NULL) {
            set->given_up[set->given_up_count++] = given_up_first[i];
        }
    }
    if (bits <= KEY_BITS_FEW) {
        set->every_key = UINT32_C(1) << bits;
    }
    return bits > KEY_BITS_MAX ? -EINVAL : 0;
}

/* Returns the number of series reserved for series with aggregated labels: the last eighth. The
 * more labels of a series are aggregated, the more of the reserve it can use. */
static uint32_t kept_series(const struct vamp_series_set *set)
{
    if (set->has_all || set->given_up_count == 0) {
        return 0;
    }
    return set->description->max_series / 8;
}

static uint64_t index_slots(const struct vamp_series_set *set)
{
    if (set->every_key != 0) {
        return set->every_key;
    }
    return UINT64_C(1) << (64 - set->shift);
}

static int add_set(struct vamp_series_table *table, uint32_t labels, uint64_t max_components,
                   struct vamp_err *err)
{
    struct vamp_series_set *set = &table->sets[table->set_count];
    struct vamp_label_set *description = &table->descriptions[table->set_count];
    set->description = description;
    table->set_count++; /* the set is now freed by vamp_series_done */
    if (describe_set(table, set, description, labels, max_components) != 0) {
        return vamp_err_set(err, -EINVAL,
                            "label set %s: %llu components are too many to number its series",
                            description->name, (unsigned long long)max_components);
    }
    const uint32_t open = description->max_series - kept_series(set);
    set->plenty = UINT32_MAX;
    if (!set->has_all) {
        set->plenty = (uint32_t)vamp_minus(open, FEW_SERIES);
    }
    set->shift = 64 - INDEX_FIRST_BITS;
    set->index = calloc(index_slots(set), sizeof *set->index);
    set->keys = calloc(description->max_series, sizeof *set->keys);
    set->series = calloc(description->max_series, sizeof *set->series);
    if (set->index == NULL || set->keys == NULL || set->series == NULL ||
        add_first_series(table, set) != 0) {
        return vamp_err_set(err, -ENOMEM, "label set %s: out of memory for %u series",
                            description->name, description->max_series);
    }
    return 0;
}

int vamp_series_set(struct vamp_series_table *table, uint32_t labels, uint64_t max_components,
                    unsigned *ret_set, struct vamp_err *err)
{
    for (unsigned i = 0; i < table->set_count; i++) {
        if (vamp_label_set_bits(&table->descriptions[i]) == labels) {
            *ret_set = i;
            return 0;
        }
    }
    int status = add_set(table, labels, max_components, err);
    if (status == 0) {
        *ret_set = table->set_count - 1;
    }
    return status;
}

/* Returns the slot of the key in the index, or the free slot in which it would be stored. */
static uint32_t *index_entry(const struct vamp_series_set *set, uint64_t key)
{
    if (key < set->every_key) {
        return &set->index[key];
    }
    const uint64_t last = index_slots(set) - 1;
    uint64_t at = vamp_series_slot(set, key);
    while (set->index[at] != 0 && set->keys[set->index[at]] != key) {
        at = (at + 1) & last;
    }
    return &set->index[at];
}

/* Keeps the index at most half full, unless every key has its own slot. Returns false if out of
 * memory. */
static bool make_index_room(struct vamp_series_set *set)
{
    const uint64_t slots = index_slots(set);
    if (set->every_key != 0 || 2 * (uint64_t)set->count < slots) {
        return true;
    }
    uint32_t *old = set->index;
    uint32_t *larger = calloc(2 * slots, sizeof *larger);
    if (larger == NULL) {
        return false;
    }
    set->index = larger;
    set->shift--;
    for (uint32_t series = 1; series < set->count; series++) {
        *index_entry(set, set->keys[series]) = series;
    }
    free(old);
    return true;
}

/* Returns the number of labels that are aggregated away. */
static unsigned count_given_up(const struct vamp_series_set *set, const struct vamp_labels *labels)
{
    unsigned count = 0;
    for (unsigned i = 0; i < set->given_up_count; i++) {
        count += labels->value[set->given_up[i]] == label_other(set->given_up[i]);
    }
    return count;
}

static bool has_room(const struct vamp_series_set *set, const struct vamp_labels *labels)
{
    const uint32_t most = set->description->max_series;
    if (set->count >= most) {
        return false;
    }
    const uint32_t kept = kept_series(set);
    if (kept == 0) {
        return true;
    }
    const uint32_t opened = kept * count_given_up(set, labels) / set->given_up_count;
    return set->count < most - kept + opened;
}

/* Returns 0 at the limit, if out of memory, or if all labels are those of series 0. */
static uint32_t add_series(struct vamp_series_table *table, struct vamp_series_set *set,
                           const struct vamp_labels *labels, uint64_t key)
{
    if (key == set->other_key || !has_room(set, labels) || !make_index_room(set)) {
        return 0;
    }
    struct vamp_series *series = take_series(table);
    if (series == NULL) {
        return 0;
    }
    for (unsigned i = 0; i < set->description->label_count; i++) {
        const enum vamp_label label = set->description->labels[i];
        const uint32_t value = labels->value[place_of(label)];
        series->labels[i] = label_text(table, label, value);
        if (vamp_label_is_name(label)) {
            series->models[i] = vamp_components_name(
                table->components, vamp_components_model(table->components, value));
        }
    }
    const uint32_t number = set->count++;
    set->series[number] = series;
    set->keys[number] = key;
    *index_entry(set, key) = number;
    return number;
}

/* Adds the series; at the limit, finds or adds the finest coarser series that is available. */
static uint32_t find_room(struct vamp_series_table *table, struct vamp_series_set *set,
                          const struct vamp_labels *labels, uint64_t key)
{
    struct vamp_labels wanted = *labels;
    uint64_t given_up = 0;
    uint32_t series = add_series(table, set, &wanted, key);
    for (unsigned i = 0; series == 0 && key != set->other_key; i++) {
        if (i == set->given_up_count) {
            table->overflow++;
            return 0;
        }
        uint32_t *value = &wanted.value[set->given_up[i]];
        if (*value != label_other(set->given_up[i])) {
            *value = label_other(set->given_up[i]);
            given_up++;
            key = vamp_series_key(set, &wanted);
            series = *index_entry(set, key);
            if (series == 0) {
                series = add_series(table, set, &wanted, key);
            }
        }
    }
    table->labels_given_up += given_up;
    return series;
}

uint32_t vamp_series_number(struct vamp_series_table *table, struct vamp_series_set *set,
                            const struct vamp_labels *labels)
{
    if (set->label_count == 0) {
        return 0;
    }
    const uint64_t key = vamp_series_key(set, labels);
    const uint32_t series = *index_entry(set, key);
    if (series != 0) {
        return series;
    }
    return find_room(table, set, labels, key);
}

void vamp_series_admit_scarce(struct vamp_series_table *table, struct vamp_series_set *set,
                              struct vamp_labels *labels)
{
    const uint32_t series = vamp_series_number(table, set, labels);
    if (set->label_count == 0 || set->keys[series] == vamp_series_key(set, labels)) {
        return;
    }
    for (unsigned i = 0; i < set->label_count; i++) {
        uint32_t value = vamp_series_label(set, series, set->labels[i]);
        if (value == UINT32_MAX) {
            value = label_other(set->labels[i]);
        }
        labels->value[set->labels[i]] = value;
    }
}

uint32_t vamp_series_label(const struct vamp_series_set *set, uint32_t series,
                           enum vamp_label label)
{
    assert(series < set->count);
    if (set->keys[series] == NO_KEY) {
        return UINT32_MAX;
    }
    uint64_t key = set->keys[series];
    for (unsigned i = set->label_count; i-- > 0;) {
        if (set->labels[i] == label) {
            return (uint32_t)(key & ((UINT64_C(1) << set->bits[i]) - 1));
        }
        key >>= set->bits[i];
    }
    return UINT32_MAX;
}

/* Returns whether the set has models in place of components. */
static bool is_by_model(const struct vamp_series_set *set)
{
    for (unsigned i = 0; i < set->description->label_count; i++) {
        const enum vamp_label label = set->description->labels[i];
        if (vamp_label_is_name(label) && place_of(label) != label) {
            return true;
        }
    }
    return false;
}

/* Converts the number of a component's or model's name to the kind of name that `set` has. */
static uint32_t convert_name(const struct vamp_series_table *table,
                             const struct vamp_series_set *set, const struct vamp_series_set *from,
                             uint32_t name)
{
    if (is_by_model(set) == is_by_model(from)) {
        return name;
    }
    return is_by_model(from) ? VAMP_NAME_OTHER : vamp_components_model(table->components, name);
}

/* Returns the index of the output with this name, or the number of `(other)`. */
static uint32_t find_output(const struct vamp_series_table *table, const char *name)
{
    uint32_t output = 0;
    while (output < VAMP_OUTPUTS_MAX && strcmp(table->outputs[output], name) != 0) {
        output++;
    }
    return output;
}

void vamp_series_convert(struct vamp_series_table *table, const struct vamp_series_set *set,
                         const struct vamp_series_table *from_table,
                         const struct vamp_series_set *from, uint32_t series,
                         struct vamp_labels *ret_labels)
{
    *ret_labels = (struct vamp_labels){{0}};
    for (unsigned i = 0; i < set->label_count; i++) {
        const enum vamp_label label = (enum vamp_label)set->labels[i];
        uint32_t *value = &ret_labels->value[label];
        *value = vamp_series_label(from, series, label);
        if (*value == UINT32_MAX || *value == label_other(label)) {
            *value = label_other(label);
        } else if (label == VAMP_PLACE_OF_ATTRIBUTES) {
            *value = vamp_attributes_copy(&table->attributes, &from_table->attributes, *value);
        } else if (vamp_label_is_name(label)) {
            *value = convert_name(table, set, from, *value);
        } else if (label == VAMP_LABEL_OUTPUT) {
            *value = find_output(table, from_table->outputs[*value]);
        } else if (vamp_label_is_sampled(label)) {
            *value = vamp_series_text(table, from_table->texts[*value]);
        }
    }
}
