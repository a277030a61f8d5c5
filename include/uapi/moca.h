/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * What moca.ko and user space share: /dev/moca.
 *
 * A descriptor of /dev/moca is a session. MOCA_IOC_SETUP makes its rings,
 * MOCA_IOC_REGISTER puts processes under it (and all their children),
 * MOCA_IOC_START begins. Records are then found in the mapped rings. Closing the
 * descriptor, by whatever end of the process, undoes everything.
 *
 * Structures that ioctls take begin with their size, as the caller knows it:
 * a longer one is refused with E2BIG unless what is behind is zero, of a
 * shorter one the rest is taken for zero.
 */
#ifndef _UAPI_MOCA_H
#define _UAPI_MOCA_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* Of another number when a structure has grown: the size is a part of each ioctl's. */
#define MOCA_ABI 2

/* What the module does on this kernel, in moca_about.features. */
#define MOCA_HAS_FTRACE 1u	/* faults are seen by ftrace, else by a kprobe */
#define MOCA_HAS_RANGE_FLUSH 2u	/* flush_tlb_mm_range was found; else all CPUs
				   are flushed wholly */
#define MOCA_HAS_THP_SPLIT 4u	/* huge mappings can be split */
#define MOCA_HAS_NO_AROUND 8u	/* the kernel maps no file pages around a fault
				   in programs that are traced */
#define MOCA_HAS_HEAT 16u	/* moca_setup.heat_ns */

struct moca_about {
	__u32 size;
	__u32 abi;		/* out: MOCA_ABI of the module */
	__u32 features;		/* out: MOCA_HAS_* */
	__u32 page_shift;	/* out */
};

#define MOCA_SETUP_KEEP_THP 1u	/* huge pages stay: they are seen as a whole */
#define MOCA_SETUP_NO_INJECT 2u	/* the program's own faults only */
#define MOCA_SETUP_MANUAL 4u	/* intervals end by MOCA_IOC_TICK only */
#define MOCA_SETUP_NO_FOLLOW 8u	/* leave children of registered tasks alone */

struct moca_setup {
	__u32 size;
	__u32 flags;		/* MOCA_SETUP_* */
	__u64 interval_ns;	/* 1 ms to 1,000 s; ignored if manual */
	__u32 budget_permille;	/* slowdown that is accepted; 0: any */
	__u32 fault_ns;		/* what a false fault costs; 0: not known, the
				   module assumes 1,000 */
	__u32 chunk_bytes;	/* power of two, 16 kB to 1 MB; 0: 64 kB */
	__u32 ring_chunks;	/* of each ring: power of two, 4 to 4,096; 0: 64 */
	__u32 rings;		/* out: one per CPU, and the monitor's, the last */
	__u32 pad;
	__u64 ring_bytes;	/* out: what to map of each ring */
	__u64 ring_stride;	/* out: ring r is at offset r * ring_stride */
	__u64 heat_ns;		/* between two looks at accessed and dirty bits, at
				   least: 1 ms to 1,000 s; manual: any, and
				   MOCA_IOC_LOOK looks. 0: no looks. EOPNOTSUPP
				   without MOCA_HAS_HEAT */
};

/* Change what moca_setup set; while it runs, too. */
struct moca_pace {
	__u32 size;
	__u32 budget_permille;
	__u64 interval_ns;
};

struct moca_target {
	__u32 size;
	__s32 pid;		/* any thread of the process, in the caller's
				   pid namespace */
};

/* Sums since SETUP. */
struct moca_totals {
	__u32 size;
	__u32 processes;	/* address spaces that are traced now */
	__u64 interval;		/* number of the one under way */
	__u64 interval_ns;	/* its length, as the budget has it */
	__u64 faults;		/* of traced processes, while running */
	__u64 false_faults;	/* those of them that injection caused */
	__u64 repaired;		/* entries repaired by the module itself */
	__u64 injected;		/* entries made to fault */
	__u64 swept;		/* pages found touched without a fault */
	__u64 lost;		/* records that found no room */
	__u64 held;		/* intervals without injection: rings were full */
	__u64 monitor_ns;	/* time of the monitor thread */
	__u64 skipped;		/* mappings never injected: unsafe */
	__u64 looks;		/* of heat, sweeps among them */
	__u64 looked;		/* entries that they read, sweeps excepted */
	__u64 hot;		/* pages found touched, each time */
	__u64 looks_held;	/* tables left as they were: moca_rec_look */
	__u64 looks_lost;
	__u64 look_ns;		/* time that looks took, sweeps excepted; a part of
				   monitor_ns */
};

