/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of the JSON lines writer. */
#include "writers/jsonl/internal.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "writers/format/cut.h"
#include "writers/format/listener.h"

static const struct vamp_opt jsonl_options_table[] = {
    {"path", VAMP_OPT_STRING, offsetof(struct jsonl_options, path), "", .max = 4000,
     .role = VAMP_OPT_NEW_FILE,
     .help = "a file, a FIFO, \"-\" for standard output, or a socket to which readers connect: "
             "unix:PATH, tcp:PORT (this machine only), tcp:ADDRESS:PORT; an existing file is "
             "kept, and the next free name of NAME.0002, NAME.0003, ... is used; empty: a name "
             "with the start time in \"directory\""},
    VAMP_TARGET_DIRECTORY_OPTION("files vampire-WORKFLOW-START-RUN-NAME-SEGMENT.jsonl",
                                 offsetof(struct jsonl_options, directory),
                                 VAMP_TARGET_BIT(VAMP_TARGET_NEW_FILES)),
    VAMP_TARGET_ACCESS_OPTION("read new files, or connect to a Unix socket",
                              offsetof(struct jsonl_options, access),
                              VAMP_TARGET_FILES | VAMP_TARGET_BIT(VAMP_TARGET_UNIX)),
    {"complete_every", VAMP_OPT_UINT, offsetof(struct jsonl_options, complete_every), "60",
     .min = 1, .max = 1000000,
     .help = "one bucket in this many contains all values, not only changed ones, so that a "
             "reader can start in the middle"},
    {"readers", VAMP_OPT_UINT, offsetof(struct jsonl_options, readers), "8", .min = 1,
     .max = JSONL_READERS_MAX, .only_with = VAMP_TARGET_SOCKETS,
     .help = "readers at a time; a further reader replaces one that does not keep up, or is "
             "refused"},
    {"reader_buffer", VAMP_OPT_SIZE, offsetof(struct jsonl_options, reader_buffer_bytes), "8MiB",
     .min = (uint64_t)64 << 10, .max = (uint64_t)1 << 30, .only_with = VAMP_TARGET_SOCKETS,
     .help = "buffer for each reader; when it is full, that reader loses whole buckets and "
             "gets their number"},
    {.key = NULL},
};

static uint32_t holding_target(const void *options)
{
    return VAMP_TARGET_BIT(jsonl_target_kind(options));
}

/* With component labels, the lines of a workflow of 60 components would be larger than a recording
 * of its events; with these labels they are a thirtieth of that. vampire-top shows the ranks of a
 * model from the `ranks` lines. */
#define KEPT(label) (UINT32_C(1) << VAMP_LABEL_##label)
static const struct vamp_kept_labels by_unset[] = {
    {"transports", KEPT(SOURCE_MODEL) | KEPT(SINK_MODEL) | KEPT(TIER)},
    {"transport_*", KEPT(SOURCE_MODEL) | KEPT(SINK_MODEL)},
    {"pool_operations", KEPT(MODEL) | KEPT(OPERATION)},
    {"*ed_bytes", KEPT(MODEL)},
    {"anomalies", KEPT(MODEL) | KEPT(ANOMALY)},
    {"demand_wait_*", KEPT(MODEL) | KEPT(PRODUCER_MODEL) | KEPT(PART)},
    {"blocked_*", KEPT(MODEL) | KEPT(PRODUCER_MODEL) | KEPT(PART)},
    {"held_back_ns", KEPT(MODEL) | KEPT(CONSUMER_MODEL)},
    {"*", KEPT(OPERATION) | KEPT(REASON) | KEPT(OUTPUT)},
    {NULL, 0},
};

static const char *const ranks[] = {"pool_operations", "produced_bytes", "consumed_bytes",
                                    "anomalies",       "demand_wait_ns", NULL};

static int check_address(const void *context, const char **ret_key, struct vamp_err *err)
{
    *ret_key = "path";
    const struct jsonl_options *options = context;
    if ((holding_target(options) & VAMP_TARGET_SOCKETS) == 0) {
        return 0;
    }
    return vamp_listener_check(options->path, err);
}

static void jsonl_free(struct jsonl *self)
{
    if (self->fd >= 0) {
        (void)close(self->fd);
    }
    for (unsigned i = 0; self->gauges != NULL && i < self->schema->metric_count; i++) {
        free(self->gauges[i]);
    }
    free(self->gauges);
    free(self->components);
    free(self->path);
    vamp_json_done(&self->json);
    free(self);
}

/* Allocates the values last written. Returns 0 or -ENOMEM. */
static int allocate(struct jsonl *self, struct vamp_err *err)
{
    const struct vamp_schema *schema = self->schema;
    self->gauges = calloc(schema->metric_count + 1, sizeof *self->gauges);
    self->components = calloc(schema->max_components + 1, sizeof *self->components);
    bool good = self->gauges != NULL && self->components != NULL;
    for (unsigned i = 0; good && i < schema->metric_count; i++) {
        if (vamp_metrics[schema->metrics[i].id].kind == VAMP_GAUGE) {
            unsigned series = schema->label_sets[schema->metrics[i].label_set].max_series;
            self->gauges[i] = calloc(series + 1, sizeof **self->gauges);
            good = self->gauges[i] != NULL;
            if (vamp_metric_may_be_none(&vamp_metrics[schema->metrics[i].id])) {
                for (unsigned s = 0; good && s < series; s++) {
                    self->gauges[i][s] = VAMP_GAUGE_NONE;
                }
            }
        }
    }
    if (!good) {
        return vamp_err_set_errno(err, ENOMEM, "prepare the target");
    }
    return 0;
}

