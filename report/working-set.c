// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/working-set.h"

#include <stdio.h>

#include "lib/text/text.h"

static void print_bar(uint64_t pages, uint64_t most)
{
	static const char *const bars[] = { "▁", "▂", "▃", "▄",
					    "▅", "▆", "▇", "█" };
	uint64_t height;

	if (pages > most)
		pages = most;
	height = pages ? (pages * 8 - 1) / most : 0;
	fputs(pages ? bars[height] : " ", stdout);
}

void working_set_bars(const struct moca_interval_pages *p)
{
	size_t i;

	for (i = 0; i < p->column_count; i++)
		print_bar(p->columns[i], p->most);
}

void working_set_print(const struct moca_interval_pages *p,
		       unsigned page_shift)
{
	char a[TEXT_MAX], b[TEXT_MAX], c[TEXT_MAX], d[TEXT_MAX];

	printf("most %s page%s (%s) in an interval, half of the time ",
	       text_count(a, p->most), PLURAL(p->most),
	       text_size(b, p->most << page_shift));
	if (p->median)
		printf("%s (%s) or fewer", text_count(c, p->median),
		       text_size(d, p->median << page_shift));
	else
		fputs("none", stdout);
}
