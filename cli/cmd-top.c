// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * moca top: another `moca`, record, writes a trace, and this one reads its last
 * seconds again and again. So what is shown is what the other commands tell.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/record-live.h"
#include "cli/top.h"
#include "lib/base/clock.h"
#include "lib/base/err.h"
#include "lib/cmdline/options.h"

#define DELAY_NS 2000000000ull
#define DELAY_MIN_NS 100000000ull
#define DELAY_MAX_NS 60000000000ull
#define WINDOW_NS 5000000000ull
#define SHARE 10	/* reading takes one of so many parts of a CPU's time */

static const char usage[] = "moca top [OPTIONS] -p PID | [--] CMD [ARGS]";
static const char about[] =
	"Show live which data structures a program uses, who reads and writes them, its working set, nodes, faults and CPU time. The program runs as it is, or is attached to and left as it was. Keys: q ends it, space pauses, s sorts by something else, up, down and Enter open a structure, + and - change the pace. Without a terminal, one picture follows the other.";

struct top {
	uint64_t delay_ns, window_ns, count;
	const char *sort, *dir;
	struct top_view view;
	struct top_window window;	/* as shown */
	char tmp[4096];		/* a folder of ours; "": none */
	char *trace, *out, *err;	/* the last two in it */
	int messages;		/* of the recorder: no disk has to have room */
	struct record_live recorder;
	int keys;		/* the terminal, or -1 */
	struct termios was;
	int is_quitting;
	uint64_t shown;		/* pictures */
};

/* --- the recorder ---------------------------------------------------------- */

static char *in_tmp(const struct top *t, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s", t->tmp, name) < 0 ? NULL : path;
}

static int make_folder(struct top *t)
{
	const char *tmp = getenv("TMPDIR");

	if (snprintf(t->tmp, sizeof(t->tmp), "%s/moca-top-XXXXXX",
		     tmp && *tmp ? tmp : "/tmp") >= (int)sizeof(t->tmp) ||
	    !mkdtemp(t->tmp)) {
		moca_error("top: cannot make a folder for the recording in %s: %s (TMPDIR names another one)",
			   tmp && *tmp ? tmp : "/tmp", strerror(errno));
		t->tmp[0] = 0;
		return -EIO;
	}
	t->trace = t->dir ? strdup(t->dir) : in_tmp(t, "trace");
	t->out = in_tmp(t, "stdout");
	t->err = in_tmp(t, "stderr");
	t->messages = memfd_create("moca-top", MFD_CLOEXEC);
	if (t->trace && t->out && t->err && t->messages >= 0)
		return 0;
	moca_error("top: out of memory, or of open files");
	rmdir(t->tmp);
	return -ENOMEM;
}

static void prepare_recorder(void *arg)
{
	const struct top *t = arg;

	/* Keys are ours, and a read of the terminal does not wait. */
	if (t->keys >= 0 && isatty(STDIN_FILENO))
		dup2(open("/dev/null", O_RDONLY | O_CLOEXEC), STDIN_FILENO);
	dup2(t->messages, STDERR_FILENO);
}

static int start(struct top *t, char **argv, int argc)
{
	struct record_live *r = &t->recorder;

	r->trace = t->trace;
	if (!r->pid) {
		r->out = t->out;
		r->err = t->err;
	}
	return record_live_start(r, argv, argc, prepare_recorder, t);
}

/* --- the terminal ---------------------------------------------------------- */

static void open_terminal(struct top *t)
{
	struct termios raw;

	t->view.is_tty = isatty(STDOUT_FILENO);
	t->keys = t->view.is_tty ? open("/dev/tty", O_RDONLY | O_CLOEXEC) : -1;
	if (t->keys >= 0 && !tcgetattr(t->keys, &t->was)) {
		raw = t->was;
		raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
		raw.c_cc[VMIN] = 0;
		raw.c_cc[VTIME] = 0;
		tcsetattr(t->keys, TCSANOW, &raw);
	}
	if (t->view.is_tty)
		fputs("\033[?1049h\033[?7l\033[?25l\033[2J", stdout);
}

static void close_terminal(struct top *t)
{
	if (t->keys >= 0) {
		tcsetattr(t->keys, TCSANOW, &t->was);
		close(t->keys);
	}
	t->keys = -1;
	if (t->view.is_tty)
		fputs("\033[?25h\033[?7h\033[?1049l", stdout);
	fflush(stdout);
}

static void size_of_terminal(struct top_view *v)
{
	struct winsize w;

	v->columns = 100;
	v->rows = 30;
	if (v->is_tty && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) && w.ws_col) {
		v->columns = w.ws_col > 40 ? w.ws_col : 40;
		v->rows = w.ws_row > 10 ? w.ws_row : 10;
	}
}

/* --- keys ------------------------------------------------------------------ */

