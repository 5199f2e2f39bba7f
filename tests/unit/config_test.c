/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The configuration: its defaults, round trips, the checked-in schema, the ready configurations.
 * Golden cases have config_golden_test.c, files config_files_test.c, lack of memory
 * filtering_config_memory_test.c.
 */
#include <jansson.h>

#include "tests/unit/config_scratch.h"

static void defaults_are_complete(void **state)
{
    (void)state;
    struct vamp_config *config = load_good(NULL);
    assert_null(config->workflow);
    assert_string_equal(config->component, "vampire");
    assert_int_equal(config->ring_bytes, 16 << 20);
    assert_ptr_equal(config->source, &vamp_source_maestro);
    assert_non_null(config->source_options);
    assert_int_equal(config->statistics.bucket_ns, VAMP_NS_PER_SECOND);
    assert_int_equal(config->statistics.lateness_ns, VAMP_NS_PER_SECOND);
    assert_int_equal(config->statistics.level, VAMP_LEVEL_COMPONENT);
    assert_int_equal(config->statistics.sub_bits, VAMP_SUB_BITS_DEFAULT);
    assert_int_equal(config->statistics.sets, VAMP_SET_BASIC | VAMP_SET_WAITS | VAMP_SET_TRANSPORT |
                                                  VAMP_SET_LIFECYCLE | VAMP_SET_ANOMALIES |
                                                  VAMP_SET_IN_FLIGHT);
    assert_null(config->filter);
    assert_int_equal(config->event_kinds, 0xfffe);
    assert_int_equal(config->output_count, 1);
    assert_ptr_equal(config->outputs[0].ops, &vamp_writer_hdf5);
    assert_string_equal(config->outputs[0].settings.name, "hdf5");
    assert_int_equal(config->outputs[0].settings.queue, 64);
    assert_null(strchr(config->effective_text, '\n'));
    assert_round_trip(config);
    vamp_config_free(config);
    vamp_config_free(NULL);
}

static void every_kind_has_its_word(void **state)
{
    (void)state;
    for (unsigned kind = 1; kind < VAMP_EVENT_KIND_COUNT; kind++) {
        char text[128];
        (void)snprintf(text, sizeof text, "{\"events\": {\"kinds\": [\"%s\"]}}",
                       vamp_event_kind_name(kind));
        struct scratch scratch = scratch_make(text);
        struct vamp_config *config = load_good(scratch.file);
        assert_int_equal(config->event_kinds, (UINT64_C(1) << kind) |
                                                  (UINT64_C(1) << VAMP_EVENT_JOIN) |
                                                  (UINT64_C(1) << VAMP_EVENT_LEAVE));
        vamp_config_free(config);
        scratch_remove(&scratch);
    }
}

/* Each within its bounds: 256 patterns of 310 bytes. */
static void conditions_too_large_together_are_said_to_be(void **state)
{
    (void)state;
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    assert_non_null(stream);
    (void)fputs("{\"events\": {\"components\": [", stream);
    for (int i = 0; i < 256; i++) {
        (void)fprintf(stream, "%s\"c%0309d*\"", i > 0 ? ", " : "", i);
    }
    (void)fputs("]}}", stream);
    assert_int_equal(fclose(stream), 0);
    struct scratch scratch = scratch_make(text);
    free(text);
    struct vamp_config *config = NULL;
    char *printed = NULL;
    assert_int_equal(load(&(struct vamp_config_request){.file = scratch.file}, &config, &printed),
                     -EINVAL);
    assert_non_null(strstr(printed, "c.json:1:12: error: /events: the conditions of this section "
                                    "are too much for one filter: the text has more than 65536 "
                                    "bytes\n"));
    assert_null(strstr(printed, "line 1"));
    assert_null(strstr(printed, "no event would ever count"));
    free(printed);
    scratch_remove(&scratch);
}

static void schema_is_the_checked_in_one(void **state)
{
    (void)state;
    static const char *const files[VAMP_CONFIG_PROGRAM_COUNT] = {
        [VAMP_CONFIG_VAMPIRE] = "config/ready/vampire.schema.json",
        [VAMP_CONFIG_COLLECT] = "config/ready/vampire-collect.schema.json",
    };
    for (unsigned program = 0; program < VAMP_CONFIG_PROGRAM_COUNT; program++) {
        char *schema = vamp_config_schema(program);
        assert_non_null(schema);
        char *stored = read_file(files[program]);
        assert_non_null(stored);
        const size_t length = strlen(schema);
        if (strncmp(schema, stored, length) != 0 || strcmp(stored + length, "\n") != 0) {
            fail_msg("%s is not what the option tables say: make generated", files[program]);
        }
        free(stored);
        free(schema);
    }
}

static void ready_configurations_are_right(void **state)
{
    (void)state;
    static const char *const files[] = {"config/ready/minimal.json", "config/ready/demo.json",
                                        "config/ready/operators.json", "config/ready/tuning.json"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        struct vamp_config *config = load_good(files[i]);
        assert_true(config->output_count > 0);
        assert_round_trip(config);
        vamp_config_free(config);
    }
}

static void more_diagnostics_than_room_are_counted(void **state)
{
    (void)state;
    struct vamp_diagnostics diagnostics;
    assert_int_equal(vamp_diagnostics_init(&diagnostics, NULL), 0);
    for (unsigned i = 0; i < VAMP_DIAGNOSTICS_MAX + 5; i++) {
        struct vamp_diagnostic diagnostic = {.severity = VAMP_SEVERITY_ERROR,
                                             .line = VAMP_DIAGNOSTICS_MAX - i};
        (void)snprintf(diagnostic.text, sizeof diagnostic.text, "\"%u\"\n\xff", i);
        vamp_diagnostics_add(&diagnostics, &diagnostic);
    }
    assert_int_equal(diagnostics.count, VAMP_DIAGNOSTICS_MAX);
    assert_int_equal(diagnostics.error_count, VAMP_DIAGNOSTICS_MAX + 5);
    vamp_diagnostics_sort(&diagnostics);
    assert_int_equal(diagnostics.items[0].line, 1);
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);
    assert_non_null(stream);
    vamp_diagnostics_print_json(&diagnostics, "\xc3\xa4\"\\", stream);
    assert_int_equal(fclose(stream), 0);
    json_t *json = json_loads(text, 0, NULL);
    assert_non_null(json);
    assert_int_equal(json_integer_value(json_object_get(json, "errors")), 69);
    assert_int_equal(json_array_size(json_object_get(json, "diagnostics")), 64);
    json_decref(json);
    free(text);
    vamp_diagnostics_done(&diagnostics);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_complete),
        cmocka_unit_test(every_kind_has_its_word),
        cmocka_unit_test(conditions_too_large_together_are_said_to_be),
        cmocka_unit_test(schema_is_the_checked_in_one),
        cmocka_unit_test(ready_configurations_are_right),
        cmocka_unit_test(more_diagnostics_than_room_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
