/* SPDX-License-Identifier: BSD-3-Clause */
/* The configuration when memory runs out: every allocation fails once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "config/config.h"
#include "programs/run/rules.h"
#include "tests/lib/fault.h"
#include "writers/output/resolution.h"

/* A configuration that uses every kind of option, so that every allocation is met. */
#define FULL_CASE "tests/golden/config/good-all-sections/input.json"
#define MEMORY_BYTES (UINT64_C(4) << 30)

static const struct vamp_config_override overrides[] = {{"outputs.0.queue", "9", "-o"},
                                                        {"events.kinds", "offer,demand", "-o"}};
static const struct vamp_config_request request = {
    .file = FULL_CASE,
    .overrides = overrides,
    .override_count = 2,
    .memory_bytes = MEMORY_BYTES,
};

static void every_allocation_may_fail(void **state)
{
    (void)state;
    struct vamp_diagnostics diagnostics;
    assert_int_equal(vamp_diagnostics_init(&diagnostics, NULL), 0);
    struct vamp_config *whole = NULL;
    fault_alloc_fail_at(UINT_MAX);
    assert_int_equal(vamp_config_load(&request, &whole, &diagnostics, NULL), 0);
    const unsigned count = fault_alloc_count();
    (void)fault_alloc_end();
    vamp_config_free(whole);
    unsigned n = 1;
    for (;; n++) {
        struct vamp_config *config = NULL;
        struct vamp_err err = VAMP_ERR_NONE;
        fault_alloc_fail_at(n);
        int code = vamp_config_load(&request, &config, &diagnostics, &err);
        bool failed = fault_alloc_end();
        assert_int_equal(code == 0, config != NULL);
        vamp_config_free(config);
        if (!failed) {
            assert_int_equal(code, 0);
            break;
        }
        if (code != -ENOMEM || diagnostics.error_count != 0 || err.text[0] == '\0') {
            vamp_diagnostics_print(&diagnostics, stderr, false);
            fail_msg("allocation %u: %d, %s", n, code, err.text);
        }
    }
    print_message("%u allocations failed in turn\n", n - 1);
    assert_int_equal(n - 1, count);
    assert_true(count > 90);
    vamp_diagnostics_done(&diagnostics);
}

static void schema_and_dump_without_memory(void **state)
{
    (void)state;
    struct vamp_diagnostics diagnostics;
    struct vamp_config *config = NULL;
    assert_int_equal(vamp_diagnostics_init(&diagnostics, NULL), 0);
    assert_int_equal(vamp_config_load(&request, &config, &diagnostics, NULL), 0);
    vamp_diagnostics_done(&diagnostics);
    for (unsigned what = 0; what < 2; what++) {
        for (unsigned n = 1;; n++) {
            fault_alloc_fail_at(n);
            char *text =
                what == 0 ? vamp_config_schema(VAMP_CONFIG_VAMPIRE) : vamp_config_dump(config, 2);
            bool failed = fault_alloc_end();
            assert_int_equal(text == NULL, failed);
            free(text);
            if (!failed) {
                break;
            }
        }
    }
    vamp_config_free(config);
}

/* Right and wrong files of the golden cases: between them every section, every check, and every way
 * to say what is wrong. */
static const char *const files[] = {
    "bad-filters-without-effect",
    "bad-many",
    "bad-memory",
    "bad-metric-filters",
    "bad-metrics-words",
    "bad-named-filters",
    "bad-output-choices",
    "bad-output-options",
    "bad-rotation",
    "bad-same-file",
    "bad-series",
    "bad-source-options",
    "bad-truncated",
    "good-comments",
    "good-filters",
    "good-level-cdo",
    "good-series",
    "warn-named-filter-never",
};

