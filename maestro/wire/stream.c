/* SPDX-License-Identifier: BSD-3-Clause */
#include "maestro/wire/stream.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "vampire/core/clock.h"
#include "vampire/core/list.h"
#include "vampire/core/values.h"

/* Each frame is preceded by its length, little-endian. */
#define PREFIX_BYTES ((size_t)4)
#define RECORD_BYTES ((size_t)16384)
static_assert(STREAM_FRAME_BYTES + PREFIX_BYTES == RECORD_BYTES, "a frame is a record");
/* Maximum number of bytes read from one stream before other streams are served. */
#define READ_BYTES ((size_t)65536)
/* Maximum number of frames of one stream handled before other streams are served. A request costs
 * microseconds, and READ_BYTES contain thousands of small ones. */
#define TURN_FRAMES 16
/* An incomplete frame, an incomplete record that TLS has kept, and the bytes read. */
#define PLAIN_BYTES (2 * RECORD_BYTES + READ_BYTES)
/* Size up to which the memory of an empty queue is kept. */
#define QUEUE_KEPT_BYTES ((size_t)65536)
#define EVENTS 1024 /* more than streams with frames left, which are reported again and again */
/* Maximum number of connections accepted in a turn, so that earlier ones can authenticate even
 * during a flood. */
#define ACCEPTS 16
/* The kernel adds 50 us; the total is half of the pool manager's window at one message every 4 us.
 */
#define GATHER_NS INT64_C(20000)
#define MS_NS INT64_C(1000000)

enum stream_state { STREAM_CONNECTS, STREAM_GREETS, STREAM_OPEN };

struct stream {
    struct list_link
        of_hub; /* link in the list of unauthenticated peers, ordered by deadline, or of members */
    struct list_link of_dirty, of_pending;
    struct stream_hub *hub;
    void *owner;
    const struct secure_key *key;
    struct secure *secure; /* NULL until the first bytes arrive */
    enum stream_state state;
    int socket;
    int failure;             /* failure of sending, -errno; bytes received before are still read */
    bool is_unauthenticated; /* not yet authenticated and admitted */
    bool accepted, watches_room, drains;
    int64_t deadline_ns; /* deadline of an unauthenticated peer */
    size_t greeted;      /* bytes read before the stream was open */
    /* Received bytes not handled yet, part_begin to part_end: frames left to the next turns (then
     * the stream is in hub->pending), or the beginning of an incomplete frame. */
    uint8_t *part;
    size_t part_begin, part_end;
    int read_end; /* 0, or why no more bytes can be read, -errno; reported after the last frame */
    uint8_t *queue;
    size_t begin, end, capacity;
    int64_t taken_ns; /* when TCP last accepted bytes from the queue, or the queue was empty */
};

struct stream_hub {
    const struct stream_handler *handler;
    struct secure_terms *terms;
    const struct secure_key *key; /* key of connecting peers */
    int events, wake, listener;   /* file descriptors */
    atomic_bool wake_pending;
    struct list unauthenticated, members, dirty, pending;
    unsigned unauthenticated_count;
    uint64_t unauthenticated_closed, displaced;
    uint8_t address[STREAM_ADDRESS_BYTES];
    size_t address_length;
    struct stream
        *current; /* stream whose frames are being handled; NULL: it was closed in the meantime */
    struct epoll_event
        ready[EVENTS]; /* events not served yet; data.ptr NULL: closed in the meantime */
    int ready_count;
    uint8_t raw[READ_BYTES];
    uint8_t plain[PLAIN_BYTES];
};

static int64_t now_ns(void)
{
    return vamp_clock_monotonic_ns(&vamp_clock_system);
}

/* ---- the hub */

static int watch(struct stream_hub *hub, int descriptor, uint32_t what, void *of)
{
    struct epoll_event event = {.events = what, .data.ptr = of};
    return epoll_ctl(hub->events, EPOLL_CTL_ADD, descriptor, &event) == 0 ? 0 : -errno;
}

