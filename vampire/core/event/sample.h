/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * InfluxDB's line protocol: measurement,tag=value field=value,field=value time. Each field that is
 * a number or a truth value is a sample, an event of its own, whose text is the line with this
 * field alone and without the time: "cpu,host=n1 user=3.5". So recordings and replay hold what was
 * sent. Stateless, without the heap; texts are not terminated. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vampire/core/err.h"

/* A line that was checked; it points into the text. */
struct vamp_sample_line {
    const char *text;
    size_t series_length; /* of "measurement,tag=value" */
    const char *at, *end; /* the fields that vamp_sample_line_next has not given */
    int64_t time;         /* as written: its unit is the sender's */
    bool has_time;
};

/* Checks a line without its newline. 0; -ENODATA: it is empty or a comment; -EINVAL with a text
 * that begins with the column, counted in bytes from 1. */
VAMP_MUST_CHECK int vamp_sample_line_read(const char *text, size_t length,
                                          struct vamp_sample_line *ret_line, struct vamp_err *err);
/* The next "field=value" that is no text; false: there is none. */
bool vamp_sample_line_next(struct vamp_sample_line *line, const char **ret_field,
                           size_t *ret_length);

/* The text of a sample event, taken apart. */
struct vamp_sample {
    const char *key; /* all before the '=' of the value: the same text is the same series */
    size_t key_length;
    long double value; /* every 64-bit integer is exact */
};

/* False: the text is not that of a sample. */
bool vamp_sample_read(const char *text, size_t length, struct vamp_sample *ret_sample);
/* "measurement.field" without backslashes, terminated. False: it does not fit; `out` is then what
 * does. */
bool vamp_sample_name(const struct vamp_sample *sample, char *out, size_t bytes);
/* The value of a tag without backslashes, terminated. False: there is no such tag, or the value
 * does not fit; `out` is then "". */
bool vamp_sample_tag(const struct vamp_sample *sample, const char *tag, char *out, size_t bytes);
/* The same as a label has it: UTF-8, "" if it is longer. */
#define VAMP_SAMPLE_LABEL_BYTES 257
bool vamp_sample_label(const struct vamp_sample *sample, const char *tag,
                       char label[static VAMP_SAMPLE_LABEL_BYTES]);
/* The short name of a host: "n1" and "n1.site.org" are one; an address stays as it is. */
void vamp_sample_shorten_host(char *host);
