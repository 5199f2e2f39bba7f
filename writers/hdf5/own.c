/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * vampire's own metrics, in the group `vampire`: a table of all counters and one of all gauges,
 * with a column for each cell of each metric. As variables of the root group they would be a
 * quarter of all variables that a reader opens. The weights of sampled events stay in the root
 * group, because readers multiply numbers of the overview by them. A histogram with a label is
 * stored only as rows.
 */
#include "writers/hdf5/own.h"

#include <stdio.h>

#include "writers/hdf5/attribute.h"
#include "writers/hdf5/file.h"
#include "writers/hdf5/overview.h"

static bool is_weight(enum vamp_metric_id id)
{
    return id == VAMP_METRIC_VAMPIRE_WEIGHT || id == VAMP_METRIC_VAMPIRE_WEIGHTED ||
           id == VAMP_METRIC_VAMPIRE_SAMPLED_IN;
}

/* Returns where the metric is stored. */
static enum hdf5_place place_of(const struct hdf5_file *file, unsigned number)
{
    const struct vamp_schema_metric *entry = &file->schema->metrics[number];
    const struct vamp_metric *metric = &vamp_metrics[entry->id];
    const unsigned labels = file->schema->label_sets[entry->label_set].label_count;
    /* With collected runs, the metrics have the labels of the run, and so they have rows. */
    const bool has_names = labels > file->sets[entry->label_set].closed_count;
    const bool is_own = (metric->sets & VAMP_SET_SELF) != 0 && !is_weight(entry->id);
    const bool fits_in_table = !entry->has_bounds && !has_names && labels <= 1;
    if (!is_own || !fits_in_table) {
        return HDF5_PLACE_OVERVIEW;
    }
    switch (metric->kind) {
    case VAMP_COUNTER:
    case VAMP_GAUGE:
        return HDF5_PLACE_TABLE;
    case VAMP_HISTOGRAM:
        break;
    }
    return labels > 0 ? HDF5_PLACE_ROWS : HDF5_PLACE_OVERVIEW;
}

static struct hdf5_table *table_of(struct hdf5_file *file, unsigned metric)
{
    return hdf5_kind(file, metric) == VAMP_COUNTER ? &file->own_counters : &file->own_gauges;
}

static bool has_column(struct hdf5_file *file, unsigned metric, const struct hdf5_table *table)
{
    return file->metrics[metric].place == HDF5_PLACE_TABLE && table_of(file, metric) == table;
}

void hdf5_own_place(struct hdf5_file *file)
{
    for (unsigned m = 0; m < file->schema->metric_count; m++) {
        struct hdf5_metric *metric = &file->metrics[m];
        metric->place = place_of(file, m);
        if (metric->place == HDF5_PLACE_TABLE) {
            struct hdf5_table *table = table_of(file, m);
            metric->overview = table->columns;
            table->columns += file->sets[file->schema->metrics[m].label_set].cells;
        }
    }
}

/* ---- the layout */

/* The texts that describe a column of a table. */
enum { ABOUT_NAME, ABOUT_LABEL, ABOUT_UNITS, ABOUT_HELP, ABOUT_ORIGIN, ABOUT_COUNT };

static const struct {
    const char *name, *about;
    unsigned length;
} abouts[ABOUT_COUNT] = {
    [ABOUT_NAME] = {"name", "metric of the column", HDF5_NAME_LENGTH},
    [ABOUT_LABEL] = {"label", "label of the metric; empty: none", HDF5_WORD_LENGTH},
    [ABOUT_UNITS] = {"units", "unit of the metric", HDF5_WORD_LENGTH},
    [ABOUT_HELP] = {"help", "what the metric is", HDF5_TEXT_LENGTH},
    [ABOUT_ORIGIN] = {"origin", "how the metric is computed", HDF5_TEXT_LENGTH},
};

/* Writes the texts, and the number of the column's word in the list of its label in the root group.
 */
