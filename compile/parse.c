// SPDX-License-Identifier: GPL-2.0-or-later
/* Assembly text to statements; operands. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "compile/asm.h"
#include "lib/base/vec.h"

struct parser {
	struct asm_file *f;
	uint32_t stack[16];
	unsigned int depth;
	uint32_t section, previous;
	bool app, intel;
	int block;		/* depth of .macro, .rept */
	char prefix[64];	/* of the next statement */
};

static const char *const prefixes[] = {
	"lock", "rep", "repz", "repe", "repnz", "repne", "data16", "addr32",
	"notrack", "bnd", "xacquire", "xrelease", NULL
};

static bool is_prefix(const char *s)
{
	size_t i;

	for (i = 0; prefixes[i]; i++)
		if (!strcmp(s, prefixes[i]))
			return true;
	return false;
}

static struct asm_stmt *add(struct parser *p, enum asm_kind kind,
			    const char *text, size_t len)
{
	struct asm_file *f = p->f;
	struct asm_stmt *s;

	if (moca_vec_fit(f->stmts, f->room, f->count + 1))
		return NULL;
	s = &f->stmts[f->count];
	memset(s, 0, sizeof(*s));
	s->kind = kind;
	s->text = strndup(text, len);
	if (!s->text)
		return NULL;
	s->section = p->section;
	s->app = p->app;
	s->intel = p->intel;
	s->what.move_to = -1;
	f->count++;
	return s;
}

/* Is this section of code? ".section" and what follows, or "" for .text. */
static bool is_code(const char *args)
{
	const char *flags = strchr(args, '"'), *end;

	if (!strncmp(args, ".text", 5) || !strncmp(args, ".init", 5) ||
	    !strncmp(args, ".fini", 5))
		return strncmp(args, ".init_array", 11) != 0 &&
		       strncmp(args, ".fini_array", 11) != 0;
	if (!flags)
		return false;
	end = strchr(flags + 1, '"');
	return end && memchr(flags, 'x', end - flags);
}

/* The index of the section that a directive switches to. */
static int64_t find_section(struct asm_file *f, const char *args, bool code)
{
	struct asm_section *n;
	size_t len = strcspn(args, ",");
	uint32_t i;

	/* Named again without flags it is the one that had them. */
	for (i = 0; i < f->nsections; i++)
		if (!strcmp(f->sections[i].args, args) ||
		    (!args[len] && !strncmp(f->sections[i].args, args, len) &&
		     f->sections[i].args[len] == ','))
			return i;
	if (moca_vec_fit(f->sections, f->section_room, f->nsections + 1))
		return -ENOMEM;
	n = &f->sections[f->nsections];
	memset(n, 0, sizeof(*n));
	n->args = strdup(args);
	n->code = code;
	return n->args ? (int64_t)f->nsections++ : -ENOMEM;
}

static int enter(struct parser *p, const char *args, bool code)
{
	int64_t i = find_section(p->f, args, code);

	if (i < 0)
		return (int)i;
	p->previous = p->section;
	p->section = (uint32_t)i;
	return 0;
}

static const char *argument(const char *s)
{
	while (*s && !isspace((unsigned char)*s))
		s++;
	while (isspace((unsigned char)*s))
		s++;
	return s;
}

static bool word_is(const char *s, const char *word)
{
	size_t n = strlen(word);

	return !strncmp(s, word, n) &&
	       (!s[n] || isspace((unsigned char)s[n]));
}

static int directive(struct parser *p, const char *s)
{
	const char *arg = argument(s);
	struct asm_file *f = p->f;
	uint32_t old;

	if (word_is(s, ".text"))
		return enter(p, ".text", true);
	if (word_is(s, ".data") || word_is(s, ".bss"))
		return enter(p, word_is(s, ".data") ? ".data" : ".bss", false);
	if (word_is(s, ".section"))
		return enter(p, arg, is_code(arg));
	if (word_is(s, ".pushsection")) {
		if (p->depth == 16)
			return -EINVAL;
		p->stack[p->depth++] = p->section;
		return enter(p, arg, is_code(arg));
	}
	if (word_is(s, ".popsection") && p->depth) {
		p->section = p->stack[--p->depth];
	} else if (word_is(s, ".previous")) {
		old = p->section;
		p->section = p->previous;
		p->previous = old;
	} else if (word_is(s, ".intel_syntax")) {
		p->intel = true;
	} else if (word_is(s, ".att_syntax")) {
		p->intel = false;
	} else if (word_is(s, ".ident") &&
		   (strstr(arg, "GCC:") || strstr(arg, "clang"))) {
		f->compiled = true;
	}
	return 0;
}

static int remember_macro(struct asm_file *f, const char *name)
{
	if (moca_vec_fit(f->macros, f->macro_room, f->nmacros + 1))
		return -ENOMEM;
	f->macros[f->nmacros] = strndup(name, strcspn(name, " \t,"));
	return f->macros[f->nmacros++] ? 0 : -ENOMEM;
}

/* What lies between .macro or .rept and its end goes through as it is. */
static int in_block(struct parser *p, const char *s, size_t len)
{
	if (word_is(s, ".macro") || word_is(s, ".rept") ||
	    word_is(s, ".irp") || word_is(s, ".irpc"))
		p->block++;
	else if (word_is(s, ".endm") || word_is(s, ".endr") ||
		 word_is(s, ".endmacro"))
		p->block--;
	return add(p, ASM_RAW, s, len) ? 0 : -ENOMEM;
}

