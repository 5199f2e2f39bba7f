/* SPDX-License-Identifier: BSD-3-Clause */
/* Pages of memory that is written for the first time. Any thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* Asks the system for the whole pages in `bytes` of memory that will be written soon: at once, they
 * cost less than one by one as they are touched. What it does not give now comes then. The contents
 * stay. */
static inline void vamp_pages_ask(void *memory, size_t bytes)
{
#ifdef MADV_POPULATE_WRITE
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t before = -(uintptr_t)memory & (page - 1);
    if (bytes >= before + page) {
        (void)madvise((char *)memory + before, (bytes - before) & ~(page - 1), MADV_POPULATE_WRITE);
    }
#else
    (void)memory;
    (void)bytes;
#endif
}
