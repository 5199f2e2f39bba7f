/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The source of samples: lines of InfluxDB's protocol (vampire/core/event/sample.h) from datagrams
 * and files. It runs beside the source of pool events with a thread and a ring of its own, so that
 * a flood of samples cannot displace pool events.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "vampire/core/options/options.h"
#include "vampire/source/source.h"

/* Maximum number of sockets and files of a run together. */
#define VAMP_SAMPLE_INPUTS_MAX 64

enum vamp_sample_precision {
    VAMP_SAMPLE_AUTO, /* by the magnitude of the number; correct from 1973 to 5138 */
    VAMP_SAMPLE_NS,
    VAMP_SAMPLE_US,
    VAMP_SAMPLE_MS,
    VAMP_SAMPLE_S,
};

struct vamp_samples_options {
    struct vamp_strings
        listen; /* "unix:PATH", "udp:ADDRESS:PORT", or "udp:PORT" for the loopback interface */
    struct vamp_strings files;
    unsigned precision; /* enum vamp_sample_precision */
    uint64_t max_rate;  /* lines per second of each input; not for replayed files */
    /* True: files are read from beginning to end and merged by the times of their lines, which are
     * required. False: only lines appended after the start are read. */
    bool replayed;
};

/* Returns 0, or -EINVAL with a text if the address of `listen` is malformed. */
VAMP_MUST_CHECK int vamp_samples_check_address(const char *text, struct vamp_err *err);

/* Options: struct vamp_samples_options. A sample whose time is later than this machine's clock has
 * the current time. The caller sets `may_block` in a copy of the table. When `stop` of the context
 * is set, the source ends as soon as all received data are read. */
extern const struct vamp_source_ops vamp_source_samples;

/* Numbers of lines that were received but resulted in no sample. */
struct vamp_samples_account {
    uint64_t refused; /* malformed or with an impossible time; the first few were reported */
    uint64_t beyond;  /* over max_rate */
};
/* Returns the counters of an open source whose thread has ended. */
struct vamp_samples_account vamp_samples_account(const void *object);
