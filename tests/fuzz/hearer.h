/* SPDX-License-Identifier: BSD-3-Clause */
/* The component above a port, for fuzz targets: takes every payload and looks at what it hears. */
#ifndef TESTS_FUZZ_HEARER_H
#define TESTS_FUZZ_HEARER_H

#include <stdlib.h>

#include "maestro/client/port.h"
#include "tests/fuzz/require.h"
#include "tests/fuzz/script.h"

#define HEARER_PAYLOAD_BYTES_MAX ((uint64_t)3 << 20)

struct hearer {
    uint8_t *places[SCRIPT_STEPS_MAX]; /* of payloads, freed at the end: reads may be under way */
    unsigned place_count, gone;
};

static inline void *hearer_place(void *context, const Mstro__Wire__Ticket *ticket)
{
    struct hearer *hearer = context;
    require(ticket->memory != NULL && ticket->memory->bytes > 0);
    if (ticket->memory->bytes > HEARER_PAYLOAD_BYTES_MAX ||
        hearer->place_count == SCRIPT_STEPS_MAX) {
        return NULL;
    }
    uint8_t *memory = malloc((size_t)ticket->memory->bytes);
    require(memory != NULL);
    hearer->places[hearer->place_count++] = memory;
    return memory;
}

static inline void hearer_arrived(void *context, const Mstro__Wire__Ticket *ticket,
                                  mstro_status status)
{
    (void)context;
    require(status < mstro_status_MAX);
    for (size_t i = 0; i < ticket->n_attributes; i++) {
        require(ticket->attributes[i]->key != NULL);
    }
}

static inline void hearer_gone(void *context, mstro_status status, const char *text)
{
    struct hearer *hearer = context;
    require(hearer->gone++ == 0 && status == MSTRO_NO_PM && text[0] != '\0');
}

/* `take_batch` gets no context. */
static inline struct port_events hearer_callbacks(struct hearer *hearer,
                                                  void (*take_batch)(void *context,
                                                                     struct frame_batch *batch))
{
    return (struct port_events){.place = hearer_place,
                                .arrived = hearer_arrived,
                                .events = take_batch,
                                .gone = hearer_gone,
                                .context = hearer};
}

/* Once nothing reads any more. */
static inline void hearer_free_places(struct hearer *hearer)
{
    for (unsigned i = 0; i < hearer->place_count; i++) {
        free(hearer->places[i]);
    }
}

#endif
