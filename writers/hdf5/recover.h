/* SPDX-License-Identifier: BSD-3-Clause */
/* Repair of files that a killed run left. */
#pragma once

#include "writers/writer.h"

extern const struct vamp_file_ops hdf5_files;
