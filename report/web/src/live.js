// SPDX-License-Identifier: GPL-2.0-or-later
// A page of a recording that goes on (moca view --live): the server tells by events
// that there is a newer page, whose data take the place of those that are here.
import { h } from "./dom.js";
import { forget } from "./data.js";
import * as f from "./format.js";

const RETRY_MS = 1000;
const LONG_NS = 10e9;	/* between two pages */
const LATE = 3;		/* times what lies between two pages */

/** Does moca view serve this page? Its address is nobody else's; a file asks for nothing. */
export const isLive = () => location.protocol === "http:" && /^\/live\/[0-9a-f]{32}\/$/.test(location.pathname);

/* The newest page's data, where those of an older one were. */
async function fetchData() {
	const answer = await fetch("page", { cache: "no-store" });
	if (!answer.ok)
		throw new Error(`the server says ${answer.status}`);
	const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
	const blobs = (of) => [...of.querySelectorAll("script[id^='moca-']")];
	const next = blobs(fresh);
	if (!next.some((s) => s.id === "moca-index"))
		throw new Error("the server sent no page");
	const before = blobs(document), at = before[0].previousSibling;
	for (const s of before)
		s.remove();
	at.after(...next.map((s) => document.adoptNode(s)));
	forget();
}

/* Is a field filled in, or text being chosen? That would be lost. */
const inUse = () => /^(INPUT|SELECT|TEXTAREA)$/.test(document.activeElement?.tagName) || !getSelection().isCollapsed;

/* What is said of event e: [state, sentence]. */
function words(e, shown, isHeld, isUsed) {
	const shows = f.time(e.shows_ns), behind = e.now_ns - e.shows_ns;
	if (e.phase === "ended" && e.page === shown.page)
		return ["Ended", `The recording has ended. This page shows all of it and is kept as ${e.kept}.`];
	if (e.failed)
		return ["Lags", `The last page could not be made; this one shows the first ${shows}. Another try follows.`];
	if (isHeld || isUsed)
		return ["Held", `Holds the first ${f.time(shown.shows_ns)}${isUsed && !isHeld ? " while a field or chosen text is in use" : ""}; the program has run for ${f.time(e.now_ns)}.`];
	if (behind > LATE * e.every_ns || e.every_ns > LONG_NS)
		return ["Lags", `Shows the first ${shows}, ${f.time(behind)} behind. The last page took ${f.time(e.cpu_ns)} of CPU time; pages take a tenth of a CPU at most, and wait for one that is free.`];
	return ["Live", `Shows the first ${shows}, ${f.time(behind)} behind.`];
}

/**
 * Follow the recording; renew() shows the data anew. The element that says how far
 * the page is.
 */
export function follow(renew) {
	const state = h("b", { role: "status", class: "live-state" }, "Live");
	const text = h("p", { class: "small" });
	const button = h("button", { type: "button", class: "quiet", "aria-pressed": "false" }, "Hold");
	const element = h("section", { class: "live", id: "live", "aria-label": "Live" }, state, text, button);
	const events = new EventSource("events");
	let shown = { page: 0, shows_ns: 0 }, last = null, isBusy = false, isHeld = false;

	const say = (word, sentence) => {
		/* A reader of the screen hears of changes alone. */
		if (state.textContent !== word)
			state.textContent = word;
		element.dataset.state = word.toLowerCase();
		text.textContent = sentence;
	};
	const look = async () => {
		const e = last;
		/* The page that is here has no number: it may be older than the first event. */
		if (!isBusy && !isHeld && !inUse() && e.page > shown.page) {
			isBusy = true;
			try {
				await fetchData();
				await renew();
				shown = e;
				element.dataset.page = String(e.page);
			} catch {
				/* The connection's end says more. */
				await new Promise((r) => setTimeout(r, RETRY_MS));
			}
			isBusy = false;
		}
		if (last.phase === "ended" && last.page === shown.page) {
			events.close();
			button.hidden = true;
		}
		say(...words(last, shown, isHeld, inUse()));
	};
	events.onmessage = (m) => {
		last = JSON.parse(m.data);
		look();
	};
	events.onerror = () => {
		if (events.readyState === EventSource.CLOSED || last)
			say("Gone", last ? `moca view has ended, or cannot be reached. This shows the first ${f.time(shown.shows_ns)}; the report is kept as ${last.kept}.` : "moca view cannot be reached.");
	};
	button.addEventListener("click", () => {
		isHeld = !isHeld;
		button.setAttribute("aria-pressed", String(isHeld));
		if (last)
			look();
	});
	return element;
}
