/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/workflow/report.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Upstream's library does not have it. */
extern const char *mstro_last_error(void) __attribute__((weak));

static const char *const operation_names[OP_COUNT] = {
    [OP_JOIN] = "join",       [OP_LEAVE] = "leave",         [OP_DECLARE] = "declare",
    [OP_SEAL] = "seal",       [OP_OFFER] = "offer",         [OP_REQUIRE] = "require",
    [OP_DEMAND] = "demand",   [OP_RETRACT] = "retract",     [OP_WITHDRAW] = "withdraw",
    [OP_DISPOSE] = "dispose", [OP_SUBSCRIBE] = "subscribe", [OP_UNSUBSCRIBE] = "unsubscribe",
};

const char *failure_text(mstro_status status)
{
    const char *text = mstro_last_error != NULL ? mstro_last_error() : "";
    return *text != '\0' ? text : mstro_status_description(status);
}

void report_init(struct report *report, const char *component, const char *role)
{
    *report = (struct report){.component = component, .role = role};
}

void report_times(struct report *report, const char *path)
{
    report->times = fopen(path, "we");
    if (report->times == NULL) {
        die("cannot create %s: %s", path, strerror(errno));
    }
}

void report_done(struct report *report)
{
    if (report->times != NULL && fclose(report->times) != 0) {
        die("cannot write the times of demands: %s", strerror(errno));
    }
    free(report->demand_ns);
    report->demand_ns = NULL;
}

bool report_operation(struct report *report, enum operation operation, mstro_status status,
                      const char *what)
{
    if (status == MSTRO_OK) {
        report->operations[operation]++;
        return true;
    }
    report->failed++;
    fprintf(stderr, "%s: %s of %s: %s\n", report->component, operation_names[operation], what,
            failure_text(status));
    return false;
}

void report_failure(struct report *report, const char *what, const char *text)
{
    report->failed++;
    fprintf(stderr, "%s: %s: %s\n", report->component, what, text);
}

void report_demand(struct report *report, uint64_t nanoseconds, uint64_t bytes)
{
    if (report->demand_count == report->demand_capacity) {
        size_t capacity = report->demand_capacity == 0 ? 1024 : 2 * report->demand_capacity;
        uint64_t *grown = realloc(report->demand_ns, capacity * sizeof(*grown));
        if (grown == NULL) {
            die("no memory for %zu demand times", capacity);
        }
        report->demand_ns = grown;
        report->demand_capacity = capacity;
    }
    report->demand_ns[report->demand_count++] = nanoseconds;
    if (report->times != NULL) {
        (void)fprintf(report->times, "%" PRIu64 " %" PRIu64 "\n", now_ns(), nanoseconds);
    }
    report->transports++;
    report->consumed_bytes += bytes;
}

static void print_text(const char *text)
{
    putchar('"');
    for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\') {
            printf("\\%c", *c);
        } else if (*c < 0x20) {
            printf("\\u%04x", *c);
        } else {
            putchar(*c);
        }
    }
    putchar('"');
}

static int compare_times(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static void print_demand_times(struct report *report)
{
    size_t count = report->demand_count;
    uint64_t total = 0;
    if (count > 0) {
        qsort(report->demand_ns, count, sizeof(*report->demand_ns), compare_times);
    }
    for (size_t i = 0; i < count; i++) {
        total += report->demand_ns[i];
    }
    printf("\"demand_ns\":{\"count\":%zu,\"total\":%" PRIu64 ",\"p50\":%" PRIu64 ",\"max\":%" PRIu64
           "}",
           count, total, count > 0 ? report->demand_ns[(count - 1) / 2] : 0,
           count > 0 ? report->demand_ns[count - 1] : 0);
}

void report_print(struct report *report)
{
    printf("{\"component\":");
    print_text(report->component);
    printf(",\"role\":\"%s\",\"operations\":{", report->role);
    for (int i = 0; i < OP_COUNT; i++) {
        printf("%s\"%s\":%" PRIu64, i > 0 ? "," : "", operation_names[i], report->operations[i]);
    }
    printf("},\"produced_bytes\":%" PRIu64 ",\"consumed_bytes\":%" PRIu64 ",\"transports\":%" PRIu64
           ",\"failed\":%" PRIu64 ",\"digest\":\"%016" PRIx64 "\",",
           report->produced_bytes, report->consumed_bytes, report->transports, report->failed,
           report->digest);
    print_demand_times(report);
    printf("}\n");
    if (fflush(stdout) != 0) {
        die("cannot print the report: %s", strerror(errno));
    }
}

uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

void die(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    exit(WORKFLOW_FAILED);
}

uint64_t parse_number(const char *name, const char *text, uint64_t min, uint64_t max)
{
    char *end = NULL;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || text[0] == '-' || value < min || value > max) {
        fprintf(stderr, "--%s: '%s' is not a whole number from %" PRIu64 " to %" PRIu64 "\n", name,
                text, min, max);
        exit(WORKFLOW_USAGE);
    }
    return value;
}

void mark_file(const char *path)
{
    int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0 || close(file) != 0) {
        die("cannot create %s: %s", path, strerror(errno));
    }
}

void await_file(const char *path, uint64_t seconds)
{
    const struct timespec moment = {0, 5000000};
    uint64_t deadline = now_ns() + seconds * UINT64_C(1000000000);
    while (access(path, F_OK) != 0) {
        if (now_ns() > deadline) {
            die("waited %" PRIu64 " s for %s, which never came", seconds, path);
        }
        nanosleep(&moment, NULL);
    }
}
