/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes traces (docs/output-trace.md): spans and arrows for trace viewers. The input is events
 * instead of CDO records, because CDO records lack the consumers of a CDO and the starts of its
 * transports.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/core/json_emit.h"
#include "vampire/core/values.h"
#include "writers/format/cut.h"
#include "writers/format/file.h"
#include "writers/trace/timeline.h"

enum trace_format { FORMAT_CHROME, FORMAT_OTF2 };

struct trace_options {
    unsigned format; /* enum trace_format */
    char *directory;
    unsigned access; /* enum vamp_target_access */
    struct vamp_timeline_options timeline;
};

struct trace_writer {
    const struct vamp_trace_sink_ops *sink;
    void *sink_self;
    struct vamp_timeline *timeline;
    const struct vamp_timeline_options *bounds;
    uint64_t taken;   /* number of events */
    uint64_t written; /* number of events that were flushed */
    bool failed, complete;
    bool is_full;            /* the limit max_events was reported */
    bool is_crowded;         /* a limit on tracks was reported */
    struct vamp_err failure; /* failure to complete the trace */
};

#define OPTION(member) offsetof(struct trace_options, member)
/* libotf2 keeps the trace in memory, about 60 bytes per entry. */
#define OTF2_EVENTS_MAX UINT64_C(20000000)
#define SPAN_OF_TIME_MAX ((uint64_t)100 * 366 * 86400 * VAMP_NS_PER_SECOND)

static const char *const format_words[] = {"chrome", "otf2", NULL};

static const struct vamp_opt trace_options[] = {
    {"format", VAMP_OPT_ENUM, OPTION(format), "chrome", .choices = format_words,
     .help = "chrome: a file of trace event JSON for Perfetto and chrome://tracing; otf2: an "
             "archive for Vampir and the tools of OTF2, which is written when it is completed"},
    VAMP_TARGET_DIRECTORY_OPTION(
        "files vampire-WORKFLOW-START-RUN-NAME-SEGMENT.trace.json or the archives "
        "vampire-WORKFLOW-START-RUN-NAME-SEGMENT.otf2/trace.otf2",
        OPTION(directory), 0),
    VAMP_TARGET_ACCESS_OPTION("read the file", OPTION(access), 0),
    {"from", VAMP_OPT_DURATION, OPTION(timeline.from_ns), "0s", .max = SPAN_OF_TIME_MAX,
     .help = "the trace starts this long after the first event; what was before is cut off"},
    {"length", VAMP_OPT_DURATION, OPTION(timeline.length_ns), "0s", .max = SPAN_OF_TIME_MAX,
     .help = "how much time from there on; what comes later is cut off; 0s: to the end"},
    {"components", VAMP_OPT_STRINGS, OPTION(timeline.components), NULL, .max = 4096,
     .help = "patterns of component names such as \"Products*\": the tracks of these, and the "
             "transports from and to them; none: all"},
    {"max_events", VAMP_OPT_UINT, OPTION(timeline.max_events), "1000000", .min = 1000,
     .max = 1000000000,
     .help = "spans, marks and ends of arrows in the file, at most; further ones are left out "
             "and counted. Viewers in a browser show a million"},
    {"max_tracks", VAMP_OPT_UINT, OPTION(timeline.max_tracks), "4096", .min = 16,
     .max = VAMP_TRACE_TRACKS_MAX,
     .help = "tracks in the file, at most; spans for which there is none are left out and "
             "counted. In format \"otf2\" each takes 256 KiB of memory at the end"},
    {.key = NULL},
};

/* Returns the sink of the format; loads the plug-in of OTF2. Returns 0 or -errno. */
static int find_sink(enum trace_format format, const struct vamp_trace_sink_ops **ret_sink,
                     struct vamp_err *err)
{
    const void *sink = &vamp_trace_chrome;
    int code = 0;
    if (format == FORMAT_OTF2) {
        code = vamp_otf2_load(&sink, err);
    }
    *ret_sink = sink;
    return code;
}

static int check(const void *context, const char **ret_key, struct vamp_err *err)
{
    const struct trace_options *options = context;
    const struct vamp_trace_sink_ops *sink = NULL;
    struct vamp_err missing = VAMP_ERR_NONE;
    *ret_key = "format";
    if (find_sink((enum trace_format)options->format, &sink, &missing) != 0) {
        return vamp_err_set(err, -EINVAL, "%s", missing.text);
    }
    *ret_key = "max_events";
    if (options->format == FORMAT_OTF2 && options->timeline.max_events > OTF2_EVENTS_MAX) {
        return vamp_err_set(
            err, -EINVAL,
            "a trace of format \"otf2\" is in memory until it is completed: at most "
            "%llu",
            (unsigned long long)OTF2_EVENTS_MAX);
    }
    return 0;
}

/* ---- open and close */

/* Completes the trace at the first call: writes the spans that have not ended, and everything that
 * the sink writes only at the end. A failure is kept in `failure`. */
static void complete(struct trace_writer *self)
{
    if (self->complete || self->failed || self->timeline == NULL) {
        return;
    }
    self->complete = true;
    self->failed = vamp_timeline_finish(self->timeline, &self->failure) != 0;
    if (!self->failed && self->sink->complete != NULL) {
        self->failed = self->sink->complete(self->sink_self, &self->failure) != 0;
        self->written = self->failed ? 0 : self->taken;
    }
}

