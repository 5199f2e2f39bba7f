/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The writer table: one format each, no policy. Queue, retry, rotation and loss accounting are
 * the sink's (sink.h), so that a new format is one small file. All functions of one instance
 * are called on that sink's thread, one at a time; they may block.
 */
#ifndef VAMP_WRITERS_WRITER_H
#define VAMP_WRITERS_WRITER_H

#include <stdint.h>

#include "vampire/core/err.h"
#include "vampire/core/opt.h"
#include "vampire/stats/bucket.h"

struct vamp_writer_target {
    const struct vamp_run *run;
    const struct vamp_schema *schema;
    const char *name;      /* the instance's name in the configuration */
    unsigned segment;      /* 1, 2, ...: the file of this run to open now */
    /* Slots to provide for each label set, in the schema's order: at least what exists now. */
    const unsigned *slots;
};

/* How a run ended; given to close. NULL: the file is only being rotated. */
struct vamp_ending {
    int64_t time_ns;
    const char *reason; /* "finished", "pool manager gone", "stopped by signal", ... */
    struct vamp_accounting accounting;
};

struct vamp_writer_ops {
    const char *name;               /* "hdf5", "jsonl", "null" */
    const char *summary;            /* one line for --help */
    const struct vamp_opt *options; /* fills a struct of options_bytes */
    size_t options_bytes;

    /* Creates the target. Never overwrites a file and follows no symbolic link at its last
     * component. On failure nothing is left open. 0 or -errno. Keeps pointers to `options`;
     * `target` itself is only valid during the call, what it points to longer than the writer. */
    int (*open)(const void *options, const struct vamp_writer_target *target, void **ret_self,
                struct vamp_err *err);
    /* Makes one bucket visible to readers and flushes it out of the process, all or nothing.
     * -ENOBUFS: a label set has outgrown its slots; nothing was written and the sink rotates.
     * Any other -errno: the file is finished; the sink closes it, keeps the bucket and opens the
     * next segment for it. */
    int (*write)(void *self, const struct vamp_bucket *bucket, struct vamp_err *err);
    /* Bytes in the target so far, for rotation; 0 when it makes no sense. */
    uint64_t (*bytes)(const void *self);
    /* The path or address people are told; valid until close. */
    const char *(*path)(const void *self);
    /* Completes and closes. NULL-safe in `self`. 0 or -errno: the target may miss data since the
     * last successful write. The object is gone either way. */
    int (*close)(void *self, const struct vamp_ending *ending, struct vamp_err *err);
};

extern const struct vamp_writer_ops vamp_writer_hdf5;
extern const struct vamp_writer_ops vamp_writer_jsonl;
extern const struct vamp_writer_ops vamp_writer_null;

#endif
