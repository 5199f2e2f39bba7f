/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The known attributes and their types: the built-in core attributes and MARS keywords, and those
 * defined by the YAML files in MSTRO_SCHEMA_LIST, which may add and replace MARS keywords. Unknown
 * parts of a file are ignored with a warning, because the file may be written for another Maestro.
 * A schema set is immutable once loaded, except for `reported`, so any thread may look up
 * attributes.
 */
#pragma once

#include <stdbool.h>

#include "maestro/maestro.h"
#include "vampire/core/err.h"

enum { SCHEMA_ATTRIBUTES_MAX = 65536 };

struct schema_attribute {
    const char *key; /* full key, including the namespace */
    enum mstro_cdo_attr_value_type type;
    bool required;
    bool reported;      /* a missing value was already reported; under library.lock */
    size_t space_bytes; /* length of the namespace in the key, in bytes */
    struct schema_attribute *next_required;
    bool built_in_mars; /* texts are converted to its type; a file may replace it */
    /* For MARS keywords of type text: another type that callers may use to set them; INVALID: none.
     */
    enum mstro_cdo_attr_value_type otherwise;
};

struct schema_set;

/* Loads the schemas in `list` (names or paths, separated by ';'; NULL: none). Each is searched for
 * as given and with ".yaml" in every directory of `path` (separated by ';'; NULL: the current
 * directory). Returns MSTRO_OK, MSTRO_INVARG with file and line, or MSTRO_NOMEM. */
mstro_status schema_load(const char *list, const char *path, struct schema_set **ret_set,
                         struct vamp_err *err);
/* Returns the name of the type in schema files, such as "int" for MSTRO_CDO_ATTR_VALUE_int64. Never
 * NULL. */
const char *schema_type_name(enum mstro_cdo_attr_value_type type);
/* Frees the set, which may be NULL. */
void schema_free(struct schema_set *set);
/* Returns the first required attribute; NULL: none. */
struct schema_attribute *schema_required(const struct schema_set *set);
/* Returns the attribute with this key, valid as long as the set; NULL: not in any schema. */
const struct schema_attribute *schema_find(const struct schema_set *set, const char *key);
