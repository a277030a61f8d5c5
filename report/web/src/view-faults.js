// SPDX-License-Identifier: GPL-2.0-or-later
// Page faults and CPU use over time: of all processes, and of each task.
import { json } from "./data.js";
import { h } from "./dom.js";
import { figure } from "./figure.js";
import { lines, bars } from "./charts.js";
import * as f from "./format.js";
import * as p from "./palette.js";

const SHOWN = 12;	/* tasks with a line of their own */
const ROWS = 200;

const texts = {
	minor: {
		read: "Minor page faults per second: faults that needed no disk, as at the first touch of a page. The line “own” leaves out those that Moca's page tracing caused by taking pages away to see them touched again; what is left is what the program would have had, and what moving its memory at the start costs.",
		reveal: "Bursts are phases of first touches: memory that is allocated, touched, given back and touched again, copies after a fork. A rate that stays high says that memory is given back and taken anew all the time.",
		act: "Allocate once and use again (a pool; M_TRIM_THRESHOLD_ and M_MMAP_THRESHOLD_ of mallopt), use huge pages for large arrays (madvise MADV_HUGEPAGE), or touch memory before the time that matters (MAP_POPULATE).",
	},
	major: {
		read: "Major page faults per second: those that waited for a disk, as a file that is read through a mapping for the first time, or memory that was swapped out.",
		reveal: "Major faults with little CPU use mean that the program waits for the disk. Many of them all the time, with all processes together larger than the memory, are thrashing.",
		act: "Keep the working set below the memory: fewer processes at a time, smaller blocks, better locality. For files: madvise MADV_WILLNEED or MADV_SEQUENTIAL, or a warm-up.",
	},
	cpu: {
		read: "CPU time used between two samples, by the time between them: 1 is one CPU that is busy all the time. User and system time of all threads together.",
		reveal: "Below the number of threads, threads wait: for each other, for disks, or for a CPU. A dip while major faults rise is waiting for pages. A sum that stays at the number of CPUs says that the machine is full.",
		act: "Compare with the number of CPUs: more threads than these take turns. Where threads wait for each other look at how the work is divided; where they wait for pages look at the faults.",
	},
	tasks: {
		read: "CPU time of each process and thread; the table has faults, too. A process includes all its threads, also those that ended; “ended children” are processes that ended between two samples, as their parent counted them.",
		reveal: "Which process or thread does the work and which one causes the faults; many short processes that together take much.",
		act: "Begin with the longest bar. Threads of one process should be alike if they share the work.",
	},
};

const label = (t) => t.reaped ? `${t.name} ${t.pid}: ended children` : t.tid === null ? `${t.name} ${t.pid}` : `${t.name} ${t.pid}/${t.tid}`;

/* Per second of what was covered; null where nothing was sampled. */
const perSecond = (r, values, factor = 1e9) => Array.from(values, (v, i) =>
	r.covered[i] ? v * factor / r.covered[i] : null);

function times(r) {
	const n = r.covered.length, w = (r.end_ns - r.begin_ns) / n;
	return Float64Array.from({ length: n }, (_, i) => r.begin_ns + (i + 0.5) * w);
}

function chart(r, id, title, subtitle, explain, yLabel, series, yText) {
	const c = lines({ x: times(r), time: true, xLabel: "time", yLabel, xText: f.time, yText, label: title, series });
	return figure({ id, title, subtitle, explain, body: c.element, picture: c.picture, rows: c.rows });
}

function taskSeries(r, key, factor) {
	const list = r.tasks.filter((t) => t[key] && t.total[key])
		.sort((a, b) => b.total[key] - a.total[key]).slice(0, SHOWN);
	const colors = p.categorical(list.length).map(p.css);
	return list.map((t, i) => ({ label: label(t), values: perSecond(r, t[key], factor), color: colors[i] }));
}

