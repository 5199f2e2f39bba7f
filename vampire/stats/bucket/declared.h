/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *  * Metrics that the configuration declares and that samples count (docs/samples.md). They are
 * appended to the catalogue and used like built-in ones. Global, as the catalogue: declared while
 * the program has one thread, constant from then on.
 */
#pragma once

#include "vampire/core/err.h"
#include "vampire/stats/bucket/metric.h"

#define VAMP_DECLARED_MAX 64
#define VAMP_SAMPLE_NAME_BYTES 256 /* of "measurement.field", terminated */

/* Labels that can be set by a tag. */
enum vamp_declared_label {
    VAMP_DECLARED_COMPONENT,
    VAMP_DECLARED_HOST,
    VAMP_DECLARED_JOB,
    VAMP_DECLARED_NAME,
};
#define VAMP_DECLARED_LABEL_COUNT (VAMP_DECLARED_NAME + 1)
extern const enum vamp_label vamp_declared_labels[VAMP_DECLARED_LABEL_COUNT];

struct vamp_declared {
    const char *text; /* as in the configuration */
    enum vamp_metric_id id;
    const char *from;  /* "measurement.field" */
    long double scale; /* values are multiplied by it and rounded to integers */
    const char *tags[VAMP_DECLARED_LABEL_COUNT]; /* NULL: the metric does not have the label */
    const char *only, *only_value; /* tag and value that a sample must have; NULL: none */
    const char *value; /* histograms: tag with the value, which the sample counts; NULL: none */
};

/* Reads "NAME KIND MEASUREMENT.FIELD [unit=U] [scale=N] [only=TAG:VALUE] [value=TAG]
 *  * [component=TAG] [host=TAG] [job=TAG] [name=TAG]" and appends the metric, unless the same text
 * was declared before. 0; -EINVAL; -ENOMEM. */
VAMP_MUST_CHECK int vamp_declare(const char *text, struct vamp_err *err);
/* No further metrics or other attributes can be declared. */
void vamp_declared_seal(void);
/* Declares the names of attributes of CDOs, which replace previous ones as labels (metric.h). 0;
 * -EINVAL: `names[*ret_wrong]` is not allowed, or the names differ and metrics are sealed. */
VAMP_MUST_CHECK int vamp_attributes_declare(const char *const *names, unsigned number,
                                            unsigned *ret_wrong, struct vamp_err *err);
unsigned vamp_declared_count(void);
const struct vamp_declared *vamp_declared_at(unsigned index);
