/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads plug-ins on demand. The list of formats is in writers.c, which is above this module. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/core/module.h"
#include "version.h"
#include "writers/writer.h"

/* Debian's packages with the libraries that the plug-ins are built with, as in packaging/packages.
 */
static const struct library {
    const char *plug_in, *package;
} libraries[] = {
    {"prometheus", "libmicrohttpd-dev"},
    {"influx", "libcurl4-openssl-dev"},
    {"otlp", "libcurl4-openssl-dev"},
    {"otf2", "libotf2-trace-dev"},
    {"nats", "libnats-dev"},
};

static const char *library_package(const char *plug_in)
{
    for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++) {
        if (strcmp(libraries[i].plug_in, plug_in) == 0) {
            return libraries[i].package;
        }
    }
    return "more"; /* all of them */
}

int vamp_plug_in_load(const char *name, const char *symbol, const char *purpose,
                      const void **ret_symbol, struct vamp_err *err)
{
    char file[32], origin[200];
    (void)snprintf(file, sizeof file, "%s.so", name);
    (void)snprintf(origin, sizeof origin,
                   "install the package vampire-%s, or build it in the folder of vampire's source: "
                   "sh tests/install_packages.sh %s && make",
                   name, library_package(name));
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
