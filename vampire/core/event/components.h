/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Application id to component name, learned from JOIN and LEAVE events in stream order. LEAVE and
 * all later events contain only the id, so filters and statistics look the name up here. Owned by
 * the worker thread.
 *
 * Bounded twice. Names: beyond `max` different ones a component is called "(other)". Rows: the
 * first `max`, row 0 included, are kept for good, which is the component table that outputs show.
 * Further components have rows that are used again; their operations show in row 0. A component for
 * which there is no row at all is row 0, where it cannot be told from others.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vampire/core/err.h"
#include "vampire/core/event/event.h"
#include "vampire/core/map.h"
#include "vampire/core/values.h"

#define VAMP_COMPONENT_UNKNOWN_NAME "unknown"
#define VAMP_COMPONENT_OTHER_NAME "(other)"

/* Small numbers for names, so that components of one name share a label. */
#define VAMP_NAME_OTHER 0
#define VAMP_NAME_UNKNOWN 1

/* Where a component's process is, as its Maestro or a sample says. Owned by the table. */
struct vamp_component_where {
    const char *host, *user, *job; /* terminated; "": not known */
    const char *sample;            /* the text that said so */
    uint64_t pid;                  /* 0: not known */
};

/* One row of the component table. */
struct vamp_component {
    uint64_t app_id;
    /* Terminated, owned by the table. Ends at the first NUL of the name in the JOIN; a name that
     * reads "(other)" or "unknown" has a backslash in front (and one that has backslashes there
     * already has one more); "unknown" when the name is empty or no JOIN was seen. */
    const char *name;
    int64_t joined_ns; /* INT64_MIN: not seen (vampire came later, or the event was lost) */
    int64_t left_ns;   /* INT64_MIN: still there */
    uint64_t operations;
    const struct vamp_component_where *where; /* NULL: not known; unchanged as long as the table */
    uint32_t index;                           /* of this row */
    uint32_t name_number; /* the same for all rows of one name; below vamp_components_names_max */
    uint32_t life;        /* which of the components that had this row, counted from 1 */
    uint8_t reason;       /* enum vamp_leave_reason, once left */
    bool changed;         /* since vamp_components_changed_clear */
};

/* ---- models */

/*
 * Models: components that are ranks of one program, by their names. Rules say which name belongs to
 * which model; the first that fits decides:
 *   "MODEL=PATTERN"    names that fit the glob pattern are MODEL: "ocean=NEMO*"
 *   "TEXT(*)PATTERN"   the model is the shortest text after TEXT that is followed by what fits the
 *                      pattern: "(*) -- *" makes IFS of "IFS -- 0"
 * A name that no rule fits is a model of its own. Stateless; any thread.
 */

/* No rule is applied to a longer name, so that a long one costs little. */
#define VAMP_MODEL_NAME_MAX 255

/* 0; -EINVAL with a text that says how a rule reads. */
VAMP_MUST_CHECK int vamp_model_rule_check(const char *rule, struct vamp_err *err);

struct vamp_model_rules {
    const char *const *texts;
    size_t count;
};

/* What is usual, where nothing is configured: "(*) -- *", and "(*) [0-9]*", which makes Products of
 * "Products 7". The Python package has the same. */
extern const struct vamp_model_rules vamp_model_rules_usual;

/* The model of a component's name: a part of a rule or of the name, not terminated, at least one
 * byte unless the name is empty. */
struct vamp_model_name {
    const char *begin;
    size_t length;
};
struct vamp_model_name vamp_model_of(const struct vamp_model_rules *rules, const char *name);

/* ---- the table */

/* What the functions below share; not for others to touch. */
struct vamp_component_place {
    struct vamp_component shown;
    struct map_link link; /* by application id */
    uint32_t next_free;   /* given up after it; 0: none */
    bool given_up;
};
struct vamp_component_name {
    const char *text;
    uint32_t model;                           /* name number of its model */
    bool given;                               /* by a component; else it is that of a model only */
    const struct vamp_component_where *where; /* said last */
    struct map_link link;                     /* by text */
};
struct vamp_components {
    struct vamp_component_place *rows;
    struct vamp_component *newest; /* the row of the event before; NULL: of no row but row 0 */
    size_t max, capacity, count, present;
    uint32_t first_free, last_free;    /* given up, in this order */
    uint32_t replaced;                 /* contract of vamp_components_replaced */
    struct vamp_component_name *names; /* by number; never removed */
    size_t name_count, given_count;
    struct vamp_model_rules model_rules;
    struct map by_id, by_name;
    size_t sampled; /* names that are there because of a sample */
    void *wheres;   /* owned: all that was said, each begins with the one before */
    size_t where_count;
    uint64_t unnamed; /* names for which there was no memory */
};

#define VAMP_COMPONENTS_MAX ((size_t)1 << 22)
/* At most `max` names and `max` rows, row 0 included; from 2 to VAMP_COMPONENTS_MAX. 0, -EINVAL or
 * -ENOMEM. */
VAMP_MUST_CHECK int vamp_components_create(size_t max, struct vamp_components **ret_components,
                                           struct vamp_err *err);
/* Room for this many components at the same time beyond the `max` rows; before the first event. 0
 * or -ENOMEM, when there is none. Memory is taken for rows that are used. */
#define VAMP_COMPONENTS_LIVE ((size_t)65536)
VAMP_MUST_CHECK int vamp_components_make_room(struct vamp_components *components, size_t live,
                                              struct vamp_err *err);
