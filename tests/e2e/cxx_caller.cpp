/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A component in C++, as ECMWF's multio is one: the header inside an extern "C" block of the
 * user's own, kinds and options combined with |, handles compared with nullptr. Works alone, or
 * with the pool manager of MSTRO_POOL_MANAGER_INFO. Prints "ok" and exits with 0.
 *
 *   g++ -std=c++17 -Wall -Wextra -Werror tests/e2e/cxx_caller.cpp -o cxx_caller \
 *       $(pkg-config --cflags --libs maestro)
 */
extern "C" {
#include <maestro.h>
}

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

void check(mstro_status status, const std::string &what)
{
    if (status != MSTRO_OK) {
        throw std::runtime_error(what + ": " + mstro_status_description(status) + ": " +
                                 mstro_last_error());
    }
}

class Cdo {
public:
    explicit Cdo(const std::string &name)
    {
        check(mstro_cdo_declare(name.c_str(), MSTRO_ATTR_DEFAULT, &cdo_), "declare");
    }
    Cdo(const Cdo &) = delete;
    Cdo &operator=(const Cdo &) = delete;
    ~Cdo()
    {
        if (cdo_ != nullptr) {
            mstro_cdo_dispose(cdo_);
        }
    }
    mstro_cdo get() const { return cdo_; }

private:
    mstro_cdo cdo_ = nullptr;
};

std::size_t drain(mstro_subscription subscription)
{
    std::size_t count = 0;
    mstro_pool_event head = nullptr;
    check(mstro_subscription_poll(subscription, &head), "poll");
    for (mstro_pool_event event = head; event != nullptr; event = event->next) {
        if (event->kind == MSTRO_POOL_EVENT_OFFER &&
            std::string(event->payload.offer.cdo_name) == "c++") {
            ++count;
        }
    }
    if (head != nullptr) {
        check(mstro_pool_event_dispose(head), "dispose events");
    }
    return count;
}

void run()
{
    mstro_cdo_selector selector = nullptr;
    check(mstro_cdo_selector_create(nullptr, nullptr, "(has .maestro.core.cdo.name)", &selector),
          "selector");
    mstro_subscription subscription = nullptr;
    const mstro_pool_event_kind kinds = MSTRO_POOL_EVENT_OFFER | MSTRO_POOL_EVENT_APP_LEAVE;
    const mstro_subscription_opts options =
        MSTRO_SUBSCRIPTION_OPTS_DEFAULT | MSTRO_SUBSCRIPTION_OPTS_SIGNAL_BEFORE;
    check(mstro_subscribe(selector, kinds, options, &subscription), "subscribe");
    check(mstro_cdo_selector_dispose(selector), "dispose selector");
    {
        std::vector<double> field(1000, 1.5);
        std::uint64_t bytes = field.size() * sizeof(double);
        Cdo source("c++");
        check(mstro_cdo_attribute_set(source.get(), MSTRO_ATTR_CORE_CDO_RAW_PTR, field.data(),
                                      false, true),
              "raw-ptr");
        check(mstro_cdo_attribute_set(source.get(), MSTRO_ATTR_CORE_CDO_SCOPE_LOCAL_SIZE, &bytes,
                                      true, false),
              "local-size");
        check(mstro_cdo_offer(source.get()), "offer");
        Cdo sink("c++");
        check(mstro_cdo_require(sink.get()), "require");
        check(mstro_cdo_demand(sink.get()), "demand");
        void *data = nullptr;
        std::int64_t length = 0;
        check(mstro_cdo_access_ptr(sink.get(), &data, &length), "access");
        enum mstro_cdo_attr_value_type type = MSTRO_CDO_ATTR_VALUE_INVALID;
        const void *value = nullptr;
        check(mstro_cdo_attribute_get(sink.get(), MSTRO_ATTR_CORE_CDO_SCOPE_LOCAL_SIZE, &type,
                                      &value),
              "get");
        if (static_cast<std::uint64_t>(length) != bytes || type != MSTRO_CDO_ATTR_VALUE_uint64 ||
            *static_cast<const std::uint64_t *>(value) != bytes ||
            static_cast<const double *>(data)[999] != 1.5) {
            throw std::runtime_error("the data are not what was offered");
        }
        check(mstro_cdo_withdraw(source.get()), "withdraw");
    }
    std::size_t offers = 0;
    for (int i = 0; i < 1000 && offers == 0; ++i) {
        timespec until{};
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += 1;
        mstro_pool_event head = nullptr;
        if (mstro_subscription_timedwait(subscription, &until, &head) == MSTRO_OK) {
            for (mstro_pool_event event = head; event != nullptr; event = event->next) {
                offers += event->kind == MSTRO_POOL_EVENT_OFFER && event->before;
            }
            check(mstro_pool_event_dispose(head), "dispose events");
        }
    }
    offers += drain(subscription);
    check(mstro_subscription_dispose(subscription), "dispose subscription");
    if (offers != 1) {
        throw std::runtime_error("expected one offer event");
    }
}

} // namespace

int main()
{
    try {
        check(mstro_init(std::getenv("MSTRO_WORKFLOW_NAME") == nullptr ? "c++ workflow" : nullptr,
                         "c++ caller", 0),
              "init");
        run();
        check(mstro_finalize(), "finalize");
    } catch (const std::exception &error) {
        std::cerr << "cxx_caller: " << error.what() << '\n';
        return EXIT_FAILURE;
    }
    std::cout << "ok\n";
    return EXIT_SUCCESS;
}
