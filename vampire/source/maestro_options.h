/* SPDX-License-Identifier: BSD-3-Clause */
/* What a user can set of the live source; the table is in maestro.c. */
#ifndef VAMP_SOURCE_MAESTRO_OPTIONS_H
#define VAMP_SOURCE_MAESTRO_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

enum vamp_signal_before {
    VAMP_SIGNAL_BEFORE_OFF,
    VAMP_SIGNAL_BEFORE_WAITS, /* DEMAND, WITHDRAW, LEAVE */
    VAMP_SIGNAL_BEFORE_ALL,   /* every operation, for handling times */
};

struct vamp_maestro_options {
    char *info;      /* NULL: from the file or the environment */
    char *info_file; /* NULL: none */
    int64_t wait_ns;
    int64_t rejoin_ns;      /* 0: never */
    unsigned signal_before; /* enum vamp_signal_before */
    bool leave_when_empty;
    int64_t leave_grace_ns;
    bool alone; /* the pool of this process, no pool manager */
};

#endif
