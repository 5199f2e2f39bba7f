/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Builds JSON in a growing buffer: either lines with one object each, or one text for human
 * readers. Text is escaped and converted to well-formed UTF-8; a number that is not finite becomes
 * null. Limits: a text that is too long is cut, and its line then contains "cut": true; a line
 * longer than VAMP_JSON_LINE_BYTES is dropped and counted. Running out of memory sets `failed`, and
 * later calls have no effect. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vampire/core/clock.h"

#define VAMP_JSON_LINE_BYTES 65536 /* including the newline */
/* Maximum length of an escaped text, unless the caller sets another limit. */
#define VAMP_JSON_TEXT_BYTES 4096

struct vamp_json {
    bool failed; /* out of memory */
    /* Format for human readers: blanks after commas and colons, and escaped keys. Set it before the
     * first call, together with `indent`. Lines require zeros in both. */
    bool spaced;
    unsigned indent; /* with `spaced`: blanks per level; 0: all on one line */
    unsigned depth;  /* with `spaced`: number of open lists and objects */
    char *bytes;     /* malloc'ed, `used` of `capacity` */
    size_t used, capacity;
    size_t line;        /* offset of the current line */
    bool comma;         /* a comma is needed before the next member */
    bool cut;           /* a text of the current line was cut */
    uint64_t oversized; /* lines dropped because of their length */
    /* Cache of the newest time, which is the same in all lines of a bucket; "": empty. */
    int64_t time_ns;
    char time_text[VAMP_TIME_TEXT_BYTES];
};

void vamp_json_done(
    struct vamp_json *json); /* Frees the memory; the object is then empty and can be used again. */
void vamp_json_clear(struct vamp_json *json);
/* Null-terminates the text and transfers it, malloc'ed, to the caller; NULL if out of memory. The
 * object is then empty. */
char *vamp_json_take(struct vamp_json *json);

/* Begin and end a line. A line is one object; its members are written between the two calls. */
void vamp_json_line_begin(struct vamp_json *json);
void vamp_json_line_end(struct vamp_json *json);
/* Makes the following lines elements of one array: the first line follows `[`, all but the last end
 * with a comma, and `]` is on a separate line. */
void vamp_json_array_begin(struct vamp_json *json);
void vamp_json_line_end_more(struct vamp_json *json);
void vamp_json_array_end(struct vamp_json *json);

/* `key` must be NULL inside arrays. Keys in lines are constants and are not escaped. */
void vamp_json_open(struct vamp_json *json, const char *key, char bracket); /* '{' or '[' */
void vamp_json_close(struct vamp_json *json, char bracket);                 /* '}' or ']' */
void vamp_json_text(struct vamp_json *json, const char *key, const char *text);
void vamp_json_long_text(struct vamp_json *json, const char *key, const char *text,
                         size_t max_bytes);
void vamp_json_unsigned(struct vamp_json *json, const char *key, uint64_t value);
void vamp_json_signed(struct vamp_json *json, const char *key, int64_t value);
/* NaN and infinities are written as null */
void vamp_json_real(struct vamp_json *json, const char *key, double value);
/* Writes nanoseconds as microseconds with three decimals. */
void vamp_json_micros(struct vamp_json *json, const char *key, int64_t ns);
void vamp_json_bool(struct vamp_json *json, const char *key, bool value);
/* INT64_MIN is written as null */
void vamp_json_time(struct vamp_json *json, const char *key, int64_t utc_ns);
void vamp_json_null(struct vamp_json *json, const char *key);
