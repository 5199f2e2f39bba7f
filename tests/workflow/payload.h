/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The content of a field of the demo workflow: a head that says what follows, then generated words.
 * A receiver can check whether it is complete and belongs to the CDO it came with, and two runs
 * with the same seed produce the same bytes.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define PAYLOAD_BYTES_MIN 64

/* Fills `bytes` bytes (at least PAYLOAD_BYTES_MIN) at `data`, aligned to 8. */
void payload_fill(void *data, size_t bytes, const char *cdo_name, uint64_t seed);

/* NULL when the payload is what payload_fill made for this CDO, else what is wrong. On success
 * `*ret_checksum` is its checksum. */
const char *payload_check(const void *data, size_t bytes, const char *cdo_name,
                          uint64_t *ret_checksum);

/* FNV-1a, for names. */
uint64_t payload_hash(const char *text);
