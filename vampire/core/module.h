/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Modules of vampire that are shared objects, because their libraries take time or memory to load,
 * or are not installed everywhere. They are in lib/vampire/ next to the folder of the executable,
 * both in the build tree and in an installation.
 */
#pragma once

#include "vampire/core/err.h"

/* Describes a shared object to load. */
struct vamp_module {
    const char *file; /* file name: "maestro.so" */
    const char
        *symbol; /* name of an object that begins with a `const char *`: the version of its build */
    const char *version; /* version of this build; shared objects of other versions are rejected */
    const char *purpose; /* for messages: "joins a pool" */
    const char *origin;  /* for messages: where the file comes from */
};

/* Loads the object, once for each process; it is never unloaded, because its libraries may have
 * threads. Returns 0 with the address of the symbol; -ELIBACC if the file is missing or cannot be
 * loaded; -ELIBBAD if it belongs to another version; or another -errno. */
VAMP_MUST_CHECK int vamp_module_load(const struct vamp_module *module, const void **ret_symbol,
                                     struct vamp_err *err);
