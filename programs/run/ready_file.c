/* SPDX-License-Identifier: BSD-3-Clause */
#include "programs/run/ready_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define WHAT "write the ready file %s"

/* Closes `descriptor` in any case. */
static int write_process_id(int descriptor)
{
    const bool written =
        fchmod(descriptor, 0644) == 0 && dprintf(descriptor, "%ld\n", (long)getpid()) > 0;
    const int wrong = errno;
    if (close(descriptor) != 0) {
        return written ? errno : wrong;
    }
    return written ? 0 : wrong;
}

int vamp_ready_file_prepare(struct vamp_ready_file *file, const char *path, struct vamp_err *err)
{
    *file = (struct vamp_ready_file){.path = path};
    if (path == NULL) {
        return 0;
    }
    if (unlink(path) != 0 && errno != ENOENT) {
        return vamp_err_set_errno(err, errno, WHAT, path);
    }
    if (asprintf(&file->prepared, "%s.XXXXXX", path) < 0) {
        file->prepared = NULL;
        return vamp_err_set_errno(err, ENOMEM, WHAT, path);
    }
    const int descriptor = mkstemp(file->prepared);
    if (descriptor < 0) {
        const int wrong = errno;
        free(file->prepared);
        file->prepared = NULL;
        return vamp_err_set_errno(err, wrong, WHAT, path);
    }
    const int wrong = write_process_id(descriptor);
    return wrong == 0 ? 0 : vamp_err_set_errno(err, wrong, WHAT, path);
}

int vamp_ready_file_show(struct vamp_ready_file *file, struct vamp_err *err)
{
    if (file->path == NULL) {
        return 0;
    }
    if (rename(file->prepared, file->path) != 0) {
        return vamp_err_set_errno(err, errno, WHAT, file->path);
    }
    file->shown = true;
    return 0;
}

void vamp_ready_file_done(struct vamp_ready_file *file)
{
    if (file->prepared != NULL) {
        (void)unlink(file->shown ? file->path : file->prepared);
        free(file->prepared);
    }
    *file = (struct vamp_ready_file){0};
}
