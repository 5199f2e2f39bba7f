/* SPDX-License-Identifier: BSD-3-Clause */
/* Transports of which events name one component: which end it is, the CDO's own history shows. */
#include "tests/unit/stats_pair.h"

#define OTHER 3
#define THIRD 4
#define COUNTER(metric, labels) collect_counter(&run, run.count - 1, VAMP_METRIC_##metric, labels)
#define UNSATISFIED(component) COUNTER(ANOMALIES, component "|demand_never_satisfied")

static int64_t now_ms;

static int start(void **state)
{
    (void)state;
    struct vamp_stats_options options = collect_options();
    options.unknown =
        VAMP_UNKNOWN_BIT(VAMP_UNKNOWN_PEER) | VAMP_UNKNOWN_BIT(VAMP_UNKNOWN_TRANSPORT);
    pair_start(&options);
    FEED(event_join(2 * MS, OTHER, "Products 2"));
    FEED(event_join(2 * MS, THIRD, "Products 3"));
    now_ms = 2;
    return 0;
}

static void does(enum vamp_event_kind kind, uint64_t app_id, uint64_t cdo)
{
    FEED(event_with_size(event_cdo(kind, ++now_ms * MS, app_id, cdo), 100));
}

static void offered(uint64_t app_id, uint64_t cdo)
{
    FEED(event_cdo(VAMP_EVENT_DECLARE, ++now_ms * MS, app_id, cdo));
    does(VAMP_EVENT_SEAL, app_id, cdo);
    does(VAMP_EVENT_OFFER, app_id, cdo);
}

static void moves(uint64_t named, uint64_t cdo)
{
    does(VAMP_EVENT_TRANSPORT_INIT, named, cdo);
    does(VAMP_EVENT_TRANSPORT_COMPLETED, named, cdo);
}

static void finish(void)
{
    FEED(event_leave(++now_ms * MS, PRODUCTS, VAMP_LEAVE_FINALIZED));
    FEED(event_leave(++now_ms * MS, OTHER, VAMP_LEAVE_FINALIZED));
    FEED(event_leave(++now_ms * MS, THIRD, VAMP_LEAVE_FINALIZED));
    FEED(event_leave(++now_ms * MS, MODEL, VAMP_LEAVE_FINALIZED));
    vamp_stats_finish(run.stats);
}

static uint64_t transports(const char *source, const char *sink)
{
    char labels[256];
    (void)snprintf(labels, sizeof labels, "%s|%s|[0,256)|unknown|unknown", source, sink);
    return COUNTER(TRANSPORTS, labels);
}

static void check_pairs(uint64_t named[static 2])
{
    for (uint64_t cdo = 1; cdo <= 2; cdo++) {
        const uint64_t sink = cdo == 1 ? PRODUCTS : OTHER;
        offered(MODEL, cdo);
        does(VAMP_EVENT_DEMAND, sink, cdo);
        moves(named[cdo - 1], cdo);
        does(VAMP_EVENT_DISPOSE, sink, cdo);
    }
    finish();
    assert_int_equal(transports("IFS -- 0", "Products 1"), 1);
    assert_int_equal(transports("IFS -- 0", "Products 2"), 1);
    assert_int_equal(COUNTER(CONSUMED_BYTES, "Products 1"), 100);
    assert_int_equal(COUNTER(CONSUMED_BYTES, "IFS -- 0"), 0);
    assert_int_equal(collect_recorded(&run, VAMP_METRIC_DEMAND_WAIT_NS), 2);
    assert_int_equal(collect_recorded(&run, VAMP_METRIC_DEMAND_WAIT_PART_NS), 6);
    assert_int_equal(collect_recorded(&run, VAMP_METRIC_TRANSPORT_NS), 2);
    assert_int_equal(UNSATISFIED("Products 1"), 0);
    assert_int_equal(GAUGE(run.count - 1, TRANSPORTS_ACTIVE, "unknown").value, 0);
}

static void the_sink_is_named(void **state)
{
    (void)state;
    check_pairs((uint64_t[2]){PRODUCTS, OTHER});
}

static void the_source_is_named(void **state)
{
    (void)state;
    check_pairs((uint64_t[2]){MODEL, MODEL});
}

