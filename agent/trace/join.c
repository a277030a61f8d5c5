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

#include "agent/trace/emitter.h"
#include "lib/ring/describe.h"

/* A stuck collector costs so much once, and then a little. */
#define REPLY_MS 2000
#define REPLY_LATER_MS 200
/*
 * A collector that answers other threads is not stuck: it is waited for so many
 * times as long.
 */
#define PATIENT_TRIES 10
/* A connection that was closed unheard, as others waited: ask anew. */
#define UNHEARD_TRIES 8

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
	/* The collector hands out memory that we will write to: is it of our user? */
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

/* What trace the request is for, and whether its collector is alive. */
struct collector {
	unsigned slot;
	uint32_t base;
	unsigned ms;		/* to wait for its answer */
};

/* As long as it answers others, our turn will come. -errno or the length. */
static long await(int fd, struct msghdr *m, const struct collector *of)
{
	uint32_t served = agent_doorbell_served(of->slot, of->base), before;
	unsigned tries = 0;
	long n;

	do {
		before = served;
		n = call(SYS_recvmsg, fd, (long)m, MSG_CMSG_CLOEXEC, 0, 0);
		served = agent_doorbell_served(of->slot, of->base);
	} while (n == -EAGAIN && served != before && ++tries < PATIENT_TRIES);
	return n;
}

/*
 * The reply's value, or -errno; its descriptors to fds[2], -1 = none; text that
 * comes with it to more, if that is not NULL. *taken: what we told of losses
 * was taken, whatever else the answer is. -EPIPE: there was no answer.
 */
static long receive(int fd, const struct collector *of, struct iovec *more,
		    int *fds, int *taken)
{
	union {
		char buf[CMSG_SPACE(2 * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct moca_reply reply;
	struct iovec iov[2] = { { &reply, sizeof(reply) } };
	struct msghdr m = {
		.msg_iov = iov, .msg_iovlen = more ? 2 : 1,
		.msg_control = control.buf,
		.msg_controllen = sizeof(control.buf),
	};
	long n;

	if (more)
		iov[1] = *more;
	n = await(fd, &m, of);
	if (n <= 0)
		return n == 0 || n == -ECONNRESET ? -EPIPE : n;
	take_fds(&m, fds);
	if (n < (long)sizeof(reply) || reply.magic != MOCA_MSG_MAGIC)
		return -EPROTO;
	if (more)
		more->iov_len = n - sizeof(reply);
	*taken = !reply.error || reply.value == 1;
	if (reply.error)
		return reply.error < 0 ? reply.error : -EPROTO;
	return reply.value;
}

static long ask_once(const struct collector *of,
		     const struct moca_registry_slot *r, struct request *q,
		     struct iovec *more, int *fds, int *taken)
{
	int fd = connect_to(r->name, of->ms);
	long ret;

	if (fd < 0)
		return fd;
	ret = call(SYS_sendto, fd, (long)q, sizeof(q->msg) + q->msg.len,
		   MSG_NOSIGNAL, 0);
	if (ret >= 0)
		ret = receive(fd, of, more, fds, taken);
	close_fd(fd);
	return ret;
}

static long ask(unsigned slot, const struct moca_registry_slot *r,
		struct request *q, unsigned type, size_t len,
		struct iovec *more, int *fds, int *taken)
{
	struct collector of = { .slot = slot, .base = agent_slot_base(r) };
	unsigned tries = 0;
	long ret;

	of.ms = agent_process->patience[slot].base == of.base ?
			REPLY_LATER_MS : REPLY_MS;
	q->msg = (struct moca_msg){
		.magic = MOCA_MSG_MAGIC, .version = MOCA_MSG_VERSION,
		.type = type, .session = r->session, .len = len,
	};
	do {
		ret = ask_once(&of, r, q, more, fds, taken);
	} while (ret == -EPIPE && ++tries < UNHEARD_TRIES);
	return ret;
}

static int map_ring(struct agent_member *m, unsigned slot,
		    const struct moca_registry_slot *r, const int *fds)
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
			       agent_doorbell_map(slot, r, fds[1]));
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
		.lost = agent_lost_of(s, base),
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
	ret = ask(slot, r, &q, MOCA_MSG_JOIN, sizeof(join), NULL, fds, &taken);
	if (taken) {
		__atomic_fetch_sub(&s->lost, join.lost, __ATOMIC_RELAXED);
		s->refused_base = base;	/* it has counted us, if it refused */
	}
	if (ret >= 0)
		ret = map_ring(m, slot, r, fds);
	close_fd(fds[0]);
	close_fd(fds[1]);
	return ret < 0 ? ret : 0;
}

/* Descriptions of events one after the other, as many as there is room for. */
static unsigned describe(struct moca_trace_event *const *events, unsigned n,
			 char *body, size_t size, size_t *len)
{
	unsigned i;
	long ret;

	*len = 0;
	for (i = 0; i < n; i++) {
		ret = moca_event_describe(events[i], body + *len, size - *len);
		if (ret < 0)
			break;
		*len += ret;
	}
	return i;
}

static void keep_id(struct moca_trace_event *e, unsigned slot, uint32_t base,
		    uint32_t id)
{
	if (id >= MOCA_REC_FIRST && id <= MOCA_REC_LAST)
		__atomic_store_n(&e->id[slot], base | id, __ATOMIC_RELAXED);
}

int agent_request_ids(struct moca_trace_event *const *events, unsigned n,
		      unsigned slot, const struct moca_registry_slot *r)
{
	int fds[2] = { -1, -1 }, taken;
	uint32_t base = agent_slot_base(r), ids[MOCA_MSG_EVENTS_MAX];
	struct iovec more = { ids, sizeof(ids) };
	struct request q;
	unsigned i, told;
	size_t len;
	long ret;

	if (n > MOCA_MSG_EVENTS_MAX)
		n = MOCA_MSG_EVENTS_MAX;
	n = describe(events, n, q.body, sizeof(q.body), &len);
	if (!n)
		return -E2BIG;
	ret = ask(slot, r, &q, MOCA_MSG_EVENT, len, &more, fds, &taken);
	close_fd(fds[0]);
	close_fd(fds[1]);
	if (ret < 0)
		return ret;
	if (ret < (long)MOCA_REC_FIRST || ret > (long)MOCA_REC_LAST)
		return -EPROTO;
	keep_id(events[0], slot, base, ret);
	told = more.iov_len / sizeof(*ids);
	for (i = 1; i < n && i < told; i++)
		keep_id(events[i], slot, base, ids[i]);
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
	ret = ask(slot, r, &q, MOCA_MSG_LOST, sizeof(lost), NULL, fds, &taken);
	close_fd(fds[0]);
	close_fd(fds[1]);
	return ret < 0 ? ret : 0;
}
