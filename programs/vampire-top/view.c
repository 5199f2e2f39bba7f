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
/* Between two pictures while a long file is read. */
#define DRAW_NS (VAMP_NS_PER_SECOND / 2)
/* Bounded, so that keys work during heavy input. */
#define BUCKETS_A_TURN 64
/* A terminal may claim 65,535 lines, and ncurses keeps each cell three times: of a larger one, the
 * upper left part is used. No line of text is wider. */
#define SCREEN_LINES_MAX 500
#define SMALLEST_LINES 15
#define SMALLEST_COLUMNS 40
_Static_assert(PAGE_ATTENTION_LINES >= PAGE_HEAD_LINES, "the head has no room");
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
    long first[TOP_KINDS];        /* rows scrolled away */
    enum top_kind focus;          /* the table that is scrolled */
    bool chosen;                  /* show.ranks is the user's */
    bool paused, typing, help, quit, source_ended, reading;
    enum top_kind lower;               /* the second table: pairs, or who waited for whom */
    int64_t news_ns;                   /* when the last bucket came */
    char failure[VAMP_ERR_TEXT_BYTES]; /* why the source ended early */
};

/* ---- drawing */

static const char *const help_lines[] = {
    "q            quit",
    "p, space     pause or resume; input is still read",
    "t            rates, or totals of all seen",
    "i            rates of the latest bucket, or of the last 10, 100 or 1,000 s",
    "Enter, m     models, or each rank",
    "v            pairs, who waited for whom, or declared metrics",
    "s            sort by the next of: operations, bytes, wait, name",
    "o b w n      sort by operations or moves, bytes, wait or p99, name",
    "r            reverse the order",
    "/            show only names that contain a text; Enter keeps, Esc clears it",
    "Tab          switch to the other table",
    "arrows, PgUp, PgDn, Home   scroll",
    "h, ?         this page",
    "",
    "WAIT: from demand to data. p50, p99, MAX: duration of transports.",
    "(x3): three of this name. @n17: on this host. idle: since the last operation.",
    "lag: how old events are when vampire counts them. ..: not in this stream.",
    "(of 20 s): the numbers of a rank are those of so long, ended lately.",
    "WAITS: demands from before the newest bucket, oldest first. AGE?: events were lost.",
    "N more; N before, M after: the rows that are not on the screen, as one.",
    "Red: data is missing or old, a critical alarm. Yellow: alarms, anomalies, vanished",
    "components, and demands for what is not offered.",
};

static void draw_line(int row, const struct page_line *line)
{
    static const attr_t attributes[][2] = {
        /* without and with colours */
        [PAGE_PLAIN] = {A_NORMAL, A_NORMAL},
        [PAGE_TITLE] = {A_BOLD, A_BOLD},
        [PAGE_WARNING] = {A_BOLD, COLOR_PAIR(2)},
        [PAGE_LOSS] = {A_REVERSE | A_BOLD, A_BOLD | COLOR_PAIR(1)},
        [PAGE_DIM] = {A_DIM, A_DIM},
    };
    (void)attrset((int)attributes[line->mark][has_colors()]);
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
    const long last_first = table->chosen > room ? (long)(table->chosen - room) : 0;
    long *first = &view->first[kind];
    *first = *first < 0 ? 0 : *first < last_first ? *first : last_first;
    for (int i = 0; i < lines && page_table(&line, &view->snapshot, kind, (size_t)*first, room,
                                            (size_t)i, columns_used());
         i++) {
        draw_line(top + i, &line);
    }
    (void)mvchgat(top, 0, -1, view->focus == kind ? A_REVERSE | A_BOLD : A_REVERSE, 0, NULL);
}

/* Seconds without a bucket when the numbers shown are outdated; else 0. */
static double silent_seconds(const struct view *view)
{
    const struct top_snapshot *s = &view->snapshot;
    const double age_ns = (double)(vamp_clock_monotonic_ns(&vamp_clock_system) - view->news_ns);
    const bool is_old = age_ns > 3 * s->width_ns && age_ns > SILENCE_S * 1e9;
    return s->any && !s->ended && is_old ? age_ns / 1e9 : 0;
}

/* The last line: the filter that is typed, or the state and the keys for which there is room. */
static void draw_foot(const struct view *view)
{
    enum page_mark mark = PAGE_PLAIN;
    char text[TOP_TEXT_BYTES], state[64] = "";
    const struct top_choice *choice = &view->show.choice;
    const char *const keys[] = {
        "h help",   "q quit",  view->show.mode == TOP_MODE_RATES ? "t sums" : "t rates",
        "p pause",  "s sort",  "/ filter",
        "m models", "v blame", "i time"};
    const double silent = silent_seconds(view);
    if (view->reading) {
        (void)snprintf(state, sizeof state, "[%u %% read]  ", top_input_progress(view->input));
    } else if (view->paused || view->source_ended) {
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
        for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
            const size_t used = strlen(text);
            if (top_text_columns(text) + 2 + strlen(keys[i]) < columns_used()) {
                (void)snprintf(text + used, sizeof text - used, "  %s", keys[i]);
            }
        }
    }
    draw_text(LINES - 1, mark, text);
    if (view->paused) {
        (void)mvchgat(LINES - 1, 0, 8, A_REVERSE, 0, NULL);
    }
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
        struct page_line part[PAGE_ATTENTION_LINES];
        const struct top_snapshot *s = &view->snapshot;
        int lines = (int)page_head(part, s, top_input_name(view->input), columns_used());
        for (int i = 0; i < lines; i++) {
            draw_line(i, &part[i]);
        }
        /* In up to half of the lines that the tables would have. */
        int rows = LINES - lines - 2;
        const unsigned room = rows > 6 ? (unsigned)rows / 2 : 0;
        const int count = (int)page_attention(part, room, s, columns_used());
        for (int i = 0; i < count; i++, lines++) {
            draw_line(lines + 1, &part[i]);
            if (part[i].mark == PAGE_TITLE) {
                (void)mvchgat(lines + 1, 0, -1, A_REVERSE, 0, NULL);
            }
        }
        rows -= count;
        assert(rows >= 2); /* the smallest screen has room for the largest head and two titles */
        /* Components get the lines they need, up to three fifths, or those that pairs leave. */
        const int components = (int)s->tables[TOP_COMPONENTS].chosen + 1;
        const int pairs = (int)s->tables[view->lower].chosen + 1;
        const int upper = components + pairs <= rows   ? components
                          : components <= rows * 3 / 5 ? components
                          : pairs < rows * 2 / 5       ? rows - pairs
                                                       : rows * 3 / 5;
        draw_table(view, TOP_COMPONENTS, lines + 1, upper);
        draw_table(view, view->lower, lines + 1 + upper, rows - upper);
        draw_foot(view);
    }
    (void)refresh();
}

