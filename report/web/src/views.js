// SPDX-License-Identifier: GPL-2.0-or-later
// The views of the whole run; view-object.js has that of one structure.
import { h } from "./dom.js";
import { figure, legend } from "./figure.js";
import { lines, bars, strips } from "./charts.js";
import { raster } from "./raster.js";
import { cells, has, threadName, threadTotals } from "./data.js";
import { texts } from "./texts.js";
import { texts as exactTexts } from "./texts-counts.js";
import { answer } from "./view-answer.js";
import { heat } from "./view-heat.js";
import { latency } from "./view-latency.js";
import { countedGlance, countedCertificate, countedNotRecorded } from "./view-counts.js";
import * as f from "./format.js";
import * as p from "./palette.js";

const FEW_ROWS = 20;
const MANY = 24;	/* structures in a chart, */
const FEW = 1;		/* at least; the others have */
const LITTLE = 0.005;	/* of the accesses, or more */
const COLUMNS = 1200;

export const threadColors = (d) => {
	const c = p.categorical(d.threads.length);
	return new Map(d.threads.map((t, i) => [t.index, c[i]]));
};

export const binTimes = (d) => Float64Array.from({ length: d.time.rate_bins },
	(_, i) => d.time.begin_ns + (i + 0.5) / d.time.rate_bins * d.length);

function card(title, value, note) {
	return h("div", { class: "card" }, h("div", { class: "card-title" }, title),
		h("div", { class: "card-value" }, value),
		note && h("div", { class: "card-note" }, note));
}

/* As collect/run/estimate.h tells it: above 20 nothing bounds it. */
function slowdown(r) {
	const low = +r["cost.wall_low"], high = +r["cost.wall_high"], middle = +r.slowdown_estimate;

	if (!(middle > 0))
		return null;
	if (high > 20)
		return low < 2 ? "not known" : `at least ${low.toFixed(low < 10 ? 1 : 0)} times`;
	if (high - low > Math.max(0.1, 0.2 * middle))
		return `${low.toFixed(1)} to ${high.toFixed(1)} times (estimated)`;
	return `${middle.toFixed(2)} times (estimated)`;
}

function facts(list) {
	return h("dl", { class: "facts" }, list.filter(([, v]) => v !== null && v !== undefined && v !== "")
		.map(([k, v]) => [h("dt", {}, k), h("dd", {}, v)]));
}

/* --- introduction -------------------------------------------------------- */

/* Of all that is known to have been touched, as the recorder's last line has it. */
function seen(c) {
	return c.pages_blind ? f.percent(c.pages_seen + c.pages_other, c.pages_touched + c.pages_other + c.pages_blind) :
		f.percent(c.pages_seen, c.pages_touched);
}

const isDamaged = (g) => g.files || g.chunks || g.tail_bytes;

function certificate(d) {
	if (d.run["import.from"])
		return [h("p", {}, h("b", {}, "Nothing can be certified"), `: ${d.run["certificate.reason"]}.`)];
	if (d.exact?.only)
		return countedCertificate(d);
	const c = d.certificate, out = [];
	if (!c.pages_touched && !c.records)
		return [h("p", {}, "The trace has no certificate: how complete it is is not known.")];
	out.push(h("p", {}, h("b", {}, f.percent(c.pages_seen, c.pages_touched)),
		` of the pages that the program touched ${isDamaged(d.damage) ? "had a record, of which some are missing here" : "have a record"} (${f.count(c.pages_seen)} of ${f.count(c.pages_touched)}); ` +
		`${f.count(c.pages_other)} more pages were seen outside of what is certified. ` +
		(c.pages_blind ? `Of ${f.count(c.pages_blind)} more nothing is known (${seen(c)} of all). ` : "") +
		(c.lost ? `${f.count(c.lost)} records were lost, in ${f.count(c.lossy_chunks)} of ${f.count(c.chunks)} chunks.` :
		 "No record was lost.")));
	return out;
}

