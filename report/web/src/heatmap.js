// SPDX-License-Identifier: GPL-2.0-or-later
// Time x address of one object, on a canvas, with an overview of all of it.
import { h, tip, pairs } from "./dom.js";
import { raster, inspect } from "./raster.js";
import * as f from "./format.js";
import * as p from "./palette.js";
import { threadName } from "./data.js";
import { elements, indexAt } from "./shape.js";
import { canvasContext } from "./vector.js";

const LEFT = 112, BOTTOM = 30, TOP = 6, RIGHT = 8, OVERVIEW = 46;
const UNKNOWN_NODE = 255;

export class Heatmap {
	/** options: { d, object, plot, heat, mode, view, threads, changed } */
	constructor(options) {
		Object.assign(this, options);
		this.scale = 2 ** this.plot.heat.time_shift;
		this.bins = Math.ceil(this.d.bins / this.scale);
		this.all = { r0: 0, r1: this.heat.rows, b0: 0, b1: this.bins };
		this.crop();
		this.view = this.view || { ...this.home };
		this.cursor = null;
		this.colors = new Map(this.threads.map((t, i) =>
			[t, p.categorical(this.threads.length)[i]]));
		this.canvas = h("canvas", { class: "heat", tabindex: 0, role: "img",
			"aria-label": `Accesses to ${f.cut(this.object.name, 80)} by time and address. Arrow keys move, plus and minus zoom, 0 shows all, Enter reads the middle.` });
		this.overview = h("canvas", { class: "overview", "aria-hidden": "true" });
		this.status = h("p", { class: "heat-status", role: "status" });
		this.element = h("div", { class: "heatmap" }, this.canvas,
				 this.overview, this.status);
		this.listen();
		new ResizeObserver(() => this.draw()).observe(this.element);
	}

	/* No blank plot: from the first to the last bin that has anything. */
	crop() {
		let first = this.bins, last = 0;
		for (const b of this.heat.bin) {
			first = Math.min(first, b);
			last = Math.max(last, b + 1);
		}
		this.home = { r0: 0, r1: this.heat.rows,
			      b0: first < last ? first : 0,
			      b1: first < last ? last : this.bins };
	}

	timeOf(bin) {
		return this.d.time.begin_ns + bin / this.bins * this.d.length;
	}

	addressOf(row) {
		return this.heat.group[row] * 2 ** this.plot.heat.page_shift * 4096;
	}

	resize(canvas, height) {
		const width = Math.max(240, this.element.clientWidth);
		return [canvasContext(canvas, width, height), width];
	}

	color(x, at, log) {
		const n = x.reads[at] + x.writes[at] + x.other[at];
		if (!n)
			return null;
		const strength = 0.3 + 0.7 * Math.log1p(n) / log;
		let base;

		if (this.mode === "count")
			return [...p.scale(Math.log1p(n) / log), 1];
		if (this.mode === "type") {
			base = p.mix(x.reads[at], x.writes[at], x.other[at]);
		} else if (this.mode === "thread") {
			base = this.colors.get(x.kind[at]) || p.OTHER;
		} else if (this.mode === "sharing") {
			base = [p.PRIVATE, p.SHARED_READ, p.SHARED_WRITE][x.kind[at]];
		} else {
			const node = x.kind[at] & 255;
			base = x.kind[at] >> 8 ? p.REMOTE : node === UNKNOWN_NODE ?
				p.OTHER : p.categorical(this.nodes().length)[this.nodes().indexOf(node)] || p.OTHER;
		}
		return [...base, strength];
	}

	nodes() {
		this.nodeList = this.nodeList || [...new Set(
			Array.from(this.heat.node, (v) => v & 255))]
			.filter((v) => v !== UNKNOWN_NODE).sort((a, b) => a - b);
		return this.nodeList;
	}

	paint(c, view, x0, y0, w, hgt, mode) {
		const ratio = window.devicePixelRatio || 1;
		const x = raster(this.heat, view, Math.round(w * ratio),
				 Math.round(hgt * ratio), mode);
		const image = new ImageData(x.w, x.h), log = Math.log1p(x.max) || 1;
		for (let at = 0; at < x.w * x.h; at++) {
			const rgb = this.color(x, at, log);
			if (!rgb)
				continue;
			image.data.set([rgb[0], rgb[1], rgb[2],
					Math.round(255 * rgb[3])], 4 * at);
		}
		const small = h("canvas", { width: x.w, height: x.h });
		small.getContext("2d").putImageData(image, 0, 0);
		c.imageSmoothingEnabled = false;
		c.save();
		c.beginPath();
		c.rect(x0, y0, w, hgt);
		c.clip();
		const perBin = w / (view.b1 - view.b0), perRow = hgt / (view.r1 - view.r0);
		c.drawImage(small, x0 + (x.b0 - view.b0) * perBin,
			    y0 + (x.r0 - view.r0) * perRow,
			    (x.b1 - x.b0) * perBin, (x.r1 - x.r0) * perRow);
		c.restore();
		return x;
	}

