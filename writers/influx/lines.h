/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The influx format: each bucket as lines of InfluxDB's line protocol. lines.c formats the lines,
 * writer.c sends them by HTTP or UDP. table.c is linked into the program; the other files are in
 * the shared object influx.so. docs/exporters.md describes the lines.
 */
#pragma once

#include "writers/format/present.h"
#include "writers/format/push.h"
#include "writers/format/text.h"
#include "writers/writer.h"

struct influx_options {
    char *url, *database;
    struct vamp_push_options push;
    uint64_t labels; /* bit per enum vamp_run_label */
};
/* Prefix of the address of a server that receives datagrams. */
#define INFLUX_UDP "udp://"
/* Environment variable with the secret, used if there is no secret file. */
#define INFLUX_SECRET_VARIABLE "VAMPIRE_INFLUX_SECRET"

/* Appends the lines of a bucket and of component_info. Returns the number of values reduced to 2^63
 * - 1, the largest integer of the protocol. */
uint64_t influx_lines(struct vamp_text *text, const struct vamp_run *run, uint64_t run_labels,
                      const struct vamp_bucket *bucket, const struct vamp_present *present);
