// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/try-print.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "analysis/advice/advice.h"
#include "lib/base/plural.h"
#include "lib/base/shell.h"
#include "lib/text/json.h"
#include "lib/text/text.h"

static const char *const names[] = {
	"not-tried", "differs", "quicker", "less-cpu-time", "slower",
	"no-difference", "undecided",
};

const char *try_result_name(enum try_result r)
{
	return r < TRY_RESULTS ? names[r] : "unknown";
}

enum try_result try_result_of(const struct try_series *s, size_t arm)
{
	const struct try_arm *a = &s->arms[arm];
	enum try_verdict wall = try_series_ratio(s, arm, TRY_WALL).verdict;
	enum try_verdict cpu = try_series_ratio(s, arm, TRY_CPU).verdict;

	if (a->other_status || try_series_differs(s, arm))
		return TRY_RESULT_DIFFERS;
	if (wall == TRY_LESS)
		return TRY_RESULT_QUICKER;
	if (wall == TRY_MORE)
		return TRY_RESULT_SLOWER;
	/* On a busy machine the time is not decided, and need not be. */
	if (cpu == TRY_LESS && (wall == TRY_SAME ||
				try_series_ratio(s, arm, TRY_WALL).mean <= 1))
		return TRY_RESULT_CPU;
	return wall == TRY_SAME ? TRY_RESULT_SAME : TRY_RESULT_UNDECIDED;
}

static const char *value(char buf[TEXT_MAX], enum try_measure m, double v)
{
	switch (m) {
	case TRY_WALL:
	case TRY_CPU:
		snprintf(buf, TEXT_MAX, v < 1 ? "%.0f ms" : "%.2f s",
			 v < 1 ? 1e3 * v : v);
		return buf;
	case TRY_FAULTS:
		return text_count(buf, (uint64_t)v);
	default:
		return text_size(buf, (uint64_t)v);
	}
}

static const struct {
	const char *text, *key;
} measures[] = {
	[TRY_WALL] = { "time", "wall_s" },
	[TRY_CPU] = { "CPU time", "cpu_s" },
	[TRY_FAULTS] = { "page faults", "faults" },
	[TRY_PEAK] = { "peak memory", "peak_bytes" },
};

static void print_measures(const struct try_row *r)
{
	char a[TEXT_MAX], b[TEXT_MAX], c[TEXT_MAX];
	enum try_measure m;
	struct try_ratio x;

	for (m = 0; m < TRY_MEASURES; m++) {
		printf("   %-12s %s -> %s", measures[m].text,
		       value(a, m, try_series_median(r->series, 0, m)),
		       value(b, m, try_series_median(r->series, r->arm, m)));
		if (m == TRY_WALL || m == TRY_CPU) {
			x = try_series_ratio(r->series, r->arm, m);
			printf("; of pairs %s (", text_than(c, x.mean));
			printf("%.0f %% confidence: from %s to ",
			       100 * TRY_CONFIDENCE, text_than(a, x.low));
			printf("%s)", text_than(b, x.high));
		}
		putchar('\n');
	}
}

static void print_status(const char *before, int status)
{
	if (WIFSIGNALED(status))
		printf("%s a signal (%s)", before, strsignal(WTERMSIG(status)));
	else
		printf("%s exit code %d", before, WEXITSTATUS(status));
}

static void print_difference(const struct try_row *r)
{
	const struct try_arm *a = &r->series->arms[r->arm];
	int other_output = try_series_differs(r->series, r->arm);

	fputs("   The program does something else with it: ", stdout);
	if (a->other_status)
		print_status("it ends with", a->status);
	if (a->other_status && other_output)
		fputs(", and ", stdout);
	if (other_output)
		fputs("its output is another", stdout);
	puts(". That is no gain.");
}

