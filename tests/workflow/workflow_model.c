/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A model rank of the demo workflow: produces the fields of a forecast, step by step, and gives
 * each to the pool as a CDO. Prints its own counts at the end. Written against maestro.h only.
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

#define PAGE 4096u

static const char usage[] =
    "usage: workflow_model [OPTION]...\n"
    "  --rank N           0, 1, ...: part of the component's name and of the CDOs' (0)\n"
    "  --name TEXT        component name (\"IFS -- RANK\")\n"
    "  --steps N          forecast steps (10)\n"
    "  --levels N         levels in a step (3)\n"
    "  --params N         parameters on each level (2)\n"
    "  --size-min BYTES   smallest field (262144)\n"
    "  --size-max BYTES   largest field (4194304)\n"
    "  --rate N           fields a second, 0: as fast as possible (0)\n"
    "  --keep N           steps that stay in the pool before they are withdrawn (1)\n"
    "  --seed N           of the fields' content (1)\n"
    "  --cdo-prefix TEXT  before every CDO name\n"
    "  --start-file PATH  do not join before this file exists; may be repeated\n"
    "  --await CDO        do not begin before this CDO was offered; may be repeated\n"
    "  --verbose          a line on stderr for every step\n";

struct options {
    uint64_t rank, steps, levels, params, size_min, size_max, rate, keep, seed;
    const char *name, *cdo_prefix;
    struct option_texts start_files, awaited;
    bool verbose;
};

struct field {
    mstro_cdo cdo; /* NULL: slot unused */
    void *data;
};

struct model {
    struct options options;
    char default_name[32];
    struct report report;
    struct field *fields; /* a ring of keep + 1 steps */
    size_t fields_per_step;
    uint64_t started_ns, produced;
};

static void set_options(struct model *model, int argc, char **argv)
{
    const uint64_t bytes_max = UINT64_C(1) << 32;
    struct options *o = &model->options;
    *o = (struct options){.steps = 10,
                          .levels = 3,
                          .params = 2,
                          .size_min = 256 * 1024,
                          .size_max = 4 * 1024 * 1024,
                          .keep = 1,
                          .seed = 1,
                          .cdo_prefix = ""};
    const struct option_row rows[] = {
        {"rank", .number = &o->rank, .max = 1000000},
        {"name", .text = &o->name},
        {"steps", .number = &o->steps, .min = 1, .max = 1000000},
        {"levels", .number = &o->levels, .min = 1, .max = 1000},
        {"params", .number = &o->params, .min = 1, .max = 1000},
        {"size-min", .number = &o->size_min, .min = PAYLOAD_BYTES_MIN, .max = bytes_max},
        {"size-max", .number = &o->size_max, .min = PAYLOAD_BYTES_MIN, .max = bytes_max},
        {"rate", .number = &o->rate, .max = 1000000},
        {"keep", .number = &o->keep, .max = 1000},
        {"seed", .number = &o->seed, .max = UINT64_MAX},
        {"cdo-prefix", .text = &o->cdo_prefix},
        {"start-file", .texts = &o->start_files},
        {"await", .texts = &o->awaited},
        {"verbose", .flag = &o->verbose},
        {0},
    };
    parse_options(rows, usage, argc, argv);
    if (o->size_min > o->size_max) {
        refuse_options("--size-min is above --size-max", usage);
    }
    if (o->name == NULL) {
        snprintf(model->default_name, sizeof(model->default_name), "IFS -- %" PRIu64, o->rank);
        o->name = model->default_name;
    }
}

/* Fields leave at an even rate, whatever each of them costs. */
static void pace(const struct model *model)
{
    if (model->options.rate == 0) {
        return;
    }
    uint64_t due = model->started_ns + model->produced * UINT64_C(1000000000) / model->options.rate;
    struct timespec until = {(time_t)(due / UINT64_C(1000000000)),
                             (long)(due % UINT64_C(1000000000))};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
}

