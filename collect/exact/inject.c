// SPDX-License-Identifier: GPL-2.0-or-later
/* Putting the agent into a new program image, at the end of its execve. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "collect/exact/collector.h"
#include "collect/ptrace/event.h"
#include "collect/ptrace/maps.h"
#include "collect/ptrace/preload.h"
#include "collect/ptrace/supervisor.h"
#include "collect/ptrace/tasks.h"
#include "collect/ptrace/tracee.h"
#include "collect/ptrace/vdso.h"
#include "collect/run/own.h"
#include "collect/run/queue.h"
#include "lib/base/err.h"
#include "lib/base/proc.h"

/* More than the translator maps, with which it raises the soft limit. */
#define DATA_ROOM (4ull << 30)
#define CS_32BIT 0x23
#define FSGSBASE 2		/* in AT_HWCAP2 */
#define UNHARVESTED_MAX 1000	/* tasks: a quarter of the slots */
#define PAGE 4096ull
#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif
/*
 * Where the arena goes if nothing is there: below all that the kernel places,
 * so that the program's own mappings come where they would without it, and
 * above what programs map at addresses of their own: AddressSanitizer's shadow
 * memory, that of Go's race detector, heaps of mimalloc, ZGC and clisp.
 */
#define ARENA_PLACE 0x320000000000ull
#define ARENA_NAME "moca-exact"
/* What translated code is near to, and it, lie below: it reaches no farther than 2 GiB. */
#define HEAP_PLACE 0x80000000ull
/* How the trace names memory of ours. */
#define OUR_NAME "/memfd:" ARENA_NAME

struct injection {
	struct recorder *rec;
	struct task *task;
	struct tracee_calls calls;
	uint64_t insn;		/* a syscall instruction */
	int err;		/* of the tracing itself */
	struct exact_image agent, zydis;
	struct exact_counting own;	/* setup 0: it does not count itself */
	uint64_t code, code_len;	/* agent, setup, Zydis */
	uint64_t arena;
	struct moca_exact_setup setup;
};

/* A system call of the program. Its result; 0 when in->err is set. */
static long call(struct injection *in, long nr, uint64_t a, uint64_t b,
		 uint64_t c, uint64_t d, uint64_t e, uint64_t f)
{
	const uint64_t args[6] = { a, b, c, d, e, f };
	long ret = 0;

	if (!in->err)
		in->err = tracee_raw_call(&in->calls, in->insn, nr, args, &ret);
	return in->err ? 0 : ret;
}

static int put(struct injection *in, uint64_t addr, const void *p, size_t len)
{
	struct iovec local = { (void *)p, len }, there = { (void *)addr, len };
	ssize_t n;

	n = process_vm_writev(in->task->tid, &local, 1, &there, 1, 0);
	return n == (ssize_t)len ? 0 : n < 0 ? -errno : -EFAULT;
}

/* An address, or -errno as one. */
static int failed(long ret)
{
	return ret < 0 && ret >= -4095;
}

/* Segments at base, all of them writable. */
static int put_image(struct injection *in, const struct exact_image *im,
		     uint64_t base)
{
	const Elf64_Ehdr *e = (const void *)im->file;
	const Elf64_Phdr *p = (const void *)(im->file + e->e_phoff);
	int err = 0;

	for (int i = 0; i < e->e_phnum && !err; i++)
		if (p[i].p_type == PT_LOAD)
			err = put(in, base + p[i].p_vaddr,
				  im->file + p[i].p_offset, p[i].p_filesz);
	return err;
}

/* The agent begins then; it protects the rest itself, which takes no stop. */
static int let_run(struct injection *in)
{
	const Elf64_Ehdr *e = (const void *)in->agent.file;
	const Elf64_Phdr *p = (const void *)(in->agent.file + e->e_phoff);
	int err = 0;

	for (int i = 0; i < e->e_phnum && !err; i++) {
		uint64_t start = p[i].p_vaddr & -PAGE;
		uint64_t end = PAGE_UP(p[i].p_vaddr + p[i].p_memsz);

		if (p[i].p_type == PT_LOAD && p[i].p_flags & PF_X)
			err = (int)call(in, SYS_mprotect, in->code + start,
					end - start, PROT_READ | PROT_EXEC, 0,
					0, 0);
	}
	return in->err ? in->err : err;
}

