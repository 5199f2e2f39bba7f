/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of a run say of it, for vampire --summary: totals, components, gaps, how it ended.
 * A format's `read` fills one for a file; segments are joined to one. Owned by the caller; one
 * thread.
 */
#ifndef VAMP_WRITERS_FORMAT_RUN_FILE_H
#define VAMP_WRITERS_FORMAT_RUN_FILE_H

#include <stdbool.h>

#include "vampire/stats/bucket/totals.h"
#include "writers/writer.h"

enum vamp_file_end {
    VAMP_FILE_OPEN,    /* it has no end: it is being written, or vampire was killed */
    VAMP_FILE_ROTATED, /* the run goes on in the next segment */
    VAMP_FILE_ENDED,
};

/* The metrics whose histograms the totals have. */
enum vamp_file_histogram { VAMP_FILE_TRANSPORT_NS, VAMP_FILE_DEMAND_WAIT_NS };
#define VAMP_FILE_HISTOGRAM_COUNT 2

/* A rule of alarms, as the changes in the files say. */
#define VAMP_FILE_ALARMS_MAX 64
struct vamp_file_alarm {
    char name[64], severity[16];
    uint64_t fired;          /* how often one of its alarms began to fire */
    int64_t firing, pending; /* how many more than before the first of these files */
};

struct vamp_run_file {
    char run[37];
    char *workflow, *output, *reason; /* NULL: not there */
    unsigned segment;                 /* of several: the last one */
    unsigned segments_missing;        /* before it, from the run's first one on */
    enum vamp_file_end end;
    int64_t started_ns, ended_ns; /* UTC; `ended_ns` is set when it has ended */
    /* Of the buckets in the files. */
    int64_t first_ns, last_ns; /* UTC: start of the first, end of the last */
    uint64_t first_number, next_number;
    uint64_t buckets; /* of the statistics */
    uint64_t lost;    /* of those between them: in no file */
    struct vamp_totals totals;
    uint64_t filter_cut; /* pattern matches that a bound of steps cut short */
    struct vamp_bins bins;
    struct vamp_histogram *histograms[VAMP_FILE_HISTOGRAM_COUNT]; /* NULL: not there */
    struct vamp_component
        *components; /* by row of the run's table; names are owned, NULL: no row */
    size_t component_count, component_room;
    struct vamp_file_alarm alarms[VAMP_FILE_ALARMS_MAX]; /* in the order of their first changes */
    unsigned alarm_count;
};

/* NULL: no memory. */
struct vamp_run_file *vamp_run_file_create(void);
void vamp_run_file_free(struct vamp_run_file *file);

/* The rest are for formats. */

/* Sets a text to a copy of `length` bytes, or fewer if one is NUL. 0 or -ENOMEM. */
VAMP_MUST_CHECK int vamp_run_file_text(char **text, const char *from, size_t length,
                                       struct vamp_err *err);
/* The bins of histograms with this number of them; before vamp_run_file_histogram. 0 or -EBADMSG.
 */
VAMP_MUST_CHECK int vamp_run_file_bins(struct vamp_run_file *file, unsigned count,
                                       struct vamp_err *err);
/* An empty histogram. 0 or -ENOMEM. */
VAMP_MUST_CHECK int vamp_run_file_histogram(struct vamp_run_file *file,
                                            enum vamp_file_histogram which, struct vamp_err *err);
/* A row of the component table, which replaces the one that was there; the name is copied. 0;
 * -EBADMSG: no such row is possible; -ENOMEM. */
VAMP_MUST_CHECK int vamp_run_file_component(struct vamp_run_file *file, size_t row,
                                            const struct vamp_component *component,
                                            struct vamp_err *err);
/* A bucket, in the order in which they were written. `count`: of the statistics' that are in it. */
void vamp_run_file_bucket(struct vamp_run_file *file, uint64_t number, uint64_t count,
                          int64_t start_ns, int64_t width_ns);
/* A gap, with the word of its reason. */
void vamp_run_file_gap(struct vamp_run_file *file, const char *reason, int64_t start_ns,
                       int64_t end_ns);
/* An alarm of a rule entered a state. `delayed`: its condition began to hold in an earlier bucket,
 * so that it was pending before it fired. */
void vamp_run_file_alarm(struct vamp_run_file *file, const char *rule, const char *severity,
                         const char *state, bool delayed);
/* Adds to `sum` the next segment of the same run, with a higher number; `next` is freed. Totals are
 * since the run began, so the newer ones replace the older ones, unless the counts began again (a
 * reload with other statistics): then what was before is forgotten, as in vampire. 0 or -EBADMSG:
 * other bins; -ENOMEM. */
VAMP_MUST_CHECK int vamp_run_file_join(struct vamp_run_file *sum, struct vamp_run_file *next,
                                       struct vamp_err *err);

#endif
