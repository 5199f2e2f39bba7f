/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Push-down keeps the meaning: what a pool manager lets pass by kinds and selector, filtered by the
 * rest here, is exactly what the whole filter lets pass. The pool manager is modelled by the
 * contract of filters/event_filter.c, with the same evaluator as the real one; the whole filter's
 * meaning comes from an evaluator that shares nothing with it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "filters/event_filter.h"
#include "filters/expression.h"
#include "tests/lib/event_kinds.h"
#include "tests/lib/random_filter.h"

enum { KIND, SIZE, APP, TIER, DURATION, ATTRIBUTE_A, ATTRIBUTE_B, FIELD_COUNT };

static const struct random_field fields[FIELD_COUNT] = {
    [KIND] = {".event.kind",
              false,
              7,
              {{RANDOM_TEXT, 0, "offer", "offer"},
               {RANDOM_TEXT, 0, "demand", "\"demand\""},
               {RANDOM_TEXT, 0, "join", "join"},
               {RANDOM_TEXT, 0, "leave", "LEAVE"},
               {RANDOM_TEXT, 0, "transport_init", "transport_init"},
               {RANDOM_TEXT, 0, "transport_completed", "transport_completed"},
               {RANDOM_TEXT, 0, "seal", "seal"}}},
    [SIZE] = {".cdo.size",
              true,
              3,
              {{RANDOM_NUMBER, 0, NULL, "0"},
               {RANDOM_NUMBER, 1024, NULL, "1KiB"},
               {RANDOM_NUMBER, 4096, NULL, "4096"}}},
    [APP] = {".component.id",
             true,
             2,
             {{RANDOM_NUMBER, 1, NULL, "1"}, {RANDOM_NUMBER, 2, NULL, "2"}}},
    [TIER] = {".transport.tier",
              false,
              2,
              {{RANDOM_TEXT, 0, "OFI", "OFI"}, {RANDOM_TEXT, 0, "GFS", "gfs"}}},
    [DURATION] = {".transport.duration",
                  true,
                  3,
                  {{RANDOM_NUMBER, 0, NULL, "0"},
                   {RANDOM_NUMBER, 1000, NULL, "1us"},
                   {RANDOM_NUMBER, 5e6, NULL, "5ms"}}},
    [ATTRIBUTE_A] = {".maestro.x.step",
                     true,
                     3,
                     {{RANDOM_NUMBER, 0, NULL, "0"},
                      {RANDOM_NUMBER, 2, NULL, "2"},
                      {RANDOM_TEXT, 0, "2", "\"2\""}}},
    [ATTRIBUTE_B] = {".maestro.x.class",
                     true,
                     2,
                     {{RANDOM_TEXT, 0, "rd", "rd"}, {RANDOM_TEXT, 0, "od", "od"}}},
};

static const struct random_value absent = {.sort = RANDOM_ABSENT};

struct world {
    struct vamp_event event;
    struct random_value values[FIELD_COUNT];
};

static void choose(uint64_t *seed, size_t field, struct random_value *ret)
{
    size_t choice = random_below(seed, fields[field].value_count + 1);
    *ret = choice < fields[field].value_count ? fields[field].values[choice] : absent;
}

/* A random event of one of the kinds in use, and the attributes of its CDO. */
static struct world random_world(uint64_t *seed)
{
    struct world world = {.values = {{RANDOM_ABSENT, 0, NULL, NULL}}};
    struct random_value *values = world.values;
    values[KIND] = fields[KIND].values[random_below(seed, fields[KIND].value_count)];
    world.event.kind = (uint8_t)event_kind_from_name(values[KIND].text);
    bool has_cdo = (VAMP_EVENT_KINDS_WITHOUT_CDO & VAMP_EVENT_BIT(world.event.kind)) == 0;
    choose(seed, APP, &values[APP]);
    if (has_cdo) {
        choose(seed, SIZE, &values[SIZE]);
        choose(seed, ATTRIBUTE_A, &values[ATTRIBUTE_A]);
        choose(seed, ATTRIBUTE_B, &values[ATTRIBUTE_B]);
    }
    if (world.event.kind == VAMP_EVENT_TRANSPORT_INIT ||
        world.event.kind == VAMP_EVENT_TRANSPORT_COMPLETED) {
        choose(seed, TIER, &values[TIER]);
    }
    if (world.event.kind == VAMP_EVENT_TRANSPORT_COMPLETED) {
        choose(seed, DURATION, &values[DURATION]);
    }
    unsigned present = 0;
    if (values[SIZE].sort != RANDOM_ABSENT) {
        present |= VAMP_HAS_SIZE;
        world.event.size_bytes = (uint64_t)values[SIZE].number;
    }
    if (values[APP].sort != RANDOM_ABSENT) {
        present |= VAMP_HAS_APP;
        world.event.app_id = (uint64_t)values[APP].number;
    }
    if (values[TIER].sort != RANDOM_ABSENT) {
        present |= VAMP_HAS_TIER;
        world.event.tier = strcmp(values[TIER].text, "OFI") == 0 ? VAMP_TIER_OFI : VAMP_TIER_GFS;
    }
    if (values[DURATION].sort != RANDOM_ABSENT) {
        present |= VAMP_HAS_DURATION;
        world.event.duration_ns = (uint64_t)values[DURATION].number;
    }
    world.event.present = (uint16_t)present;
    return world;
}

