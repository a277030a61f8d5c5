/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A thread, "counted", that is counted to its end, and one, "loser", that comes to an
 * instruction which no translator takes: it writes %gs. Both work before and behind it.
 * `room`: one thread, whose name acts on terminals, calls code that no translation
 * of fits in a call's reach. `full`: beside another thread, and with no address space
 * left, calls would take Moca's memory. `nowhere`: a thread that is native handles a call through NULL. `many`: 300 threads, one after the other, are losers.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static double sums[2][512];

static void work(double *sum)
{
	for (volatile int k = 0; k < 20000; k++)
		for (int i = 0; i < 512; i++)
			sum[i] += i;
}

/* mov eax, gs; mov gs, eax; ret */
static void leave(void)
{
	static const unsigned char code[] = { 0x8c, 0xe8, 0x8e, 0xe8, 0xc3 };
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*f)(void);

	memcpy(p, code, sizeof(code));
	memcpy(&f, &p, sizeof(f));
	f();
}

static void *run(void *arg)
{
	double *sum = arg;

	pthread_setname_np(pthread_self(), sum == sums[1] ? "loser" : "counted");
	work(sum);
	if (sum == sums[1])
		leave();
	work(sum);
	return NULL;
}

/* The 2 GiB on either side are taken. */
static int crowded(void)
{
	const size_t size = 6ul << 30;
	unsigned char *p = mmap(NULL, size, PROT_NONE, MAP_PRIVATE |
				MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	void (*f)(void);

	pthread_setname_np(pthread_self(), "\033[2J\302\233mevil");
	p += size / 2;
	if (mprotect(p, 4096, PROT_READ | PROT_WRITE | PROT_EXEC))
		return 1;
	*p = 0xc3;
	memcpy(&f, &p, sizeof(f));
	f();
	puts("came back");
	return 0;
}

static void *leaves(void *arg)
{
	leave();
	return arg;
}

static sigjmp_buf back;

static void on_nowhere(int sig)
{
	siglongjmp(back, sig);
}

static int nowhere(void)
{
	void (*volatile f)(void) = NULL;
	int sig;

	signal(SIGSEGV, on_nowhere);
	/* A far return, which nobody translates, to the next line. */
	__asm__ volatile("sub $128, %%rsp\n push $0x33\n lea 1f(%%rip), %%rax\n"
			 "push %%rax\n lretq\n 1: add $128, %%rsp"
			 : : : "rax", "cc", "memory");
	sig = sigsetjmp(back, 1);
	if (!sig)
		f();
	printf("signal %d\n", sig);
	return 0;
}

static int many(void)
{
	pthread_t t;

	for (int i = 0; i < 300; i++)
		if (pthread_create(&t, NULL, leaves, NULL) ||
		    pthread_join(t, NULL))
			return 1;
	puts("300");
	return 0;
}

static volatile int stop;

static void *waits(void *arg)
{
	while (!stop)
		;
	return arg;
}

static int full(void)
{
	char *at = (char *)0x320000000000;
	struct iovec v = { at, 1 << 20 };
	pthread_t t;

	if (pthread_create(&t, NULL, waits, NULL))
		return 1;
	for (size_t size = 1ul << 46; size >= 4096; size >>= 1)
		while (mmap(NULL, size, PROT_NONE, MAP_PRIVATE |
			    MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) != MAP_FAILED)
			;
	syscall(SYS_process_madvise, -1, &v, 1, MADV_DONTNEED, 0);
	madvise(at, 1 << 20, MADV_DONTNEED);
	stop = 1;
	return pthread_join(t, NULL);
}

int main(int argc, char **argv)
{
	pthread_t t[2];

	if (argc > 1 && !strcmp(argv[1], "room"))
		return crowded();
	if (argc > 1 && !strcmp(argv[1], "full"))
		return full();
	if (argc > 1 && !strcmp(argv[1], "many"))
		return many();
	if (argc > 1 && !strcmp(argv[1], "nowhere"))
		return nowhere();
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, run, sums[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	printf("%g %g\n", sums[0][3], sums[1][3]);
	return 0;
}
