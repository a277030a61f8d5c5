/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The protocol of lib/ring/: one thread and its signal handlers, nested three
 * deep, write; a collector reads; the program may be killed between any two
 * steps. A step is one access to what is shared, with the handlers or with
 * the collector. tests/model/run sets the macros and makes the MUTANT_s.
 *
 * An event's ordinal k, given by its reservation, is in its header and in each
 * word of its payload. A SYNC is one word here.
 */
#ifndef OVERWRITE
#define OVERWRITE 0
#endif
#ifndef BLOCK
#define BLOCK 0
#endif
#ifdef MUTANT_NESTED_WAIT
#define WAITS true
#else
#define WAITS (_pid == 0)	/* the collector may wait for who is interrupted */
#endif
#ifndef SUBBUFS
#define SUBBUFS 2
#endif
#ifndef SUB
#define SUB 5		/* words of a subbuffer */
#endif
#ifndef EVENTS
#define EVENTS 5	/* attempts, at all levels together */
#endif
#ifndef PASSES
#define PASSES 2	/* snapshots, when overwriting */
#endif
#ifndef LEVELS
#define LEVELS 3
#endif
#ifndef SHORT
#define SHORT 2		/* words of an event */
#endif
#ifndef LONG
#define LONG 3
#endif
#ifndef SWITCHES
#define SWITCHES 1	/* a call to close the current subbuffer, at most */
#endif

#define SIZE (SUB * SUBBUFS)
#define BUSY 1
#define COMMITTED 2
#define WRITTEN 3	/* a word of payload */
#define SYNC 14
#define PAD 15
#define W(state, words, k) ((state) << 6 | (words) << 4 | (k))
#define STATE(w) ((w) >> 6)
#define LEN(w) (((w) >> 4) & 3)
#define ID(w) ((w) & 15)
#define UP(p) (((p) + SUB - 1) / SUB * SUB)
#define END(p) (((p) / SUB + 1) * SUB)	/* of the subbuffer p is in */

/* Shared memory. */
byte mem[SIZE];
byte reserve, erased, lost;
byte limit = SIZE;

/* The thread's own. */
byte outermost;		/* no record of an interrupted writer is below */
bit synced;		/* what is written now follows a committed SYNC */
byte cur;		/* the level that runs */
bool inside[LEVELS];
bool finished, checked;

/* What the assertions know. */
byte attempts, reserved, switches;
byte at[EVENTS + 1];	/* position of event k */
bool done[EVENTS + 1];	/* committed */
bool got[EVENTS + 1];	/* read */

/* The collector's own. */
byte rpos, lastk;

/* A word that nobody wrote before, and where the producer may write. */
inline put(p, w)
{
	assert((p) < limit && (p) + SIZE >= limit);
	assert(mem[(p) % SIZE] == 0);
	mem[(p) % SIZE] = w
}

inline change(p, old, w)
{
	assert((p) < limit && (p) + SIZE >= limit);
	assert(mem[(p) % SIZE] == old);
	mem[(p) % SIZE] = w
}

inline raise_limit(to)
{
	i = 0;
	do
	:: i < SUB ->
		assert(mem[(to - SUB + i) % SIZE] == 0);
		i++
	:: else -> break
	od;
	i = 0;
	assert(limit == to - SUB);
	limit = to
}

inline zero(p, from, upto)
{
	i = from;
	do
	:: i < upto -> mem[(p + i) % SIZE] = 0; i++
	:: else -> break
	od;
	i = 0
}

inline enter()
{
	attempts++;
	inside[cur] = true
}

inline leave()
{
	pos = 0; start = 0; sync = 0; n = 0; k = 0; words = 0; next = 0;
	inside[cur] = false;
	cur = (cur -> cur - 1 : 0)
}

/* The words of an event; 0: close the subbuffer instead. */
inline choose()
{
	if
	:: words = SHORT
	:: LONG != SHORT -> words = LONG
	:: switches < SWITCHES -> switches++; attempts--; words = 0
	fi
}

