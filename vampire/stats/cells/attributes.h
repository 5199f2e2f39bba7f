/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *  * Attributes of CDOs as labels. The values of all declared attributes of a CDO are numbered
 * together, so that the CDO's record and the keys of series contain one small number. Private to
 * the statistics; worker thread. Texts never change and never move.
 */
#pragma once

#include "vampire/core/err.h"
#include "vampire/core/map.h"
#include "vampire/stats/cells/options.h"

/* Numbers are below this. Number 0: `(other)` in every attribute. */
#define VAMP_ATTRIBUTES_COMBINATIONS UINT32_C(65535)

struct vamp_attributes {
    unsigned count; /* of attributes; 0: none, and all else is zero */
    uint32_t values_max, value_count[VAMP_ATTRIBUTES_MAX];
    char **values[VAMP_ATTRIBUTES_MAX];    /* in the order of their first use */
    struct vamp_combination *combinations; /* by number */
    uint32_t combination_count;
    struct map by_labels;
};

/* 0 or -ENOMEM; vamp_attributes_done may be called in either case, and on a zeroed struct. */
VAMP_MUST_CHECK int vamp_attributes_init(struct vamp_attributes *attributes, uint64_t values_max);
void vamp_attributes_done(struct vamp_attributes *attributes);
/* The number of these values, added if it is new. Values over the limit become `(other)`. */
uint32_t vamp_attributes_number(struct vamp_attributes *attributes,
                                const struct vamp_attribute_texts *texts);
const char *vamp_attributes_text(const struct vamp_attributes *attributes, uint32_t number,
                                 unsigned attribute);
/* How many of the values became `(other)`. */
unsigned vamp_attributes_given_up(const struct vamp_attributes *attributes, uint32_t number);
