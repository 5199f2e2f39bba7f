/* SPDX-License-Identifier: BSD-3-Clause */
/* Text to tokens with positions, and the arena their texts live in. */
#include "filters/expression_tree.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/core/utf8.h"

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
        size_t size = need > CHUNK_BYTES ? need : CHUNK_BYTES;
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

char *vamp_arena_text(struct arena *arena, const char *bytes, size_t length)
{
    char *copy = vamp_arena_alloc(arena, length + 1);
    if (copy != NULL) {
        memcpy(copy, bytes, length);
    }
    return copy;
}

void vamp_arena_done(struct arena *arena)
{
    while (arena->chunks != NULL) {
        struct arena_chunk *next = arena->chunks->next;
        free(arena->chunks);
        arena->chunks = next;
    }
}

/* ---- positions */

int vamp_position_error(const struct position *at, int code, struct vamp_err *err,
                        const char *format, ...)
{
    char text[VAMP_ERR_TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    if (at->filter != NULL) {
        return vamp_err_set(err, code, "@%s, line %u, column %u: %s", at->filter, at->line,
                            at->column, text);
    }
    return vamp_err_set(err, code, "line %u, column %u: %s", at->line, at->column, text);
}

int vamp_no_memory(const struct compiler *compiler)
{
    return vamp_err_set(compiler->err, -ENOMEM, "compile a filter: no memory");
}

/* ---- lexer */

void vamp_lexer_init(struct lexer *lexer, const char *text, const char *filter, struct arena *arena)
{
    *lexer = (struct lexer){.cursor = text,
                            .end = text + strlen(text),
                            .at = {.line = 1, .column = 1, .filter = filter},
                            .arena = arena};
}

/* The byte under the cursor, 0 at the end (texts hold no 0). */
static unsigned char peek(const struct lexer *lexer)
{
    return lexer->cursor < lexer->end ? (unsigned char)*lexer->cursor : 0;
}

/* Steps over one byte; the column counts characters. */
static void step(struct lexer *lexer)
{
    lexer->cursor++;
    if (lexer->cursor[-1] == '\n') {
        lexer->at.line++;
        lexer->at.column = 1;
    } else if (vamp_utf8_begins((char)peek(lexer))) {
        lexer->at.column++;
    }
}

static void skip_blanks_and_comments(struct lexer *lexer)
{
    for (;;) {
        unsigned char byte = peek(lexer);
        if (byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r') {
            step(lexer);
        } else if (byte == ';') {
            while (lexer->cursor < lexer->end && peek(lexer) != '\n') {
                step(lexer);
            }
        } else {
            return;
        }
    }
}

/* Bytes that end a word. A comma is one, so that `in (a, b)` is an error and not a text "a,". */
static bool ends_word(unsigned char byte)
{
    return byte <= ' ' || byte == 0x7F || strchr("()\"'`;=<>!~,", byte) != NULL;
}

static int read_word(struct lexer *lexer, struct token *token, struct vamp_err *err)
{
    const char *start = lexer->cursor;
    while (!ends_word(peek(lexer))) {
        size_t length = vamp_utf8_read(lexer->cursor, (size_t)(lexer->end - lexer->cursor), NULL);
        if (length == 0) {
            return vamp_position_error(
                &lexer->at, -EINVAL, err,
                "this byte (0x%02x) is not UTF-8; in a text in double quotes "
                "it can be written \\x%02x",
                peek(lexer), peek(lexer));
        }
        while (length-- > 0) {
            step(lexer);
        }
    }
    token->length = (size_t)(lexer->cursor - start);
    token->text = vamp_arena_text(lexer->arena, start, token->length);
    return token->text != NULL ? 0 : vamp_err_set(err, -ENOMEM, "compile a filter: no memory");
}

static int hex_digit(unsigned char byte)
{
    if (byte >= '0' && byte <= '9') {
        return byte - '0';
    }
    unsigned lower = byte | 0x20U;
    return lower >= 'a' && lower <= 'f' ? (int)(lower - 'a') + 10 : -1;
}

/* The byte that an escape stands for; the cursor is after the backslash. */
static int read_escape(struct lexer *lexer, const struct position *at, char *ret_byte,
                       struct vamp_err *err)
{
    unsigned char byte = peek(lexer);
    static const char from[] = "\\\"'nrt", to[] = "\\\"'\n\r\t";
    const char *found = byte != 0 ? strchr(from, byte) : NULL;
    if (found != NULL) {
        *ret_byte = to[found - from];
        step(lexer);
        return 0;
    }
    if (byte == 'x' && lexer->end - lexer->cursor >= 3) {
        int high = hex_digit((unsigned char)lexer->cursor[1]);
        int low = hex_digit((unsigned char)lexer->cursor[2]);
        if (high >= 0 && low >= 0) {
            *ret_byte = (char)(high * 16 + low);
            step(lexer);
            step(lexer);
            step(lexer);
            return 0;
        }
    }
    return vamp_position_error(at, -EINVAL, err,
                               "unknown escape; known are \\\\ \\\" \\' \\n \\r \\t and \\xHH. In "
                               "single quotes a backslash is an ordinary character");
}

/* Upper bound of the bytes in the quoted text that begins at the cursor, after its quote. */
static size_t quoted_bytes(const struct lexer *lexer, unsigned char quote)
{
    const char *p = lexer->cursor;
    while (p < lexer->end && *p != '\n' && (unsigned char)*p != quote) {
        p += *p == '\\' && quote == '"' && lexer->end - p > 1 ? 2 : 1;
    }
    return (size_t)(p - lexer->cursor);
}

/* A quoted text; the cursor is at the opening quote. Escapes count in double quotes only. */
static int read_text(struct lexer *lexer, struct token *token, struct vamp_err *err)
{
    unsigned char quote = peek(lexer);
    step(lexer);
    char *text = vamp_arena_alloc(lexer->arena, quoted_bytes(lexer, quote) + 1);
    if (text == NULL) {
        return vamp_err_set(err, -ENOMEM, "compile a filter: no memory");
    }
    size_t length = 0;
    for (;;) {
        struct position at = lexer->at;
        unsigned char byte = peek(lexer);
        if (lexer->cursor >= lexer->end || byte == '\n') {
            return vamp_position_error(
                &token->at, -EINVAL, err,
                "the quoted text that begins here is not closed on its line");
        }
        if (byte == quote) {
            step(lexer);
            break;
        }
        size_t character =
            vamp_utf8_read(lexer->cursor, (size_t)(lexer->end - lexer->cursor), NULL);
        if (character == 0) {
            return vamp_position_error(
                &at, -EINVAL, err,
                "this byte (0x%02x) is not UTF-8; in double quotes it can be "
                "written \\x%02x",
                byte, byte);
        }
        if (byte == '\\' && quote == '"') {
            step(lexer);
            int rc = read_escape(lexer, &at, &text[length], err);
            if (rc != 0) {
                return rc;
            }
            length++;
            continue;
        }
        memcpy(text + length, lexer->cursor, character);
        length += character;
        while (character-- > 0) {
            step(lexer);
        }
    }
    token->text = text;
    token->length = length;
    return 0;
}

static int read_operator(struct lexer *lexer, struct token *token, struct vamp_err *err)
{
    static const struct {
        const char *text;
        enum comparison comparison;
        bool is_match;
    } operators[] = {
        /* Longer operators come first. */
        {"==", COMPARE_EQ, false}, {"=~", COMPARE_EQ, true},  {"!=", COMPARE_NE, false},
        {"<=", COMPARE_LE, false}, {">=", COMPARE_GE, false}, {"<>", COMPARE_NE, false},
        {"=", COMPARE_EQ, false},  {"<", COMPARE_LT, false},  {">", COMPARE_GT, false},
        {"~", COMPARE_EQ, true},
    };
    for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
        size_t length = strlen(operators[i].text);
        if ((size_t)(lexer->end - lexer->cursor) >= length &&
            memcmp(lexer->cursor, operators[i].text, length) == 0) {
            token->comparison = operators[i].comparison;
            token->is_match = operators[i].is_match;
            while (length-- > 0) {
                step(lexer);
            }
            return 0;
        }
    }
    return vamp_position_error(&token->at, -EINVAL, err,
                               "'!' is no operator alone; write != or (not ...)");
}

