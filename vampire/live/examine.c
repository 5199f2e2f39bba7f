/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/live/examine.h"

#include <assert.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <maestro.h>

#include "vampire/core/json_emit.h"
#include "vampire/live/actor.h"
#include "vampire/live/maestro_fields.h"
#include "vampire/live/session.h"
#include "version.h"

#define SOON_NS (10 * VAMP_NS_PER_SECOND)
/* A DEMAND of what is there that has no answer by then waits for something else. */
#define HELD_UP_NS (3 * VAMP_NS_PER_SECOND)
/* Data that move at REQUIRE have moved by then. */
#define EARLY_NS (VAMP_NS_PER_SECOND / 2)
#define FLOOD_NS (60 * VAMP_NS_PER_SECOND)
/* Clocks of two hosts may differ by so much and still be the same time. */
#define SAME_TIME_NS VAMP_NS_PER_SECOND
#define DEEDS_MAX 32

enum role { MANAGER, OBSERVER, PRODUCER, CONSUMER };
#define ROLE_COUNT 4

/* The CDOs: one of an ordinary life, one that is demanded under before-events, one after a loss. */
enum { ORDINARY, ANNOUNCED, LAST };

/* The questions: key of the file, and title. */
static const struct {
    const char *key, *title;
} questions[VAMP_QUESTION_COUNT] = {
    {"times", "event times"},          {"sizes", "sizes"},
    {"serials", "serial numbers"},     {"order", "order"},
    {"transports", "transports name"}, {"before", "before-events"},
    {"early", "early data"},           {"losses", "losses"},
};

/* The answers: the word of the file, whether it leaves nothing to be known, and a sentence. */
static const struct finding {
    enum vamp_question question;
    bool whole;
    const char *word, *sentence;
} answers[] = {
    {VAMP_ASK_TIMES, true, "event", "events carry the time of the operation"},
    {VAMP_ASK_TIMES, false, "none", "events carry no time: times are those of reading them"},
    {VAMP_ASK_TIMES, false, "other", "times of events are not those of the operations"},
    {VAMP_ASK_SIZES, true, "bytes", "events carry the size of the CDO"},
    {VAMP_ASK_SIZES, false, "none", "events carry no size"},
    {VAMP_ASK_SIZES, false, "other", "sizes of events are not those of the CDOs"},
    {VAMP_ASK_SERIALS, true, "pool", "serial numbers are the pool's, and ascend"},
    {VAMP_ASK_SERIALS, false, "none", "events have no serial numbers"},
    {VAMP_ASK_SERIALS, false, "subscription", "serial numbers count each subscription by itself"},
    {VAMP_ASK_SERIALS, false, "other", "serial numbers do not ascend"},
    {VAMP_ASK_ORDER, true, "kept", "events are in the order of the operations"},
    {VAMP_ASK_ORDER, false, "incomplete", "not every operation has an event"},
    {VAMP_ASK_ORDER, false, "other", "events are not in the order of the operations"},
    {VAMP_ASK_TRANSPORTS, true, "sink", "the component that receives"},
    {VAMP_ASK_TRANSPORTS, true, "source", "the one that sends; history shows who receives"},
    {VAMP_ASK_TRANSPORTS, false, "none", "neither source nor sink"},
    {VAMP_ASK_BEFORE, true, "harmless", "events before handling hold up nothing"},
    {VAMP_ASK_BEFORE, true, "wait", "operations wait for an answer: do not ask for them"},
    {VAMP_ASK_BEFORE, false, "none", "operations are not reported before they are handled"},
    {VAMP_ASK_BEFORE, false, "not examined", "it could hold up others: --intrusive"},
    {VAMP_ASK_EARLY, true, "no", "data move when they are demanded"},
    {VAMP_ASK_EARLY, true, "yes", "data move before they are demanded"},
    {VAMP_ASK_EARLY, false, "unknown", "transports are not reported"},
    {VAMP_ASK_LOSSES, true, "reported", "events that a slow subscriber lost are reported"},
    {VAMP_ASK_LOSSES, false, "gaps", "losses are gaps in serial numbers, and not reported"},
    {VAMP_ASK_LOSSES, false, "silent", "a slow subscriber loses events, and nothing says so"},
    {VAMP_ASK_LOSSES, false, "not seen", "a slow subscriber lost nothing here"},
    {VAMP_ASK_LOSSES, false, "not examined", "it would be a load on others: --intrusive"},
};

static const char *maestro_version(void)
{
#if VAMP_MSTRO_HAS_VERSION
    return mstro_version();
#else
    return "unknown";
#endif
}