function warnings(d) {
	const out = [], t = d.totals, g = d.damage;
	if (isDamaged(g))
		out.push(`Parts of the trace are missing, or are damaged and were left out: ${f.count(g.files)} files, ${f.count(g.chunks)} chunks, ${f.bytes(g.tail_bytes)} at the end of files.`);
	if (d.run.truncated)
		out.push("The recording goes on, or its recorder was killed or failed: this is what its files held when this page was made, and nothing is certified of memory that was in use then.");
	if (t.without_agent)
		out.push(t.processes === 1 ? "The program did not tell its allocations: its heap is one structure." :
			`${f.count(t.without_agent)} of ${f.count(t.processes)} programs did not tell their allocations: the heap of each is one structure.`);
	if (t.changed_files)
		out.push(`${f.count(t.changed_files)} program files were changed since the recording: names may be wrong.`);
	if (t.lost)
		out.push(`${f.count(t.lost)} allocation events were lost.`);
	for (const n of d.run.notes)
		out.push(f.cut(n, 300));
	return out.length ? h("div", { class: "notice", role: "note" },
		h("h3", {}, "To know"), h("ul", {}, out.map((x) => h("li", {}, x)))) : null;
}

function notRecorded(d) {
	const list = d.exact?.only ? countedNotRecorded(d) : has("latency") ? [
		"Accesses that the processor did not sample: perf keeps one in many.",
		"Bandwidth: the samples do not tell it. The latency of what they tell stands at the data structures.",
	] : [
		"How often a page is accessed within an interval: it has one record for the thread that comes first (and one more for a first write after a read).",
		"Cache misses, bandwidth and latency: this collector does not see them.",
	];
	if (!has("faults"))
		list.push("Page faults and CPU time over time (moca record --no-rates or --exact, or an older Moca).");
	if (!d.summary)
		list.push("Findings and phases: moca summary was not run for this page.");
	if (!d.machine)
		list.push("The machine's topology: the trace does not tell it; moca report --topology FILE (of lstopo) adds it.");
	if (d.plots.some((x) => x.exact && x.density.page_shift))
		list.push("Single pages of the largest structures: these are drawn in groups of pages, with exact sums; each plot says how large.");
	if (d.plots.some((x) => x.heat?.page_shift || x.heat?.time_shift))
		list.push("Single pages and intervals of the largest structures: to keep this page small, these are drawn in groups of pages or longer bins of time, with exact sums; each plot says how large.");
	if (d.rows > d.objects.length)
		list.push(`${f.count(d.rows - d.objects.length)} more structures, with ${f.percent(d.unlisted_accesses, d.totals.accesses)} of the accesses: moca objects --all lists them.`);
	return h("ul", {}, list.map((x) => h("li", {}, x)));
}

/* Structures x time, in one picture: to one scale, so that rows compare. */
async function overviewHeat(d) {
	const plots = named(d).filter((x, i) => i < FEW || d.objectAt.get(x.object).accesses >= LITTLE * d.totals.accesses).slice(0, MANY);
	const tracks = [];
	let most = 0, told = 0;
	for (const plot of plots) {
		const { heat } = await cells(plot.object);
		const o = d.objectAt.get(plot.object);
		const bins = Math.ceil(d.bins / 2 ** plot.heat.time_shift);
		const memo = new Map();
		const at = (n) => {
			if (!memo.has(n))
				memo.set(n, raster(heat, { r0: 0, r1: heat.rows, b0: 0, b1: bins }, Math.min(n, bins), 1, "type"));
			return memo.get(n);
		};
		/* Accesses in a column of the picture: coarser ones are spread evenly. */
		const strength = (x, total) => total * x.w / COLUMNS;
		most = Math.max(most, strength(at(COLUMNS), at(COLUMNS).max));
		told += o.accesses;
		tracks.push({
			label: o.label,
			color(i, n) {
				const x = at(n), k = Math.floor(i * x.w / n);
				const total = x.reads[k] + x.writes[k] + x.other[k];
				if (!total)
					return null;
				return [...p.mix(x.reads[k], x.writes[k], x.other[k]),
					Math.min(1, 0.2 + 0.8 * Math.log1p(strength(x, total)) / Math.log1p(most))];
			},
			describe(i, n) {
				const x = at(n), k = Math.floor(i * x.w / n);
				const t = (v) => f.time(d.time.begin_ns + v * d.length);
				return [["Structure", f.cut(o.label, 60)],
					["Time", `${t(k / x.w)} to ${t((k + 1) / x.w)}`],
					["Reads", f.count(x.reads[k])], ["Writes", f.count(x.writes[k])],
					x.other[k] ? ["Unknown type", f.count(x.other[k])] : null];
			},
			data: () => at(Math.min(512, bins)),
			object: o,
		});
	}
	const strip = strips({ tracks, columns: COLUMNS, height: 16, left: 150, time: true,
		label: "Accesses to each data structure over time",
		range: [d.time.begin_ns, d.time.end_ns], xText: f.time });
	strip.element.addEventListener("click", (e) => {
		const k = Math.floor((e.clientY - strip.canvas.getBoundingClientRect().top) / 20);
		if (tracks[k])
			location.hash = `#/object/${tracks[k].object.id}`;
	});
	const rate = `${f.short(most * COLUMNS / d.length * 1e9)} accesses per second`;
	return figure({
		id: "overview", title: "The run at a glance",
		subtitle: `${f.count(tracks.length)} of ${f.count(d.rows)} data structures, with ${f.percent(told, d.totals.accesses)} of the accesses. One scale of colour for all: pale is a single access, full ${rate} (logarithmic)`,
		explain: texts.overview,
		body: [legend([[p.css(p.READ), "reads"], [p.css(p.BOTH), "both"], [p.css(p.WRITE), "writes"], [p.css(p.OTHER), "type not known"]]),
			strip.element],
		picture: strip.picture,
		rows: () => [["structure", "begin_ns", "end_ns", "reads", "writes", "unknown"],
			...tracks.flatMap((t) => {
				const x = t.data();
				return Array.from({ length: x.w }, (_, i) => [t.object.label,
					Math.round(d.time.begin_ns + i / x.w * d.length),
					Math.round(d.time.begin_ns + (i + 1) / x.w * d.length),
					x.reads[i], x.writes[i], x.other[i]]);
			})],
	});
}

