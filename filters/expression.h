/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The selector language. An expression is compiled once, which reports all errors with line and
 * column; it can be printed in a normal form; and its evaluation never allocates, does I/O, reads a
 * clock or fails. The language is independent of events and CDOs: the caller resolves names. The
 * embedded pool manager evaluates selectors on CDO attributes and vampire evaluates filters on
 * events with this code, so a text has the same meaning in both. The grammar is in
 * docs/filter-language.md.
 *
 * The logic is two-valued: a term whose field is absent is false for every operator (`!=` too), and
 * `not` is plain negation, so `not` applied to such a term is true. Every set of values satisfies
 * either a filter or its negation: a filter and its `not` partition a stream, De Morgan's laws
 * hold, and conjuncts may be evaluated in different places (push-down).
 *
 * Threads: an expression owns the working memory of its pattern matches, so only one thread at a
 * time may use it. Different expressions share nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vampire/core/err.h"

/* Limits of compilation; texts over a limit are rejected with -E2BIG and a text that names the
 * limit. */
#define VAMP_EXPRESSION_TEXT_BYTES_MAX 65536 /* main text or one named filter */
#define VAMP_EXPRESSION_DEPTH_MAX 64         /* nesting depth, including references */
#define VAMP_EXPRESSION_TERMS_MAX 4096       /* terms and list members, with references expanded */
#define VAMP_EXPRESSION_PATTERN_BYTES_MAX 1024
#define VAMP_EXPRESSION_PATTERNS_MAX 64 /* regular expressions in one expression */
/* Limits of one pattern match. A match over a limit is false and counted by vamp_expression_cut. */
#define VAMP_EXPRESSION_STEPS_MAX 100000        /* attempts to match an element of the pattern */
#define VAMP_EXPRESSION_SUBJECT_BYTES_MAX 65536 /* bytes of text that are searched */
/* Limit shared by all matches of one expression: a budget of steps, which is full at first. Each
 * match adds to the budget and pays its steps from it; a match that needs more steps than are left
 * is aborted. */
#define VAMP_EXPRESSION_ALLOWANCE_MAX 4000000
#define VAMP_EXPRESSION_ALLOWANCE_PER_MATCH 200
#define VAMP_EXPRESSION_ALLOWANCE_PER_BYTE 2 /* steps added per byte of text */

enum vamp_value_type {
    VAMP_VALUE_ABSENT = 0,
    VAMP_VALUE_BOOL,
    VAMP_VALUE_INT,  /* also sizes in bytes, durations and times in ns */
    VAMP_VALUE_UINT, /* used only for values above INT64_MAX */
    VAMP_VALUE_DOUBLE,
    VAMP_VALUE_TEXT,
};

/* A value on either side of a comparison. Numbers of different types compare exactly by value (a
 * NaN differs from everything, as in IEEE 754). Values of different categories (a number and a
 * text, a boolean and a number) do not compare: the term is false. A text is a sequence of any
 * bytes, not terminated, compared byte by byte. */
struct vamp_value {
    enum vamp_value_type type;
    uint32_t number; /* identifies this TEXT in all lookups of an expression; 0: unknown */
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
 * full name for an attribute. `*ret` is all zeros (type ABSENT: no value) at the call. A text must
 * stay valid until the next lookup. Must not block or allocate. */
typedef void vamp_lookup_fn(void *context, int field, const char *name, struct vamp_value *ret);

/* The notation of a field's values: determines which literals are accepted and how the normal form
 * prints them. The value itself is a plain number or text. */
enum vamp_notation {
    VAMP_NOTATION_PLAIN = 0,
    VAMP_NOTATION_SIZE,     /* bytes: 1MiB, or a plain number */
    VAMP_NOTATION_DURATION, /* ns: 5ms; a unit is required */
    VAMP_NOTATION_TIME,     /* ns since 1970, UTC: RFC 3339 */
    VAMP_NOTATION_ID, /* text: 32 hexadecimal digits, dashes are ignored; only the operators = != in
                       */
};

/* A well-known field. */
struct vamp_field {
    enum vamp_value_type type; /* ABSENT: any type */
    enum vamp_notation notation;
    /* The permitted texts, ended by NULL; other texts are errors, and case is corrected. NULL: any
     * text. */
    const char *const *choices;
};

/* The meaning of names at compile time. All members except `context` may be NULL. */
struct vamp_vocabulary {
    const char *prefix; /* prepended to names without a leading '.'; NULL: such names are errors */
    /* Returns the number (>= 0) of a well-known name (".event.kind") and its field; -1: unknown.
     * NULL: only attributes exist. */
    int (*resolve)(void *context, const char *name, struct vamp_field *ret_field);
    /* A name unknown to `resolve` is an attribute of unknown type if it begins with this prefix,
     * else an error. NULL: every such name is an attribute. */
    const char *attributes;
    /* Returns the text of the filter `@name`, valid until vamp_expression_compile returns; NULL: no
     * such filter. If the member is NULL, references are errors. */
    const char *(*named)(void *context, const char *name);
    /* Names for suggestions and lists of permitted names, ended by NULL; NULL: none. */
    const char *const *field_names;
    const char *const *filter_names;
    void *context;
};

struct vamp_expression;

/* Compiles `text`. Returns 0; -EINVAL with "line L, column C: ..." in err (columns count characters
 * from 1); -E2BIG if over a limit above; -ENOMEM. Keeps no pointer to its arguments. */
VAMP_MUST_CHECK int vamp_expression_compile(const char *text,
                                            const struct vamp_vocabulary *vocabulary,
                                            struct vamp_expression **ret_expression,
                                            struct vamp_err *err);
/* Frees the expression, which may be NULL. */
void vamp_expression_free(struct vamp_expression *expression);
/* Returns whether the expression is true. A pattern match that reaches a limit is false and is
 * counted each time. Allocates nothing. One thread at a time, although the expression is const:
 * matching uses its working memory. */
bool vamp_expression_match(const struct vamp_expression *expression, vamp_lookup_fn *lookup,
                           void *context);
/* Returns the number of pattern matches that reached a limit so far. */
uint64_t vamp_expression_cut(const struct vamp_expression *expression);
/* Returns the normal form on one line with references expanded, to be freed by the caller; NULL:
 * out of memory. Compiling it yields an equivalent expression with the same normal form. */
char *vamp_expression_print(const struct vamp_expression *expression);
