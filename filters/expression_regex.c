/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Regular expressions; the only file that uses PCRE2. A match runs under a limit of steps, and all
 * its memory is allocated when the pattern is compiled: one warm-up match grows PCRE2's
 * backtracking frames to their limit, and from then on the allocator refuses. So a match allocates
 * nothing, whatever the version of the library does inside; a match that would need more is cut
 * short.
 */
#include "filters/expression_tree.h"

#include <stdlib.h>
#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#define HEAP_LIMIT_KIB 512
#define NESTED_PARENTHESES_MAX 100

struct regex_scratch {
    pcre2_general_context *general;
    pcre2_match_context *match;
    pcre2_match_data *data;
    bool matching; /* the allocator refuses */
};

static void *scratch_malloc(size_t bytes, void *context)
{
    const struct regex_scratch *scratch = context;
    return scratch->matching ? NULL : malloc(bytes);
}

static void scratch_free(void *memory, void *context)
{
    (void)context;
    free(memory);
}

static void scratch_done(struct regex_scratch *scratch)
{
    if (scratch != NULL) {
        pcre2_match_data_free(scratch->data);
        pcre2_match_context_free(scratch->match);
        pcre2_general_context_free(scratch->general);
        free(scratch);
    }
}

static pcre2_code *compile(const char *pattern, size_t length, struct regex_scratch *scratch,
                           int *ret_code, PCRE2_SIZE *ret_offset)
{
    /* Any bytes may come from the wire: where the text is not UTF-8, nothing matches, but the rest
     * of the text is searched. \C could stop inside a character. */
    const uint32_t options = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C |
                             PCRE2_NO_AUTO_CAPTURE | PCRE2_DOLLAR_ENDONLY;
    pcre2_compile_context *context = pcre2_compile_context_create(scratch->general);
    if (context == NULL) {
        *ret_code = PCRE2_ERROR_NOMEMORY;
        return NULL;
    }
    (void)pcre2_set_parens_nest_limit(context, NESTED_PARENTHESES_MAX);
    pcre2_code *code =
        pcre2_compile((PCRE2_SPTR)pattern, length, options, ret_code, ret_offset, context);
    pcre2_compile_context_free(context);
    return code;
}

/* Grows the frames to their limit with a match that needs another one for each character. False
 * without memory. */
static bool warm_up(struct regex_scratch *scratch)
{
    static const char pattern[] = "(*NO_START_OPT)(?:a|b)*c";
    const size_t length = (size_t)HEAP_LIMIT_KIB * 16;
    int rc = PCRE2_ERROR_NOMEMORY;
    PCRE2_SIZE offset;
    char *subject = malloc(length);
    pcre2_code *regex = compile(pattern, sizeof(pattern) - 1, scratch, &rc, &offset);
    if (subject != NULL && regex != NULL) {
        memset(subject, 'a', length);
        rc = pcre2_match(regex, (PCRE2_SPTR)subject, length, 0, 0, scratch->data, scratch->match);
    }
    bool warmed = subject != NULL && regex != NULL && rc != PCRE2_ERROR_NOMEMORY;
    pcre2_code_free(regex);
    free(subject);
    return warmed;
}

static struct regex_scratch *scratch_create(void)
{
    struct regex_scratch *scratch = calloc(1, sizeof(*scratch));
    if (scratch == NULL) {
        return NULL;
    }
    scratch->general = pcre2_general_context_create(scratch_malloc, scratch_free, scratch);
    if (scratch->general != NULL) {
        scratch->match = pcre2_match_context_create(scratch->general);
        scratch->data = pcre2_match_data_create(1, scratch->general);
    }
    if (scratch->match == NULL || scratch->data == NULL) {
        scratch_done(scratch);
        return NULL;
    }
    (void)pcre2_set_match_limit(scratch->match, VAMP_EXPRESSION_STEPS_MAX);
    (void)pcre2_set_depth_limit(scratch->match, VAMP_EXPRESSION_STEPS_MAX);
    (void)pcre2_set_heap_limit(scratch->match, HEAP_LIMIT_KIB);
    if (!warm_up(scratch)) {
        scratch_done(scratch);
        return NULL;
    }
    return scratch;
}

int vamp_regex_add(struct vamp_expression *expression, const char *pattern, size_t length,
                   struct regex **ret_regex, struct vamp_err *err)
{
    if (expression->regex_count == VAMP_EXPRESSION_PATTERNS_MAX) {
        return vamp_err_set(err, -E2BIG, "more than %d of them in one filter",
                            VAMP_EXPRESSION_PATTERNS_MAX);
    }
    if (expression->scratch == NULL) {
        expression->scratch = scratch_create();
    }
    struct regex *regex = vamp_arena_alloc(&expression->arena, sizeof(*regex));
    if (expression->scratch == NULL || regex == NULL) {
        return vamp_err_set(err, -ENOMEM, "no memory");
    }
    int code;
    PCRE2_SIZE offset = 0;
    pcre2_code *compiled = compile(pattern, length, expression->scratch, &code, &offset);
    if (compiled == NULL) {
        unsigned char text[200] = "";
        if (code == PCRE2_ERROR_NOMEMORY || code == PCRE2_ERROR_HEAP_FAILED) {
            return vamp_err_set(err, -ENOMEM, "no memory");
        }
        (void)pcre2_get_error_message(code, text, sizeof(text));
        return vamp_err_set(err, -EINVAL, "%s (at byte %zu of the pattern)", (const char *)text,
                            (size_t)offset);
    }
    regex->code = compiled;
    regex->next = expression->regexes;
    expression->regexes = regex;
    expression->regex_count++;
    *ret_regex = regex;
    return 0;
}

int vamp_regex_match(const struct vamp_expression *expression, const struct regex *regex,
                     const char *text, size_t length)
{
    struct regex_scratch *scratch = expression->scratch;
    if (length > VAMP_EXPRESSION_SUBJECT_BYTES_MAX) {
        return -1;
    }
    scratch->matching = true;
    int rc = pcre2_match(regex->code, (PCRE2_SPTR)(length > 0 ? text : ""), length, 0, 0,
                         scratch->data, scratch->match);
    scratch->matching = false;
    if (rc >= 0) {
        return 1;
    }
    return rc == PCRE2_ERROR_NOMATCH ? 0 : -1;
}

void vamp_regexes_free(struct vamp_expression *expression)
{
    for (struct regex *regex = expression->regexes; regex != NULL; regex = regex->next) {
        pcre2_code_free(regex->code);
    }
    scratch_done(expression->scratch);
}
