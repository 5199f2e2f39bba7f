/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads plug-ins on demand. The list of formats is in writers.c, which is above this module. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/core/module.h"
#include "version.h"
#include "writers/writer.h"

int vamp_plug_in_load(const char *name, const char *symbol, const char *purpose,
                      const void **ret_symbol, struct vamp_err *err)
{
    char file[32], origin[160];
    (void)snprintf(file, sizeof file, "%s.so", name);
    (void)snprintf(origin, sizeof origin,
                   "it is in the package vampire-%s, and in a build without WITHOUT=%s", name,
                   name);
    const struct vamp_module module = {.file = file,
                                       .symbol = symbol,
                                       .version = VAMP_VERSION,
                                       .purpose = purpose,
                                       .origin = origin};
    return vamp_module_load(&module, ret_symbol, err);
}

void vamp_plug_in_serve(const char *argv0, const char *program)
{
    const size_t prefix = strlen(VAMP_PLUG_IN_PROCESS);
    if (strncmp(argv0, VAMP_PLUG_IN_PROCESS, prefix) != 0) {
        return;
    }
    const void *symbol = NULL;
    struct vamp_err err = VAMP_ERR_NONE;
    if (vamp_plug_in_load(argv0 + prefix, "vamp_process_plug_in", "is a process of its own",
                          &symbol, &err) != 0) {
        (void)fprintf(stderr, "%s: error: %s\n", program, err.text);
        exit(EXIT_FAILURE);
    }
    ((const struct vamp_process_plug_in *)symbol)->serve();
}

int vamp_otf2_load(const void **ret_sink, struct vamp_err *err)
{
    return vamp_plug_in_load("otf2", "vamp_trace_plug_in", "writes traces of format \"otf2\"",
                             ret_sink, err);
}