void vamp_components_free(struct vamp_components *components);

/* Learns from an event (JOIN, LEAVE, or any that names an id not seen yet, its peer's included) and
 * counts it as an operation of its component when its phase is AFTER. Only JOIN and LEAVE of phase
 * AFTER change the table; a JOIN of an id that has a row already ends that row at this time, if it
 * has not left, and begins another. Never fails: without a row for it the component is row 0; at
 * the bound of names, or without memory for one, its name is `(other)`. Returns the row of the
 * event's app_id, or row 0 for an event without one. */
const struct vamp_component *vamp_components_observe(struct vamp_components *components,
                                                     const struct vamp_event *event);
/* To be asked after a JOIN of phase AFTER was observed: the row that its id had before, whose stay
 * has ended even if no LEAVE was seen. 0: none, also when the JOIN repeats the one of the row. */
static inline uint32_t vamp_components_replaced(const struct vamp_components *components)
{
    return components->replaced;
}
/* The pool is gone (mark GONE), and all its components with it: ends the rows of all present
 * components, with reason VAMP_LEAVE_POOL_GONE, and clears the map from id to row. */
void vamp_components_gone(struct vamp_components *components, int64_t time_ns);
/* Names that are only in samples, and their models. */
#define VAMP_SAMPLED_NAMES_MAX 1024
/* Name numbers are below this: those of components, and of their models, and those of samples. */
static inline uint64_t vamp_components_names_max(uint64_t max_components)
{
    return 2 * (max_components + VAMP_SAMPLED_NAMES_MAX) + 2;
}
/* The row of an id, NULL when it was never observed. The last one when an id came twice. */
const struct vamp_component *vamp_components_look_up(const struct vamp_components *components,
                                                     uint64_t app_id);
static inline const struct vamp_component *
vamp_components_find(const struct vamp_components *components, uint64_t app_id)
{
    const struct vamp_component *newest = components->newest;
    if (newest != NULL && newest->app_id == app_id) {
        return newest;
    }
    return vamp_components_look_up(components, app_id);
}
/* Rows in use; row 0 is `(other)`. Stable pointers until free. */
static inline size_t vamp_components_count(const struct vamp_components *components)
{
    return components->count;
}
/* The same rows that are kept for good, in order of appearance: the component table. */
static inline size_t vamp_components_listed(const struct vamp_components *components)
{
    return VAMP_MIN(components->count, components->max);
}
/* Rows are below this, always. */
static inline size_t vamp_components_capacity(const struct vamp_components *components)
{
    return components->capacity;
}
/* A row beyond the component table whose component has left, and to which nobody refers any more:
 * another component may have it, the one given up first first. Its id is not known any more. Does
 * nothing to the row of the event before, and to one that was given up already. */
void vamp_components_give_up(struct vamp_components *components, size_t index);
static inline const struct vamp_component *
vamp_components_row(const struct vamp_components *components, size_t index)
{
    return &components->rows[index].shown;
}
/* Rows that have not left, row 0 aside. */
static inline size_t vamp_components_present(const struct vamp_components *components)
{
    return components->present;
}
/* How names belong to models (models.h); before the first event. The texts outlive the table. */
void vamp_components_set_models(struct vamp_components *components,
                                const struct vamp_model_rules *rules);
/* The name number of a name's model; of a table without models, and of a name that is none, the
 * same. */
static inline uint32_t vamp_components_model(const struct vamp_components *components,
                                             uint32_t name_number)
{
    return name_number < components->name_count ? components->names[name_number].model
                                                : VAMP_NAME_UNKNOWN;
}
/* The number of a component's name, as a sample has it; VAMP_NAME_OTHER beyond
 * VAMP_SAMPLED_NAMES_MAX names of which no JOIN was seen before. */
uint32_t vamp_components_number(struct vamp_components *components, const char *name);
/* Whether a sample says where a component is. */
bool vamp_event_tells_place(const struct vamp_event *event);
/* Learns where a component is that is there, or will be, from the sample
 * "vampire_component,component=N,host=H,user=U,job=J pid=1i", in which the name alone has to be.
 * False: the event is not of this form. At most VAMP_WHERES_MAX different ones. */
#define VAMP_WHERES_MAX ((size_t)65536)
bool vamp_components_locate(struct vamp_components *components, const struct vamp_event *event);
/* The text of a name number; terminated, valid until free. "unknown" for a number not given. */
static inline const char *vamp_components_name(const struct vamp_components *components,
                                               uint32_t name_number)
{
    return name_number < components->name_count ? components->names[name_number].text
                                                : VAMP_COMPONENT_UNKNOWN_NAME;
}
/* The name that the component itself gave, without the backslash of a reserved one; "" when it gave
 * none, or it is `(other)`. Valid as long as the row. */
const char *vamp_component_given_name(const struct vamp_component *component);
/* A name that reads as "(other)" or "unknown", backslashes in front of it aside: its label has one
 * backslash more. */
bool vamp_component_name_is_reserved(const char *name, size_t length);
/* Components whose name is `(other)` because there was no memory for their own. */
static inline uint64_t vamp_components_unnamed(const struct vamp_components *components)
{
    return components->unnamed;
}
static inline void vamp_components_changed_clear(struct vamp_components *components, size_t index)
{
    components->rows[index].shown.changed = false;
}
/* Marks every row as changed, for a reader that has seen none. */
void vamp_components_changed_all(struct vamp_components *components);