static void of_several_demands_that_begin_one_by_one_each_has_its_own(void **state)
{
    (void)state;
    offered(MODEL, 1);
    does(VAMP_EVENT_DEMAND, PRODUCTS, 1);
    does(VAMP_EVENT_TRANSPORT_INIT, MODEL, 1);
    does(VAMP_EVENT_DEMAND, OTHER, 1);
    does(VAMP_EVENT_TRANSPORT_COMPLETED, MODEL, 1);
    moves(MODEL, 1);
    finish();
    assert_int_equal(transports("IFS -- 0", "Products 1"), 1);
    assert_int_equal(transports("IFS -- 0", "Products 2"), 1);
    assert_int_equal(collect_recorded(&run, VAMP_METRIC_DEMAND_WAIT_NS), 2);
}

/* Which of two that wait has the data is not known until both have them. */
static void of_demands_that_wait_together_all_are_satisfied_by_as_many(void **state)
{
    (void)state;
    offered(MODEL, 1);
    does(VAMP_EVENT_DEMAND, PRODUCTS, 1);
    does(VAMP_EVENT_DEMAND, OTHER, 1);
    moves(MODEL, 1);
    moves(MODEL, 1);
    finish();
    assert_int_equal(transports("IFS -- 0", "unknown"), 2);
    assert_int_equal(UNSATISFIED("Products 1") + UNSATISFIED("Products 2"), 0);
    assert_int_equal(collect_recorded(&run, VAMP_METRIC_DEMAND_WAIT_NS), 0);
    assert_int_equal(collect_recorded(&run, VAMP_METRIC_TRANSPORT_NS), 0);
}

static void one_that_disposes_has_had_its_data(void **state)
{
    (void)state;
    offered(MODEL, 1);
    does(VAMP_EVENT_DEMAND, PRODUCTS, 1);
    does(VAMP_EVENT_DEMAND, OTHER, 1);
    moves(MODEL, 1);
    does(VAMP_EVENT_DISPOSE, OTHER, 1);
    finish();
    assert_int_equal(UNSATISFIED("Products 2"), 0);
    assert_int_equal(UNSATISFIED("Products 1"), 1); /* one transport, two demands */
}

/* Data that were required by one move while another waits, which seems to have them. */
static void one_whose_data_another_seems_to_have_is_not_unsatisfied(void **state)
{
    (void)state;
    offered(MODEL, 1);
    does(VAMP_EVENT_REQUIRE, PRODUCTS, 1);
    does(VAMP_EVENT_REQUIRE, OTHER, 1);
    does(VAMP_EVENT_DEMAND, PRODUCTS, 1);
    does(VAMP_EVENT_TRANSPORT_INIT, MODEL, 1); /* to OTHER */
    does(VAMP_EVENT_TRANSPORT_INIT, MODEL, 1);
    does(VAMP_EVENT_DEMAND, OTHER, 1);
    does(VAMP_EVENT_TRANSPORT_COMPLETED, MODEL, 1);
    does(VAMP_EVENT_DISPOSE, OTHER, 1);
    does(VAMP_EVENT_TRANSPORT_COMPLETED, MODEL, 1);
    does(VAMP_EVENT_DISPOSE, PRODUCTS, 1);
    finish();
    assert_int_equal(UNSATISFIED("Products 1") + UNSATISFIED("Products 2"), 0);
}

/* What is guessed of one life says nothing of the next. */
static void data_that_never_move_in_the_next_life_are_missed(void **state)
{
    (void)state;
    offered(MODEL, 1);
    does(VAMP_EVENT_DEMAND, PRODUCTS, 1);
    moves(MODEL, 1);
    does(VAMP_EVENT_WITHDRAW, MODEL, 1);
    does(VAMP_EVENT_OFFER, MODEL, 1);
    does(VAMP_EVENT_DEMAND, OTHER, 1);
    does(VAMP_EVENT_DISPOSE, OTHER, 1);
    finish();
    assert_int_equal(UNSATISFIED("Products 2"), 1);
}

