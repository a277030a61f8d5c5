// SPDX-License-Identifier: GPL-2.0-or-later
/* The metadata file: values back as written, damaged files refused. */
#include <sys/stat.h>

#include "tests/unit/trace-util.h"

static int t_round_trip(void)
{
	static const char *const values[] = {
		"", " ", "a b", "line\nline\n", "\\n", "\\", "\n\\\\\n",
		"\xc3\xa9t\xc3\xa9", "\t=#",
	};
	enum { N = sizeof(values) / sizeof(*values) };
	struct moca_meta *m, *r;
	struct stat st;
	unsigned i;

	dir_new();
	m = moca_meta_new();
	CHECK(m);
	for (i = 0; i < N; i++)
		CHECK(!moca_meta_add(m, "note", values[i]));
	CHECK(!moca_meta_set(m, "end_ns", "%llu", ~0ull));
	CHECK(!moca_meta_set(m, "state", "recording"));
	CHECK(!moca_meta_set(m, "state", "%s", "complete"));
	CHECK(!moca_meta_write(m, dirfd_));
	CHECK(!fstatat(dirfd_, "metadata", &st, 0));
	CHECK((st.st_mode & 0777) == 0600);
	CHECK(!moca_meta_read(&r, dirfd_));
	for (i = 0; i < N; i++)
		CHECK(!strcmp(moca_meta_nth(r, "note", i), values[i]));
	CHECK(!moca_meta_nth(r, "note", N));
	CHECK(!moca_meta_get(r, "loss"));
	CHECK(!moca_meta_add_loss(r, "gone"));
	CHECK(!strcmp(moca_meta_nth(r, "note", N), "gone"));
	CHECK(!strcmp(moca_meta_get(r, "loss"), "gone"));
	CHECK(moca_meta_u64(r, "end_ns", 1) == ~0ull);
	CHECK(!strcmp(moca_meta_get(r, "state"), "complete"));
	CHECK(!moca_meta_nth(r, "state", 1));
	moca_meta_free(m);
	moca_meta_free(r);
	return 0;
}

static int t_keys(void)
{
	struct moca_meta *m = moca_meta_new();
	char key[80];

	memset(key, 'k', 65);
	key[65] = 0;
	CHECK(moca_meta_set(m, "", "x") == -EINVAL);
	CHECK(moca_meta_set(m, "a b", "x") == -EINVAL);
	CHECK(moca_meta_set(m, "Key", "x") == -EINVAL);
	CHECK(moca_meta_add(m, "a\n", "x") == -EINVAL);
	CHECK(moca_meta_add(m, key, "x") == -EINVAL);
	CHECK(!moca_meta_add(m, key + 1, "x"));
	CHECK(!moca_meta_get(m, "missing"));
	moca_meta_free(m);
	return 0;
}

static int t_numbers(void)
{
	static const struct {
		const char *text;
		uint64_t value;
	} cases[] = {
		{ "0", 0 }, { "18446744073709551615", UINT64_MAX },
		{ "18446744073709551616", 7 }, { "", 7 }, { "-1", 7 },
		{ "1 ", 7 }, { " 1", 7 }, { "0x10", 7 }, { "00012", 12 },
	};
	struct moca_meta *m = moca_meta_new();
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		CHECK(!moca_meta_set(m, "n", "%s", cases[i].text));
		CHECK(moca_meta_u64(m, "n", 7) == cases[i].value);
	}
	moca_meta_free(m);
	return 0;
}

static int read_text(const char *text, size_t len)
{
	struct moca_meta *m;
	int ret;

	spill("metadata", (const uint8_t *)text, len);
	ret = moca_meta_read(&m, dirfd_);
	if (!ret)
		moca_meta_free(m);
	return ret;
}

