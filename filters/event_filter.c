/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Push-down: splits a filter into a part that the pool manager evaluates and a part that vampire
 * evaluates.
 *
 * The filter is reduced separately for each event kind: terms on `.event.kind`, and terms on fields
 * that events of the kind never have, become true or false. The rest is a conjunction. Conjuncts
 * that use only attributes are evaluated by the pool manager, conjuncts without attributes by
 * vampire. A conjunct that mixes both is an error, because neither side has all its fields. A
 * subscription has one selector, so all kinds must need the same selector.
 *
 * The contract with the source: it subscribes with the selector to events that concern a CDO, and
 * without it to other events. The attributes of the latter are absent, so vampire evaluates their
 * filter alone. Together, both parts are equivalent to the filter.
 */
#include "filters/event_filter.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "filters/event_fields.h"
#include "filters/expression_tree.h"
#include "vampire/core/hash.h"

struct vamp_event_filter {
    struct vamp_expression *expression;
    uint64_t kinds;       /* set of event kinds that can pass */
    const char *selector; /* in the arena of the expression; NULL: none */
    /* The steps that vampire evaluates for each kind; in the arena. The entry [0] is always false.
     */
    const struct step *steps[VAMP_EVENT_SAMPLE + 1];
};

/* ---- named filters */

static bool name_is_valid(const char *name)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
    return name[0] != '\0' && name[strspn(name, allowed)] == '\0';
}

int vamp_named_filters_add(struct vamp_named_filters *named, const char *name, const char *text,
                           struct vamp_err *err)
{
    if (!name_is_valid(name)) {
        return vamp_err_set(
            err, -EINVAL,
            "'%.100s' is not a valid name of a filter: use letters, digits, '_', '-' and '.'",
            name);
    }
    if (vamp_named_filters_text(named, name) != NULL) {
        return vamp_err_set(err, -EEXIST, "there are two filters named '%.100s'", name);
    }
    if (named->count == VAMP_NAMED_FILTERS_MAX) {
        return vamp_err_set(err, -E2BIG, "more than %d named filters", VAMP_NAMED_FILTERS_MAX);
    }
    named->names[named->count] = name;
    named->texts[named->count++] = text;
    return 0;
}

/* ---- contradictory terms on one name */

/* Conjuncts are compared pairwise, and generated filters may have thousands of them. */
#define CONJUNCTS_MAX 64

static bool is_one_of(const struct node *term, enum node_kind one, enum node_kind other)
{
    return term->kind == one || term->kind == other;
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
    if (is_one_of(one, NODE_EQ, NODE_IN)) { /* true only for the literals of the term */
        const bool has_values = other->kind >= NODE_EQ || other->kind == NODE_IN;
        return has_values && !any_matches(expression, one->literals, other);
    }
    /* A lower and an upper limit: each must permit the value of the other. */
    return is_one_of(one, NODE_GT, NODE_GE) && is_one_of(other, NODE_LT, NODE_LE) &&
           !(any_matches(expression, one->literals, other) &&
             any_matches(expression, other->literals, one));
}

/* Returns whether the term requires a negative size or duration, which never occurs. */
static bool is_below_zero(const struct vamp_expression *expression, const struct node *term)
{
    static const struct vamp_value zero = {.type = VAMP_VALUE_INT, .integer = 0};
    assert(term->kind < NODE_EQ || term->literals != NULL);
    return term->field >= 0 && is_one_of(term, NODE_LT, NODE_LE) &&
           (term->literals->notation == VAMP_NOTATION_SIZE ||
            term->literals->notation == VAMP_NOTATION_DURATION) &&
           !vamp_term_match(expression, term, &zero);
}

/* Returns true only if no value can satisfy all nodes of a list joined by AND. Detects
 * contradictory pairs of comparisons or lists on one name among the first CONJUNCTS_MAX nodes, and
 * negative sizes or durations; other contradictions are not detected. */
static bool contradict(const struct vamp_expression *expression, const struct node *conjuncts)
{
    unsigned count = 0;
    for (const struct node *one = conjuncts; one != NULL && count < CONJUNCTS_MAX;
         one = one->next, count++) {
        if (is_below_zero(expression, one)) {
            return true;
        }
        for (const struct node *other = conjuncts; other != one; other = other->next) {
            if (one->name == NULL || other->name == NULL || strcmp(one->name, other->name) != 0) {
                continue;
            }
            if (terms_exclude(expression, one, other) || terms_exclude(expression, other, one)) {
                return true;
            }
        }
    }
    return false;
}

/* ---- the filter reduced to one event kind */

