/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The corpus: corners of signals, timers, filters and the processor's own. */
#include "case.h"

#include <asm/ldt.h>
#include <asm/prctl.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <mqueue.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/rseq.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>

static void how(const char *what, int pid)
{
	int status;

	CHECK(waitpid(pid, &status, 0) == pid);
	printf("%s: %s %d\n", what, WIFSIGNALED(status) ? "signal" : "exit",
	       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	fflush(stdout);
}

static int filter(unsigned int nr, unsigned int action)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { 4, code };

	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog);
}

static void use_memory(void)
{
	for (int i = 0; i < 8; i++) {
		char *p = map_pages(32);

		fill(p, 32, i);
		pause_ms(12);
		CHECK(filled(p, 32, i) && !munmap(p, 16 * PAGE));
	}
}

static void seccomp_strict(void)
{
	int pid = fork();

	if (!pid) {
		char *p = map_pages(32);

		prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
		for (int i = 0; i < 1000; i++)
			fill(p, 32, i);
		if (write(1, "strict\n", 7) == 7)
			syscall(SYS_exit, filled(p, 32, 999) ? 3 : 4);
	}
	how("allowed", pid);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
		syscall(SYS_getpid);
		syscall(SYS_exit, 0);
	}
	how("not allowed", pid);
}

static void *enters_strict(void *arg)
{
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	syscall(SYS_getpid);
	*(int *)arg = 1;
	syscall(SYS_exit, 0);
	return NULL;
}

/* It is the thread that dies of a call, not its process. */
static void seccomp_strict_thread(void)
{
	pthread_t t;
	int went_on = 0;

	CHECK(!pthread_create(&t, NULL, enters_strict, &went_on));
	CHECK(!pthread_join(t, NULL));
	printf("went on: %d\n", went_on);
	use_memory();
}

/*
 * Before it is attached to, and after. The call is the one that a tracer takes
 * away; a filter that lists what it allows kills for it.
 */
static void seccomp_early(void)
{
	CHECK(!filter(-1, SECCOMP_RET_KILL_PROCESS));
	for (int i = 0; i < 4; i++)
		use_memory();
}

static void seccomp_late(void)
{
	await_recorder();
	seccomp_early();
}

static volatile int sys_code, sys_number;

static void on_sys(int sig, siginfo_t *info, void *context)
{
	ucontext_t *u = context;

	sys_code = info->si_code;
	sys_number = info->si_syscall;
	u->uc_mcontext.gregs[REG_RAX] = 4711;
}

static void seccomp_trap(void)
{
	struct sigaction sa = { .sa_sigaction = on_sys, .sa_flags = SA_SIGINFO };

	CHECK(!sigaction(SIGSYS, &sa, NULL));
	CHECK(!filter(SYS_getppid, SECCOMP_RET_TRAP));
	printf("%ld", syscall(SYS_getppid));
	printf(" %d %d\n", sys_code, sys_number == SYS_getppid);
	use_memory();
}

static void seccomp_errno(void)
{
	CHECK(!filter(SYS_mremap, SECCOMP_RET_ERRNO | 77));
	printf("%ld", (long)syscall(SYS_mremap, map_pages(4), PAGE, PAGE, 0));
	printf(" %d\n", errno);
	use_memory();
}

/* Without a tracer that wants it, such a call does not exist. */
static void seccomp_trace(void)
{
	CHECK(!filter(SYS_getppid, SECCOMP_RET_TRACE | 5));
	printf("%ld", syscall(SYS_getppid));
	printf(" %d\n", errno);
	use_memory();
}

static void seccomp_kill(void)
{
	int pid = fork();

	if (!pid) {
		CHECK(!filter(SYS_getppid, SECCOMP_RET_KILL_PROCESS));
		use_memory();
		syscall(SYS_getppid);
		_exit(0);
	}
	how("it", pid);
}

static void seccomp_mmap(void)
{
	CHECK(!filter(SYS_mmap, SECCOMP_RET_ERRNO | 12));
	printf("%d", mmap(NULL, PAGE, RW, ANON, -1, 0) == MAP_FAILED);
	printf(" %d\n", errno);
	for (int i = 0; i < 20; i++) {
		fill(malloc(32 * PAGE) ?: map_pages(0), 16, i);
		pause_ms(6);
	}
}

