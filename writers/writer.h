/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The interface of a format, implemented by the folders below writers/. A format has one target at
 * a time (a file or its readers) and no policy: the output (writers/output/output.h) provides the
 * queue, segments, retries and accounting for all formats. writers/null is the smallest format.
 *
 * Threads. All functions of one instance are called by one thread at a time and may block. Two
 * instances of one output can be open at the same time, in two cases:
 * - A rotation opens the next segment before it closes the current one, on the same thread.
 * - A reload opens the first segment of the new output on the pipeline thread, while the previous
 *   output still writes on its own thread.
 * The two instances have different segment numbers. A format whose target can exist only once (a
 * listening socket) opens without it in the second case, in which the segment number is above 1,
 * and acquires the target after the previous instance has closed it. Until then it may return
 * -EAGAIN when an element is written, or serve no readers. A format that answers requests (a
 * listener) uses a separate thread from `open` to `close` and answers with the last element
 * written; that thread never calls the output and never delays writing.
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

/* The kind of elements that a format accepts, one at a time. */
enum vamp_element {
    VAMP_ELEMENT_BUCKET, /* the format has `write_bucket` */
    VAMP_ELEMENT_EVENT,  /* the format has `write_event` and `repeat_event` */
};
#define VAMP_ELEMENT_COUNT 2

/* A bucket, with all other data that the target lacks. Borrowed: valid during the call. */
struct vamp_delivery {
    const struct vamp_bucket *bucket;
    /* Rows of the component table that have changed since they were written to this segment; all
     * rows for the first bucket of a segment. Use these, not the bucket's. */
    const struct vamp_component_row *components;
    unsigned component_count;
    /* Gaps not yet written, including those of lost buckets. Use these, not the bucket's. */
    const struct vamp_gap *gaps;
    unsigned gap_count;
    /* Number of buckets lost directly before this one, since the last delivery. */
    uint64_t lost_before;
    /* For a format with `ranks`, once every VAMP_RANKS_NS: the counts by component since the
     * previous ones, with their own start and width. Else NULL. */
    const struct vamp_bucket *ranks;
};
#define VAMP_RANKS_NS (20 * VAMP_NS_PER_SECOND)

/* A format of buckets with `flush` flushes after at most this many buckets in a replay, which can
 * be repeated, and after each bucket in a live run. */
#define VAMP_UNFLUSHED_MAX 16

/* The kind of target of a format; also the conditions for options (`target` below). */
enum vamp_target_kind {
    VAMP_TARGET_NEW_FILES, /* files in a directory, named by vampire */
    VAMP_TARGET_FILE,      /* a file with a name from the configuration */
    VAMP_TARGET_STDOUT,
    VAMP_TARGET_FIFO,
    VAMP_TARGET_DEVICE,
    VAMP_TARGET_UNIX, /* a socket that is a file */
    VAMP_TARGET_TCP,
};
/* Further conditions: the elements that an output writes, and when. */
enum vamp_output_condition {
    VAMP_WITH_BUCKETS = VAMP_TARGET_TCP + 1, /* all buckets, or "send": "buckets" */
    VAMP_WITH_ALARMS,                        /* "send": "alarms" */
    VAMP_WITH_WHEN,                          /* events, written only while an alarm fires */
};
#define VAMP_TARGET_BIT(kind) (UINT32_C(1) << (kind))
#define VAMP_TARGET_FILES                                                                          \
    (VAMP_TARGET_BIT(VAMP_TARGET_NEW_FILES) | VAMP_TARGET_BIT(VAMP_TARGET_FILE))
#define VAMP_TARGET_SOCKETS (VAMP_TARGET_BIT(VAMP_TARGET_UNIX) | VAMP_TARGET_BIT(VAMP_TARGET_TCP))

/* Names of the conditions for messages, NULL-terminated: of enum vamp_target_kind, and of enum
 * vamp_output_condition. Each array is indexed by the condition, and has "" for conditions of the
 * other enum. */
extern const char *const vamp_target_words[], *const vamp_output_condition_words[];

struct vamp_writer_target {
    const struct vamp_run *run;
    const struct vamp_schema *schema;
    /* Schema of `ranks` in deliveries; NULL: the deliveries have no ranks. */
    const struct vamp_schema *ranks;
    const char *name;       /* the output's name in the configuration */
    const atomic_int *stop; /* becomes nonzero when the user stops vampire; NULL: never */
    unsigned segment;       /* number of the file to open in this run, from 1 */
    uint64_t event_kinds;   /* bit per kind: events of other kinds do not occur */
    uint64_t events_before; /* number of elements in earlier segments, or lost */
    /* The first bucket, from which the size of the target is computed; NULL if there is none yet,
     * and for events. */
    const struct vamp_delivery *first;
};

/* Labels that metrics keep: an entry of the default of the option "by". */
struct vamp_kept_labels {
    const char *metrics; /* a glob pattern of metric names; NULL ends a list */
    uint32_t labels;     /* bit per enum vamp_label; 0: none is kept */
};

