/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/stats/cells/attributes.h"

#include <stdlib.h>
#include <string.h>

#include "vampire/core/event/components.h"
#include "vampire/core/hash.h"
#include "vampire/core/utf8.h"
#include "vampire/stats/bucket/bucket.h"

struct vamp_combination {
    struct map_link link; /* in the map, by the labels */
    const char *labels[VAMP_ATTRIBUTES_MAX];
    unsigned given_up;
};

int vamp_attributes_init(struct vamp_attributes *attributes, uint64_t values_max)
{
    *attributes = (struct vamp_attributes){.count = vamp_attribute_count(),
                                           .values_max = (uint32_t)values_max};
    if (attributes->count == 0) {
        return 0;
    }
    int status = map_init(&attributes->by_labels);
    for (unsigned i = 0; i < attributes->count; i++) {
        attributes->values[i] = calloc(values_max + 1, sizeof *attributes->values[i]);
        if (attributes->values[i] == NULL) {
            status = -ENOMEM;
        }
    }
    attributes->combinations =
        calloc(VAMP_ATTRIBUTES_COMBINATIONS, sizeof *attributes->combinations);
    if (status != 0 || attributes->combinations == NULL) {
        return -ENOMEM;
    }
    struct vamp_combination *other = &attributes->combinations[attributes->combination_count++];
    other->given_up = attributes->count;
    for (unsigned i = 0; i < attributes->count; i++) {
        other->labels[i] = VAMP_SERIES_OTHER;
    }
    return 0;
}

void vamp_attributes_done(struct vamp_attributes *attributes)
{
    map_done(&attributes->by_labels);
    for (unsigned i = 0; i < attributes->count; i++) {
        while (attributes->value_count[i] > 0) {
            free(attributes->values[i][--attributes->value_count[i]]);
        }
        free(attributes->values[i]);
    }
    free(attributes->combinations);
    *attributes = (struct vamp_attributes){.count = 0};
}

/* ---- one CDO */

struct wanted {
    char text[VAMP_ATTRIBUTES_MAX]
             [VAMP_ATTRIBUTE_BYTES + 2]; /* prefixed with a backslash, terminated */
    const char *labels[VAMP_ATTRIBUTES_MAX];
};

/* Returns the combination of these labels; 0 if there is none, or if all labels are `(other)`. */
static uint32_t find(const struct vamp_attributes *attributes, const struct wanted *wanted,
                     uint64_t *ret_hash)
{
    *ret_hash = 0;
    for (unsigned i = 0; i < attributes->count; i++) {
        const char *label = wanted->labels[i];
        *ret_hash =
            vamp_hash_word(*ret_hash, map_hash_text(&attributes->by_labels, label, strlen(label)));
    }
    for (struct map_link *link = map_first(&attributes->by_labels, *ret_hash); link != NULL;
         link = map_next(link)) {
        struct vamp_combination *known = CONTAINER_OF(link, struct vamp_combination, link);
        unsigned same = 0;
        while (same < attributes->count && strcmp(known->labels[same], wanted->labels[same]) == 0) {
            same++;
        }
        if (same == attributes->count) {
            return (uint32_t)(known - attributes->combinations);
        }
    }
    return 0;
}

/* Returns the stored text of `label`, adding a new one; `(other)` at the limit or out of memory. */
static const char *keep_value(struct vamp_attributes *attributes, unsigned attribute,
                              const char *label)
{
    char **values = attributes->values[attribute];
    uint32_t *count = &attributes->value_count[attribute];
    if (strcmp(label, VAMP_COMPONENT_UNKNOWN_NAME) == 0) {
        return VAMP_COMPONENT_UNKNOWN_NAME;
    }
    if (strcmp(label, VAMP_SERIES_OTHER) == 0) {
        return VAMP_SERIES_OTHER;
    }
    for (uint32_t i = 0; i < *count; i++) {
        if (strcmp(values[i], label) == 0) {
            return values[i];
        }
    }
    char *added = NULL;
    if (*count < attributes->values_max) {
        added = strdup(label);
    }
    if (added == NULL) {
        return VAMP_SERIES_OTHER;
    }
    values[(*count)++] = added;
    return added;
}

/* Adds a combination of labels. Returns its number; 0 if all are `(other)`, or at the limit. */
static uint32_t add(struct vamp_attributes *attributes, struct wanted *wanted)
{
    uint64_t hash = 0;
    unsigned given_up = 0;
    for (unsigned i = 0; i < attributes->count; i++) {
        wanted->labels[i] = keep_value(attributes, i, wanted->labels[i]);
        given_up += strcmp(wanted->labels[i], VAMP_SERIES_OTHER) == 0;
    }
    const uint32_t known = find(attributes, wanted, &hash);
    if (known != 0 || given_up == attributes->count ||
        attributes->combination_count == VAMP_ATTRIBUTES_COMBINATIONS) {
        return known;
    }
    struct vamp_combination *added = &attributes->combinations[attributes->combination_count];
    memcpy(added->labels, wanted->labels, sizeof added->labels);
    added->given_up = given_up;
    map_insert(&attributes->by_labels, &added->link, hash);
    return attributes->combination_count++;
}

uint32_t vamp_attributes_number(struct vamp_attributes *attributes,
                                const struct vamp_attribute_texts *texts)
{
    struct wanted wanted;
    uint64_t hash = 0;
    for (unsigned i = 0; i < attributes->count; i++) {
        const struct vamp_attribute_text *text = &texts->items[i];
        size_t length = 0;
        if (text->length > 0) {
            length = vamp_utf8_cut(text->begin, strnlen(text->begin, text->length),
                                   VAMP_ATTRIBUTE_BYTES);
        }
        char *label = wanted.text[i];
        const bool reserved = vamp_component_name_is_reserved(text->begin, length);
        label[0] = '\\';
        if (length > 0) {
            memcpy(label + reserved, text->begin, length);
        }
        label[reserved + length] = '\0';
        wanted.labels[i] = length > 0 ? label : VAMP_COMPONENT_UNKNOWN_NAME;
    }
    const uint32_t known = find(attributes, &wanted, &hash);
    return known != 0 ? known : add(attributes, &wanted);
}

uint32_t vamp_attributes_copy(struct vamp_attributes *attributes,
                              const struct vamp_attributes *from, uint32_t number)
{
    struct wanted wanted;
    uint64_t hash = 0;
    memcpy(wanted.labels, from->combinations[number].labels, sizeof wanted.labels);
    const uint32_t known = find(attributes, &wanted, &hash);
    return known != 0 ? known : add(attributes, &wanted);
}

const char *vamp_attributes_text(const struct vamp_attributes *attributes, uint32_t number,
                                 unsigned attribute)
{
    return attributes->combinations[number].labels[attribute];
}

unsigned vamp_attributes_given_up(const struct vamp_attributes *attributes, uint32_t number)
{
    return attributes->combinations[number].given_up;
}
