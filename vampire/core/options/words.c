/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts about options: allowed values and likely intended words. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "vampire/core/options/options.h"
#include "vampire/core/values.h"

/* Longer words are never considered similar. */
#define WORD_BYTES_MAX 64
/* Shorter words may have one typing error, others two. */
#define SHORT_WORD_BYTES 6

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
    const unsigned least = VAMP_MIN(a, b);
    return VAMP_MIN(least, c);
}

/* Returns the edit distance, in which swapping two neighbouring letters is one edit. */
static unsigned distance(const char *left, size_t left_length, const char *right,
                         size_t right_length)
{
    unsigned rows[3][WORD_BYTES_MAX + 1];
    for (unsigned j = 0; j <= right_length; j++) {
        rows[0][j] = j;
    }
    for (size_t i = 1; i <= left_length; i++) {
        unsigned *row = rows[i % 3];
        const unsigned *above = rows[(i + 2) % 3];
        const unsigned *above2 = rows[(i + 1) % 3];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= right_length; j++) {
            const bool same = strncasecmp(&left[i - 1], &right[j - 1], 1) == 0;
            row[j] = min3(above[j] + 1, row[j - 1] + 1, above[j - 1] + !same);
            const bool swapped = i > 1 && j > 1 &&
                                 strncasecmp(&left[i - 1], &right[j - 2], 1) == 0 &&
                                 strncasecmp(&left[i - 2], &right[j - 1], 1) == 0;
            if (swapped) {
                row[j] = VAMP_MIN(above2[j - 2] + 1, row[j]);
            }
        }
    }
    return rows[left_length % 3][right_length];
}

/* Returns the cost of changing `word` into `candidate`: the number of edits, increased by
 * WORD_BYTES_MAX if one is only the beginning or end of the other; COST_NOT_SIMILAR if they are not
 * similar. */
#define COST_NOT_SIMILAR 1000U
static unsigned edit_cost(const char *word, const char *candidate)
{
    size_t word_length = strlen(word);
    size_t length = strlen(candidate);
    if (word_length == 0 || word_length > WORD_BYTES_MAX || length > WORD_BYTES_MAX) {
        return COST_NOT_SIMILAR;
    }
    unsigned edits = distance(word, word_length, candidate, length);
    const unsigned typing_errors = word_length < SHORT_WORD_BYTES ? 1 : 2;
    if (edits <= typing_errors && edits < length) {
        return edits;
    }
    /* one contains the other: "series" for "max_series" */
    const size_t shorter = VAMP_MIN(word_length, length);
    if (shorter >= 3 &&
        (strncasecmp(word, candidate, shorter) == 0 ||
         strcasecmp(word + word_length - shorter, candidate + length - shorter) == 0)) {
        return edits + WORD_BYTES_MAX;
    }
    return COST_NOT_SIMILAR;
}

static const char *more_similar(const char *word, const char *candidate, const char *best)
{
    const unsigned best_cost = best != NULL ? edit_cost(word, best) : COST_NOT_SIMILAR;
    return edit_cost(word, candidate) < best_cost ? candidate : best;
}

/* Other names of choices, which are not similar to them. */
static const struct {
    const char *word, *choice;
} synonyms[] = {
    {"opentelemetry", "otlp"}, {"otel", "otlp"},    {"h5", "hdf5"},
    {"netcdf", "hdf5"},        {"ndjson", "jsonl"},
};

static const char *synonym_of(const char *word)
{
    for (size_t i = 0; i < sizeof synonyms / sizeof synonyms[0]; i++) {
        if (strcasecmp(word, synonyms[i].word) == 0) {
            return synonyms[i].choice;
        }
    }
    return word;
}

const char *vamp_opt_near_choice(const char *const *choices, const char *word)
{
    const char *best = NULL;
    word = synonym_of(word);
    for (; choices != NULL && *choices != NULL; choices++) {
        best = more_similar(word, *choices, best);
    }
    return best;
}

const char *vamp_opt_near_key(const struct vamp_opt *table, const char *word)
{
    const char *best = NULL;
    for (; table != NULL && table->key != NULL; table++) {
        best = more_similar(word, table->key, best);
    }
    return best;
}

static void VAMP_PRINTF(2, 3)
    append(char text[static VAMP_OPT_ALLOWED_BYTES], const char *format, ...)
{
    size_t used = strlen(text);
    va_list arguments;
    va_start(arguments, format);
    int wanted = vsnprintf(text + used, VAMP_OPT_ALLOWED_BYTES - used, format, arguments);
    va_end(arguments);
    if (wanted >= (int)(VAMP_OPT_ALLOWED_BYTES - used)) {
        memcpy(text + VAMP_OPT_ALLOWED_BYTES - 4, "...", 4);
    }
}

