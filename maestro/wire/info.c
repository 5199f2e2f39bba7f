/* SPDX-License-Identifier: BSD-3-Clause */
#include "maestro/wire/info.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "maestro/wire/frame.h"
#include "pool.pb-c.h"

#define PREFIX "embedded-maestro-2:"
#define PREFIX_WITHOUT_KEY "embedded-maestro-1:"
#define RECORD_BYTES ((size_t)2048)
#define ARENA_BYTES ((size_t)8192)
#define LINE_HEAD "MSTRO_POOL_MANAGER_INFO;"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Returns the number of characters, terminated. */
static size_t base64_print(const uint8_t *bytes, size_t length, char *text)
{
    char *at = text;
    for (size_t i = 0; i < length; i += 3) {
        uint32_t group = (uint32_t)bytes[i] << 16;
        group |= i + 1 < length ? (uint32_t)bytes[i + 1] << 8 : 0;
        group |= i + 2 < length ? bytes[i + 2] : 0;
        *at++ = digits[group >> 18];
        *at++ = digits[group >> 12 & 63];
        *at++ = i + 1 < length ? digits[group >> 6 & 63] : '=';
        *at++ = i + 2 < length ? digits[group & 63] : '=';
    }
    *at = '\0';
    return (size_t)(at - text);
}

/* The bytes, or -1 when the text is no base64 or too long. */
static int base64_parse(const char *text, size_t length, uint8_t *bytes, size_t size)
{
    size_t used = 0;
    uint32_t group = 0;
    size_t data = length;
    while (data > 0 && length - data < 2 && text[data - 1] == '=') {
        data--;
    }
    if (length % 4 != 0) {
        return -1;
    }
    for (size_t i = 0; i < data; i++) {
        const char *digit = memchr(digits, text[i], sizeof digits - 1);
        if (digit == NULL) {
            return -1;
        }
        group = group << 6 | (uint32_t)(digit - digits);
        if (i % 4 != 0) { /* each further digit completes a byte */
            if (used == size) {
                return -1;
            }
            bytes[used++] = (uint8_t)(group >> (6 - 2 * (i % 4)));
        }
    }
    return (int)used;
}

static uint32_t add_bytes(uint32_t sum, const void *bytes, size_t length)
{
    const uint8_t *at = bytes;
    for (size_t i = 0; i < length; i++) {
        sum = (sum ^ at[i]) * UINT32_C(16777619);
    }
    return sum;
}

static uint32_t add_number(uint32_t sum, uint64_t number, unsigned bits)
{
    for (unsigned shift = 0; shift < bits; shift += 8) {
        uint8_t byte = (uint8_t)(number >> shift);
        sum = add_bytes(sum, &byte, 1);
    }
    return sum;
}

static uint32_t check_of(const Mstro__Wire__PoolInfo *record)
{
    uint32_t sum = add_number(UINT32_C(2166136261), record->session, 64);
    sum = add_bytes(sum, record->provider, strlen(record->provider) + 1);
    sum = add_bytes(sum, record->workflow, strlen(record->workflow) + 1);
    sum = add_bytes(sum, record->address.data, record->address.len);
    sum = record->has_protocol ? add_number(sum, record->protocol, 32) : sum;
    if (record->has_key && record->challenge != NULL) {
        sum = add_bytes(sum, record->key.data, record->key.len);
        sum = add_number(sum, record->challenge->address, 64);
        sum = add_number(sum, record->challenge->key, 64);
        sum = add_number(sum, record->challenge->bytes, 64);
        sum = add_number(sum, record->munge ? 1 : 0, 8);
    }
    return sum;
}

