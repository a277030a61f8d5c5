// SPDX-License-Identifier: GPL-2.0-or-later
/* The collector that moca record starts beside its own. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collect/trace/beside.h"
#include "collect/trace/shm.h"
#include "collect/trace/slot.h"
#include "lib/format/rate-writer.h"
#include "lib/ring/clock.h"

static int failed;
static char top[] = "/tmp/moca-test-session-XXXXXX";

static void result(const char *name, int good, const char *what, long value)
{
	if (good)
		printf("ok %s\n", name);
	else
		printf("not ok %s: %s: %ld\n", name, what, value);
	fflush(stdout);
	failed |= !good;
}

static int entries(const char *path)
{
	struct dirent *e;
	DIR *d = opendir(path);
	int n = 0;

	while (d && (e = readdir(d)))
		n += e->d_name[0] != '.';
	if (d)
		closedir(d);
	return n;
}

/* Files of a trace, slots that are taken, sockets. */
static int left_behind(const char *id)
{
	const char *dir = getenv("MOCA_SHM_DIR");
	char path[4096], run[4096];
	struct moca_registry_slot s;
	struct tracer_registry r;
	unsigned int i;
	int n;

	snprintf(path, sizeof(path), "%s/moca-%u/%s",
		 dir && *dir ? dir : "/dev/shm", geteuid(), id);
	n = !access(path, F_OK);
	snprintf(run, sizeof(run), "%s/run", top);
	n += entries(run) != 1;
	if (tracer_registry_open(&r))
		return -1;
	for (i = 0; i < MOCA_REGISTRY_SLOTS; i++)
		n += tracer_registry_read(&r, i, &s) || s.state;
	tracer_registry_close(&r);
	return n;
}

static void emit(const char *id)
{
	const char *build = getenv("BUILD");
	char path[4096];
	pid_t pid = fork();

	if (!pid) {
		snprintf(path, sizeof(path), "%s/tests/trace/writers",
			 build ? build : "build");
		setenv(MOCA_TRACE_ENV, id, 1);
		freopen("/dev/null", "w", stdout);
		execl(path, path, "2", "500", "pace", NULL);
		_exit(127);
	}
	waitpid(pid, NULL, 0);
}

static int start(struct moca_trace_session **s, const char *dir)
{
	int err = moca_trace_session_start(s, dir, NULL);

	return err ? err : moca_trace_session_ready(*s);
}