static void data_that_move_before_their_demand_satisfy_it(void **state)
{
    (void)state;
    offered(MODEL, 1);
    does(VAMP_EVENT_REQUIRE, PRODUCTS, 1);
    moves(MODEL, 1);
    does(VAMP_EVENT_DEMAND, PRODUCTS, 1);
    does(VAMP_EVENT_WITHDRAW, MODEL, 1);
    finish();
    assert_int_equal(UNSATISFIED("Products 1"), 0);
    assert_int_equal(transports("IFS -- 0", "unknown"), 1);
    assert_int_equal(collect_recorded(&run, VAMP_METRIC_DEMANDS_PER_CDO), 1);
    assert_int_equal(COUNTER(ANOMALIES, "IFS -- 0|offer_never_demanded"), 0);
}

/* Data move while demands were received and not handled: what follows begins no other wait. */
static void demands_that_are_handled_after_their_data_begin_nothing(void **state)
{
    (void)state;
    offered(MODEL, 1);
    FEED(event_before(event_cdo(VAMP_EVENT_DEMAND, ++now_ms * MS, PRODUCTS, 1)));
    FEED(event_before(event_cdo(VAMP_EVENT_DEMAND, ++now_ms * MS, OTHER, 1)));
    moves(MODEL, 1);
    moves(MODEL, 1);
    does(VAMP_EVENT_DEMAND, PRODUCTS, 1);
    does(VAMP_EVENT_DEMAND, OTHER, 1);
    finish();
    assert_int_equal(UNSATISFIED("Products 1") + UNSATISFIED("Products 2"), 0);
    assert_int_equal(transports("IFS -- 0", "unknown"), 2);
}

/* A name is used again: what is left of its first life is none of the second's. */
static void the_next_life_of_a_name_begins_anew(void **state)
{
    (void)state;
    offered(MODEL, 1);
    does(VAMP_EVENT_REQUIRE, PRODUCTS, 1);
    moves(MODEL, 1);
    does(VAMP_EVENT_WITHDRAW, MODEL, 1);
    does(VAMP_EVENT_OFFER, MODEL, 1);
    does(VAMP_EVENT_DEMAND, PRODUCTS, 1);
    finish();
    assert_int_equal(UNSATISFIED("Products 1"), 1);
}

static void of_two_sources_none_is_named(void **state)
{
    (void)state;
    offered(MODEL, 1);
    offered(OTHER, 1);
    does(VAMP_EVENT_DEMAND, PRODUCTS, 1);
    moves(PRODUCTS, 1);
    offered(THIRD, 2); /* a CDO that its producer has declared, and another relays */
    does(VAMP_EVENT_DEMAND, PRODUCTS, 2);
    moves(PRODUCTS, 2);
    finish();
    assert_int_equal(transports("unknown", "Products 1"), 1);
    assert_int_equal(transports("Products 3", "Products 1"), 1);
}

/* What most say goes for a CDO of which nothing was seen; who contradicts them has unknown ends. */
static void what_most_transports_show_is_learned(void **state)
{
    (void)state;
    for (uint64_t cdo = 1; cdo <= 3; cdo++) {
        offered(MODEL, cdo);
        does(VAMP_EVENT_DEMAND, PRODUCTS, cdo);
        moves(MODEL, cdo);
    }
    does(VAMP_EVENT_DEMAND, OTHER, 9); /* offered before vampire came */
    moves(MODEL, 9);
    offered(MODEL, 10);
    does(VAMP_EVENT_DEMAND, OTHER, 10);
    moves(OTHER, 10);
    finish();
    assert_int_equal(transports("IFS -- 0", "Products 1"), 3);
    assert_int_equal(transports("IFS -- 0", "Products 2"), 1);
    assert_int_equal(transports("unknown", "unknown"), 1);
    assert_int_equal(UNSATISFIED("Products 2"), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, pair_end)
    const struct CMUnitTest tests[] = {
        TEST(the_sink_is_named),
        TEST(the_source_is_named),
        TEST(of_several_demands_that_begin_one_by_one_each_has_its_own),
        TEST(of_demands_that_wait_together_all_are_satisfied_by_as_many),
        TEST(one_that_disposes_has_had_its_data),
        TEST(one_whose_data_another_seems_to_have_is_not_unsatisfied),
        TEST(data_that_never_move_in_the_next_life_are_missed),
        TEST(data_that_move_before_their_demand_satisfy_it),
        TEST(demands_that_are_handled_after_their_data_begin_nothing),
        TEST(the_next_life_of_a_name_begins_anew),
        TEST(of_two_sources_none_is_named),
        TEST(what_most_transports_show_is_learned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
