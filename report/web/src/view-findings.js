// SPDX-License-Identifier: GPL-2.0-or-later
// What moca summary found, and the phases that it divides the run into.
import { h } from "./dom.js";
import { figure, legend } from "./figure.js";
import { lines, strips } from "./charts.js";
import { cells, counts } from "./data.js";
import { code } from "./view-code.js";
import { firstFigure } from "./view-object.js";
import { texts } from "./texts.js";
import * as f from "./format.js";
import * as p from "./palette.js";

const policies = [["first_touch", "as it is (first touch)"], ["interleave", "interleaved"],
	["bind", "all on one node"], ["parallel_init", "initialised in parallel"],
	["after", "after the change"]];

const share = (v) => f.percent(v, 1);
/* Of what is predicted, without decimals that it has not. */
const percent = (v) => v > 0 && v < 0.01 ? "< 1 %" : `${Math.round(100 * v)} %`;

/** Has this page a view of the summary's structure? */
export const isHere = (d, id, name) =>
	d.objectAt.get(id)?.name === name && d.plotAt.has(id);

/** A link to it, if it has; else the name. */
export function linkTo(d, id, name) {
	return isHere(d, id, name) ?
		h("a", { href: `#/object/${id}`, title: f.cut(name, 400) }, f.cut(name, 60)) : f.cut(name, 60);
}

/* What is about nodes: of the others it says nothing where pages are. */
const PLACEMENT = new Set(["serial-first-touch", "mismatched-first-touch", "moving-parts", "one-node", "replicate", "recycled-memory", "scattered-writes", "misplaced", "thread-migration"]);

function remote(x) {
	const r = x.remote, known = PLACEMENT.has(x.id) ? policies.filter(([k]) => Number.isFinite(r?.[k])) : [];
	return known.length > 0 && [h("h4", {}, "Accesses to it from another node, of all accesses to it"), h("dl", { class: "facts remote" }, known.map(([k, text]) => [h("dt", {}, text),
		h("dd", {}, h("span", { class: "meter wide", "aria-hidden": "true" }, h("span", { style: { width: `${100 * r[k]}%` } })), share(r[k]))]))];
}

/** [number, what it is a share of] */
export function gainOf(x) {
	if (Number.isFinite(x.seconds))
		return [f.time(1e9 * +x.seconds.toPrecision(2)), `of CPU time saved, ${percent(x.gain)} of what the program used`];
	if (PLACEMENT.has(x.id) && Number.isFinite(x.remote?.after))
		return [`${percent(x.remote.first_touch)} → ${percent(x.remote.after)}`, `of the accesses to it from another node; the difference is ${percent(x.gain)} of all accesses to data`];
	if (x.id === "fault-churn")
		return ["Not known", "is what its page faults take"];
	return [percent(x.gain), "of all accesses to data are what this is about; the time that it would save is not predicted"];
}

/*
 * A command or a line, and a button that copies it; none where it has what a shell
 * would take for the end of a line, or what is not shown.
 */
function copyable(line) {
	const text = line.replace(/[\p{Cc}\p{Cf}]/gu, "");
	if (text !== line)
		return h("div", { class: "copyable" }, h("pre", { tabindex: 0 }, text));
	const button = h("button", { type: "button", class: "quiet", "data-action": "copy", onclick: async () => {
		try {
			await navigator.clipboard.writeText(text);
		} catch {
			/* A browser that lets no file: page do so. */
			getSelection().selectAllChildren(pre);
			document.execCommand("copy");
		}
		button.textContent = "Copied";
		setTimeout(() => {
			button.textContent = "Copy";
		}, 2000);
	} }, "Copy");
	const pre = h("pre", { tabindex: 0 }, text);
	return h("div", { class: "copyable" }, pre, button);
}

/* First touch and use of the pages of the structure. */
async function strip(d, id) {
	const o = d.objectAt.get(id), plot = d.plotAt.get(id);
	if (!plot?.by_thread.length)
		return [];
	const x = plot.exact ? await counts(id) : (await cells(id)).density;
	const busiest = [...plot.by_thread].sort((a, b) => b[1] + b[2] + b[3] - a[1] - a[2] - a[3]).map((b) => b[0]);
	return x.rows ? [firstFigure(d, o, plot, x, busiest)] : [];
}

