/* SPDX-License-Identifier: BSD-3-Clause */
/* What the system gives whole: all of a file, where read and write may do a part and a signal may
 * end them, and pages of memory. Any thread. */
#pragma once

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "vampire/core/values.h"

/* Reads up to the end, or as much as there is room for, which may block. 0 or a positive errno; in
 * both cases `*ret_length` bytes were read. */
static inline int vamp_read_all(int fd, void *bytes, size_t room, size_t *ret_length)
{
    ssize_t got = 1;
    for (*ret_length = 0; got != 0 && *ret_length < room; *ret_length += (size_t)VAMP_MAX(got, 0)) {
        got = read(fd, (char *)bytes + *ret_length, room - *ret_length);
        if (got < 0 && errno != EINTR) {
            return errno;
        }
    }
    return 0;
}

/* 0; a positive errno after `*ret_written` bytes. */
static inline int vamp_write_all(int fd, const void *bytes, size_t length, size_t *ret_written)
{
    *ret_written = 0;
    while (*ret_written < length) {
        const ssize_t now = write(fd, (const char *)bytes + *ret_written, length - *ret_written);
        if (now == 0 || (now < 0 && errno != EINTR)) {
            return now == 0 ? EIO : errno;
        }
        *ret_written += (size_t)VAMP_MAX(now, 0);
    }
    return 0;
}

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
