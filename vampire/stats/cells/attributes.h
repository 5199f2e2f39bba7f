/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Attributes of CDOs as labels: what a CDO has of all that are declared is one small number, so
 * that a record of a CDO needs room for one, and a series' key, too. Private to the statistics;
 * worker thread. What is here never changes and never moves.
 */
#pragma once

#include "vampire/core/err.h"
#include "vampire/core/map.h"
#include "vampire/stats/cells/options.h"

/* Numbers are below this. Number 0: `(other)` in every attribute. */
#define VAMP_ATTRIBUTES_COMBINATIONS UINT32_C(65535)

struct vamp_attributes {
    unsigned count; /* of attributes; 0: none, and nothing else is here */
    uint32_t values_max, value_count[VAMP_ATTRIBUTES_MAX];
    char **values[VAMP_ATTRIBUTES_MAX];    /* different ones, in the order in which they came */
    struct vamp_combination *combinations; /* by number */
    uint32_t combination_count;
    struct map by_labels;
};

/* 0 or -ENOMEM; vamp_attributes_done is right after either, and of one that is zero. */
VAMP_MUST_CHECK int vamp_attributes_init(struct vamp_attributes *attributes, uint64_t values_max);
void vamp_attributes_done(struct vamp_attributes *attributes);
/* The number of what a CDO has, added if it is new. Values for which there is no room read
 * `(other)`. */
uint32_t vamp_attributes_number(struct vamp_attributes *attributes,
                                const struct vamp_attribute_texts *texts);
const char *vamp_attributes_text(const struct vamp_attributes *attributes, uint32_t number,
                                 unsigned attribute);
/* How many of its attributes found no room. */
unsigned vamp_attributes_given_up(const struct vamp_attributes *attributes, uint32_t number);
