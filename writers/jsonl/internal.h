/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The JSON lines writer: target.c opens and writes the target, socket.c serves connected readers,
 * lines.c formats a delivery as lines, writer.c has the option table and the recovery. The format
 * is specified in docs/output-jsonl.md and docs/vampire-jsonl.schema.json.
 */
#pragma once

#include "vampire/core/json_emit.h"
#include "writers/writer.h"

#define JSONL_VERSION 2
/* The configuration is the only long text; the rest of a header takes 20 KiB. */
#define JSONL_CONFIGURATION_BYTES 32768
/* Maximum number of readers of a socket. */
#define JSONL_READERS_MAX 64

struct jsonl_options {
    char *directory;
    char *path;      /* NULL: a file in `directory` whose name contains the start time */
    unsigned access; /* enum vamp_target_access */
    uint64_t complete_every;
    uint64_t readers; /* maximum number of readers of a socket */
    uint64_t reader_buffer_bytes;
};

enum jsonl_kind {
    JSONL_FILE,   /* file created by vampire: lines are written completely or not at all */
    JSONL_STREAM, /* standard output or a device: may be shared and may block */
    JSONL_FIFO,   /* may not have a reader yet */
    JSONL_SOCKET, /* any number of readers, at any time */
};

struct jsonl {
    const struct jsonl_options *options;
    const struct vamp_run *run;
    const struct vamp_schema *schema;
    const struct vamp_schema *ranks; /* NULL: the deliveries have no ranks */
    const char *name;
    unsigned segment;

    enum jsonl_kind kind;
    char *path;
    int fd;              /* -1: a FIFO without a reader */
    uint64_t file_bytes; /* bytes of complete lines in a file */
    bool failed;
    struct jsonl_clients *clients; /* NULL unless the target is a socket */

    struct vamp_json json; /* lines to be sent */
    size_t sent;           /* number of bytes of `json` sent to a stream */
    bool pending;          /* the lines of a bucket wait for buffer space or a reader */

    uint64_t buckets;                      /* buckets written as lines */
    bool complete;                         /* the newest bucket contained all values */
    bool ask_complete;                     /* a reader needs a bucket with all values */
    int64_t end_ns;                        /* end of the newest bucket */
    struct vamp_component_row *components; /* indexed by component: the row as last reported */
    unsigned component_count;
    int64_t **gauges; /* per schema metric: last value by series, NULL for other kinds */
    uint64_t lost[VAMP_LOSS_COUNT]; /* events lost, as last reported */
    struct vamp_accounting account; /* as last reported; `outputs` is not used */
    uint64_t lost_by_outputs;       /* buckets lost by outputs, as last reported */
    uint32_t learned;               /* bits of enum vamp_unknown that lines have reported */
    uint32_t in_header;             /* bits of enum vamp_unknown that the header reported */
};

/* target.c. The kind of target selected by the options, given what exists at the path now. */
enum vamp_target_kind jsonl_target_kind(const struct jsonl_options *options);
/* Opens the target according to the options and sets kind, path and fd. Returns 0 or -errno. */
VAMP_MUST_CHECK int jsonl_target_open(struct jsonl *self, struct vamp_err *err);
/* Sends the lines. Returns 0 if all were sent; -EAGAIN if only some or none were: call it again;
 * another -errno: the target is unusable. */
VAMP_MUST_CHECK int jsonl_target_send(struct jsonl *self, struct vamp_err *err);

/* socket.c: targets that begin with unix: or tcp:. None of these functions waits for a reader. */
VAMP_MUST_CHECK int jsonl_socket_open(struct jsonl *self, struct vamp_err *err);
/* Sets the header, which is sent to every reader that connects. */
VAMP_MUST_CHECK int jsonl_socket_header(struct jsonl *self, struct vamp_err *err);
/* Queues the lines of a bucket. Returns 0, or -ENOMEM: no reader receives them. */
VAMP_MUST_CHECK int jsonl_socket_bucket(struct jsonl *self, const struct vamp_delivery *delivery,
                                        struct vamp_err *err);
/* Like the format's `remark`; true at most about once in ten seconds. */
bool jsonl_socket_remark(const struct jsonl *self, char text[static VAMP_ERR_TEXT_BYTES]);
/* Ends the stream for all readers. Waits until they have received their queues, as long as at least
 * one of them reads within 2 s, for at most 18 s in total. */
void jsonl_socket_close(struct jsonl *self);

/* lines.c: append to self->json. */
void jsonl_header(struct jsonl *self);
void jsonl_bucket(struct jsonl *self, const struct vamp_delivery *delivery);
/* A line with the losses since the newest bucket. */
void jsonl_lost(struct jsonl *self, const char *what, const char *reason, uint64_t count);
/* `ending` NULL: the run continues in the next segment. */
void jsonl_end(struct jsonl *self, const struct vamp_ending *ending);
