/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A format that writes nothing, for performance measurements of all other parts. Also the smallest
 * example of a format.
 */
#include "writers/writer.h"

#include <stdlib.h>

static const struct vamp_opt null_options[] = {{.key = NULL}};

static int null_open(const void *options, const struct vamp_writer_target *target, void **ret_self,
                     struct vamp_err *err)
{
    (void)options, (void)target;
    *ret_self = malloc(1);
    if (*ret_self == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "prepare the target");
    }
    return 0;
}

static int null_write(void *self, const struct vamp_delivery *delivery, struct vamp_err *err)
{
    (void)self, (void)delivery, (void)err;
    return 0;
}

static const char *null_path(const void *self)
{
    (void)self;
    return "nowhere";
}

static int null_close(void *self, const struct vamp_ending *ending, struct vamp_err *err)
{
    (void)ending, (void)err;
    free(self);
    return 0;
}

const struct vamp_writer_ops vamp_writer_null = {
    .name = "null",
    .summary = "writes nothing; to measure vampire without output",
    .options = null_options,
    .options_bytes = 0,
    .open = null_open,
    .element = VAMP_ELEMENT_BUCKET,
    .write_bucket = null_write,
    .path = null_path,
    .close = null_close,
};
