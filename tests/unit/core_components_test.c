/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/lib/events.h"
#include "tests/lib/fault.h"
#include "vampire/core/event/components.h"

static struct vamp_components *components;

static int start(void **state)
{
    (void)state;
    return vamp_components_create(8, &components, NULL);
}

static int end(void **state)
{
    (void)state;
    vamp_components_free(components);
    return 0;
}

static const struct vamp_component *see(struct vamp_event event)
{
    return vamp_components_observe(components, &event);
}

static void a_join_teaches_a_name(void **state)
{
    (void)state;
    const struct vamp_component *row = see(event_join(5, 42, "IFS -- 0"));
    assert_string_equal(row->name, "IFS -- 0");
    assert_int_equal(row->joined_ns, 5);
    assert_true(row->left_ns == INT64_MIN);
    assert_int_equal(row->index, 1);
    assert_true(row->changed);
    vamp_components_changed_clear(components, 1);
    assert_false(row->changed);
    assert_ptr_equal(see(event_of(VAMP_EVENT_OFFER, 6, 42)), row);
    assert_ptr_equal(vamp_components_find(components, 42), row);
    assert_int_equal(row->operations, 2);
    assert_true(row->changed);
    assert_int_equal(vamp_components_present(components), 1);
    see(event_leave(9, 42, VAMP_LEAVE_VANISHED));
    assert_int_equal(row->left_ns, 9);
    assert_int_equal(row->reason, VAMP_LEAVE_VANISHED);
    see(event_leave(11, 42, VAMP_LEAVE_FINALIZED));
    assert_int_equal(row->left_ns, 9);
    assert_int_equal(vamp_components_present(components), 0);
}

static void an_id_met_late_is_unknown(void **state)
{
    (void)state;
    const struct vamp_component *row = see(event_cdo(VAMP_EVENT_DEMAND, 5, 42, 1));
    assert_string_equal(row->name, "unknown");
    assert_int_equal(row->name_number, VAMP_NAME_UNKNOWN);
    assert_true(row->joined_ns == INT64_MIN);
    /* Its join comes after all. */
    assert_ptr_equal(see(event_join(4, 42, "late")), row);
    assert_string_equal(row->name, "late");
    assert_int_equal(row->joined_ns, 4);
    /* A transport names two. */
    see(event_transport(VAMP_EVENT_TRANSPORT_INIT, 6, 1, 1, 42, 43));
    assert_non_null(vamp_components_find(components, 43));
    assert_int_equal(vamp_components_find(components, 43)->operations, 0);
    assert_null(vamp_components_find(components, 44));
    assert_int_equal(vamp_components_present(components), 2);
}

static void one_name_has_one_number(void **state)
{
    (void)state;
    const struct vamp_component *a = see(event_join(1, 1, "same"));
    const struct vamp_component *b = see(event_join(2, 2, "same"));
    const struct vamp_component *c = see(event_join(3, 3, "sam"));
    assert_ptr_not_equal(a, b);
    assert_int_equal(a->name_number, b->name_number);
    assert_int_not_equal(a->name_number, c->name_number);
    assert_string_equal(vamp_components_name(components, a->name_number), "same");
    assert_string_equal(vamp_components_name(components, 4000), "unknown");
}

/* A component named like a label of vampire's own gets another label, and the mapping stays one to
 * one. */
static void reserved_names_get_a_backslash(void **state)
{
    (void)state;
    static const char *const names[][2] = {{"unknown", "\\unknown"},
                                           {"(other)", "\\(other)"},
                                           {"\\(other)", "\\\\(other)"},
                                           {"\\same", "\\same"}};
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < (round == 0 ? 4 : 3); i++) {
            const struct vamp_component *row = see(event_join(10 * round + i, 1 + i, names[i][0]));
            assert_string_equal(row->name, names[i][1]);
            assert_int_equal(row->name_number, 2 + i);
        }
    }
}

static void a_name_ends_at_its_first_nul(void **state)
{
    (void)state;
    struct vamp_event event = event_join(1, 1, "a");
    event.name = "a\0bc";
    event.name_length = 4;
    const struct vamp_component *whole = see(event_join(2, 2, "a"));
    const struct vamp_component *cut = see(event);
    assert_string_equal(cut->name, "a");
    assert_int_equal(cut->name_number, whole->name_number);
    event.name = "\0bc";
    event.name_length = 3;
    event.app_id = 3;
    assert_int_equal(see(event)->name_number, VAMP_NAME_UNKNOWN);
}

