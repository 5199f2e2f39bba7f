/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Push-down: the part of a filter that the pool manager evaluates, and the part that vampire
 * evaluates. Inside filters/.
 *
 * The filter is reduced for each kind of event: terms on `.event.kind`, and terms on fields that an
 * event of the kind never has, become true or false. What remains for a kind is a conjunction:
 * conjuncts on attributes only are the pool manager's, conjuncts without an attribute are
 * vampire's, and one that mixes both is an error, since neither side knows all of it. A
 * subscription has one selector, so all kinds must need the same one.
 *
 * The contract with the source: it subscribes to events of CDOs with the selector and to events
 * without a CDO without it (their attributes are absent, which vampire knows itself). Then both
 * parts together are exactly the filter.
 */
#ifndef VAMP_FILTERS_PUSH_DOWN_H
#define VAMP_FILTERS_PUSH_DOWN_H

#include <stdint.h>

#include "filters/expression_tree.h"
#include "vampire/core/event/event.h"

struct push_down {
    uint64_t kinds;       /* bits of kinds that can pass */
    const char *selector; /* in the expression's arena; NULL: none */
    /* What is to be evaluated here for an event of the kind; in the arena. [0]: false. */
    const struct node *rest[VAMP_EVENT_KIND_COUNT];
};

/* Reduces and splits. 0, -EINVAL when it cannot be split, -ENOMEM. */
VAMP_MUST_CHECK int vamp_push_down(struct vamp_expression *expression, struct push_down *ret,
                                   struct vamp_err *err);
/* The first term on an attribute (a name that is no field of events), or NULL. */
const struct node *vamp_first_attribute(const struct node *node);

#endif
