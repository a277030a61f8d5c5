// SPDX-License-Identifier: GPL-2.0-or-later
/* The tracer's two calls: update, switch, and what a thread leaves. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "include/uapi/moca.h"

#define DEVICE "/dev/moca"
#define BYTES 65536u

static int failures;

__attribute__((format(printf, 3, 4)))
static void check(const char *what, int good, const char *why, ...)
{
	va_list ap;

	printf(good ? "ok %s" : "not ok %s: ", what);
	if (!good) {
		va_start(ap, why);
		vprintf(why, ap);
		va_end(ap);
		failures++;
	}
	printf("\n");
	fflush(stdout);
}

__attribute__((noreturn))
static void give_up(const char *what)
{
	printf("not ok %s: %s\n", what, strerror(errno));
	exit(1);
}

static pid_t gettid_(void)
{
	return (pid_t)syscall(SYS_gettid);
}

/* --- the session's side ------------------------------------------------------- */

#define RINGS_MAX 16

struct session {
	int fd;
	struct moca_setup setup;
	char *ring[RINGS_MAX];
	uint64_t seen[RINGS_MAX];
	/* What came of one thread. */
	uint32_t tid, flags, pieces;
	uint32_t others;	/* records of other threads */
	size_t got;
	char data[2 << 20];
};

static struct session *open_session(void)
{
	struct session *s = calloc(1, sizeof(*s));

	s->fd = open(DEVICE, O_RDWR | O_CLOEXEC);
	s->setup = (struct moca_setup){
		.size = sizeof(s->setup),
		.flags = MOCA_SETUP_NO_INJECT | MOCA_SETUP_MANUAL,
		.ring_chunks = 64, .chunk_bytes = 65536,
	};
	if (s->fd < 0 || ioctl(s->fd, MOCA_IOC_SETUP, &s->setup))
		give_up("open a session");
	for (uint32_t i = 0; i < s->setup.rings; i++) {
		s->ring[i] = mmap(NULL, s->setup.ring_bytes,
				  PROT_READ, MAP_SHARED, s->fd,
				  (off_t)(i * s->setup.ring_stride));
		if (s->ring[i] == MAP_FAILED)
			give_up("map a ring");
	}
	if (ioctl(s->fd, MOCA_IOC_START))
		give_up("start");
	return s;
}

static void add(struct session *s, pid_t pid)
{
	struct moca_target t = { .size = sizeof(t), .pid = pid };

	if (ioctl(s->fd, MOCA_IOC_REGISTER, &t))
		give_up("register");
}

static void set(struct session *s, uint32_t active, uint32_t filter,
		uint32_t bytes)
{
	struct moca_buffer_control c = { sizeof(c), active, filter, bytes };

	if (ioctl(s->fd, MOCA_IOC_BUFFERS, &c))
		give_up("set what is wanted");
}

static void take_chunk(struct session *s, const char *chunk)
{
	const struct moca_chunk_head *h = (const void *)chunk;
	const struct moca_rec_events *e;
	uint32_t at = sizeof(*h);

	for (; at < h->bytes; at += e->rec.bytes) {
		e = (const void *)(chunk + at);
		if (!e->rec.bytes)
			give_up("read a record");
		if (e->rec.type != MOCA_REC_EVENTS)
			continue;
		if (e->rec.tid != s->tid ||
		    s->got + e->used > sizeof(s->data)) {
			s->others++;
			continue;
		}
		memcpy(s->data + s->got, e->data, e->used);
		s->got += e->used;
		s->flags |= e->flags;
		s->pieces++;
	}
}

/* All that came of tid since the last look. It stays on a CPU. */
static void look(struct session *s, pid_t tid)
{
	s->tid = (uint32_t)tid;
	s->got = s->flags = s->pieces = s->others = 0;
	if (ioctl(s->fd, MOCA_IOC_TICK))
		give_up("end the interval");
	for (uint32_t i = 0; i < s->setup.rings; i++) {
		const struct moca_ring_kernel *k =
			(const void *)(s->ring[i] + 4096);

		for (; s->seen[i] < k->produced; s->seen[i]++)
			take_chunk(s, s->ring[i] + 8192 +
				   s->seen[i] % k->ring_chunks * k->chunk_bytes);
	}
}

