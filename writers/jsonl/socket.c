/* SPDX-License-Identifier: BSD-3-Clause */
/* JSON lines for readers that connect: what each gets first, and what all get. */
#include <string.h>

#include "vampire/core/clock.h"
#include "writers/jsonl/internal.h"

/* For readers to take the end of the stream. */
#define END_PATIENCE_NS (2 * VAMP_NS_PER_SECOND)

int jsonl_socket_open(struct jsonl *self, struct vamp_err *err)
{
    const struct jsonl_options *options = self->options;
    self->kind = JSONL_SOCKET;
    const struct vamp_audience_options audience = {
        .address = options->path,
        .access = (enum vamp_target_access)options->access,
        .readers_max = (unsigned)options->readers,
        .buffer_bytes = (size_t)options->reader_buffer_bytes,
        .rows_max = self->schema->max_components,
        .may_wait = self->segment > 1,
    };
    int code = vamp_audience_open(&audience, &self->audience, err);
    if (code != 0) {
        return code;
    }
    self->path = strdup(vamp_audience_name(self->audience));
    if (self->path == NULL) {
        vamp_audience_close(self->audience, 0);
        self->audience = NULL;
        return vamp_err_set_errno(err, ENOMEM, "prepare the target");
    }
    return 0;
}

/* Into a buffer of its own: the lines of a bucket are in the other one. */
static size_t lost_line(void *context, uint64_t lost, char *line)
{
    struct jsonl *self = context;
    const struct vamp_json bucket = self->json;
    self->json = (struct vamp_json){.bytes = NULL};
    jsonl_lost(self, "buckets", "reader", lost);
    size_t length = self->json.failed ? 0 : self->json.used;
    length = length <= VAMP_AUDIENCE_LOST_LINE_BYTES ? length : 0;
    if (length > 0) {
        memcpy(line, self->json.bytes, length);
    }
    vamp_json_done(&self->json);
    self->json = bucket;
    return length;
}

static int give(struct jsonl *self, const struct vamp_audience_text *head,
                const struct vamp_audience_text *text, struct vamp_err *err)
{
    const struct vamp_audience_news news = {
        .head = *head,
        .text = *text,
        .complete = self->complete,
        .lost_line = lost_line,
        .context = self,
    };
    int code = self->json.failed ? -ENOMEM : vamp_audience_give(self->audience, &news);
    if (code != 0) {
        return vamp_err_set_errno(err, ENOMEM, "gather the lines of a bucket for %s", self->path);
    }
    vamp_json_clear(&self->json);
    return 0;
}

static struct vamp_audience_text part(const struct jsonl *self, size_t from, size_t to)
{
    return (struct vamp_audience_text){.bytes = self->json.bytes + from, .length = to - from};
}

int jsonl_socket_header(struct jsonl *self, struct vamp_err *err)
{
    if (self->json.failed) {
        return vamp_err_set_errno(err, ENOMEM, "prepare the target");
    }
    const struct vamp_audience_text header = part(self, 0, self->json.used);
    /* Also to readers that connected before the header was ready. */
    return give(self, &header, &header, err);
}

/* The newest line of each component stays in the welcome. */
static int keep_components(const struct jsonl *self, const struct vamp_delivery *delivery)
{
    size_t from = 0;
    for (unsigned i = 0; i < delivery->component_count; i++) {
        const char *end = from < self->components_end
                              ? memchr(self->json.bytes + from, '\n', self->components_end - from)
                              : NULL;
        if (end == NULL) {
            break;
        }
        const size_t to = (size_t)(end - self->json.bytes) + 1;
        const struct vamp_audience_text line = part(self, from, to);
        int code = vamp_audience_row(self->audience, delivery->components[i].index, &line);
        if (code != 0) {
            return code;
        }
        from = to;
    }
    return 0;
}

int jsonl_socket_bucket(struct jsonl *self, const struct vamp_delivery *delivery,
                        struct vamp_err *err)
{
    if (!self->failed) {
        self->ask_complete = vamp_audience_wants_complete(self->audience);
        jsonl_bucket(self, delivery);
    }
    self->failed = true; /* until it is done, so that nothing is reported twice */
    if (self->json.failed || keep_components(self, delivery) != 0) {
        return vamp_err_set_errno(err, ENOMEM, "gather the lines of a bucket for %s", self->path);
    }
    const struct vamp_audience_text series = part(self, self->components_end, self->series_end);
    const struct vamp_audience_text text = part(self, 0, self->json.used);
    int code = give(self, &series, &text, err);
    self->failed = code != 0;
    return code;
}

void jsonl_socket_close(struct jsonl *self)
{
    if (!self->failed) {
        const struct vamp_audience_text text = part(self, 0, self->json.used);
        /* A slow reader gets it after what is queued for it, or not at all. */
        self->complete = true;
        int ignored = give(self, &(struct vamp_audience_text){.bytes = NULL}, &text, NULL);
        (void)ignored;
    }
    vamp_audience_close(self->audience, END_PATIENCE_NS);
    self->audience = NULL;
}
