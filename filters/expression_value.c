/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Values in a text: determines the value of a token for a field. Reads numbers, sizes, durations
 * and times; the units are those of vampire/core/options/options.h. Doubles are read with a dot in
 * every locale of the program, because this code also runs in other programs.
 */
#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "filters/expression_tree.h"
#include "vampire/core/clock.h"
#include "vampire/core/options/options.h"

enum word_kind {
    WORD_OTHER,  /* not a number */
    WORD_BROKEN, /* begins like a number, but is malformed */
    WORD_RANGE,  /* a number that does not fit into 64 bits */
    WORD_NUMBER, /* `value` is set; the notation is SIZE or DURATION if there is a unit, TIME for a
                  * time */
};

static size_t digits(const char *text)
{
    return strspn(text, "0123456789");
}

/* Reads a sign and digits. */
static enum word_kind read_integer(const char *word, struct vamp_value *value)
{
    const bool negative = word[0] == '-';
    errno = 0;
    const uint64_t magnitude = strtoull(word + (negative || word[0] == '+'), NULL, 10);
    if (errno == ERANGE || (negative && magnitude > (uint64_t)INT64_MAX + 1)) {
        return WORD_RANGE;
    }
    if (negative && magnitude > 0) { /* -(2^63) has no positive counterpart */
        *value =
            (struct vamp_value){.type = VAMP_VALUE_INT, .integer = -(int64_t)(magnitude - 1) - 1};
    } else {
        *value = vamp_value_natural(magnitude);
    }
    return WORD_NUMBER;
}

static enum word_kind read_double(const char *word, struct vamp_value *value)
{
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (plain == (locale_t)0) {
        return WORD_BROKEN;
    }
    double real = strtod_l(word, NULL, plain);
    freelocale(plain);
    if (!isfinite(real)) {
        return WORD_RANGE;
    }
    *value = (struct vamp_value){.type = VAMP_VALUE_DOUBLE, .real = real};
    return WORD_NUMBER;
}

static enum word_kind read_with_unit(const char *word, struct vamp_value *value,
                                     enum vamp_notation *notation)
{
    uint64_t bytes = 0;
    int64_t ns = 0;
    int code = vamp_size_parse(word, &bytes, NULL);
    *notation = VAMP_NOTATION_SIZE;
    *value = vamp_value_natural(bytes);
    if (code == -EINVAL) {
        code = vamp_duration_parse(word, &ns, NULL);
        *notation = VAMP_NOTATION_DURATION;
        *value = (struct vamp_value){.type = VAMP_VALUE_INT, .integer = ns};
    }
    if (code == 0) {
        return WORD_NUMBER;
    }
    return code == -ERANGE ? WORD_RANGE : WORD_BROKEN;
}

/* Returns the value of `count` digits, which the caller has checked. */
static int64_t number_of(const char *text, size_t count)
{
    int64_t number = 0;
    for (size_t i = 0; i < count; i++) {
        number = number * 10 + (text[i] - '0');
    }
    return number;
}

/* Converts the text "Z" or "+02:00" to seconds east of UTC. */
static bool read_offset(const char *text, int64_t *ret_seconds)
{
    *ret_seconds = 0;
    if (strcmp(text, "Z") == 0 || strcmp(text, "z") == 0) {
        return true;
    }
    if ((text[0] != '+' && text[0] != '-') || digits(text + 1) != 2 || text[3] != ':' ||
        digits(text + 4) != 2 || text[6] != '\0') {
        return false;
    }
    int64_t hours = number_of(text + 1, 2), minutes = number_of(text + 4, 2);
    *ret_seconds = (hours * 3600 + minutes * 60) * (text[0] == '-' ? -1 : 1);
    return hours <= 23 && minutes <= 59;
}

/* Returns whether the word resembles a date, so that error texts refer to a time. */
static bool looks_like_time(const char *word)
{
    return digits(word) == 4 && word[4] == '-' && digits(word + 5) == 2 && word[7] == '-' &&
           digits(word + 8) == 2;
}

