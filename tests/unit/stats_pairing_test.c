/* SPDX-License-Identifier: BSD-3-Clause */
/* The bounded pairing state: right, small, without pauses, and without allocation per event. */
#include "tests/unit/stats_collect.h"

#include <time.h>
#include <unistd.h>

#include "vampire/stats/pairing/records.h"
#include "vampire/stats/pairing/table.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

#define MILLION 1000000

/* ---- counting allocations: glibc lets a program put its own malloc in front */

static uint64_t allocations;
static int64_t living;                  /* blocks allocated and not freed */
static uint64_t fail_from = UINT64_MAX; /* the first allocation that fails; all after it do */
#ifndef SANITIZED
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *block, size_t bytes);
void __libc_free(void *block);

static bool is_refused(void)
{
    return allocations++ >= fail_from;
}

void *malloc(size_t bytes)
{
    void *block = is_refused() ? NULL : __libc_malloc(bytes);
    living += block != NULL;
    return block;
}

void *calloc(size_t count, size_t bytes)
{
    void *block = is_refused() ? NULL : __libc_calloc(count, bytes);
    living += block != NULL;
    return block;
}

void *realloc(void *block, size_t bytes)
{
    living += block == NULL;
    return __libc_realloc(block, bytes);
}

void free(void *block)
{
    living -= block != NULL;
    __libc_free(block);
}
#endif

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static int64_t cpu_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (int64_t)now.tv_sec * SECOND + now.tv_nsec;
}

/* ---- the table against a model */

struct item {
    struct vamp_record record;
    uint64_t value;
};

#define KEYS 400
#define OWNERS 40
#define CAPACITY 100

struct model {
    bool there[KEYS];
    uint64_t value[KEYS], born[KEYS];
    uint32_t owner[KEYS];
    uint64_t clock;
};

/* A table with the lists that its users keep. */
struct listed {
    struct vamp_table table;
    struct vamp_ages_list ages;
    uint32_t firsts[OWNERS];
};

static uint32_t model_live(const struct model *model)
{
    uint32_t live = 0;
    for (unsigned k = 0; k < KEYS; k++) {
        live += model->there[k];
    }
    return live;
}

static unsigned model_oldest(const struct model *model)
{
    unsigned oldest = KEYS;
    for (unsigned k = 0; k < KEYS; k++) {
        if (model->there[k] && (oldest == KEYS || model->born[k] < model->born[oldest])) {
            oldest = k;
        }
    }
    return oldest;
}

static void take_out(struct listed *listed, struct item *item)
{
    struct vamp_item *head = &item->record.item;
    const uint32_t number = vamp_slab_number(&listed->table.slab, item);
    vamp_age_leave(&listed->table, &listed->ages, number);
    vamp_row_leave(&listed->table.slab, &listed->firsts[head->row], head,
                   vamp_slab_neighbours(&listed->table.slab, number));
    vamp_table_remove(&listed->table, item);
}

static void put(struct listed *listed, struct model *model, unsigned k, uint64_t random)
{
    struct vamp_slab *slab = &listed->table.slab;
    const struct vamp_key key = vamp_key_of_two(k, k / 7);
    struct item *item = vamp_table_find(&listed->table, &key);
    assert_int_equal(item != NULL, model->there[k]);
    if (item != NULL) {
        assert_int_equal(item->value, model->value[k]);
        return;
    }
    if (slab->used == CAPACITY) {
        struct item *oldest = vamp_slab_item(slab, listed->ages.oldest);
        assert_int_equal(oldest->record.key[0], model_oldest(model));
        model->there[oldest->record.key[0]] = false;
        take_out(listed, oldest);
    }
    const uint32_t owner = (uint32_t)(random % OWNERS);
    item = vamp_table_insert(&listed->table, &key);
    const uint32_t number = vamp_slab_number(slab, item);
    vamp_age_join(&listed->table, &listed->ages, number);
    vamp_row_join(slab, &listed->firsts[owner], &item->record.item,
                  vamp_slab_neighbours(slab, number), number, owner);
    assert_int_equal(item->value, 0);
    item->value = random;
    model->there[k] = true;
    model->value[k] = random;
    model->born[k] = model->clock++;
    model->owner[k] = owner;
}

