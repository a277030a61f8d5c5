// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The modules of the plan in this process: where they are, their variables, and
 * their tables of functions, in which the calls of allocators are led to us.
 */
#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unwind.h>

#include "agent/place/place.h"
#include "lib/base/arch.h"

#define PAGE 4096ul
#define COPIES 64	/* of modules that are loaded more than once, in all */

/* A module of the plan, as it is loaded. */
struct loaded {
	uint64_t bias, begin, end;
	uint32_t module;
};

/* Published whole, and never changed or freed: any thread may read it. */
struct table {
	uint32_t count;
	struct loaded items[];
};

static struct table *table;
uint64_t place_cache[PLACE_CACHE];

/* --- which policy a call has ---------------------------------------------- */

static const struct loaded *loaded_at(uint64_t addr)
{
	/* Pairs with the release in publish(). */
	const struct table *t = __atomic_load_n(&table, __ATOMIC_ACQUIRE);
	uint32_t i;

	for (i = 0; t && i < t->count; i++)
		if (addr - t->items[i].begin <
		    t->items[i].end - t->items[i].begin)
			return &t->items[i];
	return NULL;
}

/* The first in the plan's order that is no wrapper. */
static uint32_t policy_at(uint64_t addr)
{
	const struct loaded *l = loaded_at(addr);
	const struct moca_place_range *r = moca_place_ranges(place_plan);
	uint32_t i, policy = PLACE_NONE;

	for (i = 0; l && i < place_plan->ranges; i++) {
		if (r[i].module != l->module ||
		    addr - l->bias - r[i].begin >= r[i].end - r[i].begin)
			continue;
		if (r[i].policy != MOCA_PLACE_WRAPPER)
			return r[i].policy;
		policy = PLACE_WRAPPER;
	}
	return policy;
}

static uint32_t policy_of(uint64_t ret)
{
	uint64_t *at = &place_cache[ret % PLACE_CACHE];
	uint64_t e = __atomic_load_n(at, __ATOMIC_RELAXED);
	uint32_t policy;

	if (e && e >> 16 == ret) {
		policy = e & 0xffff;
	} else {
		/* The call is what ends at ret. */
		policy = policy_at(ret - 1);
		__atomic_store_n(at, ret << 16 | policy, __ATOMIC_RELAXED);
	}
	return policy;
}

/* --- behind wrappers -------------------------------------------------------- */

#define WALK_MAX 64		/* frames, ours included */

struct walk {
	uint64_t ret;		/* where it begins */
	int is_inside;		/* of the wrapper, from there on */
	unsigned frames;
	uint32_t policy;
};

/* No further than to who called the wrappers. */
static _Unwind_Reason_Code look(struct _Unwind_Context *c, void *arg)
{
	struct walk *w = arg;
	uint64_t ip = _Unwind_GetIP(c);

	if (ip == w->ret)
		w->is_inside = 1;
	if (w->is_inside)
		w->policy = policy_of(ip);
	if (++w->frames == WALK_MAX ||
	    (w->is_inside && w->policy != PLACE_WRAPPER))
		return _URC_END_OF_STACK;
	return _URC_NO_REASON;
}

struct moca_place_policy *place_policy_slow(uint64_t ret)
{
	uint32_t policy = policy_of(ret);
	struct walk w = { .ret = ret, .policy = PLACE_NONE };

	if (policy == PLACE_WRAPPER) {
		_Unwind_Backtrace(look, &w);
		policy = w.policy;
	}
	return policy >= PLACE_WRAPPER ? NULL :
	       moca_place_policies(place_plan) + policy;
}

/* --- which modules are the plan's ----------------------------------------- */