/* What findings, moca summary and moca diff count is less. */
const ofData = (d) => d.summary && d.summary.totals.accesses !== d.totals.accesses ? `; ${f.short(d.summary.totals.accesses)} of them to data` : "";

export async function introduction(d) {
	const r = d.run, t = d.totals;
	const when = r.start_time ? new Date(Number(r.start_time) / 1e6) : null;
	const body = [
		...(await answer(d)),
		warnings(d),
		h("div", { class: "cards" },
			d.exact?.only ? card("Loads and stores", f.short(t.accesses), `${f.percent(t.reads, t.accesses)} loads, ${f.percent(t.writes, t.accesses)} stores`) :
				card("Accesses recorded", f.short(t.accesses), `${f.percent(t.reads, t.accesses)} reads, ${f.percent(t.writes, t.accesses)} writes${ofData(d)}`),
			card("Duration", f.time(r.end_ns || d.length), d.exact?.only ? d.exact.slices > 1 ? `${f.count(d.exact.slices)} slices` : "no slices" : `${f.count(d.intervals.length)} interval${d.intervals.length === 1 ? "" : "s"}`),
			card("Threads", f.count(d.threads.length), `in ${f.count(new Set(d.threads.map((x) => x.pid)).size)} process${new Set(d.threads.map((x) => x.pid)).size === 1 ? "" : "es"}`),
			card("Data structures", f.count(d.rows), `${f.percent(t.named, t.accesses)} of the accesses have a name`),
			d.exact?.only && !r["import.from"] ? card("Counted", d.exact.gaps ? "not all" : "all", d.exact.gaps ? `${f.count(d.exact.gaps)} gaps` : `granules of ${f.bytes(d.exact.granularity)}`) :
				r["import.from"] ? card("Recorded by", r["import.from"], "nothing is certified") : card("Pages seen", seen(d.certificate), `${f.count(d.certificate.lost)} records lost`)),
	];
	if (d.plots.length)
		body.push(d.exact?.only ? countedGlance(d) : await overviewHeat(d), ...(has("heat") ? [await heat()] : []));
	else
		body.push(r.collector === "rate" ? h("p", { class: "empty" }, "Pages were not traced, but ", h("a", { href: "#/faults" }, "page faults and CPU use"), " were sampled over time.") :
			h("p", { class: "empty" }, d.exact?.only ? "Nothing was counted, so there is nothing to draw: moca info says what was not counted." : "No access was recorded, so there is nothing to draw: the program may have ended before the first interval, or touched nothing that can be seen (moca info says what could not be)."));
	body.push(h("div", { class: "columns" },
		h("section", { class: "panel" }, h("h3", {}, "What was run"), facts([
			["Command", r.command && h("code", {}, f.cut(r.command, 400))],
			["Attached to", r.attached_command && h("code", {}, f.cut(r.attached_command, 400))],
			["Ended", r.ended], ["When", when && when.toISOString().replace("T", " ").slice(0, 19) + " UTC"],
			["Host", r.host && f.cut(r.host, 80)], ["Kernel", r.kernel], ["CPUs", r.cpus], ["NUMA nodes", r.nodes],
			["Trace", f.cut(r.path, 200)]])),
		h("section", { class: "panel" }, h("h3", {}, "How it was recorded"), facts([
			["Collector", r.collector && `${r.collector}, moca ${r.version || ""}`],
			["Granularity", d.exact && d.exact.granularity && f.bytes(d.exact.granularity)], ["Slices", d.exact && (d.exact.slice_ns ? f.time(d.exact.slice_ns) : "none")],
			["Interval", +r.interval_ns ? (+r.credit_ns ? "grows to " : "") + f.time(Number(r.interval_ns)) : ""],
			["Samples", r.samples && `${r.samples}: their records stand for the rest, numbers and shares of accesses are estimates`],
			["Budget", +r.budget ? `${+(100 * r.budget).toFixed(2)} %${+r.credit_ns ? ` and ${f.time(Number(r.credit_ns))} once` : ""}` : r.budget], ["Slowdown", slowdown(r)],
			["Reads and writes", r.read_write_source && `told apart by ${r.read_write_source}`],
			["Page size", r.page_size && f.bytes(Number(r.page_size))],
			["Filtered out", r["filter.dropped"]]]),
		  h("h3", {}, "How complete it is"), certificate(d))),
		h("section", { class: "panel" }, h("h3", {}, "How to read this page"),
			h("p", {}, "Start with ", h("a", { href: "#/objects" }, "the data structures"),
				": the few at the top have most of the accesses. Open one to see when, where and by whom it is used. ",
				!d.exact?.only && [h("a", { href: "#/overview" }, "The overview"), " says where and when what they are used for changes, as finely as you like. "],
				"Each plot says under “How to read this” what it shows, what it can reveal and what to do; what you fold is remembered. ",
				"Each view has its own address, to be kept or sent with the page. Press ? for the keys."),
			h("h4", {}, "What was not recorded"), notRecorded(d)));
	return body;
}

