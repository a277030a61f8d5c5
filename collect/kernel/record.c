// SPDX-License-Identifier: GPL-2.0-or-later
#include "collect/kernel/record.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collect/kernel/collector.h"
#include "collect/run/attach-check.h"
#include "collect/run/calibrate.h"
#include "collect/run/launch.h"
#include "collect/run/loads.h"
#include "collect/run/recording.h"
#include "collect/run/target.h"
#include "collect/run/way.h"
#include "include/abi/agent.h"
#include "lib/base/err.h"
#include "lib/format/meta.h"

#define EXIT_OURS 125
/* Where nothing can be measured: as the module has it. */
#define DEFAULT_NS 1000.0
/* Of a ring's chunk, in bytes. */
#define CHUNK_LEAST 16384u

static struct kernel_collector *collector;

/* --- may it be used? ------------------------------------------------------------ */

static const struct {
	uint32_t bit;
	const char *name;
} features[] = {
	{ MOCA_HAS_FTRACE, "ftrace" },
	{ MOCA_HAS_RANGE_FLUSH, "range flush" },
	{ MOCA_HAS_THP_SPLIT, "huge pages split" },
	{ MOCA_HAS_NO_AROUND, "no fault-around" },
	{ MOCA_HAS_HEAT, "heat" },
};

const char *moca_kernel_features(uint32_t bits, char *buf, size_t size)
{
	size_t n = 0;

	snprintf(buf, size, "none");
	for (size_t i = 0; i < sizeof(features) / sizeof(*features); i++)
		if (bits & features[i].bit && n < size)
			n += (size_t)snprintf(buf + n, size - n, "%s%s",
					      n ? ", " : "", features[i].name);
	return buf;
}

const char *moca_kernel_no_heat(const struct moca_kernel_check *c)
{
	if (c->features & MOCA_HAS_HEAT)
		return NULL;
	if (!(c->features & MOCA_HAS_FTRACE))
		return "it cannot use ftrace (no_ftrace=1, or a kernel without)";
	if (!(c->features & MOCA_HAS_RANGE_FLUSH))
		return "it has not found the kernel's flush_tlb_mm_range "
		       "(no_symbols=1, or a kernel without kprobes)";
	return "it can on x86-64 only";
}

static void refuse(struct moca_kernel_check *c, int err, const char *what)
{
	c->error = -err;
	c->state = MOCA_KERNEL_REFUSED;
	if (err == -ENOENT && !access("/sys/module/moca", F_OK)) {
		snprintf(c->why, sizeof(c->why), "the module moca is loaded "
			 "without page tracing, which this kernel does not "
			 "allow (real-time, or no NUMA balancing: dmesg says)");
		c->fix = "record from user space: --via user";
		return;
	}
	if (err == -ENOENT || err == -ENODEV || err == -ENXIO) {
		c->state = MOCA_KERNEL_ABSENT;
		snprintf(c->why, sizeof(c->why), "there is no " KERNEL_DEVICE
			 ": the module moca is not loaded");
		c->fix = "sudo modprobe moca (or insmod build/kmod/.../moca.ko; "
			 "`make kmod` builds it)";
		return;
	}
	if (err == -EPROTONOSUPPORT) {
		snprintf(c->why, sizeof(c->why), "the module that is loaded "
			 "speaks version %u, this moca version %u", c->abi,
			 MOCA_ABI);
		c->fix = "load the module that was built with this moca: sudo "
			 "rmmod moca, then sudo modprobe moca";
		return;
	}
	snprintf(c->why, sizeof(c->why), "cannot %s: %s", what,
		 strerror(-err));
	if (err == -EPERM || err == -EACCES)
		c->fix = "run as root or with CAP_PERFMON, or, for processes "
			 "of your own: echo 1 | sudo tee "
			 "/sys/module/moca/parameters/allow_own";
	else if (err == -EBUSY)
		c->fix = "end the other recording first";
	else if (err == -EUSERS)
		c->fix = "end other recordings first, or have root raise "
			 "max_sessions (of all) or user_sessions (of a user) in "
			 "/sys/module/moca/parameters";
	else if (err == -ENOSPC)
		c->fix = "have root raise max_mb (of a recording) or user_mb "
			 "(of a user's recordings) in "
			 "/sys/module/moca/parameters";
}

void moca_kernel_try(struct moca_kernel_check *c, pid_t pid)
{
	const struct moca_setup small = {
		.interval_ns = 1000000000, .chunk_bytes = CHUNK_LEAST,
		.ring_chunks = 4,
	};
	struct kernel_device dev;
	int err = kernel_device_open(&dev);

	memset(c, 0, sizeof(*c));
	c->abi = err && err != -EPROTONOSUPPORT ? 0 : dev.about.abi;
	c->features = dev.about.features;
	if (err) {
		refuse(c, err, "open " KERNEL_DEVICE);
		return;
	}
	err = kernel_device_setup(&dev, &small);
	if (err)
		refuse(c, err, "make a session of " KERNEL_DEVICE);
	if (!err)
		err = kernel_device_register(&dev, pid ? pid : getpid());
	if (err && !c->error)
		refuse(c, err == -ENOENT ? -ESRCH : err,
		       pid ? "record this process by the kernel module" :
			     "record a program by the kernel module");
	kernel_device_close(&dev);
}

/* --- the way of recording ------------------------------------------------------- */

