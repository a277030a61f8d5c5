// SPDX-License-Identifier: GPL-2.0-or-later
// The overview's data: accesses by group of pages and slice of time, and how
// they are divided into areas (doc/design/report.md, report/html/overview.c).
import { cells, json, threadName } from "./data.js";
import * as f from "./format.js";
import * as p from "./palette.js";

const NODE = 8;		/* numbers of a node */
const PAGE = 4096;	/* what addresses are counted in */
let loaded, loadedFrom;

/** Is there an overview in this page? */
export const hasSpace = () => !!document.getElementById("moca-overview");

function nodesOf(o) {
	const out = [];
	for (let i = 0; i < o.nodes.length; i += NODE) {
		const [object, begin, end, pages, first, last, process, lastProcess] = o.nodes.slice(i, i + NODE);
		out.push({ object, begin, end, pages, first, last, process, lastProcess, leaf: i / NODE < o.leaves });
	}
	return out;
}

/* Where each object's leaves and pages begin. */
function objectsOf(d, o, nodes) {
	const out = o.objects.map((id) => ({ id, name: d.objectAt.get(id).label, begin: Infinity, end: 0, pages: 0, each: 0 }));
	for (const n of nodes.slice(0, o.leaves)) {
		const x = out[n.object];
		x.begin = Math.min(x.begin, n.begin);
		x.end = Math.max(x.end, n.end);
		n.before = x.pages;
		x.pages += n.pages;
		x.each = Math.max(x.each, n.pages);
	}
	return out;
}

function build(d, o) {
	const nodes = nodesOf(o), objects = objectsOf(d, o, nodes), q = [];
	for (let i = 0; i < o.qualities.length; i += 4)
		q.push({ p_begin: o.qualities[i], gain: o.qualities[i + 1], loss: o.qualities[i + 2], areas: o.qualities[i + 3] });
	const m = { d, nodes, objects, leaves: o.leaves, slices: o.slices, p: o.p, qualities: q, most: 0, total: 0, unknown: 0,
		levels: o.levels.map((l) => ({ ...l, count: l.areas.length / 3 })) };

	m.time = (slice) => d.time.begin_ns + slice / m.slices * d.length;
	m.counts = (leaf, slice) => [o.reads[leaf][slice], o.writes[leaf][slice], o.unknown[leaf][slice]];
	for (let r = 0; r < m.leaves; r++)
		for (let s = 0; s < m.slices; s++) {
			const n = m.counts(r, s).reduce((a, b) => a + b);
			m.most = Math.max(m.most, n / nodes[r].pages);
			m.total += n;
			m.unknown += m.counts(r, s)[2];
		}
	m.at = (value) => {
		let i = 0;
		while (i + 1 < m.levels.length && m.levels[i + 1].p_begin <= value)
			i++;
		return i;
	};
	return m;
}

/* The leaf of an object that has the page of a process: leaves are sorted by these. */
function leafOf(m, o, pid, page) {
	let lo = o.begin, hi = o.end - 1;
	while (lo < hi) {
		const mid = Math.ceil((lo + hi) / 2), n = m.nodes[mid];
		if (n.process < pid || (n.process === pid && n.first <= page))
			lo = mid;
		else
			hi = mid - 1;
	}
	return lo;
}

/* Of each leaf and slice accesses by kind (a thread; a node, + 256 from another), of the plots' cells. */
async function countKinds(m, of) {
	const out = Array.from({ length: m.leaves * m.slices }, () => new Map());
	for (const o of m.objects) {
		const { heat } = await cells(o.id), plot = m.d.plotAt.get(o.id), size = 2 ** plot.heat.page_shift;
		const bins = Math.ceil(m.d.bins / 2 ** plot.heat.time_shift);
		for (let r = 0; r < heat.rows; r++) {
			const leaf = leafOf(m, o, heat.pid[r], heat.group[r] * size);
			for (let i = heat.start[r]; i < heat.start[r + 1]; i++) {
				const at = out[leaf * m.slices + Math.min(m.slices - 1, Math.floor(heat.bin[i] * m.slices / bins))], k = of(heat, i);
				at.set(k, (at.get(k) || 0) + heat.reads[i] + heat.writes[i] + heat.other[i]);
			}
		}
	}
	return out;
}

