/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The influx format: each bucket as lines of InfluxDB's line protocol. lines.c makes the lines,
 * writer.c is the format and sends them by HTTP or UDP. table.c is in the program; all others are
 * in the shared object influx.so. What is written is described in docs/exporters.md.
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
/* What the address of a server begins with that takes datagrams. */
#define INFLUX_UDP "udp://"
/* The secret's variable, where no file has it. */
#define INFLUX_SECRET_VARIABLE "VAMPIRE_INFLUX_SECRET"

/* Appends the lines of a bucket and of where components are; returns how many values were cut to
 * 2^63 - 1, the largest integer that the protocol knows. */
uint64_t influx_lines(struct vamp_text *text, const struct vamp_run *run, uint64_t run_labels,
                      const struct vamp_bucket *bucket, const struct vamp_present *present);
