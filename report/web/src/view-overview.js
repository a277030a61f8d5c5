// SPDX-License-Identifier: GPL-2.0-or-later
// All data over all time, divided where what happens differs; how finely is
// chosen by the parameter p of the aggregation (analysis/aggregate.h).
import { h, pairs } from "./dom.js";
import { figure, legend } from "./figure.js";
import { lines } from "./charts.js";
import { onSelect, timeState } from "./selection.js";
import { texts } from "./texts.js";
import { Areas } from "./areas.js";
import { space, describe, nameOf, kindOf, topOf, pagesOf, linkOf, rows, needKinds, colorsOf, nodeText } from "./space.js";
import { threadName } from "./data.js";
import * as f from "./format.js";
import * as p from "./palette.js";

const TOP_PARTS = 12;
const modes = [["type", "Reads and writes"], ["count", "Number of accesses"], ["thread", "Thread"], ["node", "Node"]];
/** The others are of the plots' cells, which a large report joins beyond the groups here. */
export const modesOf = (d) => d.coarsened ? modes.slice(0, 2) : modes;
const KEYS = 16;	/* threads in a legend */
const share = (v) => f.percent(v, 1);
const short = (v) => String(+v.toPrecision(4));
const plural = (n, word) => `${f.count(n)} ${word}${n === 1 ? "" : "s"}`;

function parts(m, level) {
	const most = level.list.filter((a) => a.accesses).sort((a, b) => b.accesses - a.accesses).slice(0, TOP_PARTS);
	const head = ["Structure", "Pages", "From", "To", "Reads", "Writes", "Share"];
	return h("table", {}, h("thead", {}, h("tr", {}, head.map((x, i) => h("th", { scope: "col", class: i ? "plain n" : "plain" }, x)))),
		h("tbody", {}, most.map((a) => h("tr", {},
			h("th", { scope: "row" }, a.all ? nameOf(m, a) : h("a", { href: linkOf(m, a), title: f.cut(nameOf(m, a), 400) }, f.cut(nameOf(m, a), 60))),
			[pagesOf(m, a), f.time(m.time(a.begin)), f.time(m.time(a.end)), f.count(a.reads), f.count(a.writes),
			 f.percent(a.accesses, m.total)].map((x) => h("td", { class: "n" }, x))))));
}

function legendOf(m, mode) {
	if (mode === "thread") {
		const { list } = colorsOf(m, mode);
		return legend([...list.slice(0, KEYS).map(([k, c]) => [p.css(c), f.cut(threadName(m.d, k), 24)]), ...(list.length > KEYS ? [["transparent", `and ${list.length - KEYS} more`]] : []), ["var(--plot)", "no access"]]);
	}
	if (mode === "node")
		return legend([...colorsOf(m, mode).list.map(([k, c]) => [p.css(c), nodeText(k)]), [p.css(p.REMOTE), "mostly from another node"], [p.css(p.OTHER), "not known"], ["var(--plot)", "no access"]]);
	return mode === "type" ?
		legend([[p.css(p.READ), "reads"], [p.css(p.BOTH), "both"], [p.css(p.WRITE), "writes"], ...(m.unknown ? [[p.css(p.OTHER), "type not known"]] : []), ["var(--plot)", "no access"]]) :
		legend([[p.css(p.scale(0.05)), "few"], [p.css(p.scale(0.5)), ""], [p.css(p.scale(1)), "many per page (logarithmic)"], ["var(--plot)", "no access"]]);
}

/* Both curves, and how many parts there are; a click chooses p. */
function curves(m, chosen, choose) {
	const q = m.qualities, finest = q.reduce((a, x) => Math.max(a, x.areas), 1);
	/* The last one reaches to 1. */
	const of = (get) => Float64Array.from([...q, q.at(-1)], get);
	const x = Float64Array.from([...q.map((v) => v.p_begin), 1]);
	return lines({ x, xLabel: "p", yLabel: "share", height: 240, yText: share,
		label: "Simplicity gained and information lost by the parameter p; a line marks the chosen p",
		mark: () => m.levels[chosen()].p, onpick: (value) => choose(m.at(value)),
		series: [{ label: "gain (simpler)", values: of((v) => v.gain), color: p.css(p.READ), width: 2, stepped: true },
			{ label: "loss (information)", values: of((v) => v.loss), color: p.css(p.WRITE), width: 2, stepped: true },
			{ label: `areas (of ${f.count(finest)})`, values: of((v) => v.areas / finest), color: p.css(p.OTHER), dash: [4, 3], stepped: true }] });
}