	/* Each frame at most once. */
	draw() {
		if (this.pending)
			return;
		this.pending = requestAnimationFrame(() => {
			this.pending = 0;
			this.drawNow();
		});
	}

	drawNow() {
		if (!this.element.isConnected || !this.heat.rows)
			return;
		const began = performance.now();
		const height = this.height();
		const [c, width] = this.resize(this.canvas, height);

		this.area = { x: LEFT, y: TOP, w: width - LEFT - RIGHT, h: height - TOP - BOTTOM };
		this.drawPlot(c);
		this.drawBox(c);
		this.drawOverview();
		this.canvas.dataset.drawMs = (performance.now() - began).toFixed(1);
	}

	height() {
		return Math.round(Math.min(520, Math.max(220,
			this.heat.rows * 14 + TOP + BOTTOM)));
	}

	/* Into a context of a canvas or of an SVG. */
	drawPlot(c) {
		const a = this.area;
		c.fillStyle = p.variable("--plot");
		c.fillRect(a.x, a.y, a.w, a.h);
		this.shown = this.paint(c, this.view, a.x, a.y, a.w, a.h, this.mode);
		this.drawGaps(c);
		this.drawAxes(c);
	}

	picture() {
		return { size: [this.area.w + LEFT + RIGHT, this.height()], paint: (c) => this.drawPlot(c) };
	}

	/* Where addresses are not neighbours, and cells are large enough to tell. */
	drawGaps(c) {
		const { r0, r1 } = this.view, a = this.area;
		if (a.h / (r1 - r0) < 6)
			return;
		c.strokeStyle = p.variable("--muted");
		c.setLineDash([3, 3]);
		c.beginPath();
		for (let r = Math.max(1, Math.ceil(r0)); r < r1; r++) {
			if (this.heat.group[r] === this.heat.group[r - 1] + 1 &&
			    this.heat.pid[r] === this.heat.pid[r - 1])
				continue;
			const y = a.y + (r - r0) / (r1 - r0) * a.h;
			c.moveTo(a.x, y);
			c.lineTo(a.x + a.w, y);
		}
		c.stroke();
		c.setLineDash([]);
	}

	/* Its address; and below, of an array, the index of its first element. */
	drawPlace(c, row, x, y) {
		const at = this.addressOf(row), first = parseInt(this.object.addr, 16), end = at + 2 ** this.plot.heat.page_shift * 4096;
		/* Of another process the variable may be elsewhere. */
		const index = indexAt(this.object, at < first && end > first ? first : at);
		c.fillText(f.hex(at), x, y - (index ? 6 : 0));
		if (index)
			c.fillText(f.cut(index, 18), x, y + 7);
	}

	drawAxes(c) {
		const { r0, r1, b0, b1 } = this.view, a = this.area;
		c.font = `11px ${p.variable("--font")}`;
		c.fillStyle = p.variable("--muted");
		c.strokeStyle = p.variable("--line");
		c.textBaseline = "middle";
		c.textAlign = "right";
		const rows = Math.min(Math.ceil(r1) - Math.floor(r0), Math.floor(a.h / 40) + 1);
		for (let i = 0; i < rows; i++) {
			const r = Math.min(this.heat.rows - 1, Math.floor(r0 + (i + 0.5) * (r1 - r0) / rows));
			const y = a.y + (r + 0.5 - r0) / (r1 - r0) * a.h;
			if (y > a.y + 4 && y < a.y + a.h - 4)
				this.drawPlace(c, r, a.x - 6, y);
		}
		c.textAlign = "center";
		c.textBaseline = "top";
		const t0 = this.timeOf(b0), t1 = this.timeOf(b1);
		for (const t of f.ticks(t0, t1, Math.max(2, a.w / 110))) {
			const x = a.x + (t - t0) / (t1 - t0) * a.w;
			c.beginPath();
			c.moveTo(x, a.y + a.h);
			c.lineTo(x, a.y + a.h + 4);
			c.stroke();
			if (x > a.x + 20 && x < a.x + a.w - 24)
				c.fillText(f.time(t), x, a.y + a.h + 7);
		}
		c.strokeRect(a.x + 0.5, a.y + 0.5, a.w - 1, a.h - 1);
	}

