/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Attributes of CDOs as labels. Each combination of the values of all declared attributes has one
 * number, so that a CDO's record and the keys of series contain one small number instead of several
 * texts. Private to the statistics; worker thread. Texts never change and never move.
 */
#pragma once

#include "vampire/core/err.h"
#include "vampire/core/map.h"
#include "vampire/stats/cells/options.h"

/* Limit of the numbers, exclusive. Number 0 means `(other)` in every attribute. */
#define VAMP_ATTRIBUTES_COMBINATIONS UINT32_C(65535)

struct vamp_attributes {
    unsigned count; /* number of attributes; if 0, all other members are zero */
    uint32_t values_max, value_count[VAMP_ATTRIBUTES_MAX];
    char **values[VAMP_ATTRIBUTES_MAX];    /* in the order of first use */
    struct vamp_combination *combinations; /* indexed by number */
    uint32_t combination_count;
    struct map by_labels;
};

/* Returns 0 or -ENOMEM. vamp_attributes_done may be called in either case, and on a zeroed struct.
 */
VAMP_MUST_CHECK int vamp_attributes_init(struct vamp_attributes *attributes, uint64_t values_max);
void vamp_attributes_done(struct vamp_attributes *attributes);
/* Returns the number of this combination of values, which is added if it is new. Values over the
 * limit become `(other)`. */
uint32_t vamp_attributes_number(struct vamp_attributes *attributes,
                                const struct vamp_attribute_texts *texts);
/* Like vamp_attributes_number, but takes the values from combination `number` of another table. */
uint32_t vamp_attributes_copy(struct vamp_attributes *attributes,
                              const struct vamp_attributes *from, uint32_t number);
const char *vamp_attributes_text(const struct vamp_attributes *attributes, uint32_t number,
                                 unsigned attribute);
/* Returns how many values of the combination became `(other)`. */
unsigned vamp_attributes_given_up(const struct vamp_attributes *attributes, uint32_t number);
