/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of the HDF5 writer. */
#include "writers/hdf5/internal.h"

#include <stddef.h>
#include <sys/stat.h>

static const struct vamp_opt hdf5_options_table[] = {
    {
        .key = "directory",
        .type = VAMP_OPT_STRING,
        .preset = ".",
        .max = 3840,
        .offset = offsetof(struct hdf5_options, directory),
        .help = "existing directory for the files vampire-WORKFLOW-START-RUN-NAME-SEGMENT.h5",
        .role = VAMP_OPT_DIRECTORY,
    },
    {
        .key = "access",
        .type = VAMP_OPT_ENUM,
        .preset = "private",
        .choices = vamp_target_access_words,
        .offset = offsetof(struct hdf5_options, access),
        .help = "who may read the files: the owner, the owner's group, or all",
    },
    {
        .key = "sync",
        .type = VAMP_OPT_BOOL,
        .preset = "false",
        .offset = offsetof(struct hdf5_options, sync),
        .help = "whether each bucket is forced to disk, to survive power loss",
    },
    {.key = NULL},
};

static int open_file(const void *options, const struct vamp_writer_target *target, void **ret_self,
                     struct vamp_err *err)
{
    struct hdf5_file *file = NULL;
    int code = hdf5_file_open(options, target, &file, err);
    if (code == 0) {
        *ret_self = file;
    }
    return code;
}

static int write_bucket(void *self, const struct vamp_delivery *delivery, struct vamp_err *err)
{
    return hdf5_bucket_write(self, delivery, err);
}

static uint64_t file_bytes(const void *self)
{
    struct stat status;
    const struct hdf5_file *file = self;
    return fstat(file->fd, &status) == 0 ? (uint64_t)status.st_size : 0;
}

static const char *file_path(const void *self)
{
    return ((const struct hdf5_file *)self)->path;
}

static int close_file(void *self, const struct vamp_ending *ending, struct vamp_err *err)
{
    return hdf5_file_close(self, ending, err);
}

const struct vamp_writer_ops vamp_writer_hdf5 = {
    .name = "hdf5",
    .summary = "HDF5 files of time buckets for notebooks, readable while they are written",
    .options = hdf5_options_table,
    .options_bytes = sizeof(struct hdf5_options),
    .open = open_file,
    .element = VAMP_ELEMENT_BUCKET,
    .write_bucket = write_bucket,
    .bytes = file_bytes,
    .path = file_path,
    .files = &hdf5_files,
    .close = close_file,
};