static void *toucher(void *arg)
{
	use_memory();
	return NULL;
}

static void seccomp_threads(void)
{
	pthread_t t;
	struct sock_filter code[] = {
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { 1, code };

	CHECK(!pthread_create(&t, NULL, toucher, NULL));
	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
		      SECCOMP_FILTER_FLAG_TSYNC, &prog) == 0);
	use_memory();
	pthread_join(t, NULL);
}

static void *serve(void *arg)
{
	struct uffd_msg m;
	int fd = *(int *)arg;
	char page[PAGE];

	while (read(fd, &m, sizeof(m)) == sizeof(m)) {
		unsigned long at = m.arg.pagefault.address & -PAGE;
		struct uffdio_copy c = { .dst = at, .src = (uintptr_t)page,
					 .len = PAGE };

		memset(page, at / PAGE, PAGE);
		ioctl(fd, UFFDIO_COPY, &c);
	}
	return NULL;
}

static void fault_server(void)
{
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
	struct uffdio_api api = { .api = UFFD_API };
	unsigned char *p = map_pages(64);
	struct uffdio_register r = { { (uintptr_t)p, 64 * PAGE },
				     UFFDIO_REGISTER_MODE_MISSING, 0 };
	pthread_t t;
	int good = 0;

	if (fd < 0)
		UNSUPPORTED("userfaultfd");
	CHECK(!ioctl(fd, UFFDIO_API, &api) && !ioctl(fd, UFFDIO_REGISTER, &r));
	CHECK(!pthread_create(&t, NULL, serve, &fd));
	for (int i = 0; i < 64; i++) {
		good += p[i * PAGE + 5] ==
			(unsigned char)(((uintptr_t)p + i * PAGE) / PAGE);
		pause_ms(1);
	}
	printf("%d\n", good);
	_exit(fflush(stdout));
}

static void signal_fd(void)
{
	struct signalfd_siginfo info;
	union sigval v = { .sival_int = 5 };
	sigset_t set;
	int fd, n = 0;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	sigaddset(&set, SIGUSR1);
	CHECK(!sigprocmask(SIG_BLOCK, &set, NULL));
	fd = signalfd(-1, &set, 0);
	for (int i = 0; i < 20; i++) {
		CHECK(!sigqueue(getpid(), SIGRTMIN, v) && !kill(getpid(), SIGUSR1));
		use_memory();
		if (i == 2)
			break;
	}
	for (int i = 0; i < 4; i++) {
		CHECK(read(fd, &info, sizeof(info)) == sizeof(info));
		n += info.ssi_int;
		printf("%s ", info.ssi_signo == SIGUSR1 ? "one" : "queued");
	}
	printf("%d\n", n);
}

static volatile int ticks;

static void tick(int sig, siginfo_t *info, void *context)
{
	ticks += info->si_code == SI_TIMER ? info->si_value.sival_int : 1000;
}

static void thread_timer(void)
{
	struct sigaction sa = { .sa_sigaction = tick,
				.sa_flags = SA_SIGINFO | SA_RESTART };
	struct sigevent e = { .sigev_notify = SIGEV_THREAD_ID,
			      .sigev_signo = SIGRTMIN + 2,
			      .sigev_value.sival_int = 1 };
	struct itimerspec t = { { 0, 3000000 }, { 0, 3000000 } };
	timer_t id;

	e._sigev_un._tid = gettid();
	CHECK(!sigaction(SIGRTMIN + 2, &sa, NULL));
	CHECK(!timer_create(CLOCK_MONOTONIC, &e, &id));
	CHECK(!timer_settime(id, 0, &t, NULL));
	while (ticks < 40)
		use_memory();
	CHECK(!timer_delete(id));
	printf("%s\n", ticks < 1000 ? "ticks" : "others");
}

static void waits_for_signals(void)
{
	struct timespec ts = { 100, 0 }, rest = { 0, 0 }, nap = { 1000, 0 };
	siginfo_t info;
	sigset_t set;
	int pid, ret, error;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	pid = fork();
	if (!pid) {
		use_memory();
		_exit(3);
	}
	CHECK(sigtimedwait(&set, &info, &ts) == SIGCHLD);
	printf("%d %d\n", info.si_code, info.si_status);
	how("it", pid);
	/* Again, as the first one may come before the nap. */
	struct itimerval v = { { 0, 150000 }, { 0, 150000 } }, off = { 0 };
	struct sigaction sa = { .sa_sigaction = tick, .sa_flags = SA_SIGINFO };
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &v, NULL);
	ret = nanosleep(&nap, &rest);
	error = errno;
	setitimer(ITIMER_REAL, &off, NULL);
	printf("%d %d %s\n", ret, error, rest.tv_sec > 500 ? "rest" : "no rest");
}

