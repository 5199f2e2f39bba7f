/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/format/cut.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vampire/core/json_emit.h"
#include "vampire/core/values.h"

#define BLOCK_BYTES 4096
#define LINES_BLOCK_BYTES ((size_t)64 * 1024)

/* After a crash of the machine, zeros can follow the data that was written to a file. */
static bool only_zeros(int fd, uint64_t from, uint64_t to)
{
    char block[BLOCK_BYTES];
    while (from < to) {
        size_t wanted = sizeof block;
        if (to - from < sizeof block) {
            wanted = (size_t)(to - from);
        }
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
        return vamp_err_set_errno(err, errno, "inspect %s", path);
    }
    const uint64_t size = (uint64_t)status.st_size;
    const uint64_t torn = vamp_minus(size, cut->whole_bytes);
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
        return vamp_err_set_errno(err, errno, "truncate %s after its last whole %s", path,
                                  ret_recovery->record);
    }
    return 0;
}

/* Counts the complete lines and their total size. */
static int measure_lines(int fd, const char *path, uint64_t *ret_lines, uint64_t *ret_bytes,
                         struct vamp_err *err)
{
    char block[LINES_BLOCK_BYTES];
    *ret_lines = *ret_bytes = 0;
    for (uint64_t offset = 0;;) {
        const ssize_t got = pread(fd, block, sizeof block, (off_t)offset);
        if (got < 0) {
            return vamp_err_set_errno(err, errno, "read %s", path);
        }
        if (got == 0) {
            return 0;
        }
        for (ssize_t i = 0; i < got; i++) {
            if (block[i] == '\n') {
                *ret_lines += 1;
                *ret_bytes = offset + (uint64_t)i + 1;
            }
        }
        offset += (uint64_t)got;
    }
}

int vamp_recover_lines(int fd, const char *path, bool dry_run, struct vamp_recovery *ret_recovery,
                       struct vamp_err *err)
{
    uint64_t whole = 0;
    ret_recovery->record = "line";
    const int code = measure_lines(fd, path, &ret_recovery->records, &whole, err);
    const struct vamp_recover_cut cut = {
        .whole_bytes = whole, .record_bytes_max = VAMP_JSON_LINE_BYTES, .dry_run = dry_run};
    if (code != 0) {
        return code;
    }
    return vamp_recover_cut(fd, path, &cut, ret_recovery, err);
}
