// SPDX-License-Identifier: GPL-2.0-or-later
/* lib/base: arrays, tables, strings, bytes and clocks. */
#include "lib/base/bytes.h"
#include "lib/base/clock.h"
#include "lib/base/companion.h"
#include "lib/base/end.h"
#include "lib/base/proc.h"
#include "lib/base/shell.h"
#include "lib/base/strings.h"
#include "lib/base/vec.h"
#include "tests/unit/trace-util.h"

#include <elf.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define KEYS 5000

/* --- end ------------------------------------------------------------------ */

/* By that signal, though it is blocked, and another one is pending. */
static int end_by(void)
{
	sigset_t set;
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		sigfillset(&set);
		sigprocmask(SIG_BLOCK, &set, NULL);
		signal(SIGTERM, SIG_IGN);
		raise(SIGHUP);
		_exit(moca_end_by(SIGTERM));
	}
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	pid = fork();
	if (!pid)
		_exit(moca_end_by(SIGCHLD));
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 128 + SIGCHLD);
	return 0;
}

/* --- shell ---------------------------------------------------------------- */

static int shell(void)
{
	char buf[64];

	CHECK(!strcmp(moca_shell_word(buf, sizeof(buf), "a b"), "'a b'"));
	CHECK(!strcmp(moca_shell_word(buf, sizeof(buf), "x'; rm $x"),
		      "'x'\\''; rm $x'"));
	CHECK(!moca_shell_word(buf, sizeof(buf), ""));
	CHECK(!moca_shell_word(buf, sizeof(buf), "a\nb"));
	CHECK(!moca_shell_word(buf, sizeof(buf), "a\x7f"));
	CHECK(moca_shell_word(buf, 14, "12345"));
	CHECK(!moca_shell_word(buf, 10, "123456789"));
	CHECK(moca_shell_is_plain("./a.out -n 3 --x=1,2:/tmp/f_+"));
	CHECK(!moca_shell_is_plain("a; b") && !moca_shell_is_plain("$(b)"));
	CHECK(!moca_shell_is_plain("a\nb") && !moca_shell_is_plain(""));
	return 0;
}

/* --- vec ------------------------------------------------------------------ */

static int vec_grows(void)
{
	uint32_t *v = NULL, room = 0, count = 0, *p, i, moves = 0, last = 0;

	for (i = 0; i < KEYS; i++) {
		p = moca_vec_add(v, count, room);
		CHECK(p && count == i + 1 && room >= count);
		*p = i;
		moves += room != last;
		last = room;
	}
	for (i = 0; i < KEYS; i++)
		CHECK(v[i] == i);
	CHECK(moves < 12);
	/* Enough is left alone; much more is had at once. */
	CHECK(!moca_vec_fit(v, room, 1) && room == last);
	CHECK(!moca_vec_fit(v, room, 1000003) && room == 1000003);
	free(v);
	return 0;
}

static int vec_ends(void)
{
	struct { uint8_t *items, count, room; } v = { 0 };
	uint64_t *huge = NULL;
	size_t room = 0;

	while (moca_vec_add(v.items, v.count, v.room))
		;
	/* As many as the room can be told of, and all that were there stay. */
	CHECK(v.count == UINT8_MAX && v.room == UINT8_MAX && v.items);
	CHECK(moca_vec_fit(v.items, v.room, 256) == -ENOMEM);
	CHECK(moca_vec_fit(huge, room, SIZE_MAX / 4) == -ENOMEM);
	CHECK(moca_vec_fit(huge, room, SIZE_MAX) == -ENOMEM);
	CHECK(!huge && !room);
	free(v.items);
	return 0;
}

static int vec_zeroed(void)
{
	uint64_t *v = NULL;
	size_t room = 0, from, i;

	for (from = 0; from < 300; from = room) {
		CHECK(!moca_vec_fit_zeroed(v, room, from + 1));
		for (i = from; i < room; i++)
			CHECK(!v[i]);
		memset(v, 0xff, room * sizeof(*v));
	}
	free(v);
	return 0;
}

/* --- table ---------------------------------------------------------------- */

struct entry {
	uint32_t key, seen;
};

/* Bad on purpose: all of 8 keys want the same place. */
static uint64_t hash_entry(const struct entry *e)
{
	return e->key / 8;
}

