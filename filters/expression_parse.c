/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tokens to a tree, by recursive descent. The comment of each function is its rule of the grammar;
 * the recursion is bounded by VAMP_EXPRESSION_DEPTH_MAX.
 */
#include "filters/expression_tree.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/core/options/options.h"

static int advance(struct compiler *compiler)
{
    return vamp_lexer_next(&compiler->lexer, &compiler->token, compiler->err);
}

/* The token as an error names it. */
static const char *token_text(const struct token *token)
{
    switch (token->kind) {
    case TOKEN_END:
        return "the end of the text";
    case TOKEN_OPEN:
        return "'('";
    case TOKEN_CLOSE:
        return "')'";
    case TOKEN_OPERATOR:
        return "an operator";
    case TOKEN_TEXT:
        return "a quoted text";
    case TOKEN_REFERENCE:
        return "a reference to a filter";
    case TOKEN_WORD:
        return token->text;
    }
    return "";
}

static bool is_word(const struct token *token, const char *word)
{
    return token->kind == TOKEN_WORD && strcmp(token->text, word) == 0;
}

/* Counts one of the terms an expression may have. */
static int count_term(struct compiler *compiler, const struct position *at)
{
    if (++compiler->terms > VAMP_EXPRESSION_TERMS_MAX) {
        return vamp_position_error(at, -E2BIG, compiler->err,
                                   "more than %d terms and list members (named filters count where "
                                   "they are used)",
                                   VAMP_EXPRESSION_TERMS_MAX);
    }
    return 0;
}

/* A new node, or NULL with `*ret_rc` set. */
static struct node *new_node(struct compiler *compiler, enum node_kind kind,
                             const struct position *at, int *ret_rc)
{
    *ret_rc = count_term(compiler, at);
    if (*ret_rc != 0) {
        return NULL;
    }
    struct node *node = vamp_arena_alloc(&compiler->expression->arena, sizeof(*node));
    if (node == NULL) {
        *ret_rc = vamp_no_memory(compiler);
        return NULL;
    }
    node->kind = kind;
    node->at = *at;
    node->field = -1;
    return node;
}

/* One expression from the current token on; the token after it becomes current. */
static int parse_expression(struct compiler *compiler, struct node **ret_node);

static int enter(struct compiler *compiler, const struct position *at)
{
    if (++compiler->depth > VAMP_EXPRESSION_DEPTH_MAX) {
        return vamp_position_error(at, -E2BIG, compiler->err, "nested more than %d deep",
                                   VAMP_EXPRESSION_DEPTH_MAX);
    }
    return 0;
}

/* Appends at `*tail` and returns the new tail. An AND in an AND (an OR in an OR) is flattened: the
 * meaning is the same, and push-down works on conjuncts. */
static struct node **append(struct node **tail, struct node *child, enum node_kind parent)
{
    bool same = child->kind == parent && (parent == NODE_AND || parent == NODE_OR);
    *tail = same ? child->children : child;
    while (*tail != NULL) {
        tail = &(*tail)->next;
    }
    return tail;
}

static int close_term(struct compiler *compiler, const char *after)
{
    if (compiler->token.kind == TOKEN_CLOSE) {
        return advance(compiler);
    }
    return vamp_position_error(&compiler->token.at, -EINVAL, compiler->err,
                               "expected ')' %s, found %s", after, token_text(&compiler->token));
}

/* and = "(" "and" expression { expression } ")" ; or likewise. The keyword is the current token. */
/* NOLINTNEXTLINE(misc-no-recursion): bounded by VAMP_EXPRESSION_DEPTH_MAX. */
static int parse_group(struct compiler *compiler, enum node_kind kind, struct node **ret_node)
{
    int rc;
    const char *word = compiler->token.text;
    struct node *group = new_node(compiler, kind, &compiler->token.at, &rc);
    if (group == NULL) {
        return rc;
    }
    struct node **tail = &group->children;
    rc = advance(compiler);
    while (rc == 0 && compiler->token.kind != TOKEN_CLOSE && compiler->token.kind != TOKEN_END) {
        struct node *child = NULL;
        rc = parse_expression(compiler, &child);
        if (rc == 0 && child != NULL) {
            tail = append(tail, child, kind);
        }
    }
    if (rc != 0) {
        return rc;
    }
    if (group->children == NULL) {
        return vamp_position_error(&compiler->token.at, -EINVAL, compiler->err,
                                   "'%s' needs at least one expression in parentheses after it",
                                   word);
    }
    *ret_node = group->children->next == NULL ? group->children : group;
    return close_term(compiler, "or another expression");
}

