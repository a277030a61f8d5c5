// SPDX-License-Identifier: GPL-2.0-or-later
// The first screen: what to change, where, and what that gains; or what was checked.
import { h } from "./dom.js";
import { finding, further, checks, headline } from "./view-findings.js";
import * as f from "./format.js";

/** The answer; views.js has the numbers of the run behind it. */
export async function answer(d) {
	const s = d.summary;
	if (!s)
		return [h("section", { class: "panel", "data-answer": "" }, h("h3", {}, "Findings are not part of this page"),
			h("p", {}, "The machine that was imagined is larger than advice is made for, or the findings took too much room: ", h("code", {}, "moca summary"), " prints them."))];
	if (s.findings.length)
		return [...(await finding(d, s.findings[0], 0)), further(s.findings)];
	return [h("section", { class: "panel", "data-answer": "" }, h("h3", { class: "sentence" }, headline(d)),
		s.notes?.length > 0 && h("ul", {}, s.notes.map((n) => h("li", {}, f.cut(n, 600)))), checks(s))];
}
