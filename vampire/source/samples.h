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
    VAMP_SAMPLE_AUTO, /* chosen by the size of the number; each unit is right from 1973 to 5138 */
    VAMP_SAMPLE_NS,
    VAMP_SAMPLE_US,
    VAMP_SAMPLE_MS,
    VAMP_SAMPLE_S,
};

struct vamp_samples_options {
    struct vamp_strings listen; /* "unix:PATH", "udp:ADDRESS:PORT", "udp:PORT": loopback */
    struct vamp_strings files;
    unsigned precision; /* enum vamp_sample_precision */
    uint64_t max_rate;  /* lines per second of each input; not for replayed files */
    /* True: files are read from beginning to end, merged by their lines' times, which must be
     * present. False: from the current end on, as they grow. */
    bool replayed;
};

/* Returns 0, or -EINVAL with a text if the address of `listen` is malformed. */
VAMP_MUST_CHECK int vamp_samples_check_address(const char *text, struct vamp_err *err);

/* Options: struct vamp_samples_options. Samples with times ahead of this machine's clock count as
 * current. The caller sets `may_block` in a copy. When `stop` of the context is set, it ends as
 * soon as nothing is left to read. */
extern const struct vamp_source_ops vamp_source_samples;

/* Lines that were received but gave no sample. */
struct vamp_samples_account {
    uint64_t refused; /* malformed, or with an impossible time; the first few were reported */
    uint64_t beyond;  /* over max_rate */
};
/* For an open source whose thread has ended. */
struct vamp_samples_account vamp_samples_account(const void *object);
