/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/writer.h"

#include <string.h>

const struct vamp_writer_ops *const vamp_writers[] = {
    &vamp_writer_hdf5, &vamp_writer_jsonl, &vamp_writer_recording, &vamp_writer_null, NULL,
};

const struct vamp_writer_ops *vamp_writer_find(const char *name)
{
    for (const struct vamp_writer_ops *const *each = vamp_writers; *each != NULL; each++) {
        if (strcmp((*each)->name, name) == 0) {
            return *each;
        }
    }
    return NULL;
}
