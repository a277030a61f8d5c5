// SPDX-License-Identifier: GPL-2.0-or-later
// The data behind the page: deflated, base64, in script elements that are
// no scripts. doc/design/report.md describes them.

import * as f from "./format.js";

function decode64(text) {
	const s = atob(text);
	const out = new Uint8Array(s.length);
	for (let i = 0; i < s.length; i++)
		out[i] = s.charCodeAt(i);
	return out;
}

/** The bytes of a blob; null if the page has none of that name. */
export async function blob(name) {
	const el = document.getElementById(`moca-${name}`);
	if (!el)
		return null;
	const stream = new Blob([decode64(el.textContent)]).stream()
		.pipeThrough(new DecompressionStream("deflate-raw"));
	return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Has the page a blob of that name? */
export const has = (name) => !!document.getElementById(`moca-${name}`);

const parsed = new Map();

/** The same of JSON, an object; decoded once. */
export function json(name) {
	if (!parsed.has(name))
		parsed.set(name, blob(name).then((b) => b && JSON.parse(new TextDecoder().decode(b))));
	return parsed.get(name);
}

/* count varints of a column; wide: beyond 32 bits. */
function varints(bytes, count, wide) {
	const out = wide ? new Float64Array(count) : new Uint32Array(count);
	let at = 0;
	for (let i = 0; i < count; i++) {
		let b = bytes[at++], v = b & 127, factor = 128;
		while (b & 128) {
			b = bytes[at++];
			v += (b & 127) * factor;
			factor *= 128;
		}
		out[i] = v;
	}
	return out;
}

function columns(bytes) {
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
	const out = [];
	for (let at = 0; at < bytes.length;) {
		const len = view.getUint32(at, true);
		out.push(bytes.subarray(at + 4, at + 4 + len));
		at += 4 + len;
	}
	return out;
}

const ends = (col) => {
	let n = 0;
	for (const b of col)
		n += b < 128;
	return n;
};

/* The distinct values, sorted, and for each value its number among them. */
function numbered(values) {
	const names = [...new Set(values)].sort((a, b) => a - b);
	const at = new Map(names.map((v, i) => [v, i]));
	return [names, Uint16Array.from(values, (v) => at.get(v))];
}

/**
 * An object's cells. Rows are groups of pages, by process and address; cell i
 * of row r has start[r] <= i < start[r + 1].
 */
function unpack(bytes, isHeat, wide) {
	const c = columns(bytes);
	const rows = ends(c[0]), cells = ends(c[4]);
	const perRow = varints(c[2], rows), start = new Uint32Array(rows + 1);
	const group = varints(c[1], rows, true), pid = varints(c[0], rows);
	for (let r = 0; r < rows; r++) {
		start[r + 1] = start[r] + perRow[r];
		if (r && pid[r] === pid[r - 1])
			group[r] += group[r - 1];
	}
	const out = {
		rows, cells, pid, group, start,
		thread: varints(c[4], cells),
		reads: varints(c[6], cells, wide),
		writes: varints(c[7], cells, wide),
		other: varints(c[8], cells),
	};
	if (isHeat) {
		out.bin = varints(c[3], cells);
		out.node = varints(c[5], cells);
		[out.threads, out.threadKind] = numbered(out.thread);
		[out.nodes, out.nodeKind] = numbered(out.node);
		for (let r = 0; r < rows; r++)
			for (let i = start[r] + 1; i < start[r + 1]; i++)
				out.bin[i] += out.bin[i - 1];
	} else {
		out.firstThread = varints(c[9], rows);
		out.firstTime = varints(c[10], rows);
	}
	return out;
}

const cache = new Map();

/** { heat, density } of an object's id; unpacked once. */
export function cells(id) {
	if (!cache.has(id))
		cache.set(id, Promise.all([blob(`heat-${id}`), blob(`density-${id}`)])
			.then(([a, b]) => ({ heat: unpack(a, true),
					     density: unpack(b, false) })));
	return cache.get(id);
}

const counted = new Map();

/** The cells of an object that has counts; unpacked once. */
export function counts(id) {
	if (!counted.has(id))
		counted.set(id, blob(`counts-${id}`).then((b) => unpack(b, false, true)));
	return counted.get(id);
}

/** The data of the page were replaced. */
export function forget() {
	for (const x of [parsed, cache, counted])
		x.clear();
}

const baseOf = (path) => path.split("/").pop();
/* What may tell structures of one name apart: "main.c:12" of "f() at main.c:12", and so on. */
const APART = [(o) => o.site && f.cut(baseOf(o.site.split(" at ").pop()), 40), (o) => o.program && f.cut(baseOf(o.program), 40), (o) => o.kind, (o) => o.addr, (o) => `structure ${o.id}`];

/*
 * Labels for pictures: the name, and of those that share one what differs. twin: name
 * and site are another's, too.
 */
function setLabels(objects) {
	const groups = new Map();
	for (const o of objects) {
		if (!groups.has(o.name))
			groups.set(o.name, []);
		groups.get(o.name).push(o);
	}
	for (const [name, group] of groups) {
		if (group.length === 1) {
			group[0].label = name;
			continue;
		}
		const values = APART.map((of) => group.map((o) => of(o) || ""));
		const seen = values.map((list) => list.reduce((m, v) => m.set(v, (m.get(v) || 0) + 1), new Map()));
		group.forEach((o, i) => {
			const k = APART.findIndex((_, n) => values[n][i] && seen[n].get(values[n][i]) === 1);
			o.label = `${name} (${values[k][i]})`;
			o.twin = k > 0;
		});
	}
}

/** The index with what it refers to, connected. */
export async function load() {
	const [index, topology, summary, slices, rates, allocs] = await Promise.all([
		json("index"), json("topology"), json("summary"), json("slices"), blob("rates"),
		blob("allocs")]);
	const d = index;
	d.machine = topology;
	/* Null if moca summary was not run. */
	d.summary = summary;
	/* Of exact mode: loads and stores of each slice. */
	d.slices = slices;
	d.threadAt = new Map(d.threads.map((t) => [t.index, t]));
	d.objectAt = new Map(d.objects.map((o) => [o.id, o]));
	/* Files of which several sections were accessed: those are folded into these. */
	d.files = d.folds.map((o, number) => ({ ...o, number, bytes: 0, sections: d.objects.filter((x) => x.fold === number).length })).filter((o) => o.sections);
	setLabels(d.objects);
	d.plotAt = new Map(d.plots.map((p) => [p.object, p]));
	d.length = d.time.end_ns - d.time.begin_ns;
	d.bins = 2 ** d.time.bins_log2;
	const n = d.time.rate_bins;
	let at = 0;
	for (const t of d.threads) {
		if (!t.rates)
			continue;
		t.reads = new Uint32Array(rates.buffer, at, n);
		t.writes = new Uint32Array(rates.buffer, at + 4 * n, n);
		t.other = new Uint32Array(rates.buffer, at + 8 * n, n);
		t.cpu = new Uint16Array(rates.buffer, at + 12 * n, n);
		at += 14 * n;
	}
	d.allocs.live = d.allocs.series.map((_, i) =>
		new Float64Array(allocs.buffer, 8 * n * i, n));
	return d;
}

export const threadName = (d, index) => {
	const t = d.threadAt.get(index);
	return t ? `#${t.id} ${t.name}` : "other threads";
};

/** Sums of a thread's own counts. */
export const threadTotals = (t) => !t.rates && t.loads + t.stores ? [t.loads, t.stores, 0] : ["reads", "writes", "other"].map((k) =>
	t[k] ? t[k].reduce((a, b) => a + b, 0) : 0);