static bool fits_outline(char outline, char character)
{
    switch (outline) {
    case '0':
        return character >= '0' && character <= '9';
    case 'T':
        return character == 'T' || character == 't';
    default:
        return character == outline;
    }
}

/* Reads a time in the notation of RFC 3339, as ns since 1970. */
static enum word_kind read_time(const char *word, struct vamp_value *value)
{
    static const char outline[] = "0000-00-00T00:00:00";
    for (size_t i = 0; i < sizeof(outline) - 1; i++) {
        if (!fits_outline(outline[i], word[i])) {
            return WORD_BROKEN;
        }
    }
    struct tm time = {.tm_year = (int)number_of(word, 4) - 1900,
                      .tm_mon = (int)number_of(word + 5, 2) - 1,
                      .tm_mday = (int)number_of(word + 8, 2),
                      .tm_hour = (int)number_of(word + 11, 2),
                      .tm_min = (int)number_of(word + 14, 2),
                      .tm_sec = (int)number_of(word + 17, 2)};
    const struct tm given = time;
    const int64_t seconds = timegm(&time); /* timegm turns February 30 into March 2 */
    if (time.tm_mon != given.tm_mon || time.tm_mday != given.tm_mday ||
        time.tm_hour != given.tm_hour || time.tm_min != given.tm_min ||
        time.tm_sec != given.tm_sec) {
        return WORD_BROKEN;
    }
    /* The fraction of a second has at most nine digits. */
    const char *rest = word + sizeof(outline) - 1;
    int64_t ns = 0, east, total;
    if (*rest == '.') {
        const size_t count = digits(rest + 1);
        if (count < 1 || count > 9) {
            return WORD_BROKEN;
        }
        ns = number_of(rest + 1, count);
        for (size_t i = count; i < 9; i++) {
            ns *= 10;
        }
        rest += 1 + count;
    }
    if (!read_offset(rest, &east)) {
        return WORD_BROKEN;
    }
    if (__builtin_mul_overflow(seconds - east, VAMP_NS_PER_SECOND, &total) ||
        __builtin_add_overflow(total, ns, &total)) {
        return WORD_RANGE;
    }
    *value = (struct vamp_value){.type = VAMP_VALUE_INT, .integer = total};
    return WORD_NUMBER;
}

/* Returns the length of an exponent such as "e+10" at the beginning of the text; 0: none. */
static size_t exponent_length(const char *text)
{
    if (text[0] != 'e' && text[0] != 'E') {
        return 0;
    }
    size_t sign = text[1] == '+' || text[1] == '-';
    size_t count = digits(text + 1 + sign);
    return count > 0 ? 1 + sign + count : 0;
}

static enum word_kind read_word(const char *word, struct vamp_value *ret_value,
                                enum vamp_notation *ret_notation)
{
    const char *p = word + (word[0] == '-' || word[0] == '+');
    size_t whole = digits(p);
    *ret_notation = VAMP_NOTATION_PLAIN;
    if (whole == 0) {
        return p == word || *p == '.' ? WORD_OTHER : WORD_BROKEN;
    }
    if (looks_like_time(word)) {
        *ret_notation = VAMP_NOTATION_TIME;
        return read_time(word, ret_value);
    }
    p += whole;
    size_t fraction = 0;
    if (*p == '.') {
        fraction = digits(p + 1);
        if (fraction == 0) {
            return WORD_BROKEN;
        }
        p += 1 + fraction;
    }
    size_t exponent = exponent_length(p);
    if (p[exponent] != '\0') {
        return read_with_unit(word, ret_value, ret_notation);
    }
    return fraction + exponent > 0 ? read_double(word, ret_value) : read_integer(word, ret_value);
}

/* ---- values of fields */

