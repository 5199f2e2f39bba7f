/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The replay source: reads a recording at full speed or at a multiple of the recorded speed. The
 * segments of a rotated run are read as one stream.
 */
#include <glob.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "vampire/core/recording/recording.h"
#include "vampire/core/values.h"
#include "vampire/source/pace.h"
#include "vampire/source/source.h"

struct replay_options {
    char *file;
    uint64_t speed;
};

struct replay {
    const struct replay_options *options;
    struct vamp_source_context context;
    glob_t files;
    const char **paths; /* those elements of `files` that are replayed */
    size_t path_count;
    size_t file;           /* index of the current file in `paths` */
    uint64_t bytes;        /* of all files */
    uint64_t bytes_before; /* of the files before the current one */
    struct vamp_recording *recording;
    struct vamp_recording_header header; /* header of the current file */
    struct vamp_pace pace;
    int64_t newest_ns; /* time of the newest event */
    int64_t wanted_ns; /* time of the newest event of a required kind */
    uint64_t unwanted; /* number of events skipped since `wanted_ns` */
    bool any_wanted;   /* an event of a required kind was returned */
    bool unwanted_due; /* a control event for the skipped events must follow */
    bool pending_there;
    bool at_end; /* the current file is at its end; the next call may close it */
    bool remarked;
    size_t damaged_files;
    const char *damaged_path;  /* the first damaged file */
    bool end_reported;         /* it was reported that the run continues after the last file */
    bool whole_run;            /* the files were given by a pattern */
    struct vamp_event pending; /* event that was read but is not due yet */
};

static const struct vamp_opt replay_options[] = {
    {"file", VAMP_OPT_STRING, offsetof(struct replay_options, file), "", .max = 16384,
     .help = "The recording to read or, for all segments of a run, a pattern such as \"run/*.rec\" "
             "or \"{a.rec,b.rec}\""},
    {"speed", VAMP_OPT_UINT, offsetof(struct replay_options, speed), "0", .max = 1000000,
     .help = "Speed as a multiple of the speed at which it was recorded; 0: as fast as possible"},
    {.key = NULL},
};
static int replay_close(void *self, struct vamp_err *err)
{
    struct replay *replay = self;
    (void)err;
    vamp_recording_close(replay->recording);
    globfree(&replay->files);
    free(replay->paths);
    free(replay);
    return 0;
}

/* Sets the list of files: the named file, or the files that match the pattern, by name. */
static int find_files(struct replay *replay, struct vamp_err *err)
{
    const char *const file = replay->options->file;
    const bool pattern = strpbrk(file, "*?[{") != NULL && access(file, F_OK) != 0;
    /* A name without wildcards is not expanded: opening the file gives the best message. */
    replay->whole_run = pattern;
    const int flags = pattern ? GLOB_BRACE : GLOB_NOCHECK | GLOB_NOESCAPE;
    const int code = glob(file, flags, NULL, &replay->files);
    if (code == GLOB_NOMATCH) {
        return vamp_err_set(err, -ENOENT, "no recording to replay: no file matches %s", file);
    }
    if (code != 0) {
        return vamp_err_set(err, -ENOMEM, "look for recordings %s: out of memory", file);
    }
    return 0;
}

static const char *present_path(const struct replay *replay)
{
    return replay->paths[replay->file];
}

static uint64_t size_of(const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode)) {
        return 0;
    }
    return (uint64_t)status.st_size;
}

/* Returns whether the file has no data, because the first record could not be written, or the
 * recorder was killed before it was written. The other segments are complete without such a file.
 */
static bool is_empty(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && status.st_size == 0;
}

/* Removes empty files from the list, except one if all are empty: opening it reports the error. */
static int leave_out_empty(struct replay *replay, struct vamp_err *err)
{
    replay->paths = calloc(replay->files.gl_pathc, sizeof *replay->paths);
    if (replay->paths == NULL) {
        return vamp_err_set(err, -ENOMEM, "no memory to replay %s", replay->options->file);
    }
    for (size_t i = 0; i < replay->files.gl_pathc; i++) {
        const char *path = replay->files.gl_pathv[i];
        const bool last = i + 1 == replay->files.gl_pathc;
        if (!is_empty(path) || (last && replay->path_count == 0)) {
            replay->bytes += size_of(path);
            replay->paths[replay->path_count++] = path;
            continue;
        }
        vamp_source_say(&replay->context, "recording %s is empty; it is ignored", path);
    }
    return 0;
}

