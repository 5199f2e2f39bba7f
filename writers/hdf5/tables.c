/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tables in addition to the metrics, each a list of columns: gaps; components; at level `cdo`, a
 * row for each CDO whose record ended; and for a run with rules, a row for each alarm that entered
 * another state. Rows are written as one block per column.
 */
#include "writers/hdf5/tables.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/alarms/change.h"
#include "vampire/core/utf8.h"
#include "vampire/core/values.h"
#include "writers/hdf5/check.h"
#include "writers/hdf5/error.h"
#include "writers/hdf5/file.h"
#include "writers/hdf5/row.h"

#define SCRATCH_BYTES (VAMP_ALARM_TEXT_BYTES + 1)

struct column {
    const char *name, *about, *units;
    enum hdf5_type type;
    unsigned length; /* dimension of the length of a text; 0: the table's own */
    uint64_t fill;
    size_t offset; /* of a number in the row struct */
    size_t bytes;  /* size of the number, which is a bool, unsigned or 64-bit number */
};
#define NUMBER(row, member, name, units, about)                                                    \
    {                                                                                              \
        name, about, units, HDF5_U64, 0, 0, offsetof(row, member), sizeof(((row *)NULL)->member)   \
    }
#define TIME(row, member, fill, name, about)                                                       \
    {                                                                                              \
        name, about, HDF5_UNIT_TIME, HDF5_I64, 0, fill, offsetof(row, member), sizeof(int64_t)     \
    }
#define TEXT(length, name, about)                                                                  \
    {                                                                                              \
        name, about, NULL, HDF5_CHAR, length, 0, 0, 0                                              \
    }

struct table {
    const struct column *columns;
    unsigned count;
    unsigned chunk_rows; /* for numbers; 0: as for columns along time */
    size_t row_bytes;
    /* The text may be stored in `scratch`. */
    const char *(*text)(const void *row, unsigned column, char scratch[static SCRATCH_BYTES]);
};

/* Creates the columns of a table, and their check values. Texts without a length of their own have
 * the length dimension `length`. Returns the dataset of column 0. */
static unsigned create_table(struct hdf5_file *file, const struct table *table, unsigned dimension,
                             unsigned length)
{
    const char *name = table->columns[0].name;
    char check[HDF5_NAME_BYTES];
    unsigned first = 0;
    for (unsigned i = 0; i < table->count; i++) {
        const struct column *column = &table->columns[i];
        const bool is_text = column->type == HDF5_CHAR;
        const unsigned index = hdf5_dataset_create(
            file, &(struct hdf5_spec){
                      .name = column->name,
                      .type = column->type,
                      .rank = is_text ? 2 : 1,
                      .dimensions = {dimension, column->length != 0 ? column->length : length},
                      .chunk_rows = is_text ? HDF5_TEXT_CHUNK_ROWS : table->chunk_rows,
                      .fill_value = column->fill,
                      .units = column->units,
                      .long_name = column->about,
                  });
        if (i == 0) {
            first = index;
        }
    }
    (void)snprintf(check, sizeof check, "%.*s_check", (int)strcspn(name, "_"), name);
    /* Same type as in memory, because HDF5 converts slowly. */
    hdf5_check_create(file, dimension, check, HDF5_U64);
    return first;
}

static uint64_t number_at(const void *at, size_t bytes)
{
    switch (bytes) {
    case sizeof(bool):
        return *(const bool *)at;
    case sizeof(unsigned):
        return *(const unsigned *)at;
    default:
        return *(const uint64_t *)at;
    }
}

/* Writes `rows` to the columns from `column` to `end`; `first`: the dataset of column 0. */
/* NOLINTNEXTLINE(readability-function-size): source and destination take three numbers each. */
static void write_rows(struct hdf5_file *file, const struct table *table, unsigned first,
                       unsigned column, unsigned end, hsize_t at, const void *rows, unsigned count)
{
    for (; column < end; column++) {
        const struct hdf5_dataset *dataset = &file->datasets[first + column];
        const bool is_text = dataset->rank == 2;
        const size_t length = is_text ? file->dimensions[dataset->dimensions[1]].size : 1;
        const hsize_t start[] = {at, 0}, size[] = {count, length};
        uint64_t *numbers = hdf5_column_reserve(file, &file->column, count * length);
        char *texts = (char *)numbers, scratch[SCRATCH_BYTES];
        for (unsigned i = 0; numbers != NULL && i < count; i++) {
            const char *row = (const char *)rows + i * table->row_bytes;
            if (is_text) {
                (void)vamp_utf8_copy(texts + i * length, length, table->text(row, column, scratch));
            } else {
                const struct column *about = &table->columns[column];
                numbers[i] = number_at(row + about->offset, about->bytes);
            }
        }
        hdf5_dataset_put(file, first + column, start, size, numbers);
    }
}

