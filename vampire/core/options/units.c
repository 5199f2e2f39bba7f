/* SPDX-License-Identifier: BSD-3-Clause */
/* Durations and sizes as text. Parsing and printing use the same list of units. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "vampire/core/options/options.h"
#include "vampire/core/values.h"

struct unit {
    const char *name;
    uint64_t factor;
};

/* In descending order, as required for printing. */
static const struct unit duration_units[] = {
    {"d", UINT64_C(86400000000000)},
    {"h", UINT64_C(3600000000000)},
    {"min", UINT64_C(60000000000)},
    {"s", UINT64_C(1000000000)},
    {"ms", UINT64_C(1000000)},
    {"us", UINT64_C(1000)},
    {"ns", UINT64_C(1)},
    {NULL, 0},
};

static const struct unit size_units[] = {
    {"TiB", UINT64_C(1) << 40}, {"GiB", UINT64_C(1) << 30}, {"MiB", UINT64_C(1) << 20},
    {"KiB", UINT64_C(1) << 10}, {"B", UINT64_C(1)},         {NULL, 0},
};

/* Powers of ten, which are accepted but never printed. */
static const struct unit decimal_size_units[] = {
    {"TB", UINT64_C(1000000000000)},
    {"GB", UINT64_C(1000000000)},
    {"MB", UINT64_C(1000000)},
    {"kB", UINT64_C(1000)},
    {NULL, 0},
};

/* A decimal number. */
struct number {
    uint64_t whole, fraction;
    uint64_t fraction_scale; /* 10 to the number of digits after the point */
};

#define FRACTION_DIGITS_MAX 15

static const char *skip_blanks(const char *text)
{
    return text + strspn(text, " \t");
}

/* Returns a pointer to the text after the number; NULL if there is none or it is too long. */
static const char *parse_number(const char *text, struct number *ret_number)
{
    struct number number = {0, 0, 1};
    const char *at = text;
    for (; *at >= '0' && *at <= '9'; at++) {
        uint64_t digit = (uint64_t)(*at - '0');
        if (__builtin_mul_overflow(number.whole, 10U, &number.whole) ||
            __builtin_add_overflow(number.whole, digit, &number.whole)) {
            return NULL;
        }
    }
    if (at == text) {
        return NULL;
    }
    if (*at == '.') {
        const char *first = ++at;
        for (; *at >= '0' && *at <= '9'; at++) {
            if (at - first >= FRACTION_DIGITS_MAX) {
                return NULL;
            }
            number.fraction = number.fraction * 10 + (uint64_t)(*at - '0');
            number.fraction_scale *= 10;
        }
        if (at == first) {
            return NULL;
        }
    }
    *ret_number = number;
    return at;
}

static const struct unit *find_unit(const struct unit *units, const char *name)
{
    for (; units->name != NULL; units++) {
        if (strcmp(units->name, name) == 0) {
            return units;
        }
    }
    return NULL;
}

/* Returns 0, -EINVAL if a fraction of the base unit would remain, or -ERANGE. */
static int scale_number(const struct number *number, uint64_t factor, uint64_t *ret_value)
{
    unsigned __int128 fraction = (unsigned __int128)number->fraction * factor;
    if (fraction % number->fraction_scale != 0) {
        return -EINVAL;
    }
    uint64_t value = 0;
    if (__builtin_mul_overflow(number->whole, factor, &value) ||
        __builtin_add_overflow(value, (uint64_t)(fraction / number->fraction_scale), &value)) {
        return -ERANGE;
    }
    *ret_value = value;
    return 0;
}

/* Parses a number with one of `units`, or a number without a unit, whose unit is then `bare` (NULL:
 * only 0 needs no unit). `words` contains words for error messages: the quantity ("a duration"),
 * its units, the base unit, the maximum. */
static int parse_quantity(const char *text, const struct unit *const units[2], const char *bare,
                          const char *const words[4], uint64_t *ret_value, struct vamp_err *err)
{
    struct number number;
    const char *rest = parse_number(skip_blanks(text), &number);
    if (rest == NULL) {
        return vamp_err_set(err, -EINVAL, "\"%s\" is not %s", text, words[0]);
    }
    rest = skip_blanks(rest);
    const bool is_zero = number.whole == 0 && number.fraction == 0;
    const char *name = rest;
    if (*rest == '\0') {
        name = vamp_text_or(bare, is_zero ? units[0]->name : "");
    }
    const struct unit *unit = find_unit(units[0], name);
    if (unit == NULL && units[1] != NULL) {
        unit = find_unit(units[1], name);
    }
    if (unit == NULL) {
        if (*rest == '\0') {
            return vamp_err_set(err, -EINVAL, "\"%s\" is %s without a unit", text, words[0]);
        }
        return vamp_err_set(err, -EINVAL, "\"%s\" is not %s: the units are %s", text, words[0],
                            words[1]);
    }
    const int code = scale_number(&number, unit->factor, ret_value);
    switch (code) {
    case -EINVAL:
        return vamp_err_set(err, code, "\"%s\" is %s", text, words[2]);
    case -ERANGE:
        return vamp_err_set(err, code, "\"%s\" is too %s", text, words[3]);
    default:
        return 0;
    }
}

int vamp_duration_parse(const char *text, int64_t *ret_ns, struct vamp_err *err)
{
    static const struct unit *const units[2] = {duration_units, NULL};
    static const char *const words[4] = {"a duration", "ns, us, ms, s, min, h, d",
                                         "finer than a nanosecond", "long: more than 292 years"};
    uint64_t value = 0;
    const int code = parse_quantity(text, units, NULL, words, &value, err);
    if (code == 0 && value > INT64_MAX) {
        return vamp_err_set(err, -ERANGE, "\"%s\" is too %s", text, words[3]);
    }
    if (code == 0) {
        *ret_ns = (int64_t)value;
    }
    return code;
}

int vamp_size_parse(const char *text, uint64_t *ret_bytes, struct vamp_err *err)
{
    static const struct unit *const units[2] = {size_units, decimal_size_units};
    static const char *const words[4] = {"a size", "B, KiB, MiB, GiB, TiB, kB, MB, GB, TB",
                                         "not a whole number of bytes",
                                         "large: more than 16777215TiB"};
    uint64_t value = 0;
    const int code = parse_quantity(text, units, "B", words, &value, err);
    if (code == 0) {
        *ret_bytes = value;
    }
    return code;
}

/* Zero is printed with its default unit: "0s", "0B". */
static void print_quantity(const struct unit *units, uint64_t value, char *text, size_t bytes)
{
    while (value % units->factor != 0) {
        units++;
    }
    (void)snprintf(text, bytes, "%" PRIu64 "%s", value / units->factor, units->name);
}

void vamp_duration_text(int64_t ns, char *text, size_t bytes)
{
    if (ns == 0) {
        (void)snprintf(text, bytes, "0s");
        return;
    }
    bool negative = ns < 0;
    if (negative && bytes > 1) {
        *text++ = '-';
        bytes--;
    }
    print_quantity(duration_units, negative ? -(uint64_t)ns : (uint64_t)ns, text, bytes);
}

void vamp_size_text(uint64_t size_bytes, char *text, size_t bytes)
{
    if (size_bytes == 0) {
        (void)snprintf(text, bytes, "0B");
        return;
    }
    print_quantity(size_units, size_bytes, text, bytes);
}
