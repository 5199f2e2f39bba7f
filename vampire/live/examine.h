/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Determines which fields the events of a Maestro have and what they mean, with a small workflow
 * whose correct answers are known. Its processes are started here; python/vampire/examine.py
 * controls them and writes the verdict, a file that runs read.
 */
#pragma once

#include "vampire/source/live.h"

/* The questions, in the order of the words and of the file. */
enum vamp_question {
    VAMP_ASK_TIMES,
    VAMP_ASK_SIZES,
    VAMP_ASK_SERIALS,
    VAMP_ASK_ORDER,
    VAMP_ASK_TRANSPORTS, /* which side's number a transport has */
    VAMP_ASK_BEFORE,
    VAMP_ASK_EARLY,
    VAMP_ASK_LOSSES,
    VAMP_QUESTION_COUNT
};

/* The contents of a file: the words of its findings; "" for missing ones. */
#define VAMP_FINDING_BYTES 24
struct vamp_examined {
    char words[VAMP_QUESTION_COUNT][VAMP_FINDING_BYTES];
    char text[512]; /* the words as one line; "": not examined */
};

/* vamp_live.examine */
int vamp_examine(const struct vamp_maestro_options *options, vamp_examine_fn *judge, void *context,
                 struct vamp_err *err);
/* Reads the file that the options name, or the one next to the plug-in. A file that is damaged, for
 * another Maestro, or named but missing is reported and yields no findings. */
void vamp_examined_read(const struct vamp_maestro_options *options,
                        const struct vamp_source_context *context,
                        struct vamp_examined *ret_examined);
/* Whether the finding for this question is this word. */
bool vamp_examined_says(const struct vamp_examined *examined, enum vamp_question question,
                        const char *word);
