// SPDX-License-Identifier: GPL-2.0-or-later
// Who calls the code that accesses: call stacks as a flame graph, of one run and of two.
import { json } from "./data.js";
import { h } from "./dom.js";
import { figure, legend } from "./figure.js";
import { icicle } from "./icicle.js";
import { onSelect, selected, selectionAside, timeState } from "./selection.js";
import { texts } from "./texts.js";
import * as f from "./format.js";
import * as p from "./palette.js";

/* [key, button, what there is one of, more of them, of allocations] */
const ACCESSES = [["accesses", "Accesses", "access", "accesses"], ["reads", "Reads", "read", "reads"], ["writes", "Writes", "write", "writes"],
	["first_touches", "First touches", "first touch", "first touches"]];
const HEAP = [["allocated", "Allocated bytes", "allocated byte", "allocated bytes", true], ["at_peak", "Alive at the peak", "byte alive at the peak", "bytes alive at the peak", true],
	["at_end", "Alive at the end", "byte alive at the end", "bytes alive at the end", true], ["allocations", "Allocations", "allocation", "allocations", true]];
const kindsOf = (t) => [...ACCESSES, ...HEAP].filter(([key]) => t.leaves[key]);
const isBytes = (kind) => kind[4] && kind[0] !== "allocations";
const THREADS = 300, FUNCTIONS = 20;
const GROWN = [200, 40, 40], SHRUNK = [0, 100, 190];

const amount = (kind, n) => isBytes(kind) ? f.bytes(n) : f.count(n);
/* Of bytes the amount has its unit: what is left of the words is "allocated", "alive at the peak". */
const many = (kind, n) => isBytes(kind) ? `${f.bytes(n)} ${kind[3].replace(/ ?bytes ?/, "")}` : `${f.count(n)} ${n === 1 ? kind[2] : kind[3]}`;

/* A colour towards the page's, so that text can be read on it. */
function soft(color, strength) {
	const dark = p.isDark(), ground = dark ? [26, 32, 41] : [255, 255, 255];
	const k = (dark ? 0.55 : 0.42) * strength;
	return color.map((v, i) => v * k + ground[i] * (1 - k));
}

const grey = () => soft(p.OTHER, 0.55);
const heapColor = () => soft(p.BOTH, 0.8);

/* The windows that what is selected lies in, as [first, behind the last]; null: all of the run is shown. */
function windowsOf(t, kind) {
	const x = t.over_time, range = selected();
	if (!x || !range || !x[kind[0]])
		return null;
	const at = (time, round) => Math.min(x.windows, Math.max(0, round((time - x.begin_ns) / x.window_ns)));
	return [at(range[0], Math.floor), at(range[1], Math.ceil)];
}

/*
 * Of each node what is its own, and that with all below; thread: null or its number; of these windows, or null: of all.
 */
function sums(t, key, thread, windows = null) {
	const { parent } = t.nodes, { node, thread: of } = t.leaves, from = t.leaves[key];
	const self = new Float64Array(parent.length), x = t.over_time;
	for (let i = 0; !windows && i < node.length; i++)
		if (thread === null || of[i] === thread)
			self[node[i]] += from[i];
	for (let k = 0; windows && k < x.leaf.length; k++)
		if (x.window[k] >= windows[0] && x.window[k] < windows[1] && (thread === null || of[x.leaf[k]] === thread))
			self[node[x.leaf[k]]] += x[key][k];
	const total = self.slice();
	for (let i = parent.length - 1; i > 0; i--)
		total[parent[i]] += total[i];
	return { self, total };
}

const nameOf = (t, i) => i ? t.names[t.nodes.name[i]] : "all";

function whereOf(t, i) {
	const file = t.files[t.nodes.file[i]];
	return i && file ? `${f.cut(file, 100)}${t.nodes.line[i] ? `:${t.nodes.line[i]}` : ""}` : null;
}

function pathOf(t, parent, name, i) {
	const out = [];
	for (; i; i = parent[i])
		out.unshift(name(t, i));
	return out.join(";");
}

/* Functions wherever they are called; of those that call themselves each access once. */
function functionsOf(t, s) {
	const out = new Map(), { parent, name } = t.nodes;
	for (let i = 1; i < parent.length; i++) {
		if (!s.total[i])
			continue;
		const x = out.get(name[i]) || { name: t.names[name[i]], self: 0, total: 0, at: i };
		let above = parent[i];
		while (above && name[above] !== name[i])
			above = parent[above];
		x.self += s.self[i];
		x.total += above ? 0 : s.total[i];
		out.set(name[i], x);
	}
	return [...out.values()].sort((a, b) => b.self - a.self || b.total - a.total);
}

