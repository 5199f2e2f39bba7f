/* SPDX-License-Identifier: BSD-3-Clause */
/* The public interface without a pool manager: start and end, CDOs, attributes. */
#include "tests/lib/fault.h"
#include "tests/unit/api_alone.h"

/* ------------------------------------------------------------------ start and end */

static void test_init(void **state)
{
    (void)state;
    mstro_cdo cdo = NULL;
    assert_int_equal(mstro_finalize(), MSTRO_UNINIT);
    assert_int_equal(mstro_cdo_declare("x", NULL, &cdo), MSTRO_UNINIT);
    assert_null(cdo);
    (void)unsetenv(MSTRO_ENV_WORKFLOW_NAME);
    (void)unsetenv(MSTRO_ENV_POOL_INFO);
    (void)unsetenv(MSTRO_ENV_SCHEMA_LIST);
    assert_int_equal(mstro_init(NULL, "c", 0), MSTRO_INVARG);
    assert_non_null(strstr(mstro_last_error(), MSTRO_ENV_WORKFLOW_NAME));
    (void)setenv(MSTRO_ENV_WORKFLOW_NAME, "w", 1);
    (void)setenv(MSTRO_ENV_COMPONENT_NAME, "c", 1);
    for (int i = 0; i < 3; i++) {
        ASSERT_OK(mstro_init(NULL, NULL, 0));
        assert_int_equal(mstro_init(NULL, NULL, 0), MSTRO_NOT_TWICE);
        ASSERT_OK(mstro_finalize()); /* of the first or the second user: the other goes on */
        ASSERT_OK(mstro_cdo_declare("x", NULL, &cdo));
        ASSERT_OK(mstro_cdo_dispose(cdo));
        cdo = NULL;
        ASSERT_OK(mstro_finalize());
        assert_int_equal(mstro_cdo_declare("x", NULL, &cdo), MSTRO_UNINIT);
        assert_int_equal(mstro_finalize(), MSTRO_UNINIT);
    }
    (void)setenv(MSTRO_ENV_SCHEMA_LIST, "no-such-schema", 1);
    assert_int_equal(mstro_init(NULL, NULL, 0), MSTRO_INVARG);
    assert_non_null(strstr(mstro_last_error(), "no-such-schema"));
    (void)unsetenv(MSTRO_ENV_SCHEMA_LIST);
    assert_int_equal(mstro_init("w", "\xff", 0), MSTRO_REFUSED);
    ASSERT_OK(mstro_init(NULL, NULL, 0)); /* a failure leaves nothing behind */
    ASSERT_OK(mstro_finalize());
}

static void test_words(void **state)
{
    (void)state;
    for (int status = 0; status < mstro_status_MAX; status++) {
        const char *text = mstro_status_description((mstro_status)status);
        assert_non_null(text);
        assert_true(strlen(text) > 3);
    }
    assert_non_null(mstro_status_description((mstro_status)-1));
    assert_non_null(mstro_status_description((mstro_status)1000));
    assert_string_equal(mstro_pool_event_description(MSTRO_POOL_EVENT_OFFER),
                        "a CDO was given to the pool");
    assert_string_equal(mstro_pool_event_description(0), "unknown event");
    assert_string_equal(
        mstro_pool_event_description(MSTRO_POOL_EVENT_OFFER | MSTRO_POOL_EVENT_SEAL),
        "unknown event");
    assert_true(mstro_clock() > UINT64_C(1600000000000000000));
    assert_non_null(mstro_version());
}

