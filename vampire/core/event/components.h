/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Maps application ids to component names, based on JOIN and LEAVE events in stream order. LEAVE
 * and all later events contain only the id, so filters and statistics look up the name in this
 * table. Owned by the worker thread.
 *
 * Names and rows are limited. After `max` different names, further components are named "(other)".
 * The first `max` rows, including row 0, are permanent and form the component table that outputs
 * show. Further components have rows that are reused; their operations are shown in row 0.
 * Components for which there is no row share row 0.
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

/* Numbers of names. Components with the same name share the number, and therefore a label. */
#define VAMP_NAME_OTHER 0
#define VAMP_NAME_UNKNOWN 1

/* Where a component runs, as reported by its Maestro or by a sample. Owned by the table. */
struct vamp_component_where {
    const char *host, *user, *job; /* terminated; "": not known */
    const char *sample;            /* text of the report */
    uint64_t pid;                  /* 0: not known */
};

/* One row of the component table. */
struct vamp_component {
    uint64_t app_id;
    /* Terminated; owned by the table. Ends at the first NUL of the name in the JOIN. Names that are
     * "(other)" or "unknown", with or without backslashes in front, get one more backslash.
     * "unknown" if the name is empty or no JOIN was observed. */
    const char *name;
    int64_t joined_ns; /* INT64_MIN: no JOIN was observed */
    int64_t left_ns;   /* INT64_MIN: the component has not left */
    uint64_t operations;
    const struct vamp_component_where *where; /* NULL: not known; valid as long as the table */
    uint32_t index;                           /* number of this row */
    uint32_t
        name_number; /* the same for all rows with this name; below vamp_components_names_max */
    uint32_t life;   /* number of components that have had this row, including this one */
    uint8_t reason;  /* enum vamp_leave_reason; set when the component leaves */
    bool changed;    /* the row was changed since vamp_components_changed_clear */
};

/* ---- models */

/*
 * Models group components that are ranks of one program, by their names. The first rule that
 * matches a name decides:
 *
 * "MODEL=PATTERN" a name that matches the glob pattern belongs to MODEL: "ocean=NEMO*"
 *
 * "TEXT(*)PATTERN" the model is the shortest text after TEXT that is followed by a match of the
 * pattern: "(*) -- *" makes IFS of "IFS -- 0"
 *
 * A name that matches no rule is a model of its own. Stateless; any thread.
 */

/* Rules are not applied to longer names, which limits their cost. */
#define VAMP_MODEL_NAME_MAX 255

/* Returns 0, or -EINVAL with a text that explains the syntax of rules. */
VAMP_MUST_CHECK int vamp_model_rule_check(const char *rule, struct vamp_err *err);

struct vamp_model_rules {
    const char *const *texts;
    size_t count;
};

/* The default rules: "(*) -- *", and "(*) [0-9]*", which makes Products of "Products 7". The Python
 * package defines the same rules. */
extern const struct vamp_model_rules vamp_model_rules_usual;

/* Model of a name: part of the rule or of the name, not terminated. Empty only for an empty name.
 */
struct vamp_model_name {
    const char *begin;
    size_t length;
};
struct vamp_model_name vamp_model_of(const struct vamp_model_rules *rules, const char *name);

/* ---- the table */

/* Structures of the table, private except for the inline functions below. */
struct vamp_component_place {
    struct vamp_component shown;
    struct map_link link; /* in the map by application id */
    uint32_t next_free;   /* row that was released next; 0: none */
    bool given_up;
};
struct vamp_component_name {
    const char *text;
    uint32_t model; /* number of the model's name */
    bool given;     /* a component has this name; false: only models have it */
    const struct vamp_component_where *where; /* newest report for this name */
    struct map_link link;                     /* in the map by text */
};
struct vamp_components {
    struct vamp_component_place *rows;
    struct vamp_component *newest; /* row of the previous event; NULL: row 0 */
    size_t max, capacity, count, present;
    uint32_t first_free, last_free;    /* list of released rows, oldest first */
    uint32_t replaced;                 /* result of vamp_components_replaced */
    struct vamp_component_name *names; /* indexed by number; names are never removed */
    size_t name_count, given_count;
    struct vamp_model_rules model_rules;
    struct map by_id, by_name;
    size_t sampled; /* number of names that are contained in samples only */
    void *wheres;   /* owned list of all reports; each begins with a pointer to the previous one */
    size_t where_count;
    uint64_t unnamed; /* number of names that could not be stored (out of memory) */
};

#define VAMP_COMPONENTS_MAX ((size_t)1 << 22)
/* Creates a table with at most `max` names and `max` rows, including row 0; `max` is 2 to
 * VAMP_COMPONENTS_MAX. Returns 0, -EINVAL or -ENOMEM. */
VAMP_MUST_CHECK int vamp_components_create(size_t max, struct vamp_components **ret_components,
                                           struct vamp_err *err);
/* Reserves rows for this many simultaneous components in addition to the `max` permanent ones. Must
 * be called before the first event. Memory is used only when a row is needed. Returns 0 or -ENOMEM.
 */
#define VAMP_COMPONENTS_LIVE ((size_t)65536)
VAMP_MUST_CHECK int vamp_components_make_room(struct vamp_components *components, size_t live,
                                              struct vamp_err *err);
