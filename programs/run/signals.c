/* SPDX-License-Identifier: BSD-3-Clause */
#include "programs/run/signals.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "programs/run/process.h"
#include "vampire/core/thread.h"
#include "vampire/core/values.h"
#include "vampire/core/worker.h"

/* Sent by vamp_signals_stop to end the thread; from other processes it requests a reload of the
 * silences. */
#define END_THREAD SIGUSR2
/* timeout(1), batch systems and service managers signal a process and its group: signals that
 * follow the first one this soon belong to the same request. Nobody types a second Ctrl-C that
 * fast. */
#define SAME_REQUEST_TERM_NS (2 * VAMP_NS_PER_SECOND)
#define SAME_REQUEST_INT_NS (VAMP_NS_PER_SECOND / 5)
/* Time added to "finish" before the process is terminated, and the minimum of the whole limit. */
#define LATER_NS (VAMP_NS_PER_SECOND / 2)
#define LEAST_NS (5 * VAMP_NS_PER_SECOND / 2)

static void watched_signals(sigset_t *set)
{
    static const int watched[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1, END_THREAD};
    (void)sigemptyset(set);
    for (size_t i = 0; i < sizeof watched / sizeof watched[0]; i++) {
        (void)sigaddset(set, watched[i]);
    }
}

void vamp_signals_hold(bool held)
{
    sigset_t set;
    watched_signals(&set);
    (void)sigdelset(&set, SIGINT);
    (void)sigdelset(&set, SIGTERM);
    (void)pthread_sigmask(held ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
}

/* Returns the time limit (monotonic) of an end that was requested. */
static int64_t deadline_ns(const struct vamp_signals *signals)
{
    const int64_t limit_ns = atomic_load(&signals->finish_ns) + LATER_NS;
    return atomic_load(&signals->stop_ns) + VAMP_MAX(limit_ns, LEAST_NS);
}

/* Waits for a signal and returns it; 0: the time limit of the end has passed. */
static int next_signal(const struct vamp_signals *signals, const sigset_t *set)
{
    int number = -1;
    do {
        if (atomic_load(&signals->stop) == 0) {
            number = sigwaitinfo(set, NULL);
        } else {
            const int64_t left_ns = deadline_ns(signals) - vamp_worker_now_ns();
            const struct timespec left = vamp_timespec(VAMP_MAX(left_ns, 0));
            number = sigtimedwait(set, NULL, &left);
        }
    } while (number < 0 && errno == EINTR);
    return number < 0 ? 0 : number; /* EAGAIN: timed out */
}

/* Terminates the process if its end is blocked by an operation that can neither be interrupted nor
 * left behind. */
static void give_up(void)
{
    (void)dprintf(STDERR_FILENO,
                  "%s: error: the end takes longer than \"finish\": the process ends now, and what "
                  "was not written is lost\n",
                  program_invocation_short_name);
    _exit(VAMP_EXIT_FAILED);
}

/* Requests the orderly end, or ends the process at once if that was requested before. */
static void request_end(struct vamp_signals *signals, int number)
{
    const int64_t now_ns = vamp_worker_now_ns();
    if (atomic_load(&signals->stop) == 0) {
        atomic_store(&signals->stop_ns, now_ns);
        atomic_store(&signals->stop, number);
        return;
    }
    const int64_t same_ns = number == SIGTERM ? SAME_REQUEST_TERM_NS : SAME_REQUEST_INT_NS;
    if (now_ns - atomic_load(&signals->stop_ns) >= same_ns) {
        _exit(128 + number);
    }
}

static void *wait_for_signals(void *argument)
{
    struct vamp_signals *signals = argument;
    sigset_t set;
    watched_signals(&set);
    for (;;) {
        const int number = next_signal(signals, &set);
        if (atomic_load(&signals->ending)) {
            return NULL;
        }
        if (number == 0) {
            give_up();
        } else if (number == SIGHUP) {
            (void)atomic_fetch_add(&signals->reload, 1);
        } else if (number == SIGUSR1) {
            (void)atomic_fetch_add(&signals->show, 1);
        } else if (number == END_THREAD) {
            (void)atomic_fetch_add(&signals->silence, 1);
        } else {
            request_end(signals, number);
        }
    }
}

int64_t vamp_signals_deadline(const struct vamp_signals *signals)
{
    int64_t end_ns = atomic_load(&signals->stop_ns);
    if (atomic_load(&signals->stop) == 0) {
        end_ns = vamp_worker_now_ns();
    }
    return atomic_load(&signals->finish_ns) + end_ns;
}

int vamp_signals_start(struct vamp_signals *signals, int64_t finish_ns, struct vamp_err *err)
{
    *signals = (struct vamp_signals){.finish_ns = finish_ns};
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN); /* exceeding the file size limit then is a write error */
    sigset_t set;
    watched_signals(&set);
    (void)pthread_sigmask(SIG_BLOCK, &set, NULL); /* cannot fail with these arguments */
    return vamp_thread_start(&signals->thread, "signals", wait_for_signals, signals, err);
}

bool vamp_signals_take(const atomic_uint *count, unsigned *seen)
{
    const unsigned before = *seen;
    *seen = atomic_load(count);
    return *seen != before;
}

void vamp_signals_stop(struct vamp_signals *signals)
{
    atomic_store(&signals->ending, true);
    (void)pthread_kill(signals->thread, END_THREAD);
    (void)pthread_join(signals->thread, NULL);
}
