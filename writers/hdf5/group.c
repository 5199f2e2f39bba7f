/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A group for each label set that the overview does not show whole: one with a label whose values
 * are no closed list, or with a histogram.
 */
#include "writers/hdf5/internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
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

int hdf5_group_create(struct hdf5_file *file, const char *name, const char *attribute,
                      const char *text, struct vamp_err *err)
{
    const unsigned order = H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED;
    hid_t create = H5Pcreate(H5P_GROUP_CREATE);
    hid_t group = -1;
    if (create >= 0 && H5Pset_link_creation_order(create, order) >= 0 &&
        H5Pset_attr_creation_order(create, order) >= 0 &&
        H5Pset_obj_track_times(create, false) >= 0) {
        group = H5Gcreate2(file->file, name, H5P_DEFAULT, create, H5P_DEFAULT);
    }
    (void)H5Pclose(create);
    int code = group < 0 ? hdf5_fail(err, "create group \"%s\"", name)
                         : hdf5_attribute_text(group, attribute, text, err);
    if (group >= 0 && H5Gclose(group) < 0 && code == 0) {
        code = hdf5_fail(err, "close group \"%s\"", name);
    }
    return code;
}

static int create_group(struct hdf5_file *file, unsigned number, struct vamp_err *err)
{
    const struct vamp_label_set *description = &file->schema->label_sets[number];
    char labels[HDF5_NAME_BYTES] = "";
    for (unsigned l = 0; l < description->label_count; l++) {
        const size_t used = strlen(labels);
        (void)snprintf(labels + used, sizeof labels - used, "%s%s", used > 0 ? " " : "",
                       vamp_label_name(description->labels[l]));
    }
    return hdf5_group_create(file, file->sets[number].group, "labels", labels, err);
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
        {"before_series", "series of a total before a row of time", set->before,
         &set->before_series, HDF5_PADDING},
        {"before_restart", "restart to which the total belongs", set->before, &set->before_restart,
         0},
    };
    int code = 0;
    for (unsigned i = 0; code == 0 && i < sizeof columns / sizeof columns[0]; i++) {
        char path[HDF5_NAME_BYTES];
        join_path(path, set, columns[i].name);
        const struct hdf5_spec spec = {
            .name = path,
            .type = HDF5_U32,
            .rank = 1,
            .dimensions = {columns[i].dimension},
            .chunk_rows = set->chunk_rows,
            .packed = true,
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

/* `row_dimension`: the dimension of each slot, as its path. */
static int name_places(struct hdf5_file *file, unsigned slot, struct vamp_err *err)
{
    unsigned names = 0;
    int code = hdf5_layout_text(file, "row_dimension", "dimension of the rows, with its group",
                                slot, HDF5_TEXT_LENGTH, &names, err);
    for (unsigned m = 0; code == 0 && m < file->schema->metric_count; m++) {
        const struct vamp_schema_metric *entry = &file->schema->metrics[m];
        const struct hdf5_metric *metric = &file->metrics[m];
        const struct hdf5_set *set = &file->sets[entry->label_set];
        char path[HDF5_NAME_BYTES];
        if (metric->has_rows) {
            join_path(path, set, "row");
            code = hdf5_dataset_put_text(file, names, set->slot, path, err);
        }
        if (code == 0 && metric->has_rows && vamp_metrics[entry->id].kind == VAMP_HISTOGRAM) {
            char name[HDF5_NAME_BYTES];
            (void)snprintf(name, sizeof name, "%s_entry", vamp_metrics[entry->id].name);
            join_path(path, set, name);
            code = hdf5_dataset_put_text(file, names, metric->entry_slot, path, err);
        }
    }
    return code;
}

static void name_group(const struct vamp_label_set *description, struct hdf5_set *set)
{
    (void)snprintf(set->group, sizeof set->group, "by");
    for (unsigned l = 0; l < description->label_count; l++) {
        const size_t used = strlen(set->group);
        (void)snprintf(set->group + used, sizeof set->group - used, "_%s",
                       vamp_label_name(description->labels[l]));
    }
}

/* Which metrics have rows, which sets a group, and the slots of both. */
static void plan_groups(struct hdf5_file *file)
{
    for (unsigned m = 0; m < file->schema->metric_count; m++) {
        struct hdf5_metric *metric = &file->metrics[m];
        const struct vamp_schema_metric *entry = &file->schema->metrics[m];
        struct hdf5_set *set = &file->sets[entry->label_set];
        metric->has_rows = needs_rows(file, m);
        if (metric->has_rows && !set->has_group) {
            set->has_group = true;
            name_group(&file->schema->label_sets[entry->label_set], set);
            set->slot = file->slots++;
        }
        if (metric->has_rows && vamp_metrics[entry->id].kind == VAMP_HISTOGRAM) {
            metric->entry_slot = file->slots++;
        }
    }
}

/* One table for all groups: a column for each of them would be two more variables that grow with
 * each bucket. */
static int create_places(struct hdf5_file *file, struct vamp_err *err)
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
        return vamp_err_set_errno(err, ENOMEM, "prepare the file");
    }
    const unsigned slot = file->dimension_count++;
    int code = hdf5_dimension_create(file, slot, "row_slot", file->slots, false, err);
    for (unsigned i = 0; code == 0 && i < sizeof tables / sizeof tables[0]; i++) {
        const struct hdf5_spec spec = {
            .name = tables[i].name,
            .type = HDF5_U32,
            .rank = 2,
            .dimensions = {HDF5_TIME, slot},
            .chunk_rows = HDF5_PLACE_CHUNK_ROWS,
            .chunk_columns = HDF5_PLACE_CHUNK_SLOTS,
            .units = "1",
            .long_name = tables[i].about,
        };
        code = hdf5_dataset_create(file, &spec, tables[i].ret_index, err);
        if (code == 0) {
            code = hdf5_attribute_text(file->datasets[*tables[i].ret_index].id, "coordinates",
                                       "row_dimension", err);
        }
    }
    return code != 0 ? code : name_places(file, slot, err);
}

int hdf5_groups_create(struct hdf5_file *file, const struct vamp_delivery *first,
                       struct vamp_err *err)
{
    plan_groups(file);
    int code = file->slots > 0 ? create_places(file, err) : 0;
    for (unsigned s = 0; code == 0 && s < file->schema->label_set_count; s++) {
        code = file->sets[s].has_group ? create_set(file, s, first, err) : 0;
    }
    return code;
}
