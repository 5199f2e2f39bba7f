/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks names, operators, values and references against the vocabulary, and reports what is
 * wrong. */
#include "filters/expression_tree.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "vampire/core/options/options.h"

/* ---- names */

/* The name with the vocabulary's prefix, in the arena; NULL without memory. */
static const char *full_name(struct compiler *compiler, const struct token *token)
{
    const char *prefix = compiler->vocabulary->prefix;
    if (token->text[0] == '.') {
        return token->text;
    }
    size_t length = strlen(prefix);
    bool dot = length == 0 || prefix[length - 1] != '.';
    char *name = vamp_arena_alloc(&compiler->expression->arena, length + 1 + token->length + 1);
    if (name != NULL) {
        (void)snprintf(name, length + token->length + 2, "%s%s%s", prefix, dot ? "." : "",
                       token->text);
    }
    return name;
}

/* Letters, digits, '_', '-' and beyond ASCII, in parts joined by single dots. */
static bool name_is_valid(const char *name)
{
    char before = '.';
    for (const char *p = name + (name[0] == '.'); *p != '\0'; before = *p++) {
        bool letter = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
                      (*p >= '0' && *p <= '9') || *p == '_' || *p == '-' || (*p & 0x80) != 0;
        if (!letter && (*p != '.' || before == '.')) {
            return false;
        }
    }
    return before != '.';
}

static int unknown_name(struct compiler *compiler, const struct token *token, const char *name)
{
    const char *const *names = compiler->vocabulary->field_names;
    const char *near = names != NULL ? vamp_opt_near_choice(names, name) : NULL;
    if (near != NULL) {
        return vamp_position_error(&token->at, -EINVAL, compiler->err,
                                   "unknown name '%s'; did you mean '%s'?", name, near);
    }
    char known[400] = "";
    size_t used = 0;
    for (; names != NULL && *names != NULL && used < sizeof(known); names++) {
        used += (size_t)snprintf(known + used, sizeof(known) - used, "%s%s",
                                 used == 0 ? "; known are " : ", ", *names);
    }
    return vamp_position_error(&token->at, -EINVAL, compiler->err, "unknown name '%.200s'%s", name,
                               known);
}

int vamp_check_name(struct compiler *compiler, const struct token *token, struct node *term,
                    struct field_type *ret_type)
{
    const struct vamp_vocabulary *vocabulary = compiler->vocabulary;
    *ret_type = (struct field_type){.type = VAMP_VALUE_ABSENT};
    if (!name_is_valid(token->text)) {
        return vamp_position_error(&token->at, -EINVAL, compiler->err,
                                   "'%.200s' is no name: a name is letters, digits, '_' and '-' in "
                                   "parts joined by dots",
                                   token->text);
    }
    static const char *const keywords[] = {"and", "or", "not", "has", NULL};
    for (const char *const *word = keywords; *word != NULL && vocabulary->prefix == NULL; word++) {
        if (strcasecmp(token->text, *word) == 0) {
            return vamp_position_error(&token->at, -EINVAL, compiler->err,
                                       "'%s' is written in small letters: '%s'", token->text,
                                       *word);
        }
    }
    if (token->text[0] != '.' && vocabulary->prefix == NULL) {
        return vamp_position_error(&token->at, -EINVAL, compiler->err,
                                   "a name begins with a dot: did you mean '.%.200s'?",
                                   token->text);
    }
    const char *name = full_name(compiler, token);
    if (name == NULL) {
        return vamp_no_memory(compiler);
    }
    int field = vocabulary->resolve != NULL
                    ? vocabulary->resolve(vocabulary->context, name, &ret_type->type)
                    : -1;
    if (field < 0) {
        ret_type->type = VAMP_VALUE_ABSENT;
        if (vocabulary->attribute != NULL &&
            !vocabulary->attribute(vocabulary->context, name, &ret_type->type)) {
            return unknown_name(compiler, token, name);
        }
    }
    const struct vamp_field_rules *rules = field >= 0 && vocabulary->rules != NULL
                                               ? vocabulary->rules(vocabulary->context, field)
                                               : NULL;
    if (rules != NULL) {
        ret_type->notation = rules->notation;
        ret_type->choices = rules->choices;
        ret_type->numbered = rules->numbered;
    }
    term->field = field < 0 ? -1 : field;
    term->name = name;
    return 0;
}

