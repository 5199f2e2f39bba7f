/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the schemas share: schema.c is the set, schema_file.c reads a file into it,
 * schema_load.c says which. */
#ifndef MAESTRO_API_SCHEMA_INTERNAL_H
#define MAESTRO_API_SCHEMA_INTERNAL_H

#include "maestro/api/schema.h"

/* An empty set; NULL without memory. */
struct schema_set *schema_create(void);
/* Takes a copy of `key`. `where` ("file:line") is for the message when the set has the key with
 * another type. */
mstro_status schema_add(struct schema_set *set, const char *key,
                        enum mstro_cdo_attr_value_type type, bool required, const char *where,
                        struct vamp_err *err);
/* Adds what one file defines. */
mstro_status schema_read_file(struct schema_set *set, const char *file, struct vamp_err *err);

#endif
