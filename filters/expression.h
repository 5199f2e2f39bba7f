/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The selector language: compiled once (all errors then, each with line and column), printed in a
 * normal form, evaluated without allocation, I/O, clock or failure. It is independent of events and
 * CDOs: the caller resolves names. The embedded pool manager evaluates selectors on CDO attributes
 * with it, vampire evaluates filters on events with it: same text, same meaning. The grammar is in
 * docs/filter-language.md.
 *
 * Two-valued: a term whose field is absent is false, whatever its operator (`!=` too), and `not`
 * is plain negation, so `not` of such a term is true. Every set of values satisfies either a filter
 * or its negation: a filter and its `not` split a stream into exactly two parts, De Morgan's laws
 * hold, and conjuncts may be evaluated in different places (push-down).
 *
 * Threads: an expression with a regular expression owns the working memory of its matches, so one
 * expression is used by one thread at a time. Different expressions share nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vampire/core/err.h"

/* Limits of compilation; over the limit: -E2BIG with a text that names it. */
#define VAMP_EXPRESSION_TEXT_BYTES_MAX 65536 /* of one text; named filters count separately */
#define VAMP_EXPRESSION_DEPTH_MAX 64         /* nesting, references included */
#define VAMP_EXPRESSION_TERMS_MAX 4096       /* terms and list members, references expanded */
#define VAMP_EXPRESSION_PATTERN_BYTES_MAX 1024
#define VAMP_EXPRESSION_PATTERNS_MAX 64 /* regular expressions in one expression */
/* Limits of one pattern match; over the limit the term is false and counted as cut. */
#define VAMP_EXPRESSION_STEPS_MAX 100000        /* elements of the pattern that are tried */
#define VAMP_EXPRESSION_SUBJECT_BYTES_MAX 65536 /* of the text that is searched */
/* Limit of all matches of one expression together: an allowance of steps that is full at first.
 * Each match adds to it and takes its steps from it; a match that needs more steps than are left is
 * cut. */
#define VAMP_EXPRESSION_ALLOWANCE_MAX 4000000
#define VAMP_EXPRESSION_ALLOWANCE_PER_MATCH 200
#define VAMP_EXPRESSION_ALLOWANCE_PER_BYTE 2 /* of the text */

enum vamp_value_type {
    VAMP_VALUE_ABSENT = 0,
    VAMP_VALUE_BOOL,
    VAMP_VALUE_INT,  /* also sizes in bytes, durations and times in ns */
    VAMP_VALUE_UINT, /* only values above INT64_MAX need it */
    VAMP_VALUE_DOUBLE,
    VAMP_VALUE_TEXT,
};

/* A value on either side of a comparison. Numbers of different types compare exactly by value (a
 * NaN differs from everything, as in IEEE 754); values of different sorts (a number and a text, a
 * boolean and a number) never compare: the term is false. Text is any bytes, not terminated,
 * compared byte by byte. */
struct vamp_value {
    enum vamp_value_type type;
    uint32_t number; /* the same for this TEXT in every lookup of an expression; 0: unknown */
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

static inline struct vamp_value vamp_value_natural(uint64_t natural)
{
    return natural > INT64_MAX
               ? (struct vamp_value){.type = VAMP_VALUE_UINT, .natural = natural}
               : (struct vamp_value){.type = VAMP_VALUE_INT, .integer = (int64_t)natural};
}

/* Looks up one name at evaluation. `field` is the result of `resolve` for the name, or -1 with the
 * full name for an attribute. Fills `*ret`, which is all zero (type ABSENT: no value); a text must
 * stay valid until the next lookup. Must not block or allocate. */
typedef void vamp_lookup_fn(void *context, int field, const char *name, struct vamp_value *ret);

/* The notation of a field's values: decides which literals are accepted and how the normal form
 * prints them; the value itself is plain. */
enum vamp_notation {
    VAMP_NOTATION_PLAIN = 0,
    VAMP_NOTATION_SIZE,     /* bytes: 1MiB, or a plain number */
    VAMP_NOTATION_DURATION, /* ns: 5ms; the unit is required */
    VAMP_NOTATION_TIME,     /* ns since 1970, UTC: RFC 3339 */
    VAMP_NOTATION_ID,       /* text: 32 hexadecimal digits, dashes are ignored; only = != in */
};

/* A well-known field. */
struct vamp_field {
    enum vamp_value_type type; /* ABSENT: any */
    enum vamp_notation notation;
    /* The only texts it can have, ended by NULL; other texts are errors, case is ignored and
     * corrected. NULL: any. */
    const char *const *choices;
};

/* The meaning of names at compile time. All but `context` may be NULL. */
struct vamp_vocabulary {
    const char *prefix; /* put before names without a leading '.'; NULL: such names are errors */
    /* The number (>= 0) of a well-known name (".event.kind") and its field, -1: unknown. NULL:
     * only attributes exist. */
    int (*resolve)(void *context, const char *name, struct vamp_field *ret_field);
    /* A name unknown to resolve is an attribute of unknown type if it begins with this, else an
     * error. NULL: every such name is an attribute. */
    const char *attributes;
    /* The text of the filter `@name`, NULL if there is none; valid until
     * vamp_expression_compile returns. NULL: references are errors. */
    const char *(*named)(void *context, const char *name);
    /* Names for "did you mean" and lists of allowed names, ended by NULL; NULL: none. */
    const char *const *field_names;
    const char *const *filter_names;
    void *context;
};

struct vamp_expression;

/* Compiles `text`. 0; -EINVAL with "line L, column C: ..." in err (columns count characters
 * from 1); -E2BIG over the limits above; -ENOMEM. Keeps no pointer to its arguments. */
VAMP_MUST_CHECK int vamp_expression_compile(const char *text,
                                            const struct vamp_vocabulary *vocabulary,
                                            struct vamp_expression **ret_expression,
                                            struct vamp_err *err);
/* `expression` may be NULL. */
void vamp_expression_free(struct vamp_expression *expression);
/* Whether the expression holds. A pattern match that reaches a limit is false and counted each
 * time. Allocates nothing. One thread at a time, although the expression is const: matching
 * uses its working memory. */
bool vamp_expression_match(const struct vamp_expression *expression, vamp_lookup_fn *lookup,
                           void *context);
/* Pattern matches cut short by a limit so far. */
uint64_t vamp_expression_cut(const struct vamp_expression *expression);
/* Normal form, one line, references expanded, malloc'ed and terminated; NULL: out of memory.
 * Compiling it gives an expression of the same meaning that prints the same. */
char *vamp_expression_print(const struct vamp_expression *expression);
