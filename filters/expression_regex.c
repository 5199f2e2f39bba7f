/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Regular expressions; the only file that uses PCRE2.
 *
 * Step limit: PCRE2's own limit restarts at each position at which a match may begin, so it does
 * not limit a whole search. Instead, a callout before each element of the pattern counts steps and
 * ends the match at the limit. Counting triples the time of a match, so short texts are first
 * searched with a copy of the pattern without callouts, under a PCRE2 limit that keeps the search
 * of any text of that length cheap.
 *
 * Memory: all memory is allocated when the pattern is compiled. One warm-up match makes PCRE2's
 * backtracking frames grow to their limit; afterwards the allocator refuses all requests. Matches
 * therefore allocate nothing in any version of the library, and a match that needs more memory is
 * aborted.
 */
#include "filters/expression_tree.h"

#include <stdlib.h>
#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "vampire/core/values.h"

#define HEAP_LIMIT_KIB 512
#define NESTED_PARENTHESES_MAX 100
/* Maximum length of a text that is first searched without counting, and the step limit for that
 * search. Together they limit the search to less than 0.1 ms. */
#define QUICK_TEXT_BYTES 256
#define QUICK_STEPS 5000
/* An element that consumes several characters counts as one step per CHARACTERS_PER_STEP
 * characters. */
#define CHARACTERS_PER_STEP 32

struct regex_scratch {
    pcre2_general_context *general;
    pcre2_match_context *match;
    pcre2_match_data *data;
    bool matching; /* the allocator refuses memory */
                   /* State of the current match. */
    PCRE2_SIZE at;
    unsigned steps_left;
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

/* Called by PCRE2 before each element of a pattern. */
static int count_step(pcre2_callout_block *block, void *context)
{
    struct regex_scratch *scratch = context;
    const PCRE2_SIZE now = block->current_position;
    const PCRE2_SIZE moved = now > scratch->at ? now - scratch->at : scratch->at - now;
    const PCRE2_SIZE steps = 1 + moved / CHARACTERS_PER_STEP;
    if (steps > scratch->steps_left) {
        scratch->steps_left = 0;
        return PCRE2_ERROR_CALLOUT;
    }
    scratch->at = now;
    scratch->steps_left -= (unsigned)steps;
    return 0;
}

/* `further`: PCRE2_AUTO_CALLOUT (counts the steps of the pattern) and PCRE2_NO_AUTO_CAPTURE. */
static pcre2_code *compile(const char *pattern, size_t length, uint32_t further,
                           struct regex_scratch *scratch, int *ret_code, PCRE2_SIZE *ret_offset)
{
    /* Text from the wire may contain any bytes: invalid UTF-8 matches nothing, but the rest of the
     * text is searched. \C is disabled because it could stop inside a character. */
    const uint32_t options = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C |
                             PCRE2_DOLLAR_ENDONLY | further;
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

/* Runs a match that needs one frame per character, so that the frames grow to their limit. Returns
 * false if out of memory. */
static bool warm_up(struct regex_scratch *scratch)
{
    static const char pattern[] = "(*NO_START_OPT)(?:a|b)*c";
    const size_t length = (size_t)HEAP_LIMIT_KIB * 16;
    int rc = PCRE2_ERROR_NOMEMORY;
    PCRE2_SIZE offset;
    char *subject = malloc(length);
    pcre2_code *regex = compile(pattern, sizeof(pattern) - 1, 0, scratch, &rc, &offset);
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
        scratch->data = pcre2_match_data_create(2, scratch->general);
    }
    if (scratch->match == NULL || scratch->data == NULL) {
        scratch_done(scratch);
        return NULL;
    }
    (void)pcre2_set_callout(scratch->match, count_step, scratch);
    (void)pcre2_set_heap_limit(scratch->match, HEAP_LIMIT_KIB);
    if (!warm_up(scratch)) {
        scratch_done(scratch);
        return NULL;
    }
    return scratch;
}

/* Returns 0 or -errno with the error set. */
static int compile_both(const char *pattern, size_t length, uint32_t options,
                        struct regex_scratch *scratch, struct regex *regex, struct vamp_err *err)
{
    int code;
    PCRE2_SIZE offset = 0;
    regex->quick = compile(pattern, length, options, scratch, &code, &offset);
    if (regex->quick != NULL) {
        /* Fails if the system permits no memory for machine code, which is only an optimisation. */
        regex->machine_code = pcre2_jit_compile(regex->quick, PCRE2_JIT_COMPLETE) == 0;
        regex->counted =
            compile(pattern, length, options | PCRE2_AUTO_CALLOUT, scratch, &code, &offset);
    }
    if (regex->counted != NULL) {
        return 0;
    }
    unsigned char text[200] = "";
    if (code == PCRE2_ERROR_NOMEMORY || code == PCRE2_ERROR_HEAP_FAILED) {
        return vamp_err_set(err, -ENOMEM, "out of memory");
    }
    (void)pcre2_get_error_message(code, text, sizeof(text));
    return vamp_err_set(err, -EINVAL, "%s (at byte %zu of the pattern)", (const char *)text,
                        (size_t)offset);
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
        return vamp_err_set(err, -ENOMEM, "out of memory");
    }
    /* The expression owns everything that was compiled, also after a failure. */
    regex->next = expression->regexes;
    expression->regexes = regex;
    expression->regex_count++;
    *ret_regex = regex;
    return compile_both(pattern, length, expression->captures ? 0 : PCRE2_NO_AUTO_CAPTURE,
                        expression->scratch, regex, err);
}

