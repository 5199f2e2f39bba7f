/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Models: components that are ranks of one program, by their names. Rules say which name belongs to
 * which model; the first that fits decides:
 *   "MODEL=PATTERN"    names that fit the glob pattern are MODEL: "ocean=NEMO*"
 *   "TEXT(*)PATTERN"   the model is the shortest text after TEXT that is followed by what fits the
 *                      pattern: "(*) -- *" makes IFS of "IFS -- 0"
 * A name that no rule fits is a model of its own. Stateless; any thread.
 */
#ifndef VAMP_CORE_EVENT_MODELS_H
#define VAMP_CORE_EVENT_MODELS_H

#include <stdbool.h>
#include <stddef.h>

#include "vampire/core/err.h"

/* No rule is applied to a longer name, so that a long one costs little. */
#define VAMP_MODEL_NAME_MAX 255

/* 0; -EINVAL with a text that says how a rule reads. */
VAMP_MUST_CHECK int vamp_model_rule_check(const char *rule, struct vamp_err *err);

struct vamp_model_rules {
    const char *const *texts;
    size_t count;
};

/* The model of a component's name: a part of a rule or of the name, not terminated, at least one
 * byte unless the name is empty. */
struct vamp_model_name {
    const char *begin;
    size_t length;
};
struct vamp_model_name vamp_model_of(const struct vamp_model_rules *rules, const char *name);

#endif
