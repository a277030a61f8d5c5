// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Loops whose addresses are affine: in each iteration they are a step further.
 *
 * Such a loop has a second translation, which runs where it will be long. In that
 * an iteration's begin is marked by one store of a register that moves on. While
 * no *deferred* access comes to a third granule, or to one where it is the first -
 * a *stretch* - nothing else is done; behind it each granule is counted once, by
 * how far that register has come. First touches are counted when a stretch begins:
 * they are told in order and in time. Groups that are not affine count as elsewhere.
 */
#include "agent/exact/translate.h"

#define LOOP_INSNS 160
#define LOOP_GROUPS 16
#define ENTRIES MOCA_EXACT_LOOP_ENTRIES
#define DESCRIPTIONS_MAX 65536
#define PROGRESS_MAX 65536	/* its step: 4,096 of them fit 32 bits */
#define RECIPROCAL_BITS 24

#define CC_EQUAL 4

/* What moca_exact_loop_begin has to know. */
struct affine {
	struct x86_mem mem;	/* registers as at an iteration's begin, disp 0 */
	int64_t low, high, step;
	uint64_t reciprocal;	/* of the step, times 2^24; 0: it is too large */
	uint64_t enough;	/* iterations that members are worth to be one for */
	uint32_t load, store;
	int count;
	struct x86_member *members;
};

struct description {
	uint64_t enter, leave;	/* where to go on: translated code */
	int8_t progress;
	int64_t step;
	int count;
	struct affine groups[LOOP_GROUPS];	/* no more are there than count */
};

/* --- what is known of a loop's registers ------------------------------------------ */

/*
 * As in group.c, but over the whole of the body: version 1 + r is what register r
 * had when the iteration began.
 */
static struct state {
	struct x86_values values;
	int sometimes;		/* a jump within the body may leave it out */
} states[LOOP_INSNS + 1];
static uint32_t last_version;
static int64_t steps[16];
static uint32_t inductive;	/* registers that move by their step */

/* Jumps to instruction `to` that leave others out: those, and what they write. */
static void join(const struct work *w, int head, int to)
{
	uint32_t writes = 0;

	for (int i = head; i < to; i++) {
		if (w->insns[i].kind != X86_JCC || w->insns[i].jump != to)
			continue;
		for (int k = i + 1; k < to; k++) {
			states[k - head].sometimes = 1;
			writes |= w->insns[k].what.writes;
			if (w->insns[k].what.move_to >= 0)
				writes |= X86_BIT(w->insns[k].what.move_to);
		}
	}
	moca_x86_values_new(&states[to - head].values, writes, &last_version);
}

static void walk(const struct work *w, int head, int last)
{
	const struct x86_values *end = &states[last - head].values;

	memset(states, 0, sizeof(states[0]) * (size_t)(last - head + 1));
	last_version = 0;
	moca_x86_values_new(&states[0].values, X86_GPRS, &last_version);
	for (int i = head; i < last; i++) {
		states[i + 1 - head].values = states[i - head].values;
		moca_x86_values_step(&states[i + 1 - head].values,
				     &w->insns[i].what, &last_version);
		join(w, head, i + 1);
	}
	inductive = 0;
	for (int r = 0; r < 16; r++) {
		steps[r] = end->plus[r];
		if (end->version[r] == (uint32_t)r + 1)
			inductive |= X86_BIT(r);
	}
}

/* --- which groups ------------------------------------------------------------------ */

/* One of a group's registers, as at the iteration's begin. */
static int trace_back(const struct x86_values *s, int8_t *reg, int scale,
		      struct affine *a)
{
	uint32_t v;

	if (*reg < 0)
		return 0;
	v = s->version[*reg];
	if (v > 16 || !(inductive & X86_BIT(v - 1)))
		return -1;
	a->mem.disp += s->plus[*reg] * scale;
	a->step += steps[v - 1] * scale;
	*reg = (int8_t)(v - 1);
	return 0;
}