int stream_hub_open(const struct stream_handler *handler, struct stream_hub **ret_hub,
                    struct vamp_err *err)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max; /* one descriptor per peer; if this fails, the old limit is
                                          * sufficient for now */
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
    struct stream_hub *hub = calloc(1, sizeof *hub);
    if (hub == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "open the network");
    }
    hub->handler = handler;
    hub->listener = -1;
    list_init(&hub->unauthenticated);
    list_init(&hub->members);
    list_init(&hub->dirty);
    list_init(&hub->pending);
    hub->events = epoll_create1(EPOLL_CLOEXEC);
    hub->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    int result = -errno;
    if (hub->events >= 0 && hub->wake >= 0) {
        result = watch(hub, hub->wake, EPOLLIN, hub);
    }
    if (result != 0) {
        (void)vamp_err_set_errno(err, -result, "open the network");
    } else {
        result = secure_terms_open(&hub->terms, err);
    }
    if (result != 0) {
        stream_hub_close(hub);
        return result;
    }
    *ret_hub = hub;
    return 0;
}

static void end(struct stream *stream, int status);

static void end_all(struct list *streams)
{
    struct list_link *link;
    while ((link = list_first(streams)) != NULL) {
        end(CONTAINER_OF(link, struct stream, of_hub), -ECANCELED);
    }
}

void stream_hub_close(struct stream_hub *hub)
{
    if (hub == NULL) {
        return;
    }
    end_all(&hub->unauthenticated);
    end_all(&hub->members);
    secure_terms_close(hub->terms);
    const int descriptors[] = {hub->listener, hub->wake, hub->events};
    for (size_t i = 0; i < sizeof descriptors / sizeof descriptors[0]; i++) {
        if (descriptors[i] >= 0) {
            (void)close(descriptors[i]);
        }
    }
    free(hub);
}

/* Returns the listening socket, or -errno. */
static int listen_at(const struct addrinfo *at)
{
    const int on = 1;
    int listener = socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (listener < 0) {
        return -errno;
    }
    (void)setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener, at->ai_addr, at->ai_addrlen) != 0 || listen(listener, SOMAXCONN) != 0) {
        const int failure = errno;
        (void)close(listener);
        return -failure;
    }
    return listener;
}