/* ---- operators */

int vamp_check_comparison(struct compiler *compiler, const struct node *term,
                          const struct field_type *type, const struct position *at)
{
    bool equality = term->comparison == COMPARE_EQ || term->comparison == COMPARE_NE;
    const char *what = type->type == VAMP_VALUE_BOOL        ? "is true or false"
                       : type->choices != NULL              ? "is one of a set of words"
                       : type->notation == VAMP_NOTATION_ID ? "is an identifier"
                                                            : NULL;
    if (equality || what == NULL) {
        return 0;
    }
    return vamp_position_error(at, -EINVAL, compiler->err, "%s %s and has no order; use = or != %s",
                               term->name, what, type->type == VAMP_VALUE_BOOL ? "" : "or in");
}

/* ---- values */

static const char *sort_name(enum vamp_notation notation)
{
    switch (notation) {
    case VAMP_NOTATION_PLAIN:
        return "a number";
    case VAMP_NOTATION_SIZE:
        return "a size";
    case VAMP_NOTATION_DURATION:
        return "a duration";
    case VAMP_NOTATION_TIME:
        return "a time";
    case VAMP_NOTATION_ID:
        return "an identifier";
    }
    return "";
}

static const char *sort_example(enum vamp_notation notation)
{
    switch (notation) {
    case VAMP_NOTATION_PLAIN:
        return "42 or 0.5";
    case VAMP_NOTATION_SIZE:
        return "4096 or 1MiB";
    case VAMP_NOTATION_DURATION:
        return "5ms";
    case VAMP_NOTATION_TIME:
        return "2026-11-21T03:44:00Z";
    case VAMP_NOTATION_ID:
        return "0123456789abcdef0123456789abcdef";
    }
    return "";
}

static int value_error(struct compiler *compiler, const struct node *term,
                       const struct token *token, enum vamp_notation notation)
{
    return vamp_position_error(&token->at, -EINVAL, compiler->err,
                               "%s is %s, such as %s, not %s'%.100s'", term->name,
                               sort_name(notation), sort_example(notation),
                               token->kind == TOKEN_TEXT ? "the text " : "", token->text);
}

static int check_choice(struct compiler *compiler, const struct node *term,
                        const char *const *choices, const struct token *token,
                        struct literal *literal)
{
    for (size_t i = 0; choices[i] != NULL; i++) {
        if (strlen(choices[i]) == token->length && strcasecmp(choices[i], token->text) == 0) {
            literal->value.text.bytes = choices[i];
            literal->value.text.length = token->length;
            return 0;
        }
    }
    char allowed[300] = "";
    size_t used = 0;
    for (size_t i = 0; choices[i] != NULL && used < sizeof(allowed); i++) {
        used += (size_t)snprintf(allowed + used, sizeof(allowed) - used, "%s%s",
                                 used == 0 ? "" : ", ", choices[i]);
    }
    const char *near = vamp_opt_near_choice(choices, token->text);
    return vamp_position_error(&token->at, -EINVAL, compiler->err,
                               "%s has no value '%.60s'%s%s%s; it is one of %s", term->name,
                               token->text, near != NULL ? "; did you mean '" : "",
                               near != NULL ? near : "", near != NULL ? "'?" : "", allowed);
}

/* An identifier in its normal form: 32 lower-case hexadecimal digits. */
static int check_id(struct compiler *compiler, const struct node *term, const struct token *token,
                    struct literal *literal)
{
    char digits[32];
    size_t count = 0;
    for (size_t i = 0; i < token->length; i++) {
        unsigned char byte = (unsigned char)token->text[i];
        unsigned lower = byte | 0x20U;
        bool decimal = byte >= '0' && byte <= '9', letter = lower >= 'a' && lower <= 'f';
        if (byte == '-') {
            continue;
        }
        if ((!decimal && !letter) || count == sizeof(digits)) {
            return value_error(compiler, term, token, VAMP_NOTATION_ID);
        }
        digits[count++] = (char)(decimal ? byte : lower);
    }
    if (count != sizeof(digits)) {
        return value_error(compiler, term, token, VAMP_NOTATION_ID);
    }
    literal->value.text.bytes =
        vamp_arena_text(&compiler->expression->arena, digits, sizeof(digits));
    literal->value.text.length = sizeof(digits);
    return literal->value.text.bytes != NULL ? 0 : vamp_no_memory(compiler);
}

