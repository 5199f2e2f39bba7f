/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Determines which fields a Maestro's events have and what they mean, by running a small workflow
 * whose correct results are known. The workflow's processes are started here;
 * python/vampire/examine.py controls them and writes the results to a file, which later runs read.
 */
#pragma once

#include "vampire/source/live.h"

/* The questions, in the order of their names and of the file. */
enum vamp_question {
    VAMP_ASK_TIMES,
    VAMP_ASK_SIZES,
    VAMP_ASK_SERIALS,
    VAMP_ASK_ORDER,
    VAMP_ASK_TRANSPORTS, /* the side whose id a transport event contains */
    VAMP_ASK_BEFORE,
    VAMP_ASK_EARLY,
    VAMP_ASK_LOSSES,
    VAMP_ASK_IDS, /* from here on, files may not have an answer */
    VAMP_ASK_NAMES,
    VAMP_ASK_KINDS,
    VAMP_QUESTION_COUNT
};

/* The contents of a file: the enum names of its findings; "" for missing ones. */
#define VAMP_FINDING_BYTES 24
struct vamp_examined {
    char words[VAMP_QUESTION_COUNT][VAMP_FINDING_BYTES];
    char text[512]; /* the findings as one line; "": not examined */
};

/* vamp_live.examine */
int vamp_examine(const struct vamp_maestro_options *options, vamp_examine_fn *judge, void *context,
                 struct vamp_err *err);
/* Reads the file named in the options, or the one next to the plug-in. A file that is damaged,
 * belongs to another Maestro, or is named but missing is reported and yields no findings. */
void vamp_examined_read(const struct vamp_maestro_options *options,
                        const struct vamp_source_context *context,
                        struct vamp_examined *ret_examined);
/* Returns whether the finding for this question equals the given word. */
bool vamp_examined_says(const struct vamp_examined *examined, enum vamp_question question,
                        const char *word);
