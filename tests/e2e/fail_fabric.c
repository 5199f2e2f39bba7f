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

static void add(const char *name, unsigned number, int error, long long lasts_ms)
{
    for (unsigned i = 0; i < FABRIC_FAULT_CALL_COUNT; i++) {
        if (strcmp(name, fabric_fault_names[i]) == 0) {
            fabric_faults_add((enum fabric_fault_call)i, number, error, lasts_ms * 1000000);
        }
    }
}

__attribute__((constructor)) static void prepare(void)
{
    const char *wish = getenv("FAIL_FABRIC");
    char name[16];
    unsigned number;
    int error, used;
    long long lasts_ms;
    while (wish != NULL &&
           sscanf(wish, " %15[A-Z_]:%u:%d:%lld%n", name, &number, &error, &lasts_ms, &used) == 4) {
        add(name, number, error, lasts_ms);
        wish += used;
    }
}

__attribute__((destructor)) static void tell(void)
{
    for (unsigned i = 0; i < FABRIC_FAULT_CALL_COUNT; i++) {
        const struct fabric_fault *fault = &fabric_faults.of[i];
        (void)fprintf(stderr, "fabric %s %u\n", fabric_fault_names[i], atomic_load(&fault->count));
        if (atomic_load(&fault->failed)) {
            (void)fprintf(stderr, "fabric failed %s\n", fabric_fault_names[i]);
        }
    }
}
