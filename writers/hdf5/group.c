/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Creates a group for each label set that the overview does not show completely, because a label
 * has no closed list of values or the set has a histogram. Writes the labels of its series; rows.c
 * writes the rows.
 */
#include "writers/hdf5/group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/core/values.h"
#include "vampire/stats/bucket/rows.h"
#include "writers/hdf5/attribute.h"
#include "writers/hdf5/check.h"
#include "writers/hdf5/error.h"
#include "writers/hdf5/file.h"
#include "writers/hdf5/row.h"
#include "writers/hdf5/rows.h"

/* Rows of a chunk, unless the first bucket of the file has more. A bucket takes at least one chunk
 * of each variable, and a reader decompresses whole chunks. */
#define CHUNK_OF_WORDS 32       /* only words */
#define CHUNK_OF_NAMES 64       /* components */
#define CHUNK_OF_NAME_WORDS 512 /* components and words */
#define CHUNK_OF_PAIRS 1024     /* sources and sinks */
/* Waits by sink, source and cause. A bucket with 60 components has about 1,130 rows, which fit into
 * one chunk. With 500 components, larger chunks contain a row with several waits more often, and
 * then also extremes and bins. */
#define CHUNK_OF_PARTS 1472
#define ENTRY_CHUNK_LEAST 512U

/* Returns whether the metric has rows: it has open labels, or is a histogram with labels. */
static bool needs_rows(const struct hdf5_file *file, unsigned metric)
{
    const struct vamp_schema_metric *entry = &file->schema->metrics[metric];
    const unsigned labels = file->schema->label_sets[entry->label_set].label_count;
    return labels > file->sets[entry->label_set].closed_count ||
           (labels > 0 && vamp_metrics[entry->id].kind == VAMP_HISTOGRAM);
}

/* Returns `least` rows per chunk, doubled until the chunk holds `rows` rows. */
static unsigned chunk_for(uint64_t rows, unsigned least)
{
    unsigned chunk = least;
    while (chunk < rows && chunk < HDF5_CHUNK_ROWS_MAX) {
        chunk *= 2;
    }
    return chunk;
}

/* Returns an upper limit of the number of series with a value in the first bucket. */
static unsigned rows_of_first(const struct hdf5_file *file, unsigned set,
                              const struct vamp_delivery *first)
{
    const struct vamp_schema *schema = file->schema;
    unsigned most = 0;
    for (unsigned m = 0; first != NULL && m < schema->metric_count; m++) {
        if (schema->metrics[m].label_set != set || !file->metrics[m].has_rows) {
            continue;
        }
        unsigned rows = 0;
        struct vamp_rows of = vamp_rows_of(first->bucket, m, VAMP_ROWS_IDLE_COUNTERS);
        while (vamp_rows_next(&of)) {
            rows++;
        }
        most = VAMP_MAX(most, rows);
    }
    return most;
}

static void join_path(char path[static HDF5_NAME_BYTES], const struct hdf5_set *set,
                      const char *name)
{
    (void)snprintf(path, HDF5_NAME_BYTES, "%.100s/%.80s", set->group, name);
}

static unsigned create_dimension(struct hdf5_file *file, const struct hdf5_set *set,
                                 const char *name)
{
    char path[HDF5_NAME_BYTES];
    join_path(path, set, name);
    hdf5_dimension_create(file, file->dimension_count, path, 0);
    return file->dimension_count++;
}

/* Creates the labels of the series, stored as numbers of names or of words in the label's list. */
static void create_series(struct hdf5_file *file, unsigned number)
{
    const struct vamp_label_set *description = &file->schema->label_sets[number];
    struct hdf5_set *set = &file->sets[number];
    char path[HDF5_NAME_BYTES], about[HDF5_NAME_BYTES], names[64];
    set->label_count = description->label_count;
    for (unsigned l = 0; l < set->label_count; l++) {
        const enum vamp_label label = description->labels[l];
        const bool is_open = vamp_label_is_open(label);
        join_path(path, set, vamp_label_name(label));
        (void)snprintf(names, sizeof names, "/%s", is_open ? "name_text" : vamp_label_name(label));
        (void)snprintf(about, sizeof about, "%s of the series: its number in %s",
                       vamp_label_name(label), names);
        set->label_number[l] =
            hdf5_dataset_create(file, &(struct hdf5_spec){.name = path,
                                                          .type = is_open ? HDF5_U32 : HDF5_U8,
                                                          .rank = 1,
                                                          .dimensions = {set->series},
                                                          .chunk_rows = HDF5_SERIES_CHUNK_ROWS,
                                                          .units = "1",
                                                          .long_name = about});
        if (file->code == 0) {
            hdf5_attribute_text(file, file->datasets[set->label_number[l]].id, "names", names);
        }
    }
    join_path(path, set, "series_check");
    hdf5_check_create(file, set->series, path, HDF5_U32);
}

