/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Kernel interfaces that hold or watch user memory. */
#include "case.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>

static void *echo(void *arg)
{
	int fd = *(int *)arg;
	char buf[512];
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0)
		CHECK(write(fd, buf, n) == n);
	return NULL;
}

static void use_epoll(void)
{
	int ep = epoll_create1(0), ev = eventfd(0, EFD_NONBLOCK);
	int tfd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	struct itimerspec once = { { 0 }, { 0, 50000000 } };
	struct epoll_event *e = map_pages(1);
	int sv[20][2], answers = 0, ticks = 0;
	pthread_t t[20];

	for (int i = 0; i < 20; i++) {
		CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, sv[i]) == 0);
		e->events = EPOLLIN;
		e->data.fd = sv[i][0];
		CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, sv[i][0], e) == 0);
		CHECK(pthread_create(&t[i], NULL, echo, &sv[i][1]) == 0);
		CHECK(write(sv[i][0], "ping", 4) == 4);
	}
	e->data.fd = tfd;
	CHECK(epoll_ctl(ep, EPOLL_CTL_ADD, tfd, e) == 0);
	CHECK(timerfd_settime(tfd, 0, &once, NULL) == 0);
	while (answers < 2000 || !ticks) {
		int n = epoll_wait(ep, e, 100, -1);

		CHECK(n > 0);
		for (int i = 0; i < n; i++) {
			char buf[64];

			CHECK(read(e[i].data.fd, buf, sizeof(buf)) > 0);
			if (e[i].data.fd == tfd) {
				ticks++;
				continue;
			}
			if (++answers <= 1980)
				CHECK(write(e[i].data.fd, "ping", 4) == 4);
		}
	}
	for (int i = 0; i < 20; i++) {
		shutdown(sv[i][0], SHUT_WR);
		CHECK(pthread_join(t[i], NULL) == 0);
	}
	close(ev);
	printf("%d answers, %d tick\n", answers, ticks);
}

struct ring {
	int fd;
	unsigned *sq_tail, *sq_mask, *sq_array, *cq_head, *cq_tail, *cq_mask;
	struct io_uring_sqe *sqes;
	struct io_uring_cqe *cqes;
};

static void ring_open(struct ring *r)
{
	struct io_uring_params p = { 0 };
	char *sq, *cq;

	r->fd = syscall(SYS_io_uring_setup, 8, &p);
	if (r->fd < 0)
		UNSUPPORTED("io_uring");
	sq = mmap(NULL, p.sq_off.array + p.sq_entries * 4, RW,
		  MAP_SHARED | MAP_POPULATE, r->fd, IORING_OFF_SQ_RING);
	cq = mmap(NULL, p.cq_off.cqes + p.cq_entries * sizeof(*r->cqes), RW,
		  MAP_SHARED | MAP_POPULATE, r->fd, IORING_OFF_CQ_RING);
	r->sqes = mmap(NULL, p.sq_entries * sizeof(*r->sqes), RW,
		       MAP_SHARED | MAP_POPULATE, r->fd, IORING_OFF_SQES);
	CHECK(sq != MAP_FAILED && cq != MAP_FAILED && r->sqes != MAP_FAILED);
	r->sq_tail = (unsigned *)(sq + p.sq_off.tail);
	r->sq_mask = (unsigned *)(sq + p.sq_off.ring_mask);
	r->sq_array = (unsigned *)(sq + p.sq_off.array);
	r->cq_head = (unsigned *)(cq + p.cq_off.head);
	r->cq_tail = (unsigned *)(cq + p.cq_off.tail);
	r->cq_mask = (unsigned *)(cq + p.cq_off.ring_mask);
	r->cqes = (struct io_uring_cqe *)(cq + p.cq_off.cqes);
}

/* One request, and its result. */
static int ring_do(struct ring *r, int op, int fd, void *addr, unsigned len,
		   off_t off, int buf)
{
	unsigned tail = *r->sq_tail, i = tail & *r->sq_mask, head;
	struct io_uring_sqe *s = &r->sqes[i];
	int res;

	memset(s, 0, sizeof(*s));
	s->opcode = op;
	s->fd = fd;
	s->addr = (uintptr_t)addr;
	s->len = len;
	s->off = off;
	s->buf_index = buf;
	r->sq_array[i] = i;
	/* Pairs with the kernel's acquire of the tail. */
	__atomic_store_n(r->sq_tail, tail + 1, __ATOMIC_RELEASE);
	CHECK(syscall(SYS_io_uring_enter, r->fd, 1, 1, IORING_ENTER_GETEVENTS,
		      NULL, 0) == 1);
	head = *r->cq_head;
	CHECK(__atomic_load_n(r->cq_tail, __ATOMIC_ACQUIRE) != head);
	res = r->cqes[head & *r->cq_mask].res;
	__atomic_store_n(r->cq_head, head + 1, __ATOMIC_RELEASE);
	return res;
}

