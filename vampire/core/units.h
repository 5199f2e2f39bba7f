/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers with separators and units, as shown in the status line, the summary and alarms. */
#pragma once

#include <stdint.h>

#define VAMP_UNIT_TEXT_BYTES 32

/* "1,234,567" */
const char *vamp_count_people(uint64_t count, char text[static VAMP_UNIT_TEXT_BYTES]);
/* "1.2 GiB", "823 B" */
const char *vamp_bytes_people(double bytes, char text[static VAMP_UNIT_TEXT_BYTES]);
/* "55.0 %". A small fraction is never shown as 0 %, and an incomplete one never as 100 %. */
const char *vamp_share_people(double part, double all, char text[static VAMP_UNIT_TEXT_BYTES]);
/* "1.23 ms", "45 s" */
const char *vamp_duration_people(uint64_t ns, char text[static VAMP_UNIT_TEXT_BYTES]);
/* The same for a duration of which only bounds may be known: "12 ms", "< 12 ms", "8 ms to 12 ms".
 */
const char *vamp_duration_between(uint64_t low, uint64_t high,
                                  char text[static VAMP_UNIT_TEXT_BYTES]);