/* Who waits for a thread may know of its end before it has left. */
static void look_until(struct session *s, pid_t tid)
{
	for (int i = 0; i < 100; i++) {
		look(s, tid);
		if (s->got)
			return;
		usleep(20000);
	}
}

static void close_session(struct session *s)
{
	for (uint32_t i = 0; i < s->setup.rings; i++)
		munmap(s->ring[i], s->setup.ring_bytes);
	close(s->fd);
	free(s);
}

/* --- the program's side --------------------------------------------------------- */

/* 0 or an errno. */
static int update(int fd, struct moca_buffer_update *u, uint64_t session)
{
	*u = (struct moca_buffer_update){ .size = sizeof(*u),
					  .session = session };
	return ioctl(fd, MOCA_IOC_UPDATE, u) ? errno : 0;
}

static int hand_over(int fd, uint64_t session, uint32_t used)
{
	struct moca_buffer_switch w = { sizeof(w), used, session };

	return ioctl(fd, MOCA_IOC_SWITCH, &w) ? errno : 0;
}

static void *map(int fd, const struct moca_buffer_update *u)
{
	return mmap(NULL, u->buffer_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
		    fd, (off_t)u->offset);
}

/* What the program is told to do, by a pipe; it answers with a number. */
struct program {
	pid_t pid;
	int to, from;
};

enum what {
	TELL_ALL,	/* update until there is no more; how many */
	FILLED,		/* write 5,000 bytes, hand over */
	BIG,		/* fill it, hand over: pieces */
	LEAVE,		/* write 333 bytes, and do not hand over */
	SIGNALS,	/* how often the signal came */
	THREAD,		/* a thread that leaves 100 bytes, and ends: its tid */
	WRONG,		/* what must be refused: a bit each */
	GONE,		/* the session has ended: a bit each */
	LAST,		/* no more active: the last switch: a bit each */
	FORK,		/* a child: has no buffer, and gets one: a bit each */
	EXEC,		/* leave 64 bytes and exec */
};

static volatile sig_atomic_t signals;

static void on_signal(int sig)
{
	(void)sig;
	signals++;
}

static void fill(char *p, size_t n, int seed)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (char)(i * 7 + (size_t)seed) | 1;
}

static int is_filled(const char *p, size_t n, int seed)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] != ((char)(i * 7 + (size_t)seed) | 1))
			return 0;
	return 1;
}

static void *thread_main(void *arg)
{
	struct moca_buffer_update u;
	int fd = open(DEVICE, O_RDWR);
	char *p;

	if (fd < 0 || update(fd, &u, 0) || !u.buffer_bytes)
		return NULL;
	p = map(fd, &u);
	if (p == MAP_FAILED)
		return NULL;
	fill(p, 100, 5);
	*(pid_t *)arg = gettid_();
	return NULL;
}

static int run_thread(void)
{
	pid_t tid = 0;
	pthread_t t;

	pthread_create(&t, NULL, thread_main, &tid);
	pthread_join(t, NULL);
	return tid;
}

static int wrong(int fd, const struct moca_buffer_update *u)
{
	struct moca_buffer_update v = *u;
	struct moca_buffer_switch w = { 4, 0, u->session };
	int bad = 0;

	bad |= (update(fd, &v, 1ull << 60) != ESRCH) << 0;
	bad |= (hand_over(fd, 1ull << 60, 0) != ESRCH) << 1;
	bad |= (hand_over(fd, u->session, u->buffer_bytes + 1) != EINVAL) << 2;
	bad |= (!ioctl(fd, MOCA_IOC_SWITCH, &w) || errno != EINVAL) << 3;
	bad |= (!ioctl(fd, MOCA_IOC_UPDATE, NULL) || errno != EFAULT) << 4;
	v = *u;
	v.offset += 1u << 20;	/* another's */
	bad |= (map(fd, &v) != MAP_FAILED || errno != ENXIO) << 5;
	v = *u;
	v.buffer_bytes *= 2;
	bad |= (map(fd, &v) != MAP_FAILED || errno != EINVAL) << 6;
	bad |= (mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, (off_t)u->offset) !=
		MAP_FAILED) << 7;
	v = *u;
	v.size = 8;
	bad |= (!ioctl(fd, MOCA_IOC_UPDATE, &v) || errno != EINVAL) << 8;
	return bad;
}

