// SPDX-License-Identifier: LGPL-2.1-or-later
#include "lib/format/trace.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include "lib/base/table.h"
#include "lib/format/launch.h"

#define PLACES_MAX (1u << 20)	/* damaged chunks beyond are not counted */

static uint64_t hash_key(const uint64_t *key)
{
	return *key;
}

static int same_key(const uint64_t *a, const uint64_t *b)
{
	return *a == *b;
}

static int used_key(const uint64_t *key)
{
	return *key != 0;
}

MOCA_TABLE(places, uint64_t, hash_key, same_key, used_key);

void moca_trace_damaged_chunk(struct moca_trace *t, const struct moca_file *f,
			      uint64_t pos)
{
	uint64_t file = (uint64_t)f->type << 32 |
			(f->type == MOCA_FILE_SHARED ? 0 : f->task);
	uint64_t key = (pos + 1) * 0x9e3779b97f4a7c15ull ^
		       (file + 1) * 0xc2b2ae3d27d4eb4full, *at;

	key = (key ^ key >> 29) | 1;
	pthread_mutex_lock(&t->damage_lock);
	if (t->place_count < PLACES_MAX &&
	    !places_fit(&t->places, &t->place_cap, t->place_count)) {
		at = places_at(t->places, t->place_cap, &key);
		t->place_count += !*at;
		t->damage.chunks += !*at;
		*at = key;
	}
	pthread_mutex_unlock(&t->damage_lock);
}

static int set_name(struct moca_task *task, const char *name)
{
	char *copy = strdup(name);

	if (!copy)
		return -ENOMEM;
	free((char *)task->name);
	task->name = copy;
	return 0;
}

int moca_task_init(struct moca_task *task, uint32_t id)
{
	*task = (struct moca_task){ .id = id, .parent = MOCA_NO_TASK };
	return set_name(task, "");
}

int moca_task_fold(struct moca_task *task, const struct moca_change *e)
{
	const char *slash;

	switch (e->type) {
	case MOCA_CHANGE_TASK_START:
		task->pid = e->pid;
		task->tid = e->tid;
		task->parent = e->parent;
		task->start_ns = e->time_ns;
		task->flags = e->flags;
		return e->name[0] ? set_name(task, e->name) : 0;
	case MOCA_CHANGE_TASK_END:
		task->end_ns = e->time_ns;
		task->status = e->status;
		return 0;
	case MOCA_CHANGE_EXEC:
		slash = strrchr(e->name, '/');
		return set_name(task, slash ? slash + 1 : e->name);
	case MOCA_CHANGE_NAME:
		return set_name(task, e->name);
	}
	return 0;
}

int moca_trace_scan(struct moca_trace *t, enum moca_file_type type,
		    uint32_t number, uint64_t *end, struct moca_decoder *d,
		    int (*fold)(void *arg, struct moca_decoder *d,
				const struct moca_file *f,
				const struct moca_header *h, uint64_t pos),
		    void *arg)
{
	struct moca_header h;
	XXH64_state_t sum;
	struct moca_file f;
	uint64_t pos, n = 0;
	int ret;

	t->found.files++;
	if (moca_file_open(&f, t->dirfd, type, number, INT64_MAX))
		return -EINVAL;
	*end = f.end;
	moca_seal_file(&t->found, &sum, &f);
	while ((ret = moca_file_next(&f, &h, &pos)) > 0) {
		moca_seal_chunk(&t->found, &sum, &h, pos);
		if (type == MOCA_FILE_SHARED)
			f.task = h.task < MOCA_TASKS_MAX ? h.task : 0;
		/* Another task's file under this name. */
		if (!n++ && h.task != f.task) {
			ret = -EINVAL;
			goto out;
		}
		if (h.version != MOCA_FORMAT_VERSION)
			continue;
		ret = h.task == f.task ? fold(arg, d, &f, &h, pos) : -EBADMSG;
		if (ret == -EBADMSG)
			moca_trace_damaged_chunk(t, &f, pos);
		else if (ret)
			break;
	}
	moca_seal_file_end(&t->found, &sum);
	t->damage.chunks += f.gaps;
	t->damage.tail_bytes = moca_add_sat(t->damage.tail_bytes, f.tail);
	/* A recorder writes to a file as soon as it has made it. */
	if (!ret && !f.end && !moca_trace_truncated(t))
		t->damage.files++;
	if (ret == -EIO)
		ret = -EINVAL;
out:
	moca_file_close(&f);
	return ret;
}

