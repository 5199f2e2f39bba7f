/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads variables and attributes of a file, for run_file.c and run_totals.c. One thread. */
#ifndef VAMP_WRITERS_HDF5_READ_H
#define VAMP_WRITERS_HDF5_READ_H

#include "writers/format/run_file.h"
#include "writers/hdf5/internal.h"

struct hdf5_reader {
    hid_t id;
    bool dense;   /* format 1: all series in the root group */
    hsize_t rows; /* of `time` */
    struct vamp_run_file *file;
    struct vamp_err *err;
};

/* An open variable. */
struct hdf5_variable {
    hid_t id, space; /* -1: closed */
    int rank;
    hsize_t size[HDF5_RANK_MAX]; /* of a scalar: 1 */
    size_t cells;                /* of a row */
    uint64_t fill;
};

/* Sums of a variable's cells that have the same index along its last dimension. */
struct hdf5_sums {
    uint64_t *items; /* owned by the caller: to be freed with free */
    size_t count;    /* 0: nothing was added */
    bool has_labels; /* it has a dimension besides that of its rows */
};

/* All functions return 0 or -errno with text: -EBADMSG or -EIO of a damaged file, -ENOMEM. */

bool hdf5_variable_exists(const struct hdf5_reader *reader, const char *name);
/* After a failure it is closed. */
VAMP_MUST_CHECK int hdf5_variable_open(struct hdf5_reader *reader, const char *name,
                                       struct hdf5_variable *ret_variable);
void hdf5_variable_close(struct hdf5_variable *variable);
/* Room for `rows` rows; NULL without memory. To be freed with free. */
uint64_t *hdf5_variable_buffer(const struct hdf5_reader *reader,
                               const struct hdf5_variable *variable, hsize_t rows);
/* Rows from `first` on. Those that the file does not have (yet) are the fill value. */
VAMP_MUST_CHECK int hdf5_variable_numbers(struct hdf5_reader *reader,
                                          const struct hdf5_variable *variable, hsize_t first,
                                          hsize_t count, uint64_t *values);
VAMP_MUST_CHECK int hdf5_variable_times(struct hdf5_reader *reader,
                                        const struct hdf5_variable *variable, hsize_t first,
                                        hsize_t count, int64_t *values);
/* One text, terminated; of a variable with one dimension the only one. */
VAMP_MUST_CHECK int hdf5_variable_text(struct hdf5_reader *reader,
                                       const struct hdf5_variable *variable, hsize_t row,
                                       char *text, size_t bytes);
/* Adds rows to the sums, which are made when they are empty. */
VAMP_MUST_CHECK int hdf5_variable_sum(struct hdf5_reader *reader,
                                      const struct hdf5_variable *variable, hsize_t first,
                                      hsize_t count, struct hdf5_sums *sums);
/* Adds the bins [row, series, bin] of `count` rows, from the first on, to the sums. Only those of
 * series whose number of values [row, series] is not 0 are read, a chunk at a time. */
VAMP_MUST_CHECK int hdf5_variable_sum_used(struct hdf5_reader *reader,
                                           const struct hdf5_variable *bins,
                                           const struct hdf5_variable *counts, hsize_t count,
                                           struct hdf5_sums *sums);
/* Adds rows of the variable NAMEPART. */
VAMP_MUST_CHECK int hdf5_read_sums(struct hdf5_reader *reader, const char *name, const char *part,
                                   uint64_t first, uint64_t count, struct hdf5_sums *sums);
/* Sets the rows of `time`. */
VAMP_MUST_CHECK int hdf5_read_rows(struct hdf5_reader *reader);
/* An attribute of an object ("/": the file), terminated; a longer one is cut. */
VAMP_MUST_CHECK int hdf5_read_text(struct hdf5_reader *reader, const char *object,
                                   const char *attribute, char *text, size_t bytes);
/* An attribute of the file as an owned text; NULL when there is none. */
VAMP_MUST_CHECK int hdf5_read_owned(struct hdf5_reader *reader, const char *attribute, char **text);
VAMP_MUST_CHECK int hdf5_read_number(struct hdf5_reader *reader, const char *attribute,
                                     uint64_t *ret_number);

/* run_totals.c: sets the counts of file->totals, with `rows` known and not 0. */
VAMP_MUST_CHECK int hdf5_read_totals(struct hdf5_reader *reader);

/* `read` of the format's struct vamp_file_ops (run_file.c). */
VAMP_MUST_CHECK int hdf5_read_run(int fd, const char *path, struct vamp_run_file *file,
                                  struct vamp_err *err);

#endif
