/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/core/user.h"

#include <pwd.h>
#include <stdio.h>
#include <unistd.h>

#define ENTRY_BYTES 16384

void vamp_user_name(char text[static VAMP_USER_BYTES])
{
    char strings[ENTRY_BYTES];
    struct passwd entry;
    struct passwd *found = NULL;
    (void)snprintf(text, VAMP_USER_BYTES, "%lu", (unsigned long)geteuid());
    if (getpwuid_r(geteuid(), &entry, strings, sizeof strings, &found) == 0 && found != NULL) {
        (void)snprintf(text, VAMP_USER_BYTES, "%s", entry.pw_name);
    }
}
