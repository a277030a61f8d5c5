// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/ptrace/inject.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "collect/ptrace/event.h"
#include "collect/ptrace/frames.h"
#include "collect/ptrace/maps.h"
#include "include/abi/static-agent.h"
#include "lib/code/allocators.h"
#include "lib/code/relocate.h"
#include "lib/code/symfile.h"

#define PAGE 4096ull

#define FSGSBASE 2		/* in AT_HWCAP2 */
#define BELOW_STACK 32768	/* where the setup waits */

extern const uint8_t moca_static_agent[], moca_static_agent_end[];

/* One function that is to be changed. */
struct target {
	const struct moca_allocator *allocator;
	struct moca_code code;
	struct moca_prologue prologue;
	const char *why;
};

struct injection {
	struct recorder *rec;
	struct tracee_calls *calls;
	struct moca_symfile file;
	struct moca_zydis zydis;
	uint64_t base;
	const Elf64_Phdr *text;
	uint8_t *bytes;			/* of text */
	struct target targets[MOCA_STATIC_HOOKS];
	unsigned int count;
	/* Near the text, in the program: stubs, then the table of frames. */
	uint64_t near, near_len;
	uint8_t *frames;
	size_t frames_len;
	struct moca_static_setup setup;
	char *why;			/* "", or what will not be seen */
	size_t why_size;
};

static int put(struct injection *in, uint64_t addr, const void *p, size_t len)
{
	struct iovec local = { (void *)p, len }, there = { (void *)addr, len };
	ssize_t n;

	n = process_vm_writev(in->calls->task->tid, &local, 1, &there, 1, 0);
	return n == (ssize_t)len ? 0 : n < 0 ? -errno : -EFAULT;
}

/* --- what the program is ------------------------------------------------- */

/* 1: it is a static one, opened; 0: it is not. */
static int open_program(struct injection *in)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/exe", in->calls->task->tid);
	if (moca_symfile_open(&in->file, path))
		return 0;
	for (unsigned int i = 0; i < in->file.head.e_phnum; i++) {
		const Elf64_Phdr *p = &in->file.phdrs[i];

		if (p->p_type == PT_INTERP)
			goto no;
		if (p->p_type == PT_LOAD && p->p_flags & PF_X &&
		    p->p_flags & PF_R && !(p->p_flags & PF_W) && !in->text)
			in->text = p;
	}
	if (in->text)
		return 1;
no:
	moca_symfile_close(&in->file);
	return 0;
}

/* in->base, from what the kernel says behind the environment. 0 or -errno. */
static int find_base(struct injection *in)
{
	uint64_t at = in->calls->saved.rsp, word, zeros = 0, pair[2];
	pid_t tid = in->calls->task->tid;

	for (at += 8; zeros < 2; at += 8) {
		if (tracee_read(tid, at, &word, 8) != 8)
			return -EFAULT;
		zeros += !word;
	}
	for (;; at += 16) {
		if (tracee_read(tid, at, pair, 16) != 16 || !pair[0])
			return -EFAULT;
		if (pair[0] == AT_ENTRY) {
			in->base = pair[1] - in->file.head.e_entry;
			return 0;
		}
	}
}

static int read_text(struct injection *in)
{
	size_t len = in->text->p_filesz;

	in->bytes = malloc(len);
	if (!in->bytes)
		return -ENOMEM;
	return tracee_read(in->calls->task->tid, in->base + in->text->p_vaddr,
			   in->bytes, len) == (ssize_t)len ? 0 : -EFAULT;
}

/* --- its allocators --------------------------------------------------------- */

static int code_of(const struct injection *in, const Elf64_Sym *sym,
		   struct moca_code *c)
{
	const Elf64_Phdr *p = in->text;
	uint64_t at = sym->st_value - p->p_vaddr;

	if (!sym->st_size || sym->st_value < p->p_vaddr ||
	    at > p->p_filesz || sym->st_size > p->p_filesz - at ||
	    ELF64_ST_TYPE(sym->st_info) != STT_FUNC)
		return -1;
	*c = (struct moca_code){ in->bytes + at, sym->st_size,
				 in->base + sym->st_value };
	return 0;
}

