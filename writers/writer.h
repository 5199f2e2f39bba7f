/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The contract of a format: what a folder below writers/ implements. A format knows one target at a
 * time, a file or its readers, and has no policy: queue, segments, retries and the account are the
 * output's (writers/output/output.h), the same for every format. writers/null is the smallest.
 *
 * Threads. All functions of one instance are called by one thread at a time; they may block. Two
 * instances of one output can be open at once, in two cases:
 * - a rotation opens the next segment before it closes the present one, on one thread;
 * - a reload opens the new output's first segment on the thread of the pipeline while the output
 *   before it still writes, on its own thread.
 * Both have different segment numbers. A format whose target exists only once (a socket that it
 * listens on) opens without it in the second case, which it knows by a segment above 1, and takes
 * it over when the instance before has closed; until then it may return -EAGAIN from `write`, or
 * serve no readers. A format that answers requests (a listener) does so on a thread of its own
 * between open and close, from the last element that `write` passed to it; it neither calls back
 * nor delays `write`.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vampire/core/clock.h"
#include "vampire/core/err.h"
#include "vampire/core/options/options.h"
#include "vampire/stats/bucket/bucket.h"

/* What is passed to a format, one element at a time. */
enum vamp_element {
    VAMP_ELEMENT_BUCKET, /* `write_bucket` is set */
    VAMP_ELEMENT_EVENT,  /* `write_event` is set, and `repeat_event` */
};
#define VAMP_ELEMENT_COUNT 2

/* One bucket for one target, with what this target does not hold yet. Borrowed: valid during the
 * call. */
struct vamp_delivery {
    const struct vamp_bucket *bucket;
    /* Rows of the component table that this segment does not hold in their present state; all rows
     * for the first bucket of a segment. Use these, not the bucket's. */
    const struct vamp_component_row *components;
    unsigned component_count;
    /* Gaps not yet written, those of lost buckets included. Use these, not the bucket's. */
    const struct vamp_gap *gaps;
    unsigned gap_count;
    /* Buckets with the numbers just before this one that were lost since the last delivery. */
    uint64_t lost_before;
    /* For a format with `ranks`, with the bucket at whose end VAMP_RANKS_NS are over: what each
     * component counted in the time since the last of these, which is its start and width. */
    const struct vamp_bucket *ranks;
};
#define VAMP_RANKS_NS (20 * VAMP_NS_PER_SECOND)

/* Of a format of buckets with `flush`: it flushes them itself after so many in a replay, which can
 * be done again, and each one in a live run. */
#define VAMP_UNFLUSHED_MAX 16

/* Where a format writes; the conditions of `target` below are its values. */
enum vamp_target_kind {
    VAMP_TARGET_NEW_FILES, /* files in a directory, named by vampire */
    VAMP_TARGET_FILE,      /* a file with a name from the configuration */
    VAMP_TARGET_STDOUT,
    VAMP_TARGET_FIFO,
    VAMP_TARGET_DEVICE,
    VAMP_TARGET_UNIX, /* a socket that is a file */
    VAMP_TARGET_TCP,
};
/* Further conditions: what an output writes, and when. */
enum vamp_output_condition {
    VAMP_WITH_BUCKETS = VAMP_TARGET_TCP + 1, /* all, or "send": "buckets" */
    VAMP_WITH_ALARMS,                        /* "send": "alarms" */
    VAMP_WITH_WHEN,                          /* events, and only while an alarm fires */
};
#define VAMP_TARGET_BIT(kind) (UINT32_C(1) << (kind))
#define VAMP_TARGET_FILES                                                                          \
    (VAMP_TARGET_BIT(VAMP_TARGET_NEW_FILES) | VAMP_TARGET_BIT(VAMP_TARGET_FILE))
#define VAMP_TARGET_SOCKETS (VAMP_TARGET_BIT(VAMP_TARGET_UNIX) | VAMP_TARGET_BIT(VAMP_TARGET_TCP))

/* The words for these conditions, of formats with `target`, and of those with further ones. */
extern const char *const vamp_target_words[], *const vamp_output_condition_words[];

struct vamp_writer_target {
    const struct vamp_run *run;
    const struct vamp_schema *schema;
    const struct vamp_schema *ranks; /* of what deliveries have of ranks; NULL: nothing */
    const char *name;                /* the output's name in the configuration */
    const atomic_int *stop;          /* changes when the user asks vampire to end; NULL: never */
    unsigned segment;                /* 1, 2, ...: the file of this run to open now */
    uint64_t event_kinds;            /* bit per kind: no event of another kind will come */
    uint64_t events_before;          /* elements that the earlier segments hold, or lost */
    /* What will be written first, so that the target can be made large enough; NULL when nothing
     * is known yet, and always for events. */
    const struct vamp_delivery *first;
};

/* Labels that metrics keep, as an entry of the option "by". */
struct vamp_kept_labels {
    const char *metrics; /* a pattern of names; NULL ends a list */
    uint32_t labels;     /* bit per enum vamp_label; 0: none is kept */
};