static int in_child(int fd, char *parents)
{
	struct moca_buffer_update u;
	char state = 0;
	int bad = 0;
	char *p;

	/* Not even there. */
	bad |= (mincore(parents, 4096, (void *)&state) != -1) << 0;
	bad |= (hand_over(fd, 1, 0) == 0) << 1;
	bad |= (update(fd, &u, 0) || !u.session || !u.buffer_bytes) << 2;
	p = map(fd, &u);
	bad |= (p == MAP_FAILED) << 3;
	if (p != MAP_FAILED)
		fill(p, 50, 9);
	return bad;
}

static int run_child(int fd, char *parents)
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(in_child(fd, parents));
	waitpid(pid, &status, 0);
	return WIFEXITED(status) && !WEXITSTATUS(status) ? pid :
							   -WEXITSTATUS(status);
}

struct own {
	int fd;
	struct moca_buffer_update u;
	char *p;
};

static int tell_all(struct own *o)
{
	struct moca_buffer_update u;
	int n = 0;

	for (;; n++) {
		if (update(o->fd, &u, 0))
			return -1;
		if (!u.session)
			return n;
		o->u = u;
		if (u.buffer_bytes && !o->p)
			o->p = map(o->fd, &u);
	}
}

static int do_what(struct own *o, enum what what)
{
	struct moca_buffer_update v;

	switch (what) {
	case TELL_ALL:
		return tell_all(o);
	case FILLED:
		fill(o->p, 5000, 1);
		return hand_over(o->fd, o->u.session, 5000) ||
		       o->p[0] || o->p[4999];
	case BIG:
		fill(o->p, o->u.buffer_bytes, 2);
		return hand_over(o->fd, o->u.session, o->u.buffer_bytes);
	case LEAVE:
		fill(o->p, 333, 3);
		return 0;
	case SIGNALS:
		return signals;
	case THREAD:
		return run_thread();
	case WRONG:
		return wrong(o->fd, &o->u);
	case GONE:
		return (update(o->fd, &v, o->u.session) != ESRCH) |
		       (hand_over(o->fd, o->u.session, 8) != ESRCH) << 1 |
		       (update(o->fd, &v, 0) || v.session) << 2;
	case LAST:
		fill(o->p, 80, 4);
		return (update(o->fd, &v, o->u.session) || v.active) |
		       (hand_over(o->fd, o->u.session, 80) != 0) << 1 |
		       (hand_over(o->fd, o->u.session, 80) != ENOENT) << 2 |
		       (update(o->fd, &v, o->u.session) || v.offset) << 3;
	case FORK:
		return run_child(o->fd, o->p);
	case EXEC:
		fill(o->p, 64, 6);
		execl("/proc/self/exe", "buffers", "idle", NULL);
		return 1;
	}
	return -1;
}

/* A program of its own: one that is only forked would hold the sessions. */
static void program_main(int in, int out, int listens)
{
	struct own o = { .fd = open(DEVICE, O_RDWR | O_CLOEXEC) };
	enum what what;
	int answer;
	cpu_set_t set;
	ssize_t n;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	sched_setaffinity(0, sizeof(set), &set);
	if (listens)
		signal(SIGRTMIN + 3, on_signal);
	for (;;) {
		n = read(in, &what, sizeof(what));
		if (n < 0 && errno == EINTR)
			continue;
		if (n != sizeof(what))
			_exit(0);
		answer = do_what(&o, what);
		if (write(out, &answer, sizeof(answer)) != sizeof(answer))
			_exit(1);
	}
}