int info_print(const struct info *info, char text[static INFO_TEXT_BYTES], struct vamp_err *err)
{
    /* protobuf-c's structures have no const; packing does not write to them */
    union {
        const char *in;
        char *out;
    } provider = {info->provider}, workflow = {info->workflow};
    union {
        const uint8_t *in;
        uint8_t *out;
    } address = {info->address}, key = {info->key.bytes};
    Mstro__Wire__Memory challenge = MSTRO__WIRE__MEMORY__INIT;
    Mstro__Wire__PoolInfo record = MSTRO__WIRE__POOL_INFO__INIT;
    record.version = FRAME_VERSION;
    record.provider = provider.out;
    record.workflow = workflow.out;
    record.address = (ProtobufCBinaryData){.len = info->address_length, .data = address.out};
    record.session = info->session;
    record.has_protocol = 1;
    record.protocol = info->protocol;
    if (info->keyed) {
        record.has_key = 1;
        record.key = (ProtobufCBinaryData){.len = sizeof info->key.bytes, .data = key.out};
        challenge.address = info->challenge.address;
        challenge.key = info->challenge.key;
        challenge.bytes = AUTH_CHALLENGE_BYTES;
        record.challenge = &challenge;
        record.has_munge = info->munge;
        record.munge = info->munge;
    }
    record.check = check_of(&record);
    uint8_t packed[RECORD_BYTES] = {0};
    size_t length = mstro__wire__pool_info__get_packed_size(&record);
    if (length > sizeof packed) {
        return vamp_err_set(err, -EMSGSIZE,
                            "the workflow's name is too long for the pool manager's "
                            "info: %zu bytes, at most %d",
                            strlen(info->workflow), INFO_WORKFLOW_BYTES - 1);
    }
    (void)mstro__wire__pool_info__pack(&record, packed);
    static_assert(sizeof PREFIX + (RECORD_BYTES + 2) / 3 * 4 < INFO_TEXT_BYTES, "text has room");
    memcpy(text, PREFIX, sizeof PREFIX - 1);
    (void)base64_print(packed, length, text + sizeof PREFIX - 1);
    return 0;
}

static int take_record(const Mstro__Wire__PoolInfo *record, struct info *ret_info,
                       struct vamp_err *err)
{
    if (record->version != FRAME_VERSION) {
        return vamp_err_set(err, -EINVAL,
                            "the pool manager speaks protocol version %u, this is "
                            "version %d",
                            record->version, FRAME_VERSION);
    }
    if (record->check != check_of(record) || strlen(record->provider) >= INFO_PROVIDER_BYTES ||
        strlen(record->workflow) >= INFO_WORKFLOW_BYTES || record->address.len == 0 ||
        record->address.len > FABRIC_ADDRESS_BYTES || record->session == 0 ||
        (record->has_key && (record->key.len != AUTH_KEY_BYTES || record->challenge == NULL))) {
        return vamp_err_set(err, -EINVAL, "the pool manager's info is damaged; copy all of it");
    }
    struct info info = {.session = record->session,
                        .address_length = record->address.len,
                        .protocol = record->protocol,
                        .keyed = record->has_key != 0,
                        .munge = record->has_key && record->munge};
    if (info.keyed) {
        memcpy(info.key.bytes, record->key.data, AUTH_KEY_BYTES);
        info.challenge.address = record->challenge->address;
        info.challenge.key = record->challenge->key;
    }
    memcpy(info.provider, record->provider, strlen(record->provider));
    memcpy(info.workflow, record->workflow, strlen(record->workflow));
    memcpy(info.address, record->address.data, record->address.len);
    *ret_info = info;
    return 0;
}

int info_parse(const char *text, struct info *ret_info, struct vamp_err *err)
{
    while (isspace((unsigned char)*text)) {
        text++;
    }
    if (strncmp(text, LINE_HEAD, sizeof LINE_HEAD - 1) == 0) {
        text += sizeof LINE_HEAD - 1;
    }
    size_t length = strcspn(text, "; \t\r\n");
    if (length == 0) {
        return vamp_err_set(err, -EINVAL, "the pool manager's info is empty");
    }
    if (strncmp(text, PREFIX_WITHOUT_KEY, sizeof PREFIX_WITHOUT_KEY - 1) == 0) {
        return vamp_err_set(err, -EINVAL,
                            "the pool manager's info is of an earlier release, whose components "
                            "joined without a key; use the same release for the pool manager and "
                            "for all components");
    }
    if (strncmp(text, PREFIX, sizeof PREFIX - 1) != 0) {
        return vamp_err_set(err, -EINVAL,
                            "the pool manager's info \"%.20s%s\" was not written by an "
                            "embedded Maestro of this version; it begins with " PREFIX,
                            text, length > 20 ? "..." : "");
    }
    uint8_t packed[RECORD_BYTES];
    int bytes =
        base64_parse(text + sizeof PREFIX - 1, length - (sizeof PREFIX - 1), packed, sizeof packed);
    if (bytes <= 0) {
        return vamp_err_set(err, -EINVAL, "the pool manager's info is damaged; copy all of it");
    }
    struct vamp_decode_arena arena = {0};
    int result = vamp_decode_arena_init(&arena, ARENA_BYTES, err);
    if (result != 0) {
        return result;
    }
    const Mstro__Wire__PoolInfo *record =
        mstro__wire__pool_info__unpack(vamp_decode_arena_reset(&arena), (size_t)bytes, packed);
    result = record == NULL
                 ? vamp_err_set(err, -EINVAL, "the pool manager's info is damaged; copy all of it")
                 : take_record(record, ret_info, err);
    vamp_decode_arena_done(&arena);
    return result;
}
