/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * vampire's own metrics, in the group `vampire`: a table of all counters and one of all gauges, a
 * column for each cell of each metric. As variables of the root group they were a quarter of what a
 * reader opens. The weights of sampled events stay there: numbers of the overview are multiplied
 * with them. A histogram with a label is in its rows only.
 */
#include "writers/hdf5/internal.h"

#include <stdio.h>

static bool is_weight(enum vamp_metric_id id)
{
    return id == VAMP_METRIC_VAMPIRE_WEIGHT || id == VAMP_METRIC_VAMPIRE_WEIGHTED ||
           id == VAMP_METRIC_VAMPIRE_SAMPLED_IN;
}

static enum hdf5_place place_of(const struct hdf5_file *file, unsigned number)
{
    const struct vamp_schema_metric *entry = &file->schema->metrics[number];
    const struct vamp_metric *metric = &vamp_metrics[entry->id];
    const unsigned labels = file->schema->label_sets[entry->label_set].label_count;
    /* Of collected runs they have the labels of the run, and rows. */
    const bool has_names = labels > file->sets[entry->label_set].closed_count;
    if ((metric->sets & VAMP_SET_SELF) == 0 || is_weight(entry->id) || entry->has_bounds ||
        has_names || labels > 1) {
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
    return vamp_metrics[file->schema->metrics[metric].id].kind == VAMP_COUNTER ? &file->own_counters
                                                                               : &file->own_gauges;
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

/* What a column of a table is, apart from the words of its labels. */
enum about { ABOUT_NAME, ABOUT_LABEL, ABOUT_UNITS, ABOUT_HELP, ABOUT_ORIGIN, ABOUT_COUNT };

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

static const char *text_about(const struct hdf5_file *file, unsigned number, enum about about)
{
    const struct vamp_schema_metric *entry = &file->schema->metrics[number];
    const struct vamp_metric *metric = &vamp_metrics[entry->id];
    const struct vamp_label_set *set = &file->schema->label_sets[entry->label_set];
    switch (about) {
    case ABOUT_NAME:
        return metric->name;
    case ABOUT_LABEL: /* each of them has at most one */
        return set->label_count > 0 ? vamp_label_name(set->labels[0]) : "";
    case ABOUT_UNITS:
        return metric->unit;
    case ABOUT_HELP:
        return metric->help;
    case ABOUT_ORIGIN:
    case ABOUT_COUNT:
        break;
    }
    return metric->origin;
}

static unsigned cells_of(const struct hdf5_file *file, unsigned metric)
{
    return file->sets[file->schema->metrics[metric].label_set].cells;
}

static int create_text(struct hdf5_file *file, const struct hdf5_table *table, enum about about,
                       struct vamp_err *err)
{
    char name[HDF5_NAME_BYTES];
    const char *texts[HDF5_OWN_COLUMNS_MAX];
    unsigned index = 0;
    for (unsigned m = 0; m < file->schema->metric_count; m++) {
        for (unsigned c = 0; has_column(file, m, table) && c < cells_of(file, m); c++) {
            texts[file->metrics[m].overview + c] = text_about(file, m, about);
        }
    }
    (void)snprintf(name, sizeof name, HDF5_OWN_GROUP "/%s_%s", table->name, abouts[about].name);
    const struct hdf5_spec spec = {
        .name = name,
        .type = HDF5_CHAR,
        .rank = 2,
        .dimensions = {table->dimension, abouts[about].length},
        .packed = true,
        .long_name = abouts[about].about,
    };
    int code = hdf5_dataset_create(file, &spec, &index, err);
    return code != 0 ? code : hdf5_dataset_put_texts(file, index, 0, table->columns, texts, err);
}

/* The number of the word in the label's list in the root group. */
static int create_words(struct hdf5_file *file, const struct hdf5_table *table,
                        struct vamp_err *err)
{
    char name[HDF5_NAME_BYTES];
    uint64_t words[HDF5_OWN_COLUMNS_MAX];
    unsigned index = 0;
    for (unsigned m = 0; m < file->schema->metric_count; m++) {
        for (unsigned c = 0; has_column(file, m, table) && c < cells_of(file, m); c++) {
            words[file->metrics[m].overview + c] = c;
        }
    }
    (void)snprintf(name, sizeof name, HDF5_OWN_GROUP "/%s_word", table->name);
    const struct hdf5_spec spec = {
        .name = name,
        .type = HDF5_U64,
        .rank = 1,
        .dimensions = {table->dimension},
        .units = "1",
        .long_name = "number of the column's word in the list of the label's words",
    };
    const hsize_t start = 0, count = table->columns;
    int code = hdf5_dataset_create(file, &spec, &index, err);
    return code != 0 ? code : hdf5_dataset_put(file, index, &start, &count, words, err);
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

static int create_part(struct hdf5_file *file, const struct hdf5_table *table,
                       const struct part *part, unsigned *ret_index, struct vamp_err *err)
{
    char name[HDF5_NAME_BYTES], coordinates[HDF5_NAME_BYTES];
    (void)snprintf(name, sizeof name, HDF5_OWN_GROUP "/%s", part->name);
    (void)snprintf(coordinates, sizeof coordinates, "%s_name %s_label %s_word", table->name,
                   table->name, table->name);
    const struct hdf5_spec spec = {
        .name = name,
        .type = part->type,
        .rank = 2,
        .dimensions = {part->along, table->dimension},
        .packed = true,
        .has_fill = part->type == HDF5_I64,
        .fill_value = part->type == HDF5_I64 ? HDF5_GAUGE_MISSING : 0,
        .long_name = part->about,
    };
    int code = hdf5_dataset_create(file, &spec, ret_index, err);
    const hid_t id = code == 0 ? file->datasets[*ret_index].id : -1;
    code = code != 0 ? code : hdf5_attribute_text(id, "coordinates", coordinates, err);
    return code != 0 || part->cell_methods[0] == '\0'
               ? code
               : hdf5_attribute_text(id, "cell_methods", part->cell_methods, err);
}

static int create_table(struct hdf5_file *file, struct hdf5_table *table, const char *name,
                        const struct part *parts, unsigned count, struct vamp_err *err)
{
    char dimension[HDF5_NAME_BYTES];
    if (table->columns == 0) {
        return 0;
    }
    table->name = name;
    table->dimension = file->dimension_count++;
    (void)snprintf(dimension, sizeof dimension, HDF5_OWN_GROUP "/%s", name);
    int code = hdf5_dimension_create(file, table->dimension, dimension, table->columns, false, err);
    for (unsigned i = 0; code == 0 && i < ABOUT_COUNT; i++) {
        code = create_text(file, table, (enum about)i, err);
    }
    code = code != 0 ? code : create_words(file, table, err);
    for (unsigned i = 0; code == 0 && i < count; i++) {
        unsigned index = 0;
        code = create_part(file, table, &parts[i], &index, err);
        table->first = i == 0 ? index : table->first;
    }
    return code;
}

int hdf5_own_create(struct hdf5_file *file, struct vamp_err *err)
{
    if (file->own_counters.columns > HDF5_OWN_COLUMNS_MAX ||
        file->own_gauges.columns > HDF5_OWN_COLUMNS_MAX) {
        return vamp_err_set(err, -ENOBUFS,
                            "create group \"" HDF5_OWN_GROUP "\": more than %u columns",
                            HDF5_OWN_COLUMNS_MAX);
    }
    if (file->own_counters.columns + file->own_gauges.columns == 0) {
        return 0; /* the output has none of them */
    }
    int code = hdf5_group_create(file, HDF5_OWN_GROUP, "title", "vampire's own metrics", err);
    if (code == 0) {
        code = create_table(file, &file->own_counters, "counter", counter_parts,
                            HDF5_COUNTER_DATASETS, err);
    }
    return code != 0 ? code
                     : create_table(file, &file->own_gauges, "gauge", gauge_parts,
                                    HDF5_GAUGE_DATASETS, err);
}

/* ---- the values */

static int write_counters(struct hdf5_file *file, const struct vamp_bucket *bucket, unsigned part,
                          hsize_t row, struct vamp_err *err)
{
    const struct hdf5_table *table = &file->own_counters;
    if (table->columns == 0) {
        return 0;
    }
    int code = hdf5_cells_begin(file, table->columns, 0, err);
    for (unsigned m = 0; code == 0 && m < file->schema->metric_count; m++) {
        if (has_column(file, m, table)) {
            const struct hdf5_set *set = &file->sets[file->schema->metrics[m].label_set];
            uint64_t *cells = file->column.numbers + file->metrics[m].overview;
            if (part == HDF5_COUNTER_DELTA) {
                hdf5_cells_add_delta(set, &bucket->values[m], cells);
            } else {
                hdf5_cells_add_before(set, &bucket->values[m], cells);
            }
        }
    }
    return code != 0
               ? code
               : hdf5_dataset_put_row(file, table->first + part, row, file->column.numbers, err);
}

static int write_gauges(struct hdf5_file *file, const struct vamp_bucket *bucket, unsigned part,
                        struct vamp_err *err)
{
    const struct hdf5_table *table = &file->own_gauges;
    if (table->columns == 0) {
        return 0;
    }
    int code = hdf5_cells_begin(file, table->columns, HDF5_GAUGE_MISSING, err);
    for (unsigned m = 0; code == 0 && m < file->schema->metric_count; m++) {
        if (has_column(file, m, table)) {
            const struct vamp_schema_metric *entry = &file->schema->metrics[m];
            hdf5_cells_join_gauge(&file->sets[entry->label_set], &bucket->values[m], part,
                                  vamp_metrics[entry->id].merge,
                                  file->column.numbers + file->metrics[m].overview);
        }
    }
    return code != 0 ? code
                     : hdf5_dataset_put_row(file, table->first + part, file->rows,
                                            file->column.numbers, err);
}

int hdf5_own_write(struct hdf5_file *file, const struct vamp_bucket *bucket, struct vamp_err *err)
{
    int code = write_counters(file, bucket, HDF5_COUNTER_DELTA, file->rows, err);
    for (unsigned part = 0; code == 0 && part < HDF5_GAUGE_DATASETS; part++) {
        code = write_gauges(file, bucket, part, err);
    }
    return code;
}

int hdf5_own_restart(struct hdf5_file *file, const struct vamp_bucket *bucket, struct vamp_err *err)
{
    return write_counters(file, bucket, HDF5_COUNTER_BEFORE, file->dimensions[HDF5_RESTART].size,
                          err);
}
