/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/hdf5/internal.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vampire/core/clock.h"
#include "vampire/core/utf8.h"

/* Datasets other than those of metrics and label sets; creation refuses more than there is room
 * for. */
#define OTHER_DATASETS 64
/* Of a label set, besides its labels. */
#define SET_DATASETS 4
/* For everything a file has before its first bucket; a dataset takes about 1.5 KiB. */
#define LAYOUT_BYTES_PER_DATASET 2560

static unsigned datasets_of(const struct vamp_schema *schema)
{
    unsigned count = OTHER_DATASETS + VAMP_LABEL_COUNT +
                     schema->label_set_count * (VAMP_LABELS_MAX + SET_DATASETS);
    for (unsigned m = 0; m < schema->metric_count; m++) {
        switch (vamp_metrics[schema->metrics[m].id].kind) {
        case VAMP_COUNTER:
            count += 2 * HDF5_COUNTER_DATASETS;
            break;
        case VAMP_GAUGE:
            count += 2 * HDF5_GAUGE_DATASETS;
            break;
        case VAMP_HISTOGRAM:
            count += HDF5_OVERVIEW_DATASETS + HDF5_ROWS_DATASETS;
            break;
        }
    }
    return count;
}

static int allocate(struct hdf5_file *file, struct vamp_err *err)
{
    const struct vamp_schema *schema = file->schema;
    const unsigned sets = schema->label_set_count, metrics = schema->metric_count;
    file->dataset_capacity = datasets_of(schema);
    file->datasets = calloc(file->dataset_capacity, sizeof *file->datasets);
    file->dimensions = calloc(HDF5_FIRST_OTHER + VAMP_LABEL_COUNT + 3 * sets + metrics + 7,
                              sizeof *file->dimensions);
    file->sets = calloc(sets + 1, sizeof *file->sets);
    file->metrics = calloc(metrics + 1, sizeof *file->metrics);
    if (file->datasets == NULL || file->dimensions == NULL || file->sets == NULL ||
        file->metrics == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "prepare the file");
    }
    return 0;
}

/* Room to compress the largest chunk. */
static int allocate_chunks(struct hdf5_file *file, struct vamp_err *err)
{
    size_t numbers = VAMP_BINS_MAX > HDF5_OWN_COLUMNS_MAX ? VAMP_BINS_MAX : HDF5_OWN_COLUMNS_MAX;
    for (unsigned s = 0; s < file->schema->label_set_count; s++) {
        const struct hdf5_set *set = &file->sets[s];
        numbers = set->cells > numbers ? set->cells : numbers;
        numbers = set->chunk_rows > numbers ? set->chunk_rows : numbers;
    }
    for (unsigned m = 0; m < file->schema->metric_count; m++) {
        const unsigned chunk = file->metrics[m].entry_chunk;
        numbers = chunk > numbers ? chunk : numbers;
    }
    return hdf5_chunks_init(&file->chunks, numbers * sizeof(uint64_t)) != 0
               ? vamp_err_set_errno(err, ENOMEM, "prepare the file")
               : 0;
}

/* vampire's descriptor and HDF5's must refer to the same file; otherwise another process replaced
 * the name in between. */
static int verify_same_file(const struct hdf5_file *file, struct vamp_err *err)
{
    int *theirs = NULL;
    struct stat own, other;
    if (H5Fget_vfd_handle(file->file, H5P_DEFAULT, (void **)&theirs) < 0 || theirs == NULL) {
        return hdf5_fail(err, "look at %s", file->path);
    }
    if (fstat(file->fd, &own) != 0 || fstat(*theirs, &other) != 0 || own.st_dev != other.st_dev ||
        own.st_ino != other.st_ino) {
        return vamp_err_set(err, -ELOOP, "create %s: another process replaced it meanwhile",
                            file->path);
    }
    return 0;
}

/* Small metadata never crosses a page: a kill in the middle of a write leaves whole pages only, and
 * half an object header would cost its dataset. */
#define PAGE_BYTES 4096

