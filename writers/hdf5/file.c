/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/hdf5/file.h"

#include <assert.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vampire/core/clock.h"
#include "vampire/core/utf8.h"
#include "vampire/core/values.h"
#include "writers/format/file.h"
#include "writers/hdf5/attribute.h"
#include "writers/hdf5/check.h"
#include "writers/hdf5/error.h"
#include "writers/hdf5/layout.h"
#include "writers/hdf5/space.h"

/* Upper limit of the datasets other than those of metrics and label sets; creating more fails. */
#define OTHER_DATASETS 64
/* Datasets of a label set, not counting its labels. */
#define SET_DATASETS 6
/* Reserved before the first bucket; a dataset takes about 1.5 KiB. */
#define LAYOUT_BYTES_PER_DATASET 2560

/* Returns an upper limit of the number of datasets in a file with this schema. */
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

/* Allocates the arrays of the file, with capacity for everything in the schema. */
static void allocate(struct hdf5_file *file)
{
    const struct vamp_schema *schema = file->schema;
    const unsigned sets = schema->label_set_count, metrics = schema->metric_count;
    file->dataset_capacity = datasets_of(schema);
    file->datasets = calloc(file->dataset_capacity, sizeof *file->datasets);
    file->dimensions = calloc(HDF5_FIRST_OTHER + VAMP_LABEL_COUNT + 3 * sets + metrics + 7,
                              sizeof *file->dimensions);
    file->sets = calloc(sets + 1, sizeof *file->sets);
    file->metrics = calloc(metrics + 1, sizeof *file->metrics);
    if (file->path == NULL || file->datasets == NULL || file->dimensions == NULL ||
        file->sets == NULL || file->metrics == NULL) {
        hdf5_no_memory(file, "prepare the target");
    }
}

/* Returns the number of elements in the largest chunk of any dataset. */
static size_t largest_chunk(const struct hdf5_file *file)
{
    size_t elements = VAMP_MAX(VAMP_BINS_MAX, HDF5_OWN_COLUMNS_MAX);
    for (unsigned s = 0; s < file->schema->label_set_count; s++) {
        const struct hdf5_set *set = &file->sets[s];
        elements = VAMP_MAX(elements, set->cells);
        elements = VAMP_MAX(elements, set->chunk_rows);
    }
    for (unsigned m = 0; m < file->schema->metric_count; m++) {
        elements = VAMP_MAX(elements, file->metrics[m].entry_chunk);
    }
    return elements;
}

/* Checks that vampire's descriptor and HDF5's refer to the same file, and that no other process
 * replaced the file in between. */
static void verify_same_file(struct hdf5_file *file)
{
    int *theirs = NULL;
    struct stat own, other;
    if (H5Fget_vfd_handle(file->file, H5P_DEFAULT, (void **)&theirs) < 0 || theirs == NULL) {
        hdf5_failed(file, "inspect %s", file->path);
        return;
    }
    const bool is_known = fstat(file->fd, &own) == 0 && fstat(*theirs, &other) == 0;
    if (!is_known || own.st_dev != other.st_dev || own.st_ino != other.st_ino) {
        file->code = vamp_err_set(file->err, -ELOOP,
                                  "create %s: another process replaced it meanwhile", file->path);
    }
}

/* Small metadata never crosses a page boundary: a kill during a write leaves only whole pages, and
 * half an object header would make its dataset unreadable. */
#define PAGE_BYTES 4096

/* Sizes of HDF5's metadata cache. Almost no metadata of the layout is used again. While buckets are
 * written, all metadata that they change must fit into the cache, because HDF5 1.10 fails when it
 * evicts parts of a chunk index under SWMR; on the other hand, each flush scans the whole cache. */
#define LAYOUT_CACHE_BYTES ((size_t)32 << 10)
#define BUCKET_CACHE_BYTES ((size_t)1 << 20)

static H5AC_cache_config_t *fixed_cache(H5AC_cache_config_t *config, size_t bytes)
{
    config->set_initial_size = true;
    config->initial_size = config->min_size = config->max_size = bytes;
    config->incr_mode = H5C_incr__off;
    config->flash_incr_mode = H5C_flash_incr__off;
    config->decr_mode = H5C_decr__off;
    return config;
}

/* HDF5 keeps up to this many bytes of freed memory for allocations of the same kind. Each bucket,
 * and each dataset of the layout, repeats the same allocations. */
#define KEPT_BYTES (1 << 20)
#define KEPT_OF_A_KIND_BYTES (64 << 10)

static void limit_kept_memory(void)
{
    (void)H5set_free_list_limits(KEPT_BYTES, KEPT_OF_A_KIND_BYTES, KEPT_BYTES, KEPT_OF_A_KIND_BYTES,
                                 KEPT_BYTES, KEPT_OF_A_KIND_BYTES);
}

/* Frees the memory that was needed only for the layout. */
static void free_kept_memory(void)
{
    (void)H5garbage_collect();
    (void)malloc_trim(0);
}

