/* SPDX-License-Identifier: BSD-3-Clause */
/* The labels of the series in each group. Series keep their number, so the table only grows. */
#include "writers/hdf5/internal.h"

#include <string.h>

#include "vampire/core/utf8.h"

#define BATCH HDF5_TEXT_CHUNK_ROWS

/* The text of label `label`, or the id after the last label. */
static const char *text_of(const struct vamp_series *series, unsigned label, unsigned labels)
{
    return label < labels ? series->labels[label] : series->id;
}

static int write_batch(struct hdf5_file *file, unsigned dataset, hsize_t first, unsigned count,
                       const struct vamp_series *const *series, unsigned label, unsigned labels,
                       struct vamp_err *err)
{
    const hsize_t length = file->dimensions[file->datasets[dataset].dimensions[1]].size;
    int code = hdf5_column_reserve(&file->column, BATCH * (size_t)length / sizeof(uint64_t), err);
    if (code != 0) {
        return code;
    }
    char *bytes = (char *)file->column.numbers;
    for (unsigned i = 0; i < count; i++) {
        (void)vamp_utf8_copy(bytes + i * length, (size_t)length,
                             text_of(series[i], label, labels));
    }
    const hsize_t start[] = {first, 0}, size[] = {count, length};
    return hdf5_dataset_put(file, dataset, start, size, bytes, err);
}

static int write_set(struct hdf5_file *file, unsigned number, const struct vamp_bucket *bucket,
                     struct vamp_err *err)
{
    struct hdf5_set *set = &file->sets[number];
    const unsigned labels = file->schema->label_sets[number].label_count;
    const unsigned end = bucket->series_count[number];
    int code = 0;
    while (code == 0 && set->written < end) {
        const unsigned count = end - set->written < BATCH ? end - set->written : BATCH;
        for (unsigned l = 0; code == 0 && l <= labels; l++) {
            code = write_batch(file, l < labels ? set->label_text[l] : set->id_text, set->written,
                               count, bucket->series[number] + set->written, l, labels, err);
        }
        set->written += count;
        file->dimensions[set->series].next = set->written;
    }
    return code;
}

int hdf5_series_write(struct hdf5_file *file, const struct vamp_bucket *bucket,
                      struct vamp_err *err)
{
    int code = 0;
    for (unsigned s = 0; code == 0 && s < file->schema->label_set_count; s++) {
        code = file->sets[s].has_group ? write_set(file, s, bucket, err) : 0;
    }
    return code;
}