/* How a run ended; passed to close. */
struct vamp_ending {
    int64_t time_ns;
    const char *reason; /* "finished", "pool manager gone", "stopped by signal", ... */
    bool completed;     /* the run is over, and the output was asked to complete it */
    int stop;           /* the target's `stop` when the run was over; not 0: a signal ended it */
    int64_t until_ns;   /* monotonic; by then what waits is written or given up */
    const struct vamp_bucket *ranks; /* as in a delivery, up to the last bucket; NULL: nothing */
    struct vamp_accounting accounting;
};

/* What a killed run left in a file, and what was done about it. */
struct vamp_recovery {
    uint64_t records;   /* whole ones in the file */
    const char *record; /* what they are: "bucket", "line", "message" */
    bool damaged;       /* there was something to do; in a dry run: there is */
    char what[128];     /* what that was */
};

/* Files of this format that a run left. */
struct vamp_file_ops {
    const char *mark; /* how a file of this format begins; NULL: is_own knows it */
    /* Whether a file with these first bytes is of this format. */
    bool (*is_own)(const uint8_t *begin, size_t bytes);
    /* Cuts an incomplete record off the end, never a whole one; resets what keeps other programs
     * from opening the file. `fd` is open and locked, for writing unless `dry_run`, when nothing is
     * changed. 0; -EBADMSG: it is damaged elsewhere, and was left as it is; another -errno. */
    int (*recover)(int fd, const char *path, bool dry_run, struct vamp_recovery *ret_recovery,
                   struct vamp_err *err);
};

struct vamp_writer_ops {
    const char *name;               /* "hdf5", "jsonl", "recording", "trace", ... */
    const char *summary;            /* one line for --help */
    const struct vamp_opt *options; /* fills a struct of options_bytes; ends with a NULL key */
    size_t options_bytes;           /* may be 0 */
    enum vamp_element element;

    /* Exactly one holds: the bit of the enum vamp_target_kind that the options mean. Options of the
     * table, and those of "rotate", depend on it. Looks at what has the name now. NULL: always
     * VAMP_TARGET_NEW_FILES, or nothing is written. */
    uint32_t (*target)(const void *options);
    /* NULL, or: the option "by" of an output that has neither "by" nor "without", except to a FIFO,
     * a device, a socket or standard output, whose reader may want all. Other outputs keep all
     * labels by default. */
    const struct vamp_kept_labels *by_unset;
    /* Or: the option "without" of such an output, bit per enum vamp_label; 0: none. */
    uint32_t without_unset;
    /* NULL, or: metrics, ended by NULL, that a delivery has by component where the output's labels
     * do not tell components apart but the statistics do. */
    const char *const *ranks;
    /* The option "budget" of an output that does not set it: lines, 0: any. */
    uint64_t budget_unset;
    /* 0, or: where in the options a struct vamp_sent_alarms is, which chooses between buckets and
     * changes of alarms (writers/format/sent_alarms.h). With the latter, `write_bucket` sends
     * nothing but them. */
    size_t alarms_at;
    /* NULL, or: whether the options name a possible address, of which it looks at the text only,
     * and what they need is installed. 0, or -EINVAL or -ENAMETOOLONG with the key of the option
     * that is wrong, and what is wrong and allowed. */
    int (*check)(const void *options, const char **ret_key, struct vamp_err *err);
    /* The functions below are those of a plug-in (vamp_writer_load); here they are NULL. */
    bool plug_in;

