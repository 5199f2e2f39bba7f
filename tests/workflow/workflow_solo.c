/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A component that is producer and consumer at once: it offers a field, demands it, checks it and
 * disposes of both handles before the next one. So a workflow is one process next to the pool
 * manager, one request after the other. Prints its own counts at the end. Written against maestro.h
 * only.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "maestro.h"
#include "tests/workflow/options.h"
#include "tests/workflow/payload.h"
#include "tests/workflow/report.h"

static const char usage[] = "usage: workflow_solo [OPTION]...\n"
                            "  --name TEXT        component name (\"Solo\")\n"
                            "  --fields N         ends after so many fields (10)\n"
                            "  --size BYTES       of a field (4096)\n"
                            "  --rate N           fields a second, 0: as fast as possible (0)\n"
                            "  --times PATH       write when each demand ended (CLOCK_MONOTONIC) "
                            "and how long it took, ns\n";

struct solo {
    const char *name, *times;
    uint64_t fields, size, rate;
    uint64_t started_ns;
    void *data;
    struct report report;
};

static void set_options(struct solo *solo, int argc, char **argv)
{
    *solo = (struct solo){.name = "Solo", .fields = 10, .size = 4096};
    const struct option_row rows[] = {
        {"name", .text = &solo->name},
        {"fields", .number = &solo->fields, .min = 1, .max = UINT64_MAX},
        {"size", .number = &solo->size, .min = PAYLOAD_BYTES_MIN, .max = UINT64_C(1) << 32},
        {"rate", .number = &solo->rate, .max = 1000000},
        {"times", .text = &solo->times},
        {0},
    };
    parse_options(rows, usage, argc, argv);
}

static void pace(const struct solo *solo, uint64_t field)
{
    if (solo->rate > 0) {
        const uint64_t due = solo->started_ns + field * UINT64_C(1000000000) / solo->rate;
        const struct timespec until = {.tv_sec = (time_t)(due / UINT64_C(1000000000)),
                                       .tv_nsec = (long)(due % UINT64_C(1000000000))};
        (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
    }
}

static bool offer(struct solo *solo, const char *name, mstro_cdo *ret_cdo)
{
    struct report *report = &solo->report;
    int64_t size = (int64_t)solo->size;
    payload_fill(solo->data, solo->size, name, 1);
    if (!report_operation(report, OP_DECLARE, mstro_cdo_declare(name, MSTRO_ATTR_DEFAULT, ret_cdo),
                          name)) {
        return false;
    }
    mstro_status status =
        mstro_cdo_attribute_set(*ret_cdo, MSTRO_ATTR_CORE_CDO_RAW_PTR, solo->data, false, true);
    if (status == MSTRO_OK) {
        status = mstro_cdo_attribute_set(*ret_cdo, MSTRO_ATTR_CORE_CDO_SCOPE_LOCAL_SIZE, &size,
                                         true, false);
    }
    if (status != MSTRO_OK) {
        report_failure(report, name, failure_text(status));
        return false;
    }
    report->produced_bytes += solo->size;
    return report_operation(report, OP_SEAL, mstro_cdo_seal(*ret_cdo), name) &&
           report_operation(report, OP_OFFER, mstro_cdo_offer(*ret_cdo), name);
}

static void check(struct solo *solo, const char *name, mstro_cdo cdo)
{
    void *data = NULL;
    int64_t bytes = 0;
    uint64_t checksum = 0;
    if (mstro_cdo_access_ptr(cdo, &data, &bytes) != MSTRO_OK) {
        report_failure(&solo->report, name, "was demanded, but there are no data");
        return;
    }
    const char *wrong = payload_check(data, (size_t)bytes, name, &checksum);
    if (wrong != NULL) {
        report_failure(&solo->report, name, wrong);
    }
    solo->report.digest += checksum;
    free(data); /* who asks for a demanded CDO's data owns them */
}

static bool demand(struct solo *solo, const char *name)
{
    struct report *report = &solo->report;
    mstro_cdo cdo = NULL;
    if (!report_operation(report, OP_DECLARE, mstro_cdo_declare(name, MSTRO_ATTR_DEFAULT, &cdo),
                          name) ||
        !report_operation(report, OP_SEAL, mstro_cdo_seal(cdo), name) ||
        !report_operation(report, OP_REQUIRE, mstro_cdo_require(cdo), name)) {
        return false;
    }
    const uint64_t began = now_ns();
    if (!report_operation(report, OP_DEMAND, mstro_cdo_demand(cdo), name)) {
        return false;
    }
    report_demand(report, now_ns() - began, solo->size);
    check(solo, name, cdo);
    return report_operation(report, OP_DISPOSE, mstro_cdo_dispose(cdo), name);
}

/* One field, from its declaration to its disposal. */
static bool move(struct solo *solo, uint64_t field)
{
    char name[64];
    mstro_cdo cdo = NULL;
    (void)snprintf(name, sizeof name, "class:rd,param:130,levelist:500,step:%" PRIu64, field);
    return offer(solo, name, &cdo) && demand(solo, name) &&
           report_operation(&solo->report, OP_WITHDRAW, mstro_cdo_withdraw(cdo), name) &&
           report_operation(&solo->report, OP_DISPOSE, mstro_cdo_dispose(cdo), name);
}

int main(int argc, char **argv)
{
    struct solo solo;
    set_options(&solo, argc, argv);
    struct report *report = &solo.report;
    report_init(report, solo.name, "solo");
    if (solo.times != NULL) {
        report_times(report, solo.times);
    }
    solo.data = malloc(solo.size);
    if (solo.data == NULL) {
        die("no memory for a field of %" PRIu64 " bytes", solo.size);
    }
    if (report_operation(report, OP_JOIN, mstro_init(NULL, solo.name, 0), "the workflow")) {
        solo.started_ns = now_ns();
        for (uint64_t field = 0; field < solo.fields && report->failed == 0; field++) {
            pace(&solo, field);
            (void)move(&solo, field);
        }
        report_operation(report, OP_LEAVE, mstro_finalize(), "the workflow");
    }
    report_print(report);
    const int exit_code = report->failed == 0 ? 0 : WORKFLOW_FAILED;
    report_done(report);
    free(solo.data);
    return exit_code;
}
