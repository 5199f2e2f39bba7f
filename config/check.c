/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks across options. */
#include <inttypes.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "config/internal.h"

static void check_names(const struct config_loader *loader)
{
    const struct vamp_config *config = loader->config;
    if (config->component == NULL) {
        config_error(loader, "/component", "the name under which to join must not be empty");
    }
    if (config->workflow == NULL && loader->request->run && config->source->needs_workflow) {
        config_error(loader, "/workflow",
                     "no workflow to join: set \"workflow\", the environment variable "
                     "MSTRO_WORKFLOW_NAME, or --workflow");
    }
}

static void check_times(const struct config_loader *loader)
{
    struct vamp_stats_options *statistics = &loader->config->statistics;
    if (statistics->lateness_ns < 0) {
        statistics->lateness_ns = statistics->bucket_ns;
    }
    if (statistics->lateness_ns / statistics->bucket_ns >= VAMP_OPEN_BUCKETS_MAX) {
        char longest[VAMP_QUANTITY_TEXT_BYTES];
        vamp_duration_text((VAMP_OPEN_BUCKETS_MAX - 1) * statistics->bucket_ns, longest,
                           sizeof longest);
        config_error(
            loader, "/statistics/lateness",
            "too long for the bucket width: more than %d buckets would be open at the same "
            "time (at most %s, or set a wider \"bucket\")",
            VAMP_OPEN_BUCKETS_MAX, longest);
    }
}

/* ---- memory */

/* Estimated maximum size of a tracked CDO with a reference, and of one pending operation. */
#define TRACKED_BYTES 256

/* Returns the worst-case memory: every series of every metric is used in every open bucket. The
 * limits of the options keep the sum far below 2^64. */
static uint64_t worst_case_bytes(const struct vamp_config *config)
{
    static const uint64_t value_bytes[] = {
        [VAMP_COUNTER] = sizeof(struct vamp_counter_value),
        [VAMP_GAUGE] = sizeof(struct vamp_gauge_value),
        [VAMP_HISTOGRAM] = sizeof(void *), /* histograms have a separate limit */
    };
    const struct vamp_stats_options *statistics = &config->statistics;
    const uint64_t open = (uint64_t)(statistics->lateness_ns / statistics->bucket_ns) + 2;
    /* One series for each enabled metric with labels; a metric without labels has a single series,
     * which is neglected. */
    uint64_t series = 0;
    for (unsigned id = 0; id < vamp_metric_count(); id++) {
        const struct vamp_metric *metric = &vamp_metrics[id];
        if (vamp_stats_wants(statistics, (enum vamp_metric_id)id) &&
            vamp_metric_labels_at(metric, statistics->level) != 0) {
            series += value_bytes[metric->kind];
        }
    }
    uint64_t bytes = series * statistics->max_series * open + statistics->max_histogram_bytes;
    bytes += (statistics->max_cdos + 3 * statistics->max_pending) * TRACKED_BYTES;
    /* CDO names of pending operations are stored if the age of the oldest one is computed. */
    const uint64_t kinds = (uint64_t)vamp_stats_wants(statistics, VAMP_METRIC_DEMAND_OLDEST_NS) +
                           vamp_stats_wants(statistics, VAMP_METRIC_WITHDRAW_OLDEST_NS) +
                           vamp_stats_wants(statistics, VAMP_METRIC_TRANSPORT_OLDEST_NS);
    bytes += kinds * statistics->max_pending * VAMP_CDO_NAME_BYTES;
    /* At level cdo each tracked CDO has a record, and each open bucket contains rows, which are at
     * least as large as a record. */
    if (statistics->level == VAMP_LEVEL_CDO || vamp_config_cdos_while_firing(config)) {
        bytes += (statistics->max_cdos + open * VAMP_CDO_ROWS_MAX) * sizeof(struct vamp_cdo_row);
    }
    for (unsigned i = 0; i < config->output_count; i++) {
        bytes += config->outputs[i].settings.buffer_bytes; /* applies to outputs of events */
    }
    return bytes + config->ring_bytes;
}

static uint64_t machine_bytes(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    if (pages <= 0 || page_bytes <= 0) {
        return UINT64_MAX;
    }
    return (uint64_t)pages * (uint64_t)page_bytes;
}

/* Address space that is not limited by options: programs, libraries, stacks, and the C library's
 * per-thread reserve. */
#define PROGRAM_ADDRESS_MIB UINT64_C(256)

/* If an allocation fails, vampire loses one bucket, but libhdf5 terminates the process. */
static void check_address_space(const struct config_loader *loader, uint64_t need_mib)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        limit.rlim_cur >> 20 < need_mib + PROGRAM_ADDRESS_MIB) {
        config_warning(loader, "/statistics",
                       "the limits allow up to %" PRIu64 " MiB of memory: with %" PRIu64
                       " MiB for the program this exceeds the process's limit of %" PRIu64
                       " MiB of address space (ulimit -v), and it may be ended",
                       need_mib, PROGRAM_ADDRESS_MIB, (uint64_t)limit.rlim_cur >> 20);
    }
}

