/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads one schema file: the only place that knows libyaml. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "maestro/api/schema_internal.h"

enum { WHERE_BYTES = 320, KEY_BYTES = 512 };

struct reader {
    struct schema_set *set;
    const char *file;
    yaml_document_t document;
    const char *schema_namespace;
    struct vamp_err *err;
};

static mstro_status fault(struct reader *reader, const yaml_node_t *node, const char *what)
{
    unsigned long line = node == NULL ? 1 : (unsigned long)node->start_mark.line + 1;
    (void)vamp_err_set(reader->err, -EINVAL, "%s:%lu: %s", reader->file, line, what);
    return MSTRO_INVARG;
}

/* NULL: not a scalar. */
static const char *text_of(const yaml_node_t *node)
{
    return node != NULL && node->type == YAML_SCALAR_NODE ? (const char *)node->data.scalar.value
                                                          : NULL;
}

/* The value of `key` in a mapping, NULL when there is none. */
static yaml_node_t *member(struct reader *reader, const yaml_node_t *mapping, const char *key)
{
    for (const yaml_node_pair_t *pair = mapping->data.mapping.pairs.start;
         pair < mapping->data.mapping.pairs.top; pair++) {
        const char *text = text_of(yaml_document_get_node(&reader->document, pair->key));
        if (text != NULL && strcmp(text, key) == 0) {
            return yaml_document_get_node(&reader->document, pair->value);
        }
    }
    return NULL;
}

/* Accepts only these keys: a misspelt one is reported, not skipped. */
static mstro_status check_keys(struct reader *reader, const yaml_node_t *mapping,
                               const char *const *allowed)
{
    for (const yaml_node_pair_t *pair = mapping->data.mapping.pairs.start;
         pair < mapping->data.mapping.pairs.top; pair++) {
        const yaml_node_t *node = yaml_document_get_node(&reader->document, pair->key);
        const char *text = text_of(node);
        const char *const *at = allowed;
        while (*at != NULL && (text == NULL || strcmp(text, *at) != 0)) {
            at++;
        }
        if (*at == NULL) {
            char what[256];
            (void)snprintf(what, sizeof what, "unknown key \"%.80s\"",
                           text == NULL ? "(not a text)" : text);
            return fault(reader, node, what);
        }
    }
    return MSTRO_OK;
}

static mstro_status read_type(struct reader *reader, const yaml_node_t *node,
                              enum mstro_cdo_attr_value_type *ret_type)
{
    const char *text = text_of(node);
    *ret_type = schema_type(text == NULL ? "" : text);
    if (*ret_type != MSTRO_CDO_ATTR_VALUE_INVALID) {
        return MSTRO_OK;
    }
    char what[256];
    (void)snprintf(what, sizeof what,
                   "type \"%.40s\" is none of int(), uint(), str(), double(), float(), bool(), "
                   "timestamp(), pointer(), int32(), int64(), uint32(), uint64()",
                   text == NULL ? "" : text);
    return fault(reader, node, what);
}

static mstro_status read_required(struct reader *reader, const yaml_node_t *node,
                                  bool *ret_required)
{
    const char *text = node == NULL ? "false" : text_of(node);
    *ret_required = text != NULL && strcasecmp(text, "true") == 0;
    if (text == NULL || (!*ret_required && strcasecmp(text, "false") != 0)) {
        return fault(reader, node, "\"required\" is true or false");
    }
    return MSTRO_OK;
}

/* The full name: the namespace with one '.' and the key; a key that begins with '.' is full. */
static mstro_status full_key(struct reader *reader, const yaml_node_t *node, char key[KEY_BYTES])
{
    const char *text = text_of(node);
    if (text == NULL || *text == '\0' || strpbrk(text, " \t\n()\"") != NULL) {
        return fault(reader, node, "an attribute needs a \"key\": a name without blanks");
    }
    const char *space = text[0] == '.' ? "" : reader->schema_namespace;
    size_t length = strlen(space);
    const char *dot = length > 0 && space[length - 1] != '.' ? "." : "";
    int written = snprintf(key, KEY_BYTES, "%s%s%s", space, dot, text);
    if (written < 0 || written >= KEY_BYTES) {
        return fault(reader, node, "the key with its namespace is longer than 511 bytes");
    }
    return MSTRO_OK;
}