/* Creates the columns that link rows to series and buckets, and totals to series and restarts. */
static void create_columns(struct hdf5_file *file, struct hdf5_set *set)
{
    const struct {
        const char *name, *about, *units;
        uint64_t fill;
        unsigned *ret_index, dimension;
        enum hdf5_type type;
    } columns[] = {
        {"series_index", "series of the row", "1", HDF5_PADDING, &set->series_index, set->row,
         HDF5_U32},
        {"time_us", "start of the row's bucket", HDF5_UNIT_TIME_US, 0, &set->row_time, set->row,
         HDF5_I64},
        {"before_series", "series of a total before a row of time", "1", HDF5_PADDING,
         &set->before_series, set->before, HDF5_U32},
        {"before_restart", "restart to which the total belongs", "1", 0, &set->before_restart,
         set->before, HDF5_U32},
    };
    for (unsigned i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        char path[HDF5_NAME_BYTES];
        join_path(path, set, columns[i].name);
        const unsigned index =
            hdf5_dataset_create(file, &(struct hdf5_spec){.name = path,
                                                          .type = columns[i].type,
                                                          .rank = 1,
                                                          .dimensions = {columns[i].dimension},
                                                          .chunk_rows = set->chunk_rows,
                                                          .packed = true,
                                                          .fill_value = columns[i].fill,
                                                          .units = columns[i].units,
                                                          .long_name = columns[i].about});
        *columns[i].ret_index = index;
        if (columns[i].fill != 0) {
            hdf5_attribute_numbers(file, file->datasets[index].id, "padding", HDF5_U32,
                                   &columns[i].fill, 1);
        }
    }
}

static bool is_histogram(const struct hdf5_file *file, unsigned metric)
{
    return hdf5_kind(file, metric) == VAMP_HISTOGRAM;
}

/* Creates the rows of a metric and, for a histogram, the dimension of its entries. */
static void create_metric(struct hdf5_file *file, unsigned number,
                          const struct vamp_delivery *first)
{
    const struct vamp_schema_metric *entry = &file->schema->metrics[number];
    const struct hdf5_set *set = &file->sets[entry->label_set];
    struct hdf5_metric *metric = &file->metrics[number];
    if (is_histogram(file, number)) {
        char name[HDF5_NAME_BYTES];
        (void)snprintf(name, sizeof name, "%s_entry", vamp_metrics[entry->id].name);
        const bool is_of_outputs = set->closed_count == 1 && set->cells == VAMP_OUTPUTS_MAX + 1;
        const unsigned least = is_of_outputs ? CHUNK_OF_WORDS : ENTRY_CHUNK_LEAST;
        uint64_t entries = 0;
        if (first != NULL) {
            entries = hdf5_rows_entries(first->bucket, number);
        }
        metric->entry_chunk = chunk_for(entries, VAMP_MAX(set->chunk_rows, least));
        metric->entry = create_dimension(file, set, name);
    }
    hdf5_metric_create_rows(file, number);
}

/* Returns the number of rows in a chunk, depending on the number of open labels. */
static unsigned default_chunk(const struct hdf5_set *set, unsigned names)
{
    if (names == 0) {
        return CHUNK_OF_WORDS;
    }
    if (names > 1) {
        return set->closed_count == 1 ? CHUNK_OF_PARTS : CHUNK_OF_PAIRS;
    }
    return set->cells <= HDF5_FEW_CELLS ? CHUNK_OF_NAMES : CHUNK_OF_NAME_WORDS;
}

