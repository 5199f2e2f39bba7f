/* SPDX-License-Identifier: BSD-3-Clause */
/* The replay source: a recording, at full speed or at a multiple of its own. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "vampire/core/recording.h"
#include "vampire/source/pace.h"
#include "vampire/source/source.h"

struct replay_options {
    char *file;
    uint64_t speed;
};

struct replay {
    const struct replay_options *options;
    struct vamp_source_context context;
    struct vamp_recording *recording;
    struct vamp_recording_header header;
    struct vamp_pace pace;
    bool pending_there;
    bool remarked;
    struct vamp_event pending; /* read, but not due yet */
};

static const struct vamp_opt replay_options[] = {
    {.key = "file",
     .type = VAMP_OPT_STRING,
     .preset = "",
     .max = 4096,
     .offset = offsetof(struct replay_options, file),
     .help = "The recording to read"},
    {.key = "speed",
     .type = VAMP_OPT_UINT,
     .preset = "0",
     .max = 1000000,
     .offset = offsetof(struct replay_options, speed),
     .help = "How many times as fast as it was recorded; 0: as fast as possible"},
    {.key = NULL},
};

static void say(const struct replay *replay, const char *line)
{
    if (replay->context.say != NULL) {
        replay->context.say(replay->context.say_context, line);
    }
}

static int replay_close(void *self, struct vamp_err *err)
{
    struct replay *replay = self;
    (void)err;
    if (replay != NULL) {
        vamp_recording_close(replay->recording);
        free(replay);
    }
    return 0;
}

static int replay_open(const void *options, const struct vamp_source_context *context,
                       void **ret_self, struct vamp_err *err)
{
    const struct replay_options *chosen = options;
    if (chosen->file == NULL) {
        return vamp_err_set(err, -EINVAL,
                            "no recording to replay: the source's option \"file\" is empty");
    }
    struct replay *replay = calloc(1, sizeof *replay);
    if (replay == NULL) {
        return vamp_err_set(err, -ENOMEM, "no memory to replay %s", chosen->file);
    }
    replay->options = chosen;
    replay->context = *context;
    vamp_pace_init(&replay->pace, context->clock, chosen->speed);
    int result = vamp_recording_open(chosen->file, &replay->recording, &replay->header, err);
    if (result != 0) {
        (void)replay_close(replay, NULL);
        return result;
    }
    if ((context->event_kinds & ~replay->header.event_kinds & UINT64_C(0xfffe)) != 0) {
        say(replay, "not every wanted kind of event is in the recording: what is missing was "
                    "not recorded");
    }
    *ret_self = replay;
    return 0;
}

static const char *replay_workflow(const void *self)
{
    const struct replay *replay = self;
    return replay->header.workflow[0] != '\0' ? replay->header.workflow : NULL;
}

static bool is_wanted(const struct replay *replay, const struct vamp_event *event)
{
    return vamp_event_is_mark(event) ||
           (replay->context.event_kinds & UINT64_C(1) << event->kind) != 0;
}

static void tell_remark(struct replay *replay)
{
    const char *remark = vamp_recording_remark(replay->recording);
    if (remark != NULL && !replay->remarked) {
        char line[VAMP_ERR_TEXT_BYTES];
        (void)snprintf(line, sizeof line, "recording %s: %s", replay->options->file, remark);
        say(replay, line);
        replay->remarked = true;
    }
}

/* Reads until a wanted event is pending. MORE, END or ERROR. */
static enum vamp_source_status fetch(struct replay *replay, struct vamp_err *err)
{
    while (!replay->pending_there) {
        switch (vamp_recording_next(replay->recording, &replay->pending, err)) {
        case VAMP_RECORDING_EVENT:
            replay->pending_there = is_wanted(replay, &replay->pending);
            break;
        case VAMP_RECORDING_END:
            tell_remark(replay);
            return VAMP_SOURCE_END;
        case VAMP_RECORDING_ERROR:
            (void)vamp_err_wrap(err, "replay %s", replay->options->file);
            return VAMP_SOURCE_ERROR;
        }
    }
    return VAMP_SOURCE_MORE;
}

static enum vamp_source_status replay_next(void *self, struct vamp_event *ret_event,
                                           struct vamp_err *err)
{
    struct replay *replay = self;
    enum vamp_source_status status = fetch(replay, err);
    if (status != VAMP_SOURCE_MORE) {
        return status;
    }
    if (vamp_pace_left_ns(&replay->pace, replay->pending.time_ns) > 0) {
        return VAMP_SOURCE_EMPTY;
    }
    *ret_event = replay->pending;
    replay->pending_there = false;
    return VAMP_SOURCE_MORE;
}

static void replay_wait(void *self, int64_t timeout_ns)
{
    struct replay *replay = self;
    if (replay->pending_there) {
        vamp_pace_wait(&replay->pace, replay->pending.time_ns, timeout_ns);
    }
}

const struct vamp_source_ops vamp_source_replay = {
    .name = "replay",
    .summary = "a recording, at full speed or at a multiple of its own",
    .options = replay_options,
    .options_bytes = sizeof(struct replay_options),
    .can_wait = true,
    .open = replay_open,
    .workflow = replay_workflow,
    .next = replay_next,
    .wait = replay_wait,
    .close = replay_close,
};