/* 0, or -1: its addresses are not affine. */
static int describe(const struct loop *l, const struct group *g,
		    struct affine *a)
{
	const struct state *s = &states[g->place - l->head];
	int64_t size, moved;

	if (s->sometimes || g->what.mem.narrow || g->what.mem.seg == X86_GS)
		return -1;
	memset(a, 0, sizeof(*a));
	a->mem = g->what.mem;
	a->mem.disp = 0;
	if (!g->what.mem.rip && (trace_back(&s->values, &a->mem.base, 1, a) ||
			    trace_back(&s->values, &a->mem.index, g->what.mem.scale, a)))
		return -1;
	moved = a->mem.disp;
	a->mem.disp = 0;
	a->low = g->what.low + moved;
	a->high = g->what.high + moved;
	a->count = g->what.count;
	a->members = moca_exact_alloc((size_t)g->what.count * sizeof(*a->members));
	for (int i = 0; i < g->what.count; i++) {
		a->members[i] = g->what.members[i];
		a->members[i].disp += moved;
		a->load += g->what.members[i].load;
		a->store += g->what.members[i].store;
	}
	size = a->step < 0 ? -a->step : a->step;
	if (size)
		a->enough = (1ull << moca_exact.shift) / 2 / (uint64_t)size;
	if (size && size <= 1l << moca_exact.shift)
		a->reciprocal = ((1ull << RECIPROCAL_BITS) + (uint64_t)size -
				 1) / (uint64_t)size;
	return 0;
}

static void drop(struct work *w, struct description *d, int *which, int i)
{
	w->groups[which[i]].deferred = 0;
	d->count--;
	d->groups[i] = d->groups[d->count];
	which[i] = which[d->count];
}

/*
 * How many iterations pay, of so many groups. Measured: what counting costs in an
 * iteration is hidden by what else there is to wait for the less, the more it is;
 * to begin and to end costs 40 to 80 ns.
 */
static int64_t long_trips(int groups)
{
	return 32 + 192 / groups;
}

static uint64_t moves(const struct affine *a)
{
	return (uint64_t)(a->step < 0 ? -a->step : a->step);
}

/* The one that leaves its granules most often. */
static int fastest(const struct description *d)
{
	int at = 0;

	for (int i = 1; i < d->count; i++)
		if (moves(&d->groups[i]) > moves(&d->groups[at]))
			at = i;
	return at;
}

/*
 * Stretches must be twice as long as a loop must be, so that it does not matter
 * what each takes; they are of one to two granules. Those that leave their granules
 * too often for that count as elsewhere, and so does what is too much.
 */
static void select(struct work *w, struct description *d, int *which)
{
	uint64_t size = 1ull << moca_exact.shift;
	int members = 0, at;

	for (int i = 0; i < d->count; i++)
		members += d->groups[i].count;
	while (d->count) {
		at = fastest(d);
		if (members <= (int)ENTRIES &&
		    (moca_exact.setup.debug & DEBUG_ALL_LOOPS ||
		     moves(&d->groups[at]) * 4 *
				     (uint64_t)long_trips(d->count) <= 3 * size))
			return;
		members -= d->groups[at].count;
		drop(w, d, which, at);
	}
}

static void leave_groups(struct work *w, const struct loop *l)
{
	for (int i = 0; i < w->group_count; i++)
		if (w->groups[i].place >= l->head &&
		    w->groups[i].place <= l->last)
			w->groups[i].deferred = 0;
}

static void find_groups(struct work *w, const struct loop *l,
			struct description *d)
{
	int which[LOOP_GROUPS];

	d->count = 0;
	for (int i = 0; i < w->group_count && d->count < LOOP_GROUPS; i++) {
		struct group *g = &w->groups[i];

		if (g->place < l->head || g->place > l->last ||
		    describe(l, g, &d->groups[d->count]))
			continue;
		g->deferred = 1;
		which[d->count++] = i;
	}
	select(w, d, which);
}

/* --- how long it will be ------------------------------------------------------------- */