function table(r) {
	const head = ["Task", "Pid", "Thread", "Minor faults", r.has_own && "by sweeps", "Major faults", "CPU time", "From", "To"].filter(Boolean);
	return h("div", { class: "scroll-x", tabindex: 0, role: "region", "aria-label": "Faults and CPU time of each task" },
		h("table", {}, h("thead", {}, h("tr", {}, head.map((x) => h("th", { scope: "col" }, x)))),
			h("tbody", {}, r.tasks.slice(0, ROWS).map((t) => h("tr", {}, [
				h("td", { class: "left" }, f.cut(t.reaped ? `${t.name}: ended children` : t.name, 40)),
				h("td", {}, String(t.pid)), h("td", {}, t.tid === null ? "all" : String(t.tid)),
				h("td", {}, f.count(t.total.minor)), r.has_own && h("td", {}, f.count(t.total.own)),
				h("td", {}, f.count(t.total.major)), h("td", {}, f.time(t.total.cpu)),
				h("td", {}, f.time(t.begin_ns)), h("td", {}, t.end_ns === null ? "the end" : f.time(t.end_ns))].filter(Boolean))))));
}

export async function faults() {
	const r = await json("faults");
	if (!r)
		return [h("p", { class: "empty" }, "Page faults and CPU time were not sampled: the trace was recorded with --no-rates or --exact, by moca trace, or by an older Moca. moca record samples them, moca rate -o DIR does so without tracing pages.")];
	const own = r.minor.map((v, i) => v - r.own[i]);
	const sum = (key, name, color, factor) => ({ label: name, values: perSecond(r, r[key], factor), color, width: 2 });
	const rate = r.period_ns ? +(1e9 / r.period_ns).toPrecision(3) : 0;
	const every = `${f.count(r.rounds)} samples, ${rate} per second${r.longest_ns > 1.5 * r.period_ns ? `, at most ${f.time(r.longest_ns)} apart` : ""}`;
	return [
		h("p", { class: "count" }, `${f.count(r.total.minor)} minor faults` +
			(r.has_own ? `, ${f.count(r.total.own)} of them repeated by sweeps of page tracing` : "") +
			`, ${f.count(r.total.major)} major, ${f.time(r.total.cpu)} of CPU time; up to ${f.count(r.processes)} process${r.processes === 1 ? "" : "es"} and ${f.count(r.threads)} thread${r.threads === 1 ? "" : "s"} at a time.`),
		chart(r, "minor", "Minor page faults", every, texts.minor, "faults/s", [
			...(r.has_own ? [{ label: "own (without tracing)", values: perSecond(r, own), color: p.css(p.READ), width: 2 }, { ...sum("minor", "all", p.css(p.OTHER)), width: 1, dash: [4, 3] }] :
			    [sum("minor", "all", p.css(p.READ))])], f.short),
		chart(r, "major", "Major page faults", r.total.major ? every : "There were none", texts.major, "faults/s", [sum("major", "all", p.css(p.WRITE))], f.short),
		chart(r, "cpu", "CPU use", every, texts.cpu, "CPUs", [sum("cpu", "all", p.variable("--text"), 1), ...taskSeries(r, "cpu", 1)], f.short),
		chart(r, "minor-tasks", "Minor page faults by task", r.task_count > SHOWN ? `The ${SHOWN} tasks with most` : null, texts.minor, "faults/s", taskSeries(r, "minor"), f.short),
		figure({ id: "fault-tasks", title: "CPU time by task", explain: texts.tasks,
			subtitle: r.task_count > ROWS ? `The first ${ROWS} of ${f.count(r.task_count)}` : null,
			...(() => {
				const b = bars({ label: "CPU time of each task", text: f.time, rows: r.tasks.slice(0, 32).map((t) => ({ label: label(t), parts: [{ value: t.total.cpu, color: p.css(p.READ), label: "CPU time" }] })) });
				return { body: [b.element, table(r)], svg: b.svg };
			})(),
			rows: () => [["name", "pid", "tid", "ended_children", "minor", "minor_by_tracing", "major", "cpu_ns", "begin_ns", "end_ns"],
				...r.tasks.map((t) => [t.name, t.pid, t.tid ?? "", t.reaped ? 1 : 0, t.total.minor, r.has_own ? t.total.own : "", t.total.major, t.total.cpu, t.begin_ns, t.end_ns ?? ""])] }),
	];
}