static void print_result(const struct try_row *r)
{
	size_t rounds = r->series->rounds;
	char a[TEXT_MAX], b[TEXT_MAX];
	struct try_ratio wall = try_series_ratio(r->series, r->arm, TRY_WALL);
	struct try_ratio cpu = try_series_ratio(r->series, r->arm, TRY_CPU);

	switch (r->result) {
	case TRY_RESULT_QUICKER:
		printf("   It helps: the program takes %s time.\n",
		       text_than(a, wall.mean));
		break;
	case TRY_RESULT_CPU:
		printf("   It helps: the program takes %s CPU time; %s.\n",
		       text_than(a, cpu.mean), wall.verdict == TRY_SAME ?
		       "it takes as long" : "whether it ends sooner is not decided");
		break;
	case TRY_RESULT_SLOWER:
		printf("   It does not help: the program takes %s time.\n",
		       text_than(a, wall.mean));
		break;
	case TRY_RESULT_SAME:
		puts("   No difference: the time changes by less than 3 %.");
		break;
	default:
		if (r->is_repeated)
			puts("   It seemed to help in the first rounds, and not when they were repeated.");
		printf("   Not decided: from %s to ", text_than(a, wall.low));
		printf("%s. More rounds tell (-n %zu), or a quieter machine.\n",
		       text_than(b, wall.high),
		       rounds < TRY_ROUNDS_MAX / 4 ? 4 * rounds :
						     (size_t)TRY_ROUNDS_MAX);
	}
}

void try_print_change(const struct try_change *c)
{
	const char *p = c->plan_text, *end;
	char line[1024];

	if (c->setting) {
		fputs("   ", stdout);
		text_name(stdout, c->setting, 0);
		putchar('\n');
	}
	if (p)
		puts("   a plan, as moca place follows it:");
	for (; p && *p; p = end + (*end == '\n')) {
		end = strchrnul(p, '\n');
		snprintf(line, sizeof(line), "%.*s", (int)(end - p), p);
		fputs("      ", stdout);
		text_name(stdout, line, 0);
		putchar('\n');
	}
}

static void print_title(const struct try_change *c)
{
	if (*c->title)
		text_name(stdout, c->title, 0);
	putchar('\n');
	try_print_change(c);
}

/* How much the plan was about, and what of it was not done. */
static void print_placed(const struct try_row *r)
{
	char count[TEXT_MAX], size[TEXT_MAX], text[1024];
	uint64_t blocks, bytes;
	size_t runs = r->runs ? r->runs : 1;

	if (!r->placed)
		return;
	try_placed_matched(r->placed, &blocks, &bytes);
	printf("   placed       %s block%s, %s in each run\n",
	       text_count(count, (blocks + runs / 2) / runs),
	       PLURAL((blocks + runs / 2) / runs),
	       text_size(size, bytes / runs));
	if (!try_placed_complaint(r->placed, text, sizeof(text)))
		return;
	fputs("   Not all of the plan was done: ", stdout);
	text_name(stdout, text, 0);
	putchar('\n');
}

static void print_new_rounds(const struct try_row *r, size_t rounds)
{
	if (r->series->rounds != rounds)
		printf("   %zu rounds did not decide; of %zu new ones:\n",
		       rounds, r->series->rounds);
}

static void print_row(const struct try_row *r, size_t rounds)
{
	/* Nobody asked for it. */
	if (!r->change || (!r->series && !r->change->why_not))
		return;
	printf("\n%zu. %s%s", r->change->number, r->change->id,
	       *r->change->title ? ": " : "");
	print_title(r->change);
	if (!r->series) {
		printf("   Not tried: %s.\n", r->change->why_not);
		return;
	}
	if (r->result == TRY_RESULT_DIFFERS)
		print_difference(r);
	if (!isnan(r->change->predicted))
		printf("   predicted    %.0f %% less CPU time\n",
		       100 * r->change->predicted);
	print_placed(r);
	print_new_rounds(r, rounds);
	print_measures(r);
	if (r->result != TRY_RESULT_DIFFERS)
		print_result(r);
	if (r->change->note && (r->result == TRY_RESULT_SAME ||
				r->result == TRY_RESULT_UNDECIDED ||
				r->result == TRY_RESULT_SLOWER))
		printf("   %s.\n", r->change->note);
}

