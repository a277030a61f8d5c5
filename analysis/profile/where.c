// SPDX-License-Identifier: GPL-2.0-or-later
#include "analysis/profile/where.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define INLINED 8		/* levels that are looked at */
#define WORD 4			/* bytes: members are looked for at each */

static const struct moca_task *task_of(const struct moca_trace *t, uint32_t id)
{
	size_t i, n = moca_trace_task_count(t);

	for (i = 0; i < n; i++)
		if (moca_trace_task(t, i)->id == id)
			return moca_trace_task(t, i);
	return NULL;
}

static int is_system(const char *file)
{
	return file && (!strncmp(file, "/usr/include/", 13) ||
			!strncmp(file, "/usr/lib/gcc/", 13));
}

int moca_where_ip(struct moca_objects *o, struct moca_trace *t, uint32_t pid,
		  uint64_t ip, uint64_t ns, struct moca_location *out,
		  struct moca_module **module)
{
	struct moca_location where[INLINED];
	const struct moca_mapping *m;
	uint64_t vaddr;
	size_t i, n;

	*module = NULL;
	m = ip ? moca_trace_find_mapping(t, pid, ip, ns) : NULL;
	if (!m || m->name[0] != '/')
		return -ENOENT;
	*module = moca_symbols_module(moca_objects_symbols(o), m->name);
	if (!*module ||
	    moca_module_vaddr(*module, ip - m->addr + m->offset, &vaddr))
		return -ENOENT;
	n = moca_module_locate(*module, vaddr, where, INLINED);
	for (i = 0; i < n && is_system(where[i].file); i++)
		;
	if (!n || !where[i < n ? i : 0].function)
		return -ENOENT;
	*out = where[i < n ? i : 0];
	return 0;
}

int moca_where_code(const struct moca_profile *p, struct moca_trace *t,
		    uint32_t task, uint64_t ip, uint64_t ns,
		    struct moca_location *out, const char **path)
{
	const struct moca_task *who = ip ? task_of(t, task) : NULL;
	struct moca_module *module;

	if (!who || moca_where_ip(p->objects, t, who->pid, ip, ns, out, &module))
		return -ENOENT;
	*path = moca_module_path(module);
	return 0;
}

const char *moca_where_code_text(const struct moca_profile *p,
				 struct moca_trace *t, uint32_t task,
				 uint64_t ip, uint64_t ns, char *buf,
				 size_t len)
{
	struct moca_location at;
	const char *path, *file;

	*buf = 0;
	if (moca_where_code(p, t, task, ip, ns, &at, &path))
		return buf;
	if (at.file && at.line) {
		file = strrchr(at.file, '/');
		snprintf(buf, len, "%s() %s:%u", at.function,
			 file ? file + 1 : at.file, at.line);
	} else {
		snprintf(buf, len, "%s() of %s", at.function,
			 strrchr(path, '/') + 1);
	}
	return buf;
}

/* Is the row's first object all that it has, at any time? */
static int is_one(const struct moca_object *o)
{
	return o->addr && (o->instances == 1 || o->kind == MOCA_OBJECT_STATIC);
}

const char *moca_where_byte(const struct moca_object *o, uint64_t addr,
			    char *buf, size_t len)
{
	uint64_t at = addr - o->addr;

	if (!is_one(o) || at >= o->size) {
		snprintf(buf, len, "%s", o->name);
		return buf;
	}
	moca_shape_byte(o->shape, o->name, o->size, at, buf, len);
	if (at && !strcmp(buf, o->name) && o->size > 2 * sizeof(long))
		snprintf(buf, len, "%s+%" PRIu64, o->name, at);
	return buf;
}

/* Of one object, what lies in [addr, addr + MOCA_LINE). */
static size_t say_object(const struct moca_object *o, uint64_t addr, char *buf,
			 size_t len, size_t used, unsigned *apart)
{
	char last[160] = "", name[160];
	uint64_t at, end = addr + MOCA_LINE;

	for (at = addr > o->addr ? addr : o->addr;
	     at < end && at - o->addr < o->size && used < len; at += WORD) {
		moca_where_byte(o, at, name, sizeof(name));
		/*
		 * A number of several words has one name, which is told once. A
		 * name without a member is of padding between members.
		 */
		if (!strcmp(name, last) ||
		    (at > addr && at > o->addr && !strchr(name, '.') &&
		     !strchr(name, '[') && !strchr(name, '(')))
			continue;
		snprintf(last, sizeof(last), "%s", name);
		used += (size_t)snprintf(buf + used, len - used, "%s%s",
					 *apart ? ", " : "", name);
		++*apart;
	}
	return used;
}

const char *moca_where_line(const struct moca_profile *p,
			    const struct moca_object *o, uint64_t addr,
			    char *buf, size_t len, unsigned *apart)
{
	const struct moca_object *x;
	size_t i, used = 0;

	*apart = 0;
	*buf = 0;
	for (i = 0; i < p->count; i++) {
		x = p->rows[i].object;
		if (is_one(x) && x->addr < addr + MOCA_LINE &&
		    addr < x->addr + x->size &&
		    !strcmp(x->program, o->program))
			used = say_object(x, addr, buf, len, used, apart);
	}
	if (!*apart)
		snprintf(buf, len, "%s", o->name);
	else if (used >= len && len > 4)
		strcpy(buf + len - 4, "...");
	return buf;
}