function modes(kinds, chosen, choose) {
	const box = h("div", { class: "modes", role: "group", "aria-label": "What is counted" }, kinds.map((k) => h("button", { type: "button", "data-by": k[0], "aria-pressed": String(k === chosen), onclick: (e) => {
		for (const b of box.children)
			b.setAttribute("aria-pressed", String(b === e.currentTarget));
		choose(k);
	} }, k[1])));
	return box;
}

function threadsOf(t) {
	const n = new Map();
	const of = t.leaves[kindsOf(t)[0][0]];
	t.leaves.thread.forEach((id, i) => n.set(id, (n.get(id) || 0) + of[i]));
	return t.threads.map((x) => ({ ...x, has: n.get(x.id) || 0 })).sort((a, b) => b.has - a.has).slice(0, THREADS);
}

function finder(id, value, input) {
	return h("span", { class: "field" }, h("label", { for: id }, "Find a function"), h("input", { type: "search", id, value, placeholder: "name", oninput: (e) => input(e.currentTarget.value) }));
}

function functionTable(t, s, kind, all) {
	const list = functionsOf(t, s);
	return [h("h3", {}, "Functions"),
		h("p", { class: "small" }, `${list.length > FUNCTIONS ? `The ${FUNCTIONS} of ${f.count(list.length)} functions that themselves do most` : "By what they themselves do"}: ${kind[3]} in a function's own code, and with all that it calls.`),
		h("div", { class: "scroll-x", tabindex: 0, role: "region", "aria-label": "Table of functions" }, h("table", {},
			h("thead", {}, h("tr", {}, ["Function", "Line with most", "Own", "", "With what it calls", ""].map((x, i) => h("th", { scope: "col", class: i > 1 ? "plain n" : "plain" }, x)))),
			h("tbody", {}, list.slice(0, FUNCTIONS).map((x) => h("tr", {}, h("th", { scope: "row", title: x.name }, f.cut(x.name, 70)), h("td", { class: "small" }, whereOf(t, x.at) || ""),
				h("td", { class: "n" }, amount(kind, x.self)), h("td", { class: "n" }, f.percent(x.self, all)), h("td", { class: "n" }, amount(kind, x.total)), h("td", { class: "n" }, f.percent(x.total, all)))))))];
}

/* What of the accesses, or of the bytes, the stacks do not tell. */
function gaps(t, kind) {
	const heap = kind[4] && t.heap, x = heap || t, what = heap ? "allocated bytes" : "accesses";
	const all = t.leaves[heap ? "allocated" : "accesses"].reduce((a, b) => a + b, 0);
	const said = [[x.without, "have no call stack"], [x.cut, "have stacks whose outermost callers were not recorded ([cut off])"], [x.shortened, "have innermost functions that are left out of this page, as there are too many"],
		[heap && heap.estimated, "are estimated by samples, as the program allocated too often for all to be recorded"],
		[heap && heap.without_lives, "are of objects whose ends were not recorded: alive at the peak and at the end are without these"]]
		.filter(([n]) => n).map(([n, text]) => `${f.percent(n, all)} of the ${what} ${text}`);
	if (heap && kind[0] === "at_peak")
		said.push(`The peak was ${f.time(heap.peak_ns)} after the recording's begin`);
	return said.length > 0 && h("p", { class: "small" }, `${said.join("; ")}.`);
}

/* Of which time a plot is, while something is selected. */
function timeSaid(t, kind, windows) {
	const x = t.over_time, at = (w) => f.time(x.begin_ns + w * x.window_ns);
	return windows ? `This is of ${at(windows[0])} to ${at(windows[1])}: what is selected, in whole parts of ${f.time(x.window_ns)}.` :
		`${kind[1]} ${kind[4] ? "are not told by time here" : "cannot be told by time here"}: this is of all of the run, whatever is selected.`;
}

