// SPDX-License-Identifier: GPL-2.0-or-later
// Pictures for saving. What a plot draws on its canvas it draws into an SVG as
// well: lines and text as such, images embedded. A PNG is that SVG, drawn.
import { h } from "./dom.js";
import { variable } from "./palette.js";

const PAD = 16, LINE = 18;

/* No character that XML lacks, */
const clean = (s) => s.replace(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, "\uFFFD");
/* and no markup. */
const text = (s) => clean(String(s))
	.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
const number = (v) => String(+v.toFixed(2));

/** What plots use of a canvas' context; markup is in parts. */
export class SvgContext {
	constructor() {
		this.parts = [];
		this.depth = [];
		this.clips = 0;
		this.path = "";
		this.dash = [];
		Object.assign(this, { fillStyle: "#000", strokeStyle: "#000", lineWidth: 1, font: "11px sans-serif",
			textAlign: "left", textBaseline: "alphabetic", imageSmoothingEnabled: true });
	}

	put(tag, attributes, content) {
		const list = Object.entries(attributes).filter(([, v]) => v !== null)
			.map(([k, v]) => ` ${k}="${typeof v === "number" ? number(v) : text(v)}"`).join("");
		this.parts.push(`<${tag}${list}${content === undefined ? "/>" : `>${content}</${tag}>`}`);
	}

	fillRect(x, y, width, height) {
		if (width > 0 && height > 0)
			this.put("rect", { x, y, width, height, fill: this.fillStyle });
	}

	strokes() {
		return { fill: "none", stroke: this.strokeStyle, "stroke-width": this.lineWidth,
			"stroke-dasharray": this.dash.length ? this.dash.join(" ") : null };
	}

	strokeRect(x, y, width, height) {
		this.put("rect", { x, y, width: Math.max(0, width), height: Math.max(0, height), ...this.strokes() });
	}

	fillText(s, x, y) {
		const size = parseFloat(this.font.match(/([\d.]+)px/)?.[1] || 11);
		const down = { middle: 0.35, top: 0.8 }[this.textBaseline] || 0;
		this.put("text", { x, y: y + down * size, fill: this.fillStyle, "font-size": size, "font-weight": /^(bold|[6-9]00)\b/.test(this.font) ? "bold" : null,
			"text-anchor": { center: "middle", right: "end" }[this.textAlign] || "start" }, text(s));
	}

	beginPath() {
		this.path = "";
	}

	moveTo(x, y) {
		this.path += `M${number(x)} ${number(y)}`;
	}

	lineTo(x, y) {
		this.path += `L${number(x)} ${number(y)}`;
	}

	rect(x, y, w, hgt) {
		this.path += `M${number(x)} ${number(y)}h${number(w)}v${number(hgt)}h${number(-w)}z`;
	}

	stroke() {
		this.put("path", { d: this.path, ...this.strokes() });
	}

	fill() {
		this.put("path", { d: this.path, fill: this.fillStyle });
	}

	setLineDash(dash) {
		this.dash = dash;
	}

	save() {
		this.depth.push(0);
	}

	clip() {
		const id = `clip${++this.clips}`;
		this.parts.push(`<clipPath id="${id}"><path d="${this.path}"/></clipPath><g clip-path="url(#${id})">`);
		this.depth[this.depth.length - 1]++;
	}

	restore() {
		this.parts.push("</g>".repeat(this.depth.pop()));
	}

	drawImage(canvas, x, y, width, height) {
		this.put("image", { x, y, width, height, preserveAspectRatio: "none",
			style: this.imageSmoothingEnabled ? null : "image-rendering: pixelated", href: canvas.toDataURL() });
	}
}

/** A canvas of that size in CSS pixels, cleared; its context draws in these. */
export function canvasContext(canvas, width, height) {
	const ratio = window.devicePixelRatio || 1, c = canvas.getContext("2d");
	canvas.width = Math.round(width * ratio);
	canvas.height = Math.round(height * ratio);
	canvas.style.height = `${height}px`;
	c.setTransform(ratio, 0, 0, ratio, 0, 0);
	return c;
}

