// SPDX-License-Identifier: GPL-2.0-or-later
#include "lib/text/text.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "lib/base/utf8.h"

const char *text_count(char buf[TEXT_MAX], uint64_t n)
{
	char digits[TEXT_MAX];
	int len, i, o = 0;

	len = snprintf(digits, sizeof(digits), "%" PRIu64, n);
	for (i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			buf[o++] = ',';
		buf[o++] = digits[i];
	}
	buf[o] = 0;
	return buf;
}

const char *text_size(char buf[TEXT_MAX], uint64_t bytes)
{
	static const char *const units[] = { "KiB", "MiB", "GiB", "TiB",
					     "PiB", "EiB" };
	double v = bytes / 1024.;
	size_t u = 0;

	if (bytes < 1024) {
		snprintf(buf, TEXT_MAX, "%" PRIu64 " bytes", bytes);
		return buf;
	}
	for (; v >= 1023.95 && u < 5; u++)
		v /= 1024;
	snprintf(buf, TEXT_MAX, "%.1f %s", v, units[u]);
	return buf;
}

const char *text_duration(char buf[TEXT_MAX], uint64_t ns)
{
	/* What would be rounded to 1000 of a unit is 1 of the next one. */
	if (ns < 1000)
		snprintf(buf, TEXT_MAX, "%" PRIu64 " ns", ns);
	else if (ns < 999500)
		snprintf(buf, TEXT_MAX, "%.3g us", ns / 1e3);
	else if (ns < 999500000)
		snprintf(buf, TEXT_MAX, "%.3g ms", fmax(ns / 1e6, 1));
	else if (ns < 119995000000)
		snprintf(buf, TEXT_MAX, "%.2f s", fmax(ns / 1e9, 1));
	else if (ns < 120000000000)
		snprintf(buf, TEXT_MAX, "2 min 00 s");
	else
		snprintf(buf, TEXT_MAX, "%" PRIu64 " min %02" PRIu64 " s",
			 ns / 60000000000, ns / 1000000000 % 60);
	return buf;
}

const char *text_mean(char buf[TEXT_MAX], uint64_t ns, uint64_t n)
{
	double mean = (double)ns / (double)n;

	if (mean >= 10)
		return text_duration(buf, ns / n);
	snprintf(buf, TEXT_MAX, "%.2g ns", ns ? fmax(mean, 0.01) : 0.);
	return buf;
}

const char *text_percent(char buf[TEXT_MAX], uint64_t part, uint64_t whole)
{
	double v = whole ? 100. * part / whole : 0;

	if (part < whole && v > 99.99)
		v = 99.99;
	if (part && v < 0.01)
		v = 0.01;
	if (!whole)
		snprintf(buf, TEXT_MAX, "-");
	else if (part == whole)
		snprintf(buf, TEXT_MAX, "100 %%");
	else
		snprintf(buf, TEXT_MAX, "%.2f %%", v);
	return buf;
}

const char *text_than(char buf[TEXT_MAX], double ratio)
{
	double percent = 100 * (ratio - 1);

	if (!isfinite(percent))
		return "without a bound";
	if (percent > 900)
		return "more than 10 times as much";
	if (fabs(percent) < 0.05)
		return "as much";
	snprintf(buf, TEXT_MAX, fabs(percent) < 10 ? "%.1f %% %s" : "%.0f %% %s",
		 fabs(percent), percent < 0 ? "less" : "more");
	return buf;
}

const char *text_samples(char buf[TEXT_SAMPLES_MAX], const char *levels)
{
	unsigned long least = ULONG_MAX, most = 0, all = 0, sampled = 0;
	unsigned long level, n;
	int used, len = 0;

	*buf = 0;
	for (; levels && *levels; levels += used) {
		used = 0;
		if (sscanf(levels, "%4lu %18lu %n", &level, &n, &used) < 2 ||
		    !used || level > 63)
			return buf;
		all += n;
		if (!level || !n)
			continue;
		sampled += n;
		least = level < least ? level : least;
		most = level > most ? level : most;
	}
	if (!sampled)
		return buf;
	len = snprintf(buf, TEXT_SAMPLES_MAX, "1/%lu", 1ul << least);
	if (most > least)
		len += snprintf(buf + len, TEXT_SAMPLES_MAX - len, " to 1/%lu",
				1ul << most);
	snprintf(buf + len, TEXT_SAMPLES_MAX - len,
		 " of large memory in %lu of %lu interval%s", sampled, all,
		 all == 1 ? "" : "s");
	return buf;
}

/* One character of a name. */
static int print_char(FILE *f, const unsigned char *s, int *len)
{
	char shown[5];

	*len = moca_utf8_show(s, shown);
	if (f)
		fputs(shown, f);
	return *shown == '\\' && *s != '\\' ? 4 : 1;
}

static int name_columns(const unsigned char *s)
{
	int n = 0, len;

	for (; *s; s += len)
		n += print_char(NULL, s, &len);
	return n;
}

int text_name(FILE *f, const char *name, int width)
{
	const unsigned char *s = (const unsigned char *)name;
	int len, n = 0;

	if (width > 3 && name_columns(s) > width) {
		while (*s && name_columns(s) > width - 3) {
			print_char(NULL, s, &len);
			s += len;
		}
		fputs("...", f);
		n = 3;
	}
	for (; *s; s += len)
		n += print_char(f, s, &len);
	return n;
}

void text_string(FILE *f, const char *value, int csv)
{
	const unsigned char *s = (const unsigned char *)value;
	const char *mark = csv ? "\"\"" : "\"";
	int len;

	fputs(mark, f);
	for (; *s; s += len) {
		len = 1;
		if (*s == '"')
			fprintf(f, "\\%s", mark);
		else if (*s == '\\')
			fputs("\\\\", f);
		else if (*s == '\n')
			fputs("\\n", f);
		else if (*s == '\t')
			fputs("\\t", f);
		else
			print_char(f, s, &len);
	}
	fputs(mark, f);
}