static int compare_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* The files of a directory, by type: their numbers. */
struct listing {
	struct moca_buf numbers[MOCA_FILES];
};

static uint32_t *listed(const struct listing *l, enum moca_file_type type,
			size_t *count)
{
	*count = l->numbers[type].len / sizeof(uint32_t);
	return (uint32_t *)l->numbers[type].data;
}

static int list_file(struct moca_trace *t, struct listing *l, const char *name)
{
	enum moca_file_type type;
	struct moca_buf *b;
	uint32_t number;
	int ret;

	ret = moca_file_name_parse(name, &type, &number);
	if (ret < 0)
		t->damage.files++;
	if (ret <= 0)
		return 0;
	b = &l->numbers[type];
	ret = moca_buf_reserve(b, sizeof(number));
	if (ret)
		return ret;
	memcpy(b->data + b->len, &number, sizeof(number));
	b->len += sizeof(number);
	return 0;
}

/* The numbers of all files, sorted. 0 or -errno. */
static int list_files(struct moca_trace *t, struct listing *l)
{
	enum moca_file_type type;
	struct dirent *de;
	uint32_t *numbers;
	size_t count;
	int fd, ret = 0;
	DIR *dir;

	fd = openat(t->dirfd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir) {
		ret = -errno;
		if (fd >= 0)
			close(fd);
		return ret;
	}
	while (!ret && (de = readdir(dir)))
		ret = list_file(t, l, de->d_name);
	closedir(dir);
	for (type = MOCA_FILE_TASK; type <= MOCA_FILE_EVENT; type++) {
		numbers = listed(l, type, &count);
		if (count)
			qsort(numbers, count, sizeof(*numbers), compare_u32);
	}
	return ret;
}

static int fold_machine(void *arg, struct moca_decoder *d,
			const struct moca_file *f,
			const struct moca_header *h, uint64_t pos)
{
	struct moca_trace *t = arg;
	int ret;

	if (h->kind != MOCA_KIND_MACHINE)
		return 0;
	/* There is one: a second contradicts it. */
	ret = t->machine ? -EBADMSG : moca_decoder_load(d, f, h, pos);
	return ret ? ret : moca_machine_decode(&t->machine, &d->in);
}

static int fold_stacks(void *arg, struct moca_decoder *d,
		       const struct moca_file *f, const struct moca_header *h,
		       uint64_t pos)
{
	struct moca_trace *t = arg;
	int ret;

	if (h->kind != MOCA_KIND_STACKS)
		return 0;
	ret = moca_decoder_bytes(d, f, h, pos, MOCA_S_STACK_LIST,
				 MOCA_STACKS_RAW_MAX);
	return ret ? ret : moca_stacks_decode(&t->stacks, d->changes.data,
					      d->changes.len, h->records);
}

static int fold_jit(void *arg, struct moca_decoder *d, const struct moca_file *f,
		    const struct moca_header *h, uint64_t pos)
{
	struct moca_trace *t = arg;
	int ret;

	if (h->kind != MOCA_KIND_JIT)
		return 0;
	ret = moca_decoder_bytes(d, f, h, pos, MOCA_S_JIT_LIST,
				 MOCA_JIT_RAW_MAX);
	return ret ? ret : moca_jits_decode(&t->jits, d->changes.data,
					    d->changes.len, h->records);
}

/* A file of the whole trace, of which there is one. */
static int scan_one(struct moca_trace *t, enum moca_file_type type,
		    struct moca_decoder *d,
		    int (*fold)(void *arg, struct moca_decoder *d,
				const struct moca_file *f,
				const struct moca_header *h, uint64_t pos))
{
	uint64_t end;
	int ret = moca_trace_scan(t, type, 0, &end, d, fold, t);

	if (ret == -EINVAL) {
		t->damage.files++;
		ret = 0;
	}
	return ret;
}

