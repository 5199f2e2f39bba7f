/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/lib/random_filter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum node_sort {
    SORT_TRUE,
    SORT_FALSE,
    SORT_AND,
    SORT_OR,
    SORT_NOT,
    SORT_HAS,
    SORT_COMPARE,
    SORT_IN
};

#define CHILDREN_MAX 3

struct random_node {
    enum node_sort sort;
    struct random_node *children[CHILDREN_MAX]; /* until NULL */
    size_t field, comparison;
    size_t literals[CHILDREN_MAX], literal_count;
};

static const char *const comparisons[] = {"=", "!=", "<", "<=", ">", ">="};

uint64_t random_next(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

size_t random_below(uint64_t *seed, size_t bound)
{
    return (size_t)((random_next(seed) >> 11) % bound);
}

struct random_node *random_nodes_create(void)
{
    return calloc(RANDOM_NODES_MAX, sizeof(struct random_node));
}

static void grow_term(struct random_filter *filter, struct random_node *node)
{
    node->field = random_below(&filter->seed, filter->field_count);
    const struct random_field *field = &filter->fields[node->field];
    size_t choice = random_below(&filter->seed, 8);
    node->sort = choice == 0 ? SORT_HAS : choice < 3 ? SORT_IN : SORT_COMPARE;
    node->comparison = random_below(&filter->seed, field->ordered ? 6 : 2);
    node->literal_count = node->sort == SORT_IN ? 1 + random_below(&filter->seed, CHILDREN_MAX) : 1;
    for (size_t i = 0; i < node->literal_count; i++) {
        node->literals[i] = random_below(&filter->seed, field->value_count);
    }
    /* A boolean has no order, even where the field may have others. */
    if (field->values[node->literals[0]].sort == RANDOM_BOOL) {
        node->comparison %= 2;
    }
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as it was grown. */
static struct random_node *grow(struct random_filter *filter, unsigned depth)
{
    struct random_node *node = &filter->nodes[filter->used++];
    memset(node, 0, sizeof(*node));
    size_t choice = random_below(&filter->seed, 20);
    if (choice < 2 && depth < 3) {
        node->sort = choice == 0 ? SORT_TRUE : SORT_FALSE;
        return node;
    }
    if (depth == 0 || choice < 6 || filter->used + CHILDREN_MAX >= RANDOM_NODES_MAX) {
        grow_term(filter, node);
        return node;
    }
    node->sort = choice < 11 ? SORT_AND : choice < 16 ? SORT_OR : SORT_NOT;
    size_t count = node->sort == SORT_NOT ? 1 : 1 + random_below(&filter->seed, CHILDREN_MAX);
    for (size_t i = 0; i < count && filter->used + CHILDREN_MAX < RANDOM_NODES_MAX; i++) {
        node->children[i] = grow(filter, depth - 1);
    }
    if (node->children[0] == NULL) {
        node->sort = SORT_TRUE;
    }
    return node;
}

const struct random_node *random_filter_grow(struct random_filter *filter, unsigned depth)
{
    filter->used = 0;
    return grow(filter, depth);
}

static void put(char *text, const char *piece)
{
    size_t used = strlen(text);
    (void)snprintf(text + used, RANDOM_TEXT_BYTES - used, "%s", piece);
}

static void put_blank(struct random_filter *filter, char *text, bool needed)
{
    static const char *const blanks[] = {" ", "  ", "\n", "\t", " ; comment ()\"\n"};
    if (needed || random_below(&filter->seed, 3) > 0) {
        put(text,
            blanks[random_below(&filter->seed, 12) % (random_below(&filter->seed, 4) ? 1 : 5)]);
    }
}

static void print_term(struct random_filter *filter, const struct random_node *node, char *text)
{
    const struct random_field *field = &filter->fields[node->field];
    put(text, node->sort == SORT_HAS ? "has " : "");
    put(text, field->name);
    if (node->sort == SORT_HAS) {
        return;
    }
    put_blank(filter, text, node->sort == SORT_IN);
    put(text, node->sort == SORT_IN ? "in" : comparisons[node->comparison]);
    put_blank(filter, text, false);
    put(text, node->sort == SORT_IN ? "(" : "");
    for (size_t i = 0; i < node->literal_count; i++) {
        put(text, i > 0 ? " " : "");
        put(text, field->values[node->literals[i]].written);
    }
    put(text, node->sort == SORT_IN ? ")" : "");
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as it was grown. */
static void print(struct random_filter *filter, const struct random_node *node, char *text)
{
    static const char *const words[] = {"true", "false", "and", "or", "not"};
    if (node->sort == SORT_TRUE || node->sort == SORT_FALSE) {
        put(text, words[node->sort]);
        return;
    }
    put(text, "(");
    put_blank(filter, text, false);
    if (node->sort >= SORT_HAS) {
        print_term(filter, node, text);
    } else {
        put(text, words[node->sort]);
        for (size_t i = 0; i < CHILDREN_MAX && node->children[i] != NULL; i++) {
            put_blank(filter, text, node->children[i]->sort <= SORT_FALSE || i > 0);
            print(filter, node->children[i], text);
        }
    }
    put_blank(filter, text, false);
    put(text, ")");
}

void random_filter_print(struct random_filter *filter, const struct random_node *node,
                         char text[static RANDOM_TEXT_BYTES])
{
    text[0] = '\0';
    print(filter, node, text);
}

static bool term_holds(const struct random_value *value, size_t comparison,
                       const struct random_value *literal)
{
    if (value->sort != literal->sort) {
        return false;
    }
    int order = value->sort == RANDOM_TEXT
                    ? strcmp(value->text, literal->text)
                    : (value->number > literal->number) - (value->number < literal->number);
    const bool holds[] = {order == 0, order != 0, order<0, order <= 0, order> 0, order >= 0};
    return holds[comparison];
}

/* NOLINTNEXTLINE(misc-no-recursion): as deep as it was grown. */
bool random_filter_holds(const struct random_filter *filter, const struct random_node *node,
                         const struct random_value *values)
{
    const struct random_value *value = &values[node->field];
    bool all = true, any = false;
    for (size_t i = 0; i < CHILDREN_MAX && node->children[i] != NULL; i++) {
        bool holds = random_filter_holds(filter, node->children[i], values);
        all = all && holds;
        any = any || holds;
    }
    for (size_t i = 0; i < node->literal_count && value->sort != RANDOM_ABSENT; i++) {
        const struct random_value *literal = &filter->fields[node->field].values[node->literals[i]];
        any = any || term_holds(value, node->sort == SORT_IN ? 0 : node->comparison, literal);
    }
    switch (node->sort) {
    case SORT_TRUE:
        return true;
    case SORT_FALSE:
        return false;
    case SORT_AND:
        return all;
    case SORT_NOT:
        return !all;
    case SORT_HAS:
        return value->sort != RANDOM_ABSENT;
    case SORT_OR:
    case SORT_COMPARE:
    case SORT_IN:
        return any;
    }
    return false;
}
