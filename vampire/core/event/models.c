/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/core/event/models.h"

#include <fnmatch.h>
#include <string.h>

#define CAPTURE "(*)"

int vamp_model_rule_check(const char *rule, struct vamp_err *err)
{
    const char *capture = strstr(rule, CAPTURE);
    const char *equals = strchr(rule, '=');
    const bool named = equals != NULL && equals != rule && equals[1] != '\0';
    if (capture != NULL ? capture[strlen(CAPTURE)] != '\0' : named) {
        return 0;
    }
    return vamp_err_set(err, -EINVAL,
                        "a model is \"MODEL=PATTERN\", such as \"ocean=NEMO*\", or a pattern in "
                        "which (*) stands for the model, such as \"(*) -- *\"");
}

/* "TEXT(*)PATTERN" */
static bool capture_fits(const char *rule, const char *capture, const char *name,
                         struct vamp_model_name *ret_model)
{
    const size_t text = (size_t)(capture - rule);
    const char *pattern = capture + strlen(CAPTURE);
    if (strncmp(rule, name, text) != 0) {
        return false;
    }
    const char *begin = name + text;
    for (size_t length = 1; begin[0] != '\0' && begin[length] != '\0'; length++) {
        if (fnmatch(pattern, begin + length, 0) == 0) {
            *ret_model = (struct vamp_model_name){begin, length};
            return true;
        }
    }
    return false;
}

/* "MODEL=PATTERN" */
static bool pattern_fits(const char *rule, const char *name, struct vamp_model_name *ret_model)
{
    const char *equals = strchr(rule, '=');
    if (equals == NULL || fnmatch(equals + 1, name, 0) != 0) {
        return false;
    }
    *ret_model = (struct vamp_model_name){rule, (size_t)(equals - rule)};
    return true;
}

struct vamp_model_name vamp_model_of(const struct vamp_model_rules *rules, const char *name)
{
    struct vamp_model_name model = {name, strlen(name)};
    bool found = model.length > VAMP_MODEL_NAME_MAX;
    for (size_t i = 0; !found && i < rules->count; i++) {
        const char *rule = rules->texts[i];
        const char *capture = strstr(rule, CAPTURE);
        found = capture != NULL ? capture_fits(rule, capture, name, &model)
                                : pattern_fits(rule, name, &model);
    }
    return model;
}