static int scan(struct moca_trace *t)
{
	struct moca_decoder d = { 0 };
	struct listing l = { 0 };
	uint32_t *numbers;
	size_t count, other;
	int ret, type;

	ret = list_files(t, &l);
	if (!ret) {
		listed(&l, MOCA_FILE_SHARED, &other);
		numbers = listed(&l, MOCA_FILE_TASK, &count);
		ret = moca_trace_scan_tasks(t, numbers, count, other != 0, &d);
	}
	if (!ret) {
		listed(&l, MOCA_FILE_TYPES, &other);
		numbers = listed(&l, MOCA_FILE_EVENT, &count);
		ret = moca_trace_scan_events(t, numbers, count, other != 0,
					      &d);
	}
	if (!ret && listed(&l, MOCA_FILE_MACHINE, &count))
		ret = scan_one(t, MOCA_FILE_MACHINE, &d, fold_machine);
	if (!ret && listed(&l, MOCA_FILE_STACKS, &count))
		ret = scan_one(t, MOCA_FILE_STACKS, &d, fold_stacks);
	if (!ret && listed(&l, MOCA_FILE_JIT, &count))
		ret = scan_one(t, MOCA_FILE_JIT, &d, fold_jit);
	if (!ret)
		ret = moca_jits_index(&t->jits);
	for (type = 0; type < MOCA_FILES; type++)
		moca_buf_free(&l.numbers[type]);
	moca_decoder_free(&d);
	return ret;
}

/* Files that are missing, or, where nothing else shows it, are others. */
static void compare_seal(struct moca_trace *t)
{
	const struct moca_seal *found = &t->found;
	const struct moca_damage *d = &t->damage;
	struct moca_seal said;

	if (moca_trace_truncated(t) || !moca_seal_get(&said, t->meta) ||
	    moca_meta_checked(t->meta) != MOCA_METADATA_VERIFIED)
		return;
	if (found->files < said.files)
		t->unsealed = said.files - found->files;
	else if (!d->files && !d->chunks && !d->tail_bytes)
		t->unsealed = found->files != said.files ||
			      found->chunks != said.chunks ||
			      found->bytes != said.bytes ||
			      found->sum != said.sum;
	t->damage.files += t->unsealed;
}

int moca_trace_open(struct moca_trace **out, const char *path)
{
	struct moca_trace *t = calloc(1, sizeof(*t));
	int ret;

	if (!t)
		return -ENOMEM;
	pthread_mutex_init(&t->damage_lock, NULL);
	pthread_mutex_init(&t->mapping_lock, NULL);
	t->dirfd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (t->dirfd < 0) {
		ret = errno == ENOTDIR ? -ENOENT : -errno;
		goto err_close;
	}
	ret = moca_meta_read(&t->meta, t->dirfd);
	if (ret)
		goto err_close;
	t->damage.files += moca_meta_checked(t->meta) == MOCA_METADATA_DAMAGED;
	ret = scan(t);
	if (ret)
		goto err_close;
	compare_seal(t);
	t->launch_error = moca_launch_check(t->dirfd, t->meta);
	if (t->launch_error == -ENOMEM) {
		ret = -ENOMEM;
		goto err_close;
	}
	t->damage.files += t->launch_error != 0;
	*out = t;
	return 0;
err_close:
	moca_trace_close(t);
	return ret;
}

void moca_trace_close(struct moca_trace *t)
{
	size_t i;

	if (!t)
		return;
	if (t->dirfd >= 0)
		close(t->dirfd);
	moca_meta_free(t->meta);
	/* One more may have a name when opening failed half-way. */
	for (i = 0; t->tasks && i <= t->task_count; i++)
		free((char *)t->tasks[i].name);
	free(t->tasks);
	free(t->task_files);
	free(t->shared_places);
	free(t->events);
	free(t->first_event);
	moca_types_free(&t->types);
	free(t->machine);
	moca_stacks_free(&t->stacks);
	moca_jits_free(&t->jits);
	free(t->places);
	moca_mappings_free(&t->mappings);
	pthread_mutex_destroy(&t->damage_lock);
	pthread_mutex_destroy(&t->mapping_lock);
	free(t);
}

const char *moca_trace_meta(const struct moca_trace *t, const char *key)
{
	return moca_meta_get(t->meta, key);
}

const char *moca_trace_meta_nth(const struct moca_trace *t, const char *key,
				unsigned n)
{
	return moca_meta_nth(t->meta, key, n);
}

