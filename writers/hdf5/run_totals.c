/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Totals of counters, for run_file.c: from the overview of format 2, from all series of format 1.
 */
#include <stdlib.h>
#include <string.h>

#include "writers/hdf5/read.h"

/* The row from which the newest totals (_before) hold, and which of them they are. */
static int find_restart(struct hdf5_reader *reader, uint64_t *ret_restart, uint64_t *ret_row)
{
    struct hdf5_variable rows;
    *ret_restart = *ret_row = 0;
    int code = hdf5_variable_open(reader, "restart_row", &rows);
    for (hsize_t i = 0; code == 0 && i < rows.size[0]; i++) {
        uint64_t row = 0;
        code = hdf5_variable_numbers(reader, &rows, i, 1, &row);
        if (code == 0 && row < reader->rows) {
            *ret_restart = i;
            *ret_row = row;
        }
    }
    hdf5_variable_close(&rows);
    return code;
}

/* Totals at the end of the file, by the index along the last dimension; all in one without labels.
 * Without the metric none (`sums->count` 0). */
static int counter(struct hdf5_reader *reader, const char *name, struct hdf5_sums *sums)
{
    *sums = (struct hdf5_sums){.count = 0};
    char delta[HDF5_NAME_BYTES];
    (void)snprintf(delta, sizeof delta, "%s_delta", name);
    if (reader->rows == 0 || !hdf5_variable_exists(reader, delta)) {
        return 0;
    }
    if (reader->dense) {
        return hdf5_read_sums(reader, name, "", reader->rows - 1, 1, sums);
    }
    uint64_t restart = 0, row = 0;
    int code = find_restart(reader, &restart, &row);
    code = code != 0 ? code : hdf5_read_sums(reader, name, "_before", restart, 1, sums);
    return code != 0 ? code : hdf5_read_sums(reader, name, "_delta", row, reader->rows - row, sums);
}

/* vampire's own counters: all of the table, by its columns. */
static int own_counters(struct hdf5_reader *reader, struct hdf5_sums *sums)
{
    uint64_t restart = 0, row = 0;
    int code = find_restart(reader, &restart, &row);
    code =
        code != 0 ? code : hdf5_read_sums(reader, HDF5_OWN_GROUP "/before", "", restart, 1, sums);
    return code != 0
               ? code
               : hdf5_read_sums(reader, HDF5_OWN_GROUP "/delta", "", row, reader->rows - row, sums);
}

/* Leaves of the table's sums those of the metric. */
static int only_of(struct hdf5_reader *reader, const char *name, struct hdf5_sums *sums)
{
    struct hdf5_variable names;
    bool is_there = false;
    int code = hdf5_variable_open(reader, HDF5_OWN_GROUP "/counter_name", &names);
    for (size_t i = 0; code == 0 && i < sums->count; i++) {
        char text[HDF5_TEXT_BYTES];
        code = hdf5_variable_text(reader, &names, i, text, sizeof text);
        const bool is_of = code == 0 && strcmp(text, name) == 0;
        sums->items[i] = is_of ? sums->items[i] : 0;
        is_there = is_there || is_of;
    }
    hdf5_variable_close(&names);
    sums->count = is_there ? sums->count : 0;
    return code;
}

/* In a file older than format 2.1 it is in the root group. */
static int own_counter(struct hdf5_reader *reader, const char *name, struct hdf5_sums *sums)
{
    if (reader->rows == 0 || !hdf5_variable_exists(reader, HDF5_OWN_GROUP) ||
        !hdf5_variable_exists(reader, HDF5_OWN_GROUP "/delta")) {
        return counter(reader, name, sums);
    }
    *sums = (struct hdf5_sums){.count = 0};
    const int code = own_counters(reader, sums);
    return code != 0 ? code : only_of(reader, name, sums);
}

