/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays that grow by doubling. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Makes room for the element with the index `count`; what is new is zeroed. `array` is the address
 * of the pointer to the array, malloc'ed or NULL, which has room for `*room` elements of `bytes`.
 * False without memory: nothing has changed. */
bool vamp_array_reserve(void *array, unsigned *room, unsigned count, size_t bytes);
