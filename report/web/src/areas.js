// SPDX-License-Identifier: GPL-2.0-or-later
// The overview's picture: time x place, a rectangle for each area.
import { h, tip, pairs } from "./dom.js";
import { onSelect, select, selected } from "./selection.js";
import { canvasContext } from "./vector.js";
import { unpack, describe, topKinds, colorsOf } from "./space.js";
import * as f from "./format.js";
import * as p from "./palette.js";

const RIGHT = 12, AXIS = 28, GAP = 4;
const WANTED = 560;	/* height of the places, when these are neither few nor many */
const DECADES = 3;	/* of accesses per page, from weak to strong */

const shade = (color, x) => `rgba(${color.map(Math.round).join(", ")}, ${(0.22 + 0.78 * x).toFixed(3)})`;

export class Areas {
	/** only: an object of the model, or null; changed(area): one was chosen */
	constructor(m, level, { mode, only, cursor, changed, open }) {
		Object.assign(this, { m, mode, only, cursor, changed, open, level: unpack(m, level) });
		this.canvas = h("canvas", { class: "areas", tabindex: 0, role: "img", "aria-describedby": "area-title",
			"aria-label": "Areas of data and time in which what happens is alike. Arrow keys go from area to area, Enter opens the structure there." });
		this.element = h("div", { class: "heatmap" }, this.canvas);
		this.band = null;	/* what is being dragged over: [x, x] */
		this.layout();
		this.listen();
		onSelect(this.element, () => this.draw());
		new ResizeObserver(() => this.element.isConnected && this.draw()).observe(this.element);
	}

	/* How high each structure's pages are. */
	layout() {
		const shown = this.m.objects.filter((o) => !this.only || o === this.only);
		const leaves = shown.reduce((n, o) => n + o.end - o.begin, 0);
		const each = Math.min(22, Math.max(2, WANTED / leaves));
		let y = 0;
		this.places = shown.map((o) => {
			const height = Math.max(20, Math.round((o.end - o.begin) * each));
			const place = { o, y, height, each: height / (o.end - o.begin) };
			y += height + GAP;
			return place;
		});
		this.bottom = y - GAP;
		this.height = this.bottom + AXIS;
	}

	set(changes) {
		Object.assign(this, changes);
		unpack(this.m, this.level);
		if (this.only && this.cursor && !this.isShown(this.cursor.leaf))
			this.cursor = null;
		this.layout();
		tip.hide();
		this.draw();
	}

	isShown(leaf) {
		return !this.only || (leaf >= this.only.begin && leaf < this.only.end);
	}

	/* From weak to strong: accesses per page and slice. */
	strength(mean) {
		return this.m.most ? Math.log1p((10 ** DECADES - 1) * mean / this.m.most) / Math.log(10 ** DECADES) : 0;
	}

	fill(a) {
		if (this.mode === "count")
			return p.css(p.scale(this.strength(a.mean)));
		return shade(p.mix(a.reads, a.writes, a.other), this.strength(a.mean));
	}

	/* By who has most of it: areas are what is alike in counts, so each cell of them has its own. */
	drawKinds(c, a, width) {
		const m = this.m, most = topKinds(m, this.mode), colors = colorsOf(m, this.mode);
		for (const { o, y, each } of this.places)
			for (let r = Math.max(o.begin, a.node.begin); r < Math.min(o.end, a.node.end); r++)
				for (let s = a.begin; s < a.end; s++) {
					const top = most[r * m.slices + s];
					if (!top)
						continue;
					const x = this.x(s, width), w = this.x(s + 1, width) - x, from = Math.round(y + (r - o.begin) * each);
					c.fillStyle = shade(colors.of(top[0]), this.strength(top[1] / m.nodes[r].pages));
					/* To whole pixels: no seams between pages. */
					c.fillRect(x, from, w - Math.min(1, w / 6), Math.round(y + (r + 1 - o.begin) * each) - from);
				}
	}

	left(width) {
		return Math.min(150, Math.round(width * 0.27));
	}

	/* The slices that are shown, with parts of them: what is selected of the time. */
	shown() {
		const { m } = this, range = selected(), begin = m.time(0), end = m.time(m.slices);
		const at = (t) => Math.min(m.slices, Math.max(0, (t - begin) / (end - begin) * m.slices));
		const [a, b] = range ? range.map(at) : [0, m.slices];
		return b > a ? [a, b] : [0, m.slices];
	}

