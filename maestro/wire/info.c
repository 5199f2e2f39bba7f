/* SPDX-License-Identifier: BSD-3-Clause */
#include "maestro/wire/info.h"

#include <assert.h>
#include <ctype.h>
#include <netdb.h>
#include <netinet/in.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "maestro/wire/frame.h"
#include "pool.pb-c.h"
#include "vampire/core/hash.h"

#define PREFIX "embedded-maestro-3:"
/* Prefix of releases with an older protocol. */
#define PREFIX_EARLIER "embedded-maestro-"
#define RECORD_BYTES ((size_t)2049) /* a multiple of base64 groups */
#define ARENA_BYTES ((size_t)8192)
#define LINE_HEAD "MSTRO_POOL_MANAGER_INFO;"

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
    if (record->has_key) {
        sum = add_bytes(sum, record->key.data, record->key.len);
        sum = add_number(sum, record->munge != 0, 8);
    }
    if (record->has_host) {
        sum = add_number(sum, record->host, 64);
    }
    return sum;
}

int info_print(const struct info *info, char text[static INFO_TEXT_BYTES], struct vamp_err *err)
{
    Mstro__Wire__PoolInfo record = MSTRO__WIRE__POOL_INFO__INIT;
    record.version = FRAME_VERSION;
    record.provider = frame_text(info->provider);
    record.workflow = frame_text(info->workflow);
    record.address = frame_bytes(info->address, info->address_length);
    record.session = info->session;
    if (info->keyed) {
        record.has_key = 1;
        record.key = frame_bytes(info->key.bytes, sizeof info->key.bytes);
        record.has_munge = info->munge;
        record.munge = info->munge;
    }
    record.has_host = info->host != 0;
    record.host = info->host;
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
    static_assert(sizeof PREFIX + (RECORD_BYTES + 2) / 3 * 4 < INFO_TEXT_BYTES, "the text fits");
    memcpy(text, PREFIX, sizeof PREFIX - 1);
    (void)EVP_EncodeBlock((unsigned char *)text + sizeof PREFIX - 1, packed, (int)length);
    return 0;
}

static int damaged(struct vamp_err *err)
{
    return vamp_err_set(err, -EINVAL, "the pool manager's info is damaged; copy all of it");
}

static int take_record(const Mstro__Wire__PoolInfo *record, struct info *ret_info,
                       struct vamp_err *err)
{
    if (record->version != FRAME_VERSION) {
        return vamp_err_set(err, -EINVAL,
                            "the pool manager uses protocol version %u, this is "
                            "version %d",
                            record->version, FRAME_VERSION);
    }
    if (record->check != check_of(record) || strlen(record->provider) >= INFO_PROVIDER_BYTES ||
        strlen(record->workflow) >= INFO_WORKFLOW_BYTES || record->address.len == 0 ||
        record->address.len > STREAM_ADDRESS_BYTES || record->session == 0 ||
        (record->has_key && record->key.len != SECURE_KEY_BYTES)) {
        return damaged(err);
    }
    struct info info = {.session = record->session,
                        .address_length = record->address.len,
                        .key = secure_open_key,
                        .keyed = record->has_key != 0,
                        .host = record->has_host ? record->host : 0,
                        .munge = record->has_key && record->munge};
    if (info.keyed) {
        memcpy(info.key.bytes, record->key.data, SECURE_KEY_BYTES);
    }
    memcpy(info.provider, record->provider, strlen(record->provider));
    memcpy(info.workflow, record->workflow, strlen(record->workflow));
    memcpy(info.address, record->address.data, record->address.len);
    *ret_info = info;
    return 0;
}

/* Returns false if the text is not base64, or too long. */
static bool decode(const char *text, size_t length, uint8_t packed[static RECORD_BYTES],
                   size_t *ret_bytes)
{
    if (length == 0 || length % 4 != 0 || length / 4 * 3 > RECORD_BYTES) {
        return false;
    }
    const int bytes = EVP_DecodeBlock(packed, (const unsigned char *)text, (int)length);
    unsigned padding = 0;
    while (padding < 2 && text[length - 1 - padding] == '=') {
        padding++;
    }
    *ret_bytes = (size_t)bytes - padding; /* OpenSSL counts padding as zero bytes */
    return bytes > (int)padding;
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
    /* The prefix identifies the release; explain the others. */
    if (strncmp(text, PREFIX, sizeof PREFIX - 1) != 0) {
        const char *dots = length > 20 ? "..." : "";
        if (strncmp(text, PREFIX_EARLIER, sizeof PREFIX_EARLIER - 1) == 0) {
            return vamp_err_set(err, -EINVAL,
                                "the pool manager's info \"%.20s%s\" is from another release with "
                                "another protocol; use the same "
                                "release for the pool manager and for all components",
                                text, dots);
        }
        return vamp_err_set(err, -EINVAL,
                            "the pool manager's info \"%.20s%s\" was not written by an embedded "
                            "Maestro, whose begins with " PREFIX
                            "; build this component and the pool manager with the same Maestro",
                            text, dots);
    }
    /* The rest is a message in base64. */
    uint8_t packed[RECORD_BYTES];
    size_t bytes = 0;
    text += sizeof PREFIX - 1;
    length -= sizeof PREFIX - 1;
    if (!decode(text, length, packed, &bytes)) {
        return damaged(err);
    }
    struct vamp_decode_arena arena = {0};
    int result = vamp_decode_arena_init(&arena, ARENA_BYTES, err);
    if (result != 0) {
        return result;
    }
    const Mstro__Wire__PoolInfo *record =
        mstro__wire__pool_info__unpack(vamp_decode_arena_reset(&arena), bytes, packed);
    if (record == NULL) {
        result = damaged(err);
    } else {
        result = take_record(record, ret_info, err);
    }
    vamp_decode_arena_done(&arena);
    return result;
}

/* Derived from the host's boot id; containers on one host differ in their network namespaces. */
uint64_t info_host(void)
{
    char boot[64] = "";
    struct stat space;
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    const bool known = file != NULL && fgets(boot, sizeof boot, file) != NULL &&
                       stat("/proc/self/ns/net", &space) == 0;
    if (file != NULL) {
        (void)fclose(file);
    }
    if (!known) {
        return 0;
    }
    return vamp_hash_bytes(space.st_ino, boot, strlen(boot)) | 1;
}

static bool is_loopback(const struct sockaddr_storage *address)
{
    if (address->ss_family == AF_INET6) {
        return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)address)->sin6_addr);
    }
    return address->ss_family == AF_INET &&
           ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

bool info_is_elsewhere(const struct info *info, uint64_t here,
                       char ret_address[static INFO_ADDRESS_BYTES])
{
    struct sockaddr_storage address = {0};
    char node[64] = "its address", port[8] = "";
    if (info->address_length <= sizeof address) {
        memcpy(&address, info->address, info->address_length);
        (void)getnameinfo((const struct sockaddr *)&address, (socklen_t)info->address_length, node,
                          sizeof node, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV);
    }
    (void)snprintf(ret_address, INFO_ADDRESS_BYTES, "%s%s%s", node, port[0] != '\0' ? ":" : "",
                   port);
    return is_loopback(&address) && info->host != 0 && here != 0 && info->host != here;
}