/* Sends the header to a socket or a file. Other targets receive it with the first bucket, since
 * opening them must not block. */
static int send_header(struct jsonl *self, struct vamp_err *err)
{
    int code = 0;
    switch (self->kind) {
    case JSONL_SOCKET:
        code = jsonl_socket_header(self, err);
        if (code != 0) {
            jsonl_socket_close(self);
        }
        break;
    case JSONL_FILE:
        code = jsonl_target_send(self, err);
        if (code == 0) {
            code = vamp_target_publish(&self->path, err);
        }
        if (code != 0) {
            (void)unlink(self->path);
        }
        break;
    case JSONL_STREAM:
    case JSONL_FIFO:
        break;
    }
    return code;
}

static int open_target(const void *options, const struct vamp_writer_target *target,
                       void **ret_self, struct vamp_err *err)
{
    struct jsonl *self = calloc(1, sizeof *self);
    if (self == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "prepare the target");
    }
    self->options = options;
    self->run = target->run;
    self->schema = target->schema;
    self->ranks = target->ranks;
    self->name = target->name;
    self->segment = target->segment;
    self->fd = -1;
    self->end_ns = target->run->started_ns;
    int code = allocate(self, err);
    if (code == 0) {
        code = jsonl_target_open(self, err);
    }
    if (code != 0) {
        jsonl_free(self);
        return code;
    }
    jsonl_header(self);
    code = send_header(self, err);
    if (code != 0) {
        jsonl_free(self);
        return code == -EAGAIN ? -ENOSPC : code;
    }
    *ret_self = self;
    return 0;
}

/* Builds the lines of the bucket, unless an earlier call did, and sends them. */
static int write_bucket(void *context, const struct vamp_delivery *delivery, struct vamp_err *err)
{
    struct jsonl *self = context;
    if (self->kind == JSONL_SOCKET) {
        return jsonl_socket_bucket(self, delivery, err);
    }
    if (!self->pending) {
        jsonl_bucket(self, delivery);
        self->pending = true;
    }
    int code = jsonl_target_send(self, err);
    self->pending = code == -EAGAIN;
    if (code != 0 && code != -EAGAIN) {
        self->failed = true;
    }
    return code;
}

static uint64_t target_bytes(const void *self)
{
    return ((const struct jsonl *)self)->file_bytes;
}

static const char *target_path(const void *self)
{
    return ((const struct jsonl *)self)->path;
}

static bool target_remark(void *context, char text[static VAMP_ERR_TEXT_BYTES])
{
    const struct jsonl *self = context;
    return self->clients != NULL && jsonl_socket_remark(self, text);
}

/* Removes the unsent lines of a bucket, except the remainder of a partly sent line. */
static void cut_pending(struct jsonl *self)
{
    if (self->json.failed || !self->pending) {
        return;
    }
    const char *end = NULL;
    if (self->sent > 0 && self->json.bytes[self->sent - 1] != '\n') {
        end = memchr(self->json.bytes + self->sent, '\n', self->json.used - self->sent);
    }
    self->json.used = self->sent;
    if (end != NULL) {
        self->json.used = (size_t)(end - self->json.bytes) + 1;
    }
}

static int close_target(void *context, const struct vamp_ending *ending, struct vamp_err *err)
{
    struct jsonl *self = context;
    if (self->kind == JSONL_SOCKET) {
        jsonl_end(self, ending);
        jsonl_socket_close(self);
        jsonl_free(self);
        return 0;
    }
    int code = 0;
    const bool connected = self->kind != JSONL_FIFO || self->fd >= 0;
    if (!self->failed && connected) {
        cut_pending(self);
        jsonl_end(self, ending);
        code = jsonl_target_send(self, err);
    }
    if (self->failed && self->buckets <= 1 && self->kind == JSONL_FILE) {
        (void)unlink(self->path); /* the only bucket is the failed one */
    }
    if (self->fd >= 0) {
        int fd = self->fd;
        self->fd = -1;
        if (close(fd) != 0 && code == 0) {
            code = vamp_err_set_errno(err, errno, "close %s", self->path);
        }
    }
    jsonl_free(self);
    return code;
}

/* ---- recovery: cut after the last newline */

static const struct vamp_file_ops jsonl_files = {.mark = "{\"v\":", .recover = vamp_recover_lines};

const struct vamp_writer_ops vamp_writer_jsonl = {
    .name = "jsonl",
    .summary = "JSON lines for programs that follow the run: file, FIFO, socket, standard output",
    .options = jsonl_options_table,
    .options_bytes = sizeof(struct jsonl_options),
    .target = holding_target,
    .by_unset = by_unset,
    .ranks = ranks,
    .check = check_address,
    .open = open_target,
    .element = VAMP_ELEMENT_BUCKET,
    .write_bucket = write_bucket,
    .bytes = target_bytes,
    .path = target_path,
    .remark = target_remark,
    .files = &jsonl_files,
    .close = close_target,
};