static void append_words(char text[static VAMP_OPT_ALLOWED_BYTES], const char *before,
                         const char *const *choices, const char *after)
{
    for (const char *const *each = choices; *each != NULL; each++) {
        append(text, "%s%s", each == choices ? before : ", ", *each);
    }
    append(text, "%s", after);
}

static void append_bounds(char text[static VAMP_OPT_ALLOWED_BYTES], const struct vamp_opt *opt)
{
    const uint64_t bounds[] = {opt->min, opt->max};
    const char *const before[] = {opt->max > 0 ? ", from " : ", at least ", " to "};
    for (unsigned i = 0; i < 2 && (opt->max > 0 || bounds[i] > 0); i++) {
        char quantity[VAMP_QUANTITY_TEXT_BYTES];
        if (opt->type == VAMP_OPT_DURATION) {
            vamp_duration_text((int64_t)bounds[i], quantity, sizeof quantity);
        } else if (opt->type == VAMP_OPT_SIZE) {
            vamp_size_text(bounds[i], quantity, sizeof quantity);
        } else {
            (void)snprintf(quantity, sizeof quantity, "%" PRIu64, bounds[i]);
        }
        append(text, "%s%s", before[i], quantity);
    }
}

void vamp_opt_allowed(const struct vamp_opt *opt, char text[static VAMP_OPT_ALLOWED_BYTES])
{
    text[0] = '\0';
    switch (opt->type) {
    case VAMP_OPT_BOOL:
        append(text, "true or false");
        return;
    case VAMP_OPT_UINT:
        append(text, "a whole number");
        append_bounds(text, opt);
        return;
    case VAMP_OPT_DURATION:
        append(text, "a duration such as \"1s\" or \"500ms\"");
        append_bounds(text, opt);
        return;
    case VAMP_OPT_SIZE:
        append(text, "a size such as \"64KiB\"");
        append_bounds(text, opt);
        return;
    case VAMP_OPT_STRING:
        append(text, "a text");
        break;
    case VAMP_OPT_STRINGS:
        append(text, "a list of at most %d texts", VAMP_STRINGS_MAX);
        break;
    case VAMP_OPT_ENUM:
        append_words(text, "one of ", opt->choices, "");
        return;
    case VAMP_OPT_SET:
        append_words(text, "a list of words from ", opt->choices, ", or \"all\"");
        return;
    case VAMP_OPT_SETS:
        append_words(text, "a list of words from ", opt->choices,
                     ", or an object of such lists, {\"NAME\": [...]}");
        return;
    case VAMP_OPT_FRACTION:
        append(text, "a number from 0 to 1");
        return;
    }
    if (opt->max > 0) {
        append(text, " of at most %" PRIu64 " bytes", opt->max);
    }
}

void vamp_opt_print_wrapped(FILE *stream, int indent, const char *text)
{
    int column = indent;
    while (*text != '\0') {
        const int length = (int)strcspn(text, " ");
        if (column > indent && column + 1 + length > 100) {
            (void)fprintf(stream, "\n%*s", indent, "");
            column = indent;
        }
        (void)fprintf(stream, "%s%.*s", column > indent ? " " : "", length, text);
        column += length + (column > indent);
        text += length;
        text += *text == ' ';
    }
    (void)fputc('\n', stream);
}

/* ---- options whose effect depends on others */

uint32_t vamp_opt_holding(const struct vamp_opt_conditions *conditions, const void *options)
{
    return conditions == NULL ? UINT32_MAX : conditions->hold(options);
}

bool vamp_opt_has_effect(const struct vamp_opt *opt, uint32_t holding)
{
    return opt->only_with == 0 || (opt->only_with & holding) != 0;
}

void vamp_opt_only_with(const struct vamp_opt *opt, const struct vamp_opt_conditions *conditions,
                        char text[static VAMP_OPT_ALLOWED_BYTES])
{
    text[0] = '\0';
    const uint32_t bits = conditions != NULL ? opt->only_with : 0;
    for (unsigned i = 0; bits >> i != 0; i++) {
        if ((bits >> i & 1) != 0 && conditions->words[i][0] != '\0') {
            const char *separator = bits >> i == 1 ? " or" : ",";
            if (text[0] == '\0') {
                separator = "only with";
            }
            append(text, "%s %s", separator, conditions->words[i]);
        }
    }
}
