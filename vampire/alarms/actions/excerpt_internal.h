/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The excerpt, split: excerpt.c is the worker's part, excerpt_thread.c the thread that opens and
 * closes files. Private to these.
 */
#ifndef VAMP_ALARMS_ACTIONS_EXCERPT_INTERNAL_H
#define VAMP_ALARMS_ACTIONS_EXCERPT_INTERNAL_H

#include <pthread.h>
#include <stdarg.h>

#include "vampire/alarms/actions/excerpt.h"
#include "vampire/core/clock.h"

#define EXCERPT_MESSAGES_MAX 4
#define EXCERPT_BUFFER_BYTES ((uint64_t)16 << 20)
/* Time that an output may take to write what waits and to close. */
#define EXCERPT_CLOSE_NS (30 * VAMP_NS_PER_SECOND)

/* The worker leaves IDLE and WRITING, the thread OPENING and CLOSING; who leaves a state may use
 * `output` in it. */
enum excerpt_state { EXCERPT_IDLE, EXCERPT_OPENING, EXCERPT_WRITING, EXCERPT_CLOSING };

struct excerpt_message {
    bool error;
    char text[VAMP_ERR_TEXT_BYTES];
};

struct vamp_excerpt {
    /* Constant. */
    struct vamp_excerpt_settings settings; /* without the directory */
    struct vamp_excerpt_context context;
    struct vamp_run run;
    struct vamp_output_settings output_settings;
    void *format_options;

    /* The worker's. */
    struct vamp_history_place place; /* of the next event to pass on */
    bool ending;                     /* at the event with this number */
    uint64_t end_number;
    bool again; /* the next recording begins as soon as the present one is closed */
    int64_t again_from_ns;
    int64_t limit_at_ns;
    bool limited; /* the limit was met, and the end has not been asked for */
    uint64_t missed;
    bool started, abandoned;

    struct vamp_components *present; /* for the thread, in OPENING */
    struct vamp_output *output;
    unsigned segments_before; /* the thread's: of earlier recordings */

    pthread_mutex_t lock; /* of all down to the thread */
    pthread_cond_t changed;
    enum excerpt_state state;
    bool finishing, done;
    struct excerpt_message messages[EXCERPT_MESSAGES_MAX];
    unsigned message_first, message_count;
    struct vamp_excerpt_account account; /* of closed recordings */

    pthread_t thread;
};

/* ---- excerpt.c */

/* Keeps a message for vamp_excerpt_message; any thread. */
void excerpt_say(struct vamp_excerpt *excerpt, bool error, const char *format, ...)
    VAMP_PRINTF(3, 4);
/* Enters a state; the caller is who may leave the present one. */
void excerpt_enter(struct vamp_excerpt *excerpt, enum excerpt_state state);

/* ---- excerpt_thread.c */

/* The thread; `context` is the excerpt. */
void *excerpt_run(void *context);

#endif
