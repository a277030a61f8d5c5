// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The profile of a job as a file, in the form of analysis/fields.h:
 *
 *	moca-profile	1
 *	way	counts|pages|none
 *	rank	NUMBER STATE HOST JOB MACHINE COMMAND VALUES
 *	finding	KIND OBJECT LEAST MOST RANKS TITLE
 *	object	NAME FUNCTION FILE RANKS THREADS SUMS BOUND BOUND BOUND
 *	end	CHECKSUM
 *
 * VALUES are those of enum moca_job_value, - where one is not known; SUMS of enum
 * moca_job_sum; a BOUND is VALUE RANK: least and most accesses, most remote ones.
 * RANKS of a finding are as 0-3,7. Lines of a kind are in the order of their keys,
 * so that one profile is one text. CHECKSUM is XXH64, in 16 hexadecimal digits, of
 * all lines before the last.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "analysis/fields.h"
#include "analysis/job/job.h"

#define BEGIN "moca-profile\t"
#define LARGEST (64 << 20)
#define RANK_TEXTS 7
#define ROW_TEXTS 6
#define BOUNDS 3
#define FIELDS 32

_Static_assert(RANK_TEXTS + MOCA_JOB_VALUES <= FIELDS, "room for a rank");
_Static_assert(ROW_TEXTS + MOCA_JOB_SUMS + 2 * BOUNDS <= FIELDS, "room for a row");

/* --- writing ------------------------------------------------------------ */

static void put(FILE *f, const char *text)
{
	fputc('\t', f);
	fields_put(f, text ? text : "");
}

static void put_number(FILE *f, uint64_t v)
{
	fprintf(f, "\t%" PRIu64, v);
}

static void write_rank(FILE *f, const struct moca_job_rank *r)
{
	int v;

	fprintf(f, "rank\t%" PRIu32 "\t%s", r->number,
		moca_job_state_name(r->state));
	put(f, r->host);
	put(f, r->job);
	put(f, r->machine);
	put(f, r->command);
	for (v = 0; v < MOCA_JOB_VALUES; v++)
		if (r->value[v] == MOCA_JOB_NOT_KNOWN)
			fputs("\t-", f);
		else
			put_number(f, r->value[v]);
	fputc('\n', f);
}

static void write_finding(FILE *f, const struct moca_job_finding *x)
{
	size_t i;

	fputs("finding", f);
	put(f, x->kind);
	put(f, x->object);
	put_number(f, x->gain_least);
	put_number(f, x->gain_most);
	for (i = 0; i < x->range_count; i++) {
		fprintf(f, "%c%" PRIu32, i ? ',' : '\t', x->ranges[i].first);
		if (x->ranges[i].last != x->ranges[i].first)
			fprintf(f, "-%" PRIu32, x->ranges[i].last);
	}
	put(f, x->title);
	fputc('\n', f);
}

static void write_row(FILE *f, const struct moca_job_row *r)
{
	const struct moca_job_bound *const bounds[BOUNDS] = {
		&r->least, &r->most, &r->remote };
	int m;

	fputs("object", f);
	put(f, r->name);
	put(f, r->function);
	put(f, r->file);
	put_number(f, r->ranks);
	put_number(f, r->threads);
	for (m = 0; m < MOCA_JOB_SUMS; m++)
		put_number(f, r->sum[m]);
	for (m = 0; m < BOUNDS; m++) {
		put_number(f, bounds[m]->value);
		put_number(f, bounds[m]->rank);
	}
	fputc('\n', f);
}

uint64_t moca_job_sum(const char *text, size_t len)
{
	return XXH64(text, len, 0);
}

int moca_job_write(FILE *out, const struct moca_job *j)
{
	char *text = NULL;
	size_t len = 0, i;
	int failed;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return -ENOMEM;
	fputs(BEGIN MOCA_JOB_VERSION "\n", f);
	fprintf(f, "way\t%s\n", j->counts < 0 ? "none" :
				j->counts ? "counts" : "pages");
	for (i = 0; i < j->rank_count; i++)
		write_rank(f, &j->ranks[i]);
	for (i = 0; i < j->finding_count; i++)
		write_finding(f, &j->findings[i]);
	for (i = 0; i < j->row_count; i++)
		write_row(f, &j->rows[i]);
	failed = ferror(f);
	failed |= fclose(f);
	if (!failed) {
		fwrite(text, 1, len, out);
		fprintf(out, "end\t%016" PRIx64 "\n", moca_job_sum(text, len));
	}
	free(text);
	return failed ? -ENOMEM : len > LARGEST - 32 ? -EFBIG : 0;
}

/* --- reading ------------------------------------------------------------ */

