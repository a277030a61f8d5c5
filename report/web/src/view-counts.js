// SPDX-License-Identifier: GPL-2.0-or-later
// What exact mode counted: loads and stores by page, thread, line and slice.
import { h } from "./dom.js";
import { figure, legend } from "./figure.js";
import { lines, bars } from "./charts.js";
import { counts, threadName, threadTotals } from "./data.js";
import { isHere } from "./view-findings.js";
import { firstFigure } from "./view-object.js";
import { named } from "./views.js";
import { texts } from "./texts-counts.js";
import * as f from "./format.js";
import * as p from "./palette.js";

const LINES = 8;	/* threads with a line of their own */
const POINTS = 800;
const ROWS = 24;	/* of a table of lines */

const unitOf = (plot) => plot.density.page_shift ? `group of ${f.count(2 ** plot.density.page_shift)} pages` : "page";

/* Per point the mean of its rows: of each thread, and of all threads together. */
function averages(x, threads, values) {
	const n = Math.min(POINTS, x.rows), at = new Float64Array(n), rows = new Float64Array(n);
	const own = new Map(threads.slice(0, LINES).map((t) => [t, new Float64Array(n)]));
	const average = new Float64Array(n);
	for (let r = 0; r < x.rows; r++) {
		const k = Math.floor(r * n / x.rows);
		rows[k]++;
		for (let i = x.start[r]; i < x.start[r + 1]; i++) {
			average[k] += values[i] / threads.length;
			const v = own.get(x.thread[i]);
			if (v)
				v[k] += values[i];
		}
	}
	for (let k = 0; k < n; k++) {
		at[k] = k * x.rows / n;
		average[k] /= rows[k] || 1;
		for (const v of own.values())
			v[k] /= rows[k] || 1;
	}
	return { at, own, average };
}

function density(d, o, plot, x, threads, kind) {
	const c = p.categorical(threads.length), unit = unitOf(plot), values = kind === "loads" ? x.reads : x.writes;
	const v = averages(x, threads, values), size = 2 ** plot.density.page_shift * 4096;
	const sum = values.reduce((a, b) => a + b, 0);
	if (!sum)
		return h("p", { class: "empty", "data-figure": `${kind}-${o.id}` }, `No ${kind} of it were counted.`);
	const chart = lines({ x: v.at, xLabel: unit, yLabel: `${kind} per ${plot.density.page_shift ? "group" : "page"}`, height: 260, xText: (n) => f.count(n),
		label: `${kind} per page along ${f.cut(o.name, 80)}, by thread`,
		series: [...[...v.own].map(([t, own], i) => ({ label: threadName(d, t), values: own, color: p.css(c[i]), width: 1.2 })),
			{ label: "average of threads", values: v.average, color: p.variable("--text"), width: 2.5 }] });
	return figure({ id: `${kind}-${o.id}`, title: kind === "loads" ? "Loads by page and thread" : "Stores by page and thread", explain: texts.density,
		body: chart.element, picture: chart.picture,
		subtitle: `${f.count(sum)} ${kind} in ${f.count(x.rows)} ${unit}${x.rows === 1 ? "" : "s"} in order of address, ${f.short(sum / x.rows)} on average${threads.length > LINES ? `; the ${LINES} threads with most` : ""}`,
		rows: () => {
			const out = [["process", "address", "pages", "thread", "loads", "stores"]];
			for (let r = 0; r < x.rows; r++)
				for (let i = x.start[r]; i < x.start[r + 1]; i++)
					out.push([x.pid[r], f.hex(x.group[r] * size), 2 ** plot.density.page_shift, threadName(d, x.thread[i]), x.reads[i], x.writes[i]]);
			return out;
		} });
}

