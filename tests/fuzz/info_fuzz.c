/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzz target of the pool manager's info text. The mutator changes the message inside the base64
 * and mends its check sum, so that it gets past both. What is read has to print itself and read
 * back.
 */
/* NOLINTNEXTLINE(bugprone-suspicious-include): for the check sum */
#include "maestro/wire/info.c"

#include <stdlib.h>

#include "tests/fuzz/mutate.h"
#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    require(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    struct info info;
    struct vamp_err err = VAMP_ERR_NONE;
    int result = info_parse(text, &info, &err);
    free(text);
    require(result == 0 || (result == -EINVAL && err.text[0] != '\0'));
    if (result == 0) {
        char first_text[INFO_TEXT_BYTES], again_text[INFO_TEXT_BYTES];
        struct info again;
        require(info.address_length > 0 && info.address_length <= STREAM_ADDRESS_BYTES);
        require(memchr(info.provider, 0, sizeof info.provider) != NULL);
        require(memchr(info.workflow, 0, sizeof info.workflow) != NULL);
        require(info_print(&info, first_text, &err) == 0);
        require(info_parse(first_text, &again, &err) == 0);
        require(info.session == again.session && info.keyed == again.keyed);
        require(strcmp(info.provider, again.provider) == 0);
        require(strcmp(info.workflow, again.workflow) == 0);
        require(info.address_length == again.address_length);
        require(memcmp(info.address, again.address, info.address_length) == 0);
        require(info_print(&again, again_text, &err) == 0);
        require(strcmp(first_text, again_text) == 0);
    }
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    struct dice dice = {.state = seed * 2654435761U | 1U};
    uint8_t packed[RECORD_BYTES];
    char text[INFO_TEXT_BYTES];
    const size_t head = sizeof PREFIX - 1;
    size_t length = 0;
    if (size > head && dice_roll(&dice, 3) != 0) {
        memcpy(text, data + head, size - head < sizeof text ? size - head : sizeof text);
        if (size - head >= sizeof text || !decode(text, (size - head) / 4 * 4, packed, &length)) {
            length = 0;
        }
    }
    if (length == 0) {
        return LLVMFuzzerMutate(data, size, max);
    }
    size_t changed =
        mutate_packed(&mstro__wire__pool_info__descriptor, packed, length, sizeof packed, &dice);
    Mstro__Wire__PoolInfo *record = mstro__wire__pool_info__unpack(NULL, changed, packed);
    if (record != NULL && dice_roll(&dice, 8) != 0) {
        record->check = check_of(record);
        changed = mstro__wire__pool_info__pack(record, packed);
    }
    if (record != NULL) {
        mstro__wire__pool_info__free_unpacked(record, NULL);
    }
    memcpy(text, PREFIX, head);
    size_t whole =
        head + (size_t)EVP_EncodeBlock((unsigned char *)text + head, packed, (int)changed);
    whole = whole < max ? whole : max;
    memcpy(data, text, whole);
    return whole;
}
