/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The selector language: compiled once (all errors then, each with line and column), printed in a
 * normal form, evaluated without allocation, I/O, clock or failure. It knows nothing of events
 * or CDOs: the caller looks names up. The embedded pool manager evaluates selectors on CDO
 * attributes with it, vampire evaluates filters on events with it: same text, same meaning.
 * The grammar is in docs/filter-language.md.
 */
#ifndef VAMP_FILTERS_EXPRESSION_H
#define VAMP_FILTERS_EXPRESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vampire/core/err.h"

enum vamp_value_type {
    VAMP_VALUE_ABSENT = 0,
    VAMP_VALUE_BOOL,
    VAMP_VALUE_INT,    /* also sizes in bytes, durations and times in ns */
    VAMP_VALUE_UINT,   /* only values above INT64_MAX need it */
    VAMP_VALUE_DOUBLE,
    VAMP_VALUE_TEXT,
};

/* A value on either side of a comparison. Numbers of different types compare exactly by value;
 * a number and a text never compare: the term is false. Text is not terminated. */
struct vamp_value {
    enum vamp_value_type type;
    union {
        bool boolean;
        int64_t integer;
        uint64_t natural;
        double real;
        struct {
            const char *bytes;
            size_t length;
        } text;
    };
};

/* Looks one name up at evaluation. `field` is what `resolve` returned for the name, or -1 and the
 * full name for an attribute. Must not block or allocate. */
typedef void vamp_lookup_fn(void *context, int field, const char *name, struct vamp_value *ret);

/* What names mean at compile time. */
struct vamp_vocabulary {
    const char *prefix; /* put before names that do not begin with '.', NULL: such names are errors */
    /* The number (>= 0) and type of a well-known name (".event.kind"), -1 for none; type ABSENT:
     * any. NULL: only attributes exist. */
    int (*resolve)(void *context, const char *name, enum vamp_value_type *ret_type);
    /* Whether a name that resolve does not know is an attribute of unknown type (true) or an error. */
    bool (*attribute)(void *context, const char *name, enum vamp_value_type *ret_type);
    void *context;
};

struct vamp_expression;

/* Compiles `text`. 0; -EINVAL with "line L, column C: ..." in err; -E2BIG beyond the documented
 * bounds (64 KiB of text, depth 64, 4,096 terms); -ENOMEM. Keeps no pointer to its arguments. */
VAMP_MUST_CHECK int vamp_expression_compile(const char *text, const struct vamp_vocabulary *vocabulary,
                                            struct vamp_expression **ret_expression,
                                            struct vamp_err *err);
void vamp_expression_free(struct vamp_expression *expression);
/* True when the expression holds. A term whose field is absent is false; `not` of it is therefore
 * true. Regular expressions run under a step bound; a match that hits it is false and counted. */
bool vamp_expression_match(const struct vamp_expression *expression, vamp_lookup_fn *lookup,
                           void *context);
/* Matches cut short by the step bound so far. */
uint64_t vamp_expression_cut(const struct vamp_expression *expression);
/* Normal form, malloc'ed and terminated; NULL without memory. Compiling it gives the same again. */
char *vamp_expression_print(const struct vamp_expression *expression);

#endif
