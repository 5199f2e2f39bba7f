/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Evaluation of terms and of the tree. The tree is flattened into a list of its terms, each with
 * the next step for a true and for a false result, so that there is no recursion and no AND, OR or
 * NOT node at run time.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "filters/expression_tree.h"
#include "vampire/core/hash.h"
#include "vampire/core/values.h"

/* The order of two values. NONE: values of different categories, which do not compare. */
enum order {
    ORDER_LESS,
    ORDER_EQUAL,
    ORDER_GREATER,
    ORDER_DIFFERENT, /* one is a NaN, or they are unequal booleans */
    ORDER_NONE,
};

static enum order order_of(bool less, bool greater)
{
    if (less) {
        return ORDER_LESS;
    }
    return greater ? ORDER_GREATER : ORDER_EQUAL;
}

_Static_assert(LDBL_MANT_DIG >= 64, "a long double represents every 64-bit integer and double");

static long double exact(const struct vamp_value *value)
{
    if (value->type == VAMP_VALUE_DOUBLE) {
        return (long double)value->real;
    }
    return value->type == VAMP_VALUE_INT ? (long double)value->integer
                                         : (long double)value->natural;
}

static bool is_number(const struct vamp_value *value)
{
    return value->type >= VAMP_VALUE_INT && value->type <= VAMP_VALUE_DOUBLE;
}

static enum order compare_texts(const struct vamp_value *a, const struct vamp_value *b)
{
    size_t common = VAMP_MIN(a->text.length, b->text.length);
    int order = common > 0 ? memcmp(a->text.bytes, b->text.bytes, common) : 0;
    if (order != 0) {
        return order_of(order<0, order> 0);
    }
    return order_of(a->text.length<b->text.length, a->text.length> b->text.length);
}

/* Not inlined: most comparisons are between integers. */
static __attribute__((noinline)) enum order compare_any(const struct vamp_value *a,
                                                        const struct vamp_value *b)
{
    if (is_number(a) && is_number(b)) {
        const long double left = exact(a), right = exact(b);
        if (isunordered(left, right)) {
            return ORDER_DIFFERENT;
        }
        return order_of(left<right, left> right);
    }
    if (a->type != b->type || a->type == VAMP_VALUE_ABSENT) {
        return ORDER_NONE;
    }
    if (a->type == VAMP_VALUE_TEXT) {
        return compare_texts(a, b);
    }
    return a->boolean == b->boolean ? ORDER_EQUAL : ORDER_DIFFERENT;
}

static inline enum order compare(const struct vamp_value *a, const struct vamp_value *b)
{
    if (a->type == VAMP_VALUE_INT && b->type == VAMP_VALUE_INT) {
        return order_of(a->integer<b->integer, a->integer> b->integer);
    }
    return compare_any(a, b);
}

/* For each comparison, the orders of field value and literal for which it is true. */
#define ORDER_BIT(order) (1U << (order))
static const unsigned char orders[] = {
    [NODE_EQ] = ORDER_BIT(ORDER_EQUAL),
    [NODE_NE] = ORDER_BIT(ORDER_LESS) | ORDER_BIT(ORDER_GREATER) | ORDER_BIT(ORDER_DIFFERENT),
    [NODE_LT] = ORDER_BIT(ORDER_LESS),
    [NODE_LE] = ORDER_BIT(ORDER_LESS) | ORDER_BIT(ORDER_EQUAL),
    [NODE_GT] = ORDER_BIT(ORDER_GREATER),
    [NODE_GE] = ORDER_BIT(ORDER_GREATER) | ORDER_BIT(ORDER_EQUAL),
};

static bool is_in(const struct vamp_value *value, const struct literal *list)
{
    for (; list != NULL; list = list->next) {
        if (compare(value, &list->value) == ORDER_EQUAL) {
            return true;
        }
    }
    return false;
}

/* Returns 1: match; 0: no match; -1: out of steps. `*steps` is decremented. */
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
    if (matches) {
        return 1;
    }
    return *steps == 0 ? -1 : 0;
}

int vamp_pattern_match(const struct vamp_expression *expression, const struct node *term,
                       const struct vamp_value *value)
{
    struct tally *tally = expression->tally;
    if (value->text.length > VAMP_EXPRESSION_SUBJECT_BYTES_MAX) {
        tally->cut++;
        return -1;
    }
    tally->allowance += VAMP_EXPRESSION_ALLOWANCE_PER_MATCH +
                        VAMP_EXPRESSION_ALLOWANCE_PER_BYTE * (unsigned)value->text.length;
    if (tally->allowance > VAMP_EXPRESSION_ALLOWANCE_MAX) {
        tally->allowance = VAMP_EXPRESSION_ALLOWANCE_MAX;
    }
    unsigned allowed = VAMP_EXPRESSION_STEPS_MAX;
    if (tally->allowance < allowed) {
        allowed = tally->allowance;
    }
    unsigned left = allowed;
    const int outcome = match_pattern(expression, term, value, &left);
    tally->allowance -= allowed - left;
    tally->cut += outcome < 0;
    return outcome;
}