int stream_listen(struct stream_hub *hub, const struct secure_key *key, const char *bind,
                  struct vamp_err *err)
{
    char text[STREAM_ADDRESS_BYTES];
    const char *node = NULL;
    struct addrinfo *at = NULL;
    const struct addrinfo wanted = {.ai_family = AF_UNSPEC,
                                    .ai_socktype = SOCK_STREAM,
                                    .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    assert(hub->listener < 0);
    bind = stream_bind_choice(bind, STREAM_BIND_PRESET);
    const int length = snprintf(text, sizeof text, "%s", bind);
    if (length < 0 || (size_t)length >= sizeof text) {
        return vamp_err_set(err, -EINVAL, "the address to listen on is too long");
    }
    const char *port = stream_take_port(text, &node);
    const int found = getaddrinfo(node, vamp_text_or(port, "0"), &wanted, &at);
    if (found != 0) {
        return vamp_err_set(err, -EADDRNOTAVAIL,
                            "cannot listen on \"%s\": %s; give an address of this host", bind,
                            gai_strerror(found));
    }
    hub->key = key;
    hub->listener = listen_at(at);
    freeaddrinfo(at);
    int result = hub->listener;
    if (result >= 0) {
        result = watch(hub, hub->listener, EPOLLIN, &hub->listener);
    }
    socklen_t address_length = sizeof hub->address;
    if (result == 0 &&
        getsockname(hub->listener, (struct sockaddr *)hub->address, &address_length) != 0) {
        result = -errno;
    }
    hub->address_length = address_length;
    if (result == -EADDRNOTAVAIL) {
        return vamp_err_set(err, result,
                            "cannot listen on \"%s\", which is none of this host's addresses; give "
                            "an address of this host",
                            bind);
    }
    if (result != 0) {
        return vamp_err_set_errno(err, -result, "listen on \"%s\"", bind);
    }
    return 0;
}

const uint8_t *stream_address(const struct stream_hub *hub, size_t *ret_length)
{
    *ret_length = hub->address_length;
    return hub->address;
}

/* ---- streams */

void *stream_owner(const struct stream *stream)
{
    return stream->owner;
}

void stream_set_owner(struct stream *stream, void *owner)
{
    stream->owner = owner;
}

void stream_close(struct stream *stream)
{
    struct stream_hub *hub = stream->hub;
    list_remove(&stream->of_hub);
    list_remove(&stream->of_dirty);
    list_remove(&stream->of_pending);
    if (stream->is_unauthenticated) {
        hub->unauthenticated_count--;
        if (stream->accepted) {
            hub->unauthenticated_closed++;
        }
    }
    if (hub->current == stream) {
        hub->current = NULL;
    }
    for (int i = 0; i < hub->ready_count; i++) {
        if (hub->ready[i].data.ptr == stream) {
            hub->ready[i].data.ptr = NULL;
        }
    }
    secure_close(stream->secure);
    if (stream->socket >= 0) {
        (void)close(stream->socket); /* the kernel removes it from the epoll descriptor */
    }
    free(stream->part);
    free(stream->queue);
    free(stream);
}

/* Reports the end of the stream to its owner, then frees it. */
static void end(struct stream *stream, int status)
{
    const struct stream_handler *handler = stream->hub->handler;
    handler->closed(handler->context, stream, stream->failure != 0 ? stream->failure : status);
    stream_close(stream);
}

static struct stream *oldest_unauthenticated(const struct stream_hub *hub)
{
    struct list_link *link = list_first(&hub->unauthenticated);
    return link != NULL ? CONTAINER_OF(link, struct stream, of_hub) : NULL;
}

/* Takes ownership of the socket, also on failure. Returns NULL on failure. */
static struct stream *new_stream(struct stream_hub *hub, const struct secure_key *key, int socket,
                                 bool accepted)
{
    const int on = 1;
    struct stream *stream = calloc(1, sizeof *stream);
    if (stream == NULL) {
        (void)close(socket);
        return NULL;
    }
    *stream = (struct stream){.hub = hub,
                              .key = key,
                              .socket = socket,
                              .accepted = accepted,
                              .is_unauthenticated = true,
                              .state = accepted ? STREAM_GREETS : STREAM_CONNECTS,
                              .deadline_ns = now_ns() + STREAM_STRANGER_NS};
    list_link_init(&stream->of_dirty);
    list_link_init(&stream->of_pending);
    list_append(&hub->unauthenticated, &stream->of_hub);
    hub->unauthenticated_count++;
    (void)setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (watch(hub, socket, accepted ? EPOLLIN : EPOLLIN | EPOLLOUT, stream) != 0) {
        stream_close(stream);
        return NULL;
    }
    return stream;
}

void stream_admit(struct stream *stream)
{
    struct stream_hub *hub = stream->hub;
    if (stream->is_unauthenticated) {
        stream->is_unauthenticated = false;
        hub->unauthenticated_count--;
        list_remove(&stream->of_hub);
        list_append(&hub->members, &stream->of_hub);
    }
}

int stream_connect(struct stream_hub *hub, const struct secure_key *key, const uint8_t *address,
                   size_t length, struct stream **ret_stream)
{
    struct sockaddr_storage to = {0};
    if (length < sizeof(struct sockaddr_in) || length > sizeof to) {
        return -EINVAL;
    }
    memcpy(&to, address, length);
    int end = socket(to.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (end < 0) {
        return -errno;
    }
    if (connect(end, (const struct sockaddr *)&to, (socklen_t)length) != 0 &&
        errno != EINPROGRESS) {
        const int failure = errno;
        (void)close(end);
        return -failure;
    }
    *ret_stream = new_stream(hub, key, end, false);
    return *ret_stream != NULL ? 0 : -ENOMEM;
}

int stream_bind(struct stream *stream, struct secure_binding *ret_binding)
{
    return secure_bind(stream->secure, ret_binding);
}

/* ---- sending */

size_t stream_waiting(const struct stream *stream, int64_t *ret_since_ns)
{
    *ret_since_ns = stream->taken_ns;
    return stream->end - stream->begin;
}

uint8_t *stream_reserve(struct stream *stream, size_t bytes)
{
    const size_t used = stream->end - stream->begin;
    const size_t need = PREFIX_BYTES + bytes;
    assert(bytes <= STREAM_FRAME_BYTES);
    if (need > STREAM_QUEUE_BYTES - used) {
        return NULL;
    }
    if (stream->capacity - stream->end < need) {
        if (used > 0 && stream->begin > 0) {
            memmove(stream->queue, stream->queue + stream->begin, used);
        }
        stream->begin = 0;
        stream->end = used;
    }
    if (stream->capacity - stream->end < need) {
        size_t capacity = VAMP_MAX(stream->capacity, 512);
        while (capacity - used < need) {
            capacity *= 2;
        }
        uint8_t *queue = realloc(stream->queue, capacity);
        if (queue == NULL) {
            return NULL;
        }
        stream->queue = queue;
        stream->capacity = capacity;
    }
    return stream->queue + stream->end + PREFIX_BYTES;
}

void stream_commit(struct stream *stream, size_t length)
{
    const uint32_t prefix = htole32((uint32_t)length);
    memcpy(stream->queue + stream->end, &prefix, PREFIX_BYTES);
    if (stream->begin == stream->end) {
        stream->taken_ns = now_ns();
    }
    stream->end += PREFIX_BYTES + length;
    assert(length > 0 && stream->end <= stream->capacity);
    if (!list_is_linked(&stream->of_dirty)) {
        list_append(&stream->hub->dirty, &stream->of_dirty);
    }
}

/* Sets whether epoll reports that the socket accepts bytes. */
static void watch_room(struct stream *stream, bool wanted)
{
    if (stream->watches_room != wanted) {
        struct epoll_event event = {.events = wanted ? EPOLLIN | EPOLLOUT : EPOLLIN,
                                    .data.ptr = stream};
        stream->watches_room = wanted;
        (void)epoll_ctl(stream->hub->events, EPOLL_CTL_MOD, stream->socket, &event);
    }
}

void stream_ask_room(struct stream *stream)
{
    stream->drains = true;
    watch_room(stream, true);
}

void stream_flush(struct stream *stream)
{
    list_remove(&stream->of_dirty);
    if (stream->state != STREAM_OPEN) {
        return; /* queued frames are sent once the stream is open */
    }
    if (stream->failure != 0) {
        stream->begin = stream->end = 0;
        return;
    }
    ssize_t taken = 0;
    while (stream->begin < stream->end) {
        const size_t waiting = stream->end - stream->begin;
        taken = secure_write(stream->secure, stream->queue + stream->begin,
                             VAMP_MIN(waiting, RECORD_BYTES));
        if (taken < 0) {
            break;
        }
        stream->begin += (size_t)taken;
        if (stream->begin < stream->end) {
            stream->taken_ns = now_ns();
        }
    }
    if (taken < 0 && taken != -EAGAIN) {
        stream->failure = (int)taken;
        stream->begin = stream->end = 0;
        (void)shutdown(
            stream->socket,
            SHUT_RDWR); /* stream_poll first reads the remaining bytes and then detects the end */
    }
    if (stream->begin < stream->end) {
        stream_ask_room(stream);
    } else {
        stream->begin = stream->end = 0;
        if (stream->capacity > QUEUE_KEPT_BYTES) {
            free(stream->queue);
            stream->queue = NULL;
            stream->capacity = 0;
        }
    }
}

void stream_flush_all(struct stream_hub *hub)
{
    struct list_link *link;
    while ((link = list_first(&hub->dirty)) != NULL) {
        stream_flush(CONTAINER_OF(link, struct stream, of_dirty));
    }
}

/* ---- receiving */

static size_t frame_bytes(const uint8_t *at)
{
    uint32_t prefix;
    memcpy(&prefix, at, PREFIX_BYTES);
    return le32toh(prefix);
}

/* Returns whether take_frames would process something: a complete frame or an invalid length. */
static bool is_frame_pending(const uint8_t *at, const uint8_t *end)
{
    const size_t available = (size_t)(end - at);
    if (available < PREFIX_BYTES) {
        return false;
    }
    const size_t bytes = frame_bytes(at);
    return bytes > STREAM_FRAME_BYTES || bytes <= available - PREFIX_BYTES;
}

/* Passes on complete frames, at most TURN_FRAMES, and advances `*at`. Returns 0 or -EBADMSG; the
 * stream may have been closed afterwards (hub->current). */
static int take_frames(struct stream_hub *hub, struct stream *stream, const uint8_t **at,
                       const uint8_t *end)
{
    for (unsigned i = 0; i < TURN_FRAMES && hub->current == stream && is_frame_pending(*at, end);
         i++) {
        const size_t bytes = frame_bytes(*at);
        if (bytes == 0 || bytes > STREAM_FRAME_BYTES) {
            return -EBADMSG;
        }
        hub->handler->received(hub->handler->context, stream, *at + PREFIX_BYTES, bytes);
        *at += PREFIX_BYTES + bytes;
    }
    return 0;
}

/* Queues the stream for its next turn if frames are left. Returns 0, or why the stream ends. */
static int finish_turn(struct stream_hub *hub, struct stream *stream)
{
    if (stream->part != NULL &&
        is_frame_pending(stream->part + stream->part_begin, stream->part + stream->part_end)) {
        list_append(&hub->pending, &stream->of_pending);
        return 0;
    }
    return stream->read_end;
}

/* Handles frames that were left in an earlier turn. Returns as `digest`. */
static int resume(struct stream_hub *hub, struct stream *stream)
{
    uint8_t *part = stream->part; /* must survive the stream if the handler closes it */
    const uint8_t *at = part + stream->part_begin;
    const uint8_t *const end = part + stream->part_end;
    stream->part = NULL;
    const int result = take_frames(hub, stream, &at, end);
    if (hub->current != stream || result != 0 || at == end) {
        free(part);
    } else {
        stream->part = part;
        stream->part_begin = (size_t)(at - part);
    }
    return hub->current == stream && result == 0 ? finish_turn(hub, stream) : result;
}

/* Decrypts all bytes fed to TLS into hub->plain, after the incomplete frame received earlier.
 * Returns their number. */
static size_t decrypt(struct stream_hub *hub, struct stream *stream)
{
    size_t length = 0;
    if (stream->part != NULL) {
        length = stream->part_end - stream->part_begin;
        memcpy(hub->plain, stream->part + stream->part_begin, length);
        free(stream->part);
        stream->part = NULL;
    }
    ssize_t got = 0;
    while (got >= 0) {
        assert(length < sizeof hub->plain);
        got = secure_read(stream->secure, hub->plain + length, sizeof hub->plain - length);
        length += (size_t)VAMP_MAX(got, 0);
    }
    if (got != -EAGAIN) {
        stream->read_end = (int)got;
    }
    return length;
}

/* Decrypts the bytes fed to TLS and handles the first frames. Returns 0 or -errno; the stream may
 * have been closed afterwards. */
static int read_frames(struct stream_hub *hub, struct stream *stream)
{
    const uint8_t *at = hub->plain;
    const uint8_t *const end = at + decrypt(hub, stream);
    const int result = take_frames(hub, stream, &at, end);
    if (result != 0 || hub->current != stream) {
        return result;
    }
    if (at < end) {
        stream->part = malloc((size_t)(end - at));
        if (stream->part == NULL) {
            return -ENOMEM;
        }
        stream->part_begin = 0;
        stream->part_end = (size_t)(end - at);
        memcpy(stream->part, at, stream->part_end);
    }
    return finish_turn(hub, stream);
}

/* Processes the bytes fed to TLS. Returns 0 or -errno; the stream may have been closed afterwards.
 */
static int digest(struct stream_hub *hub, struct stream *stream)
{
    if (stream->state == STREAM_GREETS) {
        const int result = secure_handshake(stream->secure);
        if (result != 0) {
            return result == -EAGAIN ? 0 : result;
        }
        stream->state = STREAM_OPEN;
        hub->handler->opened(hub->handler->context, stream);
        if (hub->current == stream) {
            stream_flush(stream);
        }
    }
    return hub->current == stream ? read_frames(hub, stream) : 0;
}

static int start_greeting(struct stream_hub *hub, struct stream *stream)
{
    if (stream->secure != NULL) {
        return 0;
    }
    return secure_open(hub->terms, stream->key, stream->socket, stream->accepted, &stream->secure);
}

/* Completes a connection attempt, which may have failed. */
static int finish_connecting(struct stream_hub *hub, struct stream *stream)
{
    int failure = 0;
    socklen_t bytes = sizeof failure;
    (void)getsockopt(stream->socket, SOL_SOCKET, SO_ERROR, &failure, &bytes);
    if (failure != 0) {
        return -failure;
    }
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = stream};
    (void)epoll_ctl(hub->events, EPOLL_CTL_MOD, stream->socket, &event);
    stream->state = STREAM_GREETS;
    const int result = start_greeting(hub, stream);
    return result == 0 ? digest(hub, stream) : result;
}

static int read_stream(struct stream_hub *hub, struct stream *stream)
{
    const size_t most = stream->state == STREAM_OPEN ? READ_BYTES : STREAM_STRANGER_BYTES;
    const ssize_t got = recv(stream->socket, hub->raw, most, MSG_DONTWAIT);
    if (got < 0) {
        return errno == EAGAIN || errno == EINTR ? 0 : -errno;
    }
    if (got == 0) {
        return -ECONNRESET;
    }
    int result = start_greeting(hub, stream);
    if (result == 0) {
        secure_feed(stream->secure, hub->raw, (size_t)got);
        result = digest(hub, stream);
    }
    if (result == 0 && hub->current == stream && stream->state == STREAM_GREETS) {
        stream->greeted += (size_t)got;
        if (stream->greeted > STREAM_STRANGER_BYTES) {
            result = -EKEYREJECTED;
        }
    }
    return result;
}

static void serve(struct stream_hub *hub, struct stream *stream, uint32_t what)
{
    int result = 0;
    hub->current = stream;
    if (stream->state == STREAM_CONNECTS) {
        result = finish_connecting(hub, stream);
    } else {
        if ((what & EPOLLOUT) != 0) {
            stream_flush(stream);
            if (stream->drains && stream->begin == stream->end) {
                stream->drains = false;
                watch_room(stream, false);
                hub->handler->drained(hub->handler->context, stream);
            }
        }
        /* With frames left, the stream is served by serve_pending, and TCP slows down its peer. */
        const bool is_pending = hub->current == stream && list_is_linked(&stream->of_pending);
        if (hub->current == stream && !is_pending && (what & ~(uint32_t)EPOLLOUT) != 0) {
            result = read_stream(hub, stream);
        }
    }
    if (hub->current == stream && result != 0) {
        end(stream, result);
    }
    hub->current = NULL;
}

/* Gives each stream with frames left from earlier turns its turn. */
static unsigned serve_pending(struct stream_hub *hub)
{
    unsigned served = 0;
    struct list_link *link;
    struct list turn;
    list_init(&turn);
    while ((link = list_take(&hub->pending)) != NULL) {
        list_append(&turn, link);
    }
    while ((link = list_take(&turn)) != NULL) {
        struct stream *stream = CONTAINER_OF(link, struct stream, of_pending);
        hub->current = stream;
        const int result = resume(hub, stream);
        if (hub->current == stream && result != 0) {
            end(stream, result);
        }
        hub->current = NULL;
        served++;
    }
    return served;
}

/* ---- new connections */

bool stream_is_reserve(const struct stream *stream, uint64_t *ret_limit)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return false;
    }
    *ret_limit = limit.rlim_cur;
    return (rlim_t)stream->socket + STREAM_RESERVED >= limit.rlim_cur;
}