/* Buttons of which one is pressed. entries: [value, text] */
function choice(label, entries, chosen, changed) {
	const group = h("div", { class: "modes", role: "group", "aria-label": label }, entries.map(([k, text]) =>
		h("button", { type: "button", "data-mode": k, "aria-pressed": k === chosen ? "true" : "false", onclick: (e) => {
			for (const b of group.children)
				b.setAttribute("aria-pressed", b === e.currentTarget ? "true" : "false");
			changed(k);
		} }, text)));
	return group;
}

/* Which structures: all, or one alone, its pages as large as can be. */
function picker(m, only, changed) {
	const select = h("select", { id: "only", onchange: () => changed(m.objects[select.value] || null) },
		h("option", { value: "" }, `all ${m.objects.length}`),
		m.objects.map((o, i) => h("option", { value: i, selected: o === only }, f.cut(o.name, 40))));
	return { select, element: h("div", { class: "detail" }, h("label", { for: "only" }, "Structures"), select) };
}

/* A slider over the partitions, with what is said of the chosen one. */
function slider(m, start, changed) {
	const last = m.levels.length - 1;
	let at = start;
	const said = h("p", { class: "detail-status", role: "status" });
	const input = h("input", { type: "range", id: "detail", min: 0, max: last, step: 1, value: at,
		disabled: !last, oninput: () => set(Number(input.value)) });
	const set = (i) => {
		const l = m.levels[at = Math.min(last, Math.max(0, i))];
		input.value = at;
		input.setAttribute("aria-valuetext", `p ${short(l.p)}, ${plural(l.count, "area")}`);
		said.replaceChildren(h("b", {}, `p = ${short(l.p)}`), ` · ${plural(l.count, "area")} · `,
			`${share(l.gain)} of the possible gain in simplicity, ${share(l.loss)} of the possible loss of information`);
		changed(l);
	};
	const step = (by, text, label) => h("button", { type: "button", "aria-label": label, title: label, onclick: () => set(at + by) }, text);
	const best = h("button", { type: "button", "data-action": "best", title: "Most gain for its loss", onclick: () => set(m.at(m.p)) }, "Best trade");
	return { set, said, chosen: () => at, element: h("div", { class: "detail" }, h("label", { for: "detail" }, "Detail"),
		step(-1, "‹", "One level finer"), h("span", { "aria-hidden": "true" }, "all"), input, h("span", { "aria-hidden": "true" }, "simple"), step(1, "›", "One level simpler"), best) };
}

/* What was chosen in the picture: what it is, its values, where to go on. */
function details(m, showOnly) {
	const title = h("h4", { id: "area-title" }), body = h("div"), say = h("p", { class: "sr-only", role: "status" });
	const show = (a, quietly) => {
		if (!a) {
			title.textContent = "Nothing is chosen";
			body.replaceChildren(h("p", { class: "small" }, "Hover for values. Click an area, or go there with the arrow keys, to keep its values here and open its structure at that place and time."));
			say.textContent = "";
			return;
		}
		const list = describe(m, a), top = a.all ? topOf(m, a, 5) : [], kind = kindOf(m, a);
		title.textContent = `${f.cut(nameOf(m, a), 60)}, ${f.time(m.time(a.begin))} to ${f.time(m.time(a.end))}`;
		body.replaceChildren(pairs(list.slice(1)),
			...[top.length && [h("p", { class: "small" }, "Most accessed in it:"), h("ul", { class: "plain-list" }, top.map(([o, n]) =>
				h("li", {}, h("a", { href: linkOf(m, { all: false, begin: a.begin, end: a.end, node: m.nodes.find((x) => x.object >= 0 && x.begin === o.begin && x.end === o.end) }) }, f.cut(o.name, 50)), ` ${f.count(n)}`)))],
			!a.all && h("p", { class: "bar-row links" }, h("a", { href: linkOf(m, a), "data-action": "open-area" }, kind === "structure" ? "Open the structure at this time" : "Open the structure at this place and time"),
				h("button", { type: "button", "data-action": "alone", onclick: () => showOnly(m.objects[a.node.object]) }, "Show this structure alone"))].flat().filter(Boolean));
		if (!quietly)
			say.textContent = list.map((x) => x.join(": ")).join(", ");
	};
	return { show, element: h("section", { class: "chosen", "aria-labelledby": "area-title" }, title, body, say) };
}

/* Not more often than browsers let an address change. */
function rememberer(m, now) {
	let timer = 0;
	return () => {
		clearTimeout(timer);
		timer = setTimeout(() => {
			if (!location.hash.startsWith("#/overview"))
				return;
			const { level, mode, only, cursor } = now(), q = new URLSearchParams({ p: String(+level.p.toPrecision(7)) });
			if (mode !== "type")
				q.set("mode", mode);
			if (only)
				q.set("only", only.id);
			if (cursor)
				q.set("at", `${cursor.leaf},${cursor.slice}`);
			if (timeState().t)
				q.set("t", timeState().t);
			history.replaceState(null, "", `#/overview?${q}`);
		}, 200);
	};
}

