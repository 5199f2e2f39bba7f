/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * JSON lines for clients that connect. Each client receives the header, then the lines of every
 * bucket; the first or second bucket is complete. A separate thread, with signals blocked, accepts
 * connections and sends. Queuing lines for clients never blocks.
 *
 * Limits: `readers` clients, and `reader_buffer` queued bytes for each of them. If a bucket does
 * not fit into the queue of a client, it is lost for that client only, and counted. Once there is
 * space again, at the next complete bucket, the client receives the header again, a line with the
 * exact number of lost buckets, and then the bucket. Queued lines are shared between clients. At
 * the limit on clients, a new client replaces one that has been losing buckets; if there is none,
 * it is rejected.
 */
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "vampire/core/clock.h"
#include "vampire/core/thread.h"
#include "vampire/core/values.h"
#include "vampire/core/worker.h"
#include "writers/format/listener.h"
#include "writers/jsonl/internal.h"

/* Time for clients to read the end of the stream. For clients that keep reading, it is extended up
 * to this many times. */
#define END_PATIENCE_NS (2 * VAMP_NS_PER_SECOND)
#define PATIENCE_TIMES 8
#define REMARK_NS (10 * VAMP_NS_PER_SECOND)
#define QUEUE_BLOCKS 512
/* Maximum number of bytes sent in one turn, so that a fast client does not delay the others. */
#define TURN_BYTES ((size_t)256 * 1024)
/* Retry after this time when the address is taken or no descriptor is free. */
#define TRY_AGAIN_MS 100
#define NS_PER_MS INT64_C(1000000)

enum { POLL_WAKE, POLL_LISTENER, POLL_CLIENTS };

/* Queued lines, shared by all clients that have not received them yet. Guarded by the lock. */
struct block {
    unsigned holders; /* references */
    size_t length;
    char bytes[];
};

struct client {
    int fd;
    bool half_closed; /* the client has shut down its sending side; it still receives all lines */
    struct block *queue[QUEUE_BLOCKS]; /* ring buffer */
    unsigned first, count;
    size_t sent;   /* bytes sent of the first block */
    size_t bytes;  /* queued bytes */
    uint64_t lost; /* lost buckets not yet reported to the client */
};

struct jsonl_clients {
    const struct jsonl_options *options;
    pthread_t thread;
    int wake; /* an eventfd */

    pthread_mutex_t lock; /* guards all members below */
    struct vamp_listener listener;
    struct client *items[JSONL_READERS_MAX];
    unsigned count;
    struct block *head;  /* the header; NULL: not available yet */
    bool wants_complete; /* a client connected or lost a bucket: the next bucket must be complete */
    bool stop;
    int64_t stop_ns;         /* end of the waiting time unless a client reads */
    int64_t last_ns;         /* end of the waiting time in any case */
    int64_t accept_again_ns; /* retry time after a failure to accept */
    uint64_t lost, dropped, refused;
    uint64_t reported; /* lost + dropped + refused at the last remark */
    int64_t remark_ns;
};

/* ---- blocks */

/* Copies the lines to a new block without references. Returns NULL if out of memory. */
static struct block *copy_lines(const struct vamp_json *json)
{
    struct block *block = NULL;
    if (!json->failed) {
        block = malloc(sizeof *block + json->used);
    }
    if (block != NULL) {
        block->holders = 1;
        block->length = json->used;
        memcpy(block->bytes, json->bytes, json->used);
    }
    return block;
}

/* Drops a reference to the block and frees it with the last one. NULL is allowed. */
static void release(struct block *block)
{
    if (block != NULL && --block->holders == 0) {
        free(block);
    }
}

/* ---- one client; the lock is held */

/* Adds the block to the client's queue. Returns false if the queue is full. */
static bool push(struct client *client, struct block *block)
{
    if (client->count >= QUEUE_BLOCKS) {
        return false;
    }
    client->queue[(client->first + client->count++) % QUEUE_BLOCKS] = block;
    client->bytes += block->length;
    block->holders++;
    return true;
}

static void pop(struct client *client)
{
    struct block *block = client->queue[client->first];
    client->first = (client->first + 1) % QUEUE_BLOCKS;
    client->count--;
    client->bytes -= block->length;
    client->sent = 0;
    release(block);
}

/* Disconnects a client; the last client of the list takes its place. */
static void remove_client(struct jsonl_clients *clients, unsigned index)
{
    struct client *client = clients->items[index];
    while (client->count > 0) {
        pop(client);
    }
    (void)close(client->fd);
    free(client);
    clients->items[index] = clients->items[--clients->count];
}

/* Ensures that another client can be added: at the limit on clients, disconnects the one that has
 * lost the most buckets. Returns false if no client has lost any. */
static bool ensure_place(struct jsonl_clients *clients)
{
    if (clients->count < clients->options->readers) {
        return true;
    }
    unsigned worst = 0;
    for (unsigned i = 1; i < clients->count; i++) {
        if (clients->items[i]->lost > clients->items[worst]->lost) {
            worst = i;
        }
    }
    if (clients->items[worst]->lost == 0) {
        return false;
    }
    clients->dropped++;
    remove_client(clients, worst);
    return true;
}

/* Adds a client, which owns the descriptor and receives the header. Returns false at the limit on
 * clients or if out of memory; the caller then closes the descriptor. */
static bool add_client(struct jsonl_clients *clients, int fd)
{
    if (!ensure_place(clients)) {
        return false;
    }
    struct client *client = calloc(1, sizeof *client);
    if (client == NULL) {
        return false;
    }
    client->fd = fd;
    if (clients->head != NULL) {
        (void)push(client, clients->head); /* cannot fail: the queue is empty */
    }
    clients->items[clients->count++] = client;
    clients->wants_complete = true;
    return true;
}

/* Returns whether the queue accepts `blocks` blocks of `length` bytes in total. An empty queue
 * accepts blocks of any length. */
static bool has_room(const struct jsonl_clients *clients, const struct client *client,
                     size_t length, unsigned blocks)
{
    if (client->count == 0) {
        return blocks <= QUEUE_BLOCKS;
    }
    return client->count + blocks <= QUEUE_BLOCKS &&
           client->bytes + length <= (size_t)clients->options->reader_buffer_bytes;
}

/* Returns a line that reports lost buckets. Uses a separate buffer, since self->json contains the
 * lines of a bucket. */
static struct block *make_lost_line(struct jsonl *self, uint64_t lost)
{
    const struct vamp_json bucket = self->json;
    self->json = (struct vamp_json){.bytes = NULL};
    jsonl_lost(self, "buckets", "reader", lost);
    struct block *line = copy_lines(&self->json);
    vamp_json_done(&self->json);
    self->json = bucket;
    return line;
}

/* After a loss: queues the header, the number of lost buckets, and then the text. Returns false if
 * they do not fit or memory runs out. */
static bool catch_up(struct jsonl *self, struct client *client, struct block *text)
{
    struct block *head = self->clients->head;
    struct block *lost = make_lost_line(self, client->lost);
    if (lost == NULL) {
        return false;
    }
    const size_t length = head->length + lost->length + text->length;
    const bool fits = has_room(self->clients, client, length, 3);
    if (fits) {
        (void)push(client, head);
        (void)push(client, lost);
        (void)push(client, text);
    }
    release(lost);
    return fits;
}

/* Adds the text to the client's queue, or counts it as lost. */
static void queue_for_client(struct jsonl *self, struct client *client, struct block *text)
{
    struct jsonl_clients *clients = self->clients;
    bool good = false;
    if (client->lost == 0) {
        good = has_room(clients, client, text->length, 1) && push(client, text);
    } else if (self->complete) {
        good = catch_up(self, client, text);
    }
    if (good) {
        client->lost = 0;
        return;
    }
    client->lost++;
    clients->lost++;
    clients->wants_complete = true;
}

/* Sends as much as the socket accepts. Returns false if the connection is broken. */
static bool send_some(struct client *client)
{
    size_t turn = 0;
    while (client->count > 0 && turn < TURN_BYTES) {
        const struct block *block = client->queue[client->first];
        const size_t left = block->length - client->sent;
        ssize_t count = 0;
        if (left > 0) {
            count =
                send(client->fd, block->bytes + client->sent, left, MSG_NOSIGNAL | MSG_DONTWAIT);
        }
        if (count < 0) {
            return errno == EAGAIN || errno == EINTR || errno == ENOBUFS || errno == ENOMEM;
        }
        turn += (size_t)count;
        client->sent += (size_t)count;
        if (client->sent == block->length) {
            pop(client);
        }
    }
    return true;
}

/* Reads and discards data from a client. Returns false if the connection is broken. */
static bool discard(struct client *client)
{
    char ignored[4096];
    const ssize_t count = recv(client->fd, ignored, sizeof ignored, MSG_DONTWAIT);
    client->half_closed = client->half_closed || count == 0;
    return count >= 0 || errno == EAGAIN || errno == EINTR;
}

/* ---- the thread; it holds the lock except while it waits */

/* Handles the events of a client. Removes it if its connection is broken. */
static void serve_client(struct jsonl_clients *clients, unsigned index, short events)
{
    struct client *client = clients->items[index];
    bool good = (events & (POLLERR | POLLHUP | POLLNVAL)) == 0;
    if (good && (events & POLLIN) != 0) {
        good = discard(client);
    }
    if (good && (events & POLLOUT) != 0) {
        good = send_some(client);
        /* Extend the waiting time for clients that keep reading. */
        const int64_t until_ns = vamp_worker_now_ns() + END_PATIENCE_NS;
        clients->stop_ns = VAMP_MIN(until_ns, clients->last_ns);
    }
    if (!good) {
        remove_client(clients, index);
    }
}

/* Accepts all waiting connections, and closes those that exceed the limit on clients. */
static void accept_all(struct jsonl_clients *clients)
{
    for (;;) {
        const int fd = accept4(clients->listener.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0) {
            /* Without free descriptors, poll would return immediately in a loop. */
            if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
                clients->accept_again_ns = vamp_worker_now_ns() + TRY_AGAIN_MS * NS_PER_MS;
            }
            return;
        }
        const int on = 1;
        (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
        if (!add_client(clients, fd)) {
            clients->refused++;
            (void)close(fd);
        }
    }
}

/* Returns whether the thread must end: after `stop`, with all lines sent or the time over. */
static bool is_done(const struct jsonl_clients *clients)
{
    bool waiting = false;
    for (unsigned i = 0; i < clients->count; i++) {
        waiting = waiting || clients->items[i]->count > 0;
    }
    return clients->stop && (!waiting || vamp_worker_now_ns() >= clients->stop_ns);
}

/* Opens the listener if it is not open and the time for a retry has come. */
static void listen_again(struct jsonl_clients *clients)
{
    if (clients->listener.fd < 0 && !clients->stop &&
        vamp_worker_now_ns() >= clients->accept_again_ns) {
        const int code = vamp_listener_open(clients->options->path,
                                            (enum vamp_target_access)clients->options->access,
                                            &clients->listener, NULL);
        clients->accept_again_ns = 0;
        if (code != 0) {
            clients->accept_again_ns = vamp_worker_now_ns() + TRY_AGAIN_MS * NS_PER_MS;
        }
    }
}

/* Fills the list for poll. Returns its timeout in ms. */
static int gather(const struct jsonl_clients *clients,
                  struct pollfd polled[static POLL_CLIENTS + JSONL_READERS_MAX])
{
    const int64_t now = vamp_worker_now_ns();
    const bool listening = clients->listener.fd >= 0 && now >= clients->accept_again_ns;
    polled[POLL_WAKE] = (struct pollfd){.fd = clients->wake, .events = POLLIN};
    polled[POLL_LISTENER] = (struct pollfd){.fd = -1, .events = POLLIN};
    if (listening && !clients->stop) {
        polled[POLL_LISTENER].fd = clients->listener.fd;
    }
    for (unsigned i = 0; i < clients->count; i++) {
        const struct client *client = clients->items[i];
        polled[POLL_CLIENTS + i] = (struct pollfd){.fd = client->fd};
        if (!client->half_closed) {
            polled[POLL_CLIENTS + i].events |= POLLIN;
        }
        if (client->count > 0) {
            polled[POLL_CLIENTS + i].events |= POLLOUT;
        }
    }
    if (clients->stop && clients->stop_ns <= now) {
        return 0;
    }
    if (clients->stop) {
        return (int)((clients->stop_ns - now) / NS_PER_MS) + 1;
    }
    return listening ? -1 : TRY_AGAIN_MS;
}

/* The thread's function: accepts clients and sends lines until is_done. */
static void *serve(void *context)
{
    struct jsonl_clients *clients = context;
    struct pollfd polled[POLL_CLIENTS + JSONL_READERS_MAX];
    (void)pthread_mutex_lock(&clients->lock);
    while (!is_done(clients)) {
        listen_again(clients);
        const int timeout_ms = gather(clients, polled);
        const unsigned count = clients->count;
        (void)pthread_mutex_unlock(&clients->lock);
        const int ready = poll(polled, POLL_CLIENTS + count, timeout_ms);
        (void)pthread_mutex_lock(&clients->lock);
        uint64_t ignored = 0;
        if (ready <= 0) {
            continue;
        }
        if (polled[POLL_WAKE].revents != 0 && read(clients->wake, &ignored, sizeof ignored) < 0) {
            continue;
        }
        /* In descending order: the slot of a removed client is filled with the last client, which
         * has been processed. */
        for (unsigned i = count; i > 0; i--) {
            if (polled[POLL_CLIENTS + i - 1].revents != 0) {
                serve_client(clients, i - 1, polled[POLL_CLIENTS + i - 1].revents);
            }
        }
        if (polled[POLL_LISTENER].revents != 0 && !clients->stop) {
            accept_all(clients);
        }
    }
    (void)pthread_mutex_unlock(&clients->lock);
    return NULL;
}

static void wake(const struct jsonl_clients *clients)
{
    const uint64_t one = 1;
    /* If the eventfd is full, the thread is awake already. */
    (void)!write(clients->wake, &one, sizeof one);
}

/* ---- open and close */

static void free_clients(struct jsonl *self)
{
    struct jsonl_clients *clients = self->clients;
    while (clients->count > 0) {
        remove_client(clients, 0);
    }
    release(clients->head);
    vamp_listener_close(&clients->listener);
    if (clients->wake >= 0) {
        (void)close(clients->wake);
    }
    (void)pthread_mutex_destroy(&clients->lock);
    free(clients);
    self->clients = NULL;
}

/* Listens and starts the thread. Returns 0 or -errno. */
static int open_clients(struct jsonl *self, struct vamp_err *err)
{
    struct jsonl_clients *clients = self->clients;
    const char *address = self->options->path;
    clients->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (clients->wake < 0) {
        return vamp_err_set_errno(err, errno, "serve %s", address);
    }
    int code = vamp_listener_open(address, (enum vamp_target_access)self->options->access,
                                  &clients->listener, err);
    /* An earlier segment that is about to end may still use the address; the thread retries. */
    if (code != 0 && (code != -EADDRINUSE || self->segment == 1)) {
        return code;
    }
    self->path = strdup(code == 0 ? clients->listener.name : address);
    if (self->path == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "prepare the target");
    }
    return vamp_thread_start(&clients->thread, "readers", serve, clients, err);
}

int jsonl_socket_open(struct jsonl *self, struct vamp_err *err)
{
    self->kind = JSONL_SOCKET;
    self->clients = calloc(1, sizeof *self->clients);
    if (self->clients == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "serve %s", self->options->path);
    }
    self->clients->options = self->options;
    self->clients->wake = self->clients->listener.fd = -1;
    (void)pthread_mutex_init(&self->clients->lock, NULL);
    const int code = open_clients(self, err);
    if (code != 0) {
        free_clients(self);
    }
    return code;
}

/* ---- queuing */

/* Queues the lines for all clients; the first lines, the header, are kept for later clients.
 * Returns 0, even if clients lose the lines or there are no clients; -ENOMEM: no client received
 * them. */
static int queue_lines(struct jsonl *self)
{
    struct jsonl_clients *clients = self->clients;
    struct block *text = copy_lines(&self->json);
    if (text == NULL) {
        return -ENOMEM;
    }
    (void)pthread_mutex_lock(&clients->lock);
    for (unsigned i = 0; i < clients->count; i++) {
        queue_for_client(self, clients->items[i], text);
    }
    if (clients->head == NULL) {
        clients->head = text;
    } else {
        release(text);
    }
    (void)pthread_mutex_unlock(&clients->lock);
    wake(clients);
    vamp_json_clear(&self->json);
    return 0;
}

int jsonl_socket_header(struct jsonl *self, struct vamp_err *err)
{
    /* Includes clients that connected before the header was available. */
    if (queue_lines(self) != 0) {
        return vamp_err_set_errno(err, ENOMEM, "prepare the target");
    }
    return 0;
}

int jsonl_socket_bucket(struct jsonl *self, const struct vamp_delivery *delivery,
                        struct vamp_err *err)
{
    if (!self->failed) {
        (void)pthread_mutex_lock(&self->clients->lock);
        self->ask_complete = self->clients->wants_complete;
        self->clients->wants_complete = false;
        (void)pthread_mutex_unlock(&self->clients->lock);
        jsonl_bucket(self, delivery);
    }
    /* On a retry, nothing is reported twice. */
    self->failed = queue_lines(self) != 0;
    if (self->failed) {
        return vamp_err_set_errno(err, ENOMEM, "gather the lines of a bucket for %s", self->path);
    }
    return 0;
}

bool jsonl_socket_remark(const struct jsonl *self, char text[static VAMP_ERR_TEXT_BYTES])
{
    struct jsonl_clients *clients = self->clients;
    (void)pthread_mutex_lock(&clients->lock);
    const uint64_t all = clients->lost + clients->dropped + clients->refused;
    const bool is_pause_over =
        clients->remark_ns == 0 || vamp_worker_now_ns() - clients->remark_ns >= REMARK_NS;
    const bool due = all != clients->reported && is_pause_over;
    if (due) {
        (void)snprintf(text, VAMP_ERR_TEXT_BYTES,
                       "readers of %s that do not keep up have missed %" PRIu64
                       " buckets so far; %" PRIu64 " lost their place to others, %" PRIu64
                       " found none",
                       self->path, clients->lost, clients->dropped, clients->refused);
        clients->reported = all;
        clients->remark_ns = vamp_worker_now_ns();
    }
    (void)pthread_mutex_unlock(&clients->lock);
    return due;
}

void jsonl_socket_close(struct jsonl *self)
{
    struct jsonl_clients *clients = self->clients;
    if (!self->failed) {
        /* A slow client receives the end after its queue, or not at all. */
        self->complete = true;
        (void)queue_lines(self);
    }
    (void)pthread_mutex_lock(&clients->lock);
    clients->stop = true;
    clients->stop_ns = vamp_worker_now_ns() + END_PATIENCE_NS;
    clients->last_ns = clients->stop_ns + PATIENCE_TIMES * END_PATIENCE_NS;
    (void)pthread_mutex_unlock(&clients->lock);
    wake(clients);
    (void)pthread_join(clients->thread, NULL);
    free_clients(self);
}
