/* SPDX-License-Identifier: BSD-3-Clause */
/* The user of this process. No state; any thread. */
#pragma once

#define VAMP_USER_BYTES 256

/* Writes the name of the effective user; its number if the system's user database has no name for
 * it. Environment variables are not used, because anybody can set them. May ask a directory
 * service. */
void vamp_user_name(char text[static VAMP_USER_BYTES]);
