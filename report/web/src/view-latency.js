// SPDX-License-Identifier: GPL-2.0-or-later
// How long sampled accesses took, by data structure, and what answered them.
import * as f from "./format.js";
import { h } from "./dom.js";
import { figure } from "./figure.js";
import { bars } from "./charts.js";
import { json } from "./data.js";
import { texts } from "./texts.js";

const SHOWN = 50;

const mean = (x) => x.weighed ? x.sum / x.weighed : null;

function answered(x) {
	const known = Object.entries(x.levels).filter(([name]) => name !== "unknown");
	return [...known.sort((a, b) => b[1] - a[1]),
		...(x.levels.unknown ? [["not told", x.levels.unknown]] : [])]
		.map(([name, n]) => `${name} ${f.percent(n, x.samples)}`).join(", ");
}

/** A figure; null where nothing was sampled. */
export async function latency() {
	const { latency: all, latency_rows } = await json("latency");
	if (!all.length)
		return null;
	const head = ["Structure", "Samples", "Mean", "Longest", "From another node", "Answered by"];
	const sum = all.reduce((n, x) => n + x.sum, 0), top = all.slice(0, 16);
	const b = bars({ label: "Share of the latency of all samples", text: (v) => `${+v.toPrecision(3)} %`,
		rows: top.map((x) => ({ label: x.object, parts: [{ value: 100 * x.sum / (sum || 1), color: "var(--accent)", label: "of the latency" }] })) });
	const table = h("div", { class: "scroll-x", tabindex: 0, role: "region", "aria-label": "Table of latency by data structure" }, h("table", {},
		h("thead", {}, h("tr", {}, head.map((x, i) => h("th", { scope: "col", class: i % 5 ? "plain n" : "plain" }, x)))),
		h("tbody", {}, all.slice(0, SHOWN).map((x) => h("tr", {}, h("th", { scope: "row" }, h("span", { title: f.cut(x.object, 400) }, f.cut(x.object, 48)),
			x.site && h("div", { class: "site", title: f.cut(x.site, 400) }, f.cut(x.site, 60))),
		[f.count(x.samples), x.weighed ? mean(x).toFixed(1) : "–", x.weighed ? f.count(x.most) : "–", f.percent(x.remote, x.samples)].map((v) => h("td", { class: "n" }, v)),
		h("td", {}, answered(x)))))));
	return figure({ id: "latency", title: "Latency by data structure", explain: texts.latency, svg: b.svg,
		subtitle: `Of all that perf sampled, in its weight (mostly cycles). ` + (latency_rows > SHOWN ? `The first ${SHOWN} of ${f.count(latency_rows)} structures` : `${f.count(latency_rows)} structure${latency_rows === 1 ? "" : "s"}`),
		body: [b.element, table],
		rows: () => [["structure", "site", "samples", "samples_with_latency", "latency", "longest", "from_another_node", "answered_by"],
			...all.map((x) => [x.object, x.site ?? "", x.samples, x.weighed, x.sum, x.most, x.remote, answered(x)])] });
}