/** What areas can be coloured by beside their counts: m.kinds[mode], counted once. */
export async function needKinds(m, mode) {
	m.kinds ||= {};
	if (mode === "thread")
		m.kinds.thread ||= await countKinds(m, (heat, i) => heat.thread[i]);
	else if (mode === "node")
		m.kinds.node ||= await countKinds(m, (heat, i) => heat.node[i]);
}

/** Of each leaf and slice [kind with most accesses, all accesses], or null. */
export function topKinds(m, mode) {
	m.tops ||= {};
	m.tops[mode] ||= m.kinds[mode].map((at) => {
		let top = null, sum = 0;
		for (const [k, n] of at) {
			sum += n;
			if (!top || n > top[1])
				top = [k, n];
		}
		return top && [top[0], sum];
	});
	return m.tops[mode];
}

/** The colours of a mode's kinds: { of(kind), list: [[kind, colour]], most first }. */
export function colorsOf(m, mode) {
	m.colors ||= {};
	if (m.colors[mode])
		return m.colors[mode];
	const all = new Map();
	for (const at of m.kinds[mode])
		for (const [k, n] of at)
			if (mode === "thread" || (isNode(k) && k < 256))
				all.set(k, (all.get(k) || 0) + n);
	const order = [...all].sort((a, b) => mode === "thread" ? b[1] - a[1] : a[0] - b[0]).map(([k]) => k), c = p.categorical(order.length);
	const color = new Map(order.map((k, i) => [k, c[i]]));
	m.colors[mode] = { list: order.map((k, i) => [k, c[i]]), of: (k) => color.get(k) || (mode === "node" && isNode(k) ? p.REMOTE : p.OTHER) };
	return m.colors[mode];
}

/** Accesses to an area by kind: [kind, accesses], most first; null: not counted yet. */
export function kindsOf(m, a, mode) {
	const by = m.kinds?.[mode];
	if (!by)
		return null;
	a.kinds ||= {};
	if (!a.kinds[mode]) {
		const sum = new Map();
		for (let r = a.node.begin; r < a.node.end; r++)
			for (let s = a.begin; s < a.end; s++)
				for (const [k, n] of by[r * m.slices + s])
					sum.set(k, (sum.get(k) || 0) + n);
		a.kinds[mode] = [...sum].sort((x, y) => y[1] - x[1]);
	}
	return a.kinds[mode];
}

/** The model; once. null: this page has none. */
export async function space(d) {
	const from = json("overview");
	/* A live page's data are replaced. */
	if (from !== loadedFrom)
		loaded = from.then((o) => o && build(d, o));
	loadedFrom = from;
	return loaded;
}

/** A level with its areas as objects, and for each cell the number of its area. */
export function unpack(m, level) {
	if (level.list)
		return level;
	level.list = [];
	level.cell = new Uint32Array(m.leaves * m.slices);
	for (let i = 0; i < level.areas.length; i += 3) {
		const [number, begin, end] = level.areas.slice(i, i + 3), node = m.nodes[number];
		const a = { node, begin, end, reads: 0, writes: 0, other: 0, all: node.object < 0 };
		for (let r = node.begin; r < node.end; r++) {
			level.cell.fill(level.list.length, r * m.slices + begin, r * m.slices + end);
			for (let s = begin; s < end; s++) {
				const [x, y, z] = m.counts(r, s);
				a.reads += x;
				a.writes += y;
				a.other += z;
			}
		}
		a.accesses = a.reads + a.writes + a.other;
		a.mean = a.accesses / ((end - begin) * node.pages);
		level.list.push(a);
	}
	return level;
}

export const nameOf = (m, a) => a.all ? `all ${m.objects.length} structures` : m.objects[a.node.object].name;

/** What an area is: "all", "structure", "part" or "pages". */
export function kindOf(m, a) {
	if (a.all)
		return "all";
	const o = m.objects[a.node.object];
	if (a.node.begin === o.begin && a.node.end === o.end)
		return "structure";
	return a.node.leaf ? "pages" : "part";
}

