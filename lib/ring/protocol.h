/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What programs and `moca trace` say to a collector, over SOCK_SEQPACKET at
 * NAME.sock in the registry's folder: one request, one reply, then the end.
 */
#ifndef MOCA_RING_PROTOCOL_H
#define MOCA_RING_PROTOCOL_H

#include <stddef.h>
#include <stdint.h>

#define MOCA_MSG_MAGIC 0x4d6f4d73u
#define MOCA_MSG_VERSION 1
#define MOCA_MSG_MAX 16384	/* bytes of a request, header included */
#define MOCA_REPLY_MAX 65536	/* bytes of a reply */
#define MOCA_MSG_EVENTS_MAX 32u	/* events of a request */

enum moca_msg_type {
	/*
	 * A thread wants a buffer: struct moca_msg_join. The reply's value is
	 * the stream's number; descriptors: the buffer, the doorbell. With an
	 * error, value 1 says that the losses told were counted.
	 */
	MOCA_MSG_JOIN = 1,
	/*
	 * What an event is: "FACILITY\0NAME\0FIELDS\0", fields as in
	 * moca/trace.h; up to MOCA_MSG_EVENTS_MAX of them, one after the other.
	 * The reply's value is the id of the first one in this trace. For more
	 * than one, the ids of all follow, 32 bits each; 0 = none, and none for
	 * those after it.
	 */
	MOCA_MSG_EVENT = 2,
	/*
	 * Events dropped for lack of a buffer: struct moca_msg_lost. The
	 * collector has counted them when it replies.
	 */
	MOCA_MSG_LOST = 3,
	/* A command of `moca trace`: "VERB\0ARG\0...". Replies with text. */
	MOCA_MSG_CONTROL = 4,
};

struct moca_msg {
	uint32_t magic;
	uint16_t version;
	uint16_t type;		/* enum moca_msg_type */
	uint64_t session;	/* which the sender means; not of CONTROL */
	uint32_t len;		/* of what follows */
	uint32_t reserved;
};

struct moca_msg_join {
	uint64_t incarnation;	/* of the process: anew by fork and exec */
	uint64_t lost;		/* events dropped before this request */
	uint32_t tid;		/* as the thread itself sees it */
	uint32_t word_bits;
	char name[16];
};

struct moca_msg_lost {
	uint64_t count;
	uint32_t tid;
	uint32_t reserved;
};

struct moca_reply {
	uint32_t magic;
	int32_t error;		/* 0 or -errno */
	uint32_t value;
	uint32_t len;		/* of the text that follows */
};

_Static_assert(sizeof(struct moca_msg) == 24, "layout");
_Static_assert(sizeof(struct moca_msg_join) == 40, "layout");
_Static_assert(sizeof(struct moca_msg_lost) == 16, "layout");
_Static_assert(sizeof(struct moca_reply) == 16, "layout");

#endif
