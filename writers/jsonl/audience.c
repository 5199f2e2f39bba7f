/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/jsonl/audience_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "vampire/core/clock.h"
#include "vampire/core/thread.h"

#define REMARK_NS (10 * VAMP_NS_PER_SECOND)
/* At the end a reader that keeps reading gets at most this many times the patience in addition. */
#define PATIENCE_TIMES 8

struct audience_block *audience_block_make(const char *bytes, size_t length)
{
    struct audience_block *block = malloc(sizeof *block + length);
    if (block != NULL) {
        block->holders = 1;
        block->length = length;
        if (length > 0) {
            memcpy(block->bytes, bytes, length);
        }
    }
    return block;
}

void audience_block_release(struct audience_block *block)
{
    if (block != NULL && --block->holders == 0) {
        free(block);
    }
}

static size_t append(char *at, size_t used, const char *bytes, size_t length)
{
    if (length > 0) {
        memcpy(at + used, bytes, length);
    }
    return used + length;
}

struct audience_block *audience_welcome(const struct vamp_audience *audience)
{
    size_t length = audience->head_bytes;
    for (unsigned i = 0; i < audience->options.rows_max; i++) {
        length += audience->rows[i] != NULL ? audience->rows[i]->length : 0;
    }
    struct audience_block *welcome = malloc(sizeof *welcome + length);
    if (welcome == NULL) {
        return NULL;
    }
    welcome->holders = 1;
    welcome->length = length;
    size_t used = append(welcome->bytes, 0, audience->head, audience->head_bytes);
    for (unsigned i = 0; i < audience->options.rows_max; i++) {
        if (audience->rows[i] != NULL) {
            used =
                append(welcome->bytes, used, audience->rows[i]->bytes, audience->rows[i]->length);
        }
    }
    return welcome;
}

/* ---- open and close */

static void free_audience(struct vamp_audience *audience)
{
    while (audience->reader_count > 0) {
        audience_reader_remove(audience, 0);
    }
    for (unsigned i = 0; i < audience->options.rows_max; i++) {
        if (audience->rows != NULL) {
            audience_block_release(audience->rows[i]);
        }
        if (audience->next_rows != NULL) {
            audience_block_release(audience->next_rows[i]);
        }
    }
    vamp_listener_close(&audience->listener);
    if (audience->wake >= 0) {
        (void)close(audience->wake);
    }
    (void)pthread_mutex_destroy(&audience->lock);
    free((void *)audience->rows);
    free((void *)audience->next_rows);
    free(audience->head);
    free(audience);
}

static int prepare(struct vamp_audience *audience, struct vamp_err *err)
{
    const unsigned rows = audience->options.rows_max;
    audience->rows = calloc(rows + 1, sizeof *audience->rows);
    audience->next_rows = calloc(rows + 1, sizeof *audience->next_rows);
    if (audience->rows == NULL || audience->next_rows == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "serve %s", audience->name);
    }
    audience->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (audience->wake < 0) {
        return vamp_err_set_errno(err, errno, "serve %s", audience->name);
    }
    int code = vamp_listener_open(audience->options.address, audience->options.access,
                                  &audience->listener, err);
    if (code == -EADDRINUSE && audience->options.may_wait) {
        return 0; /* the thread tries again */
    }
    if (code == 0) {
        (void)snprintf(audience->name, sizeof audience->name, "%s", audience->listener.name);
    }
    return code;
}

int vamp_audience_open(const struct vamp_audience_options *options,
                       struct vamp_audience **ret_audience, struct vamp_err *err)
{
    struct vamp_audience *audience = calloc(1, sizeof *audience);
    if (audience == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "serve %s", options->address);
    }
    audience->options = *options;
    audience->wake = -1;
    audience->listener.fd = -1;
    (void)pthread_mutex_init(&audience->lock, NULL);
    (void)snprintf(audience->name, sizeof audience->name, "%s", options->address);
    int code = prepare(audience, err);
    if (code == 0) {
        code = vamp_thread_start(&audience->thread, "readers", audience_run, audience, err);
    }
    if (code != 0) {
        free_audience(audience);
        return code;
    }
    *ret_audience = audience;
    return 0;
}

static void wake(const struct vamp_audience *audience)
{
    const uint64_t one = 1;
    /* The eventfd is full: the thread is awake already. */
    ssize_t ignored = write(audience->wake, &one, sizeof one);
    (void)ignored;
}