static void use_io_uring(void)
{
	char name[] = "ring-XXXXXX";
	int fd = mkstemp(name);
	char *p = map_pages(64), *q = map_pages(64);
	struct iovec v = { q, 64 * PAGE };
	struct ring r;

	CHECK(fd >= 0 && unlink(name) == 0);
	ring_open(&r);
	fill(p, 64, 1);
	CHECK(ring_do(&r, IORING_OP_WRITE, fd, p, 64 * PAGE, 0, 0) ==
	      64 * (int)PAGE);
	CHECK(ring_do(&r, IORING_OP_READ, fd, q, 64 * PAGE, 0, 0) ==
	      64 * (int)PAGE);
	CHECK(filled(q, 64, 1));
	/* Registered buffers are pinned pages: they must stay the same. */
	if (syscall(SYS_io_uring_register, r.fd, IORING_REGISTER_BUFFERS, &v,
		    1))
		UNSUPPORTED("io_uring's registered buffers");
	for (int i = 0; i < 10; i++) {
		fill(p, 64, 100 + i);
		CHECK(pwrite(fd, p, 64 * PAGE, 0) == 64 * (ssize_t)PAGE);
		memset(q, 0, 64 * PAGE);
		pause_ms(15);
		CHECK(ring_do(&r, IORING_OP_READ_FIXED, fd, q, 64 * PAGE, 0,
			      0) == 64 * (int)PAGE);
		CHECK(filled(q, 64, 100 + i));
		fill(q, 64, 200 + i);
		CHECK(ring_do(&r, IORING_OP_WRITE_FIXED, fd, q, 64 * PAGE, 0,
			      0) == 64 * (int)PAGE);
		CHECK(pread(fd, p, 64 * PAGE, 0) == 64 * (ssize_t)PAGE);
		CHECK(filled(p, 64, 200 + i));
	}
	puts("64 pages there and back");
}

/* Pages that are pinned behind a fork, in memory that the child still has. */
static void pinned_behind_fork(void)
{
	char name[] = "ring-XXXXXX", *p = map_pages(2048);
	struct iovec v = { p, 64 * PAGE };
	int end[2], pid, fd = mkstemp(name);
	struct ring r;

	CHECK(fd >= 0 && unlink(name) == 0 && !pipe(end));
	fill(p, 2048, 1);
	CHECK(pwrite(fd, p, 64 * PAGE, 0) == 64 * (ssize_t)PAGE);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		close(end[1]);
		CHECK(read(end[0], name, 1) == 0 && filled(p, 2048, 1));
		_exit(0);
	}
	fill(p, 64, 2);
	ring_open(&r);
	if (syscall(SYS_io_uring_register, r.fd, IORING_REGISTER_BUFFERS, &v,
		    1))
		UNSUPPORTED("io_uring's registered buffers");
	/* Longer than a recorder waits with what concerns a fork's memory. */
	pause_ms(500);
	CHECK(ring_do(&r, IORING_OP_READ_FIXED, fd, p, 64 * PAGE, 0, 0) ==
	      64 * (int)PAGE);
	CHECK(filled(p, 2048, 1));
	close(end[1]);
	wait_ok(pid);
	puts("64 pages where the kernel had them");
}

/* Read 64 pages of v into the buffer that r has; the program must see them. */
static void read_fixed(struct ring *r, char *p, char v)
{
	char name[] = "ring-XXXXXX", *from = map_pages(64);
	int fd = mkstemp(name);

	CHECK(fd >= 0 && unlink(name) == 0);
	fill(from, 64, v);
	CHECK(pwrite(fd, from, 64 * PAGE, 0) == 64 * (ssize_t)PAGE);
	CHECK(ring_do(r, IORING_OP_READ_FIXED, fd, p, 64 * PAGE, 0, 0) ==
	      64 * (int)PAGE);
	CHECK(filled(p, 64, v));
	munmap(from, 64 * PAGE);
	close(fd);
}

static void register_buffer(struct ring *r, char *p)
{
	struct iovec v = { p, 64 * PAGE };

	ring_open(r);
	if (syscall(SYS_io_uring_register, r->fd, IORING_REGISTER_BUFFERS, &v,
		    1))
		UNSUPPORTED("io_uring's registered buffers");
}

