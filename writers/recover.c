/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/recover.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "writers/target_file.h"

#define BEGIN_BYTES 64
#define BLOCK_BYTES 4096

/* A crash of the machine can leave a file longer than what was written to it. */
static bool only_zeros(int fd, uint64_t from, uint64_t to)
{
    char block[BLOCK_BYTES];
    while (from < to) {
        const size_t wanted = to - from < sizeof block ? (size_t)(to - from) : sizeof block;
        const ssize_t got = pread(fd, block, wanted, (off_t)from);
        if (got <= 0) {
            return false;
        }
        for (ssize_t i = 0; i < got; i++) {
            if (block[i] != '\0') {
                return false;
            }
        }
        from += (uint64_t)got;
    }
    return true;
}

int vamp_recover_cut(int fd, const char *path, const struct vamp_recover_cut *cut,
                     struct vamp_recovery *ret_recovery, struct vamp_err *err)
{
    struct stat status;
    if (fstat(fd, &status) != 0) {
        return vamp_err_set_errno(err, errno, "look at %s", path);
    }
    const uint64_t size = (uint64_t)status.st_size;
    const uint64_t torn = size > cut->whole_bytes ? size - cut->whole_bytes : 0;
    if (torn == 0) {
        return 0;
    }
    if (torn > cut->record_bytes_max && !only_zeros(fd, cut->whole_bytes, size)) {
        return vamp_err_set(err, -EBADMSG,
                            "%s is damaged at byte %" PRIu64
                            ", not only at its end; it was left as it is",
                            path, cut->whole_bytes);
    }
    ret_recovery->damaged = true;
    (void)snprintf(ret_recovery->what, sizeof ret_recovery->what,
                   "%" PRIu64 " bytes of a %s that was not completed", torn, ret_recovery->record);
    if (cut->dry_run) {
        return 0;
    }
    if (ftruncate(fd, (off_t)cut->whole_bytes) != 0 || fsync(fd) != 0) {
        return vamp_err_set_errno(err, errno, "cut %s to its last whole %s", path,
                                  ret_recovery->record);
    }
    return 0;
}

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
