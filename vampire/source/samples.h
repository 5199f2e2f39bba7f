/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *  * The source of samples: lines of InfluxDB's protocol (vampire/core/event/sample.h) from
 * datagrams and files. It runs beside the source of the pool's events, with its own thread and
 * ring, so that samples cannot displace events.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "vampire/core/options/options.h"
#include "vampire/source/source.h"

/* Limit of sockets and files together. */
#define VAMP_SAMPLE_INPUTS_MAX 64

enum vamp_sample_precision {
    VAMP_SAMPLE_AUTO, /* by the size of the number: correct from 1973 to 5138 */
    VAMP_SAMPLE_NS,
    VAMP_SAMPLE_US,
    VAMP_SAMPLE_MS,
    VAMP_SAMPLE_S,
};

struct vamp_samples_options {
    struct vamp_strings listen; /* "unix:PATH", "udp:ADDRESS:PORT", "udp:PORT": loopback */
    struct vamp_strings files;
    unsigned precision; /* enum vamp_sample_precision */
    uint64_t max_rate;  /* lines per second of each input; does not apply to replayed files */
    /* Reads whole files in the order of the lines' times, which they must have. False: only lines
     * appended after the start. */
    bool replayed;
};

/* 0; -EINVAL: not a valid address for `listen`. */
VAMP_MUST_CHECK int vamp_samples_check_address(const char *text, struct vamp_err *err);

/* Options: struct vamp_samples_options. Times ahead of this machine's clock become the present
 * time. The caller sets `may_block` in a copy. When `stop` of the context is set, the source ends
 * after reading waiting input. */
extern const struct vamp_source_ops vamp_source_samples;

/* Lines without a sample. */
struct vamp_samples_account {
    uint64_t refused; /* invalid, or with an invalid time; the first few were reported */
    uint64_t beyond;  /* over max_rate */
};
/* For an open source whose thread has ended. */
struct vamp_samples_account vamp_samples_account(const void *object);
