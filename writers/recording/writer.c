/* SPDX-License-Identifier: BSD-3-Clause */
/* The writer of recordings (docs/recording.md): events, one after the other, to be replayed. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "vampire/core/recording.h"
#include "writers/recover.h"
#include "writers/target_file.h"
#include "writers/writer.h"

struct recording_options {
    char *directory;
    unsigned access; /* enum vamp_target_access */
    uint64_t buffer_bytes;
    bool filtered;
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
        .help = "existing directory for the files vampire-WORKFLOW-START-RUN-SEGMENT.rec",
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
    {
        .key = "buffer",
        .type = VAMP_OPT_SIZE,
        .preset = "16MiB",
        .min = (uint64_t)64 << 10,
        .max = (uint64_t)4 << 30,
        .offset = offsetof(struct recording_options, buffer_bytes),
        .help = "buffer for events waiting to be written, rounded up to a power of two; when it is "
                "full, events are lost and the recording reports them",
    },
    {
        .key = "filtered",
        .type = VAMP_OPT_BOOL,
        .preset = "false",
        .offset = offsetof(struct recording_options, filtered),
        .help = "whether events rejected by the filters are recorded too, so that a replay can use "
                "other filters",
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
}

static int open_recorder(const struct recording_options *options,
                         const struct vamp_writer_target *target, struct recording_writer *self,
                         struct vamp_err *err)
{
    self->path = vamp_target_name(options->directory, target, "rec");
    if (self->path == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "open output \"%s\"", target->name);
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
    int code = vamp_recorder_close(writer->recorder, err);
    free(writer->path);
    free(writer);
    return code;
}

static int recording_open(const void *options, const struct vamp_writer_target *target,
                          void **ret_self, struct vamp_err *err)
{
    struct recording_writer *self = calloc(1, sizeof *self);
    if (self == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "open output \"%s\"", target->name);
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

static size_t buffer_bytes(const void *options)
{
    return (size_t)((const struct recording_options *)options)->buffer_bytes;
}

/* JOIN and LEAVE tell a replay the names. */
static bool wants(const void *options, const struct vamp_event *event, bool passed)
{
    return passed || ((const struct recording_options *)options)->filtered ||
           event->kind == VAMP_EVENT_JOIN || event->kind == VAMP_EVENT_LEAVE;
}

static int record(void *self, const struct vamp_event *event, struct vamp_err *err)
{
    return vamp_recorder_add(((struct recording_writer *)self)->recorder, event, err);
}

static int carry(void *self, const struct vamp_event *event, struct vamp_err *err)
{
    return vamp_recorder_carry(((struct recording_writer *)self)->recorder, event, err);
}

static int flush(void *self, struct vamp_err *err)
{
    return vamp_recorder_flush(((struct recording_writer *)self)->recorder, false, err);
}

static void account(const void *self, uint64_t *ret_written, uint64_t *ret_lost)
{
    const struct recording_writer *writer = self;
    *ret_written = vamp_recorder_written(writer->recorder);
    *ret_lost = vamp_recorder_lost(writer->recorder);
}

static const struct vamp_event_format recording_events = {
    .buffer_bytes = buffer_bytes,
    .wants = wants,
    .record = record,
    .carry = carry,
    .flush = flush,
    .account = account,
};

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

static const struct vamp_recovery_ops recording_recovery = {
    .is_own = vamp_recording_begins,
    .recover = recover,
};

const struct vamp_writer_ops vamp_writer_recording = {
    .name = "recording",
    .summary = "the events themselves, for vampire --replay",
    .options = recording_options,
    .options_bytes = sizeof(struct recording_options),
    .open = recording_open,
    .events = &recording_events,
    .recovery = &recording_recovery,
    .bytes = recording_bytes,
    .path = recording_path,
    .close = recording_close,
};
