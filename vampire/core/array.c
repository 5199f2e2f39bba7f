/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/core/array.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_ROOM 8

bool vamp_array_reserve(void *array, unsigned *room, unsigned count, size_t bytes)
{
    void *present;
    unsigned wanted = *room > 0 ? *room : FIRST_ROOM;
    if (count < *room) {
        return true;
    }
    while (wanted <= count) {
        wanted *= 2;
    }
    memcpy(&present, array, sizeof present); /* whatever it points to */
    char *larger = reallocarray(present, wanted, bytes);
    if (larger != NULL) {
        memset(larger + *room * bytes, 0, (wanted - *room) * bytes);
        memcpy(array, &larger, sizeof larger);
        *room = wanted;
    }
    return larger != NULL;
}