static void group_wait(void)
{
	siginfo_t info = { 0 };
	int pid = fork();

	if (!pid) {
		use_memory();
		_exit(11);
	}
	CHECK(!waitid(P_ALL, 0, &info, WEXITED | WNOWAIT));
	printf("%d %d %d\n", info.si_pid == pid, info.si_code, info.si_status);
	how("again", pid);
	CHECK(wait(NULL) < 0 && errno == ECHILD);
}

static void restarts(void)
{
	struct sigaction sa = { .sa_sigaction = tick,
				.sa_flags = SA_SIGINFO | SA_RESTART };
	struct itimerval v = { { 0, 4000 }, { 0, 4000 } };
	int fd[2], pid, n = 0;
	char c;

	CHECK(!pipe(fd) && !sigaction(SIGALRM, &sa, NULL));
	pid = fork();
	if (!pid) {
		for (int i = 0; i < 30; i++) {
			pause_ms(5);
			CHECK(write(fd[1], "x", 1) == 1);
		}
		_exit(0);
	}
	close(fd[1]);
	setitimer(ITIMER_REAL, &v, NULL);
	while (read(fd[0], &c, 1) == 1)
		fill(map_pages(4), 4, n++);
	printf("%d\n", n);
	wait_ok(pid);
}

static void rseq_registered(void)
{
	struct rseq *r = (void *)((char *)__builtin_thread_pointer() +
				  __rseq_offset);
	int bad = 0;

	if (!__rseq_size)
		UNSUPPORTED("rseq");
	use_memory();
	for (int i = 0; i < 1000; i++)
		bad += r->cpu_id > 4096;
	printf("%d\n", bad);
}

static ucontext_t one, two;
static int turns;

static void coroutine(void)
{
	for (;;) {
		char *p = map_pages(8);

		fill(p, 8, turns++);
		swapcontext(&two, &one);
		CHECK(filled(p, 8, turns - 1));
	}
}

static void coroutines(void)
{
	getcontext(&two);
	two.uc_stack.ss_sp = map_pages(64);
	two.uc_stack.ss_size = 64 * PAGE;
	makecontext(&two, coroutine, 0);
	for (int i = 0; i < 60; i++) {
		swapcontext(&one, &two);
		pause_ms(2);
	}
	printf("%d\n", turns);
}

static char selector; /* 1: SYSCALL_DISPATCH_FILTER_BLOCK */

/* Its return is a system call, too. */
static void on_dispatch(int sig, siginfo_t *info, void *context)
{
	selector = 0;
	on_sys(sig, info, context);
}

static void dispatch(void)
{
	struct sigaction sa = { .sa_sigaction = on_dispatch, .sa_flags = SA_SIGINFO };
	long ret;

	CHECK(!sigaction(SIGSYS, &sa, NULL));
	if (prctl(59, 1, 0, 0, &selector))
		UNSUPPORTED("system call dispatch");
	use_memory();
	selector = 1;
	asm volatile("syscall" : "=a"(ret) : "a"(SYS_getppid)
		     : "rcx", "r11", "memory");
	printf("%ld\n", ret);
}

static void segments(void)
{
	struct user_desc d = { .entry_number = 0, .limit = 0xfffff,
			       .seg_32bit = 1, .limit_in_pages = 1,
			       .useable = 1 };
	long *p = map_pages(1), got;

	p[2] = 77;
	CHECK(!syscall(SYS_arch_prctl, ARCH_SET_GS, p));
	use_memory();
	asm volatile("mov %%gs:16, %0" : "=r"(got));
	printf("%ld %ld\n", got, syscall(SYS_modify_ldt, 1, &d, sizeof(d)));
}

