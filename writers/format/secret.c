/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/format/secret.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int vamp_secret_read(const char *path, const char *variable, char secret[static VAMP_SECRET_BYTES],
                     struct vamp_err *err)
{
    secret[0] = '\0';
    if (path == NULL) {
        const char *value = getenv(variable);
        (void)snprintf(secret, VAMP_SECRET_BYTES, "%s", value != NULL ? value : "");
        return 0;
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
