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

#ifdef __aarch64__
#define STORE		"mov x9, #16\n\tstr wzr, [x9]"
#define UNDEFINED	"udf #0"
#define UNDEFINED_BYTES 4
#define BREAKPOINT	"brk #0"
#define CALL		"mov x8, #173\n\tsvc #0" /* getppid */
#define STACK_AT_0	"mov x9, #0\n\tmov sp, x9"
#define PUSH		"str x0, [sp, #-16]!"
#define FOR_EVER	"1: b 1b"
#define CLOBBERS	"x0", "x8", "x9", "memory"
#define NEXT_PC(m)	((m).pc)
#else
#define STORE		"movl $1, 16"
#define UNDEFINED	"ud2"
#define UNDEFINED_BYTES 2
#define BREAKPOINT	"int3"
#define CALL		"mov $110, %%eax\n\tsyscall" /* getppid */
#define STACK_AT_0	"xor %%esp, %%esp"
#define PUSH		"push %%rax"
#define FOR_EVER	"1: jmp 1b"
#define CLOBBERS	"rax", "rcx", "r11", "memory"
#define NEXT_PC(m)	((m).gregs[REG_RIP])
#endif

static void *store(void *arg)
{
	__asm__ volatile(STORE ::: CLOBBERS);
	return arg;
}

/* A fault right behind a call, where one that the call sent would be, too. */
static void faults_behind_call(void)
{
	__asm__ volatile(CALL "\n\t" UNDEFINED ::: CLOBBERS);
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
	NEXT_PC(((ucontext_t *)context)->uc_mcontext) += UNDEFINED_BYTES;
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
	__asm__ volatile(UNDEFINED);
}

#ifndef __aarch64__ /* where a division by 0 is 0 */
static void divides(void)
{
	__asm__ volatile("cltd; idivl %0" ::"r"(0), "a"(1) : "edx");
}
#endif

static void breaks(void)
{
	__asm__ volatile(BREAKPOINT);
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

#ifndef __aarch64__
static void blocked_divides(void)
{
	block(SIGFPE);
	divides();
}
#endif

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
	__asm__ volatile(STACK_AT_0 "\n\t" PUSH ::: CLOBBERS);
}

static void overflows_late(void)
{
	set_handler(SIGALRM);
	ualarm(20000, 0);
	__asm__ volatile(STACK_AT_0 "\n\t" FOR_EVER ::: CLOBBERS);
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

	/* It does not attach to children that there are. */
	await_recorder();
	if (unshare(CLONE_NEWPID) && unshare(CLONE_NEWUSER | CLONE_NEWPID))
		UNSUPPORTED("a PID namespace");
	pid = fork();
	if (!pid) {
		CHECK(getpid() == 1);
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
FIRST(faults_behind_call)
FIRST(aborts)
FIRST(undefined)
FIRST(breaks)
FIRST(beyond_file)
FIRST(raises)
FIRST(blocked)
FIRST(blocked_undefined)
FIRST(blocked_beyond_file)
FIRST(ignored)
FIRST(overflows)
FIRST(overflows_late)
FIRST(in_thread)
FIRST(beside_thread)
FIRST(filtered)
FIRST(catches)
#ifndef __aarch64__
FIRST(divides)
FIRST(blocked_divides)
#endif

static const struct test_case cases[] = {
	{ "faults", first_faults },
	{ "faults-behind-call", first_faults_behind_call },
	{ "aborts", first_aborts },
	{ "undefined", first_undefined },
	{ "breaks", first_breaks },
	{ "beyond-file", first_beyond_file },
	{ "raises", first_raises },
	{ "blocked", first_blocked },
	{ "blocked-undefined", first_blocked_undefined },
	{ "blocked-beyond-file", first_blocked_beyond_file },
	{ "ignored", first_ignored },
	{ "overflows", first_overflows },
	{ "overflows-late", first_overflows_late },
	{ "in-thread", first_in_thread },
	{ "beside-thread", first_beside_thread },
	{ "filtered", first_filtered },
	{ "catches", first_catches },
#ifndef __aarch64__
	{ "divides", first_divides },
	{ "blocked-divides", first_blocked_divides },
#endif
	{ 0 },
};

int main(int argc, char **argv)
{
	return cases_main(argc, argv, cases);
}
