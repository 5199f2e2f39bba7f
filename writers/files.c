/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "writers/format/file.h"

#define BEGIN_BYTES 64

static const struct vamp_file_ops *find_format(int fd)
{
    uint8_t begin[BEGIN_BYTES];
    const ssize_t bytes = pread(fd, begin, sizeof begin, 0);
    for (unsigned i = 0; bytes > 0 && vamp_writers[i] != NULL; i++) {
        const struct vamp_file_ops *format = vamp_writers[i]->files;
        if (format != NULL && format->is_own(begin, (size_t)bytes)) {
            return format;
        }
    }
    return NULL;
}

static int check_regular(int fd, const char *path, struct vamp_err *err)
{
    struct stat status;
    if (fstat(fd, &status) != 0) {
        return vamp_err_set_errno(err, errno, "look at %s", path);
    }
    return S_ISREG(status.st_mode) ? 0 : vamp_err_set(err, -EBADMSG, "%s is not a file", path);
}

static int find_own(int fd, const char *path, const struct vamp_file_ops **ret_format,
                    struct vamp_err *err)
{
    *ret_format = find_format(fd);
    return *ret_format != NULL
               ? 0
               : vamp_err_set(err, -EBADMSG,
                              "%s is neither an HDF5 file, nor JSON lines, a recording or a trace",
                              path);
}

/* Not blocking: it may be a FIFO. */
static int open_file(const char *path, int access, struct vamp_err *err)
{
    int fd = open(path, access | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0) {
        return fd;
    }
    return errno == ELOOP
               ? vamp_err_set(err, -ELOOP, "%s is a symbolic link; give the file's own name", path)
               : vamp_err_set_errno(err, errno, "open %s", path);
}

static int recover(int fd, const char *path, bool dry_run, struct vamp_recovery *ret_recovery,
                   struct vamp_err *err)
{
    const struct vamp_file_ops *format = NULL;
    int code = check_regular(fd, path, err);
    if (code == 0 && !vamp_target_lock(fd, dry_run)) {
        code = vamp_err_set(err, -EBUSY,
                            "%s is being written; nothing is wrong with it as long as its vampire "
                            "runs",
                            path);
    }
    code = code != 0 ? code : find_own(fd, path, &format, err);
    return code != 0 ? code : format->recover(fd, path, dry_run, ret_recovery, err);
}

int vamp_recover_file(const char *path, bool dry_run, struct vamp_recovery *ret_recovery,
                      struct vamp_err *err)
{
    *ret_recovery = (struct vamp_recovery){.record = "record"};
    int fd = open_file(path, (dry_run ? O_RDONLY : O_RDWR) | O_NOFOLLOW, err);
    if (fd < 0) {
        return fd;
    }
    int code = recover(fd, path, dry_run, ret_recovery, err);
    (void)close(fd);
    return code;
}

static int read_run(int fd, const char *path, struct vamp_run_file *file, bool *ret_is_written,
                    struct vamp_err *err)
{
    const struct vamp_file_ops *format = NULL;
    int code = check_regular(fd, path, err);
    code = code != 0 ? code : find_own(fd, path, &format, err);
    if (code != 0) {
        return code;
    }
    if (format->read == NULL) {
        return vamp_err_set(err, -EBADMSG,
                            "%s is a recording, which has events instead of counts; vampire "
                            "--replay %s counts them and prints the summary",
                            path, path);
    }
    *ret_is_written = !vamp_target_lock(fd, true);
    return format->read(fd, path, file, err);
}

int vamp_read_run_file(const char *path, struct vamp_run_file **ret_file, bool *ret_is_written,
                       struct vamp_err *err)
{
    int fd = open_file(path, O_RDONLY, err);
    if (fd < 0) {
        return fd;
    }
    struct vamp_run_file *file = vamp_run_file_create();
    int code = file == NULL ? vamp_err_set_errno(err, ENOMEM, "read %s", path)
                            : read_run(fd, path, file, ret_is_written, err);
    (void)close(fd);
    if (code != 0) {
        vamp_run_file_free(file);
        return code;
    }
    *ret_file = file;
    return 0;
}
