/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Properties of the process: its exit code, user, host and resource usage, the ready file, and the
 * namespace of its series ids.
 */
#pragma once

#include <stdbool.h>
#include <uuid/uuid.h>

#include "config/config.h"
#include "vampire/core/clock.h"
#include "vampire/core/err.h"
#include "vampire/core/user.h"
#include "vampire/stats/bucket/bucket.h"

/* Exit codes, as documented by --help and vampire(1). */
enum vamp_exit_code {
    VAMP_EXIT_OK = 0,      /* the workflow ended or a signal stopped vampire; files are complete */
    VAMP_EXIT_FAILED = 1,  /* an output lost elements, or an internal failure; see stderr */
    VAMP_EXIT_USAGE = 2,   /* error in the command line or configuration; nothing was started */
    VAMP_EXIT_NO_POOL = 3, /* no pool manager within the configured time, or it refused vampire */
    VAMP_EXIT_POOL_GONE =
        4, /* the pool manager vanished before the workflow ended; files are complete */
    VAMP_EXIT_DAMAGED = 5, /* the replayed recording is damaged; files are complete */
};

#define VAMP_PROCESS_TEXT_BYTES 256

struct vamp_process {
    char host[VAMP_PROCESS_TEXT_BYTES];
    char user[VAMP_USER_BYTES];
    char batch_job[VAMP_PROCESS_TEXT_BYTES];
};

/* Starts the description of a run: a new id, start time, version, configuration, user and host; the
 * texts are stored in `process` and `config`. The user is the effective one. The batch job is that
 * of Slurm, PBS or LSF. */
void vamp_process_describe(struct vamp_process *process, const struct vamp_config *config,
                           const struct vamp_clock *clock, struct vamp_run *ret_run);

/* Returns the resident memory in bytes; 0: the system does not report it. Any thread. */
int64_t vamp_self_rss_bytes(void);
/* Returns the processor time of all threads so far, in ns. Any thread. */
int64_t vamp_self_cpu_ns(void);

/* Derives the namespace of series ids, which is the same in all runs of a workflow. With a site
 * key, only programs that have the key can compute it. `key_file`: the file with the key, or NULL.
 * Returns 0; -EINVAL: the file contains no key; or another -errno: it cannot be read. */
VAMP_MUST_CHECK int vamp_series_space(const char *workflow, const char *key_file,
                                      char space[static UUID_STR_LEN], struct vamp_err *err);

/* A file that exists while vampire observes the workflow (--ready-file), for scripts that start the
 * components afterwards. It appears atomically and contains the process id. Worker thread. */
struct vamp_ready_file {
    const char *path; /* NULL: no ready file, all calls have no effect; must outlive this object */
    char *prepared;   /* the file under its temporary name */
    bool shown;
};

/* Removes the file of an earlier run and writes the new one under a temporary name in the same
 * directory, so that a wrong path is detected before the workflow is joined. Returns 0 or -errno.
 */
VAMP_MUST_CHECK int vamp_ready_file_prepare(struct vamp_ready_file *file, const char *path,
                                            struct vamp_err *err);
/* Renames the file to its final name. Returns 0 or -errno. */
VAMP_MUST_CHECK int vamp_ready_file_show(struct vamp_ready_file *file, struct vamp_err *err);
/* Removes the file. */
void vamp_ready_file_done(struct vamp_ready_file *file);
