/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recordings (docs/recording.md): writes a stream of events to a file, and reads it back. The
 * recorder is used by an output, the reader by the replay source. After opening, neither allocates
 * memory. One thread each.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vampire/core/err.h"
#include "vampire/core/event/event.h"

#define VAMP_RECORDING_FORMAT "vampire-recording"
#define VAMP_RECORDING_VERSION 1
/* Maximum length of a message; the reader treats a longer message as damage. */
#define VAMP_RECORDING_MESSAGE_BYTES_MAX ((size_t)128 * 1024)
#define VAMP_RECORDING_TEXT_BYTES 512

/* Texts of a header: what was recorded, by which program and on which machine. */
#define VAMP_RECORDING_TEXTS(TEXT)                                                                 \
    TEXT(workflow) TEXT(component) TEXT(producer) TEXT(run_id) TEXT(host) TEXT(user) TEXT(batch_job)

/* The header of a recording. Texts are terminated; "" if absent. */
struct vamp_recording_header {
    char workflow[VAMP_RECORDING_TEXT_BYTES], component[VAMP_RECORDING_TEXT_BYTES];
    char producer[VAMP_RECORDING_TEXT_BYTES], run_id[VAMP_RECORDING_TEXT_BYTES];
    char host[VAMP_RECORDING_TEXT_BYTES], user[VAMP_RECORDING_TEXT_BYTES];
    char batch_job[VAMP_RECORDING_TEXT_BYTES];
    uint64_t pid; /* 0: not known */
    int64_t started_ns;
    uint64_t event_kinds;
    uint32_t unknown;       /* bits of enum vamp_unknown: data that the events do not contain */
    unsigned segment;       /* number of the file in the run, from 1; 0: not known */
    uint64_t events_before; /* number of events in the earlier segments */
};

/* ------------------------------------------------------------------ writing */

/* Other modules only read it, except for `goes_on`. */
struct vamp_recorder {
    int file;
    int failure;      /* -errno of the failed write; 0: no failure */
    uint64_t bytes;   /* size of the file */
    uint64_t written; /* number of events in the file */
    uint64_t lost;    /* number of events lost because of the failure */
    uint64_t waiting; /* number of events in the batch */
    bool repeats;     /* the batch repeats events of earlier segments */
    bool goes_on;     /* the run continues in another segment; written into the end record */
    size_t used;      /* used bytes of `buffer` */
    char path[PATH_MAX];
    uint8_t buffer[];
};

/* Writes the header into an empty file open for writing. The recorder owns the file, also on
 * failure; `path` is for messages. Returns 0, -ENOMEM or another -errno. */
VAMP_MUST_CHECK int vamp_recorder_begin(int file, const char *path,
                                        const struct vamp_recording_header *header,
                                        struct vamp_recorder **ret_recorder, struct vamp_err *err);
/* Appends an event or control event; writes when a batch is full. Returns 0 or -errno. After a
 * failure the file ends with the last complete batch (the rest is truncated if the file system
 * permits it), later events are lost, and every later call fails in the same way. */
VAMP_MUST_CHECK int vamp_recorder_add(struct vamp_recorder *recorder,
                                      const struct vamp_event *event, struct vamp_err *err);
/* Repeats an event of an earlier segment, so that this segment can be read alone. Neither the
 * recorder nor the reader counts it. Returns 0 or -errno, as above. */
VAMP_MUST_CHECK int vamp_recorder_repeat(struct vamp_recorder *recorder,
                                         const struct vamp_event *event, struct vamp_err *err);
/* Writes the current batch; with `durable`, returns only after it is on disk. Returns 0 or -errno.
 */
VAMP_MUST_CHECK int vamp_recorder_flush(struct vamp_recorder *recorder, bool durable,
                                        struct vamp_err *err);
/* Writes the current batch and the end record, closes the file and frees the recorder, also on
 * failure. A file into which no event could be written because of a failure is removed. NULL is
 * allowed. Returns 0 or -errno. */
VAMP_MUST_CHECK int vamp_recorder_close(struct vamp_recorder *recorder, struct vamp_err *err);

/* ------------------------------------------------------------------ reading */

struct vamp_recording;

/* Results of reading; the list is complete. */
enum vamp_recording_status {
    VAMP_RECORDING_EVENT, /* an event or control event was returned */
    VAMP_RECORDING_PAUSE, /* no data yet; the next call overwrites returned names */
    VAMP_RECORDING_END,   /* no more events; see vamp_recording_remark */
    VAMP_RECORDING_ERROR, /* the file cannot be read; `err` has the reason */
};

/* Opens a recording and reads its header. Returns 0; -EBADMSG if it is not a recording;
 * -EPROTONOSUPPORT if its version is newer; or -ENOMEM or another -errno. */
VAMP_MUST_CHECK int vamp_recording_open(const char *path, struct vamp_recording **ret_recording,
                                        struct vamp_recording_header *ret_header,
                                        struct vamp_err *err);
void vamp_recording_close(struct vamp_recording *recording);
/* Returns the next event or control event. Its name is valid until the call after PAUSE, or until
 * close. LOST events with reason VAMP_LOSS_RECORDING report events lost by damage: their exact
 * number in the middle of a file, at least one at a torn end. A malformed event becomes a REJECTED
 * event. */
enum vamp_recording_status vamp_recording_next(struct vamp_recording *recording,
                                               struct vamp_event *ret_event, struct vamp_err *err);
/* Skips events repeated from earlier segments, for a reader that has read these segments. */
void vamp_recording_skip_repeated(struct vamp_recording *recording);
/* Returns the number of events that were returned, rejected or reported as lost. */
uint64_t vamp_recording_events(const struct vamp_recording *recording);
/* Returns the number of bytes of the file that were read; 0 if the file has no positions. */
uint64_t vamp_recording_bytes_read(const struct vamp_recording *recording);
/* Counts the messages of an open file from its beginning. Returns 0 with the bytes and the number
 * of complete messages before the first incomplete one; -EBADMSG if it is not a recording; or
 * another -errno. */
VAMP_MUST_CHECK int vamp_recording_measure(int file, const char *path, uint64_t *ret_bytes,
                                           uint64_t *ret_messages, struct vamp_err *err);
/* Returns whether a file with these first bytes is a recording, of any version. */
bool vamp_recording_begins(const uint8_t *begin, size_t bytes);
/* After the end: returns whether the run continues in another segment. */
bool vamp_recording_goes_on(const struct vamp_recording *recording);
/* Called after the end: returns whether events are missing or a message differs from what was
 * written. If the recorder was killed between two messages, the recording is not damaged. */
bool vamp_recording_is_damaged(const struct vamp_recording *recording);
/* Called after the end: returns a text about the damage of the recording; NULL if it is complete.
 */
const char *vamp_recording_remark(const struct vamp_recording *recording);
