/* SPDX-License-Identifier: BSD-3-Clause */
/* The pool alone: components, states of CDOs, who waits for whom, bounds. */
#include "tests/unit/pool_world.h"

/* ------------------------------------------------------------------ components */

static void test_join(void **state)
{
    (void)state;
    const struct pool_bounds bounds = {.components = 3};
    struct world *world = world_create(&bounds);
    struct vamp_err err = VAMP_ERR_NONE;
    uint64_t app = 0;
    assert_int_equal(join(world, "IFS -- 0"), 1);
    assert_int_equal(join(world, "a, \"b\""), 2);
    assert_int_equal(pool_join(world->pool, "IFS -- 0", 0, &app, &err), MSTRO_REFUSED);
    assert_non_null(strstr(err.text, "\"IFS -- 0\""));
    assert_int_equal(pool_join(world->pool, "", 0, &app, &err), MSTRO_REFUSED);
    static const char *const broken[] = {
        "\xff", "a\xc3", "\xc0\x80", "\xed\xa0\x80", "\xf5\x80\x80\x80", "\xe2\x28\xa1"};
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        assert_int_equal(pool_join(world->pool, broken[i], 0, &app, &err), MSTRO_REFUSED);
    }
    assert_int_equal(join(world, "Zürich \xf0\x9f\x8c\xa6"), 3);
    assert_int_equal(pool_join(world->pool, "one more", 0, &app, &err), MSTRO_NOMEM);
    assert_int_equal(pool_component_count(world->pool), 3);
    assert_string_equal(pool_component_name(world->pool, 1), "IFS -- 0");
    pool_leave(world->pool, 1, VAMP_LEAVE_VANISHED);
    pool_leave(world->pool, 1, VAMP_LEAVE_VANISHED);
    assert_null(pool_component_name(world->pool, 1));
    assert_int_equal(join(world, "IFS -- 0"), 4); /* ids are never used again */
    world_free(world);
}

/* ------------------------------------------------------------------ transitions */

enum reach {
    REACH_DECLARED,
    REACH_SEALED,
    REACH_OFFERED,
    REACH_WITHDRAWING,
    REACH_WITHDRAWN,
    REACH_REQUIRED,
    REACH_DEMANDED,
    REACH_SATISFIED,
    REACH_RETRACTED,
    REACH_COUNT,
};

static uint64_t reach(struct world *world, uint64_t app, uint64_t other, enum reach target)
{
    uint64_t handle = declare(world, app, "field");
    switch (target) {
    case REACH_DECLARED:
        break;
    case REACH_SEALED:
        must(world, app, handle, SEAL);
        break;
    case REACH_OFFERED:
        must(world, app, handle, OFFER);
        break;
    case REACH_WITHDRAWING:
        must(world, app, handle, OFFER);
        (void)required(world, other, "field");
        assert_int_equal(operate(world, app, handle, WITHDRAW), UNANSWERED);
        break;
    case REACH_WITHDRAWN:
        must(world, app, handle, OFFER);
        must(world, app, handle, WITHDRAW);
        break;
    case REACH_REQUIRED:
        must(world, app, handle, REQUIRE);
        break;
    case REACH_DEMANDED:
        must(world, app, handle, REQUIRE);
        must(world, app, handle, DEMAND);
        break;
    case REACH_SATISFIED:
        must(world, app, handle, REQUIRE);
        must(world, app, handle, DEMAND);
        (void)offered(world, other, "field");
        assert_int_equal(
            status_of(world, send_end(world, app, world->tickets[world->ticket_count - 1].transport,
                                      MSTRO_OK)),
            MSTRO_OK);
        break;
    case REACH_RETRACTED:
        must(world, app, handle, REQUIRE);
        must(world, app, handle, RETRACT);
        break;
    case REACH_COUNT:
        break;
    }
    return handle;
}

static const char *const reach_names[REACH_COUNT] = {
    "declared", "sealed",   "offered",   "being withdrawn", "withdrawn",
    "required", "demanded", "satisfied", "retracted",
};