/* --- the structures ------------------------------------------------------ */

const columns = [
	["name", "Structure", "left"], ["kind", "Kind", "left"], ["bytes", "Size"], ["pages", "Pages"],
	["reads", "Reads"], ["writes", "Writes"], ["accesses", "Share"], ["threads", "Threads"],
	["sharing", "Sharing", "left"], ["first_task", "First touch", "left"],
];

const exactNames = { reads: "Loads", writes: "Stores" };

function table(d, state) {
	const body = h("tbody"), head = h("tr");
	let key = state.get("sort") || "accesses", down = state.get("down") !== "0", word = state.get("find") || "";
	const shown = h("p", { class: "count", role: "status" });
	let all = false;
	/* Sections of a file are one row until it is opened, or they are looked for. */
	const opened = new Set();
	const more = h("button", { type: "button", class: "more", onclick: () => {
		all = true;
		fill();
	} }, "Show all of them");

	/* The site stands below it. */
	const nameOf = (o) => o.twin ? o.label : o.name;
	const fill = () => {
		const rows = [...d.objects.filter((o) => word || o.fold === undefined || opened.has(o.fold)), ...(word ? [] : d.files)]
			.filter((o) => `${o.name} ${o.site} ${o.kind}`.toLowerCase().includes(word.toLowerCase()));
		rows.sort((a, b) => {
			const x = a[key] ?? "", y = b[key] ?? "";
			const c = typeof x === "string" ? String(x).localeCompare(String(y)) : x - y;
			return down ? -c : c;
		});
		const max = Math.max(1, ...d.objects.map((o) => o.accesses));
		body.replaceChildren(...rows.slice(0, all ? 500 : FEW_ROWS).map((o) => h("tr", { tabindex: -1, onclick: (e) => {
			if (e.target.tagName !== "A" && d.plotAt.has(o.id))
				location.hash = `#/object/${o.id}`;
		}, class: d.plotAt.has(o.id) ? "link" : "" },
			h("th", { scope: "row" }, o.sections ? h("button", { type: "button", class: "quiet", "data-fold": o.number, "aria-expanded": opened.has(o.number) ? "true" : "false", title: f.cut(o.site, 400), onclick: () => {
				if (!opened.delete(o.number))
					opened.add(o.number);
				fill();
				body.querySelector(`[data-fold="${o.number}"]`)?.focus();
			} }, f.cut(o.name, 48)) : d.plotAt.has(o.id) ? h("a", { href: `#/object/${o.id}`, title: f.cut(nameOf(o), 400) }, f.cut(nameOf(o), 48)) : h("span", { title: f.cut(nameOf(o), 400) }, f.cut(nameOf(o), 48)),
				o.site && h("div", { class: "site", title: f.cut(o.site, 400) }, f.cut(o.site, 60))),
			h("td", {}, o.kind), h("td", { class: "n" }, o.bytes ? f.bytes(o.bytes) : "–"),
			h("td", { class: "n" }, f.count(o.pages)), h("td", { class: "n" }, f.count(o.reads)),
			h("td", { class: "n" }, f.count(o.writes)),
			h("td", { class: "n" }, h("span", { class: "meter", "aria-hidden": "true" }, h("span", { style: { width: `${100 * o.accesses / max}%` } })), f.percent(o.accesses, d.totals.accesses)),
			h("td", { class: "n" }, o.threads), h("td", { class: "short" }, o.accesses ? f.sharing(o) : "–"),
			h("td", {}, o.accesses && o.first_task < 4294967295 ? `#${o.first_task}` : "–"))));
		more.hidden = all || rows.length <= FEW_ROWS;
		const what = word || !d.files.length ? "structures" : "rows; sections of a file are one";
		shown.textContent = !all && rows.length > FEW_ROWS ? `${FEW_ROWS} of ${f.count(rows.length)} ${what}` :
			rows.length > 500 ? `The first 500 of ${f.count(rows.length)} ${what}` : word || !d.files.length ? `${f.count(rows.length)} of ${f.count(d.rows)} structures` : `${f.count(rows.length)} ${what}`;
		for (const th of head.children)
			th.setAttribute("aria-sort", th.dataset.key !== key ? "none" : down ? "descending" : "ascending");
	};
	const remember = () => history.replaceState(null, "", `#/objects?${new URLSearchParams({ sort: key, down: down ? "1" : "0", ...(word && { find: word }) })}`);
	for (const [k, text, side] of columns)
		head.append(h("th", { scope: "col", class: side || "n", "data-key": k }, h("button", { type: "button", onclick: () => {
			down = key === k ? !down : !side;
			key = k;
			fill();
			remember();
		} }, d.exact?.only && exactNames[k] || text)));
	fill();
	const find = h("input", { type: "search", id: "find", value: word, placeholder: "name, place or kind",
		oninput: (e) => {
			word = e.target.value;
			fill();
			remember();
		} });
	return h("section", { class: "panel" }, h("div", { class: "bar-row" }, h("label", { for: "find" }, "Find"), find, shown),
		h("div", { class: "scroll-x", tabindex: 0, role: "region", "aria-label": "Table of data structures" },
			h("table", { class: "objects" }, h("thead", {}, head), body)), more);
}

