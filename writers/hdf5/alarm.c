/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of alarms, in the files of a run with rules: a row for each alarm that entered another
 * state. A bucket's rows are written as one block for each column.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/alarms/change.h"
#include "vampire/core/utf8.h"
#include "writers/hdf5/internal.h"

#define UNIT_TIME "nanoseconds since 1970-01-01T00:00:00Z"

enum { TIME, SINCE, BUCKET, INSTANCE, SILENCED, NUMBERS };
static const struct {
    const char *name, *about, *unit;
    enum hdf5_type type;
} number_columns[NUMBERS] = {
    [TIME] = {"alarm_time", "when the alarm entered the state: the end of a bucket", UNIT_TIME,
              HDF5_I64},
    [SINCE] = {"alarm_since", "end of the first bucket in which the condition held", UNIT_TIME,
               HDF5_I64},
    [BUCKET] = {"alarm_bucket", "number of the bucket at whose close it did", "1", HDF5_U64},
    [INSTANCE] = {"alarm_instance", "which of the rule's alarms: the same from pending to resolved",
                  "1", HDF5_U64},
    [SILENCED] = {"alarm_silenced", "1: actions that reach others did not run", "1", HDF5_U64},
};

enum { NAME, SEVERITY, STATE, METRIC, LABELS, CDO, THRESHOLD, VALUE, UNIT, TEXTS };
static const char *const text_columns[TEXTS][2] = {
    [NAME] = {"alarm_name", "name of the rule"},
    [SEVERITY] = {"alarm_severity", "info, warning or critical"},
    [STATE] = {"alarm_state", "the state entered: pending, firing, resolved or cleared"},
    [METRIC] = {"alarm_metric", "the metric that the rule looks at"},
    [LABELS] = {"alarm_labels", "labels of the series, as LABEL=VALUE, separated by commas"},
    [CDO] = {"alarm_cdo", "the CDO; empty: of no single one"},
    [THRESHOLD] = {"alarm_threshold", "the condition as the rule says it"},
    [VALUE] = {"alarm_value", "what was compared, a decimal number; empty: there was no value"},
    [UNIT] = {"alarm_unit", "unit of the value"},
};

static int create_column(struct hdf5_file *file, const struct hdf5_spec *spec, bool is_first,
                         struct vamp_err *err)
{
    unsigned index = 0;
    int code = hdf5_dataset_create(file, spec, &index, err);
    file->alarms_first = is_first ? index : file->alarms_first;
    return code;
}

int hdf5_alarm_create(struct hdf5_file *file, struct vamp_err *err)
{
    const unsigned table = file->dimension_count++;
    file->alarm_length = file->dimension_count++;
    int code = hdf5_dimension_create(file, table, "alarm", 0, true, err);
    if (code == 0) {
        code = hdf5_dimension_create(file, file->alarm_length, "alarm_text_length",
                                     VAMP_ALARM_TEXT_BYTES, false, err);
    }
    for (unsigned i = 0; code == 0 && i < NUMBERS; i++) {
        const struct hdf5_spec spec = {
            .name = number_columns[i].name,
            .type = number_columns[i].type,
            .rank = 1,
            .dimensions = {table},
            .units = number_columns[i].unit,
            .long_name = number_columns[i].about,
        };
        code = create_column(file, &spec, i == 0, err);
    }
    for (unsigned i = 0; code == 0 && i < TEXTS; i++) {
        const struct hdf5_spec spec = {
            .name = text_columns[i][0],
            .type = HDF5_CHAR,
            .rank = 2,
            .dimensions = {table, file->alarm_length},
            .chunk_rows = HDF5_TEXT_CHUNK_ROWS,
            .long_name = text_columns[i][1],
        };
        code = create_column(file, &spec, false, err);
    }
    return code;
}