/** All of a finding; number: 0 of the answer; seen: structures that are on this page already. */
export async function finding(d, x, number, seen = new Set()) {
	const here = isHere(d, x.object, x.name), isNew = here && !seen.has(x.object), o = here && d.objectAt.get(x.object);
	const where = x.first_touch?.function && `${x.first_touch.function}()${x.first_touch.file ? ` at ${x.first_touch.file}${x.first_touch.line ? `:${x.first_touch.line}` : ""}` : ""}`;
	const t = d.summary.topology, assumed = PLACEMENT.has(x.id) && t?.what_if;
	const [gain, unit] = gainOf(x), lines = isNew ? await code(d, x.object) : [];
	seen.add(x.object);
	return [h("article", { class: "panel finding", "data-finding": x.id },
		h("div", { class: "bar-row" }, h("h3", { class: "sentence" }, number ? `${number}. ` : "", f.cut(x.title, 300)), h("span", { class: `badge ${x.confidence}` }, `confidence: ${x.confidence}`)),
		h("p", {}, "Structure: ", linkTo(d, x.object, x.name), o && h("span", { class: "small" }, ` ${[o.kind, o.bytes && f.bytes(o.bytes), o.site && f.cut(o.site, 160)].filter(Boolean).join(", ")}`)),
		h("div", { class: lines.length ? "columns answer two" : "columns answer" },
			h("div", {}, h("p", { class: "gain" }, h("b", {}, gain), " ", unit),
				assumed && h("p", { class: "small" }, `Predicted for ${t.assumed ? "an assumed machine" : "an imagined machine"} of ${f.count(t.nodes)} nodes, ${f.count(t.cpus)} CPUs.`),
				x.fix && [h("h4", {}, "What to do"), h("p", {}, f.cut(x.fix, 1000))],
				x.try?.map(copyable),
				x.tried?.length > 0 && [h("h4", {}, "Tried (moca try)"), h("ul", { class: "tried" }, x.tried.map((t) => h("li", { "data-tried": f.cut(t.id, 64) }, f.cut(t.text, 1000))))]),
			lines.length > 0 && h("div", {}, lines))),
	...(isNew ? await strip(d, x.object) : []),
	h("section", { class: "panel", "data-why": x.id }, h("div", { class: "columns answer" },
		h("div", {}, x.cause && [h("h4", {}, "Cause"), h("p", {}, f.cut(x.cause, 1000))],
			where && h("p", { class: "small" }, `First touched in ${f.cut(where, 300)}`), remote(x)),
		h("div", {}, h("h4", {}, "Evidence"), h("ul", {}, x.evidence.map((e) => h("li", {}, f.cut(e, 600)))))))];
}

/** The findings behind the first, one line each. */
export const further = (list) => list.length > 1 && h("section", { class: "panel", "data-further": "" }, h("h3", {}, "Further findings"),
	h("ol", { start: 2 }, list.slice(1).map((x) => h("li", {}, h("a", { href: "#/findings" }, f.cut(x.title, 200)), h("span", { class: "small" }, ` ${gainOf(x).join(" ")}`)))));

/** What to say where there is no finding. */
export const headline = (d) => d.summary.undecided ? `Nothing can be said of ${d.summary.undecided}${d.exact?.only ? ": there are no slices of time" : `: the trace has ${f.count(d.summary.totals.intervals)} interval${d.summary.totals.intervals === 1 ? "" : "s"} with accesses`}` :
	"Nothing was found that could clearly be better";

/** Which machine remote shares are of: none, an assumed one, or the recorded one. */
const machine = (t) => !t ? "" : `Remote shares are predicted for ${f.count(t.nodes)} nodes, ${f.count(t.cpus)} CPUs${t.assumed ? ", an assumed machine (the recorded one has one node)" : t.what_if ? ", an imagined machine" : ", the recorded machine"}.`;

/* What each check looks for. One of a newer moca has its name alone. */
const checkWords = {
	"serial-first-touch": "Pages that one thread placed and others use",
	"mismatched-first-touch": "Pages that several threads placed, but not those that use them",
	"moving-parts": "Parts that go from thread to thread",
	"one-node": "One node that serves what all threads use",
	"replicate": "Data that all threads read and none writes",
	"unbalanced-parts": "Threads with more work than others",
	"huge-pages": "Large memory that huge pages would serve",
	"abandoned": "Memory that is kept and no longer used",
	"shared-lines": "Cache lines that threads take from each other",
	"scattered-writes": "Threads that write all over one structure",
	"recycled-memory": "Memory that an earlier owner placed",
	"misplaced": "Several structures that are placed wrong for one reason",
	"fault-churn": "Memory that is given back to the kernel and taken again",
	"growing-memory": "Memory that is allocated on and on",
	"hot-and-cold": "Much memory that is used seldom",
	"thread-migration": "Threads that change their node",
};

/** Nothing found is an answer, too: what was looked at, and how near. */
export function checks(s) {
	const near = (s.checks || []).filter((c) => !c.found && c.missed && c.near >= 0.05).sort((a, b) => b.near - a.near).slice(0, 4);
	const most = s.objects?.find((o) => o.id === s.most_remote), would = s.topology?.what_if;
	return s.checks?.length > 0 && h("div", { "data-checks": "" }, h("h4", {}, "What was checked"),
		h("ul", { class: "checked" }, s.checks.map((c) => h("li", { title: c.id }, `${checkWords[c.id] || c.id}${c.looked_at > 1 ? ` (${f.count(c.looked_at)} structures)` : ""}`))),
		near.length > 0 && [h("h4", {}, "What came closest"), h("ul", {}, near.map((c) => h("li", { title: c.id }, `${checkWords[c.id] || c.id}, ${f.cut(c.name || "the program", 80)}: ${f.cut(c.missed, 400)}`)))],
		most && [h("h4", {}, "The most remote structure"), h("p", {}, `${f.cut(most.name, 80)}: ${share(most.remote.first_touch)} of the accesses to it ${would ? "would " : ""}come from another node, ${share(most.remote.parallel_init)} if each page were at its user.`)],
		would && h("p", { class: "small" }, machine(s.topology)));
}