/* The tracer's two calls (update and switch), for programs under a session. */
struct moca_buffer_update {
	__u32 size;
	__u32 active;		/* out: emit events? */
	__u32 filter;		/* out: mask of the events wanted */
	__u32 buffer_bytes;	/* out: of the buffer of the calling thread */
	__u64 offset;		/* out: where to map it from, read and write */
	__u64 session;		/* in: 0 = the next session that has this task
				   after the last one told; out: its id, 0 = no
				   more */
};

struct moca_buffer_switch {
	__u32 size;
	__u32 used;		/* bytes of the buffer that are filled */
	__u64 session;		/* whose buffer */
};

/* What a session wants of its programs' events; they get SIGRTMIN+3. */
struct moca_buffer_control {
	__u32 size;
	__u32 active;
	__u32 filter;
	__u32 buffer_bytes;	/* power of two, 4 kB to 1 MB */
};

#define MOCA_IOC_MAGIC 0xb5
#define MOCA_IOC_ABOUT _IOWR(MOCA_IOC_MAGIC, 0, struct moca_about)
#define MOCA_IOC_SETUP _IOWR(MOCA_IOC_MAGIC, 1, struct moca_setup)
#define MOCA_IOC_REGISTER _IOW(MOCA_IOC_MAGIC, 2, struct moca_target)
#define MOCA_IOC_UNREGISTER _IOW(MOCA_IOC_MAGIC, 3, struct moca_target)
#define MOCA_IOC_START _IO(MOCA_IOC_MAGIC, 4)
#define MOCA_IOC_STOP _IO(MOCA_IOC_MAGIC, 5)	/* and hand over all chunks */
#define MOCA_IOC_PACE _IOW(MOCA_IOC_MAGIC, 6, struct moca_pace)
#define MOCA_IOC_TICK _IO(MOCA_IOC_MAGIC, 7)	/* end the interval now; returns
						   when its chunks are handed over */
#define MOCA_IOC_TOTALS _IOWR(MOCA_IOC_MAGIC, 8, struct moca_totals)
#define MOCA_IOC_BUFFERS _IOW(MOCA_IOC_MAGIC, 9, struct moca_buffer_control)
#define MOCA_IOC_UPDATE _IOWR(MOCA_IOC_MAGIC, 10, struct moca_buffer_update)
#define MOCA_IOC_SWITCH _IOW(MOCA_IOC_MAGIC, 11, struct moca_buffer_switch)
#define MOCA_IOC_LOOK _IO(MOCA_IOC_MAGIC, 12)	/* look at the bits now */

/*
 * A mapped ring: a page of each of these two, then ring_chunks chunks. The first
 * page may be written by user space, the rest may not. Positions count chunks
 * and never wrap: chunk n is at (n % ring_chunks) * chunk_bytes. User space reads
 * chunks consumed .. produced - 1, then raises consumed (a release; produced is
 * loaded by an acquire).
 */
struct moca_ring_user {
	__u64 consumed;
};

struct moca_ring_kernel {
	__u64 produced;
	__u32 chunk_bytes;
	__u32 ring_chunks;
	__u32 cpu;		/* MOCA_CPU_NONE: of the monitor */
	__u32 pad;
};

#define MOCA_CPU_NONE 0xffffffffu

/* Every chunk is of one interval; an interval may have several. */
struct moca_chunk_head {
	__u32 bytes;		/* used, with this */
	__u32 cpu;
	__u64 interval;		/* from 0 */
	__u64 begin_ns;		/* of the interval, CLOCK_MONOTONIC */
	__u64 end_ns;
	__u64 lost;		/* records that found no room before this chunk,
				   since the one before of this ring */
	__u64 reserved[3];
};

