// SPDX-License-Identifier: GPL-2.0-or-later
// The machine: where threads ran and pages are or, on an imagined one, where
// moca summary puts them (analysis/profile/placement.c).
import { h, tip, pairs } from "./dom.js";
import { figure, legend } from "./figure.js";
import { threadName } from "./data.js";
import { threadColors } from "./views.js";
import { texts } from "./texts.js";
import * as f from "./format.js";
import * as p from "./palette.js";

/* Of each CPU the threads, [index, accesses], most first. */
function byCpu(list) {
	const use = new Map();
	for (const [cpu, thread, n] of list)
		use.set(cpu, [...(use.get(cpu) || []), [thread, n]]);
	for (const v of use.values())
		v.sort((a, b) => b[1] - a[1]);
	return use;
}

const recorded = (d) => byCpu(d.threads.flatMap((t) => t.cpus.map(([cpu, n]) => [cpu, t.index, n])));

/* Where moca summary puts them; a thread is at one place all the time. */
function placed(d) {
	const at = new Map(d.summary.tasks.map((t) => [t.id, t.cpu]));
	return byCpu(d.threads.filter((t) => at.has(t.id)).map((t) => [at.get(t.id), t.index, t.accesses]));
}

/* Of each node [structure, accesses to its pages there]. */
function recordedNodes(d) {
	const use = new Map();
	for (const o of d.objects)
		for (const [node, n] of o.nodes)
			use.set(node, [...(use.get(node) || []), [o.label, n]]);
	return use;
}

/* By number in the drawing, as moca summary counts nodes. */
const placedNodes = (d) => new Map(d.summary.totals.served_by_node.map((n, i) => [i, [["all data", n]]]));

/* What is drawn where, and what was assumed for it. */
function scene(d) {
	const s = d.summary, what = { use: recorded(d), nodes: recordedNodes(d), said: [], pages: "Accesses to its pages" };
	if (!d.topology.what_if)
		return what;
	if (!s)
		return { use: new Map(), nodes: new Map(), said: ["This is not the machine of the recording, and moca summary says nothing of it (it knows 64 nodes at most): no thread and no page has a place on it."] };
	if (!s.topology.what_if)
		return { ...what, said: ["This machine was read from a file. It has as many CPUs as the recorded one and is taken for it: threads are drawn on the CPUs that they ran on, pages on the nodes that they were on."] };
	return { use: placed(d), nodes: placedNodes(d), ordinal: true, pages: "Accesses to its pages, if each is where it is touched first", said: [
		"This is not the machine of the recording, so threads are not drawn where they ran but where they are assumed to be, as in Findings:",
		[`Threads of a process that live at one time are spread over all ${f.count(s.topology.cpus)} CPUs in the order in which they began, as OMP_PROC_BIND=spread would, and stay there. A thread that begins after another's end takes its place.`,
		 "Threads with less than a twentieth of the accesses of their process' busiest one are put beside its first thread.",
		 "Each page is on the node of the thread that touches it first, as Linux does by default. Counted is the program's data, without code and files.",
		 "Accesses are those of the recording: how many there would be on such a machine is not known."]] };
}

/* The width at which the last line has as many boxes as the others, or nearly. */
function balanced(children, limit, pad) {
	const boxes = children.filter((c) => !c.wide), w = boxes.reduce((a, c) => Math.max(a, c.w), 1) + pad;
	const fit = Math.max(1, Math.floor((limit - pad) / w)), lines = Math.ceil(boxes.length / fit);
	return lines > 1 ? pad + Math.ceil(boxes.length / lines) * w : limit;
}

/* Boxes in boxes. Gives an element's width and height, and draws into g. */
function layoutBox(o, ctx) {
	if (o.type === "PU")
		return { o, w: 76, h: 62, children: [] };
	const children = [...o.memory.map((m) => layoutMemory(m)),
		...o.children.map((c) => layoutBox(c, ctx))];
	/* Caches and cores of one child only add a line. */
	const pad = 8, head = 20, limit = balanced(children, ctx.width, pad);
	let x = pad, y = head + pad / 2, row = 0, w = 0;
	for (const c of children) {
		if (x > pad && (x + c.w + pad > limit || c.wide)) {
			x = pad;
			y += row + pad;
			row = 0;
		}
		c.x = x;
		c.y = y;
		x += c.w + pad;
		w = Math.max(w, x);
		row = Math.max(row, c.h);
		if (c.wide) {
			y += row + pad;
			x = pad;
			row = 0;
		}
	}
	return { o, w: Math.max(w, 96), h: y + row + pad, children };
}