/* What r moves by in an iteration; 0: it does not move, or nobody knows. */
static int64_t moves_by(const struct work *w, const struct loop *l, int r,
			int *known)
{
	int64_t by = 0;

	*known = 1;
	if (inductive & X86_BIT(r))
		return steps[r];
	for (int i = l->head; i <= l->last; i++) {
		const struct insn *x = &w->insns[i];

		if (!(x->what.writes & X86_BIT(r)))
			continue;
		if (by || !x->compare.add || x->compare.a != r ||
		    states[i - l->head].sometimes)
			*known = 0;
		by = x->compare.add;
	}
	return by;
}

/* The register that had what r has now, but for a constant, when it began. */
static int8_t of_begin(const struct state *s, int8_t r)
{
	return r >= 0 && s->values.version[r] <= 16 ?
		       (int8_t)(s->values.version[r] - 1) : r;
}

/* From the comparison that its last jump depends on. 0, or -1: it does not tell. */
static int find_length(const struct work *w, struct loop *l, int groups)
{
	int known_a, known_b = 1, at = l->last - 1;
	int64_t a, b = 0, enough;
	const struct insn *x;
	int8_t first, second;

	while (at >= l->head && !(w->insns[at].what.kills & X86_FLAGS))
		at--;
	x = &w->insns[at];
	if (at < l->head || x->compare.a < 0 ||
	    w->insns[l->last].what.cc == CC_EQUAL)
		return -1;
	first = of_begin(&states[at - l->head], x->compare.a);
	second = of_begin(&states[at - l->head], x->compare.b);
	a = moves_by(w, l, first, &known_a);
	if (second >= 0)
		b = moves_by(w, l, second, &known_b);
	if (!known_a || !known_b || !a == !b)
		return -1;
	l->size = x->compare.size;
	l->imm = x->compare.imm;
	/* The one that moves comes to the other. */
	l->from = a > 0 || b < 0 ? first : second;
	l->to = a > 0 || b < 0 ? second : first;
	enough = long_trips(groups) * (a + b < 0 ? -(a + b) : a + b);
	if (enough > INT32_MAX)
		return -1;
	/* Both ways of comparing with a constant must have room for it. */
	if (x->compare.b < 0 &&
	    (l->imm + enough > INT32_MAX || l->imm - enough < INT32_MIN))
		return -1;
	l->enough = (int32_t)enough;
	/* From 0, most likely; or down to it. */
	if (x->compare.b < 0 && a > 0 && l->imm > 0 && l->imm < enough)
		return -1;
	return 0;
}

/* --- all of it ------------------------------------------------------------------------- */

static struct description **table;
static uint32_t table_count;

static int is_loop(const struct work *w, int head, int last)
{
	if (last - head >= LOOP_INSNS || w->insns[head].live & X86_FLAGS)
		return 0;
	for (int i = head; i < last; i++) {
		const struct insn *x = &w->insns[i];

		if (x->next != i + 1)
			return 0;
		if (x->kind == X86_JCC ? x->jump <= i || x->jump > last :
				       x->kind != X86_PLAIN)
			return 0;
	}
	return 1;
}

static int find_progress(struct description *d)
{
	d->progress = -1;
	for (int r = 0; r < 16; r++)
		if (inductive & X86_BIT(r) && steps[r] &&
		    steps[r] <= PROGRESS_MAX && steps[r] >= -PROGRESS_MAX) {
			d->progress = (int8_t)r;
			d->step = steps[r];
			return 0;
		}
	return -1;
}

