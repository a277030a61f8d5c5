// SPDX-License-Identifier: GPL-2.0-or-later
// One data structure: where, when and by whom it is used.
import { h } from "./dom.js";
import { figure, legend } from "./figure.js";
import { onSelect, select, selected } from "./selection.js";
import { lines, strips } from "./charts.js";
import { Heatmap } from "./heatmap.js";
import { MODES } from "./raster.js";
import { cells, threadName } from "./data.js";
import { elements } from "./shape.js";
import { texts } from "./texts.js";
import { code } from "./view-code.js";
import { countedObject } from "./view-counts.js";
import * as f from "./format.js";
import * as p from "./palette.js";

const LINES = 8;	/* threads with a line of their own */
const POINTS = 800;
const modeNames = { type: "Reads and writes", count: "Number of accesses", thread: "Thread", sharing: "Sharing", node: "Node" };

function modeLegend(mode, threads, d, heatmap) {
	if (mode === "type")
		return legend([[p.css(p.READ), "read"], [p.css(p.BOTH), "both"], [p.css(p.WRITE), "written"], [p.css(p.OTHER), "type not known"]]);
	if (mode === "count")
		return legend([[p.css(p.scale(0.05)), "few"], [p.css(p.scale(0.5)), ""], [p.css(p.scale(1)), "many (logarithmic)"]]);
	if (mode === "thread") {
		const c = p.categorical(threads.length);
		return legend([...threads.slice(0, 16).map((t, i) => [p.css(c[i]), f.cut(threadName(d, t), 24)]),
			...(threads.length > 16 ? [["transparent", `and ${threads.length - 16} more, by number`]] : [])]);
	}
	if (mode === "sharing")
		return legend([[p.css(p.PRIVATE), "one thread"], [p.css(p.SHARED_READ), "several, reading"], [p.css(p.SHARED_WRITE), "several, one or more writing"]]);
	const nodes = heatmap.nodes(), c = p.categorical(nodes.length);
	return legend([...nodes.map((n, i) => [p.css(c[i]), `node ${n}`]), [p.css(p.REMOTE), "mostly from another node"], [p.css(p.OTHER), "not known"]]);
}

const numbersOf = (state, key) => (state.get(key) || "").split(",").map(Number);

/* Where the address says to look: z, or t (time) and a (addresses); or null. */
function askedView(d, plot, heat, state) {
	const z = numbersOf(state, "z"), t = numbersOf(state, "t"), a = numbersOf(state, "a");
	if (z.length === 4 && z.every(Number.isFinite) && z[1] > z[0] && z[3] > z[2])
		return { b0: z[0], b1: z[1], r0: z[2], r1: z[3] };
	if (t.length !== 2 || !t.every(Number.isFinite) || !(t[1] > t[0]))
		return null;
	const bins = Math.ceil(d.bins / 2 ** plot.heat.time_shift), size = 2 ** plot.heat.page_shift * 4096;
	const bin = (ns) => Math.min(bins, Math.max(0, (ns - d.time.begin_ns) / d.length * bins));
	const inside = (r) => heat.group[r] * size < a[1] && (heat.group[r] + 1) * size > a[0];
	let first = 0, last = heat.rows - 1;
	if (a.length === 2 && a[1] > a[0]) {
		while (first < last && !inside(first))
			first++;
		while (last > first && !inside(last))
			last--;
	}
	return { b0: bin(t[0]), b1: Math.max(bin(t[0]) + 1, bin(t[1])), r0: first, r1: last + 1 };
}

