/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The reader: JSON (RFC 8259) with comments where blanks may stand, read once, into values that
 * know their place. It ends at the first mistake, which leaves nothing to check.
 *
 * Stricter than JSON in three points: at most CONFIG_DEPTH_MAX levels, at most CONFIG_VALUES_MAX
 * values, and no \u0000 in a text, which C cannot hold.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "config/internal.h"
#include "vampire/core/utf8.h"

struct reader {
    const char *text; /* text[length] is 0 */
    size_t length, at;
    const struct config_reading *reading;
    struct config_value *open; /* innermost list or object whose end was not reached; NULL: none */
    unsigned depth;
};

/* ---- tokens */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static size_t count_digits(const char *at)
{
    return strspn(at, "0123456789");
}

/* The bytes of a well-formed number; 0: there is none. */
static size_t number_length(const char *text)
{
    const char *at = text + (*text == '-');
    const size_t whole = *at == '0' ? 1 : count_digits(at);
    at += whole;
    size_t digits = 1;
    if (*at == '.') {
        digits = count_digits(at + 1);
        at += 1 + digits;
    }
    if (digits > 0 && (*at == 'e' || *at == 'E')) {
        at += 1 + (at[1] == '-' || at[1] == '+');
        digits = count_digits(at);
        at += digits;
    }
    return whole > 0 && digits > 0 ? (size_t)(at - text) : 0;
}

static int read_literal(const struct reader *reader, size_t quote, char *out, size_t *ret_end)
{
    return config_literal_read(reader->text, reader->length, quote, out, ret_end,
                               reader->reading->fault);
}

/* Another token stands where `what` says. */
static int refuse_here(const struct reader *reader, const char *what, const char *hint)
{
    const char *at = reader->text + reader->at;
    if (reader->at >= reader->length) {
        return config_refuse(reader->reading->fault, reader->length,
                             "this is no JSON: %s near end of file", what);
    }
    if (*at == '\0') {
        return config_refuse(reader->reading->fault, reader->at,
                             "a zero byte: this is no text file");
    }
    size_t length = vamp_utf8_length(at);
    size_t end = 0;
    if (length == 0) {
        return config_refuse(reader->reading->fault, reader->at,
                             "this is no JSON: unable to decode byte 0x%02x",
                             (unsigned)(unsigned char)*at);
    }
    if (*at == '"') {
        const int code = read_literal(reader, reader->at, NULL, &end);
        if (code != 0) {
            return code;
        }
        length = end - reader->at;
    } else if (is_letter(*at)) {
        while (is_letter(at[length])) {
            length++;
        }
    } else if (number_length(at) > 0) {
        length = number_length(at);
    }
    return config_refuse_token(reader->reading->fault, reader->text, reader->at,
                               reader->at + length, what, hint);
}

/* ---- blanks and comments */

static int skip_blanks(struct reader *reader)
{
    for (;;) {
        const char *at = reader->text + reader->at;
        const char *end = at + strspn(at, " \t\r\n");
        if (end == at && at[0] == '/' && at[1] == '/') {
            end = at + strcspn(at, "\n");
        } else if (end == at && at[0] == '/' && at[1] == '*') {
            const char *close = strstr(at + 2, "*/");
            if (close == NULL) {
                return config_refuse(reader->reading->fault, reader->at,
                                     "this comment has no end (*/)");
            }
            end = close + 2;
        }
        if (end == at) {
            return 0;
        }
        reader->at = (size_t)(end - reader->text);
    }
}

/* ---- values */

/* The key of a member whose value comes next; offset 0: an item of a list. */
struct key {
    size_t offset, end;
};

/* A value at the reader's place, with room for the text. NULL without memory. */
static struct config_value *add_value(const struct reader *reader, const struct key *key,
                                      enum config_type type, size_t text_bytes)
{
    const struct config_reading *reading = reader->reading;
    struct config_value *value =
        config_value_add(reading->tree, reader->open, key->end - key->offset, text_bytes);
    if (value == NULL) {
        return NULL;
    }
    value->type = type;
    value->origin = reading->into->origin;
    value->level = reading->into->level;
    value->offset = (uint32_t)reader->at;
    value->key_offset = (uint32_t)key->offset;
    if (key->end > key->offset) {
        size_t end = 0;
        (void)read_literal(reader, key->offset, value->room, &end); /* was checked */
    }
    return value;
}

/* Where a new value's text is kept. */
static char *room_for_text(struct config_value *value)
{
    return value->room + (value->text - value->room);
}

static int read_text(struct reader *reader, const struct key *key)
{
    size_t end = 0;
    const int code = read_literal(reader, reader->at, NULL, &end);
    if (code != 0) {
        return code;
    }
    struct config_value *value = add_value(reader, key, CONFIG_TEXT, end - reader->at);
    if (value == NULL) {
        return -ENOMEM;
    }
    (void)read_literal(reader, reader->at, room_for_text(value), &end); /* was checked */
    value->end = (uint32_t)end;
    reader->at = end;
    return 0;
}

/* A whole number is an INTEGER however it is written: 1000, 1000.0, 1e3. */
static int convert_number(const struct reader *reader, size_t length, struct config_value *value)
{
    static const double exact = 9007199254740992.0; /* 2^53 */
    const size_t end = reader->at + length;
    errno = 0;
    if (value->text[strcspn(value->text, ".eE")] == '\0') {
        value->integer = strtoll(value->text, NULL, 10);
        return errno == 0
                   ? 0
                   : config_refuse_token(reader->reading->fault, reader->text, reader->at, end,
                                         value->text[0] == '-' ? "too big negative integer"
                                                               : "too big integer",
                                         "");
    }
    const double number = strtod(value->text, NULL);
    if (isinf(number)) {
        return config_refuse_token(reader->reading->fault, reader->text, reader->at, end,
                                   "real number overflow", "");
    }
    if (number == floor(number) && fabs(number) <= exact) {
        value->integer = (int64_t)number;
    } else {
        value->type = CONFIG_REAL;
    }
    return 0;
}

