// SPDX-License-Identifier: GPL-2.0-or-later
// Elements from data. Text goes in as text: names of the trace are no markup.

const SVG = "http://www.w3.org/2000/svg";
const svgTags = new Set(["svg", "g", "rect", "line", "path", "text", "circle",
	"title", "polyline", "desc"]);

/** h("p", { class: "x", onclick: f }, "text", h("b", {}, "more")) */
export function h(tag, attributes = {}, ...children) {
	const el = svgTags.has(tag) ? document.createElementNS(SVG, tag) :
		document.createElement(tag);
	for (const [k, v] of Object.entries(attributes)) {
		if (v === undefined || v === null || v === false)
			continue;
		if (k.startsWith("on"))
			el.addEventListener(k.slice(2), v);
		else if (k === "style")
			Object.assign(el.style, v);
		else
			el.setAttribute(k, v === true ? "" : v);
	}
	el.append(...children.flat(Infinity).filter(
		(c) => c !== null && c !== undefined && c !== false));
	return el;
}

/** What this browser remembers; nothing where it may not. */
export const memory = {
	get(key) {
		try {
			return localStorage.getItem(`moca.${key}`);
		} catch {
			return null;
		}
	},
	set(key, value) {
		try {
			localStorage.setItem(`moca.${key}`, value);
		} catch {
			/* A file:// page without storage: not remembered. */
		}
	},
};

export function download(name, content, type) {
	const blob = content instanceof Blob ? content :
		new Blob([content], { type });
	const url = URL.createObjectURL(blob);
	const a = h("a", { href: url, download: name });
	document.body.append(a);
	a.click();
	a.remove();
	setTimeout(() => URL.revokeObjectURL(url), 10000);
}

/** Rows of values as CSV, RFC 4180; no cell is taken for a formula. */
export function csv(rows) {
	const cell = (v) => {
		let s = v === null || v === undefined ? "" : String(v);
		if (typeof v === "string" && /^[=+\-@\t\r]/.test(s))
			s = `'${s}`;
		return /[",\r\n]/.test(s) ? `"${s.replaceAll('"', '""')}"` : s;
	};
	return rows.map((r) => r.map(cell).join(",")).join("\r\n") + "\r\n";
}

/** The one tooltip of the page. */
export const tip = {
	el: null,
	show(x, y, ...content) {
		if (!this.el) {
			this.el = h("div", { class: "tip", role: "status" });
			document.body.append(this.el);
		}
		this.el.replaceChildren(...content.flat());
		this.el.hidden = false;
		const r = this.el.getBoundingClientRect();
		const left = x + 14 + r.width > innerWidth ? x - r.width - 10 : x + 14;
		const top = y + 14 + r.height > innerHeight ? y - r.height - 10 : y + 14;
		this.el.style.left = `${Math.max(4, left)}px`;
		this.el.style.top = `${Math.max(4, top)}px`;
	},
	hide() {
		if (this.el)
			this.el.hidden = true;
	},
};

/** "a: 1, b: 2" as two columns, for tooltips and facts. */
export function pairs(list) {
	return h("dl", { class: "pairs" }, list.filter(Boolean).map(([k, v]) =>
		[h("dt", {}, k), h("dd", {}, v)]));
}
