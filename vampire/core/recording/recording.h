/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recordings (docs/recording.md): writing a stream of events to a file and reading it back. The
 * recorder serves an output, the reader the replay source; both work without allocation once
 * they are open. One thread each.
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
/* Longest message. The recorder ends a batch before it gets this long; to the reader a longer one
 * is damage. */
#define VAMP_RECORDING_MESSAGE_BYTES_MAX ((size_t)128 * 1024)
#define VAMP_RECORDING_TEXT_BYTES 512

/* The texts of a header: what was recorded, by whom and where. */
#define VAMP_RECORDING_TEXTS(TEXT)                                                                 \
    TEXT(workflow) TEXT(component) TEXT(producer) TEXT(run_id) TEXT(host) TEXT(user) TEXT(batch_job)

/* The header of a recording; texts are terminated, "" when absent. */
struct vamp_recording_header {
    char workflow[VAMP_RECORDING_TEXT_BYTES], component[VAMP_RECORDING_TEXT_BYTES];
    char producer[VAMP_RECORDING_TEXT_BYTES], run_id[VAMP_RECORDING_TEXT_BYTES];
    char host[VAMP_RECORDING_TEXT_BYTES], user[VAMP_RECORDING_TEXT_BYTES];
    char batch_job[VAMP_RECORDING_TEXT_BYTES];
    uint64_t pid; /* 0: not known */
    int64_t started_ns;
    uint64_t event_kinds;
    uint32_t unknown;       /* bit per enum vamp_unknown: what no event can say */
    unsigned segment;       /* 1, 2, ...: which file of the run; 0: not known */
    uint64_t events_before; /* in the earlier segments */
};

/* ------------------------------------------------------------------ writing */

/* Others only read it, but for `goes_on`. */
struct vamp_recorder {
    int file;
    int failure;      /* -errno of the write that failed, 0: none */
    uint64_t bytes;   /* in the file */
    uint64_t written; /* events in the file */
    uint64_t lost;    /* by a failure */
    uint64_t waiting; /* events in the batch */
    bool repeats;     /* the batch repeats events of earlier segments */
    bool goes_on;     /* in another segment, which the end mark will state */
    size_t used;      /* of `buffer` */
    char path[PATH_MAX];
    uint8_t buffer[];
};

/* Writes the header into an empty file that is open for writing and becomes the recorder's, also on
 * failure; `path` is for messages. 0, -ENOMEM or another -errno. */
VAMP_MUST_CHECK int vamp_recorder_begin(int file, const char *path,
                                        const struct vamp_recording_header *header,
                                        struct vamp_recorder **ret_recorder, struct vamp_err *err);
/* Appends an event or a mark; writes when a batch is full. 0 or -errno. After a failure the file
 * ends with the last batch that was written whole (the rest is cut off where the file system lets
 * us), the events since then are lost, and every later call fails the same way. */
VAMP_MUST_CHECK int vamp_recorder_add(struct vamp_recorder *recorder,
                                      const struct vamp_event *event, struct vamp_err *err);
/* Repeats an event of an earlier segment, so that this segment can be read alone. Neither the
 * recorder nor the reader counts it. 0 or -errno, as above. */
VAMP_MUST_CHECK int vamp_recorder_repeat(struct vamp_recorder *recorder,
                                         const struct vamp_event *event, struct vamp_err *err);
/* Writes what is waiting; `durable`: returns only when it is on the disk. 0 or -errno. */
VAMP_MUST_CHECK int vamp_recorder_flush(struct vamp_recorder *recorder, bool durable,
                                        struct vamp_err *err);
/* Writes what is waiting and the end, closes, frees. A file in which no event could be written,
 * since that failed, is removed. NULL-safe. 0 or -errno; it is freed in either case. */
VAMP_MUST_CHECK int vamp_recorder_close(struct vamp_recorder *recorder, struct vamp_err *err);

/* ------------------------------------------------------------------ reading */

struct vamp_recording;

/* What the reader found. Closed. */
enum vamp_recording_status {
    VAMP_RECORDING_EVENT, /* an event or mark was given */
    VAMP_RECORDING_PAUSE, /* nothing yet: the next call reads on, over the names given so far */
    VAMP_RECORDING_END,   /* nothing follows; see vamp_recording_remark */
    VAMP_RECORDING_ERROR, /* the file cannot be read; err says why */
};

/* Opens a recording and reads its header. 0; -EBADMSG: no recording; -EPROTONOSUPPORT: of a newer
 * version; -ENOMEM or another -errno. */
VAMP_MUST_CHECK int vamp_recording_open(const char *path, struct vamp_recording **ret_recording,
                                        struct vamp_recording_header *ret_header,
                                        struct vamp_err *err);
void vamp_recording_close(struct vamp_recording *recording);
/* The next event or mark; its name is valid until the call after PAUSE, or the close. LOST marks
 * with reason VAMP_LOSS_RECORDING report what damage cost: the exact count in the middle, at least
 * one at a torn end. A malformed event is a REJECTED mark. */
enum vamp_recording_status vamp_recording_next(struct vamp_recording *recording,
                                               struct vamp_event *ret_event, struct vamp_err *err);
/* Leaves out events that are repeated from earlier segments: for a reader that has read those. */
void vamp_recording_skip_repeated(struct vamp_recording *recording);
/* Events given, rejected or reported as lost so far. */
uint64_t vamp_recording_events(const struct vamp_recording *recording);
/* Looks at the messages of an open file from its beginning. 0, with the bytes of all whole messages
 * before the first that is not whole, and their number; -EBADMSG: no recording; another -errno. */
VAMP_MUST_CHECK int vamp_recording_measure(int file, const char *path, uint64_t *ret_bytes,
                                           uint64_t *ret_messages, struct vamp_err *err);
/* Whether a file that begins so is a recording, of whatever version. */
bool vamp_recording_begins(const uint8_t *begin, size_t bytes);
/* After the end: whether the end mark states that the run goes on in another segment. */
bool vamp_recording_goes_on(const struct vamp_recording *recording);
/* After the end: whether events are missing, or a message is not the one that was written. A
 * recorder that was killed between two messages is no damage. */
bool vamp_recording_is_damaged(const struct vamp_recording *recording);
/* After the end: what is wrong with the recording, in words; NULL when it is complete. */
const char *vamp_recording_remark(const struct vamp_recording *recording);