/* Closes an unauthenticated peer in favour of a newer one. */
static void displace(struct stream *oldest, int status)
{
    oldest->hub->displaced++;
    end(oldest, status);
}

/* At the limit accept4 fails even without a pending connection, so a peer is closed only if one is
 * pending. */
static bool is_connection_pending(const struct stream_hub *hub)
{
    struct pollfd listener = {.fd = hub->listener, .events = POLLIN};
    return poll(&listener, 1, 0) > 0;
}

static void accept_all(struct stream_hub *hub)
{
    for (unsigned i = 0; i < ACCEPTS; i++) {
        const int socket = accept4(hub->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        struct stream *oldest = oldest_unauthenticated(hub);
        const bool at_limit = socket < 0 && (errno == EMFILE || errno == ENFILE);
        if (at_limit && oldest != NULL && is_connection_pending(hub)) {
            displace(oldest, -EMFILE); /* frees a descriptor for the next connection */
            continue;
        }
        if (socket < 0) {
            if (at_limit || errno == EAGAIN || errno == ENOMEM) {
                return;
            }
            continue; /* the error concerns this connection only */
        }
        if (hub->unauthenticated_count >= STREAM_STRANGERS && oldest != NULL) {
            displace(oldest, -EUSERS);
        }
        (void)new_stream(hub, hub->key, socket, true);
    }
}

/* Closes unauthenticated peers whose deadline has passed. */
static void end_late(struct stream_hub *hub)
{
    struct stream *oldest = oldest_unauthenticated(hub);
    if (oldest == NULL) {
        return;
    }
    const int64_t now = now_ns();
    while (oldest != NULL && now >= oldest->deadline_ns) {
        end(oldest, -ETIMEDOUT);
        oldest = oldest_unauthenticated(hub);
    }
}

unsigned stream_poll(struct stream_hub *hub)
{
    unsigned happened = serve_pending(hub);
    bool newcomers = false;
    if (hub->ready_count <= 0) { /* stream_wait found no events */
        hub->ready_count = epoll_wait(hub->events, hub->ready, EVENTS, 0);
    }
    for (int i = 0; i < hub->ready_count; i++) {
        void *of = hub->ready[i].data.ptr;
        if (of == &hub->listener) {
            newcomers = true;
        } else if (of == hub) {
            uint64_t times;
            (void)!read(hub->wake, &times, sizeof times);
            /* Callers of stream_wake that found the flag set are served in this turn. */
            atomic_store(&hub->wake_pending, false);
        } else if (of != NULL) {
            serve(hub, of, hub->ready[i].events);
            happened++;
        }
    }
    hub->ready_count = 0;
    if (newcomers) {
        accept_all(hub);
        happened++;
    }
    end_late(hub);
    return happened;
}

uint64_t stream_strangers(const struct stream_hub *hub, uint64_t *ret_displaced)
{
    if (ret_displaced != NULL) {
        *ret_displaced = hub->displaced;
    }
    return hub->unauthenticated_closed;
}

/* ---- waiting */

int stream_descriptor(const struct stream_hub *hub, int64_t *timeout_ns)
{
    const struct stream *oldest = oldest_unauthenticated(hub);
    if (oldest != NULL) {
        const int64_t left_ns = VAMP_MAX(oldest->deadline_ns - now_ns(), 0);
        *timeout_ns = VAMP_MIN(left_ns, *timeout_ns);
    }
    if (!list_is_empty(&hub->pending)) {
        *timeout_ns = 0;
    }
    return hub->events;
}

void stream_wait(struct stream_hub *hub, const int others[STREAM_OTHERS], int64_t timeout_ns)
{
    static const int none[STREAM_OTHERS] = {-1, -1};
    if (others == NULL) {
        others = none;
    }
    struct pollfd descriptors[] = {{.fd = stream_descriptor(hub, &timeout_ns), .events = POLLIN},
                                   {.fd = others[0], .events = POLLIN},
                                   {.fd = others[1], .events = POLLIN}};
    if (timeout_ns <= 0 || atomic_load(&hub->wake_pending)) {
        return;
    }
    if (others[0] < 0 && others[1] < 0 && timeout_ns >= MS_NS) {
        const int64_t timeout_ms = timeout_ns / MS_NS + 1;
        hub->ready_count =
            epoll_wait(hub->events, hub->ready, EVENTS, (int)VAMP_MIN(timeout_ms, INT_MAX));
    } else {
        const struct timespec timeout = vamp_timespec(timeout_ns);
        (void)ppoll(descriptors, 3, &timeout, NULL); /* an early return is permitted */
    }
}

void stream_gather(struct stream_hub *hub)
{
    struct pollfd descriptor = {.fd = hub->wake, .events = POLLIN};
    const struct timespec timeout = vamp_timespec(GATHER_NS);
    if (!atomic_load(&hub->wake_pending) && list_is_empty(&hub->pending)) {
        (void)ppoll(&descriptor, 1, &timeout, NULL);
    }
}

void stream_wake(struct stream_hub *hub)
{
    if (!atomic_exchange(&hub->wake_pending, true)) {
        uint64_t one = 1;
        (void)!write(hub->wake, &one,
                     sizeof one); /* if the counter is full, the descriptor is already readable */
    }
}
