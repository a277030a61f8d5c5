// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Which functions are detoured: found by their names in the files that are
 * loaded, each with its own name's cold parts (gcc's NAME.cold).
 */
#include "agent/alloc/detour.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "agent/alloc/emit.h"
#include "agent/alloc/patch.h"
#include "include/abi/alloc-events.h"
#include "lib/code/symfile.h"

#define HOOKS 128

/* A function to look for. */
struct wanted {
	const char *name;
	struct moca_role role;
	uint8_t plain, found;
};

/* A wanted function that was found. */
struct target {
	const struct wanted *wanted;
	struct moca_code code;
	struct moca_prologue prologue;
	const char *why;		/* not done for this reason */
};

struct search {
	struct moca_patcher patcher;
	struct wanted wanted[2 * ALLOC_FN_MAX + 48];
	/* By name_key: may a name be wanted? cc1 has 29,000 that are not. */
	uint8_t maybe[256];
	struct target targets[HOOKS];
	unsigned int wanted_count, target_count;
	unsigned int first;		/* target of the module at hand */
	unsigned int custom_count;	/* the first ones, in all modules */
	unsigned int count;		/* of those wanted, in this module */
	int frees;			/* the executable has one of its own */
	uint64_t usable;		/* its malloc_usable_size */
	/* The module at hand. */
	const struct dl_phdr_info *module;
	unsigned int modules;
	int full;
};

/* Of all that is detoured; hooks stay for ever. */
static struct moca_hook hooks[HOOKS];

#define NO (-1)
/* --- finding ----------------------------------------------------------- */

/* The executable segment that has [addr, addr + len) of the module; or NULL. */
static const Elf64_Phdr *segment_of(const struct dl_phdr_info *m, uint64_t addr,
				    uint64_t len)
{
	for (unsigned int i = 0; i < m->dlpi_phnum; i++) {
		const Elf64_Phdr *p = &m->dlpi_phdr[i];

		if (p->p_type == PT_LOAD && (p->p_flags & PF_X) &&
		    (p->p_flags & PF_R) && addr >= p->p_vaddr &&
		    addr - p->p_vaddr <= p->p_filesz &&
		    len <= p->p_filesz - (addr - p->p_vaddr))
			return p;
	}
	return NULL;
}

static uint8_t name_key(const char *name, size_t len)
{
	return len ? (uint8_t)(len * 31 + (uint8_t)name[len - 1]) : 0;
}

static struct wanted *named(struct search *s, const char *name, size_t len)
{
	if (!s->maybe[name_key(name, len)])
		return NULL;
	for (unsigned int i = 0; i < s->count; i++)
		if (!strncmp(s->wanted[i].name, name, len) &&
		    !s->wanted[i].name[len])
			return &s->wanted[i];
	return NULL;
}

/* A symbol of the module: is it one that is wanted? */
static void find_target(void *arg, const char *name, size_t len,
			const Elf64_Sym *sym)
{
	struct search *s = arg;
	struct wanted *w = named(s, name, len);
	uint64_t addr = s->module->dlpi_addr + sym->st_value;
	struct target *t;

	if (!w)
		return;
	w->found = 1;
	if (w->role.kind == MOCA_ROLE_USABLE) {
		s->usable = addr;
		return;
	}
	for (unsigned int i = s->first; i < s->target_count; i++)
		if (s->targets[i].code.addr == addr)
			return;		/* another name of it */
	if (s->target_count == HOOKS) {
		s->full = 1;
		return;
	}
	t = &s->targets[s->target_count++];
	t->wanted = w;
	t->code = (struct moca_code){ (const uint8_t *)addr, sym->st_size, addr };
	t->why = NULL;
	if (ELF64_ST_TYPE(sym->st_info) == STT_GNU_IFUNC)
		t->why = "it is chosen when the program starts (an ifunc)";
	else if (!sym->st_size)
		t->why = "its size is unknown";
	else if (!segment_of(s->module, sym->st_value, sym->st_size))
		t->why = "it is not in the file's code";
	else
		moca_prologue_find(&s->patcher.zydis, &t->code, &t->prologue,
				   &t->why);
}

/* A symbol of the module: is it the cold part of one that was found? */
static void find_cold(void *arg, const char *name, size_t len,
		      const Elf64_Sym *sym)
{
	struct search *s = arg;
	const char *dot = memchr(name, '.', len);
	struct moca_code cold = { .len = sym->st_size };
	struct wanted *w = dot ? named(s, name, (size_t)(dot - name)) : NULL;

	if (!w || !segment_of(s->module, sym->st_value, sym->st_size))
		return;
	cold.addr = s->module->dlpi_addr + sym->st_value;
	cold.bytes = (const uint8_t *)cold.addr;
	for (unsigned int i = s->first; i < s->target_count; i++) {
		struct target *t = &s->targets[i];

		if (t->wanted == w && !t->why)
			moca_prologue_avoided(&s->patcher.zydis, &cold,
					      &t->code, &t->prologue, &t->why);
	}
}

/* --- doing ------------------------------------------------------------- */

static void detour(struct search *s, struct target *t, int fd)
{
	const Elf64_Phdr *p = segment_of(s->module,
					 t->code.addr - s->module->dlpi_addr, 1);
	struct moca_hook *h = &hooks[t - s->targets];
	struct moca_patched_file f = { .fd = fd };

	h->role = t->wanted->role;
	f.addr = (s->module->dlpi_addr + p->p_vaddr) & -4096ull;
	f.offset = p->p_offset & -4096ull;
	f.prot = PROT_READ | PROT_EXEC | (p->p_flags & PF_W ? PROT_WRITE : 0);
	if (!moca_patch(&s->patcher, &t->code, &t->prologue, &f,
			(const void *)moca_detour_thunk, h, &h->original,
			&t->why))
		t->why = NULL;
}

