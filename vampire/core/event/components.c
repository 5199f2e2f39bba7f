/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/core/event/components.h"

#include <assert.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/core/event/sample.h"
#include "vampire/core/hash.h"

/* ---- models */

#define CAPTURE "(*)"

int vamp_model_rule_check(const char *rule, struct vamp_err *err)
{
    const char *capture = strstr(rule, CAPTURE);
    const char *equals = strchr(rule, '=');
    bool complete = equals != NULL && equals != rule && equals[1] != '\0';
    if (capture != NULL) {
        complete = capture[strlen(CAPTURE)] != '\0';
    }
    if (complete) {
        return 0;
    }
    return vamp_err_set(err, -EINVAL,
                        "a model is \"MODEL=PATTERN\", such as \"ocean=NEMO*\", or a pattern in "
                        "which (*) stands for the model, such as \"(*) -- *\"");
}

/* Returns whether a name matches a rule "TEXT(*)PATTERN"; `capture` is the position of "(*)". */
static bool matches_capture(const char *rule, const char *capture, const char *name,
                            struct vamp_model_name *ret_model)
{
    const size_t text = (size_t)(capture - rule);
    const char *pattern = capture + strlen(CAPTURE);
    if (strncmp(rule, name, text) != 0) {
        return false;
    }
    const char *begin = name + text;
    for (size_t length = 1; begin[0] != '\0' && begin[length] != '\0'; length++) {
        if (fnmatch(pattern, begin + length, 0) == 0) {
            *ret_model = (struct vamp_model_name){begin, length};
            return true;
        }
    }
    return false;
}

/* Returns whether a name matches a rule "MODEL=PATTERN". */
static bool matches_pattern(const char *rule, const char *name, struct vamp_model_name *ret_model)
{
    const char *equals = strchr(rule, '=');
    if (equals == NULL || fnmatch(equals + 1, name, 0) != 0) {
        return false;
    }
    *ret_model = (struct vamp_model_name){rule, (size_t)(equals - rule)};
    return true;
}

static const char *const usual_rules[] = {"(*) -- *", "(*) [0-9]*"};
const struct vamp_model_rules vamp_model_rules_usual = {usual_rules,
                                                        sizeof usual_rules / sizeof usual_rules[0]};

struct vamp_model_name vamp_model_of(const struct vamp_model_rules *rules, const char *name)
{
    struct vamp_model_name model = {name, strlen(name)};
    bool found = model.length > VAMP_MODEL_NAME_MAX;
    for (size_t i = 0; !found && i < rules->count; i++) {
        const char *rule = rules->texts[i];
        const char *capture = strstr(rule, CAPTURE);
        found = capture != NULL ? matches_capture(rule, capture, name, &model)
                                : matches_pattern(rule, name, &model);
    }
    return model;
}

/* ---- the table */

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
    components->capacity = max;
    components->rows = calloc(max, sizeof *components->rows);
    const size_t names = (size_t)vamp_components_names_max(max);
    components->names = calloc(names, sizeof *components->names);
    if (components->rows == NULL || components->names == NULL ||
        map_init(&components->by_id) != 0 || map_init(&components->by_name) != 0) {
        vamp_components_free(components);
        return vamp_err_set(err, -ENOMEM, "component table: out of memory for %zu rows", max);
    }
    components->names[VAMP_NAME_OTHER] =
        (struct vamp_component_name){.text = VAMP_COMPONENT_OTHER_NAME, .model = VAMP_NAME_OTHER};
    components->names[VAMP_NAME_UNKNOWN] = (struct vamp_component_name){
        .text = VAMP_COMPONENT_UNKNOWN_NAME, .model = VAMP_NAME_UNKNOWN, .given = true};
    components->name_count = 2;
    components->rows[0].shown = (struct vamp_component){
        .name = VAMP_COMPONENT_OTHER_NAME,
        .joined_ns = INT64_MIN,
        .left_ns = INT64_MIN,
        .name_number = VAMP_NAME_OTHER,
    };
    components->count = 1;
    *ret_components = components;
    return 0;
}

