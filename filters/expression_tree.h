/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Internals of the expression compiler: tokens, the tree and its memory. Only the files of filters/
 * include this. All nodes, names and texts of one expression are allocated in its arena and freed
 * with it.
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
/* Zeroed and aligned; NULL: out of memory. */
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
    NODE_HAS, /* terms from here on */
    NODE_IN,
    NODE_GLOB,
    NODE_REGEX,
    NODE_EQ, /* comparisons from here on */
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
 * filter that contains the text, NULL for the main text. */
struct position {
    uint32_t line, column;
    const char *filter;
};

/* A constant of the text; the notation determines how it is printed. */
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
    const char *name; /* full */
    struct literal *literals;
    struct regex *regex; /* REGEX */
    uint64_t seed;       /* distinguishes the pattern from others; GLOB, REGEX */
};

struct tally {
    uint64_t cut;        /* matches */
    unsigned allowance;  /* steps left for matches, see VAMP_EXPRESSION_ALLOWANCE_MAX */
    uint64_t seed, hash; /* secret; of the newest hashed text of this match */
    const char *hashed;
    size_t hashed_length; /* SIZE_MAX: none yet */
};

struct vamp_expression {
    struct arena arena;
    struct node *root;
    const struct step *steps; /* of the root */
    /* Working memory of all regular expressions here; NULL if there are none. */
    struct regex_scratch *scratch;
    struct regex *regexes; /* all of them, to be freed */
    unsigned regex_count;
    bool captures;       /* unnamed groups of these regular expressions are captured */
    struct tally *tally; /* in the arena, so that matching a const expression can count */
    /* Results of patterns: hashes of pattern and text, with 1 as the lowest bit if it matches; 0:
     * unused. Pairs, the newer one first. MEMO_ENTRIES; NULL without patterns. */
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
    const char *text; /* WORD, TEXT, REFERENCE: in the arena, terminated */
    size_t length;
    enum node_kind means; /* OPERATOR, and a WORD that is a keyword; else NONE */
};

struct compiler {
    const struct vamp_vocabulary *vocabulary;
    struct vamp_expression *expression;
    const char *cursor;           /* in the text, after the current token */
    struct position at;           /* of the cursor */
    struct token token;           /* the current one */
    struct reference *references; /* the named filters being expanded, innermost first */
    unsigned depth, terms;
    struct vamp_err *err;
    int code; /* 0, or the reason of the failure: set with err by the three functions below */
};

/* Sets "line L, column C: ...", preceded by the name of a named filter. Returns false. */
bool vamp_compile_fail(struct compiler *compiler, const struct position *at, int code,
                       const char *format, ...) VAMP_PRINTF(4, 5);
/* An error at the current token. */
#define REFUSE(compiler, ...)                                                                      \
    vamp_compile_fail(compiler, &(compiler)->token.at, -EINVAL, __VA_ARGS__)
/* Memory from the expression's arena, zeroed; NULL: the compilation failed. */
void *vamp_compile_alloc(struct compiler *compiler, size_t bytes);
/* Moves to the next token; at the end of the text always TOKEN_END. False: the compilation
 * failed. */
bool vamp_compile_next(struct compiler *compiler);

/* ---- values (expression_value.c) */
/* The literal of the current token for the term's field. False: the compilation failed. */
bool vamp_compile_literal(struct compiler *compiler, const struct node *term,
                          const struct vamp_field *field, struct literal *literal);
/* The name of a notation's values in errors: "a number". */
const char *vamp_notation_name(enum vamp_notation notation);
static inline struct vamp_value vamp_token_text(const struct token *token)
{
    return (struct vamp_value){.type = VAMP_VALUE_TEXT, .text = {token->text, token->length}};
}
/* "; did you mean 'word'?", or "" if no choice is near. `choices` may be NULL. */
#define SUGGESTION_BYTES 300
const char *vamp_suggest(const char *const *choices, const char *word,
                         char text[static SUGGESTION_BYTES]);
/* The words with commas between them; what does not fit is cut. */
#define LIST_BYTES 400
const char *vamp_list_words(const char *const *words, char text[static LIST_BYTES]);

/* ---- patterns (expression_glob.c, expression_regex.c) */
/* NULL if the pattern is well formed, else the error. */
const char *vamp_glob_check(const char *pattern, size_t length);
/* Whether the whole text matches. `*steps` counts down; at 0 the result is false. */
bool vamp_glob_match(const char *pattern, size_t pattern_length, const char *text,
                     size_t text_length, unsigned *steps);
struct regex {
    void *quick, *counted; /* pcre2_code: without and with callouts that count steps */
    bool machine_code;     /* `quick` is compiled to it */
    struct regex *next;
};
/* Compiles a pattern and, for the first one, creates the scratch. 0, -EINVAL, -ENOMEM; the text has
 * no position. */
VAMP_MUST_CHECK int vamp_regex_add(struct vamp_expression *expression, const char *pattern,
                                   size_t length, struct regex **ret_regex, struct vamp_err *err);
/* 1: it matches; 0: it does not; -1: a limit cut the match short. `*steps` counts down; at 0 the
 * match ends. */
int vamp_regex_match(const struct vamp_expression *expression, const struct regex *regex,
                     const char *text, size_t length, unsigned *steps);
/* Matches a GLOB or REGEX and a text within the limits of expression.h, without the memo. 1: it
 * matches; 0: it does not; -1: a limit cut it short, which is counted. */
int vamp_pattern_match(const struct vamp_expression *expression, const struct node *term,
                       const struct vamp_value *value);
/* The number of groups of a pattern, and the text that the only one captured in the previous match;
 * false: none. */
unsigned vamp_regex_groups(const struct regex *regex);
bool vamp_regex_group(const struct vamp_expression *expression, size_t *ret_begin,
                      size_t *ret_length);
void vamp_regexes_free(struct vamp_expression *expression);

/* ---- evaluation and printing of parts */
/* The node as a list of terms, in the arena; NULL: the compilation failed. The node's terms are
 * referenced, not copied. */
struct step;
const struct step *vamp_steps_create(struct compiler *compiler, const struct node *node);
bool vamp_steps_match(const struct vamp_expression *expression, const struct step *steps,
                      vamp_lookup_fn *lookup, void *context);
/* The node in normal form, malloc'ed; NULL: out of memory. */
char *vamp_node_print(const struct node *node);
/* Whether a term holds for a value; used by evaluation and by specialising a filter. */
bool vamp_term_match(const struct vamp_expression *expression, const struct node *term,
                     const struct vamp_value *value);
