/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded into a writer by test_failing_calls.py: the n-th call that concerns a file of the
 * directory FAIL_UNDER fails (FAIL_AT=n) with the error FAIL_ERRNO, or, with FAIL_SHORT=1, writes
 * only half; with FAIL_ONWARDS=1 all behind it fail as well. Counted are open, write, pwrite,
 * fsync, fdatasync, ftruncate, fallocate, close and unlink. With FAIL_AT=0 they are only counted;
 * Locks by flock fail with the error FAIL_FLOCK, as on file systems without locks.
 * At exit it says "calls N", and at each fdatasync "synced N". While the file FAIL_WAIT exists each
 * of these calls waits, as on a device that stands still.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static atomic_long calls;

static long number(const char *name)
{
    const char *text = getenv(name);
    return text != NULL ? strtol(text, NULL, 10) : 0;
}

static bool is_under(const char *path)
{
    const char *under = getenv("FAIL_UNDER");
    return under != NULL && path != NULL && strncmp(path, under, strlen(under)) == 0;
}

static bool is_file(int fd)
{
    char link[64], path[PATH_MAX];
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) {
        return false;
    }
    path[length] = '\0';
    return is_under(path);
}

static void wait_while_it_stands_still(void)
{
    const char *path = getenv("FAIL_WAIT");
    while (path != NULL && access(path, F_OK) == 0) {
        (void)usleep(2000);
    }
}

/* Whether this call is the one; errno is set then. */
static bool fails(bool ours)
{
    if (ours) {
        wait_while_it_stands_still();
    }
    const long at = number("FAIL_AT"), call = ours ? atomic_fetch_add(&calls, 1) + 1 : 0;
    if (!ours || at == 0 || call < at || (call > at && number("FAIL_ONWARDS") == 0)) {
        return false;
    }
    (void)fprintf(stderr, "failed\n");
    errno = (int)number("FAIL_ERRNO");
    return true;
}

#define REAL(result, name, ...)                                                                    \
    static result (*real)(__VA_ARGS__);                                                            \
    if (real == NULL) {                                                                            \
        *(void **)&real = dlsym(RTLD_NEXT, #name);                                                 \
    }

static ssize_t write_half(bool fail, ssize_t (*real)(int, const void *, size_t), int fd,
                          const void *bytes, size_t count)
{
    return !fail ? real(fd, bytes, count)
                 : (number("FAIL_SHORT") != 0 && count > 1 ? real(fd, bytes, count / 2) : -1);
}

int flock(int fd, int operation)
{
    const int code = (int)number("FAIL_FLOCK");
    REAL(int, flock, int, int)
    if (code != 0 && operation != LOCK_UN) {
        errno = code;
        return -1;
    }
    return real(fd, operation);
}

ssize_t write(int fd, const void *bytes, size_t count)
{
    REAL(ssize_t, write, int, const void *, size_t)
    return write_half(fails(is_file(fd)), real, fd, bytes, count);
}

static ssize_t pwrite_half(bool fail, ssize_t (*real)(int, const void *, size_t, off_t), int fd,
                           const void *bytes, size_t count, off_t offset)
{
    return !fail
               ? real(fd, bytes, count, offset)
               : (number("FAIL_SHORT") != 0 && count > 1 ? real(fd, bytes, count / 2, offset) : -1);
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t offset)
{
    REAL(ssize_t, pwrite, int, const void *, size_t, off_t)
    return pwrite_half(fails(is_file(fd)), real, fd, bytes, count, offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off_t offset)
{
    REAL(ssize_t, pwrite64, int, const void *, size_t, off_t)
    return pwrite_half(fails(is_file(fd)), real, fd, bytes, count, offset);
}

int fsync(int fd)
{
    REAL(int, fsync, int)
    return fails(is_file(fd)) ? -1 : real(fd);
}

/* Where a bucket ends. */
int fdatasync(int fd)
{
    REAL(int, fdatasync, int)
    const bool ours = is_file(fd), fail = fails(ours);
    if (ours && number("FAIL_AT") == 0) {
        (void)fprintf(stderr, "synced %ld\n", atomic_load(&calls));
    }
    return fail ? -1 : real(fd);
}

/* A close that fails has closed. */
int close(int fd)
{
    REAL(int, close, int)
    const bool fail = fails(is_file(fd));
    const int code = errno;
    const int result = real(fd);
    errno = fail ? code : errno;
    return fail ? -1 : result;
}

#define TRUNCATE(name)                                                                             \
    int name(int fd, off_t size)                                                                   \
    {                                                                                              \
        REAL(int, name, int, off_t)                                                                \
        return fails(is_file(fd)) ? -1 : real(fd, size);                                           \
    }
TRUNCATE(ftruncate)
TRUNCATE(ftruncate64)

#define FALLOCATE(name)                                                                            \
    int name(int fd, int mode, off_t offset, off_t bytes)                                          \
    {                                                                                              \
        REAL(int, name, int, int, off_t, off_t)                                                    \
        return fails(is_file(fd)) ? -1 : real(fd, mode, offset, bytes);                            \
    }
FALLOCATE(fallocate)
FALLOCATE(fallocate64)

int unlink(const char *path)
{
    REAL(int, unlink, const char *)
    return fails(is_under(path)) ? -1 : real(path);
}

#define OPEN(name)                                                                                 \
    int name(const char *path, int flags, ...)                                                     \
    {                                                                                              \
        va_list rest;                                                                              \
        va_start(rest, flags);                                                                     \
        const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;                     \
        va_end(rest);                                                                              \
        REAL(int, name, const char *, int, ...)                                                    \
        return fails(is_under(path)) ? -1 : real(path, flags, mode);                               \
    }
OPEN(open)
OPEN(open64)

static void say(void) __attribute__((destructor));
static void say(void)
{
    (void)fprintf(stderr, "calls %ld\n", atomic_load(&calls));
}
