/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Text for a terminal: names from the wire with control sequences removed, cut and padded by
 * columns, numbers in few columns; and the members of a line of JSON, as such text and as numbers
 * within the format's bounds. Follows the locale that the program has set (LC_CTYPE). No state; any
 * thread. Texts are returned by value: the `.text` of a result may be an argument of printf.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vampire/core/units.h"

/* Copies `text` into `out` (at least 8 bytes, always terminated) so that a terminal only displays
 * it: control characters, escape sequences, broken UTF-8, characters that turn the direction of
 * writing, and what the locale cannot show become "?". Cut at a character's end. */
void top_text_clean(char *out, size_t out_bytes, const char *text);

/* Columns that a clean text takes. */
unsigned top_text_columns(const char *clean);

/* Exactly `columns` columns of a clean text: padded with blanks, or cut with "~" as its last
 * character. No line has more than TOP_COLUMNS, each character at most 4 bytes. */
#define TOP_COLUMNS 250
#define TOP_TEXT_BYTES (4 * TOP_COLUMNS + 8)
struct top_fitted {
    char text[TOP_TEXT_BYTES];
};
struct top_fitted top_text_fit(const char *clean, unsigned columns);

/* Numbers in at most 10 columns: "0", "0.5", "1,376", "12.3M"; "43.1 MiB"; "2.16 ms". */
#define TOP_NUMBER_BYTES VAMP_UNIT_TEXT_BYTES
struct top_figure {
    char text[TOP_NUMBER_BYTES];
};
struct top_figure top_text_count(double value);
struct top_figure top_text_bytes(double bytes);
struct top_figure top_text_time(double ns);

/* A member of a line of JSON. One that is missing or has another type is "" or 0. */
const char *top_json_text(const json_t *object, const char *key);
/* The same, clean, as top_text_clean makes it. */
void top_json_copy(char *out, size_t out_bytes, const json_t *object, const char *key);
/* From 0 to 2^64 - 1 whatever the line says, so that sums and quotients stay finite. */
double top_json_number(const json_t *object, const char *key);
uint64_t top_json_integer(const json_t *number);
/* Which of the words the member is; `count`: none of them. */
unsigned top_json_word(const json_t *object, const char *key, const char *const *words,
                       unsigned count);
bool top_json_lists(const json_t *list, const char *word);
