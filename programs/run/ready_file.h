/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A file that exists while vampire observes the workflow (--ready-file), for scripts that start the
 * components after it. It appears complete and contains the process id. Worker thread.
 */
#ifndef VAMP_RUN_READY_FILE_H
#define VAMP_RUN_READY_FILE_H

#include <stdbool.h>

#include "vampire/core/err.h"

struct vamp_ready_file {
    const char *path; /* NULL: none is wanted, and all calls do nothing; outlives this */
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

#endif
