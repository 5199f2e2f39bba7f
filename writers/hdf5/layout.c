/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/hdf5/internal.h"

#include <assert.h>
#include <hdf5_hl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A name that is longer needs a new file, which then has room for it. Names of outputs fit. */
#define NAME_LENGTH_STEP 64
#define WORD_LENGTH 32
#define ID_LENGTH 36

static_assert(VAMP_OUTPUT_NAME_BYTES <= NAME_LENGTH_STEP, "names of outputs must fit");

#define UNIT_TIME "nanoseconds since 1970-01-01T00:00:00Z"

static size_t longer(size_t longest, const char *text)
{
    const size_t length = strlen(text);
    return length > longest ? length : longest;
}

/* Component names are free text, up to VAMP_NAME_BYTES_MAX. */
static unsigned longest_name(const struct vamp_schema *schema, const struct vamp_delivery *first)
{
    size_t longest = 1;
    for (unsigned i = 0; first != NULL && i < first->component_count; i++) {
        longest = longer(longest, first->components[i].component.name);
    }
    for (unsigned s = 0; first != NULL && s < schema->label_set_count; s++) {
        const struct vamp_label_set *set = &schema->label_sets[s];
        for (unsigned i = 0; i < first->bucket->series_count[s]; i++) {
            for (unsigned l = 0; l < set->label_count; l++) {
                longest = vamp_label_is_open(set->labels[l])
                              ? longer(longest, first->bucket->series[s][i]->labels[l])
                              : longest;
            }
        }
    }
    longest = (longest + NAME_LENGTH_STEP - 1) / NAME_LENGTH_STEP * NAME_LENGTH_STEP;
    return longest < VAMP_NAME_BYTES_MAX ? (unsigned)longest : VAMP_NAME_BYTES_MAX;
}

unsigned hdf5_layout_length(enum vamp_label label)
{
    return vamp_label_is_open(label) || label == VAMP_LABEL_OUTPUT ? HDF5_NAME_LENGTH
                                                                   : HDF5_WORD_LENGTH;
}

static int create_dimensions(struct hdf5_file *file, const struct vamp_delivery *first,
                             struct vamp_err *err)
{
    const struct vamp_schema *schema = file->schema;
    const struct {
        unsigned number;
        const char *name;
        hsize_t size; /* 0: unlimited */
    } dimensions[] = {
        {HDF5_TIME, "time", 0},
        {HDF5_RESTART, "restart", 0},
        {HDF5_BIN, "bin", schema->bins.count},
        {HDF5_NAME_LENGTH, "name_length", longest_name(schema, first)},
        {HDF5_WORD_LENGTH, "word_length", WORD_LENGTH},
        {HDF5_TEXT_LENGTH, "text_length", HDF5_TEXT_BYTES},
        {HDF5_ID_LENGTH, "id_length", ID_LENGTH},
        {HDF5_GAP, "gap", 0},
        {HDF5_OUTPUT, "output_slot", VAMP_OUTPUTS_MAX},
        {HDF5_COMPONENT, "component_slot", 0},
    };
    file->dimension_count = HDF5_FIRST_OTHER;
    int code = 0;
    for (unsigned i = 0; code == 0 && i < sizeof dimensions / sizeof dimensions[0]; i++) {
        code = hdf5_dimension_create(file, dimensions[i].number, dimensions[i].name,
                                     dimensions[i].size, dimensions[i].size == 0, err);
    }
    return code;
}

int hdf5_layout_text(struct hdf5_file *file, const char *name, const char *long_name,
                     unsigned dimension, unsigned length_dimension, unsigned *ret_index,
                     struct vamp_err *err)
{
    struct hdf5_spec spec = {
        .name = name,
        .type = HDF5_CHAR,
        .rank = 2,
        .dimensions = {dimension, length_dimension},
        .chunk_rows = file->dimensions[dimension].unlimited ? HDF5_TEXT_CHUNK_ROWS : 0,
        .long_name = long_name,
    };
    return hdf5_dataset_create(file, &spec, ret_index, err);
}

