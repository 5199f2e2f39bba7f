/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Evaluation: whether one term holds for a value, and whether the tree does. The tree becomes a
 * list of its terms, each with the next one to look at when it holds and when it does not: no
 * recursion and no node of AND, OR or NOT is left for each event.
 */
#include "filters/expression_tree.h"

#include <math.h>
#include <string.h>

/* The order of two values. NONE: they are of different sorts, which do not compare. */
enum order {
    ORDER_LESS,
    ORDER_EQUAL,
    ORDER_GREATER,
    ORDER_DIFFERENT, /* a NaN, or booleans */
    ORDER_NONE,
};

static enum order order_of(bool less, bool greater)
{
    return less ? ORDER_LESS : greater ? ORDER_GREATER : ORDER_EQUAL;
}

static enum order reverse(enum order order)
{
    return order == ORDER_LESS ? ORDER_GREATER : order == ORDER_GREATER ? ORDER_LESS : order;
}

/* An INT against a UINT. */
static enum order compare_mixed(int64_t integer, uint64_t natural)
{
    if (integer < 0) {
        return ORDER_LESS;
    }
    return order_of((uint64_t)integer<natural, (uint64_t)integer> natural);
}

static enum order compare_whole(const struct vamp_value *a, const struct vamp_value *b)
{
    if (a->type == VAMP_VALUE_INT) {
        return b->type == VAMP_VALUE_INT ? order_of(a->integer<b->integer, a->integer> b->integer)
                                         : compare_mixed(a->integer, b->natural);
    }
    return b->type == VAMP_VALUE_INT ? reverse(compare_mixed(b->integer, a->natural))
                                     : order_of(a->natural<b->natural, a->natural> b->natural);
}

/* Exact: a double is never rounded to compare it with a whole number, nor the other way round. */
static enum order compare_double_whole(double real, const struct vamp_value *whole)
{
    if (isnan(real)) {
        return ORDER_DIFFERENT;
    }
    if (real < -0x1p63) {
        return ORDER_LESS;
    }
    if (real >= 0x1p64) {
        return ORDER_GREATER;
    }
    double down = floor(real);
    struct vamp_value floored = {.type = VAMP_VALUE_INT};
    if (down >= 0x1p63) {
        floored = (struct vamp_value){.type = VAMP_VALUE_UINT, .natural = (uint64_t)down};
    } else {
        floored.integer = (int64_t)down;
    }
    enum order order = compare_whole(&floored, whole);
    return order == ORDER_EQUAL && real > down ? ORDER_GREATER : order;
}

static bool is_number(const struct vamp_value *value)
{
    return value->type == VAMP_VALUE_INT || value->type == VAMP_VALUE_UINT ||
           value->type == VAMP_VALUE_DOUBLE;
}

static enum order compare_numbers(const struct vamp_value *a, const struct vamp_value *b)
{
    if (a->type != VAMP_VALUE_DOUBLE) {
        return b->type != VAMP_VALUE_DOUBLE ? compare_whole(a, b)
                                            : reverse(compare_double_whole(b->real, a));
    }
    if (b->type != VAMP_VALUE_DOUBLE) {
        return compare_double_whole(a->real, b);
    }
    return isnan(a->real) || isnan(b->real) ? ORDER_DIFFERENT
                                            : order_of(a->real<b->real, a->real> b->real);
}

static enum order compare_texts(const struct vamp_value *a, const struct vamp_value *b)
{
    size_t common = a->text.length < b->text.length ? a->text.length : b->text.length;
    int order = common > 0 ? memcmp(a->text.bytes, b->text.bytes, common) : 0;
    if (order != 0) {
        return order_of(order<0, order> 0);
    }
    return order_of(a->text.length<b->text.length, a->text.length> b->text.length);
}

/* Not inlined: most comparisons are of whole numbers. */
static __attribute__((noinline)) enum order compare_any(const struct vamp_value *a,
                                                        const struct vamp_value *b)
{
    if (is_number(a) && is_number(b)) {
        return compare_numbers(a, b);
    }
    if (a->type != b->type || a->type == VAMP_VALUE_ABSENT) {
        return ORDER_NONE;
    }
    return a->type == VAMP_VALUE_TEXT ? compare_texts(a, b)
           : a->boolean == b->boolean ? ORDER_EQUAL
                                      : ORDER_DIFFERENT;
}