static void describe_columns(struct hdf5_file *file, const struct hdf5_table *table)
{
    const char *texts[ABOUT_COUNT][HDF5_OWN_COLUMNS_MAX];
    uint64_t words[HDF5_OWN_COLUMNS_MAX];
    char name[HDF5_NAME_BYTES];
    /* Collect the texts and words of all columns. */
    for (unsigned m = 0; m < file->schema->metric_count; m++) {
        const struct vamp_schema_metric *entry = &file->schema->metrics[m];
        const struct vamp_metric *metric = &vamp_metrics[entry->id];
        const struct vamp_label_set *set = &file->schema->label_sets[entry->label_set];
        if (!has_column(file, m, table)) {
            continue;
        }
        for (unsigned c = 0; c < file->sets[entry->label_set].cells; c++) {
            const unsigned column = file->metrics[m].overview + c;
            texts[ABOUT_NAME][column] = metric->name;
            texts[ABOUT_LABEL][column] = "";
            if (set->label_count > 0) { /* at most one */
                texts[ABOUT_LABEL][column] = vamp_label_name(set->labels[0]);
            }
            texts[ABOUT_UNITS][column] = metric->unit;
            texts[ABOUT_HELP][column] = metric->help;
            texts[ABOUT_ORIGIN][column] = metric->origin;
            words[column] = c;
        }
    }
    /* Write a list for each kind of text, then the words. */
    for (unsigned i = 0; i < ABOUT_COUNT; i++) {
        (void)snprintf(name, sizeof name, HDF5_OWN_GROUP "/%s_%s", table->name, abouts[i].name);
        const unsigned index = hdf5_dataset_create(
            file, &(struct hdf5_spec){.name = name,
                                      .type = HDF5_CHAR,
                                      .rank = 2,
                                      .dimensions = {table->dimension, abouts[i].length},
                                      .packed = true,
                                      .long_name = abouts[i].about});
        hdf5_dataset_put_texts(file, index, 0, table->columns, texts[i]);
    }
    (void)snprintf(name, sizeof name, HDF5_OWN_GROUP "/%s_word", table->name);
    const unsigned index =
        hdf5_column_create(file, table->dimension, name, HDF5_U64, "1",
                           "number of the column's word in the list of the label's words", 0);
    const hsize_t start = 0, count = table->columns;
    hdf5_dataset_put(file, index, &start, &count, words);
}

struct part {
    const char *name, *about, *cell_methods;
    unsigned along;
    enum hdf5_type type;
};

static const struct part counter_parts[HDF5_COUNTER_DATASETS] = {
    [HDF5_COUNTER_DELTA] = {"delta", "counters: in the bucket", "time: sum", HDF5_TIME, HDF5_U64},
    [HDF5_COUNTER_BEFORE] = {"before", "counters: since the start of the run, before restart_row",
                             "", HDF5_RESTART, HDF5_U64},
};
static const struct part gauge_parts[HDF5_GAUGE_DATASETS] = {
    [HDF5_GAUGE_VALUE] = {"last", "gauges: at the end of the bucket", "time: point", HDF5_TIME,
                          HDF5_I64},
    [HDF5_GAUGE_MIN] = {"min", "gauges: smallest in the bucket", "time: minimum", HDF5_TIME,
                        HDF5_I64},
    [HDF5_GAUGE_MAX] = {"max", "gauges: largest in the bucket", "time: maximum", HDF5_TIME,
                        HDF5_I64},
};

