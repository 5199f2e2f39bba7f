/* SPDX-License-Identifier: BSD-3-Clause */
#include "programs/vampire-top/plain.h"

#include <string.h>

#include "programs/vampire-top/page.h"

#define COLUMNS 100
/* By name; the rest is one row. */
#define COMPONENTS_SHOWN 40
#define PAIRS_SHOWN 20
#define PAUSE_MS 200

/* Without the blanks at its end; losses are marked, since there are no colours. */
static void print_line(FILE *out, const struct page_line *line)
{
    size_t bytes = strlen(line->text);
    while (bytes > 0 && line->text[bytes - 1] == ' ') {
        bytes--;
    }
    (void)fprintf(out, "%s%.*s\n", line->mark == PAGE_LOSS ? "! " : "  ", (int)bytes, line->text);
}

static void print_components(const struct top_snapshot *snapshot, size_t count, FILE *out)
{
    struct page_line line;
    page_component_title(&line, snapshot, COLUMNS);
    print_line(out, &line);
    for (size_t i = 0; i < count && i < COMPONENTS_SHOWN; i++) {
        page_component(&line, snapshot, &snapshot->component_rows[i], COLUMNS);
        print_line(out, &line);
    }
    if (count > COMPONENTS_SHOWN) {
        struct top_component_row rest;
        top_rest_of_components(snapshot, count, 0, COMPONENTS_SHOWN, &rest);
        page_component(&line, snapshot, &rest, COLUMNS);
        print_line(out, &line);
    }
}

static void print_pairs(const struct top_snapshot *snapshot, size_t count, FILE *out)
{
    struct page_line line;
    page_pair_title(&line, snapshot, COLUMNS);
    print_line(out, &line);
    for (size_t i = 0; i < count && i < PAIRS_SHOWN; i++) {
        page_pair(&line, snapshot, &snapshot->pairs[i], COLUMNS);
        print_line(out, &line);
    }
    if (count > PAIRS_SHOWN) {
        struct top_pair_row rest;
        top_rest_of_pairs(snapshot, count, 0, PAIRS_SHOWN, &rest);
        page_pair(&line, snapshot, &rest, COLUMNS);
        print_line(out, &line);
    }
}

static int print_block(struct top_snapshot *snapshot, const struct top_choice *choice,
                       const char *name, FILE *out, struct vamp_err *err)
{
    struct page_line head[PAGE_HEAD_LINES];
    size_t components = 0;
    size_t pairs = 0;
    top_order(snapshot, choice, &components, &pairs);
    unsigned head_lines = page_head(head, snapshot, name, PAGE_COLUMNS, false);
    for (unsigned i = 0; i < head_lines; i++) {
        print_line(out, &head[i]);
    }
    struct page_line attention[PAGE_ATTENTION_LINES];
    const unsigned attention_lines =
        page_attention(attention, PAGE_ATTENTION_LINES, snapshot, COLUMNS);
    for (unsigned i = 0; i < attention_lines; i++) {
        print_line(out, &attention[i]);
    }
    print_components(snapshot, components, out);
    print_pairs(snapshot, pairs, out);
    (void)fputc('\n', out);
    /* A reader of a pipe needs each bucket at once. */
    return fflush(out) == 0 ? 0 : vamp_err_set_errno(err, errno, "print");
}

static int show_newest(struct top_input *input, const struct top_model *model,
                       const struct top_show *show, FILE *out, struct vamp_err *err)
{
    struct top_snapshot snapshot = {.any = false};
    int code = top_snapshot_take(&snapshot, model, show->mode, err);
    if (code != 0) {
        return code;
    }
    code = snapshot.any
               ? print_block(&snapshot, &show->choice, top_input_name(input), out, err)
               : vamp_err_set(err, -ENODATA, "%s: it has no bucket%s", top_input_name(input),
                              snapshot.bad_lines > 0 ? "; is it a JSON lines output of vampire?"
                                                     : " yet");
    top_snapshot_done(&snapshot);
    return code;
}

/* The run has ended: its buckets were shown, but not what was lost after the last of them. */
static int show_end(const struct top_model *model, FILE *out, struct vamp_err *err)
{
    struct top_snapshot snapshot = {.any = false};
    int code = top_snapshot_take(&snapshot, model, TOP_MODE_SUMS, err);
    if (code != 0) {
        return code;
    }
    struct page_line losses[PAGE_LOSS_LINES];
    unsigned lines = page_losses(losses, &snapshot, PAGE_COLUMNS);
    (void)fprintf(out, "  ended: %s\n", snapshot.end_reason);
    for (unsigned i = 0; i < lines; i++) {
        print_line(out, &losses[i]);
    }
    (void)fputc('\n', out);
    top_snapshot_done(&snapshot);
    return fflush(out) == 0 ? 0 : vamp_err_set_errno(err, errno, "print");
}

/* The newest state was shown, or the file is not one of vampire's. */
static bool is_all(const struct top_input *input, const struct top_model *model,
                   const struct top_show *show, bool any)
{
    const bool settled = top_input_is_settled(input);
    return (show->once && (any || settled)) || (settled && top_model_is_foreign(model));
}

int top_plain_run(struct top_input *input, struct top_model *model, const struct top_show *show,
                  FILE *out, struct vamp_err *err)
{
    bool any = false;
    for (;;) {
        enum top_input_state state = TOP_INPUT_IDLE;
        int code = top_input_read(input, model, &state, err);
        if (code != 0) {
            return code;
        }
        any = any || state == TOP_INPUT_BUCKET;
        if (state == TOP_INPUT_END) {
            return show->once || !any ? show_newest(input, model, show, out, err) : 0;
        }
        if (state == TOP_INPUT_IDLE && is_all(input, model, show, any)) {
            return show_newest(input, model, show, out, err);
        }
        if (state == TOP_INPUT_BUCKET && !show->once) {
            code = show_newest(input, model, show, out, err);
        } else if (state == TOP_INPUT_CLOSED && !show->once && any) {
            code = show_end(model, out, err);
        }
        if (code != 0) {
            return code;
        }
        if (state == TOP_INPUT_IDLE) {
            top_input_wait(input, -1, PAUSE_MS);
        }
    }
}