    /* Creates the target. Never overwrites a file and follows no symbolic link at its last
     * component. On failure nothing is left open and no file is left behind. Keeps pointers to
     * `options`; `target` is only valid during the call, but run, schema, name and stop live longer
     * than the instance. 0; or -EEXIST: the name is taken. For a run's first segment the user has
     * to solve that, and vampire does not start; for a later one the output tries the next segment
     * numbers, since a file of another program, or of the output before a reload, may have this
     * one. Another -errno: the output tries again, with pauses. */
    int (*open)(const void *options, const struct vamp_writer_target *target, void **ret_self,
                struct vamp_err *err);
    /* Takes one element, all or nothing. Without a `flush` the element is then in the target:
     * visible to readers and out of the process. 0; or
     * -ENOBUFS: a bucket does not fit this target (more series than it has room for). Nothing was
     *   written; the output closes this target and opens the next segment for the bucket.
     * -EAGAIN: not now (no space left, a reader that does not read). The target is intact; the
     *   output calls again with the same element, or gives up and calls close. Returned within
     *   about a second, so that the output can decide. Without a text there is nothing to report.
     * -EBADMSG: the target is intact, but refuses this very element, and would again. The element
     *   is lost; the next one follows.
     * Any other -errno: the target is finished, but all that it had written is in it. The output
     *   closes it, keeps the element and opens the next segment for it. */
    int (*write_bucket)(void *self, const struct vamp_delivery *delivery, struct vamp_err *err);
    int (*write_event)(void *self, const struct vamp_event *event, struct vamp_err *err);
    /* Takes an event of an earlier segment again, for readers of this segment alone; no account
     * counts it. Only before the first event. As `write_event`. */
    int (*repeat_event)(void *self, const struct vamp_event *event, struct vamp_err *err);
    /* NULL, or: hands all elements taken so far to the operating system. 0; -errno: the target is
     * finished, and the elements taken but not `written` are lost. */
    int (*flush)(void *self, struct vamp_err *err);
    /* Of a format with `flush`: elements in the target; also after a failure. */
    uint64_t (*written)(const void *self);
    /* Bytes in the target so far, for rotation. NULL: no files, and no option "rotate". */
    uint64_t (*bytes)(const void *self);
    /* NULL, or: parts that a bound of the format kept out of the target although their elements
     * were taken; `*ret_what` says which, in the plural. Called once, right before `written` is
     * asked for the last time and close: no element follows, so the format may complete its
     * target here. */
    uint64_t (*left_out)(void *self, const char **ret_what);
    /* The path or address for messages; valid until close. */
    const char *(*path)(const void *self);
    /* NULL, or: something the operator should know that is no failure of the target, such as one of
     * several readers that does not read. True once for each such fact. */
    bool (*remark)(void *self, char text[static VAMP_ERR_TEXT_BYTES]);
    /* NULL: each series is a line of the budget. Or: how many a series of the metric is at most. */
    unsigned (*lines)(const void *options, const struct vamp_metric *metric,
                      const struct vamp_bins *bins);
    /* NULL, or: time in ns for which `close` may keep the target open for readers when the run was
     * completed. Outputs that do so are closed after all others. */
    int64_t (*linger_ns)(const void *options);
    /* Completes and closes. `ending` NULL: the run goes on in another segment. A target that failed
     * before its first element is removed. 0 or -errno: the target may lack its end. The object is
     * gone either way. */
    int (*close)(void *self, const struct vamp_ending *ending, struct vamp_err *err);
    /* NULL: a run leaves no files. */
    const struct vamp_file_ops *files;
};

extern const struct vamp_writer_ops vamp_writer_hdf5;
extern const struct vamp_writer_ops vamp_writer_jsonl;
extern const struct vamp_writer_ops vamp_writer_recording;
extern const struct vamp_writer_ops vamp_writer_trace;
extern const struct vamp_writer_ops vamp_writer_null;
extern const struct vamp_writer_ops vamp_writer_prometheus;
extern const struct vamp_writer_ops vamp_writer_otlp;
extern const struct vamp_writer_ops vamp_writer_influx;
extern const struct vamp_writer_ops vamp_writer_syslog;
extern const struct vamp_writer_ops vamp_writer_nats;

/* Every format, ended by NULL: the only list of them. */
extern const struct vamp_writer_ops *const vamp_writers[];
/* NULL when there is none with this name. */
const struct vamp_writer_ops *vamp_writer_find(const char *name);

/* A format whose library a site may lack, or that a run without it should not load: its name and
 * options are in the program (writers/NAME/table.c), its functions in the shared object
 * lib/vampire/NAME.so, which has one symbol, vamp_writer_plug_in. */
struct vamp_writer_plug_in {
    const char *version;                     /* VAMP_VERSION of the build */
    const struct vamp_writer_ops *functions; /* name, element and functions; no options */
    void (*share)(const struct vamp_metric *metrics, unsigned count,
                  const char *const *label_words); /* vamp_metrics_share */
};

/* Loads `symbol` of the plug-in `name`, lib/vampire/NAME.so, for what it does (`purpose`, of the
 * message: "writes ..."). 0; -ELIBACC, -ELIBBAD: see vampire/core/module.h, with where the plug-in
 * comes from. */
VAMP_MUST_CHECK int vamp_plug_in_load(const char *name, const char *symbol, const char *purpose,
                                      const void **ret_symbol, struct vamp_err *err);

/* What writes OTF2 for the format trace, a struct vamp_trace_sink_ops. Results as of
 * vamp_plug_in_load. */
VAMP_MUST_CHECK int vamp_otf2_load(const void **ret_sink, struct vamp_err *err);

/* The functions of a format: those of a plug-in are loaded, once for a process; others are in
 * `format`. Results as of vamp_plug_in_load. */
VAMP_MUST_CHECK int vamp_writer_load(const struct vamp_writer_ops *format,
                                     const struct vamp_writer_ops **ret_functions,
                                     struct vamp_err *err);
/* The plug-in that a format has, loaded: its name, which is constant, or NULL if it has none.
 * Results as of vamp_plug_in_load. */
VAMP_MUST_CHECK int vamp_plug_in_of(const struct vamp_writer_ops *format, const char **ret_name,
                                    struct vamp_err *err);

/* Repairs a file that a killed run left (vampire --recover), of the format that its first bytes
 * say. An incomplete record is cut off the end; HDF5 files are changed so that they open normally.
 * No whole record is removed, a file that another process writes is not touched, and a file that is
 * damaged in another way is left as it is. 0; -EBUSY: another process writes it; -EBADMSG: it is no
 * file of vampire, or is damaged; another -errno. */
VAMP_MUST_CHECK int vamp_recover_file(const char *path, bool dry_run,
                                      struct vamp_recovery *ret_recovery, struct vamp_err *err);