const char *moca_trace_meta_line(const struct moca_trace *t, size_t i,
				 const char **value)
{
	*value = NULL;
	if (i >= moca_meta_count(t->meta))
		return NULL;
	return moca_meta_line(t->meta, i, value);
}

enum moca_metadata moca_trace_metadata(const struct moca_trace *t)
{
	return moca_meta_checked(t->meta);
}

int moca_trace_truncated(const struct moca_trace *t)
{
	const char *state = moca_meta_get(t->meta, "state");

	return !state || strcmp(state, "complete");
}

void moca_trace_certificate(const struct moca_trace *t,
			    struct moca_certificate *out)
{
	const struct moca_meta *m = t->meta;

	out->pages_seen = moca_meta_u64(m, "certificate.pages_seen", 0);
	out->pages_touched = moca_meta_u64(m, "certificate.pages_touched", 0);
	out->pages_other = moca_meta_u64(m, "certificate.pages_other", 0);
	out->records = moca_meta_u64(m, "certificate.records", 0);
	out->lost = moca_meta_u64(m, "certificate.lost", 0);
	out->chunks = moca_meta_u64(m, "certificate.chunks", 0);
	out->lossy_chunks = moca_meta_u64(m, "certificate.lossy_chunks", 0);
	out->loads = moca_meta_u64(m, "certificate.loads", 0);
	out->stores = moca_meta_u64(m, "certificate.stores", 0);
	out->pages_blind = moca_meta_u64(m, "certificate.pages_blind", 0);
	out->gaps = moca_meta_u64(m, "certificate.gaps", 0);
}

size_t moca_trace_task_count(const struct moca_trace *t)
{
	return t->task_count;
}

const struct moca_task *moca_trace_task(const struct moca_trace *t, size_t i)
{
	return i < t->task_count ? &t->tasks[i] : NULL;
}

const struct moca_machine *moca_trace_machine(const struct moca_trace *t)
{
	return t->machine;
}

int moca_trace_stack(const struct moca_trace *t, uint32_t number,
		     struct moca_stack *out)
{
	return moca_stacks_get(&t->stacks, number, out);
}

const struct moca_jits *moca_trace_jits(const struct moca_trace *t)
{
	return &t->jits;
}

uint32_t moca_trace_stack_count(const struct moca_trace *t)
{
	return t->stacks.count ? (uint32_t)t->stacks.count - 1 : 0;
}

const struct moca_event_type *const *
moca_trace_event_types(const struct moca_trace *t, size_t *count)
{
	*count = t->types.count;
	return t->types.list;
}

const struct moca_task *moca_trace_find_task(const struct moca_trace *t,
					     uint32_t id)
{
	size_t lo = 0, hi = t->task_count, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (t->tasks[mid].id < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < t->task_count && t->tasks[lo].id == id ? &t->tasks[lo] :
							     NULL;
}

unsigned moca_trace_top_weight(const struct moca_trace *t)
{
	unsigned top = 0;
	const char *levels = moca_trace_meta(t, "sample.levels");
	unsigned told = 0, pairs = 0;
	unsigned long level;
	char *end;
	const struct moca_task *task;
	size_t i;

	for (i = 0; i < t->task_count; i++) {
		task = &t->tasks[i];
		if (top < task->top_weight)
			top = task->top_weight;
	}
	/* Perhaps nothing was drawn. */
	while (levels && *levels && pairs++ < 16) {
		level = strtoul(levels, &end, 10);
		if (end == levels || level > 12)
			break;
		told = level && told < 1u << level ? 1u << level : told;
		strtoul(end, (char **)(void *)&levels, 10);
	}
	top = top < told ? told : top;
	return top > 1 ? top : 1;
}

int moca_trace_has_weights(const struct moca_trace *t)
{
	for (size_t i = 0; i < t->task_count; i++)
		if (t->tasks[i].weight != t->tasks[i].accesses)
			return 1;
	return moca_trace_top_weight(t) > 1;
}

void moca_trace_damage(const struct moca_trace *t, struct moca_damage *out)
{
	/* The lock is not part of what const promises. */
	pthread_mutex_t *lock = (pthread_mutex_t *)&t->damage_lock;

	pthread_mutex_lock(lock);
	*out = t->damage;
	pthread_mutex_unlock(lock);
}
