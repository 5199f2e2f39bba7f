/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Evaluation. A tree becomes a list of its terms, each with the next one to look at when it holds
 * and when it does not: no recursion and no node of AND, OR or NOT is left for each event.
 */
#include "filters/expression_tree.h"

/* Places at which the answer is known. */
#define HOLDS UINT32_MAX
#define FAILS (UINT32_MAX - 1)

struct step {
    const struct node *term; /* or a constant: TRUE, FALSE, or a list of no nodes */
    uint32_t yes, no;        /* the step that follows, or the answer */
};

static bool has_children(const struct node *node)
{
    return (node->kind == NODE_AND || node->kind == NODE_OR || node->kind == NODE_NOT) &&
           node->children != NULL;
}

/* NOLINTNEXTLINE(misc-no-recursion): bounded by the depth of the text. */
static uint32_t count_steps(const struct node *node)
{
    uint32_t count = 0;
    if (!has_children(node)) {
        return 1;
    }
    for (const struct node *child = node->children; child != NULL; child = child->next) {
        count += count_steps(child);
    }
    return count;
}

/* Writes the steps of a node from `at` on. */
/* NOLINTNEXTLINE(misc-no-recursion): bounded by the depth of the text. */
static void write_steps(struct step *steps, uint32_t at, const struct node *node, uint32_t yes,
                        uint32_t no)
{
    if (!has_children(node)) {
        steps[at] = (struct step){node, yes, no};
        return;
    }
    if (node->kind == NODE_NOT) {
        write_steps(steps, at, node->children, no, yes);
        return;
    }
    for (const struct node *child = node->children; child != NULL; child = child->next) {
        const uint32_t next = at + count_steps(child);
        const bool last = child->next == NULL;
        write_steps(steps, at, child, node->kind == NODE_AND && !last ? next : yes,
                    node->kind == NODE_OR && !last ? next : no);
        at = next;
    }
}

const struct step *vamp_steps_create(struct arena *arena, const struct node *node)
{
    struct step *steps = vamp_arena_alloc(arena, count_steps(node) * sizeof *steps);
    if (steps != NULL) {
        write_steps(steps, 0, node, HOLDS, FAILS);
    }
    return steps;
}

bool vamp_steps_match(const struct vamp_expression *expression, const struct step *steps,
                      vamp_lookup_fn *lookup, void *context)
{
    uint32_t at = 0;
    while (at < FAILS) {
        const struct step *step = &steps[at];
        const struct node *term = step->term;
        bool holds = term->kind == NODE_TRUE || term->kind == NODE_AND;
        if (term->kind >= NODE_HAS) {
            struct vamp_value value = {.type = VAMP_VALUE_ABSENT};
            lookup(context, term->field, term->name, &value);
            holds = vamp_term_match(expression, term, &value);
        }
        at = holds ? step->yes : step->no;
    }
    return at == HOLDS;
}

bool vamp_expression_match(const struct vamp_expression *expression, vamp_lookup_fn *lookup,
                           void *context)
{
    return vamp_steps_match(expression, expression->steps, lookup, context);
}