export async function flame(d, state) {
	const t = await json("flame"), threads = threadsOf(t), kinds = kindsOf(t);
	let kind = kinds.find(([k]) => k === state.get("by")) || kinds[0], word = state.get("find") || "";
	let thread = threads.find((x) => String(x.id) === state.get("thread"))?.id ?? null;
	let at = Number(state.get("at")) || 0, s, chart, windows = null;
	const plot = h("div", {}), under = h("div", {}), when = h("p", { class: "small", "data-flame": "time", role: "note" }), over = h("div", {}), table = h("section", { class: "panel", "data-flame": "functions" }), count = h("span", { class: "count", role: "status" });
	const remember = () => history.replaceState(null, "", `#/flame?${new URLSearchParams({ by: kind[0], ...(thread !== null && { thread }), ...(at && { at }), ...(word && { find: word }), ...timeState() })}`);
	const find = () => {
		const found = chart.find(word), sum = found?.reduce((n, i) => n + s.total[i], 0);
		count.textContent = found ? found.length ? `${many(kind, sum)}, ${f.percent(sum, s.total[0])}, in or below what matches` : "No function matches" : many(kind, s.total[0]);
	};
	const fill = () => {
		windows = windowsOf(t, kind);
		const [r, w] = kind[4] ? [] : [sums(t, "reads", thread, windows).total, sums(t, "writes", thread, windows).total];
		s = sums(t, kind[0], thread, windows);
		when.hidden = !selected();
		when.textContent = selected() ? timeSaid(t, kind, windows) : "";
		if (!(at < s.total.length && s.total[at]))
			at = 0;
		chart = icicle({ label: `Flame graph of ${kind[3]}`, at, tree: { parent: t.nodes.parent, value: s.total, names: (i) => nameOf(t, i) },
			color: (i) => !i ? grey() : kind[4] ? heapColor() : r[i] + w[i] ? soft(p.mix(r[i], w[i], 0), 1) : grey(),
			said: (i) => `${f.cut(nameOf(t, i), 100)}: ${many(kind, s.total[i])}, ${f.percent(s.total[i], s.total[0])}`,
			describe: (i) => [["Function", f.cut(nameOf(t, i), 200)], whereOf(t, i) && ["Line with most", whereOf(t, i)], [kind[1], `${amount(kind, s.total[i])}, ${f.percent(s.total[i], s.total[0])}`],
				["In its own code", amount(kind, s.self[i])], r && ["Reads, writes", `${f.count(r[i])}, ${f.count(w[i])}`]],
			moved: (i) => {
				at = i;
				remember();
			} });
		plot.replaceChildren(...s.total[0] ? chart.element : [h("p", { class: "empty" }, `There are no ${kind[3]} here.`)]);
		under.replaceChildren(...[gaps(t, kind)].filter(Boolean));
		over.replaceChildren(legend(kind[4] ? [[p.css(heapColor()), kind[3]]] : [[p.css(soft(p.READ, 1)), "reads"], [p.css(soft(p.BOTH, 1)), "both"], [p.css(soft(p.WRITE, 1)), "writes"]]));
		table.replaceChildren(...functionTable(t, s, kind, s.total[0]));
		find();
	};
	const change = (f2) => (x) => {
		f2(x);
		remember();
		fill();
	};
	const pick = threads.length > 1 && h("span", { class: "field" }, h("label", { for: "flame-thread" }, "Thread"), h("select", { id: "flame-thread", onchange: (e) => change((v) => thread = v === "" ? null : Number(v))(e.currentTarget.value) },
		h("option", { value: "" }, "all"), threads.map((x) => h("option", { value: x.id, selected: x.id === thread }, `#${x.id} ${f.cut(x.name || "", 30)}`))));
	fill();
	onSelect(plot, change(() => {}));
	return [figure({ id: "flame", title: t.leaves.accesses ? t.heap ? "Who calls what accesses and allocates" : "Who calls what accesses" : "Who calls what allocates", explain: texts.flame,
		subtitle: "Call stacks, from the outermost function down; the width is the share",
		body: [h("div", { class: "bar-row" }, modes(kinds, kind, change((k) => kind = k)), pick, finder("flame-find", word, (v) => {
			word = v;
			remember();
			find();
		}), count), over, when, plot, under],
		picture: () => chart.picture(),
		rows: () => [["stack", "file", "line", ...kinds.map(([k]) => k)], ...(() => {
			const own = kinds.map((k) => sums(t, k[0], thread, windowsOf(t, k)).self);
			return [...own[0].keys()].filter((i) => own.some((v) => v[i])).map((i) => [pathOf(t, t.nodes.parent, nameOf, i) || "all", t.files[t.nodes.file[i]] || "", t.nodes.line[i] || "", ...own.map((v) => v[i])]);
		})()] }), table];
}

/* Both trees as one, by the names of functions: { parent, name, a, b } by node. */
function merge(a, b) {
	const parent = [0], name = ["all"], at = new Map();
	const into = (t) => {
		const to = new Uint32Array(t.nodes.parent.length);
		for (let i = 1; i < to.length; i++) {
			const above = to[t.nodes.parent[i]], key = `${above} ${nameOf(t, i)}`;
			if (!at.has(key)) {
				at.set(key, parent.length);
				parent.push(above);
				name.push(nameOf(t, i));
			}
			to[i] = at.get(key);
		}
		return to;
	};
	return { a: into(a), b: into(b), parent, name };
}

