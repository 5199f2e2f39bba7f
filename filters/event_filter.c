/* SPDX-License-Identifier: BSD-3-Clause */
#include "filters/event_filter.h"

#include <stdlib.h>

#include "filters/event_fields.h"
#include "filters/expression_tree.h"
#include "filters/named.h"
#include "filters/push_down.h"

struct vamp_event_filter {
    struct vamp_expression *expression;
    struct push_down pushed;
    const struct step *steps[VAMP_EVENT_KIND_COUNT]; /* of pushed.rest */
};

/* Refuses attributes where they cannot be pushed down. */
static int check_attributes(const struct vamp_expression *expression, enum vamp_filter_place place,
                            struct vamp_err *err)
{
    const struct node *term = vamp_first_attribute(expression->root);
    if (term == NULL) {
        return 0;
    }
    if (place == VAMP_FILTER_INSIDE) {
        return vamp_position_error(
            &term->at, -EINVAL, err,
            "%s is known to the pool manager only, and this filter is evaluated in vampire; only "
            "events.filter can use it, and only when vampire joins a workflow",
            term->name);
    }
    return 0;
}

static int make_steps(struct vamp_event_filter *filter, struct vamp_err *err)
{
    for (unsigned kind = 0; kind < VAMP_EVENT_KIND_COUNT; kind++) {
        filter->steps[kind] =
            vamp_steps_create(&filter->expression->arena, filter->pushed.rest[kind]);
        if (filter->steps[kind] == NULL) {
            return vamp_err_set(err, -ENOMEM, "compile a filter: no memory");
        }
    }
    return 0;
}

int vamp_event_filter_compile(const char *text, enum vamp_filter_place place,
                              struct vamp_named_filters *named,
                              struct vamp_event_filter **ret_filter, struct vamp_err *err)
{
    struct vamp_vocabulary vocabulary = vamp_event_vocabulary(named);
    struct vamp_event_filter *filter = calloc(1, sizeof(*filter));
    if (filter == NULL) {
        return vamp_err_set(err, -ENOMEM, "compile a filter: no memory");
    }
    int rc = vamp_expression_compile(text, &vocabulary, &filter->expression, err);
    if (rc == 0) {
        rc = check_attributes(filter->expression, place, err);
    }
    if (rc == 0) {
        rc = vamp_push_down(filter->expression, &filter->pushed, err);
    }
    if (rc == 0) {
        rc = make_steps(filter, err);
    }
    if (rc != 0) {
        vamp_event_filter_free(filter);
        return rc;
    }
    *ret_filter = filter;
    return 0;
}

void vamp_event_filter_free(struct vamp_event_filter *filter)
{
    if (filter != NULL) {
        vamp_expression_free(filter->expression);
        free(filter);
    }
}

bool vamp_event_filter_match(const struct vamp_event_filter *filter, const struct vamp_event *event,
                             const struct vamp_components *components)
{
    if (vamp_event_is_mark(event)) {
        return true;
    }
    if (event->kind >= VAMP_EVENT_KIND_COUNT) {
        return false;
    }
    struct event_lookup lookup = {.event = event, .components = components};
    return vamp_steps_match(filter->expression, filter->steps[event->kind], vamp_event_lookup,
                            &lookup);
}

uint64_t vamp_event_filter_kinds(const struct vamp_event_filter *filter)
{
    return filter->pushed.kinds;
}

const char *vamp_event_filter_selector(const struct vamp_event_filter *filter)
{
    return filter->pushed.selector;
}

char *vamp_event_filter_print(const struct vamp_event_filter *filter)
{
    return vamp_expression_print(filter->expression);
}

uint64_t vamp_event_filter_cut(const struct vamp_event_filter *filter)
{
    return vamp_expression_cut(filter->expression);
}
