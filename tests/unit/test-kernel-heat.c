// SPDX-License-Identifier: GPL-2.0-or-later
/* Heat: what the kernel module tells of accessed bits, from its rings to a trace. */
#include "analysis/heat.h"
#include "collect/kernel/decode.h"
#include "tests/unit/kernel-trace.h"

/* Words that are none, or not there; pages that do not begin a word. */
static int t_heat_records(void)
{
	const struct moca_rec *r;
	struct kernel_chunk c;

	CHECK(!rings_new());
	for (int wrong = 0; wrong < 5; wrong++) {
		struct moca_rec_heat *h;

		maker_chunk(&cpu0, 0, 100, 200, 0);
		put_heat(&cpu0, 7, 110, AT(64), 8, 1);
		h = (void *)(cpu0.open + 1);
		if (wrong == 1)
			h->words = 0;
		else if (wrong == 2)
			h->words = 9;
		else if (wrong == 3)
			h->rec.bytes -= 8;
		else if (wrong == 4)
			h->addr += 4096;
		cpu0.open->bytes = sizeof(*cpu0.open) + h->rec.bytes;
		CHECK(!kernel_chunk_open(&c, cpu0.open, cpu0.open->bytes));
		CHECK(kernel_chunk_next(&c, &r) == (wrong ? -EBADMSG : 1));
	}
	rings_free();
	return 0;
}

/* Pages of process 7, and looks with their sums; none of what is not wanted. */
static void walk_heat(struct moca_trace *r, uint64_t *pages, uint64_t *written,
		      uint64_t *looks, uint64_t *sum)
{
	const struct moca_event *e;
	struct moca_cursor *cur;
	struct moca_heat_run run;
	uint64_t touched;
	uint32_t task;

	*pages = *written = *looks = *sum = 0;
	if (moca_cursor_open(&cur, r, NULL))
		abort();
	while (moca_cursor_event(cur, &e, &task) > 0) {
		if (moca_heat_run(&run, e) > 0 && run.pid == 7 &&
		    run.since_ns == 1996 && run.pages == 128)
			for (size_t i = 0; i < run.pages; i++) {
				*pages += moca_heat_touched(&run, i) &&
					  run.addr == AT(64);
				*written += moca_heat_written(&run, i);
			}
		if (moca_heat_look_end(e, &touched)) {
			++*looks;
			*sum += touched;
		}
	}
	moca_cursor_close(cur);
}

static int t_heat(void)
{
	uint64_t pages, written, looks, sum;
	struct kernel_heat *h = NULL;
	struct kernel_trace *t;
	struct moca_trace *r;

	for (int unwanted = 0; unwanted < 2; unwanted++) {
		CHECK(!rings_new());
		t = trace_new(unwanted ? "/bin/program" : NULL, &h);
		CHECK(t);
		put_program();
		maker_chunk(&monitor, 0, 2000, 3000, 0);
		put_heat(&monitor, 7, 2001, AT(64), 2, 0xf0f);
		put_look(&monitor, 2001, 8);
		put_look(&monitor, 2100, 0);
		put_interval(&monitor, 1, 3000);
		maker_done(&monitor);
		CHECK(!kernel_merge_fill(merge, rings));
		trace_interval(t, 0);
		trace_interval(t, UINT64_MAX);
		CHECK(!kernel_trace_error(t) && kernel_heat_lost(h) == 4);
		CHECK(!kernel_heat_close(h));
		put_meta("complete");
		CHECK(!moca_trace_open(&r, dir));
		walk_heat(r, &pages, &written, &looks, &sum);
		CHECK(pages == (unwanted ? 0 : 8) && looks == 2);
		CHECK(sum == pages && written == pages / 2);
		moca_trace_close(r);
		kernel_trace_free(t);
		moca_writer_destroy(writer);
		rings_free();
	}
	return 0;
}

int main(void)
{
	run("kernel: records of heat that are wrong", t_heat_records);
	run("kernel: heat", t_heat);
	dir_remove();
	return failures != 0;
}
