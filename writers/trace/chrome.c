/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chrome's trace event format, as an array with one record per line. The format allows the end of
 * the array to be missing, so that the file can be opened while it is written and after a kill.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vampire/core/event/event.h"
#include "vampire/core/io.h"
#include "vampire/core/json_emit.h"
#include "vampire/core/values.h"
#include "vampire/stats/bucket/bucket_json.h"
#include "version.h"
#include "writers/format/file.h"
#include "writers/trace/sink.h"

/* The buffer is written when it contains this number of bytes, and at each flush. */
#define BUFFER_BYTES ((size_t)256 << 10)
#define NAME_BYTES 320

struct chrome {
    int fd;
    char *path;
    struct vamp_json json;
    int64_t begin_ns;    /* time 0 of the file */
    uint64_t file_bytes; /* bytes of complete records */
};

/* ---- the file */

/* Removes a partly written record, if the system allows it. Returns -errno. */
static int write_failed(const struct chrome *chrome, int code, struct vamp_err *err)
{
    (void)!ftruncate(chrome->fd, (off_t)chrome->file_bytes);
    return vamp_err_set_errno(err, code, "write %s", chrome->path);
}

static int chrome_flush(void *self, struct vamp_err *err)
{
    struct chrome *chrome = self;
    struct vamp_json *json = &chrome->json;
    if (json->failed) {
        return write_failed(chrome, ENOMEM, err);
    }
    size_t done = 0;
    const int code = vamp_write_all(chrome->fd, json->bytes, json->used, &done);
    if (code != 0) {
        return write_failed(chrome, code, err);
    }
    chrome->file_bytes += done;
    vamp_json_clear(json);
    return 0;
}

static int flush_if_large(struct chrome *chrome, struct vamp_err *err)
{
    if (chrome->json.used < BUFFER_BYTES && !chrome->json.failed) {
        return 0;
    }
    return chrome_flush(chrome, err);
}

/* ---- records */

/* Writes process and thread, numbered from 1: viewers treat 0 as the idle task. */
static void put_track(struct vamp_json *json, const struct vamp_trace_track *track)
{
    vamp_json_unsigned(json, "pid", (uint64_t)track->process + 1);
    vamp_json_unsigned(json, "tid", (uint64_t)track->number + 1);
}

static void begin_record(struct vamp_json *json, const char *phase, const char *name)
{
    vamp_json_line_begin(json);
    vamp_json_text(json, "name", name);
    vamp_json_text(json, "ph", phase);
}

/* Starts a record of metadata about the file, which viewers ignore. */
static void begin_note(struct vamp_json *json, const char *name)
{
    begin_record(json, "M", name);
    vamp_json_unsigned(json, "pid", 1);
    vamp_json_unsigned(json, "tid", 1);
    vamp_json_open(json, "args", '{');
}

static void put_run(struct vamp_json *json, const struct vamp_writer_target *target)
{
    const struct vamp_run *run = target->run;
    begin_note(json, "vampire");
    vamp_json_unsigned(json, "version", 1);
    vamp_json_text(json, "producer", "vampire " VAMP_VERSION);
    vamp_run_labels_json(json, run);
    vamp_json_text(json, "component", run->component);
    vamp_json_text(json, "output", target->name);
    vamp_json_unsigned(json, "segment", target->segment);
    vamp_json_text(json, "clock", run->clock);
    vamp_json_text(json, "sampling", run->sampling);
    vamp_json_close(json, '}');
    vamp_json_line_end_more(json);
}

/* Writes metadata with a text, or (NULL) with a sort index. */
static void put_metadata(struct vamp_json *json, const struct vamp_trace_track *track,
                         const char *name, const char *text, uint64_t order)
{
    begin_record(json, "M", name);
    put_track(json, track);
    vamp_json_open(json, "args", '{');
    if (text != NULL) {
        vamp_json_text(json, "name", text);
    } else {
        vamp_json_unsigned(json, "sort_index", order);
    }
    vamp_json_close(json, '}');
    vamp_json_line_end_more(json);
}

static int chrome_track(void *self, const struct vamp_trace_track *track, struct vamp_err *err)
{
    struct chrome *chrome = self;
    struct vamp_json *json = &chrome->json;
    char name[64];
    if (track->is_first) {
        put_metadata(json, track, "process_name", track->name, 0);
    }
    const char *kind = vamp_trace_kind_name(track->kind);
    (void)snprintf(name, sizeof name, track->lane == 0 ? "%s" : "%s %u", kind, track->lane + 1);
    put_metadata(json, track, "thread_name", name, 0);
    put_metadata(json, track, "thread_sort_index", NULL,
                 (uint64_t)track->kind * VAMP_TRACE_LANES_MAX + track->lane);
    return flush_if_large(chrome, err);
}

/* Writes the order of the processes. A record of a process must contain a track; any track is
 * valid. */
static int chrome_order(void *self, const uint32_t *processes, size_t count, struct vamp_err *err)
{
    struct chrome *chrome = self;
    for (size_t i = 0; i < count; i++) {
        const struct vamp_trace_track track = {.process = processes[i]};
        put_metadata(&chrome->json, &track, "process_sort_index", NULL, i);
    }
    return flush_if_large(chrome, err);
}

