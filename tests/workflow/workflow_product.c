/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A product generator of the demo workflow: hears of every field that is offered, asks for those
 * its selector chose, checks their content and forgets them. Prints its own counts at the end.
 * Written against maestro.h only.
 *
 * The subscription to offers requires acknowledgement, so that the producer goes on only when
 * this component has said that it requires the field; otherwise the field might be gone.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "maestro.h"
#include "tests/workflow/options.h"
#include "tests/workflow/payload.h"
#include "tests/workflow/report.h"

#define MOMENT_NS 50000000

static const char usage[] =
    "usage: workflow_product [OPTION]...\n"
    "  --number N         1, 2, ...: part of the component's name (1)\n"
    "  --name TEXT        component name (\"Products NUMBER\")\n"
    "  --select QUERY     which fields (\"(has .maestro.ecmwf.step)\")\n"
    "  --producer NAME    ends when all these components came and left; may be repeated\n"
    "  --expect N         ends after so many fields\n"
    "  --retract N        of every N fields give one up instead of demanding it, 0: none (0)\n"
    "  --announce CDO     offer this CDO without data once ready\n"
    "  --ready-file PATH  create this file once ready\n"
    "  --times PATH       write when each demand ended (CLOCK_MONOTONIC) and how long it took, ns\n"
    "  --deadline SECONDS give up after this time without any field (120)\n"
    "  --verbose          a line on stderr for every field\n";

struct producer {
    const char *name;
    uint64_t appid;
    bool joined, left;
};

struct options {
    uint64_t number, expect, retract, deadline;
    const char *name, *select, *announce, *ready_file, *times;
    struct producer producers[OPTION_TEXTS_MAX];
    size_t producer_count;
    bool verbose;
};

struct wanted {
    mstro_cdo cdo;
    char *name;
    bool retract; /* instead of demanding it */
};

struct product {
    struct options options;
    char default_name[32];
    struct report report;
    mstro_subscription offers, members;
    struct wanted *wanted; /* required, not yet demanded */
    size_t wanted_count, wanted_capacity;
    uint64_t seen, consumed;
    bool pool_gone;
};

static void set_options(struct product *product, int argc, char **argv)
{
    struct options *o = &product->options;
    struct option_texts producers = {.count = 0};
    *o = (struct options){.number = 1, .select = "(has .maestro.ecmwf.step)", .deadline = 120};
    const struct option_row rows[] = {
        {"number", .number = &o->number, .max = 1000000},
        {"name", .text = &o->name},
        {"select", .text = &o->select},
        {"producer", .texts = &producers},
        {"expect", .number = &o->expect, .min = 1, .max = UINT64_MAX},
        {"retract", .number = &o->retract, .max = UINT64_MAX},
        {"announce", .text = &o->announce},
        {"ready-file", .text = &o->ready_file},
        {"times", .text = &o->times},
        {"deadline", .number = &o->deadline, .min = 1, .max = 86400},
        {"verbose", .flag = &o->verbose},
        {0},
    };
    parse_options(rows, usage, argc, argv);
    if (producers.count == 0 && o->expect == 0) {
        refuse_options("--producer or --expect must say when to end", usage);
    }
    for (; o->producer_count < producers.count; o->producer_count++) {
        o->producers[o->producer_count].name = producers.texts[o->producer_count];
    }
    if (o->name == NULL) {
        snprintf(product->default_name, sizeof(product->default_name), "Products %" PRIu64,
                 o->number);
        o->name = product->default_name;
    }
}

static void remember(struct product *product, mstro_cdo cdo, const char *name)
{
    if (product->wanted_count == product->wanted_capacity) {
        size_t capacity = product->wanted_capacity == 0 ? 64 : 2 * product->wanted_capacity;
        struct wanted *grown = realloc(product->wanted, capacity * sizeof(*grown));
        if (grown == NULL) {
            die("no memory for %zu fields", capacity);
        }
        product->wanted = grown;
        product->wanted_capacity = capacity;
    }
    struct wanted *wanted = &product->wanted[product->wanted_count++];
    wanted->cdo = cdo;
    wanted->retract = product->options.retract > 0 && product->seen % product->options.retract == 0;
    wanted->name = strdup(name);
    if (wanted->name == NULL) {
        die("no memory for a name");
    }
}

static void require_field(struct product *product, const char *name)
{
    struct report *report = &product->report;
    mstro_cdo cdo = NULL;
    product->seen++;
    if (!report_operation(report, OP_DECLARE, mstro_cdo_declare(name, MSTRO_ATTR_DEFAULT, &cdo),
                          name)) {
        return;
    }
    if (report_operation(report, OP_SEAL, mstro_cdo_seal(cdo), name) &&
        report_operation(report, OP_REQUIRE, mstro_cdo_require(cdo), name)) {
        remember(product, cdo, name);
    } else {
        report_operation(report, OP_DISPOSE, mstro_cdo_dispose(cdo), name);
    }
}