static void test_run(int with_program)
{
	struct moca_trace_session *s;
	struct tracer_result r;
	char dir[4096], file[4200], id[32];
	int err;

	snprintf(dir, sizeof(dir), "%s/trace%d", top, with_program);
	err = start(&s, dir);
	result("start", !err, "error", err);
	if (err)
		return;
	strcpy(id, moca_trace_session_id(s));
	/* Only now, as moca record may do it. */
	mkdir(dir, 0700);
	if (with_program)
		emit(id);
	err = moca_trace_session_finish(s, &r);
	result("finish", !err, "error", err);
	result(with_program ? "events" : "no events",
	       r.events == (with_program ? 1000 : 0), "events",
	       (long)r.events);
	result(with_program ? "streams" : "no streams",
	       r.streams == (with_program ? 2 : 0), "it is", r.streams);
	/* The first numbers are those of rates and heat. */
	snprintf(file, sizeof(file), "%s/marker-%u", dir,
		 MOCA_OWN_STREAMS + 1);
	result("files", (access(file, F_OK) == 0) == with_program, "it is",
	       with_program);
	snprintf(file, sizeof(file), "%s/metadata", dir);
	result("no metadata", access(file, F_OK), "it is", 0);
	result("nothing left", !left_behind(id), "things",
	       left_behind(id));
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The machine may be busy: the median of some. */
static void test_speed(void)
{
	struct moca_trace_session *s;
	struct tracer_result r;
	uint64_t took[31];
	size_t i;

	for (i = 0; i < 31; i++) {
		took[i] = moca_now_ns();
		if (start(&s, top))
			return;
		took[i] = moca_now_ns() - took[i];
		moca_trace_session_finish(s, &r);
	}
	qsort(took, 31, sizeof(*took), by_size);
	printf("# start: %" PRIu64 " us, least %" PRIu64 "\n",
	       took[15] / 1000, took[0] / 1000);
	/* That of a quiet machine; it may be a busy one. */
	result("quick start", took[0] < 2000000, "us at least",
	       (long)(took[0] / 1000));
}

/* Who began it dies: it ends by itself. */
static void test_orphan(void)
{
	struct timespec nap = { 0, 10000000 };
	struct moca_trace_session *s;
	int pipefd[2], i, left = 1;
	char id[17] = "";
	pid_t pid;

	if (pipe(pipefd))
		return;
	pid = fork();
	if (!pid) {
		if (!start(&s, top) &&
		    write(pipefd[1], moca_trace_session_id(s), 17) == 17)
			_exit(0);
		_exit(1);
	}
	waitpid(pid, NULL, 0);
	if (read(pipefd[0], id, sizeof(id)) != sizeof(id))
		id[0] = 0;
	for (i = 0; i < 6000 && left; i++) {
		nanosleep(&nap, NULL);
		left = left_behind(id);
	}
	result("ends with its caller", id[0] && !left, "things left",
	       left);
}

/* The limit of open files may be reached when a trace ends. */
static void test_remove(void)
{
	struct rlimit old, none;
	struct tracer_shm m;
	char path[PATH_MAX];
	int err;

	err = tracer_shm_create(&m, 0x5e55101100000000ull | getpid());
	if (!err)
		err = tracer_shm_note_directory(&m, top);
	result("made", !err, "error", err);
	if (err)
		return;
	strcpy(path, m.path);
	getrlimit(RLIMIT_NOFILE, &old);
	none = old;
	none.rlim_cur = 0;
	setrlimit(RLIMIT_NOFILE, &none);
	tracer_shm_remove(&m);
	setrlimit(RLIMIT_NOFILE, &old);
	result("removed without a descriptor", access(path, F_OK), "it is", 0);
}

static void test_refused(void)
{
	struct moca_trace_session *s;
	char path[4096];

	snprintf(path, sizeof(path), "%s/open", top);
	mkdir(path, 0755);
	chmod(path, 0755);
	setenv("MOCA_RUNTIME_DIR", path, 1);
	freopen("/dev/null", "w", stderr);
	result("refused", start(&s, top) < 0, "it is", 0);
}

static int is_dir(const char *expected)
{
	char path[4096];

	return !moca_registry_dir(path, sizeof(path)) && !strcmp(path, expected);
}

/* Where the registry is: by two variables, by the user's number. */
static void test_dir(void)
{
	char expected[4096], path[8];
	struct stat st;

	setenv("MOCA_RUNTIME_DIR", "/a/place", 1);
	result("dir-own", is_dir("/a/place"), "it is not", 0);
	result("dir-long", moca_registry_dir(path, sizeof(path)) ==
	       -ENAMETOOLONG, "it fits", 0);
	unsetenv("MOCA_RUNTIME_DIR");
	setenv("XDG_RUNTIME_DIR", top, 1);
	snprintf(expected, sizeof(expected), "%s/moca", top);
	result("dir-xdg", is_dir(expected), "it is not", 0);
	unsetenv("XDG_RUNTIME_DIR");
	snprintf(expected, sizeof(expected), "/run/user/%u", geteuid());
	if (!lstat(expected, &st) && S_ISDIR(st.st_mode))
		strcat(expected, "/moca");
	else
		snprintf(expected, sizeof(expected), "/tmp/moca-%u", geteuid());
	result("dir-user", is_dir(expected), "it is not", 0);
}

int main(void)
{
	char path[4096];

	if (!mkdtemp(top))
		return 1;
	snprintf(path, sizeof(path), "%s/run", top);
	mkdir(path, 0700);
	setenv("MOCA_RUNTIME_DIR", path, 1);
	test_run(1);
	test_run(0);
	test_speed();
	test_orphan();
	test_remove();
	test_refused();
	test_dir();
	snprintf(path, sizeof(path), "rm -rf %s", top);
	if (system(path))
		return 1;
	return failed;
}
