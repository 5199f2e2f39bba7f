/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The writer table: one format each, no policy. Queue, retry, rotation and loss accounting are
 * the sink's (sink.h), so that a new format is one small file; null_writer.c is the smallest.
 * All functions of one instance are called by one thread at a time; they may block.
 */
#ifndef VAMP_WRITERS_WRITER_H
#define VAMP_WRITERS_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "vampire/core/err.h"
#include "vampire/core/opt.h"
#include "vampire/stats/bucket.h"

/* One bucket as it goes to one target, with what this target has not been told before. Borrowed:
 * valid during the call. */
struct vamp_delivery {
    const struct vamp_bucket *bucket;
    /* Rows of the component table this segment does not hold in their present state; all rows
     * for the first bucket of a segment. Use these, not the bucket's. */
    const struct vamp_component_row *components;
    unsigned component_count;
    /* Gaps not yet written, those of lost buckets included. Use these, not the bucket's. */
    const struct vamp_gap *gaps;
    unsigned gap_count;
    /* Buckets with the numbers just before this one that the sink lost since the last delivery. */
    uint64_t lost_before;
};

struct vamp_writer_target {
    const struct vamp_run *run;
    const struct vamp_schema *schema;
    const char *name;       /* the instance's name in the configuration */
    unsigned segment;       /* 1, 2, ...: the file of this run to open now */
    uint64_t event_kinds;   /* of a format of events: bit per kind, no other one will come */
    uint64_t events_before; /* of a format of events: how many the earlier segments hold */
    /* What will be written first, so that the target can be made large enough; NULL when nothing
     * is known yet. */
    const struct vamp_delivery *first;
};

/* How a run ended; given to close. */
struct vamp_ending {
    int64_t time_ns;
    const char *reason; /* "finished", "pool manager gone", "stopped by signal", ... */
    struct vamp_accounting accounting;
};

/* What a format of single events, not of buckets, can do (event_sink.h). */
struct vamp_event_format {
    /* Room for events that wait, from the options. */
    size_t (*buffer_bytes)(const void *options);
    /* Whether an event is to be recorded; any thread. Marks always are. */
    bool (*wants)(const void *options, const struct vamp_event *event, bool passed);
    /* Takes an event or a mark. 0 or -errno: the target is finished, but what was flushed before is
     * in it; every later call fails too. */
    int (*record)(void *self, const struct vamp_event *event, struct vamp_err *err);
    /* Takes an event of an earlier segment once more, for those who read this one alone; it counts
     * nowhere. Only before the first event. 0 or -errno as above. */
    int (*carry)(void *self, const struct vamp_event *event, struct vamp_err *err);
    /* Hands everything taken so far to the operating system. 0 or -errno as above. */
    int (*flush)(void *self, struct vamp_err *err);
    /* Events in the target, and events taken that will never be there. */
    void (*account)(const void *self, uint64_t *ret_written, uint64_t *ret_lost);
};

/* What a killed run left in a file, and what was done about it. */
struct vamp_recovery {
    uint64_t records;   /* whole ones in the file */
    const char *record; /* what they are: "bucket", "line", "message" */
    bool damaged;       /* there was something to do; in a dry run: there is */
    char what[128];     /* what that was */
};

/* Making a file whole that a killed run left. */
struct vamp_recovery_ops {
    /* Whether a file that begins so is of this format. */
    bool (*is_own)(const uint8_t *begin, size_t bytes);
    /* Takes from the end what is not a whole record, and no whole record; sets what keeps other
     * programs from opening the file right. `fd` is open and locked, for writing unless
     * `dry_run`, when nothing is changed. 0; -EBADMSG: it is damaged elsewhere, and was left as it
     * is; another -errno. */
    int (*recover)(int fd, const char *path, bool dry_run, struct vamp_recovery *ret_recovery,
                   struct vamp_err *err);
};

struct vamp_writer_ops {
    const char *name;               /* "hdf5", "jsonl", "recording", "null" */
    const char *summary;            /* one line for --help */
    const struct vamp_opt *options; /* fills a struct of options_bytes; ends with a NULL key */
    size_t options_bytes;           /* may be 0 */

    /* Creates the target. Never overwrites a file and follows no symbolic link at its last
     * component. On failure nothing is left open and no file is left behind. 0 or -errno. Keeps
     * pointers to `options`; `target` is only valid during the call, but run, schema and name
     * live longer than the writer. */
    int (*open)(const void *options, const struct vamp_writer_target *target, void **ret_self,
                struct vamp_err *err);
    /* Not NULL: a format of events; `write` is NULL. */
    const struct vamp_event_format *events;
    /* NULL: a killed run leaves nothing that could be made whole (recover.h). */
    const struct vamp_recovery_ops *recovery;
    /* Makes one bucket visible to readers and flushes it out of the process, all or nothing.
     * 0; or
     * -ENOBUFS: the bucket does not fit this target (more series than it has room for). Nothing
     *   was written; the sink closes this target and opens the next segment for the bucket.
     * -EAGAIN: not now (no space left, a reader that does not read). The target is intact; the
     *   sink calls again with the same delivery, or gives up and calls close. Returned within a
     *   second or so, so that the sink stays in charge.
     * Any other -errno: the target is finished, but all earlier buckets are in it. The sink
     *   closes it, keeps the bucket and opens the next segment for it. */
    int (*write)(void *self, const struct vamp_delivery *delivery, struct vamp_err *err);
    /* Bytes in the target so far, for rotation; 0 when that makes no sense. */
    uint64_t (*bytes)(const void *self);
    /* The path or address people are told; valid until close. */
    const char *(*path)(const void *self);
    /* NULL, or: something a person should know and no failure of the target, such as a reader among
     * others that does not read. True once for each piece of news. */
    bool (*remark)(void *self, char text[static VAMP_ERR_TEXT_BYTES]);
    /* Completes and closes. `ending` NULL: the run goes on in another segment. NULL-safe in
     * `self`. A target that failed before its first bucket is removed. 0 or -errno: the target
     * may lack what was written since the last successful write. The object is gone either way. */
    int (*close)(void *self, const struct vamp_ending *ending, struct vamp_err *err);
};

extern const struct vamp_writer_ops vamp_writer_hdf5;
extern const struct vamp_writer_ops vamp_writer_jsonl;
extern const struct vamp_writer_ops vamp_writer_recording;
extern const struct vamp_writer_ops vamp_writer_null;

/* Every writer, ended by NULL: the only list of them. */
extern const struct vamp_writer_ops *const vamp_writers[];
/* NULL when there is none with this name. */
const struct vamp_writer_ops *vamp_writer_find(const char *name);

#endif
