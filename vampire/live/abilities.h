/* SPDX-License-Identifier: BSD-3-Clause */
/* What the maestro.h of this build offers, for a program that does not see it. */
#ifndef VAMP_LIVE_ABILITIES_H
#define VAMP_LIVE_ABILITIES_H

#include <stdio.h>

/* The lines of `vampire --version`. */
void vamp_live_abilities(FILE *stream);

#endif
