/* SPDX-License-Identifier: BSD-3-Clause */
/* What vampire-top writes: texts in columns, lines of the head, rows in order. */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "programs/vampire-top/page.h"

#define E_ACUTE "e\xcc\x81"                 /* e and a combining accent: one column */
#define JAPANESE "\xe6\x97\xa5\xe6\x9c\xac" /* two characters of two columns each */

static void check_fit(const char *text, unsigned columns, const char *expected)
{
    assert_string_equal(top_text_fit(text, columns).text, expected);
}

static void texts_are_cut_and_padded_by_columns(void **state)
{
    (void)state;
    check_fit("abc", 5, "abc  ");
    check_fit("abcdef", 4, "abc~");
    check_fit("abc", 0, "");
    check_fit(JAPANESE, 4, JAPANESE);
    check_fit(JAPANESE, 3, "\xe6\x97\xa5~");
    check_fit(JAPANESE, 2, "~ "); /* no half of a character */
    check_fit(E_ACUTE "x", 3, E_ACUTE "x ");
    assert_int_equal(top_text_columns(E_ACUTE JAPANESE), 5);
}

static void check_clean(const char *text, const char *expected)
{
    char out[64];
    top_text_clean(out, sizeof out, text);
    assert_string_equal(out, expected);
}

static void what_a_terminal_would_obey_is_not_shown(void **state)
{
    (void)state;
    check_clean("\x1b[31mred\x7f", "?[31mred?");
    check_clean("a\xc2\x9b"
                "b",
                "a?b"); /* CSI as one character */
    check_clean("a\xe2\x80\xae"
                "b",
                "a?b"); /* turns the direction of writing */
    check_clean("a\xe2\x80\x8b"
                "b",
                "a?b");                                /* a blank without width */
    check_clean("\xff\xc0\x80\xed\xa0\x80", "??????"); /* no UTF-8 */
    check_clean("\xcc\x81"
                "a",
                "?a"); /* an accent on nothing */
    check_clean(JAPANESE E_ACUTE, JAPANESE E_ACUTE);
    char out[8];
    top_text_clean(out, sizeof out, JAPANESE JAPANESE); /* cut at a character's end */
    assert_string_equal(out, JAPANESE);
}

static void numbers_take_few_columns(void **state)
{
    (void)state;
    static const double values[] = {0,       0.04, 0.5,    9.96,  999.4,  999.6, 1023.4,
                                    99999.4, 1e5,  1e6,    1e9,   1e12,   1e15,  1e18,
                                    1.9e19,  1e30, 999499, 99950, 1048575};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        assert_true(values[i] > 1e20 || strlen(top_text_count(values[i]).text) <= 7);
        assert_true(values[i] > 1e20 || strlen(top_text_bytes(values[i]).text) <= 8);
        assert_true(values[i] > 1e20 || strlen(top_text_time(values[i]).text) <= 14);
    }
    assert_string_equal(top_text_count(1376).text, "1,376");
    assert_string_equal(top_text_bytes(1024 * 1024).text, "1.00 MiB");
    assert_string_equal(top_text_time(2160000).text, "2.16 ms");
    assert_string_equal(top_text_time(5e12).text, "1.39 h");
}

static struct top_row row_of(const char *name, unsigned members, unsigned left, const char *reason)
{
    struct top_row row = {.members = members, .left = left};
    (void)snprintf(row.name, sizeof row.name, "%s", name);
    (void)snprintf(row.reason, sizeof row.reason, "%s", reason);
    row.vanished = left > 0 && strcmp(reason, "finalized") != 0;
    return row;
}

static void check_row(const struct top_row *row, enum page_mark mark, const char *begins)
{
    static const struct top_snapshot whole;
    struct page_line line;
    page_row(&line, &whole, TOP_COMPONENTS, row, 80);
    assert_int_equal(line.mark, mark);
    assert_int_equal(top_text_columns(line.text), 80);
    if (strncmp(line.text, begins, strlen(begins)) != 0) {
        fail_msg("\"%s\" does not begin with \"%s\"", line.text, begins);
    }
}

/* Never "0 moves, p50 8 ms": what took time has moved. */
static void what_the_stream_lacks_is_hidden(void **state)
{
    (void)state;
    struct page_line line;
    struct top_snapshot snapshot = {.hidden_in_rows = TOP_BIT(TOP_TRANSPORTS)};
    struct top_row pair = {.name = "a", .second = "b", .timed = 3, .times = {8e6, 8e6, 9e6}};
    page_row(&line, &snapshot, TOP_PAIRS, &pair, 70);
    assert_string_equal(line.text,
                        "a -> b                      ..          ..  8.00 ms  8.00 ms  9.00 ms ");
    snapshot.hidden_in_rows = 0;
    page_row(&line, &snapshot, TOP_PAIRS, &pair, 70);
    assert_non_null(strstr(line.text, "     ..          ..  8.00 ms"));
    pair = (struct top_row){.name = "a", .second = "b", .sums = {[TOP_TRANSPORTS] = 2}};
    page_row(&line, &snapshot, TOP_PAIRS, &pair, 70);
    assert_non_null(strstr(line.text, "       2         0 B        -        -        -"));
    snapshot.hidden_in_rows = TOP_NUMBERS_ALL;
    struct top_row row = row_of("IFS -- 0", 1, 0, "");
    row.sums[TOP_OPERATIONS] = 12;
    page_row(&line, &snapshot, TOP_COMPONENTS, &row, 80);
    assert_non_null(strstr(line.text, "     12          ..          ..       ..       ..     .."));
    assert_true(page_table(&line, &snapshot, TOP_PAIRS, 0, 9, 0, 70));
    assert_non_null(strstr(line.text, "not in this stream"));
}

