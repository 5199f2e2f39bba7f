/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The action "level": while an alarm fires, the CDOs that it concerns have records, as at level
 * cdo. The files have the table of CDOs from their begin, so that nothing begins again.
 */
#include "vampire/alarms/action.h"
#include "vampire/alarms/actions/services_internal.h"

static const char *const level_words[] = {"cdo", NULL};

struct level_options {
    unsigned to;
};

static const struct vamp_opt level_options[] = {
    {.key = "to",
     .type = VAMP_OPT_ENUM,
     .preset = "cdo",
     .choices = level_words,
     .offset = offsetof(struct level_options, to),
     .help = "What is kept while an alarm of the rule fires: a record of each CDO with an event of "
             "the alarm's components, and of the CDO it names"},
    {.key = NULL},
};

static int level_open(const void *options, const struct vamp_alarm_action_context *context,
                      void **ret_self, struct vamp_err *err)
{
    (void)options;
    struct services_detail *detail = services_add_detail(context->services);
    if (detail == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "prepare an action of type level");
    }
    detail->selects = true;
    *ret_self = detail;
    return 0;
}

static void level_change(void *self, const struct vamp_alarm_change *change)
{
    struct services_detail *detail = self;
    vamp_firing_note(&detail->firing, change);
}

static void level_close(void *self)
{
    services_release_detail(self);
}

const struct vamp_alarm_action_ops vamp_alarm_action_level = {
    .name = "level",
    .summary = "records of the CDOs concerned, while an alarm fires",
    .options = level_options,
    .options_bytes = sizeof(struct level_options),
    .open = level_open,
    .change = level_change,
    .when_silenced = true,
    .when_replayed = true,
    .close = level_close,
};
