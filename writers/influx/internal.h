/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The influx format: each bucket as lines of InfluxDB's line protocol. lines.c makes the lines,
 * request.c sends them by HTTP, datagrams.c by UDP, writer.c is the format. table.c is in the
 * program; all others are in the shared object influx.so. What is written is described in
 * docs/exporters.md.
 */
#ifndef VAMP_WRITERS_INFLUX_INTERNAL_H
#define VAMP_WRITERS_INFLUX_INTERNAL_H

#include "writers/format/text.h"
#include "writers/writer.h"

struct influx_options {
    char *url, *database, *user, *secret_file, *ca_file;
    uint64_t labels;    /* bit per enum vamp_run_label */
    int64_t timeout_ns; /* of a request */
};
/* What the address of a server begins with that takes datagrams. */
#define INFLUX_UDP "udp://"
/* The secret's variable, where no file has it. */
#define INFLUX_SECRET_VARIABLE "VAMPIRE_INFLUX_SECRET"

/* ---- lines.c. Appends the lines of a bucket; returns how many values were cut to
 * 2^63 - 1, the largest integer that the protocol knows. */
uint64_t influx_lines(struct vamp_text *text, const struct vamp_run *run, uint64_t run_labels,
                      const struct vamp_bucket *bucket);

/* ---- request.c: at most one request at a time, which never makes a caller wait for long. */
struct influx_request;
/* 0; -ENOMEM, or -errno of a secret's file that cannot be read. */
VAMP_MUST_CHECK int influx_request_create(const struct influx_options *options,
                                          struct influx_request **ret_request,
                                          struct vamp_err *err);
/* Sends the text, or goes on with it: the caller repeats the call with the same text until the
 * result is not -EAGAIN. 0: the server has it; -EAGAIN: not yet, within a second, with why in the
 * text unless the server may still answer; -EBADMSG: the server refuses this very text. */
VAMP_MUST_CHECK int influx_request_send(struct influx_request *request,
                                        const struct vamp_text *text, struct vamp_err *err);
/* NULL is fine. A request that is under way is given up. */
void influx_request_free(struct influx_request *request);

/* ---- datagrams.c: whole lines in datagrams as long as the way to the server allows. */
struct influx_datagrams;
/* NULL: no memory. */
struct influx_datagrams *influx_datagrams_create(const struct influx_options *options);
/* As influx_request_send. 0: the system has taken all datagrams, and by then it knew of none that
 * was refused; whether they arrive is not known. */
VAMP_MUST_CHECK int influx_datagrams_send(struct influx_datagrams *datagrams,
                                          const struct vamp_text *text, struct vamp_err *err);
/* NULL is fine. Waits for an answer about the server's name that was asked for. */
void influx_datagrams_free(struct influx_datagrams *datagrams);

#endif
