/* SPDX-License-Identifier: BSD-3-Clause */
/* The set of known attributes: the built-in ones and those in the files of MSTRO_SCHEMA_LIST. The
 * only file that uses libyaml. */
#include "maestro/api/schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yaml.h>

#include "maestro/api/log.h"
#include "vampire/core/map.h"
#include "vampire/core/values.h"

struct entry {
    struct map_link by_key;
    struct schema_attribute attribute;
    char key[];
};

struct schema_set {
    struct map keys;
    struct schema_attribute *required;
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

const char *schema_type_name(enum mstro_cdo_attr_value_type type)
{
    for (size_t i = 0; i < sizeof type_words / sizeof type_words[0]; i++) {
        if (type_words[i].type == type) {
            return type_words[i].word;
        }
    }
    return "unknown";
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

/* Adds a copy of the attribute and its key, which may replace a built-in MARS keyword. */
static void keep(struct schema_set *set, struct entry *entry,
                 const struct schema_attribute *attribute)
{
    entry->attribute = *attribute;
    entry->attribute.key = entry->key;
    if (attribute->required) {
        entry->attribute.next_required = set->required;
        set->required = &entry->attribute;
    }
}

static mstro_status add_attribute(struct schema_set *set, const struct schema_attribute *attribute,
                                  struct vamp_err *err)
{
    uint64_t hash;
    const char *key = attribute->key;
    struct entry *old = find_entry(set, key, &hash);
    if (old != NULL && old->attribute.built_in_mars && !attribute->built_in_mars) {
        keep(set, old, attribute);
        return MSTRO_OK;
    }
    if (old != NULL && old->attribute.type != attribute->type) {
        return VAMP_REFUSE(MSTRO_INVARG, err, -EEXIST,
                           "the attribute \"%s\" is defined before with another type", key);
    }
    if (old != NULL) {
        return MSTRO_OK;
    }
    if (set->keys.count >= SCHEMA_ATTRIBUTES_MAX) {
        return VAMP_REFUSE(MSTRO_NOMEM, err, -ENOSPC, "more than %d attributes",
                           SCHEMA_ATTRIBUTES_MAX);
    }
    size_t bytes = strlen(key) + 1;
    struct entry *entry = malloc(sizeof *entry + bytes);
    if (entry == NULL) {
        return VAMP_REFUSE(MSTRO_NOMEM, err, -ENOMEM, "out of memory");
    }
    memcpy(entry->key, key, bytes);
    keep(set, entry, attribute);
    map_insert(&set->keys, &entry->by_key, hash);
    return MSTRO_OK;
}

const struct schema_attribute *schema_find(const struct schema_set *set, const char *key)
{
    uint64_t hash;
    const struct entry *entry = find_entry(set, key, &hash);
    return entry == NULL ? NULL : &entry->attribute;
}

struct schema_attribute *schema_required(const struct schema_set *set)
{
    return set->required;
}

static void free_entry(struct map_link *link)
{
    free(CONTAINER_OF(link, struct entry, by_key));
}

void schema_free(struct schema_set *set)
{
    if (set != NULL) {
        map_drop(&set->keys, free_entry);
        free(set);
    }
}

/* ---- built-in attributes */

#define MARS(keyword, type_word) MARS_OR(keyword, type_word, INVALID)
#define MARS_OR(keyword, type_word, other)                                                         \
    {                                                                                              \
        .key = ".maestro.ecmwf." keyword, .type = MSTRO_CDO_ATTR_VALUE_##type_word,                \
        .built_in_mars = true, .otherwise = MSTRO_CDO_ATTR_VALUE_##other                           \
    }

/* The core attributes and the MARS keywords, which describe a meteorological field. Also listed in
 * docs/operations.md. */
static const struct schema_attribute built_in[] = {
    {.key = MSTRO_ATTR_CORE_CDO_NAME, .type = MSTRO_CDO_ATTR_VALUE_cstring},
    {.key = MSTRO_ATTR_CORE_CDO_RAW_PTR, .type = MSTRO_CDO_ATTR_VALUE_pointer},
    {.key = MSTRO_ATTR_CORE_CDO_SCOPE_LOCAL_SIZE, .type = MSTRO_CDO_ATTR_VALUE_uint64},
    MARS("class", cstring),
    MARS("stream", cstring),
    MARS("type", cstring),
    MARS("expver", cstring),
    MARS("domain", cstring),
    MARS("levtype", cstring),
    MARS("model", cstring),
    MARS("origin", cstring),
    MARS("dataset", cstring),
    MARS("activity", cstring),
    MARS("experiment", cstring),
    MARS("resolution", cstring),
    MARS("repres", cstring),
    MARS("georef", cstring),
    MARS_OR("date", cstring, timestamp),
    MARS("hdate", timestamp),
    MARS_OR("time", cstring, uint64),
    MARS("step", int64),
    MARS("anoffset", int64),
    MARS("param", int64),
    MARS("levelist", int64),
    MARS("number", int64),
    MARS("system", int64),
    MARS("method", int64),
    MARS("fcmonth", int64),
    MARS("generation", int64),
    MARS("channel", int64),
    MARS("ident", int64),
    MARS("instrument", int64),
    MARS_OR("direction", cstring, int64),
    MARS_OR("frequency", cstring, int64),
    MARS("realization", int64),
    MARS("iteration", int64),
};

/* ---- one file */

enum { KEY_BYTES = 512 };

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
    return VAMP_REFUSE(MSTRO_INVARG, reader->err, -EINVAL, "%s:%lu: %s", reader->file, line, what);
}

/* Returns NULL if the node is not a scalar. */
static const char *text_of(const yaml_node_t *node)
{
    if (node == NULL || node->type != YAML_SCALAR_NODE) {
        return NULL;
    }
    return (const char *)node->data.scalar.value;
}

static const yaml_node_t *node_or(const yaml_node_t *node, const yaml_node_t *other)
{
    return node != NULL ? node : other;
}

/* Logs the error set by `fault` as a warning. */
static void warn(struct reader *reader, const char *what)
{
    log_say(LOG_LEVEL_WARNING, "schema %s; %s", reader->err->text, what);
    *reader->err = (struct vamp_err)VAMP_ERR_NONE;
}

/* Reads the values of the keys `names` (ended by NULL) of a mapping; values of missing keys are
 * left unchanged. Other keys, which may be misspelt or from another Maestro, are ignored. */
static void read_members(struct reader *reader, const yaml_node_t *mapping,
                         const char *const *names, const yaml_node_t **ret_values)
{
    for (const yaml_node_pair_t *pair = mapping->data.mapping.pairs.start;
         pair < mapping->data.mapping.pairs.top; pair++) {
        const yaml_node_t *node = yaml_document_get_node(&reader->document, pair->key);
        const char *text = text_of(node);
        size_t i = 0;
        while (names[i] != NULL && (text == NULL || strcmp(text, names[i]) != 0)) {
            i++;
        }
        if (names[i] == NULL) {
            char what[256];
            (void)snprintf(what, sizeof what, "unknown key \"%.80s\"",
                           vamp_text_or(text, "(not a text)"));
            (void)fault(reader, node, what);
            warn(reader, "it is left out");
        } else if (ret_values[i] == NULL) {
            ret_values[i] = yaml_document_get_node(&reader->document, pair->value);
        }
    }
}

/* Reads a type such as "int()" or "int(min=0)"; the range is not applied. */
static mstro_status read_type(struct reader *reader, const yaml_node_t *node,
                              enum mstro_cdo_attr_value_type *ret_type)
{
    const char *text = vamp_text_or(text_of(node), "");
    for (size_t i = 0; i < sizeof type_words / sizeof type_words[0]; i++) {
        size_t length = strlen(type_words[i].word);
        if (strncmp(text, type_words[i].word, length) == 0 && text[length] == '(' &&
            strrchr(text, ')') == text + strlen(text) - 1) {
            *ret_type = type_words[i].type;
            return MSTRO_OK;
        }
    }
    char what[256];
    (void)snprintf(what, sizeof what,
                   "type \"%.40s\" is none of int(), uint(), str(), double(), float(), bool(), "
                   "timestamp(), pointer(), int32(), int64(), uint32(), uint64()",
                   text);
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

/* Sets the full key: the namespace, one '.', and the key. A key that begins with '.' is already a
 * full key. */
static mstro_status full_key(struct reader *reader, const yaml_node_t *node, char key[KEY_BYTES])
{
    const char *text = text_of(node);
    if (text == NULL || *text == '\0' || strpbrk(text, " \t\n()\"") != NULL) {
        return fault(reader, node, "an attribute needs a \"key\": a name without blanks");
    }
    const char *space = "", *dot = "";
    if (text[0] != '.') {
        space = reader->schema_namespace;
        dot = space[strlen(space) - 1] != '.' ? "." : "";
    }
    int written = snprintf(key, KEY_BYTES, "%s%s%s", space, dot, text);
    if (written < 0 || written >= KEY_BYTES) {
        return fault(reader, node, "the key with its namespace is longer than 511 bytes");
    }
    return MSTRO_OK;
}

static mstro_status read_attribute(struct reader *reader, const yaml_node_t *node)
{
    enum { KEY, TYPE, REQUIRED, COUNT = 5 };
    static const char *const names[COUNT + 1] = {"key", "type", "required", "documentation",
                                                 "default"};
    if (node == NULL || node->type != YAML_MAPPING_NODE) {
        return fault(reader, node,
                     "an attribute is a mapping with key, type, required and "
                     "documentation");
    }
    const yaml_node_t *values[COUNT] = {NULL};
    char key[KEY_BYTES];
    struct schema_attribute attribute = {.key = key};
    read_members(reader, node, names, values);
    mstro_status status = full_key(reader, node_or(values[KEY], node), key);
    if (status == MSTRO_OK) {
        status = read_type(reader, node_or(values[TYPE], node), &attribute.type);
    }
    if (status == MSTRO_OK) {
        status = read_required(reader, values[REQUIRED], &attribute.required);
    }
    if (status != MSTRO_OK) {
        return status;
    }
    attribute.space_bytes = strlen(key) - strlen(text_of(values[KEY]));
    if (*text_of(values[KEY]) == '.') {
        attribute.space_bytes = (size_t)(strrchr(key, '.') - key);
    }
    status = add_attribute(reader->set, &attribute, reader->err);
    if (status != MSTRO_OK) {
        (void)vamp_err_wrap(reader->err, "%.280s:%lu", reader->file,
                            (unsigned long)node->start_mark.line + 1);
    }
    return status;
}

static mstro_status read_document(struct reader *reader)
{
    enum { NAME, NAMESPACE, ATTRIBUTES, COUNT = 4 };
    static const char *const names[COUNT + 1] = {"schema-name", "schema-namespace",
                                                 "maestro-attributes", "schema-version"};
    const yaml_node_t *root = yaml_document_get_root_node(&reader->document);
    if (root == NULL || root->type != YAML_MAPPING_NODE) {
        return fault(reader, root,
                     "a schema is a mapping with schema-name, schema-version, "
                     "schema-namespace and maestro-attributes");
    }
    const yaml_node_t *values[COUNT] = {NULL};
    read_members(reader, root, names, values);
    if (text_of(values[NAME]) == NULL) {
        return fault(reader, root, "\"schema-name\" is missing");
    }
    reader->schema_namespace = text_of(values[NAMESPACE]);
    if (reader->schema_namespace == NULL || reader->schema_namespace[0] != '.') {
        return fault(reader, node_or(values[NAMESPACE], root),
                     "\"schema-namespace\" is missing, or does not begin with '.'");
    }
    const yaml_node_t *list = values[ATTRIBUTES];
    if (list == NULL || list->type != YAML_SEQUENCE_NODE) {
        return fault(reader, node_or(list, root), "\"maestro-attributes\" is missing, or no list");
    }
    mstro_status status = MSTRO_OK;
    for (const yaml_node_item_t *item = list->data.sequence.items.start;
         status == MSTRO_OK && item < list->data.sequence.items.top; item++) {
        status = read_attribute(reader, yaml_document_get_node(&reader->document, *item));
        if (status == MSTRO_INVARG) {
            warn(reader, "the attribute is left out");
            status = MSTRO_OK;
        }
    }
    return status;
}

static mstro_status read_file(struct schema_set *set, const char *file, struct vamp_err *err)
{
    struct vamp_err own = VAMP_ERR_NONE;
    struct reader reader = {.set = set, .file = file, .err = err != NULL ? err : &own};
    yaml_parser_t parser;
    FILE *stream = fopen(file, "rbe");
    if (stream == NULL) {
        (void)vamp_err_set_errno(err, errno, "schema %s", file);
        return MSTRO_INVARG;
    }
    if (!yaml_parser_initialize(&parser)) {
        (void)fclose(stream);
        return VAMP_REFUSE(MSTRO_NOMEM, err, -ENOMEM, "%s: out of memory", file);
    }
    yaml_parser_set_input_file(&parser, stream);
    mstro_status status = MSTRO_INVARG;
    if (yaml_parser_load(&parser, &reader.document)) {
        status = read_document(&reader);
        yaml_document_delete(&reader.document);
    } else {
        (void)vamp_err_set(err, -EINVAL, "%s:%lu: %s", file,
                           (unsigned long)parser.problem_mark.line + 1,
                           vamp_text_or(parser.problem, "not readable as YAML"));
    }
    yaml_parser_delete(&parser);
    (void)fclose(stream);
    return status;
}

/* ---- all files */

/* Searches for "directory/name" (or only `name` if it is absolute), as given and with ".yaml".
 * Returns the path, to be freed by the caller; NULL: no such file. */
static char *find_file(const char *name, const char *path)
{
    static const char *const suffixes[] = {"", ".yaml"};
    const char *directory = path == NULL || *path == '\0' ? "." : path;
    size_t length;
    for (; *directory != '\0'; directory += length + (directory[length] == ';')) {
        length = strcspn(directory, ";");
        for (size_t i = 0; length > 0 && i < 2; i++) {
            char *file = NULL;
            int written = 0;
            if (name[0] == '/') {
                written = asprintf(&file, "%s%s", name, suffixes[i]);
            } else {
                written = asprintf(&file, "%.*s/%s%s", (int)length, directory, name, suffixes[i]);
            }
            if (written < 0) {
                continue;
            }
            if (access(file, R_OK) == 0) {
                return file;
            }
            free(file);
        }
    }
    return NULL;
}

static mstro_status load_all(struct schema_set *set, const char *list, const char *path,
                             struct vamp_err *err)
{
    mstro_status status = MSTRO_OK;
    for (size_t i = 0; status == MSTRO_OK && i < sizeof built_in / sizeof built_in[0]; i++) {
        status = add_attribute(set, &built_in[i], err);
    }
    size_t length;
    for (; status == MSTRO_OK && list != NULL && *list != '\0';
         list += length + (list[length] == ';')) {
        length = strcspn(list, ";");
        char *name = strndup(list, length);
        char *file = NULL;
        if (name != NULL && length > 0) {
            file = find_file(name, path);
        }
        if (name == NULL) {
            (void)vamp_err_set(err, -ENOMEM, "schemas: out of memory");
            status = MSTRO_NOMEM;
        } else if (file != NULL) {
            status = read_file(set, file, err);
        } else if (length > 0) {
            (void)vamp_err_set(err, -ENOENT,
                               "the schema \"%s\" of " MSTRO_ENV_SCHEMA_LIST
                               " is in no directory of " MSTRO_ENV_SCHEMA_PATH " (%s)",
                               name, vamp_text_or(path, "not set: the current directory"));
            status = MSTRO_INVARG;
        }
        free(file);
        free(name);
    }
    return status;
}

mstro_status schema_load(const char *list, const char *path, struct schema_set **ret_set,
                         struct vamp_err *err)
{
    struct schema_set *set = calloc(1, sizeof *set);
    if (set == NULL || map_init(&set->keys) < 0) {
        free(set);
        return VAMP_REFUSE(MSTRO_NOMEM, err, -ENOMEM, "schemas: out of memory");
    }
    mstro_status status = load_all(set, list, path, err);
    if (status != MSTRO_OK) {
        schema_free(set);
        return status;
    }
    *ret_set = set;
    return MSTRO_OK;
}
