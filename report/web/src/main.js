// SPDX-License-Identifier: GPL-2.0-or-later
// The page's frame: menu, addresses (#/view?state), theme, keys.
import { h, memory, tip } from "./dom.js";
import { has, load } from "./data.js";
import { redrawCharts } from "./charts.js";
import * as views from "./views.js";
import { findings, phases } from "./view-findings.js";
import { overview } from "./view-overview.js";
import { topology } from "./view-topology.js";
import { object } from "./view-object.js";
import { countedRates, notCounted } from "./view-counts.js";
import { faults } from "./view-faults.js";
import { flame } from "./view-flame.js";
import { compare } from "./view-compare.js";
import { follow, isLive } from "./live.js";
import { parseRange, select, selected, selectionNote } from "./selection.js";
import { cut } from "./format.js";

const main = h("main", { id: "main", tabindex: -1 });
const menu = h("ul");
let d, number = 0, timer = 0;

function pages() {
	return [
		has("comparison") && ["compare", "Compare", (state) => compare(d, state)],
		["introduction", "Answer", () => views.introduction(d)],
		d.summary && ["findings", "Findings", () => findings(d)],
		["overview", "Overview", (state) => d.exact?.only ? notCounted("The overview") : overview(d, state)],
		["objects", "Data structures", (state) => views.objects(d, state)],
		has("flame") && ["flame", "Call stacks", (state) => flame(d, state)],
		d.summary && ["phases", "Phases", () => d.exact?.only ? notCounted("The division into phases") : phases(d)],
		["rates", "Rates and threads", () => d.exact?.only ? countedRates(d) : views.rates(d)],
		["faults", "Faults and CPU", () => faults()],
		["allocations", "Allocations", () => views.allocations(d)],
		["topology", "Machine", () => topology(d)],
	].filter(Boolean);
}

const focusable = () => [...main.querySelectorAll("a[href], button, input, select, summary, [tabindex]")];

/* Of data that are newer: what one reads and the focus stay where they are. */
async function showAgain() {
	const at = focusable().indexOf(document.activeElement), top = scrollY;
	await show();
	if (at >= 0)
		focusable()[at]?.focus({ preventScroll: true });
	scrollTo(0, top);
}

async function show() {
	const mine = ++number;
	const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
	const [name, id] = path.split("/"), state = new URLSearchParams(query || "");
	const page = pages().find(([k]) => k === name) || pages()[0];
	const isObject = name === "object";
	const title = isObject ? d.objectAt.get(Number(id))?.name || "No such structure" : page[1];
	tip.hide();
	/* An object's address has a range of its own, which its heatmap reads. */
	if (!isObject && state.has("t"))
		select(parseRange(state.get("t")));
	const content = isObject ? await object(d, state, Number(id)) : await page[2](state);
	/* Another view was asked for meanwhile. */
	if (mine !== number)
		return;
	main.replaceChildren(h("h2", { id: "title", title: cut(title, 400) }, cut(title, 90)), ...content.flat().filter(Boolean));
	main.dataset.view = isObject ? "object" : page[0];
	for (const a of menu.querySelectorAll("a"))
		if (a.dataset.view === (isObject ? "objects" : page[0]))
			a.setAttribute("aria-current", "page");
		else
			a.removeAttribute("aria-current");
	document.title = `${cut(title, 60)} · Moca: ${cut(d.run.command || "a trace", 60)}`;
	scrollTo(0, 0);
	requestAnimationFrame(() => {
		redrawCharts();
		document.body.dataset.ready = String(mine);
		performance.mark(`moca-view-${mine}`);
	});
}

function setTheme(theme) {
	if (theme)
		document.documentElement.dataset.theme = theme;
	else
		delete document.documentElement.dataset.theme;
}

function themeButton() {
	const b = h("button", { type: "button", class: "quiet", id: "theme", onclick: () => {
		const dark = getComputedStyle(document.documentElement).getPropertyValue("--dark").trim() === "1";
		setTheme(dark ? "light" : "dark");
		memory.set("theme", dark ? "light" : "dark");
		show();
	} }, "Light or dark");
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => show());
	return b;
}