/* The words as a shell takes them; what no terminal may see is made safe. */
static void print_words(char *const *argv)
{
	const char *word;
	char buf[4096];

	for (; *argv; argv++) {
		word = moca_shell_is_plain(*argv) && !strchr(*argv, ' ') ?
			       *argv :
		       moca_shell_word(buf, sizeof(buf), *argv);
		text_name(stdout, word ? word : **argv ? *argv : "''", 0);
		if (argv[1])
			putchar(' ');
	}
}

void try_print_program(const struct try_view *v)
{
	const struct try_program *p = v->program;
	size_t n = 0;

	while (p->env[n])
		n++;
	fputs("Program: ", stdout);
	print_words(p->argv);
	fputs("\nin ", stdout);
	text_name(stdout, p->dir ? p->dir : "this directory", 0);
	fputs(", standard input: ", stdout);
	text_name(stdout, p->input ? p->input : "none", 0);
	printf(", %zu variables of the environment\n", n);
	fflush(stdout);
}

/* How far it can be told that a change leaves the output as it is. */
static void print_outputs(const struct try_series *s)
{
	static const char *const what[TRY_STREAMS] = { "output",
						       "error output" };
	uint64_t bytes = 0;
	int i;

	for (i = 0; i < TRY_STREAMS; i++) {
		bytes += s->output[i].bytes;
		if (s->arms[0].differs[i])
			printf("Its %s differs from run to run without a change%s.\n",
			       what[i], s->arms[0].differs[i] == TRY_NUMBERS ?
			       ", in its numbers: the rest of it is compared" :
			       ": of the output that varies nothing is compared");
	}
	if (!bytes)
		puts("It writes no output: whether it computes the same with a change is not compared.");
}

static void print_plain(const struct try_view *v)
{
	const struct try_series *s = v->series;

	printf("%zu rounds after a warm-up; each runs the program as it is and with each change, in turn.\n",
	       s->rounds);
	if (try_series_median(s, 0, TRY_WALL) < 0.05)
		puts("The program runs less than 50 ms: give it more work, or nothing can be decided.");
	if (s->status)
		print_status("The program ends with", s->status);
	if (s->status)
		puts(", also as it is.");
	if (v->recorded_status >= 0 && s->status != v->recorded_status) {
		print_status("When it was recorded, it ended with",
			     v->recorded_status);
		putchar('\n');
	}
	print_outputs(s);
	if (s->arms[0].other_status)
		puts("It ends in different ways without a change: that a change is harmless cannot be said.");
	if (s->arms[0].output_open)
		puts("It leaves processes behind that hold its output open: what they write, and what they take, does not count.");
}

void try_print(const struct try_view *v)
{
	char a[TEXT_MAX];
	size_t i;

	if (v->series)
		print_plain(v);
	for (i = 0; i < v->count; i++)
		print_row(&v->rows[i], v->rounds);
	if (!v->together)
		return;
	printf("\nAll that helped together: ");
	print_title(v->together->change);
	if (v->together->result == TRY_RESULT_DIFFERS)
		print_difference(v->together);
	print_placed(v->together);
	print_new_rounds(v->together, v->rounds);
	print_measures(v->together);
	if (v->together->result != TRY_RESULT_DIFFERS)
		printf("   The program takes %s time.\n",
		       text_than(a, try_series_ratio(v->together->series,
						     v->together->arm,
						     TRY_WALL).mean));
}

/* --- JSON ----------------------------------------------------------------- */

static void json_measures(struct json *j, const struct try_row *r)
{
	enum try_measure m;
	struct try_ratio x;

	for (m = 0; m < TRY_MEASURES; m++) {
		x = try_series_ratio(r->series, r->arm, m);
		json_open(j, measures[m].key, '{');
		json_double(j, "plain", try_series_median(r->series, 0, m));
		json_double(j, "changed",
			    try_series_median(r->series, r->arm, m));
		json_double(j, "ratio", x.mean);
		json_double(j, "ratio_low", x.low);
		json_double(j, "ratio_high", x.high);
		json_close(j, '}');
	}
}

