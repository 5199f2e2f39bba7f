/* SPDX-License-Identifier: BSD-3-Clause */
/* Which schemas there are: the core schema, the MARS keywords, and the files of MSTRO_SCHEMA_LIST.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "maestro/api/schema_internal.h"

static const struct schema_attribute core_attributes[] = {
    {MSTRO_ATTR_CORE_CDO_NAME, MSTRO_CDO_ATTR_VALUE_cstring, true, false},
    {MSTRO_ATTR_CORE_CDO_RAW_PTR, MSTRO_CDO_ATTR_VALUE_pointer, false, false},
    {MSTRO_ATTR_CORE_CDO_SCOPE_LOCAL_SIZE, MSTRO_CDO_ATTR_VALUE_uint64, false, false},
};

/* ------------------------------------------------------------------ finding the files */

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
    mstro_status status = schema_read_file(set, file, err);
    free(file);
    return status;
}

static mstro_status load_all(struct schema_set *set, const char *list, const char *path,
                             struct vamp_err *err)
{
    mstro_status status = schema_add_mars(set, err);
    for (size_t i = 0; status == MSTRO_OK && i < sizeof core_attributes / sizeof core_attributes[0];
         i++) {
        status = schema_add(set, &core_attributes[i], "core schema", err);
    }
    if (status != MSTRO_OK) {
        return status;
    }
    while (list != NULL && *list != '\0') {
        size_t length = strcspn(list, ";");
        char *name = strndup(list, length);
        if (name == NULL) {
            (void)vamp_err_set(err, -ENOMEM, "schemas: no memory");
            return MSTRO_NOMEM;
        }
        status = length == 0 ? MSTRO_OK : load_named(set, name, path, err);
        free(name);
        if (status != MSTRO_OK) {
            return status;
        }
        list += length + (list[length] == ';');
    }
    return MSTRO_OK;
}

mstro_status schema_load(const char *list, const char *path, struct schema_set **ret_set,
                         struct vamp_err *err)
{
    struct schema_set *set = schema_create();
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
