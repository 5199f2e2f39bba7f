/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/workflow/payload.h"

#include <string.h>

#define PAYLOAD_MAGIC UINT64_C(0x314d495056524d45)

struct head {
    uint64_t magic, bytes, name_hash, checksum;
};

uint64_t payload_hash(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (const char *c = text; *c != '\0'; c++) {
        hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
    }
    return hash;
}

static uint64_t splitmix(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Depends on the place of every byte, so that swapped or shifted blocks are noticed. */
static uint64_t checksum(const unsigned char *data, size_t bytes)
{
    uint64_t sum = bytes;
    size_t at = 0;
    for (; at + sizeof(uint64_t) <= bytes; at += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, data + at, sizeof(word));
        sum = (sum ^ word) * UINT64_C(0x100000001b3);
        sum ^= sum >> 29;
    }
    for (; at < bytes; at++) {
        sum = (sum ^ data[at]) * UINT64_C(0x100000001b3);
    }
    return sum;
}

void payload_fill(void *data, size_t bytes, const char *cdo_name, uint64_t seed)
{
    struct head head = {PAYLOAD_MAGIC, bytes, payload_hash(cdo_name), 0};
    unsigned char *body = (unsigned char *)data + sizeof(head);
    size_t length = bytes - sizeof(head);
    uint64_t state = seed ^ head.name_hash;
    for (size_t at = 0; at < length; at += sizeof(uint64_t)) {
        uint64_t word = splitmix(&state);
        size_t rest = length - at;
        memcpy(body + at, &word, rest < sizeof(word) ? rest : sizeof(word));
    }
    head.checksum = checksum(body, length);
    memcpy(data, &head, sizeof(head));
}

const char *payload_check(const void *data, size_t bytes, const char *cdo_name,
                          uint64_t *ret_checksum)
{
    struct head head;
    if (bytes < PAYLOAD_BYTES_MIN) {
        return "too short";
    }
    memcpy(&head, data, sizeof(head));
    if (head.magic != PAYLOAD_MAGIC) {
        return "does not begin like a field";
    }
    if (head.bytes != bytes) {
        return "has another size than its producer wrote";
    }
    if (head.name_hash != payload_hash(cdo_name)) {
        return "belongs to another CDO";
    }
    if (head.checksum !=
        checksum((const unsigned char *)data + sizeof(head), bytes - sizeof(head))) {
        return "is damaged";
    }
    *ret_checksum = head.checksum;
    return NULL;
}
