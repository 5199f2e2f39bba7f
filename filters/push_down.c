/* SPDX-License-Identifier: BSD-3-Clause */
#include "filters/push_down.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "filters/event_fields.h"

/* The reduction of `expression` for events of `kind`. */
struct reduction {
    struct vamp_expression *expression;
    enum vamp_event_kind kind;
};

static bool is_term(const struct node *node)
{
    return node->kind >= NODE_HAS;
}

/* A copy that can be linked into another list; NULL without memory. */
static struct node *copy_node(struct reduction *reduction, const struct node *node)
{
    struct node *copy = vamp_arena_alloc(&reduction->expression->arena, sizeof(*copy));
    if (copy != NULL) {
        *copy = *node;
        copy->next = NULL;
    }
    return copy;
}

static struct node *make_constant(struct reduction *reduction, const struct node *node,
                                  bool is_true)
{
    struct node *copy = copy_node(reduction, node);
    if (copy != NULL) {
        copy->kind = is_true ? NODE_TRUE : NODE_FALSE;
        copy->children = NULL;
    }
    return copy;
}

static struct node *reduce_term(struct reduction *reduction, const struct node *term)
{
    const bool has_cdo = (VAMP_EVENT_KINDS_WITHOUT_CDO & VAMP_EVENT_BIT(reduction->kind)) == 0;
    if (term->field == FIELD_KIND) {
        const char *name = vamp_event_kind_name(reduction->kind);
        const struct vamp_value value = {.type = VAMP_VALUE_TEXT,
                                         .text = {.bytes = name, .length = strlen(name)}};
        return make_constant(reduction, term, vamp_term_match(reduction->expression, term, &value));
    }
    bool possible = term->field < 0
                        ? has_cdo
                        : vamp_event_field_possible((enum event_field)term->field, reduction->kind);
    struct node *copy = possible ? copy_node(reduction, term) : NULL;
    bool never =
        !possible || (copy != NULL && vamp_conjuncts_contradict(reduction->expression, copy));
    return never ? make_constant(reduction, term, false) : copy;
}

static struct node *reduce_node(struct reduction *reduction, const struct node *node);

/* NOLINTNEXTLINE(misc-no-recursion): bounded by the depth of the text. */
static struct node *reduce_not(struct reduction *reduction, const struct node *node)
{
    struct node *child = reduce_node(reduction, node->children);
    if (child == NULL) {
        return NULL;
    }
    if (child->kind == NODE_TRUE || child->kind == NODE_FALSE) {
        return make_constant(reduction, node, child->kind == NODE_FALSE);
    }
    struct node *copy = copy_node(reduction, node);
    if (copy != NULL) {
        copy->children = child;
    }
    return copy;
}

/* Reduces an AND. For an OR, true and false change places in what the comments say. */
/* NOLINTNEXTLINE(misc-no-recursion): bounded by the depth of the text. */
static struct node *reduce_group(struct reduction *reduction, const struct node *node)
{
    const enum node_kind neutral = node->kind == NODE_AND ? NODE_TRUE : NODE_FALSE;
    const enum node_kind deciding = node->kind == NODE_AND ? NODE_FALSE : NODE_TRUE;
    struct node *children = NULL, **tail = &children;
    for (const struct node *one = node->children; one != NULL; one = one->next) {
        struct node *child = reduce_node(reduction, one);
        if (child == NULL || child->kind == deciding) {
            return child;
        }
        if (child->kind == neutral) {
            continue;
        }
        /* A child may have become an AND itself, such as an OR of which one part is left. */
        *tail = child->kind == node->kind ? child->children : child;
        while (*tail != NULL) {
            tail = &(*tail)->next;
        }
    }
    if (children == NULL) {
        return make_constant(reduction, node, neutral == NODE_TRUE);
    }
    if (node->kind == NODE_AND && vamp_conjuncts_contradict(reduction->expression, children)) {
        return make_constant(reduction, node, false);
    }
    if (children->next == NULL) {
        return children;
    }
    struct node *copy = copy_node(reduction, node);
    if (copy != NULL) {
        copy->children = children;
    }
    return copy;
}

/* The node simplified for this kind of event, with new nodes only; NULL without memory.
 * NOLINTNEXTLINE(misc-no-recursion): bounded by the depth of the text. */
static struct node *reduce_node(struct reduction *reduction, const struct node *node)
{
    switch (node->kind) {
    case NODE_TRUE:
    case NODE_FALSE:
        return copy_node(reduction, node);
    case NODE_AND:
    case NODE_OR:
        return reduce_group(reduction, node);
    case NODE_NOT:
        return reduce_not(reduction, node);
    case NODE_HAS:
    case NODE_COMPARE:
    case NODE_IN:
    case NODE_GLOB:
    case NODE_REGEX:
        return reduce_term(reduction, node);
    }
    return NULL;
}

/* ---- splitting */

/* NOLINTNEXTLINE(misc-no-recursion): bounded by the depth of the text. */
static const struct node *first_term(const struct node *node, bool attribute)
{
    if (is_term(node)) {
        return (node->field < 0) == attribute ? node : NULL;
    }
    const struct node *found = NULL;
    for (const struct node *child = node->children; child != NULL && found == NULL;
         child = child->next) {
        found = first_term(child, attribute);
    }
    return found;
}

