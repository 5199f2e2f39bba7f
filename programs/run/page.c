/* SPDX-License-Identifier: BSD-3-Clause */
#include "programs/run/page.h"

#include <inttypes.h>
#include <stdarg.h>

#include "vampire/core/utf8.h"
#include "vampire/core/values.h"

#define FILES_SHOWN 8

#define LINE_BYTES 4608 /* room for a path */

static void VAMP_PRINTF(2, 0)
    print_clean(const struct vamp_page *page, const char *format, va_list arguments)
{
    char text[LINE_BYTES];
    (void)vsnprintf(text, sizeof text, format, arguments);
    vamp_utf8_clean(text);
    (void)fprintf(page->stream, "%s\n", text);
}

void vamp_page_title(const struct vamp_page *page, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_clean(page, format, arguments);
    va_end(arguments);
}

void vamp_page_line(const struct vamp_page *page, const char *name, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)fprintf(page->stream, "  %-*s ", page->columns, name);
    print_clean(page, format, arguments);
    va_end(arguments);
}

void vamp_page_alarms(const struct vamp_page *page, const struct vamp_alarms *alarms, bool all)
{
    const char *word = "alarms";
    for (unsigned i = 0; i < vamp_alarms_count(alarms); i++) {
        struct vamp_alarm_state_count rule;
        vamp_alarms_state(alarms, i, &rule);
        const bool has_fired = rule.fired > 0 || rule.pending > 0;
        const bool has_reached_limit = rule.not_followed > 0 || rule.delayed > 0;
        if (!all && !has_fired && !has_reached_limit) {
            continue;
        }
        char bound[96] = "", late[64] = "";
        if (rule.not_followed > 0) {
            (void)snprintf(bound, sizeof bound,
                           "; follows %" PRIu64 " series, %" PRIu64 " MORE ARE NOT FOLLOWED",
                           rule.followed, rule.not_followed);
        }
        if (rule.delayed > 0) {
            (void)snprintf(late, sizeof late, "; %" PRIu64 " changes a bucket late", rule.delayed);
        }
        vamp_page_line(page, word,
                       "%s (%s): fired %" PRIu64 " time%s, %" PRIu64 " firing, %" PRIu64
                       " pending%s%s",
                       rule.name, vamp_alarm_severity_words[rule.severity], rule.fired,
                       vamp_plural(rule.fired), rule.firing, rule.pending, bound, late);
        word = "";
    }
}

struct files {
    const struct vamp_page *page;
    unsigned count;
    const char *last; /* the last path; not printed yet */
};

static void print_path(void *context, const char *path)
{
    struct files *files = context;
    if (files->count++ < FILES_SHOWN) {
        vamp_page_line(files->page, "", "%s", path);
    } else {
        files->last = path;
    }
}

static void print_output(const struct vamp_page *page, const struct vamp_run_output *output)
{
    struct vamp_output_account account;
    struct vamp_output_state state;
    char lost[48] = "", deleted[64] = "", left_out[128] = "";
    vamp_run_output_account(output, &account);
    vamp_output_state(output->output, &state);
    if (account.lost > 0) {
        (void)snprintf(lost, sizeof lost, ", %" PRIu64 " LOST", account.lost);
    }
    if (state.deleted > 0) {
        (void)snprintf(deleted, sizeof deleted, ", %" PRIu64 " older file%s deleted", state.deleted,
                       vamp_plural(state.deleted));
    }
    if (state.left_out > 0) {
        (void)snprintf(left_out, sizeof left_out, ", %" PRIu64 " %s LEFT OUT at a limit",
                       state.left_out, state.left_out_what);
    }
    vamp_page_line(page, account.name, "%" PRIu64 " %s%s written%s%s%s", account.written,
                   state.unit, vamp_plural(account.written), lost, deleted, left_out);
    if (output->outages > 0) {
        vamp_page_line(page, "", "failed to write %u time%s%s: %.300s", output->outages,
                       vamp_plural(output->outages), account.lost == 0 ? ", nothing was lost" : "",
                       output->outage);
    }
    struct files files = {.page = page};
    const size_t in_all = vamp_run_output_paths(output, print_path, &files);
    if (in_all > FILES_SHOWN + 1) {
        vamp_page_line(page, "", "... %zu more, the last one:", in_all - FILES_SHOWN);
    }
    if (files.last != NULL) {
        vamp_page_line(page, "", "%s", files.last);
    }
}

void vamp_page_outputs(const struct vamp_page *page, const struct vamp_outputs *outputs)
{
    for (unsigned i = 0; i < outputs->count; i++) {
        print_output(page, &outputs->items[i]);
    }
}