/* A drawing of the page with the styles that it has there, as text. */
function drawing(svg, y) {
	const copy = svg.cloneNode(true);
	const from = [svg, ...svg.querySelectorAll("*")];
	const to = [copy, ...copy.querySelectorAll("*")];
	from.forEach((el, i) => {
		const s = getComputedStyle(el);
		for (const p of ["fill", "stroke", "stroke-width", "font-size",
				 "font-family", "font-weight", "text-anchor"])
			to[i].style.setProperty(p, s.getPropertyValue(p));
	});
	const box = svg.viewBox.baseVal;
	for (const [k, v] of Object.entries({ x: PAD, y, width: box.width, height: box.height }))
		copy.setAttribute(k, v);
	copy.style.width = copy.style.height = copy.style.maxWidth = "";
	copy.removeAttribute("class");
	return { width: box.width, height: box.height,
		 markup: clean(new XMLSerializer().serializeToString(copy)) };
}

/* Colours and their meanings, in lines. */
function drawLegend(c, entries, width, y) {
	let x = PAD;
	for (const [color, label] of entries) {
		const w = 32 + 6.7 * [...label].length;
		if (x > PAD && x + w > width + PAD) {
			x = PAD;
			y += LINE;
		}
		c.fillStyle = color;
		c.fillRect(x, y - 10, 11, 11);
		c.strokeStyle = variable("--line");
		c.strokeRect(x + 0.5, y - 9.5, 10, 10);
		c.fillStyle = variable("--muted");
		c.fillText(label, x + 17, y);
		x += w;
	}
	return y + (entries.length ? LINE : 0);
}

/**
 * A picture as SVG: title, subtitle, legend: [[colour, text]], and below either
 * svg, an element, or what paint(context, width) draws, of size [width, height].
 */
export function toSvg({ title, subtitle, legend, svg, size, paint }) {
	const c = new SvgContext(), width = svg ? svg.viewBox.baseVal.width : size[0];
	let y = PAD + 14;

	c.font = "bold 15px sans-serif";
	c.fillStyle = variable("--text");
	c.fillText(title, PAD, y);
	c.font = "12px sans-serif";
	c.fillStyle = variable("--muted");
	if (subtitle)
		c.fillText(subtitle, PAD, y += LINE);
	y = drawLegend(c, legend, width, y + LINE + 4) + 2;
	const body = svg ? drawing(svg, y) : { width, height: size[1] };
	if (!svg) {
		const inner = new SvgContext();
		paint(inner, width);
		body.markup = `<g transform="translate(${PAD} ${y})">${inner.parts.join("\n")}</g>`;
	}
	const w = Math.ceil(body.width + 2 * PAD), hgt = Math.ceil(y + body.height + PAD);
	const all = `<svg xmlns="http://www.w3.org/2000/svg" width="${w}" height="${hgt}" viewBox="0 0 ${w} ${hgt}" font-family="${text(variable("--font"))}">
<rect width="${w}" height="${hgt}" fill="${text(variable("--surface"))}"/>
${c.parts.join("\n")}
${body.markup}
</svg>
`;
	return { text: all, width: w, height: hgt };
}

/** That SVG as a PNG, two pixels for one. A promise of a Blob. */
export function toPng(picture) {
	return new Promise((resolve, reject) => {
		const url = URL.createObjectURL(new Blob([picture.text], { type: "image/svg+xml" })), image = new Image();
		image.onload = () => {
			/* What browsers make no canvas of stays smaller. */
			const scale = Math.min(2, 16000 / Math.max(picture.width, picture.height));
			const canvas = h("canvas", { width: Math.round(picture.width * scale), height: Math.round(picture.height * scale) });
			canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
			URL.revokeObjectURL(url);
			canvas.toBlob((b) => b ? resolve(b) : reject(new Error("no picture")), "image/png");
		};
		image.onerror = () => reject(new Error("the drawing cannot be shown"));
		image.src = url;
	});
}
