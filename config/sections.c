/* SPDX-License-Identifier: BSD-3-Clause */
/* The whole file: its sections, the filters by name, the source, the outputs. The type of a source
 * or output decides its table. */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "config/internal.h"

static const char *const vampire_others[] = {"source",   "filters", "statistics", "events",
                                             "sampling", "alarms",  "outputs",    NULL};
static const char *const collect_others[] = {"collect", "outputs", NULL};
static const char *const filters_only[] = {"filters", NULL};
static const char *const type_only[] = {"type", NULL};
static const char *const type_and_sections[] = {"type", "rotate", "keep", NULL};
static const char *const no_others[] = {NULL};

/* The member of `parent` called `key`, if it is given. */
static int walk_child(const struct config_loader *loader, const struct config_value *parent,
                      const char *key, const struct config_shape *shape)
{
    const struct config_value *object = config_member(parent, key);
    return object != NULL ? config_walk_object(loader, shape, object) : 0;
}

/* ---- types */

static bool is_one_of(const char *const *words, const char *word)
{
    for (; *words != NULL; words++) {
        if (strcmp(*words, word) == 0) {
            return true;
        }
    }
    return false;
}

static void finish_type_problem(const struct config_loader *loader, const char *const *words,
                                struct vamp_diagnostic *problem)
{
    const struct vamp_opt one_of = {.type = VAMP_OPT_ENUM, .choices = words};
    vamp_opt_allowed(&one_of, problem->allowed);
    vamp_diagnostics_add(loader->diagnostics, problem);
}

const char *config_check_type(const struct config_loader *loader, const struct config_value *type,
                              const char *const *words)
{
    const char *text = type->type == CONFIG_TEXT ? type->text : NULL;
    if (text != NULL && is_one_of(words, text)) {
        return text;
    }
    char found[128];
    config_describe(type, found, sizeof found);
    struct vamp_diagnostic problem =
        config_value_problem(loader, type, CONFIG_AT_VALUE, "found %s", found);
    config_near(&problem, text != NULL ? vamp_opt_near_choice(words, text) : NULL);
    finish_type_problem(loader, words, &problem);
    return NULL;
}

void config_report_type(const struct config_loader *loader, const struct config_value *object,
                        const char *missing, const char *const *words)
{
    char found[128];
    config_describe(object, found, sizeof found);
    struct vamp_diagnostic problem =
        object->type == CONFIG_OBJECT
            ? config_value_problem(loader, object, CONFIG_AT_VALUE, "%s", missing)
            : config_value_problem(loader, object, CONFIG_AT_VALUE,
                                   "found %s where an object {\"type\": ...} is needed", found);
    finish_type_problem(loader, words, &problem);
}

/* Memory for a table's struct, with the defaults. */
static int make_options(const struct vamp_opt *table, size_t bytes, void **ret_options,
                        struct vamp_err *err)
{
    void *options = calloc(1, bytes > 0 ? bytes : 1);
    if (options == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "read the configuration");
    }
    int code = vamp_opt_presets(table, options, err);
    if (code != 0) {
        free(options);
        return code;
    }
    *ret_options = options;
    return 0;
}

/* ---- source */

#define TYPES_MAX 15

static int walk_source(struct config_loader *loader)
{
    struct vamp_config *config = loader->config;
    const struct config_value *type =
        config_member(config_member(loader->tree.root, "source"), "type");
    assert(vamp_sources[0] != NULL); /* what is meant without "type" */
    const char *words[TYPES_MAX + 1] = {NULL};
    for (unsigned i = 0; i < TYPES_MAX && vamp_sources[i] != NULL; i++) {
        words[i] = vamp_sources[i]->name;
    }
    const char *name =
        type == NULL ? vamp_sources[0]->name : config_check_type(loader, type, words);
    config->source = name != NULL ? vamp_source_find(name) : vamp_sources[0];
    int code = make_options(config->source->options, config->source->options_bytes,
                            &config->source_options, loader->err);
    if (code != 0 || name == NULL) {
        return code;
    }
    char what[64];
    (void)snprintf(what, sizeof what, "a source of type %s", name);
    const struct config_shape shape = {
        .tables = {config->source->options},
        .bases = {config->source_options},
        .others = type_only,
        .what = what,
    };
    return walk_child(loader, loader->tree.root, "source", &shape);
}

/* ---- outputs */

static int begin_output(struct config_loader *loader, const struct vamp_writer_ops *ops,
                        struct vamp_config_output *output)
{
    const struct vamp_output_section *section = vamp_output_sections(ops);
    output->ops = ops;
    int code = vamp_opt_presets(vamp_output_options(ops), &output->settings, loader->err);
    for (; code == 0 && section->key != NULL; section++) {
        code = vamp_opt_presets(section->options, &output->settings, loader->err);
    }
    if (code == 0) {
        code = make_options(ops->options, ops->options_bytes, &output->options, loader->err);
    }
    return code;
}

static int walk_output(struct config_loader *loader, const struct config_value *object,
                       const char *type)
{
    struct vamp_config_output *output = &loader->config->outputs[loader->config->output_count];
    loader->output_index[loader->config->output_count] = object->index;
    loader->config->output_count++; /* from here on vamp_config_free frees it */
    int code = begin_output(loader, vamp_writer_find(type), output);
    if (code != 0) {
        return code;
    }
    const struct vamp_output_section *section = vamp_output_sections(output->ops);
    char what[64];
    (void)snprintf(what, sizeof what, "an output of type %s", type);
    const struct config_shape shape = {
        .tables = {vamp_output_options(output->ops), output->ops->options},
        .bases = {&output->settings, output->options},
        .others = section->key != NULL ? type_and_sections : type_only,
        .what = what,
    };
    code = config_walk_object(loader, &shape, object);
    for (; code == 0 && section->key != NULL; section++) {
        (void)snprintf(what, sizeof what, "\"%s\"", section->key);
        const struct config_shape inside = {
            .tables = {section->options},
            .bases = {&output->settings},
            .others = no_others,
            .what = what,
        };
        code = walk_child(loader, object, section->key, &inside);
    }
    return code;
}

