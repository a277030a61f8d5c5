// SPDX-License-Identifier: GPL-2.0-or-later
// The lines of source that access a structure, with their counts; and what stands
// around them, where the page has it.
import { h } from "./dom.js";
import { json } from "./data.js";
import * as f from "./format.js";

const AROUND = 3;	/* lines before and behind */

const fileName = (path) => String(path).split("/").pop();
const totalOf = (l) => l.reads + l.writes + l.unknown;
const at = (x) => `${x.file}:${x.line}`;

/** "work() churn.c:17", "memset() of libc.so.6" */
export function place(x) {
	const name = x.function ? `${f.cut(x.function, 60)}()` : x.module ? "unknown function" : "unknown instruction";
	return x.file ? `${name} ${f.cut(fileName(x.file), 60)}${x.line ? `:${x.line}` : ""}` : x.module ? `${name} of ${f.cut(fileName(x.module), 60)}` : name;
}

/* Of a file's ranges the lines around those that are marked: [number, text], null where some are left out. */
function linesAround(file, marked) {
	const out = [];
	for (const r of file.ranges)
		r.text.forEach((text, i) => {
			const n = r.first + i;
			if (![...marked].some((m) => Math.abs(m - n) <= AROUND))
				return;
			if (out.length && out.at(-1)?.[0] !== n - 1)
				out.push(null);
			out.push([n, text]);
		});
	return out;
}

/* How much all of these lines are indented: as much is taken away. */
function indent(rows) {
	const depth = rows.filter((x) => x?.[1].trim()).map((x) => x[1].match(/^[\t ]*/)[0]);
	let n = depth.length ? depth[0].length : 0;
	for (const t of depth)
		while (!t.startsWith(depth[0].slice(0, n)))
			n--;
	return n;
}

function listing(o, file, own, notes) {
	const rows = linesAround(file, new Set([...own.keys(), ...notes.keys()])), cut = indent(rows);
	const row = (x) => {
		if (!x)
			return h("tr", { class: "gap" }, h("td", {}), h("td", { class: "n" }, "⋮"), h("td", {}));
		const l = own.get(x[0]), note = notes.get(x[0]);
		return h("tr", { class: l || note ? "hit" : "", "data-line": x[0] },
			h("td", { class: "n" }, l && h("span", { title: `${f.count(l.reads)} reads, ${f.count(l.writes)} writes${l.unknown ? `, ${f.count(l.unknown)} of unknown type` : ""}` },
				`${f.count(totalOf(l))} (${f.percent(totalOf(l), o.accesses)})`), l && note && h("br"), note && h("span", { class: "mark" }, note)),
			h("th", { scope: "row", class: "n" }, x[0]), h("td", { class: "text" }, x[1].slice(cut) || " "));
	};
	return h("div", { class: "listing" }, file.state === "changed" && h("p", { class: "small" }, `${f.cut(fileName(file.file), 80)} was changed after the program was built: lines may be others.`),
		h("div", { class: "scroll-x", tabindex: 0, role: "region", "aria-label": `Lines of ${f.cut(fileName(file.file), 80)}` },
			h("table", { class: "source" }, h("thead", {}, h("tr", {}, h("th", { scope: "col", class: "n" }, "accesses (share)"), h("th", { scope: "col", class: "n" }, "line"),
				h("th", { scope: "col", title: f.cut(file.file, 400) }, f.cut(fileName(file.file), 80)))), h("tbody", {}, rows.map(row)))));
}

/* Lines whose text the page does not have. */
function rest(o, list, others) {
	const rows = [...list.map((l) => [place(l), totalOf(l)]), ...(others ? [["other instructions", others]] : [])];
	return rows.length > 0 && h("ul", { class: "plain-list rest" }, rows.map(([text, n]) => h("li", {}, `${f.percent(n, o.accesses)} (${f.count(n)}) `, text)));
}

/**
 * The lines that access the structure, as elements; [] if nothing is known of it.
 * changed: [[place, note]]: lines that matter for another reason
 */
export async function code(d, id) {
	const [all, source] = await Promise.all([json("code"), json("source")]);
	const x = all?.objects.find((y) => y.object === id), o = d.objectAt.get(id);
	if (!x || !o || !(x.lines.length || x.allocated || x.first_touch))
		return [];
	const fileAt = new Map((source?.files || []).map((y) => [y.file, y])), lineAt = new Map();
	for (const y of source?.files || [])
		for (const r of y.ranges)
			r.text.forEach((t, i) => lineAt.set(`${y.file}:${r.first + i}`, t));
	const shown = new Map(), notes = new Map(), add = (k, line, v) => shown.set(k, (shown.get(k) || new Map()).set(line, v));
	const without = [];
	for (const l of x.lines) {
		if (!l.file || !lineAt.has(at(l))) {
			without.push(l);
			continue;
		}
		const old = shown.get(l.file)?.get(l.line);
		add(l.file, l.line, old ? { reads: old.reads + l.reads, writes: old.writes + l.writes, unknown: old.unknown + l.unknown } : l);
	}
	for (const [y, text] of [[x.allocated, "allocated"], [x.first_touch, "first touch"]]) {
		if (!y || !lineAt.has(at(y)))
			continue;
		const of = notes.get(y.file) || new Map();
		notes.set(y.file, of.set(y.line, [of.get(y.line), text].filter(Boolean).join(", ")));
		if (!shown.has(y.file))
			shown.set(y.file, new Map());
	}
	const missing = [...new Set([...x.lines, x.allocated, x.first_touch].filter((l) => l?.file && !lineAt.has(at(l))).map((l) => l.file))].slice(0, 3);
	const why = !missing.length ? null : !source ? "Source lines were left out of this page (--no-source)." :
		`Not shown: ${missing.map((m) => f.cut(m, 80)).join(", ")}: ${missing.every((m) => fileAt.get(m)?.state !== "read") ? "not readable where this page was made" : "no room, or not readable"}.`;
	const known = x.lines.reduce((a, l) => a + totalOf(l), 0);
	return [h("section", { class: "code", "data-code": id }, h("h4", {}, "Lines that access it"),
		h("p", { class: "small" }, d.exact?.only ? "Exact mode counts without instructions: this is where it is allocated or first touched." :
			`${all.at_least ? "At least " : ""}${f.percent(known, o.accesses)} of its ${f.count(o.accesses)} recorded accesses: the first one to a page by any thread in each interval.`),
		[...shown].map(([file, own]) => listing(o, fileAt.get(file), own, notes.get(file) || new Map())),
		rest(o, without, d.exact?.only ? 0 : x.others), why && h("p", { class: "small" }, why))];
}
