/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/core/event/components.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/core/hash.h"

/* Not a map of core/map.h: the row of an event's component is looked up for every event, and rows
 * are numbered. Open addressing, at most half full. Entries are a row's or name's number; 0 marks a
 * free one, and neither row 0 nor name 0 is looked up here. Names are never removed. */
struct index {
    uint32_t *entries;
    uint64_t mask;
};

struct vamp_components {
    struct vamp_component *rows;
    struct vamp_component *newest; /* the row of the event before; NULL: of no row but row 0 */
    size_t max, count, present;
    uint32_t replaced; /* contract of vamp_components_replaced */
    const char **names;
    uint32_t *models; /* name number of each name's model */
    struct vamp_model_rules model_rules;
    size_t name_count;
    struct index by_id, by_name;
    uint64_t seed;    /* of the hashes of names, which components choose */
    uint64_t unnamed; /* names for which there was no memory */
};

static int index_init(struct index *index, size_t max)
{
    size_t size = 16;
    while (size < 2 * max + 4) {
        size *= 2;
    }
    index->mask = size - 1;
    index->entries = calloc(size, sizeof *index->entries);
    return index->entries == NULL ? -ENOMEM : 0;
}

int vamp_components_create(size_t max, struct vamp_components **ret_components,
                           struct vamp_err *err)
{
    if (max < 2 || max > VAMP_COMPONENTS_MAX) {
        return vamp_err_set(err, -EINVAL, "component table: %zu rows; allowed are 2 to %zu", max,
                            VAMP_COMPONENTS_MAX);
    }
    struct vamp_components *components = calloc(1, sizeof *components);
    if (components == NULL) {
        return vamp_err_set(err, -ENOMEM, "component table: out of memory");
    }
    components->max = max;
    components->seed = vamp_hash_seed();
    components->rows = calloc(max, sizeof *components->rows);
    const size_t names = (size_t)vamp_components_names_max(max);
    components->names = calloc(names, sizeof *components->names);
    components->models = calloc(names, sizeof *components->models);
    if (components->rows == NULL || components->names == NULL || components->models == NULL ||
        index_init(&components->by_id, max) != 0 || index_init(&components->by_name, names) != 0) {
        vamp_components_free(components);
        return vamp_err_set(err, -ENOMEM, "component table: out of memory for %zu rows", max);
    }
    components->names[VAMP_NAME_OTHER] = VAMP_COMPONENT_OTHER_NAME;
    components->names[VAMP_NAME_UNKNOWN] = VAMP_COMPONENT_UNKNOWN_NAME;
    components->models[VAMP_NAME_UNKNOWN] = VAMP_NAME_UNKNOWN;
    components->name_count = 2;
    components->rows[0] = (struct vamp_component){
        .name = VAMP_COMPONENT_OTHER_NAME,
        .joined_ns = INT64_MIN,
        .left_ns = INT64_MIN,
        .name_number = VAMP_NAME_OTHER,
    };
    components->count = 1;
    *ret_components = components;
    return 0;
}

void vamp_components_free(struct vamp_components *components)
{
    if (components == NULL) {
        return;
    }
    for (size_t i = 2; i < components->name_count; i++) {
        free((void *)(uintptr_t)components->names[i]);
    }
    free(components->names);
    free(components->models);
    free(components->rows);
    free(components->by_id.entries);
    free(components->by_name.entries);
    free(components);
}

/* The entry of this id, or the free one where it belongs. */
static inline uint32_t *id_entry(const struct vamp_components *components, uint64_t app_id)
{
    uint64_t at = vamp_hash_word(0, app_id) & components->by_id.mask;
    uint32_t *entry = &components->by_id.entries[at];
    while (*entry != 0 && components->rows[*entry].app_id != app_id) {
        at = (at + 1) & components->by_id.mask;
        entry = &components->by_id.entries[at];
    }
    return entry;
}

/* Takes an id out of the index. Entries behind it move up, as far as the place where their look-up
 * begins allows: a free entry ends every look-up. */
static void forget_id(struct vamp_components *components, uint64_t app_id)
{
    uint32_t *entries = components->by_id.entries;
    const uint64_t mask = components->by_id.mask;
    uint64_t hole = (uint64_t)(id_entry(components, app_id) - entries);
    for (uint64_t at = (hole + 1) & mask; entries[at] != 0; at = (at + 1) & mask) {
        const uint64_t begin = vamp_hash_word(0, components->rows[entries[at]].app_id) & mask;
        if (((at - begin) & mask) >= ((at - hole) & mask)) {
            entries[hole] = entries[at];
            hole = at;
        }
    }
    entries[hole] = 0;
}

/* A name that reads as "(other)" or "unknown", backslashes in front of it aside. */
static bool is_reserved(const char *name, size_t length)
{
    while (length > 0 && *name == '\\') {
        name++;
        length--;
    }
    static const char *const texts[] = {VAMP_COMPONENT_OTHER_NAME, VAMP_COMPONENT_UNKNOWN_NAME};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        if (strlen(texts[i]) == length && memcmp(texts[i], name, length) == 0) {
            return true;
        }
    }
    return false;
}

