/* SPDX-License-Identifier: BSD-3-Clause */
/* A whole text and the named filters it refers to; creation and end of an expression. */
#include "filters/expression_tree.h"

#include <stdlib.h>
#include <string.h>

#include "vampire/core/opt.h"

/* A named filter being expanded; lives on the stack of the function that expands it. */
struct reference {
    const char *name;
    struct reference *outer;
};

/* The whole of a text is one expression. The caller restores the lexer. */
/* NOLINTNEXTLINE(misc-no-recursion): bounded by VAMP_EXPRESSION_DEPTH_MAX. */
static int parse_text(struct compiler *compiler, const char *text, const char *filter,
                      struct node **ret_node)
{
    vamp_lexer_init(&compiler->lexer, text, filter, &compiler->expression->arena);
    if (strnlen(text, VAMP_EXPRESSION_TEXT_BYTES_MAX + 1) > VAMP_EXPRESSION_TEXT_BYTES_MAX) {
        return vamp_position_error(&compiler->lexer.at, -E2BIG, compiler->err,
                                   "the text has more than %d bytes",
                                   VAMP_EXPRESSION_TEXT_BYTES_MAX);
    }
    int rc = vamp_parse_advance(compiler);
    if (rc != 0) {
        return rc;
    }
    const struct token *token = &compiler->token;
    if (token->kind == TOKEN_END) {
        return vamp_position_error(&token->at, -EINVAL, compiler->err,
                                   "the filter is empty; write true to pass all events");
    }
    rc = vamp_parse_expression(compiler, ret_node);
    if (rc == 0 && token->kind != TOKEN_END) {
        return vamp_position_error(&token->at, -EINVAL, compiler->err,
                                   "the expression has ended, but %s follows; join expressions "
                                   "with (and ...) or (or ...)",
                                   vamp_token_text(token));
    }
    return rc;
}

static int reference_error(struct compiler *compiler, const struct token *token)
{
    const struct vamp_vocabulary *vocabulary = compiler->vocabulary;
    if (vocabulary->named == NULL) {
        return vamp_position_error(&token->at, -EINVAL, compiler->err,
                                   "filters cannot be referred to by name here");
    }
    const char *near = vocabulary->filter_names != NULL
                           ? vamp_opt_near_choice(vocabulary->filter_names, token->text)
                           : NULL;
    return vamp_position_error(&token->at, -EINVAL, compiler->err, "no filter is named '%s'%s%s%s",
                               token->text, near != NULL ? "; did you mean '" : "",
                               near != NULL ? near : "", near != NULL ? "'?" : "");
}

/* Says "a -> b -> a" for a reference to a filter that is being expanded. */
static int check_circle(struct compiler *compiler, const struct token *token)
{
    struct reference *inner = compiler->references;
    struct reference *found = inner;
    while (found != NULL && strcmp(found->name, token->text) != 0) {
        found = found->outer;
    }
    if (found == NULL) {
        return 0;
    }
    /* The chain is known from the inside out; write it from the back of the buffer. */
    char path[256];
    size_t at = sizeof(path) - 1;
    path[at] = '\0';
    const char *name = token->text;
    for (struct reference *one = inner;; one = one->outer) {
        size_t length = strlen(name);
        if (at < length + 8) {
            at -= 3;
            memcpy(path + at, "...", 3);
            break;
        }
        at -= length;
        memcpy(path + at, name, length);
        if (one == found->outer) {
            break;
        }
        at -= 4;
        memcpy(path + at, " -> ", 4);
        name = one->name;
    }
    return vamp_position_error(&token->at, -EINVAL, compiler->err,
                               "filters refer to each other in a circle: %s", path + at);
}

/* reference = "@" name ; the text of the named filter is compiled in its place */
/* NOLINTNEXTLINE(misc-no-recursion): bounded by VAMP_EXPRESSION_DEPTH_MAX. */
int vamp_parse_reference(struct compiler *compiler, struct node **ret_node)
{
    struct token token = compiler->token;
    const struct vamp_vocabulary *vocabulary = compiler->vocabulary;
    const char *text =
        vocabulary->named != NULL ? vocabulary->named(vocabulary->context, token.text) : NULL;
    if (text == NULL) {
        return reference_error(compiler, &token);
    }
    int rc = check_circle(compiler, &token);
    if (rc == 0) {
        /* Counted, so that filters that refer to each other twofold end at the bound. */
        rc = vamp_count_term(compiler, &token.at);
    }
    if (rc != 0) {
        return rc;
    }
    struct reference reference = {.name = token.text, .outer = compiler->references};
    struct lexer outer = compiler->lexer;
    compiler->references = &reference;
    rc = parse_text(compiler, text, token.text, ret_node);
    compiler->references = reference.outer;
    compiler->lexer = outer;
    return rc != 0 ? rc : vamp_parse_advance(compiler);
}

int vamp_expression_compile(const char *text, const struct vamp_vocabulary *vocabulary,
                            struct vamp_expression **ret_expression, struct vamp_err *err)
{
    struct vamp_expression *expression = calloc(1, sizeof(*expression));
    if (expression == NULL) {
        return vamp_err_set(err, -ENOMEM, "compile a filter: no memory");
    }
    struct compiler compiler = {.vocabulary = vocabulary, .expression = expression, .err = err};
    expression->cut = vamp_arena_alloc(&expression->arena, sizeof(*expression->cut));
    int rc = expression->cut == NULL ? vamp_no_memory(&compiler)
                                     : parse_text(&compiler, text, NULL, &expression->root);
    if (rc != 0) {
        vamp_expression_free(expression);
        return rc;
    }
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
    return *expression->cut;
}