/* Each statement is a step, atomic { } is one, whatever is in it. */
active [LEVELS] proctype Writer() provided (cur == _pid)
{
	byte pos, start, next, words, k, n, i;
	bit sync;

idle:	if
	:: atomic { _pid > 0 ->
		choose();
		goto load
	}
	:: atomic { _pid == 0 && attempts < EVENTS ->
		enter();
		choose()
	}
	:: atomic { _pid == 0 && attempts == EVENTS ->
		finished = true;
		goto end
	}
	fi;
	outermost = reserve;
load:	atomic {
		pos = reserve;
		sync = !(pos % SUB != 0 && pos + words <= END(pos) && synced);
		start = pos;
		if
		:: words == 0 && pos % SUB == 0 -> leave(); goto idle
		:: words == 0 && pos % SUB != 0 -> start = UP(pos); sync = 0;
			goto claim
		:: else -> skip
		fi;
		if
		:: !sync -> goto claim
		:: sync && pos % SUB != 0 && pos + 1 + words <= END(pos) ->
			goto unsync
		:: else -> start = UP(pos)
		fi
	};
room:	atomic {
		if
		:: limit >= start + SUB -> goto unsync
		:: else ->
#if OVERWRITE
			next = start;
			goto clean
#elif BLOCK
			if
			:: WAITS -> goto wait
			:: else -> goto drop
			fi
#else
			goto drop
#endif
		fi
	};
#if BLOCK
wait:	atomic { limit >= start + SUB -> goto unsync };
#endif
drop:
#ifdef MUTANT_LOST
	n = lost;
	atomic { lost = n + 1; leave(); goto idle };
#else
	atomic { lost++; leave(); goto idle };
#endif
unsync:
#ifndef MUTANT_SYNCED
	synced = 0;	/* who comes before our SYNC is there writes one */
#endif
claim:
#ifdef MUTANT_CAS_STORE
	n = reserve;
	atomic {
		if
		:: n == pos ->
			n = 0;
#else
	atomic {
		if
		:: reserve == pos ->
#endif
			reserve = start + sync + words;
			if
			:: words ->
				reserved++;
				k = reserved;
				at[k] = start + sync
			:: else -> skip
			fi;
			if
			:: !sync && words -> goto event
			:: sync && start == pos -> goto sync1
			:: else -> skip
			fi
		:: else -> n = 0; goto load
		fi
	};
	atomic {
		put(pos, W(COMMITTED, pos / SIZE % 4, PAD));
		if
		:: words == 0 -> leave(); goto idle
		:: else -> skip
		fi
	};
sync1:	atomic { put(start, W(BUSY, start / SIZE % 4, SYNC)) };
	atomic {
		change(start, W(BUSY, start / SIZE % 4, SYNC),
		       W(COMMITTED, start / SIZE % 4, SYNC))
	};
	synced = 1;
event:	atomic {
		pos = start + sync;
#ifdef MUTANT_PAYLOAD_FIRST
		put(pos + 1, W(WRITTEN, 1, k));
		n = 1
	};
	atomic {
#endif
#ifdef MUTANT_COMMIT_EARLY
		put(pos, W(COMMITTED, words, k));
		done[k] = true;
#else
		put(pos, W(BUSY, words, k));
#endif
		n++;
#if OVERWRITE
		if
		:: sync && start % SUB == 0 ->
			next = start + SUB
		:: else -> goto fill
		fi;
#else
		goto fill
#endif
	};
#if OVERWRITE
	/*
	 * Erase the oldest subbuffer, for next: that which is needed now, or
	 * one ahead. Not when an outer writer is in there, or just erases it.
	 */
clean:	atomic {
		if
		:: limit >= next + SUB -> goto cleaned
#ifndef MUTANT_OUTERMOST
		:: limit < next + SUB && next - SIZE + SUB > outermost ->
			goto cleaned
#endif
		:: else -> skip
		fi
	};
	atomic {
#ifndef MUTANT_ERASE_STORE
		if
		:: erased != next - SIZE -> goto cleaned
		:: else -> skip
		fi;
#endif
#ifndef MUTANT_ERASED_LAST
		erased = next - SIZE + SUB
#endif
	};
	atomic { zero(next, 0, SUB / 2) };
	atomic { zero(next, SUB / 2, SUB) };
#ifdef MUTANT_ERASED_LAST
	erased = next - SIZE + SUB;
#endif
	atomic { raise_limit(next + SUB) };
cleaned:
	atomic {
		if
		:: next != start -> next = 0	/* ahead */
		:: next == start && limit < start + SUB ->
			goto drop
		:: else -> next = 0; goto unsync
		fi
	};
#endif
fill:	if
	:: atomic { n < words ->
		put(pos + n, W(WRITTEN, n, k));
		n++;
		goto fill
	}
	:: atomic { n == words ->
#ifndef MUTANT_COMMIT_EARLY
		change(pos, W(BUSY, words, k), W(COMMITTED, words, k));
		done[k] = true;
#endif
		leave();
		goto idle
	}
	fi;
end:	skip
}

/* A handler that interrupts no writer is as good as a writer itself. */
active proctype Signals()
{
	do
	:: d_step {
		cur < LEVELS - 1 && inside[cur] && attempts < EVENTS ->
			cur++;
			enter()
	}
	od
}

/* A committed event, at word p of m: all of it, in order, and once. */
#define TAKE(m, p, words, read, last)				\
	k = ID(m[(p) % words]);					\
	assert(k > last && k <= reserved);			\
	assert(done[k] && !read[k]);				\
	i = 1;							\
	do							\
	:: i < LEN(m[(p) % words]) ->				\
		assert(m[(p + i) % words] == W(WRITTEN, i, k));	\
		i++						\
	:: else -> break					\
	od;							\
	read[k] = true;						\
	last = k;						\
	k = 0;							\
	i = 0

/* Not the word that belongs at off? */
#define FOREIGN(w)							\
	(STATE(w) < COMMITTED ||					\
	 (STATE(w) == WRITTEN && at[ID(w)] + LEN(w) != off) ||		\
	 (STATE(w) == COMMITTED && ID(w) < SYNC && at[ID(w)] != off) ||	\
	 (ID(w) >= SYNC && LEN(w) != off / SIZE % 4))

/* Copy, from off on; what is in the copy matters only in that it is right. */
#define COPY(upto)							\
	do								\
	:: off < upto ->						\
		bad = bad || FOREIGN(mem[off % SIZE]);			\
		off++							\
	:: else -> break						\
	od

/* Scratch, in single steps only. */
hidden byte f_pos, f_end, f_last, f_torn, f_i;
hidden byte f_got[EVENTS + 1];
hidden byte f_clocked;

/*
 * The program has ended (died: at any step): all that is committed is read
 * now, or was. Changes nothing.
 */
inline final_read(died)
{
	f_pos = rpos; f_last = lastk; f_torn = 0; f_clocked = clocked;
	f_i = 0;
	do
	:: f_i <= EVENTS -> f_got[f_i] = got[f_i]; f_i++
	:: else -> break
	od;
	if
	:: OVERWRITE && f_pos < erased -> f_pos = erased; f_clocked = 0
	:: else -> skip
	fi;
	do
	:: f_pos >= reserve -> break
	:: else ->
		f_end = (reserve < END(f_pos) -> reserve : END(f_pos));
		h = mem[f_pos % SIZE];
		if
		:: h == 0 ->
			f_torn++;
			do
			:: f_pos < f_end && mem[f_pos % SIZE] == 0 -> f_pos++
			:: else -> break
			od
		:: h != 0 && STATE(h) == BUSY ->
			f_torn = f_torn + (ID(h) != SYNC);
			f_pos = f_pos + (ID(h) == SYNC -> 1 : LEN(h))
		:: h != 0 && STATE(h) == COMMITTED ->
			if
			:: ID(h) == PAD -> f_pos = f_end
			:: ID(h) == SYNC ->
				f_clocked = 1;
				f_pos++
			:: else ->
				assert(f_clocked);	/* its time is known */
				TAKE(mem, f_pos, SIZE, f_got, f_last);
				f_pos = f_pos + LEN(h)
			fi
		:: else -> assert(false)
		fi
	od;
	f_i = 1;
	do
	:: f_i <= reserved ->
		if
		:: at[f_i] < erased && OVERWRITE -> skip
		:: else ->
			if
			:: done[f_i] -> assert(f_got[f_i])
			:: else -> assert(f_torn > 0)
			fi
		fi;
		f_i++
	:: else -> break
	od;
	h = 0;
	assert(reserved + lost + inside[0] + inside[1] + inside[2] >= attempts);
	if
	:: !died ->
		assert(f_torn == 0);
		assert(reserved + lost == attempts)
	:: else -> skip
	fi
}

active proctype Reader()
{
	byte h, k, i;
	bit clocked;
#if OVERWRITE
	byte off, to, mid, passes;
	bit padded, bad;
#endif

	do
#if OVERWRITE
	:: d_step { !finished && passes < PASSES && reserve > rpos ->
		passes++;
		if
		:: rpos < erased -> rpos = erased; clocked = 0
		:: else -> skip
		fi
		to = reserve;
		to = (to < END(rpos) -> to : END(rpos));
		to = (to < rpos -> rpos : to);
		off = rpos
	};
#ifdef MUTANT_COPY_FIRST
		mid = (rpos + to + 1) / 2;
		d_step { off = mid; COPY(to) };
		d_step { off = rpos; COPY(mid) };
		off = rpos;
#endif
		/* How far it is committed; then the copy. */
		do
		:: d_step { off < to ->
			h = mem[off % SIZE];
			if
			:: h == 0 || STATE(h) == BUSY -> to = off
			:: h != 0 && STATE(h) == COMMITTED ->
				if
				:: ID(h) == PAD -> to = off + 1; padded = 1
				:: ID(h) == SYNC -> off++
				:: else -> off = off + LEN(h)
				fi
			:: else -> off = to	/* what was there is erased */
			fi;
			h = 0
		}
		:: else -> break
		od;
#ifndef MUTANT_COPY_FIRST
		/* As memcpy may do it: the end first. */
		mid = (rpos + to + 1) / 2;
		d_step { off = mid; COPY(to) };
		d_step { off = rpos; COPY(mid) };
#endif
		atomic {
			if
#ifndef MUTANT_NO_RECHECK
			:: rpos < erased -> skip
#endif
			:: else -> d_step {
				assert(!bad);
				i = 1;
				do
				:: i <= EVENTS ->
					if
					:: i <= reserved && at[i] >= rpos &&
					   at[i] < to ->
						assert(done[i] && !got[i]);
						assert(i > lastk);
						got[i] = true;
						lastk = i
					:: else -> skip
					fi;
					i++
				:: else -> break
				od;
				if
				:: to > rpos && rpos % SUB == 0 -> clocked = 1
				:: else -> skip
				fi;
				assert(to == rpos || clocked);
				rpos = (padded -> END(rpos) : to)
			}
			fi;
			i = 0; off = 0; to = 0; mid = 0; padded = 0; bad = 0
		}
#else
	/*
	 * Nobody may write to a committed record (see put), so that a copy of
	 * it in one step is as good as one in many.
	 */
	:: d_step {
		rpos < reserve && STATE(mem[rpos % SIZE]) >= COMMITTED ->
			h = mem[rpos % SIZE];
			if
			:: ID(h) == PAD -> rpos = END(rpos)
			:: ID(h) == SYNC -> clocked = 1; rpos++
			:: else ->
				assert(STATE(h) == COMMITTED && clocked);
				TAKE(mem, rpos, SIZE, got, lastk);
				rpos = rpos + LEN(h)
			fi;
			h = 0
	}
	:: rpos + SIZE >= limit + SUB ->
#if defined(MUTANT_RELEASE_FIRST)
		limit = limit + SUB;
		d_step { zero(limit - SUB, 0, SUB) }
#elif defined(MUTANT_NO_ZERO)
		limit = limit + SUB
#else
		d_step { zero(limit, 0, SUB) };
		d_step { raise_limit(limit + SUB) }
#endif
#endif
#if !BLOCK	/* there, it is deadlocks that are looked for */
	:: d_step { !finished -> final_read(true) }
#endif
	:: d_step { finished && !checked -> final_read(false); checked = true }
	od
}

/* When nothing goes on, all must have come to its end. */
active proctype Monitor()
{
	timeout -> assert(checked)
}
