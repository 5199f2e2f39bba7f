/* SPDX-License-Identifier: BSD-3-Clause */
/* What the head and the tables share; no other file includes this. */
#ifndef TOP_PAGE_INTERNAL_H
#define TOP_PAGE_INTERNAL_H

#include "programs/vampire-top/page.h"
#include "programs/vampire-top/text.h"

/* In the place of a number that the stream does not have. */
#define PAGE_HIDDEN ".."

/* Fills the line with the text, cut or padded to `columns`. */
void page_format(struct page_line *line, unsigned columns, const char *format, ...)
    VAMP_PRINTF(3, 4);
/* Writes the number, or that it is hidden. Returns `out`. */
const char *page_number(char out[static TOP_NUMBER_BYTES], bool hidden, double value,
                        void (*write)(char out[static TOP_NUMBER_BYTES], double value));

#endif