/* Static programs run no destructors of the agent's. */
static const struct moca_allocator exits = {
	"exit", { MOCA_ROLE_EXIT, -1, -1, -1, -1 }
};

static const struct moca_allocator *named(const char *name, size_t len)
{
	const struct moca_allocator *a;

	if (len == 4 && !memcmp(name, exits.name, 4))
		return &exits;
	for (a = moca_allocators; a->name; a++)
		if (!strncmp(a->name, name, len) && !a->name[len])
			return a;
	return NULL;
}

static void find_target(void *arg, const char *name, size_t len,
			const Elf64_Sym *sym)
{
	const struct moca_allocator *a = named(name, len);
	struct injection *in = arg;
	struct moca_code c;
	struct target *t;

	if (!a || code_of(in, sym, &c))
		return;
	if (a->role.kind == MOCA_ROLE_USABLE) {
		in->setup.usable = c.addr;
		return;
	}
	for (unsigned int i = 0; i < in->count; i++)
		if (in->targets[i].code.addr == c.addr)
			return;
	if (in->count == MOCA_STATIC_HOOKS)
		return;
	t = &in->targets[in->count];
	t->allocator = a;
	t->code = c;
	t->why = NULL;
	moca_prologue_find(&in->zydis, &c, &t->prologue, &t->why);
	in->count++;
}

static void find_cold(void *arg, const char *name, size_t len,
		      const Elf64_Sym *sym)
{
	const char *dot = memchr(name, '.', len);
	struct injection *in = arg;
	const struct moca_allocator *a;
	struct moca_code c;

	a = dot ? named(name, (size_t)(dot - name)) : NULL;
	if (!a || code_of(in, sym, &c))
		return;
	for (unsigned int i = 0; i < in->count; i++) {
		struct target *t = &in->targets[i];

		if (t->allocator == a && !t->why)
			moca_prologue_avoided(&in->zydis, &c, &t->code,
					      &t->prologue, &t->why);
	}
}

/*
 * Exceptions cannot leave a function that the agent has called, as the program
 * does not know the agent's frames. So these are seen by what they call.
 */
static int throws(const struct moca_allocator *a)
{
	return !strncmp(a->name, "_Zn", 3) && !strstr(a->name, "nothrow");
}

static int is_target(const struct injection *in, uint64_t addr)
{
	for (unsigned int i = 0; i < in->count; i++)
		if (in->targets[i].code.addr == addr)
			return 1;
	return 0;
}

static int calls_another(const struct injection *in, const struct moca_code *c)
{
	ZydisDecodedInstruction insn;

	for (size_t at = 0; at < c->len; at += insn.length) {
		if (moca_zydis_decode(&in->zydis, c->bytes + at, c->len - at,
				      &insn))
			return 0;
		if (insn.raw.imm[0].is_relative &&
		    is_target(in, c->addr + at + insn.length +
					  (uint64_t)insn.raw.imm[0].value.s))
			return 1;
	}
	return 0;
}

/* Says of one of them why its allocations will not be seen; else nothing. */
static void leave_out_throwing(struct injection *in)
{
	for (unsigned int i = 0; i < in->count; i++) {
		struct target *t = &in->targets[i];

		if (throws(t->allocator))
			t->why = "it throws";
		if (t->why && t->allocator != &exits &&
		    !calls_another(in, &t->code))
			snprintf(in->why, in->why_size, "%s cannot be changed: "
				 "%s", t->allocator->name, t->why);
	}
}

/* --- memory for it ---------------------------------------------------------- */

/* A free range that ends below the text, within reach of all of it. */
static uint64_t find_near(struct injection *in, uint64_t len)
{
	uint64_t text = in->base + in->text->p_vaddr;
	uint64_t lowest = 1 << 16, last = lowest, found = 0;
	struct vma_list l;

	if (text + in->text->p_memsz > 0x70000000 + lowest)
		lowest = text + in->text->p_memsz - 0x70000000;
	if (maps_read(in->calls->task->tid, &l))
		return 0;
	for (size_t i = 0; i < l.count; i++) {
		uint64_t start = l.items[i].start;

		if (start > text)
			break;
		if (start >= last + len && start - len >= lowest)
			found = start - len;
		last = l.items[i].end > lowest ? l.items[i].end : lowest;
	}
	maps_free(&l);
	return found;
}

