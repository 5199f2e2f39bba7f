/* SPDX-License-Identifier: BSD-3-Clause */
/* The library's log: selection, destination and rate limit of messages. */
#include "maestro/api/log.h"

#include <ctype.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <syslog.h>

#include "maestro/maestro.h"
#include "vampire/core/clock.h"
#include "vampire/core/utf8.h"
#include "vampire/core/values.h"

/* Maximum number of lines per period; further lines are only counted, so that a component that
 * fails in a loop does not fill a disk. */
enum { LINES_MAX = 100 };

/* Below all levels: nothing is printed. */
enum { LEVEL_NONE = -1 };
#define WINDOW_NS INT64_C(60000000000)

static const char *const levels[][2] = {
    {"error", "err"}, {"warning", "warn"}, {"info", "info"}, {"debug", "noise"}};
static const int priorities[] = {LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG};
enum { LEVELS = sizeof levels / sizeof levels[0] };

/* A message belongs to the first module whose prefix its function name has. */
static const struct {
    const char *begins, *module;
} modules[] = {
    {"mstro_pm_", "pm"},
    {"mstro_cdo_attribute", "attr"},
    {"mstro_cdo_selector", "event"},
    {"mstro_subscri", "event"},
    {"mstro_cdo_", "cdo"},
    {"schema", "schema"},
    {"", "core"},
};
enum { MODULES = sizeof modules / sizeof modules[0] };

static struct {
    pthread_mutex_t lock;
    int level; /* maximum level that is printed, or LEVEL_NONE */
    bool shown[MODULES];
    bool opened, to_syslog, quiet;
    char component[64];
    int64_t window_ns; /* start of the period in which `lines` are counted */
    uint64_t lines;
    uint64_t left_out;
} log_ = {.lock = PTHREAD_MUTEX_INITIALIZER, .level = LOG_LEVEL_DEFAULT};

static void print(enum log_level level, const char *text)
{
    const char *of = log_.component, *colon = *of != '\0' ? ": " : "";
    if (log_.to_syslog) {
        syslog(LOG_USER | priorities[level], "maestro: %s%s%s: %s", of, colon, levels[level][0],
               text);
    } else {
        (void)fprintf(stderr, "maestro: %s%s%s: %s\n", of, colon, levels[level][0], text);
    }
}

/* Prints the number of suppressed messages, if any. Under the lock. */
static void print_left_out(void)
{
    if (log_.left_out > 0) {
        char text[64];
        (void)snprintf(text, sizeof text, "%" PRIu64 " more messages were left out", log_.left_out);
        print(LOG_LEVEL_WARNING, text);
        log_.left_out = 0;
    }
}

/* Counts a line. Returns false if it is over the limit and must not be printed. Under the lock. */
static bool count_line(void)
{
    const int64_t now_ns = vamp_clock_monotonic_ns(&vamp_clock_system);
    if (log_.lines == 0 || now_ns - log_.window_ns >= WINDOW_NS) {
        print_left_out();
        log_.window_ns = now_ns;
        log_.lines = 0;
    }
    log_.lines++;
    log_.left_out += log_.lines > LINES_MAX;
    return log_.lines <= LINES_MAX;
}

/* Returns the level that the text names or numbers; LEVELS: the text is not a level. */
static int level_of(const char *text)
{
    int level = 0;
    if (isdigit((unsigned char)text[0]) && text[1] == '\0') {
        return VAMP_MIN(text[0] - '0', (int)LOG_LEVEL_DEBUG);
    }
    if (strcasecmp(text, "none") == 0) {
        return LEVEL_NONE;
    }
    while (level < LEVELS && strcasecmp(text, levels[level][0]) != 0 &&
           strcasecmp(text, levels[level][1]) != 0) {
        level++;
    }
    return level;
}

/* Selects modules from a list such as "all,^mamba", applied from left to right; ^ removes a module.
 * A list that begins with ^ starts from all modules. Module names of other Maestro implementations
 * are ignored. */
static void choose_modules(const char *list)
{
    for (unsigned i = 0; i < MODULES; i++) {
        log_.shown[i] = list == NULL || *list == '\0' || *list == '^';
    }
    for (size_t length; list != NULL && *list != '\0'; list += length + (list[length] == ',')) {
        length = strcspn(list, ",");
        const bool removes = *list == '^';
        const char *name = removes ? list + 1 : list;
        const size_t name_length = length - (size_t)(name - list);
        const bool is_all = name_length == 3 && strncasecmp(name, "all", 3) == 0;
        for (unsigned i = 0; i < MODULES; i++) {
            if (is_all || (name_length == strlen(modules[i].module) &&
                           strncasecmp(name, modules[i].module, name_length) == 0)) {
                log_.shown[i] = !removes;
            }
        }
    }
}

/* Reads the environment variables of the log into `log_`. Returns false if MSTRO_LOG_LEVEL is not a
 * level; then the default level applies. Under the lock. */
static bool read_settings(void)
{
    const char *level = getenv(MSTRO_ENV_LOG_LEVEL), *to = getenv(MSTRO_ENV_LOG_DST);
    const bool is_set = level != NULL && *level != '\0';
    int selected = LOG_LEVEL_DEFAULT;
    if (is_set) {
        selected = level_of(level);
    } else if (log_.quiet) {
        selected = LEVEL_NONE;
    }
    log_.opened = true;
    log_.level = selected < LEVELS ? selected : LOG_LEVEL_DEFAULT;
    log_.to_syslog = to != NULL && strcasecmp(to, "syslog") == 0;
    choose_modules(getenv(MSTRO_ENV_LOG_MODULES));
    return selected < LEVELS;
}

static unsigned module_of(const char *text)
{
    unsigned module = 0;
    while (strncmp(text, modules[module].begins, strlen(modules[module].begins)) != 0) {
        module++;
    }
    return module;
}

void log_say(enum log_level level, const char *format, ...)
{
    char text[VAMP_ERR_TEXT_BYTES + 64];
    va_list arguments;
    (void)pthread_mutex_lock(&log_.lock);
    if (!log_.opened) {
        read_settings();
    }
    if ((int)level <= log_.level) {
        va_start(arguments, format);
        (void)vsnprintf(text, sizeof text, format, arguments);
        va_end(arguments);
        vamp_utf8_clean(text);
        if (log_.shown[module_of(text)] && count_line()) {
            print(level, text);
        }
    }
    (void)pthread_mutex_unlock(&log_.lock);
}

void log_open(const char *component)
{
    (void)pthread_mutex_lock(&log_.lock);
    const bool understood = read_settings();
    (void)snprintf(log_.component, sizeof log_.component, "%s", component);
    (void)pthread_mutex_unlock(&log_.lock);
    if (!understood) {
        log_say(LOG_LEVEL_WARNING,
                MSTRO_ENV_LOG_LEVEL " must be none, error, warning, info, debug or 0 "
                                    "to 3; warning is used");
    }
}

void log_end(void)
{
    (void)pthread_mutex_lock(&log_.lock);
    print_left_out();
    log_.lines = 0;
    (void)pthread_mutex_unlock(&log_.lock);
}

void mstro_log_quiet(void)
{
    (void)pthread_mutex_lock(&log_.lock);
    log_.quiet = true;
    (void)pthread_mutex_unlock(&log_.lock);
}
