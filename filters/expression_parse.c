/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recursive-descent parser: builds the tree from tokens, and checks names, operators, values and
 * references against the vocabulary. The comment at each parsing function is its grammar rule; the
 * recursion is limited by VAMP_EXPRESSION_DEPTH_MAX.
 *
 * A function that returns false or NULL has set the error. Its input is the current token.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "filters/expression_tree.h"
#include "vampire/core/hash.h"

/* A named filter being expanded, on the stack of the function that expands it. */
struct reference {
    const char *name;
    struct reference *outer;
};

#define REFUSE_NODE(compiler, ...) ((void)REFUSE(compiler, __VA_ARGS__), NULL)

static const char *token_text(const struct compiler *compiler)
{
    static const char *const texts[] = {
        [TOKEN_END] = "the end of the text",
        [TOKEN_OPEN] = "'('",
        [TOKEN_CLOSE] = "')'",
        [TOKEN_OPERATOR] = "an operator",
        [TOKEN_TEXT] = "a quoted text",
        [TOKEN_REFERENCE] = "a reference to a filter",
    };
    const struct token *token = &compiler->token;
    return token->kind == TOKEN_WORD ? token->text : texts[token->kind];
}

/* Counts a term. Returns false if over the limit. */
static bool count_term(struct compiler *compiler)
{
    return ++compiler->terms <= VAMP_EXPRESSION_TERMS_MAX ||
           vamp_compile_fail(compiler, &compiler->token.at, -E2BIG,
                             "more than %d terms and list members (named filters count where they "
                             "are used)",
                             VAMP_EXPRESSION_TERMS_MAX);
}

static struct node *new_node(struct compiler *compiler, enum node_kind kind)
{
    if (!count_term(compiler)) {
        return NULL;
    }
    struct node *node = vamp_compile_alloc(compiler, sizeof(*node));
    if (node != NULL) {
        node->kind = kind;
        node->at = compiler->token.at;
        node->field = -1;
    }
    return node;
}

/* ---- names */

static const char *full_name(struct compiler *compiler)
{
    const char *prefix = compiler->vocabulary->prefix, *name = compiler->token.text;
    if (name[0] == '.') {
        return name;
    }
    const size_t length = strlen(prefix), bytes = length + compiler->token.length + 2;
    const bool dot = length == 0 || prefix[length - 1] != '.';
    char *full = vamp_compile_alloc(compiler, bytes);
    if (full != NULL) {
        (void)snprintf(full, bytes, "%s%s%s", prefix, dot ? "." : "", name);
    }
    return full;
}

/* Returns whether the name consists of letters, digits, '_', '-' and non-ASCII characters, in parts
 * joined by single dots. */
static bool name_is_valid(const char *name)
{
    char before = '.';
    for (const char *p = name + (name[0] == '.'); *p != '\0'; before = *p++) {
        bool is_in_name = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
                          (*p >= '0' && *p <= '9') || *p == '_' || *p == '-' || (*p & 0x80) != 0;
        if (!is_in_name && (*p != '.' || before == '.')) {
            return false;
        }
    }
    return before != '.';
}

static bool unknown_name(struct compiler *compiler, const char *name)
{
    const char *const *names = compiler->vocabulary->field_names;
    char text[LIST_BYTES];
    if (vamp_suggest(names, name, text)[0] != '\0') {
        return REFUSE(compiler, "unknown name '%s'%s", name, text);
    }
    if (names == NULL) {
        return REFUSE(compiler, "unknown name '%.200s'", name);
    }
    return REFUSE(compiler, "unknown name '%.200s'; known are %s", name,
                  vamp_list_words(names, text));
}

/* Sets field and name of a term, and returns the properties of the field. */
static bool check_name(struct compiler *compiler, struct node *term, struct vamp_field *ret_field)
{
    const struct vamp_vocabulary *vocabulary = compiler->vocabulary;
    const char *text = compiler->token.text;
    *ret_field = (struct vamp_field){.type = VAMP_VALUE_ABSENT};
    if (!name_is_valid(text)) {
        return REFUSE(compiler,
                      "'%.200s' is no name: a name is letters, digits, '_' and '-' in parts joined "
                      "by dots",
                      text);
    }
    for (enum node_kind kind = NODE_AND; kind <= NODE_HAS && vocabulary->prefix == NULL; kind++) {
        if (strcasecmp(text, vamp_node_words[kind]) == 0) {
            return REFUSE(compiler, "'%s' is written in small letters: '%s'", text,
                          vamp_node_words[kind]);
        }
    }
    if (text[0] != '.' && vocabulary->prefix == NULL) {
        return REFUSE(compiler, "a name begins with a dot: did you mean '.%.200s'?", text);
    }
    const char *name = full_name(compiler), *attributes = vocabulary->attributes;
    if (name == NULL) {
        return false;
    }
    term->name = name;
    if (vocabulary->resolve != NULL) {
        term->field = vocabulary->resolve(vocabulary->context, name, ret_field);
    }
    return term->field >= 0 || attributes == NULL ||
           strncmp(name, attributes, strlen(attributes)) == 0 || unknown_name(compiler, name);
}

