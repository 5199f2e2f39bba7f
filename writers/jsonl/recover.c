/* SPDX-License-Identifier: BSD-3-Clause */
/* Repairs JSON lines that a killed run left: cuts them after the last newline. */
#include <string.h>

#include "writers/format/cut.h"
#include "writers/jsonl/internal.h"

static bool is_own(const uint8_t *begin, size_t bytes)
{
    static const char mark[] = "{\"v\":";
    return bytes >= sizeof mark - 1 && memcmp(begin, mark, sizeof mark - 1) == 0;
}

static int recover(int fd, const char *path, bool dry_run, struct vamp_recovery *ret_recovery,
                   struct vamp_err *err)
{
    return vamp_recover_lines(fd, path, VAMP_JSON_LINE_BYTES, dry_run, ret_recovery, err);
}

const struct vamp_file_ops jsonl_files = {.is_own = is_own, .recover = recover};
