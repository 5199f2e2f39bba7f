/* SPDX-License-Identifier: BSD-3-Clause */
/* The set of attributes, what is built in, and the files of MSTRO_SCHEMA_LIST. The only place that
 * knows libyaml. */
#include "maestro/api/schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yaml.h>

#include "vampire/core/list.h"
#include "vampire/core/map.h"

struct entry {
    struct map_link by_key;
    struct list_link of_set;
    struct schema_attribute attribute;
    char key[];
};

struct schema_set {
    struct map keys;
    struct list entries;
};

struct type_word {
    const char *word;
    enum mstro_cdo_attr_value_type type;
};

static const struct type_word type_words[] = {
    {"int", MSTRO_CDO_ATTR_VALUE_int64},           {"uint", MSTRO_CDO_ATTR_VALUE_uint64},
    {"str", MSTRO_CDO_ATTR_VALUE_cstring},         {"double", MSTRO_CDO_ATTR_VALUE_double},
    {"float", MSTRO_CDO_ATTR_VALUE_float},         {"bool", MSTRO_CDO_ATTR_VALUE_bool},
    {"timestamp", MSTRO_CDO_ATTR_VALUE_timestamp}, {"pointer", MSTRO_CDO_ATTR_VALUE_pointer},
    {"int32", MSTRO_CDO_ATTR_VALUE_int32},         {"int64", MSTRO_CDO_ATTR_VALUE_int64},
    {"uint32", MSTRO_CDO_ATTR_VALUE_uint32},       {"uint64", MSTRO_CDO_ATTR_VALUE_uint64},
};

/* The type that a schema file writes as `text`, such as "int()"; INVALID: there is none. */
static enum mstro_cdo_attr_value_type parse_type(const char *text)
{
    for (size_t i = 0; i < sizeof type_words / sizeof type_words[0]; i++) {
        size_t length = strlen(type_words[i].word);
        if (strncmp(text, type_words[i].word, length) == 0 && strcmp(text + length, "()") == 0) {
            return type_words[i].type;
        }
    }
    return MSTRO_CDO_ATTR_VALUE_INVALID;
}

const char *schema_type_name(enum mstro_cdo_attr_value_type type)
{
    for (size_t i = 0; i < sizeof type_words / sizeof type_words[0]; i++) {
        if (type_words[i].type == type) {
            return type_words[i].word;
        }
    }
    return "unknown";
}

/* An empty set; NULL without memory. */
static struct schema_set *create_set(void)
{
    struct schema_set *set = calloc(1, sizeof *set);
    if (set == NULL || map_init(&set->keys) < 0) {
        free(set);
        return NULL;
    }
    list_init(&set->entries);
    return set;
}

static struct entry *find_entry(const struct schema_set *set, const char *key, uint64_t *ret_hash)
{
    *ret_hash = map_hash_text(&set->keys, key, strlen(key));
    for (struct map_link *link = map_first(&set->keys, *ret_hash); link != NULL;
         link = map_next(link)) {
        struct entry *entry = CONTAINER_OF(link, struct entry, by_key);
        if (strcmp(entry->key, key) == 0) {
            return entry;
        }
    }
    return NULL;
}

/* Takes a copy of the attribute and its key, in place of a MARS keyword that is built in. `where`
 * ("file:line") is for the message when the set has the key with another type. */
static mstro_status add_attribute(struct schema_set *set, const struct schema_attribute *attribute,
                                  const char *where, struct vamp_err *err)
{
    uint64_t hash;
    const char *key = attribute->key;
    struct entry *old = find_entry(set, key, &hash);
    if (old != NULL && old->attribute.built_in_mars && !attribute->built_in_mars) {
        old->attribute = *attribute;
        old->attribute.key = old->key;
        return MSTRO_OK;
    }
    if (old != NULL && old->attribute.type != attribute->type) {
        (void)vamp_err_set(err, -EEXIST,
                           "%s: the attribute \"%s\" is defined before with another "
                           "type",
                           where, key);
        return MSTRO_INVARG;
    }
    if (old != NULL) {
        return MSTRO_OK;
    }
    if (set->keys.count >= SCHEMA_ATTRIBUTES_MAX) {
        (void)vamp_err_set(err, -ENOSPC, "%s: more than %d attributes", where,
                           SCHEMA_ATTRIBUTES_MAX);
        return MSTRO_NOMEM;
    }
    size_t bytes = strlen(key) + 1;
    struct entry *entry = malloc(sizeof *entry + bytes);
    if (entry == NULL) {
        (void)vamp_err_set(err, -ENOMEM, "%s: no memory", where);
        return MSTRO_NOMEM;
    }
    memcpy(entry->key, key, bytes);
    entry->attribute = *attribute;
    entry->attribute.key = entry->key;
    map_insert(&set->keys, &entry->by_key, hash);
    list_append(&set->entries, &entry->of_set);
    return MSTRO_OK;
}

const struct schema_attribute *schema_find(const struct schema_set *set, const char *key)
{
    uint64_t hash;
    const struct entry *entry = find_entry(set, key, &hash);
    return entry == NULL ? NULL : &entry->attribute;
}

void schema_free(struct schema_set *set)
{
    if (set == NULL) {
        return;
    }
    struct list_link *link;
    while ((link = list_take(&set->entries)) != NULL) {
        free(CONTAINER_OF(link, struct entry, of_set));
    }
    map_done(&set->keys);
    free(set);
}

/* ---- what is built in */

