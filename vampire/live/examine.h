/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the events of a Maestro carry and mean, found out by a small workflow whose answers are
 * known. The verdict is a file that a run reads.
 */
#ifndef VAMP_LIVE_EXAMINE_H
#define VAMP_LIVE_EXAMINE_H

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

/* What a file says: the words of its findings; "" where it does not know them. */
#define VAMP_FINDING_BYTES 24
struct vamp_examined {
    char words[VAMP_QUESTION_COUNT][VAMP_FINDING_BYTES];
    char text[512]; /* the words as one line; "": not examined */
};

/* `vampire --examine`: prints the verdict and writes the file. The exit code: 0: all is known; 1:
 * less is; 2: not usable, or the file cannot be written, and `err` says why. */
int vamp_examine(const struct vamp_maestro_options *options, const char *workflow, bool intrusive,
                 FILE *out, struct vamp_err *err);
/* Reads the file that the options name, or the one next to the plug-in. One that is not there, or
 * is of another Maestro, says nothing. */
void vamp_examined_read(const struct vamp_maestro_options *options,
                        struct vamp_examined *ret_examined);
/* Whether it says this of that. */
bool vamp_examined_says(const struct vamp_examined *examined, enum vamp_question question,
                        const char *word);

#endif
