/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Interface of vampire/live/ for the live source (source/maestro.c), which loads it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "vampire/source/source.h"

/* Values that a user can set; the table is in maestro.c. */
enum vamp_signal_before {
    VAMP_SIGNAL_BEFORE_OFF,
    VAMP_SIGNAL_BEFORE_WAITS, /* DEMAND, WITHDRAW, LEAVE */
    VAMP_SIGNAL_BEFORE_ALL,   /* every operation, for handling times */
    VAMP_SIGNAL_BEFORE_AUTO,  /* WAITS with a Maestro that promises not to block, else OFF */
};

struct vamp_maestro_options {
    char *info;      /* NULL: from the file or the environment */
    char *info_file; /* NULL: none */
    int64_t wait_ns;
    int64_t rejoin_ns;      /* 0: never */
    unsigned signal_before; /* enum vamp_signal_before */
    bool leave_when_empty;
    int64_t leave_grace_ns;
    bool alone;     /* the pool of this process, without a pool manager */
    char *examined; /* the file of `vampire --examine`; "": next to the plug-in */
};

/* Parameters of an examination. */
#define VAMP_EXAMINE_ACTORS 4
struct vamp_examination {
    int sockets[VAMP_EXAMINE_ACTORS]; /* sockets of its processes (vampire/live/actor.h) */
    const char *maestro, *path;       /* the version of Maestro; where the verdict is written */
    bool shared; /* the environment names a pool manager of others; false: one must be started */
};
typedef int vamp_examine_fn(void *context, const struct vamp_examination *examination);

struct vamp_live {
    const char *version; /* VAMP_VERSION of the build; objects of another version are not used */
    /* Prints what the maestro.h of the build provides, for --version. */
    void (*abilities)(FILE *stream);
    /* Name and functions only; `unknown` of NULL: with the default options. Only one source of this
     * kind can be open at a time. */
    struct vamp_source_ops source;
    /* `vampire --examine`: starts the processes, and ends them after `judge`, whose code it
     * returns; -1 if they could not be started. Forks, so the process must have no other thread. */
    int (*examine)(const struct vamp_maestro_options *options, vamp_examine_fn *judge,
                   void *context, struct vamp_err *err);
};

/* The only symbol of the shared object. */
extern const struct vamp_live vamp_live;

/* The one that a run would load, loaded now. NULL: it is not there, or of another build; `err`,
 * which is not NULL, says which. */
const struct vamp_live *vamp_live_load(struct vamp_err *err);