/* HDF5's lock does not help here: vampire has created the name already, and a reader that opens the
 * file as soon as it appears would make the creation fail. The file's own marks show readers that
 * it is being written. Some parallel file systems have no locks at all. */
static bool without_locks(hid_t access)
{
#if H5_VERSION_GE(1, 12, 1) || (H5_VERSION_GE(1, 10, 7) && !H5_VERSION_GE(1, 12, 0))
    return H5Pset_file_locking(access, false, true) >= 0;
#else
    (void)access;
    return true;
#endif
}

/* Of metadata that is kept in memory. Of the layout next to nothing is needed again. While buckets
 * are written everything that they change must fit, because HDF5 1.10 fails when it evicts parts of
 * an index of chunks under SWMR; each flush looks at all that is there. */
#define LAYOUT_CACHE_BYTES ((size_t)64 << 10)
#define BUCKET_CACHE_BYTES ((size_t)1 << 20)

static void set_cache(H5AC_cache_config_t *config, size_t bytes)
{
    config->set_initial_size = true;
    config->initial_size = bytes;
    config->min_size = bytes;
    config->max_size = bytes;
    config->incr_mode = H5C_incr__off;
    config->flash_incr_mode = H5C_flash_incr__off;
    config->decr_mode = H5C_decr__off;
}

static bool limit_layout_cache(hid_t access)
{
    H5AC_cache_config_t config = {.version = H5AC__CURR_CACHE_CONFIG_VERSION};
    if (H5Pget_mdc_config(access, &config) < 0) {
        return false;
    }
    set_cache(&config, LAYOUT_CACHE_BYTES);
    return H5Pset_mdc_config(access, &config) >= 0;
}

static bool limit_bucket_cache(hid_t file)
{
    H5AC_cache_config_t config = {.version = H5AC__CURR_CACHE_CONFIG_VERSION};
    if (H5Fget_mdc_config(file, &config) < 0) {
        return false;
    }
    set_cache(&config, BUCKET_CACHE_BYTES);
    return H5Fset_mdc_config(file, &config) >= 0;
}

/* HDF5 keeps freed memory of each kind for the same kind. While the layout is made it returns it to
 * malloc instead, so that the heap stays small; afterwards each bucket frees and takes the same
 * again, which is faster from its lists. */
static void begin_layout_memory(void)
{
    (void)H5set_free_list_limits(0, 0, 0, 0, 0, 0);
}

#define KEPT_BYTES (1 << 20)
#define KEPT_OF_A_KIND_BYTES (64 << 10)

static void end_layout_memory(void)
{
    (void)H5set_free_list_limits(KEPT_BYTES, KEPT_OF_A_KIND_BYTES, KEPT_BYTES, KEPT_OF_A_KIND_BYTES,
                                 KEPT_BYTES, KEPT_OF_A_KIND_BYTES);
    (void)H5garbage_collect();
    (void)malloc_trim(0);
}

/* The format of HDF5 1.10 by name, not "latest": files must not change with the library. */
static int create_hdf5(struct hdf5_file *file, struct vamp_err *err)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    hid_t create = H5Pcreate(H5P_FILE_CREATE);
    const unsigned order = H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED;
    if (access >= 0 && create >= 0 && without_locks(access) && limit_layout_cache(access) &&
        H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_V110) >= 0 &&
        H5Pset_fclose_degree(access, H5F_CLOSE_STRONG) >= 0 &&
        H5Pset_obj_track_times(create, false) >= 0 &&
        H5Pset_file_space_strategy(create, H5F_FSPACE_STRATEGY_PAGE, false, 1) >= 0 &&
        H5Pset_file_space_page_size(create, PAGE_BYTES) >= 0 &&
        H5Pset_link_creation_order(create, order) >= 0 &&
        H5Pset_attr_creation_order(create, order) >= 0) {
        file->file = H5Fcreate(file->path, H5F_ACC_TRUNC, create, access);
    }
    int code = file->file < 0 ? hdf5_fail(err, "create %s", file->path) : 0;
    (void)H5Pclose(create);
    (void)H5Pclose(access);
    return code != 0 ? code : verify_same_file(file, err);
}

