/* SPDX-License-Identifier: BSD-3-Clause */
/* The worker: its bounds, its account at each moment, its messages, and its end in time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "vampire/core/clock.h"
#include "vampire/core/worker.h"

#define LONG_NS (20 * VAMP_NS_PER_SECOND)
#define SHORT_NS (VAMP_NS_PER_SECOND / 50)

/* A worker whose thread takes numbers, adds them, and can be held. */
struct adder {
    struct vamp_worker worker;
    bool held; /* with the lock, as the rest */
    uint64_t sum, taken;
};

static void add_all(void *context)
{
    struct adder *adder = context;
    struct vamp_worker *worker = &adder->worker;
    vamp_worker_lock(worker);
    for (;;) {
        if (adder->held || (worker->count == 0 && !worker->finishing)) {
            vamp_worker_wait(worker, VAMP_WORKER_NEVER_NS);
        } else if (worker->count == 0) {
            break;
        } else {
            adder->sum += vamp_worker_remove(worker, 0).number;
            adder->taken++;
            vamp_worker_count(&worker->done, 1);
        }
    }
    vamp_worker_unlock(worker);
}

static void open_adder(struct adder *adder, unsigned items_max, bool held)
{
    struct vamp_err err = VAMP_ERR_NONE;
    *adder = (struct adder){.held = held};
    const struct vamp_worker_bounds bounds = {.items_max = items_max};
    assert_int_equal(vamp_worker_init(&adder->worker, &bounds, 1, &err), 0);
    assert_int_equal(vamp_worker_start(&adder->worker, "adds", add_all, adder, &err), 0);
}

static struct vamp_worker_account account_of(const struct vamp_worker *worker)
{
    struct vamp_worker_account account;
    vamp_worker_account(worker, &account);
    assert_int_equal(account.queued, account.done + account.lost + account.waiting);
    return account;
}

static bool put(struct vamp_worker *worker, uint64_t number, uint64_t bytes)
{
    vamp_worker_lock(worker);
    const bool accepted =
        vamp_worker_put(worker, &(struct vamp_worker_item){.number = number, .bytes = bytes});
    vamp_worker_unlock(worker);
    (void)account_of(worker);
    return accepted;
}

static void release(struct adder *adder)
{
    vamp_worker_lock(&adder->worker);
    adder->held = false;
    (void)pthread_cond_broadcast(&adder->worker.changed);
    vamp_worker_unlock(&adder->worker);
}

static void all_that_is_accepted_is_done_before_the_end(void **state)
{
    (void)state;
    struct adder adder;
    open_adder(&adder, 4, false);
    uint64_t sum = 0;
    unsigned accepted = 0;
    for (unsigned i = 1; i <= 1000; i++) {
        const bool taken = put(&adder.worker, i, 0);
        sum += taken ? i : 0;
        accepted += taken;
    }
    assert_true(vamp_worker_join(&adder.worker, vamp_worker_end(&adder.worker, LONG_NS)));
    const struct vamp_worker_account account = account_of(&adder.worker);
    assert_int_equal(adder.sum, sum);
    assert_int_equal(account.queued, 1000);
    assert_int_equal(account.done, accepted);
    assert_int_equal(account.lost, 1000 - accepted);
    assert_int_equal(account.waiting, 0);
    vamp_worker_done(&adder.worker);
}

static void what_finds_no_room_is_refused_at_once(void **state)
{
    (void)state;
    struct adder adder;
    open_adder(&adder, 3, true);
    for (unsigned i = 0; i < 8; i++) {
        assert_int_equal(put(&adder.worker, i, 0), i < 3);
    }
    assert_int_equal(account_of(&adder.worker).waiting, 3);
    assert_int_equal(account_of(&adder.worker).lost, 5);
    release(&adder);
    const int64_t until_ns = vamp_worker_end(&adder.worker, LONG_NS);
    assert_false(put(&adder.worker, 1, 0)); /* the end has begun */
    assert_true(vamp_worker_join(&adder.worker, until_ns));
    assert_int_equal(adder.sum, 0 + 1 + 2);
    assert_int_equal(account_of(&adder.worker).lost, 6);
    vamp_worker_done(&adder.worker);
}

/* As when it is stuck in the operating system. */
static void a_thread_that_does_not_return_is_left_behind(void **state)
{
    (void)state;
    static struct adder adder; /* the thread uses it after the test */
    open_adder(&adder, 3, true);
    assert_true(put(&adder.worker, 1, 0));
    assert_false(vamp_worker_must_give_up(&adder.worker));
    const int64_t began_ns = vamp_worker_now_ns();
    assert_false(vamp_worker_join(&adder.worker, vamp_worker_end(&adder.worker, SHORT_NS)));
    assert_true(vamp_worker_now_ns() - began_ns >= SHORT_NS);
    assert_true(vamp_worker_must_give_up(&adder.worker));
    assert_true(adder.worker.abandoned);
    release(&adder); /* what it still does changes no account */
    const struct vamp_worker_account account = account_of(&adder.worker);
    assert_int_equal(account.lost, 1);
    assert_int_equal(account.waiting, 0);
}

