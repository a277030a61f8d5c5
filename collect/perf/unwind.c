// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/perf/unwind.h"

#include <elf.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#include "collect/perf/text.h"
#include "lib/code/cfi.h"

#define RULES (1u << 15)
#define LOADS_MAX 16
#define PHDRS_MAX 64
/* Of one file: no program has as much. */
#define EH_BYTES_MAX (256u << 20)
#define MODULES_MAX 4096u
#define USER_END (1ull << 47)

/* What .eh_frame_hdr and .eh_frame of a file say. */
struct module {
	struct module *next;
	uint64_t dev, ino;
	uint8_t *eh;		/* a copy; NULL: it has none */
	uint64_t eh_len, eh_addr;	/* as linked */
	uint64_t header;	/* of .eh_frame_hdr in it */
	struct { uint64_t offset, len, addr; } loads[LOADS_MAX];
	unsigned int load_count;
};

struct rule {
	uint64_t ip;
	int space;
	uint32_t era;		/* 0: free */
	struct moca_cfi_rule rule;
};

struct unwinder {
	const struct text *text;
	struct module *modules;
	unsigned int module_count;
	uint32_t era;
	struct rule rules[RULES];
};

/* Frame pointers, as compilers without tables of frames keep them. */
static const struct moca_cfi_rule by_frame_pointer = {
	.cfa = MOCA_CFA_RBP, .cfa_off = 16,
	.rbp = MOCA_RBP_AT_CFA, .rbp_off = -16,
};

struct unwinder *unwinder_new(const struct text *text)
{
	struct unwinder *u = calloc(1, sizeof(*u));

	if (u) {
		u->text = text;
		u->era = 1;
	}
	return u;
}

static void free_modules(struct unwinder *u)
{
	struct module *m;

	while ((m = u->modules)) {
		u->modules = m->next;
		free(m->eh);
		free(m);
	}
	u->module_count = 0;
}

void unwinder_free(struct unwinder *u)
{
	if (u)
		free_modules(u);
	free(u);
}

void unwinder_changed(struct unwinder *u)
{
	if (u && !++u->era)
		u->era = 1;
}

static int read_all(int fd, void *buf, uint64_t len, uint64_t offset)
{
	uint64_t done = 0;
	ssize_t n;

	if (offset > INT64_MAX - len)
		return 0;
	while (done < len) {
		n = pread(fd, (char *)buf + done, len - done,
			  (off_t)(offset + done));
		if (n <= 0)
			return 0;
		done += (uint64_t)n;
	}
	return 1;
}

/*
 * From .eh_frame_hdr, or from .eh_frame if that lies before it, to the end of
 * the segment in the file.
 */
static void read_eh(struct module *m, int fd, const Elf64_Phdr *eh)
{
	uint64_t begin = eh->p_vaddr, frames;
	uint8_t head[8];
	int32_t rel;

	if (!read_all(fd, head, sizeof(head), eh->p_offset))
		return;
	if (head[1] == 0x1b) {	/* DW_EH_PE_pcrel | DW_EH_PE_sdata4 */
		memcpy(&rel, head + 4, sizeof(rel));
		frames = eh->p_vaddr + 4 + (uint64_t)(int64_t)rel;
		if (frames < begin)
			begin = frames;
	}
	for (unsigned int i = 0; i < m->load_count; i++) {
		uint64_t len = m->loads[i].len, in = begin - m->loads[i].addr;

		if (eh->p_vaddr - m->loads[i].addr >= len || in >= len ||
		    len - in > EH_BYTES_MAX)
			continue;
		m->eh = malloc(len - in);
		if (!m->eh || !read_all(fd, m->eh, len - in,
					m->loads[i].offset + in)) {
			free(m->eh);
			m->eh = NULL;
			return;
		}
		m->eh_len = len - in;
		m->eh_addr = begin;
		m->header = eh->p_vaddr - begin;
		return;
	}
}

static void read_module(struct module *m, int fd)
{
	Elf64_Phdr ph[PHDRS_MAX], *eh = NULL;
	Elf64_Ehdr e;

	if (!read_all(fd, &e, sizeof(e), 0) || memcmp(e.e_ident, ELFMAG, SELFMAG) ||
	    e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_phnum > PHDRS_MAX ||
	    e.e_phentsize != sizeof(*ph) ||
	    !read_all(fd, ph, e.e_phnum * sizeof(*ph), e.e_phoff))
		return;
	for (unsigned int i = 0; i < e.e_phnum; i++) {
		if (ph[i].p_type == PT_GNU_EH_FRAME)
			eh = &ph[i];
		if (ph[i].p_type != PT_LOAD || m->load_count == LOADS_MAX)
			continue;
		m->loads[m->load_count].offset = ph[i].p_offset;
		m->loads[m->load_count].len = ph[i].p_filesz;
		m->loads[m->load_count++].addr = ph[i].p_vaddr;
	}
	if (eh)
		read_eh(m, fd, eh);
}

/* What is known of the file, which is read on its first use. NULL: no memory. */
static struct module *get_module(struct unwinder *u, const struct text_range *r)
{
	struct module *m;

