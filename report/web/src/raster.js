// SPDX-License-Identifier: GPL-2.0-or-later
// From cells (sparse, by row and bin) to a raster of w x h for a window of rows
// and bins. One pass over the cells of the window, whatever the zoom.

export const MODES = ["type", "count", "thread", "sharing", "node"];

const PRIVATE = 0, SHARED_READ = 1, SHARED_WRITE = 2;

/* Cells [i, j) of a row are one bin: how is it shared? */
function sharingOf(heat, i, j) {
	let threads = 1, writes = 0;
	for (let k = i; k < j; k++) {
		if (k > i && heat.thread[k] !== heat.thread[i])
			threads = 2;
		writes += heat.writes[k];
	}
	return threads < 2 ? PRIVATE : writes ? SHARED_WRITE : SHARED_READ;
}

/**
 * view: { r0, r1, b0, b1 }, rows and bins (fractions are fine, ends exclusive);
 * raster cells have whole rows and bins at least. Gives { w, h, reads, writes,
 * other, kind, share, max }: kind is the thread, sharing class or node with
 * most accesses (-1: none), share its part of them.
 */
export function raster(heat, view, width, height, mode) {
	const r0 = Math.max(0, Math.floor(view.r0));
	const r1 = Math.min(heat.rows, Math.ceil(view.r1));
	const b0 = Math.floor(view.b0), b1 = Math.ceil(view.b1);
	const h = Math.max(1, Math.min(height, r1 - r0));
	const w = Math.max(1, Math.min(width, b1 - b0));
	const out = { w, h, r0, r1, b0, b1, max: 0,
		reads: new Float64Array(w * h), writes: new Float64Array(w * h),
		other: new Float64Array(w * h),
		kind: new Int32Array(w * h).fill(-1),
		share: new Float32Array(w * h) };
	const byKind = mode === "thread" || mode === "sharing" || mode === "node";
	const kind = mode === "thread" ? heat.threadKind : heat.nodeKind;
	const names = mode === "thread" ? heat.threads : mode === "sharing" ? [0, 1, 2] : heat.nodes;
	const kinds = byKind ? names.length : 0;
	const column = new Int32Array(b1 - b0);
	for (let b = 0; b < b1 - b0; b++)
		column[b] = Math.floor(b * w / (b1 - b0));
	/* Of the line at hand: counts by column and kind, and which are not 0. */
	const counts = new Float64Array(w * kinds), used = new Int32Array(w * kinds);
	let y = -1, n = 0;

	const close = () => {
		for (let k = 0; k < n; k++) {
			const key = used[k], at = y * w + Math.floor(key / kinds);
			if (counts[key] > out.share[at]) {
				out.share[at] = counts[key];
				out.kind[at] = names[key % kinds];
			}
			counts[key] = 0;
		}
		n = 0;
	};
	for (let r = r0; r < r1; r++) {
		const line = Math.floor((r - r0) * h / (r1 - r0));
		if (line !== y) {
			if (byKind)
				close();
			y = line;
		}
		const end = heat.start[r + 1];
		for (let i = heat.start[r]; i < end;) {
			const bin = heat.bin[i];
			let j = i + 1;
			while (j < end && heat.bin[j] === bin)
				j++;
			if (bin < b0 || bin >= b1) {
				i = j;
				continue;
			}
			const x = column[bin - b0], at = y * w + x;
			const shared = mode === "sharing" ? sharingOf(heat, i, j) : 0;
			for (; i < j; i++) {
				out.reads[at] += heat.reads[i];
				out.writes[at] += heat.writes[i];
				out.other[at] += heat.other[i];
				if (!byKind)
					continue;
				const key = x * kinds + (mode === "sharing" ? shared : kind[i]);
				if (!counts[key])
					used[n++] = key;
				counts[key] += heat.reads[i] + heat.writes[i] + heat.other[i];
			}
		}
	}
	if (byKind)
		close();
	for (let at = 0; at < w * h; at++) {
		const sum = out.reads[at] + out.writes[at] + out.other[at];
		if (sum > out.max)
			out.max = sum;
		if (out.kind[at] >= 0)
			out.share[at] /= sum;
	}
	return out;
}

/** All that is known of the cells in rows [r0, r1) and bins [b0, b1). */
export function inspect(heat, r0, r1, b0, b1) {
	const sum = { reads: 0, writes: 0, other: 0, threads: new Map(),
		nodes: new Map(), remote: 0, shared: 0, sharedWritten: 0, cells: 0 };
	for (let r = r0; r < r1; r++) {
		const end = heat.start[r + 1];
		for (let i = heat.start[r]; i < end;) {
			const bin = heat.bin[i];
			let j = i + 1;
			while (j < end && heat.bin[j] === bin)
				j++;
			if (bin >= b0 && bin < b1) {
				const s = sharingOf(heat, i, j);
				sum.cells++;
				sum.shared += s !== PRIVATE;
				sum.sharedWritten += s === SHARED_WRITE;
			} else {
				i = j;
				continue;
			}
			for (; i < j; i++) {
				const n = heat.reads[i] + heat.writes[i] + heat.other[i];
				const add = (m, k) => m.set(k, (m.get(k) || 0) + n);
				sum.reads += heat.reads[i];
				sum.writes += heat.writes[i];
				sum.other += heat.other[i];
				add(sum.threads, heat.thread[i]);
				add(sum.nodes, heat.node[i] & 255);
				if (heat.node[i] >> 8)
					sum.remote += n;
			}
		}
	}
	return sum;
}
