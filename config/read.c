/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The parser: JSON (RFC 8259) with comments wherever white space is allowed, read in one pass into
 * values with locations. It stops at the first error, because nothing after it can be checked.
 *
 * Stricter than JSON in three respects: at most CONFIG_DEPTH_MAX levels, at most CONFIG_VALUES_MAX
 * values, and no \u0000 in a text, since C strings cannot contain it.
 */
#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "config/internal.h"
#include "vampire/core/io.h"
#include "vampire/core/utf8.h"

/* Maximum length of a token that is quoted in a message. */
#define QUOTED_BYTES_MAX 20

struct reader {
    const char *text; /* text[length] must be 0 */
    size_t length, at;
    const struct config_reading *reading;
    struct config_value *open; /* innermost open list or object; NULL: none */
    unsigned depth;
};

/* ---- the file */

void config_file_done(struct config_file *file)
{
    free(file->bytes);
    free(file->shown);
    *file = (struct config_file){0};
}

int config_file_read(struct config_file *file, const char *name, struct vamp_err *err)
{
    if (name[0] == '\0') {
        return vamp_err_set(err, -ENOENT, "open the configuration: the name of the file is empty");
    }
    const bool standard = strcmp(name, "-") == 0;
    const char *shown = "from standard input";
    int fd = STDIN_FILENO;
    if (!standard) {
        shown = name;
        fd = open(name, O_RDONLY | O_CLOEXEC);
    }
    if (fd < 0) {
        return vamp_err_set_errno(err, errno, "open the configuration %s", name);
    }
    *file = (struct config_file){.bytes = malloc(CONFIG_FILE_BYTES_MAX + 2)};
    int code = -ENOMEM;
    if (file->bytes != NULL) {
        code = -vamp_read_all(fd, file->bytes, CONFIG_FILE_BYTES_MAX + 1, &file->length);
    }
    if (code == 0 && file->length <= CONFIG_FILE_BYTES_MAX) {
        file->bytes[file->length] = '\0';
        file->shown = malloc(file->length + 1); /* the contents may include zero bytes */
        if (file->shown == NULL) {
            code = -ENOMEM;
        }
    }
    if (file->shown != NULL) {
        memcpy(file->shown, file->bytes, file->length + 1);
        config_hide_addresses(file);
    }
    if (!standard) {
        (void)close(fd); /* the file was only read: no data can be lost */
    }
    if (code == 0 && file->length > CONFIG_FILE_BYTES_MAX) {
        code = vamp_err_set(err, -EFBIG,
                            "read the configuration %s: it is larger than 256KiB, the most a "
                            "configuration may have",
                            shown);
    } else if (code != 0) {
        code = vamp_err_set_errno(err, -code, "read the configuration %s", shown);
    }
    if (code != 0) {
        config_file_done(file);
    }
    return code;
}

/* ---- errors */

/* Sets the error. Returns -EINVAL. */
static int VAMP_PRINTF(3, 4)
    refuse(struct config_fault *fault, size_t offset, const char *format, ...)
{
    va_list arguments;
    *fault = (struct config_fault){.offset = offset};
    va_start(arguments, format);
    (void)vsnprintf(fault->text, sizeof fault->text, format, arguments);
    va_end(arguments);
    return -EINVAL;
}

/* Sets an error for the token from `first` to `end`, located at its beginning and quoted; for a
 * long token, located at its end and not quoted. */
static int refuse_token(struct config_fault *fault, const char *text, size_t first, size_t end,
                        const char *what, const char *hint)
{
    if (end - first > QUOTED_BYTES_MAX) {
        return refuse(fault, end, "this is no JSON: %s%s", what, hint);
    }
    (void)refuse(fault, first, "this is no JSON: %s near '%.*s'%s", what, (int)(end - first),
                 text + first, hint);
    (void)snprintf(fault->unquoted, sizeof fault->unquoted, "this is no JSON: %s%s", what, hint);
    fault->quoted_end = end;
    return -EINVAL;
}

/* ---- text literals */

/* One character of a literal, as UTF-8. */
struct character {
    char bytes[VAMP_UTF8_BYTES_MAX];
    size_t count; /* number of bytes */
    size_t end;   /* file offset of the next character; escapes are longer in the file */
};

/* Returns the value of "\uXXXX"; UINT_MAX: not four hexadecimal digits. */
static unsigned read_hex4(const char *escape)
{
    if (escape[0] != '\\' || escape[1] != 'u' || strspn(escape + 2, "0123456789abcdefABCDEF") < 4) {
        return UINT_MAX;
    }
    const char digits[] = {escape[2], escape[3], escape[4], escape[5], '\0'};
    return (unsigned)strtoul(digits, NULL, 16);
}

