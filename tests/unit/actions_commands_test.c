/* SPDX-License-Identifier: BSD-3-Clause */
/* The programs that alarms run: real processes, from /bin/sh scripts that the tests name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "vampire/alarms/actions/commands.h"
#include "vampire/core/clock.h"

#define PATIENCE_NS (20 * VAMP_NS_PER_SECOND)
#define LONG_NS (60 * VAMP_NS_PER_SECOND)

struct world {
    struct vamp_commands *commands;
    char folder[64];
};

static int set_up(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    assert_non_null(world);
    (void)snprintf(world->folder, sizeof world->folder, "/tmp/vampire-commands-XXXXXX");
    assert_non_null(mkdtemp(world->folder));
    struct vamp_err err = VAMP_ERR_NONE;
    if (vamp_commands_create(&world->commands, &err) != 0) {
        fail_msg("%s", err.text);
    }
    *state = world;
    return 0;
}

static int tear_down(void **state)
{
    struct world *world = *state;
    char command[128];
    vamp_commands_free(world->commands);
    (void)snprintf(command, sizeof command, "rm -r %s", world->folder);
    assert_int_equal(system(command), 0);
    free(world);
    return 0;
}

static int64_t now_ns(void)
{
    return vamp_clock_monotonic_ns(&vamp_clock_system);
}

/* Runs the script in the world's folder, which is $0. */
static bool submit(struct world *world, const char *script, const char *input, unsigned lane,
                   int64_t timeout_ns)
{
    const char *const argv[] = {"/bin/sh", "-c", script, world->folder, NULL};
    return vamp_commands_submit(world->commands, &(struct vamp_alarm_command){
                                                     .argv = argv,
                                                     .about = "alarm \"stuck\"",
                                                     .input = input,
                                                     .input_bytes = strlen(input),
                                                     .lane = lane,
                                                     .timeout_ns = timeout_ns,
                                                 });
}

static struct vamp_commands_account account_of(struct world *world)
{
    struct vamp_commands_account account;
    vamp_commands_account(world->commands, &account);
    assert_int_equal(account.submitted,
                     account.succeeded + account.failed + account.dropped + account.waiting);
    return account;
}

static void finish(struct world *world)
{
    vamp_commands_finish(world->commands, PATIENCE_NS);
    assert_int_equal(account_of(world).waiting, 0);
}

static void read_result(const struct world *world, const char *name, char *text, size_t bytes)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", world->folder, name);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    const size_t length = fread(text, 1, bytes - 1, file);
    text[length] = '\0';
    (void)fclose(file);
}

