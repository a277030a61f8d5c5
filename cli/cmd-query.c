// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/trace.h"
#include "cli/commands.h"
#include "cli/open.h"
#include "cli/query-complete.h"
#include "cli/query-print.h"
#include "lib/base/err.h"
#include "lib/cmdline/nearest.h"
#include "lib/cmdline/options.h"
#include "query/query.h"

#define SQL_MAX (1u << 20)

struct asked {
	const char *path;
	const char *sql;
	const char *of;		/* .schema of this table alone; .complete: the text */
	char *read;		/* sql, if it came from stdin */
	enum query_format format;
};

/* One line each: `.tables`; `.schema` with its columns. */
struct listing {
	const char *of;
	int whole;
	int found;
};

static int list(void *arg, const char *name, const char *sql)
{
	struct listing *l = arg;

	if (l->of && sqlite3_stricmp(l->of, name))
		return 0;
	l->found = 1;
	puts(l->whole ? sql : name);
	return 0;
}

/* The nearest of what the schema has to a name that it has not. */
struct nearest {
	struct moca_nearest n;
	int columns;
	char has[64];	/* the first table that has a column of that name */
};

/* Words of columns: "time_ns INTEGER, "a b" TEXT, ...". */
static void look_at_columns(struct moca_nearest *n, const char *sql)
{
	const char *p = strchr(sql, '(');
	char name[64];

	for (; p && *p; p = strchr(p, ',')) {
		size_t len;

		p += 1 + strspn(p + 1, " \"");
		len = strcspn(p, " \",)");
		if (len && len < sizeof(name)) {
			memcpy(name, p, len);
			name[len] = '\0';
			moca_nearest_look(n, name);
		}
	}
}

static int look(void *arg, const char *name, const char *sql)
{
	struct nearest *x = arg;

	if (!x->columns) {
		moca_nearest_look(&x->n, name);
	} else if (!strncmp(sql, "TABLE", 5)) {
		look_at_columns(&x->n, sql);
		if (!x->has[0] && !strcasecmp(x->n.best, x->n.word))
			snprintf(x->has, sizeof(x->has), "%s", name);
	}
	return 0;
}

static void explain(struct query *q, const char *what)
{
	static const char table[] = "no such table: ", column[] =
		"no such column: ";
	struct nearest x = { 0 };
	const char *name = NULL, *events = NULL;

	if (!strncmp(what, table, sizeof(table) - 1)) {
		name = what + sizeof(table) - 1;
		events = query_events_of(name);
	} else if (!strncmp(what, column, sizeof(column) - 1)) {
		x.columns = 1;
		name = what + sizeof(column) - 1;
		/* "t.name" */
		if (strchr(name, '.'))
			name = strchr(name, '.') + 1;
	}
	if (events) {
		moca_error("query: %s: it is of events %s, and this trace has none ('.tables' lists what it has)",
			   what, events);
		return;
	}
	if (name) {
		moca_nearest_begin(&x.n, name);
		query_schema(q, look, &x);
	}
	if (name && x.has[0] && !strchr(what + sizeof(column) - 1, '.'))
		moca_error("query: %s in the tables of this statement: the table %s has one ('.schema' lists tables and columns)",
			   what, x.has);
	else if (name && x.n.best[0])
		moca_error("query: %s: did you mean '%s'? ('.schema' lists tables and columns)",
			   what, x.n.best);
	else if (name)
		moca_error("query: %s ('.schema' lists tables and columns)",
			   what);
	else if (!strcmp(what, "not authorized") ||
		 !strcmp(what, "authorization denied"))
		moca_error("query: only SELECT is possible: a trace is never changed, and no file is attached");
	else
		moca_error("query: %s", what);
}

/* 0 or an exit code. */
static int run_sql(struct query *q, const struct asked *a)
{
	sqlite3 *db = query_database(q);
	sqlite3_stmt *s;
	const char *rest;
	int err = query_prepare(q, a->sql, &s, &rest);

	if (err) {
		explain(q, sqlite3_errmsg(db));
		return EXIT_USAGE;
	}
	if (!s) {
		moca_error("query: '%s' is no statement: give a SELECT, as 'SELECT object, accesses FROM objects'",
			   a->sql);
		return EXIT_USAGE;
	}
	if (rest[strspn(rest, " \t\n;")]) {
		moca_error("query: one statement at a time: '%.60s' is too much",
			   rest + strspn(rest, " \t\n;"));
		sqlite3_finalize(s);
		return EXIT_USAGE;
	}
	err = query_print(s, a->format);
	if (err == SQLITE_DONE) {
		sqlite3_finalize(s);
		return 0;
	}
	/* VACUUM asks only when it runs. */
	if (err == SQLITE_AUTH) {
		explain(q, sqlite3_errmsg(db));
		sqlite3_finalize(s);
		return EXIT_USAGE;
	}
	if (query_failure(q))
		moca_error("query: cannot read the trace '%s': %s%s", a->path,
			   strerror(-query_failure(q)),
			   query_failure(q) == -EMFILE ?
				   " (raise the limit with 'ulimit -n')" : "");
	else if (err == SQLITE_NOMEM)
		moca_error("query: out of memory");
	else if (err == SQLITE_FULL || err == SQLITE_IOERR)
		moca_error("query: %s: sorting and grouping need room for temporary files: name a directory by SQLITE_TMPDIR",
			   sqlite3_errmsg(db));
	else
		moca_error("query: %s", sqlite3_errmsg(db));
	sqlite3_finalize(s);
	return 1;
}

