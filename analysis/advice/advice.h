/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a user could change, by what a profile shows. Each finding has its
 * evidence, what would become of the remote accesses, and what to try. The
 * rules and the reasons for their thresholds are in doc/design/advice.md.
 */
#ifndef MOCA_ADVICE_H
#define MOCA_ADVICE_H

#include "analysis/advice/list.h"
#include "analysis/profile/profile.h"

enum moca_finding_kind {
#define X(kind, id) MOCA_FINDING_##kind,
	ADVICE_KINDS(X)
#undef X
	MOCA_FINDING_KINDS
};
/* "serial-first-touch": stable, for programs. */
const char *moca_finding_id(enum moca_finding_kind k);

enum moca_confidence {
	MOCA_CONFIDENCE_LOW, MOCA_CONFIDENCE_MEDIUM, MOCA_CONFIDENCE_HIGH
};
const char *moca_confidence_name(enum moca_confidence c);

#define MOCA_FINDING_LINES 6
/* Fewer intervals say nothing of who uses a page in the long run. */
#define MOCA_ADVICE_INTERVALS 10

/* All text is for people; names in it are as in the trace, not made safe. */
struct moca_finding {
	enum moca_finding_kind kind;
	enum moca_confidence confidence;
	/* Of several structures with one cause, the most used. */
	const struct moca_profile_object *object;
	/* Share of all accesses to data that would no longer be remote, or that
	   the finding is about; findings are sorted by it. */
	double gain;
	/* Of the object's accesses, the share that is remote; NAN: says
	   nothing. after: with what is advised. */
	double remote[MOCA_POLICIES];
	double after;
	double seconds;		/* of CPU time that it would save; NAN: not known */
	char *title;
	char *evidence[MOCA_FINDING_LINES];	/* until NULL */
	char *cause;
	char *fix;
	char *try_[MOCA_FINDING_LINES];	/* code or commands, until NULL */
	/* Variables of the environment that make the change without the source,
	   "NAME=VALUE NAME=VALUE" (moca try); NULL: none do. */
	char *setting;
	/* Where its pages were first touched, if known. */
	const char *function, *file;
	unsigned line;
};

/* A rule that was asked, and what came closest to a finding. */
struct moca_check {
	enum moca_finding_kind kind;
	size_t looked;		/* at so many structures; 1: at the program */
	int found;		/* it has a finding */
	/*
	 * From 0, far, to 1: the product of what was reached of each condition
	 * that does not hold. 0: nothing came near.
	 */
	double near;
	const struct moca_profile_object *object;	/* NULL: the program */
	char *missed;		/* what it lacks, or NULL */
};

struct moca_advice {
	struct moca_finding *findings;	/* the most worthwhile first */
	size_t count, cap;
	struct moca_check *checks;	/* by kind; of those that were asked */
	size_t check_count, check_cap;
	/* With most accesses from other nodes; NULL: none has any. */
	const struct moca_profile_object *most_remote;
	/* What matters and the trace is too coarse to tell: "who uses which
	   page"; NULL: nothing. */
	const char *undecided;
	char *again;		/* how to record it so that the trace tells more;
				   NULL: it tells enough */
	char *failed;		/* the recording ended before the program: when
				   and why; NULL: it did not */
	char **notes;		/* what was not looked at, or cannot be told */
	size_t note_count, note_cap;
};

/* 0 or -ENOMEM. p must outlive *out. */
int moca_advice_compute(struct moca_advice **out, struct moca_trace *t,
			const struct moca_profile *p);
void moca_advice_free(struct moca_advice *a);

#endif
