/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random filters with a meaning that was not computed by the code under test: a tree that prints
 * itself as text and evaluates itself in the simplest way. One thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum random_sort { RANDOM_ABSENT, RANDOM_NUMBER, RANDOM_TEXT, RANDOM_BOOL };

/* A value and how it is written. */
struct random_value {
    enum random_sort sort;
    double number; /* NUMBER, BOOL (0 or 1) */
    const char *text;
    const char *written;
};

struct random_field {
    const char *name;
    bool ordered; /* < makes sense */
    size_t value_count;
    struct random_value values[8];
};

struct random_node;
struct random_filter {
    const struct random_field *fields;
    size_t field_count;
    uint64_t seed; /* moves on */
    struct random_node *nodes;
    size_t used;
};

/* xorshift; never 0 from a seed that is not. */
uint64_t random_next(uint64_t *seed);
/* Below `bound`. */
size_t random_below(uint64_t *seed, size_t bound);

#define RANDOM_NODES_MAX 256
#define RANDOM_TEXT_BYTES 32768

/* Grows a new filter, the previous one is gone. Returns its root. `nodes` holds RANDOM_NODES_MAX.
 */
const struct random_node *random_filter_grow(struct random_filter *filter, unsigned depth);
struct random_node *random_nodes_create(void);
/* The text with random blanks, terminated. */
void random_filter_print(struct random_filter *filter, const struct random_node *node,
                         char text[static RANDOM_TEXT_BYTES]);
/* The meaning: `values[i]` is what field i has. */
bool random_filter_holds(const struct random_filter *filter, const struct random_node *node,
                         const struct random_value *values);