static void wait_for_file(const struct world *world, const char *name)
{
    char path[128];
    (void)snprintf(path, sizeof path, "%s/%s", world->folder, name);
    const int64_t until_ns = now_ns() + PATIENCE_NS;
    while (access(path, F_OK) != 0) {
        assert_true(now_ns() < until_ns);
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

static void expect_message(struct world *world, const char *expected)
{
    char text[VAMP_ERR_TEXT_BYTES];
    assert_true(vamp_commands_message(world->commands, text));
    assert_string_equal(text, expected);
}

static void the_text_is_its_standard_input(void **state)
{
    struct world *world = *state;
    const char *input = "{\"alarm\":\"$(touch x); `id` \\\" '\"}\n";
    assert_true(submit(world, "cat > $0/input", input, 0, LONG_NS));
    finish(world);
    char text[VAMP_ERR_TEXT_BYTES];
    read_result(world, "input", text, sizeof text);
    assert_string_equal(text, input);
    assert_int_equal(account_of(world).succeeded, 1);
    assert_false(vamp_commands_message(world->commands, text));
}

/* More than a pipe holds, to a program that never reads. */
static void input_that_is_not_read_delays_nothing(void **state)
{
    struct world *world = *state;
    char *input = malloc(1U << 20);
    assert_non_null(input);
    memset(input, 'x', (1U << 20) - 1);
    input[(1U << 20) - 1] = '\0';
    assert_true(submit(world, ":", input, 0, LONG_NS));
    free(input);
    finish(world);
    assert_int_equal(account_of(world).succeeded, 1);
}

static void it_inherits_neither_descriptors_nor_secrets(void **state)
{
    struct world *world = *state;
    const int extra = dup(STDERR_FILENO); /* without close-on-exec */
    assert_true(extra > STDERR_FILENO);
    assert_true(submit(world,
                       "ls /proc/self/fd > $0/fds; env | sed 's/=.*//' | sort > $0/env; "
                       "grep SigBlk /proc/self/status > $0/blocked",
                       "", 0, LONG_NS));
    finish(world);
    (void)close(extra);
    char text[1024];
    read_result(world, "fds", text, sizeof text);
    assert_string_equal(text, "0\n1\n2\n3\n"); /* 3: the folder that ls reads */
    read_result(world, "blocked", text, sizeof text);
    assert_string_equal(text, "SigBlk:\t0000000000000000\n");
    read_result(world, "env", text, sizeof text);
    assert_null(strstr(text, "MSTRO"));
    assert_non_null(strstr(text, "PATH\n"));
}

static void commands_of_a_lane_keep_their_order(void **state)
{
    struct world *world = *state;
    char script[64];
    for (unsigned i = 0; i < 20; i++) {
        (void)snprintf(script, sizeof script, "echo %u >> $0/order", i);
        assert_true(submit(world, script, "", 7, LONG_NS));
    }
    finish(world);
    char text[256], expected[256];
    size_t used = 0;
    for (unsigned i = 0; i < 20; i++) {
        used += (size_t)snprintf(expected + used, sizeof expected - used, "%u\n", i);
    }
    read_result(world, "order", text, sizeof text);
    assert_string_equal(text, expected);
}

static void a_failure_is_counted_and_said_with_what_it_printed(void **state)
{
    struct world *world = *state;
    assert_true(submit(world, "echo no such pager >&2; exit 3", "", 0, LONG_NS));
    assert_true(submit(world, "kill -9 $$", "", 0, LONG_NS));
    const char *const argv[] = {"/nowhere/page", NULL};
    assert_true(vamp_commands_submit(
        world->commands,
        &(struct vamp_alarm_command){
            .argv = argv, .about = "alarm \"a\"", .input = "", .timeout_ns = LONG_NS}));
    finish(world);
    expect_message(world, "alarm \"stuck\": /bin/sh failed with exit status 3: \"no such pager\"");
    expect_message(world, "alarm \"stuck\": /bin/sh was ended by signal 9");
    expect_message(world, "alarm \"a\": start /nowhere/page: No such file or directory");
    const struct vamp_commands_account account = account_of(world);
    assert_int_equal(account.failed, 3);
    assert_int_equal(account.timed_out, 0);
}

/* Until the process whose number is in that file is gone, or waits to be reaped. */
static void wait_for_death(const struct world *world, const char *name)
{
    char text[64], path[96], exe[64];
    read_result(world, name, text, sizeof text);
    (void)snprintf(path, sizeof path, "/proc/%ld/exe", strtol(text, NULL, 10));
    const int64_t until_ns = now_ns() + PATIENCE_NS;
    while (readlink(path, exe, sizeof exe) >= 0) {
        assert_true(now_ns() < until_ns);
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

/* It ignores SIGTERM, and so does its child: both are killed. */
static void a_command_that_hangs_is_ended(void **state)
{
    struct world *world = *state;
    assert_true(submit(world, "trap '' TERM; sleep 1000 & echo $! > $0/child; wait; sleep 1000", "",
                       0, VAMP_NS_PER_SECOND / 2));
    assert_true(submit(world, "echo next > $0/next", "", 0, LONG_NS));
    finish(world);
    expect_message(world, "alarm \"stuck\": /bin/sh did not end within 500 ms and was ended");
    char text[64];
    read_result(world, "next", text, sizeof text);
    wait_for_death(world, "child");
    const struct vamp_commands_account account = account_of(world);
    assert_int_equal(account.timed_out, 1);
    assert_int_equal(account.succeeded, 1);
}

/* It ends with SIGTERM, its child ignores it. */
static void what_a_command_leaves_behind_is_ended_with_it(void **state)
{
    struct world *world = *state;
    assert_true(submit(world, "(trap '' TERM; exec sleep 1000) & echo $! > $0/child; wait", "", 0,
                       VAMP_NS_PER_SECOND / 2));
    finish(world);
    wait_for_death(world, "child");
    assert_int_equal(account_of(world).timed_out, 1);
}

static void a_command_that_hangs_delays_no_other_lane_and_not_the_caller(void **state)
{
    struct world *world = *state;
    assert_true(submit(world, "sleep 1000", "", 0, LONG_NS));
    const int64_t before_ns = now_ns();
    for (unsigned i = 0; i < VAMP_COMMANDS_WAITING_MAX; i++) {
        (void)submit(world, ":", "", 0, LONG_NS);
    }
    assert_true(now_ns() - before_ns < VAMP_NS_PER_SECOND);
    assert_false(submit(world, ":", "", 0, LONG_NS) && submit(world, ":", "", 0, LONG_NS));
    expect_message(world, "alarm \"stuck\": /bin/sh was not run: too many commands wait already");
    vamp_commands_finish(world->commands, 0);
    const struct vamp_commands_account account = account_of(world);
    assert_int_equal(account.succeeded, 0);
    assert_int_equal(account.timed_out, 0);
    assert_true(account.failed <= 1);
    assert_true(account.dropped >= VAMP_COMMANDS_WAITING_MAX);
}

static void other_lanes_go_on(void **state)
{
    struct world *world = *state;
    assert_true(
        submit(world, "while [ ! -e $0/other ]; do sleep 0.01; done; : > $0/end", "", 0, LONG_NS));
    assert_true(submit(world, ": > $0/other", "", 1, LONG_NS));
    wait_for_file(world, "end");
    finish(world);
    assert_int_equal(account_of(world).succeeded, 2);
}

/* A program may print as much as it likes. */
static void output_is_read_and_dropped(void **state)
{
    struct world *world = *state;
    assert_true(submit(world, "head -c 3000000 /dev/zero | tr '\\0' 'y'; exit 1", "", 0, LONG_NS));
    finish(world);
    char text[VAMP_ERR_TEXT_BYTES];
    assert_true(vamp_commands_message(world->commands, text));
    assert_non_null(strstr(text, "failed with exit status 1: \"yyyy"));
}

int main(void)
{
    (void)setenv("MSTRO_POOL_MANAGER_INFO", "secret", 1);
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(the_text_is_its_standard_input),
        TEST(input_that_is_not_read_delays_nothing),
        TEST(it_inherits_neither_descriptors_nor_secrets),
        TEST(commands_of_a_lane_keep_their_order),
        TEST(a_failure_is_counted_and_said_with_what_it_printed),
        TEST(a_command_that_hangs_is_ended),
        TEST(what_a_command_leaves_behind_is_ended_with_it),
        TEST(a_command_that_hangs_delays_no_other_lane_and_not_the_caller),
        TEST(other_lanes_go_on),
        TEST(output_is_read_and_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
