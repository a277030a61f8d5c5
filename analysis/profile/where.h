/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names for what a profile has by addresses: instructions, bytes of objects. */
#ifndef MOCA_PROFILE_WHERE_H
#define MOCA_PROFILE_WHERE_H

#include "analysis/profile/profile.h"

/*
 * The source of an instruction that a process executed at that time: of inlined
 * functions the innermost that is no system header's. module: what it is mapped
 * from, also where the function is not known; NULL: no file. 0 or -ENOENT.
 */
int moca_where_ip(struct moca_objects *o, struct moca_trace *t, uint32_t pid,
		  uint64_t ip, uint64_t ns, struct moca_location *out,
		  struct moca_module **module);
/* The same of a task. path: the file it is mapped from. */
int moca_where_code(const struct moca_profile *p, struct moca_trace *t,
		    uint32_t task, uint64_t ip, uint64_t ns,
		    struct moca_location *out, const char **path);
/* "run() f.c:31", "memset() of libc.so.6", ""; fills buf and returns it. */
const char *moca_where_code_text(const struct moca_profile *p,
				 struct moca_trace *t, uint32_t task,
				 uint64_t ip, uint64_t ns, char *buf,
				 size_t len);
/*
 * What the byte at addr is, of an object: "args[0].sum", "table+128"; its name
 * alone where it is not known which of several objects it was.
 */
const char *moca_where_byte(const struct moca_object *o, uint64_t addr,
			    char *buf, size_t len);
/*
 * What lies in the line at addr, beside of other programs' objects than o's:
 * "args[0].sum, args[1].n ..."; *apart: how many names are told.
 */
const char *moca_where_line(const struct moca_profile *p,
			    const struct moca_object *o, uint64_t addr,
			    char *buf, size_t len, unsigned *apart);

#endif
