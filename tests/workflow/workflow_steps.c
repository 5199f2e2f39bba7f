/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A component that does one step after the other as its arguments say, so that a test can bring
 * it into one exact state and kill it there. A line on stdout when a step is done. Written against
 * maestro.h only.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "maestro.h"
#include "tests/workflow/report.h"

#define CDOS_MAX 16
#define AWAIT_SECONDS 600

static const char usage[] =
    "usage: workflow_steps NAME [STEP]...\n"
    "Joins as component NAME, does the steps, leaves. Steps:\n"
    "  declare CDO, size CDO BYTES, offer CDO, require CDO, demand CDO, retract CDO, withdraw "
    "CDO,\n"
    "  dispose CDO\n"
    "  hold CDO       subscribe to its offers with REQUIRE_ACK, and never acknowledge\n"
    "  await FILE     go on once it exists\n"
    "Each step is one argument. One that begins with '!' has to fail.\n"
    "Prints \"joined\", a line \"done STEP\" for each, and \"left\".\n";

struct steps {
    struct {
        char *name;
        mstro_cdo cdo;
        void *data; /* its memory, ours to free after dispose */
    } cdos[CDOS_MAX];
    mstro_subscription held;
};

static void say(const char *word, const char *what)
{
    printf("%s%s%s\n", word, what[0] != '\0' ? " " : "", what);
    if (fflush(stdout) != 0) {
        die("cannot print");
    }
}

static size_t find(const struct steps *steps, const char *name)
{
    size_t i = 0;
    while (i < CDOS_MAX &&
           (steps->cdos[i].name == NULL || strcmp(steps->cdos[i].name, name) != 0)) {
        i++;
    }
    if (i == CDOS_MAX) {
        die("%s is not declared", name);
    }
    return i;
}

static mstro_status declare(struct steps *steps, const char *name)
{
    for (size_t i = 0; i < CDOS_MAX; i++) {
        if (steps->cdos[i].name == NULL) {
            steps->cdos[i].name = strdup(name);
            if (steps->cdos[i].name == NULL) {
                die("no memory for the name %s", name);
            }
            return mstro_cdo_declare(name, MSTRO_ATTR_DEFAULT, &steps->cdos[i].cdo);
        }
    }
    die("no room for %s; at most %d CDOs at a time", name, CDOS_MAX);
}

static mstro_status set_size(struct steps *steps, size_t i, const char *text)
{
    int64_t bytes = (int64_t)parse_number("size", text, 1, UINT64_C(1) << 32);
    void *data = calloc(1, (size_t)bytes);
    if (data == NULL) {
        die("no memory for %s bytes", text);
    }
    steps->cdos[i].data = data;
    mstro_cdo cdo = steps->cdos[i].cdo;
    mstro_status status =
        mstro_cdo_attribute_set(cdo, MSTRO_ATTR_CORE_CDO_RAW_PTR, data, false, true);
    return status != MSTRO_OK ? status
                              : mstro_cdo_attribute_set(cdo, MSTRO_ATTR_CORE_CDO_SCOPE_LOCAL_SIZE,
                                                        &bytes, true, false);
}

static mstro_status dispose(struct steps *steps, size_t i)
{
    mstro_status status = mstro_cdo_dispose(steps->cdos[i].cdo);
    free(steps->cdos[i].name);
    free(steps->cdos[i].data);
    memset(&steps->cdos[i], 0, sizeof steps->cdos[i]);
    return status;
}

static mstro_status hold(struct steps *steps, const char *name)
{
    char query[256];
    mstro_cdo_selector selector = NULL;
    snprintf(query, sizeof query, "(" MSTRO_ATTR_CORE_CDO_NAME " = \"%s\")", name);
    mstro_status status = mstro_cdo_selector_create(NULL, NULL, query, &selector);
    if (status == MSTRO_OK) {
        status = mstro_subscribe(selector, MSTRO_POOL_EVENT_OFFER,
                                 MSTRO_SUBSCRIPTION_OPTS_REQUIRE_ACK, &steps->held);
        mstro_cdo_selector_dispose(selector);
    }
    return status;
}

static mstro_status on_cdo(const struct steps *steps, const char *verb, const char *name)
{
    static const struct {
        const char *verb;
        mstro_status (*call)(mstro_cdo cdo);
    } calls[] = {
        {"offer", mstro_cdo_offer},       {"require", mstro_cdo_require},
        {"demand", mstro_cdo_demand},     {"retract", mstro_cdo_retract},
        {"withdraw", mstro_cdo_withdraw},
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        if (strcmp(verb, calls[i].verb) == 0) {
            return calls[i].call(steps->cdos[find(steps, name)].cdo);
        }
    }
    die("'%s' is not a step\n%s", verb, usage);
}

static mstro_status do_step(struct steps *steps, const char *verb, const char *name,
                            const char *number)
{
    if (strcmp(verb, "declare") == 0) {
        return declare(steps, name);
    }
    if (strcmp(verb, "size") == 0) {
        return set_size(steps, find(steps, name), number);
    }
    if (strcmp(verb, "dispose") == 0) {
        return dispose(steps, find(steps, name));
    }
    if (strcmp(verb, "hold") == 0) {
        return hold(steps, name);
    }
    if (strcmp(verb, "await") == 0) {
        await_file(name, AWAIT_SECONDS);
        return MSTRO_OK;
    }
    return on_cdo(steps, verb, name);
}

static void take_step(struct steps *steps, const char *step)
{
    bool fails = step[0] == '!';
    char verb[16] = "", name[200] = "", number[24] = "";
    if (sscanf(step + fails, "%15s %199s %23s", verb, name, number) < 2) {
        die("'%s' is not a step\n%s", step, usage);
    }
    mstro_status status = do_step(steps, verb, name, number);
    if ((status != MSTRO_OK) != fails) {
        die("%s: %s", step, failure_text(status));
    }
    say("done", step);
}

int main(int argc, char **argv)
{
    struct steps steps = {0};
    if (argc < 2) {
        fputs(usage, stderr);
        return WORKFLOW_USAGE;
    }
    mstro_status status = mstro_init(NULL, argv[1], 0);
    if (status != MSTRO_OK) {
        die("join: %s", failure_text(status));
    }
    say("joined", "");
    for (int i = 2; i < argc; i++) {
        take_step(&steps, argv[i]);
    }
    if (steps.held != NULL) {
        mstro_subscription_dispose(steps.held);
    }
    status = mstro_finalize();
    if (status != MSTRO_OK) {
        die("leave: %s", failure_text(status));
    }
    say("left", "");
    return 0;
}