static void an_id_that_joins_again_gets_a_new_row(void **state)
{
    (void)state;
    const struct vamp_component *first = see(event_join(1, 7, "a"));
    assert_ptr_equal(see(event_join(1, 7, "a")), first); /* reported twice */
    see(event_leave(2, 7, VAMP_LEAVE_FINALIZED));
    const struct vamp_component *second = see(event_join(3, 7, "b"));
    assert_ptr_not_equal(first, second);
    assert_ptr_equal(vamp_components_find(components, 7), second);
    assert_string_equal(first->name, "a");
    /* Its leave was lost. */
    const struct vamp_component *third = see(event_join(9, 7, "c"));
    assert_int_equal(second->left_ns, 9);
    assert_int_equal(second->reason, VAMP_LEAVE_UNKNOWN);
    assert_int_equal(vamp_components_replaced(components), second->index);
    assert_ptr_not_equal(second, third);
    assert_int_equal(vamp_components_present(components), 1);
    assert_int_equal(vamp_components_count(components), 4);
}

static void a_leave_before_its_join_is_repaired(void **state)
{
    (void)state;
    see(event_leave(9, 7, VAMP_LEAVE_FINALIZED));
    const struct vamp_component *row = see(event_join(3, 7, "b"));
    assert_int_equal(row->index, 1);
    assert_int_equal(row->left_ns, 9);
    assert_int_equal(row->joined_ns, 3);
    assert_int_equal(vamp_components_present(components), 0);
}

static void before_events_teach_no_join_or_leave(void **state)
{
    (void)state;
    assert_int_equal(see(event_before(event_join(1, 7, "a")))->index, 0);
    assert_int_equal(vamp_components_count(components), 1);
    const struct vamp_component *row = see(event_join(2, 7, "a"));
    assert_ptr_equal(see(event_before(event_leave(3, 7, VAMP_LEAVE_UNKNOWN))), row);
    assert_true(row->left_ns == INT64_MIN);
    assert_int_equal(row->operations, 1);
}

static void without_memory_a_name_is_other(void **state)
{
    (void)state;
    fault_alloc_fail_at(1);
    const struct vamp_component *row = see(event_join(1, 7, "a"));
    assert_true(fault_alloc_end());
    assert_string_equal(row->name, "(other)");
    assert_int_equal(row->app_id, 7);
    assert_int_equal(vamp_components_unnamed(components), 1);
    assert_string_equal(see(event_join(2, 8, "a"))->name, "a");
    assert_int_equal(vamp_components_unnamed(components), 1);
}

static void beyond_the_bound_everybody_is_other(void **state)
{
    (void)state;
    for (uint64_t id = 1; id <= 20; id++) {
        char name[16];
        (void)snprintf(name, sizeof name, "c%llu", (unsigned long long)id);
        see(event_join((int64_t)id, id, name));
    }
    assert_int_equal(vamp_components_count(components), 8);
    assert_int_equal(vamp_components_row(components, 0)->operations, 13);
    assert_null(vamp_components_find(components, 8));
    const struct vamp_component *other = see(event_of(VAMP_EVENT_OFFER, 30, 8));
    assert_int_equal(other->index, 0);
    assert_string_equal(other->name, "(other)");
    assert_int_equal(other->operations, 14);
    see(event_leave(31, 8, VAMP_LEAVE_FINALIZED));
    assert_true(other->left_ns == INT64_MIN);
    assert_int_equal(vamp_components_present(components), 7);
}

static const struct vamp_component *join_numbered(uint64_t id)
{
    char name[16];
    (void)snprintf(name, sizeof name, "c%llu", (unsigned long long)id);
    return see(event_join((int64_t)id, id, name));
}

