/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What exact mode's agent (agent/exact, inside the program) and its collector
 * (collect/exact) share: one sparse memfd per program image, the *arena*,
 * mapped by the image and by all that it forks, of MOCA_EXACT_SLOTS *slots*. A
 * thread owns one slot while it lives. doc/design/exact-mode.md has the why.
 *
 * A slot, offsets from its begin:
 *
 *	0	struct moca_exact_slot
 *	EVENTS	ring of bytes, struct moca_exact_event after struct
 *	TOUCHED	2 bits per granule: bit 0 it was read, bit 1 it was written
 *	LOG	64-bit entries, in order of time: MOCA_EXACT_LOG_*
 *	CHART	struct moca_exact_chart: a process's, whichever slots it has
 *	CONTEXT	the agent's own; nobody else looks at it, but for
 *	LOOP	struct moca_exact_loop, its last page but one (agent/count has
 *		its own things in the last)
 *	COUNTS	two 32-bit counters per granule: loads, then stores; %gs is here
 *
 * A *granule* is 1 << shift bytes of address space, 6 <= shift <= 12. Its
 * *cell*, the index of its counters and bits, is the number of the granule modulo
 * MOCA_EXACT_CELLS. Counters count down from 0, so the first access borrows, and so
 * does the one after 2^32 more: on a borrow the agent sets the bit in TOUCHED and,
 * if neither was set, logs FIRST, or, if that bit was set already, WRAP. So
 * with w WRAPs of that granule and type, and counter c, the accesses were
 * 0 if the bit is not set, else (w << 32) + (-c mod 2^32, and 2^32 if that is 0).
 *
 * All of it is written by the program's own process, so it is hostile: the
 * collector checks every length, index and offset.
 */
#ifndef MOCA_ABI_EXACT_ARENA_H
#define MOCA_ABI_EXACT_ARENA_H

#include <stdint.h>

#define MOCA_EXACT_VERSION 1u

/* What the agent calls the memory of its translations, in its events. */
#define MOCA_EXACT_CACHE "libmoca-exact (translated code)"

#define MOCA_EXACT_SLOTS 4096u
#define MOCA_EXACT_SLOT_SIZE (8ull << 30)
#define MOCA_EXACT_ARENA_SIZE (MOCA_EXACT_SLOTS * MOCA_EXACT_SLOT_SIZE)

#define MOCA_EXACT_EVENTS (1ull << 20)
#define MOCA_EXACT_EVENTS_SIZE (16ull << 20)	/* a power of two */
#define MOCA_EXACT_TOUCHED (128ull << 20)
#define MOCA_EXACT_LOG (256ull << 20)
#define MOCA_EXACT_LOG_MAX (384ull << 20)	/* entries: 3 GiB */
#define MOCA_EXACT_CHART (MOCA_EXACT_LOG + 8 * MOCA_EXACT_LOG_MAX)
#define MOCA_EXACT_CONTEXT ((4ull << 30) - (16ull << 20))
#define MOCA_EXACT_COUNTS (4ull << 30)
#define MOCA_EXACT_LOOP (MOCA_EXACT_COUNTS - 8192)

#define MOCA_EXACT_CELLS (1ull << 29)

/*
 * Log entries. kind is in bits 0-1; bit 2: it was a store; bits 3-22: time since
 * the last TIME entry, in units of 1024 clock ticks; bits 23-63: the number of the
 * granule. TIME: bits 2-63 are the clock / 4; the log begins with one.
 */
#define MOCA_EXACT_LOG_FIRST 0u
#define MOCA_EXACT_LOG_WRAP 1u
#define MOCA_EXACT_LOG_TIME 2u
#define MOCA_EXACT_LOG_STORE 4u
#define MOCA_EXACT_LOG_TIME_SHIFT 3
#define MOCA_EXACT_LOG_TIME_BITS 20
#define MOCA_EXACT_LOG_UNIT 10		/* log2 of clock ticks */
#define MOCA_EXACT_LOG_GRANULE_SHIFT 23

/*
 * States of a slot. The agent takes FREE -> LIVE (compare and exchange) and
 * makes it ENDED as its thread's last act; the collector, which also ends the slots of
 * processes that died, reads it and makes it FREE again, all zeros but for
 * this word. used is the highest slot ever taken + 1.
 */
