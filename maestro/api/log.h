/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The library's log for users, needed because components written for another Maestro do not call
 * mstro_last_error. One line per message on stderr or in the system log, selected by
 * MSTRO_LOG_LEVEL, MSTRO_LOG_MODULES and MSTRO_LOG_DST (docs/operations.md). At most 100 lines a
 * minute are written; the number of suppressed messages is reported. Any thread, any time.
 */
#pragma once

#include "vampire/core/err.h"

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };
/* The level if MSTRO_LOG_LEVEL is not set. */
#define LOG_LEVEL_DEFAULT LOG_LEVEL_WARNING

/* Reads the environment; each line begins with the component's name. */
void log_open(const char *component);
/* Reports how many messages were suppressed. */
void log_end(void);
/* Writes a message. The text begins with the name of a function or with "schema", which determines
 * the module. */
void log_say(enum log_level level, const char *format, ...) VAMP_PRINTF(2, 3);