void vamp_components_free(struct vamp_components *components);

/* Updates the table with an event (JOIN, LEAVE, or any event with a new id, including its peer's)
 * and counts an event of phase AFTER as an operation of its component. Only JOIN and LEAVE of phase
 * AFTER change existing rows: a JOIN of an id that has a row ends that row at this time, if the
 * component has not left, and starts another. Never fails: without a free row the component is row
 * 0, and at the limit of names or without memory its name is `(other)`. Returns the row of the
 * event's app_id, or row 0 for an event without one. */
const struct vamp_component *vamp_components_observe(struct vamp_components *components,
                                                     const struct vamp_event *event);
/* Called after a JOIN of phase AFTER was observed: returns the previous row of the id, whose
 * component counts as gone even if no LEAVE was observed. Returns 0 if there was none, or if the
 * JOIN repeats the data of the row. */
static inline uint32_t vamp_components_replaced(const struct vamp_components *components)
{
    return components->replaced;
}
/* Handles the control event GONE, with which all components are gone: ends the rows of all present
 * components with reason VAMP_LEAVE_POOL_GONE, and clears the map from id to row. */
void vamp_components_gone(struct vamp_components *components, int64_t time_ns);
/* Maximum number of names, and of models, that are contained in samples only. */
#define VAMP_SAMPLED_NAMES_MAX 1024
/* Returns the upper limit of name numbers: names of components, of models, and in samples. */
static inline uint64_t vamp_components_names_max(uint64_t max_components)
{
    return 2 * (max_components + VAMP_SAMPLED_NAMES_MAX) + 2;
}
/* Returns the row of an id, the last one if it joined again; NULL if it was never observed. */
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
/* Returns the number of rows in use; row 0 is `(other)`. Rows never move. */
static inline size_t vamp_components_count(const struct vamp_components *components)
{
    return components->count;
}
/* Returns the number of permanent rows, which are in order of appearance: the component table. */
static inline size_t vamp_components_listed(const struct vamp_components *components)
{
    return VAMP_MIN(components->count, components->max);
}
/* Returns the upper limit of row numbers. */
static inline size_t vamp_components_capacity(const struct vamp_components *components)
{
    return components->capacity;
}
/* Releases a row outside the component table whose component has left and to which nothing refers.
 * Rows are reused in the order of their release; the id becomes unknown. Does nothing for the row
 * of the previous event and for a released row. */
void vamp_components_give_up(struct vamp_components *components, size_t index);
static inline const struct vamp_component *
vamp_components_row(const struct vamp_components *components, size_t index)
{
    return &components->rows[index].shown;
}
/* Returns the number of rows whose components have not left, without row 0. */
static inline size_t vamp_components_present(const struct vamp_components *components)
{
    return components->present;
}
/* Sets the model rules. Must be called before the first event. The texts must outlive the table. */
void vamp_components_set_models(struct vamp_components *components,
                                const struct vamp_model_rules *rules);
/* Returns the number of the model of a name; the same number if the name is a model of its own. */
static inline uint32_t vamp_components_model(const struct vamp_components *components,
                                             uint32_t name_number)
{
    return name_number < components->name_count ? components->names[name_number].model
                                                : VAMP_NAME_UNKNOWN;
}
/* Returns the number of a component's name in a sample, which is added if it is new. Returns
 * VAMP_NAME_OTHER at the limit of VAMP_SAMPLED_NAMES_MAX names without a JOIN. */
uint32_t vamp_components_number(struct vamp_components *components, const char *name);
/* Returns whether this sample reports host, user or job of a component. */
bool vamp_event_tells_place(const struct vamp_event *event);
/* Stores the host, user, job and process of a present or future component from the sample
 * "vampire_component,component=N,host=H,user=U,job=J pid=1i", in which only the name is required.
 * Returns false if the event does not have this form. At most VAMP_WHERES_MAX reports are stored.
 */
#define VAMP_WHERES_MAX ((size_t)65536)
bool vamp_components_locate(struct vamp_components *components, const struct vamp_event *event);
/* Returns the text of a name number, owned by the table; "unknown" for an unused number. */
static inline const char *vamp_components_name(const struct vamp_components *components,
                                               uint32_t name_number)
{
    return name_number < components->name_count ? components->names[name_number].text
                                                : VAMP_COMPONENT_UNKNOWN_NAME;
}
/* Returns the name as reported by the component, without the backslash added to a reserved name; ""
 * if it reported none or is `(other)`. Valid as long as the row. */
const char *vamp_component_given_name(const struct vamp_component *component);
/* Returns whether a name is "(other)" or "unknown", apart from backslashes in front. The label of
 * such a name has one more backslash. */
bool vamp_component_name_is_reserved(const char *name, size_t length);
/* Returns the number of components named `(other)` because their names could not be stored. */
static inline uint64_t vamp_components_unnamed(const struct vamp_components *components)
{
    return components->unnamed;
}
static inline void vamp_components_changed_clear(struct vamp_components *components, size_t index)
{
    components->rows[index].shown.changed = false;
}
/* Sets all rows to changed, for a reader that has not read any row. */
void vamp_components_changed_all(struct vamp_components *components);
