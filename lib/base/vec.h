/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Arrays that grow. The pointer, the number of items and the room for them are
 * the owner's own fields:
 *
 *	err = moca_vec_fit(v->items, v->room, v->count + 1);
 *	if (err)
 *		return err;
 *	v->items[v->count++] = item;
 */
#ifndef MOCA_BASE_VEC_H
#define MOCA_BASE_VEC_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MOCA_VEC_FIRST 16	/* items */

/* The room for want items, twice as much as there is or more; 0: above most. */
static inline size_t moca_vec_room(size_t room, size_t want, size_t most,
				   size_t size)
{
	if (most > PTRDIFF_MAX / size)
		most = PTRDIFF_MAX / size;
	if (want > most)
		return 0;
	room = room < MOCA_VEC_FIRST / 2 ? MOCA_VEC_FIRST :
	       room > most / 2		 ? most : 2 * room;
	return room > most ? most : room > want ? room : want;
}

/*
 * Room for `want` items: 0, or -ENOMEM, and then nothing has changed. items (a
 * pointer) and room (any unsigned integer, which limits it) are variables, and
 * evaluated more than once. New items are not initialized. Freed by free().
 */
#define moca_vec_fit(items, room, want)					\
	((want) <= (room) ? 0 : ({					\
		size_t vec_room = moca_vec_room((room), (want),		\
			(__typeof__(room))-1, sizeof(*(items)));	\
		void *vec_p = vec_room ? reallocarray((items), vec_room, \
			sizeof(*(items))) : NULL;			\
		if (vec_p) {						\
			(items) = vec_p;				\
			(room) = (__typeof__(room))vec_room;		\
		}							\
		vec_p ? 0 : -ENOMEM;					\
	}))

/* The same, and what is new is zeroed. */
#define moca_vec_fit_zeroed(items, room, want)				\
	({								\
		size_t vec_from = (room);				\
		int vec_err = moca_vec_fit(items, room, want);		\
		if ((room) > vec_from)					\
			memset((items) + vec_from, 0,			\
			       ((room) - vec_from) * sizeof(*(items)));	\
		vec_err;						\
	})

/* One item more, at the end: its address, or NULL. */
#define moca_vec_add(items, count, room)				\
	(moca_vec_fit(items, room, (count) + 1) ? NULL : &(items)[(count)++])

#endif
