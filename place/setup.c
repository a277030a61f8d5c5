// SPDX-License-Identifier: GPL-2.0-or-later
#include "place/setup.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "analysis/symbols/symbols.h"
#include "lib/base/vec.h"

#define MPOL_F_MEMS_ALLOWED 4

struct maker {
	struct place_setup *out;
	struct moca_symbols *symbols;
	const char *program;
	struct moca_place_range *ranges;
	size_t range_count, range_room;
	struct moca_place_static *statics;
	size_t static_count, static_room;
};

/* --- what is found ---------------------------------------------------------- */

static int __attribute__((format(printf, 2, 3)))
not_found(struct place_found *f, const char *fmt, ...)
{
	va_list args;
	int n;

	va_start(args, fmt);
	n = vasprintf(&f->why_not, fmt, args);
	va_end(args);
	if (n < 0)
		f->why_not = NULL;
	return n < 0 ? -ENOMEM : 0;
}

static int add_range(struct maker *m, uint64_t begin, uint64_t end,
		     uint32_t module, uint32_t policy)
{
	if (moca_vec_fit(m->ranges, m->range_room, m->range_count + 1))
		return -ENOMEM;
	m->ranges[m->range_count++] = (struct moca_place_range){
		begin, end, module, policy };
	return 0;
}

/* "main() solve.c:12", "solve.c:12": the file and its line; 0: a function. */
static unsigned line_of(const char *site, char *file, size_t size)
{
	const char *colon = strrchr(site, ':'), *begin;
	char *end;
	unsigned long line;

	if (!colon || colon == site || !isdigit((unsigned char)colon[1]))
		return 0;
	line = strtoul(colon + 1, &end, 10);
	if (*end || line > INT32_MAX)
		return 0;
	begin = strstr(site, "() ");
	begin = begin && begin < colon ? begin + 3 : site;
	if ((size_t)(colon - begin) >= size)
		return 0;
	memcpy(file, begin, (size_t)(colon - begin));
	file[colon - begin] = 0;
	return (unsigned)line;
}

static int find_code(struct moca_module *module, const char *site,
		     struct moca_codes *out)
{
	char text[PATH_MAX];
	unsigned line = line_of(site, text, sizeof(text));
	char *cut;

	if (line)
		return moca_module_line_code(module, text, line, out);
	snprintf(text, sizeof(text), "%s", site);
	/* Arguments are not told apart. */
	cut = strchr(text, '(');
	if (cut && cut > text && !strstr(text, "operator"))
		*cut = 0;
	return moca_module_function_code(module, text, out);
}

/* Each of the wrappers that a site calls. */
static int find_through(struct maker *m, struct moca_module *module,
			const struct place_entry *e, struct place_found *f)
{
	char *names = strdup(e->through), *rest = names, *name;
	struct moca_codes codes = { 0 };
	int err = names ? 0 : -ENOMEM;
	size_t i;

	while (!err && (name = strsep(&rest, ", "))) {
		if (!*name)
			continue;
		err = find_code(module, name, &codes);
		if (err == -ENOENT || err == -ENODATA) {
			err = not_found(f, "'%s' has no function '%s' to go through",
					moca_module_path(module), name);
			break;
		}
	}
	for (i = 0; !err && !f->why_not && i < codes.count; i++)
		err = add_range(m, codes.items[i].begin, codes.items[i].end,
				f->module, MOCA_PLACE_WRAPPER);
	free(codes.items);
	free(names);
	return err;
}

static int find_site(struct maker *m, struct moca_module *module,
		     const struct place_entry *e, struct place_found *f,
		     uint32_t policy)
{
	const char *path = moca_module_path(module);
	struct moca_codes codes = { 0 };
	int err = moca_module_error(module);
	size_t i;

	if (err)
		return not_found(f, "cannot read '%s': %s", path, strerror(-err));
	err = find_code(module, e->site, &codes);

	if (err == -ENODATA)
		err = not_found(f, "'%s' was built without debugging information (-g), which has the lines: name a function, or build it with -g",
				path);
	else if (err == -ENOENT)
		err = not_found(f, "'%s' has no code of it: the line of the call is needed, or a function that was not inlined",
				path);
	if (!err && !f->why_not && e->through)
		err = find_through(m, module, e, f);
	for (i = 0; !err && i < codes.count; i++)
		err = add_range(m, codes.items[i].begin, codes.items[i].end,
				f->module, policy);
	f->pieces = codes.count;
	free(codes.items);
	return err;
}

static int find_object(struct maker *m, struct moca_module *module,
		       const struct place_entry *e, struct place_found *f,
		       uint32_t policy)
{
	const struct moca_variable *v;
	size_t n = moca_module_variables(module, &v), i;

	for (i = 0; i < n; i++) {
		if (v[i].tls || !v[i].size || strcmp(v[i].name, e->object))
			continue;
		if (moca_vec_fit(m->statics, m->static_room,
				 m->static_count + 1))
			return -ENOMEM;
		m->statics[m->static_count++] = (struct moca_place_static){
			v[i].vaddr, v[i].vaddr + v[i].size, f->module, policy };
		f->pieces++;
	}
	if (f->pieces)
		return 0;
	if (moca_module_error(module))
		return not_found(f, "cannot read '%s': %s",
				 moca_module_path(module),
				 strerror(-moca_module_error(module)));
	return not_found(f, "'%s' has no static variable of that name ('moca objects' shows names; of what is on the heap name the site)",
			 moca_module_path(module));
}

/* --- modules ---------------------------------------------------------------- */

