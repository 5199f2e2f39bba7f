/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys that have no effect, because of other options of the same object: they are mistakes. The
 * environment is for every component of a workflow and may contain more than is needed.
 */
#include "config/internal.h"

/* A source or an output: its object, and what its options depend on. */
struct dependence {
    const struct config_loader *loader;
    const struct vamp_opt_conditions *conditions;
    uint32_t holding;
};

static void report_no_effect(const struct dependence *dependence, const struct vamp_opt *opt,
                             const struct config_value *member)
{
    char only_with[VAMP_OPT_ALLOWED_BYTES];
    vamp_opt_only_with(opt, dependence->conditions, only_with);
    const struct vamp_diagnostic problem = config_value_problem(
        dependence->loader, member, CONFIG_AT_KEY, "has no effect here, %.300s", only_with);
    vamp_diagnostics_add(dependence->loader->diagnostics, &problem);
}

/* `object` NULL: nothing is given. */
static void check_table(const struct dependence *dependence, const struct vamp_opt *table,
                        const struct config_value *object)
{
    for (const struct vamp_opt *opt = table; opt->key != NULL; opt++) {
        const struct config_value *member = config_member(object, opt->key);
        if (member != NULL && member->level != CONFIG_LEVEL_ENVIRONMENT &&
            !vamp_opt_has_effect(opt, dependence->holding)) {
            report_no_effect(dependence, opt, member);
        }
    }
}

static void check_source(const struct config_loader *loader)
{
    const struct vamp_config *config = loader->config;
    const struct dependence dependence = {
        .loader = loader,
        .conditions = config->source->conditions,
        .holding = vamp_opt_holding(config->source->conditions, config->source_options),
    };
    if (!config_is_wrong(loader, "/source")) {
        check_table(&dependence, config->source->options,
                    config_member(loader->tree.root, "source"));
    }
}

static void check_output(const struct config_loader *loader, unsigned index)
{
    const struct vamp_config_output *output = &loader->config->outputs[index];
    const struct config_value *object =
        config_item(config_member(loader->tree.root, "outputs"), loader->output_index[index]);
    const struct dependence dependence = {
        .loader = loader,
        .conditions = output->ops->targets,
        .holding = vamp_opt_holding(output->ops->targets, output->options),
    };
    check_table(&dependence, output->ops->options, object);
    for (const struct vamp_output_section *section = vamp_output_sections(output->ops);
         section->key != NULL; section++) {
        check_table(&dependence, section->options, config_member(object, section->key));
    }
}

void config_check_effects(const struct config_loader *loader)
{
    if (loader->config->source != NULL) {
        check_source(loader);
    }
    for (unsigned i = 0; i < loader->config->output_count; i++) {
        char path[CONFIG_PATH_BYTES];
        config_output_path(loader, i, NULL, path);
        if (!config_is_wrong(loader, path)) {
            check_output(loader, i);
        }
    }
}