/* Checks that the segments belong to the same run and follow each other. */
static int check_order(struct replay *replay, struct vamp_err *err)
{
    struct vamp_recording_header before = {.segment = 0};
    for (size_t i = 0; i < replay->path_count; i++) {
        const char *path = replay->paths[i];
        struct vamp_recording *recording = NULL;
        struct vamp_recording_header header;
        int code = vamp_recording_open(path, &recording, &header, err);
        vamp_recording_close(recording);
        if (code != 0) {
            return code;
        }
        const bool continues =
            strcmp(header.run_id, before.run_id) == 0 && header.segment > before.segment;
        if (i > 0 && !continues) {
            return vamp_err_set(err, -EINVAL,
                                "%s does not continue where %s ends: replay the segments of one "
                                "run, in order, or each recording alone",
                                path, replay->paths[i - 1]);
        }
        before = header;
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
    int result = find_files(replay, err);
    if (result == 0) {
        result = leave_out_empty(replay, err);
    }
    if (result == 0) {
        result = check_order(replay, err);
    }
    if (result == 0) {
        result =
            vamp_recording_open(present_path(replay), &replay->recording, &replay->header, err);
    }
    if (result != 0) {
        (void)replay_close(replay, NULL);
        /* The replay has not started yet: an unreadable file is an error of the configuration. */
        return result == -ENOMEM ? result : -EINVAL;
    }
    if ((context->event_kinds & ~replay->header.event_kinds & UINT64_C(0xfffe)) != 0) {
        vamp_source_say(
            &replay->context,
            "the recording lacks some of the requested kinds of events: they were not recorded");
    }
    *ret_self = replay;
    return 0;
}

static const char *replay_workflow(const void *self)
{
    const struct replay *replay = self;
    return replay->header.workflow[0] != '\0' ? replay->header.workflow : NULL;
}

static uint64_t replay_kinds(const void *self)
{
    const struct replay *replay = self;
    return replay->header.event_kinds;
}

static uint32_t replay_unknown(const void *self)
{
    const struct replay *replay = self;
    return replay->header.unknown;
}

static void report_remark(struct replay *replay)
{
    const char *remark = vamp_recording_remark(replay->recording);
    if (vamp_recording_is_damaged(replay->recording) && !replay->remarked) {
        if (replay->damaged_files++ == 0) {
            replay->damaged_path = present_path(replay);
        }
    }
    if (remark != NULL && !replay->remarked) {
        vamp_source_say(&replay->context, "recording %s: %s", present_path(replay), remark);
        replay->remarked = true;
    }
}

static void mark_lost(struct replay *replay, uint64_t count)
{
    replay->pending = (struct vamp_event){.kind = VAMP_EVENT_LOST,
                                          .reason = VAMP_LOSS_RECORDING,
                                          .count = count,
                                          .time_ns = replay->newest_ns};
    replay->pending_there = true;
}

/* Called after the last file. Reports if the recording continues in a segment that is not replayed.
 * When a whole run is replayed, also sets a pending control event for one lost event, since a
 * segment contains at least one, and returns true. When a single segment is replayed, missing
 * segments are expected: returns false. */
static bool report_missing_end(struct replay *replay)
{
    if (!vamp_recording_goes_on(replay->recording)) {
        return false;
    }
    vamp_source_say(&replay->context,
                    "after recording %s the run continues in another segment, which is not %s",
                    present_path(replay),
                    replay->whole_run ? "here: its events are missing" : "replayed");
    replay->end_reported = true;
    if (replay->whole_run) {
        mark_lost(replay, 1);
    }
    return replay->whole_run;
}

/* Returns the result after the last file: DAMAGED if one of the files was damaged, else END. */
static enum vamp_source_status end_replay(const struct replay *replay, struct vamp_err *err)
{
    if (replay->damaged_files == 0) {
        return VAMP_SOURCE_END;
    }
    char others[64] = "";
    if (replay->damaged_files > 1) {
        (void)snprintf(others, sizeof others, " (and %zu more)", replay->damaged_files - 1);
    }
    (void)vamp_err_set(err, -EBADMSG,
                       "recording %s%s is damaged: what could not be read counts as lost",
                       replay->damaged_path, others);
    return VAMP_SOURCE_DAMAGED;
}

/* Handles the end of a file. Returns MORE if the replay continues, perhaps with a pending control
 * event. Not inlined, so that its texts do not slow down the path of an event. */
static __attribute__((noinline)) enum vamp_source_status go_on(struct replay *replay,
                                                               struct vamp_err *err)
{
    report_remark(replay);
    if (replay->file + 1 >= replay->path_count) {
        if (!replay->end_reported && report_missing_end(replay)) {
            return VAMP_SOURCE_MORE;
        }
        return end_replay(replay, err);
    }
    replay->bytes_before += vamp_recording_bytes_read(replay->recording);
    const uint64_t seen = replay->header.events_before + vamp_recording_events(replay->recording);
    vamp_recording_close(replay->recording);
    replay->recording = NULL;
    replay->at_end = false;
    replay->file++;
    if (vamp_recording_open(present_path(replay), &replay->recording, &replay->header, err) != 0) {
        return VAMP_SOURCE_ERROR;
    }
    vamp_recording_skip_repeated(replay->recording);
    replay->remarked = false;
    if (replay->header.events_before > seen) {
        const uint64_t lost = replay->header.events_before - seen;
        vamp_source_say(&replay->context,
                        "before recording %s %" PRIu64 " events are missing; is a segment missing?",
                        present_path(replay), lost);
        mark_lost(replay, lost);
    }
    return VAMP_SOURCE_MORE;
}

/* Returns a control event for the skipped events. Its time is that of the preceding event of a
 * required kind or, without one, of the skipped events. */
static enum vamp_source_status mark_unwanted(struct replay *replay, struct vamp_event *ret_event)
{
    *ret_event = (struct vamp_event){
        .kind = VAMP_EVENT_UNWANTED,
        .count = replay->unwanted,
        .time_ns = replay->any_wanted ? replay->wanted_ns : replay->newest_ns,
    };
    replay->unwanted = 0;
    return VAMP_SOURCE_MORE;
}

/* Returns the pending event or, without one, the next event of a required kind. */
static enum vamp_source_status take_event(struct replay *replay, struct vamp_event *ret_event,
                                          struct vamp_err *err)
{
    while (!replay->pending_there) {
        if (replay->unwanted_due) {
            replay->unwanted_due = false;
            return mark_unwanted(replay, ret_event);
        }
        const enum vamp_recording_status found =
            vamp_recording_next(replay->recording, ret_event, err);
        if (found == VAMP_RECORDING_EVENT) {
            replay->newest_ns = ret_event->time_ns;
            if (vamp_source_is_wanted(&replay->context, ret_event)) {
                replay->wanted_ns = ret_event->time_ns;
                replay->any_wanted = true;
                replay->unwanted_due = replay->unwanted > 0;
                return VAMP_SOURCE_MORE;
            }
            replay->unwanted++;
            continue;
        }
        if (found == VAMP_RECORDING_PAUSE) {
            return VAMP_SOURCE_EMPTY;
        }
        if (found == VAMP_RECORDING_ERROR) {
            (void)vamp_err_wrap(err, "replay %s", present_path(replay));
            return VAMP_SOURCE_ERROR;
        }
        if (!replay->at_end) {
            replay->at_end = true;
            return VAMP_SOURCE_EMPTY;
        }
        const enum vamp_source_status status = go_on(replay, err);
        if (status != VAMP_SOURCE_MORE) {
            return replay->unwanted > 0 ? mark_unwanted(replay, ret_event) : status;
        }
    }
    *ret_event = replay->pending;
    replay->pending_there = false;
    return VAMP_SOURCE_MORE;
}

static enum vamp_source_status replay_next(void *self, struct vamp_event *ret_event,
                                           struct vamp_err *err)
{
    struct replay *replay = self;
    enum vamp_source_status status = take_event(replay, ret_event, err);
    if (status == VAMP_SOURCE_MORE && vamp_pace_left_ns(&replay->pace, ret_event->time_ns) > 0) {
        replay->pending = *ret_event;
        replay->pending_there = true;
        return VAMP_SOURCE_EMPTY;
    }
    return status;
}

static double replay_fraction_read(const void *self)
{
    const struct replay *replay = self;
    if (replay->recording == NULL || replay->bytes == 0) {
        return 0;
    }
    const uint64_t read = replay->bytes_before + vamp_recording_bytes_read(replay->recording);
    return VAMP_MIN((double)read / (double)replay->bytes, 1.0);
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
    .summary = "a recording, at full speed or at a multiple of its original speed",
    .options = replay_options,
    .options_bytes = sizeof(struct replay_options),
    .may_block = true,
    .keeps_texts = true,
    .open = replay_open,
    .workflow = replay_workflow,
    .kinds = replay_kinds,
    .unknown = replay_unknown,
    .next = replay_next,
    .wait = replay_wait,
    .fraction_read = replay_fraction_read,
    .close = replay_close,
};