/* How a run ended; passed to close. */
struct vamp_ending {
    int64_t time_ns;
    const char *reason; /* "finished", "pool manager gone", "stopped by signal", ... */
    bool completed;     /* the run has ended, and its output must be completed */
    /* Value of the target's `stop` at the end of the run; nonzero: ended by a signal. */
    int stop;
    int64_t until_ns;                /* monotonic deadline for queued elements */
    const struct vamp_bucket *ranks; /* as in a delivery, up to the last bucket; NULL: no ranks */
    struct vamp_accounting accounting;
};

/* The result of repairing a file. */
struct vamp_recovery {
    uint64_t records;   /* number of complete records in the file */
    const char *record; /* name of a record: "bucket", "line", "message" */
    bool damaged;       /* the file was (in a dry run: must be) repaired */
    char what[128];     /* description of the damage */
};

/* Repair of files of this format after a killed run. */
struct vamp_file_ops {
    const char *mark; /* the first bytes of a file of this format; NULL: use is_own */
    /* Whether a file with these first bytes has this format. */
    bool (*is_own)(const uint8_t *begin, size_t bytes);
    /* Removes an incomplete record from the end, never a complete one, and everything that prevents
     * other programs from opening the file. `fd` is open and locked, for writing unless `dry_run`,
     * which changes nothing. Returns 0; -EBADMSG if it is damaged elsewhere, in which case it is
     * unchanged; or another -errno. */
    int (*recover)(int fd, const char *path, bool dry_run, struct vamp_recovery *ret_recovery,
                   struct vamp_err *err);
};

struct vamp_writer_ops {
    const char *name;    /* "hdf5", "jsonl", "recording", "trace", ... */
    const char *summary; /* one line for --help */
    /* Fills a struct of `options_bytes` bytes; ended by a NULL key. */
    const struct vamp_opt *options;
    size_t options_bytes; /* may be 0 */
    enum vamp_element element;

    /* The kind of target that the options select, as VAMP_TARGET_BIT. It depends on the type of
     * file at the path now, and determines the valid options of the table and of "rotate". NULL:
     * always VAMP_TARGET_NEW_FILES, or the format writes nothing. */
    uint32_t (*target)(const void *options);
    /* NULL, or the default of the option "by". It does not apply if "without" is set or the target
     * is a FIFO, a device, a socket or standard output. Other outputs keep all labels by default.
     */
    const struct vamp_kept_labels *by_unset;
    /* The default of the option "without" under the same conditions; bit per enum vamp_label; 0:
     * none. */
    uint32_t without_unset;
    /* NULL, or a NULL-terminated list of metrics that deliveries contain by component (`ranks`) if
     * the output drops that label. */
    const char *const *ranks;
    /* The default of the option "budget", in lines; 0: unlimited. */
    uint64_t budget_unset;
    /* 0, or the offset in the options of a struct vamp_sent_alarms, which selects buckets or
     * changes of alarms (writers/format/sent_alarms.h). In the latter case `write_bucket` sends
     * only changes. */
    size_t alarms_at;
    /* NULL, or: checks the syntax of the options, and that the software they require is installed.
     * Returns 0, or -EINVAL or -ENAMETOOLONG with the key of the invalid option, the error and the
     * allowed values. */
    int (*check)(const void *options, const char **ret_key, struct vamp_err *err);
    /* The functions below are in a plug-in (vamp_writer_load); they are NULL in this table. */
    bool plug_in;