static int same_entry(const struct entry *a, const struct entry *b)
{
	return a->key == b->key;
}

static int used_entry(const struct entry *e)
{
	return e->seen != 0;
}

MOCA_TABLE(entries, struct entry, hash_entry, same_entry, used_entry);

static int table_holds(void)
{
	struct entry *t = NULL, *e, key;
	size_t cap = 0, count = 0, i, used = 0;

	for (i = 0; i < 2 * KEYS; i++) {
		CHECK(!entries_fit(&t, &cap, count));
		key = (struct entry){ .key = (uint32_t)(i * 7919 % KEYS) };
		e = entries_at(t, cap, &key);
		if (!e->seen) {
			*e = key;
			count++;
		}
		e->seen++;
	}
	CHECK(count == KEYS && !(cap & (cap - 1)));
	CHECK(!((uintptr_t)t % 64));
	for (i = 0; i < KEYS + 100; i++) {
		key.key = (uint32_t)i;
		CHECK(entries_at(t, cap, &key)->seen == (i < KEYS ? 2 : 0));
	}
	for (i = 0; i < cap; i++)
		used += t[i].seen != 0;
	CHECK(used == KEYS);
	free(t);
	return 0;
}

static int table_memory(void)
{
	/* Below and above the size of a huge page. */
	static const size_t counts[] = { 1, 63, 4096, 1 << 17, 300001 };
	size_t i, k;
	uint64_t *p;

	/* The second time it may be what was given back. */
	for (i = 0; i < 2 * sizeof(counts) / sizeof(*counts); i++) {
		size_t count = counts[i / 2];

		p = moca_table_memory(count, sizeof(*p));
		CHECK(p && !((uintptr_t)p % 64));
		for (k = 0; k < count; k++)
			CHECK(!p[k]);
		memset(p, 0xff, count * sizeof(*p));
		free(p);
	}
	CHECK(!moca_table_memory(SIZE_MAX / 4, 8));
	CHECK(!moca_table_memory(SIZE_MAX - 10, 1));
	return 0;
}

/* What is let go of a table is what was said, and no more; growing loses nothing. */
static int table_lets_go(void)
{
	const size_t huge = (size_t)2 << 20, bytes = 5 * huge;
	struct entry *t = NULL, *e, key;
	size_t cap = 0, count, i;
	uint8_t *p = moca_table_memory(bytes, 1);

	CHECK(p);
	memset(p, 1, bytes);
	moca_table_let_go(p, 100, 3 * huge + 100);
	for (i = 0; i < bytes; i++)
		CHECK(p[i] == (i < huge || i >= 3 * huge));
	free(p);
	for (count = 0; count < 8 * MOCA_TABLE_PIECE / sizeof(*t) / 10; count++) {
		CHECK(!entries_fit(&t, &cap, count));
		key = (struct entry){ .key = (uint32_t)count * 8, .seen = 1 };
		*entries_at(t, cap, &key) = key;
	}
	CHECK(cap * sizeof(*t) > MOCA_TABLE_PIECE);
	for (i = 0; i < count; i++) {
		key.key = (uint32_t)i * 8;
		e = entries_at(t, cap, &key);
		CHECK(e->seen == 1 && e->key == key.key);
	}
	free(t);
	return 0;
}

static int index_finds(void)
{
	struct moca_index x = { 0 };
	uint32_t keys[KEYS], i, n;
	int round;

	moca_index_each(i, &x, 0)
		CHECK(!"an item of nothing");
	for (round = 0; round < 2; round++) {
		/* The last ones have the same hash. */
		for (n = 0; n < KEYS; n++) {
			keys[n] = n * 2654435761u;
			CHECK(!moca_index_add(&x, n < KEYS - 50 ?
						moca_mix(keys[n]) : 7, n));
		}
		for (n = 0; n < KEYS; n++) {
			moca_index_each(i, &x, n < KEYS - 50 ?
					moca_mix(keys[n]) : 7)
				if (keys[i] == keys[n])
					break;
			CHECK(i == n);
		}
		moca_index_each(i, &x, moca_mix(1) + 1)
			CHECK(keys[i] != 1);
		CHECK(i == MOCA_INDEX_NONE);
		moca_index_clear(&x);
		moca_index_each(i, &x, 7)
			CHECK(!"an item after all were forgotten");
	}
	CHECK(moca_index_add(&x, 1, MOCA_INDEX_NONE) == -ENOMEM);
	moca_index_free(&x);
	return 0;
}

