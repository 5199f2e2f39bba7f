/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Builds JSON in a growing buffer: whole lines, or one text for people. Text is escaped and made
 * well-formed UTF-8; a number that is not finite becomes null. Limits: a text that is too long is
 * cut, and its line contains "cut": true; a line longer than VAMP_JSON_LINE_BYTES is dropped and
 * counted. Running out of memory sets `failed`, and later calls do nothing. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vampire/core/clock.h"

#define VAMP_JSON_LINE_BYTES 65536 /* newline included */
#define VAMP_JSON_TEXT_BYTES 4096  /* of a text after escaping, unless the caller sets a limit */

struct vamp_json {
    bool failed; /* out of memory */
    /* A text for people: blanks after commas and colons, and escaped keys. Set before the first
     * call, with `indent`; zeros are for lines. */
    bool spaced;
    unsigned indent; /* of a spaced text: blanks per level; 0: all on one line */
    unsigned depth;  /* of a spaced text: open lists and objects */
    char *bytes;     /* malloc'ed, `used` of `capacity` */
    size_t used, capacity;
    size_t line;        /* where the current line begins */
    bool comma;         /* needed before the next member */
    bool cut;           /* a text of the current line was cut */
    uint64_t oversized; /* lines dropped for their length */
    /* Cache of the newest time, which the lines of a bucket share; "": none yet. */
    int64_t time_ns;
    char time_text[VAMP_TIME_TEXT_BYTES];
};

void vamp_json_done(struct vamp_json *json); /* frees; the object is empty and usable again */
void vamp_json_clear(struct vamp_json *json);
/* Terminates the text and transfers its ownership, malloc'ed; NULL: out of memory. The object is
 * empty. */
char *vamp_json_take(struct vamp_json *json);

/* A line is one object: members come between these two. */
void vamp_json_line_begin(struct vamp_json *json);
void vamp_json_line_end(struct vamp_json *json);
/* Lines can be the elements of one array: the first follows `[`, all but the last end with a comma,
 * and `]` has its own line. */
void vamp_json_array_begin(struct vamp_json *json);
void vamp_json_line_end_more(struct vamp_json *json);
void vamp_json_array_end(struct vamp_json *json);

/* `key` is NULL inside arrays; the keys of lines are constants and are not escaped. */
void vamp_json_open(struct vamp_json *json, const char *key, char bracket); /* '{' or '[' */
void vamp_json_close(struct vamp_json *json, char bracket);                 /* '}' or ']' */
void vamp_json_text(struct vamp_json *json, const char *key, const char *text);
void vamp_json_long_text(struct vamp_json *json, const char *key, const char *text,
                         size_t max_bytes);
void vamp_json_unsigned(struct vamp_json *json, const char *key, uint64_t value);
void vamp_json_signed(struct vamp_json *json, const char *key, int64_t value);
void vamp_json_real(struct vamp_json *json, const char *key, double value); /* NaN, inf: null */
/* Nanoseconds as microseconds with three decimals. */
void vamp_json_micros(struct vamp_json *json, const char *key, int64_t ns);
void vamp_json_bool(struct vamp_json *json, const char *key, bool value);
void vamp_json_time(struct vamp_json *json, const char *key, int64_t utc_ns); /* INT64_MIN: null */
void vamp_json_null(struct vamp_json *json, const char *key);
