/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *  * Maps application ids to component names, from JOIN and LEAVE events in stream order. All later
 * events contain only the id, so filters and statistics look up the name here. Owned by the worker
 * thread.
 *
 * Two limits. Names: a component over `max` different names is called "(other)". Rows: the first
 * `max`, including row 0, are permanent and form the component table of the outputs. Further
 * components have rows that are reused; their operations are counted in row 0. Components without
 * any row use row 0, where they are not distinguished.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vampire/core/err.h"
#include "vampire/core/event/event.h"
#include "vampire/core/map.h"

#define VAMP_COMPONENT_UNKNOWN_NAME "unknown"
#define VAMP_COMPONENT_OTHER_NAME "(other)"

/* Small numbers for names, so that components of one name share a label. */
#define VAMP_NAME_OTHER 0
#define VAMP_NAME_UNKNOWN 1

/* Location of a component's process, as reported by a sample. Owned by the table. */
struct vamp_component_where {
    const char *host, *user, *job; /* terminated; "": not known */
    const char *sample;            /* text of the sample */
    uint64_t pid;                  /* 0: not known */
};

/* One row of the component table. */
struct vamp_component {
    uint64_t app_id;
    /* Terminated, owned by the table. Ends at the first NUL of the name in the JOIN. The reserved
     * names "(other)" and "unknown", with or without backslashes in front, get a backslash in
     * front. "unknown" when the name is empty or no JOIN was seen. */
    const char *name;
    int64_t joined_ns; /* INT64_MIN: not seen (before vampire started, or lost) */
    int64_t left_ns;   /* INT64_MIN: present */
    uint64_t operations;
    const struct vamp_component_where *where; /* NULL: not known; unchanged as long as the table */
    uint32_t index;                           /* of this row */
    uint32_t name_number; /* the same for all rows of one name; below vamp_components_names_max */
    uint32_t life;        /* number of components that have had this row, including this one */
    uint8_t reason;       /* enum vamp_leave_reason, once left */
    bool changed;         /* since vamp_components_changed_clear */
};

/* ---- models */

/*
 *  * Models: groups of components that are ranks of one program, by their names. The first matching
 * rule applies:
 *   "MODEL=PATTERN"    names that match the glob pattern belong to MODEL: "ocean=NEMO*"
 *   "TEXT(*)PATTERN"   the model is the shortest text after TEXT whose rest matches the pattern:
 *                      "(*) -- *" gives IFS for "IFS -- 0"
 * A name without a matching rule is its own model. Stateless; any thread.
 */

/* Rules are not applied to longer names, which limits their cost. */
#define VAMP_MODEL_NAME_MAX 255

/* 0; -EINVAL: not a valid rule. */
VAMP_MUST_CHECK int vamp_model_rule_check(const char *rule, struct vamp_err *err);

struct vamp_model_rules {
    const char *const *texts;
    size_t count;
};

/* The default: "(*) -- *", and "(*) [0-9]*", which gives Products for "Products 7". The Python
 * package has the same. */
extern const struct vamp_model_rules vamp_model_rules_usual;

/* The model of a component's name: a part of a rule or of the name, not terminated, at least one
 * byte unless the name is empty. */
struct vamp_model_name {
    const char *begin;
    size_t length;
};
struct vamp_model_name vamp_model_of(const struct vamp_model_rules *rules, const char *name);

/* ---- the table */

/* Private to the functions below. */
struct vamp_component_place {
    struct vamp_component shown;
    struct map_link link; /* by application id */
    uint32_t next_free;   /* released after it; 0: none */
    bool given_up;
};
struct vamp_component_name {
    const char *text;
    uint32_t model;                           /* name number of its model */
    bool given;                               /* name of a component; false: of a model only */
    const struct vamp_component_where *where; /* the last one reported */
    struct map_link link;                     /* by text */
};
struct vamp_components {
    struct vamp_component_place *rows;
    struct vamp_component *newest; /* row of the previous event; NULL: none, or row 0 */
    size_t max, capacity, count, present;
    uint32_t first_free, last_free;    /* queue of released rows */
    uint32_t replaced;                 /* see vamp_components_replaced */
    struct vamp_component_name *names; /* by number; never removed */
    size_t name_count, given_count;
    struct vamp_model_rules model_rules;
    struct map by_id, by_name;
    size_t sampled; /* names added by samples */
    void *wheres; /* owned: list of all locations, each begins with a pointer to the previous one */
    size_t where_count;
    uint64_t unnamed; /* names without memory */
};

#define VAMP_COMPONENTS_MAX ((size_t)1 << 22)
/* At most `max` names and `max` rows, row 0 included; from 2 to VAMP_COMPONENTS_MAX. 0, -EINVAL or
 * -ENOMEM. */