/* ---- values */

static bool is_value(const struct compiler *compiler)
{
    return compiler->token.kind == TOKEN_WORD || compiler->token.kind == TOKEN_TEXT;
}

static bool parse_value(struct compiler *compiler, const struct node *term,
                        const struct vamp_field *field, struct literal **ret_literal)
{
    if (!is_value(compiler)) {
        return REFUSE(compiler, "expected a value for %s, found %s", term->name,
                      token_text(compiler));
    }
    *ret_literal = vamp_compile_alloc(compiler, sizeof(**ret_literal));
    return *ret_literal != NULL && vamp_compile_literal(compiler, term, field, *ret_literal) &&
           vamp_compile_next(compiler);
}

/* ---- terms */

/* ")" */
static bool close_term(struct compiler *compiler, const char *after)
{
    if (compiler->token.kind != TOKEN_CLOSE) {
        return REFUSE(compiler, "expected ')' %s, found %s", after, token_text(compiler));
    }
    return vamp_compile_next(compiler);
}

/* has = "(" "has" name ")" */
static struct node *parse_has(struct compiler *compiler)
{
    struct vamp_field field;
    struct node *node = new_node(compiler, NODE_HAS);
    if (node == NULL || !vamp_compile_next(compiler)) {
        return NULL;
    }
    if (compiler->token.kind != TOKEN_WORD) {
        return REFUSE_NODE(compiler, "'has' takes a name such as .cdo.size, found %s",
                           token_text(compiler));
    }
    if (!check_name(compiler, node, &field) || !vamp_compile_next(compiler) ||
        !close_term(compiler, "since 'has' takes one name")) {
        return NULL;
    }
    return node;
}

/* list = "in" "(" value { value } ")" */
static bool parse_list(struct compiler *compiler, struct node *term, const struct vamp_field *field)
{
    if (!vamp_compile_next(compiler)) {
        return false;
    }
    if (compiler->token.kind != TOKEN_OPEN) {
        return REFUSE(compiler, "'in' takes a list in parentheses, such as in (1 2 3), found %s",
                      token_text(compiler));
    }
    bool fine = vamp_compile_next(compiler);
    for (struct literal **tail = &term->literals; fine && is_value(compiler);
         tail = &(*tail)->next) {
        fine = count_term(compiler) && parse_value(compiler, term, field, tail);
        if (!fine) {
            return false;
        }
    }
    if (!fine) {
        return false;
    }
    if (term->literals == NULL) {
        return REFUSE(compiler, "the list of 'in' is empty");
    }
    return close_term(compiler, "or another value in the list of 'in'");
}

static bool check_pattern(struct compiler *compiler, struct node *term,
                          const struct vamp_field *field)
{
    const struct token *token = &compiler->token;
    const bool text = field->type == VAMP_VALUE_TEXT || field->type == VAMP_VALUE_ABSENT;
    if (!text || field->notation == VAMP_NOTATION_ID) {
        return vamp_compile_fail(
            compiler, &term->at, -EINVAL, "'%s' needs a text, but %s is %s",
            vamp_node_words[term->kind], term->name,
            field->type == VAMP_VALUE_BOOL ? "true or false" : vamp_notation_name(field->notation));
    }
    if (token->length > VAMP_EXPRESSION_PATTERN_BYTES_MAX) {
        return vamp_compile_fail(compiler, &token->at, -E2BIG, "the pattern has more than %d bytes",
                                 VAMP_EXPRESSION_PATTERN_BYTES_MAX);
    }
    term->literals = vamp_compile_alloc(compiler, sizeof(*term->literals));
    if (term->literals == NULL) {
        return false;
    }
    term->literals->value = vamp_token_text(token);
    struct vamp_expression *expression = compiler->expression;
    term->seed = vamp_hash_seed();
    if (expression->memo == NULL) {
        expression->memo = vamp_compile_alloc(compiler, MEMO_ENTRIES * sizeof *expression->memo);
    }
    if (expression->memo == NULL) {
        return false;
    }
    if (term->kind == NODE_GLOB) {
        const char *wrong = vamp_glob_check(token->text, token->length);
        return wrong == NULL || REFUSE(compiler, "in the pattern: %s", wrong);
    }
    struct vamp_err inner = VAMP_ERR_NONE;
    const int code = vamp_regex_add(expression, token->text, token->length, &term->regex, &inner);
    return code == 0 || vamp_compile_fail(compiler, &token->at, code,
                                          "in the regular expression: %s", inner.text);
}