	x(slice, width) {
		const left = this.left(width), [a, b] = this.view;
		return left + (Math.min(b, Math.max(a, slice)) - a) / (b - a) * (width - left - RIGHT);
	}

	/* The time at a place of the picture. */
	timeAt(x) {
		const left = this.left(this.width), [a, b] = this.view;
		return this.m.time(a + Math.min(1, Math.max(0, (x - left) / (this.width - left - RIGHT))) * (b - a));
	}

	/* The rectangle of an area; null when it is not shown. */
	box(a, width) {
		const first = this.places.find(({ o }) => o.end > a.node.begin), last = this.places.findLast(({ o }) => o.begin < a.node.end);
		if (!first || !last || first.o.begin >= a.node.end || last.o.end <= a.node.begin)
			return null;
		const y = first.y + Math.max(0, a.node.begin - first.o.begin) * first.each;
		const end = last.y + Math.min(last.o.end - last.o.begin, a.node.end - last.o.begin) * last.each;
		const x = this.x(a.begin, width), w = this.x(a.end, width) - x;
		return w > 0 ? { x, y, w, h: end - y } : null;
	}

	drawAxes(c, width) {
		const m = this.m, left = this.left(width), names = Math.floor(left / 6.6);
		const n = Math.max(2, Math.floor((width - left) / 130)), [begin, end] = this.view.map(m.time);
		c.fillStyle = p.variable("--muted");
		c.textAlign = "right";
		for (const { o, y, height } of this.places) {
			const two = height >= 34;
			c.fillText(f.cut(o.name, names), left - 8, y + height / 2 - (two ? 7 : 0));
			if (two)
				c.fillText(`${f.count(o.pages)} pages`, left - 8, y + height / 2 + 8);
		}
		c.textAlign = "center";
		for (const t of f.ticks(begin, end, n)) {
			const x = left + (t - begin) / (end - begin) * (width - left - RIGHT);
			c.fillRect(Math.round(x), this.bottom, 1, 4);
			c.fillText(f.time(t), Math.min(x, width - 26), this.bottom + 16);
		}
	}

	drawArea(c, a, width) {
		const b = this.box(a, width);
		if (!b)
			return;
		/* Neighbours stay apart as long as there is room for a line. */
		const gx = Math.min(1, b.w / 6), gy = Math.min(1, b.h / 6);
		/* Without accesses only its border, so that one sees what is one. */
		if (a.accesses && this.m.kinds?.[this.mode]) {
			this.drawKinds(c, a, width);
		} else {
			c.fillStyle = a.accesses ? this.fill(a) : p.variable("--line");
			c.fillRect(b.x + gx / 2, b.y + gy / 2, b.w - gx, b.h - gy);
		}
		if (!a.accesses && b.w > 4 && b.h > 4) {
			c.fillStyle = p.variable("--plot");
			c.fillRect(b.x + gx / 2 + 1, b.y + gy / 2 + 1, b.w - gx - 2, b.h - gy - 2);
		}
		if (!a.all || this.places.length < 2 || b.w < 130 || b.h < 24)
			return;
		c.fillStyle = p.variable("--surface");
		c.fillRect(b.x + b.w / 2 - 58, b.y + b.h / 2 - 10, 116, 20);
		c.fillStyle = p.variable("--text");
		c.textAlign = "center";
		c.fillText(`all ${this.m.objects.length} together`, b.x + b.w / 2, b.y + b.h / 2);
	}

	/** Draw all into a context, of a canvas or of an SVG. */
	paint(c, width) {
		this.view = this.shown();
		c.font = `11px ${p.variable("--font")}`;
		c.textBaseline = "middle";
		c.fillStyle = p.variable("--plot");
		for (const { y, height } of this.places)
			c.fillRect(this.left(width), y, width - this.left(width) - RIGHT, height);
		this.drawAxes(c, width);
		for (const a of this.level.list)
			this.drawArea(c, a, width);
		const a = this.chosen(), b = a && this.box(a, width);
		if (!b)
			return;
		c.strokeStyle = p.variable("--text");
		c.lineWidth = 2;
		c.strokeRect(b.x + 1, b.y + 1, Math.max(1, b.w - 2), Math.max(1, b.h - 2));
	}