struct operation_row {
    const char *name;
    Mstro__Wire__Operation operation;
    unsigned legal; /* bits of enum reach */
};

#define IN(state) (1U << REACH_##state)
static const struct operation_row operation_rows[] = {
    {"seal", SEAL, IN(DECLARED)},
    {"offer", OFFER, IN(DECLARED) | IN(SEALED)},
    {"require", REQUIRE, IN(DECLARED) | IN(SEALED)},
    {"demand", DEMAND, IN(REQUIRED)},
    {"retract", RETRACT, IN(REQUIRED)},
    {"withdraw", WITHDRAW, IN(OFFERED)},
    {"dispose", DISPOSE, IN(DECLARED) | IN(SEALED) | IN(WITHDRAWN) | IN(SATISFIED) | IN(RETRACTED)},
};

static void test_every_transition(void **state)
{
    (void)state;
    for (unsigned from = 0; from < REACH_COUNT; from++) {
        for (size_t i = 0; i < sizeof operation_rows / sizeof operation_rows[0]; i++) {
            const struct operation_row *row = &operation_rows[i];
            struct world *world = world_create(NULL);
            uint64_t app = join(world, "one");
            uint64_t other = join(world, "other");
            uint64_t handle = reach(world, app, other, (enum reach)from);
            uint64_t id = send_operation(world, app, handle, row->operation);
            const struct answer_record *answer = answer_to(world, id);
            assert_non_null(answer);
            if ((row->legal & (1U << from)) != 0) {
                assert_int_equal(answer->status, MSTRO_OK);
            } else {
                assert_int_equal(answer->status, MSTRO_INVSTATE);
                assert_non_null(strstr(answer->text, row->name));
                assert_non_null(strstr(answer->text, reach_names[from]));
                assert_non_null(strstr(answer->text, "\"field\""));
            }
            world_free(world);
        }
    }
}

static void test_wrong_requests(void **state)
{
    (void)state;
    struct world *world = world_create(NULL);
    uint64_t app = join(world, "one");
    uint64_t other = join(world, "other");
    uint64_t handle = declare(world, app, "x");
    assert_int_equal(operate(world, other, handle, SEAL), MSTRO_NOENT); /* not its own */
    assert_int_equal(operate(world, app, 999, SEAL), MSTRO_NOENT);
    assert_int_equal(operate(world, app, handle, (Mstro__Wire__Operation)3), MSTRO_INVMSG);
    assert_int_equal(operate(world, app, handle, (Mstro__Wire__Operation)-1), MSTRO_INVMSG);
    assert_int_equal(operate(world, app, handle, (Mstro__Wire__Operation)99), MSTRO_INVMSG);
    assert_int_equal(status_of(world, send_declare(world, app, "")), MSTRO_INVARG);
    assert_int_equal(status_of(world, send_declare(world, app, "\xff")), MSTRO_INVARG);
    assert_int_equal(status_of(world, send_end(world, app, 5, MSTRO_OK)), MSTRO_NOENT);
    assert_int_equal(status_of(world, send_unsubscribe(world, app, 5)), MSTRO_NOENT);
    assert_int_equal(acknowledge(world, app, 5, 1), MSTRO_NOENT);
    assert_int_equal(status_of(world, send_subscribe(world, app, "((", ALL_KINDS, 0)),
                     MSTRO_INVARG);
    assert_int_equal(status_of(world, send_subscribe(world, app, NULL, ALL_KINDS, 64)),
                     MSTRO_INVARG);
    Mstro__Wire__Request nothing = MSTRO__WIRE__REQUEST__INIT;
    assert_int_equal(status_of(world, send(world, app, &nothing)), MSTRO_INVMSG);
    size_t answers = world->answer_count;
    (void)send_declare(world, 77, "nobody"); /* an unknown component is not answered */
    assert_int_equal(world->answer_count, answers);
    world_free(world);
}

