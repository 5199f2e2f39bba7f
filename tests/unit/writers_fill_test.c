/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes made-up buckets through an output. Alone it is a small test; with arguments it is the tool
 * of tests/e2e/made_up.py:
 *
 *   writers_fill_test WRITER key=value... [-- buckets=N growth=N max_series=N long_names=N
 *       pause_us=N queue=N rotate_bytes=N rotate_ns=N deadline_ms=N wait=N configuration=BYTES
 *       replayed=1]
 *
 * SIGTERM ends it before its time. It prints "acked N" when N buckets are known to be written,
 * "lost N" when N are lost, "failure TEXT" for failures and at the end "path P" for each file and
 * "account QUEUED WRITTEN LOST WAITING". Exit code 0: all written.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/finish_output.h"
#include "tests/unit/writers_buckets.h"
#include "writers/output/output.h"

struct plan {
    uint64_t buckets, growth, max_series, long_names, pause_us, queue, rotate_bytes, rotate_ns;
    uint64_t deadline_ms, wait, configuration, replayed;
};

/* SIGTERM: no more buckets. */
static volatile sig_atomic_t stopped;

static void stop(int signal_number)
{
    (void)signal_number;
    stopped = 1;
}

struct fill {
    struct plan plan;
    struct made_run *made;
    struct vamp_output *output;
    uint64_t reported, reported_lost;
};

static void report_account(struct fill *fill)
{
    struct vamp_output_account account;
    struct vamp_err failure;
    vamp_output_account(fill->output, &account);
    if (account.queued != account.written + account.lost + account.waiting) {
        (void)printf("identity broken\n");
        abort();
    }
    if (vamp_output_failure(fill->output, &failure)) {
        (void)printf("failure %s\n", failure.text);
    }
    char remark[VAMP_ERR_TEXT_BYTES];
    if (vamp_output_remark(fill->output, remark)) {
        (void)printf("remark %s\n", remark);
    }
    if (account.written != fill->reported) {
        fill->reported = account.written;
        (void)printf("acked %" PRIu64 "\n", fill->reported);
    }
    if (account.lost != fill->reported_lost) {
        fill->reported_lost = account.lost;
        (void)printf("lost %" PRIu64 "\n", fill->reported_lost);
    }
}

static void settle(struct fill *fill)
{
    struct vamp_output_account account;
    do {
        report_account(fill);
        vamp_output_account(fill->output, &account);
        (void)usleep(200);
    } while (account.waiting > 0);
}

static void print_path(void *context, const char *path)
{
    (void)context;
    (void)printf("path %s\n", path);
}

static int finish(struct fill *fill)
{
    struct vamp_err err = VAMP_ERR_NONE;
    struct vamp_output_account account;
    const struct vamp_ending ending = {
        .time_ns = MADE_START_NS + (int64_t)fill->plan.buckets * MADE_WIDTH_NS,
        .reason = "finished",
        .accounting = {.outputs = {{.name = "files"}}, .output_count = 1},
    };
    int code =
        finish_output(fill->output, &ending, (int64_t)fill->plan.deadline_ms * 1000000, &err);
    if (code != 0) {
        (void)printf("failure %s\n", err.text);
    }
    (void)vamp_output_paths(fill->output, print_path, NULL);
    vamp_output_account(fill->output, &account);
    (void)printf("account %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", account.queued,
                 account.written, account.lost, account.waiting);
    vamp_output_free(fill->output);
    return code;
}