/* One load with the nth allocation failing. False: there were not so many. */
static bool load_with_failure(const char *file, unsigned n, unsigned errors_without)
{
    const struct vamp_config_request one = {.file = file, .memory_bytes = MEMORY_BYTES};
    struct vamp_diagnostics diagnostics;
    assert_int_equal(vamp_diagnostics_init(&diagnostics, NULL), 0);
    struct vamp_config *config = NULL;
    struct vamp_err err = VAMP_ERR_NONE;
    fault_alloc_fail_at(n);
    const int code = vamp_config_load(&one, &config, &diagnostics, &err);
    const bool failed = fault_alloc_end();
    assert_int_equal(code == 0, config != NULL);
    vamp_config_free(config);
    /* The lack of memory is reported as such; it never turns a correct option into a mistake. */
    const bool good = code == -ENOMEM ? failed && err.text[0] != '\0'
                                      : code == (errors_without > 0 ? -EINVAL : 0);
    if (!good || diagnostics.error_count > errors_without) {
        vamp_diagnostics_print(&diagnostics, stderr, false);
        fail_msg("%s, allocation %u: %d, %s", file, n, code, err.text);
    }
    vamp_diagnostics_done(&diagnostics);
    return failed;
}

static void any_file_without_memory(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char file[128];
        (void)snprintf(file, sizeof file, "tests/golden/config/%s/input.json", files[i]);
        const struct vamp_config_request one = {.file = file, .memory_bytes = MEMORY_BYTES};
        struct vamp_diagnostics diagnostics;
        struct vamp_config *config = NULL;
        assert_int_equal(vamp_diagnostics_init(&diagnostics, NULL), 0);
        const int code = vamp_config_load(&one, &config, &diagnostics, NULL);
        assert_int_equal(code, strncmp(files[i], "bad-", 4) == 0 ? -EINVAL : 0);
        const unsigned errors = (unsigned)diagnostics.error_count;
        vamp_config_free(config);
        vamp_diagnostics_done(&diagnostics);
        for (unsigned n = 1; load_with_failure(file, n, errors); n++) {
        }
    }
}

/* What a configuration is made into: compiled filters, samplers, an output's choice. */
static void rules_and_subsets_without_memory(void **state)
{
    (void)state;
    struct vamp_diagnostics diagnostics;
    struct vamp_config *config = NULL;
    struct vamp_components *components = NULL;
    assert_int_equal(vamp_diagnostics_init(&diagnostics, NULL), 0);
    assert_int_equal(vamp_config_load(&request, &config, &diagnostics, NULL), 0);
    vamp_diagnostics_done(&diagnostics);
    assert_int_equal(vamp_components_create(64, &components, NULL), 0);
    unsigned n = 1;
    for (;; n++) {
        struct vamp_rules *rules = NULL;
        struct vamp_err err = VAMP_ERR_NONE;
        fault_alloc_fail_at(n);
        const int code = vamp_rules_create(config, components, &rules, &err);
        const bool failed = fault_alloc_end();
        vamp_rules_free(rules);
        assert_int_equal(code, failed ? -ENOMEM : 0);
        if (!failed) {
            break;
        }
        assert_true(err.text[0] != '\0');
    }
    assert_true(n > 3);
    vamp_components_free(components);
    vamp_config_free(config);
}

static void resolutions_without_memory(void **state)
{
    (void)state;
    static const struct vamp_label_set sets[] = {
        {.name = "component", .labels = {VAMP_LABEL_COMPONENT}, .label_count = 1, .max_series = 8},
        {.name = "", .max_series = 1}};
    static const struct vamp_schema_metric metrics[] = {
        {.id = VAMP_METRIC_PRODUCED_BYTES, .label_set = 0},
        {.id = VAMP_METRIC_POOL_CDOS, .label_set = 1}};
    static const struct vamp_schema schema = {
        .label_sets = sets, .label_set_count = 2, .metrics = metrics, .metric_count = 2};
    char *texts[] = {(char[]){"component=IFS*"}};
    const struct vamp_strings all = {.count = 0}, some = {.items = texts, .count = 1};
    const struct vamp_sets none = {.count = 0};
    const struct vamp_resolution_choice choice = {
        .metrics = &all, .series = &some, .by = &none, .without = &none};
    for (unsigned n = 1;; n++) {
        struct vamp_resolution *resolution = NULL;
        fault_alloc_fail_at(n);
        const int code = vamp_resolution_create(&choice, &schema, &resolution, NULL);
        const bool failed = fault_alloc_end();
        vamp_resolution_free(resolution);
        assert_int_equal(code, failed ? -ENOMEM : 0);
        if (!failed) {
            assert_true(n > 10);
            break;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(schema_and_dump_without_memory),
        cmocka_unit_test(any_file_without_memory),
        cmocka_unit_test(rules_and_subsets_without_memory),
        cmocka_unit_test(resolutions_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
