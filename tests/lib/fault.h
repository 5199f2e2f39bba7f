/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Failing allocations on purpose. All tests are linked with --wrap for the functions of the C
 * library that allocate, so that a test can let any of them fail that our own code calls; libraries
 * keep theirs (jansson: json_set_alloc_funcs(malloc, free) in the test brings it in).
 * The countdown belongs to the calling thread, or to all threads together.
 *
 *     for (unsigned n = 1;; n++) {
 *         fault_alloc_fail_at(n);
 *         int code = thing_create(...);
 *         if (!fault_alloc_end()) {
 *             break;                // fewer than n allocations: every one has failed once
 *         }
 *         assert_int_equal(code, -ENOMEM);
 *     }
 */
#pragma once

#include <stdbool.h>

/* The nth allocation from now on fails (1: the next), those behind it succeed again. */
void fault_alloc_fail_at(unsigned n);
/* The nth and all behind it fail. */
void fault_alloc_fail_from(unsigned n);
/* The same for the allocations of all threads, counted together; for those of a test that has
 * several. */
void fault_alloc_fail_anywhere(unsigned n, bool onwards);
/* Ends the failing, of both kinds. True when an allocation has failed since it was asked for. */
bool fault_alloc_end(void);
/* Allocations since fault_alloc_fail_at or fault_alloc_fail_from, of this thread; since
 * fault_alloc_fail_anywhere, of all. */
unsigned fault_alloc_count(void);