static void toggle_open(struct top *t)
{
	const struct moca_object *row;

	if (t->view.open) {
		free(t->view.open);
		t->view.open = NULL;
	} else if (t->view.selected < t->window.v.count) {
		row = t->window.v.rows[t->view.selected];
		if (row->id != UINT32_MAX)	/* no sum of sections */
			t->view.open = strdup(row->name);
	}
}

/* 1: the picture must be made anew, of the trace as it is. */
static int act(struct top *t, int key)
{
	struct top_view *v = &t->view;

	switch (key) {
	case 'q':
		t->is_quitting = 1;
		return 0;
	case ' ':
	case 'p':
		v->paused = !v->paused;
		return 0;
	case 's':
		v->sort = (v->sort + 1) % TOP_SORTS;
		return 1;
	case 'j':
		v->selected++;
		return 0;
	case 'k':
		v->selected -= v->selected != 0;
		return 0;
	case '\n':
	case '\r':
		toggle_open(t);
		return 1;
	case '+':
		v->wanted_ns /= v->wanted_ns > 2 * DELAY_MIN_NS ? 2 : 1;
		break;
	case '-':
		v->wanted_ns *= v->wanted_ns < DELAY_MAX_NS / 2 ? 2 : 1;
		break;
	}
	v->delay_ns = v->wanted_ns;
	return 0;
}

/* Arrows are ESC [ A and ESC [ B. */
static int read_keys(struct top *t)
{
	char buf[64];
	ssize_t n = read(t->keys, buf, sizeof(buf)), i;
	int anew = 0;

	for (i = 0; i < n; i++) {
		if (buf[i] == '\033' && i + 2 < n && buf[i + 1] == '[') {
			i += 2;
			anew |= act(t, buf[i] == 'A' ? 'k' :
				       buf[i] == 'B' ? 'j' : 0);
		} else {
			anew |= act(t, buf[i]);
		}
	}
	return anew;
}

/* --- pictures -------------------------------------------------------------- */

/* Reads the trace; nothing is changed where there is none yet. */
static int read_window(struct top *t)
{
	uint64_t began = moca_clock_ns(CLOCK_PROCESS_CPUTIME_ID), took;
	struct top_window w;
	int err = top_window_read(&w, t->trace, t->window_ns, t->view.sort,
				  t->view.open);

	if (err) {
		top_window_free(&w);
		return err == -ENOENT || err == -EBADMSG ? 0 : err;
	}
	top_window_free(&t->window);
	t->window = w;
	t->window.v.path = t->trace;
	took = moca_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - began;
	t->view.delay_ns = t->view.wanted_ns > SHARE * took ?
				   t->view.wanted_ns : SHARE * took;
	return 0;
}

/* The last line of the recorder's messages. */
static void read_messages(struct top *t)
{
	char *s = t->view.said, *line;
	size_t room = sizeof(t->view.said) - 1;
	struct stat st;
	ssize_t n = fstat(t->messages, &st) ? 0 :
		pread(t->messages, s, room, st.st_size > (off_t)room ?
					    st.st_size - (off_t)room : 0);

	if (n > 0 && s[n - 1] == '\n')
		n--;
	s[n > 0 ? n : 0] = 0;
	line = strrchr(s, '\n');
	if (line)
		memmove(s, line + 1, strlen(line));
}

static void show(struct top *t)
{
	read_messages(t);
	size_of_terminal(&t->view);
	if (t->window.v.trace)
		top_view_show(&t->view, &t->window);
}

/* Until the next picture is due, a key tells something, or all has ended. */
static int wait_and_act(struct top *t, uint64_t until_ns)
{
	struct pollfd p = { .fd = t->keys, .events = POLLIN };
	uint64_t now = moca_now_ns(), ms;

	ms = until_ns > now ? (until_ns - now) / 1000000 + 1 : 0;
	/* The recorder's end is noticed soon. */
	if (poll(&p, t->keys >= 0, ms > 200 ? 200 : (int)ms) <= 0 ||
	    t->keys < 0)
		return 0;
	if (read_keys(t) && read_window(t))
		return -EIO;
	show(t);
	return 0;
}

static int watch(struct top *t)
{
	uint64_t next = moca_now_ns() + t->view.delay_ns;
	int err = 0, ended = 0;

	while (!t->is_quitting && !record_live_signalled() && !err) {
		ended = record_live_has_ended(&t->recorder);
		if (ended || moca_now_ns() >= next) {
			if (!t->view.paused || ended)
				err = read_window(t);
			if (!err && !t->view.paused) {
				show(t);
				t->shown += t->window.v.trace != NULL;
			}
			next = moca_now_ns() + t->view.delay_ns;
			if (ended || (t->count && t->shown >= t->count))
				break;
		}
		if (!err)
			err = wait_and_act(t, next);
	}
	if (err)
		moca_error("top: cannot read the recording in %s: %s", t->trace,
			   strerror(-err));
	return err;
}

/* --- the end --------------------------------------------------------------- */

