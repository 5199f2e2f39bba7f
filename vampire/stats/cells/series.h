/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Label sets and series: small numbers for the labels of a value in, a series number out.
 * Private to the statistics; worker thread. What a bucket points to (struct vamp_series, the
 * arrays of them) never moves and never changes once it is there.
 */
#pragma once

#include "vampire/core/err.h"
#include "vampire/core/event/components.h"
#include "vampire/stats/bucket/bucket.h"
#include "vampire/stats/cells/attributes.h"

/* The labels of a value, each a small number: a component's name number (at level `model` that of
 * its model), an event kind, a size class, ... Only those of the metric's label set are read.
 * Models have the place of their components; theirs has the CDO's attributes, all of them together.
 */
#define VAMP_PLACE_OF_ATTRIBUTES ((unsigned)VAMP_LABEL_MODEL)
struct vamp_labels {
    uint32_t value[VAMP_RUN_LABELS];
};

/* One label set and the series in it. Not a map of core/map.h: every event looks several series up,
 * by a number, and series are never removed. */
struct vamp_series_set {
    const struct vamp_label_set *description;
    uint8_t labels[VAMP_LABELS_MAX];   /* places of the values that it reads */
    uint8_t bits[VAMP_LABELS_MAX];     /* of each one's number in the key */
    uint8_t label_count;               /* of these; of the description there may be more */
    uint8_t given_up[VAMP_LABELS_MAX]; /* labels in the order in which they are given up */
    uint8_t given_up_count;
    bool has_all;  /* there is room for every combination */
    uint8_t shift; /* of the hash of a key, to its place in the index */
    uint32_t count;
    uint32_t plenty;    /* below this many series, a few more have room whatever they are */
    uint64_t other_key; /* of labels that are all given up: those of series 0 */
    uint32_t every_key; /* how many keys there are, if each has a place of its own; else 0 */
    uint32_t *index;    /* series by key, or by hash of its key; 0: none */
    uint64_t *keys;     /* by series; of series 0 none that a value has */
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
    uint64_t overflow;        /* values that went to (other) and were not yet reported */
    uint64_t labels_given_up; /* likewise, by values that found a coarser series */
    struct vamp_series_chunk *chunks;
};

/* `components` must outlive the table. 0 or -ENOMEM; vamp_series_done is right after either. */
VAMP_MUST_CHECK int vamp_series_init(struct vamp_series_table *table,
                                     const struct vamp_stats_options *options,
                                     const struct vamp_components *components,
                                     struct vamp_err *err);
void vamp_series_done(struct vamp_series_table *table);
/* The label set with these labels (bits), made if it is new. `max_components` bounds the name
 * numbers. 0, -EINVAL when the labels do not fit a key, or -ENOMEM. */
VAMP_MUST_CHECK int vamp_series_set(struct vamp_series_table *table, uint32_t labels,
                                    uint64_t max_components, unsigned *ret_set,
                                    struct vamp_err *err);

/* For vamp_series_admit, where room is scarce. */
void vamp_series_admit_scarce(struct vamp_series_table *table, struct vamp_series_set *set,
                              struct vamp_labels *labels);

/* Replaces labels by those of the series that they get in this set. The sets of one event's values
 * then agree on what was given up, if the set with the most labels is asked first. */
static inline void vamp_series_admit(struct vamp_series_table *table, struct vamp_series_set *set,
                                     struct vamp_labels *labels)
{
    if (set->count >= set->plenty) {
        vamp_series_admit_scarce(table, set, labels);
    }
}

/* Of a set with labels. */
static inline uint64_t vamp_series_key(const struct vamp_series_set *set,
                                       const struct vamp_labels *labels)
{
    uint64_t key = labels->value[set->labels[0]];
    for (unsigned i = 1; i < set->label_count; i++) {
        key = key << set->bits[i] | labels->value[set->labels[i]];
    }
    return key;
}

/* Where the key stands in the index, if no other key has that place. */
static inline uint64_t vamp_series_place(const struct vamp_series_set *set, uint64_t key)
{
    return key * UINT64_C(0x9e3779b97f4a7c15) >> set->shift;
}

/* The number that a label has in a series of the set; for one that was given up, a number above all
 * others (VAMP_NAME_OTHER for a name). UINT32_MAX for series 0 of a set with labels, which is
 * `(other)`, and for a label that the set does not have. */
uint32_t vamp_series_label(const struct vamp_series_set *set, uint32_t series,
                           enum vamp_label label);

/* The series of these labels, if it is found at once; VAMP_SERIES_NOT_FOUND: it has to be looked
 * up, as vamp_series_number does. */
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
    const uint32_t series = set->index[vamp_series_place(set, key)];
    return set->keys[series] == key ? series : VAMP_SERIES_NOT_FOUND;
}

/* The number of a text of a label of samples, which is added if it is new; that of a label given up
 * when there is no room. The text is the table's from then on. */
uint32_t vamp_series_text(struct vamp_series_table *table, const char *text);

/* The series of these labels. Where there is no room for one more, a value gives up labels, one
 * after the other (docs/metrics.md), which is counted in `labels_given_up`; 0, the `(other)`
 * series, when there is no room for any of these, which is counted in `overflow`. */
uint32_t vamp_series_number(struct vamp_series_table *table, struct vamp_series_set *set,
                            const struct vamp_labels *labels);
