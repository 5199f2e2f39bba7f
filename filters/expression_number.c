/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Numbers, sizes, durations and times: from text and back. Units are those of
 * vampire/core/options/options.h. Doubles are read and printed with a dot whatever the program's
 * locale is, because this code also runs inside users' programs.
 */
#include "filters/expression_tree.h"

#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/core/clock.h"
#include "vampire/core/options/options.h"

static size_t digits(const char *text)
{
    size_t count = 0;
    while (text[count] >= '0' && text[count] <= '9') {
        count++;
    }
    return count;
}

/* ---- reading */

static enum word_kind read_integer(const char *word, struct vamp_value *value)
{
    bool negative = word[0] == '-';
    uint64_t magnitude = 0;
    for (const char *p = word + (word[0] == '-' || word[0] == '+'); *p != '\0'; p++) {
        unsigned digit = (unsigned)(*p - '0');
        if (__builtin_mul_overflow(magnitude, 10U, &magnitude) ||
            __builtin_add_overflow(magnitude, digit, &magnitude)) {
            return WORD_RANGE;
        }
    }
    if (negative) {
        if (magnitude > (uint64_t)INT64_MAX + 1) {
            return WORD_RANGE;
        }
        /* -(2^63) has no positive counterpart. */
        int64_t integer = magnitude == 0 ? 0 : -(int64_t)(magnitude - 1) - 1;
        *value = (struct vamp_value){.type = VAMP_VALUE_INT, .integer = integer};
    } else if (magnitude > INT64_MAX) {
        *value = (struct vamp_value){.type = VAMP_VALUE_UINT, .natural = magnitude};
    } else {
        *value = (struct vamp_value){.type = VAMP_VALUE_INT, .integer = (int64_t)magnitude};
    }
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

static bool is_one_of(const char *word, const char *const *list)
{
    for (; *list != NULL; list++) {
        if (strcmp(word, *list) == 0) {
            return true;
        }
    }
    return false;
}

static enum word_kind read_with_unit(const char *word, const char *unit, struct vamp_value *value,
                                     enum vamp_notation *notation)
{
    static const char *const sizes[] = {"B",  "KiB", "MiB", "GiB", "TiB",
                                        "kB", "MB",  "GB",  "TB",  NULL};
    static const char *const durations[] = {"ns", "us", "ms", "s", "min", "h", "d", NULL};
    int rc;
    if (is_one_of(unit, sizes)) {
        uint64_t bytes = 0;
        rc = vamp_size_parse(word, &bytes, NULL);
        *notation = VAMP_NOTATION_SIZE;
        *value = bytes > INT64_MAX
                     ? (struct vamp_value){.type = VAMP_VALUE_UINT, .natural = bytes}
                     : (struct vamp_value){.type = VAMP_VALUE_INT, .integer = (int64_t)bytes};
    } else if (is_one_of(unit, durations)) {
        int64_t ns = 0;
        rc = vamp_duration_parse(word, &ns, NULL);
        *notation = VAMP_NOTATION_DURATION;
        *value = (struct vamp_value){.type = VAMP_VALUE_INT, .integer = ns};
    } else {
        return WORD_BROKEN;
    }
    return rc == 0 ? WORD_NUMBER : rc == -ERANGE ? WORD_RANGE : WORD_BROKEN;
}

/* Days from 1970-01-01 in the Gregorian calendar, also before it was introduced. */
static int64_t days_of_date(int64_t year, int64_t month, int64_t day)
{
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t year_of_era = year - era * 400;
    int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year -
           719468;
}

static bool date_is_valid(int64_t year, int64_t month, int64_t day)
{
    static const unsigned char lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (month < 1 || month > 12 || day < 1) {
        return false;
    }
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return day <= lengths[month - 1] + (leap && month == 2);
}

/* ".123456789" to nanoseconds; moves *text past it. False: not one to nine digits. */
static bool read_fraction(const char **text, int64_t *ret_ns)
{
    *ret_ns = 0;
    if (**text != '.') {
        return true;
    }
    size_t count = digits(*text + 1);
    if (count < 1 || count > 9) {
        return false;
    }
    int64_t ns = 0;
    for (size_t i = 0; i < 9; i++) {
        ns = ns * 10 + (i < count ? (*text)[1 + i] - '0' : 0);
    }
    *text += 1 + count;
    *ret_ns = ns;
    return true;
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
    int64_t year = number_of(word, 4), month = number_of(word + 5, 2);
    int64_t day = number_of(word + 8, 2), hour = number_of(word + 11, 2);
    int64_t minute = number_of(word + 14, 2), second = number_of(word + 17, 2);
    if (!date_is_valid(year, month, day) || hour > 23 || minute > 59 || second > 59) {
        return WORD_BROKEN;
    }
    const char *rest = word + sizeof(outline) - 1;
    int64_t ns, east, total;
    if (!read_fraction(&rest, &ns) || !read_offset(rest, &east)) {
        return WORD_BROKEN;
    }
    int64_t seconds = days_of_date(year, month, day) * 86400 + hour * 3600 + minute * 60 + second;
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
    return read_with_unit(word, p, ret_value, ret_notation);
}

/* ---- printing */

/* The shortest text that reads back as the same double and is no integer. */
static void print_double(double real, char text[static VAMP_NUMBER_TEXT_BYTES])
{
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    locale_t before = plain != (locale_t)0 ? uselocale(plain) : (locale_t)0;
    for (int precision = 15; precision <= 17; precision++) {
        (void)snprintf(text, VAMP_NUMBER_TEXT_BYTES - 2, "%.*g", precision, real);
        if (strtod(text, NULL) == real) {
            break;
        }
    }
    if (before != (locale_t)0) {
        (void)uselocale(before);
    }
    if (plain != (locale_t)0) {
        freelocale(plain);
    }
    if (strpbrk(text, ".e") == NULL) {
        memcpy(text + strlen(text), ".0", sizeof(".0"));
    }
}

static void print_time(int64_t ns, char text[static VAMP_NUMBER_TEXT_BYTES])
{
    _Static_assert(VAMP_TIME_TEXT_BYTES <= VAMP_NUMBER_TEXT_BYTES, "a time fits");
    vamp_time_text(ns, text);
    /* "....120000000Z": without the trailing zeros. */
    char *end = text + strlen(text) - 1;
    while (end[-1] == '0') {
        end--;
    }
    if (end[-1] == '.') {
        end--;
    }
    end[0] = 'Z';
    end[1] = '\0';
}

const char *vamp_number_text(const struct vamp_value *value, enum vamp_notation notation,
                             char text[static VAMP_NUMBER_TEXT_BYTES])
{
    if (value->type == VAMP_VALUE_DOUBLE) {
        print_double(value->real, text);
    } else if (value->type == VAMP_VALUE_UINT) {
        if (notation == VAMP_NOTATION_SIZE) {
            vamp_size_text(value->natural, text, VAMP_NUMBER_TEXT_BYTES);
        } else {
            (void)snprintf(text, VAMP_NUMBER_TEXT_BYTES, "%" PRIu64, value->natural);
        }
    } else if (notation == VAMP_NOTATION_SIZE && value->integer >= 0) {
        vamp_size_text((uint64_t)value->integer, text, VAMP_NUMBER_TEXT_BYTES);
    } else if (notation == VAMP_NOTATION_DURATION) {
        vamp_duration_text(value->integer, text, VAMP_NUMBER_TEXT_BYTES);
    } else if (notation == VAMP_NOTATION_TIME) {
        print_time(value->integer, text);
    } else {
        (void)snprintf(text, VAMP_NUMBER_TEXT_BYTES, "%" PRId64, value->integer);
    }
    return text;
}