/* glob = "glob" text ; match = ( "match" | "~" | "=~" ) text */
static bool parse_pattern(struct compiler *compiler, struct node *term,
                          const struct vamp_field *field)
{
    if (!vamp_compile_next(compiler)) {
        return false;
    }
    if (!is_value(compiler)) {
        return REFUSE(compiler, "expected a pattern, best in quotes, found %s",
                      token_text(compiler));
    }
    return check_pattern(compiler, term, field) && vamp_compile_next(compiler);
}

static bool parse_comparison(struct compiler *compiler, struct node *term,
                             const struct vamp_field *field)
{
    const char *unordered = NULL;
    if (field->type == VAMP_VALUE_BOOL) {
        unordered = "is true or false";
    } else if (field->choices != NULL) {
        unordered = "is one of a set of words";
    } else if (field->notation == VAMP_NOTATION_ID) {
        unordered = "is an identifier";
    }
    if (term->kind >= NODE_LT && unordered != NULL) {
        return REFUSE(compiler, "%s %s and has no order; use = or != %s", term->name, unordered,
                      field->type == VAMP_VALUE_BOOL ? "" : "or in");
    }
    return vamp_compile_next(compiler) && parse_value(compiler, term, field, &term->literals);
}

static bool operator_error(struct compiler *compiler, const struct node *term)
{
    static const char *const words[] = {"in", "glob", "match", NULL};
    char near[SUGGESTION_BYTES] = "";
    if (compiler->token.kind == TOKEN_WORD) {
        (void)vamp_suggest(words, compiler->token.text, near);
    }
    return REFUSE(compiler,
                  "expected an operator after %s (one of = != < <= > >= in glob match), found %s%s",
                  term->name, token_text(compiler), near);
}

/* comparison = "(" name operator value ")" ; the name is the current token */
static struct node *parse_term(struct compiler *compiler)
{
    struct vamp_field field;
    struct node *term = new_node(compiler, NODE_NONE);
    if (term == NULL || !check_name(compiler, term, &field) || !vamp_compile_next(compiler)) {
        return NULL;
    }
    term->kind = compiler->token.means;
    bool fine = false;
    if (term->kind == NODE_IN) {
        fine = parse_list(compiler, term, &field);
    } else if (term->kind < NODE_IN) {
        fine = operator_error(compiler, term);
    } else if (term->kind < NODE_EQ) {
        fine = parse_pattern(compiler, term, &field);
    } else {
        fine = parse_comparison(compiler, term, &field);
    }
    if (fine && compiler->token.kind == TOKEN_WORD) {
        return REFUSE_NODE(
            compiler,
            "expected ')' after the value, found %s; a text with blanks is quoted, and a "
            "unit follows its number without a blank",
            token_text(compiler));
    }
    if (!fine || !close_term(compiler, "after the value")) {
        return NULL;
    }
    return term;
}

/* ---- expressions */

static struct node *parse_expression(struct compiler *compiler);

/* Appends a child at `*tail` and returns the new tail. An AND in an AND (an OR in an OR) is
 * flattened: the meaning is unchanged, and push-down works on conjuncts. */
static struct node **append(struct node **tail, struct node *child, enum node_kind parent)
{
    *tail = child->kind == parent ? child->children : child;
    while (*tail != NULL) {
        tail = &(*tail)->next;
    }
    return tail;
}

/* and = "(" "and" expression { expression } ")" ; or likewise. The keyword is the current token. */
/* NOLINTNEXTLINE(misc-no-recursion): bounded by VAMP_EXPRESSION_DEPTH_MAX. */
static struct node *parse_group(struct compiler *compiler)
{
    struct node *group = new_node(compiler, compiler->token.means);
    if (group == NULL || !vamp_compile_next(compiler)) {
        return NULL;
    }
    struct node **tail = &group->children;
    while (compiler->token.kind != TOKEN_CLOSE && compiler->token.kind != TOKEN_END) {
        struct node *child = parse_expression(compiler);
        if (child == NULL) {
            return NULL;
        }
        tail = append(tail, child, group->kind);
    }
    if (group->children == NULL) {
        return REFUSE_NODE(compiler, "'%s' needs at least one expression in parentheses after it",
                           vamp_node_words[group->kind]);
    }
    if (!close_term(compiler, "or another expression")) {
        return NULL;
    }
    return group->children->next == NULL ? group->children : group;
}