/* The type an output names, NULL when that is missing or wrong. */
static const char *output_type(const struct config_loader *loader,
                               const struct config_value *object, const char *const *words)
{
    const struct config_value *type = config_member(object, "type");
    if (type != NULL) {
        return config_check_type(loader, type, words);
    }
    config_report_type(loader, object, "an output needs a \"type\"", words);
    return NULL;
}

static int walk_output_list(struct config_loader *loader, const struct config_value *list)
{
    const char *words[TYPES_MAX + 1] = {NULL};
    unsigned count = 0;
    for (unsigned i = 0; count < TYPES_MAX && vamp_writers[i] != NULL; i++) {
        if (config_takes_format(loader->config->program, vamp_writers[i])) {
            words[count++] = vamp_writers[i]->name;
        }
    }
    int code = 0;
    for (const struct config_value *object = list->first;
         object != NULL && object->index < VAMP_OUTPUTS_MAX && code == 0; object = object->next) {
        const char *type = output_type(loader, object, words);
        code = type != NULL ? walk_output(loader, object, type) : 0;
    }
    if (list->count > VAMP_OUTPUTS_MAX) {
        config_error(loader, "/outputs", "%" PRIu32 " outputs, at most %d are allowed", list->count,
                     VAMP_OUTPUTS_MAX);
    }
    return code;
}

/* Without "outputs" there is one HDF5 file; an empty list means none, on purpose. */
static int walk_outputs(struct config_loader *loader)
{
    const struct config_value *list = config_member(loader->tree.root, "outputs");
    if (list == NULL) {
        loader->config->output_count = 1;
        return begin_output(loader, vamp_writers[0], &loader->config->outputs[0]);
    }
    if (list->type != CONFIG_LIST) {
        config_report_found(loader, list, "a list [{\"type\": ...}, ...]");
        return 0;
    }
    return walk_output_list(loader, list);
}

void config_texts_done(struct vamp_config_texts *texts)
{
    for (size_t i = 0; i < texts->count; i++) {
        free(texts->items[i].name);
        free(texts->items[i].text);
    }
    free(texts->items);
    *texts = (struct vamp_config_texts){0};
}

/* ---- filters by name */

static int add_text(const struct config_loader *loader, struct vamp_config_texts *texts,
                    const char *name, const char *text)
{
    struct vamp_config_text *items =
        reallocarray(texts->items, texts->count + 1, sizeof *texts->items);
    if (items == NULL) {
        return vamp_err_set_errno(loader->err, ENOMEM, "keep the filters");
    }
    texts->items = items;
    struct vamp_config_text *item = &items[texts->count];
    *item = (struct vamp_config_text){strdup(name), strdup(text)};
    texts->count++; /* also half-made: vamp_config_free frees it */
    return item->name != NULL && item->text != NULL
               ? 0
               : vamp_err_set_errno(loader->err, ENOMEM, "keep the filters");
}

static int walk_texts(const struct config_loader *loader, const struct config_value *object,
                      struct vamp_config_texts *texts)
{
    if (object->type != CONFIG_OBJECT) {
        config_report_found(loader, object, "an object {NAME: EXPRESSION}");
        return 0;
    }
    int code = 0;
    for (const struct config_value *member = object->first; member != NULL && code == 0;
         member = member->next) {
        if (config_report_duplicate(loader, member)) {
            continue;
        }
        if (member->type == CONFIG_TEXT) {
            code = add_text(loader, texts, member->key, member->text);
        } else {
            config_report_found(loader, member, "an expression of the filter language");
        }
    }
    return code;
}

static int walk_filters(struct config_loader *loader)
{
    struct vamp_config *config = loader->config;
    const struct config_value *filters = config_member(loader->tree.root, "filters");
    int code = filters != NULL ? walk_texts(loader, filters, &config->filters) : 0;
    const struct config_value *metrics =
        config_member(config_member(loader->tree.root, "statistics"), "filters");
    if (code == 0 && metrics != NULL) {
        code = walk_texts(loader, metrics, &config->metric_filters);
    }
    return code;
}

/* The root's own options and the sections that are tables. */
static int walk_sections(struct config_loader *loader)
{
    struct vamp_config *config = loader->config;
    const struct config_section *section = config_sections[config->program];
    const struct config_shape root = {
        .tables = {section->options},
        .bases = {config},
        .others = config->program == VAMP_CONFIG_VAMPIRE ? vampire_others : collect_others,
        .what = "the configuration",
    };
    int code = config_walk_object(loader, &root, loader->tree.root);
    for (section++; section->key != NULL && code == 0; section++) {
        char what[64];
        (void)snprintf(what, sizeof what, "the section \"%s\"", section->key);
        const struct config_shape shape = {
            .tables = {section->options},
            .bases = {config},
            .others = section->options == config_statistics_options ? filters_only : no_others,
            .what = what,
        };
        code = walk_child(loader, loader->tree.root, section->key, &shape);
    }
    return code;
}

static int walk_events(struct config_loader *loader)
{
    int code = walk_filters(loader);
    if (code == 0) {
        code = walk_source(loader);
    }
    return code != 0 ? code : config_walk_alarms(loader);
}

int config_walk(struct config_loader *loader)
{
    int code = walk_sections(loader);
    if (code == 0 && loader->config->program == VAMP_CONFIG_VAMPIRE) {
        code = walk_events(loader);
    }
    return code != 0 ? code : walk_outputs(loader);
}