void vamp_audience_close(struct vamp_audience *audience, int64_t patience_ns)
{
    if (audience == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&audience->lock);
    audience->stop = true;
    audience->patience_ns = patience_ns;
    audience->stop_ns = vamp_clock_monotonic_ns(&vamp_clock_system) + patience_ns;
    audience->last_ns = audience->stop_ns + PATIENCE_TIMES * patience_ns;
    (void)pthread_mutex_unlock(&audience->lock);
    wake(audience);
    (void)pthread_join(audience->thread, NULL);
    free_audience(audience);
}

const char *vamp_audience_name(const struct vamp_audience *audience)
{
    return audience->name;
}

/* ---- giving */

int vamp_audience_row(struct vamp_audience *audience, unsigned row,
                      const struct vamp_audience_text *text)
{
    if (row >= audience->options.rows_max) {
        return 0;
    }
    struct audience_block *block = audience_block_make(text->bytes, text->length);
    if (block == NULL) {
        return -ENOMEM;
    }
    audience_block_release(audience->next_rows[row]);
    audience->next_rows[row] = block;
    return 0;
}

/* Room for the head's next part, so that what follows cannot fail. */
static bool grow_head(struct vamp_audience *audience, size_t more)
{
    const size_t wanted = audience->head_bytes + more;
    if (wanted <= audience->head_room) {
        return true;
    }
    const size_t room = wanted * 2;
    char *head = realloc(audience->head, room);
    if (head == NULL) {
        return false;
    }
    audience->head = head;
    audience->head_room = room;
    return true;
}

static void renew_welcome(struct vamp_audience *audience, const struct vamp_audience_text *head)
{
    audience->head_bytes = append(audience->head, audience->head_bytes, head->bytes, head->length);
    for (unsigned i = 0; i < audience->options.rows_max; i++) {
        if (audience->next_rows[i] != NULL) {
            audience_block_release(audience->rows[i]);
            audience->rows[i] = audience->next_rows[i];
            audience->next_rows[i] = NULL;
        }
    }
}

int vamp_audience_give(struct vamp_audience *audience, const struct vamp_audience_news *news)
{
    struct audience_block *text = audience_block_make(news->text.bytes, news->text.length);
    (void)pthread_mutex_lock(&audience->lock);
    int code = text != NULL && grow_head(audience, news->head.length) ? 0 : -ENOMEM;
    if (code == 0) {
        renew_welcome(audience, &news->head);
        for (unsigned i = 0; text->length > 0 && i < audience->reader_count; i++) {
            audience_reader_give(audience, audience->readers[i], text, news);
        }
    }
    audience_block_release(text);
    (void)pthread_mutex_unlock(&audience->lock);
    wake(audience);
    return code;
}

bool vamp_audience_wants_complete(struct vamp_audience *audience)
{
    (void)pthread_mutex_lock(&audience->lock);
    const bool wants = audience->wants_complete;
    audience->wants_complete = false;
    (void)pthread_mutex_unlock(&audience->lock);
    return wants;
}

/* ---- for people */

static bool has_news(const struct vamp_audience *audience)
{
    return audience->lost != audience->lost_reported ||
           audience->dropped != audience->dropped_reported ||
           audience->refused != audience->refused_reported;
}

bool vamp_audience_remark(struct vamp_audience *audience, char text[static VAMP_ERR_TEXT_BYTES])
{
    const int64_t now_ns = vamp_clock_monotonic_ns(&vamp_clock_system);
    (void)pthread_mutex_lock(&audience->lock);
    const bool due = has_news(audience) &&
                     (audience->remark_ns == 0 || now_ns - audience->remark_ns >= REMARK_NS);
    if (due) {
        (void)snprintf(text, VAMP_ERR_TEXT_BYTES,
                       "readers of %s that do not keep up have missed %" PRIu64
                       " buckets so far; %" PRIu64 " lost their place to others, %" PRIu64
                       " found none",
                       audience->name, audience->lost, audience->dropped, audience->refused);
        audience->lost_reported = audience->lost;
        audience->dropped_reported = audience->dropped;
        audience->refused_reported = audience->refused;
        audience->remark_ns = now_ns;
    }
    (void)pthread_mutex_unlock(&audience->lock);
    return due;
}