static int map(struct injection *in, uint64_t at, uint64_t len, uint64_t *got)
{
	int err = 0;
	long ret = tracee_call(in->calls, &err, SYS_mmap, at, len,
			       PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS |
				       (at ? MAP_FIXED_NOREPLACE : 0), -1, 0);

	if (err)
		return err;
	*got = (uint64_t)ret;
	if (ret < 0 && ret >= -4095)
		return (int)ret;
	/* Not moved to the memfd, nor looked at: it is ours. */
	task_event(in->rec, in->calls->task, MOCA_CHANGE_MMAP, *got, len, 0,
		   PROT_READ | PROT_WRITE, MOCA_MAP_MOCA,
		   "libmoca-alloc.so (static)");
	return at && at != *got ? -EEXIST : 0;
}

/* The agent's image, as the kernel would map the file. */
static int map_agent(struct injection *in, uint64_t *entry)
{
	const Elf64_Ehdr *e = (const Elf64_Ehdr *)moca_static_agent;
	const Elf64_Phdr *p = (const void *)(moca_static_agent + e->e_phoff);
	uint64_t span = 0, at = 0;
	int err;

	for (int i = 0; i < e->e_phnum; i++)
		if (p[i].p_type == PT_LOAD)
			span = PAGE_UP(p[i].p_vaddr + p[i].p_memsz);
	err = map(in, 0, span, &at);
	for (int i = 0; i < e->e_phnum && !err; i++) {
		uint64_t start = p[i].p_vaddr & -PAGE;
		int prot = p[i].p_flags & PF_X ? PROT_READ | PROT_EXEC :
						 PROT_READ;

		if (p[i].p_type != PT_LOAD)
			continue;
		err = put(in, at + p[i].p_vaddr,
			  moca_static_agent + p[i].p_offset, p[i].p_filesz);
		if (!err && !(p[i].p_flags & PF_W) &&
		    tracee_call(in->calls, &err, SYS_mprotect, at + start,
				PAGE_UP(p[i].p_vaddr + p[i].p_memsz) - start,
				prot, 0, 0, 0) && !err)
			err = -EACCES;
	}
	*entry = at + e->e_entry;
	return err;
}

/* --- putting it there --------------------------------------------------------- */

static const uint8_t stub_code[16] = {
	0xff, 0x35, 10, 0, 0, 0,	/* push context(%rip) */
	0xff, 0x25, 12, 0, 0, 0,	/* jmp *thunk(%rip) */
	0xcc, 0xcc, 0xcc, 0xcc,
};

static int make_hook(struct injection *in, const struct target *t)
{
	struct moca_static_hook *h = &in->setup.hooks[in->setup.hook_count];
	uint64_t at = in->near +
		      in->setup.hook_count * sizeof(struct moca_static_stub);
	struct moca_static_stub stub = {
		.endbr64 = { 0xf3, 0x0f, 0x1e, 0xfa },
	};
	const char *why;
	int err;

	_Static_assert(sizeof(stub.original) >= MOCA_RELOCATED_MAX - 4, "room");
	if (t->prologue.end - t->prologue.start > 16 + MOCA_JUMP)
		return -ENOTSUP;
	memcpy(stub.code, stub_code, sizeof(stub_code));
	err = moca_prologue_move(&in->zydis, &t->code, &t->prologue,
				 at + offsetof(struct moca_static_stub, original),
				 stub.original, &why);
	if (err < 0)
		return err;
	h->at = t->code.addr + t->prologue.start;
	h->original = at + offsetof(struct moca_static_stub, endbr64);
	h->role = t->allocator->role;
	snprintf(h->name, sizeof(h->name), "%s", t->allocator->name);
	err = moca_jump_write(h->jump, h->at, at);
	if (!err)
		err = put(in, at, &stub, sizeof(stub));
	if (!err)
		in->setup.hook_count++;
	return err;
}

/* .eh_frame, which is in the program's memory as well. */
static void make_frames(struct injection *in, uint64_t to)
{
	Elf64_Shdr s;
	uint8_t *p;

	if (moca_symfile_section(&in->file, ".eh_frame", &s) ||
	    s.sh_size > in->file.len)
		return;
	p = malloc(s.sh_size);
	if (p && tracee_read(in->calls->task->tid, in->base + s.sh_addr, p,
			     s.sh_size) == (ssize_t)s.sh_size)
		in->frames = moca_frames_table(p, s.sh_size,
					       in->base + s.sh_addr, to,
					       &in->frames_len);
	free(p);
}