	drawBox(c) {
		if (!this.box)
			return;
		const { x0, y0, x1, y1 } = this.box;
		c.strokeStyle = p.variable("--text");
		c.setLineDash([4, 3]);
		c.strokeRect(Math.min(x0, x1), Math.min(y0, y1),
			     Math.abs(x1 - x0), Math.abs(y1 - y0));
		c.setLineDash([]);
	}

	drawOverview() {
		const [c, width] = this.resize(this.overview, OVERVIEW);
		const w = width - LEFT - RIGHT, v = this.view, a = this.home;
		const key = [w, this.mode, p.isDark()].join();
		if (this.overviewKey !== key) {
			/* The whole of it takes longest, and stays as it is. */
			this.overviewKey = key;
			this.whole = h("canvas", { width: this.overview.width, height: this.overview.height });
			const g = this.whole.getContext("2d"), ratio = window.devicePixelRatio || 1;
			g.setTransform(ratio, 0, 0, ratio, 0, 0);
			g.fillStyle = p.variable("--plot");
			g.fillRect(LEFT, 0, w, OVERVIEW);
			this.paint(g, a, LEFT, 0, w, OVERVIEW, this.mode);
		}
		c.drawImage(this.whole, 0, 0, width, OVERVIEW);
		const x = LEFT + (v.b0 - a.b0) / (a.b1 - a.b0) * w;
		const y = (v.r0 - a.r0) / (a.r1 - a.r0) * OVERVIEW;
		c.strokeStyle = p.variable("--text");
		c.lineWidth = 1.5;
		c.strokeRect(x, y, Math.max(3, (v.b1 - v.b0) / (a.b1 - a.b0) * w),
			     Math.max(3, (v.r1 - v.r0) / (a.r1 - a.r0) * OVERVIEW));
		c.fillStyle = p.variable("--muted");
		c.font = `11px ${p.variable("--font")}`;
		c.textAlign = "right";
		c.textBaseline = "middle";
		c.fillText("all of it", LEFT - 6, OVERVIEW / 2);
	}

	/* --- moving ---------------------------------------------------------- */

	set(view) {
		const a = this.home;
		const wanted = (lo, hi, min, max, least) => {
			const span = Math.min(max - min, Math.max(least, hi - lo));
			let at = Math.min(max - span, Math.max(min, lo));
			/* One row, or bin, and not parts of two. */
			if (span <= least)
				at = Math.min(max - span, Math.floor(at + least / 2));
			return [at, at + span];
		};
		const [r0, r1] = wanted(view.r0, view.r1, a.r0, a.r1, 1);
		const [b0, b1] = wanted(view.b0, view.b1, a.b0, a.b1, 1);
		this.view = { r0, r1, b0, b1 };
		this.draw();
		this.changed?.(this.isHome() ? null : this.view);
		this.say();
	}

	/** That time, as far as this has any of it; null: all. Nobody is told. */
	showTime(range) {
		const a = this.home, bin = (ns) => (ns - this.d.time.begin_ns) / this.d.length * this.bins;
		const b0 = range ? Math.max(a.b0, bin(range[0])) : a.b0, b1 = range ? Math.min(a.b1, bin(range[1])) : a.b1;
		this.view = { ...this.view, ...(b1 > b0 ? { b0, b1: Math.max(b1, Math.min(a.b1, b0 + 1)) } : { b0: a.b0, b1: a.b1 }) };
		this.draw();
		this.say();
	}

	/** The time that is shown, if that is not all. */
	timeShown() {
		const v = this.view, a = this.home;
		return v.b0 > a.b0 + 1e-6 || v.b1 < a.b1 - 1e-6 ? [this.timeOf(v.b0), this.timeOf(v.b1)] : null;
	}

	isHome() {
		return ["r0", "r1", "b0", "b1"].every((k) =>
			Math.abs(this.view[k] - this.home[k]) < 1e-6);
	}

	reset() {
		this.set(this.home);
	}

	/* By factor, around a point of the area (0 to 1). */
	zoom(factor, fx = 0.5, fy = 0.5, rows = true, bins = true) {
		const v = this.view;
		const at = (lo, hi, f0, on) => {
			if (!on)
				return [lo, hi];
			const span = (hi - lo) * factor, mid = lo + f0 * (hi - lo);
			return [mid - f0 * span, mid + (1 - f0) * span];
		};
		const [b0, b1] = at(v.b0, v.b1, fx, bins);
		const [r0, r1] = at(v.r0, v.r1, fy, rows);
		this.set({ r0, r1, b0, b1 });
	}

