// SPDX-License-Identifier: GPL-2.0-or-later
// A chart of lines for saving, as it is shown (zoomed, say), without uPlot.
import * as f from "./format.js";
import { variable } from "./palette.js";

const RIGHT = 14, TOP = 26, BOTTOM = 44, SERIES = 16;

function drawAxes(c, { left, w, hgt, at, up, s }) {
	const [x, y] = [s.scales.x, s.scales.y];
	c.lineWidth = 1;
	const line = (x0, y0, x1, y1) => {
		c.strokeStyle = variable("--grid");
		c.beginPath();
		c.moveTo(x0, y0);
		c.lineTo(x1, y1);
		c.stroke();
	};
	c.textAlign = "center";
	for (const v of f.ticks(x.min, x.max, w / 130)) {
		line(at(v), TOP, at(v), TOP + hgt);
		c.fillText(s.xText(v), at(v), TOP + hgt + 12);
	}
	c.fillText(s.xLabel, left + w / 2, TOP + hgt + 32);
	c.textAlign = "right";
	for (const v of f.ticks(y.min, y.max, 6, s.ySteps)) {
		line(left, up(v), left + w, up(v));
		c.fillText(s.yText(v), left - 6, up(v));
	}
	c.textAlign = "left";
	c.fillText(s.yLabel, left, 10);
}

function drawSeries(c, one, { at, up, s }) {
	let last = null;
	c.beginPath();
	s.x.forEach((v, i) => {
		const y = one.values[i];
		if (y === null || y === undefined || Number.isNaN(y)) {
			last = null;
			return;
		}
		if (last === null)
			c.moveTo(at(v), up(y));
		else if (one.stepped)
			c.lineTo(at(v), up(last));
		c.lineTo(at(v), up(y));
		last = y;
	});
	c.strokeStyle = one.color;
	c.lineWidth = one.width || 1.5;
	c.setLineDash(one.dash || []);
	c.stroke();
	c.setLineDash([]);
}

/** What figure() wants of a chart: of charts.js' lines() and uPlot's scales. */
export function linesPicture(s) {
	const left = s.ySteps ? 84 : 64;
	return {
		size: [s.width, s.height],
		legend: s.series.slice(0, SERIES).map((x) => [x.color, f.cut(x.label, 40)]),
		paint(c, width) {
			const w = width - left - RIGHT, hgt = s.height - TOP - BOTTOM, { x, y } = s.scales;
			const at = (v) => left + (v - x.min) / (x.max - x.min || 1) * w;
			const up = (v) => TOP + hgt - (v - y.min) / (y.max - y.min || 1) * hgt;
			const box = { left, w, hgt, at, up, s };
			c.font = `11px ${variable("--font")}`;
			c.textBaseline = "middle";
			c.fillStyle = variable("--muted");
			drawAxes(c, box);
			c.save();
			c.beginPath();
			c.rect(left, TOP, w, hgt);
			c.clip();
			for (const one of s.series)
				drawSeries(c, one, box);
			c.restore();
			const marked = s.mark?.();
			if (marked >= x.min && marked <= x.max) {
				c.fillStyle = variable("--text");
				c.fillRect(at(marked) - 1, TOP, 2, hgt);
			}
		},
	};
}
