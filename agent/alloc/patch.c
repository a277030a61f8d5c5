// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Memory is never writable and executable at a time. What is changed may be the
 * page that libc's own calls are in: between the two mprotects, nothing outside
 * of this file is called.
 */
#include "agent/alloc/patch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/alloc/call.h"
#include "lib/base/blockable.h"
#include "lib/base/maps.h"

#define PAGE 4096ull
#define REACH (1ull << 31)
#define MARGIN (1ull << 20)	/* so that all of both ends is within reach */
#define LOWEST (1ull << 16)	/* as of vm.mmap_min_addr */
/* push context; jmp *hook; both from memory behind. */
#define STUB_LEN 32
#define SLOT_LEN ((STUB_LEN + 4 + MOCA_RELOCATED_MAX + 15) & ~15u)

static int protect(uint64_t addr, uint64_t len, int prot)
{
	return (int)alloc_call(SYS_mprotect, (long)addr, (long)len, prot, 0, 0,
			       0);
}

int moca_patch_alone(void)
{
	struct stat st;

	if (stat("/proc/self/task", &st))
		return -errno;
	return st.st_nlink == 3;	/* ".", its parent's, and one thread's */
}

/* --- memory near a function ------------------------------------------- */

static int read_maps(int fd, void *buf, size_t size)
{
	ssize_t n;

	do
		n = read(fd, buf, size);
	while (n < 0 && errno == EINTR);
	return (int)n;
}

/*
 * A free page within reach of addr: the next one below, as the program's heap
 * grows above; else the last one above. 0: none.
 */
static uint64_t find_free(uint64_t addr)
{
	char buf[1024];
	struct moca_maps m = {
		.fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC),
		.read = read_maps, .buf = buf, .size = sizeof(buf),
	};
	struct moca_maps_line l;
	uint64_t last = LOWEST, found = 0;
	uint64_t lowest = addr > REACH - MARGIN ? addr - REACH + MARGIN : LOWEST;
	uint64_t highest = addr + REACH - MARGIN;

	if (m.fd < 0)
		return 0;
	while (moca_maps_next(&m, &l) > 0) {
		if (l.start >= last + PAGE && l.start - PAGE >= lowest &&
		    l.start <= addr)
			found = l.start - PAGE;
		if (!found && l.start > addr && last < highest &&
		    l.start >= last + PAGE)
			found = (l.start < highest ? l.start :
						     highest & -PAGE) - PAGE;
		last = l.end > LOWEST ? l.end : LOWEST;
	}
	close(m.fd);
	return found;
}

/* A place of SLOT_LEN bytes, not executable at the moment. NULL: none. */
static struct moca_near *take_near(struct moca_patcher *pa, uint64_t addr,
				   const char **why)
{
	struct moca_near *n;
	uint64_t at;

	for (unsigned int i = 0; i < pa->near_count; i++) {
		n = &pa->near[i];
		at = n->addr > addr ? n->addr - addr : addr - n->addr;
		if (at >= REACH - MARGIN ||
		    n->used + SLOT_LEN > MOCA_NEAR_SIZE)
			continue;
		if (!protect(n->addr, MOCA_NEAR_SIZE, PROT_READ | PROT_WRITE))
			return n;
	}
	*why = "there is no free memory near it";
	at = pa->near_count < MOCA_NEAR_MAX ? find_free(addr) : 0;
	if (!at || mmap((void *)at, MOCA_NEAR_SIZE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
			0) != (void *)at)
		return NULL;
	n = &pa->near[pa->near_count++];
	n->addr = at;
	n->used = 0;
	return n;
}

