/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The programs that alarms run. One thread starts and follows them, at most
 * VAMP_COMMANDS_RUNNING_MAX at a time and, of one lane, one after the other in the order in which
 * they were submitted; further ones wait, at most VAMP_COMMANDS_WAITING_MAX. Submitting copies and
 * never blocks; a command that finds no room is dropped and counted.
 *
 * submitted = succeeded + failed + dropped + waiting holds whenever the account is read.
 *
 * All functions are for one thread, the worker, unless stated otherwise.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vampire/core/err.h"

#define VAMP_COMMANDS_RUNNING_MAX 8
#define VAMP_COMMANDS_WAITING_MAX 64
/* Between SIGTERM, when a command's time is over, and SIGKILL. */
#define VAMP_COMMANDS_GRACE_NS INT64_C(2000000000)

struct vamp_commands;

struct vamp_alarm_command {
    const char *const *argv; /* argv[0] is an absolute path; ended by NULL */
    const char *about;       /* whose command it is, for messages: "alarm \"stuck\"" */
    const char *input;       /* its standard input */
    size_t input_bytes;
    unsigned lane;      /* any number */
    int64_t timeout_ns; /* from its start; then it is ended */
};

struct vamp_commands_account {
    uint64_t submitted;
    uint64_t succeeded; /* exit status 0 */
    uint64_t failed;    /* could not be started, another exit status, a signal, its time was over */
    uint64_t timed_out; /* of the failed: its time was over */
    uint64_t dropped;   /* never started: too many waited, or the run ended */
    uint64_t waiting;   /* to be started, or running */
};

/* Starts the thread. 0, -ENOMEM, -ENOSYS where the system cannot follow a process by a descriptor
 * (Linux before 5.3), or another -errno. */
VAMP_MUST_CHECK int vamp_commands_create(struct vamp_commands **ret_commands, struct vamp_err *err);
/* Copies everything; never blocks. False: it was dropped, and counted. */
bool vamp_commands_submit(struct vamp_commands *commands, const struct vamp_alarm_command *command);
void vamp_commands_account(struct vamp_commands *commands,
                           struct vamp_commands_account *ret_account);
/* The next message for the operator about a command that failed or was dropped; false: there is
 * none. To be called at intervals; of many at once the first few are kept and the rest counted. */
bool vamp_commands_message(struct vamp_commands *commands, char text[static VAMP_ERR_TEXT_BYTES]);
/* Waits until all commands have ended, at most `deadline_ns`; then those that run are ended and
 * those that wait are dropped. Returns after at most `deadline_ns`, twice the grace, and a second;
 * the account is final. */
void vamp_commands_finish(struct vamp_commands *commands, int64_t deadline_ns);
/* NULL-safe; finishes without waiting for commands if that was not done. */
void vamp_commands_free(struct vamp_commands *commands);
