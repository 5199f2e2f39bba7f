/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded into a writer by test_hdf5_readers.py: kills the process in the middle of the n-th
 * write that crosses a page (TEAR=n), at the page, which is where Linux may stop a write when
 * SIGKILL arrives. With TEAR=0 it only counts, and says so at exit.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE 4096

static long crossings;

static ssize_t torn(int fd, const void *bytes, size_t count, off_t offset)
{
    const char *text = getenv("TEAR");
    const size_t first = PAGE - (size_t)(offset % PAGE);
    if (count > first && ++crossings == (text != NULL ? strtol(text, NULL, 10) : 0)) {
        (void)syscall(SYS_pwrite64, fd, bytes, first, offset);
        (void)raise(SIGKILL);
    }
    return syscall(SYS_pwrite64, fd, bytes, count, offset);
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset)
{
    return torn(fd, bytes, count, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off_t offset)
{
    return torn(fd, bytes, count, offset);
}

static void say(void) __attribute__((destructor));
static void say(void)
{
    (void)fprintf(stderr, "crossings %ld\n", crossings);
}