/* Creates the file in the format of HDF5 1.10, named explicitly: with "latest", the format would
 * change with the library version. The chunk cache is off: compressed chunks are written once,
 * completely, and a cached chunk of a column would be rewritten for each new number. */
static void create_hdf5(struct hdf5_file *file)
{
    hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    hid_t create = H5Pcreate(H5P_FILE_CREATE);
    const unsigned order = H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED;
    H5AC_cache_config_t cache = {.version = H5AC__CURR_CACHE_CONFIG_VERSION};
    if (access >= 0 && create >= 0 && hdf5_without_locks(access) &&
        H5Pget_mdc_config(access, &cache) >= 0 &&
        H5Pset_mdc_config(access, fixed_cache(&cache, LAYOUT_CACHE_BYTES)) >= 0 &&
        H5Pset_cache(access, 0, 13, 0, 1.0) >= 0 &&
        H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_V110) >= 0 &&
        H5Pset_fclose_degree(access, H5F_CLOSE_STRONG) >= 0 &&
        H5Pset_obj_track_times(create, false) >= 0 &&
        H5Pset_file_space_strategy(create, H5F_FSPACE_STRATEGY_PAGE, false, 1) >= 0 &&
        H5Pset_file_space_page_size(create, PAGE_BYTES) >= 0 &&
        H5Pset_link_creation_order(create, order) >= 0 &&
        H5Pset_attr_creation_order(create, order) >= 0) {
        file->file = H5Fcreate(file->path, H5F_ACC_TRUNC, create, access);
    }
    if (file->file < 0) {
        hdf5_failed(file, "create %s", file->path);
    } else {
        verify_same_file(file);
    }
    (void)H5Pclose(create);
    (void)H5Pclose(access);
}

/* Writes a line for each metric that is not observed, for example "transport_ns: events carry no
 * time". */
static void write_absences(struct hdf5_file *file)
{
    char *text = NULL;
    size_t length = 0;
    char reason[VAMP_ABSENCE_BYTES];
    unsigned position = 0;
    const char *absent = NULL;
    FILE *stream = open_memstream(&text, &length);
    if (stream == NULL) {
        hdf5_failed(file, "describe %s", file->path);
        return;
    }
    while ((absent = vamp_coverage_next(file->schema->coverage, &position, reason)) != NULL) {
        (void)fprintf(stream, "%s%s: %s", length > 0 ? "\n" : "", absent, reason);
        (void)fflush(stream);
    }
    if (fclose(stream) == 0) {
        hdf5_attribute_text(file, file->file, "not_observed", text);
    } else {
        hdf5_failed(file, "describe %s", file->path);
    }
    free(text);
}

/* Writes the attributes of the root group and of `time`. */
static void write_attributes(struct hdf5_file *file)
{
    const struct vamp_run *run = file->run;
    char started[VAMP_TIME_TEXT_BYTES], reloaded[VAMP_TIME_TEXT_BYTES],
        space[VAMP_SERIES_SPACE_BYTES];
    vamp_time_text(run->started_ns, started);
    vamp_time_text(run->reloaded_ns, reloaded);
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
        {"sampling", vamp_text_or(run->sampling, "none")},
        {"configuration", run->configuration},
        {"how_to_open_live",
         "closed file: xarray.open_dataset(path). While vampire writes it: "
         "xarray.open_dataset(path, engine='vampire') with the Python package vampire, or "
         "h5py.File(path, 'r', swmr=True), refreshing time first. After a crash: h5clear -s "
         "--increment=0 path"},
    };
    const char *const time[][2] = {
        {"calendar", "proleptic_gregorian"}, {"standard_name", "time"}, {"axis", "T"}};
    const struct {
        const char *name;
        enum hdf5_type type;
        uint64_t value;
    } numbers[] = {
        {"segment", HDF5_U64, file->segment},
        {"pid", HDF5_U64, run->pid},
        {"bucket_ns", HDF5_I64, (uint64_t)file->schema->bucket_ns},
        {"reloads", HDF5_U64, run->reloads},
    };
    /* The run and the properties of its data. */
    for (size_t i = 0; i < sizeof root / sizeof root[0]; i++) {
        hdf5_attribute_text(file, file->file, root[i][0], root[i][1]);
    }
    vamp_series_space_text(file->schema->series_space, space);
    hdf5_attribute_text(file, file->file, "series_name_space", space);
    write_absences(file);
    if (run->examined != NULL) {
        hdf5_attribute_text(file, file->file, "examined", run->examined);
    }
    /* `time`, numbers, and the newest reload. */
    for (size_t i = 0; i < sizeof time / sizeof time[0]; i++) {
        hdf5_attribute_text(file, file->datasets[file->time].id, time[i][0], time[i][1]);
    }
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        hdf5_attribute_numbers(file, file->file, numbers[i].name, numbers[i].type,
                               &numbers[i].value, 1);
    }
    if (run->reloads > 0) {
        hdf5_attribute_text(file, file->file, "reloaded", reloaded);
    }
}

/* Makes the file readable while it is written: closes everything that is open, and switches HDF5 to
 * single-writer/multiple-reader mode (SWMR). From then on, nothing can be created. */
