/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/hdf5/read.h"

#include <stdlib.h>
#include <string.h>

/* Cells that are read at once, except of a row that has more. */
#define BLOCK_CELLS ((size_t)1 << 18)
/* More cells in a row are no file of vampire. */
#define ROW_CELLS_MAX ((size_t)1 << 30)

/* ---- variables */

bool hdf5_variable_exists(const struct hdf5_reader *reader, const char *name)
{
    return H5Lexists(reader->id, name, H5P_DEFAULT) > 0;
}

static uint64_t fill_of(hid_t dataset)
{
    uint64_t fill = 0;
    hid_t create = H5Dget_create_plist(dataset);
    hid_t type = H5Dget_type(dataset);
    if (type >= 0 && H5Tget_class(type) == H5T_INTEGER) {
        const bool is_signed = H5Tget_sign(type) == H5T_SGN_2;
        (void)H5Pget_fill_value(create, is_signed ? H5T_NATIVE_INT64 : H5T_NATIVE_UINT64, &fill);
    }
    (void)H5Tclose(type);
    (void)H5Pclose(create);
    return fill;
}

/* Its sizes, and whether they are possible. */
static bool measure(struct hdf5_variable *variable)
{
    variable->space = H5Dget_space(variable->id);
    variable->rank = variable->space < 0 ? -1 : H5Sget_simple_extent_ndims(variable->space);
    variable->size[0] = 1;
    if (variable->rank < 0 || variable->rank > HDF5_RANK_MAX ||
        (variable->rank > 0 &&
         H5Sget_simple_extent_dims(variable->space, variable->size, NULL) != variable->rank)) {
        return false;
    }
    variable->cells = 1;
    for (int i = 1; i < variable->rank; i++) {
        if (variable->size[i] > ROW_CELLS_MAX / variable->cells) {
            return false;
        }
        variable->cells *= (size_t)variable->size[i];
    }
    return true;
}

int hdf5_variable_open(struct hdf5_reader *reader, const char *name,
                       struct hdf5_variable *ret_variable)
{
    *ret_variable = (struct hdf5_variable){.space = -1};
    ret_variable->id = H5Dopen2(reader->id, name, H5P_DEFAULT);
    if (ret_variable->id < 0) {
        return hdf5_fail(reader->err, "open variable %s", name);
    }
    if (!measure(ret_variable)) {
        hdf5_variable_close(ret_variable);
        return vamp_err_set(reader->err, -EBADMSG, "variable %s has impossible sizes", name);
    }
    ret_variable->fill = fill_of(ret_variable->id);
    return 0;
}

void hdf5_variable_close(struct hdf5_variable *variable)
{
    if (variable->id >= 0) {
        (void)H5Sclose(variable->space);
        (void)H5Dclose(variable->id);
    }
    variable->id = variable->space = -1;
}

/* Reads cells that are there: in each dimension so many from the first on. */
static int read_block(struct hdf5_reader *reader, const struct hdf5_variable *variable,
                      const hsize_t start[static HDF5_RANK_MAX],
                      const hsize_t length[static HDF5_RANK_MAX], hid_t type, void *values)
{
    /* Of the same shape: HDF5 copies runs of cells then, else cell by cell. */
    hid_t memory = H5Screate_simple(variable->rank, length, NULL);
    const bool chosen = variable->rank == 0 || H5Sselect_hyperslab(variable->space, H5S_SELECT_SET,
                                                                   start, NULL, length, NULL) >= 0;
    const bool good =
        chosen && memory >= 0 &&
        H5Dread(variable->id, type, memory, variable->space, H5P_DEFAULT, values) >= 0;
    (void)H5Sclose(memory);
    char name[HDF5_NAME_BYTES] = "";
    if (!good) {
        (void)H5Iget_name(variable->id, name, sizeof name);
    }
    return good ? 0 : hdf5_fail(reader->err, "read variable %s", name);
}

/* Reads `count` rows, which are there. */
static int read_rows(struct hdf5_reader *reader, const struct hdf5_variable *variable,
                     hsize_t first, hsize_t count, hid_t type, void *values)
{
    hsize_t start[HDF5_RANK_MAX] = {first}, length[HDF5_RANK_MAX] = {count};
    for (int i = 1; i < variable->rank; i++) {
        length[i] = variable->size[i];
    }
    return read_block(reader, variable, start, length, type, values);
}

static int read_filled(struct hdf5_reader *reader, const struct hdf5_variable *variable,
                       hsize_t first, hsize_t count, hid_t type, uint64_t *values)
{
    const hsize_t there = first >= variable->size[0]          ? 0
                          : count > variable->size[0] - first ? variable->size[0] - first
                                                              : count;
    for (size_t i = (size_t)there * variable->cells; i < (size_t)count * variable->cells; i++) {
        values[i] = variable->fill;
    }
    return there == 0 ? 0 : read_rows(reader, variable, first, there, type, values);
}

