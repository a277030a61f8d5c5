// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Asking a collector: for a buffer, for an event's id. One connection each,
 * closed at once: a descriptor that stays would be the program's to trip over.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/trace/doorbell.h"
#include "agent/trace/internal.h"
#include "lib/ring/describe.h"

/* A stuck collector costs so much once, and then a little. */
#define REPLY_MS 2000
#define REPLY_LATER_MS 200

struct request {
	struct moca_msg msg;
	char body[2048];
};

/* System calls that are no cancellation points. -errno or the result. */
static long call(long number, long a, long b, long c, long d, long e)
{
	long ret;

	do {
		ret = syscall(number, a, b, c, d, e, 0L);
	} while (ret < 0 && errno == EINTR);
	return ret < 0 ? -errno : ret;
}

static void close_fd(int fd)
{
	if (fd >= 0)
		syscall(SYS_close, fd);
}

static int connect_to(const char *name, unsigned ms)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	struct timeval limit = { ms / 1000, ms % 1000 * 1000 };
	size_t n = strlen(agent_dir), m = strlen(name);
	struct ucred peer = { 0, -1, -1 };
	socklen_t len = sizeof(peer);
	long fd, ret;

	if (n + m + sizeof("/.sock") > sizeof(addr.sun_path))
		return -ENAMETOOLONG;
	memcpy(addr.sun_path, agent_dir, n);
	addr.sun_path[n] = '/';
	memcpy(addr.sun_path + n + 1, name, m);
	memcpy(addr.sun_path + n + 1 + m, ".sock", sizeof(".sock"));
	fd = call(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, 0, 0);
	if (fd < 0)
		return fd;
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	ret = call(SYS_connect, fd, (long)&addr, sizeof(addr), 0, 0);
	/* It hands out memory that we will write to: is it ours? */
	if (ret >= 0 &&
	    (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) ||
	     peer.uid != geteuid()))
		ret = -EPERM;
	if (ret < 0) {
		close_fd(fd);
		return ret;
	}
	return fd;
}

