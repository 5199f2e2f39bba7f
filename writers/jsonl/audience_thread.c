/* SPDX-License-Identifier: BSD-3-Clause */
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "vampire/core/clock.h"
#include "writers/jsonl/audience_internal.h"

/* Retry after this time when the address is taken or no descriptor is free. */
#define TRY_AGAIN_MS 100
#define NS_PER_MS INT64_C(1000000)

enum { POLL_WAKE, POLL_LISTENER, POLL_READERS };

static int64_t now_ns(void)
{
    return vamp_clock_monotonic_ns(&vamp_clock_system);
}

static bool is_listening(const struct vamp_audience *audience)
{
    return audience->listener.fd >= 0 && !audience->stop && now_ns() >= audience->accept_again_ns;
}

static unsigned gather(const struct vamp_audience *audience,
                       struct pollfd polled[static POLL_READERS + VAMP_AUDIENCE_READERS_MAX])
{
    polled[POLL_WAKE] = (struct pollfd){.fd = audience->wake, .events = POLLIN};
    polled[POLL_LISTENER] = (struct pollfd){
        .fd = is_listening(audience) ? audience->listener.fd : -1, .events = POLLIN};
    for (unsigned i = 0; i < audience->reader_count; i++) {
        const struct audience_reader *reader = audience->readers[i];
        polled[POLL_READERS + i] = (struct pollfd){
            .fd = reader->fd,
            .events =
                (short)((reader->half_closed ? 0 : POLLIN) | (reader->count > 0 ? POLLOUT : 0)),
        };
    }
    return POLL_READERS + audience->reader_count;
}

static void serve_reader(struct vamp_audience *audience, unsigned index, short events)
{
    struct audience_reader *reader = audience->readers[index];
    bool good = (events & (POLLERR | POLLHUP | POLLNVAL)) == 0;
    if (good && (events & POLLIN) != 0) {
        good = audience_reader_listen(reader);
    }
    if (good && (events & POLLOUT) != 0) {
        good = audience_reader_send(reader);
        /* Readers that keep reading may read to the end. */
        const int64_t until_ns = now_ns() + audience->patience_ns;
        audience->stop_ns = until_ns < audience->last_ns ? until_ns : audience->last_ns;
    }
    if (!good) {
        audience_reader_remove(audience, index);
    }
}

static void accept_all(struct vamp_audience *audience)
{
    for (;;) {
        int fd = accept4(audience->listener.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0) {
            /* Without a free descriptor, poll would return at once again and again. */
            if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
                audience->accept_again_ns = now_ns() + TRY_AGAIN_MS * NS_PER_MS;
            }
            return;
        }
        const int on = 1;
        (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
        if (!audience_make_place(audience)) {
            (void)close(fd);
        } else if (audience_reader_add(audience, fd) != 0) {
            audience->refused++;
        }
    }
}

static bool is_done(const struct vamp_audience *audience)
{
    if (!audience->stop) {
        return false;
    }
    bool waiting = false;
    for (unsigned i = 0; i < audience->reader_count; i++) {
        waiting = waiting || audience->readers[i]->count > 0;
    }
    return !waiting || now_ns() >= audience->stop_ns;
}

static void listen_again(struct vamp_audience *audience)
{
    if (audience->listener.fd < 0 && !audience->stop && now_ns() >= audience->accept_again_ns) {
        int code = vamp_listener_open(audience->options.address, audience->options.access,
                                      &audience->listener, NULL);
        audience->accept_again_ns = code != 0 ? now_ns() + TRY_AGAIN_MS * NS_PER_MS : 0;
    }
}

static int timeout_ms(const struct vamp_audience *audience)
{
    if (audience->stop) {
        const int64_t left_ns = audience->stop_ns - now_ns();
        return left_ns > 0 ? (int)(left_ns / NS_PER_MS) + 1 : 0;
    }
    return audience->listener.fd < 0 || now_ns() < audience->accept_again_ns ? TRY_AGAIN_MS : -1;
}

static void serve(struct vamp_audience *audience, const struct pollfd *polled, unsigned count)
{
    uint64_t ignored = 0;
    ssize_t drained = read(audience->wake, &ignored, sizeof ignored);
    (void)drained;
    /* From the last to the first: a removed reader's place is taken by the last one, done. */
    for (unsigned i = count; i > POLL_READERS; i--) {
        if (polled[i - 1].revents != 0) {
            serve_reader(audience, i - 1 - POLL_READERS, polled[i - 1].revents);
        }
    }
    if (polled[POLL_LISTENER].revents != 0 && !audience->stop) {
        accept_all(audience);
    }
}

void *audience_run(void *context)
{
    struct vamp_audience *audience = context;
    struct pollfd polled[POLL_READERS + VAMP_AUDIENCE_READERS_MAX];
    (void)pthread_mutex_lock(&audience->lock);
    while (!is_done(audience)) {
        listen_again(audience);
        const unsigned count = gather(audience, polled);
        const int timeout = timeout_ms(audience);
        (void)pthread_mutex_unlock(&audience->lock);
        const int ready = poll(polled, count, timeout);
        (void)pthread_mutex_lock(&audience->lock);
        if (ready > 0) {
            serve(audience, polled, count);
        }
    }
    (void)pthread_mutex_unlock(&audience->lock);
    return NULL;
}