int vamp_components_make_room(struct vamp_components *components, size_t live, struct vamp_err *err)
{
    assert(components->count == 1); /* no row except row 0 exists, so the map by id is empty */
    const size_t capacity = components->max + live;
    struct vamp_component_place *rows = calloc(capacity, sizeof *rows);
    if (rows == NULL) {
        return vamp_err_set(err, -ENOMEM, "component table: out of memory for %zu rows", capacity);
    }
    rows[0] = components->rows[0];
    free(components->rows);
    components->rows = rows;
    components->capacity = capacity;
    return 0;
}

void vamp_components_free(struct vamp_components *components)
{
    if (components == NULL) {
        return;
    }
    for (size_t i = 2; i < components->name_count; i++) {
        free((void *)(uintptr_t)components->names[i].text);
    }
    while (components->wheres != NULL) {
        void *const *kept = components->wheres;
        components->wheres = *kept;
        free((void *)(uintptr_t)kept);
    }
    free(components->names);
    free(components->rows);
    map_done(&components->by_id);
    map_done(&components->by_name);
    free(components);
}

bool vamp_component_name_is_reserved(const char *name, size_t length)
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

/* Returns a malloc'ed copy of the name, with a backslash in front if it is reserved, or NULL. */
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

#define NO_NAME UINT32_MAX

static uint32_t find_name(const struct vamp_components *components, const char *name, size_t length,
                          uint64_t hash)
{
    const size_t escape = vamp_component_name_is_reserved(name, length);
    for (struct map_link *link = map_first(&components->by_name, hash); link != NULL;
         link = map_next(link)) {
        const struct vamp_component_name *known =
            CONTAINER_OF(link, struct vamp_component_name, link);
        if ((escape == 0 || known->text[0] == '\\') &&
            strncmp(known->text + escape, name, length) == 0 &&
            known->text[escape + length] == '\0') {
            return (uint32_t)(known - components->names);
        }
    }
    return NO_NAME;
}

/* Returns the number of a name, which is added if it is new; VAMP_NAME_OTHER if out of memory. */
static uint32_t name_number(struct vamp_components *components, const char *name, size_t length)
{
    const uint64_t hash = map_hash_text(&components->by_name, name, length);
    const uint32_t known = find_name(components, name, length, hash);
    if (known != NO_NAME) {
        return known;
    }
    char *copy = label_of(name, length, vamp_component_name_is_reserved(name, length));
    if (copy == NULL) {
        components->unnamed++;
        return VAMP_NAME_OTHER;
    }
    assert(components->name_count < vamp_components_names_max(components->max));
    const uint32_t number = (uint32_t)components->name_count++;
    components->names[number] = (struct vamp_component_name){.text = copy, .model = number};
    map_insert(&components->by_name, &components->names[number].link, hash);
    return number;
}

/* Adds a name that no component has had yet, and its model. Returns the number of the name. */
static uint32_t give_name(struct vamp_components *components, const char *name, size_t length)
{
    const uint32_t number = name_number(components, name, length);
    struct vamp_component_name *given = &components->names[number];
    if (number != VAMP_NAME_OTHER && !given->given) {
        const struct vamp_model_name model = vamp_model_of(&components->model_rules, given->text);
        given->given = true;
        components->given_count++;
        if (model.begin != given->text || given->text[model.length] != '\0') {
            given->model = name_number(components, model.begin, model.length);
        }
    }
    return number;
}

uint32_t vamp_components_number(struct vamp_components *components, const char *name)
{
    const size_t length = strlen(name);
    const uint32_t known =
        find_name(components, name, length, map_hash_text(&components->by_name, name, length));
    if (known != NO_NAME) {
        return known;
    }
    if (components->sampled == VAMP_SAMPLED_NAMES_MAX) {
        return VAMP_NAME_OTHER;
    }
    components->sampled++;
    return give_name(components, name, length);
}

struct kept_where {
    void *before;
    struct vamp_component_where where;
    char texts[];
};