static bool is_surrogate(unsigned point, unsigned first)
{
    return point >= first && point < first + 0x400;
}

/* Reads an escape such as "\n" or "\uXXXX", or a pair of the latter that encodes one character. */
static int read_escape(const char *text, size_t quote, size_t at, struct character *ret_character,
                       struct config_fault *fault)
{
    static const char escapes[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    const char letter = text[at + 1];
    if (letter == '\0') {
        return refuse_token(fault, text, quote, at + 1, "premature end of input", "");
    }
    const char *found = strchr(escapes, letter);
    if (found != NULL) {
        *ret_character =
            (struct character){.bytes = {meanings[found - escapes]}, .count = 1, .end = at + 2};
        return 0;
    }
    unsigned point = read_hex4(text + at);
    if (point == UINT_MAX) {
        return refuse_token(fault, text, quote, at + 1 + vamp_utf8_length(text + at + 1),
                            "invalid escape", "");
    }
    if (point == 0) {
        return refuse(fault, at, "a text of the configuration cannot contain \\u0000");
    }
    ret_character->end = at + 6;
    unsigned low = 0;
    if (is_surrogate(point, 0xd800)) {
        low = read_hex4(text + at + 6);
    }
    if (is_surrogate(low, 0xdc00)) {
        point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
        ret_character->end = at + 12;
    } else if (is_surrogate(point, 0xd800) || is_surrogate(point, 0xdc00)) {
        return refuse(fault, at, "this is no JSON: invalid Unicode '\\u%04X', half of a pair",
                      point);
    }
    ret_character->count = vamp_utf8_write(ret_character->bytes, point);
    return 0;
}

static int read_character(const char *text, size_t length, size_t quote, size_t at,
                          struct character *ret_character, struct config_fault *fault)
{
    const size_t count = vamp_utf8_length(text + at);
    const unsigned byte = (unsigned char)text[at];
    char what[48] = "unexpected newline";
    if (byte == '\\') {
        return read_escape(text, quote, at, ret_character, fault);
    }
    if (count > 0 && byte >= 0x20) {
        *ret_character = (struct character){.count = count, .end = at + count};
        memcpy(ret_character->bytes, text + at, count);
        return 0;
    }
    if (byte == 0 && at < length) {
        return refuse(fault, at, "a zero byte: this is no text file");
    }
    if (byte == 0) {
        (void)snprintf(what, sizeof what, "premature end of input");
    } else if (byte >= 0x80) {
        (void)snprintf(what, sizeof what, "unable to decode byte 0x%x", byte);
    } else if (byte != '\n') {
        (void)snprintf(what, sizeof what, "control character 0x%x", byte);
    }
    return refuse_token(fault, text, quote, at, what, "");
}

/* Reads the literal whose opening quote is at `quote`. The decoded text is written to `out`,
 * without a terminator, and is never longer than the literal; NULL: only checks the literal.
 * Returns 0 with the offset after the closing quote, or -EINVAL. */
static int read_literal(const struct reader *reader, size_t quote, char *out, size_t *ret_end)
{
    size_t at = quote + 1;
    while (reader->text[at] != '"') {
        struct character character = {0};
        const int code = read_character(reader->text, reader->length, quote, at, &character,
                                        reader->reading->fault);
        if (code != 0) {
            return code;
        }
        if (out != NULL) {
            out = mempcpy(out, character.bytes, character.count);
        }
        at = character.end;
    }
    *ret_end = at + 1;
    return 0;
}

size_t config_text_offset(const struct config_file *file, size_t quote, unsigned line,
                          unsigned column)
{
    struct config_fault none;
    struct character character = {0};
    size_t at = quote + 1;
    for (unsigned l = 1, c = 1;
         file->bytes[at] != '"' && (l < line || (l == line && c < column)) &&
         read_character(file->bytes, file->length, quote, at, &character, &none) == 0;
         at = character.end) {
        if (character.bytes[0] == '\n') {
            l++;
            c = 1;
        } else {
            c++;
        }
    }
    return at;
}

/* ---- other tokens */

static size_t word_length(const char *at)
{
    return strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
}

static size_t count_digits(const char *at)
{
    return strspn(at, "0123456789");
}

/* Returns the length of a well-formed number; 0: none. */
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
    if (whole == 0 || digits == 0) {
        return 0;
    }
    return (size_t)(at - text);
}