/* What is left over from before mstro_finalize can be disposed and does no harm. */
static void test_leftovers(void **state)
{
    (void)state;
    mstro_cdo cdo = declare("left over");
    mstro_subscription subscription = NULL;
    ASSERT_OK(mstro_subscribe(NULL, MSTRO_POOL_EVENT_DECLARE, 0, &subscription));
    (void)declare("event");
    ASSERT_OK(mstro_finalize());
    ASSERT_OK(begin(NULL));
    assert_int_equal(mstro_cdo_offer(cdo), MSTRO_UNINIT);
    assert_string_equal(mstro_cdo_name(cdo), "left over");
    mstro_pool_event events = NULL;
    ASSERT_OK(mstro_subscription_poll(subscription, &events));
    assert_string_equal(events->payload.declare.cdo_name, "event");
    ASSERT_OK(mstro_pool_event_dispose(events));
    assert_int_equal(mstro_subscription_poll(subscription, &events), MSTRO_UNINIT);
    assert_null(events);
    ASSERT_OK(mstro_subscription_dispose(subscription));
    ASSERT_OK(mstro_cdo_dispose(cdo));
}

/* ------------------------------------------------------------------ CDOs */

static void test_second_handle(void **state)
{
    (void)state;
    enum { BYTES = 100000 };
    unsigned char *data = malloc(BYTES);
    for (size_t i = 0; i < BYTES; i++) {
        data[i] = (unsigned char)(i * 7);
    }
    mstro_cdo source = declare("class:rd,date:20240101,step:6");
    give_data(source, data, BYTES, false);
    ASSERT_OK(mstro_cdo_offer(source)); /* seals */
    assert_int_equal(mstro_cdo_seal(source), MSTRO_INVSTATE);

    mstro_cdo sink = declare("class:rd,date:20240101,step:6");
    void *there = data;
    int64_t bytes = -1;
    assert_int_equal(mstro_cdo_access_ptr(sink, &there, &bytes), MSTRO_NOENT);
    assert_ptr_equal(there, data);
    assert_int_equal(bytes, -1);
    ASSERT_OK(mstro_cdo_require(sink));
    assert_int_equal(mstro_cdo_withdraw(sink), MSTRO_INVSTATE);
    assert_non_null(strstr(mstro_last_error(), "required"));
    ASSERT_OK(mstro_cdo_demand(sink));
    ASSERT_OK(mstro_cdo_access_ptr(sink, &there, &bytes));
    assert_int_equal(bytes, BYTES);
    assert_ptr_not_equal(there, data);
    assert_int_equal((uintptr_t)there % (uintptr_t)sysconf(_SC_PAGESIZE), 0);
    ASSERT_OK(mstro_cdo_dispose(sink));
    assert_memory_equal(there, data, BYTES); /* who asked for a demanded CDO's data owns them */
    free(there);
    ASSERT_OK(mstro_cdo_withdraw(source));
    ASSERT_OK(mstro_cdo_access_ptr(source, &there, &bytes));
    assert_ptr_equal(there, data);
    ASSERT_OK(mstro_cdo_dispose(source));
    free(data);
}

static void test_ready_marker(void **state)
{
    (void)state;
    uint64_t none = 0;
    mstro_cdo source = declare("READY");
    ASSERT_OK(
        mstro_cdo_attribute_set(source, MSTRO_ATTR_CORE_CDO_SCOPE_LOCAL_SIZE, &none, true, false));
    ASSERT_OK(mstro_cdo_offer(source));
    mstro_cdo sink = declare("READY");
    ASSERT_OK(mstro_cdo_require(sink));
    ASSERT_OK(mstro_cdo_demand(sink));
    void *there = NULL;
    int64_t bytes = 0;
    assert_int_equal(mstro_cdo_access_ptr(sink, &there, &bytes), MSTRO_NOENT);
    ASSERT_OK(mstro_cdo_dispose(sink));
    ASSERT_OK(mstro_cdo_withdraw(source));
    ASSERT_OK(mstro_cdo_dispose(source));
}