static void look_up_attribute(void *context, int field, const char *name, struct vamp_value *ret)
{
    const struct world *world = context;
    (void)field;
    const struct random_value *value =
        &world->values[strcmp(name, ".maestro.x.step") == 0 ? ATTRIBUTE_A : ATTRIBUTE_B];
    ret->type = VAMP_VALUE_ABSENT;
    if (value->sort == RANDOM_NUMBER) {
        *ret = (struct vamp_value){.type = VAMP_VALUE_INT, .integer = (int64_t)value->number};
    } else if (value->sort == RANDOM_TEXT) {
        *ret = (struct vamp_value){.type = VAMP_VALUE_TEXT,
                                   .text = {value->text, strlen(value->text)}};
    }
}

/* What the pool manager sends: kinds that were asked for; of CDOs, those the selector is true of.
 */
static bool is_sent(const struct vamp_event_filter *filter, const struct vamp_expression *selector,
                    struct world *world)
{
    uint64_t bit = VAMP_EVENT_BIT(world->event.kind);
    if ((vamp_event_filter_kinds(filter) & bit) == 0) {
        return false;
    }
    return selector == NULL || (VAMP_EVENT_KINDS_WITHOUT_CDO & bit) != 0 ||
           vamp_expression_match(selector, look_up_attribute, world);
}

struct tally {
    unsigned split, pushed, refused, matched;
};

static void check_filter(struct random_filter *filter, const struct random_node *root,
                         const char *text, struct tally *tally)
{
    struct vamp_event_filter *compiled = NULL;
    struct vamp_expression *selector = NULL;
    struct vamp_err err = VAMP_ERR_NONE;
    int rc = vamp_event_filter_compile(text, VAMP_FILTER_FIRST, NULL, &compiled, &err);
    if (rc != 0) {
        /* The only reason a well-formed filter may be refused. */
        if (strstr(err.text, "pool manager") == NULL) {
            fail_msg("%s: %s", text, err.text);
        }
        tally->refused++;
        return;
    }
    tally->split++;
    const struct vamp_vocabulary attributes = {.prefix = NULL};
    if (vamp_event_filter_selector(compiled) != NULL) {
        tally->pushed++;
        rc = vamp_expression_compile(vamp_event_filter_selector(compiled), &attributes, &selector,
                                     &err);
        assert_int_equal(rc, 0);
    }
    for (int i = 0; i < 40; i++) {
        struct world world = random_world(&filter->seed);
        bool expected = random_filter_holds(filter, root, world.values);
        bool result = is_sent(compiled, selector, &world) &&
                      vamp_event_filter_match(compiled, &world.event, NULL);
        if (result != expected) {
            fail_msg("%s event, expected %d: %s\nselector: %s",
                     vamp_event_kind_name(world.event.kind), expected, text,
                     vamp_event_filter_selector(compiled));
        }
        tally->matched += result;
    }
    vamp_expression_free(selector);
    vamp_event_filter_free(compiled);
}

/* Grows filters over the first `field_count` fields and checks each. */
static struct tally check_random_filters(size_t field_count, uint64_t seed)
{
    struct tally tally = {0};
    struct random_filter filter = {
        .fields = fields, .field_count = field_count, .seed = seed, .nodes = random_nodes_create()};
    char *text = malloc(RANDOM_TEXT_BYTES);
    assert_non_null(filter.nodes);
    assert_non_null(text);
    for (int i = 0; i < 6000; i++) {
        const struct random_node *root = random_filter_grow(&filter, i % 5 == 0 ? 4 : 2);
        random_filter_print(&filter, root, text);
        check_filter(&filter, root, text, &tally);
    }
    free(text);
    free(filter.nodes);
    return tally;
}