static int write_texts(hid_t id, const char *const (*pairs)[2], struct vamp_err *err)
{
    int code = 0;
    for (; code == 0 && (*pairs)[0] != NULL; pairs++) {
        code = hdf5_attribute_text(id, (*pairs)[0], (*pairs)[1], err);
    }
    return code;
}

static int write_attributes(const struct hdf5_file *file, struct vamp_err *err)
{
    const struct vamp_run *run = file->run;
    char started[VAMP_TIME_TEXT_BYTES];
    vamp_time_text(run->started_ns, started);
    const char *const root[][2] = {
        {"Conventions", "CF-1.10"},
        {"title", "Statistics of a Maestro workflow's pool, by vampire"},
        {"schema_version", HDF5_SCHEMA_VERSION},
        {"vampire_version", run->version},
        {"workflow", run->workflow},
        {"component_name_of_vampire", run->component},
        {"host", run->host},
        {"user", run->user},
        {"batch_job", run->batch_job},
        {"run_id", run->id},
        {"run_started", started},
        {"output", file->output},
        {"level", vamp_level_name(file->schema->level)},
        {"clock", run->clock},
        {"sampling", run->sampling != NULL ? run->sampling : "none"},
        {"configuration", run->configuration},
        {"how_to_open_live",
         "closed file: xarray.open_dataset(path). While vampire writes it: "
         "xarray.open_dataset(path, engine='vampire') with the Python package vampire, or "
         "h5py.File(path, 'r', swmr=True), refreshing time first. After a crash: h5clear -s "
         "--increment=0 path"},
        {NULL, NULL},
    };
    const char *const time[][2] = {{"calendar", "proleptic_gregorian"},
                                   {"standard_name", "time"},
                                   {"axis", "T"},
                                   {NULL, NULL}};
    int code = write_texts(file->file, root, err);
    if (code == 0) {
        code = write_texts(file->datasets[file->time].id, time, err);
    }
    if (code == 0) {
        code = hdf5_attribute_number(file->file, "segment", HDF5_U64, file->segment, err);
    }
    if (code == 0) {
        code = hdf5_attribute_number(file->file, "pid", HDF5_U64, run->pid, err);
    }
    if (code == 0) {
        code = hdf5_attribute_number(file->file, "bucket_ns", HDF5_I64,
                                     (uint64_t)file->schema->bucket_ns, err);
    }
    if (code == 0) {
        code = hdf5_attribute_number(file->file, "reloads", HDF5_U64, run->reloads, err);
    }
    if (code == 0 && run->reloads > 0) {
        char reloaded[VAMP_TIME_TEXT_BYTES];
        vamp_time_text(run->reloaded_ns, reloaded);
        code = hdf5_attribute_text(file->file, "reloaded", reloaded, err);
    }
    return code;
}

static int start_swmr(struct hdf5_file *file, struct vamp_err *err)
{
    int code = hdf5_datasets_close(file, err);
    if (code != 0) {
        return code;
    }
    if (H5Fflush(file->file, H5F_SCOPE_LOCAL) < 0 || !limit_bucket_cache(file->file) ||
        H5Fstart_swmr_write(file->file) < 0) {
        return hdf5_fail(err, "make %s readable while it is written", file->path);
    }
    end_layout_memory();
    return H5Fflush(file->file, H5F_SCOPE_LOCAL) < 0 ? hdf5_fail(err, "flush %s", file->path) : 0;
}

static int build(struct hdf5_file *file, const struct vamp_delivery *first, struct vamp_err *err)
{
    uint64_t layout = (uint64_t)file->dataset_capacity * LAYOUT_BYTES_PER_DATASET +
                      strlen(file->run->configuration);
    int code = hdf5_space_reserve(file->fd, 0, layout, file->path, err);
    if (code == 0) {
        begin_layout_memory();
        code = create_hdf5(file, err);
    }
    if (code == 0) {
        code = hdf5_layout_create(file, first, err);
    }
    if (code == 0) {
        code = write_attributes(file, err);
    }
    if (code == 0) {
        code = allocate_chunks(file, err);
    }
    return code != 0 ? code : start_swmr(file, err);
}

