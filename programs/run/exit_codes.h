/* SPDX-License-Identifier: BSD-3-Clause */
/* What vampire's exit code says; printed by --help and in vampire(1). */
#ifndef VAMP_RUN_EXIT_CODES_H
#define VAMP_RUN_EXIT_CODES_H

enum vamp_exit_code {
    VAMP_EXIT_OK = 0,      /* the workflow ended or a signal stopped vampire; files complete */
    VAMP_EXIT_FAILED = 1,  /* an output lost data, or something inside failed; stderr says what */
    VAMP_EXIT_USAGE = 2,   /* command line or configuration; nothing was started */
    VAMP_EXIT_NO_POOL = 3, /* no pool manager within the configured time, or it refused vampire */
    VAMP_EXIT_POOL_GONE =
        4,                 /* the pool manager vanished before the workflow ended; files complete */
    VAMP_EXIT_DAMAGED = 5, /* the recording that was replayed is damaged; files complete */
};

#endif
