/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the events of a Maestro carry and mean, found out by a small workflow whose answers are
 * known. Its processes are started here; what they do, and the verdict, is
 * python/vampire/examine.py's. The verdict is a file, which a run reads.
 */
#pragma once

#include "vampire/source/live.h"

/* What there is to know, in this order in words and file. */
enum vamp_question {
    VAMP_ASK_TIMES,
    VAMP_ASK_SIZES,
    VAMP_ASK_SERIALS,
    VAMP_ASK_ORDER,
    VAMP_ASK_TRANSPORTS, /* whose number a transport's is */
    VAMP_ASK_BEFORE,
    VAMP_ASK_EARLY,
    VAMP_ASK_LOSSES,
};
#define VAMP_QUESTION_COUNT 8

/* What a file says: the words of its findings; "" where there is none. */
#define VAMP_FINDING_BYTES 24
struct vamp_examined {
    char words[VAMP_QUESTION_COUNT][VAMP_FINDING_BYTES];
    char text[512]; /* the words as one line; "": not examined */
};

/* vamp_live.examine */
int vamp_examine(const struct vamp_maestro_options *options, vamp_examine_fn *judge, void *context,
                 struct vamp_err *err);
/* Reads the file that the options name, or the one next to the plug-in. One that is damaged, of
 * another Maestro, or named and not there, says nothing, and that is said. */
void vamp_examined_read(const struct vamp_maestro_options *options,
                        const struct vamp_source_context *context,
                        struct vamp_examined *ret_examined);
/* Whether it says this of that. */
bool vamp_examined_says(const struct vamp_examined *examined, enum vamp_question question,
                        const char *word);
