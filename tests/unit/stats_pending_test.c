/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of the oldest pending demands, and of which CDOs ages are. */
#include "tests/unit/stats_pair.h"

#define OTHER_MODEL 3

static int start(void **state)
{
    (void)state;
    struct vamp_stats_options options = collect_options();
    options.sets = VAMP_SET_IN_FLIGHT;
    pair_start(&options);
    return 0;
}

static struct vamp_event named(enum vamp_event_kind kind, int64_t time_ns, uint64_t app_id,
                               uint64_t cdo, const char *name)
{
    return event_with_name(event_cdo(kind, time_ns, app_id, cdo), name);
}

static const struct vamp_waiting_demand *listed(size_t bucket, unsigned i)
{
    assert_true(i < run.buckets[bucket]->demand_count);
    return &run.buckets[bucket]->demands[i];
}

/* The CDO of the age of this component; "": none. */
static const char *cdo_of(size_t bucket, enum vamp_metric_id id, const char *component)
{
    const struct vamp_bucket *at = run.buckets[bucket];
    for (unsigned i = 0; i < at->oldest_count; i++) {
        if (at->oldest[i].metric == id && strcmp(at->oldest[i].component, component) == 0) {
            return at->oldest[i].name;
        }
    }
    return "";
}

static void a_demand_is_listed_once_it_is_older_than_a_bucket(void **state)
{
    (void)state;
    FEED(named(VAMP_EVENT_DEMAND, 400 * MS, PRODUCTS, 7, "fields/7"));
    FEED(named(VAMP_EVENT_DEMAND, 1400 * MS, PRODUCTS, 8, "fields/8"));
    vamp_stats_tick(run.stats, 4 * SECOND);
    assert_int_equal(run.buckets[0]->demand_count, 0);
    assert_int_equal(run.buckets[0]->demands_pending, 1);
    assert_int_equal(run.buckets[1]->demand_count, 1);
    assert_int_equal(run.buckets[1]->demands_pending, 2);
    assert_int_equal(run.buckets[2]->demand_count, 2);
    const struct vamp_waiting_demand *demand = listed(1, 0);
    assert_string_equal(demand->component, "Products 1");
    assert_string_equal(demand->name, "fields/7");
    assert_true(demand->id_known);
    assert_int_equal(demand->since_ns, 400 * MS);
    assert_int_equal(demand->age_ns, 1600 * MS);
    assert_null(demand->producer);
    assert_false(demand->offered);
    assert_false(demand->uncertain);
    assert_string_equal(listed(2, 0)->name, "fields/7");
    assert_string_equal(listed(2, 1)->name, "fields/8");
}

static void in_a_silence_the_list_ages(void **state)
{
    (void)state;
    FEED(named(VAMP_EVENT_DEMAND, 400 * MS, PRODUCTS, 7, "fields/7"));
    vamp_stats_tick(run.stats, 9 * SECOND);
    for (size_t b = 1; b < run.count; b++) {
        assert_int_equal(run.buckets[b]->demand_count, 1);
        assert_int_equal(listed(b, 0)->age_ns, (int64_t)(b + 1) * SECOND - 400 * MS);
        assert_string_equal(cdo_of(b, VAMP_METRIC_DEMAND_OLDEST_NS, "Products 1"), "fields/7");
    }
}

static void the_list_knows_who_declared_and_who_offers(void **state)
{
    (void)state;
    FEED(named(VAMP_EVENT_DECLARE, 100 * MS, MODEL, 7, "fields/7"));
    FEED(named(VAMP_EVENT_DECLARE, 200 * MS, PRODUCTS, 7, "fields/7"));
    FEED(named(VAMP_EVENT_REQUIRE, 300 * MS, PRODUCTS, 7, "fields/7"));
    FEED(named(VAMP_EVENT_DEMAND, 400 * MS, PRODUCTS, 7, "fields/7"));
    vamp_stats_tick(run.stats, 2 * SECOND);
    FEED(named(VAMP_EVENT_OFFER, 2500 * MS, MODEL, 7, "fields/7"));
    vamp_stats_tick(run.stats, 4 * SECOND);
    FEED(event_transport(VAMP_EVENT_TRANSPORT_COMPLETED, 4500 * MS, 1, 7, PRODUCTS, MODEL));
    vamp_stats_tick(run.stats, 7 * SECOND);
    assert_string_equal(listed(1, 0)->producer, "IFS -- 0");
    assert_false(listed(1, 0)->offered);
    assert_string_equal(listed(2, 0)->producer, "IFS -- 0");
    assert_true(listed(2, 0)->offered);
    assert_int_equal(run.buckets[4]->demand_count, 0);
    assert_int_equal(run.buckets[4]->demands_pending, 0);
}

