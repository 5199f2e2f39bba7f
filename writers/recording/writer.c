/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes recordings (docs/recording.md): the events themselves, in order, for a replay. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "vampire/core/recording/recording.h"
#include "writers/format/cut.h"
#include "writers/format/file.h"
#include "writers/writer.h"

struct recording_options {
    char *directory;
    unsigned access; /* enum vamp_target_access */
};

struct recording_writer {
    struct vamp_recorder *recorder;
    char *path;
};

static const struct vamp_opt recording_options[] = {
    {
        .key = "directory",
        .type = VAMP_OPT_STRING,
        .preset = ".",
        .max = 3840,
        .offset = offsetof(struct recording_options, directory),
        .help = "existing directory for the files vampire-WORKFLOW-START-RUN-NAME-SEGMENT.rec",
        .role = VAMP_OPT_DIRECTORY,
    },
    {
        .key = "access",
        .type = VAMP_OPT_ENUM,
        .preset = "private",
        .choices = vamp_target_access_words,
        .offset = offsetof(struct recording_options, access),
        .help = "who may read the file: the owner, the owner's group, or all",
    },
    {.key = NULL},
};

static void make_header(const struct vamp_writer_target *target,
                        struct vamp_recording_header *header)
{
    const struct vamp_run *run = target->run;
    *header = (struct vamp_recording_header){
        .started_ns = run->started_ns,
        .event_kinds = target->event_kinds,
        .segment = target->segment,
        .events_before = target->events_before,
    };
    (void)snprintf(header->workflow, sizeof header->workflow, "%s", run->workflow);
    (void)snprintf(header->component, sizeof header->component, "%s", run->component);
    (void)snprintf(header->producer, sizeof header->producer, "vampire %s", run->version);
    (void)snprintf(header->run_id, sizeof header->run_id, "%s", run->id);
    (void)snprintf(header->host, sizeof header->host, "%s", run->host);
    (void)snprintf(header->user, sizeof header->user, "%s", run->user);
    (void)snprintf(header->batch_job, sizeof header->batch_job, "%s", run->batch_job);
    header->pid = run->pid;
}

static int open_recorder(const struct recording_options *options,
                         const struct vamp_writer_target *target, struct recording_writer *self,
                         struct vamp_err *err)
{
    self->path = vamp_target_name(options->directory, target, "rec");
    if (self->path == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "prepare the target");
    }
    int fd = -1;
    int code = vamp_target_create(self->path, options->access, &fd, err);
    if (code != 0) {
        return code;
    }
    struct vamp_recording_header header;
    make_header(target, &header);
    code = vamp_recorder_begin(fd, self->path, &header, &self->recorder, err);
    if (code != 0) {
        (void)unlink(self->path);
    }
    return code;
}

static int recording_close(void *self, const struct vamp_ending *ending, struct vamp_err *err)
{
    struct recording_writer *writer = self;
    if (writer == NULL) {
        return 0;
    }
    if (ending == NULL && writer->recorder != NULL) {
        vamp_recorder_goes_on(writer->recorder);
    }
    const bool failed_empty = writer->recorder != NULL && vamp_recorder_failed(writer->recorder) &&
                              vamp_recorder_written(writer->recorder) == 0;
    int code = vamp_recorder_close(writer->recorder, err);
    if (failed_empty) {
        (void)unlink(writer->path);
    }
    free(writer->path);
    free(writer);
    return code;
}

static int recording_open(const void *options, const struct vamp_writer_target *target,
                          void **ret_self, struct vamp_err *err)
{
    struct recording_writer *self = calloc(1, sizeof *self);
    if (self == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "prepare the target");
    }
    int code = open_recorder(options, target, self, err);
    if (code != 0) {
        struct vamp_err ignored = VAMP_ERR_NONE;
        (void)recording_close(self, NULL, &ignored);
        return code;
    }
    *ret_self = self;
    return 0;
}

static uint64_t recording_bytes(const void *self)
{
    return vamp_recorder_bytes(((const struct recording_writer *)self)->recorder);
}

static const char *recording_path(const void *self)
{
    return ((const struct recording_writer *)self)->path;
}

static int recording_event(void *self, const struct vamp_event *event, struct vamp_err *err)
{
    return vamp_recorder_add(((struct recording_writer *)self)->recorder, event, err);
}

static int recording_repeat(void *self, const struct vamp_event *event, struct vamp_err *err)
{
    return vamp_recorder_repeat(((struct recording_writer *)self)->recorder, event, err);
}

static int recording_flush(void *self, struct vamp_err *err)
{
    return vamp_recorder_flush(((struct recording_writer *)self)->recorder, false, err);
}

static uint64_t recording_written(const void *self)
{
    return vamp_recorder_written(((const struct recording_writer *)self)->recorder);
}

static int recover(int fd, const char *path, bool dry_run, struct vamp_recovery *ret_recovery,
                   struct vamp_err *err)
{
    uint64_t whole = 0;
    ret_recovery->record = "message";
    int code = vamp_recording_measure(fd, path, &whole, &ret_recovery->records, err);
    return code != 0
               ? code
               : vamp_recover_cut(fd, path,
                                  &(struct vamp_recover_cut){
                                      .whole_bytes = whole,
                                      .record_bytes_max = VAMP_RECORDING_MESSAGE_BYTES_MAX + 5,
                                      .dry_run = dry_run,
                                  },
                                  ret_recovery, err);
}

static const struct vamp_file_ops recording_files = {
    .is_own = vamp_recording_begins,
    .recover = recover,
};

const struct vamp_writer_ops vamp_writer_recording = {
    .name = "recording",
    .summary = "the events themselves, for vampire --replay",
    .options = recording_options,
    .options_bytes = sizeof(struct recording_options),
    .element = VAMP_ELEMENT_EVENT,
    .open = recording_open,
    .write_event = recording_event,
    .repeat_event = recording_repeat,
    .flush = recording_flush,
    .written = recording_written,
    .files = &recording_files,
    .bytes = recording_bytes,
    .path = recording_path,
    .close = recording_close,
};