static void describe(struct recorder *rec, struct moca_meta *m,
		     const struct kernel_device *dev)
{
	char names[128];

	moca_meta_set(m, "via", "kernel");
	moca_meta_set(m, "kernel.abi", "%u", dev->about.abi);
	moca_meta_set(m, "kernel.features", "%s",
		      moca_kernel_features(dev->about.features, names,
					   sizeof(names)));
	recording_describe_budget(rec->opt, m);
	if (rec->opt->heat_ns)
		moca_meta_set(m, "heat.period_ns", "%lu", rec->opt->heat_ns);
	moca_meta_set(m, "read_write_source", "fault");
	moca_meta_set(m, "node_source", "kernel");
	if (!(dev->about.features & MOCA_HAS_NO_AROUND))
		moca_meta_add(m, "note", "this kernel maps neighbouring pages "
			      "of files at a fault: of those, who touched them "
			      "first is not known");
}

/* The module allows a session so much memory; machines may have many CPUs. */
static int setup(struct kernel_device *dev, struct moca_setup want)
{
	int err;

	want.ring_chunks = 64;
	for (;;) {
		err = kernel_device_setup(dev, &want);
		if (err != -ENOSPC || want.chunk_bytes)
			return err;
		if (want.ring_chunks > 4)
			want.ring_chunks /= 2;
		else
			want.chunk_bytes = CHUNK_LEAST;
	}
}

/* Why the first program will not tell of its allocations; NULL: it will. */
static const char *no_allocations(const struct recorder *rec)
{
	char path[4096];

	if (target_find(rec->opt->argv[0], path, sizeof(path)))
		return "it cannot be found";
	return loads_refusal(path);
}

/*
 * In the child. There is nobody who could change what other programs begin
 * with, so the library is for this one, which takes it out again.
 */
static int before_exec(const struct recorder *rec, const char **what)
{
	const struct moca_record_options *o = rec->opt;
	const char *own = getenv("LD_PRELOAD");
	char *list = NULL, *config = NULL;

	if (!o->preload || no_allocations(rec))
		return 0;
	if (asprintf(&list, "%s%s%s", o->preload, own ? ":" : "",
		     own ? own : "") < 0 ||
	    asprintf(&config, "%s%s", o->preload_config ? o->preload_config : "",
		     own ? "" : "orig=0;") < 0)
		return 0;
	setenv("LD_PRELOAD", list, 1);
	setenv(MOCA_ALLOC_ENV, config, 1);
	return 0;
}

static void note_allocations(const struct recorder *rec, struct moca_meta *m)
{
	const char *why;
	char note[300];

	if (!rec->opt->preload)
		return;
	why = no_allocations(rec);
	if (why)
		snprintf(note, sizeof(note), "allocations are not recorded: "
			 "%s; --via user can do more", why);
	else
		snprintf(note, sizeof(note), "allocations of the first program "
			 "only are recorded; --via user records those of the "
			 "programs that it starts, too");
	moca_meta_add(m, "note", note);
}

static void explain(const struct recorder *rec, int err, const char *what)
{
	struct moca_kernel_check c = { .abi = 0 };

	if (rec->attach && err == -ESRCH) {
		attach_refused(rec->opt->attach, err);
		return;
	}
	refuse(&c, err, what);
	moca_error("%s%s%s", c.why, c.fix ? "; to allow it: " : "",
		   c.fix ? c.fix : "");
}

static struct moca_setup wanted_setup(const struct moca_record_options *o,
				      double fault_ns)
{
	double permille = o->budget * 1000;

	return (struct moca_setup){
		.flags = o->zap ? 0 : MOCA_SETUP_NO_INJECT,
		.interval_ns = o->interval_ns,
		.heat_ns = o->heat_ns,
		.budget_permille = isinf(o->budget)    ? 0 :
				   permille < 1	       ? 1 :
				   permille > 1000000  ? 1000000 :
							 (uint32_t)permille,
		.fault_ns = fault_ns > 0 && fault_ns < 1e6 ?
				    (uint32_t)fault_ns : 0,
	};
}

static int prepare(struct recorder *rec, struct moca_meta *meta,
		   struct moca_writer *writer)
{
	double fault_ns = calibrate_minor_ns();
	const struct moca_setup want = wanted_setup(rec->opt, fault_ns);
	const char *what = "open " KERNEL_DEVICE;
	struct kernel_device dev;
	int err = kernel_device_open(&dev);

	if (!err) {
		what = "make a session of " KERNEL_DEVICE;
		err = setup(&dev, want);
	}
	if (!err) {
		describe(rec, meta, &dev);
		note_allocations(rec, meta);
		what = "begin the trace";
		err = kernel_collector_create(&collector, rec, &dev, writer,
					      meta, fault_ns ? fault_ns :
							       DEFAULT_NS);
		if (err)
			kernel_device_close(&dev);
	}
	if (!err) {
		what = "put the program under " KERNEL_DEVICE;
		err = kernel_device_register(&dev, rec->root);
	}
	if (!err) {
		what = "start the module's recording";
		err = kernel_device_start(&dev);
	}
	if (err)
		explain(rec, err, what);
	return err ? EXIT_OURS : 0;
}

static void collect(struct recorder *rec, atomic_int *finished)
{
	kernel_collector_run(collector, finished);
}

static void summary(struct recorder *rec)
{
	if (!rec->opt->quiet)
		kernel_collector_summary(collector);
}

static const struct record_way kernel_way = {
	.collector = "kernel",
	.supervise = launch_supervise,
	.before_exec = before_exec,
	.prepare = prepare,
	.collect = collect,
	.summary = summary,
};

int moca_kernel_run(const struct moca_record_options *opt)
{
	return record_run(opt, &kernel_way);
}
