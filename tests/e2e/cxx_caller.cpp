/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A component in C++98 to C++20, which uses maestro.h as ECMWF's multio and others do: the header
 * inside an extern "C" block of the user's own, operators | on both enumerations (one through int),
 * handles compared with 0, the data of a demanded CDO freed after its disposal, MARS keywords
 * without any configuration, two users of the library in one process. Works alone, or with the pool
 * manager of MSTRO_POOL_MANAGER_INFO. Prints the attributes and "ok", and exits with 0.
 *
 *   g++ -std=c++17 -Wall -Wextra -Werror tests/e2e/cxx_caller.cpp -o cxx_caller \
 *       $(pkg-config --cflags --libs maestro)
 */
extern "C" {
#include <maestro/maestro.h>
}

#include <stdint.h>
#include <time.h>

#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

inline mstro_subscription_opts operator|(mstro_subscription_opts a, mstro_subscription_opts b)
{
    return static_cast<mstro_subscription_opts>(static_cast<int>(a) | static_cast<int>(b));
}

inline mstro_pool_event_kind operator|(mstro_pool_event_kind a, mstro_pool_event_kind b)
{
    return static_cast<mstro_pool_event_kind>(static_cast<int>(a) | static_cast<int>(b));
}

namespace
{

void check(mstro_status status, const std::string &what)
{
    if (status != MSTRO_OK) {
        throw std::runtime_error(what + ": " + mstro_status_description(status) + ": " +
                                 mstro_last_error());
    }
}

void require(bool holds, const std::string &what)
{
    if (!holds) {
        throw std::runtime_error(what);
    }
}

class Cdo
{
  public:
    explicit Cdo(const std::string &name) : cdo_(0)
    {
        check(mstro_cdo_declare(name.c_str(), MSTRO_ATTR_DEFAULT, &cdo_), "declare");
    }
    ~Cdo()
    {
        mstro_cdo_dispose(cdo_);
    }
    mstro_cdo get() const
    {
        return cdo_;
    }
    template <typename T> mstro_status set(const char *key, const T &value)
    {
        T copy(value);
        return mstro_cdo_attribute_set(cdo_, key, &copy, true, false);
    }

  private:
    Cdo(const Cdo &);
    Cdo &operator=(const Cdo &);
    mstro_cdo cdo_;
};

class Subscription
{
  public:
    Subscription(mstro_cdo_selector selector, mstro_pool_event_kind kinds,
                 enum mstro_subscription_opts flags)
        : subscription_(0)
    {
        check(mstro_subscribe(selector, kinds, flags, &subscription_), "subscribe");
    }
    ~Subscription()
    {
        mstro_subscription_dispose(subscription_);
    }
    /* The offers of `name` that have come until one did; none within ten seconds: 0. */
    std::size_t offers(const std::string &name)
    {
        std::size_t count = 0;
        for (int i = 0; i < 10 && count == 0; ++i) {
            struct timespec until;
            clock_gettime(CLOCK_REALTIME, &until);
            until.tv_sec += 1;
            mstro_pool_event head = 0;
            if (mstro_subscription_timedwait(subscription_, &until, &head) != MSTRO_OK) {
                continue;
            }
            for (mstro_pool_event event = head; event != 0; event = event->next) {
                if (event->kind == MSTRO_POOL_EVENT_OFFER &&
                    event->payload.offer.cdo_name == name && event->offer.cdo_name == name &&
                    event->before) {
                    ++count;
                }
            }
            check(mstro_pool_event_dispose(head), "dispose events");
        }
        return count;
    }

