// SPDX-License-Identifier: GPL-2.0-or-later
/* Call stacks of allocations: resolved and named once, however often told. */
#include "analysis/objects/replay.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FRAMES_MAX 64

static uint64_t hash_frames(const struct moca_site_frame *f, size_t n)
{
	uint64_t h = n;
	size_t i;

	for (i = 0; i < n; i++)
		h = moca_mix(moca_mix(h ^ (uintptr_t)f[i].module) ^
			     f[i].vaddr);
	return h;
}

/* "f() at file.c:12", as far as it is known. */
static const char *site_text(struct moca_objects *o, const struct site *s)
{
	const struct moca_site *m = &s->site;
	const char *slash, *path;

	if (m->function && m->file) {
		slash = strrchr(m->file, '/');
		return moca_objects_text(o, "%s%s at %s:%u", m->function,
					 strchr(m->function, '(') ? "" : "()",
					 slash ? slash + 1 : m->file, m->line);
	}
	if (m->function)
		return moca_objects_text(o, "%s", m->function);
	if (m->frame < s->count && s->frames[m->frame].module) {
		path = moca_module_path(s->frames[m->frame].module);
		slash = strrchr(path, '/');
		return moca_objects_text(o, "%s+0x%" PRIx64,
					 slash ? slash + 1 : path,
					 s->frames[m->frame].vaddr);
	}
	if (s->count)
		return moca_objects_text(o, "0x%" PRIx64, s->frames[0].vaddr);
	return moca_objects_text(o, "no call stack");
}

static int name_site(struct moca_objects *o, struct site *s)
{
	int err;

	err = moca_symbols_site(o->symbols, s->frames, s->count, &s->site);
	if (err)
		return err;
	s->text = site_text(o, s);
	if (!s->text)
		return -ENOMEM;
	s->name = s->site.name ? moca_strings_intern(&o->table.strings,
						     s->site.name) :
				 moca_objects_text(o, "heap object");
	return s->name ? 0 : -ENOMEM;
}

/* The site of these frames; index or -ENOMEM. */
static int64_t find_site(struct moca_objects *o,
			 const struct moca_site_frame *f, size_t n)
{
	uint64_t hash = hash_frames(f, n);
	struct site *s;
	uint32_t i;
	int err;

	moca_index_each(i, &o->site_index, hash) {
		s = &o->sites[i];
		if (s->count == n && (!n || !memcmp(s->frames, f,
						    n * sizeof(*f))))
			return i;
	}
	err = moca_vec_fit(o->sites, o->site_cap, o->site_count + 1);
	if (err)
		return err;
	s = &o->sites[o->site_count];
	*s = (struct site){ .count = n };
	s->frames = malloc(n * sizeof(*f) + 1);
	if (!s->frames)
		return -ENOMEM;
	if (n)
		memcpy(s->frames, f, n * sizeof(*f));
	i = (uint32_t)o->site_count++;
	err = moca_index_add(&o->site_index, hash, i);
	if (!err)
		err = name_site(o, s);
	return err ? err : (int64_t)i;
}

static int64_t find_binding(struct moca_objects *o, const char *program,
			    uint32_t site)
{
	uint64_t hash = moca_mix((uintptr_t)program ^ (uint64_t)site << 40);
	uint32_t i;

	moca_index_each(i, &o->binding_index, hash)
		if (o->bindings[i].program == program &&
		    o->bindings[i].site == site)
			return i;
	i = (uint32_t)o->binding_count;
	if (moca_vec_fit(o->bindings, o->binding_cap, o->binding_count + 1) ||
	    moca_index_add(&o->binding_index, hash, i))
		return -ENOMEM;
	o->bindings[o->binding_count++] = (struct binding){
		.program = program, .site = site, .heap = -1, .small = -1,
	};
	return i;
}

int64_t moca_objects_binding(struct moca_objects *o, struct replay_space *s,
			     const uint64_t *frames, size_t n)
{
	struct moca_site_frame f[FRAMES_MAX];
	const char *program = moca_space_program(o, s);
	const struct load *l;
	int64_t site;
	size_t i;

	if (!program)
		return -ENOMEM;
	if (n > FRAMES_MAX)
		n = FRAMES_MAX;
	memset(f, 0, sizeof(f));
	for (i = 0; i < n; i++) {
		/* A return address belongs to the call before it. */
		l = moca_space_load(s, frames[i] - 1);
		f[i].module = l ? l->module : NULL;
		f[i].vaddr = frames[i] - 1 - (l ? l->bias : 0);
	}
	site = find_site(o, f, n);
	return site < 0 ? site : find_binding(o, program, (uint32_t)site);
}

int64_t moca_objects_binding_row(struct moca_objects *o, uint32_t binding,
				 enum moca_object_kind kind)
{
	struct binding *b = &o->bindings[binding];
	int64_t *row = kind == MOCA_OBJECT_SMALL ? &b->small : &b->heap;
	const struct site *s = &o->sites[b->site];
	struct moca_object *r;

	if (*row >= 0)
		return *row;
	*row = moca_table_row(&o->table, b->program, kind, s->name, s->text);
	if (*row < 0)
		return *row;
	r = &o->table.rows[*row].o;
	r->named = s->site.name != NULL;
	if (!r->shape)
		r->shape = s->site.shape;
	/* The sites are moved when they become more: see finish(). */
	o->table.rows[*row].site = b->site + 1;
	return *row;
}
