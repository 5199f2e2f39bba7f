/* SPDX-License-Identifier: BSD-3-Clause */
/* The configuration when memory runs out: every allocation fails once, also jansson's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "tests/lib/fault.h"
#include "vampire/config.h"

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
    assert_true(n > 200);
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
            char *text = what == 0 ? vamp_config_schema() : vamp_config_dump(config, 2);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(schema_and_dump_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
