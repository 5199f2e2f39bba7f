/* SPDX-License-Identifier: BSD-3-Clause */
/* Repairs JSON lines that a killed run left: cuts them after the last newline. */
#include <string.h>
#include <unistd.h>

#include "writers/format/cut.h"
#include "writers/jsonl/internal.h"

#define BLOCK_BYTES ((size_t)64 * 1024)

static bool is_own(const uint8_t *begin, size_t bytes)
{
    static const char mark[] = "{\"v\":";
    return bytes >= sizeof mark - 1 && memcmp(begin, mark, sizeof mark - 1) == 0;
}

/* Whole lines, and the bytes they take. */
static int measure(int fd, const char *path, uint64_t *ret_lines, uint64_t *ret_bytes,
                   struct vamp_err *err)
{
    char block[BLOCK_BYTES];
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

static int recover(int fd, const char *path, bool dry_run, struct vamp_recovery *ret_recovery,
                   struct vamp_err *err)
{
    uint64_t whole = 0;
    ret_recovery->record = "line";
    int code = measure(fd, path, &ret_recovery->records, &whole, err);
    const struct vamp_recover_cut cut = {
        .whole_bytes = whole, .record_bytes_max = VAMP_JSON_LINE_BYTES, .dry_run = dry_run};
    return code != 0 ? code : vamp_recover_cut(fd, path, &cut, ret_recovery, err);
}

const struct vamp_file_ops jsonl_files = {
    .is_own = is_own, .recover = recover, .read = jsonl_read_run};
