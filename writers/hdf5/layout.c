/* SPDX-License-Identifier: BSD-3-Clause */
/* Creates every dimension and dataset of a file, according to the schema. */
#include "writers/hdf5/layout.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/core/values.h"
#include "writers/hdf5/attribute.h"
#include "writers/hdf5/check.h"
#include "writers/hdf5/error.h"
#include "writers/hdf5/file.h"

/* A longer name requires a new file with longer texts. Names of outputs always fit. */
#define NAME_LENGTH_STEP 64
#define WORD_LENGTH 32

static_assert(VAMP_OUTPUT_NAME_BYTES <= NAME_LENGTH_STEP, "names of outputs must fit");

static size_t longer(size_t longest, const char *text)
{
    return VAMP_MAX(longest, strlen(text));
}

/* Returns the length of the longest name. Component names are free text, up to VAMP_NAME_BYTES_MAX.
 */
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
                if (vamp_label_is_open(set->labels[l])) {
                    longest = longer(longest, first->bucket->series[s][i]->labels[l]);
                }
            }
        }
    }
    longest = hdf5_round_up(longest, NAME_LENGTH_STEP);
    return (unsigned)VAMP_MIN(longest, VAMP_NAME_BYTES_MAX);
}

/* Creates the dimensions that every file has. */
static void create_dimensions(struct hdf5_file *file, const struct vamp_delivery *first)
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
        {HDF5_NAME, "name_slot", 0},
        {HDF5_GAP, "gap", 0},
        {HDF5_OUTPUT, "output_slot", VAMP_OUTPUTS_MAX},
        {HDF5_COMPONENT, "component_slot", 0},
        {HDF5_UNKNOWN, "unknown_slot", VAMP_UNKNOWN_COUNT},
    };
    file->dimension_count = HDF5_FIRST_OTHER;
    for (unsigned i = 0; i < sizeof dimensions / sizeof dimensions[0]; i++) {
        hdf5_dimension_create(file, dimensions[i].number, dimensions[i].name, dimensions[i].size);
    }
}

static void create_bins(struct hdf5_file *file)
{
    const struct vamp_bins *bins = &file->schema->bins;
    const hsize_t start = 0, count = bins->count;
    const unsigned lower =
        hdf5_column_create(file, HDF5_BIN, "bin_lower", HDF5_U64, "1",
                           "smallest value of the bin, in the unit of the histogram", 0);
    hdf5_dataset_put(file, lower, &start, &count, bins->lower);
    const unsigned upper =
        hdf5_column_create(file, HDF5_BIN, "bin_upper", HDF5_U64, "1",
                           "largest value of the bin, in the unit of the histogram", 0);
    hdf5_dataset_put(file, upper, &start, &count, bins->upper);
}

/* Creates the list of the values of open labels, each stored once in the file. */
static void create_names(struct hdf5_file *file)
{
    file->name =
        hdf5_texts_create(file, "name_text", "values of labels, which the groups have by number",
                          HDF5_NAME, HDF5_NAME_LENGTH);
    hdf5_check_create(file, HDF5_NAME, "name_check", HDF5_U32);
    if (file->code == 0 && map_init(&file->names) != 0) {
        hdf5_no_memory(file, "prepare the file");
    }
}

/* Creates the columns along time other than those of metrics. */
static void create_columns(struct hdf5_file *file)
{
    static const char *const events[][2] = {
        {"events_received", "events that reached vampire, since the start"},
        {"events_decoded", "events that were understood, since the start"},
        {"events_rejected", "events that could not be understood, since the start"},
        {"events_filtered", "events the filters excluded, since the start"},
        {"events_counted", "events the statistics counted, since the start"},
        {"events_late", "events counted in a later bucket than their own, since the start"},
    };
    const unsigned count = sizeof events / sizeof events[0];
    static_assert(sizeof events / sizeof events[0] + VAMP_LOSS_COUNT == HDF5_EVENT_COLUMNS,
                  "a column for each number of the account");
    file->time_us =
        hdf5_column_create(file, HDF5_TIME, "time_us", HDF5_I64, HDF5_UNIT_TIME_US,
                           "start of the bucket in a unit that calendars of netCDF accept", 0);
    file->bucket_ns = hdf5_column_create(file, HDF5_TIME, "bucket_ns", HDF5_I64, "ns",
                                         "width of the bucket", (uint64_t)file->schema->bucket_ns);
    file->bucket_number = hdf5_column_create(
        file, HDF5_TIME, "bucket_number", HDF5_U64, "1",
        "number in the run of the first of the statistics' buckets in the row", 0);
    file->statistics_buckets = hdf5_column_create(
        file, HDF5_TIME, "statistics_buckets", HDF5_U64, "1",
        "buckets of the statistics in the row; those missing before the next row were lost", 1);
    for (unsigned i = 0; i < count; i++) {
        file->events[i] =
            hdf5_column_create(file, HDF5_TIME, events[i][0], HDF5_U64, "1", events[i][1], 0);
    }
    for (unsigned i = 0; i < VAMP_LOSS_COUNT; i++) {
        char name[HDF5_NAME_BYTES], about[HDF5_NAME_BYTES];
        const char *loss = vamp_loss_name(i);
        (void)snprintf(name, sizeof name, "events_lost_%s", loss);
        (void)snprintf(about, sizeof about,
                       "events lost before they reached vampire (%s), since the start", loss);
        if (!hdf5_is_unseen(file, i)) {
            file->events[count + i] =
                hdf5_column_create(file, HDF5_TIME, name, HDF5_U64, "1", about, 0);
        }
    }
    file->absences = hdf5_texts_create(
        file, "not_observed_later", "what turned out to be unknown after this file began, and why",
        HDF5_UNKNOWN, HDF5_TEXT_LENGTH);
    file->learned = vamp_coverage_unknown(file->schema->coverage);
}

