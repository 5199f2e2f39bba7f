/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A component in strict C99 to C23, which uses maestro.h as third-party code does: enumerations by
 * their tags, bits combined with |, the data of a demanded CDO freed after its disposal, MARS
 * keywords without any configuration, two users of the library in one process. Works alone. Prints
 * the attributes and "ok", and exits with 0.
 *
 *   gcc -std=c99 -Wall -Wextra -Werror tests/e2e/c_caller.c -o c_caller \
 *       $(pkg-config --cflags --libs maestro)
 */
#include <maestro.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME "class:rd,date:20241122,step:24"
#define REQUIRE(condition) require((condition), #condition, __LINE__)
#define CHECK(call) require((call) == MSTRO_OK, #call, __LINE__)

static void require(bool holds, const char *what, int line)
{
    if (!holds) {
        fprintf(stderr, "c_caller: line %d: %s: %s\n", line, what, mstro_last_error());
        exit(EXIT_FAILURE);
    }
}

static mstro_cdo offer(double *field, uint64_t bytes)
{
    mstro_cdo cdo = NULL;
    int64_t step = 24;
    uint64_t time_of_day = 1200;
    const char *date = "20241122", *range = "0-24";
    CHECK(mstro_cdo_declare(NAME, MSTRO_ATTR_DEFAULT, &cdo));
    CHECK(mstro_cdo_attribute_set(cdo, MSTRO_ATTR_CORE_CDO_RAW_PTR, field, false, true));
    CHECK(mstro_cdo_attribute_set(cdo, MSTRO_ATTR_CORE_CDO_SCOPE_LOCAL_SIZE, &bytes, true, false));
    CHECK(mstro_cdo_attribute_set(cdo, ".maestro.ecmwf.step", &step, true, false));
    CHECK(mstro_cdo_attribute_set(cdo, ".maestro.ecmwf.time", &time_of_day, true, false));
    CHECK(mstro_cdo_attribute_set(cdo, ".maestro.ecmwf.date", &date, true, false));
    REQUIRE(mstro_cdo_attribute_set(cdo, ".maestro.ecmwf.step", &range, true, false) ==
            MSTRO_NOMATCH);
    REQUIRE(strstr(mstro_last_error(), "0-24") != NULL);
    CHECK(mstro_cdo_offer(cdo));
    return cdo;
}

static void demand(const double *field, uint64_t bytes)
{
    mstro_cdo cdo = NULL;
    void *data = NULL;
    int64_t length = 0;
    enum mstro_cdo_attr_value_type type = MSTRO_CDO_ATTR_VALUE_INVALID;
    const void *value = NULL;
    CHECK(mstro_cdo_declare(NAME, MSTRO_ATTR_DEFAULT, &cdo));
    CHECK(mstro_cdo_require(cdo));
    CHECK(mstro_cdo_demand(cdo));
    CHECK(mstro_cdo_access_ptr(cdo, &data, &length));
    CHECK(mstro_cdo_attributes_print(cdo));
    CHECK(mstro_cdo_attribute_get(cdo, ".maestro.ecmwf.date", &type, &value));
    REQUIRE(type == MSTRO_CDO_ATTR_VALUE_cstring);
    REQUIRE(strcmp(*(const char *const *)value, "20241122") == 0);
    CHECK(mstro_cdo_dispose(cdo));
    REQUIRE((uint64_t)length == bytes && memcmp(data, field, bytes) == 0);
    free(data);
}

static int count_offers(mstro_subscription subscription)
{
    int count = 0;
    mstro_pool_event head = NULL;
    CHECK(mstro_subscription_poll(subscription, &head));
    for (mstro_pool_event event = head; event != NULL; event = event->next) {
        count += event->kind == MSTRO_POOL_EVENT_OFFER;
    }
    CHECK(mstro_pool_event_dispose(head));
    return count;
}

int main(void)
{
    enum mstro_subscription_opts flags =
        MSTRO_SUBSCRIPTION_OPTS_DEFAULT | MSTRO_SUBSCRIPTION_OPTS_SIGNAL_BEFORE;
    enum mstro_pool_event_kind kinds = MSTRO_POOL_EVENT_OFFER | MSTRO_POOL_EVENT_DISPOSE;
    mstro_subscription subscription = NULL;
    mstro_cdo_selector selector = NULL;
    double field[100];
    for (int i = 0; i < 100; i++) {
        field[i] = i / 4.0;
    }
    CHECK(mstro_init("c workflow", "c caller", 0));
    REQUIRE(mstro_init("c workflow", "another user", 0) == MSTRO_NOT_TWICE);
    CHECK(mstro_finalize());
    CHECK(mstro_cdo_selector_create(NULL, ".maestro.ecmwf.", "(step = 24)", &selector));
    CHECK(mstro_subscribe(selector, kinds, flags, &subscription));
    CHECK(mstro_cdo_selector_dispose(selector));
    mstro_cdo source = offer(field, sizeof field);
    demand(field, sizeof field);
    CHECK(mstro_cdo_withdraw(source));
    CHECK(mstro_cdo_dispose(source));
    REQUIRE(count_offers(subscription) == 1);
    CHECK(mstro_subscription_dispose(subscription));
    CHECK(mstro_finalize());
    puts("ok");
    return EXIT_SUCCESS;
}