static int run(struct moca_trace *t, const struct asked *a)
{
	struct listing l = { .of = a->of };
	struct query *q;
	int ret = query_open(&q, t);

	if (ret) {
		moca_error("query: cannot read the trace '%s': %s", a->path,
			   strerror(-ret));
		return 1;
	}
	if (!strcmp(a->sql, ".complete")) {
		ret = query_complete(q, a->of) ? 1 : 0;
	} else if (a->sql[0] == '.') {
		l.whole = !strcmp(a->sql, ".schema");
		ret = query_schema(q, list, &l) ? 1 : 0;
		if (!ret && a->of && !l.found) {
			moca_error("query: no such table: %s ('.tables' lists them)",
				   a->of);
			ret = EXIT_USAGE;
		}
	} else {
		ret = run_sql(q, a);
	}
	query_close(q);
	return ret;
}

/* All of stdin, as one statement. 0 or an exit code. */
static int read_sql(struct asked *a)
{
	size_t n;

	a->read = malloc(SQL_MAX + 1);
	if (!a->read) {
		moca_error("query: out of memory");
		return 1;
	}
	n = fread(a->read, 1, SQL_MAX + 1, stdin);
	if (ferror(stdin) || n > SQL_MAX) {
		moca_error("query: cannot read the statement from stdin: %s",
			   ferror(stdin) ? strerror(errno) :
					   "it is longer than 1 MiB");
		return EXIT_USAGE;
	}
	a->read[n] = '\0';
	a->sql = a->read;
	return 0;
}

/* 0 or an exit code. */
static int operands(struct asked *a, int argc, char **argv, int first)
{
	int n = argc - first, most = 2;

	if (!n)
		return trace_operand(argc, argv, first) ? 0 : EXIT_USAGE;
	a->path = argv[first];
	if (n == 1) {
		moca_error("query: what? moca query %s 'SELECT ...'; 'moca query %s .tables' lists the tables, .schema their columns",
			   a->path, a->path);
		return EXIT_USAGE;
	}
	a->sql = argv[first + 1];
	if (!strncmp(a->sql, ".schema ", 8) && n == 2) {
		/* Quoted as a statement is. */
		a->of = a->sql + 8 + strspn(a->sql + 8, " ");
		a->sql = ".schema";
	} else if (!strcmp(a->sql, ".schema")) {
		most = 3;
		a->of = n > 2 ? argv[first + 2] : NULL;
	} else if (!strcmp(a->sql, ".complete") && n > 2) {
		most = 3;
		a->of = argv[first + 2];
	} else if (a->sql[0] == '.' && strcmp(a->sql, ".tables")) {
		moca_error("query: '%s' is unknown: there are .tables, .schema [TABLE] and .complete TEXT",
			   a->sql);
		return EXIT_USAGE;
	}
	if (n > most) {
		moca_error("query: '%s' is too much: the statement is one word, so quote it",
			   argv[first + most]);
		return EXIT_USAGE;
	}
	return strcmp(a->sql, "-") ? 0 : read_sql(a);
}

static const char about[] =
	"Ask a trace in SQL: its tables are those of SQLite, read while the trace is walked. SQL is one SELECT; '-' reads it from stdin; '.tables' lists the tables, '.schema [TABLE]' their columns.\n"
	"Times are ns since the recording began; addresses are integers, which hexadecimal(addr) shows as 0x....\n"
	"Exit code: 0; 1 when the trace cannot be read or parts of it are damaged and were left out; 2 for a wrong command line or statement, or when DIR is no trace.";

int cmd_query(int argc, char **argv)
{
	struct asked a = { 0 };
	int csv = 0, json = 0, table = 0, first, ret;
	struct moca_trace *t;
	const struct option_spec specs[] = {
		OPT_FLAG(0, "table", &table, "print columns for people (the default)"),
		OPT_FLAG(0, "csv", &csv, "print comma-separated values, with a line of names first"),
		OPT_FLAG(0, "json", &json, "print an array of JSON objects"),
		OPT_END
	};

	first = moca_options_parse_mixed(specs, argc, argv,
		"moca query [--csv|--json] DIR SQL", about);
	if (first < 0)
		return first == -ECANCELED ? 0 : EXIT_USAGE;
	if (csv + json + table > 1) {
		moca_error("query: --table, --csv and --json: only one of them");
		return EXIT_USAGE;
	}
	a.format = csv ? QUERY_CSV : json ? QUERY_JSON : QUERY_TABLE;
	ret = operands(&a, argc, argv, first);
	if (!ret && a.sql) {
		t = trace_open("query", a.path);
		trace_raise_limit();
		ret = t ? run(t, &a) : EXIT_USAGE;
		if (!ret)
			ret = trace_warn_damage("query", t, a.path);
		moca_trace_close(t);
	}
	free(a.read);
	return ret;
}
