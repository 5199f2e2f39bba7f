/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/format/sent_alarms.h"

const char *const vamp_send_words[] = {"buckets", "alarms", NULL};