/* Over slices: who did how much. */
function overSlices(d, id, title, all, what) {
	const s = d.slices, n = s.begin_ns.length, c = p.categorical(Math.max(1, all.length));
	const total = (k) => Float64Array.from({ length: n }, (_, i) => all.reduce((a, x) => a + x[k][i], 0));
	const x = Float64Array.from(s.begin_ns), loads = total("loads"), stores = total("stores");
	const each = all.length > 1 ? all.slice(0, LINES).map((y, i) => ({ label: what(y), color: p.css(c[i]), width: 1.2, dash: [4, 3], stepped: true,
		values: Float64Array.from(y.loads, (v, k) => v + y.stores[k]) })) : [];
	const chart = lines({ x, time: true, xLabel: "begin of the slice", yLabel: "per slice", xText: f.time, label: `${title} over time`, height: 240,
		series: [{ label: "loads", values: loads, color: p.css(p.READ), width: 2, stepped: true },
			{ label: "stores", values: stores, color: p.css(p.WRITE), width: 2, stepped: true }, ...each] });
	return figure({ id, title, explain: texts.slices, body: chart.element, picture: chart.picture,
		subtitle: `${f.count(d.exact.slices)} slices${d.exact.slice_ns ? ` of ${f.time(d.exact.slice_ns)}` : ""}${d.exact.joined > 1 ? `, ${d.exact.joined} to a point` : ""}${all.length > LINES ? `; loads and stores of the first ${LINES} threads` : ""}`,
		rows: chart.rows });
}

/* Lines of a list of moca summary's: where, how much, by whom. */
function lineTable(d, list) {
	const head = ["Address", "Structure", "Loads", "Stores", "Contended", "Threads"];
	const who = (l) => l.shared && !l.threads.length ? "several" : l.threads.map((t) => `#${t}`).join(", ");
	return h("div", { class: "scroll-x", tabindex: 0, role: "region", "aria-label": "Table of lines" }, h("table", {},
		h("thead", {}, h("tr", {}, head.map((x, i) => h("th", { scope: "col", class: i > 1 && i < 5 ? "plain n" : "plain" }, x)))),
		h("tbody", {}, list.slice(0, ROWS).map((l) => h("tr", {}, h("th", { scope: "row" }, h("code", {}, l.address)),
			h("td", {}, isHere(d, l.object, l.name) ? h("a", { href: `#/object/${l.object}`, title: f.cut(l.name, 400) }, f.cut(l.name, 40)) : f.cut(l.name || "", 40)),
			[l.loads, l.stores, l.contended].map((n) => h("td", { class: "n" }, f.count(n))), h("td", {}, who(l)))))));
}

const csvOf = (list) => () => [["address", "structure", "loads", "stores", "contended", "contended_slices", "threads"],
	...list.map((l) => [l.address, l.name, l.loads, l.stores, l.contended, l.contended_slices, l.threads.join(" ")])];

function sharedLines(d, list, id, title) {
	const x = d.exact, e = d.summary?.exact;
	if (!e)
		return null;
	const granule = f.bytes(x.granularity);
	if (x.granularity >= 4096)
		return h("p", { class: "empty" }, "Counted were whole pages: single cache lines were not. moca record --exact --granularity 64 counts these.");
	const contended = list.filter((l) => l.contended);
	return figure({ id, title, explain: texts.lines, rows: csvOf(list),
		subtitle: `Granules of ${granule}` + (x.slices > 1 ? "; contended: accesses by others than the main user of the line in a slice, as far as it was written"
			: "; there were no slices: whether threads met there at the same time was not recorded"),
		body: list.length ? [contended.length === 0 && h("p", {}, "No line was written by one thread and used by another in one slice."), lineTable(d, list)] :
			h("p", { class: "empty" }, "None of its lines is among those with most accesses.") });
}

/** The view of one structure, of a trace with counts only. */
export async function countedObject(d, o, plot) {
	const x = await counts(o.id), threads = [...plot.by_thread].sort((a, b) => b[1] + b[2] - a[1] - a[2]).map((b) => b[0]);
	const series = d.slices?.objects.find((s) => s.object === o.id), e = d.summary?.exact;
	const mine = (e?.lines || []).filter((l) => l.object === o.id && l.name === o.name);
	const sums = e?.objects.find((y) => y.object === o.id && y.name === o.name);
	const first = threads.length ? firstFigure(d, o, plot, x, threads) : null;
	return [
		density(d, o, plot, x, threads, "loads"), density(d, o, plot, x, threads, "stores"), first,
		series ? overSlices(d, `slices-${o.id}`, "Over time", [series], () => "") : h("p", { class: "empty" },
			"When it was used was not recorded, but for the first touches: moca record --exact --slice 100ms counts in slices of time."),
		sharedLines(d, mine, `lines-${o.id}`, "Its cache lines"),
		sums && sums.granules > 0 && h("p", { class: "small" }, `${f.count(sums.granules)} granules were used, ${f.count(sums.granules_shared)} of them by several threads; ${f.count(sums.lines_contended)} by several in one slice, written.`),
	];
}

