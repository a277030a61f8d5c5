// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/query-complete.h"

#include <ctype.h>
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/vec.h"

#define TABLES_MAX 16
#define NAME_MAX_LEN 64

/* What is asked for at the end of a statement. */
struct place {
	int tables;		/* a table; else a column */
	int in_string;
	size_t word;		/* where the last word begins: it may be empty */
	char of[NAME_MAX_LEN];	/* "of.word"; or "" */
	/* Tables that the statement names, and what it calls them, or "". */
	struct {
		char name[NAME_MAX_LEN], alias[NAME_MAX_LEN];
	} named[TABLES_MAX];
	size_t count;
};

struct found {
	char **names;
	size_t count, room;
	const char *begin;	/* names begin so */
	size_t len;
};

static int is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Does a clause begin with it? 'f': of tables, 'c': of columns; 0: no keyword. */
static int clause_of(const char *word)
{
	static const struct {
		const char *word;
		int clause;
	} list[] = {
		{ "from", 'f' }, { "join", 'f' }, { "select", 'c' },
		{ "where", 'c' }, { "on", 'c' }, { "using", 'c' },
		{ "group", 'c' }, { "order", 'c' }, { "by", 'c' },
		{ "having", 'c' }, { "limit", 'c' }, { "filter", 'c' },
		{ "union", 'c' }, { "left", 'k' }, { "inner", 'k' },
		{ "cross", 'k' }, { "natural", 'k' }, { "outer", 'k' },
		{ "as", 'k' },
	};

	for (size_t i = 0; i < sizeof(list) / sizeof(*list); i++)
		if (!strcasecmp(list[i].word, word))
			return list[i].clause;
	return 0;
}

/* A word of the statement that is not the last one. name: it names a table. */
static void take_word(struct place *p, const char *word, int *name)
{
	int clause = clause_of(word);

	if (clause == 'f' || clause == 'c') {
		p->tables = *name = clause == 'f';
		return;
	}
	if (clause || !p->tables)
		return;
	if (*name && p->count < TABLES_MAX)
		snprintf(p->named[p->count++].name, NAME_MAX_LEN, "%s", word);
	else if (!*name && p->count)
		snprintf(p->named[p->count - 1].alias, NAME_MAX_LEN, "%s", word);
	*name = 0;
}

/* Read the text up to its last word. */
static void find_place(struct place *p, const char *text)
{
	const char *s = text;
	int name = 0;		/* the next word is a table's */
	char word[NAME_MAX_LEN] = "";

	while (*s) {
		const char *begin = s;

		if (*s == '\'') {
			s = strchr(s + 1, '\'');
			if (!s) {
				p->in_string = 1;
				return;
			}
			s++;
		} else if (is_word(*s)) {
			while (is_word(*s))
				s++;
			if (!*s)
				break;
			snprintf(word, sizeof(word), "%.*s", (int)(s - begin),
				 begin);
			if (*s != '.')
				take_word(p, word, &name);
		} else {
			p->of[0] = 0;
			if (*s == '.')
				snprintf(p->of, sizeof(p->of), "%s", word);
			name |= *s == ',' && p->tables;
			s++;
			continue;
		}
		p->of[0] = 0;
	}
	p->word = strlen(text);
	while (p->word && is_word(text[p->word - 1]))
		p->word--;
	p->tables = name;
}

static int add(struct found *f, const char *name)
{
	if (strncasecmp(name, f->begin, f->len))
		return 0;
	/* Others would have to be quoted. */
	for (const char *s = name; *s; s++)
		if (!is_word(*s))
			return 0;
	if (moca_vec_fit(f->names, f->room, f->count + 1))
		return -ENOMEM;
	f->names[f->count] = strdup(name);
	if (!f->names[f->count])
		return -ENOMEM;
	f->count++;
	return 0;
}

static int add_table(void *arg, const char *name, const char *sql)
{
	return add(arg, name);
}

struct columns {
	struct found *f;
	struct query *q;
	const struct place *p;
};

/* Are the columns of that table asked for? */
static int is_named(const struct place *p, const char *name)
{
	int named = 0;

	for (size_t i = 0; i < p->count; i++) {
		if (sqlite3_stricmp(p->named[i].name, name))
			continue;
		named |= !p->of[0] || !sqlite3_stricmp(p->of, name) ||
			 !sqlite3_stricmp(p->of, p->named[i].alias);
	}
	return p->count ? named :
			  !p->of[0] || !sqlite3_stricmp(p->of, name);
}

static int add_columns(void *arg, const char *name, const char *sql)
{
	struct columns *c = arg;
	sqlite3_stmt *s = NULL;
	char *all;
	int err;

	if (!is_named(c->p, name))
		return 0;
	all = sqlite3_mprintf("SELECT * FROM \"%w\"", name);
	err = all ? sqlite3_prepare_v2(query_database(c->q), all, -1, &s, NULL) :
		    SQLITE_NOMEM;
	sqlite3_free(all);
	err = err == SQLITE_NOMEM ? -ENOMEM : 0;
	for (int i = 0; i < sqlite3_column_count(s) && !err; i++)
		err = add(c->f, sqlite3_column_name(s, i));
	sqlite3_finalize(s);
	return err;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int find_names(struct query *q, const char *text, struct found *f,
		      size_t *kept)
{
	static const char schema[] = ".schema ";
	struct place p = { 0 };
	struct columns c = { f, q, &p };

	*kept = 0;
	if (!strncmp(text, schema, strlen(schema))) {
		p.tables = 1;
		p.word = strlen(schema);
	} else if (text[0] == '.') {
		p.in_string = 1;
	} else {
		find_place(&p, text);
	}
	if (p.in_string)
		return 0;
	*kept = p.word;
	f->begin = text + p.word;
	f->len = strlen(f->begin);
	return query_schema(q, p.tables ? add_table : add_columns,
			    p.tables ? (void *)f : (void *)&c);
}

int query_complete(struct query *q, const char *text)
{
	static const char *const first[] = { "SELECT", ".schema", ".tables" };
	struct found f = { 0 };
	size_t kept;
	int err = 0;

	/* The first word is none of the trace's. */
	if (!text[strcspn(text, " \t\n(")]) {
		for (size_t i = 0; i < sizeof(first) / sizeof(*first); i++)
			if (!strncasecmp(first[i], text, strlen(text)))
				puts(first[i]);
		return 0;
	}
	err = find_names(q, text, &f, &kept);
	if (f.count)
		qsort(f.names, f.count, sizeof(*f.names), by_name);
	for (size_t i = 0; i < f.count; i++) {
		if (!err && (!i || strcmp(f.names[i], f.names[i - 1])))
			printf("%.*s%s\n", (int)kept, text, f.names[i]);
	}
	for (size_t i = 0; i < f.count; i++)
		free(f.names[i]);
	free(f.names);
	return err;
}
