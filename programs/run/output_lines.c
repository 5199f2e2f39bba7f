/* SPDX-License-Identifier: BSD-3-Clause */
#include "programs/run/output_lines.h"

#include <inttypes.h>

#define FILES_SHOWN 8

struct files {
    FILE *stream;
    unsigned count;
    const char *last; /* that is not printed yet */
};

static void print_line(FILE *stream, const char *text)
{
    (void)fprintf(stream, "  %-*s %s\n", VAMP_SUMMARY_NAME_COLUMNS, "", text);
}

static void print_path(void *context, const char *path)
{
    struct files *files = context;
    if (files->count++ < FILES_SHOWN) {
        print_line(files->stream, path);
    } else {
        files->last = path;
    }
}

static void print_last_path(const struct files *files, size_t in_all)
{
    if (in_all > FILES_SHOWN + 1) {
        (void)fprintf(files->stream, "  %-*s ... %zu more, the last one:\n",
                      VAMP_SUMMARY_NAME_COLUMNS, "", in_all - FILES_SHOWN);
    }
    if (files->last != NULL) {
        print_line(files->stream, files->last);
    }
}

void vamp_summary_output_print(FILE *stream, const struct vamp_summary_output *output)
{
    const struct vamp_output_account *account = &output->account;
    (void)fprintf(stream, "  %-*s %" PRIu64 " %s%s written", VAMP_SUMMARY_NAME_COLUMNS,
                  account->name, account->written, output->unit, account->written == 1 ? "" : "s");
    if (account->lost > 0) {
        (void)fprintf(stream, ", %" PRIu64 " LOST", account->lost);
    }
    if (output->deleted > 0) {
        (void)fprintf(stream, ", %" PRIu64 " older file%s deleted", output->deleted,
                      output->deleted == 1 ? "" : "s");
    }
    if (output->left_out > 0) {
        (void)fprintf(stream, ", %" PRIu64 " %s LEFT OUT at a bound", output->left_out,
                      output->left_out_what);
    }
    (void)fputc('\n', stream);
    struct files files = {.stream = stream};
    const size_t in_all = output->paths(output->context, print_path, &files);
    print_last_path(&files, in_all);
}

static size_t each_path(const void *context, void (*each)(void *of_each, const char *path),
                        void *of_each)
{
    return vamp_run_output_paths(context, each, of_each);
}

void vamp_summary_of_outputs(const struct vamp_outputs *outputs,
                             struct vamp_summary_output ret_outputs[static VAMP_OUTPUTS_MAX])
{
    for (unsigned i = 0; i < outputs->count; i++) {
        const struct vamp_run_output *output = &outputs->items[i];
        ret_outputs[i] = (struct vamp_summary_output){
            .unit = vamp_output_unit(output->output),
            .deleted = vamp_output_deleted(output->output),
            .paths = each_path,
            .context = output,
        };
        ret_outputs[i].left_out =
            vamp_output_left_out(output->output, &ret_outputs[i].left_out_what);
        vamp_run_output_account(output, &ret_outputs[i].account);
    }
}