/* Reports the current token as an error; `what` is the expected one. */
static int refuse_here(const struct reader *reader, const char *what, const char *hint)
{
    const char *at = reader->text + reader->at;
    struct config_fault *fault = reader->reading->fault;
    if (reader->at >= reader->length) {
        return refuse(fault, reader->length, "this is no JSON: %s near end of file", what);
    }
    if (*at == '\0') {
        return refuse(fault, reader->at, "a zero byte: this is no text file");
    }
    size_t end = reader->at + vamp_utf8_length(at);
    if (end == reader->at) {
        return refuse(fault, reader->at, "this is no JSON: unable to decode byte 0x%02x",
                      (unsigned)(unsigned char)*at);
    }
    if (*at == '"') {
        const int code = read_literal(reader, reader->at, NULL, &end);
        if (code != 0) {
            return code;
        }
    } else if (word_length(at) > 0) {
        end = reader->at + word_length(at);
    } else if (number_length(at) > 0) {
        end = reader->at + number_length(at);
    }
    return refuse_token(fault, reader->text, reader->at, end, what, hint);
}

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
                return refuse(reader->reading->fault, reader->at, "this comment has no end (*/)");
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

/* The key of the member whose value follows; offset 0: an item of a list. */
struct key {
    size_t offset, end;
};

/* Adds a value of `bytes` bytes at the current offset, with storage for a text of that length.
 * Returns NULL if out of memory. */
static struct config_value *add_value(const struct reader *reader, const struct key *key,
                                      enum config_type type, size_t bytes)
{
    const struct config_reading *reading = reader->reading;
    struct config_value *value =
        config_value_add(reading->tree, reader->open, key->end - key->offset, bytes);
    if (value == NULL) {
        return NULL;
    }
    size_t end = 0;
    value->type = type;
    value->origin = reading->into->origin;
    value->level = reading->into->level;
    value->offset = (uint32_t)reader->at;
    value->end = (uint32_t)(reader->at + bytes);
    value->key_offset = (uint32_t)key->offset;
    if (key->end > key->offset) {
        (void)read_literal(reader, key->offset, value->room, &end); /* already checked */
    }
    char *text = value->room + (value->text - value->room);
    if (type == CONFIG_TEXT) {
        (void)read_literal(reader, reader->at, text, &end); /* already checked */
    } else if (type == CONFIG_INTEGER) {
        memcpy(text, reader->text + reader->at, bytes);
    }
    return value;
}

/* An integral number is an INTEGER in any notation: 1000, 1000.0, 1e3. */
static int convert_number(const struct reader *reader, struct config_value *value)
{
    static const double exact = 9007199254740992.0; /* 2^53 */
    const double number = strtod(value->text, NULL);
    const char *wrong = NULL;
    if (value->text[strcspn(value->text, ".eE")] == '\0') {
        errno = 0;
        value->integer = strtoll(value->text, NULL, 10);
        if (errno != 0) {
            wrong = value->text[0] == '-' ? "too big negative integer" : "too big integer";
        }
    } else if (isinf(number)) {
        wrong = "real number overflow";
    } else if (number == floor(number) && fabs(number) <= exact) {
        value->integer = (int64_t)number;
    } else {
        value->type = CONFIG_REAL;
    }
    if (wrong == NULL) {
        return 0;
    }
    return refuse_token(reader->reading->fault, reader->text, value->offset, value->end, wrong, "");
}

/* Returns a hint for text that is not a JSON value. */
static const char *value_hint(const char *at)
{
    static const char *const foreign[] = {"True", "False", "None", "yes", "no", "on", "off"};
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        const size_t length = strlen(foreign[i]);
        if (strncasecmp(at, foreign[i], length) == 0 && !isalnum((unsigned char)at[length]) &&
            at[length] != '_') {
            return " (the words are true, false and null, in lower case)";
        }
    }
    const bool is_text = isalpha((unsigned char)*at) || *at == '\'' || *at == '_';
    return is_text ? " (texts are in double quotes, such as \"hdf5\")" : "";
}

static int read_scalar(struct reader *reader, const struct key *key)
{
    static const struct {
        const char *word;
        enum config_type type;
    } words[] = {{"true", CONFIG_TRUE}, {"false", CONFIG_FALSE}, {"null", CONFIG_NULL}};
    const char *at = reader->text + reader->at;
    enum config_type type = CONFIG_INTEGER;
    size_t bytes = number_length(at);
    if (*at == '"') {
        size_t end = 0;
        const int code = read_literal(reader, reader->at, NULL, &end);
        if (code != 0) {
            return code;
        }
        type = CONFIG_TEXT;
        bytes = end - reader->at;
    }
    for (size_t i = 0; bytes == 0 && i < sizeof words / sizeof *words; i++) {
        const size_t length = strlen(words[i].word);
        if (word_length(at) == length && strncmp(at, words[i].word, length) == 0) {
            type = words[i].type;
            bytes = length;
        }
    }
    if (bytes == 0) {
        return refuse_here(reader, "invalid token", value_hint(at));
    }
    struct config_value *value = add_value(reader, key, type, bytes);
    if (value == NULL) {
        return -ENOMEM;
    }
    reader->at += bytes;
    if (type != CONFIG_INTEGER) {
        return 0;
    }
    return convert_number(reader, value);
}