/* Records are 8-byte aligned and in order of time within a ring. */
struct moca_rec {
	__u16 type;		/* MOCA_REC_* */
	__u16 bytes;		/* with this; a multiple of 8 */
	__u32 tid;		/* in the pid namespace of the session's opener */
	__u64 time_ns;		/* CLOCK_MONOTONIC */
};

enum {
	MOCA_REC_ACCESS = 1,
	MOCA_REC_TASK = 2,
	MOCA_REC_EXEC = 3,
	MOCA_REC_EXIT = 4,
	MOCA_REC_MAPPING = 5,
	MOCA_REC_GAP = 6,
	MOCA_REC_INTERVAL = 7,
	MOCA_REC_EVENTS = 8,
	MOCA_REC_NAME = 9,
	MOCA_REC_HEAT = 10,
	MOCA_REC_LOOK = 11,
};

#define MOCA_ACC_WRITE 1u
#define MOCA_ACC_EXEC 2u	/* instruction fetch */
#define MOCA_ACC_KERNEL 4u	/* in a system call; ip is the program's */
#define MOCA_ACC_FALSE 8u	/* the fault was injected */
#define MOCA_ACC_DIRECT 16u	/* by the kernel, without an address of user
				   space (get_user_pages): O_DIRECT, populate */
#define MOCA_ACC_HUGE 32u	/* stands for the whole huge page */
#define MOCA_ACC_SWEPT 64u	/* found by the accessed bit: touched before
				   this time, and since the sweep before; by a
				   thread that is not known, or whose record is
				   in the next interval with an earlier time:
				   programs go on while they are swept. tid is
				   the process' */

struct moca_rec_access {
	struct moca_rec rec;
	__u64 addr;		/* exact; of a swept page its begin */
	__u64 ip;		/* 0: not known */
	__u64 pfn;		/* page frame; 0: not known, or not shown */
	__u16 flags;		/* MOCA_ACC_* */
	__s16 node;		/* -1: not known */
	__u32 pid;		/* of the process: threads that the kernel made
				   (io_uring) have no MOCA_REC_TASK */
};

#define MOCA_TASKF_THREAD 1u	/* shares parent's address space */
#define MOCA_TASKF_VFORK 2u	/* borrows it until it execs */
#define MOCA_TASKF_REGISTERED 4u	/* was there before */

struct moca_rec_task {
	struct moca_rec rec;	/* tid: the new one */
	__u32 pid;
	__u32 parent;		/* tid; 0: not traced */
	__u32 flags;		/* MOCA_TASKF_* */
	__u32 pad;
	__u64 stack;		/* stack pointer, 0: not known */
	__u64 tls;		/* thread pointer */
	char comm[16];
};

struct moca_rec_exec {
	struct moca_rec rec;	/* tid after it: the process' */
	__u32 pid;
	__u32 old_tid;		/* of the thread that called it */
	char path[];		/* NUL-terminated */
};

struct moca_rec_exit {
	struct moca_rec rec;
	__u32 pid;
	__s32 status;		/* as of wait */
};

/* The task's new name. */
struct moca_rec_name {
	struct moca_rec rec;
	char comm[16];
};

#define MOCA_MAPF_SHARED 1u
#define MOCA_MAPF_STACK 2u	/* of the main thread */
#define MOCA_MAPF_FILE 4u
#define MOCA_MAPF_HEAP 8u
#define MOCA_MAPF_UNSAFE 16u	/* never injected: seen once at best */

struct moca_rec_mapping {
	struct moca_rec rec;	/* tid: who touched it first, or the process */
	__u32 pid;
	__u32 flags;		/* MOCA_MAPF_* */
	__u64 start;
	__u64 end;
	__u64 offset;		/* in the file, bytes */
	__u64 inode;
	__u32 dev;		/* major << 20 | minor */
	__u32 prot;		/* PROT_* */
	char path[];		/* NUL-terminated; empty: anonymous */
};

enum {
	MOCA_GAP_MAPPING = 1,	/* addr, len: unsafe to inject */
	MOCA_GAP_NOTIFIER = 2,	/* address space with mmu notifiers (KVM, GPUs):
				   not injected at all */
	MOCA_GAP_RIGHTS = 3,	/* a program with other rights was started: its
				   opener may not see it */
	MOCA_GAP_BUSY = 4,	/* another session has this process */
	MOCA_GAP_MEMORY = 5,	/* no memory to follow it */
	MOCA_GAP_HELD = 6,	/* rings were full: no injection */
};

