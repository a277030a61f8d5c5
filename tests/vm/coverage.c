// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Every page that is touched in an interval has its record, whatever kind of
 * memory it is: heap, main stack, .bss, files (shared, private, read only),
 * shared memory, huge pages; touched by the program, or by the kernel for it.
 * Both the first touches and those after an injection.
 */
#include <sys/stat.h>
#include <sys/uio.h>

#include "session.h"

#define PAGES 192
#define ROUNDS 8
#define HUGE (2ul << 20)

enum { NONE, READ, WRITE, SYS_WRITE, SYS_READ, WAYS };

static char bss[PAGES * PAGE] __attribute__((aligned(4096)));

struct kind {
	const char *name;
	int writable;
	char *(*make)(void);
	char *base;
	unsigned char plan[PAGES];
	int seen[PAGES];
	long expected, missed, type, kernel, swept, extra, firsts, not_first;
};

static int file_of(const char *name)
{
	int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
	char page[PAGE];

	memset(page, 3, sizeof(page));
	for (int i = 0; i < PAGES; i++)
		if (write(fd, page, PAGE) != PAGE)
			die(name);
	return fd;
}

static char *map(int fd, int prot, int flags)
{
	char *m = mmap(NULL, PAGES * PAGE, prot, flags, fd, 0);

	if (m == MAP_FAILED)
		die("mmap");
	return m;
}

