// SPDX-License-Identifier: GPL-2.0-or-later
// Colours that people with any colour vision tell apart: Okabe and Ito's, and
// viridis where there is an order.

const okabe = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9",
	"#d55e00", "#8c8c8c", "#c8b400"];
const viridis = ["#440154", "#46327e", "#365c8d", "#277f8e", "#1fa187",
	"#4ac16d", "#a0da39", "#fde725"];

export const READ = [0, 114, 178];
export const WRITE = [213, 94, 0];
export const BOTH = [170, 90, 160];
export const OTHER = [140, 140, 140];
export const PRIVATE = [0, 158, 115];
export const SHARED_READ = [86, 180, 233];
export const SHARED_WRITE = [213, 94, 0];
export const REMOTE = [204, 121, 167];

export const css = ([r, g, b]) => `rgb(${r}, ${g}, ${b})`;

export function rgb(hex) {
	const n = parseInt(hex.slice(1), 16);
	return [n >> 16, n >> 8 & 255, n & 255];
}

/** x from 0 to 1 */
export function scale(x) {
	const p = Math.min(1, Math.max(0, x)) * (viridis.length - 1);
	const i = Math.min(viridis.length - 2, Math.floor(p)), f = p - i;
	const a = rgb(viridis[i]), b = rgb(viridis[i + 1]);
	return a.map((v, k) => Math.round(v + (b[k] - v) * f));
}

/** Of reads, writes and unknown ones: blue, purple, orange; towards grey. */
export function mix(reads, writes, other) {
	const n = reads + writes + other, w = reads + writes ? writes / (reads + writes) : 0;
	const [a, b, x] = w < 0.5 ? [READ, BOTH, 2 * w] : [BOTH, WRITE, 2 * w - 1];
	return a.map((v, k) => (v + (b[k] - v) * x) * (1 - other / n) + OTHER[k] * other / n);
}

/** n colours: different ones while there are, then along a scale. */
export function categorical(n) {
	return Array.from({ length: n }, (_, i) => n <= okabe.length ?
		rgb(okabe[i]) : scale(0.02 + 0.94 * i / (n - 1)));
}

/** Is the page dark now? */
export const isDark = () => getComputedStyle(document.documentElement)
	.getPropertyValue("--dark").trim() === "1";

export const variable = (name) => getComputedStyle(document.documentElement)
	.getPropertyValue(name).trim();