/* Is the file still the one that was loaded? */
static int same_file(const struct moca_symfile *f, const struct dl_phdr_info *m)
{
	return f->head.e_phnum == m->dlpi_phnum &&
	       !memcmp(f->phdrs, m->dlpi_phdr,
		       m->dlpi_phnum * sizeof(Elf64_Phdr));
}

static int visit_module(struct dl_phdr_info *m, size_t size, void *arg)
{
	const char *path = m->dlpi_name;
	struct search *s = arg;
	struct moca_symfile f;
	struct wanted *w;

	/* The executable comes first, and has no name. */
	if (!s->modules++) {
		path = "/proc/self/exe";
		s->count = s->wanted_count;
	} else {
		s->count = s->custom_count;
		if (!s->count)
			return 1;
	}
	if (segment_of(m, (uint64_t)&moca_detours_install - m->dlpi_addr, 1) ||
	    moca_symfile_open(&f, path))
		return 0;
	s->module = m;
	s->first = s->target_count;
	if (same_file(&f, m))
		moca_symfile_walk(&f, find_target, s);
	if (s->target_count > s->first)
		moca_symfile_walk(&f, find_cold, s);
	w = named(s, "free", 4);
	s->frees |= w && w->plain && w->found;
	for (unsigned int i = s->first; i < s->target_count; i++) {
		struct target *t = &s->targets[i];

		/* Its delete calls the free that everybody calls, or may. */
		if (t->wanted->plain && t->wanted->role.old >= 0 && !s->frees)
			continue;
		if (!t->why)
			detour(s, t, f.fd);
		alloc_emit_detour(t->wanted->name, t->code.addr,
				  t->why ? t->why : "");
	}
	moca_symfile_close(&f);
	return 0;
}

/* --- what is wanted ----------------------------------------------------- */

static struct wanted *want(struct search *s, struct wanted w)
{
	s->maybe[name_key(w.name, strlen(w.name))] = 1;
	s->wanted[s->wanted_count++] = w;
	return &s->wanted[s->wanted_count - 1];
}

static struct wanted *add(struct search *s, const char *name)
{
	struct wanted *w = named(s, name, strlen(name));

	if (w)
		return w;
	w = want(s, (struct wanted){
		name, { MOCA_ALLOC_CUSTOM, NO, NO, NO, NO }, 0, 0
	});
	s->count = s->wanted_count;
	return w;
}

/* Arguments in registers are known; the others are only passed on. */
static int is_known(const struct alloc_fn *fn)
{
	if (fn->arg < 6)
		return 1;
	alloc_emit_detour(fn->name, 0, "only the first six arguments are known");
	return 0;
}

/* One that is both makes a new object of the old one. */
static void add_custom(struct search *s)
{
	const struct alloc_config *c = &alloc_config;

	for (unsigned int i = 0; i < c->fn_count; i++)
		if (is_known(&c->fn[i]))
			add(s, c->fn[i].name)->role.size = (int8_t)c->fn[i].arg;
	for (unsigned int i = 0; i < c->free_count; i++)
		if (is_known(&c->free[i]))
			add(s, c->free[i].name)->role.old =
				(int8_t)c->free[i].arg;
	s->custom_count = s->wanted_count;
}

/* Is the executable's function the one that everybody calls by this name? */
static int is_executables(const char *name)
{
	void *p = dlsym(RTLD_DEFAULT, name);
	struct dl_find_object own, its;
	Elf64_Sym *sym;
	Dl_info info;

	/* dladdr looks at all symbols: a third of a millisecond in cc1. */
	if (!p || _dl_find_object((void *)getauxval(AT_ENTRY), &own) ||
	    _dl_find_object(p, &its) ||
	    own.dlfo_map_start != its.dlfo_map_start)
		return 0;
	/* A symbol that is undefined there is only where it is called from. */
	return dladdr1(p, &info, (void **)&sym, RTLD_DL_SYMENT) && sym &&
	       sym->st_shndx != SHN_UNDEF;
}

static void add_family(struct search *s)
{
	const struct moca_allocator *a;

	if (!is_executables("malloc") && !is_executables("free") &&
	    !is_executables("_Znwm"))
		return;
	for (a = moca_allocators; a->name; a++)
		if (!named(s, a->name, strlen(a->name)))
			want(s, (struct wanted){ a->name, a->role, 1, 0 });
}

static void install(struct search *s)
{
	dl_iterate_phdr(visit_module, s);
	if (s->frees)
		alloc_real.usable = (size_t(*)(void *))s->usable;
	for (unsigned int i = 0; i < s->custom_count; i++)
		if (!s->wanted[i].found)
			alloc_emit_detour(s->wanted[i].name, 0,
					  "there is no function of this name");
	if (s->full)
		alloc_emit_detour("", 0, "too many functions of these names");
}

void moca_detours_install(void)
{
	struct search s = { .wanted_count = 0 };

	add_custom(&s);
	add_family(&s);
	if (!s.wanted_count)
		return;
	switch (moca_zydis_open(&s.patcher.zydis)) {
	case 0:
		moca_detour_prepare();
		install(&s);
		moca_zydis_close(&s.patcher.zydis);
		break;
	default:
		for (unsigned int i = 0; i < s.wanted_count; i++)
			alloc_emit_detour(s.wanted[i].name, 0,
					  "libZydis is not there or another one");
	}
}

/* Our destructor is called then. */
void moca_detour_exit(void)
{
}
