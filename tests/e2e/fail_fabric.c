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
    const size_t length = wish == NULL ? 0 : strcspn(wish, ":");
    if (length == 0 || wish[length] == '\0') {
        return;
    }
    char *behind = NULL;
    const unsigned number = (unsigned)strtoul(wish + length + 1, &behind, 10);
    if (*behind != ':') {
        return;
    }
    const int error = (int)strtol(behind + 1, NULL, 10);
    for (unsigned i = 0; i < FABRIC_FAULT_CALL_COUNT; i++) {
        if (strlen(fabric_fault_names[i]) == length &&
            strncmp(wish, fabric_fault_names[i], length) == 0) {
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
