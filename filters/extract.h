/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Extracts attributes from CDO names: each attribute has a name and a regular expression with one
 * group, which captures the value. The limits are those of filters (expression.h). One thread at a
 * time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vampire/core/err.h"

#define VAMP_EXTRACT_MAX 16

struct vamp_extract;

/* Returns 0 or -ENOMEM. */
VAMP_MUST_CHECK int vamp_extract_create(struct vamp_extract **ret_extract, struct vamp_err *err);
/* Frees the object, which may be NULL. */
void vamp_extract_free(struct vamp_extract *extract);

/* Adds an attribute. "NAME=PATTERN" uses the pattern; "NAME" extracts the text after NAME: or NAME=
 * in a comma-separated list. Returns 0; -EINVAL, -E2BIG: the pattern is invalid, but the name is
 * added; -ENOMEM. */
VAMP_MUST_CHECK int vamp_extract_add(struct vamp_extract *extract, const char *text,
                                     struct vamp_err *err);
const char *const *vamp_extract_names(const struct vamp_extract *extract, unsigned *ret_count);
/* Extracts the value of attribute `number` (from 0, in the order of vamp_extract_names) from
 * `text`. Returns false if the text has no such value. Allocates nothing. */
bool vamp_extract_find(const struct vamp_extract *extract, unsigned number, const char *text,
                       size_t length, const char **ret_value, size_t *ret_length);
/* Returns the number of searches that reached a limit so far and found no value. */
uint64_t vamp_extract_cut(const struct vamp_extract *extract);
