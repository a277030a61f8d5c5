// SPDX-License-Identifier: LGPL-2.1-or-later
/* What `moca record` says in the environment, and hiding that it did. */
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "agent/alloc/thin.h"
#include "agent/alloc/watch.h"
#include "include/abi/agent.h"
#include "include/abi/alloc-events.h"
#include "lib/ring/meter.h"
#include "lib/ring/registry.h"

#define PRELOAD "LD_PRELOAD="
#define OURS MOCA_ALLOC_ENV "="
#define SELF "libmoca-alloc"

struct alloc_config alloc_config = { .min = 4096 };

const uint32_t alloc_never = MOCA_GENERATION_NONE;

static int configured;
static struct moca_agent_quiet *quiet;	/* NULL: nobody will silence us */
static int hide;		/* our LD_PRELOAD is not the program's: */
static const char *original;	/* this is; NULL: it has none */

/* Where the kernel put the strings that the program began with. */
static int is_initial_string(const char *s)
{
	extern void *__libc_stack_end;
	const char *last = (const char *)getauxval(AT_EXECFN);

	return s > (const char *)__libc_stack_end && last && s < last;
}

static void set_original(const char *value)
{
	const char *s = (const char *)strtoull(value, NULL, 16);

	hide = 1;
	if (is_initial_string(s) && !strncmp(s, PRELOAD, strlen(PRELOAD)))
		original = s;
}

/* Behind the variable, of which value is a field. */
static void set_quiet(const char *value)
{
	uintptr_t end = (uintptr_t)value + strlen(value) + 1;
	struct moca_agent_quiet *q = (void *)((end + 15) & ~(uintptr_t)15);

	/* Or it was handed on, by a constructor that came before ours. */
	if (is_initial_string(value) && is_initial_string((char *)(q + 1)) &&
	    q->store[0].what == MOCA_AGENT_QUIET &&
	    q->store[1].what == MOCA_AGENT_QUIET)
		quiet = q;
}

/* NAME:ARG, len bytes. */
static void add_fn(struct alloc_fn *list, unsigned *count, const char *value,
		   size_t len)
{
	const char *colon = memchr(value, ':', len);
	struct alloc_fn *fn = &list[*count];
	size_t n = colon ? (size_t)(colon - value) : len;

	if (*count == ALLOC_FN_MAX || !n || n >= sizeof(fn->name))
		return;
	memcpy(fn->name, value, n);
	fn->name[n] = 0;
	fn->arg = colon ? strtoul(colon + 1, NULL, 10) : 0;
	++*count;
}

static void fix_level(unsigned long level)
{
	alloc_thin.fixed = 1;
	alloc_thin.level = level > MOCA_THIN_MAX ? MOCA_THIN_MAX : level;
}

static void set_field(const char *field, size_t len)
{
	if (!strncmp(field, "min=", 4))
		alloc_config.min = strtoull(field + 4, NULL, 10);
	else if (!strncmp(field, "budget=", 7))
		alloc_thin.budget = strtoul(field + 7, NULL, 10);
	else if (!strncmp(field, "seed=", 5))
		alloc_thin.seed = strtoull(field + 5, NULL, 10);
	else if (!strncmp(field, "level=", 6))
		fix_level(strtoul(field + 6, NULL, 10));
	else if (!strncmp(field, "orig=", 5))
		set_original(field + 5);
	else if (!strncmp(field, "quiet=1", 7))
		set_quiet(field);
	else if (!strncmp(field, "fn=", 3))
		add_fn(alloc_config.fn, &alloc_config.fn_count, field + 3,
		       len - 3);
	else if (!strncmp(field, "free=", 5))
		add_fn(alloc_config.free, &alloc_config.free_count, field + 5,
		       len - 5);
}

void alloc_configure(void)
{
	const char *s, *end;

	if (configured || !environ)
		return;
	configured = 1;
	s = getenv(MOCA_ALLOC_ENV);
	for (; s && (end = strchr(s, ';')); s = end + 1)
		set_field(s, end - s);
	/* A size of small objects is told in 32 bits. */
	if (alloc_config.min > 1u << 30)
		alloc_config.min = 1u << 30;
	alloc_thin_init();
}

/* With both the same, nobody listens, whatever the registry says. */
void alloc_offer_quiet(void)
{
	if (!quiet)
		return;
	quiet->store[0].what = quiet->store[1].what = (uintptr_t)&alloc_never;
	quiet->store[0].where = (uintptr_t)&alloc_off;
	quiet->store[1].where = (uintptr_t)&moca_trace_generation;
}

void alloc_hide(void)
{
	char **from, **to;

	if (!environ)
		return;
	for (from = to = environ; *from; from++) {
		if (!strncmp(*from, OURS, strlen(OURS)))
			continue;
		*to = *from;
		if (hide && !strncmp(*from, PRELOAD, strlen(PRELOAD)) &&
		    strstr(*from, SELF)) {
			if (!original)
				continue;
			*to = (char *)original;
		}
		to++;
	}
	/* Who looks for auxv behind them finds none, rather than nonsense. */
	while (to < from)
		*to++ = NULL;
}
