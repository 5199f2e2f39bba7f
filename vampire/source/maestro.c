/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The live source: its name, its options, and functions that load the rest. The code that joins a
 * pool is a shared object (vampire/live/), because its network library takes 0.2 s to load and most
 * commands (--version, --check-config, --replay) do not need it.
 */
#include <assert.h>

#include "vampire/core/module.h"
#include "vampire/source/live.h"
#include "vampire/source/source.h"
#include "version.h"

#define OPTION(member) offsetof(struct vamp_maestro_options, member)

/* Conditions under which options have an effect. */
#define WITH_POOL_MANAGER UINT32_C(1)
#define WITH_LEAVING UINT32_C(2)

static const char *const condition_words[] = {"\"alone\": false", "\"leave_when_empty\": true",
                                              NULL};

static uint32_t holding_conditions(const void *context)
{
    const struct vamp_maestro_options *options = context;
    uint32_t conditions = options->alone ? 0 : WITH_POOL_MANAGER;
    if (options->leave_when_empty) {
        conditions |= WITH_LEAVING;
    }
    return conditions;
}

static const struct vamp_opt_conditions maestro_conditions = {condition_words, holding_conditions};

static const char *const signal_before_words[] = {"off", "waits", "all", "auto", NULL};

static const struct vamp_opt maestro_options[] = {
    {"info", VAMP_OPT_STRING, OPTION(info), "", .max = 8192, .role = VAMP_OPT_SECRET,
     .only_with = WITH_POOL_MANAGER,
     .help = "What the pool manager prints: the line MSTRO_POOL_MANAGER_INFO;<info>; or the <info> "
             "alone; without it and without info_file, the environment variable "
             "MSTRO_POOL_MANAGER_INFO is used. It lets a component join, so it is a secret: no "
             "output and no --dump-config shows it"},
    {"info_file", VAMP_OPT_STRING, OPTION(info_file), "", .max = 4096,
     .only_with = WITH_POOL_MANAGER,
     .help = "A file that contains the pool manager's output or its info; vampire waits for it and "
             "reads it again before each attempt to join"},
    {"wait", VAMP_OPT_DURATION, OPTION(wait_ns), "30s", .min = 0,
     .max = (uint64_t)24 * 3600 * VAMP_NS_PER_SECOND, .only_with = WITH_POOL_MANAGER,
     .help = "How long to try to reach a pool manager before giving up"},
    {"rejoin", VAMP_OPT_DURATION, OPTION(rejoin_ns), "90s", .min = 0,
     .max = (uint64_t)7 * 24 * 3600 * VAMP_NS_PER_SECOND, .only_with = WITH_POOL_MANAGER,
     .help = "How long to try to join again after the pool manager has vanished; then, or at once "
             "with 0, the files are completed and the exit code is 4. The default is longer than "
             "the time after which a pool manager gives up a silent component and its name can be "
             "used again. vampire does not wait for a pool manager that says good-bye"},
    {"signal_before", VAMP_OPT_ENUM, OPTION(signal_before), "auto", .choices = signal_before_words,
     .help = "Operations that are also reported before the pool manager handles them: none; those "
             "whose wait is measured (demand, withdraw, leave); or all, for handling times. auto "
             "is waits for the embedded Maestro, and off for any other: whether its operations "
             "then wait for an acknowledgement, which would stop the workflow, is not known"},
    {"leave_when_empty", VAMP_OPT_BOOL, OPTION(leave_when_empty), "true",
     .help = "End when the workflow has ended: other components had joined and all have left"},
    {"leave_grace", VAMP_OPT_DURATION, OPTION(leave_grace_ns), "2s", .min = 0,
     .max = (uint64_t)24 * 3600 * VAMP_NS_PER_SECOND, .only_with = WITH_LEAVING,
     .help = "How long the workflow must be empty to count as ended, so that a pause between two "
             "phases does not end it"},
    {"alone", VAMP_OPT_BOOL, OPTION(alone), "false",
     .help = "Watch this process's own pool without a pool manager; for tests"},
    {"examined", VAMP_OPT_STRING, OPTION(examined), "", .max = 4096, .only_with = WITH_POOL_MANAGER,
     .help =
         "The verdict of vampire --examine, which a run uses and copies into its outputs; by "
         "default maestro.examined.json next to the plug-in. One of another Maestro is not used"},
    {.key = NULL},
};

/* ------------------------------------------------------------------ loading */

const struct vamp_live *vamp_live_load(struct vamp_err *err)
{
    const struct vamp_module module = {
        .file = "maestro.so",
        .symbol = "vamp_live",
        .version = VAMP_VERSION,
        .purpose = "joins a pool",
        .origin = "it is installed with vampire",
    };
    const void *symbol = NULL;
    if (vamp_module_load(&module, &symbol, err) != 0) {
        return NULL;
    }
    assert(symbol != NULL);
    return symbol;
}

const struct vamp_source_ops *vamp_source_load(const struct vamp_source_ops *source,
                                               struct vamp_err *err)
{
    if (source != &vamp_source_maestro) {
        return source;
    }
    const struct vamp_live *live = vamp_live_load(err);
    return live != NULL ? &live->source : NULL;
}

const struct vamp_source_ops vamp_source_maestro = {
    .name = "maestro",
    .summary = "the pool manager of a running workflow",
    .options = maestro_options,
    .options_bytes = sizeof(struct vamp_maestro_options),
    .conditions = &maestro_conditions,
    .is_live = true,
    .knows_attributes = true,
    .needs_workflow = true,
};