/* The reduction of the compiler's expression to events of `kind`. A function that returns NULL has
 * made the compilation fail. */
struct reduction {
    struct compiler *compiler;
    enum vamp_event_kind kind;
};

/* Returns a copy of the node with another kind and other children, which is not linked into a list.
 */
static struct node *make_node(struct reduction *reduction, const struct node *like,
                              enum node_kind kind, struct node *children)
{
    struct node *node = vamp_compile_alloc(reduction->compiler, sizeof(*node));
    if (node != NULL) {
        *node = *like;
        node->kind = kind;
        node->children = children;
        node->next = NULL;
    }
    return node;
}

#define WITHOUT_ATTRIBUTES (VAMP_EVENT_KINDS_WITHOUT_CDO | VAMP_EVENT_BIT(VAMP_EVENT_SAMPLE))
static bool is_possible(const struct reduction *reduction, const struct node *term)
{
    if (term->field < 0) {
        return (WITHOUT_ATTRIBUTES & VAMP_EVENT_BIT(reduction->kind)) == 0;
    }
    return vamp_event_field_possible((enum event_field)term->field, reduction->kind);
}

static struct node *reduce_term(struct reduction *reduction, const struct node *term)
{
    const struct vamp_expression *expression = reduction->compiler->expression;
    enum node_kind kind = term->kind;
    if (term->field == FIELD_KIND) {
        const char *name = vamp_event_kind_name(reduction->kind);
        const struct vamp_value value = {.type = VAMP_VALUE_TEXT,
                                         .text = {.bytes = name, .length = strlen(name)}};
        kind = vamp_term_match(expression, term, &value) ? NODE_TRUE : NODE_FALSE;
    } else if (!is_possible(reduction, term) || is_below_zero(expression, term)) {
        kind = NODE_FALSE;
    }
    return make_node(reduction, term, kind, NULL);
}

/* Returns the node simplified for this kind of event, with new nodes only. The comments describe an
 * AND; for an OR, true and false are exchanged. */
/* NOLINTNEXTLINE(misc-no-recursion): bounded by the depth of the text. */
static struct node *reduce_node(struct reduction *reduction, const struct node *node)
{
    if (node->kind >= NODE_HAS) {
        return reduce_term(reduction, node);
    }
    if (node->kind < NODE_AND) {
        return make_node(reduction, node, node->kind, NULL);
    }
    if (node->kind == NODE_NOT) {
        struct node *child = reduce_node(reduction, node->children);
        if (child == NULL) {
            return NULL;
        }
        if (child->kind == NODE_TRUE || child->kind == NODE_FALSE) {
            const bool is_true = child->kind == NODE_TRUE;
            return make_node(reduction, node, is_true ? NODE_FALSE : NODE_TRUE, NULL);
        }
        return make_node(reduction, node, NODE_NOT, child);
    }
    /* An operand that is true can be left out; one that is false decides the result. */
    enum node_kind neutral = NODE_TRUE, deciding = NODE_FALSE;
    if (node->kind == NODE_OR) {
        neutral = NODE_FALSE;
        deciding = NODE_TRUE;
    }
    struct node *children = NULL, **tail = &children;
    for (const struct node *one = node->children; one != NULL; one = one->next) {
        struct node *child = reduce_node(reduction, one);
        if (child == NULL || child->kind == deciding) {
            return child;
        }
        if (child->kind == neutral) {
            continue;
        }
        /* The child may have become an AND itself, for example an OR reduced to one operand. */
        *tail = child->kind == node->kind ? child->children : child;
        while (*tail != NULL) {
            tail = &(*tail)->next;
        }
    }
    if (children == NULL) {
        return make_node(reduction, node, neutral, NULL);
    }
    if (node->kind == NODE_AND && contradict(reduction->compiler->expression, children)) {
        return make_node(reduction, node, NODE_FALSE, NULL);
    }
    if (children->next == NULL) {
        return children;
    }
    return make_node(reduction, node, node->kind, children);
}

/* ---- splitting */

/* NOLINTNEXTLINE(misc-no-recursion): bounded by the depth of the text. */
static const struct node *first_term(const struct node *node, bool attribute)
{
    if (node->kind >= NODE_HAS) {
        return (node->field < 0) == attribute ? node : NULL;
    }
    const struct node *found = NULL;
    for (const struct node *child = node->children; child != NULL && found == NULL;
         child = child->next) {
        found = first_term(child, attribute);
    }
    return found;
}

/* The conjuncts for one event kind, in order: those of the pool manager and those of vampire. */
struct halves {
    struct node *theirs, *ours;
};

