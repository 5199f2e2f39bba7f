/* SPDX-License-Identifier: BSD-3-Clause */
#include "programs/run/signals.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

#include "vampire/core/thread.h"

/* Sent by vamp_signals_stop to end the thread; from others it asks for the silences. */
#define END_THREAD SIGUSR2

static void watched_signals(sigset_t *set)
{
    (void)sigemptyset(set);
    (void)sigaddset(set, SIGINT);
    (void)sigaddset(set, SIGTERM);
    (void)sigaddset(set, SIGHUP);
    (void)sigaddset(set, SIGUSR1);
    (void)sigaddset(set, END_THREAD);
}

static void *wait_for_signals(void *argument)
{
    struct vamp_signals *signals = argument;
    sigset_t set;
    watched_signals(&set);
    for (;;) {
        int number = 0;
        if (sigwait(&set, &number) != 0) {
            continue;
        }
        if (number == END_THREAD) {
            if (atomic_load(&signals->ending)) {
                return NULL;
            }
            (void)atomic_fetch_add(&signals->silence, 1);
            continue;
        }
        if (number == SIGHUP) {
            (void)atomic_fetch_add(&signals->reload, 1);
            continue;
        }
        if (number == SIGUSR1) {
            (void)atomic_fetch_add(&signals->show, 1);
            continue;
        }
        if (atomic_exchange(&signals->stop, number) != 0) {
            /* Asked twice: the user does not want to wait. */
            _exit(128 + number);
        }
    }
}

int vamp_signals_start(struct vamp_signals *signals, struct vamp_err *err)
{
    atomic_init(&signals->stop, 0);
    atomic_init(&signals->ending, false);
    atomic_init(&signals->reload, 0);
    atomic_init(&signals->show, 0);
    atomic_init(&signals->silence, 0);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN); /* a limit on file size is a write error, too */
    sigset_t set;
    watched_signals(&set);
    (void)pthread_sigmask(SIG_BLOCK, &set, NULL); /* cannot fail with these arguments */
    return vamp_thread_start(&signals->thread, "signals", wait_for_signals, signals, err);
}

void vamp_signals_stop(struct vamp_signals *signals)
{
    atomic_store(&signals->ending, true);
    (void)pthread_kill(signals->thread, END_THREAD);
    (void)pthread_join(signals->thread, NULL);
}
