// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/report-serve.h"

#include <errno.h>
#include <string.h>

#include "lib/base/err.h"

#if __has_include(<microhttpd.h>)

#include <arpa/inet.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/text/json.h"

#define LIBRARY "libmicrohttpd.so.12"
#define CONNECTIONS 16u
#define CONNECTION_BYTES (32u << 10)	/* a request's line and headers, too */
#define CONNECTION_SECONDS 30u		/* without a byte */
#define TOKEN 32			/* digits */
#define EVENT_MAX 6000

/* Loaded, not linked: GnuTLS behind it would make each command begin later, and a
 * static moca has none. */
#define CALLS(X) \
	X(MHD_start_daemon) X(MHD_stop_daemon) X(MHD_get_daemon_info) \
	X(MHD_create_response_from_buffer) X(MHD_create_response_from_fd) \
	X(MHD_create_response_from_callback) X(MHD_add_response_header) \
	X(MHD_queue_response) X(MHD_destroy_response) \
	X(MHD_lookup_connection_value)

struct serve {
#define X(call) __typeof__(call) *call;
	CALLS(X)
#undef X
	void *library;
	struct MHD_Daemon *daemon;
	char prefix[8 + TOKEN];		/* of all paths: "/live/TOKEN/" */
	char url[64 + TOKEN];
	char hosts[2][32];		/* as a request may call us */
	pthread_mutex_t lock;		/* of what follows */
	pthread_cond_t changed;
	struct serve_state state;
	uint64_t version;		/* of state */
	int closing;
};

/* Who listens. */
struct stream {
	struct serve *serve;
	uint64_t version;	/* was sent */
	char text[EVENT_MAX];
	size_t len, at;
};

static const char waiting[] =
	"<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">"
	"<meta http-equiv=\"refresh\" content=\"1\"><title>Moca</title>"
	"<p>The recording begins. This page waits for its first accesses.";

/* --- events ----------------------------------------------------------------- */

/* One event. The lock is held. */
static int put_event(struct stream *t, const struct serve_state *s)
{
	struct json j = { 0 };
	char *text = NULL;
	size_t len;
	int n;

	j.f = open_memstream(&text, &len);
	if (!j.f)
		return -ENOMEM;
	json_open(&j, NULL, '{');
	json_string(&j, "phase", s->phase == SERVE_RUNS ? "runs" : "ended");
	json_uint(&j, "page", s->page);
	json_uint(&j, "shows_ns", s->shows_ns - s->began_ns);
	json_uint(&j, "now_ns", moca_now_ns() - s->began_ns);
	json_uint(&j, "every_ns", s->every_ns);
	json_uint(&j, "cpu_ns", s->cpu_ns);
	json_bool(&j, "failed", s->failed);
	json_cut(&j, "kept", s->kept, 900);
	json_close(&j, '}');
	if (fclose(j.f)) {
		free(text);
		return -ENOMEM;
	}
	/* An event ends at an empty line, and a line has one name. */
	for (char *p = text; *p; p++)
		if (*p == '\n')
			*p = ' ';
	n = snprintf(t->text, sizeof(t->text), "data: %s\n\n", text);
	free(text);
	t->at = 0;
	t->len = n > 0 && (size_t)n < sizeof(t->text) ? (size_t)n : 0;
	return t->len ? 0 : -ENOMEM;
}

/* Waits for what is new, a second at most: how far the page is behind is new then. */
static int next_event(struct stream *t)
{
	struct serve *s = t->serve;
	struct timespec until;
	int ret = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec++;
	pthread_mutex_lock(&s->lock);
	while (!ret && !s->closing && s->version == t->version)
		ret = pthread_cond_clockwait(&s->changed, &s->lock,
					     CLOCK_MONOTONIC, &until);
	ret = s->closing ? -ESHUTDOWN : put_event(t, &s->state);
	t->version = s->version;
	pthread_mutex_unlock(&s->lock);
	return ret;
}

static ssize_t read_stream(void *arg, uint64_t pos, char *buf, size_t max)
{
	struct stream *t = arg;
	size_t n;

	if (t->at == t->len && next_event(t))
		return MHD_CONTENT_READER_END_OF_STREAM;
	n = t->len - t->at < max ? t->len - t->at : max;
	memcpy(buf, t->text + t->at, n);
	t->at += n;
	return (ssize_t)n;
}

static void free_stream(void *arg)
{
	free(arg);
}

