/* SPDX-License-Identifier: BSD-3-Clause */
/* The datasets of one metric and their attributes, in the overview and in the group of its rows. */
#include "writers/hdf5/metric.h"

#include <stdio.h>
#include <string.h>

#include "writers/hdf5/attribute.h"
#include "writers/hdf5/file.h"
#include "writers/hdf5/rows.h"

/* The dimensions of a part of a metric. */
enum axes {
    ALONG_TIME,
    ALONG_TIME_WORDS,    /* the dimensions of the closed labels */
    ALONG_TIME_BIN,      /* in the overview */
    ALONG_RESTART_WORDS, /* in the overview */
    ALONG_ROW,
    ALONG_ENTRY,
    ALONG_BEFORE,
};

/* Where a part is stored. If series were summed, in the overview or by the output, the minimum and
 * maximum of the sum are only bounds of the true extremes. */
enum place { OVERVIEW, OVERVIEW_BOUNDS, ROWS, ROWS_BOUNDS };

/* The parts of a kind and place must be in the order of the HDF5_* enumeration in metric.h, because
 * a dataset is found by its offset from the first one. */
static const struct part {
    enum vamp_metric_kind kind;
    enum place place;
    const char *suffix, *about, *cell_methods;
    bool has_unit; /* has the metric's unit; else it is a number of values */
    enum hdf5_type type;
    enum axes axes;
    uint64_t fill; /* value that is not written; see fill_of */
} parts[] = {
    {VAMP_COUNTER, OVERVIEW, "_delta", "in the bucket", "time: sum", true, HDF5_U64,
     ALONG_TIME_WORDS, 0},
    {VAMP_COUNTER, OVERVIEW, "_before", "since the start of the run, before restart_row", "", true,
     HDF5_U64, ALONG_RESTART_WORDS, 0},
    {VAMP_GAUGE, OVERVIEW, "", "at the end of the bucket", "time: point", true, HDF5_I64,
     ALONG_TIME_WORDS, HDF5_GAUGE_MISSING},
    {VAMP_GAUGE, OVERVIEW, "_min", "smallest in the bucket, where it is not the value",
     "time: minimum", true, HDF5_I64, ALONG_TIME_WORDS, HDF5_GAUGE_MISSING},
    {VAMP_GAUGE, OVERVIEW, "_max", "largest in the bucket, where it is not the value",
     "time: maximum", true, HDF5_I64, ALONG_TIME_WORDS, HDF5_GAUGE_MISSING},
    {VAMP_GAUGE, OVERVIEW_BOUNDS, "", "at the end of the bucket", "time: point", true, HDF5_I64,
     ALONG_TIME_WORDS, HDF5_GAUGE_MISSING},
    {VAMP_GAUGE, OVERVIEW_BOUNDS, "_min_bound",
     "not smaller in the bucket, where it is not the value", "", true, HDF5_I64, ALONG_TIME_WORDS,
     HDF5_GAUGE_MISSING},
    {VAMP_GAUGE, OVERVIEW_BOUNDS, "_max_bound",
     "not larger in the bucket, where it is not the value", "", true, HDF5_I64, ALONG_TIME_WORDS,
     HDF5_GAUGE_MISSING},
    {VAMP_HISTOGRAM, OVERVIEW, "", "values in each bin in the bucket", "time: sum", false, HDF5_U64,
     ALONG_TIME_BIN, 0},
    {VAMP_HISTOGRAM, OVERVIEW, "_count", "values in the bucket", "time: sum", false, HDF5_U64,
     ALONG_TIME_WORDS, 0},
    {VAMP_HISTOGRAM, OVERVIEW, "_sum", "sum of the values in the bucket", "time: sum", true,
     HDF5_U64, ALONG_TIME_WORDS, 0},
    {VAMP_HISTOGRAM, OVERVIEW, "_min", "smallest value in the bucket", "time: minimum", true,
     HDF5_U64, ALONG_TIME, UINT64_MAX},
    {VAMP_HISTOGRAM, OVERVIEW, "_max", "largest value in the bucket", "time: maximum", true,
     HDF5_U64, ALONG_TIME, UINT64_MAX},
    {VAMP_COUNTER, ROWS, "_delta", "in the bucket", "", true, HDF5_U64, ALONG_ROW, 0},
    {VAMP_COUNTER, ROWS, "_before", "since the start of the run, before restart_row", "", true,
     HDF5_U64, ALONG_BEFORE, 0},
    {VAMP_GAUGE, ROWS, "", "at the end of the bucket", "", true, HDF5_I64, ALONG_ROW, 0},
    {VAMP_GAUGE, ROWS, "_min", "smallest in the bucket, where it is not the value", "", true,
     HDF5_I64, ALONG_ROW, HDF5_GAUGE_MISSING},
    {VAMP_GAUGE, ROWS, "_max", "largest in the bucket, where it is not the value", "", true,
     HDF5_I64, ALONG_ROW, HDF5_GAUGE_MISSING},
    {VAMP_GAUGE, ROWS_BOUNDS, "", "at the end of the bucket", "", true, HDF5_I64, ALONG_ROW, 0},
    {VAMP_GAUGE, ROWS_BOUNDS, "_min_bound", "not smaller in the bucket, where it is not the value",
     "", true, HDF5_I64, ALONG_ROW, HDF5_GAUGE_MISSING},
    {VAMP_GAUGE, ROWS_BOUNDS, "_max_bound", "not larger in the bucket, where it is not the value",
     "", true, HDF5_I64, ALONG_ROW, HDF5_GAUGE_MISSING},
    {VAMP_HISTOGRAM, ROWS, "_count", "values in the bucket", "", false, HDF5_U64, ALONG_ROW, 0},
    {VAMP_HISTOGRAM, ROWS, "_sum", "sum of the values in the bucket", "", true, HDF5_U64, ALONG_ROW,
     0},
    {VAMP_HISTOGRAM, ROWS, "_min", "smallest value in the bucket, where there are several", "",
     true, HDF5_U64, ALONG_ROW, 0},
    {VAMP_HISTOGRAM, ROWS, "_max", "largest value in the bucket, where there are several", "", true,
     HDF5_U64, ALONG_ROW, 0},
    {VAMP_HISTOGRAM, ROWS, "_entries", "bins with values", "", false, HDF5_U32, ALONG_ROW, 0},
    {VAMP_HISTOGRAM, ROWS, "_bin", "bin of an entry", "", false, HDF5_U16, ALONG_ENTRY, 0},
    {VAMP_HISTOGRAM, ROWS, "_bin_count", "values in the bin of an entry", "", false, HDF5_U64,
     ALONG_ENTRY, 0},
};

