// SPDX-License-Identifier: BSD-3-Clause
// A C++ component: the header as C++ programs include it, every function called once, in the way
// users' code calls them. Works alone, without a pool manager.
extern "C" {
#include <maestro.h>
}

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);           \
            std::exit(1);                                                                          \
        }                                                                                          \
    } while (false)
#define OK(call) CHECK((call) == MSTRO_OK)

static mstro_subscription subscribe_to_offers()
{
    mstro_cdo_selector selector = nullptr;
    mstro_subscription subscription = nullptr;
    OK(mstro_cdo_selector_create(nullptr, nullptr, "(has .maestro.ecmwf.step)", &selector));
    mstro_pool_event_kind kinds = MSTRO_POOL_EVENT_DECLARE | MSTRO_POOL_EVENT_OFFER;
    mstro_subscription_opts options = MSTRO_SUBSCRIPTION_OPTS_DEFAULT;
    OK(mstro_subscribe(selector, kinds, options, &subscription));
    OK(mstro_cdo_selector_dispose(selector));
    return subscription;
}

static void offer_and_fetch(mstro_subscription subscription, void *data, int64_t size)
{
    const char *name = "class:rd,\"quoted\",step:6";
    int64_t step = 6;
    mstro_cdo source = nullptr, sink = nullptr;
    OK(mstro_cdo_declare(name, MSTRO_ATTR_DEFAULT, &source));
    OK(mstro_cdo_attribute_set(source, MSTRO_ATTR_CORE_CDO_RAW_PTR, data, false, true));
    OK(mstro_cdo_attribute_set(source, MSTRO_ATTR_CORE_CDO_SCOPE_LOCAL_SIZE, &size, true, false));
    OK(mstro_cdo_attribute_set(source, ".maestro.ecmwf.step", &step, true, false));
    CHECK(mstro_cdo_attribute_set(source, ".maestro.ecmwf.no-such-key", &step, true, false) !=
          MSTRO_OK);
    OK(mstro_cdo_seal(source));
    OK(mstro_cdo_offer(source));

    enum mstro_cdo_attr_value_type type = MSTRO_CDO_ATTR_VALUE_INVALID;
    const void *value = nullptr;
    OK(mstro_cdo_attribute_get(source, ".maestro.ecmwf.step", &type, &value));
    CHECK(type == MSTRO_CDO_ATTR_VALUE_int64 && *static_cast<const int64_t *>(value) == 6);

    timespec until{};
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 10;
    mstro_pool_event events = nullptr;
    OK(mstro_subscription_timedwait(subscription, &until, &events));
    CHECK(events != nullptr && events->kind == MSTRO_POOL_EVENT_OFFER);
    CHECK(std::strcmp(events->payload.offer.cdo_name, name) == 0);
    CHECK(events->next == nullptr);
    (void)mstro_subscription_ack(subscription, events);
    OK(mstro_pool_event_dispose(events));
    OK(mstro_subscription_poll(subscription, &events));
    CHECK(events == nullptr);

    OK(mstro_cdo_declare(name, MSTRO_ATTR_DEFAULT, &sink));
    OK(mstro_cdo_require(sink));
    OK(mstro_cdo_demand(sink));
    void *received = nullptr;
    int64_t length = 0;
    OK(mstro_cdo_access_ptr(sink, &received, &length));
    CHECK(length == size && std::memcmp(received, data, static_cast<size_t>(size)) == 0);
    OK(mstro_cdo_dispose(sink));
    OK(mstro_cdo_withdraw(source));
    OK(mstro_cdo_dispose(source));
}

int main()
{
    static_assert(sizeof(mstro_pool_event_kind) >= 4, "kinds are bits");
    CHECK(mstro_finalize() == MSTRO_UNINIT);
    OK(mstro_init("weather", "C++ caller", 0));
    CHECK(mstro_init("weather", "C++ caller", 0) == MSTRO_NOT_TWICE);
    CHECK(std::strlen(mstro_version()) > 0 && mstro_clock() > 0);
    CHECK(std::strlen(mstro_status_description(MSTRO_TIMEOUT)) > 0);
    CHECK(std::strlen(mstro_pool_event_description(MSTRO_POOL_EVENT_OFFER)) > 0);

    const int64_t size = 3 * 4096;
    void *data = std::aligned_alloc(4096, size);
    CHECK(data != nullptr);
    std::memset(data, 0x5a, size);
    mstro_subscription subscription = subscribe_to_offers();
    offer_and_fetch(subscription, data, size);
    OK(mstro_subscription_dispose(subscription));

    mstro_cdo unused = nullptr;
    OK(mstro_cdo_declare("never offered", MSTRO_ATTR_DEFAULT, &unused));
    OK(mstro_cdo_dispose(unused));
    OK(mstro_finalize());
    std::free(data);
    std::puts("ok");
    return 0;
}