static mstro_status read_attribute(struct reader *reader, const yaml_node_t *node)
{
    static const char *const allowed[] = {"key",           "type",    "required",
                                          "documentation", "default", NULL};
    if (node == NULL || node->type != YAML_MAPPING_NODE) {
        return fault(reader, node,
                     "an attribute is a mapping with key, type, required and "
                     "documentation");
    }
    mstro_status status = check_keys(reader, node, allowed);
    const yaml_node_t *key_node = member(reader, node, "key");
    const yaml_node_t *type_node = member(reader, node, "type");
    char key[KEY_BYTES];
    struct schema_attribute attribute = {.key = key};
    if (status == MSTRO_OK) {
        status = full_key(reader, key_node == NULL ? node : key_node, key);
    }
    if (status == MSTRO_OK) {
        status = read_type(reader, type_node == NULL ? node : type_node, &attribute.type);
    }
    if (status == MSTRO_OK) {
        status = read_required(reader, member(reader, node, "required"), &attribute.required);
    }
    if (status != MSTRO_OK) {
        return status;
    }
    char where[WHERE_BYTES];
    (void)snprintf(where, sizeof where, "%.280s:%lu", reader->file,
                   (unsigned long)node->start_mark.line + 1);
    return schema_add(reader->set, &attribute, where, reader->err);
}

static mstro_status read_document(struct reader *reader)
{
    static const char *const allowed[] = {"schema-name", "schema-version", "schema-namespace",
                                          "maestro-attributes", NULL};
    const yaml_node_t *root = yaml_document_get_root_node(&reader->document);
    if (root == NULL || root->type != YAML_MAPPING_NODE) {
        return fault(reader, root,
                     "a schema is a mapping with schema-name, schema-version, "
                     "schema-namespace and maestro-attributes");
    }
    mstro_status status = check_keys(reader, root, allowed);
    if (status != MSTRO_OK) {
        return status;
    }
    if (text_of(member(reader, root, "schema-name")) == NULL) {
        return fault(reader, root, "\"schema-name\" is missing");
    }
    const yaml_node_t *space = member(reader, root, "schema-namespace");
    reader->schema_namespace = text_of(space);
    if (reader->schema_namespace == NULL || reader->schema_namespace[0] != '.') {
        return fault(reader, space == NULL ? root : space,
                     "\"schema-namespace\" is missing, or does not begin with '.'");
    }
    const yaml_node_t *list = member(reader, root, "maestro-attributes");
    if (list == NULL || list->type != YAML_SEQUENCE_NODE) {
        return fault(reader, list == NULL ? root : list,
                     "\"maestro-attributes\" is missing, or no list");
    }
    for (const yaml_node_item_t *item = list->data.sequence.items.start;
         status == MSTRO_OK && item < list->data.sequence.items.top; item++) {
        status = read_attribute(reader, yaml_document_get_node(&reader->document, *item));
    }
    return status;
}

static mstro_status parse(struct reader *reader, FILE *stream)
{
    yaml_parser_t parser;
    if (!yaml_parser_initialize(&parser)) {
        (void)vamp_err_set(reader->err, -ENOMEM, "%s: no memory", reader->file);
        return MSTRO_NOMEM;
    }
    yaml_parser_set_input_file(&parser, stream);
    mstro_status status;
    if (yaml_parser_load(&parser, &reader->document)) {
        status = read_document(reader);
        yaml_document_delete(&reader->document);
    } else {
        (void)vamp_err_set(reader->err, -EINVAL, "%s:%lu: %s", reader->file,
                           (unsigned long)parser.problem_mark.line + 1,
                           parser.problem == NULL ? "not readable as YAML" : parser.problem);
        status = MSTRO_INVARG;
    }
    yaml_parser_delete(&parser);
    return status;
}

mstro_status schema_read_file(struct schema_set *set, const char *file, struct vamp_err *err)
{
    struct reader reader = {.set = set, .file = file, .err = err};
    FILE *stream = fopen(file, "rbe");
    if (stream == NULL) {
        (void)vamp_err_set_errno(err, errno, "schema %s", file);
        return MSTRO_INVARG;
    }
    mstro_status status = parse(&reader, stream);
    (void)fclose(stream);
    return status;
}
