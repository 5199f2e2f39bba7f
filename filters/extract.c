/* SPDX-License-Identifier: BSD-3-Clause */
#include "filters/extract.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filters/expression_tree.h"

struct vamp_extract {
    struct vamp_expression expression; /* shared by the terms */
    struct tally tally;
    struct node terms[VAMP_EXTRACT_MAX];
    const char *names[VAMP_EXTRACT_MAX];
    unsigned count;
};

int vamp_extract_create(struct vamp_extract **ret_extract, struct vamp_err *err)
{
    struct vamp_extract *extract = calloc(1, sizeof *extract);
    if (extract == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "prepare the attributes");
    }
    extract->expression.captures = true;
    extract->expression.tally = &extract->tally;
    extract->tally.allowance = VAMP_EXPRESSION_ALLOWANCE_MAX;
    *ret_extract = extract;
    return 0;
}

void vamp_extract_free(struct vamp_extract *extract)
{
    if (extract != NULL) {
        vamp_regexes_free(&extract->expression);
        vamp_arena_done(&extract->expression.arena);
        free(extract);
    }
}

int vamp_extract_add(struct vamp_extract *extract, const char *text, struct vamp_err *err)
{
    char default_pattern[VAMP_EXPRESSION_PATTERN_BYTES_MAX + 1];
    const size_t length = strcspn(text, "=");
    const char *pattern = default_pattern;
    if (text[length] == '=') {
        pattern = &text[length + 1];
    }
    if (extract->count == VAMP_EXTRACT_MAX) {
        return vamp_err_set(err, -E2BIG, "more than %d attributes", VAMP_EXTRACT_MAX);
    }
    char *name = vamp_arena_alloc(&extract->expression.arena, length + 1);
    if (name == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "prepare the attributes");
    }
    memcpy(name, text, length);
    struct node *term = &extract->terms[extract->count];
    extract->names[extract->count++] = name;
    (void)snprintf(default_pattern, sizeof default_pattern, "(?:^|,)\\Q%s\\E[:=]([^,]*)", name);
    if (strlen(pattern) > VAMP_EXPRESSION_PATTERN_BYTES_MAX) {
        return vamp_err_set(err, -E2BIG, "a pattern of more than %d bytes",
                            VAMP_EXPRESSION_PATTERN_BYTES_MAX);
    }
    term->kind = NODE_REGEX;
    const int status =
        vamp_regex_add(&extract->expression, pattern, strlen(pattern), &term->regex, err);
    if (status != 0) {
        return status;
    }
    const unsigned groups = vamp_regex_groups(term->regex);
    if (groups != 1) {
        return vamp_err_set(err, -EINVAL,
                            "a pattern with %u groups: expected one, which is the value, such as "
                            "\"step=_step([0-9]+)_\"; others are (?:...)",
                            groups);
    }
    return 0;
}

const char *const *vamp_extract_names(const struct vamp_extract *extract, unsigned *ret_count)
{
    *ret_count = extract->count;
    return extract->names;
}

bool vamp_extract_find(const struct vamp_extract *extract, unsigned number, const char *text,
                       size_t length, const char **ret_value, size_t *ret_length)
{
    const struct vamp_value value = {.type = VAMP_VALUE_TEXT, .text = {text, length}};
    size_t begin = 0;
    if (vamp_pattern_match(&extract->expression, &extract->terms[number], &value) <= 0 ||
        !vamp_regex_group(&extract->expression, &begin, ret_length)) {
        return false;
    }
    *ret_value = text + begin;
    return true;
}

uint64_t vamp_extract_cut(const struct vamp_extract *extract)
{
    return extract->tally.cut;
}
