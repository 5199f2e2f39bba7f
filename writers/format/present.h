/* SPDX-License-Identifier: BSD-3-Clause */
/* The present components, kept across deliveries, for vampire_component_info: labels with the
 * location of each component, on a series with the value 1. */
#pragma once

#include "writers/writer.h"

#define VAMP_COMPONENT_INFO "component_info"
#define VAMP_COMPONENT_INFO_HELP "where a component runs"

struct vamp_present {
    struct vamp_component *rows; /* owned, indexed by component; all zero: not delivered yet */
    unsigned count;
};

/* Updates the rows from a delivery. Returns false if out of memory; nothing has changed then. */
VAMP_MUST_CHECK bool vamp_present_take(struct vamp_present *present,
                                       const struct vamp_delivery *delivery);
void vamp_present_done(struct vamp_present *present);

/* Names and values; an unknown value is "". */
#define VAMP_WHERE_LABELS 5
struct vamp_where_labels {
    const char *label[VAMP_WHERE_LABELS][2];
    char pid[24];
};
/* Returns the next component whose location is known; `*at` starts at 0. False: no more. */
bool vamp_present_next(const struct vamp_present *present, unsigned *at,
                       struct vamp_where_labels *ret_labels);