/* ---- spans */

/* Returns a color name of the viewer's palette; NULL for instants. Parts of a wait are red while
 * the CDO is not available, and green as soon as it is in transport. */
static const char *color_of(const struct vamp_trace_span *span)
{
    static const char *const parts[VAMP_WAIT_PART_COUNT] = {
        [VAMP_WAIT_FOR_OFFER] = "terrible",
        [VAMP_WAIT_FOR_START] = "bad",
        [VAMP_WAIT_MOVING] = "good",
        [VAMP_WAIT_UNKNOWN] = "black",
    };
    static const char *const colors[VAMP_TRACE_WHAT_COUNT] = {
        [VAMP_TRACE_LIFE] = "generic_work",   [VAMP_TRACE_IN_POOL] = "rail_load",
        [VAMP_TRACE_DEMAND] = "grey",         [VAMP_TRACE_PENDING] = "terrible",
        [VAMP_TRACE_WITHDRAW] = "yellow",     [VAMP_TRACE_LEAVE] = "olive",
        [VAMP_TRACE_SEND] = "rail_animation", [VAMP_TRACE_RECEIVE] = "rail_response",
    };
    return span->what == VAMP_TRACE_PART ? parts[span->part] : colors[span->what];
}

/* Writes the text that a viewer shows in the span. */
static void name_span(const struct vamp_trace_span *span, char name[static NAME_BYTES])
{
    switch (span->what) {
    case VAMP_TRACE_LIFE:
        (void)snprintf(name, NAME_BYTES, "%s", span->cdo[0] != '\0' ? span->cdo : "CDO");
        break;
    case VAMP_TRACE_SEND:
        (void)snprintf(name, NAME_BYTES, "to %.300s", span->peer);
        break;
    case VAMP_TRACE_RECEIVE:
        (void)snprintf(name, NAME_BYTES, "from %.300s", vamp_text_or(span->peer, "unknown"));
        break;
    case VAMP_TRACE_PART:
    case VAMP_TRACE_MARK:
        (void)snprintf(name, NAME_BYTES, "%s", span->word);
        break;
    case VAMP_TRACE_PENDING:
        (void)snprintf(name, NAME_BYTES, "pending demand");
        break;
    case VAMP_TRACE_IN_POOL:
    case VAMP_TRACE_DEMAND:
    case VAMP_TRACE_WITHDRAW:
    case VAMP_TRACE_LEAVE:
        (void)snprintf(name, NAME_BYTES, "%s", vamp_trace_what_name(span->what));
        break;
    }
}

/* Returns the name of the argument with the other component, by the kind of span. */
static const char *peer_key(enum vamp_trace_what what)
{
    if (what == VAMP_TRACE_SEND) {
        return "sink";
    }
    return what == VAMP_TRACE_RECEIVE ? "source" : "producer";
}

/* Writes the properties of a span that are known. */
static void put_arguments(struct vamp_json *json, const struct vamp_trace_span *span)
{
    vamp_json_open(json, "args", '{');
    if (span->cdo[0] != '\0') {
        vamp_json_text(json, "cdo", span->cdo);
    }
    if (span->id_known) {
        char id[VAMP_CDO_ID_TEXT_BYTES];
        vamp_cdo_id_text(span->id, id);
        vamp_json_text(json, "id", id);
    }
    if (span->size_known) {
        vamp_json_unsigned(json, "bytes", span->size_bytes);
    }
    if (span->peer != NULL) {
        vamp_json_text(json, peer_key(span->what), span->peer);
    }
    if (span->end != NULL) {
        vamp_json_text(json, "end", span->end);
    }
    if (span->what == VAMP_TRACE_MARK) {
        vamp_json_unsigned(json, "count", span->count);
    }
    if (span->whole_ns > 0) {
        vamp_json_micros(json, "whole", span->whole_ns);
    }
    vamp_json_close(json, '}');
}

/* Writes an end of an arrow. Its time is the last moment of its span, because viewers attach an
 * arrow to the span that contains the arrow's time. */
static void put_arrow(const struct chrome *chrome, struct vamp_json *json,
                      const struct vamp_trace_track *track, const struct vamp_trace_span *span)
{
    const bool begins = span->arrow == VAMP_TRACE_ARROW_BEGINS;
    int64_t at_ns = span->start_ns;
    if (!begins && span->end_ns > span->start_ns) {
        at_ns = span->end_ns - 1;
    }
    begin_record(json, begins ? "s" : "f", "transport");
    vamp_json_text(json, "cat", "transport");
    vamp_json_unsigned(json, "id", span->arrow_id);
    vamp_json_micros(json, "ts", at_ns - chrome->begin_ns);
    put_track(json, track);
    if (!begins) {
        vamp_json_text(json, "bp", "e");
    }
    vamp_json_line_end_more(json);
}