/* What is plotted and no section of a file; if there is any. */
export const named = (d) => {
	const own = d.plots.filter((x) => !d.objectAt.get(x.object).section);
	return own.length ? own : d.plots;
};

export async function objects(d, state) {
	if (!d.objects.length)
		return [h("p", { class: "empty" }, "No data structure was accessed.")];
	const colors = threadColors(d), top = named(d).slice(0, 16), kinds = d.exact?.only ? ["Loads", "Stores"] : ["Reads", "Writes"];
	const of = (plot) => d.objectAt.get(plot.object);
	const parts = (plot, k) => plot.by_thread.map((b) => ({ value: b[k],
		color: p.css(colors.get(b[0]) || p.OTHER), label: threadName(d, b[0]) }));
	const chart = (id, title, label, k) => {
		const b = bars({ label, rows: top.map((x) => ({ label: of(x).label, href: `#/object/${x.object}`, parts: parts(x, k) })), text: f.short });
		return figure({ id, title, subtitle: `The ${top.length} most accessed, by thread`, explain: d.exact?.only ? exactTexts.byThread : texts.byThread,
			body: [legend(d.threads.slice(0, 16).map((t) => [p.css(colors.get(t.index)), f.cut(threadName(d, t.index), 24)])), b.element],
			svg: b.svg, rows: () => [["structure", "thread", "count"], ...top.flatMap((x) => x.by_thread.map((y) => [of(x).label, threadName(d, y[0]), y[k]]))] });
	};
	const large = [...d.objects].filter((o) => o.bytes).sort((a, b) => b.bytes - a.bytes).slice(0, 16);
	const size = bars({ label: "Size of the largest data structures", text: f.bytes, steps: f.byteSteps,
		rows: large.map((o) => ({ label: o.label, href: d.plotAt.has(o.id) ? `#/object/${o.id}` : null, parts: [{ value: o.bytes, color: "var(--accent)", label: "bytes" }] })) });
	return [
		table(d, state),
		has("latency") && await latency(),
		chart("reads", `${kinds[0]} by structure and thread`, `${kinds[0]} of each data structure by thread`, 1),
		chart("writes", `${kinds[1]} by structure and thread`, `${kinds[1]} of each data structure by thread`, 2),
		figure({ id: "size", title: "Size", subtitle: `The ${large.length} largest`, explain: texts.size, body: size.element, svg: size.svg,
			rows: () => [["structure", "kind", "bytes", "objects"], ...large.map((o) => [o.label, o.kind, o.bytes, o.instances])] }),
	];
}