static int map_code(struct injection *in)
{
	struct moca_exact_setup *s = &in->setup;
	long at;
	int err;

	/* The page between them is for the setup. */
	in->code_len = in->agent.span + PAGE + in->zydis.span;
	at = call(in, SYS_mmap, 0, in->code_len, PROT_READ | PROT_WRITE,
		  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (in->err || failed(at))
		return in->err ? in->err : (int)at;
	in->code = at;
	s->agent = in->code;
	s->agent_end = s->agent + in->agent.span + PAGE;
	s->zydis = s->agent_end;
	s->zydis_end = s->zydis + in->zydis.span;
	err = put_image(in, &in->agent, s->agent);
	if (!err)
		err = put_image(in, &in->zydis, s->zydis);
	return err ? err : let_run(in);
}

/* As large as it must be, whatever files the user may make, and for ever. */
static int size_arena(int fd)
{
	struct rlimit own, all;
	int limited, err;

	limited = !getrlimit(RLIMIT_FSIZE, &own) &&
		  own.rlim_cur < MOCA_EXACT_ARENA_SIZE;
	all = (struct rlimit){ own.rlim_max, own.rlim_max };
	if (limited && own.rlim_max < MOCA_EXACT_ARENA_SIZE)
		return -EFBIG;	/* which would be a signal as well */
	if (limited)
		setrlimit(RLIMIT_FSIZE, &all);
	err = ftruncate(fd, MOCA_EXACT_ARENA_SIZE) ? -errno : 0;
	if (limited)
		setrlimit(RLIMIT_FSIZE, &own);
	if (!err && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW |
						   F_SEAL_SEAL))
		err = -errno;
	return err;
}

static int map_at(struct injection *in, int remote)
{
	const int prot = PROT_READ | PROT_WRITE;
	const int flags = MAP_SHARED | MAP_NORESERVE;
	long at;

	at = call(in, SYS_mmap, ARENA_PLACE, MOCA_EXACT_ARENA_SIZE, prot,
		  flags | MAP_FIXED_NOREPLACE, remote, 0);
	if (failed(at))
		at = call(in, SYS_mmap, 0, MOCA_EXACT_ARENA_SIZE, prot, flags,
			  remote, 0);
	if (in->err || failed(at))
		return in->err ? in->err : (int)at;
	in->arena = at;
	if (!in->own.setup)	/* the agent's business */
		return 0;
	at = call(in, SYS_madvise, in->arena, MOCA_EXACT_ARENA_SIZE,
		  MADV_DONTDUMP, 0, 0, 0);
	return in->err ? in->err : (int)at;
}

/* *fd is ours of it then. */
static int map_arena(struct injection *in, int *fd)
{
	uint64_t name = (in->calls.saved.rsp - 256) & -16ull;
	long remote;
	int err = put(in, name, ARENA_NAME, sizeof(ARENA_NAME));

	if (err)
		return err;
	remote = call(in, SYS_memfd_create, name,
		      MFD_CLOEXEC | MFD_ALLOW_SEALING, 0, 0, 0, 0);
	if (in->err || failed(remote))
		return in->err ? in->err : (int)remote;
	*fd = tracee_fetch_fd(in->task->pid, remote);
	err = *fd < 0 ? *fd : size_arena(*fd);
	if (!err)
		own_memory(*fd);
	if (!err)
		err = map_at(in, remote);
	call(in, SYS_close, remote, 0, 0, 0, 0, 0);
	return err;
}

/* --- the heap ----------------------------------------------------------------- */