function heatFigure(d, object, plot, heat, threads, state) {
	const view = askedView(d, plot, heat, state);
	let mode = MODES.includes(state.get("mode")) ? state.get("mode") : "type";
	let shown = view, timer = 0;

	/* Not more often than browsers let an address change. */
	const remember = () => {
		clearTimeout(timer);
		timer = setTimeout(() => {
			if (!location.hash.startsWith(`#/object/${object.id}`))
				return;
			const q = new URLSearchParams();
			if (mode !== "type")
				q.set("mode", mode);
			if (shown)
				q.set("z", [shown.b0, shown.b1, shown.r0, shown.r1].map((n) => +n.toFixed(3)).join(","));
			history.replaceState(null, "", `#/object/${object.id}${q.size ? `?${q}` : ""}`);
		}, 200);
	};
	const map = new Heatmap({ d, object, plot, heat, mode, threads, view,
		changed: (v) => {
			shown = v;
			remember();
			select(map.timeShown(), map);
		} });
	const follow = () => {
		map.showTime(selected());
		shown = map.isHome() ? null : map.view;
	};
	if (view)
		select(map.timeShown(), map);
	else if (selected())
		follow();
	onSelect(map.element, (from) => {
		if (from === map)
			return;
		follow();
		remember();
	});
	const keys = h("div", { class: "legend-slot" }, modeLegend(mode, threads, d, map));
	const choose = h("div", { class: "modes", role: "group", "aria-label": "What colours mean" }, MODES.map((m) =>
		h("button", { type: "button", "data-mode": m, "aria-pressed": m === mode ? "true" : "false", onclick: (e) => {
			mode = m;
			for (const b of choose.children)
				b.setAttribute("aria-pressed", b === e.currentTarget ? "true" : "false");
			keys.replaceChildren(modeLegend(m, threads, d, map));
			map.setMode(m);
			remember();
		} }, modeNames[m])));
	const zoom = h("div", { class: "modes", role: "group", "aria-label": "Zoom" },
		[["+", "Zoom in", () => map.zoom(0.5)], ["−", "Zoom out", () => map.zoom(2)], ["All", "Show all", () => map.reset()]]
			.map(([text, label, go]) => h("button", { type: "button", "aria-label": label, title: label, "data-zoom": label, onclick: go }, text)));
	const pages = 2 ** plot.heat.page_shift, bin = d.length / d.bins * 2 ** plot.heat.time_shift;
	const coarse = `A cell at full zoom: ${pages > 1 ? `${f.count(pages)} neighbouring pages` : "one page"}, ${f.time(bin)}.` +
		(pages > 1 ? " Threads that use different pages of a group look as if they shared it." : "");
	map.say();
	return figure({ id: `heat-${object.id}`, title: "Time and address", subtitle: coarse, explain: texts.heat,
		body: [h("div", { class: "bar-row" }, choose, zoom), keys, map.element],
		picture: () => map.picture(), rows: () => map.rows() });
}

/* Columns of neighbouring rows of the density's table. */
function density(d, x, threads) {
	const n = Math.min(POINTS, x.rows), at = new Float64Array(n);
	const values = new Map(threads.slice(0, LINES).map((t) => [t, new Float64Array(n)]));
	const average = new Float64Array(n), rowsIn = new Float64Array(n);
	for (let r = 0; r < x.rows; r++) {
		const k = Math.floor(r * n / x.rows);
		rowsIn[k]++;
		for (let i = x.start[r]; i < x.start[r + 1]; i++) {
			const c = x.reads[i] + x.writes[i] + x.other[i];
			average[k] += c / threads.length;
			const v = values.get(x.thread[i]);
			if (v)
				v[k] += c;
		}
	}
	for (let k = 0; k < n; k++) {
		at[k] = k * x.rows / n;
		average[k] /= rowsIn[k] || 1;
		for (const v of values.values())
			v[k] /= rowsIn[k] || 1;
	}
	return { at, values, average };
}

function densityFigure(d, object, plot, x, threads) {
	const c = p.categorical(threads.length), v = density(d, x, threads);
	const unit = plot.density.page_shift ? `group of ${2 ** plot.density.page_shift} pages` : "page";
	const address = (row) => {
		const r = Math.min(x.rows - 1, Math.max(0, Math.round(row)));
		return f.hex(x.group[r] * 2 ** plot.density.page_shift * 4096);
	};
	const chart = lines({ x: v.at, xLabel: unit, yLabel: `accesses per ${plot.density.page_shift ? "group" : "page"}`, height: 260, xText: (n) => f.count(n),
		label: `Accesses per page along ${f.cut(object.name, 80)}, by thread`,
		series: [...[...v.values].map(([t, values], i) => ({ label: threadName(d, t), values, color: p.css(c[i]), width: 1.2 })),
			{ label: "average of threads", values: v.average, color: p.variable("--text"), width: 2.5 }] });
	return figure({ id: `density-${object.id}`, title: "Density by thread", explain: texts.density, body: chart.element, picture: chart.picture,
		subtitle: `${f.count(x.rows)} ${unit}${x.rows === 1 ? "" : "s"} in order of address${threads.length > LINES ? `; the ${LINES} threads with most accesses` : ""}`,
		rows: () => {
			const out = [["process", "address", "pages", "thread", "reads", "writes", "unknown"]];
			for (let r = 0; r < x.rows; r++)
				for (let i = x.start[r]; i < x.start[r + 1]; i++)
					out.push([x.pid[r], address(r), 2 ** plot.density.page_shift, threadName(d, x.thread[i]), x.reads[i], x.writes[i], x.other[i]]);
			return out;
		} });
}