/* What the program, or the recorder, wrote while the screen was ours. */
static void pass_on(FILE *f, FILE *to)
{
	char buf[4096];
	size_t n;

	while (f && (n = fread(buf, 1, sizeof(buf), f)) > 0)
		fwrite(buf, 1, n, to);
	if (f)
		fclose(f);
	fflush(to);
}

/* A folder of files alone, as a trace is. */
static void remove_files(const char *dir)
{
	struct dirent *e;
	DIR *d = opendir(dir);

	while (d && (e = readdir(d)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		closedir(d);
	rmdir(dir);
}

static int finish(struct top *t, int err)
{
	close_terminal(t);
	record_live_end(&t->recorder);
	if (!t->recorder.pid) {
		pass_on(fopen(t->out, "re"), stdout);
		pass_on(fopen(t->err, "re"), stderr);
	}
	lseek(t->messages, 0, SEEK_SET);
	pass_on(fdopen(t->messages, "r"), stderr);
	if (t->dir && t->window.v.trace)
		fprintf(stderr, "moca: the recording is in %s: moca summary %s\n",
			t->dir, t->dir);
	top_window_free(&t->window);
	free(t->view.open);
	if (!t->dir)
		remove_files(t->trace);
	remove_files(t->tmp);
	free(t->trace);
	free(t->out);
	free(t->err);
	return err ? 1 : record_live_exit_code(&t->recorder);
}

static int set_sort(struct top *t)
{
	static const char *const words[TOP_SORTS] = { "accesses", "reads",
						      "writes", "pages" };
	int i;

	for (i = 0; t->sort && i < TOP_SORTS; i++)
		if (!strcmp(t->sort, words[i])) {
			t->view.sort = (enum top_sort)i;
			return 0;
		}
	if (t->sort)
		moca_error("top: option '--sort' needs accesses, reads, writes or pages, not '%s'",
			   t->sort);
	return t->sort ? -EINVAL : 0;
}

static int check(struct top *t, int operands)
{
	if (set_sort(t))
		return -EINVAL;
	if (!t->recorder.pid == !operands) {
		moca_error(t->recorder.pid ? "top: a process (-p) or a command, not both" :
			   "top: what shall be watched? Give a command, or -p PID");
		return -EINVAL;
	}
	if (t->recorder.pid > INT32_MAX) {
		moca_error("top: '-p %llu' is no number of a process",
			   (unsigned long long)t->recorder.pid);
		return -EINVAL;
	}
	if (t->window_ns < DELAY_MIN_NS) {
		moca_error("top: '--window' takes 100ms or more");
		return -EINVAL;
	}
	if (t->delay_ns < DELAY_MIN_NS || t->delay_ns > DELAY_MAX_NS) {
		moca_error("top: '--delay' takes 100ms to 60s");
		return -EINVAL;
	}
	return 0;
}

int cmd_top(int argc, char **argv)
{
	char what[64];
	struct top t = { .delay_ns = DELAY_NS, .window_ns = WINDOW_NS,
			 .keys = -1, .recorder = { .command = "top",
						   .max_size = 1ull << 30 } };
	struct record_live *r = &t.recorder;
	const struct option_spec specs[] = {
		OPT_UINT('p', "pid", &r->pid, "PID", "watch a running process, and leave it as it was"),
		OPT_DURATION('d', "delay", &t.delay_ns, "between two pictures (default: 2s)"),
		OPT_DURATION(0, "window", &t.window_ns, "show what was accessed in this time (default: 5s; more where intervals are longer)"),
		OPT_UINT('n', "count", &t.count, "N", "end after so many pictures"),
		OPT_STRING(0, "sort", &t.sort, "KEY", "by accesses, reads, writes or pages"),
		OPT_STRING('o', "output", &t.dir, "DIR", "keep the recording, for moca summary and all others"),
		OPT_SIZE(0, "max-size", &r->max_size, "end at this size of the recording (default: 1G)"),
		OPT_STRING(0, "sample", &r->sample, "SHARE", "as of moca record (default: auto; 1 with --interval)"),
		OPT_DURATION(0, "interval", &r->interval_ns, "as of moca record"),
		OPT_STRING(0, "budget", &r->budget, "PERCENT", "as of moca record"),
		OPT_END
	};
	int first = moca_options_parse(specs, argc, argv, usage, about), err;

	if (first < 0)
		return first == -ECANCELED ? 0 : EXIT_USAGE;
	if (check(&t, argc - first))
		return EXIT_USAGE;
	snprintf(what, sizeof(what), "process %llu", (unsigned long long)r->pid);
	t.view.what = r->what = r->pid ? what : argv[first];
	t.view.wanted_ns = t.view.delay_ns = t.delay_ns;
	if (make_folder(&t))
		return 1;
	record_live_signals();
	open_terminal(&t);
	err = start(&t, argv + first, argc - first);
	if (!err)
		err = watch(&t);
	return finish(&t, err);
}