static const struct vamp_component_where *keep_where(struct vamp_components *components,
                                                     const struct vamp_component_where *where)
{
    const char *const texts[] = {where->host, where->user, where->job, where->sample};
    size_t bytes = 0;
    for (unsigned i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        bytes += strlen(texts[i]) + 1;
    }
    if (components->where_count >= VAMP_WHERES_MAX) {
        return NULL;
    }
    struct kept_where *kept = malloc(sizeof *kept + bytes);
    if (kept == NULL) {
        return NULL;
    }
    *kept = (struct kept_where){.before = components->wheres, .where.pid = where->pid};
    const char **const copies[] = {&kept->where.host, &kept->where.user, &kept->where.job,
                                   &kept->where.sample};
    char *at = kept->texts;
    for (unsigned i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        *copies[i] = at;
        at = stpcpy(at, texts[i]) + 1;
    }
    components->wheres = kept;
    components->where_count++;
    return &kept->where;
}

/* Stores a report for the name and for the newest present component with this name. */
static void store_where(struct vamp_components *components, const char *name,
                        const struct vamp_component_where *where)
{
    const uint32_t number = vamp_components_number(components, name);
    struct vamp_component_name *known = &components->names[number];
    if (number <= VAMP_NAME_UNKNOWN ||
        (known->where != NULL && strcmp(known->where->sample, where->sample) == 0)) {
        return;
    }
    const struct vamp_component_where *kept = keep_where(components, where);
    if (kept != NULL) {
        known->where = kept;
    }
    /* newest row first, since the JOIN is usually directly before the report */
    for (size_t i = components->count; i-- > 1;) {
        struct vamp_component *row = &components->rows[i].shown;
        if (row->name_number == number && row->left_ns == INT64_MIN) {
            row->changed = row->changed || row->where != known->where;
            row->where = known->where;
            return;
        }
    }
}

bool vamp_event_tells_place(const struct vamp_event *event)
{
    static const char begin[] = "vampire_component,";
    return event->name_length >= sizeof begin && memcmp(event->name, begin, sizeof begin - 1) == 0;
}

bool vamp_components_locate(struct vamp_components *components, const struct vamp_event *event)
{
    static const char end[] = " pid";
    char name[VAMP_SAMPLE_LABEL_BYTES], host[VAMP_SAMPLE_LABEL_BYTES];
    char user[VAMP_SAMPLE_LABEL_BYTES], job[VAMP_SAMPLE_LABEL_BYTES];
    char text[VAMP_NAME_BYTES_MAX + 1];
    struct vamp_sample sample;
    if (!vamp_event_tells_place(event) || event->name_length >= sizeof text ||
        !vamp_sample_read(event->name, event->name_length, &sample) ||
        !vamp_sample_label(&sample, "component", name)) {
        return false;
    }
    memcpy(text, event->name, event->name_length);
    text[event->name_length] = '\0';
    (void)vamp_sample_label(&sample, "host", host);
    (void)vamp_sample_label(&sample, "user", user);
    (void)vamp_sample_label(&sample, "job", job);
    vamp_sample_shorten_host(host);
    const char *field = sample.key + sample.key_length - (sizeof end - 1);
    const bool has_pid =
        memcmp(field, end, sizeof end - 1) == 0 && sample.value > 0 && sample.value < 0x1p62L;
    store_where(components, name,
                &(struct vamp_component_where){.host = host,
                                               .user = user,
                                               .job = job,
                                               .sample = text,
                                               .pid = has_pid ? (uint64_t)sample.value : 0});
    return true;
}

/* Returns the number of a component's name, adding a new name; VAMP_NAME_OTHER at the limit. */
static uint32_t component_name_number(struct vamp_components *components, const char *name,
                                      size_t length)
{
    length = strnlen(name, length);
    if (length == 0) {
        return VAMP_NAME_UNKNOWN;
    }
    const uint32_t known =
        find_name(components, name, length, map_hash_text(&components->by_name, name, length));
    if (known != NO_NAME && components->names[known].given) {
        return known;
    }
    if (components->given_count - components->sampled >= components->max) {
        return VAMP_NAME_OTHER;
    }
    return give_name(components, name, length);
}

/* Returns an unused row of the component table or, if all are used, a released row. Returns 0 if
 * there is none. */