/* Writes the check values of the rows; arguments as for write_rows. */
static void write_checks(struct hdf5_file *file, const struct table *table, unsigned first,
                         hsize_t at, const void *rows, unsigned count)
{
    const unsigned dimension = file->datasets[first].dimensions[0];
    uint64_t *sums = hdf5_column_reserve(file, &file->counts, count);
    for (unsigned i = 0; sums != NULL && i < count; i++) {
        const char *row = (const char *)rows + i * table->row_bytes;
        char scratch[SCRATCH_BYTES];
        for (unsigned c = 0; c < table->count; c++) {
            const struct column *column = &table->columns[c];
            if (column->type == HDF5_CHAR) {
                hdf5_check_text(file, first + c, table->text(row, c, scratch));
            } else {
                hdf5_check_number(file, first + c, 0,
                                  number_at(row + column->offset, column->bytes));
            }
        }
        sums[i] = hdf5_check_sum(file, dimension);
    }
    const hsize_t size = count;
    hdf5_dataset_put(file, file->dimensions[dimension].check, &at, &size, sums);
}

/* ---- gaps */

#define GAP struct vamp_gap
static const struct column gap_columns[] = {
    TIME(GAP, start_ns, HDF5_TIME_MISSING, "gap_start", "start of an interval with missing events"),
    TIME(GAP, end_ns, HDF5_TIME_MISSING, "gap_end", "end of an interval with missing events"),
    NUMBER(GAP, events, "gap_events", "1", "number of missing events; 0: unknown"),
    TEXT(HDF5_WORD_LENGTH, "gap_reason", "where they were lost"),
};

static const char *gap_text(const void *row, unsigned column, char scratch[static SCRATCH_BYTES])
{
    (void)column;
    (void)scratch;
    return vamp_gap_reason_name(((const struct vamp_gap *)row)->reason);
}

static const struct table gaps = {gap_columns, sizeof gap_columns / sizeof gap_columns[0],
                                  HDF5_TEXT_CHUNK_ROWS, sizeof(GAP), gap_text};

/* ---- components */

#define COMPONENT struct vamp_component_row
enum {
    COMPONENT_NAME = 4,
    COMPONENT_REASON,
    COMPONENT_HOST,
    COMPONENT_PID,
    COMPONENT_USER,
    COMPONENT_JOB,
    COMPONENT_COLUMNS
};
static const struct column component_columns[COMPONENT_COLUMNS] = {
    NUMBER(COMPONENT, component.app_id, "component_app_id", "1", "application id of the component"),
    TIME(COMPONENT, component.joined_ns, HDF5_TIME_MISSING, "component_joined",
         "when it joined; missing: not seen"),
    TIME(COMPONENT, component.left_ns, HDF5_TIME_MISSING, "component_left",
         "when it left; missing: still there"),
    NUMBER(COMPONENT, component.operations, "component_operations", "1",
           "pool operations when the row was last written"),
    [COMPONENT_NAME] = TEXT(HDF5_NAME_LENGTH, "component_name", "name of the component"),
    [COMPONENT_REASON] = TEXT(HDF5_WORD_LENGTH, "component_leave_reason", "why it left"),
    [COMPONENT_HOST] = TEXT(HDF5_NAME_LENGTH, "component_host", "its host; empty: not known"),
    [COMPONENT_PID] = TEXT(HDF5_WORD_LENGTH, "component_pid", "its process; empty: not known"),
    [COMPONENT_USER] = TEXT(HDF5_NAME_LENGTH, "component_user", "its user; empty: not known"),
    [COMPONENT_JOB] = TEXT(HDF5_NAME_LENGTH, "component_batch_job",
                           "its job in the batch system; empty: none, or not known"),
};