	pan(bins, rows) {
		const v = this.view, b = bins * (v.b1 - v.b0), r = rows * (v.r1 - v.r0);
		this.set({ r0: v.r0 + r, r1: v.r1 + r, b0: v.b0 + b, b1: v.b1 + b });
	}

	/* Rows and bins of the raster cell at a point; null outside. */
	cellAt(x, y) {
		const a = this.area, v = this.view, s = this.shown;
		if (!s || x < a.x || x >= a.x + a.w || y < a.y || y >= a.y + a.h)
			return null;
		const bin = v.b0 + (x - a.x) / a.w * (v.b1 - v.b0);
		const row = v.r0 + (y - a.y) / a.h * (v.r1 - v.r0);
		const i = Math.floor((bin - s.b0) * s.w / (s.b1 - s.b0));
		const k = Math.floor((row - s.r0) * s.h / (s.r1 - s.r0));
		const up = (n, of, total, from) => from + Math.ceil(n * total / of);
		return { r0: up(k, s.h, s.r1 - s.r0, s.r0), r1: up(k + 1, s.h, s.r1 - s.r0, s.r0),
			 b0: up(i, s.w, s.b1 - s.b0, s.b0), b1: up(i + 1, s.w, s.b1 - s.b0, s.b0) };
	}

	describe(cell) {
		const s = inspect(this.heat, cell.r0, cell.r1, cell.b0, cell.b1);
		const pages = 2 ** this.plot.heat.page_shift;
		const top = [...s.threads].sort((a, b) => b[1] - a[1]);
		const n = s.reads + s.writes + s.other;
		const from = this.addressOf(cell.r0);
		const to = this.addressOf(cell.r1 - 1) + pages * 4096, inside = elements(this.object, from, to);
		return [
			["Time", `${f.time(this.timeOf(cell.b0))} to ${f.time(this.timeOf(cell.b1))}`],
			["Address", `${f.hex(from)} to ${f.hex(to)}`],
			inside ? ["Elements", f.cut(inside, 80)] : null,
			["Pages", cell.r1 - cell.r0 === 1 && pages === 1 ? "1" :
				`${f.count(cell.r1 - cell.r0)} group${cell.r1 - cell.r0 > 1 ? "s" : ""} of ${f.count(pages)}`],
			["Reads", f.count(s.reads)], ["Writes", f.count(s.writes)],
			s.other ? ["Unknown type", f.count(s.other)] : null,
			["Threads", top.length ? top.slice(0, 4).map(([t, k]) =>
				`${f.cut(threadName(this.d, t), 24)} ${f.percent(k, n)}`).join(", ") +
				(top.length > 4 ? `, ${top.length - 4} more` : "") : "none"],
			["Shared", s.cells ? `${f.count(s.shared)} of ${f.count(s.cells)} page-times, ${f.count(s.sharedWritten)} of them written` : "–"],
			["Nodes", [...s.nodes].map(([k, m]) => `${k === UNKNOWN_NODE ? "not known" : k}: ${f.percent(m, n)}`).join(", ") || "–"],
			s.remote ? ["From another node", f.percent(s.remote, n)] : null,
		].filter(Boolean);
	}

	say(cell) {
		const v = this.view, pages = 2 ** this.plot.heat.page_shift;
		const rows = Math.ceil(v.r1) - Math.floor(v.r0);
		this.status.textContent = cell ? this.describe(cell)
			.map(([k, x]) => `${k}: ${x}`).join("; ") :
			`${f.time(this.timeOf(v.b0))} to ${f.time(this.timeOf(v.b1))}, ${f.count(rows * pages)} page${rows * pages > 1 ? "s" : ""}${this.isHome() ? " (all)" : ""}`;
	}