static char *make_anon(void)
{
	return map(-1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
}

static char *make_shared(void)
{
	return map(-1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
}

static char *make_heap(void)
{
	char *b = sbrk(0);

	sbrk((PAGES + 2) * PAGE);
	return (char *)(((uintptr_t)b + PAGE) & -PAGE);
}

static char *make_bss(void)
{
	return bss;
}

static char *make_file_shared(void)
{
	return map(file_of("shared"), PROT_READ | PROT_WRITE, MAP_SHARED);
}

static char *make_file_private(void)
{
	return map(file_of("private"), PROT_READ | PROT_WRITE, MAP_PRIVATE);
}

static char *make_file_read(void)
{
	return map(file_of("read"), PROT_READ, MAP_SHARED);
}

static char *make_huge(void)
{
	char *m = mmap(NULL, 2 * HUGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	m = (char *)(((uintptr_t)m + HUGE - 1) & -HUGE);
	madvise(m, HUGE, MADV_HUGEPAGE);
	memset(m, 1, HUGE);
	return m;
}

static struct kind kinds[] = {
	{ "anonymous", 1, make_anon, .base = NULL },
	{ "shared memory", 1, make_shared, .base = NULL },
	{ "heap", 1, make_heap, .base = NULL },
	{ "bss", 1, make_bss, .base = NULL },
	{ "shared file", 1, make_file_shared, .base = NULL },
	{ "private file", 1, make_file_private, .base = NULL },
	{ "read-only file", 0, make_file_read, .base = NULL },
	{ "huge page", 1, make_huge, .base = NULL },
	{ "main stack", 1, NULL, .base = NULL },
};
#define KINDS (sizeof(kinds) / sizeof(*kinds))

static int zero, null;

static void touch(char *p, int how)
{
	switch (how) {
	case READ:
		(void)*(volatile char *)p;
		break;
	case WRITE:
		*(volatile char *)p = 1;
		break;
	case SYS_WRITE:		/* the kernel writes into it */
		if (read(zero, p, 1) != 1)
			die("read");
		break;
	case SYS_READ: {
		struct iovec v = { p, 1 };

		/* Of /dev/null nothing is read: a pipe does. */
		if (writev(null, &v, 1) != 1)
			die("write");
		break;
	}
	}
}

static void look(void *arg, const struct moca_chunk_head *h,
		 const struct moca_rec *rec)
{
	const struct moca_rec_access *a = (const void *)rec;
	int round = *(int *)arg;

	if (rec->type != MOCA_REC_ACCESS)
		return;
	for (struct kind *k = kinds; k < kinds + KINDS; k++) {
		uint64_t i = (a->addr - (uintptr_t)k->base) / PAGE;
		int how;

		if (a->addr < (uintptr_t)k->base || i >= PAGES)
			continue;
		how = k->plan[i];
		if (how == NONE) {
			k->extra++;
			return;
		}
		/* What a write does after a fault for reading is told, too. */
		if (k->seen[i]++)
			return;
		k->swept += !!(a->flags & MOCA_ACC_SWEPT);
		k->type += !(a->flags & MOCA_ACC_WRITE) !=
			   (how == READ || how == SYS_READ);
		k->kernel += !(a->flags & MOCA_ACC_KERNEL) !=
			     (how == READ || how == WRITE);
		if (round == 0)
			k->firsts++;
	}
}

static void round_of(struct session *s, int round)
{
	char c[PAGES * KINDS];
	int pipes[2];

	if (pipe(pipes))
		die("pipe");
	null = pipes[1];
	for (struct kind *k = kinds; k < kinds + KINDS; k++)
		for (int i = 0; i < PAGES; i++) {
			k->seen[i] = 0;
			k->plan[i] = rand() % 3 ? NONE : 1 + rand() % (WAYS - 1);
			if (!k->writable && k->plan[i] == WRITE)
				k->plan[i] = READ;
			if (!k->writable && k->plan[i] == SYS_WRITE)
				k->plan[i] = SYS_READ;
		}
	memset(c, 0, sizeof(c));
	session_do(s, MOCA_IOC_TICK, "TICK");
	session_drain(s, NULL, NULL);
	for (struct kind *k = kinds; k < kinds + KINDS; k++)
		for (int i = 0; i < PAGES; i++)
			touch(k->base + i * PAGE + i % 64, k->plan[i]);
	session_do(s, MOCA_IOC_TICK, "TICK");
	session_drain(s, look, &round);
	for (struct kind *k = kinds; k < kinds + KINDS; k++)
		for (int i = 0; i < PAGES; i++) {
			k->expected += k->plan[i] != NONE;
			k->missed += k->plan[i] != NONE && !k->seen[i];
		}
	close(pipes[0]);
	close(pipes[1]);
}

static void judge(const struct kind *k)
{
	char name[64];

	snprintf(name, sizeof(name), "%s: all seen", k->name);
	check(!k->missed && k->expected > PAGES, name, "%ld of %ld missed",
	      k->missed, k->expected);
	snprintf(name, sizeof(name), "%s: by whom", k->name);
	check(!k->swept, name, "%ld found by sweeps", k->swept);
	snprintf(name, sizeof(name), "%s: read or write", k->name);
	check(!k->type, name, "%ld of %ld wrong", k->type, k->expected);
	snprintf(name, sizeof(name), "%s: user or kernel", k->name);
	check(!k->kernel, name, "%ld of %ld wrong", k->kernel, k->expected);
	snprintf(name, sizeof(name), "%s: nothing else", k->name);
	check(!k->extra, name, "%ld more", k->extra);
}

int main(int argc, char **argv)
{
	const struct moca_setup setup = { .flags = MOCA_SETUP_MANUAL };
	char stack[(PAGES + 1) * PAGE];
	struct session s;

	setvbuf(stdout, NULL, _IOLBF, 0);
	srand(argc > 1 ? atoi(argv[1]) : 1);
	if (chdir("/tmp"))
		die("/tmp");
	zero = open("/dev/zero", O_RDONLY);
	session_open(&s, &setup);
	if (session_register(&s, getpid()))
		die("REGISTER");
	for (struct kind *k = kinds; k < kinds + KINDS; k++)
		k->base = k->make ? k->make() :
			  (char *)(((uintptr_t)stack + PAGE - 1) & -PAGE);
	session_do(&s, MOCA_IOC_START, "START");
	for (int r = 0; r < ROUNDS; r++)
		round_of(&s, r);
	for (const struct kind *k = kinds; k < kinds + KINDS; k++)
		judge(k);
	check(!session_totals(&s).lost, "none lost", "some");
	session_close(&s);
	return failures != 0;
}