static const char *component_text(const void *row, unsigned column,
                                  char scratch[static SCRATCH_BYTES])
{
    const struct vamp_component *component = &((const struct vamp_component_row *)row)->component;
    const struct vamp_component_where *where = component->where;
    if (column == COMPONENT_NAME) {
        return component->name;
    }
    if (column == COMPONENT_REASON) {
        return component->left_ns == INT64_MIN ? "" : vamp_leave_reason_name(component->reason);
    }
    if (where == NULL) {
        return "";
    }
    switch (column) {
    case COMPONENT_HOST:
        return where->host;
    case COMPONENT_USER:
        return where->user;
    case COMPONENT_JOB:
        return where->job;
    default: /* COMPONENT_PID */
        (void)snprintf(scratch, SCRATCH_BYTES, "%" PRIu64, where->pid);
        return where->pid == 0 ? "" : scratch;
    }
}

static const struct table components = {component_columns, COMPONENT_COLUMNS, HDF5_TEXT_CHUNK_ROWS,
                                        sizeof(COMPONENT), component_text};

/* Returns whether a text of the component may have changed. Operation counts change in each bucket,
 * texts rarely. */
static bool has_new_text(const struct hdf5_file *file, const struct vamp_component_row *row)
{
    const struct hdf5_component_texts *written = &file->component_texts[row->index];
    return row->component.left_ns != INT64_MIN || written->name != row->component.name ||
           written->where != row->component.where;
}

/* Returns how many of the first rows are adjacent in the table, at most HDF5_TEXT_CHUNK_ROWS. With
 * `texts`, stops at a row whose texts have not changed. */
static unsigned count_run(const struct hdf5_file *file, const struct vamp_component_row *rows,
                          unsigned count, bool texts)
{
    unsigned run = 0;
    const unsigned most = VAMP_MIN(count, HDF5_TEXT_CHUNK_ROWS);
    while (run < most && rows[run].index == rows[0].index + run) {
        if (texts && !has_new_text(file, &rows[run])) {
            break;
        }
        run++;
    }
    return run;
}

/* Ensures that the texts of `count` components can be stored. */
static void reserve_names(struct hdf5_file *file, unsigned count)
{
    if (count <= file->component_capacity) {
        return;
    }
    struct hdf5_component_texts *names = realloc(file->component_texts, count * sizeof *names);
    if (names == NULL) {
        hdf5_no_memory(file, "keep the names of components");
        return;
    }
    memset(names + file->component_capacity, 0, (count - file->component_capacity) * sizeof *names);
    file->component_texts = names;
    file->component_capacity = count;
}

/* Writes the rows, which are in table order. */
static void write_components(struct hdf5_file *file, const struct vamp_component_row *rows,
                             unsigned count)
{
    struct hdf5_dimension *slots = &file->dimensions[HDF5_COMPONENT];
    const unsigned first = file->components_first;
    if (count == 0) {
        return;
    }
    const unsigned end = rows[count - 1].index + 1;
    reserve_names(file, end);
    for (unsigned i = 0, run = 0; file->code == 0 && i < count; i += run) {
        run = count_run(file, rows + i, count - i, false);
        write_rows(file, &components, first, 0, COMPONENT_NAME, rows[i].index, rows + i, run);
        write_checks(file, &components, first, rows[i].index, rows + i, run);
    }
    for (unsigned i = 0, run = 0; file->code == 0 && i < count; i += VAMP_MAX(run, 1)) {
        run = count_run(file, rows + i, count - i, true);
        if (run > 0) {
            write_rows(file, &components, first, COMPONENT_NAME, COMPONENT_COLUMNS, rows[i].index,
                       rows + i, run);
        }
        for (unsigned k = i; k < i + run; k++) {
            file->component_texts[rows[k].index] =
                (struct hdf5_component_texts){rows[k].component.name, rows[k].component.where};
        }
    }
    slots->next = VAMP_MAX(slots->next, end);
}

/* ---- CDOs */

