// SPDX-License-Identifier: GPL-2.0-or-later
// Two runs side by side: what is gone and new, what grew and shrank, each structure
// over the time of either run. All other views are of the second run, B.
import { h } from "./dom.js";
import { figure, legend } from "./figure.js";
import { strips } from "./charts.js";
import { json } from "./data.js";
import { flameChange } from "./view-flame.js";
import { selectionAside, timeState } from "./selection.js";
import { texts } from "./texts.js";
import * as f from "./format.js";
import * as p from "./palette.js";

const FEW_ROWS = 20;
const LITTLE = 0.005;	/* of a run's accesses: with less a structure has no strip */
const share = (v) => f.percent(v, 1);
const plural = (n, word) => `${f.count(n)} ${word}${n === 1 ? "" : "s"}`;

/* [key, what it is, how a value is shown, is it a share] */
const TOTALS = [["accesses", "Accesses to data", f.count], ["remote", "Remote, of all accesses", share, true], ["pages", "Pages of data", f.count],
	["shared", "Used by threads in turn, of all pages, at least", share, true], ["wss", "Most pages in an interval", f.count],
	["faults", "Page faults, without those of recording", f.count], ["major", "Major page faults", f.count], ["cpu_ns", "CPU time, with recording", f.time],
	["bytes", "Allocated at the peak", f.bytes], ["bytes_end", "Allocated at the end", f.bytes], ["threads", "Threads at a time", f.count], ["findings", "Findings", f.count]];
/* Of structures: [key, button, how, is it a share] */
const METRICS = [["accesses", "Accesses", f.count], ["pages", "Pages", f.count], ["remote", "Remote share", share, true], ["shared", "Share used in turn", share, true], ["bytes", "Bytes at the peak", f.bytes]];

const named = (list, counts) => list.map((m) => !counts ? m : m[0] === "accesses" ? [m[0], "Loads and stores", ...m.slice(2)] :
	[m[0], m[1].replace(", at least", ""), ...m.slice(2)]);

function changed(a, b, isShare) {
	if (a === b)
		return "=";
	if (isShare)
		return `${b > a ? "+" : "−"}${Math.abs(100 * (b - a)).toFixed(1)} points`;
	return a ? `${b > a ? "+" : "−"}${+Math.abs(100 * (b - a) / a).toPrecision(3)} %` : "from 0";
}

/* A's bar above B's; most: of all that are compared. */
function barPair(a, b, most) {
	const bar = (v, kind) => h("span", { class: `bar ${kind}`, style: { width: `${most ? Math.max(v ? 1 : 0, 100 * v / most) : 0}%` } });
	return h("span", { class: "bar-pair", "aria-hidden": "true" }, bar(a, "a"), bar(b, "b"));
}

const head = (list) => h("thead", {}, h("tr", {}, list.map((x, i) => h("th", { scope: "col", class: i ? "plain n" : "plain" }, x))));
const scroller = (label, table) => h("div", { class: "scroll-x", tabindex: 0, role: "region", "aria-label": label }, table);

function totals(c) {
	const { a, b } = c.total;
	const rows = named(TOTALS, c.counts).filter(([k]) => Number.isFinite(a[k]) && Number.isFinite(b[k]) && (a[k] || b[k]));
	return figure({ id: "compare-totals", title: "The whole run", subtitle: `${c.counts ? "" : `A has ${plural(c.run_a.intervals, "interval")}, B ${f.count(c.run_b.intervals)}: a page has one record in each that it is used in. `}Of data: code, mapped files, the kernel's and Moca's own are left out, as moca diff does`,
		body: [selectionAside("These are sums of all of both runs, whatever is selected."), scroller("Table of the whole run", h("table", { class: "compare" }, head(["", "A", "B", "Change", ""]),
			h("tbody", {}, rows.map(([k, text, how, isShare]) => h("tr", {}, h("th", { scope: "row" }, text), h("td", { class: "n" }, how(a[k])), h("td", { class: "n" }, how(b[k])),
				h("td", { class: "n" }, changed(a[k], b[k], isShare)), h("td", { class: "bars" }, barPair(a[k], b[k], isShare ? 1 : Math.max(a[k], b[k]))))))),)],
		rows: () => [["metric", "a", "b"], ...rows.map(([k]) => [k, a[k], b[k]])] });
}

const STATES = [["gone", "Gone"], ["new", "New"], ["kept", "Still there"]];

function findings(c) {
	const one = (x, text) => h("li", {}, h("span", { class: `badge ${x.state}` }, text), " ", f.cut(x.title, 300), h("span", { class: "small" }, ` ${x.id}, confidence ${x.confidence}`));
	const list = STATES.flatMap(([state, text]) => c.findings.filter((x) => x.state === state).map((x) => one(x, text)));
	return h("section", { class: "panel", "data-compare": "findings" }, h("h3", {}, "Findings"),
		list.length ? h("ul", { class: "plain-list states" }, list) : h("p", {}, "Neither run has any."));
}

