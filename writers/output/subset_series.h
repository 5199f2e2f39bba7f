/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The series that one output selects, by their labels: "component=IFS*". Patterns of one label are
 * alternatives; of different labels all must hold. A metric without the label is not restricted.
 * Series 0, `(other)`, is always kept: its content is not known. The chosen series are renumbered
 * in the order in which they appear, so that a writer gets an ordinary, smaller table. Submitting
 * thread.
 */
#ifndef VAMP_WRITERS_OUTPUT_SUBSET_SERIES_H
#define VAMP_WRITERS_OUTPUT_SUBSET_SERIES_H

#include "vampire/core/err.h"
#include "vampire/core/options/options.h"
#include "vampire/stats/bucket/bucket.h"

#define VAMP_SERIES_LEFT_OUT UINT32_MAX

/* One label set of the whole. */
struct vamp_chosen_set {
    bool restricted;                   /* else all series are chosen, and the rest here is unused */
    uint32_t known;                    /* series of the whole that were looked at */
    uint32_t count;                    /* of those, chosen */
    uint32_t *number;                  /* of the whole's series among the chosen */
    const struct vamp_series **series; /* the chosen; their places never move */
};

struct vamp_series_subset {
    const struct vamp_strings *patterns;
    struct vamp_chosen_set *sets;
    unsigned set_count;
};

/* Splits "LABEL=PATTERN". False: there is no such label, or no "=". `*ret_pattern` points into the
 * text. */
bool vamp_series_pattern(const char *text, enum vamp_label *ret_label, const char **ret_pattern);

/* `patterns` and `schema` outlive the choice. 0 or -ENOMEM; vamp_series_subset_done is right after
 * either. */
VAMP_MUST_CHECK int vamp_series_subset_init(struct vamp_series_subset *choice,
                                            const struct vamp_strings *patterns,
                                            const struct vamp_schema *schema);
void vamp_series_subset_done(struct vamp_series_subset *choice);
/* Chooses among the series that are new in this bucket. */
void vamp_series_subset_learn(struct vamp_series_subset *choice, const struct vamp_bucket *bucket);

#endif
