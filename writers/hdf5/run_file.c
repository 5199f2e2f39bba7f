/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads back what a file says of its run, for vampire --summary. A bucket that `time` does not have
 * yet is not read, so that a file can be read while it is written. run_totals.c reads the counters,
 * read.c the variables.
 */

#include <stdlib.h>
#include <string.h>

#include "vampire/core/clock.h"
#include "writers/hdf5/read.h"

/* ---- histograms */

/* Extremes of a histogram's buckets; a bucket without values has the fill value. */
static int extreme(struct hdf5_reader *reader, const char *name, const char *part,
                   struct vamp_histogram *histogram)
{
    char full[HDF5_NAME_BYTES];
    struct hdf5_variable variable;
    (void)snprintf(full, sizeof full, "%s_%s", name, part);
    int code = hdf5_variable_open(reader, full, &variable);
    uint64_t *values = code == 0 ? hdf5_variable_buffer(reader, &variable, 1) : NULL;
    code = code != 0 || values != NULL ? code : -ENOMEM;
    for (hsize_t row = 0; code == 0 && row < reader->rows; row++) {
        code = hdf5_variable_numbers(reader, &variable, row, 1, values);
        for (size_t i = 0; code == 0 && i < variable.cells; i++) {
            const uint64_t value = values[i];
            if (value != UINT64_MAX) {
                histogram->min = value < histogram->min ? value : histogram->min;
                histogram->max = value > histogram->max ? value : histogram->max;
            }
        }
    }
    free(values);
    hdf5_variable_close(&variable);
    return code;
}

/* In format 1 the bins of single series, which are many; else of all together. */
static int add_bins(struct hdf5_reader *reader, const char *name, struct hdf5_sums *sums)
{
    char full[HDF5_NAME_BYTES];
    struct hdf5_variable bins, counts;
    (void)snprintf(full, sizeof full, "%s_count", name);
    int code = hdf5_variable_open(reader, name, &bins);
    if (code != 0 || bins.rank != 3) {
        code = code != 0 ? code : hdf5_variable_sum(reader, &bins, 0, reader->rows, sums);
        hdf5_variable_close(&bins);
        return code;
    }
    code = hdf5_variable_open(reader, full, &counts);
    code = code != 0 ? code : hdf5_variable_sum_used(reader, &bins, &counts, reader->rows, sums);
    hdf5_variable_close(&counts);
    hdf5_variable_close(&bins);
    return code;
}

static int histogram(struct hdf5_reader *reader, const char *name, enum vamp_file_histogram which)
{
    struct hdf5_sums bins = {.count = 0};
    if (!hdf5_variable_exists(reader, name)) {
        return 0;
    }
    int code = vamp_run_file_histogram(reader->file, which, reader->err);
    code = code != 0 ? code : add_bins(reader, name, &bins);
    struct vamp_histogram *histogram = reader->file->histograms[which];
    if (code == 0 && bins.count != reader->file->bins.count) {
        code = vamp_err_set(reader->err, -EBADMSG, "%s has %zu bins, not %u", name, bins.count,
                            reader->file->bins.count);
    }
    for (size_t i = 0; code == 0 && i < bins.count; i++) {
        histogram->bins[i] = bins.items[i];
        histogram->count += bins.items[i];
    }
    free(bins.items);
    code = code != 0 || histogram->count == 0 ? code : extreme(reader, name, "min", histogram);
    return code != 0 || histogram->count == 0 ? code : extreme(reader, name, "max", histogram);
}

/* ---- tables */

static int component_row(struct hdf5_reader *reader, struct hdf5_variable *columns, size_t row)
{
    char name[4 * 1024 + 1], reason[HDF5_TEXT_BYTES];
    int64_t joined = 0, left = 0;
    uint64_t operations = 0;
    int code = hdf5_variable_text(reader, &columns[0], row, name, sizeof name);
    if (code != 0 || name[0] == '\0') {
        return code; /* a row without a name is not used */
    }
    code = hdf5_variable_times(reader, &columns[1], row, 1, &joined);
    code = code != 0 ? code : hdf5_variable_times(reader, &columns[2], row, 1, &left);
    code = code != 0 ? code : hdf5_variable_numbers(reader, &columns[3], row, 1, &operations);
    code = code != 0 ? code : hdf5_variable_text(reader, &columns[4], row, reason, sizeof reason);
    struct vamp_component component = {
        .name = name, .joined_ns = joined, .left_ns = left, .operations = operations};
    for (unsigned i = 0; code == 0 && i < VAMP_LEAVE_REASON_COUNT; i++) {
        component.reason =
            strcmp(vamp_leave_reason_name(i), reason) == 0 ? (uint8_t)i : component.reason;
    }
    return code != 0 ? code : vamp_run_file_component(reader->file, row, &component, reader->err);
}