    /* Creates the target. Never overwrites a file and follows no symbolic link in the last
     * component. On failure nothing is left open and no file is left behind. Keeps pointers to
     * `options`; `target` is valid only during the call, but run, schema, name and stop outlive the
     * instance. Returns 0; -EEXIST if the name is in use: for the first segment of a run, vampire
     * then does not start; for a later one the output tries the next segment numbers, since another
     * program, or the output before a reload, may use this one; another -errno: the output retries
     * after a pause. */
    int (*open)(const void *options, const struct vamp_writer_target *target, void **ret_self,
                struct vamp_err *err);
    /*
     * Writes one element, completely or not at all. Without a `flush`, the element is then in the
     * target: outside of the process and visible to readers. Returns 0, or
     * -ENOBUFS: the bucket does not fit into this target (too many series). Nothing was written.
     *   The output closes this target and opens the next segment for the bucket.
     * -EAGAIN: the element cannot be written now (no disk space, a slow reader). The target is
     *   intact; the output calls again with the same element, or calls `close`. Must be returned
     *   within about a second, so that the output can decide. An empty text means that there is
     *   nothing to report.
     * -EBADMSG: the target is intact, but rejects this element permanently. The element is lost;
     *   the next one follows.
     * Any other -errno: the target is unusable, but keeps everything written before. The output
     *   closes it, keeps the element and opens the next segment for it.
     */
    int (*write_bucket)(void *self, const struct vamp_delivery *delivery, struct vamp_err *err);
    int (*write_event)(void *self, const struct vamp_event *event, struct vamp_err *err);
    /* Writes an event of an earlier segment again, for readers of only this segment; it is not
     * counted. Called only before the first event. Results as for `write_event`. */
    int (*repeat_event)(void *self, const struct vamp_event *event, struct vamp_err *err);
    /* NULL, or: passes all buffered elements to the operating system. Returns 0, or -errno: the
     * target is unusable, and the elements not included in `written` are lost. */
    int (*flush)(void *self, struct vamp_err *err);
    /* For a format with `flush`: number of elements in the target; valid also after a failure. */
    uint64_t (*written)(const void *self);
    /* Bytes in the target so far, for rotation. NULL: the format writes no files and has no option
     * "rotate". */
    uint64_t (*bytes)(const void *self);
    /* NULL, or: the number of items left out of the target because of a limit of the format,
     * although their elements were accepted; `*ret_what` is their name in the plural. Called once,
     * directly before the last call of `written` and close, so that the format may complete its
     * target here. */
    uint64_t (*left_out)(void *self, const char **ret_what);
    /* The path or address for messages; valid until close. */
    const char *(*path)(const void *self);
    /* NULL, or: a message for the operator that is not a failure of the target, for example that
     * one of several readers is slow. Returns true once for each message. */
    bool (*remark)(void *self, char text[static VAMP_ERR_TEXT_BYTES]);
    /* The maximum number of lines of a series, for the budget. NULL: one line per series. */
    unsigned (*lines)(const void *options, const struct vamp_metric *metric,
                      const struct vamp_bins *bins);
    /* NULL, or: how long (ns) `close` may keep the target open for readers after a completed run.
     * Such outputs are closed last. */
    int64_t (*linger_ns)(const void *options);
    /* Completes and closes the target and frees the instance in any case. `ending` NULL: the run
     * continues in another segment. A target that failed before its first element is removed.
     * Returns 0, or -errno: the end of the target may be missing. */
    int (*close)(void *self, const struct vamp_ending *ending, struct vamp_err *err);
    /* NULL: the format leaves no files. */
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

/* Every format, ended by NULL. This is the only list of formats. */
extern const struct vamp_writer_ops *const vamp_writers[];
/* Returns NULL if there is no format with this name. */
const struct vamp_writer_ops *vamp_writer_find(const char *name);

/* A format whose library may be missing at a site or should not be loaded by runs that do not use
 * it: its name and options are in the program (writers/NAME/table.c), its functions in the shared
 * object lib/vampire/NAME.so, which exports one symbol, vamp_writer_plug_in. */
struct vamp_writer_plug_in {
    const char *version;                     /* VAMP_VERSION of the build */
    const struct vamp_writer_ops *functions; /* name, element and functions; no options */
    void (*share)(const struct vamp_metric *metrics, unsigned count,
                  const char *const *label_words); /* vamp_metrics_share */
};

/* Loads `symbol` from the plug-in `name`, lib/vampire/NAME.so; `purpose` is for messages: "writes
 * ...". Returns 0, or -ELIBACC or -ELIBBAD (vampire/core/module.h) with a text that contains the
 * package of the plug-in. */
VAMP_MUST_CHECK int vamp_plug_in_load(const char *name, const char *symbol, const char *purpose,
                                      const void **ret_symbol, struct vamp_err *err);

/* A plug-in may run a library in a separate process of the same executable, whose argv[0] is this
 * prefix and the plug-in's name. The symbol vamp_process_plug_in of the plug-in. */
#define VAMP_PLUG_IN_PROCESS "vampire-plug-in-"
struct vamp_process_plug_in {
    const char *version; /* VAMP_VERSION of the build */
    void (*serve)(void); /* does not return */
};
/* In such a process, runs it and does not return; otherwise has no effect. `program` is for
 * messages. Must be called before anything else. */
void vamp_plug_in_serve(const char *argv0, const char *program);

/* Loads the struct vamp_trace_sink_ops that writes OTF2 for the format trace. Results as for
 * vamp_plug_in_load. */
VAMP_MUST_CHECK int vamp_otf2_load(const void **ret_sink, struct vamp_err *err);

/* Returns the functions of a format; those of a plug-in are loaded once per process. Results as for
 * vamp_plug_in_load. */
VAMP_MUST_CHECK int vamp_writer_load(const struct vamp_writer_ops *format,
                                     const struct vamp_writer_ops **ret_functions,
                                     struct vamp_err *err);
/* Loads the plug-in of a format. Sets `*ret_name` to its name, a constant, or to NULL if the format
 * has no plug-in. Returns the same values as vamp_plug_in_load. */
VAMP_MUST_CHECK int vamp_plug_in_of(const struct vamp_writer_ops *format, const char **ret_name,
                                    struct vamp_err *err);

/* Repairs a file that a killed run left (vampire --recover). The first bytes of the file determine
 * its format. Removes an incomplete record from the end; HDF5 files are changed so that they open
 * normally. Complete records are never removed. A file that another process writes, or with other
 * damage, is not changed. Returns 0; -EBUSY if another process writes it or may write it;
 * -EINVAL if it is not a file of vampire; -EBADMSG if it is damaged; or another -errno. */
VAMP_MUST_CHECK int vamp_recover_file(const char *path, bool dry_run,
                                      struct vamp_recovery *ret_recovery, struct vamp_err *err);