/* not = "(" "not" expression ")" */
/* NOLINTNEXTLINE(misc-no-recursion): bounded by VAMP_EXPRESSION_DEPTH_MAX. */
static int parse_not(struct compiler *compiler, struct node **ret_node)
{
    int rc;
    struct node *node = new_node(compiler, NODE_NOT, &compiler->token.at, &rc);
    if (node == NULL) {
        return rc;
    }
    rc = advance(compiler);
    if (rc == 0) {
        rc = parse_expression(compiler, &node->children);
    }
    if (rc != 0) {
        return rc;
    }
    *ret_node = node;
    return close_term(compiler, "since 'not' takes one expression");
}

/* has = "(" "has" name ")" */
static int parse_has(struct compiler *compiler, struct node **ret_node)
{
    struct field_type type;
    int rc;
    struct node *node = new_node(compiler, NODE_HAS, &compiler->token.at, &rc);
    if (node == NULL) {
        return rc;
    }
    rc = advance(compiler);
    if (rc == 0 && compiler->token.kind != TOKEN_WORD) {
        rc = vamp_position_error(&compiler->token.at, -EINVAL, compiler->err,
                                 "'has' takes a name such as .cdo.size, found %s",
                                 token_text(&compiler->token));
    }
    if (rc == 0) {
        rc = vamp_check_name(compiler, &compiler->token, node, &type);
    }
    if (rc == 0) {
        rc = advance(compiler);
    }
    if (rc != 0) {
        return rc;
    }
    *ret_node = node;
    return close_term(compiler, "since 'has' takes one name");
}

static bool is_value(const struct token *token)
{
    return token->kind == TOKEN_WORD || token->kind == TOKEN_TEXT;
}

/* Reads one value into *ret_literal and advances to the token after it. */
static int parse_value(struct compiler *compiler, const struct node *term,
                       const struct field_type *type, struct literal **ret_literal)
{
    if (!is_value(&compiler->token)) {
        return vamp_position_error(&compiler->token.at, -EINVAL, compiler->err,
                                   "expected a value for %s, found %s", term->name,
                                   token_text(&compiler->token));
    }
    struct literal *literal = vamp_arena_alloc(&compiler->expression->arena, sizeof(*literal));
    if (literal == NULL) {
        return vamp_no_memory(compiler);
    }
    int rc = vamp_check_literal(compiler, term, type, &compiler->token, literal);
    *ret_literal = literal;
    return rc != 0 ? rc : advance(compiler);
}

/* list = "in" "(" value { value } ")" ; the current token is the one after "in" */
static int parse_list(struct compiler *compiler, struct node *term, const struct field_type *type)
{
    term->kind = NODE_IN;
    if (compiler->token.kind != TOKEN_OPEN) {
        return vamp_position_error(&compiler->token.at, -EINVAL, compiler->err,
                                   "'in' takes a list in parentheses, such as in (1 2 3), found %s",
                                   token_text(&compiler->token));
    }
    int rc = advance(compiler);
    struct literal **tail = &term->literals;
    while (rc == 0 && is_value(&compiler->token)) {
        rc = count_term(compiler, &compiler->token.at);
        if (rc == 0) {
            rc = parse_value(compiler, term, type, tail);
        }
        if (rc == 0) {
            tail = &(*tail)->next;
        }
    }
    if (rc != 0) {
        return rc;
    }
    if (term->literals == NULL) {
        return vamp_position_error(&compiler->token.at, -EINVAL, compiler->err,
                                   "the list of 'in' is empty");
    }
    return close_term(compiler, "or another value in the list of 'in'");
}

/* glob = "glob" text ; match = ( "match" | "~" | "=~" ) text */
static int parse_pattern(struct compiler *compiler, struct node *term,
                         const struct field_type *type, enum node_kind kind)
{
    term->kind = kind;
    int rc = advance(compiler);
    if (rc == 0 && !is_value(&compiler->token)) {
        rc = vamp_position_error(&compiler->token.at, -EINVAL, compiler->err,
                                 "expected a pattern, best in quotes, found %s",
                                 token_text(&compiler->token));
    }
    if (rc == 0) {
        rc = vamp_check_pattern(compiler, term, type, &compiler->token);
    }
    return rc != 0 ? rc : advance(compiler);
}

static int parse_comparison(struct compiler *compiler, struct node *term,
                            const struct field_type *type)
{
    term->kind = NODE_COMPARE;
    term->comparison = compiler->token.comparison;
    int rc = vamp_check_comparison(compiler, term, type, &compiler->token.at);
    if (rc == 0) {
        rc = advance(compiler);
    }
    return rc != 0 ? rc : parse_value(compiler, term, type, &term->literals);
}

