// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What tasks do is told completely, in order and truly: threads, children, vfork,
 * exec (from a thread, too), names, ends, mappings; and of a child every page
 * that it touches, from its first instruction on. A subject does it and notes
 * what it did in shared memory; its parent, who is not traced, compares.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "session.h"

#define REGION ((unsigned char *)0x100000000000ul)
#define FILE_AT ((unsigned char *)0x110000000000ul)
#define PAGES 64
#define STEP 3			/* every third page is touched */
#define TOUCHED ((PAGES + STEP - 1) / STEP)
#define THREADS 8
#define CHILDREN 200
#define BATCH 40
#define EXEC_CODE 7

/* What the subject did; all of it is known before it is compared. */
static struct truth {
	volatile int go, done;
	pid_t tids[THREADS];
	uint64_t stack[THREADS], tls[THREADS];
	struct { pid_t pid; int status; } child[CHILDREN];
	pid_t vforked, execed, exec_thread, mapper;
	int vforked_status, execed_status;
	struct stat file;
} *truth;

static char self[256];

/* ---- the subject ---- */

static void touch_region(void)
{
	for (int i = 0; i < PAGES; i += STEP)
		if (i & 1)
			((volatile unsigned char *)REGION)[i * PAGE + i] = 1;
		else
			(void)((volatile unsigned char *)REGION)[i * PAGE + i];
}

static void make_region(void)
{
	if (mmap(REGION, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE |
		 MAP_ANONYMOUS | MAP_FIXED, -1, 0) != REGION)
		_exit(99);
}

static void *thread(void *arg)
{
	int me = (int)(intptr_t)arg;
	char name[16];

	truth->tids[me] = syscall(SYS_gettid);
	truth->stack[me] = (uintptr_t)__builtin_frame_address(0);
	truth->tls[me] = (uintptr_t)__builtin_thread_pointer();
	snprintf(name, sizeof(name), "thread-%d", me);
	prctl(PR_SET_NAME, name);
	return NULL;
}

static void run_threads(void)
{
	pthread_t t[THREADS];

	for (intptr_t i = 0; i < THREADS; i++)
		if (pthread_create(&t[i], NULL, thread, (void *)i))
			_exit(98);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
}

/* What the compiler does not know to be no memory. */
static volatile int *volatile nowhere = (volatile int *)8;

static void end_somehow(int i)
{
	touch_region();
	if (i % 10 == 3)
		raise(SIGKILL);
	if (i % 10 == 6)
		*nowhere = 1;
	if (i % 10 == 9)
		syscall(SYS_exit, i & 127);
	_exit(i & 127);
}

static void run_children(int from)
{
	for (int i = from; i < from + BATCH; i++) {
		pid_t pid = fork();

		if (!pid)
			end_somehow(i);
		truth->child[i].pid = pid;
		/* Some run at once, some while the next are made. */
		if (i % 4 == 3)
			for (int k = i - 3; k <= i; k++)
				waitpid(truth->child[k].pid,
					&truth->child[k].status, 0);
	}
}

static void run_vfork(void)
{
	pid_t pid = vfork();

	if (!pid) {
		execl(self, "follow", "image", NULL);
		_exit(97);
	}
	truth->vforked = pid;
	waitpid(pid, &truth->vforked_status, 0);
}

static void *exec_in_thread(void *arg)
{
	truth->exec_thread = syscall(SYS_gettid);
	execl(self, "follow", "image", NULL);
	_exit(97);
}

static void run_exec(void)
{
	pid_t pid = fork();
	pthread_t t;

	if (!pid) {
		pthread_create(&t, NULL, exec_in_thread, NULL);
		for (;;)
			pause();
	}
	truth->execed = pid;
	waitpid(pid, &truth->execed_status, 0);
}

static void run_mapper(void)
{
	int fd = open("/tmp/follow.file", O_RDWR | O_CREAT | O_TRUNC, 0600);
	pid_t pid;

	if (fd < 0 || ftruncate(fd, 16 * PAGE) || fstat(fd, &truth->file))
		_exit(96);
	pid = fork();
	if (!pid) {
		if (mmap(FILE_AT, 4 * PAGE, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_FIXED, fd, 3 * PAGE) != FILE_AT)
			_exit(95);
		for (int i = 0; i < 4; i++)
			((volatile unsigned char *)FILE_AT)[i * PAGE] = i;
		_exit(0);
	}
	truth->mapper = pid;
	waitpid(pid, NULL, 0);
	close(fd);
}