static void test_names_and_ids(void **state)
{
    (void)state;
    struct world *world = world_create(NULL);
    uint64_t app = join(world, "one");
    char name[VAMP_NAME_BYTES_MAX + 2];
    memset(name, 'n', sizeof name);
    name[VAMP_NAME_BYTES_MAX + 1] = '\0';
    assert_int_equal(status_of(world, send_declare(world, app, name)), MSTRO_INVARG);
    name[VAMP_NAME_BYTES_MAX] = '\0';
    struct answer_record first = *answer_to(world, send_declare(world, app, name));
    struct answer_record second = *answer_to(world, send_declare(world, app, name));
    struct answer_record another = *answer_to(world, send_declare(world, app, "another"));
    assert_int_not_equal(first.handle, second.handle);
    assert_memory_equal(first.cdo_id, second.cdo_id, 16);
    assert_memory_not_equal(first.cdo_id, another.cdo_id, 16);
    must(world, app, first.handle, DISPOSE);
    struct answer_record third = *answer_to(world, send_declare(world, app, name));
    assert_memory_equal(first.cdo_id, third.cdo_id, 16);
    must(world, app, second.handle, DISPOSE);
    must(world, app, third.handle, DISPOSE);
    struct answer_record anew = *answer_to(world, send_declare(world, app, name));
    assert_memory_not_equal(first.cdo_id, anew.cdo_id, 16);
    world_free(world);
}

/* ------------------------------------------------------------------ demand and withdraw */

static void test_demand_meets_offer(void **state)
{
    (void)state;
    struct world *world = world_create(NULL);
    uint64_t producer = join(world, "producer");
    uint64_t consumer = join(world, "consumer");
    uint64_t sink = demanded(world, consumer, "x"); /* answered at once, nothing is there yet */
    assert_int_equal(world->ticket_count, 0);
    uint64_t source = declare(world, producer, "x");
    assert_int_equal(seal_with(world, producer, source, ".my.step", 3, 77), MSTRO_OK);
    must(world, producer, source, OFFER);
    assert_int_equal(world->ticket_count, 1);
    const struct ticket_record *ticket = &world->tickets[0];
    assert_int_equal(ticket->app, consumer);
    assert_int_equal(ticket->source, producer);
    assert_int_equal(ticket->handle, sink);
    assert_int_equal(ticket->size, 77);
    assert_int_equal(ticket->attributes, 1);
    assert_true(ticket->memory);
    assert_int_equal(status_of(world, send_end(world, producer, ticket->transport, MSTRO_OK)),
                     MSTRO_NOENT); /* only its sink ends it */
    assert_int_equal(status_of(world, send_end(world, consumer, ticket->transport, MSTRO_OK)),
                     MSTRO_OK);
    assert_int_equal(status_of(world, send_end(world, consumer, ticket->transport, MSTRO_OK)),
                     MSTRO_NOENT);
    must(world, consumer, sink, DISPOSE);
    world_free(world);
}

static void test_withdraw_waits(void **state)
{
    (void)state;
    struct world *world = world_create(NULL);
    uint64_t producer = join(world, "producer");
    uint64_t consumer = join(world, "consumer");
    uint64_t source = declare(world, producer, "x");
    uint64_t first = declare(world, consumer, "x");
    uint64_t second = declare(world, consumer, "x");
    must(world, producer, source, OFFER);
    must(world, consumer, first, REQUIRE);
    must(world, consumer, second, REQUIRE);
    uint64_t withdraw = send_operation(world, producer, source, WITHDRAW);
    assert_int_equal(status_of(world, withdraw), UNANSWERED);
    must(world, consumer, first, RETRACT);
    assert_int_equal(status_of(world, withdraw), UNANSWERED);
    must(world, consumer, second, DEMAND); /* still served while it is being withdrawn */
    assert_int_equal(world->ticket_count, 1);
    assert_int_equal(status_of(world, withdraw), UNANSWERED);
    (void)send_end(world, consumer, world->tickets[0].transport, MSTRO_OK);
    assert_int_equal(status_of(world, withdraw), MSTRO_OK);
    must(world, producer, source, DISPOSE);
    world_free(world);
}

