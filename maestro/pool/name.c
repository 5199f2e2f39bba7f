/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "maestro/pool/internal.h"

/* The length of the UTF-8 character at `text` (terminated), 0 when there is none. */
static size_t character_bytes(const unsigned char *text)
{
    static const unsigned char first[] = {0, 0, 0xc2, 0xe0, 0xf0};
    if (text[0] < 0x80) {
        return 1;
    }
    size_t length = text[0] >= 0xf0 ? 4 : text[0] >= 0xe0 ? 3 : 2;
    if (text[0] < first[length] || text[0] > 0xf4) {
        return 0;
    }
    for (size_t i = 1; i < length; i++) {
        if ((text[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    bool overlong = (text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xf0 && text[1] < 0x90);
    bool surrogate = text[0] == 0xed && text[1] >= 0xa0;
    bool beyond = text[0] == 0xf4 && text[1] >= 0x90;
    return overlong || surrogate || beyond ? 0 : length;
}

const char *pool_name_fault(const char *name)
{
    size_t length = strlen(name);
    if (length == 0) {
        return "is empty";
    }
    if (length > VAMP_NAME_BYTES_MAX) {
        return "is longer than 4096 bytes";
    }
    for (const unsigned char *at = (const unsigned char *)name; *at != '\0';) {
        size_t bytes = character_bytes(at);
        if (bytes == 0) {
            return "is not valid UTF-8";
        }
        at += bytes;
    }
    return NULL;
}
