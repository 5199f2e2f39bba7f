/* SPDX-License-Identifier: BSD-3-Clause */
/* Terms on one name that no value can satisfy together. */
#include <assert.h>
#include <string.h>

#include "filters/expression_tree.h"

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

bool vamp_conjuncts_contradict(const struct vamp_expression *expression,
                               const struct node *conjuncts)
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