static int t_damaged(void)
{
	static const struct {
		const char *text;
		int ret;
	} cases[] = {
		{ "moca-trace 1\n", 0 },
		{ "moca-trace 1\nkey \n", 0 },
		{ "moca-trace 2\nkey \n", -EPROTO },
		{ "", -EBADMSG },
		{ "moca-trace 1", -EBADMSG },
		{ "moca-trace 0\n", -EBADMSG },
		{ "moca-trace x\n", -EBADMSG },
		{ "other 1\n", -EBADMSG },
		{ "moca-trace 1\nkey\n", -EBADMSG },
		{ "moca-trace 1\n\n", -EBADMSG },
		{ "moca-trace 1\nkey a\\b\n", -EBADMSG },
		{ "moca-trace 1\nkey a\\\n", -EBADMSG },
		{ "moca-trace 1\nKEY v\n", -EBADMSG },
		{ "moca-trace 1\nkey cut o", -EBADMSG },
	};
	static char huge[(1 << 20) + 100];
	size_t i;

	dir_new();
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		snprintf(why, sizeof(why), "case %zu", i);
		if (read_text(cases[i].text, strlen(cases[i].text)) !=
		    cases[i].ret)
			return 1;
	}
	CHECK(read_text("moca-trace 1\nkey a\0b\n", 21) == -EBADMSG);
	memset(huge, 'v', sizeof(huge));
	memcpy(huge, "moca-trace 1\nkey ", 17);
	huge[sizeof(huge) - 1] = '\n';
	CHECK(read_text(huge, sizeof(huge)) == -EBADMSG);
	return 0;
}

static int t_missing(void)
{
	struct moca_trace *t;
	struct moca_meta *m;

	dir_new();
	CHECK(moca_meta_read(&m, dirfd_) == -ENOENT);
	CHECK(moca_trace_open(&t, dir) == -ENOENT);
	CHECK(moca_trace_open(&t, "/nonexistent/dir") == -ENOENT);
	CHECK(!symlinkat("/etc/passwd", dirfd_, "metadata"));
	CHECK(moca_meta_read(&m, dirfd_) == -EBADMSG);
	CHECK(!unlinkat(dirfd_, "metadata", 0));
	CHECK(!mkfifoat(dirfd_, "metadata", 0600));
	CHECK(moca_meta_read(&m, dirfd_) == -EBADMSG);
	return 0;
}

static int t_certificate(void)
{
	struct moca_certificate cert;
	struct moca_meta *m = moca_meta_new();
	struct moca_trace *t;

	dir_new();
	CHECK(!moca_meta_set(m, "certificate.pages_seen", "%d", 1));
	CHECK(!moca_meta_set(m, "certificate.pages_touched", "%d", 2));
	CHECK(!moca_meta_set(m, "certificate.pages_other", "%d", 3));
	CHECK(!moca_meta_set(m, "certificate.records", "%d", 4));
	CHECK(!moca_meta_set(m, "certificate.lost", "%d", 5));
	CHECK(!moca_meta_set(m, "certificate.chunks", "%d", 6));
	CHECK(!moca_meta_set(m, "certificate.lossy_chunks", "%d", 7));
	CHECK(!moca_meta_write(m, dirfd_));
	moca_meta_free(m);
	CHECK(!moca_trace_open(&t, dir));
	CHECK(moca_trace_truncated(t));
	moca_trace_certificate(t, &cert);
	CHECK(cert.pages_seen == 1 && cert.pages_touched == 2);
	CHECK(cert.pages_other == 3 && cert.records == 4 && cert.lost == 5);
	CHECK(cert.chunks == 6 && cert.lossy_chunks == 7);
	moca_trace_close(t);
	return 0;
}

int main(void)
{
	run("meta/round-trip", t_round_trip);
	run("meta/keys", t_keys);
	run("meta/numbers", t_numbers);
	run("meta/damaged", t_damaged);
	run("meta/missing", t_missing);
	run("meta/certificate", t_certificate);
	dir_remove();
	return failures != 0;
}
