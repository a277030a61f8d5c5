// SPDX-License-Identifier: LGPL-2.1-or-later
/* What is translated at once, and which registers and flags it needs where. */
#include "agent/exact/cache.h"

#define FAR_JUMP 65536		/* another function, most likely */
#define INSN_MAX 15		/* bytes */
#define SLOTS (4 * REGION_INSNS) /* of the table below; a power of two */
/* Of a function that is called: it saves six registers, and makes room for itself. */
#define ENTRY_INSNS 16

/* No source of a region is farther from its entry. */
#define SPAN (FAR_JUMP + REGION_INSNS * INSN_MAX)

_Static_assert(2 * SPAN < 1 << 22,
	       "pc of struct mark");

static int32_t table[SLOTS];	/* of instructions by address; index + 1 */
static uint64_t todo[REGION_INSNS];
static int todo_count;

static uint32_t slot_of(uint64_t pc)
{
	return (uint32_t)(pc * 0x9e3779b97f4a7c15ull >> 40) & (SLOTS - 1);
}

static int index_of(const struct work *w, uint64_t pc)
{
	for (uint32_t i = slot_of(pc); table[i]; i = (i + 1) & (SLOTS - 1))
		if (w->insns[table[i] - 1].pc == pc)
			return table[i] - 1;
	return -1;
}

static void index_add(const struct work *w, int n)
{
	uint32_t i = slot_of(w->insns[n].pc);

	while (table[i])
		i = (i + 1) & (SLOTS - 1);
	table[i] = n + 1;
}

static int ends_run(const struct insn *x)
{
	switch (x->kind) {
	case X86_STOP:
	case K_NATIVE:
	case X86_RET:
	case X86_JUMP:
	case X86_JUMP_IND:
	case X86_XBEGIN:
		return 1;
	default:
		return 0;
	}
}

int moca_exact_falls_through(const struct insn *x)
{
	return !ends_run(x) && x->kind != X86_CALL && x->kind != X86_CALL_IND &&
	       x->kind != X86_SYSCALL;
}

static void visit_later(const struct work *w, uint64_t target)
{
	int64_t d = (int64_t)(target - w->entry);

	if (d < FAR_JUMP && d > -FAR_JUMP && todo_count < REGION_INSNS)
		todo[todo_count++] = target;
}

/* Where may the region be entered, or left, after x? */
static void follow(struct work *w, const struct insn *x)
{
	if (x->kind == X86_JCC || x->kind == X86_LOOP || x->kind == X86_JUMP)
		visit_later(w, x->what.target);
}

static int cache_for(struct work *w, uint64_t low, uint64_t high)
{
	w->cache = moca_exact_cache_near(low, high, REGION_ROOM);
	return w->cache ? 0 : -1;
}

/*
 * 0: x can be translated with what w has; else -1. An operand that the cache does
 * not reach is copied to one that does, by a region of its own: bytes behind a
 * jump may be data, whose operands are anywhere, and which never run.
 */
static int operand_near(struct work *w, const struct insn *x)
{
	uint64_t at = (uint64_t)x->what.mem.disp;

	if (!x->what.rip_at || moca_exact_cache_reaches(w->cache, at, at))
		return 0;
	if (w->count)
		return -1;
	w->most = 1;
	return cache_for(w, at < x->pc ? at : x->pc, at > x->pc ? at : x->pc);
}

/*
 * Decodes the instruction at pc, whose mapping ends at *end. It may reach into the
 * next mapping: who patches code changes the rights of single pages (UCX's memory
 * hooks). *end is that one's end then. 0, or -1: by what is there it can change,
 * and w, which has begun, is of code that cannot.
 */
static int decode(struct work *w, uint64_t pc, uint64_t *end, struct insn *x)
{
	uint64_t start, far;
	int flags;

	if (!moca_exact_decode(pc, *end - pc, x) || *end - pc >= INSN_MAX ||
	    !moca_exact_code_at(*end, &start, &far, &flags))
		return 0;
	if (flags & CODE_WRITABLE && !w->writable && w->count)
		return -1;
	if (flags & CODE_WRITABLE)
		w->writable = 1;
	*end = far;
	moca_exact_decode(pc, far - pc, x);
	return 0;
}

/* From pc on, one instruction after the other. 0, or -1: no code at pc. */
static int run(struct work *w, uint64_t pc)
{
	uint64_t start, end;
	int flags, n = 0;

	if (!moca_exact_code_at(pc, &start, &end, &flags))
		return -1;
	if (!w->count) {
		w->writable = flags & CODE_WRITABLE;
		w->uncounted = flags & CODE_OURS;
		w->most = flags & (CODE_LOADER | CODE_OURS) ? COLD_INSNS :
							      REGION_INSNS;
		if (cache_for(w, pc - SPAN, pc + SPAN))
			return -1;
	} else if (w->writable || flags & CODE_WRITABLE) {
		return 0;	/* one block at a time */
	}
	for (;; n++) {
		struct insn *x = &w->insns[w->count];

		if (w->count == w->most || index_of(w, pc) >= 0)
			return 0;
		if (pc >= end)
			return 0;	/* code behind that is another region's */
		if (w->most == COLD_INSNS && w->count &&
		    moca_exact_cache_find(pc, NULL))
			return 0;	/* it is there: a jump will do */
		if (decode(w, pc, &end, x) || operand_near(w, x))
			return 0;	/* the next region begins with it */
		index_add(w, w->count++);
		if (x->kind == K_NATIVE && n)
			x->leader = 1;
		if (pc < w->low || !w->low)
			w->low = pc;
		if (pc + x->what.len > w->high)
			w->high = pc + x->what.len;
		follow(w, x);
		if (ends_run(x))
			return 0;
		pc += x->what.len;
		if (!w->writable)
			continue;
		/* It may change what is behind it. */
		if (n == BLOCK_INSNS || x->kind != X86_PLAIN)
			return 0;
		for (int i = 0; i < x->what.accesses; i++)
			if (x->what.access[i].store)
				return 0;
	}
}

