// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/diff-ci.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/commands.h"
#include "lib/base/err.h"
#include "lib/base/utf8.h"

#define TOP 10

/* Names are the recorded program's: no format may read them as its own. */
static void put_xml(FILE *f, const char *s)
{
	static const struct {
		const char *text, *as;
	} marks[] = {
		{ "<", "&lt;" }, { ">", "&gt;" }, { "&", "&amp;" },
		{ "\"", "&quot;" },
		/* U+FFFE and U+FFFF, which are no characters of XML. */
		{ "\xef\xbf\xbe", "&#xfffd;" }, { "\xef\xbf\xbf", "&#xfffd;" },
	};
	const size_t count = sizeof(marks) / sizeof(*marks);
	char shown[5];
	size_t i;

	while (*s) {
		s += moca_utf8_show((const unsigned char *)s, shown);
		for (i = 0; i < count && strcmp(marks[i].text, shown); i++)
			;
		fputs(i < count ? marks[i].as : shown, f);
	}
}

static void put_fence(size_t n)
{
	while (n--)
		putchar('`');
}

/*
 * Nothing acts in a code span of Markdown, whose fence is longer than any in it;
 * but a bar ends the cell of a table also there, and a backslash in front of one
 * would take the place of its escape.
 */
static void put_code(const char *s, int in_table)
{
	size_t run = 0, longest = 0;
	const char *p;
	char shown[5];

	for (p = s; *p; p++) {
		run = *p == '`' ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	put_fence(longest + 1);
	putchar(' ');
	while (*s) {
		s += moca_utf8_show((const unsigned char *)s, shown);
		if (in_table && !strcmp(shown, "|"))
			fputs("\\|", stdout);
		else if (in_table && !strcmp(shown, "\\") && *s == '|')
			fputs("\\x5c", stdout);
		else
			fputs(shown, stdout);
	}
	putchar(' ');
	put_fence(longest + 1);
}

static void values(const struct comparison *c, const struct condition *x,
		   char a[TEXT_MAX], char b[TEXT_MAX])
{
	const struct comparison_pair *p = comparison_of(c, x);

	diff_value(a, x->metric, p->value[0][x->metric]);
	diff_value(b, x->metric, p->value[1][x->metric]);
}

static void put_values(const struct comparison_pair *p, enum condition_metric m)
{
	char a[TEXT_MAX], b[TEXT_MAX];

	printf(" %s → %s |", p->in[0] || !p->name ?
	       diff_value(a, m, p->value[0][m]) : "–", p->in[1] || !p->name ?
	       diff_value(b, m, p->value[1][m]) : "–");
}

void diff_markdown(const struct comparison *c, const struct diff_conditions *x,
		   const char *const path[2])
{
	static const enum condition_metric shown[] = {
		DIFF_ACCESSES, DIFF_PAGES, DIFF_SHARED, DIFF_REMOTE };
	char a[TEXT_MAX], b[TEXT_MAX];
	size_t i, failed = 0;

	for (i = 0; i < x->count; i++)
		failed += x->holds[i] != 0;
	printf("### moca diff");
	if (x->count)
		printf(": %zu of %zu conditions failed", failed, x->count);
	printf("\n\nA: ");
	put_code(path[0], 0);
	printf("  \nB: ");
	put_code(path[1], 0);
	printf("\n\n");
	if (x->count)
		printf("| Condition | | A | B |\n|---|---|---|---|\n");
	for (i = 0; i < x->count; i++) {
		values(c, &x->list[i], a, b);
		printf("| ");
		put_code(x->texts[i], 1);
		printf(" | %s | %s | %s |\n", x->holds[i] ? "**failed**" : "ok",
		       a, b);
	}
	printf("%s| Whole run | A | B |\n|---|---|---|\n", x->count ? "\n" : "");
	for (int m = 0; m < DIFF_METRICS; m++)
		if (comparison_knows(c, (enum condition_metric)m))
			printf("| %s | %s | %s |\n",
		       condition_metric_name((enum condition_metric)m),
		       diff_value(a, (enum condition_metric)m,
				  c->all.value[0][m]),
		       diff_value(b, (enum condition_metric)m,
				  c->all.value[1][m]));
	if (c->count)
		printf("\n| Data structure | accesses | pages | shared pages | remote |\n|---|---|---|---|---|\n");
	for (i = 0; i < c->count && i < TOP; i++) {
		printf("| ");
		put_code(c->pairs[i].name, 1);
		printf(" |");
		for (size_t k = 0; k < sizeof(shown) / sizeof(*shown); k++)
			put_values(&c->pairs[i], shown[k]);
		printf("\n");
	}
	if (c->count > TOP)
		printf("\nand %zu more with fewer accesses\n", c->count - TOP);
}

static void put_cases(FILE *f, const struct comparison *c,
		      const struct diff_conditions *x,
		      const char *const path[2], int damaged)
{
	char a[TEXT_MAX], b[TEXT_MAX];
	size_t i, failed = 0;

	for (i = 0; i < x->count; i++)
		failed += x->holds[i] != 0;
	fprintf(f, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<testsuite name=\"moca diff\" tests=\"%zu\" failures=\"%zu\" errors=\"%d\" skipped=\"0\">\n",
		x->count + (size_t)damaged, failed, damaged);
	for (i = 0; i < x->count; i++) {
		values(c, &x->list[i], a, b);
		fputs("<testcase classname=\"moca diff ", f);
		put_xml(f, path[0]);
		fputs(" ", f);
		put_xml(f, path[1]);
		fputs("\" name=\"", f);
		put_xml(f, x->texts[i]);
		if (x->holds[i]) {
			fprintf(f, "\"><failure message=\"%s -&gt; %s\"/></testcase>\n",
				a, b);
			continue;
		}
		fprintf(f, "\"><system-out>%s -&gt; %s</system-out></testcase>\n",
			a, b);
	}
	if (damaged)
		fputs("<testcase classname=\"moca diff\" name=\"traces are whole\"><error message=\"parts of a trace are damaged and were left out\"/></testcase>\n",
		      f);
	fputs("</testsuite>\n", f);
}

int diff_junit_remove(const char *file, char *const *paths, size_t count)
{
	struct stat st, of;

	/* Not through a link: /dev/stdout is one. */
	if (lstat(file, &st) || !S_ISREG(st.st_mode))
		return 0;
	for (size_t i = 0; i < count; i++)
		if (!stat(paths[i], &of) && of.st_dev == st.st_dev &&
		    of.st_ino == st.st_ino) {
			moca_error("diff: --junit %s is what is compared: name another file",
				   file);
			return EXIT_USAGE;
		}
	if (!unlink(file))
		return 0;
	moca_error("diff: cannot replace --junit %s: %s; name a file that can be written",
		   file, strerror(errno));
	return EXIT_USAGE;
}

int diff_junit(const char *file, const struct comparison *c,
	       const struct diff_conditions *x, const char *const path[2],
	       int damaged)
{
	FILE *f = fopen(file, "we");
	int err = f ? 0 : errno;

	if (f) {
		put_cases(f, c, x, path, damaged);
		if (ferror(f))
			err = EIO;
		if (fclose(f) && !err)
			err = errno;
	}
	if (!err)
		return 0;
	moca_error("diff: cannot write --junit %s: %s; name a file that can be written",
		   file, strerror(err));
	return EXIT_USAGE;
}