/* The same field always has the same size, whoever asks; sizes are spread over their logarithm,
 * as those of real fields are. */
static size_t field_bytes(const struct options *o, const char *name)
{
    uint64_t bytes = o->size_min;
    uint64_t hash = payload_hash(name) ^ o->seed;
    while (bytes * 2 <= o->size_max && (hash & 3) != 0) {
        bytes *= 2;
        hash >>= 2;
    }
    uint64_t room = o->size_max - bytes < bytes ? o->size_max - bytes : bytes;
    return (size_t)(bytes + (room > 0 ? (hash % room) & ~UINT64_C(7) : 0));
}

/* Up to the first attribute that is refused, which is reported. */
static bool set_attributes(struct report *report, const char *name, mstro_cdo cdo, void *data,
                           size_t bytes, const int64_t position[3])
{
    int64_t size = (int64_t)bytes, step = position[0], level = position[1], param = position[2];
    const struct {
        const char *key;
        void *value;
    } attributes[] = {
        {MSTRO_ATTR_CORE_CDO_SCOPE_LOCAL_SIZE, &size},
        {".maestro.ecmwf.step", &step},
        {".maestro.ecmwf.levelist", &level},
        {".maestro.ecmwf.param", &param},
    };
    mstro_status status =
        mstro_cdo_attribute_set(cdo, MSTRO_ATTR_CORE_CDO_RAW_PTR, data, false, true);
    for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]) && status == MSTRO_OK; i++) {
        status = mstro_cdo_attribute_set(cdo, attributes[i].key, attributes[i].value, true, false);
    }
    if (status != MSTRO_OK) {
        report_failure(report, name, failure_text(status));
    }
    return status == MSTRO_OK;
}

/* position: step, level, parameter. The slot is filled as far as it went, for take_back. Returns
 * whether it makes sense to go on. */
static bool give(struct model *model, struct field *field, const int64_t position[3])
{
    const struct options *o = &model->options;
    struct report *report = &model->report;
    char *name = NULL;
    if (asprintf(&name,
                 "%sclass:rd,date:20261121,levelist:%" PRId64 ",number:%" PRIu64 ",param:%" PRId64
                 ",step:%" PRId64,
                 o->cdo_prefix, position[1], o->rank, position[2], position[0]) < 0) {
        die("no memory for a name");
    }
    size_t bytes = field_bytes(o, name);
    field->data = aligned_alloc(PAGE, (bytes + PAGE - 1) / PAGE * PAGE);
    if (field->data == NULL) {
        die("no memory for a field of %zu bytes", bytes);
    }
    payload_fill(field->data, bytes, name, o->seed);
    uint64_t checksum = 0;
    const char *wrong = payload_check(field->data, bytes, name, &checksum);
    if (wrong != NULL) {
        report_failure(report, name, wrong);
    }
    pace(model);
    model->produced++;
    if (!report_operation(report, OP_DECLARE,
                          mstro_cdo_declare(name, MSTRO_ATTR_DEFAULT, &field->cdo), name)) {
        field->cdo = NULL; /* the pool does not take anything any more */
    } else if (set_attributes(report, name, field->cdo, field->data, bytes, position) &&
               report_operation(report, OP_SEAL, mstro_cdo_seal(field->cdo), name) &&
               report_operation(report, OP_OFFER, mstro_cdo_offer(field->cdo), name)) {
        report->produced_bytes += bytes;
        report->digest += checksum;
    }
    free(name);
    return field->cdo != NULL;
}

static void take_back(struct model *model, struct field *field)
{
    if (field->cdo != NULL) {
        report_operation(&model->report, OP_WITHDRAW, mstro_cdo_withdraw(field->cdo), "a field");
        report_operation(&model->report, OP_DISPOSE, mstro_cdo_dispose(field->cdo), "a field");
    }
    free(field->data);
    *field = (struct field){NULL, NULL};
}

