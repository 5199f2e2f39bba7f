/* SPDX-License-Identifier: BSD-3-Clause */
/* The components that are there, kept from delivery to delivery, for vampire_component_info: where
 * each of them runs, as labels of a value that is 1. */
#pragma once

#include "writers/writer.h"

#define VAMP_COMPONENT_INFO "component_info"
#define VAMP_COMPONENT_INFO_HELP "where a component runs"

struct vamp_present {
    struct vamp_component *rows; /* owned, by index; zeros: none was delivered */
    unsigned count;
};

/* False: no memory, and nothing has changed. */
VAMP_MUST_CHECK bool vamp_present_take(struct vamp_present *present,
                                       const struct vamp_delivery *delivery);
void vamp_present_done(struct vamp_present *present);

/* Names and values; a value that is not known is "". */
#define VAMP_WHERE_LABELS 5
struct vamp_where_labels {
    const char *label[VAMP_WHERE_LABELS][2];
    char pid[24];
};
/* The next one, from `*at` 0 on, of which it is known where it is. False: there is no other. */
bool vamp_present_next(const struct vamp_present *present, unsigned *at,
                       struct vamp_where_labels *ret_labels);