/* Pinned, and then a call after which a recorder gives memory back. */
static void pinned_then_filter(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { 1, code };
	char *p = map_pages(2048);
	struct ring r;

	fill(p, 2048, 1);
	register_buffer(&r, p + 64 * PAGE);
	read_fixed(&r, p + 64 * PAGE, 2);
	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) == 0);
	for (int i = 3; i < 6; i++)
		read_fixed(&r, p + 64 * PAGE, i);
	CHECK(filled(p, 64, 1));
	puts("64 pages behind a filter");
}

/* Pinned memory that a fork has shared before, and that moves. */
static void pinned_moved(void)
{
	char *p = map_pages(2048), *q;
	int end[2], pid;
	struct ring r;

	fill(p, 2048, 1);
	CHECK(!pipe(end));
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		close(end[1]);
		CHECK(read(end[0], &r, 1) == 0 && filled(p, 2048, 1));
		_exit(0);
	}
	register_buffer(&r, p);
	read_fixed(&r, p, 2);
	q = mremap(p, 2048 * PAGE, 4096 * PAGE, MREMAP_MAYMOVE);
	CHECK(q != MAP_FAILED);
	for (int i = 3; i < 6; i++) {
		char name[] = "ring-XXXXXX", *from = map_pages(64);
		int fd = mkstemp(name);

		CHECK(fd >= 0 && unlink(name) == 0);
		fill(from, 64, i);
		CHECK(pwrite(fd, from, 64 * PAGE, 0) == 64 * (ssize_t)PAGE);
		/* By the address at which they were registered. */
		CHECK(ring_do(&r, IORING_OP_READ_FIXED, fd, p, 64 * PAGE, 0,
			      0) == 64 * (int)PAGE);
		CHECK(filled(q, 64, i));
		close(fd);
	}
	close(end[1]);
	wait_ok(pid);
	puts("64 pages where mremap took them");
}

static void await_line(void)
{
	char c;

	printf("ready\n");
	fflush(stdout);
	while (read(0, &c, 1) == 1 && c != '\n')
		;
}

/* One buffer before somebody attaches, one meanwhile; used until they leave. */
static void pinned_long(size_t pages, int advice)
{
	const uintptr_t huge = 512 * PAGE;
	char *p = map_pages(pages + 1024), *q = map_pages(pages);
	struct ring a, b;

	p = (char *)(((uintptr_t)p + huge - 1) & ~(huge - 1));
	madvise(p, pages * PAGE, advice);
	fill(p, pages, 1);
	fill(q, pages, 1);
	register_buffer(&a, p + 64 * PAGE);
	read_fixed(&a, p + 64 * PAGE, 2);
	await_line();
	read_fixed(&a, p + 64 * PAGE, 3);
	register_buffer(&b, q + 64 * PAGE);
	read_fixed(&b, q + 64 * PAGE, 4);
	await_line();
	for (int i = 5; i < 8; i++) {
		read_fixed(&a, p + 64 * PAGE, i);
		read_fixed(&b, q + 64 * PAGE, i);
	}
	CHECK(filled(p, 64, 1) && filled(q, 64, 1));
	puts("two buffers of 64 pages");
}

static void pinned_attached(void)
{
	pinned_long(1024, MADV_NOHUGEPAGE);
}

static void pinned_attached_huge(void)
{
	pinned_long(1024, MADV_HUGEPAGE);
}

/* A filter of the program's own; it answers for a call of its choice. */
static void own_seccomp(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 77),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mremap, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { 6, code };
	char *p;

	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) == 0);
	CHECK(syscall(SYS_getppid) == -1 && errno == 77);
	p = map_pages(256);
	fill(p, 256, 1);
	CHECK(mremap(p, 256 * PAGE, 512 * PAGE, MREMAP_MAYMOVE) == MAP_FAILED);
	CHECK(errno == EPERM);
	pause_ms(60);
	CHECK(filled(p, 256, 1));
	CHECK(munmap(p + 128 * PAGE, 128 * PAGE) == 0);
	CHECK(filled(p, 128, 1));
	puts("filtered");
}

static int uffd_open(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);

	if (fd < 0 || ioctl(fd, UFFDIO_API, &api))
		UNSUPPORTED("userfaultfd");
	return fd;
}

static void *serve_faults(void *arg)
{
	int fd = *(int *)arg;
	char *page = map_pages(1);
	struct uffd_msg msg;

	for (int i = 0; i < 64; i++) {
		struct uffdio_copy copy = { 0 };

		CHECK(read(fd, &msg, sizeof(msg)) == sizeof(msg));
		CHECK(msg.event == UFFD_EVENT_PAGEFAULT);
		*(uint64_t *)page = 1000;
		copy.dst = msg.arg.pagefault.address & ~(PAGE - 1);
		copy.src = (uintptr_t)page;
		copy.len = PAGE;
		CHECK(ioctl(fd, UFFDIO_COPY, &copy) == 0);
	}
	return NULL;
}