static void test_dispose_after_declare(void **state)
{
    (void)state;
    char name[1001];
    memset(name, 'n', sizeof name - 1);
    name[1000] = '\0';
    mstro_cdo cdo = declare(name);
    assert_string_equal(mstro_cdo_name(cdo), name);
    const void *value = NULL;
    enum mstro_cdo_attr_value_type type = MSTRO_CDO_ATTR_VALUE_INVALID;
    ASSERT_OK(mstro_cdo_attribute_get(cdo, MSTRO_ATTR_CORE_CDO_NAME, &type, &value));
    assert_int_equal(type, MSTRO_CDO_ATTR_VALUE_cstring);
    assert_string_equal(*(const char *const *)value, name);
    ASSERT_OK(mstro_cdo_dispose(cdo));
    assert_int_equal(mstro_cdo_declare("", NULL, &cdo), MSTRO_INVARG);
    assert_int_equal(mstro_cdo_declare(NULL, NULL, &cdo), MSTRO_INVARG);
    assert_int_equal(mstro_cdo_declare("x", NULL, NULL), MSTRO_INVARG);
    assert_int_equal(mstro_cdo_dispose(NULL), MSTRO_INVARG);
    assert_int_equal(mstro_cdo_offer(NULL), MSTRO_INVARG);
}

static void test_copy(void **state)
{
    (void)state;
    char data[] = "before";
    mstro_cdo source = declare("copied");
    give_data(source, data, sizeof data, true);
    ASSERT_OK(mstro_cdo_seal(source));
    (void)memcpy(data, "after!", sizeof data); /* the library has its own by now */
    ASSERT_OK(mstro_cdo_offer(source));
    mstro_cdo sink = declare("copied");
    /* The consumer's own memory is used when it is large enough. */
    char room[64] = "";
    give_data(sink, room, sizeof room, false);
    ASSERT_OK(mstro_cdo_require(sink));
    ASSERT_OK(mstro_cdo_demand(sink));
    assert_string_equal(room, "before");
    void *there = NULL;
    int64_t bytes = 0;
    ASSERT_OK(mstro_cdo_access_ptr(sink, &there, &bytes));
    assert_ptr_equal(there, room);
    assert_int_equal(bytes, sizeof data);
    ASSERT_OK(mstro_cdo_dispose(sink));
    mstro_cdo small = declare("copied");
    give_data(small, room, 3, false);
    ASSERT_OK(mstro_cdo_require(small));
    ASSERT_OK(mstro_cdo_demand(small));
    ASSERT_OK(mstro_cdo_access_ptr(small, &there, &bytes));
    assert_ptr_not_equal(there, room);
    assert_string_equal(there, "before");
    ASSERT_OK(mstro_cdo_access_ptr(small, NULL, &bytes)); /* asks for nothing */
    free(there);
    ASSERT_OK(mstro_cdo_dispose(small));
    mstro_cdo unread = declare("copied");
    ASSERT_OK(mstro_cdo_require(unread));
    ASSERT_OK(mstro_cdo_demand(unread));
    ASSERT_OK(mstro_cdo_access_ptr(unread, NULL, &bytes));
    ASSERT_OK(mstro_cdo_dispose(unread)); /* frees them: LeakSanitizer sees */
    ASSERT_OK(mstro_cdo_withdraw(source));
    ASSERT_OK(mstro_cdo_dispose(source));
}

static void *demand_in_thread(void *argument)
{
    mstro_cdo sink = argument;
    return mstro_cdo_demand(sink) == MSTRO_OK ? sink : NULL;
}

static void *withdraw_in_thread(void *argument)
{
    mstro_cdo source = argument;
    return mstro_cdo_withdraw(source) == MSTRO_OK ? source : NULL;
}