/* --- answers ---------------------------------------------------------------- */

static enum MHD_Result answer(struct serve *s, struct MHD_Connection *c,
			      unsigned int code, const char *type,
			      struct MHD_Response *r)
{
	enum MHD_Result ret;

	if (!r)
		return MHD_NO;
	s->MHD_add_response_header(r, "Content-Type", type);
	s->MHD_add_response_header(r, "Cache-Control", "no-store");
	s->MHD_add_response_header(r, "Referrer-Policy", "no-referrer");
	s->MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
	s->MHD_add_response_header(r, "Cross-Origin-Resource-Policy",
				   "same-origin");
	s->MHD_add_response_header(r, "Content-Security-Policy",
				   "frame-ancestors 'none'");
	if (code == MHD_HTTP_METHOD_NOT_ALLOWED)
		s->MHD_add_response_header(r, "Allow", "GET");
	ret = s->MHD_queue_response(c, code, r);
	s->MHD_destroy_response(r);
	return ret;
}

static enum MHD_Result say(struct serve *s, struct MHD_Connection *c,
			   unsigned int code, const char *type,
			   const char *text)
{
	return answer(s, c, code, type, s->MHD_create_response_from_buffer(
			      strlen(text), (void *)(uintptr_t)text,
			      MHD_RESPMEM_PERSISTENT));
}

static enum MHD_Result refuse(struct serve *s, struct MHD_Connection *c,
			      unsigned int code, const char *why)
{
	return say(s, c, code, "text/plain; charset=utf-8", why);
}

/*
 * Answers with the page of the moment. Before the first page is made, the answer is
 * a page that says so (waits), or error 404.
 */
static enum MHD_Result send_page(struct serve *s, struct MHD_Connection *c,
				 int waits)
{
	static const char html[] = "text/html; charset=utf-8";
	struct MHD_Response *r;
	struct stat st;
	int fd = -1;

	pthread_mutex_lock(&s->lock);
	if (s->state.page)
		fd = open(s->state.file, O_RDONLY | O_CLOEXEC);
	pthread_mutex_unlock(&s->lock);
	if (fd < 0)
		return waits ? say(s, c, MHD_HTTP_OK, html, waiting) :
			       refuse(s, c, MHD_HTTP_NOT_FOUND, "no page yet\n");
	if (fstat(fd, &st)) {
		close(fd);
		return refuse(s, c, MHD_HTTP_NOT_FOUND, "no page\n");
	}
	/* It closes fd, now or with the response. */
	r = s->MHD_create_response_from_fd((uint64_t)st.st_size, fd);
	if (!r)
		close(fd);
	return answer(s, c, MHD_HTTP_OK, html, r);
}

static enum MHD_Result send_events(struct serve *s, struct MHD_Connection *c)
{
	struct stream *t = calloc(1, sizeof(*t));
	struct MHD_Response *r;

	if (!t)
		return MHD_NO;
	t->serve = s;
	t->version = UINT64_MAX;
	r = s->MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 4096,
						 read_stream, t, free_stream);
	if (!r)
		free(t);
	return answer(s, c, MHD_HTTP_OK, "text/event-stream", r);
}

/* Is it us that the browser meant, and a page of ours that asks? */
static int is_ours(struct serve *s, struct MHD_Connection *c)
{
	const char *host = s->MHD_lookup_connection_value(c, MHD_HEADER_KIND,
							  "Host");
	const char *origin = s->MHD_lookup_connection_value(c, MHD_HEADER_KIND,
							    "Origin");
	int i;

	for (i = 0; i < 2; i++)
		if (host && !strcmp(host, s->hosts[i]))
			break;
	return i < 2 && (!origin || (!strncmp(origin, "http://", 7) &&
				     !strcmp(origin + 7, host)));
}

/* In the same time for each token that is wrong. */
static int has_token(const struct serve *s, const char *path)
{
	size_t i, n = strlen(s->prefix);
	unsigned char differ = 0;

	if (strnlen(path, n) < n)
		return 0;
	for (i = 0; i < n; i++)
		differ |= (unsigned char)(path[i] ^ s->prefix[i]);
	return !differ;
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *c,
				  const char *path, const char *method,
				  const char *version, const char *upload,
				  size_t *upload_size, void **request)
{
	struct serve *s = arg;

	if (!is_ours(s, c))
		return refuse(s, c, MHD_HTTP_FORBIDDEN,
			      "this server answers its own page alone\n");
	if (!has_token(s, path))
		return refuse(s, c, MHD_HTTP_FORBIDDEN,
			      "the token in the address is wrong: moca view printed the right one\n");
	if (strcmp(method, "GET"))
		return refuse(s, c, MHD_HTTP_METHOD_NOT_ALLOWED, "GET alone\n");
	path += strlen(s->prefix);
	if (!*path || !strcmp(path, "page"))
		return send_page(s, c, !*path);
	if (!strcmp(path, "events"))
		return send_events(s, c);
	return refuse(s, c, MHD_HTTP_NOT_FOUND, "there is no such page\n");
}

