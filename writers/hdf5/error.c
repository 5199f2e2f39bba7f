/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/hdf5/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/core/values.h"
#include "writers/hdf5/file.h"

struct walk {
    char outer[160]; /* the error reported by HDF5's interface function */
    char inner[160]; /* the error reported where the failure occurred */
    int errno_value; /* errno of the system call; 0: no system call failed */
};

/* Called by H5Ewalk2 for each error, outermost first. Collects the texts and the errno. */
static herr_t visit(unsigned depth, const H5E_error2_t *entry, void *context)
{
    struct walk *walk = context;
    const char *text = vamp_text_or(entry->desc, "");
    if (depth == 0) {
        (void)snprintf(walk->outer, sizeof walk->outer, "%s", text);
    }
    (void)snprintf(walk->inner, sizeof walk->inner, "%s", text);
    /* HDF5's drivers put "errno = 28, error message = ..." into the description. */
    const char *at = strstr(text, "errno = ");
    if (at != NULL) {
        walk->errno_value = (int)strtol(at + sizeof "errno = " - 1, NULL, 10);
    }
    return 0;
}

/* Sets `err` from HDF5's error stack and clears the stack. Returns -errno or -EIO. */
static int fail(struct vamp_err *err, const char *doing)
{
    struct walk walk = {.errno_value = 0};
    (void)H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, visit, &walk);
    (void)H5Eclear2(H5E_DEFAULT);
    if (walk.errno_value > 0) {
        return vamp_err_set_errno(err, walk.errno_value, "%s: HDF5: %s", doing, walk.outer);
    }
    if (walk.outer[0] == '\0') {
        return vamp_err_set(err, -EIO, "%s: HDF5 failed without giving a reason", doing);
    }
    return vamp_err_set(err, -EIO, "%s: HDF5: %s (%s)", doing, walk.outer, walk.inner);
}

#define DOING_BYTES 200

int hdf5_fail(struct vamp_err *err, const char *format, ...)
{
    char doing[DOING_BYTES];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(doing, sizeof doing, format, arguments);
    va_end(arguments);
    return fail(err, doing);
}

void hdf5_failed(struct hdf5_file *file, const char *format, ...)
{
    char doing[DOING_BYTES];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(doing, sizeof doing, format, arguments);
    va_end(arguments);
    if (file->code == 0) {
        file->code = fail(file->err, doing);
    } else {
        (void)H5Eclear2(H5E_DEFAULT);
    }
}

void hdf5_no_memory(struct hdf5_file *file, const char *doing)
{
    if (file->code == 0) {
        file->code = vamp_err_set_errno(file->err, ENOMEM, "%s", doing);
    }
}

void hdf5_quiet(void)
{
    /* Without this, a process in which a close failed crashes with SIGSEGV at exit. It has an
     * effect only before the first use of the library, and none later. */
    (void)H5dont_atexit();
    (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

/* When vampire creates a file it has already created the name, and a reader that opens the file as
 * soon as it appears would make the creation fail. Flags in the file show readers that it is being
 * written. Some parallel file systems have no locks. */
bool hdf5_without_locks(hid_t access)
{
#if H5_VERSION_GE(1, 12, 1) || (H5_VERSION_GE(1, 10, 7) && !H5_VERSION_GE(1, 12, 0))
    return H5Pset_file_locking(access, false, true) >= 0;
#else
    (void)access;
    return true;
#endif
}