/* A queue without a thread, bounded in bytes. */
static void bytes_are_bounded_and_one_always_fits(void **state)
{
    (void)state;
    struct vamp_worker worker;
    struct vamp_err err = VAMP_ERR_NONE;
    const struct vamp_worker_bounds bounds = {.bytes_max = 100};
    assert_int_equal(vamp_worker_init(&worker, &bounds, 1, &err), 0);
    assert_true(put(&worker, 0, 500));
    assert_false(put(&worker, 1, 1));
    assert_true(put(&worker, 2, 0)); /* counts for nothing */
    vamp_worker_lock(&worker);
    assert_int_equal(vamp_worker_remove(&worker, 0).bytes, 500);
    assert_int_equal(vamp_worker_remove(&worker, 0).number, 2);
    vamp_worker_unlock(&worker);
    for (unsigned i = 0; i < 100; i++) { /* it grows */
        assert_true(put(&worker, i, 1));
    }
    assert_false(put(&worker, 100, 1));
    assert_int_equal(account_of(&worker).waiting, 102); /* the first two were not counted */
    vamp_worker_done(&worker);
}

static void one_in_the_middle_can_be_taken(void **state)
{
    (void)state;
    struct vamp_worker worker;
    struct vamp_err err = VAMP_ERR_NONE;
    const struct vamp_worker_bounds bounds = {.items_max = 4};
    assert_int_equal(vamp_worker_init(&worker, &bounds, 1, &err), 0);
    assert_true(put(&worker, 0, 0) && put(&worker, 1, 0));
    assert_int_equal(vamp_worker_remove(&worker, 0).number, 0);
    assert_true(put(&worker, 2, 0) && put(&worker, 3, 0) && put(&worker, 4, 0)); /* around */
    assert_int_equal(vamp_worker_at(&worker, 2)->number, 3);
    assert_int_equal(vamp_worker_remove(&worker, 2).number, 3);
    assert_int_equal(vamp_worker_remove(&worker, 0).number, 1);
    assert_int_equal(vamp_worker_remove(&worker, 1).number, 4);
    assert_int_equal(vamp_worker_remove(&worker, 0).number, 2);
    vamp_worker_done(&worker);
}

static void say(struct vamp_worker *worker, int number)
{
    struct vamp_err err = VAMP_ERR_NONE;
    (void)vamp_err_set(&err, -EIO, "%d", number);
    vamp_worker_say(worker, &err);
}

static void the_first_messages_are_kept_and_the_rest_counted(void **state)
{
    (void)state;
    struct vamp_worker worker;
    struct vamp_err err = VAMP_ERR_NONE;
    uint64_t left_out = 1;
    assert_int_equal(vamp_worker_init(&worker, &(struct vamp_worker_bounds){0}, 3, &err), 0);
    assert_false(vamp_worker_message(&worker, &err, &left_out));
    assert_int_equal(left_out, 0);
    for (int i = 1; i <= 5; i++) {
        say(&worker, i);
    }
    static const char *const expected[] = {"1", "2", "3"};
    for (unsigned i = 0; i < 3; i++) {
        assert_true(vamp_worker_message(&worker, &err, &left_out));
        assert_string_equal(err.text, expected[i]);
        assert_int_equal(left_out, 0);
    }
    assert_false(vamp_worker_message(&worker, &err, &left_out));
    assert_int_equal(left_out, 2);
    assert_false(vamp_worker_message(&worker, &err, &left_out));
    assert_int_equal(left_out, 0);
    vamp_worker_done(&worker);
}

static void of_one_message_the_newest_counts(void **state)
{
    (void)state;
    struct vamp_worker worker;
    struct vamp_err err = VAMP_ERR_NONE;
    uint64_t left_out = 1;
    assert_int_equal(vamp_worker_init(&worker, &(struct vamp_worker_bounds){0}, 1, &err), 0);
    say(&worker, 1);
    say(&worker, 2);
    assert_true(vamp_worker_message(&worker, &err, &left_out));
    assert_string_equal(err.text, "2");
    assert_false(vamp_worker_message(&worker, &err, &left_out));
    assert_int_equal(left_out, 0);
    assert_string_equal(worker.first_failure.text, "1");
    vamp_worker_done(&worker);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_that_is_accepted_is_done_before_the_end),
        cmocka_unit_test(what_finds_no_room_is_refused_at_once),
        cmocka_unit_test(a_thread_that_does_not_return_is_left_behind),
        cmocka_unit_test(bytes_are_bounded_and_one_always_fits),
        cmocka_unit_test(one_in_the_middle_can_be_taken),
        cmocka_unit_test(the_first_messages_are_kept_and_the_rest_counted),
        cmocka_unit_test(of_one_message_the_newest_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
