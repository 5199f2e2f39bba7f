/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The same cases for every writer of the list: what its table promises, whatever the format.
 * Writers of files are found by their option "directory".
 */
#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/lib/events.h"
#include "tests/unit/writers_buckets.h"
#include "vampire/core/clock.h"
#include "writers/writer.h"

struct bench {
    const struct vamp_writer_ops *ops, *functions; /* different ones of a plug-in */
    char directory[128];
    void *options;
    struct made_run *made;
};

static bool writes_files(const struct bench *bench)
{
    return vamp_opt_find(bench->ops->options, "directory") != NULL;
}

static void set_directory(struct bench *bench, const char *directory)
{
    struct vamp_err err = VAMP_ERR_NONE;
    if (writes_files(bench)) {
        const struct vamp_opt *opt = vamp_opt_find(bench->ops->options, "directory");
        assert_int_equal(vamp_opt_set(opt, bench->options, directory, &err), 0);
    }
}

static void setup(struct bench *bench, const struct vamp_writer_ops *ops)
{
    struct vamp_err err = VAMP_ERR_NONE;
    *bench = (struct bench){.ops = ops};
    const char *base = getenv("TMPDIR");
    (void)snprintf(bench->directory, sizeof bench->directory, "%s/vampire-writers-XXXXXX",
                   base != NULL ? base : "/tmp");
    assert_non_null(mkdtemp(bench->directory));
    bench->options = calloc(1, ops->options_bytes + 1);
    assert_int_equal(vamp_opt_presets(ops->options, bench->options, &err), 0);
    set_directory(bench, bench->directory);
    const struct vamp_opt *listen = vamp_opt_find(ops->options, "listen");
    assert_true(listen == NULL || vamp_opt_set(listen, bench->options, "tcp:0", &err) == 0);
    assert_int_equal(vamp_writer_load(ops, &bench->functions, &err), 0);
    bench->made = made_run_create(VAMP_SET_BASIC | VAMP_SET_SELF, 300, 3, 0);
}

/* Entries of the directory; removes them when asked to. */
static unsigned entries(const struct bench *bench, bool remove)
{
    unsigned count = 0;
    DIR *directory = opendir(bench->directory);
    assert_non_null(directory);
    for (struct dirent *entry = readdir(directory); entry != NULL; entry = readdir(directory)) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            count++;
            assert_true(!remove || unlinkat(dirfd(directory), entry->d_name, 0) == 0);
        }
    }
    (void)closedir(directory);
    return count;
}

static void teardown(struct bench *bench)
{
    (void)entries(bench, true);
    assert_int_equal(rmdir(bench->directory), 0);
    vamp_opt_done(bench->ops->options, bench->options);
    free(bench->options);
    made_run_free(bench->made);
}

static int open_writer(struct bench *bench, unsigned segment, void **ret_self, struct vamp_err *err)
{
    const struct vamp_writer_target target = {.run = &bench->made->run,
                                              .schema = &bench->made->schema,
                                              .name = "files",
                                              .event_kinds = VAMP_EVENT_KINDS_ALL,
                                              .segment = segment};
    return bench->functions->open(bench->options, &target, ret_self, err);
}

/* Of a format of events: a component joins, and the format hands over what it has. */
static int write_one_event(const struct bench *bench, void *self, uint64_t number,
                           struct vamp_err *err)
{
    const struct vamp_event event =
        event_join(MADE_START_NS + (int64_t)number * VAMP_NS_PER_SECOND, number + 1, "IFS -- 0");
    const int code = bench->functions->write_event(self, &event, err);
    return code == 0 ? bench->functions->flush(self, err) : code;
}

static int write_one(struct bench *bench, void *self, uint64_t number, struct vamp_err *err)
{
    if (bench->ops->element == VAMP_ELEMENT_EVENT) {
        return write_one_event(bench, self, number, err);
    }
    const struct vamp_bucket *bucket = made_bucket(bench->made, number, NULL);
    const struct vamp_delivery delivery = {.bucket = bucket,
                                           .components = bucket->components,
                                           .component_count = bucket->component_count,
                                           .gaps = bucket->gaps,
                                           .gap_count = bucket->gap_count};
    int code = bench->functions->write_bucket(self, &delivery, err);
    vamp_bucket_release(bucket);
    return code;
}

static const struct vamp_ending ending = {.time_ns = MADE_START_NS, .reason = "a \"reason\"\n"};

