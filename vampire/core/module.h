/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parts of vampire that are shared objects of their own, because the libraries they need take time
 * or memory, or are not wanted at every site. They are in lib/vampire/ next to the folder of the
 * executable: the same in the build tree and where vampire is installed.
 */
#pragma once

#include "vampire/core/err.h"

/* What is to be loaded. */
struct vamp_module {
    const char *file;    /* "maestro.so" */
    const char *symbol;  /* an object that begins with a `const char *`: the version of its build */
    const char *version; /* the one of this build; another one is refused */
    const char *purpose; /* for messages: "joins a pool" */
    const char *origin;  /* for messages: where the file comes from */
};

/* Loads it, once for a process, and never unloads it: its libraries may have threads. 0 with the
 * address of the symbol; -ELIBACC: it is not there or cannot be loaded; -ELIBBAD: it is of another
 * version; another -errno. */
VAMP_MUST_CHECK int vamp_module_load(const struct vamp_module *module, const void **ret_symbol,
                                     struct vamp_err *err);
