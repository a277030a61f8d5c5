/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Allocators that no symbol leads us to: functions of the program's own that
 * the user names (fn=, free= of MOCA_ALLOC), and malloc and its relatives when
 * the executable itself defines them. Their code is changed, see patch.h.
 *
 * Covered is what is loaded when the program starts. A library that comes later
 * (dlopen) is not: nothing can be changed once there may be other threads, and
 * to stand in for dlopen would change what it does, which depends on its caller.
 *
 * A named function may have any arguments and results; beyond the six in
 * registers, MOCA_DETOUR_STACK bytes of arguments (of "..." as well) reach it.
 * The result counts as the object's address. What it does to its caller's
 * registers is what it did before.
 */
#ifndef MOCA_ALLOC_DETOUR_H
#define MOCA_ALLOC_DETOUR_H

#include "agent/alloc/watch.h"
#include "lib/code/allocators.h"

#define MOCA_DETOUR_STACK 128

#pragma GCC visibility push(hidden)

/* A detoured function. */
struct moca_hook {
	const void *original;	/* how to call it */
	struct moca_role role;
	uint8_t reserved[3];
};

enum { MOCA_DETOUR_LEAVE = 1, MOCA_DETOUR_RECORD = 2 };

/* A call of it; thunk.S makes it. */
struct moca_detour_call {
	uint64_t ends;		/* shall moca_detour_ends be called? */
	uint64_t told;		/* was the end of the object told? */
	uint64_t size;
	uint64_t object;	/* address of the one to end; where it goes */
	const void *original;
	uint64_t wanted;	/* afterwards: MOCA_DETOUR_*, or 0 */
	uint64_t flags;		/* in %ax, as of lahf, seto */
	uint64_t args[6];
	uint64_t result;
	uint64_t r10, r11;
	const struct moca_hook *hook;
	struct alloc_frame frame;
};

void moca_detour_thunk(void);
extern uint64_t moca_detour_xsave_len;
extern uint32_t moca_detour_xsave_mask;	/* 0: fxsave */

/*
 * What the thunk calls: before the function; then, if call->ends, what is to be
 * said of the old object; and afterwards, as call->wanted says.
 */
void moca_detour_before(struct moca_detour_call *call);
void moca_detour_ends(struct moca_detour_call *call);
void moca_detour_leave(struct moca_detour_call *call);	/* _LEAVE */
void moca_detour_after(struct moca_detour_call *call);	/* _RECORD */
/* The process ends: of what only a static program's agent hears so. */
void moca_detour_exit(void);
/* All but call->wanted of what the hook's role says of the arguments. */
void moca_detour_arguments(struct moca_detour_call *call);
/* How many bytes of registers the thunk has to keep on this CPU. */
void moca_detour_prepare(void);

/*
 * install.c: detour what alloc_config names and what the executable defines.
 * In the constructor, after alloc_init and alloc_configure. What could not be
 * done is said by events moca_alloc:detour.
 */
void moca_detours_install(void);

#pragma GCC visibility pop

#endif