static int create_bins(struct hdf5_file *file, struct vamp_err *err)
{
    const struct vamp_bins *bins = &file->schema->bins;
    const struct {
        const char *name, *about;
        const uint64_t *edges;
    } variables[] = {
        {"bin_lower", "smallest value of the bin, in the unit of the histogram", bins->lower},
        {"bin_upper", "largest value of the bin, in the unit of the histogram", bins->upper},
    };
    for (unsigned i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        struct hdf5_spec spec = {
            .name = variables[i].name,
            .type = HDF5_U64,
            .rank = 1,
            .dimensions = {HDF5_BIN},
            .units = "1",
            .long_name = variables[i].about,
        };
        unsigned index = 0;
        int code = hdf5_dataset_create(file, &spec, &index, err);
        const hsize_t start = 0, count = bins->count;
        if (code == 0) {
            code = hdf5_dataset_put(file, index, &start, &count, variables[i].edges, err);
        }
        if (code != 0) {
            return code;
        }
    }
    return 0;
}

static int create_columns(struct hdf5_file *file, struct vamp_err *err)
{
    const struct {
        const char *name, *about, *units;
        uint64_t usual; /* takes no space */
    } columns[] = {
        {"bucket_ns", "width of the bucket", "ns", (uint64_t)file->schema->bucket_ns},
        {"bucket_number", "number in the run of the first of the statistics' buckets in the row",
         "1", 0},
        {"statistics_buckets",
         "buckets of the statistics in the row; those missing before the next row were lost", "1",
         1},
        {"events_received", "events that reached vampire, since the start", "1", 0},
        {"events_decoded", "events that were understood, since the start", "1", 0},
        {"events_rejected", "events that could not be understood, since the start", "1", 0},
        {"events_filtered", "events the filters excluded, since the start", "1", 0},
        {"events_counted", "events the statistics counted, since the start", "1", 0},
        {"events_late", "events counted in a later bucket than their own, since the start", "1", 0},
    };
    unsigned index = 0;
    int code = 0;
    const unsigned count = sizeof columns / sizeof columns[0];
    for (unsigned i = 0; code == 0 && i < count + VAMP_LOSS_COUNT; i++) {
        char name[HDF5_NAME_BYTES], about[HDF5_NAME_BYTES];
        const char *loss = vamp_loss_name(i < count ? 0 : i - count);
        (void)snprintf(name, sizeof name, "events_lost_%s", loss);
        (void)snprintf(about, sizeof about,
                       "events lost before they reached vampire (%s), since the start", loss);
        struct hdf5_spec spec = {
            .name = i < count ? columns[i].name : name,
            .type = i == 0 ? HDF5_I64 : HDF5_U64,
            .rank = 1,
            .dimensions = {HDF5_TIME},
            .fill_value = i < count ? columns[i].usual : 0,
            .units = i < count ? columns[i].units : "1",
            .long_name = i < count ? columns[i].about : about,
        };
        code = hdf5_dataset_create(file, &spec, &index, err);
        if (i == 0) {
            file->bucket_ns = index;
            file->bucket_number = index + 1;
            file->statistics_buckets = index + 2;
            file->events_first = index + 3;
        }
    }
    return code;
}

static int create_outputs(struct hdf5_file *file, struct vamp_err *err)
{
    static const char *const names[HDF5_OUTPUT_DATASETS][2] = {
        [HDF5_OUTPUT_QUEUED] = {"buckets_queued", "buckets handed to the output, since the start"},
        [HDF5_OUTPUT_WRITTEN] = {"buckets_written", "buckets the output wrote, since the start"},
        [HDF5_OUTPUT_LOST] = {"buckets_lost", "buckets the output lost, since the start"},
        [HDF5_OUTPUT_WAITING] = {"buckets_waiting", "buckets waiting for the output"},
    };
    int code = hdf5_layout_text(file, "output_name", "name of a configured output", HDF5_OUTPUT,
                                HDF5_NAME_LENGTH, &file->output_name, err);
    for (unsigned i = 0; code == 0 && i < HDF5_OUTPUT_DATASETS; i++) {
        struct hdf5_spec spec = {
            .name = names[i][0],
            .type = HDF5_U64,
            .rank = 2,
            .dimensions = {HDF5_TIME, HDF5_OUTPUT},
            .packed = true,
            .units = "1",
            .long_name = names[i][1],
        };
        unsigned index = 0;
        code = hdf5_dataset_create(file, &spec, &index, err);
        if (code == 0) {
            file->outputs_first = i == 0 ? index : file->outputs_first;
            code = hdf5_attribute_text(file->datasets[index].id, "coordinates", "output_name", err);
        }
    }
    return code;
}

