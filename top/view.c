/* SPDX-License-Identifier: BSD-3-Clause */
#include "top/view.h"

#include <curses.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "top/page.h"
#include "top/text.h"

/* Between looks at a file that is followed. */
#define PAUSE_MS 200
#define SMALLEST_LINES 8
#define SMALLEST_COLUMNS 40
/* So that keys work while much comes in. */
#define BUCKETS_A_TURN 64

struct view {
    SCREEN *screen;
    FILE *keys; /* where keys come from; NULL: standard input */
    int key_fd;
    int signal_fd;
    struct top_input *input;
    struct top_model *model;
    struct top_show show;
    struct top_snapshot snapshot; /* what is shown; stands still during a pause */
    size_t components, pairs;     /* chosen rows of it */
    size_t first[2];              /* rows scrolled away: components, pairs */
    unsigned focus;               /* the table that is scrolled */
    bool paused, typing, help, quit, source_ended;
    char failure[VAMP_ERR_TEXT_BYTES]; /* why the source ended early */
};

/* ---- drawing */

static const char *const help_lines[] = {
    "q            quit",
    "p, space     pause and go on; what comes in is still read",
    "t            rates of the newest bucket, or sums of all seen",
    "s            sort by the next of: operations, bytes, wait, name",
    "o b w n      sort by operations, bytes, wait or name",
    "r            turn the order round",
    "/            show only names that contain a text; Enter keeps it, Esc ends it",
    "Tab          scroll the other table",
    "arrows, PgUp, PgDn, Home   scroll",
    "h, ?         this page",
    "",
    "WAIT: from a component's demand to its data. p50, p99, MAX of pairs: time of a transport.",
    "Red: data is missing. Yellow: anomalies, or a component that vanished.",
};

static attr_t attributes(enum page_mark mark)
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

static void put(int row, const struct page_line *line)
{
    (void)attrset((int)attributes(line->mark));
    (void)mvaddstr(row, 0, line->text);
    (void)attrset(A_NORMAL);
}

static unsigned columns_used(void)
{
    return COLS < PAGE_COLUMNS ? (unsigned)COLS : PAGE_COLUMNS;
}

static void draw_table(struct view *view, unsigned table, int top, int rows)
{
    size_t count = table == 0 ? view->components : view->pairs;
    size_t room = rows > 1 ? (size_t)rows - 1 : 0;
    size_t last_first = count > room ? count - room : 0;
    view->first[table] = view->first[table] < last_first ? view->first[table] : last_first;
    struct page_line line;
    if (table == 0) {
        page_component_title(&line, view->snapshot.mode, columns_used());
    } else {
        page_pair_title(&line, view->snapshot.mode, columns_used());
    }
    put(top, &line);
    (void)mvchgat(top, 0, -1, view->focus == table ? A_REVERSE | A_BOLD : A_REVERSE, 0, NULL);
    for (size_t i = 0; i < room && view->first[table] + i < count; i++) {
        size_t row = view->first[table] + i;
        if (table == 0) {
            page_component(&line, &view->snapshot.component_rows[row], columns_used());
        } else {
            page_pair(&line, &view->snapshot.pairs[row], columns_used());
        }
        put(top + 1 + (int)i, &line);
    }
}

/* What the last line says: the filter that is typed, or the state and the keys. */
static void draw_foot(const struct view *view)
{
    struct page_line line = {.mark = PAGE_PLAIN};
    char text[PAGE_LINE_BYTES];
    const struct top_choice *choice = &view->show.choice;
    if (view->typing) {
        (void)snprintf(text, sizeof text, "names that contain: %s_", choice->filter);
    } else if (view->failure[0] != '\0') {
        line.mark = PAGE_LOSS;
        (void)snprintf(text, sizeof text, "%s", view->failure);
    } else {
        (void)snprintf(text, sizeof text,
                       "%s%s%s%ssort: %s%s  q quit  p pause  t %s  s sort  / filter  h help",
                       view->paused         ? "[paused]  "
                       : view->source_ended ? "[end]  "
                                            : "",
                       choice->filter[0] != '\0' ? "[" : "", choice->filter,
                       choice->filter[0] != '\0' ? "]  " : "", top_sort_name(choice->sort),
                       choice->reverse ? " up" : "",
                       view->show.mode == TOP_MODE_RATES ? "sums" : "rates");
    }
    top_text_fit(line.text, sizeof line.text, text, columns_used() - 1);
    put(LINES - 1, &line);
    if (view->paused) {
        (void)mvchgat(LINES - 1, 0, 8, A_REVERSE, 0, NULL);
    }
}