/* --- strings -------------------------------------------------------------- */

static int strings_once(void)
{
	struct moca_strings s = { 0 };
	const char *first[KEYS], *empty;
	char text[32];
	int round, i;

	empty = moca_strings_intern(&s, "");
	CHECK(empty && !*empty);
	for (round = 0; round < 2; round++)
		for (i = 0; i < KEYS; i++) {
			const char *p;

			snprintf(text, sizeof(text), "string %d", i);
			p = moca_strings_intern(&s, text);
			CHECK(p && p != text && !strcmp(p, text));
			CHECK(!round || p == first[i]);
			first[i] = p;
		}
	CHECK(moca_strings_intern(&s, "") == empty && s.count == KEYS + 1);
	moca_strings_free(&s);
	moca_strings_free(&s);
	return 0;
}

/* --- bytes ---------------------------------------------------------------- */

static int bytes_grow(void)
{
	struct moca_buf b = { 0 };
	uint8_t piece[257], varint[MOCA_VARINT_MAX];
	const uint8_t *p;
	uint64_t v, i;
	volatile size_t huge = SIZE_MAX / 2;
	size_t len = 0;

	memset(piece, 'x', sizeof(piece));
	for (i = 0; i < 100; i++) {
		moca_buf_add(&b, piece, sizeof(piece));
		moca_buf_varint(&b, i << i % 64);
	}
	CHECK(!b.error);
	for (p = b.data, i = 0; i < 100; i++) {
		CHECK(!memcmp(p, piece, sizeof(piece)));
		p += sizeof(piece);
		CHECK(!moca_get_varint(&p, b.data + b.len, &v));
		CHECK(v == i << i % 64);
		len += sizeof(piece) + moca_put_varint(varint, v);
	}
	CHECK(p == b.data + b.len && b.len == len);
	moca_buf_add(&b, NULL, 0);
	CHECK(b.len == len && !b.error);
	CHECK(moca_buf_reserve(&b, SIZE_MAX / 2) == -ENOMEM && !b.error);
	/* What fails stays failed, and what was there stays. */
	moca_buf_add(&b, piece, huge);
	CHECK(b.error == -ENOMEM && b.len == len);
	moca_buf_add(&b, piece, 1);
	CHECK(b.len == len);
	moca_buf_free(&b);
	CHECK(!b.data && !b.error);
	return 0;
}

/* --- clocks --------------------------------------------------------------- */

static int clocks(void)
{
	struct timespec ts;
	uint64_t a, b;

	CHECK(moca_timespec_ns((struct timespec){ 5, 7 }) == 5000000007ull);
	a = moca_now_ns();
	clock_gettime(CLOCK_MONOTONIC, &ts);
	b = moca_now_ns();
	CHECK(a <= moca_timespec_ns(ts) && moca_timespec_ns(ts) <= b);
	CHECK(!moca_clock_ns(-1));
	/* CPU time that only grows when the process runs, and it has run. */
	a = moca_process_cpu_ns(getpid());
	b = moca_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	CHECK(a && a <= b);
	CHECK(!moca_process_cpu_ns(0x7ffffffe));
	return 0;
}

/* --- proc ----------------------------------------------------------------- */

#define GONE 0x7ffffffe	/* no task has this number */

static int proc_fields(void)
{
	char text[64], path[128];
	FILE *f;

	/* Two lines longer than any buffer, and what looks like a field. */
	f = tmpfile();
	CHECK(f);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fileno(f));
	fprintf(f, "%02000d Key: no\n%02000d\nKeyed:\t1\nKey:\t two words \n"
		"Key: late\nNone:\nlast 7", 0, 0);
	fflush(f);
	CHECK(!moca_proc_field(text, sizeof(text), path, "Key:"));
	CHECK(!strcmp(text, "two words"));
	CHECK(!moca_proc_field(text, 4, path, "Key:") && !strcmp(text, "two"));
	CHECK(!moca_proc_field(text, sizeof(text), path, "None:") && !*text);
	CHECK(!moca_proc_field(text, sizeof(text), path, "last"));
	CHECK(!strcmp(text, "7"));
	CHECK(moca_proc_field(text, sizeof(text), path, "ke") == -ENOENT);
	CHECK(!*text);
	fclose(f);
	CHECK(moca_proc_field(text, sizeof(text), path, "Key:") == -ENOENT);
	return 0;
}

