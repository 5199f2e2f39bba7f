/* SPDX-License-Identifier: BSD-3-Clause */
/* The components present, kept across deliveries, for vampire_component_info: the place where each
 * component runs, as labels of the value 1. */
#pragma once

#include "writers/writer.h"

#define VAMP_COMPONENT_INFO "component_info"
#define VAMP_COMPONENT_INFO_HELP "where a component runs"

struct vamp_present {
    struct vamp_component *rows; /* owned, by index; zeros: none was delivered */
    unsigned count;
};

/* Updates the rows. False: out of memory; nothing has changed. */
VAMP_MUST_CHECK bool vamp_present_take(struct vamp_present *present,
                                       const struct vamp_delivery *delivery);
void vamp_present_done(struct vamp_present *present);

/* Names and values; an unknown value is "". */
#define VAMP_WHERE_LABELS 5
struct vamp_where_labels {
    const char *label[VAMP_WHERE_LABELS][2];
    char pid[24];
};
/* The next component whose place is known; `*at` begins with 0. False: there is none. */
bool vamp_present_next(const struct vamp_present *present, unsigned *at,
                       struct vamp_where_labels *ret_labels);
