/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/core/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

VAMP_PRINTF(3, 0)
static void write_text(struct vamp_err *err, int code, const char *format, va_list arguments)
{
    err->code = code;
    (void)vsnprintf(err->text, sizeof err->text, format, arguments);
}

int vamp_err_set(struct vamp_err *err, int code, const char *format, ...)
{
    if (err != NULL) {
        va_list arguments;
        va_start(arguments, format);
        write_text(err, code, format, arguments);
        va_end(arguments);
    }
    return code;
}

int vamp_err_set_errno(struct vamp_err *err, int errno_value, const char *format, ...)
{
    if (err != NULL) {
        va_list arguments;
        va_start(arguments, format);
        write_text(err, -errno_value, format, arguments);
        va_end(arguments);
        size_t used = strlen(err->text);
        char reason[128];
        (void)snprintf(err->text + used, sizeof err->text - used, ": %s",
                       strerror_r(errno_value, reason, sizeof reason));
    }
    return -errno_value;
}

int vamp_err_wrap(struct vamp_err *err, const char *format, ...)
{
    if (err == NULL || err->code == 0) {
        return -EIO;
    }
    char inner[VAMP_ERR_TEXT_BYTES];
    memcpy(inner, err->text, sizeof inner);
    va_list arguments;
    va_start(arguments, format);
    write_text(err, err->code, format, arguments);
    va_end(arguments);
    size_t used = strlen(err->text);
    (void)snprintf(err->text + used, sizeof err->text - used, ": %s", inner);
    return err->code;
}