static void add(struct work *w, int head, int last)
{
	int all = moca_exact.setup.debug & DEBUG_ALL_LOOPS;
	struct loop *l = &w->loops[w->loop_count];
	static struct description d;
	struct description *kept;
	size_t size;

	*l = (struct loop){ .head = head, .last = last, .from = -1, .to = -1 };
	walk(w, head, last);
	if (find_progress(&d))
		return;
	find_groups(w, l, &d);
	if (!d.count)
		return;
	if (find_length(w, l, d.count) && !all) {
		leave_groups(w, l);
		return;
	}
	if (all)
		l->size = 0;
	size = offsetof(struct description, groups) +
	       (size_t)d.count * sizeof(d.groups[0]);
	kept = moca_exact_alloc(size);
	memcpy(kept, &d, size);
	l->progress = d.progress;
	l->needed = (uint16_t)X86_BIT(d.progress);
	for (int i = 0; i < d.count; i++) {
		const struct x86_mem *m = &d.groups[i].mem;

		if (m->base >= 0)
			l->needed |= (uint16_t)X86_BIT(m->base);
		if (m->index >= 0)
			l->needed |= (uint16_t)X86_BIT(m->index);
	}
	if (!table)
		table = moca_exact_map(DESCRIPTIONS_MAX * sizeof(*table));
	l->number = table_count;
	table[table_count++] = kept;
	w->loop_count++;
	moca_exact.shared->loops++;
}

void moca_exact_loop_places(const struct loop *l, const uint8_t *enter,
			    const uint8_t *leave)
{
	table[l->number]->enter = (uint64_t)enter;
	table[l->number]->leave = (uint64_t)leave;
}

void moca_exact_loops(struct work *w)
{
	w->loop_count = 0;
	if (w->precise || w->writable || w->uncounted ||
	    moca_exact.setup.debug & DEBUG_NO_LOOPS)
		return;
	for (int i = 0; i < w->count; i++) {
		const struct insn *x = &w->insns[i];

		if (w->loop_count == REGION_LOOPS ||
		    table_count == DESCRIPTIONS_MAX)
			return;
		if (x->kind == X86_JCC && x->jump >= 0 && x->jump < i &&
		    is_loop(w, x->jump, i))
			add(w, x->jump, i);
	}
}

/* --- while it runs ----------------------------------------------------------------------- */

#define barrier() __asm__ volatile("" : : : "memory")

