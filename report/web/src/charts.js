// SPDX-License-Identifier: GPL-2.0-or-later
// Lines (uPlot), bars and strips.
import uPlot from "uplot";
import { h, tip, pairs } from "./dom.js";
import * as f from "./format.js";
import { css, variable } from "./palette.js";
import { canvasContext } from "./vector.js";
import { linesPicture } from "./lines-picture.js";
import { onSelect, select, selected, shade } from "./selection.js";

const live = new Set();

/** Themes and widths change: draw all charts that are still there again. */
export function redrawCharts() {
	for (const c of live)
		if (c.element.isConnected)
			c.make();
		else
			live.delete(c);
}

/**
 * x: numbers; series: [{ label, values, color, fill, width, dash, stepped }];
 * xText, yText: how a value is shown; time: x is time of the run, and what is selected
 * of it is shown; mark(): an x to be marked; onpick(x): there
 * was a click at x. { element, picture(), rows(), mark(): draw it anew }
 */
export function lines({ x, series, xLabel, yLabel, xText = f.short,
			yText = f.short, ySteps, height = 240, label, onpick, mark, time }) {
	const element = h("div", { class: "chart", role: "img", "aria-label": label });
	const c = { element };
	const axis = (text, format) => ({
		stroke: variable("--muted"), grid: { stroke: variable("--grid"), width: 1 },
		ticks: { stroke: variable("--grid"), width: 1 }, label: text,
		labelSize: 18, labelFont: `12px ${variable("--font")}`,
		font: `11px ${variable("--font")}`, size: format !== yText ? 34 : ySteps ? 84 : 64,
		incrs: format === yText ? ySteps : undefined,
		values: (_, v) => v.map(format),
	});
	const drawMark = (u) => {
		const at = Math.round(u.valToPos(mark(), "x", true)), box = u.bbox;
		if (!(at >= box.left && at <= box.left + box.width))
			return;
		u.ctx.fillStyle = variable("--text");
		u.ctx.fillRect(at - devicePixelRatio, box.top, 2 * devicePixelRatio, box.height);
	};
	/* The end of a drag, which zooms, is a click too. */
	const listen = (over) => {
		let from = 0;
		over.addEventListener("pointerdown", (e) => {
			from = e.clientX;
		});
		over.addEventListener("click", (e) => {
			if (Math.abs(e.clientX - from) < 4)
				onpick(c.plot.posToVal(e.clientX - over.getBoundingClientRect().left, "x"));
		});
	};
	c.mark = () => c.plot?.redraw(false, false);
	/* A drag and a double click select; what is selected is no drag. */
	let follows = false;
	const follow = () => {
		const [a, b] = selected() || [x[0], x[x.length - 1]];
		follows = true;
		c.plot.batch(() => c.plot.setScale("x", { min: a, max: b }));
		follows = false;
	};
	const zoomed = (u, key) => {
		const { min, max } = u.scales.x;
		if (key === "x" && !follows && c.plot === u)
			select(min > x[0] || max < x[x.length - 1] ? [min, max] : null, c);
	};
	c.make = () => {
		const width = Math.max(260, element.clientWidth || 800);
		c.plot?.destroy();
		c.width = width;
		c.plot = new uPlot({
			width, height, padding: [10, 30, 0, 0],
			legend: { live: true },
			hooks: { draw: mark ? [drawMark] : [], setScale: time ? [zoomed] : [] },
			cursor: { y: false, drag: { x: true, y: false } },
			scales: { x: { time: false }, y: { range: (_, lo, hi) => [Math.min(0, lo), hi > 0 ? hi * 1.05 : 1] } },
			axes: [axis(xLabel, xText), axis(yLabel, yText)],
			series: [{ label: xLabel, value: (_, v) => v === null || v === undefined ? "–" : xText(v) },
				...series.map((s) => ({
					label: f.cut(s.label, 40),
					stroke: s.color, width: s.width || 1.5, dash: s.dash,
					fill: s.fill, points: { show: x.length < 2 },
					paths: s.stepped ? uPlot.paths.stepped({ align: 1 }) : undefined,
					value: (_, v) => v === null || v === undefined ? "–" : yText(v),
				}))],
		}, [x, ...series.map((s) => s.values)], element);
		if (onpick)
			listen(c.plot.over);
		if (time && selected())
			follow();
	};
	if (time && x.length > 1)
		onSelect(element, (from) => from !== c && c.plot && follow());
	c.picture = () => linesPicture({ x, series, xLabel, yLabel, xText, yText, ySteps, mark,
		width: c.width, height, scales: c.plot.scales });
	c.rows = () => [[xLabel, ...series.map((s) => s.label)],
		...Array.from(x, (v, i) => [v, ...series.map((s) => s.values[i])])];
	live.add(c);
	new ResizeObserver(() => {
		if (element.isConnected && element.clientWidth &&
		    Math.abs(element.clientWidth - (c.width || 0)) > 1)
			c.make();
	}).observe(element);
	return c;
}

