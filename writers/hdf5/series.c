/* SPDX-License-Identifier: BSD-3-Clause */
/* The labels of the series in each group. Series keep their number, so the table only grows. */
#include "writers/hdf5/internal.h"

#define BATCH HDF5_TEXT_CHUNK_ROWS

/* The texts of one label, or of the ids after the last label, of `count` series. */
static int write_texts(struct hdf5_file *file, const struct hdf5_set *set, unsigned label,
                       unsigned count, const struct vamp_series *const *series,
                       struct vamp_err *err)
{
    const bool is_id = label == set->label_count;
    const char *texts[BATCH];
    for (unsigned i = 0; i < count; i++) {
        texts[i] = is_id ? series[i]->id : series[i]->labels[label];
    }
    return hdf5_dataset_put_texts(file, is_id ? set->id_text : set->label_text[label], set->written,
                                  count, texts, err);
}

static int write_set(struct hdf5_file *file, unsigned number, const struct vamp_bucket *bucket,
                     struct vamp_err *err)
{
    struct hdf5_set *set = &file->sets[number];
    const unsigned end = bucket->series_count[number];
    int code = 0;
    while (code == 0 && set->written < end) {
        const unsigned count = end - set->written < BATCH ? end - set->written : BATCH;
        for (unsigned l = 0; code == 0 && l <= set->label_count; l++) {
            code = write_texts(file, set, l, count, bucket->series[number] + set->written, err);
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
