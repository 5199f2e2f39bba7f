/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Named filters: texts that may refer to each other with `@name`, in any order. They are kept as
 * text and compiled where they are used, so a name costs nothing at evaluation. They are added
 * while the configuration is read; after that, any thread may compile with them.
 */
#pragma once

#include "vampire/core/err.h"

#define VAMP_NAMED_FILTERS_MAX 256

struct vamp_named_filters;

VAMP_MUST_CHECK int vamp_named_filters_create(struct vamp_named_filters **ret_named,
                                              struct vamp_err *err);
/* NULL is fine. */
void vamp_named_filters_free(struct vamp_named_filters *named);
/* Copies both. 0; -EINVAL: not a valid name (letters, digits, '_', '-', '.'); -EEXIST: the name is
 * taken; -E2BIG: more than VAMP_NAMED_FILTERS_MAX; -ENOMEM. The text is not checked before a filter
 * that refers to it is compiled. */
VAMP_MUST_CHECK int vamp_named_filters_add(struct vamp_named_filters *named, const char *name,
                                           const char *text, struct vamp_err *err);
/* The text of the filter with this name, or NULL. */
const char *vamp_named_filters_text(const struct vamp_named_filters *named, const char *name);
/* All names in the order of addition, ended by NULL. */
const char *const *vamp_named_filters_names(const struct vamp_named_filters *named);
