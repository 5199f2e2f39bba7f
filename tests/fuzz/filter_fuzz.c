/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fuzz target of the filter compiler: the first byte chooses where the filter stands, the rest up
 * to a zero byte is the text, what follows is the name of the CDO it is tried on. Whatever compiles
 * has to print itself, compile again to the same, and match the same.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "filters/event_filter.h"
#include "filters/expression.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition) {
        abort();
    }
}

static struct vamp_event event_of_kind(unsigned kind, const char *name, size_t length)
{
    return (struct vamp_event){.kind = (uint8_t)kind,
                               .name = name,
                               .name_length = (uint32_t)length,
                               .app_id = 1,
                               .size_bytes = length,
                               .cdo_id = {1, 2},
                               .tier = VAMP_TIER_OFI,
                               .present = UINT16_MAX & ~VAMP_HAS_COMPONENT_NAME};
}

static void try_filter(const char *text, enum vamp_filter_place place, const char *name,
                       size_t length)
{
    struct vamp_named_filters named = {0};
    struct vamp_event_filter *filter = NULL, *again = NULL;
    struct vamp_err err = VAMP_ERR_NONE;
    require(vamp_named_filters_add(&named, "n", "(or (.cdo.size > 1) @m)", &err) == 0);
    require(vamp_named_filters_add(&named, "m", "(.cdo.name glob \"*a*\")", &err) == 0);
    require(vamp_named_filters_add(&named, "c", "(not @c)", &err) == 0);
    int rc = vamp_event_filter_compile(text, place, &named, &filter, &err);
    require(rc == 0 || (rc < 0 && err.text[0] != '\0'));
    char *normal = rc == 0 ? vamp_event_filter_print(filter) : NULL;
    if (normal != NULL && strlen(normal) <= VAMP_EXPRESSION_TEXT_BYTES_MAX) {
        require(vamp_event_filter_compile(normal, place, NULL, &again, &err) == 0);
        char *normal_again = vamp_event_filter_print(again);
        require(normal_again != NULL && strcmp(normal, normal_again) == 0);
        free(normal_again);
        require(vamp_event_filter_kinds(filter) == vamp_event_filter_kinds(again));
        for (unsigned kind = 0; kind < 32; kind++) {
            struct vamp_event event = event_of_kind(kind, name, length);
            require(vamp_event_filter_match(filter, &event, NULL) ==
                    vamp_event_filter_match(again, &event, NULL));
        }
    }
    free(normal);
    vamp_event_filter_free(filter);
    vamp_event_filter_free(again);
}

static void one_value(void *context, int field, const char *name, struct vamp_value *ret)
{
    (void)field, (void)name;
    *ret = *(const struct vamp_value *)context;
}

static void try_selector(const char *text, const char *name, size_t length)
{
    const struct vamp_vocabulary vocabulary = {.prefix = ".maestro.x."};
    struct vamp_expression *expression = NULL;
    struct vamp_err err = VAMP_ERR_NONE;
    if (vamp_expression_compile(text, &vocabulary, &expression, &err) != 0) {
        require(err.text[0] != '\0');
        return;
    }
    struct vamp_value values[] = {
        {.type = VAMP_VALUE_ABSENT},
        {.type = VAMP_VALUE_BOOL, .boolean = true},
        {.type = VAMP_VALUE_INT, .integer = INT64_MIN},
        {.type = VAMP_VALUE_UINT, .natural = UINT64_MAX},
        {.type = VAMP_VALUE_DOUBLE, .real = 0.5},
        {.type = VAMP_VALUE_TEXT, .text = {name, length}},
    };
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        (void)vamp_expression_match(expression, one_value, &values[i]);
    }
    vamp_expression_free(expression);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1) {
        return 0;
    }
    /* Copies of the exact size, so that a read too far is seen. */
    const uint8_t *zero = memchr(data + 1, 0, size - 1);
    size_t text_length = zero != NULL ? (size_t)(zero - data) - 1 : size - 1;
    size_t name_length = zero != NULL ? size - text_length - 2 : 0;
    char *text = malloc(text_length + 1), *name = malloc(name_length > 0 ? name_length : 1);
    require(text != NULL && name != NULL);
    memcpy(text, data + 1, text_length);
    text[text_length] = '\0';
    if (name_length > 0) {
        memcpy(name, zero + 1, name_length);
    }
    switch (data[0] % 3) {
    case 0:
        try_filter(text, VAMP_FILTER_INSIDE, name, name_length);
        break;
    case 1:
        try_filter(text, VAMP_FILTER_FIRST, name, name_length);
        break;
    default:
        try_selector(text, name, name_length);
    }
    free(text);
    free(name);
    return 0;
}
