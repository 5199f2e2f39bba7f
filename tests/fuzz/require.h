/* SPDX-License-Identifier: BSD-3-Clause */
/* What has to hold, whatever the input: ends the fuzz target and says where. */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static inline void require_at(bool holds, const char *what, const char *file, int line)
{
    if (!holds) {
        (void)fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
        abort();
    }
}
#define require(condition) require_at((condition), #condition, __FILE__, __LINE__)
