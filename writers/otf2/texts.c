/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "writers/otf2/internal.h"

struct known_text {
    struct map_link link;
    uint32_t number;
    char text[];
};

int otf2_texts_init(struct otf2_texts *texts, OTF2_GlobalDefWriter *writer)
{
    texts->writer = writer;
    return map_init(&texts->map);
}

void otf2_texts_done(struct otf2_texts *texts)
{
    for (size_t i = 0; i < texts->map.slot_count; i++) {
        struct map_link *link = texts->map.slots[i];
        while (link != NULL) {
            struct known_text *known = CONTAINER_OF(link, struct known_text, link);
            link = link->next;
            free(known);
        }
    }
    map_done(&texts->map);
}

OTF2_ErrorCode otf2_text(struct otf2_texts *texts, const char *text, uint32_t *ret_number)
{
    const size_t length = strlen(text);
    const uint64_t hash = map_hash_text(&texts->map, text, length);
    for (struct map_link *link = map_first(&texts->map, hash); link != NULL;
         link = map_next(link)) {
        const struct known_text *known = CONTAINER_OF(link, struct known_text, link);
        if (strcmp(known->text, text) == 0) {
            *ret_number = known->number;
            return OTF2_SUCCESS;
        }
    }
    struct known_text *known = malloc(sizeof *known + length + 1);
    if (known == NULL) {
        return OTF2_ERROR_ENOMEM;
    }
    known->number = *ret_number = texts->count++;
    memcpy(known->text, text, length + 1);
    map_insert(&texts->map, &known->link, hash);
    return OTF2_GlobalDefWriter_WriteString(texts->writer, known->number, text);
}