/* Creates the group of a label set: dimensions, labels of the series, rows of the metrics. */
static void create_set(struct hdf5_file *file, unsigned number, const struct vamp_delivery *first)
{
    struct hdf5_set *set = &file->sets[number];
    char labels[HDF5_NAME_BYTES] = "";
    hdf5_label_list(&file->schema->label_sets[number], true, " ", labels, sizeof labels);
    const unsigned names = file->schema->label_sets[number].label_count - set->closed_count;
    set->chunk_rows = chunk_for(rows_of_first(file, number, first), default_chunk(set, names));
    hdf5_group_create(file, set->group, "labels", labels);
    set->series = create_dimension(file, set, "series");
    set->row = create_dimension(file, set, "row");
    set->before = create_dimension(file, set, "before");
    create_series(file, number);
    create_columns(file, set);
    for (unsigned m = 0; m < file->schema->metric_count; m++) {
        if (file->schema->metrics[m].label_set == number && file->metrics[m].has_rows) {
            create_metric(file, m, first);
        }
    }
}

/* Writes the path of each slot's dimension. `row_dimension`: the dimension of each slot. */
static void name_places(struct hdf5_file *file, unsigned slot)
{
    const unsigned names = hdf5_texts_create(
        file, "row_dimension", "dimension of the rows, with its group", slot, HDF5_TEXT_LENGTH);
    for (unsigned m = 0; m < file->schema->metric_count; m++) {
        const struct vamp_schema_metric *entry = &file->schema->metrics[m];
        const struct hdf5_set *set = &file->sets[entry->label_set];
        char name[HDF5_NAME_BYTES], path[HDF5_NAME_BYTES];
        const char *const text = path;
        if (file->metrics[m].has_rows) {
            join_path(path, set, "row");
            hdf5_dataset_put_texts(file, names, set->slot, 1, &text);
        }
        if (file->metrics[m].has_rows && is_histogram(file, m)) {
            (void)snprintf(name, sizeof name, "%s_entry", vamp_metrics[entry->id].name);
            join_path(path, set, name);
            hdf5_dataset_put_texts(file, names, file->metrics[m].entry_slot, 1, &text);
        }
    }
}

/* Decides which metrics have rows and which sets have a group, and assigns the slots of both. */
static void plan_groups(struct hdf5_file *file)
{
    for (unsigned m = 0; m < file->schema->metric_count; m++) {
        struct hdf5_metric *metric = &file->metrics[m];
        const struct vamp_schema_metric *entry = &file->schema->metrics[m];
        struct hdf5_set *set = &file->sets[entry->label_set];
        metric->has_rows = needs_rows(file, m);
        if (metric->has_rows && !set->has_group) {
            set->has_group = true;
            (void)snprintf(set->group, sizeof set->group, "by");
            hdf5_label_list(&file->schema->label_sets[entry->label_set], true, "_", set->group,
                            sizeof set->group);
            set->slot = file->slots++;
        }
        if (metric->has_rows && is_histogram(file, m)) {
            metric->entry_slot = file->slots++;
        }
    }
}

/* Creates one table for all groups: separate columns would add two variables per group, each of
 * which grows with each bucket. */
static void create_places(struct hdf5_file *file)
{
    const struct {
        const char *name, *about;
        unsigned *ret_index;
    } tables[] = {
        {"first_row", "first of the rows of the bucket", &file->first_row},
        {"rows", "rows of the bucket", &file->row_count},
    };
    file->slot_first = calloc(file->slots, sizeof *file->slot_first);
    file->slot_count = calloc(file->slots, sizeof *file->slot_count);
    if (file->slot_first == NULL || file->slot_count == NULL) {
        hdf5_no_memory(file, "prepare the file");
    }
    const unsigned slot = file->dimension_count++;
    hdf5_dimension_create(file, slot, "row_slot", file->slots);
    for (unsigned i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        const unsigned index =
            hdf5_dataset_create(file, &(struct hdf5_spec){.name = tables[i].name,
                                                          .type = HDF5_U32,
                                                          .rank = 2,
                                                          .dimensions = {HDF5_TIME, slot},
                                                          .packed = true,
                                                          .units = "1",
                                                          .long_name = tables[i].about});
        *tables[i].ret_index = index;
        hdf5_attribute_text(file, file->datasets[index].id, "coordinates", "row_dimension");
    }
    name_places(file, slot);
}

