/* SPDX-License-Identifier: BSD-3-Clause */
#include "writers/writer.h"

#include <stdio.h>
#include <string.h>

#include "vampire/core/module.h"
#include "version.h"

const struct vamp_writer_ops *const vamp_writers[] = {
    &vamp_writer_hdf5,      &vamp_writer_jsonl,
    &vamp_writer_recording, &vamp_writer_trace,
    &vamp_writer_null,      &vamp_writer_prometheus,
    &vamp_writer_influx,    &vamp_writer_syslog,
    &vamp_writer_nats,      NULL,
};

const struct vamp_writer_ops *vamp_writer_find(const char *name)
{
    for (const struct vamp_writer_ops *const *each = vamp_writers; *each != NULL; each++) {
        if (strcmp((*each)->name, name) == 0) {
            return *each;
        }
    }
    return NULL;
}

int vamp_writer_load(const struct vamp_writer_ops *format,
                     const struct vamp_writer_ops **ret_functions, struct vamp_err *err)
{
    if (!format->plug_in) {
        *ret_functions = format;
        return 0;
    }
    char file[32], purpose[64], origin[160];
    (void)snprintf(file, sizeof file, "%s.so", format->name);
    (void)snprintf(purpose, sizeof purpose, "has outputs of type \"%s\"", format->name);
    (void)snprintf(origin, sizeof origin,
                   "it is in the package vampire-%s, and in a build without WITHOUT=%s",
                   format->name, format->name);
    const struct vamp_module module = {.file = file,
                                       .symbol = "vamp_writer_plug_in",
                                       .version = VAMP_VERSION,
                                       .purpose = purpose,
                                       .origin = origin};
    const void *symbol = NULL;
    const int code = vamp_module_load(&module, &symbol, err);
    if (code == 0) {
        *ret_functions = ((const struct vamp_writer_plug_in *)symbol)->functions;
    }
    return code;
}
