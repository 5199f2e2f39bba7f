/* SPDX-License-Identifier: BSD-3-Clause */
/* What the parts of the input share; no other file includes this. */
#ifndef TOP_INPUT_INTERNAL_H
#define TOP_INPUT_INTERNAL_H

#include <stdint.h>
#include <sys/types.h>

#include "programs/vampire-top/input.h"

enum input_kind {
    INPUT_FILE,   /* followed */
    INPUT_FIFO,   /* writers come and go */
    INPUT_STREAM, /* standard input, socket: its end is the end */
};

#define INPUT_PATH_BYTES 4096

struct top_input {
    enum input_kind kind;
    struct top_input_options options;
    int fd; /* -1: not there (yet) */
    char path[INPUT_PATH_BYTES];
    /* Of a file: the file that is open, and the position in it. */
    dev_t device;
    ino_t inode;
    off_t offset;
    bool rotated;               /* its last line was read; the next segment is looked for */
    int64_t reconnect_until_ns; /* of a socket whose run continues, by the monotonic clock */
    bool finished;              /* the run has ended */
    bool hung_up;               /* of a FIFO: no writer at the moment */
    bool begins_within_line;    /* what is read next, probably */
    bool skip_line;             /* until the next newline: too long, or begun before the input */
    bool skip_silently;         /* the latter */
    size_t taken, held;         /* of buffer: lines done, bytes there */
    char buffer[TOP_LINE_BYTES];
};

/* Opens a path, whatever it is. 0, or -errno with text. */
VAMP_MUST_CHECK int input_open_path(struct top_input *input, struct vamp_err *err);
/* Whether a socket's name is well-formed. 0, or -EINVAL with text. */
VAMP_MUST_CHECK int input_check_socket(const char *source, struct vamp_err *err);
/* Connects unix:PATH and tcp:ADDRESS:PORT. 0, or -errno with text. */
VAMP_MUST_CHECK int input_connect(struct top_input *input, struct vamp_err *err);
/* The socket that lies at a path. */
VAMP_MUST_CHECK int input_connect_unix(struct top_input *input, const char *path,
                                       struct vamp_err *err);

/* At the end of a file: was it replaced, cut, or is there a next segment? Opens that. True when
 * there is something new to read. */
bool input_follow(struct top_input *input, const struct top_model *model);

#endif
