/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "filters/expression.h"
#include "maestro/api/internal.h"

/* The namespace with the '.' that keys are put behind; NULL without memory. */
static char *prefix_of(const char *schema_namespace)
{
    size_t length = strlen(schema_namespace);
    char *prefix = malloc(length + 2);
    if (prefix != NULL) {
        memcpy(prefix, schema_namespace, length + 1);
        if (length > 0 && prefix[length - 1] != '.') {
            memcpy(prefix + length, ".", 2);
        }
    }
    return prefix;
}

/* The normal form with full names, as it is sent. */
static mstro_status normalise(const char *schema_namespace, const char *query, char **ret_text)
{
    char *prefix = NULL;
    if (schema_namespace != NULL) {
        prefix = prefix_of(schema_namespace);
        if (prefix == NULL) {
            return api_fail(MSTRO_NOMEM, "mstro_cdo_selector_create: no memory");
        }
    }
    /* Every name is an attribute: a subscriber may lack the schemas of those it watches. */
    const struct vamp_vocabulary vocabulary = {.prefix = prefix};
    struct vamp_expression *expression;
    struct vamp_err err = VAMP_ERR_NONE;
    int status = vamp_expression_compile(query, &vocabulary, &expression, &err);
    free(prefix);
    if (status < 0) {
        return api_fail(status == -ENOMEM ? MSTRO_NOMEM : MSTRO_INVARG,
                        "mstro_cdo_selector_create: %s", err.text);
    }
    *ret_text = vamp_expression_print(expression);
    vamp_expression_free(expression);
    return *ret_text == NULL ? api_fail(MSTRO_NOMEM, "mstro_cdo_selector_create: no memory")
                             : MSTRO_OK;
}

mstro_status mstro_cdo_selector_create(mstro_schema schema, const char *schema_namespace,
                                       const char *query, mstro_cdo_selector *result)
{
    (void)schema;
    if (result == NULL) {
        return api_fail(MSTRO_INVARG, "mstro_cdo_selector_create: no place for the result");
    }
    struct mstro_cdo_selector_ *selector = calloc(1, sizeof *selector);
    if (selector == NULL) {
        return api_fail(MSTRO_NOMEM, "mstro_cdo_selector_create: no memory");
    }
    mstro_status status =
        query == NULL ? MSTRO_OK : normalise(schema_namespace, query, &selector->text);
    if (status != MSTRO_OK) {
        free(selector);
        return status;
    }
    *result = selector;
    return MSTRO_OK;
}

mstro_status mstro_cdo_selector_dispose(mstro_cdo_selector selector)
{
    if (selector == NULL) {
        return api_fail(MSTRO_INVARG, "mstro_cdo_selector_dispose: no selector");
    }
    free(selector->text);
    free(selector);
    return MSTRO_OK;
}
