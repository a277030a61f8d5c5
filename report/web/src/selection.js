// SPDX-License-Identifier: GPL-2.0-or-later
// The part of the run that all plots over time show: what was dragged over in one.
import { h } from "./dom.js";
import * as f from "./format.js";

let range = null;	/* [from, to], ns; null: all of the run */

/** What is selected, or null. */
export const selected = () => range;

/** The same for an address: { t } or nothing. */
export const timeState = () => range ? { t: range.map(Math.round).join() } : {};

/** From an address; null where it is none. */
export function parseRange(text) {
	const [a, b] = (text || "").split(",").map(Number);
	return b > a ? [a, b] : null;
}

/** Select that, null: all; plots that are there hear of it. from: who need not. */
export function select(next, from = null) {
	if (next?.join() === range?.join())
		return;
	range = next;
	document.dispatchEvent(new CustomEvent("moca-time", { detail: from }));
}

/** Call it when something is selected, while the element is there. */
export function onSelect(element, call) {
	const listen = (e) => {
		if (element.isConnected)
			call(e.detail);
		else
			document.removeEventListener("moca-time", listen);
	};
	/* It is not there before its view is. */
	setTimeout(() => document.addEventListener("moca-time", listen));
}

/** Says what is selected, in each view; nothing where all is shown. */
export function selectionNote() {
	const text = h("span", { role: "status" });
	const element = h("p", { class: "selection", id: "selection" }, text,
		h("button", { type: "button", class: "quiet", onclick: () => select(null) }, "All of the run"));
	const say = () => {
		element.hidden = !range;
		text.textContent = range ? `Plots over time and call stacks of accesses show ${f.time(range[0])} to ${f.time(range[1])}. Other sums, bars and tables are of all of the run.` : "";
	};
	say();
	document.addEventListener("moca-time", say);
	return element;
}

/** Says of a plot that cannot follow why, while something is selected. */
export function selectionAside(text) {
	const element = h("p", { class: "small", "data-aside": "time", role: "note" }, text);
	const say = () => {
		element.hidden = !range;
	};
	say();
	onSelect(element, say);
	return element;
}

/** Dim what is not selected, on a plot whose x goes from `from` to `to`. */
export function shade(g, color, [from, to], x, y, w, height) {
	if (!range)
		return;
	const at = (t) => x + Math.min(1, Math.max(0, (t - from) / (to - from))) * w;
	g.save();
	g.globalAlpha = 0.75;
	g.fillStyle = color;
	g.fillRect(x, y, at(range[0]) - x, height);
	g.fillRect(at(range[1]), y, x + w - at(range[1]), height);
	g.restore();
}
