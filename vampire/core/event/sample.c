/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/core/event/sample.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/core/utf8.h"

#define NUMBER_BYTES 64 /* maximum length of a parsed number, including its terminator */
#define TAGS_MAX 256    /* per line */

/* Returns the first of the `stops` characters that has no backslash in front, or the end. As in
 * InfluxDB, a backslash does not escape a backslash. */
static const char *find(const char *begin, const char *end, const char *stops)
{
    const char *at = begin;
    for (; at < end; at++) {
        const bool is_stop = *at == stops[0] || *at == stops[1] || *at == stops[2];
        if (is_stop && (at == begin || at[-1] != '\\')) {
            break;
        }
    }
    return at;
}

/* Sets of up to three stop characters; shorter sets repeat a character. */
static const char at_comma_blank[] = ",  ";
static const char at_equals_comma_blank[] = "=, ";

/* ---- values */

/* Reads a number. Accepts only digits, sign, point and exponent, not "inf" or "0x10"; for type 'i'
 * or 'u' a 64-bit integer with or without sign. */
static bool read_number(const char *text, size_t length, char type, long double *ret_value)
{
    const bool whole = type == 'i' || type == 'u';
    char number[NUMBER_BYTES], *end = NULL;
    if (length == 0 || length >= sizeof number) {
        return false;
    }
    memcpy(number, text, length);
    number[length] = '\0';
    const char *allowed = whole ? "0123456789+-" : "0123456789+-.eE";
    if (strspn(number, allowed) != length) {
        return false;
    }
    errno = 0;
    bool fits = false;
    switch (type) {
    case 'i':
        *ret_value = (long double)strtoll(number, &end, 10);
        fits = errno == 0;
        break;
    case 'u':
        *ret_value = (long double)strtoull(number, &end, 10);
        fits = errno == 0 && number[0] != '-';
        break;
    default:
        *ret_value = (long double)strtod(number, &end);
        fits = isfinite(*ret_value);
        break;
    }
    return fits && end == number + length;
}

static bool read_value(const char *text, size_t length, long double *ret_value)
{
    static const char *const truths[] = {"f", "F", "false", "False", "FALSE",
                                         "t", "T", "true",  "True",  "TRUE"};
    const size_t count = sizeof truths / sizeof truths[0];
    const char last = length > 0 ? text[length - 1] : '\0';
    if (read_number(text, length - (last == 'i' || last == 'u'), last, ret_value)) {
        return true;
    }
    for (size_t i = 0; i < count; i++) {
        if (strlen(truths[i]) == length && memcmp(truths[i], text, length) == 0) {
            *ret_value = i >= count / 2;
            return true;
        }
    }
    return false;
}

/* Returns the end of the value at `at`; for a quoted text, the position of its closing quote. */
static const char *value_end(const char *at, const char *end)
{
    if (at == end || *at != '"') {
        return find(at, end, at_comma_blank);
    }
    for (at++; at < end && *at != '"'; at++) {
        at += *at == '\\' && at + 1 < end;
    }
    return at < end ? at + 1 : NULL;
}

/* ---- lines */

static int refuse(const char *text, const char *at, const char *what, struct vamp_err *err)
{
    return vamp_err_set(err, -EINVAL, "column %td: %s", at - text + 1, what);
}

/* Returns the '=' of the KEY=VALUE expected at `at`; NULL if there is none. */
static const char *find_equals(const char *at, const char *end)
{
    const char *equals = find(at, end, at_equals_comma_blank);
    return equals > at && equals < end && *equals == '=' ? equals : NULL;
}

struct tag_names {
    unsigned count;
    struct {
        const char *at;
        size_t length;
    } items[TAGS_MAX];
};

static bool contains_name(const struct tag_names *names, const char *at, size_t length)
{
    for (unsigned i = 0; i < names->count; i++) {
        if (names->items[i].length == length && memcmp(names->items[i].at, at, length) == 0) {
            return true;
        }
    }
    return false;
}

/* Checks measurement and tags. Sets `*at` to the blank after them. */
static int read_series(const char *text, const char *end, const char **at, struct vamp_err *err)
{
    struct tag_names names;
    names.count = 0;
    *at = find(text, end, at_comma_blank);
    if (*at == text) {
        return refuse(text, text, "a measurement is missing", err);
    }
    while (*at < end && **at == ',') {
        const char *name = *at + 1, *equals = find_equals(name, end);
        if (equals == NULL) {
            return refuse(text, name, "expected a tag, NAME=VALUE", err);
        }
        const size_t length = (size_t)(equals - name);
        *at = find(equals + 1, end, at_equals_comma_blank);
        if (*at == equals + 1) {
            return refuse(text, *at, "the tag's value is missing", err);
        }
        if (*at < end && **at == '=') {
            return refuse(text, *at, "\"=\" in a tag value must be escaped (\\=)", err);
        }
        if (contains_name(&names, name, length)) {
            return refuse(text, name, "duplicate tag", err);
        }
        if (names.count == TAGS_MAX) {
            return refuse(text, name, "more than 256 tags", err);
        }
        names.items[names.count].at = name;
        names.items[names.count++].length = length;
    }
    if (*at == end) {
        return refuse(text, end, "fields are missing after a blank", err);
    }
    return 0;
}