static int proc_status(void)
{
	char text[64], want[64];
	uint64_t run_ns, wait_ns;
	int err, fd;

	CHECK(moca_proc_number(0, "Pid:") == (uint64_t)getpid());
	CHECK(moca_proc_number(getpid(), "PPid:") == (uint64_t)getppid());
	snprintf(want, sizeof(want), "%d\t%d\t", getuid(), geteuid());
	CHECK(!moca_proc_status(text, sizeof(text), 0, "Uid:"));
	CHECK(!strncmp(text, want, strlen(want)));
	CHECK(moca_proc_number(GONE, "Pid:") == 0);
	CHECK(moca_proc_status(text, sizeof(text), GONE, "Pid:") == -ENOENT);
	CHECK(moca_proc_schedstat(GONE, GONE, &run_ns, &wait_ns) == -ENOENT);
	CHECK(!run_ns && !wait_ns);
	err = moca_proc_schedstat(0, getpid(), &run_ns, &wait_ns);
	CHECK(err == -ENOENT || (!err && run_ns));
	CHECK(moca_proc_schedstat_of(-1, &run_ns, &wait_ns) == -EBADF);
	CHECK(!run_ns && !wait_ns);
	fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	/* As often as it is asked for. */
	for (int i = 0; i < 2 && fd >= 0; i++)
		CHECK(!moca_proc_schedstat_of(fd, &run_ns, &wait_ns) && run_ns);
	if (fd >= 0)
		close(fd);
	return 0;
}

/* A zombie whose name looks like what follows a name. */
static int proc_stat(void)
{
	char text[1024], *last;
	siginfo_t info;
	int parent = 0;
	pid_t pid;

	CHECK(!moca_proc_stat(text, sizeof(text), 0) && *text == 'R');
	pid = fork();
	if (!pid) {
		prctl(PR_SET_NAME, "a) X 1 (b");
		_exit(3);
	}
	CHECK(!waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT));
	CHECK(!moca_proc_stat(text, sizeof(text), pid));
	CHECK(sscanf(text, "Z %d", &parent) == 1 && parent == getpid());
	last = strrchr(text, ' ');
	CHECK(last && atoi(last + 1) == 3 << 8);
	waitpid(pid, NULL, 0);
	CHECK(moca_proc_stat(text, sizeof(text), GONE) == -ENOENT && !*text);
	return 0;
}

static int proc_auxv(void)
{
	struct moca_auxv aux;

	CHECK(!moca_proc_auxv(&aux, getpid()));
	CHECK(moca_auxv_value(&aux, AT_PAGESZ) == getauxval(AT_PAGESZ));
	CHECK(moca_auxv_value(&aux, AT_PHDR) == getauxval(AT_PHDR));
	CHECK(!moca_auxv_value(&aux, 0x6d6f6361) && !moca_auxv_value(&aux, 0));
	CHECK(moca_proc_auxv(&aux, GONE) == -ENOENT && !aux.words[0]);
	return 0;
}

/* --- maps ----------------------------------------------------------------- */

static size_t most;	/* bytes that a read gives */

static int read_few(int fd, void *buf, size_t size)
{
	return (int)read(fd, buf, size < most ? size : most);
}

