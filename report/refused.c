// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/refused.h"

#include <stdio.h>

#include "analysis/trace.h"
#include "lib/base/plural.h"
#include "lib/text/json.h"
#include "lib/text/text.h"

int refused_read(const struct moca_trace *t, struct refused *out)
{
	*out = (struct refused){
		.events = trace_meta_u64(t, "trace.outside", 0),
		.threads = trace_meta_u64(t, "trace.refused", 0),
		.rights = trace_meta_u64(t, "trace.refused_rights", 0),
		.away = trace_meta_u64(t, "trace.refused_away", 0),
	};
	return out->events || out->threads;
}

static void print_reason(uint64_t count, const char *between,
			 const char *reason)
{
	char a[TEXT_MAX];

	if (count)
		printf("%s%s %s", between, text_count(a, count), reason);
}

void refused_print(const struct moca_trace *t)
{
	char a[TEXT_MAX], b[TEXT_MAX];
	struct refused r;

	if (!refused_read(t, &r))
		return;
	printf("  Lost: %s event%s of %s thread%s that had no buffer",
	       text_count(a, r.events), PLURAL(r.events),
	       text_count(b, r.threads), PLURAL(r.threads));
	print_reason(r.rights, ": ", "in processes that run as another user by now and may not reach the recorder");
	print_reason(r.away, r.rights ? ", " : ": ", "in processes that could not find it (another root directory, or it had ended)");
	puts(".");
}

void refused_json(struct json *j, const struct moca_trace *t, const char *key)
{
	struct refused r;

	refused_read(t, &r);
	json_open(j, key, '{');
	json_uint(j, "events_lost", r.events);
	json_uint(j, "threads", r.threads);
	json_uint(j, "other_user", r.rights);
	json_uint(j, "not_found", r.away);
	json_close(j, '}');
}
