/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs the programs of alarms. One thread starts and monitors them: at most
 * VAMP_COMMANDS_RUNNING_MAX at a time; commands of one lane run one after the other in the order of
 * submission. At most VAMP_COMMANDS_WAITING_MAX commands wait. Submitting copies the command and
 * never blocks; commands over the limit are dropped and counted.
 *
 * Invariant: submitted = succeeded + failed + dropped + waiting.
 *
 * All functions must be called by one thread, the worker.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vampire/core/err.h"

#define VAMP_COMMANDS_RUNNING_MAX 8
#define VAMP_COMMANDS_WAITING_MAX 64
/* Time between SIGTERM, which is sent at the timeout of a command, and SIGKILL. */
#define VAMP_COMMANDS_GRACE_NS INT64_C(2000000000)

struct vamp_commands;

struct vamp_alarm_command {
    const char *const *argv; /* argv[0] is an absolute path; terminated by NULL */
    const char *about;       /* origin of the command, for messages: "alarm \"stuck\"" */
    const char *input;       /* standard input of the program */
    size_t input_bytes;
    unsigned lane;      /* any number */
    int64_t timeout_ns; /* from the start of the program; then it is terminated */
};

struct vamp_commands_account {
    uint64_t submitted;
    uint64_t succeeded; /* the exit status was 0 */
    /* Could not be started, or ended with another exit status, by a signal, or at the timeout. */
    uint64_t failed;
    uint64_t timed_out; /* included in `failed` */
    uint64_t dropped;   /* never started: too many were waiting, or the run ended */
    uint64_t waiting;   /* waiting or running */
};

/* Starts the thread. Returns 0; -ENOMEM; -ENOSYS if the system has no pidfd_open (Linux
 * before 5.3); or another -errno. */
VAMP_MUST_CHECK int vamp_commands_create(struct vamp_commands **ret_commands, struct vamp_err *err);
/* Submits a copy of the command; never blocks. Returns false if the command was dropped, which is
 * counted. */
bool vamp_commands_submit(struct vamp_commands *commands, const struct vamp_alarm_command *command);
void vamp_commands_account(struct vamp_commands *commands,
                           struct vamp_commands_account *ret_account);
/* Returns the next message about a command that failed or was dropped; false if there is none. To
 * be called periodically; if there are many messages, the first few are kept and the others
 * counted. */
bool vamp_commands_message(struct vamp_commands *commands, char text[static VAMP_ERR_TEXT_BYTES]);
/* Waits for all commands, at most `deadline_ns`; then terminates running commands and drops waiting
 * ones. Returns after at most `deadline_ns` plus twice the grace period plus one second. The
 * counters are final afterwards. */
void vamp_commands_finish(struct vamp_commands *commands, int64_t deadline_ns);
/* Calls vamp_commands_finish without waiting for commands, if it was not called, and frees
 * everything. NULL is allowed. */
void vamp_commands_free(struct vamp_commands *commands);
