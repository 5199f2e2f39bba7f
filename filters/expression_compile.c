/* SPDX-License-Identifier: BSD-3-Clause */
/* Creation and end of an expression. */
#include "filters/expression_tree.h"

#include <assert.h>
#include <stdlib.h>

int vamp_expression_compile(const char *text, const struct vamp_vocabulary *vocabulary,
                            struct vamp_expression **ret_expression, struct vamp_err *err)
{
    struct vamp_expression *expression = calloc(1, sizeof(*expression));
    if (expression == NULL) {
        return vamp_err_set(err, -ENOMEM, "compile a filter: no memory");
    }
    struct compiler compiler = {.vocabulary = vocabulary, .expression = expression, .err = err};
    expression->tally = vamp_arena_alloc(&expression->arena, sizeof(*expression->tally));
    int rc = expression->tally == NULL ? vamp_no_memory(&compiler)
                                       : vamp_parse_text(&compiler, text, NULL, &expression->root);
    assert(rc != 0 || (compiler.depth == 0 && compiler.references == NULL));
    if (rc == 0) {
        expression->steps = vamp_steps_create(&expression->arena, expression->root);
        rc = expression->steps == NULL ? vamp_no_memory(&compiler) : 0;
    }
    if (rc != 0) {
        vamp_expression_free(expression);
        return rc;
    }
    expression->tally->allowance = VAMP_EXPRESSION_ALLOWANCE_MAX;
    *ret_expression = expression;
    return 0;
}

void vamp_expression_free(struct vamp_expression *expression)
{
    if (expression != NULL) {
        vamp_regexes_free(expression);
        vamp_arena_done(&expression->arena);
        free(expression);
    }
}

uint64_t vamp_expression_cut(const struct vamp_expression *expression)
{
    return expression->tally->cut;
}