struct moca_rec_gap {
	struct moca_rec rec;
	__u32 pid;
	__u32 reason;		/* MOCA_GAP_* */
	__u64 addr;
	__u64 len;
};

/* At the end of each interval, in the monitor's ring. */
struct moca_rec_interval {
	struct moca_rec rec;
	__u64 interval;
	__u64 injected;		/* since the one before */
	__u64 false_faults;
	__u64 swept;
	__u64 lost;
	__u64 monitor_ns;
	__u64 next_ns;		/* length of the next, as the budget has it */
};

/*
 * Pages that were touched since the look before, without a fault or with one. Their
 * look's MOCA_REC_LOOK follows. A huge page that is not split has all of its bits.
 */
#define MOCA_HEAT_WORDS 8u

struct moca_rec_heat {
	struct moca_rec rec;	/* tid: the process'; time: the look's begin */
	__u32 pid;
	__u32 words;		/* 1 to MOCA_HEAT_WORDS */
	__u64 addr;		/* of the first page; a multiple of 64 pages */
	__u64 since_ns;		/* touched from then on */
	__u64 bits[];		/* so many words of pages that were touched, bit 0 of
				   the first is the page at addr; then so many of
				   those of them that were written */
};

#define MOCA_LOOK_SWEEP 1u	/* it was the sweep that ended an interval */

/* What was looked at is told. */
struct moca_rec_look {
	struct moca_rec rec;	/* time: its begin */
	__u64 since_ns;		/* begin of the last one before that held nothing:
				   what is told was touched from then on */
	__u64 end_ns;		/* and until then */
	__u64 looked;		/* entries; of a sweep 0: they are its own cost */
	__u64 touched;		/* pages */
	__u64 held;		/* tables (2 MB) of which there was no room to tell:
				   their bits stay for the next look */
	__u64 lost;		/* the same of a sweep, or of the look at
				   STOP: untold */
	__u32 flags;		/* MOCA_LOOK_SWEEP */
	__u32 pad;
};

/* What a program handed over by MOCA_IOC_SWITCH, or left when it died. */
struct moca_rec_events {
	struct moca_rec rec;
	__u32 pid;
	__u32 used;		/* bytes of data */
	__u32 more;		/* not 0: the next of this tid continues it */
	__u32 flags;		/* 1: it died */
	__u8 data[];
};

#define MOCA_ASSERT_SIZE(type, n) \
	_Static_assert(sizeof(struct type) == (n), #type " has grown")
MOCA_ASSERT_SIZE(moca_about, 16);
MOCA_ASSERT_SIZE(moca_setup, 64);
MOCA_ASSERT_SIZE(moca_pace, 16);
MOCA_ASSERT_SIZE(moca_target, 8);
MOCA_ASSERT_SIZE(moca_totals, 144);
MOCA_ASSERT_SIZE(moca_buffer_update, 32);
MOCA_ASSERT_SIZE(moca_buffer_switch, 16);
MOCA_ASSERT_SIZE(moca_buffer_control, 16);
MOCA_ASSERT_SIZE(moca_chunk_head, 64);
MOCA_ASSERT_SIZE(moca_rec, 16);
MOCA_ASSERT_SIZE(moca_rec_access, 48);
MOCA_ASSERT_SIZE(moca_rec_task, 64);
MOCA_ASSERT_SIZE(moca_rec_exec, 24);
MOCA_ASSERT_SIZE(moca_rec_exit, 24);
MOCA_ASSERT_SIZE(moca_rec_name, 32);
MOCA_ASSERT_SIZE(moca_rec_mapping, 64);
MOCA_ASSERT_SIZE(moca_rec_gap, 40);
MOCA_ASSERT_SIZE(moca_rec_interval, 72);
MOCA_ASSERT_SIZE(moca_rec_heat, 40);
MOCA_ASSERT_SIZE(moca_rec_look, 72);
MOCA_ASSERT_SIZE(moca_rec_events, 32);

#endif