/* The note with the build id, in one of the module's segments. */
static const uint8_t *build_id(const struct dl_phdr_info *info, uint32_t *size)
{
	const ElfW(Phdr) *ph = info->dlpi_phdr;
	uint64_t at, end, next;
	const ElfW(Nhdr) *n;
	int i;

	for (i = 0; i < info->dlpi_phnum; i++) {
		if (ph[i].p_type != PT_NOTE)
			continue;
		at = info->dlpi_addr + ph[i].p_vaddr;
		end = at + ph[i].p_memsz;
		while (end - at >= sizeof(*n)) {
			n = (const ElfW(Nhdr) *)at;
			next = sizeof(*n) + ((n->n_namesz + 3ull) & ~3ull) +
			       ((n->n_descsz + 3ull) & ~3ull);
			if (next > end - at)
				break;
			if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == 4 &&
			    !memcmp(n + 1, "GNU", 4)) {
				*size = n->n_descsz;
				return (const uint8_t *)(n + 1) + 4;
			}
			at += next;
		}
	}
	return NULL;
}

static int is_module(const struct moca_place_module *m, const uint8_t *id,
		     uint32_t size, const struct stat *st)
{
	if (m->id_size)
		return id && size == m->id_size && !memcmp(m->id, id, size);
	return !id && st->st_ino && m->dev == st->st_dev &&
	       m->ino == st->st_ino;
}

/* Its number in the plan, or -1. */
static int64_t find_module(const struct dl_phdr_info *info)
{
	struct moca_place_module *m = moca_place_modules(place_plan);
	const char *path = info->dlpi_name[0] ? info->dlpi_name :
						"/proc/self/exe";
	struct stat st = { 0 };
	uint32_t i, size = 0;
	const uint8_t *id = build_id(info, &size);

	if (!id && stat(path, &st))
		return -1;
	for (i = 0; i < place_plan->modules; i++)
		if (is_module(&m[i], id, size, &st))
			return i;
	return -1;
}

/* --- the table of functions ----------------------------------------------- */

struct tables {
	const struct loaded *l;
	const ElfW(Rela) *plt, *data;
	const ElfW(Sym) *symbols;
	const char *strings;
	uint64_t plt_size, data_size, strings_size;
	uint64_t relro, relro_end;	/* read-only by now */
	int is_open;			/* not at this moment */
	int is_busy;			/* another thread's dlopen relocates it */
};

static int is_within(const struct loaded *l, const void *p, uint64_t size)
{
	uint64_t at = (uint64_t)p;

	return at >= l->begin && at <= l->end && size <= l->end - at;
}

/* glibc has made these addresses; other loaders leave them as offsets. */
static const void *pointer(const struct loaded *l, uint64_t value)
{
	return (const void *)(value < l->begin ? value + l->bias : value);
}

static void take(struct tables *t, const ElfW(Dyn) *d)
{
	switch (d->d_tag) {
	case DT_JMPREL:
		t->plt = pointer(t->l, d->d_un.d_ptr);
		break;
	case DT_PLTRELSZ:
		t->plt_size = d->d_un.d_val;
		break;
	case DT_RELA:
		t->data = pointer(t->l, d->d_un.d_ptr);
		break;
	case DT_RELASZ:
		t->data_size = d->d_un.d_val;
		break;
	case DT_SYMTAB:
		t->symbols = pointer(t->l, d->d_un.d_ptr);
		break;
	case DT_STRTAB:
		t->strings = pointer(t->l, d->d_un.d_ptr);
		break;
	case DT_STRSZ:
		t->strings_size = d->d_un.d_val;
		break;
	default:
		break;
	}
}

/* 0: they make no sense. */
static int read_tables(struct tables *t, const struct dl_phdr_info *info)
{
	const ElfW(Phdr) *ph = info->dlpi_phdr;
	const ElfW(Dyn) *d = NULL;
	uint64_t n = 0;
	int i;

	for (i = 0; i < info->dlpi_phnum; i++) {
		uint64_t at = info->dlpi_addr + ph[i].p_vaddr;

		if (ph[i].p_type == PT_DYNAMIC) {
			d = (const ElfW(Dyn) *)at;
			n = ph[i].p_memsz / sizeof(*d);
		} else if (ph[i].p_type == PT_GNU_RELRO) {
			t->relro = at & ~(PAGE - 1);
			t->relro_end = (at + ph[i].p_memsz) & ~(PAGE - 1);
		}
	}
	if (!d || !is_within(t->l, d, n * sizeof(*d)))
		return 0;
	for (; n && d->d_tag != DT_NULL; n--, d++)
		take(t, d);
	return (!t->plt_size || is_within(t->l, t->plt, t->plt_size)) &&
	       (!t->data_size || is_within(t->l, t->data, t->data_size)) &&
	       is_within(t->l, t->strings, t->strings_size) &&
	       is_within(t->l, t->symbols, sizeof(*t->symbols));
}

