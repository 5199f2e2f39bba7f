/* SPDX-License-Identifier: BSD-3-Clause */
/* Event filters: what the cases of tests/golden/filter/ do not show. */
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

static struct vamp_event_filter *compiled(const char *text, enum vamp_filter_place place)
{
    struct vamp_event_filter *filter = NULL;
    struct vamp_err err = VAMP_ERR_NONE;
    if (vamp_event_filter_compile(text, place, NULL, &filter, &err) != 0) {
        fail_msg("%s: %s", text, err.text);
    }
    return filter;
}

/* The lists of words here and the names of core's tables are the same. */
static void words_are_those_of_core(void **state)
{
    (void)state;
    char text[96];
    for (unsigned i = 1; i < VAMP_EVENT_KIND_COUNT; i++) {
        (void)snprintf(text, sizeof(text), "(.event.kind = %s)", vamp_event_kind_name(i));
        struct vamp_event_filter *filter = compiled(text, VAMP_FILTER_INSIDE);
        assert_int_equal(vamp_event_filter_kinds(filter), VAMP_EVENT_BIT(i));
        vamp_event_filter_free(filter);
    }
    for (unsigned i = 0; i < VAMP_TIER_COUNT; i++) {
        struct vamp_event event = {
            .kind = VAMP_EVENT_TRANSPORT_INIT, .tier = (uint8_t)i, .present = VAMP_HAS_TIER};
        (void)snprintf(text, sizeof(text), "(.transport.tier = \"%s\")", vamp_tier_name(i));
        struct vamp_event_filter *filter = compiled(text, VAMP_FILTER_INSIDE);
        assert_true(vamp_event_filter_match(filter, &event, NULL));
        vamp_event_filter_free(filter);
    }
    for (unsigned i = 0; i < VAMP_CAUSE_COUNT; i++) {
        struct vamp_event event = {
            .kind = VAMP_EVENT_TRANSPORT_FAILED, .cause = (uint8_t)i, .present = VAMP_HAS_CAUSE};
        (void)snprintf(text, sizeof(text), "(.transport.cause = \"%s\")", vamp_cause_name(i));
        struct vamp_event_filter *filter = compiled(text, VAMP_FILTER_INSIDE);
        assert_true(vamp_event_filter_match(filter, &event, NULL));
        vamp_event_filter_free(filter);
    }
}

/* A field whose presence bit is clear is absent, whatever its bytes are. */
static void absent_is_not_zero(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        unsigned bit;
        enum vamp_event_kind kind;
    } cases[] = {
        {"(.event.serial = 0)", VAMP_HAS_SERIAL, VAMP_EVENT_OFFER},
        {"(.component.id = 0)", VAMP_HAS_APP, VAMP_EVENT_OFFER},
        {"(.peer.id = 0)", VAMP_HAS_PEER, VAMP_EVENT_TRANSPORT_INIT},
        {"(.cdo.id = 00000000000000000000000000000000)", VAMP_HAS_CDO_ID, VAMP_EVENT_OFFER},
        {"(.cdo.size = 0)", VAMP_HAS_SIZE, VAMP_EVENT_OFFER},
        {"(.cdo.name = \"\")", VAMP_HAS_CDO_NAME, VAMP_EVENT_OFFER},
        {"(.transport.tier = unknown)", VAMP_HAS_TIER, VAMP_EVENT_TRANSPORT_INIT},
        {"(.transport.cause = unknown)", VAMP_HAS_CAUSE, VAMP_EVENT_TRANSPORT_INIT},
        {"(.transport.duration = 0)", VAMP_HAS_DURATION, VAMP_EVENT_TRANSPORT_COMPLETED},
        {"(.transport.duration < 1ns)", VAMP_HAS_DURATION, VAMP_EVENT_TRANSPORT_FAILED},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct vamp_event_filter *filter = compiled(cases[i].text, VAMP_FILTER_INSIDE);
        struct vamp_event event = {.kind = (uint8_t)cases[i].kind, .name = ""};
        assert_false(vamp_event_filter_match(filter, &event, NULL));
        event.present = (uint16_t)cases[i].bit;
        assert_true(vamp_event_filter_match(filter, &event, NULL));
        /* All other bits do not help. */
        event.present = (uint16_t)~cases[i].bit;
        assert_false(vamp_event_filter_match(filter, &event, NULL));
        vamp_event_filter_free(filter);
    }
}

static void marks_always_pass(void **state)
{
    (void)state;
    struct vamp_event_filter *filter = compiled("(.event.kind = offer)", VAMP_FILTER_INSIDE);
    const struct vamp_event lost = {.kind = VAMP_EVENT_LOST, .count = 3};
    const struct vamp_event rejected = {.kind = VAMP_EVENT_REJECTED, .count = 3};
    const struct vamp_event demand = {.kind = VAMP_EVENT_DEMAND};
    assert_true(vamp_event_filter_match(filter, &lost, NULL));
    assert_true(vamp_event_filter_match(filter, &rejected, NULL));
    assert_false(vamp_event_filter_match(filter, &demand, NULL));
    vamp_event_filter_free(filter);
}

