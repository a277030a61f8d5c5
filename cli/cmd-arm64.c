// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What there is for x86-64 alone, of a moca for arm64: each says so. The Makefile's
 * X86_ONLY lists what this stands for; doc/design/arm64.md tells why.
 */
#include <errno.h>
#include <stdio.h>

#include "cli/commands.h"
#include "collect/exact/record.h"
#include "collect/native/record.h"
#include "lib/base/arch.h"
#include "lib/base/err.h"

int moca_native_run(const struct moca_record_options *opt)
{
	moca_error("--via native " MOCA_X86_ONLY "; --via kernel records pages "
		   "here, too");
	return EXIT_RECORD;
}

void moca_native_try(struct moca_native_check *c)
{
	c->error = ENOSYS;
	c->fix = NULL;
	snprintf(c->why, sizeof(c->why), "page mode on native memory "
		 MOCA_X86_ONLY);
}

int moca_exact_run(const struct moca_record_options *opt,
		   const struct moca_exact_options *exact)
{
	moca_error("--exact " MOCA_X86_ONLY "; --via kernel records pages here");
	return EXIT_RECORD;
}

const char *moca_exact_missing(void)
{
	return "its translator " MOCA_X86_ONLY;
}

int cmd_as(int argc, char **argv)
{
	moca_error("%s: moca cc " MOCA_X86_ONLY, argv[0]);
	return EXIT_USAGE;
}
