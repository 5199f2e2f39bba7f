/* SPDX-License-Identifier: BSD-3-Clause */
/* The source of samples: two sockets, and a clock that stands still. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/lib/fake_clock.h"
#include "vampire/source/samples.h"

#define NOW_NS (INT64_C(1767225600) * VAMP_NS_PER_SECOND)

struct intake {
    char directory[32], names[2][64];
    struct vamp_fake_clock clock;
    atomic_int stop;
    unsigned said;
    int sender;
    void *source;
};

static void count_line(void *context, const char *line)
{
    (void)line;
    ++*(unsigned *)context;
}

static void open_intake(struct intake *intake, uint64_t max_rate)
{
    static char *names[2];
    struct vamp_err err = VAMP_ERR_NONE;
    memset(intake, 0, sizeof *intake);
    strcpy(intake->directory, "/tmp/samples-XXXXXX");
    assert_non_null(mkdtemp(intake->directory));
    for (unsigned i = 0; i < 2; i++) {
        (void)snprintf(intake->names[i], sizeof intake->names[i], "unix:%s/%u", intake->directory,
                       i);
        names[i] = intake->names[i];
    }
    static struct vamp_samples_options options;
    options =
        (struct vamp_samples_options){.listen = {.items = names, .count = 2}, .max_rate = max_rate};
    vamp_fake_clock_init(&intake->clock, NOW_NS);
    const struct vamp_source_context context = {.clock = &intake->clock.clock,
                                                .say = count_line,
                                                .say_context = &intake->said,
                                                .stop = &intake->stop};
    intake->sender = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_int_equal(vamp_source_samples.open(&options, &context, &intake->source, &err), 0);
}

static void close_intake(struct intake *intake)
{
    assert_int_equal(vamp_source_samples.close(intake->source, NULL), 0);
    (void)close(intake->sender);
    assert_int_equal(rmdir(intake->directory), 0);
}

static void send_to(struct intake *intake, unsigned input, const char *lines)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    strcpy(to.sun_path, intake->names[input] + strlen("unix:"));
    assert_int_equal(
        sendto(intake->sender, lines, strlen(lines), 0, (struct sockaddr *)&to, sizeof to),
        strlen(lines));
}

/* How many samples come, without ages of inputs; `*ret_last` is the last one, without its text. */
static unsigned read_all(struct intake *intake, struct vamp_event *ret_last)
{
    struct vamp_event event;
    unsigned count = 0;
    while (vamp_source_samples.next(intake->source, &event, NULL) == VAMP_SOURCE_MORE) {
        assert_int_equal(event.kind, VAMP_EVENT_SAMPLE);
        if (event.name_length < 13 || memcmp(event.name, "vampire_input", 13) != 0) {
            *ret_last = event;
            count++;
        }
    }
    return count;
}

static void a_clock_that_is_ahead_holds_nothing_up(void **state)
{
    (void)state;
    struct intake intake;
    struct vamp_event last;
    char line[64];
    open_intake(&intake, 1000);
    for (int ahead_s = -3; ahead_s <= 9; ahead_s += 3) {
        const int64_t time_ns = NOW_NS + ahead_s * VAMP_NS_PER_SECOND;
        (void)snprintf(line, sizeof line, "m a=1 %lld", (long long)time_ns);
        send_to(&intake, 0, line);
        assert_int_equal(read_all(&intake, &last), 1);
        assert_int_equal(last.time_ns, ahead_s < 0 ? time_ns : NOW_NS);
    }
    (void)snprintf(line, sizeof line, "m a=1 %lld", (long long)NOW_NS + 11 * VAMP_NS_PER_SECOND);
    send_to(&intake, 0, line);
    assert_int_equal(read_all(&intake, &last), 0);
    assert_int_equal(vamp_samples_account(intake.source).refused, 1);
    assert_int_equal(intake.said, 1);
    close_intake(&intake);
}

