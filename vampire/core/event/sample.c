/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/core/event/sample.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/core/utf8.h"

#define NUMBER_BYTES 64 /* of the longest number that is read, and a terminator */

/* The first of these characters that has no backslash in front, or the end. */
static const char *find(const char *at, const char *end, const char *stops)
{
    for (; at < end; at++) {
        if (*at == '\\' && at + 1 < end) {
            at++;
        } else if (*at == stops[0] || *at == stops[1] || *at == stops[2]) {
            break;
        }
    }
    return at;
}

/* Characters to stop at, each three times or less. */
static const char at_comma_blank[] = ",  ";
static const char at_equals_comma_blank[] = "=, ";

/* ---- values */

static bool is_word(const char *text, size_t length, const char *const *words)
{
    for (; *words != NULL; words++) {
        if (strlen(*words) == length && memcmp(*words, text, length) == 0) {
            return true;
        }
    }
    return false;
}

/* Digits, sign, point and exponent only: no "inf", no "0x10". */
static bool has_form_of_number(const char *text, size_t length)
{
    static const char allowed[] = "0123456789+-.eE";
    for (size_t i = 0; i < length; i++) {
        if (memchr(allowed, text[i], sizeof allowed - 1) == NULL) {
            return false;
        }
    }
    return length > 0;
}

/* Most numbers: digits with a sign and a point, so few that the value is that of strtod or, `whole`
 * (without a point), strtoll. False: not one of these. */
static bool read_short(const char *text, size_t length, bool whole, long double *ret_value)
{
    static const double powers[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    const bool negative = length > 0 && text[0] == '-';
    uint64_t digits = 0;
    unsigned count = 0, decimals = 0;
    bool point = false;
    for (size_t i = negative; i < length; i++) {
        const unsigned digit = (unsigned char)text[i] - (unsigned)'0';
        if (digit <= 9) {
            digits = digits * 10 + digit;
            count++;
            decimals += point;
        } else if (text[i] == '.' && !point && !whole) {
            point = true;
        } else {
            return false;
        }
    }
    if (count == 0 || count > (whole ? 19 : 15) || digits > INT64_MAX) {
        return false;
    }
    /* Of so few digits the division of doubles is exact to the last bit, as strtod's. */
    const double fraction = (double)digits / powers[decimals];
    const long double value = whole ? (long double)digits : (long double)fraction;
    *ret_value = negative ? -value : value;
    return true;
}

static bool read_value(const char *text, size_t length, long double *ret_value)
{
    static const char *const truths[] = {"t", "T", "true", "True", "TRUE", NULL};
    static const char *const falsehoods[] = {"f", "F", "false", "False", "FALSE", NULL};
    char number[NUMBER_BYTES];
    char *end = NULL;
    const char last = length > 0 ? text[length - 1] : '\0';
    const bool whole = last == 'i' || last == 'u';
    const size_t digits = length - whole;
    if (read_short(text, digits, whole, ret_value)) {
        return last != 'u' || text[0] != '-';
    }
    *ret_value = is_word(text, length, truths) ? 1 : 0;
    if (*ret_value != 0 || is_word(text, length, falsehoods)) {
        return true;
    }
    if (length == 0 || length >= sizeof number) {
        return false;
    }
    if (!has_form_of_number(text, digits)) {
        return false;
    }
    memcpy(number, text, digits);
    number[digits] = '\0';
    errno = 0;
    if (last == 'u') {
        *ret_value = number[0] == '-' ? -1 : (long double)strtoull(number, &end, 10);
        return end == number + digits && errno == 0 && *ret_value >= 0;
    }
    if (last == 'i') {
        *ret_value = (long double)strtoll(number, &end, 10);
        return end == number + digits && errno == 0;
    }
    *ret_value = (long double)strtod(number, &end);
    return end == number + digits && isfinite(*ret_value);
}

/* The end of the value at `at`: of a text in quotes its closing one, which is not given. */
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

/* Measurement and tags; `*at` is then the blank after them. */
static int read_series(const char *text, const char *end, const char **at, struct vamp_err *err)
{
    *at = find(text, end, at_comma_blank);
    if (*at == text) {
        return refuse(text, text, "a measurement is missing", err);
    }
    while (*at < end && **at == ',') {
        const char *key = *at + 1;
        const char *equals = find(key, end, at_equals_comma_blank);
        if (equals == key || equals == end || *equals != '=') {
            return refuse(text, key, "expected a tag, NAME=VALUE", err);
        }
        *at = find(equals + 1, end, at_comma_blank);
        if (*at == equals + 1) {
            return refuse(text, *at, "the tag's value is missing", err);
        }
    }
    return *at == end ? refuse(text, end, "fields are missing after a blank", err) : 0;
}

static int read_fields(const char *text, const char *end, const char **at, struct vamp_err *err)
{
    for (;;) {
        const char *key = *at;
        const char *equals = find(key, end, at_equals_comma_blank);
        if (equals == key || equals == end || *equals != '=') {
            return refuse(text, key, "expected a field, NAME=VALUE", err);
        }
        long double value = 0;
        const char *after = value_end(equals + 1, end);
        if (after == NULL) {
            return refuse(text, equals + 1, "the quotation mark is never closed", err);
        }
        const bool is_text = after > equals + 1 && equals[1] == '"';
        if (!is_text && !read_value(equals + 1, (size_t)(after - equals - 1), &value)) {
            return refuse(text, equals + 1,
                          "expected a number (1.5, 12i, 12u), true, false or a text in quotation "
                          "marks",
                          err);
        }
        *at = after;
        if (after == end || *after != ',') {
            return 0;
        }
        ++*at;
    }
}

static int read_time(const char *text, const char *at, const char *end,
                     struct vamp_sample_line *line, struct vamp_err *err)
{
    char number[NUMBER_BYTES];
    char *after = NULL;
    while (at < end && *at == ' ') {
        at++;
    }
    const size_t length = (size_t)(end - at);
    long double value = 0;
    if (length == 0) {
        return 0;
    }
    if (read_short(at, length, true, &value)) {
        line->time = (int64_t)value;
        line->has_time = true;
        return 0;
    }
    if (length < sizeof number && has_form_of_number(at, length)) {
        memcpy(number, at, length);
        number[length] = '\0';
        errno = 0;
        line->time = strtoll(number, &after, 10);
        line->has_time = after == number + length && errno == 0;
    }
    return line->has_time ? 0 : refuse(text, at, "expected a time, a whole number", err);
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
    return read_time(text, at, end, ret_line, err);
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

/* Copies without backslashes; false: cut. */
static bool copy_plain(const char *at, const char *end, char *out, size_t bytes)
{
    size_t used = 0;
    for (; at < end && used + 1 < bytes; at++) {
        at += *at == '\\' && at + 1 < end && strchr(",= \\", at[1]) != NULL;
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
            out[0] = fits ? out[0] : '\0';
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
