// SPDX-License-Identifier: GPL-2.0-or-later
// All data over all time, divided where what happens differs; how finely is
// chosen by the parameter p of the aggregation (analysis/aggregate.h).
import { h, tip, pairs } from "./dom.js";
import { figure, legend } from "./figure.js";
import { lines } from "./charts.js";
import { texts } from "./texts.js";
import { linkTo, isHere } from "./view-findings.js";
import * as f from "./format.js";
import * as p from "./palette.js";

const LEFT = 150, RIGHT = 12, AXIS = 26;
const TOP_PARTS = 12;
const modes = [["type", "Reads and writes"], ["count", "Number of accesses"]];
const share = (v) => f.percent(v, 1);
const HINT = "Hover for exact values, click to open the structure.";
const short = (v) => String(+v.toPrecision(4));

/* What the summary says, with levels as lists of areas. */
function model(d) {
	const o = d.summary.overview, t = d.summary.time;
	const rows = o.rows.length, begin = o.begin_ns - d.run.origin_ns;
	const length = Math.min(o.slices * o.slice_ns, t.windows * t.window_ns);
	const m = { d, o, rows, slices: o.slices, begin, length, most: 0, total: 0 };

	m.time = (slice) => begin + Math.min(slice * o.slice_ns, length);
	o.reads.forEach((list, r) => list.forEach((n, s) => {
		m.most = Math.max(m.most, n + o.writes[r][s]);
		m.total += n + o.writes[r][s];
	}));
	m.sum = (a, r) => {
		let reads = 0, writes = 0;
		for (let s = a.begin; s < a.end; s++) {
			reads += o.reads[r][s];
			writes += o.writes[r][s];
		}
		return [reads, writes];
	};
	m.levels = o.levels.map((l) => ({ ...l, count: l.areas.length / 3 }));
	m.at = (value) => {
		let i = 0;
		while (i + 1 < m.levels.length && m.levels[i + 1].p_begin <= value)
			i++;
		return i;
	};
	return m;
}

/* The areas of a level, and for each cell the number of its area. */
function unpack(m, level) {
	if (level.list)
		return level;
	level.list = [];
	level.cell = new Uint32Array(m.rows * m.slices);
	for (let i = 0; i < level.areas.length; i += 3) {
		const [node, begin, end] = level.areas.slice(i, i + 3);
		const all = node >= m.rows;
		const a = { all, begin, end, reads: 0, writes: 0,
			    first: all ? 0 : node, last: all ? m.rows : node + 1 };
		for (let r = a.first; r < a.last; r++) {
			const [reads, writes] = m.sum(a, r);
			a.reads += reads;
			a.writes += writes;
			level.cell.fill(level.list.length, r * m.slices + begin, r * m.slices + end);
		}
		a.accesses = a.reads + a.writes;
		a.mean = a.accesses / ((end - begin) * (a.last - a.first));
		level.list.push(a);
	}
	return level;
}

const nameOf = (m, a) => a.all ? `all ${m.rows} structures` : m.o.rows[a.first].name;

function describe(m, a) {
	const out = [["Structure", f.cut(nameOf(m, a), 60)],
		["Time", `${f.time(m.time(a.begin))} to ${f.time(m.time(a.end))}`],
		["Reads", f.count(a.reads)], ["Writes", f.count(a.writes)],
		["Share", f.percent(a.accesses, m.total)]];
	if (a.all)
		out.push(...m.o.rows.map((row, r) => [row.name, m.sum(a, r)])
			.map(([name, [x, y]]) => [f.cut(name, 30), x + y]).filter(([, n]) => n)
			.sort((x, y) => y[1] - x[1]).slice(0, 5).map(([k, n]) => [k, f.count(n)]));
	return out;
}

/* The picture: a rectangle for each area. */
class Areas {
	constructor(m, level, mode, open) {
		Object.assign(this, { m, mode, open, level: unpack(m, level), cursor: null });
		this.line = m.rows > 12 ? 20 : m.rows > 5 ? 28 : 40;
		this.canvas = h("canvas", { class: "areas", tabindex: 0, role: "img",
			"aria-label": "Areas of data structures and time in which what happens is alike. Arrow keys go from area to area, Enter opens the structure." });
		this.status = h("p", { class: "heat-status", role: "status" }, HINT);
		this.element = h("div", { class: "heatmap" }, this.canvas, this.status);
		this.listen();
		new ResizeObserver(() => this.element.isConnected && this.draw()).observe(this.element);
	}

