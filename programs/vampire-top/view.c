/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <curses.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "programs/vampire-top/page.h"
#include "programs/vampire-top/show.h"
#include "vampire/core/clock.h"

/* Time between two checks of a followed file. */
#define PAUSE_MS 200
/* Bounded, so that keys work during heavy input. */
#define BUCKETS_A_TURN 64
/* A terminal may claim 65,535 lines, and ncurses keeps each cell three times: of a larger one, the
 * upper left part is used. No line of text is wider. */
#define SCREEN_LINES_MAX 500
#define SMALLEST_LINES 15
#define SMALLEST_COLUMNS 40
_Static_assert(SMALLEST_LINES >= PAGE_HEAD_LINES + 2 + 2, "no room for two titles");
/* Without a bucket for SILENCE_S and for three bucket widths, what is shown is old. */
#define SILENCE_S 5

struct view {
    SCREEN *screen;
    FILE *keys; /* where keys come from; NULL: standard input */
    int key_fd;
    int signal_fd;
    struct top_input *input;
    struct top_model *model;
    struct top_show show;
    struct top_snapshot snapshot; /* what is shown; does not change during a pause */
    size_t first[TOP_KINDS];      /* rows scrolled away */
    enum top_kind focus;          /* the table that is scrolled */
    bool paused, typing, help, quit, source_ended;
    int64_t news_ns;                   /* when the last bucket came */
    char failure[VAMP_ERR_TEXT_BYTES]; /* why the source ended early */
};

/* ---- drawing */

static const char *const help_lines[] = {
    "q            quit",
    "p, space     pause or resume; input is still read",
    "t            rates of the latest bucket, or totals of all seen",
    "s            sort by the next of: operations, bytes, wait, name",
    "o b w n      sort by operations or moves, bytes, wait or p99, name",
    "r            reverse the order",
    "/            show only names that contain a text; Enter keeps, Esc clears it",
    "Tab          switch to the other table",
    "arrows, PgUp, PgDn, Home   scroll",
    "h, ?         this page",
    "",
    "WAIT: from demand to data. p50, p99, MAX: duration of transports.",
    "(x3): three components have this name. idle: time since the last operation.",
    "lag: how old events are when vampire counts them. ..: not in this stream.",
    "WAITS: demands from before the newest bucket, oldest first. AGE?: events were lost.",
    "N more; N before, M after: the rows that are not on the screen, as one.",
    "Red: data is missing or old, a critical alarm. Yellow: alarms, anomalies, vanished",
    "components, and demands for what is not offered.",
};

static attr_t mark_attributes(enum page_mark mark)
{
    const attr_t colours = has_colors() ? A_NORMAL : A_REVERSE;
    switch (mark) {
    case PAGE_PLAIN:
        return A_NORMAL;
    case PAGE_TITLE:
        return A_BOLD;
    case PAGE_WARNING:
        return has_colors() ? (attr_t)COLOR_PAIR(2) : A_BOLD;
    case PAGE_LOSS:
        return colours | A_BOLD | (attr_t)COLOR_PAIR(1);
    case PAGE_DIM:
        return A_DIM;
    }
    return A_NORMAL;
}

static void draw_line(int row, const struct page_line *line)
{
    (void)attrset((int)mark_attributes(line->mark));
    (void)mvaddstr(row, 0, line->text);
    (void)attrset(A_NORMAL);
}

static unsigned columns_used(void)
{
    return COLS < TOP_COLUMNS ? (unsigned)COLS : TOP_COLUMNS;
}

/* Not in the last column, where a terminal may scroll. */
static void draw_text(int row, enum page_mark mark, const char *text)
{
    struct page_line line = {.mark = mark};
    memcpy(line.text, top_text_fit(text, columns_used() - 1).text, sizeof line.text);
    draw_line(row, &line);
}

static void draw_table(struct view *view, enum top_kind kind, int top, int lines)
{
    const struct top_table *table = &view->snapshot.tables[kind];
    struct page_line line;
    size_t room = lines > 1 ? (size_t)lines - 1 : 0;
    /* The rest takes a line, but one row by name is left at least. */
    room -= table->chosen > room && room > 1 ? 1 : 0;
    const size_t last_first = table->chosen > room ? table->chosen - room : 0;
    size_t *first = &view->first[kind];
    *first = *first < last_first ? *first : last_first;
    for (int i = 0; i < lines && page_table(&line, &view->snapshot, kind, *first, room, (size_t)i,
                                            columns_used());
         i++) {
        draw_line(top + i, &line);
    }
    (void)mvchgat(top, 0, -1, view->focus == kind ? A_REVERSE | A_BOLD : A_REVERSE, 0, NULL);
}

