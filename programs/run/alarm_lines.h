/* SPDX-License-Identifier: BSD-3-Clause */
/* The rules of alarms, one line each, in the summary and in the state on SIGUSR1. */
#ifndef VAMP_RUN_ALARM_LINES_H
#define VAMP_RUN_ALARM_LINES_H

#include <stdio.h>

#include "vampire/alarms/alarms.h"

/* Lines of those rules that have fired or are pending, and of those at a bound; `all`: of every
 * rule. `alarms` NULL: none. `columns`: of the word "alarms" before the first line. */
void vamp_alarm_lines_print(FILE *stream, const struct vamp_alarms *alarms, int columns, bool all);

/* The same from states that are given, `count` of them. */
void vamp_alarm_lines_print_states(FILE *stream, const struct vamp_alarm_state_count *rules,
                                   unsigned count, int columns);

#endif
