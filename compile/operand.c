// SPDX-License-Identifier: GPL-2.0-or-later
/* Memory operands in AT&T syntax, read and written. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "compile/asm.h"

const char *const moca_asm_reg64[17] = {
	"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9",
	"r10", "r11", "r12", "r13", "r14", "r15", "rip"
};
const char *const moca_asm_reg32[17] = {
	"eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi", "r8d", "r9d",
	"r10d", "r11d", "r12d", "r13d", "r14d", "r15d", "eip"
};

#define RIP 16			/* behind the general ones */

/* Cuts "%reg" off *s. The register, RIP, -1 for none, or -EINVAL. */
static int take_reg(const char **s, uint8_t *narrow)
{
	size_t n = 0;
	int i;

	while (isspace((unsigned char)**s))
		(*s)++;
	if (**s != '%')
		return **s == ',' || **s == ')' ? -1 : -EINVAL;
	(*s)++;
	while (isalnum((unsigned char)(*s)[n]))
		n++;
	for (i = 0; i <= RIP; i++) {
		const char *const *names[2] = { moca_asm_reg64, moca_asm_reg32 };
		int w;

		for (w = 0; w < 2; w++) {
			if (strlen(names[w][i]) != n ||
			    strncmp(names[w][i], *s, n))
				continue;
			*s += n;
			while (isspace((unsigned char)**s))
				(*s)++;
			*narrow |= w == 1;
			return i;
		}
	}
	return -EINVAL;
}

/* "foo+8-4" to "foo+8" and -4; "12" to "" and 12. */
static int split_number(struct asm_mem *m, const char *s, size_t len)
{
	char *end;
	size_t i;

	while (len && isspace((unsigned char)s[len - 1]))
		len--;
	m->sym = strndup(s, len);
	if (!m->sym)
		return -ENOMEM;
	if (!len)
		return 0;
	errno = 0;
	m->at.disp = strtoll(m->sym, &end, 0);
	if (!*end && !errno) {
		*m->sym = 0;
		return 0;
	}
	m->at.disp = 0;
	for (i = len - 1; i > 0; i--) {
		if (m->sym[i] != '+' && m->sym[i] != '-')
			continue;
		if (!isdigit((unsigned char)m->sym[i + 1]))
			break;
		errno = 0;
		m->at.disp = strtoll(m->sym + i, &end, 0);
		if (*end || errno)
			m->at.disp = 0;
		else
			m->sym[i] = 0;
		break;
	}
	return 0;
}

int moca_asm_mem_parse(struct asm_mem *m, const char *text)
{
	const char *s = text, *open = NULL, *p;
	size_t len;
	int reg;

	memset(m, 0, sizeof(*m));
	m->at.base = m->at.index = -1;
	m->at.scale = 1;
	while (*s == '*' || isspace((unsigned char)*s))
		s++;
	if (*s == '%') {
		if (strlen(s) < 4 || s[2] != 's' || s[3] != ':')
			return -EINVAL;
		/* %cs, %ds, %es, %ss begin at 0. */
		m->at.seg = s[1] == 'f' ? X86_FS : s[1] == 'g' ? X86_GS : X86_DS;
		s += 4;
	}
	len = strlen(s);
	while (len && (isspace((unsigned char)s[len - 1])))
		len--;
	if (len && s[len - 1] == ')') {
		for (p = s + len - 1; p > s && *p != '('; p--)
			;
		if (*p == '(' && (strchr(p, '%') || p[1] == ','))
			open = p;
	}
	if (open) {
		p = open + 1;
		reg = take_reg(&p, &m->at.narrow);
		if (reg == -EINVAL)
			return -EINVAL;
		m->at.rip = reg == RIP;
		m->at.base = (int8_t)(reg == RIP ? -1 : reg);
		if (*p == ',') {
			p++;
			reg = take_reg(&p, &m->at.narrow);
			if (reg == -EINVAL)
				return -EINVAL;
			m->at.index = (int8_t)reg;
		}
		if (*p == ',') {
			char *end;
			long scale = strtol(p + 1, &end, 0);

			if (end != p + 1)
				m->at.scale = (uint8_t)scale;
			p = end;
		}
		while (isspace((unsigned char)*p))
			p++;
		if (*p != ')')
			return -EINVAL;
		len = open - s;
	}
	reg = split_number(m, s, len);
	if (reg)
		return reg;
	m->alone = strchr(m->sym, '@') && !strstr(m->sym, "@tpoff") &&
		   !strstr(m->sym, "@TPOFF") && !strstr(m->sym, "@dtpoff");
	return 0;
}

void moca_asm_mem_text(FILE *out, const struct asm_mem *m, int64_t delta)
{
	const struct x86_mem *at = &m->at;
	const char *const *names = at->narrow ? moca_asm_reg32 : moca_asm_reg64;
	bool plain = at->base < 0 && at->index < 0 && !at->rip;
	int64_t num = at->disp + delta;

	if (*m->sym && num)
		fprintf(out, "%s%+lld", m->sym, (long long)num);
	else if (*m->sym)
		fprintf(out, "%s", m->sym);
	else if (num || plain)
		fprintf(out, "%lld", (long long)num);
	if (plain)
		return;
	fprintf(out, "(");
	if (at->base >= 0 || at->rip)
		fprintf(out, "%%%s", names[at->rip ? RIP : at->base]);
	if (at->index >= 0)
		fprintf(out, ",%%%s,%d", names[at->index], at->scale);
	fprintf(out, ")");
}

static bool is_memory(const char *s)
{
	while (*s == '*')
		s++;
	if (*s == '$' || *s == '{' || !*s)
		return false;
	if (*s == '%')
		return s[1] && s[2] == 's' && s[3] == ':';
	return true;
}

/* Skips prefixes and the mnemonic. */
static const char *operands(const char *s)
{
	static const char *const before[] = {
		"lock", "rep", "repz", "repe", "repnz", "repne", "data16",
		"addr32", "notrack", "bnd", "xacquire", "xrelease", "rex64",
		"{vex}", "{vex2}", "{vex3}", "{evex}", "{disp8}", "{disp32}",
		"{load}", "{store}", "{rex}", NULL
	};
	size_t i, n;

	for (;;) {
		n = strcspn(s, " \t");
		for (i = 0; before[i]; i++)
			if (strlen(before[i]) == n && !strncmp(before[i], s, n))
				break;
		s += n;
		s += strspn(s, " \t");
		if (!before[i])
			return s;
	}
}

char *moca_asm_operand(const char *statement)
{
	const char *s = operands(statement), *begin = s;
	int depth = 0;
	char *one;

	for (;; s++) {
		if (*s == '(')
			depth++;
		else if (*s == ')')
			depth--;
		if (*s && (*s != ',' || depth > 0))
			continue;
		while (isspace((unsigned char)*begin))
			begin++;
		one = strndup(begin, s - begin);
		if (!one)
			return NULL;
		if (is_memory(one)) {
			/* {%k1}, {1to8} follow some. */
			char *brace = strchr(one, '{');

			if (brace)
				*brace = 0;
			return one;
		}
		free(one);
		if (!*s)
			break;
		begin = s + 1;
	}
	errno = EINVAL;
	return NULL;
}
