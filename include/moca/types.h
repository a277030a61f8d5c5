/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The records of a Moca trace, as writers produce and readers return them.
 *
 * Units: addresses and lengths in bytes, times in nanoseconds of
 * CLOCK_MONOTONIC of the recording machine.
 */
#ifndef MOCA_TYPES_H
#define MOCA_TYPES_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What an access did. EXEC is an instruction fetch. */
enum moca_access_type {
	MOCA_ACCESS_UNKNOWN = 0,
	MOCA_ACCESS_READ = 1,
	MOCA_ACCESS_WRITE = 2,
	MOCA_ACCESS_EXEC = 3,
};

/* In which mode the CPU was: KERNEL is an access inside a system call. */
enum moca_access_mode {
	MOCA_MODE_USER = 0,
	MOCA_MODE_KERNEL = 1,
};

#define MOCA_NODE_UNKNOWN (-1)

/*
 * How many records a record stands for. Where memory is large, the sweep that begins
 * an interval lets go a sample of it (doc/format.md, "Weights"): a record of a page
 * that had an entry, and lost it to the sample of level k, weighs 2^k. A write to a
 * page that was left and had been read only weighs 0: it counts for sets of pages and
 * in no sum of accesses. All else weighs 1, such as a first touch, which always
 * shows. The sum of weights estimates, without bias, how many records full sweeps
 * would have given.
 */
#define MOCA_WEIGHT_MAX 4096u
/* Call stacks of a trace, frames of each, and of all of them, at most. */
#define MOCA_STACKS_MAX (1u << 18)
#define MOCA_STACK_FRAMES_MAX 128u
#define MOCA_STACK_FRAMES_ALL (1u << 22)

/* A call stack: addresses in the process of the access that has it. */
struct moca_stack {
	const uint64_t *frames;	/* the innermost first: an instruction; then
				   return addresses */
	uint32_t count;		/* of them, 1 or more */
	uint32_t flags;		/* MOCA_STACK_* */
};
#define MOCA_STACK_CUT 1u	/* its outermost frames are not known */

/* One access of one task to one page: the first of its type in a window. */
struct moca_access {
	uint64_t addr;		/* exact virtual address */
	uint64_t ip;		/* instruction pointer; 0 = unknown */
	uint64_t time_ns;
	uint64_t phys;		/* physical address of the page, 0 = unknown */
	uint16_t cpu;
	int16_t node;		/* NUMA node, or MOCA_NODE_UNKNOWN */
	uint8_t type;		/* enum moca_access_type */
	uint8_t mode;		/* enum moca_access_mode */
	uint16_t weight;	/* 0, or a power of two up to MOCA_WEIGHT_MAX */
	uint32_t stack;		/* number of its call stack; 0 = not known */
	uint32_t reserved;	/* 0 */
};

/*
 * How often one task loaded from and stored to one granule of memory, in one
 * slice. An access counts where its first byte is; an instruction that reads
 * and writes counts as one of each.
 */
struct moca_count {
	uint64_t addr;		/* where the granule begins */
	uint64_t loads;
	uint64_t stores;
	uint64_t first_ns;	/* the task's first access to it ever;
				   0 = not in this slice */
	uint8_t first_store;	/* 1 = that one was a store */
};

enum moca_change_type {
	/*
	 * pid, tid, parent, flags, name; of a thread: addr = its first stack
	 * pointer, offset = its thread pointer, 0 = unknown.
	 */
	MOCA_CHANGE_TASK_START = 1,
	MOCA_CHANGE_TASK_END = 2,	/* status, as of wait(2); -1: not known */
	MOCA_CHANGE_EXEC = 3,		/* pid, name = path of the program */
	MOCA_CHANGE_NAME = 4,		/* name = the thread's new name */
	MOCA_CHANGE_MMAP = 5,		/* addr, len, prot, flags, offset, name */
	MOCA_CHANGE_MUNMAP = 6,		/* addr, len */
	MOCA_CHANGE_DISCARD = 7,		/* addr, len: contents given back */
	/*
	 * addr, len (or 0), name = what, why. One of the same name whose offset
	 * is not 0 tells that it ended, after so many ns.
	 */
	MOCA_CHANGE_GAP = 8,
	/*
	 * addr: SIGSEGV answered an access of the task there, as nothing was
	 * mapped. Of accesses to one page that follow each other, the first.
	 */
	MOCA_CHANGE_SEGV = 9,
};