/* The name with a backslash in front, if it is reserved; malloc'ed, NULL without memory. */
static char *label_of(const char *name, size_t length, size_t escape)
{
    char *label = malloc(escape + length + 1);
    if (label != NULL) {
        label[0] = '\\';
        memcpy(label + escape, name, length);
        label[escape + length] = '\0';
    }
    return label;
}

/* The number of a name, added if it is new; VAMP_NAME_OTHER when there is no memory for it. */
static uint32_t name_number(struct vamp_components *components, const char *name, size_t length)
{
    length = strnlen(name, length);
    if (length == 0) {
        return VAMP_NAME_UNKNOWN;
    }
    const size_t escape = is_reserved(name, length) ? 1 : 0;
    uint64_t at = vamp_hash_bytes(components->seed, name, length) & components->by_name.mask;
    uint32_t *entry = &components->by_name.entries[at];
    while (*entry != 0) {
        const char *known = components->names[*entry];
        if ((escape == 0 || known[0] == '\\') && strncmp(known + escape, name, length) == 0 &&
            known[escape + length] == '\0') {
            return *entry;
        }
        at = (at + 1) & components->by_name.mask;
        entry = &components->by_name.entries[at];
    }
    char *copy = label_of(name, length, escape);
    if (copy == NULL) {
        components->unnamed++;
        return VAMP_NAME_OTHER;
    }
    *entry = (uint32_t)components->name_count;
    components->names[components->name_count] = copy;
    components->models[components->name_count++] = *entry;
    return *entry;
}

/* The number of a component's name, whose model is found when it is new. */
static uint32_t component_name_number(struct vamp_components *components, const char *name,
                                      size_t length)
{
    const size_t known = components->name_count;
    const uint32_t number = name_number(components, name, length);
    if (components->name_count > known) {
        const char *label = components->names[number];
        const struct vamp_model_name model = vamp_model_of(&components->model_rules, label);
        if (model.begin != label || label[model.length] != '\0') {
            components->models[number] = name_number(components, model.begin, model.length);
        }
    }
    return number;
}

/* A new row that becomes the one of its id; row 0 at the bound. */
static struct vamp_component *add_row(struct vamp_components *components, uint64_t app_id)
{
    assert(components->rows != NULL);
    if (components->count == components->max) {
        return &components->rows[0];
    }
    uint32_t *entry = id_entry(components, app_id);
    uint32_t index = (uint32_t)components->count++;
    components->present++;
    struct vamp_component *row = &components->rows[index];
    *row = (struct vamp_component){
        .app_id = app_id,
        .name = VAMP_COMPONENT_UNKNOWN_NAME,
        .joined_ns = INT64_MIN,
        .left_ns = INT64_MIN,
        .index = index,
        .name_number = VAMP_NAME_UNKNOWN,
        .changed = true,
    };
    *entry = index;
    return row;
}

static struct vamp_component *find_row(const struct vamp_components *components, uint64_t app_id)
{
    uint32_t index = *id_entry(components, app_id);
    return index == 0 ? NULL : &components->rows[index];
}

static void leave(struct vamp_components *components, struct vamp_component *row, int64_t time_ns,
                  uint8_t reason)
{
    if (row->index == 0 || row->left_ns != INT64_MIN) {
        return;
    }
    row->left_ns = time_ns;
    row->reason = reason;
    row->changed = true;
    components->present--;
}

/* Whether this JOIN repeats what the row already has, or adds what it lacks. */
static bool joins_row(const struct vamp_component *row, const struct vamp_event *event)
{
    if (row->joined_ns != INT64_MIN) {
        return row->joined_ns == event->time_ns;
    }
    return row->left_ns == INT64_MIN || event->time_ns <= row->left_ns;
}

static struct vamp_component *join(struct vamp_components *components,
                                   const struct vamp_event *event)
{
    struct vamp_component *row = find_row(components, event->app_id);
    components->replaced = 0;
    if (row != NULL && !joins_row(row, event)) {
        leave(components, row, event->time_ns, VAMP_LEAVE_UNKNOWN);
        components->replaced = row->index;
        forget_id(components, event->app_id);
        row = NULL;
    }
    if (row == NULL) {
        row = add_row(components, event->app_id);
    }
    if (row->index != 0 && row->joined_ns == INT64_MIN) {
        row->joined_ns = event->time_ns;
        if (vamp_event_has(event, VAMP_HAS_COMPONENT_NAME)) {
            row->name_number = component_name_number(components, event->name, event->name_length);
            row->name = components->names[row->name_number];
        }
    }
    return row;
}

static struct vamp_component *find_or_add(struct vamp_components *components, uint64_t app_id)
{
    struct vamp_component *row = find_row(components, app_id);
    return row != NULL ? row : add_row(components, app_id);
}

