/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Push-down: the part of a filter that the pool manager evaluates, and the part that vampire
 * evaluates.
 *
 * The filter is reduced for each kind of event: terms on `.event.kind`, and terms on fields that an
 * event of the kind never has, become true or false. What remains for a kind is a conjunction:
 * conjuncts on attributes only are the pool manager's, conjuncts without an attribute are
 * vampire's, and one that mixes both is an error, since neither side knows all of it. A
 * subscription has one selector, so all kinds must need the same one.
 *
 * The contract with the source: it subscribes to events of CDOs with the selector and to events
 * without a CDO without it (their attributes are absent, which vampire knows itself). Then both
 * parts together are exactly the filter.
 */
#include "filters/event_filter.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "filters/event_fields.h"
#include "filters/expression_tree.h"
#include "filters/named.h"

struct vamp_event_filter {
    struct vamp_expression *expression;
    uint64_t kinds;       /* bits of kinds that can pass */
    const char *selector; /* in the expression's arena; NULL: none */
    /* What is to be evaluated here for an event of the kind; in the arena. [0]: false. */
    const struct step *steps[VAMP_EVENT_KIND_COUNT];
};

/* ---- terms on one name that no value can satisfy together */

/* Each is compared with each: generated filters may have thousands. */
#define CONJUNCTS_MAX 64

static bool is_compare(const struct node *term, enum comparison one, enum comparison other)
{
    return term->kind == NODE_COMPARE && (term->comparison == one || term->comparison == other);
}

/* The term holds for its literals and nothing else. */
static bool is_choice(const struct node *term)
{
    return term->kind == NODE_IN || is_compare(term, COMPARE_EQ, COMPARE_EQ);
}

static bool any_matches(const struct vamp_expression *expression, const struct literal *literals,
                        const struct node *term)
{
    for (const struct literal *one = literals; one != NULL; one = one->next) {
        if (vamp_term_match(expression, term, &one->value)) {
            return true;
        }
    }
    return false;
}

static bool terms_exclude(const struct vamp_expression *expression, const struct node *one,
                          const struct node *other)
{
    if (is_choice(one)) {
        const bool has_values = other->kind == NODE_COMPARE || other->kind == NODE_IN;
        return has_values && !any_matches(expression, one->literals, other);
    }
    /* A lower and an upper bound: each has to admit the value of the other. */
    return is_compare(one, COMPARE_GT, COMPARE_GE) && is_compare(other, COMPARE_LT, COMPARE_LE) &&
           !(any_matches(expression, one->literals, other) &&
             any_matches(expression, other->literals, one));
}

/* Sizes and durations are never negative. */
static bool is_below_zero(const struct vamp_expression *expression, const struct node *term)
{
    static const struct vamp_value zero = {.type = VAMP_VALUE_INT, .integer = 0};
    assert(term->kind != NODE_COMPARE || term->literals != NULL);
    return term->field >= 0 && is_compare(term, COMPARE_LT, COMPARE_LE) &&
           (term->literals->notation == VAMP_NOTATION_SIZE ||
            term->literals->notation == VAMP_NOTATION_DURATION) &&
           !vamp_term_match(expression, term, &zero);
}

/* Whether no value can satisfy a list of nodes joined by AND. True is certain; it finds two
 * comparisons or lists on one name among the first 64 nodes, and a size or duration below zero. */
static bool contradict(const struct vamp_expression *expression, const struct node *conjuncts)
{
    unsigned count = 0;
    for (const struct node *one = conjuncts; one != NULL && count < CONJUNCTS_MAX;
         one = one->next, count++) {
        if (is_below_zero(expression, one)) {
            return true;
        }
        for (const struct node *other = conjuncts; other != one; other = other->next) {
            if (one->name != NULL && other->name != NULL && strcmp(one->name, other->name) == 0 &&
                (terms_exclude(expression, one, other) || terms_exclude(expression, other, one))) {
                return true;
            }
        }
    }
    return false;
}

/* ---- the filter for one kind of event */

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
    bool never = !possible || (copy != NULL && contradict(reduction->expression, copy));
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
    if (node->kind == NODE_AND && contradict(reduction->expression, children)) {
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

/* What is to be evaluated here for an event of the kind goes to `*ret_rest`. */
static int push_kind(struct reduction *reduction, struct vamp_event_filter *result,
                     struct node **ret_rest, enum vamp_event_kind *asked_by, struct vamp_err *err)
{
    struct node *reduced = reduce_node(reduction, reduction->expression->root);
    if (reduced == NULL) {
        return vamp_err_set(err, -ENOMEM, "compile a filter: no memory");
    }
    *ret_rest = reduced;
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
    *ret_rest = join_conjuncts(reduction, halves.ours);
    if (selector == NULL || *ret_rest == NULL) {
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

/* Reduces and splits. 0, -EINVAL when it cannot be split, -ENOMEM. */
static int push_down(struct vamp_event_filter *filter, struct vamp_err *err)
{
    static const struct node never = {.kind = NODE_FALSE};
    struct arena *arena = &filter->expression->arena;
    filter->steps[0] = vamp_steps_create(arena, &never);
    enum vamp_event_kind asked_by = VAMP_EVENT_NONE;
    for (unsigned kind = 1; kind < VAMP_EVENT_KIND_COUNT; kind++) {
        struct reduction reduction = {filter->expression, (enum vamp_event_kind)kind};
        struct node *rest = NULL;
        int rc = push_kind(&reduction, filter, &rest, &asked_by, err);
        if (rc != 0) {
            return rc;
        }
        filter->steps[kind] = vamp_steps_create(arena, rest);
    }
    for (unsigned kind = 0; kind < VAMP_EVENT_KIND_COUNT; kind++) {
        if (filter->steps[kind] == NULL) {
            return vamp_err_set(err, -ENOMEM, "compile a filter: no memory");
        }
    }
    if (filter->selector != NULL && filter->selector[0] == '\0') {
        filter->selector = NULL;
    }
    return 0;
}

/* ---- the whole */

/* Refuses attributes where they cannot be pushed down. */
static int check_attributes(const struct vamp_expression *expression, enum vamp_filter_place place,
                            struct vamp_err *err)
{
    const struct node *term = first_term(expression->root, true);
    if (term != NULL && place == VAMP_FILTER_INSIDE) {
        return vamp_position_error(
            &term->at, -EINVAL, err,
            "%s is known to the pool manager only, and this filter is evaluated in vampire; only "
            "events.filter can use it, and only when vampire joins a workflow",
            term->name);
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
        rc = push_down(filter, err);
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
    return filter->kinds;
}

const char *vamp_event_filter_selector(const struct vamp_event_filter *filter)
{
    return filter->selector;
}

char *vamp_event_filter_print(const struct vamp_event_filter *filter)
{
    return vamp_expression_print(filter->expression);
}

uint64_t vamp_event_filter_cut(const struct vamp_event_filter *filter)
{
    return vamp_expression_cut(filter->expression);
}
