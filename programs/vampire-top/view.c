/* SPDX-License-Identifier: BSD-3-Clause */
#include "programs/vampire-top/view.h"

#include <assert.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "programs/vampire-top/page.h"
#include "programs/vampire-top/view_internal.h"
#include "vampire/core/clock.h"

/* Time between two checks of a followed file. */
#define PAUSE_MS 200
/* Bounded, so that keys work during heavy input. */
#define BUCKETS_A_TURN 64
/* A terminal may claim 65,535 lines, and ncurses keeps each cell three times: of a larger one, the
 * upper left part is used. No line of text is wider. */
#define SCREEN_LINES_MAX 500
#define SCREEN_COLUMNS_MAX PAGE_COLUMNS

/* ---- keys */

static void choose_rows(struct view *view)
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
    assert(view->focus < sizeof view->first / sizeof view->first[0]);
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

static void handle_key(struct view *view, int key)
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
    _Static_assert(sizeof sorts - 1 == TOP_SORT_COUNT, "a key for each order");
    if (view->typing) {
        type_key(view, key);
    } else if (key < 128 && key > 0 && strchr(sorts, key) != NULL) {
        sort_by(view, (enum top_sort)(strchr(sorts, key) - sorts));
    } else {
        handle_key(view, key);
        scroll_key(view, key);
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
    const int columns = size.ws_col < SCREEN_COLUMNS_MAX ? size.ws_col : SCREEN_COLUMNS_MAX;
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

static int take_snapshot(struct view *view, struct vamp_err *err)
{
    if (view->paused) {
        choose_rows(view);
        return 0;
    }
    int code = top_snapshot_take(&view->snapshot, view->model, view->show.mode, err);
    if (code == 0) {
        choose_rows(view);
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
        view_draw(view);
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
