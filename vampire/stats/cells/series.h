/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Label sets and series: maps the labels of a value, which are small numbers, to the number of a
 * series. Private to the statistics; worker thread. Data that buckets point to (struct vamp_series
 * and arrays of pointers to it) never moves or changes.
 */
#pragma once

#include "vampire/core/err.h"
#include "vampire/core/event/components.h"
#include "vampire/stats/bucket/bucket.h"
#include "vampire/stats/cells/attributes.h"

/* The labels of a value, each a small number: number of a component's name (at level `model` the
 * name of its model), event kind, size class, ... Only the labels of the metric's label set are
 * read. A label of models uses the element of the corresponding label of components; the elements
 * of labels of models are unused, except that the first contains the number of the CDO's
 * attributes. */
#define VAMP_PLACE_OF_ATTRIBUTES ((unsigned)VAMP_LABEL_MODEL)
struct vamp_labels {
    uint32_t value[VAMP_RUN_LABELS];
};

/* One label set and its series. core/map.h is not used: every event looks up several series by
 * number, and series are never removed. */
struct vamp_series_set {
    const struct vamp_label_set *description;
    uint8_t labels[VAMP_LABELS_MAX];   /* indices of elements of struct vamp_labels */
    uint8_t bits[VAMP_LABELS_MAX];     /* width in the key, per label */
    uint8_t label_count;               /* number of these labels; the description may have more */
    uint8_t given_up[VAMP_LABELS_MAX]; /* labels in the order in which they are aggregated away */
    uint8_t given_up_count;
    bool has_all;  /* max_series suffices for all combinations of values */
    uint8_t shift; /* shift from the hash of a key to its slot in the index */
    uint32_t count;
    uint32_t plenty;    /* if `count` is less, all new series of one event can be added */
    uint64_t other_key; /* key of series 0: all labels aggregated away */
    uint32_t every_key; /* number of possible keys if each key has its own slot, else 0 */
    uint32_t *index;    /* number of the series by key or by hash of the key; 0: none */
    uint64_t *keys;     /* indexed by series; series 0 has a key that no value has */
    const struct vamp_series **series;
};

struct vamp_series_table {
    struct vamp_label_set descriptions[VAMP_METRICS_MAX];
    struct vamp_series_set sets[VAMP_METRICS_MAX];
    unsigned set_count;
    uint32_t max_series;
    const struct vamp_components *components;
    char outputs[VAMP_OUTPUTS_MAX][VAMP_OUTPUT_NAME_BYTES]; /* values of VAMP_LABEL_OUTPUT */
    char *texts[VAMP_SAMPLE_TEXTS_MAX];                     /* values of the labels of samples */
    uint32_t text_count;
    struct vamp_attributes attributes;
    uint64_t overflow;        /* values counted in (other) and not yet reported */
    uint64_t labels_given_up; /* labels aggregated away and not yet reported */
    struct vamp_series_chunk *chunks;
};

/* `components` must outlive the table. Returns 0 or -ENOMEM; vamp_series_done may be called in
 * either case. */
VAMP_MUST_CHECK int vamp_series_init(struct vamp_series_table *table,
                                     const struct vamp_stats_options *options,
                                     const struct vamp_components *components,
                                     struct vamp_err *err);
void vamp_series_done(struct vamp_series_table *table);
/* Finds or adds the label set with these labels (bits). `max_components` limits the numbers of
 * names. Returns 0; -EINVAL if the labels do not fit into a key; or -ENOMEM. */
VAMP_MUST_CHECK int vamp_series_set(struct vamp_series_table *table, uint32_t labels,
                                    uint64_t max_components, unsigned *ret_set,
                                    struct vamp_err *err);

/* The slow path of vamp_series_admit. */
void vamp_series_admit_scarce(struct vamp_series_table *table, struct vamp_series_set *set,
                              struct vamp_labels *labels);

/* Replaces labels by the labels of the series under which this set stores the value. It is called
 * first for the set with most labels, so that all sets aggregate the same labels of one event. */
static inline void vamp_series_admit(struct vamp_series_table *table, struct vamp_series_set *set,
                                     struct vamp_labels *labels)
{
    if (set->count >= set->plenty) {
        vamp_series_admit_scarce(table, set, labels);
    }
}

/* Returns the key of these labels in the set, which must have labels. */
static inline uint64_t vamp_series_key(const struct vamp_series_set *set,
                                       const struct vamp_labels *labels)
{
    uint64_t key = labels->value[set->labels[0]];
    for (unsigned i = 1; i < set->label_count; i++) {
        key = key << set->bits[i] | labels->value[set->labels[i]];
    }
    return key;
}

/* Returns the first slot of the index in which the key can be. */
static inline uint64_t vamp_series_slot(const struct vamp_series_set *set, uint64_t key)
{
    return key * UINT64_C(0x9e3779b97f4a7c15) >> set->shift;
}

/* Returns the number of a label's value in a series of the set; a label that was aggregated away
 * has a number above all others (names: VAMP_NAME_OTHER). Returns UINT32_MAX for series 0,
 * `(other)`, of a set with labels, and for a label that the set does not have. */
uint32_t vamp_series_label(const struct vamp_series_set *set, uint32_t series,
                           enum vamp_label label);

/* The fast path of vamp_series_number. Returns VAMP_SERIES_NOT_FOUND if vamp_series_number must be
 * called. */
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

/* Converts the labels of series number `series` of set `from` of another table to labels of this
 * table. `set`: the set of this table that will store the series. A label that cannot be converted,
 * such as the component if only its model is known, becomes `(other)`. New texts are added. */
void vamp_series_convert(struct vamp_series_table *table, const struct vamp_series_set *set,
                         const struct vamp_series_table *from_table,
                         const struct vamp_series_set *from, uint32_t series,
                         struct vamp_labels *ret_labels);

/* Returns the number of a text of a sample's label; a new text is copied. Returns the number of
 * `(other)` at the limit. */
uint32_t vamp_series_text(struct vamp_series_table *table, const char *text);

/* Returns the series with these labels, which is added if it is new. At the limit, labels are
 * aggregated away one after the other (docs/metrics.md) and counted in `labels_given_up`. If no
 * such series can be added either, returns 0, the series `(other)`, and counts the value in
 * `overflow`. */
uint32_t vamp_series_number(struct vamp_series_table *table, struct vamp_series_set *set,
                            const struct vamp_labels *labels);
