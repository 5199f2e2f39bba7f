/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pairing state: what it costs to find the CDO of an event among so many live ones, next to
 * reading a word of a random element of an array as large; the longest time a single one took to be
 * taken in; memory for each.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "tests/bench/bench.h"
#include "vampire/stats/pairing/records.h"
#include "vampire/stats/stats.h"

#define LOOKUPS ((uint64_t)1 << 20)
/* A group of events asks for more than one record each: its CDO and what it may pair with. */
#define ROUND_BATCH (2 * VAMP_LOOK_AHEAD)
#define RECORD_WORDS 11 /* of the array: as large as a record */

struct pairing {
    struct vamp_tracker tracker;
    struct vamp_components *components;
    uint64_t live, random, base_random, checksum;
    uint64_t (*array)[RECORD_WORDS];
    uint64_t resident_bytes; /* that the CDOs took */
    double worst_insert_ns, insert_ns;
};

static uint64_t mix(uint64_t value)
{
    value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
    return value ^ value >> 31;
}

static uint64_t next_random(uint64_t *state)
{
    return mix(*state += UINT64_C(0x9e3779b97f4a7c15));
}

static struct vamp_key cdo_key(uint64_t number)
{
    return vamp_key_of_two(mix(number), mix(~number));
}

/* Measured in the thread's processor time, so that other threads' turns do not count; a fault for a
 * new page does. */
static void fill(struct pairing *pairing)
{
    const uint64_t before = bench_resident_bytes();
    const double began = bench_processor_ns();
    double last = began;
    for (uint64_t number = 0; number < pairing->live; number++) {
        const struct vamp_key key = cdo_key(number);
        if (vamp_table_insert(&pairing->tracker.cdos, &key) == NULL) {
            (void)fputs("bench: the table takes no record\n", stderr);
            exit(1);
        }
        const double now = bench_processor_ns();
        if (now - last > pairing->worst_insert_ns) {
            pairing->worst_insert_ns = now - last;
        }
        last = now;
    }
    pairing->insert_ns = (last - began) / (double)pairing->live;
    pairing->resident_bytes = bench_resident_bytes() - before;
}

static int open_pairing(const struct bench_line *line, const struct bench_size *size,
                        void **ret_state)
{
    (void)size;
    struct vamp_err err = VAMP_ERR_NONE;
    struct pairing *pairing = calloc(1, sizeof *pairing);
    if (pairing == NULL) {
        return -ENOMEM;
    }
    pairing->live = line->number;
    const struct vamp_stats_options options = {
        .max_cdos = line->number, .max_pending = 16, .max_components = 16};
    if (vamp_components_create(16, &pairing->components, &err) != 0 ||
        vamp_tracker_init(&pairing->tracker, &options, pairing->components, &err) != 0) {
        (void)fprintf(stderr, "bench: %s\n", err.text);
        return -ENOMEM;
    }
    fill(pairing);
    pairing->array = calloc(line->number, sizeof *pairing->array);
    if (pairing->array == NULL) {
        return -ENOMEM;
    }
    for (uint64_t i = 0; i < line->number; i++) {
        pairing->array[i][0] = i;
    }
    *ret_state = pairing;
    return 0;
}

static uint64_t run_pairing(void *state)
{
    struct pairing *pairing = state;
    for (uint64_t i = 0; i < LOOKUPS; i += ROUND_BATCH) {
        struct vamp_key keys[ROUND_BATCH];
        const struct vamp_table_line *lines[ROUND_BATCH];
        for (unsigned k = 0; k < ROUND_BATCH; k++) {
            keys[k] = cdo_key(next_random(&pairing->random) % pairing->live);
        }
        for (unsigned k = 0; k < ROUND_BATCH; k++) {
            lines[k] = vamp_table_expect(&pairing->tracker.cdos, &keys[k]);
        }
        for (unsigned k = 0; k < ROUND_BATCH; k++) {
            (void)vamp_table_guess(&pairing->tracker.cdos, lines[k], &keys[k]);
        }
        for (unsigned k = 0; k < ROUND_BATCH; k++) {
            const struct vamp_cdo *cdo = vamp_table_find(&pairing->tracker.cdos, &keys[k]);
            pairing->checksum += cdo->size_bytes;
        }
    }
    return LOOKUPS;
}

static uint64_t run_array(void *state)
{
    struct pairing *pairing = state;
    for (uint64_t i = 0; i < LOOKUPS; i += ROUND_BATCH) {
        struct vamp_key keys[ROUND_BATCH];
        uint64_t places[ROUND_BATCH] = {0};
        for (unsigned k = 0; k < ROUND_BATCH; k++) {
            places[k] = next_random(&pairing->base_random) % pairing->live;
            keys[k] = cdo_key(places[k]);
        }
        for (unsigned k = 0; k < ROUND_BATCH; k++) {
            pairing->checksum += pairing->array[places[k]][0] + keys[k].words[0];
        }
    }
    return LOOKUPS;
}

static void more_pairing(void *state, FILE *out)
{
    const struct pairing *pairing = state;
    (void)fprintf(out,
                  ", \"live\": %" PRIu64 ", \"bytes_per_cdo\": %.1f, \"insert_ns\": %.1f"
                  ", \"worst_insert_ns\": %.0f",
                  pairing->live, (double)pairing->resident_bytes / (double)pairing->live,
                  pairing->insert_ns, pairing->worst_insert_ns);
}

static void close_pairing(void *state)
{
    struct pairing *pairing = state;
    vamp_tracker_done(&pairing->tracker);
    vamp_components_free(pairing->components);
    free(pairing->array);
    free(pairing);
}

#define PAIRING(text_name, text_what, count)                                                       \
    {                                                                                              \
        .name = (text_name), .what = (text_what), .each = "look-up",                               \
        .baseline = "a random element of an array as large", .clock = BENCH_PROCESSOR,             \
        .number = (count), .open = open_pairing, .run = run_pairing, .base = run_array,            \
        .more = more_pairing, .close = close_pairing                                               \
    }

const struct bench_line bench_pairing_lines[] = {
    PAIRING("pairing.1e3", "find a CDO among 1,000 live ones", 1000),
    PAIRING("pairing.1e5", "find a CDO among 100,000 live ones", 100000),
    PAIRING("pairing.1e6", "find a CDO among 1,000,000 live ones", 1000000),
    PAIRING("pairing.1e7", "find a CDO among 10,000,000 live ones", 10000000),
    {.name = NULL},
};