struct deed {
    enum vamp_event_kind kind;
    unsigned cdo;
    int64_t begin_ns, end_ns;
    const struct vamp_seen *seen; /* NULL: there was no event */
};

struct examination {
    char workflow[64];
    struct vamp_actor actors[ROLE_COUNT];
    struct vamp_answer answer; /* the last one */
    struct deed deeds[DEEDS_MAX];
    unsigned deed_count;
    struct vamp_seen seen[VAMP_SEEN_MAX];
    unsigned seen_count, seen_at_demand;
    uint64_t gaps; /* missing serial numbers while nothing was lost */
    const struct finding *findings[VAMP_QUESTION_COUNT];
};

/* ------------------------------------------------------------------ the workflow */

static void find_out(struct examination *self, enum vamp_question question, const char *word)
{
    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        if (answers[i].question == question && strcmp(answers[i].word, word) == 0) {
            self->findings[question] = &answers[i];
        }
    }
}

static int order(struct examination *self, enum role role, unsigned act, unsigned cdo,
                 int64_t timeout_ns)
{
    const struct vamp_order order = {.act = act, .cdo = cdo};
    return vamp_actor_do(&self->actors[role], &order, timeout_ns, &self->answer);
}

static int does(struct examination *self, enum role role, enum vamp_event_kind kind, unsigned cdo,
                struct vamp_err *err)
{
    if (order(self, role, kind, cdo, SOON_NS) != 0) {
        return vamp_err_set(err, -EIO, "\"%s\" could not %s a CDO: %s",
                            self->actors[role].component, vamp_event_kind_name(kind),
                            self->answer.text);
    }
    assert(self->deed_count < DEEDS_MAX);
    self->deeds[self->deed_count++] =
        (struct deed){kind, cdo, self->answer.begin_ns, self->answer.end_ns, NULL};
    return 0;
}

static void take(struct examination *self)
{
    self->answer.count = 0;
    (void)order(self, OBSERVER, VAMP_ACT_TAKE, 0, FLOOD_NS);
    for (unsigned i = 0; i < self->answer.count && self->seen_count < VAMP_SEEN_MAX; i++) {
        self->seen[self->seen_count++] = self->answer.seen[i];
    }
}

static int start(struct examination *self, enum role role, const char *info, struct vamp_err *err)
{
    static const char *const names[ROLE_COUNT] = {
        "vampire examines: pool manager", "vampire examines: observer",
        "vampire examines: producer", "vampire examines: consumer"};
    static struct vamp_order first;
    first = (struct vamp_order){.act = role == MANAGER ? VAMP_ACT_MANAGE : VAMP_ACT_JOIN};
    (void)snprintf(first.text, sizeof first.text, "%s", info);
    const int result = vamp_actor_start(&self->actors[role], self->workflow, names[role], err);
    if (result != 0) {
        return result;
    }
    return vamp_actor_do(&self->actors[role], &first, 3 * SOON_NS, &self->answer) == 0
               ? 0
               : vamp_err_set(err, -EIO, "\"%s\" could not %s: %s", names[role],
                              role == MANAGER ? "start" : "join", self->answer.text);
}

static int gather(struct examination *self, const char *info, struct vamp_err *err)
{
    static char own[VAMP_ACT_TEXT_BYTES];
    int result = 0;
    if (info == NULL) {
        result = start(self, MANAGER, "", err);
        (void)snprintf(own, sizeof own, "%s", self->answer.text);
        info = own;
    }
    result = result != 0 ? result : start(self, OBSERVER, info, err);
    if (result == 0 && order(self, OBSERVER, VAMP_ACT_SUBSCRIBE, 0, SOON_NS) != 0) {
        result = vamp_err_set(err, -EIO, "cannot subscribe: %s", self->answer.text);
    }
    result = result != 0 ? result : start(self, PRODUCER, info, err);
    return result != 0 ? result : start(self, CONSUMER, info, err);
}

static int declare_both(struct examination *self, unsigned cdo, struct vamp_err *err)
{
    int result = does(self, PRODUCER, VAMP_EVENT_DECLARE, cdo, err);
    result = result != 0 ? result : does(self, PRODUCER, VAMP_EVENT_OFFER, cdo, err);
    result = result != 0 ? result : does(self, CONSUMER, VAMP_EVENT_DECLARE, cdo, err);
    return result != 0 ? result : does(self, CONSUMER, VAMP_EVENT_REQUIRE, cdo, err);
}

static int end_both(struct examination *self, unsigned cdo, struct vamp_err *err)
{
    int result = does(self, CONSUMER, VAMP_EVENT_DISPOSE, cdo, err);
    result = result != 0 ? result : does(self, PRODUCER, VAMP_EVENT_WITHDRAW, cdo, err);
    return result != 0 ? result : does(self, PRODUCER, VAMP_EVENT_DISPOSE, cdo, err);
}

