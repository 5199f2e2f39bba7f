/* SPDX-License-Identifier: BSD-3-Clause */
#include "vampire/core/mdoc.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#define COLUMNS 78

/* One word: a dot or quote must not begin a line, a backslash is doubled, a hyphen stays one. */
static void put_word(FILE *stream, const char *word, size_t length, bool first_of_line)
{
    if (first_of_line && (*word == '.' || *word == '\'')) {
        (void)fputs("\\&", stream);
    }
    for (size_t i = 0; i < length; i++) {
        if (word[i] == '\\') {
            (void)fputs("\\e", stream);
        } else if (word[i] == '-') {
            (void)fputs("\\-", stream);
        } else {
            (void)fputc(word[i], stream);
        }
    }
}

void vamp_mdoc_text(FILE *stream, const char *text)
{
    const char capital = (char)toupper((unsigned char)text[0]);
    size_t column = 1;
    bool sentence_ended = false;
    put_word(stream, &capital, 1, true);
    text++;
    for (bool first = true; *text != '\0'; first = false) {
        size_t length = strcspn(text, " ");
        bool begins = sentence_ended && isupper((unsigned char)text[0]) != 0;
        if (!first && (column + 1 + length > COLUMNS || begins)) {
            (void)fputc('\n', stream);
            column = 0;
        } else if (!first) {
            (void)fputc(' ', stream);
            column++;
        }
        put_word(stream, text, length, column == 0);
        column += length;
        const char last = length > 0 ? text[length - 1] : ' ';
        sentence_ended = last == '.' || last == '?' || last == '!';
        text += length;
        text += *text == ' ';
    }
    (void)fputc('\n', stream);
}
