// SPDX-License-Identifier: GPL-2.0-or-later
// The frame that each plot has: title, explanations, downloads, link.
import { h, memory, download, csv } from "./dom.js";
import { variable } from "./palette.js";

function explanation(id, explain) {
	const open = memory.get(`explain.${id}`) === "1";
	const details = h("details", { class: "explain", open },
		h("summary", {}, "How to read this"),
		h("div", { class: "explain-body" },
			[["What it shows", explain.read],
			 ["What it can reveal", explain.reveal],
			 ["What to do", explain.act]].map(([title, text]) =>
				h("section", {}, h("h4", {}, title),
				  [].concat(text).map((p) => h("p", {}, p))))));
	details.addEventListener("toggle", () =>
		memory.set(`explain.${id}`, details.open ? "1" : "0"));
	return details;
}

/** An SVG with the styles that it has on this page, as text. */
export function svgText(svg) {
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
	copy.setAttribute("width", box.width);
	copy.setAttribute("height", box.height);
	copy.style.background = variable("--surface");
	copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
	return new XMLSerializer().serializeToString(copy);
}

function svgCanvas(svg) {
	return new Promise((resolve, reject) => {
		const box = svg.viewBox.baseVal, image = new Image();
		image.onload = () => {
			const canvas = h("canvas", { width: box.width * 2,
						     height: box.height * 2 });
			canvas.getContext("2d").drawImage(image, 0, 0,
				canvas.width, canvas.height);
			resolve(canvas);
		};
		image.onerror = reject;
		image.src = "data:image/svg+xml;charset=utf-8," +
			encodeURIComponent(svgText(svg));
	});
}

/* A copy on the page's background: transparent pictures look wrong elsewhere. */
function opaque(canvas) {
	const copy = h("canvas", { width: canvas.width, height: canvas.height });
	const c = copy.getContext("2d");
	c.fillStyle = variable("--surface");
	c.fillRect(0, 0, copy.width, copy.height);
	c.drawImage(canvas, 0, 0);
	return copy;
}

/**
 * id names it in files and in what is remembered; body: an element; rows(): its
 * data for CSV; picture(): a canvas, or svg(): an SVG element.
 */
export function figure({ id, title, subtitle, body, explain, rows, picture,
			 svg, level = "h3" }) {
	const actions = h("div", { class: "actions" });
	const act = (text, label, f) => actions.append(h("button", {
		type: "button", class: "quiet", "aria-label": `${text}: ${label}, ${title}`,
		title: label, "data-action": text, onclick: f }, text));
	const png = async () => {
		const canvas = svg ? await svgCanvas(svg()) : opaque(picture());
		canvas.toBlob((b) => download(`${id}.png`, b), "image/png");
	};

	if (picture || svg)
		act("PNG", "Download as a picture", png);
	if (svg)
		act("SVG", "Download as a drawing", () =>
			download(`${id}.svg`, svgText(svg()), "image/svg+xml"));
	if (rows)
		act("CSV", "Download the data", async () =>
			download(`${id}.csv`, csv(await rows()), "text/csv"));
	return h("figure", { class: "figure", id: `fig-${id}`, "data-figure": id },
		h("figcaption", {},
			h("div", { class: "titles" }, h(level, {}, title),
			  subtitle && h("p", { class: "subtitle" }, subtitle)),
			actions),
		explain && explanation(id, explain),
		h("div", { class: "plot" }, body));
}

/** Colours and what they mean. entries: [colour, text, title]. */
export function legend(entries) {
	return h("ul", { class: "legend" }, entries.map(([color, text, title]) =>
		h("li", { title }, h("span", { class: "swatch",
			style: { background: color }, "aria-hidden": "true" }), text)));
}
