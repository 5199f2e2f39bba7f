/* SPDX-License-Identifier: BSD-3-Clause */
/* Creates every dimension and dataset of a file, according to the schema. */
#pragma once

#include "writers/writer.h"

struct hdf5_file;

/* `first`: the first bucket of the file, or NULL. */
void hdf5_layout_create(struct hdf5_file *file, const struct vamp_delivery *first);