#define MOCA_EXACT_FREE 0u
#define MOCA_EXACT_LIVE 1u
#define MOCA_EXACT_ENDED 2u

/* Why something was not counted: MOCA_EXACT_GAP_NAMES. */
enum moca_exact_gap {
	MOCA_EXACT_GAP_NATIVE = 0,	/* ran untranslated from there on */
	MOCA_EXACT_GAP_DECODE,		/* an instruction that is not known */
	MOCA_EXACT_GAP_FOLDED,		/* two mappings share cells */
	MOCA_EXACT_GAP_SLOTS,		/* no slot was left for a thread */
	MOCA_EXACT_GAP_LOG,		/* the log is full */
	MOCA_EXACT_GAP_FAULT,		/* a fault amid a block that could not
					   be taken back to the access */
	MOCA_EXACT_GAP_FAR,		/* a far branch: left 64-bit code */
	MOCA_EXACT_GAP_ROOM,		/* no room for code within 2 GiB */
	MOCA_EXACT_GAP_COUNT
};
#define MOCA_EXACT_GAP_NAMES \
	"native", "unknown instruction", "folded mappings", "threads", \
	"log full", "fault", "far branch", "no room for code"

/*
 * What has a price of its own when it is told what recording cost; modulo 2^64.
 * Accesses are of those that are counted.
 */
struct moca_exact_apart {
	/* Accesses of string instructions, one or two an element. They go back
	 * where an instruction stops amid its elements. */
	uint64_t strings;
	/* Granules that were counted for those, one after the other. */
	uint64_t granules;
	/* Accesses of loops by stretches: struct moca_exact_loop. */
	uint64_t stretched;
	/* Times that C counted for an instruction or a group. */
	uint64_t helped;
	/* Times that C was asked where a jump leads to. */
	uint64_t exits;
};

/*
 * What each byte of a process's translated code is: an instruction of the program's,
 * copied as it is or with another addressing of the same work; the jump behind a
 * counter's update; or else Moca's: what finds the counter, looks up where a jump
 * leads, keeps registers. So a sample of an instruction pointer tells whose time it is.
 *
 * As many as there are slots; the n-th lies in slot n, which may be another
 * process's. Taken FREE -> LIVE by the agent when a process begins, or is about to be
 * forked: code that it had then is told by its parent's chart. The collector makes it
 * FREE, all zeros, when the process is gone and no LIVE one has it as its parent.
 * A byte is told before it runs, and memory of code is never used again: what is
 * told of it is right for ever.
 */
#define MOCA_EXACT_CACHE_SIZE (64ull << 20)
#define MOCA_EXACT_CHART_CACHES 32u	/* what is beyond them is not told */
#define MOCA_EXACT_CODE_OURS 0u
#define MOCA_EXACT_CODE_OWN 1u
#define MOCA_EXACT_CODE_UPDATED 2u
#define MOCA_EXACT_CODE_STRING 3u	/* own, and can be interrupted amid */
struct moca_exact_chart {
	uint32_t state;
	uint32_t caches;	/* written after base */
	uint32_t left;		/* they are the program's memory now */
	uint32_t parent;	/* its number + 1; 0: none */
	uint64_t agent, agent_end;	/* its code, and libZydis */
	/* Its code that makes the program's system calls. */
	uint64_t call, call_end;
	uint64_t base[MOCA_EXACT_CHART_CACHES];
	/* So many bytes of each cache are its parent's to tell. */
	uint64_t parents[MOCA_EXACT_CHART_CACHES];
};
/* Of cache i: two bits per byte, MOCA_EXACT_CODE_*; the first in the lowest ones. */
#define MOCA_EXACT_CHART_BYTES (MOCA_EXACT_CACHE_SIZE / 4)
#define MOCA_EXACT_CHART_BITS(i) (4096ull + (i) * MOCA_EXACT_CHART_BYTES)
#define MOCA_EXACT_CHART_SIZE MOCA_EXACT_CHART_BITS(MOCA_EXACT_CHART_CACHES)