static void a_flood_of_one_takes_nothing_from_the_other(void **state)
{
    (void)state;
    struct intake intake;
    struct vamp_event last;
    open_intake(&intake, 4);
    send_to(&intake, 0, "m a=1\nm a=2\nm a=3\nm a=4\nm a=5\nm a=6\nm a=7\n");
    send_to(&intake, 1, "m b=1,c=2\nm b=3\n");
    assert_int_equal(read_all(&intake, &last), 4 + 3);
    assert_int_equal(vamp_samples_account(intake.source).beyond, 3);
    assert_int_equal(intake.said, 1);
    send_to(&intake, 0, "m a=8");
    assert_int_equal(read_all(&intake, &last), 0);
    vamp_fake_clock_advance(&intake.clock, VAMP_NS_PER_SECOND);
    send_to(&intake, 0, "m a=9");
    assert_int_equal(read_all(&intake, &last), 1);
    assert_int_equal(vamp_samples_account(intake.source).beyond, 4);
    assert_int_equal(intake.said, 1);
    close_intake(&intake);
}

static void write_file(const char *path, const char *lines)
{
    FILE *file = fopen(path, "a");
    assert_non_null(file);
    assert_true(fputs(lines, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* What a file has beyond the bound waits in it, also when another takes its name. */
static void a_file_that_is_replaced_is_read_to_its_end(void **state)
{
    (void)state;
    struct intake intake = {.directory = "/tmp/samples-XXXXXX"};
    struct vamp_err err = VAMP_ERR_NONE;
    struct vamp_event last;
    char path[64], old[64];
    assert_non_null(mkdtemp(intake.directory));
    (void)snprintf(path, sizeof path, "%s/lines", intake.directory);
    (void)snprintf(old, sizeof old, "%s/lines.1", intake.directory);
    char *names[] = {path};
    const struct vamp_samples_options options = {.files = {.items = names, .count = 1},
                                                 .max_rate = 2};
    vamp_fake_clock_init(&intake.clock, NOW_NS);
    const struct vamp_source_context context = {.clock = &intake.clock.clock, .stop = &intake.stop};
    write_file(path, "m a=0\n");
    assert_int_equal(vamp_source_samples.open(&options, &context, &intake.source, &err), 0);
    write_file(path, "m a=1\nm a=2\nm a=3\n");
    assert_int_equal(read_all(&intake, &last), 2);
    assert_int_equal(rename(path, old), 0);
    write_file(path, "m a=4\n");
    unsigned read = 0;
    for (unsigned second = 0; second < 3; second++) {
        vamp_source_samples.wait(intake.source, 0);
        vamp_fake_clock_advance(&intake.clock, VAMP_NS_PER_SECOND);
        read += read_all(&intake, &last);
    }
    assert_int_equal(read, 2);
    assert_int_equal(vamp_samples_account(intake.source).beyond, 0);
    assert_int_equal(vamp_source_samples.close(intake.source, NULL), 0);
    assert_int_equal(unlink(path) | unlink(old) | rmdir(intake.directory), 0);
}

static void garbage_never_keeps_the_caller(void **state)
{
    (void)state;
    struct intake intake;
    struct vamp_event last;
    char garbage[2001] = "";
    open_intake(&intake, 10000);
    for (unsigned i = 0; i < 1000; i++) {
        strcat(garbage, "x\n");
    }
    send_to(&intake, 0, garbage);
    send_to(&intake, 0, "m a=1");
    unsigned turns = 0;
    while (read_all(&intake, &last) == 0) { /* it says "empty", and does not wait */
        vamp_source_samples.wait(intake.source, VAMP_NS_PER_SECOND);
        turns++;
        assert_true(turns < 1000);
    }
    assert_true(turns > 1);
    assert_int_equal(vamp_samples_account(intake.source).refused, 1000);
    close_intake(&intake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_clock_that_is_ahead_holds_nothing_up),
        cmocka_unit_test(a_flood_of_one_takes_nothing_from_the_other),
        cmocka_unit_test(a_file_that_is_replaced_is_read_to_its_end),
        cmocka_unit_test(garbage_never_keeps_the_caller),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
