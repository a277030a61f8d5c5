/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An option whose value is one of a table's names: a format, mostly. */
#ifndef MOCA_CMDLINE_CHOICE_H
#define MOCA_CMDLINE_CHOICE_H

#include <stddef.h>

/* What an element of the table begins with. */
struct choice {
	const char *name, *help;
};

struct choice_option {
	const char *command;	/* for messages: "export", */
	const char *option;	/* "--to", */
	const char *question;	/* "to which format" */
};

/*
 * The index of that name in a table of n elements of size bytes; -1 after a message
 * that tells all names: there is none, or name is NULL.
 */
int choice_find(const struct choice_option *o, const void *table, size_t n,
		size_t size, const char *name);

#endif
