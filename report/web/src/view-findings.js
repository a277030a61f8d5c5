// SPDX-License-Identifier: GPL-2.0-or-later
// What moca summary found, and the phases that it divides the run into.
import { h } from "./dom.js";
import { figure, legend } from "./figure.js";
import { lines, strips } from "./charts.js";
import { texts } from "./texts.js";
import * as f from "./format.js";
import * as p from "./palette.js";

const policies = [["first_touch", "as it is (first touch)"], ["interleave", "interleaved"],
	["bind", "all on one node"], ["parallel_init", "initialised in parallel"],
	["after", "after the change"]];

const share = (v) => f.percent(v, 1);

/** Has this page a view of the summary's structure? */
export const isHere = (d, id, name) =>
	d.objectAt.get(id)?.name === name && d.plotAt.has(id);

/** A link to it, if it has; else the name. */
export function linkTo(d, id, name) {
	return isHere(d, id, name) ?
		h("a", { href: `#/object/${id}`, title: f.cut(name, 400) }, f.cut(name, 60)) : f.cut(name, 60);
}

function remote(r) {
	const known = policies.filter(([k]) => Number.isFinite(r?.[k]));
	return known.length ? h("dl", { class: "facts remote" }, known.map(([k, text]) => [h("dt", {}, text),
		h("dd", {}, h("span", { class: "meter wide", "aria-hidden": "true" }, h("span", { style: { width: `${100 * r[k]}%` } })), `${share(r[k])} remote`)])) : null;
}

function finding(d, x, i) {
	const where = x.first_touch?.function && `${x.first_touch.function}${x.first_touch.file ? `, ${x.first_touch.file}${x.first_touch.line ? `:${x.first_touch.line}` : ""}` : ""}`;
	return h("article", { class: "panel finding", "data-finding": x.id },
		h("div", { class: "bar-row" }, h("h3", {}, `${i + 1}. ${f.cut(x.title[0].toUpperCase() + x.title.slice(1), 300)}`), h("span", { class: `badge ${x.confidence}` }, `confidence: ${x.confidence}`)),
		h("p", {}, "Structure: ", linkTo(d, x.object, x.name)),
		Number.isFinite(x.seconds) && h("p", {}, `It would save ${f.time(1e9 * x.seconds)} of CPU time, ${share(x.gain)} of it.`),
		h("h4", {}, "Evidence"), h("ul", {}, x.evidence.map((e) => h("li", {}, f.cut(e, 600)))),
		x.cause && [h("h4", {}, "Cause"), h("p", {}, f.cut(x.cause, 1000))],
		where && h("p", { class: "small" }, `First touched in ${f.cut(where, 300)}`),
		x.fix && [h("h4", {}, "What to do"), h("p", {}, f.cut(x.fix, 1000))],
		x.try?.length > 0 && h("pre", { tabindex: 0 }, x.try.join("\n")),
		remote(x.remote));
}

/* Nothing found is an answer, too: what was looked at, and how near. */
function checks(s) {
	const near = (s.checks || []).filter((c) => !c.found && c.missed && c.near >= 0.05).sort((a, b) => b.near - a.near).slice(0, 4);
	const most = s.objects?.find((o) => o.id === s.most_remote);
	return s.checks?.length > 0 && h("section", { class: "panel", "data-checks": "" }, h("h3", {}, "What was checked"),
		h("p", {}, s.checks.map((c) => c.id).join(", ")),
		near.length > 0 && [h("h4", {}, "What came closest"), h("ul", {}, near.map((c) => h("li", {}, `${c.id}, ${f.cut(c.name || "the program", 80)}: ${f.cut(c.missed, 400)}`)))],
		most && h("p", { class: "small" }, `Most remote: ${f.cut(most.name, 80)}, ${share(most.remote.first_touch)} of its accesses; with each page at its user ${share(most.remote.parallel_init)}.`));
}

export function findings(d) {
	const s = d.summary, t = s.topology;
	return [
		h("p", {}, s.findings.length ? `${f.count(s.findings.length)} finding${s.findings.length > 1 ? "s" : ""}, the most worthwhile first.` : "Nothing was found that could clearly be better.",
			t ? ` Remote shares are predicted for ${f.count(t.nodes)} nodes, ${f.count(t.cpus)} CPUs${t.assumed ? ", an assumed machine (the recorded one has one node)" : t.what_if ? ", an imagined machine" : ", the recorded machine"}.` : ""),
		...s.findings.map((x, i) => finding(d, x, i)),
		!s.findings.length && checks(s),
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
	const strip = strips({ columns: 1000, height: 30, label: "Phases over time", range: [d.time.begin_ns, d.time.end_ns], xText: f.time, tracks: [{
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
