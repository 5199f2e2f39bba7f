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

static const struct vamp_opt recording_options[] = {
    VAMP_TARGET_DIRECTORY_OPTION("files vampire-WORKFLOW-START-RUN-NAME-SEGMENT.rec",
                                 offsetof(struct recording_options, directory), 0),
    VAMP_TARGET_ACCESS_OPTION("read the file", offsetof(struct recording_options, access), 0),
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
    header->unknown = run->unknown;
}

/* The instance of the format is the recorder itself. */
static int recording_open(const void *options, const struct vamp_writer_target *target,
                          void **ret_self, struct vamp_err *err)
{
    const struct recording_options *chosen = options;
    struct vamp_recorder *recorder = NULL;
    struct vamp_recording_header header;
    char *path = vamp_target_name(chosen->directory, target, "rec");
    if (path == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "prepare the target");
    }
    int fd = -1;
    int code = vamp_target_create(&path, chosen->access, &fd, err);
    if (code == 0) {
        make_header(target, &header);
        code = vamp_recorder_begin(fd, path, &header, &recorder, err);
        if (code == 0) {
            code = vamp_target_publish(&path, err);
        }
        if (code == 0) {
            (void)snprintf(recorder->path, sizeof recorder->path, "%s", path);
        } else {
            (void)unlink(path);
            int ignored = vamp_recorder_close(recorder, NULL);
            (void)ignored;
            recorder = NULL;
        }
    }
    free(path);
    *ret_self = recorder;
    return code;
}

static int recording_close(void *self, const struct vamp_ending *ending, struct vamp_err *err)
{
    if (ending == NULL) {
        ((struct vamp_recorder *)self)->goes_on = true;
    }
    return vamp_recorder_close(self, err);
}

static uint64_t recording_bytes(const void *self)
{
    return ((const struct vamp_recorder *)self)->bytes;
}

static const char *recording_path(const void *self)
{
    return ((const struct vamp_recorder *)self)->path;
}

static int recording_event(void *self, const struct vamp_event *event, struct vamp_err *err)
{
    return vamp_recorder_add(self, event, err);
}

static int recording_repeat(void *self, const struct vamp_event *event, struct vamp_err *err)
{
    return vamp_recorder_repeat(self, event, err);
}

static int recording_flush(void *self, struct vamp_err *err)
{
    return vamp_recorder_flush(self, false, err);
}

static uint64_t recording_written(const void *self)
{
    return ((const struct vamp_recorder *)self)->written;
}

static int recover(int fd, const char *path, bool dry_run, struct vamp_recovery *ret_recovery,
                   struct vamp_err *err)
{
    uint64_t whole = 0;
    ret_recovery->record = "message";
    int code = vamp_recording_measure(fd, path, &whole, &ret_recovery->records, err);
    if (code != 0) {
        return code;
    }
    const struct vamp_recover_cut cut = {
        .whole_bytes = whole,
        .record_bytes_max = VAMP_RECORDING_MESSAGE_BYTES_MAX + 5,
        .dry_run = dry_run,
    };
    return vamp_recover_cut(fd, path, &cut, ret_recovery, err);
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
