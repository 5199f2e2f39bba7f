/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A group for each label set that the overview does not show whole: one with a label whose values
 * are no closed list, or with a histogram.
 */
#include "writers/hdf5/internal.h"

#include <stdio.h>
#include <string.h>

/* Rows of a chunk unless the first bucket of the file has more. A bucket takes at least a chunk of
 * each variable, and a reader decompresses it whole. */
#define CHUNK_OF_WORDS 32       /* only words */
#define CHUNK_OF_NAMES 64       /* components */
#define CHUNK_OF_NAME_WORDS 512 /* components and words */
#define CHUNK_OF_PAIRS 1024     /* sources and sinks */
#define ENTRY_CHUNK_LEAST 512U

/* Only of a metric with open labels, or of a histogram with labels. */
static bool needs_rows(const struct hdf5_file *file, unsigned metric)
{
    const struct vamp_schema_metric *entry = &file->schema->metrics[metric];
    const unsigned labels = file->schema->label_sets[entry->label_set].label_count;
    return labels > file->sets[entry->label_set].closed_count ||
           (labels > 0 && vamp_metrics[entry->id].kind == VAMP_HISTOGRAM);
}

static unsigned chunk_for(uint64_t rows, unsigned least)
{
    unsigned chunk = least;
    while (chunk < rows && chunk < HDF5_CHUNK_ROWS_MAX) {
        chunk *= 2;
    }
    return chunk;
}

/* Series with a value in the first bucket, from above. */
static unsigned rows_of_first(const struct hdf5_file *file, unsigned set,
                              const struct vamp_delivery *first)
{
    const struct vamp_schema *schema = file->schema;
    unsigned most = 0;
    for (unsigned m = 0; first != NULL && m < schema->metric_count; m++) {
        const struct vamp_metric_values *values = &first->bucket->values[m];
        if (schema->metrics[m].label_set != set || !file->metrics[m].has_rows) {
            continue;
        }
        unsigned rows = values->count;
        if (vamp_metrics[schema->metrics[m].id].kind == VAMP_COUNTER) {
            rows = 0;
            for (unsigned i = 0; i < values->count; i++) {
                rows += values->counters[i].delta > 0;
            }
        }
        most = rows > most ? rows : most;
    }
    return most;
}

static unsigned choose_chunk_rows(const struct hdf5_file *file, unsigned set,
                                  const struct vamp_delivery *first)
{
    const unsigned words = file->sets[set].closed_count;
    const unsigned names = file->schema->label_sets[set].label_count - words;
    const unsigned usual = names == 0   ? CHUNK_OF_WORDS
                           : names > 1  ? CHUNK_OF_PAIRS
                           : words == 0 ? CHUNK_OF_NAMES
                                        : CHUNK_OF_NAME_WORDS;
    return chunk_for(rows_of_first(file, set, first), usual);
}

static int create_group(struct hdf5_file *file, unsigned number, struct vamp_err *err)
{
    const struct vamp_label_set *description = &file->schema->label_sets[number];
    struct hdf5_set *set = &file->sets[number];
    char labels[HDF5_NAME_BYTES] = "";
    (void)snprintf(set->group, sizeof set->group, "by");
    for (unsigned l = 0; l < description->label_count; l++) {
        const size_t used = strlen(labels), named = strlen(set->group);
        const char *label = vamp_label_name(description->labels[l]);
        (void)snprintf(labels + used, sizeof labels - used, "%s%s", used > 0 ? " " : "", label);
        (void)snprintf(set->group + named, sizeof set->group - named, "_%s", label);
    }
    const unsigned order = H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED;
    hid_t create = H5Pcreate(H5P_GROUP_CREATE);
    hid_t group = -1;
    if (create >= 0 && H5Pset_link_creation_order(create, order) >= 0 &&
        H5Pset_attr_creation_order(create, order) >= 0 &&
        H5Pset_obj_track_times(create, false) >= 0) {
        group = H5Gcreate2(file->file, set->group, H5P_DEFAULT, create, H5P_DEFAULT);
    }
    (void)H5Pclose(create);
    int code = group < 0 ? hdf5_fail(err, "create group \"%s\"", set->group)
                         : hdf5_attribute_text(group, "labels", labels, err);
    if (group >= 0 && H5Gclose(group) < 0 && code == 0) {
        code = hdf5_fail(err, "close group \"%s\"", set->group);
    }
    return code;
}

static void join_path(char path[static HDF5_NAME_BYTES], const struct hdf5_set *set,
                      const char *name)
{
    (void)snprintf(path, HDF5_NAME_BYTES, "%.100s/%.80s", set->group, name);
}

static int create_dimension(struct hdf5_file *file, const struct hdf5_set *set, const char *name,
                            unsigned *ret_dimension, struct vamp_err *err)
{
    char path[HDF5_NAME_BYTES];
    join_path(path, set, name);
    *ret_dimension = file->dimension_count++;
    return hdf5_dimension_create(file, *ret_dimension, path, 0, true, err);
}

