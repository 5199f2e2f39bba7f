/* SPDX-License-Identifier: BSD-3-Clause */
/* Text of tables as a part of a manual page in mdoc(7). */
#ifndef VAMP_CORE_MDOC_H
#define VAMP_CORE_MDOC_H

#include <stdio.h>

/* Sentences, with a capital at the begin: short lines, each sentence on a new one; nothing in them
 * is read as a command. `text` must not be empty. */
void vamp_mdoc_text(FILE *stream, const char *text);

#endif
