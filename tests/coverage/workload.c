/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program that knows what it touched. THREADS threads and, at the end, two
 * forked children go through phases; in a phase each task sweeps, again and
 * again, over pages that only it touches then, and all rest between phases.
 * The first child (phase PHASES) begins at once, the second rests until its
 * memory has been copied for it.
 * The file given gets the truth, in lines of
 *
 *	phase N TID BEGIN_NS END_NS		(CLOCK_MONOTONIC)
 *	area N TID KIND ADDRESS PAGES		an area of the task's own
 *	page N TID HOW ADDRESS			r, w, b (both), k (by the kernel)
 *
 * KIND is private, bss, file (a private mapping of one) or turns (anonymous,
 * of another thread in each phase).
 *
 * usage: workload TRUTH PHASE_MS REST_MS [swept | faults]
 *
 * The next phase begins after REST_MS, and when sweeps have taken a page. swept:
 * it is not present; faults: a touch of it faults (the module leaves it present).
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096ul
#define THREADS 3
#define PHASES 5
#define PAGES 200		/* of an area */
#define COPIED_MS 1000		/* a child lives so long: it has a copy */

struct area {
	const char *kind;
	char *at;
};

struct task {
	pthread_t thread;
	int number;
	struct area own[4];
	uint64_t begin, end;
	int tid;
};

static FILE *truth;
static long phase_ms, rest_ms;
static pthread_barrier_t barrier;
static struct task tasks[THREADS];
static char bss[THREADS][PAGES * PAGE] __attribute__((aligned(4096)));
static char *taken_in_turns[THREADS];
static int zero;
static int pagemap = -1;	/* open: swept */
static int by_faults;
static char probe[THREADS][PAGE] __attribute__((aligned(4096)));

static void die(const char *what)
{
	fprintf(stderr, "workload: %s: %s\n", what, strerror(errno));
	exit(2);
}

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

static void rest(long ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

	while (nanosleep(&ts, &ts) && errno == EINTR)
		;
}

static int is_present(const char *p)
{
	uint64_t entry;

	if (pread(pagemap, &entry, sizeof(entry),
		  (uintptr_t)p / PAGE * sizeof(entry)) != sizeof(entry))
		die("pagemap");
	return entry >> 63;
}

static long minor_faults(void)
{
	struct rusage u;

	if (getrusage(RUSAGE_THREAD, &u))
		die("getrusage");
	return u.ru_minflt;
}

/* Since it was touched last; by faults, it is touched. */
static int is_swept(volatile char *page)
{
	long before;

	if (!by_faults)
		return !is_present((char *)page);
	before = minor_faults();
	*page = 1;
	return minor_faults() != before;
}

/*
 * Two sweeps have taken a page of its own: the first is over, and all that was
 * touched before is gone.
 */
static void wait_swept(volatile char *page)
{
	for (int round = 0; round < 2; round++) {
		int i = 0;

		*page = 1;
		while (!is_swept(page)) {
			if (i++ == 24000)
				die("no sweep within two minutes");
			rest(5);
		}
	}
}

static char *anonymous(void)
{
	char *p = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		die("mmap");
	return p;
}

/* A private mapping of a file that is written: copied on write. */
static char *of_file(void)
{
	char name[] = "/tmp/moca-coverage-XXXXXX";
	int fd = mkstemp(name);
	char *p;

	if (fd < 0 || unlink(name) || ftruncate(fd, PAGES * PAGE))
		die(name);
	p = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd,
		 0);
	if (p == MAP_FAILED)
		die("mmap of a file");
	close(fd);
	return p;
}

/* What is done to a page in a phase; '-' for nothing. */
static char how(int task, int phase, int area, int page)
{
	uint32_t h = ((task * 31 + phase) * 31 + area) * 1009 + page;

	h = (h ^ h >> 7) * 2654435761u;
	h ^= h >> 15;
	return h % 3 == 0 ? '-' : "rwbrwbrwk"[h / 3 % 9];
}