/* No event, however wild its numbers are, is out of bounds. */
static void wild_events_do_no_harm(void **state)
{
    (void)state;
    struct vamp_event_filter *filter =
        compiled("(or (.event.kind = offer) (.transport.tier = OFI) (.transport.cause = demand)"
                 " (.event.phase = before) (.cdo.id = 00000000000000000000000000000001))",
                 VAMP_FILTER_INSIDE);
    for (unsigned kind = 0; kind < 256; kind++) {
        struct vamp_event event = {
            .kind = (uint8_t)kind, .phase = 255, .tier = 255, .cause = 255, .present = UINT16_MAX};
        bool passes = vamp_event_filter_match(filter, &event, NULL);
        assert_int_equal(passes, kind == VAMP_EVENT_OFFER || kind == VAMP_EVENT_SAMPLE ||
                                     vamp_event_is_mark(&event));
    }
    vamp_event_filter_free(filter);
}

/* Texts that are no sample have no name; what says where a component is always passes. */
static void samples_are_asked(void **state)
{
    (void)state;
    static const struct {
        const char *text, *sample;
        bool passes;
    } cases[] = {
        {"(.sample.name = memory.used)", "memory,host=n1 used=5i", true},
        {"(.sample.name = memory.used)", "memory,host=n1 free=5i", false},
        {"(.sample.value > 2.5)", "m a=2.75", true},
        {"(.sample.value > 2.5)", "m a=2.5", false},
        {"(not (.sample.value > 2.5))", "nonsense", true},
        {"(.sample.tag.a-b_c = 'x y')", "m,a-b_c=x\\ y a=1", true},
        {"(has .sample.tag.host)", "m,hosts=1 a=1", false},
        {"(and (has .sample.name) (.maestro.a = 1))", "m a=1", false},
        {"(.cdo.name = 'm a=1')", "m a=1", true},
        {"(and (has .sample.name) (has .cdo.name))", "m a=1", false},
        {"(.sample.value = 0)", "vampire_component,component=A pid=1i", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct vamp_event_filter *filter = compiled(cases[i].text, VAMP_FILTER_FIRST);
        const struct vamp_event event = {.kind = VAMP_EVENT_SAMPLE,
                                         .name = cases[i].sample,
                                         .name_length = (uint32_t)strlen(cases[i].sample),
                                         .present = VAMP_HAS_TIME | VAMP_HAS_CDO_NAME};
        if (vamp_event_filter_match(filter, &event, NULL) != cases[i].passes) {
            fail_msg("%s on %s", cases[i].text, cases[i].sample);
        }
        vamp_event_filter_free(filter);
    }
}

static void names_come_from_joins(void **state)
{
    (void)state;
    struct vamp_components *components = NULL;
    assert_int_equal(vamp_components_create(8, &components, NULL), 0);
    struct vamp_event_filter *filter = compiled("(.component.name = unknown)", VAMP_FILTER_INSIDE);
    struct vamp_event offer = {.kind = VAMP_EVENT_OFFER, .app_id = 5, .present = VAMP_HAS_APP};
    assert_false(vamp_event_filter_match(filter, &offer, NULL));
    /* Seen, but its name is not known: "unknown" is no name. */
    (void)vamp_components_observe(components, &offer);
    assert_false(vamp_event_filter_match(filter, &offer, components));
    /* Unless it is called so. */
    struct vamp_event join = {.kind = VAMP_EVENT_JOIN,
                              .time_ns = 1,
                              .app_id = 6,
                              .name = "unknown",
                              .name_length = 7,
                              .present = VAMP_HAS_APP | VAMP_HAS_COMPONENT_NAME | VAMP_HAS_TIME};
    assert_true(vamp_event_filter_match(filter, &join, NULL));
    (void)vamp_components_observe(components, &join);
    offer.app_id = 6;
    assert_true(vamp_event_filter_match(filter, &offer, components));
    vamp_event_filter_free(filter);
    vamp_components_free(components);
}

/* More names than are kept, short ones and long ones, each asked for twice in a row and again after
 * all others. */
static void names_match_the_same_every_time(void **state)
{
    (void)state;
    struct vamp_event_filter *filter = compiled(
        "(.component.name match '^(IFS|Products) -- [0-9]*[02468]x*$')", VAMP_FILTER_INSIDE);
    for (unsigned round = 0; round < 6000; round++) {
        static const char tail[] =
            "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
        const unsigned number = round / 2 % 1000;
        char name[128];
        const int length = snprintf(name, sizeof name, "%s -- %u%.*s",
                                    number % 3 == 0   ? "IFS"
                                    : number % 3 == 1 ? "Products"
                                                      : "Other",
                                    number, number % 5 == 0 ? (int)(number % 60) : 0, tail);
        const struct vamp_event event = {.kind = VAMP_EVENT_JOIN,
                                         .present = VAMP_HAS_COMPONENT_NAME,
                                         .name = name,
                                         .name_length = (uint32_t)length};
        assert_int_equal(vamp_event_filter_match(filter, &event, NULL),
                         number % 3 < 2 && number % 2 == 0);
    }
    vamp_event_filter_free(filter);
}

static void cut_matches_are_counted(void **state)
{
    (void)state;
    static const char name[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!";
    struct vamp_event_filter *filter =
        compiled("(and (.event.kind = offer) (.cdo.name match \"^(a+)+$|b\"))", VAMP_FILTER_INSIDE);
    struct vamp_event event = {.kind = VAMP_EVENT_OFFER,
                               .name = name,
                               .name_length = sizeof(name) - 1,
                               .present = VAMP_HAS_CDO_NAME};
    assert_false(vamp_event_filter_match(filter, &event, NULL));
    assert_int_equal(vamp_event_filter_cut(filter), 1);
    event.kind = VAMP_EVENT_DEMAND;
    assert_false(vamp_event_filter_match(filter, &event, NULL));
    assert_int_equal(vamp_event_filter_cut(filter), 1);
    vamp_event_filter_free(filter);
}

static void named_filters_are_kept(void **state)
{
    (void)state;
    static struct vamp_named_filters kept;
    struct vamp_named_filters *named = &kept;
    struct vamp_err err = VAMP_ERR_NONE;
    kept = (struct vamp_named_filters){0};
    assert_null(named->names[0]);
    assert_int_equal(vamp_named_filters_add(named, "big", "(.cdo.size > 1MiB)", &err), 0);
    assert_int_equal(vamp_named_filters_add(named, "big", "true", &err), -EEXIST);
    static const char *const bad[] = {"", "a b", "(", "@a", "a;b", "\xc3\xa4"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(vamp_named_filters_add(named, bad[i], "true", &err), -EINVAL);
    }
    assert_string_equal(vamp_named_filters_text(named, "big"), "(.cdo.size > 1MiB)");
    assert_null(vamp_named_filters_text(named, "bi"));
    static char names[VAMP_NAMED_FILTERS_MAX][16];
    for (int i = 1; i < VAMP_NAMED_FILTERS_MAX; i++) {
        (void)snprintf(names[i], sizeof names[i], "f%d", i);
        assert_int_equal(vamp_named_filters_add(named, names[i], "@big", &err), 0);
    }
    assert_int_equal(vamp_named_filters_add(named, "one-more", "true", &err), -E2BIG);
}

static void errors_of_named_filters_say_their_name(void **state)
{
    (void)state;
    static struct vamp_named_filters kept;
    struct vamp_named_filters *named = &kept;
    struct vamp_err err = VAMP_ERR_NONE;
    kept = (struct vamp_named_filters){0};
    assert_int_equal(vamp_named_filters_add(named, "inner", "(.cdo.size >\n  5ms)", NULL), 0);
    struct vamp_event_filter *filter = NULL;
    assert_int_equal(
        vamp_event_filter_compile("(not @inner)", VAMP_FILTER_FIRST, named, &filter, &err),
        -EINVAL);
    assert_non_null(strstr(err.text, "@inner, line 2, column 3: .cdo.size is a size"));
}

/* A chain of named filters is as deep as its expansion. */
static void deep_references_are_refused(void **state)
{
    (void)state;
    static struct vamp_named_filters kept;
    struct vamp_named_filters *named = &kept;
    struct vamp_event_filter *filter = NULL;
    struct vamp_err err = VAMP_ERR_NONE;
    static char names[100][16], texts[100][32];
    kept = (struct vamp_named_filters){0};
    for (int i = 0; i < 100; i++) {
        (void)snprintf(names[i], sizeof names[i], "f%d", i);
        (void)snprintf(texts[i], sizeof texts[i], i == 0 ? "true" : "(not @f%d)", i - 1);
        assert_int_equal(vamp_named_filters_add(named, names[i], texts[i], NULL), 0);
    }
    assert_int_equal(vamp_event_filter_compile("@f20", VAMP_FILTER_INSIDE, named, &filter, &err),
                     0);
    vamp_event_filter_free(filter);
    assert_int_equal(vamp_event_filter_compile("@f99", VAMP_FILTER_INSIDE, named, &filter, &err),
                     -E2BIG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_those_of_core),
        cmocka_unit_test(absent_is_not_zero),
        cmocka_unit_test(marks_always_pass),
        cmocka_unit_test(wild_events_do_no_harm),
        cmocka_unit_test(samples_are_asked),
        cmocka_unit_test(names_come_from_joins),
        cmocka_unit_test(names_match_the_same_every_time),
        cmocka_unit_test(cut_matches_are_counted),
        cmocka_unit_test(named_filters_are_kept),
        cmocka_unit_test(errors_of_named_filters_say_their_name),
        cmocka_unit_test(deep_references_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
