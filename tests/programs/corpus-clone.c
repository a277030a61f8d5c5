/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs of the corpus: rarely used flags of fork, clone and clone3. */
#include "case.h"

#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static int bomb(int depth)
{
	int n = 1, pids[2], status;

	fill(map_pages(8), 8, depth);
	for (int i = 0; depth && i < 2; i++) {
		pids[i] = fork();
		if (!pids[i])
			_exit(bomb(depth - 1));
	}
	for (int i = 0; depth && i < 2; i++) {
		status = wait_for(pids[i]);
		CHECK(WIFEXITED(status));
		n += WEXITSTATUS(status);
	}
	return n;
}

static void fork_bomb(void)
{
	printf("%d processes\n", bomb(5));
}

static long clone3(uint64_t flags, int exit_signal, int *pidfd)
{
	struct clone_args a = { .flags = flags, .exit_signal = exit_signal,
				.pidfd = (uintptr_t)pidfd };

	return syscall(SYS_clone3, &a, sizeof(a));
}

static void clone3_corners(void)
{
	char *p = map_pages(16);
	struct pollfd f = { .events = POLLIN };
	siginfo_t info = { 0 };
	int pidfd = -1;
	long pid;

	fill(p, 16, 1);
	pid = clone3(CLONE_PIDFD, SIGCHLD, &pidfd);
	if (!pid) {
		fill(p, 16, 2);
		_exit(filled(p, 16, 2) ? 5 : 6);
	}
	f.fd = pidfd;
	CHECK(pid > 0 && poll(&f, 1, -1) == 1);
	CHECK(!waitid(P_PIDFD, pidfd, &info, WEXITED) && filled(p, 16, 1));
	printf("pidfd: %d %d\n", info.si_code, info.si_status);
	pid = clone3(CLONE_CLEAR_SIGHAND, 0, NULL);
	if (!pid)
		_exit(3);
	CHECK(waitpid(pid, NULL, 0) < 0);
	printf("without a signal: %d\n", WEXITSTATUS(wait_for(pid)));
	pid = clone3(CLONE_FILES | CLONE_FS | CLONE_SIGHAND | CLONE_VM |
		     CLONE_VFORK, SIGCHLD, NULL);
	if (!pid) {
		p[0] = 99;
		_exit(0);
	}
	print_status("vfork-like", wait_for(pid));
	printf("%d\n", p[0]);
	printf("wrong: %ld", clone3(CLONE_THREAD, 0, NULL));
	printf(" %d\n", errno);
}

static int touch_and_end(void *p)
{
	fill(p, 16, 4);
	fill(map_pages(16), 16, 5);
	return 7;
}

#ifdef __aarch64__
/* Its result has the first argument's register; all others are kept. */
static long clone3_kept(struct clone_args *a)
{
	register long nr __asm__("x8") = SYS_clone3;
	register long ret __asm__("x0") = (long)a;
	register long size __asm__("x1") = sizeof(*a);

	__asm__ volatile("svc #0" : "+r"(ret), "+r"(size), "+r"(nr)::"memory");
	if (size != sizeof(*a) || nr != SYS_clone3)
		printf("another register\n");
	return ret;
}

/* clone3 with such a stack, as coroutines have it. */
static long clone3_on(void *stack, const struct clone_args *a)
{
	register long nr __asm__("x8") = SYS_clone3;
	register long ret __asm__("x0") = (long)a;
	register long size __asm__("x1") = sizeof(*a);

	__asm__ volatile("mov x19, sp\n\tmov sp, %3\n\tsvc #0\n\t"
			 "mov sp, x19"
			 : "+r"(ret)
			 : "r"(size), "r"(nr), "r"(stack)
			 : "x19", "memory");
	return ret;
}
#else
/* clone3, with all registers that the kernel keeps kept. */
static long clone3_kept(struct clone_args *a)
{
	long ret = SYS_clone3;
	void *at = a;

	__asm__ volatile("syscall" : "+a"(ret), "+D"(at)
			 : "S"(sizeof(*a)) : "rcx", "r11", "memory");
	if (at != a)
		printf("another register\n");
	return ret;
}