static int ask(struct program *p, enum what what)
{
	int answer = -1;

	if (write(p->to, &what, sizeof(what)) != sizeof(what) ||
	    read(p->from, &answer, sizeof(answer)) != sizeof(answer))
		return -1000;
	return answer;
}

static struct program start(int listens)
{
	struct program p;
	int to[2], from[2];

	if (pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC))
		give_up("pipe");
	p.pid = fork();
	if (!p.pid) {
		dup2(to[0], 0);
		dup2(from[1], 1);
		execl("/proc/self/exe", "buffers", listens ? "1" : "0", NULL);
		_exit(1);
	}
	close(to[0]);
	close(from[1]);
	p.to = to[1];
	p.from = from[0];
	if (ask(&p, SIGNALS))
		give_up("start a program");
	return p;
}

static void end(struct program *p)
{
	close(p->to);
	close(p->from);
	kill(p->pid, SIGKILL);
	waitpid(p->pid, NULL, 0);
}

/* --- the cases -------------------------------------------------------------------- */

static void one_session(void)
{
	struct session *s = open_session();
	struct program p = start(1), deaf = start(0);
	int n;

	check("nobody's program is told nothing", !ask(&p, TELL_ALL), "it is");
	add(s, p.pid);
	add(s, deaf.pid);
	set(s, 1, 0xf0f0, BYTES);
	n = ask(&p, SIGNALS);
	check("the signal comes", n == 1, "%d times", n);
	check("who does not listen lives", ask(&deaf, SIGNALS) == 0, "no");
	n = ask(&p, TELL_ALL);
	check("it is told of one session", n == 1, "%d", n);
	n = ask(&p, TELL_ALL);
	check("and again from the begin", n == 1, "%d", n);
	n = ask(&p, FILLED);
	check("it hands over", !n, "%d", n);
	look(s, p.pid);
	check("5,000 bytes arrive", s->got == 5000 && !s->flags &&
	      is_filled(s->data, 5000, 1), "%zu, flags %x", s->got, s->flags);
	n = ask(&p, BIG);
	look(s, p.pid);
	check("a whole buffer arrives", !n && s->got == BYTES && s->pieces > 1,
	      "%d, %zu bytes in %u pieces", n, s->got, s->pieces);
	n = ask(&p, WRONG);
	check("what is wrong is refused", !n, "bits %x", n);
	n = ask(&p, THREAD);
	look_until(s, n);
	check("a thread that ends leaves 100 bytes", n > 0 && s->flags == 1 &&
	      s->got == 104 && is_filled(s->data, 100, 5), "%zu, flags %x",
	      s->got, s->flags);
	n = ask(&p, FORK);
	check("a child begins anew", n > 0, "bits %x", -n);
	look(s, n);
	check("and leaves 50 bytes", s->flags == 1 && s->got == 56 &&
	      is_filled(s->data, 50, 9), "%zu, flags %x", s->got, s->flags);
	ask(&p, LEAVE);
	kill(p.pid, SIGKILL);
	waitpid(p.pid, NULL, 0);
	look(s, p.pid);
	check("a killed program leaves 333 bytes", s->flags == 1 &&
	      s->got == 336 && is_filled(s->data, 333, 3), "%zu, flags %x",
	      s->got, s->flags);
	end(&p);
	end(&deaf);
	close_session(s);
}

static void its_end(void)
{
	struct session *s = open_session();
	struct program p = start(1);
	int n;

	add(s, p.pid);
	set(s, 1, 1, 4096);
	ask(&p, TELL_ALL);
	set(s, 0, 1, 4096);
	n = ask(&p, SIGNALS);
	check("the signal comes when it stops", n == 2, "%d times", n);
	n = ask(&p, LAST);
	check("the last switch", !n, "bits %x", n);
	look(s, p.pid);
	check("arrives", s->got == 80 && is_filled(s->data, 80, 4), "%zu",
	      s->got);
	set(s, 1, 1, 4096);
	end(&p);

	p = start(1);
	add(s, p.pid);
	n = ask(&p, TELL_ALL);
	check("a new program, without signal", n == 1, "%d", n);
	close_session(s);
	n = ask(&p, SIGNALS);
	check("the signal comes when it closes", n == 1, "%d times", n);
	n = ask(&p, GONE);
	check("it is gone", !n, "bits %x", n);
	end(&p);
}