static void test_other_offer_frees_withdraw(void **state)
{
    (void)state;
    struct world *world = world_create(NULL);
    uint64_t one = join(world, "one");
    uint64_t two = join(world, "two");
    uint64_t consumer = join(world, "consumer");
    uint64_t first = declare(world, one, "x");
    uint64_t second = declare(world, two, "x");
    uint64_t sink = declare(world, consumer, "x");
    must(world, one, first, OFFER);
    must(world, consumer, sink, REQUIRE);
    uint64_t withdraw = send_operation(world, one, first, WITHDRAW);
    assert_int_equal(status_of(world, withdraw), UNANSWERED);
    must(world, two, second, OFFER);
    assert_int_equal(status_of(world, withdraw), MSTRO_OK);
    must(world, consumer, sink, DEMAND);
    assert_int_equal(world->tickets[0].source, two);
    /* A transport from it holds it, although another component offers the CDO. */
    (void)offered(world, one, "x");
    uint64_t again = send_operation(world, two, second, WITHDRAW);
    assert_int_equal(status_of(world, again), UNANSWERED);
    (void)send_end(world, consumer, world->tickets[0].transport, MSTRO_OK);
    assert_int_equal(status_of(world, again), MSTRO_OK);
    world_free(world);
}

static void test_failed_transport(void **state)
{
    (void)state;
    struct world *world = world_create(NULL);
    uint64_t one = join(world, "one");
    uint64_t two = join(world, "two");
    uint64_t consumer = join(world, "consumer");
    (void)offered(world, one, "x");
    (void)offered(world, two, "x");
    uint64_t sink = demanded(world, consumer, "x");
    assert_int_equal(world->ticket_count, 1);
    (void)send_end(world, consumer, world->tickets[0].transport, MSTRO_OFI_FAIL);
    assert_int_equal(world->ticket_count, 2); /* the other offer */
    assert_int_not_equal(world->tickets[0].source, world->tickets[1].source);
    (void)send_end(world, consumer, world->tickets[1].transport, MSTRO_OFI_FAIL);
    assert_int_equal(world->ticket_count, 3); /* none is left: the demand ends */
    assert_int_equal(world->tickets[2].status, MSTRO_FAIL);
    assert_int_equal(world->tickets[2].transport, 0);
    assert_int_equal(world->tickets[2].handle, sink);
    must(world, consumer, sink, DEMAND); /* it is required again */
    assert_int_equal(world->ticket_count, 4);
    (void)send_end(world, consumer, world->tickets[3].transport, MSTRO_OK);
    must(world, consumer, sink, DISPOSE);
    world_free(world);
}

static void test_source_leaves_while_sending(void **state)
{
    (void)state;
    struct world *world = world_create(NULL);
    uint64_t producer = join(world, "producer");
    uint64_t consumer = join(world, "consumer");
    (void)offered(world, producer, "x");
    uint64_t sink = demanded(world, consumer, "x");
    pool_leave(world->pool, producer, VAMP_LEAVE_VANISHED);
    assert_int_equal(world->ticket_count, 1);
    (void)send_end(world, consumer, world->tickets[0].transport, MSTRO_OFI_FAIL);
    assert_int_equal(world->ticket_count, 2);
    assert_int_equal(world->tickets[1].status, MSTRO_FAIL);
    /* Or it was through in time. */
    uint64_t late = join(world, "late");
    (void)offered(world, late, "x");
    must(world, consumer, sink, DEMAND);
    pool_leave(world->pool, late, VAMP_LEAVE_FINALIZED);
    assert_int_equal(
        status_of(world, send_end(world, consumer, world->tickets[2].transport, MSTRO_OK)),
        MSTRO_OK);
    must(world, consumer, sink, DISPOSE);
    world_free(world);
}

static struct world *world_that_moves_at_require(void)
{
    struct pool_bounds bounds = pool_bounds_default;
    bounds.move_at_require = true;
    return world_create(&bounds);
}