/* clone3 with such a stack, as coroutines have it. */
static long clone3_on(void *stack, const struct clone_args *a)
{
	register void *own __asm__("r12");
	long ret = SYS_clone3;

	__asm__ volatile("mov %%rsp, %1\n\tmov %4, %%rsp\n\tsyscall\n\t"
			 "mov %1, %%rsp"
			 : "+a"(ret), "=&r"(own)
			 : "D"(a), "S"(sizeof(*a)), "r"(stack)
			 : "rcx", "r11", "memory");
	return ret;
}
#endif

/* As above; and the child's number is written into the child's memory alone. */
static void untraced3(void)
{
	static const struct clone_args wants = {
		.flags = CLONE_UNTRACED, .exit_signal = SIGCHLD };
	struct clone_args a = wants, b = wants;
	char *p = map_pages(16), *own = map_pages(1);
	volatile pid_t *number = (pid_t *)own;
	int pid;

	fill(p, 16, 1);
	pid = (int)clone3_kept(&a);
	if (!pid)
		_exit(memcmp(&a, &wants, sizeof(a)) ? 1 : touch_and_end(p));
	print_status("a copy", wait_for(pid));
	CHECK(filled(p, 16, 1));
	b.flags |= CLONE_CHILD_SETTID;
	b.child_tid = (uint64_t)own;
	pid = (int)clone3_kept(&b);
	if (!pid)
		_exit(*number != getpid());
	print_status("its number", wait_for(pid));
	a.flags |= CLONE_SIGHAND;
	printf("the parent's %d, refused %d\n", *number,
	       clone3_kept(&a) == -EINVAL);
	fill(p, 16, 6);
	pause_ms(60);
	CHECK(filled(p, 16, 6));
}

/* What lies below a small stack is another's, or is not there. */
static void small_stacks(void)
{
	char *own = map_pages(4);
	struct clone_args a = {
		.flags = CLONE_UNTRACED | CLONE_CHILD_SETTID,
		.exit_signal = SIGCHLD, .child_tid = (uint64_t)own };
	int pid, same = 1;

	memset(own + 8, 7, PAGE - 8);
	CHECK(!mprotect(own + PAGE, PAGE, PROT_NONE));
	for (int i = 0; i < 2; i++) {
		pid = (int)clone3_on(own + (i ? 2 * PAGE : PAGE / 2), &a);
		if (!pid)
			_exit(*(pid_t *)own == getpid() ?
				      touch_and_end(map_pages(16)) : 1);
		print_status(i ? "nothing below" : "data below",
			     wait_for(pid));
	}
	for (size_t i = 8; i < PAGE; i++)
		same &= own[i] == 7;
	printf("the parent's %d, data %d\n", *(pid_t *)own, same);
}

/* Nobody traces such a child, whatever its parent's tracer wants. */
static void untraced(void)
{
	char *stack = map_pages(64), *p = map_pages(16);
	int pid;

	fill(p, 16, 1);
	pid = clone(touch_and_end, stack + 64 * PAGE, CLONE_UNTRACED | SIGCHLD,
		    p);
	print_status("a copy", wait_for(pid));
	CHECK(filled(p, 16, 1));
	pid = clone(touch_and_end, stack + 64 * PAGE,
		    CLONE_UNTRACED | CLONE_VM | SIGCHLD, p);
	print_status("the same memory", wait_for(pid));
	printf("%d\n", filled(p, 16, 4));
	fill(p, 16, 6);
	pause_ms(60);
	CHECK(filled(p, 16, 6));
}

/* Two processes with one memory, neither a thread of the other. */
static void two_in_one(void)
{
	char *stack = map_pages(64), *p = map_pages(64);
	int pid = clone(touch_and_end, stack + 64 * PAGE, CLONE_VM | SIGCHLD, p);

	for (int i = 0; i < 20; i++) {
		fill(p + 16 * PAGE, 48, i);
		pause_ms(5);
		CHECK(filled(p + 16 * PAGE, 48, i));
	}
	print_status("the other", wait_for(pid));
	CHECK(filled(p, 16, 4));
}

static const struct test_case cases[] = {
	{ "fork-bomb", fork_bomb },
	{ "clone3", clone3_corners },
	{ "untraced", untraced },
	{ "untraced3", untraced3 },
	{ "small-stacks", small_stacks },
	{ "two-in-one", two_in_one },
	{ 0 },
};

int main(int argc, char **argv)
{
	return cases_main(argc, argv, cases);
}