/* Checks all fields. Sets `*at` to the text after them. */
static int read_fields(const char *text, const char *end, const char **at, struct vamp_err *err)
{
    for (;; ++*at) {
        const char *equals = find_equals(*at, end);
        if (equals == NULL) {
            return refuse(text, *at, "expected a field, NAME=VALUE", err);
        }
        const char *value = equals + 1;
        long double number = 0;
        *at = value_end(value, end);
        if (*at == NULL) {
            return refuse(text, value, "the quotation mark is never closed", err);
        }
        const bool is_text = value < end && *value == '"';
        if (!is_text && !read_value(value, (size_t)(*at - value), &number)) {
            return refuse(text, value,
                          "expected a number (1.5, 12i, 12u), true, false or a text in quotation "
                          "marks",
                          err);
        }
        if (*at == end || **at != ',') {
            return 0;
        }
    }
}

int vamp_sample_line_read(const char *text, size_t length, struct vamp_sample_line *ret_line,
                          struct vamp_err *err)
{
    const char *end = text + length;
    while (end > text && (end[-1] == '\r' || end[-1] == ' ')) {
        end--;
    }
    if (end == text || *text == '#') {
        return -ENODATA;
    }
    const char *nul = memchr(text, '\0', (size_t)(end - text));
    if (nul != NULL) {
        return refuse(text, nul, "a byte that is 0", err);
    }
    const char *at = text;
    int status = read_series(text, end, &at, err);
    if (status != 0) {
        return status;
    }
    *ret_line = (struct vamp_sample_line){.text = text, .series_length = (size_t)(at - text)};
    while (at < end && *at == ' ') {
        at++;
    }
    ret_line->at = at;
    status = read_fields(text, end, &at, err);
    ret_line->end = at;
    if (status != 0) {
        return status;
    }
    if (at < end && *at != ' ') {
        return refuse(text, at, "expected a comma or a blank after the value", err);
    }
    while (at < end && *at == ' ') {
        at++;
    }
    long double time = 0;
    ret_line->has_time = read_number(at, (size_t)(end - at), 'i', &time);
    ret_line->time = (int64_t)time;
    if (at != end && !ret_line->has_time) {
        return refuse(text, at, "expected a time, a whole number", err);
    }
    return 0;
}

bool vamp_sample_line_next(struct vamp_sample_line *line, const char **ret_field,
                           size_t *ret_length)
{
    while (line->at < line->end) {
        const char *field = line->at;
        const char *equals = find(field, line->end, at_equals_comma_blank);
        const char *after = value_end(equals + 1, line->end);
        assert(after != NULL);
        line->at = after < line->end ? after + 1 : after;
        if (equals[1] != '"') {
            *ret_field = field;
            *ret_length = (size_t)(after - field);
            return true;
        }
    }
    return false;
}

/* ---- samples */

bool vamp_sample_read(const char *text, size_t length, struct vamp_sample *ret_sample)
{
    const char *equals = length > 0 ? memrchr(text, '=', length) : NULL;
    if (equals == NULL) {
        return false;
    }
    ret_sample->key = text;
    ret_sample->key_length = (size_t)(equals - text);
    return find(text, equals, "   ") < equals &&
           read_value(equals + 1, length - ret_sample->key_length - 1, &ret_sample->value);
}

static bool is_special(char byte)
{
    return byte == ',' || byte == '=' || byte == ' ';
}

/* Copies the text without the backslashes of escaped characters. Returns false if the text was cut.
 */
static bool copy_plain(const char *at, const char *end, char *out, size_t bytes)
{
    size_t used = 0;
    for (; at < end && used + 1 < bytes; at++) {
        const bool is_escape = *at == '\\' && at + 1 < end && is_special(at[1]);
        if (is_escape) {
            at++;
        }
        out[used++] = *at;
    }
    out[used] = '\0';
    return at >= end;
}

bool vamp_sample_name(const struct vamp_sample *sample, char *out, size_t bytes)
{
    const char *end = sample->key + sample->key_length;
    const char *after = find(sample->key, end, at_comma_blank);
    const char *blank = find(sample->key, end, "   ");
    if (!copy_plain(sample->key, after, out, bytes) || strlen(out) + 2 > bytes || blank == end) {
        return false;
    }
    const size_t used = strlen(out);
    out[used] = '.';
    return copy_plain(blank + 1, end, out + used + 1, bytes - used - 1);
}

bool vamp_sample_tag(const struct vamp_sample *sample, const char *tag, char *out, size_t bytes)
{
    const char *end = find(sample->key, sample->key + sample->key_length, "   ");
    const char *at = find(sample->key, end, at_comma_blank);
    const size_t length = strlen(tag);
    while (at < end) {
        const char *equals = find(++at, end, at_equals_comma_blank);
        const char *after = find(equals, end, at_comma_blank);
        if ((size_t)(equals - at) == length && memcmp(at, tag, length) == 0 && equals < after) {
            const bool fits = copy_plain(equals + 1, after, out, bytes);
            if (!fits) {
                out[0] = '\0';
            }
            return fits;
        }
        at = after;
    }
    out[0] = '\0';
    return false;
}

bool vamp_sample_label(const struct vamp_sample *sample, const char *tag,
                       char label[static VAMP_SAMPLE_LABEL_BYTES])
{
    char text[VAMP_SAMPLE_LABEL_BYTES - 1];
    const bool found = vamp_sample_tag(sample, tag, text, sizeof text);
    memset(label, 0, VAMP_SAMPLE_LABEL_BYTES);
    (void)vamp_utf8_copy(label, VAMP_SAMPLE_LABEL_BYTES - 1, text);
    return found;
}

void vamp_sample_shorten_host(char *host)
{
    char *point = strchr(host, '.');
    if (point != NULL && host[strspn(host, "0123456789.")] != '\0') {
        *point = '\0';
    }
}
