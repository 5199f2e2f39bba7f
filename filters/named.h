/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Filters with names: texts that may refer to each other with `@name`, in any order. They are kept
 * as text and compiled where they are used, so a name costs nothing at evaluation. Built while the
 * configuration is read, not changed afterwards; then any thread may compile with it.
 */
#ifndef VAMP_FILTERS_NAMED_H
#define VAMP_FILTERS_NAMED_H

#include <stddef.h>

#include "vampire/core/err.h"

#define VAMP_NAMED_FILTERS_MAX 256

struct vamp_named_filters;

VAMP_MUST_CHECK int vamp_named_filters_create(struct vamp_named_filters **ret_named,
                                              struct vamp_err *err);
/* NULL is fine. */
void vamp_named_filters_free(struct vamp_named_filters *named);
/* Copies both. 0; -EINVAL: no proper name (letters, digits, '_', '-', '.'); -EEXIST: the name is
 * taken; -E2BIG: too many; -ENOMEM. The text is looked at when a
 * filter is compiled that names it. */
VAMP_MUST_CHECK int vamp_named_filters_add(struct vamp_named_filters *named, const char *name,
                                           const char *text, struct vamp_err *err);
/* NULL: there is none. */
const char *vamp_named_filters_text(const struct vamp_named_filters *named, const char *name);
/* All names in the order of addition, ended by NULL. */
const char *const *vamp_named_filters_names(const struct vamp_named_filters *named);

#endif