/* --- rates --------------------------------------------------------------- */

/* Pages in use by time, as moca summary counts them. */
function workingSet(d) {
	const t = d.summary?.time, set = t?.working_set || [];
	if (!set.some((n) => n))
		return null;
	const page = Number(d.run.page_size) || 4096, begin = t.begin_ns - d.run.origin_ns;
	const most = set.reduce((a, b) => Math.max(a, b), 0), mean = set.reduce((a, b) => a + b, 0) / set.length;
	/* A step needs an end: the last one's value is drawn once more. */
	const chart = lines({ x: Float64Array.from({ length: set.length + 1 }, (_, i) => begin + i * t.window_ns), time: true, xLabel: "time", yLabel: "pages", xText: f.time, height: 220, label: "Pages in use over time",
		series: [{ label: "pages", values: Float64Array.from([...set, set.at(-1)]), color: p.css(p.PRIVATE), fill: "rgba(0, 158, 115, 0.14)", width: 2, stepped: true }] });
	return figure({ id: "working-set", title: "Working set", explain: texts.workingSet, body: chart.element, picture: chart.picture,
		subtitle: `Different pages in each ${f.time(t.window_ns)}: ${f.count(most)} at most (${f.bytes(most * page)}), ${f.count(mean)} on average (${f.bytes(Math.round(mean) * page)})`,
		rows: () => [["begin_ns", "end_ns", "pages", "bytes"], ...set.map((n, i) => [begin + i * t.window_ns, begin + (i + 1) * t.window_ns, n, n * page])] });
}

