// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * usage: life CASE [ARG...]. What programs do with memory and with themselves.
 * Says on stdout what there is to find: "count NAME N" (objects of size NAME),
 * "live ADDRESS SIZE" (at the end), or what calls.c says.
 */
#include <alloca.h>
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noipa))
#define THREADS 8

extern char **environ;

/* Not known to the compiler, which warns of what we try. */
static volatile size_t too_much = SIZE_MAX;

static unsigned pick(unsigned *seed, unsigned n)
{
	*seed = *seed * 1103515245 + 12345;
	return (*seed >> 16) % n;
}

NOINLINE static void *make(size_t n)
{
	void *p = malloc(n);

	__asm__ volatile("" : "+r"(p));
	return p;
}

static void make_many(size_t n, size_t size)
{
	while (n--)
		free(make(size));
}

/* 10^7 small ones, of which few at a time. */
static int bulk(int argc, char **argv)
{
	void *some[64] = { 0 };
	unsigned i;

	for (i = 0; i < 10000000; i++) {
		free(some[i % 64]);
		some[i % 64] = make(i % 64 * 16 + 8);
	}
	for (i = 0; i < 64; i++)
		free(some[i]);
	printf("count 10000000 bytes %llu\n",
	       10000000ull / 64 * (64 * 8 + 16 * 63 * 32));
	return 0;
}

/* Any order of calls: each life is told, and ends. */
static int pairs(int argc, char **argv)
{
	static char *object[200];
	static size_t size[200];
	unsigned i, k, seed = 7;

	for (i = 0; i < 30000; i++) {
		k = pick(&seed, 200);
		if (object[k] && pick(&seed, 3) == 0) {
			free(object[k]);
			object[k] = NULL;
			continue;
		}
		if (object[k] && pick(&seed, 8) == 0) {
			/* It fails: the object stays. */
			void *p = realloc(object[k], SIZE_MAX / 4 + i);

			if (p || errno != ENOMEM)
				return 1;
			continue;
		}
		size[k] = 4096 + pick(&seed, 60000);
		if (pick(&seed, 4) == 0)
			size[k] += 200000;
		object[k] = realloc(object[k], size[k]);
		object[k][0] = 1;
	}
	for (k = 0; k < 200; k++)
		if (object[k])
			printf("live %p %zu\n", object[k], size[k]);
	return 0;
}

static void *box[1024];

/* Objects made by one thread and freed by another. */
static void *exchange(void *arg)
{
	unsigned i, seed = (uintptr_t)arg;
	void *p;

	for (i = 0; i < 4000; i++) {
		p = make(4096 + pick(&seed, 20000));
		p = __atomic_exchange_n(&box[pick(&seed, 1024)], p,
					__ATOMIC_ACQ_REL);
		free(p);
	}
	return NULL;
}

