/* SPDX-License-Identifier: BSD-3-Clause */
#include "programs/run/filter_use.h"

#include <stdlib.h>

int vamp_filter_use_create(const char *text, enum vamp_filter_place place,
                           const struct vamp_config *config,
                           const struct vamp_components *components,
                           struct vamp_filter_use **ret_use, struct vamp_err *err)
{
    struct vamp_filter_use *use = calloc(1, sizeof *use);
    if (use == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "prepare the filters");
    }
    use->components = components;
    const int status = vamp_event_filter_compile(text, place, config->named, &use->compiled, err);
    if (status != 0) {
        vamp_filter_use_free(use);
        return status;
    }
    *ret_use = use;
    return 0;
}

void vamp_filter_use_free(struct vamp_filter_use *use)
{
    if (use != NULL) {
        vamp_event_filter_free(use->compiled);
        free(use);
    }
}

bool vamp_filter_use_match(struct vamp_filter_use *use, const struct vamp_event *event)
{
    const bool passes = vamp_event_filter_match(use->compiled, event, use->components);
    use->seen++;
    use->passed += passes;
    return passes;
}
