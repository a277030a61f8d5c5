/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The environment variable that configures libmoca-alloc, put there and hidden
 * from the program by `moca record`: fields KEY=VALUE with ';' behind each.
 *
 *   min=N		objects below N bytes are told in bulk (default 4096)
 *   fn=NAME:ARG	repeated: a custom allocator; the number (from 0) of the
 *			argument that is the size
 *   free=NAME:ARG	repeated: its counterpart; the number of the argument that
 *			is the object's address. One that is in both lists ends
 *			one object and makes another (as realloc does)
 *   trace=1		MOCA_TRACE was put there as well, and is to be hidden
 *   orig=HEX		address of the program's own "LD_PRELOAD=..." string, 0: it
 *			had none. Present only if our LD_PRELOAD is to be hidden.
 */
#ifndef MOCA_BASE_AGENT_H
#define MOCA_BASE_AGENT_H

#define MOCA_ALLOC_ENV "MOCA_ALLOC"

#endif
