/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which attributes exist and of which type they are: the core ones and the MARS keywords, built in,
 * and those of the YAML files named in MSTRO_SCHEMA_LIST, which add to the MARS keywords and
 * replace them. What cannot be understood in a file is left out with a warning, as it may be
 * another Maestro's. Immutable once loaded, but for `told`, so any thread may look up.
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
    bool told;          /* that it is missing; under library.lock */
    size_t space_bytes; /* of the key: its schema's namespace */
    struct schema_attribute *next_required;
    bool built_in_mars; /* a text is converted to its type; a file may replace it */
    /* Of a MARS keyword that is a text: what some set instead; INVALID: nothing else. */
    enum mstro_cdo_attr_value_type otherwise;
};

struct schema_set;

/* Loads the schemas of `list` (names or paths, ';'-separated; NULL: none), each looked for as it is
 * and with ".yaml" in every directory of `path` (';'-separated; NULL: the current one).
 * MSTRO_OK, MSTRO_INVARG with file and line, MSTRO_NOMEM. */
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