static void of_several_offers_the_list_names_one_that_is_left(void **state)
{
    (void)state;
    FEED(event_join(3 * MS, OTHER_MODEL, "IFS -- 1"));
    FEED(event_cdo(VAMP_EVENT_OFFER, 100 * MS, MODEL, 7));
    FEED(event_cdo(VAMP_EVENT_OFFER, 200 * MS, OTHER_MODEL, 7));
    FEED(event_cdo(VAMP_EVENT_WITHDRAW, 300 * MS, MODEL, 7));
    FEED(event_cdo(VAMP_EVENT_DEMAND, 400 * MS, PRODUCTS, 7));
    vamp_stats_tick(run.stats, 3 * SECOND);
    assert_true(listed(1, 0)->offered);
    assert_string_equal(listed(1, 0)->producer, "IFS -- 1");
}

static void the_list_is_bounded_and_the_count_is_of_all(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 40; i++) {
        /* Not in the order of their ages. */
        FEED(event_cdo(VAMP_EVENT_DEMAND, (int64_t)(100 + i * 7 % 40) * MS, PRODUCTS, 100 + i));
    }
    vamp_stats_tick(run.stats, 3 * SECOND);
    assert_int_equal(run.buckets[1]->demand_count, VAMP_WAITING_DEMANDS_MAX);
    assert_int_equal(run.buckets[1]->demands_pending, 40);
    for (unsigned i = 0; i < VAMP_WAITING_DEMANDS_MAX; i++) {
        assert_int_equal(listed(1, i)->since_ns, (int64_t)(100 + i) * MS);
    }
}

static void what_began_before_a_loss_is_marked(void **state)
{
    (void)state;
    FEED(event_cdo(VAMP_EVENT_DEMAND, 400 * MS, PRODUCTS, 7));
    FEED(event_lost(500 * MS, VAMP_LOSS_RING, 3));
    FEED(event_cdo(VAMP_EVENT_DEMAND, 600 * MS, PRODUCTS, 8));
    vamp_stats_tick(run.stats, 3 * SECOND);
    assert_true(listed(1, 0)->uncertain);
    assert_false(listed(1, 1)->uncertain);
}

static void a_demand_of_no_component_with_a_row_is_listed(void **state)
{
    (void)state;
    struct vamp_event demand = event_cdo(VAMP_EVENT_DEMAND, 400 * MS, PRODUCTS, 7);
    demand.present &= (uint16_t)~VAMP_HAS_APP;
    FEED(demand);
    vamp_stats_tick(run.stats, 3 * SECOND);
    assert_string_equal(listed(1, 0)->component, "(other)");
}

static void ages_of_withdraws_and_transports_have_cdos_too(void **state)
{
    (void)state;
    FEED(event_before(named(VAMP_EVENT_WITHDRAW, 300 * MS, MODEL, 7, "fields/7")));
    FEED(event_before(named(VAMP_EVENT_OFFER, 310 * MS, MODEL, 9, "fields/9")));
    FEED(event_with_name(
        event_transport(VAMP_EVENT_TRANSPORT_INIT, 320 * MS, 1, 8, PRODUCTS, MODEL), "fields/8"));
    vamp_stats_tick(run.stats, 2 * SECOND);
    assert_string_equal(cdo_of(0, VAMP_METRIC_WITHDRAW_OLDEST_NS, "IFS -- 0"), "fields/7");
    assert_string_equal(cdo_of(0, VAMP_METRIC_TRANSPORT_OLDEST_NS, "Products 1"), "fields/8");
    assert_string_equal(cdo_of(0, VAMP_METRIC_DEMAND_OLDEST_NS, "Products 1"), "");
}