export function firstFigure(d, object, plot, x, threads) {
	const c = p.categorical(threads.length), color = new Map(threads.map((t, i) => [t, c[i]]));
	const range = (i, n) => [Math.floor(i * x.rows / n), Math.max(Math.floor(i * x.rows / n) + 1, Math.floor((i + 1) * x.rows / n))];
	/* The most frequent of what rows say, by weight. */
	const majority = (i, n, each) => {
		const m = new Map(), [a, b] = range(i, n);
		for (let r = a; r < b; r++)
			each(r, (k, w) => m.set(k, (m.get(k) || 0) + w));
		return [...m].sort((u, v) => v[1] - u[1]);
	};
	const first = (i, n) => majority(i, n, (r, add) => add(x.firstThread[r], 1));
	const most = (i, n) => majority(i, n, (r, add) => {
		for (let k = x.start[r]; k < x.start[r + 1]; k++)
			add(x.thread[k], x.reads[k] + x.writes[k] + x.other[k]);
	});
	const users = (i, n) => majority(i, n, (r, add) => add(x.start[r + 1] - x.start[r], 1));
	const where = (i, n) => {
		const [a, b] = range(i, n), size = 2 ** plot.density.page_shift * 4096;
		const from = x.group[a] * size, to = x.group[b - 1] * size + size, inside = elements(object, from, to);
		return ["Address", `${f.hex(from)} to ${f.hex(to)}${inside ? `, ${f.cut(inside, 80)}` : ""}`];
	};
	const list = (m, n) => m.slice(0, 4).map(([t, k]) => `${f.cut(threadName(d, t), 24)} ${f.percent(k, n)}`).join(", ");
	const total = (m) => m.reduce((s, v) => s + v[1], 0);
	const shade = (m) => p.scale((m[0][0] - 1) / Math.max(1, threads.length - 1));
	const strip = strips({ columns: Math.min(x.rows, 1500), label: `First touch and use of the pages of ${f.cut(object.name, 80)}`,
		range: [0, x.rows], xText: f.count,
		tracks: [
			{ label: "first touch", color: (i, n) => color.get(first(i, n)[0][0]) || p.OTHER,
				describe: (i, n) => [where(i, n), ["First touched by", list(first(i, n), total(first(i, n)))],
					["Earliest", f.time(d.time.begin_ns + x.firstTime[range(i, n)[0]] / 4096 * d.length)]] },
			{ label: "most accesses", color: (i, n) => color.get(most(i, n)[0][0]) || p.OTHER,
				describe: (i, n) => [where(i, n), ["Accesses", list(most(i, n), total(most(i, n)))]] },
			{ label: "threads", color: (i, n) => shade(users(i, n)),
				describe: (i, n) => [where(i, n), ["Threads", users(i, n).slice(0, 4).map(([k, w]) => `${k} on ${f.count(w)} ${plot.density.page_shift ? "groups" : "pages"}`).join(", ")]] },
		] });
	let same = 0;
	for (let r = 0; r < x.rows; r++) {
		let best = -1, who = -1;
		for (let k = x.start[r]; k < x.start[r + 1]; k++) {
			const n = x.reads[k] + x.writes[k] + x.other[k];
			if (n > best) {
				best = n;
				who = x.thread[k];
			}
		}
		same += who === x.firstThread[r];
	}
	return figure({ id: `first-${object.id}`, title: "First touch and use", explain: texts.first, picture: strip.picture,
		subtitle: `${f.percent(same, x.rows)} of the ${plot.density.page_shift ? "groups of pages" : "pages"} are mostly used by the thread that touched them first`,
		body: [legend([...threads.slice(0, 16).map((t, i) => [p.css(c[i]), f.cut(threadName(d, t), 24)]), ...(threads.length > 1 ? [[p.css(p.scale(0)), "used by 1 thread"], [p.css(p.scale(1)), `by ${threads.length}`]] : [])]), strip.element],
		rows: () => [["process", "address", "pages", "first_thread", "threads"], ...Array.from({ length: x.rows }, (_, r) => [x.pid[r], f.hex(x.group[r] * 2 ** plot.density.page_shift * 4096),
			2 ** plot.density.page_shift, threadName(d, x.firstThread[r]), x.start[r + 1] - x.start[r]])] });
}

