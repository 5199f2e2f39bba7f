/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Golden cases of the configuration. A case is a folder tests/golden/config/CASE/ with `input.json`
 * and `expect`, and where it needs them `environment` and `options` (NAME=VALUE a line) and `run`
 * (empty: what a run needs is demanded). `expect` holds what vampire prints about mistakes; for a
 * right configuration then the lines of the effective configuration that are not the default's, the
 * composed filter and the kinds of events. VAMP_GOLDEN_WRITE=1 writes them again, for review with
 * git diff.
 */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_cases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