int hdf5_variable_numbers(struct hdf5_reader *reader, const struct hdf5_variable *variable,
                          hsize_t first, hsize_t count, uint64_t *values)
{
    return read_filled(reader, variable, first, count, H5T_NATIVE_UINT64, values);
}

int hdf5_variable_times(struct hdf5_reader *reader, const struct hdf5_variable *variable,
                        hsize_t first, hsize_t count, int64_t *values)
{
    return read_filled(reader, variable, first, count, H5T_NATIVE_INT64, (uint64_t *)values);
}

uint64_t *hdf5_variable_buffer(const struct hdf5_reader *reader,
                               const struct hdf5_variable *variable, hsize_t rows)
{
    uint64_t *buffer = calloc((size_t)rows, variable->cells * sizeof *buffer);
    if (buffer == NULL) {
        (void)vamp_err_set_errno(reader->err, ENOMEM, "read a variable");
    }
    return buffer;
}

int hdf5_variable_text(struct hdf5_reader *reader, const struct hdf5_variable *variable,
                       hsize_t row, char *text, size_t bytes)
{
    const bool only = variable->rank == 1;
    const size_t length = only ? (size_t)variable->size[0] : variable->cells;
    text[0] = '\0';
    if (!only && row >= variable->size[0]) {
        return 0;
    }
    char *all = calloc(length + 1, 1);
    if (all == NULL) {
        return vamp_err_set_errno(reader->err, ENOMEM, "read a text");
    }
    struct hdf5_variable shaped = *variable;
    shaped.cells = only ? 1 : variable->cells;
    int code =
        read_rows(reader, &shaped, only ? 0 : row, only ? variable->size[0] : 1, H5T_C_S1, all);
    (void)snprintf(text, bytes, "%s", code == 0 ? all : "");
    free(all);
    return code;
}

/* ---- sums */

static int make_sums(struct hdf5_reader *reader, const struct hdf5_variable *variable,
                     struct hdf5_sums *sums)
{
    const size_t count = variable->rank > 1 ? (size_t)variable->size[variable->rank - 1] : 1;
    if (sums->count > 0 && sums->count != count) {
        return vamp_err_set(reader->err, -EBADMSG, "its variables do not have the same sizes");
    }
    if (sums->count == 0) {
        sums->items = calloc(count, sizeof *sums->items);
        sums->count = sums->items != NULL ? count : 0;
        sums->has_labels = variable->rank > 1;
    }
    return sums->items != NULL ? 0 : vamp_err_set_errno(reader->err, ENOMEM, "read a variable");
}

/* `count` is a multiple of the sums'. */
static void add_cells(struct hdf5_sums *sums, const uint64_t *values, size_t count)
{
    for (const uint64_t *end = values + count; values < end; values += sums->count) {
        for (size_t i = 0; i < sums->count; i++) {
            sums->items[i] += values[i];
        }
    }
}

int hdf5_variable_sum(struct hdf5_reader *reader, const struct hdf5_variable *variable,
                      hsize_t first, hsize_t count, struct hdf5_sums *sums)
{
    int code = make_sums(reader, variable, sums);
    if (code != 0 || variable->cells == 0 || sums->count == 0) {
        return code;
    }
    hsize_t block = BLOCK_CELLS / variable->cells;
    block = block == 0 ? 1 : block;
    uint64_t *values = hdf5_variable_buffer(reader, variable, block);
    code = values != NULL ? 0 : -ENOMEM;
    for (hsize_t row = 0; code == 0 && row < count; row += block) {
        const hsize_t rows = count - row < block ? count - row : block;
        code = hdf5_variable_numbers(reader, variable, first + row, rows, values);
        if (code == 0) {
            add_cells(sums, values, (size_t)rows * variable->cells);
        }
    }
    free(values);
    return code;
}

/* How many series of a row are read at once: those of a chunk, which HDF5 unpacks whole. */
static hsize_t series_at_once(const struct hdf5_variable *bins)
{
    hsize_t chunk[HDF5_RANK_MAX] = {0};
    hid_t create = H5Dget_create_plist(bins->id);
    const bool known = create >= 0 && H5Pget_chunk(create, HDF5_RANK_MAX, chunk) == bins->rank;
    (void)H5Pclose(create);
    const hsize_t most = BLOCK_CELLS / bins->size[2];
    const hsize_t series = known && chunk[1] < most ? chunk[1] : most;
    return series > 0 ? series : 1;
}

static bool any_counted(const uint64_t *counts, hsize_t series)
{
    uint64_t all = 0;
    for (hsize_t i = 0; i < series; i++) {
        all |= counts[i];
    }
    return all != 0;
}