/* `run` is pcre2_match or pcre2_jit_match. */
static int search(struct regex_scratch *scratch, __typeof__(pcre2_match) *run, const void *code,
                  const char *text, size_t length)
{
    scratch->matching = true;
    const int rc =
        run(code, (PCRE2_SPTR)vamp_text_or(text, ""), length, 0, 0, scratch->data, scratch->match);
    scratch->matching = false;
    return rc;
}

int vamp_regex_match(const struct vamp_expression *expression, const struct regex *regex,
                     const char *text, size_t length, unsigned *steps)
{
    struct regex_scratch *scratch = expression->scratch;
    int rc = PCRE2_ERROR_MATCHLIMIT;
    if (length <= QUICK_TEXT_BYTES) {
        (void)pcre2_set_match_limit(scratch->match, QUICK_STEPS / ((uint32_t)length + 1));
        rc = search(scratch, regex->machine_code ? pcre2_jit_match : pcre2_match, regex->quick,
                    text, length);
    }
    if (rc == PCRE2_ERROR_MATCHLIMIT || rc == PCRE2_ERROR_JIT_STACKLIMIT) {
        (void)pcre2_set_match_limit(scratch->match, UINT32_MAX);
        scratch->at = 0;
        scratch->steps_left = *steps;
        rc = search(scratch, pcre2_match, regex->counted, text, length);
        *steps = scratch->steps_left;
    }
    if (rc >= 0) {
        return 1;
    }
    return rc == PCRE2_ERROR_NOMATCH ? 0 : -1;
}

unsigned vamp_regex_groups(const struct regex *regex)
{
    uint32_t count = 0;
    (void)pcre2_pattern_info(regex->quick, PCRE2_INFO_CAPTURECOUNT, &count);
    return count;
}

bool vamp_regex_group(const struct vamp_expression *expression, size_t *ret_begin,
                      size_t *ret_length)
{
    const PCRE2_SIZE *ends = pcre2_get_ovector_pointer(expression->scratch->data);
    *ret_begin = ends[2];
    *ret_length = ends[3] - ends[2];
    return ends[2] != PCRE2_UNSET;
}

void vamp_regexes_free(struct vamp_expression *expression)
{
    for (struct regex *regex = expression->regexes; regex != NULL; regex = regex->next) {
        pcre2_code_free(regex->quick);
        pcre2_code_free(regex->counted);
    }
    scratch_done(expression->scratch);
}
