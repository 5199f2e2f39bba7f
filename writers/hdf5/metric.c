/* SPDX-License-Identifier: BSD-3-Clause */
/* The datasets of one metric and their attributes. */
#include "writers/hdf5/internal.h"

#include <stdio.h>
#include <string.h>

struct part {
    const char *suffix, *about, *cell_methods;
    bool has_unit; /* the metric's unit; else a number of values */
    bool is_signed;
    uint64_t fill; /* for "no value"; 0: none */
};

static const struct part counter_parts[HDF5_COUNTER_DATASETS] = {
    [HDF5_COUNTER_VALUE] = {"", "since the start of the run", "time: point", true, false, 0},
    [HDF5_COUNTER_DELTA] = {"_delta", "in the bucket", "time: sum", true, false, 0},
};
static const struct part gauge_parts[HDF5_GAUGE_DATASETS] = {
    [HDF5_GAUGE_VALUE] = {"", "at the end of the bucket", "time: point", true, true, 0},
    [HDF5_GAUGE_MIN] = {"_min", "smallest in the bucket", "time: minimum", true, true, 0},
    [HDF5_GAUGE_MAX] = {"_max", "largest in the bucket", "time: maximum", true, true, 0},
};
/* Of a gauge whose series were added. */
static const struct part bounded_gauge_parts[HDF5_GAUGE_DATASETS] = {
    [HDF5_GAUGE_VALUE] = {"", "at the end of the bucket", "time: point", true, true, 0},
    [HDF5_GAUGE_MIN] = {"_min_bound", "not below this in the bucket", "time: minimum", true, true,
                        0},
    [HDF5_GAUGE_MAX] = {"_max_bound", "not above this in the bucket", "time: maximum", true, true,
                        0},
};
static const struct part histogram_parts[HDF5_HISTOGRAM_DATASETS] = {
    [HDF5_HISTOGRAM_BINS] = {"", "values in each bin in the bucket", "time: sum", false, false, 0},
    [HDF5_HISTOGRAM_COUNT] = {"_count", "values in the bucket", "time: sum", false, false, 0},
    [HDF5_HISTOGRAM_SUM] = {"_sum", "sum of the values in the bucket", "time: sum", true, false, 0},
    [HDF5_HISTOGRAM_MIN] = {"_min", "smallest value in the bucket", "time: minimum", true, false,
                            UINT64_MAX},
    [HDF5_HISTOGRAM_MAX] = {"_max", "largest value in the bucket", "time: maximum", true, false,
                            UINT64_MAX},
};

static const struct part *parts_of(const struct vamp_schema_metric *entry, unsigned *ret_count)
{
    switch (vamp_metrics[entry->id].kind) {
    case VAMP_COUNTER:
        *ret_count = HDF5_COUNTER_DATASETS;
        return counter_parts;
    case VAMP_GAUGE:
        *ret_count = HDF5_GAUGE_DATASETS;
        return entry->has_bounds ? bounded_gauge_parts : gauge_parts;
    case VAMP_HISTOGRAM:
        *ret_count = HDF5_HISTOGRAM_DATASETS;
        return histogram_parts;
    }
    *ret_count = 0;
    return NULL;
}

/* The names of the set's labels: variables (`coordinates`) or plain words (`labels`). */
static void label_list(const struct vamp_schema *schema, unsigned set, bool variables, char *text,
                       size_t bytes)
{
    text[0] = '\0';
    for (unsigned l = 0; l < schema->label_sets[set].label_count; l++) {
        char name[HDF5_NAME_BYTES];
        hdf5_label_variable(schema, set, l, name);
        size_t used = strlen(text);
        (void)snprintf(text + used, bytes - used, "%s%s", used > 0 ? " " : "",
                       variables ? name : vamp_label_name(schema->label_sets[set].labels[l]));
    }
}

static int describe_metric(hid_t id, const struct hdf5_file *file,
                           const struct vamp_schema_metric *entry, const struct part *part,
                           struct vamp_err *err)
{
    const struct vamp_metric *metric = &vamp_metrics[entry->id];
    char coordinates[VAMP_LABELS_MAX * HDF5_NAME_BYTES], labels[VAMP_LABELS_MAX * 32];
    label_list(file->schema, entry->label_set, true, coordinates, sizeof coordinates);
    label_list(file->schema, entry->label_set, false, labels, sizeof labels);
    if (metric->kind == VAMP_HISTOGRAM && part->suffix[0] == '\0') {
        size_t used = strlen(coordinates);
        (void)snprintf(coordinates + used, sizeof coordinates - used, "%sbin_lower bin_upper",
                       used > 0 ? " " : "");
    }
    const struct {
        const char *name, *text;
    } attributes[] = {
        {"coordinates", coordinates}, {"cell_methods", part->cell_methods},
        {"metric", metric->name},     {"kind", vamp_metric_kind_name(metric->kind)},
        {"labels", labels},           {"help", metric->help},
        {"origin", metric->origin},   {"value_units", metric->unit},
    };
    int code = 0;
    for (unsigned i = 0; code == 0 && i < sizeof attributes / sizeof attributes[0]; i++) {
        if (attributes[i].text[0] != '\0') {
            code = hdf5_attribute_text(id, attributes[i].name, attributes[i].text, err);
        }
    }
    return code;
}

static int create_part(struct hdf5_file *file, const struct vamp_schema_metric *entry,
                       const struct part *part, unsigned *ret_index, struct vamp_err *err)
{
    const struct vamp_metric *metric = &vamp_metrics[entry->id];
    const struct hdf5_set *set = &file->sets[entry->label_set];
    bool labelled = file->schema->label_sets[entry->label_set].label_count > 0;
    char name[HDF5_NAME_BYTES], about[2 * HDF5_NAME_BYTES];
    (void)snprintf(name, sizeof name, "%s%s", metric->name, part->suffix);
    (void)snprintf(about, sizeof about, "%s: %s", metric->help, part->about);
    struct hdf5_spec spec = {
        .name = name,
        .type = part->is_signed ? HDF5_I64 : HDF5_U64,
        .rank = 1,
        .dimensions = {HDF5_TIME},
        .has_fill = part->fill != 0,
        .fill_value = part->fill,
        .units = part->has_unit ? metric->unit : "1",
        .long_name = about,
    };
    if (labelled) {
        spec.dimensions[spec.rank++] = set->dimension;
    }
    if (metric->kind == VAMP_HISTOGRAM && part->suffix[0] == '\0') {
        spec.chunk[1] = labelled ? hdf5_layout_chunk_series(file, set) : 0;
        spec.dimensions[spec.rank++] = HDF5_BIN;
    }
    int code = hdf5_dataset_create(file, &spec, ret_index, err);
    return code != 0 ? code
                     : describe_metric(file->datasets[*ret_index].id, file, entry, part, err);
}

int hdf5_metric_create(struct hdf5_file *file, unsigned number, struct vamp_err *err)
{
    const struct vamp_schema_metric *entry = &file->schema->metrics[number];
    unsigned count = 0;
    const struct part *parts = parts_of(entry, &count);
    int code = 0;
    for (unsigned i = 0; code == 0 && i < count; i++) {
        unsigned index = 0;
        code = create_part(file, entry, &parts[i], &index, err);
        if (i == 0) {
            file->metric_first[number] = index;
        }
    }
    return code;
}