function head(d, o) {
	const i = d.plots.findIndex((x) => x.object === o.id);
	const link = (k, text) => d.plots[k] && h("a", { href: `#/object/${d.plots[k].object}`, title: f.cut(d.objectAt.get(d.plots[k].object).name, 100) }, text);
	const first = d.threads.find((t) => t.id === o.first_task);
	const fact = (k, v) => v !== null && v !== undefined && v !== "" && [h("dt", {}, k), h("dd", {}, v)];
	return h("section", { class: "panel" },
		h("nav", { class: "bar-row", "aria-label": "Structures" }, h("a", { href: "#/objects" }, "All structures"), link(i - 1, "‹ previous"), link(i + 1, "next ›")),
		h("dl", { class: "facts two" },
			fact("Kind", o.kind), fact("Type", o.type && h("code", {}, f.cut(o.type, 120))),
			fact("Where", o.site && f.cut(o.site, 200)), fact("Program", o.program && f.cut(o.program, 120)),
			fact("Size", o.bytes ? `${f.bytes(o.bytes)}${o.instances > 1 ? ` in ${f.count(o.instances)} objects, the largest ${f.bytes(o.size)}` : ""}` : null),
			fact("Lifetime", o.begin_ns !== null ? `${f.time(o.begin_ns)} to ${o.end_ns === null ? "the end" : f.time(o.end_ns)}` : null),
			fact("Accesses", `${f.count(o.accesses)} (${f.percent(o.accesses, d.totals.accesses)}): ${f.count(o.reads)} ${d.exact?.only ? "loads" : "reads"}, ${f.count(o.writes)} ${d.exact?.only ? "stores" : "writes"}`),
			fact("Pages", `${f.count(o.pages)}, of which ${d.exact?.only ? "" : "at least "}${f.count(o.pages_shared)} are used by several threads (${f.count(o.shared_written)} of these written)`),
			fact("Threads", f.count(o.threads)),
			fact("Sharing", o.accesses ? f.sharing(o) : null),
			fact("First touch", first ? `by ${f.cut(threadName(d, first.index), 40)}, at ${f.time(o.first_ns)}` : null),
			fact("Nodes", o.nodes.map(([k, n]) => `node ${k}: ${f.percent(n, o.accesses)}`).join(", ")),
			fact("Note", o.wide && d.exact?.only ? `${f.count(o.wide)} of these are shared out by size and time: the granules hold other structures as well, or held them at another time.` : o.pages_split ? `${f.count(o.pages_split)} pages hold other structures as well; only the first access to a page in an interval has a record, so counts of these pages are lower bounds.` : null)));
}

const sourceOf = async (d, id) => {
	const parts = await code(d, id);
	return parts.length > 0 && h("section", { class: "panel" }, parts);
};

export async function object(d, state, id) {
	const o = d.objectAt.get(id), plot = d.plotAt.get(id);
	if (!o || !plot)
		return [h("p", { class: "empty" }, "There is no such structure in this page. ", h("a", { href: "#/objects" }, "All structures"))];
	if (plot.exact)
		return [head(d, o), ...(await countedObject(d, o, plot)), await sourceOf(d, id)];
	const { heat, density: x } = await cells(id);
	const threads = plot.by_thread.map((b) => b[0]);
	const busiest = [...plot.by_thread].sort((a, b) => b[1] + b[2] + b[3] - a[1] - a[2] - a[3]).map((b) => b[0]);
	return [head(d, o), heatFigure(d, o, plot, heat, threads, state), await sourceOf(d, id), densityFigure(d, o, plot, x, threads.length > LINES ? busiest : threads), firstFigure(d, o, plot, x, threads)];
}
