/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libmocatrace: emitting events from C and C++ programs.
 *
 *	MOCA_EVENT(db, commit, (u64, transaction), (string, table));
 *	...
 *	moca_trace_db_commit(t->id, t->table->name);
 *
 * MOCA_EVENT, at file scope, declares an event of a facility and defines the
 * function that emits it; in a header, for all who include it. Nothing else
 * is needed: link with -lmocatrace. Off, an event costs two loads, a compare
 * and a branch; on, some ten nanoseconds, no lock, no system call but for the
 * first event of a thread in a trace and once per subbuffer. Events may be
 * emitted anywhere, also in signal handlers, constructors and after fork. They
 * never fail: what cannot be stored is dropped and counted in the trace.
 * errno is kept.
 *
 * `moca trace` records them (see moca-trace(1)). A field is (KIND, NAME):
 *
 *   u8 u16 u32 u64	unsigned integer of so many bits
 *   s8 s16 s32 s64	signed
 *   x8 x16 x32 x64	unsigned, shown in hexadecimal
 *   int uint long ulong size	as in C; pointer: const void *, hexadecimal
 *   f32 f64		float, double
 *   string		const char *, of which 4,095 bytes are kept; NULL: ""
 *   (enum, NAME, "LABEL=VALUE,...")	int, shown by its label
 *   (array, NAME, ELEMENT, COUNT)	const ELEMENT *, COUNT of them
 *   (sequence, NAME, ELEMENT)	const ELEMENT *, then uint32_t: how many
 *
 * where ELEMENT is one of u8 ... x64, f32, f64 and COUNT a constant expression
 * above 0. An event has at most 16 fields and 32,000 bytes, and less than a
 * subbuffer; beyond, it is dropped and counted. Names are identifiers of at
 * most 63 characters.
 */
#ifndef MOCA_TRACE_H
#define MOCA_TRACE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MOCA_TRACE_SLOTS 16	/* traces at a time */

/* Where an event stands. MOCA_EVENT makes it; all else is the library's. */
struct moca_trace_event {
	uint32_t off;		/* generation at which no trace wanted it */
	uint32_t version;
	uint64_t wanted;	/* generation << 32 | traces that want it */
	const char *facility;
	const char *name;
	const char *fields;	/* "KIND NAME [...]\n" of each; MOCA_TRACE_COUNT_
				   stands for the next of: */
	const uint32_t *counts;	/* elements of its arrays */
	uint32_t id[MOCA_TRACE_SLOTS];	/* epoch of the slot << 14 | id */
};

/* An event on its way to one trace after the other. */
struct moca_trace_record {
	struct moca_trace_event *event;
	void *ring;
	uint64_t *head;
	uint64_t header;
	uint64_t position;
	uint32_t len;
	uint32_t rest;		/* traces still to be written to */
	uint32_t slot;
	uint32_t reserved;
};

/* Changes whenever any trace of this user starts, stops or filters anew. */
extern const uint32_t *moca_trace_generation;

/* Room for a payload of len bytes in the first trace that wants it, or NULL. */
void *moca_trace_reserve(struct moca_trace_event *event, uint32_t len,
			 struct moca_trace_record *rec);
/* The payload is written. Room in the next trace that wants it, or NULL. */
void *moca_trace_commit(struct moca_trace_record *rec);

/*
 * The two calls of the 2006 design. ltt_update: *buffer NULL asks for the
 * next trace that this thread has no buffer in yet, joins it and returns the
 * buffer (NULL: there is none); else *buffer is one of this thread's buffers.
 * *active: is the trace recording? *filter: its mask of facilities.
 * ltt_switch hands over the buffer's current subbuffer, however full it is, to
 * the collector. 0; 1 = not a buffer of this thread, or the trace is gone.
 */
int ltt_update(void **buffer, int *active, int *filter);
int ltt_switch(void *buffer);

/* Bit number, 0 to 31, of a facility in masks. */
unsigned moca_trace_facility_bit(const char *facility);