static void queues(void)
{
	struct mq_attr a = { .mq_maxmsg = 4, .mq_msgsize = 64 };
	struct { long type; char text[32]; } m = { 1, "message" };
	struct sembuf op = { 0, 1, 0 };
	char name[32], buf[64];
	int q = msgget(IPC_PRIVATE, 0600), s = semget(IPC_PRIVATE, 1, 0600);
	mqd_t mq;

	snprintf(name, sizeof(name), "/corner-%d", getpid());
	mq = mq_open(name, O_RDWR | O_CREAT, 0600, &a);
	CHECK(!msgsnd(q, &m, 32, 0) && !semop(s, &op, 1));
	if (mq != (mqd_t)-1) {
		CHECK(!mq_unlink(name) && !mq_send(mq, "posix", 6, 0));
		CHECK(mq_receive(mq, buf, 64, NULL) == 6);
	}
	use_memory();
	memset(&m, 0, sizeof(m));
	CHECK(msgrcv(q, &m, 32, 0, 0) == 32);
	printf("%s %d\n", m.text, semctl(s, 0, GETVAL));
	CHECK(!msgctl(q, IPC_RMID, NULL) && !semctl(s, 0, IPC_RMID));
}

static void watches(void)
{
	char buf[4096];
	int fd = inotify_init(), w = inotify_add_watch(fd, ".", IN_CREATE);
	int f = open("made", O_CREAT | O_RDWR, 0600);

	CHECK(w >= 0 && f >= 0);
	use_memory();
	CHECK(read(fd, buf, sizeof(buf)) > 0);
	printf("%s\n", ((struct inotify_event *)buf)->name);
	CHECK(!unlink("made"));
}

static void kernel_aio(void)
{
	aio_context_t ctx = 0;
	struct iocb cb = { .aio_lio_opcode = IOCB_CMD_PREAD, .aio_nbytes = 64 * PAGE };
	struct iocb *list[] = { &cb };
	struct io_event e;
	char *p = map_pages(64), *q = map_pages(64);
	int fd = open("aio", O_CREAT | O_RDWR | O_TRUNC, 0600);

	fill(p, 64, 3);
	CHECK(write(fd, p, 64 * PAGE) == 64 * (ssize_t)PAGE);
	if (syscall(SYS_io_setup, 4, &ctx))
		UNSUPPORTED("io_setup");
	cb.aio_fildes = fd;
	cb.aio_buf = (uintptr_t)q;
	for (int i = 0; i < 20; i++) {
		memset(q, 0, PAGE);
		CHECK(syscall(SYS_io_submit, ctx, 1, list) == 1);
		CHECK(syscall(SYS_io_getevents, ctx, 1, 1, &e, NULL) == 1);
		CHECK(e.res == 64 * PAGE && filled(q, 64, 3));
		pause_ms(3);
	}
	CHECK(!syscall(SYS_io_destroy, ctx) && !unlink("aio"));
}

static void copies(void)
{
	int in = open("in", O_CREAT | O_RDWR | O_TRUNC, 0600), fd[2];
	int out = open("out", O_CREAT | O_RDWR | O_TRUNC, 0600);
	char *p = map_pages(16), *q;

	fill(p, 16, 2);
	CHECK(!pipe(fd) && write(in, p, 16 * PAGE) == 16 * (ssize_t)PAGE);
	CHECK(sendfile(out, in, &(off_t){ 0 }, 8 * PAGE) == 8 * (ssize_t)PAGE);
	CHECK(splice(in, &(off_t){ 8 * PAGE }, fd[1], NULL, 8 * PAGE, 0) ==
	      8 * (ssize_t)PAGE);
	CHECK(splice(fd[0], NULL, out, NULL, 8 * PAGE, 0) == 8 * (ssize_t)PAGE);
	q = mmap(NULL, 16 * PAGE, PROT_READ, MAP_PRIVATE, out, 0);
	CHECK(q != MAP_FAILED && filled(q, 16, 2));
	CHECK(!unlink("in") && !unlink("out"));
}

static void clocks(void)
{
	struct timespec a, b;
	struct timeval v;
	int back = 0;

	clock_gettime(CLOCK_MONOTONIC, &a);
	for (int i = 0; i < 200000; i++) {
		clock_gettime(CLOCK_MONOTONIC, &b);
		back += b.tv_sec < a.tv_sec ||
			(b.tv_sec == a.tv_sec && b.tv_nsec < a.tv_nsec);
		a = b;
	}
	gettimeofday(&v, NULL);
	clock_gettime(CLOCK_REALTIME, &b);
	printf("%d %d\n", back, labs(b.tv_sec - v.tv_sec) < 3);
}

