/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads of ours: their names, and that the program's signals are the program's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>

#include "vampire/core/thread.h"

struct seen {
    char name[16];
    sigset_t blocked;
};

static void *look(void *argument)
{
    struct seen *seen = argument;
    /* The name is given from outside, soon after the start. */
    while (prctl(PR_GET_NAME, seen->name) == 0 && strncmp(seen->name, "reads", 5) != 0) {
        (void)sched_yield();
    }
    (void)pthread_sigmask(SIG_SETMASK, NULL, &seen->blocked);
    return NULL;
}

static void started(struct seen *ret_seen, const char *name)
{
    pthread_t thread;
    struct vamp_err err = VAMP_ERR_NONE;
    assert_int_equal(vamp_thread_start(&thread, name, look, ret_seen, &err), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void test_signals_stay_with_the_program(void **state)
{
    (void)state;
    struct seen seen = {0};
    started(&seen, "reads");
    for (int number = 1; number < SIGSYS; number++) {
        if (number != SIGKILL && number != SIGSTOP) {
            assert_true(sigismember(&seen.blocked, number));
        }
    }
    sigset_t ours;
    (void)pthread_sigmask(SIG_SETMASK, NULL, &ours);
    assert_false(sigismember(&ours, SIGTERM));
}

static void test_a_long_name_is_cut(void **state)
{
    (void)state;
    struct seen seen = {0};
    started(&seen, "reads what others wrote");
    assert_string_equal(seen.name, "reads what othe");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_signals_stay_with_the_program),
        cmocka_unit_test(test_a_long_name_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
