/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counts every call to the heap of this process, the libraries' included: the program's own
 * malloc stands before the C library's, which does the work under its other name.
 */
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/bench/bench.h"

void *__libc_malloc(size_t bytes);               /* NOLINT(bugprone-reserved-identifier) */
void *__libc_calloc(size_t count, size_t bytes); /* NOLINT(bugprone-reserved-identifier) */
void *__libc_realloc(void *old, size_t bytes);   /* NOLINT(bugprone-reserved-identifier) */
void *malloc(size_t bytes);
void *calloc(size_t count, size_t bytes);
void *realloc(void *old, size_t bytes);

static atomic_uint_fast64_t calls;

uint64_t bench_heap_calls(void)
{
    return atomic_load_explicit(&calls, memory_order_relaxed);
}

void *malloc(size_t bytes)
{
    atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
    return __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
    return __libc_calloc(count, bytes);
}

void *realloc(void *old, size_t bytes)
{
    atomic_fetch_add_explicit(&calls, 1, memory_order_relaxed);
    return __libc_realloc(old, bytes);
}
