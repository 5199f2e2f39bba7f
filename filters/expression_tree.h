/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inside the expression compiler: tokens, the tree and the memory it lives in. Only the files
 * of filters/ include this. All nodes, names and texts of one expression live in its arena and
 * are freed with it.
 */
#ifndef VAMP_FILTERS_EXPRESSION_TREE_H
#define VAMP_FILTERS_EXPRESSION_TREE_H

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
/* Zeroed and aligned; NULL without memory. */
void *vamp_arena_alloc(struct arena *arena, size_t bytes);
/* A terminated copy of `length` bytes; NULL without memory. */
char *vamp_arena_text(struct arena *arena, const char *bytes, size_t length);
void vamp_arena_done(struct arena *arena);

/* ---- tokens */
enum token_kind {
    TOKEN_END,
    TOKEN_OPEN,
    TOKEN_CLOSE,
    TOKEN_WORD,      /* a name, a keyword, a number or a bare text */
    TOKEN_TEXT,      /* quoted; escapes are resolved */
    TOKEN_REFERENCE, /* @name; text is the name */
    TOKEN_OPERATOR,
};

enum comparison { COMPARE_EQ, COMPARE_NE, COMPARE_LT, COMPARE_LE, COMPARE_GT, COMPARE_GE };

/* A place in a text: line and column count from 1, columns in characters. `filter` is the named
 * filter that holds the text, NULL for the main text. */
struct position {
    uint32_t line, column;
    const char *filter;
};

struct token {
    enum token_kind kind;
    struct position at;
    const char *text; /* WORD, TEXT, REFERENCE: in the arena, terminated */
    size_t length;
    enum comparison comparison; /* OPERATOR, unless `is_match` */
    bool is_match;              /* OPERATOR: ~ */
};

struct lexer {
    const char *cursor, *end;
    struct position at;
    struct arena *arena;
};

void vamp_lexer_init(struct lexer *lexer, const char *text, const char *filter,
                     struct arena *arena);
/* The next token; at the end of the text always TOKEN_END. 0, -EINVAL, -ENOMEM. */
VAMP_MUST_CHECK int vamp_lexer_next(struct lexer *lexer, struct token *ret_token,
                                    struct vamp_err *err);
/* Sets "line L, column C: ...", after the name of a named filter, and returns `code`. */
int vamp_position_error(const struct position *at, int code, struct vamp_err *err,
                        const char *format, ...) VAMP_PRINTF(4, 5);

/* ---- the tree */
enum node_kind {
    NODE_TRUE,
    NODE_FALSE,
    NODE_AND,
    NODE_OR,
    NODE_NOT,
    NODE_HAS, /* terms from here on */
    NODE_COMPARE,
    NODE_IN,
    NODE_GLOB,
    NODE_REGEX,
};

/* A constant of the text; the notation says how to print it. */
struct literal {
    struct vamp_value value;
    enum vamp_notation notation;
    struct literal *next;
};

#define MEMO_ENTRIES 1024U

struct node {
    enum node_kind kind;
    enum comparison comparison; /* COMPARE */
    struct position at;
    /* AND, OR, NOT: children in order. */
    struct node *children, *next;
    /* Terms. */
    int field;
    const char *name; /* full */
    struct literal *literals;
    struct regex *regex; /* REGEX */
    /* REGEX on a field with numbered values, else NULL: the result for each number of a text, until
     * another number with the same remainder takes its place. Twice the number, and 1 when its text
     * matches; 0: free. */
    uint64_t *memo; /* MEMO_ENTRIES */
};

struct tally {
    uint64_t cut;       /* matches */
    unsigned allowance; /* steps that matches may take, see VAMP_EXPRESSION_ALLOWANCE_MAX */
};

struct vamp_expression {
    struct arena arena;
    struct node *root;
    const struct step *steps; /* of the root */
    /* Working memory of all regular expressions here; NULL when there is none. */
    struct regex_scratch *scratch;
    struct regex *regexes; /* all of them, for free */
    unsigned regex_count;
    struct tally *tally; /* in the arena, so that matching a const expression can count */
};

/* A named filter being expanded; on the stack of the function that expands it. */
struct reference {
    const char *name;
    struct reference *outer;
};

/* The state of one compilation. */
struct compiler {
    const struct vamp_vocabulary *vocabulary;
    struct vamp_expression *expression;
    struct lexer lexer;
    struct token token;           /* the current one */
    struct reference *references; /* the named filters being expanded, innermost first */
    unsigned depth, terms;
    struct vamp_err *err;
};