void hdf5_label_list(const struct vamp_label_set *set, bool all, const char *separator, char *text,
                     size_t bytes)
{
    for (unsigned l = 0; l < set->label_count; l++) {
        const size_t used = strlen(text);
        if (all || !vamp_label_is_open(set->labels[l])) {
            (void)snprintf(text + used, bytes - used, "%s%s", used > 0 ? separator : "",
                           vamp_label_name(set->labels[l]));
        }
    }
}

/* Returns whether the part's dataset has the description of the metric, which its other datasets
 * share. */
static bool is_main_part(const struct part *part)
{
    return part->suffix[0] == '\0' || strcmp(part->suffix, "_delta") == 0 ||
           strcmp(part->suffix, "_count") == 0;
}

/* Writes the attributes of a dataset of the metric. The first dataset of a metric also has those
 * that describe the metric itself. `rows`: the dataset is in a group. */
static void describe_metric(struct hdf5_file *file, hid_t id,
                            const struct vamp_schema_metric *entry, const struct part *part,
                            bool rows)
{
    const struct vamp_metric *metric = &vamp_metrics[entry->id];
    const bool is_main = is_main_part(part);
    const bool has_words = part->axes == ALONG_TIME_WORDS || part->axes == ALONG_RESTART_WORDS;
    char labels[VAMP_LABELS_MAX * 32] = "";
    if (rows || has_words) {
        hdf5_label_list(&file->schema->label_sets[entry->label_set], rows, " ", labels,
                        sizeof labels);
    }
    const struct {
        bool is_due;
        const char *name, *text; /* an empty text is omitted */
    } attributes[] = {
        {part->axes == ALONG_TIME_BIN, "coordinates", "bin_lower bin_upper"},
        {has_words, "coordinates", labels},
        {true, "cell_methods", part->cell_methods},
        {true, "metric", metric->name},
        {is_main, "kind", vamp_metric_kind_name(metric->kind)},
        {is_main, "labels", labels},
        {is_main, "help", metric->help},
        {is_main, "origin", metric->origin},
        {is_main, "value_units", metric->unit},
        {rows && hdf5_is_age(entry->id), "between_rows", "grows as time does"},
    };
    for (unsigned i = 0; i < sizeof attributes / sizeof attributes[0]; i++) {
        if (attributes[i].is_due && attributes[i].text[0] != '\0') {
            hdf5_attribute_text(file, id, attributes[i].name, attributes[i].text);
        }
    }
}

static void add_words(const struct hdf5_file *file, unsigned set, struct hdf5_spec *spec)
{
    const struct hdf5_set *own = &file->sets[set];
    for (unsigned c = 0; c < own->closed_count; c++) {
        const enum vamp_label label = file->schema->label_sets[set].labels[own->closed[c]];
        spec->dimensions[spec->rank++] = file->words[label].dimension;
    }
}