/* Of /proc/PID/stat: the third field is the first of text. 0 or -errno. */
static int read_layout(pid_t tid, struct prctl_mm_map *m)
{
	uint64_t fields[52] = { 0 };
	char text[1024], *p = text;
	int err = moca_proc_stat(text, sizeof(text), tid);

	for (int i = 4; i < 52 && !err; i++) {
		p = strchr(p, ' ');
		if (!p)
			return -EBADMSG;
		fields[i] = strtoull(++p, NULL, 10);
	}
	*m = (struct prctl_mm_map){
		.start_code = fields[26], .end_code = fields[27],
		.start_data = fields[45], .end_data = fields[46],
		.start_brk = fields[47], .brk = fields[47],
		.start_stack = fields[28],
		.arg_start = fields[48], .arg_end = fields[49],
		.env_start = fields[50], .env_end = fields[51],
		.exe_fd = (uint32_t)-1,
	};
	return err;
}

static int ends_at(pid_t tid, uint64_t address)
{
	struct vma_list l;
	int found = 0;

	if (maps_read(tid, &l))
		return 0;
	for (size_t i = 0; i < l.count; i++)
		found |= l.items[i].end == address;
	maps_free(&l);
	return found;
}

/*
 * Of a program that is not position-independent, translated code would lie where the
 * heap grows: so the heap begins above, within the low 4 GiB. One that begins right
 * behind the data stays: who asks for that (ADDR_NO_RANDOMIZE) may rely on it, as GNU
 * Common Lisp does. The kernel needs no rights for it, but CONFIG_CHECKPOINT_RESTORE.
 */
static void move_heap(struct injection *in)
{
	uint64_t at = (in->calls.saved.rsp - 512) & -16ull;
	struct prctl_mm_map m;
	const char *why = NULL;

	if (read_layout(in->task->tid, &m) || m.brk >= HEAP_PLACE)
		return;
	if (ends_at(in->task->tid, m.brk))
		why = "it begins right behind the data, as without address "
		      "space randomization";
	m.start_brk = m.brk += HEAP_PLACE;
	if (!why && (put(in, at, &m, sizeof(m)) ||
		     call(in, SYS_prctl, PR_SET_MM, PR_SET_MM_MAP, at,
			  sizeof(m), 0, 0)))
		why = "the kernel does not let it be moved";
	if (why)
		atomic_store(&moca_exact_recording.heap_stays, why);
}

/* The program's memory as it begins, for the trace. */
static void tell_mappings(struct recorder *rec, struct task *t)
{
	struct moca_identity of;
	struct vma_list l;

	if (maps_read(t->tid, &l))
		return;
	for (size_t i = 0; i < l.count; i++) {
		const struct vma *v = &l.items[i];
		uint32_t flags = MOCA_MAP_CERTIFIED;

		if (v->start >= USER_END)
			continue;
		if (v->name[0] == '/')
			flags |= MOCA_MAP_FILE;
		if (!strcmp(v->name, "[stack]"))
			flags |= MOCA_MAP_STACK;
		if (v->shared)
			flags |= MOCA_MAP_SHARED;
		of = maps_identity(v);
		task_event_map(rec, t, v->start, v->end - v->start, v->offset,
			       v->prot, flags, v->name, &of);
	}
	maps_free(&l);
}

/* Its number in the innermost namespace; 0 if it is the one that we know. */
static pid_t inner_tid(pid_t tid)
{
	char text[256], *last;
	pid_t inner;

	moca_proc_status(text, sizeof(text), tid, "NSpid:");
	last = strrchr(text, '\t');
	inner = last ? atoi(last) : 0;
	return inner == tid ? 0 : inner;
}

static void undo(struct injection *in)
{
	if (in->arena)
		call(in, SYS_munmap, in->arena, MOCA_EXACT_ARENA_SIZE, 0, 0, 0,
		     0);
	if (in->code)
		call(in, SYS_munmap, in->code, in->code_len, 0, 0, 0, 0);
}

