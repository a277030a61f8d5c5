// SPDX-License-Identifier: GPL-2.0-or-later
// Where in an array an address is: its indices, as the source has them.

/** Of the element at that address: "[3][128]", Fortran "(1,3)"; null: not known. */
export function indexAt(o, address) {
	const s = o.shape, first = s ? parseInt(o.addr, 16) : 0, at = address - first;
	if (!s || !(at >= 0 && at < o.size))
		return null;
	let element = Math.floor(at / s.element_size);
	const out = [];
	/* In memory order, the fastest index first. */
	const order = s.count.map((_, i) => s.fortran ? i : s.count.length - 1 - i);
	order.forEach((k, i) => {
		/* The slowest one has no end of its own. */
		const n = i + 1 < order.length && s.count[k] ? s.count[k] : Infinity;
		out[k] = s.lower[k] + (n === Infinity ? element : element % n);
		element = n === Infinity ? 0 : Math.floor(element / n);
	});
	return s.fortran ? `(${out.join(",")})` : out.map((i) => `[${i}]`).join("");
}

/** What bytes [from, to) are of it: "u[0] to u[511]"; null: not known. */
export function elements(o, from, to) {
	const begin = o.shape ? parseInt(o.addr, 16) : 0;
	const a = indexAt(o, Math.max(from, begin)), b = indexAt(o, Math.min(to, begin + o.size) - 1);
	return a && b ? `${o.name.replace(/\[\]$/, "")}${a} to ${b}` : null;
}