static uint32_t allocate_row(struct vamp_components *components)
{
    const uint32_t released = components->first_free;
    if (components->count < components->max || released == 0) {
        return components->count < components->capacity ? (uint32_t)components->count++ : 0;
    }
    components->first_free = components->rows[released].next_free;
    return released;
}

/* Adds a row for this id. Returns row 0 if the table is full. */
static struct vamp_component *add_row(struct vamp_components *components, uint64_t app_id)
{
    const uint32_t index = allocate_row(components);
    struct vamp_component_place *row = &components->rows[index];
    if (index == 0) {
        return &row->shown;
    }
    components->present++;
    row->given_up = false;
    row->shown = (struct vamp_component){
        .app_id = app_id,
        .name = VAMP_COMPONENT_UNKNOWN_NAME,
        .joined_ns = INT64_MIN,
        .left_ns = INT64_MIN,
        .index = index,
        .name_number = VAMP_NAME_UNKNOWN,
        .life = row->shown.life + 1,
        .changed = true,
    };
    map_insert(&components->by_id, &row->link, vamp_hash_word(0, app_id));
    return &row->shown;
}

static struct vamp_component *find_row(const struct vamp_components *components, uint64_t app_id)
{
    /* Compares ids instead of hashes, because this is called for every event. */
    struct map_link *link = *map_slot(&components->by_id, vamp_hash_word(0, app_id));
    for (; link != NULL; link = link->next) {
        struct vamp_component *row = &CONTAINER_OF(link, struct vamp_component_place, link)->shown;
        if (row->app_id == app_id) {
            return row;
        }
    }
    return NULL;
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

/* Returns whether this JOIN repeats the data of the row, or adds missing data. */
static bool joins_row(const struct vamp_component *row, const struct vamp_event *event)
{
    if (row->joined_ns != INT64_MIN) {
        return row->joined_ns == event->time_ns;
    }
    return row->left_ns == INT64_MIN || event->time_ns <= row->left_ns;
}

/* Handles a JOIN: returns the row of the component, which is added unless the JOIN repeats one. */
static struct vamp_component *join(struct vamp_components *components,
                                   const struct vamp_event *event)
{
    struct vamp_component *row = find_row(components, event->app_id);
    components->replaced = 0;
    if (row != NULL && !joins_row(row, event)) {
        leave(components, row, event->time_ns, VAMP_LEAVE_UNKNOWN);
        components->replaced = row->index;
        map_remove(&components->by_id, &components->rows[row->index].link);
        row = NULL;
    }
    if (row == NULL) {
        row = add_row(components, event->app_id);
    }
    if (row->index != 0 && row->joined_ns == INT64_MIN) {
        row->joined_ns = event->time_ns;
        if (vamp_event_has(event, VAMP_HAS_COMPONENT_NAME)) {
            row->name_number = component_name_number(components, event->name, event->name_length);
            row->name = components->names[row->name_number].text;
            row->where = components->names[row->name_number].where;
        }
    }
    return row;
}

/* Counts the operation in the row of the component table in which it is shown. */
static inline void count_operation(struct vamp_components *components, struct vamp_component *row)
{
    struct vamp_component *listed = row->index < components->max ? row : &components->rows[0].shown;
    listed->operations++;
    listed->changed = true;
}

/* Returns the row of this id, which is added if it does not exist; row 0 if the table is full. */
static struct vamp_component *find_or_add(struct vamp_components *components, uint64_t app_id)
{
    struct vamp_component *row = find_row(components, app_id);
    return row != NULL ? row : add_row(components, app_id);
}

/* Adds the source of a transport if it has no row; returns `row`. Not inlined: few events have a
 * source. */
static __attribute__((noinline)) struct vamp_component *
with_peer(struct vamp_components *components, const struct vamp_event *event,
          struct vamp_component *row)
{
    (void)find_or_add(components, event->peer_id);
    return row;
}

/* Handles a JOIN, a LEAVE, or an event of a component without a row. Not inlined: they are rare. */
static __attribute__((noinline)) struct vamp_component *
observe_other(struct vamp_components *components, const struct vamp_event *event)
{
    if (vamp_event_has(event, VAMP_HAS_PEER)) {
        (void)find_or_add(components, event->peer_id);
    }
    if (!vamp_event_has(event, VAMP_HAS_APP)) {
        components->replaced = 0;
        return &components->rows[0].shown;
    }
    if (event->phase == VAMP_PHASE_BEFORE) {
        /* the id of a JOIN that is not handled yet may belong to another component */
        struct vamp_component *known = find_row(components, event->app_id);
        if (known != NULL) {
            return known;
        }
        return event->kind == VAMP_EVENT_JOIN ? &components->rows[0].shown
                                              : add_row(components, event->app_id);
    }
    struct vamp_component *row = event->kind == VAMP_EVENT_JOIN
                                     ? join(components, event)
                                     : find_or_add(components, event->app_id);
    count_operation(components, row);
    if (event->kind == VAMP_EVENT_LEAVE) {
        leave(components, row, event->time_ns, event->reason);
    }
    return row;
}

/* Returns the row of the component of the event, if the event does not change the table. Returns
 * NULL if there is no such row, or if observe_other must handle the event. */
static inline struct vamp_component *known_actor(const struct vamp_components *components,
                                                 const struct vamp_event *event)
{
    const uint32_t table_changes = UINT32_C(1) << VAMP_EVENT_JOIN | UINT32_C(1) << VAMP_EVENT_LEAVE;
    const bool is_operation =
        vamp_event_has(event, VAMP_HAS_APP) && event->kind < VAMP_EVENT_KIND_COUNT;
    if (!is_operation || (table_changes >> event->kind & 1) != 0) {
        return NULL;
    }
    return find_row(components, event->app_id);
}

const struct vamp_component *vamp_components_observe(struct vamp_components *components,
                                                     const struct vamp_event *event)
{
    struct vamp_component *row = known_actor(components, event);
    if (row == NULL) {
        if (event->kind == VAMP_EVENT_SAMPLE) {
            (void)vamp_components_locate(components, event);
            return &components->rows[0].shown;
        }
        if (vamp_event_is_mark(event)) {
            return &components->rows[0].shown;
        }
        row = observe_other(components, event);
        components->newest = row->index != 0 ? row : NULL;
        return row;
    }
    if (event->phase == VAMP_PHASE_AFTER) {
        count_operation(components, row);
    }
    components->newest = row;
    return vamp_event_has(event, VAMP_HAS_PEER) ? with_peer(components, event, row) : row;
}

void vamp_components_gone(struct vamp_components *components, int64_t time_ns)
{
    for (size_t i = 1; i < components->count; i++) {
        leave(components, &components->rows[i].shown, time_ns, VAMP_LEAVE_POOL_GONE);
    }
    map_clear(&components->by_id);
    components->newest = NULL;
}

void vamp_components_give_up(struct vamp_components *components, size_t index)
{
    struct vamp_component_place *row = &components->rows[index];
    assert(index >= components->max && row->shown.left_ns != INT64_MIN);
    if (row->given_up || &row->shown == components->newest) {
        return;
    }
    if (find_row(components, row->shown.app_id) == &row->shown) {
        map_remove(&components->by_id, &row->link);
    }
    uint32_t *last = &components->first_free;
    if (*last != 0) {
        last = &components->rows[components->last_free].next_free;
    }
    *last = (uint32_t)index;
    components->last_free = (uint32_t)index;
    row->next_free = 0;
    row->given_up = true;
}

const struct vamp_component *vamp_components_look_up(const struct vamp_components *components,
                                                     uint64_t app_id)
{
    return find_row(components, app_id);
}

void vamp_components_set_models(struct vamp_components *components,
                                const struct vamp_model_rules *rules)
{
    assert(components->name_count == 2);
    components->model_rules = *rules;
}

const char *vamp_component_given_name(const struct vamp_component *component)
{
    const bool named =
        component->name_number != VAMP_NAME_UNKNOWN && component->name_number != VAMP_NAME_OTHER;
    const char *name = named ? component->name : "";
    return name[0] == '\\' && vamp_component_name_is_reserved(name, strlen(name)) ? name + 1 : name;
}

void vamp_components_changed_all(struct vamp_components *components)
{
    for (size_t i = 0; i < components->count; i++) {
        components->rows[i].shown.changed = true;
    }
}