static bool begins_block(const char *s)
{
	return word_is(s, ".macro") || word_is(s, ".rept") ||
	       word_is(s, ".irp") || word_is(s, ".irpc");
}

/* One statement without a label. s is ours to change. */
static int statement(struct parser *p, char *s)
{
	char *joined;
	int err;

	if (begins_block(s)) {
		err = word_is(s, ".macro") ?
			      remember_macro(p->f, argument(s)) : 0;
		return err ? err : in_block(p, s, strlen(s));
	}
	if (*s == '.') {
		err = directive(p, s);
		/* The statement itself belongs to where it leads. */
		return err ? err :
		       add(p, ASM_DIRECTIVE, s, strlen(s)) ? 0 : -ENOMEM;
	}
	if (strchr(s, '=') && !strchr(s, '(') && !strchr(s, '%'))
		return add(p, ASM_DIRECTIVE, s, strlen(s)) ? 0 : -ENOMEM;
	if (is_prefix(s) && strlen(p->prefix) + strlen(s) + 2 < sizeof(p->prefix)) {
		strcat(p->prefix, s);
		strcat(p->prefix, " ");
		return 0;
	}
	if (!*p->prefix)
		return add(p, ASM_INSN, s, strlen(s)) ? 0 : -ENOMEM;
	joined = malloc(strlen(p->prefix) + strlen(s) + 1);
	if (!joined)
		return -ENOMEM;
	strcpy(stpcpy(joined, p->prefix), s);
	*p->prefix = 0;
	err = add(p, ASM_INSN, joined, strlen(joined)) ? 0 : -ENOMEM;
	free(joined);
	return err;
}

/* The length of a label at s, with its colon; 0 = there is none. */
static size_t label(const char *s)
{
	size_t n = 0;

	if (*s == '"') {
		for (n = 1; s[n] && s[n] != '"'; n++)
			;
		n += s[n] == '"';
	} else {
		while (isalnum((unsigned char)s[n]) || (s[n] && strchr("_.$@", s[n])))
			n++;
	}
	return n && s[n] == ':' && s[n + 1] != ':' ? n + 1 : 0;
}

static int piece(struct parser *p, char *s)
{
	size_t n;
	char *e;

	for (;;) {
		while (isspace((unsigned char)*s))
			s++;
		n = label(s);
		if (!n)
			break;
		if (!add(p, ASM_LABEL, s, n - 1))
			return -ENOMEM;
		s += n;
	}
	for (e = s + strlen(s); e > s && isspace((unsigned char)e[-1]); e--)
		e[-1] = 0;
	return *s ? statement(p, s) : 0;
}

/* Cuts a line at ';' and at '#', which begins a comment. */
static int line(struct parser *p, char *s)
{
	char *begin = s, *first = s;
	bool quoted = false;
	int err;

	while (isspace((unsigned char)*first))
		first++;
	if (*first == '#') {
		if (!strncmp(first, "#APP", 4))
			p->app = true;
		else if (!strncmp(first, "#NO_APP", 7))
			p->app = false;
		return 0;
	}
	if (p->block)
		return in_block(p, first, strlen(first));
	for (;; s++) {
		if (*s == '\\' && quoted && s[1]) {
			s++;
		} else if (*s == '"') {
			quoted = !quoted;
		} else if (*s == '\'' && !quoted && s[1]) {
			s++;
		} else if (!*s || (!quoted && (*s == ';' || *s == '#'))) {
			char c = *s;

			*s = 0;
			err = piece(p, begin);
			if (err || c != ';')
				return err;
			begin = s + 1;
		}
	}
}

/* C comments become blanks; a new line in one stays. */
static void blank_comments(char *s)
{
	bool quoted = false, inside = false;

	for (; *s; s++) {
		if (inside) {
			if (s[0] == '*' && s[1] == '/') {
				s[0] = s[1] = ' ';
				s++;
				inside = false;
			} else if (*s != '\n') {
				*s = ' ';
			}
		} else if (*s == '\n') {
			quoted = false;
		} else if (*s == '\\' && s[1] && s[1] != '\n') {
			s++;
		} else if (*s == '"') {
			quoted = !quoted;
		} else if (!quoted && s[0] == '/' && s[1] == '*') {
			s[0] = ' ';
			s[1] = ' ';
			s++;
			inside = true;
		} else if (!quoted && *s == '#') {
			while (s[1] && s[1] != '\n')
				s++;
		}
	}
}

int moca_asm_parse(struct asm_file *f, const char *text, size_t len)
{
	struct parser p = { .f = f };
	char *copy = strndup(text, len), *s, *next;
	int err;

	memset(f, 0, sizeof(*f));
	if (!copy)
		return -ENOMEM;
	blank_comments(copy);
	err = enter(&p, ".text", true);
	for (s = copy; !err && *s; s = next) {
		next = strchr(s, '\n');
		if (next)
			*next++ = 0;
		else
			next = s + strlen(s);
		err = line(&p, s);
	}
	free(copy);
	return err;
}

void moca_asm_free(struct asm_file *f)
{
	size_t i;
	int k;

	for (i = 0; i < f->count; i++) {
		free(f->stmts[i].text);
		free(f->stmts[i].target);
		for (k = 0; k < f->stmts[i].naccess; k++)
			free(f->stmts[i].access[k].sym);
	}
	for (i = 0; i < f->nsections; i++)
		free(f->sections[i].args);
	for (i = 0; i < f->nmacros; i++)
		free(f->macros[i]);
	free(f->macros);
	free(f->stmts);
	free(f->sections);
	free(f->functions);
	memset(f, 0, sizeof(*f));
}