static void two_sessions(void)
{
	struct session *s[2] = { open_session(), open_session() };
	struct program p[2] = { start(1), start(1) };
	int bad = 0;

	for (int i = 0; i < 2; i++) {
		add(s[i], p[i].pid);
		set(s[i], 1, 1u << i, BYTES);
		bad |= ask(&p[i], TELL_ALL) != 1;
	}
	bad |= ask(&p[0], FILLED) << 1;
	bad |= ask(&p[1], BIG) << 2;
	for (int i = 0; i < 2; i++) {
		look(s[i], p[i].pid);
		bad |= (s[i]->got != (i ? BYTES : 5000) || s[i]->others)
		       << (3 + i);
	}
	check("two sessions", !bad, "bits %x", bad);
	for (int i = 0; i < 2; i++) {
		end(&p[i]);
		close_session(s[i]);
	}
}

static void exec_leaves(void)
{
	struct session *s = open_session();
	struct program p = start(1);
	const enum what what = EXEC;

	add(s, p.pid);
	set(s, 1, 1, 4096);
	ask(&p, TELL_ALL);
	if (write(p.to, &what, sizeof(what)) != sizeof(what))
		give_up("write");
	usleep(500000);
	look(s, p.pid);
	check("exec leaves 64 bytes", s->got == 64 && s->flags == 1,
	      "%zu, flags %x", s->got, s->flags);
	end(&p);
	close_session(s);
}

/* No more memory than allowed, and it is given back. */
static void bounded(void)
{
	struct session *s = open_session();
	struct program p[40];
	int told = 0, again = 0;

	set(s, 1, 1, 1u << 20);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 40; i++) {
			p[i] = start(1);
			add(s, p[i].pid);
			*(round ? &again : &told) += ask(&p[i], TELL_ALL) == 1;
		}
		for (int i = 0; i < 40; i++)
			end(&p[i]);
		usleep(200000);
	}
	check("64 MB for 40 buffers of 1 MB", told == 40 && again == 40,
	      "%d, then %d", told, again);
	close_session(s);
}

static void set_parameter(const char *name, const char *value)
{
	char path[80];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/module/moca/parameters/%s", name);
	f = fopen(path, "w");
	if (!f || fputs(value, f) < 0 || fclose(f))
		give_up("set a parameter");
}

/* Of 4 MB; the last quarter is for the sessions of profilers. */
static void limited(const char *what, uid_t opener, int most)
{
	struct session *s;
	struct program p[6];
	int told = 0;

	if (seteuid(opener))
		give_up("become the opener");
	s = open_session();
	if (seteuid(0))
		give_up("become root");
	set(s, 1, 1, 1u << 20);
	for (int i = 0; i < 6; i++) {
		p[i] = start(1);
		add(s, p[i].pid);
		told += ask(&p[i], TELL_ALL) == 1;
	}
	check(what, told == most, "%d got one", told);
	for (int i = 0; i < 6; i++)
		end(&p[i]);
	close_session(s);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "idle"))
		for (;;)
			pause();
	if (argc > 1)
		program_main(0, 1, *argv[1] == '1');
	one_session();
	its_end();
	two_sessions();
	exec_leaves();
	bounded();
	set_parameter("buffer_mb", "4\n");
	limited("4 MB for 6 buffers of 1 MB", 0, 4);
	set_parameter("allow_own", "1\n");
	limited("3 of them in a user's session", 1000, 3);
	set_parameter("allow_own", "0\n");
	return failures != 0;
}