/* A line whose name is too long for buffers of 256, between two others. */
static int maps_lines(void)
{
	static const char begin[] =
		"7f0000001000-7f0000003000 r-xp 0000a000 fd:1f 4294967297"
		"                 /lib/a b (deleted)\n"
		"7f0000003000-7f0000004000 rw-s 00000000 00:00 5 ";
	static const char end[] =
		"\nnonsense\n"
		"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0\n"
		"10-20 r";
	struct moca_maps_line l;
	char buf[256];
	FILE *f = tmpfile();

	CHECK(f);
	fputs(begin, f);
	for (int i = 0; i < 2000; i++)
		fputc('x', f);
	fputs(end, f);
	fflush(f);
	for (most = 1; most < 400; most += 7) {
		struct moca_maps m = { .fd = fileno(f), .read = read_few,
				       .buf = buf, .size = sizeof(buf) };

		rewind(f);
		lseek(m.fd, 0, SEEK_SET);
		CHECK(moca_maps_next(&m, &l) == 1);
		CHECK(l.start == 0x7f0000001000 && l.end == 0x7f0000003000);
		CHECK(l.readable && !l.writable && l.executable && !l.shared);
		CHECK(l.offset == 0xa000 && l.major == 0xfd && l.minor == 0x1f);
		CHECK(l.ino == 4294967297 &&
		      !strcmp(l.name, "/lib/a b (deleted)"));
		CHECK(moca_maps_next(&m, &l) == 1);
		CHECK(l.start == 0x7f0000003000 && l.shared && l.writable);
		CHECK(strlen(l.name) > 100 && strspn(l.name, "x") ==
		      strlen(l.name));
		CHECK(moca_maps_next(&m, &l) == 1);
		CHECK(l.start == 0xffffffffff600000 && !l.readable && !*l.name);
		CHECK(moca_maps_next(&m, &l) == 0);
	}
	fclose(f);
	return 0;
}

static int maps_own(void)
{
	char buf[MOCA_MAPS_BUF];
	struct moca_maps_line l;
	struct moca_maps m;
	int stack = 0;

	CHECK(!moca_proc_maps(&m, getpid(), buf, sizeof(buf)));
	while (moca_maps_next(&m, &l) > 0)
		if ((uint64_t)buf >= l.start && (uint64_t)buf < l.end)
			stack = !strcmp(l.name, "[stack]") && l.writable;
	close(m.fd);
	CHECK(stack);
	CHECK(moca_proc_maps(&m, GONE, buf, sizeof(buf)) == -ENOENT);
	return 0;
}

/* --- companion ------------------------------------------------------------ */

/* What a companion tells of itself by its socket. */
static void accompany(int control)
{
	char text[32] = "";

	prctl(PR_GET_NAME, text, 0, 0, 0);
	raise(SIGTERM);
	raise(SIGTTIN);
	send(control, text, sizeof(text), 0);
	recv(control, text, sizeof(text), 0);
	_exit(text[0] == 'x' ? 7 : 1);
}

static int companion(void)
{
	struct rlimit old, none = { 0 };
	int control = -1, status, err;
	char text[32];
	sigset_t all, was;
	pid_t pid;

	/* A blocked signal must not stay so in the companion, nor end it. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &was);
	pid = companion_fork("beside-us", &control);
	if (!pid)
		accompany(control);
	sigprocmask(SIG_SETMASK, &was, NULL);
	CHECK(pid > 0 && fcntl(control, F_GETFD) == FD_CLOEXEC);
	CHECK(recv(control, text, sizeof(text), 0) == sizeof(text));
	CHECK(!strcmp(text, "beside-us"));
	CHECK(send(control, "x", 1, MSG_NOSIGNAL) == 1);
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
	/* It had the only other end. */
	CHECK(recv(control, text, sizeof(text), 0) == 0);
	close(control);
	getrlimit(RLIMIT_NOFILE, &old);
	none.rlim_max = old.rlim_max;
	setrlimit(RLIMIT_NOFILE, &none);
	err = companion_fork("none", &control);
	setrlimit(RLIMIT_NOFILE, &old);
	CHECK(err == -EMFILE);
	return 0;
}

int main(void)
{
	run("words of a shell", shell);
	run("vec: grows, and keeps what is in it", vec_grows);
	run("vec: ends where its room or memory does", vec_ends);
	run("vec: zeroed", vec_zeroed);
	run("table: each key once, whatever its hash", table_holds);
	run("table: memory is zeroed and aligned", table_memory);
	run("table: what is copied is let go", table_lets_go);
	run("table: an index finds each item", index_finds);
	run("strings: equal ones are one", strings_once);
	run("bytes: grow, and errors stay", bytes_grow);
	run("clock: one time", clocks);
	run("proc: fields of any file", proc_fields);
	run("proc: status", proc_status);
	run("proc: stat, whatever the name", proc_stat);
	run("proc: auxiliary vector", proc_auxv);
	run("maps: lines of any length, read in any pieces", maps_lines);
	run("maps: a process's own", maps_own);
	run("end: by a signal", end_by);
	run("companion: its name, signals and socket", companion);
	return failures != 0;
}
