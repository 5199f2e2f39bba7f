/* SPDX-License-Identifier: BSD-3-Clause */
/* Stores the runs, and their messages until the close of their bucket. */
#include <stdlib.h>
#include <string.h>

#include "vampire/collect/internal.h"
#include "vampire/core/values.h"

#define PENDING_MAX 4096 /* maximum number of waiting buckets of one run */
#define REMEMBERED 64    /* number of bits of collect_run.collected */

/* ---- the runs */

struct collect_run *collect_run_find(const struct vamp_collect *collect, const char *id)
{
    const uint64_t hash = map_hash_text(&collect->runs, id, strlen(id));
    for (struct map_link *link = map_first(&collect->runs, hash); link != NULL;
         link = map_next(link)) {
        struct collect_run *run = (struct collect_run *)(void *)link;
        if (strcmp(run->id, id) == 0) {
            return run;
        }
    }
    return NULL;
}

static void free_run(struct vamp_collect *collect, struct collect_run *run)
{
    while (run->pending != NULL) {
        collect_pending_free(collect, collect_run_next(run, INT64_MAX));
    }
    free(run->workflow);
    free(run->subject);
    free(run);
}

/* Returns NULL if out of memory. */
static struct collect_run *create_run(struct vamp_collect *collect,
                                      const Vampire__Telemetry__Message *message,
                                      const char *subject)
{
    struct collect_run *run = calloc(1, sizeof *run);
    if (run == NULL) {
        return NULL;
    }
    memcpy(run->id, message->run->id, strlen(message->run->id) + 1);
    run->first_ns = message->start_ns;
    run->workflow = strdup(message->run->workflow);
    if (subject != NULL) {
        run->subject = strdup(subject);
    }
    if (run->workflow == NULL || (subject != NULL && run->subject == NULL)) {
        free_run(collect, run);
        return NULL;
    }
    return run;
}

static void insert_in_order(struct vamp_collect *collect, struct collect_run *run)
{
    struct collect_run **at = &collect->run_list;
    while (*at != NULL && strcmp((*at)->id, run->id) < 0) {
        at = &(*at)->next;
    }
    run->next = *at;
    *at = run;
}

static void add_account(struct vamp_accounting *into, const struct vamp_accounting *from)
{
    into->received += from->received;
    into->decoded += from->decoded;
    into->rejected += from->rejected;
    into->filtered += from->filtered;
    into->counted += from->counted;
    into->sampled_out += from->sampled_out;
    into->late += from->late;
    into->resolution_ns = VAMP_MAX(into->resolution_ns, from->resolution_ns);
    for (unsigned i = 0; i < VAMP_LOSS_COUNT; i++) {
        into->lost[i] += from->lost[i];
    }
}

/* Forgets a run without waiting messages. The sum of the accounting still includes it. */
static void forget(struct vamp_collect *collect, struct collect_run **at)
{
    struct collect_run *run = *at;
    *at = run->next;
    for (uint32_t i = 0; i < collect->merged.sets[collect_runs_set(collect)].count; i++) {
        if (collect->reporters[i] == run) {
            collect->reporters[i] = NULL;
        }
    }
    map_remove(&collect->runs, &run->link);
    add_account(&collect->past, &run->account);
    free_run(collect, run);
}

static void count_runs(struct vamp_collect *collect)
{
    struct vamp_collect_counts *counts = &collect->counts;
    counts->runs_live = 0;
    counts->runs_ended = 0;
    for (const struct collect_run *run = collect->run_list; run != NULL; run = run->next) {
        counts->runs_live += !run->ended;
        counts->runs_ended += run->ended;
    }
    counts->runs_known = counts->runs_live + counts->runs_ended;
}

/* At the limit, forgets the ended run that has been silent for the longest time. Returns false if
 * there is no such run. */
static bool make_room(struct vamp_collect *collect)
{
    struct collect_run **oldest = NULL;
    if (collect->counts.runs_known < collect->options.max_runs) {
        return true;
    }
    for (struct collect_run **at = &collect->run_list; *at != NULL; at = &(*at)->next) {
        if ((*at)->ended && (*at)->pending == NULL &&
            (oldest == NULL || (*at)->heard_ns < (*oldest)->heard_ns)) {
            oldest = at;
        }
    }
    if (oldest != NULL) {
        forget(collect, oldest);
    }
    return oldest != NULL;
}

struct collect_run *collect_run_meet(struct vamp_collect *collect,
                                     const Vampire__Telemetry__Message *message,
                                     const char *subject, int64_t now_ns,
                                     enum vamp_refusal *ret_refusal)
{
    struct collect_run *run = collect_run_find(collect, message->run->id);
    if (run == NULL) {
        *ret_refusal = VAMP_REFUSAL_RUNS;
        if (!make_room(collect)) {
            return NULL;
        }
        *ret_refusal = VAMP_REFUSAL_MEMORY;
        run = create_run(collect, message, subject);
        if (run == NULL) {
            return NULL;
        }
        map_insert(&collect->runs, &run->link,
                   map_hash_text(&collect->runs, run->id, strlen(run->id)));
        insert_in_order(collect, run);
    }
    run->heard_ns = now_ns;
    run->ended = run->said_end;
    count_runs(collect);
    return run;
}

