/* SPDX-License-Identifier: BSD-3-Clause */
/* Tokens with positions, errors with positions, and the arena that owns the texts. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filters/expression_tree.h"
#include "vampire/core/utf8.h"
#include "vampire/core/values.h"

/* ---- arena */

#define CHUNK_BYTES 4096

struct arena_chunk {
    struct arena_chunk *next;
    size_t used, size;
    max_align_t bytes[];
};

void *vamp_arena_alloc(struct arena *arena, size_t bytes)
{
    size_t need = (bytes + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
    struct arena_chunk *chunk = arena->chunks;
    if (chunk == NULL || chunk->size - chunk->used < need) {
        size_t size = VAMP_MAX(need, CHUNK_BYTES);
        chunk = calloc(1, sizeof(*chunk) + size);
        if (chunk == NULL) {
            return NULL;
        }
        chunk->size = size;
        chunk->next = arena->chunks;
        arena->chunks = chunk;
    }
    void *piece = (char *)chunk->bytes + chunk->used;
    chunk->used += need;
    return piece;
}

void vamp_arena_done(struct arena *arena)
{
    while (arena->chunks != NULL) {
        struct arena_chunk *next = arena->chunks->next;
        free(arena->chunks);
        arena->chunks = next;
    }
}

/* ---- errors */

bool vamp_compile_fail(struct compiler *compiler, const struct position *at, int code,
                       const char *format, ...)
{
    char text[VAMP_ERR_TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (at->filter != NULL) {
        compiler->code = vamp_err_set(compiler->err, code, "@%s, line %u, column %u: %s",
                                      at->filter, at->line, at->column, text);
    } else {
        compiler->code =
            vamp_err_set(compiler->err, code, "line %u, column %u: %s", at->line, at->column, text);
    }
    return false;
}

void *vamp_compile_alloc(struct compiler *compiler, size_t bytes)
{
    void *memory = vamp_arena_alloc(&compiler->expression->arena, bytes);
    if (memory == NULL) {
        compiler->code = vamp_err_set(compiler->err, -ENOMEM, "compile a filter: out of memory");
    }
    return memory;
}

/* ---- tokens */

const char *const vamp_node_words[NODE_KIND_COUNT] = {
    [NODE_NONE] = "",     [NODE_TRUE] = "true",   [NODE_FALSE] = "false", [NODE_AND] = "and",
    [NODE_OR] = "or",     [NODE_NOT] = "not",     [NODE_HAS] = "has",     [NODE_IN] = "in",
    [NODE_GLOB] = "glob", [NODE_REGEX] = "match", [NODE_EQ] = "=",        [NODE_NE] = "!=",
    [NODE_LT] = "<",      [NODE_LE] = "<=",       [NODE_GT] = ">",        [NODE_GE] = ">=",
};

/* Moves the cursor by a number of bytes; columns count characters. */
static void step(struct compiler *compiler, size_t bytes)
{
    while (bytes-- > 0) {
        if (*compiler->cursor++ == '\n') {
            compiler->at.line++;
            compiler->at.column = 1;
        } else if (vamp_utf8_begins(*compiler->cursor)) {
            compiler->at.column++;
        }
    }
}

static void skip_blanks_and_comments(struct compiler *compiler)
{
    size_t blanks;
    do {
        blanks = strspn(compiler->cursor, " \t\n\r");
        if (*compiler->cursor == ';') {
            blanks = strcspn(compiler->cursor, "\n");
        }
        step(compiler, blanks);
    } while (blanks > 0);
}

/* Returns whether the byte ends a word. A comma does, so that `in (a, b)` is an error instead of
 * containing the text "a,". */
static bool ends_word(unsigned char byte)
{
    return byte <= ' ' || byte == 0x7F || strchr("()\"'`;=<>!~,", byte) != NULL;
}

static bool read_word(struct compiler *compiler)
{
    struct token *token = &compiler->token;
    const char *start = compiler->cursor;
    while (!ends_word((unsigned char)*compiler->cursor)) {
        const size_t length = vamp_utf8_length(compiler->cursor);
        if (length == 0) {
            return vamp_compile_fail(compiler, &compiler->at, -EINVAL,
                                     "this byte (0x%02x) is not UTF-8; in a text in double quotes "
                                     "it can be written \\x%02x",
                                     (unsigned char)*compiler->cursor,
                                     (unsigned char)*compiler->cursor);
        }
        step(compiler, length);
    }
    token->length = (size_t)(compiler->cursor - start);
    char *text = vamp_compile_alloc(compiler, token->length + 1);
    if (text == NULL) {
        return false;
    }
    token->text = memcpy(text, start, token->length);
    for (enum node_kind kind = NODE_TRUE; kind < NODE_EQ && token->kind == TOKEN_WORD; kind++) {
        if (strcmp(text, vamp_node_words[kind]) == 0) {
            token->means = kind;
        }
    }
    return true;
}

/* Returns the byte that an escape represents; the cursor is at the backslash. */
static bool read_escape(struct compiler *compiler, char *ret_byte)
{
    static const char from[] = "\\\"'nrt", to[] = "\\\"'\n\r\t";
    const char *at = compiler->cursor + 1;
    const char *found = *at != '\0' ? strchr(from, *at) : NULL;
    if (found != NULL) {
        *ret_byte = to[found - from];
        step(compiler, 2);
        return true;
    }
    if (*at == 'x' && isxdigit((unsigned char)at[1]) && isxdigit((unsigned char)at[2])) {
        *ret_byte = (char)strtoul((const char[]){at[1], at[2], '\0'}, NULL, 16);
        step(compiler, 4);
        return true;
    }
    return vamp_compile_fail(compiler, &compiler->at, -EINVAL,
                             "unknown escape; known are \\\\ \\\" \\' \\n \\r \\t and \\xHH. In "
                             "single quotes a backslash is an ordinary character");
}

/* Returns an upper limit for the size of the quoted text that begins at the cursor, after its
 * quote. */
static size_t quoted_bytes(const char *text, char quote)
{
    const char *p = text;
    while (*p != '\0' && *p != '\n' && *p != quote) {
        p += *p == '\\' && quote == '"' && p[1] != '\0' ? 2 : 1;
    }
    return (size_t)(p - text);
}

/* Reads a quoted text; the cursor is at the opening quote. Escapes are recognised only in double
 * quotes. */
static bool read_text(struct compiler *compiler)
{
    struct token *token = &compiler->token;
    const char quote = *compiler->cursor;
    step(compiler, 1);
    char *text = vamp_compile_alloc(compiler, quoted_bytes(compiler->cursor, quote) + 1);
    token->text = text;
    while (text != NULL && *compiler->cursor != quote) {
        const unsigned char byte = (unsigned char)*compiler->cursor;
        const size_t character = vamp_utf8_length(compiler->cursor);
        if (byte == '\0' || byte == '\n') {
            return vamp_compile_fail(compiler, &token->at, -EINVAL,
                                     "the quoted text that begins here is not closed on its line");
        }
        if (character == 0) {
            return vamp_compile_fail(compiler, &compiler->at, -EINVAL,
                                     "this byte (0x%02x) is not UTF-8; in double quotes it can be "
                                     "written \\x%02x",
                                     byte, byte);
        }
        if (byte == '\\' && quote == '"') {
            if (!read_escape(compiler, &text[token->length++])) {
                return false;
            }
            continue;
        }
        memcpy(text + token->length, compiler->cursor, character);
        token->length += character;
        step(compiler, character);
    }
    step(compiler, text != NULL);
    return text != NULL;
}

static bool read_operator(struct compiler *compiler)
{
    static const struct {
        const char *text;
        enum node_kind means;
    } operators[] = {
        /* Longer operators must come first. */
        {"==", NODE_EQ}, {"=~", NODE_REGEX}, {"!=", NODE_NE}, {"<=", NODE_LE}, {">=", NODE_GE},
        {"<>", NODE_NE}, {"=", NODE_EQ},     {"<", NODE_LT},  {">", NODE_GT},  {"~", NODE_REGEX},
    };
    for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
        const size_t length = strlen(operators[i].text);
        if (strncmp(compiler->cursor, operators[i].text, length) == 0) {
            compiler->token.means = operators[i].means;
            step(compiler, length);
            return true;
        }
    }
    return vamp_compile_fail(compiler, &compiler->at, -EINVAL,
                             "'!' is no operator alone; write != or (not ...)");
}

bool vamp_compile_next(struct compiler *compiler)
{
    skip_blanks_and_comments(compiler);
    struct token *token = &compiler->token;
    const unsigned char byte = (unsigned char)*compiler->cursor;
    *token = (struct token){.kind = TOKEN_WORD, .at = compiler->at, .text = ""};
    switch (byte) {
    case '\0':
        token->kind = TOKEN_END;
        return true;
    case '(':
    case ')':
        token->kind = byte == '(' ? TOKEN_OPEN : TOKEN_CLOSE;
        step(compiler, 1);
        return true;
    case '"':
    case '\'':
        token->kind = TOKEN_TEXT;
        return read_text(compiler);
    case '@':
        token->kind = TOKEN_REFERENCE;
        step(compiler, 1);
        if (ends_word((unsigned char)*compiler->cursor)) {
            return vamp_compile_fail(compiler, &token->at, -EINVAL,
                                     "'@' needs the name of a filter right after it");
        }
        return read_word(compiler);
    case '=':
    case '<':
    case '>':
    case '!':
    case '~':
        token->kind = TOKEN_OPERATOR;
        return read_operator(compiler);
    case ',':
        return vamp_compile_fail(compiler, &token->at, -EINVAL,
                                 "a comma separates nothing here: list members are separated by "
                                 "blanks, and a text with a comma must be quoted");
    default:
        if (ends_word(byte)) {
            return vamp_compile_fail(compiler, &token->at, -EINVAL,
                                     "this character (0x%02x) is allowed only in a quoted text",
                                     byte);
        }
        return read_word(compiler);
    }
}