static struct field *slots_of_step(const struct model *model, uint64_t step)
{
    return model->fields + (step % (model->options.keep + 1)) * model->fields_per_step;
}

static void take_back_step(struct model *model, uint64_t step)
{
    struct field *slots = slots_of_step(model, step);
    for (size_t i = 0; i < model->fields_per_step; i++) {
        take_back(model, &slots[i]);
    }
}

static bool give_step(struct model *model, uint64_t step)
{
    static const int64_t levels[] = {500, 850, 1000, 250, 100};
    static const int64_t params[] = {130, 129, 131, 132, 133};
    const struct options *o = &model->options;
    struct field *slot = slots_of_step(model, step);
    for (uint64_t level = 0; level < o->levels; level++) {
        for (uint64_t param = 0; param < o->params; param++) {
            /* Beyond the usual ones: made-up numbers, all different. */
            const int64_t position[3] = {6 * (int64_t)step,
                                         levels[level % 5] + 10000 * (int64_t)(level / 5),
                                         params[param % 5] + 1000 * (int64_t)(param / 5)};
            if (!give(model, slot++, position)) {
                return false;
            }
        }
    }
    return true;
}

static void forecast(struct model *model)
{
    const struct options *o = &model->options;
    uint64_t step = 0, oldest = 0;
    bool going = true;
    model->started_ns = now_ns();
    while (going && step < o->steps) {
        going = give_step(model, step);
        if (o->verbose && going) {
            fprintf(stderr, "%s: step %" PRIu64 " offered\n", o->name, step);
        }
        step++;
        if (step - oldest > o->keep) {
            take_back_step(model, oldest++);
        }
    }
    while (oldest < step) {
        take_back_step(model, oldest++);
    }
}

/* Waits until somebody has offered the CDO of this name, the usual READY mark between components:
 * a CDO without data. */
static void await_cdo(struct model *model, const char *name)
{
    struct report *report = &model->report;
    mstro_cdo cdo = NULL;
    if (!report_operation(report, OP_DECLARE, mstro_cdo_declare(name, MSTRO_ATTR_DEFAULT, &cdo),
                          name)) {
        return;
    }
    if (report_operation(report, OP_SEAL, mstro_cdo_seal(cdo), name) &&
        report_operation(report, OP_REQUIRE, mstro_cdo_require(cdo), name)) {
        uint64_t began = now_ns();
        if (report_operation(report, OP_DEMAND, mstro_cdo_demand(cdo), name)) {
            report_demand(report, now_ns() - began, 0);
        } else {
            report_operation(report, OP_RETRACT, mstro_cdo_retract(cdo), name);
        }
    }
    report_operation(report, OP_DISPOSE, mstro_cdo_dispose(cdo), name);
}

int main(int argc, char **argv)
{
    struct model model = {0};
    set_options(&model, argc, argv);
    const struct options *o = &model.options;
    model.fields_per_step = (size_t)(o->levels * o->params);
    model.fields = calloc((size_t)(o->keep + 1) * model.fields_per_step, sizeof(*model.fields));
    if (model.fields == NULL) {
        die("no memory for %zu fields a step", model.fields_per_step);
    }
    report_init(&model.report, o->name, "model");
    for (size_t i = 0; i < o->start_files.count; i++) {
        await_file(o->start_files.texts[i], 60);
    }
    mstro_status joined = mstro_init(NULL, o->name, o->rank);
    if (!report_operation(&model.report, OP_JOIN, joined, "the workflow")) {
        free(model.fields);
        return WORKFLOW_FAILED;
    }
    for (size_t i = 0; i < o->awaited.count; i++) {
        await_cdo(&model, o->awaited.texts[i]);
    }
    forecast(&model);
    report_operation(&model.report, OP_LEAVE, mstro_finalize(), "the workflow");
    report_print(&model.report);
    int exit_code = model.report.failed == 0 ? 0 : WORKFLOW_FAILED;
    report_done(&model.report);
    free(model.fields);
    return exit_code;
}
