/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * To be preloaded: lets one allocation of the program's own code fail. Libraries keep theirs: what
 * they make of a lack of memory is not ours to test, and a program cannot survive their ends.
 *
 * FAIL_ALLOCATION=N: the Nth, counted over all threads, fails; 0: none. FAIL_PLACE=HEX: only those
 * count that are made at this place of the program (with bit 48 set:
 * of lib/vampire/maestro.so). FAIL_ONWARDS=1: all behind it fail as well.
 * FAIL_NOT="HEX-HEX ...": these ranges of the program are a library's that is linked into it.
 * Says how many there were at the end: "allocations COUNT" on standard error; with FAIL_LIST=1 also
 * "place HEX COUNT" for each place that made some.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *block, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);

static atomic_ulong count;
static unsigned long fail_at;
static bool onwards;
static uintptr_t only; /* 0: all places */
static bool listing;

static struct {
    uintptr_t begin, end;
} linked[4];
static size_t linked_ranges;

#define MODULE ((uintptr_t)1 << 48)

/* The return addresses of the calls, by a hash of them. */
enum { PLACES = 4096 };
static struct {
    atomic_uintptr_t place;
    atomic_ulong count;
} places[PLACES];

static bool in_linked_library(uintptr_t place)
{
    for (size_t i = 0; i < linked_ranges; i++) {
        if (place >= linked[i].begin && place < linked[i].end) {
            return true;
        }
    }
    return false;
}

/* Where the caller is, in the executable or in the part of vampire that joins a pool (then with the
 * bit MODULE); 0: elsewhere. */
static uintptr_t place_of(void *caller)
{
    struct dl_find_object object;
    if (_dl_find_object(caller, &object) != 0) {
        return 0;
    }
    const struct link_map *map = object.dlfo_link_map;
    const uintptr_t place = (uintptr_t)caller - map->l_addr;
    if (map->l_name[0] == '\0') {
        return in_linked_library(place) ? 0 : place;
    }
    return strstr(map->l_name, "/lib/vampire/maestro.so") != NULL ? place | MODULE : 0;
}

static void read_linked(const char *text)
{
    char *end;
    while (*text != '\0' && linked_ranges < sizeof linked / sizeof *linked) {
        linked[linked_ranges].begin = (uintptr_t)strtoul(text, &end, 16);
        linked[linked_ranges++].end = (uintptr_t)strtoul(end + 1, &end, 16);
        text = end;
    }
}

__attribute__((constructor)) static void prepare(void)
{
    const char *not_here = getenv("FAIL_NOT");
    if (not_here != NULL) {
        read_linked(not_here);
    }
    const char *number = getenv("FAIL_ALLOCATION");
    fail_at = number != NULL ? strtoul(number, NULL, 10) : 0;
    const char *place = getenv("FAIL_PLACE");
    only = place != NULL ? (uintptr_t)strtoul(place, NULL, 16) : 0;
    onwards = getenv("FAIL_ONWARDS") != NULL;
    listing = getenv("FAIL_LIST") != NULL;
}

__attribute__((destructor)) static void report(void)
{
    (void)fprintf(stderr, "allocations %lu\n", atomic_load(&count));
    for (size_t i = 0; listing && i < PLACES; i++) {
        if (atomic_load(&places[i].place) != 0) {
            (void)fprintf(stderr, "place %lx %lu\n", (unsigned long)atomic_load(&places[i].place),
                          atomic_load(&places[i].count));
        }
    }
}

static void note(uintptr_t place)
{
    for (size_t i = place % PLACES; listing; i = (i + 1) % PLACES) {
        uintptr_t free_place = 0;
        if (atomic_load(&places[i].place) == place ||
            atomic_compare_exchange_strong(&places[i].place, &free_place, place) ||
            free_place == place) {
            atomic_fetch_add(&places[i].count, 1);
            return;
        }
    }
}

static bool fails(void *caller)
{
    const uintptr_t place = place_of(caller);
    if (place == 0) {
        return false;
    }
    note(place);
    /* Where places are distinguished, all later ones of any place fail. */
    if (only != 0 && only != place && !(onwards && atomic_load(&count) >= fail_at)) {
        return false;
    }
    unsigned long number = atomic_fetch_add(&count, 1) + 1;
    if (fail_at != 0 && (number == fail_at || (onwards && number > fail_at))) {
        errno = ENOMEM;
        return true;
    }
    return false;
}

#define CALLER __builtin_return_address(0)

void *malloc(size_t bytes)
{
    return fails(CALLER) ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t number, size_t bytes)
{
    return fails(CALLER) ? NULL : __libc_calloc(number, bytes);
}

void *realloc(void *block, size_t bytes)
{
    return fails(CALLER) ? NULL : __libc_realloc(block, bytes);
}

void *reallocarray(void *block, size_t number, size_t bytes)
{
    size_t all;
    if (__builtin_mul_overflow(number, bytes, &all) || fails(CALLER)) {
        errno = ENOMEM;
        return NULL;
    }
    return __libc_realloc(block, all);
}

void *aligned_alloc(size_t alignment, size_t bytes)
{
    return fails(CALLER) ? NULL : __libc_memalign(alignment, bytes);
}

int posix_memalign(void **block, size_t alignment, size_t bytes)
{
    if (fails(CALLER)) {
        return ENOMEM;
    }
    *block = __libc_memalign(alignment, bytes);
    return *block != NULL ? 0 : ENOMEM;
}

static char *copy(const char *text, size_t length)
{
    char *result = __libc_malloc(length + 1);
    if (result != NULL) {
        memcpy(result, text, length);
        result[length] = '\0';
    }
    return result;
}

char *strdup(const char *text)
{
    return fails(CALLER) ? NULL : copy(text, strlen(text));
}

char *strndup(const char *text, size_t bytes)
{
    return fails(CALLER) ? NULL : copy(text, strnlen(text, bytes));
}

FILE *open_memstream(char **text, size_t *bytes)
{
    static FILE *(*real)(char **, size_t *);
    if (real == NULL) {
        real = (FILE * (*)(char **, size_t *)) dlsym(RTLD_NEXT, "open_memstream");
    }
    return fails(CALLER) ? NULL : real(text, bytes);
}

int vasprintf(char **text, const char *format, va_list arguments)
{
    static int (*real)(char **, const char *, va_list);
    if (real == NULL) {
        real = (int (*)(char **, const char *, va_list))dlsym(RTLD_NEXT, "vasprintf");
    }
    if (fails(CALLER)) {
        *text = NULL;
        return -1;
    }
    return real(text, format, arguments);
}
