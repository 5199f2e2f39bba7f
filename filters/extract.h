/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Extracts attributes from the names of CDOs: each attribute has a name and a regular expression
 * with one group, the value. Limited like the matches of filters (expression.h). One thread at a
 * time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vampire/core/err.h"

#define VAMP_EXTRACT_MAX 16

struct vamp_extract;

/* 0 or -ENOMEM. */
VAMP_MUST_CHECK int vamp_extract_create(struct vamp_extract **ret_extract, struct vamp_err *err);
/* NULL is fine. */
void vamp_extract_free(struct vamp_extract *extract);

/* Adds an attribute, from "NAME=PATTERN", or from "NAME": the text after NAME: or NAME= in a list
 * with commas. 0; -EINVAL, -E2BIG: the pattern is wrong, but the name is added; -ENOMEM. */
VAMP_MUST_CHECK int vamp_extract_add(struct vamp_extract *extract, const char *text,
                                     struct vamp_err *err);
const char *const *vamp_extract_names(const struct vamp_extract *extract, unsigned *ret_count);
/* The value of an attribute, counted from 0, in a text; false: none. Allocates nothing. */
bool vamp_extract_find(const struct vamp_extract *extract, unsigned number, const char *text,
                       size_t length, const char **ret_value, size_t *ret_length);
/* Searches cut short by a limit so far, without a value. */
uint64_t vamp_extract_cut(const struct vamp_extract *extract);
