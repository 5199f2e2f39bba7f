/* SPDX-License-Identifier: BSD-3-Clause */
/* Who runs vampire, and where: facts about the process that identify a run at a site. */
#ifndef VAMP_RUN_PROCESS_H
#define VAMP_RUN_PROCESS_H

#include "vampire/stats/bucket/bucket.h"

#define VAMP_PROCESS_TEXT_BYTES 256

struct vamp_process {
    char host[VAMP_PROCESS_TEXT_BYTES];
    char user[VAMP_PROCESS_TEXT_BYTES];
    char batch_job[VAMP_PROCESS_TEXT_BYTES];
};

/* Looks them up once and sets host, pid, user and batch_job of the run, which point into `process`.
 * The user is what the environment says (LOGNAME, USER), else the number: a directory service may
 * be slow. The batch job is that of Slurm, PBS or LSF. */
void vamp_process_describe(struct vamp_process *process, struct vamp_run *run);

#endif