/* ---- the cases */

static void case_table(struct bench *bench)
{
    assert_true(strlen(bench->ops->name) > 0 && strlen(bench->ops->summary) > 0);
    assert_ptr_equal(vamp_writer_find(bench->ops->name), bench->ops);
    assert_null(vamp_writer_find("no such writer"));
}

static uint64_t bytes_of(const struct bench *bench, const void *self)
{
    return bench->functions->bytes != NULL ? bench->functions->bytes(self) : 0;
}

static void case_buckets(struct bench *bench, uint64_t buckets)
{
    struct vamp_err err = VAMP_ERR_NONE;
    void *self = NULL;
    assert_int_equal(open_writer(bench, 1, &self, &err), 0);
    assert_true(strlen(bench->functions->path(self)) > 0);
    /* A trace is one file. */
    const bool rotates = writes_files(bench) && bench->ops != &vamp_writer_trace;
    assert_int_equal(bench->functions->bytes != NULL, rotates);
    uint64_t before = bytes_of(bench, self);
    for (uint64_t n = 0; n < buckets; n++) {
        assert_int_equal(write_one(bench, self, n, &err), 0);
    }
    if (rotates && buckets > 0) {
        assert_true(bytes_of(bench, self) > before);
    }
    if (bench->functions->written != NULL) {
        assert_int_equal(bench->functions->written(self), buckets);
    }
    if (writes_files(bench)) {
        struct stat status;
        assert_int_equal(stat(bench->functions->path(self), &status), 0);
        assert_int_equal(status.st_mode & 0777, 0600);
    }
    assert_int_equal(bench->functions->close(self, &ending, &err), 0);
    assert_int_equal(entries(bench, false), writes_files(bench) ? 1 : 0);
}

static void case_no_bucket(struct bench *bench)
{
    case_buckets(bench, 0);
}

static void case_one_bucket(struct bench *bench)
{
    case_buckets(bench, 1);
}

static void case_many_buckets(struct bench *bench)
{
    case_buckets(bench, 40);
}

static void case_rotated(struct bench *bench)
{
    struct vamp_err err = VAMP_ERR_NONE;
    for (unsigned segment = 1; segment <= 3; segment++) {
        void *self = NULL;
        assert_int_equal(open_writer(bench, segment, &self, &err), 0);
        assert_int_equal(write_one(bench, self, segment, &err), 0);
        assert_int_equal(bench->functions->close(self, NULL, &err), 0);
    }
    assert_int_equal(entries(bench, false), writes_files(bench) ? 3 : 0);
}

static void case_outgrown(struct bench *bench)
{
    struct vamp_err err = VAMP_ERR_NONE;
    void *self = NULL;
    if (bench->ops->element != VAMP_ELEMENT_BUCKET) {
        return;
    }
    assert_int_equal(open_writer(bench, 1, &self, &err), 0);
    int code = write_one(bench, self, 99, &err); /* 300 series */
    assert_true(code == 0 || code == -ENOBUFS);
    assert_int_equal(write_one(bench, self, 1, &err), 0); /* in any case it is intact */
    assert_int_equal(bench->functions->close(self, NULL, &err), 0);
    const struct vamp_bucket *bucket = made_bucket(bench->made, 99, NULL);
    const struct vamp_delivery first = {.bucket = bucket};
    const struct vamp_writer_target target = {.run = &bench->made->run,
                                              .schema = &bench->made->schema,
                                              .name = "files",
                                              .segment = 2,
                                              .first = &first};
    assert_int_equal(bench->functions->open(bench->options, &target, &self, &err), 0);
    assert_int_equal(bench->functions->write_bucket(self, &first, &err), 0);
    assert_int_equal(bench->functions->close(self, &ending, &err), 0);
    vamp_bucket_release(bucket);
}

/* The name the writer takes, learned by letting it take it. */
static void learn_path(struct bench *bench, char path[static 256])
{
    struct vamp_err err = VAMP_ERR_NONE;
    void *self = NULL;
    assert_int_equal(open_writer(bench, 1, &self, &err), 0);
    (void)snprintf(path, 256, "%s", bench->functions->path(self));
    assert_int_equal(bench->functions->close(self, NULL, &err), 0);
    (void)entries(bench, true);
}