/* A table's size does not depend on where it is. */
static int map_near(struct injection *in)
{
	uint64_t stubs = PAGE_UP(in->count * sizeof(struct moca_static_stub));
	uint64_t got;
	int err;

	make_frames(in, in->base + in->text->p_vaddr);
	in->near_len = stubs + PAGE_UP(in->frames_len);
	in->near = find_near(in, in->near_len);
	if (!in->near)
		return -ENOMEM;
	err = map(in, in->near, in->near_len, &got);
	if (err || !in->frames)
		return err;
	free(in->frames);
	in->frames = NULL;
	make_frames(in, in->near + stubs);
	if (!in->frames)
		return 0;
	in->setup.frames = in->near + stubs;
	return put(in, in->near + stubs, in->frames, in->frames_len);
}

static void describe(struct injection *in)
{
	struct moca_static_setup *s = &in->setup;
	const Elf64_Ehdr *e = &in->file.head;

	s->entry = in->base + e->e_entry;
	s->base = in->base;
	s->code = in->base + in->text->p_vaddr;
	s->code_end = s->code + in->text->p_memsz;
	s->code_offset = in->text->p_offset;
	s->low = in->near;
	s->high = s->code_end;
	for (unsigned int i = 0; i < e->e_phnum; i++) {
		const Elf64_Phdr *p = &in->file.phdrs[i];
		uint64_t end = in->base + p->p_vaddr + p->p_filesz;

		if (p->p_type != PT_LOAD)
			continue;
		if (s->high < end)
			s->high = end;
		if (e->e_phoff >= p->p_offset &&
		    e->e_phoff < p->p_offset + p->p_filesz) {
			s->phdrs = in->base + p->p_vaddr + e->e_phoff -
				   p->p_offset;
			s->phdr_count = e->e_phnum;
		}
	}
}

static int inject(struct injection *in)
{
	uint64_t setup = (in->calls->saved.rsp - BELOW_STACK) & -64ull, entry;
	int err = read_text(in);

	if (!err)
		err = moca_symfile_walk(&in->file, find_target, in);
	if (!err && in->count)
		err = moca_symfile_walk(&in->file, find_cold, in);
	if (!err && !in->count)
		err = -ENOSYS;
	if (err)
		return err;
	leave_out_throwing(in);
	err = map_near(in);
	for (unsigned int i = 0; i < in->count && !err; i++)
		if (!in->targets[i].why)
			err = make_hook(in, &in->targets[i]);
	if (!err)
		err = map_agent(in, &entry);
	if (err)
		return err;
	describe(in);
	err = put(in, setup, &in->setup, sizeof(in->setup));
	if (err)
		return err;
	in->calls->saved.rip = entry;
	in->calls->saved.rdi = setup;
	return 0;
}

int moca_inject_static(struct recorder *rec, struct tracee_calls *c, char *why,
		       size_t size)
{
	struct injection *in;
	int err = 0, done = 0;

	why[0] = 0;
	in = calloc(1, sizeof(*in));
	if (!in)
		return -ENOMEM;
	in->rec = rec;
	in->calls = c;
	in->why = why;
	in->why_size = size;
	if (!open_program(in))
		goto out;
	if (!(getauxval(AT_HWCAP2) & FSGSBASE)) {
		snprintf(why, size, "this CPU or kernel has no FSGSBASE");
	} else if (moca_zydis_open(&in->zydis)) {
		snprintf(why, size, "libZydis is not there");
	} else {
		err = find_base(in);
		if (!err)
			err = inject(in);
		done = !err;
		moca_zydis_close(&in->zydis);
	}
	/* What goes wrong is not the program's fault: it goes on without. */
	if (err && err != -ESRCH) {
		snprintf(why, size, "%s", err == -ENOSYS ?
			 "it has no symbols of its allocators" : strerror(-err));
		err = 0;
	}
	moca_symfile_close(&in->file);
out:
	free(in->frames);
	free(in->bytes);
	free(in);
	return err ? err : done;
}
