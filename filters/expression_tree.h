/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Internals of the expression compiler: tokens, the tree and its memory. Internal to filters/. All
 * nodes, names and texts of one expression are allocated in its arena and freed with it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "filters/expression.h"
#include "vampire/core/err.h"

/* ---- memory: many small allocations, freed together */
struct arena_chunk;
struct arena {
    struct arena_chunk *chunks;
};
/* Returns zeroed, aligned memory; NULL: out of memory. */
void *vamp_arena_alloc(struct arena *arena, size_t bytes);
void vamp_arena_done(struct arena *arena);

/* ---- the tree */
enum node_kind {
    NODE_NONE,
    NODE_TRUE,
    NODE_FALSE,
    NODE_AND,
    NODE_OR,
    NODE_NOT,
    NODE_HAS, /* this and all following kinds are terms */
    NODE_IN,
    NODE_GLOB,
    NODE_REGEX,
    NODE_EQ, /* this and all following kinds are comparisons */
    NODE_NE,
    NODE_LT,
    NODE_LE,
    NODE_GT,
    NODE_GE,
    NODE_KIND_COUNT,
};
/* The keyword or operator of each kind. */
extern const char *const vamp_node_words[NODE_KIND_COUNT];

/* A position in a text: line and column count from 1, columns in characters. `filter` is the named
 * filter that contains the text; NULL: the main text. */
struct position {
    uint32_t line, column;
    const char *filter;
};

/* A constant in the text; the notation determines how it is printed. */
struct literal {
    struct vamp_value value;
    enum vamp_notation notation;
    struct literal *next;
};

#define MEMO_ENTRIES 8192U

struct node {
    enum node_kind kind;
    struct position at;
    /* AND, OR, NOT: children in order. */
    struct node *children, *next;
    /* Terms. */
    int field;
    const char *name; /* full name */
    struct literal *literals;
    struct regex *regex; /* REGEX */
    uint64_t seed;       /* GLOB, REGEX: distinguishes the pattern from others in the memo */
};

struct tally {
    uint64_t cut;        /* number of matches that reached a limit */
    unsigned allowance;  /* steps left for all matches, see VAMP_EXPRESSION_ALLOWANCE_MAX */
    uint64_t seed, hash; /* `seed` is secret; `hash` is of the text hashed last in this match */
    const char *hashed;
    size_t hashed_length; /* number of bytes hashed; SIZE_MAX: none yet */
};

struct vamp_expression {
    struct arena arena;
    struct node *root;
    const struct step *steps; /* the steps of the root node */
    /* Working memory shared by all regular expressions of this expression; NULL: none. */
    struct regex_scratch *scratch;
    struct regex *regexes; /* list of all regular expressions, to be freed */
    unsigned regex_count;
    bool captures;       /* unnamed groups of the regular expressions are captured */
    struct tally *tally; /* in the arena, so that matches of a const expression can count */
    /* Memo of pattern results: a hash of pattern and text, whose lowest bit is 1 if the text
     * matches; 0: unused. The entries form pairs, the newer one first. MEMO_ENTRIES entries; NULL
     * if there are no patterns. */
    uint64_t *memo;
};

/* ---- one compilation: parsing, and push-down for an event filter */

enum token_kind {
    TOKEN_END,
    TOKEN_OPEN,
    TOKEN_CLOSE,
    TOKEN_WORD,      /* a name, a keyword, a number or a bare text */
    TOKEN_TEXT,      /* quoted; escapes are resolved */
    TOKEN_REFERENCE, /* @name; text is the name */
    TOKEN_OPERATOR,
};

struct token {
    enum token_kind kind;
    struct position at;
    const char *text; /* WORD, TEXT, REFERENCE: in the arena, NUL-terminated */
    size_t length;
    enum node_kind means; /* OPERATOR, or WORD that is a keyword; else NONE */
};

struct compiler {
    const struct vamp_vocabulary *vocabulary;
    struct vamp_expression *expression;
    const char *cursor;           /* in the text, behind the current token */
    struct position at;           /* position of the cursor */
    struct token token;           /* the current token */
    struct reference *references; /* the named filters being expanded, innermost first */
    unsigned depth, terms;
    struct vamp_err *err;
    int code; /* 0, or the -errno of the failure, set together with err by the three functions below
               */
};

