/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The library's messages for people, since components written against another Maestro do not use
 * mstro_last_error: a line each on stderr or in the system's log, selected by MSTRO_LOG_LEVEL,
 * MSTRO_LOG_MODULES and MSTRO_LOG_DST (docs/operations.md). At most 100 lines a minute; the number
 * of further ones is reported. Any thread, any time.
 */
#pragma once

#include "vampire/core/err.h"

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };
/* The default without MSTRO_LOG_LEVEL. */
#define LOG_LEVEL_PRESET LOG_LEVEL_WARNING

/* Reads the environment; lines begin with the component's name. */
void log_open(const char *component);
/* Reports how many messages were left out. */
void log_end(void);
/* A text begins with its function, or "schema", which determines the module. */
void log_say(enum log_level level, const char *format, ...) VAMP_PRINTF(2, 3);