static void drop_or_move(struct listed *listed, struct model *model, unsigned k, bool drop,
                         uint32_t owner)
{
    struct vamp_slab *slab = &listed->table.slab;
    const struct vamp_key key = vamp_key_of_two(k, k / 7);
    struct item *item = vamp_table_find(&listed->table, &key);
    assert_int_equal(item != NULL, model->there[k]);
    if (item != NULL && drop) {
        take_out(listed, item);
        model->there[k] = false;
    } else if (item != NULL) {
        struct vamp_item *head = &item->record.item;
        const uint32_t number = vamp_slab_number(slab, item);
        struct vamp_neighbours *own = vamp_slab_neighbours(slab, number);
        vamp_row_leave(slab, &listed->firsts[head->row], head, own);
        vamp_row_join(slab, &listed->firsts[owner], head, own, number, owner);
        model->owner[k] = owner;
    }
}

/* All that this owner has. */
static void leave(struct listed *listed, struct model *model, uint32_t owner)
{
    uint32_t held = 0;
    for (unsigned k = 0; k < KEYS && owner != 0; k++) {
        if (model->there[k] && model->owner[k] == owner) {
            model->there[k] = false;
            held++;
        }
    }
    for (; listed->firsts[owner] != 0; held--) {
        take_out(listed, vamp_slab_item(&listed->table.slab, listed->firsts[owner]));
    }
    assert_int_equal(held, 0);
}

static void the_table_agrees_with_a_model(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct model *model = calloc(1, sizeof *model);
        struct listed listed = {.ages = {0}};
        assert_int_equal(vamp_table_init(&listed.table, CAPACITY, sizeof(struct item),
                                         sizeof(struct vamp_record_rest)),
                         0);
        uint64_t random = seed * 7919;
        for (unsigned step = 0; step < 20000; step++) {
            const unsigned k = (unsigned)(next_random(&random) % KEYS);
            const unsigned what = (unsigned)(next_random(&random) % 1000);
            const uint32_t owner = (uint32_t)(next_random(&random) % OWNERS);
            if (what < 600) {
                put(&listed, model, k, next_random(&random));
            } else if (what < 999) {
                drop_or_move(&listed, model, k, what < 800, owner);
            } else {
                leave(&listed, model, owner);
            }
            assert_int_equal(listed.table.slab.used, model_live(model));
            assert_int_equal(listed.ages.count, model_live(model));
        }
        uint32_t position = 0, seen = 0;
        for (struct item *item = NULL;
             (item = vamp_slab_next(&listed.table.slab, &position)) != NULL;) {
            assert_true(model->there[item->record.key[0]]);
            assert_int_equal(vamp_slab_number(&listed.table.slab, item), position);
            seen++;
        }
        assert_int_equal(seen, model_live(model));
        vamp_table_done(&listed.table);
        free(model);
    }
}

static size_t rss_bytes(void)
{
    char text[128];
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_non_null(fgets(text, sizeof text, file));
    (void)fclose(file);
    char *end = NULL;
    (void)strtoull(text, &end, 10); /* total, then resident, in pages */
    return (size_t)strtoull(end, NULL, 10) * (size_t)sysconf(_SC_PAGESIZE);
}

static uint32_t lines_of(const struct vamp_table *table)
{
    return table->mask + 1 + table->split;
}

/* Fills a table with a million records. The most lines that one insertion had to split. */
static uint32_t fill(struct vamp_table *table)
{
    uint32_t most = 0;
    uint32_t lines = lines_of(table);
    for (uint64_t i = 0; i < MILLION; i++) {
        const struct vamp_key key = vamp_key_of_two(i * UINT64_C(0xD6E8FEB86659FD93), i);
        assert_null(vamp_table_find(table, &key));
        assert_non_null(vamp_table_insert(table, &key));
        const uint32_t split = lines_of(table) - lines;
        most = split > most ? split : most;
        lines += split;
    }
    return most;
}

