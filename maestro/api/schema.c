/* SPDX-License-Identifier: BSD-3-Clause */
#include "maestro/api/schema.h"

#include <stdlib.h>
#include <string.h>

#include "maestro/api/schema_internal.h"
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

enum mstro_cdo_attr_value_type schema_type(const char *text)
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

struct schema_set *schema_create(void)
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

mstro_status schema_add(struct schema_set *set, const struct schema_attribute *attribute,
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
