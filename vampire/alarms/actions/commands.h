/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *  * Runs the programs of alarms. One thread starts and monitors them: at most
 * VAMP_COMMANDS_RUNNING_MAX at a time, and those of one lane one after the other in order of
 * submission; at most VAMP_COMMANDS_WAITING_MAX wait. Submitting copies and never blocks; commands
 * over the limit are dropped and counted.
 *
 * Always submitted = succeeded + failed + dropped + waiting.
 *
 * All functions are for one thread, the worker.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vampire/core/err.h"

#define VAMP_COMMANDS_RUNNING_MAX 8
#define VAMP_COMMANDS_WAITING_MAX 64
/* Between SIGTERM, at the timeout of a command, and SIGKILL. */
#define VAMP_COMMANDS_GRACE_NS INT64_C(2000000000)

struct vamp_commands;

struct vamp_alarm_command {
    const char *const *argv; /* argv[0] is an absolute path; ended by NULL */
    const char *about;       /* its origin, for messages: "alarm \"stuck\"" */
    const char *input;       /* its standard input */
    size_t input_bytes;
    unsigned lane;      /* any number */
    int64_t timeout_ns; /* from its start; then it is ended */
};

struct vamp_commands_account {
    uint64_t submitted;
    uint64_t succeeded; /* exit status 0 */
    uint64_t failed;    /* could not be started, other exit status, signal, or timeout */
    uint64_t timed_out; /* included in `failed` */
    uint64_t dropped;   /* never started: too many were waiting, or the run ended */
    uint64_t waiting;   /* or running */
};

/* Starts the thread. 0, -ENOMEM, -ENOSYS if the system has no pidfd_open (Linux before 5.3), or
 * another -errno. */
VAMP_MUST_CHECK int vamp_commands_create(struct vamp_commands **ret_commands, struct vamp_err *err);
/* Copies everything; never blocks. False: it was dropped and counted. */
bool vamp_commands_submit(struct vamp_commands *commands, const struct vamp_alarm_command *command);
void vamp_commands_account(struct vamp_commands *commands,
                           struct vamp_commands_account *ret_account);
/* The next message about a command that failed or was dropped; false: there is none. To be called
 * periodically; of many messages the first few are kept and the rest counted. */
bool vamp_commands_message(struct vamp_commands *commands, char text[static VAMP_ERR_TEXT_BYTES]);
/* Waits for all commands, at most `deadline_ns`; then ends those that run and drops those that
 * wait. Returns after at most `deadline_ns`, twice the grace, and a second; the account is final.
 */
void vamp_commands_finish(struct vamp_commands *commands, int64_t deadline_ns);
/* Finishes without waiting for commands if that was not done. NULL is allowed. */
void vamp_commands_free(struct vamp_commands *commands);