static void test_data_move_at_require(void **state)
{
    (void)state;
    struct world *world = world_that_moves_at_require();
    uint64_t producer = join(world, "producer");
    uint64_t consumer = join(world, "consumer");
    uint64_t early = declare(world, consumer, "x");
    must(world, consumer, early, REQUIRE); /* before there is an offer */
    uint64_t source = offered(world, producer, "x");
    assert_int_equal(world->ticket_count, 1);
    uint64_t given_up = declare(world, consumer, "x");
    must(world, consumer, given_up, REQUIRE);
    assert_int_equal(world->ticket_count, 2);
    assert_int_equal(world->tickets[1].handle, given_up);
    uint64_t retract = send_operation(world, consumer, given_up, RETRACT);
    uint64_t withdraw = send_operation(world, producer, source, WITHDRAW);
    (void)send_end(world, consumer, world->tickets[0].transport, MSTRO_OK);
    assert_int_equal(status_of(world, retract), UNANSWERED); /* its memory is written to */
    assert_int_equal(status_of(world, withdraw), UNANSWERED);
    (void)send_end(world, consumer, world->tickets[1].transport, MSTRO_OK);
    assert_int_equal(status_of(world, retract), MSTRO_OK);
    assert_int_equal(status_of(world, withdraw), MSTRO_OK); /* before the demand */
    must(world, consumer, given_up, DISPOSE);
    must(world, consumer, early, DEMAND);
    must(world, consumer, early, DISPOSE);
    assert_int_equal(world->ticket_count, 2);
    world_free(world);
}

static void test_what_failed_before_its_demand_is_tried_at_it(void **state)
{
    (void)state;
    struct world *world = world_that_moves_at_require();
    uint64_t producer = join(world, "producer");
    uint64_t consumer = join(world, "consumer");
    (void)offered(world, producer, "x");
    uint64_t sink = declare(world, consumer, "x");
    must(world, consumer, sink, REQUIRE);
    (void)send_end(world, consumer, world->tickets[0].transport, MSTRO_OFI_FAIL);
    assert_int_equal(world->ticket_count, 1);
    must(world, consumer, sink, DEMAND);
    assert_int_equal(world->ticket_count, 2);
    (void)send_end(world, consumer, world->tickets[1].transport, MSTRO_OK);
    must(world, consumer, sink, DISPOSE);
    /* A demand while its data move waits for these. */
    uint64_t again = declare(world, consumer, "x");
    must(world, consumer, again, REQUIRE);
    must(world, consumer, again, DEMAND);
    assert_int_equal(world->ticket_count, 3);
    uint64_t held = declare(world, consumer, "x");
    must(world, consumer, held, REQUIRE);
    (void)send_end(world, consumer, world->tickets[2].transport, MSTRO_OK);
    pool_leave(world->pool, consumer, VAMP_LEAVE_VANISHED); /* while data move to `held` */
    world_free(world);
}

static void test_pending_demand_outlives_offers(void **state)
{
    (void)state;
    struct world *world = world_create(NULL);
    uint64_t producer = join(world, "producer");
    uint64_t consumer = join(world, "consumer");
    (void)demanded(world, consumer, "x");
    must(world, producer, declare(world, producer, "x"), SEAL);
    pool_leave(world->pool, producer, VAMP_LEAVE_VANISHED);
    assert_int_equal(world->ticket_count, 0);
    uint64_t next = join(world, "next");
    (void)offered(world, next, "x");
    assert_int_equal(world->ticket_count, 1);
    assert_int_equal(world->tickets[0].source, next);
    world_free(world);
}