struct table_column {
    const char *name, *about, *units;
    enum hdf5_type type;
    bool has_fill;
    uint64_t fill;
    unsigned length_dimension; /* of text */
};

static int create_table(struct hdf5_file *file, unsigned dimension,
                        const struct table_column *columns, unsigned count, unsigned *ret_first,
                        struct vamp_err *err)
{
    int code = 0;
    for (unsigned i = 0; code == 0 && i < count; i++) {
        struct hdf5_spec spec = {
            .name = columns[i].name,
            .type = columns[i].type,
            .rank = columns[i].type == HDF5_CHAR ? 2 : 1,
            .dimensions = {dimension, columns[i].length_dimension},
            .chunk_rows = HDF5_TEXT_CHUNK_ROWS,
            .has_fill = columns[i].has_fill,
            .fill_value = columns[i].fill,
            .units = columns[i].units,
            .long_name = columns[i].about,
        };
        unsigned index = 0;
        code = hdf5_dataset_create(file, &spec, &index, err);
        *ret_first = i == 0 ? index : *ret_first;
    }
    return code;
}

static const struct table_column gap_columns[HDF5_GAP_DATASETS] = {
    [HDF5_GAP_START] = {"gap_start", "start of an interval with missing events", UNIT_TIME,
                        HDF5_I64, false, HDF5_TIME_MISSING, 0},
    [HDF5_GAP_END] = {"gap_end", "end of an interval with missing events", UNIT_TIME, HDF5_I64,
                      false, HDF5_TIME_MISSING, 0},
    [HDF5_GAP_EVENTS] = {"gap_events", "number of missing events; 0: unknown", "1", HDF5_U64, false,
                         0, 0},
    [HDF5_GAP_REASON] = {"gap_reason", "where they were lost", NULL, HDF5_CHAR, false, 0,
                         HDF5_WORD_LENGTH},
};

static const struct table_column component_columns[HDF5_COMPONENT_DATASETS] = {
    [HDF5_COMPONENT_APP_ID] = {"component_app_id", "application id of the component", "1", HDF5_U64,
                               false, 0, 0},
    [HDF5_COMPONENT_JOINED] = {"component_joined", "when it joined; missing: not seen", UNIT_TIME,
                               HDF5_I64, false, HDF5_TIME_MISSING, 0},
    [HDF5_COMPONENT_LEFT] = {"component_left", "when it left; missing: still there", UNIT_TIME,
                             HDF5_I64, false, HDF5_TIME_MISSING, 0},
    [HDF5_COMPONENT_OPERATIONS] = {"component_operations",
                                   "pool operations when the row was last written", "1", HDF5_U64,
                                   false, 0, 0},
    [HDF5_COMPONENT_NAME] = {"component_name", "name of the component", NULL, HDF5_CHAR, false, 0,
                             HDF5_NAME_LENGTH},
    [HDF5_COMPONENT_REASON] = {"component_leave_reason", "why it left", NULL, HDF5_CHAR, false, 0,
                               HDF5_WORD_LENGTH},
};

/* Nothing can be created once SWMR runs, so what close will write is created at the start. */
static int create_end(struct hdf5_file *file, struct vamp_err *err)
{
    static const uint8_t values[] = {HDF5_OPEN, HDF5_ROTATED, HDF5_ENDED};
    const struct hdf5_spec how = {
        .name = "how_ended",
        .type = HDF5_U8,
        .long_name = "how this file ended; open: it is being written, or vampire was killed",
    };
    const struct hdf5_spec when = {
        .name = "ended",
        .type = HDF5_I64,
        .fill_value = HDF5_TIME_MISSING,
        .units = UNIT_TIME,
        .long_name = "when the run ended; missing: not in this file",
    };
    const struct hdf5_spec why = {
        .name = "end_reason",
        .type = HDF5_CHAR,
        .rank = 1,
        .dimensions = {HDF5_TEXT_LENGTH},
        .long_name = "why the run ended",
    };
    int code = hdf5_dataset_create(file, &how, &file->how_ended, err);
    hid_t id = code == 0 ? file->datasets[file->how_ended].id : -1;
    if (code == 0) {
        code = hdf5_attribute_bytes(id, "flag_values", values, sizeof values, err);
    }
    if (code == 0) {
        code = hdf5_attribute_text(id, "flag_meanings", "open rotated ended", err);
    }
    if (code == 0) {
        code = hdf5_dataset_create(file, &when, &file->ended, err);
    }
    return code != 0 ? code : hdf5_dataset_create(file, &why, &file->end_reason, err);
}