/** First and end address of an area in one process; null otherwise. */
export const addresses = (a) => a.all || a.node.process !== a.node.lastProcess ? null :
	[a.node.first * PAGE, a.node.last * PAGE];

/** Which pages of its structure an area is, counting used ones by address. */
export function pagesOf(m, a) {
	if (a.all)
		return `all ${f.count(a.node.pages)}`;
	const o = m.objects[a.node.object], first = m.nodes[a.node.begin].before + 1;
	return a.node.pages === o.pages ? `all ${f.count(o.pages)}` :
		`${f.count(first)}${a.node.pages > 1 ? `–${f.count(first + a.node.pages - 1)}` : ""} of ${f.count(o.pages)}`;
}

function place(m, a) {
	const kind = kindOf(m, a), n = a.node;
	if (kind === "all")
		return "all of them";
	const range = addresses(a), what = kind === "structure" ? "all of it" : `page${n.pages > 1 ? "s" : ""} ${pagesOf(m, a)}`;
	return range ? `${what}, ${f.hex(range[0])} to ${f.hex(range[1])}` : what;
}

const NO_NODE = 255;

/** Of a kind of node: where the page is, and whether it was accessed from another. */
export const nodeText = (k) => (k & 255) === NO_NODE ? "not known" : `node ${k & 255}${k >> 8 ? " from another" : ""}`;
export const isNode = (k) => (k & 255) !== NO_NODE;

/** What is to say of an area, as pairs of texts. */
export function describe(m, a) {
	const several = a.all || a.node.process !== a.node.lastProcess;
	const out = [["Structure", f.cut(nameOf(m, a), 60)], ["Where", place(m, a)],
		["Time", `${f.time(m.time(a.begin))} to ${f.time(m.time(a.end))}`],
		["Pages", f.count(a.node.pages)],
		["Reads", f.count(a.reads)], ["Writes", f.count(a.writes)]];
	if (a.other)
		out.push(["Unknown type", f.count(a.other)]);
	out.push(["Share", `${f.percent(a.accesses, m.total)} of these accesses`],
		["Per page and slice", f.short(a.mean)]);
	for (const [mode, title, text] of [["thread", "Threads", (k) => f.cut(threadName(m.d, k), 24)], ["node", "Nodes", nodeText]])
		if (kindsOf(m, a, mode)?.length)
			out.push([title, kindsOf(m, a, mode).slice(0, 4).map(([k, n]) => `${text(k)} ${f.percent(n, a.accesses)}`).join(", ")]);
	if (!a.all && several)
		out.push(["Processes", `${a.node.process} to ${a.node.lastProcess}`]);
	return out;
}

/** The most accessed structures in an area of all: [name, accesses]. */
export function topOf(m, a, n) {
	return m.objects.map((o) => {
		let sum = 0;
		for (let r = o.begin; r < o.end; r++)
			for (let s = a.begin; s < a.end; s++)
				sum += m.counts(r, s).reduce((x, y) => x + y);
		return [o, sum];
	}).filter(([, k]) => k).sort((x, y) => y[1] - x[1]).slice(0, n);
}

/** The address of a view of the area's structure, there and then. */
export function linkOf(m, a) {
	if (a.all)
		return null;
	const q = new URLSearchParams({ t: [a.begin, a.end].map((s) => Math.round(m.time(s))).join(",") }), range = addresses(a);
	if (range)
		q.set("a", range.map(f.hex).join(","));
	return `#/object/${m.objects[a.node.object].id}?${q}`;
}

export function rows(m, level) {
	return [["structure", "what", "first_address", "end_address", "pages", "begin_ns", "end_ns", "reads", "writes", "unknown"],
		...level.list.map((a) => [nameOf(m, a), kindOf(m, a), ...(addresses(a) || [null, null]).map((x) => x === null ? "" : f.hex(x)),
			a.node.pages, Math.round(m.time(a.begin)), Math.round(m.time(a.end)), a.reads, a.writes, a.other])];
}
