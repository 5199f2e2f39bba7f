/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A filter on vampire's events: an expression over `.event.*`, `.component.*`, `.peer.*`, `.cdo.*`
 * and `.transport.*`. It is compiled for each kind of event: terms that depend on the kind alone
 * are evaluated then, so an event of a kind that cannot match costs one array access.
 *
 * The first filter of a run may also use CDO attributes (`.maestro.*`), which the event does not
 * contain: the pool manager evaluates them (push-down).
 *
 * Control events always pass: a loss is never filtered out. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "vampire/core/err.h"
#include "vampire/core/event/components.h"
#include "vampire/core/event/event.h"

struct vamp_event_filter;

#define VAMP_NAMED_FILTERS_MAX 256

/* Filters that may refer to each other with `@name`, in any order. The texts are borrowed and
 * compiled where they are used, so a name costs nothing at evaluation. All zeros: there are none.
 * Any thread may compile with them. */
struct vamp_named_filters {
    size_t count;
    const char *names[VAMP_NAMED_FILTERS_MAX + 1], *texts[VAMP_NAMED_FILTERS_MAX]; /* then NULL */
};

/* Keeps both pointers. 0; -EINVAL: not a valid name (letters, digits, '_', '-', '.'); -EEXIST: the
 * name is taken; -E2BIG: more than VAMP_NAMED_FILTERS_MAX. The text is not checked before a filter
 * that refers to it is compiled. */
VAMP_MUST_CHECK int vamp_named_filters_add(struct vamp_named_filters *named, const char *name,
                                           const char *text, struct vamp_err *err);
/* The text of the filter with this name, or NULL. */
const char *vamp_named_filters_text(const struct vamp_named_filters *named, const char *name);

enum vamp_filter_place {
    VAMP_FILTER_INSIDE, /* anywhere else: attributes are errors */
    VAMP_FILTER_FIRST,  /* before statistics and outputs: attributes are pushed down */
};

/* 0; -EINVAL or -E2BIG with position and reason; -ENOMEM. `named` may be NULL and is not kept. */
VAMP_MUST_CHECK int vamp_event_filter_compile(const char *text, enum vamp_filter_place place,
                                              const struct vamp_named_filters *named,
                                              struct vamp_event_filter **ret_filter,
                                              struct vamp_err *err);
/* NULL is fine. */
void vamp_event_filter_free(struct vamp_event_filter *filter);

/* Whether the event passes. `components` maps application ids to names, should have observed a JOIN
 * before, and is always the same object; NULL: names are absent. Allocates nothing, cannot fail. */
bool vamp_event_filter_match(const struct vamp_event_filter *filter, const struct vamp_event *event,
                             const struct vamp_components *components);
/* Bits of the kinds that can pass; 0: the filter is never true. Samples are included only if the
 * filter has conditions on them; otherwise it lets them pass. */
uint64_t vamp_event_filter_kinds(const struct vamp_event_filter *filter);
/* The selector with which to subscribe to events of CDOs, owned by the filter; NULL: none is
 * needed. Events without a CDO must be subscribed to without it. */
const char *vamp_event_filter_selector(const struct vamp_event_filter *filter);
/* Normal form of the whole filter, malloc'ed; NULL: out of memory. */
char *vamp_event_filter_print(const struct vamp_event_filter *filter);
/* Pattern matches cut short by a limit so far. */
uint64_t vamp_event_filter_cut(const struct vamp_event_filter *filter);

/* ---- sampling: some CDOs represent all, each with all events of its lifecycle, so that a demand
 * and its transport are chosen together. A hash of the identifier chooses: independent of time,
 * load and order, so that neither a burst nor a period is missed systematically. Control events,
 * JOIN, LEAVE and all other events without a CDO always pass. */

/* A fraction is a number of CDOs in this many. */
#define VAMP_SAMPLE_ALL 1000000U
/* Whether the event passes if `fraction` (1 to VAMP_SAMPLE_ALL) of all CDOs do. The same on every
 * machine and in every version, and a smaller fraction chooses some of what a larger one does. Any
 * thread. */
bool vamp_sample_passes(uint64_t fraction, const struct vamp_event *event);
