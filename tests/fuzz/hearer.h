/* SPDX-License-Identifier: BSD-3-Clause */
/* The component above a port, for fuzz targets: takes every payload and looks at what it hears. */
#pragma once

#include <stdlib.h>

#include "maestro/client/port.h"
#include "tests/fuzz/require.h"
#include "tests/fuzz/script.h"
#include "vampire/core/event/codec.h"

#define HEARER_PAYLOAD_BYTES_MAX ((uint64_t)3 << 20)

struct hearer {
    uint8_t *places[SCRIPT_STEPS_MAX]; /* of payloads, freed at the end: reads may be under way */
    unsigned place_count, gone;
    uint64_t refused; /* events */
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

/* Looks at every byte of every name; counts events that cannot be understood. */
static inline int hearer_events(void *context, const uint8_t *packed, size_t length,
                                struct vamp_err *err)
{
    struct hearer *hearer = context;
    uint32_t letters = 0;
    struct vamp_event_batch batch;
    const uint8_t *bytes = NULL;
    size_t event_length = 0;
    const int result = vamp_event_batch_open(packed, length, &batch, err);
    while (result == 0 && vamp_event_batch_next(&batch, &bytes, &event_length)) {
        struct vamp_event event;
        if (vamp_event_read(bytes, event_length, &event, NULL) != 0) {
            hearer->refused++;
            continue;
        }
        require(event.name_length <= VAMP_NAME_BYTES_MAX);
        for (uint32_t k = 0; k < event.name_length; k++) {
            letters += event.name[k] == '\0' ? 0U : 1U;
        }
    }
    require(letters < UINT32_MAX);
    return result;
}

static inline struct port_events hearer_callbacks(struct hearer *hearer)
{
    return (struct port_events){.place = hearer_place,
                                .arrived = hearer_arrived,
                                .events = hearer_events,
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