static int threads(int argc, char **argv)
{
	pthread_t t[THREADS];
	uintptr_t i;

	for (i = 0; i < THREADS; i++)
		if (pthread_create(&t[i], NULL, exchange, (void *)(i + 1)))
			return 1;
	for (i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	for (i = 0; i < 1024; i++)
		if (box[i])
			printf("live %p %zu\n", box[i], (size_t)0);
	return 0;
}

static void *one(void *arg)
{
	size_t n = (uintptr_t)arg;

	free(make(20000 + n));
	free(make(64));
	return NULL;
}

/* More than there are states; some at the same time. */
static int thousand(int argc, char **argv)
{
	pthread_t t[100];
	unsigned i, j;

	for (i = 0; i < 10; i++) {
		for (j = 0; j < 100; j++)
			if (pthread_create(&t[j], NULL, one,
					   (void *)(uintptr_t)(i * 100 + j)))
				return 1;
		for (j = 0; j < 100; j++)
			pthread_join(t[j], NULL);
	}
	printf("count 1000\n");
	return 0;
}

static int forks(int argc, char **argv)
{
	int i, status;

	make_many(1000, 48);
	for (i = 0; i < 3; i++) {
		if (!fork()) {
			make_many(500, 48);
			free(make(30000 + i));
			free(make(30000 + i));
			printf("pid %d small 500 of 48\n", getpid());
			exit(0);
		}
		if (wait(&status) < 0 || status)
			return 1;
	}
	make_many(1000, 48);
	printf("pid %d small 2000 of 48\n", getpid());
	return 0;
}

static int vforks(int argc, char **argv)
{
	char *args[] = { "true", NULL };
	int status;
	pid_t pid;

	pid = vfork();
	if (!pid) {
		free(make(25000));	/* not allowed, and done */
		execv("/bin/true", args);
		_exit(1);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		return 1;
	if (posix_spawn(&pid, "/bin/true", NULL, NULL, args, environ) ||
	    waitpid(pid, &status, 0) != pid || status)
		return 1;
	free(make(26000));
	return 0;
}

static int dlopens(int argc, char **argv)
{
	void *(*call)(size_t n);
	void *lib;
	int i;

	for (i = 0; i < 20; i++) {
		lib = dlopen(argv[i % 2], RTLD_NOW);
		if (!lib) {
			fprintf(stderr, "life: %s\n", dlerror());
			return 1;
		}
		*(void **)&call = dlsym(lib, "plugin_make");
		printf("stack %d %lx\n", 40000 + i, (unsigned long)call);
		free(call(40000 + i));
		dlclose(lib);
	}
	return 0;
}

/* The same library again and again. */
static int reopens(int argc, char **argv)
{
	void *lib;
	int i;

	for (i = 0; i < 3; i++) {
		lib = dlopen(argv[0], RTLD_NOW);
		puts(lib ? "loaded" : dlerror());
		if (!lib || dlclose(lib))
			return 1;
	}
	return 0;
}

extern void *_Znwm(size_t) __attribute__((weak));
extern void _ZdlPv(void *) __attribute__((weak));

/* No C++ library needs to be there. */
static int asks_for_new(int argc, char **argv)
{
	void *p = &_Znwm ? _Znwm(100) : malloc(100);

	memset(p, 1, 100);
	if (&_ZdlPv)
		_ZdlPv(p);
	else
		free(p);
	puts("either way");
	return 0;
}

static sigjmp_buf out;
static volatile sig_atomic_t jumps;

static void jump(int sig)
{
	jumps++;
	siglongjmp(out, 1);
}

/* Handlers leave malloc by longjmp; glibc's locks are only for threads. */
static int longjmps(int argc, char **argv)
{
	struct itimerval every = { { 0, 300 }, { 0, 300 } };
	struct itimerval none = { { 0, 0 }, { 0, 0 } };
	volatile int i = 0, j;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	signal(SIGALRM, jump);
	while (i < 200) {
		if (!sigsetjmp(out, 1)) {
			setitimer(ITIMER_REAL, &every, NULL);
			for (;;)	/* no free list of these is left half */
				malloc_usable_size(make(1 << 20));
		}
		i = i + 1;
	}
	setitimer(ITIMER_REAL, &none, NULL);
	for (j = 0; j < 100; j++)
		free(make(70000));
	printf("count 100\n");
	return 0;
}

static pthread_key_t key;

static void at_end(void *p)
{
	static __thread int rounds;

	free(p);
	if (++rounds < 3)
		pthread_setspecific(key, make(50000));
}

static void *keeps(void *arg)
{
	pthread_setspecific(key, make(50000));
	free(make(64));
	return NULL;
}

/* Destructors free, and make anew, after a thread's end. */
static int tsd(int argc, char **argv)
{
	pthread_t t;
	int i;

	pthread_key_create(&key, at_end);
	for (i = 0; i < 50; i++) {
		if (pthread_create(&t, NULL, keeps, NULL))
			return 1;
		pthread_join(t, NULL);
	}
	printf("count 150\n");
	return 0;
}

static void at_exit(void)
{
	free(make(90000));
	make_many(100, 32);
}

static int exits(int argc, char **argv)
{
	atexit(at_exit);
	return 0;
}

static void by_handler(int sig)
{
	free(make(80000));
}

static int handlers(int argc, char **argv)
{
	int i;

	signal(SIGUSR1, by_handler);
	for (i = 0; i < 100; i++)
		raise(SIGUSR1);
	printf("count 100\n");
	return 0;
}

static int kept_errno(int argc, char **argv)
{
	int i;

	for (i = 0; i < 1000; i++) {
		errno = 4711;
		free(make(1 << (i % 20)));
		if (errno != 4711)
			return 1;
	}
	return 0;
}

static int edges(int argc, char **argv)
{
	void *p = malloc(0), *q;

	if (!p)
		return 1;
	free(p);
	free(NULL);
	p = make(10000);
	q = realloc(p, 0);
	if (q)
		return 1;
	p = make(10000);
	q = reallocarray(p, too_much, 2);
	if (q || errno != ENOMEM)
		return 1;
	free(p);
	errno = 0;
	if (calloc(too_much, 2) || errno != ENOMEM)
		return 1;
	if (posix_memalign(&q, 3, 10) != EINVAL)
		return 1;
	if (!munmap(&p, too_much) || !munmap((void *)4096, too_much) ||
	    !munmap((void *)4096, too_much / 4))
		return 1;
	return 0;
}

#define WITH_RBP __attribute__((noinline, noipa, \
				optimize("no-omit-frame-pointer")))