/* --- the server ------------------------------------------------------------- */

const char *serve_available(void)
{
	void *library = dlopen(LIBRARY, RTLD_LAZY | RTLD_LOCAL);

	if (!library)
		return "no, " LIBRARY " cannot be loaded";
	dlclose(library);
	return "by " LIBRARY;
}

static int load(struct serve *s)
{
	s->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!s->library) {
		moca_error("view: a live page needs " LIBRARY ", which cannot be loaded: %s (Debian: apt-get install libmicrohttpd12, from 13 on libmicrohttpd12t64; the moca of 'make static' cannot use it; 'moca top' shows a running program without it)",
			   dlerror());
		return -ENOENT;
	}
#define X(call) \
	if (!(s->call = (__typeof__(call) *)dlsym(s->library, #call))) { \
		moca_error("view: %s has no function %s", LIBRARY, #call); \
		return -ENOENT; \
	}
	CALLS(X)
#undef X
	return 0;
}

static int make_token(struct serve *s)
{
	unsigned char random[TOKEN / 2];
	char *p = s->prefix + sprintf(s->prefix, "/live/");
	size_t i;

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return -EIO;
	for (i = 0; i < sizeof(random); i++)
		p += sprintf(p, "%02x", random[i]);
	strcpy(p, "/");
	return 0;
}

static int listen_here(struct serve *s)
{
	struct sockaddr_in here = { .sin_family = AF_INET };
	const union MHD_DaemonInfo *port;

	here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	/* Each connection has its thread, which may wait for events. */
	s->daemon = s->MHD_start_daemon(
		MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD |
			MHD_USE_POLL,
		0, NULL, NULL, on_request, s,
		MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&here,
		MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_BYTES,
		MHD_OPTION_CONNECTION_TIMEOUT, CONNECTION_SECONDS,
		MHD_OPTION_END);
	if (!s->daemon)
		return -errno ?: -EIO;
	port = s->MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT);
	if (!port || !port->port)
		return -EIO;
	snprintf(s->hosts[0], sizeof(s->hosts[0]), "127.0.0.1:%u", port->port);
	snprintf(s->hosts[1], sizeof(s->hosts[1]), "localhost:%u", port->port);
	snprintf(s->url, sizeof(s->url), "http://%s%s", s->hosts[0], s->prefix);
	return 0;
}

int serve_open(struct serve **out)
{
	struct serve *s = calloc(1, sizeof(*s));
	int err;

	*out = NULL;
	if (!s)
		return -ENOMEM;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	err = load(s);
	if (err)
		goto err_close;
	err = make_token(s);
	if (!err)
		err = listen_here(s);
	if (err) {
		moca_error("view: cannot serve the page on 127.0.0.1: %s",
			   strerror(-err));
		goto err_close;
	}
	*out = s;
	return 0;

err_close:
	serve_close(s);
	return err;
}

const char *serve_url(const struct serve *s)
{
	return s->url;
}

void serve_tell(struct serve *s, const struct serve_state *state)
{
	pthread_mutex_lock(&s->lock);
	s->state = *state;
	s->version++;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

void serve_close(struct serve *s)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->closing = 1;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	if (s->daemon)
		s->MHD_stop_daemon(s->daemon);
	/* The library stays: what it loaded may have threads and handlers. */
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

#else

const char *serve_available(void)
{
	return "no, built without libmicrohttpd";
}

int serve_open(struct serve **out)
{
	*out = NULL;
	moca_error("view: this moca was built without libmicrohttpd, which a live page needs: install it (Debian: libmicrohttpd-dev) and build moca again; 'moca top' shows a running program without it");
	return -ENOENT;
}

const char *serve_url(const struct serve *s)
{
	return "";
}

void serve_tell(struct serve *s, const struct serve_state *state)
{
}

void serve_close(struct serve *s)
{
}

#endif
