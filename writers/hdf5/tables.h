/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables beside the metrics: gaps, components, CDOs, alarms. */
#pragma once

#include "writers/writer.h"

struct hdf5_file;

/* The texts of a component that are in the file; compared by address. */
struct hdf5_component_texts {
    const char *name;
    const struct vamp_component_where *where;
};

void hdf5_tables_create(struct hdf5_file *file);
void hdf5_tables_write(struct hdf5_file *file, const struct vamp_delivery *delivery);