  private:
    Subscription(const Subscription &);
    Subscription &operator=(const Subscription &);
    mstro_subscription subscription_;
};

const char *const name = "class:rd,date:20241122,step:24";

void set_keywords(Cdo &cdo)
{
    const char *text = "rd";
    check(cdo.set(".maestro.ecmwf.class", text), "class");
    check(cdo.set(".maestro.ecmwf.step", static_cast<int64_t>(24)), "step");
    check(cdo.set(".maestro.ecmwf.param", static_cast<int64_t>(260048)), "param");
    static const char *const texts[] = {
        "class",   "expver",     "stream",   "date",  "time",       "domain",    "type",
        "levtype", "experiment", "activity", "model", "resolution", "frequency", "direction"};
    for (std::size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i) {
        const std::string key = std::string(".maestro.ecmwf.") + texts[i];
        text = i % 2 == 0 ? "0" : "of a text";
        check(cdo.set(key.c_str(), text), key);
    }
    static const char *const numbers[] = {"anoffset", "levelist", "generation", "realization"};
    for (std::size_t i = 0; i < sizeof numbers / sizeof numbers[0]; ++i) {
        const std::string key = std::string(".maestro.ecmwf.") + numbers[i];
        check(cdo.set(key.c_str(), static_cast<int64_t>(-1)), key);
    }
    check(cdo.set(".maestro.ecmwf.time", static_cast<uint64_t>(1200)), "time");
    mstro_timestamp day;
    day.sec = 1732233600;
    day.nsec = day.offset = 0;
    check(cdo.set(".maestro.ecmwf.date", day), "date as a timestamp");
    text = "20241122";
    check(cdo.set(".maestro.ecmwf.date", text), "date as a text");
    text = "0-24";
    require(cdo.set(".maestro.ecmwf.step", text) == MSTRO_NOMATCH, "a range is no step");
    const std::string message(mstro_last_error());
    require(message.find(".maestro.ecmwf.step") != std::string::npos &&
                message.find("int()") != std::string::npos &&
                message.find("0-24") != std::string::npos,
            "the message names key, type and value: " + message);
}

/* What MSTRO_DROP_UNKNOWN_ATTRIBUTES=1 makes of a key that no schema has, when it is read back. */
void check_unknown(Cdo &cdo)
{
    const bool dropped = std::getenv("MSTRO_DROP_UNKNOWN_ATTRIBUTES") != 0;
    require(cdo.set(".maestro.nobody.key", static_cast<int64_t>(7)) ==
                (dropped ? MSTRO_OK : MSTRO_NOENT),
            "a key that no schema has");
    enum mstro_cdo_attr_value_type type = MSTRO_CDO_ATTR_VALUE_INVALID;
    const void *value = 0;
    require(mstro_cdo_attribute_get(cdo.get(), ".maestro.nobody.key", &type, &value) ==
                    MSTRO_NOENT &&
                value == 0,
            "an attribute that was dropped is not set");
}

void demand_and_free(const std::vector<double> &field)
{
    void *data = 0;
    int64_t length = 0;
    {
        Cdo sink(name);
        check(mstro_cdo_require(sink.get()), "require");
        check(mstro_cdo_demand(sink.get()), "demand");
        check(mstro_cdo_access_ptr(sink.get(), &data, &length), "access");
        check(mstro_cdo_attributes_print(sink.get()), "print");
        enum mstro_cdo_attr_value_type type = MSTRO_CDO_ATTR_VALUE_INVALID;
        const void *value = 0;
        check(mstro_cdo_attribute_get(sink.get(), ".maestro.ecmwf.step", &type, &value), "get");
        require(type == MSTRO_CDO_ATTR_VALUE_int64 && *static_cast<const int64_t *>(value) == 24,
                "the step travels");
    }
    require(static_cast<std::size_t>(length) == field.size() * sizeof(double) &&
                static_cast<const double *>(data)[999] == field[999],
            "the data are not what was offered");
    std::free(data);
    Cdo unread(name);
    check(mstro_cdo_require(unread.get()), "require");
    check(mstro_cdo_demand(unread.get()), "demand");
}

void exchange()
{
    std::vector<double> field(1000, 1.5);
    uint64_t bytes = field.size() * sizeof(double);
    Cdo source(name);
    check(
        mstro_cdo_attribute_set(source.get(), MSTRO_ATTR_CORE_CDO_RAW_PTR, &field[0], false, true),
        "raw-ptr");
    check(source.set(MSTRO_ATTR_CORE_CDO_SCOPE_LOCAL_SIZE, bytes), "local-size");
    set_keywords(source);
    check_unknown(source);
    check(mstro_cdo_offer(source.get()), "offer");
    demand_and_free(field);
    check(mstro_cdo_withdraw(source.get()), "withdraw");
}

void run()
{
    mstro_cdo_selector selector = 0;
    check(mstro_cdo_selector_create(0, ".maestro.ecmwf.", "(step = 24)", &selector), "selector");
    Subscription subscription(selector, MSTRO_POOL_EVENT_OFFER | MSTRO_POOL_EVENT_APP_LEAVE,
                              MSTRO_SUBSCRIPTION_OPTS_DEFAULT |
                                  MSTRO_SUBSCRIPTION_OPTS_SIGNAL_BEFORE);
    check(mstro_cdo_selector_dispose(selector), "dispose selector");
    exchange();
    require(subscription.offers(name) == 1, "expected one offer event");
}

} // namespace

int main()
{
    try {
        const char *workflow = std::getenv("MSTRO_WORKFLOW_NAME") == 0 ? "c++ workflow" : 0;
        check(mstro_init(workflow, "c++ caller", 0), "init");
        require(mstro_init(workflow, "another user", 0) == MSTRO_NOT_TWICE, "the second init");
        check(mstro_finalize(), "finalize of one user");
        run();
        check(mstro_finalize(), "finalize");
        require(mstro_finalize() == MSTRO_UNINIT, "one finalize too many");
    } catch (const std::exception &error) {
        std::cerr << "cxx_caller: " << error.what() << '\n';
        return EXIT_FAILURE;
    }
    std::cout << "ok\n";
    return EXIT_SUCCESS;
}