static ucontext_t start, coroutine;
static char *co_stack;

WITH_RBP static void *make_there(size_t n)
{
	void *p = malloc(n);

	__asm__ volatile("" : "+r"(p));
	return p;
}

WITH_RBP static void call_at(uintptr_t target)
{
	volatile char *s = alloca((uintptr_t)__builtin_frame_address(0) -
				  target);

	s = alloca((uintptr_t)s - target);
	*s = 1;
	free(make_there(100));
}

static void run_coroutine(void)
{
	call_at((uintptr_t)co_stack + 40000);
}

static void run_on(size_t size)
{
	getcontext(&coroutine);
	coroutine.uc_stack.ss_sp = co_stack;
	coroutine.uc_stack.ss_size = size;
	coroutine.uc_link = &start;
	makecontext(&coroutine, run_coroutine, 0);
	swapcontext(&start, &coroutine);
}

/* The same call at the same place of a stack that is shorter now. */
static int shorter(int argc, char **argv)
{
	co_stack = mmap(NULL, 128 << 10, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	run_on(128 << 10);
	run_on(128 << 10);
	if (mprotect(co_stack + (64 << 10), 64 << 10, PROT_NONE))
		return 1;
	run_on(64 << 10);
	puts("shorter");
	return 0;
}

/* At each line: objects from two places, then a word. */
static int steps(int argc, char **argv)
{
	char line[64];

	while (read(0, line, sizeof(line)) > 0) {
		free(make(10000));
		free(make(100));
		make_many(10, 100);
		if (write(1, "done\n", 5) != 5)
			return 1;
	}
	return 0;
}

/* Ends without destructors. */
static int exits_at_once(int argc, char **argv)
{
	make_many(1234, 48);
	if (!fork()) {
		make_many(777, 48);
		printf("pid %d small 777 of 48\n", getpid());
		fflush(stdout);
		_Exit(0);
	}
	wait(NULL);
	printf("pid %d small 1234 of 48\n", getpid());
	fflush(stdout);
	_exit(0);
}

/* A server's worker: its buffer is there before it gives up its rights. */
static int worker(int argc, char **argv)
{
	if (!fork()) {
		free(make(20000));
		if (setgid(65534) || setuid(65534))
			_exit(1);
		make_many(9000, 48);
		printf("pid %d small 9000 of 48\n", getpid());
		fflush(stdout);
		_exit(0);
	}
	wait(NULL);
	return 0;
}

/* What a child would get. */
static int env(int argc, char **argv)
{
	char **e;

	for (e = environ; *e; e++)
		puts(*e);
	return 0;
}

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} cases[] = {
	{ "bulk", bulk }, { "pairs", pairs }, { "threads", threads },
	{ "thousand", thousand }, { "forks", forks }, { "vforks", vforks },
	{ "dlopens", dlopens }, { "longjmps", longjmps }, { "tsd", tsd },
	{ "reopens", reopens }, { "asks-for-new", asks_for_new },
	{ "exits", exits }, { "handlers", handlers },
	{ "errno", kept_errno }, { "edges", edges },
	{ "shorter", shorter }, { "env", env },
	{ "steps", steps }, { "exits-at-once", exits_at_once },
	{ "worker", worker },
};

/* Long before main. */
__attribute__((constructor)) static void early(void)
{
	static void *p;

	p = make(12345);
	free(p);
}

int main(int argc, char **argv)
{
	static char buf[1 << 16];
	unsigned i;

	setvbuf(stdout, buf, _IOFBF, sizeof(buf));
	for (i = 0; argc > 1 && i < sizeof(cases) / sizeof(cases[0]); i++)
		if (!strcmp(argv[1], cases[i].name))
			return cases[i].run(argc - 2, argv + 2);
	return 2;
}
