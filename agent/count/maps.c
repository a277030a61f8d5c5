// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * What lies where an address is first touched, for the trace: libraries call
 * mmap() uncounted, so the kernel is asked. Called amid anything: no library call.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <moca/types.h>

#include "agent/count/counters.h"

#define KNOWN_MAX 4096
#define LINE_MAX_BYTES 512

static struct { uint64_t start, end; } known[KNOWN_MAX];
static unsigned int known_count;
static atomic_flag lock = ATOMIC_FLAG_INIT;
/* Below the lock: a handler's stack may be small. */
static char chunk[4096], line[LINE_MAX_BYTES];

static long raw(long nr, long a, long b, long c)
{
	long ret;

	__asm__ volatile("syscall" : "=a"(ret) : "0"(nr), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return ret;
}

static const char *number(const char *p, uint64_t *n)
{
	*n = 0;
	for (;; p++) {
		if (*p >= '0' && *p <= '9')
			*n = *n << 4 | (uint64_t)(*p - '0');
		else if (*p >= 'a' && *p <= 'f')
			*n = *n << 4 | (uint64_t)(*p - 'a' + 10);
		else
			return p;
	}
}

static const char *next_word(const char *p)
{
	while (*p && *p != ' ')
		p++;
	while (*p == ' ')
		p++;
	return p;
}

/* "START-END rwxp OFFSET DEV INODE NAME". Whether addr is in it. */
static bool tell_line(uint64_t addr)
{
	uint32_t flags = MOCA_MAP_CERTIFIED, prot = 0;
	uint64_t start, end, offset;
	const char *p, *mode;

	p = number(line, &start);
	p = number(p + (*p == '-'), &end);
	if (addr < start || addr >= end)
		return false;
	mode = next_word(p);
	p = next_word(mode);
	number(p, &offset);
	p = next_word(next_word(next_word(p)));
	prot |= mode[0] == 'r' ? PROT_READ : 0;
	prot |= mode[1] == 'w' ? PROT_WRITE : 0;
	prot |= mode[2] == 'x' ? PROT_EXEC : 0;
	if (mode[3] == 's')
		flags |= MOCA_MAP_SHARED;
	if (*p == '/')
		flags |= MOCA_MAP_FILE;
	if (p[0] == '[' && p[1] == 's' && p[2] == 't')
		flags |= MOCA_MAP_STACK;
	if (known_count < KNOWN_MAX) {
		known[known_count].start = start;
		known[known_count].end = end;
		__atomic_store_n(&known_count, known_count + 1,
				 __ATOMIC_RELEASE);
	}
	count_event(MOCA_CHANGE_MMAP, start, end - start, offset, flags, prot, p);
	return true;
}

static void ask(uint64_t addr)
{
	long fd = raw(SYS_open, (long)"/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);
	unsigned int len = 0;
	bool found = false;
	long n, i;

	if (fd < 0)
		return;
	while (!found && (n = raw(SYS_read, fd, (long)chunk, sizeof(chunk))) > 0)
		for (i = 0; i < n && !found; i++) {
			if (chunk[i] != '\n') {
				if (len < LINE_MAX_BYTES - 1)
					line[len++] = chunk[i];
				continue;
			}
			line[len] = 0;
			len = 0;
			found = tell_line(addr);
		}
	raw(SYS_close, fd, 0, 0);
}

void count_mapping(uint64_t addr)
{
	/* Pairs with tell_line(): these are written. */
	unsigned int n = __atomic_load_n(&known_count, __ATOMIC_ACQUIRE), i;

	/* The last ones are the likeliest. */
	for (i = n; i-- > 0;)
		if (addr >= known[i].start && addr < known[i].end)
			return;
	/* Another thread, or what this handler interrupted, is at it. */
	if (n == KNOWN_MAX ||
	    atomic_flag_test_and_set_explicit(&lock, memory_order_acquire))
		return;
	ask(addr);
	atomic_flag_clear_explicit(&lock, memory_order_release);
}