static void rows_without_room_are_one(void **state)
{
    (void)state;
    struct top_row rows[] = {
        {.name = "a", .sums = {[TOP_OPERATIONS] = 5}, .timed = 1, .times = {0, 0, 7}},
        {.name = "b", .sums = {[TOP_OPERATIONS] = 4, [TOP_PRODUCED] = 10}},
        {.name = "c", .sums = {[TOP_OPERATIONS] = 3}, .timed = 2, .times = {0, 0, 9}},
        {.name = "not chosen", .sums = {[TOP_OPERATIONS] = 100}}};
    struct top_row pairs[] = {
        {.name = "a", .second = "b", .sums = {[TOP_TRANSPORTS] = 2, [TOP_MOVED] = 1}},
        {.name = "a", .second = "c", .sums = {[TOP_TRANSPORTS] = 1, [TOP_MOVED] = 5}}};
    const struct top_snapshot snapshot = {.tables = {{rows, 4, 3}, {pairs, 2, 2}}};
    const struct top_row rest = top_rest(&snapshot.tables[TOP_COMPONENTS], 1, 1);
    assert_int_equal(rest.rest, 2);
    assert_string_equal(rest.name, "1 before, 1 after");
    assert_true(rest.sums[TOP_OPERATIONS] == 8 && rest.sums[TOP_PRODUCED] == 0);
    assert_true(rest.timed == 3 && rest.times[TOP_MAX] == 9);
    struct page_line line;
    page_row(&line, &snapshot, TOP_COMPONENTS, &rest, 80);
    assert_int_equal(line.mark, PAGE_DIM);
    assert_non_null(strstr(line.text, "     ..       ..      0"));
    const struct top_row other = top_rest(&snapshot.tables[TOP_PAIRS], 0, 1);
    assert_true(other.rest == 1 && other.sums[TOP_TRANSPORTS] == 1 && other.sums[TOP_MOVED] == 5);
    page_row(&line, &snapshot, TOP_PAIRS, &other, 70);
    assert_int_equal(strncmp(line.text, "1 more ", 7), 0);
}

static void the_state_of_a_component_is_never_cut(void **state)
{
    (void)state;
    struct top_row row = row_of("IFS -- 0", 1, 0, "");
    check_row(&row, PAGE_PLAIN, "IFS -- 0   ");
    row = row_of("IFS -- 0", 1, 1, "finalized");
    check_row(&row, PAGE_DIM, "IFS -- 0 (finalized) ");
    row = row_of("a component with a long name", 1, 1, "vanished");
    check_row(&row, PAGE_WARNING, "a component~ (vanished) ");
    row = row_of("IFS -- 0", 1, 0, "");
    row.idle_ns = 12e9;
    check_row(&row, PAGE_PLAIN, "IFS -- 0 (idle 12.0 s) ");
    row = row_of("IFS", 3, 0, "");
    check_row(&row, PAGE_PLAIN, "IFS (x3) ");
    row = row_of("IFS", 3, 1, "vanished");
    check_row(&row, PAGE_WARNING, "IFS (x3, 1 vanished) ");
    row = row_of("IFS", 3, 3, "finalized");
    check_row(&row, PAGE_DIM, "IFS (x3, finalized) ");
    row = row_of(JAPANESE JAPANESE JAPANESE JAPANESE JAPANESE JAPANESE, 2, 1, "vanished");
    check_row(&row, PAGE_WARNING, JAPANESE);
}

static void a_long_list_of_losses_goes_on_in_the_next_line(void **state)
{
    (void)state;
    struct top_snapshot snapshot = {.any = true, .gaps = 87, .bad_lines = 3, .loss_count = 2};
    (void)snprintf(snapshot.losses[0].text, sizeof snapshot.losses[0].text, "events in ring");
    (void)snprintf(snapshot.losses[1].text, sizeof snapshot.losses[1].text, "buckets of live");
    snapshot.losses[0].count = 88;
    snapshot.losses[0].fresh = 4;
    snapshot.losses[1].count = 2;
    (void)snprintf(snapshot.gap, sizeof snapshot.gap, "00:00:20.001 to 00:00:20.001 (ring)");
    struct page_line lines[PAGE_LOSS_LINES];
    assert_int_equal(page_losses(lines, &snapshot, 80), 3);
    assert_non_null(strstr(lines[0].text, "88 events in ring (+4)  2 buckets of live"));
    assert_non_null(strstr(lines[1].text, "87 gaps, last 00:00:20.001 to 00:00:20.001 (ring)"));
    assert_non_null(strstr(lines[2].text, "3 lines not understood"));
    assert_int_equal(lines[1].mark, PAGE_LOSS);
    assert_int_equal(page_losses(lines, &snapshot, 200), 1);
    assert_int_equal(page_losses(lines, &snapshot, 40), 3);
    snapshot.loss_count = 0;
    snapshot.gaps = snapshot.bad_lines = 0;
    assert_int_equal(page_losses(lines, &snapshot, 80), 1);
    assert_int_equal(lines[0].mark, PAGE_PLAIN);
}

