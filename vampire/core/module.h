/* SPDX-License-Identifier: BSD-3-Clause */
/*
 *  * Modules of vampire in separate shared objects, because their libraries take time or memory, or
 * are not available at every site. They are in lib/vampire/ next to the folder of the executable,
 * both in the build tree and in an installation.
 */
#pragma once

#include "vampire/core/err.h"

/* A module to load. */
struct vamp_module {
    const char *file;    /* "maestro.so" */
    const char *symbol;  /* an object that begins with a `const char *`: the version of its build */
    const char *version; /* of this build, which must match */
    const char *purpose; /* for messages: "joins a pool" */
    const char *origin;  /* for messages: where the file comes from */
};

/* Loads it, once per process, and never unloads it: its libraries may have threads. 0 with the
 * address of the symbol; -ELIBACC: it is missing or cannot be loaded; -ELIBBAD: it has another
 * version; another -errno. */
VAMP_MUST_CHECK int vamp_module_load(const struct vamp_module *module, const void **ret_symbol,
                                     struct vamp_err *err);
