/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Text for a terminal: names from the wire with control sequences removed, cut and padded by
 * columns, numbers in few columns. Follows the locale that the program has set (LC_CTYPE). No
 * state; any thread.
 */
#ifndef TOP_TEXT_H
#define TOP_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Copies `text` into `out` (at least 8 bytes, always terminated) so that a terminal only displays
 * it: control characters, escape sequences, broken UTF-8, characters that turn the direction of
 * writing, and what the locale cannot show become "?". Cut at a character's end. */
void top_text_clean(char *out, size_t out_bytes, const char *text);

/* Columns that a clean text takes. */
unsigned top_text_columns(const char *clean);

/* Exactly `columns` columns of a clean text: padded with blanks, or cut with "~" as its last
 * character. `out_bytes` of 4 * columns + 1 is always enough. */
void top_text_fit(char *out, size_t out_bytes, const char *clean, unsigned columns);

/* Numbers in at most 10 columns: "0", "0.5", "1,376", "12.3M"; "43.1 MiB"; "2.16 ms". */
#define TOP_NUMBER_BYTES 32
void top_text_count(char out[static TOP_NUMBER_BYTES], double value);
void top_text_bytes(char out[static TOP_NUMBER_BYTES], double bytes);
void top_text_time(char out[static TOP_NUMBER_BYTES], double ns);

#endif
