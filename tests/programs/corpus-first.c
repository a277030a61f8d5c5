/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The corpus: what ends the first process of a PID namespace, and what does not. */
#include "case.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>

static void *store(void *arg)
{
	__asm__ volatile("movl $1, 16" ::: "memory");
	return arg;
}

static void *wait_on(void *arg)
{
	pause();
	return arg;
}

static int caught;

static void step_over(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)info;
	caught++;
	((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] += 2;
}

static void set_handler(int sig)
{
	struct sigaction a = { .sa_sigaction = step_over, .sa_flags = SA_SIGINFO };

	CHECK(!sigaction(sig, &a, NULL));
}

static void faults(void)
{
	store(NULL);
}

static void aborts(void)
{
	abort();
}

static void undefined(void)
{
	__asm__ volatile("ud2");
}

static void divides(void)
{
	__asm__ volatile("cltd; idivl %0" ::"r"(0), "a"(1) : "edx");
}

static void breaks(void)
{
	__asm__ volatile("int3");
}

static void beyond_file(void)
{
	FILE *f = tmpfile();

	CHECK(f);
	*(volatile char *)mmap(NULL, PAGE, RW, MAP_SHARED, fileno(f), 0) = 1;
}

static void raises(void)
{
	CHECK(!raise(SIGSEGV) && !raise(SIGTRAP) && !kill(getpid(), SIGTERM));
}

static void blocked(void)
{
	sigset_t all;

	sigfillset(&all);
	CHECK(!sigprocmask(SIG_SETMASK, &all, NULL));
	store(NULL);
}

/* Nobody can catch a fault whose signal is blocked. */
static void block(int sig)
{
	sigset_t one;

	set_handler(sig);
	sigemptyset(&one);
	sigaddset(&one, sig);
	CHECK(!sigprocmask(SIG_BLOCK, &one, NULL));
}

static void blocked_undefined(void)
{
	block(SIGILL);
	undefined();
}

static void blocked_divides(void)
{
	block(SIGFPE);
	divides();
}

static void blocked_beyond_file(void)
{
	block(SIGBUS);
	beyond_file();
}

static void ignored(void)
{
	signal(SIGSEGV, SIG_IGN);
	store(NULL);
}

/* Without a stack a handler's frame has no room. */
static void overflows(void)
{
	set_handler(SIGSEGV);
	__asm__ volatile("xor %%esp, %%esp; push %%rax" ::: "memory");
}

static void overflows_late(void)
{
	set_handler(SIGALRM);
	ualarm(20000, 0);
	__asm__ volatile("xor %%esp, %%esp; 1: jmp 1b" ::: "memory");
}

static void in_thread(void)
{
	pthread_t t;

	CHECK(!pthread_create(&t, NULL, store, NULL) && !pthread_join(t, NULL));
}

static void beside_thread(void)
{
	pthread_t t;

	CHECK(!pthread_create(&t, NULL, wait_on, NULL));
	store(NULL);
}

static void filtered(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { 4, code };

	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	      !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
	syscall(SYS_getppid);
}

/* What has a handler is delivered as ever. */
static void catches(void)
{
	set_handler(SIGILL);
	undefined();
	undefined();
	CHECK(caught == 2);
}

static void (*first_does)(void);

static void run_first(void)
{
	int pid;

	if (unshare(CLONE_NEWPID) && unshare(CLONE_NEWUSER | CLONE_NEWPID))
		UNSUPPORTED("a PID namespace");
	pid = fork();
	if (!pid) {
		CHECK(getpid() == 1);
		pause_ms(300);
		fill(map_pages(64), 64, 1);
		first_does();
		_exit(7);
	}
	print_status("the first process", wait_for(pid));
}

#define FIRST(what)                  \
	static void first_##what(void) \
	{                            \
		first_does = what;   \
		run_first();         \
	}

FIRST(faults)
FIRST(aborts)
FIRST(undefined)
FIRST(divides)
FIRST(breaks)
FIRST(beyond_file)
FIRST(raises)
FIRST(blocked)
FIRST(blocked_undefined)
FIRST(blocked_divides)
FIRST(blocked_beyond_file)
FIRST(ignored)
FIRST(overflows)
FIRST(overflows_late)
FIRST(in_thread)
FIRST(beside_thread)
FIRST(filtered)
FIRST(catches)

static const struct test_case cases[] = {
	{ "faults", first_faults },
	{ "aborts", first_aborts },
	{ "undefined", first_undefined },
	{ "divides", first_divides },
	{ "breaks", first_breaks },
	{ "beyond-file", first_beyond_file },
	{ "raises", first_raises },
	{ "blocked", first_blocked },
	{ "blocked-undefined", first_blocked_undefined },
	{ "blocked-divides", first_blocked_divides },
	{ "blocked-beyond-file", first_blocked_beyond_file },
	{ "ignored", first_ignored },
	{ "overflows", first_overflows },
	{ "overflows-late", first_overflows_late },
	{ "in-thread", first_in_thread },
	{ "beside-thread", first_beside_thread },
	{ "filtered", first_filtered },
	{ "catches", first_catches },
	{ 0 },
};

int main(int argc, char **argv)
{
	return cases_main(argc, argv, cases);
}