/* not = "(" "not" expression ")" */
/* NOLINTNEXTLINE(misc-no-recursion): bounded by VAMP_EXPRESSION_DEPTH_MAX. */
static struct node *parse_not(struct compiler *compiler)
{
    struct node *node = new_node(compiler, NODE_NOT);
    if (node == NULL || !vamp_compile_next(compiler)) {
        return NULL;
    }
    node->children = parse_expression(compiler);
    if (node->children == NULL || !close_term(compiler, "since 'not' takes one expression")) {
        return NULL;
    }
    return node;
}

/* true = "true" ; false = "false" */
static struct node *parse_constant(struct compiler *compiler)
{
    struct node *node = new_node(compiler, compiler->token.means);
    if (node != NULL && !vamp_compile_next(compiler)) {
        node = NULL;
    }
    return node;
}

/* Parses an expression in its own parentheses, whose "(" or "@name" is the current token. */
/* NOLINTNEXTLINE(misc-no-recursion): bounded by VAMP_EXPRESSION_DEPTH_MAX. */
static struct node *parse_wrapped(struct compiler *compiler)
{
    struct node *node = parse_expression(compiler);
    const enum node_kind joins = compiler->token.means;
    if (node != NULL && (joins == NODE_AND || joins == NODE_OR)) {
        return REFUSE_NODE(compiler, "'%s' precedes what it joins: (%s (A) (B))",
                           vamp_node_words[joins], vamp_node_words[joins]);
    }
    if (node != NULL && !close_term(compiler, "after the expression")) {
        node = NULL;
    }
    return node;
}

/* Parses the contents of parentheses; the current token is the one after "(". */
/* NOLINTNEXTLINE(misc-no-recursion): bounded by VAMP_EXPRESSION_DEPTH_MAX. */
static struct node *parse_inside(struct compiler *compiler)
{
    const struct token *token = &compiler->token;
    const enum node_kind means = token->means;
    struct node *node = NULL;
    if (token->kind == TOKEN_OPERATOR) {
        (void)REFUSE(compiler, "the operator is between name and value: (.name = value)");
    } else if (means == NODE_AND || means == NODE_OR) {
        node = parse_group(compiler);
    } else if (means == NODE_NOT) {
        node = parse_not(compiler);
    } else if (means == NODE_HAS) {
        node = parse_has(compiler);
    } else if (means == NODE_TRUE || means == NODE_FALSE) {
        node = parse_constant(compiler);
        if (node != NULL && !close_term(compiler, "after the constant")) {
            node = NULL;
        }
    } else if (token->kind == TOKEN_WORD) {
        node = parse_term(compiler);
    } else if (token->kind == TOKEN_OPEN || token->kind == TOKEN_REFERENCE) {
        node = parse_wrapped(compiler);
    } else {
        (void)REFUSE(compiler, "expected a name, 'has', 'and', 'or' or 'not' after '(', found %s",
                     token_text(compiler));
    }
    return node;
}

/* Rejects a reference to a filter that is being expanded, with a text that shows the cycle: "a -> b
 * -> a". */
