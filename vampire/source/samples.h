/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The source of samples: lines of InfluxDB's protocol (vampire/core/event/sample.h) from datagrams
 * and files. A source as others, which runs beside the one of the pool's events and has a thread
 * and a ring of its own, so that no flood of samples takes room from these.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "vampire/core/options/options.h"
#include "vampire/source/source.h"

/* Sockets and files of one run at most, together. */
#define VAMP_SAMPLE_INPUTS_MAX 64

enum vamp_sample_precision {
    VAMP_SAMPLE_AUTO, /* by the size of the number: each unit is right from 1973 to 5138 */
    VAMP_SAMPLE_NS,
    VAMP_SAMPLE_US,
    VAMP_SAMPLE_MS,
    VAMP_SAMPLE_S,
};

struct vamp_samples_options {
    struct vamp_strings listen; /* "unix:PATH", "udp:ADDRESS:PORT", "udp:PORT": loopback */
    struct vamp_strings files;
    unsigned precision; /* enum vamp_sample_precision */
    uint64_t max_rate;  /* lines a second of each input; not of files that are replayed */
    /* The files are read from their begin to their end, in the order of the lines' times, which
     * they must have. False: from their end on, as they grow. */
    bool replayed;
};

/* 0; -EINVAL with a text: the address of `listen` cannot be read. */
VAMP_MUST_CHECK int vamp_samples_check_address(const char *text, struct vamp_err *err);

/* Of struct vamp_samples_options. What is ahead of this machine's clock counts now. `may_block` is
 * for the caller to set, in a copy. When `stop` of the context is set it ends once nothing waits to
 * be read. */
extern const struct vamp_source_ops vamp_source_samples;

/* Lines that came and gave no sample. */
struct vamp_samples_account {
    uint64_t refused; /* cannot be read, or with an impossible time: the first few were said */
    uint64_t beyond;  /* max_rate */
};
/* Of an open source whose thread has ended. */
struct vamp_samples_account vamp_samples_account(const void *object);