const layoutMemory = (m) => ({ o: m, w: 190, h: 40, children: [], wide: true });

export function topology(d) {
	if (!d.machine)
		return [h("p", { class: "empty" }, "The topology of the machine is not known: the trace does not tell it. moca report --topology FILE takes the XML that lstopo writes there; --topology 4x16 draws an imagined machine.")];
	const now = scene(d), { use, nodes } = now, colors = threadColors(d);
	const sumOf = (list) => (list || []).reduce((a, x) => a + x[1], 0);
	const total = Math.max(1, d.threads.reduce((a, t) => a + t.accesses, 0));
	const all = Math.max(1, [...nodes.values()].reduce((a, b) => a + sumOf(b), 0));
	let nodeNumber = 0;
	const root = layoutBox(d.machine, { width: 1080 });
	const svg = h("svg", { class: "machine", viewBox: `0 0 ${root.w + 2} ${root.h + 2}`,
		role: "img", "aria-label": "The machine's packages, nodes, caches and CPUs, with where threads ran" });
	const draw = (b, x, y) => {
		const { o } = b, g = h("g", { class: `hw hw-${o.type.toLowerCase()}` });
		const name = o.type === "PU" ? `CPU ${o.index}` : o.type === "NUMANode" ? `Node ${o.index}` :
			`${o.name}${o.index !== undefined && o.type !== "Machine" ? ` #${o.index}` : ""}`;
		g.append(h("rect", { x: x + 1, y: y + 1, width: b.w, height: b.h, rx: 4 }),
			h("text", { x: x + 8, y: y + 16 }, `${name}${o.bytes ? ` · ${f.bytes(o.bytes)}` : ""}`));
		let what = [[o.type, name]];
		if (o.type === "PU") {
			const list = use.get(o.index) || [];
			const sum = list.reduce((a, [, n]) => a + n, 0);
			let at = 0;
			for (const [t, n] of list) {
				const w = (b.w - 16) * n / sum;
				g.append(h("rect", { class: "ran", x: x + 8 + at, y: y + 24, width: Math.max(0.5, w), height: 12, style: { fill: p.css(colors.get(t)) } }));
				at += w;
			}
			g.append(h("text", { class: "small", x: x + 8, y: y + 52 }, d.topology.what_if && !sum ? "–" : f.percent(sum, total)));
			what = [["CPU", o.index], ["Accesses from it", `${f.count(sum)} (${f.percent(sum, total)})`],
				...list.slice(0, 8).map(([t, n]) => [f.cut(threadName(d, t), 30), f.count(n)])];
		} else if (o.type === "NUMANode") {
			const list = nodes.get(now.ordinal ? nodeNumber++ : o.index) || [], n = sumOf(list);
			g.append(h("rect", { class: "share", x: x + 8, y: y + 24, width: (b.w - 16) * n / all, height: 8 }));
			what = [["Node", o.index], ["Memory", f.bytes(o.bytes || 0)],
				[now.pages, `${f.count(n)} (${f.percent(n, all)})`],
				...(list.length > 1 ? list : []).sort((a, c) => c[1] - a[1]).slice(0, 6).map(([name, k]) => [f.cut(name, 30), f.count(k)])];
		}
		g.addEventListener("pointermove", (e) => {
			e.stopPropagation();
			tip.show(e.clientX, e.clientY, pairs(what));
		});
		g.addEventListener("pointerleave", () => tip.hide());
		svg.append(g);
		b.children.forEach((c) => draw(c, x + c.x, y + c.y));
	};
	draw(root, 0, 0);
	svg.style.maxWidth = `${root.w * 1.25}px`;
	return [
		now.said.length > 0 && h("div", { class: "notice", role: "note", id: "assumed" }, now.said.map((x) =>
			Array.isArray(x) ? h("ul", {}, x.map((y) => h("li", {}, y))) : h("p", {}, x))),
		figure({ id: "topology", title: "The machine", subtitle: `Source: ${d.topology.source}`,
			explain: texts.topology,
			body: [legend(d.threads.slice(0, 16).map((t) => [p.css(colors.get(t.index)), f.cut(threadName(d, t.index), 24)])),
				h("div", { class: "scroll-x", tabindex: 0, role: "region", "aria-label": "Drawing of the machine" }, svg)],
			svg: () => svg,
			rows: () => [["cpu", "thread", "accesses"], ...[...use].sort((a, b) => a[0] - b[0])
				.flatMap(([cpu, list]) => list.map(([t, n]) => [cpu, threadName(d, t), n]))],
		}),
	];
}
