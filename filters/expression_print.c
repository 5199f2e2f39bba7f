/* SPDX-License-Identifier: BSD-3-Clause */
/* The normal form: one line, one blank between parts, texts in double quotes, full names. */
#include "filters/expression_tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "vampire/core/utf8.h"

static const char *comparison_text(enum comparison comparison)
{
    switch (comparison) {
    case COMPARE_EQ:
        return "=";
    case COMPARE_NE:
        return "!=";
    case COMPARE_LT:
        return "<";
    case COMPARE_LE:
        return "<=";
    case COMPARE_GT:
        return ">";
    case COMPARE_GE:
        return ">=";
    }
    return "";
}

static void print_text(FILE *out, const char *bytes, size_t length)
{
    (void)fputc('"', out);
    for (size_t i = 0; i < length;) {
        unsigned char byte = (unsigned char)bytes[i];
        size_t character = vamp_utf8_read(bytes + i, length - i, NULL);
        if (byte == '"' || byte == '\\') {
            (void)fprintf(out, "\\%c", byte);
        } else if (byte == '\n' || byte == '\r' || byte == '\t') {
            (void)fputs(byte == '\n' ? "\\n" : byte == '\r' ? "\\r" : "\\t", out);
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

static void print_literal(FILE *out, const struct literal *literal)
{
    char text[VAMP_NUMBER_TEXT_BYTES];
    switch (literal->value.type) {
    case VAMP_VALUE_ABSENT:
        break;
    case VAMP_VALUE_BOOL:
        (void)fputs(literal->value.boolean ? "true" : "false", out);
        break;
    case VAMP_VALUE_INT:
    case VAMP_VALUE_UINT:
    case VAMP_VALUE_DOUBLE:
        (void)fputs(vamp_number_text(&literal->value, literal->notation, text), out);
        break;
    case VAMP_VALUE_TEXT:
        print_text(out, literal->value.text.bytes, literal->value.text.length);
        break;
    }
}

static void print_list(FILE *out, const struct literal *list)
{
    const char *before = "(";
    for (; list != NULL; list = list->next) {
        (void)fputs(before, out);
        print_literal(out, list);
        before = " ";
    }
    (void)fputc(')', out);
}

/* NOLINTNEXTLINE(misc-no-recursion): bounded by the depth of the text. */
static void print_node(FILE *out, const struct node *node)
{
    switch (node->kind) {
    case NODE_TRUE:
    case NODE_FALSE:
        (void)fputs(node->kind == NODE_TRUE ? "true" : "false", out);
        return;
    case NODE_AND:
    case NODE_OR:
    case NODE_NOT:
        (void)fputs(node->kind == NODE_AND ? "(and" : node->kind == NODE_OR ? "(or" : "(not", out);
        for (const struct node *child = node->children; child != NULL; child = child->next) {
            (void)fputc(' ', out);
            print_node(out, child);
        }
        break;
    case NODE_HAS:
        (void)fprintf(out, "(has %s", node->name);
        break;
    case NODE_COMPARE:
        (void)fprintf(out, "(%s %s ", node->name, comparison_text(node->comparison));
        print_literal(out, node->literals);
        break;
    case NODE_IN:
        (void)fprintf(out, "(%s in ", node->name);
        print_list(out, node->literals);
        break;
    case NODE_GLOB:
    case NODE_REGEX:
        (void)fprintf(out, "(%s %s ", node->name, node->kind == NODE_GLOB ? "glob" : "match");
        print_literal(out, node->literals);
        break;
    }
    (void)fputc(')', out);
}

char *vamp_node_print(const struct node *node)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (out == NULL) {
        return NULL;
    }
    print_node(out, node);
    bool failed = ferror(out) != 0;
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