static int gap_row(struct hdf5_reader *reader, struct hdf5_variable *columns, size_t row)
{
    char reason[HDF5_TEXT_BYTES];
    int64_t start = 0, end = 0;
    int code = hdf5_variable_text(reader, &columns[0], row, reason, sizeof reason);
    code = code != 0 ? code : hdf5_variable_times(reader, &columns[1], row, 1, &start);
    code = code != 0 ? code : hdf5_variable_times(reader, &columns[2], row, 1, &end);
    if (code == 0) {
        vamp_run_file_gap(reader->file, reason, start, end);
    }
    return code;
}

static int alarm_row(struct hdf5_reader *reader, struct hdf5_variable *columns, size_t row)
{
    char texts[3][HDF5_TEXT_BYTES];
    int64_t since = 0, time = 0;
    int code = 0;
    for (unsigned i = 0; code == 0 && i < 3; i++) {
        code = hdf5_variable_text(reader, &columns[i], row, texts[i], sizeof texts[i]);
    }
    code = code != 0 ? code : hdf5_variable_times(reader, &columns[3], row, 1, &since);
    code = code != 0 ? code : hdf5_variable_times(reader, &columns[4], row, 1, &time);
    if (code == 0) {
        vamp_run_file_alarm(reader->file, texts[0], texts[1], texts[2], since < time);
    }
    return code;
}

#define TABLE_COLUMNS_MAX 5

/* Calls `each` for every row of a table, whose first column is the first name. */
static int read_table(struct hdf5_reader *reader, const char *const *names,
                      int (*each)(struct hdf5_reader *reader, struct hdf5_variable *columns,
                                  size_t row))
{
    struct hdf5_variable columns[TABLE_COLUMNS_MAX] = {0};
    unsigned count = 0;
    int code = 0;
    for (; code == 0 && names[count] != NULL; count++) {
        code = hdf5_variable_open(reader, names[count], &columns[count]);
    }
    for (size_t row = 0; code == 0 && row < columns[0].size[0]; row++) {
        code = each(reader, columns, row);
    }
    for (unsigned i = 0; i < count; i++) {
        hdf5_variable_close(&columns[i]);
    }
    return code;
}

static int tables(struct hdf5_reader *reader)
{
    static const char *const components[] = {"component_name",         "component_joined",
                                             "component_left",         "component_operations",
                                             "component_leave_reason", NULL};
    static const char *const gaps[] = {"gap_reason", "gap_start", "gap_end", NULL};
    static const char *const alarms[] = {"alarm_name",  "alarm_severity", "alarm_state",
                                         "alarm_since", "alarm_time",     NULL};
    int code = read_table(reader, components, component_row);
    code = code != 0 ? code : read_table(reader, gaps, gap_row);
    return code != 0 || !hdf5_variable_exists(reader, alarms[0])
               ? code
               : read_table(reader, alarms, alarm_row);
}

/* ---- buckets and the account */

/* One row of a variable along `time`. */
static int column(struct hdf5_reader *reader, const char *name, uint64_t row, uint64_t *ret_value)
{
    struct hdf5_variable variable;
    int code = hdf5_variable_open(reader, name, &variable);
    code = code != 0 ? code : hdf5_variable_numbers(reader, &variable, row, 1, ret_value);
    hdf5_variable_close(&variable);
    return code;
}

static int account(struct hdf5_reader *reader)
{
    struct vamp_accounting *account = &reader->file->totals.accounting;
    const struct {
        const char *name;
        uint64_t *value;
    } columns[] = {
        {"events_received", &account->received}, {"events_decoded", &account->decoded},
        {"events_rejected", &account->rejected}, {"events_filtered", &account->filtered},
        {"events_counted", &account->counted},   {"events_late", &account->late},
    };
    int code = 0;
    for (size_t i = 0; code == 0 && i < sizeof columns / sizeof columns[0]; i++) {
        code = column(reader, columns[i].name, reader->rows - 1, columns[i].value);
    }
    for (unsigned i = 0; code == 0 && i < VAMP_LOSS_COUNT; i++) {
        char name[HDF5_NAME_BYTES];
        (void)snprintf(name, sizeof name, "events_lost_%s", vamp_loss_name(i));
        code = column(reader, name, reader->rows - 1, &account->lost[i]);
    }
    return code;
}

static int buckets(struct hdf5_reader *reader)
{
    int code = 0;
    const bool merged = hdf5_variable_exists(reader, "statistics_buckets");
    struct hdf5_variable columns[] = {{.id = -1}, {.id = -1}, {.id = -1}, {.id = -1}};
    const char *const names[] = {"time", "bucket_number", "bucket_ns", "statistics_buckets"};
    for (unsigned i = 0; code == 0 && i < (merged ? 4 : 3); i++) {
        code = hdf5_variable_open(reader, names[i], &columns[i]);
    }
    for (hsize_t row = 0; code == 0 && row < reader->rows; row++) {
        int64_t start = 0, width = 0;
        uint64_t number = 0, count = 1;
        code = hdf5_variable_times(reader, &columns[0], row, 1, &start);
        code = code != 0 ? code : hdf5_variable_numbers(reader, &columns[1], row, 1, &number);
        code = code != 0 ? code : hdf5_variable_times(reader, &columns[2], row, 1, &width);
        if (code == 0 && merged) {
            code = hdf5_variable_numbers(reader, &columns[3], row, 1, &count);
        }
        if (code == 0) {
            vamp_run_file_bucket(reader->file, number, count, start, width);
        }
    }
    for (unsigned i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        hdf5_variable_close(&columns[i]);
    }
    return code;
}