/* Creates the accounting of the outputs, by bucket and output, and the names of the outputs. */
static void create_outputs(struct hdf5_file *file)
{
    static const char *const names[HDF5_OUTPUT_DATASETS][2] = {
        [HDF5_OUTPUT_QUEUED] = {"buckets_queued", "buckets handed to the output, since the start"},
        [HDF5_OUTPUT_WRITTEN] = {"buckets_written", "buckets the output wrote, since the start"},
        [HDF5_OUTPUT_LOST] = {"buckets_lost", "buckets the output lost, since the start"},
        [HDF5_OUTPUT_WAITING] = {"buckets_waiting", "buckets waiting for the output"},
    };
    file->output_name = hdf5_texts_create(file, "output_name", "name of a configured output",
                                          HDF5_OUTPUT, HDF5_NAME_LENGTH);
    for (unsigned i = 0; i < HDF5_OUTPUT_DATASETS; i++) {
        const unsigned index =
            hdf5_dataset_create(file, &(struct hdf5_spec){.name = names[i][0],
                                                          .type = HDF5_U64,
                                                          .rank = 2,
                                                          .dimensions = {HDF5_TIME, HDF5_OUTPUT},
                                                          .chunk_columns = 1,
                                                          .units = "1",
                                                          .long_name = names[i][1]});
        if (i == 0) {
            file->outputs_first = index;
        }
        hdf5_attribute_text(file, file->datasets[index].id, "coordinates", "output_name");
    }
}

/* Nothing can be created after SWMR was started, so the datasets that close writes are created at
 * the start. */
static void create_end(struct hdf5_file *file)
{
    static const uint8_t values[] = {HDF5_OPEN, HDF5_ROTATED, HDF5_ENDED};
    file->how_ended = hdf5_dataset_create(
        file,
        &(struct hdf5_spec){
            .name = "how_ended",
            .type = HDF5_U8,
            .long_name = "how this file ended; open: it is being written, or vampire was killed",
        });
    const hid_t id = file->datasets[file->how_ended].id;
    hdf5_attribute_numbers(file, id, "flag_values", HDF5_U8, values, sizeof values);
    hdf5_attribute_text(file, id, "flag_meanings", "open rotated ended");
    file->ended = hdf5_dataset_create(
        file, &(struct hdf5_spec){.name = "ended",
                                  .type = HDF5_I64,
                                  .fill_value = HDF5_TIME_MISSING,
                                  .units = HDF5_UNIT_TIME,
                                  .long_name = "when the run ended; missing: not in this file"});
    file->end_reason = hdf5_column_create(file, HDF5_TEXT_LENGTH, "end_reason", HDF5_CHAR, NULL,
                                          "why the run ended", 0);
    file->end_check = hdf5_dataset_create(
        file, &(struct hdf5_spec){.name = "end_check",
                                  .type = HDF5_U64,
                                  .long_name = "CRC-32 of the row of the variables"});
    hdf5_attribute_text(file, file->datasets[file->end_check].id, "variables",
                        "how_ended ended end_reason");
    hdf5_end_write(file, HDF5_OPEN, (int64_t)HDF5_TIME_MISSING, "");
}

/* The scale of an unlimited dimension lists the variables along it. h5netcdf opens all variables of
 * the list whenever it opens one of them, so that opening the root group took 2.5 s instead of 0.4
 * s. For dimensions with many variables, the list therefore has a single entry, the variable that
 * grows first: h5netcdf uses the longest variable of the list as the length of the dimension, and
 * fails on a variable that is longer, as in a file left by a kill. */
static void name_longest(struct hdf5_file *file)
{
    file->dimensions[HDF5_TIME].longest = file->bucket_number;
    file->dimensions[HDF5_RESTART].longest = file->restart_row;
    for (unsigned s = 0; s < file->schema->label_set_count; s++) {
        if (file->sets[s].has_group) {
            file->dimensions[file->sets[s].row].longest = file->sets[s].series_index;
        }
    }
}

/* Creates the list of the rows of `time` before which the totals of all counters are stored. */
static void create_restart(struct hdf5_file *file)
{
    file->restart_row = hdf5_dataset_create(
        file,
        &(struct hdf5_spec){.name = "restart_row",
                            .type = HDF5_U64,
                            .rank = 1,
                            .dimensions = {HDF5_RESTART},
                            .chunk_rows = HDF5_TEXT_CHUNK_ROWS,
                            .units = "1",
                            .long_name = "row of time before which the totals (_before) hold"});
}

void hdf5_layout_create(struct hdf5_file *file, const struct vamp_delivery *first)
{
    create_dimensions(file, first);
    hdf5_words_create(file);
    create_names(file);
    create_bins(file);
    hdf5_own_place(file);
    for (unsigned m = 0; m < file->schema->metric_count; m++) {
        if (file->metrics[m].place == HDF5_PLACE_OVERVIEW) {
            hdf5_metric_create_overview(file, m);
        }
    }
    create_restart(file);
    create_columns(file);
    create_outputs(file);
    hdf5_tables_create(file);
    create_end(file);
    hdf5_own_create(file);
    hdf5_groups_create(file, first);
    hdf5_check_create(file, HDF5_TIME, "time_check", HDF5_U32);
    hdf5_check_create(file, HDF5_RESTART, "restart_check", HDF5_U64);
    name_longest(file);
    hdf5_scales_finish(file);
}