/* For each notation, the description of its values in errors, and an example. */
static const struct {
    const char *name, *example;
} sorts[] = {
    [VAMP_NOTATION_PLAIN] = {"a number", "42 or 0.5"},
    [VAMP_NOTATION_SIZE] = {"a size", "4096 or 1MiB"},
    [VAMP_NOTATION_DURATION] = {"a duration", "5ms"},
    [VAMP_NOTATION_TIME] = {"a time", "2026-11-21T03:44:00Z"},
    [VAMP_NOTATION_ID] = {"an identifier", "0123456789abcdef0123456789abcdef"},
};

const char *vamp_notation_name(enum vamp_notation notation)
{
    return sorts[notation].name;
}

static bool value_error(struct compiler *compiler, const struct node *term,
                        enum vamp_notation notation)
{
    const struct token *token = &compiler->token;
    return REFUSE(compiler, "%s is %s, such as %s, not %s'%.100s'", term->name,
                  sorts[notation].name, sorts[notation].example,
                  token->kind == TOKEN_TEXT ? "the text " : "", token->text);
}

static bool check_choice(struct compiler *compiler, const struct node *term,
                         const char *const *choices, struct literal *literal)
{
    const struct token *token = &compiler->token;
    for (size_t i = 0; choices[i] != NULL; i++) {
        if (strlen(choices[i]) == token->length && strcasecmp(choices[i], token->text) == 0) {
            literal->value.text.bytes = choices[i];
            return true;
        }
    }
    char near[SUGGESTION_BYTES], allowed[LIST_BYTES];
    return REFUSE(compiler, "%s has no value '%.60s'%s; it is one of %s", term->name, token->text,
                  vamp_suggest(choices, token->text, near), vamp_list_words(choices, allowed));
}

#define ID_DIGITS 32

/* Checks an identifier and converts it to normal form: 32 lower-case hexadecimal digits. */
static bool check_id(struct compiler *compiler, const struct node *term, struct literal *literal)
{
    const struct token *token = &compiler->token;
    char *digits = vamp_compile_alloc(compiler, ID_DIGITS + 1);
    size_t count = 0;
    for (size_t i = 0; i < token->length && digits != NULL; i++) {
        const unsigned char byte = (unsigned char)token->text[i];
        if (byte == '-') {
            continue;
        }
        if (!isxdigit(byte) || count == ID_DIGITS) {
            return value_error(compiler, term, VAMP_NOTATION_ID);
        }
        digits[count++] = (char)tolower(byte);
    }
    literal->value.text.bytes = digits;
    literal->value.text.length = ID_DIGITS;
    return digits != NULL && (count == ID_DIGITS || value_error(compiler, term, VAMP_NOTATION_ID));
}

static bool check_text(struct compiler *compiler, const struct node *term,
                       const struct vamp_field *field, struct literal *literal)
{
    const struct token *token = &compiler->token;
    literal->value = vamp_token_text(token);
    if (field->choices != NULL) {
        return check_choice(compiler, term, field->choices, literal);
    }
    if (field->notation == VAMP_NOTATION_ID) {
        return check_id(compiler, term, literal);
    }
    /* A bare word that the user may have meant as a name. */
    if (token->kind == TOKEN_WORD && token->text[0] == '.') {
        return REFUSE(compiler,
                      "'%.200s' looks like a name, and two fields cannot be compared; a text that "
                      "begins with a dot must be quoted",
                      token->text);
    }
    return token->kind == TOKEN_TEXT || strpbrk(token->text, "*?[") == NULL ||
           REFUSE(compiler,
                  "use 'glob' for a pattern such as '%.200s'; to compare with the text itself, "
                  "quote it",
                  token->text);
}