/* Creates one part of all metrics of a table. Returns its dataset. */
static unsigned create_part(struct hdf5_file *file, const struct hdf5_table *table,
                            const struct part *part)
{
    const bool is_gauge = part->type == HDF5_I64;
    char name[HDF5_NAME_BYTES], coordinates[HDF5_NAME_BYTES];
    (void)snprintf(name, sizeof name, HDF5_OWN_GROUP "/%s", part->name);
    (void)snprintf(coordinates, sizeof coordinates, "%s_name %s_label %s_word", table->name,
                   table->name, table->name);
    const unsigned index = hdf5_dataset_create(
        file, &(struct hdf5_spec){.name = name,
                                  .type = part->type,
                                  .rank = 2,
                                  .dimensions = {part->along, table->dimension},
                                  .packed = true,
                                  .has_fill = is_gauge,
                                  .fill_value = is_gauge ? HDF5_GAUGE_MISSING : 0,
                                  .long_name = part->about});
    hdf5_attribute_text(file, file->datasets[index].id, "coordinates", coordinates);
    if (part->cell_methods[0] != '\0') {
        hdf5_attribute_text(file, file->datasets[index].id, "cell_methods", part->cell_methods);
    }
    return index;
}

/* Creates a table with its columns' descriptions and `count` parts, unless it has no columns. */
static void create_table(struct hdf5_file *file, struct hdf5_table *table, const char *name,
                         const struct part *parts, unsigned count)
{
    char dimension[HDF5_NAME_BYTES];
    if (table->columns == 0) {
        return;
    }
    table->name = name;
    table->dimension = file->dimension_count++;
    (void)snprintf(dimension, sizeof dimension, HDF5_OWN_GROUP "/%s", name);
    hdf5_dimension_create(file, table->dimension, dimension, table->columns);
    describe_columns(file, table);
    for (unsigned i = 0; i < count; i++) {
        const unsigned index = create_part(file, table, &parts[i]);
        if (i == 0) {
            table->first = index;
        }
    }
}

void hdf5_own_create(struct hdf5_file *file)
{
    struct hdf5_table *counters = &file->own_counters, *gauges = &file->own_gauges;
    if (counters->columns > HDF5_OWN_COLUMNS_MAX || gauges->columns > HDF5_OWN_COLUMNS_MAX) {
        if (file->code == 0) {
            file->code = vamp_err_set(file->err, -ENOBUFS,
                                      "create group \"" HDF5_OWN_GROUP "\": more than %u columns",
                                      HDF5_OWN_COLUMNS_MAX);
        }
        return;
    }
    if (counters->columns + gauges->columns == 0) {
        return; /* the output has no metrics of this table */
    }
    hdf5_group_create(file, HDF5_OWN_GROUP, "title", "vampire's own metrics");
    create_table(file, counters, "counter", counter_parts, HDF5_COUNTER_DATASETS);
    create_table(file, gauges, "gauge", gauge_parts, HDF5_GAUGE_DATASETS);
}

/* ---- the values */

/* Writes a row with the cells of all metrics of the table. */
static void write_part(struct hdf5_file *file, const struct hdf5_table *table, unsigned part,
                       const struct vamp_bucket *bucket, hsize_t row)
{
    const bool counters = table == &file->own_counters;
    if (table->columns == 0) {
        return;
    }
    uint64_t *cells = hdf5_column_begin(file, table->columns, counters ? 0 : HDF5_GAUGE_MISSING);
    if (cells == NULL) {
        return;
    }
    for (unsigned m = 0; m < file->schema->metric_count; m++) {
        if (has_column(file, m, table)) {
            hdf5_cells_add(file, bucket, m, part, cells + file->metrics[m].overview);
        }
    }
    if (!counters) {
        hdf5_extremes_leave(file, part, cells, table->columns);
    }
    hdf5_dataset_put_row(file, table->first + part, row, cells);
}

void hdf5_own_write(struct hdf5_file *file, const struct vamp_bucket *bucket)
{
    write_part(file, &file->own_counters, HDF5_COUNTER_DELTA, bucket, file->rows);
    for (unsigned part = 0; part < HDF5_GAUGE_DATASETS; part++) {
        write_part(file, &file->own_gauges, part, bucket, file->rows);
    }
}

void hdf5_own_restart(struct hdf5_file *file, const struct vamp_bucket *bucket)
{
    write_part(file, &file->own_counters, HDF5_COUNTER_BEFORE, bucket,
               file->dimensions[HDF5_RESTART].size);
}