/* The findings that it follows, by name. */
static void json_findings(struct json *j, uint32_t kinds)
{
	int i;

	json_open(j, "follows", '[');
	for (i = 0; i < MOCA_FINDING_KINDS; i++)
		if (kinds >> i & 1)
			json_string(j, NULL,
				    moca_finding_id((enum moca_finding_kind)i));
	json_close(j, ']');
}

/* What all runs together have matched, and what was not done. */
static void json_placed(struct json *j, const struct try_placed *p,
			size_t runs)
{
	uint64_t blocks, bytes;
	char text[1024];

	if (!p) {
		json_null(j, "placed");
		return;
	}
	try_placed_matched(p, &blocks, &bytes);
	json_open(j, "placed", '{');
	json_uint(j, "runs", runs);
	json_uint(j, "blocks", blocks);
	json_uint(j, "bytes", bytes);
	json_string(j, "not_done", try_placed_complaint(p, text, sizeof(text)) ?
					   text : NULL);
	json_close(j, '}');
}

static void json_row(struct json *j, const char *key, const struct try_row *r)
{
	const struct try_change *c = r->change;

	json_open(j, key, '{');
	json_string(j, "id", c->id);
	json_string(j, "title", c->title);
	json_string(j, "setting", c->setting);
	json_string(j, "plan", c->plan_text);
	json_findings(j, c->kinds);
	json_bool(j, "finding", c->from_finding);
	json_double(j, "predicted_cpu_share", c->predicted);
	json_string(j, "result", try_result_name(r->result));
	json_string(j, "why_not", c->why_not);
	json_string(j, "note", c->note);
	json_placed(j, r->series ? r->placed : NULL, r->runs);
	if (r->series) {
		const struct try_arm *a = &r->series->arms[r->arm];

		json_bool(j, "other_exit", a->other_status);
		json_uint(j, "rounds", r->series->rounds);
		json_bool(j, "other_output",
			  try_series_differs(r->series, r->arm));
		json_bool(j, "repeated", r->is_repeated);
		json_measures(j, r);
	}
	json_close(j, '}');
}

static void json_compared(struct json *j, const struct try_series *s)
{
	static const char *const amounts[] = {
		[TRY_EQUAL] = "all", [TRY_NUMBERS] = "all-but-numbers",
		[TRY_TEXT] = "nothing",
	};

	json_open(j, "compared", '{');
	json_string(j, "output", amounts[s->arms[0].differs[TRY_STDOUT]]);
	json_string(j, "error_output", amounts[s->arms[0].differs[TRY_STDERR]]);
	json_close(j, '}');
}

void try_json(FILE *f, const struct try_view *v)
{
	struct json j = { .f = f };
	char *const *arg;
	size_t i;

	json_open(&j, NULL, '{');
	json_open(&j, "program", '[');
	for (arg = v->program->argv; *arg; arg++)
		json_string(&j, NULL, *arg);
	json_close(&j, ']');
	json_string(&j, "directory", v->program->dir);
	json_string(&j, "input", v->program->input);
	json_uint(&j, "rounds", v->series ? v->series->rounds : 0);
	json_double(&j, "confidence", TRY_CONFIDENCE);
	if (v->series) {
		json_int(&j, "status", v->series->status);
		json_bool(&j, "output_varies",
			  v->series->arms[0].differs[TRY_STDOUT] != TRY_EQUAL);
		json_compared(&j, v->series);
	}
	json_open(&j, "changes", '[');
	for (i = 0; i < v->count; i++)
		if (v->rows[i].change)
			json_row(&j, NULL, &v->rows[i]);
	json_close(&j, ']');
	if (v->together)
		json_row(&j, "together", v->together);
	else
		json_null(&j, "together");
	json_close(&j, '}');
	fputc('\n', f);
}