	draw() {
		this.width = Math.max(260, this.element.clientWidth || 800);
		const c = canvasContext(this.canvas, this.width, this.height);
		this.paint(c, this.width);
		if (!this.band)
			return;
		const [from, to] = this.band;
		c.strokeStyle = p.variable("--text");
		c.lineWidth = 1;
		c.strokeRect(Math.min(from, to) + 0.5, 0.5, Math.abs(to - from), this.bottom - 1);
	}

	area({ leaf, slice }) {
		return this.level.list[this.level.cell[leaf * this.m.slices + slice]];
	}

	chosen() {
		return this.cursor && this.area(this.cursor);
	}

	/* The cell below the pointer, or null. */
	cellAt(e) {
		const r = this.canvas.getBoundingClientRect(), m = this.m, left = this.left(this.width);
		const y = e.clientY - r.top, across = (e.clientX - r.left - left) / (this.width - left - RIGHT), [a, b] = this.view;
		const slice = across >= 0 && across < 1 ? Math.floor(a + across * (b - a)) : -1;
		const at = this.places.find((x) => y >= x.y && y < x.y + x.height);
		return at && slice >= 0 && slice < m.slices ?
			{ leaf: at.o.begin + Math.min(at.o.end - at.o.begin - 1, Math.floor((y - at.y) / at.each)), slice } : null;
	}

	choose(cursor) {
		this.cursor = cursor;
		this.draw();
		this.changed(this.chosen());
	}

	move(dx, dy) {
		const m = this.m, at = this.cursor;
		if (!at)
			return this.choose({ leaf: this.places[0].o.begin, slice: 0 });
		const a = this.area(at);
		const slice = dx ? dx > 0 ? a.end : a.begin - 1 : at.slice;
		const leaf = dy ? dy > 0 ? a.node.end : a.node.begin - 1 : at.leaf;
		if (slice >= 0 && slice < m.slices && leaf >= 0 && leaf < m.leaves && this.isShown(leaf))
			this.choose({ leaf, slice });
	}

	/* A drag selects the time, a double click all of it; a finger scrolls. */
	listenToDrags() {
		const c = this.canvas, x = (e) => {
			const left = this.left(this.width);
			return Math.min(this.width - RIGHT, Math.max(left, e.clientX - c.getBoundingClientRect().left));
		};
		let from = null;
		c.addEventListener("pointerdown", (e) => {
			from = e.button || e.pointerType === "touch" ? null : x(e);
			this.dragged = false;
		});
		c.addEventListener("pointermove", (e) => {
			if (from === null || (!this.band && Math.abs(x(e) - from) < 4))
				return;
			c.setPointerCapture(e.pointerId);
			this.band = [from, x(e)];
			tip.hide();
			this.draw();
		});
		const end = (e) => {
			const { band } = this, times = band?.map((at) => this.timeAt(at)).sort((a, b) => a - b);
			from = null;
			if (!band)
				return;
			this.band = null;
			/* The click that follows chooses nothing. */
			this.dragged = e.type === "pointerup";
			if (this.dragged && times[1] > times[0])
				select(times);
			this.draw();
		};
		c.addEventListener("pointerup", end);
		c.addEventListener("pointercancel", end);
		c.addEventListener("dblclick", () => select(null));
	}

	listen() {
		const c = this.canvas;
		this.listenToDrags();
		c.addEventListener("pointermove", (e) => {
			if (this.band)
				return;
			const at = this.cellAt(e);
			c.style.cursor = at ? "pointer" : "default";
			return at ? tip.show(e.clientX, e.clientY, pairs(describe(this.m, this.area(at)))) : tip.hide();
		});
		c.addEventListener("pointerleave", () => tip.hide());
		c.addEventListener("click", (e) => {
			const at = !this.dragged && this.cellAt(e);
			this.dragged = false;
			if (at)
				this.choose(at);
		});
		c.addEventListener("keydown", (e) => {
			const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[e.key];
			if (e.ctrlKey || e.metaKey || e.altKey)
				return;
			if (by) {
				e.preventDefault();
				this.move(...by);
			} else if (e.key === "Escape" && this.cursor) {
				this.choose(null);
			} else if (e.key === "Enter" && this.cursor) {
				this.open(this.chosen());
			}
		});
	}
}
