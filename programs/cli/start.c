/* SPDX-License-Identifier: BSD-3-Clause */
#include "programs/cli/start.h"

static int load_and_run(const struct vamp_options *options,
                        enum vamp_exit_code (*run)(const struct vamp_start *start))
{
    int code = VAMP_EXIT_FAILED;
    struct vamp_config *config = vamp_options_load_config(options, stderr, &code);
    if (config == NULL) {
        return code;
    }
    struct vamp_notify notify;
    vamp_notify_init(&notify);
    struct vamp_err err = VAMP_ERR_NONE;
    struct vamp_signals signals;
    if (vamp_signals_start(&signals, &err) != 0) {
        (void)fprintf(stderr, "%s: error: %s\n", options->program->name, err.text);
        code = VAMP_EXIT_FAILED;
    } else {
        code = (int)run(&(struct vamp_start){
            .options = options, .config = config, .signals = &signals, .notify = &notify});
        vamp_signals_stop(&signals);
    }
    vamp_notify_done(&notify);
    vamp_config_free(config);
    return code;
}

int vamp_start(const struct vamp_program *program, int argc, char **argv,
               enum vamp_exit_code (*run)(const struct vamp_start *start))
{
    struct vamp_options options;
    struct vamp_err err = VAMP_ERR_NONE;
    if (vamp_options_parse(program, argc, argv, &options, &err) != 0) {
        (void)fprintf(stderr, "%s: %s\n", program->name, err.text);
        return VAMP_EXIT_USAGE;
    }
    const int code = options.command == VAMP_COMMAND_RUN
                         ? load_and_run(&options, run)
                         : vamp_options_perform(&options, stdout, stderr);
    vamp_options_done(&options);
    return code;
}