/* Seconds without a bucket when the numbers shown are outdated; else 0. */
static double silent_seconds(const struct view *view)
{
    const struct top_snapshot *s = &view->snapshot;
    double seconds = (double)(vamp_clock_monotonic_ns(&vamp_clock_system) - view->news_ns) / 1e9;
    double expected = s->width_ns / 1e9 * 3;
    return s->any && !s->ended && seconds > (expected > SILENCE_S ? expected : SILENCE_S) ? seconds
                                                                                          : 0;
}

/* Adds the keys for which there is room, whole. */
static void add_keys(const struct view *view, char *text, size_t text_bytes)
{
    const char *const keys[] = {
        "h help",  "q quit", view->show.mode == TOP_MODE_RATES ? "t sums" : "t rates",
        "p pause", "s sort", "/ filter"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        const size_t used = strlen(text);
        if (top_text_columns(text) + 2 + strlen(keys[i]) < columns_used()) {
            (void)snprintf(text + used, text_bytes - used, "  %s", keys[i]);
        }
    }
}

/* The last line: the filter that is typed, or the state and the keys. */
static void draw_foot(const struct view *view)
{
    enum page_mark mark = PAGE_PLAIN;
    char text[TOP_TEXT_BYTES];
    char state[64] = "";
    const struct top_choice *choice = &view->show.choice;
    const double silent = silent_seconds(view);
    if (view->paused || view->source_ended) {
        (void)snprintf(state, sizeof state, view->paused ? "[paused]  " : "[end]  ");
    } else if (silent > 0) {
        mark = PAGE_LOSS;
        (void)snprintf(state, sizeof state, "[nothing new for %.0f s]  ", silent);
    }
    if (view->typing) {
        (void)snprintf(text, sizeof text, "names that contain: %s_", choice->filter);
    } else if (view->failure[0] != '\0') {
        mark = PAGE_LOSS;
        (void)snprintf(text, sizeof text, "%s", view->failure);
    } else {
        const bool filter = choice->filter[0] != '\0';
        (void)snprintf(text, sizeof text, "%s%s%s%ssort: %s%s", state, filter ? "[" : "",
                       choice->filter, filter ? "]  " : "", top_sort_names[choice->sort],
                       choice->reverse ? " up" : "");
        add_keys(view, text, sizeof text);
    }
    draw_text(LINES - 1, mark, text);
    if (view->paused) {
        (void)mvchgat(LINES - 1, 0, 8, A_REVERSE, 0, NULL);
    }
}

/* Components get the lines they need, up to three fifths, or the lines that pairs leave. */
static void draw_tables(struct view *view, int head)
{
    const int rows = LINES - head - 2;
    assert(rows >= 2); /* the smallest screen has room for the largest head and two titles */
    const int components = (int)view->snapshot.tables[TOP_COMPONENTS].chosen + 1;
    const int pairs = (int)view->snapshot.tables[TOP_PAIRS].chosen + 1;
    const int upper = components + pairs <= rows   ? components
                      : components <= rows * 3 / 5 ? components
                      : pairs < rows * 2 / 5       ? rows - pairs
                                                   : rows * 3 / 5;
    draw_table(view, TOP_COMPONENTS, head + 1, upper);
    draw_table(view, TOP_PAIRS, head + 1 + upper, rows - upper);
}

/* In up to half of the lines that the tables would have. Returns how many lines it took. */
static int draw_attention(const struct view *view, int head)
{
    struct page_line lines[PAGE_ATTENTION_LINES];
    const int rest = LINES - head - 2;
    const unsigned room = rest > 6 ? (unsigned)rest / 2 : 0;
    const unsigned count = page_attention(lines, room, &view->snapshot, columns_used());
    for (unsigned i = 0; i < count; i++) {
        draw_line(head + 1 + (int)i, &lines[i]);
        if (lines[i].mark == PAGE_TITLE) {
            (void)mvchgat(head + 1 + (int)i, 0, -1, A_REVERSE, 0, NULL);
        }
    }
    return (int)count;
}