/* A component leaves from every state, with and without a component that waits for it. */
static void test_leave_in_every_state(void **state)
{
    (void)state;
    for (unsigned from = 0; from < REACH_COUNT; from++) {
        for (unsigned by_request = 0; by_request < 2; by_request++) {
            struct world *world = world_create(NULL);
            uint64_t watcher = join(world, "watcher");
            uint64_t app = join(world, "one");
            uint64_t other = join(world, "other");
            (void)subscribe(world, watcher, NULL, UINT64_C(1) << VAMP_EVENT_LEAVE, 0);
            (void)reach(world, app, other, (enum reach)from);
            if (by_request) {
                assert_int_equal(status_of(world, send_leave(world, app)), MSTRO_OK);
            } else {
                pool_leave(world->pool, app, VAMP_LEAVE_VANISHED);
            }
            assert_null(pool_component_name(world->pool, app));
            struct ear *ear = calloc(1, sizeof *ear);
            listen(world, watcher, 64, ear);
            assert_int_equal(ear->count, 1);
            assert_int_equal(ear->events[0].reason,
                             by_request ? VAMP_LEAVE_FINALIZED : VAMP_LEAVE_VANISHED);
            free(ear);
            world_free(world);
        }
    }
}

static void test_leave_frees_withdraw(void **state)
{
    (void)state;
    struct world *world = world_create(NULL);
    uint64_t producer = join(world, "producer");
    uint64_t consumer = join(world, "consumer");
    uint64_t source = declare(world, producer, "x");
    uint64_t sink = declare(world, consumer, "x");
    must(world, producer, source, OFFER);
    must(world, consumer, sink, REQUIRE);
    must(world, consumer, sink, DEMAND);
    uint64_t withdraw = send_operation(world, producer, source, WITHDRAW);
    assert_int_equal(status_of(world, withdraw), UNANSWERED);
    pool_leave(world->pool, consumer, VAMP_LEAVE_VANISHED);
    assert_int_equal(status_of(world, withdraw), MSTRO_OK);
    world_free(world);
}

/* ------------------------------------------------------------------ bounds */

static void test_bounds(void **state)
{
    (void)state;
    const struct pool_bounds bounds = {.components = 4,
                                       .cdos = 3,
                                       .handles_per_component = 4,
                                       .subscriptions_per_component = 2,
                                       .attribute_bytes_per_cdo = 32,
                                       .queue_bytes_per_subscription = 4096};
    struct world *world = world_create(&bounds);
    uint64_t app = join(world, "one");
    uint64_t a = declare(world, app, "a");
    (void)declare(world, app, "b");
    (void)declare(world, app, "c");
    uint64_t id = send_declare(world, app, "d");
    const struct answer_record *answer = answer_to(world, id);
    assert_non_null(answer);
    assert_int_equal(answer->status, MSTRO_NOMEM);
    assert_non_null(strstr(answer->text, "3"));
    (void)declare(world, app, "a");
    assert_int_equal(status_of(world, send_declare(world, app, "a")), MSTRO_NOMEM);
    assert_int_equal(seal_with(world, app, a, ".a.key.that.is.much.too.long.for.it", 1, 1),
                     MSTRO_NOMEM);
    assert_int_equal(seal_with(world, app, a, ".a.short.key", 1, 1), MSTRO_OK);
    (void)subscribe(world, app, NULL, ALL_KINDS, 0);
    (void)subscribe(world, app, NULL, ALL_KINDS, 0);
    assert_int_equal(status_of(world, send_subscribe(world, app, NULL, ALL_KINDS, 0)), MSTRO_NOMEM);
    must(world, app, a, DISPOSE);
    (void)declare(world, app, "a");
    world_free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_join),
        cmocka_unit_test(test_every_transition),
        cmocka_unit_test(test_wrong_requests),
        cmocka_unit_test(test_names_and_ids),
        cmocka_unit_test(test_demand_meets_offer),
        cmocka_unit_test(test_withdraw_waits),
        cmocka_unit_test(test_other_offer_frees_withdraw),
        cmocka_unit_test(test_failed_transport),
        cmocka_unit_test(test_source_leaves_while_sending),
        cmocka_unit_test(test_data_move_at_require),
        cmocka_unit_test(test_what_failed_before_its_demand_is_tried_at_it),
        cmocka_unit_test(test_pending_demand_outlives_offers),
        cmocka_unit_test(test_leave_in_every_state),
        cmocka_unit_test(test_leave_frees_withdraw),
        cmocka_unit_test(test_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