static int create_series(struct hdf5_file *file, unsigned number, struct vamp_err *err)
{
    const struct vamp_label_set *description = &file->schema->label_sets[number];
    struct hdf5_set *set = &file->sets[number];
    char path[HDF5_NAME_BYTES], about[HDF5_NAME_BYTES];
    int code = 0;
    set->label_count = description->label_count;
    for (unsigned l = 0; code == 0 && l < set->label_count; l++) {
        const enum vamp_label label = description->labels[l];
        join_path(path, set, vamp_label_name(label));
        (void)snprintf(about, sizeof about, "%s of the series", vamp_label_name(label));
        code = hdf5_layout_text(file, path, about, set->series, hdf5_layout_length(label),
                                &set->label_text[l], err);
    }
    join_path(path, set, "id");
    return code != 0 ? code
                     : hdf5_layout_text(file, path, "identifier of the series (UUIDv5)",
                                        set->series, HDF5_ID_LENGTH, &set->id_text, err);
}

static int create_columns(struct hdf5_file *file, struct hdf5_set *set, struct vamp_err *err)
{
    const struct {
        const char *name, *about;
        unsigned dimension, *ret_index;
        uint64_t fill;
    } columns[] = {
        {"series_index", "series of the row", set->row, &set->series_index, HDF5_PADDING},
        {"first_row", "first row of the bucket", HDF5_TIME, &set->first_row, 0},
        {"rows", "rows of the bucket", HDF5_TIME, &set->rows, 0},
        {"before_series", "series of a total before a row of time", set->before,
         &set->before_series, HDF5_PADDING},
        {"before_restart", "restart to which the total belongs", set->before, &set->before_restart,
         0},
    };
    int code = 0;
    for (unsigned i = 0; code == 0 && i < sizeof columns / sizeof columns[0]; i++) {
        char path[HDF5_NAME_BYTES];
        join_path(path, set, columns[i].name);
        const bool by_time = columns[i].dimension == HDF5_TIME;
        const struct hdf5_spec spec = {
            .name = path,
            .type = HDF5_U32,
            .rank = 1,
            .dimensions = {columns[i].dimension},
            .chunk_rows = by_time ? 0 : set->chunk_rows,
            .packed = !by_time,
            .fill_value = columns[i].fill,
            .units = "1",
            .long_name = columns[i].about,
        };
        code = hdf5_dataset_create(file, &spec, columns[i].ret_index, err);
        if (code == 0 && columns[i].fill != 0) {
            code = hdf5_attribute_number(file->datasets[*columns[i].ret_index].id, "padding",
                                         HDF5_U32, columns[i].fill, err);
        }
    }
    return code;
}

static int create_metric(struct hdf5_file *file, unsigned number, const struct vamp_delivery *first,
                         struct vamp_err *err)
{
    const struct vamp_schema_metric *entry = &file->schema->metrics[number];
    const struct hdf5_set *set = &file->sets[entry->label_set];
    struct hdf5_metric *metric = &file->metrics[number];
    int code = 0;
    if (vamp_metrics[entry->id].kind == VAMP_HISTOGRAM) {
        char name[HDF5_NAME_BYTES];
        (void)snprintf(name, sizeof name, "%s_entry", vamp_metrics[entry->id].name);
        const uint64_t entries =
            first != NULL ? hdf5_rows_entries(&first->bucket->values[number]) : 0;
        const unsigned least = set->closed_count == 1 && set->cells == VAMP_OUTPUTS_MAX + 1
                                   ? CHUNK_OF_WORDS
                                   : ENTRY_CHUNK_LEAST;
        metric->entry_chunk = chunk_for(entries, set->chunk_rows > least ? set->chunk_rows : least);
        code = create_dimension(file, set, name, &metric->entry, err);
    }
    return code != 0 ? code : hdf5_metric_create_rows(file, number, err);
}

static int create_set(struct hdf5_file *file, unsigned number, const struct vamp_delivery *first,
                      struct vamp_err *err)
{
    struct hdf5_set *set = &file->sets[number];
    set->chunk_rows = choose_chunk_rows(file, number, first);
    int code = create_group(file, number, err);
    if (code == 0) {
        code = create_dimension(file, set, "series", &set->series, err);
    }
    if (code == 0) {
        code = create_dimension(file, set, "row", &set->row, err);
    }
    if (code == 0) {
        code = create_dimension(file, set, "before", &set->before, err);
    }
    if (code == 0) {
        code = create_series(file, number, err);
    }
    if (code == 0) {
        code = create_columns(file, set, err);
    }
    for (unsigned m = 0; code == 0 && m < file->schema->metric_count; m++) {
        if (file->schema->metrics[m].label_set == number && file->metrics[m].has_rows) {
            code = create_metric(file, m, first, err);
        }
    }
    return code;
}

int hdf5_groups_create(struct hdf5_file *file, const struct vamp_delivery *first,
                       struct vamp_err *err)
{
    int code = 0;
    for (unsigned m = 0; m < file->schema->metric_count; m++) {
        file->metrics[m].has_rows = needs_rows(file, m);
        file->sets[file->schema->metrics[m].label_set].has_group |= file->metrics[m].has_rows;
    }
    for (unsigned s = 0; code == 0 && s < file->schema->label_set_count; s++) {
        code = file->sets[s].has_group ? create_set(file, s, first, err) : 0;
    }
    return code;
}
