/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `moca cc` and the assembler that it puts in know of each other. */
#ifndef MOCA_CLI_CC_H
#define MOCA_CLI_CC_H

/* In the environment, since the compiler is between them: */
#define CC_ENV_AS "MOCA_CC_AS"			/* the real assembler */
#define CC_ENV_GRANULARITY "MOCA_CC_GRANULARITY"	/* bytes */
#define CC_ENV_ABI "MOCA_CC_ABI"	/* 1: compiled as compile/ wants it */
#define CC_ENV_VERBOSE "MOCA_CC_VERBOSE"	/* 1: tell what was done */

/* log2 of a granularity as the user writes it: 64 to 4096. -EINVAL. */
int compile_shift(const char *s);
/* Where what belongs to moca cc lies, to be freed; NULL: nowhere. */
char *compile_dir(void);

#endif