static void check_payload(struct product *product, const struct wanted *field, uint64_t waited_ns)
{
    struct report *report = &product->report;
    void *data = NULL;
    int64_t bytes = 0;
    uint64_t checksum = 0;
    if (mstro_cdo_access_ptr(field->cdo, &data, &bytes) != MSTRO_OK) {
        report_failure(report, field->name, "was demanded, but there are no data");
        return;
    }
    const char *wrong = payload_check(data, (size_t)bytes, field->name, &checksum);
    free(data); /* who asks for a demanded CDO's data owns them */
    if (wrong != NULL) {
        report_failure(report, field->name, wrong);
        return;
    }
    report_demand(report, waited_ns, (uint64_t)bytes);
    report->digest += checksum;
    product->consumed++;
}

/* Returns whether the field is here. */
static bool fetch_field(struct product *product, const struct wanted *field)
{
    uint64_t began = now_ns();
    if (!report_operation(&product->report, OP_DEMAND, mstro_cdo_demand(field->cdo), field->name)) {
        return false;
    }
    check_payload(product, field, now_ns() - began);
    return true;
}

static void consume_field(struct product *product, const struct wanted *field)
{
    struct report *report = &product->report;
    /* What was required is fetched or given up; only then can it be disposed of. */
    if (field->retract || !fetch_field(product, field)) {
        report_operation(report, OP_RETRACT, mstro_cdo_retract(field->cdo), field->name);
    }
    report_operation(report, OP_DISPOSE, mstro_cdo_dispose(field->cdo), field->name);
    if (product->options.verbose) {
        fprintf(stderr, "%s: %s\n", report->component, field->name);
    }
}

/* Says first for the whole list that its fields are wanted, lets their producers go on, then
 * fetches them. */
static void take_offers(struct product *product, mstro_pool_event head)
{
    for (mstro_pool_event event = head; event != NULL; event = event->next) {
        if (event->kind == MSTRO_POOL_EVENT_OFFER) {
            require_field(product, event->payload.offer.cdo_name);
        }
    }
    if (mstro_subscription_ack(product->offers, head) != MSTRO_OK) {
        report_failure(&product->report, "acknowledgement", "was refused");
    }
    mstro_pool_event_dispose(head);
    for (size_t i = 0; i < product->wanted_count; i++) {
        consume_field(product, &product->wanted[i]);
        free(product->wanted[i].name);
    }
    product->wanted_count = 0;
}

static void note_member(struct options *o, const struct mstro_pool_event_ *event)
{
    for (size_t i = 0; i < o->producer_count; i++) {
        struct producer *producer = &o->producers[i];
        if (event->kind == MSTRO_POOL_EVENT_APP_JOIN && !producer->joined &&
            strcmp(event->payload.join.component_name, producer->name) == 0) {
            producer->appid = event->payload.join.appid;
            producer->joined = true;
        } else if (event->kind == MSTRO_POOL_EVENT_APP_LEAVE && producer->joined &&
                   event->payload.leave.appid == producer->appid) {
            producer->left = true;
        }
    }
}

static void take_members(struct product *product)
{
    mstro_pool_event head = NULL;
    while (!product->pool_gone) {
        if (mstro_subscription_poll(product->members, &head) != MSTRO_OK) {
            product->pool_gone = true;
            report_failure(&product->report, "the pool", "is gone");
            return;
        }
        if (head == NULL) {
            return;
        }
        for (mstro_pool_event event = head; event != NULL; event = event->next) {
            note_member(&product->options, event);
        }
        mstro_pool_event_dispose(head);
    }
}

static bool finished(const struct product *product)
{
    const struct options *o = &product->options;
    if (product->pool_gone) {
        return true;
    }
    if (o->expect > 0 && product->consumed >= o->expect) {
        return true;
    }
    for (size_t i = 0; i < o->producer_count; i++) {
        if (!o->producers[i].left) {
            return false;
        }
    }
    return o->producer_count > 0;
}

/* Waits a moment for offers and takes them; returns whether there were any. */
static bool take_next_offers(struct product *product)
{
    struct timespec until;
    mstro_pool_event head = NULL;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += MOMENT_NS;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    mstro_status status = mstro_subscription_timedwait(product->offers, &until, &head);
    if (status != MSTRO_OK && status != MSTRO_TIMEOUT) {
        product->pool_gone = true;
        report_failure(&product->report, "waiting for offers", failure_text(status));
    }
    if (head == NULL) {
        return false;
    }
    take_offers(product, head);
    return true;
}