/* The whole screen, from the snapshot. */
static void draw(struct view *view)
{
    (void)erase();
    if (LINES < SMALLEST_LINES || COLS < SMALLEST_COLUMNS) {
        (void)mvaddnstr(0, 0, "vampire-top: too small", COLS);
    } else if (view->help) {
        const int count = (int)(sizeof help_lines / sizeof help_lines[0]);
        for (int i = 0; i < count && i + 1 < LINES; i++) {
            draw_text(i + 1, PAGE_PLAIN, help_lines[i]);
        }
        draw_foot(view);
    } else {
        struct page_line head[PAGE_HEAD_LINES];
        int lines = (int)page_head(head, &view->snapshot, top_input_name(view->input),
                                   columns_used(), true);
        for (int i = 0; i < lines; i++) {
            draw_line(i, &head[i]);
        }
        lines += draw_attention(view, lines);
        draw_tables(view, lines);
        draw_foot(view);
    }
    (void)refresh();
}

/* ---- keys */

static void sort_by(struct view *view, enum top_sort sort)
{
    view->show.choice.sort = sort;
    view->show.choice.reverse = false;
    view->first[0] = view->first[1] = 0;
}

static void type_key(struct view *view, int key)
{
    char *filter = view->show.choice.filter;
    size_t used = strlen(filter);
    if (key == '\n' || key == '\r' || key == KEY_ENTER) {
        view->typing = false;
    } else if (key == 27) {
        filter[0] = '\0';
        view->typing = false;
    } else if (key == KEY_BACKSPACE || key == 127 || key == 8) {
        filter[used > 0 ? used - 1 : 0] = '\0';
    } else if (key >= ' ' && key < 127 && used + 1 < sizeof view->show.choice.filter) {
        filter[used] = (char)key;
        filter[used + 1] = '\0';
    }
    view->first[0] = view->first[1] = 0;
}

/* Drawing keeps it within the table. */
static void scroll_by(struct view *view, int rows)
{
    size_t *first = &view->first[view->focus];
    *first = rows < 0 && *first < (size_t)-rows ? 0 : (size_t)((long)*first + rows);
}

static void take_key(struct view *view, int key)
{
    static const char sorts[] = "obwn"; /* in the order of enum top_sort */
    _Static_assert(sizeof sorts - 1 == TOP_SORT_COUNT, "a key for each order");
    if (view->typing) {
        type_key(view, key);
        return;
    }
    if (key > 0 && key < 128 && strchr(sorts, key) != NULL) {
        sort_by(view, (enum top_sort)(strchr(sorts, key) - sorts));
        return;
    }
    switch (key) {
    case 'q':
        view->quit = true;
        break;
    case 'p':
    case ' ':
        view->paused = !view->paused;
        break;
    case 't':
        view->show.mode = view->show.mode == TOP_MODE_RATES ? TOP_MODE_SUMS : TOP_MODE_RATES;
        view->paused = false;
        break;
    case 's':
        sort_by(view, (enum top_sort)((view->show.choice.sort + 1) % TOP_SORT_COUNT));
        break;
    case 'r':
        view->show.choice.reverse = !view->show.choice.reverse;
        break;
    case '/':
        view->typing = true;
        view->help = false;
        break;
    case 27:
        view->help = false;
        view->show.choice.filter[0] = '\0';
        break;
    case 'h':
    case '?':
        view->help = !view->help;
        break;
    case '\t':
        view->focus = view->focus == TOP_PAIRS ? TOP_COMPONENTS : TOP_PAIRS;
        break;
    case KEY_UP:
        scroll_by(view, -1);
        break;
    case KEY_DOWN:
        scroll_by(view, 1);
        break;
    case KEY_PPAGE:
        scroll_by(view, -LINES / 2);
        break;
    case KEY_NPAGE:
        scroll_by(view, LINES / 2);
        break;
    case KEY_HOME:
        view->first[view->focus] = 0;
        break;
    default:
        break;
    }
}

/* ---- the size of the terminal */

/* Takes the terminal's present size, within bounds. A terminal that does not report a size has
 * the one of terminfo. */
static void fit_screen(void)
{
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) {
        return;
    }
    const int lines = size.ws_row < SCREEN_LINES_MAX ? size.ws_row : SCREEN_LINES_MAX;
    const int columns = size.ws_col < TOP_COLUMNS ? size.ws_col : TOP_COLUMNS;
    if (is_term_resized(lines, columns)) {
        (void)resizeterm(lines, columns); /* without memory the size stays as it was */
    }
}

/* ---- the loop */

