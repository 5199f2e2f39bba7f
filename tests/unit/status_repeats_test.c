/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages that repeat are held back and counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "programs/run/status.h"
#include "vampire/core/clock.h"

struct heard {
    unsigned count;
    char last[512];
};

static void hear(void *context, const char *line)
{
    struct heard *heard = context;
    heard->count++;
    (void)snprintf(heard->last, sizeof heard->last, "%s", line);
}

static unsigned admit_many(struct vamp_repeats *repeats, unsigned count, int64_t now_ns,
                           struct heard *heard)
{
    unsigned admitted = 0;
    for (unsigned i = 0; i < count; i++) {
        char text[64];
        (void)snprintf(text, sizeof text, "output %u: write failed after %u bytes", i, i * 1000);
        admitted += vamp_repeats_admit(repeats, text, now_ns, hear, heard);
    }
    return admitted;
}

static void alike_are_counted(void **state)
{
    (void)state;
    struct vamp_repeats repeats = {0};
    struct heard heard = {0};
    assert_int_equal(admit_many(&repeats, 236, 0, &heard), VAMP_REPEATS_SAID);
    vamp_repeats_flush(&repeats, VAMP_REPEATS_NS - 1, false, hear, &heard);
    assert_int_equal(heard.count, 0);
    vamp_repeats_flush(&repeats, VAMP_REPEATS_NS, false, hear, &heard);
    assert_int_equal(heard.count, 1);
    assert_non_null(strstr(heard.last, "output 0: write failed"));
    assert_non_null(strstr(heard.last, "231 more like this"));
    /* The next stretch starts with a count of zero. */
    assert_int_equal(admit_many(&repeats, 2, VAMP_REPEATS_NS, &heard), 2);
    vamp_repeats_flush(&repeats, 5 * VAMP_REPEATS_NS, false, hear, &heard);
    assert_int_equal(heard.count, 1);
}

static void others_are_not_held_back(void **state)
{
    (void)state;
    struct vamp_repeats repeats = {0};
    struct heard heard = {0};
    (void)admit_many(&repeats, 100, 0, &heard);
    assert_true(vamp_repeats_admit(&repeats, "something else", 1, hear, &heard));
    assert_true(vamp_repeats_admit(&repeats, "", 1, hear, &heard));
    assert_int_equal(heard.count, 0);
}

static void a_full_table_forgets_nothing(void **state)
{
    (void)state;
    struct vamp_repeats repeats = {0};
    struct heard heard = {0};
    (void)admit_many(&repeats, 15, 0, &heard);
    for (unsigned i = 0; i < VAMP_REPEATS_KINDS; i++) {
        char text[64];
        (void)snprintf(text, sizeof text, "kind %c", (char)('a' + i));
        assert_true(vamp_repeats_admit(&repeats, text, 1 + i, hear, &heard));
    }
    /* The kind that was silent longest was replaced, and its count was reported. */
    assert_int_equal(heard.count, 1);
    assert_non_null(strstr(heard.last, "10 more like this"));
}

static void the_end_reports_everything(void **state)
{
    (void)state;
    struct vamp_repeats repeats = {0};
    struct heard heard = {0};
    (void)admit_many(&repeats, 7, 0, &heard);
    vamp_repeats_flush(&repeats, 1, true, hear, &heard);
    assert_int_equal(heard.count, 1);
    assert_non_null(strstr(heard.last, "2 more"));
    vamp_repeats_flush(&repeats, 1, true, hear, &heard);
    assert_int_equal(heard.count, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alike_are_counted),
        cmocka_unit_test(others_are_not_held_back),
        cmocka_unit_test(a_full_table_forgets_nothing),
        cmocka_unit_test(the_end_reports_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