static void split_filters_mean_the_same(void **state)
{
    (void)state;
    struct tally tally = check_random_filters(FIELD_COUNT, 4242);
    /* The property is worth something only when filters were pushed down, refused and matched. */
    assert_true(tally.split > 1000);
    assert_true(tally.pushed > 200);
    assert_true(tally.refused > 100);
    assert_true(tally.matched > 10000);
}

/* A filter without attributes is never refused, and nothing is pushed. */
static void fields_alone_are_never_refused(void **state)
{
    (void)state;
    struct tally tally = check_random_filters(ATTRIBUTE_A, 5);
    assert_int_equal(tally.refused, 0);
    assert_int_equal(tally.pushed, 0);
}

/* A conjunction of a filter on fields and one on attributes is always split. */
static void conjunctions_are_always_split(void **state)
{
    (void)state;
    struct random_filter ours = {
        .fields = fields, .field_count = ATTRIBUTE_A, .seed = 6, .nodes = random_nodes_create()};
    struct random_filter theirs = {.fields = fields + ATTRIBUTE_A,
                                   .field_count = 2,
                                   .seed = 7,
                                   .nodes = random_nodes_create()};
    char *a = malloc(RANDOM_TEXT_BYTES), *b = malloc(RANDOM_TEXT_BYTES), *text = NULL;
    assert_true(ours.nodes != NULL && theirs.nodes != NULL && a != NULL && b != NULL);
    for (int i = 0; i < 2000; i++) {
        random_filter_print(&ours, random_filter_grow(&ours, 3), a);
        random_filter_print(&theirs, random_filter_grow(&theirs, 3), b);
        struct vamp_event_filter *filter = NULL;
        struct vamp_err err = VAMP_ERR_NONE;
        assert_true(asprintf(&text, i % 2 == 0 ? "(and %s %s)" : "(and (and %s) (or %s))", a, b) >
                    0);
        if (vamp_event_filter_compile(text, VAMP_FILTER_FIRST, NULL, &filter, &err) != 0) {
            fail_msg("%s: %s", text, err.text);
        }
        vamp_event_filter_free(filter);
        free(text);
    }
    free(a);
    free(b);
    free(ours.nodes);
    free(theirs.nodes);
}

/* Terms on one name that exclude each other are seen before any event. */
static void contradictions_are_seen(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool possible;
    } cases[] = {
        {"(and (.cdo.size > 2MiB) (.cdo.size < 1MiB))", false},
        {"(and (.cdo.size < 2MiB) (.cdo.size > 1MiB))", true},
        {"(and (.cdo.size >= 1MiB) (.cdo.size < 1MiB))", false},
        {"(and (.cdo.size > 1MiB) (.cdo.size <= 1MiB))", false},
        {"(and (.cdo.size >= 1MiB) (.cdo.size <= 1024KiB))", true},
        {"(and (.component.name = a) (.component.name = b))", false},
        {"(and (.component.name = a) (.component.name != a))", false},
        {"(and (.component.name = a) (.component.name != b))", true},
        {"(and (.component.name = a) (.peer.name = b))", true},
        {"(and (.component.name in (a b)) (.component.name in (c d)))", false},
        {"(and (.component.name in (a b)) (.component.name in (b c)))", true},
        {"(and (.component.id in (1 2)) (has .cdo.size) (.component.id > 2))", false},
        {"(and (.maestro.a = 1) (.maestro.a = '1'))", false},
        {"(and (.maestro.a < 1) (.maestro.a > 0.5))", true},
        {"(and (.maestro.a >= x) (.maestro.a < b))", false},
        {"(.cdo.size < 0)", false},
        {"(.cdo.size <= 0)", true},
        {"(.transport.duration < 0ms)", false},
        {"(.component.name < a)", true},
        {"(or (.cdo.size < 0) (.event.kind = join))", true},
        {"(not (and (.cdo.size > 2MiB) (.cdo.size < 1MiB)))", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct vamp_event_filter *filter = NULL;
        struct vamp_err err = VAMP_ERR_NONE;
        if (vamp_event_filter_compile(cases[i].text, VAMP_FILTER_FIRST, NULL, &filter, &err) != 0) {
            fail_msg("%s: %s", cases[i].text, err.text);
        }
        if ((vamp_event_filter_kinds(filter) != 0) != cases[i].possible) {
            fail_msg("%s: %s", cases[i].text, cases[i].possible ? "never" : "sometimes");
        }
        vamp_event_filter_free(filter);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contradictions_are_seen),
        cmocka_unit_test(split_filters_mean_the_same),
        cmocka_unit_test(fields_alone_are_never_refused),
        cmocka_unit_test(conjunctions_are_always_split),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