static void take_signals(struct view *view)
{
    struct signalfd_siginfo info;
    if (read(view->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
        view->quit = true;
    }
}

/* Reads the available lines, also during a pause: the writer must not wait. True when there is more
 * at once. */
static bool take_input(struct view *view)
{
    enum top_input_state state = TOP_INPUT_IDLE;
    for (unsigned i = 0; i < BUCKETS_A_TURN && !view->source_ended; i++) {
        struct vamp_err err = VAMP_ERR_NONE;
        if (top_input_read(view->input, view->model, &state, &err) != 0) {
            memcpy(view->failure, err.text, sizeof view->failure);
            state = TOP_INPUT_END;
        }
        view->source_ended = state == TOP_INPUT_END;
        if (state == TOP_INPUT_BUCKET) {
            view->news_ns = vamp_clock_monotonic_ns(&vamp_clock_system);
        }
        if (state == TOP_INPUT_IDLE || state == TOP_INPUT_END) {
            return false;
        }
    }
    return !view->source_ended;
}

/* A pause keeps the snapshot, but not its order. */
static int take_snapshot(struct view *view, struct vamp_err *err)
{
    const int code =
        view->paused ? 0 : top_snapshot_take(&view->snapshot, view->model, view->show.mode, err);
    for (unsigned kind = 0; code == 0 && kind < TOP_KINDS; kind++) {
        top_choose(&view->snapshot.tables[kind], (enum top_kind)kind, &view->show.choice);
    }
    return code;
}

static int show_all(struct view *view, struct vamp_err *err)
{
    while (!view->quit) {
        bool more = take_input(view);
        int key = ERR;
        bool keys = false;
        while ((key = getch()) != ERR) {
            keys = true;
            take_key(view, key);
        }
        take_signals(view);
        if (more && !keys) {
            continue; /* a long file is not drawn bucket by bucket */
        }
        fit_screen();
        int code = take_snapshot(view, err);
        if (code != 0) {
            return code;
        }
        draw(view);
        if (!more) {
            top_input_wait(view->source_ended ? NULL : view->input, view->key_fd, PAUSE_MS);
        }
    }
    return 0;
}

static int open_screen(struct view *view, struct vamp_err *err)
{
    view->key_fd = STDIN_FILENO;
    if (!isatty(STDIN_FILENO)) {
        view->keys = fopen("/dev/tty", "re");
        if (view->keys == NULL) {
            return vamp_err_set_errno(err, errno,
                                      "open /dev/tty to read keys (--plain needs none)");
        }
        view->key_fd = fileno(view->keys);
    }
    use_env(FALSE); /* fit_screen asks for the size, and bounds it */
    view->screen = newterm(NULL, stdout, view->keys != NULL ? view->keys : stdin);
    if (view->screen == NULL) {
        const char *term = getenv("TERM");
        return vamp_err_set(err, -ENOTSUP,
                            "the terminal \"%s\" is not known here; set TERM, or use "
                            "--plain",
                            term != NULL ? term : "");
    }
    (void)cbreak();
    (void)noecho();
    (void)nodelay(stdscr, TRUE);
    (void)keypad(stdscr, TRUE);
    (void)set_escdelay(50);
    (void)curs_set(0);
    if (has_colors()) {
        (void)start_color();
        (void)use_default_colors();
        (void)init_pair(1, COLOR_RED, -1);
        (void)init_pair(2, COLOR_YELLOW, -1);
    }
    fit_screen();
    return 0;
}

static void close_screen(struct view *view)
{
    if (view->screen != NULL) {
        (void)endwin();
        delscreen(view->screen);
    }
    if (view->keys != NULL) {
        (void)fclose(view->keys);
    }
}

int top_view_run(struct top_input *input, struct top_model *model, const struct top_show *show,
                 struct vamp_err *err)
{
    struct view *view = calloc(1, sizeof *view);
    if (view == NULL) {
        return vamp_err_set_errno(err, ENOMEM, "show %s", top_input_name(input));
    }
    view->input = input;
    view->model = model;
    view->show = *show;
    sigset_t ending;
    (void)sigemptyset(&ending);
    (void)sigaddset(&ending, SIGINT);
    (void)sigaddset(&ending, SIGTERM);
    (void)sigaddset(&ending, SIGHUP);
    sigset_t held = ending;
    (void)sigaddset(&held, SIGWINCH); /* ncurses would take any size */
    (void)sigprocmask(SIG_BLOCK, &held, NULL);
    view->signal_fd = signalfd(-1, &ending, SFD_NONBLOCK | SFD_CLOEXEC);
    int code = view->signal_fd < 0 ? vamp_err_set_errno(err, errno, "wait for signals")
                                   : open_screen(view, err);
    if (code == 0) {
        code = show_all(view, err);
    }
    close_screen(view);
    if (code == 0 && view->failure[0] != '\0') {
        code = vamp_err_set(err, -EIO, "%s", view->failure);
    }
    if (view->signal_fd >= 0) {
        (void)close(view->signal_fd);
    }
    top_snapshot_done(&view->snapshot);
    free(view);
    return code;
}