	set(level, mode) {
		this.level = unpack(this.m, level);
		this.mode = mode;
		this.cursor = null;
		this.status.textContent = HINT;
		tip.hide();
		this.draw();
	}

	fill(a) {
		const x = this.m.most ? Math.log1p(a.mean) / Math.log1p(this.m.most) : 0;
		if (this.mode === "count")
			return p.css(p.scale(x));
		const [r, g, b] = p.mix(a.reads, a.writes, 0);
		return `rgba(${r}, ${g}, ${b}, ${0.22 + 0.78 * x})`;
	}

	x(slice) {
		const m = this.m;
		return LEFT + (m.time(slice) - m.begin) / m.length * (this.width - LEFT - RIGHT);
	}

	drawAxes(c, bottom) {
		const m = this.m, n = Math.max(2, Math.floor((this.width - LEFT) / 130));
		c.fillStyle = p.variable("--muted");
		c.textAlign = "right";
		m.o.rows.forEach((row, r) => c.fillText(f.cut(row.name, 22), LEFT - 8, (r + 0.5) * this.line));
		c.textAlign = "center";
		for (const t of f.ticks(m.begin, m.begin + m.length, n)) {
			const x = LEFT + (t - m.begin) / m.length * (this.width - LEFT - RIGHT);
			c.fillRect(Math.round(x), bottom, 1, 4);
			c.fillText(f.time(t), Math.min(x, this.width - 26), bottom + 15);
		}
	}

	drawArea(c, a) {
		const x = this.x(a.begin), w = this.x(a.end) - x;
		const y = a.first * this.line, hgt = (a.last - a.first) * this.line;
		const gap = Math.min(1, w / 4);
		/* Without accesses only its border, so that one sees what is one. */
		c.fillStyle = a.accesses ? this.fill(a) : p.variable("--line");
		c.fillRect(x + gap / 2, y + 0.5, w - gap, hgt - 1);
		if (!a.accesses) {
			c.fillStyle = p.variable("--plot");
			c.fillRect(x + gap / 2 + 1, y + 1.5, Math.max(0, w - gap - 2), hgt - 3);
		}
		if (!a.all || w < 130 || hgt < 24)
			return;
		c.fillStyle = p.variable("--surface");
		c.fillRect(x + w / 2 - 58, y + hgt / 2 - 10, 116, 20);
		c.fillStyle = p.variable("--text");
		c.fillText(`all ${this.m.rows} together`, x + w / 2, y + hgt / 2);
	}

	draw() {
		const ratio = window.devicePixelRatio || 1, m = this.m;
		const bottom = m.rows * this.line, height = bottom + AXIS;
		this.width = Math.max(260, this.element.clientWidth || 800);
		this.canvas.width = Math.round(this.width * ratio);
		this.canvas.height = Math.round(height * ratio);
		this.canvas.style.height = `${height}px`;
		const c = this.canvas.getContext("2d");
		c.setTransform(ratio, 0, 0, ratio, 0, 0);
		c.font = `11px ${p.variable("--font")}`;
		c.textBaseline = "middle";
		c.fillStyle = p.variable("--plot");
		c.fillRect(LEFT, 0, this.width - LEFT - RIGHT, bottom);
		this.drawAxes(c, bottom);
		for (const a of this.level.list)
			this.drawArea(c, a);
		if (!this.cursor)
			return;
		const a = this.area(this.cursor);
		c.strokeStyle = p.variable("--text");
		c.lineWidth = 2;
		c.strokeRect(this.x(a.begin) + 1, a.first * this.line + 1,
			     this.x(a.end) - this.x(a.begin) - 2, (a.last - a.first) * this.line - 2);
	}

	area({ row, slice }) {
		return this.level.list[this.level.cell[row * this.m.slices + slice]];
	}

	/* The cell below the pointer, or null. */
	cellAt(e) {
		const r = this.canvas.getBoundingClientRect(), m = this.m;
		const row = Math.floor((e.clientY - r.top) / this.line);
		const t = (e.clientX - r.left - LEFT) / (this.width - LEFT - RIGHT) * m.length;
		const slice = Math.floor(t / m.o.slice_ns);
		return row >= 0 && row < m.rows && t >= 0 && t < m.length && slice < m.slices ? { row, slice } : null;
	}

