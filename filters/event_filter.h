/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A filter on vampire's events: an expression over `.event.*`, `.component.*`, `.peer.*`, `.cdo.*`
 * and `.transport.*`. It is compiled separately for each event kind: terms that depend on the kind
 * alone are evaluated at compile time, so an event of a kind that cannot match costs one array
 * access.
 *
 * The first filter of a run may also use CDO attributes (`.maestro.*`), which events do not
 * contain: the pool manager evaluates these terms (push-down).
 *
 * Control events always pass, so losses are never filtered out. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "vampire/core/err.h"
#include "vampire/core/event/components.h"
#include "vampire/core/event/event.h"

struct vamp_event_filter;

#define VAMP_NAMED_FILTERS_MAX 256

/* Filters that may refer to each other with `@name`, in any order. The texts are borrowed and are
 * compiled where they are referenced, so names have no cost at evaluation. All zeros: empty. Any
 * thread may compile with them. */
struct vamp_named_filters {
    size_t count;
    const char *names[VAMP_NAMED_FILTERS_MAX + 1],
        *texts[VAMP_NAMED_FILTERS_MAX]; /* both end with NULL */
};

/* Keeps both pointers. Returns 0; -EINVAL: not a valid name (letters, digits, '_', '-', '.');
 * -EEXIST: duplicate name; -E2BIG: more than VAMP_NAMED_FILTERS_MAX. The text is first checked when
 * a filter that refers to it is compiled. */
VAMP_MUST_CHECK int vamp_named_filters_add(struct vamp_named_filters *named, const char *name,
                                           const char *text, struct vamp_err *err);
/* Returns the text of the filter with this name, or NULL. */
const char *vamp_named_filters_text(const struct vamp_named_filters *named, const char *name);

enum vamp_filter_place {
    VAMP_FILTER_INSIDE, /* anywhere else: attributes are an error */
    VAMP_FILTER_FIRST,  /* before statistics and outputs: attributes are pushed down */
};

/* Returns 0; -EINVAL or -E2BIG with position and reason; -ENOMEM. `named` may be NULL and is not
 * kept. */
VAMP_MUST_CHECK int vamp_event_filter_compile(const char *text, enum vamp_filter_place place,
                                              const struct vamp_named_filters *named,
                                              struct vamp_event_filter **ret_filter,
                                              struct vamp_err *err);
/* Frees the filter, which may be NULL. */
void vamp_event_filter_free(struct vamp_event_filter *filter);

/* Returns whether the event passes. `components` maps application ids to names, must have observed
 * an earlier JOIN, and must be the same object in every call; NULL: names are absent. Allocates
 * nothing, cannot fail. */
bool vamp_event_filter_match(const struct vamp_event_filter *filter, const struct vamp_event *event,
                             const struct vamp_components *components);
/* Returns the event kinds that can pass, one bit each; 0: the filter is never true. The bit for
 * samples is set only if the filter has conditions on samples; without such conditions all samples
 * pass. */
uint64_t vamp_event_filter_kinds(const struct vamp_event_filter *filter);
/* Returns the selector for the subscription to CDO events, owned by the filter; NULL: no selector
 * is needed. Events without a CDO must be subscribed to without the selector. */
const char *vamp_event_filter_selector(const struct vamp_event_filter *filter);
/* Returns the normal form of the whole filter, to be freed by the caller; NULL: out of memory. */
char *vamp_event_filter_print(const struct vamp_event_filter *filter);
/* Returns the number of pattern matches that reached a limit so far. */
uint64_t vamp_event_filter_cut(const struct vamp_event_filter *filter);

/* ---- sampling: a subset of the CDOs represents all of them. All events of a CDO's lifecycle are
 * either included or excluded, so that a demand and its transport stay together. The choice is a
 * hash of the CDO's id: it does not depend on time, load or order, so neither bursts nor periodic
 * CDOs are missed systematically. Control events, JOIN, LEAVE and all other events without a CDO
 * always pass. */

/* Fractions are in units of 1 / VAMP_SAMPLE_ALL. */
#define VAMP_SAMPLE_ALL 1000000U
/* Returns whether the event passes if `fraction` (1 to VAMP_SAMPLE_ALL) of the CDOs are included.
 * The result is the same on every machine and in every version, and a smaller fraction selects a
 * subset of a larger one. Any thread. */
bool vamp_sample_passes(uint64_t fraction, const struct vamp_event *event);
