/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the schemas share: schema.c is the set, schema_file.c reads a file into it,
 * schema_load.c says which. */
#ifndef MAESTRO_API_SCHEMA_INTERNAL_H
#define MAESTRO_API_SCHEMA_INTERNAL_H

#include "maestro/api/schema.h"

/* An empty set; NULL without memory. */
struct schema_set *schema_create(void);
/* Takes a copy of the attribute and its key, in place of a MARS keyword that is built in. `where`
 * ("file:line") is for the message when the set has the key with another type. */
mstro_status schema_add(struct schema_set *set, const struct schema_attribute *attribute,
                        const char *where, struct vamp_err *err);
/* schema_mars.c */
mstro_status schema_add_mars(struct schema_set *set, struct vamp_err *err);
/* The type that a schema file writes as `text`, such as "int()"; INVALID: there is none. */
enum mstro_cdo_attr_value_type schema_type(const char *text);
/* Adds what one file defines. */
mstro_status schema_read_file(struct schema_set *set, const char *file, struct vamp_err *err);

#endif
