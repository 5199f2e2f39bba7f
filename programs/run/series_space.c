/* SPDX-License-Identifier: BSD-3-Clause */
#include "programs/run/series_space.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Shorter keys could be guessed. */
#define KEY_BYTES_LEAST 16
#define KEY_BYTES_MOST 4096

/* Of vampire's series, in RFC 4122's sense; docs/metrics.md has it. */
static const char series_of_vampire[] = "5b0e7a52-3d0c-5f6e-9b8a-6f1a2c94d7e3";

static int check_key(const char *path, size_t length, struct vamp_err *err)
{
    if (length > KEY_BYTES_MOST) {
        return vamp_err_set(err, -EINVAL,
                            "read the key of the series' ids: %s has more than %d bytes", path,
                            KEY_BYTES_MOST);
    }
    if (length < KEY_BYTES_LEAST) {
        return vamp_err_set(err, -EINVAL,
                            "read the key of the series' ids: %s has %zu bytes; a key has at least "
                            "%d, such as the output of: head -c 32 /dev/urandom | base64",
                            path, length, KEY_BYTES_LEAST);
    }
    return 0;
}

/* Without the white space at its end. */
static int read_key(const char *path, char key[static KEY_BYTES_MOST + 1], size_t *ret_length,
                    struct vamp_err *err)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    size_t length = 0;
    ssize_t got = fd < 0 ? -1 : 1;
    while (got > 0 && length <= KEY_BYTES_MOST) {
        got = read(fd, key + length, KEY_BYTES_MOST + 1 - length);
        length += got > 0 ? (size_t)got : 0;
    }
    const int code = got < 0 ? errno : 0;
    if (fd >= 0) {
        (void)close(fd);
    }
    if (code != 0) {
        return vamp_err_set_errno(err, code, "read the key of the series' ids from %s", path);
    }
    while (length > 0 && length <= KEY_BYTES_MOST && isspace((unsigned char)key[length - 1])) {
        length--;
    }
    *ret_length = length;
    return check_key(path, length, err);
}

int vamp_series_space(const char *workflow, const char *key_file, char space[static UUID_STR_LEN],
                      struct vamp_err *err)
{
    uuid_t id;
    (void)uuid_parse(series_of_vampire, id);
    uuid_generate_sha1(id, id, workflow, strlen(workflow));
    if (key_file != NULL) {
        char key[KEY_BYTES_MOST + 1];
        size_t length = 0;
        const int code = read_key(key_file, key, &length, err);
        if (code != 0) {
            return code;
        }
        uuid_generate_sha1(id, id, key, length);
        explicit_bzero(key, sizeof key);
    }
    uuid_unparse_lower(id, space);
    return 0;
}