static int run(const struct vamp_writer_ops *ops, const void *options, const struct plan *plan)
{
    struct fill fill = {.plan = *plan};
    struct vamp_err err = VAMP_ERR_NONE;
    fill.made = made_run_create(~UINT64_C(0), (unsigned)plan->max_series, (unsigned)plan->growth,
                                (unsigned)plan->long_names);
    fill.made->run.replayed = plan->replayed > 0;
    char *configuration = calloc(plan->configuration + 1, 1);
    if (plan->configuration > 0) {
        memset(configuration, 'c', plan->configuration);
        fill.made->run.configuration = configuration;
    }
    char name[] = "files";
    const struct vamp_output_settings settings = {
        .name = name,
        .queue = plan->queue,
        .rotate_bytes = plan->rotate_bytes,
        .rotate_ns = (int64_t)plan->rotate_ns,
    };
    const struct vamp_output_context context = {
        .run = &fill.made->run,
        .schema = &fill.made->schema,
        .clock = &vamp_clock_system,
    };
    int code = vamp_output_create(ops, options, &settings, &context, &fill.output, &err);
    if (code != 0) {
        (void)printf("failure %s\n", err.text);
    } else {
        for (uint64_t n = 0; n < plan->buckets && stopped == 0; n++) {
            const struct vamp_bucket *bucket = made_bucket(fill.made, n, NULL);
            vamp_output_bucket(fill.output, bucket);
            vamp_bucket_release(bucket);
            report_account(&fill);
            if (plan->wait > 0 && (n + 1) % plan->wait == 0) {
                settle(&fill);
            }
            (void)usleep((useconds_t)plan->pause_us);
        }
        code = finish(&fill);
    }
    made_run_free(fill.made);
    free(configuration);
    return code;
}

static void set_plan(struct plan *plan, const char *key, const char *value)
{
    const struct {
        const char *key;
        uint64_t *number;
    } numbers[] = {
        {"buckets", &plan->buckets},
        {"growth", &plan->growth},
        {"max_series", &plan->max_series},
        {"long_names", &plan->long_names},
        {"pause_us", &plan->pause_us},
        {"queue", &plan->queue},
        {"rotate_bytes", &plan->rotate_bytes},
        {"rotate_ns", &plan->rotate_ns},
        {"deadline_ms", &plan->deadline_ms},
        {"wait", &plan->wait},
        {"configuration", &plan->configuration},
        {"replayed", &plan->replayed},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (strcmp(numbers[i].key, key) == 0) {
            *numbers[i].number = strtoull(value, NULL, 10);
            return;
        }
    }
    (void)fprintf(stderr, "unknown number %s\n", key);
    exit(2);
}

/* "key=value" into key and value, in place. */
static char *split(char *argument)
{
    char *equals = strchr(argument, '=');
    if (equals == NULL) {
        (void)fprintf(stderr, "%s is not key=value\n", argument);
        exit(2);
    }
    *equals = '\0';
    return equals + 1;
}

static int tool(int argc, char **argv)
{
    struct vamp_err err = VAMP_ERR_NONE;
    struct plan plan = {
        .buckets = 10, .growth = 2, .max_series = 1024, .queue = 64, .deadline_ms = 20000};
    const struct vamp_writer_ops *ops = vamp_writer_find(argv[1]);
    if (ops == NULL) {
        (void)fprintf(stderr, "no writer %s\n", argv[1]);
        return 2;
    }
    void *options = calloc(1, ops->options_bytes + 1);
    if (vamp_opt_presets(ops->options, options, &err) != 0) {
        (void)fprintf(stderr, "%s\n", err.text);
        return 2;
    }
    int i = 2;
    for (; i < argc && strcmp(argv[i], "--") != 0; i++) {
        const char *value = split(argv[i]);
        const struct vamp_opt *opt = vamp_opt_find(ops->options, argv[i]);
        if (opt == NULL || vamp_opt_set(opt, options, value, &err) != 0) {
            (void)fprintf(stderr, "%s: %s\n", argv[i], err.text);
            return 2;
        }
    }
    for (i++; i < argc; i++) {
        const char *value = split(argv[i]);
        set_plan(&plan, argv[i], value);
    }
    (void)signal(SIGTERM, stop);
    (void)signal(SIGXFSZ, SIG_IGN); /* tests limit the size of files */
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    int code = run(ops, options, &plan);
    vamp_opt_done(ops->options, options);
    free(options);
    return code == 0 ? 0 : 1;
}

static void test_null_takes_all(void **state)
{
    (void)state;
    const struct plan plan = {
        .buckets = 5, .growth = 1, .max_series = 8, .queue = 16, .deadline_ms = 10000};
    assert_int_equal(run(&vamp_writer_null, NULL, &plan), 0);
}

int main(int argc, char **argv)
{
    if (argc > 1) {
        return tool(argc, argv);
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_null_takes_all)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