static void test_threads_wait_for_each_other(void **state)
{
    (void)state;
    for (int i = 0; i < 50; i++) {
        uint64_t number = (uint64_t)i;
        mstro_cdo sink = declare("x");
        ASSERT_OK(mstro_cdo_require(sink));
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, demand_in_thread, sink), 0);
        mstro_cdo source = declare("x");
        give_data(source, &number, sizeof number, false);
        ASSERT_OK(mstro_cdo_offer(source));
        pthread_t other;
        assert_int_equal(pthread_create(&other, NULL, withdraw_in_thread, source), 0);
        void *result = NULL;
        assert_int_equal(pthread_join(thread, &result), 0);
        assert_ptr_equal(result, sink);
        assert_int_equal(pthread_join(other, &result), 0);
        assert_ptr_equal(result, source);
        void *there = NULL;
        ASSERT_OK(mstro_cdo_access_ptr(sink, &there, NULL));
        assert_memory_equal(there, &number, sizeof number);
        free(there);
        ASSERT_OK(mstro_cdo_dispose(sink));
        ASSERT_OK(mstro_cdo_dispose(source));
    }
}

static void test_finalize_ends_waits(void **state)
{
    (void)state;
    mstro_cdo sink = declare("never offered");
    ASSERT_OK(mstro_cdo_require(sink));
    mstro_cdo source = declare("required");
    ASSERT_OK(mstro_cdo_offer(source));
    mstro_cdo other = declare("required");
    ASSERT_OK(mstro_cdo_require(other));
    mstro_subscription subscription = NULL;
    ASSERT_OK(mstro_subscribe(
        NULL, MSTRO_POOL_EVENT_DEMAND | MSTRO_POOL_EVENT_WITHDRAW | MSTRO_POOL_EVENT_POOL_GONE,
        MSTRO_SUBSCRIPTION_OPTS_SIGNAL_BEFORE, &subscription));
    pthread_t demanding;
    pthread_t withdrawing;
    assert_int_equal(pthread_create(&demanding, NULL, demand_in_thread, sink), 0);
    assert_int_equal(pthread_create(&withdrawing, NULL, withdraw_in_thread, source), 0);
    for (int seen = 0; seen < 2;) {
        mstro_pool_event events = NULL;
        ASSERT_OK(mstro_subscription_wait(subscription, &events));
        for (mstro_pool_event event = events; event != NULL; event = event->next) {
            seen++;
        }
        ASSERT_OK(mstro_pool_event_dispose(events));
    }
    ASSERT_OK(mstro_finalize());
    void *result = sink;
    assert_int_equal(pthread_join(demanding, &result), 0);
    assert_null(result);
    assert_int_equal(pthread_join(withdrawing, &result), 0);
    assert_null(result);
    ASSERT_OK(begin(NULL));
    ASSERT_OK(mstro_cdo_dispose(sink));
    ASSERT_OK(mstro_cdo_dispose(source));
    ASSERT_OK(mstro_cdo_dispose(other));
    ASSERT_OK(mstro_subscription_dispose(subscription));
}

/* ------------------------------------------------------------------ attributes */

struct values {
    int64_t integer;
    uint64_t natural;
    const char *text;
    double real;
    float single;
    bool yes;
    mstro_timestamp time;
    int32_t small;
    uint32_t small_natural;
};

static const struct values values = {
    .integer = INT64_MIN,
    .natural = UINT64_MAX,
    .text = "comma, \"quote\" \xc3\xbc",
    .real = 0.1,
    .single = 0.5F,
    .yes = true,
    .time = {.sec = -5, .nsec = 999999999, .offset = -90},
    .small = INT32_MIN,
    .small_natural = UINT32_MAX,
};

struct value_row {
    const char *key;
    enum mstro_cdo_attr_value_type type;
    size_t offset, bytes;
};

#define VALUE(name, type_, member)                                                                 \
    {                                                                                              \
        ".maestro.all.a-" name, MSTRO_CDO_ATTR_VALUE_##type_, offsetof(struct values, member),     \
            sizeof values.member                                                                   \
    }
static const struct value_row value_rows[] = {
    VALUE("int", int64, integer),
    VALUE("uint", uint64, natural),
    VALUE("str", cstring, text),
    VALUE("double", double, real),
    VALUE("float", float, single),
    VALUE("bool", bool, yes),
    VALUE("timestamp", timestamp, time),
    VALUE("int32", int32, small),
    VALUE("uint32", uint32, small_natural),
};
enum { VALUE_ROWS = sizeof value_rows / sizeof value_rows[0] };