#define MOCA_TRACE_VERSION 1
#define MOCA_TRACE_COUNT_ "\001"
#define MOCA_TRACE_STRING_MAX 4095u

/* The length of a string as kept, without its NUL. */
static inline uint32_t moca_trace_strlen(const char *s)
{
	const void *end = s ? memchr(s, 0, MOCA_TRACE_STRING_MAX) : s;

	if (!s)
		return 0;
	return end ? (uint32_t)((const char *)end - s) : MOCA_TRACE_STRING_MAX;
}

static inline char *moca_trace_put(char *p, const void *src, size_t len)
{
	if (len)
		memcpy(p, src, len);
	return p + len;
}

/* The string may change meanwhile; its length in the record may not. */
static inline char *moca_trace_puts(char *p, const char *s, uint32_t len)
{
	p = moca_trace_put(p, s, len);
	*p = 0;
	return p + 1;
}

#define MOCA_EVENT(facility_, ...)                                            \
	MOCA_TRACE_PICK_(__VA_ARGS__, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, \
			 5, 4, 3, 2, 1, 0, )                                   \
	(facility_, __VA_ARGS__)

#define MOCA_TRACE_PICK_(n, a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q, \
			 count, ...)                                         \
	MOCA_TRACE_EVENT_(count)
#define MOCA_TRACE_EVENT_(count) MOCA_TRACE_EVENT__(count)
#define MOCA_TRACE_EVENT__(count) MOCA_TRACE_EVENT_##count##_

#define MOCA_TRACE_EVENT_0_(fac, ev)                                   \
	MOCA_TRACE_DEFINE_(fac, ev, (void), (), "", , , )
#define MOCA_TRACE_EVENT_N_(n, fac, ev, ...)                           \
	MOCA_TRACE_DEFINE_(fac, ev,                                    \
			   (MOCA_TRACE_LIST_##n##_(MOCA_TRACE_PARAM_,  \
						   __VA_ARGS__)),      \
			   (MOCA_TRACE_LIST_##n##_(MOCA_TRACE_ARG_,    \
						   __VA_ARGS__)),      \
			   MOCA_TRACE_EACH_##n##_(MOCA_TRACE_TEXT_,    \
						  __VA_ARGS__),        \
			   MOCA_TRACE_EACH_##n##_(MOCA_TRACE_COUNTS_,  \
						  __VA_ARGS__),        \
			   MOCA_TRACE_EACH_##n##_(MOCA_TRACE_LEN_,     \
						  __VA_ARGS__),        \
			   MOCA_TRACE_EACH_##n##_(MOCA_TRACE_STORE_,   \
						  __VA_ARGS__))