/* Flags of MOCA_CHANGE_TASK_START. */
#define MOCA_TASK_THREAD 1u	/* shares its process's address space */
#define MOCA_TASK_FORK 2u	/* a copy of its parent's address space */
#define MOCA_TASK_VFORK 4u	/* borrows its parent's address space */
#define MOCA_TASK_ATTACHED 8u	/* was running when the recording began */
#define MOCA_TASK_EVENTS 16u	/* known by its events only: set by readers */

/* Flags of MOCA_CHANGE_GAP. */
#define MOCA_GAP_MAPPINGS 1u	/* until its next EXEC, mappings of the process
				   are not told */
#define MOCA_GAP_NATIVE 2u	/* from here on nothing of the task is counted; addr:
				   of its next instruction */

/* Flags of MOCA_CHANGE_MMAP: what the collector can see of the mapping. */
#define MOCA_MAP_CERTIFIED 1u	/* every touched page is accounted for */
#define MOCA_MAP_ZAPPED 2u	/* re-observed in each interval */
#define MOCA_MAP_STACK 4u	/* a main thread's stack */
#define MOCA_MAP_SHARED 8u	/* the program itself mapped it MAP_SHARED */
#define MOCA_MAP_FILE 16u	/* backed by the file in name */
#define MOCA_MAP_MOVED 32u	/* by mremap: contents came from elsewhere */
#define MOCA_MAP_MOCA 64u	/* Moca's own in the program: in no sum */
#define MOCA_MAP_GROWS 128u	/* below what is told: MAP_GROWSDOWN */

/*
 * What a mapping is of. Mappings of one kind, device and inode (not 0) are of the
 * same memory, in all processes: byte `offset` of it is at addr. In a private
 * mapping that holds for pages that its process has not written.
 */
enum moca_memory {
	MOCA_MEMORY_UNKNOWN = 0,	/* not recorded */
	MOCA_MEMORY_PRIVATE = 1,	/* anonymous, or moved there by Moca */
	MOCA_MEMORY_FILE = 2,		/* of any file system, /dev/shm included */
	MOCA_MEMORY_MEMFD = 3,
	MOCA_MEMORY_SYSV = 4,		/* shmget(2) */
	MOCA_MEMORY_ANONYMOUS = 5,	/* MAP_SHARED | MAP_ANONYMOUS */
	MOCA_MEMORY_HUGETLB = 6,	/* the same of huge pages */
};

#define MOCA_NO_TASK UINT32_MAX

/* Something that happened to a task or to its mappings. */
struct moca_change {
	uint64_t time_ns;
	uint64_t addr;
	uint64_t len;
	uint64_t offset;	/* of a file mapping, bytes */
	uint32_t type;		/* enum moca_change_type */
	uint32_t flags;		/* MOCA_TASK_* or MOCA_MAP_* */
	uint32_t prot;		/* PROT_* */
	uint32_t pid;		/* of the process (thread group) */
	uint32_t tid;
	uint32_t parent;	/* task number, or MOCA_NO_TASK */
	int32_t status;
	const char *name;	/* NUL-terminated, never NULL */
	/* Of MOCA_CHANGE_MMAP; 0 in older traces. */
	uint32_t memory;	/* enum moca_memory */
	uint64_t dev;		/* device number: major << 32 | minor */
	uint64_t ino;		/* 0 = has none */
};

/*
 * How complete a recording is. Pages are counted per life of a mapping: a
 * page that is unmapped and mapped again counts twice.
 */
struct moca_certificate {
	uint64_t pages_seen;	/* of pages_touched, those with a record */
	uint64_t pages_touched;	/* pages that exist because they were touched */
	uint64_t pages_other;	/* pages seen outside of certified mappings */
	uint64_t records;
	uint64_t lost;		/* samples the kernel could not store */
	uint64_t chunks;
	uint64_t lossy_chunks;
	/* Of exact mode; else 0. */
	uint64_t loads;
	uint64_t stores;
	uint64_t gaps;		/* times that something was not counted */
	/* Pages that exist outside of certified mappings, without a record. */
	uint64_t pages_blind;
};

#ifdef __cplusplus
}
#endif
#endif
