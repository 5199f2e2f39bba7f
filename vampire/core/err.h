/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The error object: the failed operation, its object, and the reason.
 *
 * Every fallible function returns 0 or a negative errno and takes a `struct vamp_err *` as its last
 * parameter (NULL: the caller does not need the text). The innermost function sets the text, and
 * each caller may put its own context before it ("open vampire.h5: reserve 64 KiB: No space left on
 * device"). Only the program in programs/ prints errors. An error object belongs to the function
 * that declared it, usually on its stack.
 */
#pragma once

#include <errno.h>

#define VAMP_MUST_CHECK __attribute__((warn_unused_result))
#define VAMP_PRINTF(format_index, first_index)                                                     \
    __attribute__((format(printf, format_index, first_index)))

#define VAMP_ERR_TEXT_BYTES 512

struct vamp_err {
    int code;                       /* negative errno; 0: no error */
    char text[VAMP_ERR_TEXT_BYTES]; /* one line, no full stop, always terminated */
};

#define VAMP_ERR_NONE                                                                              \
    {                                                                                              \
        0, ""                                                                                      \
    }

/* Sets code and text. Returns `code`, for use in `return vamp_err_set(err, -EINVAL, ...)`. A text
 * that is too long is cut; `err` may be NULL. `code` must be negative. */
int vamp_err_set(struct vamp_err *err, int code, const char *format, ...) VAMP_PRINTF(3, 4);

/* For functions that do not return the code: `return VAMP_REFUSE(NULL, err, -EINVAL, ...)`. */
#define VAMP_REFUSE(result, err, code, ...) ((void)vamp_err_set(err, code, __VA_ARGS__), (result))

/* As vamp_err_set with code -errno, and with ": strerror" appended. Returns the code. */
int vamp_err_set_errno(struct vamp_err *err, int errno_value, const char *format, ...)
    VAMP_PRINTF(3, 4);

/* Puts "context: " before the present text. Returns err->code, or -EIO if `err` is NULL or has no
 * error. Must be called only after an error. */
int vamp_err_wrap(struct vamp_err *err, const char *format, ...) VAMP_PRINTF(2, 3);