/* Writes a span or an instant, and the end of an arrow that is attached to it. */
static void put_span(const struct chrome *chrome, struct vamp_json *json,
                     const struct vamp_trace_track *track, const struct vamp_trace_span *span)
{
    const bool is_mark = span->what == VAMP_TRACE_MARK;
    char name[NAME_BYTES];
    name_span(span, name);
    begin_record(json, is_mark ? "i" : "X", name);
    vamp_json_text(json, "cat", vamp_trace_what_name(span->what));
    vamp_json_micros(json, "ts", span->start_ns - chrome->begin_ns);
    if (is_mark) {
        vamp_json_text(json, "s", track->process == 0 ? "g" : "t");
    } else {
        vamp_json_micros(json, "dur", span->end_ns - span->start_ns);
        vamp_json_text(json, "cname", color_of(span));
    }
    put_track(json, track);
    put_arguments(json, span);
    vamp_json_line_end_more(json);
    if (span->arrow != VAMP_TRACE_NO_ARROW) {
        put_arrow(chrome, json, track, span);
    }
}

static int chrome_spans(void *self, const struct vamp_trace_track *track,
                        const struct vamp_trace_span *spans, unsigned count, struct vamp_err *err)
{
    struct chrome *chrome = self;
    for (unsigned i = 0; i < count; i++) {
        put_span(chrome, &chrome->json, track, &spans[i]);
    }
    return flush_if_large(chrome, err);
}

/* ---- open and close */

static int chrome_begin(void *self, int64_t begin_ns, struct vamp_err *err)
{
    struct chrome *chrome = self;
    struct vamp_json *json = &chrome->json;
    chrome->begin_ns = begin_ns;
    begin_note(json, "vampire_begin");
    vamp_json_time(json, "time", begin_ns);
    vamp_json_signed(json, "time_ns", begin_ns);
    vamp_json_close(json, '}');
    vamp_json_line_end_more(json);
    return flush_if_large(chrome, err);
}

static void put_end(struct vamp_json *json, const struct vamp_trace_end *end)
{
    begin_note(json, "vampire_end");
    vamp_json_text(json, "reason", end->ending != NULL ? end->ending->reason : "next file");
    vamp_json_time(json, "last_event", end->begin_ns == INT64_MIN ? INT64_MIN : end->end_ns);
    vamp_json_unsigned(json, "written", end->written);
    vamp_json_unsigned(json, "left_out", end->left_out);
    vamp_json_unsigned(json, "without_track", end->crowded);
    vamp_json_unsigned(json, "evicted", end->evicted);
    vamp_json_bool(json, "is_part", end->is_part);
    vamp_json_close(json, '}');
    vamp_json_line_end(json);
}

/* Completes and closes the file, or removes it. */
static int chrome_close(void *self, const struct vamp_trace_end *end, bool remove,
                        struct vamp_err *err)
{
    struct chrome *chrome = self;
    int code = 0;
    if (remove) {
        (void)unlink(chrome->path);
    } else if (end != NULL) {
        put_end(&chrome->json, end);
        vamp_json_array_end(&chrome->json);
        code = chrome_flush(chrome, err);
    }
    if (close(chrome->fd) != 0 && code == 0) {
        code = vamp_err_set_errno(err, errno, "close %s", chrome->path);
    }
    vamp_json_done(&chrome->json);
    free(chrome->path);
    free(chrome);
    return code;
}

/* Creates the file and writes its first record. On failure, removes the file. */
static int open_file(struct chrome *chrome, const struct vamp_writer_target *target,
                     const char *directory, unsigned access, struct vamp_err *err)
{
    chrome->path = vamp_target_name(directory, target, "trace.json");
    if (chrome->path == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "prepare the target");
    }
    int code = vamp_target_create(&chrome->path, (enum vamp_target_access)access, &chrome->fd, err);
    if (code != 0) {
        return code;
    }
    vamp_json_array_begin(&chrome->json);
    put_run(&chrome->json, target);
    code = chrome_flush(chrome, err);
    if (code == 0) {
        code = vamp_target_publish(&chrome->path, err);
    }
    if (code != 0) {
        (void)unlink(chrome->path);
        (void)close(chrome->fd);
    }
    return code;
}

static int chrome_open(const struct vamp_writer_target *target, const char *directory,
                       unsigned access, void **ret_self, struct vamp_err *err)
{
    struct chrome *chrome = calloc(1, sizeof *chrome);
    if (chrome == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "prepare the target");
    }
    const int code = open_file(chrome, target, directory, access, err);
    if (code != 0) {
        vamp_json_done(&chrome->json);
        free(chrome->path);
        free(chrome);
        return code;
    }
    *ret_self = chrome;
    return 0;
}

static const char *chrome_path(const void *self)
{
    return ((const struct chrome *)self)->path;
}

const struct vamp_trace_sink_ops vamp_trace_chrome = {
    .version = VAMP_VERSION,
    .open = chrome_open,
    .begin = chrome_begin,
    .track = chrome_track,
    .spans = chrome_spans,
    .order = chrome_order,
    .flush = chrome_flush,
    .path = chrome_path,
    .close = chrome_close,
};
