/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The JSON lines writer: target.c opens and writes the target, socket.c serves readers that
 * connect, lines.c formats a delivery as lines, writer.c is the table and the recovery. The format
 * is specified in docs/output-jsonl.md and docs/vampire-jsonl.schema.json.
 */
#pragma once

#include "vampire/core/json_emit.h"
#include "writers/writer.h"

#define JSONL_VERSION 2
/* The configuration is the one text that may be long; the rest of a header takes 20 KiB. */
#define JSONL_CONFIGURATION_BYTES 32768
/* Clients of a socket. */
#define JSONL_READERS_MAX 64

struct jsonl_options {
    char *directory;
    char *path;      /* NULL: a name with the start time in `directory` */
    unsigned access; /* enum vamp_target_access */
    uint64_t complete_every;
    uint64_t readers; /* of a socket */
    uint64_t reader_buffer_bytes;
};

enum jsonl_kind {
    JSONL_FILE,   /* vampire's own: lines are whole or absent */
    JSONL_STREAM, /* standard output or a device: shared, may block */
    JSONL_FIFO,   /* may have no reader yet */
    JSONL_SOCKET, /* any number of readers, at any time */
};

struct jsonl {
    const struct jsonl_options *options;
    const struct vamp_run *run;
    const struct vamp_schema *schema;
    const struct vamp_schema *ranks; /* NULL: there are none */
    const char *name;
    unsigned segment;

    enum jsonl_kind kind;
    char *path;
    int fd;              /* -1: a FIFO without a reader */
    uint64_t file_bytes; /* whole lines in a file */
    bool failed;
    struct jsonl_clients *clients; /* of a socket, else NULL */

    struct vamp_json json; /* lines to be sent */
    size_t sent;           /* bytes of them sent to a stream */
    bool pending;          /* the lines of a bucket wait for room or a reader */

    uint64_t buckets;                      /* written as lines */
    bool complete;                         /* the newest one held all values */
    bool ask_complete;                     /* a reader needs one that does */
    int64_t end_ns;                        /* of the newest bucket */
    struct vamp_component_row *components; /* as last reported, by number */
    unsigned component_count;
    int64_t **gauges; /* per schema metric: last value by series, NULL for other kinds */
    /* As last reported: events lost, the account without its outputs, buckets lost by these. */
    uint64_t lost[VAMP_LOSS_COUNT];
    struct vamp_accounting account;
    uint64_t lost_by_outputs;
    uint32_t learned, in_header; /* reported as unknown (enum vamp_unknown), by lines, by the header
                                  */
};

/* target.c. The kind of target that the options name, in the current state of the file system. */
enum vamp_target_kind jsonl_target_kind(const struct jsonl_options *options);
/* Opens according to the options, fills kind, path and fd. 0 or -errno. */
VAMP_MUST_CHECK int jsonl_target_open(struct jsonl *self, struct vamp_err *err);
/* Sends the lines: 0 all; -EAGAIN some or none, call again; other: the target is finished. */
VAMP_MUST_CHECK int jsonl_target_send(struct jsonl *self, struct vamp_err *err);

/* socket.c: a target that starts with unix: or tcp:. Nothing here waits for a reader. */
VAMP_MUST_CHECK int jsonl_socket_open(struct jsonl *self, struct vamp_err *err);
/* The header, for every reader that connects. */
VAMP_MUST_CHECK int jsonl_socket_header(struct jsonl *self, struct vamp_err *err);
/* The lines of a bucket. 0, or -ENOMEM: no reader got them. */
VAMP_MUST_CHECK int jsonl_socket_bucket(struct jsonl *self, const struct vamp_delivery *delivery,
                                        struct vamp_err *err);
/* As the format's `remark`, about once in ten seconds at most. */
bool jsonl_socket_remark(const struct jsonl *self, char text[static VAMP_ERR_TEXT_BYTES]);
/* Ends the stream for all readers. Waits until they have received their queues, as long as one of
 * them reads within 2 s, and for at most 18 s. */
void jsonl_socket_close(struct jsonl *self);

/* lines.c: append to self->json. */
void jsonl_header(struct jsonl *self);
void jsonl_bucket(struct jsonl *self, const struct vamp_delivery *delivery);
/* The line that reports how much was lost, after the newest bucket. */
void jsonl_lost(struct jsonl *self, const char *what, const char *reason, uint64_t count);
/* `ending` NULL: the run goes on in the next segment. */
void jsonl_end(struct jsonl *self, const struct vamp_ending *ending);
