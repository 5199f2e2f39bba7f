/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/format/attempts.h"

#include <stdarg.h>
#include <stdio.h>

#include "vampire/core/clock.h"
#include "vampire/core/values.h"
#include "vampire/core/worker.h"

#define POLL_NS INT64_C(50000000)
#define PAUSE_FIRST_NS (VAMP_NS_PER_SECOND / 4)
#define PAUSE_LONGEST_NS (5 * VAMP_NS_PER_SECOND)

int vamp_attempts_await(const struct vamp_attempts *attempts, struct vamp_err *err)
{
    const int64_t until_ns = vamp_worker_now_ns() + VAMP_ATTEMPT_NS;
    while (vamp_worker_now_ns() < attempts->again_ns && vamp_worker_now_ns() < until_ns) {
        vamp_sleep_ns(POLL_NS);
    }
    if (vamp_worker_now_ns() >= attempts->again_ns) {
        return 0;
    }
    return vamp_err_set(err, -EAGAIN, "%s", attempts->last);
}

int vamp_attempts_failed(struct vamp_attempts *attempts, struct vamp_err *err, const char *format,
                         ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(attempts->last, sizeof attempts->last, format, arguments);
    va_end(arguments);
    const int64_t longer_ns = VAMP_MAX(attempts->pause_ns * 2, PAUSE_FIRST_NS);
    attempts->pause_ns = VAMP_MIN(longer_ns, PAUSE_LONGEST_NS);
    attempts->again_ns = vamp_worker_now_ns() + attempts->pause_ns;
    return vamp_err_set(err, -EAGAIN, "%s", attempts->last);
}

void vamp_attempts_postpone(struct vamp_attempts *attempts, int64_t seconds)
{
    const int64_t longest_s = VAMP_POSTPONE_NS / VAMP_NS_PER_SECOND;
    const int64_t pause_s = VAMP_MIN(seconds, longest_s);
    const int64_t again_ns = vamp_worker_now_ns() + pause_s * VAMP_NS_PER_SECOND;
    attempts->again_ns = VAMP_MAX(again_ns, attempts->again_ns);
}

void vamp_attempts_succeeded(struct vamp_attempts *attempts)
{
    attempts->pause_ns = 0;
    attempts->again_ns = 0;
    attempts->last[0] = '\0';
}