	move(dx, dy) {
		const m = this.m, at = this.cursor;
		if (at) {
			const a = this.area(at);
			const slice = dx ? dx > 0 ? a.end : a.begin - 1 : at.slice;
			const row = dy ? dy > 0 ? a.last : a.first - 1 : at.row;
			if (slice >= 0 && slice < m.slices && row >= 0 && row < m.rows)
				this.cursor = { row, slice };
		} else {
			this.cursor = { row: 0, slice: 0 };
		}
		this.status.textContent = describe(m, this.area(this.cursor)).map((x) => x.join(": ")).join(", ");
		this.draw();
	}

	listen() {
		const c = this.canvas;
		c.addEventListener("pointermove", (e) => {
			const at = this.cellAt(e);
			c.style.cursor = at ? "pointer" : "default";
			return at ? tip.show(e.clientX, e.clientY, pairs(describe(this.m, this.area(at)))) : tip.hide();
		});
		c.addEventListener("pointerleave", () => tip.hide());
		c.addEventListener("click", (e) => {
			const at = this.cellAt(e);
			if (at)
				this.open(at.row);
		});
		c.addEventListener("keydown", (e) => {
			const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[e.key];
			if (by) {
				e.preventDefault();
				this.move(...by);
			} else if (e.key === "Enter" && this.cursor) {
				this.open(this.cursor.row);
			}
		});
	}

	rows() {
		return [["structure", "begin_ns", "end_ns", "reads", "writes"], ...this.level.list.map((a) => [
			nameOf(this.m, a), Math.round(this.m.time(a.begin)), Math.round(this.m.time(a.end)), a.reads, a.writes])];
	}
}

function parts(m, level) {
	const most = level.list.filter((a) => a.accesses).sort((a, b) => b.accesses - a.accesses).slice(0, TOP_PARTS);
	const head = ["Structure", "From", "To", "Reads", "Writes", "Share"];
	return h("table", {}, h("thead", {}, h("tr", {}, head.map((x, i) => h("th", { scope: "col", class: i ? "plain n" : "plain" }, x)))),
		h("tbody", {}, most.map((a) => h("tr", {},
			h("th", { scope: "row" }, a.all ? nameOf(m, a) : linkTo(m.d, m.o.rows[a.first].object, nameOf(m, a))),
			[f.time(m.time(a.begin)), f.time(m.time(a.end)), f.count(a.reads), f.count(a.writes),
			 f.percent(a.accesses, m.total)].map((x) => h("td", { class: "n" }, x))))));
}

function legendOf(mode) {
	return mode === "type" ?
		legend([[p.css(p.READ), "reads"], [p.css(p.BOTH), "both"], [p.css(p.WRITE), "writes"], ["var(--plot)", "no access"]]) :
		legend([[p.css(p.scale(0.05)), "few"], [p.css(p.scale(0.5)), ""], [p.css(p.scale(1)), "many (logarithmic)"], ["var(--plot)", "no access"]]);
}

/* Both curves, and how many parts there are; a click chooses p. */
function curves(m, chosen, choose) {
	const q = m.o.qualities, finest = q.reduce((a, x) => Math.max(a, x.areas), 1);
	/* The last one reaches to 1. */
	const of = (get) => Float64Array.from([...q, q.at(-1)], get);
	const x = Float64Array.from([...q.map((v) => v.p_begin), 1]);
	return lines({ x, xLabel: "p", yLabel: "share", height: 240, yText: share,
		label: "Simplicity gained and information lost by the parameter p; a line marks the chosen p",
		mark: () => m.levels[chosen()].p, onpick: (value) => choose(m.at(value)),
		series: [{ label: "gain (simpler)", values: of((v) => v.gain), color: p.css(p.READ), width: 2, stepped: true },
			{ label: "loss (information)", values: of((v) => v.loss), color: p.css(p.WRITE), width: 2, stepped: true },
			{ label: `parts (of ${f.count(finest)})`, values: of((v) => v.areas / finest), color: p.css(p.OTHER), dash: [4, 3], stepped: true }] });
}

