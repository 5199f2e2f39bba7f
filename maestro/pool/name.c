/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "maestro/pool/internal.h"
#include "vampire/core/utf8.h"

const char *pool_name_fault(const char *name)
{
    size_t length = strlen(name);
    if (length == 0) {
        return "is empty";
    }
    if (length > VAMP_NAME_BYTES_MAX) {
        return "is longer than 4096 bytes";
    }
    return vamp_utf8_is_valid(name) ? NULL : "is not valid UTF-8";
}