/* The stub that leads to the hook, and the function's first instructions. */
static int write_slot(struct moca_patcher *pa, const struct moca_code *c,
		      const struct moca_prologue *p, uint64_t at,
		      const void *hook, const void *context, const char **why)
{
	static const uint8_t stub[STUB_LEN] = {
		0xff, 0x35, 10, 0, 0, 0,	/* push context(%rip) */
		0xff, 0x25, 12, 0, 0, 0,	/* jmp *hook(%rip) */
		0xcc, 0xcc, 0xcc, 0xcc,
	};
	static const uint8_t endbr64[4] = { 0xf3, 0x0f, 0x1e, 0xfa };
	uint8_t *out = (uint8_t *)at;
	int n;

	memcpy(out, stub, sizeof(stub));
	memcpy(out + 16, &context, 8);
	memcpy(out + 24, &hook, 8);
	memcpy(out + STUB_LEN, endbr64, sizeof(endbr64));
	n = moca_prologue_move(&pa->zydis, c, p,
			       at + STUB_LEN + sizeof(endbr64),
			       out + STUB_LEN + sizeof(endbr64), why);
	return n < 0 ? n : 0;
}

/* --- the function itself ---------------------------------------------- */

/* In one store if its eight bytes are aligned ones. */
static void store(uint64_t at, const uint8_t *jump)
{
	uint64_t word = at & ~7ull, value;

	if (at + MOCA_JUMP <= word + 8) {
		value = *(volatile uint64_t *)word;
		for (unsigned int i = 0; i < MOCA_JUMP; i++) {
			unsigned int bit = ((unsigned int)(at - word) + i) * 8;

			value &= ~(0xffull << bit);
			value |= (uint64_t)jump[i] << bit;
		}
		__atomic_store_n((uint64_t *)word, value, __ATOMIC_SEQ_CST);
		return;
	}
	for (unsigned int i = 0; i < MOCA_JUMP; i++)
		*(volatile uint8_t *)(at + i) = jump[i];
}

/* Security policies may refuse to execute what was changed: then from disk. */
static int make_executable(uint64_t start, uint64_t len,
			   const struct moca_patched_file *f)
{
	int err = protect(start, len, f->prot);

	if (err)
		alloc_call(SYS_mmap, (long)start, (long)len, f->prot,
			   MAP_PRIVATE | MAP_FIXED, f->fd,
			   (long)(f->offset + (start - f->addr)));
	return err;
}

static int write_jump(uint64_t at, const uint8_t *jump,
		      const struct moca_patched_file *f)
{
	uint64_t start = at & -PAGE, all = moca_blockable(), old;
	uint64_t len = ((at + MOCA_JUMP + PAGE - 1) & -PAGE) - start;
	int err;

	alloc_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&all, (long)&old, 8,
		   0, 0);
	err = protect(start, len, PROT_READ | PROT_WRITE);
	if (!err) {
		store(at, jump);
		err = make_executable(start, len, f);
	}
	alloc_call(SYS_rt_sigprocmask, SIG_SETMASK, (long)&old, 0, 8, 0, 0);
	return err;
}

int moca_patch(struct moca_patcher *pa, const struct moca_code *c,
	       const struct moca_prologue *p,
	       const struct moca_patched_file *file, const void *hook,
	       const void *context, const void **original, const char **why)
{
	uint8_t jump[MOCA_JUMP];
	struct moca_near *n;
	uint64_t slot;
	int err, no;

	if (moca_patch_alone() != 1) {
		*why = "other threads are running";
		return -EBUSY;
	}
	n = take_near(pa, c->addr, why);
	if (!n)
		return -ENOMEM;
	slot = n->addr + n->used;
	err = write_slot(pa, c, p, slot, hook, context, why);
	if (!err)
		n->used += SLOT_LEN;
	/* Where new code is refused, it is so here, and nothing has changed. */
	no = protect(n->addr, MOCA_NEAR_SIZE, PROT_READ | PROT_EXEC);
	if (err)
		return err;
	*why = "the kernel refuses to execute changed memory";
	if (no)
		return no;
	err = moca_jump_write(jump, c->addr + p->start, slot);
	if (err)
		return err;
	*original = (const void *)(slot + STUB_LEN);
	return write_jump(c->addr + p->start, jump, file);
}
