/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All findings and the rules that find them; a new one is a line or two here. */
#ifndef MOCA_ANALYSIS_ADVICE_LIST_H
#define MOCA_ANALYSIS_ADVICE_LIST_H

/* MOCA_FINDING_..., and its name: stable, for programs. */
#define ADVICE_KINDS(X) \
	/* pages where one thread prepared them */ \
	X(SERIAL_TOUCH, "serial-first-touch") \
	/* by several, but not by their users */ \
	X(OTHER_TOUCH, "mismatched-first-touch") \
	/* pages without a thread of their own */ \
	X(MOVING_PARTS, "moving-parts") \
	/* one node serves what all use */ \
	X(ONE_NODE, "one-node") \
	/* all read, nobody writes */ \
	X(REPLICATE, "replicate") \
	X(UNBALANCED, "unbalanced-parts") \
	X(HUGE_PAGES, "huge-pages") \
	X(ABANDONED, "abandoned") \
	/* one writes, others use */ \
	X(SHARED_LINES, "shared-lines") \
	/* all write all over it */ \
	X(SCATTERED, "scattered-writes") \
	/* an earlier owner of its memory placed it */ \
	X(RECYCLED, "recycled-memory") \
	/* structures with one cause */ \
	X(MISPLACED, "misplaced") \
	/* faults on memory that was given back */ \
	X(CHURN, "fault-churn") \
	/* allocated on and on, and used once */ \
	X(GROWING, "growing-memory") \
	/* a little is used all the time, much seldom */ \
	X(TIERS, "hot-and-cold") \
	/* threads do not stay on a node */ \
	X(MIGRATION, "thread-migration")

/* Of those about placement the first that holds says it all. */
#define ADVICE_PLACEMENT(X) \
	X(rule_recycled) \
	X(rule_serial_touch) \
	X(rule_replicate) \
	X(rule_moving_parts) \
	X(rule_one_node) \
	X(rule_scattered)

/* Of counts of exact mode: what needs neither an order nor an instruction. */
#define ADVICE_COUNTED(X) \
	X(rule_counted_touch) \
	X(rule_shared_lines) \
	X(rule_unbalanced)

/* Each on its own. */
#define ADVICE_OTHERS(X) \
	X(rule_unbalanced) \
	X(rule_huge_pages) \
	X(rule_abandoned) \
	X(rule_growing)

/* Of the whole program, when its structures were looked at. */
#define ADVICE_WHOLE(X) \
	X(rule_churn) \
	X(rule_misplaced) \
	X(rule_line_turns) \
	X(rule_tiers) \
	X(rule_migration)

#endif