const struct node *vamp_first_attribute(const struct node *node)
{
    return first_term(node, true);
}

/* The conjuncts of one kind of event: the pool manager's and vampire's, in order. */
struct halves {
    struct node *theirs, *ours;
};

static int split_conjuncts(struct reduction *reduction, struct node *reduced, struct halves *ret,
                           struct vamp_err *err)
{
    struct node *conjunct = reduced->kind == NODE_AND ? reduced->children : reduced;
    struct node **theirs = &ret->theirs, **ours = &ret->ours;
    for (struct node *next; conjunct != NULL; conjunct = next) {
        next = conjunct->next;
        conjunct->next = NULL;
        const struct node *attribute = first_term(conjunct, true);
        const struct node *field = first_term(conjunct, false);
        if (attribute != NULL && field != NULL) {
            return vamp_position_error(
                &attribute->at, -EINVAL, err,
                "%s is known to the pool manager only and %s only here, so neither can decide "
                "their combination for %s events; combine such terms only with the outermost 'and'",
                attribute->name, field->name, vamp_event_kind_name(reduction->kind));
        }
        struct node ***tail = attribute != NULL ? &theirs : &ours;
        **tail = conjunct;
        *tail = &conjunct->next;
    }
    return 0;
}

/* The AND of the conjuncts; TRUE if there are none. NULL without memory. */
static struct node *join_conjuncts(struct reduction *reduction, struct node *conjuncts)
{
    if (conjuncts != NULL && conjuncts->next == NULL) {
        return conjuncts;
    }
    struct node *node = vamp_arena_alloc(&reduction->expression->arena, sizeof(*node));
    if (node != NULL) {
        node->kind = conjuncts == NULL ? NODE_TRUE : NODE_AND;
        node->children = conjuncts;
    }
    return node;
}

static const char *or_nothing(const char *selector)
{
    return selector[0] != '\0' ? selector : "nothing";
}

/* The selector text of a kind, "" for none, in the arena; NULL without memory. */
static const char *selector_text(struct reduction *reduction, struct node *theirs)
{
    struct node *joined = theirs != NULL ? join_conjuncts(reduction, theirs) : NULL;
    if (theirs == NULL) {
        return "";
    }
    char *text = joined != NULL ? vamp_node_print(joined) : NULL;
    const char *kept =
        text != NULL ? vamp_arena_text(&reduction->expression->arena, text, strlen(text)) : NULL;
    free(text);
    return kept;
}

static int push_kind(struct reduction *reduction, struct push_down *result,
                     enum vamp_event_kind *asked_by, struct vamp_err *err)
{
    struct node *reduced = reduce_node(reduction, reduction->expression->root);
    if (reduced == NULL) {
        return vamp_err_set(err, -ENOMEM, "compile a filter: no memory");
    }
    result->rest[reduction->kind] = reduced;
    if (reduced->kind == NODE_FALSE) {
        return 0;
    }
    result->kinds |= VAMP_EVENT_BIT(reduction->kind);
    if ((VAMP_EVENT_KINDS_WITHOUT_CDO & VAMP_EVENT_BIT(reduction->kind)) != 0) {
        return 0;
    }
    struct halves halves = {NULL, NULL};
    int rc = split_conjuncts(reduction, reduced, &halves, err);
    if (rc != 0) {
        return rc;
    }
    const char *selector = selector_text(reduction, halves.theirs);
    result->rest[reduction->kind] = join_conjuncts(reduction, halves.ours);
    if (selector == NULL || result->rest[reduction->kind] == NULL) {
        return vamp_err_set(err, -ENOMEM, "compile a filter: no memory");
    }
    if (*asked_by == VAMP_EVENT_NONE) {
        *asked_by = reduction->kind;
        result->selector = selector;
    } else if (strcmp(result->selector, selector) != 0) {
        return vamp_err_set(
            err, -EINVAL,
            "the pool manager takes one selector on attributes for all events, but "
            "this filter asks %.120s of %s and %.120s of %s; restrict .event.kind or "
            "ask the same of all",
            or_nothing(result->selector), vamp_event_kind_name(*asked_by), or_nothing(selector),
            vamp_event_kind_name(reduction->kind));
    }
    return 0;
}

int vamp_push_down(struct vamp_expression *expression, struct push_down *ret, struct vamp_err *err)
{
    static const struct node never = {.kind = NODE_FALSE};
    struct push_down result = {.rest = {[0] = &never}};
    enum vamp_event_kind asked_by = VAMP_EVENT_NONE;
    for (unsigned kind = 1; kind < VAMP_EVENT_KIND_COUNT; kind++) {
        struct reduction reduction = {expression, (enum vamp_event_kind)kind};
        int rc = push_kind(&reduction, &result, &asked_by, err);
        if (rc != 0) {
            return rc;
        }
        assert(result.rest[kind] != NULL);
    }
    if (result.selector != NULL && result.selector[0] == '\0') {
        result.selector = NULL;
    }
    *ret = result;
    return 0;
}
