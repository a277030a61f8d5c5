// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `moca check` notices every bit that is flipped in any file of a trace: all of
 * them in small traces with each kind of chunk, random ones in a recording.
 * FLIPS=N changes how many of those.
 */
#include <dirent.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "cli/commands.h"
#include "tests/unit/trace-util.h"

#define FILES_MAX 64
#define CHILDREN 2

static const char *build(void)
{
	const char *b = getenv("BUILD");

	return b ? b : "build";
}

static int check(const char *path)
{
	char *argv[] = { "check", (char *)path, NULL };

	return cmd_check(2, argv);
}

/* One file of the trace and where its bits begin in the count of all. */
struct target {
	char name[256];
	uint64_t first, bytes;
};

struct targets {
	struct target list[FILES_MAX];
	size_t count;
	uint64_t bits;
};

static const char *only;	/* of all files; NULL: all */

static void list_targets(struct targets *t)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	struct stat st;

	t->count = t->bits = 0;
	while (d && (e = readdir(d)) && t->count < FILES_MAX) {
		struct target *x = &t->list[t->count];

		if (fstatat(dirfd_, e->d_name, &st, 0) ||
		    !S_ISREG(st.st_mode) || (only && strcmp(e->d_name, only)))
			continue;
		snprintf(x->name, sizeof(x->name), "%s", e->d_name);
		x->first = t->bits;
		x->bytes = (uint64_t)st.st_size;
		t->bits += 8 * x->bytes;
		t->count++;
	}
	if (d)
		closedir(d);
}

/* 0: noticed. */
static int flip(const struct targets *t, const char *path, int fd, uint64_t bit)
{
	const struct target *x = t->list;
	int file, ret;
	uint64_t at;
	uint8_t b;

	while (bit >= x->first + 8 * x->bytes)
		x++;
	at = (bit - x->first) / 8;
	file = openat(fd, x->name, O_RDWR);
	if (file < 0 || pread(file, &b, 1, (off_t)at) != 1)
		abort();
	b ^= 1u << bit % 8;
	if (pwrite(file, &b, 1, (off_t)at) != 1)
		abort();
	ret = check(path);
	b ^= 1u << bit % 8;
	if (pwrite(file, &b, 1, (off_t)at) != 1)
		abort();
	close(file);
	if (ret != 0)
		return 0;
	fprintf(stderr, "bit %d of byte %llu of %s is not noticed\n",
		(int)(bit % 8), (unsigned long long)at, x->name);
	return 1;
}

/* In a process with a copy of its own: every CHILDREN-th of the bits wanted. */
static int flip_some(const struct targets *t, unsigned first, uint64_t count)
{
	int quiet = open("/dev/null", O_WRONLY), missed = 0, fd;
	int own = dup(2);
	char copy[80], cmd[256];

	snprintf(copy, sizeof(copy), "%s.%u", dir, first);
	snprintf(cmd, sizeof(cmd), "cp -r %s %s", dir, copy);
	if (system(cmd))
		abort();
	fd = open(copy, O_RDONLY | O_DIRECTORY);
	dup2(quiet, 1);
	dup2(quiet, 2);
	rnd_state += first;
	missed += check(copy) != 0;	/* it is sound */
	for (uint64_t i = first; i < (count ? count : t->bits); i += CHILDREN) {
		missed += flip(t, copy, fd, count ? rnd() % t->bits : i);
		if (missed > 5)
			break;
	}
	if (check(copy))
		missed++;	/* it is as it was */
	dup2(own, 2);
	snprintf(cmd, sizeof(cmd), "rm -rf %s", copy);
	return missed || system(cmd);
}

/* count random bits, or all (0). */
static int flip_all(uint64_t count)
{
	struct targets t;
	pid_t pids[CHILDREN];
	int status, bad = 0;

	list_targets(&t);
	CHECK(t.count > (only ? 0 : 1));
	fflush(NULL);
	for (unsigned i = 0; i < CHILDREN; i++) {
		pids[i] = fork();
		if (!pids[i])
			_exit(flip_some(&t, i, count));
	}
	for (unsigned i = 0; i < CHILDREN; i++) {
		waitpid(pids[i], &status, 0);
		bad |= status;
	}
	snprintf(why, sizeof(why), "%s: of %llu bits, some were not noticed, or a check crashed (status %#x)",
		 dir, (unsigned long long)t.bits, bad);
	return bad != 0;
}

/* A trace of a program that tests have; 2 when it is not there. */
static int make(const char *program, const char *args)
{
	char cmd[512];

	dir_new();
	snprintf(cmd, sizeof(cmd), "rm -rf %s && %s/%s %s %s >/dev/null 2>&1",
		 dir, build(), program, dir, args);
	if (system(cmd)) {
		snprintf(why, sizeof(why), "cannot run %s", program);
		return 1;
	}
	close(dirfd_);
	dirfd_ = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return 0;
}

static int t_accesses(void)
{
	return make("tests/make-trace", "complete") || flip_all(0);
}

static int t_events(void)
{
	return make("tests/make-trace", "only-events") || flip_all(0);
}

static int t_counts(void)
{
	return make("tests/make-exact", "") || flip_all(2000);
}

/* Whatever a recording leaves: the recorder's files, and those beside it. */
static int t_recording(void)
{
	const char *n = getenv("FLIPS");
	char cmd[512];

	dir_new();
	snprintf(cmd, sizeof(cmd), "%s/moca record -q -o %s -- ls / >/dev/null 2>&1",
		 build(), dir);
	if (system(cmd)) {
		snprintf(why, sizeof(why), "moca record does not work here");
		return 2;
	}
	return flip_all(n ? strtoull(n, NULL, 10) : 2000);
}

/* The names of code that a program compiled, which ls does not. */
static int t_jit(void)
{
	char cmd[512];
	int ret;

	dir_new();
	snprintf(cmd, sizeof(cmd), "mkdir %s.d && %s/moca record -q -o %s -- "
		 "%s/tests/stacks/jit dump %s.d >/dev/null 2>&1; ret=$?; "
		 "rm -rf %s.d; exit $ret", dir, build(), dir, build(), dir, dir);
	if (system(cmd)) {
		snprintf(why, sizeof(why), "moca record does not work here");
		return 2;
	}
	only = "jit";
	ret = flip_all(0);
	only = NULL;
	return ret;
}

int main(void)
{
	run("flips/accesses", t_accesses);
	run("flips/events", t_events);
	run("flips/counts", t_counts);
	run("flips/recording", t_recording);
	run("flips/jit", t_jit);
	dir_remove();
	return failures != 0;
}