VAMP_MUST_CHECK int vamp_components_create(size_t max, struct vamp_components **ret_components,
                                           struct vamp_err *err);
/* Adds rows for this many simultaneous components over `max`; before the first event. Unused rows
 * take no memory. 0 or -ENOMEM. */
#define VAMP_COMPONENTS_LIVE ((size_t)65536)
VAMP_MUST_CHECK int vamp_components_make_room(struct vamp_components *components, size_t live,
                                              struct vamp_err *err);
void vamp_components_free(struct vamp_components *components);

/* Updates the table from an event, adds components with unknown ids, including its peer's, and
 * counts it as an operation of its component if its phase is AFTER. Only JOIN and LEAVE of phase
 * AFTER change rows; a JOIN of an id that has a row ends that row, if the component has not left,
 * and begins another one. Never fails: components without a row use row 0, and those over the limit
 * of names, or without memory, are called `(other)`. Returns the row of the event's app_id, or row
 * 0 for an event without one. */
const struct vamp_component *vamp_components_observe(struct vamp_components *components,
                                                     const struct vamp_event *event);
/* After a JOIN of phase AFTER: the previous row of its id, whose stay has ended even without a
 * LEAVE. 0: none, or the JOIN repeats that of the row. */
static inline uint32_t vamp_components_replaced(const struct vamp_components *components)
{
    return components->replaced;
}
/* The pool is gone (GONE): ends the rows of all present components, with reason
 * VAMP_LEAVE_POOL_GONE, and clears the map from id to row. */
void vamp_components_gone(struct vamp_components *components, int64_t time_ns);
/* Limit of names that only samples have. */
#define VAMP_SAMPLED_NAMES_MAX 1024
/* Limit of name numbers: names of components and samples, and their models. */
static inline uint64_t vamp_components_names_max(uint64_t max_components)
{
    return 2 * (max_components + VAMP_SAMPLED_NAMES_MAX) + 2;
}
/* The newest row of an id; NULL: it was never observed. */
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
/* The permanent rows, in order of appearance: the component table. */
static inline size_t vamp_components_listed(const struct vamp_components *components)
{
    return components->count < components->max ? components->count : components->max;
}
/* Limit of row numbers. */
static inline size_t vamp_components_capacity(const struct vamp_components *components)
{
    return components->capacity;
}
/* Releases a row over the limit of the component table whose component has left and to which
 * nothing refers; rows are reused in the order of their release. Its id becomes unknown. Has no
 * effect on the row of the previous event and on released rows. */
void vamp_components_give_up(struct vamp_components *components, size_t index);
static inline const struct vamp_component *
vamp_components_row(const struct vamp_components *components, size_t index)
{
    return &components->rows[index].shown;
}
/* Present components, without row 0. */
static inline size_t vamp_components_present(const struct vamp_components *components)
{
    return components->present;
}
/* Sets the rules of models; before the first event. The texts must outlive the table. */
void vamp_components_set_models(struct vamp_components *components,
                                const struct vamp_model_rules *rules);
/* The name number of a name's model; without models, the same number. */
static inline uint32_t vamp_components_model(const struct vamp_components *components,
                                             uint32_t name_number)
{
    return name_number < components->name_count ? components->names[name_number].model
                                                : VAMP_NAME_UNKNOWN;
}
/* The number of a component's name in a sample; VAMP_NAME_OTHER over VAMP_SAMPLED_NAMES_MAX names
 * without a JOIN. */
uint32_t vamp_components_number(struct vamp_components *components, const char *name);
/* Whether the event is a sample with the location of a component. */
bool vamp_event_tells_place(const struct vamp_event *event);
/* Sets the location of a present or future component from the sample
 * "vampire_component,component=N,host=H,user=U,job=J pid=1i", in which only the name is required.
 * False: the event is not such a sample. At most VAMP_WHERES_MAX different ones are stored. */
#define VAMP_WHERES_MAX ((size_t)65536)
bool vamp_components_locate(struct vamp_components *components, const struct vamp_event *event);
/* The text of a name number; terminated, valid until free. "unknown" for an unused number. */
static inline const char *vamp_components_name(const struct vamp_components *components,
                                               uint32_t name_number)
{
    return name_number < components->name_count ? components->names[name_number].text
                                                : VAMP_COMPONENT_UNKNOWN_NAME;
}
/* The component's own name, without the backslash of a reserved one; "" when it has none, or is
 * `(other)`. Valid as long as the row. */
const char *vamp_component_given_name(const struct vamp_component *component);
/* Whether the name is "(other)" or "unknown", with any number of backslashes in front: its label
 * has one backslash more. */
bool vamp_component_name_is_reserved(const char *name, size_t length);
/* Components called `(other)` for lack of memory. */
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