static void start_swmr(struct hdf5_file *file)
{
    if (file->code != 0) {
        return;
    }
    H5AC_cache_config_t cache = {.version = H5AC__CURR_CACHE_CONFIG_VERSION};
    hdf5_datasets_close(file);
    hdf5_creations_drop(file);
    if (file->code == 0 &&
        (H5Fflush(file->file, H5F_SCOPE_LOCAL) < 0 || H5Fget_mdc_config(file->file, &cache) < 0 ||
         H5Fset_mdc_config(file->file, fixed_cache(&cache, BUCKET_CACHE_BYTES)) < 0 ||
         H5Fstart_swmr_write(file->file) < 0)) {
        hdf5_failed(file, "make %s readable while it is written", file->path);
    }
    free_kept_memory();
    if (file->code == 0 && H5Fflush(file->file, H5F_SCOPE_LOCAL) < 0) {
        hdf5_failed(file, "flush %s", file->path);
    }
}

/* Frees the file and its descriptor; HDF5's file must be closed. */
static void file_free(struct hdf5_file *file)
{
    if (file->fd >= 0) {
        (void)close(file->fd);
    }
    hdf5_creations_drop(file);
    for (unsigned i = 0; i < file->dimension_count; i++) {
        free(file->dimensions[i].rows);
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
    free(file->component_texts);
    free(file->slot_first);
    free(file->slot_count);
    hdf5_names_done(file);
    free(file->column.numbers);
    free(file->counts.numbers);
    hdf5_chunks_done(&file->chunks);
    free(file);
}

int hdf5_file_open(const void *options, const struct vamp_writer_target *target, void **ret_self,
                   struct vamp_err *err)
{
    const struct hdf5_options *chosen = options;
    hdf5_quiet();
    const char *directory = vamp_text_or(chosen->directory, ".");
    int code = hdf5_space_check(directory, err);
    if (code != 0) {
        return code;
    }
    struct hdf5_file *file = calloc(1, sizeof *file);
    if (file == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "prepare the target");
    }
    *file = (struct hdf5_file){
        .options = chosen,
        .run = target->run,
        .schema = target->schema,
        .output = target->name,
        .segment = target->segment,
        .fd = -1,
        .file = -1,
        .path = vamp_target_name(directory, target, "h5"),
        .err = err,
    };
    allocate(file);
    if (file->code == 0) {
        file->code = vamp_target_create(&file->path, (enum vamp_target_access)chosen->access,
                                        &file->fd, err);
    }
    if (file->code != 0) {
        code = file->code;
        file_free(file);
        return code;
    }
    /* Reserve space and create the layout. */
    const uint64_t layout = (uint64_t)file->dataset_capacity * LAYOUT_BYTES_PER_DATASET +
                            strlen(file->run->configuration);
    file->code = hdf5_space_reserve(file->fd, 0, layout, file->path, err);
    if (file->code == 0) {
        limit_kept_memory();
        create_hdf5(file);
    }
    hdf5_layout_create(file, target->first);
    write_attributes(file);
    hdf5_chunks_init(file, largest_chunk(file) * sizeof(uint64_t));
    /* From here on readers may open the file. */
    start_swmr(file);
    if (file->code == 0) {
        file->code = vamp_target_publish(&file->path, err);
    }
    if (file->code != 0) {
        code = file->code;
        file->failed = true; /* so that close removes it */
        int ignored = hdf5_file_close(file, NULL, NULL);
        (void)ignored;
        return code;
    }
    *ret_self = file;
    return 0;
}

int hdf5_file_close(void *self, const struct vamp_ending *ending, struct vamp_err *err)
{
    struct hdf5_file *file = self;
    if (file == NULL) {
        return 0;
    }
    /* Complete the data. */
    hdf5_quiet();
    file->code = 0;
    assert(file->failed || file->flushed == file->rows);
    if (file->failed) {
        /* Rows that a failed write left after the last good bucket would appear as half a bucket,
         * or as a bucket that the next file also contains. Removing them is best effort: the state
         * of the file is unknown. */
        file->err = NULL;
        hdf5_datasets_trim(file, true);
        file->err = err;
    } else {
        file->err = err;
        hdf5_datasets_trim(file, false);
        if (ending == NULL) {
            hdf5_end_write(file, HDF5_ROTATED, (int64_t)HDF5_TIME_MISSING, "");
        } else {
            hdf5_end_write(file, HDF5_ENDED, ending->time_ns, ending->reason);
        }
    }
    /* Close everything. A file without a flushed bucket is deleted after a failure. */
    hdf5_datasets_close(file);
    if (file->file >= 0 && H5Fclose(file->file) < 0) {
        hdf5_failed(file, "close %s", file->path);
    }
    if (file->fd >= 0) {
        hdf5_space_release(file->fd);
    }
    if (file->failed && file->flushed == 0 && file->fd >= 0) {
        (void)unlink(file->path);
    }
    const int code = file->code;
    file_free(file);
    return code;
}