int moca_job_is(const char *path)
{
	return fields_begin(path, BEGIN);
}

/* Digits, and nothing that the writer would not write. */
static int number(const char *s, uint64_t most, uint64_t *out)
{
	char *end;

	if (!isdigit((unsigned char)*s) || (*s == '0' && s[1]))
		return -EBADMSG;
	errno = 0;
	*out = strtoull(s, &end, 10);
	return errno || *end || *out > most ? -EBADMSG : 0;
}

static int number32(const char *s, uint32_t most, uint32_t *out)
{
	uint64_t v;

	if (number(s, most, &v))
		return -EBADMSG;
	*out = (uint32_t)v;
	return 0;
}

static int text(struct moca_job *j, char *s, const char **out)
{
	if (fields_plain(s))
		return -EBADMSG;
	*out = moca_strings_intern(&j->strings, s);
	return *out ? 0 : -ENOMEM;
}

static const struct moca_job_rank *find_rank(const struct moca_job *j,
					     uint32_t number)
{
	size_t low = 0, high = j->rank_count, at;

	while (low < high) {
		at = low + (high - low) / 2;
		if (j->ranks[at].number == number)
			return &j->ranks[at];
		if (j->ranks[at].number < number)
			low = at + 1;
		else
			high = at;
	}
	return NULL;
}

static int read_rank(struct moca_job *j, char **f, size_t n)
{
	struct moca_job_rank *r = &j->ranks[j->rank_count];
	int s, v, err;

	if (n != RANK_TEXTS + MOCA_JOB_VALUES ||
	    number32(f[1], MOCA_JOB_RANK_MAX, &r->number) ||
	    (j->rank_count && r[-1].number >= r->number) ||
	    j->finding_count || j->row_count)
		return -EBADMSG;
	for (s = 0; s < MOCA_JOB_STATES; s++)
		if (!strcmp(f[2], moca_job_state_name((enum moca_job_state)s)))
			break;
	if (s == MOCA_JOB_STATES)
		return -EBADMSG;
	r->state = (enum moca_job_state)s;
	err = text(j, f[3], &r->host);
	if (!err)
		err = text(j, f[4], &r->job);
	if (!err)
		err = text(j, f[5], &r->machine);
	if (!err)
		err = text(j, f[6], &r->command);
	for (v = 0; v < MOCA_JOB_VALUES && !err; v++) {
		r->value[v] = MOCA_JOB_NOT_KNOWN;
		if (strcmp(f[RANK_TEXTS + v], "-"))
			err = number(f[RANK_TEXTS + v], MOCA_JOB_NOT_KNOWN - 1,
				     &r->value[v]);
	}
	j->rank_count += !err;
	return err;
}

/* "0-3,7": of ranks that there are, in order, none beside the next one. */
static int read_ranges(const struct moca_job *j, struct moca_job_finding *x,
		       char *list)
{
	const struct moca_job_rank *from, *to;
	struct moca_job_range *r;
	size_t n = 1, i;
	char *item, *dash;

	for (i = 0; list[i]; i++)
		n += list[i] == ',';
	x->ranges = calloc(n, sizeof(*x->ranges));
	if (!x->ranges)
		return -ENOMEM;
	while ((item = strsep(&list, ","))) {
		r = &x->ranges[x->range_count];
		dash = strchr(item, '-');
		if (dash)
			*dash++ = 0;
		if (number32(item, MOCA_JOB_RANK_MAX, &r->first) ||
		    number32(dash ? dash : item, MOCA_JOB_RANK_MAX, &r->last) ||
		    (dash && r->last <= r->first) ||
		    (x->range_count && r[-1].last + 1 >= r->first))
			return -EBADMSG;
		from = find_rank(j, r->first);
		to = find_rank(j, r->last);
		if (!from || !to || to - from != r->last - r->first)
			return -EBADMSG;
		x->range_count++;
	}
	return 0;
}

static int read_finding(struct moca_job *j, char **f, size_t n)
{
	struct moca_job_finding *x = &j->findings[j->finding_count];
	int err;

	if (n != 7 || j->row_count)
		return -EBADMSG;
	err = text(j, f[1], &x->kind);
	if (!err)
		err = text(j, f[2], &x->object);
	if (!err)
		err = text(j, f[6], &x->title);
	if (err)
		return err;
	if (j->finding_count && moca_job_finding_order(x - 1, x) >= 0)
		return -EBADMSG;
	if (number32(f[4], UINT32_MAX, &x->gain_most) ||
	    number32(f[3], x->gain_most, &x->gain_least))
		return -EBADMSG;
	/* From here on the ranges are freed with the profile. */
	j->finding_count++;
	return read_ranges(j, x, f[5]);
}

