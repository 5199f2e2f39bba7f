/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>

#include "programs/vampire-top/page.h"
#include "programs/vampire-top/show.h"

#define COLUMNS 100
/* By name; the rest is one row. */
static const size_t rows_shown[TOP_KINDS] = {40, 20, 20, 40};
#define PAUSE_MS 200

/* Without the blanks at its end; losses are marked, since there are no colours. */
static void print_lines(const struct page_line *lines, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        size_t bytes = strlen(lines[i].text);
        while (bytes > 0 && lines[i].text[bytes - 1] == ' ') {
            bytes--;
        }
        (void)printf("%s%.*s\n", lines[i].mark == PAGE_LOSS ? "! " : "  ", (int)bytes,
                     lines[i].text);
    }
}

/* A reader of a pipe needs each bucket at once. */
static int end_block(struct vamp_err *err)
{
    (void)putchar('\n');
    return fflush(stdout) == 0 ? 0 : vamp_err_set_errno(err, errno, "print");
}

static int show_newest(struct top_input *input, struct top_model *model,
                       const struct top_show *show, struct vamp_err *err)
{
    const char *name = top_input_name(input);
    struct top_snapshot snapshot = {.any = false};
    if (show->window_ns > 0) {
        top_model_window(model, show->window_ns);
    }
    int code = top_snapshot_take(&snapshot, model, show->mode,
                                 show->ranks ? TOP_RANKS : top_level_usual(model), err);
    if (code != 0) {
        return code;
    }
    if (snapshot.any) {
        struct page_line lines[PAGE_ATTENTION_LINES];
        _Static_assert(PAGE_ATTENTION_LINES >= PAGE_HEAD_LINES, "the head has no room");
        unsigned count = page_head(lines, &snapshot, name, TOP_COLUMNS);
        print_lines(lines, count);
        count = page_attention(lines, PAGE_ATTENTION_LINES, &snapshot, COLUMNS);
        print_lines(lines, count);
        for (enum top_kind kind = TOP_COMPONENTS; kind < TOP_KINDS; kind++) {
            top_choose(&snapshot.tables[kind], kind, &show->choice);
            for (size_t i = 0; page_table(lines, &snapshot, kind, 0, rows_shown[kind], i, COLUMNS);
                 i++) {
                print_lines(lines, 1);
            }
        }
        code = end_block(err);
    } else {
        code = vamp_err_set(
            err, -ENODATA, "%s: it has no bucket%s", name,
            snapshot.bad_lines > 0 ? "; is it a JSON lines output of vampire, version 2?" : " yet");
    }
    top_snapshot_done(&snapshot);
    return code;
}

/* The run has ended: its buckets were shown, but not what was lost after the last of them. */
static int show_end(const struct top_model *model, struct vamp_err *err)
{
    struct top_snapshot snapshot = {.any = false};
    int code = top_snapshot_take(&snapshot, model, TOP_MODE_SUMS, TOP_MODELS, err);
    if (code != 0) {
        return code;
    }
    struct page_line losses[PAGE_LOSS_LINES];
    (void)printf("  ended: %s\n", snapshot.end_reason);
    const unsigned count = page_losses(losses, &snapshot, TOP_COLUMNS);
    print_lines(losses, count);
    top_snapshot_done(&snapshot);
    return end_block(err);
}

int top_plain_run(struct top_input *input, struct top_model *model, const struct top_show *show,
                  struct vamp_err *err)
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
            return show->once || !any ? show_newest(input, model, show, err) : 0;
        }
        /* The newest state was shown, or the file is not one of vampire's. */
        const bool settled = top_input_is_settled(input);
        if (state == TOP_INPUT_IDLE &&
            ((show->once && (any || settled)) || (settled && top_model_is_foreign(model)))) {
            return show_newest(input, model, show, err);
        }
        if (state == TOP_INPUT_BUCKET && !show->once) {
            code = show_newest(input, model, show, err);
        } else if (state == TOP_INPUT_CLOSED && !show->once && any) {
            code = show_end(model, err);
        }
        if (code != 0) {
            return code;
        }
        if (state == TOP_INPUT_IDLE) {
            top_input_wait(input, -1, PAUSE_MS);
        }
    }
}
