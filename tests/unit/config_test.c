/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The configuration: golden cases, round trips, what overrides it, the checked-in schema and the
 * ready configurations. Want of memory has filtering_config_memory_test.c.
 *
 * A golden case is a folder tests/golden/config/CASE/ with `input.json` and `expect`, and where it
 * needs them `environment` and `options` (NAME=VALUE a line) and `run` (empty: what a run needs is
 * demanded). `expect` holds what vampire prints about mistakes; for a right configuration then the
 * lines of the effective configuration that are not the default's, the composed filter and the
 * kinds of events. VAMP_GOLDEN_WRITE=1 writes them again, for review with git diff.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/config_scratch.h"

#define GOLDEN "tests/golden/config"
#define LINES_MAX 64

/* ---- files */

/* NAME=VALUE lines of a file, pointing into `text`. */
struct pairs {
    char *text;
    const char *names[LINES_MAX], *values[LINES_MAX];
    size_t count;
};

static struct pairs read_pairs(const char *path)
{
    struct pairs pairs = {.text = read_file(path)};
    char *rest = pairs.text;
    for (char *line = strsep(&rest, "\n"); line != NULL; line = strsep(&rest, "\n")) {
        char *equals = strchr(line, '=');
        if (equals != NULL && pairs.count < LINES_MAX) {
            *equals = '\0';
            pairs.names[pairs.count] = line;
            pairs.values[pairs.count++] = equals + 1;
        }
    }
    return pairs;
}

/* ---- loading */

/* What the configuration takes for the environment: a test runs one load at a time. */
static const struct pairs *environment;

static const char *get_variable(const char *name)
{
    for (size_t i = 0; environment != NULL && i < environment->count; i++) {
        if (strcmp(environment->names[i], name) == 0) {
            return environment->values[i];
        }
    }
    return NULL;
}

/* What was dumped loads without a word and dumps the same. */
static void assert_round_trip(const struct vamp_config *config)
{
    char *text = vamp_config_dump(config, 2);
    assert_non_null(text);
    struct scratch scratch = scratch_make(text);
    struct vamp_config *again = load_good(scratch.file);
    char *text_again = vamp_config_dump(again, 2);
    assert_string_equal(text, text_again);
    assert_string_equal(config->effective_text, again->effective_text);
    assert_int_equal(config->event_kinds, again->event_kinds);
    assert_int_equal(config->filter == NULL, again->filter == NULL);
    if (config->filter != NULL) {
        assert_string_equal(config->filter, again->filter);
    }
    free(text_again);
    free(text);
    vamp_config_free(again);
    scratch_remove(&scratch);
}

/* ---- golden cases */

static bool has_line(const char *text, const char *line, size_t length)
{
    for (; text != NULL && *text != '\0'; text = strchr(text, '\n'), text += text != NULL) {
        if (strncmp(text, line, length) == 0 && (text[length] == '\n' || text[length] == '\0')) {
            return true;
        }
    }
    return false;
}

static void print_changes(FILE *stream, const struct vamp_config *config, const char *defaults)
{
    char *dump = vamp_config_dump(config, 2);
    assert_non_null(dump);
    char *rest = dump;
    for (char *line = strsep(&rest, "\n"); line != NULL; line = strsep(&rest, "\n")) {
        if (!has_line(defaults, line, strlen(line))) {
            (void)fprintf(stream, "%s\n", line);
        }
    }
    free(dump);
    (void)fprintf(stream, "filter: %s\nkinds: %#06" PRIx64 "\n",
                  config->filter != NULL ? config->filter : "-", config->event_kinds);
}

/* What the case gives; the working directory is the case's. malloc'ed. */
static char *run_case(const char *defaults)
{
    struct pairs variables = read_pairs("environment");
    struct pairs options = read_pairs("options");
    struct vamp_config_override overrides[LINES_MAX];
    for (size_t i = 0; i < options.count; i++) {
        overrides[i] = (struct vamp_config_override){options.names[i], options.values[i], "-o"};
    }
    environment = &variables;
    const struct vamp_config_request request = {
        .file = "input.json",
        .overrides = overrides,
        .override_count = options.count,
        .environment = get_variable,
        .memory_bytes = MEMORY_BYTES,
        .run = access("run", F_OK) == 0,
    };
    struct vamp_config *config = NULL;
    char *printed = NULL;
    (void)load(&request, &config, &printed);
    environment = NULL;
    char *result = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&result, &bytes);
    assert_non_null(stream);
    (void)fputs(printed, stream);
    if (config != NULL) {
        print_changes(stream, config, defaults);
        assert_round_trip(config);
    }
    assert_int_equal(fclose(stream), 0);
    vamp_config_free(config);
    free(printed);
    free(variables.text);
    free(options.text);
    return result;
}