/* What of ours the relocation is about; NULL: nothing. */
static const struct place_call *call_of(const struct tables *t,
					const ElfW(Rela) *r)
{
	const ElfW(Sym) *s = t->symbols + ELF64_R_SYM(r->r_info);
	const struct place_call *c;
	const char *name;

	if (!is_within(t->l, s, sizeof(*s)) || s->st_shndx != SHN_UNDEF ||
	    s->st_name >= t->strings_size ||
	    !is_within(t->l, (void *)(t->l->bias + r->r_offset), 8))
		return NULL;
	name = t->strings + s->st_name;
	for (c = place_calls; c->name; c++)
		if (!strncmp(c->name, name, t->strings_size - s->st_name))
			return c;
	return NULL;
}

static int is_open(struct tables *t, uint64_t slot)
{
	if (slot < t->relro || slot >= t->relro_end || t->is_open)
		return 1;
	/*
	 * Writable: the loader is at work in another thread, whose dlopen looks here
	 * again. Kernels before 5.14 refuse the call.
	 */
	if (!madvise((void *)t->relro, PAGE, MADV_POPULATE_WRITE))
		t->is_busy = 1;
	if (t->is_busy)
		return 0;
	if (mprotect((void *)t->relro, t->relro_end - t->relro,
		     PROT_READ | PROT_WRITE))
		return 0;
	t->is_open = 1;
	return 1;
}

/* 1: the slot led elsewhere and leads to us now. */
static int lead(struct tables *t, const struct place_call *c, uint64_t slot)
{
	struct moca_place_module *m = moca_place_modules(place_plan) +
				      t->l->module;
	uint64_t now = __atomic_load_n((uint64_t *)slot, __ATOMIC_RELAXED);
	/* Not called yet: it leads to the module's own stub. */
	int is_lazy = now - t->l->begin < t->l->end - t->l->begin;

	/* What leads to another allocator than ours would is left alone. */
	if (!*c->real || now == (uint64_t)c->ours ||
	    (is_lazy ? c->only_bound || place_is_deep() : now != (uint64_t)*c->real))
		return 0;
	if (slot % 8 || !is_open(t, slot)) {
		if (!t->is_busy)
			place_count(&place_plan->unread);
		return 0;
	}
	/* One word: other threads call either. */
	__atomic_store_n((uint64_t *)slot, (uint64_t)c->ours, __ATOMIC_RELEASE);
	place_count(&m->slots);
	return 1;
}

/* How many slots lead to us that did not. */
static unsigned lead_calls(const struct loaded *l,
			   const struct dl_phdr_info *info, int is_new)
{
	struct moca_place_module *m = moca_place_modules(place_plan) + l->module;
	struct tables t = { .l = l };
	const struct place_call *c;
	unsigned n = 0;
	uint64_t i;

	if (!read_tables(&t, info)) {
		if (is_new)
			place_count(&place_plan->unread);
		return 0;
	}
	for (i = 0; i < t.plt_size / sizeof(*t.plt); i++) {
		c = ELF64_R_TYPE(t.plt[i].r_info) == MOCA_ELF_JUMP_SLOT ?
			    call_of(&t, &t.plt[i]) : NULL;
		if (c)
			n += lead(&t, c, l->bias + t.plt[i].r_offset);
	}
	if (t.is_open)
		mprotect((void *)t.relro, t.relro_end - t.relro, PROT_READ);
	/* A program may compare these with other modules' pointers. */
	for (i = 0; is_new && i < t.data_size / sizeof(*t.data); i++)
		if (ELF64_R_TYPE(t.data[i].r_info) == MOCA_ELF_GLOB_DAT &&
		    call_of(&t, &t.data[i]))
			place_count(&m->pointers);
	return n;
}