/* Sets the dimensions and the chunks of a dataset, and whether it is compressed. */
static void choose_axes(const struct hdf5_file *file, unsigned number, enum axes axes,
                        struct hdf5_spec *spec)
{
    const unsigned set_number = file->schema->metrics[number].label_set;
    const struct hdf5_set *set = &file->sets[set_number];
    spec->rank = 1;
    spec->chunk_rows = set->chunk_rows;
    switch (axes) {
    case ALONG_TIME:
        spec->dimensions[0] = HDF5_TIME;
        spec->chunk_rows = 0;
        return;
    case ALONG_TIME_WORDS:
    case ALONG_RESTART_WORDS:
        spec->dimensions[0] = axes == ALONG_TIME_WORDS ? HDF5_TIME : HDF5_RESTART;
        spec->chunk_rows = 0;
        add_words(file, set_number, spec);
        spec->packed = spec->rank > 2 || (spec->rank == 2 && set->cells > HDF5_FEW_CELLS);
        spec->chunk_columns = !spec->packed; /* one cell per chunk, or all cells */
        return;
    case ALONG_TIME_BIN:
        spec->dimensions[0] = HDF5_TIME;
        spec->dimensions[spec->rank++] = HDF5_BIN;
        spec->packed = true;
        spec->chunk_rows = 0;
        return;
    case ALONG_ROW:
        spec->dimensions[0] = set->row;
        break;
    case ALONG_BEFORE:
        spec->dimensions[0] = set->before;
        break;
    case ALONG_ENTRY:
        spec->dimensions[0] = file->metrics[number].entry;
        spec->chunk_rows = file->metrics[number].entry_chunk;
        break;
    }
    spec->packed = true;
}

/* The weight, in millionths, of a bucket in which no events were sampled. */
#define WEIGHT_OF_ALL 1000000

/* Returns the fill value, which takes no space: "no value" where a series may have none, else the
 * value in a bucket without events. The sum of a gauge over open labels has no value if there is no
 * series.
 */
static uint64_t fill_of(const struct hdf5_file *file, unsigned number, const struct part *part,
                        const struct hdf5_spec *spec)
{
    const struct vamp_schema_metric *entry = &file->schema->metrics[number];
    const struct vamp_metric *metric = &vamp_metrics[entry->id];
    if (metric->kind != VAMP_GAUGE || part->suffix[0] != '\0') {
        return part->fill;
    }
    if (entry->id == VAMP_METRIC_VAMPIRE_WEIGHT && part->axes == ALONG_TIME_WORDS) {
        return WEIGHT_OF_ALL;
    }
    if (vamp_metric_may_be_none(metric) || (part->axes != ALONG_ROW && spec->rank > 1)) {
        return HDF5_GAUGE_MISSING;
    }
    return 0;
}

/* Creates one dataset of a metric. `rows`: in the group of its label set. */
static unsigned create_part(struct hdf5_file *file, unsigned number, const struct part *part,
                            bool rows)
{
    const struct vamp_schema_metric *entry = &file->schema->metrics[number];
    const struct vamp_metric *metric = &vamp_metrics[entry->id];
    char name[HDF5_NAME_BYTES], about[2 * HDF5_NAME_BYTES], group[HDF5_NAME_BYTES] = "";
    if (rows) {
        (void)snprintf(group, sizeof group, "%.100s/", file->sets[entry->label_set].group);
    }
    (void)snprintf(name, sizeof name, "%.101s%.80s%s", group, metric->name, part->suffix);
    (void)snprintf(about, sizeof about, "%s: %s", metric->help, part->about);
    struct hdf5_spec spec = {
        .name = name,
        .type = part->type,
        .units = part->has_unit ? metric->unit : "1",
        .long_name = about,
    };
    choose_axes(file, number, part->axes, &spec);
    spec.fill_value = fill_of(file, number, part, &spec);
    /* In rows, an omitted extreme equals the value. It has no _FillValue, so that readers keep it
     * as an integer. */
    spec.has_fill = vamp_metric_may_be_none(metric) ||
                    (!rows && part->fill != 0 && spec.fill_value == part->fill);
    const unsigned index = hdf5_dataset_create(file, &spec);
    describe_metric(file, file->datasets[index].id, entry, part, rows);
    return index;
}

/* Returns the number of the first dataset. */
static unsigned create_parts(struct hdf5_file *file, unsigned number, bool rows, bool has_bounds)
{
    const enum vamp_metric_kind kind = hdf5_kind(file, number);
    const bool bounds = kind == VAMP_GAUGE && has_bounds;
    enum place place = bounds ? OVERVIEW_BOUNDS : OVERVIEW;
    if (rows) {
        place = bounds ? ROWS_BOUNDS : ROWS;
    }
    unsigned first = 0;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (parts[i].kind == kind && parts[i].place == place) {
            const unsigned index = create_part(file, number, &parts[i], rows);
            if (first == 0) {
                first = index;
            }
        }
    }
    return first;
}

void hdf5_metric_create_overview(struct hdf5_file *file, unsigned number)
{
    const struct vamp_schema_metric *entry = &file->schema->metrics[number];
    const unsigned labels = file->schema->label_sets[entry->label_set].label_count;
    const bool is_merged = labels > file->sets[entry->label_set].closed_count;
    file->metrics[number].overview =
        create_parts(file, number, false, entry->has_bounds || is_merged);
}

void hdf5_metric_create_rows(struct hdf5_file *file, unsigned number)
{
    file->metrics[number].rows =
        create_parts(file, number, true, file->schema->metrics[number].has_bounds);
}