function conditions(c) {
	return c.conditions.length > 0 && h("section", { class: "panel", "data-compare": "conditions" }, h("h3", {}, "Conditions of --fail-if"),
		h("ul", { class: "plain-list states" }, c.conditions.map((x) => h("li", {}, h("span", { class: `badge ${x.holds ? "new" : "gone"}` }, x.holds ? "FAILED" : "passed"), " ", h("code", {}, f.cut(x.condition, 200))))));
}

function said(c) {
	const n = (state) => c.findings.filter((x) => x.state === state).length, { a, b } = c.total;
	const what = [n("gone") && `${plural(n("gone"), "finding")} gone`, n("new") && `${plural(n("new"), "finding")} new`, n("kept") && `${f.count(n("kept"))} still there`].filter(Boolean);
	const moved = [["remote accesses", "remote", share, true], ["page faults", "faults", f.short], ["bytes allocated at the peak", "bytes", f.bytes]]
		.filter(([, k]) => Number.isFinite(a[k]) && Number.isFinite(b[k]) && a[k] !== b[k] && Math.abs(b[k] - a[k]) >= 0.01 * Math.max(a[k], b[k]))
		.map(([text, k, how]) => `${text} ${how(a[k])} → ${how(b[k])}`);
	return `${what.length ? what.join(", ") : "Neither run has a finding"}${moved.length ? `; ${moved.join(", ")}` : ""}`;
}

/* One run's structures over its time. strongest: accesses in a ns, of both runs. */
function overTime(c, side, objects, strongest) {
	const run = c[`run_${side}`], n = run.windows, end = run.begin_ns + n * run.window_ns;
	const at = (x, i, columns) => {
		const w = Math.min(n - 1, Math.floor(i * n / columns)), v = x[`over_time_${side}`];
		return [v[w], v[n + w], w];
	};
	const strip = strips({ columns: n, height: 16, left: 150, label: `Accesses to each structure over the time of ${side.toUpperCase()}`, range: [run.begin_ns, end], xText: f.time, time: side === "b",
		tracks: objects.map((x) => ({ label: x.name,
			color: (i, columns) => {
				const [r, w] = at(x, i, columns);
				return r + w ? [...p.mix(r, w, 0), Math.min(1, 0.2 + 0.8 * Math.log1p((r + w) / run.window_ns / strongest * 99) / Math.log(100))] : null;
			},
			describe: (i, columns) => {
				const [r, w, k] = at(x, i, columns);
				return [["Structure", f.cut(x.name, 60)], ["Time", `${f.time(run.begin_ns + k * run.window_ns)} to ${f.time(run.begin_ns + (k + 1) * run.window_ns)}`], ["Reads", f.count(r)], ["Writes", f.count(w)]];
			} })) });
	return figure({ id: `compare-${side}`, title: side === "a" ? "A over its time" : "B over its time", explain: side === "a" ? texts.compareTime : null,
		subtitle: `${f.cut(run.path, 120)}: ${f.time(n * run.window_ns)}, ${plural(run.intervals, "interval")}`,
		body: [side === "a" && legend([[p.css(p.READ), "reads"], [p.css(p.BOTH), "both"], [p.css(p.WRITE), "writes"], ["var(--plot)", "no access"]]),
			side === "a" && selectionAside("This is all of A: what is selected is of B's time alone, as A has times of its own."), strip.element],
		picture: strip.picture,
		rows: () => [["structure", "begin_ns", "end_ns", "reads", "writes"], ...objects.flatMap((x) => Array.from({ length: n }, (_, w) =>
			[x.name, run.begin_ns + w * run.window_ns, run.begin_ns + (w + 1) * run.window_ns, x[`over_time_${side}`][w], x[`over_time_${side}`][n + w]]))] });
}

function bothOverTime(c) {
	const of = (x, side) => (x[side]?.accesses || 0) / (c.total[side].accesses || 1);
	const objects = c.objects.filter((x, i) => x.over_time_a && (!i || Math.max(of(x, "a"), of(x, "b")) >= LITTLE));
	let strongest = 0;
	for (const side of ["a", "b"])
		for (const x of objects) {
			const v = x[`over_time_${side}`], n = c[`run_${side}`].windows;
			for (let i = 0; i < n; i++)
				strongest = Math.max(strongest, (v[i] + v[n + i]) / c[`run_${side}`].window_ns);
		}
	return strongest ? [overTime(c, "a", objects, strongest), overTime(c, "b", objects, strongest)] : [];
}