static int read_reference(struct lexer *lexer, struct token *token, struct vamp_err *err)
{
    step(lexer);
    if (ends_word(peek(lexer))) {
        return vamp_position_error(&token->at, -EINVAL, err,
                                   "'@' needs the name of a filter right after it");
    }
    return read_word(lexer, token, err);
}

int vamp_lexer_next(struct lexer *lexer, struct token *ret_token, struct vamp_err *err)
{
    skip_blanks_and_comments(lexer);
    struct token token = {.at = lexer->at, .text = ""};
    unsigned char byte = peek(lexer);
    int rc = 0;
    if (byte == 0) {
        token.kind = TOKEN_END;
    } else if (byte == '(' || byte == ')') {
        token.kind = byte == '(' ? TOKEN_OPEN : TOKEN_CLOSE;
        step(lexer);
    } else if (byte == '"' || byte == '\'') {
        token.kind = TOKEN_TEXT;
        rc = read_text(lexer, &token, err);
    } else if (byte == '@') {
        token.kind = TOKEN_REFERENCE;
        rc = read_reference(lexer, &token, err);
    } else if (strchr("=<>!~", byte) != NULL) {
        token.kind = TOKEN_OPERATOR;
        rc = read_operator(lexer, &token, err);
    } else if (byte == ',') {
        rc = vamp_position_error(&token.at, -EINVAL, err,
                                 "a comma separates nothing here: list members are separated by "
                                 "blanks, and a text with a comma must be quoted");
    } else if (ends_word(byte)) {
        rc = vamp_position_error(&token.at, -EINVAL, err,
                                 "this character (0x%02x) is allowed only in a quoted text", byte);
    } else {
        token.kind = TOKEN_WORD;
        rc = read_word(lexer, &token, err);
    }
    if (rc == 0) {
        *ret_token = token;
    }
    return rc;
}
