/* SPDX-License-Identifier: BSD-3-Clause */
/* All sources. An array, since the linker might drop registration by constructors. */
#include <stddef.h>
#include <string.h>

#include "vampire/source/source.h"

const struct vamp_source_ops *const vamp_sources[] = {
    &vamp_source_maestro,
    &vamp_source_replay,
    &vamp_source_synthetic,
    NULL,
};

const struct vamp_source_ops *vamp_source_find(const char *name)
{
    for (size_t i = 0; vamp_sources[i] != NULL; i++) {
        if (strcmp(vamp_sources[i]->name, name) == 0) {
            return vamp_sources[i];
        }
    }
    return NULL;
}