/* What the address asks for, as far as there is such a thing. */
function asked(m, state) {
	const value = parseFloat(state.get("p")), at = (state.get("at") || "").split(",").map(Number);
	return {
		level: m.at(value >= 0 && value <= 1 ? value : m.p),
		mode: modesOf(m.d).some(([k]) => k === state.get("mode")) ? state.get("mode") : "type",
		only: m.objects.find((o) => String(o.id) === state.get("only")) || null,
		cursor: at.length === 2 && Number.isInteger(at[0]) && Number.isInteger(at[1]) && at[0] >= 0 && at[0] < m.leaves &&
			at[1] >= 0 && at[1] < m.slices ? { leaf: at[0], slice: at[1] } : null,
	};
}

function subtitle(m) {
	const most = m.objects.reduce((a, o) => Math.max(a, o.each), 1);
	const pages = m.objects.reduce((a, o) => a + o.pages, 0);
	return `${plural(m.objects.length, "structure")} with ${f.percent(m.total, m.d.totals.accesses)} of all accesses; ${f.count(pages)} pages${most > 1 ? ` in ${f.count(m.leaves)} groups of up to ${f.count(most)}` : ", each by itself"}; ` +
		`${f.count(m.slices)} slices of ${f.time(m.d.length / m.slices)}. ${m.levels.length < m.qualities.length ? `${f.count(m.levels.length)} of ` : ""}${plural(m.qualities.length, "level")} of detail${m.levels.length > 1 ? "" : ": what happens is always nothing or the most there is, and by this measure no other division is simpler"}${m.d.coarsened ? ". Which thread and node is not told here: the report was too large for cells as fine as these" : ""}`;
}

export async function overview(d, state) {
	const m = await space(d);
	if (!m)
		return [h("p", { class: "empty" }, "There is nothing to divide: no data structure was accessed.")];
	const now = asked(m, state);
	await needKinds(m, now.mode);
	const remember = rememberer(m, () => ({ ...now, level: m.levels[detail.chosen()], cursor: picture.cursor }));
	const keys = h("div", { class: "legend-slot" }), list = h("div", { class: "scroll-x", tabindex: 0, role: "region", "aria-label": "Table of the largest areas" });
	const showOnly = (o) => {
		now.only = o;
		pick.select.value = o ? m.objects.indexOf(o) : "";
		picture.set({ only: o });
		/* It is as high as what it shows: the page may have moved below it. */
		picture.canvas.scrollIntoView({ block: "nearest" });
		chosen.show(picture.chosen(), true);
		remember();
	};
	const chosen = details(m, showOnly), pick = picker(m, now.only, showOnly);
	const picture = new Areas(m, m.levels[now.level], { ...now, cursor: now.cursor,
		changed: (a) => {
			chosen.show(a);
			remember();
		},
		open: (a) => {
			const link = linkOf(m, a);
			/* All of them have no view of their own: say again what it is. */
			if (link)
				location.hash = link;
			else
				chosen.show(a);
		} });
	let chart = null;
	const detail = slider(m, now.level, (level) => {
		picture.set({ level });
		list.replaceChildren(parts(m, level));
		chosen.show(picture.chosen(), true);
		chart?.mark();
		if (chart)
			remember();
	});
	const colours = choice("What colours mean", modesOf(m.d), now.mode, async (mode) => {
		now.mode = mode;
		await needKinds(m, mode);
		/* Another one was chosen meanwhile. */
		if (now.mode !== mode)
			return;
		chosen.show(picture.chosen(), true);
		keys.replaceChildren(legendOf(m, mode));
		picture.set({ mode });
		remember();
	});
	keys.replaceChildren(legendOf(m, now.mode));
	detail.set(now.level);
	onSelect(picture.element, remember);
	chart = curves(m, detail.chosen, detail.set);
	return [
		figure({ id: "areas", title: "Where what happens differs", explain: texts.areas, subtitle: subtitle(m),
			body: [h("div", { class: "bar-row" }, detail.element, pick.element, colours), detail.said, keys, picture.element, chosen.element],
			picture: () => ({ size: [picture.width, picture.height], paint: (c, width) => picture.paint(c, width) }),
			rows: () => rows(m, picture.level) }),
		figure({ id: "trade", title: "Simplicity gained, information lost", subtitle: `All ${plural(m.qualities.length, "partition")} that are best for some p. The line marks the chosen p; click to choose another`, explain: texts.trade,
			body: chart.element, picture: chart.picture,
			rows: () => [["p_begin", "gain", "loss", "areas"], ...m.qualities.map((q) => [q.p_begin, q.gain, q.loss, q.areas])] }),
		h("section", { class: "panel" }, h("h3", {}, "The areas with most accesses"), list),
	];
}