void hdf5_groups_create(struct hdf5_file *file, const struct vamp_delivery *first)
{
    plan_groups(file);
    if (file->slots > 0) {
        create_places(file);
    }
    for (unsigned s = 0; s < file->schema->label_set_count; s++) {
        if (file->sets[s].has_group) {
            create_set(file, s, first);
        }
    }
}

/* ---- series keep their numbers, so the table only grows */

#define BATCH HDF5_TEXT_CHUNK_ROWS

struct hdf5_name {
    struct map_link link;
    uint32_t number;
    const char *text; /* text of a label, valid during the run */
};

static void drop_name(struct map_link *link)
{
    free(link); /* the first member */
}

void hdf5_names_done(struct hdf5_file *file)
{
    map_drop(&file->names, drop_name);
}

/* Returns the number of a name; writes a new name to the file. */
static uint32_t number_of_name(struct hdf5_file *file, const char *text)
{
    const uint64_t hash = map_hash_text(&file->names, text, strlen(text));
    struct hdf5_name *name = (struct hdf5_name *)map_first(&file->names, hash);
    while (name != NULL && strcmp(name->text, text) != 0) {
        name = (struct hdf5_name *)map_next(&name->link);
    }
    if (name != NULL) {
        return name->number;
    }
    if (file->code != 0) {
        return 0;
    }
    name = malloc(sizeof *name);
    if (name == NULL) {
        hdf5_no_memory(file, "keep the names of a bucket");
        return 0;
    }
    struct hdf5_dimension *names = &file->dimensions[HDF5_NAME];
    *name = (struct hdf5_name){.number = (uint32_t)names->next, .text = text};
    map_insert(&file->names, &name->link, hash);
    hdf5_dataset_put_texts(file, file->name, name->number, 1, &text);
    hdf5_check_text(file, file->name, text);
    const uint32_t sum = (uint32_t)hdf5_check_sum(file, HDF5_NAME);
    hdf5_dataset_put_small(file, names->check, name->number, 1, &sum);
    names->next++;
    return name->number;
}

/* Writes the labels of the next `count` series of the set; `count` is at most BATCH. */
static void write_series(struct hdf5_file *file, struct hdf5_set *set,
                         const struct vamp_label_set *description,
                         const struct vamp_series *const *series, unsigned count)
{
    uint32_t numbers[VAMP_LABELS_MAX][BATCH], sums[BATCH];
    /* Cell numbers, with the words of the labels processed so far divided out. */
    uint32_t words[BATCH];
    assert(set->written + count <= set->known);
    memcpy(words, set->cell + set->written, count * sizeof *words);
    for (unsigned l = set->label_count; l-- > 0;) {
        const enum vamp_label label = description->labels[l];
        const unsigned slots = file->words[label].slots;
        for (unsigned i = 0; i < count; i++) {
            if (vamp_label_is_open(label)) {
                numbers[l][i] = number_of_name(file, series[i]->labels[l]);
            } else {
                numbers[l][i] = words[i] % slots;
                words[i] /= slots;
            }
        }
        hdf5_dataset_put_small(file, set->label_number[l], set->written, count, numbers[l]);
    }
    for (unsigned i = 0; file->code == 0 && i < count; i++) {
        for (unsigned l = 0; l < set->label_count; l++) {
            hdf5_check_number(file, set->label_number[l], 0, numbers[l][i]);
        }
        sums[i] = (uint32_t)hdf5_check_sum(file, set->series);
    }
    if (file->code == 0) {
        hdf5_dataset_put_small(file, file->dimensions[set->series].check, set->written, count,
                               sums);
    }
    set->written += count;
    file->dimensions[set->series].size = file->dimensions[set->series].next = set->written;
}

void hdf5_series_note(struct hdf5_file *file, const struct vamp_bucket *bucket)
{
    file->series = bucket->series;
    for (unsigned s = 0; s < file->schema->label_set_count; s++) {
        file->sets[s].due = bucket->series_count[s];
    }
}

void hdf5_series_write(struct hdf5_file *file)
{
    for (unsigned s = 0; s < file->schema->label_set_count; s++) {
        struct hdf5_set *set = &file->sets[s];
        while (set->has_group && set->written < set->due) {
            write_series(file, set, &file->schema->label_sets[s], file->series[s] + set->written,
                         VAMP_MIN(set->due - set->written, BATCH));
        }
    }
    file->dimensions[HDF5_NAME].size = file->dimensions[HDF5_NAME].next;
}