static void set_text(struct literal *literal, const struct token *token)
{
    literal->value.type = VAMP_VALUE_TEXT;
    literal->value.text.bytes = token->text;
    literal->value.text.length = token->length;
}

/* Refuses a bare word that the user may have meant as something else. */
static int check_bare_text(struct compiler *compiler, const struct token *token)
{
    if (token->kind == TOKEN_TEXT) {
        return 0;
    }
    if (token->text[0] == '.') {
        return vamp_position_error(&token->at, -EINVAL, compiler->err,
                                   "'%.200s' looks like a name, and two fields cannot be compared; "
                                   "a text that begins with a dot must be quoted",
                                   token->text);
    }
    if (strpbrk(token->text, "*?[") != NULL) {
        return vamp_position_error(
            &token->at, -EINVAL, compiler->err,
            "use 'glob' for a pattern such as '%.200s'; to compare with the text itself, quote it",
            token->text);
    }
    return 0;
}

static int check_text(struct compiler *compiler, const struct node *term,
                      const struct field_type *type, const struct token *token,
                      struct literal *literal)
{
    set_text(literal, token);
    if (type->choices != NULL) {
        return check_choice(compiler, term, type->choices, token, literal);
    }
    if (type->notation == VAMP_NOTATION_ID) {
        return check_id(compiler, term, token, literal);
    }
    return check_bare_text(compiler, token);
}

/* Reads a word that should be a number. `*ret_is_number` is false if it does not begin like one. */
static int read_number(struct compiler *compiler, const struct token *token,
                       struct literal *literal, bool *ret_is_number)
{
    *ret_is_number = false;
    enum word_kind kind = token->kind == TOKEN_WORD
                              ? vamp_word_read(token->text, &literal->value, &literal->notation)
                              : WORD_OTHER;
    switch (kind) {
    case WORD_OTHER:
        return 0;
    case WORD_NUMBER:
        *ret_is_number = true;
        return 0;
    case WORD_RANGE:
        return vamp_position_error(&token->at, -EINVAL, compiler->err, "%.100s is out of range",
                                   token->text);
    case WORD_BROKEN:
        return vamp_position_error(
            &token->at, -EINVAL, compiler->err,
            literal->notation == VAMP_NOTATION_TIME
                ? "'%.100s' is no time in RFC 3339 such as 2026-11-21T03:44:00Z; quote it if it is "
                  "a text"
                : "'%.100s' begins like a number but is none (sizes B KiB MiB GiB TiB kB MB GB TB, "
                  "durations ns us ms s min h d); quote it if it is a text",
            token->text);
    }
    return 0;
}

static int check_number(struct compiler *compiler, const struct node *term,
                        const struct field_type *type, const struct token *token,
                        struct literal *literal)
{
    bool is_number;
    int rc = read_number(compiler, token, literal, &is_number);
    if (rc != 0) {
        return rc;
    }
    /* A plain number is a number of bytes; zero needs no unit. */
    bool plain = literal->notation == VAMP_NOTATION_PLAIN;
    bool zero = literal->value.type == VAMP_VALUE_INT && literal->value.integer == 0;
    bool fits = literal->notation == type->notation ||
                (plain && type->notation == VAMP_NOTATION_SIZE) ||
                (plain && zero && type->notation == VAMP_NOTATION_DURATION);
    if (!is_number || !fits) {
        return value_error(compiler, term, token, type->notation);
    }
    if (literal->value.type != VAMP_VALUE_DOUBLE) {
        literal->notation = type->notation;
    }
    return 0;
}

static bool read_bool(const struct token *token, struct literal *literal)
{
    bool is_true = strcmp(token->text, "true") == 0;
    if (token->kind != TOKEN_WORD || (!is_true && strcmp(token->text, "false") != 0)) {
        return false;
    }
    literal->value = (struct vamp_value){.type = VAMP_VALUE_BOOL, .boolean = is_true};
    return true;
}