	listen() {
		const el = this.canvas;
		const point = (e) => {
			const r = el.getBoundingClientRect();
			return [e.clientX - r.left, e.clientY - r.top];
		};
		el.addEventListener("wheel", (e) => {
			const [x, y] = point(e), a = this.area;
			e.preventDefault();
			this.zoom(Math.exp(Math.sign(e.deltaY || e.deltaX) * 0.25),
				  Math.min(1, Math.max(0, (x - a.x) / a.w)),
				  Math.min(1, Math.max(0, (y - a.y) / a.h)),
				  !e.altKey, !e.shiftKey);
		}, { passive: false });
		el.addEventListener("pointerdown", (e) => {
			if (e.button)
				return;
			const [x, y] = point(e);
			el.setPointerCapture(e.pointerId);
			this.drag = { x, y, view: { ...this.view }, pan: e.shiftKey };
			el.focus({ preventScroll: true });
		});
		el.addEventListener("pointermove", (e) => this.moved(e, ...point(e)));
		el.addEventListener("pointerup", () => this.dropped());
		el.addEventListener("pointercancel", () => this.dropped());
		el.addEventListener("pointerleave", () => tip.hide());
		el.addEventListener("dblclick", () => this.reset());
		el.addEventListener("keydown", (e) => this.key(e));
		this.overview.addEventListener("pointerdown", (e) => {
			const r = this.overview.getBoundingClientRect(), a = this.home, v = this.view;
			const fx = (e.clientX - r.left - LEFT) / (r.width - LEFT - RIGHT);
			const fy = (e.clientY - r.top) / r.height;
			const b = a.b0 + fx * (a.b1 - a.b0) - (v.b1 - v.b0) / 2;
			const row = a.r0 + fy * (a.r1 - a.r0) - (v.r1 - v.r0) / 2;
			this.set({ b0: b, b1: b + v.b1 - v.b0, r0: row, r1: row + v.r1 - v.r0 });
		});
	}

	moved(e, x, y) {
		const a = this.area, g = this.drag;
		if (!a)
			return;
		if (g?.pan) {
			const v = g.view;
			const b = (g.x - x) / a.w * (v.b1 - v.b0), r = (g.y - y) / a.h * (v.r1 - v.r0);
			this.set({ r0: v.r0 + r, r1: v.r1 + r, b0: v.b0 + b, b1: v.b1 + b });
		} else if (g && Math.hypot(x - g.x, y - g.y) > 4) {
			const inX = (n) => Math.min(a.x + a.w, Math.max(a.x, n));
			const inY = (n) => Math.min(a.y + a.h, Math.max(a.y, n));
			this.box = { x0: inX(g.x), y0: inY(g.y), x1: inX(x), y1: inY(y) };
			tip.hide();
			this.draw();
		} else {
			const cell = this.cellAt(x, y);
			if (cell)
				tip.show(e.clientX, e.clientY, pairs(this.describe(cell)));
			else
				tip.hide();
		}
	}

	dropped() {
		const b = this.box, a = this.area, v = this.view;
		this.drag = this.box = null;
		if (!b)
			return;
		const bin = (x) => v.b0 + (x - a.x) / a.w * (v.b1 - v.b0);
		const row = (y) => v.r0 + (y - a.y) / a.h * (v.r1 - v.r0);
		this.set({ b0: bin(Math.min(b.x0, b.x1)), b1: bin(Math.max(b.x0, b.x1)),
			   r0: row(Math.min(b.y0, b.y1)), r1: row(Math.max(b.y0, b.y1)) });
	}

	key(e) {
		const step = e.shiftKey ? 0.5 : 0.15;
		const keys = {
			ArrowLeft: () => this.pan(-step, 0), ArrowRight: () => this.pan(step, 0),
			ArrowUp: () => this.pan(0, -step), ArrowDown: () => this.pan(0, step),
			"+": () => this.zoom(0.7), "=": () => this.zoom(0.7),
			"-": () => this.zoom(1 / 0.7), _: () => this.zoom(1 / 0.7),
			"0": () => this.reset(), Home: () => this.reset(),
			Enter: () => {
				const a = this.area;
				this.say(this.cellAt(a.x + a.w / 2, a.y + a.h / 2));
			},
		};
		if (e.ctrlKey || e.metaKey || e.altKey || !keys[e.key])
			return;
		e.preventDefault();
		keys[e.key]();
	}

	setMode(mode) {
		this.mode = mode;
		this.draw();
	}

	/** What is shown, cell by cell. */
	rows() {
		const v = this.view, heat = this.heat;
		const out = [["process", "address", "pages", "begin_ns", "end_ns",
			      "thread", "node", "from_another_node", "reads",
			      "writes", "unknown"]];
		for (let r = Math.floor(v.r0); r < Math.ceil(v.r1); r++)
			for (let i = heat.start[r]; i < heat.start[r + 1]; i++) {
				if (heat.bin[i] < Math.floor(v.b0) || heat.bin[i] >= Math.ceil(v.b1))
					continue;
				const node = heat.node[i] & 255;
				out.push([heat.pid[r], f.hex(this.addressOf(r)),
					2 ** this.plot.heat.page_shift,
					Math.round(this.timeOf(heat.bin[i])),
					Math.round(this.timeOf(heat.bin[i] + 1)),
					threadName(this.d, heat.thread[i]),
					node === UNKNOWN_NODE ? "" : node,
					heat.node[i] >> 8, heat.reads[i],
					heat.writes[i], heat.other[i]]);
			}
		return out;
	}
}