static void draw_help(void)
{
    for (size_t i = 0; i < sizeof help_lines / sizeof help_lines[0]; i++) {
        struct page_line line = {.mark = PAGE_PLAIN};
        top_text_fit(line.text, sizeof line.text, help_lines[i], columns_used() - 1);
        if ((int)i + 1 < LINES) {
            put((int)i + 1, &line);
        }
    }
}

/* Components get what they need, up to three fifths, or what pairs leave. */
static void draw_tables(struct view *view)
{
    int rows = LINES - PAGE_HEAD_LINES - 2;
    int components = (int)view->components + 1;
    int pairs = (int)view->pairs + 1;
    int upper = components + pairs <= rows   ? components
                : components <= rows * 3 / 5 ? components
                : pairs < rows * 2 / 5       ? rows - pairs
                                             : rows * 3 / 5;
    draw_table(view, 0, PAGE_HEAD_LINES + 1, upper);
    draw_table(view, 1, PAGE_HEAD_LINES + 1 + upper, rows - upper);
}

static void draw(struct view *view)
{
    (void)erase();
    if (LINES < SMALLEST_LINES || COLS < SMALLEST_COLUMNS) {
        (void)mvaddnstr(0, 0, "vampire-top: too small", COLS);
    } else if (view->help) {
        draw_help();
        draw_foot(view);
    } else {
        struct page_line head[PAGE_HEAD_LINES];
        page_head(head, &view->snapshot, top_input_name(view->input), columns_used(), true);
        for (int i = 0; i < PAGE_HEAD_LINES; i++) {
            put(i, &head[i]);
        }
        draw_tables(view);
        draw_foot(view);
    }
    (void)refresh();
}

/* ---- keys */

static void choose(struct view *view)
{
    top_order(&view->snapshot, &view->show.choice, &view->components, &view->pairs);
}

static void sort_by(struct view *view, enum top_sort sort)
{
    view->show.choice.sort = sort;
    view->show.choice.reverse = false;
    view->first[0] = view->first[1] = 0;
}

static void scroll_by(struct view *view, int rows)
{
    size_t *first = &view->first[view->focus];
    if (rows < 0 && *first < (size_t)-rows) {
        *first = 0;
    } else {
        *first = (size_t)((long)*first + rows); /* drawing keeps it within the table */
    }
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

static void change(struct view *view, int key)
{
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
        view->focus = 1 - view->focus;
        break;
    default:
        break;
    }
}

static void scroll_key(struct view *view, int key)
{
    int page = LINES / 2;
    switch (key) {
    case KEY_UP:
        scroll_by(view, -1);
        break;
    case KEY_DOWN:
        scroll_by(view, 1);
        break;
    case KEY_PPAGE:
        scroll_by(view, -page);
        break;
    case KEY_NPAGE:
        scroll_by(view, page);
        break;
    case KEY_HOME:
        view->first[view->focus] = 0;
        break;
    default:
        break;
    }
}

static void take_key(struct view *view, int key)
{
    static const char sorts[] = "obwn"; /* in the order of enum top_sort */
    if (view->typing) {
        type_key(view, key);
    } else if (key < 128 && key > 0 && strchr(sorts, key) != NULL) {
        sort_by(view, (enum top_sort)(strchr(sorts, key) - sorts));
    } else {
        change(view, key);
        scroll_key(view, key);
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

/* Reads what is there, also during a pause: the writer must not wait for us. True when there is
 * more at once. */
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
        if (state == TOP_INPUT_IDLE || state == TOP_INPUT_END) {
            return false;
        }
    }
    return !view->source_ended;
}

static int take_snapshot(struct view *view, struct vamp_err *err)
{
    if (view->paused) {
        choose(view);
        return 0;
    }
    int code = top_snapshot_take(&view->snapshot, view->model, view->show.mode, err);
    if (code == 0) {
        choose(view);
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
    (void)sigprocmask(SIG_BLOCK, &ending, NULL);
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