static int64_t module_number(struct place_setup *s, const char *path)
{
	char **at;
	size_t i;

	for (i = 0; i < s->module_count; i++)
		if (!strcmp(s->modules[i], path))
			return (int64_t)i;
	at = moca_vec_add(s->modules, s->module_count, s->module_room);
	if (!at)
		return -ENOMEM;
	*at = strdup(path);
	return *at ? (int64_t)i : -ENOMEM;
}

static int find_all(struct maker *m)
{
	struct place_setup *s = m->out;
	struct moca_module *module;
	int err = 0;
	size_t i;

	for (i = 0; !err && i < s->plan->count; i++) {
		const struct place_entry *e = &s->plan->items[i];
		struct place_found *f = &s->found[i];
		const char *path = e->module ? e->module : m->program;
		int64_t number = module_number(s, path);

		module = number < 0 ? NULL :
			 moca_symbols_module(m->symbols, path);
		if (!module)
			return -ENOMEM;
		f->module = (uint32_t)number;
		err = e->site ? find_site(m, module, e, f, (uint32_t)i) :
				find_object(m, module, e, f, (uint32_t)i);
	}
	return err;
}

static void fill_module(struct maker *m, size_t i)
{
	struct moca_place_module *out = moca_place_modules(m->out->head) + i;
	const char *path = m->out->modules[i];
	struct moca_module *module = moca_symbols_module(m->symbols, path);
	struct stat st;

	if (module)
		out->id_size = (uint32_t)moca_module_build_id(module, out->id,
							      sizeof(out->id));
	if (!stat(path, &st)) {
		out->dev = st.st_dev;
		out->ino = st.st_ino;
	}
}

/* --- nodes ------------------------------------------------------------------ */

static void allowed_nodes(uint64_t nodes[MOCA_PLACE_NODES / 64])
{
	int mode;

	memset(nodes, 0, MOCA_PLACE_NODES / 8);
	if (syscall(SYS_get_mempolicy, &mode, nodes, MOCA_PLACE_NODES, NULL,
		    MPOL_F_MEMS_ALLOWED))
		nodes[0] = 1;
}

static unsigned count_nodes(const uint64_t nodes[MOCA_PLACE_NODES / 64])
{
	unsigned n = 0, i;

	for (i = 0; i < MOCA_PLACE_NODES / 64; i++)
		n += (unsigned)__builtin_popcountll(nodes[i]);
	return n;
}

static void fill_policy(struct moca_place_policy *p,
			const struct place_entry *e)
{
	unsigned i;

	p->huge = e->huge;
	p->prefault = e->prefault;
	p->memory = e->memory;
	p->align = e->align;
	p->pad = e->pad;
	memcpy(p->nodes, e->nodes, sizeof(p->nodes));
	if (e->memory == MOCA_PLACE_MEMORY_INTERLEAVE && !e->has_nodes)
		allowed_nodes(p->nodes);
	for (i = 0; i < MOCA_PLACE_NODES; i++)
		if (p->nodes[i / 64] >> i % 64 & 1)
			p->max_node = i + 1;
}

/* --- the file --------------------------------------------------------------- */

static int make_file(struct maker *m)
{
	struct place_setup *s = m->out;
	struct moca_place_head h = {
		.magic = MOCA_PLACE_MAGIC,
		.modules = (uint32_t)s->module_count,
		.policies = (uint32_t)s->plan->count,
		.ranges = (uint32_t)m->range_count,
		.statics = (uint32_t)m->static_count,
	};
	size_t i;

	if (s->module_count > MOCA_PLACE_MAX || m->range_count > MOCA_PLACE_MAX ||
	    m->static_count > MOCA_PLACE_MAX)
		return -E2BIG;
	s->size = moca_place_size(&h);
	s->fd = memfd_create("moca-place", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (s->fd < 0 || ftruncate(s->fd, (off_t)s->size) ||
	    fcntl(s->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW))
		return -errno;
	s->head = mmap(NULL, s->size, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd,
		       0);
	if (s->head == MAP_FAILED) {
		s->head = NULL;
		return -errno;
	}
	*s->head = h;
	s->policies = moca_place_policies(s->head);
	s->placed = moca_place_modules(s->head);
	for (i = 0; i < s->module_count; i++)
		fill_module(m, i);
	for (i = 0; i < s->plan->count; i++)
		fill_policy(s->policies + i, &s->plan->items[i]);
	if (m->range_count)
		memcpy(moca_place_ranges(s->head), m->ranges,
		       m->range_count * sizeof(*m->ranges));
	if (m->static_count)
		memcpy(moca_place_statics(s->head), m->statics,
		       m->static_count * sizeof(*m->statics));
	return 0;
}

int place_setup_make(struct place_setup *out, const struct place_plan *plan,
		     const char *program)
{
	uint64_t nodes[MOCA_PLACE_NODES / 64];
	struct maker m = { .out = out, .program = program };
	int err;

	*out = (struct place_setup){ .fd = -1, .plan = plan };
	allowed_nodes(nodes);
	out->nodes = count_nodes(nodes);
	out->found = calloc(plan->count + 1, sizeof(*out->found));
	if (!out->found)
		return -ENOMEM;
	err = moca_symbols_open(&m.symbols);
	if (err)
		return err;
	err = find_all(&m);
	if (!err)
		err = make_file(&m);
	moca_symbols_close(m.symbols);
	free(m.ranges);
	free(m.statics);
	return err;
}

void place_setup_free(struct place_setup *s)
{
	size_t i;

	for (i = 0; s->found && i < s->plan->count; i++)
		free(s->found[i].why_not);
	free(s->found);
	for (i = 0; i < s->module_count; i++)
		free(s->modules[i]);
	free(s->modules);
	if (s->head)
		munmap(s->head, s->size);
	if (s->fd >= 0)
		close(s->fd);
	*s = (struct place_setup){ .fd = -1 };
}