static bool check_circle(struct compiler *compiler)
{
    const struct reference *found = compiler->references;
    const char *name = compiler->token.text;
    while (found != NULL && strcmp(found->name, name) != 0) {
        found = found->outer;
    }
    if (found == NULL) {
        return true;
    }
    /* References are linked from the innermost outwards, so the buffer is filled from its end. */
    char path[256];
    size_t at = sizeof(path) - 1;
    path[at] = '\0';
    for (const struct reference *one = compiler->references;; one = one->outer) {
        const size_t length = strlen(name);
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
    return REFUSE(compiler, "filters refer to each other in a circle: %s", path + at);
}

static struct node *parse_text(struct compiler *compiler, const char *text, const char *filter);

/* reference = "@" name ; the text of the named filter is parsed in its place */
/* NOLINTNEXTLINE(misc-no-recursion): bounded by VAMP_EXPRESSION_DEPTH_MAX. */
static struct node *parse_reference(struct compiler *compiler)
{
    const struct vamp_vocabulary *vocabulary = compiler->vocabulary;
    const char *name = compiler->token.text, *after = compiler->cursor;
    const struct position at = compiler->at;
    if (vocabulary->named == NULL) {
        return REFUSE_NODE(compiler, "filters cannot be referred to by name here");
    }
    const char *text = vocabulary->named(vocabulary->context, name);
    if (text == NULL) {
        char near[SUGGESTION_BYTES];
        return REFUSE_NODE(compiler, "no filter is named '%s'%s", name,
                           vamp_suggest(vocabulary->filter_names, name, near));
    }
    /* References count as terms, because filters that each refer to two others grow exponentially.
     */
    if (!check_circle(compiler) || !count_term(compiler)) {
        return NULL;
    }
    struct reference reference = {.name = name, .outer = compiler->references};
    compiler->references = &reference;
    struct node *node = parse_text(compiler, text, name);
    compiler->references = reference.outer;
    compiler->cursor = after;
    compiler->at = at;
    if (node != NULL && !vamp_compile_next(compiler)) {
        node = NULL;
    }
    return node;
}

/* expression = "(" ... ")" | true | false | reference ; the token after it becomes current */
/* NOLINTNEXTLINE(misc-no-recursion): bounded by VAMP_EXPRESSION_DEPTH_MAX. */
static struct node *parse_expression(struct compiler *compiler)
{
    const struct token *token = &compiler->token;
    struct node *node = NULL;
    if (++compiler->depth > VAMP_EXPRESSION_DEPTH_MAX) {
        (void)vamp_compile_fail(compiler, &token->at, -E2BIG, "nested more than %d deep",
                                VAMP_EXPRESSION_DEPTH_MAX);
    } else if (token->kind == TOKEN_OPEN) {
        if (vamp_compile_next(compiler)) {
            node = parse_inside(compiler);
        }
    } else if (token->kind == TOKEN_REFERENCE) {
        node = parse_reference(compiler);
    } else if (token->means == NODE_TRUE || token->means == NODE_FALSE) {
        node = parse_constant(compiler);
    } else {
        (void)REFUSE(compiler,
                     "expected an expression in parentheses, such as (.cdo.size > 1MiB), found %s",
                     token_text(compiler));
    }
    compiler->depth--;
    return node;
}

/* Parses a whole text, including the named filters that it refers to. `filter` is the name of the
 * text; NULL: the main text. */
/* NOLINTNEXTLINE(misc-no-recursion): bounded by VAMP_EXPRESSION_DEPTH_MAX. */
static struct node *parse_text(struct compiler *compiler, const char *text, const char *filter)
{
    compiler->cursor = text;
    compiler->at = (struct position){.line = 1, .column = 1, .filter = filter};
    if (strnlen(text, VAMP_EXPRESSION_TEXT_BYTES_MAX + 1) > VAMP_EXPRESSION_TEXT_BYTES_MAX) {
        (void)vamp_compile_fail(compiler, &compiler->at, -E2BIG, "the text has more than %d bytes",
                                VAMP_EXPRESSION_TEXT_BYTES_MAX);
        return NULL;
    }
    if (!vamp_compile_next(compiler)) {
        return NULL;
    }
    const struct token *token = &compiler->token;
    if (token->kind == TOKEN_END) {
        return REFUSE_NODE(compiler, "the filter is empty; write true to pass all events");
    }
    struct node *node = parse_expression(compiler);
    if (node != NULL && token->kind != TOKEN_END) {
        return REFUSE_NODE(
            compiler,
            "the expression has ended, but %s follows; join expressions with (and ...) or "
            "(or ...)",
            token_text(compiler));
    }
    return node;
}

/* ---- creation and destruction of expressions */

int vamp_expression_compile(const char *text, const struct vamp_vocabulary *vocabulary,
                            struct vamp_expression **ret_expression, struct vamp_err *err)
{
    struct vamp_expression *expression = calloc(1, sizeof(*expression));
    if (expression == NULL) {
        return vamp_err_set(err, -ENOMEM, "compile a filter: out of memory");
    }
    struct compiler compiler = {.vocabulary = vocabulary, .expression = expression, .err = err};
    expression->tally = vamp_compile_alloc(&compiler, sizeof(*expression->tally));
    if (expression->tally != NULL) {
        expression->tally->allowance = VAMP_EXPRESSION_ALLOWANCE_MAX;
        expression->tally->seed = vamp_hash_seed();
        expression->root = parse_text(&compiler, text, NULL);
    }
    if (expression->root != NULL) {
        assert(compiler.depth == 0 && compiler.references == NULL);
        expression->steps = vamp_steps_create(&compiler, expression->root);
    }
    if (expression->steps == NULL) {
        assert(compiler.code != 0);
        vamp_expression_free(expression);
        return compiler.code;
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
    return expression->tally->cut;
}