static bool check_case(int golden, const char *name, const char *defaults)
{
    int home = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(home >= 0);
    assert_int_equal(fchdir(golden), 0);
    assert_int_equal(chdir(name), 0);
    char *result = run_case(defaults);
    if (getenv("VAMP_GOLDEN_WRITE") != NULL) {
        write_file("expect", result);
    }
    char *expect = read_file("expect");
    bool fine = expect != NULL && strcmp(expect, result) == 0;
    /* The name says which side a case is on, so that a wrong expectation is noticed when it is
     * written. */
    bool good = strstr(result, "error: ") == NULL;
    fine = fine && good == (strncmp(name, "bad-", 4) != 0);
    if (!fine) {
        print_message("---- case %s expects:\n%s---- but gives:\n%s", name,
                      expect != NULL ? expect : "(no file)\n", result);
    }
    free(expect);
    free(result);
    assert_int_equal(fchdir(home), 0);
    (void)close(home);
    return fine;
}

static void golden_cases(void **state)
{
    (void)state;
    struct vamp_config *standard = load_good(NULL);
    char *defaults = vamp_config_dump(standard, 2);
    assert_non_null(defaults);
    DIR *directory = opendir(GOLDEN);
    assert_non_null(directory);
    unsigned count = 0;
    unsigned failed = 0;
    for (const struct dirent *entry = readdir(directory); entry != NULL;
         entry = readdir(directory)) {
        if (entry->d_name[0] != '.') {
            count++;
            failed += !check_case(dirfd(directory), entry->d_name, defaults);
        }
    }
    (void)closedir(directory);
    free(defaults);
    vamp_config_free(standard);
    print_message("%u golden cases\n", count);
    assert_true(count >= 60);
    assert_int_equal(failed, 0);
}

/* ---- the rest */

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

