/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs tests that mostly wait at the same time, each in a process of its own, so that their
 * deadlines pass together and can be long enough for a busy machine.
 */
#pragma once

#include <stddef.h>

/* Calls run(context, i) for every i below `count`, each in a child process; what it returns (0:
 * passed) is the child's exit code. What a child prints comes out in one piece, in the order of the
 * numbers. Call it before other threads exist. Returns how many children did not end with 0. */
int at_once(int (*run)(const void *context, size_t number), const void *context, size_t count);
/* The same for tests in which calls of libfabric fail. With the thread sanitizer it reports a skip
 * and returns 0: libfabric is not built for it, and fails in other ways. */
int at_once_without_tsan(int (*run)(const void *context, size_t number), const void *context,
                         size_t count);