/* A value for a field of unknown type: its notation decides the type. */
static int check_any(struct compiler *compiler, const struct node *term, const struct token *token,
                     struct literal *literal)
{
    if (read_bool(token, literal)) {
        if (term->kind == NODE_COMPARE && term->comparison != COMPARE_EQ &&
            term->comparison != COMPARE_NE) {
            return vamp_position_error(&token->at, -EINVAL, compiler->err,
                                       "true and false have no order; use = or !=");
        }
        return 0;
    }
    bool is_number;
    int rc = read_number(compiler, token, literal, &is_number);
    if (rc != 0 || is_number) {
        return rc;
    }
    set_text(literal, token);
    return check_bare_text(compiler, token);
}

int vamp_check_literal(struct compiler *compiler, const struct node *term,
                       const struct field_type *type, const struct token *token,
                       struct literal *ret_literal)
{
    switch (type->type) {
    case VAMP_VALUE_ABSENT:
        return check_any(compiler, term, token, ret_literal);
    case VAMP_VALUE_BOOL:
        if (read_bool(token, ret_literal)) {
            return 0;
        }
        return vamp_position_error(&token->at, -EINVAL, compiler->err,
                                   "%s is true or false, not '%.100s'", term->name, token->text);
    case VAMP_VALUE_INT:
    case VAMP_VALUE_UINT:
    case VAMP_VALUE_DOUBLE:
        return check_number(compiler, term, type, token, ret_literal);
    case VAMP_VALUE_TEXT:
        return check_text(compiler, term, type, token, ret_literal);
    }
    return 0;
}

/* ---- patterns */

int vamp_check_pattern(struct compiler *compiler, struct node *term, const struct field_type *type,
                       const struct token *token)
{
    const char *word = term->kind == NODE_GLOB ? "glob" : "match";
    bool text = type->type == VAMP_VALUE_TEXT || type->type == VAMP_VALUE_ABSENT;
    if (!text || type->notation == VAMP_NOTATION_ID) {
        return vamp_position_error(
            &term->at, -EINVAL, compiler->err, "'%s' needs a text, but %s is %s", word, term->name,
            type->type == VAMP_VALUE_BOOL ? "true or false" : sort_name(type->notation));
    }
    if (token->length > VAMP_EXPRESSION_PATTERN_BYTES_MAX) {
        return vamp_position_error(&token->at, -E2BIG, compiler->err,
                                   "the pattern has more than %d bytes",
                                   VAMP_EXPRESSION_PATTERN_BYTES_MAX);
    }
    struct literal *literal = vamp_arena_alloc(&compiler->expression->arena, sizeof(*literal));
    if (literal == NULL) {
        return vamp_no_memory(compiler);
    }
    set_text(literal, token);
    term->literals = literal;
    if (term->kind == NODE_GLOB) {
        const char *wrong = vamp_glob_check(token->text, token->length);
        return wrong == NULL ? 0
                             : vamp_position_error(&token->at, -EINVAL, compiler->err,
                                                   "in the pattern: %s", wrong);
    }
    struct vamp_err inner = VAMP_ERR_NONE;
    int rc = vamp_regex_add(compiler->expression, token->text, token->length, &term->regex, &inner);
    if (rc != 0) {
        return vamp_position_error(&token->at, rc, compiler->err, "in the regular expression: %s",
                                   inner.text);
    }
    if (type->numbered) {
        term->memo =
            vamp_arena_alloc(&compiler->expression->arena, MEMO_ENTRIES * sizeof *term->memo);
    }
    return type->numbered && term->memo == NULL ? vamp_no_memory(compiler) : 0;
}

/* ---- references */

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

/* Refuses a reference to a filter that is being expanded, and names the circle: "a -> b -> a". */
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
    /* The chain is linked from the inside out: fill the buffer from its end. */
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

int vamp_check_reference(struct compiler *compiler, const struct token *token,
                         const char **ret_text)
{
    const struct vamp_vocabulary *vocabulary = compiler->vocabulary;
    const char *text =
        vocabulary->named != NULL ? vocabulary->named(vocabulary->context, token->text) : NULL;
    if (text == NULL) {
        return reference_error(compiler, token);
    }
    *ret_text = text;
    return check_circle(compiler, token);
}
