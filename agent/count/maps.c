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
#include "lib/base/maps.h"

#define KNOWN_MAX 4096

static struct { uint64_t start, end; } known[KNOWN_MAX];
static unsigned int known_count;
static atomic_flag lock = ATOMIC_FLAG_INIT;

static long raw(long nr, long a, long b, long c)
{
	long ret;

	__asm__ volatile("syscall" : "=a"(ret) : "0"(nr), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return ret;
}

static int read_raw(int fd, void *buf, size_t size)
{
	return (int)raw(SYS_read, fd, (long)buf, (long)size);
}

static void tell(const struct moca_maps_line *l)
{
	uint32_t flags = MOCA_MAP_CERTIFIED, prot = 0;

	prot |= l->readable ? PROT_READ : 0;
	prot |= l->writable ? PROT_WRITE : 0;
	prot |= l->executable ? PROT_EXEC : 0;
	if (l->shared)
		flags |= MOCA_MAP_SHARED;
	if (l->name[0] == '/')
		flags |= MOCA_MAP_FILE;
	if (l->name[0] == '[' && l->name[1] == 's' && l->name[2] == 't')
		flags |= MOCA_MAP_STACK;
	if (known_count < KNOWN_MAX) {
		known[known_count].start = l->start;
		known[known_count].end = l->end;
		__atomic_store_n(&known_count, known_count + 1,
				 __ATOMIC_RELEASE);
	}
	count_event(MOCA_CHANGE_MMAP, l->start, l->end - l->start, l->offset,
		    flags, prot, l->name);
}

static void ask(uint64_t addr)
{
	/* Below the lock: a handler's stack may be small. */
	static char buf[8192];
	struct moca_maps m = {
		.fd = (int)raw(SYS_open, (long)"/proc/self/maps",
			       O_RDONLY | O_CLOEXEC, 0),
		.read = read_raw, .buf = buf, .size = sizeof(buf),
	};
	struct moca_maps_line l;

	if (m.fd < 0)
		return;
	while (moca_maps_next(&m, &l) > 0)
		if (addr >= l.start && addr < l.end) {
			tell(&l);
			break;
		}
	raw(SYS_close, m.fd, 0, 0);
}

void count_mapping(uint64_t addr)
{
	/* Pairs with tell(): these are written. */
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