/* What runs have, at the nodes of both, as shares of each run. */
function shares(m, t, to, key) {
	const s = sums(t, key, null), total = new Float64Array(m.parent.length), self = new Float64Array(m.parent.length), all = s.total[0] || 1;
	for (let i = 0; i < to.length; i++) {
		total[to[i]] += s.total[i] / all;
		self[to[i]] += s.self[i] / all;
	}
	return { total, self, all: s.total[0] };
}

const points = (x) => `${x > 0 ? "+" : x < 0 ? "−" : ""}${Math.abs(100 * x).toFixed(1)} points`;

/** Both runs in one flame graph; null: one of them has no call stacks. */
export async function flameChange() {
	const [ta, tb] = await Promise.all([json("flame-before"), json("flame")]);
	if (!ta || !tb)
		return ta || tb ? h("p", { class: "small" }, `${ta ? "B" : "A"} was recorded without call stacks (moca record --stacks): there is no flame graph of both.`) : null;
	const kinds = kindsOf(ta).filter(([key]) => tb.leaves[key]), one = ta.leaves.accesses ? tb.leaves.accesses ? null : "B" : tb.leaves.accesses && "A";
	const missing = one && h("p", { class: "small" }, `${one} was recorded without call stacks of accesses (moca record --stacks): there is no flame graph of these of both.`);
	if (!kinds.length)
		return missing;
	const m = merge(ta, tb);
	let kind = kinds[0], chart, a, b, word = "";
	const plot = h("div", {}), count = h("span", { class: "count", role: "status" });
	const delta = (i) => b.total[i] - a.total[i];
	const find = () => {
		const found = chart.find(word), sum = (x) => found.reduce((n, i) => n + x.total[i], 0);
		count.textContent = !found ? `${many(kind, a.all)} in A, ${amount(kind, b.all)} in B` : found.length ? `In or below what matches: ${f.percent(sum(a), 1)} of A, ${f.percent(sum(b), 1)} of B` : "No function matches";
	};
	const fill = () => {
		a = shares(m, ta, m.a, kind[0]);
		b = shares(m, tb, m.b, kind[0]);
		const value = a.total.map((v, i) => v + b.total[i]);
		chart = icicle({ label: `Flame graph of ${kind[3]}, B beside A`, tree: { parent: m.parent, value, names: (i) => m.name[i] },
			color: (i) => {
				const x = value[i] ? delta(i) / value[i] : 0;
				return Math.abs(x) < 0.01 ? grey() : soft(x > 0 ? GROWN : SHRUNK, 0.25 + 0.75 * Math.abs(x));
			},
			said: (i) => `${f.cut(m.name[i], 100)}: ${f.percent(a.total[i], 1)} of A, ${f.percent(b.total[i], 1)} of B`,
			describe: (i) => [["Function", f.cut(m.name[i], 200)], ["Of A", f.percent(a.total[i], 1)], ["Of B", f.percent(b.total[i], 1)], ["Change", points(delta(i))],
				["In its own code", `${f.percent(a.self[i], 1)} of A, ${f.percent(b.self[i], 1)} of B`]] });
		plot.replaceChildren(...value[0] ? chart.element : [h("p", { class: "empty" }, `There are no ${kind[3]} in either run.`)]);
		find();
	};
	fill();
	return figure({ id: "compare-flame", title: kinds[0][4] ? "Who calls what allocates, B beside A" : "Who calls what accesses, B beside A", explain: texts.compareFlame,
		subtitle: "Call stacks by the names of functions; the width is the share of A and that of B together",
		body: [h("div", { class: "bar-row" }, modes(kinds, kind, (k) => {
			kind = k;
			fill();
		}), finder("compare-find", "", (v) => {
			word = v;
			find();
		}), count), legend([[p.css(soft(GROWN, 1)), "larger share in B"], [p.css(grey()), "the same"], [p.css(soft(SHRUNK, 1)), "smaller share in B"]]),
			selectionAside("This is of all of both runs: what is selected is of B's time alone."), plot, missing],
		picture: () => chart.picture(),
		rows: () => [["stack", "share_of_a", "share_of_b", "own_share_of_a", "own_share_of_b"], ...m.parent.map((_, i) => [pathOf(m, m.parent, (x, k) => x.name[k], i) || "all", a.total[i], b.total[i], a.self[i], b.self[i]])] });
}