/* The scale of a dimension lists the variables along it, which no reader needs. h5netcdf opens all
 * of the list for each variable: the root took 2.5 s to open instead of 0.4 s. Of `longest` the
 * entry stays: h5netcdf takes the longest variable of the list for the length of the dimension, and
 * fails on one that is longer, as in a file left by a kill. */
static int shorten_list(struct hdf5_file *file, unsigned dimension, unsigned longest,
                        struct vamp_err *err)
{
    int code = hdf5_dataset_open(file, longest, err);
    if (code != 0) {
        return code;
    }
    const hid_t scale = file->dimensions[dimension].scale;
    if (H5Adelete(scale, "REFERENCE_LIST") < 0 ||
        H5DSattach_scale(file->datasets[longest].id, scale, 0) < 0) {
        code = hdf5_fail(err, "finish dimension \"%s\" of %s", file->dimensions[dimension].name,
                         file->path);
    }
    const int closed = hdf5_dataset_close(file, longest, code == 0 ? err : NULL);
    return code != 0 ? code : closed;
}

/* Of dimensions with many variables, of which the one that grows first is the longest. */
static int shorten_lists(struct hdf5_file *file, struct vamp_err *err)
{
    int code = shorten_list(file, HDF5_TIME, file->bucket_number, err);
    if (code == 0) {
        code = shorten_list(file, HDF5_RESTART, file->restart_row, err);
    }
    for (unsigned s = 0; code == 0 && s < file->schema->label_set_count; s++) {
        const struct hdf5_set *set = &file->sets[s];
        code = set->has_group ? shorten_list(file, set->row, set->series_index, err) : 0;
    }
    return code;
}

/* The rows of `time` before which the totals of all counters are known. */
static int create_restart(struct hdf5_file *file, struct vamp_err *err)
{
    const struct hdf5_spec spec = {
        .name = "restart_row",
        .type = HDF5_U64,
        .rank = 1,
        .dimensions = {HDF5_RESTART},
        .chunk_rows = HDF5_TEXT_CHUNK_ROWS,
        .units = "1",
        .long_name = "row of time before which the totals (_before) hold",
    };
    return hdf5_dataset_create(file, &spec, &file->restart_row, err);
}

static int create_tables(struct hdf5_file *file, struct vamp_err *err)
{
    int code = create_table(file, HDF5_GAP, gap_columns, HDF5_GAP_DATASETS, &file->gaps_first, err);
    if (code == 0) {
        code = create_table(file, HDF5_COMPONENT, component_columns, HDF5_COMPONENT_DATASETS,
                            &file->components_first, err);
    }
    if (code == 0 && file->schema->level == VAMP_LEVEL_CDO) {
        code = hdf5_cdo_create(file, err);
    }
    if (code == 0 && file->run->has_alarms) {
        code = hdf5_alarm_create(file, err);
    }
    return code;
}

int hdf5_layout_create(struct hdf5_file *file, const struct vamp_delivery *first,
                       struct vamp_err *err)
{
    int code = create_dimensions(file, first, err);
    if (code == 0) {
        code = hdf5_words_create(file, err);
    }
    if (code == 0) {
        code = create_bins(file, err);
    }
    hdf5_own_place(file);
    for (unsigned i = 0; code == 0 && i < file->schema->metric_count; i++) {
        code = file->metrics[i].place == HDF5_PLACE_OVERVIEW
                   ? hdf5_metric_create_overview(file, i, err)
                   : 0;
    }
    if (code == 0) {
        code = create_restart(file, err);
    }
    if (code == 0) {
        code = create_columns(file, err);
    }
    if (code == 0) {
        code = create_outputs(file, err);
    }
    if (code == 0) {
        code = create_tables(file, err);
    }
    if (code == 0) {
        code = create_end(file, err);
    }
    if (code == 0) {
        code = hdf5_own_create(file, err);
    }
    if (code == 0) {
        code = hdf5_groups_create(file, first, err);
    }
    return code != 0 ? code : shorten_lists(file, err);
}
