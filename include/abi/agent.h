/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The environment variable that configures libmoca-alloc, put there and hidden
 * from the program by `moca record`: fields KEY=VALUE with ';' behind each.
 *
 *   min=N		objects below N bytes are told in bulk (default 4096)
 *   budget=N	permille of the CPU time of the threads that allocate, without
 *			ours, that may be spent on it: beyond, less is recorded
 *			(agent/alloc/thin.h). Default: all is recorded
 *   level=N	0 to 10: how much less, from the begin to the end
 *   seed=N		which objects are sampled, for tests
 *   fn=NAME:ARG	repeated: a custom allocator; the number (from 0) of the
 *			argument that is the size
 *   free=NAME:ARG	repeated: its counterpart; the number of the argument that
 *			is the object's address. One that is in both lists ends
 *			one object and makes another (as realloc does)
 *   quiet=1		behind the variable there is room for struct
 *			moca_agent_quiet, at a multiple of 16
 *   orig=HEX		address of the program's own "LD_PRELOAD=..." string, 0: it
 *			had none. Present only if our LD_PRELOAD is to be hidden.
 */
#ifndef MOCA_ABI_AGENT_H
#define MOCA_ABI_AGENT_H

#include <stdint.h>

#define MOCA_ALLOC_ENV "MOCA_ALLOC"

/*
 * How the recorder silences the library, when the program is about to limit its
 * system calls: ours might end it. The library says what is to be stored where
 * (where is 0: nothing); from then on it makes no more calls. Before that, what
 * is MOCA_AGENT_QUIET: else the variable came from another program.
 */
#define MOCA_AGENT_QUIET 0x7465697571f0c4d1ull
struct moca_agent_quiet {
	struct {
		uint64_t where, what;
	} store[2];
};

#endif
