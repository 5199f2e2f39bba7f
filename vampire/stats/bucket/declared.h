/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Metrics that are declared in the configuration and computed from samples (docs/samples.md). They
 * are appended to the catalogue and used like built-in metrics. The catalogue is global; metrics
 * are declared while the program has one thread, and the catalogue is constant from then on.
 */
#pragma once

#include "vampire/core/err.h"
#include "vampire/stats/bucket/metric.h"

#define VAMP_DECLARED_MAX 64
#define VAMP_SAMPLE_NAME_BYTES 256 /* size of "measurement.field", including the terminator */

/* Labels whose value can be taken from a tag. */
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
    long double scale; /* factor for values, which are then rounded to integers */
    const char *tags[VAMP_DECLARED_LABEL_COUNT]; /* NULL: the metric does not have the label */
    const char *only, *only_value; /* tag and value that a sample must have; NULL: no condition */
    /* Histograms: tag that contains the value; the sample's field is the number of values; NULL:
     * none. */
    const char *value;
};

/* Parses "NAME KIND MEASUREMENT.FIELD [unit=U] [scale=N] [only=TAG:VALUE] [value=TAG]
 * [component=TAG] [host=TAG] [job=TAG] [name=TAG]" and appends the metric to the catalogue, unless
 * the same text was declared before. Returns 0; -EINVAL if the text is not valid; or -ENOMEM. */
VAMP_MUST_CHECK int vamp_declare(const char *text, struct vamp_err *err);
/* Prevents further declarations of metrics and changes of attributes. */
void vamp_declared_seal(void);
/* Declares the names of CDO attributes, which replace previous ones as labels (metric.h). Returns
 * 0, or -EINVAL if `names[*ret_wrong]` is not allowed, or if the names differ and the declarations
 * are sealed. */
VAMP_MUST_CHECK int vamp_attributes_declare(const char *const *names, unsigned number,
                                            unsigned *ret_wrong, struct vamp_err *err);
unsigned vamp_declared_count(void);
const struct vamp_declared *vamp_declared_at(unsigned index);
