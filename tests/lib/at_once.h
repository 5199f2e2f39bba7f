/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tests that mostly wait, run at the same time: each in a process of its own, so that their
 * deadlines pass together and can be long enough for a busy machine.
 */
#ifndef TESTS_LIB_AT_ONCE_H
#define TESTS_LIB_AT_ONCE_H

#include <stddef.h>

/* Calls run(context, i) for every i below `count`, each in a child process; what it returns (0: all
 * is well) is the child's exit code. What a child prints comes out in one piece, in the order of
 * the numbers. Call it before there are threads. The number of children that did not end with 0. */
int at_once(int (*run)(const void *context, size_t number), const void *context, size_t count);

#endif
