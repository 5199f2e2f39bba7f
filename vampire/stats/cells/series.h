/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *  * Label sets and series: map the labels of a value, as small numbers, to a series number.
 * Private to the statistics; worker thread. What buckets point to (struct vamp_series and the
 * arrays of them) never moves or changes.
 */
#pragma once

#include "vampire/core/err.h"
#include "vampire/core/event/components.h"
#include "vampire/stats/bucket/bucket.h"
#include "vampire/stats/cells/attributes.h"

/* The labels of a value, each a small number: a component's name number (at level `model` that of
 * its model), an event kind, a size class, ... Only those of the metric's label set are read.
 * Models use the element of the component; the elements of models are unused, and the first of them
 * is the number of the CDO's attributes. */
#define VAMP_PLACE_OF_ATTRIBUTES ((unsigned)VAMP_LABEL_MODEL)
struct vamp_labels {
    uint32_t value[VAMP_RUN_LABELS];
};

/* One label set and its series. Not a map of core/map.h: every event looks up several series, by a
 * number, and series are never removed. */
struct vamp_series_set {
    const struct vamp_label_set *description;
    uint8_t labels[VAMP_LABELS_MAX];   /* elements of struct vamp_labels */
    uint8_t bits[VAMP_LABELS_MAX];     /* width of each in the key */
    uint8_t label_count;               /* of these; the description may have more */
    uint8_t given_up[VAMP_LABELS_MAX]; /* labels in the order in which they are aggregated away */
    uint8_t given_up_count;
    bool has_all;  /* there is room for every combination */
    uint8_t shift; /* from the hash of a key to its slot in the index */
    uint32_t count;
    uint32_t plenty;    /* below this count the series of one event have room for certain */
    uint64_t other_key; /* of series 0: all labels aggregated away */
    uint32_t every_key; /* number of possible keys if each has a slot of its own; else 0 */
    uint32_t *index;    /* series by key, or by hash of its key; 0: none */
    uint64_t *keys;     /* by series; series 0: a key that no value has */
    const struct vamp_series **series;
};

struct vamp_series_table {
    struct vamp_label_set descriptions[VAMP_METRICS_MAX];
    struct vamp_series_set sets[VAMP_METRICS_MAX];
    unsigned set_count;
    uint32_t max_series;
    const struct vamp_components *components;
    char outputs[VAMP_OUTPUTS_MAX][VAMP_OUTPUT_NAME_BYTES]; /* names of VAMP_LABEL_OUTPUT */
    char *texts[VAMP_SAMPLE_TEXTS_MAX];                     /* of the labels of samples */
    uint32_t text_count;
    struct vamp_attributes attributes;
    uint64_t overflow;        /* values counted in (other) and not yet reported */
    uint64_t labels_given_up; /* labels aggregated away and not yet reported */
    struct vamp_series_chunk *chunks;
};

/* `components` must outlive the table. 0 or -ENOMEM; vamp_series_done may be called in either case.
 */
VAMP_MUST_CHECK int vamp_series_init(struct vamp_series_table *table,
                                     const struct vamp_stats_options *options,
                                     const struct vamp_components *components,
                                     struct vamp_err *err);
void vamp_series_done(struct vamp_series_table *table);
/* The label set with these labels (bits), added if it is new. `max_components` limits the name
 * numbers. 0, -EINVAL when the labels do not fit into a key, or -ENOMEM. */
VAMP_MUST_CHECK int vamp_series_set(struct vamp_series_table *table, uint32_t labels,
                                    uint64_t max_components, unsigned *ret_set,
                                    struct vamp_err *err);

/* The slow path of vamp_series_admit. */
void vamp_series_admit_scarce(struct vamp_series_table *table, struct vamp_series_set *set,
                              struct vamp_labels *labels);

/* Replaces labels by those of the series that they get in this set. Called first for the set with
 * most labels, it makes all sets of one event aggregate the same labels. */
static inline void vamp_series_admit(struct vamp_series_table *table, struct vamp_series_set *set,
                                     struct vamp_labels *labels)
{
    if (set->count >= set->plenty) {
        vamp_series_admit_scarce(table, set, labels);
    }
}

/* The set must have labels. */
static inline uint64_t vamp_series_key(const struct vamp_series_set *set,
                                       const struct vamp_labels *labels)
{
    uint64_t key = labels->value[set->labels[0]];
    for (unsigned i = 1; i < set->label_count; i++) {
        key = key << set->bits[i] | labels->value[set->labels[i]];
    }
    return key;
}

/* The slot of the key in the index, unless another key has it. */
static inline uint64_t vamp_series_slot(const struct vamp_series_set *set, uint64_t key)
{
    return key * UINT64_C(0x9e3779b97f4a7c15) >> set->shift;
}

/* The number of a label in a series of the set; a label that was aggregated away has a number above
 * all others (a name: VAMP_NAME_OTHER). UINT32_MAX for series 0 of a set with labels, which is
 * `(other)`, and for a label that the set does not have. */
uint32_t vamp_series_label(const struct vamp_series_set *set, uint32_t series,
                           enum vamp_label label);

/* The fast path of vamp_series_number. VAMP_SERIES_NOT_FOUND: that must be called. */
#define VAMP_SERIES_NOT_FOUND UINT32_MAX
static inline uint32_t vamp_series_find(const struct vamp_series_set *set,
                                        const struct vamp_labels *labels)
{
    if (set->label_count == 0) {
        return 0;
    }
    const uint64_t key = vamp_series_key(set, labels);
    if (key < set->every_key) {
        const uint32_t series = set->index[key];
        return series != 0 ? series : VAMP_SERIES_NOT_FOUND;
    }
    const uint32_t series = set->index[vamp_series_slot(set, key)];
    return set->keys[series] == key ? series : VAMP_SERIES_NOT_FOUND;
}

/* The number of a text of a label of samples, copied if it is new; at the limit the number of a
 * label that is aggregated away. */
uint32_t vamp_series_text(struct vamp_series_table *table, const char *text);

/* The series of these labels, added if it is new. At the limit, labels are aggregated away one
 * after the other (docs/metrics.md) and counted in `labels_given_up`. Returns 0, the `(other)`
 * series, if none of these has room, and counts it in `overflow`. */
uint32_t vamp_series_number(struct vamp_series_table *table, struct vamp_series_set *set,
                            const struct vamp_labels *labels);
