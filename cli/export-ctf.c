// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdio.h>

#include "cli/commands.h"
#include "cli/export-picked.h"
#include "export/ctf.h"
#include "lib/base/err.h"
#include "lib/text/text.h"

int export_ctf(struct export *x)
{
	struct moca_ctf_options o = {
		.events_only = x->events_only, .range = x->range,
	};
	char a[TEXT_MAX], b[TEXT_MAX], c[TEXT_MAX], d[TEXT_MAX];
	struct moca_ctf_result r = { .read_failed = 1 };
	struct export_picked picked;
	int err = export_picked_open(&picked, x, 0);

	o.pick = picked.use;
	if (!err)
		err = moca_ctf_export(x->t, x->dirfd, &o, &r);
	export_picked_close(&picked);
	x->read_failed = r.read_failed;
	if (err)
		return err;
	if (r.left_out)
		moca_warn("export: %s event%s of '%s' left out: of a kind that this moca (%s) does not know",
			  text_count(a, r.left_out),
			  r.left_out == 1 ? " was" : "s were", x->trace,
			  MOCA_VERSION);
	if (r.moved)
		moca_warn("export: %s event%s of '%s' out of order or too late: written with the time of the one before",
			  text_count(a, r.moved),
			  r.moved == 1 ? " was" : "s were", x->trace);
	if (!x->quiet)
		moca_say("%s: %s event%s, %s access%s and %s task event%s in %s stream%s, %s",
			 x->out, text_count(a, r.events), PLURAL(r.events),
			 text_count(b, r.accesses),
			 r.accesses == 1 ? "" : "es",
			 text_count(c, r.task_events), PLURAL(r.task_events),
			 text_count(d, r.streams), PLURAL(r.streams),
			 text_size((char[TEXT_MAX]){ 0 }, r.bytes));
	if (!x->quiet && r.discarded)
		moca_say("%s: the recorder lost %s event%s: told as discarded",
			 x->out, text_count(a, r.discarded),
			 PLURAL(r.discarded));
	return 0;
}

/* Counts are sums, of no moment: no event is right for them. 0 or an exit code. */
int export_ctf_refuse(const struct export *x)
{
	size_t i, n = moca_trace_task_count(x->t);
	uint64_t counts = 0, accesses = 0;

	for (i = 0; i < n; i++) {
		counts += moca_trace_task(x->t, i)->counts;
		accesses += moca_trace_task(x->t, i)->accesses;
	}
	if (!counts || x->events_only)
		return 0;
	if (accesses) {
		moca_warn("export: '%s' has counts of exact mode, too: they are sums over a time, which no event of this format can be, and are left out ('moca dump --counts --csv %s' prints them)",
			  x->trace, x->trace);
		return 0;
	}
	moca_error("export: '%s' has counts of exact mode and no accesses: they are sums over a time, which no event of this format can be. 'moca dump --counts --csv %s' prints them; --events-only exports what the program emitted",
		   x->trace, x->trace);
	return EXIT_USAGE;
}
