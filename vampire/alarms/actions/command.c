/* SPDX-License-Identifier: BSD-3-Clause */
/* The action "command" runs a program that reads the change as JSON from its standard input. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "vampire/alarms/action.h"
#include "vampire/alarms/actions/services.h"

#define ARGUMENTS_MAX 64

struct command_options {
    struct vamp_strings argv;
    uint64_t states; /* states for which the program runs: bits of enum vamp_alarm_state */
    int64_t timeout_ns;
};

static const struct vamp_opt command_options[] = {
    {"argv", VAMP_OPT_STRINGS, offsetof(struct command_options, argv), NULL, .max = 4096,
     .help = "The program, as an absolute path, and its arguments; there is no shell, and the "
             "change is on its standard input as one line of JSON"},
    {"states", VAMP_OPT_SET, offsetof(struct command_options, states), "firing resolved",
     .choices = vamp_alarm_state_words, .help = "The states that run it when an alarm enters them"},
    {"timeout", VAMP_OPT_DURATION, offsetof(struct command_options, timeout_ns), "10s",
     .min = (uint64_t)VAMP_NS_PER_SECOND / 10, .max = (uint64_t)VAMP_NS_PER_SECOND * 3600,
     .help = "Time after which it is ended with SIGTERM and, 2 s later, SIGKILL"},
    {.key = NULL},
};

struct command_action {
    const struct command_options *options;
    struct vamp_action_services *services;
    const char *argv[ARGUMENTS_MAX + 1];
    unsigned lane;
    struct vamp_json json;
};

static int command_check(const void *options, struct vamp_err *err)
{
    const struct vamp_strings *argv = &((const struct command_options *)options)->argv;
    if (argv->count == 0) {
        return vamp_err_set(
            err, -EINVAL, "an action of type command needs \"argv\": [\"/path/of/program\", ...]");
    }
    if (argv->count > ARGUMENTS_MAX) {
        return vamp_err_set(err, -EINVAL, "\"argv\" has %zu texts, at most %d are allowed",
                            argv->count, ARGUMENTS_MAX);
    }
    if (argv->items[0][0] != '/') {
        return vamp_err_set(err, -EINVAL,
                            "\"argv\" begins with \"%.200s\", which is no absolute path",
                            argv->items[0]);
    }
    return 0;
}

static int command_open(const void *options, struct vamp_action_services *services, void **ret_self,
                        struct vamp_err *err)
{
    const struct command_options *chosen = options;
    if (services->commands == NULL) {
        const int code = vamp_commands_create(&services->commands, err);
        if (code != 0) {
            return code;
        }
    }
    if (access(chosen->argv.items[0], X_OK) != 0) {
        return vamp_err_set_errno(err, errno, "run %s", chosen->argv.items[0]);
    }
    struct command_action *self = calloc(1, sizeof *self);
    if (self == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "prepare an action of type command");
    }
    self->options = chosen;
    self->services = services;
    self->lane = services->lanes++;
    for (size_t i = 0; i < chosen->argv.count; i++) {
        self->argv[i] = chosen->argv.items[i];
    }
    *ret_self = self;
    return 0;
}

static void command_change(void *context, const struct vamp_alarm_change *change)
{
    struct command_action *self = context;
    if ((self->options->states & UINT64_C(1) << change->state) == 0) {
        return;
    }
    char about[VAMP_ALARM_NAME_BYTES + 16];
    (void)snprintf(about, sizeof about, "alarm \"%s\"", change->alarm);
    struct vamp_alarm_command command = {
        .argv = self->argv,
        .about = about,
        .input = "",
        .lane = self->lane,
        .timeout_ns = self->options->timeout_ns,
    };
    if (vamp_alarm_change_line(change, self->services->run, &self->json)) {
        command.input = self->json.bytes;
        command.input_bytes = self->json.used;
    }
    (void)vamp_commands_submit(self->services->commands, &command);
}

static void command_close(void *context)
{
    struct command_action *self = context;
    vamp_json_done(&self->json);
    free(self);
}

const struct vamp_alarm_action_ops vamp_alarm_action_command = {
    .name = "command",
    .summary = "a program, with the change as JSON on its standard input",
    .options = command_options,
    .options_bytes = sizeof(struct command_options),
    .check = command_check,
    .open = command_open,
    .change = command_change,
    .close = command_close,
};