/* --- all of them ----------------------------------------------------------- */

struct scan {
	struct table *old;
	struct table *now;
};

static void place_variables(const struct loaded *l)
{
	const struct moca_place_static *s = moca_place_statics(place_plan);
	uint32_t i;

	for (i = 0; i < place_plan->statics; i++) {
		if (s[i].module != l->module || s[i].end < s[i].begin ||
		    !is_within(l, (void *)(l->bias + s[i].begin),
			       s[i].end - s[i].begin))
			continue;
		place_apply(moca_place_policies(place_plan) + s[i].policy,
			    (void *)(l->bias + s[i].begin),
			    s[i].end - s[i].begin);
	}
}

static int collect(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct scan *s = arg;
	int64_t module = find_module(info);
	struct loaded l = { info->dlpi_addr, UINT64_MAX, 0, (uint32_t)module };
	int i;

	for (i = 0; module >= 0 && i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uint64_t at = info->dlpi_addr + ph->p_vaddr;

		if (ph->p_type != PT_LOAD)
			continue;
		l.begin = at < l.begin ? at : l.begin;
		l.end = at + ph->p_memsz > l.end ? at + ph->p_memsz : l.end;
	}
	/* What the cache can hold. */
	if (l.begin >= l.end || l.end >> 47)
		return 0;
	if (s->now->count < place_plan->modules + COPIES)
		s->now->items[s->now->count++] = l;
	else
		place_count(&place_plan->unread);
	return 0;
}

static int is_known(const struct table *t, const struct loaded *l)
{
	uint32_t i;

	for (i = 0; t && i < t->count; i++)
		if (t->items[i].bias == l->bias &&
		    t->items[i].module == l->module)
			return 1;
	return 0;
}

static int lead_new(struct dl_phdr_info *info, size_t size, void *arg)
{
	const struct scan *s = arg;
	const struct loaded *l = NULL;
	int is_new;
	uint32_t i;

	for (i = 0; i < s->now->count; i++)
		if (s->now->items[i].bias == info->dlpi_addr &&
		    find_module(info) == s->now->items[i].module)
			l = &s->now->items[i];
	if (!l)
		return 0;
	is_new = !is_known(s->old, l);
	/* Unloaded, and loaded to the same place: its slots are new. */
	is_new |= lead_calls(l, info, is_new) > 0;
	if (is_new) {
		place_count(&moca_place_modules(place_plan)[l->module].loads);
		place_variables(l);
	}
	return 0;
}

/* 0: another thread's was published meanwhile. */
static int publish(struct table *old, struct table *now)
{
	size_t i;

	if (!__atomic_compare_exchange_n(&table, &old, now, 0,
					 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return 0;
	for (i = 0; i < PLACE_CACHE; i++)
		__atomic_store_n(&place_cache[i], 0, __ATOMIC_SEQ_CST);
	return 1;
}

void place_scan(void)
{
	size_t size = sizeof(struct table) +
		      (place_plan->modules + COPIES) * sizeof(struct loaded);
	struct scan s;
	int is_new;

	/* Of two threads whose libraries come at once, neither hides the other's. */
	do {
		/* Pairs with the release below, of another thread. */
		s.old = __atomic_load_n(&table, __ATOMIC_ACQUIRE);
		s.now = mmap(NULL, size, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (s.now == MAP_FAILED) {
			place_count(&place_plan->unread);
			return;
		}
		dl_iterate_phdr(collect, &s);
		is_new = !s.old || s.old->count != s.now->count ||
			 memcmp(s.old->items, s.now->items,
				s.now->count * sizeof(struct loaded));
		/* Pairs with the acquire in loaded_at(). */
		if (is_new && publish(s.old, s.now))
			break;
		munmap(s.now, size);
		s.now = s.old;
	} while (is_new);
	if (!s.now->count)
		return;
	place_find_real();
	dl_iterate_phdr(lead_new, &s);
}