static int operator_error(struct compiler *compiler, const struct node *term)
{
    const struct token *token = &compiler->token;
    const char *near = NULL;
    static const char *const words[] = {"in", "glob", "match", NULL};
    if (token->kind == TOKEN_WORD) {
        near = vamp_opt_near_choice(words, token->text);
    }
    return vamp_position_error(
        &token->at, -EINVAL, compiler->err,
        "expected an operator after %s (one of = != < <= > >= in glob match), found %s%s%s%s",
        term->name, token_text(token), near != NULL ? "; did you mean '" : "",
        near != NULL ? near : "", near != NULL ? "'?" : "");
}

/* comparison = "(" name operator value ")" ; the name is the current token */
static int parse_term(struct compiler *compiler, struct node **ret_node)
{
    struct field_type type;
    int rc;
    struct node *term = new_node(compiler, NODE_COMPARE, &compiler->token.at, &rc);
    if (term == NULL) {
        return rc;
    }
    rc = vamp_check_name(compiler, &compiler->token, term, &type);
    if (rc == 0) {
        rc = advance(compiler);
    }
    if (rc != 0) {
        return rc;
    }
    const struct token *token = &compiler->token;
    if (is_word(token, "match") || (token->kind == TOKEN_OPERATOR && token->is_match)) {
        rc = parse_pattern(compiler, term, &type, NODE_REGEX);
    } else if (is_word(token, "glob")) {
        rc = parse_pattern(compiler, term, &type, NODE_GLOB);
    } else if (is_word(token, "in")) {
        rc = advance(compiler);
        rc = rc != 0 ? rc : parse_list(compiler, term, &type);
    } else if (token->kind == TOKEN_OPERATOR) {
        rc = parse_comparison(compiler, term, &type);
    } else {
        rc = operator_error(compiler, term);
    }
    if (rc != 0) {
        return rc;
    }
    *ret_node = term;
    if (token->kind == TOKEN_WORD) {
        return vamp_position_error(&token->at, -EINVAL, compiler->err,
                                   "expected ')' after the value, found %s; a text with blanks is "
                                   "quoted, and a unit follows its number without a blank",
                                   token_text(token));
    }
    return close_term(compiler, "after the value");
}

/* true = "true" ; false = "false" */
static int parse_constant(struct compiler *compiler, struct node **ret_node)
{
    enum node_kind kind = is_word(&compiler->token, "true") ? NODE_TRUE : NODE_FALSE;
    int rc;
    *ret_node = new_node(compiler, kind, &compiler->token.at, &rc);
    return rc != 0 ? rc : advance(compiler);
}

/* The inside of parentheses; the current token is the one after "(". */
/* NOLINTNEXTLINE(misc-no-recursion): bounded by VAMP_EXPRESSION_DEPTH_MAX. */
static int parse_inside(struct compiler *compiler, struct node **ret_node)
{
    const struct token *token = &compiler->token;
    int rc;
    if (is_word(token, "and") || is_word(token, "or")) {
        return parse_group(compiler, is_word(token, "and") ? NODE_AND : NODE_OR, ret_node);
    }
    if (is_word(token, "not")) {
        return parse_not(compiler, ret_node);
    }
    if (is_word(token, "has")) {
        return parse_has(compiler, ret_node);
    }
    if (is_word(token, "true") || is_word(token, "false")) {
        rc = parse_constant(compiler, ret_node);
        return rc != 0 ? rc : close_term(compiler, "after the constant");
    }
    if (token->kind == TOKEN_WORD) {
        return parse_term(compiler, ret_node);
    }
    if (token->kind == TOKEN_OPEN || token->kind == TOKEN_REFERENCE) {
        rc = parse_expression(compiler, ret_node);
        if (rc == 0 && (is_word(token, "and") || is_word(token, "or"))) {
            return vamp_position_error(&token->at, -EINVAL, compiler->err,
                                       "'%s' precedes what it joins: (%s (A) (B))", token->text,
                                       token->text);
        }
        return rc != 0 ? rc : close_term(compiler, "after the expression");
    }
    if (token->kind == TOKEN_OPERATOR) {
        return vamp_position_error(&token->at, -EINVAL, compiler->err,
                                   "the operator is between name and value: (.name = value)");
    }
    return vamp_position_error(&token->at, -EINVAL, compiler->err,
                               "expected a name, 'has', 'and', 'or' or 'not' after '(', found %s",
                               token_text(token));
}