	for (m = u->modules; m; m = m->next)
		if (m->dev == r->dev && m->ino == r->ino)
			return m;
	if (u->module_count == MODULES_MAX)
		free_modules(u);
	m = calloc(1, sizeof(*m));
	if (!m)
		return NULL;
	m->dev = r->dev;
	m->ino = r->ino;
	read_module(m, r->fd);
	m->next = u->modules;
	u->modules = m;
	u->module_count++;
	return m;
}

static struct moca_cfi_rule find_rule(struct unwinder *u, int space, uint64_t ip)
{
	struct text_range r;
	struct module *m;
	uint64_t offset;

	if (text_open(u->text, space, ip, &r))
		return by_frame_pointer;
	m = get_module(u, &r);
	close(r.fd);
	if (!m || !m->eh)
		return by_frame_pointer;
	offset = r.offset + (ip - r.start);
	for (unsigned int i = 0; i < m->load_count; i++) {
		uint64_t in = offset - m->loads[i].offset;

		if (in < m->loads[i].len)
			return moca_cfi_parse(m->eh, m->eh + m->eh_len,
					      m->eh + m->header,
					      (uint64_t)m->eh +
					      (m->loads[i].addr + in -
					       m->eh_addr));
	}
	return by_frame_pointer;
}

static struct moca_cfi_rule rule_at(struct unwinder *u, int space, uint64_t ip)
{
	uint64_t hash = (ip ^ (uint64_t)space << 40) * 0x9e3779b97f4a7c15ull;
	struct rule *e = &u->rules[hash >> 49];

	if (e->ip != ip || e->space != space || e->era != u->era) {
		e->rule = find_rule(u, space, ip);
		e->ip = ip;
		e->space = space;
		e->era = u->era;
	}
	return e->rule;
}

struct cursor {
	const struct user_stack *s;
	uint64_t ip, sp, bp;
	int bp_known;
	int exact;		/* ip is of an instruction, not a return */
};

static int read_word(const struct cursor *c, uint64_t addr, uint64_t *value)
{
	uint64_t at = addr - c->s->sp;

	if (addr < c->sp || c->s->bytes < 8 || at > c->s->bytes - 8)
		return 0;
	memcpy(value, c->s->copy + at, 8);
	return 1;
}

/* What a signal interrupted: its registers are in the handler's frame. */
static int step_signal(struct cursor *c)
{
	const uint64_t at = c->sp + offsetof(ucontext_t, uc_mcontext.gregs);
	uint64_t ip, sp, bp;

	if (!read_word(c, at + 8 * REG_RIP, &ip) ||
	    !read_word(c, at + 8 * REG_RSP, &sp) ||
	    !read_word(c, at + 8 * REG_RBP, &bp) || sp <= c->sp)
		return 0;
	c->ip = ip;
	c->sp = sp;
	c->bp = bp;
	c->bp_known = 1;
	c->exact = 1;
	return 1;
}

/* To the caller's frame. 0: it cannot be told; -1: there is none. */
static int step(struct unwinder *u, int space, struct cursor *c)
{
	struct moca_cfi_rule r = rule_at(u, space, c->exact ? c->ip : c->ip - 1);
	uint64_t cfa, ra;

	switch (r.cfa) {
	case MOCA_CFA_RSP:
		cfa = c->sp + (uint64_t)(int64_t)r.cfa_off;
		break;
	case MOCA_CFA_RBP:
		if (!c->bp_known)
			return 0;
		cfa = c->bp + (uint64_t)(int64_t)r.cfa_off;
		break;
	case MOCA_CFA_AT_RBP:
		if (!c->bp_known ||
		    !read_word(c, c->bp + (uint64_t)(int64_t)r.cfa_off, &cfa))
			return 0;
		break;
	case MOCA_CFA_SIGNAL:
		return step_signal(c);
	case MOCA_CFA_END:
		return -1;
	default:
		return 0;
	}
	if (cfa <= c->sp || cfa & 7 || !read_word(c, cfa - 8, &ra))
		return 0;
	if (r.rbp == MOCA_RBP_AT_CFA)
		c->bp_known = read_word(c, cfa + (uint64_t)(int64_t)r.rbp_off,
					&c->bp);
	else if (r.rbp == MOCA_RBP_AT_RBP && c->bp_known)
		c->bp_known = read_word(c, c->bp + (uint64_t)(int64_t)r.rbp_off,
					&c->bp);
	else if (r.rbp != MOCA_RBP_KEPT)
		c->bp_known = 0;
	c->ip = ra;
	c->sp = cfa;
	c->exact = 0;
	return ra ? 1 : -1;
}

uint32_t unwinder_walk(struct unwinder *u, int space,
		       const struct user_stack *s, uint64_t *frames,
		       uint32_t *flags)
{
	struct cursor c = {
		.s = s, .ip = s->ip, .sp = s->sp, .bp = s->bp,
		.bp_known = 1, .exact = 1,
	};
	uint32_t n = 0;
	int more = 1;

	while (more > 0 && n < MOCA_STACK_FRAMES_MAX && c.ip < USER_END) {
		frames[n++] = c.ip;
		more = step(u, space, &c);
	}
	if (!n)
		frames[n++] = s->ip;
	*flags = more < 0 ? 0 : MOCA_STACK_CUT;
	return n;
}