#define MOCA_TRACE_DEFINE_(fac, ev, params, args, text, counts, len, store) \
	static const uint32_t moca_trace_counts_##fac##_##ev[] = {          \
		counts 0                                                    \
	};                                                                  \
	static struct moca_trace_event moca_trace_event_##fac##_##ev = {    \
		0, MOCA_TRACE_VERSION, 0, #fac, #ev, text,                  \
		moca_trace_counts_##fac##_##ev, { 0 }                       \
	};                                                                  \
	static __attribute__((noinline, unused)) void                       \
	moca_trace_emit_##fac##_##ev params                                 \
	{                                                                   \
		struct moca_trace_record moca_r;                            \
		uint32_t moca_len = 0;                                      \
		char *moca_p;                                               \
                                                                            \
		len moca_p = (char *)moca_trace_reserve(                    \
			&moca_trace_event_##fac##_##ev, moca_len, &moca_r); \
		while (moca_p) {                                            \
			store(void) moca_p;                                 \
			moca_p = (char *)moca_trace_commit(&moca_r);        \
		}                                                           \
	}                                                                   \
	static inline __attribute__((unused)) void                          \
	moca_trace_##fac##_##ev params                                      \
	{                                                                   \
		if (__builtin_expect(                                       \
			    __atomic_load_n(                                \
				    &moca_trace_event_##fac##_##ev.off,     \
				    __ATOMIC_RELAXED) !=                    \
				    __atomic_load_n(moca_trace_generation,  \
						    __ATOMIC_RELAXED),      \
			    0))                                             \
			moca_trace_emit_##fac##_##ev args;                  \
	}                                                                   \
	typedef int moca_trace_declared_##fac##_##ev

/* Each of these takes a field as (KIND, ...) and makes one thing of it. */
#define MOCA_TRACE_PARAM_(kind, ...) MOCA_TRACE_PARAM_##kind##_(__VA_ARGS__)
#define MOCA_TRACE_ARG_(kind, ...) MOCA_TRACE_ARG_##kind##_(__VA_ARGS__)
#define MOCA_TRACE_TEXT_(kind, ...) MOCA_TRACE_TEXT_##kind##_(__VA_ARGS__)
#define MOCA_TRACE_COUNTS_(kind, ...) MOCA_TRACE_COUNTS_##kind##_(__VA_ARGS__)
#define MOCA_TRACE_LEN_(kind, ...) MOCA_TRACE_LEN_##kind##_(__VA_ARGS__)
#define MOCA_TRACE_STORE_(kind, ...) MOCA_TRACE_STORE_##kind##_(__VA_ARGS__)

/* The C type of an ELEMENT. */
#define MOCA_TRACE_TYPE_u8_ uint8_t
#define MOCA_TRACE_TYPE_s8_ int8_t
#define MOCA_TRACE_TYPE_x8_ uint8_t
#define MOCA_TRACE_TYPE_u16_ uint16_t
#define MOCA_TRACE_TYPE_s16_ int16_t
#define MOCA_TRACE_TYPE_x16_ uint16_t
#define MOCA_TRACE_TYPE_u32_ uint32_t
#define MOCA_TRACE_TYPE_s32_ int32_t
#define MOCA_TRACE_TYPE_x32_ uint32_t
#define MOCA_TRACE_TYPE_u64_ uint64_t
#define MOCA_TRACE_TYPE_s64_ int64_t
#define MOCA_TRACE_TYPE_x64_ uint64_t
#define MOCA_TRACE_TYPE_f32_ float
#define MOCA_TRACE_TYPE_f64_ double

/* Kinds whose size depends on the machine are described by their size. */
#define MOCA_TRACE_LONG_(letter) MOCA_TRACE_LONG__(letter, __SIZEOF_LONG__)
#define MOCA_TRACE_LONG__(letter, n) MOCA_TRACE_LONG___(letter, n)
#define MOCA_TRACE_LONG___(letter, n) MOCA_TRACE_LONG_##n##_(letter)
#define MOCA_TRACE_LONG_4_(letter) letter "32"
#define MOCA_TRACE_LONG_8_(letter) letter "64"

#define MOCA_TRACE_PARAM_u8_(n) uint8_t n
#define MOCA_TRACE_ARG_u8_(n) n
#define MOCA_TRACE_TEXT_u8_(n) "u8" " " #n "\n"
#define MOCA_TRACE_COUNTS_u8_(n)
#define MOCA_TRACE_LEN_u8_(n) moca_len += sizeof(n);
#define MOCA_TRACE_STORE_u8_(n) \
	moca_p = moca_trace_put(moca_p, &n, sizeof(n));
#define MOCA_TRACE_PARAM_s8_(n) int8_t n
#define MOCA_TRACE_ARG_s8_(n) n
#define MOCA_TRACE_TEXT_s8_(n) "s8" " " #n "\n"
#define MOCA_TRACE_COUNTS_s8_(n)
#define MOCA_TRACE_LEN_s8_(n) moca_len += sizeof(n);
#define MOCA_TRACE_STORE_s8_(n) \
	moca_p = moca_trace_put(moca_p, &n, sizeof(n));
#define MOCA_TRACE_PARAM_x8_(n) uint8_t n
#define MOCA_TRACE_ARG_x8_(n) n
#define MOCA_TRACE_TEXT_x8_(n) "x8" " " #n "\n"
#define MOCA_TRACE_COUNTS_x8_(n)
#define MOCA_TRACE_LEN_x8_(n) moca_len += sizeof(n);
#define MOCA_TRACE_STORE_x8_(n) \
	moca_p = moca_trace_put(moca_p, &n, sizeof(n));
#define MOCA_TRACE_PARAM_u16_(n) uint16_t n
#define MOCA_TRACE_ARG_u16_(n) n
#define MOCA_TRACE_TEXT_u16_(n) "u16" " " #n "\n"
#define MOCA_TRACE_COUNTS_u16_(n)
#define MOCA_TRACE_LEN_u16_(n) moca_len += sizeof(n);
#define MOCA_TRACE_STORE_u16_(n) \
	moca_p = moca_trace_put(moca_p, &n, sizeof(n));
#define MOCA_TRACE_PARAM_s16_(n) int16_t n
#define MOCA_TRACE_ARG_s16_(n) n
#define MOCA_TRACE_TEXT_s16_(n) "s16" " " #n "\n"
#define MOCA_TRACE_COUNTS_s16_(n)
#define MOCA_TRACE_LEN_s16_(n) moca_len += sizeof(n);
#define MOCA_TRACE_STORE_s16_(n) \
	moca_p = moca_trace_put(moca_p, &n, sizeof(n));
#define MOCA_TRACE_PARAM_x16_(n) uint16_t n
#define MOCA_TRACE_ARG_x16_(n) n
#define MOCA_TRACE_TEXT_x16_(n) "x16" " " #n "\n"
#define MOCA_TRACE_COUNTS_x16_(n)
#define MOCA_TRACE_LEN_x16_(n) moca_len += sizeof(n);
#define MOCA_TRACE_STORE_x16_(n) \
	moca_p = moca_trace_put(moca_p, &n, sizeof(n));
#define MOCA_TRACE_PARAM_u32_(n) uint32_t n
#define MOCA_TRACE_ARG_u32_(n) n
#define MOCA_TRACE_TEXT_u32_(n) "u32" " " #n "\n"
#define MOCA_TRACE_COUNTS_u32_(n)
#define MOCA_TRACE_LEN_u32_(n) moca_len += sizeof(n);
#define MOCA_TRACE_STORE_u32_(n) \
	moca_p = moca_trace_put(moca_p, &n, sizeof(n));
#define MOCA_TRACE_PARAM_s32_(n) int32_t n
#define MOCA_TRACE_ARG_s32_(n) n
#define MOCA_TRACE_TEXT_s32_(n) "s32" " " #n "\n"
#define MOCA_TRACE_COUNTS_s32_(n)
#define MOCA_TRACE_LEN_s32_(n) moca_len += sizeof(n);
#define MOCA_TRACE_STORE_s32_(n) \
	moca_p = moca_trace_put(moca_p, &n, sizeof(n));
#define MOCA_TRACE_PARAM_x32_(n) uint32_t n
#define MOCA_TRACE_ARG_x32_(n) n
#define MOCA_TRACE_TEXT_x32_(n) "x32" " " #n "\n"
#define MOCA_TRACE_COUNTS_x32_(n)
#define MOCA_TRACE_LEN_x32_(n) moca_len += sizeof(n);
#define MOCA_TRACE_STORE_x32_(n) \
	moca_p = moca_trace_put(moca_p, &n, sizeof(n));
#define MOCA_TRACE_PARAM_u64_(n) uint64_t n
#define MOCA_TRACE_ARG_u64_(n) n
#define MOCA_TRACE_TEXT_u64_(n) "u64" " " #n "\n"
#define MOCA_TRACE_COUNTS_u64_(n)
#define MOCA_TRACE_LEN_u64_(n) moca_len += sizeof(n);
#define MOCA_TRACE_STORE_u64_(n) \
	moca_p = moca_trace_put(moca_p, &n, sizeof(n));
#define MOCA_TRACE_PARAM_s64_(n) int64_t n
#define MOCA_TRACE_ARG_s64_(n) n
#define MOCA_TRACE_TEXT_s64_(n) "s64" " " #n "\n"
#define MOCA_TRACE_COUNTS_s64_(n)
#define MOCA_TRACE_LEN_s64_(n) moca_len += sizeof(n);
#define MOCA_TRACE_STORE_s64_(n) \
	moca_p = moca_trace_put(moca_p, &n, sizeof(n));
#define MOCA_TRACE_PARAM_x64_(n) uint64_t n
#define MOCA_TRACE_ARG_x64_(n) n
#define MOCA_TRACE_TEXT_x64_(n) "x64" " " #n "\n"
#define MOCA_TRACE_COUNTS_x64_(n)
#define MOCA_TRACE_LEN_x64_(n) moca_len += sizeof(n);
#define MOCA_TRACE_STORE_x64_(n) \
	moca_p = moca_trace_put(moca_p, &n, sizeof(n));
#define MOCA_TRACE_PARAM_f32_(n) float n
#define MOCA_TRACE_ARG_f32_(n) n
#define MOCA_TRACE_TEXT_f32_(n) "f32" " " #n "\n"
#define MOCA_TRACE_COUNTS_f32_(n)
#define MOCA_TRACE_LEN_f32_(n) moca_len += sizeof(n);
#define MOCA_TRACE_STORE_f32_(n) \
	moca_p = moca_trace_put(moca_p, &n, sizeof(n));
#define MOCA_TRACE_PARAM_f64_(n) double n
#define MOCA_TRACE_ARG_f64_(n) n
#define MOCA_TRACE_TEXT_f64_(n) "f64" " " #n "\n"
#define MOCA_TRACE_COUNTS_f64_(n)
#define MOCA_TRACE_LEN_f64_(n) moca_len += sizeof(n);
#define MOCA_TRACE_STORE_f64_(n) \
	moca_p = moca_trace_put(moca_p, &n, sizeof(n));
#define MOCA_TRACE_PARAM_int_(n) int n
#define MOCA_TRACE_ARG_int_(n) n
#define MOCA_TRACE_TEXT_int_(n) "s32" " " #n "\n"
#define MOCA_TRACE_COUNTS_int_(n)
#define MOCA_TRACE_LEN_int_(n) moca_len += sizeof(n);
#define MOCA_TRACE_STORE_int_(n) \
	moca_p = moca_trace_put(moca_p, &n, sizeof(n));
#define MOCA_TRACE_PARAM_uint_(n) unsigned int n
#define MOCA_TRACE_ARG_uint_(n) n
#define MOCA_TRACE_TEXT_uint_(n) "u32" " " #n "\n"
#define MOCA_TRACE_COUNTS_uint_(n)
#define MOCA_TRACE_LEN_uint_(n) moca_len += sizeof(n);
#define MOCA_TRACE_STORE_uint_(n) \
	moca_p = moca_trace_put(moca_p, &n, sizeof(n));
#define MOCA_TRACE_PARAM_long_(n) long n
#define MOCA_TRACE_ARG_long_(n) n
#define MOCA_TRACE_TEXT_long_(n) MOCA_TRACE_LONG_("s") " " #n "\n"
#define MOCA_TRACE_COUNTS_long_(n)
#define MOCA_TRACE_LEN_long_(n) moca_len += sizeof(n);
#define MOCA_TRACE_STORE_long_(n) \
	moca_p = moca_trace_put(moca_p, &n, sizeof(n));
#define MOCA_TRACE_PARAM_ulong_(n) unsigned long n
#define MOCA_TRACE_ARG_ulong_(n) n
#define MOCA_TRACE_TEXT_ulong_(n) MOCA_TRACE_LONG_("u") " " #n "\n"
#define MOCA_TRACE_COUNTS_ulong_(n)
#define MOCA_TRACE_LEN_ulong_(n) moca_len += sizeof(n);
#define MOCA_TRACE_STORE_ulong_(n) \
	moca_p = moca_trace_put(moca_p, &n, sizeof(n));
#define MOCA_TRACE_PARAM_size_(n) size_t n
#define MOCA_TRACE_ARG_size_(n) n
#define MOCA_TRACE_TEXT_size_(n) MOCA_TRACE_LONG_("u") " " #n "\n"
#define MOCA_TRACE_COUNTS_size_(n)
#define MOCA_TRACE_LEN_size_(n) moca_len += sizeof(n);
#define MOCA_TRACE_STORE_size_(n) \
	moca_p = moca_trace_put(moca_p, &n, sizeof(n));
#define MOCA_TRACE_PARAM_pointer_(n) const void *n
#define MOCA_TRACE_ARG_pointer_(n) n
#define MOCA_TRACE_TEXT_pointer_(n) MOCA_TRACE_LONG_("x") " " #n "\n"
#define MOCA_TRACE_COUNTS_pointer_(n)
#define MOCA_TRACE_LEN_pointer_(n) moca_len += sizeof(n);
#define MOCA_TRACE_STORE_pointer_(n) \
	moca_p = moca_trace_put(moca_p, &n, sizeof(n));

#define MOCA_TRACE_PARAM_enum_(n, labels) int n
#define MOCA_TRACE_ARG_enum_(n, labels) n
#define MOCA_TRACE_TEXT_enum_(n, labels) "enum " #n " s32 " labels "\n"
#define MOCA_TRACE_COUNTS_enum_(n, labels)
#define MOCA_TRACE_LEN_enum_(n, labels) moca_len += sizeof(n);
#define MOCA_TRACE_STORE_enum_(n, labels) \
	moca_p = moca_trace_put(moca_p, &n, sizeof(n));

#define MOCA_TRACE_PARAM_string_(n) const char *n
#define MOCA_TRACE_ARG_string_(n) n
#define MOCA_TRACE_TEXT_string_(n) "string " #n "\n"
#define MOCA_TRACE_COUNTS_string_(n)
#define MOCA_TRACE_LEN_string_(n)                       \
	uint32_t moca_len_##n = moca_trace_strlen(n);   \
	moca_len += moca_len_##n + 1;
#define MOCA_TRACE_STORE_string_(n) \
	moca_p = moca_trace_puts(moca_p, n, moca_len_##n);

#define MOCA_TRACE_PARAM_array_(n, type, count) \
	const MOCA_TRACE_TYPE_##type##_ *n
#define MOCA_TRACE_ARG_array_(n, type, count) n
#define MOCA_TRACE_TEXT_array_(n, type, count) \
	"array " #n " " #type " " MOCA_TRACE_COUNT_ "\n"
#define MOCA_TRACE_COUNTS_array_(n, type, count) (count),
#define MOCA_TRACE_LEN_array_(n, type, count) \
	moca_len += (uint32_t)(sizeof(*n) * (count));
#define MOCA_TRACE_STORE_array_(n, type, count) \
	moca_p = moca_trace_put(moca_p, n, sizeof(*n) * (count));

#define MOCA_TRACE_PARAM_sequence_(n, type) \
	const MOCA_TRACE_TYPE_##type##_ *n, uint32_t n##_count
#define MOCA_TRACE_ARG_sequence_(n, type) n, n##_count
#define MOCA_TRACE_TEXT_sequence_(n, type) "sequence " #n " " #type "\n"
/* An absurd count makes an event too large, never one that wraps around. */
#define MOCA_TRACE_COUNTS_sequence_(n, type)
#define MOCA_TRACE_LEN_sequence_(n, type)                               \
	moca_len += 4 + (n##_count > 65535 / sizeof(*n) ?               \
				 65536u :                               \
				 (uint32_t)(sizeof(*n) * n##_count));
#define MOCA_TRACE_STORE_sequence_(n, type)                     \
	moca_p = moca_trace_put(moca_p, &n##_count, 4);         \
	moca_p = moca_trace_put(moca_p, n, sizeof(*n) * (size_t)n##_count);

#define MOCA_TRACE_EVENT_1_(fac, ev, ...) \
	MOCA_TRACE_EVENT_N_(1, fac, ev, __VA_ARGS__)
#define MOCA_TRACE_EVENT_2_(fac, ev, ...) \
	MOCA_TRACE_EVENT_N_(2, fac, ev, __VA_ARGS__)
#define MOCA_TRACE_EVENT_3_(fac, ev, ...) \
	MOCA_TRACE_EVENT_N_(3, fac, ev, __VA_ARGS__)
#define MOCA_TRACE_EVENT_4_(fac, ev, ...) \
	MOCA_TRACE_EVENT_N_(4, fac, ev, __VA_ARGS__)
#define MOCA_TRACE_EVENT_5_(fac, ev, ...) \
	MOCA_TRACE_EVENT_N_(5, fac, ev, __VA_ARGS__)
#define MOCA_TRACE_EVENT_6_(fac, ev, ...) \
	MOCA_TRACE_EVENT_N_(6, fac, ev, __VA_ARGS__)
#define MOCA_TRACE_EVENT_7_(fac, ev, ...) \
	MOCA_TRACE_EVENT_N_(7, fac, ev, __VA_ARGS__)
#define MOCA_TRACE_EVENT_8_(fac, ev, ...) \
	MOCA_TRACE_EVENT_N_(8, fac, ev, __VA_ARGS__)
#define MOCA_TRACE_EVENT_9_(fac, ev, ...) \
	MOCA_TRACE_EVENT_N_(9, fac, ev, __VA_ARGS__)
#define MOCA_TRACE_EVENT_10_(fac, ev, ...) \
	MOCA_TRACE_EVENT_N_(10, fac, ev, __VA_ARGS__)
#define MOCA_TRACE_EVENT_11_(fac, ev, ...) \
	MOCA_TRACE_EVENT_N_(11, fac, ev, __VA_ARGS__)
#define MOCA_TRACE_EVENT_12_(fac, ev, ...) \
	MOCA_TRACE_EVENT_N_(12, fac, ev, __VA_ARGS__)
#define MOCA_TRACE_EVENT_13_(fac, ev, ...) \
	MOCA_TRACE_EVENT_N_(13, fac, ev, __VA_ARGS__)
#define MOCA_TRACE_EVENT_14_(fac, ev, ...) \
	MOCA_TRACE_EVENT_N_(14, fac, ev, __VA_ARGS__)
#define MOCA_TRACE_EVENT_15_(fac, ev, ...) \
	MOCA_TRACE_EVENT_N_(15, fac, ev, __VA_ARGS__)
#define MOCA_TRACE_EVENT_16_(fac, ev, ...) \
	MOCA_TRACE_EVENT_N_(16, fac, ev, __VA_ARGS__)

/* op applied to each field; LIST: with commas between. */
#define MOCA_TRACE_EACH_1_(op, f) op f
#define MOCA_TRACE_EACH_2_(op, f, ...) \
	op f MOCA_TRACE_EACH_1_(op, __VA_ARGS__)
#define MOCA_TRACE_EACH_3_(op, f, ...) \
	op f MOCA_TRACE_EACH_2_(op, __VA_ARGS__)
#define MOCA_TRACE_EACH_4_(op, f, ...) \
	op f MOCA_TRACE_EACH_3_(op, __VA_ARGS__)
#define MOCA_TRACE_EACH_5_(op, f, ...) \
	op f MOCA_TRACE_EACH_4_(op, __VA_ARGS__)
#define MOCA_TRACE_EACH_6_(op, f, ...) \
	op f MOCA_TRACE_EACH_5_(op, __VA_ARGS__)
#define MOCA_TRACE_EACH_7_(op, f, ...) \
	op f MOCA_TRACE_EACH_6_(op, __VA_ARGS__)
#define MOCA_TRACE_EACH_8_(op, f, ...) \
	op f MOCA_TRACE_EACH_7_(op, __VA_ARGS__)
#define MOCA_TRACE_EACH_9_(op, f, ...) \
	op f MOCA_TRACE_EACH_8_(op, __VA_ARGS__)
#define MOCA_TRACE_EACH_10_(op, f, ...) \
	op f MOCA_TRACE_EACH_9_(op, __VA_ARGS__)
#define MOCA_TRACE_EACH_11_(op, f, ...) \
	op f MOCA_TRACE_EACH_10_(op, __VA_ARGS__)
#define MOCA_TRACE_EACH_12_(op, f, ...) \
	op f MOCA_TRACE_EACH_11_(op, __VA_ARGS__)
#define MOCA_TRACE_EACH_13_(op, f, ...) \
	op f MOCA_TRACE_EACH_12_(op, __VA_ARGS__)
#define MOCA_TRACE_EACH_14_(op, f, ...) \
	op f MOCA_TRACE_EACH_13_(op, __VA_ARGS__)
#define MOCA_TRACE_EACH_15_(op, f, ...) \
	op f MOCA_TRACE_EACH_14_(op, __VA_ARGS__)
#define MOCA_TRACE_EACH_16_(op, f, ...) \
	op f MOCA_TRACE_EACH_15_(op, __VA_ARGS__)
#define MOCA_TRACE_LIST_1_(op, f) op f
#define MOCA_TRACE_LIST_2_(op, f, ...) \
	op f, MOCA_TRACE_LIST_1_(op, __VA_ARGS__)
#define MOCA_TRACE_LIST_3_(op, f, ...) \
	op f, MOCA_TRACE_LIST_2_(op, __VA_ARGS__)
#define MOCA_TRACE_LIST_4_(op, f, ...) \
	op f, MOCA_TRACE_LIST_3_(op, __VA_ARGS__)
#define MOCA_TRACE_LIST_5_(op, f, ...) \
	op f, MOCA_TRACE_LIST_4_(op, __VA_ARGS__)
#define MOCA_TRACE_LIST_6_(op, f, ...) \
	op f, MOCA_TRACE_LIST_5_(op, __VA_ARGS__)
#define MOCA_TRACE_LIST_7_(op, f, ...) \
	op f, MOCA_TRACE_LIST_6_(op, __VA_ARGS__)
#define MOCA_TRACE_LIST_8_(op, f, ...) \
	op f, MOCA_TRACE_LIST_7_(op, __VA_ARGS__)
#define MOCA_TRACE_LIST_9_(op, f, ...) \
	op f, MOCA_TRACE_LIST_8_(op, __VA_ARGS__)
#define MOCA_TRACE_LIST_10_(op, f, ...) \
	op f, MOCA_TRACE_LIST_9_(op, __VA_ARGS__)
#define MOCA_TRACE_LIST_11_(op, f, ...) \
	op f, MOCA_TRACE_LIST_10_(op, __VA_ARGS__)
#define MOCA_TRACE_LIST_12_(op, f, ...) \
	op f, MOCA_TRACE_LIST_11_(op, __VA_ARGS__)
#define MOCA_TRACE_LIST_13_(op, f, ...) \
	op f, MOCA_TRACE_LIST_12_(op, __VA_ARGS__)
#define MOCA_TRACE_LIST_14_(op, f, ...) \
	op f, MOCA_TRACE_LIST_13_(op, __VA_ARGS__)
#define MOCA_TRACE_LIST_15_(op, f, ...) \
	op f, MOCA_TRACE_LIST_14_(op, __VA_ARGS__)
#define MOCA_TRACE_LIST_16_(op, f, ...) \
	op f, MOCA_TRACE_LIST_15_(op, __VA_ARGS__)

#ifdef __cplusplus
}
#endif
#endif