static uint64_t number_of(const struct vamp_alarm_change *change, unsigned column)
{
    const uint64_t numbers[NUMBERS] = {
        [TIME] = (uint64_t)change->time_ns, [SINCE] = (uint64_t)change->since_ns,
        [BUCKET] = change->bucket,          [INSTANCE] = change->instance,
        [SILENCED] = change->silenced,
    };
    return numbers[column];
}

/* Cut if they do not fit. */
static void list_labels(const struct vamp_alarm_change *change,
                        char text[static VAMP_ALARM_TEXT_BYTES])
{
    size_t used = 0;
    for (unsigned i = 0; i < change->label_count && used < VAMP_ALARM_TEXT_BYTES; i++) {
        char label[VAMP_ALARM_TEXT_BYTES + 64];
        (void)snprintf(label, sizeof label, "%s%s=%s", i == 0 ? "" : ",", change->labels[i].name,
                       change->labels[i].value);
        used += vamp_utf8_copy(text + used, VAMP_ALARM_TEXT_BYTES - used, label);
    }
}

static void text_of(const struct vamp_alarm_change *change, unsigned column,
                    char text[static VAMP_ALARM_TEXT_BYTES])
{
    const char *const texts[TEXTS] = {
        [NAME] = change->alarm,
        [SEVERITY] = vamp_alarm_severity_words[change->severity],
        [STATE] = vamp_alarm_state_name(change->state),
        [METRIC] = change->metric,
        [CDO] = change->cdo,
        [THRESHOLD] = change->threshold,
        [UNIT] = change->unit,
    };
    if (column == LABELS) {
        list_labels(change, text);
    } else if (column != VALUE) {
        (void)vamp_utf8_copy(text, VAMP_ALARM_TEXT_BYTES, texts[column]);
    } else if (change->has_value) {
        (void)snprintf(text, VAMP_ALARM_TEXT_BYTES, "%.15g", change->value);
    }
}

static int write_numbers(struct hdf5_file *file, const struct vamp_bucket *bucket, uint64_t *values,
                         struct vamp_err *err)
{
    const hsize_t start = file->dimensions[file->alarm_length - 1].size;
    const hsize_t count = bucket->alarm_count;
    int code = 0;
    for (unsigned c = 0; code == 0 && c < NUMBERS; c++) {
        for (unsigned i = 0; i < bucket->alarm_count; i++) {
            values[i] = number_of(&bucket->alarms[i], c);
        }
        code = hdf5_dataset_put(file, file->alarms_first + c, &start, &count, values, err);
    }
    return code;
}

static int write_texts(struct hdf5_file *file, const struct vamp_bucket *bucket, char *texts,
                       struct vamp_err *err)
{
    const hsize_t start[] = {file->dimensions[file->alarm_length - 1].size, 0};
    const hsize_t count[] = {bucket->alarm_count, VAMP_ALARM_TEXT_BYTES};
    int code = 0;
    for (unsigned c = 0; code == 0 && c < TEXTS; c++) {
        memset(texts, 0, (size_t)bucket->alarm_count * VAMP_ALARM_TEXT_BYTES);
        for (unsigned i = 0; i < bucket->alarm_count; i++) {
            text_of(&bucket->alarms[i], c, texts + (size_t)i * VAMP_ALARM_TEXT_BYTES);
        }
        code = hdf5_dataset_put(file, file->alarms_first + NUMBERS + c, start, count, texts, err);
    }
    return code;
}

int hdf5_alarm_write(struct hdf5_file *file, const struct vamp_bucket *bucket, struct vamp_err *err)
{
    if (bucket->alarm_count == 0 || file->alarm_length == 0) {
        return 0;
    }
    void *block = malloc((size_t)bucket->alarm_count * VAMP_ALARM_TEXT_BYTES);
    if (block == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "write the alarms of a bucket to %s", file->path);
    }
    int code = write_numbers(file, bucket, block, err);
    code = code != 0 ? code : write_texts(file, bucket, block, err);
    free(block);
    file->dimensions[file->alarm_length - 1].next += bucket->alarm_count;
    return code;
}
