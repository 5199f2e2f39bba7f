/* SPDX-License-Identifier: BSD-3-Clause */
/* Names of all metrics in base units, as promtool wants them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "vampire/stats/bucket/metric.h"

static const struct vamp_metric *metric_named(const char *name)
{
    for (unsigned id = 0; id < vamp_metric_count(); id++) {
        if (strcmp(vamp_metrics[id].name, name) == 0) {
            return &vamp_metrics[id];
        }
    }
    fail_msg("no metric %s", name);
    return NULL;
}

static void check(const char *name, const char *base_name, const char *unit, unsigned decimals)
{
    struct vamp_base_metric base;
    vamp_base_metric(metric_named(name), &base);
    assert_string_equal(base.name, base_name);
    assert_string_equal(base.unit, unit);
    assert_int_equal(base.decimals, decimals);
}

static void test_each_unit(void **state)
{
    (void)state;
    check("transport_ns", "vampire_transport_seconds", "seconds", 9);
    check("vampire_cpu_ns", "vampire_cpu_seconds", "seconds", 9);
    check("produced_bytes", "vampire_produced_bytes", "bytes", 0);
    check("transport_bytes_per_second", "vampire_transport_bytes_per_second", "", 0);
    check("vampire_weight", "vampire_weight", "", 6);
    check("pool_operations", "vampire_pool_operations", "", 0);
}

static void test_all_names(void **state)
{
    (void)state;
    struct vamp_base_metric base[VAMP_METRICS_MAX];
    for (unsigned id = 0; id < vamp_metric_count(); id++) {
        vamp_base_metric(&vamp_metrics[id], &base[id]);
        assert_int_equal(strncmp(base[id].name, "vampire_", 8), 0);
        assert_null(strstr(base[id].name, "_ns"));
        assert_null(strstr(base[id].name, "_total"));
        assert_true(strlen(base[id].name) < VAMP_BASE_NAME_BYTES - 16);
        assert_int_equal(base[id].decimals == 9, strcmp(vamp_metrics[id].unit, "ns") == 0);
        for (unsigned other = 0; other < id; other++) {
            assert_string_not_equal(base[other].name, base[id].name);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_unit),
        cmocka_unit_test(test_all_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
