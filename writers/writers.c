/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/writer.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "writers/format/file.h"

#define BEGIN_BYTES 64 /* length of the prefix of a file that identifies its format */

const struct vamp_writer_ops *const vamp_writers[] = {
    &vamp_writer_hdf5,
    &vamp_writer_jsonl,
    &vamp_writer_recording,
    &vamp_writer_trace,
    &vamp_writer_null,
    &vamp_writer_prometheus,
    &vamp_writer_otlp,
    &vamp_writer_influx,
    &vamp_writer_syslog,
    &vamp_writer_nats,
    NULL,
};

const char *const vamp_target_words[] = {
    [VAMP_TARGET_NEW_FILES] = "files named by vampire (no \"path\")",
    [VAMP_TARGET_FILE] = "a regular file at \"path\"",
    [VAMP_TARGET_STDOUT] = "standard output",
    [VAMP_TARGET_FIFO] = "a FIFO",
    [VAMP_TARGET_DEVICE] = "a device",
    [VAMP_TARGET_UNIX] = "a Unix socket",
    [VAMP_TARGET_TCP] = "a TCP socket",
    [VAMP_WITH_BUCKETS] = "",
    NULL,
};

const char *const vamp_output_condition_words[] = {
    [VAMP_TARGET_NEW_FILES] = "",
    [VAMP_TARGET_FILE] = "",
    [VAMP_TARGET_STDOUT] = "",
    [VAMP_TARGET_FIFO] = "",
    [VAMP_TARGET_DEVICE] = "",
    [VAMP_TARGET_UNIX] = "",
    [VAMP_TARGET_TCP] = "",
    [VAMP_WITH_BUCKETS] = "\"send\": \"buckets\"",
    [VAMP_WITH_ALARMS] = "\"send\": \"alarms\"",
    [VAMP_WITH_WHEN] = "\"when\"",
    NULL,
};

const struct vamp_writer_ops *vamp_writer_find(const char *name)
{
    for (const struct vamp_writer_ops *const *each = vamp_writers; *each != NULL; each++) {
        if (strcmp((*each)->name, name) == 0) {
            return *each;
        }
    }
    return NULL;
}

int vamp_writer_load(const struct vamp_writer_ops *format,
                     const struct vamp_writer_ops **ret_functions, struct vamp_err *err)
{
    if (!format->plug_in) {
        *ret_functions = format;
        return 0;
    }
    char purpose[64];
    (void)snprintf(purpose, sizeof purpose, "has outputs of type \"%s\"", format->name);
    const void *symbol = NULL;
    const int code = vamp_plug_in_load(format->name, "vamp_writer_plug_in", purpose, &symbol, err);
    if (code == 0) {
        const struct vamp_writer_plug_in *plug_in = symbol;
        plug_in->share(vamp_metrics, vamp_metric_count(), vamp_label_words);
        *ret_functions = plug_in->functions;
    }
    return code;
}

int vamp_plug_in_of(const struct vamp_writer_ops *format, const char **ret_name,
                    struct vamp_err *err)
{
    if (format == &vamp_writer_trace) { /* the format is built in, except for its OTF2 sink */
        const void *sink = NULL;
        *ret_name = "otf2";
        return vamp_otf2_load(&sink, err);
    }
    const struct vamp_writer_ops *functions = NULL;
    *ret_name = NULL;
    if (format->plug_in) {
        *ret_name = format->name;
    }
    return vamp_writer_load(format, &functions, err);
}

static bool is_own(const struct vamp_file_ops *files, const uint8_t *begin, size_t bytes)
{
    if (files->mark == NULL) {
        return files->is_own(begin, bytes);
    }
    const size_t mark = strlen(files->mark);
    return bytes >= mark && memcmp(begin, files->mark, mark) == 0;
}

/* Returns the functions for files of the format that the first bytes identify; NULL: none. */
static const struct vamp_file_ops *find_files(int fd)
{
    uint8_t begin[BEGIN_BYTES];
    const ssize_t bytes = pread(fd, begin, sizeof begin, 0);
    for (unsigned i = 0; bytes > 0 && vamp_writers[i] != NULL; i++) {
        const struct vamp_file_ops *files = vamp_writers[i]->files;
        if (files != NULL && is_own(files, begin, (size_t)bytes)) {
            return files;
        }
    }
    return NULL;
}

/* Without locks, a file that was written more recently than this many seconds ago may still be
 * written. */
#define QUIET_S 600

/* Repairs an open file of any format. Results as for vamp_recover_file. */
static int recover(int fd, const char *path, bool dry_run, struct vamp_recovery *ret_recovery,
                   struct vamp_err *err)
{
    struct stat status;
    if (fstat(fd, &status) != 0) {
        return vamp_err_set_errno(err, errno, "inspect %s", path);
    }
    if (!S_ISREG(status.st_mode)) {
        return vamp_err_set(err, -EBADMSG, "%s is not a file", path);
    }
    const int lock = vamp_target_lock(fd, dry_run);
    if (lock == -ENOLCK && !dry_run && time(NULL) - status.st_mtime < QUIET_S) {
        return vamp_err_set(err, -EBUSY,
                            "%s was written less than %d s ago, and its file system has no locks "
                            "that would show whether a vampire still writes it; try again later",
                            path, QUIET_S);
    }
    if (lock == -EBUSY) {
        return vamp_err_set(err, -EBUSY,
                            "%s is being written; nothing is wrong with it as long as its vampire "
                            "runs",
                            path);
    }
    const size_t length = strlen(path), mark = strlen(VAMP_TARGET_UNPUBLISHED);
    if (length > mark && strcmp(path + length - mark, VAMP_TARGET_UNPUBLISHED) == 0) {
        return vamp_err_set(err, -EBADMSG,
                            "%s was being made when vampire was killed, and holds nothing: it can "
                            "be deleted",
                            path);
    }
    const struct vamp_file_ops *files = find_files(fd);
    if (files == NULL) {
        return vamp_err_set(err, -EINVAL,
                            "%s is neither an HDF5 file, nor JSON lines, a recording or a trace",
                            path);
    }
    return files->recover(fd, path, dry_run, ret_recovery, err);
}

int vamp_recover_file(const char *path, bool dry_run, struct vamp_recovery *ret_recovery,
                      struct vamp_err *err)
{
    *ret_recovery = (struct vamp_recovery){.record = "record"};
    /* Non-blocking, since it may be a FIFO. */
    const int mode = dry_run ? O_RDONLY : O_RDWR;
    int fd = open(path, mode | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 && errno == ELOOP) {
        return vamp_err_set(err, -ELOOP, "%s is a symbolic link; give the file's own name", path);
    }
    if (fd < 0) {
        return vamp_err_set_errno(err, errno, "open %s", path);
    }
    int code = recover(fd, path, dry_run, ret_recovery, err);
    (void)close(fd);
    return code;
}