/* A program that pages its own memory in. */
static void own_userfaultfd(void)
{
	int fd = uffd_open();
	char *p = map_pages(64);
	struct uffdio_register reg = { { (uintptr_t)p, 64 * PAGE },
				       UFFDIO_REGISTER_MODE_MISSING, 0 };
	uint64_t sum = 0;
	pthread_t t;

	if (ioctl(fd, UFFDIO_REGISTER, &reg))
		UNSUPPORTED("userfaultfd's registration");
	CHECK(pthread_create(&t, NULL, serve_faults, &fd) == 0);
	for (uint64_t i = 0; i < 64; i++)
		sum += *(volatile uint64_t *)(p + i * PAGE) + i;
	CHECK(pthread_join(t, NULL) == 0);
	printf("%lu\n", sum);
	pause_ms(60);
	for (uint64_t i = 0; i < 64; i++)
		CHECK(*(volatile uint64_t *)(p + i * PAGE) == 1000);
}

/* Zero-copy out of a pipe, and pages given to one. */
static void splices(void)
{
	char *p = map_pages(16), *q = map_pages(16);
	struct iovec v = { p, 16 * PAGE };
	int fd[2];

	CHECK(pipe(fd) == 0);
	fill(p, 16, 3);
	CHECK(vmsplice(fd[1], &v, 1, 0) == 16 * (ssize_t)PAGE);
	pause_ms(60);
	for (size_t got = 0; got < 16 * PAGE;) {
		ssize_t n = read(fd[0], q + got, 16 * PAGE - got);

		CHECK(n > 0);
		got += n;
	}
	CHECK(filled(q, 16, 3));
	puts("spliced");
}

/* As sandboxes do: whoever makes another call is killed. */
static void limit_calls(void)
{
	static const int allowed[] = {
		SYS_read, SYS_write, SYS_brk, SYS_mmap, SYS_munmap, SYS_mremap,
		SYS_mprotect, SYS_madvise, SYS_exit, SYS_exit_group,
	};
	struct sock_filter code[32] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
	};
	struct sock_fprog prog = { 1, code };

	for (size_t i = 0; i < sizeof(allowed) / sizeof(*allowed); i++) {
		code[prog.len++] = (struct sock_filter)BPF_JUMP(
			BPF_JMP | BPF_JEQ | BPF_K, allowed[i], 0, 1);
		code[prog.len++] = (struct sock_filter)BPF_STMT(
			BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	code[prog.len++] = (struct sock_filter)BPF_STMT(
		BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) == 0);
}

/* In a child, by exit code. */
static int in_sandbox(void (*end)(int))
{
	void *volatile p[500] = { 0 };
	int status;
	pid_t pid;

	p[0] = malloc(100);	/* asks for random numbers */
	fflush(stdout);
	pid = fork();
	if (!pid) {
		limit_calls();
		for (int i = 0; i < 100000; i++) {
			free(p[i % 500]);
			p[i % 500] = malloc(i * 7919 % 20000 + 1);
			if (!p[i % 500])
				end(4);
		}
		end(3);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	return status;
}

static void sandbox(void)
{
	CHECK(in_sandbox(exit) == 3 << 8);
	CHECK(in_sandbox(_exit) == 3 << 8);
	puts("nothing else was called");
}

/* A filter that a program of another name begins with. */
static void sandbox_exec(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, 500, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog prog = { 5, code };

	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) == 0);
	execl("/bin/echo", "echo", "in a sandbox", (char *)NULL);
	CHECK(0);
}

static const struct test_case cases[] = {
	{ "epoll", use_epoll },
	{ "io-uring", use_io_uring },
	{ "pinned-behind-fork", pinned_behind_fork },
	{ "pinned-then-filter", pinned_then_filter },
	{ "pinned-moved", pinned_moved },
	{ "pinned-attached", pinned_attached },
	{ "pinned-attached-huge", pinned_attached_huge },
	{ "own-seccomp", own_seccomp },
	{ "sandbox", sandbox },
	{ "sandbox-exec", sandbox_exec },
	{ "own-userfaultfd", own_userfaultfd },
	{ "vmsplice", splices },
	{ 0 },
};

int main(int argc, char **argv)
{
	return cases_main(argc, argv, cases);
}
