/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Choices between two values. No state; any thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* The smaller and the larger of two numbers of the same type. Evaluates its arguments twice. */
#define VAMP_MIN(a, b) ((a) < (b) ? (a) : (b))
#define VAMP_MAX(a, b) ((a) > (b) ? (a) : (b))

/* Returns a - b; 0 if b is larger. */
static inline uint64_t vamp_minus(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* Returns `text`; `other` if `text` is NULL. */
static inline const char *vamp_text_or(const char *text, const char *other)
{
    return text != NULL ? text : other;
}

/* Returns an element of an array of texts, or "unknown". Evaluates `index` twice. */
#define VAMP_NAME_AT(names, index)                                                                 \
    ((index) < sizeof(names) / sizeof(names)[0] ? (names)[index] : "unknown")

/* Returns the ending of a noun after a count: "1 event", "2 events". */
static inline const char *vamp_plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}