/** Structures by loads and stores: in place of the picture over time. */
export function countedGlance(d) {
	const top = named(d).slice(0, 24).map((x) => d.objectAt.get(x.object));
	const b = bars({ label: "Loads and stores of each data structure", text: f.short, rows: top.map((o) => ({ label: o.label, href: `#/object/${o.id}`,
		parts: [{ value: o.reads, color: p.css(p.READ), label: "loads" }, { value: o.writes, color: p.css(p.WRITE), label: "stores" }] })) });
	return figure({ id: "overview", title: "The run at a glance", subtitle: `${top.length} of ${f.count(d.rows)} data structures, by loads and stores`, explain: texts.glance,
		body: [legend([[p.css(p.READ), "loads"], [p.css(p.WRITE), "stores"]]), b.element], svg: b.svg,
		rows: () => [["structure", "loads", "stores"], ...top.map((o) => [o.label, o.reads, o.writes])] });
}

/** Threads, slices and lines of the whole run. */
export async function countedRates(d) {
	if (!d.threads.length)
		return [h("p", { class: "empty" }, "Nothing was counted: the program ended at once, or ran uncounted (moca info says what was not counted).")];
	const totals = d.threads.map(threadTotals), e = d.summary?.exact;
	const work = bars({ label: "Loads and stores of each thread", text: f.short, rows: d.threads.slice(0, 64).map((t, i) => ({ label: threadName(d, t.index),
		parts: [{ value: totals[i][0], color: p.css(p.READ), label: "loads" }, { value: totals[i][1], color: p.css(p.WRITE), label: "stores" }] })) });
	const sums = totals.map((t) => t[0] + t[1]).filter((n) => n), mean = sums.reduce((a, b) => a + b, 0) / (sums.length || 1);
	return [
		d.slices ? overSlices(d, "slices", "Loads and stores over time", d.slices.threads, (s) => threadName(d, s.index)) :
			h("p", { class: "empty" }, "There is no time axis: counts are of the whole life of each thread. moca record --exact --slice 100ms counts in slices."),
		figure({ id: "threads", title: "Loads and stores by thread", explain: texts.threads, body: work.element, svg: work.svg,
			subtitle: `${sums.length > 1 ? `The busiest has ${f.short(Math.max(...sums) / mean)} times the mean` : "One thread"}${d.threads.length > 64 ? `; the first 64 of ${f.count(d.threads.length)} threads` : ""}`,
			rows: () => [["thread", "process", "pid", "tid", "loads", "stores"], ...d.threads.map((t, i) => [threadName(d, t.index), t.process, t.pid, t.tid, ...totals[i].slice(0, 2)])] }),
		e && sharedLines(d, e.hot, "hot", "Hot spots: the lines with most accesses"),
		e && d.exact.granularity < 4096 && d.exact.slices > 1 && sharedLines(d, e.lines.filter((l) => l.contended), "contended", "Lines that threads contend for"),
	];
}

/** A view that needs what counts do not have. */
export const notCounted = (what) => [h("p", { class: "empty" }, `${what} needs accesses with their times, which exact mode does not record: it counts. ` +
	"Record the program again without --exact to see it; the data structures, threads and findings of this trace are exact.")];

/** What is said of how complete it is. */
export function countedCertificate(d) {
	const x = d.exact;
	return [h("p", {}, h("b", {}, `${f.count(x.loads)} loads and ${f.count(x.stores)} stores`),
		x.gaps ? ` were counted; ${f.count(x.gaps)} times something was not (moca info says what).` : " were counted: all that the program executed."),
	...(x.natives || []).map((text) => h("p", { class: "native" }, text + ".")),
	x.natives_more > 0 && h("p", { class: "native" }, `The same of ${f.count(x.natives_more)} more tasks.`)];
}

export const countedNotRecorded = (d) => [
	"In which order things were accessed, and by which instructions: these are counts.",
	"Accesses of the kernel on behalf of the program, inside system calls.",
	d.exact.slices > 1 ? `When within a slice${d.exact.slice_ns ? ` of ${f.time(d.exact.slice_ns)}` : ""} something was accessed, but for first touches.` :
		"When something was accessed, but for first touches: there were no slices (--slice 100ms).",
	d.exact.granularity ? `Where within ${f.bytes(d.exact.granularity)}: what several structures have of one such granule is shared out by size and time.` : null,
	"Cache misses, bandwidth, latency: how many of the loads a cache answered is not known.",
	"CPUs and NUMA nodes: on which CPU a thread ran.",
].filter(Boolean);
