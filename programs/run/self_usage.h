/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory and processor time of this process. Any thread. */
#ifndef VAMP_RUN_SELF_USAGE_H
#define VAMP_RUN_SELF_USAGE_H

#include <stdint.h>

/* Resident memory in bytes, 0 when the system does not report it. */
int64_t vamp_self_rss_bytes(void);
/* Processor time of all threads so far, in ns. */
int64_t vamp_self_cpu_ns(void);

#endif
