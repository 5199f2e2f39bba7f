/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/format/secret.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "vampire/core/values.h"
#include "writers/format/push.h"

int vamp_secret_check(const char *path, bool *ret_loose, struct vamp_err *err)
{
    struct stat status = {.st_mode = 0};
    (void)stat(path, &status);
    *ret_loose = S_ISREG(status.st_mode) && (status.st_mode & S_IROTH) != 0;
    if (S_ISREG(status.st_mode) && (status.st_mode & S_IWOTH) != 0) {
        return vamp_err_set(err, -EPERM,
                            "every user may write to the file with the secret, %s: chmod 600 %s",
                            path, path);
    }
    return 0;
}

bool vamp_secret_is_shown(const char *url)
{
    return strncmp(url, "http://", 7) == 0 && !vamp_push_is_local(url);
}

int vamp_secret_read(const char *path, const char *variable, char secret[static VAMP_SECRET_BYTES],
                     struct vamp_err *err)
{
    secret[0] = '\0';
    if (path == NULL) {
        (void)snprintf(secret, VAMP_SECRET_BYTES, "%s", vamp_text_or(getenv(variable), ""));
        return 0;
    }
    bool loose = false;
    const int wrong = vamp_secret_check(path, &loose, err);
    if (wrong != 0) {
        return wrong;
    }
    FILE *file = fopen(path, "re");
    if (file == NULL || fgets(secret, VAMP_SECRET_BYTES, file) == NULL) {
        const int code = file == NULL ? errno : ENODATA;
        if (file != NULL) {
            (void)fclose(file);
        }
        return vamp_err_set_errno(err, code, "read the secret from %s", path);
    }
    (void)fclose(file);
    secret[strcspn(secret, "\r\n")] = '\0';
    return 0;
}