/* A slider over the partitions, with what is said of the chosen one. */
function controls(m, start, mode, changed) {
	const last = m.levels.length - 1;
	let at = start;
	const said = h("p", { class: "detail-status", role: "status" });
	const slider = h("input", { type: "range", id: "detail", min: 0, max: last, step: 1, value: at,
		disabled: !last, oninput: () => set(Number(slider.value)) });
	const set = (i) => {
		const l = m.levels[at = Math.min(last, Math.max(0, i))];
		slider.value = at;
		slider.setAttribute("aria-valuetext", `p ${short(l.p)}, ${l.count} parts`);
		said.replaceChildren(h("b", {}, `p = ${short(l.p)}`), ` · ${f.count(l.count)} part${l.count === 1 ? "" : "s"} · `,
			`${share(l.gain)} of the possible gain in simplicity, ${share(l.loss)} of the possible loss of information`);
		changed(at, mode);
	};
	const colours = h("div", { class: "modes", role: "group", "aria-label": "What colours mean" }, modes.map(([k, text]) =>
		h("button", { type: "button", "data-mode": k, "aria-pressed": k === mode ? "true" : "false", onclick: (e) => {
			mode = k;
			for (const b of colours.children)
				b.setAttribute("aria-pressed", b === e.currentTarget ? "true" : "false");
			changed(at, mode);
		} }, text)));
	const best = h("button", { type: "button", "data-action": "best", title: "Most gain for its loss", onclick: () => set(m.at(m.o.p)) }, "Best trade");
	return { set, chosen: () => at, element: [h("div", { class: "bar-row" },
		h("div", { class: "detail" }, h("label", { for: "detail" }, "Detail"), h("span", { "aria-hidden": "true" }, "all"), slider, h("span", { "aria-hidden": "true" }, "simple"), best),
		colours), said] };
}

/* Not more often than browsers let an address change. */
function rememberer(m) {
	let timer = 0;
	return (level, mode) => {
		clearTimeout(timer);
		timer = setTimeout(() => {
			if (!location.hash.startsWith("#/overview"))
				return;
			const q = new URLSearchParams({ p: String(+m.levels[level].p.toPrecision(7)) });
			if (mode !== "type")
				q.set("mode", mode);
			history.replaceState(null, "", `#/overview?${q}`);
		}, 200);
	};
}

export function overview(d, state) {
	if (!d.summary.overview?.levels?.length)
		return [h("p", { class: "empty" }, "There is nothing to divide: no data structure was accessed.")];
	const m = model(d), asked = parseFloat(state.get("p"));
	const first = m.at(asked >= 0 && asked <= 1 ? asked : m.o.p);
	const mode = modes.some(([k]) => k === state.get("mode")) ? state.get("mode") : "type";
	const open = (row) => {
		const { object, name } = m.o.rows[row];
		if (isHere(d, object, name))
			location.hash = `#/object/${object}`;
	};
	const picture = new Areas(m, m.levels[first], mode, open), remember = rememberer(m);
	const keys = h("div", { class: "legend-slot" }), list = h("div", { class: "scroll-x", tabindex: 0, role: "region", "aria-label": "Table of the largest parts" });
	let shown = false;
	const change = (level, how) => {
		keys.replaceChildren(legendOf(how));
		picture.set(m.levels[level], how);
		list.replaceChildren(parts(m, m.levels[level]));
		chart?.mark();
		if (shown)
			remember(level, how);
	};
	const slider = controls(m, first, mode, change);
	let chart = null;
	slider.set(first);
	chart = curves(m, slider.chosen, slider.set);
	shown = true;
	return [
		figure({ id: "areas", title: "Where what happens differs", explain: texts.areas,
			subtitle: `${f.count(m.rows)} most accessed data structures over ${f.count(m.slices)} slices of ${f.time(m.o.slice_ns)}; ${f.count(m.levels.length)}${m.levels.length < m.o.qualities.length ? ` of ${f.count(m.o.qualities.length)}` : ""} levels of detail`,
			body: [slider.element, keys, picture.element], picture: () => picture.canvas, rows: () => picture.rows() }),
		figure({ id: "trade", title: "Simplicity gained, information lost", subtitle: "The line marks the chosen p; click to choose another", explain: texts.trade,
			body: chart.element, picture: chart.picture,
			rows: () => [["p_begin", "gain", "loss", "parts"], ...m.o.qualities.map((q) => [q.p_begin, q.gain, q.loss, q.areas])] }),
		h("section", { class: "panel" }, h("h3", {}, "The parts with most accesses"), list),
	];
}
