/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The attributes and their types: the core attributes and the MARS keywords, built in, and those of
 * the YAML files named in MSTRO_SCHEMA_LIST, which add to the MARS keywords and replace them. Parts
 * of a file that are not understood are ignored with a warning, as they may be for another Maestro.
 * Immutable once loaded, except for `reported`, so any thread may look up.
 */
#pragma once

#include <stdbool.h>

#include "maestro/maestro.h"
#include "vampire/core/err.h"

enum { SCHEMA_ATTRIBUTES_MAX = 65536 };

struct schema_attribute {
    const char *key; /* with its namespace */
    enum mstro_cdo_attr_value_type type;
    bool required;
    bool reported;      /* that it is missing; under library.lock */
    size_t space_bytes; /* length of the namespace in the key */
    struct schema_attribute *next_required;
    bool built_in_mars; /* a text is converted to its type; a file may replace it */
    /* For MARS keywords that are texts: the type that some set instead; INVALID: none. */
    enum mstro_cdo_attr_value_type otherwise;
};

struct schema_set;

/* Loads the schemas of `list` (names or paths, ';'-separated; NULL: none), each looked up as given
 * and with ".yaml" in every directory of `path` (';'-separated; NULL: the current one). MSTRO_OK,
 * MSTRO_INVARG with file and line, MSTRO_NOMEM. */
mstro_status schema_load(const char *list, const char *path, struct schema_set **ret_set,
                         struct vamp_err *err);
/* The word of a schema file for the type: "int" for MSTRO_CDO_ATTR_VALUE_int64. Never NULL. */
const char *schema_type_name(enum mstro_cdo_attr_value_type type);
/* NULL is fine. */
void schema_free(struct schema_set *set);
/* The first required attribute; NULL: none is. */
struct schema_attribute *schema_required(const struct schema_set *set);
/* NULL: no schema has this key. Valid as long as the set. */
const struct schema_attribute *schema_find(const struct schema_set *set, const char *key);