/* The program will begin with the agent. 0 or -errno: it is as it was. */
static int inject(struct injection *in, uint64_t hwcap2)
{
	const char *debug = getenv("MOCA_EXACT_DEBUG");
	struct moca_exact_setup *s = &in->setup;
	struct exact_arena *a = NULL;
	int fd = -1, err;

	err = map_arena(in, &fd);
	if (!err && !in->own.setup)
		err = map_code(in);
	if (err)
		goto err_mapped;
	s->version = MOCA_EXACT_VERSION;
	s->shift = moca_exact_recording.shift;
	s->entry = in->calls.saved.rip;
	s->arena = in->arena;
	if (in->task->inner_tid)	/* the leader's since the exec */
		in->task->inner_tid = inner_tid(in->task->tid);
	s->pid = in->task->inner_tid ? in->task->inner_tid : in->task->pid;
	s->debug = debug ? strtoul(debug, NULL, 0) : 0;
	s->hwcap2 = hwcap2;
	s->quiet = in->task->space->quiet;
	err = put(in, in->own.setup ? in->own.setup : s->agent_end - PAGE, s,
		  sizeof(*s));
	if (!err)
		a = exact_arena_new(fd);
	if (!err && !a)
		err = -ENOMEM;
	if (!err)
		err = exact_arena_tell_own(a);
	if (err)
		goto err_mapped;
	exact_space_of(in->task->space)->arena = a;
	if (!in->own.setup) {
		move_heap(in);
		in->calls.saved.rip = s->agent + in->agent.entry;
		in->calls.saved.rdi = s->agent_end - PAGE;
		task_event(in->rec, in->task, MOCA_CHANGE_MMAP, in->code,
			   in->code_len, 0, PROT_READ | PROT_WRITE | PROT_EXEC,
			   MOCA_MAP_MOCA, OUR_NAME);
	}
	supervisor_tell_task(in->rec, in->task, 0);
	return 0;

err_mapped:
	undo(in);
	if (a)
		exact_arena_free(a);
	else if (fd >= 0)
		close(fd);
	return err;
}

/* It runs as it is, uncounted. */
static void leave(struct recorder *rec, struct task *t,
		  enum exact_reason reason, const char *why)
{
	char text[200];

	atomic_fetch_add(&moca_exact_recording.reasons[reason], 1);
	snprintf(text, sizeof(text), "not counted: %s", why);
	supervisor_gap(rec, t, text);
	if (!*moca_exact_recording.left)
		snprintf(moca_exact_recording.left,
			 sizeof(moca_exact_recording.left), "%s", why);
}

/* NULL, or why this image must be left alone. */
static const char *check(struct recorder *rec, struct task *t,
			 const struct user_regs_struct *regs,
			 const struct moca_auxv *aux, uint64_t insn,
			 enum exact_reason *reason)
{
	struct rlimit as, data;

	*reason = EXACT_32BIT;
	if (regs->cs == CS_32BIT)
		return "a 32-bit program";
	*reason = EXACT_RIGHTS;
	if (moca_auxv_value(aux, AT_SECURE))
		return "it runs with another user's rights";
	*reason = EXACT_LIMIT;
	if (!prlimit(t->tid, RLIMIT_AS, NULL, &as) &&
	    as.rlim_cur < 2 * MOCA_EXACT_ARENA_SIZE)
		return "its address space is limited (ulimit -v)";
	if (!prlimit(t->tid, RLIMIT_DATA, NULL, &data) &&
	    data.rlim_cur != RLIM_INFINITY &&
	    data.rlim_max - data.rlim_cur < DATA_ROOM)
		return "its data is limited, and the limit cannot be raised "
		       "for the translator's (ulimit -d; ulimit -S -d does)";
	*reason = EXACT_MACHINE;
	if (!insn)
		return "no vDSO in the program";
	if (!(moca_auxv_value(aux, AT_HWCAP2) & FSGSBASE))
		return "this CPU or kernel has no FSGSBASE";
	return NULL;
}