export function rates(d) {
	if (!d.threads.length)
		return [h("p", { class: "empty" }, "No access was recorded, so there are no rates.")];
	const n = d.time.rate_bins, perSecond = 1e9 * n / d.length;
	const sum = (k) => {
		const out = new Float64Array(n);
		for (const t of d.threads)
			if (t[k])
				for (let i = 0; i < n; i++)
					out[i] += t[k][i] * perSecond;
		return out;
	};
	const x = binTimes(d), known = d.threads.some((t) => t.cpus.length);
	const chart = lines({ x, time: true, xLabel: "time", yLabel: "records per second", xText: f.time, label: "Records per second over time",
		series: [{ label: "reads", values: sum("reads"), color: p.css(p.READ), fill: "rgba(0, 114, 178, 0.12)" },
			{ label: "writes", values: sum("writes"), color: p.css(p.WRITE), fill: "rgba(213, 94, 0, 0.12)" },
			...(d.totals.accesses > d.totals.reads + d.totals.writes ? [{ label: "unknown", values: sum("other"), color: p.css(p.OTHER), dash: [4, 3] }] : [])] });
	const iv = d.intervals, ix = Float64Array.from(iv, (v) => v[0]);
	const each = lines({ x: ix, time: true, xLabel: "begin", yLabel: "records", xText: f.time, label: "Records of each interval of the recording", height: 200,
		series: [{ label: "records", values: Float64Array.from(iv, (v) => v[2] + v[3] + v[4]), color: p.css(p.READ), stepped: true },
			{ label: "lost", values: Float64Array.from(iv, (v) => v[5]), color: p.css(p.WRITE), stepped: true }] });
	const colors = threadColors(d), totals = d.threads.map(threadTotals);
	const work = bars({ label: "Accesses of each thread", text: f.short, rows: d.threads.slice(0, 64).map((t, i) => ({ label: threadName(d, t.index),
		parts: [{ value: totals[i][0], color: p.css(p.READ), label: "reads" }, { value: totals[i][1], color: p.css(p.WRITE), label: "writes" }, { value: totals[i][2], color: p.css(p.OTHER), label: "unknown" }] })) });
	const cpus = [...new Set(d.threads.flatMap((t) => t.cpus.map((c) => c[0])))].sort((a, b) => a - b);
	const cpuColor = p.categorical(cpus.length);
	const tracks = d.threads.filter((t) => t.cpu).slice(0, 64).map((t) => ({
		label: threadName(d, t.index),
		color(i, w) {
			for (let b = Math.floor(i * n / w); b < Math.max(Math.floor((i + 1) * n / w), Math.floor(i * n / w) + 1); b++)
				if (t.cpu[b] !== 65535)
					return cpuColor[cpus.indexOf(t.cpu[b])] || p.OTHER;
			return null;
		},
		describe(i, w) {
			const b = Math.floor(i * n / w), on = new Set();
			let records = 0;
			for (let k = b; k < Math.max(Math.floor((i + 1) * n / w), b + 1); k++) {
				if (t.cpu[k] !== 65535)
					on.add(t.cpu[k]);
				records += t.reads[k] + t.writes[k] + t.other[k];
			}
			return [["Thread", threadName(d, t.index)], ["Time", f.time(x[b])], ["CPU", [...on].join(", ") || "not seen"], ["Records", f.count(records)]];
		},
	}));
	const strip = strips({ tracks, columns: n, label: "CPU of each thread over time", time: true, range: [d.time.begin_ns, d.time.end_ns], xText: f.time });
	void colors;
	return [
		figure({ id: "rates", title: "Records per second", subtitle: "All threads together; drag to zoom, double click to go back", explain: texts.rates, body: chart.element, picture: chart.picture, rows: chart.rows }),
		workingSet(d),
		figure({ id: "intervals", title: "Intervals of the recording", subtitle: d.intervals_joined > 1 ? `${f.count(iv.length)} steps of ${d.intervals_joined} intervals each` : `${f.count(iv.length)} intervals`, explain: texts.intervals, body: each.element, picture: each.picture,
			rows: () => [["begin_ns", "end_ns", "reads", "writes", "unknown", "lost"], ...iv] }),
		figure({ id: "threads", title: "Accesses by thread", explain: texts.threads, body: work.element, svg: work.svg, subtitle: d.threads.length > 64 ? `The first 64 of ${f.count(d.threads.length)} threads` : null,
			rows: () => [["thread", "process", "pid", "tid", "reads", "writes", "unknown"], ...d.threads.map((t, i) => [threadName(d, t.index), t.process, t.pid, t.tid, ...totals[i]])] }),
		known && figure({ id: "cpus", title: "CPU of each thread", subtitle: tracks.length < d.threads.length ? `The first ${tracks.length} threads` : null, explain: texts.cpus,
			body: [legend(cpus.slice(0, 32).map((c, i) => [p.css(cpuColor[i]), `CPU ${c}`])), strip.element], picture: strip.picture,
			rows: () => [["thread", "time_ns", "cpu"], ...d.threads.filter((t) => t.cpu).flatMap((t) => [...t.cpu].map((c, i) => [threadName(d, t.index), Math.round(x[i]), c]).filter((r) => r[2] !== 65535))] }),
	];
}

/* --- allocations --------------------------------------------------------- */

