/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/lib/fault.h"

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>

static _Thread_local struct {
    bool armed, onwards, failed;
    unsigned count, fail_at;
} fault;

/* Of all threads. */
static struct {
    atomic_bool armed, failed;
    bool onwards;
    unsigned fail_at;
    atomic_uint count;
} anywhere;

static void arm(unsigned n, bool onwards)
{
    fault.armed = true;
    fault.onwards = onwards;
    fault.failed = false;
    fault.count = 0;
    fault.fail_at = n;
}

void fault_alloc_fail_at(unsigned n)
{
    arm(n, false);
}

void fault_alloc_fail_from(unsigned n)
{
    arm(n, true);
}

void fault_alloc_fail_anywhere(unsigned n, bool onwards)
{
    anywhere.onwards = onwards;
    anywhere.fail_at = n;
    atomic_store(&anywhere.count, 0);
    atomic_store(&anywhere.failed, false);
    atomic_store(&anywhere.armed, true);
}

bool fault_alloc_end(void)
{
    const bool here = fault.failed;
    fault.armed = fault.failed = false;
    atomic_store(&anywhere.armed, false);
    return atomic_exchange(&anywhere.failed, false) || here;
}

unsigned fault_alloc_count(void)
{
    return fault.armed ? fault.count : atomic_load(&anywhere.count);
}

static bool fails_anywhere(void)
{
    if (!atomic_load(&anywhere.armed)) {
        return false;
    }
    const unsigned number = atomic_fetch_add(&anywhere.count, 1) + 1;
    if (number == anywhere.fail_at || (anywhere.onwards && number > anywhere.fail_at)) {
        atomic_store(&anywhere.failed, true);
        errno = ENOMEM;
        return true;
    }
    return false;
}

/* Whether this allocation is the one. */
static bool fails(void)
{
    if (!fault.armed) {
        return fails_anywhere();
    }
    fault.count++;
    if (fault.count == fault.fail_at || (fault.onwards && fault.count > fault.fail_at)) {
        fault.failed = true;
        errno = ENOMEM;
        return true;
    }
    return false;
}

/* The linker sends calls of NAME to __wrap_NAME, and __real_NAME to the C library. */
/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *block, size_t bytes);
void *__real_reallocarray(void *block, size_t count, size_t bytes);
int __real_posix_memalign(void **block, size_t alignment, size_t bytes);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t bytes);
FILE *__real_open_memstream(char **text, size_t *bytes);

void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *block, size_t bytes);
void *__wrap_reallocarray(void *block, size_t count, size_t bytes);
int __wrap_posix_memalign(void **block, size_t alignment, size_t bytes);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t bytes);
FILE *__wrap_open_memstream(char **text, size_t *bytes);

void *__wrap_malloc(size_t bytes)
{
    return fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return fails() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *block, size_t bytes)
{
    return fails() ? NULL : __real_realloc(block, bytes);
}

void *__wrap_reallocarray(void *block, size_t count, size_t bytes)
{
    return fails() ? NULL : __real_reallocarray(block, count, bytes);
}

int __wrap_posix_memalign(void **block, size_t alignment, size_t bytes)
{
    return fails() ? ENOMEM : __real_posix_memalign(block, alignment, bytes);
}

char *__wrap_strdup(const char *text)
{
    return fails() ? NULL : __real_strdup(text);
}

char *__wrap_strndup(const char *text, size_t bytes)
{
    return fails() ? NULL : __real_strndup(text, bytes);
}

FILE *__wrap_open_memstream(char **text, size_t *bytes)
{
    return fails() ? NULL : __real_open_memstream(text, bytes);
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */
