/* SPDX-License-Identifier: BSD-3-Clause */
/* Liveness: the kernel reports the end of a process, but not that of its host or of the network
 * connection to it. Therefore each side sends at least one message per heartbeat, and a side that
 * has sent nothing for the silence time is dismissed. Also the orderly shutdown of the service. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "maestro/server/internal.h"
#include "vampire/core/values.h"

/* Minimum time between two checks of the liveness of all peers. */
#define CHECK_NS INT64_C(10000000)
/* Heartbeats due within this time are sent together, which saves wake-ups. */
#define TOGETHER_NS INT64_C(50000000)
/* Time limit for sending queued events, and again for the good-byes. */
#define PHASE_NS INT64_C(1000000000)
/* Refusals are reported at once, then at most once in this time. */
#define REPORT_NS INT64_C(60000000000)

void server_give_up(struct server *server, struct server_peer *peer, const char *why, ...)
{
    char reason[160];
    char text[VAMP_ERR_TEXT_BYTES];
    va_list arguments;
    va_start(arguments, why);
    (void)vsnprintf(reason, sizeof reason, why, arguments);
    va_end(arguments);
    (void)snprintf(text, sizeof text, "the component \"%.200s\" was given up: %s",
                   pool_component_name(server->pool, peer->app_id), reason);
    if (server->say != NULL) {
        server->say(text);
    }
    server_dismiss(server, peer, VAMP_LEAVE_VANISHED, MSTRO_NO_PM, text);
}

/* Checks one peer, which may be removed. Returns the time of the next check. */
static int64_t check_peer(struct server *server, struct server_peer *peer, int64_t now_ns)
{
    if (peer->state == SERVER_PEER_ENDING) {
        if (now_ns >= peer->end_ns) {
            server_peer_remove(server, peer);
            return INT64_MAX;
        }
        return peer->end_ns;
    }
    if (now_ns - peer->heard_ns >= server->silence_ns) {
        server_give_up(server, peer, "nothing was heard from it for %.1f s",
                       (double)server->silence_ns / 1e9);
        return peer->end_ns;
    }
    int64_t since_ns = now_ns;
    if (peer->link.stream != NULL && stream_waiting(peer->link.stream, &since_ns) > 0 &&
        now_ns - since_ns >= server->silence_ns) {
        server_give_up(server, peer, "it has read nothing for %.1f s",
                       (double)server->silence_ns / 1e9);
        return peer->end_ns;
    }
    if (now_ns - peer->link.sent_ns >= server->heartbeat_ns - TOGETHER_NS) {
        Mstro__Wire__Heartbeat heartbeat = MSTRO__WIRE__HEARTBEAT__INIT;
        server_send(server, peer, FRAME_HEARTBEAT, &heartbeat.base);
    }
    return VAMP_MIN(peer->link.sent_ns + server->heartbeat_ns, peer->heard_ns + server->silence_ns);
}

/* Returns whether all messages have been sent and all batches of events acknowledged. */
static bool all_delivered(const struct server *server)
{
    LIST_EACH (peer, &server->all, struct server_peer, of_server) {
        int64_t since_ns;
        if (peer->link.stream != NULL &&
            (peer->events_waiting || stream_waiting(peer->link.stream, &since_ns) > 0 ||
             peer->batches_sent != peer->batches_taken)) {
            return false;
        }
    }
    return true;
}

/* Phases: running, draining, sending good-byes, ended. */
static void advance_phase(struct server *server, int64_t now_ns)
{
    bool late = now_ns >= server->phase_end_ns;
    switch (server->phase) {
    case SERVER_RUNS:
        if (atomic_load(&server->stop)) {
            server->phase = SERVER_DRAINS;
            server->phase_end_ns = now_ns + PHASE_NS;
        }
        break;
    case SERVER_DRAINS: /* arrived messages are read, waiting messages are sent */
        if (late || (server->busy_rounds == 0 && all_delivered(server))) {
            LIST_EACH (peer, &server->all, struct server_peer, of_server) {
                server_dismiss(server, peer, VAMP_LEAVE_POOL_ENDED, MSTRO_NO_PM,
                               "the pool manager has shut down");
            }
            server->phase = SERVER_SAYS_GOODBYE;
            server->phase_end_ns = now_ns + PHASE_NS;
        }
        break;
    case SERVER_SAYS_GOODBYE:
        if (late || list_is_empty(&server->all)) {
            server->phase = SERVER_ENDED;
        }
        break;
    case SERVER_ENDED:
        break;
    }
}

/* ---- counters reported to the operator */

/* Reports the cases counted since the last report. */
VAMP_PRINTF(6, 7)
static void report(struct server *server, struct server_report *last, uint64_t count,
                   int64_t now_ns, const char *cases, const char *explanation, ...)
{
    const bool again = last->count > 0;
    if (count == last->count || (again && now_ns - last->time_ns < REPORT_NS)) {
        return;
    }
    char text[VAMP_ERR_TEXT_BYTES + 128];
    int length = snprintf(text, sizeof text, "%" PRIu64 " %s %s: ", count - last->count, cases,
                          again ? "since the last message" : "so far");
    va_list arguments;
    va_start(arguments, explanation);
    (void)vsnprintf(text + length, sizeof text - (size_t)length, explanation, arguments);
    va_end(arguments);
    server->say(text);
    *last = (struct server_report){.count = count, .time_ns = now_ns};
}

static void report_counts(struct server *server, int64_t now_ns)
{
    struct pool_memory_state memory;
    pool_memory_state(server->pool, &memory);
    report(server, &server->requests_refused, memory.refused, now_ns, "requests refused",
           "the pool's components, CDOs and subscriptions take %zu KiB, the limit is %zu "
           "KiB (half of --memory); the workflow continues without these requests",
           memory.object_bytes / 1024, memory.limit / 2 / 1024);
    report(server, &server->joins_refused, server->counts.refused, now_ns, "joins refused",
           "the last one: %s; %" PRIu64 " in all were not answered, because too many came at once",
           server->refusal.text, server->counts.unanswered);
    uint64_t displaced;
    const uint64_t closed = stream_strangers(server->hub, &displaced);
    report(server, &server->joins_ignored, closed, now_ns, "unauthenticated connections closed",
           "%" PRIu64 " of all so far because a limit was reached and newer connections arrived; "
           "peers without this pool manager's key cannot join: components of this workflow must "
           "use the info that this pool manager printed",
           displaced);
}

/* Dismisses subscribers with REQUIRE_ACK for which others have waited too long. */
static void give_up_overdue(struct server *server, int64_t now_ns)
{
    const int64_t until_ns = now_ns - server->acknowledge_ns;
    uint64_t app_id;
    while ((app_id = pool_overdue(server->pool, until_ns)) != 0) {
        struct server_peer *peer = server_find_app(server, app_id);
        if (peer == NULL) {
            return; /* the pool manager's own component */
        }
        server_give_up(server, peer,
                       "others wait for its acknowledgement of an event for %.1f s (--acknowledge)",
                       (double)server->acknowledge_ns / 1e9);
    }
}

int64_t server_look_after(struct server *server, int64_t now_ns)
{
    int64_t gap_ns = now_ns - server->looked_ns;
    server->looked_ns = now_ns;
    /* The thread wakes up for every heartbeat. After a gap this long this process itself was
     * stopped, so the peers are not to blame for the silence. */
    if (gap_ns >= server->silence_ns / 2) {
        LIST_EACH (peer, &server->all, struct server_peer, of_server) {
            peer->heard_ns += gap_ns;
        }
        server_look_by(server, 0);
    }
    advance_phase(server, now_ns);
    if (server->say != NULL) {
        report_counts(server, now_ns);
    }
    if (server->tell_use_ns > 0 && now_ns - server->told_ns >= server->tell_use_ns) {
        server->told_ns = now_ns;
        pool_tell_use(server->pool);
    }
    if (now_ns >= server->check_ns) {
        int64_t next_ns = INT64_MAX;
        give_up_overdue(server, now_ns);
        for (struct list_link *link = list_first(&server->all), *next; link != NULL; link = next) {
            struct server_peer *peer = CONTAINER_OF(link, struct server_peer, of_server);
            next = list_next(&server->all, link);
            const int64_t again_ns = check_peer(server, peer, now_ns);
            next_ns = VAMP_MIN(next_ns, again_ns);
        }
        server->check_ns = VAMP_MAX(next_ns, now_ns + CHECK_NS);
        if (server->tell_use_ns > 0) {
            server_look_by(server, server->told_ns + server->tell_use_ns);
        }
    }
    if (server->phase != SERVER_RUNS) {
        server_look_by(server, now_ns + CHECK_NS);
    }
    return server->check_ns;
}
