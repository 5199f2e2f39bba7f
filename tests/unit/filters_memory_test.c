/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory: evaluation allocates nothing, and compiling, printing and creating survive the failure
 * of each single allocation. The allocator of the whole program is replaced here, that of PCRE2
 * included; a sanitizer brings its own, so under one there is nothing to test.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "filters/event_filter.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define UNDER_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define UNDER_SANITIZER 1
#endif

#ifdef UNDER_SANITIZER

int main(void)
{
    printf("1..0 # SKIP the sanitizer's allocator cannot be replaced\n");
    return 0;
}

#else

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void __libc_free(void *memory);

static unsigned allocations; /* since the last reset */
static unsigned fail_at;     /* the one that fails, counted from 1; 0: none */
static long live;            /* pieces allocated and not freed */

static bool fails(void)
{
    allocations++;
    return allocations == fail_at;
}

static void *counted(void *memory)
{
    live += memory != NULL;
    return memory;
}

void *malloc(size_t bytes)
{
    return fails() ? NULL : counted(__libc_malloc(bytes));
}

void *calloc(size_t count, size_t bytes)
{
    return fails() ? NULL : counted(__libc_calloc(count, bytes));
}

void *realloc(void *memory, size_t bytes)
{
    if (fails()) {
        return NULL;
    }
    return memory == NULL ? counted(__libc_realloc(memory, bytes)) : __libc_realloc(memory, bytes);
}

void free(void *memory)
{
    live -= memory != NULL;
    __libc_free(memory);
}

static void arm(unsigned at)
{
    allocations = 0;
    fail_at = at;
}

static const char full[] =
    "(or (and (.event.kind in (offer demand)) (.cdo.name match \"^(?<x>a+)+,step:(6|12)$\"))\n"
    "    (.cdo.name glob \"*[A-Z]?\") @named (.cdo.id = 000102030405060708090a0b0c0d0e0f)\n"
    "    (and (.cdo.size >= 1.5MiB) (.event.time < 2026-11-21T03:44:00Z) (.component.id < 0.5)))";

static void evaluation_allocates_nothing(void **state)
{
    (void)state;
    struct vamp_named_filters named = {0};
    struct vamp_event_filter *filter = NULL;
    enum { LENGTH = 4096 };
    char *name = malloc(LENGTH);
    memset(name, 'a', LENGTH);
    name[LENGTH - 1] = '!';
    assert_int_equal(
        vamp_named_filters_add(&named, "named", "(.cdo.name match \"(a|b)*[cd]\")", NULL), 0);
    assert_int_equal(vamp_event_filter_compile(full, VAMP_FILTER_INSIDE, &named, &filter, NULL), 0);
    arm(0);
    for (unsigned kind = 0; kind < 32; kind++) {
        for (uint32_t length = 0; length <= LENGTH; length += 256) {
            struct vamp_event event = {.kind = (uint8_t)kind,
                                       .name = name,
                                       .name_length = length,
                                       .present = UINT16_MAX & ~VAMP_HAS_COMPONENT_NAME};
            (void)vamp_event_filter_match(filter, &event, NULL);
        }
    }
    assert_int_equal(allocations, 0);
    /* The patterns did run to their bounds. */
    assert_true(vamp_event_filter_cut(filter) > 0);
    vamp_event_filter_free(filter);
    free(name);
}

/* All steps of a filter's life; the first failure ends it. */
static int live_once(const char *text, enum vamp_filter_place place)
{
    struct vamp_named_filters named = {0};
    struct vamp_event_filter *filter = NULL;
    struct vamp_err err = VAMP_ERR_NONE;
    char *normal = NULL;
    int rc = vamp_named_filters_add(&named, "named", "(not (.event.kind = seal))", &err);
    if (rc == 0) {
        rc = vamp_event_filter_compile(text, place, &named, &filter, &err);
    }
    if (rc == 0) {
        normal = vamp_event_filter_print(filter);
        rc = normal == NULL ? -ENOMEM : 0;
    } else if (err.code != rc || err.text[0] == '\0') {
        rc = -EIO;
    }
    free(normal);
    vamp_event_filter_free(filter);
    return rc;
}

static void each_allocation_may_fail(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum vamp_filter_place place;
    } cases[] = {
        {full, VAMP_FILTER_INSIDE},
        {"(and (has .maestro.a) (.maestro.b match \"x\") @named (.cdo.size > 1))",
         VAMP_FILTER_FIRST},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        unsigned at = 0;
        /* What the C library allocates once and keeps is no leak. */
        assert_int_equal(live_once(cases[i].text, cases[i].place), 0);
        int rc;
        do {
            long before = live;
            arm(++at);
            rc = live_once(cases[i].text, cases[i].place);
            arm(0);
            if (live != before) {
                fail_msg("case %zu, allocation %u: %ld pieces are left", i, at, live - before);
            }
            assert_true(rc == 0 || rc == -ENOMEM);
        } while (rc != 0);
        /* It failed at each of them, and not just at the first few. */
        assert_true(at > 20);
    }
}

/* Every way in which a text can be wrong: it is reported as such, or as lack of memory. */
static void wrong_filters_without_memory(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "(",
        "(.cdo.size > )",
        "(.cdo.sise > 1)",
        "(.event.kind = ofer)",
        "(.cdo.id = 1)",
        "(.cdo.name match '(')",
        "(.cdo.name glob '[')",
        "(and (has .maestro.a) @nobody)",
        "(or (has .maestro.a) (.cdo.size > 1MiB))",
        "(.event.time > \"now\")",
        "(has \"x\")",
        "(or (.event.kind = declare) (has .maestro.a))",
        "(.transport.duration > 5)",
        "'open",
        "(.component.name = a,b)",
        "(not @named @named)",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_int_equal(live_once(texts[i], VAMP_FILTER_FIRST), -EINVAL);
        for (unsigned at = 1;; at++) {
            long before = live;
            arm(at);
            const int rc = live_once(texts[i], VAMP_FILTER_FIRST);
            const bool failed = allocations >= at;
            arm(0);
            if (live != before || (rc != -EINVAL && !(failed && rc == -ENOMEM))) {
                fail_msg("%s, allocation %u: %d, %ld pieces are left", texts[i], at, rc,
                         live - before);
            }
            if (!failed) {
                break;
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(evaluation_allocates_nothing),
        cmocka_unit_test(each_allocation_may_fail),
        cmocka_unit_test(wrong_filters_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
