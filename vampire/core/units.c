/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/core/units.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

const char *vamp_count_people(uint64_t count, char text[static VAMP_UNIT_TEXT_BYTES])
{
    char digits[VAMP_UNIT_TEXT_BYTES];
    int length = snprintf(digits, sizeof digits, "%" PRIu64, count);
    char *out = text;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0) {
            *out++ = ',';
        }
        *out++ = digits[i];
    }
    *out = '\0';
    return text;
}

struct unit {
    double size;
    const char *name;
};

/* Formats with the largest suitable unit; `units` are in descending order, the last has size 1. */
static const char *in_unit(double value, const struct unit *units, char *text)
{
    while (units->size > 1 && value < units->size) {
        units++;
    }
    double scaled = value / units->size;
    int decimals = 2;
    if (units->size <= 1 || scaled >= 100) {
        decimals = 0;
    } else if (scaled >= 10) {
        decimals = 1;
    }
    (void)snprintf(text, VAMP_UNIT_TEXT_BYTES, "%.*f %s", decimals, scaled, units->name);
    return text;
}

const char *vamp_bytes_people(double bytes, char text[static VAMP_UNIT_TEXT_BYTES])
{
    static const struct unit units[] = {
        {1024.0 * 1024 * 1024 * 1024 * 1024 * 1024, "EiB"},
        {1024.0 * 1024 * 1024 * 1024 * 1024, "PiB"},
        {1024.0 * 1024 * 1024 * 1024, "TiB"},
        {1024.0 * 1024 * 1024, "GiB"},
        {1024.0 * 1024, "MiB"},
        {1024.0, "KiB"},
        {1, "B"},
    };
    return in_unit(bytes, units, text);
}

const char *vamp_share_people(double part, double all, char text[static VAMP_UNIT_TEXT_BYTES])
{
    const double share = all > 0 ? 100.0 * part / all : 100.0;
    if (part < all && share > 99.9) {
        (void)snprintf(text, VAMP_UNIT_TEXT_BYTES, "more than 99.9 %%");
    } else if (part > 0 && share < 0.1) {
        (void)snprintf(text, VAMP_UNIT_TEXT_BYTES, "less than 0.1 %%");
    } else {
        (void)snprintf(text, VAMP_UNIT_TEXT_BYTES, "%.1f %%", share);
    }
    return text;
}

const char *vamp_duration_people(uint64_t ns, char text[static VAMP_UNIT_TEXT_BYTES])
{
    static const struct unit units[] = {
        {3600e9, "h"}, {60e9, "min"}, {1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"},
    };
    return in_unit((double)ns, units, text);
}

const char *vamp_duration_between(uint64_t low, uint64_t high,
                                  char text[static VAMP_UNIT_TEXT_BYTES])
{
    char least[VAMP_UNIT_TEXT_BYTES] = "", most[VAMP_UNIT_TEXT_BYTES];
    if (low == high) {
        return vamp_duration_people(low, text);
    }
    const char *word = "<";
    if (low > 0) {
        (void)vamp_duration_people(low, least);
        word = " to";
    }
    (void)snprintf(text, VAMP_UNIT_TEXT_BYTES, "%.*s%s %.*s", VAMP_UNIT_TEXT_BYTES / 2 - 3, least,
                   word, VAMP_UNIT_TEXT_BYTES / 2 - 3, vamp_duration_people(high, most));
    return text;
}