static int read_row(struct moca_job *j, char **f, size_t n)
{
	struct moca_job_row *r = &j->rows[j->row_count];
	struct moca_job_bound *const bounds[BOUNDS] = { &r->least, &r->most,
							&r->remote };
	uint64_t ranks;
	int m, err;

	if (n != ROW_TEXTS + MOCA_JOB_SUMS + 2 * BOUNDS || !*f[2] != !*f[3])
		return -EBADMSG;
	err = text(j, f[1], &r->name);
	if (!err && *f[2])
		err = text(j, f[2], &r->function);
	if (!err && *f[3])
		err = text(j, f[3], &r->file);
	if (err)
		return err;
	if (j->row_count && strcmp(r[-1].name, r->name) >= 0)
		return -EBADMSG;
	if (number(f[4], j->rank_count, &ranks) || !ranks ||
	    number(f[5], UINT64_MAX, &r->threads))
		return -EBADMSG;
	r->ranks = (uint32_t)ranks;
	for (m = 0; m < MOCA_JOB_SUMS; m++)
		if (number(f[ROW_TEXTS + m], UINT64_MAX, &r->sum[m]))
			return -EBADMSG;
	for (m = 0; m < BOUNDS; m++) {
		char **at = f + ROW_TEXTS + MOCA_JOB_SUMS + 2 * m;

		if (number(at[0], UINT64_MAX, &bounds[m]->value) ||
		    number32(at[1], MOCA_JOB_RANK_MAX, &bounds[m]->rank) ||
		    !find_rank(j, bounds[m]->rank))
			return -EBADMSG;
	}
	if (r->least.value > r->most.value)
		return -EBADMSG;
	j->row_count++;
	return 0;
}

static int read_line(struct moca_job *j, size_t line, char *at)
{
	char *f[FIELDS];
	size_t n = fields_split(at, f, FIELDS);

	if (!n)
		return -EBADMSG;
	if (line == 2) {
		if (n != 2 || strcmp(f[0], "way"))
			return -EBADMSG;
		j->counts = !strcmp(f[1], "counts") ? 1 :
			    !strcmp(f[1], "pages") ? 0 : -1;
		return j->counts < 0 && strcmp(f[1], "none") ? -EBADMSG : 0;
	}
	if (!strcmp(f[0], "rank"))
		return read_rank(j, f, n);
	if (!strcmp(f[0], "finding"))
		return read_finding(j, f, n);
	return strcmp(f[0], "object") ? -EBADMSG : read_row(j, f, n);
}

/* The last line, whose checksum must be that of all before it. */
static int check_end(char *all, size_t len, size_t *body)
{
	char end[32];
	size_t n;

	all[len - 1] = 0;
	n = len - 1;
	while (n && all[n - 1] != '\n')
		n--;
	all[len - 1] = '\n';
	if (strncmp(all + n, "end\t", 4))
		return -ENODATA;
	snprintf(end, sizeof(end), "end\t%016" PRIx64 "\n", moca_job_sum(all, n));
	*body = n;
	return strcmp(all + n, end) ? -EBADMSG : 0;
}

static int read_all(struct moca_job *j, char *all, size_t len, size_t *line)
{
	size_t lines = 0, begin = strlen(BEGIN), i, body;
	char *rest = all, *at;
	int err;

	if (strncmp(all, BEGIN, begin)) {
		*line = 1;
		return -EBADMSG;
	}
	/* What a newer one has at its end is not known. */
	if (strncmp(all + begin, MOCA_JOB_VERSION "\n", strlen(MOCA_JOB_VERSION) + 1))
		return -EPROTO;
	err = check_end(all, len, &body);
	if (err)
		return err;
	all[body] = 0;
	for (i = 0; i < body; i++)
		lines += all[i] == '\n';
	j->ranks = calloc(lines, sizeof(*j->ranks));
	j->rows = calloc(lines, sizeof(*j->rows));
	j->findings = calloc(lines, sizeof(*j->findings));
	if (!j->ranks || !j->rows || !j->findings)
		return -ENOMEM;
	for (i = 1; i <= lines; i++) {
		at = strsep(&rest, "\n");
		*line = i;
		err = i > 1 ? read_line(j, i, at) : 0;
		if (err)
			return err;
	}
	*line = 2;
	return lines < 2 ? -EBADMSG : 0;
}

int moca_job_read(struct moca_job *j, FILE *f, size_t *line)
{
	char *all = NULL;
	size_t len;
	int err = fields_read(f, LARGEST, &all, &len);

	*line = 0;
	if (!err)
		err = read_all(j, all, len, line);
	free(all);
	return err;
}
