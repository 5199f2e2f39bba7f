/* SPDX-License-Identifier: BSD-3-Clause */
#include "filters/push_down.h"

#include <stdlib.h>
#include <string.h>

#include "filters/event_fields.h"
#include "filters/event_filter.h"

/* One reduction: of `expression` for events of `kind`. */
struct reduction {
    struct vamp_expression *expression;
    enum vamp_event_kind kind;
};

static bool is_term(const struct node *node)
{
    return node->kind >= NODE_HAS;
}

/* A node of its own, so that it can be linked into another list. NULL without memory. */
static struct node *copy_of(struct reduction *reduction, const struct node *node)
{
    struct node *copy = vamp_arena_alloc(&reduction->expression->arena, sizeof(*copy));
    if (copy != NULL) {
        *copy = *node;
        copy->next = NULL;
    }
    return copy;
}

static struct node *constant(struct reduction *reduction, const struct node *node, bool is_true)
{
    struct node *copy = copy_of(reduction, node);
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
        return constant(reduction, term, vamp_term_match(reduction->expression, term, &value));
    }
    bool possible = term->field < 0
                        ? has_cdo
                        : vamp_event_field_possible((enum event_field)term->field, reduction->kind);
    struct node *copy = possible ? copy_of(reduction, term) : NULL;
    bool never =
        !possible || (copy != NULL && vamp_conjuncts_contradict(reduction->expression, copy));
    return never ? constant(reduction, term, false) : copy;
}

static struct node *reduce(struct reduction *reduction, const struct node *node);

/* NOLINTNEXTLINE(misc-no-recursion): bounded by the depth of the text. */
static struct node *reduce_not(struct reduction *reduction, const struct node *node)
{
    struct node *child = reduce(reduction, node->children);
    if (child == NULL) {
        return NULL;
    }
    if (child->kind == NODE_TRUE || child->kind == NODE_FALSE) {
        return constant(reduction, node, child->kind == NODE_FALSE);
    }
    struct node *copy = copy_of(reduction, node);
    if (copy != NULL) {
        copy->children = child;
    }
    return copy;
}

/* AND, in the words of which the comments speak, or OR with true and false exchanged. */
/* NOLINTNEXTLINE(misc-no-recursion): bounded by the depth of the text. */
static struct node *reduce_group(struct reduction *reduction, const struct node *node)
{
    const enum node_kind neutral = node->kind == NODE_AND ? NODE_TRUE : NODE_FALSE;
    const enum node_kind deciding = node->kind == NODE_AND ? NODE_FALSE : NODE_TRUE;
    struct node *children = NULL, **tail = &children;
    for (const struct node *one = node->children; one != NULL; one = one->next) {
        struct node *child = reduce(reduction, one);
        if (child == NULL || child->kind == deciding) {
            return child;
        }
        if (child->kind == neutral) {
            continue;
        }
        /* An AND that came out of an OR with one part left joins our conjuncts. */
        *tail = child->kind == node->kind ? child->children : child;
        while (*tail != NULL) {
            tail = &(*tail)->next;
        }
    }
    if (children == NULL) {
        return constant(reduction, node, neutral == NODE_TRUE);
    }
    if (node->kind == NODE_AND && vamp_conjuncts_contradict(reduction->expression, children)) {
        return constant(reduction, node, false);
    }
    if (children->next == NULL) {
        return children;
    }
    struct node *copy = copy_of(reduction, node);
    if (copy != NULL) {
        copy->children = children;
    }
    return copy;
}

/* The node for this kind of event, simplified; all of it new. NULL without memory.
 * NOLINTNEXTLINE(misc-no-recursion): bounded by the depth of the text. */
static struct node *reduce(struct reduction *reduction, const struct node *node)
{
    switch (node->kind) {
    case NODE_TRUE:
    case NODE_FALSE:
        return copy_of(reduction, node);
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

/* Conjuncts of one kind, in order. */
struct halves {
    struct node *theirs, *ours;
};

static int split(struct reduction *reduction, struct node *reduced, struct halves *ret,
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

/* Joins conjuncts again; none is true. NULL without memory. */
static struct node *join(struct reduction *reduction, struct node *conjuncts)
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
    struct node *joined = theirs != NULL ? join(reduction, theirs) : NULL;
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
    struct node *reduced = reduce(reduction, reduction->expression->root);
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
    int rc = split(reduction, reduced, &halves, err);
    if (rc != 0) {
        return rc;
    }
    const char *selector = selector_text(reduction, halves.theirs);
    result->rest[reduction->kind] = join(reduction, halves.ours);
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
    }
    if (result.selector != NULL && result.selector[0] == '\0') {
        result.selector = NULL;
    }
    *ret = result;
    return 0;
}
