/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "filters/filter.h"

const struct vamp_filter_ops *const vamp_filters[] = {
    &vamp_filter_expression, &vamp_filter_every, &vamp_filter_fraction, &vamp_filter_rate, NULL,
};

const struct vamp_filter_ops *vamp_filter_find(const char *name)
{
    for (size_t i = 0; vamp_filters[i] != NULL; i++) {
        if (strcmp(vamp_filters[i]->name, name) == 0) {
            return vamp_filters[i];
        }
    }
    return NULL;
}