/* Adds the source of a transport if it is not there; returns `row`. Not inlined: few events have
 * one. */
static __attribute__((noinline)) struct vamp_component *
with_peer(struct vamp_components *components, const struct vamp_event *event,
          struct vamp_component *row)
{
    (void)find_or_add(components, event->peer_id);
    return row;
}

/* A JOIN or LEAVE, or an event of a component that is not there. Not inlined: few are. */
static __attribute__((noinline)) struct vamp_component *
observe_other(struct vamp_components *components, const struct vamp_event *event)
{
    if (vamp_event_has(event, VAMP_HAS_PEER)) {
        (void)find_or_add(components, event->peer_id);
    }
    if (!vamp_event_has(event, VAMP_HAS_APP)) {
        components->replaced = 0;
        return &components->rows[0];
    }
    if (event->phase == VAMP_PHASE_BEFORE) {
        /* A JOIN not yet handled has no id of its own. */
        struct vamp_component *known = find_row(components, event->app_id);
        return known != NULL                    ? known
               : event->kind == VAMP_EVENT_JOIN ? &components->rows[0]
                                                : add_row(components, event->app_id);
    }
    struct vamp_component *row = event->kind == VAMP_EVENT_JOIN
                                     ? join(components, event)
                                     : find_or_add(components, event->app_id);
    row->operations++;
    row->changed = true;
    if (event->kind == VAMP_EVENT_LEAVE) {
        leave(components, row, event->time_ns, event->reason);
    }
    return row;
}

/* The row of the component that acted, which it neither adds to nor takes from the table; NULL:
 * there is none, or observe_other has more to do. */
static inline struct vamp_component *known_actor(const struct vamp_components *components,
                                                 const struct vamp_event *event)
{
    return vamp_event_has(event, VAMP_HAS_APP) && event->kind != VAMP_EVENT_JOIN &&
                   event->kind != VAMP_EVENT_LEAVE
               ? find_row(components, event->app_id)
               : NULL;
}

const struct vamp_component *vamp_components_observe(struct vamp_components *components,
                                                     const struct vamp_event *event)
{
    if (vamp_event_is_mark(event)) {
        return &components->rows[0];
    }
    struct vamp_component *row = known_actor(components, event);
    if (row == NULL) {
        row = observe_other(components, event);
        components->newest = row->index != 0 ? row : NULL;
        return row;
    }
    if (event->phase == VAMP_PHASE_AFTER) {
        row->operations++;
        row->changed = true;
    }
    components->newest = row;
    return vamp_event_has(event, VAMP_HAS_PEER) ? with_peer(components, event, row) : row;
}

void vamp_components_gone(struct vamp_components *components, int64_t time_ns)
{
    for (size_t i = 1; i < components->count; i++) {
        leave(components, &components->rows[i], time_ns, VAMP_LEAVE_POOL_GONE);
    }
    memset(components->by_id.entries, 0,
           (size_t)(components->by_id.mask + 1) * sizeof *components->by_id.entries);
    components->newest = NULL;
}

uint32_t vamp_components_replaced(const struct vamp_components *components)
{
    return components->replaced;
}

const struct vamp_component *vamp_components_find(const struct vamp_components *components,
                                                  uint64_t app_id)
{
    const struct vamp_component *newest = components->newest;
    return newest != NULL && newest->app_id == app_id ? newest : find_row(components, app_id);
}

size_t vamp_components_count(const struct vamp_components *components)
{
    return components->count;
}

const struct vamp_component *vamp_components_row(const struct vamp_components *components,
                                                 size_t index)
{
    return &components->rows[index];
}

size_t vamp_components_present(const struct vamp_components *components)
{
    return components->present;
}

void vamp_components_set_models(struct vamp_components *components,
                                const struct vamp_model_rules *rules)
{
    assert(components->name_count == 2);
    components->model_rules = *rules;
}

uint32_t vamp_components_model(const struct vamp_components *components, uint32_t name_number)
{
    return name_number < components->name_count ? components->models[name_number]
                                                : VAMP_NAME_UNKNOWN;
}

const char *vamp_components_name(const struct vamp_components *components, uint32_t name_number)
{
    return name_number < components->name_count ? components->names[name_number]
                                                : VAMP_COMPONENT_UNKNOWN_NAME;
}

const char *vamp_component_given_name(const struct vamp_component *component)
{
    const char *name = component->name_number != VAMP_NAME_UNKNOWN ? component->name : "";
    return name[0] == '\\' && is_reserved(name, strlen(name)) ? name + 1 : name;
}

uint64_t vamp_components_unnamed(const struct vamp_components *components)
{
    return components->unnamed;
}

void vamp_components_changed_clear(struct vamp_components *components, size_t index)
{
    components->rows[index].changed = false;
}

void vamp_components_changed_all(struct vamp_components *components)
{
    for (size_t i = 0; i < vamp_components_count(components); i++) {
        components->rows[i].changed = true;
    }
}
