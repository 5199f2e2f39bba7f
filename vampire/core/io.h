/* SPDX-License-Identifier: BSD-3-Clause */
/* Complete reads and writes, despite partial ones and signals, and prefaulting of memory. Any
 * thread. */
#pragma once

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* Reads up to the end, or up to `room` bytes; may block. 0 or a positive errno; in both cases
 * `*ret_length` bytes were read. */
static inline int vamp_read_all(int fd, void *bytes, size_t room, size_t *ret_length)
{
    ssize_t got = 1;
    *ret_length = 0;
    while (got != 0 && *ret_length < room) {
        got = read(fd, (char *)bytes + *ret_length, room - *ret_length);
        if (got < 0 && errno != EINTR) {
            return errno;
        }
        if (got > 0) {
            *ret_length += (size_t)got;
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
        if (now > 0) {
            *ret_written += (size_t)now;
        }
    }
    return 0;
}

/* Prefaults the whole pages in `bytes` of memory that will be written soon, which costs less than
 * one fault for each. Has no effect if it fails. Contents are unchanged. */
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
