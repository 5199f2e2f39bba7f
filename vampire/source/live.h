/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Interface of vampire/live/ for the live source (source/maestro.c), which loads it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "vampire/source/source.h"

/* Values of the option `signal_before`; the option table is in maestro.c. */
enum vamp_signal_before {
    VAMP_SIGNAL_BEFORE_OFF,
    VAMP_SIGNAL_BEFORE_WAITS, /* for DEMAND, WITHDRAW and LEAVE */
    VAMP_SIGNAL_BEFORE_ALL,   /* for every operation; required to measure handling times */
    VAMP_SIGNAL_BEFORE_AUTO,  /* as WAITS if Maestro guarantees not to block, else OFF */
};

struct vamp_maestro_options {
    char *info;      /* NULL: read from the file or the environment */
    char *info_file; /* NULL: none */
    int64_t wait_ns;
    int64_t rejoin_ns;      /* 0: never */
    unsigned signal_before; /* enum vamp_signal_before */
    bool leave_when_empty;
    int64_t leave_grace_ns;
    bool alone;     /* the pool of this process, without a pool manager */
    char *examined; /* path of the result file of `vampire --examine`; "": next to the plug-in */
};

/* Parameters of an examination. */
#define VAMP_EXAMINE_ACTORS 4
struct vamp_examination {
    int sockets[VAMP_EXAMINE_ACTORS]; /* sockets of the actors (vampire/live/actor.h) */
    const char *maestro, *path;       /* version of Maestro; path of the result file */
    bool shared; /* use the pool manager that the environment names; false: start a pool manager */
};
typedef int vamp_examine_fn(void *context, const struct vamp_examination *examination);

struct vamp_live {
    const char
        *version; /* VAMP_VERSION of the build; shared objects of other versions are rejected */
    /* Prints what the maestro.h of the build provides, for --version. */
    void (*abilities)(FILE *stream);
    /* Name and functions only. `unknown` called with NULL returns the result for the default
     * options. Only one live source can be open at a time. */
    struct vamp_source_ops source;
    /* Implements `vampire --examine`: starts the actors, calls `judge`, ends the actors and returns
     * the result of `judge`; -1 if the actors could not be started. Forks, so the process must have
     * no other threads. */
    int (*examine)(const struct vamp_maestro_options *options, vamp_examine_fn *judge,
                   void *context, struct vamp_err *err);
};

/* The only symbol of the shared object. */
extern const struct vamp_live vamp_live;

/* Loads the shared object that a run would load. Returns NULL with a text in `err`, which must not
 * be NULL, if the object does not exist or belongs to another build. */
const struct vamp_live *vamp_live_load(struct vamp_err *err);
