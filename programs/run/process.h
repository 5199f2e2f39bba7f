/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Properties of the process: its exit code, user, host and resource usage, the file that indicates
 * that it is ready, and the name space of its series.
 */
#pragma once

#include <stdbool.h>
#include <uuid/uuid.h>

#include "config/config.h"
#include "vampire/core/clock.h"
#include "vampire/core/err.h"
#include "vampire/stats/bucket/bucket.h"

/* Printed by --help and in vampire(1). */
enum vamp_exit_code {
    VAMP_EXIT_OK = 0,      /* the workflow ended or a signal stopped vampire; files complete */
    VAMP_EXIT_FAILED = 1,  /* an output lost something, or an internal failure; see stderr */
    VAMP_EXIT_USAGE = 2,   /* command line or configuration; nothing was started */
    VAMP_EXIT_NO_POOL = 3, /* no pool manager within the configured time, or it refused vampire */
    VAMP_EXIT_POOL_GONE =
        4,                 /* the pool manager vanished before the workflow ended; files complete */
    VAMP_EXIT_DAMAGED = 5, /* the replayed recording is damaged; files complete */
};

#define VAMP_PROCESS_TEXT_BYTES 256

struct vamp_process {
    char host[VAMP_PROCESS_TEXT_BYTES];
    char user[VAMP_PROCESS_TEXT_BYTES];
    char batch_job[VAMP_PROCESS_TEXT_BYTES];
};

/* Begins the description of a run: a new id, the start, version and configuration, user and host;
 * the texts are in `process` and `config`. The user is that of the environment (LOGNAME, USER),
 * else the number, since a directory service may be slow. The batch job is that of Slurm, PBS or
 * LSF. */
void vamp_process_describe(struct vamp_process *process, const struct vamp_config *config,
                           const struct vamp_clock *clock, struct vamp_run *ret_run);

/* Resident memory in bytes, 0: the system does not report it. Any thread. */
int64_t vamp_self_rss_bytes(void);
/* Processor time of all threads so far, in ns. Any thread. */
int64_t vamp_self_cpu_ns(void);

/* The name space of the ids of series: the same in all runs of a workflow. With a key of the site,
 * only programs that have the key can compute it. `key_file`: a file that contains the key, or
 * NULL. 0; -EINVAL: it contains no key; -errno: it cannot be read. */
VAMP_MUST_CHECK int vamp_series_space(const char *workflow, const char *key_file,
                                      char space[static UUID_STR_LEN], struct vamp_err *err);

/* A file that exists while vampire observes the workflow (--ready-file), for scripts that start the
 * components after it. It appears complete and contains the process id. Worker thread. */
struct vamp_ready_file {
    const char *path; /* NULL: not wanted, and all calls do nothing; outlives this */
    char *prepared;   /* the file under its temporary name */
    bool shown;
};

/* Removes the file of an earlier run and writes the new one under another name in the same
 * directory, so that a wrong path is found before the workflow is joined. 0 or -errno. */
VAMP_MUST_CHECK int vamp_ready_file_prepare(struct vamp_ready_file *file, const char *path,
                                            struct vamp_err *err);
/* Gives the file its name. 0 or -errno. */
VAMP_MUST_CHECK int vamp_ready_file_show(struct vamp_ready_file *file, struct vamp_err *err);
/* Removes the file. */
void vamp_ready_file_done(struct vamp_ready_file *file);