static void assert_values(mstro_cdo cdo)
{
    for (size_t i = 0; i < VALUE_ROWS; i++) {
        const void *value = NULL;
        enum mstro_cdo_attr_value_type type = MSTRO_CDO_ATTR_VALUE_INVALID;
        ASSERT_OK(mstro_cdo_attribute_get(cdo, value_rows[i].key, &type, &value));
        assert_int_equal(type, value_rows[i].type);
        if (type == MSTRO_CDO_ATTR_VALUE_cstring) {
            assert_string_equal(*(const char *const *)value, values.text);
        } else {
            assert_memory_equal(value, (const char *)&values + value_rows[i].offset,
                                value_rows[i].bytes);
        }
    }
}

static void set_values(mstro_cdo cdo, struct values *own, bool copy)
{
    for (size_t i = 0; i < VALUE_ROWS; i++) {
        ASSERT_OK(mstro_cdo_attribute_set(cdo, value_rows[i].key,
                                          (char *)own + value_rows[i].offset, copy, true));
    }
}

/* Set by copy or by address, seen by the owner and, with the data, by a consumer. */
static void test_attributes_travel(void **state)
{
    (void)state;
    for (int copy = 0; copy < 2; copy++) {
        struct values own = values;
        char *text = strdup(values.text);
        own.text = text;
        mstro_cdo source = declare("attributes");
        int marker = 0;
        ASSERT_OK(mstro_cdo_attribute_set(source, ".maestro.all.a-pointer", &marker, false, true));
        set_values(source, &own, copy);
        set_values(source, &own, copy); /* the second replaces the first */
        if (copy) {
            memset(&own, 0, sizeof own);
            free(text);
        }
        assert_values(source);
        ASSERT_OK(mstro_cdo_offer(source));
        assert_int_equal(
            mstro_cdo_attribute_set(source, ".maestro.all.a-int", &own.integer, true, true),
            MSTRO_INVSTATE);
        mstro_cdo sink = declare("attributes");
        assert_int_equal(mstro_cdo_attribute_get(sink, ".maestro.all.a-int", NULL, NULL),
                         MSTRO_NOENT);
        ASSERT_OK(mstro_cdo_require(sink));
        ASSERT_OK(mstro_cdo_demand(sink));
        assert_values(sink);
        assert_int_equal(mstro_cdo_attribute_get(sink, ".maestro.all.a-pointer", NULL, NULL),
                         MSTRO_NOENT); /* addresses do not travel */
        ASSERT_OK(mstro_cdo_dispose(sink));
        ASSERT_OK(mstro_cdo_withdraw(source));
        ASSERT_OK(mstro_cdo_dispose(source));
        if (!copy) {
            free(text);
        }
    }
}

/* Memory given away is freed by the library; the leak checker would report it otherwise. */
static void test_attribute_ownership(void **state)
{
    (void)state;
    mstro_cdo cdo = declare("owner");
    int64_t *number = malloc(sizeof *number);
    *number = 7;
    ASSERT_OK(mstro_cdo_attribute_set(cdo, ".maestro.all.a-int", number, false, false));
    const char *text = strdup("given away");
    ASSERT_OK(mstro_cdo_attribute_set(cdo, ".maestro.all.a-str", &text, false, false));
    ASSERT_OK(mstro_cdo_attribute_set(cdo, MSTRO_ATTR_CORE_CDO_RAW_PTR, malloc(10), false, false));
    const void *value = NULL;
    ASSERT_OK(mstro_cdo_attribute_get(cdo, ".maestro.all.a-int", NULL, &value));
    assert_ptr_equal(value, number);
    ASSERT_OK(mstro_cdo_dispose(cdo));
}

