// SPDX-License-Identifier: GPL-2.0-or-later
/* From linkers' names to those of C++ and Fortran. */
#include <ctype.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/symbols/tables.h"

/* In libsupc++, and allocates nothing. 0: it is no such name. */
int __gcclibcxx_demangle_callback(const char *mangled,
				  void (*each)(const char *text, size_t len,
					       void *arg), void *arg);

/* Longer names are those of a generator, or of a hostile file. */
#define NAME_MAX_LEN 16384
/* 300 bytes can stand for gigabytes: each part may be the last one twice. */
#define PRETTY_MAX_LEN 65536

#define PACK_REFS_MAX 40

struct pretty {
	jmp_buf too_long;
	size_t len;
	char text[PRETTY_MAX_LEN];
};

static void say(const char *text, size_t len, void *arg)
{
	struct pretty *p = arg;

	if (len > sizeof(p->text) - p->len)
		longjmp(p->too_long, 1);
	memcpy(p->text + p->len, text, len);
	p->len += len;
}

/*
 * What a pack expansion is of is searched for the pack, without printing: each
 * two substitutions in it may double the time.
 */
static int searches_long(const char *raw)
{
	const char *p = strstr(raw, "Dp"), *q = strstr(raw, "sZ");
	unsigned n = 0;

	if (!p || (q && q < p))
		p = q;
	for (; p && (p = strchr(p, 'S')); p++)
		n += p[1 + strspn(p + 1, "0123456789"
				  "ABCDEFGHIJKLMNOPQRSTUVWXYZ")] == '_';
	return n > PACK_REFS_MAX;
}

/* NULL: it is no name of C++, or too long to be one of a program's. */
static char *demangle_cxx(struct moca_symbols *s, const char *raw)
{
	struct pretty *p;
	char *name = NULL;
	int ret;

	if (searches_long(raw))
		return NULL;
	p = malloc(sizeof(*p));
	if (!p)
		return NULL;
	p->len = 0;
	if (setjmp(p->too_long)) {
		free(p);
		return NULL;
	}
	ret = __gcclibcxx_demangle_callback(raw, say, p);
	if (!ret)
		name = arena_string(s, p->text, p->len);
	free(p);
	return name;
}

/* "__mod_MOD_u" -> "mod::u"; NULL if it is no such name. */
static char *fortran_module(struct moca_symbols *s, const char *raw)
{
	const char *sep;

	if (strncmp(raw, "__", 2))
		return NULL;
	sep = strstr(raw + 2, "_MOD_");
	if (!sep || sep == raw + 2 || !sep[5])
		return NULL;
	return arena_printf(s, "%.*s::%s", (int)(sep - raw - 2), raw + 2,
			    sep + 5);
}

/*
 * gfortran's own symbols are in lower case and end in one '_'. Only for modules
 * that call its library: in C such a name is a name.
 */
static int fortran_plain(const char *raw, size_t len)
{
	if (len < 2 || raw[len - 1] != '_' || raw[len - 2] == '_')
		return 0;
	for (size_t i = 0; i < len; i++)
		if (!islower((unsigned char)raw[i]) &&
		    !isdigit((unsigned char)raw[i]) && raw[i] != '_')
			return 0;
	return isalpha((unsigned char)raw[0]);
}

static const char *demangle(struct moca_module *m, const char *raw)
{
	struct moca_symbols *s = m->symbols;
	size_t len = strcspn(raw, "@");	/* a version: "stdout@GLIBC_2.2.5" */
	char *plain, *name;

	if (!raw[0] || len > NAME_MAX_LEN)
		return NULL;
	name = fortran_module(s, raw);
	if (name)
		return name;
	plain = arena_string(s, raw, len);
	if (!plain)
		return NULL;
	if (!strncmp(plain, "_Z", 2)) {
		name = demangle_cxx(s, plain);
		return name ? name : plain;
	}
	if (m->fortran && fortran_plain(plain, len))
		plain[len - 1] = '\0';
	return plain;
}

const char *demangle_function(struct moca_module *m, const char *raw)
{
	return demangle(m, raw);
}

/* Behind the last "::" that is in no brackets. */
static const char *last_part(const char *name)
{
	const char *last = name;
	int depth = 0;

	for (const char *p = name; *p; p++) {
		if (strchr("(<{[", *p))
			depth++;
		else if (strchr(")>}]", *p))
			depth--;
		else if (depth == 0 && p[0] == ':' && p[1] == ':' && p[2])
			last = p + 2;
	}
	return last;
}

const char *demangle_variable(struct moca_module *m, const char *raw)
{
	const char *name;
	char *cut, *dot;

	name = demangle(m, raw);
	if (!name)
		return NULL;
	/* A local one, "f()::u": as its declaration says it. */
	if (!strncmp(raw, "_ZZ", 3))
		return last_part(name);
	if (!strncmp(raw, "_Z", 2))
		return name;
	/* "u.0", "options.17.0": a function's own, numbered by the compiler. */
	cut = arena_string(m->symbols, name, strlen(name));
	if (!cut)
		return name;
	for (;;) {
		dot = strrchr(cut, '.');
		if (!dot || dot == cut || !dot[1] ||
		    strspn(dot + 1, "0123456789") != strlen(dot + 1))
			break;
		*dot = '\0';
	}
	return cut;
}