static int live_a_life(struct examination *self, struct vamp_err *err)
{
    int result = declare_both(self, ORDINARY, err);
    if (result != 0) {
        return result;
    }
    vamp_sleep_ns(EARLY_NS);
    take(self);
    self->gaps = self->answer.gaps;
    self->seen_at_demand = self->seen_count;
    result = does(self, CONSUMER, VAMP_EVENT_DEMAND, ORDINARY, err);
    result = result != 0 ? result : end_both(self, ORDINARY, err);
    take(self);
    self->gaps += self->answer.gaps;
    return result;
}

/* Whether a DEMAND of which is said before it is handled waits for an answer; it is freed. */
static int announce(struct examination *self, struct vamp_err *err)
{
    find_out(self, VAMP_ASK_BEFORE, "none");
    if (order(self, OBSERVER, VAMP_ACT_SUBSCRIBE_BEFORE, 0, SOON_NS) != 0) {
        return 0;
    }
    int result = declare_both(self, ANNOUNCED, err);
    if (result != 0) {
        return result;
    }
    int demand = order(self, CONSUMER, VAMP_EVENT_DEMAND, ANNOUNCED, HELD_UP_NS);
    const bool held_up = demand == -ETIMEDOUT;
    take(self);
    for (unsigned i = 0; i < self->seen_count; i++) {
        if (self->seen[i].stream == VAMP_STREAM_BEFORE) {
            find_out(self, VAMP_ASK_BEFORE, held_up ? "wait" : "harmless");
        }
    }
    (void)order(self, OBSERVER, VAMP_ACT_DROP_BEFORE, 0, SOON_NS);
    if (held_up) {
        demand = vamp_actor_do(&self->actors[CONSUMER], NULL, SOON_NS, &self->answer);
    }
    return demand == 0 ? end_both(self, ANNOUNCED, err)
                       : vamp_err_set(err, -EIO, "a DEMAND that was announced failed: %s",
                                      self->answer.text);
}

static void lose(struct examination *self)
{
    const bool made = order(self, PRODUCER, VAMP_ACT_FLOOD, 0, FLOOD_NS) == 0;
    uint64_t missing = self->answer.flooded;
    uint64_t lost = 0;
    uint64_t gaps = 0;
    for (unsigned i = 0; i < 2; i++) {
        take(self);
        missing -= self->answer.flooded < missing ? self->answer.flooded : missing;
        lost += self->answer.lost;
        gaps += self->answer.gaps;
        /* What was lost last shows when there is another event. */
        (void)order(self, CONSUMER, i == 0 ? VAMP_EVENT_DECLARE : VAMP_EVENT_DISPOSE, LAST,
                    SOON_NS);
    }
    find_out(self, VAMP_ASK_LOSSES,
             !made || missing == 0                ? "not seen"
             : lost >= missing                    ? "reported"
             : self->gaps == 0 && gaps >= missing ? "gaps"
                                                  : "silent");
}

/* ------------------------------------------------------------------ the verdict */

static void match(struct examination *self)
{
    for (unsigned i = 0; i < self->deed_count; i++) {
        struct deed *deed = &self->deeds[i];
        unsigned skip = 0; /* of the same kind and CDO: the producer's is first */
        for (unsigned j = 0; j < i; j++) {
            skip += self->deeds[j].kind == deed->kind && self->deeds[j].cdo == deed->cdo;
        }
        for (unsigned j = 0; j < self->seen_count && deed->seen == NULL; j++) {
            const struct vamp_seen *seen = &self->seen[j];
            if (seen->stream == VAMP_STREAM_ALL && seen->event.kind == deed->kind &&
                seen->cdo == deed->cdo && skip-- == 0) {
                deed->seen = seen;
            }
        }
    }
}

static const struct vamp_seen *find(const struct examination *self, enum vamp_stream stream,
                                    enum vamp_event_kind kind)
{
    for (unsigned i = 0; i < self->seen_count; i++) {
        const struct vamp_seen *seen = &self->seen[i];
        if (seen->stream == stream && seen->event.kind == kind && seen->cdo == ORDINARY) {
            return seen;
        }
    }
    return NULL;
}