/* Sets the error of a compilation that lacks memory and returns -ENOMEM. */
int vamp_no_memory(const struct compiler *compiler);

/* ---- parsing (expression_parse.c): 0 or -errno with the error set */
/* Parses a whole text, named filters included; `filter` is its name, NULL for the main text. It
 * leaves the lexer at the end of that text. */
VAMP_MUST_CHECK int vamp_parse_text(struct compiler *compiler, const char *text, const char *filter,
                                    struct node **ret_node);

/* ---- names, types and references (expression_check.c): 0 or -errno with the error set */
/* Sets field and full name of a term from the word in `token`; type and rules for its literals. */
struct field_type {
    enum vamp_value_type type;
    enum vamp_notation notation;
    const char *const *choices;
    bool numbered;
};
VAMP_MUST_CHECK int vamp_check_name(struct compiler *compiler, const struct token *token,
                                    struct node *term, struct field_type *ret_type);
/* Whether the comparison makes sense for the type. */
VAMP_MUST_CHECK int vamp_check_comparison(struct compiler *compiler, const struct node *term,
                                          const struct field_type *type, const struct position *at);
/* The literal a token means for a field of this type. */
VAMP_MUST_CHECK int vamp_check_literal(struct compiler *compiler, const struct node *term,
                                       const struct field_type *type, const struct token *token,
                                       struct literal *ret_literal);
/* The pattern of a GLOB or REGEX term, compiled. */
VAMP_MUST_CHECK int vamp_check_pattern(struct compiler *compiler, struct node *term,
                                       const struct field_type *type, const struct token *token);

/* The text of the filter that a reference names; an error if there is none, or if it is being
 * expanded already. */
VAMP_MUST_CHECK int vamp_check_reference(struct compiler *compiler, const struct token *token,
                                         const char **ret_text);

/* ---- numbers as text (expression_number.c) */
enum word_kind {
    WORD_OTHER,  /* not a number */
    WORD_BROKEN, /* begins like a number, but is none */
    WORD_RANGE,  /* a number beyond 64 bits */
    WORD_NUMBER, /* value set; the notation is SIZE or DURATION when it has a unit, TIME for a time
                  */
};
enum word_kind vamp_word_read(const char *word, struct vamp_value *ret_value,
                              enum vamp_notation *ret_notation);
/* Enough for every number, size, duration and time. Returns text. */
#define VAMP_NUMBER_TEXT_BYTES 96
const char *vamp_number_text(const struct vamp_value *value, enum vamp_notation notation,
                             char text[static VAMP_NUMBER_TEXT_BYTES]);

/* ---- patterns (expression_glob.c, expression_regex.c) */
/* NULL when the pattern is well formed, else what is wrong. */
const char *vamp_glob_check(const char *pattern, size_t length);
/* Whether the whole text matches. `*steps` counts down; at 0 the answer is false. */
bool vamp_glob_match(const char *pattern, size_t pattern_length, const char *text,
                     size_t text_length, unsigned *steps);
struct regex {
    void *quick, *counted; /* pcre2_code: without and with callouts that count steps */
    struct regex *next;
};
/* Compiles a pattern and, the first time, the scratch. 0, -EINVAL, -ENOMEM; the text has no
 * position. */
VAMP_MUST_CHECK int vamp_regex_add(struct vamp_expression *expression, const char *pattern,
                                   size_t length, struct regex **ret_regex, struct vamp_err *err);
/* 1: it matches; 0: it does not; -1: a bound cut the match short. `*steps` counts down; at 0 the
 * match ends. */
int vamp_regex_match(const struct vamp_expression *expression, const struct regex *regex,
                     const char *text, size_t length, unsigned *steps);
void vamp_regexes_free(struct vamp_expression *expression);

/* ---- evaluation and printing of parts */
/* The node as a list of terms, in the arena; NULL without memory. The node's terms stay where they
 * are. */
struct step;
const struct step *vamp_steps_create(struct arena *arena, const struct node *node);
bool vamp_steps_match(const struct vamp_expression *expression, const struct step *steps,
                      vamp_lookup_fn *lookup, void *context);
/* The node in normal form, malloc'ed; NULL without memory. */
char *vamp_node_print(const struct node *node);
/* Whether a term holds for a value; used by evaluation and by specialising a filter. */
bool vamp_term_match(const struct vamp_expression *expression, const struct node *term,
                     const struct vamp_value *value);

#endif