static void vanished_components_stand_in_the_head(void **state)
{
    (void)state;
    struct top_snapshot snapshot = {.any = true, .vanished_count = TOP_VANISHED_MAX};
    for (unsigned i = 0; i < TOP_VANISHED_MAX; i++) {
        (void)snprintf(snapshot.vanished[i], TOP_NAME_BYTES, "component %u", 2 * i + 1);
    }
    struct page_line lines[PAGE_HEAD_LINES];
    assert_int_equal(page_head(lines, &snapshot, "f", 80), 4 + PAGE_VANISHED_LINES + 1);
    assert_non_null(strstr(lines[4].text, "vanished   component 1  component 3"));
    assert_int_equal(lines[4].mark, PAGE_WARNING);
    assert_int_equal(lines[5].text[strlen(lines[5].text) - 1], '~');
    snapshot.vanished_count = 0;
    assert_int_equal(page_head(lines, &snapshot, "f", 80), 5);
}

static void rows_are_sorted_and_filtered(void **state)
{
    (void)state;
    struct top_row rows[] = {row_of("IFS -- 10", 1, 0, ""), row_of("IFS -- 2", 1, 0, ""),
                             row_of("products", 1, 0, "")};
    rows[0].sums[TOP_OPERATIONS] = 1;
    rows[1].sums[TOP_PRODUCED] = 7;
    rows[2].times[TOP_P99] = 9;
    struct top_table table = {.rows = rows, .count = 3};
    struct top_choice choice = {.sort = TOP_SORT_NAME};
    top_choose(&table, TOP_COMPONENTS, &choice);
    assert_int_equal(table.chosen, 3);
    assert_string_equal(rows[0].name, "IFS -- 2"); /* numbers count as such */
    choice.reverse = true;
    top_choose(&table, TOP_COMPONENTS, &choice);
    assert_string_equal(rows[0].name, "products");
    static const struct {
        enum top_sort sort;
        const char *first;
    } cases[] = {{TOP_SORT_OPERATIONS, "IFS -- 10"},
                 {TOP_SORT_BYTES, "IFS -- 2"},
                 {TOP_SORT_WAIT, "products"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        choice = (struct top_choice){.sort = cases[i].sort};
        top_choose(&table, TOP_COMPONENTS, &choice);
        assert_string_equal(rows[0].name, cases[i].first);
    }
    choice = (struct top_choice){.sort = TOP_SORT_NAME, .filter = "ifs"};
    top_choose(&table, TOP_COMPONENTS, &choice);
    assert_int_equal(table.chosen, 2);
}

static void pairs_are_sorted_by_moves_and_then_by_time(void **state)
{
    (void)state;
    struct top_row rows[] = {
        {.name = "slow", .second = "s", .sums = {[TOP_TRANSPORTS] = 1}, .times = {0, 9, 9}},
        {.name = "busy", .second = "s", .sums = {[TOP_TRANSPORTS] = 2}},
        {.name = "busy and slow",
         .second = "s",
         .sums = {[TOP_TRANSPORTS] = 2},
         .times = {0, 5, 5}}};
    struct top_table table = {.rows = rows, .count = 3};
    struct top_choice choice = {.sort = TOP_SORT_OPERATIONS};
    top_choose(&table, TOP_PAIRS, &choice);
    assert_string_equal(rows[0].name, "busy and slow");
    assert_string_equal(rows[1].name, "busy");
    choice.sort = TOP_SORT_WAIT;
    top_choose(&table, TOP_PAIRS, &choice);
    assert_string_equal(rows[0].name, "slow");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_cut_and_padded_by_columns),
        cmocka_unit_test(what_a_terminal_would_obey_is_not_shown),
        cmocka_unit_test(numbers_take_few_columns),
        cmocka_unit_test(what_the_stream_lacks_is_hidden),
        cmocka_unit_test(rows_without_room_are_one),
        cmocka_unit_test(the_state_of_a_component_is_never_cut),
        cmocka_unit_test(a_long_list_of_losses_goes_on_in_the_next_line),
        cmocka_unit_test(vanished_components_stand_in_the_head),
        cmocka_unit_test(rows_are_sorted_and_filtered),
        cmocka_unit_test(pairs_are_sorted_by_moves_and_then_by_time),
    };
    /* Widths of characters come from the locale; this one is part of the C library. */
    if (setlocale(LC_CTYPE, "C.UTF-8") == NULL) {
        return 1;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