/* Row and name of an earlier demand of the same place do not show. */
static void a_cdo_without_a_name_has_its_identifier(void **state)
{
    (void)state;
    FEED(named(VAMP_EVENT_DEMAND, 100 * MS, PRODUCTS, 6, "fields/6"));
    FEED(event_transport(VAMP_EVENT_TRANSPORT_COMPLETED, 200 * MS, 1, 6, PRODUCTS, MODEL));
    struct vamp_event demand = event_cdo(VAMP_EVENT_DEMAND, 400 * MS, PRODUCTS, 7);
    demand.present &= (uint16_t)~VAMP_HAS_CDO_NAME;
    demand.name_length = 0;
    FEED(demand);
    vamp_stats_tick(run.stats, 3 * SECOND);
    assert_string_equal(listed(1, 0)->name, "");
    assert_int_equal(strlen(cdo_of(1, VAMP_METRIC_DEMAND_OLDEST_NS, "Products 1")), 32);
}

static void a_long_name_is_cut(void **state)
{
    (void)state;
    char name[1001];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    FEED(named(VAMP_EVENT_DEMAND, 400 * MS, PRODUCTS, 7, name));
    vamp_stats_tick(run.stats, 3 * SECOND);
    assert_int_equal(strlen(listed(1, 0)->name), VAMP_CDO_NAME_BYTES - 1);
}

/* Names of more than 45 bytes are kept elsewhere. */
static void a_name_of_any_length_is_whole(void **state)
{
    (void)state;
    static const size_t lengths[] = {255, 1, 44, 45, 46, 47, 100, 254};
    enum { COUNT = sizeof lengths / sizeof lengths[0] };
    char names[COUNT][VAMP_CDO_NAME_BYTES] = {{0}};
    for (unsigned i = 0; i < COUNT; i++) {
        memset(names[i], 'a' + (int)i, lengths[i]);
        FEED(named(VAMP_EVENT_DEMAND, (100 + i) * MS, PRODUCTS, 7 + i, names[i]));
    }
    /* The next one takes the place of the first. */
    FEED(event_transport(VAMP_EVENT_TRANSPORT_COMPLETED, 200 * MS, 1, 7, PRODUCTS, MODEL));
    FEED(named(VAMP_EVENT_DEMAND, 300 * MS, PRODUCTS, 6, "fields/6"));
    vamp_stats_tick(run.stats, 3 * SECOND);
    for (unsigned i = 1; i < COUNT; i++) {
        assert_string_equal(listed(1, i - 1)->name, names[i]);
    }
    assert_string_equal(listed(1, COUNT - 1)->name, "fields/6");
}

static void without_the_metric_nothing_is_kept(void **state)
{
    (void)state;
    (void)pair_end(state);
    struct vamp_stats_options options = collect_options();
    options.sets = VAMP_SET_IN_FLIGHT;
    options.metrics_off[VAMP_METRIC_DEMAND_OLDEST_NS] = true;
    pair_start(&options);
    FEED(named(VAMP_EVENT_DEMAND, 400 * MS, PRODUCTS, 7, "fields/7"));
    vamp_stats_tick(run.stats, 3 * SECOND);
    assert_int_equal(run.buckets[1]->demand_count, 0);
    assert_int_equal(run.buckets[1]->oldest_count, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, pair_end)
    const struct CMUnitTest tests[] = {
        TEST(a_demand_is_listed_once_it_is_older_than_a_bucket),
        TEST(in_a_silence_the_list_ages),
        TEST(the_list_knows_who_declared_and_who_offers),
        TEST(of_several_offers_the_list_names_one_that_is_left),
        TEST(the_list_is_bounded_and_the_count_is_of_all),
        TEST(what_began_before_a_loss_is_marked),
        TEST(a_demand_of_no_component_with_a_row_is_listed),
        TEST(ages_of_withdraws_and_transports_have_cdos_too),
        TEST(a_cdo_without_a_name_has_its_identifier),
        TEST(a_long_name_is_cut),
        TEST(a_name_of_any_length_is_whole),
        TEST(without_the_metric_nothing_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
