/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Metrics that the configuration declares and that samples fill (docs/samples.md): appended to the
 * catalogue, and ordinary from then on. Like the catalogue they are of the program: declared while
 * it has one thread, constant from then on.
 */
#pragma once

#include "vampire/core/err.h"
#include "vampire/stats/bucket/metric.h"

#define VAMP_DECLARED_MAX 64
#define VAMP_SAMPLE_NAME_BYTES 256 /* of "measurement.field", terminated */

/* The labels that a tag can fill. */
enum vamp_declared_label {
    VAMP_DECLARED_COMPONENT,
    VAMP_DECLARED_HOST,
    VAMP_DECLARED_JOB,
    VAMP_DECLARED_NAME,
};
#define VAMP_DECLARED_LABEL_COUNT 4
extern const enum vamp_label vamp_declared_labels[VAMP_DECLARED_LABEL_COUNT];

struct vamp_declared {
    const char *text; /* as in the configuration */
    enum vamp_metric_id id;
    const char *from; /* "measurement.field" */
    /* Values are multiplied by it and rounded to whole numbers. */
    long double scale;
    const char *tags[VAMP_DECLARED_LABEL_COUNT]; /* NULL: the metric does not have the label */
    const char *only, *only_value; /* the tag that a sample must have, and its value; NULL: none */
    /* Of a histogram: the tag with the value, whose count the sample is; NULL: it is the value. */
    const char *value;
};

/* Reads "NAME KIND MEASUREMENT.FIELD [unit=U] [scale=N] [only=TAG:VALUE] [value=TAG]
 * [component=TAG] [host=TAG] [job=TAG] [name=TAG]" and appends the metric; one that was declared
 * with the same text is the same. 0; -EINVAL with a text that says what is wrong; -ENOMEM. */
VAMP_MUST_CHECK int vamp_declare(const char *text, struct vamp_err *err);
/* From here on no other metric can be declared. */
void vamp_declared_seal(void);
/* The names of attributes of CDOs, which are labels from now on, instead of others (metric.h). 0;
 * -EINVAL with a text: one cannot be a name, which is in `*ret_wrong`, or they are others than
 * before once metrics are sealed. */
VAMP_MUST_CHECK int vamp_attributes_declare(const char *const *names, unsigned number,
                                            unsigned *ret_wrong, struct vamp_err *err);
unsigned vamp_declared_count(void);
const struct vamp_declared *vamp_declared_at(unsigned index);