static const struct schema_attribute core_attributes[] = {
    {MSTRO_ATTR_CORE_CDO_NAME, MSTRO_CDO_ATTR_VALUE_cstring, true, false},
    {MSTRO_ATTR_CORE_CDO_RAW_PTR, MSTRO_CDO_ATTR_VALUE_pointer, false, false},
    {MSTRO_ATTR_CORE_CDO_SCOPE_LOCAL_SIZE, MSTRO_CDO_ATTR_VALUE_uint64, false, false},
};

#define MARS(keyword, type_word)                                                                   \
    {                                                                                              \
        ".maestro.ecmwf." keyword, MSTRO_CDO_ATTR_VALUE_##type_word, false, true                   \
    }

/* The MARS keywords, known without configuration: the attributes of a meteorological field. Listed
 * in docs/operations.md as well. */
static const struct schema_attribute mars_keywords[] = {
    MARS("class", cstring),     MARS("stream", cstring),     MARS("type", cstring),
    MARS("expver", cstring),    MARS("domain", cstring),     MARS("levtype", cstring),
    MARS("model", cstring),     MARS("origin", cstring),     MARS("dataset", cstring),
    MARS("activity", cstring),  MARS("experiment", cstring), MARS("resolution", cstring),
    MARS("repres", cstring),    MARS("georef", cstring),     MARS("date", timestamp),
    MARS("hdate", timestamp),   MARS("time", uint64),        MARS("step", int64),
    MARS("param", int64),       MARS("levelist", int64),     MARS("number", int64),
    MARS("system", int64),      MARS("method", int64),       MARS("fcmonth", int64),
    MARS("generation", int64),  MARS("channel", int64),      MARS("ident", int64),
    MARS("instrument", int64),  MARS("direction", int64),    MARS("frequency", int64),
    MARS("realization", int64), MARS("iteration", int64),
};

static mstro_status add_all(struct schema_set *set, const struct schema_attribute *attributes,
                            size_t count, const char *where, struct vamp_err *err)
{
    mstro_status status = MSTRO_OK;
    for (size_t i = 0; status == MSTRO_OK && i < count; i++) {
        status = add_attribute(set, &attributes[i], where, err);
    }
    return status;
}

/* ---- one file */

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
    *ret_type = parse_type(text == NULL ? "" : text);
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
    return add_attribute(reader->set, &attribute, where, reader->err);
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

/* Adds what one file defines. */
static mstro_status read_file(struct schema_set *set, const char *file, struct vamp_err *err)
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

/* ---- all files */

/* "directory/name", or the name alone when it is a path of its own; NULL: not there. */
static char *try_file(const char *directory, size_t directory_length, const char *name,
                      const char *suffix)
{
    char *file = NULL;
    int written = name[0] == '/' ? asprintf(&file, "%s%s", name, suffix)
                                 : asprintf(&file, "%.*s/%s%s", (int)directory_length, directory,
                                            name, suffix);
    if (written < 0) {
        return NULL;
    }
    if (access(file, R_OK) == 0) {
        return file;
    }
    free(file);
    return NULL;
}

/* malloc'ed, NULL when it is in none of the directories. */
static char *find_file(const char *name, const char *path)
{
    const char *directory = path == NULL || *path == '\0' ? "." : path;
    while (*directory != '\0') {
        size_t length = strcspn(directory, ";");
        char *file = length == 0 ? NULL : try_file(directory, length, name, "");
        if (file == NULL && length > 0) {
            file = try_file(directory, length, name, ".yaml");
        }
        if (file != NULL) {
            return file;
        }
        directory += length + (directory[length] == ';');
    }
    return NULL;
}

static mstro_status load_named(struct schema_set *set, const char *name, const char *path,
                               struct vamp_err *err)
{
    char *file = find_file(name, path);
    if (file == NULL) {
        (void)vamp_err_set(err, -ENOENT,
                           "the schema \"%s\" of " MSTRO_ENV_SCHEMA_LIST
                           " is in no directory of " MSTRO_ENV_SCHEMA_PATH " (%s)",
                           name, path == NULL ? "not set: the current directory" : path);
        return MSTRO_INVARG;
    }
    mstro_status status = read_file(set, file, err);
    free(file);
    return status;
}

static mstro_status load_all(struct schema_set *set, const char *list, const char *path,
                             struct vamp_err *err)
{
    mstro_status status = add_all(
        set, mars_keywords, sizeof mars_keywords / sizeof mars_keywords[0], "MARS keywords", err);
    if (status == MSTRO_OK) {
        status = add_all(set, core_attributes, sizeof core_attributes / sizeof core_attributes[0],
                         "core schema", err);
    }
    while (status == MSTRO_OK && list != NULL && *list != '\0') {
        size_t length = strcspn(list, ";");
        char *name = strndup(list, length);
        if (name == NULL) {
            (void)vamp_err_set(err, -ENOMEM, "schemas: no memory");
            return MSTRO_NOMEM;
        }
        status = length == 0 ? MSTRO_OK : load_named(set, name, path, err);
        free(name);
        list += length + (list[length] == ';');
    }
    return status;
}

mstro_status schema_load(const char *list, const char *path, struct schema_set **ret_set,
                         struct vamp_err *err)
{
    struct schema_set *set = create_set();
    if (set == NULL) {
        (void)vamp_err_set(err, -ENOMEM, "schemas: no memory");
        return MSTRO_NOMEM;
    }
    mstro_status status = load_all(set, list, path, err);
    if (status != MSTRO_OK) {
        schema_free(set);
        return status;
    }
    *ret_set = set;
    return MSTRO_OK;
}
