/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What vampire/live/ offers to the live source (source/maestro.c), which loads it: the functions of
 * struct vamp_source_ops, with the same contracts.
 */
#ifndef VAMP_SOURCE_LIVE_H
#define VAMP_SOURCE_LIVE_H

#include "vampire/source/source.h"

struct vamp_live {
    const char *version; /* VAMP_VERSION of the build; another one's is not used */
    int (*open)(const void *options, const struct vamp_source_context *context, void **ret_self,
                struct vamp_err *err);
    enum vamp_source_status (*next)(void *self, struct vamp_event *ret_event, struct vamp_err *err);
    void (*wait)(void *self, int64_t timeout_ns);
    void (*describe)(void *self, struct vamp_source_state *ret_state);
    int (*close)(void *self, struct vamp_err *err);
};

/* The only symbol of the shared object. */
extern const struct vamp_live vamp_live;

#endif