static void beyond_the_table_components_are_told_apart(void **state)
{
    (void)state;
    assert_int_equal(vamp_components_make_room(components, 3, NULL), 0);
    for (uint64_t id = 1; id <= 10; id++) {
        assert_int_equal(join_numbered(id)->index, id);
    }
    assert_int_equal(join_numbered(11)->index, 0);
    assert_int_equal(vamp_components_listed(components), 8);
    assert_int_equal(vamp_components_count(components), 11);
    assert_int_equal(vamp_components_row(components, 0)->operations, 4);
    /* Eight names; a component has one of them again. */
    assert_string_equal(vamp_components_find(components, 8)->name, "c8");
    assert_string_equal(vamp_components_find(components, 9)->name, "(other)");
    assert_string_equal(vamp_component_given_name(vamp_components_find(components, 9)), "");
    /* Rows are used again in the order in which they were given up, but never that of the newest.
     */
    see(event_leave(20, 9, VAMP_LEAVE_FINALIZED));
    see(event_leave(21, 8, VAMP_LEAVE_FINALIZED));
    vamp_components_give_up(components, 9);
    vamp_components_give_up(components, 9);
    vamp_components_give_up(components, 8);
    assert_null(vamp_components_find(components, 9));
    assert_int_equal(vamp_components_find(components, 8)->index, 8);
    const struct vamp_component *again = see(event_join(30, 31, "c7"));
    assert_int_equal(again->index, 9);
    assert_int_equal(again->life, 2);
    assert_string_equal(again->name, "c7");
    vamp_components_give_up(components, 8);
    assert_int_equal(see(event_join(32, 9, "c1"))->index, 8);
    assert_int_equal(see(event_join(33, 34, "c1"))->index, 0);
    assert_int_equal(vamp_components_present(components), 10);
}

/* Every id stays findable while others are taken out of the index. */
static void at_the_bound_an_id_that_joins_again_is_other(void **state)
{
    (void)state;
    for (uint64_t id = 1; id <= 7; id++) {
        see(event_join(1, id * 0x10000, "a"));
    }
    for (uint64_t gone = 1; gone <= 7; gone++) {
        const struct vamp_component *before = vamp_components_row(components, gone);
        const struct vamp_component *after = see(event_join(2, gone * 0x10000, "b"));
        assert_int_equal(after->index, 0);
        assert_int_equal(before->left_ns, 2);
        assert_int_equal(vamp_components_replaced(components), gone);
        for (uint64_t id = 1; id <= 7; id++) {
            const struct vamp_component *found = vamp_components_find(components, id * 0x10000);
            assert_ptr_equal(found, id > gone ? vamp_components_row(components, id) : NULL);
        }
        see(event_join(3, gone * 0x10000, "c"));
        assert_int_equal(vamp_components_replaced(components), 0);
    }
    assert_int_equal(vamp_components_present(components), 0);
}

static void odd_names_are_kept(void **state)
{
    (void)state;
    char name[1001];
    memset(name, 'x', 1000);
    name[1000] = '\0';
    assert_string_equal(see(event_join(1, 1, name))->name, name);
    assert_string_equal(see(event_join(1, 2, ""))->name, "unknown");
    assert_string_equal(see(event_join(1, 3, "a, \"b\" -- \xc3\xa9"))->name,
                        "a, \"b\" -- \xc3\xa9");
    assert_string_equal(see(event_of(VAMP_EVENT_OFFER, 1, 0))->name, "(other)");
}

static void bad_bounds_are_refused(void **state)
{
    (void)state;
    struct vamp_components *none = NULL;
    struct vamp_err err = VAMP_ERR_NONE;
    assert_int_equal(vamp_components_create(1, &none, &err), -EINVAL);
    assert_int_equal(vamp_components_create(VAMP_COMPONENTS_MAX + 1, &none, &err), -EINVAL);
    assert_null(none);
    vamp_components_free(NULL);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, start, end)
    const struct CMUnitTest tests[] = {
        TEST(a_join_teaches_a_name),
        TEST(an_id_met_late_is_unknown),
        TEST(one_name_has_one_number),
        TEST(reserved_names_get_a_backslash),
        TEST(a_name_ends_at_its_first_nul),
        TEST(an_id_that_joins_again_gets_a_new_row),
        TEST(a_leave_before_its_join_is_repaired),
        TEST(before_events_teach_no_join_or_leave),
        TEST(without_memory_a_name_is_other),
        TEST(beyond_the_bound_everybody_is_other),
        TEST(beyond_the_table_components_are_told_apart),
        TEST(at_the_bound_an_id_that_joins_again_is_other),
        TEST(odd_names_are_kept),
        cmocka_unit_test(bad_bounds_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