static int total(struct hdf5_reader *reader, const char *name, uint64_t *ret_total, bool *ret_known)
{
    struct hdf5_sums sums;
    const bool is_own = strncmp(name, "vampire_", sizeof "vampire_" - 1) == 0;
    int code = is_own ? own_counter(reader, name, &sums) : counter(reader, name, &sums);
    *ret_total = 0;
    *ret_known = sums.count > 0;
    for (size_t i = 0; i < sums.count; i++) {
        *ret_total += sums.items[i];
    }
    free(sums.items);
    return code;
}

/* The variable with the label `operation` of the counter's series; "": none. */
static int find_operations(struct hdf5_reader *reader, char name[static HDF5_NAME_BYTES])
{
    char coordinates[1024];
    (void)snprintf(name, HDF5_NAME_BYTES, "operation");
    if (!reader->dense) {
        return 0;
    }
    int code =
        hdf5_read_text(reader, "pool_operations", "coordinates", coordinates, sizeof coordinates);
    char *rest = coordinates;
    for (const char *word = strtok_r(coordinates, " ", &rest); code == 0 && word != NULL;
         word = strtok_r(NULL, " ", &rest)) {
        if (strncmp(word, "operation", sizeof "operation" - 1) == 0) {
            (void)snprintf(name, HDF5_NAME_BYTES, "%s", word);
        }
    }
    return code;
}

static unsigned kind_of(const char *word)
{
    for (unsigned kind = 1; kind < VAMP_EVENT_KIND_COUNT; kind++) {
        if (strcmp(vamp_event_kind_name(kind), word) == 0) {
            return kind;
        }
    }
    return 0; /* in the series `(other)` */
}

static int name_operations(struct hdf5_reader *reader, const struct hdf5_sums *sums)
{
    char name[HDF5_NAME_BYTES];
    struct hdf5_variable words;
    int code = find_operations(reader, name);
    code = code != 0 ? code : hdf5_variable_open(reader, name, &words);
    if (code != 0) {
        return code;
    }
    for (size_t i = 0; code == 0 && i < sums->count && i < words.size[0]; i++) {
        char word[HDF5_TEXT_BYTES];
        code = hdf5_variable_text(reader, &words, i, word, sizeof word);
        reader->file->totals.operations[code == 0 ? kind_of(word) : 0] += sums->items[i];
    }
    hdf5_variable_close(&words);
    return code;
}

static int operations(struct hdf5_reader *reader)
{
    struct hdf5_sums sums;
    struct vamp_totals *totals = &reader->file->totals;
    int code = counter(reader, "pool_operations", &sums);
    if (code == 0 && sums.count > 0) {
        totals->counted |= VAMP_TOTALS_BIT(VAMP_TOTALS_OPERATIONS);
        if (sums.has_labels) {
            code = name_operations(reader, &sums);
        } else {
            totals->unlabelled_operations = sums.items[0];
        }
    }
    free(sums.items);
    return code;
}

int hdf5_read_totals(struct hdf5_reader *reader)
{
    struct vamp_totals *totals = &reader->file->totals;
    const struct {
        const char *name;
        uint64_t *total;
        uint32_t bit;
    } wanted[] = {
        {"produced_bytes", &totals->produced_bytes, VAMP_TOTALS_BIT(VAMP_TOTALS_PRODUCED)},
        {"transports", &totals->transports, VAMP_TOTALS_BIT(VAMP_TOTALS_TRANSPORTS)},
        {"transport_bytes", &totals->transport_bytes, VAMP_TOTALS_BIT(VAMP_TOTALS_TRANSPORT_BYTES)},
        {"vampire_evicted", &totals->evicted, 0},
        {"vampire_series_overflow", &totals->series_overflow, 0},
        {"vampire_labels_given_up", &totals->labels_given_up, 0},
        {"vampire_sampled_out", &totals->accounting.sampled_out, 0},
        {"vampire_filter_cut", &reader->file->filter_cut, 0},
    };
    int code = operations(reader);
    for (size_t i = 0; code == 0 && i < sizeof wanted / sizeof wanted[0]; i++) {
        bool known = false;
        code = total(reader, wanted[i].name, wanted[i].total, &known);
        totals->counted |= known ? wanted[i].bit : 0;
    }
    return code;
}
