/* SPDX-License-Identifier: BSD-3-Clause */
/* The action "record": while an alarm fires, a recording is written that begins before it. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "vampire/alarms/action.h"
#include "vampire/alarms/actions/services_internal.h"
#include "writers/format/file.h"

static const char *const component_words[] = {"all", "concerned", NULL};
enum { COMPONENTS_ALL, COMPONENTS_CONCERNED };

struct record_options {
    char *directory;
    unsigned access;     /* enum vamp_target_access */
    unsigned components; /* an index into component_words */
    int64_t before_ns, limit_ns;
    uint64_t memory_bytes, keep_bytes;
};

static const struct vamp_opt record_options[] = {
    {.key = "directory",
     .type = VAMP_OPT_STRING,
     .preset = ".",
     .max = 3840,
     .offset = offsetof(struct record_options, directory),
     .help = "Existing directory for the files vampire-WORKFLOW-START-RUN-RULE-NUMBER.rec",
     .role = VAMP_OPT_DIRECTORY},
    {.key = "access",
     .type = VAMP_OPT_ENUM,
     .preset = "private",
     .choices = vamp_target_access_words,
     .offset = offsetof(struct record_options, access),
     .help = "Who may read the files: the owner, the owner's group, or all"},
    {.key = "components",
     .type = VAMP_OPT_ENUM,
     .preset = "all",
     .choices = component_words,
     .offset = offsetof(struct record_options, components),
     .help = "Whether all events are recorded, or only those of the components and the CDO that "
             "the alarm names"},
    {.key = "before",
     .type = VAMP_OPT_DURATION,
     .preset = "30s",
     .max = (uint64_t)VAMP_NS_PER_SECOND * 86400,
     .offset = offsetof(struct record_options, before_ns),
     .help = "How long before the condition began to hold the recording begins, as far as events "
             "are in memory"},
    {.key = "memory",
     .type = VAMP_OPT_SIZE,
     .preset = "64MiB",
     .min = (uint64_t)64 << 10,
     .max = (uint64_t)64 << 30,
     .offset = offsetof(struct record_options, memory_bytes),
     .help = "Memory for the newest events, rounded up to a power of two; all rules share one, as "
             "large as the largest asked for"},
    {.key = "limit",
     .type = VAMP_OPT_DURATION,
     .preset = "10min",
     .min = VAMP_NS_PER_SECOND,
     .max = (uint64_t)VAMP_NS_PER_SECOND * 86400 * 366,
     .offset = offsetof(struct record_options, limit_ns),
     .help = "Event time after which a recording ends even if the alarm still fires"},
    {.key = "keep",
     .type = VAMP_OPT_SIZE,
     .preset = "1GiB",
     .max = (uint64_t)64 << 50,
     .offset = offsetof(struct record_options, keep_bytes),
     .help = "The oldest recordings of the rule are deleted while all of them together are larger "
             "than this; 0B: none"},
    {.key = NULL},
};

struct record_action {
    const struct record_options *options;
    const struct vamp_alarm_action_context *context;
    struct services_detail *detail;
};

static bool is_recorded(void *context, const struct vamp_event *event)
{
    const struct services_detail *detail = context;
    return detail->all ||
           vamp_firing_concerns(&detail->recorded, detail->services->options.components, event);
}

static int record_open(const void *options, const struct vamp_alarm_action_context *context,
                       void **ret_self, struct vamp_err *err)
{
    const struct record_options *chosen = options;
    if (access(chosen->directory, W_OK | X_OK) != 0) {
        return vamp_err_set_errno(err, errno, "write recordings to %s", chosen->directory);
    }
    const int code = services_history(context->services, (size_t)chosen->memory_bytes, err);
    if (code != 0) {
        return code;
    }
    struct record_action *self = calloc(1, sizeof *self);
    struct services_detail *detail = services_add_detail(context->services);
    if (self == NULL || detail == NULL) {
        services_release_detail(detail);
        free(self);
        return vamp_err_set_errno(err, ENOMEM, "prepare an action of type record");
    }
    detail->all = chosen->components == COMPONENTS_ALL;
    *self = (struct record_action){chosen, context, detail};
    *ret_self = self;
    return 0;
}

/* The files have the name of the rule, which the first change brings. */
static int make_excerpt(struct record_action *self, const char *rule, struct vamp_err *err)
{
    const struct vamp_action_services_options *options = &self->context->services->options;
    struct vamp_action_account before; /* of the same rule before a reload, perhaps */
    vamp_action_services_account(self->context->services, &before);
    struct vamp_excerpt_settings settings = {
        .files_before = (unsigned)before.recordings_begun,
        .directory = self->options->directory,
        .access = self->options->access,
        .keep_bytes = self->options->keep_bytes,
        .limit_ns = self->options->limit_ns,
    };
    (void)snprintf(settings.name, sizeof settings.name, "%s", rule);
    const struct vamp_excerpt_context context = {
        .history = self->context->services->history,
        .components = options->components,
        .run = options->run,
        .clock = options->clock,
        .event_kinds = options->event_kinds,
        .filter = is_recorded,
        .filter_context = self->detail,
        .stop = options->stop,
    };
    return vamp_excerpt_create(&settings, &context, &self->detail->excerpt, err);
}

static void begin_recording(struct record_action *self, const struct vamp_alarm_change *change)
{
    struct services_detail *detail = self->detail;
    struct vamp_err err = VAMP_ERR_NONE;
    if (detail->excerpt == NULL && make_excerpt(self, change->alarm, &err) != 0) {
        char line[VAMP_ERR_TEXT_BYTES + 128];
        (void)snprintf(line, sizeof line, "alarm \"%s\": no recording: %s", change->alarm,
                       err.text);
        self->context->services->options.say(self->context->services->options.say_context, true,
                                             line);
        return;
    }
    if (!vamp_excerpt_is_busy(detail->excerpt)) {
        detail->recorded = (struct vamp_firing){.count = 0};
    }
    vamp_firing_note(&detail->recorded, change);
    vamp_excerpt_begin(detail->excerpt, change->since_ns - self->options->before_ns);
}

static void record_change(void *context, const struct vamp_alarm_change *change)
{
    struct record_action *self = context;
    struct services_detail *detail = self->detail;
    const unsigned before = detail->firing.count;
    vamp_firing_note(&detail->firing, change);
    if (detail->firing.count > before) {
        begin_recording(self, change);
    } else if (detail->firing.count == 0 && before > 0 && detail->excerpt != NULL) {
        vamp_excerpt_end(detail->excerpt);
    }
}

static void record_close(void *context)
{
    struct record_action *self = context;
    if (self != NULL) {
        services_release_detail(self->detail);
        free(self);
    }
}

const struct vamp_alarm_action_ops vamp_alarm_action_record = {
    .name = "record",
    .summary = "a recording that begins before the alarm and ends with it",
    .options = record_options,
    .options_bytes = sizeof(struct record_options),
    .open = record_open,
    .change = record_change,
    .when_silenced = true,
    .when_replayed = true,
    .close = record_close,
};
