/* SPDX-License-Identifier: BSD-3-Clause */
/* The end of one output alone; programs end all of theirs side by side. */
#pragma once

#include "vampire/core/clock.h"
#include "vampire/core/worker.h"
#include "writers/output/output.h"

/* As vamp_output_end until it is true, then vamp_output_finish with two seconds to close. */
static inline int finish_output(struct vamp_output *output, const struct vamp_ending *ending,
                                int64_t deadline_ns, struct vamp_err *err)
{
    const int64_t until_ns = vamp_worker_now_ns() + deadline_ns;
    while (!vamp_output_end(output, ending, until_ns)) {
        vamp_sleep_ns(200000);
    }
    return vamp_output_finish(output, until_ns + 2 * VAMP_NS_PER_SECOND, err);
}