/* Reads a word as a number. `*ret_is_number` is false if it does not begin like one. */
static bool read_number(struct compiler *compiler, struct literal *literal, bool *ret_is_number)
{
    const char *text = compiler->token.text;
    enum word_kind kind = WORD_OTHER;
    if (compiler->token.kind == TOKEN_WORD) {
        kind = read_word(text, &literal->value, &literal->notation);
    }
    *ret_is_number = kind == WORD_NUMBER;
    if (kind == WORD_RANGE) {
        return REFUSE(compiler, "%.100s is out of range", text);
    }
    if (kind != WORD_BROKEN) {
        return true;
    }
    if (literal->notation == VAMP_NOTATION_TIME) {
        return REFUSE(compiler,
                      "'%.100s' is no time in RFC 3339 such as 2026-11-21T03:44:00Z; quote it if "
                      "it is a text",
                      text);
    }
    return REFUSE(compiler,
                  "'%.100s' begins like a number but is none (sizes B KiB MiB GiB TiB kB MB GB TB, "
                  "durations ns us ms s min h d); quote it if it is a text",
                  text);
}

static bool check_number(struct compiler *compiler, const struct node *term,
                         enum vamp_notation notation, struct literal *literal)
{
    bool is_number;
    if (!read_number(compiler, literal, &is_number)) {
        return false;
    }
    /* A plain number is a number of bytes; zero needs no unit. */
    const bool plain = literal->notation == VAMP_NOTATION_PLAIN;
    const bool zero = literal->value.type == VAMP_VALUE_INT && literal->value.integer == 0;
    const bool fits = literal->notation == notation || (plain && notation == VAMP_NOTATION_SIZE) ||
                      (plain && zero && notation == VAMP_NOTATION_DURATION);
    if (!is_number || !fits) {
        return value_error(compiler, term, notation);
    }
    if (literal->value.type != VAMP_VALUE_DOUBLE) {
        literal->notation = notation;
    }
    return true;
}

static bool read_bool(const struct token *token, struct literal *literal)
{
    literal->value =
        (struct vamp_value){.type = VAMP_VALUE_BOOL, .boolean = token->means == NODE_TRUE};
    return token->means == NODE_TRUE || token->means == NODE_FALSE;
}

/* Checks a value for a field of unknown type: its notation determines the type. */
static bool check_any(struct compiler *compiler, const struct node *term,
                      const struct vamp_field *field, struct literal *literal)
{
    bool is_number;
    if (read_bool(&compiler->token, literal)) {
        return term->kind < NODE_LT ||
               REFUSE(compiler, "true and false have no order; use = or !=");
    }
    return read_number(compiler, literal, &is_number) &&
           (is_number || check_text(compiler, term, field, literal));
}

bool vamp_compile_literal(struct compiler *compiler, const struct node *term,
                          const struct vamp_field *field, struct literal *literal)
{
    switch (field->type) {
    case VAMP_VALUE_ABSENT:
        return check_any(compiler, term, field, literal);
    case VAMP_VALUE_BOOL:
        return read_bool(&compiler->token, literal) ||
               REFUSE(compiler, "%s is true or false, not '%.100s'", term->name,
                      compiler->token.text);
    case VAMP_VALUE_INT:
    case VAMP_VALUE_UINT:
    case VAMP_VALUE_DOUBLE:
        return check_number(compiler, term, field->notation, literal);
    case VAMP_VALUE_TEXT:
        return check_text(compiler, term, field, literal);
    }
    return false;
}

/* ---- suggestions in errors */

const char *vamp_suggest(const char *const *choices, const char *word,
                         char text[static SUGGESTION_BYTES])
{
    const char *near = choices != NULL ? vamp_opt_near_choice(choices, word) : NULL;
    text[0] = '\0';
    if (near != NULL) {
        (void)snprintf(text, SUGGESTION_BYTES, "; did you mean '%s'?", near);
    }
    return text;
}

const char *vamp_list_words(const char *const *words, char text[static LIST_BYTES])
{
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; words[i] != NULL && used < LIST_BYTES; i++) {
        used +=
            (size_t)snprintf(text + used, LIST_BYTES - used, "%s%s", i == 0 ? "" : ", ", words[i]);
    }
    return text;
}