static bool split_conjuncts(struct reduction *reduction, struct node *reduced, struct halves *ret)
{
    struct node *conjunct = reduced->kind == NODE_AND ? reduced->children : reduced;
    struct node **theirs = &ret->theirs, **ours = &ret->ours;
    for (struct node *next; conjunct != NULL; conjunct = next) {
        next = conjunct->next;
        conjunct->next = NULL;
        const struct node *attribute = first_term(conjunct, true);
        const struct node *field = first_term(conjunct, false);
        if (attribute != NULL && field != NULL) {
            return vamp_compile_fail(
                reduction->compiler, &attribute->at, -EINVAL,
                "%s is known to the pool manager only and %s only here, so neither can decide "
                "their combination for %s events; combine such terms only with the outermost 'and'",
                attribute->name, field->name, vamp_event_kind_name(reduction->kind));
        }
        struct node ***tail = attribute != NULL ? &theirs : &ours;
        **tail = conjunct;
        *tail = &conjunct->next;
    }
    return true;
}

/* Returns the AND of the conjuncts; TRUE if there are none. */
static struct node *join_conjuncts(struct reduction *reduction, struct node *conjuncts)
{
    static const struct node none = {.kind = NODE_TRUE};
    if (conjuncts == NULL) {
        return make_node(reduction, &none, NODE_TRUE, NULL);
    }
    return conjuncts->next == NULL ? conjuncts : make_node(reduction, &none, NODE_AND, conjuncts);
}

/* Returns the selector text for a kind, in the arena; "": none. */
static const char *selector_text(struct reduction *reduction, struct node *theirs)
{
    if (theirs == NULL) {
        return "";
    }
    struct node *joined = join_conjuncts(reduction, theirs);
    if (joined == NULL) {
        return NULL;
    }
    char *text = vamp_node_print(joined), *kept = NULL;
    if (text == NULL) {
        reduction->compiler->code =
            vamp_err_set(reduction->compiler->err, -ENOMEM, "compile a filter: out of memory");
    } else {
        const size_t bytes = strlen(text) + 1;
        kept = vamp_compile_alloc(reduction->compiler, bytes);
        if (kept != NULL) {
            memcpy(kept, text, bytes);
        }
    }
    free(text);
    return kept;
}

static const char *or_nothing(const char *selector)
{
    return selector[0] != '\0' ? selector : "nothing";
}

/* Returns the part of the filter that vampire evaluates for events of the kind. */
static struct node *push_kind(struct reduction *reduction, struct vamp_event_filter *result,
                              enum vamp_event_kind *asked_by)
{
    struct node *reduced = reduce_node(reduction, reduction->compiler->expression->root);
    if (reduced == NULL || reduced->kind == NODE_FALSE) {
        return reduced;
    }
    result->kinds |= VAMP_EVENT_BIT(reduction->kind);
    if ((VAMP_EVENT_KINDS_WITHOUT_CDO & VAMP_EVENT_BIT(reduction->kind)) != 0) {
        return reduced;
    }
    struct halves halves = {NULL, NULL};
    const char *selector = NULL;
    if (split_conjuncts(reduction, reduced, &halves)) {
        selector = selector_text(reduction, halves.theirs);
    }
    if (selector == NULL) {
        return NULL;
    }
    if (*asked_by == VAMP_EVENT_NONE) {
        *asked_by = reduction->kind;
        result->selector = selector;
    } else if (strcmp(result->selector, selector) != 0) {
        reduction->compiler->code = vamp_err_set(
            reduction->compiler->err, -EINVAL,
            "the pool manager takes one selector on attributes for all events, but this filter "
            "requires %.120s for %s and %.120s for %s; restrict .event.kind or require the same "
            "for all",
            or_nothing(result->selector), vamp_event_kind_name(*asked_by), or_nothing(selector),
            vamp_event_kind_name(reduction->kind));
        return NULL;
    }
    return join_conjuncts(reduction, halves.ours);
}

/* NOLINTNEXTLINE(misc-no-recursion): bounded by the depth of the text. */
static bool mentions_samples(const struct node *node)
{
    bool found = node->kind >= NODE_HAS && node->field >= 0 &&
                 vamp_event_field_possible((enum event_field)node->field, VAMP_EVENT_SAMPLE);
    for (const struct node *child = node->children; child != NULL && !found; child = child->next) {
        found = mentions_samples(child);
    }
    return found;
}

