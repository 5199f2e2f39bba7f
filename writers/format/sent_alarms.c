/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/format/sent_alarms.h"

const char *const vamp_send_words[] = {"buckets", "alarms", NULL};

unsigned vamp_sent_alarms_count(const struct vamp_sent_alarms *sent,
                                const struct vamp_bucket *bucket)
{
    unsigned count = 0;
    for (unsigned i = 0; i < bucket->alarm_count; i++) {
        count += vamp_sent_alarms_have(sent, &bucket->alarms[i]);
    }
    return count;
}
