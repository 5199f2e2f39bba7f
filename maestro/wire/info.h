/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The text of MSTRO_POOL_MANAGER_INFO: the pool manager's address, and the key that joining
 * components authenticate with. The text is a secret: any process that has it can join. One
 * printable line without ';', opaque to users: a version prefix and a PoolInfo message (pool.proto)
 * in base64.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "maestro/wire/secure.h"
#include "maestro/wire/stream.h"
#include "vampire/core/err.h"

#define INFO_PROVIDER_BYTES 64
#define INFO_WORKFLOW_BYTES 1024
#define INFO_TEXT_BYTES 4096

struct info {
    uint64_t session;
    char provider[INFO_PROVIDER_BYTES]; /* for payloads, selected by the pool manager's user */
    char workflow[INFO_WORKFLOW_BYTES];
    uint8_t address[STREAM_ADDRESS_BYTES];
    size_t address_length;
    bool keyed;            /* false: the key is secure_open_key */
    struct secure_key key; /* required for joining */
    uint64_t host;         /* info_host() of the pool manager; 0: unknown */
    bool munge; /* joining also requires a MUNGE credential (credential.h); only with a key */
};

/* Returns 0, or -EMSGSIZE if the text does not fit. */
VAMP_MUST_CHECK int info_print(const struct info *info, char text[static INFO_TEXT_BYTES],
                               struct vamp_err *err);
/* Parses the text of info_print, or the line "MSTRO_POOL_MANAGER_INFO;<info>;" with blanks around
 * it. Returns 0, or -EINVAL with a text that explains the error. */
VAMP_MUST_CHECK int info_parse(const char *text, struct info *ret_info, struct vamp_err *err);
/* Returns an id of this host and of this process's network namespace; 0: unknown. */
uint64_t info_host(void);
/* Writes the address on which the pool manager listens, "ADDRESS:PORT". Returns true if it is a
 * loopback address and `here` is known to be another host than the pool manager's. */
#define INFO_ADDRESS_BYTES 80
bool info_is_elsewhere(const struct info *info, uint64_t here,
                       char ret_address[static INFO_ADDRESS_BYTES]);
