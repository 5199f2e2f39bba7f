/* SPDX-License-Identifier: BSD-3-Clause */
/* The configuration and files: its own, also as a FIFO, and those that it names. */
#include <pthread.h>
#include <sys/stat.h>

#include "tests/unit/config_scratch.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_that_cannot_be_read),
        cmocka_unit_test(a_fifo_with_a_writer_is_read),
        cmocka_unit_test(directories_are_looked_at),
        cmocka_unit_test(a_fifo_takes_the_effect_of_file_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