/* How much the metric of a structure changed; shares count by how much it is accessed. */
function weight(c, x, key, isShare) {
	const v = (side) => x[side]?.[key] || 0, of = (side) => (x[side]?.accesses || 0) / (c.total[side].accesses || 1);
	return Math.abs(v("b") - v("a")) * (isShare ? Math.max(of("a"), of("b")) : 1);
}

function structures(d, c, state) {
	const metrics = named(METRICS, c.counts).filter(([k]) => k === "accesses" || c.objects.some((x) => x.a?.[k] || x.b?.[k]));
	let chosen = metrics.find(([k]) => k === state.get("by")) || metrics[0], all = false;
	const table = h("table", { class: "compare" }), more = h("button", { type: "button", class: "more", onclick: () => {
		all = true;
		fill();
	} }, "Show all");
	const link = (x) => {
		const o = x.b && d.objects.find((y) => y.name === x.name && d.plotAt.has(y.id));
		return o ? h("a", { href: `#/object/${o.id}`, title: f.cut(x.name, 400) }, f.cut(x.name, 50)) : h("span", { title: f.cut(x.name, 400) }, f.cut(x.name, 50));
	};
	const sorted = () => c.objects.filter((x) => x.a?.[chosen[0]] || x.b?.[chosen[0]]).map((x) => [x, weight(c, x, chosen[0], chosen[3])]).sort((x, y) => y[1] - x[1]).map(([x]) => x);
	const fill = () => {
		const [key, , how, isShare] = chosen, rows = sorted(), most = isShare ? 1 : rows.reduce((n, x) => Math.max(n, x.a?.[key] || 0, x.b?.[key] || 0), 0);
		const cell = (x) => h("td", { class: "n" }, x ? how(x[key]) : "not accessed");
		table.replaceChildren(head(["Structure", "A", "B", "Change", ""]), h("tbody", {}, rows.slice(0, all ? rows.length : FEW_ROWS).map((x) => h("tr", {},
			h("th", { scope: "row" }, link(x), x.name_a && h("span", { class: "small" }, ` in A ${f.cut(x.name_a, 50)}`)), cell(x.a), cell(x.b),
			h("td", { class: "n" }, !x.a ? "only in B" : !x.b ? "only in A" : changed(x.a[key], x.b[key], isShare)), h("td", { class: "bars" }, barPair(x.a?.[key] || 0, x.b?.[key] || 0, most))))));
		more.hidden = all || rows.length <= FEW_ROWS;
	};
	const buttons = h("div", { class: "modes", role: "group", "aria-label": "What is compared" }, metrics.map((m) => h("button", { type: "button", "data-by": m[0], "aria-pressed": String(m === chosen), onclick: (e) => {
		chosen = m;
		for (const b of buttons.children)
			b.setAttribute("aria-pressed", String(b === e.currentTarget));
		history.replaceState(null, "", `#/compare?${new URLSearchParams({ by: m[0], ...timeState() })}`);
		fill();
	} }, m[1])));
	fill();
	return figure({ id: "compare-structures", title: "Data structures, the most changed first", explain: texts.compare,
		subtitle: `${plural(c.count, "structure")} in either run, by name${c.count > c.objects.length ? `; the ${f.count(c.objects.length)} with most accesses are here` : ""}`,
		body: [h("div", { class: "bar-row" }, buttons), selectionAside("These are sums of all of both runs, whatever is selected."), legend([["var(--muted)", "A"], ["var(--accent)", "B"]]), scroller("Table of data structures", table), more],
		rows: () => [["structure", "structure_in_a", ...metrics.flatMap(([k]) => [`${k}_a`, `${k}_b`])], ...sorted().map((x) => [x.name, x.name_a || x.name, ...metrics.flatMap(([k]) => [x.a?.[k], x.b?.[k]])])] });
}

export async function compare(d, state) {
	const c = await json("comparison"), one = c.run_a.machine === c.run_b.machine;
	const run = (name, r) => [h("dt", {}, name), h("dd", {}, h("code", {}, f.cut(r.command || "?", 200)), ` ${f.cut(r.path, 200)}`)];
	return [
		h("section", { class: "panel", "data-compare": "said" }, h("h3", { class: "sentence" }, said(c)),
			h("dl", { class: "facts" }, run("A, before", c.run_a), run("B, after", c.run_b), one ? [h("dt", {}, "Machine"), h("dd", {}, c.run_a.machine)] :
				[h("dt", {}, "Machine of A"), h("dd", {}, c.run_a.machine), h("dt", {}, "Machine of B"), h("dd", {}, c.run_b.machine)]),
			h("p", { class: "small" }, "All other views are of B.", !one && " Remote shares are of each run's own machine.")),
		findings(c), conditions(c), structures(d, c, state), await flameChange(), ...bothOverTime(c), totals(c),
	];
}