int exact_after_exec(struct recorder *rec, struct task *t, const char *path)
{
	struct injection in = { .rec = rec, .task = t };
	int limited = supervisor_limited(rec, t->tid), err, loads, counts;
	struct moca_auxv aux;
	struct user_regs_struct regs;
	enum exact_reason reason;
	const char *why, *sanitizer;
	char text[120];

	if (!record_wanted(rec, t->pid, path)) {
		supervisor_gap(rec, t, "left out by the user's choice");
		return 0;
	}
	err = tracee_get_regs(t, &regs);
	if (!err)
		err = moca_proc_auxv(&aux, t->tid);
	if (err)
		goto out;
	in.insn = vdso_syscall(t->tid);
	why = check(rec, t, &regs, &aux, in.insn, &reason);
	if (limited) {
		reason = EXACT_SECCOMP;
		why = "its system calls are limited by seccomp";
	}
	counts = !why &&
		 exact_counts_itself(t->pid, moca_auxv_value(&aux, AT_PHDR),
				     moca_auxv_value(&aux, AT_PHNUM), &in.own);
	/* moca cc's static programs begin as those with a sanitizer do. */
	sanitizer = why || counts ? NULL :
				    preload_sanitizer(t->tid, regs.rsp);
	if (sanitizer) {
		reason = EXACT_SANITIZER;
		snprintf(text, sizeof(text), "it and what it starts run plain: "
			 "its sanitizer (%s) must be alone", sanitizer);
		why = text;
		t->let_go = 1;
	}
	if (counts && in.own.shift != moca_exact_recording.shift) {
		reason = EXACT_GRANULARITY;
		snprintf(text, sizeof(text), "it counts itself, built for "
			 "--granularity %u", 1u << (in.own.shift & 31));
		why = text;
	}
	if (why) {
		tell_mappings(rec, t);
		leave(rec, t, reason, why);
		return 0;
	}
	loads = supervisor_preload(rec, t, &regs);
	if (loads < 0) {
		err = loads;
		goto out;
	}
	if (loads == PRELOAD_STATIC)
		supervisor_gap(rec, t, "allocations are not recorded: a "
			       "static program, in exact mode");
	tell_mappings(rec, t);
	err = in.own.setup ? 0 : exact_image_agent(&in.agent);
	if (!err && !in.own.setup)
		err = exact_image_zydis(&in.zydis);
	if (!err)
		err = tracee_begin(&in.calls, t, &regs);
	if (err)
		goto out;
	err = inject(&in, moca_auxv_value(&aux, AT_HWCAP2));
	if (in.err)
		err = in.err;
	if (err != -ESRCH && tracee_end(&in.calls))
		err = -ESRCH;
out:
	if (err && err != -ESRCH) {
		snprintf(text, sizeof(text), "the translator could not be put "
			 "into it: %s%s", strerror(-err), err == -EACCES ||
			 err == -EPERM ? " (its file cannot be read, perhaps)" :
					 "");
		leave(rec, t, EXACT_INJECTION, text);
		err = 0;
	}
	return err;
}

void exact_before_child(struct recorder *rec, const struct task *t,
			struct task *child)
{
	/* Only a process can be the first in a namespace. */
	if (t->inner_tid || child->tid == child->pid)
		child->inner_tid = inner_tid(child->tid);
	moca_exact_recording.begun++;
	/* The first task was not begun here: it may be one less than none. */
	while (moca_exact_recording.begun -
		       (long)atomic_load(&moca_exact_recording.ended) >
	       (long)tasks_count() + UNHARVESTED_MAX) {
		queue_wake(rec->queue);
		usleep(1000);
	}
}

void exact_after_fork(struct recorder *rec, struct task *t, struct task *child)
{
	struct exact_arena *a = exact_space_of(t->space)->arena;

	exact_space_of(child->space)->arena = a;
	if (a)
		atomic_fetch_add(&a->spaces, 1);
}