/* Completes and closes the trace; removes it if it failed before anything was written. */
static int trace_close(void *context, const struct vamp_ending *ending, struct vamp_err *err)
{
    struct trace_writer *self = context;
    struct vamp_trace_end end = {.begin_ns = INT64_MIN};
    complete(self);
    if (self->timeline != NULL) {
        vamp_timeline_describe(self->timeline, &end);
    }
    end.ending = ending;
    int code = 0;
    if (self->sink_self != NULL) {
        code = self->sink->close(self->sink_self, self->failed ? NULL : &end,
                                 self->failed && self->written == 0, err);
    }
    if (self->failure.code != 0) {
        code = vamp_err_set(err, self->failure.code, "%s", self->failure.text);
    }
    vamp_timeline_free(self->timeline);
    free(self);
    return code;
}

/* Opens the sink and creates the timeline. On failure, trace_close frees what was created. */
static int open_parts(const struct trace_options *options, const struct vamp_writer_target *target,
                      struct trace_writer *self, struct vamp_err *err)
{
    const char *directory = vamp_text_or(options->directory, ".");
    self->bounds = &options->timeline;
    int code = find_sink((enum trace_format)options->format, &self->sink, err);
    if (code != 0) {
        return code;
    }
    code = self->sink->open(target, directory, options->access, &self->sink_self, err);
    if (code == 0) {
        code = vamp_timeline_create(&options->timeline, self->sink, self->sink_self,
                                    &self->timeline, err);
    }
    return code;
}

static int trace_open(const void *options, const struct vamp_writer_target *target, void **ret_self,
                      struct vamp_err *err)
{
    struct trace_writer *self = calloc(1, sizeof *self);
    if (self == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "prepare the target");
    }
    const int code = open_parts(options, target, self, err);
    if (code != 0) {
        struct vamp_err ignored = VAMP_ERR_NONE;
        self->failed = true;
        (void)trace_close(self, NULL, &ignored);
        return code;
    }
    *ret_self = self;
    return 0;
}

/* ---- events */

static int trace_repeat(void *context, const struct vamp_event *event, struct vamp_err *err)
{
    struct trace_writer *self = context;
    const int code = vamp_timeline_event(self->timeline, event, err);
    self->failed = code != 0;
    return code;
}

static int trace_event(void *context, const struct vamp_event *event, struct vamp_err *err)
{
    struct trace_writer *self = context;
    const int code = trace_repeat(self, event, err);
    self->taken += code == 0 && !vamp_event_is_mark(event);
    return code;
}

static int trace_flush(void *context, struct vamp_err *err)
{
    struct trace_writer *self = context;
    int code = 0;
    if (self->sink->flush != NULL) {
        code = self->sink->flush(self->sink_self, err);
    }
    self->failed = code != 0;
    if (code == 0 && self->sink->complete == NULL) {
        self->written = self->taken;
    }
    return code;
}

static uint64_t trace_written(const void *context)
{
    return ((const struct trace_writer *)context)->written;
}

static const char *trace_path(const void *context)
{
    const struct trace_writer *self = context;
    return self->sink->path(self->sink_self);
}

static uint64_t trace_left_out(void *context, const char **ret_what)
{
    struct trace_writer *self = context;
    struct vamp_trace_end end;
    complete(self);
    vamp_timeline_describe(self->timeline, &end);
    *ret_what = "spans";
    return end.left_out + end.crowded;
}

/* Reports, once each, that a limit on entries or on tracks was reached. */
static bool trace_remark(void *context, char text[static VAMP_ERR_TEXT_BYTES])
{
    struct trace_writer *self = context;
    struct vamp_trace_end end;
    vamp_timeline_describe(self->timeline, &end);
    if (end.left_out > 0 && !self->is_full) {
        self->is_full = true;
        (void)snprintf(
            text, VAMP_ERR_TEXT_BYTES,
            "the trace has its %llu entries (\"max_events\"); later entries are counted and "
            "not written",
            (unsigned long long)self->bounds->max_events);
        return true;
    }
    if (end.crowded > 0 && !self->is_crowded) {
        self->is_crowded = true;
        (void)snprintf(
            text, VAMP_ERR_TEXT_BYTES,
            "there is no track for some spans: the trace has its %llu (\"max_tracks\"), or "
            "a component %d of one kind; they are counted and not written",
            (unsigned long long)self->bounds->max_tracks, VAMP_TRACE_LANES_MAX);
        return true;
    }
    return false;
}

/* ---- recovery */

static const struct vamp_file_ops trace_files = {.mark = "[{\"name\":\"vampire\",\"ph\":\"M\"",
                                                 .recover = vamp_recover_lines};

const struct vamp_writer_ops vamp_writer_trace = {
    .name = "trace",
    .summary = "a timeline for viewers of traces (Perfetto, chrome://tracing, Vampir)",
    .options = trace_options,
    .options_bytes = sizeof(struct trace_options),
    .element = VAMP_ELEMENT_EVENT,
    .check = check,
    .open = trace_open,
    .write_event = trace_event,
    .repeat_event = trace_repeat,
    .flush = trace_flush,
    .written = trace_written,
    .left_out = trace_left_out,
    .path = trace_path,
    .remark = trace_remark,
    .files = &trace_files,
    .close = trace_close,
};
