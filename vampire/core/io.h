/* SPDX-License-Identifier: BSD-3-Clause */
/* All of it, where read and write may do a part and a signal may end them. Any thread. */
#pragma once

#include <stddef.h>

/* Reads up to the end, or as much as there is room for, which may block. 0 or a positive errno; in
 * both cases `*ret_length` bytes were read. */
int vamp_read_all(int fd, void *bytes, size_t room, size_t *ret_length);
/* 0; a positive errno after `*ret_written` bytes. */
int vamp_write_all(int fd, const void *bytes, size_t length, size_t *ret_written);