/* Sets the error "line L, column C: ...", preceded by the name of the named filter, if any. Returns
 * false. */
bool vamp_compile_fail(struct compiler *compiler, const struct position *at, int code,
                       const char *format, ...) VAMP_PRINTF(4, 5);
/* Reports an error at the current token. */
#define REFUSE(compiler, ...)                                                                      \
    vamp_compile_fail(compiler, &(compiler)->token.at, -EINVAL, __VA_ARGS__)
/* Returns zeroed memory from the expression's arena; NULL: the compilation failed. */
void *vamp_compile_alloc(struct compiler *compiler, size_t bytes);
/* Moves to the next token; at the end of the text it stays at TOKEN_END. Returns false if the
 * compilation failed. */
bool vamp_compile_next(struct compiler *compiler);

/* ---- values (expression_value.c) */
/* Converts the current token to a literal for the term's field. Returns false if the compilation
 * failed. */
bool vamp_compile_literal(struct compiler *compiler, const struct node *term,
                          const struct vamp_field *field, struct literal *literal);
/* Returns the description of a notation's values for errors: "a number". */
const char *vamp_notation_name(enum vamp_notation notation);
static inline struct vamp_value vamp_token_text(const struct token *token)
{
    return (struct vamp_value){.type = VAMP_VALUE_TEXT, .text = {token->text, token->length}};
}
/* Writes "; did you mean 'word'?", or "" if no choice is similar. `choices` may be NULL. */
#define SUGGESTION_BYTES 300
const char *vamp_suggest(const char *const *choices, const char *word,
                         char text[static SUGGESTION_BYTES]);
/* Writes the words separated by commas, truncated to the buffer. */
#define LIST_BYTES 400
const char *vamp_list_words(const char *const *words, char text[static LIST_BYTES]);

/* ---- patterns (expression_glob.c, expression_regex.c) */
/* Returns NULL if the pattern is well formed, else the error. */
const char *vamp_glob_check(const char *pattern, size_t length);
/* Returns whether the whole text matches. `*steps` is decremented; when it reaches 0 the result is
 * false. */
bool vamp_glob_match(const char *pattern, size_t pattern_length, const char *text,
                     size_t text_length, unsigned *steps);
struct regex {
    void *quick, *counted; /* pcre2_code without callouts, and with callouts that count steps */
    bool machine_code;     /* `quick` is compiled to machine code */
    struct regex *next;
};
/* Compiles a pattern; the first one also creates the scratch memory. Returns 0, -EINVAL or -ENOMEM;
 * the error text contains no position. */
VAMP_MUST_CHECK int vamp_regex_add(struct vamp_expression *expression, const char *pattern,
                                   size_t length, struct regex **ret_regex, struct vamp_err *err);
/* Returns 1: match; 0: no match; -1: a limit was reached. `*steps` is decremented; the match ends
 * when it reaches 0. */
int vamp_regex_match(const struct vamp_expression *expression, const struct regex *regex,
                     const char *text, size_t length, unsigned *steps);
/* Matches a GLOB or REGEX against a text within the limits of expression.h, without the memo.
 * Returns 1: match; 0: no match; -1: a limit was reached, which is counted. */
int vamp_pattern_match(const struct vamp_expression *expression, const struct node *term,
                       const struct vamp_value *value);
/* Return the number of groups in a pattern; and the text captured by its only group in the previous
 * match (false: none). */
unsigned vamp_regex_groups(const struct regex *regex);
bool vamp_regex_group(const struct vamp_expression *expression, size_t *ret_begin,
                      size_t *ret_length);
void vamp_regexes_free(struct vamp_expression *expression);

/* ---- evaluation and printing of parts */
/* Converts the node to a list of steps in the arena; returns NULL if the compilation failed. The
 * node's terms are referenced, not copied. */
struct step;
const struct step *vamp_steps_create(struct compiler *compiler, const struct node *node);
bool vamp_steps_match(const struct vamp_expression *expression, const struct step *steps,
                      vamp_lookup_fn *lookup, void *context);
/* Returns the node in normal form, to be freed by the caller; NULL: out of memory. */
char *vamp_node_print(const struct node *node);
/* Returns whether a term is true for a value; used by evaluation and by specialising a filter. */
bool vamp_term_match(const struct vamp_expression *expression, const struct node *term,
                     const struct vamp_value *value);
