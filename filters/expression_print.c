/* SPDX-License-Identifier: BSD-3-Clause */
/* The normal form: one line, single blanks, texts in double quotes, full names. The units are those
 * of vampire/core/options/options.h. */
#include <inttypes.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filters/expression_tree.h"
#include "vampire/core/clock.h"
#include "vampire/core/options/options.h"
#include "vampire/core/utf8.h"

static void print_text(FILE *out, const char *bytes, size_t length)
{
    (void)fputc('"', out);
    for (size_t i = 0; i < length;) {
        static const char special[] = "\"\\\n\r\t", letters[] = "\"\\nrt";
        const unsigned char byte = (unsigned char)bytes[i];
        const char *found = memchr(special, byte, sizeof special - 1);
        const size_t character = vamp_utf8_read(bytes + i, length - i, NULL);
        if (found != NULL) {
            (void)fprintf(out, "\\%c", letters[found - special]);
        } else if (character == 0 || byte < ' ' || byte == 0x7F) {
            (void)fprintf(out, "\\x%02x", byte);
        } else {
            (void)fwrite(bytes + i, 1, character, out);
            i += character - 1;
        }
        i++;
    }
    (void)fputc('"', out);
}

/* Prints the shortest text that reads back as the same double, and not as an integer. */
static void print_double(FILE *out, double real)
{
    char text[40];
    for (int precision = 15; precision <= 17; precision++) {
        (void)snprintf(text, sizeof text, "%.*g", precision, real);
        if (strtod(text, NULL) == real) {
            break;
        }
    }
    (void)fputs(text, out);
    if (strpbrk(text, ".e") == NULL) {
        (void)fputs(".0", out);
    }
}

/* Prints the time without trailing zeros in the fraction of a second. */
static void print_time(FILE *out, int64_t ns)
{
    char text[VAMP_TIME_TEXT_BYTES];
    vamp_time_text(ns, text);
    size_t length = strlen(text) - 1;
    while (text[length - 1] == '0') {
        length--;
    }
    length -= text[length - 1] == '.';
    (void)fprintf(out, "%.*sZ", (int)length, text);
}

static void print_integer(FILE *out, int64_t integer, enum vamp_notation notation)
{
    char text[VAMP_QUANTITY_TEXT_BYTES];
    if (notation == VAMP_NOTATION_TIME) {
        print_time(out, integer);
        return;
    }
    (void)snprintf(text, sizeof text, "%" PRId64, integer);
    if (notation == VAMP_NOTATION_SIZE && integer >= 0) {
        vamp_size_text((uint64_t)integer, text, sizeof text);
    } else if (notation == VAMP_NOTATION_DURATION) {
        vamp_duration_text(integer, text, sizeof text);
    }
    (void)fputs(text, out);
}

static void print_literal(FILE *out, const struct literal *literal)
{
    const struct vamp_value *value = &literal->value;
    char text[VAMP_QUANTITY_TEXT_BYTES];
    switch (value->type) {
    case VAMP_VALUE_ABSENT:
        break;
    case VAMP_VALUE_BOOL:
        (void)fputs(value->boolean ? "true" : "false", out);
        break;
    case VAMP_VALUE_INT:
        print_integer(out, value->integer, literal->notation);
        break;
    case VAMP_VALUE_UINT:
        (void)snprintf(text, sizeof text, "%" PRIu64, value->natural);
        if (literal->notation == VAMP_NOTATION_SIZE) {
            vamp_size_text(value->natural, text, sizeof text);
        }
        (void)fputs(text, out);
        break;
    case VAMP_VALUE_DOUBLE:
        print_double(out, value->real);
        break;
    case VAMP_VALUE_TEXT:
        print_text(out, value->text.bytes, value->text.length);
        break;
    }
}

/* NOLINTNEXTLINE(misc-no-recursion): bounded by the depth of the text. */
static void print_node(FILE *out, const struct node *node)
{
    const char *word = vamp_node_words[node->kind];
    if (node->kind < NODE_AND) {
        (void)fputs(word, out);
        return;
    }
    if (node->kind == NODE_HAS) {
        (void)fprintf(out, "(%s %s", word, node->name);
    } else if (node->kind < NODE_HAS) {
        (void)fprintf(out, "(%s", word);
    } else {
        (void)fprintf(out, "(%s %s%s", node->name, word, node->kind == NODE_IN ? " (" : " ");
    }
    for (const struct node *child = node->children; child != NULL; child = child->next) {
        (void)fputc(' ', out);
        print_node(out, child);
    }
    for (const struct literal *literal = node->literals; literal != NULL; literal = literal->next) {
        print_literal(out, literal);
        if (literal->next != NULL) {
            (void)fputc(' ', out);
        }
    }
    (void)fputs(node->kind == NODE_IN ? "))" : ")", out);
}

char *vamp_node_print(const struct node *node)
{
    char *text = NULL;
    size_t bytes = 0;
    const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (plain == (locale_t)0) {
        return NULL;
    }
    FILE *out = open_memstream(&text, &bytes);
    if (out == NULL) {
        freelocale(plain);
        return NULL;
    }
    /* Doubles are printed with a dot in every locale of the program. */
    const locale_t before = uselocale(plain);
    print_node(out, node);
    (void)uselocale(before);
    freelocale(plain);
    const bool failed = ferror(out) != 0;
    if (fclose(out) != 0 || failed) {
        free(text);
        return NULL;
    }
    return text;
}

char *vamp_expression_print(const struct vamp_expression *expression)
{
    return vamp_node_print(expression->root);
}