/* First page of a slot. Zero when free. */
struct moca_exact_slot {
	uint32_t state;
	uint32_t kind;		/* MOCA_TASK_* flags of its start */
	uint32_t pid, tid;
	uint32_t parent;	/* tid of who made it, 0 = none */
	int32_t status;		/* as of wait(2), when ENDED by itself */
	uint64_t start_clock;
	uint64_t end_clock;	/* 0 = lives, or was killed */
	uint64_t stack, tls;	/* stack pointer, thread pointer at the start */
	uint64_t log_count;	/* entries; written after they are */
	uint64_t events_head;	/* bytes ever put in; written after they are */
	uint64_t events_tail;	/* by the collector: bytes ever taken out */
	uint64_t events_lost;
	/* How much was done, for the certificate. Only ever grow. */
	uint64_t gaps[MOCA_EXACT_GAP_COUNT];
	struct moca_exact_apart apart;
	uint32_t chart;		/* its process's number of one + 1; 0: it has none */
	uint32_t reserved;
};

/*
 * The loop that a thread is in, if its accesses are not counted as they are made.
 * `now` is what the register that counts the iterations held when the last one
 * began. So
 *
 *	(now - start) / step + 1
 *
 * have begun, none if that is 0: now was start - step at first. In the first `split`
 * of them the accesses of an entry are in its granule, in those behind in the next
 * one, upwards or downwards: its second part. `ahead` of the first part are counted
 * already. There is no step to a third granule, and none to a second that had no
 * such access before: so all first touches are those of first parts, counted ahead.
 *
 * When the thread counts, part after part (entry 0's first and second one, entry 1's...),
 * those below done are counted. next > done: part next - 1 is counted, or just about
 * to be: then its granule's two counters, as one number, are to be word. So a
 * thread can be killed anywhere, and what it has done can be told.
 */
#define MOCA_EXACT_LOOP_ENTRIES 32u
#define MOCA_EXACT_LOOP_ITERATIONS 4096u	/* at once, at most */
struct moca_exact_loop {
	uint64_t now, limit, start;
	int64_t step;
	uint32_t entries;	/* 0: there is none; written last, and first */
	uint32_t done, next;
	uint32_t number;	/* the agent's own */
	uint64_t word;
	struct moca_exact_loop_entry {
		uint64_t granule;
		uint32_t load, store;	/* of one iteration */
		uint32_t split, ahead;
		int64_t way;		/* 1 or -1: to the second granule */
	} entry[MOCA_EXACT_LOOP_ENTRIES];
};

/* A file that programs map and that is Moca's: by stat(2), 0 and 0: none. */
#define MOCA_EXACT_OWN_FILES 8
struct moca_exact_own_file {
	uint64_t dev, ino;
};

/* Begin of slot 0's page 1: what the arena's processes share. */
#define MOCA_EXACT_SHARED 4096ull
struct moca_exact_shared {
	uint32_t used;		/* slots ever taken: the highest + 1 */
	uint32_t charts;	/* the same of charts */
	uint64_t regions;	/* translated */
	uint64_t blocks;
	uint64_t instructions;
	uint64_t code_bytes;	/* of translations */
	uint64_t invalidated;	/* regions, since their source changed */
	uint64_t loops;		/* whose accesses are counted when they end */
	/* By the collector, before there is a slot. */
	struct moca_exact_own_file own[MOCA_EXACT_OWN_FILES];
	/* CPU time that the agent's start and translating took, ns. */
	uint64_t translating;
};

/* Then a name, at most 4,095 bytes and a NUL, then up to 7 bytes to 8. */
struct moca_exact_event {
	uint32_t size;		/* of all, a multiple of 8 */
	uint32_t type;		/* enum moca_change_type */
	uint64_t clock;
	uint64_t addr, len, offset;
	uint32_t flags, prot;
};

/*
 * What the collector tells the agent, which begins at its entry point with %rdi
 * = this, and the program's stack pointer. All addresses are the program's.
 */
struct moca_exact_setup {
	uint32_t version;
	uint32_t shift;		/* log2 of a granule */
	uint64_t entry;		/* the program's first instruction */
	uint64_t arena;		/* where it is mapped, shared */
	uint64_t agent, agent_end;	/* this image, its memory included */
	/* libZydis, its segments laid out as they are to be; not relocated. */
	uint64_t zydis, zydis_end;
	uint32_t pid;
	uint32_t debug;		/* bits: see agent/exact/translator.h */
	uint64_t hwcap2;	/* AT_HWCAP2 */
	uint64_t quiet;		/* struct moca_agent_quiet; 0: none */
};

#endif