static void a_million_cdos_are_small_and_never_pause(void **state)
{
    (void)state;
#ifdef SANITIZED
    skip(); /* a sanitizer's shadow is not ours */
#endif
    struct vamp_table table;
    const size_t before = rss_bytes();
    assert_int_equal(
        vamp_table_init(&table, MILLION, sizeof(struct vamp_cdo), sizeof(struct vamp_cdo_rest)), 0);
    assert_int_equal(fill(&table), 1); /* it grows line by line, never all at once */
    const size_t each = (rss_bytes() - before) / MILLION;
    print_message("%zu bytes a CDO\n", each);
    assert_true(each <= 128);
    for (uint64_t i = 0; i < MILLION; i += 97) {
        const struct vamp_key key = vamp_key_of_two(i * UINT64_C(0xD6E8FEB86659FD93), i);
        assert_non_null(vamp_table_find(&table, &key));
    }
    vamp_table_done(&table);
}

static void at_the_bound_the_oldest_goes_and_is_counted(void **state)
{
    (void)state;
    struct vamp_stats_options options = collect_options();
    options.max_cdos = 10;
    options.max_pending = 5;
    struct collect run;
    collect_start(&run, &options);
    collect_feed(&run, event_join(1, 1, "a"));
    for (uint64_t cdo = 1; cdo <= 15; cdo++) {
        collect_feed(&run, event_cdo(VAMP_EVENT_DECLARE, (int64_t)cdo, 1, cdo));
        collect_feed(&run, event_cdo(VAMP_EVENT_OFFER, (int64_t)cdo + 1, 1, cdo));
    }
    for (uint64_t t = 1; t <= 8; t++) {
        collect_feed(&run,
                     event_with_tier(event_transport(VAMP_EVENT_TRANSPORT_INIT, 100, t, t, 2, 1),
                                     VAMP_TIER_GFS));
    }
    for (uint64_t cdo = 20; cdo < 26; cdo++) {
        collect_feed(&run, event_cdo(VAMP_EVENT_DEMAND, 101, 2, cdo));
    }
    collect_feed(&run, event_cdo(VAMP_EVENT_WITHDRAW, 102, 1, 1)); /* given up: nothing known */
    collect_feed(&run, event_transport(VAMP_EVENT_TRANSPORT_COMPLETED, 103, 1, 1, 2, 1));
    vamp_stats_finish(run.stats);
    assert_int_equal(collect_counter(&run, 0, VAMP_METRIC_VAMPIRE_EVICTED, ""), 5 + 3 + 1);
    assert_int_equal(collect_gauge(&run, 0, VAMP_METRIC_VAMPIRE_TRACKED_CDOS, "").max, 10);
    assert_int_equal(collect_gauge(&run, 0, VAMP_METRIC_POOL_CDOS, "").value, 10);
    assert_int_equal(collect_gauge(&run, 0, VAMP_METRIC_TRANSPORTS_ACTIVE, "GFS").value, 5);
    /* Those given up without a size count as unknown, the rest at the end. */
    assert_int_equal(collect_counter(&run, 0, VAMP_METRIC_CDOS_CREATED, "a|unknown"), 15);
    collect_end(&run);
}

#define ORDER_LIMIT 700
struct order_model {
    uint64_t cdos[ORDER_LIMIT]; /* of the pending operations, oldest first */
    unsigned count;
    uint64_t ended, evicted;
};

static void model_remove(struct order_model *model, unsigned i)
{
    model->count--;
    memmove(&model->cdos[i], &model->cdos[i + 1], (model->count - i) * sizeof model->cdos[0]);
}