/* One bar with its name and number, at y, below which there is room for it. */
function bar(r, y, { width, labelWidth, line, scale, text }) {
	const g = h("g", { class: r.href ? "bar link" : "bar",
		tabindex: r.href ? 0 : undefined, role: r.href ? "link" : undefined,
		onclick: () => r.href && (location.hash = r.href),
		onkeydown: (e) => e.key === "Enter" && r.href && (location.hash = r.href) });
	let x = labelWidth;
	g.append(h("rect", { class: "hit", x: 0, y, width, height: line }),
		h("text", { class: "label", x: labelWidth - 8, y: y + 16, "text-anchor": "end" },
		  f.cut(r.label, Math.floor(labelWidth / 7.8))));
	for (const part of r.parts) {
		const w = part.value * scale;
		if (w > 0)
			g.append(h("rect", { x, y: y + 4, width: Math.max(0.5, w), height: line - 8, style: { fill: part.color } }));
		x += w;
	}
	g.append(h("text", { class: "value", x: x + 6, y: y + 16 }, text(r.parts.reduce((a, b) => a + b.value, 0))));
	g.addEventListener("pointermove", (e) => tip.show(e.clientX, e.clientY,
		h("b", {}, f.cut(r.title || r.label, 200)),
		pairs(r.parts.filter((part) => part.value).slice(0, 12).map((part) => [f.cut(part.label, 60), text(part.value)]))));
	g.addEventListener("pointerleave", () => tip.hide());
	return g;
}

/**
 * Bars of parts: rows: [{ label, title, parts: [{ value, color, label }], href }].
 * All are to one scale. { element, svg() }
 */
export function bars({ rows, text = f.count, steps, label }) {
	const line = 24, max = Math.max(1e-9, ...rows.map((r) => r.parts.reduce((a, b) => a + b.value, 0)));
	const element = h("div", { class: "chart" });
	const c = { element, svg: () => element.firstChild };
	let drawn = 0;
	c.make = () => {
		const width = Math.max(260, Math.min(1500, element.clientWidth || 980));
		const labelWidth = Math.min(260, Math.round(width * 0.36));
		const height = rows.length * line + 26, w = width - labelWidth - 80;
		const svg = h("svg", { class: "bars", viewBox: `0 0 ${width} ${height}`,
			role: rows.some((r) => r.href) ? "group" : "img", "aria-label": label });
		for (const t of f.ticks(0, max, Math.min(6, w / 90), steps)) {
			const x = labelWidth + t / max * w;
			svg.append(h("line", { class: "grid", x1: x, x2: x, y1: 0, y2: height - 20 }),
				h("text", { class: "tick", x, y: height - 6, "text-anchor": "middle" }, text(t)));
		}
		rows.forEach((r, i) => svg.append(bar(r, i * line, { width, labelWidth, line, scale: w / max, text })));
		drawn = element.clientWidth;
		element.replaceChildren(svg);
	};
	c.make();
	new ResizeObserver(() => element.isConnected && Math.abs(element.clientWidth - drawn) > 1 && c.make()).observe(element);
	return c;
}

/**
 * A strip of cells on a canvas: color(i) of n columns for each of the tracks.
 * tracks: [{ label, color(column of n) -> [r, g, b, a] or null, describe(column) }];
 * range: what the columns go from and to, of which xText(value) says one; time: it is
 * time of the run, of which what is not selected is dim
 */
export function strips({ tracks, columns, label, height = 22, range, xText, left = 110, time }) {
	const canvas = h("canvas", { class: "strips", role: "img", "aria-label": label });
	const element = h("div", { class: "chart" }, canvas);
	const gap = 4, total = tracks.length * (height + gap) + 24;
	let n = 1, width = 0;
	const inner = (all) => all - left - 12;
	const paint = (g, all) => {
		const w = inner(all), columnsHere = Math.max(1, Math.min(columns, Math.round(w)));
		g.font = `11px ${variable("--font")}`;
		g.textBaseline = "middle";
		tracks.forEach((t, k) => {
			const y = k * (height + gap), image = new ImageData(columnsHere, 1);
			for (let i = 0; i < columnsHere; i++) {
				const rgb = t.color(i, columnsHere);
				if (rgb)
					image.data.set([rgb[0], rgb[1], rgb[2], Math.round(255 * (rgb[3] ?? 1))], 4 * i);
			}
			const small = h("canvas", { width: columnsHere, height: 1 });
			small.getContext("2d").putImageData(image, 0, 0);
			g.fillStyle = variable("--plot");
			g.fillRect(left, y, w, height);
			g.imageSmoothingEnabled = false;
			g.drawImage(small, left, y, w, height);
			if (time)
				shade(g, variable("--surface"), range, left, y, w, height);
			g.fillStyle = variable("--muted");
			g.textAlign = "right";
			g.fillText(f.cut(t.label, Math.floor(left / 6.4)), left - 6, y + height / 2);
		});
		g.fillStyle = variable("--muted");
		g.textAlign = "center";
		for (const v of f.ticks(range[0], range[1], Math.max(1, w / 110))) {
			const x = left + (v - range[0]) / (range[1] - range[0]) * w;
			g.fillRect(Math.round(x), total - 24, 1, 4);
			g.fillText(xText(v), Math.min(all - 24, x), total - 10);
		}
		return columnsHere;
	};
	const c = { element, canvas, picture: () => ({ size: [width, total], paint }) };
	c.make = () => {
		width = Math.max(260, element.clientWidth || 800);
		n = paint(canvasContext(canvas, width, total), width);
	};
	canvas.addEventListener("pointermove", (e) => {
		const r = canvas.getBoundingClientRect();
		const k = Math.floor((e.clientY - r.top) / (height + 4));
		const i = Math.floor((e.clientX - r.left - left) / (width - left - 12) * n);
		if (k < 0 || k >= tracks.length || i < 0 || i >= n)
			return tip.hide();
		const what = tracks[k].describe(i, n);
		return what ? tip.show(e.clientX, e.clientY, pairs(what)) : tip.hide();
	});
	canvas.addEventListener("pointerleave", () => tip.hide());
	live.add(c);
	if (time)
		onSelect(element, () => c.make());
	new ResizeObserver(() => element.isConnected && element.clientWidth !== width && c.make()).observe(element);
	return c;
}

export { css };