/* Matches a text whose result is not in the memo. Not inlined: most results are in the memo. */
static __attribute__((noinline)) bool match_new_text(const struct vamp_expression *expression,
                                                     const struct node *term,
                                                     const struct vamp_value *value,
                                                     uint64_t known[2], uint64_t fresh)
{
    const int outcome = vamp_pattern_match(expression, term, value);
    if (outcome >= 0) {
        known[1] = known[0];
        known[0] = fresh | (uint64_t)outcome;
    }
    return outcome > 0;
}

/* Returns the hash of a text, and stores the hash for the next term, which often matches the same
 * text. Not inlined: most values already include a hash in `number`. */
static __attribute__((noinline)) uint64_t hash_text(struct tally *tally,
                                                    const struct vamp_value *value)
{
    if (value->text.bytes != tally->hashed || value->text.length != tally->hashed_length) {
        tally->hashed = value->text.bytes;
        tally->hashed_length = value->text.length;
        tally->hash =
            vamp_hash_bytes(tally->seed, vamp_text_or(value->text.bytes, ""), value->text.length);
    }
    return tally->hash;
}

static inline bool matches_pattern(const struct vamp_expression *expression,
                                   const struct node *term, const struct vamp_value *value)
{
    if (value->type != VAMP_VALUE_TEXT) {
        return false;
    }
    const uint64_t hash = vamp_hash_word(
        term->seed, value->number != 0 ? value->number : hash_text(expression->tally, value));
    uint64_t *known = &expression->memo[hash % (MEMO_ENTRIES / 2) * 2];
    const uint64_t fresh = (hash | 2) & ~UINT64_C(1);
    for (unsigned i = 0; i < 2; i++) {
        if ((known[i] & ~UINT64_C(1)) == fresh) {
            return (known[i] & 1) != 0;
        }
    }
    return match_new_text(expression, term, value, known, fresh);
}

static inline __attribute__((always_inline)) bool
match_term(const struct vamp_expression *expression, const struct node *term,
           const struct vamp_value *value)
{
    if (value->type == VAMP_VALUE_ABSENT) {
        return false;
    }
    if (term->kind >= NODE_EQ) {
        return (orders[term->kind] >> compare(value, &term->literals->value) & 1U) != 0;
    }
    if (term->kind == NODE_HAS) {
        return true;
    }
    return term->kind == NODE_IN ? is_in(value, term->literals)
                                 : matches_pattern(expression, term, value);
}

bool vamp_term_match(const struct vamp_expression *expression, const struct node *term,
                     const struct vamp_value *value)
{
    return match_term(expression, term, value);
}

/* ---- the tree as a list of terms */

/* The results, used as the number of the next step. */
#define HOLDS UINT32_MAX
#define FAILS (UINT32_MAX - 1)

struct step {
    const struct node *term; /* a term, or a constant: TRUE, FALSE, or an empty list of nodes */
    uint32_t yes, no;        /* number of the next step, or the result */
};

/* NOLINTNEXTLINE(misc-no-recursion): bounded by the depth of the text. */
static uint32_t count_steps(const struct node *node)
{
    uint32_t count = 0;
    if (node->children == NULL) {
        return 1;
    }
    for (const struct node *child = node->children; child != NULL; child = child->next) {
        count += count_steps(child);
    }
    return count;
}

/* Writes the steps of a node, beginning at index `at`. */
/* NOLINTNEXTLINE(misc-no-recursion): bounded by the depth of the text. */
static void write_steps(struct step *steps, uint32_t at, const struct node *node, uint32_t yes,
                        uint32_t no)
{
    if (node->children == NULL) {
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
        uint32_t child_yes = yes, child_no = no;
        if (node->kind == NODE_AND && !last) {
            child_yes = next;
        }
        if (node->kind == NODE_OR && !last) {
            child_no = next;
        }
        write_steps(steps, at, child, child_yes, child_no);
        at = next;
    }
}

const struct step *vamp_steps_create(struct compiler *compiler, const struct node *node)
{
    struct step *steps = vamp_compile_alloc(compiler, count_steps(node) * sizeof *steps);
    if (steps != NULL) {
        write_steps(steps, 0, node, HOLDS, FAILS);
    }
    return steps;
}

bool vamp_steps_match(const struct vamp_expression *expression, const struct step *steps,
                      vamp_lookup_fn *lookup, void *context)
{
    uint32_t at = 0;
    expression->tally->hashed_length = SIZE_MAX;
    while (at < FAILS) {
        const struct step *step = &steps[at];
        const struct node *term = step->term;
        bool holds = term->kind == NODE_TRUE || term->kind == NODE_AND;
        if (term->kind >= NODE_HAS) {
            struct vamp_value value = {.type = VAMP_VALUE_ABSENT};
            lookup(context, term->field, term->name, &value);
            holds = match_term(expression, term, &value);
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
