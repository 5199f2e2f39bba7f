/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes the events of the synthetic source to a new recording, as fast as they can be made:
 *
 *   workload FILE WORKFLOW [OPTION=VALUE...]
 *
 * with the options of the source (vampire.json(5), source of type synthetic). The same arguments
 * always give the same bytes: the recording holds no time, host or run of its own. workload.py
 * takes the arguments from a configuration. Prints the number of events. Exit code 0; 1: the
 * recording could not be written; 2: wrong arguments.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lib/recorder.h"
#include "vampire/core/recording/recording.h"
#include "vampire/source/source.h"

/* Every kind but 0, which is none. */
#define ALL_KINDS ((UINT64_C(1) << VAMP_EVENT_KIND_COUNT) - 2)

static const struct vamp_source_ops *const source = &vamp_source_synthetic;

static int set_option(void *options, const char *argument, struct vamp_err *err)
{
    const char *equals = strchr(argument, '=');
    if (equals == NULL) {
        return vamp_err_set(err, -EINVAL, "\"%s\": expected OPTION=VALUE", argument);
    }
    char *key = strndup(argument, (size_t)(equals - argument));
    if (key == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "read the arguments");
    }
    const struct vamp_opt *option = vamp_opt_find(source->options, key);
    int status = option != NULL
                     ? vamp_opt_set(option, options, equals + 1, err)
                     : vamp_err_set(err, -EINVAL, "the synthetic source has no option \"%s\"", key);
    free(key);
    return status;
}

/* Adds the first event and all that follow. */
static int record_all(void *self, struct vamp_event *event, struct vamp_recorder *recorder,
                      struct vamp_err *err)
{
    int status = 0;
    do {
        status = vamp_recorder_add(recorder, event, err);
    } while (status == 0 && source->next(self, event, err) == VAMP_SOURCE_MORE);
    if (status == 0) {
        status = vamp_recorder_flush(recorder, false, err);
    }
    (void)printf("%" PRIu64 "\n", recorder->written);
    const int closed = vamp_recorder_close(recorder, status == 0 ? err : NULL);
    return status != 0 ? status : closed;
}

static int record(const char *path, const char *workflow, const void *options, struct vamp_err *err)
{
    const struct vamp_source_context context = {
        .clock = &vamp_clock_system, .event_kinds = ALL_KINDS, .workflow = workflow};
    struct vamp_recording_header header = {.component = "vampire", .event_kinds = ALL_KINDS};
    (void)snprintf(header.workflow, sizeof header.workflow, "%s", workflow);
    void *self = NULL;
    int status = source->open(options, &context, &self, err);
    if (status != 0) {
        return status;
    }
    struct vamp_recorder *recorder = NULL;
    struct vamp_event event;
    if (source->next(self, &event, err) == VAMP_SOURCE_MORE) {
        header.started_ns = event.time_ns;
        status = recorder_open(path, &header, &recorder, err);
        status = status == 0 ? record_all(self, &event, recorder, err) : status;
    } else {
        status = vamp_err_set(err, -EINVAL, "with these options the source has no events");
    }
    (void)source->close(self, NULL);
    return status;
}

int main(int count, char **arguments)
{
    struct vamp_err err = VAMP_ERR_NONE;
    void *options = calloc(1, source->options_bytes);
    if (count < 3 || options == NULL) {
        (void)fputs("usage: workload FILE WORKFLOW [OPTION=VALUE...]\n", stderr);
        free(options);
        return 2;
    }
    int status = vamp_opt_presets(source->options, options, &err);
    for (int i = 3; i < count && status == 0; i++) {
        status = set_option(options, arguments[i], &err);
    }
    int code = status == 0 ? 0 : 2;
    if (status == 0) {
        status = record(arguments[1], arguments[2], options, &err);
        code = status == 0 ? 0 : 1;
    }
    if (status != 0) {
        (void)fprintf(stderr, "workload: %s\n", err.text);
    }
    vamp_opt_done(source->options, options);
    free(options);
    return code;
}