/* How many iterations stay in its granule, the first of them at addr. */
static uint64_t room(const struct affine *a, uint64_t addr)
{
	uint64_t size = 1ull << moca_exact.shift, in = addr & (size - 1);

	if (!a->step)
		return MOCA_EXACT_LOOP_ITERATIONS;
	if (a->step > 0)
		in = size - 1 - in;
	return (in * a->reciprocal >> RECIPROCAL_BITS) + 1;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Had the granule such accesses? If not, the next one is a first touch. */
static int touched(struct context *c, uint64_t granule,
		   const struct moca_exact_loop_entry *e)
{
	uint64_t word = *moca_exact_cell(c, granule);

	return (!e->load || (uint32_t)word) && (!e->store || word >> 32);
}

/* For how many iterations it can tell what is accessed. */
static uint64_t put(struct context *c, struct moca_exact_loop_entry *e,
		    const struct affine *a, uint64_t addr, uint32_t load,
		    uint32_t store)
{
	uint64_t split = room(a, addr);

	e->granule = addr >> moca_exact.shift;
	e->load = load;
	e->store = store;
	e->split = (uint32_t)split;
	e->ahead = 0;
	e->way = a->step < 0 ? -1 : 1;
	if (!touched(c, e->granule, e)) {
		moca_exact_count(c, addr, 0, load);
		moca_exact_count(c, addr, 1, store);
		e->ahead = 1;
	}
	return split;
}

static uint64_t base_of(const struct context *c, const struct x86_mem *m)
{
	uint64_t a = m->seg == X86_FS ? c->fs : 0;

	if (m->base >= 0)
		a += c->gpr[m->base];
	if (m->index >= 0)
		a += c->gpr[m->index] * m->scale;
	return a;
}

/* As put, and on into the next granule. */
static uint64_t put_two(struct context *c, struct moca_exact_loop_entry *e,
			const struct affine *a, uint64_t addr, uint32_t load,
			uint32_t store)
{
	uint64_t split = put(c, e, a, addr, load, store);

	if (!a->reciprocal || !touched(c, e->granule + (uint64_t)e->way, e))
		return split;
	return split + room(a, addr + (uint64_t)a->step * split);
}

static uint64_t add_entries(struct context *c, struct moca_exact_loop *l,
			    uint32_t *n, const struct affine *a)
{
	uint64_t base = base_of(c, &a->mem), length = ~0ull;
	uint64_t low = base + (uint64_t)a->low, high = base + (uint64_t)a->high;
	uint64_t last = a->step > 0 ? high : low;

	if (a->count == 1)
		return put_two(c, &l->entry[(*n)++], a, low, a->load, a->store);
	/* All together, if they stay so for a while. */
	if (low >> moca_exact.shift == high >> moca_exact.shift &&
	    room(a, last) >= a->enough)
		return put(c, &l->entry[(*n)++], a, last, a->load, a->store);
	for (int i = 0; i < a->count; i++) {
		const struct x86_member *m = &a->members[i];

		length = least(length, put_two(c, &l->entry[(*n)++], a,
					       base + (uint64_t)m->disp, m->load,
					       m->store));
	}
	return length;
}

void moca_exact_loop_begin(struct context *c, uint64_t number);
void moca_exact_loop_begin(struct context *c, uint64_t number)
{
	struct moca_exact_loop *l = loop_of(c);
	const struct description *d = table[number];
	uint64_t length = MOCA_EXACT_LOOP_ITERATIONS;
	uint32_t n = 0;

	moca_exact_loop_end(c);
	for (int i = 0; i < d->count; i++)
		length = least(length, add_entries(c, l, &n, &d->groups[i]));
	l->start = c->gpr[d->progress];
	l->step = d->step;
	l->now = l->start - (uint64_t)d->step;
	l->limit = l->start + (uint64_t)d->step * length;
	l->done = l->next = 0;
	l->number = (uint32_t)number;
	c->cold_back = d->enter;
	barrier();
	l->entries = n;
}

void moca_exact_loop_leave(struct context *c);
void moca_exact_loop_leave(struct context *c)
{
	c->cold_back = table[loop_of(c)->number]->leave;
	moca_exact_loop_end(c);
}

/* Without a division of 64 bits: it takes long on older CPUs. */
static uint32_t iterations(const struct moca_exact_loop *l)
{
	uint64_t size = (uint64_t)(l->step < 0 ? -l->step : l->step);
	uint64_t moved = l->step < 0 ? l->start - l->now : l->now - l->start;

	return (uint32_t)moved / (uint32_t)size;
}

/*
 * The order of stores is what the collector goes by when we are killed amid them:
 * exact-arena.h.
 */
static void count_part(struct context *c, struct moca_exact_loop *l,
		       uint32_t part, uint64_t granule, uint32_t times)
{
	const struct moca_exact_loop_entry *e = &l->entry[part / 2];
	uint64_t *cell = moca_exact_cell(c, granule);
	uint32_t load = (uint32_t)*cell, store = *cell >> 32;
	uint32_t loads = e->load * times, stores = e->store * times;

	c->slot->apart.stretched += (uint64_t)loads + stores;
	l->word = (uint64_t)(store - stores) << 32 | (load - loads);
	barrier();
	l->next = part + 1;
	barrier();
	*cell = l->word;
	barrier();
	l->done = part + 1;
	barrier();
	if (load < loads)
		moca_exact_cold(c, granule, 0);
	if (store < stores)
		moca_exact_cold(c, granule, 1);
}

void moca_exact_loop_end(struct context *c)
{
	struct moca_exact_loop *l = loop_of(c);
	uint32_t begun;

	if (!l->entries)
		return;
	/* One at least: nobody comes here before that. */
	begun = iterations(l) + 1;
	for (uint32_t i = 0; i < l->entries; i++) {
		const struct moca_exact_loop_entry *e = &l->entry[i];
		uint32_t first = begun < e->split ? begun : e->split;

		if (first > e->ahead)
			count_part(c, l, 2 * i, e->granule, first - e->ahead);
		if (begun > first)
			count_part(c, l, 2 * i + 1,
				   e->granule + (uint64_t)e->way,
				   begun - first);
	}
	l->entries = 0;
}