static void check_memory(const struct config_loader *loader)
{
    uint64_t have = loader->request->memory_bytes;
    if (have == 0) {
        have = machine_bytes();
    }
    const uint64_t need = worst_case_bytes(loader->config);
    const uint64_t need_mib = need >> 20, have_mib = have >> 20;
    check_address_space(loader, need_mib);
    if (need <= have / 2) {
        return;
    }
    if (need > have) {
        config_error(loader, "/statistics",
                     "the limits allow up to %" PRIu64 " MiB of memory, this machine has %" PRIu64
                     " MiB: lower max_series, max_histogram_memory, max_cdos, max_pending or "
                     "lateness, or choose fewer sets",
                     need_mib, have_mib);
    } else {
        config_warning(loader, "/statistics",
                       "the limits allow up to %" PRIu64
                       " MiB of memory, more than half of this machine's %" PRIu64 " MiB",
                       need_mib, have_mib);
    }
}

/* ---- source */

/* Two options specify the pool manager: the one set at the stronger level wins; if both are set at
 * the same level, that is an error. */
static int settle_info(const struct config_loader *loader)
{
    const struct vamp_config *config = loader->config;
    const struct vamp_opt *const options[] = {vamp_opt_find(config->source->options, "info"),
                                              vamp_opt_find(config->source->options, "info_file")};
    if (config_opt_text(options[0], config->source_options) == NULL ||
        config_opt_text(options[1], config->source_options) == NULL) {
        return 0;
    }
    const enum config_level info = config_level_of(loader, "/source/info");
    const enum config_level file = config_level_of(loader, "/source/info_file");
    if (info == file) {
        config_error(loader, "/source/info_file",
                     "\"info\" and \"info_file\" both name the pool manager: give only one");
        return 0;
    }
    return vamp_opt_set(options[info > file], config->source_options, "", loader->err);
}

/* ---- options without an effect */

/* Reports keys that have no effect because of other options of the same object. Values from the
 * environment are excepted: it is shared by all components of a workflow and may contain more than
 * one component needs. `value` NULL: not set. */
static void check_effects(const struct config_loader *loader, const struct config_object *object,
                          const struct config_value *value)
{
    const uint32_t holding = vamp_opt_holding(object->conditions, object->chosen);
    for (const struct config_table *table = object->tables; table->options != NULL; table++) {
        const struct config_value *inside = value;
        if (table->key != NULL) {
            inside = config_member(value, table->key);
        }
        for (const struct vamp_opt *opt = table->options; opt->key != NULL; opt++) {
            const struct config_value *member = config_member(inside, opt->key);
            if (member == NULL || member->level == CONFIG_LEVEL_ENVIRONMENT ||
                vamp_opt_has_effect(opt, holding)) {
                continue;
            }
            char only_with[VAMP_OPT_ALLOWED_BYTES];
            vamp_opt_only_with(opt, object->conditions, only_with);
            const struct vamp_diagnostic problem = config_value_problem(
                loader, member, CONFIG_AT_KEY, "has no effect here, %.300s", only_with);
            vamp_diagnostics_add(loader->diagnostics, &problem);
        }
    }
}

static void check_all_effects(const struct config_loader *loader)
{
    struct vamp_config *config = loader->config;
    const struct config_value *outputs = config_member(loader->tree.root, "outputs");
    struct config_object object;
    if (config->source != NULL && !config_is_wrong(loader, "/source")) {
        object = config_source_object(config->source, config->source_options);
        check_effects(loader, &object, config_member(loader->tree.root, "source"));
    }
    for (unsigned i = 0; i < config->output_count; i++) {
        char path[CONFIG_PATH_BYTES];
        config_output_path(loader, i, NULL, path);
        if (!config_is_wrong(loader, path)) {
            object = config_output_object(config->outputs[i].ops, &config->outputs[i]);
            check_effects(loader, &object, config_item(outputs, loader->output_index[i]));
        }
    }
}

/* The key of a series must be able to contain a component's number and the values of all
 * attributes. */
#define COMPONENTS_WITH_ATTRIBUTES 100000

static void check_attributes(const struct config_loader *loader)
{
    if (loader->config->attributes.count > 0 &&
        loader->config->statistics.max_components > COMPONENTS_WITH_ATTRIBUTES) {
        config_error(loader, "/statistics/max_components",
                     "with \"attributes\" there can be at most %d components",
                     COMPONENTS_WITH_ATTRIBUTES);
    }
}

/* Performs the checks of vampire's own sections, and derives values from them. Returns 0 or
 * -ENOMEM. */
static int check_vampire(struct config_loader *loader)
{
    struct vamp_config *config = loader->config;
    config->statistics.sub_bits = config->sub_bins + 2; /* 4, 8, 16 bins: 2, 3, 4 bits */
    check_names(loader);
    check_times(loader);
    check_attributes(loader);
    config_check_samples(loader);
    int code = config_check_named(loader);
    if (code == 0) {
        code = config_check_metrics(loader);
    }
    if (code != 0) {
        return code;
    }
    if (!config_is_wrong(loader, "/statistics")) {
        check_memory(loader);
    }
    config_check_alarms(loader);
    code = settle_info(loader);
    if (code == 0) {
        code = config_compose_filter(loader);
    }
    if (code == 0) {
        code = config_check_metric_filters(loader);
    }
    return code;
}

int config_check(struct config_loader *loader)
{
    int code = 0;
    check_all_effects(loader);
    if (loader->config->program == VAMP_CONFIG_COLLECT) {
        config_check_collect(loader);
    } else {
        code = check_vampire(loader);
    }
    if (code == 0) {
        code = config_check_outputs(loader);
    }
    return code;
}
