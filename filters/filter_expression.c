/* SPDX-License-Identifier: BSD-3-Clause */
/* The filter `expression`: the selector language as an entry of the table. */
#include <stdlib.h>

#include "filters/expression.h"
#include "filters/filter.h"

struct expression_options {
    char *text;
};

static const struct vamp_opt options[] = {
    {.key = "text",
     .type = VAMP_OPT_STRING,
     .preset = "true",
     .max = VAMP_EXPRESSION_TEXT_BYTES_MAX,
     .offset = offsetof(struct expression_options, text),
     .help = "The filter's text, in the language of docs/filter-language.md"},
    {.key = NULL},
};

struct expression_filter {
    struct vamp_event_filter *filter;
    const struct vamp_components *components;
    struct vamp_filter_counts counts;
};

static void expression_free(void *self)
{
    struct expression_filter *filter = self;
    if (filter != NULL) {
        vamp_event_filter_free(filter->filter);
        free(filter);
    }
}

static int expression_create(const void *options_struct, const struct vamp_filter_context *context,
                             void **ret_self, struct vamp_err *err)
{
    const struct expression_options *chosen = options_struct;
    struct expression_filter *self = calloc(1, sizeof(*self));
    if (self == NULL) {
        return vamp_err_set(err, -ENOMEM, "create a filter: no memory");
    }
    self->components = context->components;
    self->counts.weight = 1.0;
    const char *text = chosen->text != NULL ? chosen->text : "";
    int rc = vamp_event_filter_compile(text, context->place, context->named, &self->filter, err);
    if (rc != 0) {
        expression_free(self);
        return rc;
    }
    *ret_self = self;
    return 0;
}

static uint64_t expression_kinds(const void *self)
{
    const struct expression_filter *filter = self;
    return vamp_event_filter_kinds(filter->filter);
}

static const char *expression_selector(const void *self)
{
    const struct expression_filter *filter = self;
    return vamp_event_filter_selector(filter->filter);
}

static bool expression_match(void *self, const struct vamp_event *event)
{
    struct expression_filter *filter = self;
    bool passes = vamp_event_filter_match(filter->filter, event, filter->components);
    filter->counts.seen++;
    if (vamp_event_is_mark(event)) {
        filter->counts.exempt++;
    } else if (passes) {
        filter->counts.passed++;
    } else {
        filter->counts.dropped++;
    }
    return passes;
}

static void expression_counts(const void *self, struct vamp_filter_counts *ret_counts)
{
    const struct expression_filter *filter = self;
    *ret_counts = filter->counts;
    ret_counts->cut = vamp_event_filter_cut(filter->filter);
}

static char *expression_print(const void *self)
{
    const struct expression_filter *filter = self;
    return vamp_event_filter_print(filter->filter);
}

const struct vamp_filter_ops vamp_filter_expression = {
    .name = "expression",
    .summary = "lets events pass for which an expression in the filter language is true",
    .options = options,
    .options_bytes = sizeof(struct expression_options),
    .create = expression_create,
    .kinds = expression_kinds,
    .selector = expression_selector,
    .match = expression_match,
    .counts = expression_counts,
    .print = expression_print,
    .free = expression_free,
};