/* ---- keys */

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
    memset(view->first, 0, sizeof view->first);
}

static void take_key(struct view *view, int key)
{
    static const char sorts[] = "obwn"; /* in the order of enum top_sort */
    _Static_assert(sizeof sorts - 1 == TOP_SORT_COUNT, "a key for each order");
    struct top_choice *choice = &view->show.choice;
    const char *sort = key > 0 && key < 128 ? strchr(sorts, key) : NULL;
    if (view->typing) {
        type_key(view, key);
        return;
    }
    if (sort != NULL || key == 's') {
        choice->sort = sort != NULL ? (enum top_sort)(sort - sorts)
                                    : (enum top_sort)((choice->sort + 1) % TOP_SORT_COUNT);
        choice->reverse = false;
        memset(view->first, 0, sizeof view->first);
    }
    /* Drawing keeps it within the table. */
    long *first = &view->first[view->focus];
    *first += key == KEY_UP      ? -1
              : key == KEY_DOWN  ? 1
              : key == KEY_PPAGE ? -LINES / 2
              : key == KEY_NPAGE ? LINES / 2
              : key == KEY_HOME  ? -*first
                                 : 0;
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
    case 'i': {
        double *window_ns = &view->show.window_ns;
        *window_ns = *window_ns >= 1000e9 ? 0 : *window_ns >= 10e9 ? 10 * *window_ns : 10e9;
        view->show.mode = TOP_MODE_RATES;
        view->paused = false;
        break;
    }
    case 'm':
    case '\n':
    case '\r':
    case KEY_ENTER:
        view->show.ranks = view->snapshot.level == TOP_MODELS;
        view->chosen = true;
        view->paused = false;
        break;
    case 'v':
        view->lower = view->lower == TOP_PAIRS ? TOP_BLAME
                      : view->lower == TOP_BLAME && view->snapshot.tables[TOP_DECLARED].count > 0
                          ? TOP_DECLARED
                          : TOP_PAIRS;
        view->focus = view->focus == TOP_COMPONENTS ? TOP_COMPONENTS : view->lower;
        break;
    case 'r':
        choice->reverse = !choice->reverse;
        break;
    case '/':
        view->typing = true;
        view->help = false;
        break;
    case 27:
        view->help = false;
        choice->filter[0] = '\0';
        break;
    case 'h':
    case '?':
        view->help = !view->help;
        break;
    case '\t':
        view->focus = view->focus == TOP_COMPONENTS ? view->lower : TOP_COMPONENTS;
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

/* What is shown, unless that is paused: a pause keeps the snapshot, but not its order. */
static int take_snapshot(struct view *view, struct vamp_err *err)
{
    const bool models =
        !view->show.ranks && (view->chosen || top_level_usual(view->model) == TOP_MODELS);
    int code = 0;
    if (!view->paused) {
        top_model_window(view->model, view->show.window_ns);
        code = top_snapshot_take(&view->snapshot, view->model, view->show.mode,
                                 models ? TOP_MODELS : TOP_RANKS, err);
    }
    for (enum top_kind kind = TOP_COMPONENTS; code == 0 && kind < TOP_KINDS; kind++) {
        top_choose(&view->snapshot.tables[kind], kind, &view->show.choice);
    }
    return code;
}

static int show_all(struct view *view, struct vamp_err *err)
{
    struct signalfd_siginfo info;
    int64_t drawn_ns = vamp_clock_monotonic_ns(&vamp_clock_system);
    while (!view->quit) {
        view->reading = take_input(view);
        int key = ERR;
        bool keys = false;
        while ((key = getch()) != ERR) {
            keys = true;
            take_key(view, key);
        }
        if (read(view->signal_fd, &info, sizeof info) == (ssize_t)sizeof info) {
            view->quit = true;
        }
        const int64_t now_ns = vamp_clock_monotonic_ns(&vamp_clock_system);
        if (view->reading && !keys && now_ns - drawn_ns < DRAW_NS) {
            continue; /* a long file is not drawn bucket by bucket */
        }
        fit_screen();
        const int code = take_snapshot(view, err);
        if (code != 0) {
            return code;
        }
        draw(view);
        drawn_ns = now_ns;
        if (!view->reading) {
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
    view->lower = TOP_PAIRS;
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
    if (view->screen != NULL) {
        (void)endwin();
        delscreen(view->screen);
    }
    if (view->keys != NULL) {
        (void)fclose(view->keys);
    }
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