void collect_runs_review(struct vamp_collect *collect, int64_t now_ns)
{
    for (struct collect_run **at = &collect->run_list; *at != NULL;) {
        struct collect_run *run = *at;
        const int64_t silent_ns = now_ns - run->heard_ns;
        run->ended = run->said_end || silent_ns > collect->options.forget_ns;
        if (run->said_end && run->pending == NULL && silent_ns > collect->options.delay_ns) {
            forget(collect, at);
        } else {
            at = &run->next;
        }
    }
    count_runs(collect);
}

void collect_runs_account(const struct vamp_collect *collect, struct vamp_accounting *ret_sum)
{
    *ret_sum = collect->past;
    for (const struct collect_run *run = collect->run_list; run != NULL; run = run->next) {
        add_account(ret_sum, &run->account);
    }
    memcpy(ret_sum->outputs, collect->outputs, sizeof ret_sum->outputs);
    ret_sum->output_count = collect->output_count;
}

void collect_runs_done(struct vamp_collect *collect)
{
    while (collect->run_list != NULL) {
        struct collect_run *run = collect->run_list;
        collect->run_list = run->next;
        free_run(collect, run);
    }
    map_done(&collect->runs);
}

bool collect_run_has(const struct collect_run *run, uint64_t number)
{
    return run->has_newest && number <= run->newest && run->newest - number < REMEMBERED &&
           (run->collected >> (run->newest - number) & 1U) != 0;
}

void collect_run_collected(struct collect_run *run, uint64_t number, uint64_t buckets,
                           int64_t end_ns)
{
    if (run->has_newest && number - run->newest < REMEMBERED) {
        run->collected = run->collected << (number - run->newest) | 1U;
    } else {
        run->collected = 1;
    }
    run->has_newest = true;
    run->newest = number;
    run->after = number + buckets;
    run->end_ns = end_ns;
}

/* ---- waiting messages */

/* Returns the link to the bucket with this number, or the link at which it would be inserted. */
static struct collect_pending **find_pending(struct collect_run *run, uint64_t number)
{
    struct collect_pending **at = &run->pending;
    while (*at != NULL && (*at)->number < number) {
        at = &(*at)->next;
    }
    return at;
}

static size_t pending_bytes(unsigned parts)
{
    return sizeof(struct collect_pending) + parts * sizeof(struct collect_part);
}

/* Reserves memory for a message. Returns false over the limit. */
static bool reserve(struct vamp_collect *collect, size_t bytes)
{
    if (bytes > collect->options.max_waiting_bytes - collect->counts.waiting_bytes) {
        return false;
    }
    collect->counts.waiting_bytes += bytes;
    return true;
}

static struct collect_pending *add_pending(struct vamp_collect *collect, struct collect_run *run,
                                           struct collect_pending **at,
                                           const Vampire__Telemetry__Message *message)
{
    if (run->pending_count == PENDING_MAX || !reserve(collect, pending_bytes(message->parts))) {
        return NULL;
    }
    struct collect_pending *pending = calloc(1, pending_bytes(message->parts));
    if (pending == NULL) {
        collect->counts.waiting_bytes -= pending_bytes(message->parts);
        return NULL;
    }
    pending->number = message->number;
    pending->start_ns = message->start_ns;
    pending->parts = message->parts;
    pending->next = *at;
    *at = pending;
    run->pending_count++;
    return pending;
}

static bool keep_part(struct vamp_collect *collect, struct collect_pending *pending,
                      struct collect_part *part, const void *data, size_t bytes)
{
    if (!reserve(collect, bytes)) {
        return false;
    }
    part->data = malloc(bytes);
    if (part->data == NULL) {
        collect->counts.waiting_bytes -= bytes;
        return false;
    }
    memcpy(part->data, data, bytes);
    part->bytes = bytes;
    pending->arrived++;
    return true;
}

void collect_run_keep(struct vamp_collect *collect, struct collect_run *run,
                      const Vampire__Telemetry__Message *message, const void *data, size_t bytes)
{
    struct collect_pending **at = find_pending(run, message->number);
    struct collect_pending *pending = *at;
    if (pending == NULL || pending->number != message->number) {
        pending = add_pending(collect, run, at, message);
    } else if (pending->parts != message->parts || pending->start_ns != message->start_ns) {
        collect->counts.refused[VAMP_REFUSAL_GARBAGE]++;
        return;
    }
    if (pending == NULL) {
        collect->counts.refused[VAMP_REFUSAL_MEMORY]++;
        return;
    }
    struct collect_part *part = &pending->part[message->part - 1];
    if (part->data != NULL) {
        collect->counts.repeated++;
    } else if (!keep_part(collect, pending, part, data, bytes)) {
        collect->counts.refused[VAMP_REFUSAL_MEMORY]++;
    }
}

struct collect_pending *collect_run_next(struct collect_run *run, int64_t end_ns)
{
    for (struct collect_pending **at = &run->pending; *at != NULL; at = &(*at)->next) {
        struct collect_pending *pending = *at;
        if (pending->start_ns < end_ns) {
            *at = pending->next;
            run->pending_count--;
            return pending;
        }
    }
    return NULL;
}

void collect_pending_free(struct vamp_collect *collect, struct collect_pending *pending)
{
    size_t bytes = pending_bytes(pending->parts);
    for (unsigned i = 0; i < pending->parts; i++) {
        bytes += pending->part[i].bytes;
        free(pending->part[i].data);
    }
    collect->counts.waiting_bytes -= bytes;
    free(pending);
}