/* reference = "@" name ; the text of the named filter is parsed in its place */
/* NOLINTNEXTLINE(misc-no-recursion): bounded by VAMP_EXPRESSION_DEPTH_MAX. */
static int parse_reference(struct compiler *compiler, struct node **ret_node)
{
    struct token token = compiler->token;
    const char *text = NULL;
    int rc = vamp_check_reference(compiler, &token, &text);
    if (rc == 0) {
        /* Counted, because filters that each refer to two others grow exponentially. */
        rc = count_term(compiler, &token.at);
    }
    if (rc != 0) {
        return rc;
    }
    struct reference reference = {.name = token.text, .outer = compiler->references};
    struct lexer outer = compiler->lexer;
    compiler->references = &reference;
    rc = vamp_parse_text(compiler, text, token.text, ret_node);
    compiler->references = reference.outer;
    compiler->lexer = outer;
    return rc != 0 ? rc : advance(compiler);
}

/* expression = "(" ... ")" | true | false | reference */
/* NOLINTNEXTLINE(misc-no-recursion): bounded by VAMP_EXPRESSION_DEPTH_MAX. */
static int parse_expression(struct compiler *compiler, struct node **ret_node)
{
    const struct token *token = &compiler->token;
    int rc = enter(compiler, &token->at);
    if (rc != 0) {
        return rc;
    }
    if (token->kind == TOKEN_OPEN) {
        rc = advance(compiler);
        rc = rc != 0 ? rc : parse_inside(compiler, ret_node);
    } else if (token->kind == TOKEN_REFERENCE) {
        rc = parse_reference(compiler, ret_node);
    } else if (is_word(token, "true") || is_word(token, "false")) {
        rc = parse_constant(compiler, ret_node);
    } else {
        rc = vamp_position_error(
            &token->at, -EINVAL, compiler->err,
            "expected an expression in parentheses, such as (.cdo.size > 1MiB), "
            "found %s",
            token_text(token));
    }
    compiler->depth--;
    return rc;
}

/* NOLINTNEXTLINE(misc-no-recursion): bounded by VAMP_EXPRESSION_DEPTH_MAX. */
int vamp_parse_text(struct compiler *compiler, const char *text, const char *filter,
                    struct node **ret_node)
{
    vamp_lexer_init(&compiler->lexer, text, filter, &compiler->expression->arena);
    if (strnlen(text, VAMP_EXPRESSION_TEXT_BYTES_MAX + 1) > VAMP_EXPRESSION_TEXT_BYTES_MAX) {
        return vamp_position_error(&compiler->lexer.at, -E2BIG, compiler->err,
                                   "the text has more than %d bytes",
                                   VAMP_EXPRESSION_TEXT_BYTES_MAX);
    }
    int rc = advance(compiler);
    if (rc != 0) {
        return rc;
    }
    const struct token *token = &compiler->token;
    if (token->kind == TOKEN_END) {
        return vamp_position_error(&token->at, -EINVAL, compiler->err,
                                   "the filter is empty; write true to pass all events");
    }
    rc = parse_expression(compiler, ret_node);
    if (rc == 0 && token->kind != TOKEN_END) {
        return vamp_position_error(&token->at, -EINVAL, compiler->err,
                                   "the expression has ended, but %s follows; join expressions "
                                   "with (and ...) or (or ...)",
                                   token_text(token));
    }
    return rc;
}

/* ---- creation and end of an expression */

int vamp_expression_compile(const char *text, const struct vamp_vocabulary *vocabulary,
                            struct vamp_expression **ret_expression, struct vamp_err *err)
{
    struct vamp_expression *expression = calloc(1, sizeof(*expression));
    if (expression == NULL) {
        return vamp_err_set(err, -ENOMEM, "compile a filter: no memory");
    }
    struct compiler compiler = {.vocabulary = vocabulary, .expression = expression, .err = err};
    expression->tally = vamp_arena_alloc(&expression->arena, sizeof(*expression->tally));
    int rc = expression->tally == NULL ? vamp_no_memory(&compiler)
                                       : vamp_parse_text(&compiler, text, NULL, &expression->root);
    assert(rc != 0 || (compiler.depth == 0 && compiler.references == NULL));
    if (rc == 0) {
        expression->steps = vamp_steps_create(&expression->arena, expression->root);
        rc = expression->steps == NULL ? vamp_no_memory(&compiler) : 0;
    }
    if (rc != 0) {
        vamp_expression_free(expression);
        return rc;
    }
    expression->tally->allowance = VAMP_EXPRESSION_ALLOWANCE_MAX;
    *ret_expression = expression;
    return 0;
}

void vamp_expression_free(struct vamp_expression *expression)
{
    if (expression != NULL) {
        vamp_regexes_free(expression);
        vamp_arena_done(&expression->arena);
        free(expression);
    }
}

uint64_t vamp_expression_cut(const struct vamp_expression *expression)
{
    return expression->tally->cut;
}