static void generate_products(struct product *product)
{
    uint64_t patience_ns = product->options.deadline * UINT64_C(1000000000);
    uint64_t latest = now_ns();
    while (!product->pool_gone) {
        /* Membership first: what a producer offered before it left is then still found below. */
        take_members(product);
        bool ending = finished(product);
        if (take_next_offers(product)) {
            latest = now_ns();
        } else if (ending) {
            return;
        } else if (now_ns() - latest > patience_ns) {
            report_failure(&product->report, "waiting for offers", "nothing came for too long");
            return;
        }
    }
}

static bool subscribe(struct product *product)
{
    struct report *report = &product->report;
    mstro_cdo_selector fields = NULL, everything = NULL;
    mstro_status status = mstro_cdo_selector_create(NULL, NULL, product->options.select, &fields);
    if (status == MSTRO_OK) {
        status = mstro_cdo_selector_create(NULL, NULL, NULL, &everything);
    }
    if (status != MSTRO_OK) {
        report_failure(report, product->options.select, failure_text(status));
        return false;
    }
    bool subscribed =
        report_operation(report, OP_SUBSCRIBE,
                         mstro_subscribe(everything,
                                         MSTRO_POOL_EVENT_APP_JOIN | MSTRO_POOL_EVENT_APP_LEAVE,
                                         MSTRO_SUBSCRIPTION_OPTS_DEFAULT, &product->members),
                         "members") &&
        report_operation(report, OP_SUBSCRIBE,
                         mstro_subscribe(fields, MSTRO_POOL_EVENT_OFFER,
                                         MSTRO_SUBSCRIPTION_OPTS_REQUIRE_ACK, &product->offers),
                         "offers");
    mstro_cdo_selector_dispose(fields);
    mstro_cdo_selector_dispose(everything);
    return subscribed;
}

static void unsubscribe(struct product *product)
{
    struct report *report = &product->report;
    if (product->offers != NULL) {
        report_operation(report, OP_UNSUBSCRIBE, mstro_subscription_dispose(product->offers),
                         "offers");
    }
    if (product->members != NULL) {
        report_operation(report, OP_UNSUBSCRIBE, mstro_subscription_dispose(product->members),
                         "members");
    }
}

/* A CDO without data: its offer shows other components that this one is ready. */
static mstro_cdo announce(struct product *product)
{
    struct report *report = &product->report;
    const char *name = product->options.announce;
    int64_t size = 0;
    mstro_cdo cdo = NULL;
    if (name == NULL ||
        !report_operation(report, OP_DECLARE, mstro_cdo_declare(name, MSTRO_ATTR_DEFAULT, &cdo),
                          name)) {
        return NULL;
    }
    if (mstro_cdo_attribute_set(cdo, MSTRO_ATTR_CORE_CDO_SCOPE_LOCAL_SIZE, &size, true, false) !=
        MSTRO_OK) {
        report_failure(report, name, "a size of 0 was refused");
    }
    if (report_operation(report, OP_SEAL, mstro_cdo_seal(cdo), name)) {
        report_operation(report, OP_OFFER, mstro_cdo_offer(cdo), name);
    }
    return cdo;
}

static void take_announcement_back(struct product *product, mstro_cdo cdo)
{
    const char *name = product->options.announce;
    if (cdo != NULL) {
        report_operation(&product->report, OP_WITHDRAW, mstro_cdo_withdraw(cdo), name);
        report_operation(&product->report, OP_DISPOSE, mstro_cdo_dispose(cdo), name);
    }
}

int main(int argc, char **argv)
{
    struct product product = {0};
    set_options(&product, argc, argv);
    const struct options *o = &product.options;
    struct report *report = &product.report;
    report_init(report, o->name, "product");
    if (o->times != NULL) {
        report_times(report, o->times);
    }
    if (!report_operation(report, OP_JOIN, mstro_init(NULL, o->name, o->number), "the workflow")) {
        return WORKFLOW_FAILED;
    }
    if (subscribe(&product)) {
        mstro_cdo ready = announce(&product);
        if (o->ready_file != NULL) {
            mark_file(o->ready_file);
        }
        generate_products(&product);
        take_announcement_back(&product, ready);
    }
    unsubscribe(&product);
    report_operation(report, OP_LEAVE, mstro_finalize(), "the workflow");
    report_print(report);
    int exit_code = report->failed == 0 ? 0 : WORKFLOW_FAILED;
    report_done(report);
    free(product.wanted);
    return exit_code;
}