function siteTable(d, list) {
	const head = ["Allocated by", "Calls", "In all", "Most at once", "At the peak", "At the end"], known = (v) => v === undefined ? "–" : f.bytes(v);
	return h("div", { class: "scroll-x", tabindex: 0, role: "region", "aria-label": "Table of sites that allocate" }, h("table", {},
		h("thead", {}, h("tr", {}, head.map((x, i) => h("th", { scope: "col", class: i ? "plain n" : "plain" }, x)))),
		h("tbody", {}, list.map((x) => h("tr", {}, h("th", { scope: "row" }, d.plotAt.has(x.object) ? h("a", { href: `#/object/${x.object}`, title: f.cut(x.name, 400) }, f.cut(x.name, 48)) : f.cut(x.name, 48),
			x.site && h("div", { class: "site", title: f.cut(x.site, 400) }, f.cut(x.site, 60))),
		[f.count(x.calls), f.bytes(x.bytes), known(x.most), x.at_peak === null ? "–" : f.bytes(x.at_peak), known(x.at_end)].map((v) => h("td", { class: "n" }, v)))))));
}

function sites(d) {
	const a = d.allocs, top = a.sites.filter((x) => x.at_peak).slice(0, 16), kept = p.css(p.WRITE), freed = p.css(p.READ);
	const b = bars({ label: "Bytes of each site when most was allocated", text: f.bytes, steps: f.byteSteps, rows: top.map((x) => ({ label: d.objectAt.get(x.object)?.label || x.name, href: d.plotAt.has(x.object) ? `#/object/${x.object}` : null,
		parts: [{ value: x.at_peak - x.kept, color: freed, label: "freed later" }, { value: x.kept, color: kept, label: "kept until the end" }] })) });
	return figure({ id: "sites", title: "Allocations by site", explain: texts.sites, svg: b.svg,
		subtitle: `Most was allocated at ${f.time(a.peak_ns)}: ${f.bytes(a.peak_bytes)}; at the end ${f.bytes(a.end_bytes)} were${d.totals.small ? ", both without small ones" : ""}. ` +
			(a.site_count > a.sites.length ? `The first ${a.sites.length} of ${f.count(a.site_count)} sites` : `${f.count(a.site_count)} site${a.site_count === 1 ? "" : "s"}`),
		body: [legend([[freed, "at the peak, freed later"], [kept, "kept until the end"]]), b.element, siteTable(d, a.sites)],
		rows: () => [["structure", "site", "calls", "bytes", "most_bytes", "bytes_at_peak", "bytes_at_peak_kept", "bytes_at_end"],
			...a.sites.map((x) => [x.name, x.site, x.calls, x.bytes, x.most ?? "", x.at_peak ?? "", x.kept ?? "", x.at_end ?? ""])] });
}

export function allocations(d) {
	const a = d.allocs;
	if (!a.series.length)
		return [a.sites.length > 0 && h("section", { class: "panel" }, siteTable(d, a.sites)), h("p", { class: "empty" }, d.totals.allocations || d.totals.small ? "Only small objects were allocated; these are counted by site, without times." : "No allocation was recorded: the program made none, or libmoca-alloc was not in it (static programs, --no-alloc).")];
	const colors = p.categorical(a.series.length).map(p.css);
	const name = (id) => id === null ? "all others" : d.objectAt.get(id)?.label || `structure ${id}`;
	const chart = lines({ x: binTimes(d), time: true, xLabel: "time", yLabel: "bytes", xText: f.time, yText: f.bytes, ySteps: f.byteSteps, label: "Allocated bytes over time", height: 280,
		series: [{ label: "all together", values: a.live.reduce((s, v) => s.map((n, i) => n + v[i]), new Float64Array(d.time.rate_bins)), color: p.variable("--text"), width: 2, stepped: true },
			...a.series.map((id, i) => ({ label: name(id), values: a.live[i], color: colors[i], stepped: true }))] });
	return [
		figure({ id: "allocs", title: "Allocated memory", subtitle: `${f.count(d.totals.allocations)} allocations with a time each; not drawn, as it is not known when they were alive: ${f.count(d.totals.small)} small ones, counted by site, of ${f.bytes(d.totals.small_bytes)} together, whether freed or not${d.totals.thinned ? `; ${d.totals.thinned}, the others counted` : ""}`, explain: texts.allocs, body: chart.element, picture: chart.picture, rows: chart.rows }),
		sites(d),
	];
}
