/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * To be preloaded: lets calls of libfabric fail. FAIL_FABRIC=CALL:NUMBER:ERROR:MILLISECONDS, such
 * as SEND:3:11:0: the third call fails with this errno, and so do all others for so long; more of
 * them behind spaces, one of each call. Says at the end how many of each there were, "fabric CALL
 * COUNT" on standard error, and "fabric failed CALL" if it came to that.
 */
#define _GNU_SOURCE
#include <stdio.h>

#include "tests/lib/fabric_faults.h"

/* The number behind the colon. */
static long number_of(const char **at)
{
    char *end;
    const long number = **at == ':' ? strtol(*at + 1, &end, 10) : -1;
    if (number < 0) {
        (void)fprintf(stderr, "fabric: FAIL_FABRIC is not understood at \"%s\"\n", *at);
        abort();
    }
    *at = end;
    return number;
}

/* Behind the wish. */
static const char *add(const char *wish)
{
    const size_t length = strcspn(wish, ":");
    const char *at = wish + length;
    const unsigned number = (unsigned)number_of(&at);
    const int error = (int)number_of(&at);
    const int64_t lasts_ns = number_of(&at) * INT64_C(1000000);
    for (unsigned i = 0; i < FABRIC_FAULT_CALL_COUNT; i++) {
        if (strlen(fabric_fault_names[i]) == length &&
            strncmp(wish, fabric_fault_names[i], length) == 0) {
            fabric_faults_add((enum fabric_fault_call)i, number, error, lasts_ns);
        }
    }
    return at + strspn(at, " ");
}

__attribute__((constructor)) static void prepare(void)
{
    const char *wish = getenv("FAIL_FABRIC");
    while (wish != NULL && *wish != '\0') {
        wish = add(wish);
    }
}

__attribute__((destructor)) static void report(void)
{
    for (unsigned i = 0; i < FABRIC_FAULT_CALL_COUNT; i++) {
        const struct fabric_fault *fault = &fabric_faults.of[i];
        (void)fprintf(stderr, "fabric %s %u\n", fabric_fault_names[i], atomic_load(&fault->count));
        if (atomic_load(&fault->failed)) {
            (void)fprintf(stderr, "fabric failed %s\n", fabric_fault_names[i]);
        }
    }
}
