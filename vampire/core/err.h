/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The error object: what was being done, with what, what is wrong.
 *
 * Every fallible function returns 0 or a negative errno and takes a `struct vamp_err *` as its last
 * parameter (NULL: the caller does not want the text). The text is gathered on the way up: the
 * innermost function sets it, each caller may put its own context before it ("open vampire.h5:
 * reserve 64 KiB: No space left on device"). Only the program in vampire/ prints errors; nothing
 * below it does. No thread rule: an error object belongs to the function that declared it, usually
 * on its stack.
 */
#pragma once

#include <errno.h>

#define VAMP_MUST_CHECK __attribute__((warn_unused_result))
#define VAMP_PRINTF(format_index, first_index)                                                     \
    __attribute__((format(printf, format_index, first_index)))

#define VAMP_ERR_TEXT_BYTES 512

struct vamp_err {
    int code;                       /* negative errno, 0: no error */
    char text[VAMP_ERR_TEXT_BYTES]; /* one line, no full stop, always terminated */
};

#define VAMP_ERR_NONE                                                                              \
    {                                                                                              \
        0, ""                                                                                      \
    }

/* Sets code and text. Returns `code`, so that `return vamp_err_set(err, -EINVAL, ...)` is a
 * whole error path. A text too long is cut; `err` may be NULL. `code` must be negative. */
int vamp_err_set(struct vamp_err *err, int code, const char *format, ...) VAMP_PRINTF(3, 4);

/* The same for a function that does not return the code: `return VAMP_REFUSE(NULL, err, -EINVAL,
 * ...)`. */
#define VAMP_REFUSE(result, err, code, ...) ((void)vamp_err_set(err, code, __VA_ARGS__), (result))

/* Like vamp_err_set with -errno and ": strerror" appended. Returns that code. */
int vamp_err_set_errno(struct vamp_err *err, int errno_value, const char *format, ...)
    VAMP_PRINTF(3, 4);

/* Puts "context: " before the text that is there. Returns err->code, or -EIO when `err` is
 * NULL or holds no error: use it only where an error is known to have been set. */
int vamp_err_wrap(struct vamp_err *err, const char *format, ...) VAMP_PRINTF(2, 3);
