/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "vampire/core/event/components.h"

static void expect_model(const char *const *texts, size_t count, const char *name,
                         const char *wanted)
{
    const struct vamp_model_rules rules = {texts, count};
    const struct vamp_model_name model = vamp_model_of(&rules, name);
    if (model.length != strlen(wanted) || memcmp(model.begin, wanted, model.length) != 0) {
        fail_msg("%s is of the model %.*s instead of %s", name, (int)model.length, model.begin,
                 wanted);
    }
}

static void rules_name_models(void **state)
{
    (void)state;
    const char *const *usual = vamp_model_rules_usual.texts;
    assert_int_equal(vamp_model_rules_usual.count, 2);
    expect_model(usual, 2, "Products 7", "Products");
    expect_model(usual, 2, "Products seven", "Products seven");
    expect_model(usual, 2, "IFS 47r3 -- 12", "IFS 47r3");
    expect_model(usual, 1, "IFS -- 0", "IFS");
    expect_model(usual, 1, "IFS-Nemo -- 499", "IFS-Nemo");
    expect_model(usual, 1, "a -- b -- c", "a");
    expect_model(usual, 1, " -- 1", " -- 1"); /* no empty model */
    expect_model(usual, 1, "Librarian_1", "Librarian_1");
    expect_model(usual, 1, "", "");
    static const char *const several[] = {"ocean=NEMO*", "ocean=OPA_[0-9]", "MIR_(*)_*", "(*)_*"};
    expect_model(several, 4, "NEMO -- 3", "ocean");
    expect_model(several, 4, "OPA_7", "ocean");
    expect_model(several, 4, "MIR_fast_2", "fast");
    expect_model(several, 4, "Maestro_OPA_1", "Maestro");
    expect_model(several, 4, "IFS -- 0", "IFS -- 0");
    expect_model(NULL, 0, "IFS -- 0", "IFS -- 0");
}

static void long_names_are_models_of_their_own(void **state)
{
    (void)state;
    static const char *const usual[] = {"(*) -- *"};
    char name[VAMP_MODEL_NAME_MAX + 2];
    memset(name, 'a', sizeof name);
    memcpy(name + 5, " -- ", 4);
    name[VAMP_MODEL_NAME_MAX] = '\0';
    expect_model(usual, 1, name, "aaaaa");
    name[VAMP_MODEL_NAME_MAX] = 'a';
    name[VAMP_MODEL_NAME_MAX + 1] = '\0';
    expect_model(usual, 1, name, name);
}

static void wrong_rules_are_refused_with_words(void **state)
{
    (void)state;
    static const char *const good[] = {"(*) -- *", "IFS=IFS -- *", "(*)?*", "a=b=c"};
    static const char *const bad[] = {"", "IFS", "=IFS*", "IFS=", "IFS -- *", "IFS(*)"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        assert_int_equal(vamp_model_rule_check(good[i], NULL), 0);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct vamp_err err = VAMP_ERR_NONE;
        assert_int_equal(vamp_model_rule_check(bad[i], &err), -EINVAL);
        assert_non_null(strstr(err.text, "(*) -- *"));
    }
}

static uint32_t join(struct vamp_components *components, uint64_t app_id, const char *name)
{
    const struct vamp_event event = {
        .kind = VAMP_EVENT_JOIN,
        .phase = VAMP_PHASE_AFTER,
        .present = VAMP_HAS_APP | VAMP_HAS_COMPONENT_NAME,
        .time_ns = (int64_t)app_id,
        .app_id = app_id,
        .name = name,
        .name_length = (uint32_t)strlen(name),
    };
    return vamp_components_observe(components, &event)->name_number;
}

static void components_know_their_models(void **state)
{
    (void)state;
    static const char *const usual[] = {"(*) -- *"};
    const struct vamp_model_rules rules = {usual, 1};
    struct vamp_components *components = NULL;
    assert_int_equal(vamp_components_create(8, &components, NULL), 0);
    vamp_components_set_models(components, &rules);
    const uint32_t first = join(components, 1, "IFS -- 0");
    const uint32_t second = join(components, 2, "IFS -- 1");
    const uint32_t alone = join(components, 3, "Librarian_1");
    const uint32_t same = join(components, 4, "IFS");
    const uint32_t reserved = join(components, 5, "(other)");
    assert_int_not_equal(first, second);
    assert_int_equal(vamp_components_model(components, first), same);
    assert_int_equal(vamp_components_model(components, second), same);
    assert_int_equal(vamp_components_model(components, same), same);
    assert_int_equal(vamp_components_model(components, alone), alone);
    assert_int_equal(vamp_components_model(components, reserved), reserved);
    assert_string_equal(vamp_components_name(components, same), "IFS");
    assert_int_equal(vamp_components_model(components, VAMP_NAME_OTHER), VAMP_NAME_OTHER);
    assert_int_equal(vamp_components_model(components, VAMP_NAME_UNKNOWN), VAMP_NAME_UNKNOWN);
    vamp_components_free(components);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_name_models),
        cmocka_unit_test(long_names_are_models_of_their_own),
        cmocka_unit_test(wrong_rules_are_refused_with_words),
        cmocka_unit_test(components_know_their_models),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