static void file_free(struct hdf5_file *file)
{
    if (file->fd >= 0) {
        (void)close(file->fd);
    }
    free(file->path);
    free(file->datasets);
    free(file->dimensions);
    for (unsigned s = 0; file->sets != NULL && s < file->schema->label_set_count; s++) {
        free(file->sets[s].cell);
        free(file->sets[s].changed);
        free(file->sets[s].is_changed);
    }
    for (unsigned m = 0; file->metrics != NULL && m < file->schema->metric_count; m++) {
        free(file->metrics[m].shown);
    }
    free(file->sets);
    free(file->metrics);
    free(file->component_names);
    free(file->slot_first);
    free(file->slot_count);
    free(file->column.numbers);
    free(file->counts.numbers);
    hdf5_chunks_done(&file->chunks);
    free(file);
}

int hdf5_file_open(const struct hdf5_options *options, const struct vamp_writer_target *target,
                   struct hdf5_file **ret_file, struct vamp_err *err)
{
    hdf5_quiet();
    const char *directory = options->directory != NULL ? options->directory : ".";
    int code = hdf5_space_check(directory, err);
    if (code != 0) {
        return code;
    }
    struct hdf5_file *file = calloc(1, sizeof *file);
    if (file == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "prepare the target");
    }
    file->options = options;
    file->run = target->run;
    file->schema = target->schema;
    file->output = target->name;
    file->segment = target->segment;
    file->fd = -1;
    file->file = -1;
    file->path = vamp_target_name(directory, target, "h5");
    code = file->path == NULL ? vamp_err_set_errno(err, ENOMEM, "prepare the target")
                              : allocate(file, err);
    if (code == 0) {
        code = vamp_target_create(file->path, (enum vamp_target_access)options->access, &file->fd,
                                  err);
    }
    if (code != 0) {
        file_free(file);
        return code;
    }
    code = build(file, target->first, err);
    if (code != 0) {
        file->failed = true; /* so that close removes it */
        int ignored = hdf5_file_close(file, NULL, NULL);
        (void)ignored;
        return code;
    }
    *ret_file = file;
    return 0;
}

static int write_ending(struct hdf5_file *file, const struct vamp_ending *ending,
                        struct vamp_err *err)
{
    const uint8_t how = ending == NULL ? HDF5_ROTATED : HDF5_ENDED;
    const hsize_t start = 0, length = file->dimensions[HDF5_TEXT_LENGTH].size;
    char reason[HDF5_TEXT_BYTES];
    int code = hdf5_datasets_trim(file, false, err);
    if (code == 0) {
        code = hdf5_dataset_put(file, file->how_ended, &start, &length, &how, err);
    }
    if (code == 0 && ending != NULL) {
        code = hdf5_dataset_put(file, file->ended, &start, &length, &ending->time_ns, err);
    }
    if (code == 0 && ending != NULL) {
        (void)vamp_utf8_copy(reason, sizeof reason, ending->reason);
        code = hdf5_dataset_put(file, file->end_reason, &start, &length, reason, err);
    }
    return code;
}

int hdf5_file_close(struct hdf5_file *file, const struct vamp_ending *ending, struct vamp_err *err)
{
    if (file == NULL) {
        return 0;
    }
    hdf5_quiet();
    int code = 0;
    if (file->failed) {
        /* What a failed write left beyond the last good bucket would show up as half a bucket, or
         * as one that the next file has too. Best effort: the file's state is not known any more.
         */
        int ignored = hdf5_datasets_trim(file, true, NULL);
        (void)ignored;
    } else {
        code = write_ending(file, ending, err);
    }
    int closed = hdf5_datasets_close(file, code == 0 ? err : NULL);
    code = code == 0 ? closed : code;
    if (file->file >= 0 && H5Fclose(file->file) < 0 && code == 0) {
        code = hdf5_fail(err, "close %s", file->path);
    }
    if (file->fd >= 0) {
        hdf5_space_release(file->fd);
    }
    if (file->failed && file->rows == 0 && file->fd >= 0) {
        (void)unlink(file->path);
    }
    file_free(file);
    return code;
}