static void mark(struct work *w, uint64_t pc)
{
	int i = index_of(w, pc);

	if (i >= 0)
		w->insns[i].leader = 1;
}

/* Where blocks begin; and who comes after whom. */
static void connect(struct work *w)
{
	int since = 0;

	mark(w, w->entry);
	for (int i = 0; i < w->count; i++) {
		struct insn *x = &w->insns[i];
		uint64_t after = x->pc + x->what.len;

		x->next = ends_run(x) ? -1 : index_of(w, after);
		x->jump = x->what.target && x->kind != X86_CALL ?
				  index_of(w, x->what.target) : -1;
		if (w->writable && x->jump > 0)
			x->jump = -1;	/* by way of the comparison */
		if (x->jump >= 0)
			w->insns[x->jump].leader = 1;
		if (x->kind != X86_PLAIN && x->kind != K_HELPED &&
		    x->kind != K_GS && x->next >= 0)
			w->insns[x->next].leader = 1;
		if (x->kind == X86_STRING)
			x->leader = 1;
		/* Runs that meet another are not contiguous. */
		if (x->next >= 0 && x->next != i + 1)
			w->insns[x->next].leader = 1;
	}
	for (int i = 0; i < w->count; i++) {
		since = w->insns[i].leader ? 0 : since + 1;
		if (since == BLOCK_INSNS) {
			w->insns[i].leader = 1;
			since = 0;
		}
	}
}

struct flags_cache {
	uint64_t pc;
	int dead;
};

/* Looked at again and again: the functions that are called. */
static struct flags_cache known[1024];

void moca_exact_flags_forget(void)
{
	memset(known, 0, sizeof(known));
}

int moca_exact_flags_dead_at(uint64_t pc)
{
	struct flags_cache *k = &known[pc % 1021];
	uint64_t start, end, at = pc;
	uint32_t killed = 0;
	int flags;

	if (k->pc == pc)
		return k->dead;
	k->pc = pc;
	k->dead = 0;
	if (!moca_exact_code_at(pc, &start, &end, &flags) ||
	    flags & (CODE_WRITABLE | CODE_ANONYMOUS))
		return 0;
	for (int i = 0; i < ENTRY_INSNS && at < end; i++) {
		struct insn x;

		if (moca_exact_decode(at, end - at, &x) ||
		    x.what.reads & X86_FLAGS & ~killed || x.kind != X86_PLAIN)
			return 0;
		killed |= x.what.kills & X86_FLAGS;
		if (killed == X86_FLAGS) {
			k->dead = 1;
			return 1;
		}
		at += x.what.len;
	}
	return 0;
}

/* An instruction, as far as liveness goes; apart, as it is looked at many times. */
static struct flow {
	uint32_t reads, kills;
	uint32_t beyond;	/* what code of no instruction of w needs behind it */
	uint32_t live;
	uint32_t next, jump;	/* flows that come behind it; NOWHERE: none */
} flows[REGION_INSNS + 1];
#define NOWHERE REGION_INSNS	/* nothing is live there */

/* Behind f comes instruction `to`, or what is at target: -1. Returns what f has for it. */
static uint32_t leads_to(struct flow *f, int to, uint64_t target)
{
	if (to < 0)
		f->beyond |= target && moca_exact_flags_dead_at(target) ?
				     X86_GPRS : X86_ALL;
	return to < 0 ? NOWHERE : (uint32_t)to;
}

static void flow_of(struct flow *f, const struct insn *x)
{
	uint64_t after = x->pc + x->what.len;

	*f = (struct flow){ x->what.reads | X86_BIT(RSP), x->what.kills, 0, 0,
			    NOWHERE, NOWHERE };
	switch (x->kind) {
	case X86_JCC:
	case X86_LOOP:
		f->next = leads_to(f, x->next, after);
		/* fallthrough */
	case X86_JUMP:
		f->jump = leads_to(f, x->jump, x->what.target);
		break;
	case X86_CALL:
		leads_to(f, -1, x->what.target);
		break;
	case X86_RET:
	case X86_JUMP_IND:
	case X86_CALL_IND:
	case X86_STOP:
	case X86_SYSCALL:
	case X86_XBEGIN:
	case K_NATIVE:
		f->beyond = X86_ALL;
		break;
	default:
		f->next = leads_to(f, x->next, after);
	}
}

static void find_live(struct work *w)
{
	int changed = 1;

	for (int i = 0; i < w->count; i++)
		flow_of(&flows[i], &w->insns[i]);
	while (changed) {
		changed = 0;
		for (int i = w->count - 1; i >= 0; i--) {
			struct flow *f = &flows[i];
			uint32_t behind = f->beyond | flows[f->next].live |
					  flows[f->jump].live;
			uint32_t live = (behind & ~f->kills) | f->reads;

			changed |= live != f->live;
			f->live = live;
		}
	}
	for (int i = 0; i < w->count; i++)
		w->insns[i].live = flows[i].live;
}

int moca_exact_region_find(struct work *w, uint64_t entry)
{
	memset(table, 0, sizeof(table));
	todo_count = 0;
	w->count = 0;
	w->entry = entry;
	w->low = w->high = 0;
	w->writable = w->uncounted = 0;
	/* Nothing, if no cache reaches the first one's operand. */
	if (run(w, entry) || !w->count)
		return -1;
	for (int i = 0; i < todo_count; i++)
		run(w, todo[i]);
	connect(w);
	if (!w->uncounted)	/* else nothing is taken, of registers or flags */
		find_live(w);
	return 0;
}