static void files_that_cannot_be_read(void **state)
{
    (void)state;
    struct vamp_config *config = NULL;
    char *printed = NULL;
    assert_int_equal(
        load(&(struct vamp_config_request){.file = "/nonexistent/c.json"}, &config, &printed),
        -ENOENT);
    assert_string_equal(printed,
                        "open the configuration /nonexistent/c.json: No such file or directory\n");
    free(printed);
    assert_int_equal(load(&(struct vamp_config_request){.file = ""}, &config, &printed), -ENOENT);
    assert_string_equal(printed, "open the configuration: the name of the file is empty\n");
    free(printed);
    assert_int_equal(load(&(struct vamp_config_request){.file = "/"}, &config, &printed), -EISDIR);
    free(printed);
    char *large = malloc(300000);
    assert_non_null(large);
    memset(large, ' ', 299999);
    large[299999] = '\0';
    struct scratch scratch = scratch_make(large);
    assert_int_equal(load(&(struct vamp_config_request){.file = scratch.file}, &config, &printed),
                     -EFBIG);
    free(printed);
    memset(large, '1', 20000);
    large[0] = '[';
    for (size_t i = 2; i < 20000; i += 2) {
        large[i] = ',';
    }
    large[20001] = ']';
    large[20002] = '\0';
    write_file(scratch.file, large);
    assert_int_equal(load(&(struct vamp_config_request){.file = scratch.file}, &config, &printed),
                     -EINVAL);
    assert_non_null(strstr(printed, "more than 8192 values"));
    free(printed);
    scratch_remove(&scratch);
    free(large);
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

static void a_fifo_without_a_writer_is_a_mistake(void **state)
{
    (void)state;
    struct scratch scratch = scratch_make("");
    char fifo[128];
    (void)snprintf(fifo, sizeof fifo, "%s/fifo", scratch.directory);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    struct vamp_config *config = NULL;
    char *printed = NULL;
    assert_int_equal(load(&(struct vamp_config_request){.file = fifo}, &config, &printed),
                     -ETIMEDOUT);
    assert_non_null(strstr(printed, "this is a FIFO, and no process opened it for writing"));
    free(printed);
    assert_int_equal(unlink(fifo), 0);
    scratch_remove(&scratch);
}

/* Opens the FIFO for writing as soon as that goes, as a script's other end does. */
static void *write_fifo(void *name)
{
    FILE *stream = fopen(name, "we");
    if (stream != NULL) {
        (void)fputs("{\"workflow\": \"from a FIFO\"}", stream);
        (void)fclose(stream);
    }
    return NULL;
}

static void a_fifo_with_a_writer_is_read(void **state)
{
    (void)state;
    struct scratch scratch = scratch_make("");
    char fifo[128];
    (void)snprintf(fifo, sizeof fifo, "%s/fifo", scratch.directory);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    pthread_t writer;
    assert_int_equal(pthread_create(&writer, NULL, write_fifo, fifo), 0);
    struct vamp_config *config = load_good(fifo);
    assert_string_equal(config->workflow, "from a FIFO");
    vamp_config_free(config);
    assert_int_equal(pthread_join(writer, NULL), 0);
    assert_int_equal(unlink(fifo), 0);
    scratch_remove(&scratch);
}

static void directories_are_looked_at(void **state)
{
    (void)state;
    struct scratch scratch = scratch_make("");
    char text[1024];
    (void)snprintf(text, sizeof text,
                   "{\"outputs\": [{\"type\": \"hdf5\", \"directory\": \"%s/none\"},\n"
                   "{\"type\": \"jsonl\", \"path\": \"%s/c.json/x\"},\n"
                   "{\"type\": \"jsonl\", \"path\": \"%s/fine\"},\n"
                   "{\"type\": \"jsonl\", \"path\": \"%s\", \"name\": \"d\"},\n"
                   "{\"type\": \"jsonl\", \"path\": \"%s/link\", \"name\": \"l\"},\n"
                   "{\"type\": \"jsonl\", \"path\": \"/dev/null\", \"name\": \"n\"}]}",
                   scratch.directory, scratch.directory, scratch.directory, scratch.directory,
                   scratch.directory);
    char link[512];
    (void)snprintf(link, sizeof link, "%s/link", scratch.directory);
    assert_int_equal(symlink("elsewhere", link), 0);
    write_file(scratch.file, text);
    struct vamp_config_request request = {.file = scratch.file, .memory_bytes = MEMORY_BYTES};
    struct vamp_config *config = NULL;
    char *printed = NULL;
    assert_int_equal(load(&request, &config, &printed), 0);
    vamp_config_free(config);
    free(printed);
    request.paths = true;
    assert_int_equal(load(&request, &config, &printed), -EINVAL);
    assert_non_null(strstr(printed, "c.json:1:44: error: /outputs/0/directory: the directory"));
    assert_non_null(strstr(printed, "c.json:2:27: error: /outputs/1/path: "));
    assert_non_null(strstr(printed, "is not a directory"));
    assert_null(strstr(printed, "/outputs/2"));
    assert_non_null(strstr(printed, "c.json:4:27: error: /outputs/3/path: "));
    assert_non_null(strstr(printed, "is a directory; give the name of a file in it"));
    assert_non_null(strstr(printed, "c.json:5:27: error: /outputs/4/path: "));
    assert_non_null(strstr(printed, "is a symbolic link"));
    assert_null(strstr(printed, "/outputs/5"));
    free(printed);
    assert_int_equal(unlink(link), 0);
    scratch_remove(&scratch);
}

/* A name means another target when a FIFO has it; the dump follows. */
static void a_fifo_takes_the_effect_of_file_options(void **state)
{
    (void)state;
    struct scratch scratch = scratch_make("");
    char fifo[128];
    char text[512];
    (void)snprintf(fifo, sizeof fifo, "%s/fifo", scratch.directory);
    (void)snprintf(text, sizeof text,
                   "{\"outputs\": [{\"type\": \"jsonl\", \"access\": \"all\", \"path\": \"%s\",\n"
                   " \"rotate\": {\"interval\": \"1h\"}}]}",
                   fifo);
    write_file(scratch.file, text);
    const struct vamp_config_request request = {.file = scratch.file, .memory_bytes = MEMORY_BYTES};
    struct vamp_config *config = NULL;
    char *printed = NULL;
    assert_int_equal(load(&request, &config, &printed), 0);
    assert_non_null(strstr(config->effective_text, "\"access\": \"all\""));
    vamp_config_free(config);
    free(printed);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(load(&request, &config, &printed), -EINVAL);
    assert_non_null(strstr(printed, "c.json:1:32: error: /outputs/0/access: has no effect here"));
    assert_non_null(
        strstr(printed, "c.json:2:13: error: /outputs/0/rotate/interval: has no effect"));
    free(printed);
    (void)snprintf(text, sizeof text, "{\"outputs\": [{\"type\": \"jsonl\", \"path\": \"%s\"}]}",
                   fifo);
    write_file(scratch.file, text);
    config = load_good(scratch.file);
    assert_non_null(strstr(config->effective_text, fifo));
    assert_null(strstr(config->effective_text, "access"));
    assert_null(strstr(config->effective_text, "rotate"));
    assert_round_trip(config);
    vamp_config_free(config);
    assert_int_equal(unlink(fifo), 0);
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
        if (strcmp(schema, stored) != 0) {
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
        cmocka_unit_test(golden_cases),
        cmocka_unit_test(every_kind_has_its_word),
        cmocka_unit_test(files_that_cannot_be_read),
        cmocka_unit_test(conditions_too_large_together_are_said_to_be),
        cmocka_unit_test(a_fifo_without_a_writer_is_a_mistake),
        cmocka_unit_test(a_fifo_with_a_writer_is_read),
        cmocka_unit_test(directories_are_looked_at),
        cmocka_unit_test(a_fifo_takes_the_effect_of_file_options),
        cmocka_unit_test(schema_is_the_checked_in_one),
        cmocka_unit_test(ready_configurations_are_right),
        cmocka_unit_test(more_diagnostics_than_room_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
