/* SPDX-License-Identifier: BSD-3-Clause */
#include "programs/run/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "vampire/core/utf8.h"

/* The first of the variables that is set; "": none is. */
static void take_variable(const char *const *names, char text[static VAMP_PROCESS_TEXT_BYTES])
{
    const char *value = NULL;
    for (; *names != NULL && (value == NULL || *value == '\0'); names++) {
        value = getenv(*names);
    }
    (void)vamp_utf8_copy(text, VAMP_PROCESS_TEXT_BYTES - 1, value != NULL ? value : "");
    text[VAMP_PROCESS_TEXT_BYTES - 1] = '\0';
}

void vamp_process_describe(struct vamp_process *process, struct vamp_run *run)
{
    static const char *const users[] = {"LOGNAME", "USER", NULL};
    static const char *const jobs[] = {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", NULL};
    if (gethostname(process->host, sizeof process->host - 1) != 0) {
        process->host[0] = '\0';
    }
    take_variable(users, process->user);
    if (process->user[0] == '\0') {
        (void)snprintf(process->user, sizeof process->user, "%lu", (unsigned long)geteuid());
    }
    take_variable(jobs, process->batch_job);
    run->host = process->host;
    run->user = process->user;
    run->batch_job = process->batch_job;
    run->pid = (uint64_t)getpid();
}