/* ---- the file */

static int describe(struct hdf5_reader *reader)
{
    struct vamp_run_file *file = reader->file;
    char started[HDF5_TEXT_BYTES], version[HDF5_TEXT_BYTES];
    uint64_t segment = 0;
    int code = hdf5_read_text(reader, "/", "schema_version", version, sizeof version);
    if (code == 0 && strncmp(version, "1.", 2) != 0 && strncmp(version, "2.", 2) != 0) {
        return vamp_err_set(reader->err, -EBADMSG,
                            "it has format %.20s; this vampire reads formats 1 and 2", version);
    }
    reader->dense = version[0] == '1';
    code = code != 0 ? code : hdf5_read_text(reader, "/", "run_id", file->run, sizeof file->run);
    code = code != 0 ? code : hdf5_read_owned(reader, "workflow", &file->workflow);
    code = code != 0 ? code : hdf5_read_text(reader, "/", "run_started", started, sizeof started);
    code = code != 0 ? code : hdf5_read_number(reader, "segment", &segment);
    if (code == 0 && !vamp_time_read(started, &file->started_ns)) {
        code = vamp_err_set(reader->err, -EBADMSG, "its run_started is no time: %.40s", started);
    }
    file->segment = (unsigned)segment;
    /* Older files do not name the output. */
    return code != 0 ? code : hdf5_read_owned(reader, "output", &file->output);
}

static int ending(struct hdf5_reader *reader)
{
    struct vamp_run_file *file = reader->file;
    struct hdf5_variable how, when, why;
    uint64_t number = HDF5_OPEN;
    char reason[HDF5_TEXT_BYTES];
    int code = hdf5_variable_open(reader, "how_ended", &how);
    code = code != 0 ? code : hdf5_variable_numbers(reader, &how, 0, 1, &number);
    hdf5_variable_close(&how);
    file->end = number == HDF5_ENDED     ? VAMP_FILE_ENDED
                : number == HDF5_ROTATED ? VAMP_FILE_ROTATED
                                         : VAMP_FILE_OPEN;
    if (code != 0 || file->end != VAMP_FILE_ENDED) {
        return code;
    }
    code = hdf5_variable_open(reader, "ended", &when);
    code = code != 0 ? code : hdf5_variable_times(reader, &when, 0, 1, &file->ended_ns);
    hdf5_variable_close(&when);
    code = code != 0 ? code : hdf5_variable_open(reader, "end_reason", &why);
    if (code == 0) {
        code = hdf5_variable_text(reader, &why, 0, reason, sizeof reason);
        hdf5_variable_close(&why);
    }
    return code != 0 ? code
                     : vamp_run_file_text(&file->reason, reason, strlen(reason), reader->err);
}

static int bins(struct hdf5_reader *reader)
{
    struct hdf5_variable lower;
    int code = hdf5_variable_open(reader, "bin_lower", &lower);
    code =
        code != 0 ? code : vamp_run_file_bins(reader->file, (unsigned)lower.size[0], reader->err);
    hdf5_variable_close(&lower);
    return code;
}

static int read_all(struct hdf5_reader *reader)
{
    int code = describe(reader);
    code = code != 0 ? code : hdf5_read_rows(reader);
    code = code != 0 ? code : ending(reader);
    code = code != 0 ? code : bins(reader);
    if (code == 0 && reader->rows > 0) {
        code = buckets(reader);
        code = code != 0 ? code : account(reader);
        code = code != 0 ? code : hdf5_read_totals(reader);
        code = code != 0 ? code : histogram(reader, "transport_ns", VAMP_FILE_TRANSPORT_NS);
        code = code != 0 ? code : histogram(reader, "demand_wait_ns", VAMP_FILE_DEMAND_WAIT_NS);
    }
    return code != 0 ? code : tables(reader);
}

int hdf5_read_run(int fd, const char *path, struct vamp_run_file *file, struct vamp_err *err)
{
    (void)fd;
    hdf5_quiet();
    struct hdf5_reader reader = {.file = file, .err = err};
    reader.id = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT);
    if (reader.id < 0) { /* it is being written, or vampire was killed */
        (void)H5Eclear2(H5E_DEFAULT);
        reader.id = H5Fopen(path, H5F_ACC_RDONLY | H5F_ACC_SWMR_READ, H5P_DEFAULT);
    }
    int code = reader.id < 0 ? hdf5_fail(err, "open it") : read_all(&reader);
    if (reader.id >= 0) {
        (void)H5Fclose(reader.id);
    }
    return code == 0 ? 0 : vamp_err_wrap(err, "read %s", path);
}