static int read_number(struct reader *reader, const struct key *key)
{
    const size_t length = number_length(reader->text + reader->at);
    if (length == 0) {
        return refuse_here(reader, "invalid token", "");
    }
    struct config_value *value = add_value(reader, key, CONFIG_INTEGER, length);
    if (value == NULL) {
        return -ENOMEM;
    }
    memcpy(room_for_text(value), reader->text + reader->at, length);
    const int code = convert_number(reader, length, value);
    reader->at += length;
    value->end = (uint32_t)reader->at;
    return code;
}

static int read_word(struct reader *reader, const struct key *key)
{
    static const struct {
        const char *word;
        enum config_type type;
    } words[] = {{"true", CONFIG_TRUE}, {"false", CONFIG_FALSE}, {"null", CONFIG_NULL}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const size_t length = strlen(words[i].word);
        const char *at = reader->text + reader->at;
        if (strncmp(at, words[i].word, length) == 0 && !is_letter(at[length])) {
            struct config_value *value = add_value(reader, key, words[i].type, 0);
            if (value == NULL) {
                return -ENOMEM;
            }
            reader->at += length;
            value->end = (uint32_t)reader->at;
            return 0;
        }
    }
    return refuse_here(reader, "invalid token", "");
}

/* Enters a list or object, whose values follow. */
static int open_value(struct reader *reader, struct config_value *value)
{
    if (value == NULL) {
        return -ENOMEM;
    }
    if (reader->depth == CONFIG_DEPTH_MAX) {
        return config_refuse(reader->reading->fault, reader->at,
                             "nested too deeply: more than %d levels", CONFIG_DEPTH_MAX);
    }
    value->type = reader->text[reader->at] == '{' ? CONFIG_OBJECT : CONFIG_LIST;
    reader->open = value;
    reader->depth++;
    reader->at++;
    return 0;
}

static void close_value(struct reader *reader)
{
    struct config_value *value = reader->open;
    reader->open = value == reader->reading->into ? NULL : value->parent;
    reader->depth--;
    reader->at++;
    value->end = (uint32_t)reader->at;
}

static int read_value(struct reader *reader, const struct key *key)
{
    if (reader->reading->tree->count >= CONFIG_VALUES_MAX) {
        return config_refuse(reader->reading->fault, reader->at,
                             "more than %d values in one configuration", CONFIG_VALUES_MAX);
    }
    const char first = reader->text[reader->at];
    switch (first) {
    case '{':
    case '[':
        return open_value(reader, add_value(reader, key, CONFIG_LIST, 0));
    case '"':
        return read_text(reader, key);
    case '}':
    case ']':
    case ',':
    case ':':
    case '\0':
        return refuse_here(
            reader, "unexpected token",
            first == ']' && key->offset == 0 ? " (no comma is allowed after the last item)" : "");
    default:
        return first == '-' || is_digit(first) ? read_number(reader, key) : read_word(reader, key);
    }
}

static int read_key(struct reader *reader, struct key *ret_key)
{
    if (reader->text[reader->at] != '"') {
        const bool comma = reader->text[reader->at] == '}';
        return refuse_here(reader, "string or '}' expected",
                           comma ? " (no comma is allowed after the last item)" : "");
    }
    ret_key->offset = reader->at;
    int code = read_literal(reader, reader->at, NULL, &ret_key->end);
    if (code != 0) {
        return code;
    }
    reader->at = ret_key->end;
    code = skip_blanks(reader);
    if (code == 0 && reader->text[reader->at] != ':') {
        return refuse_here(reader, "':' expected", "");
    }
    reader->at++;
    return code != 0 ? code : skip_blanks(reader);
}

/* The next value of the open list or object, or its end. */
static int read_next(struct reader *reader)
{
    const bool object = reader->open->type == CONFIG_OBJECT;
    const char close = object ? '}' : ']';
    int code = skip_blanks(reader);
    if (code == 0 && reader->text[reader->at] == close) {
        close_value(reader);
        return 0;
    }
    if (code == 0 && reader->open->count > 0) {
        if (reader->text[reader->at] != ',') {
            return refuse_here(reader, object ? "'}' expected" : "']' expected", "");
        }
        reader->at++;
        code = skip_blanks(reader);
    }
    struct key key = {0, 0};
    if (code == 0 && object) {
        code = read_key(reader, &key);
    }
    return code != 0 ? code : read_value(reader, &key);
}

int config_read(const char *text, size_t length, const struct config_reading *reading)
{
    struct reader reader = {.text = text, .length = length, .reading = reading};
    reader.at = strncmp(text, CONFIG_BYTE_ORDER_MARK, 3) == 0 ? 3 : 0;
    int code = skip_blanks(&reader);
    if (code == 0 && reader.at >= length) {
        return config_refuse(reader.reading->fault, 0,
                             "the file is empty; {} is the smallest configuration");
    }
    if (code == 0 && text[reader.at] != '{' && text[reader.at] != '[') {
        return refuse_here(&reader, "'[' or '{' expected", "");
    }
    if (code == 0) {
        reading->into->offset = (uint32_t)reader.at;
        code = open_value(&reader, reading->into);
    }
    while (code == 0 && reader.open != NULL) {
        code = read_next(&reader);
    }
    if (code == 0) {
        code = skip_blanks(&reader);
    }
    return code == 0 && reader.at < length ? refuse_here(&reader, "end of file expected", "")
                                           : code;
}