const help = h("dialog", { id: "keys", "aria-labelledby": "keys-title" },
	h("h2", { id: "keys-title" }, "Keys"),
	h("dl", { class: "facts" }, [["1 to 9", "the views of the menu"], ["n, p", "next and previous structure"], ["/", "find a structure"],
		["?", "this list"], ["In a heatmap: arrows", "move (with Shift: farther)"], ["+, −, 0", "zoom in, out, show all"],
		["Enter", "read the cell in the middle"],
		["In the overview: arrows", "the next area; on its slider the next level of detail"],
		["Enter, Escape", "open the area's structure there; choose nothing"],
		["In a flame graph: arrows", "what calls, is called, stands beside"], ["Enter, Escape", "show the function as wide as all; show all"]].map(([k, v]) => [h("dt", {}, h("kbd", {}, k)), h("dd", {}, v)])),
	h("form", { method: "dialog" }, h("button", {}, "Close")));

function key(e) {
	if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName))
		return;
	const list = pages();
	if (e.key === "?") {
		help.showModal();
	} else if (/^[1-9]$/.test(e.key) && list[e.key - 1]) {
		location.hash = `#/${list[e.key - 1][0]}`;
	} else if (e.key === "/") {
		e.preventDefault();
		location.hash = "#/objects";
		setTimeout(() => document.getElementById("find")?.focus(), 100);
	} else if (e.key === "n" || e.key === "p") {
		const id = Number(location.hash.match(/^#\/object\/(\d+)/)?.[1] ?? -1);
		const next = d.plots[d.plots.findIndex((x) => x.object === id) + (e.key === "n" ? 1 : -1)];
		if (next)
			location.hash = `#/object/${next.object}`;
	}
}

/* The views of these data. */
function fillMenu() {
	menu.replaceChildren(...pages().map(([k, text]) => h("li", {}, h("a", { href: `#/${k}`, "data-view": k }, text))));
}

/* Views whose address says no more than its name have what is selected there. */
function rememberTime() {
	clearTimeout(timer);
	timer = setTimeout(() => {
		const at = location.hash.match(/^#\/(introduction|findings|phases|rates|faults|allocations)(\?|$)/);
		if (at)
			history.replaceState(null, "", `#/${at[1]}${selected() ? `?t=${selected().map(Math.round)}` : ""}`);
	}, 200);
}

async function renew() {
	d = await load();
	fillMenu();
	await showAgain();
}

async function start() {
	setTheme(memory.get("theme"));
	d = await load();
	fillMenu();
	document.getElementById("app").replaceWith(
		h("div", { id: "app" },
			h("header", { class: "side" }, h("div", { class: "brand" }, h("h1", {}, "Moca"), h("p", { class: "run", title: cut(d.run.command || d.run.path, 400) }, cut(d.run.command || d.run.path, 70))),
				isLive() && follow(renew),
				h("nav", { "aria-label": "Views" }, menu),
				h("div", { class: "side-end" }, themeButton(), h("button", { type: "button", class: "quiet", onclick: () => help.showModal() }, "Keys"),
					h("p", { class: "small" }, d.generator))),
			h("div", { class: "content" }, selectionNote(), main), help));
	document.addEventListener("moca-time", rememberTime);
	/* The link's hash is not a view. */
	document.getElementById("skip").addEventListener("click", (e) => {
		e.preventDefault();
		main.focus();
	});
	addEventListener("hashchange", show);
	addEventListener("keydown", key);
	addEventListener("beforeprint", redrawCharts);
	await show();
}

start().catch((e) => {
	document.getElementById("app").replaceChildren(h("p", { class: "loading", role: "alert" }, `This page cannot be shown: ${e.message}. It needs a browser of 2023 or later.`));
	throw e;
});