static void subject(void)
{
	make_region();
	memset(REGION, 5, PAGES * PAGE);
	truth->done = 1;
	for (int step = 1;; step++) {
		while (truth->go < step)
			usleep(1000);
		if (step == 1)
			run_threads();
		else if (step == 2)
			run_vfork();
		else if (step == 3)
			run_exec();
		else if (step == 4)
			run_mapper();
		else if (step < 5 + CHILDREN / BATCH)
			run_children((step - 5) * BATCH);
		else
			_exit(0);
		truth->done = step + 1;
	}
}

/* ---- the records, in order of time ---- */

struct event {
	uint64_t time;
	size_t order;
	struct moca_rec *rec;
};

static struct event *events;
static size_t n_events, room_events;

static void keep(void *arg, const struct moca_chunk_head *h,
		 const struct moca_rec *rec)
{
	if (n_events == room_events) {
		room_events = room_events * 2 + 4096;
		events = realloc(events, room_events * sizeof(*events));
	}
	events[n_events] = (struct event){ rec->time_ns, n_events,
					   malloc(rec->bytes) };
	memcpy(events[n_events++].rec, rec, rec->bytes);
}

static int by_time(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

/* The n-th record of a type that a task has, or NULL. */
static void *find(uint32_t tid, int type, int n)
{
	for (size_t i = 0; i < n_events; i++)
		if (events[i].rec->type == type && events[i].rec->tid == tid &&
		    !n--)
			return events[i].rec;
	return NULL;
}

static int count(uint32_t tid, int type)
{
	int n = 0;

	while (find(tid, type, n))
		n++;
	return n;
}

/* Pages of the region without exactly one true record of this process. */
static int region_wrong(uint32_t pid)
{
	int n[PAGES] = { 0 }, wrong = 0;

	for (size_t i = 0; i < n_events; i++) {
		struct moca_rec_access *a = (void *)events[i].rec;
		uint64_t page = (a->addr - (uintptr_t)REGION) / PAGE;

		if (a->rec.type != MOCA_REC_ACCESS || a->pid != pid ||
		    a->addr < (uintptr_t)REGION || page >= PAGES)
			continue;
		n[page]++;
		wrong += a->addr % PAGE != page || a->rec.tid != pid ||
			 !(a->flags & MOCA_ACC_WRITE) != !(page & 1);
	}
	for (int i = 0; i < PAGES; i++)
		wrong += n[i] != (i % STEP == 0);
	return wrong;
}

/* ---- what must be ---- */

static pid_t sub;

static void check_threads(void)
{
	int none = 0, flags = 0, stack = 0, tls = 0, name = 0, end = 0, order = 0;

	for (int i = 0; i < THREADS; i++) {
		uint32_t tid = truth->tids[i];
		struct moca_rec_task *t = find(tid, MOCA_REC_TASK, 0);
		struct moca_rec_name *n = find(tid, MOCA_REC_NAME, 0);
		struct moca_rec_exit *e = find(tid, MOCA_REC_EXIT, 0);
		char want[16];

		if (!t || !n || !e) {
			none++;
			continue;
		}
		snprintf(want, sizeof(want), "thread-%d", i);
		flags += t->flags != MOCA_TASKF_THREAD ||
			 t->pid != (uint32_t)sub || t->parent != (uint32_t)sub;
		stack += t->stack < truth->stack[i] ||
			 t->stack - truth->stack[i] > 8192;
		tls += t->tls != truth->tls[i];
		name += strcmp(n->comm, want) != 0;
		end += e->pid != (uint32_t)sub || e->status;
		order += !(t->rec.time_ns < n->rec.time_ns &&
			   n->rec.time_ns < e->rec.time_ns);
	}
	check(!none, "threads", "%d of %d without TASK, NAME or EXIT", none,
	      THREADS);
	check(!flags, "threads: whose they are", "%d wrong", flags);
	check(!stack, "threads: stack", "%d wrong", stack);
	check(!tls, "threads: thread pointer", "%d wrong", tls);
	check(!name, "threads: names", "%d wrong", name);
	check(!end, "threads: ends", "%d wrong", end);
	check(!order, "threads: order", "%d wrong", order);
}

static void check_children(void)
{
	int once = 0, who = 0, status = 0, pages = 0, order = 0;

	for (int i = 0; i < CHILDREN; i++) {
		uint32_t pid = truth->child[i].pid;
		struct moca_rec_task *t = find(pid, MOCA_REC_TASK, 0);
		struct moca_rec_exit *e = find(pid, MOCA_REC_EXIT, 0);

		if (count(pid, MOCA_REC_TASK) != 1 ||
		    count(pid, MOCA_REC_EXIT) != 1) {
			once++;
			continue;
		}
		who += t->pid != pid || t->parent != (uint32_t)sub || t->flags;
		status += e->pid != pid || e->status != truth->child[i].status;
		pages += region_wrong(pid);
		order += t->rec.time_ns >= e->rec.time_ns;
	}
	check(!once, "children: one TASK, one EXIT", "%d of %d wrong", once,
	      CHILDREN);
	check(!who, "children: whose they are", "%d wrong", who);
	check(!status, "children: status as of wait", "%d wrong", status);
	check(!pages, "children: every page, once, from the first instruction",
	      "%d of %d wrong", pages, CHILDREN * PAGES);
	check(!order, "children: order", "%d wrong", order);
}

static void check_vfork(void)
{
	uint32_t pid = truth->vforked;
	struct moca_rec_task *t = find(pid, MOCA_REC_TASK, 0);
	struct moca_rec_exec *x = find(pid, MOCA_REC_EXEC, 0);
	struct moca_rec_name *n = find(pid, MOCA_REC_NAME, 0);
	struct moca_rec_exit *e = find(pid, MOCA_REC_EXIT, 0);

	if (!check(t && x && n && e, "vfork, exec: records", "TASK %d EXEC %d "
		   "NAME %d EXIT %d", !!t, !!x, !!n, !!e))
		return;
	check(t->flags == MOCA_TASKF_VFORK && t->pid == pid,
	      "vfork: flags", "0x%x", t->flags);
	check(x->pid == pid && x->old_tid == pid && !strcmp(x->path, self),
	      "exec", "pid %u, was %u, path %s", x->pid, x->old_tid, x->path);
	check(!strcmp(n->comm, "follow"), "exec: name", "%s", n->comm);
	check(truth->vforked_status == EXEC_CODE << 8 &&
	      e->status == truth->vforked_status, "exec: status", "0x%x",
	      e->status);
	check(t->rec.time_ns < x->rec.time_ns && x->rec.time_ns < e->rec.time_ns,
	      "exec: order", "TASK, EXEC, EXIT is not what came");
	check(!region_wrong(pid), "exec: pages of the new program",
	      "%d of %d wrong", region_wrong(pid), PAGES);
}

static void check_exec(void)
{
	uint32_t pid = truth->execed, tid = truth->exec_thread;
	struct moca_rec_task *t = find(pid, MOCA_REC_TASK, 0);
	struct moca_rec_task *u = find(tid, MOCA_REC_TASK, 0);
	struct moca_rec_exec *x = find(pid, MOCA_REC_EXEC, 0);
	struct moca_rec_exit *first = find(pid, MOCA_REC_EXIT, 0);
	struct moca_rec_exit *last = find(pid, MOCA_REC_EXIT, 1);

	if (!check(t && u && x && first && last, "exec of a thread: records",
		   "TASK %d %d EXEC %d EXIT %d %d", !!t, !!u, !!x, !!first,
		   !!last))
		return;
	check(x->old_tid == tid && x->pid == pid, "exec of a thread: who",
	      "%u instead of %u", x->old_tid, tid);
	check(!count(tid, MOCA_REC_EXIT), "exec of a thread: it lives on",
	      "it has an EXIT");
	check(first->rec.time_ns < x->rec.time_ns &&
	      x->rec.time_ns < last->rec.time_ns, "exec of a thread: order",
	      "EXIT, EXEC, EXIT is not what came");
	check(last->status == EXEC_CODE << 8, "exec of a thread: status",
	      "0x%x", last->status);
	check(!region_wrong(pid), "exec of a thread: pages", "%d of %d wrong",
	      region_wrong(pid), PAGES);
}

static void check_mapper(void)
{
	struct moca_rec_mapping *found = NULL;
	uint64_t first = 0;
	uint32_t dev = major(truth->file.st_dev) << 20 |
		       minor(truth->file.st_dev);
	int kinds = 0;

	for (size_t i = 0; i < n_events; i++) {
		struct moca_rec_mapping *m = (void *)events[i].rec;
		struct moca_rec_access *a = (void *)events[i].rec;

		if (m->rec.type == MOCA_REC_MAPPING &&
		    m->pid == (uint32_t)sub)
			kinds |= m->flags;
		if (m->rec.type == MOCA_REC_MAPPING &&
		    m->pid == (uint32_t)truth->mapper &&
		    m->start == (uintptr_t)FILE_AT)
			found = m;
		if (a->rec.type == MOCA_REC_ACCESS && !first &&
		    a->addr == (uintptr_t)FILE_AT &&
		    a->pid == (uint32_t)truth->mapper)
			first = a->rec.time_ns;
	}
	check((kinds & 15) == (MOCA_MAPF_STACK | MOCA_MAPF_HEAP |
			       MOCA_MAPF_FILE | MOCA_MAPF_SHARED),
	      "mappings: all kinds", "flags 0x%x", kinds);
	if (!check(found && first, "mapping of a file", "%s of it",
		   found ? "no access" : "no record"))
		return;
	check(found->end == (uintptr_t)FILE_AT + 4 * PAGE &&
	      found->offset == 3 * PAGE, "mapping: extent", "to 0x%llx, "
	      "offset %llu", found->end, found->offset);
	check(found->flags == (MOCA_MAPF_FILE | MOCA_MAPF_SHARED) &&
	      found->prot == (PROT_READ | PROT_WRITE), "mapping: kind",
	      "flags 0x%x, prot 0x%x", found->flags, found->prot);
	check(found->inode == truth->file.st_ino && found->dev == dev &&
	      !strcmp(found->path, "/tmp/follow.file"), "mapping: file",
	      "inode %llu, dev 0x%x instead of 0x%x, path %s", found->inode,
	      found->dev, dev, found->path);
	check(found->rec.time_ns <= first, "mapping: before its accesses",
	      "%llu ns after", found->rec.time_ns - first);
}

/* Nothing of a task comes before its TASK, nothing after its last EXIT. */
static void check_order(void)
{
	long before = 0, after = 0, tasks = 0;

	for (size_t i = 0; i < n_events; i++) {
		struct moca_rec_task *t = (void *)events[i].rec;
		size_t last = n_events;

		if (t->rec.type != MOCA_REC_TASK)
			continue;
		tasks++;
		for (size_t k = 0; k < n_events; k++) {
			struct moca_rec *r = events[k].rec;

			if (r->tid != t->rec.tid)
				continue;
			before += k < i && r->type != MOCA_REC_MAPPING;
			if (r->type == MOCA_REC_EXIT)
				last = k;
		}
		for (size_t k = last + 1; k < n_events; k++)
			after += events[k].rec->tid == t->rec.tid;
	}
	check(tasks > CHILDREN + THREADS, "tasks", "%ld only", tasks);
	check(!before, "nothing before its TASK", "%ld records", before);
	check(!after, "nothing after its EXIT", "%ld records", after);
}

static void wait_done(int step)
{
	for (int i = 0; truth->done < step; i++) {
		if (i > 20000 || waitpid(sub, NULL, WNOHANG) == sub) {
			printf("not ok subject: step %d did not end\n", step);
			exit(1);
		}
		usleep(1000);
	}
}

int main(int argc, char **argv)
{
	const struct moca_setup setup = { .flags = MOCA_SETUP_MANUAL,
					  .ring_chunks = 128 };
	const int steps = 4 + CHILDREN / BATCH;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	struct session s;
	int status;

	if (argc > 1 && !strcmp(argv[1], "image")) {
		make_region();
		touch_region();
		return EXEC_CODE;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	self[n > 0 ? n : 0] = 0;
	truth = mmap(NULL, sizeof(*truth), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	sub = fork();
	if (!sub)
		subject();
	wait_done(1);
	session_open(&s, &setup);
	if (session_register(&s, sub))
		die("REGISTER");
	session_do(&s, MOCA_IOC_START, "START");
	for (int step = 1; step <= steps; step++) {
		truth->go = step;
		wait_done(step + 1);
		session_do(&s, MOCA_IOC_TICK, "TICK");
		session_drain(&s, keep, NULL);
	}
	truth->go = steps + 1;
	waitpid(sub, &status, 0);
	session_do(&s, MOCA_IOC_STOP, "STOP");
	session_drain(&s, keep, NULL);
	qsort(events, n_events, sizeof(*events), by_time);
	check(!s.lost && !session_totals(&s).lost, "none lost", "%lu",
	      (unsigned long)s.lost);
	check_threads();
	check_children();
	check_vfork();
	check_exec();
	check_mapper();
	check_order();
	session_close(&s);
	return failures != 0;
}