/* Without conditions on samples, a filter lets all samples pass. */
static void push_samples(struct compiler *compiler, struct vamp_event_filter *filter)
{
    static const struct node always = {.kind = NODE_TRUE};
    struct reduction reduction = {compiler, VAMP_EVENT_SAMPLE};
    const struct node *root = compiler->expression->root;
    const struct node *rest = &always;
    if (mentions_samples(root)) {
        rest = reduce_node(&reduction, root);
        if (rest != NULL && rest->kind != NODE_FALSE) {
            filter->kinds |= VAMP_EVENT_BIT(VAMP_EVENT_SAMPLE);
        }
    }
    filter->steps[VAMP_EVENT_SAMPLE] = rest != NULL ? vamp_steps_create(compiler, rest) : NULL;
}

static void push_down(struct compiler *compiler, struct vamp_event_filter *filter)
{
    static const struct node never = {.kind = NODE_FALSE};
    enum vamp_event_kind asked_by = VAMP_EVENT_NONE;
    filter->steps[0] = vamp_steps_create(compiler, &never);
    for (unsigned kind = 1; kind < VAMP_EVENT_KIND_COUNT && compiler->code == 0; kind++) {
        struct reduction reduction = {compiler, (enum vamp_event_kind)kind};
        const struct node *rest = push_kind(&reduction, filter, &asked_by);
        filter->steps[kind] = rest != NULL ? vamp_steps_create(compiler, rest) : NULL;
    }
    if (filter->selector != NULL && filter->selector[0] == '\0') {
        filter->selector = NULL;
    }
}

/* ---- the whole filter */

int vamp_event_filter_compile(const char *text, enum vamp_filter_place place,
                              const struct vamp_named_filters *named,
                              struct vamp_event_filter **ret_filter, struct vamp_err *err)
{
    struct vamp_vocabulary vocabulary = vamp_event_vocabulary(named);
    struct vamp_event_filter *filter = calloc(1, sizeof(*filter));
    if (filter == NULL) {
        return vamp_err_set(err, -ENOMEM, "compile a filter: out of memory");
    }
    struct compiler compiler = {.err = err};
    compiler.code = vamp_expression_compile(text, &vocabulary, &filter->expression, err);
    compiler.expression = filter->expression;
    const struct node *attribute = NULL;
    if (compiler.code == 0) {
        attribute = first_term(filter->expression->root, true);
    }
    if (attribute != NULL && place == VAMP_FILTER_INSIDE) {
        (void)vamp_compile_fail(&compiler, &attribute->at, -EINVAL,
                                "%s is known to the pool manager only, and this filter is "
                                "evaluated in vampire; only events.filter can use it, and only "
                                "when vampire joins a workflow",
                                attribute->name);
    }
    if (compiler.code == 0) {
        push_down(&compiler, filter);
    }
    if (compiler.code == 0) {
        push_samples(&compiler, filter);
    }
    if (compiler.code != 0) {
        vamp_event_filter_free(filter);
        return compiler.code;
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

/* Not inlined: otherwise matches for all events would reserve its stack space. */
static __attribute__((noinline)) bool match_sample(const struct vamp_event_filter *filter,
                                                   const struct vamp_event *event,
                                                   const struct vamp_components *components)
{
    char text[EVENT_TEXT_BYTES];
    struct event_lookup lookup = {.event = event, .components = components, .text = text};
    return event->kind == VAMP_EVENT_SAMPLE &&
           (vamp_event_tells_place(event) ||
            vamp_steps_match(filter->expression, filter->steps[VAMP_EVENT_SAMPLE],
                             vamp_event_lookup, &lookup));
}

bool vamp_event_filter_match(const struct vamp_event_filter *filter, const struct vamp_event *event,
                             const struct vamp_components *components)
{
    if (vamp_event_is_mark(event)) {
        return true;
    }
    if (event->kind >= VAMP_EVENT_KIND_COUNT) {
        return match_sample(filter, event, components);
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

/* ---- sampling */

bool vamp_sample_passes(uint64_t fraction, const struct vamp_event *event)
{
    assert(fraction >= 1 && fraction <= VAMP_SAMPLE_ALL);
    const bool is_membership = event->kind == VAMP_EVENT_JOIN || event->kind == VAMP_EVENT_LEAVE;
    const bool has_cdo = vamp_event_has(event, VAMP_HAS_CDO_ID) && !vamp_event_is_mark(event);
    if (fraction == VAMP_SAMPLE_ALL || is_membership || !has_cdo) {
        return true;
    }
    const uint64_t limit = (uint64_t)(((unsigned __int128)fraction << 64) / VAMP_SAMPLE_ALL);
    return vamp_hash_id(event->cdo_id.high, event->cdo_id.low) < limit;
}