/* One row. `values` has room for `step` series. */
static int sum_used_row(struct hdf5_reader *reader, const struct hdf5_variable *bins, hsize_t row,
                        hsize_t step, const uint64_t *counts, uint64_t *values,
                        struct hdf5_sums *sums)
{
    int code = 0;
    for (hsize_t first = 0; code == 0 && first < bins->size[1]; first += step) {
        const hsize_t left = bins->size[1] - first, series = left < step ? left : step;
        if (!any_counted(counts + first, series)) {
            continue;
        }
        code = read_block(reader, bins, (const hsize_t[HDF5_RANK_MAX]){row, first},
                          (const hsize_t[HDF5_RANK_MAX]){1, series, bins->size[2]},
                          H5T_NATIVE_UINT64, values);
        if (code == 0) {
            add_cells(sums, values, (size_t)(series * bins->size[2]));
        }
    }
    return code;
}

int hdf5_variable_sum_used(struct hdf5_reader *reader, const struct hdf5_variable *bins,
                           const struct hdf5_variable *counts, hsize_t count,
                           struct hdf5_sums *sums)
{
    if (bins->rank != 3 || bins->cells == 0 || counts->rank != 2 ||
        counts->size[1] != bins->size[1]) {
        return vamp_err_set(reader->err, -EBADMSG, "its variables do not have the same sizes");
    }
    int code = make_sums(reader, bins, sums);
    const hsize_t step = series_at_once(bins);
    uint64_t *values = calloc((size_t)(step * bins->size[2]), sizeof *values);
    uint64_t *row_counts = hdf5_variable_buffer(reader, counts, 1);
    if (code == 0 && (values == NULL || row_counts == NULL)) {
        code = vamp_err_set_errno(reader->err, ENOMEM, "read a variable");
    }
    count = count < bins->size[0] ? count : bins->size[0];
    for (hsize_t row = 0; code == 0 && row < count; row++) {
        code = hdf5_variable_numbers(reader, counts, row, 1, row_counts);
        code = code != 0 ? code : sum_used_row(reader, bins, row, step, row_counts, values, sums);
    }
    free(row_counts);
    free(values);
    return code;
}

int hdf5_read_sums(struct hdf5_reader *reader, const char *name, const char *part, uint64_t first,
                   uint64_t count, struct hdf5_sums *sums)
{
    char full[HDF5_NAME_BYTES];
    struct hdf5_variable variable;
    (void)snprintf(full, sizeof full, "%s%s", name, part);
    int code = hdf5_variable_open(reader, full, &variable);
    code = code != 0 ? code : hdf5_variable_sum(reader, &variable, first, count, sums);
    hdf5_variable_close(&variable);
    return code;
}

int hdf5_read_rows(struct hdf5_reader *reader)
{
    struct hdf5_variable time;
    int code = hdf5_variable_open(reader, "time", &time);
    reader->rows = code == 0 ? time.size[0] : 0;
    hdf5_variable_close(&time);
    return code;
}

/* ---- attributes */

static int missing(struct hdf5_reader *reader, const char *attribute)
{
    return hdf5_fail(reader->err, "it is no file of vampire's: read attribute \"%s\"", attribute);
}

int hdf5_read_text(struct hdf5_reader *reader, const char *object, const char *attribute,
                   char *text, size_t bytes)
{
    text[0] = '\0';
    hid_t id = H5Aopen_by_name(reader->id, object, attribute, H5P_DEFAULT, H5P_DEFAULT);
    hid_t type = id < 0 ? -1 : H5Aget_type(id);
    const bool is_text =
        type >= 0 && H5Tget_class(type) == H5T_STRING && H5Tis_variable_str(type) == 0;
    const size_t length = is_text ? H5Tget_size(type) : 0;
    char *all = calloc(length + 1, 1);
    const bool good = all != NULL && is_text && H5Aread(id, type, all) >= 0;
    (void)snprintf(text, bytes, "%s", good ? all : "");
    free(all);
    (void)H5Tclose(type);
    (void)H5Aclose(id);
    return good ? 0 : missing(reader, attribute);
}

int hdf5_read_owned(struct hdf5_reader *reader, const char *attribute, char **text)
{
    char read[4 * 1024];
    if (H5Aexists(reader->id, attribute) <= 0) {
        return 0;
    }
    int code = hdf5_read_text(reader, "/", attribute, read, sizeof read);
    return code != 0 ? code : vamp_run_file_text(text, read, strlen(read), reader->err);
}

int hdf5_read_number(struct hdf5_reader *reader, const char *attribute, uint64_t *ret_number)
{
    hid_t id = H5Aopen(reader->id, attribute, H5P_DEFAULT);
    hid_t space = id < 0 ? -1 : H5Aget_space(id);
    const bool good = space >= 0 && H5Sget_simple_extent_npoints(space) == 1 &&
                      H5Aread(id, H5T_NATIVE_UINT64, ret_number) >= 0;
    (void)H5Sclose(space);
    (void)H5Aclose(id);
    return good ? 0 : missing(reader, attribute);
}
