/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One program that runs for an alarm: started with a text on its standard input, followed, and
 * ended when its time is over. Private to this folder; one thread.
 *
 * The program gets standard input, output and error and no other descriptor, default signals, a
 * session of its own, and the environment that vamp_process_environment makes. Its input is a file
 * in memory, so that a program which does not read delays no write.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "vampire/core/err.h"

/* Bytes kept of what the program prints; the rest is read and dropped. */
#define VAMP_PROCESS_SAID_BYTES 160

struct vamp_process {
    pid_t pid;
    int pidfd;       /* readable once it has ended */
    int output;      /* its standard output and error; -1: it has closed both */
    int64_t next_ns; /* monotonic: when the next signal is due; INT64_MAX: never */
    bool timed_out;  /* SIGTERM was sent to its process group */
    bool killed;     /* and SIGKILL */
    size_t said_bytes;
    char said[VAMP_PROCESS_SAID_BYTES]; /* the start of what it printed; not terminated */
};

/* How it ended. */
struct vamp_process_end {
    bool known; /* false: the operating system did not report how */
    bool by_signal;
    int status; /* the exit status, or the number of the signal */
};

/* PATH, HOME, USER, LOGNAME, SHELL, LANG, LC_ALL, TZ and TMPDIR of this process, nothing else: what
 * else is in its environment, such as the address of a pool manager, may be secret. `kept` is of
 * this process's own texts, ended by NULL. Nothing changes these variables any more. */
#define VAMP_PROCESS_VARIABLES_MAX 9
void vamp_process_environment(char *kept[static VAMP_PROCESS_VARIABLES_MAX + 1]);

/* Starts argv[0] (a path) with these arguments. 0 or -errno with nothing left behind. May wait for
 * the file system that holds the program. `now_ns` and the time-out are monotonic. */
VAMP_MUST_CHECK int vamp_process_start(struct vamp_process *process, char *const *argv,
                                       char *const *environment, const char *input,
                                       size_t input_bytes, int64_t end_ns, struct vamp_err *err);
/* Reads what it has printed; never waits. */
void vamp_process_read(struct vamp_process *process);
/* Sends the signal that is due: SIGTERM to its process group, `grace_ns` later SIGKILL. */
void vamp_process_expire(struct vamp_process *process, int64_t now_ns, int64_t grace_ns);
/* True when it has ended: then the rest of its process group is killed if its time was over, it is
 * reaped, its descriptors are closed, and `*ret_end` is set. */
bool vamp_process_ended(struct vamp_process *process, struct vamp_process_end *ret_end);