static void case_existing(struct bench *bench)
{
    struct vamp_err err = VAMP_ERR_NONE;
    char path[256], content[8] = "";
    void *self = NULL;
    if (!writes_files(bench)) {
        return;
    }
    learn_path(bench, path);
    int fd = open(path, O_CREAT | O_RDWR | O_EXCL, 0600);
    assert_int_equal(write(fd, "old", 3), 3);
    assert_int_equal(open_writer(bench, 1, &self, &err), -EEXIST);
    assert_non_null(strstr(err.text, path));
    assert_int_equal(pread(fd, content, sizeof content, 0), 3);
    assert_string_equal(content, "old");
    (void)close(fd);
    assert_int_equal(entries(bench, false), 1);
}

/* Two runs of one workflow that begin in the same second, in one directory. */
static void case_two_runs(struct bench *bench)
{
    struct vamp_err err = VAMP_ERR_NONE;
    void *one = NULL, *other = NULL;
    assert_int_equal(open_writer(bench, 1, &one, &err), 0);
    struct vamp_run *run = &bench->made->run;
    run->id[0] = run->id[0] == 'f' ? 'e' : 'f';
    assert_int_equal(open_writer(bench, 1, &other, &err), 0);
    assert_int_equal(bench->functions->close(one, &ending, &err), 0);
    assert_int_equal(bench->functions->close(other, &ending, &err), 0);
    assert_int_equal(entries(bench, false), writes_files(bench) ? 2 : 0);
}

static void case_symlink(struct bench *bench)
{
    struct vamp_err err = VAMP_ERR_NONE;
    char path[256], elsewhere[256];
    void *self = NULL;
    if (!writes_files(bench)) {
        return;
    }
    learn_path(bench, path);
    (void)snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", bench->directory);
    assert_int_equal(symlink(elsewhere, path), 0);
    assert_int_equal(open_writer(bench, 1, &self, &err), -ELOOP);
    assert_non_null(strstr(err.text, "symbolic link"));
    assert_int_equal(access(elsewhere, F_OK), -1);
}

static void case_no_directory(struct bench *bench)
{
    struct vamp_err err = VAMP_ERR_NONE;
    char path[256];
    void *self = NULL;
    if (!writes_files(bench)) {
        return;
    }
    (void)snprintf(path, sizeof path, "%s/missing", bench->directory);
    set_directory(bench, path);
    assert_int_equal(open_writer(bench, 1, &self, &err), -ENOENT);
    assert_non_null(strstr(err.text, path));
    assert_int_equal(entries(bench, false), 0);
    /* A file system that is read-only, for root too. */
    set_directory(bench, "/proc/self");
    assert_true(open_writer(bench, 1, &self, &err) < 0);
    assert_non_null(strstr(err.text, "/proc/self"));
    assert_null(strstr(err.text, "does not exist"));
}

typedef void test_case(struct bench *bench);

static void run_case(test_case *function)
{
    for (const struct vamp_writer_ops *const *ops = vamp_writers; *ops != NULL; ops++) {
        if (vamp_opt_find((*ops)->options, "url") != NULL ||
            vamp_opt_find((*ops)->options, "endpoint") != NULL ||
            vamp_opt_find((*ops)->options, "servers") != NULL ||
            vamp_opt_find((*ops)->options, "socket") != NULL) {
            continue; /* need a server: e2e/test_influx.py, test_otlp.py, test_nats.py,
                         test_syslog.py */
        }
        struct bench bench;
        print_message("    %s\n", (*ops)->name);
        setup(&bench, *ops);
        function(&bench);
        teardown(&bench);
    }
}

#define TEST_CASE(name)                                                                            \
    static void test_##name(void **state)                                                          \
    {                                                                                              \
        (void)state;                                                                               \
        run_case(case_##name);                                                                     \
    }
TEST_CASE(table)
TEST_CASE(no_bucket)
TEST_CASE(one_bucket)
TEST_CASE(many_buckets)
TEST_CASE(rotated)
TEST_CASE(outgrown)
TEST_CASE(existing)
TEST_CASE(two_runs)
TEST_CASE(symlink)
TEST_CASE(no_directory)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),      cmocka_unit_test(test_no_bucket),
        cmocka_unit_test(test_one_bucket), cmocka_unit_test(test_many_buckets),
        cmocka_unit_test(test_rotated),    cmocka_unit_test(test_outgrown),
        cmocka_unit_test(test_existing),   cmocka_unit_test(test_two_runs),
        cmocka_unit_test(test_symlink),    cmocka_unit_test(test_no_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