static inline enum order compare(const struct vamp_value *a, const struct vamp_value *b)
{
    return a->type == VAMP_VALUE_INT && b->type == VAMP_VALUE_INT
               ? order_of(a->integer<b->integer, a->integer> b->integer)
               : compare_any(a, b);
}

static bool holds(enum comparison comparison, enum order order)
{
    switch (comparison) {
    case COMPARE_EQ:
        return order == ORDER_EQUAL;
    case COMPARE_NE:
        return order != ORDER_EQUAL && order != ORDER_NONE;
    case COMPARE_LT:
        return order == ORDER_LESS;
    case COMPARE_LE:
        return order == ORDER_LESS || order == ORDER_EQUAL;
    case COMPARE_GT:
        return order == ORDER_GREATER;
    case COMPARE_GE:
        return order == ORDER_GREATER || order == ORDER_EQUAL;
    }
    return false;
}

static bool is_in(const struct vamp_value *value, const struct literal *list)
{
    for (; list != NULL; list = list->next) {
        if (compare(value, &list->value) == ORDER_EQUAL) {
            return true;
        }
    }
    return false;
}

/* 1: it matches; 0: it does not; -1: out of steps, of which `*steps` remain. */
static int match_pattern(const struct vamp_expression *expression, const struct node *term,
                         const struct vamp_value *value, unsigned *steps)
{
    if (term->kind == NODE_REGEX) {
        return vamp_regex_match(expression, term->regex, value->text.bytes, value->text.length,
                                steps);
    }
    const struct vamp_value *pattern = &term->literals->value;
    const bool matches = vamp_glob_match(pattern->text.bytes, pattern->text.length,
                                         value->text.bytes, value->text.length, steps);
    return matches ? 1 : *steps == 0 ? -1 : 0;
}

/* A text whose result is not known. Not inlined: most results are. */
static __attribute__((noinline)) bool match_new_text(const struct vamp_expression *expression,
                                                     const struct node *term,
                                                     const struct vamp_value *value)
{
    struct tally *tally = expression->tally;
    if (value->text.length > VAMP_EXPRESSION_SUBJECT_BYTES_MAX) {
        tally->cut++;
        return false;
    }
    tally->allowance += VAMP_EXPRESSION_ALLOWANCE_PER_MATCH +
                        VAMP_EXPRESSION_ALLOWANCE_PER_BYTE * (unsigned)value->text.length;
    if (tally->allowance > VAMP_EXPRESSION_ALLOWANCE_MAX) {
        tally->allowance = VAMP_EXPRESSION_ALLOWANCE_MAX;
    }
    const unsigned allowed =
        tally->allowance < VAMP_EXPRESSION_STEPS_MAX ? tally->allowance : VAMP_EXPRESSION_STEPS_MAX;
    unsigned left = allowed;
    const int outcome = match_pattern(expression, term, value, &left);
    tally->allowance -= allowed - left;
    if (outcome < 0) {
        tally->cut++;
        return false;
    }
    if (term->memo != NULL && value->number != 0) {
        term->memo[value->number % MEMO_ENTRIES] = (uint64_t)value->number << 1 | (outcome > 0);
    }
    return outcome > 0;
}

static bool matches_pattern(const struct vamp_expression *expression, const struct node *term,
                            const struct vamp_value *value)
{
    if (value->type != VAMP_VALUE_TEXT) {
        return false;
    }
    const uint64_t entry = term->memo != NULL ? term->memo[value->number % MEMO_ENTRIES] : 0;
    return value->number == 0 || entry >> 1 != value->number
               ? match_new_text(expression, term, value)
               : (entry & 1) != 0;
}

bool vamp_term_match(const struct vamp_expression *expression, const struct node *term,
                     const struct vamp_value *value)
{
    if (value->type == VAMP_VALUE_ABSENT) {
        return false;
    }
    switch (term->kind) {
    case NODE_HAS:
        return true;
    case NODE_COMPARE:
        return holds(term->comparison, compare(value, &term->literals->value));
    case NODE_IN:
        return is_in(value, term->literals);
    case NODE_GLOB:
    case NODE_REGEX:
        return matches_pattern(expression, term, value);
    case NODE_TRUE:
    case NODE_FALSE:
    case NODE_AND:
    case NODE_OR:
    case NODE_NOT:
        break;
    }
    return false;
}

/* ---- the whole */

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
