/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads numbers, sizes, durations and times. Units are those of vampire/core/options/options.h.
 * Doubles are read with a dot whatever the program's locale is, because this code also runs inside
 * users' programs.
 */
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "filters/expression_tree.h"
#include "vampire/core/clock.h"
#include "vampire/core/options/options.h"

static size_t digits(const char *text)
{
    return strspn(text, "0123456789");
}

/* A sign and digits. */
static enum word_kind read_integer(const char *word, struct vamp_value *value)
{
    const bool negative = word[0] == '-';
    errno = 0;
    const uint64_t magnitude = strtoull(word + (negative || word[0] == '+'), NULL, 10);
    if (errno == ERANGE || (negative && magnitude > (uint64_t)INT64_MAX + 1)) {
        return WORD_RANGE;
    }
    /* -(2^63) has no positive counterpart. */
    *value =
        negative && magnitude > 0
            ? (struct vamp_value){.type = VAMP_VALUE_INT, .integer = -(int64_t)(magnitude - 1) - 1}
            : vamp_value_natural(magnitude);
    return WORD_NUMBER;
}

static enum word_kind read_double(const char *word, struct vamp_value *value)
{
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (plain == (locale_t)0) {
        return WORD_BROKEN;
    }
    double real = strtod_l(word, NULL, plain);
    freelocale(plain);
    if (!isfinite(real)) {
        return WORD_RANGE;
    }
    *value = (struct vamp_value){.type = VAMP_VALUE_DOUBLE, .real = real};
    return WORD_NUMBER;
}

static enum word_kind read_with_unit(const char *word, struct vamp_value *value,
                                     enum vamp_notation *notation)
{
    uint64_t bytes = 0;
    int64_t ns = 0;
    int code = vamp_size_parse(word, &bytes, NULL);
    *notation = VAMP_NOTATION_SIZE;
    *value = vamp_value_natural(bytes);
    if (code == -EINVAL) {
        code = vamp_duration_parse(word, &ns, NULL);
        *notation = VAMP_NOTATION_DURATION;
        *value = (struct vamp_value){.type = VAMP_VALUE_INT, .integer = ns};
    }
    return code == 0 ? WORD_NUMBER : code == -ERANGE ? WORD_RANGE : WORD_BROKEN;
}

/* The value of `count` digits, which the caller has checked. */
static int64_t number_of(const char *text, size_t count)
{
    int64_t number = 0;
    for (size_t i = 0; i < count; i++) {
        number = number * 10 + (text[i] - '0');
    }
    return number;
}

/* "Z" or "+02:00" to seconds east; the whole of text. */
static bool read_offset(const char *text, int64_t *ret_seconds)
{
    *ret_seconds = 0;
    if (strcmp(text, "Z") == 0 || strcmp(text, "z") == 0) {
        return true;
    }
    if ((text[0] != '+' && text[0] != '-') || digits(text + 1) != 2 || text[3] != ':' ||
        digits(text + 4) != 2 || text[6] != '\0') {
        return false;
    }
    int64_t hours = number_of(text + 1, 2), minutes = number_of(text + 4, 2);
    *ret_seconds = (hours * 3600 + minutes * 60) * (text[0] == '-' ? -1 : 1);
    return hours <= 23 && minutes <= 59;
}

/* Whether the word looks like a date, so that the error can be about a time. */
static bool looks_like_time(const char *word)
{
    return digits(word) == 4 && word[4] == '-' && digits(word + 5) == 2 && word[7] == '-' &&
           digits(word + 8) == 2;
}

static enum word_kind read_time(const char *word, struct vamp_value *value)
{
    static const char outline[] = "0000-00-00T00:00:00";
    for (size_t i = 0; i < sizeof(outline) - 1; i++) {
        bool fits = outline[i] == '0'   ? word[i] >= '0' && word[i] <= '9'
                    : outline[i] == 'T' ? word[i] == 'T' || word[i] == 't'
                                        : word[i] == outline[i];
        if (!fits) {
            return WORD_BROKEN;
        }
    }
    struct tm time = {.tm_year = (int)number_of(word, 4) - 1900,
                      .tm_mon = (int)number_of(word + 5, 2) - 1,
                      .tm_mday = (int)number_of(word + 8, 2),
                      .tm_hour = (int)number_of(word + 11, 2),
                      .tm_min = (int)number_of(word + 14, 2),
                      .tm_sec = (int)number_of(word + 17, 2)};
    const struct tm given = time;
    const int64_t seconds = timegm(&time); /* makes March 2 of February 30 */
    if (time.tm_mon != given.tm_mon || time.tm_mday != given.tm_mday ||
        time.tm_hour != given.tm_hour || time.tm_min != given.tm_min ||
        time.tm_sec != given.tm_sec) {
        return WORD_BROKEN;
    }
    const char *rest = word + sizeof(outline) - 1;
    int64_t ns = 0, east, total;
    if (*rest == '.') {
        const size_t count = digits(rest + 1);
        if (count < 1 || count > 9) {
            return WORD_BROKEN;
        }
        ns = number_of(rest + 1, count);
        for (size_t i = count; i < 9; i++) {
            ns *= 10;
        }
        rest += 1 + count;
    }
    if (!read_offset(rest, &east)) {
        return WORD_BROKEN;
    }
    if (__builtin_mul_overflow(seconds - east, VAMP_NS_PER_SECOND, &total) ||
        __builtin_add_overflow(total, ns, &total)) {
        return WORD_RANGE;
    }
    *value = (struct vamp_value){.type = VAMP_VALUE_INT, .integer = total};
    return WORD_NUMBER;
}

/* Length of "e+10" at the front of text, 0 when there is none. */
static size_t exponent_length(const char *text)
{
    if (text[0] != 'e' && text[0] != 'E') {
        return 0;
    }
    size_t sign = text[1] == '+' || text[1] == '-';
    size_t count = digits(text + 1 + sign);
    return count > 0 ? 1 + sign + count : 0;
}

enum word_kind vamp_word_read(const char *word, struct vamp_value *ret_value,
                              enum vamp_notation *ret_notation)
{
    const char *p = word + (word[0] == '-' || word[0] == '+');
    size_t whole = digits(p);
    *ret_notation = VAMP_NOTATION_PLAIN;
    if (whole == 0) {
        return p == word || *p == '.' ? WORD_OTHER : WORD_BROKEN;
    }
    if (looks_like_time(word)) {
        *ret_notation = VAMP_NOTATION_TIME;
        return read_time(word, ret_value);
    }
    p += whole;
    size_t fraction = *p == '.' ? digits(p + 1) : 0;
    if (*p == '.' && fraction == 0) {
        return WORD_BROKEN;
    }
    p += fraction > 0 ? 1 + fraction : 0;
    size_t exponent = exponent_length(p);
    if (p[exponent] == '\0') {
        return fraction + exponent > 0 ? read_double(word, ret_value)
                                       : read_integer(word, ret_value);
    }
    return read_with_unit(word, ret_value, ret_notation);
}
