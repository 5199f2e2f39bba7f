/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * To be preloaded: lets one call of libfabric fail. FAIL_FABRIC=CALL:NUMBER:ERROR, such as
 * SEND:3:11; says at the end how many of each there were: "fabric CALL COUNT" on standard error.
 */
#define _GNU_SOURCE
#include <stdio.h>

#include "tests/lib/fabric_faults.h"

__attribute__((constructor)) static void prepare(void)
{
    const char *wish = getenv("FAIL_FABRIC");
    char name[32];
    unsigned number;
    int error;
    if (wish == NULL || sscanf(wish, "%31[A-Z_]:%u:%d", name, &number, &error) != 3) {
        return;
    }
    for (unsigned i = 0; i < FABRIC_FAULT_CALL_COUNT; i++) {
        if (strcmp(name, fabric_fault_names[i]) == 0) {
            fabric_faults_arm((enum fabric_fault_call)i, number, error);
        }
    }
}

__attribute__((destructor)) static void tell(void)
{
    for (unsigned i = 0; i < FABRIC_FAULT_CALL_COUNT; i++) {
        (void)fprintf(stderr, "fabric %s %u\n", fabric_fault_names[i],
                      atomic_load(&fabric_faults.counts[i]));
    }
}
