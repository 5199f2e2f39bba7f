/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/core/module.h"

#include <assert.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FOLDER "../lib/vampire/"

static int module_path(const char *file, char path[static PATH_MAX], struct vamp_err *err)
{
    const ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
    if (length < 0) {
        return vamp_err_set_errno(err, errno, "find the folder of vampire (/proc/self/exe)");
    }
    path[length] = '\0';
    char *name = strrchr(path, '/');
    assert(name != NULL);
    const size_t room = PATH_MAX - (size_t)(name + 1 - path);
    const int bytes = snprintf(name + 1, room, FOLDER "%s", file);
    if ((size_t)bytes >= room) {
        return vamp_err_set_errno(err, ENAMETOOLONG, "find the folder of %s", path);
    }
    return 0;
}

int vamp_module_load(const struct vamp_module *module, const void **ret_symbol,
                     struct vamp_err *err)
{
    char path[PATH_MAX];
    const int result = module_path(module->file, path, err);
    if (result != 0) {
        return result;
    }
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const void *symbol = object != NULL ? dlsym(object, module->symbol) : NULL;
    if (symbol == NULL) {
        return vamp_err_set(err, -ELIBACC, "load the part of vampire that %s: %s; %s",
                            module->purpose, dlerror(), module->origin);
    }
    const char *version = *(const char *const *)symbol;
    if (strcmp(version, module->version) != 0) {
        return vamp_err_set(err, -ELIBBAD, "%s is of vampire %s, this is vampire %s", path, version,
                            module->version);
    }
    *ret_symbol = symbol;
    return 0;
}
