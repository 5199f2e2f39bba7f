/* SPDX-License-Identifier: BSD-3-Clause */
#include "programs/vampire-collect/collector.h"

#include <errno.h>
#include <stdlib.h>
#include <uuid/uuid.h>

#include "programs/run/series_space.h"
#include "programs/vampire-collect/internal.h"
#include "vampire/core/module.h"
#include "version.h"

/* Longer than any message of vampire, whose option "message" ends there. */
#define MESSAGE_BYTES_MAX ((size_t)64 << 20)

/* Passes a closed bucket to the outputs. */
static void emit(void *context, const struct vamp_bucket *bucket)
{
    struct collector *self = context;
    self->accounting = bucket->accounting;
    vamp_outputs_submit(&self->outputs, bucket);
}

static void describe_run(struct collector *self)
{
    uuid_t id;
    uuid_generate(id);
    uuid_unparse_lower(id, self->run.id);
    vamp_process_describe(&self->process, &self->run);
    self->run.workflow = self->config->collect.name;
    self->run.component = self->start->options->program->name;
    self->run.version = VAMP_VERSION;
    self->run.clock = "event";
    self->run.sampling = "none";
    self->run.configuration = self->config->effective_text;
    self->run.started_ns = vamp_clock_utc_ns(self->clock);
}

static int create_core(struct collector *self, struct vamp_err *err)
{
    const struct vamp_config_collect *config = &self->config->collect;
    char space[UUID_STR_LEN];
    const int code = vamp_series_space(self->run.workflow, NULL, space, err);
    if (code != 0) {
        return code;
    }
    const struct vamp_collect_options options = {
        .bucket_ns = config->bucket_ns,
        .delay_ns = config->delay_ns,
        .forget_ns = config->forget_ns,
        .max_runs = (unsigned)config->max_runs,
        .max_series = (unsigned)config->max_series,
        .max_message_bytes = MESSAGE_BYTES_MAX,
        .max_waiting_bytes = config->waiting_bytes,
        .sub_bits = config->sub_bins + 2,
        .level = (enum vamp_level)config->level,
        .series_space = space,
    };
    return vamp_collect_create(&options, emit, self, &self->core, err);
}

static int create_subscriber(struct collector *self, struct vamp_err *err)
{
    const struct vamp_config_collect *config = &self->config->collect;
    const struct vamp_module module = {
        .file = "nats.so",
        .symbol = "vamp_nats_subscriber_plug_in",
        .version = VAMP_VERSION,
        .purpose = "subscribes by NATS",
        .origin = "it is in the package vampire-nats, and in a build without WITHOUT=nats",
    };
    const void *symbol = NULL;
    const int code = vamp_module_load(&module, &symbol, err);
    if (code != 0) {
        return code;
    }
    self->bus = ((const struct vamp_nats_subscriber_plug_in *)symbol)->functions;
    self->subscription = (struct vamp_nats_subscription){
        .server = &config->server,
        .subject = config->subject,
        .consumer = config->consumer,
        .requests = config->answer,
        .queue_bytes = config->queue_bytes,
    };
    return self->bus->create(&self->subscription, &self->subscriber, err);
}

static int open_outputs(struct collector *self, struct vamp_err *err)
{
    const struct vamp_outputs_context context = {
        .run = &self->run,
        .schema = vamp_collect_schema(self->core),
        .clock = self->clock,
        .signal = &self->start->signals->stop,
    };
    return vamp_outputs_open(&self->outputs, self->config, &context, NULL, err);
}

static enum vamp_exit_code finish(struct collector *self)
{
    enum vamp_exit_code code = VAMP_EXIT_OK;
    vamp_notify_stopping(self->start->notify, "the files are being completed");
    collector_report(self, vamp_clock_monotonic_ns(self->clock));
    vamp_collect_finish(self->core, vamp_clock_utc_ns(self->clock));
    const struct vamp_ending ending = {
        .time_ns = vamp_clock_utc_ns(self->clock),
        .reason = "stopped by signal",
        .completed = true,
        .stop = atomic_load(&self->start->signals->stop),
        .accounting = self->accounting,
    };
    if (vamp_outputs_finish(&self->outputs, &ending, &self->status) != 0 || self->outputs.failed) {
        code = VAMP_EXIT_FAILED;
    }
    if (!self->start->options->quiet) {
        collector_print_summary(self, "stopped by signal after", true, stderr);
    }
    return code;
}

static enum vamp_exit_code run(struct collector *self)
{
    struct vamp_err err = VAMP_ERR_NONE;
    int status = create_core(self, &err);
    if (status == 0) {
        status = create_subscriber(self, &err);
    }
    if (status == 0) {
        status = vamp_ready_file_prepare(&self->ready_file, self->start->options->ready_file, &err);
    }
    if (status == 0) {
        status = open_outputs(self, &err);
    }
    if (status != 0) {
        vamp_status_error(&self->status, "%s", err.text);
        return status == -EINVAL ? VAMP_EXIT_USAGE : VAMP_EXIT_FAILED;
    }
    self->began_ns = vamp_clock_monotonic_ns(self->clock);
    char line[256];
    collector_status_line(self, line, sizeof line);
    vamp_notify_ready(self->start->notify, line);
    collector_loop(self);
    return finish(self);
}

enum vamp_exit_code vamp_collector_run(const struct vamp_start *start)
{
    struct collector self = {.start = start, .config = start->config, .clock = &vamp_clock_system};
    vamp_status_init(&self.status, start->options->program->name, start->options->quiet,
                     self.clock);
    describe_run(&self);
    const enum vamp_exit_code code = run(&self);
    vamp_ready_file_done(&self.ready_file);
    if (self.subscriber != NULL) {
        self.bus->free(self.subscriber);
    }
    vamp_outputs_done(&self.outputs);
    vamp_collect_free(self.core);
    vamp_status_done(&self.status);
    return code;
}
