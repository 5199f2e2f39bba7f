/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Attributes that the names of CDOs contain: each has a name and a regular expression with one
 * group, the value. Bounded as the matches of filters are (expression.h). One thread at a time.
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

/* One more, from "NAME=PATTERN", or from "NAME": what stands after NAME: or NAME= in a list with
 * commas. 0; -EINVAL, -E2BIG: its pattern is wrong, it has its name all the same; -ENOMEM. */
VAMP_MUST_CHECK int vamp_extract_add(struct vamp_extract *extract, const char *text,
                                     struct vamp_err *err);
const char *const *vamp_extract_names(const struct vamp_extract *extract, unsigned *ret_count);
/* The value of one, counted from 0, in a text; false: there is none. Allocates nothing. */
bool vamp_extract_find(const struct vamp_extract *extract, unsigned number, const char *text,
                       size_t length, const char **ret_value, size_t *ret_length);
/* Searches that a bound cut short so far, without a value. */
uint64_t vamp_extract_cut(const struct vamp_extract *extract);
