// SPDX-License-Identifier: GPL-2.0-or-later
// A tree of functions as frames: below each the functions that it calls, as wide as
// what they have of it. A click, or Enter, shows a frame as wide as all.
import { h, pairs, tip } from "./dom.js";
import { variable } from "./palette.js";

const ROW = 21;
const NARROW = 1 / 1500;	/* of the width: not drawn, */
const NAMED = 1 / 80;	/* from this on with its name */
const MOST = 4000;	/* nor what is beyond so many */

/** Below each node those that it calls, the widest first. */
function childrenOf(tree) {
	const kids = Array.from({ length: tree.parent.length }, () => []);
	for (let i = 1; i < kids.length; i++)
		if (tree.value[i] > 0)
			kids[tree.parent[i]].push(i);
	for (const list of kids)
		list.sort((a, b) => tree.value[b] - tree.value[a]);
	return kids;
}

/* Frames from the top down: { i, depth, x, w }, x and w of 1. */
function layout(tree, kids, at) {
	const trunk = [], frames = [];
	let omitted = 0;
	for (let i = at; i; i = tree.parent[i])
		trunk.unshift(tree.parent[i]);
	trunk.forEach((i, depth) => frames.push({ i, depth, x: 0, w: 1 }));
	frames.push({ i: at, depth: trunk.length, x: 0, w: 1 });
	for (let k = trunk.length; k < frames.length; k++) {
		const f = frames[k];
		let x = f.x;
		for (const i of kids[f.i]) {
			const w = f.w * tree.value[i] / tree.value[f.i];
			if (w < NARROW || frames.length >= MOST)
				omitted++;
			else
				frames.push({ i, depth: f.depth + 1, x, w });
			x += w;
		}
	}
	return { frames, omitted };
}

const css = (c) => `rgb(${c.map(Math.round).join(", ")})`;

/**
 * tree: { parent, value, names } by node, 0 being all; color(i): [r, g, b];
 * describe(i): pairs; said(i): what a frame is called with its values; at: the node that
 * is as wide as all; moved(at): it is another one. Has element, picture, and find(word),
 * which marks functions and returns the nodes outermost of them.
 */
export function icicle({ label, tree, color, describe, said, at = 0, moved }) {
	const kids = childrenOf(tree);
	const box = h("div", { class: "flame", role: "tree", "aria-label": label });
	const chosen = h("div", { class: "chosen", "aria-live": "polite" });
	const note = h("p", { class: "small" });
	const reset = h("button", { type: "button", class: "more", hidden: true, onclick: () => zoom(0) }, "Show all");
	const rows = () => 1 + Math.max(...shown.frames.map((f) => f.depth));
	let shown, word = "";

	const matches = (i) => word && i && tree.names(i).toLowerCase().includes(word);
	const describeIn = (i) => chosen.replaceChildren(pairs(describe(i)));

	function draw(focus) {
		shown = layout(tree, kids, at);
		box.style.height = `${rows() * ROW + 2}px`;
		box.replaceChildren(...shown.frames.map(({ i, depth, x, w }) => h("div", {
			class: matches(i) ? "frame found" : "frame",
			role: "treeitem", tabindex: i === at ? 0 : -1, "aria-level": depth + 1, "aria-label": said(i), "data-i": i,
			style: { left: `${100 * x}%`, width: `${100 * w}%`, top: `${depth * ROW}px`, background: css(color(i)) } }, w >= NAMED && tree.names(i))));
		note.textContent = shown.omitted ? `${shown.omitted} functions too narrow to be seen are left out: click on what calls them.` : "";
		reset.hidden = !at;
		describeIn(at);
		if (focus)
			box.querySelector(`[data-i="${at}"]`)?.focus();
	}

	function zoom(i) {
		at = i;
		tip.hide();
		draw(true);
		moved?.(at);
	}

	/* The frame beside the one at hand, in that direction. */
	function beside(i, key) {
		const k = shown.frames.findIndex((f) => f.i === i), { depth, x } = shown.frames[k];
		const row = shown.frames.filter((f) => f.depth === depth).sort((a, b) => a.x - b.x), n = row.findIndex((f) => f.i === i);
		return { ArrowUp: i ? tree.parent[i] : undefined, ArrowLeft: row[n - 1]?.i, ArrowRight: row[n + 1]?.i,
			ArrowDown: shown.frames.find((f) => f.depth === depth + 1 && (tree.parent[f.i] === i || (f.x === x && f.w === 1)))?.i }[key];
	}

	const of = (e) => e.target.closest?.("[data-i]");
	box.addEventListener("click", (e) => of(e) && zoom(Number(of(e).dataset.i)));
	box.addEventListener("focusin", (e) => of(e) && describeIn(Number(of(e).dataset.i)));
	box.addEventListener("pointermove", (e) => of(e) && e.pointerType !== "touch" ? tip.show(e.clientX, e.clientY, pairs(describe(Number(of(e).dataset.i)))) : tip.hide());
	box.addEventListener("pointerleave", () => tip.hide());
	box.addEventListener("keydown", (e) => {
		const i = Number(of(e)?.dataset.i);
		if (e.ctrlKey || e.metaKey || e.altKey || !Number.isFinite(i))
			return;
		if (e.key === "Enter" || e.key === " ") {
			zoom(i);
		} else if (e.key === "Escape") {
			zoom(0);
		} else if (e.key.startsWith("Arrow")) {
			const next = beside(i, e.key);
			if (next !== undefined)
				box.querySelector(`[data-i="${next}"]`).focus();
		} else {
			return;
		}
		e.preventDefault();
		e.stopPropagation();
	});

	function paint(g, width) {
		g.font = `11px ${variable("--font")}`;
		g.textBaseline = "middle";
		g.textAlign = "left";
		for (const { i, depth, x, w } of shown.frames) {
			const room = Math.floor((w * width - 8) / 6.2), name = tree.names(i);
			g.fillStyle = css(color(i));
			g.fillRect(x * width, depth * ROW, Math.max(0.5, w * width - 1), ROW - 1);
			g.fillStyle = variable("--text");
			if (room > 2)
				g.fillText(name.length > room ? `${name.slice(0, room - 1)}…` : name, x * width + 4, depth * ROW + ROW / 2);
		}
	}

	draw(false);
	return {
		element: [box, note, reset, chosen],
		picture: () => ({ size: [Math.max(320, box.clientWidth), rows() * ROW], paint }),
		find: (text) => {
			word = text.trim().toLowerCase();
			draw(false);
			const out = [], below = new Uint8Array(tree.parent.length);
			for (let i = 1; i < below.length; i++) {
				below[i] = below[tree.parent[i]] || (matches(i) ? 1 : 0);
				if (below[i] && !below[tree.parent[i]])
					out.push(i);
			}
			return word ? out : null;
		},
	};
}