static void touch(char *p, char what)
{
	volatile uint64_t *v = (volatile uint64_t *)(p + 64);

	if (what == 'r' || what == 'b')
		(void)*v;
	if (what == 'w' || what == 'b')
		*v = 1;
	if (what == 'k' && read(zero, p + 128, 8) != 8)
		die("read");
}

static void phase(struct task *t, int n)
{
	t->begin = now();
	do {
		for (int a = 0; a < 4; a++)
			for (int i = 0; i < PAGES; i++)
				touch(t->own[a].at + i * PAGE,
				      how(t->number, n, a, i));
		rest(1);
	} while (now() - t->begin < (uint64_t)phase_ms * 1000000);
	t->end = now();
}

static void tell(const struct task *t, int n)
{
	fprintf(truth, "phase %d %d %lu %lu\n", n, t->tid, t->begin, t->end);
	for (int a = 0; a < 4; a++) {
		const struct area *own = &t->own[a];

		fprintf(truth, "area %d %d %s %lx %d\n", n, t->tid, own->kind,
			(unsigned long)own->at, PAGES);
		for (int i = 0; i < PAGES; i++) {
			char h = how(t->number, n, a, i);

			if (h != '-')
				fprintf(truth, "page %d %d %c %lx\n", n,
					t->tid, h,
					(unsigned long)(own->at + i * PAGE));
		}
	}
}

/* The areas of a task in a phase: three of its own, one that goes round. */
static void areas(struct task *t, int n)
{
	t->own[1] = (struct area){ "bss", bss[t->number] };
	t->own[3] = (struct area){
		"turns", taken_in_turns[(t->number + n) % THREADS] };
}

static void *run(void *arg)
{
	struct task *t = arg;

	t->tid = syscall(SYS_gettid);
	t->own[0] = (struct area){ "private", anonymous() };
	t->own[2] = (struct area){ "file", of_file() };
	for (int n = 0; n < PHASES; n++) {
		areas(t, n);
		pthread_barrier_wait(&barrier);
		phase(t, n);
		rest(rest_ms);
		if (pagemap >= 0 || by_faults)
			wait_swept(probe[t->number]);
		pthread_barrier_wait(&barrier);
		if (t->number == 0)
			for (int i = 0; i < THREADS; i++)
				tell(&tasks[i], n);
		pthread_barrier_wait(&barrier);
	}
	return NULL;
}

/* The child inherits all areas as copies; the parent rests. */
static void child(int n, long wait_ms)
{
	struct task *t = &tasks[0];
	int status, pid;

	fflush(truth);
	pid = fork();
	if (pid < 0)
		die("fork");
	if (!pid) {
		t->tid = getpid();
		rest(wait_ms);
		areas(t, n);
		phase(t, n);
		tell(t, n);
		fflush(truth);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		die("the child");
}

int main(int argc, char **argv)
{
	int swept = argc == 5 && !strcmp(argv[4], "swept");

	by_faults = argc == 5 && !strcmp(argv[4], "faults");
	if (argc != 4 && !swept && !by_faults)
		return 2;
	truth = fopen(argv[1], "w");
	phase_ms = atol(argv[2]);
	rest_ms = atol(argv[3]);
	zero = open("/dev/zero", O_RDONLY);
	if (swept)
		pagemap = open("/proc/self/pagemap", O_RDONLY);
	if (!truth || zero < 0 || (swept && pagemap < 0))
		die(argv[1]);
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (int i = 0; i < THREADS; i++) {
		taken_in_turns[i] = anonymous();
		tasks[i].number = i;
	}
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&tasks[i].thread, NULL, run, &tasks[i]))
			die("pthread_create");
	for (int i = 0; i < THREADS; i++)
		pthread_join(tasks[i].thread, NULL);
	child(PHASES, 0);
	child(PHASES + 1, COPIED_MS);
	return ferror(truth) || fclose(truth) ? 2 : 0;
}
