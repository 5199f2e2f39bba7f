/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/recover.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "writers/format/file.h"

#define BEGIN_BYTES 64

static const struct vamp_recovery_ops *find_format(int fd)
{
    uint8_t begin[BEGIN_BYTES];
    const ssize_t bytes = pread(fd, begin, sizeof begin, 0);
    for (unsigned i = 0; bytes > 0 && vamp_writers[i] != NULL; i++) {
        const struct vamp_recovery_ops *format = vamp_writers[i]->recovery;
        if (format != NULL && format->is_own(begin, (size_t)bytes)) {
            return format;
        }
    }
    return NULL;
}

static int recover(int fd, const char *path, bool dry_run, struct vamp_recovery *ret_recovery,
                   struct vamp_err *err)
{
    struct stat status;
    if (fstat(fd, &status) != 0) {
        return vamp_err_set_errno(err, errno, "look at %s", path);
    }
    if (!S_ISREG(status.st_mode)) {
        return vamp_err_set(err, -EBADMSG, "%s is not a file", path);
    }
    if (!vamp_target_lock(fd, dry_run)) {
        return vamp_err_set(err, -EBUSY,
                            "%s is being written; nothing is wrong with it as long as its vampire "
                            "runs",
                            path);
    }
    const struct vamp_recovery_ops *format = find_format(fd);
    if (format == NULL) {
        return vamp_err_set(err, -EBADMSG,
                            "%s is neither an HDF5 file, nor JSON lines, nor a recording", path);
    }
    return format->recover(fd, path, dry_run, ret_recovery, err);
}

int vamp_recover_file(const char *path, bool dry_run, struct vamp_recovery *ret_recovery,
                      struct vamp_err *err)
{
    *ret_recovery = (struct vamp_recovery){.record = "record"};
    /* Not blocking: it may be a FIFO. */
    const int flags = O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    int fd = open(path, (dry_run ? O_RDONLY : O_RDWR) | flags);
    if (fd < 0) {
        return errno == ELOOP
                   ? vamp_err_set(err, -ELOOP, "%s is a symbolic link; give the file's own name",
                                  path)
                   : vamp_err_set_errno(err, errno, "open %s", path);
    }
    int code = recover(fd, path, dry_run, ret_recovery, err);
    (void)close(fd);
    return code;
}
