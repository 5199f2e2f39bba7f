/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/trace/drawing.h"

#include <fnmatch.h>

/* Two spans and both ends of an arrow. */
#define TRANSPORT_ENTRIES 4

/* Whether the span, and `count` - 1 in it, are asked for. Times further than 292 years from the
 * begin have no number there: such spans are counted. */
static bool is_in_range(struct vamp_trace_drawing *drawing, const struct vamp_trace_span *span,
                        unsigned count)
{
    const struct vamp_timeline_options *options = drawing->options;
    const int64_t begin_ns = drawing->end.begin_ns;
    int64_t start_ns, end_ns, length_ns;
    if (__builtin_sub_overflow(span->start_ns, begin_ns, &start_ns) ||
        __builtin_sub_overflow(span->end_ns, begin_ns, &end_ns) ||
        __builtin_sub_overflow(span->end_ns, span->start_ns, &length_ns)) {
        drawing->end.left_out += count;
        return false;
    }
    return (options->from_ns <= 0 || end_ns >= options->from_ns) &&
           (options->length_ns <= 0 || start_ns <= options->from_ns + options->length_ns);
}

static bool is_selected(const struct vamp_trace_drawing *drawing, const char *component)
{
    const struct vamp_strings *patterns = &drawing->options->components;
    bool selected = patterns->count == 0;
    for (size_t i = 0; i < patterns->count && !selected; i++) {
        selected = fnmatch(patterns->items[i], component, 0) == 0;
    }
    return selected;
}

/* Whether so many more fit; those that do not are counted. */
static bool has_room(struct vamp_trace_drawing *drawing, unsigned count)
{
    struct vamp_trace_end *end = &drawing->end;
    drawing->full = drawing->full || drawing->options->max_events - end->written < count;
    end->left_out += drawing->full ? count : 0;
    return !drawing->full;
}

/* ---- tracks */

static const char *process_name(const struct vamp_trace_drawing *drawing, uint32_t process)
{
    return process == VAMP_TRACE_RUN_PROCESS
               ? "events"
               : vamp_components_name(drawing->components, process - 1);
}

/* The number of a track with room from `start_ns` on, which it has until `end_ns` from now on;
 * UINT32_MAX: at the bound. */
static int take_track(struct vamp_trace_drawing *drawing, uint32_t process,
                      enum vamp_trace_kind kind, const struct vamp_trace_span *span,
                      uint32_t *ret_number, struct vamp_err *err)
{
    struct vamp_trace_track *track = NULL;
    bool is_new = false;
    *ret_number = UINT32_MAX;
    int code = vamp_trace_tracks_find(&drawing->tracks, drawing->options->max_tracks, process, kind,
                                      span->start_ns, &track, &is_new);
    if (code != 0) {
        return vamp_err_set_errno(err, -code, "add a track");
    }
    if (track == NULL) {
        return 0;
    }
    if (is_new) {
        track->name = process_name(drawing, process);
        code = drawing->sink->track(drawing->sink_self, track, err);
    }
    track->end_ns = span->end_ns;
    *ret_number = track->number;
    return code;
}

static int write_spans(struct vamp_trace_drawing *drawing, uint32_t track,
                       const struct vamp_trace_span *spans, unsigned count, struct vamp_err *err)
{
    const int code =
        drawing->sink->spans(drawing->sink_self, &drawing->tracks.items[track], spans, count, err);
    if (code == 0) {
        drawing->end.written += count + (spans[0].arrow != VAMP_TRACE_NO_ARROW);
    }
    return code;
}

/* A span and what lies in it, on a track of this process. */
int vamp_trace_draw(struct vamp_trace_drawing *drawing, uint32_t process, enum vamp_trace_kind kind,
                    const struct vamp_trace_span *spans, unsigned count, struct vamp_err *err)
{
    uint32_t track = UINT32_MAX;
    if (!is_in_range(drawing, &spans[0], count) ||
        (process != VAMP_TRACE_RUN_PROCESS &&
         !is_selected(drawing, process_name(drawing, process))) ||
        !has_room(drawing, count)) {
        return 0;
    }
    const int code = take_track(drawing, process, kind, &spans[0], &track, err);
    if (code != 0 || track == UINT32_MAX) {
        drawing->end.crowded += code == 0 ? count : 0;
        return code;
    }
    return write_spans(drawing, track, spans, count, err);
}

/* On a track of each, with an arrow between them if both found one. */
static int write_transport(struct vamp_trace_drawing *drawing, uint32_t source, uint32_t sink,
                           struct vamp_trace_span *send, struct vamp_trace_span *receive,
                           struct vamp_err *err)
{
    uint32_t sends = UINT32_MAX, receives = UINT32_MAX;
    int code = take_track(drawing, vamp_trace_process_of(sink), VAMP_TRACE_RECEIVES, receive,
                          &receives, err);
    if (code == 0) {
        code =
            take_track(drawing, vamp_trace_process_of(source), VAMP_TRACE_SENDS, send, &sends, err);
    }
    if (code != 0) {
        return code;
    }
    if (sends == UINT32_MAX || receives == UINT32_MAX) {
        drawing->end.crowded += TRANSPORT_ENTRIES;
        return 0;
    }
    send->arrow = VAMP_TRACE_ARROW_BEGINS;
    receive->arrow = VAMP_TRACE_ARROW_ENDS;
    send->arrow_id = receive->arrow_id = ++drawing->arrows;
    send->arrow_track = receives;
    receive->arrow_track = sends;
    code = write_spans(drawing, sends, send, 1, err);
    return code != 0 ? code : write_spans(drawing, receives, receive, 1, err);
}

int vamp_trace_draw_transport(struct vamp_trace_drawing *drawing, uint32_t source, uint32_t sink,
                              struct vamp_trace_span *receive, struct vamp_err *err)
{
    const char *source_name = vamp_components_name(drawing->components, source);
    const char *sink_name = vamp_components_name(drawing->components, sink);
    if (!is_in_range(drawing, receive, TRANSPORT_ENTRIES) ||
        (!is_selected(drawing, sink_name) && !is_selected(drawing, source_name)) ||
        !has_room(drawing, TRANSPORT_ENTRIES)) {
        return 0;
    }
    struct vamp_trace_span send = *receive;
    send.what = VAMP_TRACE_SEND;
    send.peer = sink_name;
    receive->peer = source_name;
    return write_transport(drawing, source, sink, &send, receive, err);
}
