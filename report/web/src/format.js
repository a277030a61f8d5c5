// SPDX-License-Identifier: GPL-2.0-or-later
// How numbers are shown, everywhere the same.

const grouped = new Intl.NumberFormat("en-US");

export const count = (n) => grouped.format(Math.round(n));

/** 12.3 k, 4.56 M: for axes and narrow columns. */
export function short(n) {
	const a = Math.abs(n);
	for (const [size, unit] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]])
		if (a >= size)
			return `${+(n / size).toPrecision(3)} ${unit}`;
	return a >= 1 || n === 0 ? String(+n.toPrecision(3)) : n.toPrecision(2);
}

export function bytes(n) {
	const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
	let i = 0;
	while (Math.abs(n) >= 1024 && i < units.length - 1) {
		n /= 1024;
		i++;
	}
	return `${i ? +n.toFixed(n < 10 ? 2 : 1) : n} ${units[i]}`;
}

export function time(ns) {
	const a = Math.abs(ns);
	for (const [size, unit] of [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]])
		if (a >= size)
			return `${+(ns / size).toPrecision(5)} ${unit}`;
	return `${Math.round(ns)} ns`;
}

/* By thread, and by how many processes if these share its pages. */
export function sharing(o) {
	return o.sharing_processes === "private" ? o.sharing :
		`${o.sharing}, ${o.processes} processes`;
}

export function percent(part, whole) {
	if (!whole)
		return "–";
	const p = 100 * part / whole;
	if (p > 0 && p < 0.01)
		return "< 0.01 %";
	return `${p < 100 && p > 99.99 ? "99.99" : +p.toFixed(2)} %`;
}

export const hex = (n) => `0x${n.toString(16)}`;

/** Steps that make round numbers of bytes. */
export const byteSteps = Array.from({ length: 52 }, (_, i) => 2 ** i);

/** Long names with their ends: what is cut off is in the title. */
export function cut(s, max = 60) {
	const c = [...String(s).slice(0, 4 * max + 400)];
	if (c.length <= max && String(s).length <= 4 * max + 400)
		return s;
	return `${c.slice(0, Math.ceil(max * 0.6)).join("")}…${[...String(s).slice(-max)].slice(-Math.floor(max * 0.35)).join("")}`;
}

/** Ticks between a and b: 1, 2, 5 times a power of ten, or of steps; about n of them. */
export function ticks(a, b, n, steps) {
	const raw = (b - a) / Math.max(1, n);
	if (!(raw > 0))
		return [];
	const power = 10 ** Math.floor(Math.log10(raw));
	const step = steps?.find((s) => s >= raw) || [1, 2, 5, 10].find((m) => m * power >= raw) * power;
	const out = [];
	for (let v = Math.ceil(a / step) * step; v <= b + step * 1e-9; v += step)
		out.push(v);
	return out;
}
