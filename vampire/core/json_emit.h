/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Builds JSON: one growing buffer, of whole lines or of one text for people. Text is escaped and
 * made well-formed UTF-8; a number that is not finite becomes null. Bounds: a text is cut at its
 * limit and the line then contains "cut": true; a line longer than VAMP_JSON_LINE_BYTES is dropped
 * and counted. Running out of memory sets `failed`, and every later call does nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vampire/core/clock.h"

#define VAMP_JSON_LINE_BYTES 65536 /* newline included */
#define VAMP_JSON_TEXT_BYTES 4096  /* of a text after escaping, unless the caller sets a limit */

struct vamp_json {
    bool failed; /* no memory */
    /* A text for people: a blank after commas and colons, and keys are escaped. Set before the
     * first call with the next ones; zeros are for lines. */
    bool spaced;
    unsigned indent; /* of a spaced text: blanks a level; 0: all on one line */
    unsigned depth;  /* of a spaced text: open lists and objects */
    char *bytes;     /* malloc'ed, `used` of `capacity` */
    size_t used, capacity;
    size_t line;        /* where the present line begins */
    bool comma;         /* before the next member */
    bool cut;           /* a text of the present line was cut */
    uint64_t oversized; /* lines dropped for their length */
    /* The newest time as text, since the lines of a bucket have the same one; "": none yet. */
    int64_t time_ns;
    char time_text[VAMP_TIME_TEXT_BYTES];
};

void vamp_json_done(struct vamp_json *json); /* frees; the object is empty and usable again */
void vamp_json_clear(struct vamp_json *json);
/* Ends the text and gives it away, malloc'ed; NULL when there was no memory. The object is empty.
 */
char *vamp_json_take(struct vamp_json *json);

/* A line is one object: members come between these two. */
void vamp_json_line_begin(struct vamp_json *json);
void vamp_json_line_end(struct vamp_json *json);
/* Lines can be the elements of one array: its first line follows `[`, all but the last end in a
 * comma, and `]` has a line of its own. */
void vamp_json_array_begin(struct vamp_json *json);
void vamp_json_line_end_more(struct vamp_json *json);
void vamp_json_array_end(struct vamp_json *json);

/* `key` NULL inside arrays; keys of lines are our own words and not escaped. */
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