static int open_value(struct reader *reader, struct config_value *value)
{
    if (value == NULL) {
        return -ENOMEM;
    }
    if (reader->depth == CONFIG_DEPTH_MAX) {
        return refuse(reader->reading->fault, reader->at, "nested too deeply: more than %d levels",
                      CONFIG_DEPTH_MAX);
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
        return refuse(reader->reading->fault, reader->at,
                      "more than %d values in one configuration", CONFIG_VALUES_MAX);
    }
    const char first = reader->text[reader->at];
    switch (first) {
    case '{':
    case '[':
        return open_value(reader, add_value(reader, key, CONFIG_LIST, 0));
    case '}':
    case ']':
    case ',':
    case ':':
    case '\0':
        return refuse_here(
            reader, "unexpected token",
            first == ']' && key->offset == 0 ? " (no comma is allowed after the last item)" : "");
    default:
        return read_scalar(reader, key);
    }
}

/* The hint for what stands in the place of the name of an option. */
static const char *name_hint(char first)
{
    if (first == '}') {
        return " (no comma is allowed after the last item)";
    }
    return first == '\0' ? "" : " (names are in double quotes, such as \"outputs\")";
}

/* The hint for what follows an item. */
static const char *item_hint(char first)
{
    const bool is_item = first == '"' || first == '{' || first == '[';
    return is_item ? " (items are separated by commas)" : "";
}

static int read_key(struct reader *reader, struct key *ret_key)
{
    if (reader->text[reader->at] != '"') {
        return refuse_here(reader, "string or '}' expected", name_hint(reader->text[reader->at]));
    }
    ret_key->offset = reader->at;
    int code = read_literal(reader, reader->at, NULL, &ret_key->end);
    if (code != 0) {
        return code;
    }
    reader->at = ret_key->end;
    code = skip_blanks(reader);
    if (code != 0) {
        return code;
    }
    if (reader->text[reader->at] != ':') {
        return refuse_here(reader, "':' expected", "");
    }
    reader->at++;
    return skip_blanks(reader);
}

/* Reads the next value of the open list or object, or its end. */
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
            return refuse_here(reader, object ? "'}' expected" : "']' expected",
                               item_hint(reader->text[reader->at]));
        }
        reader->at++;
        code = skip_blanks(reader);
    }
    struct key key = {0, 0};
    if (code == 0 && object) {
        code = read_key(reader, &key);
    }
    if (code == 0) {
        code = read_value(reader, &key);
    }
    return code;
}

/* Returns whether a text that is not JSON begins like YAML: with "---", "- ", or a key and a colon.
 */
static bool looks_like_yaml(const char *at)
{
    while (*at == '#' || *at == '\n') {
        at += strcspn(at, "\n");
        at += strspn(at, "\n ");
    }
    const size_t key = word_length(at);
    return strncmp(at, "---", 3) == 0 || strncmp(at, "- ", 2) == 0 || (key > 0 && at[key] == ':');
}

int config_read(const char *text, size_t length, const struct config_reading *reading)
{
    struct reader reader = {.text = text, .length = length, .reading = reading};
    reader.at = strncmp(text, CONFIG_BYTE_ORDER_MARK, 3) == 0 ? 3 : 0;
    int code = skip_blanks(&reader);
    if (code == 0 && reader.at >= length) {
        return refuse(reader.reading->fault, 0,
                      "the file is empty; {} is the smallest configuration");
    }
    if (code == 0 && text[reader.at] != '{' && text[reader.at] != '[') {
        if (looks_like_yaml(text + reader.at)) {
            return refuse(reading->fault, reader.at,
                          "this is YAML; a configuration is JSON, such as "
                          "{\"outputs\": [{\"type\": \"hdf5\"}]}");
        }
        const char *hint = text[reader.at] == '#' ? "; a comment begins with //" : "";
        return refuse_here(&reader, "'[' or '{' expected", hint);
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
    if (code == 0 && reader.at < length) {
        code = refuse_here(&reader, "end of file expected", "");
    }
    return code;
}