static void judge_times(struct examination *self)
{
    const char *word = "event";
    for (unsigned i = 0; i < self->deed_count; i++) {
        const struct deed *deed = &self->deeds[i];
        const struct vamp_event *event = deed->seen != NULL ? &deed->seen->event : NULL;
        if (event != NULL && !vamp_event_has(event, VAMP_HAS_TIME)) {
            word = "none";
        } else if (event != NULL && (event->time_ns < deed->begin_ns - SAME_TIME_NS ||
                                     event->time_ns > deed->end_ns + SAME_TIME_NS)) {
            word = "other";
        }
    }
    find_out(self, VAMP_ASK_TIMES, word);
}

static void judge_numbers(struct examination *self)
{
    const struct vamp_seen *one = find(self, VAMP_STREAM_ALL, VAMP_EVENT_OFFER);
    const struct vamp_seen *other = find(self, VAMP_STREAM_OFFERS, VAMP_EVENT_OFFER);
    const char *size = "none";
    bool ascend = true;
    uint64_t last = 0;
    for (unsigned i = 0; i < self->seen_count; i++) {
        const struct vamp_event *event = &self->seen[i].event;
        if (vamp_event_has(event, VAMP_HAS_SIZE) && strcmp(size, "other") != 0) {
            size = event->size_bytes == VAMP_ACT_BYTES ? "bytes" : "other";
        }
        if (self->seen[i].stream == VAMP_STREAM_ALL) {
            ascend = ascend && event->serial > last;
            last = event->serial;
        }
    }
    find_out(self, VAMP_ASK_SIZES, size);
    find_out(self, VAMP_ASK_SERIALS,
             last == 0 ? "none"
             : one == NULL || other == NULL || one->event.serial != other->event.serial
                 ? "subscription"
             : ascend ? "pool"
                      : "other");
}

static void judge_order(struct examination *self)
{
    const char *word = "kept";
    for (unsigned i = 0; i < self->deed_count; i++) {
        const struct vamp_seen *seen = self->deeds[i].seen;
        if (seen == NULL) {
            word = "incomplete";
        } else if (i > 0 && self->deeds[i - 1].seen > seen) {
            word = "other";
        }
    }
    find_out(self, VAMP_ASK_ORDER, word);
}

/* Whether the event names the component of the other one. */
static bool is_of(const struct vamp_seen *event, const struct vamp_seen *other)
{
    return event != NULL && other != NULL && vamp_event_has(&event->event, VAMP_HAS_APP) &&
           vamp_event_has(&other->event, VAMP_HAS_APP) &&
           event->event.app_id == other->event.app_id;
}

static void judge_transports(struct examination *self)
{
    const struct vamp_seen *moved = find(self, VAMP_STREAM_ALL, VAMP_EVENT_TRANSPORT_COMPLETED);
    const bool sink = is_of(moved, find(self, VAMP_STREAM_ALL, VAMP_EVENT_DEMAND));
    const bool source = is_of(moved, find(self, VAMP_STREAM_ALL, VAMP_EVENT_OFFER));
    find_out(self, VAMP_ASK_TRANSPORTS, sink ? "sink" : source ? "source" : "none");
    find_out(self, VAMP_ASK_EARLY,
             moved == NULL                               ? "unknown"
             : moved < &self->seen[self->seen_at_demand] ? "yes"
                                                         : "no");
}

/* ------------------------------------------------------------------ the file */

static bool find_path(const struct vamp_maestro_options *options, char path[static PATH_MAX])
{
    static const char name[] = "examined.json";
    if (options->examined != NULL && options->examined[0] != '\0') {
        return (size_t)snprintf(path, PATH_MAX, "%s", options->examined) < PATH_MAX;
    }
    Dl_info here;
    const char *slash = dladdr(questions, &here) != 0 ? strrchr(here.dli_fname, '/') : NULL;
    return slash != NULL &&
           (size_t)snprintf(path, PATH_MAX, "%.*s/maestro.%s", (int)(slash - here.dli_fname),
                            here.dli_fname, name) < PATH_MAX;
}

static int write_file(const struct examination *self, const char *path, struct vamp_err *err)
{
    struct vamp_json json = {.spaced = true, .indent = 2};
    vamp_json_open(&json, NULL, '{');
    vamp_json_text(&json, "vampire", VAMP_VERSION);
    vamp_json_text(&json, "maestro", maestro_version());
    vamp_json_time(&json, "time", vamp_clock_utc_ns(&vamp_clock_system));
    for (unsigned i = 0; i < VAMP_QUESTION_COUNT; i++) {
        vamp_json_text(&json, questions[i].key, self->findings[i]->word);
    }
    vamp_json_close(&json, '}');
    char *text = vamp_json_take(&json);
    char fresh[PATH_MAX + 8];
    (void)snprintf(fresh, sizeof fresh, "%s.new", path);
    FILE *file = text != NULL ? fopen(fresh, "we") : NULL;
    bool whole = file != NULL && fputs(text, file) >= 0;
    whole = file != NULL && fclose(file) == 0 && whole;
    free(text);
    return whole && rename(fresh, path) == 0
               ? 0
               : vamp_err_set_errno(err, errno, "write %s (source.examined names another file)",
                                    path);
}