static void test_attribute_errors(void **state)
{
    (void)state;
    int64_t value = 1;
    const char *none = NULL;
    mstro_cdo cdo = declare("errors");
    assert_int_equal(mstro_cdo_attribute_set(cdo, ".maestro.unknown.key", &value, true, true),
                     MSTRO_NOENT);
    assert_non_null(strstr(mstro_last_error(), ".maestro.unknown.key"));
    assert_int_equal(mstro_cdo_attribute_set(cdo, NULL, &value, true, true), MSTRO_INVARG);
    assert_int_equal(mstro_cdo_attribute_set(NULL, "x", &value, true, true), MSTRO_INVARG);
    assert_int_equal(mstro_cdo_attribute_set(cdo, ".maestro.all.a-int", NULL, true, true),
                     MSTRO_INVARG);
    assert_int_equal(mstro_cdo_attribute_set(cdo, ".maestro.all.a-str", &none, true, true),
                     MSTRO_NOMATCH);
    assert_int_equal(mstro_cdo_attribute_set(cdo, MSTRO_ATTR_CORE_CDO_NAME, &none, true, true),
                     MSTRO_INVARG);
    ASSERT_OK(mstro_cdo_dispose(cdo));
    ASSERT_OK(mstro_finalize());
    (void)setenv(MSTRO_ENV_DROP_UNKNOWN_ATTRIBUTES, "1", 1);
    ASSERT_OK(mstro_init("workflow", "component", 0));
    cdo = declare("errors");
    ASSERT_OK(mstro_cdo_attribute_set(cdo, ".maestro.unknown.key", &value, true, true));
    assert_int_equal(mstro_cdo_attribute_get(cdo, ".maestro.unknown.key", NULL, NULL), MSTRO_NOENT);
    ASSERT_OK(mstro_cdo_dispose(cdo));
}

static void test_attributes_too_large(void **state)
{
    (void)state;
    char *large = calloc(1, 20001);
    memset(large, 'x', 20000);
    const char *text = large;
    mstro_cdo cdo = declare("large");
    ASSERT_OK(mstro_cdo_attribute_set(cdo, ".maestro.all.a-str", &text, true, true));
    assert_int_equal(mstro_cdo_seal(cdo), MSTRO_NOMEM);
    text = "small";
    ASSERT_OK(mstro_cdo_attribute_set(cdo, ".maestro.all.a-str", &text, true, true));
    ASSERT_OK(mstro_cdo_seal(cdo));
    ASSERT_OK(mstro_cdo_dispose(cdo));
    free(large);
}

/* A demand for which nothing can be allocated, not even the news of it, ends. */
static void test_demand_without_memory(void **state)
{
    (void)state;
    unsigned char data[100] = "data";
    mstro_cdo source = declare("cdo");
    mstro_cdo sink = declare("cdo");
    give_data(source, data, sizeof data, false);
    ASSERT_OK(mstro_cdo_offer(source));
    ASSERT_OK(mstro_cdo_require(sink));
    fault_alloc_fail_from(1);
    assert_int_equal(mstro_cdo_demand(sink), MSTRO_NOMEM);
    assert_true(fault_alloc_end());
    ASSERT_OK(mstro_cdo_demand(sink));
    ASSERT_OK(mstro_cdo_dispose(sink));
    ASSERT_OK(mstro_cdo_withdraw(source));
    ASSERT_OK(mstro_cdo_dispose(source));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_init),
        cmocka_unit_test(test_words),
        TEST(test_leftovers),
        TEST(test_second_handle),
        TEST(test_ready_marker),
        TEST(test_dispose_after_declare),
        TEST(test_copy),
        TEST(test_threads_wait_for_each_other),
        TEST(test_finalize_ends_waits),
        TEST(test_attributes_travel),
        TEST(test_attribute_ownership),
        TEST(test_attribute_errors),
        TEST(test_attributes_too_large),
        TEST(test_demand_without_memory),
    };
    return cmocka_run_group_tests(tests, make_schema, remove_schema);
}
