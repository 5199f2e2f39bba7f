/* SPDX-License-Identifier: BSD-3-Clause */
/* Complete reads and writes, where read() and write() may transfer a part or be interrupted by a
 * signal; and prefaulting of memory. Any thread. */
#pragma once

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "vampire/core/values.h"

/* Reads to the end of the file or until `bytes` is full; may block. Returns 0 or a positive errno;
 * `*ret_length` bytes were read in both cases. */
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

/* Writes all bytes. Returns 0, or a positive errno after `*ret_written` bytes. */
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

/* Prefaults the whole pages in `bytes` of memory that will be written soon, which costs less than
 * faulting them in one by one. Pages that the system refuses now are faulted in later. The contents
 * do not change. */
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