/* The text between the quotes behind `"key": "`; "" when there is none. */
static void read_word(const char *text, const char *key, char *word, size_t bytes)
{
    char start[64];
    const int length = snprintf(start, sizeof start, "\"%s\": \"", key);
    const char *found = strstr(text, start);
    word[0] = '\0';
    if (found != NULL) {
        found += length;
        (void)snprintf(word, bytes, "%.*s", (int)strcspn(found, "\""), found);
    }
}

void vamp_examined_read(const struct vamp_maestro_options *options,
                        struct vamp_examined *ret_examined)
{
    char path[PATH_MAX];
    char text[4096];
    char maestro[256];
    memset(ret_examined, 0, sizeof *ret_examined);
    FILE *file = find_path(options, path) ? fopen(path, "re") : NULL;
    if (file == NULL) {
        return;
    }
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    (void)fclose(file);
    read_word(text, "maestro", maestro, sizeof maestro);
    if (strcmp(maestro, maestro_version()) != 0) {
        return;
    }
    size_t used = 0;
    for (unsigned i = 0; i < VAMP_QUESTION_COUNT; i++) {
        read_word(text, questions[i].key, ret_examined->words[i], VAMP_FINDING_BYTES);
        used += (size_t)snprintf(ret_examined->text + used, sizeof ret_examined->text - used,
                                 "%s%s: %s", i > 0 ? ", " : "", questions[i].key,
                                 ret_examined->words[i]);
    }
}

bool vamp_examined_says(const struct vamp_examined *examined, enum vamp_question question,
                        const char *word)
{
    return strcmp(examined->words[question], word) == 0;
}

/* ------------------------------------------------------------------ all of it */

static int print_verdict(const struct examination *self, const char *path, FILE *out)
{
    unsigned whole = 0;
    (void)fprintf(out, "vampire examined Maestro %s:\n\n", maestro_version());
    for (unsigned i = 0; i < VAMP_QUESTION_COUNT; i++) {
        const struct finding *found = self->findings[i];
        whole += found->whole;
        (void)fprintf(out, "  %-16s %-13s %s\n", questions[i].title, found->word, found->sentence);
    }
    (void)fprintf(out, "\n%u of %d are known; runs of vampire take them from %s\n", whole,
                  VAMP_QUESTION_COUNT, path);
    return whole == VAMP_QUESTION_COUNT ? 0 : 1;
}

static int perform(struct examination *self, const char *info, bool intrusive, struct vamp_err *err)
{
    find_out(self, VAMP_ASK_BEFORE, "not examined");
    find_out(self, VAMP_ASK_LOSSES, "not examined");
    int result = gather(self, info, err);
    result = result != 0 ? result : live_a_life(self, err);
    result = result != 0 || !intrusive ? result : announce(self, err);
    if (result != 0) {
        return result;
    }
    take(self);
    match(self);
    judge_times(self);
    judge_numbers(self);
    judge_order(self);
    judge_transports(self);
    if (intrusive) {
        lose(self);
    }
    return self->seen_count > 0 ? 0 : vamp_err_set(err, -EIO, "no event has come");
}

int vamp_examine(const struct vamp_maestro_options *options, const char *workflow, bool intrusive,
                 FILE *out, struct vamp_err *err)
{
    char path[PATH_MAX];
    struct examination *self = calloc(1, sizeof *self);
    if (self == NULL || !find_path(options, path)) {
        free(self);
        (void)vamp_err_set(err, -ENOMEM, "no memory, or no place for the verdict");
        return 2;
    }
    const char *info = NULL;
    int result = 0;
    if (options->info_file != NULL && options->info_file[0] != '\0') {
        (void)snprintf(self->workflow, sizeof self->workflow, "%s", workflow);
        result = vamp_session_info(options, err);
        info = getenv(MSTRO_ENV_POOL_INFO);
    } else {
        (void)snprintf(self->workflow, sizeof self->workflow, "vampire-examines-%d", (int)getpid());
    }
    result = result != 0 ? result : perform(self, info, info == NULL || intrusive, err);
    for (unsigned i = ROLE_COUNT; i-- > 0;) {
        vamp_actor_end(&self->actors[i]);
    }
    int code = result == 0 ? print_verdict(self, path, out) : 2;
    code = result == 0 && write_file(self, path, err) != 0 ? 2 : code;
    free(self);
    return code;
}