static struct vamp_event order_event(enum vamp_metric_id metric, bool begins, uint64_t cdo)
{
    if (metric == VAMP_METRIC_WITHDRAW_WAIT_NS) {
        const struct vamp_event withdraw = event_cdo(VAMP_EVENT_WITHDRAW, 100, 2, cdo);
        return begins ? event_before(withdraw) : withdraw;
    }
    if (metric == VAMP_METRIC_DEMAND_WAIT_NS && begins) {
        return event_before(event_cdo(VAMP_EVENT_DEMAND, 100, 2, cdo));
    }
    return event_transport(begins ? VAMP_EVENT_TRANSPORT_INIT : VAMP_EVENT_TRANSPORT_COMPLETED, 100,
                           cdo, cdo, 2, 1);
}

/* Starts, restarts and ends random operations. Operations that the model evicted do not end. */
static void evict_in_order(enum vamp_metric_id metric)
{
    struct vamp_stats_options options = collect_options();
    options.max_cdos = 100000;
    options.max_pending = ORDER_LIMIT;
    struct collect run;
    collect_start(&run, &options);
    collect_feed(&run, event_join(1, 1, "a"));
    collect_feed(&run, event_join(1, 2, "b"));
    struct order_model model = {.count = 0};
    uint64_t random = 1;
    for (uint64_t cdo = 1; cdo <= 30000; cdo++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407;
        const unsigned choice = (unsigned)(random >> 60);
        const unsigned i = model.count > 0 ? (unsigned)(random >> 32) % model.count : 0;
        if (choice < 10 || model.count == 0) {
            if (model.count == ORDER_LIMIT) {
                model_remove(&model, 0);
                model.evicted++;
            }
            model.cdos[model.count++] = cdo;
            collect_feed(&run, order_event(metric, true, cdo));
        } else if (choice < 13) {
            collect_feed(&run, order_event(metric, true, model.cdos[i]));
        } else {
            collect_feed(&run, order_event(metric, false, model.cdos[i]));
            model_remove(&model, i);
            model.ended++;
        }
    }
    for (unsigned i = 0; i < model.count; i++) {
        collect_feed(&run, order_event(metric, false, model.cdos[i]));
    }
    vamp_stats_finish(run.stats);
    assert_int_equal(collect_recorded(&run, metric), model.ended + model.count);
    assert_true(model.evicted > 10000 && model.ended > 5000);
    collect_end(&run);
}

static void at_the_limit_operations_are_evicted_in_the_order_of_their_start(void **state)
{
    (void)state;
    evict_in_order(VAMP_METRIC_DEMAND_WAIT_NS);
    evict_in_order(VAMP_METRIC_WITHDRAW_WAIT_NS);
    evict_in_order(VAMP_METRIC_TRANSPORT_NS);
}

/* One life of a CDO, with every kind of event. */
static void live(struct collect *run, uint64_t cdo, int64_t *time_ns)
{
    const struct vamp_event events[] = {
        event_cdo(VAMP_EVENT_DECLARE, *time_ns + 1, 1, cdo),
        event_with_size(event_cdo(VAMP_EVENT_SEAL, *time_ns + 2, 1, cdo), 1000 + cdo % 100000),
        event_cdo(VAMP_EVENT_OFFER, *time_ns + 3, 1, cdo),
        event_cdo(VAMP_EVENT_DECLARE, *time_ns + 4, 2, cdo),
        event_cdo(VAMP_EVENT_REQUIRE, *time_ns + 5, 2, cdo),
        event_before(event_cdo(VAMP_EVENT_DEMAND, *time_ns + 6, 2, cdo)),
        event_cdo(VAMP_EVENT_DEMAND, *time_ns + 7, 2, cdo),
        event_transport(VAMP_EVENT_TRANSPORT_INIT, *time_ns + 8, cdo, cdo, 2, 1),
        event_transport(VAMP_EVENT_TRANSPORT_COMPLETED, *time_ns + 90, cdo, cdo, 2, 1),
        event_before(event_cdo(VAMP_EVENT_WITHDRAW, *time_ns + 91, 1, cdo)),
        event_cdo(VAMP_EVENT_WITHDRAW, *time_ns + 92, 1, cdo),
        event_cdo(VAMP_EVENT_DISPOSE, *time_ns + 93, 2, cdo),
        event_cdo(VAMP_EVENT_DISPOSE, *time_ns + 94, 1, cdo),
    };
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++) {
        collect_feed(run, events[i]);
    }
    *time_ns += 100;
}
#define LIFE_EVENTS 13

