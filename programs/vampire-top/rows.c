/* SPDX-License-Identifier: BSD-3-Clause */
#include "programs/vampire-top/rows.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "programs/vampire-top/model.h"
#include "vampire/core/hash.h"

static const char other[] = "(other)";
/* Twice the rows, so that a search is short. */
#define SLOTS 2048
_Static_assert(SLOTS >= 2 * TOP_ROWS_MAX, "the index is too small");

/* The slot of this name, or the free one where it belongs. */
static size_t find_slot(const struct top_rows *rows, const char *name, const char *second)
{
    const uint64_t hash = vamp_hash_bytes(rows->seed, name, strlen(name));
    size_t slot = (size_t)vamp_hash_bytes(hash, second, strlen(second)) % SLOTS;
    while (rows->index[slot] != 0) { /* ends, since at most half of the slots are taken */
        assert(rows->index[slot] <= rows->count);
        const struct top_row *row = rows->rows[rows->index[slot] - 1];
        if (strcmp(row->name, name) == 0 && strcmp(row->second, second) == 0) {
            break;
        }
        slot = (slot + 1) % SLOTS;
    }
    return slot;
}

static struct top_row *row_create(const char *name, const char *second)
{
    size_t first_bytes = strlen(name) + 1;
    size_t second_bytes = strlen(second) + 1;
    struct top_row *row = calloc(1, sizeof *row);
    char *names = malloc(first_bytes + second_bytes);
    if (row == NULL || names == NULL) {
        free(row);
        free(names);
        return NULL;
    }
    memcpy(names, name, first_bytes);
    memcpy(names + first_bytes, second, second_bytes);
    row->name = names;
    row->second = names + first_bytes;
    return row;
}

static void row_free(struct top_row *row)
{
    if (row != NULL) {
        free(row->name);
        free(row);
    }
}

static struct top_row *insert_row(struct top_rows *rows, size_t slot, const char *name,
                                  const char *second)
{
    assert(rows->count < TOP_ROWS_MAX && rows->index[slot] == 0);
    struct top_row *row = row_create(name, second);
    if (row != NULL) {
        rows->rows[rows->count++] = row;
        rows->index[slot] = (uint16_t)rows->count;
    }
    return row;
}

int top_rows_init(struct top_rows *rows)
{
    *rows = (struct top_rows){.rows = calloc(TOP_ROWS_MAX, sizeof(struct top_row *)),
                              .index = calloc(SLOTS, sizeof(uint16_t)),
                              .seed = vamp_hash_seed()};
    if (rows->rows == NULL || rows->index == NULL ||
        insert_row(rows, find_slot(rows, other, other), other, other) == NULL) {
        top_rows_done(rows);
        return -1;
    }
    return 0;
}

void top_rows_done(struct top_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        row_free(rows->rows[i]);
    }
    free(rows->rows);
    free(rows->index);
    *rows = (struct top_rows){.count = 0};
}

void top_rows_clear(struct top_rows *rows)
{
    assert(rows->count > 0); /* "(other)" stays */
    for (size_t i = 1; i < rows->count; i++) {
        row_free(rows->rows[i]);
    }
    struct top_row *first = rows->rows[0];
    *first = (struct top_row){.name = first->name, .second = first->second};
    memset(rows->index, 0, SLOTS * sizeof *rows->index);
    rows->count = 1;
    rows->index[find_slot(rows, other, other)] = 1;
}

struct top_row *top_rows_get(struct top_rows *rows, const char *name, const char *second)
{
    /* Of components, the stream's own "(other)" comes without a second name. */
    size_t slot =
        find_slot(rows, name, strcmp(name, other) == 0 && *second == '\0' ? other : second);
    assert(rows->count > 0); /* "(other)" takes what finds no room */
    if (rows->index[slot] != 0) {
        return rows->rows[rows->index[slot] - 1];
    }
    struct top_row *row = rows->count < TOP_ROWS_MAX ? insert_row(rows, slot, name, second) : NULL;
    return row != NULL ? row : rows->rows[0];
}

static void add_part(struct top_part *sum, const struct top_part *part)
{
    sum->operations += part->operations;
    sum->produced += part->produced;
    sum->consumed += part->consumed;
    sum->transports += part->transports;
    sum->moved += part->moved;
    sum->anomalies += part->anomalies;
    top_spread_merge(&sum->times, &part->times);
}

void top_rows_commit(struct top_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        struct top_row *row = rows->rows[i];
        add_part(&row->all, &row->next);
        row->now = row->next;
        row->idle_buckets = row->next.operations > 0 ? 0 : row->idle_buckets + 1;
        memset(&row->next, 0, sizeof row->next);
    }
}