static void no_time_stamps(void)
{
	int pid = fork(), mode = 0;

	if (!pid) {
		CHECK(!prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0));
		use_memory();
		CHECK(!prctl(PR_GET_TSC, &mode, 0, 0, 0));
		__builtin_ia32_rdtsc();
		_exit(mode);
	}
	how("it", pid);
}

static void traps(void)
{
	static const char *const what[] = { "int3", "ud2", "hlt", "fpe" };

	for (int i = 0; i < 4; i++) {
		int pid = fork();

		if (!pid) {
			use_memory();
			if (i == 0)
				asm volatile("int3");
			else if (i == 1)
				asm volatile("ud2");
			else if (i == 2)
				asm volatile("hlt");
			else
				asm volatile("idivl %0"
					     : : "r"(0), "a"(1), "d"(0));
			_exit(0);
		}
		how(what[i], pid);
	}
}

static volatile int steps;

static void step(int sig, siginfo_t *info, void *context)
{
	ucontext_t *u = context;

	if (++steps >= 200)
		u->uc_mcontext.gregs[REG_EFL] &= ~0x100;
}

/* A program that steps through itself by the trap flag. */
static void single_steps(void)
{
	struct sigaction sa = { .sa_sigaction = step, .sa_flags = SA_SIGINFO };

	CHECK(!sigaction(SIGTRAP, &sa, NULL));
	asm volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
	for (volatile int i = 0; i < 2000; i++)
		;
	printf("%d steps\n", steps);
}

static void step_on(int sig, siginfo_t *info, void *context)
{
	steps++;
}

static void set_trap_flag(int on)
{
	struct sigaction sa = { .sa_sigaction = step_on, .sa_flags = SA_SIGINFO };

	CHECK(!sigaction(SIGTRAP, &sa, NULL));
	if (on)
		asm volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
	else
		asm volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc");
}

/* The same, through calls that are carried out for it. */
static void steps_and_maps(void)
{
	long p[20];

	set_trap_flag(1);
	for (int i = 0; i < 20; i++)
		p[i] = syscall(SYS_mmap, NULL, PAGE, RW, ANON, -1, 0L);
	set_trap_flag(0);
	for (int i = 0; i < 20; i++)
		CHECK(p[i] != -1 && !munmap((void *)p[i], PAGE));
	CHECK(steps >= 100);
	puts("stepped through 20 calls");
}

/* The same, through a function of libc's that libmoca-alloc stands in for. */
static void steps_and_agent(void)
{
	void *p;

	set_trap_flag(1);
	p = mmap(NULL, PAGE, RW, ANON, -1, 0);
	set_trap_flag(0);
	CHECK(p != MAP_FAILED && !munmap(p, PAGE) && steps >= 5);
	puts("stepped through a call");
}

static const struct test_case cases[] = {
	{ "seccomp-strict", seccomp_strict },
	{ "seccomp-strict-thread", seccomp_strict_thread },
	{ "seccomp-early", seccomp_early },
	{ "seccomp-late", seccomp_late },
	{ "seccomp-trap", seccomp_trap },
	{ "seccomp-errno", seccomp_errno },
	{ "seccomp-trace", seccomp_trace },
	{ "seccomp-kill", seccomp_kill },
	{ "seccomp-mmap", seccomp_mmap },
	{ "seccomp-threads", seccomp_threads },
	{ "fault-server", fault_server },
	{ "signalfd", signal_fd },
	{ "thread-timer", thread_timer },
	{ "waits", waits_for_signals },
	{ "group-wait", group_wait },
	{ "restarts", restarts },
	{ "rseq", rseq_registered },
	{ "coroutines", coroutines },
	{ "dispatch", dispatch },
	{ "segments", segments },
	{ "queues", queues },
	{ "watches", watches },
	{ "aio", kernel_aio },
	{ "copies", copies },
	{ "clocks", clocks },
	{ "no-time-stamps", no_time_stamps },
	{ "traps", traps },
	{ "single-steps", single_steps },
	{ "steps-and-maps", steps_and_maps },
	{ "steps-and-agent", steps_and_agent },
	{ 0 },
};

int main(int argc, char **argv)
{
	return cases_main(argc, argv, cases);
}