static void observing_allocates_nothing_in_steady_state(void **state)
{
    (void)state;
#ifdef SANITIZED
    skip();
#endif
    struct vamp_stats_options options = collect_options();
    options.bucket_ns = 3600 * SECOND;
    options.max_cdos = 100000;
    struct collect run;
    collect_start(&run, &options);
    collect_feed(&run, event_join(1, 1, "a"));
    collect_feed(&run, event_join(1, 2, "b"));
    int64_t time_ns = 10;
    for (uint64_t cdo = 0; cdo < 110000; cdo++) {
        live(&run, cdo, &time_ns);
    }
    const uint64_t before = allocations;
    const int64_t began = cpu_ns();
    for (uint64_t cdo = 110000; cdo < 210000; cdo++) {
        live(&run, cdo, &time_ns);
    }
    const int64_t took = cpu_ns() - began;
    print_message("%.1f ns an event, component table included\n",
                  (double)took / (100000.0 * LIFE_EVENTS));
    assert_true(before > 0);
    assert_int_equal(allocations, before);
    collect_end(&run);
}

static void creation_without_memory_leaves_nothing_behind(void **state)
{
    (void)state;
#ifdef SANITIZED
    skip();
#endif
    const struct vamp_stats_options options = collect_options();
    int status = -ENOMEM;
    uint64_t granted = 0;
    for (; status != 0; granted++) {
        struct vamp_components *components = NULL;
        struct vamp_stats *stats = NULL;
        const int64_t before = living;
        fail_from = allocations + granted;
        status = vamp_components_create(options.max_components, &components, NULL);
        if (status == 0) {
            status = vamp_stats_create(&options, COLLECT_RUN_ID, components, collect_emit, NULL,
                                       &stats, NULL);
        }
        fail_from = UINT64_MAX;
        assert_true(status == 0 || status == -ENOMEM);
        assert_int_equal(status == 0, stats != NULL);
        vamp_stats_free(stats);
        vamp_components_free(components);
        assert_int_equal(living, before);
    }
    assert_true(granted > 50);
}

static void without_memory_values_are_missing_and_reported(void **state)
{
    (void)state;
#ifdef SANITIZED
    skip();
#endif
    const struct vamp_stats_options options = collect_options();
    struct collect run;
    collect_start(&run, &options);
    fail_from = 0;
    int64_t time_ns = 10;
    for (uint64_t i = 1; i <= 20; i++) {
        live(&run, i * 4000, &time_ns); /* many size classes: more histograms than are at hand */
    }
    vamp_stats_tick(run.stats, 2 * SECOND); /* no memory for the bucket either */
    fail_from = UINT64_MAX;
    live(&run, 99, &time_ns);
    vamp_stats_finish(run.stats);
    assert_int_equal(run.count, 2);
    assert_int_equal(run.buckets[0]->gap_count, 1);
    assert_string_equal(vamp_gap_reason_name(run.buckets[0]->gaps[0].reason), "memory");
    assert_int_equal(run.buckets[0]->gaps[0].start_ns, 0);
    assert_int_equal(run.buckets[0]->accounting.counted, 21 * LIFE_EVENTS);
    assert_true(collect_counter(&run, 0, VAMP_METRIC_VAMPIRE_SERIES_OVERFLOW, "") > 0);
    collect_end(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_agrees_with_a_model),
        cmocka_unit_test(a_million_cdos_are_small_and_never_pause),
        cmocka_unit_test(at_the_bound_the_oldest_goes_and_is_counted),
        cmocka_unit_test(at_the_limit_operations_are_evicted_in_the_order_of_their_start),
        cmocka_unit_test(observing_allocates_nothing_in_steady_state),
        cmocka_unit_test(creation_without_memory_leaves_nothing_behind),
        cmocka_unit_test(without_memory_values_are_missing_and_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