static void take_fds(struct msghdr *m, int *fds)
{
	struct cmsghdr *c;

	for (c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
			memcpy(fds, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
}

/*
 * The reply's value, or -errno; its descriptors to fds[2], -1 = none. *taken:
 * what we told of losses was taken, whatever else the answer is.
 */
static long receive(int fd, int *fds, int *taken)
{
	union {
		char buf[CMSG_SPACE(2 * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct moca_reply reply;
	struct iovec iov = { &reply, sizeof(reply) };
	struct msghdr m = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control.buf,
		.msg_controllen = sizeof(control.buf),
	};
	long n = call(SYS_recvmsg, fd, (long)&m, MSG_CMSG_CLOEXEC, 0, 0);

	if (n < 0)
		return n;
	take_fds(&m, fds);
	if (n != sizeof(reply) || reply.magic != MOCA_MSG_MAGIC)
		return -EPROTO;
	*taken = !reply.error || reply.value == 1;
	if (reply.error)
		return reply.error < 0 ? reply.error : -EPROTO;
	return reply.value;
}

static long ask(unsigned slot, const struct moca_registry_slot *r,
		struct request *q, unsigned type, size_t len, int *fds,
		int *taken)
{
	int waited = agent_process->patience[slot].base == agent_slot_base(r);
	int fd = connect_to(r->name, waited ? REPLY_LATER_MS : REPLY_MS);
	long ret;

	if (fd < 0)
		return fd;
	q->msg = (struct moca_msg){
		.magic = MOCA_MSG_MAGIC, .version = MOCA_MSG_VERSION,
		.type = type, .session = r->session, .len = len,
	};
	ret = call(SYS_sendto, fd, (long)q, sizeof(q->msg) + len, MSG_NOSIGNAL,
		   0);
	if (ret >= 0 && type != MOCA_MSG_LOST)
		ret = receive(fd, fds, taken);
	close_fd(fd);
	return ret;
}

/* One page of each trace is shared by its threads, and stays mapped. */
static struct {
	struct moca_doorbell *page;
	uint64_t session;
} doorbells[MOCA_TRACE_SLOTS];

static struct moca_doorbell *map_doorbell(unsigned slot, uint64_t session,
					  int fd)
{
	struct moca_doorbell *page = doorbells[slot].page;

	if (page && doorbells[slot].session == session)
		return page;
	/* In the place of an earlier trace's, which nobody hears any more. */
	page = mmap(page, 4096, PROT_READ | PROT_WRITE,
		    MAP_SHARED | (page ? MAP_FIXED : 0), fd, 0);
	if (page == MAP_FAILED)
		return NULL;
	/* Another thread may be as quick: then a page is mapped twice. */
	doorbells[slot].page = page;
	doorbells[slot].session = session;
	return page;
}

struct moca_doorbell *moca_trace_doorbell(const struct moca_trace_event *e)
{
	uint64_t wanted = __atomic_load_n(&e->wanted, __ATOMIC_RELAXED);
	unsigned i;

	for (i = 0; i < MOCA_TRACE_SLOTS; i++)
		if (wanted >> i & 1 && doorbells[i].page)
			return doorbells[i].page;
	return NULL;
}

uint64_t *moca_trace_waited(void)
{
	return &moca_ring_waited_ns;
}

static int map_ring(struct agent_member *m, unsigned slot, uint64_t session,
		    const int *fds)
{
	struct moca_ring ring;
	struct stat st;
	void *map;
	int ret;

	if (fds[0] < 0 || fds[1] < 0 || fstat(fds[0], &st))
		return -EPROTO;
	if (st.st_size < (off_t)MOCA_RING_DATA ||
	    st.st_size > (off_t)1 << 30)
		return -EPROTO;
	/* Populated here, so that no event waits for a page fault. */
	map = mmap(NULL, st.st_size, PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_POPULATE, fds[0], 0);
	if (map == MAP_FAILED)
		return -errno;
	madvise(map, st.st_size, MADV_DONTFORK);
	ret = moca_ring_attach(&ring, map, st.st_size,
			       map_doorbell(slot, session, fds[1]));
	if (ret) {
		munmap(map, st.st_size);
		return ret;
	}
	m->map = map;
	m->map_len = st.st_size;
	m->ring = ring;
	return 0;
}

int agent_join(struct agent_slot *s, struct agent_member *m, unsigned slot,
	       const struct moca_registry_slot *r)
{
	uint32_t base = agent_slot_base(r);
	struct moca_msg_join join = {
		.lost = s->lost_base == base ? s->lost : 0,
		.tid = syscall(SYS_gettid),
		.word_bits = 8 * sizeof(long),
	};
	int fds[2] = { -1, -1 }, taken = 0;
	struct request q;
	long ret;

	/* A vfork's child runs in its parent's state: it gets no buffer. */
	if (syscall(SYS_getpid) != agent_process->pid)
		return -ECHILD;
	join.incarnation = agent_process->incarnation;
	prctl(PR_GET_NAME, join.name);
	join.name[sizeof(join.name) - 1] = 0;
	memcpy(q.body, &join, sizeof(join));
	ret = ask(slot, r, &q, MOCA_MSG_JOIN, sizeof(join), fds, &taken);
	if (taken)
		__atomic_fetch_sub(&s->lost, join.lost, __ATOMIC_RELAXED);
	if (ret >= 0)
		ret = map_ring(m, slot, r->session, fds);
	close_fd(fds[0]);
	close_fd(fds[1]);
	return ret < 0 ? ret : 0;
}

int agent_request_id(struct moca_trace_event *e, unsigned slot,
		     const struct moca_registry_slot *r, uint32_t *id)
{
	int fds[2] = { -1, -1 }, taken;
	struct request q;
	long ret = moca_event_describe(e, q.body, sizeof(q.body));

	if (ret < 0)
		return ret;
	ret = ask(slot, r, &q, MOCA_MSG_EVENT, ret, fds, &taken);
	close_fd(fds[0]);
	close_fd(fds[1]);
	if (ret < 0)
		return ret;
	if (ret < (long)MOCA_REC_FIRST || ret > (long)MOCA_REC_LAST)
		return -EPROTO;
	*id = ret;
	return 0;
}

int agent_report_lost(uint64_t count, unsigned slot,
		      const struct moca_registry_slot *r)
{
	struct moca_msg_lost lost = {
		.count = count,
		.tid = syscall(SYS_gettid),
	};
	int fds[2] = { -1, -1 }, taken;
	struct request q;
	long ret;

	memcpy(q.body, &lost, sizeof(lost));
	ret = ask(slot, r, &q, MOCA_MSG_LOST, sizeof(lost), fds, &taken);
	return ret < 0 ? ret : 0;
}