export async function findings(d) {
	const s = d.summary, t = s.topology, seen = new Set(), list = [];
	for (let i = 0; i < s.findings.length; i++)
		list.push(...(await finding(d, s.findings[i], i + 1, seen)));
	return [
		h("p", {}, s.findings.length ? `${f.count(s.findings.length)} finding${s.findings.length > 1 ? "s" : ""}, the most worthwhile first.` : `${headline(d)}.`,
			s.findings.length || !t?.what_if ? ` ${machine(t)}` : ""),
		...list,
		!s.findings.length && h("section", { class: "panel" }, checks(s)),
		s.notes?.length > 0 && h("section", { class: "panel" }, h("h3", {}, "Notes"), h("ul", {}, s.notes.map((n) => h("li", {}, f.cut(n, 600))))),
	];
}

export function phases(d) {
	const all = d.summary.phases?.phases || [], q = d.summary.phases?.qualities || [];
	if (!all.length)
		return [h("p", { class: "empty" }, "The run has no phases: nothing was accessed.")];
	/* Times of the summary are the trace's; those of the page begin at 0. */
	const at = (ns) => ns - d.run.origin_ns, colors = p.categorical(all.length);
	const top = (x) => x.top.map((o) => o.name).join(", ") || "idle";
	const of = (i, n) => {
		const t = d.time.begin_ns + (i + 0.5) / n * d.length;
		return all.findIndex((x) => t >= at(x.begin_ns) && t < at(x.end_ns));
	};
	const strip = strips({ columns: 1000, height: 30, label: "Phases over time", time: true, range: [d.time.begin_ns, d.time.end_ns], xText: f.time, tracks: [{
		label: "phase", color: (i, n) => of(i, n) < 0 ? null : colors[of(i, n)],
		describe: (i, n) => {
			const k = of(i, n);
			return k < 0 ? null : [["Phase", k + 1], ["From", f.time(at(all[k].begin_ns))], ["To", f.time(at(all[k].end_ns))],
				["Accesses", f.count(all[k].accesses)], ["Most used", f.cut(top(all[k]), 80)]];
		} }] });
	const curve = q.length > 1 && lines({ x: Float64Array.from(q, (v) => v.p_begin), xLabel: "p", yLabel: "share", height: 200, yText: (v) => share(v),
		label: "Gain and loss of the partitions by the parameter p",
		series: [{ label: "gain (simpler)", values: Float64Array.from(q, (v) => v.gain), color: p.css(p.READ), stepped: true },
			{ label: "loss (information)", values: Float64Array.from(q, (v) => v.loss), color: p.css(p.WRITE), stepped: true }] });
	return [
		figure({ id: "phases", title: "Phases of the run", subtitle: `${all.length} phase${all.length > 1 ? "s" : ""}`, explain: texts.phases, picture: strip.picture,
			body: [legend(all.map((x, i) => [p.css(colors[i]), `${i + 1}: ${f.cut(top(x), 40)}`])), strip.element,
				h("div", { class: "scroll-x", tabindex: 0, role: "region", "aria-label": "Table of phases" }, h("table", {}, h("thead", {}, h("tr", {}, ["Phase", "From", "To", "Accesses", "Pages", "Most used"].map((x) => h("th", { scope: "col", class: "plain" }, x)))),
					h("tbody", {}, all.map((x, i) => h("tr", {}, h("th", { scope: "row" }, i + 1), h("td", {}, f.time(at(x.begin_ns))), h("td", {}, f.time(at(x.end_ns))), h("td", {}, f.count(x.accesses)), h("td", {}, f.count(x.pages)),
						h("td", {}, x.top.map((o, k) => [k ? ", " : "", linkTo(d, o.object, o.name)]), !x.top.length && "idle"))))))],
			rows: () => [["phase", "begin_ns", "end_ns", "accesses", "pages", "most_used"], ...all.map((x, i) => [i + 1, at(x.begin_ns), at(x.end_ns), x.accesses, x.pages, top(x)])] }),
		curve && figure({ id: "qualities", title: "How fine to divide", subtitle: `Shown: p = ${+d.summary.phases.p.toPrecision(3)}`, explain: texts.qualities, body: curve.element, picture: curve.picture, rows: curve.rows }),
	];
}
