/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * InfluxDB's line protocol: measurement,tag=value field=value,field=value time. Each field that is
 * a number or a truth value becomes a sample: an event whose text is the line with only this field
 * and without the time: "cpu,host=n1 user=3.5". Recordings and replays therefore contain the data
 * as they were sent. Stateless, without allocation; texts are not terminated. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vampire/core/err.h"

/* A checked line; points into the text. */
struct vamp_sample_line {
    const char *text;
    size_t series_length; /* length of "measurement,tag=value" */
    const char *at, *end; /* fields that vamp_sample_line_next has not returned yet */
    int64_t time;         /* as in the line, in the sender's unit */
    bool has_time;
};

/* Checks a line without its newline. Returns 0; -ENODATA if the line is empty or a comment; or
 * -EINVAL with a text that begins with the column in bytes, from 1. */
VAMP_MUST_CHECK int vamp_sample_line_read(const char *text, size_t length,
                                          struct vamp_sample_line *ret_line, struct vamp_err *err);
/* Returns the next "field=value" whose value is not a text; false after the last one. */
bool vamp_sample_line_next(struct vamp_sample_line *line, const char **ret_field,
                           size_t *ret_length);

/* The text of a sample event, split into its parts. */
struct vamp_sample {
    const char *key; /* text before the '=' of the value; identifies the series */
    size_t key_length;
    long double value; /* represents every 64-bit integer exactly */
};

/* Splits the text of a sample. Returns false if the text is not a sample. */
bool vamp_sample_read(const char *text, size_t length, struct vamp_sample *ret_sample);
/* Writes "measurement.field" without backslashes. Returns false if it does not fit and was cut. */
bool vamp_sample_name(const struct vamp_sample *sample, char *out, size_t bytes);
/* Writes the value of a tag without backslashes, terminated. Returns false if there is no such tag
 * or the value does not fit; `out` is then "". */
bool vamp_sample_tag(const struct vamp_sample *sample, const char *tag, char *out, size_t bytes);
/* As vamp_sample_tag for a label: well-formed UTF-8, and "" if it is too long. */
#define VAMP_SAMPLE_LABEL_BYTES 257
bool vamp_sample_label(const struct vamp_sample *sample, const char *tag,
                       char label[static VAMP_SAMPLE_LABEL_BYTES]);
/* Shortens a host name: "n1.site.org" becomes "n1"; an address is unchanged. */
void vamp_sample_shorten_host(char *host);
