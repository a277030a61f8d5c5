// SPDX-License-Identifier: GPL-2.0-or-later
// The frame that each plot has: title, explanations, downloads, link.
import { h, memory, download, csv } from "./dom.js";
import { toSvg, toPng } from "./vector.js";

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

/* Colours and meanings as the figure's own legends show them. */
const legendIn = (figure) => [...figure.querySelectorAll(".legend li")].map((li) =>
	[getComputedStyle(li.querySelector(".swatch")).backgroundColor, li.textContent]);

/**
 * id names it in files and in what is remembered; body: an element; rows(): its
 * data for CSV; svg(): an SVG element, or picture(): { size: [width, height],
 * paint(context, width), legend: [[colour, text]] beside the figure's own }.
 */
export function figure({ id, title, subtitle, body, explain, rows, picture,
			 svg, level = "h3" }) {
	const actions = h("div", { class: "actions" });
	const act = (text, label, f) => actions.append(h("button", {
		type: "button", class: "quiet", "aria-label": `${text}: ${label}, ${title}`,
		title: label, "data-action": text, onclick: f }, text));
	const drawn = () => {
		const p = picture ? picture() : { svg: svg() };
		return toSvg({ title, subtitle, ...p, legend: [...legendIn(element), ...(p.legend || [])] });
	};

	if (picture || svg) {
		act("PNG", "Download as a picture", async () => download(`${id}.png`, await toPng(drawn())));
		act("SVG", "Download as a drawing", () => download(`${id}.svg`, drawn().text, "image/svg+xml"));
	}
	if (rows)
		act("CSV", "Download the data", async () =>
			download(`${id}.csv`, csv(await rows()), "text/csv"));
	const element = h("figure", { class: "figure", id: `fig-${id}`, "data-figure": id },
		h("figcaption", {},
			h("div", { class: "titles" }, h(level, {}, title),
			  subtitle && h("p", { class: "subtitle" }, subtitle)),
			actions),
		explain && explanation(id, explain),
		h("div", { class: "plot" }, body));
	return element;
}

/** Colours and what they mean. entries: [colour, text, title]. */
export function legend(entries) {
	return h("ul", { class: "legend" }, entries.map(([color, text, title]) =>
		h("li", { title }, h("span", { class: "swatch",
			style: { background: color }, "aria-hidden": "true" }), text)));
}