#define CDO struct vamp_cdo_row
#define CDO_TIME(what, name, about)                                                                \
    TIME(CDO, times_ns[VAMP_CDO_TIME_##what], HDF5_TIME_MISSING, name, about "; missing: not seen")
enum { CDO_NAME = 4 + VAMP_CDO_TIME_COUNT, CDO_PRODUCER, CDO_ID, CDO_END, CDO_COLUMNS };
static const struct column cdo_columns[CDO_COLUMNS] = {
    NUMBER(CDO, size_bytes, "cdo_size_bytes", "byte",
           "size of the CDO; only where cdo_size_known is 1"),
    NUMBER(CDO, size_known, "cdo_size_known", "1", "1: an event reported the size of the CDO"),
    NUMBER(CDO, demands, "cdo_demands", "1", "demands for the CDO"),
    NUMBER(CDO, consumers, "cdo_consumers", "1", "completed transports of the CDO"),
    CDO_TIME(DECLARED, "cdo_declared", "when it was first declared"),
    CDO_TIME(SEALED, "cdo_sealed", "when it was sealed"),
    CDO_TIME(OFFERED, "cdo_offered", "when it was first offered"),
    CDO_TIME(FIRST_DEMAND, "cdo_first_demand", "when it was first demanded"),
    CDO_TIME(LAST_TRANSPORT, "cdo_last_transport", "when a transport of it was last completed"),
    CDO_TIME(WITHDRAWN, "cdo_withdrawn", "when it was last withdrawn"),
    CDO_TIME(DISPOSED, "cdo_disposed", "when a handle on it was last disposed of"),
    [CDO_NAME] = TEXT(0, "cdo_name", "name of the CDO"),
    [CDO_PRODUCER] = TEXT(0, "cdo_producer", "name of the component that made it"),
    [CDO_ID] = TEXT(0, "cdo_id", "id of the CDO, 32 hexadecimal digits"),
    [CDO_END] = TEXT(0, "cdo_end", "why its record ended: disposed, left, evicted or run"),
};

static const char *cdo_text(const void *row, unsigned column, char scratch[static SCRATCH_BYTES])
{
    const struct vamp_cdo_row *cdo = row;
    switch (column) {
    case CDO_NAME:
        return cdo->name;
    case CDO_PRODUCER:
        return cdo->producer;
    case CDO_ID:
        (void)snprintf(scratch, SCRATCH_BYTES, "%016" PRIx64 "%016" PRIx64, cdo->id.high,
                       cdo->id.low);
        return cdo->id_known ? scratch : "";
    default: /* CDO_END */
        return vamp_cdo_end_name(cdo->end);
    }
}

static const struct table cdos = {cdo_columns, CDO_COLUMNS, 0, sizeof(CDO), cdo_text};

/* ---- alarms */

#define ALARM struct vamp_alarm_change
enum {
    RULE = 5,
    SEVERITY,
    STATE,
    METRIC,
    LABELS,
    ALARM_CDO,
    THRESHOLD,
    VALUE,
    UNIT,
    ALARM_COLUMNS
};
static const struct column alarm_columns[ALARM_COLUMNS] = {
    TIME(ALARM, time_ns, 0, "alarm_time", "when the alarm entered the state: the end of a bucket"),
    TIME(ALARM, since_ns, 0, "alarm_since", "end of the first bucket in which the condition held"),
    NUMBER(ALARM, bucket, "alarm_bucket", "1", "number of the bucket at whose close it did"),
    NUMBER(ALARM, instance, "alarm_instance", "1",
           "which of the rule's alarms: the same from pending to resolved"),
    NUMBER(ALARM, silenced, "alarm_silenced", "1", "1: actions that reach others did not run"),
    [RULE] = TEXT(0, "alarm_name", "name of the rule"),
    [SEVERITY] = TEXT(0, "alarm_severity", "info, warning or critical"),
    [STATE] = TEXT(0, "alarm_state", "the state entered: pending, firing, resolved or cleared"),
    [METRIC] = TEXT(0, "alarm_metric", "the metric that the rule looks at"),
    [LABELS] = TEXT(0, "alarm_labels", "labels of the series, as LABEL=VALUE, separated by commas"),
    [ALARM_CDO] = TEXT(0, "alarm_cdo", "the CDO; empty: of no single one"),
    [THRESHOLD] = TEXT(0, "alarm_threshold", "the condition as the rule says it"),
    [VALUE] =
        TEXT(0, "alarm_value", "what was compared, a decimal number; empty: there was no value"),
    [UNIT] = TEXT(0, "alarm_unit", "unit of the value"),
};

/* Writes the labels as a list, which is cut if it is too long. */
static void list_labels(const struct vamp_alarm_change *change, char text[static SCRATCH_BYTES])
{
    size_t used = 0;
    for (unsigned i = 0; i < change->label_count && used < SCRATCH_BYTES - 1; i++) {
        char label[SCRATCH_BYTES + 64];
        (void)snprintf(label, sizeof label, "%s%s=%s", i == 0 ? "" : ",", change->labels[i].name,
                       change->labels[i].value);
        used += vamp_utf8_copy(text + used, SCRATCH_BYTES - 1 - used, label);
    }
}

/* Returns a text of an alarm's change; "" if it has none. */
static const char *alarm_text(const void *row, unsigned column, char scratch[static SCRATCH_BYTES])
{
    const struct vamp_alarm_change *change = row;
    const char *const texts[ALARM_COLUMNS] = {
        [RULE] = change->alarm,
        [SEVERITY] = vamp_alarm_severity_words[change->severity],
        [STATE] = vamp_alarm_state_name(change->state),
        [METRIC] = change->metric,
        [ALARM_CDO] = change->cdo,
        [THRESHOLD] = change->threshold,
        [UNIT] = change->unit,
        [LABELS] = scratch,
        [VALUE] = scratch,
    };
    memset(scratch, 0, SCRATCH_BYTES);
    if (column == LABELS) {
        list_labels(change, scratch);
    } else if (column == VALUE && change->has_value) {
        (void)snprintf(scratch, SCRATCH_BYTES, "%.15g", change->value);
    }
    return texts[column];
}

static const struct table alarms = {alarm_columns, ALARM_COLUMNS, 0, sizeof(ALARM), alarm_text};

/* ---- all tables */

/* Creates a table with its own dimensions, which only some files have. */
static unsigned create_own(struct hdf5_file *file, const struct table *table, const char *name,
                           hsize_t length, unsigned *ret_dimension)
{
    char texts[HDF5_NAME_BYTES];
    const unsigned dimension = file->dimension_count;
    file->dimension_count += 2;
    (void)snprintf(texts, sizeof texts, "%s_text_length", name);
    hdf5_dimension_create(file, dimension, name, 0);
    hdf5_dimension_create(file, dimension + 1, texts, length);
    *ret_dimension = dimension;
    return create_table(file, table, dimension, dimension + 1);
}

void hdf5_tables_create(struct hdf5_file *file)
{
    file->gaps_first = create_table(file, &gaps, HDF5_GAP, 0);
    file->components_first = create_table(file, &components, HDF5_COMPONENT, 0);
    if (file->schema->level == VAMP_LEVEL_CDO) {
        file->cdos_first = create_own(file, &cdos, "cdo", VAMP_CDO_NAME_BYTES, &file->cdo);
    }
    if (file->run->has_alarms) {
        file->alarms_first =
            create_own(file, &alarms, "alarm", VAMP_ALARM_TEXT_BYTES, &file->alarm);
    }
}

/* Appends rows to the table. */
static void append(struct hdf5_file *file, const struct table *table, unsigned first,
                   unsigned dimension, const void *rows, unsigned count)
{
    if (count > 0 && dimension != 0) {
        write_rows(file, table, first, 0, table->count, file->dimensions[dimension].size, rows,
                   count);
        write_checks(file, table, first, file->dimensions[dimension].size, rows, count);
        file->dimensions[dimension].next += count;
    }
}

void hdf5_tables_write(struct hdf5_file *file, const struct vamp_delivery *delivery)
{
    const struct vamp_bucket *bucket = delivery->bucket;
    write_components(file, delivery->components, delivery->component_count);
    append(file, &gaps, file->gaps_first, HDF5_GAP, delivery->gaps, delivery->gap_count);
    append(file, &cdos, file->cdos_first, file->cdo, bucket->cdos, bucket->cdo_count);
    append(file, &alarms, file->alarms_first, file->alarm, bucket->alarms, bucket->alarm_count);
}
